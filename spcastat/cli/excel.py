"""Sheets of Excel workbooks as tables, by the rules of tables of text."""

from __future__ import annotations

import zipfile
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any

from spcastat.cli.terminal import tell
from spcastat.config import listed, nearest
from spcastat.errors import FileError, OptionError

if TYPE_CHECKING:
    import pandas as pd

#: Bytes that a workbook may unpack to, and cells that a sheet may span: a minute of work, and 2 GB.
MOST, MOST_CELLS = 2**29, 20_000_000


def read_workbook(
    path: str, sheet: str | None, header: bool | None, labels: str | None, say: Callable[[str, Any], str]
) -> pd.DataFrame:
    """Read a sheet of a workbook (.xlsx); formulas give the values that Excel has stored with them.

    Rows above and below the table, and columns, that are empty throughout are left out.

    Parameters
    ----------
    path : str
    sheet : str or None
        By default the first; a note says so if there are several.
    header : bool or None
        Whether the first row holds the names of the columns.
    labels : str or None
        A column with labels of rows.
    say : callable
        Makes (option, value) into words for messages.

    Raises
    ------
    FileError
        If it is not a workbook, and if openpyxl is not installed.
    OptionError
        For a sheet that is not there.
    """
    import pandas as pd

    from spcastat.textfiles import column_names
    from spcastat.textfiles.notation import MISSING, require_names

    name, rows = _cells(path, sheet)
    full = [i for i, row in enumerate(rows) if any(_text(value) for value in row)]
    if not full:
        raise FileError(f"{name} cannot be read: it is empty.")
    rows = rows[full[0] : full[-1] + 1]
    filled = sorted({j for row in rows for j, value in enumerate(row) if _text(value)})
    table = [[row[j] if j < len(row) else None for j in filled] for row in rows]
    first = [_text(value) for value in table[0]]
    if header is None:
        require_names(name, first, say)
    names = column_names(name, first, header is not False, say)
    body = table[header is not False :]
    columns = {
        one: [
            _text(value) if one in ("", labels) else None if _text(value) in MISSING else value
            for value in column
        ]
        for one, column in zip(names, zip(*body, strict=True) if body else [()] * len(names), strict=True)
    }
    data = pd.DataFrame(columns, columns=pd.Index(names), index=pd.RangeIndex(len(body)))
    return data.set_index("").rename_axis(None) if names[0] == "" else data


def _cells(path: str, sheet: str | None) -> tuple[str, list[Sequence[Any]]]:
    """Return what the sheet is called in messages, and its rows of cells."""
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
            cells += len(row)  # up to the last of a row, whether or not those before it are in the file
            if cells > MOST_CELLS:
                raise FileError(
                    f"{name} cannot be read: it spans more than {MOST_CELLS:,} cells, the most. "
                    "Save it as CSV."
                )
    finally:
        book.close()
    return name, rows


def _text(value: Any) -> str:
    return "" if value is None else str(value).strip()
