"""The layout of biplots, and what holds for every plot."""

from __future__ import annotations

import functools
import inspect
import pickle
import re
import warnings
from itertools import combinations
from pathlib import Path

import matplotlib.pyplot as plt
import numpy as np
import pandas as pd
import pytest
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.text import Text
from matplotlib.transforms import Bbox

import spcastat as sp
from spcastat import plots
from spcastat.plots.arrows import plot_correlations
from spcastat.plots.biplots import biplot, biplot_data
from spcastat.plots.blocks import Block
from spcastat.plots.frame import EdgeMarks
from spcastat.plots.names import Names
from spcastat.plots.texts import MeasuredText, wrapped
from tests.plots.conftest import note_of

from .shapes import SHAPES

# --- Blocks, axes and names: judged by the boxes of the artists, on twelve data sets ---------------


def blocks_of(ax: Axes) -> list[Block]:
    return [child for child in ax.get_children() if isinstance(child, Block)]


def names_of(ax: Axes) -> Names:
    (names,) = (child for child in ax.get_children() if isinstance(child, Names))
    return names


def boxes_of(ax: Axes) -> list[Bbox]:
    """The boxes of everything that must not overlap: axes, blocks, legend, note and colour bar."""
    ax.figure.canvas.draw()
    parts = [ax, *blocks_of(ax), *(text for text in ax.texts if text.get_gid() == "note"), *ax.child_axes]
    parts += [] if ax.get_legend() is None else [ax.get_legend()]
    return [part.get_window_extent() for part in parts]


def overlap(a: Bbox, b: Bbox) -> bool:
    """Whether two boxes share more than a pixel in both directions."""
    return min(a.x1, b.x1) - max(a.x0, b.x0) > 1 and min(a.y1, b.y1) - max(a.y0, b.y0) > 1


def assert_layout(ax: Axes, smallest: float = 60.0) -> None:
    """Nothing overlaps or leaves the figure, and each side of the axes has `smallest` points."""
    boxes, page = boxes_of(ax), ax.figure.bbox
    assert not any(overlap(a, b) for a, b in combinations(boxes, 2))
    for box in boxes:
        assert box.x0 > page.x0 - 1
        assert box.y0 > page.y0 - 1
        assert box.x1 < page.x1 + 1
        assert box.y1 < page.y1 + 1
    points = 72.0 / ax.figure.dpi
    assert min(boxes[0].width, boxes[0].height) * points >= smallest


def assert_names_have_room(ax: Axes) -> None:
    """Names within the axes do not touch one another or leave the frame."""
    ax.figure.canvas.draw()
    names, frame = names_of(ax), ax.get_window_extent()
    assert not any(a.overlaps(b) for a, b in combinations(names.boxes, 2))
    for box in names.boxes:
        assert frame.x0 < box.x0 <= box.x1 < frame.x1  # their outlines do not cover the frame
        assert frame.y0 < box.y0 <= box.y1 < frame.y1


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


#: Inches of figures: a column of a journal, a page, a slide, and an upright and a wide one.
SIZES = [(3.4, 3.0), (6.4, 4.8), (10.0, 7.0), (4.0, 7.0), (10.0, 3.0)]
#: Those drawn in each run; all others are in the slow tests.
QUICK = {("wine", SIZES[0]), ("census", SIZES[0]), ("genes", SIZES[1]), ("survey", SIZES[0])}


@pytest.mark.parametrize(
    ("name", "size"),
    [
        pytest.param(name, size, marks=() if (name, size) in QUICK else pytest.mark.slow)
        for name in SHAPES
        for size in SIZES
    ],
)
def test_nothing_overlaps_or_leaves_the_figure(name, size):
    """With each layout engine, with and without a note; 60 points are less than an inch."""
    fit, group = fit_of(name)
    options: dict[str, object] = {"groups": group, "outline": "normal"} if len(name) % 2 else {}
    for layout in ("constrained", "tight"):
        figure = plt.figure(figsize=size, layout=layout)
        ax = fit.biplot(**options, note=layout == "tight", ax=figure.subplots())
        assert_layout(ax)
        assert_names_have_room(ax)
        if min(size) >= 3.0:
            assert ax.get_window_extent().width >= figure.bbox.width / 3
        plt.close(figure)


