"""Scores in panels and over dates, and what every plot of a journal's column width must have room for."""

from __future__ import annotations

import re
import warnings
from itertools import pairwise

import matplotlib.dates
import matplotlib.pyplot as plt
import numpy as np
import pandas as pd
import pytest
from matplotlib.text import Text

import spcastat as sp
from spcastat import plots
from spcastat.plots import drawing
from spcastat.plots.measure_plots import MEASURE_PANELS
from spcastat.plots.ticks import round_numbers
from tests.plots.conftest import note_of

# --- densities ------------------------------------------------------------------------------------


def test_more_than_five_groups_have_one_density(scores):
    for count, densities in ((5, 5), (6, 1)):
        ax = plots.plot_scores(scores, groups=np.arange(len(scores)) % count)
        assert len(ax.child_axes[0].lines) == densities
        assert ("Densities: all rows together." in note_of(ax)) == (densities == 1)


def test_groups_of_fewer_than_five_rows_have_marks_and_no_density(scores):
    """Five rows are the fewest with a density; each row of a smaller group has its mark."""
    groups = np.repeat(["many", "five", "four", "one"], [50, 5, 4, 1])
    ax = plots.plot_scores(scores, components=[1], groups=groups)
    (panel,) = ax.child_axes
    curves = [line for line in panel.lines if len(line.get_xdata()) > 2]
    assert len(curves) == 2
    marks = [len(lines.get_segments()) for lines in panel.collections if hasattr(lines, "get_segments")]
    assert sorted(marks) == [1, 4, 5, 50]


def test_densities_end_at_both_ends_of_their_tails(scores):
    """No curve is cut while it is visibly above zero."""
    groups = np.repeat(["a", "b"], [48, 12])
    for given in (None, groups):
        ax = plots.plot_scores(scores, components=[1], groups=given)
        (panel,) = ax.child_axes
        curves = [line.get_ydata() for line in panel.lines if len(line.get_xdata()) > 2]
        assert len(curves) == (1 if given is None else 2)
        top = max(curve.max() for curve in curves)
        assert all(max(curve[0], curve[-1]) < 0.01 * top for curve in curves)


@pytest.mark.parametrize("k", [2, 3])
def test_narrow_panels_keep_percentages_and_two_numbers(scores, k):
    """In 3.4 x 3 inches percentages stand in a second line, and each axis has two numbers or more."""
    scores = scores.iloc[:, :k] * [4.7 / 3.0, 1.0, 1.0][:k]
    shares = pd.Series(0.1 * np.arange(k, 0, -1), scores.columns)
    figure = plt.figure(figsize=(3.4, 3.0), layout="constrained")
    ax = plots.plot_scores(scores, shares=shares, ax=figure.subplots())
    figure.canvas.draw()
    bottom = [panel for panel in ax.child_axes if panel.get_xlabel()]
    assert len(bottom) == k
    assert all("%" in panel.get_xlabel() for panel in bottom)
    assert all(len(panel.get_xticks()) >= 2 for panel in bottom)
    assert all(len(panel.get_yticks()) >= 2 for panel in ax.child_axes if panel.get_ylabel())


def test_percentages_without_room_in_panels_are_in_the_note():
    scores = pd.DataFrame(np.random.default_rng(0).standard_normal((60, 5)), columns=list("abcde"))
    shares = pd.Series([0.3, 0.2, 0.1, 0.05, 0.04], scores.columns)
    figure = plt.figure(figsize=(3.4, 3.0), layout="constrained")
    ax = plots.plot_scores(scores, shares=shares, ax=figure.subplots())
    assert not any("%" in panel.get_xlabel() for panel in ax.child_axes)
    assert "Share of total variance: 30.0, 20.0, 10.0, 5.0, 4.0 %." in note_of(ax)


# --- over the index -------------------------------------------------------------------------------

DATES = pd.date_range("2020-01-31", periods=60, freq="D", name="day")


@pytest.mark.parametrize("index", [DATES, DATES.to_period("D"), DATES.tz_localize("Europe/Rome")])
def test_scores_of_dated_rows_are_drawn_over_their_dates(scores, index):
    """One panel a component, in the order of the dates, whatever the order of the rows."""
    order = np.random.default_rng(0).permutation(60)
    dated = scores.set_axis(index).iloc[order]
    ax = plots.plot_scores(dated)
    assert len(ax.child_axes) == 3
    for panel, name in zip(ax.child_axes, scores, strict=True):
        (curve,) = (line for line in panel.lines if len(line.get_xdata()) == 60)
        np.testing.assert_array_equal(curve.get_ydata(), scores[name])
        days = matplotlib.dates.date2num(DATES.to_numpy())
        np.testing.assert_allclose(matplotlib.dates.date2num(curve.get_xdata()), days)
    assert ax.child_axes[-1].get_xlabel() == "day"
    pairs = plots.plot_scores(dated, against="components", densities=False)
    assert len(pairs.child_axes) == 3
    assert all(panel.get_title().startswith("r = ") for panel in pairs.child_axes)


