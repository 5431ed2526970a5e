"""What is printed of the choices of a number of components and of cardinalities: tables and reasons."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd

from spcastat.assess.candidates import CRITERIA
from spcastat.assess.noise_tests import LEAST_CORRELATION, LEAST_OF_WHOLE, Standing, broken_stick
from spcastat.assess.unequal_cardinalities import Selected
from spcastat.config import plural
from spcastat.fit.state import FitState, rule_of
from spcastat.labels import full_names
from spcastat.search.default import GRAM_LIMIT
from spcastat.show.grid import Chapter, Document, Row, Table, alike, fixed, percent
from spcastat.show.report import chapter_of
from spcastat.show.summary import describe_data, unequal_variances

if TYPE_CHECKING:
    from matplotlib.axes import Axes

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


@dataclass(frozen=True, kw_only=True, eq=False)
class ComponentTests:
    """The tests of the number of components.

    Attributes
    ----------
    found : Standing
    p : int
        Number of variables that were tested.
    unit : float
        The unit of the variances of `found`, in units of the data.
    most : int
        Number of components that could be tested.
    tested : Tested or None
        If only a part of the data was tested.
    large : LargeRows or None
    drawn : str
        What is drawn, if not single rows of the data.
    remarks : sequence of str
        Remarks on rows that may not be independent.
    sampled : bool
        Whether the rows are a sample of those of the data.
    n : int or None
        Number of rows.
    """

    found: Standing
    p: int
    unit: float
    most: int
    tested: Tested | None = None
    large: LargeRows | None = None
    drawn: str = ""
    remarks: Sequence[str] = ()
    sampled: bool = False
    n: int | None = None

    @cached_property
    def spectrum(self) -> pd.DataFrame:
        """All eigenvalues in units of the data, their shares, and those of a broken stick of p pieces."""
        values = self.found.values * self.unit
        shares = values / values.sum()
        return pd.DataFrame(
            {
                "eigenvalue": values,
                "share": shares,
                "cumulative": np.cumsum(shares),
                "broken_stick": broken_stick(self.p)[: len(values)],
            },
            index=pd.Index([f"PC{j + 1}" for j in range(len(values))], name="component"),
        )

    @cached_property
    def table(self) -> pd.DataFrame:
        """The tests of each component, variances in units of the data."""
        found = self.found
        tested = self.spectrum.iloc[: len(found.p_values)]
        return pd.DataFrame(
            {
                "observed": tested["eigenvalue"],
                "noise": found.bound * self.unit,
                "p": found.p_values,
                "deflated_p": found.deflated_p_values,
                "sparse_observed": found.sparse_variances * self.unit,
                "sparse_p": found.sparse_p_values,
                "sparse_correlation": found.correlations,
                "share": tested["share"],
                "cumulative": tested["cumulative"],
            },
            index=tested.index,
        )

    @property
    def given_values(self) -> np.ndarray:
        """All eigenvalues in units of the data, of the rows as they are."""
        return self.found.values * self.unit if self.large is None else self.large.values

    @property
    def has_rules(self) -> bool:
        """Whether the rules of Kaiser and of the broken stick have a meaning.

        All variables have to be tested, and to be fewer than the rows: otherwise p - n + 1 or more
        eigenvalues are zero, and the others exceed their mean by this alone.
        """
        return self.tested is None and (self.n is None or self.p < self.n)

    @property
    def kaiser(self) -> int | None:
        """The number of eigenvalues above their mean (Kaiser); None without `has_rules`."""
        if not self.has_rules:
            return None
        values = self.given_values
        mean = values.sum() / self.p  # over all p variables
        return int(np.sum(values > mean * (1.0 + 1e-10)))

    @property
    def broken_stick(self) -> int | None:
        """The number of shares above those of a broken stick; None without `has_rules`."""
        if not self.has_rules:
            return None
        values = self.given_values
        above = values / values.sum() > broken_stick(self.p)[: len(values)]
        return len(above) if above.all() else int(np.argmin(above))


def number_document(tests: ComponentTests) -> Document:
    """Return the tests of the number of components, and the reasons for it."""
    title = f"Number of components: {tests.found.k}   ({_by_test(tests)})"
    notes = (_levels(tests), *number_reasons(tests), _number_key(tests))
    facts = [("Draws", tests.drawn)] if tests.drawn else []
    facts += _about_rows(tests)
    return Document(title, tuple(facts), (_test_lines(tests, len(tests.table)),), notes)


def number_methods(tests: ComponentTests) -> str:
    """Return text for a methods section on how the number of components was chosen."""
    draws = tests.found.draws
    return (
        "The number of components was chosen by comparison with noise, simulated by flipping the signs "
        f"of the centred values at random (Hong, Sheng and Dobriban, 2020; {draws.n_draws} draws, "
        "and up to four times as many for p-values near the level): by "
        f"parallel analysis at the level {percent(draws.alpha, 0)} %, and by tests of dense and of sparse "
        f"components after removing the earlier ones, at the level {_level(tests)} %. "
        + " ".join([_counts(tests), *_of_large_rows(tests), *_untested(tests)])
    )


def number_reasons(tests: ComponentTests) -> Iterator[str]:
    """Yield the reasons for the number of components, and further remarks."""
    table, found, m = tests.table, tests.found, len(tests.table)
    P, D, Q = found.parallel, found.deflated, found.sequential
    card = plural(found.card, "variable")
    yield _counts(tests)
    if found.minor:
        yield _minor(found)
    if m not in (P, Q) and m > P:
        line = table.iloc[P]
        value, bound = alike([line["observed"], line["noise"]])
        share = percent(1 - found.draws.alpha, 0)
        yield f"The eigenvalue of PC{P + 1} is {value}; the {share} % quantile of noise is {bound}."
    if D < P:
        yield (
            f"The deflated test of PC{D + 1} has p = {fixed(table['deflated_p'].iloc[D], 3)} (level "
            f"{_level(tests)} %). Rows of very unequal size are a possible reason: parallel analysis can "
            "count them as components."
        )
    yield from _number_cautions(tests)
    if min(P, D) < Q:
        yield (
            "The sparse test finds weak components of few variables that strong ones mask in parallel "
            f"analysis. It starts from {card} (sparse_card=), so it can "
            "also take part of a block of many weak variables for a component."
        )
    elif min(P, D, found.major) > Q:
        yield (
            f"Further components of {card} do not exceed noise: they are weak, or spread over many variables."
        )


def _counts(tests: ComponentTests) -> str:
    """Return a sentence on the number of components by each test, and on the choice."""
    found = tests.found
    P, D, Q = found.parallel, found.deflated, found.sequential
    if min(P, D) == Q:
        why = "the tests agree"
    else:
        why = "minor components are left out" if found.minor else "the larger number"
    deflated = f", the deflated test {D} of them" if D < P else ""
    return (
        f"Parallel analysis keeps {P}{deflated}; the sequential sparse test keeps {Q}. The choice is "
        f"{found.k}: {why}."
    )


def _minor(found: Standing) -> str:
    """Return a sentence on components that exceed noise and are not chosen."""
    first, last = found.k + 1, found.k + found.minor
    one, dense = first == last, min(found.parallel, found.deflated)
    names = f"PC{first} exceeds" if one else f"PC{first} to PC{last} exceed"
    return (
        f"{names} noise but {'is' if one else 'are'} minor and not chosen. Of the "
        f"{plural(dense, 'principal component')} that {'exceeds' if dense == 1 else 'exceed'} noise, after "
        f"rotation by varimax, {found.major or 'none'} {'explains' if found.major < 2 else 'explain'} a mean "
        f"correlation of {fixed(LEAST_CORRELATION, 1)} or more among all of "
        f"{'its' if found.major < 2 else 'their'} variables. The column r is of other components, the sparse "
        f"ones, among their {plural(found.card, 'variable')}."
    )


def _number_cautions(tests: ComponentTests) -> Iterator[str]:
    """Yield warnings: rows that change the number, the last component stands out, untested variables."""
    found, m = tests.found, len(tests.table)
    for sentence in _of_large_rows(tests):
        yield (
            f'{sentence} A fit with method="spcagrid" or method="rspca-l0" is less influenced by such rows.'
        )
    if m in (found.parallel, found.sequential):
        where = "a larger kmax tests more" if m < tests.most else "no more can be tested"
        lead = "The one tested component" if m == 1 else f"The last of the {m} tested components"
        yield f"{lead} still exceeds noise; {where}."
    yield from _untested(tests)


def _of_large_rows(tests: ComponentTests) -> Iterator[str]:
    """Yield a sentence on rows that change the number."""
    large = tests.large
    if large is not None and large.labels:
        rest = len(large.labels) - 3
        others = f" and {rest:,} other{'s' * (rest > 1)}" if rest > 0 else ""
        one = len(large.labels) == 1
        rows = f"Row {large.labels[0]} is" if one else f"Rows {', '.join(large.labels[:3])}{others} are"
        yield (
            f"{rows} the largest, with {percent(large.share, 0)} % of the total variance; "
            f"{plural(large.pulled, 'row')} {'was' if large.pulled == 1 else 'were'} shrunk to 1.5 times the "
            f"median size. Without shrinking, k = {large.k}; with shrinking, k = {tests.found.k}."
        )


def _untested(tests: ComponentTests) -> Iterator[str]:
    """Yield a sentence on variables that were not tested."""
    if tests.tested is not None:
        yield (
            f"{tests.p:,} of {tests.tested.variables:,} variables were tested in {tests.tested.rows:,} "
            "rows, about half; a sparse fit of the other rows selected these variables. Half of the "
            "rows have less power for weak components, and components of many more variables may be "
            "missed."
        )


def _about_rows(tests: ComponentTests) -> list[tuple[str, str]]:
    """Return the lines of the header on rows that may not be independent, and on rows that were shrunk."""
    lines = [("Rows", remark) for remark in tests.remarks]
    if tests.large is not None:
        rows = plural(tests.large.pulled, "row")
        were = "was" if tests.large.pulled == 1 else "were"
        shrunk = (
            f"For the tests of k, {rows} of more than 1.5 times the median size {were} shrunk to it; "
            "eigenvalues and cum. % are computed from the shrunk rows, which the fit does not use."
        )
        lines.append(("Rows", shrunk))
    return lines


def _level(tests: ComponentTests) -> str:
    """Return the level of the deflated and the sparse test in percent."""
    level = tests.found.draws.level
    return percent(level, 1 - (level >= 0.01))


def _levels(tests: ComponentTests) -> str:
    """Return a sentence on the level of each test."""
    draws = tests.found.draws
    return (
        f"Levels of the tests: p {percent(draws.alpha, 0)} %, deflated p and sparse p {_level(tests)} %; "
        f"{draws.n_draws} sign flips for each, up to {draws.most} if a p-value is near its level."
    )


def _by_test(tests: ComponentTests) -> str:
    """Return the number of components by each test."""
    found = tests.found
    return f"parallel analysis {found.parallel}, deflated {found.deflated}, sparse {found.sequential}"


def _brief(tests: ComponentTests) -> str:
    """Return the chosen number of components, and the number by each test and rule."""
    rules = "" if not tests.has_rules else f"; Kaiser {tests.kaiser}, broken stick {tests.broken_stick}"
    return f"{tests.found.k}: {_by_test(tests)}{rules}"


def _test_lines(tests: ComponentTests, most: int) -> Table:
    """Return the tests of at most `most` components, with a line below the chosen ones."""
    table = tests.table.iloc[:most]
    lines = []
    values = alike([*table["observed"], *table["noise"]])
    m = len(table)
    for i, (name, line) in enumerate(table.iterrows()):
        cells = ("" if np.isnan(line[one]) else fixed(line[one], digits) for one, digits in DIGITS.items())
        numbers = (values[i], values[m + i], *cells, percent(line["cumulative"], 1))
        lines.append(Row(str(name), numbers, rule=i == tests.found.k > 0))
    point = f"{percent(1 - tests.found.draws.alpha, 0)} % of noise"
    headings = ("eigenvalue", point, "p", "deflated p", "sparse p", "r", "cum. %")
    return Table("", headings, tuple(lines))


def _number_key(tests: ComponentTests) -> str:
    """Return the explanation of the headings of the tests."""
    key = (
        "p: for the eigenvalue of that rank. deflated p: for the first eigenvalue after removing the "
        f"earlier components. sparse p: for a component of {plural(tests.found.card, 'variable')} after "
        "removing the earlier components; blank if r, the mean correlation that it explains, is below "
        f"{fixed(LEAST_CORRELATION, 1)} (or {fixed(LEAST_OF_WHOLE, 2)} if extended to all variables "
        "correlated with it). cum. %: "
        f"cumulative variance{'' if tests.tested is None else ' of the tested variables'}. Components "
        "below the line are not chosen."
    )
    if tests.has_rules:
        unchanged = "" if tests.large is None else " (without shrinking)"
        key += f" Kaiser's rule {tests.kaiser}, broken stick {tests.broken_stick}{unchanged}."
    return key


# --- the cardinalities ----------------------------------------------------------------------------


#: The advice for variables with very different variances.
SCALED = "choose(data, scale=True)"
#: criterion -> its name.
NAMES = {**CRITERIA, "bic": "BIC (Allen and Maletic-Savatic)"}


@dataclass(frozen=True, kw_only=True, eq=False)
class Chosen:
    """How cardinalities were chosen.

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
    def counted(self) -> str:
        """The column of the table with the sums of cardinalities."""
        return "groups" if self.groups else "nonzeros"

    @property
    def unequal(self) -> bool:
        """Whether the chosen cardinalities differ between components."""
        return isinstance(self.card, list)

    @property
    def line(self) -> pd.Series:
        """The candidate that was chosen."""
        return self.table[self.table["chosen"]].iloc[0]

    @property
    def best(self) -> pd.Series:
        """The candidate with the best value of the criterion."""
        return self.table.iloc[self.selected.best]

    @property
    def by_worth(self) -> bool:
        """Whether the rule "worth" was applied, which only these two criteria use."""
        return self.rule == "worth" and self.by in ("cv", "ebic")


