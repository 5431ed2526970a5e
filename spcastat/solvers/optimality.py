"""A proof that no component of a given cardinality has a larger variance, by the dual of a relaxation.

d'Aspremont, Bach and El Ghaoui (2008), "Optimal solutions for sparse principal component analysis", section
4. For any level rho > 0, the variance of a component with m nonzeros is at most

    lambda_max(sum_i Y_i) + m rho    where    Y_i >= 0  and  Y_i >= a_i a_i' - rho I,

where the a_i are the columns of a square root of S. The paper constructs matrices Y_i = f_i f_i' of rank one
from a component, where each f_i is a linear combination of a_i and the component's unit score x.
"""

from __future__ import annotations

import numpy as np

from spcastat.linalg.eigenvectors import EPS, below

#: The number of levels rho that are tried.
GRID_LEVELS = 7
#: A component is optimal if no other component of its cardinality can exceed its variance by this share.
OPTIMALITY_TOLERANCE = 1e-9


def proves(S: np.ndarray, v: np.ndarray, card: int) -> bool:
    """Return whether the bound proves that no loadings of this cardinality have more variance than `v`.

    False does not imply the opposite: the bound is often above the optimum.

    Parameters
    ----------
    S : ndarray of shape (p, p)
        Symmetric matrix. If it has eigenvalues below zero by more than rounding, the result is False.
    v : ndarray of shape (p,)
        Unit loadings with at most `card` nonzeros.
    card : int

    Notes
    -----
    The bound itself is not computed. It is at most (1 + `OPTIMALITY_TOLERANCE`) v'Sv if a certain matrix is
    positive definite, which is checked by a Cholesky factorisation. Allowances are made for rounding in the
    factorisation (Rump 2006, "Verification of positive definiteness"), in the products, in the constraints on
    the dual variables, which are checked after they are computed, and in S, whose diagonal is increased.
    """
    trace = float(np.trace(S))
    if not trace > 0.0:
        return False
    S = S / trace  # so that squares of variances neither overflow nor underflow
    level = (1.0 + OPTIMALITY_TOLERANCE) * float(v @ S @ v)
    S[np.diag_indices(len(S))] += 3.0 * (len(S) + 2) * EPS
    if not below(-S, 0.0):
        return False
    if below(S, level):  # no loadings of any cardinality have a larger variance
        return True
    q = S @ v / np.sqrt(float(v @ S @ v))
    diagonal = np.diag(S)
    ordered = np.append(np.sort(q**2)[::-1], 0.0)
    low, high = float(ordered[card]), float(ordered[card - 1])
    if high - low <= 1e-6 * high:  # the dual variables would be dominated by cancellation
        return False
    eps = 16.0 * (card + 4) * EPS  # the products are sums of `card` terms
    for share in np.linspace(0.0, 1.0, GRID_LEVELS + 2)[1:-1]:
        rho = low + float(share) * (high - low)
        alpha, beta = _dual(q, diagonal, rho)
        size = float(np.linalg.norm(alpha * np.sqrt(diagonal)) + np.linalg.norm(beta)) ** 2
        room = level - card * (rho + _short(q, diagonal, alpha, beta, rho, eps)) - eps * size
        used = (alpha != 0.0) | (beta != 0.0)
        M = _sum(S[np.ix_(used, used)], q[used], alpha[used], beta[used])
        if below(M, room):
            return True
    return False


def _short(
    q: np.ndarray, diagonal: np.ndarray, alpha: np.ndarray, beta: np.ndarray, rho: float, eps: float
) -> float:
    """Bound the size of negative eigenvalues of any f_i f_i' + rho I - a_i a_i' caused by rounding.

    In the plane of x and a_i, where a_i = (q_i, r_i), these are 2 x 2 matrices; the error of each is at most
    `eps` times the sum of its absolute terms.
    """
    r = np.sqrt(np.maximum(diagonal - q**2, 0.0))
    along, orthogonal_part = alpha * q + beta, alpha * r
    corner_x, corner_a, corner = (
        along**2 + rho - q**2,
        orthogonal_part**2 + rho - r**2,
        along * orthogonal_part - q * r,
    )
    smallest = 0.5 * (corner_x + corner_a) - np.hypot(0.5 * (corner_x - corner_a), corner)
    summed = (np.abs(alpha) * np.sqrt(diagonal) + np.abs(beta)) ** 2 + rho + diagonal
    return max(0.0, float((eps * summed - smallest).max()))


def _dual(q: np.ndarray, diagonal: np.ndarray, rho: float) -> tuple[np.ndarray, np.ndarray]:
    """Return alpha and beta of the dual variables f_i = alpha_i a_i + beta_i x, each of shape (p,)."""
    is_inside = q**2 > rho
    is_outside = ~is_inside & (diagonal > rho)
    alpha, beta = np.zeros_like(q), np.zeros_like(q)
    # indices `is_inside` have the dual variable Y = B x x' B / (x'Bx), where B = a a' - rho I
    root = np.sqrt(q[is_inside] ** 2 - rho)
    alpha[is_inside], beta[is_inside] = q[is_inside] / root, -rho / root
    # outside: the part of a_i orthogonal to x, with the smallest length such that Y_i >= B
    orthogonal_squares = diagonal[is_outside] - q[is_outside] ** 2
    factor = np.sqrt(rho * (diagonal[is_outside] - rho) / ((rho - q[is_outside] ** 2) * orthogonal_squares))
    alpha[is_outside], beta[is_outside] = factor, -factor * q[is_outside]
    return alpha, beta


def _sum(S: np.ndarray, q: np.ndarray, alpha: np.ndarray, beta: np.ndarray) -> np.ndarray:
    """Return F'F, whose largest eigenvalue equals the largest eigenvalue of sum_i f_i f_i'."""
    M = S * np.outer(alpha, alpha)
    M += np.outer(alpha * q, beta) + np.outer(beta, alpha * q) + np.outer(beta, beta)
    return M
