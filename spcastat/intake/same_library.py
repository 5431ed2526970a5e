"""Answers in the library of the question: a polars table for polars rows, an Arrow table for Arrow rows."""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd

#: The column of a table without row labels that says which rows are left, where some were dropped.
ROW = "row"


def in_library_of(data: Any, frame: pd.DataFrame) -> Any:
    """Return a table of numbers in the library of `data`.

    Parameters
    ----------
    data : any data
        What was given: a polars or Arrow table, or a frame of narwhals around one; anything else has its
        answers in pandas.
    frame : DataFrame
        The answer. Where its row labels are not 0, 1, ... they become the first columns, called as the index
        is or "row"; missing values become null.

    Returns
    -------
    DataFrame, or table of the other library
    """
    table = _other_library(data)
    if table is None:
        return frame
    import narwhals as nw

    if not frame.index.equals(pd.RangeIndex(len(frame))):
        frame = frame.rename_axis([name or ROW for name in frame.index.names]).reset_index()
    columns = {str(name): _values(column) for name, column in frame.items()}
    return nw.from_dict(columns, backend=table.implementation).to_native()


def with_columns(data: Any, frame: pd.DataFrame, names: list[str]) -> Any:
    """Return `data` with the columns `names` of `frame` as well, in the library of `data`.

    Parameters
    ----------
    data : any data
    frame : DataFrame
        The data with the further columns, in pandas.
    names : list of str
    """
    table = _other_library(data)
    if table is None:
        return frame
    import narwhals as nw

    made = nw.from_dict({name: _values(frame[name]) for name in names}, backend=table.implementation)
    return table.with_columns(*(made[name] for name in names)).to_native()


def _other_library(data: Any) -> Any:
    """Return `data` as a frame of narwhals if their library is not pandas or one that works like it."""
    if isinstance(data, (pd.DataFrame, np.ndarray)):
        return None
    import narwhals as nw

    table = nw.from_native(data, eager_only=True, pass_through=True)
    if not isinstance(table, nw.DataFrame) or table.implementation.is_pandas_like():
        return None
    return table


def _values(column: pd.Series) -> Any:
    """Return a column without NaN or pandas' own types: None where a value is missing."""
    if column.dtype.kind in "fiub" and column.notna().all():
        return column.to_numpy()
    cells = zip(column.to_list(), column.isna(), strict=True)
    return [None if missing else value for value, missing in cells]
