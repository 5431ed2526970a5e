from __future__ import annotations

import itertools

import matplotlib.pyplot as plt
import numpy as np
import pandas as pd
import pytest
from matplotlib.figure import Figure

from spcastat.errors import ComponentsError, DataError, OptionError, ShapeError
from spcastat.plots.loadings_plot import FILL, plot_loadings, plot_loadings_data


def test_data_keep_nonzero_rows_in_order(loadings):
    data = plot_loadings_data(loadings, sort=False)
    assert data.attrs["labels"] == list(data.index)
    pd.testing.assert_frame_equal(data, loadings[(loadings != 0).any(axis=1)])
    chosen = plot_loadings_data(loadings, components=[3, "PC1"])
    assert list(chosen.columns) == ["PC3", "PC1"]
    assert (chosen != 0).any(axis=1).all()


def test_variables_of_a_component_are_together_the_largest_first():
    values = [[0.0, 0.6, 0.0], [0.5, 0.0, 0.0], [0.0, -0.8, 0.1], [-0.9, 0.0, 0.0], [0.0, 0.0, 1.0]]
    loadings = pd.DataFrame(values, index=list("abcde"), columns=["PC1", "PC2", "PC3"])
    assert list(plot_loadings_data(loadings).index) == ["d", "b", "c", "a", "e"]
    assert list(plot_loadings_data(loadings, kind="heatmap").index) == ["d", "b", "c", "a", "e"]
    assert list(plot_loadings_data(loadings, sort=False).index) == list("abcde")


def test_many_columns_named_by_increasing_numbers_are_a_line(make_loadings):
    spectrum = make_loadings(p=120).set_axis([f"{900 + 2 * i} nm" for i in range(120)])
    assert len(plot_loadings(spectrum).child_axes) == 3  # one panel a component
    assert len(plot_loadings_data(spectrum)) == 120
    assert not plot_loadings(make_loadings(p=120)).child_axes  # names without an order
    assert not plot_loadings(spectrum, kind="dots").child_axes
    plt.close("all")


def test_dots_are_the_data(loadings):
    ax = plot_loadings(loadings)
    data = plot_loadings_data(loadings)
    (dots,) = (c for c in ax.collections if len(c.get_offsets()) > 1)
    rows, columns = np.nonzero(data.to_numpy())
    values = data.to_numpy()[rows, columns]
    expected = np.stack([columns + FILL * values / np.abs(data.to_numpy()).max(), rows], axis=1)
    np.testing.assert_allclose(dots.get_offsets(), expected)
    assert [text.get_text() for text in ax.get_yticklabels()] == list(data.index)
    assert ax.yaxis_inverted()
    assert [text.get_text() for text in ax.get_xticklabels()] == list(data.columns)


def test_value_ticks_mark_values(loadings):
    ax = plot_loadings(loadings)
    largest = np.abs(loadings.to_numpy()).max()
    places = ax.get_xticks(minor=True)
    texts = [text.get_text().replace("−", "-") for text in ax.get_xticklabels(minor=True)]
    bands = np.round(places)
    np.testing.assert_allclose((places - bands) / FILL * largest, [float(text) for text in texts])


def test_heat_map_is_the_data_and_prints_it(loadings):
    loadings.iloc[0, 0] = 1e-5
    ax = plot_loadings(loadings, kind="heatmap")
    data = plot_loadings_data(loadings).to_numpy()
    image = ax.images[0].get_array()
    np.testing.assert_array_equal(np.ma.getmaskarray(image), data == 0)
    np.testing.assert_array_equal(image.filled(0), data)
    low, high = ax.images[0].get_clim()
    assert -low == high == np.abs(data).max()
    assert len(ax.texts) == np.count_nonzero(data)
    assert "<.01" in {text.get_text() for text in ax.texts}


def test_values_that_do_not_fit_are_not_printed(make_loadings):
    ax = plot_loadings(make_loadings(40, 12, 10), kind="heatmap", ax=Figure(figsize=(4, 3)).subplots())
    assert not ax.texts


@pytest.mark.parametrize("kind", ["dots", "heatmap"])
def test_many_variables(make_loadings, kind):
    loadings = make_loadings(2000, 3, 50)
    ax = plot_loadings(loadings, kind=kind)
    assert len(ax.get_yticks()) == 40
    loaded = int((loadings != 0).any(axis=1).sum())
    assert f"40 of {loaded} variables" in ax.get_xlabel()
    data = plot_loadings_data(loadings)
    for name in loadings:
        assert set(loadings[name].abs().nlargest(12).index) <= set(data.index)


@pytest.mark.parametrize("kind", ["dots", "heatmap"])
@pytest.mark.parametrize(("p", "k"), [(3, 1), (13, 6), (60, 2), (30, 15)])
def test_nothing_is_clipped_or_overlaps(make_loadings, kind, p, k):
    loadings = make_loadings(p, k, min(p, 20)).rename("{} with $a_long$ name".format)
    ax = plot_loadings(loadings, kind=kind)
    figure = ax.figure
    figure.canvas.draw()
    page = figure.bbox
    for ticks in (ax.get_yticklabels(), ax.get_xticklabels(), ax.get_xticklabels(minor=True)):
        boxes = [text.get_window_extent() for text in ticks]
        assert not any(a.overlaps(b) for a, b in itertools.pairwise(boxes))
        assert all(page.x0 <= box.x0 and box.x1 <= page.x1 for box in boxes)
    label = ax.xaxis.label.get_window_extent()
    assert page.x0 <= label.x0
    assert label.x1 <= page.x1
    assert label.y0 >= page.y0


@pytest.mark.parametrize("kind", ["dots", "heatmap"])
def test_given_axes_are_used_without_pyplot(loadings, kind):
    ax = Figure().subplots()
    before = plt.get_fignums()
    assert plot_loadings(loadings, kind=kind, ax=ax) is ax
    assert plt.get_fignums() == before


@pytest.mark.parametrize(
    ("options", "error", "message"),
    [
        ({"kind": "dot"}, OptionError, "Did you mean 'dots'"),
        ({"max_rows": 0}, OptionError, "max_rows=0"),
        ({"components": [0]}, ComponentsError, "component 0"),
        ({"components": []}, ComponentsError, "one or more"),
    ],
)
def test_refusals(loadings, options, error, message):
    with pytest.raises(error, match=message):
        plot_loadings(loadings, **options)


def test_frames_that_cannot_be_drawn(loadings):
    with pytest.raises(DataError, match="All loadings are zero"):
        plot_loadings(loadings * 0)
    with pytest.raises(DataError, match="39 loadings are missing"):
        plot_loadings(loadings * np.nan)
    with pytest.raises(ShapeError, match="ndarray"):
        plot_loadings(loadings.to_numpy())
