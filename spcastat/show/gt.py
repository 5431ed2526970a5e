"""Tables of great_tables, for further styling: cells are numbers, formatted as in the other renderers."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd

from spcastat.config import listed, nearest, shown
from spcastat.errors import OptionError
from spcastat.show.grid import Document, Figures, Layout, Table, blocks

if TYPE_CHECKING:
    from great_tables import GT

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
