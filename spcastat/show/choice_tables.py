"""Tables and reasons printed for choices of the number of components and of cardinalities."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from functools import partial
from typing import TYPE_CHECKING

import numpy as np
import pandas as pd

from spcastat.arguments import plural
from spcastat.assess.component_tests import ComponentTests
from spcastat.fit import frames
from spcastat.show import choice_facts, facts
from spcastat.show.choice_facts import CRITERION_NAMES, Chosen, NothingChosen, fit_name
from spcastat.show.grid import (
    UNSORTED,
    Chapter,
    Document,
    Row,
    Table,
    VariableArrangement,
    alike,
    fixed,
    p_value_text,
    percent,
)
from spcastat.show.renderings import (
    DOTS,
    WIDTH,
    Body,
    Excerpt,
    Screen,
    ending,
    header_lines,
    in_turn,
    render_tables,
)
from spcastat.show.report import chapter_of
from spcastat.show.summary import loadings_only, loadings_table
from spcastat.show.templates import (
    TEMPLATES,
    Fact,
    brief,
    fact,
    lines,
    methods,
    notes,
    part,
    remarks,
    warnings,
)

if TYPE_CHECKING:
    from matplotlib.axes import Axes

# --- the number of components ---------------------------------------------------------------------


def number_document(tests: ComponentTests) -> Document:
    """Return the comparison of numbers of components, their tests, and the reasons for the choice."""
    header = [*_tested_data(tests), *choice_facts.rows_tested(tests)]
    header.append(choice_facts.number_of_components(tests))
    about = [*choice_facts.number_cautions(tests), choice_facts.headings_of_tests(tests)]
    title = f"Number of components: {tests.found.k}"
    return Document(
        title,
        tuple(lines(header)),
        (_test_lines(tests),),
        tuple(notes(about)),
        warnings=tuple(text for _, text in lines(filter(is_caution, header))),
    )


def _tested_data(tests: ComponentTests) -> list[Fact]:
    """Return the facts about the data and, if one was drawn, about the sample."""
    sample = [fact("drawn", text=tests.drawn)] if tests.drawn else []
    return [choice_facts.data_of_tests(tests), *sample]


#: Number of last components that are shown if a print has no room for all.
LAST_COMPONENTS = 4


def print_of_number(tests: ComponentTests) -> Screen:
    """Return the print: the reasons, and the predictions of the first and the last components.

    The table omits the columns of parallel analysis, which is shown for comparison only.
    """
    document = number_document(tests)
    table = _without_columns(document.tables[0], PARALLEL_ANALYSIS)
    table = replace(table, rows=table.rows[: max(tests.table["predicted"].count(), tests.found.k + 1)])
    header, short_header = (
        header_lines(lines([*_tested_data(tests), choice_facts.number_of_components(tests, compared)]))
        for compared in (True, False)
    )
    headings = 2 + any(row.rule for row in table.rows)  # lines of the headings, with rules

    def body(header: list[str], room: int) -> Excerpt:
        rows_shown = _ends(table, room - len(header) - 1 - headings, tests.found.k)
        left_out = len(table.rows) - sum(row.label != DOTS for row in rows_shown.rows)
        return Excerpt(render_tables(Document("", tables=(rows_shown,)), WIDTH), left_out).under(header)

    end, cautions = ending("k_choice", document.sentences), list(choice_facts.rows_tested(tests))
    definitions = list(choice_facts.definitions_of_tests(tests))
    spectrum = tuple(map(part, choice_facts.eigenvalues_not_printed(tests, len(table.rows))))
    sentences = (*map(part, definitions), *spectrum)
    complete = Screen(document.heading, partial(body, header), sentences, ending=end)
    in_brief = tuple(text for text in map(brief, definitions) if text)
    shorter = replace(complete, sentences=(*in_brief, *spectrum))
    shortest = replace(complete, body=partial(body, short_header), sentences=in_brief)
    return in_turn(
        [
            with_cautions(complete, cautions, in_brief=False),
            with_cautions(shorter, cautions, in_brief=True),
            with_cautions(shortest, cautions, in_brief=True),
        ]
    )


#: Columns of parallel analysis.
PARALLEL_ANALYSIS = ("shrunk", "noise", "p")


def is_caution(one_fact: Fact) -> bool:
    """Return whether prints show a fact as a warning or a remark."""
    template = TEMPLATES[one_fact.key]
    return bool(template.warning or template.remark)


def with_cautions(screen: Screen, cautions: Sequence[Fact], in_brief: bool) -> Screen:
    """Return a print with warnings and remarks; if `in_brief`, shorter, with remarks among the sentences."""
    if in_brief:
        sentences = (*remarks(cautions, brief=True), *screen.sentences)
        return replace(screen, warnings=tuple(warnings(cautions, brief=True)), sentences=sentences)
    return replace(screen, warnings=tuple(warnings(cautions)), remarks=tuple(remarks(cautions)))


def _without_columns(table: Table, names: Sequence[str]) -> Table:
    """Return a table without the columns that have these headings."""
    places = [place for place, heading in enumerate(table.headings) if heading not in names]
    rows = tuple(replace(row, cells=tuple(row.cells[place] for place in places)) for row in table.rows)
    headings = tuple(table.headings[place] for place in places)
    return replace(table, headings=headings, rows=rows, align="".join(table.align[place] for place in places))


def _ends(table: Table, count: int, k: int) -> Table:
    """Return a table of at most `count` rows, with dots in place of the rows that are left out.

    The rows of the k chosen components and of the next one are shown first, and the last rows if there is
    room. If the chosen components do not fit, the first and the last of them and the next one are shown.
    """
    rows = table.rows
    if len(rows) <= count:
        return table
    if k + 2 <= count:
        last_count = min(LAST_COMPONENTS, count - k - 2)
        first_count, last_rows = count - last_count - 1, rows[len(rows) - last_count :]
    else:
        first_count, last_rows = max(count - 3, 1), rows[max(k - 1, 0) : k + 1]
    dots = Row(DOTS, ("",) * len(table.headings))
    return replace(table, rows=(*rows[:first_count], dots, *last_rows))


def number_methods(tests: ComponentTests) -> str:
    """Return text for a methods section on how the number of components was chosen."""
    return " ".join(methods(choice_facts.number_methods(tests)))


def number_reasons(tests: ComponentTests) -> str:
    """Return the reasons for the number of components, and further remarks."""
    return " ".join(notes(choice_facts.number_reasons(tests)))


def number_reason(tests: ComponentTests) -> str:
    """Return the reason for the number of components in a sentence."""
    return part(choice_facts.number_of_components(tests))


def _test_lines(tests: ComponentTests) -> Table:
    """Return the table of predictions and tests of the components, with a rule below the chosen ones."""
    table, rows = tests.table, []
    m, given_values = len(table), tests.given_values
    has_shrunk_rows = tests.large is not None
    are_shares = choice_facts.gains_are_shares(tests)
    gain_unit = 100.0 / tests.p if are_shares else 1.0  # shares get one digit more than their differences
    values = alike([*given_values[:m], *table["observed"], *table["noise"]])
    cumulative = np.cumsum(given_values) / given_values.sum()

    def cell(value: float, digits: int) -> str:
        return "" if np.isnan(value) else fixed(value, digits)

    def p_cell(value: float) -> str:
        return "" if np.isnan(value) else p_value_text(value, tests.found.draws.is_smallest(value))

    for i, (name, line) in enumerate(table.iterrows()):
        cells = (
            "" if np.isnan(line["predicted"]) else percent(line["predicted"], 3 if are_shares else 1),
            cell(line["gain"] * gain_unit, 2),
            cell(line["gain_se"] * gain_unit, 2),
            p_cell(tests.found.noise_p_values[i]),
            *(values[i], values[m + i])[: 1 + has_shrunk_rows],
            values[2 * m + i],
            p_cell(line["p"]),
            percent(cumulative[i], 1),
        )
        rows.append(Row(str(name), cells, rule=i == tests.found.k > 0))
    eigenvalues = ("eigenvalue", "shrunk")[: 1 + has_shrunk_rows]
    gain_heading = "gain %" if are_shares else "gain"
    headings = ("predicts %", gain_heading, "se", "next p", *eigenvalues, "noise", "p", "cum. %")
    return Table("", headings, tuple(rows))


# --- no component ---------------------------------------------------------------------------------


def nothing_document(choice: NothingChosen) -> Document:
    """Return the answer that there is no component, and the tests."""
    tests = choice.tests
    rows = f"{choice.n:,} rows x " if choice.n is not None else ""
    header = [("Data", f"{rows}{plural(choice.p, 'variable')}")]
    about = [*choice_facts.rows_tested(tests), choice_facts.nothing_chosen(choice)]
    return Document("Choice: no component", (*header, *lines(about)))


def nothing_reasons(choice: NothingChosen) -> str:
    """Return why no component is chosen."""
    return " ".join(notes([choice_facts.nothing_chosen(choice)]))


# --- the cardinalities ----------------------------------------------------------------------------


def choice_document(choice: Chosen) -> Document:
    """Return the full document for a report: all candidates, criteria and reasons."""
    columns = _columns(choice, False)
    about = [*notes(choice_facts.remarks(choice)), _key(choice, columns)]
    header = lines([*choice_facts.unequal_variances(choice), *choice_facts.header(choice, [])])
    return Document(
        _title(choice), tuple(header), (_table(choice, columns, range(len(choice.table))),), tuple(about)
    )


def summary_document(choice: Chosen | NothingChosen, tests: ComponentTests | None) -> Document:
    """Return everything about a choice: the tests of components, all candidates, criteria and remarks."""
    if isinstance(choice, NothingChosen):
        answer, number = nothing_document(choice), number_document(choice.tests)
        return replace(answer, tables=number.tables, notes=(*answer.notes, *number.notes))
    candidates = choice_document(choice)
    if tests is None:
        return candidates
    number = number_document(tests)
    between = [choice_facts.number_of_components(tests), *choice_facts.shrunk(tests)]
    between += choice_facts.copies_tested(tests)
    header = [*choice_facts.unequal_variances(choice), *choice_facts.header(choice, between, tests.remarks)]
    return replace(
        candidates,
        facts=tuple(lines(header)),
        tables=(*number.tables, *candidates.tables),
        notes=(*number.notes, *notes(choice_facts.two_predictions(choice, tests)), *candidates.notes),
    )


def answer_document(choice: Chosen, tests: ComponentTests | None) -> Document:
    """Return the answer, its reasons, the loadings, and the other fits, for notebooks and files."""
    loadings = loadings_table(
        frames.loadings(choice.state), VariableArrangement(sort=True, max_rows=UNSORTED)
    )
    about = notes([] if tests is None else choice_facts.untested(tests))
    header = tuple(lines(_header(choice, tests)))
    return Document(_title(choice), header, (loadings, _alternatives_table(choice)), tuple(about))


def _header(choice: Chosen, tests: ComponentTests | None) -> list[Fact]:
    """Return the facts about the data, the call, the reasons, and doubt."""
    doubt = choice_facts.firmness(choice)
    if tests is None:
        return [*choice_facts.unequal_variances(choice), *choice_facts.header(choice, []), *doubt]
    between = [choice_facts.number_of_components(tests), *choice_facts.large_rows(tests)]
    between += choice_facts.copies_tested(tests)
    about = choice_facts.header(choice, between, tests.remarks)
    return [*choice_facts.unequal_variances(choice), *about, *doubt]


def _alternatives_table(choice: Chosen) -> Table:
    return _table(choice, _columns(choice, True), choice_facts.compared(choice), "<- chosen")


def _alternatives_in_words(choice: Chosen) -> str:
    """Return the shares that the other fits keep, by the measure of the reason, or else their PEV."""
    texts: list[str] = []
    reference = " of PCA's variance" if choice.by == "variance" else " of the best prediction"
    for place in choice_facts.compared(choice):
        if place == choice.selected.place:
            continue
        line = choice.table.iloc[place]
        share = line["relative_adjusted" if choice.by == "variance" else "kept"]
        count = int(line["nonzeros"])
        subject = f"{count:,}" if texts else plural(count, "loading")
        reach = f"reach{'es' * (count == 1)} {percent(share, 0)} %{reference * (not texts)}"
        pev = f"{'has' if count == 1 else 'have'} PEV {percent(line['pev'], 0)} %"
        texts.append(f"{subject} {pev if np.isnan(share) else reach} ({fit_name(choice, line)})")
    return f"{'; '.join(texts)}: choice.alternatives" if texts else ""


def print_of_choice(choice: Chosen, tests: ComponentTests | None) -> Screen:
    """Return the print: the answer, its reasons, the other fits if there is room, and the loadings."""
    loadings = loadings_only(choice.state)
    about = _header(choice, tests)
    # what to do about unequal variances comes first, since it changes the whole choice
    cautions = [item for item in about if is_caution(item) and item.key != "unequal variances"]
    reasons = [item for item in about if item not in cautions]
    header = list(lines(reasons))
    alternatives = _alternatives_in_words(choice)
    headers = [
        *[(header_lines([*header, ("Others", alternatives)]), False)] * bool(alternatives),
        (header_lines(header), False),
        (header_lines(header), True),
        (header_lines(lines(reasons, brief=True)), True),
    ]
    untested = () if tests is None else tuple(notes(choice_facts.untested(tests)))
    left_out = tuple(map(part, facts.without_loadings(choice.state, choice.state.V)))
    shares = part(fact("shares in brackets"))
    end = ending("choice", choice_notes(choice, tests))
    screens = []
    for layout, keys, is_last in (
        (loadings.as_matrix, (), False),
        (loadings.as_lists, (shares,), False),
        (loadings.as_rows, (), True),
    ):
        for header_text, in_brief in headers:
            body = partial(_body, layout, header_text, is_last)
            sentences = (*keys, *untested, *(() if in_brief else left_out))
            screen = Screen(_title(choice), body, sentences, ending=end)
            screens.append(with_cautions(screen, cautions, in_brief))
    return in_turn(screens)


def _body(layout: Body, header: list[str], may_leave_out: bool, room: int) -> Excerpt:
    """Return the header and the loadings; if some may be left out, a line says where to find all."""
    text = layout(room - len(header) - 1)
    if not text.is_complete and not may_leave_out:
        return Excerpt([])
    if text.lines and not text.is_complete:
        text = layout(room - len(header) - 2).between(foot=["All loadings: choice.fit.summary()."])
    return text.under(header) if text.lines else text


def _title(choice: Chosen) -> str:
    return f"Choice: {part(choice_facts.title(choice))}"


def choice_notes(choice: Chosen, tests: ComponentTests | None) -> list[str]:
    """Return remarks on the choice, and the explanations of its tables."""
    cautions = [*choice_facts.unequal_variances(choice), *choice_facts.remarks_on_rows(choice.remarks)]
    if tests is not None:
        cautions += [*choice_facts.rows_tested(tests), *choice_facts.number_cautions(tests)]
    return [
        *(text for _, text in lines(item for item in cautions if not TEMPLATES[item.key].note)),
        *notes(cautions),
        *notes(choice_facts.remarks(choice)),
        _key(choice, _columns(choice, False)),
    ]


def alternatives(choice: Chosen) -> pd.DataFrame:
    """Return the fits that the print shows next to the choice, with the row labels of its table."""
    places = [place for place in choice_facts.compared(choice) if place != choice.selected.place]
    table = choice.table.iloc[places][["nonzeros", "predicts", "kept", "family", "card"]].copy()
    table["disjoint"] = table.pop("family") == "partition"
    return table if choice.predicted else table.rename(columns={"predicts": "explains"})


def chapters(
    choice: Chosen,
    plot: Callable[[], Axes],
    tests: ComponentTests | None,
    plot_tests: Callable[[], Axes] | None,
) -> tuple[Chapter, ...]:
    """Return the chapters of a report on the choices, with their plots."""
    alternative_text = "The criterion of every candidate"
    unsaid = (
        f"Every candidate by {CRITERION_NAMES[choice.by]}"
        f"{', with one standard error' if choice.by == 'cv' else ''}. It does not show how stable the "
        "selected variables are, nor that the others are unrelated to the components."
    )
    sparse = chapter_of("How sparse", choice_document(choice), plot, alternative_text, unsaid)
    if tests is None or plot_tests is None:
        return (sparse,)
    alternative_text = "Eigenvalues of the data and of noise"
    unsaid = (
        "Eigenvalues compared with those of noise. A component below the line may be real but weak, and "
        "one above it may have no meaning."
    )
    return chapter_of(
        "How many components", number_document(tests), plot_tests, alternative_text, unsaid
    ), sparse


def method_sentences(tests: ComponentTests | None, choice: Chosen) -> list[str]:
    """Return the sentences of a methods section on how the numbers were chosen."""
    number = [] if tests is None else [number_methods(tests)]
    return [*number, choice_methods(choice)]


def choice_methods(choice: Chosen) -> str:
    """Return text for a methods section on how cardinalities were chosen."""
    return " ".join(methods(choice_facts.choice_methods(choice)))


def choice_reasons(choice: Chosen) -> str:
    """Return the reasons for the choice and further remarks."""
    return " ".join(notes(choice_facts.choice_reasons(choice)))


# --- tables ---------------------------------------------------------------------------------------


def choice_reason(choice: Chosen) -> str:
    """Return the reason for the choice in a sentence or two."""
    ((_, reason),) = lines([choice_facts.sparseness(choice)])
    return reason


def _columns(choice: Chosen, brief: bool) -> tuple[str, ...]:
    """Return the headings of the columns; if `brief`, only those for the criterion of the choice."""
    by, table = choice.by, choice.table
    is_column = {
        "loadings": True,
        "predicts %": by == "cv",
        "se": by == "cv" and not brief,
        "of best %": by in ("cv", "ebic"),
        "EBIC": "ebic" in table and not (brief and by != "ebic"),
        "BIC": by == "bic",
        "IS": not brief or by == "is",
        "of PCA's": by == "variance",
        "PEV": True,
    }
    return tuple(name for name, present in is_column.items() if present)


def _table(choice: Chosen, columns: tuple[str, ...], places: Sequence[int], mark: str = "") -> Table:
    """Return the table of candidates, with the choice marked, and dense PCA in the last row.

    If `mark` is given, it is shown in a column of its own in the row of the choice; otherwise an arrow
    follows the name of the choice, which needs less room.
    """
    write = {
        "loadings": lambda line: f"{int(line['nonzeros']):,}",
        "predicts %": lambda line: percent(line["predicts"], 1),
        "se": lambda line: percent(line["se"], 1),
        "of best %": lambda line: percent(line["kept"], 0),
        "EBIC": lambda line: fixed(line["ebic"] - choice.table["ebic"].min(), 1),
        "BIC": lambda line: fixed(line["bic"], 4),
        "IS": lambda line: fixed(line["is"], 3),
        "of PCA's": lambda line: percent(line["relative_adjusted"], 1),
        "PEV": lambda line: percent(line["pev"], 1),
    }
    rows = []
    for place, name in zip(places, choice_facts.fit_names(choice, places), strict=True):
        line, is_chosen = choice.table.iloc[place], place == choice.selected.place
        label = f"{name} <-" if is_chosen and not mark else name
        cells = tuple(write[name_of_column](line) for name_of_column in columns)
        rows.append(Row(label, cells + (mark if is_chosen else "",) * bool(mark)))
    if not choice_facts.is_dense(choice, choice.line):
        rows.append(Row("PCA", (*_pca_cells(choice, columns), *[""] * bool(mark))))
    if not mark:
        return Table("", columns, tuple(rows))
    return Table("", (*columns, ""), tuple(rows), "r" * len(columns) + "l")


def _pca_cells(choice: Chosen, columns: tuple[str, ...]) -> list[str]:
    """Return the cells of dense PCA, empty where a column does not apply."""
    cells = {
        "loadings": f"{choice.state.record.p * choice.k:,}",
        "PEV": percent(choice.dense, 1),
        "of PCA's": percent(1.0, 1),
    }
    if choice.dense_error is not None:
        best_prediction = max(choice.table["predicts"].max(), 1.0 - choice.dense_error)
        cells["predicts %"] = percent(1.0 - choice.dense_error, 1)
        cells["of best %"] = (
            percent(max(1.0 - choice.dense_error, 0.0) / best_prediction, 0) if best_prediction > 0 else ""
        )
    return [cells.get(name, "") for name in columns]


def _key(choice: Chosen, columns: tuple[str, ...]) -> str:
    """Return the explanation of the headings."""
    return "; ".join(["<-: the choice", *map(part, choice_facts.headings(choice, columns))]) + "."


# --- the stability of a choice --------------------------------------------------------------------


#: With fewer halves, a sentence reports the error of the shares.
ENOUGH_HALVES = 20


def few_halves(n: int) -> str:
    """Return a sentence on the error of shares of n halves, "" if n is large enough."""
    if n >= ENOUGH_HALVES:
        return ""
    return (
        f"A share of {n} halves has a standard error of up to {0.5 / np.sqrt(n):.2f}; with n={ENOUGH_HALVES} "
        f"of {0.5 / np.sqrt(ENOUGH_HALVES):.2f}."
    )


def _range(smallest: float, largest: float) -> str:
    """Return a range of whole numbers, or the number if both ends are equal."""
    return f"{smallest:.0f}" if smallest == largest else f"{smallest:.0f} to {largest:.0f}"


def stability_document(
    table: pd.DataFrame,
    draws: pd.DataFrame,
    pairs: float,
    choice: str,
    remark: str = "",
    nothing: bool = False,
) -> Document:
    """Return how much a choice varies between halves of the rows.

    Parameters
    ----------
    table, draws : DataFrame
        See `ChoiceStability.table` and `ChoiceStability.draws`.
    pairs : float
        Mean overlap of the supports of two halves.
    choice : str
        The numbers of components and loadings of the choice.
    remark : str
        A sentence on how often variables are constant in a half.
    nothing : bool
        Whether no component was chosen.
    """
    rows = []
    for k, line in table.iterrows():
        if k == 0:
            rows.append(Row("0", (percent(line["share"], 0), "", "", "")))
            continue
        loadings = _range(line["fewest nonzeros"], line["most nonzeros"])
        cards = _range(line["smallest card"], line["largest card"])
        cells = (percent(line["share"], 0), loadings, cards, fixed(line["overlap"], 2))
        rows.append(Row(str(k), cells))
    mean = fixed(draws["overlap"].mean(), 2)
    note = (
        f"The overlap of the nonzero loadings is {mean} with the choice on average, and "
        f"{fixed(pairs, 2)} between two halves (1: the same loadings; 0: none in common)."
    )
    if not draws["k"].any():
        agreement = ", as in all rows." if nothing else ": the choice rests on all rows and is not stable."
        note = f"No component exceeds noise in any of the {len(draws)} halves{agreement}"
    elif nothing:
        count = int((draws["k"] > 0).sum())
        note = (
            f"{count} of {len(draws)} halves have components that exceed noise, and all rows have none: the "
            "choice is not stable."
        )
    return Document(
        f"The choice in {len(draws)} random halves of the rows",
        (("Choice", choice),),
        (Table("k", ("% of halves", "loadings", "cardinality", "overlap"), tuple(rows)),),
        tuple(filter(None, (note, few_halves(len(draws)), remark))),
    )
