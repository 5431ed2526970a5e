"""A report as one self-contained HTML page: its head, index, style, tables and figures."""

from __future__ import annotations

import base64
import hashlib
import re
from collections.abc import Iterable
from html import escape
from importlib.resources import files

from spcastat.labels import name_text
from spcastat.report.chapters import Chapter, Content, Lines, Picture, picture_html
from spcastat.tables import Document, Table, render
from spcastat.tables.html import STYLE
from spcastat.tables.table_layout import blocks

#: Extensions that the name of a page may have.
ENDINGS = ("", ".html", ".htm")
#: Scripts, forms and external addresses are forbidden, in case text slips through all escaping.
POLICY = "default-src 'none'; img-src data:; style-src 'unsafe-inline'; base-uri 'none'; form-action 'none'"


def asset(name: str) -> str:
    """Return the text of a file in ``spcastat/report/assets``."""
    return (files("spcastat.report") / "assets" / name).read_text(encoding="utf-8").strip()


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
