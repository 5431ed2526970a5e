"""Word files, written by python-docx (optional), with tables in booktabs style and repeated headings."""

from __future__ import annotations

import io
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace
from datetime import UTC, datetime
from math import ceil
from os import PathLike
from typing import Any

from docx import Document as new_document
from docx.document import Document as WordDocument
from docx.enum.style import WD_STYLE_TYPE
from docx.enum.text import WD_ALIGN_PARAGRAPH
from docx.oxml import OxmlElement
from docx.oxml.ns import qn
from docx.shared import Inches, Pt, RGBColor

from spcastat.fit.archive import file_path, write_bytes
from spcastat.labels import name_text, printable
from spcastat.show import grid
from spcastat.show.latex import points

#: In points: width of the text area, sum of the left and right margins of a cell, and font sizes of tables,
#: and of notes and code.
TEXT_WIDTH, CELL_MARGINS, TABLE_FONT, NOTES_FONT = 468, 11, 9, 8.5
#: Name of the paragraph style in tables.
PARAGRAPH_STYLE = "Table Text"
_PARAGRAPH_SIDES = {
    "l": WD_ALIGN_PARAGRAPH.LEFT,
    "c": WD_ALIGN_PARAGRAPH.CENTER,
    "r": WD_ALIGN_PARAGRAPH.RIGHT,
}


