"""The table of variance: variance explained by each component, by every measure, and by dense PCA."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import chain

import pandas as pd

from spcastat.config import listed, plural
from spcastat.errors import ShapeError
from spcastat.intake.checks import frame_values, real_array
from spcastat.labels import full_names
from spcastat.state.variance import VARIANCE, Column
from spcastat.tables.cells import alike, each, percents
from spcastat.tables.grid import Row, Table

#: With at least this many components, each component has a row instead of a column.
MANY = 9


def variance_table(variance: pd.DataFrame, correlation: pd.Series | None = None) -> Table:
    """Return the variance of the components as a table.

    Parameters
    ----------
    variance : DataFrame
        One row for each component, with some or all of the columns of
        :data:`spcastat.state.variance.VARIANCE`, which are all shown. Variances are in the units of the
        analysis; shares are fractions of the total variance, shown in percent with two decimals.
    correlation : Series of length k, optional
        The largest absolute correlation of the scores of each component with those of another.

    Returns
    -------
    Table
        One column for each component. With nine components or more, one row for each component, and a note
        that explains the short headings.

    Raises
    ------
    ShapeError
        If there is no component, no column, or an unknown column.
    """
    known = {column.name: column for column in VARIANCE}
    given = list(getattr(variance, "columns", ()))
    strange = [name for name in given if name not in known]
    if strange or not given or variance.empty:
        raise ShapeError(
            f"A frame of variances of shape {getattr(variance, 'shape', None)} was given"
            + (f", with the columns {listed(strange)}" if strange else "")
            + f"; it needs a row for each component, and columns among {listed(known)}."
        )
    largest = None if correlation is None else real_array(correlation)
    if correlation is not None and (largest is None or largest.shape != (len(variance),)):
        raise ShapeError(
            f"correlation of type {type(correlation).__name__} was given; it must be a Series of "
            f"{plural(len(variance), 'number')}, one for each component."
        )
    frame_values(variance, "variances")
    columns = [column for column in VARIANCE if column.name in given]
    cells = _cells(variance, columns)
    rows = [Row(column.label, cells[column.name], column.group) for column in columns]
    if largest is not None:
        rows.append(Row("Largest score |r|", each(largest.tolist(), 2)))
    names = full_names(variance.index)
    if len(names) < MANY:
        return Table("Variance", tuple(names), tuple(rows))
    return _one_row_a_component(names, rows, columns, correlation is not None)


def _cells(variance: pd.DataFrame, columns: Sequence[Column]) -> dict[str, tuple[str, ...]]:
    """Return the cells of every column; all variances have the same decimals."""
    k = len(variance)
    several = [column.name for column in columns if column.kind == "variance"]
    together = alike(list(chain.from_iterable(variance[name].tolist() for name in several)))
    cells: dict[str, tuple[str, ...]] = {
        name: together[i * k : (i + 1) * k] for i, name in enumerate(several)
    }
    for column in columns:
        values = variance[column.name].tolist()
        if column.kind == "count":
            cells[column.name] = tuple(f"{count:.0f}" for count in values)
        elif column.kind == "share":
            cells[column.name] = percents(values)
    return cells


def _one_row_a_component(
    names: list[str], rows: list[Row], columns: Sequence[Column], correlated: bool
) -> Table:
    """Return the table with components as rows, and a note that explains its narrow headings."""
    lines = zip(*(row.cells for row in rows), strict=True)
    parts = [
        f"{column.heading}: {column.key or column.label[0].lower() + column.label[1:]}"
        for column in columns
        if not column.group
    ]
    cumulative = [column.key or column.label for column in columns if column.group]
    parts += [f"then cumulative % of the total: {', '.join(cumulative)}"] * bool(cumulative)
    parts += ["|r|: largest correlation with the scores of another component"] * correlated
    headings = [column.heading for column in columns] + ["|r|"] * correlated
    rows_of = tuple(Row(name, cells) for name, cells in zip(names, lines, strict=True))
    return Table("Variance", tuple(headings), rows_of, notes=("; ".join(parts) + ".",))
