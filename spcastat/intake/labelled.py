"""xarray objects as tables: the labels of their axes become the labels of columns and rows."""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd

from spcastat.config import listed
from spcastat.errors import DataError, ShapeError


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
                "on the same one axis. Give one array of two axes, ds['name'], or some variables, "
                "ds[['a', 'b']]."
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
            f"An xarray {type(data).__name__} whose values are not in memory was given, and all its rows are "
            "needed at once here: give some of them, x.isel(...).load()."
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
