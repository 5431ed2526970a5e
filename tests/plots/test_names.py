"""A name belongs to its arrow, and what holds for every plot."""

from __future__ import annotations

import functools
import inspect
import re
import warnings
from itertools import combinations
from pathlib import Path

import matplotlib
import matplotlib.pyplot as plt
import numpy as np
import pandas as pd
import pytest
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.quiver import Quiver
from matplotlib.text import Annotation, Text
from matplotlib.transforms import Bbox

import spcastat as sp
from spcastat import plots
from spcastat.plots.axes_and_names import note_of
from spcastat.plots.biplot import BiplotData, biplot

from .shapes import SHAPES

# --- A name belongs to its arrow: judged by the boxes of the artists, on twelve data sets ---------


def texts_of(ax: Axes, gid: str) -> list[Annotation]:
    return [text for text in ax.texts if text.get_gid() == gid]


def box_of(label: Text) -> Bbox:
    return Text.get_window_extent(label)  # an annotation's own extent includes its leader


def arrow_tips(ax: Axes) -> np.ndarray:
    """The ends of all arrows and ticks that are drawn, in pixels."""
    ends = [np.stack([q.U, q.V], axis=1) for q in ax.collections if isinstance(q, Quiver)]
    ends += [line.get_xydata() for line in ax.lines if line.get_gid() == "ticks"]
    return ax.transData.transform(np.vstack(ends)) if ends else np.empty((0, 2))


def distance(box: Bbox, points: np.ndarray) -> np.ndarray:
    gap = np.maximum(np.maximum(box.min - points, points - box.max), 0.0)
    return np.hypot(*gap.T)


def near(label: str, texts: list[str]) -> bool:
    """Whether one of the texts is a label, perhaps with its middle cut out."""
    whole = label.partition(" #")[0]
    cut = [text.partition(" #")[0].partition("…") for text in texts if "…" in text]
    return label in texts or any(head in whole and whole.endswith(tail) for head, _, tail in cut)


def lines_of(ax: Axes) -> list[str]:
    """The names in the lists, without weights."""
    lines = [line for text in texts_of(ax, "stack") for line in text.get_text().splitlines()[1:]]
    return [line.partition("  ")[2] or line for line in lines]


def filled(ax: Axes) -> float:
    """The part of the axes that points and arrows fill: the rectangle around them over the axes, in area."""
    ax.figure.canvas.draw()
    ends = [np.stack([q.U, q.V], axis=1) for q in ax.collections if isinstance(q, Quiver)]
    points = [c.get_offsets() for c in ax.collections if not isinstance(c, Quiver)]
    pixels = ax.transData.transform(np.vstack([*ends, *points, np.zeros((1, 2))]))
    box = ax.get_window_extent()
    return float(np.prod(np.ptp(pixels, axis=0)) / (box.width * box.height))


def assert_names_belong(ax: Axes, data: BiplotData) -> None:
    """Every arrow is named or listed; no name is nearer to another tip, across a shaft, or on another."""
    ax.figure.canvas.draw()
    names, numbers, stacks = (texts_of(ax, gid) for gid in ("name", "number", "stack"))
    tips, origin = arrow_tips(ax), ax.transData.transform((0.0, 0.0))
    written = [text.get_text() for text in names]
    note = note_of(ax)
    for label in data.arrows["label"]:
        told = near(label, [*written, *lines_of(ax), *re.split(r"[;,:.] (?:\d+ )?|\.$", note)])
        assert told or "more: biplot_data()" in note, label
    ends = data.arrows[["x", "y"]].to_numpy(dtype=float)
    for text in names:
        # the right name stands at the tip
        here = np.isclose(ends, text.xy).all(axis=1)
        assert any(near(label, [text.get_text()]) for label in data.arrows["label"][here]), text.get_text()
    for text in [*names, *numbers]:
        own = ax.transData.transform(text.xy)
        others = np.hypot(*(tips - own).T) > (0.5 if text.get_gid() == "name" else 10.0)
        away = distance(box_of(text), np.vstack([own, tips[~others]])).min()
        others = tips[others]
        assert not len(others) or away <= distance(box_of(text), others).min() + 0.1, text.get_text()
    boxes = [box_of(text) for text in [*names, *numbers, *stacks]]
    along = np.linspace(0.0, 1.0, 400)[:, None, None]
    shafts = (origin + along * (tips - origin)).reshape(-1, 2)
    for box in boxes:
        assert not len(shafts) or distance(box, shafts).min() > 0
    assert not any(a.overlaps(b) for a, b in combinations(boxes, 2))
    frame = ax.get_window_extent()
    for box in boxes:
        assert frame.x0 <= box.x0 <= box.x1 <= frame.x1
        assert frame.y0 <= box.y0 <= box.y1 <= frame.y1


