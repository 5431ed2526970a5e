"""A self-contained HTML fragment: everything escaped, nothing loaded, readable without its style.

Numbers keep the plain hyphen as their minus, so that a table pasted into a spreadsheet stays numbers.
"""

from __future__ import annotations

from collections.abc import Iterator
from html import escape

from spcastat.tables.table import Document, Table
from spcastat.tables.text import blocks

#: Colours follow the page, so that the table reads on dark ground too.
STYLE = """<style>
div.spcastat { overflow-x: auto; }
table.spcastat { border-collapse: collapse; border: 0; margin: 0.5em 0; font-variant-numeric: tabular-nums; }
table.spcastat th, table.spcastat td { border: 0; padding: 0.1em 0.6em; text-align: right; }
table.spcastat * { white-space: nowrap; }
table.spcastat th[scope=row], table.spcastat th.stub, table.spcastat .left { text-align: left; }
table.spcastat .center { text-align: center; }
table.spcastat th[scope=row], table.spcastat th[scope=rowgroup] { font-weight: normal; }
table.spcastat th[scope=rowgroup] { text-align: left; font-style: italic; }
table.spcastat tr.head th { border-top: 1.5px solid; border-bottom: 1px solid; padding-top: 0.3em; }
table.spcastat tr.rule th, table.spcastat tr.rule td { border-top: 1px solid; }
table.spcastat tbody:last-child tr:last-child > * { border-bottom: 1.5px solid; padding-bottom: 0.3em; }
div.spcastat dl { display: grid; grid-template-columns: max-content auto; gap: 0 1em; margin: 0.5em 0; }
div.spcastat dd { margin: 0; }
div.spcastat p.note { font-size: 85%; margin: 0.2em 0; }
</style>"""

_CLASSES = {"l": ' class="left"', "c": ' class="center"', "r": ""}


def render(document: Document, width: int = 80) -> str:
    """Return the document as one ``<div class="spcastat">``; `width` is not used: a browser scrolls."""
    return "\n".join(_lines(document)) + "\n"


def _lines(document: Document) -> Iterator[str]:
    yield '<div class="spcastat">'
    yield STYLE
    if document.title:
        yield f"<p><strong>{escape(document.title)}</strong></p>"
    if document.facts:
        yield "<dl>"
        for label, text in document.facts:
            yield f"<dt>{escape(label)}</dt><dd>{escape(text)}</dd>"
        yield "</dl>"
    for block in blocks(document.tables):
        yield '<table class="spcastat">'
        for table in block:
            yield from _body(table)
        yield "</table>"
    for note in document.all_notes:
        yield f'<p class="note">{escape(note)}</p>'
    yield "</div>"


def _body(table: Table) -> Iterator[str]:
    classes = [_CLASSES[side] for side in table.align]
    yield "<tbody>"
    heads = (
        f'<th scope="col"{css}>{escape(text)}</th>' for text, css in zip(table.headings, classes, strict=True)
    )
    yield f'<tr class="head"><th scope="col" class="stub">{escape(table.title)}</th>{"".join(heads)}</tr>'
    group = ""
    for row in table.rows:
        if row.group and row.group != group:
            span = len(table.headings) + 1
            yield f'<tr><th scope="rowgroup" colspan="{span}">{escape(row.group)}</th></tr>'
        group = row.group
        label = ("&emsp;" if row.group else "") + escape(row.label)
        cells = (f"<td{css}>{escape(cell)}</td>" for cell, css in zip(row.cells, classes, strict=True))
        opening = '<tr class="rule">' if row.rule else "<tr>"
        yield f'{opening}<th scope="row">{label}</th>{"".join(cells)}</tr>'
    yield "</tbody>"
