"""Resampling of a fit: bootstrap, stability, sample splitting and permutation tests, and their results."""

from __future__ import annotations

from abc import abstractmethod
from dataclasses import replace
from typing import TYPE_CHECKING, Any, ClassVar, Generic, TypeVar

import pandas as pd

from spcastat import plots
from spcastat.config import flag, one_of, real_number, whole_number
from spcastat.errors import ComponentsError, NoRowsError, OptionError, TooFewRowsError
from spcastat.progress import listening
from spcastat.report import resampling_tables as words
from spcastat.report.summary import Summary
from spcastat.results.call import OfFit, frame_of, source_for
from spcastat.results.delegation import attribute, computed, delegated
from spcastat.results.other_names import answered
from spcastat.results.pickling import Picklable
from spcastat.results.plotted import LEVEL, drawn, plot_of
from spcastat.state import FitState
from spcastat.state import component_frames as frames
from spcastat.state import resampling_frames as tables
from spcastat.state.resampled import Bootstrapped, Halved, Split, Tested
from spcastat.state.support_rule import rule_of
from spcastat.tables import Document

if TYPE_CHECKING:
    from spcastat.inference.samples import Resampling

Found = TypeVar("Found", Bootstrapped, Halved, Split, Tested)
Result = TypeVar("Result", bound="Resampled[Any]")
#: Upper limits on the numbers of permutations, and of draws or pairs. At these limits the Monte Carlo error
#: of a probability is below 0.2 %.
MOST_PERMUTATIONS, MOST_DRAWS = 1_000_000, 100_000


class Resampled(Picklable, Summary, Generic[Found]):
    """A result of resampling."""

    _kind: ClassVar[str]  # its name among the results that a fit stores

    def __init__(self, state: FitState, found: Found):
        self._state = state
        self._found: Found = found
        super().__init__(*self._shown())

    @abstractmethod
    def _shown(self) -> tuple[Document, dict[str, pd.DataFrame]]:
        """Return the printout and the frames."""

    interrupted: bool = attribute(
        lambda result: result._found.draws < result._found.asked,
        "Whether Ctrl-C ended the computation before all requested draws were made.",
    )


class Bootstrap(Resampled[Bootstrapped]):
    """Bootstrap intervals of a fit; prints as text and shows as HTML in a notebook.

    `frames` has "loadings" and "variance", the 95 % intervals.
    """

    _kind = "bootstrap"

    def _shown(self) -> tuple[Document, dict[str, pd.DataFrame]]:
        tables = {"loadings": self.conf_int(), "variance": self.variance_ci()}
        return words.bootstrap_document(self._state, self._found, 0.95, screen=True), tables

    conf_int = delegated(tables.conf_int)
    variance_ci = delegated(tables.variance_ci)
    selected: pd.DataFrame = attribute(
        lambda result: tables.spread_out(
            result._state, result._found.places, (result._found.values != 0).mean(axis=0)
        ),
        "Return the share of draws that selected each variable in each component, p x k.",
    )

    similarity = computed(tables.similarity)
    n: int = attribute("_found.draws", "Number of draws made.")

    @drawn(plots.plot_loadings, "intervals", "kind", "groups", "shape", intervals=LEVEL)
    def plot(self, *, level: float = 0.95) -> Any:
        return {"loadings": frames.loadings(self._state), "intervals": self.conf_int(level)}


class Stability(Resampled[Halved]):
    """How often fits of half of the rows select each loading; prints as text, shows as HTML in a notebook.

    `frames` holds "frequency", "clusters" and "associates".
    """

    _kind = "stability"

    def _shown(self) -> tuple[Document, dict[str, pd.DataFrame]]:
        tables = {"frequency": self.frequency, "clusters": self.clusters, "associates": self.associates}
        return words.stability_document(self._state, self._found, screen=True), tables

    frequency = computed(tables.frequency)

    stable: pd.DataFrame = attribute(
        lambda result: result.frequency >= result._found.threshold,
        "Whether the frequency of each loading reaches the threshold, p x k.",
    )
    bound = computed(tables.bound)

    similarity = computed(tables.similarity)
    clusters = computed(tables.clusters)
    associates = computed(tables.associates)
    threshold: float = attribute(
        "_found.threshold", "Loadings selected with at least this frequency are called stable."
    )

    n_pairs: int = attribute("_found.draws", "Number of pairs of halves fitted.")

    plot = plot_of(plots.plot_frequency, "plot", frequency="frequency", threshold="threshold")


