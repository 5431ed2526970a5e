"""What prints as tables: text, HTML, LaTeX, Markdown, Word and Excel.

>>> import pandas as pd
>>> from spcastat.show.fit_tables import loadings_table
>>> frame = pd.DataFrame({"PC1": [0.8, 0.6, 0.0]}, index=["a", "b", "c"])
>>> print(render(Document("Sparse PCA", tables=(loadings_table(frame),))))
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

from abc import ABC, abstractmethod
from collections.abc import Callable
from typing import TYPE_CHECKING, Unpack

from spcastat.config import one_of, require_extra
from spcastat.errors import OptionError
from spcastat.fit.record import deep_copy
from spcastat.show import html, latex, markdown, plain_text
from spcastat.show.grid import Document, Layout
from spcastat.show.workbook import write_workbook

if TYPE_CHECKING:
    import pandas as pd
    from great_tables import GT

    from spcastat.argument_types import Path, TableOptions


# --- documents in every format --------------------------------------------------------------------


#: Name of a format -> function that renders a document in it.
RENDERERS: dict[str, Callable[[Document, Layout], str]] = {
    "text": plain_text.render,
    "html": html.render,
    "latex": latex.render,
    "markdown": markdown.render,
}


def render(document: Document, kind: str = "text", width: int = 80, layout: Layout | None = None) -> str:
    """Return the document in one of the formats of :data:`RENDERERS`.

    Parameters
    ----------
    document : Document
    kind : {"text", "html", "latex", "markdown"}
    width : int
        As in :class:`Layout`; used if no layout is given.
    layout : Layout, optional

    Raises
    ------
    OptionError
        For an unknown format, a width below 40, or a `document` or `layout` of another type.
    """
    kind = one_of("kind", kind, RENDERERS)
    if not isinstance(document, Document):
        raise OptionError(
            f"document of type {type(document).__name__} was given; it must be a Document of tables."
        )
    if layout is not None and not isinstance(layout, Layout):
        raise OptionError(f"layout of type {type(layout).__name__} was given; it must be a Layout.")
    return RENDERERS[kind](document, Layout(width) if layout is None else layout)


# --- objects that print as tables -----------------------------------------------------------------


#: Defines the rules of booktabs as \hline, for notebooks exported to PDF without that package.
PLAIN_RULES = "".join(rf"\providecommand{{\{name}rule}}{{\hline}}" for name in ("top", "mid", "bottom"))


class Shown(ABC):
    """Base of what prints as tables, in a console, in notebooks, and in their exports to PDF and Word."""

    @abstractmethod
    def _tables(self, notebook: bool) -> Summary:
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


class Summary(Shown):
    r"""Tables with a header as text, HTML, LaTeX, Markdown, a Word file, a workbook, or for great_tables.

    A summary prints as text and shows as HTML in notebooks. Results that print as tables derive from it, and
    write their texts when they are printed or exported. All formats have these options; options of one format
    only are described there.

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

    def __init__(self, document: Document, frames: dict[str, pd.DataFrame]) -> None:
        self._written = document
        self._frames = frames

    def _document(self) -> Document:
        """Return the tables as text. Results override it, so that nothing is formatted before it is shown."""
        return self._written

    @property
    def frames(self) -> dict[str, pd.DataFrame]:
        """The tables as data frames by name: for a fit "loadings", p x k, and "variance", k x 8."""
        return deep_copy(self._frames)

    def as_text(
        self,
        width: int = 80,
        **options: Unpack[TableOptions],
    ) -> str:
        """Return plain text in lines of at most `width` characters; other options: :class:`Summary`."""
        return self._rendered("text", Layout(width=width, **options))

    def as_html(
        self,
        *,
        label: str | None = None,
        **options: Unpack[TableOptions],
    ) -> str:
        """Return an HTML fragment without external resources; names are escaped, and long names wrap.

        Parameters
        ----------
        label : str, optional
            The id of the fragment, for links.
        **options
            digits, decimal, full_names, caption, notes: see :class:`Summary`.
        """
        return self._rendered("html", Layout(label=label, **options))

    def as_latex(
        self,
        *,
        label: str | None = None,
        longtable: bool | None = None,
        siunitx: bool = False,
        width: int = 80,
        **options: Unpack[TableOptions],
    ) -> str:
        r"""Return LaTeX with the rules of booktabs; names are escaped, and long names wrap.

        A comment in the first line names the packages that are needed: booktabs, and longtable and siunitx
        if they are used.

        Parameters
        ----------
        label : str, optional
            For ``\ref``: letters, digits and ``: . _ -``, such as "tab:loadings".
        **options
            digits, decimal, full_names, caption, notes: see :class:`Summary`.
        longtable : bool, optional
            Whether tables may break across pages; by default only tables longer than a page.
        siunitx : bool
            Whether to put numbers in S columns, which align at the decimal mark and follow ``\sisetup``.
        width : int
            The width of the page in characters: 80 for the class ``article``. Wider tables are split.
        """
        layout = Layout(label=label, longtable=longtable, siunitx=siunitx, width=width, **options)
        return self._rendered("latex", layout)

    def as_markdown(
        self,
        *,
        label: str | None = None,
        width: int = 80,
        **options: Unpack[TableOptions],
    ) -> str:
        """Return Markdown with pipe tables, which pandoc, Quarto and GitHub can read.

        Parameters
        ----------
        caption, label : str, optional
            Written below the first table as ``: caption {#label}``. Quarto, which numbers tables whose label
            starts with "tbl-", and pandoc from 3.8 read the label; older versions of pandoc print it.
        **options
            digits, decimal, full_names, notes: see :class:`Summary`.
        width : int
            The width of the page in characters. Wider tables are split.
        """
        layout = Layout(label=label, width=width, **options)
        return self._rendered("markdown", layout)

    def as_gt(
        self,
        table: str | None = None,
        **options: Unpack[TableOptions],
    ) -> GT:
        """Return a table of great_tables, to be styled with its methods.

        A column of numbers is numeric, so that it can be coloured by size; blanks are missing values. This
        needs an optional dependency: ``pip install 'spcastat[gt]'``.

        Parameters
        ----------
        table : str, optional
            The title of a table, such as "How sure". By default the first table and those with the same
            columns: for a fit the loadings and the variances, as groups of rows.
        **options
            digits, decimal, full_names, caption, notes: see :class:`Summary`.

        Raises
        ------
        ExtraError
            If great_tables is not installed.
        OptionError
            If there is no table of this title.
        """
        layout = Layout(**options)
        require_extra("great_tables", "gt", "as_gt()")
        from spcastat.show.html import table_of

        return table_of(self._document(), table, layout)

    def to_docx(
        self,
        path: Path,
        *,
        label: str | None = None,
        width: int = 80,
        **options: Unpack[TableOptions],
    ) -> None:
        """Write a Word file with a caption and real tables, whose headings are repeated on every page.

        This needs an optional dependency: ``pip install 'spcastat[docx]'``.

        Parameters
        ----------
        path : str or path
            Ending in .docx.
        label : str, optional
            The name of a bookmark at the number of the table, for cross-references in Word.
        **options
            digits, decimal, full_names, caption, notes: see :class:`Summary`.
        width : int
            The width of the page in characters. Wider tables are split.

        Raises
        ------
        ExtraError
            If python-docx is not installed.
        FileError
            If the file cannot be written, or its name does not end in .docx.
        """
        from spcastat.show.word_file import write_tables

        layout = Layout(label=label, width=width, **options)
        write_tables(path, [self._document()], layout)

    def to_excel(self, path: Path) -> None:
        """Write an Excel workbook: a sheet for each of `frames`, unrounded, and one for header and notes.

        This needs an optional dependency: ``pip install 'spcastat[excel]'``.

        Parameters
        ----------
        path : str or path
            Ending in .xlsx.

        Raises
        ------
        ExtraError
            If openpyxl is not installed.
        FileError
            If the file cannot be written, or its name has another extension.
        """
        document = self._document()
        notes = [("Note", note) for note in document.all_notes]
        about = [("Tables", document.title), *document.facts, *notes]
        write_workbook(path, {name[:31]: frame for name, frame in self.frames.items()}, about)

    def _rendered(self, kind: str, layout: Layout) -> str:

        return render(self._document(), kind, layout=layout)

    def _tables(self, notebook: bool) -> Summary:
        return self
