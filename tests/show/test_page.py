"""The report: one page that needs nothing, in a real browser where one is installed."""

from __future__ import annotations

import re
from pathlib import Path
from urllib.parse import unquote
from xml.etree import ElementTree

import numpy as np
import pandas as pd
import pytest

import spcastat as sp
from tests.show.chromium import CHROMIUM, browser
from tests.show.hostile_markup import MARKUP, Page, hostile_rows, judge


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
    sources = page.values("img", "src")
    start = "data:image/svg+xml,"
    assert all(source.startswith(start) for source in sources)
    return [ElementTree.fromstring(unquote(source.removeprefix(start))) for source in sources]


def test_tables_pictures_call_and_versions(fit, whole):
    page = Page(whole)
    assert "Props & <props>" in page.text
    for heading in ("Equations", "Loadings and variance", "Score plots", "How it was fitted"):
        assert heading in page.text
    assert page.tags.count("table") == 3
    assert page.tags.count("figure") == 5
    assert len(pictures(page)) == 7  # two are drawn again for phones
    assert fit.call in page.text
    assert f"numpy {np.__version__}" in page.text
    first = fit.loadings["PC1"][lambda column: column != 0]
    assert f"PC1 = {first.iloc[0]:.3f} {first.index[0]}" in page.text
    assert all(page.values("img", "alt"))


def test_intervals_and_shares_stand_once(fit, tmp_path):
    """Each variable of a component has one interval and one frequency, in the chapter on uncertainty."""
    fit.with_inference(fit.bootstrap(40, rng=0), fit.stability(4, rng=0)).report(tmp_path / "out.html")
    page = Page((tmp_path / "out.html").read_text(encoding="utf-8"))
    assert page.text.count("selected again in each draw") == 2  # title of the chapter, methods section
    assert page.text.count("std. error") == 2  # of loadings, and of variances
    headings = re.findall(r"<h2[^>]*>([^<]+)", (tmp_path / "out.html").read_text(encoding="utf-8"))
    assert headings.count("Uncertainty") == 1


def test_nothing_is_loaded_and_nothing_runs(whole):
    page = Page(whole)
    assert not {"script", "iframe", "object"} & set(page.tags)
    assert page.acting() == []
    assert not re.search(r"@import|url\((?!%23|#)", whole)
    for picture in pictures(page):
        assert not [element for element in picture.iter() if element.tag.endswith("script")]


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
    assert page.tags.count("figure") == count
    assert len(pictures(page)) >= count


# --- for all readers ------------------------------------------------------------------------------


def test_the_index_leads_to_every_section(whole):
    page = Page(whole)
    headings = {*page.values("h2", "id")} - {"index"}
    inner = {link for link in page.values("a", "href") if link[0] == "#"}
    assert inner == {"#content", *(f"#{heading}" for heading in headings)}
    assert len(headings) == page.tags.count("section")
    for landmark in ("header", "nav", "main", "footer"):
        assert page.tags.count(landmark) == 1


def test_every_figure_can_be_saved_as_svg(whole):
    page = Page(whole)
    saved = [value for value in page.values("a", "href") if value[:5] == "data:"]
    on_phones = re.findall(r'<img class="on-phones" src="([^"]*)"', whole)
    assert saved == [source for source in page.values("img", "src") if source not in on_phones]
    assert page.values("a", "download") == [
        "loadings.svg",
        "scree.svg",
        "biplot.svg",
        "scores.svg",
        "diagnostics.svg",
    ]


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
    scopes = page.values("th", "scope")
    assert len(scopes) == page.tags.count("th")
    assert set(scopes) == {"col", "row", "rowgroup"}
    assert page.tags.count("caption") == page.tags.count("table")
    wide_figures = page.values("figure", "class").count("wide")
    assert page.values("div", "role") == ["region"] * (page.tags.count("table") + wide_figures)


@pytest.mark.slow  # in a browser, too: test_markup_does_not_run_in_a_browser
def test_a_page_of_markup_has_no_element_of_it(tmp_path):
    fit = sp.spca(hostile_rows(), 3, [5, 4, 4], method="bcd-l0")
    fit = fit.rename({f"PC{i + 1}": MARKUP[i] for i in range(3)})
    title = " ".join(MARKUP)
    fit.report(tmp_path / "out.html", title=title, call=title)
    text = (tmp_path / "out.html").read_text(encoding="utf-8")
    page = Page(text)
    assert page.acting() == []
    assert not {"script", "iframe", "object", "embed", "form"} & set(page.tags)
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

    def open_at(width):
        (tmp_path / "out.html").write_text(whole, encoding="utf-8")
        tab.screen(width, 844)
        tab.open(tmp_path / "out.html")
        return tab

    return open_at


