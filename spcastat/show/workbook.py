"""Excel workbooks, written by pandas with openpyxl: one sheet for each table, with numeric cells.

Cells contain numbers in full precision; their format shows about as many digits as the printed tables.
"""

from __future__ import annotations

import io
import math
from collections.abc import Mapping
from os import PathLike
from typing import Any

import pandas as pd

from spcastat.arguments import require_extra
from spcastat.errors import OptionError
from spcastat.fit.archive import file_path, write_bytes
from spcastat.labels import name_text, printable

#: Excel's limits: rows and columns of a sheet, characters of the name of a sheet.
SHEET_ROWS, MOST_COLUMNS, MOST_NAME = 1_048_576, 16_384, 31


def write_workbook(path: str | PathLike[str], sheets: Mapping[str, pd.DataFrame]) -> None:
    """Write frames as sheets of a workbook; text stays text even if it looks like a formula.

    Parameters
    ----------
    path : str or path
        A name that ends in .xlsx.
    sheets : mapping
        The frames, by name of the sheet. Labels are written as text; missing values are blank.

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
        if height > SHEET_ROWS or width > MOST_COLUMNS:
            raise OptionError(
                f"The table of {name} has {height:,} rows and {width:,} columns with its labels, but a sheet "
                f"can contain at most {SHEET_ROWS:,} rows and {MOST_COLUMNS:,} columns: use DataFrame.to_csv "
                "or transform_to for larger tables."
            )
    buffer = io.BytesIO()
    with pd.ExcelWriter(buffer, engine="openpyxl") as book:
        for name, frame in sheets.items():
            cells, title = _as_cells(frame), name[:MOST_NAME]
            cells.to_excel(book, sheet_name=title, index=False, freeze_panes=(1, frame.index.nlevels))
            formats = [number_format(cells.iloc[:, j]) for j in range(cells.shape[1])]
            for row in book.sheets[title].iter_rows():
                for cell, form in zip(row, formats, strict=True):
                    if cell.data_type == "f":
                        cell.data_type = "s"
                    elif cell.data_type == "n":
                        cell.number_format = form
    write_bytes(target, buffer.getvalue())


def number_format(column: pd.Series) -> str:
    """Return Excel's number format of a column: three decimals, or fewer if the largest number is 10 or more.

    A number that is exactly zero is "0", so that it differs from a rounded one. Columns whose largest number
    is very large or very small are in scientific notation.
    """
    if not pd.api.types.is_float_dtype(column.dtype):
        return "General"
    sizes = column.abs().replace([0.0, float("inf")], float("nan"))
    largest = sizes.max()
    if pd.isna(largest) or (column.dropna() % 1 == 0).all():
        return "General"
    if largest >= 1e7 or largest < 1e-3:
        return "0.000E+00;-0.000E+00;0"
    decimals = min(max(3 - math.floor(math.log10(largest)), 0), 3)
    digits = "0." + "0" * decimals if decimals else "0"
    return f"{digits};-{digits};0"


def _as_cells(frame: pd.DataFrame) -> pd.DataFrame:
    """Return labels and values as columns of numbers, Booleans and text."""
    index = frame.index
    heads = ["" if name is None else _text(name) for name in index.names]
    labels = [index.get_level_values(level) for level in range(index.nlevels)]
    values = [frame.iloc[:, j] for j in range(frame.shape[1])]
    columns = [pd.Series(_plain(pd.Series(name)).to_numpy()) for name in (*labels, *values)]
    cells = pd.concat(columns, axis=1)
    cells.columns = pd.Index([*heads, *map(_text, frame.columns)])
    return cells


def _plain(column: pd.Series) -> pd.Series:
    """Return a column in which all values other than numbers and Booleans are converted to text."""
    if pd.api.types.is_numeric_dtype(column.dtype):
        return column
    return column.astype(object).map(lambda one: one if isinstance(one, bool) else _text(one), "ignore")


def _text(value: Any) -> str:
    return printable(name_text(value))
