"""Correlation matrices of ordinal and other variables, for `spca_cov`."""

from __future__ import annotations

from typing import Any, Literal

import numpy as np
import pandas as pd

from spcastat.argument_types import Table
from spcastat.config import listed, one_of, plural, real_number, shown, warn, whole_number
from spcastat.errors import (
    ColumnTypeError,
    ConstantColumnError,
    ConvergenceWarning,
    InfiniteValuesError,
    MissingValuesError,
)
from spcastat.linalg.polychoric import polychoric
from spcastat.linalg.ties import is_sparse
from spcastat.reading.checks import kind_of
from spcastat.reading.frames import open_table
from spcastat.streams.opening import read_whole

__all__ = ["correlation"]

METHODS = ("polychoric", "spearman", "pearson")


def correlation(
    data: Table,
    method: Literal["polychoric", "spearman", "pearson"] = "polychoric",
    *,
    max_levels: int = 10,
    bound: float = 0.999,
) -> pd.DataFrame:
    """Return the correlation matrix of the columns of a table; each pair uses the rows that have both values.

    The polychoric correlation of two ordinal variables is the correlation of the normal variables whose
    categories they are assumed to be. Few or skewed categories attenuate Pearson correlations, but not
    polychoric correlations.

    Parameters
    ----------
    data : DataFrame, array or other table of shape (n, p)
        Numbers, booleans, or ordered categories. Missing values are left out pairwise.
    method : {"polychoric", "spearman", "pearson"}
        Spearman's is the correlation of ranks, Pearson's that of the numbers (ordered categories count as
        1, 2, ...).
    max_levels : int
        Largest number of distinct values of an ordinal variable (polychoric only).
    bound : float
        The largest absolute polychoric correlation, below 1. If a corner of the table of two items is empty,
        the likelihood may have no maximum below 1.

    Returns
    -------
    DataFrame of shape (p, p)
        For :func:`spca_cov`. ``attrs["spcastat"]`` contains ``kind``, the method; ``n_obs``, the number of
        rows; ``n_pairs_min``, the smallest number of rows of a pair; and ``smallest_eigenvalue``. If the
        latter is negative, use ``spca_cov(..., nearest=True)``. Three lists name pairs of columns (polychoric
        only): ``at_bound`` those whose likelihood is largest at `bound`; ``reaches_bound`` those whose 95 %
        likelihood interval contains `bound`, so that the data do not determine the correlation well; and
        ``not_converged`` those whose likelihood was not maximised.

    Raises
    ------
    ColumnTypeError
        For text and unordered categories, and columns with more than `max_levels` values.
    ConstantColumnError, MissingValuesError
        For a column with only one distinct value, and for a pair of columns without common rows or without
        variation in these.

    Warns
    -----
    ConvergenceWarning
        If there are pairs in ``not_converged``.

    References
    ----------
    Olsson (1979), Maximum likelihood estimation of the polychoric correlation coefficient, Psychometrika 44,
    443-460: the two-step estimator, with thresholds from the margins of each pair.

    Examples
    --------
    >>> import pandas as pd, spcastat as sp
    >>> items = pd.DataFrame({"a": [1, 1, 2, 2, 3, 3, 1, 3], "b": [1, 2, 1, 2, 2, 3, 1, 3]})
    >>> print(sp.correlation(items).loc["a", "b"].round(3))
    0.867
    """
    one_of("method", method, METHODS)
    most = whole_number("max_levels", max_levels, 2)
    limit = real_number("bound", bound, 0.0, 1.0 - 1e-6, open_low=True)
    table = open_table(read_whole(data))
    frame = pd.DataFrame(table.values.toarray() if is_sparse(table.values) else table.values)
    names = table.columns
    values = np.column_stack([_numbers(frame.iloc[:, j], name) for j, name in enumerate(names)])
    _require_variation(values, names)
    marked: dict[str, list[tuple[Any, Any]]] = {"at_bound": [], "reaches_bound": [], "not_converged": []}
    if method == "polychoric":
        R, marked = _polychoric(values, names, most, limit)
    else:
        kind: Any = method
        sizes = np.frexp(np.nanmax(np.abs(values), axis=0))[1]  # powers of two, so that squares are finite
        R = pd.DataFrame(np.ldexp(values, -sizes)).corr(kind, min_periods=2).to_numpy().copy()
        np.fill_diagonal(R, 1.0)
    present = (~np.isnan(values)).astype(float)
    pairs = present.T @ present
    if np.isnan(R).any():
        first, second = np.argwhere(np.isnan(R))[0]
        _refuse_pair(names[first], names[second])
    out = pd.DataFrame(R, index=names, columns=names)
    out.attrs["spcastat"] = {
        "kind": method,
        "n_obs": len(frame),
        "n_pairs_min": int(pairs.min()),
        **marked,
        "smallest_eigenvalue": float(np.linalg.eigvalsh(R)[0]),
    }
    return out


