"""Several definitions of "explained variance" for sparse components, one function each.

For sparse components they differ, for dense principal components they all agree. Every function takes
loadings `V` and either rows `X` or a covariance matrix `S` and returns a fraction (of the total variance,
but for `relative_adjusted`); the names are those that ``fit.measure()`` takes.
"""

from __future__ import annotations

from spcastat.measures.adjusted import (
    adjusted,
    adjusted_variances,
    cumulative_adjusted,
    cumulative_relative,
    relative_adjusted,
)
from spcastat.measures.base import Core
from spcastat.measures.least_squares import cumulative_least_squares, least_squares
from spcastat.measures.projection import cumulative_pev, cumulative_rre, pev, rre

#: name -> function (V, operator) -> the measure of the first 1, ..., k columns.
MEASURES: dict[str, Core] = {
    "pev": cumulative_pev,
    "rre": cumulative_rre,
    "adjusted": cumulative_adjusted,
    "relative_adjusted": cumulative_relative,
    "least_squares": cumulative_least_squares,
}

__all__ = [
    "MEASURES",
    "adjusted",
    "adjusted_variances",
    "least_squares",
    "pev",
    "relative_adjusted",
    "rre",
]