def test_new_rows_a_thousand_times_too_large_leave_a_readable_plot(scores, loadings):
    """Data whose decimal comma was lost: marks at the edge, with their coordinates, and no warning."""
    far = scores.iloc[:3] * [1000.0, 1.0, 1.0]
    data = biplot_data(scores, loadings, new=far)
    assert data.new["far"].all()
    assert "Triangles at the edge are new rows farther out." in data.caption
    for size in ((3.4, 3.0), (6.4, 4.8)):
        figure = plt.figure(figsize=size, layout="constrained")
        ax = biplot(scores, loadings, new=far, ax=figure.subplots())
        assert_layout(ax)
        assert np.abs(ax.get_xlim()).max() < 10  # of standardised scores
        marks = [child.triangles()[1] for child in ax.get_children() if isinstance(child, EdgeMarks)]
        assert sum(map(len, marks)) == 3


def test_a_block_has_the_variables_of_its_component_and_counts_those_without_room(scores):
    """Two thousand variables; the largest are named, and all are counted."""
    weights = pd.DataFrame(0.0, index=[f"gene {i}" for i in range(2000)], columns=scores.columns)
    weights.iloc[:1000, 0], weights.iloc[1000:, 1] = (
        np.linspace(1.0, 0.1, 1000),
        np.linspace(-0.1, -1.0, 1000),
    )
    ax = biplot(
        scores, weights / np.sqrt(300), ax=plt.figure(figsize=(3.4, 3.0), layout="constrained").subplots()
    )
    assert_layout(ax)
    first, second = blocks_of(ax)
    assert [row.name for row in first.rows[:2]] == ["gene 0", "gene 1"]
    assert second.rows[0].name == "gene 1999"
    for block in (first, second):
        layout = block.layout
        assert len(layout.labels) >= 5
        assert len(layout.labels) + layout.hidden == 1000
        assert layout.labels[0] == block.rows[0].name
    # no variable is on both: the axes are the directions
    assert len(biplot_data(scores, weights).arrows) == 0


def test_blocks_of_a_biplot_name_their_component_in_every_layout(scores):
    """Beside the axes or below them; short names keep their numbers where both have room."""
    weights = pd.DataFrame(0.0, index=list("abcdefgh"), columns=scores.columns)
    weights.iloc[:4, 0], weights.iloc[4:, 1] = [0.6, 0.5, -0.5, 0.4], [0.6, -0.5, 0.5, 0.4]
    for size in SIZES:
        ax = biplot(scores, weights, ax=plt.figure(figsize=size, layout="constrained").subplots())
        ax.figure.canvas.draw()
        layouts = [block.layout for block in blocks_of(ax)]
        assert [layout.heading for layout in layouts] == ["PC1", "PC2"]
    tall = biplot(scores, weights, ax=plt.figure(figsize=(3.4, 4.5), layout="constrained").subplots())
    tall.figure.canvas.draw()
    assert all(block.layout.values for block in blocks_of(tall))


@pytest.mark.sweep
@pytest.mark.parametrize("size", SIZES)
def test_the_number_of_variables_without_room_is_within_the_figure(scores, size):
    """Also if it is longer than their names."""
    weights = pd.DataFrame(0.0, index=[f"g{i}" for i in range(4000)], columns=scores.columns)
    weights.iloc[:2000, 0], weights.iloc[2000:, 1] = 0.02, 0.02
    ax = biplot(scores, weights, ax=plt.figure(figsize=size, layout="constrained").subplots())
    assert_layout(ax)
    renderer, page = ax.figure.canvas.get_renderer(), ax.figure.bbox
    for block in blocks_of(ax):
        count = next(text for text in block._parts(block.layout) if "more" in str(getattr(text, "_text", "")))
        assert count.get_window_extent(renderer).x1 <= page.x1
        assert count.get_window_extent(renderer).x1 <= block.get_window_extent().x1 + 1


def test_bars_of_both_blocks_have_one_scale_and_names_are_whole_where_they_have_room(scores):
    names = [f"concentration of substance {i} in mg/l" for i in range(6)]
    weights = pd.DataFrame(0.0, index=names, columns=scores.columns)
    weights.iloc[:3, 0], weights.iloc[3:, 1] = [0.8, 0.5, 0.3], [-0.7, -0.6, -0.4]
    ax = biplot(scores, weights)
    assert_layout(ax)
    first, second = blocks_of(ax)
    assert first.layout.unit == second.layout.unit
    assert [*first.layout.labels, *second.layout.labels] == names
    assert bool(first.layout.values) == bool(second.layout.values)
    small = biplot(scores, weights, ax=plt.figure(figsize=(3.4, 3.0), layout="constrained").subplots())
    assert_layout(small)
    labels = [label for block in blocks_of(small) for label in block.layout.labels]
    assert len(set(labels)) == 6
    for label, name in zip(labels, names, strict=True):
        assert all(part in name for part in label.split("…"))


