"""Checks of data with missing values that no method can use."""

from __future__ import annotations

import numpy as np
import pandas as pd

from spcastat.config import listed, plural
from spcastat.errors import ConstantColumnError, MissingValuesError, OptionError
from spcastat.operators.standardisation import CONSTANT


def require_measured(
    X: np.ndarray, missing: np.ndarray, w: np.ndarray, names: pd.Index | None, index: pd.Index | None
) -> None:
    """Raise an error for columns without values or variation, and for rows without values.

    Parameters
    ----------
    X : ndarray of shape (n, p)
    missing : ndarray of bool, shape (n, p)
    w : ndarray of shape (n,)
        Weights of the rows. Values of rows of weight 0 do not count.
    names, index : pandas.Index or None
        Labels of columns and rows.

    Raises
    ------
    MissingValuesError
        For columns or rows without any value.
    ConstantColumnError
        For columns whose measured values do not vary.
    """
    columns: pd.Index = pd.RangeIndex(X.shape[1]) if names is None else names
    rows: pd.Index = pd.RangeIndex(X.shape[0]) if index is None else index
    measured = ~missing & (w > 0)[:, None]
    empty = ~measured.any(axis=0)
    if empty.any():
        raise MissingValuesError(
            f"{plural(int(empty.sum()), 'column')} without any value: "
            f"{listed(columns[np.flatnonzero(empty)])}; what was never measured cannot be estimated. "
            "Leave such columns out, e.g. df.dropna(axis=1, how='all')."
        )
    blank = missing.all(axis=1)
    if blank.any():
        raise MissingValuesError(
            f"{plural(int(blank.sum()), 'row')} without any value: {listed(rows[np.flatnonzero(blank)])}; "
            "nothing is known of them. Leave such rows out, e.g. df.dropna(how='all')."
        )
    highest = np.where(measured, X, -np.inf).max(axis=0)
    lowest = np.where(measured, X, np.inf).min(axis=0)
    still = highest - lowest <= CONSTANT * np.maximum(np.abs(highest), np.abs(lowest))
    if still.any():
        raise ConstantColumnError(
            f"The values measured in {plural(int(still.sum()), 'column')} do not vary: "
            f"{listed(columns[np.flatnonzero(still)])}; they tell nothing of those that are missing, nor "
            "of other columns. Drop these columns."
        )


def require_rank(k_em: int, n: int, p: int) -> None:
    """Raise OptionError unless a model of rank `k_em` can be fitted to n rows of p variables."""
    most = min(p, n - 1) - 1
    if most < 1:
        raise OptionError(
            f"na='em' was given for {plural(n, 'row')} (of positive weight) and {plural(p, 'column')}; it "
            "learns what is missing from other columns and rows, and needs two columns and three rows at "
            "least. Use na='drop'."
        )
    if not 1 <= k_em <= most:
        raise OptionError(
            f"k_em={k_em} was given for {plural(n, 'row')} (of positive weight) and "
            f"{plural(p, 'column')}; the rank of the model behind na='em' must be at least 1 and at most "
            f"{most}, less than the number of columns and of rows less one."
        )
