"""Correlation matrices as papers and programs print them: one triangle, names in a column, marked cells.

A printed matrix is completed before it is checked: the other triangle is mirrored, a unit diagonal that is
left out is filled in, and a column of names becomes the labels of the rows.
"""

from __future__ import annotations

import re
from numbers import Real
from typing import Any

import numpy as np
import pandas as pd

from spcastat.config import shown
from spcastat.errors import ColumnTypeError, CovarianceError

#: Text in cells that are left blank.
BLANK_CELLS = ("", "-", "--", "\N{EN DASH}", "\N{EM DASH}", ".")
#: A heading that numbers a column: 1, "2." or "(3)".
_HEADING_NUMBER = re.compile(r"\(?(\d+)[.)]?")
#: Labels of rows that are no names of variables.
_ROW_NUMBER = re.compile(r"(row )?\(?\d+[.)]?")
#: A number with marks of significance, such as ".58**" or "0.42a".
_MARKED = re.compile(r"([+-]?(?:\d+\.?\d*|\.\d+))\s*([*\N{DAGGER}\N{DOUBLE DAGGER}]*|[a-z])", re.ASCII)


def completed_matrix(S: Any) -> tuple[Any, str]:
    """Return a matrix that was printed in part as a whole matrix, and what was completed, for the header.

    Parameters
    ----------
    S : object
        Anything but a data frame or a two-dimensional array is returned as it is, as is a whole matrix.

    Raises
    ------
    CovarianceError
        If a column of names contradicts the names of the columns, if a triangle has gaps, or if a diagonal is
        left out and entries exceed 1.
    ColumnTypeError
        If a cell of a table with numbers as text is no number.
    """
    if isinstance(S, pd.DataFrame):
        matrix, numbered = _with_names_of_numbers(S)
        numbers, marked = _without_marks(_with_row_names(matrix))
        values, remarks = _completed(_values(numbers), numbers.columns)
        remarks += ["marks of significance left out"] * marked + ["numbered columns named by rows"] * numbered
        if values is not None:
            numbers = pd.DataFrame(values, index=numbers.index, columns=numbers.columns)
            numbers.attrs = S.attrs
        return numbers, ", ".join(remarks)
    if isinstance(S, np.ndarray):
        values, remarks = _completed(_values(S), None)
        return (S if values is None else values), ", ".join(remarks)
    return S, ""


def _with_names_of_numbers(S: pd.DataFrame) -> tuple[pd.DataFrame, bool]:
    """Return a matrix whose columns are numbered 1, 2, ... with the names of its rows, and whether they are.

    The names are the labels of the rows or the first column; "2. Anxiety" is the name "Anxiety". Labels such
    as "row 2" are of rows that are observations.
    """
    p = len(S)
    in_column = S.shape == (p, p + 1) and p > 1 and not _is_numeric(S.iloc[:, 0])
    if not in_column and S.shape != (p, p):
        return S, False
    headings = [_HEADING_NUMBER.fullmatch(str(column).strip()) for column in S.columns[int(in_column) :]]
    labels = S.iloc[:, 0] if in_column else S.index
    names = [label.strip() for label in labels if isinstance(label, str)]
    if [int(heading[1]) for heading in headings if heading] != [*range(1, p + 1)]:
        return S, False
    if len({*names}) < p or "" in names or all(map(_ROW_NUMBER.fullmatch, names)):
        return S, False
    parts = [re.fullmatch(rf"\(?{number}[.):]?\s+(.+)", name) for number, name in enumerate(names, 1)]
    bare_names = {part[1]: None for part in parts if part}
    names = list(bare_names) if len(bare_names) == p else names
    matrix = S.iloc[:, 1:] if in_column else S
    return matrix.set_axis(names, axis=0).set_axis(names, axis=1), True


def _with_row_names(S: pd.DataFrame) -> pd.DataFrame:
    """Return a matrix whose first column is the names of its other columns with these as row labels."""
    p = len(S)
    if p < 1 or S.shape[1] != p + 1 or _is_numeric(S.iloc[:, 0]):
        return S
    names, columns = [str(name).strip() for name in S.iloc[:, 0]], S.columns[1:]
    column_names = [str(column).strip() for column in columns]
    if names == column_names:
        return S.iloc[:, 1:].set_axis(columns, axis=0)
    if len({*names} & {*column_names}) < 1:
        return S  # text, but no names of columns
    row = next(i for i in range(p) if names[i] != column_names[i])
    raise CovarianceError(
        f"The matrix has names of rows in column {shown(S.columns[0])}: row {row + 1} is "
        f"{shown(names[row])}, and column {row + 1} is {shown(column_names[row])}. "
        "Both must have the same names in the same order."
    )


def _is_numeric(column: pd.Series) -> bool:
    return pd.api.types.is_numeric_dtype(column.dtype) and column.dtype.kind != "c"


