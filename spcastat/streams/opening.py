"""Open data as a stream of chunks, if they come in chunks, or read files that fit into memory."""

from __future__ import annotations

import os
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd

from spcastat.errors import OptionError
from spcastat.linalg.ties import is_sparse
from spcastat.reading.design import PLAIN, ReadOptions, Spec
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

if TYPE_CHECKING:
    from spcastat.streams.base import Stream
    from spcastat.streams.sources import Chunks


def files_of(data: Any) -> Sequence[str]:
    """Return the files that :func:`read_whole` has read a frame from; empty for other data."""
    files: Sequence[str] = data.attrs.get(FILES, ()) if isinstance(data, pd.DataFrame) else ()
    return files


def require_apart(path: Any, files: Sequence[str]) -> None:
    """Raise OptionError if a file to be written is one of those that rows were read from."""
    if not files:
        return
    from spcastat.streams.sources import is_among

    if is_among(path, files):
        raise OptionError(
            f"path={str(path)!r} was given, which is where the rows were read from; give another."
        )


def open_stream(data: Any, reading: ReadOptions = PLAIN, spec: Spec | None = None) -> Stream | None:
    """Open data that come in chunks; None for others. See :func:`spcastat.streams.recognise.open_chunks`."""
    plain = isinstance(data, pd.DataFrame) or is_sparse(data)
    if plain or (type(data) is np.ndarray and data.base is None):
        return None  # saves the imports below for data in memory
    from spcastat.streams import recognise

    return recognise.open_chunks(data, reading, spec)


# --- files that fit into memory -------------------------------------------------------------------


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
    if not isinstance(data, str | os.PathLike | list | tuple):
        return data
    if not isinstance(data, list | tuple) and os.path.isfile(data):
        file = Path(data).absolute()
        if is_labelled_file(data):
            return _marked(read_labelled(data), [file])
        if (separator := usual_separator(data)) is not None:
            large = not fits_in_memory(data)
            return data if large else _marked(TextTable(str(file), TextOptions(separator)).read(), [file])
    from spcastat.streams.recognise import chunks_of_path  # imports the readers of all sources

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
    from spcastat.streams.recognise import chunks_of_path

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