@pytest.mark.sweep
@pytest.mark.parametrize("dpi", [60, 72, 80, 100, 150])
@pytest.mark.parametrize("kind", ["blocks", "table"])
def test_names_that_fill_a_line_are_not_cut_off_at_any_resolution(dpi, kind):
    """Names of many lengths, of which some just have room: the pixels at the edge are those of the paper."""
    names = [f"{i} " + "How satisfied are you with all items of our service "[: 20 + i] for i in range(30)]
    values = pd.DataFrame({"PC1": np.linspace(1, 0.5, 30), "PC2": 0.0}, index=names)
    values.iloc[15:] = values.iloc[15:, ::-1].to_numpy()
    figure = plt.figure(figsize=(3.4, 6.0), dpi=dpi, layout="constrained")
    ax = plots.plot_loadings(values, kind=kind, ax=figure.subplots())
    figure.canvas.draw()
    pixels = np.asarray(figure.canvas.buffer_rgba())[..., :3]
    assert (pixels[:, -1] == 255).all()
    assert (pixels[:, 0] == 255).all()
    assert any(name in labels_of(ax) for name in names)


def labels_of(ax: Axes) -> list[str]:
    """The names of the blocks or of the table of a plot of loadings."""
    parts = [child for child in ax.get_children() if child.get_gid() in ("block", "table")]
    layouts = [layout for part in parts if (layout := getattr(part, "layout", part))]
    return [label for layout in layouts for label in layout.labels]


def test_a_legend_keeps_its_colours_when_it_is_drawn_after_its_style_has_ended(scores, loadings):
    groups = pd.Series(np.resize([f"school {i}" for i in range(9)], len(scores)), scores.index, name="school")
    with plt.style.context("dark_background"):
        figure = plt.figure(figsize=(3.4, 3.0), layout="constrained")
        ax = biplot(scores, loadings, groups=groups, ax=figure.subplots())
    figure.canvas.draw()
    legend = ax.get_legend()
    assert {text.get_color() for text in [*legend.get_texts(), legend.get_title()]} == {"white"}


def test_names_of_centroids_do_not_cover_their_marks(scores, loadings):
    groups = np.resize(["A", "B", "C"], len(scores))
    ax = biplot(scores, loadings, groups=groups, centroids=True)
    ax.figure.canvas.draw()
    names = names_of(ax)
    for mark in (child for child in ax.collections if child.get_gid() == "centroid"):
        box = mark.get_window_extent()
        assert not any(overlap(box, other) for other in names.boxes if names.written)


def test_means_of_groups_in_a_dense_cloud_are_named_and_counted(loadings):
    """In the colour of text, since the colour of a group is also that of the points beneath."""
    values = np.random.default_rng(0).normal(size=(6000, 3))
    values[:, :2] += np.repeat([[0, 0], [2, 0], [0, 2], [0, 0.1]], 1500, axis=0)
    scores = pd.DataFrame(values, columns=["PC1", "PC2", "PC3"])
    figure = plt.figure(figsize=(3.4, 3.0), layout="constrained")
    groups = np.repeat(["A", "B", "C", "D"], 1500)
    ax = biplot(scores, loadings, groups=groups, centroids=True, note=True, ax=figure.subplots())
    figure.canvas.draw()
    named = [name for name in names_of(ax).written if name.radius]
    assert {name.text for name in named} >= {"B", "C"}
    names, marks = names_of(ax), {name.text: ax.transData.transform(name.position) for name in named}
    for name, box in zip(names.written, names.boxes, strict=True):
        distances = {mark: np.hypot(*(at - np.clip(at, box.p0, box.p1))) for mark, at in marks.items()}
        assert name.text not in marks or min(distances, key=lambda mark: distances[mark]) == name.text
    assert {name.colour for name in named} == {(0.0, 0.0, 0.0)}
    assert f"Large marks: group means ({len(named)} of 4 named; " in note_of(ax) or len(named) == 4