def _without_marks(S: pd.DataFrame) -> tuple[pd.DataFrame, bool]:
    """Return a square table with numbers as text as numbers, and whether marks were left out."""
    text = [j for j in range(S.shape[1]) if pd.api.types.is_string_dtype(S.dtypes.iloc[j])]
    if S.shape[0] != S.shape[1] or not text or not S.columns.is_unique:
        return S, False
    columns, marked = {}, False
    for j, name in enumerate(S.columns):
        column = S.iloc[:, j]
        if j in text:
            cells = [_number(cell, name, label) for label, cell in zip(S.index, column, strict=True)]
            marked = marked or any(mark for _, mark in cells)
            column = pd.Series([value for value, _ in cells], index=S.index, dtype=float)
        columns[name] = column
    numbers = pd.concat(list(columns.values()), axis=1).set_axis(S.columns, axis=1)
    numbers.attrs = S.attrs
    return numbers, marked


def _number(cell: Any, column: Any, row: Any) -> tuple[float, bool]:
    """Return the number in a cell, NaN if it is blank, and whether a mark was left out."""
    if cell is None or cell is pd.NA:
        return float("nan"), False
    if isinstance(cell, Real):
        return float(cell), False
    text = cell.strip().replace("\N{MINUS SIGN}", "-") if isinstance(cell, str) else shown(cell)
    if text in BLANK_CELLS or text.lower() in ("nan", "na"):
        return float("nan"), False
    match = _MARKED.fullmatch(text)
    if match is None:
        raise ColumnTypeError(
            f"The matrix has {shown(cell)} in row {shown(row)}, column {shown(column)}; cells are "
            "numbers, or blank above or below the diagonal. Write the number alone."
        )
    return float(match[1]), bool(match[2])


def _values(S: Any) -> np.ndarray | None:
    """Return the entries of a square matrix of two or more numeric columns; None for anything else."""
    if S.ndim != 2 or S.shape[0] != S.shape[1] or len(S) < 2:
        return None
    if isinstance(S, pd.DataFrame):
        if not all(_is_numeric(S.iloc[:, j]) for j in range(len(S))):
            return None
        return S.to_numpy(dtype=np.float64, na_value=np.nan)
    if S.dtype.kind != "f":
        masked = isinstance(S, np.ma.MaskedArray) and S.dtype.kind in "biuf"
        return np.ma.filled(S.astype(float), np.nan) if masked else None
    ends = np.ma.filled(S[[0, -1, 0], [-1, 0, 0]].astype(float), np.nan)
    if not np.isnan(ends).any():  # before all of a large array in a file is read
        return None
    return np.asarray(np.ma.filled(S.astype(np.float64), np.nan))


def _completed(values: np.ndarray | None, columns: pd.Index | None) -> tuple[np.ndarray | None, list[str]]:
    """Return a whole matrix and what was done; None and nothing for one that cannot be completed."""
    if values is None or not np.isnan(values).any():
        return None, []
    p = len(values)
    upper = np.triu(np.ones((p, p), dtype=bool), 1)
    gaps = np.isnan(values)
    remarks = []
    for name, empty in (("lower", upper), ("upper", upper.T)):
        if gaps[empty].all() and not gaps[empty.T].all():
            if gaps[empty.T].any():
                i, j = np.argwhere(gaps & empty.T)[0]
                raise CovarianceError(
                    f"The matrix is a {name} triangle, and its entry in {_cell(columns, i, j)} is missing: "
                    "fill it in, or leave one of the two variables out."
                )
            values = np.where(empty, values.T, values)
            remarks = [f"{name} triangle, mirrored"]
            break
    missing = np.isnan(np.diag(values))
    if np.isnan(values[upper | upper.T]).any() or not (remarks or missing.any()):
        return None, []
    if missing.any():
        _require_correlations(values, missing, columns)
        values = values.copy()
        np.fill_diagonal(values, 1.0)
        remarks.append("unit diagonal filled in")
    return values, remarks


def _require_correlations(values: np.ndarray, missing: np.ndarray, columns: pd.Index | None) -> None:
    """Raise CovarianceError unless all of a diagonal is left out and the other entries are correlations."""
    if not missing.all():
        j = int(np.flatnonzero(missing)[0])
        raise CovarianceError(
            f"The diagonal entry in {_cell(columns, j, j)} is missing: leave out variables without "
            "variance or data, or fill in the diagonal."
        )
    largest = np.nanmax(np.abs(values))
    if largest > 1.0:
        i, j = np.argwhere(np.abs(values) == largest)[0]
        raise CovarianceError(
            f"The diagonal of the matrix is missing, and the entry in {_cell(columns, i, j)} is "
            f"{values[i, j]:.6g}, beyond correlations: fill in the variances."
        )


def _cell(columns: pd.Index | None, i: int, j: int) -> str:
    """Return the place of an entry as text."""
    names = [f"x{place + 1}" if columns is None else columns[place] for place in (i, j)]
    return f"row {shown(names[0])}, column {shown(names[1])}"
