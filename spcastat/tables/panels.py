"""Fit tables to the width of a page, in every format: panels of columns, and wrapping of names."""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Callable, Iterator
from itertools import groupby

from spcastat.labels import NAME_WIDTH
from spcastat.tables.grid import Table

#: Positions at which a name may be wrapped: after a space or a mark, and before a capital within a word.
BREAKS = re.compile(r"(?<=[\s_./:,;+=\-])(?=\w)|(?<=[a-z0-9])(?=[A-Z][a-z])")


def display_width(text: str) -> int:
    """Return the number of console cells of `text`: two for a wide character, none for a combining one."""
    if text.isascii():
        return len(text)
    cells = 0
    for char in text:
        if not unicodedata.combining(char):
            cells += 2 if unicodedata.east_asian_width(char) in "WF" else 1
    return cells


def lines_width(text: str) -> int:
    """Return the number of console cells of the longest line."""
    return max(map(display_width, text.split("\n")))


def blocks(tables: tuple[Table, ...]) -> Iterator[tuple[Table, ...]]:
    """Yield runs of consecutive tables with equal headings and alignment, which share their columns."""
    for _, run in groupby(tables, key=lambda table: (table.headings, table.align)):
        yield tuple(run)


def label_width(block: tuple[Table, ...], measure: Callable[[str], int]) -> int:
    """Return the natural width of the label column, with the indent of groups and with short titles."""
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


def label_room(label: int, columns: list[int], width: int, gap: int, least: int) -> int:
    """Return the width of the label column: what the other columns leave, or `least` if that is too little.

    A narrower label column would not be worth having all columns in one panel. There is always room for the
    widest column.
    """
    left = width - sum(gap + column for column in columns)
    beside_one = width - gap - max(columns, default=0)
    return min(label, max(left, least), max(beside_one, 1))


def panels(
    block: tuple[Table, ...], label: int, columns: list[int], width: int, gap: int, least: int
) -> Iterator[tuple[int, tuple[Table, ...], list[int]]]:
    """Yield the panels of tables with common columns that fit into `width`: there are as few as possible.

    Groups of columns that belong together are not split, and every panel has at least one group.

    Parameters
    ----------
    block : tuple of Table
    label : int
        Natural width of the label column.
    columns : list of int
        Widths of the other columns.
    width, gap : int
        Width of the page, and space between columns.
    least : int
        See :func:`label_room`.

    Yields
    ------
    room : int
        Width of the label column.
    tables : tuple of Table
        The tables with the columns of the panel.
    widths : list of int
    """
    room = label_room(label, columns, width, gap, least)
    starts, used, together = [0], room, block[0].together
    for i in range(0, len(columns), together):
        size = sum(gap + column for column in columns[i : i + together])
        if i > starts[-1] and used + size > width:
            starts.append(i)
            used = room
        used += size
    for start, stop in zip(starts, [*starts[1:], len(columns)], strict=True):
        yield room, tuple(table.columns(start, stop) for table in block), columns[start:stop]


def wrapped(text: str, width: int, measure: Callable[[str], int] = len) -> list[str]:
    """Return a name wrapped into lines of at most `width`, between words if possible."""
    lines = [""]
    for piece in BREAKS.split(text):
        if lines[-1] and measure((lines[-1] + piece).rstrip()) > width:
            lines.append("")
        for char in piece:
            if lines[-1] and char != " " and measure(lines[-1] + char) > width:
                lines.append("")
            lines[-1] += char
    return [line.rstrip() for line in lines]