def test_other_rows_are_drawn_over_their_numbers_on_demand(scores):
    """Numbers of the index if it has them, else those of the rows; groups colour the marks."""
    halves = scores.set_axis(pd.Index(np.arange(60) / 2, name="depth"))
    for frame, last, label in ((halves, 29.5, "depth"), (scores, 60, "Row")):
        ax = plots.plot_scores(frame, against="index", groups=["a", "b"] * 30)
        panel = ax.child_axes[-1]
        (curve,) = (line for line in panel.lines if len(line.get_xdata()) == 60)
        assert curve.get_xdata()[-1] == last
        assert panel.get_xlabel() == label
        (marks,) = panel.collections
        assert len(marks.get_offsets()) == 60
        assert len(np.unique(marks.get_facecolors(), axis=0)) == 2


# --- a column of a journal ------------------------------------------------------------------------

LONG = [f"Score of the pupil in the test of {word} on the second day" for word in ("sums", "words", "flags")]


def measures() -> pd.DataFrame:
    names = [*MEASURE_PANELS, "nonzeros"]
    return pd.DataFrame(0.5, index=[f"{name}, card=5" for name in LONG], columns=names)


def slopes() -> pd.DataFrame:
    rows = [
        {"group": group, "component": component, "term": term, "p_adjusted": 0.01 * (1 + len(term) % 9)}
        for group in ("men", "women")
        for component in ("PC1", "PC2")
        for term in LONG
    ]
    return pd.DataFrame(rows).assign(loading=0.5, estimate=0.4, std_error=0.1)


def variance() -> pd.DataFrame:
    share = np.array([0.4, 0.2, 0.1])
    columns = {"adjusted variance": 10 * share, "share of total": share, "cumulative PCA": share.cumsum()}
    return pd.DataFrame(columns, index=["PC1", "PC2", "PC3"])


def diagnostics() -> pd.DataFrame:
    values = np.random.default_rng(0).chisquare(2, (80, 2))
    return pd.DataFrame(values, columns=["T2", "Q"], index=["north"] * 40 + ["south"] * 40)


def path() -> pd.DataFrame:
    return pd.DataFrame({"nonzeros": [2, 4, 8], "adjusted": [0.2, 0.4, 0.5], "pca": 0.6})


