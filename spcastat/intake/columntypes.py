"""Which columns of a data frame hold real numbers, and what to say about the others."""

from __future__ import annotations

from collections.abc import Hashable, Iterable
from typing import Any

import numpy as np
import pandas as pd

from spcastat.config import listed, shown
from spcastat.errors import ColumnTypeError, ShapeError

_HINTS = {
    "levels": "text and categories can enter as dummies with a formula and categorical='dummy'",
    "object": "if an object column holds numbers, convert it with df.convert_dtypes() or pd.to_numeric",
    "complex": "take the real or the imaginary part of a complex column",
    "other": "turn dates and durations into numbers first, e.g. (df['t'] - df['t'].min()).dt.days",
}


def kind_of(column: pd.Series) -> str:
    """Return ``"number"``, ``"levels"``, ``"object"``, ``"complex"`` or ``"other"`` for a column.

    Booleans are numbers. An object column that holds only text (and missing values) has levels.
    """
    dtype: Any = column.dtype
    if isinstance(dtype, pd.SparseDtype):
        dtype = dtype.subtype
    if isinstance(dtype, pd.CategoricalDtype):
        return "levels"
    if pd.api.types.is_complex_dtype(dtype):
        return "complex"
    if pd.api.types.is_bool_dtype(dtype) or pd.api.types.is_numeric_dtype(dtype):
        return "number"
    if pd.api.types.is_object_dtype(dtype):
        return "levels" if pd.api.types.infer_dtype(column, skipna=True) == "string" else "object"
    return "levels" if pd.api.types.is_string_dtype(dtype) else "other"


def refuse(columns: Iterable[tuple[Hashable, pd.Series, str]], *, everything: bool = False) -> None:
    """Raise ColumnTypeError for columns without numbers, given as label, column and kind.

    Parameters
    ----------
    columns : iterable of (label, column, kind)
        The offending columns; nothing happens if there are none.
    everything : bool
        Whether no column of the data holds numbers.
    """
    bad = list(columns)
    if not bad:
        return
    named = [f"{shown(label)} ({column.dtype})" for label, column, _ in bad[:8]]
    text = ", ".join(named) + (f" and {len(bad) - 8} more" if len(bad) > 8 else "")
    kinds = {kind for _, _, kind in bad}
    hints = [hint for kind, hint in _HINTS.items() if kind in kinds]
    if everything:
        raise ColumnTypeError(
            f"The data have no numeric column at all: {text}. At least one column must hold real numbers; "
            + "; ".join(hints)
            + "."
        )
    noun = "column does" if len(bad) == 1 else "columns do"
    names = listed([label for label, _, _ in bad], 3)
    raise ColumnTypeError(
        f"{len(bad)} {noun} not hold real numbers: {text}. Numbers and booleans are allowed; leave the "
        f"others out with df.drop(columns=[{names}]), df.select_dtypes(['number', 'bool']) or a formula; "
        + "; ".join(hints)
        + "."
    )


def without_numbers(
    frame: pd.DataFrame, positions: Iterable[int] | None = None
) -> list[tuple[Hashable, pd.Series, str]]:
    """Return label, column and kind of the columns of `frame` that do not hold real numbers.

    Parameters
    ----------
    frame : DataFrame
    positions : iterable of int, optional
        The columns to look at, all by default.
    """
    # One look per dtype is enough but for objects, which have to be read.
    dtypes = list(frame.dtypes)
    bad: list[tuple[Hashable, pd.Series, str]] = []
    good: set[Any] = set()
    for position in range(len(dtypes)) if positions is None else positions:
        if dtypes[position] in good:
            continue
        column = frame.iloc[:, position]
        kind = kind_of(column)
        if kind == "number":
            good.add(dtypes[position])
        else:
            bad.append((frame.columns[position], column, kind))
    return bad


def frame_values(frame: Any, what: str) -> np.ndarray:
    """Return the numbers of a frame that a plot or a table was given, missing ones as NaN.

    Parameters
    ----------
    frame : DataFrame
    what : str
        What it is, in the plural, for the message.

    Raises
    ------
    ShapeError
        For anything but a data frame with rows and columns.
    ColumnTypeError
        Where a column does not hold real numbers.
    """
    if not isinstance(frame, pd.DataFrame) or 0 in frame.shape:
        size = f" and shape {frame.shape}" if isinstance(frame, pd.DataFrame) else ""
        raise ShapeError(
            f"{what} of type {type(frame).__name__}{size} were given; a data frame with rows and columns is "
            "needed."
        )
    require_numbers(frame)
    return frame.to_numpy(dtype=np.float64, na_value=np.nan)


def require_numbers(frame: pd.DataFrame) -> None:
    """Raise ColumnTypeError unless every column of `frame` holds real numbers."""
    bad = without_numbers(frame)
    refuse(bad, everything=len(bad) == frame.shape[1])