def add_tables(word: WordDocument, document: grid.Document, layout: grid.Layout | None = None) -> None:
    """Add the tables of a document, with its caption above and its facts and notes below.

    Tables wider than ``layout.width`` characters are split; 80 is the width of the page.
    """
    layout = layout or grid.Layout()
    document = layout.of(document)
    _require_style(word)
    if document.heading and document.tables:
        add_caption(word, "Table", document.heading, document.label)
    for block in grid.blocks(document.tables):
        for tables, widths in _panels(block, TEXT_WIDTH * layout.width // 80):
            for table in tables:
                _add_table(word, table, widths, document.heading)
                add_text(word, "", TABLE_FONT // 2)
    for label, text in document.facts:
        _note(word, f"{label}: ", text)
    for note in document.all_notes:
        _note(word, "", note)
    for short, full_name in document.key:
        _note(word, f"{short}: ", full_name)


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
    number = (
        sum(f" SEQ {kind} " in (element.text or "") for element in word.element.iter(qn("w:instrText"))) + 1
    )
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


def _note(word: WordDocument, label: str, text: str) -> None:
    paragraph = add_text(word, label, NOTES_FONT, italic=True) if label else add_text(word, "", NOTES_FONT)
    paragraph.paragraph_format.space_after = Pt(2)
    if label:
        paragraph.runs[0].text = printable(label) + " "
    paragraph.add_run(printable(text)).font.size = Pt(NOTES_FONT)


# --- a table ------------------------------------------------------------------------------------


def _panels(block: tuple[grid.Table, ...], page: int) -> Iterator[tuple[tuple[grid.Table, ...], list[int]]]:
    """Yield the panels of a block of tables, with their column widths in points, label column first."""

    label, columns = grid.label_width(block, _measure), []
    for i, text in enumerate(block[0].headings):
        # Headings are wrapped at 70 points; bold letters are 10 % wider
        head = max(map(_measure, grid.wrapped(text, 70, _measure))) * 1.1
        columns.append(ceil(max([head, *(_measure(row.cells[i]) for table in block for row in table.rows)])))
    # a column of long labels is at least 140 points wide
    for room, tables, widths in grid.panels(block, label, columns, page - CELL_MARGINS, CELL_MARGINS, 140):
        yield tables, [width + CELL_MARGINS for width in (room, *widths)]


def _require_style(word: WordDocument) -> None:
    """Add the paragraph style of tables, with which users can change the look of all tables in Word."""
    if PARAGRAPH_STYLE in [style.name for style in word.styles]:
        return
    style: Any = word.styles.add_style(PARAGRAPH_STYLE, WD_STYLE_TYPE.PARAGRAPH)
    style.base_style = word.styles["Normal"]
    style.font.size = Pt(TABLE_FONT)
    style.paragraph_format.space_after = style.paragraph_format.space_before = Pt(1)
    style.paragraph_format.line_spacing = 1.0


def _measure(text: str) -> int:
    # Common fonts are at most 30 % wider than Computer Modern, which `points` measures
    return ceil(points(text) * 1.3 * TABLE_FONT / 10)


def _add_table(word: WordDocument, table: grid.Table, widths: list[int], title: str) -> None:
    new_table = _empty_table(word, widths, printable(table.title or title or "Table"))
    align = "l" + table.align
    head = _add_row(new_table, widths)
    head._tr.get_or_add_trPr().append(_element("w:tblHeader"))
    for cell, text, side in zip(head.cells, (table.title, *table.headings), align, strict=True):
        _fill(cell, text, side, bold=True)
        _rules(cell, top=12, bottom=6)
    last_group = None
    for group, row in grid.below_headings(table.rows):
        if group:
            line = _add_row(new_table, widths)
            _fill(line.cells[0].merge(line.cells[-1]), group, "l", italic=True)
        last_group = _add_row(new_table, widths)
        for cell, text, side in zip(last_group.cells, (row.label, *row.cells), align, strict=True):
            _fill(cell, text, side)
            if row.rule:
                _rules(cell, top=6)
        if row.group:
            last_group.cells[0].paragraphs[0].paragraph_format.left_indent = Pt(TABLE_FONT)
    for cell in (last_group or head).cells:
        _rules(cell, **({"top": 12, "bottom": 12} if last_group is None else {"bottom": 12}))
    for line in new_table.rows[:-1] if len(new_table.rows) < 12 else new_table.rows[:2]:
        for cell in line.cells:
            cell.paragraphs[0].paragraph_format.keep_with_next = True


def _empty_table(word: WordDocument, widths: list[int], caption: str) -> Any:
    """Add a table without rows, with its column widths and margins, to a document, and return it."""
    new_table = word.add_table(rows=0, cols=len(widths))
    new_table.autofit = False
    properties = new_table._tbl.tblPr
    for look in properties.findall(qn("w:tblLook")):  # added again below, in the order of the schema
        properties.remove(look)
    margins = (_element(f"w:{side}", w=str(CELL_MARGINS * 10), type="dxa") for side in ("left", "right"))
    properties.append(_element("w:tblCellMar", *margins))
    properties.append(_element("w:tblLook", firstRow="1", firstColumn="1", noHBand="1", noVBand="1"))
    properties.append(_element("w:tblCaption", val=caption))
    for column, width in zip(new_table.columns, widths, strict=True):
        column.width = Pt(width)
    return new_table


def _add_row(table: Any, widths: list[int]) -> Any:
    row = table.add_row()
    row._tr.get_or_add_trPr().append(_element("w:cantSplit"))
    for cell, width in zip(row.cells, widths, strict=True):
        cell.width = Pt(width)
    return row


def _fill(cell: Any, text: str, side: str, **font: bool) -> None:
    """Write text into a cell; numbers get a minus sign and no line breaks, and stars are superscripts."""
    paragraph = cell.paragraphs[0]
    paragraph.style = PARAGRAPH_STYLE
    paragraph.alignment = _PARAGRAPH_SIDES[side]
    number_text, stars = grid.without_stars(text)
    if isinstance(text, grid.Figures):
        number_text = number_text.replace("-", "−").replace(" ", "\N{NO-BREAK SPACE}")
    for part, high in ((number_text, False), (stars, True)):
        if part:
            run = paragraph.add_run(part if isinstance(text, grid.Figures) else printable(part))
            run.font.superscript = high or None
            for name, value in font.items():
                setattr(run.font, name, value)


def _rules(cell: Any, **eighths: int) -> None:
    """Draw rules at the edges of a cell; widths are in eighths of a point."""
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
    new_element = OxmlElement(tag)
    for key, value in attributes.items():
        new_element.set(qn(f"w:{key}"), value)
    for child in children:
        new_element.append(child)
    return new_element


def _field(code: str, result: str) -> Iterator[Any]:
    """Yield the elements of a Word field with the given code and current result."""
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


def write_tables(path: str | PathLike[str], documents: Sequence[grid.Document], layout: grid.Layout) -> None:
    """Write the tables of one or more documents; the caption and the label belong to the first document.

    Raises
    ------
    FileError
        If the file cannot be written, or its name does not end in .docx.
    """
    target = file_path(path, (".docx",))
    word = _empty_document(layout.caption or documents[0].title)
    for document in documents:
        add_tables(word, document, layout)
        layout = replace(layout, caption=None, label=None)
    _save(word, target)


def write_chapters(target: PathLike[str], title: str, chapters: Iterable[grid.Chapter]) -> None:
    """Write the chapters of a report with their headings."""
    word = _empty_document(title)
    word.add_heading(printable(title), 0)
    for chapter in chapters:
        word.add_heading(printable(chapter.heading), 1)
        for part in chapter.parts:
            if isinstance(part, grid.Picture):
                _add_picture(word, part)
            elif isinstance(part, grid.Lines):
                _add_lines(word, part)
            else:
                add_tables(word, part)
    _save(word, target)


def _add_lines(word: WordDocument, part: grid.Lines) -> None:
    """Add lines of code as one paragraph, with the texts before and after them."""
    if part.lead:
        word.add_paragraph(printable(part.lead)).paragraph_format.keep_with_next = True
    if part.lines:
        first_line, *tail = part.lines
        run = add_text(word, first_line, NOTES_FONT, name="Courier New").runs[0]
        for line in tail:
            run.add_break()
            run.add_text(printable(line) if line else "")
    for text in part.tail:
        add_text(word, text, NOTES_FONT)


def _add_picture(word: WordDocument, picture: grid.Picture) -> None:
    """Add a picture of 300 dpi with its caption and its text alternative."""
    file = io.BytesIO(picture.saved("png", 300))
    shape = word.add_picture(file, width=Inches(min(picture.width, TEXT_WIDTH / 72)))
    word.paragraphs[-1].paragraph_format.keep_with_next = True
    about = shape._inline.docPr
    about.set("descr", printable(picture.alt))
    about.set("name", printable(picture.name))
    add_caption(word, "Figure", picture.caption or picture.alt)


def _empty_document(title: str) -> WordDocument:
    """Return an empty document with margins and properties set."""
    word = new_document()
    section: Any
    for section in word.sections:
        section.left_margin = section.right_margin = (section.page_width - Pt(TEXT_WIDTH)) // 2
    properties = word.core_properties
    properties.title, properties.author, properties.comments = name_text(title)[:255], "spcastat", ""
    properties.created = properties.modified = datetime.now(UTC).replace(tzinfo=None, microsecond=0)
    return word


def _save(word: WordDocument, target: PathLike[str]) -> None:
    """Write the file; if an error occurs, an existing file is not changed."""
    buffer = io.BytesIO()
    word.save(buffer)
    write_bytes(target, buffer.getvalue())