def choice_document(chosen: Chosen) -> Document:
    """Return the full document for a report: all candidates, criteria and reasons."""
    columns = _columns(chosen, False)
    notes = [_verdict(chosen), *_further_reasons(chosen), _key(chosen, columns)]
    return _document(chosen, [], _tables(chosen, columns, chosen.table.index), notes)


def choice_screen(chosen: Chosen, tests: ComponentTests | None) -> Document:
    """Return the printout: the choice, the fits with which it is compared, and warnings.

    The tests for the number of components are included if this number was chosen as well.
    """
    table, selected = chosen.table, chosen.selected
    compared = {selected.place, selected.equal, selected.best}
    compared |= {i for i in table.index if table["card"][i] in selected.readings.values()}
    shown = table.index[sorted(compared)]
    columns = _columns(chosen, True)
    notes = [_verdict(chosen), *_about_components(chosen), *_about_folds(chosen)]
    notes += [*_about_density(chosen), *_cautions(chosen)]
    ends = [f"All {len(table)} candidates: choice.table."] if len(shown) < len(table) else []
    facts, tables = [], []
    if tests is not None:
        notes += _number_cautions(tests)
        facts.append(("k", _brief(tests)))
        facts += _about_rows(tests)
        tables.append(_test_lines(tests, tests.found.k + 1))  # up to the first one that was not chosen
        ends.append("The tests of k: choice.k_choice.")
        notes.insert(0, _levels(tests))
    notes.append(" ".join([_key(chosen, columns), *ends]))
    tables += _tables(chosen, columns, shown)
    return _document(chosen, facts, tables, notes)


