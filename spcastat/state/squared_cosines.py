"""Contributions and squared cosines of variables and rows; the spectrum; reconstruction errors."""

from __future__ import annotations

import numpy as np
import pandas as pd

from spcastat.state import component_frames as frames
from spcastat.state.fitstate import FitState

#: Objects with contributions and squared cosines.
OF = ("variables", "rows")


def contributions(state: FitState) -> pd.DataFrame:
    """Squared loadings, p x k: the contribution of each variable to a component; columns sum to 1."""
    return state.by_variable(state.V**2)


def cos2(state: FitState) -> pd.DataFrame:
    """Squared correlations of variables and scores, p x k: the variance share a single score explains."""
    return frames.correlations(state) ** 2


def row_contributions(scores: pd.DataFrame, weights: np.ndarray | None) -> pd.DataFrame:
    """Weighted share of each row in the sum of squared scores, n x k; columns sum to 1."""
    squares = scores.to_numpy(dtype=float) ** 2
    if weights is not None:
        squares = squares * weights[:, None]
    total = squares.sum(axis=0)
    parts = np.divide(squares, total, out=np.full(squares.shape, np.nan), where=total > 0)
    return pd.DataFrame(parts, index=scores.index, columns=scores.columns)


def row_cos2(state: FitState, scores: pd.DataFrame, q: np.ndarray) -> pd.DataFrame:
    """Squared cosines between rows and loadings, n x k; NaN for a row at the centre.

    Parameters
    ----------
    scores : DataFrame, n x k
    q : ndarray of shape (n,)
        Squared residual norms of the rows, orthogonal to the span of the loadings.
    """
    T = scores.to_numpy(dtype=float)
    inside = np.einsum("ij,ij->i", T @ np.linalg.pinv(state.V.T @ state.V), T).clip(min=0.0)
    length = (np.asarray(q, dtype=float) + inside)[:, None]
    values = np.divide(T**2, length, out=np.full(T.shape, np.nan), where=length > 0)
    return pd.DataFrame(values.clip(max=1.0), index=scores.index, columns=scores.columns)


def spectrum(state: FitState) -> np.ndarray:
    """Eigenvalues of the covariance matrix, descending, in squared units of the (scaled) data.

    All possibly nonzero ones if the smaller dimension of the data is at most 3000 and the data are in memory;
    otherwise, and for a fit from a file, only the k leading ones.
    """
    moments = state.moments
    matrix = moments.smaller_products()
    if matrix is None:
        return np.array(moments.pca, dtype=float)
    values = np.linalg.eigvalsh(matrix)[::-1].clip(min=0.0) * moments.unit**2
    # the leading eigenvalues are exactly those stored in the fit
    known = min(len(moments.pca), len(values))
    values[:known] = moments.pca[:known]
    return np.asarray(values)


def reconstruction(state: FitState) -> pd.DataFrame:
    """Return the relative reconstruction error for 0 to k components.

    "error": the norm of the residuals of ``inverse_transform(scores, components)`` over the norm of the
    centred (and scaled) data; "dense": the same for as many dense principal components.
    """
    moments = state.moments
    dense = np.sqrt((1.0 - np.cumsum(moments.pca) / moments.total).clip(min=0.0))
    values = {"error": moments.measure("rre"), "dense": dense}
    index = pd.RangeIndex(state.V.shape[1] + 1, name="components")
    return pd.DataFrame({name: np.concatenate([[1.0], one]) for name, one in values.items()}, index=index)
