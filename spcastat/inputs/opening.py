"""Opening of data: anything that users pass as data becomes a table in memory, or chunks."""

from __future__ import annotations

import glob
import os
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from spcastat.arguments import GAPS, library_of, offers, one_line, plural, shown, whole_percent
from spcastat.errors import DataError, FileError, OptionError
from spcastat.linalg.accumulate import is_sparse
from spcastat.reading.design import DEFAULT_OPTIONS, ReadOptions, Spec
from spcastat.reading.textfiles import (
    TextOptions,
    TextTable,
    holds_at_most,
    is_labelled_file,
    may_be_matrix,
    read_labelled,
    usual_separator,
)
from spcastat.streams.base import LocalStream, Stream
from spcastat.streams.chunks import (
    ONCE,
    OPENERS,
    SUFFIXES,
    Chunks,
    array_chunks,
    is_among,
    is_chunk,
    is_parquet,
    iterable_chunks,
    of_interface,
    parquet_chunks,
    reason_of,
    text_chunks,
)

#: Libraries whose tables are read as data in memory instead of streams.
_IN_MEMORY = ("pandas", "polars", "pyarrow")


@dataclass(frozen=True, eq=False)
class Source:
    """The source of rows: a table in memory, chunks, or a dask collection.

    Attributes
    ----------
    data : object
        The data as given, or the rows of files that fit into memory.
    files : sequence of str
        The files from which the table was read.
    chunks : Chunks or None
    on_dask : bool
        Whether `data` is a dask collection.
    """

    data: Any
    files: Sequence[str] = ()
    chunks: Chunks | None = None
    on_dask: bool = False

    @property
    def in_memory(self) -> bool:
        """Whether the rows are a table in memory."""
        return self.chunks is None and not self.on_dask

    @property
    def column_names(self) -> Iterable[Any]:
        """The names of the columns of a table in memory; empty for arrays and other objects."""
        if not self.in_memory or library_of(self.data) not in _IN_MEMORY:
            return ()
        names = getattr(self.data, "column_names", None)  # an Arrow table, whose `columns` are arrays
        names = getattr(self.data, "columns", None) if names is None else names
        return names if isinstance(names, pd.Index | list | tuple) else ()

    def stream(self, reading: ReadOptions = DEFAULT_OPTIONS, spec: Spec | None = None) -> Stream:
        """Return the rows that are not in memory as a stream.

        Parameters
        ----------
        reading : ReadOptions
        spec : Spec, optional
            The spec of a fit, to read the data as new data.

        Raises
        ------
        OptionError
            For options that need rows in memory.
        SpcaError
            If the first chunk cannot be read with these options.
        """
        if reading.na in GAPS:
            raise OptionError(
                f"na={reading.na!r} was given with rows in chunks, but needs them in memory. Give a "
                "table that fits into memory, such as a sample, or na='drop'."
            )
        if reading.grouping:
            name = reading.grouping[0]
            raise OptionError(
                f"{name}={shown(getattr(reading, name))} was given with rows in chunks, from which single "
                "rows are drawn: give a table that fits into memory, such as a sample of whole "
                "clusters."
            )
        if self.chunks is not None:
            return LocalStream(self.chunks, reading, spec)
        from spcastat.streams.dask import DaskStream

        stream: Stream = DaskStream.open(self.data, reading, spec)
        return stream


def source_of(data: Any) -> Source:
    """Open anything that users pass as rows.

    Parameters
    ----------
    data : object
        A table in memory, or one of the following:

        - a path to a text table (.csv, .tsv), to a file of SPSS or Stata, to a Parquet file or to a folder of
          Parquet files, a pattern such as ``"trips/*.parquet"``, or a list of paths;
        - a ``numpy.memmap``;
        - a polars LazyFrame, a pyarrow dataset, a DuckDB relation, or another object with
          ``__arrow_c_stream__``;
        - a list of chunks, an object that can be iterated over repeatedly, or a function without
          arguments that returns a new iterable of chunks. A chunk is anything that
          :func:`spcastat.reading.read.read_data` accepts;
        - a dask data frame.

    Raises
    ------
    DataError
        For a source that can be read only once, or a path to a file of another format.
    FileError, OptionError, ColumnTypeError, DuplicateNamesError
        If a file cannot be read.
    """
    if names_files(data):
        return _source_of_files(data)
    if isinstance(data, pd.DataFrame) or is_sparse(data):
        return Source(data)
    native = _unwrapped(data)
    if library_of(native) == "dask":
        return Source(native, on_dask=True)
    return Source(data, chunks=_chunks_of(native))


