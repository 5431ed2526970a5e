"""Adjusted variance, relaxed: what components add one after another, in any order."""

from __future__ import annotations

from functools import cached_property
from math import comb

import numpy as np

from spcastat.certify import ordered
from spcastat.certify.dual import ROUNDING, Running
from spcastat.certify.first_component import INTERVALS, first_component_bounds
from spcastat.certify.frame import least_squares_frame, without
from spcastat.certify.relaxed import BATCH, LEAF, MOST_SUPPORTS, MOST_VARIABLES, Relaxed, Root, reaches, union_table

#: Components of one variable whose orders are all gone through, at most.
MOST_ORDERED = 8


class Sequence(Relaxed):
    """Adjusted variance, in any order of the components."""

    @property
    def variables(self) -> int:
        return self.p  # the others may load on the variables of components of one variable

    def searched(self, c: int) -> bool:
        return c < self.p and comb(self.p, c) <= MOST_SUPPORTS

    @cached_property
    def factor(self) -> np.ndarray:
        """F with S = F'F, shape (d, p)."""
        return least_squares_frame(self.S, self.k).F

    @cached_property
    def table(self) -> np.ndarray | None:
        """Bounds of PEV, which is never less, by sets of variables."""
        if not self.all_searched or not self.cards or self.p > MOST_VARIABLES:
            return None
        return reaches(union_table(self.frame), sum(self.cards))

    def root(self, singles: np.ndarray) -> Root:
        frame = without(self.frame, singles) if self.m else self.frame
        F = self.factor
        taken = F[:, singles] @ F[:, singles].T
        alone = None
        if self.m + len(self.cards) == self.k:
            held: dict[int, np.ndarray] = {}
            for c, places in zip(self.cards, self.supports, strict=True):
                if c not in held:
                    A = F[:, places].transpose(1, 0, 2)
                    held[c] = np.linalg.eigvalsh(A @ A.mT - taken)[:, -1] + ROUNDING
            alone = tuple(held[c] for c in self.cards)
        own = float(np.trace(taken))
        return Root(frame, singles, self.table, int((1 << singles).sum()), own, alone)

    def shape(self, root: Root) -> tuple[int, int]:
        return len(self.factor), self.k

    def alike(
        self, roots: list[Root], chosen: np.ndarray, threshold: float, steps: int, running: Running
    ) -> np.ndarray:
        F = self.factor

        def outer(places: np.ndarray) -> np.ndarray:
            A = F[:, places].transpose(1, 0, 2)
            return A @ A.mT

        taken = outer(np.stack([root.singles for root in roots]))
        own = np.trace(taken, axis1=1, axis2=2)
        groups = [outer(self.supports[t][rows]) - taken for t, rows in enumerate(chosen.T)]
        counts = [1] * len(groups)
        rest = self.k - self.m - len(groups)
        if rest:
            groups.append(F @ F.T - taken)
            counts.append(rest)
        return own + ordered.ordered_bounds(groups, counts, threshold - own, steps, running=running)

    def leaf_bounds(
        self, roots: list[Root], chosen: np.ndarray, threshold: float, running: Running
    ) -> np.ndarray:
        """Return bounds that are exact in the component placed first."""
        if not self.all_searched:
            return super().leaf_bounds(roots, chosen, threshold, running)
        F = self.factor
        supports = [np.stack([root.singles for root in roots])[:, [i]] for i in range(self.m)]
        supports += [self.supports[t][rows] for t, rows in enumerate(chosen.T)]
        found = np.empty(len(roots))
        step = max(1, BATCH // (INTERVALS * self.k * sum(places.shape[1] for places in supports) ** 2))
        for begin in range(0, len(roots), step):
            part = slice(begin, begin + step)
            factors = [F[:, places[part]].transpose(1, 0, 2) for places in supports]
            found[part] = first_component_bounds(factors, np.full(len(factors[0]), threshold), LEAF, running)
        return found

    def single_bounds(self, singles: np.ndarray) -> np.ndarray:
        """Return what these variables add in their best order where they are all; else the bound of PEV."""
        if self.m == self.k <= MOST_ORDERED:
            return ordered.sequential(self.S, singles)
        return super().single_bounds(singles)

    def variables_of(self, root: Root, chosen: np.ndarray) -> list[np.ndarray]:
        parts = [self.supports[t][row] for t, row in enumerate(chosen)]
        return [*(np.array([i]) for i in root.singles), *parts]