def _document(
    chosen: Chosen, facts: list[tuple[str, str]], tables: list[Table], notes: list[str]
) -> Document:
    """Return the title, the header with further `facts`, the tables and the notes."""
    kind = "Cardinalities" if chosen.unequal else "Cardinality"
    title = f"{kind} of {plural(chosen.state.record.k, 'component')} by {NAMES[chosen.by]}"
    return Document(title, tuple(_facts(chosen, facts)), tuple(tables), tuple(notes))


def _facts(chosen: Chosen, between: list[tuple[str, str]]) -> Iterator[tuple[str, str]]:
    """Yield the lines of the header of the choice; `between` is inserted between data and rule."""
    record = chosen.state.record
    for note in unequal_variances(record, chosen.state.moments.variances, SCALED):
        yield "Scale", note
    yield "Data", describe_data(record)
    if chosen.drawn:
        yield "Draws", chosen.drawn
    for remark in chosen.remarks:
        yield "Rows", remark
    yield from between
    yield "Rule", _rule_text(chosen)
    for sentence in _about_end(chosen):
        yield "Note", sentence
    yield "Fit", chosen.call


def chapters(
    chosen: Chosen,
    plot: Callable[[], Axes],
    tests: ComponentTests | None,
    plot_tests: Callable[[], Axes] | None,
) -> tuple[Chapter, ...]:
    """Return the chapters of a report on the choices, with their plots."""
    what = "The criterion of every cardinality"
    unsaid = (
        f"Every cardinality by {NAMES[chosen.by]}"
        f"{', with one standard error' if chosen.by == 'cv' else ''}. It does not say how sure the "
        "variables of the choice are, nor that those left out have nothing to do with the component."
    )
    sparse = chapter_of("How sparse", choice_document(chosen), plot, what, unsaid)
    if tests is None or plot_tests is None:
        return (sparse,)
    what = "Eigenvalues of the data and of noise"
    unsaid = (
        "Eigenvalues compared with those of noise. A component below the line may be real and weak, and "
        "one above it need not mean anything."
    )
    return chapter_of("How many components", number_document(tests), plot_tests, what, unsaid), sparse


