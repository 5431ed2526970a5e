"""Reading sheets of Excel workbooks by the same rules as text tables."""

from __future__ import annotations

import zipfile
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any

from spcastat.cli.output_files import tell
from spcastat.config import listed, nearest
from spcastat.errors import FileError, OptionError

if TYPE_CHECKING:
    import pandas as pd

#: The largest unpacked size of a workbook in bytes, and of a sheet in cells: they take a minute and 2 GB.
MOST, MOST_CELLS = 2**29, 20_000_000


def read_workbook(
    path: str, sheet: str | None, header: bool | None, labels: str | None, say: Callable[[str, Any], str]
) -> pd.DataFrame:
    """Read a sheet of a workbook (.xlsx); a formula gives the value that Excel stored with it.

    Empty rows above and below the table, and empty columns, are left out.

    Parameters
    ----------
    path : str
    sheet : str or None
        The name of the sheet; by default the first, with a note on standard error if there are several.
    header : bool or None
        Whether the first row has the column names; None if the user did not say.
    labels : str or None
        The name of the column of row labels.
    say : callable
        Returns an option and its value as they are written in messages.

    Raises
    ------
    FileError
        If the file cannot be read as a workbook, is empty or too large, or openpyxl is not installed.
    OptionError
        If there is no such sheet.
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
                    f"{name} cannot be read: it spans more than {MOST_CELLS:,} cells, the most. "
                    "Save it as CSV."
                )
    finally:
        book.close()
    return name, rows


def _text(value: Any) -> str:
    return "" if value is None else str(value).strip()
