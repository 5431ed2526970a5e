"""Biplots, and scores as points."""

from __future__ import annotations

import io
from collections import Counter

import matplotlib.pyplot as plt
import numpy as np
import pandas as pd
import pytest
from matplotlib.artist import Artist
from matplotlib.colors import to_rgb
from matplotlib.patches import Polygon, Rectangle
from matplotlib.quiver import Quiver

import spcastat as sp
from spcastat.plots.biplots import biplot, biplot_data
from spcastat.plots.blocks import Block
from spcastat.plots.drawing import accents, colours_of
from spcastat.plots.frame import EdgeMarks
from spcastat.plots.loadings_plot import plot_loadings
from spcastat.plots.names import Name, Names
from spcastat.plots.score_panels import plot_scores, plot_scores_data
from spcastat.plots.ticks import SteadyTicks
from tests.plots.conftest import note_of

# --- biplot ---------------------------------------------------------------------------------------


def points_of(ax) -> np.ndarray:
    return np.vstack([c.get_offsets() for c in ax.collections if not isinstance(c, Quiver)])


@pytest.mark.parametrize("scale", [0.0, 0.3, 1.0])
def test_inner_products_are_those_of_scores_and_loadings(scores, loadings, scale):
    data = biplot_data(scores, loadings, scale=scale)
    products = data.points[["x", "y"]].to_numpy() @ data.arrows[["x", "y"]].to_numpy().T / data.stretch
    expected = scores.iloc[:, :2].to_numpy() @ loadings.loc[data.arrows.index].iloc[:, :2].to_numpy().T
    assert len(data.arrows) == (loadings[["PC1", "PC2"]] != 0).all(axis=1).sum() > 1
    np.testing.assert_allclose(products, expected, atol=1e-12)


def test_ends_of_the_scale(scores, loadings):
    whole = biplot_data(scores, loadings, scale=0)
    np.testing.assert_allclose(whole.points[["x", "y"]], scores[["PC1", "PC2"]])
    unit = biplot_data(scores, loadings, scale=1)
    np.testing.assert_allclose(unit.points[["x", "y"]].std(), 1)
    markers = loadings[["PC1", "PC2"]] * scores[["PC1", "PC2"]].std() * unit.stretch
    most = unit.points[["x", "y"]].abs().quantile(0.975).to_numpy() / markers.abs().max().to_numpy()
    assert most.min() == pytest.approx(1)


@pytest.mark.parametrize("size", [40.0, 4000.0])
def test_arrows_reach_as_far_as_the_points_within_the_axes(scores, loadings, size):
    """A row at the edge, however far, makes neither arrows nor axes long."""
    near = biplot_data(scores, loadings, scale=0).stretch
    scores.iloc[0] *= size
    data = biplot_data(scores, loadings, scale=0)
    assert data.points.index[data.points["far"]].tolist() == ["row 0"]
    assert data.stretch == pytest.approx(near, rel=0.1)


@pytest.mark.parametrize("tail", [0.01, 0.03])
def test_the_farthest_rows_of_heavy_tails_are_at_the_edge(loadings, tail):
    """Some rows reach up to 17 standard deviations of the others, in one direction as in real tables."""
    rng = np.random.default_rng(1)
    scores = pd.DataFrame(rng.standard_normal((2000, 3)), columns=loadings.columns)
    count = int(tail * len(scores))
    scores.iloc[:count, 1] = np.geomspace(5.0, 60.0, count)
    far = biplot_data(scores, loadings, scale=0).points["far"]
    assert 10 <= far.sum() <= 20
    assert scores.loc[far, "PC2"].min() >= scores.loc[~far, "PC2"].max()
    ax = biplot(scores, loadings, scale=0)
    ax.figure.canvas.draw()
    assert len(edge_marks(ax)) > 0
    assert ax.get_ylim()[1] < 40.0
    assert sum(name.edge_text != "" for name in names_in(ax)) == 3


def test_lengths_are_standard_deviations_for_full_pca():
    x = np.random.default_rng(0).normal(size=(50, 2)) @ np.array([[2.0, 1.0], [0.0, 1.0]])
    x -= x.mean(axis=0)
    v = np.linalg.svd(x)[2].T
    names = ["PC1", "PC2"]
    data = biplot_data(pd.DataFrame(x @ v, columns=names), pd.DataFrame(v, columns=names), scale=1)
    np.testing.assert_allclose(data.arrows["length"] / data.stretch, x.std(axis=0, ddof=1))
    assert abs(data.correlation) < 1e-12


def test_artists_are_the_data(scores, loadings):
    ax = biplot(scores, loadings, components=(1, "PC3"))
    data = biplot_data(scores, loadings, components=(1, 3))
    assert len(data.arrows) == (loadings[["PC1", "PC3"]] != 0).all(axis=1).sum() > 0
    (arrows,) = (c for c in ax.collections if isinstance(c, Quiver))
    drawn = {tuple(end) for end in np.stack([arrows.U, arrows.V], axis=1).tolist()}
    assert drawn == {tuple(end) for end in data.arrows[["x", "y"]].to_numpy().tolist()}
    np.testing.assert_allclose(points_of(ax), data.points[["x", "y"]])
    assert (ax.get_xlabel(), ax.get_ylabel()) == ("PC1", "PC3")
    for name in ("PC1", "PC3"):
        bars = data.blocks.loc[data.blocks["component"] == name, "value"]
        nonzero = loadings.loc[loadings[name] != 0, name]
        assert bars.to_dict() == nonzero.to_dict()
        assert bars.abs().is_monotonic_decreasing


@pytest.mark.parametrize(("most", "count"), [(0, 0), (3, 3), (None, None)])
def test_the_longest_arrows_are_drawn_and_the_others_counted(scores, make_loadings, most, count):
    loadings = make_loadings(nonzero=10)
    data = biplot_data(scores, loadings, max_arrows=most)
    whole = biplot_data(scores, loadings, max_arrows=None).arrows
    assert len(whole) > 3
    assert len(data.arrows) == (len(whole) if count is None else count)
    assert data.undrawn == len(whole) - len(data.arrows)
    assert data.arrows["length"].is_monotonic_decreasing
    assert (f"; {count} of {len(whole)} are drawn." in data.caption) == bool(count)


