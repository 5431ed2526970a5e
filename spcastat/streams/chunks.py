"""Chunks that can be read again: arrays and text tables in files, iterables, Arrow batches and queries.

The Arrow PyCapsule interface is one method, ``__arrow_c_stream__``, which returns a stream of batches. It
must return a new stream in every call; sources that can be read only once are refused (see
:func:`spcastat.inputs.opening.source_of`).
"""

from __future__ import annotations

import os
import zipfile
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from spcastat.arguments import LARGEST_WHOLE, library_of, listed, offers, one_line, plural
from spcastat.errors import DataError, FileError, OptionError, SpcaError
from spcastat.linalg.accumulate import is_sparse
from spcastat.reading.checks import advice_for_complete_rows, first_rounded_of
from spcastat.reading.frames import StoredIndex, require_unique
from spcastat.reading.textfiles import TextOptions, TextTable, usual_separator

#: A block of rows has about this many numbers (4 MB of float64).
BLOCK_SIZE = 500_000
#: A block has at least this many rows, unless it would then exceed LARGEST_BLOCK: products with many columns
#: are slow in blocks of fewer rows.
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
        Files and folders that contain the rows.
    article : str
        The article before the title in names of chunks.
    parts : sequence of Chunks
        Sources that are read one after another, each with its own title; `read` is then not called.
    tells_files : bool
        Whether `files` contains all files that the rows are read from.
    size : int or None
        For Parquet files, the number of bytes that the rows need in memory.
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

        Columns that are not in `columns` may be left out.
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
    """Return whether a path is one of the given files, or inside one of the given folders."""
    target = Path(path).resolve()
    in_folder = any(target.is_relative_to(Path(file).resolve()) for file in files if os.path.isdir(file))
    return in_folder or any(same_file(path, file) for file in files)


