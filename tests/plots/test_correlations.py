from __future__ import annotations

import numpy as np
import pandas as pd
import pytest
from matplotlib.figure import Figure
from matplotlib.patches import Circle
from matplotlib.quiver import Quiver

import spcastat as sp
from spcastat.errors import ComponentsError, DataError, OptionError, ShapeError
from spcastat.plots.arrows import plot_correlations, plot_correlations_data
from spcastat.plots.axes_and_names import note_of
from spcastat.plots.bar_plots import plot_contributions, plot_contributions_data


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
    assert ax.get_aspect() == 1.0
    names = {text.get_text() for text in ax.texts if text.get_gid() == "name"}
    assert all(label in names or label in note_of(ax) for label in data["label"])


def test_those_with_a_loading_come_first_and_the_rest_is_counted(correlations, loadings):
    data = plot_correlations_data(correlations, loadings, max_arrows=4)
    assert data["nonzero"].all()
    ax = plot_correlations(correlations, loadings, max_arrows=4)
    assert "4 of the 13 variables are drawn" in note_of(ax)


def test_supplementary_variables_are_drawn_in_another_colour(correlations, loadings):
    further = pd.DataFrame([[0.3, -0.4, 0.1]], index=["price"], columns=correlations.columns)
    ax = plot_correlations(correlations, loadings, supplementary=further)
    (price,) = (text for text in ax.texts if text.get_text() == "price")
    assert price.get_color() not in {text.get_color() for text in ax.texts if text is not price}


def test_the_note_says_that_arrows_may_leave_the_circle():
    X = np.random.default_rng(0).normal(size=(60, 2)) @ [[1, 1, 1, 0.5], [0, 0.3, -0.5, 1]]
    fit = sp.spca(pd.DataFrame(X), 2, 2, scale=True, effort="quick")
    r = np.corrcoef(fit.scores.T)[0, 1]
    assert abs(r) > 0.1
    assert f"(r = {r:.2f}): arrows may leave the circle".replace("-", "−") in note_of(fit.plot_correlations())


def test_axes_can_be_given_and_named(correlations):
    ax = Figure(layout="constrained").subplots()
    shares = pd.Series({"PC1": 0.3, "PC2": 0.25})
    assert plot_correlations(correlations, shares=shares, ax=ax) is ax
    assert (ax.get_xlabel(), ax.get_ylabel()) == ("PC1 (30.0 %)", "PC2 (25.0 %)")


def test_refusals(correlations, loadings):
    with pytest.raises(ComponentsError, match="needs two"):
        plot_correlations(correlations[["PC1"]])
    with pytest.raises(ComponentsError, match="component 7"):
        plot_correlations(correlations, components=(1, 7))
    with pytest.raises(ShapeError, match="same variables"):
        plot_correlations(correlations, loadings.iloc[1:])
    with pytest.raises(ShapeError, match="score_correlation"):
        plot_correlations(correlations, score_correlations=correlations)
    with pytest.raises(OptionError, match="max_arrows=0"):
        plot_correlations(correlations, max_arrows=0)


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


def test_what_is_not_drawn_is_counted(loadings):
    ax = plot_contributions(loadings**2, max_rows=3, of="rows")
    assert "2 more rows have a nonzero value" in note_of(ax)


def test_refused_contributions(loadings):
    with pytest.raises(OptionError, match="kind='share'"):
        plot_contributions(loadings**2, kind="share")
    with pytest.raises(DataError, match="nothing to draw"):
        plot_contributions(0 * loadings)


def test_the_legend_of_contributions_lies_over_no_bar():
    """Bars fill the axes: the legend stands above them, for one component and for several."""
    parts = pd.DataFrame({"PC1": [0.5, 0.3, 0.2], "PC2": [0.1, 0.4, 0.5]}, index=[*"abc"])
    for components in ("PC1", [1, 2]):
        ax = plot_contributions(parts, components=components)
        ax.figure.canvas.draw()
        assert ax.get_legend().get_window_extent().y0 >= ax.get_window_extent().y1


def test_long_names_have_a_key(loadings):
    """The labels of the figure are in the data, beside the names, which stay whole."""
    names = [f"share_of_the_households_with_an_income_below_{name}" for name in loadings.index]
    parts = (loadings**2).set_axis(names, axis=0)
    data = plot_contributions_data(parts)
    ax = plot_contributions(parts)
    assert set(data.index) <= set(names)
    assert [tick.get_text() for tick in ax.get_yticklabels()] == data.attrs["labels"]
    assert all(len(label) <= 28 and "…" in label for label in data.attrs["labels"])
