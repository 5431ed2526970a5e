"""Render a document as plain text, for a console or a log.

The output is ASCII, except for the user's names. Characters that the console cannot encode are written
without their accents or as escapes, so that ``print`` never fails.
"""

from __future__ import annotations

import dataclasses
import sys
import textwrap
import unicodedata
from collections.abc import Iterable, Iterator
from functools import cache, partial
from itertools import zip_longest

from spcastat.labels import HEADING_WIDTH, NAME_WIDTH
from spcastat.show.grid import (
    Document,
    Layout,
    Table,
    below_headings,
    blocks,
    column_widths,
    display_width,
    label_room,
    label_width,
    panels,
    short,
    without_stars,
    wrapped,
)

#: Number of spaces between two columns.
GAP = 2
#: Largest number of names in a key.
KEYED = 12
#: ASCII spelling of typographic characters.
ASCII = str.maketrans({"…": "...", "–": "-", "—": "-", "−": "-", "‘": "'", "’": "'", "“": '"', "”": '"'})


def render(document: Document, layout: Layout | None = None, encoding: str | None = None) -> str:
    """Return the document as lines of at most ``layout.width`` characters.

    Parameters
    ----------
    document : Document
    layout : Layout, optional
        Tables with too many columns are split into panels; tables with common columns are split in the same
        way, and each panel shows all of them. Names that do not fit are shortened and explained in a key
        below; with ``full_names=True`` they are wrapped instead.
    encoding : str, optional
        The encoding of the output; by default that of ``sys.stdout``.
    """
    layout = layout or Layout()
    encoding = encoding or getattr(sys.stdout, "encoding", None) or "ascii"
    document = _with_room_for_stars(layout.of(document, names=False))
    safe = cache(partial(_safe, encoding=encoding))
    document = document.changed(safe, safe, safe, safe)
    if layout.full_names:
        headings = {text: None for table in document.tables for text in table.headings}
        lines = {text: "\n".join(wrapped(text, HEADING_WIDTH, display_width)) for text in headings}
        document = dataclasses.replace(document.with_names({}, lines), key=document.key)
    else:
        names = too_long(document, layout.width, everywhere=layout.full_names is False)
        document = document.with_names(*(_fitting(*some) for some in names))
        if layout.full_names is not False and len(document.key) > KEYED:
            sentence = "Long names are shortened; full_names=True or a larger width shows them in full."
            document = dataclasses.replace(document, key=(), notes=(*document.notes, sentence))
    return "\n\n".join(lines_of(document, layout.width))


def _with_room_for_stars(document: Document) -> Document:
    """Return the document with spaces after the cells, so that numbers with and without stars are aligned."""
    cells = [cell for table in document.tables for row in table.rows for cell in row.cells]
    most = max((len(without_stars(cell)[1]) for cell in cells), default=0)
    if not most:
        return document
    return document.changed(lambda cell: cell and cell + " " * (most - len(without_stars(cell)[1])))


def _fitting(names: Iterable[str], limit: int) -> dict[str, str]:
    """Return a dict from long names to short ones of at most `limit` characters, in ASCII."""
    long = [name for name in names if display_width(name) > limit]
    found: dict[str, str] = {}
    if not long:
        return found
    for smaller in range(limit, 3, -1):  # three dots replace one character, and some characters are wide
        found = {name: text.translate(ASCII) for name, text in short(long, smaller).items()}
        if all(display_width(text) <= limit for text in found.values()):
            break
    return found


def _safe(text: str, encoding: str) -> str:
    """Return `text` with characters that `encoding` lacks replaced."""
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


# --- lines of characters ---------------------------------------------------------------------------


