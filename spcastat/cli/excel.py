"""Sheets of Excel workbooks as tables of text."""

from __future__ import annotations

import zipfile
from collections.abc import Callable
from typing import Any

import pandas as pd

from spcastat.cli.output_files import tell
from spcastat.config import listed, nearest
from spcastat.errors import FileError, OptionError
from spcastat.reading.textfiles import TextOptions, TextTable

#: The largest unpacked size of a workbook in bytes. To read as much takes a minute and 2 GB.
MOST = 2**29


def workbook_table(
    path: str, sheet: str | None, options: TextOptions, labels: str | None, say: Callable[..., str]
) -> TextTable:
    """Return a sheet of a workbook (.xlsx) as a table of text; formulas have the values that Excel stored.

    Empty rows above and below the table, and empty columns, are left out.

    Parameters
    ----------
    path : str
    sheet : str or None
        The name of the sheet; by default the first, with a note on standard error if there are several.
    options, labels, say
        As for :class:`spcastat.reading.textfiles.TextTable`.

    Raises
    ------
    FileError
        If the file cannot be read as a workbook, is empty or too large, or openpyxl is not installed.
    OptionError
        If there is no such sheet.
    """
    try:
        import openpyxl  # noqa: F401
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
    with pd.ExcelFile(path, engine="openpyxl") as book:
        sheets = book.sheet_names
        chosen: Any = sheets[0] if sheet is None else sheet
        if chosen not in sheets:
            raise OptionError(
                f"there is no sheet {sheet!r} in {path}; it has {listed(sheets)}.{nearest(sheet, sheets)}"
            )
        if sheet is None and len(sheets) > 1:
            tell(
                "note", f"{path} has the sheets {listed(sheets)}; {chosen!r} is read, --sheet takes another."
            )
        cells = pd.read_excel(book, sheet_name=chosen, header=None, dtype=object, na_filter=False)
    text = cells.map(_text)
    filled = text.ne("")
    rows = filled.any(axis=1).to_numpy().nonzero()[0]
    table = text.loc[rows.min() : rows.max(), filled.any()] if len(rows) else text[:0]
    content = table.to_csv(header=False, index=False).encode()
    return TextTable(f"sheet {chosen!r} of {path}", options, labels=labels, say=say, content=content)


def _text(value: Any) -> str:
    return "" if pd.isna(value) else str(value).strip()
