"""Quick fits from several starts, for many cardinalities and many folds."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np

from spcastat.engine import Plan, run
from spcastat.kernels.orthonormal import varimax
from spcastat.operators import Operator
from spcastat.search.climbing import climbed, swept
from spcastat.search.component_order import reordered
from spcastat.search.default import HELD
from spcastat.search.joint_method import Joint
from spcastat.search.nearby_fits import best_of_each, fits_at_starts, several, together
from spcastat.search.objectives import products
from spcastat.select.fits_along_path import Cards
from spcastat.solvers import JointSolver

#: Variables that may enter in exchanges, and exchanges that are evaluated.
WIDTH, VALUED = 30, 6


@dataclass(frozen=True, eq=False)
class Fitter:
    """Options and functions for the fits of a path or a fold; can be pickled.

    Attributes
    ----------
    k : int
    plan : Plan or None
        A method with a field `card`, run from starts; None for the sweeps of the default search.
    objective : {"adjusted", "pev", "least_squares"}
        The criterion that the sweeps maximise.
    seed : int
        Seed for methods with random starts.
    solver : Joint or None
        The default search, if its options restrict the supports.
    """

    k: int
    plan: Plan | None = None
    objective: str = "adjusted"
    seed: int = 0
    solver: Joint | None = None

    def path(
        self, op: Operator, cards: Sequence[Cards], near: Sequence[np.ndarray | None], thorough: bool = False
    ) -> list[np.ndarray]:
        """Fit each cardinality in turn, from PCA, its varimax rotation, the previous fit and `near`.

        Parameters
        ----------
        op : Operator
        cards : sequence of tuples of k ints
        near : sequence of ndarray of shape (p, k), or None
            Loadings near the solutions, such as those of all rows.
        thorough : bool
            Whether exchanges of variables follow if the covariance matrix is in memory.

        Returns
        -------
        list of ndarray of shape (p, k)
        """
        return self.paths([op], cards, near, thorough)[0]

    def together(self, p: int) -> int:
        """Return how many data sets with p variables to fit at once."""
        return together(p) if self.plan is None else 1

    def paths(
        self,
        ops: Sequence[Operator],
        cards: Sequence[Cards],
        near: Sequence[np.ndarray | None],
        thorough: bool = False,
    ) -> list[list[np.ndarray]]:
        """Fit the path of each of several data sets with the same variables; see `path`."""
        leading = [op.leading(self.k)[1] for op in ops]
        fixed = [[U, varimax(U)] if self.k > 1 else [U] for U in leading]
        if self.plan is not None:  # other methods start from PCA themselves
            fixed = [own[1:] for own in fixed]
        found: list[list[np.ndarray]] = [[] for _ in ops]
        for card, given in zip(cards, near, strict=True):
            further = [] if given is None else [given]
            starts = [[*own, *further, *path[-1:]] for own, path in zip(fixed, found, strict=True)]
            for path, V in zip(found, self.fits(ops, card, starts, thorough), strict=True):
                path.append(V)
        return found

    def fits(
        self,
        ops: Sequence[Operator],
        card: Cards,
        starts: Sequence[Sequence[np.ndarray]],
        thorough: bool = False,
        ordered: bool = False,
    ) -> list[np.ndarray]:
        """Fit each of several data sets with the same variables from given starts.

        Parameters
        ----------
        ops : sequence of Operator
        card : tuple of k ints
        starts : sequence of sequences of ndarray of shape (p, k)
            Starts for each operator, the same number for all; the best fit is returned.
        thorough : bool
            As for `path`.
        ordered : bool
            Whether components keep the order of the starts; otherwise those of equal cardinality are sorted.

        Returns
        -------
        list of ndarray of shape (p, k)
        """
        if self.plan is not None:
            return self._run(ops, card, starts)
        if self.solver is not None:
            return replace(self.solver, card=tuple(card)).near(ops, starts)
        held = ops[0].p <= HELD
        if not held and len(ops) > 1:
            parts = zip(ops, starts, strict=True)
            return [self.fits([op], card, [own], thorough, ordered)[0] for op, own in parts]
        criterion = several(ops, card, self.objective) if held else products(ops[0], card, self.objective)
        # Largest number of sweeps per start
        fits = swept(criterion, fits_at_starts(criterion, starts), 8)
        fits = best_of_each(fits if ordered else reordered(criterion, fits), len(ops))
        if thorough and held:
            fits = climbed(criterion, fits, WIDTH, VALUED)
        return list(criterion.dense(fits))

    def _run(
        self, ops: Sequence[Operator], card: Cards, starts: Sequence[Sequence[np.ndarray]]
    ) -> list[np.ndarray]:
        plan = self.plan
        assert plan is not None
        takes = isinstance(plan.solver, JointSolver) and plan.solver.uses_starts
        found = []
        for op, own in zip(ops, starts, strict=True):
            given = np.stack([V.T for V in own]) if takes and own else None
            rng = np.random.default_rng(self.seed)
            found.append(run(op, plan.with_card(card), self.k, rng, given).solution.V)
        return found