def test_an_arrow_without_loading_that_is_not_drawn_is_counted():
    wine = sp.datasets.load_wine()  # 13 variables, fewer of which have a loading
    fit = sp.spca(wine, 2, 5, scale=True)
    assert (fit.loadings != 0).any(axis=1).sum() < 12
    data = fit.biplot_data(arrows="correlations")
    assert (len(data.arrows), data.undrawn) == (12, 1)
    assert "; 12 of 13 are drawn" in data.caption
    ax = fit.biplot(arrows="correlations", ax=plt.figure(figsize=(6.4, 5.4)).subplots(), note=True)
    ax.figure.canvas.draw()
    assert "(12 of 13; faint: zero loadings)" in note_of(ax)
    assert fit.biplot_data(arrows="correlations", max_arrows=None).undrawn == 0


def test_without_blocks_every_variable_with_a_loading_has_an_arrow(scores, loadings):
    used = loadings.index[(loadings[["PC1", "PC2"]] != 0).any(axis=1)]
    both = loadings.index[(loadings[["PC1", "PC2"]] != 0).all(axis=1)]
    assert 0 < len(both) < len(used)
    data = biplot_data(scores, loadings, blocks=False)
    assert set(data.arrows.index) == set(used)
    assert not len(data.blocks)
    assert set(biplot_data(scores, loadings).arrows.index) == set(both)
    (arrows,) = (c for c in biplot(scores, loadings, blocks=False).collections if isinstance(c, Quiver))
    assert len(arrows.U) == len(used)
    few = biplot_data(scores, loadings, blocks=False, max_arrows=3)
    assert f"; 3 of {len(used)} are drawn." in few.caption


def test_the_caption_of_a_biplot_without_arrows_says_why(scores):
    loadings = pd.DataFrame(np.eye(4)[:, :3], list("abcd"), scores.columns)
    assert "There are no arrows: no variable" in biplot_data(scores, loadings).caption
    for options in ({"blocks": False}, {"max_arrows": 1}):
        assert "no arrows" not in biplot_data(scores, loadings + 0.1, **options).caption


def test_correlations_as_arrows(scores, loadings):
    """Arrows end at the correlations times the stretch; those without a loading are there, and faint."""
    rng = np.random.default_rng(0)
    r = pd.DataFrame(rng.uniform(-0.7, 0.7, loadings.shape), index=loadings.index, columns=loadings.columns)
    data = biplot_data(scores, loadings, arrows="correlations", correlations=r)
    expected = r.loc[data.arrows.index, ["PC1", "PC2"]]
    np.testing.assert_allclose(data.arrows[["x", "y"]] / data.stretch, expected)
    used = (loadings[["PC1", "PC2"]] != 0).any(axis=1)
    assert (data.arrows["nonzero"] == used.loc[data.arrows.index]).all()
    ax = biplot(scores, loadings, arrows="correlations", correlations=r)
    faint, strong = (c.get_facecolor()[0] for c in ax.collections if isinstance(c, Quiver))
    assert faint[:3].sum() > strong[:3].sum() + 0.5


def test_groups_differ_in_colour_and_marker(scores, loadings):
    groups = pd.Categorical(
        [["z", "_hidden", "$m$"][i % 3] for i in range(60)], ["z", "_hidden", "$m$", "none"]
    )
    ax = biplot(scores, loadings, groups=groups)
    (drawn,) = (c for c in ax.collections if not isinstance(c, Quiver))
    looks = list(zip(map(tuple, drawn.get_facecolor()), drawn.get_paths(), strict=True))
    kinds = Counter((colour, path.vertices.tobytes()) for colour, path in looks)
    assert list(kinds.values()) == [20, 20, 20]
    assert len({colour for colour, _ in kinds}) == len({shape for _, shape in kinds}) == 3
    assert [text.get_text() for text in ax.get_legend().get_texts()] == ["z", "_hidden", "$m$"]
    ax.figure.canvas.draw()


def test_no_group_hides_the_others(scores, loadings):
    """Points of a large and of a small group are drawn in a mixed order, those at one place too."""
    scores.iloc[:] = scores.iloc[:1].to_numpy() + np.arange(60)[:, None] % 2
    groups = np.array(["large"] * 48 + ["small"] * 12)
    ax = biplot(scores, loadings, groups=groups)
    (drawn,) = (c for c in ax.collections if not isinstance(c, Quiver))
    xy, faces = np.asarray(drawn.get_offsets()), drawn.get_facecolor()[:, :3]
    small = np.flatnonzero((faces == colours_of(ax, None, ["large", "small"])[1]).all(axis=1))
    assert len(small) == 12
    assert small.min() < 24 <= small.max()  # one after the other they are all before, or all after
    data = biplot_data(scores, loadings, groups=groups).points
    np.testing.assert_allclose(np.sort(xy, axis=0), np.sort(data[["x", "y"]], axis=0))


def test_a_series_is_matched_by_its_labels(scores, loadings):
    values = pd.Series([f"g{i % 2}" for i in range(60)], index=scores.index)
    longer = pd.concat([values[::-1], pd.Series(["other"], index=["dropped"])])
    for groups in (values, longer, values.reset_index(drop=True), values.tolist()):
        found = biplot_data(scores, loadings, groups=groups).points["group"]
        assert found.astype(str).tolist() == values.tolist()


def test_the_note_says_how_both_are_scaled_and_that_scores_correlate(scores, loadings):
    data = biplot_data(scores, loadings)
    assert data.correlation == pytest.approx(scores["PC1"].corr(scores["PC2"]))
    note = note_of(biplot(scores, loadings))
    assert f"r = {f'{data.correlation:.2f}'.removeprefix('0')}" in note
    assert note.startswith("Points: scores / sd.")
    assert f"Arrows: loadings × sd × {data.stretch:.3g}." in note
    largest = loadings[["PC1", "PC2"]].abs().max().max()
    assert f"Bars: loadings up to {f'{largest:.2f}'.removeprefix('0')} (hollow: negative)." in note
    # a small figure has room for the first sentences only
    assert note.index("Bars") < note.index("Arrows") < note.index("Scores")
    unscaled = note_of(biplot(scores, loadings, scale=0))
    assert unscaled.startswith("Points: scores. ")
    assert "Arrows: loadings × " in unscaled
    assert note_of(biplot(scores, loadings, note=False)) == ""
    scores["PC2"] -= scores["PC1"] * (scores["PC1"] @ scores["PC2"]) / (scores["PC1"] @ scores["PC1"])
    assert "Scores" not in note_of(biplot(scores, loadings))


