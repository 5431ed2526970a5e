"""How a document is written: caption, digits, decimal mark, names; the same for every format."""

from __future__ import annotations

import dataclasses
import re
from collections.abc import Iterable
from dataclasses import dataclass

from spcastat.config import flag, one_of, shown, text, whole_number
from spcastat.errors import OptionError
from spcastat.labels import HEADING_WIDTH, NAME_WIDTH, short_names
from spcastat.tables.cells import MOST_DIGITS, Figures
from spcastat.tables.grid import Document

#: Decimal marks.
DECIMALS = (".", ",")
#: What a label may be made of, so that LaTeX, Word, HTML and Quarto all take it.
LABEL = re.compile(r"[A-Za-z][A-Za-z0-9:._-]*")


@dataclass(frozen=True)
class Layout:
    """How a document is written.

    Attributes
    ----------
    width : int
        Characters in a line, 40 or more. Text, LaTeX, Markdown and Word split tables that are wider into
        panels; 80 is the width of a page.
    digits : int, optional
        Decimals of the loadings, 0 to 10. Other numbers have as many more or fewer as they have beside
        loadings of three decimals, which is the default.
    decimal : {".", ","}
        The decimal mark of the numbers in the tables.
    full_names : bool, optional
        True keeps long names in every format, over several lines where they have to be; False shortens them
        in every format, with a key. By default they are shortened in text alone, and only where lines would
        be wider than `width`.
    caption : str, optional
        Instead of the title.
    label : str, optional
        By which other parts of a paper refer to the tables: letters, digits and ``: . _ -``.
    notes : bool
        Whether the header and the sentences below the tables are written.
    longtable : bool, optional
        Whether LaTeX tables break across pages; by default those that are longer than a page do.
    siunitx : bool
        Whether numbers stand in the S columns of siunitx.

    Raises
    ------
    OptionError
        A value that is not allowed.
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
        if self.digits is not None:
            whole_number("digits", self.digits, 0, MOST_DIGITS)
        for option in ("notes", "siunitx", "full_names", "longtable"):
            given = getattr(self, option)
            if given is not None or option in ("notes", "siunitx"):
                object.__setattr__(self, option, flag(option, given))  # those of NumPy as Python's
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
        """Return the document with caption, label, digits, decimal mark and short names as wanted here.

        Without `names` these stay as they are.
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
    """Return the document with `digits` decimals of loadings, other numbers in proportion."""
    more = 0 if digits is None else digits - document.digits
    if more == 0 and decimal == ".":
        return document
    document = dataclasses.replace(document, digits=document.digits + more)
    return document.with_cells(lambda cell: cell.again(more, decimal) if isinstance(cell, Figures) else cell)


def shortened(document: Document, limit: int, heading_limit: int) -> Document:
    """Return the document with labels and headings of a limited number of characters, and a key."""
    labels = dict.fromkeys(row.label for table in document.tables for row in table.rows)
    headings = dict.fromkeys(text for table in document.tables for text in table.headings)
    return document.with_names(short(labels, limit), short(headings, heading_limit))


def short(names: Iterable[str], limit: int) -> dict[str, str]:
    """Return each of different names with a short one of its own; those that fit stay as they are."""
    names = list(names)
    return dict(zip(names, short_names(names, limit), strict=True))
