"""Loadings in figures: bars, maps, several fits side by side, correlations."""

from __future__ import annotations

import itertools

import numpy as np
import pandas as pd
import pytest
from matplotlib.collections import LineCollection
from matplotlib.patches import Circle
from matplotlib.quiver import Quiver

import spcastat as sp
from spcastat.measures import measures_of
from spcastat.plots.arrows import plot_correlations, plot_correlations_data
from spcastat.plots.axes_and_names import note_of
from spcastat.plots.blocks import Block
from spcastat.plots.loadings_plot import (
    FILL,
    column_places,
    plot_contributions,
    plot_contributions_data,
    plot_loadings,
    plot_loadings_data,
)
from spcastat.plots.measure_plots import plot_compare, plot_compare_data
from spcastat.plots.names import Names

# --- loadings -------------------------------------------------------------------------------------


def test_data_keep_nonzero_rows_in_order(loadings):
    data = plot_loadings_data(loadings, sort=False)
    assert data.attrs["labels"] == list(data.index)
    pd.testing.assert_frame_equal(data, loadings[(loadings != 0).any(axis=1)])
    chosen = plot_loadings_data(loadings, components=[3, "PC1"])
    assert list(chosen.columns) == ["PC3", "PC1"]
    assert (chosen != 0).any(axis=1).all()


def test_variables_of_a_component_are_together_the_largest_first():
    values = [[0.0, 0.6, 0.0], [0.5, 0.0, 0.0], [0.0, -0.8, 0.1], [-0.9, 0.0, 0.0], [0.0, 0.0, 1.0]]
    loadings = pd.DataFrame(values, index=list("abcde"), columns=["PC1", "PC2", "PC3"])
    assert list(plot_loadings_data(loadings).index) == ["d", "b", "c", "a", "e"]
    assert list(plot_loadings_data(loadings, kind="heatmap").index) == ["d", "b", "c", "a", "e"]
    assert list(plot_loadings_data(loadings, sort=False).index) == list("abcde")


def test_dots_are_the_data(loadings):
    ax = plot_loadings(loadings)
    data = plot_loadings_data(loadings)
    (dots,) = (c for c in ax.collections if len(c.get_offsets()) > 1)
    rows, columns = np.nonzero(data.to_numpy())
    values = data.to_numpy()[rows, columns]
    expected = np.stack([columns + FILL * values / np.abs(data.to_numpy()).max(), rows], axis=1)
    np.testing.assert_allclose(dots.get_offsets(), expected)
    assert [text.get_text() for text in ax.get_yticklabels()] == list(data.index)
    assert ax.yaxis_inverted()
    assert [text.get_text() for text in ax.get_xticklabels()] == list(data.columns)


def test_heat_map_is_the_data_and_prints_it(loadings):
    loadings.iloc[0, 0] = 1e-5
    ax = plot_loadings(loadings, kind="heatmap")
    data = plot_loadings_data(loadings).to_numpy()
    image = ax.images[0].get_array()
    np.testing.assert_array_equal(np.ma.getmaskarray(image), data == 0)
    np.testing.assert_array_equal(image.filled(0), data)
    low, high = ax.images[0].get_clim()
    assert -low == high == np.abs(data).max()
    assert len(ax.texts) == np.count_nonzero(data)
    assert "<.01" in {text.get_text() for text in ax.texts}


@pytest.mark.parametrize("kind", ["dots", "heatmap"])
def test_many_variables(make_loadings, kind):
    loadings = make_loadings(2000, 3, 50)
    ax = plot_loadings(loadings, kind=kind)
    assert len(ax.get_yticks()) == 40
    loaded = int((loadings != 0).any(axis=1).sum())
    assert f"40 of {loaded} variables" in ax.get_xlabel()
    data = plot_loadings_data(loadings)
    for name in loadings:
        assert set(loadings[name].abs().nlargest(12).index) <= set(data.index)


@pytest.mark.parametrize("kind", ["dots", "heatmap"])
@pytest.mark.parametrize(("p", "k"), [(3, 1), (13, 6), (60, 2), (30, 15)])
def test_nothing_is_clipped_or_overlaps(make_loadings, kind, p, k):
    loadings = make_loadings(p, k, min(p, 20)).rename("{} with $a_long$ name".format)
    ax = plot_loadings(loadings, kind=kind)
    figure = ax.figure
    figure.canvas.draw()
    page = figure.bbox
    for ticks in (ax.get_yticklabels(), ax.get_xticklabels(), ax.get_xticklabels(minor=True)):
        boxes = [text.get_window_extent() for text in ticks]
        assert not any(a.overlaps(b) for a, b in itertools.pairwise(boxes))
        assert all(page.x0 <= box.x0 and box.x1 <= page.x1 for box in boxes)
    label = ax.xaxis.label.get_window_extent()
    assert page.x0 <= label.x0
    assert label.x1 <= page.x1
    assert label.y0 >= page.y0


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
    ax = plot_loadings(loadings, sections=sections)
    heads = [text for text in ax.texts if text.get_gid() == "group"]
    assert [text.get_text() for text in heads] == KINDS