def holds_no_rows(path: Any) -> bool:
    """Whether a file is a saved fit, an HTML page or a Word document, which contain no rows."""
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
    """Return the error for data that could not be read because another library raised an error."""
    if isinstance(error, FileNotFoundError) and files:
        return FileError(f"{name} cannot be read: there is no file {str(files[0])!r}.")
    if files:
        return FileError(f"{name} cannot be read: {reason_of(error)}. The file may be incomplete.")
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
    """Return chunks from a function that returns a new iterable of them in every call.

    `files` are the files that the function reads; None if they are unknown.
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
            raise DataError(
                f"{title} returned an object that cannot be iterated over: {reason_of(error)}."
            ) from error
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


# --- Arrow, Parquet, polars and DuckDB ------------------------------------------------------------


#: Suffixes of Parquet files inside a folder.
SUFFIXES = (".parquet", ".pq", ".parq")
#: Size of the read buffer for each column of a Parquet file, in bytes.
BUFFER = 64 * 1024
#: A function of column names (None for all) and a number of rows that returns batches of about that size.
Batches = Callable[[list[str] | None, int], Iterable[Any]]


def arrow_chunks(
    batches: Batches,
    schema: Any,
    title: str,
    total: int | None = None,
    files: Sequence[Any] = (),
    article: str = "the ",
    tells_files: bool = True,
) -> Chunks:
    """Return chunks from a source of record batches that can be read repeatedly.

    Parameters
    ----------
    batches : callable
        Takes column names (or None) and a number of rows; returns a new iterable of ``pyarrow.RecordBatch``
        in every call.
    schema : pyarrow.Schema
    title, total, files, article, tells_files
        As for :class:`spcastat.streams.chunks.Chunks`.
    """
    import pyarrow

    layout = ArrowSchema(schema)
    with named(title):
        require_unique(pd.Index(layout.names))

    def read(columns: list[str] | None) -> Iterator[Any]:
        names, start = layout.read(columns), 0
        all_of_them = names == layout.names
        size = rows_at_once(len(names))
        for batch in even(batches(None if all_of_them else names, size), size):
            yield layout.chunk(batch if all_of_them else batch.select(names), start)
            start += batch.num_rows
        if start == 0:  # without rows, an empty chunk, so that the columns are checked
            yield layout.chunk(pyarrow.Table.from_batches([], schema).select(names), 0)

    return Chunks(title, read, total, files, article, tells_files=tells_files)


class ArrowSchema:
    """The columns of a file: those that are variables, and those that label the rows."""

    def __init__(self, schema: Any):
        self.names = list(schema.names)
        self._stored = StoredIndex(self.names, schema)
        self.labels = self._stored.labels

    def read(self, columns: list[str] | None) -> list[str]:
        """Return the columns to read: the existing ones in `columns`, and the labels of the rows."""
        names = set(self.names if columns is None else columns)
        return [name for name in self.names if name in names or name in self.labels]

    def chunk(self, table: Any, start: int) -> pd.DataFrame:
        """Return an Arrow table as a data frame; `start` rows precede it in the file."""
        import pyarrow

        index = self._stored.index(lambda name: table.column(name).to_pandas(), table.num_rows, start)
        table = table.drop_columns([name for name in table.column_names if name in self.labels])
        restored_columns: dict[int, Any] = {}
        for place, field in enumerate(table.schema):  # booleans with nulls and decimals would become objects
            column = table.column(place)
            gaps = pyarrow.types.is_boolean(field.type) and column.null_count
            if _is_rounded(column):
                restored_columns[place] = pd.Series(column.to_pylist(), dtype=object).array
            elif gaps or pyarrow.types.is_decimal(field.type):
                table = table.set_column(place, field.name, column.cast(pyarrow.float64()))
        frame = table.to_pandas(ignore_metadata=True)
        for place, values in restored_columns.items():
            frame.isetitem(place, values)
        frame.index = index
        return frame


def _is_rounded(column: Any) -> bool:
    """Whether a column has whole numbers that pandas would convert to floats and so round."""
    import pyarrow
    from pyarrow import compute

    kind = column.type
    if pyarrow.types.is_decimal(kind):
        if kind.precision - kind.scale < 16:
            return False
    elif not (column.null_count and kind in (pyarrow.int64(), pyarrow.uint64())):
        return False
    ends = [end for end in compute.min_max(column).as_py().values() if end is not None]
    if not ends or max(map(abs, ends)) <= LARGEST_WHOLE:
        return False
    return first_rounded_of(column.drop_null().to_pylist()) is not None


def even(batches: Iterable[Any], size: int) -> Iterator[Any]:
    """Split or join batches into tables of `size` rows; the last may have fewer.

    Parameters
    ----------
    batches : iterable of pyarrow.RecordBatch
    size : int
    """
    import pyarrow

    unsent: list[Any] = []
    rows = 0
    for batch in batches:
        unsent.append(batch)
        rows += batch.num_rows
        if rows < size:
            continue
        table = pyarrow.Table.from_batches(unsent)
        for start in range(0, rows - size + 1, size):
            yield table.slice(start, size).combine_chunks()
        remainder = table.slice(rows - rows % size)
        unsent, rows = remainder.to_batches(), remainder.num_rows
    if rows:
        yield pyarrow.Table.from_batches(unsent).combine_chunks()


def require_pyarrow(formats: str = "Parquet files") -> Any:
    """Return the module pyarrow; if it is not installed, raise OptionError that `formats` needs it."""
    try:
        import pyarrow
    except ImportError:
        verb = "need" if formats.endswith("files") else "needs"
        raise OptionError(
            f"{formats} {verb} pyarrow, which is not installed: pip install pyarrow. Other files can be "
            "read in chunks by a function, e.g. lambda: pd.read_csv(path, chunksize=100_000)."
        ) from None
    return pyarrow


# --- Parquet files -----------------------------------------------------------------------------------


def parquet_chunks(
    path: str | os.PathLike[str] | Sequence[str | os.PathLike[str]], called: str = "Parquet files"
) -> Chunks:
    """Return the rows of a Parquet file, a folder of files in the order of their names, or a list of these.

    Folders are searched recursively, except files and folders whose names start with "." or "_". Names of
    folders such as ``year=2024`` do not become columns. An index that pandas stored labels the rows. Reading
    takes 2 to 3 MB for each column (a page and a dictionary), whatever the size of the row groups.

    Parameters
    ----------
    path : str or path, or a list of them
        The files of a list are read in its order.
    called : str
        Name of a list in messages.

    Raises
    ------
    FileError
        If there is no such file, or no Parquet file in the folder, or one cannot be read.
    OptionError
        If pyarrow is not installed.
    """
    require_pyarrow()
    single = isinstance(path, str | os.PathLike)
    # the working directory may change before the next pass
    paths = [Path(entry).absolute() for entry in ([path] if isinstance(path, str | os.PathLike) else path)]
    if single and not os.path.isdir(paths[0]):
        return _file(paths[0], f"Parquet file {one_line(paths[0].name, 100)}")
    parts: list[Chunks] = []
    for entry in paths:
        if not os.path.isdir(entry):
            parts.append(_file(entry, f"Parquet file {one_line(entry.name, 100)}"))
            continue
        folder = one_line(entry.resolve().name or str(entry), 100)
        called = f"Parquet folder {folder}" if single else called
        for file in _files_below(entry):
            name = one_line(str(file.relative_to(entry)), 100)
            parts.append(_file(file, f"Parquet file {name} in folder {folder}"))
    files = [*paths, *(part.files[0] for part in parts)]
    title = f"{called} ({plural(len(parts), 'file')})"
    rows, size = (sum(getattr(part, name) or 0 for part in parts) for name in ("total", "size"))
    return Chunks(title, lambda needed: (), rows, files, "", parts, size=size)


def _file(path: Path, title: str) -> Chunks:
    """Return the rows of one file."""
    from pyarrow import parquet

    # Without pre_buffer and with a small buffer for each column, no whole row group is ever in memory.
    opened = partial(parquet.ParquetFile, path, buffer_size=BUFFER, pre_buffer=False, memory_map=False)

    def batches(names: list[str] | None, size: int) -> Iterator[Any]:
        with opened() as file:
            yield from file.iter_batches(batch_size=size, columns=names)

    try:
        with opened() as file:
            schema, rows = file.schema_arrow, int(file.metadata.num_rows)
            size = _bytes_in_memory(file.metadata, schema)
    except Exception as error:
        raise failure(title, error, [path]) from error

    def whole() -> pd.DataFrame:
        try:
            with opened() as file:
                return ArrowSchema(schema).chunk(file.read(), 0)
        except (SpcaError, MemoryError):
            raise
        except Exception as error:  # damaged files raise errors of many types
            raise failure(title, error, [path]) from error

    return replace(arrow_chunks(batches, schema, title, rows, [path], ""), size=size, whole=whole)


def _bytes_in_memory(metadata: Any, schema: Any) -> int:
    """Return approximately how many bytes the rows of a Parquet file need in memory.

    This is at least the uncompressed size of the file's pages. Repeated values are smaller in pages than in
    memory, where every number has the width of its type.
    """
    pages = sum(metadata.row_group(i).total_byte_size for i in range(metadata.num_row_groups))
    widths = 0
    for field in schema:
        try:
            widths += max(field.type.bit_width // 8, 1)
        except ValueError:  # text, which has no width
            widths += 8
    return int(max(pages, metadata.num_rows * widths))


def _files_below(folder: Path) -> list[Path]:
    try:
        files_below = [path for path in folder.rglob("*") if path.is_file()]
    except OSError as error:
        raise FileError(f"The folder {str(folder)!r} cannot be read: {error.strerror or error}.") from error
    # without hidden files and files in hidden folders
    visible = [
        path for path in files_below if not any(part[0] in "._" for part in path.relative_to(folder).parts)
    ]
    files = sorted(path for path in visible if path.suffix.lower() in SUFFIXES)
    if not files:
        content = (
            f"It contains {listed([path.name for path in sorted(visible)], 3)}."
            if visible
            else "It is empty."
        )
        raise FileError(
            f"There is no Parquet file ({', '.join(SUFFIXES)}) in the folder {str(folder)!r}. {content}"
        )
    return files


def is_parquet(path: Path) -> bool:
    """Whether a path is a folder, or a file with the contents or the suffix of a Parquet file.

    Raises
    ------
    FileError
        If there is no such file, or it cannot be opened.
    """
    if os.path.isdir(path):
        return True
    try:
        with open(path, "rb") as file:
            return file.read(4) == b"PAR1" or path.suffix.lower() in SUFFIXES
    except (FileNotFoundError, ValueError):  # ValueError: a null character in the path
        raise FileError(f"There is no file {str(path)!r}.") from None
    except OSError as error:
        raise FileError(f"{path} cannot be read: {error.strerror or error}.") from error


# --- the libraries --------------------------------------------------------------------------------


def of_dataset(data: Any) -> Chunks:
    """Open a ``pyarrow.dataset.Dataset``: files of any format that pyarrow reads, in row order."""
    in_parquet = type(getattr(data, "format", None)).__name__ == "ParquetFileFormat"
    total = int(data.count_rows()) if in_parquet else None  # counting rows in other formats would need a pass

    def batches(names: list[str] | None, size: int) -> Iterable[Any]:
        # Read few batches ahead, since waiting batches use memory. With pyarrow's defaults, datasets also
        # keep all row groups that they have read until the end.
        readahead: dict[str, Any] = {"batch_readahead": 1, "fragment_readahead": 1}
        if in_parquet:
            from pyarrow.dataset import ParquetFragmentScanOptions

            readahead["fragment_scan_options"] = ParquetFragmentScanOptions(
                use_buffered_stream=True, buffer_size=BUFFER, pre_buffer=False
            )
        return data.to_batches(columns=names, batch_size=size, **readahead)

    files = files_of_dataset(data)
    tells_files = files is not None
    return arrow_chunks(batches, data.schema, "pyarrow dataset", total, files or [], tells_files=tells_files)


def files_of_dataset(data: Any) -> list[str] | None:
    """Return the files on disk that a dataset reads; None if they are not known."""
    kind = type(data).__name__
    if kind == "InMemoryDataset":
        return []
    if kind == "UnionDataset":
        parts = [files_of_dataset(child) for child in data.children]
        return None if None in parts else [file for part in parts for file in part or ()]
    if kind == "FileSystemDataset" and data.filesystem.type_name == "local":
        return [os.path.abspath(file) for file in data.files]
    return None


def of_relation(data: Any) -> Chunks:
    """Open a relation of DuckDB; its query runs again in each pass."""
    title = "DuckDB relation"
    schema = _stream(data, title).schema

    def batches(names: list[str] | None, size: int) -> Iterable[Any]:
        quoted = ('"{}"'.format(name.replace('"', '""')) for name in names or ())
        return _stream(data if names is None else data.project(", ".join(quoted)), title)

    return arrow_chunks(batches, schema, title, tells_files=False)


def of_interface(data: Any) -> Chunks:
    """Open any other object with ``__arrow_c_stream__``."""
    title = f"{type(data).__module__.partition('.')[0]} {type(data).__name__}"
    reader = _stream(data, title)
    schema, first_batch = reader.schema, next(iter(reader), None)
    # A source that can be read only once gives an empty stream, or an error, the second time.
    if first_batch is not None and next(iter(_stream(data, title)), None) is None:
        raise DataError(f"The {title} {ONCE}")
    return arrow_chunks(lambda names, size: _stream(data, title), schema, title, tells_files=False)


def _stream(data: Any, title: str) -> Any:
    require_pyarrow("A source of Arrow batches")
    import pyarrow

    try:
        return pyarrow.RecordBatchReader.from_stream(data)
    except Exception as error:
        reason = reason_of(error)
        if "released" in reason or "consumed" in reason:
            raise DataError(f"The {title} {ONCE}") from error
        raise DataError(f"The {title} gives no stream of Arrow batches: {reason}.") from error


def of_lazy_frame(data: Any) -> Chunks:
    """Open a polars LazyFrame, whose query runs again in each pass.

    Raises
    ------
    OptionError
        If this version of polars cannot return the rows in batches.
    DataError
        If the query fails.
    """
    title = "polars LazyFrame"
    if not hasattr(data, "collect_batches"):
        raise OptionError(
            "A polars LazyFrame was given, and this version of polars has no LazyFrame.collect_batches: "
            "install a newer one, or write the rows with lf.sink_parquet(path), and give the path."
        )
    try:
        names = data.collect_schema().names()
    except Exception as error:
        raise DataError(f"columns of the {title} cannot be obtained: {reason_of(error)}.") from error

    def read(columns: list[str] | None) -> Iterator[Any]:
        names_read = names if columns is None else [name for name in names if name in set(columns)]
        yield from data.select(names_read).collect_batches(
            chunk_size=rows_at_once(len(names_read)), maintain_order=True, engine="streaming"
        )

    files = files_of_plan(data)
    return Chunks(title, read, None, files or [], tells_files=files is not None)


def files_of_plan(data: Any) -> list[str] | None:
    """Return the files on disk that a polars LazyFrame reads; None if its plan does not name all of them."""
    try:
        # polars has no public function that lists the files; its GPU engine reads this plan
        plan = data._ldf.visit()
        files: list[str] = []
        waiting = [plan.get_node()]
        while waiting:
            plan.set_node(waiting.pop())
            node, inputs = plan.view_current_node(), plan.get_inputs()
            kind = type(node).__name__
            if kind == "Scan":
                files += map(str, node.paths)
            elif not inputs and kind != "DataFrameScan":
                return None
            waiting += inputs
    except Exception:  # another version of polars, or a plan that it cannot show
        return None
    files = [file.removeprefix("file://") for file in files]
    remote = any("://" in file for file in files)
    # a pattern or a folder that polars has not expanded yet is not a file
    return None if remote or not all(map(os.path.exists, files)) else [*map(os.path.abspath, files)]


#: Library and class -> function that opens its objects as chunks.
OPENERS: dict[tuple[str, str], Callable[[Any], Chunks]] = {
    ("polars", "LazyFrame"): of_lazy_frame,
    ("pyarrow", "Dataset"): of_dataset,
    ("duckdb", "DuckDBPyRelation"): of_relation,
    ("_duckdb", "DuckDBPyRelation"): of_relation,
}


@contextmanager
def named(name: str) -> Iterator[None]:
    """Prefix errors of the package that are raised in the ``with`` block with the name of a chunk."""
    try:
        with advice_for_complete_rows():
            yield
    except SpcaError as error:
        raise type(error)(f"{name}: {error}") from error.__cause__
