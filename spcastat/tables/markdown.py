"""Pipe tables of Markdown (GitHub, Quarto, pandoc), padded so that the source reads as a table too."""

from __future__ import annotations

import dataclasses
import re
from collections.abc import Iterable, Iterator

from spcastat.labels import NAME_WIDTH
from spcastat.tables.fitting import blocks, column_widths, label_room, label_width, panels
from spcastat.tables.layout import Layout
from spcastat.tables.table import Document, Table
from spcastat.tables.text import display_width

#: Beyond so many characters pandoc takes the widths of columns from their dashes.
LINE = 72
#: Characters between two columns.
PADDING = 3

#: Characters with a meaning in Markdown; "_" only at the edge of a word, "<" only where a tag could start.
_SPECIAL = re.compile(r"[\\`*\[\]|~$^]|(?<![^\W_])_|_(?![^\W_])|<(?=[A-Za-z/!?])|&(?=[#A-Za-z])|^[#>+](?=\s)")

_RULES = {"l": (":", "-"), "c": (":", ":"), "r": ("-", ":")}


def render(document: Document, layout: Layout | None = None) -> str:
    """Return the document as Markdown.

    Lines of more than 72 characters make pandoc give each column the share of the page that its dashes have:
    then numbers get as many as keep them on one line, and labels, which wrap, get the rest. Tables with more
    columns than a page holds are split into panels.
    """
    layout = layout or Layout()
    document = layout.of(document)
    parts = []
    if document.title and not document.caption:
        parts.append(f"**{escape(document.title)}**")
    parts += _terms(document.facts)
    name = f" {{#{document.label}}}" if document.label else ""
    for block in blocks(document.tables):
        for table in _panels(block, layout.width):
            parts.append("\n".join(_table(table)))
            if document.heading and (document.caption or name):
                parts.append(f": {escape(document.heading)}{name}")
                document = dataclasses.replace(document, caption="", title="")
    parts += [escape(note) for note in document.all_notes]
    parts += _terms(document.key)
    return "\n\n".join(parts) + "\n"


def _terms(pairs: tuple[tuple[str, str], ...]) -> list[str]:
    lines = [f"- {escape(label)}: {escape(text)}" for label, text in pairs]
    return ["\n".join(lines)] if lines else []


def _panels(block: tuple[Table, ...], width: int) -> Iterator[Table]:
    """Yield the tables of a block, those too wide for a page in panels one after another."""
    columns, label = column_widths(block, display_width), label_width(block, display_width)
    room = label_room(label, columns, width, PADDING, NAME_WIDTH)
    for start, stop in panels(room, columns, width, PADDING):
        yield from (table.columns(start, stop) for table in block)


def escape(text: str) -> str:
    """Return `text` on one line with the characters escaped that Markdown would read."""
    return _SPECIAL.sub(lambda match: "\\" + match[0], " ".join(text.split()))


def _table(table: Table) -> Iterator[str]:
    """Yield the lines of a table; a group heading is a row by itself, as rows cannot be merged."""
    lines = [[escape(cell) for cell in line] for line in _grid(table)]
    align = "l" + table.align
    widths = [max(3, *(display_width(line[i]) for line in lines)) for i in range(len(align))]
    for number, line in enumerate(lines):
        yield _pipes(_pad(cell, size, side) for cell, size, side in zip(line, widths, align, strict=True))
        if number == 0:
            ends = (_RULES[side] for side in align)
            yield _pipes(
                left + "-" * (size - 2) + right
                for (left, right), size in zip(ends, _dashes(widths), strict=True)
            )


def _grid(table: Table) -> Iterator[tuple[str, ...]]:
    yield (table.title, *table.headings)
    group = ""
    for row in table.rows:
        if row.group and row.group != group:
            yield (row.group, *("" for _ in table.headings))
        group = row.group
        label = "\N{NO-BREAK SPACE}" * (2 * bool(group)) + row.label
        yield (label, *(cell.replace(" ", "\N{NO-BREAK SPACE}") for cell in row.cells))


def _dashes(widths: list[int]) -> list[int]:
    """Return the dashes of every column: their share is its width where a line is too long for the page."""
    label, *columns = widths
    if label + sum(columns) + PADDING * len(widths) - 1 <= LINE:
        return widths
    needed = [column + PADDING for column in columns]
    return [max(LINE - sum(needed), NAME_WIDTH // 2), *needed]


def _pad(cell: str, width: int, side: str) -> str:
    space = " " * (width - display_width(cell))
    return space + cell if side == "r" else cell + space


def _pipes(cells: Iterable[str]) -> str:
    return "| " + " | ".join(cells) + " |"
