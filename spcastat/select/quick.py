"""Fits of many cardinalities and of many parts of the rows: cheap ones, each from several starts."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from spcastat.engine import Plan, run
from spcastat.kernels.rotation import varimax
from spcastat.operators import Operator
from spcastat.search.climbing import climbed
from spcastat.search.default import HELD, held
from spcastat.search.fits import Criterion
from spcastat.search.moments import Identity, Products
from spcastat.search.nested import Adjusted
from spcastat.search.order import reordered
from spcastat.search.pool import from_directions
from spcastat.search.projected import Projected
from spcastat.search.sweeps import swept
from spcastat.select.path import Cards
from spcastat.solvers import JointSolver

#: Sweeps of a start, at most.
SWEEPS = 8
#: Variables that are tried in exchanges, and exchanges that are valued.
WIDTH, VALUED = 30, 6


@dataclass(frozen=True, eq=False)
class Fitter:
    """How a path or a fold is fitted; can be pickled.

    Attributes
    ----------
    k : int
    plan : Plan or None
        A method with a field `card`, run from starts; None for the sweeps of the default search.
    objective : {"adjusted", "pev", "least_squares"}
        What the sweeps raise.
    seed : int
        Of methods that draw.
    """

    k: int
    plan: Plan | None = None
    objective: str = "adjusted"
    seed: int = 0

    def path(
        self, op: Operator, cards: Sequence[Cards], near: Sequence[np.ndarray | None], thorough: bool = False
    ) -> list[np.ndarray]:
        """Fit each cardinality in turn, from PCA, its varimax rotation, the fit before and one nearby.

        Parameters
        ----------
        op : Operator
        cards : sequence of tuples of k ints
        near : sequence of ndarray of shape (p, k), or None
            Loadings that are near the solution, such as those of all rows.
        thorough : bool
            Whether exchanges of variables follow where the covariance matrix is held.

        Returns
        -------
        list of ndarray of shape (p, k)
        """
        leading = op.leading(self.k)[1]
        fixed = [leading, varimax(leading)] if self.k > 1 else [leading]
        found: list[np.ndarray] = []
        for card, beside in zip(cards, near, strict=True):
            starts = [*fixed, *([] if beside is None else [beside]), *found[-1:]]
            fit = self._swept if self.plan is None else self._run
            found.append(fit(op, card, starts, thorough))
        return found

    def _swept(self, op: Operator, card: Cards, starts: list[np.ndarray], thorough: bool) -> np.ndarray:
        criterion = _criterion(op, card, self.objective)
        fits = reordered(criterion, swept(criterion, from_directions(criterion, starts), SWEEPS))
        fits = fits.some(np.argsort(-fits.value, kind="stable")[:1])
        if thorough and op.p <= HELD:
            fits = climbed(criterion, fits, WIDTH, VALUED)
        return criterion.dense(fits)[0]

    def _run(self, op: Operator, card: Cards, starts: list[np.ndarray], thorough: bool) -> np.ndarray:
        plan = self.plan
        assert plan is not None
        given = None
        if isinstance(plan.solver, JointSolver) and plan.solver.uses_starts:
            given = np.stack([V.T for V in starts[1:]]) if len(starts) > 1 else None
        rng = np.random.default_rng(self.seed)
        return run(op, plan.with_card(card), self.k, rng, given).solution.V


def _criterion(op: Operator, card: Cards, objective: str) -> Criterion:
    """Return the criterion of the sweeps, by a covariance matrix that is held or by products."""
    if op.p <= HELD:
        S = op.block(np.arange(op.p)) / op.total
        return held(0.5 * (S + S.T), card, objective)
    if objective == "adjusted":
        return Adjusted(Products(op), card)
    if objective == "pev":
        return Projected(Identity(op.p), Products(op), card)
    return Projected(Products(op), Products(op, 2), card)