def too_long(
    document: Document, width: int, everywhere: bool
) -> tuple[tuple[dict[str, None], int], tuple[dict[str, None], int]]:
    """Return the names that are too long for lines of `width` characters, and how long they may be.

    Parameters
    ----------
    document : Document
    width : int
    everywhere : bool
        Whether to limit all names; otherwise only those in tables that would be wider than `width`.

    Returns
    -------
    labels : (names, int)
        Row labels, and the largest number of characters that they may have.
    headings : (names, int)
        The same for headings.
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
            dashes = tuple("-" * min(display_width(text), limit) for text in block[0].headings)
            renamed = tuple(dataclasses.replace(table, headings=dashes) for table in block)
            columns = column_widths(renamed, display_width)
        room = label_room(label, columns, width, GAP, NAME_WIDTH)
        room = min(room, NAME_WIDTH) if everywhere else room
        for table in block:
            long = [row.label for row in table.rows if display_width(row.label) + 2 * bool(row.group) > room]
            labels |= dict.fromkeys(long)
            limits += [room - 2 * any(row.group for row in table.rows)] if long else []
    if len(labels) + len(headings) <= KEYED:
        limits.append(34)  # leaves room for the full name next to it in the key
    return (labels, min(limits)), (headings, heading_limit)


def lines_of(document: Document, width: int) -> Iterator[str]:
    """Yield the nonempty parts of a document as text: header, panels of tables, notes, key."""
    parts = [_header(document, width)]
    for block in blocks(document.tables):
        parts += _block(block, width)
    parts.append("\n".join(textwrap.fill(" ".join(note.split()), width) for note in document.all_notes))
    parts.append("\n".join(_key(document.key, width)))
    yield from filter(None, parts)


def _header(document: Document, width: int) -> str:
    lines = [textwrap.fill(" ".join(document.heading.split()), width)] if document.heading else []
    indent = max((display_width(label) for label, _ in document.facts), default=0) + GAP
    indent = min(indent, width // 2)
    for label, text in document.facts:
        first, text = label + " " * max(indent - display_width(label), 1), " ".join(text.split())
        lines.append(textwrap.fill(text, width, initial_indent=first, subsequent_indent=" " * indent))
    return "\n".join(lines)


def _block(block: tuple[Table, ...], width: int) -> Iterator[str]:
    columns = column_widths(block, lambda text: max(map(display_width, text.split("\n"))))
    natural = label_width(block, display_width)
    for label, parts, widths in panels(block, natural, columns, width, GAP, NAME_WIDTH):
        whole = label + sum(GAP + column for column in widths)
        yield "\n\n".join("\n".join(_table(table, label, widths, whole)) for table in parts)


def _table(table: Table, label: int, widths: list[int], whole: int) -> Iterator[str]:
    title, head = table.title, ""
    if display_width(title) <= label:
        title, head = "", title
    if title:
        yield from textwrap.wrap(title, max(whole, 40))
    heads = list(zip_longest(*(reversed(text.split("\n")) for text in table.headings), fillvalue=""))
    for number, line in reversed(list(enumerate(heads or [()]))):
        yield _line(("" if number else head, *line), [label, *widths], f"l{table.align}")
    yield "-" * whole
    for group, row in below_headings(table.rows):
        if row.rule:
            yield "-" * whole
        if group:
            yield group
        indent = 2 * bool(row.group)
        first, *rest = wrapped(row.label, label - indent, display_width)
        yield _line((" " * indent + first, *row.cells), [label, *widths], f"l{table.align}")
        yield from (" " * (indent + 2) + line for line in rest)


def _line(cells: tuple[str, ...], widths: list[int], align: str) -> str:
    """Return cells padded to their widths; `align` has "l", "c" or "r" for each."""
    padded = []
    for text, width, side in zip(cells, widths, align, strict=True):
        space = width - display_width(text)
        left = {"l": 0, "c": space // 2, "r": space}[side]
        padded.append(" " * left + text + " " * (space - left))
    return (" " * GAP).join(padded).rstrip()


def _key(key: tuple[tuple[str, str], ...], width: int) -> Iterator[str]:
    """Yield the lines of the key, which explains short names."""
    indent = min(max((display_width(short) for short, _ in key), default=0) + GAP, width // 2)
    if key:
        yield "Names in full"
    for short_one, whole in key:
        lines = wrapped(whole, width - indent, display_width)
        if display_width(short_one) + GAP <= indent:
            short_one += " " * (indent - display_width(short_one)) + lines.pop(0)
        yield short_one
        yield from (" " * indent + line for line in lines)
