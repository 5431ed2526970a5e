"""Tables in every format: what all that prints as tables has in common."""

from __future__ import annotations

import functools
import inspect
from collections.abc import Callable
from dataclasses import fields
from os import PathLike
from typing import TYPE_CHECKING, Any

from spcastat.config import require_extra
from spcastat.tables.table_layout import Layout

if TYPE_CHECKING:
    from great_tables import GT

    from spcastat.tables import Document

#: LaTeX without the package booktabs has its plain rules instead: notebooks load what they load.
PLAIN_RULES = "".join(rf"\providecommand{{\{name}rule}}{{\hline}}" for name in ("top", "mid", "bottom"))
#: Options of a layout that every format takes.
COMMON = ("digits", "decimal", "full_names", "caption", "notes")


def with_layout(*further: str) -> Callable[[Callable[..., Any]], Callable[..., Any]]:
    """Give a method that takes a layout the options of it as parameters: those in COMMON and `further`.

    The options are keywords with the defaults of :class:`Layout`, which checks them; `width`, where it is
    the first of `further`, may also be given by position.
    """
    positional = further[:1] == ("width",)
    known = {one.name: one for one in fields(Layout)}

    def dress(method: Callable[..., Any]) -> Callable[..., Any]:
        plain = inspect.signature(method)
        options = [
            inspect.Parameter(
                name,
                inspect.Parameter.POSITIONAL_OR_KEYWORD
                if positional and name == "width"
                else inspect.Parameter.KEYWORD_ONLY,
                default=known[name].default,
                annotation=known[name].type,
            )
            for name in (*further[:1], *COMMON, *further[1:])
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


class Renderings:
    r"""Tables with a header as text, HTML, LaTeX, Markdown, Word, or a table of great_tables.

    All formats take these options; what they mean for one format alone stands there.

    digits : int, optional
        Decimals of the loadings, 0 to 10. Other numbers have as many more or fewer as they have beside
        loadings of three decimals, which is the default.
    decimal : {".", ","}
        The decimal mark of the numbers in the tables.
    full_names : bool, optional
        True keeps long names whole everywhere, over several lines where they have to be; False shortens them
        everywhere to 24 characters (12 above a column), with a key. By default text alone shortens them, and
        only where lines would be wider than `width`.
    caption : str, optional
        Instead of the title.
    notes : bool
        Whether the header and the sentences below the tables are written. What a blank means stands there.

    They are checked: an `OptionError` says what is allowed.
    """

    @property
    def document(self) -> Document:
        """What is printed, as tables of text."""
        raise NotImplementedError

    @with_layout("width")
    def as_text(self, layout: Layout) -> str:
        """Return plain text in lines of at most `width` characters; see :class:`Renderings` for the rest."""
        return self._rendered("text", layout)

    @with_layout("label")
    def as_html(self, layout: Layout) -> str:
        """Return an HTML fragment without external resources; names are escaped, long ones wrap.

        Parameters
        ----------
        digits, decimal, full_names, caption, notes
            See :class:`Renderings`.
        label : str, optional
            The id of the fragment, for links to it.
        """
        return self._rendered("html", layout)

    @with_layout("label", "longtable", "siunitx", "width")
    def as_latex(self, layout: Layout) -> str:
        r"""Return LaTeX with the rules of booktabs; names are escaped, long ones go on in further lines.

        A comment in the first line names the packages that are needed: booktabs, and longtable and siunitx
        where they are used.

        Parameters
        ----------
        digits, decimal, full_names, caption, notes
            See :class:`Renderings`.
        label : str, optional
            For ``\ref``: letters, digits and ``: . _ -``, such as "tab:loadings".
        longtable : bool, optional
            Whether tables break across pages; by default those that are longer than a page do.
        siunitx : bool
            Numbers in S columns, which line up at the decimal mark and follow ``\sisetup``.
        width : int
            How wide the page is: 80 is the width of a page of the class ``article``. Wider tables are split.
        """
        return self._rendered("latex", layout)

    @with_layout("label", "width")
    def as_markdown(self, layout: Layout) -> str:
        """Return Markdown with pipe tables, as pandoc, Quarto and GitHub read them.

        Parameters
        ----------
        digits, decimal, full_names, notes
            See :class:`Renderings`.
        caption, label : str, optional
            Below the first table: ``: caption {#label}``. Quarto, which numbers tables whose label starts
            with "tbl-", and recent pandoc (3.8) read the label; older pandoc prints it.
        width : int
            Characters of a page. Wider tables are split.
        """
        return self._rendered("markdown", layout)

    @with_layout("label", "width")
    def as_docx(self, path: str | PathLike[str], layout: Layout) -> None:
        """Write a file for Word with real tables, whose headings stand on every page, and a caption.

        It needs the extra: ``pip install 'spcastat[docx]'``.

        Parameters
        ----------
        path : str or path
        digits, decimal, full_names, caption, notes
            See :class:`Renderings`.
        label : str, optional
            Of a bookmark at the number of the table, to which Word can refer.
        width : int
            Characters of a page. Wider tables are split.

        Raises
        ------
        ExtraError
            Where python-docx is not installed.
        FileError
            Where the file cannot be written, or has another ending than .docx.
        """
        from spcastat.report.docx_file import write_tables

        write_tables(path, [self.document], layout)

    @with_layout()
    def as_gt(self, layout: Layout, table: str | None = None) -> GT:
        """Return a table of great_tables, to be styled with its methods.

        Its columns are numbers, where they hold nothing else, so that they can be coloured by their size;
        blanks are missing. It needs the extra: ``pip install 'spcastat[gt]'``.

        Parameters
        ----------
        table : str, optional
            The title of a table, such as "How sure". By default the first and those that share its columns:
            of a fit loadings and variances, as groups of rows.
        digits, decimal, full_names, caption, notes
            See :class:`Renderings`.

        Raises
        ------
        ExtraError
            Where great_tables is not installed.
        OptionError
            For a table that is not there.
        """
        require_extra("great_tables", "gt", "as_gt()")
        from spcastat.tables.gt import table_of

        return table_of(self.document, table, layout)

    def _rendered(self, kind: str, layout: Layout) -> str:
        from spcastat.tables import render

        return render(self.document, kind, layout=layout)

    def __repr__(self) -> str:
        return self.as_text()

    def _repr_html_(self) -> str:
        return self.as_html()

    def _repr_latex_(self) -> str:
        """LaTeX for notebooks on their way to PDF: it needs no package, and breaks across no page."""
        return f"{PLAIN_RULES}\n{self.as_latex(longtable=False).partition(chr(10))[2]}"

    def _repr_markdown_(self) -> str:
        return self.as_markdown()
