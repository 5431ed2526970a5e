"""What a joint search maximises, as a share of the total variance, on a dense set of candidate variables."""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass

import numpy as np

#: objective -> its name in a header.
NAMES = {"pev": "PEV", "adjusted": "adjusted variance", "least_squares": "least-squares share"}

#: A column is dependent on those before it where less than this share of its (squared) length remains.
DEPENDENT = 1e-12
#: Columns of which more than this share remains are orthogonalised by one Cholesky factorisation.
WELL_APART = 1e-6


@dataclass(frozen=True, eq=False)
class Problem:
    """The covariance matrix on the candidates.

    Attributes
    ----------
    S : ndarray of shape (m, m)
        Covariance matrix of the candidates.
    T : ndarray of shape (m, m)
        The same block of S S, over all variables: what the candidates say about the others.
    total : float
        Total variance of all variables.
    """

    S: np.ndarray
    T: np.ndarray
    total: float


class Objective(ABC):
    """A measure of loadings V, shape (m, k), and what a search needs to raise it."""

    def __init__(self, problem: Problem):
        self.problem = problem

    @abstractmethod
    def with_gradient(self, V: np.ndarray) -> tuple[float, np.ndarray]:
        """Return the value and its gradient, shape (m, k); columns of V may have any length."""

    @abstractmethod
    def block(self, V: np.ndarray, i: int) -> tuple[np.ndarray, np.ndarray]:
        """Return A and B, shape (m, m), such that v'Av / v'Bv ranks the choices for column i of V."""

    #: Whether `block` is exact, so that a larger ratio is a larger value.
    exact: bool = True

    def value(self, V: np.ndarray) -> float:
        """Return the objective."""
        return self.with_gradient(V)[0]


class Pev(Objective):
    """Variance of the rows projected on the span of the loadings."""

    def with_gradient(self, V: np.ndarray) -> tuple[float, np.ndarray]:
        Z, coordinates, _ = basis(V, V)
        SZ = self.problem.S @ Z
        inner = Z.T @ SZ
        gradient = (SZ - Z @ inner) @ coordinates.T
        return float(np.trace(inner)) / self.problem.total, 2.0 * gradient / self.problem.total

    def block(self, V: np.ndarray, i: int) -> tuple[np.ndarray, np.ndarray]:
        S = self.problem.S
        others = np.delete(V, i, axis=1)
        Q = basis(others, others)[0]
        SQ = S @ Q
        half = SQ - 0.5 * Q @ (Q.T @ SQ)
        return S - half @ Q.T - Q @ half.T, np.eye(len(S)) - Q @ Q.T


class LeastSquares(Objective):
    """Variance that regressions of all variables on the scores explain."""

    def with_gradient(self, V: np.ndarray) -> tuple[float, np.ndarray]:
        S, T = self.problem.S, self.problem.T
        Z, coordinates, _ = basis(V, S @ V)
        TZ = T @ Z
        inner = Z.T @ TZ
        gradient = (TZ - S @ Z @ inner) @ coordinates.T
        return float(np.trace(inner)) / self.problem.total, 2.0 * gradient / self.problem.total

    def block(self, V: np.ndarray, i: int) -> tuple[np.ndarray, np.ndarray]:
        S, T = self.problem.S, self.problem.T
        others = np.delete(V, i, axis=1)
        Z = basis(others, S @ others)[0]
        H, TZ = S @ Z, T @ Z
        half = TZ - 0.5 * H @ (Z.T @ TZ)
        return T - half @ H.T - H @ half.T, S - H @ H.T


class Adjusted(Objective):
    """What each score adds to the variance of those before it, in the given order."""

    exact = False

    def with_gradient(self, V: np.ndarray) -> tuple[float, np.ndarray]:
        SV = self.problem.S @ V
        Z, coordinates, remainder = basis(V, SV)
        lengths = np.einsum("ij,ij->j", V, V)
        value = float((remainder / lengths).sum())
        # remainder_j = min over a of |X (v_j - sum_{i<j} a_i v_i)|^2, and Z_j is the minimiser at unit length
        root = np.sqrt(remainder)
        gradient = self.problem.S @ (Z * (root / lengths)) @ (coordinates * root).T
        gradient -= V * (remainder / lengths**2)
        return value / self.problem.total, 2.0 * gradient / self.problem.total

    def block(self, V: np.ndarray, i: int) -> tuple[np.ndarray, np.ndarray]:
        """Linearised at column i: the later columns' losses enter by their slope and curvature there."""
        S = self.problem.S
        before = V[:, :i]
        Z = basis(before, S @ before)[0]
        H = S @ Z
        A = S - H @ H.T
        v = V[:, i]
        for j in range(i + 1, V.shape[1]):
            between = V[:, [c for c in range(j) if c != i]]
            Zj = basis(between, S @ between)[0]
            Hj = S @ Zj
            Sv, St = S @ v - Hj @ (Hj.T @ v), S @ V[:, j] - Hj @ (Hj.T @ V[:, j])
            left = float(v @ Sv)
            if left <= 0:
                continue
            slope = float(V[:, j] @ Sv) / left
            A = A - (np.outer(St, St) - slope**2 * left * (S - Hj @ Hj.T)) / left
        return A, np.eye(len(S))


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


#: name -> objective of a joint search.
OBJECTIVES: dict[str, type[Objective]] = {"pev": Pev, "adjusted": Adjusted, "least_squares": LeastSquares}
