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


class Page(HTMLParser):
    """Tags, attributes and text of a page, whose elements must be closed in order."""

    VOID = ("meta", "link", "img", "br", "wbr", "input", "hr")

    def __init__(self, page: str) -> None:
        super().__init__()
        self.open: list[str] = []
        self.tags: list[str] = []
        self.attributes: list[tuple[str, str, str]] = []
        self.text = ""
        self.feed(page)
        self.close()
        assert self.open == []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        """Note an element."""
        self.tags.append(tag)
        self.attributes += [(tag, name, value or "") for name, value in attrs]
        if tag not in self.VOID:
            self.open.append(tag)

    def handle_endtag(self, tag: str) -> None:
        """Require that the last open element is closed."""
        assert tag in self.VOID or self.open.pop() == tag

    def handle_data(self, data: str) -> None:
        """Note text that is shown."""
        if self.open and self.open[-1] != "style":
            self.text += data

    def values(self, tag: str, name: str) -> list[str]:
        """Return the values of an attribute of all elements with this tag."""
        return [value for of, attribute, value in self.attributes if (of, attribute) == (tag, name)]

    def acting(self) -> list[str]:
        """Return the attributes that run something, or fetch something from elsewhere."""
        runs = ("srcdoc", "autofocus", "action", "formaction")
        found = [f"{tag} {name}" for tag, name, _ in self.attributes if name.startswith("on") or name in runs]
        for tag, name, value in self.attributes:
            if name in ("src", "href", "xlink:href") and value and value != "data:,":
                own = value.startswith(("data:image/svg+xml,", "#"))
                found += [] if own else [f"{tag} {name}={value[:60]}"]
        return found


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
    for source in Page(page).values("img", "src"):
        svg = folder / "figure.svg"
        svg.write_text(unquote(source.partition(",")[2]), encoding="utf-8")
        tab.open(svg)
        found += [f"a figure ran: {what}" for what in tab.js("window.hurt")] + tab.ran()
    return found