def assert_lists_cover_nothing(ax: Axes) -> None:
    """No list, and no legend within the axes, lies over a point."""
    ax.figure.canvas.draw()
    boxes = [box_of(text) for text in texts_of(ax, "stack")]
    if (legend := ax.get_legend()) is not None:
        boxes.append(legend.get_window_extent())
    points = [c.get_offsets() for c in ax.collections if not isinstance(c, Quiver)]
    pixels = ax.transData.transform(np.vstack(points))
    for box in boxes:
        assert not ((pixels > box.min) & (pixels < box.max)).all(axis=1).any()
    assert not any(a.overlaps(b) for a, b in combinations(boxes, 2))


FITS: dict[str, dict[str, object]] = {
    "genes": {"card": 20, "method": "threshold"},
    "census": {"card": 9, "method": "greedy"},
    "spectra": {"card": 12, "method": "greedy"},
    "letters": {"card": 5, "method": "greedy"},
}


@functools.cache
def fit_of(name: str) -> tuple[sp.SpcaResult, np.ndarray]:
    X, group = SHAPES[name]()
    p = X.shape[1]
    options = FITS.get(name, {"card": min(5, p - 1), "method": "greedy"})
    return sp.spca(X, k=2, scale=True, **options), group


#: The other shapes are drawn in the slow tests.
DRAWN = ("genes", "census", "letters", "wine")
DRAWINGS = [pytest.param(name, marks=() if name in DRAWN else pytest.mark.slow) for name in SHAPES]


@pytest.mark.parametrize("name", DRAWINGS)
def test_names_belong_to_their_arrows(name):
    fit, group = fit_of(name)
    options = {"groups": group} if len(name) % 2 else {"arrows": "correlations"}
    assert_names_belong(fit.biplot(**options), fit.biplot_data(**options))


#: One drawing in each size, and the longest names in the smallest one; all others in the slow tests.
SIZED = {("wine", None), ("letters", 5.0), ("genes", 3.4)}


@pytest.mark.parametrize(
    ("name", "size"),
    [
        pytest.param(name, size, marks=() if (name, size) in SIZED else pytest.mark.slow)
        for name in SHAPES
        for size in (None, 5.0, 3.4)
    ],
)
def test_points_and_arrows_fill_the_axes_and_lists_cover_none(name, size):
    """On a new figure, on one of 5 inches, and on one of 3.4, a column, where long lists name their first."""
    if size == 3.4 and tuple(map(int, matplotlib.__version__.split(".")[:2])) < (3, 11):
        pytest.skip("the layout engine of matplotlib before 3.11 leaves less to small axes")
    fit, group = fit_of(name)
    ax = None if size is None else Figure(figsize=(size, size), layout="constrained").subplots()
    ax = fit.biplot(groups=group, ax=ax)
    assert filled(ax) >= (0.55 if size is None else 0.45)
    assert_lists_cover_nothing(ax)
    assert "more: biplot_data()" not in note_of(ax)


def test_lists_without_room_name_their_first_variables_and_count_the_others():
    """Thirty variables of two components, and a note on 3.4 inches that has no room for half of them."""
    rng = np.random.default_rng(0)
    names = ["".join(rng.choice([*"abcdefghij"], 30)) for _ in range(30)]  # without words in common
    scores = pd.DataFrame(rng.standard_normal((400, 2)), columns=["PC1", "PC2"])
    weights = pd.DataFrame(0.0, index=names, columns=scores.columns)
    weights.iloc[:15, 0], weights.iloc[15:, 1] = np.linspace(0.4, 0.1, 15), np.linspace(0.4, 0.1, 15)
    ax = sp.plots.biplot(scores, weights, ax=Figure(figsize=(3.4, 3.4), layout="constrained").subplots())
    assert "more: biplot_data()" not in note_of(ax)
    for text in texts_of(ax, "stack"):
        _, *entries, last = text.get_text().splitlines()
        assert len(entries) + int(last.removeprefix("and ").removesuffix(" more")) == 15
    assert_lists_cover_nothing(ax)


