"""Products of sparse rows with dense arrays: summed in float64, without a copy of the rows."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np

#: Stored entries that are converted at once.
PIECE = 2_000_000


def product(X: Any, V: np.ndarray) -> np.ndarray:
    """Return X V in float64.

    Rows of another type are converted in slabs: scipy would convert all of them in every product with
    vectors of float64.

    Parameters
    ----------
    X : scipy.sparse CSR or CSC array of shape (n, p)
        ``X.T`` of either is one of the other, and has the same memory.
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
    """Cut X into rows (CSR) or columns (CSC) of about PIECE stored entries each, as float64."""
    start, last = 0, len(X.indptr) - 1
    while start < last:
        stop = int(np.searchsorted(X.indptr, X.indptr[start] + PIECE, side="right")) - 1
        stop = min(max(stop, start + 1), last)
        low, high = X.indptr[start], X.indptr[stop]
        parts = (X.data[low:high].astype(float), X.indices[low:high], X.indptr[start : stop + 1] - low)
        size = (stop - start, X.shape[1]) if X.format == "csr" else (X.shape[0], stop - start)
        yield slice(start, stop), type(X)(parts, shape=size)
        start = stop
