"""Supplementary variables, and the variables of a component as a scale.

A scale is the sum of the variables of a component with weights of plus or minus one.

Alpha, the mean correlation and item-rest correlations are defined as in the R package psych (Revelle). Omega
is the coefficient of McDonald (1999) for one common factor, estimated by minimum residuals (Harman and Jones,
1966).
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd
from scipy.special import fdtrc, ndtr, stdtr

from spcastat.arguments import listed, plural, real_number, shown
from spcastat.errors import ColumnTypeError, DataError, DuplicateNamesError, ShapeError
from spcastat.fit import frames
from spcastat.fit.state import FitState
from spcastat.inputs.data import Data
from spcastat.labels import name_text
from spcastat.linalg.standardisation import CONSTANT
from spcastat.reading.checks import aligned

#: Largest number of levels of a factor.
MOST_LEVELS = 100


@dataclass(frozen=True)
class Associations:
    """Associations of supplementary variables, numeric variables and factors, with the scores.

    Attributes
    ----------
    correlations : DataFrame, s x k
        Correlations of numeric variables with the scores.
    levels : DataFrame, l x k
        Means of the scores for each level of each factor, by (variable, level).
    test_values : DataFrame, l x k
        Difference of the mean of a level from the overall mean, in standard errors under random sampling of
        the level without replacement.
    ratios : DataFrame, f x k
        Correlation ratios: the share of the variance of a score that lies between the levels of a factor.
    sizes : Series
        Number of rows (sum of weights) of each numeric variable, level and factor.
    level_counts : tuple of f ints
        Number of levels of each factor.
    """

    correlations: pd.DataFrame
    levels: pd.DataFrame
    test_values: pd.DataFrame
    ratios: pd.DataFrame
    sizes: pd.Series
    level_counts: tuple[int, ...]


def associations_with(variables: Any, scores: pd.DataFrame, weights: np.ndarray | None) -> Associations:
    """Return the associations of supplementary variables with the scores.

    Parameters
    ----------
    variables : DataFrame or Series
        Numbers, and factors (text, categories, booleans), matched by row labels. Labels 0, 1, ... are
        matched by position if the rows of the fit have other labels. Rows with a missing value are left out
        for that variable.
    scores : DataFrame, n x k
    weights : ndarray of shape (n,) or None
        Frequencies of the rows.

    Raises
    ------
    ShapeError, ColumnTypeError, DataError
        If `variables` is not a frame or has other rows; if a column has another type, too many levels, or
        fewer than two values.
    """
    frame = _aligned(variables, scores.index)
    T = scores.to_numpy(dtype=float)
    w = np.ones(len(T)) if weights is None else np.asarray(weights, dtype=float)
    correlations: dict[Any, np.ndarray] = {}
    means: dict[tuple[Any, Any], np.ndarray] = {}
    tests: dict[tuple[Any, Any], np.ndarray] = {}
    ratios: dict[Any, np.ndarray] = {}
    sizes: dict[Any, float] = {}
    level_counts = []
    for name, column in frame.items():
        observed = column.notna().to_numpy() & (w > 0)
        if observed.sum() < 2:
            raise DataError(
                f"The supplementary variable {shown(name)} has {plural(int(observed.sum()), 'value')}; give "
                "a variable with two values or more."
            )
        if _is_factor(column):
            groups = _factor(name, column[observed])
            levels = list(groups.cat.categories)
            if len(levels) > MOST_LEVELS:
                raise ColumnTypeError(
                    f"The supplementary variable {shown(name)} has {len(levels)} levels; at most "
                    f"{MOST_LEVELS} make a factor. Leave it out, or merge levels."
                )
            level_means = _levels(groups.cat.codes.to_numpy(), len(levels), T[observed], w[observed])
            for level, mean, test, size in zip(levels, *level_means[:3], strict=True):
                means[name, level], tests[name, level], sizes[name, level] = mean, test, float(size)
            ratios[name], sizes[name] = level_means[3], float(w[observed].sum())
            level_counts.append(len(levels))
        else:
            x = _numbers(name, column)[observed, None]
            correlations[name] = _correlations(x, T[observed], w[observed])
            sizes[name] = float(w[observed].sum())
    names = scores.columns
    return Associations(
        _frame(correlations, names),
        _frame(means, names, ("variable", "level")),
        _frame(tests, names, ("variable", "level")),
        _frame(ratios, names),
        pd.Series(list(sizes.values()), index=_names(sizes), dtype=float),
        tuple(level_counts),
    )


def describe(state: FitState, supplement: Associations | None, alpha: float) -> pd.DataFrame:
    """Return the variables and levels associated with each component, strongest first, with tests.

    Only rows with a p-value up to `alpha` are returned. `supplement` contains the supplementary variables, if
    any. For the columns see `SpcaResult.describe_components`.
    """
    alpha = real_number("alpha", alpha, 0.0, 1.0, open_low=True)
    n = state.record.effective_n
    rows: list[tuple[Any, ...]] = []
    correlations = frames.correlations(state)
    sizes = {} if supplement is None else dict(zip(supplement.sizes.index, supplement.sizes, strict=True))
    for j, component in enumerate(state.components):
        part = []
        for i, (term, r) in enumerate(zip(correlations.index, correlations.to_numpy()[:, j], strict=True)):
            tested = _t_test(r, None if state.V[i, j] else n)
            part.append((component, "variable", term, state.V[i, j], r, *tested))
        if supplement is not None:
            for term, r in supplement.correlations[component].items():
                part.append((component, "supplementary", term, np.nan, r, *_t_test(r, sizes[term])))
            ratios, means = supplement.ratios[component], supplement.levels[component]
            for (term, ratio), count in zip(ratios.items(), supplement.level_counts, strict=True):
                tested = _f_test(ratio, sizes[term], count)
                part.append((component, "factor", term, np.nan, ratio, *tested))
            tests = supplement.test_values[component]
            for ((factor, value), mean), test in zip(means.items(), tests, strict=True):
                label = f"{name_text(factor)} = {name_text(value)}"
                p_value = float(2 * ndtr(-abs(test)))
                part.append((component, "level", label, np.nan, mean, test, p_value))
        kinds = {"variable": 0, "supplementary": 1, "factor": 2, "level": 3}
        part.sort(key=lambda row: (kinds[row[1]], -abs(row[4]) if row[1] != "level" else -abs(row[5])))
        rows += part
    columns = ["component", "kind", "term", "loading", "estimate", "statistic", "p_value"]
    frame = pd.DataFrame(rows, columns=columns)
    untested = frame["kind"].eq("level") & frame["p_value"].isna()  # the only level of a factor
    shown_rows = ~(frame["p_value"] > alpha) & frame["estimate"].notna() & ~untested
    return frame[shown_rows].reset_index(drop=True)


# --- one variable -------------------------------------------------------------------------------


def _deviations(X: np.ndarray, share: np.ndarray) -> np.ndarray:
    """Return centred columns with unit mean square, (n, m); columns without variation are zero.

    `share` contains the weights of the rows divided by their sum, shape (n,).
    """
    X = np.ldexp(X, -np.frexp(np.abs(X).max(axis=0))[1])  # avoids overflow and underflow of squares
    D = X - share @ X
    size = np.sqrt(share @ D**2)
    varies = size > CONSTANT * np.abs(X).max(axis=0)
    return np.where(varies, D / np.where(varies, size, 1.0), 0.0)


def _correlations(x: np.ndarray, T: np.ndarray, w: np.ndarray) -> np.ndarray:
    """Return the correlations of x, shape (n, 1), with the scores, shape (k,); NaN if either is constant."""
    share = w / w.sum()
    dx, dT = _deviations(x, share), _deviations(T, share)
    r = (share[:, None] * dx).T @ dT
    return np.where(dx.any() & dT.any(axis=0), r.ravel().clip(-1.0, 1.0), np.nan)


def _levels(
    codes: np.ndarray, count: int, T: np.ndarray, w: np.ndarray
) -> tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray]:
    """Return means (l, k), test values (l, k), sizes (l,) and correlation ratios (k,); NaN without variation.

    A test value is (mean of the level - overall mean) / sqrt(s^2 / n_l * (n - n_l) / (n - 1)), where s^2 is
    the variance of the score with divisor n (Lebart, Morineau and Piron 1995, section 1.2).
    """
    sizes = np.bincount(codes, weights=w, minlength=count)
    means = (
        np.stack([np.bincount(codes, weights=w * t, minlength=count) for t in T.T], axis=1) / sizes[:, None]
    )
    n = w.sum()
    centre = w @ T / n
    varies = _deviations(T, w / n).any(axis=0)
    variance = np.where(varies, w @ (T - centre) ** 2 / n, 0.0)
    complement = np.where(np.arange(count)[:, None] == codes, 0.0, w).sum(axis=1)  # rows of other levels
    with np.errstate(divide="ignore", invalid="ignore"):
        error = np.sqrt(variance / sizes[:, None] * (complement / (n - 1))[:, None])
        tests = np.where(error > 0, (means - centre) / error, np.nan)
        ratios = sizes @ (means - centre) ** 2 / n / variance
    return means, tests, sizes, np.where(varies & complement.all(), ratios, np.nan)


def _t_test(r: float, n: float | None) -> tuple[float, float]:
    if n is None or n <= 2 or not np.isfinite(r):
        return np.nan, np.nan
    if abs(r) >= 1.0:
        return float(np.copysign(np.inf, r)), 0.0
    t = r * np.sqrt((n - 2) / (1 - r * r))
    return float(t), float(2 * stdtr(n - 2, -abs(t)))


def _f_test(ratio: float, n: float, levels: int) -> tuple[float, float]:
    if levels < 2 or n <= levels or not np.isfinite(ratio):
        return np.nan, np.nan
    if ratio >= 1.0:
        return np.inf, 0.0
    f = ratio / (levels - 1) / ((1 - ratio) / (n - levels))
    return float(f), float(fdtrc(levels - 1, n - levels, f))


# --- reading ------------------------------------------------------------------------------------


def _aligned(variables: Any, index: pd.Index) -> pd.DataFrame:
    if isinstance(variables, pd.Series):
        variables = variables.to_frame(name=variables.name if variables.name is not None else "variable")
    if not isinstance(variables, pd.DataFrame):
        raise ShapeError(
            f"variables of type {type(variables).__name__} was given; give a DataFrame or a Series with a "
            "value for every row of the fit."
        )
    if not variables.columns.is_unique:
        duplicates = variables.columns[variables.columns.duplicated()]
        raise DuplicateNamesError(f"variables has two columns called {listed(duplicates, 3)}; rename one.")
    for name in variables.columns:
        if isinstance(name, str) and not _encodes(name):
            raise ColumnTypeError(f"variables has a column {shown(name)}, which is not text; rename it.")
    frame: pd.DataFrame = aligned(variables, index, "variables", "rows", part=True, error=ShapeError)
    return frame


def _is_factor(column: pd.Series) -> bool:
    kinds = pd.api.types
    return bool(
        isinstance(column.dtype, pd.CategoricalDtype)
        or kinds.is_bool_dtype(column)
        or kinds.is_string_dtype(column)
        or kinds.is_object_dtype(column)
        or kinds.is_datetime64_any_dtype(column)
        or isinstance(column.dtype, (pd.PeriodDtype, pd.IntervalDtype))
    )


def _factor(name: Any, column: pd.Series) -> pd.Series:
    """Return a column as categories without unused levels; raise ColumnTypeError for other values."""
    try:
        return column.astype("category").cat.remove_unused_categories()
    except (TypeError, ValueError):  # values that cannot be compared or hashed, or invalid text
        raise ColumnTypeError(
            f"The supplementary variable {shown(name)} contains values that are not levels of a factor, such "
            f"as {shown(column.iloc[0])}; it accepts text, categories or numbers."
        ) from None


def _encodes(text: str) -> bool:
    try:
        text.encode()
    except UnicodeEncodeError:
        return False
    return True


def _numbers(name: Any, column: pd.Series) -> np.ndarray:
    if not pd.api.types.is_numeric_dtype(column) or pd.api.types.is_complex_dtype(column):
        raise ColumnTypeError(
            f"The supplementary variable {shown(name)} has the type {column.dtype}; it accepts numbers, or "
            "text and categories for a factor."
        )
    values = column.to_numpy(dtype=float, na_value=np.nan)
    if np.isinf(values).any():
        raise DataError(f"The supplementary variable {shown(name)} has infinite values.")
    return np.asarray(values)


def _names(values: Mapping[Any, Any]) -> pd.Index:
    """Return the keys as an index in which pandas does not replace missing names."""
    dtype = object if any(pd.api.types.is_scalar(name) and pd.isna(name) for name in values) else None
    return pd.Index(list(values), dtype=dtype, tupleize_cols=False)


def _frame(values: dict[Any, np.ndarray], names: pd.Index, levels: tuple[str, ...] = ()) -> pd.DataFrame:
    if levels:
        index: pd.Index = pd.MultiIndex.from_tuples(list(values), names=levels)
        if not values:
            index = pd.MultiIndex.from_arrays([[], []], names=levels)
    else:
        index = _names(values)
    return pd.DataFrame(
        np.array(list(values.values())).reshape(len(values), len(names)), index=index, columns=names
    )


#: Largest number of steps, and tolerance for changes of communalities, of the factor of a scale.
FACTOR_STEPS, FACTOR_TOLERANCE = 5000, 1e-10
#: The smallest number of variables for which a common factor is fitted.
MIN_ROWS = 3


@dataclass(frozen=True, eq=False)
class ScaleNumbers:
    """The statistics of all scales.

    Attributes
    ----------
    table : DataFrame, k x 6
        Columns "items", "alpha", "alpha_std", "omega", "mean_r" and "r_component", one row per component.
    items : DataFrame
        Columns "component", "key", "term", "r_rest", "r_other" and "other", one row per variable of a
        component.
    kept_share : float
        Adjusted variance of the sums, relative to the adjusted variance of the components.
    """

    table: pd.DataFrame
    items: pd.DataFrame
    kept_share: float


def alpha(C: np.ndarray) -> float:
    """Return Cronbach's alpha of variables with covariance matrix C, shape (c, c); NaN for one variable."""
    c = len(C)
    return c / (c - 1) * (1.0 - float(np.trace(C) / C.sum())) if c > 1 else np.nan


