from __future__ import annotations

import matplotlib.pyplot as plt
import numpy as np
import pandas as pd
import pytest
from matplotlib.figure import Figure

from spcastat.errors import OptionError, ShapeError
from spcastat.plots import plot_path, plot_path_data


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