def table_of(data: Any) -> Source:
    """Open data that must be a table in memory, as `source_of` does; other objects are not opened."""
    return _source_of_files(data) if names_files(data) else Source(data)


def names_files(data: Any) -> bool:
    """Whether data are a path, or a list of paths."""
    if isinstance(data, list | tuple):
        return bool(data) and all(isinstance(path, str | os.PathLike) for path in data)
    return isinstance(data, str | os.PathLike)


# --- files ----------------------------------------------------------------------------------------


#: Text files with more bytes than this (100 MB), uncompressed, are read in chunks.
LARGEST_TEXT = 100_000_000
#: Parquet files that need more bytes than this (500 MB) in memory are read in chunks.
LARGEST_PARQUET = 500_000_000


#: The pandas functions that read files, by the extensions of the files.
_READERS = {
    **dict.fromkeys((".csv", ".tsv", ".tab"), "pd.read_csv"),
    ".parquet": "pd.read_parquet",
    ".sav": "pd.read_spss",
    ".dta": "pd.read_stata",
}


def _source_of_files(data: Any) -> Source:
    """Read files that fit into memory; open other files in chunks."""
    if not isinstance(data, list | tuple) and os.path.isfile(data):
        file = str(Path(data).absolute())
        if is_labelled_file(data):
            return Source(read_labelled(data), [file])
        if (separator := usual_separator(data)) is not None:
            if fits_in_memory(data):
                return Source(TextTable(file, TextOptions(separator)).read(), [file])
            return Source(data, chunks=text_chunks(data))
    chunks = _chunks_of_parquet(data)
    frame = _frame_of(chunks) if _is_small(chunks) else None
    if frame is None:
        return Source(data, chunks=chunks)
    return Source(frame, [str(file) for file in chunks.files])


def fits_in_memory(path: str | os.PathLike[str]) -> bool:
    """Whether a text table or a Parquet file is small enough to be read as a whole.

    A text table with as many rows as columns is always read as a whole, as it may be a covariance matrix.
    """
    if usual_separator(path) is not None:
        return holds_at_most(path, LARGEST_TEXT) or may_be_matrix(path)
    return _is_small(_chunks_of_parquet(path))


def _is_small(chunks: Chunks) -> bool:
    return chunks.size is not None and chunks.size <= LARGEST_PARQUET


def _chunks_of_parquet(data: Any) -> Chunks:
    """Open a Parquet file, or the Parquet files of a folder, a pattern or a list of paths."""
    if isinstance(data, list | tuple):
        return parquet_chunks([_parquet_path(path) for path in data])
    pattern = str(data)
    if not os.path.exists(pattern) and glob.has_magic(pattern) and "://" not in pattern:
        matches = sorted(glob.glob(pattern, recursive=True))
        if not matches:
            raise FileError(f"There is no file whose path matches the pattern {shown(pattern)}.")
        files = [_parquet_path(path) for path in matches]
        return parquet_chunks(files, f"Parquet files {one_line(pattern, 100)}")
    return parquet_chunks(_parquet_path(data))


def _parquet_path(data: str | os.PathLike[str]) -> Path:
    """Return the path of a Parquet file or of a folder; raise DataError for other files."""
    path = Path(data)
    exists = bool(str(data)) and os.path.exists(path)
    if "://" in str(data) and not exists:
        raise DataError(
            f"Data of type str were given, {shown(str(data))}, which is an address, but files are read only "
            f"from disk: download the file first, or give dask.dataframe.read_parquet({shown(str(data))})."
        )
    if (exists or path.suffix.lower() in SUFFIXES) and is_parquet(path):
        return path
    name, kind = shown(str(data)), type(data).__name__
    if path.suffix and not exists:
        raise DataError(
            f"Data of type {kind} were given, {name}, and there is no such file; check the name and the "
            f"working directory, which is {shown(os.getcwd())}."
        )
    absence = "" if exists else ", and there is no such file"
    raise DataError(
        f"Data of type {kind} were given, {name}{absence}; a path must be to Parquet files, to a .csv, .tsv "
        "or .tab file, or to a .sav or .dta file; read other files with pandas first."
    )


