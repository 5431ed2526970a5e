"""A report as a file for Word."""

from __future__ import annotations

import io
from collections.abc import Iterable
from os import PathLike
from typing import TYPE_CHECKING

from spcastat.labels import name_text
from spcastat.report.contents import Chapter, Content, Lines
from spcastat.report.pictures import Picture
from spcastat.report.word_file import PAGE, write_word

if TYPE_CHECKING:
    from docx.document import Document as WordDocument

#: Dots of a picture for an inch.
DPI = 300
#: Points of code and formulas.
CODE = 8.5


def write_chapters(target: PathLike[str], title: str, chapters: Iterable[Chapter]) -> None:
    """Write chapters with their headings."""

    def fill(word: WordDocument) -> None:
        word.add_heading(name_text(title), 0)
        for chapter in chapters:
            word.add_heading(name_text(chapter.heading), 1)
            for part in chapter.parts:
                _add(word, part)

    write_word(target, title, fill)


def _add(word: WordDocument, part: Content) -> None:
    from spcastat.tables.word import add_tables, add_text

    if isinstance(part, Picture):
        _add_picture(word, part)
    elif isinstance(part, Lines):
        if part.before:
            word.add_paragraph(name_text(part.before)).paragraph_format.keep_with_next = True
        for line in part.lines:
            add_text(word, line, CODE, name="Courier New")
        for text in part.after:
            add_text(word, text, CODE)
    else:
        add_tables(word, part)


def _add_picture(word: WordDocument, picture: Picture) -> None:
    """Add a picture of 300 dpi with its caption, and what it shows in words."""
    from docx.shared import Inches

    from spcastat.tables.word import add_caption

    file = io.BytesIO(picture.saved("png", DPI))
    shape = word.add_picture(file, width=Inches(min(picture.width, PAGE)))
    word.paragraphs[-1].paragraph_format.keep_with_next = True
    about = shape._inline.docPr
    about.set("descr", name_text(picture.alt))
    about.set("name", name_text(picture.name))
    add_caption(word, "Figure", picture.caption or picture.alt)