def method_sentences(tests: ComponentTests | None, chosen: Chosen) -> list[str]:
    """Return the sentences of a methods section on how the numbers were chosen."""
    number = [] if tests is None else [number_methods(tests)]
    return [*number, choice_methods(chosen)]


def choice_methods(chosen: Chosen) -> str:
    """Return text for a methods section on how cardinalities were chosen."""
    cells = ", cells predicted from the others of their row" if chosen.by == "cv" else ""
    numbers = "numbers of groups" if chosen.groups else "numbers of nonzero loadings"
    said = [f"The {numbers} were chosen by {NAMES[chosen.by]}: {_rule_text(chosen)}{cells}."]
    if chosen.by_worth:
        said += [f"The fit explains {_share_of_best(chosen)}.", _not_worth_adding(chosen)]
    if chosen.unequal:
        said.append("The number may differ between components: one at a time was changed until none changed.")
    if _is_beyond(chosen):
        said.append("The largest candidate was chosen, so that the best number may be larger.")
    return " ".join(said)


def choice_reasons(chosen: Chosen) -> Iterator[str]:
    """Yield the reasons for the choice and further remarks."""
    yield _verdict(chosen)
    yield from _about_end(chosen)
    yield from _further_reasons(chosen)


def _further_reasons(chosen: Chosen) -> Iterator[str]:
    """Yield the reasons and remarks that follow those on the choice itself."""
    table, line = chosen.table, chosen.line
    if chosen.by_worth and line["card"] != chosen.best["card"]:
        yield _not_worth_adding(chosen)
    yield from _about_components(chosen)
    yield from _about_folds(chosen)
    yield from _about_density(chosen)
    yield from _cautions(chosen)
    if chosen.by == "cv" and "ebic" in table:
        other = table["card"].iloc[int(table["ebic"].argmin())]
        each = " in each" if chosen.state.record.k > 1 and not isinstance(other, (tuple, list)) else ""
        if other != line["card"]:
            yield f"EBIC would take {card_text(other)}{each}."


