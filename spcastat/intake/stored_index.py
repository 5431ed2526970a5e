"""Row labels that pandas stored as columns of Arrow tables and Parquet files."""

from __future__ import annotations

import re
from typing import Any

import pandas as pd

from spcastat.errors import FileError

#: Names that pandas gives to the levels of an index without names.
_UNNAMED = re.compile(r"__index_level_\d+__")


class StoredIndex:
    """Find the columns that hold the row labels of the stored data frame.

    pandas writes an index as columns and lists them in the metadata of the schema. If a library such as
    polars has dropped the metadata, columns called ``__index_level_0__`` and so on are recognised by their
    names.

    Parameters
    ----------
    names : sequence of str
        The names of all columns.
    schema : pyarrow.Schema, optional

    Raises
    ------
    FileError
        If the metadata of pandas are damaged.
    """

    def __init__(self, names: Any, schema: Any = None):
        stored = [] if schema is None else _stored(schema)
        self.labels = [name for name in stored if isinstance(name, str) and name in names]
        if not self.labels:
            self.labels = [name for name in names if _UNNAMED.fullmatch(str(name))]
        ranges = [one for one in stored if isinstance(one, dict) and one.get("kind") == "range"]
        self.range = ranges[0] if len(ranges) == 1 and not self.labels else None

    def index(self, columns: Any, n: int, start: int | None = None) -> pd.Index:
        """Return the labels of n rows.

        Parameters
        ----------
        columns : callable
            Returns the n values of a column, given its name.
        n : int
        start : int or None
            Number of rows of the stored frame before these. None if these should be all rows; they are then
            numbered from 0 if a stored range has another length.
        """
        if self.labels:
            arrays = [columns(name) for name in self.labels]
            names = [None if _UNNAMED.fullmatch(name) else name for name in self.labels]
            if len(arrays) == 1:
                return pd.Index(arrays[0]).rename(names[0])  # pd.Index(name=None) would keep the array's name
            return pd.MultiIndex.from_arrays(arrays, names=names)
        if self.range is None:
            return pd.RangeIndex(n)
        first, step = self.range["start"], self.range["step"]
        if start is None and len(range(first, self.range["stop"], step)) != n:  # a slice of what was stored
            return pd.RangeIndex(n)
        if (first, step) == (0, 1):
            return pd.RangeIndex(n)
        first += step * (start or 0)
        return pd.RangeIndex(first, first + step * n, step, name=self.range.get("name"))


def _stored(schema: Any) -> list[Any]:
    """Return pandas' metadata about the index; raise FileError if they are damaged."""
    try:
        stored = (schema.pandas_metadata or {}).get("index_columns", [])
        for one in stored:
            if isinstance(one, dict) and one.get("kind") == "range":
                range(int(one["start"]), int(one["stop"]), int(one["step"]))
        return list(stored)
    except Exception as error:  # damaged metadata can cause any error
        raise FileError(
            "The block that pandas writes into a Parquet file about its labels is damaged. Write the file "
            "again, or without that block: table.replace_schema_metadata(None)."
        ) from error
