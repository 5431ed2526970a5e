"""A measure of explained variance: its function, its words in tables, and its call with loadings and data."""

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

#: (V of shape (p, k) with unit columns, operator) -> the measure of the first 1, ..., k columns, shape (k,).
Core = Callable[[np.ndarray, Operator], np.ndarray]


@dataclass(frozen=True)
class Measure:
    """A definition of explained variance; ``measure(V, op)`` works it out.

    Attributes
    ----------
    name : str
        What ``fit.measure()`` takes.
    function : callable
        See :data:`Core`.
    label : str
        In tables with room for words.
    heading : str
        Above a narrow column.
    legend : str
        In plots.
    of : {"total", "pca", "error"}
        A share of the total variance; of what dense PCA explains; or an error, no share of variance at all.
        Tables show the three in groups of their own.
    place : int
        Order of the columns and rows of tables, from the left or from the top.
    note : str
        What a table below its columns says of a measure that is not a share of the total variance.
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
        """The label where it fits above a narrow column, else the heading."""
        return self.label if len(self.label) <= NARROW else self.heading


#: Characters above a narrow column.
NARROW = 8


def answer(core: Core, V: Any, X: Any, S: Any, cumulative: bool) -> Any:
    """Return the measure `core` of loadings on rows `X` or on a covariance matrix `S`."""
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
