"""The report: one page that needs nothing, in a real browser where one is installed."""

from __future__ import annotations

import re
from html.parser import HTMLParser
from pathlib import Path
from urllib.parse import unquote
from xml.etree import ElementTree

import matplotlib as mpl
import matplotlib.pyplot as plt
import numpy as np
import pandas as pd
import pytest

import spcastat as sp
from spcastat.show.report import asset
from tests.show.chromium import CHROMIUM, browser
from tests.show.hostile_markup import MARKUP, Elements, hostile_rows, judge


class Page(HTMLParser):
    """Tags, attributes and text of a page."""

    VOID = ("meta", "link", "img", "br", "wbr")

    def __init__(self, text: str) -> None:
        super().__init__()
        self.open: list[str] = []
        self.tags: list[str] = []
        self.attributes: list[tuple[str, str, str]] = []
        self.text = ""
        self.feed(text)
        self.close()
        assert self.open == []

    def handle_starttag(self, tag, attrs):
        self.tags.append(tag)
        self.attributes += [(tag, name, value or "") for name, value in attrs]
        if tag not in self.VOID:
            self.open.append(tag)

    def handle_endtag(self, tag):
        assert self.open.pop() == tag

    def handle_data(self, data):
        if self.open and self.open[-1] != "style":
            self.text += data


def page_of(fit, path: Path, **options) -> Page:
    fit.report(path, **options)
    return Page(path.read_text(encoding="utf-8"))


@pytest.fixture(scope="module")
def fit():
    """Six components of 60 labelled rows: a page of more rows takes longer to draw, and has nothing else."""
    rows = sp.datasets.pitprops_sample(60)
    rows = rows.set_axis([f"prop{i + 1}" for i in range(len(rows))])
    return sp.spca(rows, k=6, card=[7, 4, 4, 1, 1, 1], effort="quick")


@pytest.fixture(scope="module")
def whole(fit, tmp_path_factory) -> str:
    """The page of a fit with all that a page can have."""
    path = tmp_path_factory.mktemp("report") / "out.html"
    fit.report(path, title="Props & <props>")
    return path.read_text(encoding="utf-8")


def pictures(page: Page) -> list[ElementTree.Element]:
    sources = [value for tag, name, value in page.attributes if (tag, name) == ("img", "src")]
    start = "data:image/svg+xml,"
    assert all(source.startswith(start) for source in sources)
    return [ElementTree.fromstring(unquote(source.removeprefix(start))) for source in sources]


def test_tables_pictures_call_and_versions(fit, whole):
    page = Page(whole)
    assert "Props & <props>" in page.text
    for heading in ("Equations", "Loadings and variance", "Score plots", "Call and versions"):
        assert heading in page.text
    assert page.tags.count("table") == 3
    assert len(pictures(page)) == 5
    assert fit.call in page.text
    assert f"numpy {np.__version__}" in page.text
    first = fit.loadings["PC1"][lambda column: column != 0]
    assert f"PC1 = {first.iloc[0]:.3f} {first.index[0]}" in page.text
    alternatives = [value for tag, name, value in page.attributes if (tag, name) == ("img", "alt")]
    assert all(alternatives)


def test_nothing_is_loaded_and_nothing_runs(whole):
    page = Page(whole)
    assert not {"script", "iframe", "object"} & set(page.tags)
    for _, name, value in page.attributes:
        assert name not in ("src", "href") or value.startswith(("data:", "#"))
        assert not name.startswith("on")
    assert not re.search(r"@import|url\((?!%23|#)", whole)
    for picture in pictures(page):
        assert not [element for element in picture.iter() if element.tag.endswith("script")]


def test_it_reads_on_a_phone_and_prints(whole):
    assert '<meta name="viewport" content="width=device-width' in whole
    assert "@media print" in whole
    assert "@media screen and (max-width" in whole


