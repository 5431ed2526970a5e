"""Results as frames: variances and loadings of a fit; intervals, frequencies and p-values of resampling."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any, Literal

import numpy as np
import pandas as pd
from scipy.special import ndtri, stdtrit

from spcastat.arguments import checked_level, flag, one_of
from spcastat.errors import NotRotatedError, OptionError
from spcastat.fit import rows as distances
from spcastat.fit.record import Bootstrapped, HalfSamples, Split, Tested, deep_copy, number_of_rows
from spcastat.fit.state import FitMoments, FitState
from spcastat.linalg.standardisation import deviations
from spcastat.measures import MEASURES, Measure, measures_of

#: Kinds of bootstrap intervals of loadings, and of variances.
LOADING_KINDS, VARIANCE_KINDS = ("hull", "percentile"), ("normal", "percentile")


# --- bootstrap ------------------------------------------------------------------------------------


def conf_int(state: FitState, boot: Bootstrapped, level: float = 0.95, kind: str = "hull") -> pd.DataFrame:
    """Return an interval for every nonzero loading of the fit, and how often loadings were selected.

    The columns are "component", "term", "estimate", "std_error", "lower", "upper" and "selected". A loading
    that is zero in the fit but not in some draw has no bounds (NaN).

    The kind "hull" is the normal interval, the estimate plus or minus z standard deviations of the draws,
    extended to zero unless the share of draws in which the loading has the sign of the estimate is at least
    (1 + level) / 2. The extension allows for the selection of the estimate for its size, which the normal
    interval ignores.

    For imputations, standard errors and multiples follow Rubin's rules, and there are two additional columns:
    "fmi", the fraction of missing information, and "imputations", the share of imputations that select the
    variable.
    """
    if isinstance(kind, str) and kind == "normal":
        raise OptionError(
            "kind='normal' was given, but normal intervals ignore the selection; give kind='hull', which is "
            "the normal interval if nearly all draws agree on the sign, or compute it from 'std_error'."
        )
    level, kind = checked_level(level), one_of("kind", kind, LOADING_KINDS)
    estimate = state.V.T.ravel()[boot.places]
    values = boot.values
    pooled = pooled_errors(boot, values, boot.imputed)
    error = spread(values) if pooled is None else pooled.error
    bounds: Any
    if kind == "percentile":
        bounds = quantiles(values, level)
    else:
        half = ndtri(0.5 + level / 2.0) * error if pooled is None else pooled.half(level)
        lower, upper = estimate - half, estimate + half
        same_sign = (values * np.sign(estimate) > 0).mean(axis=0)
        unsure = same_sign < 0.5 + level / 2.0
        bounds = np.where(unsure, lower.clip(max=0.0), lower), np.where(unsure, upper.clip(min=0.0), upper)
    frame = _intervals(state, boot.places, estimate, error, bounds)
    frame.loc[(not has_intervals(boot, level)) | (estimate == 0), ["lower", "upper"]] = np.nan
    frame["selected"] = (boot.values != 0).mean(axis=0)
    if pooled is not None:
        frame["fmi"] = np.where(estimate == 0, np.nan, pooled.missing)
        frame["imputations"] = boot.imputation_share
    return frame


def pooled_errors(boot: Bootstrapped, draws: np.ndarray, estimates: np.ndarray | None) -> Pooled | None:
    """Return errors by Rubin's rules from draws and estimates of imputations; None without imputations."""
    if estimates is None:
        return None
    return Pooled.of(within_imputations(draws, len(estimates)), estimates, boot.rows or len(draws))


