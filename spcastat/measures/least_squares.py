"""Least-squares share: how well the scores predict the variables.

The share of the total variance that regressions of all variables on the k scores XV explain, as in Merola's
least-squares sparse PCA. It is never less than PEV.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from spcastat.measures.measure import Measure, answer
from spcastat.operators import Operator


def cumulative_least_squares(V: np.ndarray, op: Operator) -> np.ndarray:
    """Return the least-squares share, shape (k,), of the first 1, ..., k columns of V."""
    coupling = op.score_basis(V)[1]
    return np.cumsum(np.einsum("ij,ij->j", coupling, coupling)) / op.total


def least_squares(V: Any, X: Any = None, S: Any = None, *, cumulative: bool = False) -> Any:
    """Share of the total variance that regressions on the scores explain; parameters as for `pev`."""
    return answer(cumulative_least_squares, V, X, S, cumulative)


LEAST_SQUARES = Measure(
    "least_squares",
    cumulative_least_squares,
    "least squares",
    "LS",
    "least squares",
    of="total",
    place=4,
)
