"""A name belongs to its arrow: judged by the boxes of the artists, on twelve data sets."""

from __future__ import annotations

from itertools import combinations

import numpy as np
import pandas as pd
import pytest
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.quiver import Quiver
from matplotlib.text import Annotation, Text
from matplotlib.transforms import Bbox

import spcastat as sp
from spcastat.plots import BiplotData, biplot, biplot_data
from spcastat.plots.axes_and_names import note_of

from .shapes import SHAPES


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


def assert_names_belong(ax: Axes, data: BiplotData) -> None:
    """Every arrow is named or listed; no name is nearer to another tip, across a shaft, or on another."""
    ax.figure.canvas.draw()
    names, numbers, stacks = (texts_of(ax, gid) for gid in ("name", "number", "stack"))
    tips, origin = arrow_tips(ax), ax.transData.transform((0.0, 0.0))
    written = [text.get_text() for text in names]
    lists = " ".join(text.get_text() for text in stacks)
    note = note_of(ax)
    for label, side in zip(data.arrows["label"], data.arrows["side"], strict=True):
        assert (label in lists) if side else (label in written or " ".join(label.split()) in note), label
    ends = data.arrows.set_index("label")[["x", "y"]]
    for text in names:
        # the right name stands at the tip
        np.testing.assert_allclose(text.xy, ends.loc[text.get_text()].to_numpy(dtype=float))
    for text in [*names, *numbers]:
        own = ax.transData.transform(text.xy)
        others = tips[np.hypot(*(tips - own).T) > (0.5 if text.get_gid() == "name" else 10.0)]
        away = distance(box_of(text), own[None])[0]
        assert not len(others) or away <= distance(box_of(text), others).min() + 0.1, text.get_text()
        for tip in tips:
            t = np.linspace(0.0, 1.0, 400)[:, None]
            assert distance(box_of(text), origin + t * (tip - origin)).min() > 0, text.get_text()
    boxes = [box_of(text) for text in [*names, *numbers, *stacks]]
    assert not any(a.overlaps(b) for a, b in combinations(boxes, 2))
    frame = ax.get_window_extent()
    for box in boxes:
        assert frame.x0 <= box.x0 <= box.x1 <= frame.x1
        assert frame.y0 <= box.y0 <= box.y1 <= frame.y1


FITS: dict[str, dict[str, object]] = {
    "genes": {"card": 20, "method": "threshold"},
    "census": {"card": 9, "method": "greedy"},
    "spectra": {"card": 12, "method": "greedy"},
    "letters": {"card": 5, "method": "greedy"},
}


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


@pytest.mark.slow
@pytest.mark.parametrize("name", ["wine", "cells", "survey", "far row"])
def test_names_of_dense_components_belong_to_their_arrows(name):
    X, _ = SHAPES[name]()
    fit = sp.spca(X, k=2, method="pca", scale=True)
    assert_names_belong(fit.biplot(), fit.biplot_data())
    if name == "wine":
        ax = Figure(figsize=(5, 4), layout="constrained").subplots()
        assert_names_belong(fit.biplot(ax=ax), fit.biplot_data())


@pytest.mark.slow
@pytest.mark.parametrize("name", ["wine", "breast_cancer"])
def test_names_on_data_of_scikit_learn(name):
    datasets = pytest.importorskip("sklearn.datasets")
    X = getattr(datasets, f"load_{name}")(as_frame=True).data
    for options in ({"method": "pca"}, {"card": min(5, X.shape[1])}):
        fit = sp.spca(X, k=2, scale=True, **options)
        assert_names_belong(fit.biplot(), fit.biplot_data())


def test_lists_at_the_ends_of_the_axes_name_variables_on_one_axis(scores):
    """A variable with one nonzero loading lies on an axis: listed with its loading, the largest first."""
    names = ["a", "b", "c", "d", "e"]
    weights = pd.DataFrame(
        [[0.5, 0, 0], [0.7, 0, 0], [-0.4, 0, 0], [0, -0.9, 0], [0.3, 0.4, 0]],
        index=names,
        columns=scores.columns,
    )
    ax = biplot(scores, weights)
    lists = {text.get_text() for text in texts_of(ax, "stack")}
    assert lists == {"+0.70  b\n+0.50  a", "c  −0.40", "−0.90  d"}
    assert [text.get_text() for text in texts_of(ax, "name")] == ["e"]
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


def test_the_same_call_gives_the_same_names():
    fit, _ = fit_of("cells")
    first, second = (texts_of(fit.biplot(), "name") for _ in range(2))
    assert [text.get_position() for text in first] == [text.get_position() for text in second]


def test_lists_stay_within_axes_that_shrink_later():
    """Other panels, drawn afterwards, may take room from the axes: the lists keep to their frame."""
    fit, _ = fit_of("wine")
    axes = Figure(figsize=(9, 8), layout="constrained").subplots(2, 2)
    ax = fit.biplot(ax=axes[0, 0])
    axes[1, 0].set_ylabel("a label\n" * 6)
    ax.figure.canvas.draw()
    frame = ax.get_window_extent()
    for text in texts_of(ax, "stack"):
        box = text.get_window_extent()
        assert frame.x0 <= box.x0 <= box.x1 <= frame.x1
        assert frame.y0 <= box.y0 <= box.y1 <= frame.y1


def test_names_with_hyphens_are_whole_in_the_note(scores):
    """Twelve arrows on one another: most names stand in the note, none broken at its hyphens."""
    names = [f"mean-of-raw-channel-{i}" for i in range(12)]
    turns = np.linspace(0.4, 0.43, 12)
    weights = pd.DataFrame(np.stack([np.cos(turns), np.sin(turns), 0 * turns], axis=1), index=names)
    ax = biplot(scores, weights.set_axis(scores.columns, axis=1))
    ax.figure.canvas.draw()
    told = note_of(ax)
    written = [text.get_text() for text in texts_of(ax, "name")]
    assert len(written) < 6
    assert all(name in told for name in names if name not in written)


@pytest.mark.slow
def test_no_number_is_nearer_to_a_named_tip(scores):
    """Two tips on one spot beside one that is named, as of correlated genes."""
    rng = np.random.default_rng(3)
    for turn in (0.2, 0.9, 1.4):
        angles = turn + 0.02 * rng.normal(size=24)
        lengths = rng.uniform(0.9, 1.0, 24)
        weights = np.stack([lengths * np.cos(angles), lengths * np.sin(angles), np.zeros(24)], axis=1)
        names = [f"gene_expression_probe_{i}" for i in range(24)]
        frame = pd.DataFrame(weights, index=names, columns=scores.columns)
        ax, data = biplot(scores, frame), biplot_data(scores, frame)
        ax.figure.canvas.draw()
        tips = ax.transData.transform(data.arrows[["x", "y"]].to_numpy(dtype=float))
        labelled = {text.get_text() for text in texts_of(ax, "name")}
        named = tips[[label in labelled for label in data.arrows["label"]]]
        for text in texts_of(ax, "number"):
            members = note_of(ax).partition(f" {text.get_text()} ")[2].partition(";")[0].split(". ")[0]
            own = tips[[label in members.split(", ") for label in data.arrows["label"]]]
            assert distance(box_of(text), own).min() <= distance(box_of(text), named).min()
