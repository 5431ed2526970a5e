"""Robust scales, powers of two as units, blocks of rows, a checksum, and the dependence of neighbouring rows.

Politis and White (2004), "Automatic block-length selection for the dependent bootstrap", Econometric Reviews
23, with the correction of Patton, Politis and White (2009), Econometric Reviews 28.
"""

from __future__ import annotations

import math
import zlib
from collections.abc import Callable, Iterable, Iterator
from functools import lru_cache
from statistics import NormalDist
from typing import Any

import numpy as np

from spcastat.linalg.ties import is_sparse

# --- robust scales --------------------------------------------------------------------------------


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


# --- powers of two as units -----------------------------------------------------------------------


#: The largest exponent of a unit: its square does not overflow.
LIMIT = np.finfo(float).maxexp // 2 - 2


def unit_of(variance: float) -> float:
    """Return the power of two such that data divided by it have a largest variance in [0.5, 2).

    `variance` is the largest variance of the data as they are; for 0 and values that are not finite, 1.
    """
    exponent = int(np.frexp(variance)[1]) if np.isfinite(variance) else 0
    return float(np.ldexp(1.0, min(max(exponent // 2, -LIMIT), LIMIT)))


def deviations(values: np.ndarray) -> np.ndarray:
    """Return the standard deviation (divisor: rows minus one) of each column, for values of any size.

    Columns are divided by powers of two before they are squared, which is exact.

    Parameters
    ----------
    values : ndarray of shape (n, m)
        At least two rows.
    """
    exponents = np.frexp(np.abs(values).max(axis=0))[1]
    return np.asarray(np.ldexp(np.ldexp(values, -exponents).std(axis=0, ddof=1), exponents))


# --- blocks of rows -------------------------------------------------------------------------------


#: Rows, and stored entries of sparse rows, are processed in blocks of about this many numbers (16 MB).
BLOCK = 2_000_000


def blocks(count: int, each: int, most: int = BLOCK) -> Iterator[slice]:
    """Split `count` items, such as rows, into slices of consecutive items.

    An item needs `each` numbers of memory. A slice has about `most` numbers, but at least one item.
    """
    step = max(1, most // max(each, 1))
    return (slice(start, min(start + step, count)) for start in range(0, count, step))


# --- a checksum -----------------------------------------------------------------------------------


def checksum(matrix: Any) -> int:
    """Return the CRC-32 of a dense array of shape (n, p), or of the arrays of a CSC or CSR array."""
    parts: Iterable[Any]
    if is_sparse(matrix):
        parts = [matrix.data, matrix.indices, matrix.indptr]
    elif matrix.flags.c_contiguous:
        parts = [matrix]
    elif matrix.flags.f_contiguous:
        parts = [matrix.T]
    else:
        step = 4096  # rows to copy at a time
        parts = (np.ascontiguousarray(matrix[i : i + step]) for i in range(0, len(matrix), step))
    found = 0
    for part in parts:
        found = zlib.crc32(part, found)
    return found


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
