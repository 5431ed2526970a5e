"""A document as an HTML fragment, and its tables for great_tables.

The fragment loads nothing and is readable without its style. Cells of great_tables are numbers, formatted as
in the other renderers.

The minus of numbers is a plain hyphen, so that numbers pasted into a spreadsheet remain numbers.
"""

from __future__ import annotations

from collections.abc import Iterator
from html import escape
from importlib.resources import files
from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd

from spcastat.config import listed, nearest, shown
from spcastat.errors import OptionError
from spcastat.show.grid import (
    BREAKS,
    Document,
    Figures,
    Layout,
    Row,
    Table,
    below_headings,
    blocks,
    without_stars,
)

if TYPE_CHECKING:
    from great_tables import GT

#: No colours are set, so that tables are readable on dark pages too.
STYLE = "<style>\n" + (files("spcastat.show") / "table.css").read_text(encoding="utf-8") + "</style>"

_CLASSES = {"l": ' class="left"', "c": ' class="center"', "r": ""}


#: Number of rows that are always shown; a click shows the others.
FOLD = 200


def render(document: Document, layout: Layout | None = None) -> str:
    """Return the document as one ``<div class="spcastat">``.

    ``layout.width`` is not used: long names wrap, and browsers scroll wide tables.
    """
    return "\n".join(_lines((layout or Layout()).of(document))) + "\n"


def _lines(document: Document) -> Iterator[str]:
    name = f' id="{escape(document.label)}"' if document.label else ""
    yield f'<div class="spcastat"{name}>'
    yield STYLE
    if document.title and not document.caption:
        yield f"<p><strong>{escape(document.title)}</strong></p>"
    yield from _terms(document.facts)
    for place, block in enumerate(blocks(document.tables)):
        yield '<table class="spcastat">'
        if document.caption and place == 0:
            yield f"<caption>{escape(document.caption)}</caption>"
        for table in block:
            yield from _body(table, table.rows[:FOLD])
        yield "</table>"
        for table in block:
            if len(table.rows) > FOLD:
                yield f"<details><summary>{len(table.rows) - FOLD} further rows</summary>"
                yield '<table class="spcastat">'
                yield from _body(table, table.rows[FOLD:])
                yield "</table></details>"
    for note in document.all_notes:
        yield f'<p class="note">{escape(note)}</p>'
    yield from _terms(document.key)
    yield "</div>"


def _terms(pairs: tuple[tuple[str, str], ...]) -> Iterator[str]:
    if pairs:
        yield "<dl>"
        for label, text in pairs:
            yield f"<dt>{escape(label)}</dt><dd>{escape(text)}</dd>"
        yield "</dl>"


def _name(text: str) -> str:
    """Return a name with marks where a line may break, if it is long."""
    # names with more than 24 characters may be broken within words
    return "<wbr>".join(map(escape, BREAKS.split(text))) if len(text) > 24 else escape(text)


def _cell(cell: str) -> str:
    """Return the text of a cell, with its stars as a superscript."""
    text, stars = without_stars(cell)
    return f"{escape(text)}<sup>{stars}</sup>" if stars else escape(text)


def _body(table: Table, rows: tuple[Row, ...]) -> Iterator[str]:
    """Yield the headings of a table and the given `rows`."""
    classes = [_CLASSES[side] for side in table.align]
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
    """Return the class attribute of a heading; a long one may wrap."""
    if len(text) <= 14:
        return css
    return css.replace('class="', 'class="long ') if css else ' class="long"'


#: Names of the columns with row labels and with groups of rows.
LABEL, GROUP = "label", "group"
_SIDES = {"l": "left", "c": "center", "r": "right"}


def table_of(document: Document, title: str | None, layout: Layout) -> GT:
    """Return tables with common columns as one table of great_tables, in which each is a group of rows.

    Parameters
    ----------
    document : Document
    title : str, optional
        The title of one table; by default the first table and those with the same columns.
    layout : Layout

    Raises
    ------
    OptionError
        If there is no such table.
    """
    from great_tables import GT

    bare = layout.of(document, ".")
    tables = _chosen(bare, title)
    headings, align = tables[0].headings, tables[0].align
    rows = [(table, row) for table in tables for row in table.rows]
    names = _distinct(headings)
    columns: dict[str, list[Any]] = {
        GROUP: [" - ".join(filter(None, (table.title, row.group))) for table, row in rows],
        LABEL: [row.label for _, row in rows],
    }
    cells = {name: [row.cells[place] for _, row in rows] for place, name in enumerate(names)}
    for name, texts in cells.items():
        numbers = [_number(text) for text in texts]
        columns[name] = texts if None in numbers else numbers
    made = GT(pd.DataFrame(columns), rowname_col=LABEL, groupname_col=GROUP)
    for name, texts in cells.items():
        if columns[name] is not texts:  # numbers, displayed as in the other renderers
            for place, text in enumerate(texts):
                written = text.again(0, layout.decimal) if isinstance(text, Figures) else text
                made = made.fmt(lambda _, cell=str(written): cell, columns=name, rows=[place])  # type: ignore[misc]
            made = made.sub_missing(columns=name, missing_text="")
    for name, heading, side in zip(names, headings, align, strict=True):
        made = made.cols_label(cases={name: heading}).cols_align(_SIDES[side], columns=name)
    made = made.tab_header(title=bare.heading) if bare.heading else made
    notes = [*bare.all_notes, *(f"{short}: {whole}" for short, whole in bare.key)]
    for note in notes if layout.notes else []:
        made = made.tab_source_note(note)
    return made


def _chosen(document: Document, title: str | None) -> tuple[Table, ...]:
    """Return the table called `title`; by default the first table and those with the same columns."""
    if not document.tables:
        raise OptionError("as_gt() was called, and there is no table to give.")
    if title is None:
        return next(blocks(document.tables))
    known = {table.title: table for table in document.tables}
    if not isinstance(title, str) or title not in known:
        raise OptionError(
            f"table={shown(title)} is not there; there are {listed(known)}.{nearest(title, known)}"
        )
    return (known[title],)


def _distinct(headings: tuple[str, ...]) -> list[str]:
    """Return unique names of columns; equal headings are numbered."""
    names: list[str] = []
    for heading in headings:
        name, count = heading or "column", 1
        while name in (*names, LABEL, GROUP):
            count += 1
            name = f"{heading or 'column'} {count}"
        names.append(name)
    return names


def _number(text: str) -> float | None:
    if not text:
        return np.nan
    if isinstance(text, Figures):
        return text.numbers[0] if len(text.numbers) == 1 and not text.stars else None
    return float(text) if text.isdecimal() else None
