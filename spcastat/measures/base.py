"""What the measures of variance share: the loadings brought to unit length, and the data as an operator."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pandas as pd

from spcastat.config import listed
from spcastat.errors import MissingValuesError, ShapeError
from spcastat.kernels.sparsity import is_sparse
from spcastat.kernels.thresholds import unit
from spcastat.operators import Gram, Operator, build, standardise

#: (V of shape (p, k) with unit columns, operator) -> the measure of the first 1, ..., k columns.
Core = Callable[[np.ndarray, Operator], np.ndarray]


def answer(core: Core, V: Any, X: Any, S: Any, cumulative: bool) -> Any:
    """Return the measure `core` of loadings on rows `X` or on a covariance matrix `S`."""
    op, labels = _operator(X, S)
    values = core(_loadings(V, op.p, labels), op)
    return values if cumulative else float(values[-1])


def _operator(X: Any, S: Any) -> tuple[Operator, pd.Index | None]:
    if (X is None) == (S is None):
        raise ShapeError(
            "Exactly one of X (rows) and S (a covariance matrix) must be given; "
            + ("neither was." if X is None else "both were.")
        )
    data = S if X is None else X
    labels = data.columns if isinstance(data, pd.DataFrame) else None
    if is_sparse(data) and X is not None:
        values: Any = data.tocsc().astype(float)
        finite = np.isfinite(values.data).all()
    else:
        values = np.array(data, dtype=float)
        finite = np.isfinite(values).all()
    name = "S" if X is None else "X"
    if values.ndim != 2 or (X is None and values.shape[0] != values.shape[1]):
        wanted = "a square matrix" if X is None else "a table of rows and columns"
        raise ShapeError(f"{name} has shape {values.shape}; it must be {wanted}.")
    if not finite:
        raise MissingValuesError(f"{name} holds missing or infinite values; drop or impute them first.")
    if X is None:
        return Gram(0.5 * (values + values.T)), labels
    if values.shape[0] < 2:
        raise ShapeError(f"X has {values.shape[0]} rows; a variance needs at least 2.")
    names = range(values.shape[1]) if labels is None else list(labels)
    return build(values, None, standardise(values, None, True, False, names)), labels


def _loadings(V: Any, p: int, labels: pd.Index | None) -> np.ndarray:
    if isinstance(V, pd.DataFrame) and labels is not None and not V.index.equals(labels):
        absent = [name for name in labels if name not in V.index]
        if absent or len(V.index) != len(labels) or V.index.has_duplicates:
            raise ShapeError(
                f"The rows of V and the variables of the data differ in labels (V lacks {listed(absent)}); "
                "give V.to_numpy() to match them by position."
            )
        V = V.loc[labels]
    matrix = np.array(V, dtype=float)
    if matrix.ndim == 1:
        matrix = matrix[:, None]
    if matrix.ndim != 2 or matrix.shape[0] != p or matrix.shape[1] == 0:
        raise ShapeError(f"V has shape {matrix.shape}; it must have {p} rows, one a variable.")
    if not np.isfinite(matrix).all():
        raise MissingValuesError("V holds missing or infinite values.")
    empty = np.flatnonzero(~matrix.any(axis=0))
    if empty.size:
        raise ShapeError(
            f"Columns {listed(empty.tolist())} of V (from 0) are all zero; they have no direction."
        )
    return unit(matrix)
