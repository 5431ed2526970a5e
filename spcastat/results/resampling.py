"""Resampling of a fit: bootstrap, stability, sample splitting and permutation tests, and their results."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, ClassVar, Literal, NamedTuple

import pandas as pd

from spcastat import plots
from spcastat.arguments import (
    MOST_DRAWS,
    MOST_PERMUTATIONS,
    flag,
    one_of,
    real_number,
    seed_of,
    shown,
    whole_number,
)
from spcastat.errors import (
    ComponentsError,
    DataError,
    NoRowsError,
    OptionError,
    TooFewRowsError,
    WeightsError,
)
from spcastat.fit import frames
from spcastat.fit.call import Call
from spcastat.fit.data_again import read_again, require_same_moments, require_same_order
from spcastat.fit.frames import loadings, spectrum
from spcastat.fit.record import Bootstrapped, HalfSamples, Split, Tested
from spcastat.fit.state import FitState, Picklable, rule_of
from spcastat.inputs.data import Data
from spcastat.progress import listening, workers
from spcastat.search.climbing import GRAM_LIMIT
from spcastat.show import inference_prints
from spcastat.show.facts import drawn_shares
from spcastat.show.renderings import Outcome
from spcastat.show.resampling_tables import (
    bootstrap_document,
    split_document,
    stability_document,
    test_document,
)
from spcastat.show.resampling_templates import FREQUENCY_LABEL, intervals_label

if TYPE_CHECKING:
    from matplotlib.axes import Axes

    from spcastat.assess.samples import Resampling
    from spcastat.hints import IntervalKind, ParallelAnalysis, Progress, Rng, Rows, Several
    from spcastat.inputs.samplers import Sampler
    from spcastat.show.grid import Document
    from spcastat.show.renderings import Screen

#: The smallest number of draws: three draws allow intervals of 50 %, and two only lower levels.
LEAST_DRAWS = 3
#: The searches available for bootstrap draws.
SEARCHES = ("near", "quick")
#: Upper limit on the number of splits.
MOST_REPEATS = 10_000


class FromDraws(Picklable, Outcome):
    """The base class of results of resampling."""

    #: The field of :class:`spcastat.fit.record.Inference` for such results.
    _kind: ClassVar[str]

    def __init__(self, state: FitState, numbers: Any) -> None:
        self._state = state
        self._numbers = numbers

    @property
    def n(self) -> int:
        """Number of draws made: samples, pairs of halves, or permutations."""
        return int(self._numbers.draws)

    @property
    def interrupted(self) -> bool:
        """Whether Ctrl-C ended the computation before all requested draws were made."""
        return bool(self._numbers.draws < self._numbers.asked)


class Bootstrap(FromDraws):
    """Draws of a fit, and intervals computed from them; prints as text and shows as HTML in a notebook."""

    _kind = "bootstrap"
    _numbers: Bootstrapped

    def _document(self) -> Document:
        return bootstrap_document(self._state, self._numbers, 0.95)

    def _screen(self) -> Screen:
        return inference_prints.print_of_bootstrap(self._state, self._numbers, self.notes)

    @property
    def frames(self) -> dict[str, pd.DataFrame]:
        """The 95 % intervals: "loadings" contains `table`, and "variance" the result of `variance_ci()`."""
        return {"loadings": self.table, "variance": frames.variance_ci(self._state, self._numbers)}

    @property
    def table(self) -> pd.DataFrame:
        """The default 95 % intervals of `conf_int`; with fewer than 39 draws there are no bounds."""
        return frames.conf_int(self._state, self._numbers)

    @property
    def selected(self) -> pd.DataFrame:
        """The share of draws that selected each variable in each component, p x k."""
        return frames.selected(self._state, self._numbers)

    @property
    def similarity(self) -> pd.Series:
        """The mean absolute correlation of the scores of the draws with the scores of the fit, length k."""
        return frames.similarity(self._state, self._numbers)

    def conf_int(self, level: float = 0.95, *, kind: IntervalKind = "hull") -> pd.DataFrame:
        """Return an interval for every nonzero loading of the fit, and how often loadings were selected.

        An interval shows how much a loading varies with new rows, selection included; it includes zero if
        fewer than 97.5 % of the draws give the loading the sign that it has in the fit. test_loadings()
        tests, with more power, whether the variable belongs to the component.

        Parameters
        ----------
        level : float in (0, 1)
            Confidence level.
        kind : {"hull", "percentile"}
            "hull" is the normal interval, the estimate plus or minus a multiple of the standard error over
            draws, extended to zero unless a share of at least (1 + `level`) / 2 of the draws gives the
            loading the sign of the estimate. The extension allows for the selection of the largest estimates,
            which the normal interval ignores. The "percentile" interval lies between quantiles of the draws;
            it is shifted towards zero, so its coverage of small loadings is somewhat lower.

        Returns
        -------
        DataFrame
            The columns are "component", "term", "estimate", "std_error" (of the draws), "lower", "upper", and
            "selected", the share of draws that selected the variable. Bounds are within [-1, 1]; a loading
            that is zero in the fit but not in some draw has a row without bounds (NaN).

        Raises
        ------
        OptionError
            If `level` or `kind` is not allowed, or if there are fewer than (1 + level) / (1 - level) draws
            (39 for 95 %, 199 for 99 %). If there are too few draws, `table` still contains the standard
            errors.

        Notes
        -----
        A loading that is zero in the fit is not an estimate with an error, so an interval around it
        would be meaningless: use "selected". A zero loading that no draw selected has no row.

        All kinds assume that the component exceeds noise, which :func:`spcastat.choose_k` tests, and that the
        best sparse components of the population are clearly better than others. If fits with other variables
        explain nearly as much in the population, the intervals cover the loadings of its best fit less often
        than the nominal `level`.
        """
        intervals = frames.conf_int(self._state, self._numbers, level, kind)
        frames.require_intervals(self._numbers, level)
        return intervals

    def variance_ci(
        self, level: float = 0.95, *, kind: Literal["normal", "percentile"] = "normal"
    ) -> pd.DataFrame:
        """Return an interval for the variance of the scores of each component on new rows.

        If variables are scaled to unit variances, the variance refers to variables in units of their standard
        deviations in the population. Scores of new rows by ``fit.transform`` are in units of the standard
        deviations of the fit, which are themselves estimates. The interval therefore covers the variance of
        these scores less often, in particular with few rows.

        Parameters
        ----------
        level : float in (0, 1)
            Confidence level.
        kind : {"normal", "percentile"}
            Normal intervals are computed for the logarithm of the variance, whose distribution is less
            skewed, and allow for the error of the optimism (see Notes); percentile intervals do not.

        Returns
        -------
        DataFrame
            One row per component: "component", "estimate" (the variance on the rows of the fit), "std_error",
            "lower", "upper", "held_out". "held_out" is the centre of the interval (of a normal interval, on
            the logarithmic scale), and the interval may lie below the estimate. Bounds are NaN if "held_out"
            or the variance of a draw is not positive.

        Raises
        ------
        OptionError
            If `level` or `kind` is not allowed, or if there are fewer than (1 + level) / (1 - level) draws
            (39 for 95 %). If there are too few draws, ``frames["variance"]`` still contains the standard
            errors.

        Notes
        -----
        ``held_out`` is the expected variance on new rows: the estimate minus Efron's optimism, the mean
        excess of the variance of the components of a draw in the rows of the draw over their variance in the
        rows of the fit. ``std_error`` is the standard deviation of the variance of the fit's components over
        the rows of the draws. The optimism is also an estimate; on the logarithmic scale its standard error
        is taken as half its size. Percentile intervals are quantiles of the variances of the fit's components
        on the rows of the draws, times ``held_out`` / ``estimate``.
        """
        intervals = frames.variance_ci(self._state, self._numbers, level, kind)
        frames.require_intervals(self._numbers, level)
        return intervals

    def plot(
        self,
        *,
        max_rows: int | None = None,
        components: Several | None = None,
        level: float = 0.95,
        kind: IntervalKind = "hull",
        ax: Axes | None = None,
    ) -> Axes:
        """Draw loadings as bars with intervals; bars are paler if the interval includes zero.

        Parameters
        ----------
        max_rows : int, optional
            The largest number of variables to show.
        components : sequence of int or str, optional
            Components, by number (from 1) or by name; by default all.
        level, kind
            As for `conf_int`.
        ax : Axes, optional
            By default a new figure is created.

        Returns
        -------
        Axes

        Raises
        ------
        OptionError
            If there are too few draws for intervals of this level; see `conf_int`.
        """
        intervals = self.conf_int(level, kind=kind)
        return plots.plot_loadings(
            loadings(self._state),
            max_rows=max_rows,
            components=components,
            intervals=intervals,
            shares=drawn_shares(self._state),
            label=intervals_label(level, self._numbers.draws),
            ax=ax,
        )


class Stability(FromDraws):
    """How often fits to half of the rows select each loading; prints as text, shows as HTML in a notebook."""

    _kind = "stability"
    _numbers: HalfSamples

    def _document(self) -> Document:
        return stability_document(self._state, self._numbers)

    def _screen(self) -> Screen:
        return inference_prints.print_of_stability(self._state, self._numbers, self.notes)

    @property
    def frames(self) -> dict[str, pd.DataFrame]:
        """The tables "frequency", "variable_clusters" and "associates"."""
        return {
            "frequency": self.frequency,
            "variable_clusters": self.variable_clusters,
            "associates": self.associates,
        }

    @property
    def threshold(self) -> float:
        """Loadings selected with at least this frequency are called stable."""
        return self._numbers.threshold

    @property
    def frequency(self) -> pd.DataFrame:
        """How often fits to half of the rows selected each loading, p x k, shares in [0, 1]."""
        return frames.frequency(self._state, self._numbers)

    @property
    def table(self) -> pd.DataFrame:
        """The frequencies; see `frequency`."""
        return self.frequency

    @property
    def stable(self) -> pd.DataFrame:
        """Whether the frequency of each loading reaches the threshold, p x k."""
        return self.frequency >= self.threshold

    @property
    def bound(self) -> pd.Series:
        """A bound on the expected number of false selections, in each component and in all together.

        The bound is c^2 / ((2 threshold - 1) p), where c is the mean number of variables selected by the fits
        of halves, and p the number of variables in these fits. It is at most c, and is uninformative if it
        equals c.
        """
        return frames.bound(self._state, self._numbers)

    @property
    def similarity(self) -> pd.Series:
        """The mean absolute correlation of the scores of the halves with the scores of the fit, length k."""
        return frames.similarity(self._state, self._numbers)

    @property
    def variable_clusters(self) -> pd.DataFrame:
        """Clusters of correlated variables, and how often any of their members was selected.

        The columns are "component", "members" (labels), "frequency" (the share of fits that select any
        member) and "largest" (the share that selects the member selected most often). There is a row for
        every cluster of at least two variables and every component that selected one of them.
        """
        return frames.clusters(self._state, self._numbers)

    @property
    def associates(self) -> pd.DataFrame:
        """Variables that replaced a selected variable in fits of halves.

        The columns are "component", "term" (selected in the fit), "associate" (not selected in the fit),
        "share" (of the halves that did not select the term, the share that selected the associate), "beside"
        (the same share for the halves that selected the term), and "correlation" (of the two variables).
        """
        return frames.associates(self._state, self._numbers)

    def plot(
        self, *, max_rows: int | None = None, components: Several | None = None, ax: Axes | None = None
    ) -> Axes:
        """Draw the frequencies of each component as bars, and a line at the threshold.

        Bars of variables that the fit does not select are pale. Variables selected in the fit or in at least
        a tenth of the halves are shown, the most frequent ones first.

        Parameters
        ----------
        max_rows : int, optional
            The largest number of variables to show; by default as many as there is room for.
        components : sequence of int or str, optional
            Components, by number (from 1) or by name; by default all.
        ax : Axes, optional
            By default a new figure is created.

        Returns
        -------
        Axes
        """
        return plots.plot_loadings(
            frames.frequent(self._state, self._numbers),
            max_rows=max_rows,
            components=components,
            selected=loadings(self._state),
            threshold=self.threshold,
            shares=drawn_shares(self._state),
            label=FREQUENCY_LABEL,
            ax=ax,
        )


class SplitInference(FromDraws):
    """Correlations, on half of the rows, of variables selected on the other half; prints as text or HTML."""

    _kind = "split"
    _numbers: Split

    def _document(self) -> Document:
        return split_document(self._state, self._numbers, 0.95)

    def _screen(self) -> Screen:
        return inference_prints.print_of_split(self._state, self._numbers, self.notes)

    @property
    def frames(self) -> dict[str, pd.DataFrame]:
        """The 95 % intervals "loadings" (`conf_int`) and "variance" (`variance_ci`), and "p_values"."""
        return {"loadings": self.conf_int(), "variance": self.variance_ci(), "p_values": self.p_values}

    @property
    def repeats(self) -> int:
        """Number of splits."""
        return self._numbers.repeats

    @property
    def p_values(self) -> pd.DataFrame:
        """P-values of the hypotheses of zero correlation, adjusted for all loadings, p x k.

        With several splits they are combined (Meinshausen, Meier and Bühlmann, 2009), and control the
        family-wise error rate. The p-value is 1 for a variable that no split selected, and NaN for a variable
        that was selected without other variables.
        """
        return frames.split_p_values(self._state, self._numbers)

    @property
    def similarity(self) -> pd.Series:
        """The absolute correlation of scores of the selecting half with scores of the fit, length k."""
        return frames.similarity(self._state, self._numbers)

    def conf_int(self, level: float = 0.95) -> pd.DataFrame:
        """Return an interval for the correlation of each variable that the first half selected.

        The correlation is computed on the second half, between the variable and the score of the component
        from the other selected variables with the weights of the first half. Zero means that the variable is
        unrelated to these variables.

        Parameters
        ----------
        level : float in (0, 1)
            Confidence level.

        Returns
        -------
        DataFrame
            The columns are "component", "term", "loading" (on the first half), "correlation", "std_error",
            "lower", "upper". The limits are based on Fisher's z and the t distribution. They are NaN if no
            other variable was selected in the component.

        Raises
        ------
        OptionError
            If `level` is not allowed.
        """
        return frames.split_conf_int(self._state, self._numbers, level)

    def variance_ci(self, level: float = 0.95) -> pd.DataFrame:
        """Return an interval for the variance of each component of the first half on the second half.

        Parameters
        ----------
        level : float in (0, 1)
            Confidence level.

        Returns
        -------
        DataFrame
            One row per component: "component", "estimate", "std_error", "lower", "upper".

        Raises
        ------
        OptionError
            If `level` is not allowed.
        """
        return frames.split_variance_ci(self._state, self._numbers, level)


class LoadingTest(FromDraws):
    """Permutation tests of the variables of every component; prints as text, shows as HTML in a notebook."""

    _kind = "tests"
    _numbers: Tested

    def _document(self) -> Document:
        return test_document(self._state, self._numbers)

    def _screen(self) -> Screen:
        return inference_prints.print_of_tests(self._state, self._numbers, self.notes)

    @property
    def frames(self) -> dict[str, pd.DataFrame]:
        """A dictionary that contains `table` as "tests"."""
        return {"tests": self.table}

    @property
    def table(self) -> pd.DataFrame:
        """One row for each variable and component.

        The columns are "component", "term", "loading", "correlation" (the statistic), "p_value" and
        "q_value".
        """
        return frames.tests(self._state, self._numbers)

    @property
    def p_values(self) -> pd.DataFrame:
        """The p-values, p x k; NaN for a constant variable."""
        return self._state.by_variable(self._numbers.p_value)

    @property
    def q_values(self) -> pd.DataFrame:
        """The q-values, p x k: the smallest false discovery rate at which each test is significant."""
        return self._state.by_variable(self._numbers.q_value)


# --- the computations ------------------------------------------------------------------------------


@dataclass(frozen=True, eq=False)
class Drawing:
    """A fit, its data, and the options for resampling its rows.

    Attributes
    ----------
    state : FitState
    source : Data or None
        The data of the fit; None for a fit from a file.
    call : Call or None
        The call that made the fit.
    data, rng, n_jobs, progress
        As for `SpcaResult.bootstrap`.
    """

    state: FitState
    source: Data | None
    call: Call | None
    data: Rows | None
    rng: Rng
    n_jobs: int
    progress: Progress

    @property
    def seed_and_jobs(self) -> tuple[int, int]:
        """The seed of the draws, and the number of processes."""
        return seed_of(self.rng), workers(self.n_jobs)


def bootstrap(
    fit: Drawing,
    n: int,
    *,
    select: bool,
    search: str | None,
    choice: ParallelAnalysis | None,
) -> Bootstrapped:
    """Return loadings and variances of `n` draws of rows with replacement; see `SpcaResult.bootstrap`."""
    from spcastat.assess.samples import bootstrap as draws_of

    k_found = None if choice is None else number_found(fit.state, choice)
    n = whole_number("n", n, LEAST_DRAWS, MOST_DRAWS)
    fixed = not flag("select", select)
    starts = _search_of_draws(fit.state, search, fixed)
    with listening(fit.progress):
        resampling = _resampling(fit, "bootstrap()", fixed=fixed, starts=starts)
        _require_three(resampling.sampler)
        _require_draws_of_each(resampling.sampler, n)
        draws = replace(draws_of(resampling, n), k_found=k_found)
        if not resampling.sampler.imputations:
            return draws
        from spcastat.assess.samples import with_imputations

        return with_imputations(draws, resampling, _search_of_draws(fit.state, search, False))


def _search_of_draws(state: FitState, search: str | None, fixed: bool) -> str:
    """Return the search of each draw, by default "quick" if it is available."""
    record, p = state.record, len(state.V)
    options = record.options
    groups = bool(options.get("disjoint")) and options.get("card") is options.get("variance") is None
    searches: tuple[str, ...] = () if fixed or record.method != "joint" else SEARCHES
    if groups or p > GRAM_LIMIT:
        searches = searches[:1]
    if search is None:
        return searches[-1] if searches else "near"
    if one_of("search", search, SEARCHES) not in searches:
        raise OptionError(
            f"search={search!r} was given, which is not available for this fit: it requires method='joint' "
            f"and select=True; 'quick' also requires at most {GRAM_LIMIT} variables and a fit that is not a "
            "partition of all variables (disjoint=True without card). Leave search out."
        )
    return search


def bootstrap_loadings(fit: Drawing, n: int, *, select: bool) -> Bootstrapped:
    """Return sparse loadings of `n` draws of rows with replacement; see `SparseLoadings.bootstrap`."""
    from spcastat.assess.samples import LoadingDraws
    from spcastat.assess.samples import bootstrap_loadings as draws_of

    n = whole_number("n", n, LEAST_DRAWS, MOST_DRAWS)
    select, (seed, jobs) = flag("select", select), fit.seed_and_jobs
    with listening(fit.progress):
        rows = _rows_to_draw(fit, "bootstrap()", seed)
        _require_three(rows.sampler)
        draws = LoadingDraws.of(fit.state, rows.sampler, rows.source.op, select, seed)
        return draws_of(draws, n, jobs, rows.drawn, rows.notice)


def _require_three(sampler: Sampler) -> None:
    """Raise TooFewRowsError for fewer than three rows: of two rows, every draw that varies is the data."""
    if sampler.n < 3:
        raise TooFewRowsError(f"bootstrap() resamples rows, but {sampler.n} are too few: it needs 3 or more.")


def _require_draws_of_each(sampler: Sampler, n: int) -> None:
    """Raise OptionError for fewer than two draws of each imputation, which have no variance."""
    minimum = 2 * len(sampler.imputations)
    if n < minimum:
        raise OptionError(
            f"n={n} was given for {len(sampler.imputations)} imputations, and successive draws use "
            f"successive imputations; give n={minimum} or more (999 by default)."
        )


def stability(fit: Drawing, n: int, *, threshold: float, min_correlation: float) -> HalfSamples:
    """Return the selections of `n` pairs of halves of the rows; see `SpcaResult.stability`."""
    from spcastat.assess.samples import stability as halves_of

    n = whole_number("n", n, 1, MOST_DRAWS)
    threshold = real_number("threshold", threshold, 0.5, 1.0, open_low=True)
    group_correlation = real_number("min_correlation", min_correlation, 0.0, 1.0, open_low=True)
    with listening(fit.progress):
        resampling = _halved(fit, "stability()")
        return halves_of(resampling, n, threshold=threshold, groups=group_correlation)


def split_inference(fit: Drawing, n: int, *, repeats: int) -> Split:
    """Return results of splitting the rows into halves; see `SpcaResult.split_inference`."""
    from spcastat.assess.split_samples import split

    n = whole_number("n", n, LEAST_DRAWS, MOST_DRAWS)
    repeats = whole_number("repeats", repeats, 1, MOST_REPEATS)
    with listening(fit.progress):
        return split(_halved(fit, "split_inference()", one_table=True), n, repeats)


def test_loadings(fit: Drawing, n: int, *, fdr: str) -> Tested:
    """Return p- and q-values of all variables from `n` permutations; see `SpcaResult.test_loadings`."""
    from spcastat.assess.permutation import permutation_test

    n = whole_number("n", n, 1, MOST_PERMUTATIONS)
    method = f"fdr_{one_of('fdr', fdr, ('bh', 'by'))}"
    p, k = fit.state.V.shape
    if k >= p:
        raise ComponentsError(
            f"test_loadings() repeats the fit without each variable in turn, and {k} components need more "
            f"than {p} variables; fit fewer components."
        )
    with listening(fit.progress):
        resampling = _resampling(fit, "test_loadings()", one_table=True)
        _require_permutable(fit.state, resampling)
        return permutation_test(resampling, n, fdr=method)


def _require_permutable(state: FitState, given: Resampling) -> None:
    """Raise an error unless the rows are complete and in memory, and the fit has no rule for supports."""
    from spcastat.inputs.samplers import RowSampler

    if not isinstance(given.sampler, RowSampler):
        raise NoRowsError(
            "test_loadings() permutes rows, which a covariance matrix does not have; fit rows with "
            "spca(data, ...), or use bootstrap() or stability()."
        )
    if given.sampler.groups.weights is not None:
        raise WeightsError(
            "test_loadings() permutes rows, but rows with sampling weights are not exchangeable; use "
            "bootstrap() or stability()."
        )
    if given.sampler.gaps is not None and given.sampler.gaps.missing.any():
        raise OptionError(
            "test_loadings() permutes values, but the rows of the fit have missing values: use "
            "bootstrap() or stability(), which estimate the moments again in every draw."
        )
    if rule_of(state.record) is not None:
        raise OptionError(
            "test_loadings() fits without each selected variable in turn, which the rule of this fit "
            "(include, exclude, disjoint, together) does not allow: use bootstrap() or stability()."
        )


def number_found(state: FitState, choice: ParallelAnalysis) -> int:
    """Return the number of components that `choice` found for the same data.

    Raises
    ------
    OptionError
        If `choice` is not a result of choose_k(), or of choose() without `k`, or belongs to other data.
    """
    tests: Any = getattr(choice, "k_choice", choice)  # a result of choose() has None if k was given
    check = getattr(type(tests), "_require_data_of", None)
    if check is None:
        raise OptionError(
            f"choice={shown(choice)} was given; it must be the result of choose_k(), or of choose() without "
            "k=."
        )
    check(tests, spectrum(state), "choice=")
    return int(tests.k)


def _resampling(
    fit: Drawing,
    analysis: str,
    *,
    one_table: bool = False,
    fixed: bool = False,
    own_card: bool = False,
    starts: str = "near",
) -> Resampling:
    """Return the data, the sampler and the refit for an analysis by resampling.

    `analysis` is the name of the call in messages. `one_table` is passed to `_rows_to_draw`, and the other
    options are passed to `refit_of`.
    """
    from spcastat.assess.samples import Resampling, plan_of, refit_of

    seed, jobs = fit.seed_and_jobs
    plan = plan_of(fit.state)
    rows = _rows_to_draw(fit, analysis, seed, bool(plan.rows_for), one_table)
    refit = refit_of(fit.state, plan, fixed=fixed, own_card=own_card, starts=starts)
    names = fit.state.spec.columns
    return Resampling(rows.sampler, refit, rows.source.op, seed, jobs, rows.drawn, rows.notice, names)


class _Drawn(NamedTuple):
    """Data in memory with their sampler; a description of the draws; a remark on dependent rows."""

    source: Data
    sampler: Sampler
    drawn: str
    notice: str


def _rows_to_draw(
    fit: Drawing, analysis: str, seed: int, keep_rows: bool = False, one_table: bool = False
) -> _Drawn:
    """Return the rows of a fit, or its covariance matrix, to draw from.

    With `one_table` imputations raise an error, for analyses whose p-values and intervals would ignore them.
    """
    data = original_data(fit.state, fit.source, fit.data, analysis).in_memory(seed)
    if one_table:
        data.require_one_table(analysis)
    return _Drawn(data, data.sampler(analysis, keep_rows), data.sampling_text, data.remark().text)


def _halved(fit: Drawing, analysis: str, one_table: bool = False) -> Resampling:
    """Return the data and the refit for fits of halves; raise TooFewRowsError for too few rows."""
    resampling = _resampling(fit, analysis, one_table=one_table, own_card=True, starts="alone")
    n, k = resampling.sampler.n // 2, fit.state.V.shape[1]
    if n < k + 2:
        raise TooFewRowsError(
            f"{analysis} fits half of the rows, but {n} are too few for k={k}: each half needs at least "
            f"{k + 2}."
        )
    return resampling


# --- the data of a fit, perhaps given again -------------------------------------------------------


def original_data(state: FitState, data: Data | None, table: Any, analysis: str) -> Data:
    """Return the data of a fit.

    Parameters
    ----------
    state : FitState
    data : Data or None
        None for a fit from a file.
    table : object
        The data of a fit from a file, given again as a table or `Data`.
    analysis : str
        The name of the analysis, for messages.

    Raises
    ------
    NoRowsError
        For a fit from a file without `table`.
    OptionError
        If `table` is given although the fit has its data.
    WeightsError
        For a fit from a file whose rows had weights, if `table` has none.
    DataError
        If `table` does not contain the data of the fit.
    """
    if data is not None:
        if table is not None:
            raise OptionError(
                f"data was given to {analysis}, but the fit has its data. Leave data out; it is for fits "
                "from a file."
            )
        data.require_same()
        return data
    if table is None:
        raise NoRowsError(
            f"{analysis} needs the data, which a fit from a file does not have: give "
            f"{analysis[:-1]}data=...)."
        )
    data_again = table if isinstance(table, Data) else read_again(state, table, analysis)
    if data_again.from_rows != state.record.from_rows:
        kinds = ("rows", "a covariance matrix")
        given_kind, fitted = kinds if data_again.from_rows else kinds[::-1]
        raise DataError(f"data has {given_kind}, but the fit used {fitted}: give the data that were fitted.")
    require_same_moments(state, data_again)
    require_same_order(state, data_again, analysis)
    return data_again
