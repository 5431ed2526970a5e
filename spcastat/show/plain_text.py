"""Documents as plain text in lines of a given width.

>>> import pandas as pd
>>> from spcastat.show.grid import Document, Layout
>>> from spcastat.show.summary import loadings_table
>>> frame = pd.DataFrame({"PC1": [0.8, 0.6, 0.0]}, index=["a", "b", "c"])
>>> print(render_text(Document("Sparse PCA", tables=(loadings_table(frame),)), Layout()))
Sparse PCA
<BLANKLINE>
Loadings    PC1
---------------
a         0.800
b         0.600
<BLANKLINE>
Zero in all components (1 of 3 variables): c.
"""

from __future__ import annotations

import re
import sys
import textwrap
from collections.abc import Iterable, Iterator
from dataclasses import replace
from functools import cache, partial
from itertools import zip_longest

from spcastat.labels import HEADING_WIDTH, NAME_WIDTH
from spcastat.show import grid

#: Number of spaces between two columns.
SPACES_BETWEEN = 2
#: Largest number of names in a key.
KEYED = 12
#: ASCII spelling of typographic characters.
ASCII = str.maketrans({"…": "...", "–": "-", "—": "-", "−": "-", "‘": "'", "’": "'", "“": '"', "”": '"'})


def render_text(document: grid.Document, layout: grid.Layout, encoding: str | None = None) -> str:
    """Return the document as lines of at most ``layout.width`` characters.

    The output is ASCII, except for the user's names. Characters that the console cannot encode are written
    as escapes, so that ``print`` never fails.

    Parameters
    ----------
    document : Document
    layout : Layout
        Tables with too many columns are split into panels; tables with common columns are split in the same
        way, and each panel shows all of them. Names that do not fit are shortened and explained in a key
        below; with ``full_names=True`` they are wrapped instead.
    encoding : str, optional
        The encoding of the output; by default that of ``sys.stdout``.
    """
    document = _encodable(document, layout, encoding)
    parts = [_header(document, layout.width), *_of_tables(document, layout.width)]
    notes = (filled(note, layout.width) for note in document.all_notes)
    parts += ["\n".join(notes), "\n".join(_key(document.key, layout.width))]
    return "\n\n".join(filter(None, parts))


def render_tables(document: grid.Document, width: int) -> list[str]:
    """Return the lines of the tables of a document, without header, notes and key; long names are short."""
    document = _encodable(document, grid.Layout(width=width))
    return "\n\n".join(_of_tables(document, width)).splitlines()


def _encodable(document: grid.Document, layout: grid.Layout, encoding: str | None = None) -> grid.Document:
    """Return the document in characters of the console, with names as long as the layout allows."""
    document = _with_room_for_stars(layout.of(document, names=False))
    safe = cache(partial(console_text, encoding=encoding))
    document = document.changed(safe, safe, safe, safe)
    if layout.full_names:
        headings = {text: None for table in document.tables for text in table.headings}
        lines = {text: "\n".join(grid.wrapped(text, HEADING_WIDTH, grid.display_width)) for text in headings}
        return replace(document.with_names({}, lines), key=document.key)
    names = _too_long(document, layout.width, everywhere=layout.full_names is False)
    document = document.with_names(*(fitting(*limits) for limits in names))
    if layout.full_names is not False and len(document.key) > KEYED:
        sentence = "Long names are shortened; full_names=True or a larger width shows them in full."
        return replace(document, key=(), notes=(*document.notes, sentence))
    return document


def _of_tables(document: grid.Document, width: int) -> Iterator[str]:
    """Yield the tables as text."""
    for block in grid.blocks(document.tables):
        yield from _block(block, width)


def filled(text: str, width: int, initial_indent: str = "", indent: int = 0) -> str:
    """Return a text in lines of at most `width` characters that do not begin with the % or s of a number.

    The first line begins with `initial_indent`, the others with `indent` spaces.
    """
    unbroken = re.sub(r"(?<=\d) (%|s\b)", "\N{NO-BREAK SPACE}\\1", " ".join(text.split()))
    lines = textwrap.fill(unbroken, width, initial_indent=initial_indent, subsequent_indent=" " * indent)
    return lines.replace("\N{NO-BREAK SPACE}", " ")


def _with_room_for_stars(document: grid.Document) -> grid.Document:
    """Return the document with spaces after the cells, so that numbers with and without stars are aligned."""
    cells = [cell for table in document.tables for row in table.rows for cell in row.cells]
    star_width = max((len(grid.without_stars(cell)[1]) for cell in cells), default=0)
    if not star_width:
        return document
    return document.changed(
        lambda cell: cell and cell + " " * (star_width - len(grid.without_stars(cell)[1]))
    )


def fitting(names: Iterable[str], limit: int) -> dict[str, str]:
    """Return a dict from long names to short ones of at most `limit` characters, in ASCII."""
    long = [name for name in names if grid.display_width(name) > limit]
    short_names: dict[str, str] = {}
    if not long:
        return short_names
    for smaller in range(limit, 3, -1):  # three dots replace one character, and some characters are wide
        short_names = {name: text.translate(ASCII) for name, text in grid.short(long, smaller).items()}
        if all(grid.display_width(text) <= limit for text in short_names.values()):
            break
    return short_names


