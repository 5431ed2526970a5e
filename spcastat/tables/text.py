"""Plain text, for a console or a log.

The renderer's own characters are ASCII. The user's names keep their characters as long as the console
can show them; a character that it cannot encode is written without its accent or as an escape, so that
``print`` never fails.
"""

from __future__ import annotations

import dataclasses
import sys
import unicodedata
from collections.abc import Iterable

from spcastat.labels import HEADING_WIDTH
from spcastat.tables.cells import Figures
from spcastat.tables.fitting import display_width, lines_of, too_long, wrapped
from spcastat.tables.layout import Layout, short
from spcastat.tables.table import Document

#: Typographic characters that have an ASCII spelling.
ASCII = str.maketrans({"…": "...", "–": "-", "—": "-", "−": "-", "‘": "'", "’": "'", "“": '"', "”": '"'})


def render(document: Document, layout: Layout | None = None, encoding: str | None = None) -> str:
    """Return the document as lines of at most ``layout.width`` characters.

    Parameters
    ----------
    document : Document
    layout : Layout, optional
        Tables with more columns than fit are split into panels; tables that share their columns are
        split alike, and each panel shows all of them. Names that do not fit are shortened, and stand in
        full in a key below; with ``full_names=True`` they go on in further lines instead.
    encoding : str, optional
        Where the text goes; by default the encoding of ``sys.stdout``.
    """
    layout = layout or Layout()
    encoding = encoding or getattr(sys.stdout, "encoding", None) or "ascii"
    document = _with_room_for_stars(layout.of(document, names=False))
    document = document.respelled({text: _safe(text, encoding) for text in document.texts})
    if layout.full_names:
        document = _with_high_headings(document)
    else:
        labels, headings = too_long(document, layout.width, everywhere=layout.full_names is False)
        document = document.with_names(_fitting(*labels), _fitting(*headings))
    return "\n\n".join(lines_of(document, layout.width))


def _with_room_for_stars(document: Document) -> Document:
    """Return the document with spaces behind cells of fewer stars, so that figures end in one column."""
    cells = [cell for table in document.tables for row in table.rows for cell in row.cells]
    most = max((len(cell.stars) for cell in cells if isinstance(cell, Figures)), default=0)
    if not most:
        return document
    return document.with_cells(
        lambda cell: cell and cell + " " * (most - (len(cell.stars) if isinstance(cell, Figures) else 0))
    )


def _with_high_headings(document: Document) -> Document:
    """Return the document with long headings in several lines."""
    headings = {text: None for table in document.tables for text in table.headings}
    lines = {text: "\n".join(wrapped(text, HEADING_WIDTH, display_width)) for text in headings}
    return dataclasses.replace(document.with_names({}, lines), key=document.key)


def _fitting(names: Iterable[str], limit: int) -> dict[str, str]:
    """Return short names of at most `limit` characters, in ASCII; those that fit stay as they are."""
    long = [name for name in names if display_width(name) > limit]
    found: dict[str, str] = {}
    if not long:
        return found
    for smaller in range(limit, 3, -1):  # three dots stand for one character, and a wide one takes two
        found = {name: text.translate(ASCII) for name, text in short(long, smaller).items()}
        if all(display_width(text) <= limit for text in found.values()):
            break
    return found


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
