"""What prints as tables, and how they are written as plain text; other formats have files of their own.

>>> import pandas as pd
>>> from spcastat.show.grid import Document
>>> from spcastat.show.summary import loadings_table
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

import re
import sys
import textwrap
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import replace
from functools import cache, partial
from itertools import zip_longest
from typing import TYPE_CHECKING, Any, ClassVar, Unpack

from spcastat.argument_names import Explained, unknown_argument
from spcastat.config import require_extra
from spcastat.fit.record import deep_copy
from spcastat.labels import HEADING_WIDTH, NAME_WIDTH
from spcastat.show import grid, html, latex, markdown
from spcastat.show.workbook import write_workbook

if TYPE_CHECKING:
    import pandas as pd

    from spcastat.argument_types import Path, TableOptions


# --- plain text -----------------------------------------------------------------------------------


#: Number of spaces between two columns.
GAP = 2
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
    encoding = encoding or getattr(sys.stdout, "encoding", None) or "ascii"
    document = _with_room_for_stars(layout.of(document, names=False))
    safe = cache(partial(_safe, encoding=encoding))
    document = document.changed(safe, safe, safe, safe)
    if layout.full_names:
        headings = {text: None for table in document.tables for text in table.headings}
        lines = {text: "\n".join(grid.wrapped(text, HEADING_WIDTH, grid.display_width)) for text in headings}
        document = replace(document.with_names({}, lines), key=document.key)
    else:
        names = _too_long(document, layout.width, everywhere=layout.full_names is False)
        document = document.with_names(*(_fitting(*limits) for limits in names))
        if layout.full_names is not False and len(document.key) > KEYED:
            sentence = "Long names are shortened; full_names=True or a larger width shows them in full."
            document = replace(document, key=(), notes=(*document.notes, sentence))
    parts = [_header(document, layout.width)]
    for block in grid.blocks(document.tables):
        parts += _block(block, layout.width)
    notes = (_filled(note, layout.width) for note in document.all_notes)
    parts += ["\n".join(notes), "\n".join(_key(document.key, layout.width))]
    return "\n\n".join(filter(None, parts))


def _filled(text: str, width: int, first: str = "", indent: int = 0) -> str:
    """Return a text in lines of at most `width` characters that do not begin with the % or s of a number.

    The first line begins with `first`, the others with `indent` spaces.
    """
    unbroken = re.sub(r"(?<=\d) (%|s\b)", "\N{NO-BREAK SPACE}\\1", " ".join(text.split()))
    lines = textwrap.fill(unbroken, width, initial_indent=first, subsequent_indent=" " * indent)
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


def _fitting(names: Iterable[str], limit: int) -> dict[str, str]:
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


def _safe(text: str, encoding: str) -> str:
    """Return `text` with characters that `encoding` lacks written as escapes."""
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
            fits = label_limit + sum(GAP + column for column in columns) <= width
            if fits and not everywhere:
                break
            headings |= dict.fromkeys(block[0].headings)
            heading_limit = min(heading_limit, limit)
            dashes = tuple("-" * min(grid.display_width(text), limit) for text in block[0].headings)
            renamed = tuple(replace(table, headings=dashes) for table in block)
            columns = grid.column_widths(renamed, grid.display_width)
        room = grid.label_room(label, columns, width, GAP, NAME_WIDTH)
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
    lines = [_filled(document.heading, width)] if document.heading else []
    indent = max((grid.display_width(label) for label, _ in document.facts), default=0) + GAP
    indent = min(indent, width // 2)
    for label, text in document.facts:
        label_text = label + " " * max(indent - grid.display_width(label), 1)
        lines.append(_filled(text, width, label_text, indent))
    return "\n".join(lines)


def _block(block: tuple[grid.Table, ...], width: int) -> Iterator[str]:
    columns = grid.column_widths(block, lambda text: max(map(grid.display_width, text.split("\n"))))
    natural = grid.label_width(block, grid.display_width)
    for label, parts, widths in grid.panels(block, natural, columns, width, GAP, NAME_WIDTH):
        block_width = label + sum(GAP + column for column in widths)
        yield "\n\n".join("\n".join(_table(table, label, widths, block_width)) for table in parts)


def _table(table: grid.Table, label: int, widths: list[int], whole: int) -> Iterator[str]:
    title, head = table.title, ""
    if grid.display_width(title) <= label:
        title, head = "", title
    if title:
        yield from textwrap.wrap(title, max(whole, 40))
    heads = list(zip_longest(*(reversed(text.split("\n")) for text in table.headings), fillvalue=""))
    for number, line in reversed(list(enumerate(heads or [()]))):
        yield _line(("" if number else head, *line), [label, *widths], f"l{table.align}")
    yield "-" * whole
    for group, row in grid.below_headings(table.rows):
        if row.rule:
            yield "-" * whole
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
    return (" " * GAP).join(padded).rstrip()


def _key(key: tuple[tuple[str, str], ...], width: int) -> Iterator[str]:
    """Yield the lines of the key, which explains short names."""
    indent = min(max((grid.display_width(name) for name, _ in key), default=0) + GAP, width // 2)
    if key:
        yield "Names in full"
    for short_one, full_name in key:
        lines = grid.wrapped(full_name, width - indent, grid.display_width)
        if grid.display_width(short_one) + GAP <= indent:
            short_one += " " * (indent - grid.display_width(short_one)) + lines.pop(0)
        yield short_one
        yield from (" " * indent + line for line in lines)


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


#: The options of tables in all formats, the keys of :class:`spcastat.argument_types.TableOptions`.
TABLE_OPTIONS = ("digits", "decimal", "full_names", "caption", "notes")
#: Defines the rules of booktabs as \hline, for notebooks exported to PDF without that package.
PLAIN_RULES = "".join(rf"\providecommand{{\{name}rule}}{{\hline}}" for name in ("top", "mid", "bottom"))


def _layout(method: str, options: Mapping[str, Any], **own: Any) -> grid.Layout:
    """Return the layout for a method of `Summary` with the arguments `own` and `options`.

    Raises
    ------
    UnknownOptionError
        If the method has no such option; the message names the method and the nearest option.
    """
    option_names = [*own, *TABLE_OPTIONS]
    for name in options:
        if name not in option_names:
            raise unknown_argument(method, name, option_names)
    return grid.Layout(**own, **options)


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
    notes : bool
        Whether to write the header and the notes below the tables. The notes say what a blank means.

    An invalid value raises an `OptionError` that says what is allowed.
    """

    def __init__(self, document: grid.Document, frames: dict[str, pd.DataFrame]) -> None:
        self._written = document
        self._frames = frames

    def _document(self) -> grid.Document:
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
