"""The results of `choose` (cardinalities) and `choose_k` (the number of components)."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from functools import partial
from itertools import combinations
from typing import TYPE_CHECKING, Any, Literal, Self, cast

import numpy as np
import pandas as pd

from spcastat import plots
from spcastat.arguments import plural, whole_number
from spcastat.assess.component_tests import ComponentTests
from spcastat.errors import NoComponentsError, NoRowsError, OptionError
from spcastat.fit.record import deep_copy
from spcastat.fit.state import SAME_MOMENTS
from spcastat.results.fit import SpcaResult
from spcastat.show import choice_tables
from spcastat.show.choice_facts import Chosen, NothingChosen
from spcastat.show.grid import Chapter, Document, VariableArrangement
from spcastat.show.methods_text import Description
from spcastat.show.renderings import Outcome, Screen, Summary
from spcastat.show.report import write_report

#: The smallest number of leading eigenvalues in a plot.
FEWEST_EIGENVALUES = 20

if TYPE_CHECKING:
    from matplotlib.axes import Axes

    from spcastat.hints import ByRow, Path, Sections
    from spcastat.results.proofs import Certificate
    from spcastat.results.resampling import Bootstrap, LoadingTest, SplitInference, Stability


# --- the number of components ---------------------------------------------------------------------


class ComponentChoice(Outcome):
    """The number of components that improve prediction and exceed noise: the result of `choose_k`.

    The printout gives the reasons and the table of the components; `notes` explain the columns, and
    `summary()` contains all of these. A notebook shows it as HTML.
    """

    _short_name = "k_choice"

    def __init__(self, tests: ComponentTests) -> None:
        self._tests, self._standing, self._large_rows = tests, tests.found, tests.large

    def _document(self) -> Document:
        return choice_tables.number_document(self._tests)

    def _screen(self) -> Screen:
        return choice_tables.print_of_number(self._tests)

    @property
    def frames(self) -> dict[str, pd.DataFrame]:
        """The tables "components" (`table`) and "spectrum"."""
        return {"components": self.table, "spectrum": self.spectrum}

    @property
    def k(self) -> int:
        """The number of components: min(predicting, deflated)."""
        return self._standing.k

    @property
    def predicting(self) -> int:
        """The number of components, if each must improve prediction by at least `least`.

        The comparison ends with the first component that does not exceed noise.
        """
        return self._standing.predicting

    @property
    def deflated(self) -> int:
        """The number of tested components that exceed noise after the earlier ones are removed."""
        return self._standing.deflated

    @property
    def parallel(self) -> int:
        """The number of components that parallel analysis retains, for comparison."""
        return self._standing.parallel

    @property
    def by_division(self) -> tuple[int, ...]:
        """`k` and the numbers that individual divisions into folds would give, in ascending order."""
        return self._standing.by_division

    @property
    def least(self) -> float:
        """The smallest gain in prediction that counts, in multiples of the mean variance of a variable."""
        return self._standing.prediction.least

    @property
    def kaiser(self) -> int | None:
        """The number of eigenvalues above their mean (Kaiser), computed without shrinking large rows.

        None if some variables were not tested, or if there are at least as many variables as rows.
        """
        return self._tests.kaiser

    @property
    def broken_stick(self) -> int | None:
        """The number of leading eigenvalues whose shares exceed a broken stick's; None as for `kaiser`."""
        return self._tests.broken_stick

    @property
    def alpha(self) -> float:
        """The level of the tests."""
        return self._standing.draws.alpha

    @property
    def n_draws(self) -> int:
        """The number of draws of noise for each test; more are made if a p-value is near its level."""
        return self._standing.draws.n_draws

    @property
    def table(self) -> pd.DataFrame:
        """One row per component: "observed" eigenvalue, "noise", p-values, and predicted variance.

        "noise" is the 1 - alpha quantile of the draws, and "p" the p-value of parallel analysis.
        "deflated_p", the p-value after removal of the earlier components, is given up to the first component
        that is not significant, and for at most one component beyond those that improve prediction. From this
        component on, if there are more variables than rows, "sparse_p" is the p-value of a test for a sparse
        component. Predictions are compared up to the first component that does not exceed noise. "predicted"
        is the share of the variance of held-out cells that this number of components predicts. "gain" is the
        increase over the last number of components for which "counts" is true (a number counts if its gain is
        large enough), in multiples of the mean variance of a variable, and "gain_se" is its standard error
        over folds. "share" and "cumulative" are shares of the variance.
        """
        return deep_copy(self._tests.table)

    @property
    def spectrum(self) -> pd.DataFrame:
        """All eigenvalues, their shares, and the shares of a broken stick.

        They are the eigenvalues of the tested variables, after large rows were shrunk (see `choose_k`).
        """
        return deep_copy(self._tests.spectrum)

    @property
    def reason(self) -> str:
        """The reasons for the number, in words."""
        return choice_tables.number_reasons(self._tests)

    @property
    def method_text(self) -> str:
        """Text for a methods section on how the number was chosen."""
        return choice_tables.number_methods(self._tests)

    def plot(self, *, ax: Axes | None = None) -> Axes:
        """Draw the leading eigenvalues, and the values that noise exceeds with probability `alpha`.

        A vertical line is drawn after the last chosen component, and the markers of chosen components are
        filled. The reason is written below the plot.

        Parameters
        ----------
        ax : Axes, optional
            By default a new figure is created.

        Returns
        -------
        Axes
        """
        tests = self._tests
        noise = tests.table["noise"].copy()
        noise.attrs["quantile"] = 1.0 - self.alpha
        count = max(FEWEST_EIGENVALUES, len(noise))
        eigenvalues = tests.spectrum["eigenvalue"].copy()
        is_masked = bool((eigenvalues.to_numpy()[: self.k] < noise.to_numpy()[: self.k]).any())
        remark = " This test of noise removes the earlier components; parallel analysis does not." * is_masked
        remark += " Large rows were shrunk to 1.5 times the median distance." * (tests.large is not None)
        eigenvalues.attrs["note"] = choice_tables.number_reason(tests) + remark
        options: dict[str, Any] = {"parallel": noise, "k": self.k, "max_components": count}
        return plots.screeplot(None, eigenvalues, sparse=False, ax=ax, **options)

    def _noise_for(self, spectrum: np.ndarray) -> pd.Series:
        """Return the thresholds of parallel analysis for a fit, given all eigenvalues of its data.

        If large rows were shrunk for the analysis, the thresholds are multiplied so that a component of the
        fit is above its threshold if its test is significant. The attribute "note" of the Series then
        explains this below the plot, which has no line of thresholds.

        Raises
        ------
        OptionError
            If the analysis used other data or another scale.
        """
        tests = self._tests
        if tests.tested is not None:
            raise OptionError(
                f"parallel= was computed from {tests.p} of {tests.tested.variables} variables, but the "
                "eigenvalues of the fit are from all variables; leave it out, or analyse a sample of the "
                "rows."
            )
        self._require_data_of(spectrum, "parallel=")
        noise = tests.table["noise"].to_numpy(dtype=float)
        values = pd.Series(noise)
        values.attrs["quantile"] = 1.0 - self.alpha
        if tests.large is None:
            return values
        shrunk = tests.spectrum["eigenvalue"].to_numpy(dtype=float)[: len(noise)]
        values *= np.where(shrunk > 0, spectrum[: len(noise)] / shrunk, 1.0)
        values.attrs["note"] = (
            "Parallel analysis used data with large rows shrunk, which have other eigenvalues."
        )
        return values

    def _require_data_of(self, spectrum: np.ndarray, argument: str) -> None:
        """Check that the tests used the data of a fit, by comparing all eigenvalues.

        Tests that used only some of the variables, or a sample of the rows, cannot be checked.

        Raises
        ------
        OptionError
            If the eigenvalues differ; the message names `argument`, the option to which this choice was
            passed.
        """
        tests = self._tests
        own_values = tests.given_values
        common = min(len(own_values), len(spectrum))
        is_equal = np.allclose(
            own_values[:common], spectrum[:common], rtol=SAME_MOMENTS, atol=1e-9 * own_values[0]
        )
        if tests.tested is not None or tests.sampled or is_equal:
            return
        raise OptionError(
            f"{argument} is based on other data, or another scale, than the fit (its "
            f"largest eigenvalue is {own_values[0]:.6g}; the fit has {spectrum[0]:.6g}); give "
            "choose_k() the data and the scale= of the fit."
        )


