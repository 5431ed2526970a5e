"""Plain text, for a console or a log.

The renderer's own characters are ASCII. The user's names keep their characters as long as the console
can show them; a character that it cannot encode is written without its accent or as an escape, so that
``print`` never fails.
"""

from __future__ import annotations

import sys
import textwrap
import unicodedata
from collections.abc import Callable, Iterator
from itertools import groupby

from spcastat.labels import NAME_WIDTH, shorten
from spcastat.tables.table import Document, Row, Table

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


#: Typographic characters that have an ASCII spelling.
ASCII = str.maketrans({"…": "...", "–": "-", "—": "-", "−": "-", "‘": "'", "’": "'", "“": '"', "”": '"'})


def render(document: Document, width: int = 80, encoding: str | None = None) -> str:
    """Return the document as lines of at most `width` characters.

    Parameters
    ----------
    document : Document
    width : int
        Tables with more columns than fit are split into panels; tables that share their columns are
        split alike, and each panel shows all of them.
    encoding : str, optional
        Where the text goes; by default the encoding of ``sys.stdout``.
    """
    encoding = encoding or getattr(sys.stdout, "encoding", None) or "ascii"
    document = _encodable(document, encoding)
    parts = [_header(document, width)]
    for block in blocks(document.tables):
        parts += _block(block, width)
    parts.append("\n".join(_wrap(note, width) for note in document.all_notes))
    return "\n\n".join(part for part in parts if part)


def display_width(text: str) -> int:
    """Return the number of console cells of `text`: two for a wide character, none for a combining one."""
    if text.isascii():
        return len(text)
    cells = 0
    for char in text:
        if not unicodedata.combining(char):
            cells += 2 if unicodedata.east_asian_width(char) in "WF" else 1
    return cells


def _header(document: Document, width: int) -> str:
    lines = [_wrap(document.title, width)] if document.title else []
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
    columns = column_widths(block, display_width)
    room = max(width - GAP - max(columns, default=0), 8)
    label = min(label_width(block, display_width), room)
    for start, stop in panels(label, columns, width):
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
    yield _line(head, table.headings, label, widths, table.align)
    yield "-" * whole
    group = ""
    for row in table.rows:
        if row.rule:
            yield "-" * whole
        if row.group and row.group != group:
            yield row.group
        group = row.group
        yield _line(_row_label(row, label), row.cells, label, widths, table.align)


def _row_label(row: Row, label: int) -> str:
    text = "  " + row.label if row.group else row.label
    return text if display_width(text) <= label else shorten(text, label - 2).translate(ASCII)


def _line(label: str, cells: tuple[str, ...], width: int, widths: list[int], align: str) -> str:
    parts = [label + " " * (width - display_width(label))]
    for cell, column, side in zip(cells, widths, align, strict=True):
        space = column - display_width(cell)
        left = {"l": 0, "c": space // 2, "r": space}[side]
        parts.append(" " * left + cell + " " * (space - left))
    return (" " * GAP).join(parts).rstrip()


def _wrap(text: str, width: int) -> str:
    return textwrap.fill(" ".join(text.split()), width)


def _safe(text: str, encoding: str) -> str:
    """Return `text` in characters that `encoding` has."""
    text = text.translate(ASCII)
    try:
        text.encode(encoding)
    except UnicodeEncodeError:
        return "".join(_safe_char(char, encoding) for char in text)
    return text


def _safe_char(char: str, encoding: str) -> str:
    plain = "".join(c for c in unicodedata.normalize("NFKD", char) if not unicodedata.combining(c))
    for candidate in (char, plain):
        try:
            candidate.encode(encoding)
        except UnicodeEncodeError:
            continue
        return candidate
    return char.encode("ascii", "backslashreplace").decode()


def _encodable(document: Document, encoding: str) -> Document:
    """Return the document in characters that can be encoded: widths are then those of what is printed."""

    def safe(texts: tuple[str, ...]) -> tuple[str, ...]:
        return tuple(_safe(text, encoding) for text in texts)

    def table(old: Table) -> Table:
        rows = (
            Row(_safe(row.label, encoding), safe(row.cells), _safe(row.group, encoding), row.rule)
            for row in old.rows
        )
        title, notes = _safe(old.title, encoding), safe(old.notes)
        return Table(title, safe(old.headings), tuple(rows), old.align, notes, old.sparse)

    return Document(
        _safe(document.title, encoding),
        tuple((_safe(label, encoding), _safe(text, encoding)) for label, text in document.facts),
        tuple(table(old) for old in document.tables),
        safe(document.notes),
    )