def _frame_of(chunks: Chunks) -> pd.DataFrame | None:
    """Return all rows of one or more Parquet files; default labels continue from file to file.

    The result is None if the files have different columns.
    """
    frames = [part.whole() for part in chunks.parts or [chunks] if part.whole is not None]
    if len(frames) == 1:
        return frames[0]
    columns = frames[0].columns
    if any(set(frame.columns) != set(columns) for frame in frames):
        return None
    plain = all(frame.index.equals(pd.RangeIndex(len(frame))) for frame in frames)
    rows = pd.concat([frame[columns] for frame in frames], ignore_index=plain)
    for name in columns:  # booleans in one file and numbers in another become numbers
        kinds = {frame[name].dtype.kind for frame in frames}
        if rows[name].dtype == object and kinds <= set("biuf"):
            rows[name] = rows[name].astype(np.float64)
    return rows


# --- objects --------------------------------------------------------------------------------------


def _chunks_of(data: Any) -> Chunks | None:
    """Open an object that is not in memory; None for tables in memory and objects that have no rows."""
    if (opener := _opener_of(data)) is not None:
        return opener(data)
    if isinstance(data, np.ndarray):
        mapped = _mapped(data)
        return None if mapped is None else array_chunks(data, getattr(mapped, "filename", None))
    if is_chunk(data):
        return None
    if offers(data, "__arrow_c_stream__") and library_of(data) not in _IN_MEMORY:
        return of_interface(data)
    if isinstance(data, list | tuple):
        return _of_sequence(data)
    buffers = bytes | bytearray | memoryview
    if offers(data, "__array__") or isinstance(data, Mapping | set | frozenset | buffers):
        return None
    if isinstance(data, Iterable):
        return _from_iterable(data)
    if callable(data) and not isinstance(data, type):
        return _of_function(data)
    return None


def _unwrapped(data: Any) -> Any:
    """Return the native object of a narwhals frame; other data are returned unchanged."""
    if library_of(data) == "narwhals":
        import narwhals as nw

        return nw.to_native(data)
    return data


def _opener_of(data: Any) -> Callable[[Any], Chunks] | None:
    """Return the function that opens an object of a library for chunks; None for objects in memory."""
    openers = (OPENERS.get((library_of(data), base.__name__)) for base in type(data).__mro__)
    return next(filter(None, openers), None)


# --- iterables and functions ----------------------------------------------------------------------


def _of_sequence(data: Sequence[Any]) -> Chunks | None:
    """Open a list or tuple of chunks; None for a list or tuple of other objects."""
    if not (data and is_chunk(data[0])):
        return None
    refuse_imputations(data)
    chunks = (data[i] for i in range(len(data)))  # iterating over the data themselves would count as a pass
    maps = [_mapped(chunk) for chunk in chunks if isinstance(chunk, np.ndarray)]
    files = [array.filename for array in maps if array is not None]
    title = f"the {type(data).__name__} of {plural(len(data), 'chunk')}"
    return iterable_chunks(lambda: data, title, None if None in files else files)


def _of_function(function: Callable[[], Any]) -> Chunks:
    files = getattr(function, "files", None)  # functions of the command line program have this attribute
    files = list(files) if isinstance(files, list | tuple) else None
    return iterable_chunks(_with_reported_errors(function), f"the {_name_of(function)}", files)


def _from_iterable(data: Any) -> Chunks | None:
    name = type(data).__name__
    try:
        iterator = iter(data)
    except Exception as error:
        raise DataError(
            f"Data of type {name} were given, which cannot be iterated over: {reason_of(error)}."
        ) from error
    if iterator is data:
        raise DataError(f"Data of type {name} were given, which {ONCE}")
    try:
        first_chunk = next(iter(data), None)
    except Exception:  # the error is reported with the name of the chunk when it is read
        first_chunk = None
    if first_chunk is not None and not is_chunk(first_chunk):
        return None
    return iterable_chunks(lambda: data, f"the chunks of the {name}")


def _with_reported_errors(function: Callable[[], Any]) -> Callable[[], Any]:
    """Wrap a function of the user so that an error in it is reported as DataError."""

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
    """Return the memory map of which an array is a view, or None."""
    while array is not None:
        if isinstance(array, np.memmap):
            return array
        array = getattr(array, "base", None)
    return None


