"""Chunks from arrays and tables of text in files, and from iterables that can be read repeatedly."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path
from typing import Any

import numpy as np

from spcastat.config import library_of, offers, one_line
from spcastat.errors import DataError, FileError, SpcaError
from spcastat.kernels.sparsity import is_sparse
from spcastat.textfiles import TextTable, usual_separator

#: A block of rows has about this many numbers (4 MB of float64), ...
BLOCK_SIZE = 500_000
#: ... but at least this many rows, because products with many columns are slow in blocks of fewer rows, ...
MANY = 1000
#: ... as long as it has at most this many numbers (40 MB of float64).
LARGEST_BLOCK = 5_000_000

ONCE = (
    "can be walked over only once, and a fit needs its rows again (for the scores, say). Give a list of "
    "chunks, or a function without arguments that opens the source anew, e.g. "
    "lambda: pd.read_csv(path, chunksize=100_000)."
)


class ArrayChunks:
    """Blocks of rows of an array that is stored in a file.

    Parameters
    ----------
    array : array of shape (n, p)
        A numpy.memmap or a view of one, a zarr array, or an h5py dataset: slicing it reads from the file.
    path : str or None
        The file, if it is known.
    title : str
    """

    def __init__(self, array: Any, path: Any = None, title: str = "memory-mapped array"):
        self.array = array
        self.path = path
        self.title = title + (f" {Path(path).name}" if path else "")
        self.total = array.shape[0] if array.ndim == 2 else None

    def walk(self, needed: list[str] | None) -> Iterator[tuple[str, Any]]:
        if self.array.ndim != 2:
            yield f"the {self.title}", np.empty((0,) * self.array.ndim)  # an error for the number of axes
            return
        n, p = self.array.shape
        step = rows_at_once(p, getattr(self.array, "chunks", None))
        for number, start in enumerate(range(0, n, step), start=1):
            yield f"chunk {number} of the {self.title}", np.asarray(self.array[start : start + step])

    def holds(self, path: Any) -> bool:
        return self.path is not None and same_file(path, self.path)


class IterableChunks:
    """Chunks from a function that returns a new iterable of them in every call.

    Parameters
    ----------
    begin : callable
    title : str
    """

    total: int | None = None

    def __init__(self, begin: Callable[[], Iterable[Any]], title: str):
        self._begin = begin
        self.title = title
        self._last: Any = None

    def walk(self, needed: list[str] | None) -> Iterator[tuple[str, Any]]:
        chunks = self._open()
        number = 1
        try:
            while True:
                try:
                    chunk = next(chunks)
                except StopIteration:
                    return
                except SpcaError:
                    raise
                except OSError as error:
                    raise FileError(f"chunk {number} of {self.title} cannot be read: {error}.") from error
                except Exception as error:
                    raise DataError(
                        f"chunk {number} of {self.title} cannot be obtained: {type(error).__name__}: {error}"
                    ) from error
                yield f"chunk {number} of {self.title}", chunk
                number += 1
        finally:
            close = getattr(chunks, "close", None)
            if callable(close):
                close()

    def holds(self, path: Any) -> bool:
        return False

    def _open(self) -> Iterator[Any]:
        try:
            given = self._begin()
        except OSError as error:
            raise FileError(f"{self.title} cannot be opened: {error}.") from error
        if is_chunk(given) or isinstance(given, str | bytes | dict) or not offers(given, "__iter__"):
            raise DataError(
                f"{self.title} gave a value of type {type(given).__name__}; it must give an iterable of "
                "chunks, such as pd.read_csv(path, chunksize=100_000) or a list of data frames."
            )
        try:
            chunks = iter(given)
        except Exception as error:
            reason = f"{type(error).__name__}: {error}".rstrip(".")
            raise DataError(f"{self.title} gave what cannot be walked over: {reason}.") from error
        if chunks is given and chunks is self._last:
            raise DataError(f"{self.title} gave the same iterator again, which {ONCE}")
        self._last = chunks
        return chunks


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


def rows_at_once(p: int, chunks: tuple[int, ...] | None = None) -> int:
    """Return how many rows of p numbers are read at once.

    Parameters
    ----------
    p : int
    chunks : tuple of int, optional
        The chunk shape of the file. Whole chunks are read if they are not too large, so that none is
        decompressed twice.
    """
    p = max(p, 1)
    step = max(1, BLOCK_SIZE // p, min(MANY, LARGEST_BLOCK // p))
    if not chunks or chunks[0] * p > LARGEST_BLOCK:
        return step
    return -(-step // chunks[0]) * chunks[0]


def same_file(one: Any, other: Any) -> bool:
    """Whether two paths are the same file."""
    try:
        return os.path.samefile(one, other)
    except OSError:
        return Path(one).absolute() == Path(other).absolute()


class TextChunks:
    """The rows of a text table: a file whose name ends in .csv, .tsv or .tab, compressed or not.

    Every line is checked once, when the file is opened. A first column without a name has the row labels.

    Parameters
    ----------
    path : str or path

    Raises
    ------
    FileError, OptionError
        As :class:`spcastat.textfiles.TextTable` does.
    """

    def __init__(self, path: str | os.PathLike[str]):
        self._path = Path(path).absolute()  # the working directory may change before the next pass
        self._table = TextTable(str(self._path), usual_separator(path) or ",")
        self.title = f"text file {one_line(self._path.name, 100)}"
        self.total: int | None = self._table.rows

    def walk(self, needed: list[str] | None) -> Iterator[tuple[str, Any]]:
        rows = rows_at_once(len(self._table.columns))
        for number, chunk in enumerate(self._table.chunks(rows, needed), start=1):
            yield f"chunk {number} of {self.title}", chunk

    def holds(self, path: Any) -> bool:
        return same_file(path, self._path)
