"""Several definitions of "explained variance" for sparse components, one record each.

For sparse components they differ, for dense principal components they all agree. Every function takes
loadings `V` and either rows `X` or a covariance matrix `S` and returns a fraction (of the total variance,
but for `relative_adjusted`); the names are those that ``fit.measure()`` takes. `MEASURES` is the one list of
them: every table, plot, comparison and file reads it.
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

#: By name, in the order of the columns of ``fit.glance()``.
MEASURES: dict[str, Measure] = {
    measure.name: measure for measure in (PEV, RRE, ADJUSTED, RELATIVE_ADJUSTED, LEAST_SQUARES)
}


def measures_of(*kinds: str) -> list[Measure]:
    """Return the measures of these kinds (see `Measure.of`) in the order of tables."""
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
