"""Chunks from arrays and text tables in files, and from iterables that can be read again."""

from __future__ import annotations

import os
import zipfile
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from spcastat.config import library_of, offers, one_line
from spcastat.errors import DataError, FileError, SpcaError
from spcastat.linalg.ties import is_sparse
from spcastat.reading.textfiles import TextOptions, TextTable, usual_separator

#: A block of rows has about this many numbers (4 MB of float64).
BLOCK_SIZE = 500_000
#: A block has at least this many rows, as products with many columns are slow in blocks of fewer rows, unless
#: it would then exceed LARGEST_BLOCK.
BLOCK_ROWS = 1000
#: A block has at most this many numbers (40 MB of float64).
LARGEST_BLOCK = 5_000_000

ONCE = (
    "can be read only once, and a fit reads the rows again (for the scores, for example). Give a list of "
    "chunks, or a function without arguments that opens the source again, e.g. "
    "lambda: pd.read_csv(path, chunksize=100_000)."
)


@dataclass(eq=False)
class Chunks:
    """The source of the chunks of a local stream, which can be read repeatedly.

    Attributes
    ----------
    title : str
        Name of the source for messages, e.g. ``"text file trips.csv"``.
    read : callable
        Takes the names of the needed columns, or None for all, and returns a new iterable of chunks, which
        may leave out other columns.
    total : int or None
        Number of rows, if it is known without reading them.
    files : sequence of paths
        Files and folders that hold the rows.
    article : str
        The article before the title in names of chunks.
    parts : sequence of Chunks
        Sources that are read one after the other, each with its own title; `read` is then not called.
    tells_files : bool
        Whether `files` has all files that the rows are read from.
    size : int or None
        For Parquet files, the number of bytes that the rows take in memory.
    whole : callable or None
        For Parquet files, returns all rows in one data frame.
    """

    title: str
    read: Callable[[list[str] | None], Iterable[Any]]
    total: int | None = None
    files: Sequence[Any] = ()
    article: str = "the "
    parts: Sequence[Chunks] = ()
    tells_files: bool = True
    size: int | None = None
    whole: Callable[[], pd.DataFrame] | None = None

    def walk(self, columns: list[str] | None, start: int = 1) -> Iterator[tuple[str, Any]]:
        """Yield the name and the data of every chunk, numbered from `start`.

        Columns that are not `columns` may be left out.
        """
        number = start
        for part in self.parts:
            for named_chunk in part.walk(columns, number):
                yield named_chunk
                number += 1
        if self.parts:
            return
        chunks = self.read(columns)
        try:
            for chunk in chunks:
                yield self.name(number), chunk
                number += 1
        except (SpcaError, MemoryError):
            raise
        except Exception as error:
            raise failure(self.name(number), error, self.files) from error
        finally:
            if callable(close := getattr(chunks, "close", None)):
                close()

    def name(self, number: int) -> str:
        """Return the name of a chunk for messages."""
        return f"chunk {number} of {self.article}{self.title}"

    def holds(self, path: Any) -> bool:
        """Return whether writing to `path` would change the source."""
        return is_among(path, self.files)


def is_among(path: Any, files: Sequence[Any]) -> bool:
    """Return whether a path is one of some files, or inside one of some folders."""
    target = Path(path).resolve()
    in_folder = any(target.is_relative_to(Path(file).resolve()) for file in files if os.path.isdir(file))
    return in_folder or any(same_file(path, file) for file in files)


def holds_no_rows(path: Any) -> bool:
    """Whether a file is a saved fit, a page in HTML or a Word document, which rows are not read from."""
    try:
        with open(path, "rb") as file:
            start = file.read(15)
        if start[:2] != b"PK":
            return start.lower() == b"<!doctype html>"
        with zipfile.ZipFile(path) as archive:
            names = archive.namelist()
    except (OSError, ValueError, zipfile.BadZipFile):
        return False
    return "manifest.json" in names or "word/document.xml" in names


def reason_of(error: Exception) -> str:
    """Return the type and the text of an error of another library, in one line without a final period."""
    return f"{type(error).__name__}: {' '.join(str(error).split())[:500]}".rstrip(": .")