@pytest.mark.parametrize(("width", "text"), [(3.0, "a name of medium length"), (1.2, "a name…")])
def test_a_name_without_room_is_written_in_its_short_form(width, text):
    ax = plt.figure(figsize=(width, 1.2)).add_axes((0.0, 0.0, 1.0, 1.0))
    ax.set(xlim=(-1, 1), ylim=(-1, 1))
    names = Names(ax, 7.5, np.empty((0, 2)))
    names.add((0.0, 0.0), "a name of medium length", "black", short_text="a name…")
    names.add((0.0, 0.5), "a name that is longer than the axes are wide, in both sizes", "black")
    ax.figure.canvas.draw()
    assert [name.text for name in names.written] == [text]


#: Wordings of items, and names with underscores, that are too long for a line beside the axes.
LONG_NAMES = {
    "items": [f"Q{i}: I often worry about small matters in {place}" for i, place in enumerate("ABCDEFGH", 1)],
    "underscores": [f"mean_surface_temperature_of_station_{place}" for place in "ABCDEFGH"],
}


@pytest.mark.sweep
@pytest.mark.parametrize("kind", LONG_NAMES)
@pytest.mark.parametrize("size", [(3.4, 4.5), (6.4, 4.8)])
def test_long_names_of_blocks_have_a_second_line_before_they_are_shortened(scores, kind, size):
    weights = pd.DataFrame(0.0, index=LONG_NAMES[kind], columns=scores.columns)
    weights.iloc[:4, 0], weights.iloc[4:, 1] = [0.8, 0.5, 0.3, 0.1], [-0.7, -0.6, -0.4, -0.1]
    ax = biplot(scores, weights, ax=plt.figure(figsize=size, layout="constrained").subplots())
    assert_layout(ax)
    for block in blocks_of(ax):
        layout = block.layout
        for label, lines in zip(layout.labels, layout.texts, strict=True):
            assert "".join(lines).replace(" ", "") == label.replace(" ", "")
            assert len(label) >= 24 or len(lines) == 2
        texts = [part for part in block._parts(layout) if isinstance(part, Text)]
        boxes = [text.get_window_extent(ax.figure.canvas.get_renderer()) for text in texts]
        assert not any(overlap(a, b) for a, b in combinations(boxes, 2))
        page = ax.figure.bbox
        assert all(box.x1 <= page.x1 and box.y0 >= page.y0 - 1 for box in boxes)


@pytest.mark.parametrize("width", [2.5, 3.4, 6.4])
def test_a_note_consists_of_whole_sentences(scores, loadings, width):
    """At every width; where not even the first sentence has room there is no note."""
    ax = biplot(
        scores, loadings, note=True, ax=plt.figure(figsize=(width, 4), layout="constrained").subplots()
    )
    assert_layout(ax)
    note = note_of(ax)
    sentence = (
        r"(Points: scores / sd|Bars: loadings|Arrows: loadings × sd × |Scores: r = )[^:]*(: negative\))?\."
    )
    assert re.fullmatch(rf"({sentence}( |$))*", note)
    subjects = re.findall(r"(\w+): (?!negative)", note)
    assert subjects == ["Points", "Bars", "Arrows", "Scores"][: len(subjects)]


def test_a_variable_on_both_components_has_an_arrow_and_its_direction_in_both_blocks(scores):
    weights = pd.DataFrame(0.0, index=["both", "x", "y"], columns=scores.columns)
    weights.loc["both"], weights.loc["x", "PC1"], weights.loc["y", "PC2"] = [0.6, -0.6, 0.0], 0.8, 0.8
    data = biplot_data(scores, weights, scale=0)
    assert list(data.arrows.index) == ["both"]
    ax = biplot(scores, weights, scale=0)
    ax.figure.canvas.draw()
    for block in blocks_of(ax):
        directions = {row.name: row.direction for row in block.rows}
        assert directions.pop("both") == pytest.approx((np.sqrt(0.5), -np.sqrt(0.5)))
        assert set(directions.values()) == {None}
    assert "both" in [name.text for name in names_of(ax).written]


def test_names_do_not_depend_on_the_resolution(scores, loadings):
    figure = plt.figure(figsize=(3.4, 3.0), layout="constrained")
    ax = biplot(scores, loadings, ax=figure.subplots())
    written = []
    for dpi in (60, 100, 300):
        figure.set_dpi(dpi)
        assert_layout(ax)
        block_names = [tuple(block.layout.labels) for block in blocks_of(ax)]
        written.append(([name.text for name in names_of(ax).written], block_names))
    assert written[0] == written[1] == written[2]


