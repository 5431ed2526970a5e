"""Pipe tables of Markdown (GitHub, Quarto, pandoc), padded so that the source reads as a table too."""

from __future__ import annotations

import re
from collections.abc import Iterator

from spcastat.tables.table import Document, Table
from spcastat.tables.text import display_width

#: Characters with a meaning in Markdown; "_" only at the edge of a word, "<" only where a tag could start.
_SPECIAL = re.compile(r"[\\`*\[\]|~$^]|(?<![^\W_])_|_(?![^\W_])|<(?=[A-Za-z/!?])|&(?=[#A-Za-z])|^[#>+](?=\s)")

_RULES = {"l": (":", "-"), "c": (":", ":"), "r": ("-", ":")}


def render(document: Document, width: int = 80) -> str:
    """Return the document as Markdown; `width` is not used: a pipe table cannot be wrapped."""
    parts = []
    if document.title:
        parts.append(f"**{escape(document.title)}**")
    if document.facts:
        parts.append("\n".join(f"- {escape(label)}: {escape(text)}" for label, text in document.facts))
    parts += ["\n".join(_table(table)) for table in document.tables]
    parts += [escape(note) for note in document.all_notes]
    return "\n\n".join(parts) + "\n"


def escape(text: str) -> str:
    """Return `text` on one line with the characters escaped that Markdown would read."""
    return _SPECIAL.sub(lambda match: "\\" + match[0], " ".join(text.split()))


def _table(table: Table) -> Iterator[str]:
    """Yield the lines of a table; a group heading joins the labels below it, as rows cannot be merged."""
    grid = [(table.title, *table.headings)]
    grid += [(f"{row.group}: {row.label}" if row.group else row.label, *row.cells) for row in table.rows]
    lines = [[escape(cell) for cell in line] for line in grid]
    align = "l" + table.align
    widths = [max(3, *(display_width(line[i]) for line in lines)) for i in range(len(align))]
    for number, line in enumerate(lines):
        yield _pipes(_pad(cell, size, side) for cell, size, side in zip(line, widths, align, strict=True))
        if number == 0:
            ends = (_RULES[side] for side in align)
            rules = (
                left + "-" * (size - 2) + right for (left, right), size in zip(ends, widths, strict=True)
            )
            yield _pipes(rules)


def _pad(cell: str, width: int, side: str) -> str:
    space = " " * (width - display_width(cell))
    return space + cell if side == "r" else cell + space


def _pipes(cells: Iterator[str]) -> str:
    return "| " + " | ".join(cells) + " |"