def variance_ci(
    state: FitState, boot: Bootstrapped, level: float = 0.95, kind: str = "normal"
) -> pd.DataFrame:
    """Return an interval for the variance of the scores of each component on new rows.

    "estimate" is the variance on the rows of the fit. "held_out" is "estimate" minus its optimism: the mean
    difference between the variance of the components of a draw on the rows of the draw and their variance on
    the rows of the fit.

    The variances of the fit's components on the rows of the draws, d, show the sampling error of a variance
    for fixed loadings. Normal intervals are exp(log(held_out) +- z * e), where e^2 = sd(log d)^2 + o^2 and o
    is half of log(estimate / held_out): the optimism is itself an estimate, and its standard error is taken
    as half its size. Percentile intervals are quantiles of d times held_out / estimate.
    """
    level, kind = checked_level(level), one_of("kind", kind, VARIANCE_KINDS)
    estimate = np.diag(state.moments.scores).copy()
    held_out = estimate - (boot.variances - boot.whole).mean(axis=0)
    draws = boot.variances if boot.of_fit is None else boot.of_fit  # older files contain only these
    positive = (draws > 0).all(axis=0) & (held_out > 0) & (estimate > 0)
    positive &= has_intervals(boot, level)
    shrunk = np.where(positive, held_out, 1.0) / np.where(positive, estimate, 1.0)
    if kind == "normal":
        logs = np.log(np.where(positive, draws, 1.0))
        optimism = 0.5 * np.log(shrunk)
        of_each = boot.imputed_variances
        of_each = None if of_each is None else np.log(np.where(positive, of_each, 1.0))
        pooled = pooled_errors(boot, logs, of_each)
        if pooled is None:
            half = np.exp(ndtri(0.5 + level / 2.0) * np.hypot(spread(logs), optimism))
        else:
            with np.errstate(over="ignore"):  # infinite for nearly zero degrees of freedom
                half = np.exp(replace(pooled, error=np.hypot(pooled.error, optimism)).half(level))
        lower, upper = held_out / half, held_out * half
    else:
        lower, upper = quantiles(draws, level) * shrunk
    return pd.DataFrame(
        {
            "component": state.components,
            "estimate": estimate,
            "std_error": _error_of(boot, draws, boot.imputed_variances),
            "lower": np.where(positive, lower, np.nan),
            "upper": np.where(positive, upper, np.nan),
            "held_out": held_out,
        }
    )


def _error_of(boot: Bootstrapped, draws: np.ndarray, estimates: np.ndarray | None) -> np.ndarray:
    pooled = pooled_errors(boot, draws, estimates)
    return spread(draws) if pooled is None else pooled.error


def number_found(state: FitState, draws: Bootstrapped) -> int | None:
    """Return the number of components that `choose_k` found for the rows of the fit; None if not known."""
    return state.record.k_found if draws.k_found is None else draws.k_found


def not_found(state: FitState, draws: Bootstrapped) -> list[Any]:
    """Return the components beyond the number that `choose_k` found for the same rows; [] if not known.

    The components with the largest variances count as found.
    """
    number = number_found(state, draws)
    if number is None:
        return []
    order = np.argsort(-np.diag(state.moments.scores), kind="stable")
    return [state.components[c] for c in sorted(order[number:].tolist())]


def q_values(state: FitState, places: np.ndarray) -> np.ndarray | None:
    """Return the q-values of the loadings at `places` from the tests that a fit shows; None without tests."""
    tested = state.inference.tests
    return None if tested is None else tested.q_value.T.ravel()[places]


def selected(state: FitState, boot: Bootstrapped) -> pd.DataFrame:
    """Return the share of draws that selected each variable in each component, p x k."""
    return spread_out(state, boot.places, (boot.values != 0).mean(axis=0))


def spread(values: np.ndarray) -> np.ndarray:
    """Return the standard deviation of each column of draws; NaN for a single draw."""
    return deviations(values) if len(values) > 1 else np.full(values.shape[1], np.nan)


def has_intervals(boot: Bootstrapped, level: float = 0.95) -> bool:
    """Return whether there are enough draws for intervals of a level."""
    return boot.draws >= least_draws(level)