def test_layouts_follow_the_size_of_the_figure_and_limits_of_the_user(scores, loadings):
    figure = plt.figure(figsize=(3.4, 3.0), layout="constrained")
    ax = biplot(scores, loadings, ax=figure.subplots())
    assert_layout(ax)
    figure.set_size_inches(8, 5)
    assert_layout(ax, 150.0)
    ax.set_xlim(-1, 1)
    figure.canvas.draw()
    assert ax.get_xlim() == (-1.0, 1.0)
    copied = pickle.loads(pickle.dumps(figure)).axes[0]
    assert_layout(copied, 150.0)


@pytest.mark.parametrize("draw", ["biplot", "plot_correlations"])
def test_a_small_figure_of_99_variables_keeps_room_for_its_axes(draw):
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
        assert_layout(ax)
    assert all(block.layout.hidden for block in blocks_of(ax))


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
    described = re.findall(r"^(\w[\w, ]*)(?: : .+)?$", section, re.MULTILINE)
    assert sorted(one for line in described for one in line.split(", ")) == sorted(parameters)
    assert list(parameters)[-1] == "ax"
    taken = list(inspect.signature(table).parameters)
    assert taken == [one for one in parameters if one in taken]
    assert "ax" not in taken
    assert inspect.signature(drawing) == inspect.signature(inspect.unwrap(drawing))
    assert inspect.unwrap(drawing).__code__.co_name == name


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


@pytest.mark.sweep
@pytest.mark.parametrize("dpi", [72, 100, 110, 300])
def test_the_texts_of_a_block_have_one_size(dpi, monkeypatch):
    """Letters at whole pixels widen some names more than others; no name alone has a smaller font."""
    sizes: dict[int, set[float]] = {}
    drawn, parts = MeasuredText.draw, Block._parts

    def collect(block, layout):
        for part in parts(block, layout):
            part.block = id(block)
            yield part

    def draw(text, renderer):
        if hasattr(text, "block"):
            sizes.setdefault(text.block, set()).add(round(text.fitting_size(renderer), 6))
        drawn(text, renderer)

    monkeypatch.setattr(Block, "_parts", collect)
    monkeypatch.setattr(MeasuredText, "draw", draw)
    X, _ = SHAPES["collinear cells"]()
    fit = sp.spca(X, k=2, card=8, scale=True, effort="quick")
    figure, ax = plt.subplots(figsize=(6, 5), layout="constrained", dpi=dpi)
    fit.biplot(arrows="correlations", blocks=True, ax=ax)
    figure.canvas.draw()
    assert len(sizes) == 2
    assert all(len(block) == 1 for block in sizes.values())
    plt.close(figure)


def test_names_of_few_arrows_are_written_with_leader_lines_where_tips_lie_together():
    """Eight correlations in two bundles: without leader lines four names have no room.

    Others could belong to two tips and are left out: the blocks have all names.
    """
    angles = np.repeat([0.1, 2.0], [4, 4]) + np.tile([0.0, 0.06, 0.12, 0.18], 2)
    values = pd.DataFrame(
        0.95 * np.c_[np.cos(angles), np.sin(angles)], [f"reading {i}" for i in range(8)], ["PC1", "PC2"]
    )
    for size in ((3.4, 4.5), (6.4, 5.4)):
        ax = plt.figure(figsize=size, layout="constrained").subplots()
        plots.plot_correlations(values, ax=ax)
        ax.figure.canvas.draw()
        (names,) = (child for child in ax.get_children() if isinstance(child, Names))
        assert len(names.written) >= 5
        assert not any(overlap(a, b) for a, b in combinations(names.boxes, 2))
        plt.close("all")


def test_most_correlations_of_a_circle_are_named_and_the_others_counted():
    """Twelve variables, four to a bundle, whose names could not all stand beside their tips."""
    angles = np.repeat([0.5, 2.2, 4.0], 4) + np.tile([0.0, 0.09, 0.18, 0.27], 3)
    lengths = np.tile([0.95, 0.8, 0.9, 0.7], 3)[:, None]
    values = pd.DataFrame(
        lengths * np.c_[np.cos(angles), np.sin(angles)], [f"item {i}" for i in range(12)], ["PC1", "PC2"]
    )
    for size, least in (((3.4, 4.5), 10), ((7.0, 5.0), 12)):
        ax = plt.figure(figsize=size, layout="constrained").subplots()
        plots.plot_correlations(values, ax=ax)
        assert_names_have_room(ax)
        assert len(names_of(ax).written) >= least
        count = len(names_of(ax).written)
        assert f"Arrows: correlations{f' ({count} of 12 named)' * (count < 12)}." in note_of(ax)