@pytest.mark.sweep
@pytest.mark.parametrize("size", [(2.5, 2.5), (3.4, 3.0), (3.4, 4.5), (5.0, 4.0), (7.0, 5.0)])
def test_given_axes_have_the_note_where_the_points_keep_their_room(scores, loadings, size):
    """Points with a note have 62 points or more on each side; ``note=False`` omits it."""
    axes = plt.figure(figsize=size, layout="constrained").subplots()
    ax = biplot(scores, loadings, ax=axes)
    ax.figure.canvas.draw()
    sides = np.array([ax.get_window_extent().width, ax.get_window_extent().height]) * 72 / ax.figure.dpi
    if note := note_of(ax):
        assert note.startswith("Points: scores / sd.")
        assert sides.min() >= 62
    assert bool(note) or min(size) < 3
    bare = biplot(scores, loadings, note=False, ax=plt.figure(figsize=size).subplots())
    bare.figure.canvas.draw()
    assert note_of(bare) == ""


def test_the_caption_explains_every_kind_of_mark(scores, loadings):
    r = pd.DataFrame(0.3, loadings.index, loadings.columns)
    r.iloc[0, 0] = -0.3
    means = scores.iloc[:2].set_axis(["a = 1", "a = 2"])
    options: dict = {"arrows": "correlations", "correlations": r, "new": scores.iloc[:3], "levels": means}
    data = biplot_data(scores, loadings, **options, supplementary=r.iloc[:1].set_axis(["further"]))
    note = note_of(biplot(scores, loadings, **options, supplementary=r.iloc[:1].set_axis(["further"])))
    plain = biplot(scores, loadings.abs())
    for words, sentence in (
        ("Crosses: new rows.", "Crosses are new rows."),
        ("Diamonds: means of levels.", "Diamonds are means of levels."),
        ("(hollow: negative)", "hollow bars are negative."),
        ("faint: zero loadings)", "faint ones have zero loadings on both components."),
        ("Coloured: supplementary.", "Supplementary variables are coloured."),
    ):
        assert words in note
        assert words not in note_of(plain)
        assert sentence in data.caption
        assert sentence not in biplot_data(scores, loadings.abs()).caption
    ax = biplot(scores, loadings, groups=["a", "b"] * 30, outline="t", centroids=True, level=0.9)
    ax.figure.set_size_inches(12, 9)
    ax.figure.canvas.draw()
    assert "Ellipses: 90 % (t, 5 df)." in note_of(ax)
    assert "Large marks: group means." in note_of(ax)


def test_colours_of_groups_can_be_given(scores, loadings):
    groups = ["a", "b"] * 30
    for palette in ({"b": "red", "a": "#00ff00"}, ["#00ff00", "red"]):
        ax = biplot(scores, loadings, groups=groups, palette=palette)
        (drawn,) = (c for c in ax.collections if not isinstance(c, Quiver))
        faces = drawn.get_facecolor()[np.lexsort(np.asarray(drawn.get_offsets()).T)]
        points = biplot_data(scores, loadings).points[["x", "y"]].to_numpy()
        expected = np.array([(0, 1, 0), (1, 0, 0)] * 30)[np.lexsort(points.T)]
        np.testing.assert_allclose(faces[:, :3], expected)


def test_numbers_as_colours_have_a_bar(scores, loadings):
    values = pd.Series(np.arange(60.0), index=scores.index, name="age")
    values.iloc[3] = np.nan
    ax = biplot(scores, loadings, color=values[::-1])
    points = next(c for c in ax.collections if c.get_array() is not None)
    np.testing.assert_allclose(points.get_array(), values.dropna())
    assert points.colorbar.ax.get_xlabel() == "age"


def test_ellipses_hold_their_share_of_a_normal_distribution(loadings):
    """95 % of 20,000 further rows of the same distribution; the standard error of the share is 0.15 %."""
    rng = np.random.default_rng(2)
    mix = np.array([[2.0, 0.0, 0.0], [0.8, 1.0, 0.0], [0.0, 0.0, 1.0]])
    draws = pd.DataFrame(rng.normal(size=(4000, 3)) @ mix.T, columns=loadings.columns)
    ax = biplot(draws, loadings, scale=0, outline="normal")
    polygon = next(patch for patch in ax.patches if isinstance(patch, Polygon))
    further = rng.normal(size=(20_000, 3)) @ mix.T
    # the ellipse itself is an estimate: from 4,000 rows its share has a standard error of 0.4 %
    assert polygon.get_path().contains_points(further[:, :2]).mean() == pytest.approx(0.95, abs=0.015)


def test_the_t_ellipse_is_hardly_moved_by_far_points(loadings):
    rng = np.random.default_rng(3)
    draws = pd.DataFrame(rng.normal(size=(200, 3)), columns=loadings.columns)
    spoilt = draws.copy()
    spoilt.iloc[:10] += 15

    def size(frame: pd.DataFrame, kind: str) -> float:
        ax = biplot(frame, loadings, scale=0, outline=kind)
        corners = next(patch for patch in ax.patches if isinstance(patch, Polygon)).get_xy()
        return float(np.ptp(corners, axis=0).max())

    assert size(spoilt, "t") < 1.5 * size(draws, "t")
    assert size(spoilt, "normal") > 2.5 * size(draws, "normal")


def test_hulls_centroids_and_groups_that_span_no_area(scores, loadings):
    groups = ["a"] * 30 + ["b"] * 28 + ["two"] * 2
    ax = biplot(scores, loadings, groups=groups, outline="hull", centroids=True)
    hulls = [patch for patch in ax.patches if isinstance(patch, Polygon) and patch.get_fill()]
    assert len(hulls) == 2  # two points span none
    data = biplot_data(scores, loadings, groups=groups).points
    for hull, name in zip(hulls, "ab", strict=True):
        inside = hull.get_path().contains_points(data.loc[data["group"] == name, ["x", "y"]], radius=1e-6)
        assert inside.mean() > 0.8  # all but corners, which matplotlib may count on either side
    centres = np.vstack([c.get_offsets() for c in ax.collections if c.get_gid() == "centroid"])
    np.testing.assert_allclose(centres, data.groupby("group", observed=True)[["x", "y"]].mean())


