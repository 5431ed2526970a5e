"""A random sample of rows in chunks, which are never all in memory.

What draws rows (bootstrap, halves, folds, tests) uses a random sample of them, which one pass draws: the
rows with the smallest keys, where the key of a row is a hash of its values, its position (with dask, the
position in its partition) and the seed. The sample does not depend on the size of the chunks, and has all
rows if there are few enough.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from scipy import sparse

from spcastat.inputs.row_groups import ODD
from spcastat.linalg.ties import is_sparse

#: Largest number of rows of a sample, and of its values, if they are dense.
SAMPLE_ROWS, SAMPLE_CELLS = 50_000, 64_000_000


class SampledRows:
    """Accumulator of rows drawn at random without replacement.

    Parameters
    ----------
    size, seed : int

    Attributes
    ----------
    keys : ndarray of uint64, shape (m,)
        Ascending.
    X : ndarray or scipy.sparse CSR array of shape (m, p), or None
        The rows drawn so far.
    weights : ndarray of shape (m,), or None
    """

    def __init__(self, size: int, seed: int):
        self.size, self.seed, self.row_count = size, seed, 0
        self.keys = np.zeros(0, dtype=np.uint64)
        self.X: Any = None
        self.weights: np.ndarray | None = None

    def add(self, X: Any, weights: np.ndarray | None) -> None:
        """Add rows; rows of weight zero are never drawn."""
        X = X.tocsr() if is_sparse(X) else X
        place = (self.row_count + np.arange(X.shape[0])).astype(np.uint64)
        self.row_count += X.shape[0]
        keys = row_keys(X, self.seed) ^ ((place + np.uint64(1)) * ODD)
        keys = (keys ^ (keys >> np.uint64(31))) * ODD
        places = np.arange(len(keys)) if weights is None else np.flatnonzero(weights > 0)
        size = self._capacity(X)
        places = places[np.argsort(keys[places], kind="stable")[:size]]
        if len(self.keys) == size:
            places = places[keys[places] < self.keys[-1]]
        self._join(keys[places], X[places], None if weights is None else weights[places], size)

    def merge(self, sample: SampledRows) -> None:
        """Add the rows drawn by another accumulator."""
        if sample.X is not None:
            self._join(sample.keys, sample.X, sample.weights, self._capacity(sample.X))

    def _capacity(self, X: Any) -> int:
        """Return the largest number of rows of a sample of such rows."""
        return self.size if is_sparse(X) else min(self.size, max(SAMPLE_CELLS // X.shape[1], 2))

    def _join(self, keys: np.ndarray, X: Any, weights: np.ndarray | None, size: int) -> None:
        if not len(keys) and self.X is not None:
            return
        if self.X is not None:
            keys = np.append(self.keys, keys)
            X = sparse.vstack([self.X, X], format="csr") if is_sparse(X) else np.concatenate([self.X, X])
            if weights is not None and self.weights is not None:
                weights = np.append(self.weights, weights)
        smallest = np.argsort(keys, kind="stable")[:size]
        self.keys, self.X = keys[smallest], X[smallest]
        self.weights = None if weights is None else weights[smallest]


def row_keys(X: Any, seed: int) -> np.ndarray:
    """Return a 64-bit hash of the values of each row and the seed, shape (n,)."""
    multipliers = np.random.default_rng(seed).integers(2**63, size=X.shape[1], dtype=np.uint64) * 2 + 1
    if is_sparse(X):
        X = X.tocsr()
        cells = _bits(X.data) * multipliers[X.indices]
        filled = np.append(np.cumsum(cells, dtype=np.uint64), np.uint64(0))
        ends = np.concatenate([[np.uint64(0)], filled[:-1]])[X.indptr]
        sums = ends[1:] - ends[:-1]
    else:
        sums = np.zeros(len(X), dtype=np.uint64)
        for j, multiplier in enumerate(multipliers):
            sums += _bits(X[:, j]) * multiplier
    sums ^= sums >> np.uint64(32)
    sums *= ODD
    return sums


def _bits(values: np.ndarray) -> np.ndarray:
    """Return a 64-bit hash of each number; the hash of zero is zero."""
    bits = (np.asarray(values, dtype=np.float64) + 0.0).view(np.uint64)
    mixed: np.ndarray = (bits ^ (bits >> np.uint64(29))) * np.uint64(0xBF58476D1CE4E5B9)
    return mixed ^ (mixed >> np.uint64(32))
