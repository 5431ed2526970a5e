"""Sheets of Excel workbooks as tables, by the rules of tables of text."""

from __future__ import annotations

import zipfile
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from spcastat.cli.layout import column_names, starts_with_names
from spcastat.cli.printing import note
from spcastat.config import listed, nearest
from spcastat.errors import FileError, OptionError

if TYPE_CHECKING:
    import pandas as pd

#: Bytes that a workbook may unpack to.
_MOST = 2**31
#: Text that stands for a missing value, as in tables of text.
_MISSING = {"", "NA", "N/A", "n/a", "#N/A", "<NA>", "NaN", "nan", "-nan", "-NaN", "NULL", "null", "None"}


def read_workbook(
    path: str, *, sheet: str | None = None, header: bool | None = None, labels: str | None = None
) -> pd.DataFrame:
    """Read a sheet of a workbook (.xlsx); formulas give the values that Excel has stored with them.

    Rows and columns around the table that are empty throughout are left out.

    Parameters
    ----------
    path : str
    sheet : str, optional
        By default the first, which is said where there are several.
    header : bool, optional
        Whether the first row holds the names of the columns.
    labels : str, optional
        A column with labels of rows.

    Raises
    ------
    FileError
        For what is not a workbook, and where openpyxl is not installed.
    OptionError
        For a sheet that is not there.
    """
    import pandas as pd

    name, rows = _rows(path, sheet)
    full = [i for i, row in enumerate(rows) if not all(map(_is_missing, row))]
    if not full:
        raise FileError(f"{name} cannot be read: it is empty.")
    rows = rows[full[0] : full[-1] + 1]
    filled = sorted({j for row in rows for j, value in enumerate(row) if not _is_missing(value)})
    first = [_value(_cell(rows[0], j), text=True) for j in filled]
    if header is None:
        header = starts_with_names(name, first)
        if not header:
            note(f"{name} is read with --no-header, as its first row says.")
    names = column_names(name, first, header)
    body = rows[1:] if header else rows
    columns = {
        one: [_value(_cell(row, j), text=one in ("", labels)) for row in body]
        for one, j in zip(names, filled, strict=True)
    }
    data = pd.DataFrame(columns, columns=pd.Index(names), index=pd.RangeIndex(len(body)))
    if names[0] == "":
        data = data.set_index("")
        data.index.name = None
    return data


def _rows(path: str, sheet: str | None) -> tuple[str, list[Sequence[Any]]]:
    """Return what the sheet is called in messages, and its cells."""
    try:
        from openpyxl import load_workbook
    except ImportError:
        raise FileError(
            f"{path} is an Excel workbook, which needs openpyxl: pip install openpyxl, or save it as CSV."
        ) from None
    with zipfile.ZipFile(path) as packed:
        size = sum(member.file_size for member in packed.infolist())
    if size > _MOST:
        raise FileError(
            f"{path} cannot be read: it unpacks to {size:,} bytes; {_MOST:,} are the most. Save it as CSV."
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
            note(f"{path} has the sheets {listed(sheets)}; {chosen!r} is read, --sheet takes another.")
        sheets[chosen].reset_dimensions()  # which a file may claim to be of any size
        rows = list(sheets[chosen].iter_rows(values_only=True))
    finally:
        book.close()
    return f"sheet {chosen!r} of {path}", rows


def _is_missing(value: Any) -> bool:
    return value is None or (isinstance(value, str) and not value.strip())


def _cell(row: Sequence[Any], j: int) -> Any:
    return row[j] if j < len(row) else None


def _value(value: Any, text: bool) -> Any:
    if text:
        return "" if value is None else str(value).strip()
    return None if isinstance(value, str) and value.strip() in _MISSING else value
