"""Loadings in figures: bars, maps, several fits side by side, correlations."""

from __future__ import annotations

import itertools
import re

import matplotlib.pyplot as plt
import numpy as np
import pandas as pd
import pytest
from matplotlib.axes import Axes
from matplotlib.colors import to_rgb
from matplotlib.lines import Line2D
from matplotlib.patches import Circle
from matplotlib.quiver import Quiver
from matplotlib.text import Text
from matplotlib.transforms import Bbox

import spcastat as sp
from spcastat.measures import measures_of
from spcastat.plots.arrows import plot_correlations, plot_correlations_data
from spcastat.plots.blocks import Block, _shortening, loading_text, tick_text
from spcastat.plots.loading_blocks import balanced
from spcastat.plots.loading_curves import numbers_of
from spcastat.plots.loading_table import LoadingTable
from spcastat.plots.loadings_plot import plot_loadings, plot_loadings_data
from spcastat.plots.measure_plots import plot_compare, plot_compare_data
from spcastat.plots.names import Names
from spcastat.plots.texts import give_one_size, width_of
from tests.plots.conftest import note_of


@pytest.fixture(scope="module")
def judges_fit() -> sp.SpcaResult:
    return sp.spca(sp.datasets.load_judges(), 2, card=3, scale=True)


# --- loadings -------------------------------------------------------------------------------------


def artists(ax: Axes, kind: type) -> list:
    """The artists of a kind that were laid out when the figure was drawn last."""
    return [c for c in ax.get_children() if isinstance(c, kind) and getattr(c, "layout", c) is not None]


def drawn(ax: Axes) -> list[Block]:
    ax.figure.canvas.draw()
    return [block for block in artists(ax, Block) if block.layout.labels]


def caption_of_blocks(ax: Axes) -> str:
    """The caption below blocks, as it was drawn last."""
    lines = (block.layout.heading for block in artists(ax, Block) if not block.layout.labels)
    return " ".join(filter(None, lines))


def texts(ax: Axes) -> list[Text]:
    """Every text of a block, a table or a panel, as it was drawn last."""
    parts = [
        *(part for block in artists(ax, Block) for part in block._parts(block.layout)),
        *(part for table in artists(ax, LoadingTable) for part in table._parts()),
        *(text for panel in ax.child_axes for text in (*panel.texts, panel.xaxis.label)),
    ]
    words = [part for part in parts if isinstance(part, Text) and part.get_text()]
    for text in words:
        text.set_figure(ax.figure)
    return words


def test_data_keep_nonzero_rows_in_order(loadings):
    data = plot_loadings_data(loadings, sort=False)
    assert data.attrs["names"] == list(data.index)
    pd.testing.assert_frame_equal(data, loadings[(loadings != 0).any(axis=1)])
    chosen = plot_loadings_data(loadings, components=[3, "PC1"])
    assert list(chosen.columns) == ["PC3", "PC1"]
    assert (chosen != 0).any(axis=1).all()


def test_variables_of_a_component_are_together_the_largest_first():
    values = [[0.0, 0.6, 0.0], [0.5, 0.0, 0.0], [0.0, -0.8, 0.1], [-0.9, 0.0, 0.0], [0.0, 0.0, 1.0]]
    loadings = pd.DataFrame(values, index=list("abcde"), columns=["PC1", "PC2", "PC3"])
    assert list(plot_loadings_data(loadings).index) == ["d", "b", "c", "a", "e"]
    assert list(plot_loadings_data(loadings, kind="table").index) == ["d", "b", "c", "a", "e"]
    assert list(plot_loadings_data(loadings, sort=False).index) == list("abcde")


@pytest.mark.parametrize("sort", [True, False])
def test_blocks_are_the_loadings(loadings, sort):
    """Each block has the nonzero loadings of its component, by size or in the order of the data."""
    ax = plot_loadings(loadings, kind="blocks", sort=sort)
    shown = drawn(ax)
    assert len(shown) == loadings.shape[1]
    for block, name in zip(shown, loadings, strict=True):
        nonzero = loadings.loc[loadings[name] != 0, name]
        order = nonzero.abs().sort_values(ascending=False).index if sort else nonzero.index
        assert block.layout.labels == list(order)
        assert [row.value for row in block.layout.rows] == nonzero[order].to_list()
        assert block.layout.heading == name
    assert len({(block.layout.unit, block.layout.size) for block in shown}) == 1


def test_names_of_40_characters_are_complete_in_a_column_of_a_journal():
    """25 items on 5 components at 3.4 x 4.5 inches."""
    names = [f"Item {i:02d} of the scale of {what}".ljust(40, "s") for i in range(5) for what in FACETS]
    values = np.zeros((25, 5))
    values[np.arange(25), np.arange(25) % 5] = np.linspace(0.6, 0.2, 25) * (-1.0) ** np.arange(25)
    frame = pd.DataFrame(values, index=names, columns=[f"PC{j + 1}" for j in range(5)])
    ax = plot_loadings(frame, ax=plt.figure(figsize=(3.4, 4.5), layout="constrained").subplots())
    labels = [label for block in drawn(ax) for label in block.layout.labels]
    assert sorted(labels) == sorted(names)
    assert min(block.layout.size for block in drawn(ax)) >= 6.5


FACETS = ["openness now", "order at home", "new ventures", "self-control", "good feeling"]


def test_a_table_has_every_loading_and_the_default_follows_the_data():
    rng = np.random.default_rng(0)
    dense = pd.DataFrame(rng.normal(size=(9, 3)), columns=["PC1", "PC2", "PC3"]).add_prefix("", axis=0)
    assert plot_loadings_data(dense).attrs["kind"] == "table"
    ax = plot_loadings(dense)
    ax.figure.canvas.draw()
    words = [text.get_text() for text in texts(ax)]
    assert sorted(words) == sorted(
        [
            "Loading (colour: sign and size)",
            *dense.columns,
            *dense.index,
            *(loading_text(value) for value in dense.to_numpy().ravel()),
        ]
    )
    disjoint = dense.where(np.eye(3)[np.arange(9) % 3] == 1, 0.0)
    assert plot_loadings_data(disjoint).attrs["kind"] == "blocks"
    disjoint.index = [f"{w} nm" for w in range(850, 859)]
    assert plot_loadings_data(disjoint).attrs["kind"] == "blocks"


