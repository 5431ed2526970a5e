"""Objects that print as tables; the formats of documents, each of which has a file of its own."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any, ClassVar, Unpack

from spcastat.config import Explained, require_extra, unknown_argument
from spcastat.fit.record import deep_copy
from spcastat.show import grid, html, latex, markdown
from spcastat.show.screen import Screen, ending, render_text, screen_of
from spcastat.show.workbook import write_workbook

if TYPE_CHECKING:
    import pandas as pd

    from spcastat.hints import Path, TableOptions


# --- documents in every format --------------------------------------------------------------------


#: Name of a format -> function that renders a document in it.
RENDERERS: dict[str, Callable[[grid.Document, grid.Layout], str]] = {
    "text": render_text,
    "html": html.render,
    "latex": latex.render,
    "markdown": markdown.render,
}


def render(document: grid.Document, kind: str = "text", layout: grid.Layout | None = None) -> str:
    """Return the document in one of the formats of :data:`RENDERERS`."""
    return RENDERERS[kind](document, layout or grid.Layout())


# --- objects that print as tables -----------------------------------------------------------------


#: The options of tables in all formats, the keys of :class:`spcastat.hints.TableOptions`.
TABLE_OPTIONS = ("digits", "decimal", "full_names", "caption", "notes")
#: Defines the rules of booktabs as \hline, for notebooks exported to PDF without that package.
PLAIN_RULES = "".join(rf"\providecommand{{\{name}rule}}{{\hline}}" for name in ("top", "mid", "bottom"))


def _layout(method: str, options: Mapping[str, Any], **own: Any) -> grid.Layout:
    """Return the layout for a method of `Summary` with the arguments `own` and `options`.

    Text has the header and all notes by default; tables for papers have only what their signs mean.

    Raises
    ------
    UnknownOptionError
        If the method has no such option; the message names the method and the nearest option.
    """
    option_names = [*own, *TABLE_OPTIONS]
    for name in options:
        if name not in option_names:
            raise unknown_argument(method, name, option_names)
    default = {} if method == "as_text" else {"notes": None}
    return grid.Layout(**own, **default | dict(options))


class Shown(Explained, ABC):
    """Base of what prints as tables, in a console, in notebooks, and in their exports to PDF and Word.

    Results do not change: their attributes are private, and are set once.
    """

    #: What to do instead of setting an attribute.
    _instead: ClassVar[str] = "call the function or method that returned it again, with other arguments"
    #: Former attributes, and what took their place.
    _former: ClassVar[Mapping[str, str]] = {}

    if not TYPE_CHECKING:  # type checkers know the attributes

        def __getattr__(self, name: str) -> Any:
            if name in self._former:
                raise AttributeError(
                    f"{type(self).__name__!r} object has no attribute {name!r}; {self._former[name]}"
                )
            return object.__getattribute__(self, name)  # raises the error of the property, or the usual one

    def __setattr__(self, name: str, value: Any) -> None:
        if name.startswith("_") and name not in self.__dict__:
            object.__setattr__(self, name, value)
        else:
            raise AttributeError(
                f"{name} of {type(self).__name__} cannot be set, since results do not change: "
                f"{self._instead}."
            )

    def __delattr__(self, name: str) -> None:
        raise AttributeError(
            f"{name} of {type(self).__name__} cannot be deleted, since results do not change: "
            f"{self._instead}."
        )

    @abstractmethod
    def _tables(self, notebook: bool) -> Summary:
        """Return all tables, or those that a notebook shows."""

    def _screen(self) -> Screen | None:
        """Return what is printed in a console; None for all tables."""
        return None

    def __repr__(self) -> str:
        screen = self._screen()
        return self._tables(False).as_text() if screen is None else screen.text()

    @property
    def notes(self) -> list[str]:
        """What a reader should know, in full sentences, of which a print has only the most important."""
        return list(self._tables(False)._document().sentences)

    def _repr_html_(self) -> str:
        return self._tables(True).as_html(notes=True)

    def _repr_latex_(self) -> str:
        """Return LaTeX for notebooks exported to PDF, without packages or breaks across pages."""
        source = self._tables(True).as_latex(longtable=False, notes=True)
        return f"{PLAIN_RULES}\n{source.partition(chr(10))[2]}"

    def _repr_markdown_(self) -> str:
        return self._tables(True).as_markdown(notes=True)


class Summary(Shown):
    r"""Tables with a header as text, HTML, LaTeX, Markdown, Word or Excel files.

    A summary prints as text and shows as HTML in notebooks. Results that print as tables derive from it, and
    write their texts when they are printed or exported. All formats have these options; options of one format
    only are described there.

    digits : int, optional
        Decimals of the loadings, 0 to 10; the default is 3. The decimals of all other numbers change by the
        same amount, but correlations of scores keep two or more.
    decimal : {".", ","}
        The decimal mark of the numbers in the tables.
    full_names : bool, optional
        True writes long names in full, on several lines if necessary; False shortens them to 24 characters
        (12 in column headings) and adds a key. By default only plain text shortens them, and only if lines
        would be wider than `width`.
    caption : str, optional
        Replaces the title.
    notes : bool, optional
        Whether to write the header and the notes. By default text has them, and the other formats, which are
        for papers, have only what the signs in the tables mean, such as a blank; False leaves these out, too.

    An invalid value raises an `OptionError` that says what is allowed.
    """

    def __init__(self, document: grid.Document, frames: dict[str, pd.DataFrame]) -> None:
        self._document_text = document
        self._frames = frames

    def _document(self) -> grid.Document:
        """Return the tables as text. Results override it, so that nothing is formatted before it is shown."""
        return self._document_text

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
        return render(self._document(), "text", _layout("as_text", options, width=width))

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
        return render(self._document(), "html", _layout("as_html", options, label=label))

    def as_latex(
        self,
        *,
        label: str | None = None,
        longtable: bool | None = None,
        width: int = 80,
        **options: Unpack[TableOptions],
    ) -> str:
        r"""Return LaTeX with the rules of booktabs; names are escaped, and long names wrap.

        A comment in the first line names the packages that are needed: booktabs, and longtable if it is used.

        Parameters
        ----------
        label : str, optional
            For ``\ref``: letters, digits and ``: . _ -``, such as "tab:loadings".
        **options
            digits, decimal, full_names, caption, notes: see :class:`Summary`.
        longtable : bool, optional
            Whether tables may break across pages; by default only tables longer than a page.
        width : int
            The width of the page in characters: 80 for the class ``article``. Wider tables are split.
        """
        layout = _layout("as_latex", options, label=label, longtable=longtable, width=width)
        return render(self._document(), "latex", layout)

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
        layout = _layout("as_markdown", options, label=label, width=width)
        return render(self._document(), "markdown", layout)

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
        layout = _layout("to_docx", options, label=label, width=width)
        require_extra("docx", "docx", "to_docx() for Word", "python-docx")
        from spcastat.show.word import write_tables

        write_tables(path, [self._document()], layout)

    def to_excel(self, path: Path) -> None:
        """Write an Excel workbook with a sheet for each of `frames`, unrounded.

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
        write_workbook(path, self.frames)

    def _tables(self, notebook: bool) -> Summary:
        return self


class Outcome(Summary):
    """Base of results whose print is one screen, while `summary()` has all tables."""

    #: A name for the result in its print.
    _short_name: ClassVar[str] = "result"

    def _screen(self) -> Screen:
        document = self._document()
        return screen_of(document, ending(self._short_name, document.sentences))

    def summary(self) -> Summary:
        """Return the complete tables with header and notes; they print as text and show as HTML."""
        return Summary(self._document(), self.frames)
