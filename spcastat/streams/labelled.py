"""Arrays and datasets of xarray that are stored in a file or in dask chunks."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from spcastat.intake.labelled import axes_of, column_labels, frame_of, in_memory
from spcastat.streams.sources import Chunks, row_slices


def on_dask(data: Any) -> Any:
    """Return the dask collection of an xarray object in dask chunks; other data unchanged.

    Columns keep their labels; rows are numbered, as in dask.

    Parameters
    ----------
    data : xarray.DataArray or xarray.Dataset
    """
    if not getattr(data, "chunks", None):
        return data
    axes_of(data)
    if hasattr(data, "data_vars"):
        return data.to_dask_dataframe()[list(data.data_vars)]
    labels = column_labels(data)
    if labels is None:
        return data.data
    from dask.dataframe import from_dask_array

    return from_dask_array(data.data.rechunk({1: -1}), columns=labels)


def in_file(data: Any) -> Chunks | None:
    """Return the chunks of an xarray object whose values are in a file; None if they are in memory."""
    if in_memory(data):
        return None
    name, p = axes_of(data)
    total = int(data.sizes[name])

    def read(needed: list[str] | None) -> Iterator[Any]:
        preferred = data.encoding.get("preferred_chunks", {}).get(name)
        for rows in row_slices(max(total, 1), p, None if preferred is None else (int(preferred),)):
            yield frame_of(data.isel({name: rows}))

    source = data.encoding.get("source")
    return Chunks(f"xarray {type(data).__name__}", read, total, [] if source is None else [source])
