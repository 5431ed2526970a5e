"""Layout options of documents, for all formats: caption, digits, decimal mark, names."""

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
