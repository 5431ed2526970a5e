"""A target share of the variance that PCA explains, and a criterion whose maximisation reaches it."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from spcastat.linalg.operators import Operator
from spcastat.measures import MEASURES
from spcastat.search.criteria import Adjusted, Fits
from spcastat.search.matrices import TINY, Moments

#: A shortfall of the share up to this counts as rounding.
REACHED = 1e-10
#: Weight of the total adjusted variance relative to the targets not yet reached.
SLACK = 0.05


@dataclass(frozen=True, eq=False)
class VarianceTarget:
    """A target share of PCA's variance, after every component or for all of them together.

    Attributes
    ----------
    share : float
        From 0, exclusive, to 1.
    every : bool
        Whether the share must be kept after every component, not only by all of them together.
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
        """The adjusted variance needed after each component, shape (k,), less half of REACHED."""
        goals = (self.share - 0.5 * REACHED) * np.cumsum(self.pca)
        return goals if self.every else np.where(np.arange(self.k) == self.k - 1, goals, 0.0)

    def kept(self, added: np.ndarray) -> np.ndarray:
        """Return the share of PCA's variance after each component, shape (..., k), for adjusted variances."""
        return np.cumsum(added, axis=-1) / np.cumsum(self.pca)

    def holds(self, added: np.ndarray) -> np.ndarray:
        """Return whether adjusted variances, shape (..., k), reach the target."""
        return np.asarray((np.cumsum(added, axis=-1) >= self.goals).all(axis=-1))

    def reached(self, added: np.ndarray) -> np.ndarray:
        """Return how nearly the target is reached, shape (...,), for adjusted variances, shape (..., k).

        With f_i the adjusted variance of the first i components and g_i the target, this is
        (1 - a) mean of min(f_i / g_i, 1) + a f_k / g_k. The first term is largest where all targets are
        reached; the second then increases the margin. With a target for the total only, it is f_k / g_k.
        """
        parts = np.cumsum(added, axis=-1) / np.maximum(self.goals, TINY)
        if not self.every:
            return np.asarray(parts[..., -1])
        return np.asarray((1.0 - SLACK) * np.minimum(parts, 1.0).mean(axis=-1) + SLACK * parts[..., -1])

    def weights(self, added: np.ndarray) -> np.ndarray:
        """Return the weight of the adjusted variance of each component, shape (k,); the first is 1.

        A component counts towards the targets after it and after all later components, and a target weighs
        more the larger its shortfall.
        """
        if not self.every:
            return np.ones(self.k)
        over = self.kept(added) / self.share - 1.0
        # weights differ by a factor e where shares of the target differ by .005
        close = np.exp(-(over - over.min()) / 0.005)
        counts = np.cumsum(close[::-1])[::-1]
        return np.maximum(counts / counts[0], 1e-3)

    def measured(self, V: np.ndarray, op: Operator) -> np.ndarray:
        """Return the share after each component, shape (k,), from :mod:`spcastat.measures`."""
        return MEASURES["adjusted"](V, op) / np.cumsum(self.pca)

    def true(self, V: np.ndarray, op: Operator) -> bool:
        """Return whether loadings reach the target according to :mod:`spcastat.measures`."""
        kept = self.measured(V, op)
        return bool((kept if self.every else kept[-1:]).min() >= self.share - REACHED)


class TargetCriterion(Adjusted):
    """How nearly a target is reached: the mean attained share, plus a small multiple of the total."""

    def __init__(self, S: Moments, cards: tuple[int, ...], target: VarianceTarget):
        super().__init__(S, cards)
        self.target = target
        self.goals = np.maximum(target.goals, TINY)

    def holds(self, fits: Fits) -> np.ndarray:
        """Return which of the fits reach the target, shape (B,)."""
        return self.target.holds(self.added(fits.G))

    def _of(self, added: np.ndarray) -> np.ndarray:
        return self.target.reached(added)

    def _worth(self, added: np.ndarray) -> np.ndarray:
        """Return the derivative of the value in each adjusted variance, shape (B, k)."""
        last = 1.0 / self.goals[-1]
        if not self.target.every:
            return np.full(added.shape, last)
        short = np.cumsum(added, axis=-1) < self.goals
        each = (1.0 - SLACK) / self.k * short / self.goals
        each[..., -1] += SLACK * last
        return np.cumsum(each[..., ::-1], axis=-1)[..., ::-1]
