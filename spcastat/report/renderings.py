"""Tables in every format: what all that prints as tables has in common."""

from __future__ import annotations

from os import PathLike
from typing import TYPE_CHECKING, Any

from spcastat.config import require_extra

if TYPE_CHECKING:
    from great_tables import GT

    from spcastat.tables import Document

#: LaTeX without the package booktabs has its plain rules instead: notebooks load what they load.
PLAIN_RULES = "".join(rf"\providecommand{{\{name}rule}}{{\hline}}" for name in ("top", "mid", "bottom"))


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

    def as_text(
        self,
        width: int = 80,
        *,
        digits: int | None = None,
        decimal: str = ".",
        full_names: bool | None = None,
        caption: str | None = None,
        notes: bool = True,
    ) -> str:
        """Return plain text in lines of at most `width` characters; see :class:`Renderings` for the rest."""
        return self._rendered(
            "text",
            width=width,
            digits=digits,
            decimal=decimal,
            full_names=full_names,
            caption=caption,
            notes=notes,
        )

    def as_html(
        self,
        *,
        digits: int | None = None,
        decimal: str = ".",
        full_names: bool | None = None,
        caption: str | None = None,
        label: str | None = None,
        notes: bool = True,
    ) -> str:
        """Return an HTML fragment without external resources; names are escaped, long ones wrap.

        Parameters
        ----------
        digits, decimal, full_names, caption, notes
            See :class:`Renderings`.
        label : str, optional
            The id of the fragment, for links to it.
        """
        return self._rendered(
            "html",
            digits=digits,
            decimal=decimal,
            full_names=full_names,
            caption=caption,
            label=label,
            notes=notes,
        )

    def as_latex(
        self,
        *,
        digits: int | None = None,
        decimal: str = ".",
        full_names: bool | None = None,
        caption: str | None = None,
        label: str | None = None,
        notes: bool = True,
        longtable: bool | None = None,
        siunitx: bool = False,
        width: int = 80,
    ) -> str:
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
        return self._rendered(
            "latex",
            width=width,
            digits=digits,
            decimal=decimal,
            full_names=full_names,
            caption=caption,
            label=label,
            notes=notes,
            longtable=longtable,
            siunitx=siunitx,
        )

    def as_markdown(
        self,
        *,
        digits: int | None = None,
        decimal: str = ".",
        full_names: bool | None = None,
        caption: str | None = None,
        label: str | None = None,
        notes: bool = True,
        width: int = 80,
    ) -> str:
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
        return self._rendered(
            "markdown",
            width=width,
            digits=digits,
            decimal=decimal,
            full_names=full_names,
            caption=caption,
            label=label,
            notes=notes,
        )

    def as_docx(
        self,
        path: str | PathLike[str],
        *,
        digits: int | None = None,
        decimal: str = ".",
        full_names: bool | None = None,
        caption: str | None = None,
        label: str | None = None,
        notes: bool = True,
        width: int = 80,
    ) -> None:
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
        from spcastat.tables import Layout

        layout = Layout(
            width=width,
            digits=digits,
            decimal=decimal,
            full_names=full_names,
            caption=caption,
            label=label,
            notes=notes,
        )
        write_tables(path, [self.document], layout)

    def as_gt(
        self,
        table: str | None = None,
        *,
        digits: int | None = None,
        decimal: str = ".",
        full_names: bool | None = None,
        caption: str | None = None,
        notes: bool = True,
    ) -> GT:
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
        from spcastat.tables import Layout

        layout = Layout(digits=digits, decimal=decimal, full_names=full_names, caption=caption, notes=notes)
        require_extra("great_tables", "gt", "as_gt()")
        from spcastat.tables.gt import table_of

        return table_of(self.document, table, layout)

    def _rendered(self, kind: str, **options: Any) -> str:
        from spcastat.tables import Layout, render

        return render(self.document, kind, layout=Layout(**options))

    def __repr__(self) -> str:
        return self.as_text()

    def _repr_html_(self) -> str:
        return self.as_html()

    def _repr_latex_(self) -> str:
        """LaTeX for notebooks on their way to PDF: it needs no package, and breaks across no page."""
        return f"{PLAIN_RULES}\n{self.as_latex(longtable=False).partition(chr(10))[2]}"

    def _repr_markdown_(self) -> str:
        return self.as_markdown()
