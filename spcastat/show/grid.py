"""Documents, tables, figures and chapters, and layout options, for all output formats.

Cells are text, already formatted. What an empty cell means depends on the table; in a table of loadings it
Cells contain formatted text. The meaning of an empty cell depends on the table; in a table of loadings it
"""

from __future__ import annotations

import io
import math
import re
import unicodedata
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import groupby
from typing import TYPE_CHECKING, Any, TypeAlias

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from spcastat.arguments import flag, one_of, real_number, shown, text, whole_number
from spcastat.errors import OptionError
from spcastat.labels import HEADING_WIDTH, NAME_WIDTH, full_names, short_names_of_a_table
from spcastat.linalg.eigenvectors import leading
from spcastat.reading.frames import variable_groups

if TYPE_CHECKING:
    from matplotlib.axes import Axes

# --- numbers -------------------------------------------------------------------------------------


#: The largest number of decimals.
MOST_DIGITS = 10


class Figures(str):
    """The text of a number or an interval, which can be formatted again with other digits.

    Attributes
    ----------
    numbers : tuple of float
        One number, or the two ends of an interval.
    digits : int
        Number of decimals, in scientific notation those of the mantissa.
    scientific : bool
        Whether the number is in scientific notation.
    stars : str
        Marks of significance that follow the number.
    prefix : str
        The sign before a number that is a bound, such as "<="; the zero before the decimal mark is omitted.
    minimum_digits : int
        The smallest number of decimals, whatever number is requested.
    """

    numbers: tuple[float, ...]
    digits: int
    scientific: bool
    stars: str
    prefix: str
    minimum_digits: int

    @classmethod
    def of(
        cls,
        numbers: Iterable[float],
        digits: int,
        *,
        scientific: bool = False,
        stars: str = "",
        decimal: str = ".",
        minimum_digits: int = 0,
        prefix: str = "",
    ) -> Figures:
        """Return numbers as text, with the decimal mark `decimal`; two of them as "[0.1, 0.2]".

        A bound of an interval that is exactly zero, not rounded to zero, is written as "0".
        """
        numbers = tuple(numbers)
        texts = [_number_text(number, digits, scientific).replace(".", decimal) for number in numbers]
        if len(numbers) > 1:
            texts = ["0" if number == 0 else text for number, text in zip(numbers, texts, strict=True)]
        texts[0] = f"{prefix}{texts[0].removeprefix('0')}" if prefix else texts[0]
        between = "; " if decimal == "," else ", "
        figures = cls((texts[0] if len(texts) == 1 else f"[{between.join(texts)}]") + stars)
        figures.numbers, figures.digits, figures.scientific, figures.stars = (
            numbers,
            digits,
            scientific,
            stars,
        )
        figures.minimum_digits, figures.prefix = minimum_digits, prefix
        return figures

    def with_decimals(self, extra_digits: int = 0, decimal: str = ".") -> Figures:
        """Return the numbers with `extra_digits` more decimals (fewer if negative) and another mark."""
        digits = min(max(self.digits + extra_digits, self.minimum_digits), MOST_DIGITS)
        return Figures.of(
            self.numbers,
            digits,
            scientific=self.scientific,
            stars=self.stars,
            decimal=decimal,
            minimum_digits=self.minimum_digits,
            prefix=self.prefix,
        )


def without_stars(cell: str) -> tuple[str, str]:
    """Return a cell without the stars of its number, and these stars."""
    stars = cell.stars if isinstance(cell, Figures) else ""
    return cell[: len(cell) - len(stars)], stars


def fixed(value: float, digits: int) -> Figures:
    """Return `value` with `digits` decimals; a nonzero that would print as zero becomes "<.001".

    A negative number of that kind becomes ">-.001". NaN is "NA", as in R.
    """
    return Figures.of((value,), digits)


def significant(value: float, digits: int) -> str:
    """Return a number with `digits` significant digits, without an exponent if it is large, as in 99,200."""
    text = f"{value:.{digits}g}"
    return f"{float(text):,.0f}" if "e+" in text else text


def is_smallest_p(values: Any, draws: int) -> Any:
    """Return whether p-values, a number or an array, are the smallest possible with `draws` permutations."""
    return np.isclose(values, 1.0 / (draws + 1))


