"""Tables in a width: how columns share it, in every format, and the lines of characters of plain text."""

from __future__ import annotations

import dataclasses
import re
import textwrap
import unicodedata
from collections.abc import Callable, Iterable, Iterator
from itertools import groupby, zip_longest

from spcastat.labels import HEADING_WIDTH, NAME_WIDTH
from spcastat.tables.table import Document, Table

#: Spaces between two columns of text.
GAP = 2
#: Characters of a shortened name, at most: in the key, the name in full stands beside it.
KEY = 34

#: Where a name can go on in the next line: after a space or a mark, and before a capital within a word.
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


def label_room(label: int, columns: list[int], width: int, gap: int, least: int) -> int:
    """Return how wide the label column can be: what the others leave, but `least` where it needs that much.

    A label column narrower than that is not worth having all columns in one panel. There is always room for
    the widest column.
    """
    left = width - sum(gap + column for column in columns)
    beside_one = width - gap - max(columns, default=0)
    return min(label, max(left, least), max(beside_one, 1))


def panels(
    label: int, columns: list[int], width: int, gap: int, together: int = 1
) -> Iterator[tuple[int, int]]:
    """Yield (start, stop) of the panels of columns that fit `width` beside a label column.

    Columns that belong together, `together` at a time, are not parted. Every panel has at least these. The
    panels are as few as possible.
    """
    start, used = 0, label
    for i in range(0, len(columns), together):
        size = sum(gap + column for column in columns[i : i + together])
        if i > start and used + size > width:
            yield start, i
            start, used = i, label
        used += size
    yield start, len(columns)


def wrapped(text: str, width: int, measure: Callable[[str], int] = len) -> list[str]:
    """Return a name in lines of at most `width`, broken where its words end as far as that goes."""
    lines = [""]
    for piece in BREAKS.split(text):
        if lines[-1] and measure((lines[-1] + piece).rstrip()) > width:
            lines.append("")
        for char in piece:
            if lines[-1] and char != " " and measure(lines[-1] + char) > width:
                lines.append("")
            lines[-1] += char
    return [line.rstrip() for line in lines]


def too_long(
    document: Document, width: int, everywhere: bool
) -> tuple[tuple[dict[str, None], int], tuple[dict[str, None], int]]:
    """Return the names that are too long for lines of `width` characters, and how long they can be.

    Parameters
    ----------
    document : Document
    width : int
    everywhere : bool
        Names are limited as if lines were short; otherwise only where lines would be wider.

    Returns
    -------
    labels : (names, int)
        Of rows, with the characters that each can have.
    headings : (names, int)
    """
    labels: dict[str, None] = {}
    headings: dict[str, None] = {}
    limits, heading_limit = [NAME_WIDTH if everywhere else width], width
    for block in blocks(document.tables):
        columns, label = column_widths(block, display_width), label_width(block, display_width)
        least = min(label, NAME_WIDTH)
        for limit in (16, HEADING_WIDTH):
            fits = least + sum(GAP + column for column in columns) <= width
            if fits and not everywhere:
                break
            headings |= dict.fromkeys(block[0].headings)
            heading_limit = min(heading_limit, limit)
            columns = _columns_below(block, limit)
        room = label_room(label, columns, width, GAP, NAME_WIDTH)
        room = min(room, NAME_WIDTH) if everywhere else room
        for table in block:
            long = [row.label for row in table.rows if display_width(row.label) + 2 * bool(row.group) > room]
            labels |= dict.fromkeys(long)
            limits += [min(room, KEY) - 2 * any(row.group for row in table.rows)] if long else []
    return (labels, min(limits)), (headings, heading_limit)


def _columns_below(block: tuple[Table, ...], limit: int) -> list[int]:
    """Return the widths of columns whose headings have `limit` characters at most."""
    headings = tuple("-" * min(display_width(heading), limit) for heading in block[0].headings)
    renamed = tuple(dataclasses.replace(table, headings=headings) for table in block)
    return column_widths(renamed, display_width)


def lines_of(document: Document, width: int) -> Iterator[str]:
    """Yield the parts of a document as text: header, panels of tables, notes, key; none of them is empty."""
    parts = [_header(document, width)]
    for block in blocks(document.tables):
        parts += _block(block, width)
    parts.append("\n".join(_wrap(note, width) for note in document.all_notes))
    parts.append("\n".join(_key(document.key, width)))
    yield from filter(None, parts)


def _header(document: Document, width: int) -> str:
    lines = [_wrap(document.heading, width)] if document.heading else []
    indent = max((display_width(label) for label, _ in document.facts), default=0) + GAP
    indent = min(indent, width // 2)
    for label, text in document.facts:
        lines.append(
            textwrap.fill(
                " ".join(text.split()),
                width,
                initial_indent=label + " " * max(indent - display_width(label), 1),
                subsequent_indent=" " * indent,
            )
        )
    return "\n".join(lines)


def _block(block: tuple[Table, ...], width: int) -> Iterator[str]:
    columns = column_widths(block, lines_width)
    label = label_room(label_width(block, display_width), columns, width, GAP, NAME_WIDTH)
    for start, stop in panels(label, columns, width, GAP, block[0].together):
        widths = columns[start:stop]
        whole = label + sum(GAP + column for column in widths)
        parts = [table.columns(start, stop) for table in block]
        yield "\n\n".join("\n".join(_table(table, label, widths, whole)) for table in parts)


def _table(table: Table, label: int, widths: list[int], whole: int) -> Iterator[str]:
    title, head = table.title, ""
    if display_width(title) <= label:
        title, head = "", title
    if title:
        yield from textwrap.wrap(title, max(whole, 40))
    heads = list(zip_longest(*(reversed(text.split("\n")) for text in table.headings), fillvalue=""))
    for number, line in reversed(list(enumerate(heads or [()]))):
        yield _line("" if number else head, line, label, widths, table.align)
    yield "-" * whole
    group = ""
    for row in table.rows:
        if row.rule:
            yield "-" * whole
        if row.group and row.group != group:
            yield row.group
        group = row.group
        indent = 2 * bool(row.group)
        first, *rest = wrapped(row.label, label - indent, display_width)
        yield _line(" " * indent + first, row.cells, label, widths, table.align)
        yield from (" " * (indent + 2) + line for line in rest)


def _line(label: str, cells: tuple[str, ...], width: int, widths: list[int], align: str) -> str:
    return (" " * GAP).join(_padded((label, *cells), [width, *widths], f"l{align}")).rstrip()


def _padded(texts: Iterable[str], widths: Iterable[int], align: Iterable[str]) -> Iterator[str]:
    """Yield texts with spaces about them, so that each has its width; `align` is of "l", "c" and "r"."""
    for text, width, side in zip(texts, widths, align, strict=True):
        space = width - display_width(text)
        left = {"l": 0, "c": space // 2, "r": space}[side]
        yield " " * left + text + " " * (space - left)


def _key(key: tuple[tuple[str, str], ...], width: int) -> Iterator[str]:
    """Yield the lines that say what the short names stand for."""
    indent = min(max((display_width(short) for short, _ in key), default=0) + GAP, width // 2)
    if key:
        yield "Names in full"
    for short_one, whole in key:
        lines = wrapped(whole, width - indent, display_width)
        if display_width(short_one) + GAP <= indent:
            short_one += " " * (indent - display_width(short_one)) + lines.pop(0)
        yield short_one
        yield from (" " * indent + line for line in lines)


def _wrap(text: str, width: int) -> str:
    return textwrap.fill(" ".join(text.split()), width)
