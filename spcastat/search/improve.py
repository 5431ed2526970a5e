"""A fit improved by joint search, and one with fewer nonzeros."""

from __future__ import annotations

import numpy as np

from spcastat.operators import Operator
from spcastat.search.joint import default_patience, search
from spcastat.search.objectives import OBJECTIVES, Objective
from spcastat.search.optima import Optima
from spcastat.search.sparsify import sparsest
from spcastat.search.working_set import problem_on, working_set
from spcastat.solvers.support_search import best_support


def improve(
    op: Operator, starts: list[np.ndarray], name: str, patience: int | None, rng: np.random.Generator
) -> tuple[np.ndarray, float, Optima]:
    """Search jointly for better loadings of the same cardinalities.

    Parameters
    ----------
    op : Operator
    starts : list of ndarray of shape (p, k)
        The search begins at the best of them.
    name : {"pev", "adjusted", "least_squares"}
        The objective.
    patience : int or None
        Vain rounds that end the search; None sets them by the size of the problem.
    rng : numpy Generator

    Returns
    -------
    V : ndarray of shape (p, k)
    value : float
        As a share of the total variance.
    optima : Optima
        The local optima that the search met.
    """
    if starts[0].shape[1] == 1:
        return _one_component(op, starts)
    objective, variables = _prepared(op, starts, name)
    parts = [V[variables] for V in starts]
    best = parts[int(np.argmax([objective.value(V) for V in parts]))]
    if patience is None:
        patience = default_patience(objective, *best.shape)
    value, W, optima = search(objective, best, patience, rng)
    return _spread(W, variables, op.p), value, optima


def thin_out(
    op: Operator, V: np.ndarray, goal: float, patience: int | None, rng: np.random.Generator
) -> tuple[np.ndarray, float]:
    """Search for the fewest nonzeros with which the adjusted variance stays at `goal`.

    Parameters
    ----------
    op : Operator
    V : ndarray of shape (p, k)
        Loadings that reach the goal.
    goal : float
        As a share of the total variance.
    patience : int or None
    rng : numpy Generator

    Returns
    -------
    V : ndarray of shape (p, k)
    value : float
        As a share of the total variance.
    """
    objective, variables = _prepared(op, [V], "adjusted")
    W = V[variables]
    if patience is None:
        patience = default_patience(objective, *W.shape)
    value, W = sparsest(objective, W, goal, patience, rng)
    return _spread(W, variables, op.p), value


def _one_component(op: Operator, starts: list[np.ndarray]) -> tuple[np.ndarray, float, Optima]:
    """Search for the support of one component, on which all objectives agree, from every row of S."""
    values = [float(op.products(V)[0, 0]) for V in starts]
    value, V = max(values), starts[int(np.argmax(values))]
    found, support = best_support(op, int(np.count_nonzero(V)))
    if found > value:
        vector = op.take(support).leading(1)[1]
        value, V = found, _spread(vector, support, op.p)
    optima = Optima()
    for one in {value, *values}:
        optima.add(one / op.total)
    return V, value / op.total, optima


def _prepared(op: Operator, starts: list[np.ndarray], name: str) -> tuple[Objective, np.ndarray]:
    k = starts[0].shape[1]
    used = np.unique(np.concatenate([np.flatnonzero(V.any(axis=1)) for V in starts]))
    variables = working_set(op, used, k)
    return OBJECTIVES[name](problem_on(op, variables)), variables


def _spread(W: np.ndarray, variables: np.ndarray, p: int) -> np.ndarray:
    V = np.zeros((p, W.shape[1]))
    V[variables] = W
    return V
