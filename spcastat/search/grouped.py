"""Supports of whole groups of variables."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import combinations, product
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from spcastat.linalg.accumulate import BATCH
from spcastat.linalg.operators import Gram, Operator
from spcastat.search.criteria import SupportRule
from spcastat.search.matrices import best_vectors, largest, ranked_entries, unit

if TYPE_CHECKING:
    from spcastat.search.criteria import Criterion, Fits


@dataclass(frozen=True, eq=False)
class GroupRule(SupportRule):
    """The support of component i is a union of `counts[i]` of g groups.

    All supports of a component are arrays of the same length, the size of its largest union (see `rooms`). A
    smaller union is padded with p, the index of an additional variable that is always zero (see `with_zero`).
    The loading of this variable is also zero, as it contributes to no criterion.

    Attributes
    ----------
    of : ndarray of int, shape (p,)
        The group of each variable; `may` and `must` are constant within each group.
    counts : tuple of int
        The number of groups of each component.
    """

    of: NDArray[np.int_] = None  # type: ignore[assignment]  # the inherited fields have defaults
    counts: tuple[int, ...] = ()

    @cached_property
    def member(self) -> np.ndarray:
        """Indicators of the groups, shape (p, g): ones and zeros."""
        return (self.of[:, None] == np.arange(self.of.max() + 1)).astype(float)

    @cached_property
    def groups(self) -> SupportRule:
        """The same rule for groups instead of variables."""
        first_members = self.member.argmax(axis=0)
        return SupportRule(self.may[:, first_members], self.must[:, first_members], self.disjoint)

    @property
    def rooms(self) -> tuple[int, ...]:
        """The number of variables in the largest union of each component."""
        sizes = np.sort(np.bincount(self.of))[::-1]
        return tuple(int(sizes[:count].sum()) for count in self.counts)

    def by_group(self, values: np.ndarray) -> np.ndarray:
        """Return the sums of `values`, shape (..., p or p + 1), over each group, shape (..., g)."""
        return np.asarray(values[..., : len(self.of)] @ self.member)

    def hard(
        self, W: np.ndarray, i: int, card: int, used: NDArray[np.bool_] | None
    ) -> tuple[np.ndarray, np.ndarray]:
        used = None if used is None else self.by_group(used) > 0
        groups = largest(self.groups.keys(self.by_group(W**2), i, used), self.counts[i])
        places = self.places(groups, card)
        return places, unit(np.where(places < len(self.of), np.take_along_axis(W, places, axis=-1), 0.0))

    def places(self, groups: np.ndarray, room: int) -> np.ndarray:
        """Return the variables of the `groups`, shape (..., c), ascending, padded with p to length `room`."""
        membership = (self.of == groups[..., None]).any(axis=-2)
        order = np.argsort(~membership, axis=-1, kind="stable")[..., :room]
        return np.where(np.take_along_axis(membership, order, axis=-1), order, len(self.of))

    def feasible(self, cards: Sequence[int]) -> bool:
        """Return whether any unions of `cards` groups, one number for each component, are allowed."""
        return self.groups.feasible(cards)

    def broken(self, supports: NDArray[np.bool_]) -> NDArray[np.bool_]:
        return super().broken(supports[..., : len(self.of)])

    def assigned(self, gains: np.ndarray, cards: Sequence[int]) -> list[np.ndarray] | None:
        groups_by_component = self.groups.assigned(self.by_group(gains**2), self.counts)
        return groups_by_component and [
            self.places(groups, room) for groups, room in zip(groups_by_component, self.rooms, strict=True)
        ]

    def present(self, criterion: Criterion, fits: Fits, i: int) -> np.ndarray:
        """Return the groups of component i, shape (B, c)."""
        membership = np.zeros((len(fits), criterion.m), dtype=bool)
        np.put_along_axis(membership, fits.places[:, criterion.parts[i]], True, axis=1)
        return np.nonzero(self.by_group(membership))[1].reshape(len(fits), self.counts[i])

    def trials(
        self, criterion: Criterion, fits: Fits, i: int, width: int
    ) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """Return exchanges of groups, analogous to `spcastat.search.moves.trials` for variables."""
        c, card = self.counts[i], criterion.cards[i]
        w = min(width, self.member.shape[1] - c)
        step = max(1, BATCH // ((c * w + 1) * (card**2 + criterion.k * criterion.m)))
        batches = [slice(begin, begin + step) for begin in range(0, len(fits), step)]
        parts = [self._trials(criterion, fits.subset(batch), i, w) for batch in batches]
        places, x, values = zip(*parts, strict=True)
        return np.concatenate(places), np.concatenate(x), np.concatenate(values)

    def _trials(
        self, criterion: Criterion, fits: Fits, i: int, w: int
    ) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        B, c, card = len(fits), self.counts[i], criterion.cards[i]
        present_groups = self.present(criterion, fits, i)
        used = criterion.used(fits, i)
        used = None if used is None else self.by_group(used) > 0
        pull = self.groups.keys(self.by_group(criterion.pull(fits, i)[0] ** 2), i, used)
        np.put_along_axis(pull, present_groups, pull.min(axis=1, keepdims=True) - 1.0, axis=1)
        entering = ranked_entries(pull, w)
        # `keys` is negative for forbidden groups, and forced groups are in the component already
        is_admissible = np.take_along_axis(pull, entering, axis=1) >= 0.0
        swaps = is_admissible[:, None] & ~self.groups.must[i][present_groups][:, :, None]
        at = np.arange(c)
        trial_groups = np.repeat(np.repeat(present_groups[:, None, None], c, axis=1), w, axis=2)
        trial_groups[:, at, :, at] = np.where(swaps, entering[:, None], present_groups[:, :, None]).transpose(
            1, 0, 2
        )
        trial_groups = np.concatenate([trial_groups.reshape(B, c * w, c), present_groups[:, None]], axis=1)
        places = self.places(trial_groups, card)
        flat = places.reshape(-1, card)
        parts = criterion.model(fits, i).repeat(c * w + 1).bordered(flat, flat[:, :0])
        x = unit(np.where(flat < len(self.of), best_vectors(parts.A, parts.M), 0.0)).reshape(places.shape)
        return places, x, criterion.values_with(fits, i, places, x)

    def swaps(self, criterion: Criterion, fits: Fits, W: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Return the fits after every swap of groups between two components: places and loadings, (B, L, N).

        The loadings of the two components are entries of `W`, which contains the pulls, shape (B, k, m). If
        the rule forbids a swap, the fit is unchanged.
        """
        present_groups = [self.present(criterion, fits, i) for i in range(criterion.k)]
        may, must = self.groups.may, self.groups.must
        all_places, all_x = [fits.places], [fits.x]
        for i, j in combinations(range(criterion.k), 2):
            for a, b in product(range(self.counts[i]), range(self.counts[j])):
                g, h = present_groups[i][:, a], present_groups[j][:, b]
                fine = may[i][h] & may[j][g] & ~must[i][g] & ~must[j][h]
                places, x = fits.places.copy(), fits.x.copy()
                for component, at, entering_groups in ((i, a, h), (j, b, g)):
                    groups = present_groups[component].copy()
                    groups[fine, at] = entering_groups[fine]
                    part = criterion.parts[component]
                    places[:, part] = self.places(groups, criterion.cards[component])
                    pulls = np.take_along_axis(W[:, component], places[:, part], axis=1)
                    x[:, part] = np.where(places[:, part] < len(self.of), pulls, 0.0)
                all_places.append(places)
                all_x.append(np.where(fine[:, None], x, fits.x))
        return np.stack(all_places, axis=1), np.stack(all_x, axis=1)


def with_zero(op: Operator) -> Gram:
    """Return the covariance matrix with an additional variable that is always zero."""
    S = np.zeros((op.p + 1, op.p + 1))
    S[:-1, :-1] = op.block(np.arange(op.p))
    return Gram(S, op.rank_limit)
