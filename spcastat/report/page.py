"""A fit as one HTML page that needs nothing beside itself."""

from __future__ import annotations

from collections.abc import Iterable
from html import escape
from os import PathLike
from typing import IO

from spcastat.report.contents import Chapter, Content, Lines
from spcastat.report.page_tables import document_html, lines_html
from spcastat.report.pictures import Picture, picture_html
from spcastat.report.skeleton import Section, page_of
from spcastat.storage.atomic import write_file

#: Endings of the names of pages, which need none.
ENDINGS = ("", ".html", ".htm")


def chapters_page(title: str, version: str, chapters: Iterable[Chapter]) -> str:
    """Return chapters as a page."""
    return page_of(title, version, list(map(_section, chapters)))


def write_page(target: PathLike[str], page: str) -> None:
    """Write a page whole, or leave what was there."""
    encoded = page.encode("utf-8", "xmlcharrefreplace")

    def write(file: IO[bytes]) -> None:
        file.write(encoded)

    write_file(target, write)


def _section(chapter: Chapter) -> Section:
    return Section(chapter.heading, tuple(map(_html, chapter.parts)))


def _html(part: Content) -> str:
    """Return a part of a chapter as HTML."""
    if isinstance(part, Picture):
        return picture_html(part)
    if isinstance(part, Lines):
        before = f"<p>{escape(part.before)}</p>" if part.before else ""
        after = "".join(f"\n<p>{escape(text)}</p>" for text in part.after)
        return before + lines_html(list(part.lines)) + after
    return document_html(part)
