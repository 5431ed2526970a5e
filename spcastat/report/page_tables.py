"""The tables and the words of the HTML page."""

from __future__ import annotations

from html import escape

from spcastat.kernels.leading import leading
from spcastat.labels import full_names
from spcastat.report.equations import equations
from spcastat.state import FitState, frames
from spcastat.state.record import Record
from spcastat.tables import Document, Row, Table, render
from spcastat.tables.cells import fixed, percent
from spcastat.tables.fitting import blocks
from spcastat.tables.html import STYLE

#: Variables in the table of correlations, at most.
MOST_VARIABLES = 40
#: Terms of an equation, at most.
MOST_TERMS = 20


def document_html(document: Document) -> str:
    """Return a document with each run of tables in a frame of its own, which scrolls and takes the focus."""
    parts = [f"<p><strong>{escape(document.title)}</strong></p>"] if document.title else []
    if document.facts:
        facts = (f"<dt>{escape(label)}</dt><dd>{escape(text)}</dd>" for label, text in document.facts)
        parts.append(f"<dl>{''.join(facts)}</dl>")
    for block in blocks(document.tables):
        parts.append(_frame(block, document.title))
    parts += [f'<p class="note">{escape(note)}</p>' for note in document.all_notes]
    return "\n".join(parts)


def _frame(block: tuple[Table, ...], title: str) -> str:
    """Return tables that share their columns in a region that can be scrolled by keyboard, with a caption."""
    names = escape(" and ".join(filter(None, (table.title for table in block))) or title or "Table")
    bare = tuple(Table(t.title, t.headings, t.rows, t.align, (), t.sparse) for t in block)
    html = render(Document("", tables=bare), "html").replace(STYLE, "")
    if "<caption" not in html:
        html = html.replace(
            '<table class="spcastat">',
            f'<table class="spcastat"><caption class="unseen">{names}</caption>',
            1,
        )
    opening = f'<div class="scroll" role="region" tabindex="0" aria-label="Table: {names}">'
    return f"{opening}\n{html.strip()}\n</div>"


def equations_html(state: FitState) -> str:
    """Return the components as formulas in the standardised variables."""
    lines = equations(state, max_terms=MOST_TERMS, width=100_000).splitlines()
    standard = state.standard
    centred = standard is None or standard.centring != "none"
    scaled = standard is not None and standard.scaling != "none"
    about = " and ".join(["centred"] * centred + ["scaled"] * scaled)
    note = f"<p>In the {about + ' ' if about else ''}variables; zero terms are left out.</p>"
    return note + lines_html(lines)


def lines_html(lines: list[str]) -> str:
    """Return lines that keep together, as code."""
    return "<pre>" + "".join(f"<span>{escape(line)}</span>" for line in lines) + "</pre>"


def together_html(state: FitState) -> str:
    """Return how much each component explains alone and beside the others, and the correlations of scores."""
    shares, correlation = frames.component_shares(state), frames.score_correlation(state)
    names = tuple(full_names(state.components))
    lines = [
        Row(label, tuple(percent(share) for share in shares[column]), "Least-squares % of total variance")
        for column, label in (
            ("alone", "alone"),
            ("average", "average over orders"),
            ("last", "lost if left out"),
        )
        if shares[column].notna().any()
    ]
    lines += [
        Row(name, tuple(fixed(r, 2) for r in line), "Correlation of scores")
        for name, line in zip(names, correlation.to_numpy().tolist(), strict=True)
    ]
    return document_html(Document("", tables=(Table("Component", names, tuple(lines)),)))


def correlations_html(state: FitState) -> str:
    """Return the correlations of the variables that have a loading, the leading ones if they are many."""
    kept = leading(state.V, MOST_VARIABLES)
    values = frames.correlations(state).iloc[kept]
    labels = full_names(values.index)
    cells = zip(labels, values.to_numpy().tolist(), frames.communalities(state).iloc[kept], strict=True)
    lines = tuple(Row(label, (*(fixed(r, 2) for r in line), fixed(h, 2))) for label, line, h in cells)
    note = (
        "Correlations of variables with scores; the communality is the share of a variable's variance that "
        "regression on all scores explains."
    )
    if len(kept) < len(state.V):
        note += f" {len(kept)} of {len(state.V)} variables are shown, those that lead on a component."
    headings = (*full_names(state.components), "communality")
    return document_html(Document("", tables=(Table("Correlation", headings, lines, notes=(note,)),)))


def made_html(record: Record, call: str) -> str:
    """Return the call, the options and the versions."""
    code = "" if call.startswith("spcastat ") else "import spcastat as sp\nfit = sp."
    versions = ", ".join(f"{name} {version}" for name, version in record.versions.items())
    options = ", ".join(f"{name}={value!r}" for name, value in record.options.items() if value is not None)
    return (
        lines_html(f"{code}{call}".splitlines()) + f"\n<p>Options of {escape(record.method)}: "
        f"{escape(options) or 'none'}.</p>\n<p>Versions: {escape(versions)}.</p>"
    )
