"""Render a document as Markdown pipe tables (GitHub, Quarto, pandoc), aligned to be readable as text."""

from __future__ import annotations

import dataclasses
import re
from collections.abc import Iterator
from itertools import chain
from math import ceil

from spcastat.show import grid

#: Line length of pandoc, in characters. If a table is wider, its dashes set the relative column widths.
PANDOC_LINE = 72
#: The smallest number of dashes of the label column.
LABELS = 18
#: Widths of characters as shares of the font size, in a wide font, since the usual one may be missing.
_CHARACTER_WIDTHS = {
    **dict.fromkeys(".,:;-−|!'() []\N{NO-BREAK SPACE}", 0.36),
    **dict.fromkeys("ijltfr", 0.45),
}

#: Characters with a special meaning in Markdown: "_" only at the edge of a word, "<" and "&" only where a tag
#: or an entity could start, "#", ">" and "+" only at the start of the text.
_SPECIAL = re.compile(r"[\\`*\[\]|~$^]|(?<![^\W_])_|_(?![^\W_])|<(?=[A-Za-z/!?])|&(?=[#A-Za-z])|^[#>+](?=\s)")

_ALIGNMENT_RULES = {"l": (":", "-"), "c": (":", ":"), "r": ("-", ":")}


def render(document: grid.Document, layout: grid.Layout) -> str:
    """Return the document as Markdown.

    The line of dashes of a table is longer than pandoc's line length; pandoc then divides the page width
    among the columns in proportion to their dashes. Columns of numbers get the width they need on one line;
    labels, which may wrap, get the rest. Tables with too many columns for a page are split into panels.
    """
    document = layout.of(document)
    parts = []
    if document.title and not document.caption:
        parts.append(f"**{escape(document.title)}**")
    parts += _terms(document.facts)
    name = f" {{#{document.label}}}" if document.label else ""
    for block in grid.blocks(document.tables):
        columns, label = grid.column_widths(block, _room), grid.label_width(block, _room)
        split = grid.panels(block, label, columns, PANDOC_LINE * layout.width // 80, 0, LABELS)
        for table in chain.from_iterable(tables for _, tables, _ in split):
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


def _room(text: str) -> int:
    """Return the number of dashes that make a column wide enough for `text` on one line."""
    letters = sum(
        _CHARACTER_WIDTHS.get(char, 0.65 if char.islower() or char.isdigit() else 0.78)
        * grid.display_width(char)
        for char in text
    )
    # In points, in Word: font size, both margins of a cell, and the width of a dash in a line of 6.5 inches
    return ceil((letters * 12.0 + 12.0) / (468 / PANDOC_LINE))


def escape(text: str) -> str:
    """Return `text` on one line, with the characters escaped that are special in Markdown."""
    one_line = " ".join(part for part in re.split(r"[ \t\r\n\f\v]+", text) if part)
    return _SPECIAL.sub(lambda match: "\\" + match[0], one_line)


def _table(table: grid.Table) -> Iterator[str]:
    """Yield the lines of a table; the heading of a group is a row of its own, as cells cannot be merged."""
    lines = [[escape(cell) for cell in line] for line in _grid(table)]
    align = "l" + table.align
    column_widths = [max(grid.display_width(line[i]) for line in lines) for i in range(len(align))]
    columns = grid.column_widths((table,), _room)  # numbers stay on one line, labels may wrap
    dashes = [max(PANDOC_LINE - sum(columns), LABELS), *columns]
    widths = list(map(max, column_widths, dashes))
    for number, line in enumerate(lines):
        cells = (_pad(cell, size, side) for cell, size, side in zip(line, widths, align, strict=True))
        yield f"| {' | '.join(cells)} |"
        if number == 0:
            ends = zip((_ALIGNMENT_RULES[side] for side in align), dashes, strict=True)
            yield f"| {' | '.join(left_end + '-' * (size - 2) + right for (left_end, right), size in ends)} |"


def _grid(table: grid.Table) -> Iterator[tuple[str, ...]]:
    yield (table.title, *table.headings)
    for group, row in grid.below_headings(table.rows):
        if group:
            yield (group, *("" for _ in table.headings))
        label = "\N{NO-BREAK SPACE}" * (2 * bool(row.group)) + row.label
        yield (label, *(cell.replace(" ", "\N{NO-BREAK SPACE}") for cell in row.cells))


def _pad(cell: str, width: int, side: str) -> str:
    space = " " * (width - grid.display_width(cell))
    return space + cell if side == "r" else cell + space
