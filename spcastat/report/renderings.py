"""The base class of everything that prints as tables and renders in several formats."""

from __future__ import annotations

import functools
import inspect
from abc import ABC, abstractmethod
from collections.abc import Callable
from dataclasses import fields
from os import PathLike
from typing import TYPE_CHECKING, Any

from spcastat.config import require_extra
from spcastat.tables.table_layout import Layout

if TYPE_CHECKING:
    from great_tables import GT

    from spcastat.tables import Document

#: Defines the rules of booktabs as \hline, for notebooks exported to PDF without that package.
PLAIN_RULES = "".join(rf"\providecommand{{\{name}rule}}{{\hline}}" for name in ("top", "mid", "bottom"))
#: Layout options that every format has.
COMMON = ("digits", "decimal", "full_names", "caption", "notes")


def with_layout(*further: str) -> Callable[[Callable[..., Any]], Callable[..., Any]]:
    """Replace the parameter `layout` of a method by layout options: those in COMMON and `further`.

    The options are keywords with the defaults of :class:`Layout`, which checks them. `width` may also be
    given by position if it is the first of `further`.
    """
    known = {one.name: one for one in fields(Layout)}

    def dress(method: Callable[..., Any]) -> Callable[..., Any]:
        plain = inspect.signature(method)
        names = (*further[:1], *COMMON, *further[1:])
        kinds: dict[str, Any] = dict.fromkeys(names, inspect.Parameter.KEYWORD_ONLY)
        if names[0] == "width":
            kinds["width"] = inspect.Parameter.POSITIONAL_OR_KEYWORD
        options = [
            inspect.Parameter(name, kind, default=known[name].default, annotation=known[name].type)
            for name, kind in kinds.items()
        ]
        before = [one for name, one in plain.parameters.items() if name != "layout"]
        signature = plain.replace(parameters=[*before, *options])

        @functools.wraps(method)
        def laid_out(*args: Any, **keywords: Any) -> Any:
            given = signature.bind(*args, **keywords).arguments
            layout = Layout(**{one.name: given.pop(one.name) for one in options if one.name in given})
            return method(**given, layout=layout)

        laid_out.__signature__ = signature  # type: ignore[attr-defined]
        return laid_out

    return dress


class Advised(ABC):
    """Something with advice in the errors for attributes that it does not have."""

    def __getattr__(self, name: str) -> Any:
        """Raise an error; only called for missing names."""
        if hasattr(type(self), name):  # a property raised AttributeError: show the original error
            return object.__getattribute__(self, name)
        raise self._no_such(name)

    @abstractmethod
    def _no_such(self, name: str) -> AttributeError:
        """Return the error for an attribute that does not exist."""


class Shown(ABC):
    """Base of what prints as tables, in a console, in notebooks, and in their exports to PDF and Word."""

    @abstractmethod
    def _tables(self, notebook: bool) -> Renderings:
        """Return what is shown, in a notebook or in a console."""

    def __repr__(self) -> str:
        return self._tables(False).as_text()

    def _repr_html_(self) -> str:
        return self._tables(True).as_html()

    def _repr_latex_(self) -> str:
        """Return LaTeX for notebooks exported to PDF, without packages or breaks across pages."""
        return f"{PLAIN_RULES}\n{self._tables(True).as_latex(longtable=False).partition(chr(10))[2]}"

    def _repr_markdown_(self) -> str:
        return self._tables(True).as_markdown()


