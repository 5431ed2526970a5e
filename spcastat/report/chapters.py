"""The content of a report: chapters of tables, figures and text, later written as HTML or for Word."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any, TypeAlias

from spcastat.engine.inputs import Source
from spcastat.labels import full_names
from spcastat.report.equations import equations
from spcastat.report.methods_text import describe
from spcastat.report.pictures import (
    Picture,
    diagnostics_picture,
    loadings_picture,
    score_pictures,
    scree_picture,
    sure_parts,
)
from spcastat.report.summary import summarise
from spcastat.state import FitState
from spcastat.state import component_frames as frames
from spcastat.state import row_scores as rows
from spcastat.state.record import Record
from spcastat.tables import Arrangement, Document, Row, Table
from spcastat.tables.grid import DIGITS, number_rows, percents

#: The largest number of terms written for an equation.
MOST_TERMS = 20


@dataclass(frozen=True)
class Lines:
    """Lines of code or formulas, with the text before and after them."""

    lines: tuple[str, ...]
    before: str = ""
    after: tuple[str, ...] = ()


#: What a chapter can contain.
Content: TypeAlias = Document | Picture | Lines


@dataclass(frozen=True)
class Chapter:
    """A part of a report with its own heading."""

    heading: str
    parts: tuple[Content, ...]


def chapter_of(
    heading: str, document: Document, draw: Callable[..., Any], about: str, caption: str
) -> Chapter:
    """Return a chapter of tables and one plot; `draw` is called with the axes as ``ax=``."""
    name = heading.lower().replace(" ", "-")
    return Chapter(heading, (document, Picture(lambda ax: draw(ax=ax), 4.9, 3.4, name, about, caption)))


def chapters(
    state: FitState,
    source: Source | None,
    call: str,
    arrangement: Arrangement,
    digits: int = DIGITS,
    row_groups: Any = None,
) -> Iterator[Chapter]:
    """Yield the chapters of a fit's report; `arrangement` and `digits` are for its tables of variables."""
    in_memory = source is not None and source.has_rows
    yield Chapter("Summary", (summarise(state, digits=digits, **vars(arrangement)).document,))
    yield Chapter("Equations", (formulas(state),))
    loadings = loadings_picture(state, arrangement.groups)
    yield Chapter("Loadings and variance", (loadings, scree_picture(state)))
    if state.trust:
        yield Chapter("How sure this is", tuple(sure_parts(state)))
    if len(state.components) > 1 and (in_memory or state.scores is not None):
        drawn = score_pictures(state, rows.scores(state, source), row_groups)
        yield Chapter("Rows on the components", tuple(drawn))
    yield Chapter("How the components go together", (together(state), correlations(state, arrangement)))
    if in_memory:
        yield Chapter("Rows that the fit does not describe", (diagnostics_picture(state, source),))
    yield Chapter("For a methods section", (methods(state),))
    yield Chapter("How this was made", (made(state.record, call),))


def formulas(state: FitState) -> Lines:
    """Return the components as formulas in the standardised variables."""
    lines = equations(state, max_terms=MOST_TERMS, width=100_000).splitlines()
    return Lines(tuple(lines), "Zero terms are left out.")


def methods(state: FitState) -> Lines:
    """Return the paragraph for a methods section, its references, and their BibTeX."""
    found = describe(state)
    return Lines(tuple(found.bibtex.splitlines()), found.text, found.references)


def made(record: Record, call: str) -> Lines:
    """Return the call that made the fit, its options, and the versions of the packages."""
    code = "" if call.startswith("spcastat ") else "import spcastat as sp\nfit = sp."
    versions = ", ".join(f"{name} {version}" for name, version in record.versions.items())
    options = ", ".join(f"{name}={value!r}" for name, value in record.options.items() if value is not None)
    after = (f"Options of {record.method}: {options or 'none'}.", f"Versions: {versions}.")
    return Lines(tuple(f"{code}{call}".splitlines()), after=after)


def together(state: FitState) -> Document:
    """Return the variance each component explains, alone and given the others, and score correlations."""
    shares, correlation = frames.component_shares(state), frames.score_correlation(state)
    names = tuple(full_names(state.components))
    lines = [
        Row(label, percents(shares[column]), "Least-squares % of total variance")
        for column, label in {
            "alone": "alone",
            "average": "average over orders",
            "last": "lost if left out",
        }.items()
        if shares[column].notna().any()
    ]
    lines += number_rows(correlation, 2, ["Correlation of scores"] * len(names))
    caption = "What each component explains, and how their scores correlate"
    return Document("", tables=(Table("Component", names, tuple(lines)),), caption=caption)


def correlations(state: FitState, arrangement: Arrangement) -> Document:
    """Return the correlations of the variables with the scores, in the order of the table of loadings."""
    kept, groups = arrangement.rows(state.V, state.spec.columns)
    values = frames.correlations(state)
    values["communality"] = frames.communalities(state)
    lines = number_rows(values.iloc[kept], 2, groups)
    note = (
        "Correlations of variables with scores; the communality is the share of a variable's variance that "
        "regression on all scores explains."
    )
    if len(kept) < len(state.V):
        note += f" {len(kept)} of {len(state.V)} variables are shown, those of the table of loadings."
    headings = (*full_names(state.components), "communality")
    table = Table("Correlation", headings, lines, notes=(note,))
    return Document("", tables=(table,), caption="Correlations of variables with scores")
