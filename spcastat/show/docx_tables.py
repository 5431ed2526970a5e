"""Tables for Word, by python-docx: with three rules, and headings that are repeated on every page."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from math import ceil
from typing import Any

from docx.document import Document as WordDocument
from docx.enum.style import WD_STYLE_TYPE
from docx.enum.text import WD_ALIGN_PARAGRAPH
from docx.oxml import OxmlElement
from docx.oxml.ns import qn
from docx.shared import Pt, RGBColor

from spcastat.labels import printable
from spcastat.show.grid import (
    Document,
    Figures,
    Layout,
    Table,
    below_headings,
    blocks,
    label_width,
    panels,
    without_stars,
    wrapped,
)
from spcastat.show.latex import points

#: In points: width of the text of a page, margins on both sides of a cell together, and font sizes of tables,
#: and of notes and code.
PAGE, GAP, SIZE, NOTES = 468, 11, 9, 8.5
#: Name of the paragraph style in tables.
STYLE = "Table Text"
_SIDES = {"l": WD_ALIGN_PARAGRAPH.LEFT, "c": WD_ALIGN_PARAGRAPH.CENTER, "r": WD_ALIGN_PARAGRAPH.RIGHT}


def add_tables(word: WordDocument, document: Document, layout: Layout | None = None) -> None:
    """Add the tables of a document, with its caption above and its facts and notes below.

    Tables wider than ``layout.width`` characters are split; 80 is the width of the page.
    """
    layout = layout or Layout()
    document = layout.of(document)
    _require_style(word)
    if document.heading and document.tables:
        add_caption(word, "Table", document.heading, document.label)
    for block in blocks(document.tables):
        for tables, widths in _panels(block, PAGE * layout.width // 80):
            for table in tables:
                _add_table(word, table, widths, document.heading)
                add_text(word, "", SIZE // 2)
    for label, text in document.facts:
        _small(word, f"{label}: ", text)
    for note in document.all_notes:
        _small(word, "", note)
    for short, whole in document.key:
        _small(word, f"{short}: ", whole)


def add_caption(word: WordDocument, kind: str, text: str, label: str = "") -> None:
    """Add a caption such as "Table 1. Text", with a number that Word updates and a bookmark named `label`.

    Parameters
    ----------
    kind : {"Table", "Figure"}
        The caption of a table stays on the page of the table.
    """
    paragraph = word.add_paragraph(style="Caption")
    paragraph.paragraph_format.keep_with_next = kind == "Table"
    paragraph.paragraph_format.space_before = Pt(12 if kind == "Table" else 2)
    font = word.styles["Caption"].font
    font.color.rgb, font.bold, font.italic = RGBColor(0, 0, 0), False, True
    number = sum(f" SEQ {kind} " in (one.text or "") for one in word.element.iter(qn("w:instrText"))) + 1
    place = str(len(list(word.element.iter(qn("w:bookmarkStart")))))
    if label:  # Word allows 40 letters, digits and underscores in the name of a bookmark
        name = "".join(char if char.isalnum() else "_" for char in label)[:40]
        paragraph._p.append(_element("w:bookmarkStart", id=place, name=name))
    paragraph.add_run(f"{kind} ")
    for part in _field(f" SEQ {kind} \\* ARABIC ", str(number)):
        paragraph.add_run()._r.append(part)
    if label:
        paragraph._p.append(_element("w:bookmarkEnd", id=place))
    paragraph.add_run(f". {printable(text)}")


def add_text(word: WordDocument, text: str, size: float, **font: Any) -> Any:
    """Add a paragraph in font size `size`, in points, and return it."""
    paragraph = word.add_paragraph()
    paragraph.paragraph_format.space_after = Pt(2)
    paragraph.paragraph_format.line_spacing = 1.0
    run = paragraph.add_run(printable(text) if text else "")
    run.font.size = Pt(size)
    for name, value in font.items():
        setattr(run.font, name, value)
    if not text:
        paragraph.paragraph_format.space_after = Pt(0)
    return paragraph


def add_lines(word: WordDocument, lines: Sequence[str], size: float, **font: Any) -> None:
    """Add lines of code as one paragraph in font size `size`, in points."""
    first, *rest = lines
    run = add_text(word, first, size, **font).runs[0]
    for line in rest:
        run.add_break()
        run.add_text(printable(line) if line else "")


def _small(word: WordDocument, label: str, text: str) -> None:
    paragraph = add_text(word, label, NOTES, italic=True) if label else add_text(word, "", NOTES)
    paragraph.paragraph_format.space_after = Pt(2)
    if label:
        paragraph.runs[0].text = printable(label) + " "
    paragraph.add_run(printable(text)).font.size = Pt(NOTES)


# --- a table ------------------------------------------------------------------------------------


def _panels(block: tuple[Table, ...], page: int) -> Iterator[tuple[tuple[Table, ...], list[int]]]:
    """Yield the panels of a block of tables, with the widths of their columns in points, labels first."""

    label, columns = label_width(block, _measure), []
    for i, text in enumerate(block[0].headings):
        # Headings are wrapped at 70 points; bold letters are wider by a tenth
        head = max(map(_measure, wrapped(text, 70, _measure))) * 1.1
        columns.append(ceil(max([head, *(_measure(row.cells[i]) for table in block for row in table.rows)])))
    # a column of long labels is at least 140 points wide
    for room, tables, widths in panels(block, label, columns, page - GAP, GAP, 140):
        yield tables, [width + GAP for width in (room, *widths)]


def _require_style(word: WordDocument) -> None:
    """Add the paragraph style of tables, by which users can change the look of all tables in Word."""
    if STYLE in [style.name for style in word.styles]:
        return
    style: Any = word.styles.add_style(STYLE, WD_STYLE_TYPE.PARAGRAPH)
    style.base_style = word.styles["Normal"]
    style.font.size = Pt(SIZE)
    style.paragraph_format.space_after = style.paragraph_format.space_before = Pt(1)
    style.paragraph_format.line_spacing = 1.0


def _measure(text: str) -> int:
    # Common fonts are at most 30 % wider than Computer Modern, which `points` measures
    return ceil(points(text) * 1.3 * SIZE / 10)


def _add_table(word: WordDocument, table: Table, widths: list[int], title: str) -> None:
    grid = word.add_table(rows=0, cols=len(widths))
    grid.autofit = False
    properties = grid._tbl.tblPr
    for old in properties.findall(qn("w:tblLook")):  # added again below, in the order of the schema
        properties.remove(old)
    margins = (_element(f"w:{side}", w=str(GAP * 10), type="dxa") for side in ("left", "right"))
    properties.append(_element("w:tblCellMar", *margins))
    properties.append(_element("w:tblLook", firstRow="1", firstColumn="1", noHBand="1", noVBand="1"))
    properties.append(_element("w:tblCaption", val=printable(table.title or title or "Table")))
    for column, width in zip(grid.columns, widths, strict=True):
        column.width = Pt(width)
    align = "l" + table.align
    head = _add_row(grid, widths)
    head._tr.get_or_add_trPr().append(_element("w:tblHeader"))
    for cell, text, side in zip(head.cells, (table.title, *table.headings), align, strict=True):
        _fill(cell, text, side, bold=True)
        _rules(cell, top=12, bottom=6)
    last = None
    for group, row in below_headings(table.rows):
        if group:
            line = _add_row(grid, widths)
            _fill(line.cells[0].merge(line.cells[-1]), group, "l", italic=True)
        last = _add_row(grid, widths)
        for cell, text, side in zip(last.cells, (row.label, *row.cells), align, strict=True):
            _fill(cell, text, side)
            if row.rule:
                _rules(cell, top=6)
        if row.group:
            last.cells[0].paragraphs[0].paragraph_format.left_indent = Pt(SIZE)
    for cell in (last or head).cells:
        _rules(cell, **({"top": 12, "bottom": 12} if last is None else {"bottom": 12}))
    for line in grid.rows[:-1] if len(grid.rows) < 12 else grid.rows[:2]:
        for cell in line.cells:
            cell.paragraphs[0].paragraph_format.keep_with_next = True


def _add_row(grid: Any, widths: list[int]) -> Any:
    row = grid.add_row()
    row._tr.get_or_add_trPr().append(_element("w:cantSplit"))
    for cell, width in zip(row.cells, widths, strict=True):
        cell.width = Pt(width)
    return row


def _fill(cell: Any, text: str, side: str, **font: bool) -> None:
    """Write text into a cell: numbers with a minus sign and without line breaks, stars as superscripts."""
    paragraph = cell.paragraphs[0]
    paragraph.style = STYLE
    paragraph.alignment = _SIDES[side]
    shown, stars = without_stars(text)
    if isinstance(text, Figures):
        shown = shown.replace("-", "−").replace(" ", "\N{NO-BREAK SPACE}")
    for part, high in ((shown, False), (stars, True)):
        if part:
            run = paragraph.add_run(part if isinstance(text, Figures) else printable(part))
            run.font.superscript = high or None
            for name, value in font.items():
                setattr(run.font, name, value)


def _rules(cell: Any, **eighths: int) -> None:
    """Draw rules at the sides of a cell; widths are in eighths of a point."""
    properties = cell._tc.get_or_add_tcPr()
    borders = properties.find(qn("w:tcBorders"))
    if borders is None:
        borders = _element("w:tcBorders")
        properties.append(borders)
    for side in ("top", "bottom"):
        if side in eighths:
            size = str(eighths[side])
            borders.append(_element(f"w:{side}", val="single", sz=size, space="0", color="auto"))


# --- elements -----------------------------------------------------------------------------------


def _element(tag: str, /, *children: Any, **attributes: str) -> Any:
    made = OxmlElement(tag)
    for key, value in attributes.items():
        made.set(qn(f"w:{key}"), value)
    for child in children:
        made.append(child)
    return made


def _field(code: str, result: str) -> Iterator[Any]:
    """Yield the elements of a Word field with the given code and its present result."""
    yield _element("w:fldChar", fldCharType="begin")
    instruction = _element("w:instrText")
    instruction.set(qn("xml:space"), "preserve")
    instruction.text = code
    yield instruction
    yield _element("w:fldChar", fldCharType="separate")
    text = _element("w:t")
    text.text = result
    yield text
    yield _element("w:fldChar", fldCharType="end")


# --- files ----------------------------------------------------------------------------------------