class SplitInference(Resampled[Split]):
    """Intervals from one half of the rows for variables selected on the other; prints as text or HTML.

    `frames` has "loadings" and "variance", the 95 % intervals.
    """

    _kind = "split"

    def _shown(self) -> tuple[Document, dict[str, pd.DataFrame]]:
        tables = {"loadings": self.conf_int(), "variance": self.variance_ci()}
        return words.split_document(self._state, self._found, 0.95), tables

    conf_int = delegated(tables.split_conf_int, "conf_int")
    variance_ci = delegated(tables.split_variance_ci, "variance_ci")

    similarity = computed(tables.similarity)


class LoadingTest(Resampled[Tested]):
    """Permutation tests of the variables of every component; prints as text, shows as HTML in a notebook.

    `frames` holds "tests".
    """

    _kind = "tests"

    def _shown(self) -> tuple[Document, dict[str, pd.DataFrame]]:
        tests = tables.tests(self._state, self._found)
        return words.test_document(self._state, self._found), {"tests": tests}

    table: pd.DataFrame = attribute(
        lambda result: result._frames["tests"],
        'One row for each variable and component: "loading", "correlation", "p_value", "q_value".',
    )
    p_values: pd.DataFrame = attribute(
        lambda result: result._state.by_variable(result._found.p_value),
        "The p-values, p x k; NaN for a constant variable.",
    )
    q_values: pd.DataFrame = attribute(
        lambda result: result._state.by_variable(result._found.q_value),
        "The q-values, p x k: the smallest false discovery rate at which each test is significant.",
    )


# --- the methods of a fit ------------------------------------------------------------------------


