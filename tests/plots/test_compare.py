from __future__ import annotations

import matplotlib.pyplot as plt
import numpy as np
import pandas as pd
import pytest
from matplotlib.figure import Figure

from spcastat.errors import ShapeError
from spcastat.measures import measures_of
from spcastat.plots.measure_plots import plot_compare, plot_compare_data


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


def test_fits_are_told_apart_without_colour(measures):
    ax = plot_compare(pd.concat([measures] * 3).set_axis([f"fit {i}" for i in range(9)]))
    marks = [(line.get_marker(), line.get_color()) for line in ax.lines]
    assert len(set(marks)) == 9
    assert len({mark for mark, _ in marks[:8]}) == 8


def test_given_axes_are_used_without_pyplot(measures):
    ax = Figure().subplots()
    before = plt.get_fignums()
    assert plot_compare(measures, ax=ax) is ax
    assert plt.get_fignums() == before


def test_missing_column_is_named(measures):
    with pytest.raises(ShapeError, match="'pev'"):
        plot_compare(measures.drop(columns="pev"))
