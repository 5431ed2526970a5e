"""Linear regression of many variables on the same covariates, and its residuals."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from itertools import compress

import numpy as np

from spcastat.config import listed
from spcastat.errors import ConstantColumnError
from spcastat.kernels.eig import symmetric

#: Residuals with a norm of at most this share of their variable's norm are rounding errors.
ROUNDING = 1e-12


@dataclass(frozen=True, eq=False)
class Regression:
    """Regression of p variables on q covariates, with an intercept.

    Attributes
    ----------
    mean : ndarray of shape (q,)
        The means of the covariates.
    coefficients : ndarray of shape (q, p)
        If covariates are collinear, the coefficients with the smallest norm.
    shares : ndarray of shape (p,)
        The share of the variance of each variable that the covariates explain.
    rank : int
        The rank of the covariates: the degrees of freedom that they use.
    """

    mean: np.ndarray
    coefficients: np.ndarray
    shares: np.ndarray
    rank: int

    def residuals(self, Y: np.ndarray, Z: np.ndarray) -> np.ndarray:
        """Return the residuals of Y, shape (n, p), on Z, shape (n, q), plus the means of Y.

        They are NaN if the variable or any of the covariates is missing.
        """
        found: np.ndarray = Y - (np.ascontiguousarray(Z, dtype=float) - self.mean) @ self.coefficients
        return found


def regress(Y: np.ndarray, Z: np.ndarray, weights: np.ndarray | None, names: Iterable[object]) -> Regression:
    """Regress the columns of Y on those of Z, by weighted least squares.

    Parameters
    ----------
    Y : ndarray of shape (n, p)
    Z : ndarray of shape (n, q)
    weights : ndarray of shape (n,) or None
        Frequencies.
    names : iterable of length p
        The names of the variables, for messages.

    Raises
    ------
    ConstantColumnError
        If the covariates determine a variable.
    """
    w = np.ones(len(Y)) if weights is None else weights
    share = w / w.sum()
    root = np.sqrt(share)[:, None]
    largest = _sizes(Y)  # so that squares stay within the range of floating-point numbers
    scaled = Y / largest
    about = root * (scaled - share @ scaled)
    size = np.linalg.norm(root * scaled, axis=0)
    mean = share @ Z
    centred = root * (Z - mean)
    spread = _sizes(centred)
    U, values, T = _factors(centred / spread)
    B = (T.T / values) @ (U.T @ about)
    before = np.linalg.norm(about, axis=0)
    varies = before > ROUNDING * size
    B[:, ~varies] = 0.0
    left = np.linalg.norm(about - (centred / spread) @ B, axis=0)
    _require_left((left <= ROUNDING * size) & varies, names)
    shares = 1.0 - (left / np.where(varies, before, 1.0)) ** 2
    return Regression(
        mean, B / spread[:, None] * largest, np.where(varies, shares.clip(0.0), 0.0), len(values)
    )


def rotated(Y: np.ndarray, Z: np.ndarray, weights: np.ndarray | None) -> np.ndarray:
    """Rotate residuals to exchangeable rows with the same cross-products.

    The residuals of n rows on covariates of rank r lie in a space of n - 1 - r dimensions. In an orthonormal
    basis of it independent errors stay independent: Huh and Jhun (2001), Random permutation testing in
    multiple linear regression, Communications in Statistics: Theory and Methods 30, 2023-2032.

    Parameters
    ----------
    Y : ndarray of shape (n, p)
        Residuals, multiplied by the square roots of the weights.
    Z : ndarray of shape (n, q)
    weights : ndarray of shape (n,) or None

    Returns
    -------
    ndarray of shape (n - 1 - r, p)
        With weights, n is the number of rows with a positive weight.
    """
    from scipy.linalg import lapack, qr

    w = np.ones(len(Z)) if weights is None else weights
    some = w > 0
    centred = Z - (w / w.sum()) @ Z
    U = _factors((np.sqrt(w)[:, None] * np.column_stack([np.ones(len(Z)), centred / _sizes(centred)]))[some])[
        0
    ]
    (reflections, tau), _ = qr(U, mode="raw")
    found: np.ndarray = lapack.dormqr("L", "T", reflections, tau, Y[some], 64 * Y.shape[1])[0]
    return found[U.shape[1] :]


def partial_covariance(
    S: np.ndarray, given: np.ndarray, names: Iterable[object]
) -> tuple[np.ndarray, Regression]:
    """Return the covariance matrix of the residuals of all other variables on the given ones.

    This is S_yy - S_yz S_zz^+ S_zy. For a correlation matrix, it is scaled to partial correlations.

    Parameters
    ----------
    S : ndarray of shape (p + q, p + q)
    given : ndarray of int, shape (q,)
        The indices of the covariates.
    names : iterable of length p + q

    Returns
    -------
    left : ndarray of shape (p, p)
    found : Regression

    Raises
    ------
    ConstantColumnError
        If the covariates determine a variable.
    """
    others = np.setdiff1d(np.arange(len(S)), given)
    spread = np.where(np.diag(S) > 0.0, np.sqrt(np.diag(S).clip(0.0)), 1.0)
    R = S / np.outer(spread, spread)
    values, vectors = np.linalg.eigh(R[np.ix_(given, given)])
    kept = values > max(values[-1], 0.0) * len(given) * np.finfo(float).eps
    B = (vectors[:, kept] / values[kept]) @ (vectors[:, kept].T @ R[np.ix_(given, others)])
    left = symmetric(R[np.ix_(others, others)] - R[np.ix_(others, given)] @ B)
    shares = np.where(np.diag(R)[others] > 0.0, 1.0 - np.diag(left), 0.0)
    _require_left(shares >= 1.0 - ROUNDING, np.array(list(names), dtype=object)[others])
    own = spread[others]
    if (np.diag(S) == 1.0).all():
        own = 1.0 / np.sqrt(np.diag(left))
    coefficients = B * spread[others] / spread[given][:, None]
    found = Regression(np.zeros(len(given)), coefficients, shares.clip(0.0), int(kept.sum()))
    return left * np.outer(own, own), found


def _factors(X: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Return the singular value decomposition of X up to its rank."""
    U, values, T = np.linalg.svd(X, full_matrices=False)
    rank = np.count_nonzero(values > values[0] * max(X.shape) * np.finfo(float).eps)
    return U[:, :rank], values[:rank], T[:rank]


def _sizes(X: np.ndarray) -> np.ndarray:
    """Return the largest absolute value of each column, 1 for columns of zeros."""
    largest = np.abs(X).max(axis=0)
    return np.where(largest > 0.0, largest, 1.0)


def _require_left(empty: np.ndarray, names: Iterable[object]) -> None:
    """Raise ConstantColumnError for variables that the covariates determine."""
    if empty.any():
        determined = list(compress(names, empty))
        raise ConstantColumnError(
            f"The covariates determine {listed(determined)}: nothing is left of "
            f"{'it' if len(determined) == 1 else 'them'}. Leave such variables, or covariates, out."
        )
