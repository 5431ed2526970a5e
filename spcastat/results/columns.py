"""Values for the rows of a fit, given by the name of a column of the fitted data."""

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
    """Return the values of an option for the rows of a fit; text is the name of a column of its data.

    Parameters
    ----------
    given : object
        Anything but text is returned unchanged.
    option : str
        Name of the option for messages.
    source, call
        Source and call of the fit.

    Raises
    ------
    NoRowsError
        If rows come in chunks, of which plots show a sample; and for a column of a fit without its data.
    OptionError
        If there is no such column.
    ShapeError
        If rows were left out and row labels are not unique, so that rows cannot be matched.
    """
    if given is not None and source is not None and source.stream is not None:
        raise NoRowsError(
            f"{option}={shown(given)} was given, and of rows that are never all in memory a sample is drawn, "
            "which has no values for it. Leave it out, or fit rows that fit into memory."
        )
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
            f"{option}={shown(given)}: rows were left out of the fit, and row labels are not unique; give "
            "the values of the remaining rows, or give the data unique labels."
        )
    return column.reindex(source.index)
