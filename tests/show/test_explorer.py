"""The explorer: what the page holds, and in a real browser, where one is installed, what it shows."""

from __future__ import annotations

import base64
import hashlib
import json
import re
from itertools import combinations

import numpy as np
import pytest

import spcastat as sp
from spcastat.show.grid import fixed
from tests.plots.shapes import SHAPES
from tests.show.chromium import CHROMIUM, browser
from tests.show.hostile_markup import MARKUP, Page, hostile_rows, judge

CARDS = [1, 2, 3, 5, 8, 13]


@pytest.fixture(scope="module")
def path(pitprops):
    return sp.spca_path(pitprops, 3, cards=CARDS, scale=True, effort="quick")


@pytest.fixture(scope="module")
def page(path, tmp_path_factory):
    """The page, as a file."""
    file = tmp_path_factory.mktemp("explorer") / "out.html"
    path.explore(file, title="Props & <props>")
    return file


def data_of(page: str):
    (block,) = re.findall(r'<script type="application/json" id="data">(.*?)</script>', page)
    assert not re.search("[<>&\u2028]", block)
    return json.loads(block)


def explored(path, tmp_path, **options):
    path.explore(tmp_path / "out.html", **options)
    return data_of((tmp_path / "out.html").read_text(encoding="utf-8"))


# --- the page as text -----------------------------------------------------------------------------


def test_every_position_is_that_of_its_fit(path, page):
    data = data_of(page.read_text(encoding="utf-8"))
    assert data["title"] == "Props & <props>"
    assert [position["card"] for position in data["positions"]] == [str(card) for card in CARDS]
    assert data["rows"] == [f"prop{i + 1}" for i in range(180)]
    for card, position in zip(CARDS, data["positions"], strict=True):
        fit = path[card]
        assert position["call"] == f"import spcastat as sp\nfit = sp.{fit.call}"
        assert position["equations"] == str(fit.equations(width=100_000)).splitlines()
        assert position["raw"] == str(fit.equations(raw=True, width=100_000)).splitlines()
        for variable, *loadings in position["loadings"]:
            own = fit.loadings.loc[data["variables"][variable]]
            np.testing.assert_allclose(loadings, own, rtol=1e-8)  # nine figures
        scores = np.array(position["scores"]) / 1000
        np.testing.assert_allclose(scores, fit.scores / fit.scores.std(), atol=5.1e-4)  # three decimals
        for i, j in ((0, 1), (0, 2), (1, 2)):
            # sums in another order
            stretch = fit.biplot_data(components=(i + 1, j + 1)).stretch
            assert position["stretch"][f"{i}-{j}"] == pytest.approx(stretch, rel=1e-12)
    for measure in data["measures"]:
        np.testing.assert_allclose(measure["values"], path.table[measure["name"]], rtol=1e-8)


def test_it_is_one_file_that_runs_its_own_script_alone(page):
    text = page.read_text(encoding="utf-8")
    found = Page(text)
    assert found.acting() == []
    assert not {"iframe", "object", "embed", "img", "form"} & set(found.tags)
    _, script = re.findall(r"<script[^>]*>(.*?)</script>", text, flags=re.DOTALL)
    digest = base64.b64encode(hashlib.sha256(script.encode()).digest()).decode()
    assert f"script-src &#x27;sha256-{digest}&#x27;" in text
    assert "default-src &#x27;none&#x27;" in text
    assert "innerHTML" not in script
    assert not re.search(r"https?://(?!www\.w3\.org/2000/svg)", text)


def test_a_covariance_matrix_has_no_points(covariance_fit, tmp_path):
    data = explored(sp.spca_path(sp.datasets.load_pitprops(), 2, cards=[2, 4], method="greedy"), tmp_path)
    assert data["norows"] == "A covariance matrix has no rows, so there are no points."
    assert data["rows"] == []
    assert "scores" not in data["positions"][0]
    assert data["positions"][0]["raw"] is None
    np.testing.assert_allclose(np.square(data["positions"][1]["sd"]), path_variances(4), rtol=1e-8)


def path_variances(card: int) -> np.ndarray:
    fit = sp.spca_cov(sp.datasets.load_pitprops(), 2, card, method="greedy")
    return fit.variance["score variance"].to_numpy()


def test_more_rows_than_are_drawn(pitprops, tmp_path):
    path = sp.spca_path(pitprops, 2, cards=[3], method="greedy")
    data = explored(path, tmp_path, max_points=7)
    assert data["rows"] == [f"prop{i + 1}" for i in (0, 30, 60, 90, 119, 149, 179)]
    assert data["n"] == 180
    none = explored(path, tmp_path, max_points=0)
    assert none["rows"] == []
    assert "max_points=0" in none["norows"]
    text = (tmp_path / "out.html").read_text(encoding="utf-8")
    assert "prop1" not in text


