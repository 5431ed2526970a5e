"""The results of `choose` (cardinalities) and `choose_k` (the number of components)."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import partial
from itertools import combinations
from typing import TYPE_CHECKING, Any, Literal, cast

import numpy as np
import pandas as pd

from spcastat import plots
from spcastat.assess.candidates import CRITERIA
from spcastat.assess.noise_tests import LEAST_CORRELATION, LEAST_OF_WHOLE, Standing, broken_stick
from spcastat.assess.unequal_cardinalities import Selected
from spcastat.config import plural, whole_number
from spcastat.errors import NoRowsError, OptionError
from spcastat.fit.record import deep_copy
from spcastat.fit.state import FitState, rule_of
from spcastat.labels import full_names
from spcastat.results.fit import SpcaResult
from spcastat.search.default import GRAM_LIMIT
from spcastat.show.grid import Arrangement, Chapter, Document, Row, Table, alike, fixed, percent
from spcastat.show.renderings import Summary
from spcastat.show.report import chapter_of, write_report
from spcastat.show.summary import describe_data, unequal_variances

if TYPE_CHECKING:
    from matplotlib.axes import Axes

    from spcastat.argument_types import ByRow, Path, Sections


# --- the number of components ---------------------------------------------------------------------


#: Decimals of the columns of tests.
DIGITS = {"p": 3, "deflated_p": 3, "sparse_p": 3, "sparse_correlation": 2}


@dataclass(frozen=True)
class Tested:
    """The part of a large data set that was tested.

    Attributes
    ----------
    variables : int
        Number of all variables, of which some were tested.
    rows : int
        Number of rows used for the tests; the other rows selected the variables.
    """

    variables: int
    rows: int


@dataclass(frozen=True, eq=False)
class LargeRows:
    """Rows that were shrunk before the tests.

    Attributes
    ----------
    pulled : int
        Number of rows of more than 1.5 times the median size.
    labels : list of str
        Labels of the rows of more than 2.5 times the median size, if they change the number of components.
    share : float
        Their share of the total variance.
    k : int
        Number of components with the rows as they are.
    values : ndarray of shape (r,)
        Eigenvalues of the rows as they are.
    """

    pulled: int
    labels: list[str]
    share: float
    k: int
    values: np.ndarray


class ComponentChoice(Summary):
    """The number of components that exceed noise, by three tests; the result of `choose_k`.

    It prints as the table of the tests and the reasons, and shows as HTML in a notebook.
    """

    def __init__(
        self,
        found: Standing,
        *,
        p: int,
        unit: float,
        most: int,
        tested: Tested | None = None,
        large: LargeRows | None = None,
        drawn: str = "",
        remarks: Sequence[str] = (),
        sampled: bool = False,
    ) -> None:
        self._found, self._most, self._p, self._tested, self._large = found, most, p, tested, large
        self._drawn, self._remarks, self._sampled = drawn, remarks, sampled
        self._spectrum = _spectrum_of(found, p, unit)
        self._table = _table_of(found, self._spectrum, unit)

    def _document(self) -> Document:
        title = f"Number of components: {self.k}   ({self._by_test}; {self.n_draws} sign flips)"
        notes = (self._levels(), *self._reasons(), self._key())
        facts = [("Draws", self._drawn)] if self._drawn else []
        facts += self._about_rows()
        return Document(title, tuple(facts), (self._lines(len(self._table)),), notes)

    def _about_rows(self) -> list[tuple[str, str]]:
        """The lines of the header on rows that may not be independent, and on rows shrunk for the tests."""
        lines = [("Rows", remark) for remark in self._remarks]
        if self._large is not None:
            rows = plural(self._large.pulled, "row")
            were = "was" if self._large.pulled == 1 else "were"
            shrunk = (
                f"For the tests of k, {rows} of more than 1.5 times the median size {were} shrunk to it; "
                "observed eigenvalues and cum. % are those of the shrunk rows, not of the fit."
            )
            lines.append(("Rows", shrunk))
        return lines

    def _levels(self) -> str:
        """The level of each test."""
        level = percent(self._found.draws.level, 1 - (self._found.draws.level >= 0.01))
        most = self._found.draws.most
        return (
            f"Levels of the tests: p {percent(self.alpha, 0)} %, deflated p and sparse p {level} %; "
            f"near them up to {most} sign flips."
        )

    @property
    def frames(self) -> dict[str, pd.DataFrame]:
        """The tables "components" (`table`) and "spectrum"."""
        return {"components": self.table, "spectrum": self.spectrum}

    @property
    def k(self) -> int:
        """The number of components: max(min(parallel, deflated, major), sequential)."""
        return self._found.k

    @property
    def parallel(self) -> int:
        """The number that parallel analysis keeps."""
        return self._found.parallel

    @property
    def deflated(self) -> int:
        """The number whose eigenvalues exceed noise after projecting out the earlier components."""
        return self._found.deflated

    @property
    def sequential(self) -> int:
        """The number that the sequential sparse test keeps."""
        return self._found.sequential

    @property
    def major(self) -> int:
        """The number of components that both keep and that explain a mean correlation of .1 or more."""
        return self._found.major

    @property
    def kaiser(self) -> int | None:
        """The number of eigenvalues above their mean (Kaiser); None if some variables were not tested."""
        if self._tested is not None:
            return None
        mean = self._found.values.sum() / self._p  # over all p variables
        return int(np.sum(self._found.values > mean * (1.0 + 1e-10)))

    @property
    def broken_stick(self) -> int | None:
        """The number of shares above those of a broken stick; None if some variables were not tested."""
        if self._tested is not None:
            return None
        above = self._spectrum["share"] > self._spectrum["broken_stick"]
        return len(above) if above.all() else int(np.argmin(above))

    @property
    def alpha(self) -> float:
        """The level of the tests."""
        return self._found.draws.alpha

    @property
    def n_draws(self) -> int:
        """The number of draws of noise for each test; more are made if a p-value is near its level."""
        return self._found.draws.n_draws

    @property
    def sparse_card(self) -> int:
        """The number of variables of the components in the sequential sparse test."""
        return self._found.card

    @property
    def table(self) -> pd.DataFrame:
        """One row per component: eigenvalue, noise, p-values; sparse variance, p-value and correlation.

        "noise" is the 1 - alpha quantile of the draws. The tests of "deflated_p" and "sparse_p" end with the
        first component that is not significant; a sparse component that explains less than .1 of the mean
        correlation of its variables ("sparse_correlation"), or less than .05 with all variables correlated
        with it, has none. "share" and "cumulative" are shares
        of the variance.
        """
        return deep_copy(self._table)

    @property
    def spectrum(self) -> pd.DataFrame:
        """All eigenvalues, their shares, and the shares of a broken stick.

        They are those of the tested variables, with large rows shrunk (see `choose_k`).
        """
        return deep_copy(self._spectrum)

    @property
    def reason(self) -> str:
        """The reasons for the number, in words."""
        return " ".join(self._reasons())

    @property
    def method_text(self) -> str:
        """Text for a methods section on how the number was chosen."""
        draws = self._found.draws
        level = percent(draws.level, 1 - (draws.level >= 0.01))
        return (
            "The number of components was chosen by comparison with noise, simulated by flipping the signs "
            f"of the centred values at random (Hong, Sheng and Dobriban, 2020; {self.n_draws} draws, "
            "and up to four times as many for p-values near the level): by "
            f"parallel analysis at the level {percent(self.alpha, 0)} %, and by tests of dense and of sparse "
            f"components after removing the earlier ones, at the level {level} %. "
            + " ".join([next(self._reasons()), *self._of_large_rows(), *self._untested()])
        )

    def plot(self, *, ax: Axes | None = None) -> Axes:
        """Draw the leading eigenvalues and thresholds from noise.

        Parameters
        ----------
        ax : Axes, optional
            By default a new figure is created.

        Returns
        -------
        Axes
        """
        return plots.plot_components(self._spectrum, self._table, alpha=self.alpha, ax=ax)

    def _noise_for(self, spectrum: np.ndarray) -> np.ndarray:
        """Return the thresholds of parallel analysis for a fit, given all eigenvalues of its data.

        Raises
        ------
        OptionError
            If the analysis used other data or another scale.
        """
        if self._tested is not None:
            raise OptionError(
                f"parallel= is an analysis of {self._p} of {self._tested.variables} variables, and the "
                "eigenvalues of the fit are of all of them; leave it out, or analyse a sample of the rows."
            )
        self._require_data_of(spectrum, "parallel=")
        return self._table["noise"].to_numpy(dtype=float)

    def _require_data_of(self, spectrum: np.ndarray, argument: str) -> None:
        """Check that the data are those of a fit, given all eigenvalues of its data.

        Tests of some of the variables, and of a sample of the rows, cannot be checked.

        Raises
        ------
        OptionError
            If the eigenvalues differ; the message names the `argument` that has this choice.
        """
        own_values = self._spectrum["eigenvalue"].to_numpy() if self._large is None else self._large.values
        both = min(len(own_values), len(spectrum))
        if (
            self._tested is not None
            or self._sampled
            or np.allclose(own_values[:both], spectrum[:both], rtol=1e-6, atol=1e-9 * own_values[0])
        ):
            return
        raise OptionError(
            f"{argument} is an analysis of other data, or with another scale, than the fit (its "
            f"largest eigenvalue is {own_values[0]:.6g}, that of the fit {spectrum[0]:.6g}); give "
            "choose_k() the data and the scale= of the fit."
        )

    def _reasons(self) -> Iterator[str]:
        table, found, m = self._table, self._found, len(self._table)
        k, P, D, Q = found.k, found.parallel, found.deflated, found.sequential
        level = percent(found.draws.level, 1 - (found.draws.level >= 0.01))
        yield (
            f"Parallel analysis keeps {P}"
            + (f", the deflated test {D} of them" if D < P else "")
            + f"; the sequential sparse test keeps {Q}. The choice is {k}: "
            + (
                "the tests agree"
                if min(P, D) == Q
                else "minor components are left out"
                if found.minor
                else "the larger number"
            )
            + "."
        )
        if found.minor:
            first, last = k + 1, k + found.minor
            names = f"PC{first} exceeds" if first == last else f"PC{first} to PC{last} exceed"
            if found.major:
                enough = f"only {found.major} of {min(P, D)} components explain"
            else:
                enough = "no component explains"
            yield (
                f"{names} noise but {'is' if first == last else 'are'} minor and not chosen: after rotation, "
                f"{enough} a mean correlation of {fixed(LEAST_CORRELATION, 1)} or more among "
                f"{'their' if found.major else 'its'} variables."
            )
        if m not in (P, Q) and m > P:
            line = table.iloc[P]
            value, bound = alike([line["observed"], line["noise"]])
            share = percent(1 - self.alpha, 0)
            yield f"The eigenvalue of PC{P + 1} is {value}; the {share} % quantile of noise is {bound}."
        if D < P:
            yield (
                f"The deflated test of PC{D + 1} has p = {fixed(table['deflated_p'].iloc[D], 3)} (level "
                f"{level} %). Rows of very unequal size are a possible reason: parallel analysis can count "
                "them as components."
            )
        yield from self._cautions()
        if min(P, D) < Q:
            yield (
                "The sparse test finds weak components of few variables that strong ones mask in parallel "
                f"analysis. It starts from {plural(self.sparse_card, 'variable')} (sparse_card=), so it can "
                "also take part of a block of many weak variables for a component."
            )
        elif min(P, D, found.major) > Q:
            yield (
                f"Further components of {plural(self.sparse_card, 'variable')} do not exceed noise: they are "
                "weak, or spread over many variables."
            )

    def _brief(self) -> str:
        """The chosen number of components, and the number by each test and rule."""
        rules = "" if self._tested else f"; Kaiser {self.kaiser}, broken stick {self.broken_stick}"
        return f"{self.k}: {self._by_test}{rules}"

    @property
    def _by_test(self) -> str:
        found = self._found
        return f"parallel analysis {found.parallel}, deflated {found.deflated}, sparse {found.sequential}"

    def _cautions(self) -> Iterator[str]:
        """Yield warnings: rows that change the number, the last component stands out, untested variables."""
        found, m = self._found, len(self._table)
        for sentence in self._of_large_rows():
            yield (
                f'{sentence} A fit with method="spcagrid" or method="rspca-l0" is less influenced by such '
                "rows."
            )
        if m in (found.parallel, found.sequential):
            where = "a larger kmax tests more" if m < self._most else "no more can be tested"
            lead = "The one tested component" if m == 1 else f"The last of the {m} tested components"
            yield f"{lead} still exceeds noise; {where}."
        yield from self._untested()

    def _of_large_rows(self) -> Iterator[str]:
        """Yield a sentence on rows that change the number."""
        large = self._large
        if large is not None and large.labels:
            rest = len(large.labels) - 3
            others = f" and {rest:,} other{'s' * (rest > 1)}" if rest > 0 else ""
            one = len(large.labels) == 1
            rows = f"Row {large.labels[0]}" if one else f"Rows {', '.join(large.labels[:3])}{others}"
            yield (
                f"{rows} {'has' if one else 'have'} {percent(large.share, 0)} % of the total variance. "
                f"Unchanged, {'it gives' if one else 'they give'} k = {large.k}; shrunk to 1.5 times the "
                f"median size, k = {self._found.k}."
            )

    def _untested(self) -> Iterator[str]:
        """Yield a sentence on variables that were not tested."""
        if self._tested is not None:
            yield (
                f"{self._p:,} of {self._tested.variables:,} variables were tested in {self._tested.rows:,} "
                "rows, about half; a sparse fit of the other rows selected these variables. Half of the "
                "rows have less power for weak components, and components of many more variables may be "
                "missed."
            )

    def _lines(self, most: int) -> Table:
        table = self._table.iloc[:most]
        lines = []
        values = alike([*table["observed"], *table["noise"]])
        m = len(table)
        for i, (name, line) in enumerate(table.iterrows()):
            tests = (
                "" if np.isnan(line[one]) else fixed(line[one], digits) for one, digits in DIGITS.items()
            )
            cells = (values[i], values[m + i], *tests, percent(line["cumulative"], 1))
            lines.append(Row(str(name), cells, rule=i == self.k > 0))
        point = f"{percent(1 - self.alpha, 0)} % of noise"
        headings = ("observed", point, "p", "deflated p", "sparse p", "r", "cum. %")
        return Table("", headings, tuple(lines))

    def _key(self) -> str:
        """Explanation of the headings of the table."""
        key = (
            "observed: eigenvalue. p: for the eigenvalue of that rank. deflated p: for the first eigenvalue "
            "after removing the earlier components. sparse p: for a component of "
            f"{plural(self.sparse_card, 'variable')} after removing the earlier ones, blank if r, the "
            f"mean correlation that it explains, is below {fixed(LEAST_CORRELATION, 1)} (or "
            f"{fixed(LEAST_OF_WHOLE, 2)} when extended to all variables correlated with it). cum. %: "
            f"cumulative variance{'' if self._tested is None else ' of the tested variables'}. Components "
            "below the line are not chosen."
        )
        if self._tested is None:
            key += f" Kaiser's rule {self.kaiser}, broken stick {self.broken_stick}."
        return key


def _spectrum_of(found: Standing, p: int, unit: float) -> pd.DataFrame:
    """Return all eigenvalues in units of the data, their shares, and those of a broken stick of p pieces."""
    values = found.values * unit
    shares = values / values.sum()
    return pd.DataFrame(
        {
            "eigenvalue": values,
            "share": shares,
            "cumulative": np.cumsum(shares),
            "broken_stick": broken_stick(p)[: len(values)],
        },
        index=pd.Index([f"PC{j + 1}" for j in range(len(values))], name="component"),
    )


def _table_of(found: Standing, spectrum: pd.DataFrame, unit: float) -> pd.DataFrame:
    """Return the tests of each component, variances in units of the data."""
    tested = spectrum.iloc[: len(found.p_values)]
    return pd.DataFrame(
        {
            "observed": tested["eigenvalue"],
            "noise": found.bound * unit,
            "p": found.p_values,
            "deflated_p": found.deflated_p_values,
            "sparse_observed": found.sparse_variances * unit,
            "sparse_p": found.sparse_p_values,
            "sparse_correlation": found.correlations,
            "share": tested["share"],
            "cumulative": tested["cumulative"],
        },
        index=tested.index,
    )


# --- the cardinalities ----------------------------------------------------------------------------


#: The advice for variables with very different variances.
SCALED = "choose(data, scale=True)"
#: criterion -> its name.
NAMES = {**CRITERIA, "bic": "BIC (Allen and Maletic-Savatic)"}
#: rule -> description of the fit that it chooses.
RULES = {
    "worth": "the sparsest fit that further {unit}s improve too little to be worth adding",
    "1se": "the sparsest fit within one standard error of the smallest",
    "paired": "the sparsest fit within one standard error of the difference, paired by fold",
    "min": "the best value",
}


@dataclass(frozen=True, kw_only=True, eq=False)
class Chosen:
    """How cardinalities were chosen, and its description in tables and words.

    Attributes
    ----------
    table : DataFrame
        The candidates, with a column "chosen".
    state : FitState
        The fit.
    card : int or list of int
    by, rule : str
    share : float
    folds, repeats : int
    selected : Selected
    dense : float or None
        The error of dense PCA.
    call : str
        The call that reproduces the fit.
    groups : int or None
        The number of groups of variables, if cardinalities count these.
    drawn : str
        What folds and tests draw, if not single rows of the data.
    remarks : sequence of str
        Remarks on rows that may not be independent.
    """

    table: pd.DataFrame
    state: FitState
    card: Any
    by: str
    rule: str
    share: float
    folds: int
    repeats: int
    selected: Selected
    dense: float | None
    call: str
    groups: int | None = None
    drawn: str = ""
    remarks: Sequence[str] = ()

    @property
    def unit(self) -> str:
        """The unit in which cardinalities are counted: "group" or "loading"."""
        return "group" if self.groups else "loading"

    @property
    def _counted(self) -> str:
        """The column of the table with the sums of cardinalities."""
        return "groups" if self.groups else "nonzeros"

    @property
    def _line(self) -> pd.Series:
        """The candidate that was chosen."""
        return self.table[self.table["chosen"]].iloc[0]

    @property
    def _best(self) -> pd.Series:
        """The candidate with the best value of the criterion."""
        return self.table.iloc[self.selected.best]

    @property
    def worth(self) -> bool:
        """Whether the rule "worth" was applied, which only these two criteria use."""
        return self.rule == "worth" and self.by in ("cv", "ebic")

    def document(self) -> Document:
        """Return the full document for a report: all candidates, criteria and reasons."""
        columns = self._columns(False)
        notes = [*self.reasons(), self._key(columns)]
        return self._document([], self._tables(columns, self.table.index), notes)

    def screen(self, components: ComponentChoice | None) -> Document:
        """Return the printout: the choice, the fits with which it is compared, and warnings.

        The tests for the number of components are included if this number was chosen as well.
        """
        table, selected = self.table, self.selected
        compared = {selected.place, selected.equal, selected.best}
        compared |= {i for i in table.index if table["card"][i] in selected.readings.values()}
        shown = table.index[sorted(compared)]
        columns = self._columns(True)
        notes = [self._verdict(), *self._about_components(), *self._about_folds()]
        notes += [*self._about_density(), *self._cautions()]
        ends = [f"All {len(table)} candidates: choice.table."] if len(shown) < len(table) else []
        facts, tables = [], []
        if components is not None:
            notes += components._cautions()
            facts.append(("k", components._brief()))
            facts += components._about_rows()
            tables.append(components._lines(components.k + 1))  # up to the first one that was not chosen
            ends.append("The tests of k: choice.k_choice.")
            notes.insert(0, components._levels())
        notes.append(" ".join([self._key(columns), *ends]))
        tables += self._tables(columns, shown)
        return self._document(facts, tables, notes)

    def _document(self, facts: list[tuple[str, str]], tables: list[Table], notes: list[str]) -> Document:
        """Return the title, the header with further `facts`, the tables and the notes."""
        kind = "Cardinalities" if isinstance(self.card, (tuple, list)) else "Cardinality"
        title = f"{kind} of {plural(self.state.record.k, 'component')} by {NAMES[self.by]}"
        return Document(title, tuple(self._facts(*facts)), tuple(tables), tuple(notes))

    def _facts(self, *between: tuple[str, str]) -> Iterator[tuple[str, str]]:
        """Yield the lines of the header of the choice; `between` is inserted between data and rule."""
        for note in unequal_variances(self.state.record, self.state.moments.variances, SCALED):
            yield "Scale", note
        yield "Data", describe_data(self.state.record)
        if self.drawn:
            yield "Draws", self.drawn
        for remark in self.remarks:
            yield "Rows", remark
        yield from between
        yield "Rule", self._rule_text()
        yield "Fit", self.call

    # --- reasons ------------------------------------------------------------------------------------

    def reasons(self) -> Iterator[str]:
        """Yield the reasons for the choice and further remarks."""
        table, line = self.table, self._line
        yield self._verdict()
        if self.worth and line["card"] != self._best["card"]:
            yield self._unworthy()
        yield from self._about_components()
        yield from self._about_folds()
        yield from self._about_density()
        yield from self._cautions()
        if self.by == "cv" and "ebic" in table:
            other = table["card"].iloc[int(table["ebic"].argmin())]
            each = " in each" if self.state.record.k > 1 and not isinstance(other, (tuple, list)) else ""
            if other != line["card"]:
                yield f"EBIC would take {card_text(other)}{each}."

    def _verdict(self) -> str:
        """Return a sentence that compares the choice with the best value."""
        by, line, best = self.by, self._line, self._best
        one = not isinstance(line["card"], (tuple, list))
        name = f"{'Cardinality' if one else 'Cardinalities'} {card_text(line['card'])}"
        if by == "variance":
            kept, share = percent(line["relative_adjusted"], 1), percent(self.share, 0)
            if line["relative_adjusted"] < self.share:
                return f"{name}: no candidate keeps {share} %; it keeps {kept} %."
            goal = f"that keep {share} % of dense PCA's variance, all components together ({kept} %)"
            return f"{name}: the fewest {self.unit}s {goal}."
        if line["card"] != best["card"]:
            return f"{name}: {self._compared()}."
        extreme = "largest" if by == "is" else "smallest"
        lead = f"{name} {'has' if one else 'have'} the {extreme} {NAMES[by]}"
        if by == "cv":
            error = f"error {fixed(best['error'], 3)}, standard error {fixed(best['se'], 3)}"
            lead = f"{name} {'predicts' if one else 'predict'} best ({error})"
        fewer = (self.table[self._counted] < line[self._counted]).any()
        sparser = by in ("cv", "ebic") and self.rule != "min" and fewer
        return f"{lead}{'; the rule accepts no sparser fit' if sparser else ''}."

    def _cautions(self) -> Iterator[str]:
        """Yield warnings: no prediction, few rows, the end of the grid, screened variables."""
        record, counts = self.state.record, self.table[self._counted]
        if self.by == "cv" and self._best["error"] >= 1.0:
            yield (
                "No candidate predicts better than the column means: interpret these components with caution."
            )
        # with fewer than 60 rows the rule of one standard error selects too few
        if record.n is not None and record.n < 60 and (self.by, self.rule) == ("cv", "1se"):
            yield (
                f"With {plural(record.n, 'row')} the rule of one standard error tends to select too few "
                "loadings; rule='worth' and rule='paired' compare by fold and select more."
            )
        yield from self._alone()
        rule, most = rule_of(record), record.k * (self.groups or record.p)
        largest = isinstance(self.card, int) and self._line[self._counted] == counts.max() < most
        if largest and rule is not None:
            largest = rule.feasible([self.card + 1] * record.k)
        if largest and len(counts) > 1:
            yield "It is the largest cardinality tried; cards= sets larger ones."

    def _alone(self) -> Iterator[str]:
        """Yield a sentence for every component of one variable that was chosen among others."""
        if not self.worth or len(self.table) == 1:
            return
        V, record = self.state.V, self.state.record
        for j in np.flatnonzero(np.count_nonzero(V, axis=0) == 1):
            name = full_names(self.state.spec.columns)[int(np.flatnonzero(V[:, j])[0])]
            if self.table[self._counted].max() > record.k:
                yield f"PC{j + 1} is a single variable, {name}: a second one does not improve prediction."

    def method_sentences(self) -> Iterator[str]:
        """Yield sentences for a methods section on how cardinalities were chosen."""
        by = self.by
        cells = ", cells predicted from the others of their row" if by == "cv" else ""
        numbers = "numbers of groups" if self.groups else "numbers of nonzero loadings"
        yield f"The {numbers} were chosen by {NAMES[by]}: {self._rule_text()}{cells}."
        if self.worth:
            yield f"The fit explains {self._share_of_best()}."
            yield self._unworthy()
        if isinstance(self.card, list):
            yield "The number may differ between components: one at a time was changed until none changed."

    def _unworthy(self) -> str:
        """Return a sentence on the loadings that are not worth adding."""
        least = (
            "lower EBIC by less than 2"
            if self.by == "ebic"
            else "improve prediction by less than one standard error"
        )
        share = percent(self.selected.price, 0)
        return (
            f"Further {self.unit}s {least}, or each of them by less than {share} % of the mean improvement "
            f"per {self.unit} of this fit."
        )

    def _share_of_best(self) -> str:
        """Return the share that the fit explains of what the candidate that explains most does, in words."""
        share = percent(self._line["kept"], 0)
        if self.by == "ebic":  # nothing is held out
            return f"{share} % of the most that a candidate explains in these data"
        return f"{share} % of what the best prediction explains"

    def _compared(self) -> str:
        """Return a comparison of the choice with the best value of another candidate."""
        rule, line, best = self.rule, self._line, self._best
        at = card_text(best["card"])
        if rule == "worth":
            return (
                f"with {line[self._counted]} {self.unit}s, this fit explains {self._share_of_best()}; the "
                f"candidate with the smallest {'EBIC' if self.by == 'ebic' else 'error'} (card={at}) has "
                f"{plural(best[self._counted], self.unit)}"
            )
        if self.by == "ebic":
            return f"the sparsest whose EBIC exceeds the smallest (at {at}) by less than 2"
        smallest = f"the smallest error ({fixed(best['error'], 3)}, at {at})"
        if rule == "paired":
            return (
                f"the sparsest whose error exceeds {smallest} by less than one standard error of the "
                f"difference ({fixed(line['excess'], 3)} by {fixed(line['excess_se'], 3)}, paired by fold)"
            )
        if isinstance(self.card, list):
            return (
                "changed one at a time, each to the sparsest within one standard error of the best; the "
                f"error is {fixed(line['error'], 3)}, {smallest}"
            )
        return f"the sparsest within one standard error ({fixed(best['se'], 3)}) of {smallest}"

    def _about_components(self) -> Iterator[str]:
        """Yield sentences on the search for unequal cardinalities."""
        tried, equal = self.selected.tried, card_text(self.selected.keys[self.selected.equal])
        if tried and isinstance(self.card, list):
            yield f"From {equal} in each, one component at a time was changed; {tried} sets were tried."
        elif tried:
            yield f"No other cardinality for a single component is clearly better; {tried} sets were tried."
        elif self.worth and self.state.record.k > 1 and self.state.record.p > GRAM_LIMIT:
            yield f"With more than {GRAM_LIMIT} variables only each='free' tries unequal cardinalities."

    def _about_folds(self) -> Iterator[str]:
        """Yield a sentence if single divisions into folds lead to other choices."""
        cards = sorted(set(self.selected.by_division))
        if len(cards) > 1:
            yield (
                f"Errors are means over {self.repeats} divisions into folds. Of equal cardinalities, they "
                f"choose {card_text(self.selected.keys[self.selected.equal])}; single divisions choose "
                f"{card_text(cards[0])} to {card_text(cards[-1])}."
            )

    def _about_density(self) -> Iterator[str]:
        """Yield a remark if the best fit has most of the loadings and has predictive value."""
        record, best = self.state.record, self._best
        everything = record.p * record.k
        predicts = self.by == "ebic" or (self.by == "cv" and best["error"] < 1.0)
        # data whose best fit needs more than 60 % of the loadings are not sparse
        if predicts and best["nonzeros"] > 0.6 * everything:
            pca = "This fit is not sparse: it is PCA. " if self._line["nonzeros"] == everything else ""
            if self.by == "ebic":
                lead, cost = "EBIC is smallest", "describe the data less well"
            else:
                lead, cost = "Prediction is best", "predict less well"
            yield (
                f"{pca}{lead} with {fixed(best['nonzeros'] / record.k, 0)} of {record.p} variables in each "
                "component, so the data do not determine how many loadings are zero: fewer loadings are "
                f"easier to interpret but {cost}."
            )

    # --- tables -------------------------------------------------------------------------------------

    def _tables(self, columns: tuple[str, ...], shown: pd.Index) -> list[Table]:
        """Return the candidates `shown`, with marks for the choice and the best values.

        If cardinalities are unequal, the marks are long and have a table of their own.
        """
        cells = {
            "error": lambda line: fixed(line["error"], 3),
            "se": lambda line: fixed(line["se"], 3),
            "of best %": lambda line: percent(line["kept"], 0),
            "EBIC": lambda line: fixed(line["ebic"] - self.table["ebic"].min(), 1),
            "BIC": lambda line: fixed(line["bic"], 4),
            "IS": lambda line: fixed(line["is"], 3),
            "PEV": lambda line: percent(line["pev"], 1),
            "of PCA's": lambda line: percent(line["relative_adjusted"], 1),
        }
        numbers, marks = [], []
        for _, line in self.table.loc[shown].iterrows():
            numbers.append(Row(card_text(line["card"]), tuple(cells[name](line) for name in columns)))
            marks.append(Row(numbers[-1].label, (self._mark(line),)))
        if isinstance(self.card, (tuple, list)):
            marked = tuple(row for row in marks if row.cells != ("",))
            return [Table("card", columns, tuple(numbers)), Table("card", ("role",), marked, "l")]
        both = (Row(row.label, row.cells + mark.cells) for row, mark in zip(numbers, marks, strict=True))
        return [Table("card", (*columns, "role"), tuple(both), "r" * len(columns) + "l")]

    def _mark(self, line: pd.Series) -> str:
        """Return the mark of a candidate: the criteria by which it is best, and whether it is chosen."""
        best_by = {**CRITERIA, "cv": "prediction", "is": "IS"}
        best_by.pop("variance")
        readings = self.selected.readings
        best = [best_by[by] for by, card in readings.items() if card == line["card"] and by in best_by]
        kind = "best equal cardinality by" if isinstance(self.card, (tuple, list)) else "best"
        marks = [f"{kind} {' and '.join(best)}"] if best else []
        enough = line["relative_adjusted"] >= self.share * (1.0 - 1e-12)
        if enough and readings.get("variance") == line["card"]:
            marks.append(f"sparsest with {percent(self.share, 0)} % of PCA")
        return ", ".join([*["<- chosen"][: line["chosen"]], *marks])

    def _columns(self, brief: bool) -> tuple[str, ...]:
        """Return the headings of the columns; if `brief`, only those for the criterion of the choice."""
        by, table = self.by, self.table
        known = {
            "error": "error" in table,
            "se": "error" in table,
            "of best %": "error" in table or by == "ebic",
            "EBIC": "ebic" in table and not (brief and by != "ebic"),
            "BIC": by == "bic",
            "IS": not (brief and by != "is"),
            "PEV": True,
            "of PCA's": by == "variance",
        }
        return tuple(name for name, there in known.items() if there)

    def _rule_text(self) -> str:
        if self.by == "variance":
            return (
                f"the fewest {self.unit}s that keep {percent(self.share, 0)} % of dense PCA's variance, all "
                "components together"
            )
        text = RULES[self.rule if self.by in ("cv", "ebic") else "min"].format(unit=self.unit)
        if (self.by, self.rule) == ("ebic", "1se"):
            text = "the sparsest fit within 2 of the smallest"
        if self.by == "cv":
            repeats = f", {self.repeats} divisions" if self.repeats > 1 else ""
            text = f"{text}; {self.folds} folds{repeats}"
        return text

    def _key(self, columns: tuple[str, ...]) -> str:
        """Return the explanation of the headings."""
        dense = "" if self.dense is None else f", dense PCA {fixed(self.dense, 3)}"
        said = {
            "error": (
                f"error: of predicting held-out cells from the other{' group' * bool(self.groups)}s of their "
                f"row (column means 1{dense}); se: standard error over folds"
            ),
            "of best %": (
                "of best %: the explained share, 1 - error, relative to the largest of all candidates and PCA"
                if "error" in columns
                else "of best %: the share explained in these data, relative to the largest of all candidates"
            ),
            "EBIC": "EBIC: difference from the smallest",
            "PEV": "PEV: % of the total variance",
        }
        return "; ".join([*(said[name] for name in columns if name in said), "IS: index of sparseness."])


def card_text(card: Any) -> str:
    return ", ".join(map(str, card)) if isinstance(card, (tuple, list)) else str(card)


# --- the result ----------------------------------------------------------------------------------


class ChoiceStability(Summary):
    """How much a choice varies between random halves of the rows; the result of `Choice.stability`.

    It prints as the shares of each number of components, and the ranges of the cardinalities.
    """

    def __init__(self, draws: pd.DataFrame, pairs: float, chosen_k: int, chosen_nonzeros: int) -> None:
        self._draws, self._pairs, self._k, self._nonzeros = draws, pairs, chosen_k, chosen_nonzeros

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

        Of two sets of supports with a and b loadings, of which c are the same, it is 2 c / (a + b);
        components are matched so that c is as large as possible.
        """
        return self._pairs

    def _document(self) -> Document:
        n = len(self._draws)
        title = f"The choice in {n} random halves of the rows"
        facts = (("Choice", f"{plural(self._k, 'component')}, {plural(self._nonzeros, 'nonzero loading')}"),)
        rows = []
        for k, line in self.table.iterrows():
            few, most = int(line["smallest card"]), int(line["largest card"])
            loadings = f"{int(line['fewest nonzeros'])} to {int(line['most nonzeros'])}"
            cells = (percent(line["share"], 0), loadings, f"{few} to {most}", fixed(line["overlap"], 2))
            rows.append(Row(str(k), cells))
        table = Table("k", ("% of halves", "loadings", "cardinality", "overlap"), tuple(rows))
        mean = fixed(self._draws["overlap"].mean(), 2)
        notes = (
            f"The loadings that are not zero agree to {mean} with the choice on average, and to "
            f"{fixed(self._pairs, 2)} between two halves (1: the same loadings; 0: none in common).",
        )
        return Document(title, facts, (table,), notes)


