"""Markup in the place of names, and what it must not do to a page that is opened in a browser."""

from __future__ import annotations

import re
from html.parser import HTMLParser
from pathlib import Path
from urllib.parse import unquote

import pandas as pd

import spcastat as sp
from tests.show.chromium import Tab

#: What would run, were it let out of the place where it stands.
MARKUP = (
    "<script>ran('script')</script>",
    '"><img src=x onerror=ran("quote")>',
    "'><svg onload=ran('apostrophe')>",
    "</title></style></script><script>ran('closed')</script>",
    "--></svg><script>ran('comment')</script><!--",
    "]]></script><img src=x onerror=ran('cdata')>",
    "<a href=javascript:ran('address')>x</a>",
    '" autofocus onfocus=ran("focus") x="',
    "&lt;script&gt;ran('entity')&lt;/script&gt;",
    "\\u003cscript\\u003eran('escape')\\u003c/script\\u003e",
    "\u2028</script><iframe srcdoc=<script>parent.ran('frame')</script>>",
    "${ran('template')}{{ran('brace')}}`+ran('tick')+`",
    "</pre></td></table><script>ran('table')</script>",
)
#: What the markup calls, and what would have been let in.
WATCH = "window.hurt = []; window.ran = what => { window.hurt.push(what); };"
POLICY = re.compile(r'<meta http-equiv="Content-Security-Policy"[^>]*>')


def hostile_rows() -> pd.DataFrame:
    """Return the pitprops under names, and with rows, that are markup."""
    data = sp.datasets.pitprops_sample().iloc[:60]
    names = list(data.columns)
    names[: len(MARKUP)] = MARKUP
    return data.set_axis(names, axis=1).set_axis([f"{MARKUP[i % 13]} {i}" for i in range(60)])


class Elements(HTMLParser):
    """The elements of a page, and what of their attributes could act."""

    def __init__(self, page: str) -> None:
        super().__init__()
        self.tags: set[str] = set()
        self.acting: list[str] = []
        self.sources: list[str] = []
        self.feed(page)
        self.close()

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        """Note an element."""
        self.tags.add(tag)
        for name, value in attrs:
            if name.startswith("on") or name in ("srcdoc", "autofocus", "action", "formaction"):
                self.acting.append(f"{tag} {name}")
            if name in ("src", "href", "xlink:href") and value:
                if not value.startswith(("data:image/svg+xml,", "#")) and value != "data:,":
                    self.acting.append(f"{tag} {name}={value[:60]}")
                elif tag == "img":
                    self.sources.append(value)


def judge(tab: Tab, page: str, folder: Path) -> list[str]:
    """Return what ran, or was fetched, when a page is opened with and without its policy."""
    found = []
    file = folder / "page.html"
    tab.call("Page.addScriptToEvaluateOnNewDocument", source=WATCH)
    for text in (page, POLICY.sub("", page)):
        file.write_text(text, encoding="utf-8", errors="xmlcharrefreplace")
        tab.open(file)
        tab.js("document.querySelectorAll('a.save, nav a').forEach(a => { a.download ? 0 : a.click(); })")
        buttons = "['on', 'pin', 'back', 'back', 'raw', 'copy']"
        tab.js(f"{buttons}.forEach(id => document.getElementById(id)?.click())")
        found += [f"ran: {what}" for what in tab.js("window.hurt")] + tab.ran()
    for source in Elements(page).sources:
        svg = folder / "figure.svg"
        svg.write_text(unquote(source.partition(",")[2]), encoding="utf-8")
        tab.open(svg)
        found += [f"a figure ran: {what}" for what in tab.js("window.hurt")] + tab.ran()
    return found