def test_gaps(pitprops, tmp_path):
    gaps = pitprops.copy()
    gaps.iloc[3:9, 2] = np.nan
    pairs = explored(sp.spca_path(gaps, 2, cards=[13], na="pairwise", method="greedy"), tmp_path)
    assert [None in row for row in pairs["positions"][0]["scores"]] == gaps.isna().any(axis=1).tolist()
    model = explored(sp.spca_path(gaps, 2, cards=[13], na="em", method="greedy"), tmp_path)
    assert not any(None in row for row in model["positions"][0]["scores"])


def test_cardinalities_of_their_own(pitprops, tmp_path):
    data = explored(sp.spca_path(pitprops, 2, cards=[[3, 1], [4, 2]], method="greedy"), tmp_path)
    assert data["by"] == "nonzeros"
    assert [position["card"] for position in data["positions"]] == ["3, 1", "4, 2"]
    assert [position["place"] for position in data["positions"]] == [4, 6]


# --- in a browser ---------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def tab():
    if CHROMIUM is None:
        pytest.skip("no chromium")
    with browser() as one:
        yield one


def at(tab, page, width):
    tab.screen(width, 844)
    tab.open("about:blank")  # the same address with another fragment would not be opened anew
    tab.open(page)
    assert tab.ran() == []
    return tab


def grid(tab, selector: str) -> list[list[str]]:
    rows = "[...document.querySelectorAll('SELECTOR tr')].map(r => [...r.children].map(c => c.textContent))"
    return tab.js(rows.replace("SELECTOR", selector))


def assert_shown(tab, fit, card, panel="#now", pair=(1, 2)):
    """Heading, table, variances, equations, call, and every point, arrow and bar are those of the fit."""
    count = int(fit.card.sum())
    assert tab.js(f"document.querySelector('{panel} h2').textContent").endswith(
        f"ardinality {card} ({count} nonzeros)"
    )
    head, *body = grid(tab, f"{panel} .loadings")
    assert head == ["Loadings", *fit.components]
    shown = {name: cells for name, *cells in body}
    for name, values in fit.loadings.iterrows():
        own = ["" if v == 0 else fixed(v, 3) for v in values]
        cells = shown.get(name, [""] * len(own))
        assert [cell.replace(" zero at the other position", "") for cell in cells] == own
    variances = {name.strip(): cells for name, *cells in grid(tab, f"{panel} .variance")}
    assert variances["Nonzeros"] == [str(count) for count in fit.card]
    assert variances["adjusted"] == [fixed(100 * v, 2) for v in fit.variance["cumulative adjusted"]]
    lines = f"[...document.querySelectorAll('{panel} .equations span')].map(s => s.textContent)"
    assert tab.js(lines) == str(fit.equations(width=100_000)).splitlines()
    assert tab.js(f"document.querySelector('{panel} .call').textContent").endswith(fit.call)
    assert_biplot(tab, fit, panel, pair)


#: The bars of a block with the names and values beside them, from top to bottom in each column.
BARS = """(panel => [...document.querySelectorAll(`${panel} .block`)].map(block =>
  [...block.querySelectorAll(".bar")].map(bar => +bar.getAttribute("width")
    * (bar.getAttribute("fill") === "currentColor" ? 1 : -1))))"""


def assert_biplot(tab, fit, panel, pair):
    """Points, arrows and bars are those of `fit.biplot()`."""
    data = fit.biplot_data(components=pair)
    dots = f"[...document.querySelectorAll('{panel} .points circle')].map(c => [+c.getAttribute('cx'), "
    drawn = np.array(tab.js(dots + "+c.getAttribute('cy')])"))
    rows = tab.js(f"[...document.querySelectorAll('{panel} .points title')].map(t => t.textContent)")
    outside = tab.js(f"[...document.querySelectorAll('{panel} .far title')].map(t => t.textContent)")
    assert len(rows) + len(outside) == len(data.points)
    assert {row.split(" ")[0] for row in outside} <= set(data.points.index[data.points["far"]])
    own = data.points.loc[rows, ["x", "y"]].to_numpy()
    (right, left), (down, top) = (np.polyfit(own[:, i], drawn[:, i], 1) for i in (0, 1))
    assert right == pytest.approx(-down, rel=1e-3)  # a unit is as long across as up
    # Coordinates are written with two decimals, scores with three.
    np.testing.assert_allclose(drawn, own * [right, down] + [left, top], atol=0.01 + 6e-4 * right)
    tips = f"[...document.querySelectorAll('{panel} .arrows .shaft')].map(s => [+s.getAttribute('x2'), "
    ends = np.array(tab.js(tips + "+s.getAttribute('y2')])")).reshape(-1, 2)
    arrows = data.arrows[["x", "y"]].to_numpy() * [right, down] + [left, top]
    np.testing.assert_allclose(ends, arrows, atol=0.1)  # origin and unit are estimated from the points
    blocks = tab.js(f"{BARS}({json.dumps(panel)})")
    words = tab.js(f"[...document.querySelectorAll('{panel} .block')].map(b => b.textContent)")
    scale = max(abs(bar) for bars in blocks for bar in bars) / data.blocks["value"].abs().max()
    for i, (number, bars) in enumerate(zip(pair, blocks, strict=True)):
        loadings = fit.loadings.iloc[:, number - 1]
        loadings = loadings[loadings != 0]
        expected = loadings.reindex(loadings.abs().sort_values(ascending=False, kind="stable").index)
        np.testing.assert_allclose(bars, scale * expected, atol=1.1)  # hollow bars lose their edge of a pixel
        at = [words[i].index(name) for name in expected.index]
        assert at == sorted(at)


