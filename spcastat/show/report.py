"""Reports as one HTML page or a Word document."""

from __future__ import annotations

import base64
import hashlib
import io
import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import replace
from html import escape
from importlib.resources import files
from itertools import chain
from os import PathLike
from typing import TYPE_CHECKING, Any

from spcastat.config import flag, require_extra, text, whole_number
from spcastat.fit.archive import file_path, write_bytes
from spcastat.fit.inputs import Source
from spcastat.fit.state import FitState
from spcastat.labels import name_text, printable
from spcastat.show.chapters import Chapter, Content, Lines, Picture, chapters, picture_html
from spcastat.show.fit_tables import Arrangement
from spcastat.show.grid import Document, Layout, Table, blocks
from spcastat.show.html import STYLE
from spcastat.show.renderings import render
from spcastat.show.summary import OURS, summarise
from spcastat.show.word_file import ENDING, write_word
from spcastat.show.workbook import fit_sheets, write_workbook

if TYPE_CHECKING:
    from docx.document import Document as WordDocument


# --- the HTML page --------------------------------------------------------------------------------


#: Extensions that the name of a page may have.
ENDINGS = ("", ".html", ".htm")
#: Scripts, forms and external addresses are forbidden, in case text slips through all escaping.
POLICY = "default-src 'none'; img-src data:; style-src 'unsafe-inline'; base-uri 'none'; form-action 'none'"


def asset(name: str) -> str:
    """Return the text of a file in ``spcastat/show/assets``."""
    return (files("spcastat.show") / "assets" / name).read_text(encoding="utf-8").strip()


def page_of(title: str, version: str, kind: str, body: str, script: str = "") -> str:
    """Return a page.

    Parameters
    ----------
    title, version : str
        Plain text, which is escaped here; the version of the package.
    kind : {"indexed", "explorer"}
        The class of the body; an explorer has a style sheet of its own.
    body : str
        Inserted without escaping, like the script.
    script : str
        The only script that may run.
    """
    tables = re.sub(r"</?style>", "", STYLE).strip()
    digest = base64.b64encode(hashlib.sha256(script.encode()).digest()).decode()
    return (asset("page.html") + "\n").format(
        policy=escape(POLICY + f"; script-src 'sha256-{digest}'" * bool(script)),
        version=escape(version),
        title=escape(name_text(title)),
        style="\n".join([tables, asset("page.css"), *[asset("explorer.css")] * (kind == "explorer")]),
        kind=kind,
        body=body,
    )


def chapters_page(title: str, version: str, chapters: Iterable[Chapter]) -> str:
    """Return chapters as a page with an index."""
    chapters = list(chapters)
    entries, parts = [], []
    for slug, chapter in zip(_slugs(chapter.heading for chapter in chapters), chapters, strict=True):
        heading, content = escape(chapter.heading), "\n".join(map(_html, chapter.parts))
        entries.append(f'<li><a href="#{slug}">{heading}</a></li>')
        parts.append(
            f'<section aria-labelledby="{slug}">\n<h2 id="{slug}">{heading}</h2>\n{content}\n</section>'
        )
    lines = (
        '<a class="skip" href="#content">To the content</a>',
        f"<header>\n<h1>{escape(name_text(title))}</h1>\n</header>",
        '<nav aria-labelledby="index">\n<h2 id="index">On this page</h2>\n<ol>',
        *entries,
        "</ol>\n</nav>",
        '<main id="content" tabindex="-1">',
        *parts,
        "</main>",
        f"<footer><p>Made by spcastat {escape(version)}. This page needs nothing beside itself.</p></footer>",
    )
    return page_of(title, version, "indexed", "\n".join(lines))


def _slugs(headings: Iterable[str]) -> Iterable[str]:
    seen: dict[str, int] = {}
    for heading in headings:
        slug = re.sub(r"[^a-z0-9]+", "-", heading.lower()).strip("-") or "section"
        seen[slug] = seen.get(slug, 0) + 1
        yield slug if seen[slug] == 1 else f"{slug}-{seen[slug]}"


# --- parts of the page ---------------------------------------------------------------------------


