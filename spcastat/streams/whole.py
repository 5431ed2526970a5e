"""Files that fit into memory: they are read once, as a data frame, and are then data like any frame."""

from __future__ import annotations

import os
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from spcastat.reading.textfiles import (
    FILES,
    TextOptions,
    TextTable,
    holds_at_most,
    is_labelled_file,
    may_be_matrix,
    read_labelled,
    usual_separator,
)
from spcastat.streams.recognise import chunks_of_path
from spcastat.streams.sources import Chunks

#: Text files with more bytes than this (100 MB), uncompressed, are read in chunks.
LARGEST_TEXT = 100_000_000
#: Parquet files that take more bytes than this (500 MB) in memory are read in chunks.
LARGEST_PARQUET = 500_000_000


def read_whole(data: Any) -> Any:
    """Return the rows of a file that fits into memory as a data frame.

    Parameters
    ----------
    data : object
        A path to a text table, to a file of Parquet, SPSS or Stata, to a folder of Parquet files, a pattern,
        or a list of paths.

    Returns
    -------
    DataFrame or object
        Anything else, and the path of a larger file, is returned unchanged.

    Raises
    ------
    DataError, FileError, OptionError, DuplicateNamesError
        As :func:`spcastat.streams.recognise.open_chunks` does.
    FileError, OptionError, ColumnTypeError
        As :func:`spcastat.reading.textfiles.read_labelled` does.
    """
    if isinstance(data, str | os.PathLike) and is_labelled_file(data) and os.path.isfile(data):
        return _marked(read_labelled(data), [Path(data).absolute()])
    if isinstance(data, str | os.PathLike) and usual_separator(data) is not None and os.path.isfile(data):
        if not fits_in_memory(data):
            return data
        file = Path(data).absolute()
        return _marked(TextTable(str(file), TextOptions(usual_separator(data) or ",")).read(), [file])
    found = chunks_of_path(data)
    if found is None or found.size is None or found.size > LARGEST_PARQUET:
        return data
    frame = _frame_of(found)
    return data if frame is None else _marked(frame, found.files)


def fits_in_memory(path: str | os.PathLike[str]) -> bool:
    """Whether a text table or a Parquet file is small enough to be read as a whole.

    So is any text table with as many rows as columns, to see whether it is a covariance matrix.
    """
    if usual_separator(path) is not None:
        return holds_at_most(path, LARGEST_TEXT) or may_be_matrix(path)
    found = chunks_of_path(path)
    return found is not None and found.size is not None and found.size <= LARGEST_PARQUET


def _marked(frame: pd.DataFrame, files: Sequence[Any]) -> pd.DataFrame:
    frame.attrs[FILES] = [str(file) for file in files]
    return frame


def _frame_of(chunks: Chunks) -> pd.DataFrame | None:
    """Return all rows of one or more Parquet files, with default labels numbered on from file to file.

    None if the files do not have the same columns.
    """
    frames = [part.whole() for part in chunks.parts or [chunks] if part.whole is not None]
    if len(frames) == 1:
        return frames[0]
    columns = frames[0].columns
    if any(set(frame.columns) != set(columns) for frame in frames):
        return None
    plain = all(frame.index.equals(pd.RangeIndex(len(frame))) for frame in frames)
    joined = pd.concat([frame[columns] for frame in frames], ignore_index=plain)
    for name in columns:  # booleans in one file, and numbers in another: they are numbers
        kinds = {frame[name].dtype.kind for frame in frames}
        if joined[name].dtype == object and kinds <= set("biuf"):
            joined[name] = joined[name].astype(np.float64)
    return joined
