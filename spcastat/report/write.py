"""The report of a fit, as a page or for Word."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from os import PathLike

from spcastat.config import flag, text
from spcastat.engine.inputs import Source
from spcastat.report.contents import Chapter, chapters
from spcastat.report.page import ENDINGS, chapters_page, write_page
from spcastat.report.word import write_chapters
from spcastat.report.word_file import ENDING, require_docx
from spcastat.state import FitState
from spcastat.storage.atomic import file_path
from spcastat.tables import Document, Layout


def write_report(
    state: FitState,
    source: Source | None,
    path: str | PathLike[str],
    title: str | None = None,
    call: str | None = None,
    full_names: bool = True,
    before: Sequence[Chapter] = (),
) -> None:
    """Write the tables, the plots, the call and the versions: one HTML page, or for Word.

    The page needs nothing beside itself, runs nothing, reads on a phone, in the dark and by a screen reader,
    prints, and gives each of its figures as SVG. A file for Word has real tables, whose headings stand on
    every page, and figures of 300 dpi with captions and words for those who do not see them.

    Parameters
    ----------
    path : str or path
        Ending in .html, .htm or not at all for a page, or in .docx for Word, which needs the extra:
        ``pip install 'spcastat[docx]'``.
    title : str, optional
    call : str, optional
        What remakes the fit, instead of `call`.
    full_names : bool
        Whether long names stand in tables in full; otherwise they are shortened, with a key.
    before : sequence of Chapter
        Chapters before those of the fit.

    Raises
    ------
    FileError
        Where the file cannot be written, or has another ending.
    ExtraError
        For Word, where python-docx is not installed.
    OptionError
        For the file that the rows of the fit are read from.
    """
    target = file_path(path, (*ENDINGS, ENDING))
    if source is not None:
        source.spare(target)
    record = state.record
    title = None if title is None else text("title", title)
    call = None if call is None else text("call", call)
    word = target.suffix.lower() == ENDING
    if word:
        require_docx("report()")
    heading = title or f"{'Sparse PCA' if record.sparse else 'PCA'} by {record.method}"
    parts = [*before, *chapters(state, source, call or record.call)]
    if not flag("full_names", full_names):
        parts = list(map(_shortened, parts))
    if word:
        write_chapters(target, heading, parts)
    else:
        write_page(target, chapters_page(heading, record.versions.get("spcastat", ""), parts))


def _shortened(chapter: Chapter) -> Chapter:
    layout = Layout(full_names=False)
    parts = (layout.of(part) if isinstance(part, Document) else part for part in chapter.parts)
    return replace(chapter, parts=tuple(parts))