@pytest.mark.parametrize(
    ("names", "spectrum"),
    [
        ([f"{w} nm" for w in range(850, 1050, 2)], True),
        ([f"X{w}" for w in range(850, 1050, 2)], True),  # as R names columns
        (range(4000, 3900, -1), True),
        (range(100), False),
        ([f"V{i}" for i in range(1, 101) if i % 9], False),  # some were left out
        ([f"probe_{i}" for i in range(850, 950)], False),
    ],
)
def test_a_curve_is_the_default_for_columns_named_by_positions_that_do_not_merely_count(names, spectrum):
    names = list(names)
    frame = pd.DataFrame({"PC1": np.ones(len(names))}, index=names)
    assert (plot_loadings_data(frame).attrs["kind"] == "line") == spectrum


@pytest.mark.parametrize("kind", ["blocks", "table"])
def test_variables_without_room_are_counted(make_loadings, kind):
    loadings = make_loadings(2000, 3, 50)
    for options in ({}, {"max_rows": 12}):
        figure = plt.figure(figsize=(3.4, 4.5), layout="constrained")
        ax = plot_loadings(loadings, kind=kind, ax=figure.subplots(), **options)
        blocks = drawn(ax)
        if kind == "blocks":
            for block in blocks:
                assert len(block.layout.labels) + block.layout.hidden == 50
                sizes = loadings[block.layout.heading].abs().nlargest(3).index
                assert list(sizes) == block.layout.labels[:3]
        else:
            (table,) = artists(ax, LoadingTable)
            hidden = int(table.hidden.sum())
            assert len(table.labels) + hidden == int((loadings != 0).any(axis=1).sum())
            assert f"and {hidden} more of 3 components" in [text.get_text() for text in texts(ax)]


@pytest.mark.parametrize("kind", ["blocks", "table", "line"])
@pytest.mark.parametrize(("p", "k"), [(3, 1), (13, 6), (60, 2), pytest.param(30, 15, marks=pytest.mark.slow)])
def test_nothing_is_clipped_or_overlaps(make_loadings, kind, p, k):
    """At the sizes of a thumbnail, a column and a page, with both layout engines."""
    loadings = make_loadings(p, k, min(p, 20)).rename("{} with $a_long$ name".format)
    for size, layout in (((2.5, 2.5), "tight"), ((3.4, 4.5), "constrained"), ((8.0, 3.0), "constrained")):
        figure = plt.figure(figsize=size, layout=layout)
        ax = plot_loadings(loadings, kind=kind, ax=figure.subplots())
        figure.canvas.draw()
        # texts have their room only with the renderer that draws them
        renderer = figure.canvas.get_renderer()
        page, boxes = figure.bbox, [text.get_window_extent(renderer) for text in texts(ax)]
        for box in boxes:
            assert page.x0 - 1 <= box.x0 < box.x1 <= page.x1 + 1
            assert page.y0 - 1 <= box.y0 < box.y1 <= page.y1 + 1
        shrunk = [box.padded(-1) for box in boxes if min(box.width, box.height) > 2]
        if kind != "line" or size[1] / k > 0.3:  # inches of a panel
            assert not any(a.overlaps(b) for a, b in itertools.combinations(shrunk, 2))
        plt.close(figure)


# --- Loadings by sections, with intervals, over the columns, and as images ------------------------

KINDS = ["soil", "air"]


@pytest.fixture
def sections(loadings) -> dict[str, str]:
    return {name: KINDS[i % 2] for i, name in enumerate(loadings.index)}


def test_variables_of_a_section_stand_together(loadings, sections):
    data = plot_loadings_data(loadings, sections=sections)
    found = [sections[name] for name in data.index]
    assert found == sorted(found, key=KINDS.index)  # sections in the order of their first member
    ordered = pd.Categorical([sections[name] for name in loadings.index], ["air", "soil"])
    data = plot_loadings_data(loadings, sections=ordered)
    assert [sections[name] for name in data.index] == sorted(found)
    for block in drawn(plot_loadings(loadings, kind="blocks", sections=sections)):
        stated = [row.section for row in block.layout.rows]
        assert stated == [sections[name] for name in block.layout.labels]
        assert stated == sorted(stated, key=KINDS.index)
    ax = plot_loadings(loadings, kind="table", sections=sections)
    ax.figure.canvas.draw()
    assert [text.get_text() for text in texts(ax) if text.get_fontstyle() == "italic"] == KINDS


def test_intervals_are_drawn_where_they_are(loadings):
    """As lines from the lower to the upper limit; zero loadings with an interval off zero too."""
    frame = loadings.stack().rename_axis(["term", "component"]).rename("estimate").reset_index()
    frame = frame.assign(lower=lambda t: t["estimate"] - 0.3, upper=lambda t: t["estimate"] + 0.2)
    loaded = frame["estimate"].ne(0).groupby(frame["term"]).transform("any")
    zero = frame.index[loaded & (frame["estimate"] == 0)][0]
    frame.loc[zero, ["lower", "upper"]] = 0.1, 0.4
    frame = frame[(frame["estimate"] != 0) | (frame.index == zero)]
    by_place = frame.set_index(["component", "term"])
    ax = plot_loadings(loadings, intervals=frame)
    count = 0
    for block in drawn(ax):
        layout = block.layout
        lines = [part for part in block._parts(layout) if isinstance(part, Line2D)]
        pixels = ax.figure.dpi / 72
        origin = block.corner[0] + layout.zero * pixels
        ends = [((np.array(line.get_xdata()) - origin) / pixels / layout.unit).tolist() for line in lines]
        for row in layout.rows:
            place = by_place.loc[(layout.heading, row.name)]
            assert any(np.allclose(pair, place[["lower", "upper"]]) for pair in ends)
            count += 1
    assert count == len(frame)


