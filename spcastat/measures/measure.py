"""A measure of explained variance: its function, its labels in tables and plots, and its call by users."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np
import pandas as pd

from spcastat.config import flag, listed, plural
from spcastat.errors import ColumnTypeError, ConstantColumnError, DataError, MissingValuesError, ShapeError
from spcastat.intake import read_covariance, read_data
from spcastat.intake.checks import real_array
from spcastat.kernels.ties import unit
from spcastat.operators import Gram, Operator, prepare

#: Function of V, shape (p, k), with unit columns, and an operator: the measure of the first 1, ..., k
#: columns.
Core = Callable[[np.ndarray, Operator], np.ndarray]


@dataclass(frozen=True)
class Measure:
    """A definition of explained variance; ``measure(V, op)`` computes it.

    Attributes
    ----------
    name : str
        The name that ``fit.measure()`` takes.
    function : callable
        See :data:`Core`.
    label : str
        The label in tables.
    heading : str
        The label above a narrow column.
    legend : str
        The label in plots.
    of : {"total", "pca", "error"}
        Whether the measure is a share of the total variance, a share of what dense PCA explains, or an error.
        Tables show the three kinds in separate groups.
    place : int
        Position among the columns or rows of tables.
    note : str
        Explanation below a table, for a measure that is not a share of the total variance.
    """

    name: str
    function: Core
    label: str
    heading: str
    legend: str
    of: Literal["total", "pca", "error"]
    place: int
    note: str = ""

    def __call__(self, V: np.ndarray, op: Operator) -> np.ndarray:
        """Return the measure of the first 1, ..., k columns of `V`, shape (k,)."""
        return self.function(V, op)

    @property
    def short(self) -> str:
        """The label if it has at most eight characters, else the heading."""
        return self.label if len(self.label) <= 8 else self.heading


def answer(core: Core, V: Any, X: Any, S: Any, cumulative: bool) -> Any:
    """Return the measure `core` of loadings `V` for rows `X` or a covariance matrix `S`; see `pev`."""
    cumulative = flag("cumulative", cumulative)
    op, labels = _operator(X, S)
    named = isinstance(S if X is None else X, pd.DataFrame)
    values = core(_loadings(V, op.p, labels, named), op)
    return values if cumulative else float(values[-1])


def _operator(X: Any, S: Any) -> tuple[Operator, pd.Index]:
    if (X is None) == (S is None):
        raise ShapeError(
            "Exactly one of X (rows) and S (a covariance matrix) must be given; "
            + ("neither was." if X is None else "both were.")
        )
    if X is None:
        covariance = read_covariance(S)
        return Gram(covariance.matrix).at_unit_size(), covariance.columns
    design = read_data(X)
    with np.errstate(invalid="ignore", over="ignore"):  # reported below
        _, op = prepare(design.matrix, None, True, False, design.columns)
    if not np.isfinite(op.total):
        raise DataError(
            "The variances of X are too large for floating-point numbers (beyond 1e308). Divide the columns "
            "by a constant first."
        )
    if op.total <= 0:
        raise ConstantColumnError(
            "X has no variance: every column is constant, and there is nothing to explain."
        )
    return op.at_unit_size(), design.columns


def _loadings(V: Any, p: int, labels: pd.Index, named: bool) -> np.ndarray:
    if isinstance(V, pd.DataFrame | pd.Series) and named and not V.index.equals(labels):
        absent = [name for name in labels if name not in V.index]
        if absent or len(V.index) != len(labels) or V.index.has_duplicates:
            raise ShapeError(
                f"The rows of V and the variables of the data differ in labels (V lacks {listed(absent)}); "
                "give V.to_numpy() to match them by position."
            )
        V = V.loc[labels]
    matrix = _numbers(V)
    if matrix.ndim == 1:
        matrix = matrix[:, None]
    if matrix.ndim != 2 or matrix.shape[0] != p or matrix.shape[1] == 0:
        raise ShapeError(f"V has shape {matrix.shape}; it must have {plural(p, 'row')}, one a variable.")
    if not np.isfinite(matrix).all():
        raise MissingValuesError("V holds missing or infinite values.")
    empty = np.flatnonzero(~matrix.any(axis=0))
    if empty.size:
        raise ShapeError(
            f"Columns {listed(empty.tolist())} of V (from 0) are all zero; they have no direction."
        )
    return unit(matrix)


def _numbers(V: Any) -> np.ndarray:
    values = real_array(V)
    if values is None:
        raise ColumnTypeError(
            f"V of type {type(V).__name__} was given; it must hold real numbers, the loadings."
        )
    return values.astype(float)