def curve_shows(tab, path, card):
    told = tab.js("document.querySelector('#curve svg').getAttribute('aria-label')")
    for name in ("adjusted", "pev", "least_squares"):
        share = path.table.set_index("card").loc[card, name]
        assert f"{100 * share:.2f} %" in told
    now = tab.js("[...document.querySelectorAll('#curve circle.now')].map(c => +c.getAttribute('cx'))")
    assert len(set(now)) == 1
    return now[0]


def test_by_mouse(tab, page, path):
    at(tab, page, 1280)
    assert_shown(tab, path[5], 5)
    before = curve_shows(tab, path, 5)
    tab.click("#on")
    assert_shown(tab, path[8], 8)
    assert curve_shows(tab, path, 8) > before
    tab.click("#curve svg")  # the middle of the axis from 1 to 13: nearest is 8
    assert_shown(tab, path[8], 8)
    tab.js("document.getElementById('second').value = 2")
    tab.js("document.getElementById('second').dispatchEvent(new Event('change'))")
    assert_shown(tab, path[8], 8, pair=(1, 3))
    assert tab.ran() == []


def test_two_positions_side_by_side(tab, page, path):
    at(tab, page, 1280)
    tab.click("#pin")
    tab.click("#on")
    tab.click("#on")
    assert_shown(tab, path[5], 5, "#pinned")
    assert_shown(tab, path[13], 13, "#now")
    tops = tab.js("['pinned', 'now'].map(id => document.getElementById(id).getBoundingClientRect().top)")
    assert tops[0] == tops[1]
    assert tab.js("document.querySelectorAll('#curve circle.pinned').length") == 3
    own = int((path[13].loadings.ne(0) & path[5].loadings.eq(0)).to_numpy().sum())
    assert tab.js("document.querySelectorAll('#now td.own').length") == own
    tab.click("#pin")
    assert tab.js("document.querySelectorAll('.panel').length") == 1


def test_by_keyboard(tab, page, path):
    at(tab, page, 1280)
    for _ in range(3):
        tab.key("Tab")
    assert tab.js("document.activeElement.id") == "slider"
    for key, card in (("ArrowRight", 8), ("End", 13), ("ArrowLeft", 8), ("Home", 1)):
        tab.key(key)
        assert_shown(tab, path[card], card)
        assert tab.js("document.activeElement.id") == "slider"
    spoken = tab.js("document.getElementById('slider').getAttribute('aria-valuetext')")
    assert spoken.startswith("1 (3 nonzeros), adjusted variance ")
    assert tab.js("document.getElementById('back').disabled")
    assert tab.ran() == []


#: What stands within figures: texts, and the bars of blocks.
BLOCKS = """(() => { const found = [];
for (const svg of document.querySelectorAll('svg.chart')) {
  const parts = [svg, ...svg.querySelectorAll('text, .bar, .pointer')];
  found.push(parts.map(part => part.getBoundingClientRect())
    .map(box => [box.left, box.top, box.right, box.bottom]));
}
return found; })()"""


def assert_no_text_on_another(tab):
    """Within its figure, and on no other text or bar; glyphs leave some of the height of their boxes free."""
    figures = tab.js(BLOCKS)
    assert len(figures) >= 2
    for frame, *boxes in figures:
        assert boxes
        own = np.add(boxes, [0.5, 2.0, -0.5, -2.0])
        assert (own[:, :2] >= frame[:2]).all()
        assert (own[:, 2:] <= frame[2:]).all()
        for (left, top, right, bottom), (start, up, end, down) in combinations(own, 2):
            assert left >= end or right <= start or top >= down or bottom <= up