def failure(name: str, error: Exception, files: Sequence[Any] = ()) -> SpcaError:
    """Return the error for what could not be read from `files`, because of an error of another library."""
    if isinstance(error, FileNotFoundError) and files:
        return FileError(f"{name} cannot be read: there is no file {str(files[0])!r}.")
    if files:
        return FileError(f"{name} cannot be read: {reason_of(error)}. Is the file complete?")
    if isinstance(error, OSError):
        return FileError(f"{name} cannot be read: {error}.")
    return DataError(f"{name} cannot be obtained: {reason_of(error)}.")


def array_chunks(array: Any, path: str | None) -> Chunks:
    """Return blocks of rows of an array that is stored in a file.

    Parameters
    ----------
    array : array of shape (n, p)
        A numpy.memmap or a view of one: slicing it reads from the file.
    path : str or None
        The file, if it is known.
    """

    def read(columns: list[str] | None) -> Iterator[Any]:
        if array.ndim != 2:
            yield np.empty((0,) * array.ndim)  # leads to an error about the number of axes
            return
        for rows in row_slices(*array.shape):
            yield np.asarray(array[rows])

    title = f"memory-mapped array{f' {Path(path).name}' if path else ''}"
    total = array.shape[0] if array.ndim == 2 else None
    return Chunks(title, read, total, [path] if path else [], tells_files=path is not None)


def iterable_chunks(
    begin: Callable[[], Iterable[Any]], title: str, files: Sequence[Any] | None = None
) -> Chunks:
    """Return the chunks from a function that returns a new iterable of them in every call.

    `files` are the files that it reads; None if these are unknown.
    """
    previous: list[Any] = []

    def read(columns: list[str] | None) -> Iterator[Any]:
        try:
            iterable = begin()
        except OSError as error:
            raise FileError(f"{title} cannot be opened: {error}.") from error
        if is_chunk(iterable) or isinstance(iterable, str | bytes | dict) or not offers(iterable, "__iter__"):
            raise DataError(
                f"{title} gave a value of type {type(iterable).__name__}; it must give several chunks, such "
                "as a list of data frames or pd.read_csv(path, chunksize=100_000)."
            )
        try:
            chunks = iter(iterable)
        except Exception as error:
            raise DataError(f"{title} gave what cannot be walked over: {reason_of(error)}.") from error
        if chunks is iterable and previous and chunks is previous[0]:
            raise DataError(f"{title} gave the same iterator again, which {ONCE}")
        previous[:] = [chunks]
        return chunks

    return Chunks(title, read, None, files or (), article="", tells_files=files is not None)


def text_chunks(path: str | os.PathLike[str]) -> Chunks:
    """Return the rows of a text table: a file whose name ends in .csv, .tsv or .tab, compressed or not.

    Every line is checked once, when the file is opened. A first column without a name contains the row
    labels.

    Raises
    ------
    FileError, OptionError
        As :class:`spcastat.reading.textfiles.TextTable` does.
    """
    file = Path(path).absolute()  # the working directory may change before the next pass
    table = TextTable(str(file), TextOptions(usual_separator(path) or ","))
    read = partial(table.chunks, rows_at_once(len(table.columns)))
    return Chunks(f"text file {one_line(file.name, 100)}", read, table.rows, [file], article="")


def is_chunk(value: Any) -> bool:
    """Whether a value can be a chunk: a data frame, or a two-dimensional or sparse array."""
    module = library_of(value)
    if module == "pandas":
        return type(value).__name__ == "DataFrame"
    if module in ("polars", "pyarrow"):
        return type(value).__name__ in ("DataFrame", "Table", "RecordBatch")
    if isinstance(value, np.ndarray):
        return value.ndim == 2
    return is_sparse(value) or offers(value, "__narwhals_dataframe__") or offers(value, "__dataframe__")


def rows_at_once(p: int) -> int:
    """Return how many rows of p numbers are read at once."""
    p = max(p, 1)
    return max(1, BLOCK_SIZE // p, min(BLOCK_ROWS, LARGEST_BLOCK // p))


def row_slices(n: int, p: int) -> Iterator[slice]:
    """Return slices of n rows of p numbers."""
    step = rows_at_once(p)
    return (slice(start, start + step) for start in range(0, n, step))


def same_file(one: Any, other: Any) -> bool:
    """Whether two paths are the same file."""
    try:
        return os.path.samefile(one, other)
    except OSError:
        return Path(one).absolute() == Path(other).absolute()
