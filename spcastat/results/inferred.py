"""How sure a fit is: each method draws from its data, remembers what came out, and hands it back."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any

from spcastat.config import flag, one_of, real_number, whole_number
from spcastat.engine.inputs import Source
from spcastat.errors import NoRowsError, OptionError, TooFewRowsError
from spcastat.progress import listening
from spcastat.results.again import frame_of, source_for
from spcastat.state import FitState

if TYPE_CHECKING:
    from spcastat.operators import Operator
    from spcastat.report.summary import Summary
    from spcastat.resample.refit import Refit
    from spcastat.resample.sampler import Sampler
    from spcastat.resample.streamed import StreamRows
    from spcastat.results.call import Call
    from spcastat.results.trust import Bootstrap, LoadingTest, SplitInference, Stability

#: The most permutations, and the most draws or pairs that are fitted: their Monte Carlo error is below 0.2 %.
MOST_PERMUTATIONS, MOST_DRAWS = 1_000_000, 100_000


class Inferred:
    """The methods of a result that resample its data."""

    _state: FitState
    _source: Source | None
    _call: Call | None

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
        """Return intervals for loadings and variances from refits of rows drawn with replacement.

        In every draw, columns are centred and scaled, formulas learn, and variables are selected anew, by the
        method of the fit with its options. Components are matched with those of the fit by the correlation of
        their scores; nothing is rotated. The fit remembers the result: its summary and files show it.

        Parameters
        ----------
        n : int
            Number of draws, 2 or more.
        select : bool
            Whether draws select their variables anew. False keeps those of the fit, and is not valid where
            the same data chose them.
        kind : {"normal", "percentile"}
            Estimates and standard errors, or quantiles of the draws.
        data : optional
            The data of the fit, where it does not have them: a fit from a file.
        rng : None, int or numpy Generator
            Seed of the draws. None is a fixed seed.
        n_jobs : int
            Processes that share the draws; -1 for all processors. The result is the same to the last bit.
        progress : bool or callable
            As for :func:`spcastat.spca`.

        Returns
        -------
        Bootstrap
            Of the draws that were made, if Ctrl-C ends it early, which it says.

        Raises
        ------
        NoRowsError
            For a covariance matrix without `n_obs`, and more draws of rows in chunks than can be kept.
        WeightsError
            For weights that are not whole numbers: a row of weight 2 is drawn as two rows.
        TooFewRowsError
            For fewer than three rows.
        DataError
            Where 100 samples running have too low a rank or a column without variation to scale, or `data`
            are not those of the fit.

        Notes
        -----
        With a joint search, which would be too dear, draws climb from the loadings of the fit and from PCA's
        by sweeps and exchanges of single variables. A covariance matrix with `n_obs` is drawn from as that of
        normal rows (Wishart); one with unit variances is scaled to them in every draw. Rows that are never
        all in memory are drawn by one pass that keeps the cross-products of all draws, at most half a GB: a
        row comes into a draw as often as a Poisson variable of mean one says.
        """
        from spcastat.inference import bootstrap
        from spcastat.results.trust import Bootstrap

        n = whole_number("n", n, 2, MOST_DRAWS)
        kind = one_of("kind", kind, ("normal", "percentile"))
        fixed = not flag("select", select)
        with listening(progress):
            parts, further = self._drawn_from("bootstrap()", data, rng, n_jobs, fixed=fixed)
            self._need_rows(parts[0], "bootstrap()")
            found = bootstrap(*parts, n, kind=kind, **further)
        self._remember(bootstrap=found)
        return Bootstrap(self._state, found)

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

        Halves are fitted by the method of the fit, with as many nonzeros where it takes cardinalities. The
        fit remembers the result: its summary and files show it.

        Parameters
        ----------
        n_pairs : int
            Pairs of halves.
        threshold : float in (0.5, 1]
            The frequency from which on a loading is called stable.
        groups : float in (0, 1]
            Variables whose absolute correlations are all as large as this are one cluster.
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
            Where a half has too few rows for k components.

        Notes
        -----
        Shah and Samworth (2013), JRSS B 75. Half as many rows select less surely than all: the result is
        conservative, and weak signals are missed.
        """
        from spcastat.inference import stability
        from spcastat.results.trust import Stability

        n_pairs = whole_number("n_pairs", n_pairs, 1, MOST_DRAWS)
        threshold = real_number("threshold", threshold, 0.5, 1.0, open_low=True)
        groups = real_number("groups", groups, 0.0, 1.0, open_low=True)
        with listening(progress):
            parts, further = self._drawn_from("stability()", data, rng, n_jobs, own_card=True)
            self._need_halves(parts[0], "stability()")
            found = stability(*parts, n_pairs, threshold=threshold, groups=groups, **further)
        self._remember(stability=found)
        return Stability(self._state, found)

    def split_inference(
        self,
        n: int = 999,
        *,
        data: Any = None,
        rng: Any = None,
        n_jobs: int = 1,
        progress: Any = False,
    ) -> SplitInference:
        """Choose variables on one half of the rows, and return intervals for their loadings on the other.

        The target is the leading eigenvector of the true covariance matrix on the variables that the half
        chose, which need not be those of the fit. The fit remembers the result for its files.

        Parameters
        ----------
        n : int
            Bootstrap samples of the second half, 2 or more.
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
        from spcastat.results.trust import SplitInference

        n = whole_number("n", n, 2, MOST_DRAWS)
        with listening(progress):
            parts, further = self._drawn_from("split_inference()", data, rng, n_jobs, own_card=True)
            self._need_halves(parts[0], "split_inference()")
            found = split(*parts, n, **further)
        self._remember(split=found)
        return SplitInference(self._state, found)

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
        """Test by permutation whether each variable goes with each component.

        The null hypothesis is that the variable is independent of all others. The statistic is its
        correlation with the score that the other variables make of the component, in a fit without the
        variable, that score being made free of the other components' by regression. All variables are tested,
        those that the fit selected and those that it did not: it is q, over all of them, that takes account
        of the selection. The p-values of selected variables alone are small even in noise. The fit remembers
        the result for its files.

        Parameters
        ----------
        n : int
            Permutations of the rows. The least p-value is 1 / (n + 1).
        fdr : {"bh", "by"}
            How the false discovery rate over the variables of a component is controlled: by Benjamini and
            Hochberg, for tests that are independent or positively dependent, or by Benjamini and Yekutieli,
            for any.
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
            Where there are as many components as variables.

        Notes
        -----
        The fit without a variable begins with PCA of the others, and knows nothing of it. The least q of a
        component with c nonzeros among p variables is about p / (c (n + 1)) where all c have the least p:
        with many variables take as many more permutations.
        """
        from spcastat.errors import ComponentsError
        from spcastat.inference import permutation_test
        from spcastat.resample.sampler import RowSampler
        from spcastat.results.trust import LoadingTest
        from spcastat.state.support_rule import rule_of

        n = whole_number("n", n, 1, MOST_PERMUTATIONS)
        method = f"fdr_{one_of('fdr', fdr, ('bh', 'by'))}"
        p, k = self._state.V.shape
        if k >= p:
            raise ComponentsError(
                f"test_loadings() fits without each variable in turn, and {k} components need more than {p} "
                "variables; fit fewer components."
            )
        with listening(progress):
            (sampler, refit, op), further = self._drawn_from("test_loadings()", data, rng, n_jobs)
            if not isinstance(sampler, RowSampler):
                none = "those in chunks are never all in memory"
                raise NoRowsError(
                    "test_loadings() permutes rows, and "
                    f"{none if self._state.record.from_rows else 'a covariance matrix has none'}; "
                    "fit rows that fit into memory with spca(data, ...), or take bootstrap() or stability()."
                )
            if sampler.gaps is not None and sampler.gaps.missing.any():
                raise OptionError(
                    "test_loadings() permutes the values of variables, and the conditional means that "
                    "replace missing values would seem related to the values they were computed from. Take "
                    "bootstrap() or stability(), which estimate the moments again in every draw."
                )
            if rule_of(self._state.record) is not None:
                raise OptionError(
                    "test_loadings() fits without each selected variable in turn, and the rule of this fit "
                    "(include, exclude, disjoint, together) belongs to all of them. Take bootstrap() or "
                    "stability(), whose draws obey it."
                )
            found = permutation_test(sampler, refit, op, n, fdr=method, **further)
        self._remember(tests=found)
        return LoadingTest(self._state, found)

    @property
    def resampled(self) -> dict[str, Summary]:
        """The last result of each kind, by name: "bootstrap", "stability", "split", "tests".

        Files keep it, so that a fit from a file has it too.
        """
        from spcastat.results import trust

        known = self._state.trust
        homes = {
            "bootstrap": trust.Bootstrap,
            "stability": trust.Stability,
            "split": trust.SplitInference,
            "tests": trust.LoadingTest,
        }
        found = {name: (home, getattr(known, name)) for name, home in homes.items()}
        return {name: home(self._state, part) for name, (home, part) in found.items() if part is not None}

    # --- shared ---------------------------------------------------------------------------------

    def _drawn_from(
        self, what: str, data: Any, rng: Any, n_jobs: Any, **how: bool
    ) -> tuple[tuple[Sampler | StreamRows, Refit, Operator], dict[str, Any]]:
        """Return what draws, what fits them and what they are compared in; and seed and processes."""
        from spcastat.resample import seed_of, workers
        from spcastat.resample.refit import plan_of, refit_of
        from spcastat.resample.sampler import sampler_of
        from spcastat.resample.streamed import StreamRows

        further = {"seed": seed_of(rng), "n_jobs": workers(n_jobs)}
        source, call = source_for(self._state, self._source, self._call, data, what)
        plan = plan_of(self._state, None if call is None else call.arguments)
        frame = frame_of(source, None if call is None else call.data, data)
        sampler: Sampler | StreamRows
        if source.stream is not None:
            sampler = StreamRows(source, what)
        else:
            sampler = sampler_of(source, bool(plan.rows_for), frame, what)
        return (sampler, refit_of(self._state, plan, **how), source.op), further

    def _need_rows(self, sampler: Sampler | StreamRows, what: str) -> None:
        if sampler.n < 3:  # of two rows every sample that varies is the data again: no error at all
            raise TooFewRowsError(f"{what} draws rows anew, and {sampler.n} are too few: it needs 3 or more.")

    def _need_halves(self, sampler: Sampler | StreamRows, what: str) -> None:
        k = self._state.V.shape[1]
        if sampler.n // 2 < k + 2:
            raise TooFewRowsError(
                f"{what} fits half of the rows, and {sampler.n // 2} are too few for k={k}: a half needs "
                f"{k + 2} or more."
            )

    def _remember(self, **found: Any) -> None:
        self._state = replace(self._state, trust=replace(self._state.trust, **found))
