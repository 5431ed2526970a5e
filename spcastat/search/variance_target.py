"""A promised share of the variance that PCA explains: what it asks, and a criterion that leads there."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from spcastat.measures import MEASURES
from spcastat.operators import Operator
from spcastat.search.adjusted_variance import Adjusted
from spcastat.search.criterion import Fits
from spcastat.search.small_matrices import NOTHING
from spcastat.search.symmetric_matrices import Moments

#: The share may fall short by this much, from rounding, and counts as kept.
REACHED = 1e-10
#: Shortfalls differ by this share of the promise before their weights differ by a factor e.
SOFT = 0.005
#: A component weighs at least this much, however far the promises from its own on are overfulfilled.
LEAST = 1e-3
#: Weight of the variance in all, beside the promises that are not kept yet.
SLACK = 0.05


@dataclass(frozen=True, eq=False)
class Promise:
    """A share of PCA's variance that is kept after every component, or by all of them together.

    Attributes
    ----------
    share : float
        From 0, exclusive, to 1.
    every : bool
    pca : ndarray of shape (k,)
        The leading eigenvalues as shares of the total variance.
    """

    share: float
    every: bool
    pca: np.ndarray

    @property
    def k(self) -> int:
        return len(self.pca)

    @property
    def goals(self) -> np.ndarray:
        """The adjusted variance needed after each component, shape (k,), with half of the rounding."""
        goals = (self.share - 0.5 * REACHED) * np.cumsum(self.pca)
        return goals if self.every else np.where(np.arange(self.k) == self.k - 1, goals, 0.0)

    def kept(self, added: np.ndarray) -> np.ndarray:
        """Return the share kept after each component, shape (..., k), of adjusted variances."""
        return np.cumsum(added, axis=-1) / np.cumsum(self.pca)

    def holds(self, added: np.ndarray) -> np.ndarray:
        """Return whether adjusted variances, shape (..., k), keep the promise."""
        return np.asarray((np.cumsum(added, axis=-1) >= self.goals).all(axis=-1))

    def weights(self, added: np.ndarray) -> np.ndarray:
        """Return how much the variance of each component counts, shape (k,), the first 1.

        It counts in every promise from its own on, and these count the more the closer they are.
        """
        if not self.every:
            return np.ones(self.k)
        over = self.kept(added) / self.share - 1.0
        close = np.exp(-(over - over.min()) / SOFT)
        counts = np.cumsum(close[::-1])[::-1]
        return np.maximum(counts / counts[0], LEAST)

    def measured(self, V: np.ndarray, op: Operator) -> np.ndarray:
        """Return the share kept after each component, shape (k,), by :mod:`spcastat.measures`."""
        return MEASURES["adjusted"](V, op) / np.cumsum(self.pca)

    def true(self, V: np.ndarray, op: Operator) -> bool:
        """Return whether the measures say that loadings keep the promise."""
        kept = self.measured(V, op)
        return bool((kept if self.every else kept[-1:]).min() >= self.share - REACHED)


class Promised(Adjusted):
    """How far a promise is kept: the mean of the parts that are kept after each component, and a little more.

    With f_i the adjusted variance of the first i components and g_i what is promised, the value is
    (1 - a) mean of min(f_i / g_i, 1) + a f_k / g_k: whatever raises it below the promise leads to it, and
    beyond it room is gained. With a promise on all components together it is f_k / g_k.
    """

    def __init__(self, S: Moments, cards: tuple[int, ...], promise: Promise):
        super().__init__(S, cards)
        self.promise = promise
        self.goals = np.maximum(promise.goals, NOTHING)

    def holds(self, fits: Fits) -> np.ndarray:
        """Return which of the fits keep the promise, shape (B,)."""
        return self.promise.holds(self.added(fits.G))

    def _of(self, added: np.ndarray) -> np.ndarray:
        parts = np.cumsum(added, axis=-1) / self.goals
        if not self.promise.every:
            return parts[..., -1]
        return (1.0 - SLACK) * np.minimum(parts, 1.0).mean(axis=-1) + SLACK * parts[..., -1]

    def _worth(self, added: np.ndarray) -> np.ndarray:
        """Return the derivative of the value in each adjusted variance, shape (B, k)."""
        last = 1.0 / self.goals[-1]
        if not self.promise.every:
            return np.full(added.shape, last)
        short = np.cumsum(added, axis=-1) < self.goals
        each = (1.0 - SLACK) / self.k * short / self.goals
        each[..., -1] += SLACK * last
        return np.cumsum(each[..., ::-1], axis=-1)[..., ::-1]