def test_names_of_rows(scores, loadings):
    away = np.hypot(*biplot_data(scores, loadings).points[["x", "y"]].to_numpy().T)
    far = scores.index[np.argsort(-away)[:4]]
    labels = {
        4: set(far),
        True: set(scores.index),
        False: set(),
    }
    for given, expected in labels.items():
        names = biplot_data(scores, loadings, labels=given).points["label"]
        assert set(names[names != ""]) == expected
    some = pd.Series({"row 7": "seven", "row 3": "three"})
    names = biplot_data(scores, loadings, labels=some).points["label"]
    assert names[names != ""].to_dict() == {"row 3": "three", "row 7": "seven"}
    written = {name.text: name.position for name in names_in(biplot(scores, loadings, labels=some))}
    points = biplot_data(scores, loadings).points
    np.testing.assert_allclose(written["seven"], points.loc["row 7", ["x", "y"]].astype(float))
    assert {"three", "seven"} <= set(written)


def test_a_style_without_colours_is_drawn_in_greys(scores, loadings):
    """Each group has a grey of its own; colours come back with the next style."""
    groups = [f"g{i % 9}" for i in range(len(scores))]
    with plt.style.context("grayscale"):
        ax = biplot(scores, loadings, groups=groups)
    points = [found for found in ax.collections if not isinstance(found, Quiver)]
    faces = {tuple(face[:3]) for found in points for face in found.get_facecolor()}
    assert len(faces) == 9
    assert all(red == green == blue for red, green, blue in faces)
    coloured = biplot(scores, loadings, groups=groups)
    assert np.ptp(coloured.collections[0].get_facecolor()[0][:3]) > 0.1


def test_new_rows_are_on_the_scale_of_the_others(scores, loadings):
    data = biplot_data(scores, loadings, new=scores.iloc[:5])
    np.testing.assert_allclose(data.new[["x", "y"]], data.points[["x", "y"]].iloc[:5])
    far = biplot(scores, loadings, new=scores.iloc[:5] * 4)
    crosses = next(c for c in far.collections if c.get_gid() == "new rows").get_offsets()
    np.testing.assert_allclose(crosses, 4 * data.points[["x", "y"]].iloc[:5])
    assert far.get_xlim()[0] < crosses[:, 0].min()
    assert crosses[:, 0].max() < far.get_xlim()[1]
    for new, names in ((None, ["a", "b"]), (scores.iloc[:5], ["a", "b", "new rows"])):
        ax = biplot(scores, loadings, groups=["a", "b"] * 30, new=new)
        assert [text.get_text() for text in ax.get_legend().get_texts()] == names


def test_the_largest_bars_of_many_are_shown_and_the_others_counted(scores, make_loadings):
    """A reader wants the largest; a few more than that are shown, too."""
    for count, shown in ((20, 20), (21, 15), (60, 15)):
        loadings = make_loadings(p=60, nonzero=count)
        ax = biplot(scores, loadings, ax=plt.figure(figsize=(10, 8), layout="constrained").subplots())
        ax.figure.canvas.draw()
        for block in (child for child in ax.get_children() if isinstance(child, Block)):
            assert (len(block.layout.rows), block.layout.hidden) == (shown, count - shown)


def test_the_scales_of_the_axes_differ_where_one_would_squeeze_the_points(scores):
    """The note says so, since angles between arrows are then not those of the components."""
    scores["PC2"] = scores["PC2"].clip(-1.0, 1.0)
    for factor, is_one_scale in ((0.3, True), (3.0, False)):
        wide_scores = scores[["PC1", "PC2"]] * [factor, 1.0]
        for loadings in ([[0.9, 0.1], [0.1, 0.9]], [[0.9, 0.1], [0.0, 0.9]]):
            frame = pd.DataFrame(loadings, ["a", "b"], ["PC1", "PC2"])
            ax = biplot(wide_scores, frame, scale=0)
            ax.figure.canvas.draw()
            box, (low, high) = ax.get_window_extent(), np.array([ax.get_xlim(), ax.get_ylim()]).T
            scale_x, scale_y = np.array([box.width, box.height]) / (high - low)
            assert (scale_y == pytest.approx(scale_x, rel=0.02)) == is_one_scale
            assert ("Points: scores. Axes: separate scales." in note_of(ax)) != is_one_scale


def test_dark_paper_has_light_ink(scores, loadings):
    with plt.style.context("dark_background"):
        ax = biplot(scores, loadings, groups=["a", "b", "c"] * 20)
        texts = [text for text in ax.texts if text.get_gid() == "note"]
        blocks = [child for child in ax.get_children() if isinstance(child, Block)]
        assert min(np.mean(to_rgb(block.ink)) for block in blocks) > 0.5
        (arrows,) = (c for c in ax.collections if isinstance(c, Quiver))
        assert min(np.mean(to_rgb(text.get_color())) for text in texts) > 0.5
        assert arrows.get_facecolor()[0][:3].min() > 0.8


def test_many_points_are_rasterised(loadings):
    scores = pd.DataFrame(np.random.default_rng(0).normal(size=(6000, 3)), columns=loadings.columns)
    many, few = (biplot(frame, loadings).collections[0] for frame in (scores, scores[:100]))
    assert many.get_rasterized()
    assert not few.get_rasterized()
    assert many.get_sizes()[0] < few.get_sizes()[0]
    assert many.get_facecolor()[0, 3] < few.get_facecolor()[0, 3]


def test_the_layout_of_a_figure_with_a_colour_bar_may_be_changed(scores, loadings):
    """Matplotlib refuses ``tight_layout()`` after a colour bar under the constrained layout."""
    for draw in (
        lambda ax: biplot(scores, loadings, color=np.arange(len(scores)), ax=ax),
        lambda ax: plot_loadings(loadings, kind="image", shape=(1, len(loadings)), ax=ax),
    ):
        figure, ax = plt.subplots()
        draw(ax)
        figure.tight_layout()
        plt.close(figure)


# --- names of rows, margin, several axes ----------------------------------------------------------


def names_in(ax) -> list[Name]:
    """The names that the axes have, with room or not."""
    (names,) = (child for child in ax.get_children() if isinstance(child, Names))
    return [name for name in names.names if not name.at_tip]


def edge_marks(ax) -> np.ndarray:
    """The positions of the triangles at the edge, in pixels."""
    marks = [child.triangles()[1] for child in ax.get_children() if isinstance(child, EdgeMarks)]
    return np.vstack([np.empty((0, 2)), *marks])


