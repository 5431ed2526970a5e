"""A document as an HTML fragment, which needs no external resources and is readable without its style.

The minus sign of numbers is a plain hyphen, so that cells pasted into a spreadsheet remain numbers.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from html import escape
from importlib.resources import files

from spcastat.show.grid import BREAKS, Document, Layout, Row, Table, below_headings, blocks, without_stars

#: No colours are set, so that tables are readable on dark pages too.
TABLE_STYLE = "<style>\n" + (files("spcastat.show") / "table.css").read_text(encoding="utf-8") + "</style>"

_ALIGNMENT_CLASSES = {"l": ' class="left"', "c": ' class="center"', "r": ""}


#: Number of rows that are always shown; a click shows the others.
FOLD = 200


def render(document: Document, layout: Layout) -> str:
    """Return the document as one ``<div class="spcastat">``.

    ``layout.width`` is not used: long names wrap, and browsers scroll wide tables.
    """
    document = layout.of(document)
    name = f' id="{escape(document.label)}"' if document.label else ""
    lines = [f'<div class="spcastat"{name}>', TABLE_STYLE, *content(document), "</div>"]
    return "\n".join(lines) + "\n"


def content(document: Document, framed: bool = False) -> Iterator[str]:
    """Yield the lines of a document, without a style.

    If `framed`, tables with common columns are in a scrollable region that can take the focus and has an
    accessible name, and the caption is not shown.
    """
    caption = "" if framed else document.caption
    if document.title and not caption:
        yield f"<p><strong>{escape(document.title)}</strong></p>"
    yield from _terms(document.facts)
    for place, block in enumerate(blocks(document.tables)):
        names = " and ".join(table.title for table in block if table.title)
        names = escape(names or document.title or "Table")
        if framed:
            yield f'<div class="scroll" role="region" tabindex="0" aria-label="Table: {names}">'
            yield '<div class="spcastat">'
            yield from _tables(block, f'<caption class="unseen">{names}</caption>')
            yield "</div>\n</div>"
        else:
            yield from _tables(
                block, f"<caption>{escape(caption)}</caption>" if caption and not place else ""
            )
    for note in document.all_notes:
        yield f'<p class="note">{escape(note)}</p>'
    yield from _terms(document.key)


def _tables(block: Sequence[Table], caption: str) -> Iterator[str]:
    """Yield the tables of a block as one table; rows beyond FOLD are folded below it."""
    yield '<table class="spcastat">'
    if caption:
        yield caption
    for table in block:
        yield from _body(table, table.rows[:FOLD])
    yield "</table>"
    for table in block:
        if len(table.rows) > FOLD:
            yield f"<details><summary>{len(table.rows) - FOLD} further rows</summary>"
            yield '<table class="spcastat">'
            yield from _body(table, table.rows[FOLD:])
            yield "</table></details>"


def _terms(pairs: tuple[tuple[str, str], ...]) -> Iterator[str]:
    if pairs:
        yield "<dl>"
        for label, text in pairs:
            yield f"<dt>{escape(label)}</dt><dd>{escape(text)}</dd>"
        yield "</dl>"


def _name(text: str) -> str:
    """Return a name, with possible line breaks marked if it is long."""
    # names with more than 24 characters may be broken within words
    return "<wbr>".join(map(escape, BREAKS.split(text))) if len(text) > 24 else escape(text)


def _cell(cell: str) -> str:
    """Return the text of a cell, with its stars as a superscript."""
    text, stars = without_stars(cell)
    return f"{escape(text)}<sup>{stars}</sup>" if stars else escape(text)


def _body(table: Table, rows: tuple[Row, ...]) -> Iterator[str]:
    """Yield the headings of a table and the given `rows`."""
    classes = [_ALIGNMENT_CLASSES[side] for side in table.align]
    yield "<tbody>"
    heads = (
        f'<th scope="col"{_long(text, css)}>{_name(text)}</th>'
        for text, css in zip(table.headings, classes, strict=True)
    )
    yield f'<tr class="head"><th scope="col" class="stub">{escape(table.title)}</th>{"".join(heads)}</tr>'
    for group, row in below_headings(rows):
        if group:
            span = len(table.headings) + 1
            yield f'<tr><th scope="rowgroup" colspan="{span}">{escape(group)}</th></tr>'
        label = ("&emsp;" if row.group else "") + _name(row.label)
        cells = (f"<td{css}>{_cell(cell)}</td>" for cell, css in zip(row.cells, classes, strict=True))
        opening = '<tr class="rule">' if row.rule else "<tr>"
        yield f'{opening}<th scope="row">{label}</th>{"".join(cells)}</tr>'
    yield "</tbody>"


def _long(text: str, css: str) -> str:
    """Return the class attribute of a heading, which allows a long heading to wrap."""
    if len(text) <= 14:
        return css
    return css.replace('class="', 'class="long ') if css else ' class="long"'
