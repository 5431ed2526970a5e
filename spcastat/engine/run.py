"""One fit: starts, solver, deflation, order and sign."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from spcastat.engine.order import settle
from spcastat.engine.starts import starting_loadings
from spcastat.errors import ComponentsError
from spcastat.measures import adjusted_variances
from spcastat.operators import Operator, Removed, deflate
from spcastat.solvers import ADVICE, ComponentSolver, JointSolver, Solution, Solver
from spcastat.solvers.base import Component, Progress


@dataclass(frozen=True, eq=False)
class Fit:
    """A solution in its final order and sign, with what it was measured against.

    Attributes
    ----------
    solution : Solution
    order : ndarray of shape (k,)
        Where each component stood before ordering.
    pca : ndarray of shape (k,)
        The k leading eigenvalues of the covariance matrix.
    """

    solution: Solution
    order: np.ndarray
    pca: np.ndarray


def run(op: Operator, solver: Solver, k: int, *, n_init: int, rng: np.random.Generator, sort: bool) -> Fit:
    """Fit k components.

    Parameters
    ----------
    op : Operator
    solver : Solver
    k : int
    n_init : int
        Starts of a solver that uses them.
    rng : numpy Generator
        For starts.
    sort : bool
        Whether to order the components by variance.

    Raises
    ------
    ComponentsError
        Where the covariance matrix has a rank below k.
    """
    if k > op.rank_limit:
        raise ComponentsError(_too_many(k, op.rank_limit))
    values, vectors = op.leading(k)
    rank = int(np.count_nonzero(values > np.finfo(float).eps * op.p * max(values[0], 0.0)))
    if rank < k:
        raise ComponentsError(_too_many(k, rank))
    if isinstance(solver, JointSolver):
        solution = solver.solve(op, k, starting_loadings(op, vectors, n_init, rng))
    else:
        assert isinstance(solver, ComponentSolver)
        solution = _one_by_one(op, solver, values)
    V, order = settle(op, solution.V, sort)
    details = {name: [column[j] for j in order] for name, column in solution.details.items()}
    return Fit(replace(solution, V=V, details=details), order, values)


def _one_by_one(op: Operator, solver: ComponentSolver, pca: np.ndarray) -> Solution:
    k = len(pca)
    V = np.zeros((op.p, k))
    view, explained = op, 0.0
    parts: list[Component] = []
    for i in range(k):
        start = view.leading(1)[1][:, 0] if solver.uses_starts else np.zeros(op.p)
        part = solver.component(view, Progress(i, explained, pca), start)
        parts.append(part)
        V[:, i] = part.v
        explained += float(part.v @ view.dot(part.v))
        if i < k - 1:
            raw = part.v if part.raw is None else part.raw
            view = deflate(view, Removed(part.v, raw, V[:, :i]), solver.deflation)
    worst = max((part.status for part in parts), key=list(ADVICE).index)
    names = dict.fromkeys(name for part in parts for name in part.details)
    details = {name: [part.details.get(name) for part in parts] for name in names}
    value = float(adjusted_variances(V, op).sum())
    return Solution(V, worst, sum(part.n_iter for part in parts), value, np.array([value]), details)


def _too_many(k: int, rank: int) -> str:
    if rank <= 0:
        return f"k={k} was given, but the data have no variance: every column is constant."
    return f"k={k} was given, but the data have rank {rank}; ask for at most {rank} components."