class Renderings(Shown):
    r"""Tables with a header as text, HTML, LaTeX, Markdown, Word, or a table of great_tables.

    All formats have these options; options of one format only are described there.

    digits : int, optional
        Decimals of the loadings, 0 to 10; the default is 3. The decimals of all other numbers change by the
        same amount.
    decimal : {".", ","}
        The decimal mark of the numbers in the tables.
    full_names : bool, optional
        True writes long names in full, on several lines if necessary; False shortens them to 24 characters
        (12 in column headings) and adds a key. By default only plain text shortens them, and only if lines
        would be wider than `width`.
    caption : str, optional
        Replaces the title.
    notes : bool
        Whether to write the header and the notes below the tables. The notes say what a blank means.

    An invalid value raises an `OptionError` that says what is allowed.
    """

    @property
    @abstractmethod
    def document(self) -> Document:
        """The printed content, as tables of text."""

    @with_layout("width")
    def as_text(self, layout: Layout) -> str:
        """Return plain text in lines of at most `width` characters; other options: :class:`Renderings`."""
        return self._rendered("text", layout)

    @with_layout("label")
    def as_html(self, layout: Layout) -> str:
        """Return an HTML fragment without external resources; names are escaped, and long names wrap.

        Parameters
        ----------
        digits, decimal, full_names, caption, notes
            See :class:`Renderings`.
        label : str, optional
            The id of the fragment, for links.
        """
        return self._rendered("html", layout)

    @with_layout("label", "longtable", "siunitx", "width")
    def as_latex(self, layout: Layout) -> str:
        r"""Return LaTeX with the rules of booktabs; names are escaped, and long names wrap.

        A comment in the first line names the packages that are needed: booktabs, and longtable and siunitx
        if they are used.

        Parameters
        ----------
        digits, decimal, full_names, caption, notes
            See :class:`Renderings`.
        label : str, optional
            For ``\ref``: letters, digits and ``: . _ -``, such as "tab:loadings".
        longtable : bool, optional
            Whether tables may break across pages; by default only tables longer than a page.
        siunitx : bool
            Whether to put numbers in S columns, which align at the decimal mark and follow ``\sisetup``.
        width : int
            The width of the page in characters: 80 for the class ``article``. Wider tables are split.
        """
        return self._rendered("latex", layout)

    @with_layout("label", "width")
    def as_markdown(self, layout: Layout) -> str:
        """Return Markdown with pipe tables, which pandoc, Quarto and GitHub can read.

        Parameters
        ----------
        digits, decimal, full_names, notes
            See :class:`Renderings`.
        caption, label : str, optional
            Written below the first table as ``: caption {#label}``. Quarto, which numbers tables whose label
            starts with "tbl-", and pandoc from 3.8 read the label; older versions of pandoc print it.
        width : int
            The width of the page in characters. Wider tables are split.
        """
        return self._rendered("markdown", layout)

    @with_layout("label", "width")
    def as_docx(self, path: str | PathLike[str], layout: Layout) -> None:
        """Write a Word file with a caption and real tables, whose headings are repeated on every page.

        This needs an optional dependency: ``pip install 'spcastat[docx]'``.

        Parameters
        ----------
        path : str or path
        digits, decimal, full_names, caption, notes
            See :class:`Renderings`.
        label : str, optional
            The name of a bookmark at the number of the table, for cross-references in Word.
        width : int
            The width of the page in characters. Wider tables are split.

        Raises
        ------
        ExtraError
            If python-docx is not installed.
        FileError
            If the file cannot be written, or its name does not end in .docx.
        """
        from spcastat.report.docx_file import write_tables

        write_tables(path, [self.document], layout)

    @with_layout()
    def as_gt(self, layout: Layout, table: str | None = None) -> GT:
        """Return a table of great_tables, to be styled with its methods.

        A column of numbers is numeric, so that it can be coloured by size; blanks are missing values. This
        needs an optional dependency: ``pip install 'spcastat[gt]'``.

        Parameters
        ----------
        table : str, optional
            The title of a table, such as "How sure". By default the first table and those with the same
            columns: for a fit the loadings and the variances, as groups of rows.
        digits, decimal, full_names, caption, notes
            See :class:`Renderings`.

        Raises
        ------
        ExtraError
            If great_tables is not installed.
        OptionError
            If there is no table of this title.
        """
        require_extra("great_tables", "gt", "as_gt()")
        from spcastat.tables.gt import table_of

        return table_of(self.document, table, layout)

    def _rendered(self, kind: str, layout: Layout) -> str:
        from spcastat.tables import render

        return render(self.document, kind, layout=layout)

    def _tables(self, notebook: bool) -> Renderings:
        return self