def test_the_three_farthest_rows_are_named_if_rows_have_names(scores, loadings):
    numbered = scores.set_axis(range(len(scores)))
    assert names_in(biplot(numbered, loadings)) == []  # numbers are no names
    named = scores.set_axis([f"judge {i}" for i in range(len(scores))])
    drawn = biplot(named, loadings)
    points = biplot_data(named, loadings, labels=False).points
    farthest = np.hypot(points["x"], points["y"]).nlargest(3).index
    assert sorted(name.text.partition(" (")[0] for name in names_in(drawn)) == sorted(farthest)
    assert names_in(biplot(named, loadings, labels=False)) == []
    repeated = scores.set_axis(["a", "b"] * 30)  # names of groups say nothing about a row
    assert names_in(biplot(repeated, loadings)) == []


def test_names_of_far_rows_cover_no_point(loadings):
    """Those that have no such place are left out, unless the caller asked for them."""
    values = np.random.default_rng(4).standard_normal((60, 3))
    scores = pd.DataFrame(values, columns=["PC1", "PC2", "PC3"], index=[f"row {i}" for i in range(60)])
    for size in ((3.4, 3.0), (3.4, 4.5), (6.4, 4.8)):
        ax = biplot(scores, loadings, ax=plt.figure(figsize=size, layout="constrained").subplots())
        ax.figure.canvas.draw()
        (names,) = (child for child in ax.get_children() if isinstance(child, Names))
        dots = ax.transData.transform(names.dots)
        for name, box in zip(names.written, names.boxes, strict=True):
            if not name.at_tip:
                assert not any(box.contains(x, y) for x, y in dots)
    asked = biplot(scores, loadings, labels=60)
    asked.figure.canvas.draw()
    (names,) = (child for child in asked.get_children() if isinstance(child, Names))
    assert len(names.written) > 20


def test_a_style_that_sets_the_size_of_figures_is_followed(scores, loadings):
    with plt.rc_context({"figure.figsize": (3.4, 2.8)}):
        assert tuple(biplot(scores, loadings).figure.get_size_inches()) == (3.4, 2.8)
        assert tuple(plot_loadings(loadings).figure.get_size_inches()) == (3.4, 2.8)
    assert tuple(biplot(scores, loadings).figure.get_size_inches()) == (6.4, 5.4)


def test_a_few_far_rows_are_drawn_at_the_edge(scores, loadings):
    """The others keep their room; where many rows are far, as in heavy tails, all are within the axes."""
    scores.iloc[4] *= 40
    data = biplot_data(scores, loadings, scale=0)
    assert data.points.index[data.points["far"]].tolist() == ["row 4"]
    assert "Triangles at the edge are rows farther out." in data.caption
    ax = biplot(scores, loadings, scale=0)
    ax.figure.canvas.draw()
    ((x, y),) = ax.transData.inverted().transform(edge_marks(ax))
    (left, right), (low, high) = ax.get_xlim(), ax.get_ylim()
    reach = np.abs([(left, right), (low, high)]).max(axis=1)
    assert left < x < right
    assert low < y < high
    assert reach.max() < 0.5 * np.hypot(*scores.iloc[4, :2])
    at_edge = next(name.edge_text for name in names_in(ax) if name.text == "row 4")
    assert at_edge == f"row 4 ({scores.iloc[4, 0]:.3g}, {scores.iloc[4, 1]:.3g})".replace("-", "−")
    scores.iloc[::6] = 100.0
    assert not biplot_data(scores, loadings, scale=0).points["far"].any()


def test_the_note_counts_the_rows_at_the_edge_as_drawn_with_outlines(scores, loadings):
    """A hull reaches to the far row, which is then within the axes."""
    scores.iloc[4] *= 40
    far = biplot(scores, loadings, scale=0, note=True)
    hull = biplot(scores, loadings, scale=0, note=True, outline="hull")
    for ax, count in ((far, 1), (hull, 0)):
        ax.figure.canvas.draw()
        assert len(edge_marks(ax)) == note_of(ax).count("1 row farther out") == count


def test_components_whose_long_names_begin_alike_have_blocks_of_their_own(scores, loadings):
    names = [f"a component with a long name, number {i}" for i in (1, 2, 3)]
    data = biplot_data(scores.set_axis(names, axis=1), loadings.set_axis(names, axis=1))
    assert len(set(data.components)) == 2
    for component, name in zip(data.components, loadings.columns, strict=False):
        shown = data.blocks[data.blocks["component"] == component]
        assert set(shown.index) == set(loadings.index[loadings[name] != 0])


@pytest.mark.parametrize("panels", [1, 2])
def test_no_point_is_on_the_frame(scores, loadings, panels):
    _, axes = plt.subplots(1, panels, figsize=(5 * panels, 5), layout="constrained", squeeze=False)
    for ax in axes[0]:
        biplot(scores, loadings, ax=ax)
        (left, right), (low, high) = ax.get_xlim(), ax.get_ylim()
        points = points_of(ax)
        margin = 0.02 * np.ptp(points, axis=0).max()
        assert left < points[:, 0].min() - margin
        assert points[:, 0].max() + margin < right
        assert low < points[:, 1].min() - margin
        assert points[:, 1].max() + margin < high
    plt.close("all")


# --- scores ---------------------------------------------------------------------------------------


@pytest.fixture
def six() -> pd.DataFrame:
    rng = np.random.default_rng(0)
    values = rng.normal(size=(40, 6)) @ rng.normal(size=(6, 6))
    return pd.DataFrame(values, columns=[f"PC{j + 1}" for j in range(6)])


@pytest.mark.parametrize("count", [2, 3, 5])
def test_every_pair_is_drawn_once(six, count):
    data = plot_scores_data(six, components=range(1, count + 1))
    ax = plot_scores(six, components=range(1, count + 1), densities=False)
    pairs = [(i, j) for i in range(1, count) for j in range(i)]
    assert len(ax.child_axes) == len(pairs)
    for panel, (i, j) in zip(ax.child_axes, pairs, strict=True):
        (points,) = panel.collections
        np.testing.assert_allclose(points.get_offsets(), data.iloc[:, [j, i]])
        r = np.corrcoef(data.iloc[:, j], data.iloc[:, i])[0, 1]
        assert panel.get_title() == f"r = {r:.2f}".replace("-", "−").replace("0.", ".")


