"""Many variables: search among those of largest variance, then verify the answer against all.

The covariance matrix is formed for the candidates only. A variable outside is brought in where the tests of
:mod:`spcastat.search.screening_tests` do not exclude that it improves the fit by a swap.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from spcastat.engine.aim import FEWEST, Optimum
from spcastat.engine.starts import starting_loadings
from spcastat.kernels.thresholds import unit
from spcastat.kernels.ties import top
from spcastat.measures import MEASURES
from spcastat.operators import GRAM_ORDER, Gram, Operator
from spcastat.progress import stage
from spcastat.search.optima import Optima
from spcastat.search.screening_tests import enlarged, entering, peaks_of
from spcastat.search.swaps import polish
from spcastat.solvers import Solution
from spcastat.solvers.bcd import BCD

#: Sweeps end at this tolerance, or the larger one of the call: swaps go on from there.
ROUGH = 1e-5
#: At most this share of the candidates (but always FEWEST) is brought in by a round.
SHARE = 0.5


@dataclass(frozen=True)
class Screening:
    """What a screened fit did, and what it guarantees.

    Attributes
    ----------
    searched, variables : int
        Variables that the search ran on, and all of them.
    rounds : int
        How often it ran.
    unexcluded : int
        Variables outside the search of which it is not excluded that a swap with them improves the fit.
    """

    searched: int
    variables: int
    rounds: int
    unexcluded: int

    @property
    def verified(self) -> bool:
        """Whether no single swap with any of the variables improves the fit.

        A swap takes a variable out of the support of one component and puts another in; the loadings of that
        component are then fitted anew, those of the others stay. To improve is to raise the explained
        variance (PEV) by more than 1e-9 of what the component adds to it.
        """
        return self.unexcluded == 0


@dataclass(frozen=True, eq=False)
class Screened:
    """A fit on some of the variables.

    Attributes
    ----------
    solution : Solution
        Its loadings are those of the candidates, shape (m, k).
    optima : list of (float, int)
    screening : Screening
    sub : Gram
        The covariance matrix of the candidates.
    candidates : ndarray of int, shape (m,)
        Ascending.
    """

    solution: Solution
    optima: list[Optimum]
    screening: Screening
    sub: Gram
    candidates: np.ndarray


def screened(
    op: Operator,
    solver: BCD,
    vectors: np.ndarray,
    size: int,
    *,
    n_init: int,
    rng: np.random.Generator,
    starts: np.ndarray | None,
) -> Screened:
    """Fit on the variables of largest variance, those of PCA, and those that the tests bring in.

    Parameters
    ----------
    op : Operator
    solver : BCD
    vectors : ndarray of shape (p, k)
        PCA's loadings. Those of the candidates are the first start; the largest, as many as the cardinality
        of the component, are candidates whatever the variances of their variables.
    size : int
        Variables of largest variance to begin with.
    n_init, rng, starts
        As for :func:`spcastat.engine.run`.

    Notes
    -----
    The first round runs the solver, later ones go on from the loadings that they have. The explained variance
    never falls, and every round but the last enlarges the set of candidates, which is bounded by GRAM_ORDER:
    the search ends.
    """
    assert solver.card is not None
    inside = top(op.diagonal(), size)
    for v, card in zip(vectors.T, solver.card, strict=True):
        inside |= top(np.abs(v), card)
    if starts is not None:
        inside |= starts.any(axis=(0, 1))
    rounds, optima = 0, Optima()
    sub: Gram | None = None
    candidates = np.zeros(0, dtype=int)
    V = np.zeros((0, vectors.shape[1]))
    with stage("screening", unit="rounds") as advance:
        while True:
            rounds += 1
            before, candidates = candidates, np.flatnonzero(inside)
            sub = Gram(enlarged(op, None if sub is None else sub.S, before, candidates), op.rank_limit)
            if rounds == 1:
                given = None if starts is None else starts[:, :, candidates]
                solution = _from_starts(sub, solver, vectors[candidates], n_init, rng, given)
                V = solution.V
                objectives = solution.objectives + (op.total - sub.total)
            else:
                V, known = np.zeros((candidates.size, V.shape[1])), V
                V[np.searchsorted(candidates, before)] = known
            V, supports = polish(sub.S, V, solver.card, op.total)
            advance(1)
            more = entering(op, candidates, V, peaks_of(sub.S, V, supports, op.total))
            room = GRAM_ORDER - len(candidates)
            if more.size == 0 or room <= 0:
                break
            inside[more[: min(room, max(FEWEST, int(SHARE * len(candidates))))]] = True
    explained = float(MEASURES["pev"](V, sub)[-1]) * sub.total
    value = op.total - explained
    best = objectives <= objectives.min() + solver.tol * op.total
    objectives = np.where(best, value, objectives)  # the best starts led to these loadings
    for one in objectives:
        optima.add(1.0 - float(one) / op.total)
    solution = replace(
        solution, V=V, status="converged", objective=value, objectives=objectives, candidates=None
    )
    screening = Screening(len(candidates), op.p, rounds, len(more))
    return Screened(solution, optima.table(), screening, sub, candidates)


def _from_starts(
    sub: Gram,
    solver: BCD,
    vectors: np.ndarray,
    n_init: int,
    rng: np.random.Generator,
    starts: np.ndarray | None,
) -> Solution:
    k = vectors.shape[1]
    first = unit(vectors)
    if not first.any(axis=0).all():  # a component of PCA lies wholly outside
        first = sub.leading(k)[1]
    tried = starting_loadings(sub, first, n_init, rng)
    if starts is not None:
        tried = np.concatenate([tried, starts])
    return replace(solver, tol=max(solver.tol, ROUGH)).solve(sub, k, tried, rng)
