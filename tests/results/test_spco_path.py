"""Sparse coordinates along penalties, and the figures of them."""

from __future__ import annotations

import matplotlib.pyplot as plt
import numpy as np
import pandas as pd
import pytest

import spcastat as sp
from spcastat.errors import OptionError
from spcastat.plots.score_plots import plot_coordinates_data


@pytest.fixture(scope="module")
def three() -> tuple[pd.DataFrame, list[str]]:
    """The data of Dou, Dai, Xu and Zhang, section 5.2: ten points each of three normal distributions."""
    rng = np.random.default_rng(0)
    means, sds = (10.0, -10.0, 0.0), (1.0, 3.0, np.sqrt(17.0))
    rows = [mean + sd * rng.normal(size=(10, 50)) for mean, sd in zip(means, sds, strict=True)]
    return pd.DataFrame(np.vstack(rows)), ["G1"] * 10 + ["G2"] * 10 + ["G3"] * 10


@pytest.fixture(autouse=True)
def _closed():
    yield
    plt.close("all")


def test_the_map_of_figure_2(three):
    """Each row is drawn once in each panel, at its coordinate."""
    X, groups = three
    fit = sp.spco(X, 2, zeros=0.5)
    ax = fit.plot(groups=groups)
    assert len(ax.child_axes) == 2
    for panel, component in zip(ax.child_axes, fit.components, strict=True):
        drawn = [c.get_offsets() for c in panel.collections if hasattr(c, "get_sizes")]
        points = np.vstack([offsets for offsets in drawn if len(offsets)])
        points = points[np.argsort(points[:, 0])]
        np.testing.assert_array_equal(points[:, 0], np.arange(1, 31))
        np.testing.assert_allclose(points[:, 1], fit.coordinates[component])
    assert list(plot_coordinates_data(fit.coordinates, components=[2]).columns) == ["PC2"]


def test_a_path_is_fits_of_the_same_call(three):
    X, _ = three
    fit = sp.spco(X, 2, zeros=0.3)
    path = fit.path([0.6, 0.2])
    assert list(path) == [0.2, 0.6]
    for zeros in path:
        again = sp.spco(X, 2, zeros=zeros)
        np.testing.assert_array_equal(path[zeros].coordinates, again.coordinates)
    table = path.table
    assert table["fit"].is_monotonic_decreasing
    np.testing.assert_allclose(table["cpzc"], [0.2, 0.6], atol=1 / 60)
    by_penalty = fit.path(penalty=[path[0.6].penalty])
    assert by_penalty.table["cpzc"].item() == pytest.approx(0.6, abs=1 / 60)
    drawn = path.plot().lines[0]
    np.testing.assert_allclose(drawn.get_ydata(), 100 * path.table["cpev"])
    assert "CPZC" in path.as_text()


def test_measures_are_those_of_the_loadings(three):
    X, _ = three
    fit = sp.spco(X, 2, zeros=0.3)
    assert fit.measure("cpev") == fit.variance["cumulative CPEV"].iloc[-1]
    assert fit.measure("cpzc") == (fit.coordinates == 0).to_numpy().mean()
    assert fit.measure("pev") == pytest.approx(sp.measures.pev(fit.loadings, X))
    back = fit.inverse_transform(fit.coordinates) - X.mean()
    kept = 1 - ((X - X.mean() - back) ** 2).to_numpy().sum() / ((X - X.mean()) ** 2).to_numpy().sum()
    assert fit.measure("fit") == pytest.approx(kept)


def test_refusals(three):
    fit = sp.spco(three[0], 2, zeros=0.3)
    with pytest.raises(OptionError, match="give the values of one"):
        fit.path([0.1], penalty=[1.0])
    with pytest.raises(OptionError, match="zeros=1"):
        fit.path([1.0])
    with pytest.raises(OptionError, match="empty"):
        fit.path([])
    with pytest.raises(OptionError, match=r"no fit with zeros=0\.7"):
        fit.path([0.1])[0.7]
    with pytest.raises(OptionError, match="name='variance'"):
        fit.measure("variance")
