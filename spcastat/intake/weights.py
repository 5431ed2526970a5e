"""Row weights that are given as the name of a column of the data."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pandas as pd

from spcastat.config import listed, nearest, shown
from spcastat.errors import FormulaError, ShapeError, WeightsError
from spcastat.intake.checks import kind_of
from spcastat.intake.frames import Table
from spcastat.intake.names import formula_name


def take_weights(table: Table, weights: Any) -> tuple[Table, Any]:
    """Return a table without the column that `weights` names, and the values of that column.

    Parameters
    ----------
    table : Table
        Its column names are unique.
    weights : str or object
        If it is not text, it is returned unchanged, with the whole table. So is a name if the table is an
        array; :func:`spcastat.intake.checks.read_weights` then raises an error.

    Returns
    -------
    table : Table
    weights : array of shape (n,)
        In the order of the rows. It is only checked that they are numbers.

    Raises
    ------
    WeightsError
        If there is no such column, or it does not hold real numbers.
    ShapeError
        If there is no other column.
    """
    if not isinstance(weights, str) or not isinstance(table.values, pd.DataFrame):
        return table, weights
    place = _place(table.columns, weights)
    column = table.values.iloc[:, place]
    if kind_of(column) != "number":
        raise WeightsError(
            f"weights={shown(weights)} was given, a column that does not hold real numbers ({column.dtype}); "
            "weights say how many rows a row counts for."
        )
    if len(table.columns) == 1:
        raise ShapeError(f"The data have one column, the weights {shown(weights)}, and no variables.")
    left = table.values.drop(columns=table.values.columns[place])  # a view where it can be one
    return replace(table, values=left, columns=table.columns.delete(place)), column.array


def require_no_weights(formula: str, names: set[str], weights: Any) -> None:
    """Raise FormulaError if a formula reads the column that holds the weights.

    Parameters
    ----------
    formula : str
    names : set of str
        All names in it.
    weights : str or object
    """
    if isinstance(weights, str) and formula_name(weights) in names:
        raise FormulaError(
            f"formula={shown(formula)} has {shown(weights)}, and weights={shown(weights)} takes that column "
            "out of the variables, '.' included. Leave it out of the formula, or give the weights as numbers."
        )


def _place(columns: pd.Index, weights: str) -> int:
    labels = list(columns)
    if weights not in labels:
        raise WeightsError(
            f"weights={shown(weights)} was given, and the data have no such column; they have "
            f"{listed(labels)}.{nearest(weights, columns)} Give the name of a column, or one number for each "
            "row."
        )
    return labels.index(weights)
