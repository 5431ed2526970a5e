"""Hashes of rows, which assign them to folds, halves and draws regardless of the size of the chunks."""

from __future__ import annotations

from typing import Any

import numpy as np

from spcastat.kernels.sparsity import is_sparse

GOLDEN = np.uint64(0x9E3779B97F4A7C15)


def hashed_labels(X: Any, count: int, seed: int) -> np.ndarray:
    """Return the fold of each row, shape (n,), which depends only on its values and the seed."""
    return np.asarray(((row_keys(X, seed) >> np.uint64(33)) % np.uint64(count)).astype(np.int64))


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
    sums *= GOLDEN
    return sums


def _bits(values: np.ndarray) -> np.ndarray:
    """Return a 64-bit hash of each number; the hash of zero is zero."""
    bits = (np.asarray(values, dtype=np.float64) + 0.0).view(np.uint64)
    mixed: np.ndarray = (bits ^ (bits >> np.uint64(29))) * np.uint64(0xBF58476D1CE4E5B9)
    return mixed ^ (mixed >> np.uint64(32))


def place_keys(X: Any, seen: int, seed: int) -> np.ndarray:
    """Return a 64-bit hash of the values and position of each row, shape (n,), after `seen` earlier rows."""
    place = (seen + np.arange(X.shape[0])).astype(np.uint64)
    return _mixed(row_keys(X, seed) + (place + np.uint64(1)) * GOLDEN)


def uniform_of(keys: np.ndarray, seed: int, number: int) -> np.ndarray:
    """Return a uniform random number for each row, shape (n,), independent for different `number`."""
    own = np.random.default_rng([seed, number]).integers(2**63, dtype=np.uint64)
    return np.asarray((_mixed(keys ^ own) >> np.uint64(11)) * 2.0**-53)


def _mixed(keys: np.ndarray) -> np.ndarray:
    """Return a 64-bit hash of each key: the finaliser of splitmix64."""
    keys = (keys ^ (keys >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
    keys = (keys ^ (keys >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    return np.asarray(keys ^ (keys >> np.uint64(31)))
