"""Distances of rows (T2, Q) and their limits, and shares of components that do not depend on order."""

from __future__ import annotations

from itertools import combinations
from math import factorial
from typing import Any

import numpy as np

from spcastat.kernels.blocks import blocks
from spcastat.kernels.orthonormal import orthonormalise
from spcastat.kernels.sparsity import is_sparse
from spcastat.operators import Standardisation
from spcastat.state.fit_moments import Moments

#: Up to this many components, shares are averaged over all orders.
ALL_ORDERS = 12
#: Residuals below this share of the row count as zero.
ROUNDING = 1e-12


def whitener(C: np.ndarray) -> np.ndarray:
    """Return W, shape (k, r), with W W' = C^+, where r is the rank of the covariance matrix C of scores."""
    size = np.sqrt(np.diag(C).clip(min=0.0))
    inverse = np.divide(1.0, size, out=np.zeros_like(size), where=size > 0)
    values, vectors = np.linalg.eigh(C * np.outer(inverse, inverse))
    # scores count as linearly dependent if an eigenvalue of their correlation matrix is at most 1e-10
    kept = values > 1e-10
    return inverse[:, None] * vectors[:, kept] / np.sqrt(values[kept])


def distances(
    matrix: Any, standard: Standardisation, V: np.ndarray, C: np.ndarray
) -> tuple[np.ndarray, np.ndarray]:
    """Return Hotelling's T2 and the squared residual Q of every row, each of shape (n,).

    Parameters
    ----------
    matrix : ndarray or scipy.sparse array of shape (n, p)
        Raw rows; sparse rows are made dense in blocks. Distances of incomplete rows are NaN.
    standard : Standardisation
    V : ndarray of shape (p, k)
    C : ndarray of shape (k, k)
        Covariance matrix of the scores.
    """
    n, p = matrix.shape
    basis, W = orthonormalise(V)[0], whitener(C)
    t2, q = np.empty(n), np.empty(n)
    held = matrix.tocsr() if is_sparse(matrix) else matrix
    for rows in blocks(n, p):
        block = held[rows].toarray() if is_sparse(held) else held[rows]
        with np.errstate(over="ignore", invalid="ignore"):
            block = (block - standard.mean) / standard.scale
            t2[rows] = ((block @ V @ W) ** 2).sum(axis=1)
            length = (block**2).sum(axis=1)
            left = length - ((block @ basis) ** 2).sum(axis=1)
            left = np.where(np.isfinite(length), left, np.inf)  # the square overflows
            q[rows] = np.where((left > ROUNDING * length) | (left == np.inf), left, 0.0)
            q[rows][np.isnan(block).any(axis=1)] = np.nan
    return t2, q


def t2_limit(n: float | None, rank: int, level: float) -> float:
    """Return the limit of T2 for a new row, r (n^2 - 1) / (n (n - r)) F(level; r, n - r).

    If n is not known, this is the chi-squared limit; with too few rows it is NaN.
    """
    from scipy import stats  # imported late, as it is slow to import

    if n is None:
        return float(stats.chi2.ppf(level, rank))
    if n <= rank:
        return float("nan")
    return float(rank * (n**2 - 1) / (n * (n - rank)) * stats.f.ppf(level, rank, n - rank))


def q_limit(traces: np.ndarray, level: float) -> float:
    """Return the limit of Q by Jackson and Mudholkar (1979), Technometrics 21, equation 3.3.

    Parameters
    ----------
    traces : ndarray of shape (3,)
        Sums of the first, second and third powers of the eigenvalues of the residual covariance.
    level : float
    """
    from statistics import NormalDist

    one, two, three = (float(value) for value in traces)
    if one <= 0 or two <= 0:
        return 0.0
    h = 1.0 - 2.0 * one * three / (3.0 * two**2)
    c = NormalDist().inv_cdf(level)
    if abs(h) < 1e-8:  # limit of the formula as h -> 0
        return float(one * np.exp(c * np.sqrt(2.0 * two) / one - two / one**2))
    # the sign of h selects the upper tail
    base = 1.0 + np.sign(h) * c * np.sqrt(2.0 * two * h**2) / one + two * h * (h - 1.0) / one**2
    return float(one * base ** (1.0 / h)) if base > 0 else float("nan")


def limits(moments: Moments, n: float | None, level: float) -> dict[str, float]:
    """Return the limits of "T2" and "Q"; see :func:`spcastat.state.component_frames.limits`."""
    traces = moments.residual_traces
    if traces is None:
        q = float("nan")
    else:
        size = moments.unit**2
        nothing = traces[0] <= ROUNDING * moments.total / size
        q = 0.0 if nothing else q_limit(traces, level) * size
    return {"T2": t2_limit(n, whitener(moments.scores).shape[1], level), "Q": q}


def regression_share(C: np.ndarray, G: np.ndarray, chosen: tuple[int, ...]) -> float:
    """Return the variance explained by regression on the chosen scores.

    Parameters
    ----------
    C : ndarray of shape (k, k)
        Covariance matrix of the scores.
    G : ndarray of shape (k, k)
        (SV)'SV, products of the covariances between variables and scores.
    chosen : tuple of int
    """
    if not chosen:
        return 0.0
    pick = np.ix_(chosen, chosen)
    W = whitener(C[pick])
    return float(np.trace(W.T @ G[pick] @ W))


def shares(C: np.ndarray, G: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Return three shares of each component, (k,) each: alone, averaged over all orders, and entered last.

    The averages (Lindeman, Merenda and Gold 1980; Shapley value) add up to the share of all components. They
    are NaN with more than ALL_ORDERS components.
    """
    k = len(C)
    everything = tuple(range(k))
    whole = regression_share(C, G, everything)
    alone = np.array([regression_share(C, G, (j,)) for j in everything])
    without = [regression_share(C, G, everything[:j] + everything[j + 1 :]) for j in everything]
    last = whole - np.array(without)
    if k > ALL_ORDERS:
        return alone, np.full(k, np.nan), last.clip(min=0.0)
    value = {
        subset: regression_share(C, G, subset)
        for size in range(k + 1)
        for subset in combinations(everything, size)
    }
    average = np.zeros(k)
    for subset, explained in value.items():
        size = len(subset)
        for j in subset:
            weight = factorial(size - 1) * factorial(k - size) / factorial(k)
            average[j] += weight * (explained - value[tuple(i for i in subset if i != j)])
    return alone, average, last.clip(min=0.0)
