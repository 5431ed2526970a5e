"""Parquet files, read in small batches of rows whatever the size of their row groups."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from spcastat.config import listed, one_line, plural
from spcastat.errors import FileError, OptionError, SpcaError
from spcastat.intake.frames import StoredIndex, require_unique
from spcastat.streams.read import named
from spcastat.streams.sources import Chunks, rows_at_once

#: Size of the read buffer for each column, in bytes.
BUFFER = 64 * 1024
#: Suffixes of Parquet files inside a folder.
SUFFIXES = (".parquet", ".pq", ".parq")


class ParquetChunks(Chunks):
    """The rows of a Parquet file, of all Parquet files in a folder, sorted by name, or of a list of these.

    Folders are searched recursively, without files and folders whose names start with "." or "_". Names of
    folders such as ``year=2024`` do not become columns. An index that pandas stored labels the rows. Reading
    takes 2 to 3 MB for each column (a page and a dictionary), whatever the size of the row groups.

    Parameters
    ----------
    path : str or path, or a list of them
        The files of a list are read in its order.
    called : str, optional
        Name of a list in messages.

    Raises
    ------
    FileError
        If there is no such file, or no Parquet file in the folder, or one cannot be read.
    OptionError
        If pyarrow is not installed.
    """

    def __init__(self, path: str | os.PathLike[str] | Sequence[str | os.PathLike[str]], called: str = ""):
        require_pyarrow()
        several = not isinstance(path, str | os.PathLike)
        paths = [path] if isinstance(path, str | os.PathLike) else list(path)
        # the working directory may change before the next pass
        self._paths = [Path(one).absolute() for one in paths]
        self._several = several
        files = [file for one in self._paths for file in (_files_below(one) if one.is_dir() else [one])]
        if several:
            title = f"{called or 'Parquet files'} ({plural(len(files), 'file')})"
        elif self._paths[0].is_dir():
            title = f"Parquet folder {_folder_name(self._paths[0])} ({plural(len(files), 'file')})"
        else:
            title = f"Parquet file {one_line(self._paths[0].name, 100)}"
        self._parts = files
        super().__init__(title, self._read, None, [*self._paths, *files])
        self.total = sum(map(self._rows, files))

    def walk(self, needed: list[str] | None) -> Iterator[tuple[str, Any]]:
        number = 1
        for file in self._parts:
            for chunk in self._batches(file, needed, number):
                yield f"chunk {number} of {self._named(file)}", chunk
                number += 1

    def _read(self, needed: list[str] | None) -> Iterator[Any]:
        return (chunk for _, chunk in self.walk(needed))

    def _named(self, file: Path) -> str:
        if not self._several and file == self._paths[0]:
            return self.title
        folder = next((one for one in self._paths if one != file and file.is_relative_to(one)), None)
        if folder is None:
            return f"Parquet file {one_line(file.name, 100)}"
        return f"Parquet file {one_line(str(file.relative_to(folder)), 100)} in folder {_folder_name(folder)}"

    def _rows(self, file: Path) -> int:
        with _reading(lambda: self._named(file), file), self._open(file) as opened:
            return int(opened.metadata.num_rows)

    def _open(self, file: Path) -> Any:
        from pyarrow import parquet

        # Without pre_buffer and with a small buffer for each column, no whole row group is ever in memory.
        return parquet.ParquetFile(file, buffer_size=BUFFER, pre_buffer=False, memory_map=False)

    def _batches(self, file: Path, needed: list[str] | None, number: int) -> Iterator[Any]:
        with _reading(lambda: f"chunk {number} of {self._named(file)}", file), self._open(file) as opened:
            layout = Layout(opened.schema_arrow)
            if len(set(layout.names)) < len(layout.names):
                with named(self._named(file)):
                    require_unique(pd.Index(layout.names))
            names = layout.read(needed)
            start = 0
            for batch in opened.iter_batches(batch_size=rows_at_once(len(names)), columns=names):
                yield layout.chunk(batch, start)
                start += batch.num_rows
                number += 1
            if start == 0:  # no rows: an empty chunk, so that the columns are checked
                yield layout.chunk(opened.schema_arrow.empty_table().select(names), 0)


class Layout:
    """Which columns of a file are variables, and which label the rows."""

    def __init__(self, schema: Any):
        self.names = list(schema.names)
        self._stored = StoredIndex(self.names, schema)
        self.labels = self._stored.labels

    def read(self, needed: list[str] | None) -> list[str]:
        """Return the columns to read: those of the `needed` ones that exist, and the labels of the rows."""
        wanted = set(self.names if needed is None else needed)
        return [name for name in self.names if name in wanted or name in self.labels]

    def chunk(self, batch: Any, start: int) -> Any:
        """Return a batch as a data frame; `start` rows precede it in the file."""
        import pyarrow

        columns = [name for name in batch.schema.names if name not in self.labels]
        types = [batch.schema.field(name).type for name in columns]
        numeric = ("is_floating", "is_integer", "is_boolean", "is_decimal")
        plain = all(any(getattr(pyarrow.types, test)(one) for test in numeric) for one in types)
        index = self._stored.index(lambda name: batch.column(name).to_pandas(), batch.num_rows, start)
        if not (plain and columns):
            table = batch if isinstance(batch, pyarrow.Table) else pyarrow.Table.from_batches([batch])
            frame = table.select(columns).to_pandas(ignore_metadata=True)
            frame.index = index
            return frame
        single = all(pyarrow.types.is_float32(one) for one in types)
        values = np.empty((batch.num_rows, len(columns)), dtype=np.float32 if single else float, order="F")
        for j, (name, kind) in enumerate(zip(columns, types, strict=True)):
            column = batch.column(name)
            if not (pyarrow.types.is_floating(kind) or pyarrow.types.is_integer(kind)):
                column = column.cast(pyarrow.float64())
            if batch.num_rows:
                values[:, j] = column.to_numpy(zero_copy_only=False)
        return pd.DataFrame(values, index=index, columns=columns, copy=False)


@contextmanager
def _reading(name: Callable[[], str], file: Path) -> Iterator[None]:
    """Convert errors of pyarrow and of the system to FileError, with the name of what was read."""
    pyarrow = require_pyarrow()
    try:
        yield
    except FileNotFoundError as error:
        raise FileError(f"{name()} cannot be read: there is no file {str(file)!r}.") from error
    except SpcaError:
        raise
    except (OSError, UnicodeError, pyarrow.ArrowException) as error:
        reason = one_line(" ".join(str(error).split()), 500).rstrip(".")
        raise FileError(
            f"{name()} cannot be read: {reason}. Is {str(file)!r} a whole Parquet file?"
        ) from error


def _folder_name(folder: Path) -> str:
    return one_line(folder.resolve().name or str(folder), 100)


def _files_below(folder: Path) -> list[Path]:
    def hidden(path: Path) -> bool:
        return any(part[0] in "._" for part in path.relative_to(folder).parts)

    try:
        every = [path for path in folder.rglob("*") if path.is_file() and not hidden(path)]
    except OSError as error:
        raise FileError(f"The folder {str(folder)!r} cannot be read: {error.strerror or error}.") from error
    files = sorted(path for path in every if path.suffix.lower() in SUFFIXES)
    if not files:
        there = f"It holds {listed([path.name for path in sorted(every)], 3)}." if every else "It is empty."
        raise FileError(
            f"There is no Parquet file ({', '.join(SUFFIXES)}) in the folder {str(folder)!r}. {there}"
        )
    return files


def is_parquet(path: Path) -> bool:
    """Whether a path is a folder, or a file with the contents or the suffix of a Parquet file.

    Raises
    ------
    FileError
        If there is no such file, or it cannot be opened.
    """
    if path.is_dir():
        return True
    try:
        with open(path, "rb") as file:
            return file.read(4) == b"PAR1" or path.suffix.lower() in SUFFIXES
    except (FileNotFoundError, ValueError):  # ValueError: a null character in the path
        raise FileError(f"There is no file {str(path)!r}.") from None
    except OSError as error:
        raise FileError(f"{path} cannot be read: {error.strerror or error}.") from error


def require_pyarrow(what: str = "Parquet files") -> Any:
    """Return the module pyarrow; if it is not installed, raise OptionError that `what` needs it."""
    try:
        import pyarrow
    except ImportError:
        verb = "need" if what.endswith("files") else "needs"
        raise OptionError(
            f"{what} {verb} pyarrow, which is not installed: pip install pyarrow. Other files can be "
            "read in chunks by a function, e.g. lambda: pd.read_csv(path, chunksize=100_000)."
        ) from None
    return pyarrow
