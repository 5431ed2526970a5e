"""Word files, written with python-docx."""

from __future__ import annotations

import io
from collections.abc import Callable, Sequence
from dataclasses import replace
from os import PathLike
from typing import TYPE_CHECKING, Any

from spcastat.config import require_extra
from spcastat.fit.archive import file_path, write_bytes
from spcastat.labels import name_text
from spcastat.show.grid import Document, Layout

if TYPE_CHECKING:
    from docx.document import Document as WordDocument

ENDING = ".docx"


def write_tables(
    path: str | PathLike[str], documents: Sequence[Document], layout: Layout, what: str = "to_docx()"
) -> None:
    """Write the tables of one or more documents; the caption and the label belong to the first document.

    Raises
    ------
    ExtraError
        If python-docx is not installed.
    FileError
        If the file cannot be written, or its name does not end in .docx.
    """
    target = file_path(path, (ENDING,))
    require_extra("docx", "docx", f"{what} for Word", "python-docx")
    from spcastat.show.docx_tables import add_tables

    def fill(word: WordDocument) -> None:
        for place, document in enumerate(documents):
            add_tables(word, document, layout if place == 0 else replace(layout, caption=None, label=None))

    write_word(target, documents[0].title if layout.caption is None else layout.caption, fill)


def write_word(target: PathLike[str], title: str, fill: Callable[[WordDocument], None]) -> None:
    """Write a Word file with the content that `fill` adds; after an error an existing file is unchanged."""
    from datetime import UTC, datetime

    import docx
    from docx.shared import Pt

    from spcastat.show.docx_tables import PAGE

    word = docx.Document()
    section: Any
    for section in word.sections:
        section.left_margin = section.right_margin = (section.page_width - Pt(PAGE)) // 2
    properties = word.core_properties
    properties.title, properties.author, properties.comments = name_text(title)[:255], "spcastat", ""
    properties.created = properties.modified = datetime.now(UTC).replace(tzinfo=None, microsecond=0)
    fill(word)
    buffer = io.BytesIO()
    word.save(buffer)
    write_bytes(target, buffer.getvalue())
