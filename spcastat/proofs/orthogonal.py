"""Bounds on PEV for orthogonal loadings.

If v_1, ..., v_k are orthonormal, PEV is sum v_j' S v_j. A component explains at most the largest eigenvalue
on its support, and no other component can use the variable of a one-variable component. See also Cory-Wright
and Pauphilet, "Sparse PCA with multiple components".
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

import numpy as np

from spcastat.linalg.operators import Operator
from spcastat.proofs import duals
from spcastat.proofs.duals import BOUND_ALLOWANCE, Bases, Running, ky_fan
from spcastat.proofs.one_component import Incumbent
from spcastat.proofs.relaxed import Projection, Relaxed, Root, SeparableBound, bounds_alone
from spcastat.search.constrained import constrained
from spcastat.search.constraints import ORTHOGONAL
from spcastat.search.criteria import SupportRule
from spcastat.search.exact_loadings import ExactLoadings
from spcastat.search.objectives import PEV

#: Steps of an ascent from loadings on the supports of a leaf.
CLIMB_STEPS = 60

# --- the bounds -----------------------------------------------------------------------------------


class Orthogonal(Projection):
    """The problem of orthogonal loadings."""

    def __init__(self, S: np.ndarray, cards: tuple[int, ...]):
        super().__init__(S, cards)
        self.free = all(c >= self.p for c in cards)

    searched = Relaxed.searched  # unlike for PEV in general, any c < p is a constraint

    def root(self, singles: np.ndarray) -> Root:
        root = super().root(singles)
        M = root.frame.M
        constant = root.frame.offset + float(ky_fan(M, root.frame.k - len(self.cards))) + BOUND_ALLOWANCE
        bases = {c: root.frame.bases(places)[0] for c, places in self.supports_by_card.items()}
        bounds_by_card = {c: bounds_alone(D.mT @ M @ D, D) for c, D in bases.items()}
        return replace(
            root, mask=0, sums=SeparableBound(constant, tuple(bounds_by_card[c] for c in self.cards))
        )

    def dual_bounds(
        self,
        M: np.ndarray,
        bases: list[np.ndarray],
        choices: np.ndarray,
        k: int,
        level: np.ndarray,
        steps: int,
        running: Running,
    ) -> np.ndarray:
        groups, counts = [D.mT @ M @ D for D in bases], [1] * len(bases)
        all_bases: Bases = [*bases]
        if k > len(bases):
            groups, counts, all_bases = [*groups, M], [*counts, k - len(bases)], [*all_bases, None]
        return duals.ordered_bounds(groups, counts, level, steps, bases=all_bases, running=running)


class OrthogonalLeaves(Incumbent):
    """The best known fit with orthogonal loadings, as measured by PEV."""

    def _measured(self, V: np.ndarray) -> float:
        return float(np.einsum("ij,ik,kj->", V, self.S, V))

    def improve(self, op: Operator, cards: tuple[int, ...], rule: SupportRule | None = None) -> float:
        """Search from this fit among orthogonal loadings; return the best value."""
        if max(cards) < len(self.S):  # any loadings of all variables are those of PCA
            result = constrained(self.S, self.cards, ORTHOGONAL, PEV, "quick", self.rng, [self.V])
            return self.adopt(result.V, self._measured(result.V))
        return self.value

    def _climbed(self, assignments: list[list[np.ndarray]]) -> Iterator[tuple[np.ndarray, float]]:
        places = np.stack([np.concatenate(supports) for supports in assignments])
        loadings = ExactLoadings(self.S, self.cards, ORTHOGONAL, PEV)
        leading = [
            [np.linalg.eigh(self.S[np.ix_(T, T)])[1][:, -1] for T in supports] for supports in assignments
        ]
        starts = [np.stack([np.concatenate(vectors) for vectors in leading])]
        starts += [self.rng.standard_normal(places.shape) for _ in range(3)]
        for start in starts:
            x, values, _ = loadings.best_loadings(places, start, CLIMB_STEPS)
            argmax = int(np.argmax(values))
            V = np.zeros_like(self.V)
            V[places[argmax], loadings.owner] = x[argmax]
            yield V, float(values[argmax])
