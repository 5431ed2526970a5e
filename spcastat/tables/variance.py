"""The table of variance: what each component keeps, by every definition, next to dense PCA."""

from __future__ import annotations

from collections.abc import Mapping
from itertools import chain

import pandas as pd

from spcastat.config import listed, plural
from spcastat.errors import ShapeError
from spcastat.intake.checks import frame_values, real_array
from spcastat.labels import full_names
from spcastat.state.variance import VARIANCE
from spcastat.tables.cells import alike, each, percents
from spcastat.tables.table import Row, Table

#: From here on there is one row a component.
MANY = 9


def variance_table(variance: pd.DataFrame, correlation: pd.Series | None = None) -> Table:
    """Return the variance of the components as a table.

    Parameters
    ----------
    variance : DataFrame
        One row a component, with the columns of :data:`spcastat.state.variance.VARIANCE`. Variances are in
        the units of the analysis; shares are fractions of the total variance and are shown in percent with
        two decimals.
    correlation : Series of length k, optional
        The largest absolute correlation of the scores of each component with those of another.

    Returns
    -------
    Table
        One column a component; from nine components on one row a component, with a note that explains
        the short headings.

    Raises
    ------
    ShapeError
        A column is missing, or there is no component.
    """
    missing = [column.name for column in VARIANCE if column.name not in getattr(variance, "columns", ())]
    if missing or variance.empty:
        raise ShapeError(
            f"The frame of variances has shape {getattr(variance, 'shape', None)} and lacks the columns "
            f"{listed(missing)}; it needs a row for each component and the columns "
            f"{listed([column.name for column in VARIANCE])}."
        )
    largest = None if correlation is None else real_array(correlation)
    if correlation is not None and (largest is None or largest.shape != (len(variance),)):
        raise ShapeError(
            f"correlation of type {type(correlation).__name__} was given; it must be a Series of "
            f"{plural(len(variance), 'number')}, one for each component."
        )
    frame_values(variance[[column.name for column in VARIANCE]], "variances")
    cells = _cells(variance)
    rows = [Row(column.label, cells[column.name], column.group) for column in VARIANCE]
    if largest is not None:
        rows.append(Row("Largest score |r|", each(largest.tolist(), 2)))
    names = full_names(variance.index)
    if len(names) < MANY:
        return Table("Variance", tuple(names), tuple(rows))
    return _upright(names, rows, correlation is not None)


def _cells(variance: pd.DataFrame) -> Mapping[str, tuple[str, ...]]:
    """Return the cells of every column; all variances have the same decimals."""
    k = len(variance)
    several = [column.name for column in VARIANCE if column.kind == "variance"]
    together = alike(list(chain.from_iterable(variance[name].tolist() for name in several)))
    cells: dict[str, tuple[str, ...]] = {}
    for i, name in enumerate(several):
        cells[name] = together[i * k : (i + 1) * k]
    for column in VARIANCE:
        values = variance[column.name].tolist()
        if column.kind == "count":
            cells[column.name] = tuple(f"{count:.0f}" for count in values)
        elif column.kind == "share":
            cells[column.name] = percents(values)
    return cells


def _upright(names: list[str], rows: list[Row], correlated: bool) -> Table:
    """Return the same with one row a component."""
    lines = zip(*(row.cells for row in rows), strict=True)
    cumulative = [column.key or column.label for column in VARIANCE if column.group]
    further = [column for column in VARIANCE if not column.group and column.key]
    note = (
        "Variance: of the scores, adjusted, and its share of the total in %; then cumulative % of the total: "
        + ", ".join(cumulative)
        + "".join(f"; {column.heading}: {column.key}" for column in further)
        + ("; largest correlation |r| with the scores of another." if correlated else ".")
    )
    headings = [column.heading for column in VARIANCE] + ["|r|"] * correlated
    rows_of = tuple(Row(name, cells) for name, cells in zip(names, lines, strict=True))
    return Table("Variance", tuple(headings), rows_of, notes=(note,))