@pytest.mark.parametrize("size", [(3.4, 3.0), (3.4, 4.5), (7.0, 5.0)])
def test_lists_are_drawn_only_where_arrows_are_not_named(size):
    """Arrows in all directions have names of their own; those of a bundle are named in lists."""
    angles = np.linspace(0.1, 6.0, 9)
    for directions in (angles, 0.01 * angles):
        weights = np.c_[np.cos(directions), np.sin(directions)]
        loadings = pd.DataFrame(weights, [f"item {i}" for i in range(9)], ["PC1", "PC2"])
        scores = pd.DataFrame(np.random.default_rng(0).normal(size=(30, 2)), columns=["PC1", "PC2"])
        panels = [plt.figure(figsize=size, layout="constrained").subplots() for _ in range(2)]
        biplot(scores, loadings, ax=panels[0])
        plots.plot_correlations(0.9 * loadings, ax=panels[1])
        for ax in panels:
            assert_layout(ax)
            assert_names_have_room(ax)
            listed = {row.name for block in blocks_of(ax) if block.layout for row in block.layout.rows}
            named = {name.text for name in names_of(ax).written}
            assert not listed or directions is not angles
            assert listed | named == set(loadings.index) if listed else len(named) >= 7
        plt.close("all")


def test_a_legend_reads_row_by_row_and_keeps_the_size_of_its_title(scores, loadings):
    groups = pd.Series([*"ABCDEFGH"] * 10, name="school").iloc[: len(scores)].set_axis(scores.index)
    ax = plt.figure(figsize=(3.4, 3.0), layout="constrained").subplots()
    legend = biplot(scores, loadings, groups=groups, ax=ax).get_legend()
    ax.figure.canvas.draw()
    boxes = {text.get_text(): text.get_window_extent() for text in legend.get_texts()}
    assert sorted(boxes, key=lambda name: (-round(boxes[name].y0), boxes[name].x0)) == [*"ABCDEFGH"]
    assert legend.get_title().get_text() == "school"
    assert legend.get_title().get_fontsize() == legend.get_texts()[0].get_fontsize()
    plt.close("all")


def test_no_label_is_cut_where_limits_of_one_scale_follow_the_numbers_at_the_ticks():
    """One component reaches much farther than the other; at some widths automatic ticks never settled."""
    rng = np.random.default_rng(4)
    scores = pd.DataFrame({"PC1": rng.exponential(3.0, 200) - 1.0, "PC2": rng.standard_normal(200)})
    loadings = pd.DataFrame(np.eye(2) + 0.2, ["a", "b"], scores.columns)
    for width in np.linspace(3.0, 4.2, 13):
        figure = plt.figure(figsize=(width, 3.0), layout="constrained")
        ax = biplot(scores, loadings, scale=0, ax=figure.subplots())
        figure.canvas.draw()
        assert ax.yaxis.get_tightbbox(figure.canvas.get_renderer()).x0 >= 0
        assert 2 <= len(ax.get_yticks()) <= 12
        plt.close(figure)


@pytest.mark.slow
@pytest.mark.parametrize("arrows", ["loadings", "correlations"])
def test_no_label_is_cut_where_two_arrangements_are_all_but_equal(arrows):
    """What is best in the room beside the numbers of one has wider numbers, at some sizes of figures."""
    fit = sp.spca(sp.datasets.load_judges(), k=2, card=[6, 4], scale=True)
    for height in (3.0, 4.5):
        for width in np.linspace(2.8, 4.2, 8):
            figure = plt.figure(figsize=(width, height), layout="constrained")
            ax = fit.biplot(arrows=arrows, ax=figure.subplots())
            for dpi in (100, 200, 100):
                figure.set_dpi(dpi)
                figure.canvas.draw()
                label = ax.yaxis.label.get_window_extent(figure.canvas.get_renderer())
                assert label.x0 >= 0, (width, height, dpi)
            plt.close(figure)


