"""Centre and scale of the columns, found without changing the data and replayed on new rows."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from spcastat.kernels.sparsity import is_sparse
from spcastat.operators.blocks import row_blocks

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


def is_constant(mean: np.ndarray, variance: np.ndarray) -> np.ndarray:
    """Mark the columns whose variance is nothing but rounding."""
    return np.sqrt(variance) <= CONSTANT * np.abs(mean)
