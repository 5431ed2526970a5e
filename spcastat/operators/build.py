"""From raw rows to the operator that serves them at the least cost."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from spcastat.config import listed
from spcastat.errors import ConstantColumnError
from spcastat.kernels.sparsity import is_sparse
from spcastat.operators.base import Operator
from spcastat.operators.gram import Gram
from spcastat.operators.rows import DenseRows, SparseRows
from spcastat.operators.standardise import (
    Standardisation,
    column_means,
    column_squares,
    is_constant,
    row_blocks,
)

#: With no fewer rows than variables the covariance matrix is formed up to this many variables.
GRAM_ORDER = 3000
#: Up to this many variables it is formed whatever the number of rows.
SMALL_ORDER = 400


def standardise(
    X: Any,
    weights: np.ndarray | None,
    center: bool | np.ndarray,
    scale: bool | np.ndarray,
    names: Sequence[object],
) -> Standardisation:
    """Find the centre and scale of raw rows.

    Parameters
    ----------
    X : ndarray or scipy.sparse CSC array of shape (n, p)
    weights : ndarray of shape (n,) or None
        Frequency weights: a row of weight 2 counts as two rows.
    center, scale : bool or ndarray of shape (p,)
        Values of one's own instead of the column's mean and standard deviation. Without centring the
        scale is the root mean square about zero (divisor n - 1), as in R's ``scale``.
    names : sequence of length p
        Labels for messages.

    Raises
    ------
    ConstantColumnError
        With ``scale=True`` where a column does not vary.
    """
    n, p = X.shape
    w = np.ones(n) if weights is None else weights
    if center is True:
        mean = column_means(X, w)
    else:
        mean = np.zeros(p) if center is False else np.asarray(center, dtype=float)
    if scale is True:
        variance = column_squares(X, w, mean) / (w.sum() - 1.0)
        constant = np.flatnonzero(is_constant(mean, variance))
        if constant.size:
            raise ConstantColumnError(
                f"{constant.size} of {p} columns do not vary: "
                f"{listed([names[int(j)] for j in constant])}; with scale=True every column is divided by "
                "its standard deviation. Drop these columns or use scale=False."
            )
        divisor = np.sqrt(variance)
    else:
        divisor = np.ones(p) if scale is False else np.asarray(scale, dtype=float)
    centring = "mean" if center is True else "none" if center is False else "given"
    scaling = "sd" if scale is True else "none" if scale is False else "given"
    return Standardisation(mean, divisor, centring, scaling)


def build(X: Any, weights: np.ndarray | None, standard: Standardisation, keep_rows: bool = False) -> Operator:
    """Return the operator of centred, scaled and weighted rows, by the cheapest route.

    Columns whose variation is nothing but rounding have variance zero in it.

    Parameters
    ----------
    X : ndarray or scipy.sparse CSC array of shape (n, p)
    weights : ndarray of shape (n,) or None
    standard : Standardisation
    keep_rows : bool
        Return an operator that has rows, whatever it costs.
    """
    n, p = X.shape
    w = np.ones(n) if weights is None else weights
    root = np.sqrt(w / (w.sum() - 1.0))
    rank_limit = int(np.count_nonzero(w)) - int(standard.centring == "mean")
    form_gram = not keep_rows and (p <= SMALL_ORDER or (n >= p and p <= GRAM_ORDER))
    if is_sparse(X):
        rows = SparseRows(X, standard.mean, 1.0 / standard.scale, root, rank_limit)
        still = is_constant(standard.mean, rows.diagonal() * standard.scale**2)
        if still.any():
            rows = SparseRows(X, standard.mean, np.where(still, 0.0, 1.0 / standard.scale), root, rank_limit)
        return Gram(rows.gram(), rank_limit) if form_gram else rows
    if form_gram:
        S = gram_by_blocks(X, root, standard)
        still = is_constant(standard.mean, np.diag(S) * standard.scale**2)
        if still.any():
            S[still], S[:, still] = 0.0, 0.0
        return Gram(S, rank_limit)
    Y = (X - standard.mean) / standard.scale
    Y *= root[:, None]
    Y[:, is_constant(standard.mean, np.einsum("ij,ij->j", Y, Y) * standard.scale**2)] = 0.0
    return DenseRows(Y, root, rank_limit)


def gram_by_blocks(X: np.ndarray, root: np.ndarray, standard: Standardisation) -> np.ndarray:
    """Accumulate Y'Y, shape (p, p), over blocks of rows; each block is centred before it is multiplied."""
    p = X.shape[1]
    S = np.zeros((p, p))
    shift = np.zeros(p)
    for rows in row_blocks(*X.shape):
        block = (X[rows] - standard.mean) * root[rows, None]
        S += block.T @ block
        shift += root[rows] @ block
    if standard.centring == "mean":  # what rounding left of the mean
        S -= np.outer(shift, shift) / (root**2).sum()
    S /= np.outer(standard.scale, standard.scale)
    return S