def card_text(card: Any) -> str:
    """Return a cardinality, or the cardinalities of the components, as text."""
    return ", ".join(map(str, card)) if isinstance(card, (tuple, list)) else str(card)


# --- the rules of a choice ------------------------------------------------------------------------


#: rule -> description of the fit that it chooses.
RULES = {
    "worth": "the sparsest fit to which no further {unit}s are worth adding",
    "1se": "the sparsest fit within one standard error of the smallest",
    "paired": "the sparsest fit within one standard error of the difference, paired by fold",
    "min": "the best value",
}


def _rule_text(chosen: Chosen) -> str:
    """Return the description of the fit that the rule chooses."""
    if chosen.by == "variance":
        return (
            f"the fewest {chosen.unit}s that keep {percent(chosen.share, 0)} % of dense PCA's variance, all "
            "components together"
        )
    text = RULES[chosen.rule if chosen.by in ("cv", "ebic") else "min"].format(unit=chosen.unit)
    if (chosen.by, chosen.rule) == ("ebic", "1se"):
        text = "the sparsest fit within 2 of the smallest"
    if chosen.by == "cv":
        repeats = f", {chosen.repeats} divisions" if chosen.repeats > 1 else ""
        text = f"{text}; {chosen.folds} folds{repeats}"
    return text


def _verdict(chosen: Chosen) -> str:
    """Return a sentence that compares the choice with the best value."""
    line, best = chosen.line, chosen.best
    one = not isinstance(line["card"], (tuple, list))
    name = f"{'Cardinality' if one else 'Cardinalities'} {card_text(line['card'])}"
    if chosen.by == "variance":
        return f"{name}: {_of_share(chosen)}."
    if line["card"] == best["card"]:
        return f"{name} {_is_best(chosen, one)}."
    if chosen.rule == "worth":
        return f"{name}: {_compared_by_worth(chosen)}."
    if chosen.by == "ebic":
        at = card_text(best["card"])
        return f"{name}: the sparsest whose EBIC exceeds the smallest (at {at}) by less than 2."
    return f"{name}: {_compared_by_error(chosen)}."


def _of_share(chosen: Chosen) -> str:
    """Return the comparison of a choice by its share of the variance with the share asked for."""
    line, share = chosen.line, percent(chosen.share, 0)
    kept = percent(line["relative_adjusted"], 1)
    if line["relative_adjusted"] < chosen.share:
        return f"no candidate keeps {share} %; it keeps {kept} %"
    goal = f"that keep {share} % of dense PCA's variance, all components together ({kept} %)"
    return f"the fewest {chosen.unit}s {goal}"


