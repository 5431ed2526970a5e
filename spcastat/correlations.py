"""Correlation matrices of ordinal and other variables for `spca_cov`: polychoric, polyserial, Pearson."""

from __future__ import annotations

from dataclasses import dataclass
from itertools import product
from typing import Any, Literal

import numpy as np
import pandas as pd
from scipy.optimize import minimize_scalar
from scipy.special import log_ndtr, ndtri

from spcastat.arguments import explained, flag, listed, one_of, plural, real_number, shown, warn, whole_number
from spcastat.errors import (
    ColumnTypeError,
    ConstantColumnError,
    ConvergenceWarning,
    InfiniteValuesError,
    MissingValuesError,
)
from spcastat.hints import Table
from spcastat.inputs.opening import refuse_long_imputations, table_of
from spcastat.linalg.accumulate import BATCH, blocks, is_sparse
from spcastat.reading.checks import kind_of
from spcastat.reading.frames import open_table
from spcastat.reading.read import refuse_covariance
from spcastat.reading.value_labels import codes_of, with_numbers

#: Nodes of the Gauss-Legendre rule. The relative error of the integrals is at most 1e-11 for thresholds up to
#: 4 in size that differ by more than 1e-5 or not at all, and 1e-8 for all other thresholds up to 5 in size.
NODES, QUADRATURE_WEIGHTS = np.polynomial.legendre.leggauss(40)
#: The integrals end where the integrand is below exp(-36) = 2e-16 of its first value, or after a length of
#: 23, where the factor 1 / cosh(u) alone has reduced it to 1e-10.
DROP, LENGTH = 36.0, 23.0
#: Largest distance, in Fisher's z, between the correlations at which the search starts.
SPACING = 0.6
#: The largest number of steps towards the root of the derivative; about 8 suffice.
ROOT_STEPS = 100
#: Lower bound on a cell's probability, as a multiple of the terms that are subtracted to obtain it.
CELL_ROUNDING = 1e-16
#: Half the 95 % quantile of the chi-squared distribution with one degree of freedom.
INTERVAL = 1.9207294103


@dataclass(frozen=True, eq=False)
class Polychoric:
    """Polychoric correlations of q pairs of variables.

    Attributes
    ----------
    correlation : ndarray of shape (q,)
    at_bound : ndarray of bool, shape (q,)
        Whether the likelihood is largest at the bound.
    reaches_bound : ndarray of bool, shape (q,)
        Whether the 95 % likelihood interval contains the bound, so that twice the log likelihood at the bound
        is less than 3.84 below its maximum.
    converged : ndarray of bool, shape (q,)
    """

    correlation: np.ndarray
    at_bound: np.ndarray
    reaches_bound: np.ndarray
    converged: np.ndarray


@dataclass(frozen=True, eq=False)
class Tables:
    """Contingency tables of ordinal variables with latent normal variables x and y.

    Attributes
    ----------
    cells : ndarray of shape (q, m, m)
        Counts.
    below_x, below_y : ndarray of shape (q, m + 1)
        Number of rows below each threshold, from 0 to the number of rows.
    x, y : ndarray of shape (q, m - 1)
        The thresholds between the categories; infinite at empty outer categories.
    """

    cells: np.ndarray
    below_x: np.ndarray
    below_y: np.ndarray
    x: np.ndarray
    y: np.ndarray

    @classmethod
    def of(cls, cells: np.ndarray) -> Tables:
        """Return the tables, with thresholds computed from their margins."""
        below_x, below_y = _cumulative_counts(cells.sum(axis=2)), _cumulative_counts(cells.sum(axis=1))
        return cls(cells, below_x, below_y, _thresholds(below_x), _thresholds(below_y))

    def subset(self, selection: np.ndarray) -> Tables:
        """Return the tables in `selection`, which contains their numbers or is a mask."""
        return Tables(
            self.cells[selection],
            self.below_x[selection],
            self.below_y[selection],
            self.x[selection],
            self.y[selection],
        )

    def mirrored(self, selection: np.ndarray) -> Tables:
        """Return all tables, with y replaced by -y in the selection, shape (q,) of bool."""
        total = self.below_y[:, -1:]
        return Tables(
            np.where(selection[:, None, None], self.cells[:, :, ::-1], self.cells),
            self.below_x,
            np.where(selection[:, None], total - self.below_y[:, ::-1], self.below_y),
            self.x,
            np.where(selection[:, None], -self.y[:, ::-1], self.y),
        )


