"""Estimators of scale along the last axis, all consistent at the normal distribution."""

from __future__ import annotations

import math
from collections.abc import Callable
from functools import lru_cache
from statistics import NormalDist

import numpy as np

#: The factor that makes Qn consistent.
_QN = 1.0 / (math.sqrt(2.0) * NormalDist().inv_cdf(5.0 / 8.0))


def mad(Z: np.ndarray) -> np.ndarray:
    """Return the median absolute deviation from the median, times 1.4826."""
    away = np.abs(Z - _median(Z)[..., None])
    # 1 / Phi^-1(3/4)
    return 1.482602218505602 * _median(away)


def qn(Z: np.ndarray) -> np.ndarray:
    """Return Qn of Rousseeuw and Croux (1993): roughly the first quartile of all pairwise distances.

    With h = n // 2 + 1 it is 2.2191 times the h (h - 1) / 2-th smallest distance, without a correction for
    small n.
    """
    n = Z.shape[-1]
    h = n // 2 + 1
    below = h * (h - 1) // 2 - 1
    if n > 400:  # too many pairs to store their distances
        return _QN * np.apply_along_axis(_distance, -1, np.sort(Z, axis=-1), below)
    first, second = _pairs(n)
    away = np.abs(Z[..., first] - Z[..., second])
    return _QN * np.partition(away, below, axis=-1)[..., below]


@lru_cache(maxsize=4)
def _pairs(n: int) -> tuple[np.ndarray, np.ndarray]:
    first, second = np.triu_indices(n, 1)
    return first, second


def _distance(ordered: np.ndarray, below: int) -> float:
    """Return the pairwise distance of rank `below` (from 0) among sorted values, by bisection."""
    low, high = 0.0, float(np.ptp(ordered))
    place = len(ordered) * (len(ordered) + 1) // 2
    while high - low > 1e-15 * high:
        middle = 0.5 * (low + high)
        if int(np.searchsorted(ordered, ordered + middle, side="right").sum()) - place <= below:
            low = middle
        else:
            high = middle
        if middle in (low, high) and 0.5 * (low + high) == middle:
            break
    return high


def _median(Z: np.ndarray) -> np.ndarray:
    n = Z.shape[-1]
    parted = np.partition(Z, n // 2, axis=-1)
    upper = parted[..., n // 2]
    return upper if n % 2 else 0.5 * (parted[..., : n // 2].max(axis=-1) + upper)


#: Name -> function from shape (..., n) to (...).
SCALES: dict[str, Callable[[np.ndarray], np.ndarray]] = {
    "mad": mad,
    "sd": lambda Z: np.std(Z, axis=-1, ddof=1),
    "qn": qn,
}
