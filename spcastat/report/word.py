"""Tables and reports as files for Word, where python-docx is installed."""

from __future__ import annotations

import io
from collections.abc import Callable, Iterable, Sequence
from os import PathLike
from typing import IO, TYPE_CHECKING, Any

from spcastat.config import require_extra
from spcastat.labels import name_text
from spcastat.report.contents import Chapter, Content, Lines
from spcastat.report.pictures import Picture
from spcastat.storage.atomic import file_path, write_file
from spcastat.tables import Document, Layout

if TYPE_CHECKING:
    from docx.document import Document as WordDocument

#: Dots of a picture for an inch, and inches of a page between its margins.
DPI, PAGE = 300, 6.5
#: Points of code and formulas.
CODE = 8.5


def require_docx(what: str) -> Any:
    """Return the module of python-docx.

    Raises
    ------
    ExtraError
        Where it is not installed; `what` is what needs it.
    """
    return require_extra("docx", "docx", f"{what} for Word", "python-docx")


def write_tables(
    path: str | PathLike[str], documents: Sequence[Document], layout: Layout, what: str = "as_docx()"
) -> None:
    """Write tables of one or more documents; caption and label are those of the first.

    Raises
    ------
    ExtraError
        Where python-docx is not installed.
    FileError
        Where the file cannot be written.
    """
    from dataclasses import replace

    target = file_path(path)
    require_docx(what)
    from spcastat.tables.word import add_tables

    def fill(word: WordDocument) -> None:
        for place, document in enumerate(documents):
            add_tables(word, document, layout if place == 0 else replace(layout, caption=None, label=None))

    _write(target, documents[0].title if layout.caption is None else layout.caption, fill)


def write_chapters(target: PathLike[str], title: str, chapters: Iterable[Chapter]) -> None:
    """Write chapters with their headings; see :func:`write_tables` for what is raised."""

    def fill(word: WordDocument) -> None:
        word.add_heading(name_text(title), 0)
        for chapter in chapters:
            word.add_heading(name_text(chapter.heading), 1)
            for part in chapter.parts:
                _add(word, part)

    _write(target, title, fill)


def _write(target: PathLike[str], title: str, fill: Callable[[WordDocument], None]) -> None:
    from datetime import UTC, datetime

    import docx
    from docx.shared import Inches

    word = docx.Document()
    for section in word.sections:
        section.left_margin = section.right_margin = (section.page_width - Inches(PAGE)) // 2  # type: ignore
    properties = word.core_properties
    properties.title, properties.author, properties.comments = name_text(title)[:255], "spcastat", ""
    properties.created = properties.modified = datetime.now(UTC).replace(tzinfo=None, microsecond=0)
    fill(word)
    buffer = io.BytesIO()
    word.save(buffer)

    def write(file: IO[bytes]) -> None:
        file.write(buffer.getvalue())

    write_file(target, write)


def _add(word: WordDocument, part: Content) -> None:
    from spcastat.tables.word import add_tables, add_text

    if isinstance(part, Picture):
        _add_picture(word, part)
    elif isinstance(part, Lines):
        if part.before:
            word.add_paragraph(name_text(part.before))
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