def test_the_diagonal_has_densities_that_integrate_to_the_shares_of_the_groups(six):
    groups = ["a"] * 10 + ["b"] * 30
    ax = plot_scores(six, components=(1, 2), groups=groups)
    assert len(ax.child_axes) == 3
    diagonal = ax.child_axes[0]
    areas = [np.trapezoid(line.get_ydata(), line.get_xdata()) for line in diagonal.lines]
    # the grid ends 15 % of the range beyond the rows, where little is left of a kernel
    assert areas == pytest.approx([0.25, 0.75], abs=0.02)


def test_one_component_has_its_density(six):
    ax = plot_scores(six[["PC1"]], groups=["a", "b"] * 20)
    (panel,) = ax.child_axes
    assert len(panel.lines) == 2
    assert panel.get_xlabel() == "PC1"


def test_a_note_says_which_are_shown_and_axes_have_shares(six):
    shares = pd.Series(np.linspace(0.3, 0.05, 6), index=six.columns)
    ax = plot_scores(six, shares=shares)
    assert "PC1 to PC5 of 6 components." in note_of(ax)
    assert ax.child_axes[-1].get_xlabel() == "PC5 (10.0 %)"
    assert "components" not in note_of(plot_scores(six, components=(1, 2)))


def test_groups_and_their_legend(six):
    groups = pd.Series(["u", "_v"] * 20, name="kind")
    data = plot_scores_data(six, groups=groups)
    assert data["group"].tolist() == groups.tolist()
    for components in ((1, 2), (1, 2, 3)):
        ax = plot_scores(six, components=components, groups=groups)
        legend = ax.get_legend()
        assert [text.get_text() for text in legend.get_texts()] == ["_v", "u"]
        assert legend.get_title().get_text() == "kind"
        ax.figure.canvas.draw()
        boxes = [panel.get_window_extent() for panel in ax.child_axes]
        assert not any(legend.get_window_extent().overlaps(box) for box in boxes)


@pytest.mark.sweep
@pytest.mark.parametrize("size", [10.0, 1e3, 1e9])
@pytest.mark.parametrize("which", ["one variable", "every variable"])
def test_new_rows_far_outside_leave_a_readable_plot(which, size):
    rng = np.random.default_rng(0)
    X = rng.normal(size=(40, 2)) @ rng.normal(size=(2, 6)) + rng.normal(size=(40, 6))
    rows = pd.DataFrame(X, columns=list("abcdef"))
    fit = sp.spca(rows, 2, 3, scale=True)
    new = rows.head(5).set_axis([f"new {i}" for i in range(5)])
    V = fit.loadings
    far = new.head(3).copy()
    if which == "one variable":
        far[V.index[(V["PC2"] != 0) & (V["PC1"] == 0)][0]] = size * 100
    else:
        far = far * -size * 10
    new = pd.concat([far, new.tail(2)])
    ax = fit.biplot(new=new)
    ax.figure.canvas.draw()  # a warning of matplotlib is an error here
    box = ax.get_position()
    assert min(box.width, box.height) > 0.25
    drawn = [np.asarray(points.get_offsets()) for points in ax.collections if points.get_gid() == "new rows"]
    pixels = [ax.transData.transform(np.vstack(drawn)), edge_marks(ax)]
    assert list(map(len, pixels)) == [2, 3]
    low, high = ax.bbox.get_points()
    assert ((np.vstack(pixels) >= low) & (np.vstack(pixels) <= high)).all()
    assert "Triangles: 3 new rows farther out." in note_of(ax)
    true = fit.biplot_data(new=new).new[["x", "y"]].abs().max(axis=1)  # the numbers are not changed
    assert true.iloc[:3].min() > 10 * true.iloc[3:].max()
    plt.close(ax.figure)
    near = fit.biplot(new=rows.head(5) * 2)
    near.figure.canvas.draw()
    assert not len(edge_marks(near))
    plt.close(near.figure)


def luminance(rgb) -> float:
    """Relative luminance by the definition of WCAG 2."""
    linear = [c / 12.92 if c <= 0.04045 else ((c + 0.055) / 1.055) ** 2.4 for c in rgb]
    return 0.2126 * linear[0] + 0.7152 * linear[1] + 0.0722 * linear[2]


@pytest.mark.parametrize("background", ["black", "#131416", "#222222"])
def test_colours_of_groups_and_signs_are_legible_on_dark_pages(background):
    """A contrast of 4.5, as WCAG 2 asks of text (level AA)."""
    with plt.rc_context({"axes.facecolor": background, "axes.labelcolor": "white"}):
        ax = plt.figure().subplots()
        colours = [*colours_of(ax, None, range(20)), *accents(ax)]
    behind = luminance(to_rgb(background)) + 0.05
    assert min((luminance(colour) + 0.05) / behind for colour in colours) >= 4.5


def test_numbers_are_legible_as_colours_on_dark_pages(scores, loadings):
    """A contrast of 4.5 for all colours of the default map; given maps are used as they are."""
    values = np.linspace(0.0, 1.0, len(scores))
    with plt.style.context("dark_background"):
        ax = biplot(scores, loadings, color=values, ax=plt.figure().subplots())
        points = next(child for child in ax.collections if child.get_array() is not None)
        shades = points.get_cmap()(np.linspace(0.0, 1.0, 50))
        assert min((luminance(shade) + 0.05) / 0.05 for shade in shades) >= 4.5
        ax = biplot(scores, loadings, color=values, palette="cividis", ax=plt.figure().subplots())
        points = next(child for child in ax.collections if child.get_array() is not None)
        assert points.get_cmap().name == "cividis"
    plt.close("all")


def test_far_coordinates_have_no_powers_of_ten(scores, loadings):
    new = scores.iloc[:1] * 5000 / scores.iloc[0].abs().max()
    ax = biplot(scores, loadings, new=new, ax=plt.figure(figsize=(6, 5)).subplots())
    names = [name.edge_text for name in names_in(ax) if name.edge_text.startswith(f"{new.index[0]} (")]
    assert names
    assert all("e+" not in name and ",0" in name.replace(",000", ",0") for name in names)
    plt.close("all")


