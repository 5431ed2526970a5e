"""A report as one self-contained HTML page: its head, index, style, tables and figures."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from html import escape
from importlib.resources import files
from os import PathLike

from spcastat.labels import name_text
from spcastat.report.chapters import Chapter, Content, Lines, Picture, picture_html
from spcastat.storage.atomic import write_bytes
from spcastat.tables import Document, Table, render
from spcastat.tables.html import STYLE
from spcastat.tables.table_layout import blocks

#: Extensions that the name of a page may have.
ENDINGS = ("", ".html", ".htm")
#: Scripts, forms and external addresses are forbidden, in case text slips through all escaping.
POLICY = "default-src 'none'; img-src data:; style-src 'unsafe-inline'; base-uri 'none'; form-action 'none'"

PAGE = """<!DOCTYPE html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta http-equiv="Content-Security-Policy" content="{policy}">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta name="generator" content="spcastat {version}">
<meta name="color-scheme" content="light dark">
<link rel="icon" href="data:,">
<title>{title}</title>
<style>
{style}
</style>
</head>
<body class="{kind}">
{body}
</body>
</html>
"""


@dataclass(frozen=True)
class Section:
    """A part of a page with its own heading.

    Attributes
    ----------
    heading : str
    html : tuple of str
    """

    heading: str
    html: tuple[str, ...]


def asset(name: str) -> str:
    """Return the text of a file in ``spcastat/report/assets``."""
    return (files("spcastat.report") / "assets" / name).read_text(encoding="utf-8").strip()


def page_style(*further: str) -> str:
    """Return the CSS of all pages and their tables, followed by that of the files named in `further`."""
    tables = re.sub(r"</?style>", "", STYLE).strip()
    return "\n".join([tables, asset("page.css"), *map(asset, further)])


def page_of(title: str, version: str, sections: Sequence[Section]) -> str:
    """Return a page of sections with an index.

    Parameters
    ----------
    title : str
        Plain text, which is escaped here.
    version : str
        The version of the package.
    sections : sequence of Section
        Their `html` is inserted without escaping.
    """
    slugs = list(_slugs(section.heading for section in sections))
    entries = "\n".join(
        f'<li><a href="#{slug}">{escape(section.heading)}</a></li>'
        for slug, section in zip(slugs, sections, strict=True)
    )
    parts = [
        f'<section aria-labelledby="{slug}">\n<h2 id="{slug}">{escape(section.heading)}</h2>\n'
        + "\n".join(section.html)
        + "\n</section>"
        for slug, section in zip(slugs, sections, strict=True)
    ]
    heading = escape(name_text(title))
    body = (
        '<a class="skip" href="#content">To the content</a>\n'
        f"<header>\n<h1>{heading}</h1>\n</header>\n"
        f'<nav aria-labelledby="index">\n<h2 id="index">On this page</h2>\n<ol>\n{entries}\n</ol>\n</nav>\n'
        '<main id="content" tabindex="-1">\n' + "\n".join(parts) + "\n</main>\n"
        f"<footer><p>Made by spcastat {escape(version)}. This page needs nothing beside itself.</p></footer>"
    )
    return PAGE.format(
        policy=escape(POLICY),
        version=escape(version),
        title=heading,
        style=page_style(),
        kind="indexed",
        body=body,
    )


def _slugs(headings: Iterable[str]) -> Iterable[str]:
    seen: dict[str, int] = {}
    for heading in headings:
        slug = re.sub(r"[^a-z0-9]+", "-", heading.lower()).strip("-") or "section"
        seen[slug] = seen.get(slug, 0) + 1
        yield slug if seen[slug] == 1 else f"{slug}-{seen[slug]}"


# --- parts of the page ---------------------------------------------------------------------------


def chapters_page(title: str, version: str, chapters: Iterable[Chapter]) -> str:
    """Return chapters as a page."""
    sections = [Section(chapter.heading, tuple(map(_html, chapter.parts))) for chapter in chapters]
    return page_of(title, version, sections)


def write_page(target: PathLike[str], page: str) -> None:
    """Write a page; if that fails, leave an existing file unchanged."""
    write_bytes(target, page.encode("utf-8", "xmlcharrefreplace"))


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
    for block in blocks(document.tables):
        parts.append(_frame(block, document.title))
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
