"""The neutral grid that every renderer reads: rows, tables and a document of strings.

Nothing here knows a number: cells are already formatted, and a blank cell means what its builder says
it means (in a table of loadings: exactly zero).
"""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Mapping
from dataclasses import dataclass

from spcastat.config import shown
from spcastat.errors import ShapeError

#: Decimals of loadings, unless others are wanted.
DIGITS = 3


@dataclass(frozen=True)
class Row:
    """One labelled row of cells.

    Attributes
    ----------
    label : str
        What stands in the label column.
    cells : tuple of str
        One formatted cell a column; an empty string is a blank.
    group : str
        Rows that follow one another with the same `group` stand under that heading; "" is not a group.
    rule : bool
        Draw a rule above the row.
    """

    label: str
    cells: tuple[str, ...]
    group: str = ""
    rule: bool = False


@dataclass(frozen=True)
class Table:
    """A grid of formatted strings with a label column.

    Attributes
    ----------
    title : str
        What the table shows; it stands above the label column.
    headings : tuple of str
        One heading for each column of cells. Tables of a document with equal headings that follow one
        another share their columns.
    rows : tuple of Row
    align : str
        One letter for each column of cells, "l", "c" or "r"; "" is right for all.
    notes : tuple of str
        Sentences below the table.
    sparse : bool
        A panel with some of the columns leaves out the rows that are blank in all of them.
    together : int
        This many columns at a time stay in one panel.

    Raises
    ------
    ShapeError
        A row or `align` with another number of columns than `headings`.
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
                    "cells; "
                    f"it must have {width}, one for each heading."
                )
        if not self.align:
            object.__setattr__(self, "align", "r" * width)
        if len(self.align) != width or set(self.align) - set("lcr"):
            raise ShapeError(
                f"align={shown(self.align)} was given; it must have {width} letters, each of 'l', 'c', 'r'."
            )

    def columns(self, start: int, stop: int) -> Table:
        """Return the table with only the columns from `start` up to, not including, `stop`."""
        rows = tuple(dataclasses.replace(row, cells=row.cells[start:stop]) for row in self.rows)
        if self.sparse and stop - start < len(self.headings):
            rows = tuple(row for row in rows if any(row.cells))
        return dataclasses.replace(
            self, headings=self.headings[start:stop], rows=rows, align=self.align[start:stop]
        )


@dataclass(frozen=True)
class Document:
    """A titled sequence of tables.

    Attributes
    ----------
    title : str
    facts : tuple of (str, str)
        Label and text of each fact of the header: what was fitted, on what, how.
    tables : tuple of Table
    notes : tuple of str
        Sentences at the end, after those of the tables.
    key : tuple of (str, str)
        Short names that stand in the tables, and the names in full.
    digits : int
        Decimals of the loadings.
    caption : str
        Where it is given, it stands for the title.
    label : str
        By which other parts of a paper refer to the tables.
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

    @property
    def texts(self) -> set[str]:
        """Every text that is written, but for labels and keys of the document itself."""
        tables, rows = self.tables, [row for table in self.tables for row in table.rows]
        texts = {self.title, self.caption, *self.notes, *(text for fact in self.facts for text in fact)}
        texts.update(*((table.title, *table.headings, *table.notes) for table in tables))
        return texts.union(*((row.label, row.group, *row.cells) for row in rows))

    def respelled(self, spelling: Mapping[str, str]) -> Document:
        """Return the document with each of its `texts` replaced."""

        def every(texts: tuple[str, ...]) -> tuple[str, ...]:
            return tuple(spelling[text] for text in texts)

        def table(old: Table) -> Table:
            rows = (
                Row(spelling[row.label], every(row.cells), spelling[row.group], row.rule) for row in old.rows
            )
            return dataclasses.replace(
                old,
                title=spelling[old.title],
                headings=every(old.headings),
                rows=tuple(rows),
                notes=every(old.notes),
            )

        return dataclasses.replace(
            self._with_tables(table),
            title=spelling[self.title],
            facts=tuple((spelling[label], spelling[text]) for label, text in self.facts),
            notes=every(self.notes),
            caption=spelling[self.caption],
        )

    def with_cells(self, change: Callable[[str], str]) -> Document:
        """Return the document with every cell changed."""
        return self._with_tables(
            lambda table: dataclasses.replace(
                table,
                rows=tuple(
                    dataclasses.replace(row, cells=tuple(change(cell) for cell in row.cells))
                    for row in table.rows
                ),
            )
        )

    def with_names(self, labels: Mapping[str, str], headings: Mapping[str, str]) -> Document:
        """Return the document with other labels of rows and headings, and what they were in its key."""

        def renamed(table: Table) -> Table:
            rows = (dataclasses.replace(row, label=labels.get(row.label, row.label)) for row in table.rows)
            new = tuple(headings.get(text, text) for text in table.headings)
            return dataclasses.replace(table, rows=tuple(rows), headings=new)

        key = {short: whole for whole, short in [*headings.items(), *labels.items()] if short != whole}
        return dataclasses.replace(self._with_tables(renamed), key=(*self.key, *key.items()))

    def _with_tables(self, change: Callable[[Table], Table]) -> Document:
        return dataclasses.replace(self, tables=tuple(change(table) for table in self.tables))