def test_a_small_far_coordinate_has_the_digits_of_the_axis(scores, loadings):
    new = pd.DataFrame({"PC1": [100.0], "PC2": [0.00123]}, index=["far"])
    new = new.reindex(columns=scores.columns, fill_value=0.0)
    ax = biplot(scores, loadings, new=new, ax=plt.figure(figsize=(6, 5)).subplots())
    name = next(name.edge_text for name in names_in(ax) if name.text == "far")
    assert name.endswith(", 0)")
    plt.close("all")


class Gaps(Artist):
    """Stores, whenever the figure is drawn, where parts of a plot are relative to the axes."""

    def __init__(self, ax, corners):
        super().__init__()
        self.set_zorder(99)  # after the axes
        self.ax, self.corners, self.found = ax, corners, []

    def draw(self, renderer):
        self.found.append(self.corners(self.ax, renderer) - self.ax.get_window_extent(renderer).p0)


def corners_beside(ax, renderer) -> np.ndarray:
    """The corners of legend, blocks and note of a biplot."""
    blocks = [artist for artist in ax.artists if isinstance(artist, Block)]
    notes = [text for text in ax.texts if text.get_gid() == "note"]
    return np.array([one.get_window_extent(renderer).p0 for one in (ax.get_legend(), *blocks, *notes)])


def corners_of_cells(ax, renderer) -> np.ndarray:
    """The corners of the coloured cells of a table of loadings."""
    (table,) = [artist for artist in ax.artists if artist.get_gid() == "table"]
    return np.array([part.get_xy() for part in table._parts() if isinstance(part, Rectangle)])


@pytest.mark.parametrize(
    ("plotted", "corners", "count"), [("biplot", corners_beside, 4), ("table", corners_of_cells, 8)]
)
def test_nothing_moves_when_a_figure_is_saved_without_its_margins(plotted, corners, count):
    """As notebooks save figures: Matplotlib then moves the axes, and not what stands at places in pixels."""
    wine = sp.datasets.load_wine()
    fit = sp.spca(wine, k=2, card=4, scale=True)
    ax = fit.biplot(groups=wine.index) if plotted == "biplot" else fit.plot_loadings(kind="table")
    gaps = Gaps(ax, corners)
    ax.figure.add_artist(gaps)
    ax.figure.savefig(io.BytesIO(), bbox_inches="tight")
    first, *_, last = gaps.found
    assert len(last) == count
    np.testing.assert_allclose(last, first, atol=1e-6)


@pytest.mark.parametrize("count", [3, 20, 100, 1000])
def test_rings_leave_the_points_visible(count):
    """Few are wide; many are narrow and lighter, and small figures say what they are."""
    rng = np.random.default_rng(0)
    scores = pd.DataFrame(rng.normal(size=(2000, 2)), columns=["PC1", "PC2"])
    scores.attrs["replaced"] = [(row, 0) for row in range(count)]
    loadings = pd.DataFrame(np.eye(2) + 0.2, ["a", "b"], scores.columns)
    ax = biplot(scores, loadings, ax=plt.figure(figsize=(3.4, 3.0), layout="constrained").subplots())
    (rings,) = (artist for artist in ax.collections if artist.get_gid() == "replaced")
    (points,) = (artist for artist in ax.collections if len(artist.get_offsets()) == len(scores))
    assert len(rings.get_offsets()) == count
    space = (rings.get_sizes()[0] ** 0.5 - points.get_sizes()[0] ** 0.5) / 2.0
    assert 1.5 <= space <= 2.5 if count <= 20 else 0.3 <= space <= 1.0
    assert (rings.get_edgecolors()[0, :3].mean() < 0.1) == (count <= 20)
    ax.figure.canvas.draw()
    assert f"Rings: {count:,} rows, cells > 5 sd replaced." in note_of(ax)


@pytest.mark.parametrize("kind", ["plain", "groups", "correlations"])
@pytest.mark.parametrize("size", [(3.4, 3.0), (3.4, 4.5), (7.0, 5.0)])
def test_every_figure_says_what_its_marks_and_percentages_are(scores, loadings, size, kind):
    """In a column of a journal, too, with negative loadings, correlated scores, rings and far rows."""
    scores.iloc[4] *= 40
    scores["PC2"] += 0.5 * scores["PC1"]
    scores.attrs["replaced"] = [(row, int(np.argmax(loadings["PC1"] != 0))) for row in range(5, 9)]
    shares = pd.Series([0.3, 0.2, 0.1], scores.columns)
    options: dict = {"groups": ["a", "b"] * 30} if kind == "groups" else {}
    if kind == "correlations":
        options = {"arrows": "correlations", "correlations": loadings + 0.01}
    ax = biplot(
        scores,
        loadings,
        shares=shares,
        labels=5,
        ax=plt.figure(figsize=size, layout="constrained").subplots(),
        **options,
    )
    ax.figure.canvas.draw()
    note = note_of(ax)
    triangles = "Triangles at the edge: 1 row" if kind == "groups" else "Triangles: 1 row"
    for words in ("Points: ", triangles, "Rings: 4 rows", "Arrows: "):
        assert words in note
    has_bars = any(block.layout for block in ax.get_children() if isinstance(block, Block))
    assert has_bars == ("Bars: " in note) == ("hollow: " in note)
    assert "%: share of total variance added." in note
    names = next(child for child in ax.get_children() if isinstance(child, Names))
    if size == (7.0, 5.0):  # sentences that explain no mark have no room where all others are written
        assert "r = " in note
        assert f"Names: {sum(name.counted for name in names.written)} of 60 rows." in note
    assert ax.get_xlabel() == "PC1 (30.0 %)"


def test_an_axis_explains_percentages_where_no_note_does(scores, loadings):
    shares = pd.Series([0.3, 0.2, 0.1], scores.columns)
    shares.attrs["total"] = "residual variance"
    ax = biplot(scores, loadings, shares=shares, note=False)
    ax.figure.canvas.draw()
    assert (ax.get_xlabel(), ax.get_ylabel()) == ("PC1 (30.0 % of the residual variance)", "PC2 (20.0 %)")
    assert "%: share of residual variance added." in note_of(biplot(scores, loadings, shares=shares))


