"""What is printed of principal variables: the variables kept, those they represent, paths, and reports."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
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
    Layout,
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
    LINES,
    TABLE_LINES,
    WIDTH,
    Screen,
    Summary,
    cell_name_width,
    console_text,
    filled,
    render_tables,
    render_text,
    stacked_blocks,
)
from spcastat.show.report import bibtex, methods, provenance
from spcastat.show.templates import Fact, fact, lines, notes, warnings
from spcastat.show.templates import methods as sentences

#: Lines besides facts, rows and notes: title, three empty ones, and the heads of two tables.
OTHER_LINES = 8
#: The default numbers of decimals of a summary, and of rows of each of its tables.
DECIMALS, MOST_ROWS = 2, 60
#: Coefficients of Cadima and Jolliffe (2001), and what they are.
COEFFICIENTS = {"RM": "root of the share by regression", "GCD": "overlap with the space of PCA, 0 to 1"}
#: The smallest number of variables not kept that are shown.
FEWEST_OTHERS = 3


def summarise(state: FitState, digits: int = DECIMALS, max_rows: int = MOST_ROWS) -> Summary:
    """Return header, variables kept and those they represent; see `PrincipalVariablesResult.summary`."""
    digits = whole_number("digits", digits, 0, 10)
    max_rows = whole_number("max_rows", max_rows, 1)
    remarks = (*notes(note_facts.copies(state)), *notes(_notes(state)))
    represented = represented_table(state)
    if len(represented) > max_rows:
        remarks = (f"All {len(represented)} variables not kept: fit.represented.", *remarks)
    document = _document(state, (max_rows, max_rows), remarks)
    frames = {
        "variables": kept_table(state),
        "represented": represented,
        "path": path_table(state),
    }
    return Summary(restyled(document, digits + 1), frames)


def _document(state: FitState, limits: tuple[int, int], remarks: tuple[str, ...]) -> Document:
    """Return the header and tables of so many variables kept, and others, at most."""
    selection, represented = kept_table(state), represented_table(state)
    kept_limit, other_limit = limits
    if other_limit == 0 and len(represented):
        remarks = (f"{plural(len(represented), 'variable')} not kept: fit.represented.", *remarks)
    names = _all_names(selection, represented)
    tables = _kept_rows(selection, kept_limit, names), _represented_rows(represented, other_limit, names)
    return Document(_title(state), tuple(lines(header(state))), tuple(filter(None, tables)), remarks)


def _short_document(state: FitState) -> Document:
    """Return the document of a print: as many rows as a screen has room for, or else the names kept."""
    cautions = [f"Warning: {text}" for text in warnings(note_facts.copies(state))]
    remarks = (*cautions, *notes(_notes(state)))
    head = render_text(Document(_title(state), tuple(lines(header(state)))), Layout(width=WIDTH)).splitlines()
    used_lines = len(head) - 1 + sum(len(filled(remark, WIDTH).splitlines()) for remark in remarks)
    kept_count = len(kept_table(state))
    limits = _room(used_lines, kept_count)
    return _document(state, limits, remarks) if limits[0] >= kept_count else _in_names(state)


def _in_names(state: FitState) -> Document:
    """Return the document of a print without room for the tables: the names of the variables kept are first.

    Some names are counted only if all would not fit on a screen.
    """
    selection, represented = kept_table(state), represented_table(state)
    short_names = short(_all_names(selection, represented), NAME_WIDTH)
    names = [short_names[name] for name in full_names(selection.index)]
    remarks = (
        "Shares without each variable, and its substitutes: fit.variables; "
        f"{plural(len(represented), 'variable')} not kept: fit.represented.",
        *(f"Warning: {text}" for text in warnings(note_facts.copies(state))),
        *notes(one_fact for one_fact in _notes(state) if one_fact.key != "columns of variables"),
    )
    for number in range(len(names), 0, -1):
        about = (("Keep", some_of(names, number)), *lines(header(state)))
        document = Document(_title(state), about, (), remarks)
        if len(render_text(document, Layout(width=WIDTH)).splitlines()) <= LINES:
            break
    return document


def print_of(state: FitState) -> Screen:
    """Return the print: fewer rows than in the summary, and short names without the key to them."""
    document = restyled(_short_document(state), DECIMALS + 1)
    about_all = render_text(replace(document, tables=(), notes=(), key=()), Layout(width=WIDTH)).splitlines()
    remarks = [line for note in document.all_notes for line in filled(console_text(note), WIDTH).splitlines()]
    body = stacked_blocks([about_all, render_tables(document, WIDTH) if document.tables else [], remarks])
    return Screen("", lambda room: body)


def _room(used_lines: int, kept_count: int) -> tuple[int, int]:
    """Return how many of the variables kept, and of the others, a print shows beside `used_lines` lines."""
    room = LINES - OTHER_LINES - used_lines
    if kept_count <= room - FEWEST_OTHERS:
        return kept_count, room - kept_count
    return min(kept_count, room + TABLE_LINES - 1), 0  # a note names the table


def _title(state: FitState) -> str:
    about, p = set_of(state), state.record.p
    count = len(variables_of(state))
    verb = "reproduces" if count == 1 else "reproduce"
    method = "by regression" if state.record.options["k"] is None else f"by {_scores(state.record.k)}"
    return f"Principal variables: {count} of {p} {verb} {percent(about.share)} % of the variance {method}"


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
    """Return the row of the path with the number of groups that were kept."""
    return int(np.flatnonzero(about.sizes == len(about.chosen))[0])


def _proof(about: PrincipalSet) -> Fact:
    return fact(
        "search for variables",
        proven=about.is_proven,
        bound=np.ceil(1e4 * about.bound - 1e-6) / 1e4,
        size="" if about.budget is not None else f" of {len(about.chosen)}",
    )


def _coefficients(about: PrincipalSet) -> str:
    meanings = {name: f" ({meaning})" for name, meaning in COEFFICIENTS.items()}
    coefficients = {name: value for name, value in about.criteria.items() if name != "RV"}
    return "; ".join(f"{name} {value:.3f}{meanings.get(name, '')}" for name, value in coefficients.items())


def _notes(state: FitState) -> Iterator[Fact]:
    about = set_of(state)
    columns = full_names(state.spec.columns)
    if len(about.further):
        names = short(_all_names(kept_table(state), represented_table(state)), NAME_WIDTH)
        additions = [
            f"{names.get(name) or short_name(name)} ({percent(share)})"
            for name, share in zip(
                full_names(labels_of(state, about.further)), about.with_further, strict=True
            )
        ]
        yield fact("next variables", names=", ".join(additions))
    yield fact("columns of variables", draws=about.draws, normal=about.is_normal)
    pairs = [{int(a), int(b)} for a, b, _ in state.moments.copies]
    for j, predictors in about.determined:
        if {j, *predictors} in pairs:
            continue  # named as copies
        yield fact("determined variable", name=columns[j], others=some_of([columns[i] for i in predictors]))


# --- tables ---------------------------------------------------------------------------------------


def _all_names(selection: pd.DataFrame, represented: pd.DataFrame) -> list[str]:
    """Return the names of all variables and groups, among which a short name has to be told from others."""
    substitutes = selection["instead"].dropna()
    names = [*selection.index, *represented.index, *represented["most_by"], *substitutes]
    return list(dict.fromkeys(full_names(names)))


def _kept_rows(selection: pd.DataFrame, limit: int, names: list[str]) -> Table:
    has_frequency, has_cost = "frequency" in selection, "cost" in selection
    labels = full_names(selection.index[:limit])
    in_cells = short(names, cell_name_width(labels, 2 + has_cost + has_frequency))
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
        rows.append(Row(label, tuple(cells)))
    headings = ["without", "instead", "with"]
    headings += ["cost"] * has_cost + ["chosen"] * has_frequency
    align = "rlr" + "r" * has_cost + "r" * has_frequency
    hidden = len(selection) - limit
    hidden_note = (f"{hidden} more are kept: fit.variables.",) if hidden > 0 else ()
    return Table("Keep", tuple(headings), tuple(rows), align, hidden_note)


def _represented_rows(represented: pd.DataFrame, limit: int, names: list[str]) -> Table | None:
    if not len(represented) or limit == 0:
        return None
    count = len(represented)
    places = [*range(count)]
    if count > limit:
        head = (limit - 1) - (limit - 1) // 2
        places = [*range(head), -1, *range(count - (limit - 1 - head), count)]
    labels = full_names(represented.index[[i for i in places if i >= 0]])
    in_cells = short(names, cell_name_width(labels, 2))
    rows = []
    for i in places:
        if i < 0:
            rows.append(Row(DOTS, ("", "", "")))
            continue
        R2, by, r = represented.iloc[i][["R2", "most_by", "r"]]
        cells = (fixed(R2, 2), in_cells[name_text(by)], fixed(r, 2))
        rows.append(Row(name_text(represented.index[i]), cells))
    return Table("Represented", ("R2", "most by", "r"), tuple(rows), "rlr")


def path_document(state: FitState) -> Document:
    """Return the table of numbers of variables."""
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
    yield Chapter("Summary", (restyled(_short_document(state), DECIMALS + 1),))
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
