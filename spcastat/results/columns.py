"""Values for the rows of a fit by the name of a column of the data that were fitted."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pandas as pd

from spcastat.config import listed, nearest, shown
from spcastat.engine.inputs import Source
from spcastat.errors import NoRowsError, OptionError, ShapeError
from spcastat.intake.frames import open_table

if TYPE_CHECKING:
    from spcastat.results.call import Call


def row_values(given: Any, option: str, source: Source | None, call: Call | None) -> Any:
    """Return the values that an option gives for the rows of a fit: a text names a column of its data.

    Parameters
    ----------
    given : object
        Anything but text is returned as it is.
    option : str
        What messages call it.
    source, call
        Of the fit; its rows are those that were kept.

    Raises
    ------
    NoRowsError
        The fit is one from a file or of rows that are not in memory.
    OptionError
        There is no such column.
    ShapeError
        Rows were left out, and the labels of the rows repeat, so that it is open which are left.
    """
    if not isinstance(given, str):
        return given
    if source is None or call is None or not source.has_rows:
        raise NoRowsError(
            f"{option}={shown(given)} names a column of the fitted data, and this fit does not have them in "
            "memory; give the values themselves, one for each row."
        )
    table = open_table(call.data)
    if not table.named:
        raise OptionError(
            f"{option}={shown(given)} names a column, but the fitted data were an array without names; give "
            "the values themselves, one for each row."
        )
    frame = table.values
    if given not in frame.columns:
        raise OptionError(
            f"{option}={shown(given)} is not a column of the fitted data; there are {listed(frame.columns)}."
            f"{nearest(given, frame.columns)} Or give the values themselves, one for each row, "
            f"such as df[{shown(given)}]."
        )
    column = pd.Series(frame[given].array, index=table.index, name=given)
    if source.index is None or source.index.equals(table.index):
        return column
    if not table.index.is_unique:
        raise ShapeError(
            f"{option}={shown(given)}: rows were left out of the fit, and labels of rows repeat; give "
            "the values of the rows that are left, or unique labels to the data."
        )
    return column.reindex(source.index)