def p_value_text(value: float, is_smallest: bool) -> Figures:
    """Return a p-value as text, with "<=" before the smallest possible one, such as "<=.005"."""
    is_bound = is_smallest and 0.0005 <= value < 1
    return Figures.of((value,), 3, prefix="<=" if is_bound else "")


def p_value_in_words(value: float, is_smallest: bool) -> str:
    """Return a p-value for a sentence, such as "p = 0.010" or "p <= .005"."""
    text = p_value_text(value, is_smallest)
    return f"p {text[:2]} {text[2:]}" if text.startswith("<=") else f"p = {text}"


def _number_text(value: float, digits: int, scientific: bool) -> str:
    if not math.isfinite(value):
        return "NA" if math.isnan(value) else "Inf" if value > 0 else "-Inf"
    text = f"{value:.{digits}{'e' if scientific else 'f'}}"
    if value != 0 and not scientific and not text.strip("-0."):
        least_text = "." + "0" * (digits - 1) + "1" if digits else "1"
        return f">-{least_text}" if value < 0 else f"<{least_text}"
    return text.removeprefix("-") if value == 0 else text


def fixed_values(values: Iterable[float], digits: int) -> tuple[Figures, ...]:
    """Return every value with `digits` decimals; see :func:`fixed`."""
    return tuple(fixed(value, digits) for value in values)


def alike(values: Sequence[float], digits: int = 4) -> tuple[Figures, ...]:
    """Format values with the same number of decimals.

    The largest value has at least `digits` significant digits and the smallest at least two, within the
    limits of seven decimals and seven significant digits. If the largest absolute value is at least 10^7 or
    below 10^-4, all values are in scientific notation.
    """
    sizes = [abs(value) for value in values if math.isfinite(value) and value != 0]
    if not sizes:
        return fixed_values(values, digits - 1)
    largest = max(sizes)
    if largest >= 1e7 or largest < 1e-4:
        return tuple(Figures.of((value,), digits - 1, scientific=True) for value in values)
    decimal_limit = min(7, 6 - math.floor(math.log10(largest)))
    return fixed_values(
        values, min(max(digits - 1 - math.floor(math.log10(largest)), decimals(sizes)), decimal_limit)
    )


def decimals(sizes: Iterable[float], minimum: int = 0) -> int:
    """Return the number of decimals with which every positive size has two significant digits.

    Sizes below a millionth of the largest are ignored as rounding errors.
    """
    sizes = list(sizes)
    counted = [size for size in sizes if math.isfinite(size) and size > 1e-6 * max(sizes)]
    return max([minimum, *(1 - math.floor(math.log10(size)) for size in counted)])


def percents(shares: Sequence[float], digits: int = 2, steps: Sequence[float] = ()) -> tuple[Figures, ...]:
    """Return fractions in percent, with decimals for two significant digits of the smallest.

    `steps` are differences of the shares that must be visible, such as the gain from a component.
    """
    sizes = [100 * abs(share) for share in (*shares, *steps) if math.isfinite(share) and share != 0]
    places = min(decimals(sizes, digits), 4) if sizes else digits
    return tuple(fixed(100 * share, places) for share in shares)


def percent(share: float, digits: int = 2) -> Figures:
    """Return a fraction in percent, without the percent sign."""
    return fixed(100 * share, digits)


# --- rows, tables, documents ---------------------------------------------------------------------


#: Default number of decimals of loadings.
DIGITS = 3


@dataclass(frozen=True)
class Row:
    """One labelled row of cells.

    Attributes
    ----------
    label : str
        Text in the label column.
    cells : tuple of str
        The text of each column.
    group : str
        Heading of a group: consecutive rows with the same `group` are shown under it. "" means no group.
    rule : bool
        Whether there is a rule above the row.
    """

    label: str
    cells: tuple[str, ...]
    group: str = ""
    rule: bool = False


def number_rows(frame: pd.DataFrame, digits: int, groups: Sequence[str] = ()) -> tuple[Row, ...]:
    """Return the rows of a numeric frame with `digits` decimals, in groups if groups are given."""
    lines = zip(full_names(frame.index), frame.to_numpy(dtype=float).tolist(), strict=True)
    groups = groups or [""] * len(frame)
    return tuple(
        Row(name, fixed_values(line, digits), group)
        for (name, line), group in zip(lines, groups, strict=True)
    )


