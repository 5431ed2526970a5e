from __future__ import annotations

from itertools import combinations

import matplotlib.pyplot as plt
import numpy as np
import pandas as pd
import pytest
from matplotlib.figure import Figure
from matplotlib.quiver import Quiver
from matplotlib.text import Annotation, Text

from spcastat.errors import ComponentsError, DataError, OptionError, ShapeError
from spcastat.plots import biplot, biplot_data


def labels_of(ax) -> list[Annotation]:
    return [child for child in ax.get_children() if isinstance(child, Annotation)]


def boxes_of(ax) -> list:
    ax.figure.canvas.draw()
    # An annotation's own extent includes its leader.
    return [Text.get_window_extent(label) for label in labels_of(ax)]


def points_of(ax) -> np.ndarray:
    return np.vstack([c.get_offsets() for c in ax.collections if not isinstance(c, Quiver)])


@pytest.mark.parametrize("scale", [0.0, 0.3, 1.0])
def test_inner_products_are_those_of_scores_and_loadings(scores, loadings, scale):
    data = biplot_data(scores, loadings, scale=scale)
    products = data.points[["x", "y"]].to_numpy() @ data.arrows[["x", "y"]].to_numpy().T / data.stretch
    expected = scores.iloc[:, :2].to_numpy() @ loadings.loc[data.arrows.index].iloc[:, :2].to_numpy().T
    np.testing.assert_allclose(products, expected, atol=1e-12)


def test_ends_of_the_scale(scores, loadings):
    whole = biplot_data(scores, loadings, scale=0)
    np.testing.assert_allclose(whole.points[["x", "y"]], scores[["PC1", "PC2"]])
    unit = biplot_data(scores, loadings, scale=1)
    np.testing.assert_allclose(unit.points[["x", "y"]].std(), 1)
    assert unit.arrows["length"].max() == pytest.approx(np.hypot(unit.points["x"], unit.points["y"]).max())


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
    (arrows,) = (c for c in ax.collections if isinstance(c, Quiver))
    assert arrows.N == ((loadings[["PC1", "PC3"]] != 0).any(axis=1)).sum() == len(data.arrows)
    np.testing.assert_allclose(np.stack([arrows.U, arrows.V], axis=1), data.arrows[["x", "y"]])
    np.testing.assert_allclose(points_of(ax), data.points[["x", "y"]])
    assert (ax.get_xlabel(), ax.get_ylabel()) == ("PC1", "PC3")
    assert {label.get_text() for label in labels_of(ax)} == set(data.arrows.index[data.arrows["labelled"]])


@pytest.mark.parametrize(("labels", "count"), [(0, 0), (3, 3), ("all", None)])
def test_the_longest_arrows_are_labelled(scores, loadings, labels, count):
    arrows = biplot_data(scores, loadings, labels=labels).arrows
    chosen = arrows["labelled"]
    assert chosen.sum() == (len(arrows) if count is None else count)
    if 0 < chosen.sum() < len(arrows):
        assert arrows["length"][chosen].min() >= arrows["length"][~chosen].max()


@pytest.mark.parametrize("seed", range(3))
def test_labels_do_not_overlap_and_stay_inside(scores, make_loadings, seed):
    ax = biplot(scores, make_loadings(40, nonzero=20, seed=seed), labels="all")
    boxes = boxes_of(ax)
    assert len(boxes) > 20
    assert not any(a.overlaps(b) for a, b in combinations(boxes, 2))
    frame = ax.get_window_extent()
    assert all(frame.x0 <= b.x0 and b.x1 <= frame.x1 and frame.y0 <= b.y0 and b.y1 <= frame.y1 for b in boxes)


def test_labels_of_collinear_arrows_stay_apart(scores):
    names = ["PC1", "PC2", "PC3"]
    weights = pd.DataFrame(0.0, index=[f"a long name {i}" for i in range(10)], columns=names)
    weights["PC1"] = np.linspace(0.3, 0.33, 10)
    boxes = boxes_of(biplot(scores, weights))
    assert len(boxes) == 10
    assert not any(a.overlaps(b) for a, b in combinations(boxes, 2))


def test_the_same_call_gives_the_same_labels(scores, loadings):
    first, second = (labels_of(biplot(scores, loadings, labels="all")) for _ in range(2))
    assert [label.get_position() for label in first] == [label.get_position() for label in second]


def test_given_axes_are_used_without_pyplot(scores, loadings):
    ax = Figure().subplots()
    before = plt.get_fignums()
    assert biplot(scores, loadings, groups=["a", "b"] * 30, ax=ax) is ax
    assert plt.get_fignums() == before