def test_names_are_whole_where_they_have_room(scores):
    """On a new figure; on one of 3.4 inches the same names are shortened in their middle."""
    names = [f"concentration of substance {i} in mg/l" for i in range(6)]
    weights = pd.DataFrame(0.0, index=names, columns=scores.columns)
    weights.iloc[:3, 0], weights.iloc[3:, 1] = [0.8, 0.5, 0.3], [-0.7, -0.6, -0.4]
    ax = biplot(scores.iloc[:15], weights)
    written = {*lines_of(ax), *(text.get_text() for text in texts_of(ax, "name"))}
    assert written == {*names}
    small = Figure(figsize=(3.4, 3.4), layout="constrained").subplots()
    short = lines_of(biplot(scores, weights, ax=small))
    assert all(len(line) <= 20 and near(name, [line]) for line, name in zip(short, names, strict=True))


def test_variables_on_one_axis_are_named_at_their_ticks_or_in_a_list(scores):
    """At the ticks of a half axis if all have room there; if not, a list has loadings, the largest first.

    The ticks of a and b are farther apart than two lines of text; those of d and f are at one place.
    """
    names = ["a", "b", "c", "d", "e", "f"]
    weights = pd.DataFrame(
        [[0.3, 0, 0], [0.7, 0, 0], [-0.4, 0, 0], [0, -0.9, 0], [0.3, 0.4, 0], [0, -0.899, 0]],
        index=names,
        columns=scores.columns,
    )
    ax = biplot(scores, weights)
    assert [text.get_text() for text in texts_of(ax, "stack")] == ["↓ PC2 alone\n−0.90  d\n−0.90  f"]
    # c, which is alone on a half axis, needs no list
    at_tips = texts_of(ax, "name")
    assert {text.get_text() for text in at_tips} == {"a", "b", "c", "e"}
    places = {text.get_text(): text.xy for text in at_tips}
    assert places["a"][0] / places["b"][0] == pytest.approx(3 / 7)
    assert places["a"][1] == places["b"][1] == 0
    (arrows,) = (child for child in ax.collections if isinstance(child, Quiver))
    assert arrows.N == 4  # one for each half axis in use, and that of e


def test_tips_on_one_spot_share_a_number(scores):
    rng = np.random.default_rng(0)
    weights = pd.DataFrame(
        0.3 + 1e-4 * rng.normal(size=(6, 3)),
        index=[f"a long name {i}" for i in range(6)],
        columns=scores.columns,
    )
    ax = biplot(scores, weights)
    note = note_of(ax)
    assert all(name in note for name in weights.index)
    assert len(texts_of(ax, "number")) == 1


def test_a_list_stands_in_the_half_of_its_arrow(scores):
    """Also on 3.4 inches with all rows named, where a list may be far from the end of its axis."""
    weights = pd.DataFrame(0.0, index=[f"variable {i}" for i in range(9)], columns=scores.columns)
    weights.iloc[:3, 0], weights.iloc[3:6, 1], weights.iloc[6:, 1] = [0.8, 0.5, 0.3], 0.4, -0.4
    ax = biplot(scores, weights, labels=True, ax=Figure(figsize=(3.4, 3.4), layout="constrained").subplots())
    ax.figure.canvas.draw()
    ways = {"→": (1, 0), "↑": (0, 1), "↓": (0, -1)}
    lists = texts_of(ax, "stack")
    assert lists
    for text in lists:
        box = box_of(text)
        middle = (box.min + box.max) / 2 - ax.transData.transform((0.0, 0.0))
        assert middle @ ways[text.get_text()[0]] > -1
    # names of rows are not larger than those of variables, and cover no point
    rows = texts_of(ax, "row")
    assert max(row.get_fontsize() for row in rows) <= min(text.get_fontsize() for text in lists)
    pixels = ax.transData.transform(scores.iloc[:, :2] / scores.iloc[:, :2].std())
    for row in rows:
        assert not ((pixels > box_of(row).min) & (pixels < box_of(row).max)).all(axis=1).any()


