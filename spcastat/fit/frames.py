"""Tables of a fit: variances, and variables by components."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np
import pandas as pd

from spcastat.config import checked_level, flag
from spcastat.fit import resampling_frames
from spcastat.fit import rows as distances
from spcastat.fit.moments import Moments
from spcastat.fit.record import deep_copy
from spcastat.fit.state import FitState
from spcastat.measures import MEASURES, Measure, measures_of

# --- variables by components ----------------------------------------------------------------------


def loadings(state: FitState) -> pd.DataFrame:
    """Return the loadings, p x k."""
    return state.by_variable(state.V)


def score_correlation(state: FitState) -> pd.DataFrame:
    """Correlations between the scores, k x k; NaN for a component without variance."""
    C = state.moments.scores
    sd = np.sqrt(np.diag(C).clip(min=0.0))
    with np.errstate(divide="ignore", invalid="ignore"):
        correlation = (C / np.outer(sd, sd)).clip(-1.0, 1.0)
    np.fill_diagonal(correlation, np.where(sd > 0, 1.0, np.nan))
    return pd.DataFrame(correlation, index=state.components, columns=state.components)


def largest_correlation(state: FitState) -> float:
    """The largest absolute correlation between the scores of two components; 0 for one component."""
    C = score_correlation(state).to_numpy()
    off = np.abs(C[~np.eye(len(C), dtype=bool)])
    return float(np.nanmax(off)) if np.isfinite(off).any() else 0.0


def measure_if_known(state: FitState, name: str) -> float:
    """Return a measure of all components; NaN if the file of the fit does not contain it."""
    known = name in state.moments.known_measures()
    return float(state.moments.measure(name)[-1]) if known else float("nan")


def correlations(state: FitState) -> pd.DataFrame:
    """Correlations of the variables with the scores, p x k; NaN if either is constant."""
    moments = state.moments
    sizes = np.sqrt(np.diag(moments.scores).clip(min=0.0)) * np.sqrt(moments.variances)[:, None]
    values = np.divide(moments.coupling, sizes, out=np.full(sizes.shape, np.nan), where=sizes > 0)
    return state.by_variable(values.clip(-1.0, 1.0))


def communalities(state: FitState) -> pd.Series:
    """Return the share of the variance of each variable that all scores explain, length p.

    NaN for a constant variable.
    """
    variances, explained = state.moments.variances, state.moments.explained
    values = np.divide(explained, variances, out=np.full(len(variances), np.nan), where=variances > 0)
    return pd.Series(values.clip(0.0, 1.0), index=deep_copy(state.spec.columns), name="communality")


def component_shares(state: FitState) -> pd.DataFrame:
    """Return the shares of the total variance that each score explains, k x 3.

    "alone", "average" over all orders of the components (Shapley value; NaN with more than 12 components) and
    "last".
    """
    total = state.moments.total
    coupling = state.moments.coupling / total
    parts = distances.shares(state.moments.scores / total, coupling.T @ coupling)
    columns = dict(zip(("alone", "average", "last"), parts, strict=True))
    return pd.DataFrame(columns, index=state.components)


def limits(state: FitState, level: float = 0.95) -> pd.Series:
    """Return the quantiles at `level` of T2 and Q of new rows, a Series; see :func:`distances.limits`."""
    level = checked_level(level)
    values = distances.limits(state.moments, state.record.effective_n, level)
    return pd.Series(values, name=f"{level:g}")


def optima(state: FitState) -> pd.DataFrame:
    """Return the distinct local optima, best first: "objective" (a share of the total) and "hits"."""
    found = pd.DataFrame(state.record.optima, columns=["objective", "hits"])
    return found.astype({"objective": float, "hits": int})


# --- the tidy frames of R's broom ----------------------------------------------------------------


def tidy(state: FitState, zeros: bool = False, conf_int: bool = False, level: float = 0.95) -> pd.DataFrame:
    """Return the loadings in long form, one row per loading; see `SpcaResult.tidy`."""
    level = checked_level(level)
    p, k = state.V.shape
    values = state.V.T.ravel()
    rows = np.arange(p * k) if flag("zeros", zeros) else np.flatnonzero(values)
    terms = state.spec.columns.to_flat_index()[rows % p]
    frame = pd.DataFrame({"term": terms, "component": state.components[rows // p], "loading": values[rows]})
    if flag("conf_int", conf_int):
        resampling_frames.widen(state, frame, rows, level)
    return frame


def glance(state: FitState) -> pd.DataFrame:
    """Return the fit in one row: sizes, nonzeros, all measures, correlation of scores, convergence."""
    return pd.DataFrame([facts(state)])


def facts(state: FitState) -> dict[str, Any]:
    """Return the row of :func:`glance`."""
    record = state.record
    return {
        "method": record.method,
        "n": pd.NA if record.n is None else record.n,
        "p": record.p,
        "k": record.k,
        "nonzeros": int(np.count_nonzero(state.V)),
        "variables": int(state.V.any(axis=1).sum()),
        "total_variance": state.moments.total,
        **{name: measure_if_known(state, name) for name in MEASURES},
        "score_correlation": largest_correlation(state),
        "objective": record.objective,
        "converged": record.converged,
        "n_iter": record.n_iter,
    }


# --- contributions and squared cosines of variables and rows --------------------------------------


#: Objects with contributions and squared cosines.
OF = ("variables", "rows")


def row_contributions(scores: pd.DataFrame, weights: np.ndarray | None) -> pd.DataFrame:
    """Weighted share of each row in the sum of squared scores, n x k; columns sum to 1."""
    squares = scores.to_numpy(dtype=float) ** 2
    if weights is not None:
        squares = squares * weights[:, None]
    total = squares.sum(axis=0)
    parts = np.divide(squares, total, out=np.full(squares.shape, np.nan), where=total > 0)
    return pd.DataFrame(parts, index=scores.index, columns=scores.columns)


def row_cos2(state: FitState, scores: pd.DataFrame, q: np.ndarray) -> pd.DataFrame:
    """Squared cosines between rows and loadings, n x k; NaN for a row at the centre.

    Parameters
    ----------
    scores : DataFrame, n x k
    q : ndarray of shape (n,)
        Squared norms of the residuals of the rows, which are orthogonal to the loadings.
    """
    T = scores.to_numpy(dtype=float)
    inside = np.einsum("ij,ij->i", T @ np.linalg.pinv(state.V.T @ state.V), T).clip(min=0.0)
    length = (np.asarray(q, dtype=float) + inside)[:, None]
    values = np.divide(T**2, length, out=np.full(T.shape, np.nan), where=length > 0)
    return pd.DataFrame(values.clip(max=1.0), index=scores.index, columns=scores.columns)


def spectrum(state: FitState) -> np.ndarray:
    """Eigenvalues of the covariance matrix, descending, in squared units of the (scaled) data.

    All possibly nonzero ones if the smaller dimension of the data is at most 3000 and the data are in memory;
    otherwise, and for a fit from a file, only the k leading ones.
    """
    moments = state.moments
    matrix = moments.smaller_products()
    if matrix is None:
        return np.array(moments.pca, dtype=float)
    values = np.linalg.eigvalsh(matrix)[::-1].clip(min=0.0) * moments.unit**2
    # the leading eigenvalues are exactly those stored in the fit
    known = min(len(moments.pca), len(values))
    values[:known] = moments.pca[:known]
    return np.asarray(values)


def reconstruction(state: FitState) -> pd.DataFrame:
    """Return the relative reconstruction error for 0 to k components.

    "error": the norm of the residuals of ``inverse_transform(scores, k)`` over the norm of the
    centred (and scaled) data; "dense": the same for as many dense principal components.
    """
    moments = state.moments
    dense = np.sqrt((1.0 - np.cumsum(moments.pca) / moments.total).clip(min=0.0))
    values = {"error": moments.measure("rre"), "dense": dense}
    index = pd.RangeIndex(state.V.shape[1] + 1, name="components")
    return pd.DataFrame({name: np.concatenate([[1.0], one]) for name, one in values.items()}, index=index)


# --- variances ------------------------------------------------------------------------------------


#: The heading of the cumulative shares in tables.
CUMULATIVE = "Cumulative % of total variance"


@dataclass(frozen=True)
class Column:
    """A column of ``fit.variance``, and a row of the table of variance.

    Attributes
    ----------
    name : str
        Name of the column in the frame.
    values : callable
        Returns values of shape (k,) from Moments.
    label : str
        Label of the row in a table.
    heading : str
        Short label, for tables with components as rows.
    kind : {"count", "variance", "share"}
        Whole numbers; variances in squared units of the (scaled) data, printed with the same number of
        digits; or fractions, printed in percent.
    group : str
        Heading above the row; none by default.
    key : str
        Key of the explanation of the heading; the label by default.
    measure : str
        Name of the measure in the column, if it is one: older files may lack it.
    """

    name: str
    values: Callable[[Moments], np.ndarray]
    label: str
    heading: str
    kind: Literal["count", "variance", "share"]
    group: str = ""
    key: str = ""
    measure: str = ""


def _cumulative(measure: Measure) -> Column:
    return Column(
        f"cumulative {measure.label}",
        lambda moments: moments.measure(measure.name),
        measure.label,
        measure.heading,
        "share",
        CUMULATIVE,
        measure.label if measure.short == measure.label else f"{measure.label} ({measure.heading})",
        measure.name,
    )


#: In the order of the frame.
VARIANCE: tuple[Column, ...] = (
    Column("cardinality", lambda m: np.count_nonzero(m.V, axis=0), "Nonzeros", "card", "count"),
    Column("score variance", lambda m: np.diag(m.scores), "Variance of scores", "scores", "variance"),
    Column("adjusted variance", lambda m: m.adjusted, "Adjusted variance", "adjusted", "variance"),
    Column("share of total", lambda m: m.adjusted / m.total, "Adjusted, % of total", "share", "share"),
    *(_cumulative(measure) for measure in measures_of("total")),
    Column(
        "cumulative PCA",
        lambda m: np.cumsum(m.pca) / m.total,
        "PCA (dense)",
        "PCA",
        "share",
        CUMULATIVE,
        "dense PCA",
    ),
)


def variance(state: FitState) -> pd.DataFrame:
    """Return the values of all columns in VARIANCE whose measures are known, one row per component."""
    known = ("", *state.moments.known_measures())
    columns = {column.name: column.values(state.moments) for column in VARIANCE if column.measure in known}
    return pd.DataFrame(columns, index=state.components).copy()
