"""Loadings by sections, with intervals, over the columns, and as images."""

from __future__ import annotations

import matplotlib.pyplot as plt
import numpy as np
import pandas as pd
import pytest
from matplotlib.collections import LineCollection

from spcastat.errors import DataError, OptionError, ShapeError
from spcastat.plots.loadings_plot import column_places, plot_loadings, plot_loadings_data

KINDS = ["soil", "air"]


@pytest.fixture
def sections(loadings) -> dict[str, str]:
    return {name: KINDS[i % 2] for i, name in enumerate(loadings.index)}


def test_variables_of_a_section_stand_together(loadings, sections):
    data = plot_loadings_data(loadings, sections=sections)
    found = [sections[name] for name in data.index]
    assert found == sorted(found, key=KINDS.index)  # sections in the order of their first member
    ordered = pd.Categorical([sections[name] for name in loadings.index], ["air", "soil"])
    data = plot_loadings_data(loadings, sections=ordered)
    assert [sections[name] for name in data.index] == sorted(found)
    ax = plot_loadings(loadings, sections=sections)
    heads = [text for text in ax.texts if text.get_gid() == "group"]
    assert [text.get_text() for text in heads] == KINDS


def test_intervals_are_drawn_where_they_are(loadings):
    frame = loadings.stack().rename_axis(["term", "component"]).rename("estimate").reset_index()
    frame = frame[frame["estimate"] != 0].assign(
        lower=lambda t: t["estimate"] - 0.3, upper=lambda t: t["estimate"] + 0.2
    )
    ax = plot_loadings(loadings, intervals=frame)
    drawn = [c for c in ax.collections if isinstance(c, LineCollection) and c.get_gid() == "interval"]
    assert len(drawn) == len(frame)
    data = plot_loadings_data(loadings)
    largest = max(frame["upper"].max(), -frame["lower"].min())
    for line in drawn:
        (start, row), (end, _) = line.get_segments()[0]
        j = round((start + end) / 2)
        part = frame[(frame["term"] == data.index[int(row)]) & (frame["component"] == data.columns[j])]
        assert (start - j) * largest / 0.42 == pytest.approx(part["lower"].item())
        assert (end - j) * largest / 0.42 == pytest.approx(part["upper"].item())


def test_images_are_the_loadings_pixel_by_pixel():
    values = np.zeros((12, 2))
    values[[0, 5], 0], values[11, 1] = [0.6, -0.8], 1.0
    frame = pd.DataFrame(values, columns=["PC1", "PC2"])
    ax = plot_loadings(frame, kind="image", shape=(3, 4))
    for j, panel in enumerate(ax.child_axes):
        shown = np.ma.filled(panel.images[0].get_array(), 0.0)
        np.testing.assert_array_equal(shown, values[:, j].reshape(3, 4))
        assert panel.images[0].get_clim() == (-1.0, 1.0)


def test_lines_stand_over_the_columns_and_leave_gaps_at_zeros():
    values = np.zeros((6, 1))
    values[1:4, 0] = [0.2, 0.5, 0.3]
    frame = pd.DataFrame(values, columns=["PC1"], index=[f"{w} nm" for w in range(400, 460, 10)])
    (panel,) = plot_loadings(frame, kind="line").child_axes
    curve = panel.lines[1]
    np.testing.assert_array_equal(curve.get_xdata(), range(400, 460, 10))
    np.testing.assert_array_equal(curve.get_ydata(), [np.nan, 0.2, 0.5, 0.3, np.nan, np.nan])
    assert panel.get_xlabel() == "nm"


@pytest.mark.parametrize(
    ("names", "places", "what"),
    [
        (["1.5", "2", "4e2"], [1.5, 2, 400], ""),
        ([3, 2, 1], [3, 2, 1], ""),
        (["10 s", "20 min", "30 s"], [1, 2, 3], ""),
        (["x1", "x2", "x3"], [1, 2, 3], ""),
        (["1", "3", "2"], [1, 2, 3], ""),
    ],
)
def test_names_that_are_numbers_are_places(names, places, what):
    found = column_places(names)
    np.testing.assert_array_equal(found[0], places)
    assert found[1] == what


def test_every_kind_is_readable_on_dark_paper(loadings, sections):
    with plt.style.context("dark_background"):
        ax = plot_loadings(loadings, sections=sections)
        texts = [text for text in ax.texts if text.get_gid() == "group"]
        assert all(np.mean(text.get_color()) > 0.8 for text in texts)


@pytest.mark.parametrize(
    ("options", "error", "message"),
    [
        ({"kind": "image"}, OptionError, "needs the height and width"),
        ({"kind": "dots", "shape": (2, 2)}, OptionError, "no other kind"),
        ({"kind": "image", "shape": (5, 5)}, ShapeError, "height x width = 13"),
        ({"kind": "image", "shape": 13}, ShapeError, "height x width = 13"),
        ({"kind": "line", "sections": ["a"] * 13}, OptionError, "go with kind='dots'"),
        ({"sections": ["a"] * 12}, ShapeError, "sections has 12 values; there are 13"),
        ({"sections": {"nothing": "a"}}, ShapeError, "none of the variables"),
        ({"intervals": pd.DataFrame({"term": []})}, ShapeError, "lacks the columns"),
        ({"kind": "lines"}, OptionError, "Did you mean 'line'"),
    ],
)
def test_refusals(loadings, options, error, message):
    with pytest.raises(error, match=message):
        plot_loadings(loadings, **options)


def test_intervals_that_are_none(loadings):
    one = pd.DataFrame({"component": ["PC1"], "term": ["variable 1"], "lower": [0.5], "upper": [0.1]})
    with pytest.raises(DataError, match="lower one not above"):
        plot_loadings(loadings, intervals=one)
    with pytest.raises(ShapeError, match="none of the variables"):
        plot_loadings(loadings, intervals=one.assign(term="x", upper=0.7))
