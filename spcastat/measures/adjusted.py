"""Adjusted variance: the variance of each score that earlier scores do not explain.

Zou, Hastie and Tibshirani (2006): with the QR decomposition XV = QR, the adjusted variance of component j is
R_jj^2 / (n - 1). It depends on the order of the components. Its share of the total variance is the CPEV of
Dou, Dai, Xu and Zhang; its share of the variance that as many dense principal components explain is the
relative adjusted variance of He, Monteiro and Park (2010), equation 4.15.
"""

from __future__ import annotations

from itertools import combinations, permutations
from typing import Any

import numpy as np

from spcastat.kernels.ties import RELATIVE, quotients
from spcastat.measures.measure import Measure, answer
from spcastat.operators import Operator
from spcastat.operators.covariance_operator import DEPENDENT


def adjusted_variances(V: np.ndarray, op: Operator) -> np.ndarray:
    """Return the adjusted variances, shape (k,), of the columns of V in their order, in units of variance."""
    return op.score_basis(V)[0]


def best_order(C: np.ndarray) -> np.ndarray:
    """Return the order of the components that maximises the sum of their adjusted variances.

    Parameters
    ----------
    C : ndarray of shape (k, k)
        Covariance matrix of the scores.

    Returns
    -------
    ndarray of int, shape (k,)
        For up to five components the best of all orders; for more, an order that no exchange of two
        components improves. If no other order is better by more than rounding, the present order.
    """
    k = len(C)
    now = np.arange(k)
    if k <= 5:
        trials = np.array(list(permutations(range(k))))
    else:
        pairs = np.array(list(combinations(range(k), 2)))
        trials = np.tile(now, (len(pairs), 1))
        trials[np.arange(len(pairs))[:, None], pairs] = pairs[:, ::-1]
    while True:
        totals = totals_in_orders(C, np.vstack([now, now[trials]]))
        best = int(np.argmax(totals))
        if totals[best] <= totals[0] * (1.0 + RELATIVE):
            return now
        now = now[trials[best - 1]]


def totals_in_orders(C: np.ndarray, orders: np.ndarray) -> np.ndarray:
    """Return the sums of the adjusted variances, shape (m,), for each of the `orders`, shape (m, k)."""
    left = C[orders[:, :, None], orders[:, None, :]]
    whole = np.diagonal(left, axis1=1, axis2=2).copy()
    total = np.zeros(len(orders))
    for j in range(len(C)):
        variance, coupling = left[:, j, j], left[:, j]
        independent = variance > DEPENDENT**2 * whole[:, j]
        total += np.where(independent, variance, 0.0)
        factor = quotients(np.where(independent, 1.0, 0.0), variance.clip(min=0.0))
        left = left - factor[:, None, None] * coupling[:, :, None] * coupling[:, None, :]
    return total


def cumulative_adjusted(V: np.ndarray, op: Operator) -> np.ndarray:
    """Return the adjusted variance of the first 1, ..., k columns as a share of the total."""
    return np.cumsum(adjusted_variances(V, op)) / op.total


def cumulative_relative(V: np.ndarray, op: Operator) -> np.ndarray:
    """Return the adjusted variance of the first 1, ..., k columns as a share of what dense PCA explains."""
    k = min(V.shape[1], op.p, max(op.rank_limit, 1))
    pca = np.cumsum(np.append(op.leading(k)[0].clip(min=0.0), np.zeros(V.shape[1] - k)))
    return np.cumsum(adjusted_variances(V, op)) / pca


def adjusted(V: Any, X: Any = None, S: Any = None, *, cumulative: bool = False) -> Any:
    """Adjusted variance as a fraction of the total variance; parameters as for `pev`."""
    return answer(cumulative_adjusted, V, X, S, cumulative)


def relative_adjusted(V: Any, X: Any = None, S: Any = None, *, cumulative: bool = False) -> Any:
    """Adjusted variance as a fraction of what dense PCA explains with k components; see `pev`."""
    return answer(cumulative_relative, V, X, S, cumulative)


ADJUSTED = Measure(
    "adjusted", cumulative_adjusted, "adjusted", "adj", "adjusted variance", of="total", place=1
)
RELATIVE_ADJUSTED = Measure(
    "relative_adjusted",
    cumulative_relative,
    "Adjusted, % of PCA's",
    "of PCA's",
    "adjusted, relative to PCA",
    of="pca",
    place=2,
    note="adjusted, in % of what PCA explains",
)
