"""Sheets of Excel workbooks as tables of text."""

from __future__ import annotations

import csv
import io
import zipfile
from collections.abc import Callable, Sequence
from typing import Any

from spcastat.cli.output_files import tell
from spcastat.config import listed, nearest
from spcastat.errors import FileError, OptionError
from spcastat.reading.textfiles import TextTable

#: The largest unpacked size of a workbook in bytes, and of a sheet in cells. To read as much takes a minute
#: and 2 GB.
MOST, MOST_CELLS = 2**29, 20_000_000


def workbook_table(
    path: str, sheet: str | None, header: bool | None, labels: str | None, say: Callable[[str, Any], str]
) -> TextTable:
    """Return a sheet of a workbook (.xlsx) as a table of text; formulas have the values that Excel stored.

    Empty rows above and below the table, and empty columns, are left out.

    Parameters
    ----------
    path : str
    sheet : str or None
        The name of the sheet; by default the first, with a note on standard error if there are several.
    header, labels, say
        As for :class:`spcastat.reading.textfiles.TextTable`.

    Raises
    ------
    FileError
        If the file cannot be read as a workbook, is empty or too large, or openpyxl is not installed.
    OptionError
        If there is no such sheet.
    """
    name, found = _cells(path, sheet)
    rows = [["" if value is None else str(value).strip() for value in row] for row in found]
    filled = sorted({j for row in rows for j, text in enumerate(row) if text})
    cells = [[row[j] if j < len(row) else "" for j in filled] for row in rows]
    full = [i for i, row in enumerate(cells) if any(row)] or [0]
    lines = io.StringIO()
    csv.writer(lines).writerows(cells[full[0] : full[-1] + 1] if filled else [])
    how: dict[str, Any] = {"sep": ",", "decimal": ".", "header": header, "labels": labels, "say": say}
    return TextTable(name, content=lines.getvalue().encode(), **how)


def _cells(path: str, sheet: str | None) -> tuple[str, list[Sequence[Any]]]:
    """Return the name of the sheet for messages, and its rows of cells."""
    try:
        from openpyxl import load_workbook
    except ImportError:
        raise FileError(
            f"{path} is an Excel workbook, which needs openpyxl: pip install openpyxl, or save it as CSV."
        ) from None
    with zipfile.ZipFile(path) as packed:
        size = sum(member.file_size for member in packed.infolist())
    if size > MOST:
        raise FileError(
            f"{path} cannot be read: it unpacks to {size:,} bytes; {MOST:,} are the most. Save it as CSV."
        )
    book = load_workbook(path, read_only=True, data_only=True)
    try:
        sheets = {one.title: one for one in book.worksheets}
        if sheet is not None and sheet not in sheets:
            raise OptionError(
                f"there is no sheet {sheet!r} in {path}; it has {listed(sheets)}.{nearest(sheet, sheets)}"
            )
        if not sheets:
            raise FileError(f"{path} cannot be read: there is no sheet with cells in it.")
        chosen = next(iter(sheets)) if sheet is None else sheet
        if sheet is None and len(sheets) > 1:
            tell(
                "note", f"{path} has the sheets {listed(sheets)}; {chosen!r} is read, --sheet takes another."
            )
        sheets[chosen].reset_dimensions()  # a file may claim any size for a sheet
        name = f"sheet {chosen!r} of {path}"
        rows, cells = [], 0
        for row in sheets[chosen].iter_rows(values_only=True):
            rows.append(row)
            cells += len(row)  # up to the last cell of the row, including cells that are not in the file
            if cells > MOST_CELLS:
                raise FileError(
                    f"{name} cannot be read: it spans more than {MOST_CELLS:,} cells. Save it as CSV."
                )
    finally:
        book.close()
    return name, rows