@pytest.mark.parametrize("width", [1280, 390])
def test_all_is_shown_and_nothing_fetched(shown, width):
    tab = shown(width)
    assert tab.ran() == []
    seen = "[...document.images].filter(i => i.offsetWidth > 0)"
    assert tab.js(f"{seen}.map(i => i.complete && i.naturalWidth > 0)") == [True] * 5
    assert tab.js("[...document.querySelectorAll('table')].map(t => t.offsetHeight > 40)") == [True] * 3
    assert tab.js("document.documentElement.scrollWidth <= document.documentElement.clientWidth")


def test_on_a_phone_loadings_and_biplot_are_seen_whole_and_what_scrolls_says_so(shown):
    """With texts of their size: drawn for this width, not shrunk."""
    tab = shown(390)
    seen = "[...document.images].filter(i => i.offsetWidth > 0)"
    sizes = tab.js(f"{seen}.map(i => [i.offsetWidth / i.getAttribute('width'), i.className])")
    assert [scale > 0.99 for scale, devices in sizes if devices == "on-phones"] == [True] * 2
    cut = f"{seen}.filter(i => i.getBoundingClientRect().right > innerWidth)"
    assert tab.js(f"{cut}.map(i => i.closest('.scroll') !== null)") == [True]  # scores of five components
    tables = "[...document.querySelectorAll('table.spcastat')].map(t => t.offsetWidth)"
    assert tab.js(tables)[0] <= 366 + 48  # six components: one column at most is beyond the side


def test_markup_does_not_run_in_a_browser(tab, tmp_path):
    """Without the policy of the page, too."""
    fit = sp.spca(hostile_rows(), 2, [5, 4], method="bcd-l0").rename(list(MARKUP[:2]))
    fit.report(tmp_path / "hostile.html", title=MARKUP[0], call=MARKUP[3])
    assert judge(tab, (tmp_path / "hostile.html").read_text(encoding="utf-8"), tmp_path) == []


def test_the_judge_sees_what_runs(tab, tmp_path):
    assert judge(tab, f"<p>{MARKUP[1]}</p>", tmp_path)


def colours(page: str) -> set[str]:
    return set(re.findall(r"fill: %23([0-9a-f]{6})", page))


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
    # each group has a colour of its own
    assert len(colours(after)) > len(colours(before))


def test_notes_appear_once_and_bibtex_comes_last(tmp_path):
    fit = sp.spca(sp.datasets.make_hastie(n=60), 2, 4, scale=True, effort="quick")
    fit = fit.with_inference(fit.bootstrap(40))
    fit.report(tmp_path / "a.html")
    page = (tmp_path / "a.html").read_text()
    assert page.count("An interval shows how much a loading varies") == 1
    assert page.count('<p class="note">An interval shows how much a loading varies') == 1
    assert page.index("References as BibTeX") > page.index("How it was fitted")
    assert page.count("<pre>") == page.count("</pre>") == 3  # equations, the call, BibTeX
    pytest.importorskip("docx")
    from docx import Document

    fit.report(tmp_path / "a.docx")
    *_, heading, entries = Document(str(tmp_path / "a.docx")).paragraphs
    assert heading.text == "References as BibTeX"
    assert entries.text.count("@") == page.count("<span>@") > 1
    assert {run.font.name for run in entries.runs} == {"Courier New"}


def test_a_report_begins_with_the_result_and_ends_with_how_it_was_found(tmp_path):
    """A few sentences and the loadings, then figures, then the choice, the method and the call."""
    choice = sp.choose(sp.datasets.pitprops_sample(), k=2, cards=[3, 5], by="ebic", scale=True)
    choice.report(tmp_path / "page.html")
    page = (tmp_path / "page.html").read_text(encoding="utf-8")
    sections = re.findall(r"<section.*?>(.*?)</section>", page, flags=re.DOTALL)
    first, *others = (re.findall(r"(?s)<h2 .*?>(.*?)</h2>(.*)", text)[0] for text in sections)
    assert first[0] == "Summary"
    sentences, _, tables = first[1].partition("<table")
    share = 100 * choice.fit.measure("adjusted")
    assert f"Together the components explained {share:.1f} % of the total variance" in sentences
    assert "<dl>" not in first[1]
    assert "topdiam" in tables
    headings = [heading for heading, _ in others]
    figures = [place for place, (_, inner) in enumerate(others) if 'class="plot"' in inner]
    places = [headings.index(name) for name in ("How sparse", "For a methods section", "How it was fitted")]
    assert places == sorted(places)
    assert headings[figures[0]] == "Loadings and variance"
    assert all(place <= places[0] for place in figures)
