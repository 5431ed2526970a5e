"""Parquet files, read in small batches of rows whatever the size of their row groups."""

from __future__ import annotations

import os
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

from spcastat.config import listed, one_line, plural
from spcastat.errors import FileError
from spcastat.streams.arrow import BUFFER, arrow_chunks, require_pyarrow
from spcastat.streams.sources import Chunks, failure

#: Suffixes of Parquet files inside a folder.
SUFFIXES = (".parquet", ".pq", ".parq")


def parquet_chunks(
    path: str | os.PathLike[str] | Sequence[str | os.PathLike[str]], called: str = "Parquet files"
) -> Chunks:
    """Return the rows of a Parquet file, of all files in a folder, sorted by name, or of a list of these.

    Folders are searched recursively, without files and folders whose names start with "." or "_". Names of
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
    paths = [Path(one).absolute() for one in ([path] if isinstance(path, str | os.PathLike) else path)]
    if single and not paths[0].is_dir():
        return _file(paths[0], f"Parquet file {one_line(paths[0].name, 100)}")
    parts: list[Chunks] = []
    for one in paths:
        if not one.is_dir():
            parts.append(_file(one, f"Parquet file {one_line(one.name, 100)}"))
            continue
        called = f"Parquet folder {_folder_name(one)}" if single else called
        for file in _files_below(one):
            name = one_line(str(file.relative_to(one)), 100)
            parts.append(_file(file, f"Parquet file {name} in folder {_folder_name(one)}"))
    files = [*paths, *(part.files[0] for part in parts)]
    title = f"{called} ({plural(len(parts), 'file')})"
    return Chunks(title, lambda needed: (), sum(part.total or 0 for part in parts), files, "", parts)


def _file(path: Path, title: str) -> Chunks:
    """Return the rows of one file."""
    from pyarrow import parquet

    def opened() -> Any:
        # Without pre_buffer and with a small buffer for each column, no whole row group is ever in memory.
        return parquet.ParquetFile(path, buffer_size=BUFFER, pre_buffer=False, memory_map=False)

    def batches(names: list[str] | None, size: int) -> Iterator[Any]:
        with opened() as file:
            yield from file.iter_batches(batch_size=size, columns=names)

    try:
        with opened() as file:
            schema, rows = file.schema_arrow, int(file.metadata.num_rows)
    except Exception as error:
        raise failure(title, error, [path]) from error
    return arrow_chunks(batches, schema, title, rows, [path], "")


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