def below_headings(rows: Iterable[Row]) -> Iterator[tuple[str, Row]]:
    """Yield pairs of a heading and a row: the heading is the row's group where a group begins, else ""."""
    previous_heading = ""
    for row in rows:
        yield row.group if row.group != previous_heading else "", row
        previous_heading = row.group


def _identity(text: str) -> str:
    return text


@dataclass(frozen=True)
class Table:
    """A grid of formatted strings with a label column.

    Attributes
    ----------
    title : str
        The content of the table, shown as the heading of the label column.
    headings : tuple of str
        One heading for each column of cells. Consecutive tables of a document with equal headings are shown
        with common columns.
    rows : tuple of Row
    align : str
        One letter for each column of cells, "l", "c" or "r"; "" aligns all to the right.
    notes : tuple of str
        Sentences below the table.
    sparse : bool
        Whether panels omit rows that are empty in all of their columns.
    column_step : int
        Groups of this many columns are never split between panels.
    """

    title: str
    headings: tuple[str, ...]
    rows: tuple[Row, ...]
    align: str = ""
    notes: tuple[str, ...] = ()
    sparse: bool = False
    column_step: int = 1

    def __post_init__(self) -> None:
        if not self.align:
            object.__setattr__(self, "align", "r" * len(self.headings))

    def columns(self, start: int, stop: int) -> Table:
        """Return the table with only the columns from `start` up to, not including, `stop`."""
        rows = tuple(replace(row, cells=row.cells[start:stop]) for row in self.rows)
        if self.sparse and stop - start < len(self.headings):
            rows = tuple(row for row in rows if any(row.cells))
        return replace(self, headings=self.headings[start:stop], rows=rows, align=self.align[start:stop])


@dataclass(frozen=True)
class Document:
    """A titled sequence of tables.

    Attributes
    ----------
    title : str
    facts : tuple of (str, str)
        Label and text of each line of the header, which describes the fit, the data and the method.
    tables : tuple of Table
    notes : tuple of str
        Sentences at the end, after the notes of the tables.
    key : tuple of (str, str)
        Pairs of a shortened name in the tables and the full name.
    digits : int
        Number of decimals of the loadings.
    caption : str
        Replaces the title, unless it is empty.
    label : str
        Label for references to the tables from other parts of a paper.
    warnings : tuple of str
        Lines of the header that are warnings, as full sentences.
    alerts : tuple of str
        Notes that are warnings: prints show the beginning of each.
    print_notes : tuple of str
        Sentences below the tables of a print that explain the headings.
    """

    title: str
    facts: tuple[tuple[str, str], ...] = ()
    tables: tuple[Table, ...] = ()
    notes: tuple[str, ...] = ()
    key: tuple[tuple[str, str], ...] = ()
    digits: int = DIGITS
    caption: str = ""
    label: str = ""
    warnings: tuple[str, ...] = ()
    alerts: tuple[str, ...] = ()
    print_notes: tuple[str, ...] = ()

    @property
    def heading(self) -> str:
        """The caption, or else the title."""
        return self.caption or self.title

    @property
    def all_notes(self) -> tuple[str, ...]:
        """The notes of every table, then those of the document."""
        return tuple(note for table in self.tables for note in table.notes) + self.notes

    @property
    def sentences(self) -> tuple[str, ...]:
        """The warnings and notes, in full sentences."""
        return (*self.warnings, *self.all_notes)

    def changed(
        self,
        cell: Callable[[str], str] = _identity,
        label: Callable[[str], str] = _identity,
        heading: Callable[[str], str] = _identity,
        prose: Callable[[str], str] = _identity,
    ) -> Document:
        """Return the document with functions applied to its cells, row labels, headings and other texts."""

        def table(original: Table) -> Table:
            rows = (
                Row(label(row.label), tuple(map(cell, row.cells)), prose(row.group), row.rule)
                for row in original.rows
            )
            headings, notes = tuple(map(heading, original.headings)), tuple(map(prose, original.notes))
            return replace(
                original, title=prose(original.title), headings=headings, rows=tuple(rows), notes=notes
            )

        return replace(
            self,
            title=prose(self.title),
            facts=tuple((prose(name), prose(text)) for name, text in self.facts),
            tables=tuple(map(table, self.tables)),
            notes=tuple(map(prose, self.notes)),
            caption=prose(self.caption),
        )

    def with_names(self, labels: Mapping[str, str], headings: Mapping[str, str]) -> Document:
        """Return the document with shorter row labels and headings, which its key explains."""
        renamed = self.changed(
            label=lambda text: labels.get(text, text), heading=lambda text: headings.get(text, text)
        )
        key = {
            short: full_name
            for full_name, short in [*headings.items(), *labels.items()]
            if short != full_name
        }
        return replace(renamed, key=(*self.key, *key.items()))


