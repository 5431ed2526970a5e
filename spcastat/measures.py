"""Measures of explained variance: adjusted variance, PEV, RRE and the least-squares share.

For dense principal components all measures agree; for sparse components they differ. Every function takes
loadings `V` and either rows `X` or a covariance matrix `S` and returns a fraction of the total variance
(`relative_adjusted`: of the variance that dense PCA explains). ``fit.measure()`` accepts their names. All
tables, plots, comparisons and files read the list `MEASURES`.

Adjusted variance is the variance of each score that earlier scores do not explain (Zou, Hastie and
Tibshirani, 2006): with the QR decomposition XV = QR, the adjusted variance of component j is
R_jj^2 / (n - 1). It depends on the order of the components. Its share of the total variance is the CPEV of
Dou, Dai, Xu and Zhang; its share of the variance that the same number of dense principal components explains
is the relative adjusted variance of He, Monteiro and Park (2010), equation 4.15.

PEV and RRE measure how well the projection on the loadings reconstructs the rows (Zhao, Meng, Xu and Gao,
2015, section 3.2). With X_hat = X V (V'V)^-1 V', PEV is the variance of X_hat divided by the total variance,
and RRE = ||X - X_hat||_F / ||X||_F, so that PEV = 1 - RRE^2.

The least-squares share is the share of the total variance that regressions of all variables on the k scores
XV explain, as in Merola's least-squares sparse PCA. It is never less than PEV.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from itertools import combinations, permutations
from typing import TYPE_CHECKING, Any, Literal, cast

import numpy as np
import pandas as pd

from spcastat.arguments import explained, flag, listed, plural
from spcastat.errors import ColumnTypeError, ConstantColumnError, DataError, MissingValuesError, ShapeError
from spcastat.linalg.eigenvectors import RELATIVE, orthonormalise, unit
from spcastat.linalg.operators import SCORE_DEPENDENCE, Gram, Operator, residual_covariances
from spcastat.linalg.standardisation import prepare
from spcastat.reading.checks import real_array
from spcastat.reading.covariance import read_covariance
from spcastat.reading.read import read_data, refuse_covariance

if TYPE_CHECKING:
    from spcastat.hints import MeasureName

__all__ = [
    "MEASURES",
    "Measure",
    "adjusted",
    "adjusted_variances",
    "best_order",
    "least_squares",
    "measures_of",
    "pev",
    "relative_adjusted",
    "rre",
]


# --- what a measure is ----------------------------------------------------------------------------


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
    definition : str
        What the measure counts, in a few words for prints.
    """

    name: MeasureName
    function: Core
    label: str
    heading: str
    legend: str
    of: Literal["total", "pca", "error"]
    place: int
    note: str = ""
    definition: str = ""

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
    is_labelled = isinstance(S if X is None else X, pd.DataFrame)
    values = core(_loadings(V, op.p, labels, is_labelled), op)
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
    refuse_covariance(X, advice="give it as S= instead of X=")
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


def _loadings(V: Any, p: int, labels: pd.Index, is_labelled: bool) -> np.ndarray:
    if isinstance(V, pd.DataFrame | pd.Series) and is_labelled and not V.index.equals(labels):
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
        rows = plural(p, "row")
        raise ShapeError(f"V has shape {matrix.shape}; it must have {rows}, one for each variable.")
    if not np.isfinite(matrix).all():
        raise MissingValuesError("V contains missing or infinite values.")
    empty = np.flatnonzero(~matrix.any(axis=0))
    if empty.size:
        raise ShapeError(
            f"Columns {listed(empty.tolist())} of V (counted from 0) are zero, so they define no components; "
            "leave them out."
        )
    return unit(matrix)


def _numbers(V: Any) -> np.ndarray:
    values = real_array(V)
    if values is None:
        raise ColumnTypeError(
            f"V of type {type(V).__name__} was given; it must contain the loadings as real numbers."
        )
    return values.astype(float)


# --- adjusted variance ----------------------------------------------------------------------------