def test_names_are_escaped(pitprops, tmp_path):
    data = pitprops.rename(columns={"length": "<script>alert(1)</script>", "knots": "a & b"})
    page = page_of(sp.spca(data, k=2, card=8, method="bcd-l0"), tmp_path / "out.html")
    assert "script" not in page.tags
    assert "a & b" in page.text


MANY = pytest.param("many", marks=pytest.mark.slow)


@pytest.mark.parametrize("kind", ["covariance", "one component", "file", "no scores", "flat", MANY])
def test_every_kind_of_fit_has_a_report(kind, pitprops, covariance_fit, fit, tmp_path):
    if kind in ("file", "no scores"):
        fit.save(tmp_path / "fit.spca", scores=kind == "file")
    made = {
        "covariance": lambda: covariance_fit,
        "one component": lambda: sp.spca(pitprops, 1, 4, method="bcd-l0"),
        "file": lambda: sp.load(tmp_path / "fit.spca"),
        "no scores": lambda: sp.load(tmp_path / "fit.spca"),
        "flat": lambda: sp.spca(
            pd.DataFrame({"a": [1.0, 2.0, 4.0], "b": [1.0, 2.0, 4.0]}), 1, 1, method="bcd-l0"
        ),
        "many": lambda: sp.spca(pitprops, 13, method="pca"),
    }[kind]()
    page = page_of(made, tmp_path / "out.html")
    count = {"covariance": 2, "one component": 3, "file": 4, "no scores": 2, "flat": 3, "many": 5}[kind]
    assert len(pictures(page)) == count


def test_pyplot_and_its_settings_are_left_alone(covariance_fit, tmp_path):
    before, figures = dict(mpl.rcParams), plt.get_fignums()
    covariance_fit.report(tmp_path / "out.html")
    assert dict(mpl.rcParams) == before
    assert plt.get_fignums() == figures


def test_a_call_of_ones_own(covariance_fit, tmp_path):
    page = page_of(covariance_fit, tmp_path / "out.html", call="spcastat fit x.csv --k 6")
    assert "spcastat fit x.csv --k 6" in page.text
    assert "sp.spca" not in page.text


# --- for all readers ------------------------------------------------------------------------------


def test_the_index_leads_to_every_section(whole):
    page = Page(whole)
    headings = {value for tag, name, value in page.attributes if (tag, name) == ("h2", "id")} - {"index"}
    links = {value for tag, name, value in page.attributes if (tag, name) == ("a", "href")}
    inner = {link for link in links if link[0] == "#"}
    assert inner == {"#content", *(f"#{heading}" for heading in headings)}
    assert len(headings) == page.tags.count("section")
    for landmark in ("header", "nav", "main", "footer"):
        assert page.tags.count(landmark) == 1


def test_every_figure_can_be_saved_as_svg(whole):
    page = Page(whole)
    shown = [value for tag, name, value in page.attributes if (tag, name) == ("img", "src")]
    saved = [
        value for tag, name, value in page.attributes if (tag, name) == ("a", "href") and value[:5] == "data:"
    ]
    files = [value for tag, name, value in page.attributes if (tag, name) == ("a", "download")]
    assert saved == shown
    assert files == ["loadings.svg", "scree.svg", "biplot.svg", "scores.svg", "diagnostics.svg"]


def test_pictures_are_those_that_matplotlib_draws(whole):
    """Cut decimals move nothing by more than a hundredth of a point; sizes stay."""
    from spcastat.show.report import svg_address

    svg = (
        '<?xml version="1.0"?>\n<svg xmlns="http://www.w3.org/2000/svg" width="10.123456pt">'
        '<!-- a & b --><g transform="scale(0.015625)"><path d="M 1.23456 -7.004999 L 10 2.5"/>\n'
        '<use x="3.14159" y="2"/><title>it\'s</title></g></svg>'
    )
    found = unquote(svg_address(svg).removeprefix("data:image/svg+xml,"))
    assert "M 1.23 -7.00 L 10 2.5" in found
    assert "x='3.14' y='2'" in found
    assert "scale(0.015625)" in found
    assert "10.123456pt" in found
    assert "it&apos;s" in found
    assert "<!--" not in found


