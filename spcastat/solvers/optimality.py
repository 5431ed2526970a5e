"""An upper bound on the variance of any component of a given cardinality, from the dual of a relaxation.

d'Aspremont, Bach and El Ghaoui (2008), "Optimal solutions for sparse principal component analysis", section
4. For any level rho > 0, the variance of a component with m nonzeros is at most

    lambda_max(sum_i Y_i) + m rho    where    Y_i >= 0  and  Y_i >= a_i a_i' - rho I,

the a_i being the columns of a square root of S. The matrices Y_i that the paper builds from a component
have rank one, f_i f_i', and every f_i is a combination of a_i and of the component's unit score x, so that
products with S are all that is needed.
"""

from __future__ import annotations

import numpy as np

from spcastat.kernels.eig import DENSE_ORDER, top_eigh, top_lanczos
from spcastat.operators import Operator
from spcastat.solvers.power import correlations

#: Levels tried on a grid, and then around the best of them.
GRID, STEPS = 7, 8
#: Seed of the fixed start of Lanczos iterations.
SEED = 11


def variance_bound(view: Operator, v: np.ndarray, card: int, goal: float) -> float:
    """Return an upper bound on the variance of any unit loadings with at most `card` nonzeros.

    Parameters
    ----------
    view : Operator
        A covariance matrix, deflated or not.
    v : ndarray of shape (p,)
        Unit loadings of the component from whose score the dual variables are built.
    card : int
    goal : float
        The search stops when the bound is as low as this.

    Returns
    -------
    float
        At most the largest eigenvalue, which bounds every component.
    """
    q = correlations(view, v)
    diagonal = view.diagonal()
    largest = float(view.leading(1)[0][0])
    ordered = np.append(np.sort(q**2)[::-1], 0.0)
    low, high = float(ordered[card]), float(ordered[card - 1])
    if card == view.p or high - low <= 1e-12 * high:
        return largest
    everything = view.block(np.arange(view.p)) if view.p <= DENSE_ORDER else None

    def bound(share: float) -> float:
        rho = low + share * (high - low)
        return _largest_of_sum(view, everything, q, diagonal, rho) + card * rho

    best, where = largest, 0.5
    for share in np.linspace(0.0, 1.0, GRID + 2)[1:-1]:
        value = bound(float(share))
        if value < best:
            best, where = value, float(share)
        if best <= goal:
            return best
    width = 1.0 / (GRID + 1)
    for _ in range(STEPS // 2):
        width *= 0.5
        for share in (where - width, where + width):
            value = bound(share)
            if value < best:
                best, where = value, share
        if best <= goal:
            break
    return best


def _largest_of_sum(
    view: Operator, everything: np.ndarray | None, q: np.ndarray, diagonal: np.ndarray, rho: float
) -> float:
    """Return lambda_max(sum_i f_i f_i'), that of F'F for the columns f_i = alpha_i a_i + beta_i x of F."""
    inside = q**2 > rho
    outside = ~inside & (diagonal > rho)
    alpha, beta = np.zeros_like(q), np.zeros_like(q)
    # inside: Y = B x x' B / (x'Bx) for B = a a' - rho I
    root = np.sqrt(q[inside] ** 2 - rho)
    alpha[inside], beta[inside] = q[inside] / root, -rho / root
    # outside: the part of a_i across x, at the least length that keeps Y_i >= B
    across = diagonal[outside] - q[outside] ** 2
    factor = np.sqrt(rho * (diagonal[outside] - rho) / ((rho - q[outside] ** 2) * across))
    alpha[outside], beta[outside] = factor, -factor * q[outside]
    if everything is not None:
        M = everything * np.outer(alpha, alpha)
        M += np.outer(alpha * q, beta) + np.outer(beta, alpha * q) + np.outer(beta, beta)
        return float(top_eigh(M, 1)[0][0])

    def product(Z: np.ndarray) -> np.ndarray:
        Z = Z.reshape(view.p, -1)
        scaled = alpha[:, None] * Z
        along = beta @ Z
        out = alpha[:, None] * (view.dot(scaled) + np.outer(q, along))
        return np.asarray(out + np.outer(beta, q @ scaled + along)).squeeze()

    start = np.random.default_rng([SEED, view.p]).standard_normal(view.p)
    return float(top_lanczos(product, view.p, 1, start)[0][0])