# --- parts of a report ---------------------------------------------------------------------------


#: Inches of a figure for phones, which are 360 to 430 pixels wide.
PHONE_WIDTH = 3.8


@dataclass(frozen=True, eq=False)
class Picture:
    """A figure of a report that is drawn when it is needed.

    Attributes
    ----------
    draw : callable
        Draws the figure on given axes.
    width, height : float
        In inches.
    name : str
        The name of the file, if the figure is saved.
    alt : str
        The text alternative: what the figure shows.
    caption : str
    height_on_phones : float, optional
        In inches, if the figure is drawn again for the width of a phone, so that it is fully visible without
        smaller text.
    """

    draw: Callable[[Axes], Any]
    width: float
    height: float
    name: str
    alt: str
    caption: str = ""
    height_on_phones: float | None = None

    def for_phones(self) -> Picture | None:
        """Return the picture in the width of a phone; None if it has no such version."""
        if self.height_on_phones is None:
            return None
        return replace(self, width=PHONE_WIDTH, height=self.height_on_phones, height_on_phones=None)

    def saved(self, kind: str, dpi: float) -> bytes:
        """Draw the figure without pyplot and return the content of an image file.

        Parameters
        ----------
        kind : {"svg", "png"}
        dpi : float
            The resolution of everything that is not vector graphics.
        """
        from matplotlib.collections import PathCollection
        from matplotlib.figure import Figure

        figure = Figure(figsize=(self.width, self.height), layout="constrained")
        self.draw(figure.subplots())
        for points in figure.findobj(PathCollection):
            if isinstance(points, PathCollection) and np.shape(points.get_offsets())[0] > 500:
                points.set_rasterized(True)  # many points as an image keep the page small
        buffer = io.BytesIO()
        metadata = {"Date": None, "Creator": None} if kind == "svg" else {"Software": None}
        figure.savefig(buffer, format=kind, dpi=dpi, metadata=metadata)
        return buffer.getvalue()


@dataclass(frozen=True)
class Lines:
    """Lines of code or formulas, with the text before and after them."""

    lines: tuple[str, ...]
    lead: str = ""
    tail: tuple[str, ...] = ()


#: What a chapter can contain.
Content: TypeAlias = Document | Picture | Lines


@dataclass(frozen=True)
class Chapter:
    """A part of a report with its own heading."""

    heading: str
    parts: tuple[Content, ...]


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
    """Yield groups of consecutive tables with equal headings and alignment, which share column widths."""
    for _, run in groupby(tables, key=lambda table: (table.headings, table.align)):
        yield tuple(run)


def label_width(block: tuple[Table, ...], measure: Callable[[str], int]) -> int:
    """Return the natural width of the label column, including the indent of groups and short titles."""
    widths = [measure(row.label) + 2 * bool(row.group) for table in block for row in table.rows]
    widths += [measure(table.title) for table in block if len(table.title) <= NAME_WIDTH]
    return max(widths, default=0)


def column_widths(block: tuple[Table, ...], measure: Callable[[str], int]) -> list[int]:
    """Return the width of every column of cells, including headings."""
    widths = [measure(heading) for heading in block[0].headings]
    for table in block:
        for row in table.rows:
            widths = [max(width, measure(cell)) for width, cell in zip(widths, row.cells, strict=True)]
    return widths


