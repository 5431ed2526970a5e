"""Centre and scale of the columns, found without changing the data and replayed on new rows."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np

from spcastat.kernels.sparsity import is_sparse

#: Rows are worked through in blocks of about this many numbers (16 MB of float64).
BLOCK = 2_000_000
#: A standard deviation below this share of the mean is rounding, not variation.
CONSTANT = 1e-13


@dataclass(frozen=True, eq=False)
class Standardisation:
    """x becomes (x - mean) / scale.

    Attributes
    ----------
    mean, scale : ndarray of shape (p,)
        Zeros where nothing is subtracted, ones where nothing is divided by.
    centring : {"mean", "given", "none"}
        Where `mean` comes from.
    scaling : {"sd", "given", "none"}
        Where `scale` comes from.
    """

    mean: np.ndarray
    scale: np.ndarray
    centring: str
    scaling: str

    def project(self, X: Any, V: np.ndarray) -> np.ndarray:
        """Return the scores (X - mean) / scale V, shape (n, k), of raw rows.

        Parameters
        ----------
        X : ndarray or scipy.sparse array of shape (n, p)
        V : ndarray of shape (p, k)
            Only the columns of `X` with a nonzero loading are read.
        """
        used = np.flatnonzero(V.any(axis=1))
        weights = V[used] / self.scale[used, None]
        if is_sparse(X):
            return np.asarray(X[:, used] @ weights) - self.mean[used] @ weights
        scores = np.empty((X.shape[0], V.shape[1]))
        for rows in row_blocks(X.shape[0], max(used.size, 1)):
            scores[rows] = (X[rows][:, used] - self.mean[used]) @ weights
        return scores

    def restore(self, fitted: np.ndarray) -> np.ndarray:
        """Return standardised rows, shape (n, p), in the units of the data."""
        return fitted * self.scale + self.mean


def row_blocks(n: int, p: int) -> Iterator[slice]:
    """Cut n rows of p numbers into slices of about BLOCK numbers."""
    step = max(1, BLOCK // p)
    return (slice(start, min(start + step, n)) for start in range(0, n, step))


def column_means(X: Any, weights: np.ndarray) -> np.ndarray:
    """Return the weighted means, shape (p,), accurate at any ratio of mean to standard deviation."""
    total = weights.sum()
    mean = np.asarray(X.T @ weights, dtype=float) / total
    if is_sparse(X):
        column, weight, zeros = _stored(X, weights)
        left = np.bincount(column, weight * (X.data - mean[column]), X.shape[1]) - zeros * mean
        return mean + left / total
    correction = np.zeros_like(mean)
    for rows in row_blocks(*X.shape):
        correction += weights[rows] @ (X[rows] - mean)
    return mean + correction / total


def column_squares(X: Any, weights: np.ndarray, mean: np.ndarray) -> np.ndarray:
    """Return the weighted sums of squares about `mean`, shape (p,)."""
    if is_sparse(X):
        column, weight, zeros = _stored(X, weights)
        return np.bincount(column, weight * (X.data - mean[column]) ** 2, X.shape[1]) + zeros * mean**2
    squares = np.zeros(X.shape[1])
    for rows in row_blocks(*X.shape):
        squares += weights[rows] @ (X[rows] - mean) ** 2
    return squares


def _stored(X: Any, weights: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Return column and weight of every stored entry, and the weight of each column's unstored zeros."""
    stored = np.diff(X.indptr)
    column = np.repeat(np.arange(X.shape[1]), stored)
    weight = weights[X.indices]
    zeros = (weights.sum() - np.bincount(column, weight, X.shape[1])).clip(min=0.0)
    return column, weight, np.where(stored == X.shape[0], 0.0, zeros)


def is_constant(mean: np.ndarray, variance: np.ndarray) -> np.ndarray:
    """Mark the columns whose variance is nothing but rounding."""
    return np.sqrt(variance) <= CONSTANT * np.abs(mean)