def polychoric(tables: np.ndarray, bound: float) -> Polychoric:
    """Return the polychoric correlation of each contingency table.

    The two-step estimator of Olsson (1979), Psychometrika 44: the thresholds are the normal quantiles of the
    table's margins, and the correlation maximises the likelihood given these thresholds. The likelihood is
    computed at about 15 correlations between the bounds. Starting from the best of them, Chandrupatla's
    method, which keeps an interval around the root, finds the root of the derivative.

    Parameters
    ----------
    tables : ndarray of shape (q, m, m)
        Counts of the pairs of categories. Categories may be empty.
    bound : float
        The largest absolute correlation allowed; below 1.
    """
    q, m, _ = tables.shape
    if q == 0:
        none = np.zeros(0, dtype=bool)
        return Polychoric(np.zeros(0), none, none, none)
    parts = [
        _estimates(Tables.of(tables[part]), bound) for part in blocks(q, (m - 1) ** 2 * len(NODES), BATCH)
    ]
    return Polychoric(*(np.concatenate(column) for column in zip(*parts, strict=True)))


def _estimates(tables: Tables, bound: float) -> tuple[np.ndarray, ...]:
    """Return the four attributes of Polychoric."""
    from scipy.optimize.elementwise import find_root

    q = len(tables.cells)
    end = float(np.arctanh(bound))
    grid = np.linspace(-end, end, 2 * int(np.ceil(end / SPACING)) + 1)
    value, score = (
        np.stack(parts) for parts in zip(*(log_likelihood(tables, np.full(q, z)) for z in grid), strict=True)
    )
    best_points, at_bound = _best_of_grid(value, score)
    pairs = np.arange(q)
    # the maximum lies between the best point of the grid and this neighbour
    towards = np.where(score[best_points, pairs] > 0, 1, -1)
    end_points = np.clip(best_points + towards, 0, len(grid) - 1)

    def slope(z: np.ndarray, pair: np.ndarray) -> np.ndarray:
        return log_likelihood(tables.subset(pair.astype(int)), z)[1]

    z = grid[best_points].copy()
    converged = at_bound | (score[best_points, pairs] == 0)
    interior_pairs = np.flatnonzero(~converged)
    if interior_pairs.size:
        tolerances: Any = {"xatol": 1e-10, "xrtol": 0.0, "fatol": 0.0, "frtol": 0.0}
        roots = find_root(
            slope,
            (grid[best_points[interior_pairs]], grid[end_points[interior_pairs]]),
            args=(interior_pairs,),
            tolerances=tolerances,
            maxiter=ROOT_STEPS,
        )
        z[interior_pairs] = np.where(np.isfinite(roots.x), roots.x, z[interior_pairs])
        converged[interior_pairs] = roots.success
    r = np.where(at_bound, np.sign(z) * bound, np.tanh(z))
    maximum = np.maximum(log_likelihood(tables, z)[0], value[best_points, pairs])
    reaches = maximum - np.maximum(value[0], value[-1]) <= INTERVAL
    return r, at_bound, reaches, converged