def _is_best(chosen: Chosen, one: bool) -> str:
    """Return what a choice with the best value is; `one` tells whether it is one cardinality."""
    by, line, best = chosen.by, chosen.line, chosen.best
    of_those = " of those tried" if _is_last(chosen, line) else ""
    if by == "cv":
        error = f"error {fixed(best['error'], 3)}, standard error {fixed(best['se'], 3)}"
        what = f"{'predicts' if one else 'predict'} best{of_those} ({error})"
    else:
        extreme = "largest" if by == "is" else "smallest"
        what = f"{'has' if one else 'have'} the {extreme} {NAMES[by]}{of_those}"
    fewer = (chosen.table[chosen.counted] < line[chosen.counted]).any()
    sparser = by in ("cv", "ebic") and chosen.rule != "min" and fewer
    return f"{what}{'; the rule accepts no sparser fit' if sparser else ''}"


def _compared_by_error(chosen: Chosen) -> str:
    """Return the comparison of a choice by "1se" or "paired" with the smallest error."""
    line, best = chosen.line, chosen.best
    smallest = f"the smallest error ({fixed(best['error'], 3)}, at {card_text(best['card'])})"
    if chosen.rule == "paired":
        return (
            f"the sparsest whose error exceeds {smallest} by less than one standard error of the "
            f"difference ({fixed(line['excess'], 3)} by {fixed(line['excess_se'], 3)}, paired by fold)"
        )
    if chosen.unequal:
        return (
            "changed one at a time, each to the sparsest within one standard error of the best; the "
            f"error is {fixed(line['error'], 3)}, {smallest}"
        )
    return f"the sparsest within one standard error ({fixed(best['se'], 3)}) of {smallest}"


def _compared_by_worth(chosen: Chosen) -> str:
    """Return the comparison of a choice by "worth" with the best value, of errors or of EBIC."""
    line, best = chosen.line, chosen.best
    criterion = "EBIC" if chosen.by == "ebic" else "error"
    return (
        f"with {line[chosen.counted]} {chosen.unit}s, this fit explains {_share_of_best(chosen)}; the "
        f"candidate with the smallest {criterion} (card={card_text(best['card'])}) has "
        f"{plural(best[chosen.counted], chosen.unit)}"
    )


def _share_of_best(chosen: Chosen) -> str:
    """Return the share that the fit explains of what the candidate that explains most does, in words."""
    share = percent(chosen.line["kept"], 0)
    if chosen.by == "ebic":  # nothing is held out
        return f"{share} % of the most that a candidate explains in these data"
    return f"{share} % of what the best prediction explains"


def _not_worth_adding(chosen: Chosen) -> str:
    """Return a sentence on the loadings that the rule "worth" does not add."""
    if chosen.by == "ebic":
        least = "lower EBIC by less than 2"
    else:
        least = "improve prediction by less than one standard error"
    share = percent(chosen.selected.price, 0)
    return (
        f"Further {chosen.unit}s {least}, or each of them by less than {share} % of the mean improvement "
        f"per {chosen.unit} of this fit."
    )


# --- remarks on a choice --------------------------------------------------------------------------


def _about_components(chosen: Chosen) -> Iterator[str]:
    """Yield sentences on the search for unequal cardinalities."""
    selected, record = chosen.selected, chosen.state.record
    tried, equal = selected.tried, card_text(selected.keys[selected.equal])
    if tried and chosen.unequal:
        yield f"From {equal} in each, one component at a time was changed; {tried} sets were tried."
    elif tried:
        yield f"No other cardinality for a single component is clearly better; {tried} sets were tried."
    elif chosen.by_worth and record.k > 1 and record.p > GRAM_LIMIT:
        yield f"With more than {GRAM_LIMIT} variables only each='free' tries unequal cardinalities."


def _about_folds(chosen: Chosen) -> Iterator[str]:
    """Yield a sentence if single divisions into folds lead to other choices."""
    selected = chosen.selected
    cards = sorted(set(selected.by_division))
    if len(cards) > 1:
        yield (
            f"Errors are means over {chosen.repeats} divisions into folds. Of equal cardinalities, they "
            f"choose {card_text(selected.keys[selected.equal])}; single divisions choose "
            f"{card_text(cards[0])} to {card_text(cards[-1])}."
        )