def label_room(label: int, columns: list[int], width: int, gap: int, minimum: int) -> int:
    """Return the width of the label column: the width left by the other columns, but at least `minimum`.

    If the labels would be narrower than `minimum`, the table is split into panels. The label column is never
    wider than `label`, and it leaves room for the widest of the other columns.
    """
    room = width - sum(gap + column for column in columns)
    beside_one = width - gap - max(columns, default=0)
    return min(label, max(room, minimum), max(beside_one, 1))


def panels(
    block: tuple[Table, ...], label: int, columns: list[int], width: int, gap: int, minimum: int
) -> Iterator[tuple[int, tuple[Table, ...], list[int]]]:
    """Yield as few panels as possible of tables with common columns, each of at most `width`.

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
    minimum : int
        See :func:`label_room`.

    Yields
    ------
    room : int
        Width of the label column.
    tables : tuple of Table
        The tables with the columns of the panel.
    widths : list of int
    """
    room = label_room(label, columns, width, gap, minimum)
    starts, used, step = [0], room, block[0].column_step
    for i in range(0, len(columns), step):
        size = sum(gap + column for column in columns[i : i + step])
        if i > starts[-1] and used + size > width:
            starts.append(i)
            used = room
        used += size
    for start, stop in zip(starts, [*starts[1:], len(columns)], strict=True):
        yield room, tuple(table.columns(start, stop) for table in block), columns[start:stop]


def wrapped(text: str, width: int, measure: Callable[[str], int] = len) -> list[str]:
    """Return a name wrapped into lines of at most `width`, broken between words if possible."""
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
        changes by the same amount, and correlations of scores keep two or more.
    decimal : {".", ","}
        The decimal mark of the numbers in the tables.
    full_names : bool, optional
        True keeps long names in every format, wrapped if necessary; False shortens them in every format, with
        a key. By default only text shortens names, and only if lines would be wider than `width`.
    caption : str, optional
        Replaces the title.
    label : str, optional
        Label for references from other parts of a paper: letters, digits and ``: . _ -``.
    notes : bool, optional
        Whether to include the header and all sentences below the tables; None includes only explanations of
        the signs in the tables.
    longtable : bool, optional
        Whether LaTeX tables may break across pages; by default those that are longer than a page do.

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
    notes: bool | None = True
    longtable: bool | None = None

    def __post_init__(self) -> None:
        object.__setattr__(self, "width", whole_number("width", self.width, 40))
        one_of("decimal", self.decimal, (".", ","))
        if self.digits is not None:  # differences of NumPy's unsigned integers are never negative
            object.__setattr__(self, "digits", whole_number("digits", self.digits, 0, MOST_DIGITS))
        for option in ("notes", "full_names", "longtable"):
            option_value = getattr(self, option)
            if option_value is not None:
                object.__setattr__(
                    self, option, flag(option, option_value)
                )  # converts NumPy's bool to Python's
        if self.caption is not None and not text("caption", self.caption).strip():
            raise OptionError(
                f"caption={shown(self.caption)} was given; leave it out to use the title as caption."
            )
        if self.label is not None and not LABEL.fullmatch(text("label", self.label)):
            raise OptionError(
                f"label={shown(self.label)} was given; it must begin with a letter and have only letters, "
                "digits and : . _ - in it, such as 'tab:loadings'."
            )

    def of(self, document: Document, names: bool = True) -> Document:
        """Return the document with these options applied: caption, label, digits, decimal mark, short names.

        With ``names=False`` names are not shortened.
        """
        document = restyled(document, self.digits, self.decimal)
        if not self.notes:
            document = replace(document, facts=(), notes=())
        if self.notes is False:
            document = replace(document, tables=tuple(replace(table, notes=()) for table in document.tables))
        caption, label = self.caption or document.caption, self.label or document.label
        document = replace(document, caption=caption, label=label)
        if self.full_names is not False or not names:
            return document
        labels = dict.fromkeys(row.label for table in document.tables for row in table.rows)
        headings = dict.fromkeys(text for table in document.tables for text in table.headings)
        return document.with_names(*in_one_form(short(labels, NAME_WIDTH), short(headings, HEADING_WIDTH)))


