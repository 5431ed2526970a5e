"""Rows, tables and documents of formatted text, which all renderers read, and numbers as the text of cells.

Cells are text, already formatted. What an empty cell means depends on the table; in a table of loadings it
is a loading of exactly zero.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace

import pandas as pd

from spcastat.config import shown
from spcastat.errors import ShapeError
from spcastat.labels import full_names

# --- numbers -------------------------------------------------------------------------------------


#: Largest number of decimals.
MOST_DIGITS = 10


class Figures(str):
    """The text of a number or an interval, which can be formatted again with other digits.

    Attributes
    ----------
    numbers : tuple of float
        One number, or the two ends of an interval.
    digits : int
        Number of decimals; in scientific notation, of the mantissa.
    scientific : bool
        Whether the number is in scientific notation.
    stars : str
        Marks of significance that follow the number.
    """

    numbers: tuple[float, ...]
    digits: int
    scientific: bool
    stars: str

    @classmethod
    def of(
        cls,
        numbers: Iterable[float],
        digits: int,
        *,
        scientific: bool = False,
        stars: str = "",
        decimal: str = ".",
    ) -> Figures:
        """Return numbers as text, with the decimal mark `decimal`; two of them as "[0.1, 0.2]"."""
        numbers = tuple(numbers)
        texts = [_written(number, digits, scientific).replace(".", decimal) for number in numbers]
        between = "; " if decimal == "," else ", "
        made = cls((texts[0] if len(texts) == 1 else f"[{between.join(texts)}]") + stars)
        made.numbers, made.digits, made.scientific, made.stars = numbers, digits, scientific, stars
        return made

    def again(self, more: int = 0, decimal: str = ".") -> Figures:
        """Return the same numbers with `more` decimals (fewer if negative) and another decimal mark."""
        digits = min(max(self.digits + more, 0), MOST_DIGITS)
        return Figures.of(self.numbers, digits, scientific=self.scientific, stars=self.stars, decimal=decimal)


def without_stars(cell: str) -> tuple[str, str]:
    """Return a cell without the stars of its number, and these stars."""
    stars = cell.stars if isinstance(cell, Figures) else ""
    return cell[: len(cell) - len(stars)], stars


def fixed(value: float, digits: int) -> Figures:
    """Return `value` with `digits` decimals; a nonzero that would print as zero becomes "<.001".

    A negative number of that kind becomes "-<.001". NaN is "NA", as in R.
    """
    return Figures.of((value,), digits)


def _written(value: float, digits: int, scientific: bool) -> str:
    if not math.isfinite(value):
        return "NA" if math.isnan(value) else "Inf" if value > 0 else "-Inf"
    text = f"{value:.{digits}{'e' if scientific else 'f'}}"
    if value != 0 and not scientific and not text.strip("-0."):
        least = "." + "0" * (digits - 1) + "1" if digits else "1"
        return f"-<{least}" if value < 0 else f"<{least}"
    return text.removeprefix("-") if value == 0 else text


def each(values: Iterable[float], digits: int) -> tuple[Figures, ...]:
    """Return every value with `digits` decimals; see :func:`fixed`."""
    return tuple(fixed(value, digits) for value in values)


def alike(values: Sequence[float], digits: int = 4) -> tuple[Figures, ...]:
    """Format values with the same number of decimals, so that the largest has `digits` significant digits.

    There are at most seven decimals. If the largest absolute value is at least 10^7 or below 10^-4, all
    values are in scientific notation.
    """
    sizes = [abs(value) for value in values if math.isfinite(value) and value != 0]
    if not sizes:
        return each(values, digits - 1)
    largest = max(sizes)
    if largest >= 1e7 or largest < 1e-4:
        return tuple(Figures.of((value,), digits - 1, scientific=True) for value in values)
    decimals = min(max(digits - 1 - math.floor(math.log10(largest)), 0), 7)
    return each(values, decimals)


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
        Heading of a group: consecutive rows with the same `group` are shown under it. "" is no group.
    rule : bool
        Whether there is a rule above the row.
    """

    label: str
    cells: tuple[str, ...]
    group: str = ""
    rule: bool = False


def number_rows(frame: pd.DataFrame, digits: int, groups: Sequence[str] = ()) -> tuple[Row, ...]:
    """Return the rows of a frame of numbers with `digits` decimals, in groups if these are given."""
    lines = zip(full_names(frame.index), frame.to_numpy(dtype=float).tolist(), strict=True)
    groups = groups or [""] * len(frame)
    return tuple(
        Row(name, each(line, digits), group) for (name, line), group in zip(lines, groups, strict=True)
    )


