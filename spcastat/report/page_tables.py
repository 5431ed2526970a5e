"""Tables and lines of code within the HTML page."""

from __future__ import annotations

from html import escape

from spcastat.tables import Document, Table, render
from spcastat.tables.fitting import blocks
from spcastat.tables.html import STYLE


def document_html(document: Document) -> str:
    """Return a document with each run of tables in a frame of its own, which scrolls and takes the focus."""
    parts = [f"<p><strong>{escape(document.title)}</strong></p>"] if document.title else []
    if document.facts:
        facts = (f"<dt>{escape(label)}</dt><dd>{escape(text)}</dd>" for label, text in document.facts)
        parts.append(f"<dl>{''.join(facts)}</dl>")
    for block in blocks(document.tables):
        parts.append(_frame(block, document.title))
    parts += [f'<p class="note">{escape(note)}</p>' for note in document.all_notes]
    if document.key:
        names = (f"<dt>{escape(short)}</dt><dd>{escape(whole)}</dd>" for short, whole in document.key)
        parts.append(f"<dl>{''.join(names)}</dl>")
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


def lines_html(lines: list[str]) -> str:
    """Return lines that keep together, as code."""
    return "<pre>" + "".join(f"<span>{escape(line)}</span>" for line in lines) + "</pre>"
