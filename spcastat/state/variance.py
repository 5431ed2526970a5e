"""The columns of ``fit.variance``: the variance of each component under every definition."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Literal

import numpy as np
import pandas as pd

from spcastat.measures import Measure, measures_of
from spcastat.state.fit_moments import Moments
from spcastat.state.fitstate import FitState

#: The heading of the cumulative shares in tables.
CUMULATIVE = "Cumulative % of total variance"


@dataclass(frozen=True)
class Column:
    """A column of ``fit.variance``, and a row of the table of variance.

    Attributes
    ----------
    name : str
        Name of the column in the frame.
    values : callable
        Returns values of shape (k,) from Moments.
    label : str
        Label of the row in a table.
    heading : str
        Short label, for tables with components as rows.
    kind : {"count", "variance", "share"}
        Whole numbers; variances in squared units of the (scaled) data, printed with the same number of
        digits; or fractions, printed in percent.
    group : str
        Heading above the row; none by default.
    key : str
        Key of the explanation of the heading; the label by default.
    measure : str
        Name of the measure in the column, if it is one: older files may lack it.
    """

    name: str
    values: Callable[[Moments], np.ndarray]
    label: str
    heading: str
    kind: Literal["count", "variance", "share"]
    group: str = ""
    key: str = ""
    measure: str = ""


def _cumulative(measure: Measure) -> Column:
    return Column(
        f"cumulative {measure.label}",
        lambda moments: moments.measure(measure.name),
        measure.label,
        measure.heading,
        "share",
        CUMULATIVE,
        measure.label if measure.short == measure.label else f"{measure.label} ({measure.heading})",
        measure.name,
    )


#: In the order of the frame.
VARIANCE: tuple[Column, ...] = (
    Column("cardinality", lambda m: np.count_nonzero(m.V, axis=0), "Nonzeros", "card", "count"),
    Column("score variance", lambda m: np.diag(m.scores), "Variance of scores", "scores", "variance"),
    Column("adjusted variance", lambda m: m.adjusted, "Adjusted variance", "adjusted", "variance"),
    Column("share of total", lambda m: m.adjusted / m.total, "Adjusted, % of total", "share", "share"),
    *(_cumulative(measure) for measure in measures_of("total")),
    Column(
        "cumulative PCA",
        lambda m: np.cumsum(m.pca) / m.total,
        "PCA (dense)",
        "PCA",
        "share",
        CUMULATIVE,
        "dense PCA",
    ),
)


def variance(state: FitState) -> pd.DataFrame:
    """Return the values of all columns in VARIANCE whose measures are known, one row per component."""
    known = ("", *state.moments.known_measures())
    columns = {column.name: column.values(state.moments) for column in VARIANCE if column.measure in known}
    return pd.DataFrame(columns, index=state.components).copy()
