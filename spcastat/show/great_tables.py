"""Documents as tables of great_tables, for those who style tables with it."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import pandas as pd

from spcastat.config import require_extra, whole_number
from spcastat.show.grid import Document, Layout, Table, blocks

#: Names of letters of alignment.
SIDES = {"l": "left", "c": "center", "r": "right"}


def as_gt(document: Document, layout: Layout, number: int) -> Any:
    """Return tables of a document with common columns as a ``great_tables.GT``.

    Parameters
    ----------
    document : Document
    layout : Layout
    number : int
        Which of its tables, from 1; those with common columns count as one, as they do in print.

    Raises
    ------
    ExtraError
        If great_tables is not installed.
    OptionError
        If there are fewer tables.
    """
    great_tables = require_extra("great_tables", "great_tables", "as_gt()")
    document = layout.of(document)
    table_blocks = list(blocks(document.tables))
    block = (
        table_blocks[whole_number("table", number, 1, max(len(table_blocks), 1)) - 1] if table_blocks else ()
    )
    headings, align = (block[0].headings, block[0].align) if block else ((), "")
    columns = [f"column {place}" for place in range(1, len(headings) + 1)]
    table = great_tables.GT(
        _frame(block, columns), rowname_col="label", groupname_col="group" if _has_groups(block) else None
    )
    names: Any = dict(zip(columns, headings, strict=True))
    table = table.cols_label(**names) if names else table
    for column, side in zip(columns, align, strict=True):
        table = table.cols_align(align=SIDES[side], columns=column)
    if document.heading:
        table = table.tab_header(title=document.heading)
    if len(block) == 1 and block[0].title:
        table = table.tab_stubhead(label=block[0].title)
    key = (f"{name}: {full}" for name, full in document.key)
    facts = (f"{name}: {text}" for name, text in document.facts)
    for note in (*facts, *document.all_notes, *key):
        table = table.tab_source_note(source_note=note)
    return table


def _has_groups(block: Sequence[Table]) -> bool:
    return len(block) > 1 or any(row.group for table in block for row in table.rows)


def _frame(block: Sequence[Table], columns: Sequence[str]) -> pd.DataFrame:
    """Return the cells of tables as text, with the columns "label" and, with groups, "group"."""
    rows = [(table, row) for table in block for row in table.rows]
    frame = pd.DataFrame([row.cells for _, row in rows], columns=list(columns), dtype=object).map(str)
    frame.insert(0, "label", [row.label for _, row in rows])
    if _has_groups(block):
        frame.insert(0, "group", [row.group or table.title for table, row in rows])
    return frame
