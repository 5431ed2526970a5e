"""Adjusted variance: what each score adds to those before it.

Zou, Hastie and Tibshirani (2006): with XV = QR, component j has the adjusted variance R_jj^2 (over
n - 1). It depends on the order of the components. Its share of the total is the CPEV of Dou, Dai, Xu and
Zhang; its share of what dense PCA explains with as many components is the relative adjusted variance of
He, Monteiro and Park (2010), equation 4.15.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from spcastat.measures.base import answer
from spcastat.measures.measure import Measure
from spcastat.operators import Operator


def adjusted_variances(V: np.ndarray, op: Operator) -> np.ndarray:
    """Return the adjusted variance, shape (k,), in variance units, of each column of V in turn."""
    return op.score_basis(V)[0]


def cumulative_adjusted(V: np.ndarray, op: Operator) -> np.ndarray:
    """Return the adjusted variance of the first 1, ..., k columns as a share of the total."""
    return np.cumsum(adjusted_variances(V, op)) / op.total


def cumulative_relative(V: np.ndarray, op: Operator) -> np.ndarray:
    """Return the adjusted variance of the first 1, ..., k columns as a share of what PCA explains."""
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
