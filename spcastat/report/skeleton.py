"""What every page has: its head, an index of its sections, and style that comes with the package."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from html import escape
from importlib.resources import files

from spcastat.labels import name_text
from spcastat.tables.html import STYLE as TABLE_STYLE

#: No script, no form, no address: what slips through all escapes is still text.
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
    """A part of a page under a heading of its own.

    Attributes
    ----------
    heading : str
    html : tuple of str
    """

    heading: str
    html: tuple[str, ...]


def asset(name: str) -> str:
    """Return a file that lies in ``spcastat/report/assets``."""
    return (files("spcastat.report") / "assets" / name).read_text(encoding="utf-8").strip()


def page_style(*further: str) -> str:
    """Return the style of all pages and of their tables, and then the files that are named."""
    tables = re.sub(r"</?style>", "", TABLE_STYLE).strip()
    return "\n".join([tables, asset("page.css"), *map(asset, further)])


def page_of(title: str, version: str, sections: Sequence[Section]) -> str:
    """Return a page of sections with an index of them.

    Parameters
    ----------
    title : str
        As text; here it is escaped.
    version : str
        Of the package, as text.
    sections : sequence of Section
        Their `html` is taken as it is.
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
