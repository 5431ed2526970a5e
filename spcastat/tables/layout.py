"""Which tables share columns, and how many columns fit the width."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from itertools import groupby

from spcastat.labels import NAME_WIDTH
from spcastat.tables.table import Table

#: Spaces between two columns.
GAP = 2


def blocks(tables: tuple[Table, ...]) -> Iterator[tuple[Table, ...]]:
    """Yield the runs of tables with equal headings and alignment; a run shares its columns."""
    for _, run in groupby(tables, key=lambda table: (table.headings, table.align)):
        yield tuple(run)


def label_width(block: tuple[Table, ...], measure: Callable[[str], int]) -> int:
    """Return the width of the label column: rows of a group are indented, short titles stand in it."""
    widths = [measure(row.label) + 2 * bool(row.group) for table in block for row in table.rows]
    widths += [measure(table.title) for table in block if len(table.title) <= NAME_WIDTH]
    return max(widths, default=0)


def column_widths(block: tuple[Table, ...], measure: Callable[[str], int]) -> list[int]:
    """Return the width of every column of cells, headings included."""
    widths = [measure(heading) for heading in block[0].headings]
    for table in block:
        for row in table.rows:
            widths = [max(width, measure(cell)) for width, cell in zip(widths, row.cells, strict=True)]
    return widths


def panels(label: int, columns: list[int], width: int, gap: int = GAP) -> Iterator[tuple[int, int]]:
    """Yield (start, stop) of the panels of columns that fit `width` beside a label column.

    Every panel has at least one column. The panels are as few as possible.
    """
    start, used = 0, label
    for i, column in enumerate(columns):
        if i > start and used + gap + column > width:
            yield start, i
            start, used = i, label
        used += gap + column
    yield start, len(columns)