def with_reader(message: str, files: Sequence[str]) -> str:
    """Add to a message with advice for a data frame ``df`` the call that reads ``df`` from its file."""
    if len(files) != 1 or "df" not in message:
        return message
    path = Path(files[0])
    kind = next((suffix for suffix in path.suffixes if suffix in _READERS), ".csv")
    separator = r", sep='\t'" if kind in (".tsv", ".tab") else ""
    return message.replace("; ", f"; with df = {_READERS[kind]}({str(path)!r}{separator}), ", 1)


# --- files from which rows were read ----------------------------------------------------------------


def require_apart(path: Any, files: Sequence[str]) -> None:
    """Raise OptionError if a file to be written is one from which rows were read."""
    if is_among(path, files):
        raise OptionError(
            f"path={str(path)!r} was given, but the rows were read from this file; give another path."
        )


# --- imputations given as rows ---------------------------------------------------------------------


#: The columns in which mice, for R, stores the number of the imputation and of the row.
IMPUTATION_COLUMN, ROW_COLUMN = ".imp", ".id"
#: Smallest share of equal cells in imputations of one table.
LEAST_EQUAL = 0.5
#: Largest number of rows that are compared.
COMPARED_ROWS = 10_000


def refuse_long_imputations(columns: Iterable[Any]) -> None:
    """Raise DataError for rows with the column that numbers imputations in the long format of mice.

    Parameters
    ----------
    columns : iterable
        The names of the columns.
    """
    names = {name for name in columns if isinstance(name, str)}
    if IMPUTATION_COLUMN in names:
        numbering = [name for name in (IMPUTATION_COLUMN, ROW_COLUMN) if name in names]
        raise DataError(
            f"The table has the column {IMPUTATION_COLUMN!r} of multiple imputations in mice's long format, "
            "and the rows of every imputation would be treated as additional rows. Give imputations=data in "
            "place of the data, to spca(), spca_path(), choose() or rows(), or one imputation, "
            f"data[data['.imp'] == 1].drop(columns={numbering})."
        )


def refuse_imputations(data: Any) -> None:
    """Raise DataError for a list of data frames that look like imputations of one table.

    Such frames have the same columns and row labels, and most of their cells are equal. The number of
    different cells is also at most half the number of different cells between each row and the next row of
    the other frame, so chunks of equal length with labels 0, 1, ... are not mistaken for imputations.
    """
    frames = list(data) if isinstance(data, list | tuple) else []
    if len(frames) < 2 or not all(isinstance(frame, pd.DataFrame) for frame in frames):
        return
    reference = frames[0]
    if not all(_is_alike(reference, candidate) for candidate in frames[1:]):
        return
    equal, shifted = _equal_cells(frames[:2])
    if equal < LEAST_EQUAL or 1.0 - equal > 0.5 * (1.0 - shifted) or shifted == 1.0:
        return
    n = len(reference)
    raise DataError(
        f"The {len(frames)} frames have the same {n:,} row labels and {whole_percent(equal)} equal cells, as "
        f"imputations of one table do; stacked, they would be treated as {len(frames) * n:,} rows. Give "
        "imputations=frames in place of the data, to spca(), spca_path(), choose() or rows(). If they are "
        "successive rows, give lambda: frames."
    )


def _is_alike(reference: pd.DataFrame, candidate: pd.DataFrame) -> bool:
    """Whether two frames have more than one row, and the same columns and row labels."""
    return (
        len(reference) > 1
        and reference.shape == candidate.shape
        and reference.columns.equals(candidate.columns)
        and reference.index.equals(candidate.index)
    )


def _equal_cells(frames: Sequence[pd.DataFrame]) -> tuple[float, float]:
    """Return the shares of equal cells in the same rows, and in rows shifted by one in the second frame."""
    cells, other_cells = (frame.iloc[:COMPARED_ROWS].to_numpy(dtype=object) for frame in frames)
    equality = np.asarray(cells == other_cells, dtype=bool)
    equality_shifted = np.asarray(cells == np.roll(other_cells, 1, axis=0), dtype=bool)
    return float(equality.mean()), float(equality_shifted.mean())