def adjusted_variances(V: np.ndarray, op: Operator) -> np.ndarray:
    """Return the adjusted variances, shape (k,), of the columns of V in their order, in units of variance."""
    return op.score_basis(V)[0]


def best_order(C: np.ndarray) -> np.ndarray:
    """Return the order of the components that maximises the sum of their adjusted variances.

    Parameters
    ----------
    C : ndarray of shape (k, k)
        Covariance matrix of the scores.

    Returns
    -------
    ndarray of int, shape (k,)
        For up to five components the best of all orders; for more, an order that no exchange of two
        components improves. It is the given order if no other order is better by more than rounding.
    """
    k = len(C)
    order = np.arange(k)
    if k <= 5:
        trials = np.array(list(permutations(range(k))))
    else:
        pairs = np.array(list(combinations(range(k), 2)))
        trials = np.tile(order, (len(pairs), 1))
        trials[np.arange(len(pairs))[:, None], pairs] = pairs[:, ::-1]
    while True:
        totals = totals_in_orders(C, np.vstack([order, order[trials]]))
        argmax = int(np.argmax(totals))
        if totals[argmax] <= totals[0] * (1.0 + RELATIVE):
            return order
        order = order[trials[argmax - 1]]


def totals_in_orders(C: np.ndarray, orders: np.ndarray) -> np.ndarray:
    """Return the sums of the adjusted variances, shape (m,), for each of the `orders`, shape (m, k)."""
    residual = C[orders[:, :, None], orders[:, None, :]]
    diagonal = np.diagonal(residual, axis1=1, axis2=2).copy()
    total = np.zeros(len(orders))
    for j in range(len(C)):
        variance, coupling = residual[:, j, j], residual[:, j]
        independent = variance > SCORE_DEPENDENCE**2 * diagonal[:, j]
        total += np.where(independent, variance, 0.0)
        residual = residual_covariances(residual, coupling, np.where(independent, variance, 0.0))
    return total


def cumulative_adjusted(V: np.ndarray, op: Operator) -> np.ndarray:
    """Return the adjusted variance of the first 1, ..., k columns as a share of the total."""
    return share_of_total(np.cumsum(adjusted_variances(V, op)) / op.total)


def cumulative_relative(V: np.ndarray, op: Operator) -> np.ndarray:
    """Return the adjusted variance of the first 1, ..., k columns as a share of what dense PCA explains."""
    k = min(V.shape[1], op.p, max(op.rank_limit, 1))
    pca = np.cumsum(np.append(op.leading(k)[0].clip(min=0.0), np.zeros(V.shape[1] - k)))
    return np.cumsum(adjusted_variances(V, op)) / pca


@explained
def adjusted(V: Any, X: Any = None, S: Any = None, *, cumulative: bool = False) -> Any:
    """Adjusted variance as a fraction of the total variance; parameters as for `pev`."""
    return answer(cumulative_adjusted, V, X, S, cumulative)


@explained
def relative_adjusted(V: Any, X: Any = None, S: Any = None, *, cumulative: bool = False) -> Any:
    """Adjusted variance as a fraction of what dense PCA explains with k components; see `pev`."""
    return answer(cumulative_relative, V, X, S, cumulative)


ADJUSTED_MEASURE = Measure(
    "adjusted",
    cumulative_adjusted,
    "adjusted",
    "adj",
    "adjusted variance",
    of="total",
    place=1,
    definition="variance of scores, shared variance counted once",
)
RELATIVE_ADJUSTED = Measure(
    "relative_adjusted",
    cumulative_relative,
    "Adjusted, % of PCA's",
    "of PCA's",
    "adjusted, relative to PCA",
    of="pca",
    place=2,
    note="adjusted, in % of what PCA explains",
)


# --- PEV and RRE ----------------------------------------------------------------------------------


#: Rounding raises shares of the total above one by less than this. The largest excess was 1.2e-8, for the
#: least-squares share of 1,500 random matrices with nearly equal columns and standard deviations that differ
#: by a factor of up to 1e6.
SHARE_ROUNDING = 1e-7