class Inferred(OfFit):
    """Mixin with the methods that resample the data of a fit."""

    @answered
    def bootstrap(
        self,
        n: int = 999,
        *,
        select: bool = True,
        kind: str = "normal",
        data: Any = None,
        rng: Any = None,
        n_jobs: int = 1,
        progress: Any = False,
    ) -> Bootstrap:
        """Return bootstrap intervals for loadings and variances.

        In every draw of rows with replacement, columns are centred and scaled, formulas are re-estimated, and
        variables are selected again, by the method and options of the fit. Components are matched with those
        of the fit by the correlation of their scores, without rotation. The fit stores the result for its
        summary and files.

        Parameters
        ----------
        n : int
            Number of draws, 2 or more.
        select : bool
            Whether variables are selected again in each draw. False keeps those of the fit, which is not
            valid if they were selected with the same data.
        kind : {"normal", "percentile"}
            Whether intervals use standard errors or quantiles of the draws.
        data : optional
            The data of the fit, for a fit from a file.
        rng : None, int or numpy Generator
            Seed of the draws. None is a fixed seed.
        n_jobs : int
            Number of processes; -1 for all processors. The result does not depend on it.
        progress : bool or callable
            As for :func:`spcastat.spca`.

        Returns
        -------
        Bootstrap
            After Ctrl-C, the result for the draws made so far, marked as interrupted.

        Raises
        ------
        NoRowsError
            For a covariance matrix without `n_obs`, or too many draws for the memory with rows in chunks.
        WeightsError
            For weights that are not whole numbers; a row of weight 2 counts as two rows.
        TooFewRowsError
            If there are fewer than three rows.
        DataError
            If 100 successive samples have too low a rank or a constant column to scale, or if `data` are not
            those of the fit.

        Notes
        -----
        A full joint search in every draw would be too slow; sweeps and exchanges of single variables start
        from the loadings of the fit and from PCA. For a covariance matrix with `n_obs`, draws are Wishart
        matrices, scaled to unit variances if the matrix has these. Rows in chunks are drawn in one pass that
        accumulates the cross-products of all draws (at most half a GB), where the number of times a row
        enters a draw is a Poisson variable with mean one.
        """
        from spcastat.inference import bootstrap

        n = whole_number("n", n, 2, MOST_DRAWS)
        kind = one_of("kind", kind, ("normal", "percentile"))
        fixed = not flag("select", select)
        with listening(progress):
            given = self._resampling("bootstrap()", data, rng, n_jobs, fixed=fixed)
            if given.sampler.n < 3:  # with two rows, every sample that varies equals the data
                raise TooFewRowsError(
                    f"bootstrap() resamples rows, and {given.sampler.n} are too few: it needs 3 or more."
                )
            return self._stored(Bootstrap, bootstrap(given, n, kind=kind))

    @answered
    def stability(
        self,
        n_pairs: int = 50,
        *,
        threshold: float = 0.75,
        groups: float = 0.8,
        data: Any = None,
        rng: Any = None,
        n_jobs: int = 1,
        progress: Any = False,
    ) -> Stability:
        """Return how often fits of complementary halves of the rows select each loading.

        Halves are fitted by the method of the fit, with the same cardinalities if it has these. The fit
        stores the result for its summary and files.

        Parameters
        ----------
        n_pairs : int
            Number of pairs of halves.
        threshold : float in (0.5, 1]
            Loadings selected with at least this frequency are called stable.
        groups : float in (0, 1]
            Variables whose absolute correlations are all at least this large form a cluster.
        data, rng, n_jobs, progress
            As for `bootstrap`.

        Returns
        -------
        Stability

        Raises
        ------
        NoRowsError, WeightsError, DataError
            As for `bootstrap`.
        TooFewRowsError
            If a half has too few rows for k components.

        Notes
        -----
        Shah and Samworth (2013), JRSS B 75. Selection from half of the rows has less power, so that the
        result is conservative and weak signals are missed.
        """
        from spcastat.inference import stability

        n_pairs = whole_number("n_pairs", n_pairs, 1, MOST_DRAWS)
        threshold = real_number("threshold", threshold, 0.5, 1.0, open_low=True)
        groups = real_number("groups", groups, 0.0, 1.0, open_low=True)
        with listening(progress):
            given = self._halved("stability()", data, rng, n_jobs)
            return self._stored(Stability, stability(given, n_pairs, threshold=threshold, groups=groups))

    @answered
    def split_inference(
        self, n: int = 999, *, data: Any = None, rng: Any = None, n_jobs: int = 1, progress: Any = False
    ) -> SplitInference:
        """Select variables on one half of the rows, and return intervals for their loadings from the other.

        The target is the leading eigenvector of the true covariance matrix on the selected variables, which
        may differ from those of the fit. The fit stores the result for its files.

        Parameters
        ----------
        n : int
            Number of bootstrap samples of the second half, 2 or more.
        data, rng, n_jobs, progress
            As for `bootstrap`; another `rng` gives another split.

        Returns
        -------
        SplitInference

        Raises
        ------
        NoRowsError, WeightsError, DataError, TooFewRowsError
            As for `stability`.
        """
        from spcastat.inference import split

        n = whole_number("n", n, 2, MOST_DRAWS)
        with listening(progress):
            given = self._halved("split_inference()", data, rng, n_jobs)
            return self._stored(SplitInference, split(given, n))

    @answered
    def test_loadings(
        self,
        n: int = 999,
        *,
        fdr: str = "bh",
        data: Any = None,
        rng: Any = None,
        n_jobs: int = 1,
        progress: Any = False,
    ) -> LoadingTest:
        """Test by permutation whether each variable is associated with each component.

        The null hypothesis is that the variable is independent of all others. The statistic is its
        correlation with the score of the component in a fit without the variable, after regressing out the
        scores of the other components. All variables are tested, whether selected by the fit or not: the
        q-values, computed over all of them, account for the selection, while the p-values of selected
        variables alone are small even in noise. The fit stores the result for its files.

        Parameters
        ----------
        n : int
            Number of permutations. The smallest p-value is 1 / (n + 1).
        fdr : {"bh", "by"}
            Control of the false discovery rate over the variables of a component: Benjamini and Hochberg, for
            independent or positively dependent tests, or Benjamini and Yekutieli, for any dependence.
        data, rng, n_jobs, progress
            As for `bootstrap`.

        Returns
        -------
        LoadingTest

        Raises
        ------
        NoRowsError
            For a covariance matrix, which has no rows to permute, and rows in chunks.
        WeightsError, DataError
            As for `bootstrap`.
        ComponentsError
            If there are as many components as variables.

        Notes
        -----
        The fit without a variable starts from PCA of the others, so that it does not depend on it. For a
        component with c nonzeros among p variables, the smallest possible q is about p / (c (n + 1)), so that
        many variables require many permutations.
        """
        from spcastat.inference import permutation_test
        from spcastat.resample.sampler import RowSampler

        n = whole_number("n", n, 1, MOST_PERMUTATIONS)
        method = f"fdr_{one_of('fdr', fdr, ('bh', 'by'))}"
        p, k = self._state.V.shape
        if k >= p:
            raise ComponentsError(
                f"test_loadings() fits without each variable in turn, and {k} components need more than {p} "
                "variables; fit fewer components."
            )
        with listening(progress):
            given = self._resampling("test_loadings()", data, rng, n_jobs)
            if not isinstance(given.sampler, RowSampler):
                none = "rows in chunks are not all in memory"
                raise NoRowsError(
                    "test_loadings() permutes rows, and "
                    f"{none if self._state.record.from_rows else 'a covariance matrix has none'}; "
                    "fit rows that fit into memory with spca(data, ...), or use bootstrap() or stability()."
                )
            if given.sampler.gaps is not None and given.sampler.gaps.missing.any():
                raise OptionError(
                    "test_loadings() permutes the values of variables, and the conditional means that "
                    "replace missing values depend on the values they were computed from. Use "
                    "bootstrap() or stability(), which estimate the moments again in every draw."
                )
            if rule_of(self._state.record) is not None:
                raise OptionError(
                    "test_loadings() fits without each selected variable in turn, and the rule of this fit "
                    "(include, exclude, disjoint, together) applies to all of them. Use bootstrap() or "
                    "stability(), whose draws obey it."
                )
            return self._stored(LoadingTest, permutation_test(given, n, fdr=method))

    @property
    def resampled(self) -> dict[str, Summary]:
        """The last result of each kind, by name: "bootstrap", "stability", "split", "tests".

        It is saved in files, so that a fit from a file has it too.
        """
        kinds: tuple[type[Resampled[Any]], ...] = (Bootstrap, Stability, SplitInference, LoadingTest)
        found = {home: getattr(self._state.trust, home._kind) for home in kinds}
        return {home._kind: home(self._state, one) for home, one in found.items() if one is not None}

    # --- helpers --------------------------------------------------------------------------------

    def _resampling(self, what: str, data: Any, rng: Any, n_jobs: Any, **how: bool) -> Resampling:
        """Return what resampling needs to draw rows and refit; `what` is the name of the call in messages."""
        from spcastat.inference.samples import Resampling
        from spcastat.resample import seed_of, workers
        from spcastat.resample.refit import plan_of, refit_of
        from spcastat.resample.sampler import sampler_of
        from spcastat.resample.streamed import StreamRows

        seed, jobs = seed_of(rng), workers(n_jobs)
        source, call = source_for(self._state, self._source, self._call, data, what)
        plan = plan_of(self._state, None if call is None else call.arguments)
        frame = frame_of(source, None if call is None else call.data, data)
        sampler: Any
        if source.stream is not None:
            sampler = StreamRows(source, what)
        else:
            sampler = sampler_of(source, bool(plan.rows_for), frame, what)
        return Resampling(sampler, refit_of(self._state, plan, **how), source.op, seed, jobs)

    def _halved(self, what: str, data: Any, rng: Any, n_jobs: Any) -> Resampling:
        """Return the data and the method for fits of halves, which must have enough rows."""
        given = self._resampling(what, data, rng, n_jobs, own_card=True)
        n, k = given.sampler.n // 2, self._state.V.shape[1]
        if n < k + 2:
            raise TooFewRowsError(
                f"{what} fits half of the rows, and {n} are too few for k={k}: a half needs {k + 2} or more."
            )
        return given

    def _stored(self, kind: type[Result], found: Any) -> Result:
        """Return a result, which the fit stores for its summary and files."""
        self._state = replace(self._state, trust=replace(self._state.trust, **{kind._kind: found}))
        return kind(self._state, found)
