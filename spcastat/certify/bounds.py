"""Upper bounds on the largest eigenvalue of principal submatrices of at most c variables.

Each bound is valid for a symmetric positive semidefinite S and is enlarged to cover rounding errors. A
variable is never excluded because its own row sum is small: a row sum bounds only the supports in which that
variable has the largest loading.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from spcastat.kernels.eig import EPS, below, largest_pairs, largest_value, symmetric, top_lanczos
from spcastat.operators.covariance_operator import lanczos_start

#: Relative allowance for eigenvalues from Lanczos iterations, which are more precise than this.
LANCZOS = 1e-9


def enlarged(bound: float, p: int) -> float:
    """Return `bound` enlarged by the rounding error of sums and eigenvalues of order `p`."""
    return bound * (1.0 + 8.0 * p * EPS)


def trace_bound(S: np.ndarray, c: int) -> float:
    """Return the sum of the c largest variances; `S` may also be a vector of variances."""
    variances = S if S.ndim == 1 else np.diag(S)
    p = variances.size
    return enlarged(float(np.partition(variances, p - min(c, p))[p - min(c, p) :].sum()), p)


def largest_others(S: np.ndarray, count: int) -> np.ndarray:
    """Return the `count` largest off-diagonal |S_ij| of each row, shape (p, count), unordered."""
    size = np.abs(S)
    np.fill_diagonal(size, -np.inf)
    p = len(S)
    count = min(count, p - 1)
    return np.partition(size, p - count - 1, axis=1)[:, p - count :] if count > 0 else np.zeros((p, 0))


def gershgorin_bound(S: np.ndarray, c: int) -> float:
    """Return the largest sum over a row of S_ii and the c - 1 largest other |S_ij|."""
    return enlarged(float((np.diag(S) + largest_others(S, c - 1).sum(axis=1)).max()), len(S))


def eigenvalue_bound(S: np.ndarray) -> float:
    """Return the largest eigenvalue of `S`, enlarged by its rounding error."""
    return largest_value(S) + 8.0 * len(S) * EPS * float(np.abs(S).sum(axis=1).max())


def lanczos_bound(product: Callable[[np.ndarray], np.ndarray], p: int, running: Callable[[], bool]) -> float:
    """Return a bound on the leading eigenvalue by Lanczos iterations; infinity if time runs out."""

    def checked(v: np.ndarray) -> np.ndarray:
        if not running():
            raise TimeoutError
        return np.asarray(product(v))

    try:
        value = float(top_lanczos(checked, p, 1, lanczos_start(p, 0))[0][0])
    except TimeoutError:
        return np.inf
    return enlarged(value * (1.0 + LANCZOS), p)


def split(S: np.ndarray, U: np.ndarray, c: int) -> tuple[np.ndarray, np.ndarray]:
    """Return a matrix whose largest eigenvalue, the split bound, bounds those of all blocks of c variables.

    Parameters
    ----------
    S : ndarray of shape (p, p)
    U : ndarray of shape (p, p)
        Any symmetric matrix with a zero diagonal.
    c : int
        At least 2 and below p.

    Returns
    -------
    M : ndarray of shape (p, p)
        S - U + diag(g), where g_i is the sum of the c - 1 largest |U_ij| of row i.
    largest : ndarray of int, shape (p, c - 1)
        The column indices of these entries.

    Notes
    -----
    For x on a support J of c variables, x'Ux <= sum over i, j in J of |U_ij| (x_i^2 + x_j^2) / 2
    <= sum_i g_i x_i^2, so x'Sx <= x'Mx. Every U is a feasible point of the dual of a semidefinite relaxation
    (see d'Aspremont, Bach and El Ghaoui 2008). U = 0 gives the largest eigenvalue of S, the off-diagonal part
    of S gives Gershgorin's row sums, and values of U in between give better bounds.
    """
    size = np.abs(U)
    np.fill_diagonal(size, -np.inf)
    p = len(U)
    largest = np.argpartition(size, p - c, axis=1)[:, p - c + 1 :]
    M = S - U
    np.fill_diagonal(M, np.diag(S) + np.take_along_axis(size, largest, axis=1).sum(axis=1))
    return M, largest


def cut_off(S: np.ndarray, share: float) -> np.ndarray:
    """Return the off-diagonal part of `S`, clipped at `share` times its largest absolute value."""
    U = S.copy()
    np.fill_diagonal(U, 0.0)
    cap = share * float(np.abs(U).max())
    return np.clip(U, -cap, cap)


def improved(S: np.ndarray, U: np.ndarray, c: int, level: float) -> tuple[np.ndarray, float]:
    """Take one subgradient step from `U` towards a split bound (see `split`) of `level`.

    Returns
    -------
    U : ndarray of shape (p, p)
    bound : float
        The split bound before the step, without an allowance for rounding.

    Notes
    -----
    Polyak's step on the largest eigenvalue of the split matrix. The subgradient is smoothed over three
    leading eigenvectors, with weights that decline over 0.2 times the distance to `level`.
    """
    M, largest = split(S, U, c)
    p = len(S)
    values, vectors = leading_pairs(M, min(3, p))
    bound = float(values[-1])
    excess = bound - level
    if excess <= 0.0:
        return U, bound
    weights: np.ndarray = np.exp((values - bound) / (0.2 * excess))
    weights /= weights.sum()
    X = (vectors * weights) @ vectors.T
    pull = np.zeros((p, p))
    np.put_along_axis(pull, largest, 0.5 * np.diag(X)[:, None], axis=1)
    G = (pull + pull.T) * np.sign(U) - X
    np.fill_diagonal(G, 0.0)
    square = float((G**2).sum())
    U = U - (excess / square) * G if square > 0.0 else U
    return symmetric(U), bound


def leading_pairs(M: np.ndarray, k: int) -> tuple[np.ndarray, np.ndarray]:
    """Return the k leading eigenvalues of `M`, ascending, and eigenvectors; approximate if M is large."""
    f = len(M)
    if f > 100:  # Lanczos iterations are faster than LAPACK, and accurate enough for a step
        from scipy.sparse.linalg import ArpackError, eigsh

        try:
            values, vectors = eigsh(M, k=k, which="LA", v0=np.ones(f), tol=1e-3)
        except ArpackError:
            pass
        else:
            order = np.argsort(values)
            return values[order], vectors[:, order]
    return largest_pairs(M, k)


def split_bound(S: np.ndarray, c: int, shares: np.ndarray) -> float:
    """Return a bound on the largest eigenvalue of all blocks of c variables: the smallest over `shares`.

    For each share, U is the off-diagonal part of S, clipped at this share of its largest absolute value, and
    the bound is the largest eigenvalue of the matrix that `split` makes of S and U. For c = 1 and c >= p the
    bound is exact and does not use the shares.
    """
    if c == 1 or c >= len(S):
        return trace_bound(S, 1) if c == 1 else eigenvalue_bound(S)
    return min(eigenvalue_bound(split(S, cut_off(S, float(share)), c)[0]) for share in shares)


def shift_to_definite(S: np.ndarray) -> float:
    """Return d >= 0 such that S + d I is proven to be positive semidefinite.

    Bounds by variances are valid for semidefinite matrices only, and rounding can cause eigenvalues of
    -1e-16. Adding d to the diagonal adds d to every value and bound, so it can be subtracted again.
    """
    p = len(S)
    d = 4.0 * (p + 2) * EPS * float(np.diag(S).sum())
    while d > 0.0 and not below(-S, d):
        d *= 10.0
    return d