def share_of_total(shares: np.ndarray) -> np.ndarray:
    """Return shares in which values that exceed one only by rounding are replaced by one."""
    return np.where((shares > 1.0) & (shares < 1.0 + SHARE_ROUNDING), 1.0, shares)


def cumulative_pev(V: np.ndarray, op: Operator) -> np.ndarray:
    """Return the PEV, shape (k,), of the first 1, ..., k columns of V, shape (p, k)."""
    Q, _ = orthonormalise(V)
    return share_of_total(np.cumsum(op.forms(Q)) / op.total)


def cumulative_rre(V: np.ndarray, op: Operator) -> np.ndarray:
    """Return the RRE, shape (k,), of the first 1, ..., k columns of V, shape (p, k)."""
    return np.sqrt((1.0 - cumulative_pev(V, op)).clip(min=0.0))


@explained
def pev(V: Any, X: Any = None, S: Any = None, *, cumulative: bool = False) -> Any:
    """Proportion of explained variance: the variance of the rows projected on the span of the loadings.

    Parameters
    ----------
    V : array-like of shape (p, k)
        Loadings of any length. If it is a data frame, its rows are matched to the labels of `X` or `S`.
    X : array-like of shape (n, p), optional
        Rows, whose columns are centred.
    S : array-like of shape (p, p), optional
        Covariance or correlation matrix, instead of rows.
    cumulative : bool
        Whether to return an array of shape (k,) with the measure of the first 1, ..., k columns.

    Returns
    -------
    float or ndarray
        A fraction of the total variance, at most the PEV of the first k dense principal components.

    Raises
    ------
    ShapeError, MissingValuesError
        If shapes do not match, or values are missing.
    """
    return answer(cumulative_pev, V, X, S, cumulative)


@explained
def rre(V: Any, X: Any = None, S: Any = None, *, cumulative: bool = False) -> Any:
    """Relative reconstruction error, the square root of 1 - PEV; parameters as for `pev`."""
    return answer(cumulative_rre, V, X, S, cumulative)


PEV_MEASURE = Measure(
    "pev",
    cumulative_pev,
    "PEV",
    "PEV",
    "PEV",
    of="total",
    place=3,
    definition="variance projected on the loadings",
)
RRE = Measure("rre", cumulative_rre, "RRE", "RRE", "RRE", of="error", place=5)


# --- least-squares share --------------------------------------------------------------------------


def cumulative_least_squares(V: np.ndarray, op: Operator) -> np.ndarray:
    """Return the least-squares share, shape (k,), of the first 1, ..., k columns of V."""
    coupling = op.score_basis(V)[1]
    return share_of_total(np.cumsum(np.einsum("ij,ij->j", coupling, coupling)) / op.total)


@explained
def least_squares(V: Any, X: Any = None, S: Any = None, *, cumulative: bool = False) -> Any:
    """Share of the total variance that regressions on the scores explain; parameters as for `pev`."""
    return answer(cumulative_least_squares, V, X, S, cumulative)


LEAST_SQUARES_MEASURE = Measure(
    "least_squares",
    cumulative_least_squares,
    "least squares",
    "LS",
    "least squares",
    of="total",
    place=4,
    definition="variance that regression on the scores explains",
)


# --- the list of measures -------------------------------------------------------------------------


#: Measures by name, in the order of the columns of ``fit.glance()``.
MEASURES: dict[MeasureName, Measure] = {
    measure.name: measure
    for measure in (PEV_MEASURE, RRE, ADJUSTED_MEASURE, RELATIVE_ADJUSTED, LEAST_SQUARES_MEASURE)
}


def measure_named(name: str) -> Measure:
    """Return the measure with this name, which must be valid."""
    return MEASURES[cast("MeasureName", name)]


def measures_of(*kinds: str) -> list[Measure]:
    """Return the measures of the given `kinds` (see `Measure.of`) in the order of tables."""
    return sorted(
        (measure for measure in MEASURES.values() if measure.of in kinds), key=lambda measure: measure.place
    )