# --- the cardinalities ----------------------------------------------------------------------------


class ChoiceStability(Summary):
    """Variation of a choice between random halves of the rows; the result of `Choice.stability`.

    The printout gives the share of each number of components, and the ranges of the cardinalities.
    """

    def __init__(
        self, draws: pd.DataFrame, pairs: float, chosen_k: int, chosen_nonzeros: int, remark: str = ""
    ) -> None:
        self._draws, self._pairs, self._k, self._nonzeros = draws, pairs, chosen_k, chosen_nonzeros
        self._remark = remark

    @property
    def frames(self) -> dict[str, pd.DataFrame]:
        """The tables "k" (`table`) and "draws"."""
        return {"k": self.table, "draws": self.draws}

    @property
    def draws(self) -> pd.DataFrame:
        """One row per half: "k", "nonzeros", "smallest card", "largest card", and "overlap" with the choice.

        If no component exceeds noise, k is 0.
        """
        return self._draws.copy()

    @property
    def table(self) -> pd.DataFrame:
        """One row per number of components: "share" of the halves, and the range of "nonzeros" in them."""
        groups = self._draws.groupby("k")
        return pd.DataFrame(
            {
                "share": groups.size() / len(self._draws),
                "fewest nonzeros": groups["nonzeros"].min(),
                "median nonzeros": groups["nonzeros"].median(),
                "most nonzeros": groups["nonzeros"].max(),
                "smallest card": groups["smallest card"].min(),
                "largest card": groups["largest card"].max(),
                "overlap": groups["overlap"].mean(),
            }
        )

    @property
    def overlap(self) -> float:
        """Mean overlap of the supports of two halves, from 0 to 1.

        For two sets of supports with a and b loadings, of which c are in both, the overlap is 2 c / (a + b);
        components are matched so that c is as large as possible.
        """
        return self._pairs

    def _document(self) -> Document:
        choice_words = f"{plural(self._k, 'component')}, {plural(self._nonzeros, 'nonzero loading')}"
        return choice_tables.stability_document(
            self.table, self._draws, self._pairs, choice_words, self._remark, nothing=not self._k
        )


