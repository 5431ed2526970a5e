"""What is printed of the choices of a number of components and of cardinalities: tables and reasons."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

import numpy as np
import pandas as pd

from spcastat.assess.candidates import CRITERIA
from spcastat.assess.component_tests import ComponentTests
from spcastat.config import plural
from spcastat.show import choice_facts
from spcastat.show.choice_facts import NAMES, Chosen, card_text
from spcastat.show.grid import Chapter, Document, Row, Table, alike, fixed, percent
from spcastat.show.report import chapter_of
from spcastat.show.templates import Fact, fact, lines, methods, notes, part

if TYPE_CHECKING:
    from matplotlib.axes import Axes

# --- the number of components ---------------------------------------------------------------------


#: Decimals of the columns of tests.
DIGITS = {"p": 3, "deflated_p": 3, "sparse_p": 3, "sparse_correlation": 2}


def number_document(tests: ComponentTests) -> Document:
    """Return the tests of the number of components, and the reasons for it."""
    title = f"Number of components: {tests.found.k}   ({part(choice_facts.by_test(tests, False))})"
    reasons = [
        choice_facts.levels(tests),
        *choice_facts.number_reasons(tests),
        choice_facts.headings_of_tests(tests),
    ]
    header = [fact("drawn", text=tests.drawn)] if tests.drawn else []
    header += choice_facts.rows_tested(tests)
    return Document(
        title, tuple(lines(header)), (_test_lines(tests, len(tests.table)),), tuple(notes(reasons))
    )


def number_methods(tests: ComponentTests) -> str:
    """Return text for a methods section on how the number of components was chosen."""
    return " ".join(methods(choice_facts.number_methods(tests)))


def number_reasons(tests: ComponentTests) -> str:
    """Return the reasons for the number of components, and further remarks."""
    return " ".join(notes(choice_facts.number_reasons(tests)))


def _test_lines(tests: ComponentTests, most: int) -> Table:
    """Return the tests of at most `most` components, with a line below the chosen ones."""
    table = tests.table.iloc[:most]
    lines = []
    values = alike([*table["observed"], *table["noise"]])
    m = len(table)
    for i, (name, line) in enumerate(table.iterrows()):
        cells = (
            "" if np.isnan(line[column]) else fixed(line[column], digits) for column, digits in DIGITS.items()
        )
        numbers = (values[i], values[m + i], *cells, percent(line["cumulative"], 1))
        lines.append(Row(str(name), numbers, rule=i == tests.found.k > 0))
    point = f"{percent(1 - tests.found.draws.alpha, 0)} % of noise"
    headings = ("eigenvalue", point, "p", "deflated p", "sparse p", "r", "cum. %")
    return Table("", headings, tuple(lines))


# --- the cardinalities ----------------------------------------------------------------------------


def choice_document(chosen: Chosen) -> Document:
    """Return the full document for a report: all candidates, criteria and reasons."""
    columns = _columns(chosen, False)
    reasons = [choice_facts.verdict(chosen), *choice_facts.further_reasons(chosen)]
    about = [*notes(reasons), _key(chosen, columns)]
    return _document(chosen, [], _tables(chosen, columns, chosen.table.index), about)


def choice_screen(chosen: Chosen, tests: ComponentTests | None) -> Document:
    """Return the printout: the choice, the fits with which it is compared, and warnings.

    The tests for the number of components are included if this number was chosen as well.
    """
    table, selected = chosen.table, chosen.selected
    compared = {selected.place, selected.equal, selected.best}
    compared |= {i for i in table.index if table["card"][i] in selected.readings.values()}
    visible_rows = table.index[sorted(compared)]
    columns = _columns(chosen, True)
    about = [choice_facts.verdict(chosen), *choice_facts.remarks(chosen)]
    ends = [f"All {len(table)} candidates: choice.table."] if len(visible_rows) < len(table) else []
    header: list[Fact] = []
    tables: list[Table] = []
    if tests is not None:
        about = [choice_facts.levels(tests), *about, *choice_facts.number_cautions(tests)]
        header += [choice_facts.number_of_components(tests), *choice_facts.rows_tested(tests)]
        tables.append(_test_lines(tests, tests.found.k + 1))  # up to the first one that was not chosen
        ends.append("The tests of k: choice.k_choice.")
    tables += _tables(chosen, columns, visible_rows)
    return _document(chosen, header, tables, [*notes(about), " ".join([_key(chosen, columns), *ends])])


def _document(chosen: Chosen, between: list[Fact], tables: list[Table], about: list[str]) -> Document:
    """Return the title, the header with the facts `between`, the tables and the notes."""
    kind = "Cardinalities" if chosen.unequal else "Cardinality"
    title = f"{kind} of {plural(chosen.state.record.k, 'component')} by {NAMES[chosen.by]}"
    return Document(title, tuple(lines(choice_facts.header(chosen, between))), tuple(tables), tuple(about))


def chapters(
    chosen: Chosen,
    plot: Callable[[], Axes],
    tests: ComponentTests | None,
    plot_tests: Callable[[], Axes] | None,
) -> tuple[Chapter, ...]:
    """Return the chapters of a report on the choices, with their plots."""
    alternative_text = "The criterion of every cardinality"
    unsaid = (
        f"Every cardinality by {NAMES[chosen.by]}"
        f"{', with one standard error' if chosen.by == 'cv' else ''}. It does not say how sure the "
        "variables of the choice are, nor that those left out have nothing to do with the component."
    )
    sparse = chapter_of("How sparse", choice_document(chosen), plot, alternative_text, unsaid)
    if tests is None or plot_tests is None:
        return (sparse,)
    alternative_text = "Eigenvalues of the data and of noise"
    unsaid = (
        "Eigenvalues compared with those of noise. A component below the line may be real and weak, and "
        "one above it need not mean anything."
    )
    return chapter_of(
        "How many components", number_document(tests), plot_tests, alternative_text, unsaid
    ), sparse


def method_sentences(tests: ComponentTests | None, chosen: Chosen) -> list[str]:
    """Return the sentences of a methods section on how the numbers were chosen."""
    number = [] if tests is None else [number_methods(tests)]
    return [*number, choice_methods(chosen)]


def choice_methods(chosen: Chosen) -> str:
    """Return text for a methods section on how cardinalities were chosen."""
    return " ".join(methods(choice_facts.choice_methods(chosen)))


def choice_reasons(chosen: Chosen) -> str:
    """Return the reasons for the choice and further remarks."""
    return " ".join(notes(choice_facts.choice_reasons(chosen)))


# --- the table of candidates ----------------------------------------------------------------------


def _columns(chosen: Chosen, brief: bool) -> tuple[str, ...]:
    """Return the headings of the columns; if `brief`, only those for the criterion of the choice."""
    by, table = chosen.by, chosen.table
    is_column = {
        "error": "error" in table,
        "se": "error" in table,
        "of best %": "error" in table or by == "ebic",
        "EBIC": "ebic" in table and not (brief and by != "ebic"),
        "BIC": by == "bic",
        "IS": not (brief and by != "is"),
        "PEV": True,
        "of PCA's": by == "variance",
    }
    return tuple(name for name, present in is_column.items() if present)


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
    rows = (Row(row.label, row.cells + mark.cells) for row, mark in zip(numbers, marks, strict=True))
    return [Table("card", (*columns, "role"), tuple(rows), "r" * len(columns) + "l")]


def _mark(chosen: Chosen, line: pd.Series) -> str:
    """Return the mark of a candidate: the criteria by which it is best, and whether it is chosen."""
    best_by = {**CRITERIA, "cv": "prediction", "is": "IS"}
    best_by.pop("variance")
    readings = chosen.selected.readings
    criteria = [best_by[by] for by, card in readings.items() if card == line["card"] and by in best_by]
    kind = "best equal cardinality by" if chosen.unequal else "best"
    if criteria and choice_facts.is_last(chosen, line):
        kind = "best of those tried by"
    marks = [f"{kind} {' and '.join(criteria)}"] if criteria else []
    keeps_share = line["relative_adjusted"] >= chosen.share * (1.0 - 1e-12)
    if keeps_share and readings.get("variance") == line["card"]:
        marks.append(f"sparsest with {percent(chosen.share, 0)} % of PCA")
    return ", ".join([*["<- chosen"][: line["chosen"]], *marks])


def _key(chosen: Chosen, columns: tuple[str, ...]) -> str:
    """Return the explanation of the headings."""
    return "; ".join(map(part, choice_facts.headings(chosen, columns)))


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
        smallest, largest = int(line["smallest card"]), int(line["largest card"])
        loadings = f"{int(line['fewest nonzeros'])} to {int(line['most nonzeros'])}"
        cells = (percent(line["share"], 0), loadings, f"{smallest} to {largest}", fixed(line["overlap"], 2))
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
