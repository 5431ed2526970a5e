"""Open data that come in chunks as a stream, and read files that fit into memory."""

from __future__ import annotations

import glob
import os
from collections.abc import Callable, Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from spcastat.config import GAPS, library_of, offers, one_line, shown
from spcastat.errors import DataError, FileError, OptionError
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
from spcastat.streams.arrow import OPENERS, SUFFIXES, is_parquet, of_interface, parquet_chunks
from spcastat.streams.base import LocalStream, Stream
from spcastat.streams.chunks import (
    ONCE,
    Chunks,
    array_chunks,
    is_among,
    is_chunk,
    iterable_chunks,
    reason_of,
    text_chunks,
)

#: Libraries whose tables are read as data in memory, and not as streams.
_IN_MEMORY = ("pandas", "polars", "pyarrow")


def open_stream(data: Any, reading: ReadOptions = PLAIN, spec: Spec | None = None) -> Stream | None:
    """Open data that come in chunks.

    Parameters
    ----------
    data : object
        One of the following:

        - a path to a text table (.csv, .tsv), to a Parquet file or to a folder of Parquet files,
          a pattern such as ``"trips/*.parquet"``, or a list of paths;
        - a ``numpy.memmap``;
        - a polars LazyFrame, a pyarrow dataset, a DuckDB relation, or another object with
          ``__arrow_c_stream__``;
        - a list of chunks, an object that can be iterated over repeatedly, or a function without
          arguments that returns a new iterable of chunks. A chunk is anything that
          :func:`spcastat.reading.read.read_data` accepts;
        - a dask array or data frame.
    reading : ReadOptions
    spec : Spec, optional
        The spec of a fit, to read the data as new data.

    Returns
    -------
    Stream or None
        None for data that are not a stream.

    Raises
    ------
    DataError
        For a source that can be read only once, or a path to a file of another format.
    FileError
        For files that cannot be read.
    """
    plain = isinstance(data, pd.DataFrame) or is_sparse(data)
    if plain or (type(data) is np.ndarray and data.base is None):
        return None
    data = _unwrapped(data)
    chunks = None if library_of(data) == "dask" else _chunks_of(data)
    if chunks is None and library_of(data) != "dask":
        return None
    if reading.na in GAPS:
        raise OptionError(
            f"na={reading.na!r} was given with rows that come in chunks; it needs them in memory. Give a "
            "table that fits into memory, such as a sample, or na='drop'."
        )
    if reading.grouping:
        name = reading.grouping[0]
        raise OptionError(
            f"{name}={shown(getattr(reading, name))} was given with rows that come in chunks, of which "
            "single rows are drawn: give a table that fits into memory, such as a sample of whole clusters."
        )
    if chunks is not None:
        return LocalStream(chunks, reading, spec)
    from spcastat.streams.dask import DaskStream

    stream: Stream = DaskStream.open(data, reading, spec)
    return stream


def chunks_of_path(data: Any) -> Chunks | None:
    """Open the file, folder or files that a path, a pattern or a list of paths names; None for others."""
    if isinstance(data, str | os.PathLike):
        return _from_path(data)
    if isinstance(data, list | tuple) and data and all(isinstance(one, str | os.PathLike) for one in data):
        return parquet_chunks([_parquet_path(one) for one in data])
    return None


def _chunks_of(data: Any) -> Chunks | None:
    found = chunks_of_path(data)
    if found is None:
        found = _of_library(data)
    if found is not None:
        return found
    if isinstance(data, np.ndarray):
        mapped = _mapped(data)
        if mapped is None:
            return None
        file = getattr(mapped, "filename", None)
        return array_chunks(data, file)
    if is_chunk(data):
        return None
    if offers(data, "__arrow_c_stream__") and library_of(data) not in _IN_MEMORY:
        return of_interface(data)
    if isinstance(data, list | tuple):
        if not (data and is_chunk(data[0])):
            return None
        chunks = "1 chunk" if len(data) == 1 else f"{len(data)} chunks"
        every = (data[i] for i in range(len(data)))  # iterating over the data themselves would be a pass
        maps = [_mapped(one) for one in every if isinstance(one, np.ndarray)]
        files = [one.filename for one in maps if one is not None]
        known = None if None in files else files
        return iterable_chunks(lambda: data, f"the {type(data).__name__} of {chunks}", known)
    buffers = bytes | bytearray | memoryview
    if offers(data, "__array__") or isinstance(data, Mapping | set | frozenset | buffers):
        return None
    if isinstance(data, Iterable):
        return _from_iterable(data)
    if callable(data) and not isinstance(data, type):
        told = getattr(data, "files", None)  # the functions of the command tell their files
        of_function = list(told) if isinstance(told, list | tuple) else None
        return iterable_chunks(_checked(data), f"the {_name_of(data)}", of_function)
    return None


