"""Bounds on PEV for orthogonal loadings, which are tighter than those for arbitrary loadings.

If v_1, ..., v_k are orthonormal, PEV is sum v_j' S v_j. A component explains at most the largest eigenvalue
on its support, and no other component can use the variable of a one-variable component. See also Cory-Wright
and Pauphilet, "Sparse PCA with multiple components".
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

import numpy as np

from spcastat.certify import ordered
from spcastat.certify.best_met import Leaves
from spcastat.certify.dual import ROUNDING, Bases, Running, ky_fan
from spcastat.certify.orthogonal_search import climbed, searched
from spcastat.certify.projection_bounds import Projection
from spcastat.certify.relaxed import Relaxed, Root, Sums, alone
from spcastat.operators import Operator
from spcastat.search.default import joint
from spcastat.search.rule import SupportRule


class Orthogonal(Projection):
    """The problem of orthogonal loadings."""

    def __init__(self, S: np.ndarray, cards: tuple[int, ...]):
        super().__init__(S, cards, "pev")
        self.free = all(c >= self.p for c in cards)

    searched = Relaxed.searched  # unlike for PEV in general, any c < p is a constraint

    def root(self, singles: np.ndarray) -> Root:
        root = super().root(singles)
        M = root.frame.M
        own = root.frame.offset + float(ky_fan(M, root.frame.k - len(self.cards))) + ROUNDING
        bases = {c: root.frame.bases(places)[0] for c, places in self.kept.items()}
        held = {c: alone(D.mT @ M @ D, D) for c, D in bases.items()}
        return replace(root, taken=0, sums=Sums(own, tuple(held[c] for c in self.cards)))

    def within(
        self,
        M: np.ndarray,
        bases: list[np.ndarray],
        chosen: np.ndarray,
        k: int,
        level: np.ndarray,
        steps: int,
        running: Running,
    ) -> np.ndarray:
        groups, counts = [D.mT @ M @ D for D in bases], [1] * len(bases)
        inside: Bases = [*bases]
        if k > len(bases):
            groups, counts, inside = [*groups, M], [*counts, k - len(bases)], [*inside, None]
        return ordered.ordered_bounds(groups, counts, level, steps, bases=inside, running=running)


class OrthogonalLeaves(Leaves):
    """The best known fit with orthogonal loadings, as measured by PEV."""

    def _measured(self, V: np.ndarray) -> float:
        return float(np.einsum("ij,ik,kj->", V, self.S, V))

    def improve(self, op: Operator, cards: tuple[int, ...], rule: SupportRule | None = None) -> float:
        """Search from this fit and from the quick search among all loadings; return the best value."""
        starts = [self.V, joint(op, len(cards), cards, self.measure, "quick", rule=rule).V]
        return self.better(*searched(self.S, self.cards, starts, self.rng))

    def _climbed(self, tried: list[list[np.ndarray]]) -> Iterator[tuple[np.ndarray, float]]:
        held = np.zeros((len(tried), len(self.S), len(self.cards)), dtype=bool)
        for b, supports in enumerate(tried):
            for j, T in enumerate(supports):
                held[b, T, j] = True
        for number in range(4):  # leading eigenvectors, then three random starts
            V, value = climbed(self.S, held, self.rng, number > 0)
            best = int(np.argmax(value))
            yield V[best], float(value[best])