def _numbers(column: pd.Series, name: Any) -> np.ndarray:
    """Return a column as floats, with NaN for missing values; ordered categories become their positions.

    Raises
    ------
    ColumnTypeError, InfiniteValuesError
    """
    if isinstance(column.dtype, pd.CategoricalDtype) and column.cat.ordered:
        places = column.cat.codes.to_numpy(dtype=float)
        return np.where(places < 0, np.nan, places)
    if kind_of(column) != "number":
        raise ColumnTypeError(
            f"Column {shown(name)} holds {column.dtype}; correlations need numbers or ordered categories. "
            "Leave it out, or give its categories an order: pd.Categorical(values, categories=[...], "
            "ordered=True)."
        )
    values = column.to_numpy(dtype=float, na_value=np.nan)
    if np.isinf(values).any():
        raise InfiniteValuesError(
            f"Column {shown(name)} holds infinite values; correlations need finite numbers."
        )
    return values


def _polychoric(
    values: np.ndarray, names: pd.Index, most: int, bound: float
) -> tuple[np.ndarray, dict[str, list[tuple[Any, Any]]]]:
    """Return the matrix, and the pairs at the bound, reaching it, and without convergence."""
    levels = [np.unique(column[~np.isnan(column)]) for column in values.T]
    many = [j for j, found in enumerate(levels) if len(found) > most]
    if many:
        raise ColumnTypeError(
            f"{plural(len(many), 'column has', 'columns have')} more than max_levels={most} distinct values: "
            f"{listed([names[j] for j in many])} ({len(levels[many[0]])} in the first). Polychoric "
            'correlations are for ordinal variables: use method="spearman" or "pearson", or raise max_levels.'
        )
    n, p = values.shape
    m = max(map(len, levels))
    chosen = np.zeros((n, p, m))
    for j, found in enumerate(levels):
        chosen[:, j, : len(found)] = values[:, j, None] == found
    flat = chosen.reshape(n, p * m)
    counts = (flat.T @ flat).reshape(p, m, p, m).transpose(0, 2, 1, 3)
    first, second = np.triu_indices(p, 1)
    tables = counts[first, second]
    for margin in (tables.sum(axis=2), tables.sum(axis=1)):  # a variable of the pair is constant
        alone = np.flatnonzero((margin > 0).sum(axis=1) < 2)
        if alone.size:
            _refuse_pair(names[first[alone[0]]], names[second[alone[0]]])
    estimates = polychoric(tables, bound)
    R = np.eye(p)
    R[first, second] = R[second, first] = estimates.correlation

    def pairs(chosen: np.ndarray) -> list[tuple[Any, Any]]:
        return [(names[first[pair]], names[second[pair]]) for pair in np.flatnonzero(chosen)]

    marked = {
        "at_bound": pairs(estimates.at_bound),
        "reaches_bound": pairs(estimates.reaches_bound),
        "not_converged": pairs(~estimates.converged),
    }
    if marked["not_converged"]:
        warn(
            f"The polychoric correlations of {plural(len(marked['not_converged']), 'pair')} did not "
            f"converge: {listed(marked['not_converged'])}. Use method='spearman', or merge categories with "
            "few rows.",
            ConvergenceWarning,
        )
    return R, marked


def _require_variation(values: np.ndarray, names: pd.Index) -> None:
    """Raise ConstantColumnError or MissingValuesError for a column without two different values."""
    for column, name in zip(values.T, names, strict=True):
        found = column[~np.isnan(column)]
        if not found.size:
            raise MissingValuesError(f"Column {shown(name)} holds no value; leave it out.")
        if found.min() == found.max():
            raise ConstantColumnError(f"Column {shown(name)} has one value only; leave it out.")


def _refuse_pair(first: Any, second: Any) -> None:
    raise MissingValuesError(
        f"In the rows that have both {shown(first)} and {shown(second)} one of them does not vary, or there "
        "are fewer than two such rows, so that they have no correlation. Leave one of them out."
    )
