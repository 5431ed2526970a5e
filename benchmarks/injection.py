"""Markup in every place that a page shows: ``python -m benchmarks.injection``.

Names of variables, rows, components and data, titles and calls of reports and explorers, and every text of a
saved fit (with a right digest) are replaced by markup that would run. Each page is opened in Chromium, once
as it is and once without its content security policy, its links and buttons are pressed, and each of its
figures is opened as a saved SVG file would be. Nothing may run or be fetched, and no attribute may be there
that acts. Prints one line a case, and ends with 1 if one fails.
"""

from __future__ import annotations

import copy
import json
import re
import sys
import tempfile
import warnings
from collections.abc import Callable, Iterator
from html.parser import HTMLParser
from pathlib import Path
from typing import Any
from urllib.parse import unquote

import pandas as pd

import spcastat as sp
from benchmarks.browser import Tab, browser
from benchmarks.tampering import members_of, sealed
from spcastat.errors import SpcaError

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

Fit = Any


def hostile_rows() -> pd.DataFrame:
    """Return the pitprops under names, and with rows, that are markup."""
    data = sp.datasets.pitprops_sample().iloc[:60]
    names = list(data.columns)
    names[: len(MARKUP)] = MARKUP
    return data.set_axis(names, axis=1).set_axis([f"{MARKUP[i % 13]} {i}" for i in range(60)])


def hostile_fit() -> Fit:
    """Return a fit whose every name is markup, resampled in every way."""
    fit = sp.spca(hostile_rows(), 3, [5, 4, 4], scale=True)
    fit.bootstrap(5), fit.stability(3), fit.split_inference(4), fit.test_loadings(9)
    return fit.rename({f"PC{i + 1}": MARKUP[i] for i in range(3)})


def pages() -> Iterator[tuple[str, Callable[[Path], None]]]:
    """Yield what is attacked, and a function that writes the page."""
    fit = hostile_fit()
    yield "names", fit.report
    path = sp.spca_path(hostile_rows(), 3, cards=[3, 5, 13], scale=True)
    yield "explorer", path.explore
    for i, text in enumerate(MARKUP):
        yield f"title of the explorer {i}", lambda file, text=text: path.explore(file, title=text)
    for i, text in enumerate(MARKUP):
        yield f"title and call {i}", lambda path, text=text: fit.report(path, title=text, call=text)
    yield from _files(fit)


def _files(fit: Fit) -> Iterator[tuple[str, Callable[[Path], None]]]:
    """Yield reports of saved fits with one text after another replaced by markup."""
    with tempfile.TemporaryDirectory() as folder:
        saved = Path(folder, "fit.spca")
        harmless = sp.spca(sp.datasets.pitprops_sample(), 2, 4, formula="~ .", scale=True)
        harmless.bootstrap(5)
        harmless.save(saved)
        whole = saved.read_bytes()
        members = members_of(whole)
        manifest = json.loads(members["manifest.json"])
        for number, place in enumerate(_texts(manifest)):
            changed = copy.deepcopy(manifest)
            node = changed
            for step in place[:-1]:
                node = node[step]
            node[place[-1]] = MARKUP[number % len(MARKUP)]
            saved.write_bytes(sealed(changed, members))
            try:
                with warnings.catch_warnings():
                    warnings.simplefilter("ignore")
                    loaded = sp.load(saved)
            except SpcaError:
                continue
            yield "file: " + ".".join(map(str, place)), loaded.report


def _texts(node: Any, place: tuple[Any, ...] = ()) -> Iterator[tuple[Any, ...]]:
    """Yield where the texts of a manifest stand."""
    below = node.items() if isinstance(node, dict) else enumerate(node) if isinstance(node, list) else ()
    for key, value in below:
        if isinstance(value, str):
            yield (*place, key)
        else:
            yield from _texts(value, (*place, key))


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


def main() -> int:
    """Judge every case."""
    failed = count = 0
    with tempfile.TemporaryDirectory() as folder, browser() as tab:
        for name, write in pages():
            path = Path(folder, "written.html")
            write(path)
            found = judge(tab, path.read_text(encoding="utf-8"), Path(folder))
            found += Elements(path.read_text(encoding="utf-8")).acting
            count += 1
            failed += bool(found)
            print(f"{name}: {'; '.join(found) or 'nothing ran'}", flush=True)
    print(f"{count} pages, {failed} with something that ran")
    return int(failed > 0)


if __name__ == "__main__":
    sys.exit(main())