def require_intervals(boot: Bootstrapped, level: float) -> Bootstrapped:
    """Return the draws, after checking that there are enough for intervals of the level.

    Raises
    ------
    OptionError
        If there are too few draws, or the level is not a number in (0, 1).
    """
    if not has_intervals(boot, checked_level(level)):
        lower_level = int(100 * (boot.draws - 1) / (boot.draws + 1)) / 100
        raise OptionError(
            f"Intervals of {100 * level:.12g} % need {least_draws(level)} draws or more, but the bootstrap "
            f"has {boot.draws}: call bootstrap() with n={least_draws(level)} or more (999 by default)"
            + (f", or give level={lower_level:g} or less." if lower_level else ".")
            + " Standard errors need fewer draws; the table of the bootstrap contains them."
        )
    return boot


def least_draws(level: float) -> int:
    """Return the smallest number of draws for intervals of a level: 39 for .95, 199 for .99.

    A further draw lies outside the range of n draws with probability 2 / (n + 1), which must not exceed
    1 - `level`. The quantiles then lie between draws, and if all draws have the same sign, their share
    exceeds (1 + `level`) / 2.
    """
    return int(np.ceil((1.0 + level) / (1.0 - level) - 1e-9))


def quantiles(values: np.ndarray, level: float) -> np.ndarray:
    """Return the bounds of the central share `level` of the draws in each column, shape (2, m)."""
    return np.quantile(values, [0.5 - level / 2.0, 0.5 + level / 2.0], axis=0)


# --- stability ------------------------------------------------------------------------------------


def frequency(state: FitState, halves: HalfSamples) -> pd.DataFrame:
    """Return how often fits to half of the rows selected each loading, p x k, shares in [0, 1]."""
    return spread_out(state, halves.places, halves.chosen.mean(axis=0))


#: Smallest share of halves that must select a variable to plot it, if the fit does not select it.
FREQUENT = 0.1


def frequent(state: FitState, halves: HalfSamples) -> pd.DataFrame:
    """Return the frequencies of variables selected by the fit or by many halves; other entries are zero."""
    shares = frequency(state, halves)
    return shares.where((shares >= FREQUENT) | (loadings(state) != 0), 0.0)


def bound(state: FitState, halves: HalfSamples) -> pd.Series:
    """Return a bound on the expected number of false selections, in each component and in all together.

    The bound is c^2 / ((2 threshold - 1) p), where c is the mean number of variables selected by the fits of
    halves, and p the number of variables in these fits. It is at most c, and is uninformative if it equals c.
    """
    counts, max_mean = _counts(state, halves)
    values = np.minimum(counts**2 / max_mean, counts)
    return pd.Series([*values, values.sum()], index=[*state.components, "all"], name="bound")


def informative(state: FitState, halves: HalfSamples) -> np.ndarray:
    """Return whether each component's bound is below the number of selected variables, shape (k,)."""
    counts, max_mean = _counts(state, halves)
    return counts < max_mean


