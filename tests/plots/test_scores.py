from __future__ import annotations

import matplotlib.pyplot as plt
import numpy as np
import pandas as pd
import pytest
from matplotlib.figure import Figure
from scipy import stats

from spcastat.errors import ComponentsError, OptionError, ShapeError
from spcastat.plots.axes_and_names import note_of
from spcastat.plots.score_plots import density, plot_scores, plot_scores_data


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
        assert panel.get_title() == f"r = {r:.2f}".replace("-", "−")


def test_names_stand_at_the_edges(six):
    ax = plot_scores(six, components=["PC2", "PC4", 6], densities=False)
    assert [panel.get_xlabel() for panel in ax.child_axes] == ["", "PC2", "PC4"]
    assert [panel.get_ylabel() for panel in ax.child_axes] == ["PC4", "PC6", ""]


def test_the_first_five_by_default(six):
    assert list(plot_scores_data(six).columns) == ["PC1", "PC2", "PC3", "PC4", "PC5"]
    assert list(plot_scores_data(six.iloc[:, :2]).columns) == ["PC1", "PC2"]


def test_the_diagonal_has_densities_that_integrate_to_the_shares_of_the_groups(six):
    groups = ["a"] * 10 + ["b"] * 30
    ax = plot_scores(six, components=(1, 2), groups=groups)
    assert len(ax.child_axes) == 3
    diagonal = ax.child_axes[0]
    areas = [np.trapezoid(line.get_ydata(), line.get_xdata()) for line in diagonal.lines]
    # the grid ends 15 % of the range beyond the rows, where little is left of a kernel
    assert areas == pytest.approx([0.25, 0.75], abs=0.02)


def test_densities_are_those_of_scipy():
    values = np.random.default_rng(0).normal(size=300)
    grid = np.linspace(-3, 3, 50)
    spread = min(values.std(ddof=1), np.subtract(*np.quantile(values, [0.75, 0.25])) / 1.34)
    width = 0.9 * spread * 300**-0.2
    expected = stats.gaussian_kde(values, width / values.std(ddof=1))(grid)
    np.testing.assert_allclose(density(values, grid), expected, rtol=1e-10)
    many = np.random.default_rng(1).normal(size=20_000)
    exact = stats.gaussian_kde(many, 0.9 * 20_000**-0.2 * 0.99)(grid)
    # 2 % of the top: width and cells differ
    np.testing.assert_allclose(density(many, grid), exact, atol=0.01)


def test_one_component_has_its_density(six):
    ax = plot_scores(six[["PC1"]], groups=["a", "b"] * 20)
    (panel,) = ax.child_axes
    assert len(panel.lines) == 2
    assert panel.get_xlabel() == "PC1"


def test_a_note_says_which_are_shown_and_axes_have_shares(six):
    shares = pd.Series(np.linspace(0.3, 0.05, 6), index=six.columns)
    ax = plot_scores(six, shares=shares)
    assert "PC1 to PC5 of 6 components are shown" in note_of(ax)
    assert ax.child_axes[-1].get_xlabel() == "PC5 (10.0 %)"
    assert note_of(plot_scores(six, components=(1, 2))) == ""


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
    with pytest.raises(ShapeError, match="scores of type ndarray"):
        plot_scores(six.to_numpy())
    with pytest.raises(ComponentsError, match="pairs of up to 5"):
        plot_scores(six, components=range(1, 7))
    with pytest.raises(ShapeError, match="groups has 3 values"):
        plot_scores(six, groups=["a", "b", "c"])
    with pytest.raises(OptionError, match="ax of type"):
        plot_scores(six, ax="axes")