def _from_path(data: str | os.PathLike[str]) -> Chunks:
    pattern = str(data)
    if not os.path.exists(pattern) and glob.has_magic(pattern) and "://" not in pattern:
        matched = sorted(glob.glob(pattern, recursive=True))
        if not matched:
            raise FileError(f"There is no file whose path fits the pattern {shown(pattern)}.")
        files = [_parquet_path(one) for one in matched]
        return parquet_chunks(files, f"Parquet files {one_line(pattern, 100)}")
    if usual_separator(data) is not None and os.path.isfile(data):
        return text_chunks(data)
    return parquet_chunks(_parquet_path(data))


def _parquet_path(data: str | os.PathLike[str]) -> Path:
    """Return the path of a Parquet file or of a folder; raise DataError for other files."""
    path = Path(data)
    there = bool(str(data)) and os.path.exists(path)
    if "://" in str(data) and not there:
        raise DataError(
            f"Data of type str were given, {shown(str(data))}, which is an address, and files are read from "
            f"disk only. Copy it to a disk first, or give dask.dataframe.read_parquet({shown(str(data))})."
        )
    if (there or path.suffix.lower() in SUFFIXES) and is_parquet(path):
        return path
    raise DataError(
        f"Data of type {type(data).__name__} were given, "
        f"{shown(str(data))}{'' if there else ', and there is no such file'}; a path must be to Parquet "
        "files, to a .csv, .tsv or .tab file, or to a .sav or .dta file; read others first, or give lambda: "
        "pd.read_csv(path, chunksize=100_000)."
    )


# --- objects of libraries --------------------------------------------------------------------------


def _unwrapped(data: Any) -> Any:
    """Return the native object of a narwhals frame; other data unchanged."""
    if library_of(data) == "narwhals":
        import narwhals as nw

        return nw.to_native(data)
    return data


def _of_library(data: Any) -> Chunks | None:
    """Open an object of a library that reads rows in chunks; None for its objects in memory."""
    found = (OPENERS.get((library_of(data), one.__name__)) for one in type(data).__mro__)
    opened = next(filter(None, found), None)
    return None if opened is None else opened(data)


# --- iterables --------------------------------------------------------------------


def _from_iterable(data: Any) -> Chunks | None:
    name = type(data).__name__
    try:
        again = iter(data)
    except Exception as error:
        raise DataError(
            f"Data of type {name} were given, which cannot be walked over: {reason_of(error)}."
        ) from error
    if again is data:
        raise DataError(f"Data of type {name} were given, which {ONCE}")
    try:
        first = next(iter(data), None)
    except Exception:  # reported with the name of the chunk when it is read
        first = None
    if first is not None and not is_chunk(first):
        return None
    return iterable_chunks(lambda: data, f"the chunks of the {name}")


def _checked(function: Callable[[], Any]) -> Callable[[], Any]:
    """Wrap a user's function so that an error in it is reported as DataError."""

    def begin() -> Any:
        try:
            return function()
        except OSError:
            raise
        except Exception as error:
            raise DataError(
                f"The {_name_of(function)} failed: {reason_of(error)}. It must return chunks."
            ) from error

    return begin


def _name_of(function: Any) -> str:
    name = getattr(function, "__name__", type(function).__name__)
    return "lambda function" if name == "<lambda>" else f"function {name}"


def _mapped(array: Any) -> np.memmap[Any, Any] | None:
    """Return the memory map that an array is a view of, or None."""
    while array is not None:
        if isinstance(array, np.memmap):
            return array
        array = getattr(array, "base", None)
    return None


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
        As :func:`open_stream` does.
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


# --- files that rows were read from -----------------------------------------------------------------


def files_of(data: Any) -> Sequence[str]:
    """Return the files that :func:`read_whole` has read a frame from; empty for other data."""
    files: Sequence[str] = data.attrs.get(FILES, ()) if isinstance(data, pd.DataFrame) else ()
    return files


def require_apart(path: Any, files: Sequence[str]) -> None:
    """Raise OptionError if a file to be written is one of those that rows were read from."""
    if is_among(path, files):
        raise OptionError(
            f"path={str(path)!r} was given, which is where the rows were read from; give another."
        )