def console_text(text: str, encoding: str | None = None) -> str:
    """Return `text` with characters that `encoding`, by default that of the console, lacks as escapes."""
    encoding = encoding or getattr(sys.stdout, "encoding", None) or "ascii"
    return text.translate(ASCII).encode(encoding, "backslashreplace").decode(encoding)


# --- lines of characters ---------------------------------------------------------------------------


def _too_long(
    document: grid.Document, width: int, everywhere: bool
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
    for block in grid.blocks(document.tables):
        columns = grid.column_widths(block, grid.display_width)
        label = grid.label_width(block, grid.display_width)
        label_limit = min(label, NAME_WIDTH)
        for limit in (16, HEADING_WIDTH):
            fits = label_limit + sum(SPACES_BETWEEN + column for column in columns) <= width
            if fits and not everywhere:
                break
            headings |= dict.fromkeys(block[0].headings)
            heading_limit = min(heading_limit, limit)
            dashes = tuple("-" * min(grid.display_width(text), limit) for text in block[0].headings)
            renamed = tuple(replace(table, headings=dashes) for table in block)
            columns = grid.column_widths(renamed, grid.display_width)
        room = grid.label_room(label, columns, width, SPACES_BETWEEN, NAME_WIDTH)
        room = min(room, NAME_WIDTH) if everywhere else room
        for table in block:
            long = [
                row.label for row in table.rows if grid.display_width(row.label) + 2 * bool(row.group) > room
            ]
            labels |= dict.fromkeys(long)
            limits += [room - 2 * any(row.group for row in table.rows)] if long else []
    if len(labels) + len(headings) <= KEYED:
        limits.append(34)  # leaves room for the full name next to it in the key
    return (labels, min(limits)), (headings, heading_limit)


def _header(document: grid.Document, width: int) -> str:
    lines = [filled(document.heading, width)] if document.heading else []
    indent = max((grid.display_width(label) for label, _ in document.facts), default=0) + SPACES_BETWEEN
    indent = min(indent, width // 2)
    for label, text in document.facts:
        label_text = label + " " * max(indent - grid.display_width(label), 1)
        lines.append(filled(text, width, label_text, indent))
    return "\n".join(lines)


def _block(block: tuple[grid.Table, ...], width: int) -> Iterator[str]:
    columns = grid.column_widths(block, lambda text: max(map(grid.display_width, text.split("\n"))))
    natural = grid.label_width(block, grid.display_width)
    for label, parts, widths in grid.panels(block, natural, columns, width, SPACES_BETWEEN, NAME_WIDTH):
        block_width = label + sum(SPACES_BETWEEN + column for column in widths)
        yield "\n\n".join("\n".join(_table(table, label, widths, block_width)) for table in parts)


def _table(table: grid.Table, label: int, widths: list[int], total_width: int) -> Iterator[str]:
    title, head = table.title, ""
    if grid.display_width(title) <= label:
        title, head = "", title
    if title:
        yield from textwrap.wrap(title, max(total_width, 40))
    heads = list(zip_longest(*(reversed(text.split("\n")) for text in table.headings), fillvalue=""))
    for number, line in reversed(list(enumerate(heads or [()]))):
        yield _line(("" if number else head, *line), [label, *widths], f"l{table.align}")
    yield "-" * total_width
    for group, row in grid.below_headings(table.rows):
        if row.rule:
            yield "-" * total_width
        if group:
            yield group
        indent = 2 * bool(row.group)
        first_line, *tail = grid.wrapped(row.label, label - indent, grid.display_width)
        yield _line((" " * indent + first_line, *row.cells), [label, *widths], f"l{table.align}")
        yield from (" " * (indent + 2) + line for line in tail)


def _line(cells: tuple[str, ...], widths: list[int], align: str) -> str:
    """Return cells padded to their widths; `align` has "l", "c" or "r" for each."""
    padded = []
    for text, width, side in zip(cells, widths, align, strict=True):
        space = width - grid.display_width(text)
        left_space = {"l": 0, "c": space // 2, "r": space}[side]
        padded.append(" " * left_space + text + " " * (space - left_space))
    return (" " * SPACES_BETWEEN).join(padded).rstrip()


def _key(key: tuple[tuple[str, str], ...], width: int) -> Iterator[str]:
    """Yield the lines of the key, which explains short names."""
    indent = min(max((grid.display_width(name) for name, _ in key), default=0) + SPACES_BETWEEN, width // 2)
    if key:
        yield "Names in full"
    for short_one, full_name in key:
        lines = grid.wrapped(full_name, width - indent, grid.display_width)
        if grid.display_width(short_one) + SPACES_BETWEEN <= indent:
            short_one += " " * (indent - grid.display_width(short_one)) + lines.pop(0)
        yield short_one
        yield from (" " * indent + line for line in lines)