def below_headings(rows: Iterable[Row]) -> Iterator[tuple[str, Row]]:
    """Yield pairs of a heading and a row: the heading is the row's group where a group begins, else ""."""
    before = ""
    for row in rows:
        yield row.group if row.group != before else "", row
        before = row.group


def _same(text: str) -> str:
    return text


@dataclass(frozen=True)
class Table:
    """A grid of formatted strings with a label column.

    Attributes
    ----------
    title : str
        What the table shows; the heading of the label column.
    headings : tuple of str
        One heading for each column of cells. Consecutive tables of a document with equal headings are shown
        with common columns.
    rows : tuple of Row
    align : str
        One letter for each column of cells, "l", "c" or "r"; "" aligns all to the right.
    notes : tuple of str
        Sentences below the table.
    sparse : bool
        Whether a panel with some of the columns omits rows that are empty in all of these.
    together : int
        Groups of this many columns are never split between panels.

    Raises
    ------
    ShapeError
        If a row or `align` does not have as many columns as `headings`.
    """

    title: str
    headings: tuple[str, ...]
    rows: tuple[Row, ...]
    align: str = ""
    notes: tuple[str, ...] = ()
    sparse: bool = False
    together: int = 1

    def __post_init__(self) -> None:
        width = len(self.headings)
        for row in self.rows:
            if len(row.cells) != width:
                raise ShapeError(
                    f"The row {shown(row.label)} of the table {shown(self.title)} has {len(row.cells)} "
                    f"cells; it must have {width}, one for each heading."
                )
        if not self.align:
            object.__setattr__(self, "align", "r" * width)
        if len(self.align) != width or set(self.align) - set("lcr"):
            raise ShapeError(
                f"align={shown(self.align)} was given; it must have {width} letters, each of 'l', 'c', 'r'."
            )

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
        Label and text of each line of the header: what was fitted to which data, and how.
    tables : tuple of Table
    notes : tuple of str
        Sentences at the end, after the notes of the tables.
    key : tuple of (str, str)
        Shortened names in the tables, and the full names.
    digits : int
        Number of decimals of the loadings.
    caption : str
        Replaces the title, unless it is empty.
    label : str
        Label for references to the tables from other parts of a paper.
    """

    title: str
    facts: tuple[tuple[str, str], ...] = ()
    tables: tuple[Table, ...] = ()
    notes: tuple[str, ...] = ()
    key: tuple[tuple[str, str], ...] = ()
    digits: int = DIGITS
    caption: str = ""
    label: str = ""

    @property
    def heading(self) -> str:
        """The caption, or else the title."""
        return self.caption or self.title

    @property
    def all_notes(self) -> tuple[str, ...]:
        """The notes of every table, then those of the document."""
        return tuple(note for table in self.tables for note in table.notes) + self.notes

    def changed(
        self,
        cell: Callable[[str], str] = _same,
        label: Callable[[str], str] = _same,
        heading: Callable[[str], str] = _same,
        other: Callable[[str], str] = _same,
    ) -> Document:
        """Return the document with functions applied to its cells, row labels, headings and other texts."""

        def table(old: Table) -> Table:
            rows = (
                Row(label(row.label), tuple(map(cell, row.cells)), other(row.group), row.rule)
                for row in old.rows
            )
            headings, notes = tuple(map(heading, old.headings)), tuple(map(other, old.notes))
            return replace(old, title=other(old.title), headings=headings, rows=tuple(rows), notes=notes)

        return replace(
            self,
            title=other(self.title),
            facts=tuple((other(name), other(text)) for name, text in self.facts),
            tables=tuple(map(table, self.tables)),
            notes=tuple(map(other, self.notes)),
            caption=other(self.caption),
        )

    def with_names(self, labels: Mapping[str, str], headings: Mapping[str, str]) -> Document:
        """Return the document with row labels and headings replaced; its key explains the new names."""
        renamed = self.changed(
            label=lambda text: labels.get(text, text), heading=lambda text: headings.get(text, text)
        )
        key = {short: whole for whole, short in [*headings.items(), *labels.items()] if short != whole}
        return replace(renamed, key=(*self.key, *key.items()))