@pytest.mark.parametrize("size", [(3.4, 3.0), (3.4, 4.5), (7.0, 4.0)])
def test_blocks_of_short_names_fill_their_axes_and_have_a_scale(size):
    """Bars reach from one side to the names, and a scale below them has its numbers where such bars end."""
    values = np.kron(np.eye(2), np.array([0.6, -0.55, 0.5, 0.3])[:, None])
    loadings = pd.DataFrame(values, index=list("abcdefgh"), columns=["PC1", "PC2"])
    figure = plt.figure(figsize=size, layout="constrained")
    ax = plot_loadings(loadings, kind="blocks", ax=figure.subplots())
    blocks = drawn(ax)
    place = ax.get_window_extent()
    right = max(block.get_window_extent().x1 for block in blocks)
    assert right - place.x0 >= 0.7 * place.width
    (label,) = [block for block in artists(ax, Block) if block.layout.heading == "Loading (hollow: negative)"]
    assert place.y0 - 1 <= label.get_window_extent().y0 <= place.y0 + 0.3 * place.height
    block = next(block for block in blocks if block.layout.ticks)
    layout, pixels = block.layout, figure.dpi / 72
    assert 0.0 in layout.ticks
    assert len(layout.ticks) >= 3
    parts = list(block._parts(layout))
    numbers = {text.get_text(): text.get_position()[0] for text in parts if isinstance(text, Text)}
    bars = [part for part in parts if isinstance(part, Line2D) and len(set(part.get_ydata())) == 1]
    ends = {float(bar.get_xdata()[1]) for bar in bars}
    for value in (0.6, -0.55):
        x = block.corner[0] + pixels * (layout.zero + layout.unit * value)
        assert any(abs(end - x) < 1 for end in ends)
    for tick in layout.ticks:
        x = block.corner[0] + pixels * (layout.zero + layout.unit * tick)
        assert abs(numbers[tick_text(tick)] - x) <= pixels * layout.size  # moved inwards at the edge


