from __future__ import annotations

import matplotlib.pyplot as plt
import numpy as np
import pandas as pd
import pytest
from matplotlib.figure import Figure

from spcastat.errors import ComponentsError, OptionError, ShapeError
from spcastat.plots import plot_scores, plot_scores_data


@pytest.fixture
def six() -> pd.DataFrame:
    rng = np.random.default_rng(0)
    values = rng.normal(size=(40, 6)) @ rng.normal(size=(6, 6))
    return pd.DataFrame(values, columns=[f"PC{j + 1}" for j in range(6)])


@pytest.mark.parametrize("count", [2, 3, 5])
def test_every_pair_is_drawn_once(six, count):
    data = plot_scores_data(six, components=range(1, count + 1))
    ax = plot_scores(six, components=range(1, count + 1))
    pairs = [(i, j) for i in range(1, count) for j in range(i)]
    assert len(ax.child_axes) == len(pairs)
    for panel, (i, j) in zip(ax.child_axes, pairs, strict=True):
        (points,) = panel.collections
        np.testing.assert_allclose(points.get_offsets(), data.iloc[:, [j, i]])
        r = np.corrcoef(data.iloc[:, j], data.iloc[:, i])[0, 1]
        assert panel.get_title() == f"r = {r:.2f}".replace("-", "−")


def test_names_stand_at_the_edges(six):
    ax = plot_scores(six, components=["PC2", "PC4", 6])
    assert [panel.get_xlabel() for panel in ax.child_axes] == ["", "PC2", "PC4"]
    assert [panel.get_ylabel() for panel in ax.child_axes] == ["PC4", "PC6", ""]


def test_the_first_five_by_default(six):
    assert list(plot_scores_data(six).columns) == ["PC1", "PC2", "PC3", "PC4", "PC5"]
    assert list(plot_scores_data(six.iloc[:, :2]).columns) == ["PC1", "PC2"]


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


def test_panels_do_not_overlap(six):
    ax = plot_scores(six)
    ax.figure.canvas.draw()
    boxes = [panel.get_tightbbox() for panel in ax.child_axes]
    for i, box in enumerate(boxes):
        assert not any(box.shrunk(0.98, 0.98).overlaps(other.shrunk(0.98, 0.98)) for other in boxes[:i])


def test_given_axes_are_used_without_pyplot(six):
    ax = Figure().subplots()
    before = plt.get_fignums()
    assert plot_scores(six, ax=ax) is ax
    assert plt.get_fignums() == before


def test_refusals(six):
    with pytest.raises(ComponentsError, match="from 2 to 5"):
        plot_scores(six, components=range(1, 7))
    with pytest.raises(ComponentsError, match="1 of 1 components"):
        plot_scores(six.iloc[:, :1])
    with pytest.raises(ShapeError, match="groups has 3 values"):
        plot_scores(six, groups=["a", "b", "c"])
    with pytest.raises(OptionError, match="ax of type"):
        plot_scores(six, ax="axes")
