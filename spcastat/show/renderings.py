"""Objects that print as tables: on one screen, as plain text, and in the formats of other modules."""

from __future__ import annotations

import re
import sys
import textwrap
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cache, partial
from itertools import zip_longest
from typing import TYPE_CHECKING, Any, ClassVar, TypeAlias, Unpack

from spcastat.arguments import Explained, Unchanging, plural, require_extra, unknown_argument
from spcastat.fit.record import deep_copy
from spcastat.labels import HEADING_WIDTH, NAME_WIDTH
from spcastat.show import grid, html, latex, markdown
from spcastat.show.workbook import write_workbook

if TYPE_CHECKING:
    import pandas as pd

    from spcastat.hints import Path, TableOptions

# --- text -----------------------------------------------------------------------------------------


#: Number of spaces between two columns.
SPACES_BETWEEN = 2
#: The largest number of names in a key.
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
        below the tables; with ``full_names=True`` they are wrapped instead.
    encoding : str, optional
        The encoding of the output; by default that of ``sys.stdout``.
    """
    document = _encodable(document, layout, encoding)
    parts = [_header(document, layout.width), *_of_tables(document, layout.width)]
    notes = (filled(note, layout.width) for note in document.all_notes)
    parts += ["\n".join(notes), "\n".join(_key(document.key, layout.width))]
    return "\n\n".join(filter(None, parts))


def render_tables(document: grid.Document, width: int) -> list[str]:
    """Return the lines of the tables of a document, without header, notes and key; names are shortened."""
    document = _encodable(document, grid.Layout(width=width))
    return "\n\n".join(_of_tables(document, width)).splitlines()


def header_lines(facts: Iterable[tuple[str, str]]) -> list[str]:
    """Return labels and texts as the lines of a header in a print."""
    layout = grid.Layout(width=WIDTH)
    return _header(_encodable(grid.Document("", tuple(facts)), layout), WIDTH).splitlines()


def _encodable(document: grid.Document, layout: grid.Layout, encoding: str | None = None) -> grid.Document:
    """Return the document in characters that the console can write, with names as long as fit."""
    document = _with_room_for_stars(layout.of(document, names=False))
    safe = cache(partial(console_text, encoding=encoding))
    document = document.changed(safe, safe, safe, safe)
    if layout.full_names:
        headings = {text: None for table in document.tables for text in table.headings}
        lines = {text: "\n".join(grid.wrapped(text, HEADING_WIDTH, grid.display_width)) for text in headings}
        return replace(document.with_names({}, lines), key=document.key)
    long_labels, long_headings = _too_long(document, layout.width, everywhere=layout.full_names is False)
    (labels, limit), short_headings = long_labels, fitting(*long_headings)
    labels |= {
        row.label: None for table in document.tables for row in table.rows if row.label in short_headings
    }
    document = document.with_names(*grid.in_one_form(fitting(labels, limit), short_headings))
    if layout.full_names is not False and len(document.key) > KEYED:
        sentence = "Long names are shortened; full_names=True or a larger width shows them in full."
        return replace(document, key=(), notes=(*document.notes, sentence))
    return document


def _of_tables(document: grid.Document, width: int) -> Iterator[str]:
    """Yield the tables as text."""
    for block in grid.blocks(document.tables):
        yield from _block(block, width)


def filled(text: str, width: int, initial_indent: str = "", indent: int = 0) -> str:
    """Return a text in lines of at most `width` characters.

    Lines are not broken between a number and its % or s, within a short list such as "[10, 5, 4]", or after
    the hyphen of a word. The first line begins with `initial_indent`, the others with `indent` spaces.
    """
    unbroken = " ".join(text.split())
    for kept_together in (r"\d (%|s\b)", r"(?:\b[kpqr] <?=|\|r\| >=?) [\d.]+", r"[\[(]\d[\d, ]{,28}[)\]]"):
        unbroken = re.sub(kept_together, lambda found: found[0].replace(" ", "\N{NO-BREAK SPACE}"), unbroken)
    lines = textwrap.fill(
        unbroken,
        width,
        initial_indent=initial_indent,
        subsequent_indent=" " * indent,
        break_on_hyphens=False,
    )
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


def fitting(names: Iterable[str], limit: int) -> dict[str, str]:
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


def console_text(text: str, encoding: str | None = None) -> str:
    """Return `text`, with characters escaped that `encoding` (default: the console's) cannot write."""
    encoding = encoding or getattr(sys.stdout, "encoding", None) or "ascii"
    return text.translate(ASCII).encode(encoding, "backslashreplace").decode(encoding)


# --- lines of characters ---------------------------------------------------------------------------


def _too_long(
    document: grid.Document, width: int, everywhere: bool
) -> tuple[tuple[dict[str, None], int], tuple[dict[str, None], int]]:
    """Return the names that are too long for lines of `width` characters, and the limits of their length.

    Parameters
    ----------
    document : Document
    width : int
    everywhere : bool
        Whether to limit all names; otherwise only those in tables that would be wider than `width`.

    Returns
    -------
    labels : (names, int)
        Long row labels, and the largest number of characters allowed.
    headings : (names, int)
        Long headings, and the largest number of characters allowed.
    """
    labels: dict[str, None] = {}
    headings: dict[str, None] = {}
    limits, heading_limit = [NAME_WIDTH if everywhere else width], width
    for block in grid.blocks(document.tables):
        columns = grid.column_widths(block, grid.display_width)
        label = grid.label_width(block, grid.display_width)
        label_limit = min(label, NAME_WIDTH)
        for limit in (16, HEADING_WIDTH):
            fits = label_limit + sum(SPACES_BETWEEN + column for column in columns) <= width
            if fits and not everywhere:
                break
            headings |= dict.fromkeys(block[0].headings)
            heading_limit = min(heading_limit, limit)
            dashes = tuple("-" * min(grid.display_width(text), limit) for text in block[0].headings)
            renamed = tuple(replace(table, headings=dashes) for table in block)
            columns = grid.column_widths(renamed, grid.display_width)
        room = grid.label_room(label, columns, width, SPACES_BETWEEN, NAME_WIDTH)
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
    lines = [filled(document.heading, width)] if document.heading else []
    indent = max((grid.display_width(label) for label, _ in document.facts), default=0) + SPACES_BETWEEN
    indent = min(indent, width // 2)
    for label, text in document.facts:
        label_text = label + " " * max(indent - grid.display_width(label), 1)
        lines.append(filled(text, width, label_text, indent))
    return "\n".join(lines)


def _block(block: tuple[grid.Table, ...], width: int) -> Iterator[str]:
    columns = grid.column_widths(block, lambda text: max(map(grid.display_width, text.split("\n"))))
    natural = grid.label_width(block, grid.display_width)
    for label, parts, widths in grid.panels(block, natural, columns, width, SPACES_BETWEEN, NAME_WIDTH):
        block_width = label + sum(SPACES_BETWEEN + column for column in widths)
        yield "\n\n".join("\n".join(_table(table, label, widths, block_width)) for table in parts)


def _table(table: grid.Table, label: int, widths: list[int], total_width: int) -> Iterator[str]:
    title, head = table.title, ""
    if grid.display_width(title) <= label:
        title, head = "", title
    if title:
        yield from textwrap.wrap(title, max(total_width, 40))
    heads = list(zip_longest(*(reversed(text.split("\n")) for text in table.headings), fillvalue=""))
    for number, line in reversed(list(enumerate(heads or [()]))):
        yield _line(("" if number else head, *line), [label, *widths], f"l{table.align}")
    yield "-" * total_width
    for group, row in grid.below_headings(table.rows):
        if row.rule:
            yield "-" * total_width
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
    return (" " * SPACES_BETWEEN).join(padded).rstrip()


def _key(key: tuple[tuple[str, str], ...], width: int) -> Iterator[str]:
    """Yield the lines of the key, which explains short names."""
    indent = min(max((grid.display_width(name) for name, _ in key), default=0) + SPACES_BETWEEN, width // 2)
    if key:
        yield "Names in full"
    for short_one, full_name in key:
        lines = grid.wrapped(full_name, width - indent, grid.display_width)
        if grid.display_width(short_one) + SPACES_BETWEEN <= indent:
            short_one += " " * (indent - grid.display_width(short_one)) + lines.pop(0)
        yield short_one
        yield from (" " * indent + line for line in lines)


# --- one screen ----------------------------------------------------------------------------------


#: The largest numbers of lines and of characters in a line.
LINES, WIDTH = 25, 80
#: The largest number of warnings that are printed; the notes contain the others.
MOST_WARNINGS = 4
#: The largest number of lines of a header that are printed.
MOST_FACTS = 4
#: If fewer rows of a table than this would fit, columns are left out instead of rows.
MANY_ROWS = 5
#: Lines of a table in addition to its rows: a blank line, headings and a rule.
TABLE_LINES = 3
#: Characters of a name in a cell, if a line has 80, with a label of 24 characters and four numbers.
CELL_NAME_WIDTH = 18
#: Characters of a column of numbers, including the spaces next to it.
NUMBER_WIDTH = 9


@dataclass(frozen=True)
class Excerpt:
    """Lines about a result, with the number of its parts that did not fit.

    Attributes
    ----------
    lines : list of str
    left_out : int
        The number of rows, names or numbers that did not fit; a line counts them or shows dots.
    components_left_out : int
        The number of components that are not shown at all.
    """

    lines: list[str]
    left_out: int = 0
    components_left_out: int = 0

    @property
    def is_complete(self) -> bool:
        """Whether there are lines, and nothing is left out."""
        return bool(self.lines) and not self.left_out and not self.components_left_out

    def between(self, head: Sequence[str] = (), foot: Sequence[str] = ()) -> Excerpt:
        """Return the excerpt with the lines `head` above and `foot` below it."""
        return replace(self, lines=[*head, *self.lines, *foot])

    def under(self, head: Sequence[str]) -> Excerpt:
        """Return the excerpt below the lines `head` and a blank line."""
        return replace(self, lines=stacked_blocks([[*head], self.lines]))


#: A function that returns a result in at most the given number of lines; without lines if it does not fit.
Body: TypeAlias = Callable[[int], Excerpt]


@dataclass(frozen=True)
class Screen:
    """The print of a result on one screen.

    Attributes
    ----------
    title : str
        One sentence that describes the result.
    body : callable
        Returns the result in at most the given number of lines.
    sentences : tuple of str
        The text below the body: definitions of its headings and numbers, then how it was computed. Each
        sentence begins on a new line, or all form one paragraph if the body fits only then.
    warnings : tuple of str
        Short sentences on important problems, each on a line of its own; notes explain them.
    remarks : tuple of str
        Sentences on possible problems, each on a line of its own.
    ending : str
        The last line: where to find everything else.
    brief : Screen, optional
        A shorter print of the same result, which is used if the whole body fits only there, or if this
        print is longer than a screen or has no room for its body; it may have a shorter one itself.
    """

    title: str
    body: Body
    sentences: tuple[str, ...] = ()
    warnings: tuple[str, ...] = ()
    ending: str = ""
    remarks: tuple[str, ...] = ()
    brief: Screen | None = None

    def text(self, encoding: str | None = None) -> str:
        """Return the print as text; characters that the console cannot write are escaped."""
        parts = self._fullest(encoding)
        return "\n\n".join("\n".join(part) for part in (parts.title, parts.body.lines, parts.foot) if part)

    def is_complete(self) -> bool:
        """Return whether the print has room for the whole result."""
        return self._fullest(None).completeness[0] == SHOWS_ALL

    def _fullest(self, encoding: str | None) -> ScreenParts:
        """Return the first version that shows everything, or else the version that shows most."""
        paragraphs: list[ScreenParts] = []
        for screen in self._versions():
            in_lines = screen._parts(encoding, in_paragraph=False)
            if in_lines.completeness[0] == SHOWS_ALL:
                return in_lines
            paragraphs.append(screen._parts(encoding, in_paragraph=True))
            if paragraphs[-1].completeness[0] == SHOWS_ALL:
                return paragraphs[-1]
        fullest = max(paragraphs, key=lambda parts: parts.completeness)  # the first of several such versions
        if fullest.completeness[0]:
            return fullest
        return in_lines if in_lines.line_count <= LINES else paragraphs[-1]

    def _versions(self) -> Iterator[Screen]:
        """Yield the print, and its increasingly brief versions."""
        screen: Screen | None = self
        while screen is not None:
            yield screen
            screen = screen.brief

    def _parts(self, encoding: str | None, in_paragraph: bool) -> ScreenParts:
        """Return the lines of the title, of the body, and of the text below it."""
        warnings = [f"Warning: {text}" for text in self.warnings]
        if len(warnings) > MOST_WARNINGS:
            hidden_count = len(warnings) - MOST_WARNINGS + 1
            warnings = [*warnings[: MOST_WARNINGS - 1], f"Warning: {hidden_count} more in the notes."]
        title = _lines([self.title], encoding)
        sentences = [" ".join(filter(None, self.sentences))] if in_paragraph else self.sentences
        foot = _lines([*warnings, *self.remarks, *sentences, self.ending], encoding)
        return ScreenParts(title, self.body(LINES - len(title) - len(foot) - 1 - bool(foot)), foot)


def in_turn(screens: Sequence[Screen]) -> Screen:
    """Return the first of several prints of a result; each has the next one as its brief version."""
    *longer_screens, screen = screens
    for longer in reversed(longer_screens):
        screen = replace(longer, brief=screen)
    return screen


#: The degree of completeness of a print that shows everything.
SHOWS_ALL = 3


@dataclass(frozen=True)
class ScreenParts:
    """The parts of a print, which blank lines separate."""

    title: list[str]
    body: Excerpt
    foot: list[str]

    @property
    def line_count(self) -> int:
        """The number of lines, including the blank lines between the parts."""
        return len(self.title) + len(self.body.lines) + len(self.foot) + 1 + bool(self.foot)

    @property
    def completeness(self) -> tuple[int, int]:
        """0 if the body does not fit, 1 if components are missing, 2 if other rows are missing, or SHOWS_ALL.

        The second number is the number of components, or of other lines, that are not shown, times -1.
        """
        if not self.body.lines or self.line_count > LINES:
            return 0, 0
        if self.body.components_left_out:
            return 1, -self.body.components_left_out
        return (2, -self.body.left_out) if self.body.left_out else (SHOWS_ALL, 0)


#: Represents the rows of a table that do not fit.
DOTS = "..."


def _lines(sentences: Iterable[str], encoding: str | None) -> list[str]:
    """Return sentences in lines of at most WIDTH characters; each sentence begins on a new line."""
    return [
        line
        for sentence in sentences
        if sentence
        for line in filled(console_text(sentence, encoding), WIDTH).splitlines()
    ]


def stacked_blocks(blocks: Iterable[list[str]]) -> list[str]:
    """Return blocks of lines one above the other, with blank lines between those that are not empty."""
    return "\n\n".join("\n".join(block) for block in blocks if block).splitlines()


def ending(name: str, notes: Sequence[str], tables: str = "summary()") -> str:
    """Return a line that says where to find the notes and the complete tables of the result `name`."""
    return f"More: {name}.notes ({len(notes)}), {name}.{tables}." if notes else f"More: {name}.{tables}."


# --- names ----------------------------------------------------------------------------------------


def short_labels(names: Sequence[str], limit: int) -> list[str]:
    """Return the names cut to at most `limit` characters, which the console can write."""
    labels = [console_text(name) for name in names]
    short_names = fitting(dict.fromkeys(labels), limit)
    return [short_names.get(name, name) for name in labels]


def cell_name_width(labels: Iterable[str], numbers: int) -> int:
    """Return the width of names in a cell, next to row labels and columns of numbers."""
    label_width = max(map(grid.display_width, labels), default=0)
    room = WIDTH - min(label_width, NAME_WIDTH) - NUMBER_WIDTH * numbers - SPACES_BETWEEN
    return min(room, NAME_WIDTH)


def padded(text: str, width: int, right: bool = False) -> str:
    """Return a text padded with spaces to the width, on its right, or on its left if `right`."""
    space = " " * (width - grid.display_width(text))
    return space + text if right else text + space


# --- matrices -------------------------------------------------------------------------------------


def matrix(
    title: str,
    headings: Sequence[str],
    rows: Sequence[tuple[str, Sequence[str]]],
    heading_below: str = "",
    lower_rows: Sequence[tuple[str, Sequence[str]]] = (),
    final_rows: Sequence[tuple[str, Sequence[str]]] = (),
    limit: int = WIDTH,
    heading_limit: int = 12,
) -> list[str]:
    """Return labelled rows under headings, then rows under the heading `heading_below`, and the last rows.

    Labels have at most `limit` characters, and headings `heading_limit`. Lines may be wider than a
    screen; callers must check this.
    """
    labels = short_labels([label for label, _ in rows], limit)
    labels_below = [f"  {label}" for label, _ in lower_rows] + [label for label, _ in final_rows]
    width = max(map(grid.display_width, [title, *labels, *labels_below]))
    cells_below = [cells for _, cells in (*lower_rows, *final_rows)]
    cells = [*(cells for _, cells in rows), *cells_below]
    heads = short_labels(headings, heading_limit)
    widths = [max(grid.display_width(text) for text in column) for column in zip(heads, *cells, strict=True)]

    def line(label: str, cells: Sequence[str]) -> str:
        texts = [padded(cell, size, right=True) for cell, size in zip(cells, widths, strict=True)]
        return "  ".join([padded(label, width), *texts]).rstrip()

    lines = [line(title, heads)]
    lines += [line(label, cells) for label, (_, cells) in zip(labels, rows, strict=True)]
    lines += [heading_below] if heading_below else []
    return lines + [line(label, cells) for label, cells in zip(labels_below, cells_below, strict=True)]


def fits(lines: Sequence[str], room: int) -> bool:
    """Return whether there are at most `room` lines, each of at most WIDTH characters."""
    return len(lines) <= room and max(map(grid.display_width, lines), default=0) <= WIDTH


# --- any document ---------------------------------------------------------------------------------


def screen_of(document: grid.Document, end: str, tables: str = "") -> Screen:
    """Return the print of any document: lines of its header, and the first rows of its tables.

    `tables` says where to find the rows and columns that do not fit, such as "path.summary()".
    """
    header = header_lines(document.facts[:MOST_FACTS])
    warnings = tuple(text[0].lower() + text[1:] for text in document.alerts)

    def body(room: int) -> Excerpt:
        head = [*header, *[""] * bool(header and document.tables)]
        return first_tables(document.tables, room - len(head), tables).between(head)

    return Screen(document.heading, body, document.print_notes, warnings, end)


def first_tables(tables: Iterable[grid.Table], room: int, complete: str) -> Excerpt:
    """Return tables with as many rows as fit; `complete` says where to find the others."""
    lines: list[str] = []
    left_out = 0
    for table in tables:
        part = _first_rows(table, room - len(lines) - bool(lines), complete)
        lines += [""] * bool(lines and part.lines) + part.lines
        left_out += part.left_out
    return Excerpt(lines, left_out)


def _first_rows(table: grid.Table, room: int, complete: str) -> Excerpt:
    """Return the first rows and columns of a table that fit; no lines if too few rows fit."""
    row_limit = min(len(table.rows), room)
    for columns in range(len(table.headings), 0, -1):
        part = table.columns(0, columns)
        for count in range(min(len(part.rows), row_limit), min(len(part.rows), MANY_ROWS) - 1, -1):
            visible = replace(part, rows=_of_every_group(part.rows, count))
            lines = render_tables(grid.Document("", tables=(visible,)), WIDTH)
            hidden_rows, hidden_columns = len(part.rows) - count, len(table.headings) - columns
            hidden = _hidden(hidden_rows, hidden_columns, complete)
            if len(lines) + len(hidden) <= room:
                return Excerpt([*lines, *hidden], hidden_rows + hidden_columns)
    return Excerpt([], len(table.rows))


def _of_every_group(rows: tuple[grid.Row, ...], count: int) -> tuple[grid.Row, ...]:
    """Return the first `count` rows, or the first rows of every group if all rows are in groups."""
    groups = [row.group for row in rows]
    if not all(groups):
        return rows[:count]
    ranks = [groups[:place].count(group) for place, group in enumerate(groups)]
    places = sorted(range(len(rows)), key=lambda place: (ranks[place], place))[:count]
    return tuple(rows[place] for place in sorted(places))


def _hidden(rows: int, columns: int, complete: str) -> list[str]:
    """Return a line that counts the rows and columns left out, and says where to find them."""
    counts = [plural(rows, "more row")] * bool(rows) + [plural(columns, "more column")] * bool(columns)
    location = f": {complete}" if complete else ""
    return [f"and {' and '.join(counts)}{location}"] if counts else []


# --- documents in every format --------------------------------------------------------------------


#: The function that renders a document in each format, by the name of the format.
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

    By default, text has the header and all notes; tables for papers explain only their signs.

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


class Shown(Explained, Unchanging, ABC):
    """Base class of objects that print as tables, in a console, in notebooks, and in exported notebooks."""

    @abstractmethod
    def _tables(self, notebook: bool) -> Summary:
        """Return all tables, or only those shown in a notebook."""

    def _screen(self) -> Screen | None:
        """Return the print for a console; None if all tables are printed."""
        return None

    def __repr__(self) -> str:
        screen = self._screen()
        return self._tables(False).as_text() if screen is None else screen.text()

    @property
    def notes(self) -> list[str]:
        """Remarks in full sentences; prints contain only the most important ones."""
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

    A summary prints as text and is displayed as HTML in notebooks. Results that print as tables derive from
    this class, and format their tables when they are printed or exported. All formats have the following
    options; options for only one format are described with its method.

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
        Whether to write the header and the notes. By default they are written in text; the other formats,
        which are for papers, only explain the signs in the tables, such as a blank. False omits these
        explanations, too.

    An invalid value raises an `OptionError` that lists the allowed values.
    """

    def __init__(self, document: grid.Document, frames: dict[str, pd.DataFrame]) -> None:
        self._document_text = document
        self._frames = frames

    def _document(self) -> grid.Document:
        """Return the tables as text; results override it to format only when they are shown."""
        return self._document_text

    @property
    def frames(self) -> dict[str, pd.DataFrame]:
        """The tables as data frames, by name: for a fit, "loadings" (p x k) and "variance" (k x 8)."""
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
            Whether tables may break across pages; by default, only tables longer than a page may.
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
        """Write a Word file with a caption and native tables, whose headers are repeated on every page.

        This needs an optional dependency: ``pip install 'spcastat[docx]'``.

        Parameters
        ----------
        path : str or path
            A name that ends in .docx.
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
        """Write an Excel workbook with one sheet for each of `frames`, in full precision.

        This needs an optional dependency: ``pip install 'spcastat[excel]'``.

        Parameters
        ----------
        path : str or path
            A name that ends in .xlsx.

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
    """Base class of results that print on one screen; `summary()` returns all their tables."""

    #: The name that prints use for the result.
    _short_name: ClassVar[str] = "result"

    def _screen(self) -> Screen:
        document = self._document()
        end = ending(self._short_name, document.sentences)
        return screen_of(document, end, f"{self._short_name}.summary()")

    def summary(self) -> Summary:
        """Return the complete tables with header and notes; they print as text and show as HTML."""
        return Summary(self._document(), self.frames)
