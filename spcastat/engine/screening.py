"""Screening of many variables: search among those of largest variance, then verify against all.

The covariance matrix is formed for the candidates only. Other variables become candidates as long as an
exchange with one of them improves the fit.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from spcastat.engine.starts import Optimum, starting_loadings
from spcastat.kernels.ties import top, unit
from spcastat.measures import MEASURES
from spcastat.operators import Gram, Operator
from spcastat.progress import stage
from spcastat.search.local_optima import Optima
from spcastat.search.working_set import gram_of, improved
from spcastat.solvers import Solution
from spcastat.solvers.bcd import BCD


@dataclass(frozen=True)
class Screening:
    """How a fit was screened, and what was verified.

    Attributes
    ----------
    searched, variables : int
        Number of variables searched, and of all variables.
    rounds : int
        Number of searches.
    unexcluded : int
        Number of variables outside the search that would improve the fit by a swap, but for which the search
        had no room. A swap replaces a variable in the support of one component by another and refits the
        loadings of that component only. An improvement raises the explained variance (PEV) by more than a
        share of 1e-9.
    """

    searched: int
    variables: int
    rounds: int
    unexcluded: int


def screened(
    op: Operator,
    solver: BCD,
    vectors: np.ndarray,
    size: int,
    *,
    n_init: int,
    rng: np.random.Generator,
    starts: np.ndarray | None,
) -> tuple[Solution, list[Optimum], Screening, Gram, np.ndarray]:
    """Fit on the variables of largest variance, those with large PCA loadings, and those added by the tests.

    Parameters
    ----------
    op : Operator
    solver : BCD
    vectors : ndarray of shape (p, k)
        PCA's loadings. Restricted to the candidates, they are the first start. The variables with the largest
        loadings of each component, as many as its cardinality, are always candidates.
    size : int
        Number of variables of largest variance among the first candidates.
    n_init, rng, starts
        As for :func:`spcastat.engine.run`.

    Returns
    -------
    solution : Solution
        Its loadings have a row per candidate, shape (m, k).
    optima : list of (float, int)
    screening : Screening
    sub : Gram
        The covariance matrix of the candidates.
    candidates : ndarray of int, shape (m,)
        Ascending.

    Notes
    -----
    The solver runs on the first candidates; all later steps start from the loadings that it finds.
    """
    assert solver.card is not None
    inside = top(op.diagonal(), size)
    for v, card in zip(vectors.T, solver.card, strict=True):
        inside |= top(np.abs(v), card)
    if starts is not None:
        inside |= starts.any(axis=(0, 1))
    candidates = np.flatnonzero(inside)
    sub = gram_of(op, candidates)
    optima = Optima()
    with stage("screening", unit="rounds") as advance:
        first = unit(vectors[candidates])
        if not first.any(axis=0).all():  # a component of PCA is zero on all candidates
            first = sub.leading(first.shape[1])[1]
        tried = starting_loadings(sub, first, n_init, rng)
        tried = tried if starts is None else np.concatenate([tried, starts[:, :, candidates]])
        # Tolerance of the sweeps (or that of the call, if larger); swaps then improve the fit further
        coarse = replace(solver, tol=max(solver.tol, 1e-5))
        solution = coarse.solve(sub, first.shape[1], tried, rng)
        objectives = solution.objectives + (op.total - sub.total)
        ends = [solution.V] if solution.candidates is None else [V.T for V in solution.candidates]
        found = improved(op, candidates, ends, solver.card, advance)
    V, sub = found.V, found.sub
    explained = float(MEASURES["pev"](V, sub)[-1]) * sub.total
    value = op.total - explained
    best = objectives <= objectives.min() + solver.tol * op.total
    objectives = np.where(best, value, objectives)  # V comes from the best starts
    for one in objectives:
        optima.add(1.0 - float(one) / op.total)
    solution = replace(
        solution, V=V, status="converged", objective=value, objectives=objectives, candidates=None
    )
    screening = Screening(len(found.variables), op.p, found.rounds, found.left)
    return solution, optima.table(), screening, sub, found.variables
