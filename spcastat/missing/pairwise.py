"""Means, variances and correlations from available cases: each correlation uses the rows with both values."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import pandas as pd

from spcastat.config import listed
from spcastat.errors import ConstantColumnError, MissingValuesError
from spcastat.kernels.eig import symmetric
from spcastat.kernels.nearest import Nearest, nearest_correlation
from spcastat.missing.em import require_measured
from spcastat.operators.standardisation import CONSTANT


@dataclass(frozen=True, eq=False)
class PairwiseMoments:
    """Available-case moments.

    Attributes
    ----------
    mean : ndarray of shape (p,)
        Means of the measured values of each column.
    covariance : ndarray of shape (p, p)
        Correlations times the standard deviations of the measured values of each column; positive
        semidefinite.
    missing : ndarray of bool, shape (n, p)
    fewest : float
        The smallest sum of weights (number of rows) on which a correlation is based.
    nearest : Nearest
        The correlations, and by how much they were changed to be positive semidefinite.
    """

    mean: np.ndarray
    covariance: np.ndarray
    missing: np.ndarray
    fewest: float
    nearest: Nearest


def pairwise_moments(
    X: np.ndarray,
    weights: np.ndarray | None,
    *,
    names: pd.Index | None = None,
    index: pd.Index | None = None,
) -> PairwiseMoments:
    """Return available-case moments of rows with missing values.

    Means and variances are those of all measured values of a column (divisor: the sum of the weights minus
    one). The correlation of two columns uses the rows that have both values, and the means and variances of
    these rows, as ``DataFrame.corr`` does. Since pairs use different rows, the matrix of correlations may not
    be positive semidefinite; the nearest correlation matrix then replaces it.

    Parameters
    ----------
    X : ndarray of shape (n, p)
        Missing values are NaN.
    weights : ndarray of shape (n,) or None
        Nonnegative frequencies.
    names, index : pandas.Index, optional
        Labels of columns and rows for messages.

    Raises
    ------
    MissingValuesError
        For a column or row without any value, and for two columns with fewer than two rows that have both.
    ConstantColumnError
        For a column whose measured values do not vary, or do not vary in the rows in which another column is
        also measured.
    """
    X = np.asarray(X, dtype=float)
    w = np.ones(len(X)) if weights is None else np.asarray(weights, dtype=float)
    missing = np.isnan(X)
    require_measured(X, missing, w, names, index)
    names = pd.RangeIndex(X.shape[1]) if names is None else names
    measured = (~missing).astype(float)
    weighted = measured * w[:, None]
    together = measured.T @ weighted
    rows = measured.T @ (measured * (w > 0)[:, None])
    _require_pairs(rows < 2, names, "fewer than two rows have both")
    count = np.diag(together)
    mean = w @ np.where(missing, 0.0, X) / count
    centred = np.where(missing, 0.0, X - mean)
    size = np.sqrt(w @ centred**2 / count)
    Z = centred / size
    first = Z.T @ weighted  # [j, k]: sum of column j over the rows that have both columns
    second = (Z * Z).T @ weighted
    variances = second / together - (first / together) ** 2
    still = variances <= CONSTANT
    _require_pairs(still | still.T, names, "one of them does not vary in the rows that have both")
    covariances = (Z * w[:, None]).T @ Z / together - first * first.T / together**2
    R = (covariances / np.sqrt(variances * variances.T)).clip(-1.0, 1.0)
    np.fill_diagonal(R, 1.0)
    nearest = nearest_correlation(symmetric(R))
    deviations = size * np.sqrt(count / (count - 1.0))
    S = nearest.correlation * deviations * deviations[:, None]
    return PairwiseMoments(mean, S, missing, float(together.min()), nearest)


def _require_pairs(bad: np.ndarray, names: pd.Index, why: str) -> None:
    """Raise an error for the pairs of columns in the mask `bad`; `why` is the reason for the message."""
    np.fill_diagonal(bad, False)
    if not bad.any():
        return
    first = np.argwhere(np.triu(bad, 1))
    pair = listed(names[first[0]])
    others = f" (and {len(first) - 1} more pairs)" if len(first) > 1 else ""
    error = MissingValuesError if why.startswith("fewer") else ConstantColumnError
    raise error(
        f"na='pairwise' needs a correlation of every pair of columns, and {pair}{others} have none: "
        f"{why}. Use na='em', or leave a column out."
    )