@pytest.mark.sweep
@pytest.mark.parametrize("width", [2.8, 3.1, 3.4, 4.0])
@pytest.mark.parametrize("kind", ["biplot", "plot_correlations", "plot_loadings"])
def test_shortened_names_of_two_blocks_are_distinct(scores, kind, width):
    """Each block would have room for a name cut before it differs from one in the other."""
    names = [f"short-line-density-of-the-region-{i}" for i in (5, 2)] + [
        f"mean {what} of the pixels of the region" for what in ("saturation", "intensity")
    ]
    loadings = pd.DataFrame(np.kron([[1.0], [0.9]], np.eye(2, 3)), names, scores.columns)
    correlations = loadings.replace(0.0, 0.1)
    ax = plt.figure(figsize=(width, 3.0), layout="constrained").subplots()
    if kind == "biplot":
        biplot(scores, loadings, arrows="correlations", correlations=correlations, blocks=True, ax=ax)
    elif kind == "plot_correlations":
        plots.plot_correlations(correlations, loadings, ax=ax)
    else:
        plots.plot_loadings(loadings, kind="blocks", ax=ax)
    ax.figure.canvas.draw()
    layouts = [block.layout for block in blocks_of(ax) if block.layout]
    shown = {
        (label, row.name) for layout in layouts for label, row in zip(layout.labels, layout.rows, strict=True)
    }
    assert len({label for label, _ in shown}) == len(shown) == len({name for _, name in shown})
    assert len(shown) > 1 or (kind == "plot_correlations" and len(names_of(ax).written) > 2)


def test_lines_break_after_hyphens_before_words():
    assert wrapped("short-line-density-5", 45.0, 7.5) == ["short-line-", "density-5"]
    assert wrapped("share_of_the…dwellings", 50.0, 7.5) == ["share_of_", "the…", "dwellings"]
    assert wrapped("5 % of × 2 so. %: a b", 1.0, 7.5) == ["5 %", "of", "× 2", "so.", "%: a", "b"]
    assert wrapped("from 5 to -2 of a-b", 1.0, 7.5) == ["from", "5", "to", "-2", "of", "a-b"]


@pytest.mark.sweep
@pytest.mark.parametrize("size", [(3.4, 3.0), (3.4, 4.5), (7.0, 5.0)])
@pytest.mark.parametrize("kind", ["biplot", "plot_correlations", "plot_loadings"])
def test_long_names_of_components_are_within_the_figure_and_distinct(scores, kind, size):
    names = ["Extraversion of the pupil at home", "Extraversion of the pupil at school", "Openness"]
    scores = scores.set_axis(names, axis=1)
    loadings = pd.DataFrame(np.kron(np.eye(3), [[0.9], [0.5]]) + 0.1, list("abcdef"), names)
    shares = pd.Series([0.4, 0.3, 0.1], names)
    ax = plt.figure(figsize=size, layout="constrained").subplots()
    if kind == "biplot":
        biplot(scores, loadings, shares=shares, blocks=True, ax=ax)
    else:
        options = {"kind": "blocks"} if kind == "plot_loadings" else {}
        getattr(plots, kind)(loadings, shares=shares, ax=ax, **options)
    ax.figure.canvas.draw()
    renderer, page = ax.figure.canvas.get_renderer(), ax.figure.bbox
    layouts = [block.layout for block in blocks_of(ax) if block.layout and block.layout.labels]
    assert len({layout.heading for layout in layouts}) == len(layouts)
    assert len(layouts) >= 2 or kind == "plot_correlations"
    for block in blocks_of(ax):
        if block.layout:
            assert block.get_window_extent().x1 <= page.x1 + 1
    if kind != "plot_loadings":
        for axis in (ax.xaxis, ax.yaxis):
            box = axis.label.get_window_extent(renderer)
            assert page.x0 <= box.x0 <= box.x1 <= page.x1
            assert page.y0 <= box.y0 <= box.y1 <= page.y1
        assert ax.get_xlabel() != ax.get_ylabel()


@pytest.mark.parametrize("size", [(3.4, 3.0), (3.4, 4.5), (7.0, 5.0)])
def test_lists_of_correlations_have_the_width_of_the_figure(size):
    """Also below the numbers beside the axes, so that names are complete and no arrow is cut."""
    fit = sp.spca(sp.datasets.load_judges(), 2, card=[6, 3], scale=True)
    figure = plt.figure(figsize=size, layout="constrained")
    ax = fit.biplot(arrows="correlations", blocks=True, ax=figure.subplots())
    figure.canvas.draw()
    blocks = [child for child in ax.get_children() if isinstance(child, Block)]
    assert len(blocks) == 2
    for block in blocks:
        assert block.layout.labels == [row.name for row in block.layout.rows]
        box = block.get_window_extent()
        assert box.x0 >= 0
        assert box.x1 <= figure.bbox.x1