def _about_density(chosen: Chosen) -> Iterator[str]:
    """Yield a remark if the best fit has most of the loadings and has predictive value."""
    record, best = chosen.state.record, chosen.best
    everything = record.p * record.k
    predicts = chosen.by == "ebic" or (chosen.by == "cv" and best["error"] < 1.0)
    # data whose best fit needs more than 60 % of the loadings are not sparse
    if predicts and best["nonzeros"] > 0.6 * everything:
        pca = "This fit is not sparse: it is PCA. " if chosen.line["nonzeros"] == everything else ""
        if chosen.by == "ebic":
            lead, cost = "EBIC is smallest", "describe the data less well"
        else:
            lead, cost = "Prediction is best", "predict less well"
        yield (
            f"{pca}{lead} with {fixed(best['nonzeros'] / record.k, 0)} of {record.p} variables in each "
            "component, so the data do not determine how many loadings are zero: fewer loadings are "
            f"easier to interpret but {cost}."
        )


def _cautions(chosen: Chosen) -> Iterator[str]:
    """Yield warnings: no prediction, few rows, components of one variable."""
    record = chosen.state.record
    if chosen.by == "cv" and chosen.best["error"] >= 1.0:
        yield "No candidate predicts better than the column means: interpret these components with caution."
    # with fewer than 60 rows the rule of one standard error selects too few
    if record.n is not None and record.n < 60 and (chosen.by, chosen.rule) == ("cv", "1se"):
        yield (
            f"With {plural(record.n, 'row')} the rule of one standard error tends to select too few "
            "loadings; rule='worth' and rule='paired' compare by fold and select more."
        )
    yield from _alone(chosen)


def _alone(chosen: Chosen) -> Iterator[str]:
    """Yield a sentence for every component of one variable that was chosen among others."""
    if not chosen.by_worth or len(chosen.table) == 1:
        return
    V, record = chosen.state.V, chosen.state.record
    for j in np.flatnonzero(np.count_nonzero(V, axis=0) == 1):
        name = full_names(chosen.state.spec.columns)[int(np.flatnonzero(V[:, j])[0])]
        if chosen.table[chosen.counted].max() > record.k:
            yield f"PC{j + 1} is a single variable, {name}: a second one does not improve prediction."


# --- the end of the candidates --------------------------------------------------------------------


def _is_last(chosen: Chosen, line: pd.Series) -> bool:
    """Whether a candidate is the largest of several, and larger ones are possible."""
    counts = chosen.table[chosen.counted]
    if len(counts) == 1 or isinstance(line["card"], (tuple, list)) or line[chosen.counted] < counts.max():
        return False
    return bool(_larger(chosen, [line["card"] + 1]))


def _larger(chosen: Chosen, cards: Sequence[int]) -> list[int]:
    """Return those of the cardinalities that all components can have."""
    record, rule = chosen.state.record, rule_of(chosen.state.record)
    within = [card for card in cards if card <= (chosen.groups or record.p)]
    return within if rule is None else [card for card in within if rule.feasible([card] * record.k)]


def _is_beyond(chosen: Chosen) -> bool:
    """Whether the largest candidate was chosen, so that larger ones may be better."""
    enough = chosen.by == "variance" and chosen.line["relative_adjusted"] >= chosen.share
    return not enough and _is_last(chosen, chosen.line)


def _about_end(chosen: Chosen) -> Iterator[str]:
    """Yield a sentence if the largest candidate was chosen."""
    if not _is_beyond(chosen):
        return
    last = chosen.line["card"]
    more = _larger(chosen, [2 * last, 4 * last]) or _larger(chosen, [last + 1])
    yield (
        f"The largest candidate, card={last}, was chosen, so that the best cardinality may be larger. Try "
        f"larger ones with cards=, e.g. cards={[int(card) for card in (last, *more)]}."
    )


# --- the table of candidates ----------------------------------------------------------------------


def _columns(chosen: Chosen, brief: bool) -> tuple[str, ...]:
    """Return the headings of the columns; if `brief`, only those for the criterion of the choice."""
    by, table = chosen.by, chosen.table
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