class Choice(Summary):
    """The result of `choose`: the numbers of components and of nonzeros, their fit, and the reasons.

    The printout shows the choice, the candidates that are best by other criteria, and warnings. `table` has
    all candidates and criteria, `reason` all reasons; ``print(choice.k_choice)`` explains the choice of the
    number of components.
    """

    def __init__(
        self,
        fit: SpcaResult,
        chosen: Chosen,
        k_choice: ComponentChoice | None,
        halves: Callable[[int, int], list[np.ndarray]] | None = None,
    ) -> None:
        self._fit, self._how, self._k_choice, self._halves = fit, chosen, k_choice, halves
        found = None if k_choice is None else k_choice.k
        record = replace(
            fit._state.record, chosen=partial(_method_sentences, k_choice, chosen), k_found=found
        )
        fit._state = replace(fit._state, record=record)

    def _document(self) -> Document:
        return self._how.screen(self._k_choice)

    @property
    def frames(self) -> dict[str, pd.DataFrame]:
        """The table under "choice"; if k was chosen, too, its tables under "components" and "spectrum"."""
        return {"choice": self.table, **({} if self._k_choice is None else self._k_choice.frames)}

    @property
    def fit(self) -> SpcaResult:
        """The fit with the chosen cardinalities, as a direct call would return it."""
        return self._fit

    @property
    def k(self) -> int:
        """The number of components."""
        return self._how.state.record.k

    @property
    def card(self) -> int | list[int]:
        """The chosen cardinality: a number for all components, or a list with one for each.

        It is what ``spca(card=)`` takes, and counts groups of variables with ``together=``.
        """
        return deep_copy(self._how.card) if isinstance(self._how.card, list) else int(self._how.card)

    @property
    def table(self) -> pd.DataFrame:
        """One row per candidate: "card", "nonzeros", errors, criteria, shares of variance, "chosen".

        "error" is the mean squared prediction error relative to that of the column means, and "se" its
        standard error over folds; "excess" and "excess_se" are the difference from the smallest error and its
        standard error, paired by fold. "kept" is 1 - error as a share of the largest value of any candidate
        (in-sample without cross-validation). Smaller values of "ebic" and "bic" and larger values of "is" are
        better.
        """
        return deep_copy(self._how.table)

    @property
    def k_choice(self) -> ComponentChoice | None:
        """The choice of the number of components; None if `k` was given."""
        return self._k_choice

    @property
    def by(self) -> Literal["cv", "ebic", "bic", "is", "variance"]:
        """The criterion of the choice."""
        return cast('Literal["cv", "ebic", "bic", "is", "variance"]', self._how.by)

    @property
    def call(self) -> str:
        """The call that reproduces the fit, with `data` for the data."""
        return self._how.call

    @property
    def reason(self) -> str:
        """The reasons for the choice, in words."""
        return " ".join(self._how.reasons())

    @property
    def method_text(self) -> str:
        """Text for a methods section on how the numbers of nonzero loadings were chosen."""
        return " ".join(self._how.method_sentences())

    def stability(self, n: int = 20, *, rng: int | None = None) -> ChoiceStability:
        """Repeat the choice on random halves of the rows, and report how much it varies.

        Parameters
        ----------
        n : int
            Number of halves.
        rng : int, optional
            Seed of the halves; a fixed one by default.

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
                "stability() draws halves of the rows, and this choice is not from rows in memory (a frame, "
                "an array or a sparse matrix without dropped rows); give choose() such rows."
            )
        found = self._halves(n, 0 if rng is None else whole_number("rng", rng, 0))
        chosen = self._fit.loadings.to_numpy()
        counts = [np.count_nonzero(V, axis=0) for V in found]
        draws = pd.DataFrame(
            {
                "k": [V.shape[1] for V in found],
                "nonzeros": [int(count.sum()) for count in counts],
                "smallest card": [int(count.min()) if count.size else 0 for count in counts],
                "largest card": [int(count.max(initial=0)) for count in counts],
                "overlap": [support_overlap(chosen, V) for V in found],
            },
            index=pd.RangeIndex(1, n + 1, name="half"),
        )
        pairs = float(np.mean([support_overlap(A, B) for A, B in combinations(found, 2)]))
        return ChoiceStability(draws, pairs, chosen.shape[1], int(np.count_nonzero(chosen)))

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
        """
        return plots.plot_choice(self._how.table, by=self.by, dense=self._how.dense, ax=ax)

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
        """Write a report that begins with the choice and its plots, then describes the fit.

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
            Whether the tables have long names in full; otherwise names are shortened, with a key.
        sort, max_rows, sections, digits, cut
            Which variables the tables show, in which order, and how: see `SpcaResult.summary`.
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
            arrangement=Arrangement(sort, max_rows, sections, cut),
            digits=digits,
            row_groups=fit._by_row(groups, "groups"),
        )

    def _noise_for(self, spectrum: np.ndarray) -> np.ndarray:
        """Return the thresholds of parallel analysis; see `ComponentChoice._noise_for`."""
        if self._k_choice is None:
            raise OptionError(
                "parallel= is a choice with a given number of components, so that no parallel analysis "
                "was run; give the result of choose_k()."
            )
        return self._k_choice._noise_for(spectrum)

    def _chapters(self) -> tuple[Chapter, ...]:
        """Return the chapters that precede those of the fit in the report."""
        what = "The criterion of every cardinality"
        unsaid = (
            f"Every cardinality by {NAMES[self.by]}"
            f"{', with one standard error' if self.by == 'cv' else ''}. It does not say how sure the "
            "variables of the choice are, nor that those left out have nothing to do with the component."
        )
        sparse = chapter_of("How sparse", self._how.document(), self.plot, what, unsaid)
        number = self._k_choice
        if number is None:
            return (sparse,)
        what = "Eigenvalues of the data and of noise"
        unsaid = (
            "Eigenvalues compared with those of noise. A component below the line may be real and weak, and "
            "one above it need not mean anything."
        )
        return chapter_of("How many components", number._document(), number.plot, what, unsaid), sparse


def support_overlap(A: np.ndarray, B: np.ndarray) -> float:
    """Return the overlap 2 c / (a + b) of the supports of loadings, under the best matching of components.

    Parameters
    ----------
    A, B : ndarray of shape (p, k) and (p, m)
        With a and b nonzero loadings, of which c are in the same component and variable; 1 for a = b = 0.
    """
    from scipy.optimize import linear_sum_assignment  # imported late, as it is slow to import

    one, other = (A != 0).astype(float), (B != 0).astype(float)
    total = one.sum() + other.sum()
    common = one.T @ other
    pairs = linear_sum_assignment(-common)
    return float(2.0 * common[pairs].sum() / total) if total else 1.0


def _method_sentences(k_choice: ComponentChoice | None, chosen: Chosen) -> list[str]:
    """Return the sentences of a methods section on how the numbers were chosen."""
    number = [] if k_choice is None else [k_choice.method_text]
    return [*number, " ".join(chosen.method_sentences())]