@pytest.mark.parametrize("draw", ["biplot", "plot_correlations"])
def test_a_note_takes_a_fifth_of_a_small_figure_at_most(draw):
    """99 variables on two spots, on `plt.subplots(figsize=(3.4, 3.4))`: nothing is cut off at its edges."""
    X = pd.DataFrame(np.random.default_rng(0).normal(size=(90, 99)))
    X = X.add_prefix("ENSG0000000000")
    X.iloc[:, :50] += 3 * np.random.default_rng(1).normal(size=(90, 1))
    X.iloc[:, 50:] += 3 * np.random.default_rng(2).normal(size=(90, 1))
    fit = sp.spca(X, 2, method="pca")
    with warnings.catch_warnings():
        warnings.simplefilter("error")  # of a layout without room
        ax = plt.subplots(figsize=(3.4, 3.4))[1]
        getattr(fit, draw)(**({"groups": np.arange(90) % 3} if draw == "biplot" else {}), ax=ax)
        ax.figure.canvas.draw()
    (note,) = texts_of(ax, "note")
    assert "more: " in note_of(ax)
    page = ax.figure.bbox
    assert box_of(note).height < 0.2 * page.height
    box = ax.get_tightbbox()
    assert page.x0 <= box.x0 <= box.x1 <= page.x1
    assert page.y0 <= box.y0 <= box.y1 <= page.y1
    assert ax.get_window_extent().height > 0.5 * page.height


def test_only_figures_without_a_layout_get_one(scores, loadings):
    for margin, count, engine in ((None, 1, True), (0.3, 1, False), (None, 2, False)):
        figure = Figure()
        axes = figure.subplots(1, count, squeeze=False)
        if margin:
            figure.subplots_adjust(left=margin)
        biplot(scores, loadings, ax=axes[0, 0])
        assert (figure.get_layout_engine() is not None) == engine


# --- What holds for every plot --------------------------------------------------------------------

ROOT = Path(__file__).resolve().parents[2]
NAMES = [name for name in dir(plots) if inspect.isfunction(getattr(plots, name))]
PICTURES = [name for name in NAMES if not name.endswith("_data")]


def test_every_plot_is_on_the_page_of_the_api():
    page = (ROOT / "docs" / "api.md").read_text(encoding="utf-8")
    listed = re.findall(r"^   plots\.(\w+)$", page, re.MULTILINE)
    assert sorted(listed) == sorted(PICTURES)
    names = set(re.findall(r"^   (?:\w+\.)*(\w+)$", page, re.MULTILINE))
    functions = {name for name in sp.__all__ if inspect.isfunction(getattr(sp, name))}
    assert functions <= names


@pytest.mark.parametrize("name", PICTURES)
def test_a_plot_says_what_its_parameters_are_and_draws_its_table(name):
    drawing, table = getattr(plots, name), getattr(plots, f"{name}_data")
    text = inspect.getdoc(drawing)
    parameters = inspect.signature(drawing).parameters
    section = text.partition("Parameters\n----------\n")[2].partition("\n\nReturns")[0]
    described = re.findall(r"^(\w[\w, ]*) : ", section, re.MULTILINE)
    assert [one for line in described for one in line.split(", ")] == list(parameters)
    assert list(parameters)[-1] == "ax"
    taken = list(inspect.signature(table).parameters)
    assert taken == [one for one in parameters if one in taken]
    assert "ax" not in taken
    assert inspect.unwrap(drawing) is drawing
    assert drawing.__code__.co_name == name


@pytest.mark.parametrize("name", ["biplot", "plot_scores", "plot_loadings", "plot_correlations", "screeplot"])
def test_given_axes_are_used_without_pyplot(name):
    fit, _ = fit_of("wine")
    ax, before = Figure().subplots(), plt.get_fignums()
    assert getattr(fit, name)(ax=ax) is ax
    assert plt.get_fignums() == before


@pytest.mark.parametrize(
    "name", [name for name in dir(sp.SpcaResult) if re.match("plot_|biplot|scree", name)]
)
def test_the_plots_of_a_fit_take_the_options_of_the_functions(name):
    """All of the fit's own, none that it fills in, and the axes last."""
    method = getattr(sp.SpcaResult, name)
    taken = list(inspect.signature(method).parameters)
    assert taken[0] == "self"
    assert not {"loadings", "scores", "shares", "variance", "errors", "spectrum", "sparse"} & set(taken)
    assert (taken[-1] == "ax") == (not name.endswith("_data"))