def test_axes_shared_with_others_can_be_drawn(scores, loadings):
    figure = Figure(layout="constrained")
    axes = figure.subplots(1, 2, sharex=True, sharey=True)
    biplot(scores, loadings, ax=axes[0])
    biplot(scores, loadings, components=(2, 3), ax=axes[1])
    figure.draw_without_rendering()


def test_groups_differ_in_colour_and_marker(scores, loadings):
    groups = pd.Categorical(
        [["z", "_hidden", "$m$"][i % 3] for i in range(60)], ["z", "_hidden", "$m$", "none"]
    )
    ax = biplot(scores, loadings, groups=groups)
    drawn = [c for c in ax.collections if not isinstance(c, Quiver)]
    assert [len(c.get_offsets()) for c in drawn] == [20, 20, 20]
    assert len({tuple(c.get_facecolor()[0]) for c in drawn}) == 3
    assert len({c.get_paths()[0].vertices.tobytes() for c in drawn}) == 3
    assert [text.get_text() for text in ax.get_legend().get_texts()] == ["z", "_hidden", "$m$"]
    ax.figure.canvas.draw()


def test_missing_groups_are_shown(scores, loadings):
    ax = biplot(scores, loadings, groups=[None, *["a"] * 59])
    assert [text.get_text() for text in ax.get_legend().get_texts()] == ["a", "(missing)"]
    assert len(points_of(ax)) == 60


def test_a_series_is_matched_by_its_labels(scores, loadings):
    values = pd.Series([f"g{i % 2}" for i in range(60)], index=scores.index)
    longer = pd.concat([values[::-1], pd.Series(["other"], index=["dropped"])])
    for groups in (values, longer, values.reset_index(drop=True), values.tolist()):
        found = biplot_data(scores, loadings, groups=groups).points["group"]
        assert found.astype(str).tolist() == values.tolist()
    with pytest.raises(ShapeError, match="labels for 59 of the 60 rows"):
        biplot_data(scores, loadings, groups=values.iloc[1:])


def test_note_on_correlated_scores(scores, loadings):
    data = biplot_data(scores, loadings)
    assert data.correlation == pytest.approx(scores["PC1"].corr(scores["PC2"]))
    assert f"r = {data.correlation:.2f}" in biplot(scores, loadings).get_title()
    scores["PC2"] -= scores["PC1"] * (scores["PC1"] @ scores["PC2"]) / (scores["PC1"] @ scores["PC1"])
    assert biplot(scores, loadings).get_title() == ""


def test_shares_stand_on_the_axes(scores, loadings):
    ax = biplot(scores, loadings, shares=pd.Series({"PC2": 0.2, "PC1": 0.345}))
    assert (ax.get_xlabel(), ax.get_ylabel()) == ("PC1 (34.5 %)", "PC2 (20.0 %)")


def test_many_points_are_rasterised(loadings):
    scores = pd.DataFrame(np.random.default_rng(0).normal(size=(6000, 3)), columns=loadings.columns)
    many, few = (biplot(frame, loadings).collections[0] for frame in (scores, scores[:100]))
    assert many.get_rasterized()
    assert not few.get_rasterized()
    assert many.get_sizes()[0] < few.get_sizes()[0]
    assert many.get_alpha() < few.get_alpha()


@pytest.mark.parametrize(
    ("options", "error", "message"),
    [
        ({"components": (1, 4)}, ComponentsError, "component 4 was asked for; there are 3"),
        ({"components": (1, 1)}, ComponentsError, "each once"),
        ({"components": (1,)}, ComponentsError, "shows two"),
        ({"scale": 1.5}, OptionError, "scale=1.5"),
        ({"labels": -1}, OptionError, "labels=-1"),
        ({"labels": "most"}, OptionError, "labels='most'"),
        ({"groups": ["a"] * 59}, ShapeError, "groups has 59 values; the scores have 60 rows"),
        ({"groups": np.arange(60)}, OptionError, "60 different values"),
        ({"groups": "species"}, OptionError, "the values themselves"),
        ({"ax": "axes"}, OptionError, "ax of type str"),
    ],
)
def test_refusals(scores, loadings, options, error, message):
    with pytest.raises(error, match=message):
        biplot(scores, loadings, **options)


def test_data_without_a_biplot(scores, loadings):
    with pytest.raises(ComponentsError, match="a biplot needs two"):
        biplot(scores[["PC1"]], loadings[["PC1"]])
    with pytest.raises(ShapeError, match="must be the same"):
        biplot(scores, loadings[["PC1", "PC2"]])
    scores["PC2"] = 0.0
    with pytest.raises(DataError, match="scores of PC2 are constant"):
        biplot(scores, loadings)
    assert np.isnan(biplot_data(scores, loadings, scale=0).correlation)