def one_factor(R: np.ndarray) -> np.ndarray:
    """Return the loadings, shape (c,), of the common factor that leaves the smallest residual correlations.

    The communalities, at most one, are computed from the first eigenvector until they converge.
    """
    off = R - np.diag(np.diag(R))
    h = 1.0 - 1.0 / np.diag(np.linalg.pinv(R)).clip(min=1.0)  # squared multiple correlations
    loadings = np.sqrt(h.clip(min=0.0))
    for _ in range(FACTOR_STEPS):
        values, vectors = np.linalg.eigh(off + np.diag(h))
        loadings = vectors[:, -1] * np.sqrt(max(float(values[-1]), 0.0))
        communalities = np.minimum(loadings**2, 1.0)
        if np.abs(communalities - h).max() < FACTOR_TOLERANCE:
            break
        h = communalities
    return np.asarray(loadings * (-1.0 if loadings.sum() < 0 else 1.0))


def omega(R: np.ndarray) -> float:
    """Return the share of a sum's variance that one common factor explains; NaN below three variables."""
    if len(R) < MIN_ROWS:
        return np.nan
    return float(one_factor(R).sum() ** 2 / R.sum())


def raw_units(data: Data, used: np.ndarray) -> np.ndarray | None:
    """Return the factors that convert (scaled) variables to the units of the data; None if unknown."""
    if data.standard is not None:
        return np.asarray(data.standard.scale[used])
    divisors = np.ones(data.op.p) if data.divisors is None else data.divisors
    variances = data.op.unit**2 * data.op.diagonal() * divisors**2
    if np.abs(variances - 1.0).max() <= 1e-8:  # a correlation matrix has no units
        return None
    return np.asarray(divisors[used])