def _best_of_grid(value: np.ndarray, score: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Return the best point of the grid for each pair, and whether the maximum is at a bound.

    The arguments have one row for each point of the grid and one column for each pair. A bound is preferred
    to points that are better only by rounding, because a likelihood with its supremum at the bound is
    constant up to rounding well before the bound.
    """
    best_points, maximum = value.argmax(axis=0), value.max(axis=0)
    rounding = 1e-13 * np.abs(maximum)
    at_bound = np.zeros(len(best_points), dtype=bool)
    for end, outward in ((0, -1.0), (len(value) - 1, 1.0)):
        flat = (value[end] >= maximum - rounding) & (outward * score[end] >= 0)
        best_points[flat & ~at_bound] = end
        at_bound |= flat
    return best_points, at_bound


def log_likelihood(tables: Tables, z: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Return the log likelihoods, shape (q,), and their derivatives with respect to Fisher's z.

    The derivative of a cell's probability with respect to the correlation r is a second difference of the
    bivariate normal density over the cell's corners. Integrated from r to 1, it gives the probability at
    r = 1, which the margins determine, minus the probability at r (for negative r, y is replaced by -y
    first). Cells that are empty at r = 1, whose probability may be very small, are computed without a
    subtraction from a number near one. All terms of a cell are divided by the largest, so they do not
    underflow.

    Parameters
    ----------
    tables : Tables of q pairs
    z : ndarray of shape (q,)
        atanh(r).
    """
    negative = z < 0
    tables = tables.mirrored(negative)
    z = np.abs(z)
    tail, density = _corner_terms(tables.x[:, :, None], tables.y[:, None, :], z[:, None, None])
    overlap = _cells_at_one(tables.below_x, tables.below_y)
    size = np.where(overlap > 0, 0.0, _largest_of_corners(tail))
    tails = _cell_differences(tail, size)
    p = np.maximum(np.maximum(overlap, 0.0) - tails, CELL_ROUNDING)
    slope = _cell_differences(density, size)
    filled = tables.cells > 0
    logs = np.where(filled, size + np.log(p), 0.0)
    value = (tables.cells * logs).sum(axis=(1, 2))
    score = np.where(filled, tables.cells * slope / p, 0.0).sum(axis=(1, 2))
    return value, np.where(negative, -score, score)


def _corner_terms(h: np.ndarray, k: np.ndarray, z: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Return the logarithms of two terms at corners (h, k), -inf where h or k is infinite.

    With r = tanh(u), the bivariate normal density at (h, k) is exp(-E(u)) cosh(u) / (2 pi), where
    E(u) = (h - k)^2 cosh(u)^2 / 2 + h k (1 + exp(-2u)) / 2, and dr = du / cosh(u)^2.

    Parameters
    ----------
    h, k, z : ndarray
        Arrays whose shapes broadcast together; z >= 0.

    Returns
    -------
    tail : ndarray
        log of the integral of the density over r from tanh(z) to 1. For h <= k this is P(x < h, y > k).
    density : ndarray
        log of the derivative of the density's integral with respect to z, exp(-E(z)) / (2 pi cosh(z)).
    """
    finite = np.isfinite(h) & np.isfinite(k)
    h, k = np.where(finite, h, 0.0), np.where(finite, k, 1.0)
    square, product = 0.5 * (h - k) ** 2, 0.5 * h * k
    cosh_squared = np.cosh(z) ** 2
    with np.errstate(divide="ignore"):
        top = np.arccosh(np.sqrt(cosh_squared + DROP / square))
    length = np.minimum(top - z, LENGTH)[..., None]
    grown = np.exp(z[..., None] + 0.5 * length * (NODES + 1.0))  # exp(u)
    cosh = 0.5 * (grown + 1.0 / grown)
    exponent = square[..., None] * (cosh * cosh - cosh_squared[..., None])
    exponent += product[..., None] * (1.0 / (grown * grown) - np.exp(-2.0 * z)[..., None])
    integral = (np.exp(-exponent) / cosh * (0.5 * length * QUADRATURE_WEIGHTS)).sum(axis=-1)
    start = -(square * cosh_squared + product * (1.0 + np.exp(-2.0 * z))) - np.log(2.0 * np.pi)
    tail, density = start + np.log(integral), start - 0.5 * np.log(cosh_squared)
    return np.where(finite, tail, -np.inf), np.where(finite, density, -np.inf)


def _cells_at_one(below_x: np.ndarray, below_y: np.ndarray) -> np.ndarray:
    """Return the probabilities of the cells if the correlation is 1; negative or 0 for empty cells."""
    upper = np.minimum(below_x[:, 1:, None], below_y[:, None, 1:])
    lower = np.maximum(below_x[:, :-1, None], below_y[:, None, :-1])
    return (upper - lower) / below_x[:, -1][:, None, None]


def _with_infinite(corners: np.ndarray) -> np.ndarray:
    """Return logarithms at the finite thresholds, surrounded by -inf, shape (q, m + 1, m + 1)."""
    return np.pad(corners, ((0, 0), (1, 1), (1, 1)), constant_values=-np.inf)


def _largest_of_corners(corners: np.ndarray) -> np.ndarray:
    """Return the largest of each cell's four corners; 0 where all are -inf."""
    padded = _with_infinite(corners)
    rows = np.maximum(padded[:, 1:], padded[:, :-1])
    largest = np.maximum(rows[:, :, 1:], rows[:, :, :-1])
    return np.where(np.isfinite(largest), largest, 0.0)


def _cell_differences(corners: np.ndarray, size: np.ndarray) -> np.ndarray:
    """Return second differences over the cells of exp(corners), divided by exp(size)."""
    padded = _with_infinite(corners)
    with np.errstate(under="ignore", over="ignore"):
        upper = np.exp(padded[:, 1:, 1:] - size) - np.exp(padded[:, :-1, 1:] - size)
        lower = np.exp(padded[:, 1:, :-1] - size) - np.exp(padded[:, :-1, :-1] - size)
    return upper - lower


def _cumulative_counts(margin: np.ndarray) -> np.ndarray:
    """Return cumulative counts with a leading zero, shape (q, m + 1), for margins of shape (q, m)."""
    return np.pad(np.cumsum(margin, axis=1), ((0, 0), (1, 0)))


def _thresholds(counts: np.ndarray) -> np.ndarray:
    """Return the thresholds between categories as normal quantiles, shape (q, m - 1)."""
    inner, total = counts[:, 1:-1], counts[:, -1:]
    smaller = np.minimum(inner, total - inner) / total
    return np.where(inner > total - inner, -ndtri(smaller), ndtri(smaller))


# --- polyserial correlations ------------------------------------------------------------------------


def polyserial(x: np.ndarray, levels: np.ndarray, bound: float = 0.999) -> float:
    """Return the polyserial correlation of a continuous variable and an ordinal variable.

    Parameters
    ----------
    x : ndarray of shape (n,)
    levels : ndarray of shape (n,)
        Numbers in the order of the categories.
    bound : float
        The largest absolute correlation.

    Returns
    -------
    float
        The two-step estimate: the mean and variance of `x` and the thresholds t are estimated from the
        margins, and r maximises the sum of log(P(y | z)), with z the standardised `x` and P(y | z) the normal
        probability between (t_{y-1} - r z) / sqrt(1 - r^2) and (t_y - r z) / sqrt(1 - r^2). For two
        categories it is the biserial correlation.

    References
    ----------
    Olsson, Drasgow and Dorans (1982), The polyserial correlation coefficient, Psychometrika 47, 337-347.
    """
    z = (x - x.mean()) / x.std()
    places = np.unique(levels, return_inverse=True)[1]
    thresholds = _thresholds(_cumulative_counts(np.bincount(places)[None].astype(float)))[0]
    limits = np.concatenate([[-np.inf], thresholds, [np.inf]])
    lower, upper = limits[places], limits[places + 1]

    def deviance(r: float) -> float:
        a, b = ((limit - r * z) / np.sqrt(1.0 - r * r) for limit in (lower, upper))
        flipped = a > 0  # use upper tails, whose difference is more accurate
        a, b = np.where(flipped, -b, a), np.where(flipped, -a, b)
        log_b = log_ndtr(b)
        with np.errstate(divide="ignore"):
            return float(-(log_b + np.log1p(-np.exp(log_ndtr(a) - log_b))).sum())

    minimum = minimize_scalar(deviance, bounds=(-bound, bound), method="bounded", options={"xatol": 1e-9})
    return float(minimum.x)


# --- matrices -----------------------------------------------------------------------------------------


#: The kinds of correlations; "auto" chooses by the types of the two variables.
CORRELATION_METHODS = ("auto", "polychoric", "spearman", "pearson")


@explained
def correlation(
    data: Table,
    method: Literal["auto", "polychoric", "spearman", "pearson"] = "auto",
    *,
    max_levels: int = 10,
    bound: float = 0.999,
    codes: bool = False,
) -> pd.DataFrame:
    """Return a correlation matrix, by default with coefficients that suit the types of the variables.

    Each correlation uses the rows in which both variables are observed. For two ordinal variables the
    polychoric correlation is estimated, the correlation of the normal variables that are assumed to
    underlie their categories. For an ordinal and a continuous variable the polyserial correlation is
    estimated, in which only the ordinal variable is replaced by an underlying normal variable. For two
    continuous variables Pearson's correlation is computed. Pearson correlations are attenuated if there are
    few or skewed categories; polychoric and polyserial correlations are not.

    Parameters
    ----------
    data : DataFrame, array or other table of shape (n, p)
        Numbers, booleans, or ordered categories. Missing values are deleted pairwise.
    method : {"auto", "polychoric", "spearman", "pearson"}
        "auto": ordered categories, booleans and whole numbers with at most `max_levels` values are ordinal,
        other numbers continuous. "polychoric": all variables are ordinal. "spearman": correlations of ranks.
        "pearson": correlations of the numbers (1, 2, ... for ordered categories).
    max_levels : int
        Largest number of distinct values of an ordinal variable ("auto" and "polychoric").
    bound : float
        The largest absolute polychoric correlation, below 1. If a corner of the table of two items is empty,
        the likelihood may have no maximum below 1.
    codes : bool
        Whether unordered categories are also accepted. They are coded by the numbers of the value labels that
        :func:`pandas.read_spss` stores in ``data.attrs``, or else in the order of the categories.

    Returns
    -------
    DataFrame of shape (p, p)
        A matrix for :func:`spca_cov`. ``attrs["spcastat"]`` contains ``kind``, the method ("mixed" if "auto"
        finds ordinal and continuous variables); ``types``, the type of each variable; ``n_obs``, the number
        of rows; ``n_pairs_min``, the smallest number of rows of a pair; and ``smallest_eigenvalue``. If the
        smallest eigenvalue is negative, use ``spca_cov(..., nearest=True)``. Three lists name pairs of
        columns: ``at_bound``, pairs whose likelihood is largest at `bound`; ``reaches_bound``, pairs of
        ordinal variables whose 95 % likelihood interval contains `bound`, so that the data do not determine
        the correlation well; and ``not_converged``, pairs whose likelihood was not maximised.

    Raises
    ------
    ColumnTypeError
        For text and unordered categories, and with "polychoric" for columns with more than `max_levels`
        values.
    ConstantColumnError, MissingValuesError
        For a column with only one distinct value, and for a pair of columns that has no common rows or is
        constant in them.

    Warns
    -----
    ConvergenceWarning
        If there are pairs in ``not_converged``.

    References
    ----------
    Olsson (1979), Maximum likelihood estimation of the polychoric correlation coefficient, Psychometrika 44,
    443-460: the two-step estimator, with thresholds from the margins of each pair. Olsson, Drasgow and Dorans
    (1982), The polyserial correlation coefficient, Psychometrika 47, 337-347.

    Examples
    --------
    >>> import pandas as pd, spcastat as sp
    >>> items = pd.DataFrame({"a": [1, 1, 2, 2, 3, 3, 1, 3], "b": [1, 2, 1, 2, 2, 3, 1, 3]})
    >>> print(sp.correlation(items).loc["a", "b"].round(3))
    0.867
    """
    one_of("method", method, CORRELATION_METHODS)
    level_limit = whole_number("max_levels", max_levels, 2)
    limit = real_number("bound", bound, 0.0, 1.0 - 1e-6, open_low=True)
    source = table_of(data)
    advice = "give a correlation matrix to spca_cov(S, ...) as it is"
    refuse_covariance(source.data, bool(source.files), advice)
    table = open_table(source.data)
    refuse_long_imputations(table.columns)
    if flag("codes", codes):
        table = with_numbers(table, codes_of(table))
    frame = pd.DataFrame(table.values.toarray() if is_sparse(table.values) else table.values)
    names = table.columns
    values = np.column_stack([_numbers(frame.iloc[:, j], name) for j, name in enumerate(names)])
    _require_variation(values, names)
    marked: dict[str, list[tuple[Any, Any]]] = {"at_bound": [], "reaches_bound": [], "not_converged": []}
    ordinal = _ordinal(values, frame, level_limit, method)
    kind = method if method != "auto" else _kind_of(ordinal)
    if kind == "polychoric":
        R, marked = _polychoric(values, names, level_limit, limit)
    else:
        R = _of_numbers(values, "spearman" if kind == "spearman" else "pearson")
    if kind == "mixed":
        marked = _insert_ordinal(R, values, ordinal, names, level_limit, limit)
    present = (~np.isnan(values)).astype(float)
    pairs = present.T @ present
    if np.isnan(R).any():
        row, column = np.argwhere(np.isnan(R))[0]
        _refuse_pair(names[row], names[column])
    out = pd.DataFrame(R, index=names, columns=names)
    out.attrs["spcastat"] = {
        "kind": kind,
        "types": ["ordinal" if is_ordinal else "continuous" for is_ordinal in ordinal],
        "n_obs": len(frame),
        "n_pairs_min": int(pairs.min()),
        **marked,
        "smallest_eigenvalue": float(np.linalg.eigvalsh(R)[0]),
    }
    return out


def _ordinal(values: np.ndarray, frame: pd.DataFrame, max_levels: int, method: str) -> np.ndarray:
    """Return whether each variable is treated as ordinal, shape (p,)."""
    if method != "auto":
        return np.full(values.shape[1], method == "polychoric")
    is_ordinal = []
    for column, dtype in zip(values.T, frame.dtypes, strict=True):
        levels = np.unique(column[~np.isnan(column)])
        is_count = bool((levels == np.rint(levels)).all()) and len(levels) <= max_levels
        is_ordinal.append(is_count or isinstance(dtype, pd.CategoricalDtype))
    return np.array(is_ordinal)


def _kind_of(ordinal: np.ndarray) -> str:
    if ordinal.all():
        return "polychoric"
    return "mixed" if ordinal.any() else "pearson"


def _of_numbers(values: np.ndarray, kind: Literal["spearman", "pearson"]) -> np.ndarray:
    """Return pairwise correlations of numbers or of their ranks."""
    sizes = np.frexp(np.nanmax(np.abs(values), axis=0))[1]  # powers of two, so that squares are finite
    R = pd.DataFrame(np.ldexp(values, -sizes)).corr(kind, min_periods=2).to_numpy().copy()
    np.fill_diagonal(R, 1.0)
    return R


def _insert_ordinal(
    R: np.ndarray, values: np.ndarray, ordinal: np.ndarray, names: pd.Index, max_levels: int, bound: float
) -> dict[str, list[tuple[Any, Any]]]:
    """Replace Pearson correlations in `R` by polychoric and polyserial ones; return the marked pairs."""
    places = np.flatnonzero(ordinal)
    marked: dict[str, list[tuple[Any, Any]]] = {"at_bound": [], "reaches_bound": [], "not_converged": []}
    if len(places) > 1:
        R[np.ix_(places, places)], marked = _polychoric(values[:, places], names[places], max_levels, bound)
    for i, j in product(np.flatnonzero(~ordinal).tolist(), places.tolist()):
        complete = ~np.isnan(values[:, [i, j]]).any(axis=1)
        x, levels = values[complete, i], values[complete, j]
        if len(np.unique(x)) < 2 or len(np.unique(levels)) < 2:
            _refuse_pair(names[i], names[j])
        R[i, j] = R[j, i] = polyserial(x, levels, bound)
        if abs(R[i, j]) > bound - 1e-6:  # the accuracy of the search
            marked["at_bound"].append((names[i], names[j]))
    return marked


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
        remedy = "or give its categories an order, pd.Categorical(values, categories=[...], ordered=True)"
        if isinstance(column.dtype, pd.CategoricalDtype):
            remedy += ", or give codes=True if its value labels or its categories are in order"
        raise ColumnTypeError(
            f"Column {shown(name)} contains {column.dtype}; correlations need numbers or ordered categories: "
            f"leave it out, {remedy}."
        )
    values = column.to_numpy(dtype=float, na_value=np.nan)
    if np.isinf(values).any():
        raise InfiniteValuesError(
            f"Column {shown(name)} contains infinite values; correlations need finite numbers."
        )
    return values


def _polychoric(
    values: np.ndarray, names: pd.Index, max_levels: int, bound: float
) -> tuple[np.ndarray, dict[str, list[tuple[Any, Any]]]]:
    """Return the matrix, and pairs at the bound, with the bound in their interval, or not converged."""
    levels = [np.unique(column[~np.isnan(column)]) for column in values.T]
    columns_over = [j for j, column_levels in enumerate(levels) if len(column_levels) > max_levels]
    if columns_over:
        raise ColumnTypeError(
            f"{plural(len(columns_over), 'column has', 'columns have')} more than max_levels={max_levels} "
            f"distinct values: {listed([names[j] for j in columns_over])}: "
            'use method="spearman" or "pearson", or increase max_levels.'
        )
    n, p = values.shape
    m = max(map(len, levels))
    indicators = np.zeros((n, p, m))
    for j, column_levels in enumerate(levels):
        indicators[:, j, : len(column_levels)] = values[:, j, None] == column_levels
    flat = indicators.reshape(n, p * m)
    counts = (flat.T @ flat).reshape(p, m, p, m).transpose(0, 2, 1, 3)
    pair_rows, pair_columns = np.triu_indices(p, 1)
    tables = counts[pair_rows, pair_columns]
    for margin in (tables.sum(axis=2), tables.sum(axis=1)):  # a variable of the pair is constant
        constant_pairs = np.flatnonzero((margin > 0).sum(axis=1) < 2)
        if constant_pairs.size:
            _refuse_pair(names[pair_rows[constant_pairs[0]]], names[pair_columns[constant_pairs[0]]])
    estimates = polychoric(tables, bound)
    R = np.eye(p)
    R[pair_rows, pair_columns] = R[pair_columns, pair_rows] = estimates.correlation

    def pairs(mask: np.ndarray) -> list[tuple[Any, Any]]:
        return [(names[pair_rows[pair]], names[pair_columns[pair]]) for pair in np.flatnonzero(mask)]

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
        observed = column[~np.isnan(column)]
        if not observed.size:
            raise MissingValuesError(f"Column {shown(name)} has no values; leave it out.")
        if observed.min() == observed.max():
            raise ConstantColumnError(f"Column {shown(name)} has only one value; leave it out.")


def _refuse_pair(first: Any, second: Any) -> None:
    raise MissingValuesError(
        f"In rows with both {shown(first)} and {shown(second)}, one variable is constant, or there are fewer "
        "than two such rows, so the correlation is not defined. Leave one of the two variables out."
    )
