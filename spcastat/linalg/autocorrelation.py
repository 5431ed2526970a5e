"""Dependence of rows in a sequence: the correlation of neighbours, and the length of blocks that contain it.

Politis and White (2004), "Automatic block-length selection for the dependent bootstrap", Econometric Reviews
23, with the correction of Patton, Politis and White (2009), Econometric Reviews 28.
"""

from __future__ import annotations

import numpy as np


def neighbour_correlation(x: np.ndarray) -> float:
    """Return the correlation of a sequence, shape (n,), at lag 1; 0 if it does not vary."""
    covariances = _autocovariances(x, 1)
    return float(covariances[1] / covariances[0]) if covariances[0] > 0 else 0.0


def block_length(x: np.ndarray) -> int:
    """Return the length of blocks with the least mean squared error of the variance of a mean, from 1 to n /
    3.

    Parameters
    ----------
    x : ndarray of shape (n,)
        Values in the order of time.

    Notes
    -----
    (2 G^2 / D)^(1/3) n^(1/3) with G = sum lambda(k / M) |k| R(k) and D = 4/3 (sum lambda(k / M) R(k))^2,
    where R are autocovariances, lambda is the flat-top window, and M is twice the lag after which K_n =
    max(5, sqrt(log10 n)) successive autocorrelations are below 2 sqrt(log10(n) / n).
    """
    n = len(x)
    run = max(5, int(np.ceil(np.sqrt(np.log10(n)))))
    most = min(int(np.ceil(np.sqrt(n))) + run, n - 1)
    covariances = _autocovariances(x, most)
    if not covariances[0] > 0:
        return 1
    small = np.abs(covariances[1:] / covariances[0]) < 2.0 * np.sqrt(np.log10(n) / n)
    starts = [lag for lag in range(len(small) - run + 1) if small[lag : lag + run].all()]
    large = np.flatnonzero(~small)
    last = starts[0] if starts else int(large[-1]) + 1 if large.size else 0
    M = min(2 * max(last, 1), most)
    lags = np.arange(1, M + 1)
    window = np.minimum(1.0, 2.0 * (1.0 - lags / M))
    G = 2.0 * float(window * lags @ covariances[1 : M + 1])
    D = 4.0 / 3.0 * float(covariances[0] + 2.0 * window @ covariances[1 : M + 1]) ** 2
    longest = max(1, n // 3)
    if not D > 0:
        return longest
    return int(np.clip(np.ceil((2.0 * G**2 / D * n) ** (1.0 / 3.0)), 1, longest))


def _autocovariances(x: np.ndarray, most: int) -> np.ndarray:
    """Return the autocovariances at lags 0 to `most`, divisor n, over the square of the largest deviation."""
    z = x - x.mean()
    z = z / max(np.abs(z).max(), np.finfo(float).tiny)  # squares neither overflow nor vanish
    return np.array([z[: len(z) - lag] @ z[lag:] for lag in range(most + 1)]) / len(z)