def _tables(chosen: Chosen, columns: tuple[str, ...], shown: pd.Index) -> list[Table]:
    """Return the candidates `shown`, with marks for the choice and the best values.

    If cardinalities are unequal, the marks are long and have a table of their own.
    """
    cells = {
        "error": lambda line: fixed(line["error"], 3),
        "se": lambda line: fixed(line["se"], 3),
        "of best %": lambda line: percent(line["kept"], 0),
        "EBIC": lambda line: fixed(line["ebic"] - chosen.table["ebic"].min(), 1),
        "BIC": lambda line: fixed(line["bic"], 4),
        "IS": lambda line: fixed(line["is"], 3),
        "PEV": lambda line: percent(line["pev"], 1),
        "of PCA's": lambda line: percent(line["relative_adjusted"], 1),
    }
    numbers, marks = [], []
    for _, line in chosen.table.loc[shown].iterrows():
        numbers.append(Row(card_text(line["card"]), tuple(cells[name](line) for name in columns)))
        marks.append(Row(numbers[-1].label, (_mark(chosen, line),)))
    if chosen.unequal:
        marked = tuple(row for row in marks if row.cells != ("",))
        return [Table("card", columns, tuple(numbers)), Table("card", ("role",), marked, "l")]
    both = (Row(row.label, row.cells + mark.cells) for row, mark in zip(numbers, marks, strict=True))
    return [Table("card", (*columns, "role"), tuple(both), "r" * len(columns) + "l")]


def _mark(chosen: Chosen, line: pd.Series) -> str:
    """Return the mark of a candidate: the criteria by which it is best, and whether it is chosen."""
    best_by = {**CRITERIA, "cv": "prediction", "is": "IS"}
    best_by.pop("variance")
    readings = chosen.selected.readings
    best = [best_by[by] for by, card in readings.items() if card == line["card"] and by in best_by]
    kind = "best equal cardinality by" if chosen.unequal else "best"
    if best and _is_last(chosen, line):
        kind = "best of those tried by"
    marks = [f"{kind} {' and '.join(best)}"] if best else []
    enough = line["relative_adjusted"] >= chosen.share * (1.0 - 1e-12)
    if enough and readings.get("variance") == line["card"]:
        marks.append(f"sparsest with {percent(chosen.share, 0)} % of PCA")
    return ", ".join([*["<- chosen"][: line["chosen"]], *marks])


def _key(chosen: Chosen, columns: tuple[str, ...]) -> str:
    """Return the explanation of the headings."""
    dense = "" if chosen.dense is None else f", dense PCA {fixed(chosen.dense, 3)}"
    said = {
        "error": (
            f"error: of predicting held-out cells from the other{' group' * bool(chosen.groups)}s of their "
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


# --- the stability of a choice --------------------------------------------------------------------


#: With fewer halves, a sentence says what more would change.
ENOUGH_HALVES = 20


def few_halves(n: int) -> str:
    """Return a sentence on the error of shares of n halves, "" for enough."""
    if n >= ENOUGH_HALVES:
        return ""
    return (
        f"A share of {n} halves has a standard error of up to {0.5 / np.sqrt(n):.2f}; with n={ENOUGH_HALVES} "
        f"of {0.5 / np.sqrt(ENOUGH_HALVES):.2f}."
    )


def stability_document(
    table: pd.DataFrame, draws: pd.DataFrame, pairs: float, chosen: str, remark: str = ""
) -> Document:
    """Return how much a choice varies between halves of the rows.

    Parameters
    ----------
    table, draws : DataFrame
        See `ChoiceStability.table` and `ChoiceStability.draws`.
    pairs : float
        Mean overlap of the supports of two halves.
    chosen : str
        The numbers of components and loadings of the choice.
    remark : str
        How often variables do not vary in a half.
    """
    rows = []
    for k, line in table.iterrows():
        if k == 0:
            rows.append(Row("0", (percent(line["share"], 0), "", "", "")))
            continue
        few, most = int(line["smallest card"]), int(line["largest card"])
        loadings = f"{int(line['fewest nonzeros'])} to {int(line['most nonzeros'])}"
        cells = (percent(line["share"], 0), loadings, f"{few} to {most}", fixed(line["overlap"], 2))
        rows.append(Row(str(k), cells))
    mean = fixed(draws["overlap"].mean(), 2)
    note = (
        f"The loadings that are not zero agree to {mean} with the choice on average, and to "
        f"{fixed(pairs, 2)} between two halves (1: the same loadings; 0: none in common)."
    )
    if not draws["k"].any():
        note = (
            f"No component exceeds noise in any of the {len(draws)} halves: the choice rests on all rows and "
            "is not stable."
        )
    return Document(
        f"The choice in {len(draws)} random halves of the rows",
        (("Choice", chosen),),
        (Table("k", ("% of halves", "loadings", "cardinality", "overlap"), tuple(rows)),),
        tuple(filter(None, (note, few_halves(len(draws)), remark))),
    )
