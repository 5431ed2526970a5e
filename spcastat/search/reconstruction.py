"""The share of the variance that a projection on the loadings keeps (PEV), with its gradient."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

#: A column is dependent on those before it where less than this share of its (squared) length remains.
DEPENDENT = 1e-12
#: Columns of which more than this share remains are orthogonalised by one Cholesky factorisation.
WELL_APART = 1e-6


@dataclass(frozen=True, eq=False)
class Pev:
    """Variance of the rows projected on the span of the loadings, as a share of the total variance.

    Attributes
    ----------
    S : ndarray of shape (m, m)
        Covariance matrix.
    total : float
        Total variance of all variables.
    """

    S: np.ndarray
    total: float

    def with_gradient(self, V: np.ndarray) -> tuple[float, np.ndarray]:
        """Return the value and its gradient, shape (m, k); columns of V may have any length."""
        Z, coordinates, _ = basis(V, V)
        SZ = self.S @ Z
        inner = Z.T @ SZ
        gradient = (SZ - Z @ inner) @ coordinates.T
        return float(np.trace(inner)) / self.total, 2.0 * gradient / self.total

    def value(self, V: np.ndarray) -> float:
        """Return the share alone."""
        return self.with_gradient(V)[0]


def basis(V: np.ndarray, MV: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Gram-Schmidt in the order of the columns of V, in the inner product of a matrix M.

    Parameters
    ----------
    V, MV : ndarray of shape (m, k)
        The vectors and their products with M; M = I for the usual inner product.

    Returns
    -------
    Z : ndarray of shape (m, k)
        Z = V coordinates with Z'MZ = I; columns that depend on those before them are zero.
    coordinates : ndarray of shape (k, k)
        Upper triangular.
    remainder : ndarray of shape (k,)
        Squared length of what each column adds to those before it.
    """
    G = V.T @ MV
    lengths = np.diag(G)
    if lengths.min(initial=1.0) > 0:
        try:
            L = np.linalg.cholesky(G)
        except np.linalg.LinAlgError:
            pass
        else:
            remainder = np.diag(L) ** 2
            if (remainder > WELL_APART * lengths).all():
                coordinates = np.linalg.inv(L).T
                return V @ coordinates, coordinates, remainder
    return _basis_one_by_one(V, G)


def _basis_one_by_one(V: np.ndarray, G: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Return what `basis` does where columns may depend on one another."""
    k = V.shape[1]
    coordinates = np.zeros((k, k))
    remainder = np.zeros(k)
    for j in range(k):
        a = np.zeros(k)
        a[j] = 1.0
        for _ in range(2):
            a -= coordinates[:, :j] @ (coordinates[:, :j].T @ (G @ a))
        left = float(a @ G @ a)
        if left > DEPENDENT * G[j, j]:
            remainder[j] = left
            coordinates[:, j] = a / np.sqrt(left)
    return V @ coordinates, coordinates, remainder
