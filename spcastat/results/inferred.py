"""Methods of a fit for resampling inference: bootstrap, stability, sample splitting, permutation tests."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any

from spcastat.config import flag, one_of, real_number, whole_number
from spcastat.engine.inputs import Source
from spcastat.errors import NoRowsError, OptionError, TooFewRowsError
from spcastat.progress import listening
from spcastat.results.call import frame_of, source_for
from spcastat.results.other_names import answered
from spcastat.state import FitState

if TYPE_CHECKING:
    from spcastat.operators import Operator
    from spcastat.report.summary import Summary
    from spcastat.resample.refit import Refit
    from spcastat.resample.sampler import Sampler
    from spcastat.resample.streamed import StreamRows
    from spcastat.results.call import Call
    from spcastat.results.trust import Bootstrap, LoadingTest, SplitInference, Stability

#: Largest numbers of permutations, and of draws or pairs, whose Monte Carlo error is below 0.2 %.
MOST_PERMUTATIONS, MOST_DRAWS = 1_000_000, 100_000


class Inferred:
    """Mixin with the methods that resample the data of a fit."""

    _state: FitState
    _source: Source | None
    _call: Call | None

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

    @answered
    def split_inference(
        self,
        n: int = 999,
        *,
        data: Any = None,
        rng: Any = None,
        n_jobs: int = 1,
        progress: Any = False,
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
        from spcastat.results.trust import SplitInference

        n = whole_number("n", n, 2, MOST_DRAWS)
        with listening(progress):
            parts, further = self._drawn_from("split_inference()", data, rng, n_jobs, own_card=True)
            self._need_halves(parts[0], "split_inference()")
            found = split(*parts, n, **further)
        self._remember(split=found)
        return SplitInference(self._state, found)

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
                none = "rows in chunks are not all in memory"
                raise NoRowsError(
                    "test_loadings() permutes rows, and "
                    f"{none if self._state.record.from_rows else 'a covariance matrix has none'}; "
                    "fit rows that fit into memory with spca(data, ...), or use bootstrap() or stability()."
                )
            if sampler.gaps is not None and sampler.gaps.missing.any():
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
            found = permutation_test(sampler, refit, op, n, fdr=method, **further)
        self._remember(tests=found)
        return LoadingTest(self._state, found)

    @property
    def resampled(self) -> dict[str, Summary]:
        """The last result of each kind, by name: "bootstrap", "stability", "split", "tests".

        It is saved in files, so that a fit from a file has it too.
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
        """Return sampler, refit function and operator, and a mapping with seed and number of processes."""
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
        if sampler.n < 3:  # with two rows, every sample that varies equals the data
            raise TooFewRowsError(f"{what} resamples rows, and {sampler.n} are too few: it needs 3 or more.")

    def _need_halves(self, sampler: Sampler | StreamRows, what: str) -> None:
        k = self._state.V.shape[1]
        if sampler.n // 2 < k + 2:
            raise TooFewRowsError(
                f"{what} fits half of the rows, and {sampler.n // 2} are too few for k={k}: a half needs "
                f"{k + 2} or more."
            )

    def _remember(self, **found: Any) -> None:
        self._state = replace(self._state, trust=replace(self._state.trust, **found))