def test_intervals_are_drawn_where_they_are(loadings):
    frame = loadings.stack().rename_axis(["term", "component"]).rename("estimate").reset_index()
    frame = frame[frame["estimate"] != 0].assign(
        lower=lambda t: t["estimate"] - 0.3, upper=lambda t: t["estimate"] + 0.2
    )
    ax = plot_loadings(loadings, intervals=frame)
    drawn = [c for c in ax.collections if isinstance(c, LineCollection) and c.get_gid() == "interval"]
    assert len(drawn) == len(frame)
    data = plot_loadings_data(loadings)
    largest = max(frame["upper"].max(), -frame["lower"].min())
    for line in drawn:
        (start, row), (end, _) = line.get_segments()[0]
        j = round((start + end) / 2)
        part = frame[(frame["term"] == data.index[int(row)]) & (frame["component"] == data.columns[j])]
        assert (start - j) * largest / 0.42 == pytest.approx(part["lower"].item())
        assert (end - j) * largest / 0.42 == pytest.approx(part["upper"].item())


def test_images_are_the_loadings_pixel_by_pixel():
    values = np.zeros((12, 2))
    values[[0, 5], 0], values[11, 1] = [0.6, -0.8], 1.0
    frame = pd.DataFrame(values, columns=["PC1", "PC2"])
    ax = plot_loadings(frame, kind="image", shape=(3, 4))
    for j, panel in enumerate(ax.child_axes):
        shown = np.ma.filled(panel.images[0].get_array(), 0.0)
        np.testing.assert_array_equal(shown, values[:, j].reshape(3, 4))
        assert panel.images[0].get_clim() == (-1.0, 1.0)


def test_lines_stand_over_the_columns_and_leave_gaps_at_zeros():
    values = np.zeros((6, 1))
    values[1:4, 0] = [0.2, 0.5, 0.3]
    frame = pd.DataFrame(values, columns=["PC1"], index=[f"{w} nm" for w in range(400, 460, 10)])
    (panel,) = plot_loadings(frame, kind="line").child_axes
    curve = panel.lines[1]
    np.testing.assert_array_equal(curve.get_xdata(), range(400, 460, 10))
    np.testing.assert_array_equal(curve.get_ydata(), [np.nan, 0.2, 0.5, 0.3, np.nan, np.nan])
    assert panel.get_xlabel() == "nm"


@pytest.mark.parametrize(
    ("names", "places", "what"),
    [
        (["1.5", "2", "4e2"], [1.5, 2, 400], ""),
        ([3, 2, 1], [3, 2, 1], ""),
        (["10 s", "20 min", "30 s"], [1, 2, 3], ""),
        (["x1", "x2", "x3"], [1, 2, 3], ""),
        (["1", "3", "2"], [1, 2, 3], ""),
    ],
)
def test_names_that_are_numbers_are_places(names, places, what):
    found = column_places(names)
    np.testing.assert_array_equal(found[0], places)
    assert found[1] == what


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


def test_no_correlation_stands_on_the_axis_of_variances(measures):
    with_others = measures.assign(score_correlation=0.9, nonzeros=[3, 4, 5])
    assert list(plot_compare_data(with_others)) == list(plot_compare_data(measures))
    legend = plot_compare(with_others).get_legend()
    assert [text.get_text() for text in legend.get_texts()] == ["l0 (3)", "_hidden (4)", "$x$ (5)"]


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


def test_the_note_says_that_arrows_may_leave_the_circle():
    X = np.random.default_rng(0).normal(size=(60, 2)) @ [[1, 1, 1, 0.5], [0, 0.3, -0.5, 1]]
    fit = sp.spca(pd.DataFrame(X), 2, 2, scale=True, effort="quick")
    r = np.corrcoef(fit.scores.T)[0, 1]
    assert abs(r) > 0.1
    assert f"(r = {r:.2f}): arrows may leave the circle".replace("-", "−") in note_of(fit.plot_correlations())


# --- contributions and squared cosines ----------------------------------------------------------


def test_bars_are_the_contributions_in_order(loadings):
    parts = loadings**2
    ax = plot_contributions(parts, components="PC2")
    data = plot_contributions_data(parts, components="PC2")
    widths = [bar.get_width() for bar in ax.patches]
    np.testing.assert_allclose(widths, 100 * np.sort(parts["PC2"][parts["PC2"] > 0])[::-1])
    assert [text.get_text() for text in ax.get_yticklabels()] == list(data.index)


def test_lines_of_equal_contribution(loadings):
    """One at 1 / p, and one at 1 / (number of nonzero loadings)."""
    ax = plot_contributions(loadings**2, components=1)
    assert [line.get_xdata()[0] for line in ax.lines] == pytest.approx([100 / 13, 100 / 5])
    assert len(plot_contributions(loadings**2, components=[1, 2]).lines) == 1
    assert not plot_contributions(loadings**2, kind="cos2").lines


def test_the_legend_of_contributions_lies_over_no_bar():
    """Bars fill the axes: the legend stands above them, for one component and for several."""
    parts = pd.DataFrame({"PC1": [0.5, 0.3, 0.2], "PC2": [0.1, 0.4, 0.5]}, index=[*"abc"])
    for components in ("PC1", [1, 2]):
        ax = plot_contributions(parts, components=components)
        ax.figure.canvas.draw()
        assert ax.get_legend().get_window_extent().y0 >= ax.get_window_extent().y1