def _counts(state: FitState, halves: HalfSamples) -> tuple[np.ndarray, float]:
    """Return the mean numbers of variables selected by fits of halves, (k,), and (2 threshold - 1) p."""
    p, k = state.V.shape
    counts = np.bincount(halves.places // p, weights=halves.chosen.mean(axis=0), minlength=k)
    return counts, (2.0 * halves.threshold - 1.0) * p


def similarity(state: FitState, resampling: Bootstrapped | HalfSamples | Split) -> pd.Series:
    """Return the (mean) absolute correlation of the scores of resampled components with scores of the fit."""
    values = np.atleast_2d(resampling.similarity).mean(axis=0)
    return pd.Series(values, index=state.components, name="similarity")


def clusters(state: FitState, halves: HalfSamples) -> pd.DataFrame:
    """Return a row for each cluster of correlated variables and each component that selected a member.

    The columns are "component", "members", "frequency" and "largest".
    """
    p, k = state.V.shape
    columns, rows = deep_copy(state.spec.columns), []
    labels = halves.clusters[halves.places % p]
    sizes = np.bincount(halves.clusters, minlength=p)
    for c in range(k):
        in_component = halves.places // p == c
        for label in np.unique(labels[in_component & (sizes[labels] > 1)]):
            selections = halves.chosen[:, in_component & (labels == label)]
            members = [columns[j] for j in np.flatnonzero(halves.clusters == label).tolist()]
            rows.append(
                (state.components[c], members, selections.any(axis=1).mean(), selections.mean(axis=0).max())
            )
    return pd.DataFrame(rows, columns=["component", "members", "frequency", "largest"])


def associates(state: FitState, halves: HalfSamples) -> pd.DataFrame:
    """Return variables that replaced a selected variable in fits of halves.

    The columns are "component", "term", "associate", "share" (of the halves without the term that selected
    the associate), "beside" (the same for halves with the term) and "correlation".
    """
    p = len(state.V)
    columns, rows = deep_copy(state.spec.columns), []
    for component, term, associate, r in halves.associates.tolist():
        c, a, b = int(component), int(term), int(associate)
        at = np.searchsorted(halves.places, [a + p * c, b + p * c])
        without = ~halves.chosen[:, at[0]]
        took = halves.chosen[:, at[1]]
        beside = took[~without].mean() if (~without).any() else np.nan
        rows.append((state.components[c], columns[a], columns[b], took[without].mean(), beside, r))
    return pd.DataFrame(rows, columns=["component", "term", "associate", "share", "beside", "correlation"])


# --- split and tests ------------------------------------------------------------------------------


def split_conf_int(state: FitState, split: Split, level: float = 0.95) -> pd.DataFrame:
    """Return intervals of the correlations of the variables that the first half selected.

    The intervals use Fisher's z and the quantile of the t distribution with m - 2 degrees of freedom, for m
    rows, clusters or blocks.
    """
    m = split.independent or split.rows[1]
    half = stdtrit(max(m - 2, 1), 0.5 + checked_level(level) / 2.0) * split.std_error
    z = np.arctanh(split.correlation.clip(-1.0 + 1e-12, 1.0 - 1e-12))
    component, term = _labels(state, split.places)
    return pd.DataFrame(
        {
            "component": component,
            "term": term,
            "loading": split.loadings,
            "correlation": split.correlation,
            "std_error": split.std_error * (1.0 - split.correlation**2),
            "lower": np.tanh(z - half),
            "upper": np.tanh(z + half),
        }
    )


def split_p_values(state: FitState, split: Split) -> pd.DataFrame:
    """Return the p-values of all splits, adjusted for all loadings, p x k."""
    return state.by_variable(split.p_value)


def split_variance_ci(state: FitState, split: Split, level: float = 0.95) -> pd.DataFrame:
    """Return an interval for each variance on the second half, normal on the logarithmic scale."""
    half = np.exp(ndtri(0.5 + checked_level(level) / 2.0) * split.variance_errors / split.variances)
    return pd.DataFrame(
        {
            "component": state.components,
            "estimate": split.variances,
            "std_error": split.variance_errors,
            "lower": split.variances / half,
            "upper": split.variances * half,
        }
    )


def tests(state: FitState, tested: Tested) -> pd.DataFrame:
    """Return the tests of every variable with every component.

    Returns
    -------
    DataFrame
        "component", "term", "loading", "correlation", "p_value", "q_value".
    """
    p, k = state.V.shape
    component, term = _labels(state, np.arange(p * k))
    values = {"loading": state.V, "correlation": tested.statistic, "p_value": tested.p_value}
    columns = {name: array.T.ravel() for name, array in {**values, "q_value": tested.q_value}.items()}
    return pd.DataFrame({"component": component, "term": term, **columns})


def intervals_shown(state: FitState, level: float) -> Bootstrapped:
    """Return the bootstrap that a fit shows.

    Raises
    ------
    OptionError
        If it shows no bootstrap, or a bootstrap with too few draws for the level.
    """
    checked_level(level)
    if state.inference.bootstrap is None:
        raise OptionError(
            "conf_int=True was given, but this fit does not include a bootstrap: give "
            "conf_int=fit.bootstrap(), or call this method of fit.with_inference(fit.bootstrap())."
        )
    return require_intervals(state.inference.bootstrap, level)


def widen(state: FitState, frame: pd.DataFrame, places: np.ndarray, level: float) -> None:
    """Add columns with results of resampling to a frame of the loadings at `places`.

    Raises
    ------
    OptionError
        If the fit shows neither a bootstrap nor a stability selection.
    """
    inference = state.inference
    if inference.bootstrap is None and inference.stability is None:
        if state.pattern is not None:
            intervals_shown(state, level)
        raise OptionError(
            "conf_int=True was given, but this fit includes no results of resampling: give "
            "conf_int=fit.bootstrap() for intervals or conf_int=fit.stability() for frequencies, or call "
            "this method of fit.with_inference(fit.bootstrap(), fit.stability())."
        )
    if inference.bootstrap is not None:
        kind = "hull" if state.pattern is None else "percentile"
        intervals = conf_int(state, inference.bootstrap, level, kind).set_axis(inference.bootstrap.places)
        intervals = intervals.drop(columns=["component", "term", "estimate"]).reindex(places)
        shares = [name for name in ("selected", "imputations") if name in intervals]
        intervals[shares] = intervals[shares].fillna(0.0)
        for name in intervals:
            frame[name] = intervals[name].to_numpy()
    if inference.stability is not None:
        frame["frequency"] = frequency(state, inference.stability).to_numpy().T.ravel()[places]
    q_value = q_values(state, places)
    if q_value is not None:
        frame["q_value"] = q_value


# --- shared ---------------------------------------------------------------------------------------


def _intervals(
    state: FitState, places: np.ndarray, estimate: np.ndarray, error: np.ndarray, bounds: Any
) -> pd.DataFrame:
    """Return intervals of the loadings at `places`; `bounds` contains the lower and upper bounds.

    Bounds are clipped to [-1, 1], the range of loadings of unit length.
    """
    labels = dict(zip(("component", "term"), _labels(state, places), strict=True))
    largest = 1.0 if state.pattern is None else np.inf
    ends = {
        name: bound.clip(-largest, largest) for name, bound in zip(("lower", "upper"), bounds, strict=True)
    }
    return pd.DataFrame({**labels, "estimate": estimate, "std_error": error, **ends})


def _labels(state: FitState, places: np.ndarray) -> tuple[pd.Index, pd.Index]:
    p = len(state.V)
    return state.components[places // p], deep_copy(state.spec.columns).to_flat_index()[places % p]


def spread_out(state: FitState, places: np.ndarray, values: Any, default: float = 0.0) -> pd.DataFrame:
    """Return a frame, p x k, with the `values` of the loadings at `places`, and `default` for all others."""
    out = np.full(state.V.size, default)
    out[places] = values
    return state.by_variable(out.reshape(state.V.shape[::-1]).T)


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


def correlations(state: FitState) -> pd.DataFrame:
    """Correlations of the variables with the scores, p x k; NaN if either is constant."""
    moments = state.moments
    sizes = np.sqrt(np.diag(moments.scores).clip(min=0.0)) * np.sqrt(moments.variances)[:, None]
    values = np.divide(moments.coupling, sizes, out=np.full(sizes.shape, np.nan), where=sizes > 0)
    return state.by_variable(values.clip(-1.0, 1.0))


#: Options of other fits that method="rotate" does not support.
ONLY_OF_SEARCHES = ("include", "exclude", "disjoint", "together", "constraint", "nonneg")


def rotated(state: FitState) -> pd.DataFrame:
    """Return the rotated loadings before truncation; see :attr:`spcastat.SpcaResult.rotated`."""
    if state.rotated is None:
        removals = [f"{name}=None" for name in ONLY_OF_SEARCHES if state.record.options.get(name)]
        changes = ["method='rotate'", "card=...", *removals]
        raise NotRotatedError(
            "rotated is available only for fits with method='rotate', but this fit has "
            f"method={state.record.method!r}; fit again with refit({', '.join(changes)})."
        )
    return state.by_variable(state.rotated)


def communalities(state: FitState) -> pd.Series:
    """Return the share of the variance of each variable that all scores explain, length p.

    NaN for a constant variable.
    """
    variances, explained = state.moments.variances, state.moments.explained
    values = np.divide(explained, variances, out=np.full(len(variances), np.nan), where=variances > 0)
    return pd.Series(values.clip(0.0, 1.0), index=deep_copy(state.spec.columns), name="communality")


def component_shares(state: FitState) -> pd.DataFrame:
    """Return the shares of the total variance that each score explains, k x 3.

    The columns are "alone", "average" (over all orders of the components: the Shapley value; NaN with more
    than 12 components) and "last".
    """
    total = state.moments.total
    coupling = state.moments.coupling / total
    parts = distances.shares(state.moments.scores / total, coupling.T @ coupling)
    columns = dict(zip(("alone", "average", "last"), parts, strict=True))
    return pd.DataFrame(columns, index=state.components)


#: The rows to which the limits of a robust fit refer.
CLEAN_ROWS = "new rows without outlying cells"


def limits(state: FitState, level: float = 0.95) -> pd.Series:
    """Return the quantiles at `level` of T2 and Q of new rows as a Series; see :func:`distances.limits`.

    For a robust fit, ``attrs["rows"]`` states that the limits refer to rows without outlying cells.
    """
    level = checked_level(level)
    values = distances.limits(state.moments, state.record.effective_n, level)
    series = pd.Series(values, name=f"{level:g}")
    if state.cleaning is not None:
        series.attrs["rows"] = CLEAN_ROWS
    return series


def optima(state: FitState) -> pd.DataFrame:
    """Return the distinct local optima, best first: "objective" (a share of the total) and "hits"."""
    frame = pd.DataFrame(state.record.optima, columns=["objective", "hits"])
    return frame.astype({"objective": float, "hits": int})


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
        widen(state, frame, rows, level)
    return frame


def glance(state: FitState) -> pd.DataFrame:
    """Return a summary of the fit in one row: sizes, nonzero loadings, all measures, correlation of scores,
    convergence."""
    return pd.DataFrame([facts(state)])


def facts(state: FitState) -> dict[str, Any]:
    """Return the row of :func:`glance`; a measure that the file of the fit does not contain is NaN."""
    record, measures = state.record, state.moments.known_measures()
    return {
        "method": record.method,
        "n": number_of_rows(record),
        "p": record.p,
        "k": record.k,
        "nonzeros": int(np.count_nonzero(state.V)),
        "variables": int(state.V.any(axis=1).sum()),
        "total_variance": state.moments.total,
        **{name: float(state.moments.measure(name)[-1]) if name in measures else np.nan for name in MEASURES},
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
    explained_squares = np.einsum("ij,ij->i", T @ np.linalg.pinv(state.V.T @ state.V), T).clip(min=0.0)
    length = (np.asarray(q, dtype=float) + explained_squares)[:, None]
    values = np.divide(T**2, length, out=np.full(T.shape, np.nan), where=length > 0)
    return pd.DataFrame(values.clip(max=1.0), index=scores.index, columns=scores.columns)


def spectrum(state: FitState) -> np.ndarray:
    """Eigenvalues of the covariance matrix, descending, in squared units of the (scaled) data.

    All eigenvalues that may be nonzero, if the smaller dimension of the data is at most 3000 and the data are
    in memory; otherwise, and for a fit from a file, only the k leading ones.
    """
    moments = state.moments
    matrix = moments.smaller_products()
    if matrix is None:
        return np.array(moments.pca, dtype=float)
    values = np.linalg.eigvalsh(matrix)[::-1].clip(min=0.0) * moments.unit**2
    # the leading eigenvalues must equal those stored in the fit
    count = min(len(moments.pca), len(values))
    values[:count] = moments.pca[:count]
    return np.asarray(values)


# --- variances ------------------------------------------------------------------------------------


#: The heading of the cumulative shares in tables.
CUMULATIVE = "Cumulative % of total variance"


@dataclass(frozen=True)
class Column:
    """A column of ``fit.variance``, and the corresponding row of the printed table of variances.

    Attributes
    ----------
    name : str
        Name of the column in the frame.
    values : callable
        Function of the moments that returns the values, shape (k,).
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
        Name of the measure, if the column contains one; older files may lack it.
    """

    name: str
    values: Callable[[FitMoments], np.ndarray]
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


#: The columns of ``fit.variance``, in this order.
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
    """Return the columns in VARIANCE whose measures are available, with one row per component."""
    measures = ("", *state.moments.known_measures())
    columns = {column.name: column.values(state.moments) for column in VARIANCE if column.measure in measures}
    return pd.DataFrame(columns, index=state.components).copy()


# --- imputations ----------------------------------------------------------------------------------
# Rubin's rules: Rubin (1987), Multiple Imputation for Nonresponse in Surveys, Wiley; degrees of freedom:
# Barnard and Rubin (1999), "Small-sample degrees of freedom with multiple imputation", Biometrika 86, 948.


@dataclass(frozen=True, eq=False)
class Pooled:
    """Standard errors of m estimates from M imputations.

    Attributes
    ----------
    error : ndarray of shape (m,)
        The root of the total variance T = W + (1 + 1/M) B: W is the mean of the variances within imputations,
        B the variance of the estimates between them.
    missing : ndarray of shape (m,)
        The fraction of missing information, (1 + 1/M) B / T.
    freedom : ndarray of shape (m,)
        Degrees of freedom of T.
    """

    error: np.ndarray
    missing: np.ndarray
    freedom: np.ndarray

    @classmethod
    def of(cls, variances: np.ndarray, estimates: np.ndarray, rows: int) -> Pooled:
        """Return the errors of estimates.

        Parameters
        ----------
        variances : ndarray of shape (m,)
            Mean over imputations of the squared standard errors.
        estimates : ndarray of shape (M, m)
        rows : int
            The number of independent rows, clusters or blocks.
        """
        count = len(estimates)
        between = (1.0 + 1.0 / count) * deviations(estimates) ** 2
        total = variances + between
        share = np.divide(between, total, out=np.zeros_like(total), where=total > 0)
        complete = rows - 1.0
        observed = (complete + 1.0) / (complete + 3.0) * complete * (1.0 - share)
        with np.errstate(divide="ignore"):
            freedom = 1.0 / (share**2 / (count - 1.0) + 1.0 / observed)
        return cls(np.sqrt(total), share, freedom)

    def half(self, level: float) -> np.ndarray:
        """Return half the lengths of intervals of a level, shape (m,)."""
        return np.asarray(stdtrit(self.freedom, 0.5 + level / 2.0) * self.error)


def within_imputations(values: np.ndarray, count: int) -> np.ndarray:
    """Return the mean over imputations of the variances of bootstrap draws, shape (m,).

    Parameters
    ----------
    values : ndarray of shape (B, m)
        Draw b is from imputation b modulo `count`. With fewer than two draws of each imputation, NaN is
        returned.
    """
    if len(values) < 2 * count:
        return np.full(values.shape[1], np.nan)
    return np.mean([deviations(values[m::count]) ** 2 for m in range(count)], axis=0)
