"""Text files, read a few thousand rows at a time."""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from spcastat.config import one_line
from spcastat.streams.sources import rows_at_once, same_file
from spcastat.textfiles import TextTable, usual_separator


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