def test_points_of_many_groups_keep_their_colours(loadings):
    """Eight groups of 2,000 rows have the same colours in the legend and, nearly opaque, in the plot."""
    scores = pd.DataFrame(np.random.default_rng(0).normal(size=(2000, 3)), columns=loadings.columns)
    ax = biplot(scores, loadings, groups=np.arange(2000) % 8)
    (points,) = (found for found in ax.collections if not isinstance(found, Quiver))
    assert points.get_sizes().min() >= 6.0
    alphas = {float(alpha) for alpha in points.get_facecolor()[:, 3]}
    assert alphas == {handle.get_alpha() for handle in ax.get_legend().legend_handles}
    assert min(alphas) >= 0.7


def test_no_name_could_belong_to_another_tip():
    """Arrows in a bundle: each name is nearer to its own tip, or has a leader line that passes no other."""
    angles = np.linspace(0.2, 1.6, 9)
    tips = np.c_[np.cos(angles), np.sin(angles)] * np.linspace(0.6, 0.95, 9)[:, None]
    loadings = pd.DataFrame(tips, [f"variable {i}" for i in range(9)], ["PC1", "PC2"])
    scores = pd.DataFrame(np.random.default_rng(0).normal(size=(30, 2)), columns=["PC1", "PC2"])
    for size in ((3.4, 3.0), (3.4, 4.5), (7.0, 5.0)):
        ax = biplot(scores, loadings, ax=plt.figure(figsize=size, layout="constrained").subplots())
        ax.figure.canvas.draw()
        names = next(child for child in ax.get_children() if isinstance(child, Names))
        assert names.written
        pixels = ax.transData.transform(names.tips)
        for name, box in zip(names.written, names.boxes, strict=True):
            others = pixels[(names.tips != name.position).any(axis=1)]
            nearest = np.clip(others, box.p0, box.p1)
            assert np.hypot(*(others - nearest).T).min() * 72 / ax.figure.dpi >= 3.9


@pytest.mark.parametrize("width", [3.2, 3.4, 3.6, 4.2, 6.4])
def test_the_note_counts_the_names_that_are_drawn(width):
    """Wherever its lines break, and at each resolution."""
    fit = sp.spca(sp.datasets.load_judges(), 2, card=6, scale=True)
    for layout in ("constrained", "tight", None):
        figure = plt.figure(figsize=(width, 3.0), layout=layout)
        ax = fit.biplot(labels=8, note=True, ax=figure.subplots())
        for dpi in (60, 150, 200):
            figure.savefig(io.BytesIO(), dpi=dpi)
            (names,) = (child for child in ax.get_children() if isinstance(child, Names))
            assert f"Names: {len(names.written)} of 43 rows." in note_of(ax)


@pytest.mark.parametrize("labels", [3, True])
@pytest.mark.parametrize("new_rows", [9, 31])
def test_the_note_counts_the_names_of_new_rows_among_all_rows(labels, new_rows):
    """So many new rows that they have no names are not counted."""
    judges = sp.datasets.load_judges()
    new = judges.iloc[np.arange(new_rows) % 9 + 34].set_axis([f"new {i}" for i in range(new_rows)])
    fit = sp.spca(judges.iloc[:34], 2, card=6, scale=True)
    for size in ((3.4, 3.0), (3.4, 4.5), (7.0, 5.0)):
        ax = fit.biplot(labels=labels, new=new, note=True, ax=plt.figure(figsize=size).subplots())
        ax.figure.canvas.draw()
        (names,) = (child for child in ax.get_children() if isinstance(child, Names))
        written = sum(name.counted for name in names.written)
        names_in_words = f"Names: {written} of {43 if new_rows == 9 else 34} rows."
        assert names_in_words in note_of(ax) or (size[0] == 3.4 and "Names:" not in note_of(ax))


@pytest.mark.parametrize("height", [55.0, 70.0, 88.0, 120.0])
def test_axes_of_small_figures_have_two_numbers_or_more(height):
    for low, high in ((-3.0, 4.2), (-2.0, 4.0), (-2.9, 9.0), (-1.4, 1.9)):
        ax = plt.figure(figsize=(3.0, 3.0)).add_axes((0.2, 0.2, 0.7, height / 216.0))
        ax.set_ylim(low, high)
        ax.yaxis.set_major_locator(SteadyTicks())
        ticks = [tick for tick in ax.get_yticks() if low <= tick <= high]
        assert len(ticks) >= 2
        assert np.diff(ticks).min() / (high - low) * height >= 15.0


def test_far_rows_have_names_in_small_figures_too():
    """At the end of a line where another point is beside the triangle, and without coordinates at worst."""
    rng = np.random.default_rng(0)
    xy = np.vstack([rng.uniform(-1.0, 1.0, (60, 2)), [[0.0, 2.2], [0.02, 5.0], [4.0, -0.3]]])
    scores = pd.DataFrame(xy, [f"row {i}" for i in range(len(xy))], ["PC1", "PC2"])
    loadings = pd.DataFrame([[1.0, 0.0], [0.0, 1.0]], ["a", "b"], ["PC1", "PC2"])
    for size in ((3.4, 3.0), (3.4, 4.5), (7.0, 5.0)):
        ax = biplot(scores, loadings, ax=plt.figure(figsize=size, layout="constrained").subplots())
        ax.figure.canvas.draw()
        (names,) = (child for child in ax.get_children() if isinstance(child, Names))
        written = [name.text.split(" (")[0] for name in names.written]
        assert {"row 61", "row 62"} <= set(written)


@pytest.mark.parametrize("labels", [None, 8, True])
def test_names_of_rows_hide_no_point_and_are_nearest_to_their_own(labels):
    """A name at the end of a leader line is nearest to none."""
    fit = sp.spca(sp.datasets.load_judges(), 2, card=6, scale=True)
    for size in ((3.4, 3.0), (3.4, 4.5), (6.4, 4.8)):
        ax = fit.biplot(labels=labels, ax=plt.figure(figsize=size, layout="constrained").subplots())
        ax.figure.canvas.draw()
        (names,) = (child for child in ax.get_children() if isinstance(child, Names))
        dots, points = ax.transData.transform(names.dots), ax.figure.dpi / 72
        assert labels is None or len(names.written) > 3
        for name, box in zip(names.written, names.boxes, strict=True):
            assert not any(box.padded(0.4 * points).contains(x, y) for x, y in dots)
            distances = np.hypot(*(dots - np.clip(dots, box.p0, box.p1)).T) / points
            at = np.hypot(*(dots - ax.transData.transform(name.position)).T) / points
            own, others = distances[at.argmin()], distances[at > 2.0]
            assert others.min() > min(own + 0.9, 3.9)
