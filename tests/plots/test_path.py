from __future__ import annotations

import matplotlib.pyplot as plt
import numpy as np
import pandas as pd
import pytest
from matplotlib.figure import Figure

import spcastat as sp
from spcastat.errors import OptionError, ShapeError
from spcastat.plots.measure_plots import plot_path, plot_path_data


@pytest.fixture
def table() -> pd.DataFrame:
    adjusted = np.array([0.2, 0.35, 0.4])
    return pd.DataFrame(
        {
            "nonzeros": [2, 4, 8],
            "adjusted": adjusted,
            "pev": adjusted + 0.02,
            "relative_adjusted": adjusted / 0.5,
            "pca": 0.5,
        }
    )


def test_lines_are_the_data(table):
    ax = plot_path(table, measures=["adjusted", "pev"])
    data = plot_path_data(table, measures=["adjusted", "pev"])
    for line, name in zip(ax.lines, ["adjusted", "pev"], strict=False):
        np.testing.assert_allclose(line.get_xdata(), data.index)
        np.testing.assert_allclose(line.get_ydata(), 100 * data[name])
    assert ax.lines[2].get_ydata() == [50.0, 50.0]
    assert [text.get_text() for text in ax.get_legend().get_texts()] == [
        "adjusted variance",
        "PEV",
        "dense PCA",
    ]
    assert ax.get_ylim()[0] == 0


def test_lines_are_told_apart_without_colour(table):
    ax = plot_path(table, measures=["adjusted", "pev"])
    assert len({(line.get_linestyle(), line.get_marker()) for line in ax.lines}) == 3


def test_shares_of_pca_have_no_line_for_it(table):
    ax = plot_path(table, measures="relative_adjusted")
    assert len(ax.lines) == 1
    assert ax.get_ylabel().startswith("% of PCA's")


def test_errors_and_correlations_have_an_axis_of_their_own(table):
    more = table.assign(rre=[0.9, 0.8, 0.7], score_correlation=[0.1, 0.2, 0.3])
    ax = plot_path(more, measures="rre")
    assert len(ax.lines) == 1
    assert "error" in ax.get_ylabel()
    assert "correlation" in plot_path(more, measures="score_correlation").get_ylabel()
    assert plot_path(more, measures=["pev", "rre"]).get_ylabel() == "%"


def test_the_axis_counts_nonzeros_or_cardinalities(table):
    ax = plot_path(table.assign(card=[1, 2, 4]), x="card")
    np.testing.assert_array_equal(ax.lines[0].get_xdata(), [1, 2, 4])
    assert "Cardinality" in ax.get_xlabel()
    with pytest.raises(OptionError, match="not one number"):
        plot_path(table.assign(card=[(1, 1), (2, 2), (4, 4)]), x="card")


def test_a_path_draws_what_its_search_maximised():
    R = sp.datasets.load_pitprops()
    path = sp.spca_path(R, 2, cards=[2, 4], covariance=True, method="joint", objective="pev")
    assert path.plot().get_lines()[0].get_label() == "PEV"
    curve = sp.spca_path(R, 2, cards=[2, 4], covariance=True).plot().get_lines()[0]
    assert "djusted" in curve.get_label()


def test_given_axes_are_used_without_pyplot(table):
    ax = Figure().subplots()
    before = plt.get_fignums()
    assert plot_path(table, ax=ax) is ax
    assert plt.get_fignums() == before


def test_refusals(table):
    with pytest.raises(OptionError, match="Did you mean 'adjusted'"):
        plot_path(table, measures="ajusted")
    with pytest.raises(OptionError, match="empty"):
        plot_path(table, measures=[])
    with pytest.raises(ShapeError, match="'pca'"):
        plot_path(table.drop(columns="pca"))
