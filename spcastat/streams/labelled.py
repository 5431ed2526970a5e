"""Arrays and datasets of xarray that are stored in a file or in dask chunks."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from spcastat.intake.labelled import axes_of, column_labels, frame_of, in_memory
from spcastat.streams.sources import rows_at_once


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


def in_file(data: Any) -> LabelledChunks | None:
    """Return the chunks of an xarray object whose values are in a file; None if they are in memory."""
    return None if in_memory(data) else LabelledChunks(data)


class LabelledChunks:
    """Rows of an xarray object whose values are read from a file chunk by chunk.

    Parameters
    ----------
    data : xarray.DataArray or xarray.Dataset
    """

    def __init__(self, data: Any):
        self._data = data
        self._rows, self._p = axes_of(data)
        self.title = f"xarray {type(data).__name__}"
        self.total = int(data.sizes[self._rows])

    def walk(self, needed: list[str] | None) -> Iterator[tuple[str, Any]]:
        preferred = self._data.encoding.get("preferred_chunks", {}).get(self._rows)
        step = rows_at_once(self._p, None if preferred is None else (int(preferred),))
        for number, start in enumerate(range(0, max(self.total, 1), step), start=1):
            rows = self._data.isel({self._rows: slice(start, start + step)})
            yield f"chunk {number} of the {self.title}", frame_of(rows)

    def holds(self, path: Any) -> bool:
        from spcastat.streams.sources import same_file

        source = self._data.encoding.get("source")
        return source is not None and same_file(path, source)
