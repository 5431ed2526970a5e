"""The table of variance: what each component keeps, by every definition, next to dense PCA."""

from __future__ import annotations

import pandas as pd

from spcastat.config import listed, plural
from spcastat.errors import ShapeError
from spcastat.intake.checks import real_array
from spcastat.intake.columntypes import frame_values
from spcastat.labels import HEADING_WIDTH, short_names
from spcastat.tables.cells import alike, fixed, percent
from spcastat.tables.table import Row, Table

_CUMULATIVE = "Cumulative % of total variance"

#: The rows of the table: column of the frame, label, group heading.
SHARES = (
    ("share of total", "Adjusted, % of total", ""),
    ("cumulative adjusted", "adjusted", _CUMULATIVE),
    ("cumulative PEV", "PEV", _CUMULATIVE),
    ("cumulative least squares", "least squares", _CUMULATIVE),
    ("cumulative PCA", "PCA (dense)", _CUMULATIVE),
)

#: The columns that the frame must have.
COLUMNS = ("cardinality", "score variance", "adjusted variance", *(column for column, _, _ in SHARES))

#: From here on there is one row a component.
MANY = 9

_HEADINGS = ("card", "scores", "adjusted", "share", "adj", "PEV", "LS", "PCA", "|r|")
_KEY = (
    "Variance: of the scores, adjusted, and its share of the total in %; then cumulative % of the total: "
    "adjusted, PEV, least squares (LS), dense PCA"
)


def variance_table(variance: pd.DataFrame, correlation: pd.Series | None = None) -> Table:
    """Return the variance of the components as a table.

    Parameters
    ----------
    variance : DataFrame, k x 8
        One row a component, with the columns "cardinality", "score variance", "adjusted variance",
        "share of total", "cumulative adjusted", "cumulative PEV", "cumulative least squares" and
        "cumulative PCA". Variances are in the units of the analysis; the five shares are fractions of
        the total variance and are shown in percent with two decimals.
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
    missing = [column for column in COLUMNS if column not in getattr(variance, "columns", ())]
    if missing or variance.empty:
        raise ShapeError(
            f"The frame of variances has shape {getattr(variance, 'shape', None)} and lacks the columns "
            f"{listed(missing)}; it needs a row for each component and the columns {listed(COLUMNS)}."
        )
    largest = None if correlation is None else real_array(correlation)
    if correlation is not None and (largest is None or largest.shape != (len(variance),)):
        raise ShapeError(
            f"correlation of type {type(correlation).__name__} was given; it must be a Series of "
            f"{plural(len(variance), 'number')}, one for each component."
        )
    frame_values(variance[list(COLUMNS)], "variances")
    scores, adjusted = variance["score variance"].tolist(), variance["adjusted variance"].tolist()
    both = alike(scores + adjusted)
    k = len(scores)
    rows = [
        Row("Nonzeros", tuple(f"{count:.0f}" for count in variance["cardinality"])),
        Row("Variance of scores", both[:k]),
        Row("Adjusted variance", both[k:]),
    ]
    rows += [
        Row(label, tuple(percent(share) for share in variance[column].tolist()), group)
        for column, label, group in SHARES
    ]
    if largest is not None:
        rows.append(Row("Largest score |r|", tuple(fixed(r, 2) for r in largest.tolist())))
    names = short_names(list(variance.index), HEADING_WIDTH)
    return Table("Variance", tuple(names), tuple(rows)) if k < MANY else _upright(names, rows)


def _upright(names: list[str], rows: list[Row]) -> Table:
    """Return the same with one row a component."""
    lines = zip(*(row.cells for row in rows), strict=True)
    note = _KEY + ("; largest correlation |r| with the scores of another." if len(rows) > 8 else ".")
    return Table(
        "Variance",
        _HEADINGS[: len(rows)],
        tuple(Row(name, cells) for name, cells in zip(names, lines, strict=True)),
        notes=(note,),
    )