def _html(part: Content) -> str:
    """Return a part of a chapter as HTML."""
    if isinstance(part, Picture):
        return picture_html(part)
    if isinstance(part, Lines):
        before = f"<p>{escape(part.before)}</p>" if part.before else ""
        after = "".join(f"\n<p>{escape(text)}</p>" for text in part.after)
        lines = "".join(f"<span>{escape(line)}</span>" for line in part.lines)
        return f"{before}<pre>{lines}</pre>{after}"
    return document_html(part)


def document_html(document: Document) -> str:
    """Return a document as HTML; tables with the same columns share a region that scrolls and takes focus."""
    parts = [f"<p><strong>{escape(document.title)}</strong></p>"] if document.title else []
    if document.facts:
        facts = (f"<dt>{escape(label)}</dt><dd>{escape(text)}</dd>" for label, text in document.facts)
        parts.append(f"<dl>{''.join(facts)}</dl>")
    parts += [_frame(block, document.title) for block in blocks(document.tables)]
    parts += [f'<p class="note">{escape(note)}</p>' for note in document.all_notes]
    if document.key:
        names = (f"<dt>{escape(short)}</dt><dd>{escape(whole)}</dd>" for short, whole in document.key)
        parts.append(f"<dl>{''.join(names)}</dl>")
    return "\n".join(parts)


def _frame(block: tuple[Table, ...], title: str) -> str:
    """Return tables with the same columns in a region that can be scrolled by keyboard, with a caption."""
    names = escape(" and ".join(filter(None, (table.title for table in block))) or title or "Table")
    bare = tuple(Table(t.title, t.headings, t.rows, t.align, (), t.sparse) for t in block)
    html = render(Document("", tables=bare), "html").replace(STYLE, "")
    if "<caption" not in html:
        html = html.replace(
            '<table class="spcastat">',
            f'<table class="spcastat"><caption class="unseen">{names}</caption>',
            1,
        )
    opening = f'<div class="scroll" role="region" tabindex="0" aria-label="Table: {names}">'
    return f"{opening}\n{html.strip()}\n</div>"


# --- files ----------------------------------------------------------------------------------------


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
    record = state.record
    call = None if call is None else text("call", call)
    kind = "Sparse principal component analysis" if record.sparse else "Principal component analysis"
    heading = f"{kind}{'' if record.paper == OURS else f' by the method {record.method}'}"
    drawn = chapters(state, source, call or record.call, arrangement, digits, row_groups)
    title = heading if title is None else text("title", title) or heading
    write_chapters(path, title, record.versions, source, chain(before, drawn), full_names)


def write_chapters(
    path: str | PathLike[str],
    title: str,
    versions: Mapping[str, str],
    source: Source | None,
    parts: Iterable[Chapter],
    full_names: bool = True,
) -> None:
    """Write chapters as one HTML page or a Word file, as the extension of `path` says.

    Parameters
    ----------
    path : str or path
    title : str
    versions : mapping
        Versions of the packages.
    source : Source or None
        The data, whose files are not overwritten.
    parts : iterable of Chapter
    full_names : bool
        Whether the tables have long names in full.
    """
    target = file_path(path, (*ENDINGS, ENDING))
    if source is not None:
        source.spare(target)
    word = target.suffix.lower() == ENDING
    if word:
        require_extra("docx", "docx", "report() for Word", "python-docx")
    full_names = flag("full_names", full_names)
    parts = list(parts)
    if not full_names:
        parts = list(map(_shortened, parts))
    if word:
        _write_word(target, title, parts)
    else:
        page = chapters_page(title, versions.get("spcastat", ""), parts)
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
    from spcastat.show.docx_tables import NOTES, add_tables, add_text

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

    from spcastat.show.docx_tables import PAGE, add_caption

    # 300 dots per inch
    file = io.BytesIO(picture.saved("png", 300))
    shape = word.add_picture(file, width=Inches(min(picture.width, PAGE / 72)))
    word.paragraphs[-1].paragraph_format.keep_with_next = True
    about = shape._inline.docPr
    about.set("descr", printable(picture.alt))
    about.set("name", printable(picture.name))
    add_caption(word, "Figure", picture.caption or picture.alt)
