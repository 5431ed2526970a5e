"""Return results in the library of the data: polars tables for polars data, Arrow tables for Arrow data."""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd

#: Name of the column with the numbers of the rows that are left, if some were dropped.
ROW = "row"


def in_library_of(data: Any, frame: pd.DataFrame, rows: str = ROW) -> Any:
    """Return a table of numbers in the library of `data`.

    Parameters
    ----------
    data : any data
        The user's data: a polars or Arrow table, or a narwhals frame of one. For anything else, `frame`
        itself is returned.
    frame : DataFrame
        The result. If its row labels are not 0, 1, ..., they become the first columns, with the names of the
        index or `rows`. Missing values become null.
    rows : str

    Returns
    -------
    DataFrame, or table of the other library
    """
    table = _other_library(data)
    if table is None:
        return frame
    import narwhals as nw

    if not frame.index.equals(pd.RangeIndex(len(frame))):
        frame = frame.rename_axis([name or rows for name in frame.index.names]).reset_index()
    columns = {str(name): _values(column) for name, column in frame.items()}
    return nw.from_dict(columns, backend=table.implementation).to_native()


def with_columns(data: Any, frame: pd.DataFrame, names: list[str]) -> Any:
    """Return `data` with the columns `names` of `frame` as well, in the library of `data`.

    Parameters
    ----------
    data : any data
    frame : DataFrame
        The data with the additional columns, in pandas.
    names : list of str
    """
    table = _other_library(data)
    if table is None:
        return frame
    import narwhals as nw

    made = nw.from_dict({name: _values(frame[name]) for name in names}, backend=table.implementation)
    return table.with_columns(*(made[name] for name in names)).to_native()


def is_polars(data: Any) -> bool:
    """Return whether the data are a frame of polars, or a narwhals frame of one."""
    table = _other_library(data)
    return table is not None and table.implementation.is_polars()


def _other_library(data: Any) -> Any:
    """Return `data` as a narwhals frame; None if their library is pandas or has the interface of pandas."""
    if isinstance(data, (pd.DataFrame, np.ndarray)):
        return None
    import narwhals as nw

    table = nw.from_native(data, eager_only=True, pass_through=True)
    if not isinstance(table, nw.DataFrame) or table.implementation.is_pandas_like():
        return None
    return table


def _values(column: pd.Series) -> Any:
    """Return the values of a column without types of pandas, and with None for missing values."""
    if column.dtype.kind in "fiub" and column.notna().all():
        return column.to_numpy()
    cells = zip(column.to_list(), column.isna(), strict=True)
    return [None if missing else value for value, missing in cells]
