"""Tables of other libraries: xarray objects as tables, and results as polars or Arrow tables.

The labels of the axes of an xarray object become the labels of columns and rows.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd

from spcastat.config import listed
from spcastat.errors import DataError, ShapeError

#: Name of the column with the numbers of the remaining rows, if some were dropped.
ROW = "row"


def axes_of(data: Any) -> tuple[Any, int]:
    """Return the name of the axis of rows, and the number of columns.

    Parameters
    ----------
    data : xarray.DataArray of two axes, rows and columns, or xarray.Dataset
        The variables of a dataset are columns, all on the same axis.

    Raises
    ------
    ShapeError
        For other axes.
    """
    if hasattr(data, "data_vars"):
        axes = {variable.dims for variable in data.data_vars.values()}
        if len(axes) != 1 or len(next(iter(axes))) != 1:
            raise ShapeError(
                f"An xarray Dataset with variables on the axes {listed(data.sizes)} was given; all must lie "
                "on the same one axis. Give one array, ds['name'], or some variables, ds[['a', 'b']]."
            )
        return next(iter(axes))[0], len(data.data_vars)
    if not hasattr(data, "dims"):
        raise DataError(f"An xarray {type(data).__name__} was given; give a DataArray or a Dataset.")
    if len(data.dims) != 2:
        raise ShapeError(
            f"An xarray {type(data).__name__} with the axes {listed(data.dims) or 'none'} was given; it must "
            "have two, rows and columns: use x.stack(row=[...]) to put axes together, or x.T to swap them."
        )
    return data.dims[0], int(data.shape[1])


def column_labels(data: Any) -> pd.Index | None:
    """Return the labels of the second axis, or None if it has none."""
    return data.get_index(data.dims[1]) if data.dims[1] in data.indexes else None


def in_memory(data: Any) -> bool:
    """Whether the values are arrays in memory, rather than in a file or on dask."""
    if getattr(data, "chunks", None):
        return False
    variables = data.data_vars.values() if hasattr(data, "data_vars") else [data]
    return all(getattr(one.variable, "_in_memory", True) for one in variables)


def table_of(data: Any) -> pd.DataFrame | np.ndarray:
    """Return a table of values in memory.

    Raises
    ------
    DataError
        For values in a file or on dask.
    """
    axes_of(data)
    if not in_memory(data):
        raise DataError(
            f"An xarray {type(data).__name__} in a file was given; give rows in memory, x.isel(...).load()."
        )
    return frame_of(data)


def frame_of(data: Any) -> pd.DataFrame | np.ndarray:
    """Return a table in memory: a data frame, or an array if neither rows nor columns have labels.

    Parameters
    ----------
    data : xarray.DataArray or xarray.Dataset
    """
    rows, _ = axes_of(data)
    index = data.get_index(rows) if rows in data.indexes else None
    if hasattr(data, "data_vars"):
        return pd.DataFrame({name: one.to_numpy() for name, one in data.data_vars.items()}, index=index)
    labels, values = column_labels(data), data.to_numpy()
    if labels is None and index is None:
        return values
    return pd.DataFrame(values, index=index, columns=labels, copy=False)


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
