"""Printed output for principal variables: the variables kept and represented, paths, and reports."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace
from functools import partial
from typing import Any

import numpy as np
import pandas as pd

from spcastat.arguments import plural, whole_number
from spcastat.fit.principal_variables import (
    kept_table,
    labels_of,
    path_table,
    represented_table,
    set_of,
    variables_of,
)
from spcastat.fit.record import PrincipalSet
from spcastat.fit.state import FitState
from spcastat.labels import NAME_WIDTH, full_names, name_text, short_name, some_of
from spcastat.show import facts, note_facts
from spcastat.show.grid import (
    Chapter,
    Document,
    Picture,
    Row,
    Table,
    fixed,
    percent,
    restyled,
    short,
)
from spcastat.show.methods_text import Description, description
from spcastat.show.renderings import (
    DOTS,
    TABLE_LINES,
    WIDTH,
    Excerpt,
    Screen,
    Summary,
    cell_name_width,
    ending,
    header_lines,
    in_turn,
    render_tables,
    short_labels,
)
from spcastat.show.report import bibtex, methods, provenance
from spcastat.show.templates import Fact, fact, lines, notes, part, warnings
from spcastat.show.templates import methods as sentences

#: The default number of decimals of a summary, and the default maximum of rows in each of its tables.
DECIMALS, MOST_ROWS = 2, 60
#: The largest number of rows of tables in the summary of a report, which has complete tables below.
REPORTED_ROWS = 12
#: Coefficients of Cadima and Jolliffe (2001), and their meanings.
COEFFICIENTS = {"RM": "root of the share", "GCD": "overlap with PCA, 0 to 1"}
#: Columns that only some tables have.
OWN_COLUMNS = ("cost", "frequency")
#: The smallest number of rows that a table shows, and the smallest number that it leaves out, if any.
LEAST_SHOWN = 3


def summarise(state: FitState, digits: int = DECIMALS, max_rows: int = MOST_ROWS) -> Summary:
    """Return header, variables kept and variables represented; see `PrincipalVariablesResult.summary`."""
    digits = whole_number("digits", digits, 0, 10)
    max_rows = whole_number("max_rows", max_rows, 1)
    remarks = (*notes(note_facts.copies(state)), *notes(_notes(state)))
    represented = represented_table(state)
    if len(represented) > max_rows:
        remarks = (f"All {len(represented)} variables not kept: fit.represented.", *remarks)
    document = _document(state, max_rows, remarks)
    frames = {
        "variables": kept_table(state),
        "represented": represented,
        "path": path_table(state),
    }
    return Summary(restyled(document, digits + 1), frames)


def _document(state: FitState, max_rows: int, remarks: tuple[str, ...]) -> Document:
    """Return the header and the tables of variables kept and of others, with at most `max_rows` rows each."""
    selection, represented = kept_table(state), represented_table(state)
    names = _all_names(selection, represented)
    tables = _kept_rows(selection, max_rows, names), _represented_rows(represented, max_rows, names)
    return Document(_title(state), tuple(lines(header(state))), tuple(filter(None, tables)), remarks)


def print_of(state: FitState, about: Sequence[str]) -> Screen:
    """Return the print: the variables kept, and as many of the others as fit on a screen.

    `about` contains the notes. If the table of the variables kept does not fit, only their names are shown.
    """
    selection, represented = kept_table(state), represented_table(state)
    names = _all_names(selection, represented)
    facts_of_header = list(header(state))
    shorter = [one_fact for one_fact in facts_of_header if one_fact.key != "coefficients of variables"]
    cautions, end = tuple(warnings(note_facts.copies(state))), ending("fit", about)
    width = cell_name_width(full_names(selection.index), 2 + sum(name in selection for name in OWN_COLUMNS))
    remarks = tuple(notes(_remarks(state, width)))
    of_kept, of_represented = map(part, definitions(state))
    keys = (of_kept, *[of_represented] * bool(len(represented)))

    kept_lines = _lines_of(_kept_rows(selection, len(selection), names, width))

    def in_tables(head: list[str], room: int) -> Excerpt:
        other_rows = _others_in(represented, room - len(head) - 1 - len(kept_lines), names, width)
        return (
            other_rows.between(kept_lines).under(head)
            if other_rows.lines or not len(represented)
            else other_rows
        )

    def kept_only(room: int) -> Excerpt:
        text = Excerpt([*kept_lines, f"{plural(len(represented), 'variable')} not kept: fit.represented."])
        text = replace(text, left_out=len(represented)).under(header_lines(lines(facts_of_header)))
        return text if len(text.lines) <= room else Excerpt([])

    def in_names(room: int) -> Excerpt:
        labels = short_labels(full_names(selection.index), NAME_WIDTH)
        for number in range(len(labels), 0, -1):
            text = header_lines([("Kept", some_of(labels, number)), *lines(shorter)])
            if len(text) <= room:
                break
        return Excerpt(text, len(labels) - number + len(represented))

    pointer = f"All variables: fit.variables, and {len(represented):,} not kept: fit.represented."
    full, brief = (
        partial(in_tables, header_lines(lines(header_facts))) for header_facts in (facts_of_header, shorter)
    )
    title = _title(state)
    return in_turn(
        [
            Screen(title, full, (*keys, *remarks), cautions, end),
            Screen(title, brief, (*keys, *remarks), cautions, end),
            Screen(title, kept_only, (of_kept, *remarks), cautions, end),
            Screen(title, in_names, (pointer, *remarks), cautions, end),
        ]
    )


def _lines_of(table: Table) -> list[str]:
    """Return the lines of a table in a print; long names are shortened."""
    return render_tables(Document("", tables=(table,)), WIDTH)


def _others_in(represented: pd.DataFrame, room: int, names: list[str], width: int) -> Excerpt:
    """Return a blank line and the table of the variables not kept; no lines if too few rows fit."""
    count, row_limit = len(represented), room - TABLE_LINES
    if not count or (row_limit < count and row_limit <= LEAST_SHOWN):
        return Excerpt([])
    # if rows are left out, one row consists of dots
    row_limit = count if row_limit >= count else min(row_limit, count - LEAST_SHOWN + 1)
    table = _represented_rows(represented, row_limit, names, width)
    assert table is not None
    return Excerpt(["", *_lines_of(table)], count - row_limit + (row_limit < count))


def _title(state: FitState) -> str:
    about, p = set_of(state), state.record.p
    count = len(variables_of(state))
    verb = "reproduces" if count == 1 else "reproduce"
    method = "by regression" if state.record.options["k"] is None else f"by {_scores(state.record.k)}"
    return f"Principal variables: {count:,} of {p:,} {verb} {percent(about.share)} % of the variance {method}"


def _scores(k: int) -> str:
    return "1 score" if k == 1 else f"{k} scores"


# --- facts ----------------------------------------------------------------------------------------


def header(state: FitState) -> Iterator[Fact]:
    """Yield the facts of the header."""
    about, record = set_of(state), state.record
    yield fact("PCA of all", share=about.pca_share, k=record.k, part=about.share / about.pca_share)
    yield from facts.data(state)
    if (share := record.options.get("share")) is not None:
        yield fact("share of variables", share=share, of_pca=record.options["k"] is not None)
    if about.budget is not None:
        spent = float(about.cost[about.chosen].sum())
        yield fact("costs of variables", spent=spent, budget=about.budget)
    yield _proof(about)
    row = _own_row(about)
    if about.held_out is not None and about.held_out_pca is not None and about.held_out_error is not None:
        yield fact(
            "held-out variables",
            share=float(about.held_out[row]),
            pca=float(about.held_out_pca[row]),
            error=float(about.held_out_error[row]),
            folds=about.folds,
        )
    yield fact("coefficients of variables", text=_coefficients(about))


def _own_row(about: PrincipalSet) -> int:
    """Return the row of the path whose number of groups equals the number that was kept."""
    return int(np.flatnonzero(about.sizes == len(about.chosen))[0])


def _proof(about: PrincipalSet) -> Fact:
    return fact(
        "search for variables",
        proven=about.is_proven,
        bound=np.ceil(1e4 * about.bound - 1e-6) / 1e4,
        size="" if about.budget is not None else f" of {len(about.chosen)}",
    )


def _coefficients(about: PrincipalSet) -> str:
    texts = [f"{name} {about.criteria[name]:.3f} ({meaning})" for name, meaning in COEFFICIENTS.items()]
    return ", ".join(texts)


def definitions(state: FitState) -> tuple[Fact, Fact]:
    """Return the definitions of the columns of the two tables."""
    about = set_of(state)
    of_kept = fact("columns of variables", draws=about.draws, normal=about.is_normal)
    return of_kept, fact("columns of others")


def _notes(state: FitState) -> Iterator[Fact]:
    yield from _remarks(state)
    yield from definitions(state)


def _remarks(state: FitState, width: int = NAME_WIDTH) -> Iterator[Fact]:
    """Yield the variables to add next, names cut to `width` characters, and those determined by others."""
    about = set_of(state)
    columns = full_names(state.spec.columns)
    if len(about.further):
        names = short(_all_names(kept_table(state), represented_table(state)), width)
        additions = [
            f"{names.get(name) or short_name(name, width)} ({percent(share)})"
            for name, share in zip(
                full_names(labels_of(state, about.further)), about.with_further, strict=True
            )
        ]
        yield fact("next variables", names=", ".join(additions))
    pairs = [{int(a), int(b)} for a, b, _ in state.moments.copies]
    for j, predictors in about.determined:
        if {j, *predictors} in pairs:
            continue  # reported as copies
        yield fact("determined variable", name=columns[j], others=some_of([columns[i] for i in predictors]))


# --- tables ---------------------------------------------------------------------------------------


def _all_names(selection: pd.DataFrame, represented: pd.DataFrame) -> list[str]:
    """Return the names of all variables and groups, among which short names must be unique."""
    substitutes = selection["instead"].dropna()
    names = [*selection.index, *represented.index, *represented["most_by"], *substitutes]
    return list(dict.fromkeys(full_names(names)))


def _kept_rows(selection: pd.DataFrame, limit: int, names: list[str], width: int = 0) -> Table:
    """Return the table of variables kept; `width` also limits the row labels, not only names in cells."""
    has_frequency, has_cost = "frequency" in selection, "cost" in selection
    labels = full_names(selection.index[:limit])
    in_cells = short(names, width or cell_name_width(labels, 2 + has_cost + has_frequency))
    rows = []
    for label, (_, row) in zip(labels, selection.iloc[:limit].iterrows(), strict=True):
        substitute = row["instead"]
        cells = [
            percent(row["without"]),
            "" if substitute is None else in_cells[name_text(substitute)],
            "" if substitute is None else percent(row["with_instead"]),
        ]
        cells += [f"{row['cost']:g}"] if has_cost else []
        cells += [percent(row["frequency"], 0)] if has_frequency else []
        rows.append(Row(in_cells[label] if width else label, tuple(cells)))
    headings = ["without", "substitute", "with it"]
    headings += ["cost"] * has_cost + ["chosen"] * has_frequency
    align = "rlr" + "r" * has_cost + "r" * has_frequency
    hidden = len(selection) - limit
    hidden_note = (f"{hidden} more are kept: fit.variables.",) if hidden > 0 else ()
    return Table("Kept", tuple(headings), tuple(rows), align, hidden_note)


def _represented_rows(
    represented: pd.DataFrame, limit: int, names: list[str], width: int = 0
) -> Table | None:
    """Return the table of the other variables; see :func:`_kept_rows`."""
    if not len(represented):
        return None
    count = len(represented)
    places = [*range(count)]
    if count > limit:
        head = (limit - 1) - (limit - 1) // 2
        places = [*range(head), -1, *range(count - (limit - 1 - head), count)]
    labels = full_names(represented.index[[i for i in places if i >= 0]])
    in_cells = short(names, width or cell_name_width(labels, 2))
    rows = []
    for i in places:
        if i < 0:
            rows.append(Row(DOTS, ("", "", "")))
            continue
        R2, by, r = represented.iloc[i][["R2", "most_by", "r"]]
        cells = (fixed(R2, 2), in_cells[name_text(by)], fixed(r, 2))
        label = name_text(represented.index[i])
        rows.append(Row(in_cells[label] if width else label, cells))
    return Table("Not kept", ("R2", "nearest kept", "r"), tuple(rows), "rlr")


def path_document(state: FitState) -> Document:
    """Return the table of the path: the variance reproduced for each number of variables."""
    table = path_table(state)
    has_held_out = "held_out" in table
    rows = []
    for m, row in table.iterrows():
        cells = [percent(row["share"]), percent(row["of_pca"], 1)]
        if has_held_out:
            cells += [percent(row["held_out"]), percent(row["held_out_se"]), percent(row["held_out_pca"])]
        cells += [fixed(row["RM"], 3), fixed(row["GCD"], 3)]
        rows.append(Row(str(m), tuple(cells)))
    headings = ["share, %", "% of PCA"]
    headings += ["held out, %", "s.e.", "PCA held out, %"] if has_held_out else []
    meanings = "; ".join(f"{name}: {meaning}" for name, meaning in COEFFICIENTS.items())
    path = Table("Variables kept", (*headings, *COEFFICIENTS), tuple(rows), notes=(f"{meanings}.",))
    return Document("", tables=(path,))


# --- a methods section, and the report ------------------------------------------------------------


def describe(state: FitState) -> Description:
    """Return a paragraph that describes the choice for a methods section, with its references."""
    cited: list[str] = []
    about, record = set_of(state), state.record
    names = full_names([state.spec.columns[j] for j in variables_of(state)])
    row = _own_row(about)
    has_held_out = about.held_out is not None and about.held_out_pca is not None
    facts_of_choice = [
        *facts.data_of_methods(state),
        fact(
            "variables by scores" if record.options["k"] is not None else "variables by regressions",
            m=len(names),
            names=some_of(names, 20),
            k=record.k,
            share=about.share,
            pca=about.pca_share,
        ),
    ]
    if has_held_out:
        assert about.held_out is not None
        assert about.held_out_pca is not None
        assert about.held_out_error is not None
        facts_of_choice.append(
            fact(
                "held-out variables",
                share=float(about.held_out[row]),
                pca=float(about.held_out_pca[row]),
                error=float(about.held_out_error[row]),
                folds=about.folds,
            )
        )
    if about.is_proven:
        facts_of_choice.append(_proof(about))
    return description(list(sentences(facts_of_choice, cited)), cited, record)


def chapters(state: FitState, call: str, pictures: dict[str, Any]) -> Iterator[Chapter]:
    """Yield the chapters of a report; `pictures` draw the path and the variables represented."""
    yield Chapter("Summary", (_document(state, REPORTED_ROWS, tuple(notes(_notes(state)))),))
    parts: list[Any] = [path_document(state)]
    if len(set_of(state).sizes) > 1:
        alt = "Share of the variance that the variables kept reproduce, against their number."
        parts.append(Picture(pictures["path"], 4.9, 3.4, "path", alt))
    yield Chapter("Numbers of variables", tuple(parts))
    represented = represented_table(state)
    if len(represented):
        height = min(2.0 + 0.16 * len(represented), 9.0)
        alt = "R2 of each variable that is not kept, under the kept variable nearest to it."
        drawing = Picture(pictures["represented"], 4.9, height, "represented", alt)
        everything = summarise(state, max_rows=len(state.spec.columns))._document()
        yield Chapter("All variables", (Document("", tables=everything.tables), drawing))
    words = describe(state)
    yield Chapter("For a methods section", (methods(words),))
    yield Chapter("What was chosen", (provenance(state.record, call),))
    yield Chapter("References as BibTeX", (bibtex(words),))
