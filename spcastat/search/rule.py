"""The rule on supports: which variables each component may have and must have."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from spcastat.search.matrices import largest, unit


@dataclass(frozen=True, eq=False)
class SupportRule:
    """The allowed supports T_i: must_i within T_i within may_i, and no shared variable if `disjoint`.

    Attributes
    ----------
    may, must : ndarray of bool, shape (k, m)
        The variables that each component may have, and those of them that it must have.
    disjoint : bool
        Whether a variable is in at most one component.
    """

    may: NDArray[np.bool_]
    must: NDArray[np.bool_]
    disjoint: bool = False

    def kinds(self, cards: Sequence[int]) -> tuple[int, ...]:
        """Return labels of the components; components with the same label may change places."""
        asked = [(c, self.may[i].tobytes(), self.must[i].tobytes()) for i, c in enumerate(cards)]
        return tuple(asked.index(one) for one in asked)

    def among(self, some: NDArray[np.bool_] | NDArray[np.int_]) -> SupportRule:
        """Return the rule for some of the variables."""
        return SupportRule(self.may[:, some], self.must[:, some], self.disjoint)

    def nearest(self, card: int) -> tuple[int, ...]:
        """Return for each component the cardinality nearest to `card` that its variables allow."""
        most = self.may.sum(axis=1)
        return tuple(int(c) for c in np.clip(card, np.maximum(self.must.sum(axis=1), 1), most))

    def open(self, i: int, used: NDArray[np.bool_] | None) -> NDArray[np.bool_]:
        """Return the variables that component i may have given the others, shape (m,) or that of `used`.

        Parameters
        ----------
        i : int
        used : ndarray of bool, shape (B, m), or None
            The variables of the other components in each of B fits; used for disjoint components.
        """
        if not self.disjoint:
            return self.may[i]
        found: NDArray[np.bool_] = self.may[i] & ~np.delete(self.must, i, axis=0).any(axis=0)
        return found if used is None else found & ~used

    def keys(self, keys: np.ndarray, i: int, used: NDArray[np.bool_] | None) -> np.ndarray:
        """Return `keys`, (B, m) or (B, L, m), changed so that forced variables rank first, forbidden last."""
        allowed = self.open(i, used)
        if allowed.ndim > 1 and keys.ndim > 2:
            allowed = allowed[:, None]
        low, high = min(float(keys.min()), 0.0) - 1.0, float(keys.max()) + 1.0
        return np.where(self.must[i], high, np.where(allowed, keys, low))

    def hard(
        self, W: np.ndarray, i: int, card: int, used: NDArray[np.bool_] | None
    ) -> tuple[np.ndarray, np.ndarray]:
        """Return the largest absolute entries that component i may have: their places, and unit loadings.

        If disjoint components leave fewer than `card` variables, variables in use are taken too; see
        `broken`.
        """
        places = largest(self.keys(np.abs(W), i, used), card)
        return places, unit(np.take_along_axis(W, places, axis=-1))

    def broken(self, supports: NDArray[np.bool_]) -> NDArray[np.bool_]:
        """Return which of B fits break the rule, shape (B,); `supports` has shape (B, k, m)."""
        wrong = (supports & ~self.may).any(axis=(1, 2)) | (self.must & ~supports).any(axis=(1, 2))
        return wrong | (self.disjoint & (supports.sum(axis=1) > 1).any(axis=1))

    def feasible(self, cards: Sequence[int]) -> bool:
        """Return whether some supports of these cardinalities are allowed; `may` must include `must`."""
        each = (self.must.sum(axis=1) <= cards) & (self.may.sum(axis=1) >= cards)
        return bool(each.all()) and (
            not self.disjoint or self.assigned(np.zeros(self.may.shape), cards) is not None
        )

    def assigned(self, gains: np.ndarray, cards: Sequence[int]) -> list[np.ndarray] | None:
        """Return the disjoint supports with the largest sum of `gains`, shape (k, m), or None.

        None is returned if no disjoint supports are allowed. This is an assignment problem: every nonzero is
        a slot for one variable.
        """
        from scipy.optimize import linear_sum_assignment  # imported late, as few rules need it

        seats = np.repeat(np.arange(len(cards)), cards)
        if len(seats) > gains.shape[1]:
            return None
        worth = 0.5 * gains / (len(seats) * max(float(gains.max()), np.finfo(float).tiny))
        forced = np.where(self.must, 2.0, 0.0) - 2.0 * (self.must.any(axis=0) & ~self.must)
        total = np.where(self.may, worth + forced, -2.0 * len(seats) - 2.0)[seats]
        seated = linear_sum_assignment(total, maximize=True)[1]
        supports = [np.sort(seated[seats == i]) for i in range(len(cards))]
        chosen = np.zeros((1, *self.may.shape), dtype=bool)
        for i, support in enumerate(supports):
            chosen[0, i, support] = True
        return None if self.broken(chosen)[0] else supports