def test_a_scale_does_not_take_the_room_of_names():
    """As many names are complete as in the same axes without a scale, here all or fewer than half."""
    for p in (8, 20, 40):
        names = [f"variable_with_a_long_name_{i:02d}" for i in range(p)]
        values = np.kron(np.eye(2), np.linspace(0.6, 0.2, p // 2)[:, None])
        ax = plot_loadings(
            pd.DataFrame(values, index=names, columns=["PC1", "PC2"]),
            kind="blocks",
            ax=plt.figure(figsize=(3.4, 3.0), layout="constrained").subplots(),
        )
        ax.figure.canvas.draw()
        columns = ax.get_axes_locator()
        ((width, height),) = {key for key in columns.layouts if key == list(columns.layouts)[-1]}
        without_scale = columns._best_placed(width, height, False)
        assert columns._without_room(columns.arranged(width, height)) <= columns._without_room(without_scale)


@pytest.mark.parametrize(
    ("options", "label"),
    [
        ({}, "Loading (hollow: negative)"),
        ({"values": "cos2"}, "Squared cosine (correlated scores: sums above 1)"),
        ({"values": "contributions"}, "Contribution"),
    ],
)
def test_the_caption_says_what_values_and_percentages_are(judges_fit, options, label):
    ax = judges_fit.plot_loadings(kind="blocks", **options)
    ax.figure.canvas.draw()
    assert caption_of_blocks(ax) == f"{label}. %: share of total variance added."
    ax = judges_fit.plot_loadings(kind="line", **options)
    assert [panel.get_ylabel() for panel in ax.child_axes if panel.get_ylabel()] == [label.partition(" (")[0]]


@pytest.mark.sweep
@pytest.mark.parametrize("kind", ["blocks", "table"])
@pytest.mark.parametrize(("p", "k"), [(5, 1), (30, 5), (30, 8), (2000, 3)])
@pytest.mark.parametrize("name", ["x{}", "variable {} with a long name"])
def test_every_layout_says_what_the_values_are(make_loadings, kind, p, k, name):
    """Rows are left out rather than the label, and blocks have a scale or numbers."""
    loadings = make_loadings(p, k, min(p, 8)).rename(name.format)
    for size in ((3.4, 3.0), (3.4, 4.5), (7.0, 4.0)):
        figure = plt.figure(figsize=size, layout="constrained")
        ax = plot_loadings(loadings, kind=kind, label="Squared cosine", ax=figure.subplots())
        figure.canvas.draw()
        assert any(text.get_text().startswith("Squared cosine") for text in texts(ax))
        if kind == "blocks":
            layouts = [block.layout for block in drawn(ax)]
            assert any(layout.ticks for layout in layouts) or all(layout.values for layout in layouts)
        plt.close(figure)


def test_the_scale_of_a_bootstrap_names_the_level(judges_fit):
    ax = judges_fit.bootstrap(39, rng=1).plot(level=0.9)
    ax.figure.canvas.draw()
    assert caption_of_blocks(ax).startswith(
        "Loading with 90 % bootstrap interval, 39 draws (hollow: negative; pale: includes zero). %: share of"
    )


@pytest.mark.parametrize(
    ("options", "words"),
    [
        ({"card": 3}, "share of total variance added"),
        ({"method": "pca"}, "share of total variance"),
        ({"card": 3, "robust": True}, "share of variance of the cleaned data added"),
        ({"card": 3, "formula": "~ . | alcohol"}, "share of residual variance added"),
    ],
)
def test_plots_say_what_percentages_are_shares_of(options, words):
    """In words of the prints, once in each plot that has percentages."""
    fit = sp.spca(sp.datasets.load_wine(), 2, scale=True, **options)
    sentence = f"%: {words}."
    for kind in ("blocks", "table"):
        ax = fit.plot_loadings(kind=kind, ax=plt.figure(figsize=(7.0, 5.0)).subplots())
        ax.figure.canvas.draw()
        assert " ".join(text.get_text() for text in texts(ax)).count(sentence) == 1
    panels = [fit.plot_loadings(kind="line"), fit.plot_scores()]
    assert [sum(text.get_text().count(sentence) for text in ax.texts) for ax in panels] == [1, 1]


def test_intervals_that_include_zero_are_pale_and_both_signs_are_on_the_scale():
    """Also those of negative loadings, whose bars are hollow; in a narrow place for bars."""
    values = pd.DataFrame({"PC1": [0.8, -0.5, 0.4, -0.3]}, index=[f"{c} " + "long" * 9 for c in "abcd"])
    limits = {"lower": [0.6, -0.7, -0.1, -0.7], "upper": [1.0, -0.2, 0.8, 0.1]}
    intervals = pd.DataFrame({"component": "PC1", "term": values.index, **limits})
    figure = plt.figure(figsize=(3.4, 3.0), layout="constrained")
    (block,) = drawn(plot_loadings(values, intervals=intervals, ax=figure.subplots()))
    colours = [
        {part.get_color() for part in block._interval(0.0, 0.0, row.interval)} for row in block.layout.rows
    ]
    assert colours == [{block.ink}, {block.ink}, {block.pale}, {block.pale}]
    ticks, layout = block.layout.ticks, block.layout
    assert ticks[0] < 0.0 < ticks[-1]
    for a, b in itertools.pairwise(ticks):
        widths = [width_of(tick_text(tick), layout.size) for tick in (a, b)]
        assert layout.unit * (b - a) > sum(widths) / 2


def test_headings_of_sparse_loadings_have_the_shares_of_their_biplot():
    fit = sp.sparse_loadings(sp.datasets.load_judges(), 2, card=5, scale=True, n_init=2)
    headings = [block.layout.heading for block in drawn(fit.plot_loadings(kind="blocks"))]
    biplot = fit.biplot()
    assert headings == [biplot.get_xlabel(), biplot.get_ylabel()]


@pytest.mark.parametrize(("kind", "rows"), [("blocks", 2), ("blocks", 4), ("table", 3)])
def test_few_variables_fill_their_axes(kind, rows):
    values = pd.DataFrame(np.kron(np.eye(2), np.full((rows, 1), 0.5))).add_prefix("PC", axis=1)
    figure = plt.figure(figsize=(3.4, 3.0), layout="constrained")
    ax = plot_loadings(values, kind=kind, ax=figure.subplots())
    figure.canvas.draw()
    boxes = [text.get_window_extent() for text in texts(ax)]
    assert max(box.y1 for box in boxes) - min(box.y0 for box in boxes) >= 0.85 * figure.bbox.height
    assert max(box.x1 for box in boxes) - min(box.x0 for box in boxes) >= 0.6 * figure.bbox.width


def test_the_number_of_a_name_among_those_that_look_alike_is_not_a_part_of_it():
    """A block becomes wider rather than name a variable "gen… #2"."""
    assert _shortening(["gene1769"], ["gen… #2"]) > 3.0
    assert _shortening(["Percentage of students"], ["Percentag…students"]) < 2.0


def test_a_threshold_and_the_variables_of_the_fit_are_marked(loadings):
    shares = loadings.abs().clip(upper=1.0)
    selected = shares > 0.4
    ax = plot_loadings(shares, kind="blocks", threshold=0.5, selected=selected)
    for block in drawn(ax):
        dotted = [p for p in block._parts(block.layout) if isinstance(p, Line2D) and p.get_linestyle() == ":"]
        (line,) = dotted
        pixels = ax.figure.dpi / 72
        at = (line.get_xdata()[0] - block.corner[0]) / pixels - block.layout.zero
        assert at == pytest.approx(0.5 * block.layout.unit)
        strong = {row.name: sum(row.colour) for row in block.layout.rows}
        column = selected[block.layout.heading]
        dark = [strong[name] for name in strong if column[name]]
        pale = [strong[name] for name in strong if not column[name]]
        assert max(dark, default=0.0) < min(pale, default=3.0)


def test_images_are_the_loadings_pixel_by_pixel():
    values = np.zeros((12, 2))
    values[[0, 5], 0], values[11, 1] = [0.6, -0.8], 1.0
    frame = pd.DataFrame(values, columns=["PC1", "PC2"])
    ax = plot_loadings(frame, kind="image", shape=(3, 4))
    for j, panel in enumerate(ax.child_axes[:-1]):
        shown = np.ma.filled(panel.images[0].get_array(), 0.0)
        np.testing.assert_array_equal(shown, values[:, j].reshape(3, 4))
        assert panel.images[0].get_clim() == (-1.0, 1.0)


def test_lines_stand_over_the_columns_and_leave_gaps_at_zeros():
    values = np.zeros((6, 1))
    values[1:4, 0] = [0.2, 0.5, 0.3]
    frame = pd.DataFrame(values, columns=["PC1"], index=[f"{w} nm" for w in range(400, 460, 10)])
    (panel,) = plot_loadings(frame, kind="line").child_axes
    curve = panel.lines[1]
    np.testing.assert_array_equal(curve.get_xdata(), np.repeat(range(395, 465, 10), 2)[1:-1])
    np.testing.assert_array_equal(curve.get_ydata(), np.repeat([np.nan, 0.2, 0.5, 0.3, np.nan, np.nan], 2))
    assert panel.get_xlim() == (395, 455)
    assert panel.get_xlabel() == "nm"
    (panel,) = plot_loadings(frame.rename_axis("Wavelength"), x=range(6, 0, -1)).child_axes
    reversed_values = np.repeat([np.nan, np.nan, 0.3, 0.5, 0.2, np.nan], 2)
    np.testing.assert_array_equal(panel.lines[1].get_ydata(), reversed_values)
    np.testing.assert_array_equal(panel.lines[1].get_xdata(), np.repeat(np.arange(0.5, 7.0), 2)[1:-1])
    assert panel.get_xlabel() == "Wavelength"


@pytest.mark.parametrize(
    ("names", "numbers", "unit"),
    [
        (["1.5", "2", "4e2"], [1.5, 2, 400], ""),
        ([3, 2, 1], [3, 2, 1], ""),
        (["X850.5", "X852"], [850.5, 852], ""),
        (["10 s", "20 min", "30 s"], None, ""),
        (["x1", "x2", "x3"], None, ""),
        (["1", "3", "2"], None, ""),
        (["10 s", "20 s"], [10, 20], "s"),
    ],
)
def test_names_that_are_numbers_are_places(names, numbers, unit):
    found = numbers_of(names)
    assert (found[0] if numbers is None else found[0].tolist()) == numbers
    assert found[1] == unit


@pytest.mark.parametrize(
    ("needs", "count"), [([3, 5, 2, 8, 1, 4], 3), ([1.5] * 7, 4), ([9, 1, 1, 1], 2), ([2, 3], 5), ([4], 1)]
)
def test_columns_of_blocks_are_balanced(needs, count):
    """The largest sum is the smallest of all divisions into runs, by enumeration."""
    runs = balanced(needs, count)
    assert [i for run in runs for i in run] == list(range(len(needs)))
    cuts = itertools.chain.from_iterable(
        itertools.combinations(range(1, len(needs)), c) for c in range(count)
    )
    sums = [[sum(needs[a:b]) for a, b in itertools.pairwise([0, *cut, len(needs)])] for cut in cuts]
    assert max(sum(needs[i] for i in run) for run in runs) == min(max(one) for one in sums)
    assert len(runs) <= count


# --- compare --------------------------------------------------------------------------------------


@pytest.fixture
def measures() -> pd.DataFrame:
    names = [measure.name for measure in measures_of("total", "pca")]
    values = np.random.default_rng(0).uniform(size=(3, len(names)))
    return pd.DataFrame(values, index=["l0", "_hidden", "$x$"], columns=names)


def test_points_are_the_data(measures):
    ax = plot_compare(measures)
    assert len(ax.lines) == 3
    for line, (_, row) in zip(ax.lines, plot_compare_data(measures).iterrows(), strict=True):
        np.testing.assert_allclose(line.get_xdata(), 100 * row)
        assert np.abs(line.get_ydata() - np.arange(measures.shape[1])).max() < 0.5
    assert [text.get_text() for text in ax.get_legend().get_texts()] == ["l0", "_hidden", "$x$"]


def test_held_out_errors_have_a_row_with_standard_errors(measures):
    ax = plot_compare(measures.assign(held_out=[0.5, 0.9, 1.1], held_out_se=0.1))
    assert ax.get_yticklabels()[-1].get_text() == "held-out\nerror, %"
    ends = [part.get_segments()[0][:, 0] for part in ax.collections if part.get_gid() == "interval"]
    np.testing.assert_allclose(ends, [[40, 60], [80, 100], [100, 120]])
    assert ax.get_xlim() == (0, pytest.approx(120))
    assert [line.get_xdata()[-1] for line in ax.lines] == pytest.approx([50, 90, 110])


def test_the_ticks_of_a_scale_are_at_equal_distances():
    """Also if there is room for three numbers only."""
    values = pd.DataFrame({"PC1": [0.55, 0.38, -0.3]}, index=["a" * 20, "b" * 20, "c" * 20])
    for width in np.arange(1.5, 7.0, 0.5):
        ax = plot_loadings(values, ax=plt.figure(figsize=(width, 3.0)).subplots())
        ax.figure.canvas.draw()
        (block,) = drawn(ax)
        steps = np.diff(block.layout.ticks)
        np.testing.assert_allclose(steps, steps[:1].repeat(len(steps)))
        plt.close(ax.figure)


def test_no_correlation_stands_on_the_axis_of_variances(measures):
    with_others = measures.assign(score_correlation=0.9, nonzeros=[3, 4, 5])
    assert list(plot_compare_data(with_others)) == list(plot_compare_data(measures))
    legend = plot_compare(with_others).get_legend()
    assert [text.get_text() for text in legend.get_texts()] == ["l0 (3)", "_hidden (4)", "$x$ (5)"]


@pytest.mark.slow
def test_long_names_have_a_second_line_where_lines_are_left():
    """24 names of 42 characters are complete."""
    names = [f"concentration of the substance no. {i:02d} (mg/l)" for i in range(24)]
    weights = np.zeros((24, 4))
    for j in range(4):
        weights[6 * j : 6 * j + 6, j] = 0.4
    for width, height in ((3.4, 6.0), (7.0, 4.0)):
        ax = plt.figure(figsize=(width, height), layout="constrained").subplots()
        plot_loadings(pd.DataFrame(weights, names, list("abcd")), ax=ax)
        ax.figure.canvas.draw()
        labels = [label for block in drawn(ax) for label in block.layout.labels]
        assert labels == names
        boxes = [text.get_window_extent(ax.figure.canvas.get_renderer()) for text in texts(ax)]
        assert not any(a.overlaps(b) for i, a in enumerate(boxes) for b in boxes[:i] if a.width and b.width)


def test_names_of_two_lines_leave_room_for_the_numbers():
    """Frequencies of 21 variables of wines in 3.4 x 3 inches: complete names beside numbers."""
    wide = ("alcalinity_of_ash", "nonflavanoid_phenols")
    rows = {
        "PC1": ["total_phenols", "flavanoids", "od280_od315", "proanthocyanins", "hue", wide[1]],
        "PC2": ["alcohol", "color_intensity", "proline", "magnesium", "ash", wide[0]],
        "PC3": [*wide, "ash", "malic_acid", "proline", "color_intensity", "alcohol", "hue", "magnesium"],
    }
    names = list(dict.fromkeys(name for component in rows.values() for name in component))
    table = pd.DataFrame({key: [1.0 * (name in rows[key]) for name in names] for key in rows}, index=names)
    axes = plt.figure(figsize=(3.4, 3.0), layout="constrained").subplots()
    label = "Share of fits to half of the rows that select it (pale: not in this fit)"
    blocks = drawn(plot_loadings(table, kind="blocks", threshold=0.75, label=label, ax=axes))
    for block, component in zip(blocks, rows.values(), strict=True):
        assert set(block.layout.labels) == set(component)
        assert block.layout.values


def test_a_larger_text_does_not_replace_the_numbers():
    """One column of small text has room for them, two columns of large text have not."""
    names = [f"{i} letters" + "_and_more" * (2 * (i % 6 == 3)) for i in range(18)]
    values = pd.DataFrame(np.kron(np.eye(3), np.linspace(0.5, 0.3, 6)[:, None]), names, list("abc"))
    ax = plt.figure(figsize=(3.4, 3.0), layout="constrained").subplots()
    plot_loadings(values, kind="blocks", ax=ax)
    ax.figure.canvas.draw()
    assert [block.layout.values for block in drawn(ax)] == [True] * 3
    assert [label for block in drawn(ax) for label in block.layout.labels] == names


# --- correlations ---------------------------------------------------------------------------------


@pytest.fixture
def correlations(loadings) -> pd.DataFrame:
    values = np.random.default_rng(0).uniform(-0.7, 0.7, loadings.shape)
    return pd.DataFrame(values, index=loadings.index, columns=loadings.columns)


def test_arrows_are_the_correlations(correlations, loadings):
    ax = plot_correlations(correlations, loadings, components=(1, 3))
    data = plot_correlations_data(correlations, loadings, components=(1, 3))
    np.testing.assert_array_equal(data[["x", "y"]], correlations.loc[data.index, ["PC1", "PC3"]])
    drawn = np.vstack([np.stack([q.U, q.V], axis=1) for q in ax.collections if isinstance(q, Quiver)])
    ends = data[["x", "y"]].to_numpy()
    assert {tuple(end) for end in drawn.tolist()} == {tuple(end) for end in ends.tolist()}
    (circle,) = (patch for patch in ax.patches if isinstance(patch, Circle))
    assert circle.get_radius() == 1.0
    ax.figure.canvas.draw()
    corners = ax.transData.transform([(0.0, 0.0), (1.0, 1.0)])
    width, height = corners[1] - corners[0]
    assert width == pytest.approx(height, rel=0.01)  # of pixels: the circle is round
    names, *blocks = (child for child in ax.get_children() if isinstance(child, (Names, Block)))
    labels = {name.text for name in names.names} | {row.name for block in blocks for row in block.rows}
    assert set(data.index) <= labels


def test_supplementary_variables_are_drawn_in_another_colour(correlations, loadings):
    further = pd.DataFrame([[0.3, -0.4, 0.1]], index=["price"], columns=correlations.columns)
    ax = plot_correlations(correlations, loadings, supplementary=further)
    (names,) = (child for child in ax.get_children() if isinstance(child, Names))
    colours = {name.text: name.colour for name in names.names}
    price = colours.pop("price")
    assert price not in set(colours.values())
    for block in (child for child in ax.get_children() if isinstance(child, Block)):
        assert block.rows[-1].name == "price"
        assert block.rows[-1].colour == price


def test_the_note_of_a_circle_states_the_correlation_of_scores():
    X = np.random.default_rng(0).normal(size=(60, 2)) @ [[1, 1, 1, 0.5], [0, 0.3, -0.5, 1]]
    fit = sp.spca(pd.DataFrame(X), 2, 2, scale=True, effort="quick")
    r = np.corrcoef(fit.scores.T)[0, 1]
    assert abs(r) > 0.1
    correlation = f"r = {r:.2f}.".replace("-", "−").replace("0.", ".")
    assert f"Scores: {correlation}" in note_of(fit.plot_correlations())


def test_a_circle_of_correlations_first_says_what_faint_arrows_are():
    fit = sp.spca(sp.datasets.load_wine(), 2, 4, scale=True)
    _, axes = plt.subplots(figsize=(3.4, 3.0), layout="constrained")
    ax = fit.plot_correlations(ax=axes)
    ax.figure.canvas.draw()
    assert re.match(r"Arrows: correlations \((\d+ of 13 named; )?faint: zero loadings\)\.", note_of(ax))


@pytest.mark.parametrize("k", [1, 3, 8])
@pytest.mark.parametrize("sign", [1.0, -1.0])
def test_each_panel_of_curves_has_a_scale(k, sign):
    """A number other than zero that is legible, at 3.4 x 3 inches; numbers of a panel do not touch."""
    values = np.zeros((96, k))
    for j in range(k):
        values[12 * j : 12 * j + 12, j] = (sign if j else 1.0) * np.hanning(14)[1:-1] / 2.1
    loadings = pd.DataFrame(values, index=np.arange(850, 1042, 2)).add_prefix("PC", axis=1)
    figure = plt.figure(figsize=(3.4, 3.0), layout="constrained")
    ax = plot_loadings(loadings, ax=figure.subplots())
    figure.canvas.draw()
    for panel in ax.child_axes:
        low, high = panel.get_ylim()
        numbers = [tick.label1 for tick in panel.yaxis.get_major_ticks() if low <= tick.get_loc() <= high]
        assert any(float(number.get_text().replace("−", "-")) != 0 for number in numbers)
        boxes = [number.get_window_extent() for number in numbers]
        assert all(min(a.y1, b.y1) - max(a.y0, b.y0) < 1 for a, b in itertools.combinations(boxes, 2))


@pytest.mark.parametrize("kind", ["blocks", "table"])
def test_names_of_forty_characters_are_complete_in_a_column(kind):
    """3.4 x 4.5 inches; text becomes smaller, but not below 6.5 points, before names are shortened."""
    names = [f"Item {i:02d}: I often worry about small mat" + "ters" * (i % 2) for i in range(15)]
    values = np.kron(np.eye(2), np.linspace(0.5, 0.3, 8)[:, None])[:15]
    loadings = pd.DataFrame(values, index=[name[:40] for name in names], columns=["PC1", "PC2"])
    figure = plt.figure(figsize=(3.4, 4.5), layout="constrained")
    ax = plot_loadings(loadings, kind=kind, ax=figure.subplots())
    figure.canvas.draw()
    parts = [child for child in ax.get_children() if child.get_gid() in ("block", "table")]
    layouts = [layout for part in parts if (layout := getattr(part, "layout", part))]
    labels = [label for layout in layouts for label in layout.labels]
    assert sorted(labels) == sorted(loadings.index)
    assert min(layout.size for layout in layouts) >= 6.5


@pytest.mark.sweep
@pytest.mark.parametrize("letters", [4, 30, 60])
def test_a_new_figure_is_as_high_as_its_blocks(letters):
    """Short names have large text and long names small text; neither leaves a part of the figure empty."""
    names = [f"{i} " + "abcdefghi " * (letters // 10 + 1) for i in range(24)]
    values = np.kron(np.eye(4), np.linspace(0.5, 0.3, 6)[:, None])
    loadings = pd.DataFrame(values, index=[name[:letters] for name in names]).add_prefix("PC", axis=1)
    ax = plot_loadings(loadings, kind="blocks")
    ax.figure.canvas.draw()
    blocks = drawn(ax)
    label = [block for block in artists(ax, Block) if block.layout.heading.startswith("Loading")]
    bottom = min(block.get_window_extent().y0 for block in [*blocks, *label]) * 72 / ax.figure.dpi
    assert 0 <= bottom <= 12
    assert sum(len(block.layout.labels) for block in blocks) == 24


def test_blocks_with_short_names_stand_side_by_side_in_a_new_figure():
    """One column would leave the right half of the figure empty; axes that are given are not changed."""
    loadings = pd.DataFrame({"PC1": [0.8, 0.6, 0, 0], "PC2": [0, 0, 0.8, 0.6]}, index=list("abcd"))
    left, right = (block.corner for block in drawn(plot_loadings(loadings, kind="blocks")))
    assert left[1] == right[1]
    assert left[0] < right[0]
    upper, lower = (
        block.corner for block in drawn(plot_loadings(loadings, kind="blocks", ax=plt.figure().gca()))
    )
    assert upper[0] == lower[0]
    assert upper[1] > lower[1]


@pytest.mark.sweep
@pytest.mark.parametrize("k", [1, 3, 5, 8])
@pytest.mark.parametrize("size", [(3.4, 3.0), (3.4, 4.5), (6.8, 3.0), None])
def test_images_are_as_large_as_the_axes_allow_and_their_titles_do_not_touch(k, size):
    """In axes that are given, in a new figure, and after the figure has another size."""
    values = np.random.default_rng(0).normal(size=(300, k))
    loadings = pd.DataFrame(values, columns=[f"PC{j + 1}" for j in range(k)])
    ax = None if size is None else plt.figure(figsize=size, layout="constrained").subplots()
    ax = plot_loadings(loadings, shape=(20, 15), ax=ax)
    for side in (ax.figure.get_size_inches(), (5.0, 5.0)):
        ax.figure.set_size_inches(side)
        ax.figure.canvas.draw()
        *panels, bar = ax.child_axes
        titles = [panel.title.get_window_extent() for panel in panels]
        images = [panel.get_window_extent() for panel in panels]
        for a, b in itertools.combinations([*titles, *images], 2):
            assert not a.padded(-1).overlaps(b.padded(-1))
        place = ax.get_window_extent().padded(1)
        assert all(place.contains(*corner) for image in images for corner in (image.min, image.max))
        assert sum(image.width * image.height for image in images) >= 0.25 * place.width * place.height
        assert all(panel.get_title().startswith(f"PC{j + 1}") for j, panel in enumerate(panels))
        colours, together = bar.get_window_extent(), Bbox.union(images)
        assert 0 < (colours.x0 - together.x1) * 72 / ax.figure.dpi < 10
        np.testing.assert_allclose([colours.y0, colours.y1], [together.y0, together.y1], atol=1)
        assert bar.get_tightbbox().x1 <= ax.figure.bbox.x1


@pytest.mark.parametrize("style", ["default", "dark_background"])
def test_zeros_of_images_are_the_background_and_large_loadings_differ_from_it(style):
    """On light and dark pages: a contrast of 4.5 (WCAG 2) between the largest loadings and the background."""
    loadings = pd.DataFrame({"PC1": [0.0, 1.0, -1.0, 0.5]})
    with plt.style.context(style):
        ax = plot_loadings(loadings, kind="image", shape=(2, 2))
        panel, _ = ax.child_axes
        background = np.array(to_rgb(ax.figure.get_facecolor()))
    image = panel.images[0]
    np.testing.assert_allclose(to_rgb(panel.get_facecolor()), background)
    for value in (1.0, -1.0):
        colour = np.array(image.cmap(image.norm(value)))[:3]
        light, dark = sorted(map(luminance, (colour, background)), reverse=True)
        assert (light + 0.05) / (dark + 0.05) >= 4.5


def luminance(colour: np.ndarray) -> float:
    """The relative luminance of a colour (WCAG 2)."""
    linear = np.where(colour <= 0.04045, colour / 12.92, ((colour + 0.055) / 1.055) ** 2.4)
    return float(linear @ [0.2126, 0.7152, 0.0722])


def test_a_table_names_its_values_and_the_shares_of_the_components(judges_fit):
    ax = judges_fit.plot_loadings(kind="table", values="cos2")
    ax.figure.canvas.draw()
    words = [text.get_text() for text in texts(ax)]
    values = "Squared cosine (correlated scores: sums above 1; colour: size)"
    caption = f"{values}. %: share of total variance added."
    (table,) = artists(ax, LoadingTable)
    assert " ".join(table.caption) == caption
    shares = judges_fit.variance["share of total"]
    assert [word for word in words if word.endswith(" %")] == [f"{100 * share:.1f} %" for share in shares]


def test_a_table_counts_rows_by_component_and_equal_numbers_look_alike():
    values = pd.DataFrame(np.zeros((30, 2)), [f"item {i}" for i in range(30)], ["PC1", "PC2"])
    values.iloc[:25, 0], values.iloc[25:, 1] = np.linspace(0.384, 0.376, 25), 0.9
    shares = pd.Series([0.175, 0.168], values.columns)
    for size in ((3.4, 3.0), (3.4, 4.5), (7.0, 5.0)):
        ax = plot_loadings(values, kind="table", shares=shares, ax=plt.figure(figsize=size).subplots())
        ax.figure.canvas.draw()
        (table,) = artists(ax, LoadingTable)
        words = [text.get_text() for text in texts(ax)]
        assert "17.5 %" in words
        assert len({text.get_color() for text in texts(ax) if text.get_text() == ".38"}) == 1
        hidden = int(table.hidden.sum())
        assert table.hidden.tolist() == [hidden, 0]
        assert (f"and {hidden} more of PC1" in words) == (hidden > 0)
        names = [text for text in table._parts() if text.get_gid() == "name"]
        assert len(names) == 30 - hidden


@pytest.mark.sweep
@pytest.mark.parametrize("size", [(3.4, 3.0), (3.4, 4.5), (5.0, 4.0), (7.0, 5.0)])
@pytest.mark.parametrize("k", [3, 6, 9])
def test_shares_of_a_table_do_not_touch_and_its_names_have_one_size(size, k):
    values = pd.DataFrame(np.random.default_rng(0).normal(size=(12, k)), [f"v{'o' * i}" for i in range(12)])
    values.columns = [f"PC{j + 1}" for j in range(k)]
    shares = pd.Series(np.linspace(0.36, 0.11, k), values.columns)
    ax = plot_loadings(values, kind="table", shares=shares, ax=plt.figure(figsize=size).subplots())
    ax.figure.canvas.draw()
    table = next(child for child in ax.get_children() if child.get_gid() == "table")
    parts, renderer = list(table._parts()), ax.figure.canvas.get_renderer()
    for part in parts:
        part.set_figure(ax.figure)
    written = [part for part in parts if getattr(part, "get_text", str)().endswith(" %")]
    boxes = [part.get_window_extent(renderer) for part in written]
    assert all(a.x1 + 2 <= b.x0 for a, b in itertools.pairwise(boxes))
    assert len(boxes) in (0, k)
    assert boxes or k == 9
    give_one_size(names := [part for part in parts if part.get_gid() == "name"], renderer)
    assert len(names) == 12
    assert len({part.get_fontsize() for part in names}) == 1


def test_a_loading_of_one_column_among_thousands_is_a_line_from_zero():
    values = pd.DataFrame({"PC1": np.zeros(3000)}, index=[f"gene {i}" for i in range(3000)])
    values.iloc[[17, 2999], 0] = [0.6, -0.8]
    ax = plot_loadings(values, kind="line")
    (panel,) = ax.child_axes
    (lines,) = [child for child in panel.collections if hasattr(child, "get_segments")]
    assert [segment.tolist() for segment in lines.get_segments()] == [
        [[18.0, 0.0], [18.0, 0.6]],
        [[3000.0, 0.0], [3000.0, -0.8]],
    ]
    assert panel.get_xlabel() == "Column"
    named = plot_loadings(values.iloc[:20], kind="line")
    assert named.child_axes[-1].get_xlabel() == ""


def test_a_column_of_fewer_components_uses_its_room():
    rng = np.random.default_rng(0)
    values = np.where(rng.random((200, 3)) < 0.15, rng.standard_normal((200, 3)), 0.0)
    loadings = pd.DataFrame(values, [f"probe number {i}" for i in range(200)], ["PC1", "PC2", "PC3"])
    _, axes = plt.subplots(figsize=(3.4, 3.0), layout="constrained")
    first, second, last = drawn(plot_loadings(loadings, kind="blocks", ax=axes))
    assert len(first.layout.labels) == len(second.layout.labels)
    assert len(last.layout.labels) > 1.5 * len(first.layout.labels)


def test_components_with_short_names_stand_in_narrow_columns_with_all_their_numbers(make_loadings):
    """Three columns in 3.4 inches have room for 15 variables each, and two have not."""
    loadings = make_loadings(2000, 3, 15).rename(lambda name: name.replace("variable ", "g"))
    _, axes = plt.subplots(figsize=(3.4, 3.0), layout="constrained")
    blocks = drawn(plot_loadings(loadings, kind="blocks", ax=axes))
    assert [len(block.layout.labels) for block in blocks] == [15, 15, 15]
    assert all(block.layout.values for block in blocks)
    assert len({block.corner[0] for block in blocks}) == 3


def test_a_long_component_has_a_column_and_short_ones_share_the_next():
    """41, 20 and 10 variables in two columns: only the first component is cut."""
    values = np.zeros((71, 3))
    for j, rows in enumerate((range(41), range(41, 61), range(61, 71))):
        values[rows, j] = np.linspace(0.5, 0.1, len(rows))
    loadings = pd.DataFrame(values, index=[f"variable {i}" for i in range(71)]).add_prefix("PC", axis=1)
    figure = plt.figure(figsize=(3.4, 4.5), layout="constrained")
    first, second, third = drawn(plot_loadings(loadings, kind="blocks", ax=figure.subplots()))
    places = [block.get_window_extent().x0 for block in (first, second, third)]
    assert places[0] < places[1] == places[2]
    assert second.layout.hidden == third.layout.hidden == 0
    assert len(first.layout.labels) > 25


def test_components_that_are_cut_alike_stand_in_columns_of_equal_length(make_loadings):
    """Where no component has room for all its variables, long ones do not fill a column alone."""
    counts = [40, 30, 28, 26]
    values = np.zeros((124, 4))
    for j, count in enumerate(counts):
        first = sum(counts[:j])
        values[first : first + count, j] = np.linspace(0.4, 0.1, count)
    loadings = pd.DataFrame(values, index=[f"gene {i}" for i in range(124)]).add_prefix("PC", axis=1)
    figure = plt.figure(figsize=(3.4, 3.0), layout="constrained")
    blocks = drawn(plot_loadings(loadings, kind="blocks", ax=figure.subplots()))
    corners = {round(block.get_window_extent().x0) for block in blocks}
    assert len(blocks) == 4
    assert len(corners) == 2
    assert len({len(block.layout.labels) + bool(block.layout.hidden) for block in blocks}) == 1


@pytest.mark.parametrize("sections", [None, ["first", "second"] * 3])
def test_the_caption_says_what_italic_names_and_grey_words_are(sections):
    values = np.zeros((6, 2))
    values[:4, 0], values[3:, 1] = 0.5, 0.6
    frame = pd.DataFrame(values, index=[f"v{i}" for i in range(6)], columns=["PC1", "PC2"])
    columns = plot_loadings(frame, kind="blocks", sections=sections).get_axes_locator()
    assert [row.name for block in columns.blocks for row in block.rows if row.italic] == ["v3", "v3"]
    marks = ["italic: on several components", *(["grey: sections"] if sections else [])]
    assert columns.caption == f"Loading ({'; '.join(marks)})"
    frame.iloc[3, 1] = 0.0
    plain = plot_loadings(frame, kind="blocks", sections=sections).get_axes_locator()
    assert "italic" not in plain.caption


@pytest.mark.parametrize("size", [(3.4, 3.0), (3.4, 4.5), (7.0, 5.0)])
def test_headings_of_curves_stand_above_them(size):
    """On a common scale, whatever the largest loading of a component and its place."""
    values = np.zeros((40, 3))
    values[:20, 0], values[10:, 1], values[:, 2] = 0.3, -0.2, 0.3
    loadings = pd.DataFrame(values, index=np.arange(850, 1050, 5), columns=["PC1", "PC2", "PC3"])
    ax = plt.figure(figsize=size, layout="constrained").subplots()
    plot_loadings(loadings, kind="line", ax=ax)
    ax.figure.canvas.draw()
    for panel, column in zip(ax.child_axes, values.T, strict=True):
        bottom = panel.texts[0].get_window_extent().y0
        assert panel.transData.transform((0, max(column.max(), 0)))[1] <= bottom
        assert panel.get_ylim()[0] <= values.min()


@pytest.mark.parametrize(("size", "k", "rows"), [((7.0, 5.0), 1, 5), ((7.0, 4.0), 2, 11), ((3.4, 3.0), 1, 5)])
def test_a_table_is_in_the_middle_and_its_cells_fill_the_width(size, k, rows):
    loadings = pd.DataFrame(0.3, [f"variable {i}" for i in range(rows)], [f"PC{j + 1}" for j in range(k)])
    ax = plt.figure(figsize=size, layout="constrained").subplots()
    plot_loadings(loadings, kind="table", ax=ax)
    ax.figure.canvas.draw()
    (table,) = artists(ax, LoadingTable)
    page, cells = ax.figure.bbox, table.cells
    names = [part for part in table._parts() if isinstance(part, Text) and part.get_gid() == "name"]
    for name in names:
        name.set_figure(ax.figure)
    left = min(name.get_window_extent(ax.figure.canvas.get_renderer()).x0 for name in names)
    assert abs((left - page.x0) - (page.x1 - cells.x1)) < 0.1 * page.width
    assert cells.width > 0.25 * page.width


@pytest.mark.sweep
@pytest.mark.parametrize("k", [5, 8])
@pytest.mark.parametrize("marks", ["selected", "intervals"])
def test_every_component_is_drawn_in_a_column_of_a_journal(make_loadings, k, marks):
    """Some variables of each rather than all of a few; names are upright, as pale bars say enough."""
    loadings = make_loadings(p=25, k=k, nonzero=5)
    options = {"selected": loadings != 0, "threshold": 0.7}
    if marks == "intervals":
        table = loadings.stack().rename_axis(["term", "component"]).rename("estimate").reset_index()
        options = {"intervals": table.assign(lower=table["estimate"] - 0.1, upper=table["estimate"] + 0.1)}
    ax = plt.figure(figsize=(3.4, 3.0), layout="constrained").subplots()
    plot_loadings(loadings, kind="blocks", ax=ax, **options)
    ax.figure.canvas.draw()
    blocks = [block for block in artists(ax, Block) if block.layout.labels]
    assert len(blocks) == k
    assert not any(row.italic for block in blocks for row in block.rows)
