"""The layout of tables in every format: options, panels of columns on a page, and wrapped names."""

from __future__ import annotations

import dataclasses
import re
import unicodedata
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from itertools import groupby

from spcastat.config import flag, one_of, shown, text, whole_number
from spcastat.errors import OptionError
from spcastat.labels import HEADING_WIDTH, NAME_WIDTH, short_names
from spcastat.tables.grid import MOST_DIGITS, Document, Figures, Table

# --- panels and wrapping -------------------------------------------------------------------------


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

    Rather than make labels narrower than `least`, the table is split into panels. The label column is never
    wider than `label`, and it leaves room for the widest of the other columns.
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


# --- options -------------------------------------------------------------------------------------


#: Decimal marks.
DECIMALS = (".", ",")
#: Labels that LaTeX, Word, HTML and Quarto all accept.
LABEL = re.compile(r"[A-Za-z][A-Za-z0-9:._-]*")


@dataclass(frozen=True)
class Layout:
    """Layout options of a document.

    Attributes
    ----------
    width : int
        Characters in a line, at least 40. Text, LaTeX, Markdown and Word split wider tables into panels; 80
        is the width of a page.
    digits : int, optional
        Number of decimals of the loadings, 0 to 10; by default 3. The number of decimals of other numbers
        changes by the same amount.
    decimal : {".", ","}
        The decimal mark of the numbers in the tables.
    full_names : bool, optional
        True keeps long names in every format, wrapped if necessary; False shortens them in every format, with
        a key. By default only text shortens names, and only if lines would be wider than `width`.
    caption : str, optional
        Replaces the title.
    label : str, optional
        Label for references from other parts of a paper: letters, digits and ``: . _ -``.
    notes : bool
        Whether to include the header and the sentences below the tables.
    longtable : bool, optional
        Whether LaTeX tables may break across pages; by default those that are longer than a page do.
    siunitx : bool
        Whether LaTeX tables use the S columns of siunitx.

    Raises
    ------
    OptionError
        If a value is not allowed.
    """

    width: int = 80
    digits: int | None = None
    decimal: str = "."
    full_names: bool | None = None
    caption: str | None = None
    label: str | None = None
    notes: bool = True
    longtable: bool | None = None
    siunitx: bool = False

    def __post_init__(self) -> None:
        whole_number("width", self.width, 40)
        one_of("decimal", self.decimal, DECIMALS)
        if self.digits is not None:  # NumPy's unsigned integers have no negative differences
            object.__setattr__(self, "digits", whole_number("digits", self.digits, 0, MOST_DIGITS))
        for option in ("notes", "siunitx", "full_names", "longtable"):
            given = getattr(self, option)
            if given is not None or option in ("notes", "siunitx"):
                object.__setattr__(self, option, flag(option, given))  # converts NumPy's bool to Python's
        if self.caption is not None and not text("caption", self.caption).strip():
            raise OptionError(
                f"caption={shown(self.caption)} was given; leave it out to have the title as caption."
            )
        if self.label is not None and not LABEL.fullmatch(text("label", self.label)):
            raise OptionError(
                f"label={shown(self.label)} was given; it must begin with a letter and have only letters, "
                "digits and : . _ - in it, such as 'tab:loadings'."
            )

    def of(self, document: Document, decimal: str | None = None, names: bool = True) -> Document:
        """Return the document with these options applied: caption, label, digits, decimal mark, short names.

        `decimal` overrides the decimal mark. With ``names=False`` names are not shortened.
        """
        document = restyled(document, self.digits, self.decimal if decimal is None else decimal)
        if not self.notes:
            tables = tuple(dataclasses.replace(table, notes=()) for table in document.tables)
            document = dataclasses.replace(document, facts=(), tables=tables, notes=())
        caption = self.caption or document.caption
        document = dataclasses.replace(document, caption=caption, label=self.label or document.label)
        short_ones = names and self.full_names is False
        return shortened(document, NAME_WIDTH, HEADING_WIDTH) if short_ones else document


def restyled(document: Document, digits: int | None = None, decimal: str = ".") -> Document:
    """Return the document with `digits` decimals of loadings; other numbers change by as many decimals."""
    more = 0 if digits is None else digits - document.digits
    if more == 0 and decimal == ".":
        return document
    document = dataclasses.replace(document, digits=document.digits + more)
    return document.changed(lambda cell: cell.again(more, decimal) if isinstance(cell, Figures) else cell)


def shortened(document: Document, limit: int, heading_limit: int) -> Document:
    """Return the document with labels and headings shortened to a number of characters, and a key."""
    labels = dict.fromkeys(row.label for table in document.tables for row in table.rows)
    headings = dict.fromkeys(text for table in document.tables for text in table.headings)
    return document.with_names(short(labels, limit), short(headings, heading_limit))


def short(names: Iterable[str], limit: int) -> dict[str, str]:
    """Return a dict from names to unique short names; names that fit are not changed."""
    names = list(names)
    return dict(zip(names, short_names(names, limit), strict=True))
