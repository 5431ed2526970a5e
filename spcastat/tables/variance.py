"""The table of variance: what each component keeps, by every definition, next to dense PCA."""

from __future__ import annotations

import pandas as pd

from spcastat.config import listed
from spcastat.errors import ShapeError
from spcastat.tables.cells import HEADING_WIDTH, alike, percent, short_names
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


def variance_table(variance: pd.DataFrame) -> Table:
    """Return the variance of the components as a table, one column a component.

    Parameters
    ----------
    variance : DataFrame, k x 8
        One row a component, with the columns "cardinality", "score variance", "adjusted variance",
        "share of total", "cumulative adjusted", "cumulative PEV", "cumulative least squares" and
        "cumulative PCA". Variances are in the units of the analysis; the five shares are fractions of
        the total variance and are shown in percent with two decimals.

    Returns
    -------
    Table
        The rows under the heading "Cumulative % of total variance" add up over the components to the
        left; the others are those of a component alone.

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
    return Table("Variance", tuple(short_names(list(variance.index), HEADING_WIDTH)), tuple(rows))