@pytest.mark.parametrize("sign", [1.0, -1.0])
def test_a_circle_has_room_for_names_where_its_arrows_are(sign):
    """In a column of a journal, too."""
    fit = sp.spca(sp.datasets.load_judges(), 2, card=[6, 3], scale=True)
    figure = plt.figure(figsize=(3.4, 4.5), layout="constrained")
    ax = plot_correlations(sign * fit.correlations, sign * fit.loadings, ax=figure.subplots())
    figure.canvas.draw()
    used = (fit.loadings != 0).any(axis=1).sum()
    assert len(names_of(ax).written) >= used
    low, high = ax.get_xlim()
    assert sign * (high + low) > 0.3


def test_names_of_arrows_hide_no_point_where_another_spot_is_free():
    ax = plt.figure(figsize=(4.0, 4.0)).subplots()
    ax.set(xlim=(-2.0, 2.0), ylim=(-2.0, 2.0))
    dots = np.array([[1.25, 0.0], [1.2, 0.15]])
    names = Names(ax, 8.0, dots, np.array([[1.0, 0.0]]))
    names.add((1.0, 0.0), "a name", "black", at_tip=True, leader=True, most_covered=7.0)
    ax.figure.canvas.draw()
    (box,) = names.boxes
    assert not any(box.contains(x, y) for x, y in ax.transData.transform(dots))


def test_a_narrow_list_has_fewer_names_rather_than_stumps(scores):
    """Eight names of up to 24 characters on each component, in a column of a journal."""
    parts = ("fractal dimension", "compactness", "smoothness", "perimeter", "area")
    names = [f"{kind} {what}" for what in parts for kind in ("mean", "worst", "error")]
    weights = np.zeros((15, 3))
    weights[:8, 0], weights[7:, 1] = np.linspace(0.5, 0.3, 8), np.linspace(0.5, 0.3, 8)
    loadings = pd.DataFrame(weights, names, scores.columns)
    ax = plt.figure(figsize=(3.4, 3.0), layout="constrained").subplots()
    biplot(scores, loadings, note=True, ax=ax)
    assert_layout(ax)
    for block in blocks_of(ax):
        assert len(block.layout.labels) >= 3
        pairs = zip(block.layout.labels, block.layout.rows, strict=True)
        assert sum(len(label) < 0.75 * len(row.name) for label, row in pairs) <= 1


def test_a_caption_has_three_lines_in_a_column_of_a_journal():
    """Of each kind of plot, wherever it can be that its marks are explained in so many."""
    wine = sp.datasets.load_wine()
    sparse, dense = sp.spca(wine, 2, 5, scale=True), sp.spca(wine, 2, method="pca", scale=True)
    panels = [plt.figure(figsize=(3.4, 3.0), layout="constrained").subplots() for _ in range(4)]
    sparse.biplot(note=True, ax=panels[0])
    sparse.biplot(arrows="correlations", note=True, ax=panels[1])
    dense.biplot(note=True, ax=panels[2])
    sparse.plot_correlations(ax=panels[3])
    for ax in panels:
        assert_layout(ax)
        (lines,) = (text.get_text().split("\n") for text in ax.texts if text.get_gid() == "note")
        assert 1 <= len(lines) <= 3
        assert "%: " in note_of(ax)
        renderer, page = ax.figure.canvas.get_renderer(), ax.figure.bbox
        (note,) = (text for text in ax.texts if text.get_gid() == "note")
        assert note.get_window_extent(renderer).x1 <= page.x1


def test_the_caption_follows_limits_that_the_user_sets():
    """It counts the names that are drawn within them."""
    fit = sp.spca(sp.datasets.load_judges(), 2, method="pca", scale=True)
    ax = plt.figure(figsize=(6.4, 5.4), layout="constrained").subplots()
    fit.biplot(note=True, blocks=False, ax=ax)
    for limits in (None, (-8.0, 8.0), (-20.0, 20.0)):
        if limits is not None:
            ax.set(xlim=limits, ylim=limits)
        ax.figure.canvas.draw()
        count = sum(name.at_tip for name in names_of(ax).written)
        assert f"({count} of 12 named)" in note_of(ax) or count == 12