@pytest.mark.parametrize(("name", "cards"), [("survey", [3, 10]), ("cells", [5, 20]), ("genes", [25])])
def test_texts_of_figures_do_not_overlap(tab, name, cards, tmp_path):
    fit = sp.spca_path(SHAPES[name]()[0], 2, cards=cards, scale=True, method="greedy")
    fit.explore(tmp_path / "out.html")
    for width in (320, 1280):
        at(tab, tmp_path / "out.html", width)
        assert tab.js("document.documentElement.scrollWidth <= document.documentElement.clientWidth")
        for i, card in enumerate(cards):
            tab.js(f"document.getElementById('slider').value = {i}")
            tab.js("document.getElementById('slider').dispatchEvent(new Event('input'))")
            assert_no_text_on_another(tab)
            if card <= 15:
                assert_all_named(tab, fit[card])


def assert_all_named(tab, fit):
    """Every variable of the two components has its whole name in the figure (titles count)."""
    words = tab.js("document.querySelector('.plot svg').textContent").replace("_ ", "_")
    for name in fit.biplot_data().blocks.index:
        assert name in words
    used = fit.loadings.index[fit.loadings.any(axis=1)]
    assert [name for name, *_ in grid(tab, ".loadings")[1:]] == list(used)


@pytest.mark.slow
@pytest.mark.parametrize("kind", ["covariance", "one component", "hostile"])
def test_other_paths(tab, kind, pitprops, tmp_path):
    path = {
        "covariance": lambda: sp.spca_path(sp.datasets.load_pitprops(), 2, cards=[2, 4], method="greedy"),
        "one component": lambda: sp.spca_path(pitprops, 1, cards=[2, 4], method="greedy"),
        "hostile": lambda: sp.spca_path(hostile_rows(), 2, cards=[4, 13], scale=True, method="greedy"),
    }[kind]()
    path.explore(tmp_path / "out.html", title=MARKUP[4])
    at(tab, tmp_path / "out.html", 1280)
    note = tab.js("document.querySelector('.plot .note').textContent")
    wanted = {
        "covariance": "no points",
        "one component": "needs two components",
        "hostile": "Bars: loadings; hollow: negative.",
    }
    assert wanted[kind] in note
    assert tab.js("document.getElementById('title').textContent") == MARKUP[4]
    if kind == "hostile":
        page = (tmp_path / "out.html").read_text(encoding="utf-8")
        assert judge(tab, page, tmp_path) == []


def contrast(tab, scheme: str, names: str) -> dict[str, float]:
    """The contrast ratios (WCAG 2) of the colours of an element's kind with the background of the page."""
    tab.call("Emulation.setEmulatedMedia", features=[{"name": "prefers-color-scheme", "value": scheme}])
    ratios = """(names => {
      const light = colour => { const probe = document.createElement("i"); probe.style.color = colour;
        document.body.append(probe); const rgb = getComputedStyle(probe).color.match(/[\\d.]+/g).slice(0, 3);
        probe.remove(); const [r, g, b] = rgb.map(v => v / 255).map(
          v => v <= 0.04045 ? v / 12.92 : ((v + 0.055) / 1.055) ** 2.4);
        return 0.2126 * r + 0.7152 * g + 0.0722 * b; };
      const paper = light("var(--paper)");
      return JSON.stringify(Object.fromEntries(names.split(" ").map(name => {
        const own = light(`var(${name})`);
        return [name, (Math.max(own, paper) + 0.05) / (Math.min(own, paper) + 0.05)]; })));
    })"""
    return json.loads(tab.js(f"{ratios}({json.dumps(names)})"))


@pytest.mark.slow
@pytest.mark.skipif(CHROMIUM is None, reason="Chromium is not installed")
def test_curves_and_texts_are_visible_on_light_and_dark_pages(tab, page):
    """At least 4.5 for texts and on dark pages; 3, the bound of WCAG 2 for graphics, for curves on white."""
    at(tab, page, 390)
    curves = "--accent --second --third"
    assert min(contrast(tab, "light", curves).values()) >= 3.0
    assert min(contrast(tab, "dark", curves).values()) >= 4.5
    for scheme in ("light", "dark"):
        assert min(contrast(tab, scheme, "--ink --soft --link").values()) >= 4.5
    strokes = "[...document.querySelectorAll('svg polyline')].map(e => e.getAttribute('stroke'))"
    drawn = json.loads(tab.js(f"JSON.stringify({strokes})"))
    assert {f"var({name})" for name in curves.split()} == set(drawn)
    tab.call("Emulation.setEmulatedMedia", features=[])