@pytest.mark.parametrize("k", [1, 2, 3])
def test_panels_of_slopes_share_a_scale_with_numbers_on_both_sides_of_zero(k):
    """Panels do not meet, no slope leaves its own, and the numbers of neighbours do not touch."""
    table = slopes()[lambda frame: frame["component"] == "PC1"].assign(std_error=0.05)
    table["estimate"] *= np.where(table["term"] == LONG[0], -1.0, 1.0)
    table = pd.concat([table.assign(component=f"PC{j + 1}") for j in range(k)])
    figure = plt.figure(figsize=(3.4, 3.0), layout="constrained")
    ax = plots.plot_slopes(table.replace({name: name[-10:] for name in LONG}), ax=figure.subplots())
    figure.canvas.draw()
    minor = [tick.label1 for tick in ax.xaxis.get_minor_ticks()]
    texts = [label.get_text() for label in minor]
    assert texts == texts[: len(texts) // k] * k
    assert texts[0].startswith("−")
    assert "0" in texts
    boxes = [label.get_window_extent() for label in minor]
    assert all(left.x1 < right.x0 for left, right in pairwise(boxes))
    places = np.concatenate([np.concatenate(lines.get_segments())[:, 0] for lines in interval_lines(ax)])
    assert (np.mod(places, 1.0) < 0.88).all()
    assert set(np.floor(places)) == set(range(k))


def test_names_of_many_variables_with_slopes_do_not_touch():
    table = slopes()[lambda frame: frame["term"] == LONG[0]]
    table = pd.concat([table.assign(term=f"item {i}", loading=i / 60) for i in range(1, 31)])
    for size in ((3.4, 3.0), (3.4, 4.5)):
        figure = plt.figure(figsize=size, layout="constrained")
        ax = plots.plot_slopes(table, ax=figure.subplots())
        figure.canvas.draw()
        boxes = [label.get_window_extent() for label in ax.get_yticklabels()]
        assert len(boxes) >= 8
        assert all(upper.y0 > lower.y1 for upper, lower in pairwise(boxes))
        assert "item 30" in {label.get_text() for label in ax.get_yticklabels()}


@pytest.mark.parametrize("size", [(3.4, 3.0), (7.0, 4.0)])
def test_intervals_of_similar_slopes_are_longer_than_their_marks(size):
    """Their scale has no zero, which would be farther away than the slopes are apart."""
    rows = [
        (group, component, f"term {i}", 0.5, 0.57 + 0.1 * j + 0.002 * i + 0.004 * m, 0.008, 0.5)
        for m, group in enumerate("ABCD")
        for j, component in enumerate(["PC1", "PC2"])
        for i in range(5)
    ]
    columns = ["group", "component", "term", "loading", "estimate", "std_error", "p_adjusted"]
    table = pd.DataFrame(rows, columns=columns)
    figure, axes = plt.subplots(figsize=size, layout="constrained")
    ax = plots.plot_slopes(table, ax=axes)
    figure.canvas.draw()
    assert "0" not in {tick.label1.get_text() for tick in ax.xaxis.get_minor_ticks()}
    ends = np.concatenate([np.concatenate(lines.get_segments())[:, 0] for lines in interval_lines(ax)])
    pixels = ax.transData.transform(np.column_stack([ends, ends]))[:, 0]
    lengths = np.diff(pixels.reshape(-1, 2), axis=1) * 72.0 / figure.dpi
    assert lengths.min() > max(line.get_markersize() for line in ax.lines)
    assert "Hidden intervals" not in note_of(ax)
    ax = plots.plot_slopes(table.assign(estimate=table["estimate"] - 0.6))
    assert "0" in {tick.label1.get_text() for tick in ax.xaxis.get_minor_ticks()}


def interval_lines(ax):
    return [lines for lines in ax.collections if lines.get_gid() == "interval"]


LIMITS = pd.Series({"T2": 4.0, "Q": 4.0}, name="0.95")
KEPT = pd.DataFrame({"share": [0.9997, 0.99992, 1.0], "of_pca": 1.0}, index=[1, 2, 3])
DRAWINGS = {
    "compare": lambda ax: plots.plot_compare(measures(), ax=ax),
    "slopes": lambda ax: plots.plot_slopes(slopes(), ax=ax),
    "scree": lambda ax: plots.screeplot(variance(), [4.0, 2.0, 1.5, 1.0] + [0.1] * 16, kind="share", ax=ax),
    "noise": lambda ax: plots.screeplot(None, [4.0, 2.0, 1.0], parallel=[2.0, 1.5, 1.0], ax=ax),
    "diagnostics": lambda ax: plots.plot_diagnostics(diagnostics(), LIMITS, ax=ax),
    "path": lambda ax: plots.plot_path(path(), ax=ax),
    "kept": lambda ax: plots.plot_kept(KEPT, ax=ax),
}


@pytest.mark.parametrize("name", [*DRAWINGS, "scores", "represented"])
@pytest.mark.parametrize("size", [(3.4, 3.0), (7.0, 4.0)])
def test_numbers_at_ticks_have_no_zero_that_says_nothing(name, size, scores):
    """ ".5", "1" and "20", as beside bars of loadings: no "0.5", "1.0" or "20.0"."""
    represented = pd.DataFrame({"R2": [0.9, 0.8, 0.3], "most_by": ["a", "a", "b"]}, index=["c", "d", "e"])
    draw = DRAWINGS | {
        "scores": lambda ax: plots.plot_scores(0.3 * scores, ax=ax),
        "represented": lambda ax: plots.plot_represented(represented, ax=ax),
    }
    figure, axes = plt.subplots(figsize=size, layout="constrained")
    ax = draw[name](axes)
    figure.canvas.draw()
    labels = [
        label.get_text()
        for panel in (ax, *ax.child_axes)
        if panel.axison
        for label in (*panel.get_xticklabels(which="both"), *panel.get_yticklabels(which="both"))
    ]
    assert len(numbers := [text for text in labels if re.fullmatch(r"−?[\d.,]+", text)]) >= 2
    assert not [text for text in numbers if re.match(r"−?0\.", text) or re.search(r"\.\d*0$", text)]


@pytest.mark.parametrize("name", DRAWINGS)
def test_every_text_is_within_a_figure_of_a_column(name):
    """3.4 x 3 inches, with names of 50 characters: no text leaves the figure, none is below 6.5 points."""
    figure = plt.figure(figsize=(3.4, 3.0), layout="constrained")
    with warnings.catch_warnings():
        warnings.simplefilter("error")  # of a layout without room
        DRAWINGS[name](figure.subplots())
        figure.canvas.draw()
    texts = [text for text in figure.findobj(Text) if text.get_visible() and text.get_text().strip()]
    assert len(texts) > 4
    assert min(text.get_fontsize() for text in texts) >= 6.5
    box = figure.get_tightbbox(figure.canvas.get_renderer())  # inches, of everything that is drawn
    assert min(box.x0, box.y0) > -0.01
    assert box.x1 < 3.41
    assert box.y1 < 3.01


def test_new_rows_are_said_to_be_new_and_few_rows_all_have_names():
    wine = sp.datasets.load_wine()
    wine.index = [f"wine {i}" for i in range(len(wine))]
    fit = sp.spca(wine.iloc[8:], 2, card=4, scale=True)
    ax = fit.plot_diagnostics(wine.iloc[:8])
    assert " of 8 new rows (" in note_of(ax)
    (names,) = (child for child in ax.get_children() if child.get_gid() == "names")
    assert {name.text for name in names.names} == {f"wine {i}" for i in range(8)}


def test_rows_whose_labels_repeat_are_named_by_their_number():
    ax = plots.plot_diagnostics(frame := diagnostics(), LIMITS, labels=3)
    (names,) = (child for child in ax.get_children() if child.get_gid() == "names")
    beyond = (frame / [4.0, 4.0]).max(axis=1).to_numpy()
    assert {name.text for name in names.names} == {str(i + 1) for i in np.argsort(-beyond)[:3]}


@pytest.mark.parametrize(("level", "expected"), [(0.95, "10 %"), (0.99, "2 %"), (0.999, "0.2 %")])
def test_a_plot_of_diagnostics_says_how_many_rows_are_beyond_a_limit(level, expected):
    """And how many of a normal distribution would be; limits of a robust fit are those of clean rows."""
    limits = LIMITS.rename(f"{level:g}")
    count = (diagnostics() > 4.0).any(axis=1).sum()
    ax = plots.plot_diagnostics(diagnostics().set_axis(range(80)), limits, labels=0)
    assert f"limits of {100 * level:g} % of new rows. " in (note := note_of(ax))
    share = f"{100 * count / 80:.0f} %; if normal: about {expected}"
    assert note.endswith(f"Beyond one: {count} of 80 rows ({share}).")
    one = plots.plot_diagnostics(diagnostics(), pd.Series({"T2": 4.0, "Q": np.nan}, name="0.95"))
    assert "Beyond it:" in note_of(one)
    assert re.search(r"if normal: about 5 %\)(, \d+ named)?\. Rows are counted from 1\.$", note_of(one))
    wine = sp.datasets.load_wine()
    robust = sp.spca(wine, 2, card=4, scale=True, robust=True)
    assert "of new rows without outlying cells." in note_of(robust.plot_diagnostics())


def test_about_one_normal_row_in_ten_is_beyond_a_limit():
    """What the note says; a fit draws its rows inwards, so that there are rather fewer."""
    rng = np.random.default_rng(0)
    shares = []
    for _ in range(5):
        rows = rng.standard_normal((300, 3)) @ np.repeat(np.eye(3), 4, axis=1)
        rows += 0.7 * rng.standard_normal(rows.shape)
        fit = sp.spca(pd.DataFrame(rows), 3, card=4, effort="quick")
        shares.append((fit.diagnostics() > fit.limits()).any(axis=1).mean())
    assert 0.06 < np.mean(shares) < 0.12


def test_variables_kept_say_how_many_represented_ones_are_shown():
    represented = pd.DataFrame({"R2": [0.9, 0.8, 0.7], "most_by": ["a", "a", "b"]}, index=["c", "d", "e"])
    ax = plots.plot_represented(represented, kept=["a", "b", "f"], max_rows=1)
    words = {ax.get_yticklabels()[round(text.xy[1])].get_text(): text.get_text() for text in ax.texts[:3]}
    assert words == {"a": "1 of 2 shown", "b": "0 of 1 shown", "f": "represents no other"}


def test_the_groups_of_slopes_have_a_title_and_marks_side_by_side():
    table = slopes()
    table.attrs["groups"] = "sex"
    figure = plt.figure(figsize=(3.4, 3.0), layout="constrained")
    ax = plots.plot_slopes(table, ax=figure.subplots())
    figure.canvas.draw()
    assert ax.get_legend().get_title().get_text() == "sex"
    marks = [line for line in ax.lines if line.get_linestyle() == "None"]
    drawing.run_layout(ax)
    pitch = float(drawing.size_of(ax)[1]) / len(ax.get_yticks()) / len(marks)
    assert all(line.get_markersize() <= pitch for line in marks)
    wine = sp.datasets.load_wine()
    found = sp.compare_groups(wine, wine.index.rename("cultivar"), k=1, card=4, scale=True, n_draws=9)
    assert found.plot().get_legend().get_title().get_text() == "cultivar"


def test_coordinates_stand_at_the_labels_of_their_rows():
    column = pd.DataFrame({"PC1": [0.0, 3.0, -2.0, 1.0]})
    for index, first, label in (
        (range(4), 0, "Row"),
        (pd.RangeIndex(7, 11, name="day"), 7, "day"),
        (["a", "b", "c", "d"], 1, "Row, counted from 1"),
        ([4, 2, 9, 1], 1, "Row, counted from 1"),
    ):
        (panel,) = plots.plot_coordinates(column.set_axis(index)).child_axes
        points = np.vstack(
            [marks.get_offsets() for marks in panel.collections if hasattr(marks, "get_sizes")]
        )
        assert sorted(points[:, 0]) == [first, first + 1, first + 2, first + 3]
        assert panel.get_xlabel() == label


def test_coordinates_say_what_is_drawn():
    values = pd.DataFrame({"PC1": [0.0, 3.0, -2.0, 1.0], "PC2": [1.0, 0.0, 0.0, 2.0]})
    groups = pd.Series(["a", "a", "b", "b"], name="site")
    ax = plots.plot_coordinates(values, groups=groups)
    (note,) = [text.get_text() for text in ax.texts]
    assert note == "Sparse principal coordinates of the rows. Grey dots: zeros."
    titles = [panel.get_title() for panel in ax.child_axes]
    assert titles == ["PC1: 3 of 4 rows nonzero", "PC2: 2 of 4 rows nonzero"]
    assert [panel.get_ylabel() for panel in ax.child_axes] == ["", "Coordinate"]
    assert ax.child_axes[0].get_legend().get_title().get_text() == "site"


def test_choices_and_paths_say_that_an_axis_is_logarithmic():
    for largest, is_logarithmic in ((6, False), (400, True)):
        table = pd.DataFrame({"nonzeros": [2, 4, largest], "chosen": [True, False, False], "bic": 1.0})
        table = table.assign(adjusted=0.5, pca=0.9)
        for ax in (plots.plot_choice(table, by="bic"), plots.plot_path(table)):
            assert ax.get_xscale() == ("log" if is_logarithmic else "linear")
            assert ("(logarithmic)" in ax.get_xlabel()) == is_logarithmic
        names = [text.get_text() for text in plots.plot_choice(table, by="bic").get_legend().get_texts()]
        assert names == ["candidates", "chosen"]


def test_what_is_drawn_of_principal_variables_has_a_key():
    held_out = {"held_out": 0.8, "held_out_se": 0.05, "held_out_pca": 0.9}
    ax = plots.plot_kept(KEPT.assign(**held_out), m=1)
    names = {text.get_text() for text in ax.get_legend().get_texts()}
    assert names == {"in the data", "PCA", "held out ± 1 s.e.", "PCA, held out", "kept"}
    assert ax.get_xlim()[0] < 0.85  # the line at 1 is not on the axis
    represented = pd.DataFrame({"R2": [0.9, 0.001], "most_by": "a"}, index=["b", "c"])
    ax = plots.plot_represented(represented, kept=["a"])
    assert ".00" in [text.get_text() for text in ax.texts]
    assert note_of(ax).startswith("Bold: variables kept")
    assert ax.get_xlabel().startswith("R² by")


def test_rows_of_the_largest_coordinates_are_named():
    column = np.array([0.0, 3.0, 0.0, -2.0, 1.0, 0.5])
    names = ["Bern", "Zug", "Uri", "Genf", "Jura", "Wallis"]
    ax = plots.plot_coordinates(pd.DataFrame({"PC1": column}, index=names))
    (texts,) = (child for child in ax.child_axes[0].get_children() if child.get_gid() == "names")
    assert {name.text for name in texts.names} == {"Zug", "Genf", "Jura"}
    ax = plots.plot_coordinates(pd.DataFrame({"PC1": column}))
    assert not [name for child in ax.child_axes[0].get_children() for name in getattr(child, "names", [])]


def test_marks_are_filled_before_the_first_component_within_noise():
    ax = plots.screeplot(None, [5.0, 3.0, 1.0, 0.9], sparse=False, parallel=[2.0, 1.5, 1.2, 0.8])
    assert [text.get_text() for text in ax.get_legend().get_texts()] == [
        "PCA (filled: by parallel analysis)",
        "parallel analysis",
    ]
    (filled,) = (line for line in ax.lines if line.get_linestyle() == "None")
    np.testing.assert_array_equal(filled.get_xydata(), [[1, 5], [2, 3]])


def test_a_path_of_coordinates_is_drawn_over_the_share_of_zeros():
    table = pd.DataFrame({"cpzc": [0.0, 0.5], "cpev": [0.9, 0.8], "fit": [0.9, 0.5], "pca": 0.95})
    ax = plots.plot_path(table, measures=["cpev", "fit"], x="cpzc")
    np.testing.assert_array_equal(ax.lines[0].get_xydata(), [[0, 90], [50, 80]])
    assert [line.get_label() for line in ax.lines][-1] == "dense PCA"


@pytest.mark.parametrize(
    "name", ["biplot", "screeplot", "plot_diagnostics", "plot_correlations", "plot_scores"]
)
def test_labels_and_numbers_of_axes_have_one_size_in_all_plots(name):
    """At most 1.5 points more than names, so that panels of one figure agree."""
    fit = sp.spca(sp.datasets.load_judges(), 2, 3, scale=True, method="greedy")
    ax = getattr(fit, name)()
    panels = [panel for panel in (ax, *ax.child_axes) if panel.axison]
    sizes = {
        text.get_fontsize()
        for panel in panels
        for axis in (panel.xaxis, panel.yaxis)
        for text in (axis.label, *axis.get_ticklabels())
        if text.get_text()
    }
    assert sizes
    assert max(sizes) <= drawing.name_size() + 1.5
    plt.close("all")


# --- numbers and legends at the width of a column ---------------------------------------------------


@pytest.mark.sweep
@pytest.mark.parametrize("width", [3.4, 5.0, 7.0])
@pytest.mark.parametrize("scale", [1.0, 4.0, 250.0])
def test_numbers_of_panels_side_by_side_do_not_touch(scores, width, scale):
    figure = plt.figure(figsize=(width, width), layout="constrained")
    ax = plots.plot_scores(scale * scores, ax=figure.subplots())
    figure.canvas.draw()
    lowest = ax.child_axes[-len(scores.columns) :]
    boxes = [
        label.get_window_extent()
        for panel in lowest
        for label in panel.get_xticklabels()
        if label.get_text() and panel.get_xlim()[0] <= label.get_position()[0] <= panel.get_xlim()[1]
    ]
    assert len(boxes) >= 2 * len(lowest) - (width < 5.0)
    assert not any(a.overlaps(b) for i, a in enumerate(boxes) for b in boxes[:i])


def test_points_of_groups_are_drawn_in_one_mixed_order(scores):
    """No group is behind the others, and each point has the colour and marker of its group."""
    groups = np.repeat(["a", "b", "c"], 20)
    panel = plots.plot_scores(scores, groups=groups, densities=False).child_axes[0]
    (points,) = (one for one in panel.collections if len(one.get_offsets()) == 60)
    order = [int(np.flatnonzero((scores.iloc[:, :2] == xy).all(axis=1))[0]) for xy in points.get_offsets()]
    assert sorted(order) == list(range(60))
    drawn = groups[order]
    assert all(set(drawn[part]) == {"a", "b", "c"} for part in (slice(0, 20), slice(40, 60)))
    for group in "abc":
        colours = points.get_facecolors()[drawn == group]
        paths = [path for path, one in zip(points.get_paths(), drawn, strict=True) if one == group]
        assert len(np.unique(colours, axis=0)) == 1
        assert len({path.vertices.tobytes() for path in paths}) == 1
    assert len(np.unique(points.get_facecolors(), axis=0)) == 3


@pytest.mark.sweep
@pytest.mark.parametrize("size", [(3.4, 3.0), (3.4, 4.5), (6.4, 4.8)])
@pytest.mark.parametrize(
    ("names", "k"), [(["a", "b"], 3), (["build wind non-float", "headlamps"] * 3, 3), ("abcdef", 2)]
)
def test_the_legend_of_scores_covers_no_panel(size, names, k):
    names = [f"{name} {i}" for i, name in enumerate(names)]
    values = np.random.default_rng(0).standard_normal((120, k))
    table = pd.DataFrame(values).add_prefix("PC", axis=1)
    figure = plt.figure(figsize=size, layout="constrained")
    groups = pd.Series(np.resize(names, 120), name="class")
    ax = plots.plot_scores(table, groups=groups, ax=figure.subplots())
    figure.canvas.draw()
    legend = ax.get_legend().get_window_extent()
    assert not any(legend.overlaps(panel.get_window_extent()) for panel in ax.child_axes)
    assert legend.x0 >= figure.bbox.x0
    assert legend.x1 <= figure.bbox.x1 + 1
    assert legend.y1 <= figure.bbox.y1 + 1


@pytest.mark.sweep
@pytest.mark.parametrize("size", [(3.4, 3.0), (3.4, 4.5), (5.0, 4.0), (7.0, 5.0)])
@pytest.mark.parametrize("k", [2, 3, 5])
def test_correlations_of_scores_stand_opposite_their_pairs(size, k):
    """Each in the row of its first component, over the column of the second; they touch nothing."""
    values = np.random.default_rng(0).standard_normal((80, k)) @ np.triu(np.ones((k, k)))
    table = pd.DataFrame(values).add_prefix("PC", axis=1)
    figure = plt.figure(figsize=size, layout="constrained")
    ax = plots.plot_scores(table, groups=["a", "b"] * 40, ax=figure.subplots())
    figure.canvas.draw()
    texts = [text for text in ax.texts if text.get_gid() == "correlation"]
    boxes = [text.get_window_extent() for text in texts]
    panels = [panel.get_window_extent() for panel in ax.child_axes]
    diagonal = [panels[i * (i + 3) // 2] for i in range(k)]
    pairs = [(i, j) for i in range(k) for j in range(i)]
    for text, box, (i, j) in zip(texts, boxes, pairs, strict=True):
        r = np.corrcoef(values[:, i], values[:, j])[0, 1]
        assert text.get_text() == f"r = {r:.2f}".replace("-", "−").replace("0.", ".")
        assert diagonal[i].x0 < (box.x0 + box.x1) / 2 < diagonal[i].x1
        assert diagonal[j].y0 < (box.y0 + box.y1) / 2 < diagonal[j].y1
    assert not any(box.overlaps(other) for a, box in enumerate(boxes) for other in [*boxes[:a], *panels])
    (note,) = (text.get_window_extent() for text in ax.texts if text.get_gid() == "note")
    assert note.x0 >= 0
    assert note.x1 <= figure.bbox.x1
    assert note.y0 >= -1


def test_named_rows_of_diagnostics_are_dark_and_large():
    values = np.random.default_rng(0).chisquare(2, (3000, 2))
    frame = pd.DataFrame(values, columns=["T2", "Q"])
    ax = plots.plot_diagnostics(frame, LIMITS, groups=["north", "south", "west"] * 1000, labels=4)
    (points,) = ax.collections
    dark = points.get_facecolors()[:, 3] == 1.0
    assert dark.sum() == 4
    assert points.get_facecolors()[~dark, 3].max() < 0.5
    assert points.get_sizes()[dark].min() > 1.5 * points.get_sizes()[~dark].max()
    rows = pd.DataFrame(points.get_offsets()[dark], columns=["T2", "Q"])
    assert rows.max(axis=1).min() == pytest.approx(np.sort(frame.max(axis=1))[-4])


@pytest.mark.slow
def test_points_are_smaller_and_paler_in_small_panels():
    """Thousands of rows are no solid blot in panels of half an inch."""
    table = pd.DataFrame(np.random.default_rng(0).standard_normal((2400, 5))).add_prefix("PC", axis=1)
    drawn = []
    for side in (3.0, 9.0):
        figure = plt.figure(figsize=(side, side), layout="constrained")
        (points,) = plots.plot_scores(table, ax=figure.subplots()).child_axes[1].collections
        drawn.append((points.get_sizes()[0], points.get_facecolors()[0, 3]))
    assert drawn[0][0] < 0.6 * drawn[1][0]
    assert drawn[0][1] < 0.7 * drawn[1][1]


def test_the_legend_of_diagnostics_covers_no_row():
    """In axes of the caller it stands above the frame and the name of the vertical limit."""
    values = np.random.default_rng(0).standard_normal((80, 6))
    table = pd.DataFrame(values, columns=list("abcdef"))
    groups = pd.Series(np.repeat(["build wind float", "build wind non-float", "containers", "headlamps"], 20))
    fit = sp.spca(table, 2, card=3)
    figure = plt.figure(figsize=(3.4, 3.0), layout="constrained")
    ax = fit.plot_diagnostics(groups=groups.rename("class"), ax=figure.subplots())
    figure.canvas.draw()
    legend = ax.get_legend().get_window_extent()
    assert legend.y0 >= ax.get_window_extent().y1
    names = [text for text in ax.texts if text.get_text().startswith("95 %")]
    assert names
    assert not any(legend.overlaps(text.get_window_extent()) for text in names)
    assert legend.x0 >= figure.bbox.x0
    assert legend.x1 <= figure.bbox.x1


@pytest.mark.sweep
@pytest.mark.parametrize("k", [3, 5])
def test_numbers_of_many_panels_do_not_touch_in_a_column(k):
    values = np.random.default_rng(1).standard_normal((60, k)) * np.linspace(3.0, 1.0, k)
    table = pd.DataFrame(values).add_prefix("PC", axis=1)
    figure = plt.figure(figsize=(3.4, 3.0), layout="constrained")
    ax = plots.plot_scores(table, ax=figure.subplots())
    figure.canvas.draw()
    boxes = [
        label.get_window_extent()
        for panel in ax.child_axes[-k:]
        for label in panel.get_xticklabels()
        if label.get_text() and panel.get_xlim()[0] <= label.get_position()[0] <= panel.get_xlim()[1]
    ]
    assert len(boxes) >= k
    assert not any(a.overlaps(b) for i, a in enumerate(boxes) for b in boxes[:i])


def test_a_scree_plot_of_a_fit_agrees_with_the_choice_whose_rows_were_shrunk():
    """Marks are filled up to the number that parallel analysis keeps, though its eigenvalues are smaller."""
    rng = np.random.default_rng(3)
    table = pd.DataFrame(rng.standard_normal((60, 6)) + 1.2 * rng.standard_normal((60, 1)))
    table.iloc[0] += [9.0, -9.0, 9.0, -9.0, 9.0, -9.0]
    table = table.add_prefix("x", axis=1)
    choice = sp.choose_k(table, scale=True, rng=1)
    fit = sp.spca(table, 2, card=3, scale=True)
    assert fit.eigenvalues.iloc[1] > 1.2 * choice.spectrum["eigenvalue"].iloc[1]  # the row makes a component
    ax = fit.screeplot(parallel=choice)
    filled = [line for line in ax.lines if line.get_linestyle() == "None"]
    assert sum(len(line.get_xdata()) for line in filled) == choice.parallel
    names = [text.get_text() for text in ax.get_legend().get_texts()]
    assert names == ["dense PCA (filled: by parallel analysis)", "sparse PCA (adjusted)"]  # and no line
    assert "large rows shrunk" in note_of(ax)


def test_round_numbers_are_the_densest_that_have_room():
    assert round_numbers(-0.33, 0.88, lambda numbers: len(numbers) <= 7).tolist() == [
        -0.2,
        0,
        0.2,
        0.4,
        0.6,
        0.8,
    ]
    assert round_numbers(-0.33, 0.88, lambda numbers: len(numbers) <= 3).tolist() == [0, 0.5]
    assert round_numbers(1200.0, 4900.0, lambda numbers: len(numbers) <= 5).tolist() == [2000, 3000, 4000]
    assert not len(round_numbers(0.1, 0.9, lambda numbers: False))


def wide_groups() -> pd.DataFrame:
    rng = np.random.default_rng(0)
    table = pd.DataFrame(rng.standard_normal((200, 30))).add_prefix("variable number ", axis=1)
    table.iloc[:, ::2] += rng.standard_normal((200, 1))
    cells = rng.choice(table.size, 60, replace=False)
    table = table.mask(np.isin(np.arange(table.size).reshape(table.shape), cells), 15.0)
    return table.assign(group=["a", "b"] * 100)


@pytest.mark.parametrize(
    "draw",
    [
        lambda table: sp.compare_groups(table, "group", 2, card=15).plot(),
        lambda table: sp.principal_variables(
            table.drop(columns="group"), m=3, folds=0, n_resamples=0
        ).plot_represented(),
        lambda table: sp.spca(table.drop(columns="group"), 2, 10, robust=True).robust.plot_cells(),
    ],
    ids=["slopes", "represented", "cells"],
)
@pytest.mark.filterwarnings("ignore::spcastat.errors.DataWarning")
def test_names_of_rows_have_room_in_a_figure_whose_size_a_style_sets(draw):
    with plt.rc_context({"figure.figsize": (3.4, 3.0)}):
        ax = draw(wide_groups())
    ax.figure.canvas.draw()
    assert ax.figure.get_size_inches().tolist() == [3.4, 3.0]
    boxes = [label.get_window_extent() for label in ax.get_yticklabels() if label.get_text()]
    assert len(boxes) > 3
    assert min(label.get_fontsize() for label in ax.get_yticklabels()) >= 6
    lines = sorted((box.y0, box.y1) for box in boxes)
    # the box of a text is higher than its letters
    assert all(high - following <= 0.1 * (high - low) for (low, high), (following, _) in pairwise(lines))


def test_a_map_whose_rows_are_all_left_out_has_no_line_between_rows():
    table = wide_groups().drop(columns="group")
    table.iloc[:15] += 40.0
    ax = sp.spca(table, 2, 10, robust=True).robust.plot_cells(rows=5)
    texts = " ".join(text.get_text() for text in ax.figure.findobj(Text)).replace("\n", " ")
    assert "All rows shown are left out." in texts
    assert "above the line" not in texts


def test_the_plot_of_a_number_says_why_a_component_below_the_noise_line_counts():
    """A general factor masks the others in parallel analysis, which does not remove it."""
    choice = sp.choose_k(sp.datasets.load_harman74(), n_obs=145)
    assert choice.k > choice.parallel
    ax = choice.plot()
    texts = " ".join(text.get_text() for text in ax.figure.findobj(Text)).replace("\n", " ")
    assert "removes the earlier components; parallel analysis does not" in texts


@pytest.mark.parametrize("count", [2, 3, 8])
def test_the_slopes_of_a_row_are_nearer_to_one_another_than_to_those_of_the_next(count):
    groups = [f"group {i}" for i in range(count)]
    slopes = pd.DataFrame(
        [(group, "PC1", term, 0.5, 1.0, 0.1, 0.5) for group in groups for term in "abc"],
        columns=["group", "component", "term", "loading", "estimate", "std_error", "p_adjusted"],
    )
    ax = plots.plot_slopes(slopes)
    marks = np.sort([y for line in ax.lines if line.get_marker() != "None" for y in line.get_ydata()])
    rows = marks.reshape(3, count)
    assert np.diff(rows, axis=1).max() < 0.75 * (rows[1:, 0] - rows[:-1, -1]).min()
    np.testing.assert_allclose(rows.mean(axis=1), [0, 1, 2], atol=1e-9)


def test_a_path_over_a_wide_range_has_a_logarithmic_axis():
    table = pd.DataFrame({"nonzeros": [2, 20, 200, 6000], "adjusted": [0.1, 0.2, 0.3, 0.4], "pca": 0.5})
    ax = plots.plot_path(table)
    assert ax.get_xscale() == "log"
    assert [text.get_text() for text in ax.get_xticklabels()] == ["2", "20", "200", "6000"]
    assert plots.plot_path(table.iloc[:2]).get_xscale() == "linear"


def test_a_single_number_of_principal_variables_is_drawn_as_bars():
    kept = sp.principal_variables(sp.datasets.load_judges(), m=3, k=2)
    row = kept.path.iloc[:1]
    data = plots.plot_kept_data(row)
    ax = plots.plot_kept(row)
    widths = [bar.get_width() for bar in ax.patches]
    np.testing.assert_allclose(widths, data.drop(columns="s.e.", errors="ignore").iloc[0])
    assert ax.get_xlim() == (0, 100)
    assert "2 variables kept" in ax.get_xlabel()


def test_many_variables_kept_have_legible_names_in_a_small_figure():
    """Of 150 variables kept those are named that represent one of the variables drawn."""
    represented = pd.DataFrame(
        {"R2": np.linspace(0.9, 0.1, 300), "most_by": [f"kept {i % 150}" for i in range(300)]},
        index=[f"v{i}" for i in range(300)],
    )
    ax = plt.figure(figsize=(3.4, 3.0), layout="constrained").subplots()
    plots.plot_represented(represented, kept=[f"kept {i}" for i in range(150)], max_rows=None, ax=ax)
    ax.figure.canvas.draw()
    assert min(label.get_fontsize() for label in ax.get_yticklabels()) >= 6.5
    assert len(ax.get_yticklabels()) >= 6
    assert "not shown" in ax.get_xlabel()


def test_cells_of_a_map_have_the_colours_of_its_legend():
    table = wide_groups().drop(columns="group")
    fit = sp.spca(table, k=2, card=4, scale=True, robust="cells")
    ax = fit.robust.plot_cells()
    keys = {tuple(np.round(handle.get_facecolor(), 3)) for handle in ax.get_legend().legend_handles}
    ax.figure.canvas.draw()
    cells = {tuple(np.round(colour, 3)) for colour in ax.collections[0].get_facecolors()}
    usual = {colour for colour in cells if min(colour[:3]) > 0.9}
    assert len(usual) <= 1
    assert cells - usual <= keys


def test_long_names_of_components_are_turned_or_distinct():
    names = ["Extraversion at home", "Extraversion at work", "Openness"]
    variance = pd.DataFrame(
        {"adjusted variance": [3.0, 2.0, 1.0], "share of total": [0.3, 0.2, 0.1]}, index=names
    ).assign(**{"cumulative PCA": [0.4, 0.7, 0.9]})
    ax = plt.figure(figsize=(3.4, 3.0), layout="constrained").subplots()
    plots.screeplot(variance, ax=ax)
    ax.figure.canvas.draw()
    labels = ax.get_xticklabels()
    assert len({label.get_text() for label in labels}) == 3
    boxes = [label.get_window_extent() for label in labels]
    is_turned = labels[0].get_rotation() > 0
    assert is_turned or not any(a.overlaps(b) for a, b in pairwise(boxes))
