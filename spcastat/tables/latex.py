r"""Render a document as LaTeX with booktabs: as a ``table`` or, if longer than a page, a ``longtable``."""

from __future__ import annotations

import dataclasses
import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass

from spcastat.tables.grid import Document, Row, Table, below_headings
from spcastat.tables.latex_cells import (
    breakable,
    cell_of,
    column_of,
    escape,
    hanging,
    number,
    points,
    stacked,
    width_of,
)
from spcastat.tables.panels import blocks, column_widths, label_width, panels
from spcastat.tables.table_layout import Layout

#: In points: width and height of the text of a page (class article), twice \\tabcolsep as set below, height
#: of a line.
PAGE, HEIGHT, GAP, LINE = 345, 530, 8, 12.5
#: In points: smallest width of a column of long labels, largest width of long headings.
LEAST, HEADING = 120, 62


def render(document: Document, layout: Layout | None = None) -> str:
    """Return one ``table`` or ``longtable`` for each panel, with facts and notes below the last.

    Tables wider than ``layout.width`` characters are split into panels; 80 is the width of a page of the
    class ``article``. The first line names the packages that are needed.
    """
    layout = layout or Layout()
    document = layout.of(document, "." if layout.siunitx else layout.decimal)
    parts = list(_panels(document, PAGE * layout.width // 80 - GAP, layout))
    below = list(_below(document))
    if layout.longtable or any(_tall(parts, document)):
        parts = [single for part in parts for single in part.apart()]
    long = bool(parts) and (any(_tall(parts, document)) if layout.longtable is None else layout.longtable)
    names = ["booktabs"] + ["longtable"] * long + ["siunitx"] * layout.siunitx
    lines = [rf"% needs \usepackage{{{','.join(names)}}}"]
    write = _long if long else _float
    for place, part in enumerate(parts):
        lines += write(part, document, place > 0, below if place == len(parts) - 1 else [])
    if not parts:
        lines += [r"\begin{table}[htbp]", r"\centering", *_caption(document, False), *below, r"\end{table}"]
    return "\n".join(lines) + "\n"


def _tall(parts: list[Panel], document: Document) -> Iterator[bool]:
    """Yield for every panel whether it is longer than a page, including the notes below the last one."""
    for part in parts:
        yield part.height + (part is parts[-1]) * _height(document) > HEIGHT


@dataclass(frozen=True)
class Panel:
    """Tables with common columns that fit the width of a page.

    Attributes
    ----------
    tables : tuple of Table
    columns : str
        The column specification of the ``tabular``.
    room : int
        Width of the label column in points; 0 for its natural width.
    head : callable
        Returns a heading as LaTeX, given its text and the alignment of its column.
    cell : callable
        Returns a cell as LaTeX.
    """

    tables: tuple[Table, ...]
    columns: str
    room: int
    head: Callable[[str, str], str]
    cell: Callable[[str], str]

    @property
    def width(self) -> int:
        """Number of columns, including the label column."""
        return len(self.tables[0].headings) + 1

    @property
    def height(self) -> float:
        """Approximate height in points."""
        lines = sum(
            2
            + len({row.group for row in table.rows} - {""})
            + sum(len(self.label(row.label)) for row in table.rows)
            for table in self.tables
        )
        return (lines + 3) * LINE

    def label(self, text: str) -> list[str]:
        """Return the lines of a label as LaTeX."""
        return hanging(text, self.room) if self.room else [escape(text)]

    def apart(self) -> Iterator[Panel]:
        """Yield a panel for each of the tables."""
        for table in self.tables:
            yield dataclasses.replace(self, tables=(table,))

    def heads(self, title: str) -> str:
        """Return the line of headings."""
        table = self.tables[0]
        heads = [self.head(text, side) for text, side in zip(table.headings, table.align, strict=True)]
        return " & ".join([r"\newline".join(self.label(title)), *heads]) + r" \\"

    def body(self, table: Table) -> Iterator[str]:
        """Yield the lines below the headings of a table."""
        for (group, row), label in zip(below_headings(table.rows), self._labels(table.rows), strict=True):
            if row.rule:
                yield r"\midrule"
            if group:
                yield rf"\multicolumn{{{self.width}}}{{l}}{{\textit{{{escape(group)}}}}} \\"
            yield " & ".join([r"\quad " * bool(row.group) + label, *map(self.cell, row.cells)]) + r" \\"

    def _labels(self, rows: tuple[Row, ...]) -> Iterator[str]:
        """Yield labels as LaTeX; further lines of a long label fill the following rows without a label."""
        waiting: list[str] = []
        for row, below in zip(rows, [*rows[1:], None], strict=True):
            waiting = self.label(row.label) if row.label else waiting
            parted = below is not None and not below.label
            now, waiting = (waiting[:1], waiting[1:]) if parted else (waiting, [])
            yield r"\newline".join(now)


def _panels(document: Document, width: int, layout: Layout) -> Iterator[Panel]:
    for block in blocks(document.tables):
        label = label_width(block, points)
        columns = _widths(block, width, layout.siunitx)
        wrap = label + sum(GAP + column for column in columns) > width
        if wrap:
            columns = _widths(block, HEADING, layout.siunitx)
        for room, parts, _ in panels(block, label, columns, width, GAP, LEAST):
            sides = parts[0].align
            if layout.siunitx:
                sides = "".join(column_of(parts, place, layout.decimal) for place in range(len(sides)))
            yield Panel(
                parts,
                (f"p{{{room}pt}}" if room < label else "l") + sides,
                room if room < label else 0,
                _heading(HEADING if wrap else width, layout.siunitx),
                cell_of if layout.siunitx else number,
            )


def _heading(width: int, braced: bool) -> Callable[[str, str], str]:
    def head(text: str, side: str) -> str:
        shown = stacked(text, width, side)
        return f"{{{shown}}}" if braced and shown else shown

    return head


def _widths(block: tuple[Table, ...], heading: int, siunitx: bool) -> list[int]:
    """Return the widths of the columns in points, if headings wider than `heading` points are wrapped."""
    without = tuple(dataclasses.replace(table, headings=("",) * len(table.headings)) for table in block)
    heads = [min(points(text), heading) for text in block[0].headings]
    found = list(map(max, heads, column_widths(without, points)))
    if siunitx:
        found = [max(width, width_of(block, place)) for place, width in enumerate(found)]
    return found


def _caption(document: Document, again: bool) -> list[str]:
    if not document.heading:
        return []
    label = rf"\label{{{document.label}}}" if document.label and not again else ""
    title = escape(document.heading) + " (continued)" * again
    return [rf"\caption{{{title}}}{label}"]


def _float(part: Panel, document: Document, again: bool, below: list[str]) -> Iterator[str]:
    yield from (r"\begin{table}[htbp]", r"\centering", r"\setlength{\tabcolsep}{4pt}")
    caption = _caption(document, again)
    if caption:
        yield from ([r"\addtocounter{table}{-1}"] * again + caption + [r"\smallskip"])
    yield from (rf"\begin{{tabular}}{{{part.columns}}}", r"\toprule")
    for place, table in enumerate(part.tables):
        yield from [r"\midrule"] * (place > 0)
        yield from (part.heads(table.title), r"\midrule", *part.body(table))
    yield from (r"\bottomrule", r"\end{tabular}")
    if below:
        yield r"\par\medskip"
        yield from (r"\begin{minipage}{\linewidth}\footnotesize\raggedright", *below, r"\end{minipage}")
    yield r"\end{table}"


def _long(part: Panel, document: Document, again: bool, below: list[str]) -> Iterator[str]:
    """Yield the lines of a table that breaks across pages, with its headings repeated on each page."""
    (table,) = part.tables
    caption = _caption(document, again)
    yield from (r"\begingroup", r"\setlength{\tabcolsep}{4pt}")
    yield from [r"\addtocounter{table}{-1}"] * (again and bool(caption))
    yield rf"\begin{{longtable}}{{{part.columns}}}"
    yield from [line + r" \\" for line in caption]
    heads = (r"\toprule", part.heads(table.title), r"\midrule")
    yield from (*heads, r"\endfirsthead")
    yield from [rf"\caption[]{{{escape(document.heading)} (continued)}} \\"] * bool(caption)
    yield from (*heads, r"\endhead")
    yield from (r"\midrule", rf"\multicolumn{{{part.width}}}{{r}}{{\footnotesize continued}} \\", r"\endfoot")
    yield from (r"\bottomrule", r"\endlastfoot")
    yield from part.body(table)
    yield from (r"\end{longtable}", r"\endgroup")
    if below:
        yield from (r"{\footnotesize\raggedright\noindent", *below, r"\par}")


def _below(document: Document) -> Iterator[str]:
    # text has the letter x between numbers of rows and variables
    timed = ((label, re.sub(r"(?<=\d rows) x (?=\d)", " × ", text)) for label, text in document.facts)
    facts = [rf"\textit{{{escape(label)}:}} {escape(text)}" for label, text in timed]
    key = [rf"\textit{{{escape(short)}:}} {breakable(whole)}" for short, whole in document.key]
    texts = [*facts, *(escape(note) for note in document.all_notes), *key]
    if texts:
        yield " \\par\n".join(texts)


def _height(document: Document) -> float:
    """Return the height of the facts, notes and key below the tables, in points."""
    texts = [label + text for label, text in (*document.facts, *document.key)] + list(document.all_notes)
    # Number of characters in a line of the notes below a table
    return sum(1 + len(text) // 85 for text in texts) * 0.8 * LINE
