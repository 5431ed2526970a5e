from __future__ import annotations

import matplotlib.pyplot as plt
import numpy as np
import pandas as pd
import pytest
from matplotlib.figure import Figure
from matplotlib.text import Annotation

from spcastat.errors import OptionError, ShapeError
from spcastat.plots.score_plots import plot_diagnostics, plot_diagnostics_data

LIMITS = pd.Series({"T2": 5.0, "Q": 2.0}, name="0.95")


@pytest.fixture
def rows() -> pd.DataFrame:
    rng = np.random.default_rng(0)
    frame = pd.DataFrame({"T2": rng.chisquare(2, 60).clip(max=4.9), "Q": rng.uniform(0, 1.9, 60)})
    frame.index = [f"row {i}" for i in range(60)]
    frame.iloc[7] = 9.0, 1.0
    frame.iloc[9] = 1.0, 8.0
    frame.iloc[11] = 6.0, 3.0
    return frame


def names_of(ax) -> list[str]:
    return [text.get_text() for text in ax.texts if isinstance(text, Annotation) and "row" in text.get_text()]


def test_rows_beyond_a_limit_are_marked(rows):
    points = plot_diagnostics_data(rows, LIMITS)
    assert points["beyond"].value_counts().to_dict() == {"": 57, "T2": 1, "Q": 1, "both": 1}
    assert set(points.index[points["labelled"]]) == {"row 7", "row 9", "row 11"}


def test_those_that_exceed_most_are_labelled(rows):
    points = plot_diagnostics_data(rows, LIMITS, labels=1)
    assert points.index[points["labelled"]].tolist() == ["row 9"]  # four times its limit
    assert not plot_diagnostics_data(rows, LIMITS, labels=0)["labelled"].any()


def test_artists_are_the_data(rows):
    ax = plot_diagnostics(rows, LIMITS)
    inside, outside = ax.collections
    np.testing.assert_allclose(outside.get_offsets(), rows.iloc[[7, 9, 11]])
    assert len(inside.get_offsets()) == 57
    assert sorted(names_of(ax)) == ["row 11", "row 7", "row 9"]
    lines = [line.get_xydata() for line in ax.lines]
    assert lines[0][:, 0].tolist() == [5.0, 5.0]
    assert lines[1][:, 1].tolist() == [2.0, 2.0]
    assert [text.get_text() for text in ax.texts].count("95 %") == 2


def test_far_rows_make_an_axis_logarithmic(rows):
    far = rows.copy()
    far.iloc[0, 1] = 500.0
    ax = plot_diagnostics(far, LIMITS)
    assert (ax.get_xscale(), ax.get_yscale()) == ("linear", "log")
    low, high = ax.get_ylim()
    assert low < far["Q"].min()
    assert high > 500
    far.iloc[1, 1] = 0.0  # has no logarithm
    assert plot_diagnostics(far, LIMITS).get_yscale() == "linear"


def test_a_limit_that_is_not_known_is_not_drawn(rows):
    ax = plot_diagnostics(rows, LIMITS.where(LIMITS.index == "T2"))
    assert len(ax.lines) == 1


def test_groups(rows):
    groups = pd.Series(["u", "v", "w"] * 20, index=rows.index, name="kind")
    ax = plot_diagnostics(rows, LIMITS, groups=groups)
    assert len(ax.collections) == 3
    assert [text.get_text() for text in ax.get_legend().get_texts()] == ["u", "v", "w"]


def test_given_axes_are_used_without_pyplot(rows):
    ax = Figure().subplots()
    before = plt.get_fignums()
    assert plot_diagnostics(rows, LIMITS, ax=ax) is ax
    assert plt.get_fignums() == before


def test_refusals(rows):
    with pytest.raises(ShapeError, match="need 'Q'"):
        plot_diagnostics(rows[["T2"]], LIMITS)
    with pytest.raises(ShapeError, match=r"shape \(0, 2\).*a frame with rows"):
        plot_diagnostics(rows.iloc[:0], LIMITS)
    with pytest.raises(OptionError, match="labels=-1"):
        plot_diagnostics(rows, LIMITS, labels=-1)