def test_tables_have_headers_and_captions(whole):
    page = Page(whole)
    scopes = [value for tag, name, value in page.attributes if (tag, name) == ("th", "scope")]
    assert len(scopes) == page.tags.count("th")
    assert set(scopes) == {"col", "row", "rowgroup"}
    assert page.tags.count("caption") == page.tags.count("table")
    frames = [value for tag, name, value in page.attributes if (tag, name) == ("div", "role")]
    assert frames == ["region"] * page.tags.count("table")


def test_light_dark_phone_and_print_have_their_rules():
    style = asset("page.css")
    for rule in ("prefers-color-scheme: dark", "max-width: 40rem", "@media print", ":focus-visible"):
        assert rule in style


@pytest.mark.slow  # in a browser, too: test_markup_does_not_run_in_a_browser
def test_a_page_of_markup_has_no_element_of_it(tmp_path):
    fit = sp.spca(hostile_rows(), 3, [5, 4, 4], method="bcd-l0")
    fit = fit.rename({f"PC{i + 1}": MARKUP[i] for i in range(3)})
    title = " ".join(MARKUP)
    fit.report(tmp_path / "out.html", title=title, call=title)
    text = (tmp_path / "out.html").read_text(encoding="utf-8")
    page, found = Page(text), Elements(text)
    assert found.acting == []
    assert not found.tags & {"script", "iframe", "object", "embed", "form"}
    shown = " ".join(page.text.split())
    for markup in (*MARKUP[:10], *MARKUP[11:]):
        assert shown.count(markup) >= 2  # in the title and in the call
    for picture in pictures(page):
        assert not [one for one in picture.iter() if one.tag.endswith("script")]
        assert not [name for one in picture.iter() for name in one.attrib if name.startswith("on")]


# --- in a browser ---------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def tab():
    if CHROMIUM is None:
        pytest.skip("no chromium")
    with browser() as one:
        yield one


@pytest.fixture
def shown(tab, whole, tmp_path):
    """The page of all that a page can have, on a screen of some size."""

    def open_at(width, **device):
        (tmp_path / "out.html").write_text(whole, encoding="utf-8")
        tab.screen(width, 844, **device)
        tab.open(tmp_path / "out.html")
        return tab

    return open_at


@pytest.mark.parametrize("width", [1280, 390])
def test_all_is_shown_and_nothing_fetched(shown, width):
    tab = shown(width, touch=width == 390)
    assert tab.ran() == []
    assert tab.js("[...document.images].map(i => i.complete && i.naturalWidth > 0)") == [True] * 5
    assert tab.js("[...document.querySelectorAll('table')].map(t => t.offsetHeight > 40)") == [True] * 3
    assert tab.js("document.documentElement.scrollWidth <= document.documentElement.clientWidth")


def test_a_table_on_a_phone_scrolls_beside_its_names(shown):
    """Names stay in place, the rule under the header stays with them, and a hint stands above."""
    tab = shown(390, touch=True)
    frame = "[...document.querySelectorAll('.scroll')].find(f => f.scrollWidth > f.clientWidth)"
    assert tab.js(f"{frame} !== undefined")
    tab.js(f"window.frame = {frame}; frame.scrollLeft = 60; window.at = e => e.getBoundingClientRect()")
    assert tab.js("at(frame.querySelector('th.stub')).left - at(frame).left") < 8
    border = "getComputedStyle(frame.querySelector('th.stub')).borderBottomWidth"
    assert tab.js(border) == "1px"
    assert tab.js("getComputedStyle(frame.querySelector('th[scope=row]')).position") == "sticky"
    height = "parseFloat(getComputedStyle(frame, '::before').height)"
    assert tab.js(height) > 10
    hints = "[...document.querySelectorAll('.scroll')].map(f => getComputedStyle(f, '::before').height)"
    assert set(shown(1280).js(hints)) == {"0px"}


