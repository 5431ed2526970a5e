"""The report of a fit, as an HTML page, a Word file, or a workbook of its tables."""

from __future__ import annotations

import io
from collections.abc import Callable, Iterable, Sequence
from dataclasses import replace
from os import PathLike
from typing import TYPE_CHECKING, Any

from spcastat.config import flag, require_extra, text, whole_number
from spcastat.engine.inputs import Source
from spcastat.labels import printable
from spcastat.report.chapters import Chapter, Content, Lines, Picture, chapters
from spcastat.report.docx_file import ENDING, write_word
from spcastat.report.html_page import ENDINGS, chapters_page
from spcastat.report.summary import summarise
from spcastat.report.workbook import fit_sheets, write_workbook
from spcastat.state import FitState
from spcastat.storage.atomic import file_path, write_bytes
from spcastat.tables import Arrangement, Document, Layout

if TYPE_CHECKING:
    from docx.document import Document as WordDocument


def write_report(
    state: FitState,
    source: Source | None,
    by_row: Callable[[Any, str], Any],
    before: Sequence[Chapter],
    path: str | PathLike[str],
    *,
    title: str | None = None,
    call: str | None = None,
    full_names: bool = True,
    sort: bool | None = None,
    max_rows: int | None = None,
    groups: Any = None,
    digits: int = 3,
    cut: float = 0.0,
    row_groups: Any = None,
) -> None:
    """Write a report with tables, plots, the call and the versions, as one HTML page or a Word file.

    The page is self-contained, has no scripts, works on phones, in dark mode, with screen readers and in
    print, and offers each figure as SVG. A Word file has real tables, whose headings are repeated on every
    page, and figures of 300 dpi with captions and text alternatives. The report of a choice begins with the
    choice and its plot.

    Parameters
    ----------
    state : FitState
    source : Source or None
    by_row : callable
        Returns values for the rows of the fit, given the values or the name of a column.
    before : sequence of Chapter
        Chapters placed before those of the fit.
    path : str or path
        A name with the extension .html or .htm, or without one, for a page; with .docx for Word, which needs
        an optional dependency: ``pip install 'spcastat[docx]'``.
    title : str, optional
    call : str, optional
        The code that reproduces the fit, if it is not the recorded `call`.
    full_names : bool
        Whether the tables have long names in full; otherwise names are shortened, with a key.
    sort, max_rows, groups, digits, cut
        Which variables the tables show, in which order, and how: see `summary`. `groups` of variables are
        also used in the figure of the loadings.
    row_groups : Series, Categorical or array of length n, optional
        Groups of rows, for colours and markers in the figures, as `groups` of a biplot.

    Raises
    ------
    FileError
        If the file cannot be written, or its name has another extension.
    ExtraError
        If a Word file is requested and python-docx is not installed.
    OptionError
        If `path` is the file from which the rows of the fit are read.
    """
    row_groups = by_row(row_groups, "groups")
    arrangement = Arrangement(sort, max_rows, groups, cut)
    digits = whole_number("digits", digits, 0, 10)
    target = file_path(path, (*ENDINGS, ENDING))
    if source is not None:
        source.spare(target)
    record = state.record
    title = None if title is None else text("title", title)
    call = None if call is None else text("call", call)
    word = target.suffix.lower() == ENDING
    if word:
        require_extra("docx", "docx", "report() for Word", "python-docx")
    heading = title or f"{'Sparse PCA' if record.sparse else 'PCA'} by {record.method}"
    parts = [*before, *chapters(state, source, call or record.call, arrangement, digits, row_groups)]
    if not flag("full_names", full_names):
        parts = list(map(_shortened, parts))
    if word:
        _write_word(target, heading, parts)
    else:
        page = chapters_page(heading, record.versions.get("spcastat", ""), parts)
        write_bytes(target, page.encode("utf-8", "xmlcharrefreplace"))


def to_excel(state: FitState, source: Source | None, path: str | PathLike[str]) -> None:
    """Write a workbook with a sheet for each table of the fit, numbers in full.

    The sheets are loadings, variances, correlations, shares, means and scales, scores and distances of rows
    in memory, and results of resampling; the first sheet describes the fit. It needs an optional dependency:
    ``pip install 'spcastat[excel]'``.

    Parameters
    ----------
    path : str or path
        Ending in .xlsx.

    Raises
    ------
    ExtraError
        If openpyxl is not installed.
    FileError
        If the file cannot be written, or does not end in .xlsx.
    OptionError
        If there are more rows or variables than a sheet can hold, or the rows of the fit are read from this
        file.
    """
    if source is not None:
        source.spare(file_path(path))
    record, document = state.record, summarise(state, source, max_rows=1)._document()
    versions = ", ".join(f"{name} {version}" for name, version in record.versions.items())
    more = [("Call", record.call), ("Versions", versions), *(("Note", note) for note in document.notes)]
    write_workbook(path, fit_sheets(state, source), [("Fit", document.title), *document.facts, *more])


def _shortened(chapter: Chapter) -> Chapter:
    layout = Layout(full_names=False)
    parts = (layout.of(part) if isinstance(part, Document) else part for part in chapter.parts)
    return replace(chapter, parts=tuple(parts))


# --- chapters in Word ------------------------------------------------------------------------------


def _write_word(target: PathLike[str], title: str, chapters: Iterable[Chapter]) -> None:
    """Write chapters with their headings to a Word file."""

    def fill(word: WordDocument) -> None:
        word.add_heading(printable(title), 0)
        for chapter in chapters:
            word.add_heading(printable(chapter.heading), 1)
            for part in chapter.parts:
                _add(word, part)

    write_word(target, title, fill)


def _add(word: WordDocument, part: Content) -> None:
    from spcastat.tables.docx_tables import NOTES, add_tables, add_text

    if isinstance(part, Picture):
        _add_picture(word, part)
    elif isinstance(part, Lines):
        if part.before:
            word.add_paragraph(printable(part.before)).paragraph_format.keep_with_next = True
        for line in part.lines:
            add_text(word, line, NOTES, name="Courier New")
        for text in part.after:
            add_text(word, text, NOTES)
    else:
        add_tables(word, part)


def _add_picture(word: WordDocument, picture: Picture) -> None:
    """Add a picture of 300 dpi with its caption and its text alternative."""
    from docx.shared import Inches

    from spcastat.tables.docx_tables import PAGE, add_caption

    # 300 dots per inch
    file = io.BytesIO(picture.saved("png", 300))
    shape = word.add_picture(file, width=Inches(min(picture.width, PAGE / 72)))
    word.paragraphs[-1].paragraph_format.keep_with_next = True
    about = shape._inline.docPr
    about.set("descr", printable(picture.alt))
    about.set("name", printable(picture.name))
    add_caption(word, "Figure", picture.caption or picture.alt)
