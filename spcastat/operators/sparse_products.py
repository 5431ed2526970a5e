"""Sparse rows: products with dense arrays, and means and sums of squares of the columns.

All sums are in float64. The data are processed in chunks, so that no temporary array is as large as the data.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np

from spcastat.kernels.blocks import BLOCK


def product(X: Any, V: np.ndarray) -> np.ndarray:
    """Return X V in float64.

    Rows of another type are converted slab by slab; SciPy would convert all of them in every product.

    Parameters
    ----------
    X : scipy.sparse CSR or CSC array of shape (n, p)
        The transpose of one format is an array of the other and shares its memory.
    V : ndarray of shape (p,) or (p, m)
    """
    if X.dtype == np.float64:
        return np.asarray(X @ V)
    result = np.zeros((X.shape[0], *V.shape[1:]))
    for outer, slab in _slabs(X):
        if X.format == "csr":
            result[outer] = slab @ V
        else:
            result += slab @ V[outer]
    return result


def _slabs(X: Any) -> Iterator[tuple[slice, Any]]:
    """Split X into slabs of rows (CSR) or columns (CSC) of about BLOCK stored entries each, as float64."""
    start, last = 0, len(X.indptr) - 1
    while start < last:
        stop = int(np.searchsorted(X.indptr, X.indptr[start] + BLOCK, side="right")) - 1
        stop = min(max(stop, start + 1), last)
        low, high = X.indptr[start], X.indptr[stop]
        parts = (X.data[low:high].astype(float), X.indices[low:high], X.indptr[start : stop + 1] - low)
        size = (stop - start, X.shape[1]) if X.format == "csr" else (X.shape[0], stop - start)
        yield slice(start, stop), type(X)(parts, shape=size)
        start = stop


#: Sums are formed over chunks of this many stored entries, or of PER_COLUMN for each column if that is more.
ENTRIES, PER_COLUMN = 50_000, 5


def sparse_sums(X: Any, weights: np.ndarray | None) -> tuple[float, np.ndarray, np.ndarray]:
    """Return the sum of the weights, the weighted means, and the weighted sums of squares about them.

    Parameters
    ----------
    X : scipy.sparse CSR or CSC array of shape (n, p)
    weights : ndarray of shape (n,) or None
    """
    n, p = X.shape
    weight = float(n) if weights is None else float(weights.sum())
    if weight == 0:
        return 0.0, np.zeros(p), np.zeros(p)
    total = np.zeros(p)
    stored = np.zeros(p)  # the weight of the stored entries
    count = np.zeros(p)
    for column, w, x in _pieces(X, weights):
        total += np.bincount(column, x if w is None else w * x, p)
        count += np.bincount(column, None, p)
        if w is not None:
            stored += np.bincount(column, w, p)
    zeros = n - count if weights is None else np.where(count == n, 0.0, (weight - stored).clip(min=0.0))
    mean = total / weight
    left = -zeros * mean
    squares = zeros * mean**2
    for column, w, x in _pieces(X, weights):
        away = x - mean[column]
        first = away if w is None else w * away
        left += np.bincount(column, first, p)
        squares += np.bincount(column, first * away, p)
    left /= weight  # rounding error of the mean
    return weight, mean + left, (squares - weight * left**2).clip(min=0.0)  # rounding in constant columns


def sparse_squares(X: Any, weights: np.ndarray | None, centre: np.ndarray) -> np.ndarray:
    """Return the weighted sums of squares of the columns about `centre`, shape (p,)."""
    weight, mean, squares = sparse_sums(X, weights)
    return squares + weight * (mean - centre) ** 2


def _pieces(X: Any, weights: np.ndarray | None) -> Iterator[tuple[np.ndarray, np.ndarray | None, np.ndarray]]:
    """Yield column, weight (None for ones) and value of the stored entries, in chunks."""
    columns_first = X.format == "csc"
    size = max(ENTRIES, PER_COLUMN * X.shape[1])
    for start in range(0, len(X.data), size):
        stop = min(start + size, len(X.data))
        inner = X.indices[start:stop]
        if columns_first or weights is not None:
            outer = _outer(X.indptr, start, stop)
            column, row = (outer, inner) if columns_first else (inner, outer)
        else:
            column = row = inner
        w = None if weights is None else weights[row]
        yield column, w, X.data[start:stop].astype(float, copy=False)


def _outer(indptr: np.ndarray, start: int, stop: int) -> np.ndarray:
    """Return the row (CSR) or the column (CSC) of each of the stored entries start:stop."""
    first = int(np.searchsorted(indptr, start, side="right")) - 1
    last = int(np.searchsorted(indptr, stop, side="left"))
    counts = np.diff(indptr[first : last + 1].clip(start, stop))
    return np.repeat(np.arange(first, last), counts)