def test_dark_and_light_are_told_apart(shown):
    ground = "getComputedStyle(document.body).backgroundColor"
    light, dark = shown(1280).js(ground), shown(1280, dark=True).js(ground)
    assert light == "rgb(255, 255, 255)"
    assert dark == "rgb(22, 24, 27)"


def test_by_keyboard_and_by_ear(shown):
    """The first stop skips to the content, tables take the focus, and all that is drawn is told."""
    tab = shown(1280)
    tab.key("Tab")
    assert tab.js("document.activeElement.textContent") == "To the content"
    tab.key("Enter")
    tab.until("location.hash === '#content'")
    tab.key("Tab")
    assert tab.js("document.activeElement.getAttribute('aria-label')") == "Table: Loadings and Variance"
    told = tab.named()
    roles = [role for role, _ in told]
    assert {"banner", "navigation", "main", "contentinfo"} <= set(roles)
    assert all(name for role, name in told if role in ("image", "region", "heading", "link", "navigation"))
    assert roles.count("image") == 5
    assert ("columnheader", "PC1") in told
    assert ("rowheader", "Nonzeros") in told


def test_markup_does_not_run_in_a_browser(tab, tmp_path):
    """Without the policy of the page, too."""
    fit = sp.spca(hostile_rows(), 2, [5, 4], method="bcd-l0").rename(list(MARKUP[:2]))
    fit.report(tmp_path / "hostile.html", title=MARKUP[0], call=MARKUP[3])
    assert judge(tab, (tmp_path / "hostile.html").read_text(encoding="utf-8"), tmp_path) == []


def test_the_judge_sees_what_runs(tab, tmp_path):
    assert judge(tab, f"<p>{MARKUP[1]}</p>", tmp_path)


@pytest.mark.slow
def test_it_prints_to_pdf(shown):
    tab = shown(1280)
    pdf = tab.pdf()
    assert pdf.startswith(b"%PDF")
    assert 2 <= len(re.findall(rb"/Type\s*/Page\b", pdf)) <= 8


def test_the_figures_have_the_groups_that_the_report_is_given(tmp_path, pitprops):
    """Those of the variables beside their loadings, those of the rows as colours of the points."""
    rows = pitprops.head(40)
    fit = sp.spca(rows, k=2, card=4, scale=True, method="greedy")
    kinds = ["old" if i % 2 else "young" for i in range(len(rows))]
    scales = ["wood"] * 6 + ["bark"] * (rows.shape[1] - 6)
    plain, grouped = tmp_path / "plain.html", tmp_path / "grouped.html"
    fit.report(plain)
    fit.report(grouped, groups=kinds, sections=scales)
    before, after = plain.read_text(), grouped.read_text()
    # marks of a second group are triangles: the biplot has further paths
    assert after.count("PathCollection") > before.count("PathCollection")


def test_notes_appear_once_and_bibtex_comes_last(tmp_path):
    fit = sp.spca(sp.datasets.make_hastie(n=60), 2, 4, scale=True, effort="quick")
    fit.bootstrap(19)
    fit.report(tmp_path / "a.html")
    page = (tmp_path / "a.html").read_text()
    assert page.count("An interval shows how far a loading moves") == 1
    assert page.count('<p class="note">An interval shows how far a loading moves') == 1
    assert page.index("References as BibTeX") > page.index("Call and versions")
    assert page.count("<pre>") == page.count("</pre>") == 3  # equations, the call, BibTeX
    pytest.importorskip("docx")
    from docx import Document

    fit.report(tmp_path / "a.docx")
    *_, heading, entries = Document(str(tmp_path / "a.docx")).paragraphs
    assert heading.text == "References as BibTeX"
    assert entries.text.count("@") == page.count("<span>@") > 1
    assert {run.font.name for run in entries.runs} == {"Courier New"}
