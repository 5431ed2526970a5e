"""Excel workbooks, written by pandas with openpyxl: one sheet for each table, with numeric cells."""

from __future__ import annotations

import io
from collections.abc import Mapping
from os import PathLike
from typing import Any

import pandas as pd

from spcastat.config import require_extra
from spcastat.errors import OptionError
from spcastat.fit.archive import file_path, write_bytes
from spcastat.labels import name_text, printable

#: Excel's limits: rows and columns of a sheet, characters of the name of a sheet.
MOST_ROWS, MOST_COLUMNS, MOST_NAME = 1_048_576, 16_384, 31


def write_workbook(path: str | PathLike[str], sheets: Mapping[str, pd.DataFrame]) -> None:
    """Write frames as sheets of a workbook; text stays text even if it looks like a formula.

    Parameters
    ----------
    path : str or path
        A name that ends in .xlsx.
    sheets : mapping
        Name of a sheet -> frame. Labels are written as text; missing values are blank.

    Raises
    ------
    ExtraError
        If openpyxl is not installed.
    FileError
        If the file cannot be written, or its name has another extension.
    OptionError
        If a frame has more rows or columns than a sheet can have.
    """
    target = file_path(path, [".xlsx"])
    require_extra("openpyxl", "excel", "to_excel()")
    for name, frame in sheets.items():
        height, width = len(frame) + 1, frame.shape[1] + frame.index.nlevels
        if height > MOST_ROWS or width > MOST_COLUMNS:
            raise OptionError(
                f"The table of {name} has {height:,} rows and {width:,} columns with its labels; a sheet "
                f"holds {MOST_ROWS:,} and {MOST_COLUMNS:,}. Use DataFrame.to_csv or transform_to for larger "
                "tables."
            )
    buffer = io.BytesIO()
    with pd.ExcelWriter(buffer, engine="openpyxl") as book:
        for name, frame in sheets.items():
            _as_cells(frame).to_excel(book, sheet_name=name[:MOST_NAME], index=False, freeze_panes=(1, 1))
        for sheet in book.book:
            for row in sheet.iter_rows():
                for cell in row:
                    if cell.data_type == "f":
                        cell.data_type = "s"
    write_bytes(target, buffer.getvalue())


def _as_cells(frame: pd.DataFrame) -> pd.DataFrame:
    """Return labels and values as columns of numbers, truth values and text."""
    index = frame.index
    heads = ["" if one is None else _text(one) for one in index.names]
    labels = [index.get_level_values(level) for level in range(index.nlevels)]
    values = [frame.iloc[:, j] for j in range(frame.shape[1])]
    columns = [pd.Series(_plain(pd.Series(one)).to_numpy()) for one in (*labels, *values)]
    cells = pd.concat(columns, axis=1)
    cells.columns = pd.Index([*heads, *map(_text, frame.columns)])
    return cells


def _plain(column: pd.Series) -> pd.Series:
    """Return a column with text in place of everything that is not a number or a truth value."""
    if pd.api.types.is_numeric_dtype(column.dtype):
        return column
    return column.astype(object).map(lambda one: one if isinstance(one, bool) else _text(one), "ignore")


def _text(value: Any) -> str:
    return printable(name_text(value))