def restyled(document: Document, digits: int | None = None, decimal: str = ".") -> Document:
    """Return the document with `digits` decimals of loadings; other numbers change by as many decimals."""
    extra_digits = 0 if digits is None else digits - document.digits
    if extra_digits == 0 and decimal == ".":
        return document
    document = replace(document, digits=document.digits + extra_digits)
    return document.changed(
        lambda cell: cell.with_decimals(extra_digits, decimal) if isinstance(cell, Figures) else cell
    )


def in_one_form(
    labels: Mapping[str, str], headings: Mapping[str, str]
) -> tuple[dict[str, str], Mapping[str, str]]:
    """Return short labels and headings; a name that is both gets the short heading in both places."""
    return {name: headings.get(name, text) for name, text in labels.items()}, headings


def short(names: Iterable[str], limit: int) -> dict[str, str]:
    """Return a dict from names to unique short names; names within the limit are not changed."""
    names = list(names)
    return dict(zip(names, short_names_of_a_table(names, limit), strict=True))


# --- variables of a table ------------------------------------------------------------------------


#: Tables with more variables than this are sorted by default.
UNSORTED = 25


#: Loadings whose absolute values agree to this number of decimals count as equally large.
EQUAL_DECIMALS = 9


def by_size(loadings: NDArray[np.float64]) -> NDArray[np.intp]:
    """Return the indices that sort loadings by decreasing absolute value; of equal ones, positive first."""
    return np.lexsort((loadings < 0, -np.abs(loadings).round(EQUAL_DECIMALS)))


@dataclass(frozen=True)
class VariableArrangement:
    """The variables that a table of loadings shows, and their order.

    Attributes
    ----------
    sort : bool, optional
        Whether to sort the variables by the component on which their absolute loading is largest, then by its
        size; False keeps the order of the data. By default tables of more than 25 variables are sorted.
    max_rows : int, optional
        The largest number of variables to show; by default all with a nonzero loading are shown. If there are
        more, those with the largest loadings of every component are shown, and a note counts the others.
    groups : Series, mapping or sequence of length p, optional
        A group for each variable, such as the scale of a questionnaire to which it belongs. The variables of
        a group are shown together under its name.
    cut : float
        Loadings below it in absolute value are shown as "." and counted in a note.

    Raises
    ------
    OptionError
        If an option is out of its range.
    """

    sort: bool | None = None
    max_rows: int | None = None
    groups: Any = None
    cut: float = 0.0

    def __post_init__(self) -> None:
        if self.sort is not None:
            flag("sort", self.sort)
        if self.max_rows is not None:
            object.__setattr__(self, "max_rows", whole_number("max_rows", self.max_rows, 1))
        object.__setattr__(self, "cut", real_number("cut", self.cut, 0.0, np.inf))

    def rows(
        self, values: NDArray[np.float64], names: pd.Index, dense_loadings: NDArray[np.float64] | None = None
    ) -> tuple[NDArray[np.intp], list[str]]:
        """Return the indices of the variables to show, in order, and the group heading of each ("": none).

        Parameters
        ----------
        values : ndarray of shape (p, k)
            Loadings.
        names : Index of length p
        dense_loadings : ndarray of shape (p, k), optional
            Loadings of dense PCA. Variables with the largest of these are shown too, if there is room.
        """
        selection = leading(values, len(values) if self.max_rows is None else self.max_rows)
        room = (UNSORTED if self.max_rows is None else self.max_rows) - len(selection)
        if dense_loadings is not None and room > 0:
            unselected = dense_loadings.copy()
            unselected[selection] = 0.0
            selection = np.sort(np.concatenate([selection, leading(unselected, room)]))
        if self.sort or (self.sort is None and len(selection) > UNSORTED):
            columns = np.abs(values[selection]).argmax(axis=1)
            order = by_size(values[selection, columns])
            selection = selection[order[np.argsort(columns[order], kind="stable")]]
        if self.groups is None:
            return selection, [""] * len(selection)
        sections = variable_groups(self.groups, names)
        codes = np.where(sections.codes < 0, len(sections.categories), sections.codes)[selection]
        order = np.argsort(codes, kind="stable")
        heads = [*full_names(sections.categories), "no group"]
        return selection[order], [heads[code] for code in codes[order]]
