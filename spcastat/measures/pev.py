"""PEV and RRE: how well the projection on the loadings reconstructs the rows.

Zhao, Meng, Xu and Gao (2015), section 3.2. With X_hat = X V (V'V)^-1 V', PEV is the variance of X_hat divided
by the total variance, and RRE = ||X - X_hat||_F / ||X||_F, so that PEV = 1 - RRE^2.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from spcastat.kernels.orthonormal import orthonormalise
from spcastat.measures.measure import Measure, answer
from spcastat.operators import Operator


def cumulative_pev(V: np.ndarray, op: Operator) -> np.ndarray:
    """Return the PEV, shape (k,), of the first 1, ..., k columns of V, shape (p, k)."""
    Q, _ = orthonormalise(V)
    return np.cumsum(np.einsum("ij,ij->j", Q, op.dot(Q))) / op.total


def cumulative_rre(V: np.ndarray, op: Operator) -> np.ndarray:
    """Return the RRE, shape (k,), of the first 1, ..., k columns of V, shape (p, k)."""
    return np.sqrt((1.0 - cumulative_pev(V, op)).clip(min=0.0))


def pev(V: Any, X: Any = None, S: Any = None, *, cumulative: bool = False) -> Any:
    """Proportion of explained variance: the variance of the rows projected on the span of the loadings.

    Parameters
    ----------
    V : array-like of shape (p, k)
        Loadings of any length. If it is a data frame, its rows are matched to the labels of `X` or `S`.
    X : array-like of shape (n, p), optional
        Rows. The columns are centred.
    S : array-like of shape (p, p), optional
        Covariance or correlation matrix, instead of rows.
    cumulative : bool
        Return an array of shape (k,) with the measure of the first 1, ..., k columns.

    Returns
    -------
    float or ndarray
        A fraction of the total variance, at most that of the first k dense principal components.

    Raises
    ------
    ShapeError, MissingValuesError
        If shapes do not match, or values are missing.
    """
    return answer(cumulative_pev, V, X, S, cumulative)


def rre(V: Any, X: Any = None, S: Any = None, *, cumulative: bool = False) -> Any:
    """Relative reconstruction error, the square root of 1 - PEV; parameters as for `pev`."""
    return answer(cumulative_rre, V, X, S, cumulative)


PEV = Measure("pev", cumulative_pev, "PEV", "PEV", "PEV", of="total", place=3)
RRE = Measure("rre", cumulative_rre, "RRE", "RRE", "RRE", of="error", place=5)