class Choice(Summary):
    """The result of `choose`: the numbers of components and of nonzeros, their fit, and the reasons.

    The printout gives the answer, the reasons for the number of components and for the cardinalities, and a
    few other fits, which `alternatives` lists with their options. `table` contains all candidates and
    criteria, `notes` all remarks, and `summary()` all of these; ``print(choice.k_choice)`` compares the
    numbers of components.
    """

    def __init__(
        self,
        fit: SpcaResult | None,
        chosen: Chosen | NothingChosen,
        k_choice: ComponentChoice | None,
        halves: Callable[[int, int], tuple[list[np.ndarray], str]] | None = None,
    ) -> None:
        self._answer, self._k_choice, self._halves = chosen, k_choice, halves
        fit_with_choice = fit
        if fit is not None and isinstance(chosen, Chosen):
            number = None if k_choice is None else k_choice.k
            how_chosen = partial(choice_tables.method_sentences, self._tests, chosen)
            record = replace(fit._state.record, chosen=how_chosen, k_found=number)
            fit_with_choice = fit._with_state(replace(fit._state, record=record))
        self._found_fit: SpcaResult | None = fit_with_choice

    @property
    def _tests(self) -> ComponentTests | None:
        """The tests of the number of components, if it was chosen."""
        return None if self._k_choice is None else self._k_choice._tests

    @property
    def _reasons(self) -> Chosen:
        """The reasons for the chosen cardinalities.

        Raises
        ------
        NoComponentsError
            If no component was chosen.
        """
        if isinstance(self._answer, NothingChosen):
            raise NoComponentsError(choice_tables.nothing_reasons(self._answer))
        return self._answer

    @property
    def _fit(self) -> SpcaResult:
        fit, _ = self._found_fit, self._reasons
        assert fit is not None
        return fit

    def _document(self) -> Document:
        if isinstance(self._answer, NothingChosen):
            return choice_tables.nothing_document(self._answer)
        return choice_tables.answer_document(self._answer, self._tests)

    def _screen(self) -> Screen | None:
        if isinstance(self._answer, NothingChosen):
            return None
        return choice_tables.print_of_choice(self._answer, self._tests)

    @property
    def frames(self) -> dict[str, pd.DataFrame]:
        """The table "choice" and, if k was also chosen, the tables "components" and "spectrum"."""
        tables = {} if self._k_choice is None else self._k_choice.frames
        return {"choice": self.table, **tables} if self.k else tables

    @property
    def fit(self) -> SpcaResult:
        """The fit with the chosen cardinalities, as a direct call would return it.

        Raises
        ------
        NoComponentsError
            If no component predicts held-out rows and exceeds noise. All attributes that describe the fit
            raise the same error.
        """
        return self._fit

    def with_inference(
        self, *results: Bootstrap | Stability | SplitInference | LoadingTest | Certificate
    ) -> Self:
        """Return this choice with a fit that shows `results`; see `SpcaResult.with_inference`.

        The report of the choice then contains a chapter on these results.
        """
        return type(self)(self._fit.with_inference(*results), self._reasons, self._k_choice, self._halves)

    @property
    def k(self) -> int:
        """The number of components; 0 if none predicts held-out rows and exceeds noise."""
        return 0 if isinstance(self._answer, NothingChosen) else self._answer.k

    @property
    def card(self) -> int | list[int]:
        """The chosen cardinality: one number for all components, or a list with one number per component.

        The value can be passed to ``spca(card=)``. With ``together=`` it counts groups of variables.
        """
        card = self._reasons.card
        return deep_copy(card) if isinstance(card, list) else int(card)

    @property
    def table(self) -> pd.DataFrame:
        """One row per candidate: "family", "card", "nonzeros", errors, criteria, shares of variance,
        "chosen".

        "error" is the mean squared prediction error relative to the error of the column means, and "se" its
        standard error over folds; "excess" and "excess_se" are the difference from the smallest error and its
        standard error, paired by fold. "predicts" is 1 - error (in-sample without cross-validation),
        "predicts_se" its standard error, paired by fold with the column means, and "kept" is "predicts" as a
        share of the largest value of any candidate or PCA. Smaller values of "ebic" and "bic" and larger
        values of "is" are better. "call" is the call of `spca` that computes the fit.
        """
        return deep_copy(self._reasons.table)

    @property
    def alternatives(self) -> pd.DataFrame:
        """The other fits in the printed output, with the options that compute them.

        "nonzeros", "predicts" and "kept" are as in `table`, whose column "call" contains the whole calls; the
        rows have the same labels. `spca` computes these fits with "card", "disjoint" and the other options of
        `choice.call`. They are the sparsest fit that reaches .6 of the best prediction (with more than 200
        variables, those that reach .5 and .8), the sparsest fit of another family that predicts nearly as
        well, and the fit that predicts best. Without cross-validation, the column "explains" contains shares
        of variance in these data instead of predictions.
        """
        return choice_tables.alternatives(self._reasons)

    @property
    def notes(self) -> list[str]:
        """Remarks on the choice, and the explanations of its tables."""
        return choice_tables.choice_notes(self._reasons, self._tests)

    def summary(self) -> Summary:
        """Return the complete results of the choice, as text, HTML, LaTeX, Markdown or Word.

        It contains the tests of the number of components, all candidates with their criteria, and the remarks
        of `notes`.
        """
        return Summary(choice_tables.summary_document(self._answer, self._tests), self.frames)

    @property
    def k_choice(self) -> ComponentChoice | None:
        """The choice of the number of components; None if `k` was given."""
        return self._k_choice

    @property
    def by(self) -> Literal["cv", "ebic", "bic", "is", "variance"]:
        """The criterion of the choice."""
        return cast('Literal["cv", "ebic", "bic", "is", "variance"]', self._reasons.by)

    @property
    def call(self) -> str:
        """The call that reproduces the fit, with `data` for the data."""
        return self._reasons.call

    @property
    def reason(self) -> str:
        """The reasons for the choice, in words."""
        if isinstance(self._answer, NothingChosen):
            return choice_tables.nothing_reasons(self._answer)
        return choice_tables.choice_reasons(self._answer)

    @property
    def method_text(self) -> str:
        """Text for a methods section on how the numbers of nonzero loadings were chosen."""
        return choice_tables.choice_methods(self._reasons)

    def describe(self) -> Description:
        """Return a paragraph on the fit and on how it was chosen for a methods section, with references.

        Raises
        ------
        NoComponentsError
            If no component was chosen.
        """
        return self._fit.describe()

    def stability(self, n: int = 20, *, rng: int | None = None) -> ChoiceStability:
        """Repeat the choice on random halves of the rows, and report how much it varies.

        Parameters
        ----------
        n : int
            Number of halves.
        rng : int, optional
            Seed of the halves; by default a fixed seed.

        Returns
        -------
        ChoiceStability
            ``.table``, shares of the numbers of components and ranges of cardinalities; ``.overlap``, the
            agreement of supports; ``.draws``, every half.

        Raises
        ------
        NoRowsError
            If the data are a covariance matrix, or not a frame, an array or a sparse matrix in memory, or if
            rows with missing values were dropped.

        Notes
        -----
        Every half is a random sample of half of the rows (of clusters or blocks, if the call named them),
        without replacement, for which :func:`choose` is called with the same arguments. It takes about as
        long as `n` choices.
        """
        n = whole_number("n", n, 2, 10_000)
        if self._halves is None:
            raise NoRowsError(
                "stability() draws halves of the rows, but this choice is not from rows in memory (a frame, "
                "an array or a sparse matrix without dropped rows); give choose() such rows."
            )
        loadings_of_halves, remark = self._halves(n, 0 if rng is None else whole_number("rng", rng, 0))
        p = len(loadings_of_halves[0])
        fit_loadings = self._fit.loadings.to_numpy() if self.k else np.zeros((p, 0))
        counts = [np.count_nonzero(V, axis=0) for V in loadings_of_halves]
        draws = pd.DataFrame(
            {
                "k": [V.shape[1] for V in loadings_of_halves],
                "nonzeros": [int(count.sum()) for count in counts],
                "smallest card": [int(count.min()) if count.size else 0 for count in counts],
                "largest card": [int(count.max(initial=0)) for count in counts],
                "overlap": [support_overlap(fit_loadings, V) for V in loadings_of_halves],
            },
            index=pd.RangeIndex(1, n + 1, name="half"),
        )
        pairs = float(np.mean([support_overlap(A, B) for A, B in combinations(loadings_of_halves, 2)]))
        return ChoiceStability(
            draws, pairs, fit_loadings.shape[1], int(np.count_nonzero(fit_loadings)), remark
        )

    def plot(self, *, ax: Axes | None = None) -> Axes:
        """Draw the criterion against the number of nonzero loadings, and mark the choice.

        Parameters
        ----------
        ax : Axes, optional
            By default a new figure is created.

        Returns
        -------
        Axes

        Notes
        -----
        The curve joins candidates with the same cardinality for all components; for cross-validation a band
        shows plus and minus one standard error. Candidates with unequal cardinalities are drawn separately.
        The reason for the choice is written below the plot.
        """
        choice = self._reasons
        table = choice.table.copy(deep=False)
        table.attrs["note"] = choice_tables.choice_reason(choice)
        return plots.plot_choice(table, by=self.by, dense=choice.dense_error, ax=ax)

    def report(
        self,
        path: Path,
        *,
        title: str | None = None,
        call: str | None = None,
        full_names: bool = True,
        sort: bool | None = None,
        max_rows: int | None = None,
        sections: Sections | None = None,
        digits: int = 3,
        cut: float = 0.0,
        groups: ByRow | None = None,
    ) -> None:
        """Write a report on the fit, followed by the tables and plots of the choice.

        Parameters
        ----------
        path : str or path
            A name with the extension .html or .htm for a page, or .docx for Word, which
            needs an optional dependency: ``pip install 'spcastat[docx]'``.
        title : str, optional
            The title of the report.
        call : str, optional
            The code that reproduces the fit, if it is not the recorded `call`.
        full_names : bool
            Whether the tables show long names in full; otherwise names are shortened, and a key lists them.
        sort, max_rows, sections, digits, cut
            Selection, order and format of the variables in the tables, as for `SpcaResult.summary`.
        groups : Series, Categorical or array of length n, or str, optional
            Groups of rows, for colours and markers in the figures, or the name of a column of the data.

        Raises
        ------
        FileError
            If the file cannot be written, or its name has another extension.
        ExtraError
            If a Word file is requested and python-docx is not installed.
        OptionError
            If `path` is the file from which the rows of the fit are read.
        """
        fit = self._fit
        write_report(
            fit._state,
            fit._source,
            self._chapters(),
            path,
            title=title,
            call=call,
            full_names=full_names,
            arrangement=VariableArrangement(sort, max_rows, sections, cut),
            digits=digits,
            row_groups=fit._by_row(groups, "groups"),
        )

    def _noise_for(self, spectrum: np.ndarray) -> pd.Series:
        """Return the thresholds of parallel analysis; see `ComponentChoice._noise_for`."""
        if self._k_choice is None:
            raise OptionError(
                "parallel= is a choice with a given number of components, so no parallel analysis "
                "was run; give the result of choose_k()."
            )
        return self._k_choice._noise_for(spectrum)

    def _chapters(self) -> tuple[Chapter, ...]:
        """Return the chapters on the choice in the report of the fit."""
        plot_tests = None if self._k_choice is None else self._k_choice.plot
        return choice_tables.chapters(self._reasons, self.plot, self._tests, plot_tests)


def support_overlap(A: np.ndarray, B: np.ndarray) -> float:
    """Return the overlap 2 c / (a + b) of the supports of loadings, under the best matching of components.

    It is 0 if all loadings are zero.

    Parameters
    ----------
    A, B : ndarray of shape (p, k) and (p, m)
        Loadings with a and b nonzeros, of which c are in the same component and variable.
    """
    from scipy.optimize import linear_sum_assignment  # imported late, as it is slow to import

    supports_a, supports_b = (A != 0).astype(float), (B != 0).astype(float)
    total = supports_a.sum() + supports_b.sum()
    common = supports_a.T @ supports_b
    pairs = linear_sum_assignment(-common)
    return float(2.0 * common[pairs].sum() / total) if total else 0.0
