"""Measures of explained variance for sparse components.

For dense principal components all measures agree; for sparse components they differ. Every function takes
loadings `V` and either rows `X` or a covariance matrix `S` and returns a fraction of the total variance
(`relative_adjusted`: of the variance that dense PCA explains). ``fit.measure()`` accepts their names. All
tables, plots, comparisons and files read the list `MEASURES`.
"""

from __future__ import annotations

from spcastat.measures.adjusted import (
    ADJUSTED,
    RELATIVE_ADJUSTED,
    adjusted,
    adjusted_variances,
    best_order,
    relative_adjusted,
)
from spcastat.measures.least_squares import LEAST_SQUARES, least_squares
from spcastat.measures.measure import Measure
from spcastat.measures.pev import PEV, RRE, pev, rre

#: Measures by name, in the order of the columns of ``fit.glance()``.
MEASURES: dict[str, Measure] = {
    measure.name: measure for measure in (PEV, RRE, ADJUSTED, RELATIVE_ADJUSTED, LEAST_SQUARES)
}


def measures_of(*kinds: str) -> list[Measure]:
    """Return the measures of the given `kinds` (see `Measure.of`) in the order of tables."""
    return sorted((one for one in MEASURES.values() if one.of in kinds), key=lambda one: one.place)


__all__ = [
    "MEASURES",
    "Measure",
    "adjusted",
    "adjusted_variances",
    "best_order",
    "least_squares",
    "measures_of",
    "pev",
    "relative_adjusted",
    "rre",
]