def numbers(state: FitState, data: Data) -> ScaleNumbers:
    """Return the statistics of the scales of a fit, in which nonzero loadings are replaced by their signs."""
    op, names = data.op, state.spec.columns.to_flat_index()
    used = np.flatnonzero(state.V.any(axis=1))
    S, V = op.block(used) * op.unit**2, state.V[used]
    K = np.sign(V)
    sd = np.sqrt(np.diag(S))
    units = raw_units(data, used)
    sums = S @ K
    variances = np.einsum("ij,ij->j", K, sums)
    with np.errstate(divide="ignore", invalid="ignore"):
        correlations = sums / np.outer(sd, np.sqrt(variances))
        R = S / np.outer(sd, sd)
        of_component = (V * sums).sum(axis=0) / np.sqrt(variances * np.einsum("ij,ij->j", V, S @ V))
    rows, items = [], []
    for j, component in enumerate(state.components):
        T = np.flatnonzero(K[:, j])
        block, key = np.ix_(T, T), np.outer(K[T, j], K[T, j])
        C, keyed, c = S[block] * key, R[block] * key, len(T)
        raw = np.nan if units is None else alpha(C * np.outer(units[T], units[T]))
        mean = float(keyed.sum() - c) / (c * (c - 1)) if c > 1 else np.nan
        rows.append((c, raw, alpha(keyed), omega(keyed), mean, float(of_component[j])))
        other_correlations = np.delete(np.abs(correlations), j, axis=1)
        labels = state.components.delete(j)
        for place, i in enumerate(T):
            largest = int(other_correlations[i].argmax()) if len(labels) else -1
            other_group = (
                (float(other_correlations[i, largest]), labels[largest]) if len(labels) else (np.nan, None)
            )
            key_text = "-" if K[i, j] < 0 else "+"
            items.append((component, key_text, names[used[i]], item_rest(C, place), *other_group))
    columns = ["items", "alpha", "alpha_std", "omega", "mean_r", "r_component"]
    table = pd.DataFrame(rows, state.components, columns)
    summary = pd.DataFrame(items, columns=["component", "key", "term", "r_rest", "r_other", "other"])
    full_weights = np.zeros(state.V.shape)
    full_weights[used] = K / np.sqrt((K != 0).sum(axis=0))
    kept_share = float(op.score_basis(full_weights)[0].sum() * op.unit**2 / state.moments.adjusted.sum())
    return ScaleNumbers(table, summary, kept_share)


def item_rest(C: np.ndarray, i: int) -> float:
    """Return the correlation of variable i with the sum of the other variables; NaN for one variable."""
    if len(C) < 2:
        return np.nan
    covariance_with_rest = np.delete(C[i], i).sum()
    variance = np.delete(np.delete(C, i, axis=0), i, axis=1).sum()
    return float(covariance_with_rest / np.sqrt(C[i, i] * variance)) if variance > 0 else np.nan
