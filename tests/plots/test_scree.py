"""Scree plots, paths, and diagnostics of rows."""

from __future__ import annotations

import matplotlib.pyplot as plt
import numpy as np
import pandas as pd
import pytest

import spcastat as sp
from spcastat.errors import OptionError
from spcastat.plots.measure_plots import plot_path, plot_path_data, screeplot, screeplot_data
from spcastat.plots.names import Names
from spcastat.plots.score_plots import plot_diagnostics, plot_diagnostics_data
from tests.plots.conftest import note_of

# --- scree ----------------------------------------------------------------------------------------


@pytest.fixture
def variance() -> pd.DataFrame:
    adjusted = np.array([3.0, 2.0, 0.0])
    return pd.DataFrame(
        {
            "adjusted variance": adjusted,
            "share of total": adjusted / 8,
            "cumulative PCA": np.array([4.0, 6.0, 7.0]) / 8,
        },
        index=["PC1", "PC2", "PC3"],
    )


def test_artists_are_the_data(variance):
    ax = screeplot(variance)
    assert [bar.get_height() for bar in ax.patches] == [3, 2, 0]
    np.testing.assert_allclose(ax.lines[0].get_ydata(), [4, 2, 1])
    assert ax.get_xlabel() == "Component"
    named = screeplot(variance.set_axis(["size", "shape", "PC3"]))
    assert [text.get_text() for text in named.get_xticklabels()] == ["size", "shape", "PC3"]


@pytest.mark.parametrize(("p", "width"), [(9, 3.4), (12, 3.4), (25, 3.4), (30, 8.0), (100, 5.0)])
def test_numbers_of_components_begin_with_one_and_no_mark_is_cut_off(p, width):
    spectrum = np.linspace(3.0, 0.0, p)
    table = measures_table(spectrum)
    ax = screeplot(table, spectrum, ax=plt.figure(figsize=(width, 3.0), layout="constrained").subplots())
    ax.figure.canvas.draw()
    low, high = ax.get_xlim()
    ticks = [tick for tick in ax.get_xticks() if low <= tick <= high]
    assert ticks[0] == 1
    assert all(tick == round(tick) for tick in ticks)
    assert len(ticks) >= 3
    pixels = ax.figure.dpi / 72
    radius = 0.5 * (ax.lines[0].get_markersize() + ax.lines[0].get_markeredgewidth()) * pixels
    lowest = ax.transData.transform((p, 0.0))[1]
    assert lowest == pytest.approx(ax.get_window_extent().y0)  # zero is on the axis
    assert not ax.lines[0].get_clip_on()
    assert lowest - radius >= 0.0


def measures_table(spectrum: np.ndarray) -> pd.DataFrame:
    """The variances of a fit of two components that are those of PCA."""
    shares = spectrum[:2] / spectrum.sum()
    columns = {"adjusted variance": spectrum[:2], "share of total": shares}
    columns["cumulative PCA"] = np.cumsum(shares)
    return pd.DataFrame(columns, index=["PC1", "PC2"])


def test_the_legend_covers_no_bar(variance):
    flat = pd.concat([variance.iloc[:1]] * 8).set_axis([f"PC{i}" for i in range(8)])
    flat["cumulative PCA"] = 0.5 * np.arange(1, 9)
    ax = screeplot(flat)
    ax.figure.canvas.draw()
    legend = ax.get_legend().get_window_extent()
    assert not any(legend.overlaps(bar.get_window_extent()) for bar in ax.patches)


def test_the_whole_spectrum_in_variances_shares_and_added_up(variance):
    spectrum = [4.0, 2.0, 1.0, 0.6, 0.4]
    np.testing.assert_allclose(screeplot_data(variance, spectrum)["dense"], spectrum)
    share = screeplot_data(variance, spectrum, kind="share")
    np.testing.assert_allclose(share["dense"], np.array(spectrum) / 8)
    summed = screeplot_data(variance, spectrum, kind="cumulative")
    assert summed["dense"].iloc[-1] == pytest.approx(1)
    np.testing.assert_allclose(summed["sparse"].iloc[:3], [3 / 8, 5 / 8, 5 / 8])
    assert summed["sparse"].iloc[3:].isna().all()
    ax = screeplot(variance, spectrum, kind="cumulative")
    np.testing.assert_allclose(ax.lines[0].get_ydata(), 100 * summed["dense"])
    assert len(screeplot_data(variance, spectrum, max_components=1)) == 3  # never fewer than were fitted


def test_the_line_of_parallel_analysis(variance):
    ax = screeplot(variance, [4.0, 2.0, 1.0, 0.6, 0.4], kind="share", parallel=[1.6, 1.2])
    line = next(line for line in ax.lines if line.get_label().startswith("parallel analysis"))
    np.testing.assert_allclose(line.get_ydata()[:2], [20.0, 15.0])


def test_a_single_threshold_is_visible(variance):
    """A line of one point has no length."""
    line = next(
        line
        for line in screeplot(variance, [4.0, 2.0, 1.0, 0.6], parallel=[1.6]).lines
        if line.get_label() == "parallel analysis (first 1)"
    )
    assert line.get_marker() == "_"


def test_the_legend_names_what_was_fitted():
    """A fit of PCA is not a sparse one, and has no second PCA beside it."""
    R = sp.datasets.load_pitprops()
    texts = {}
    for name, options in {"pca": {"method": "pca"}, "sparse": {"card": 5}}.items():
        ax = sp.spca_cov(R, 3, **options).screeplot()
        texts[name] = [text.get_text() for text in ax.get_legend().get_texts()]
    assert sorted(texts["pca"]) == ["PCA", "PCA, further components"]
    assert sorted(texts["sparse"]) == ["dense PCA", "sparse PCA (adjusted)"]


def test_shares_are_written_beside_what_is_drawn(fit):
    """As percentages: those of sparse components at the feet of the bars, those of PCA above bars."""
    ax = fit.screeplot(kind="share")
    data = 100 * screeplot_data(fit.variance, fit.eigenvalues, kind="share")
    written = [text.get_text() for text in ax.texts if text.get_gid() != "note"]
    sparse = [f"{share:.1f}" for share in data["sparse"].dropna()]
    dense = [f"{share:.1f}" for share in data["dense"][~(data["sparse"] > data["dense"])]]
    assert sorted(written) == sorted(sparse + dense)
    assert {text.get_gid() for text in fit.screeplot(kind="variance").texts} == {"note"}


def test_shares_without_room_are_in_the_note():
    """All those of the fitted components, sparse and dense, if one of them has no room in the plot."""
    spectrum = 84.0 * 0.3 ** np.arange(12)
    adjusted = np.array([0.4, 0.05, 0.03]) * 84.0
    columns = {"adjusted variance": adjusted, "share of total": adjusted / spectrum.sum()}
    table = pd.DataFrame({**columns, "cumulative PCA": np.cumsum(spectrum[:3]) / spectrum.sum()})
    axes = plt.figure(figsize=(3.4, 3.0), layout="constrained").subplots()
    ax = screeplot(table.set_axis(["PC1", "PC2", "PC3"]), spectrum, kind="share", ax=axes)
    assert "%: sparse 28.0, 3.5, 2.1; dense 70.0, 21.0, 6.3." in note_of(ax)


@pytest.mark.parametrize("size", [(3.4, 3.0), (3.4, 4.5), (6.4, 4.8)])
def test_no_percentage_is_on_the_line_of_parallel_analysis(variance, size):
    spectrum = [4.0, 2.0, 1.0, 0.6, 0.4]
    for noise in ([1.6, 1.4, 1.3, 1.2, 1.1], [0.9, 0.8, 0.7, 0.65, 0.6]):
        axes = plt.figure(figsize=size, layout="constrained").subplots()
        ax = screeplot(variance, spectrum, kind="share", parallel=noise, ax=axes)
        ax.figure.canvas.draw()
        line = next(line for line in ax.lines if line.get_label().startswith("parallel analysis"))
        path = line.get_transform().transform_path(line.get_path())
        assert len(ax.texts) >= 4
        assert not any(path.intersects_bbox(text.get_window_extent(), filled=False) for text in ax.texts)


@pytest.mark.sweep
@pytest.mark.parametrize("kind", ["variance", "share", "cumulative"])
@pytest.mark.parametrize("k", [2, 4, 7])
def test_the_legend_of_a_scree_plot_covers_no_mark(kind, k):
    """At the upper right if the curve is below it there, else above the axes."""
    for power in (0.1, 1.0, 3.0):
        spectrum = np.arange(1, 8) ** -power
        table = measures_table(spectrum) if k == 2 else None
        axes = plt.figure(figsize=(3.4, 3.0), layout="constrained").subplots()
        noise = np.full(k, 0.6 * spectrum[0])
        parallel = None if kind == "cumulative" else noise
        ax = screeplot(table, spectrum, kind=kind, parallel=parallel, ax=axes)
        ax.figure.canvas.draw()
        legend = ax.get_legend().get_window_extent()
        curves = [line.get_transform().transform_path(line.get_path()) for line in ax.lines]
        assert not any(curve.intersects_bbox(legend, filled=False) for curve in curves)
        assert not any(legend.overlaps(bar.get_window_extent()) for bar in ax.patches)


def test_the_line_of_an_analysis_that_was_run(pitprops):
    choice = sp.choose_k(pitprops, scale=True, n_draws=49, rng=0)
    fit = sp.spca(pitprops, k=3, card=4, scale=True, method="greedy")
    noise = choice.table["noise"].to_numpy()
    assert (fit.eigenvalues.to_numpy()[: len(noise)] > noise).sum() == choice.parallel
    (drawn,) = (
        one for one in fit.screeplot(parallel=choice).lines if one.get_label().startswith("parallel analysis")
    )
    np.testing.assert_array_equal(drawn.get_ydata()[: len(noise)], noise)
    with pytest.raises(OptionError, match="based on other data, or another scale"):
        sp.spca(2 * pitprops, k=3, card=4, method="greedy").screeplot(parallel=choice)


def test_the_line_of_a_choice(pitprops):
    chosen = {"scale": True, "cards": [3, 6], "by": "bic", "rng": 0}
    choice = sp.choose(pitprops, **chosen)
    lines = choice.fit.screeplot(parallel=choice).lines
    (drawn,) = (one for one in lines if one.get_label().startswith("parallel analysis"))
    noise = choice.k_choice.table["noise"]
    np.testing.assert_array_equal(drawn.get_ydata()[: len(noise)], noise)
    without = sp.choose(pitprops, k=2, **chosen)
    with pytest.raises(OptionError, match="no parallel analysis was run"):
        without.fit.screeplot(parallel=without)


# --- path -----------------------------------------------------------------------------------------


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


def test_correlations_of_scores_are_no_percentages(table):
    """Alone on an axis of correlations; beside shares in %, times 100 by name."""
    table["score_correlation"] = [0.1, 0.2, 0.3]
    alone = plot_path(table, measures="score_correlation")
    np.testing.assert_allclose(alone.lines[0].get_ydata(), [0.1, 0.2, 0.3])
    assert alone.get_ylabel() == "Largest |r| of two scores"
    mixed = plot_path(table, measures=["pev", "score_correlation"])
    np.testing.assert_allclose(mixed.lines[1].get_ydata(), [10, 20, 30])
    assert [text.get_text() for text in mixed.get_legend().get_texts()][1].endswith("× 100")


def test_a_path_draws_what_its_search_maximised():
    R = sp.datasets.load_pitprops()
    path = sp.spca_path(R, 2, cards=[2, 4], covariance=True, method="joint", objective="pev")
    assert path.plot().get_lines()[0].get_label() == "PEV"
    curve = sp.spca_path(R, 2, cards=[2, 4], covariance=True).plot().get_lines()[0]
    assert "djusted" in curve.get_label()


# --- diagnostics ----------------------------------------------------------------------------------

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


def test_rows_beyond_a_limit_are_marked(rows):
    points = plot_diagnostics_data(rows, LIMITS)
    assert points["beyond"].value_counts().to_dict() == {"": 57, "T2": 1, "Q": 1, "both": 1}
    assert set(points.index[points["labelled"]]) == {"row 7", "row 9", "row 11"}


def test_artists_are_the_data_of_diagnostics(rows):
    ax = plot_diagnostics(rows, LIMITS)
    (points,) = ax.collections
    outside = points.get_facecolors()[:, 3] == 1.0
    drawn = pd.DataFrame(points.get_offsets()[outside]).sort_values(0, ascending=False)
    np.testing.assert_allclose(drawn, rows.iloc[[7, 11, 9]])
    assert len(points.get_offsets()) == 60
    assert [text.get_text() for text in ax.get_legend().get_texts()] == [
        "within the limits",
        "beyond a limit",
    ]
    (names,) = (child for child in ax.get_children() if isinstance(child, Names))
    assert sorted(name.text for name in names.names) == ["row 11", "row 7", "row 9"]
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


@pytest.mark.parametrize("size", [(3.4, 3.0), (6.4, 4.8)])
def test_the_legend_of_a_path_or_a_choice_covers_no_line(size):
    """It stands above the axes and within the figure."""
    table = sp.datasets.load_judges()
    path = sp.spca_path(table, 2, scale=True)
    choice = sp.choose(table, k=2, scale=True, rng=0)
    for draw in (lambda ax: path.plot(measures=["adjusted", "pev", "score_correlation"], ax=ax), choice.plot):
        figure = plt.figure(figsize=size, layout="constrained")
        axes = figure.subplots()
        draw(ax=axes)
        figure.canvas.draw()
        legend = axes.get_legend().get_window_extent()
        assert legend.y0 >= axes.get_window_extent().y1 - 1
        assert legend.x0 >= figure.bbox.x0
        assert legend.x1 <= figure.bbox.x1
        assert legend.y1 <= figure.bbox.y1


@pytest.mark.sweep
@pytest.mark.parametrize("size", [(3.4, 3.0), (3.4, 4.5), (5.0, 4.0), (7.0, 5.0)])
@pytest.mark.parametrize("largest", [84.0, 30.0])
def test_percentages_touch_neither_each_other_nor_the_line(size, largest):
    """A bar of a component whose line is at its bottom has none."""
    spectrum = largest * 0.3 ** np.arange(12)
    adjusted = np.array([0.4 * largest, 0.05 * largest, 0.11 * largest])
    columns = {"adjusted variance": adjusted, "share of total": adjusted / spectrum.sum()}
    table = pd.DataFrame({**columns, "cumulative PCA": np.cumsum(spectrum[:3]) / spectrum.sum()})
    axes = plt.figure(figsize=size, layout="constrained").subplots()
    ax = screeplot(table.set_axis(["PC1", "PC2", "PC3"]), spectrum, kind="share", ax=axes)
    ax.figure.canvas.draw()
    boxes = [text.get_window_extent() for text in ax.texts]
    assert len(boxes) >= 2
    assert not any(box.overlaps(other) for i, box in enumerate(boxes) for other in boxes[:i])
    line = next(one for one in ax.lines if one.get_label() == "dense PCA")
    curve = line.get_transform().transform_path(line.get_path())
    assert not any(curve.intersects_bbox(box.padded(-1), filled=False) for box in boxes)


@pytest.mark.parametrize("kind", ["variance", "share"])
@pytest.mark.parametrize("chosen", [0, 2, 5])
def test_the_chosen_number_is_marked(kind, chosen):
    """A line follows the last component chosen; marks of those chosen are filled, whatever exceeds noise."""
    spectrum = [4.0, 2.0, 1.0, 0.6, 0.4, 0.2]
    ax = screeplot(None, spectrum, kind=kind, sparse=False, parallel=[1.6, 1.2, 1.1], k=chosen)
    line = next(one for one in ax.lines if one.get_label() == f"chosen: k = {chosen}")
    assert list(line.get_xdata()) == [chosen + 0.5] * 2
    filled = [one for one in ax.lines if one.get_linestyle() == "None"]
    assert [len(one.get_xdata()) for one in filled] == [chosen] * bool(chosen)
    names = [text.get_text() for text in ax.get_legend().get_texts()]
    assert f"chosen: k = {chosen}" in names
    assert any("filled: chosen" in name for name in names) == bool(chosen)


@pytest.mark.sweep
@pytest.mark.parametrize("size", [(3.4, 3.0), (3.4, 4.5), (5.0, 4.0), (7.0, 5.0)])
@pytest.mark.parametrize("chosen", [1, 4, 12])
def test_the_line_of_the_chosen_number_crosses_no_legend(size, chosen):
    axes = plt.figure(figsize=size).subplots()
    ax = screeplot(None, np.linspace(5.0, 0.1, 20), sparse=False, parallel=np.ones(8), k=chosen, ax=axes)
    ax.figure.canvas.draw()
    box = ax.get_legend().get_window_extent()
    x, _ = ax.transData.transform((chosen + 0.5, 0.0))
    assert not box.x0 < x < box.x1 or box.y0 >= ax.get_window_extent().y1 - 1.0


def test_the_plot_of_a_number_of_components_states_it_and_its_reason():
    choice = sp.choose_k(sp.datasets.load_pitprops(), n_obs=180)
    ax = choice.plot()
    assert f"chosen: k = {choice.k}" in [text.get_text() for text in ax.get_legend().get_texts()]
    words = " ".join(note_of(ax).split())
    reason, separator, rest = words.partition(
        " Parallel analysis: exceeded by 5 % of data without structure."
    )
    assert separator
    assert not rest
    assert choice.reason.replace("<=", "≤").startswith(reason)
    ax.figure.canvas.draw()
    right = max(text.get_window_extent().x1 for text in ax.texts)
    assert right <= ax.figure.bbox.x1


def test_a_bar_above_the_line_is_explained():
    variance = pd.DataFrame(
        {
            "adjusted variance": [3.0, 2.0, 1.2],
            "share of total": [0.3, 0.2, 0.12],
            "cumulative PCA": [0.4, 0.62, 0.72],
        },
        index=["PC1", "PC2", "PC3"],
    )

    def notes(**options):
        ax = screeplot(variance, [4.0, 2.2, 1.0], **options)
        return [text.get_text() for text in ax.texts if text.get_gid() == "note"]

    assert "may have more variance than the dense one" in " ".join(notes()).replace("\n", " ")
    assert notes(kind="share")
    assert not any("dense one" in note for note in notes(kind="cumulative"))
    variance.loc["PC3", "adjusted variance"] = 1.0
    assert not any("dense one" in note for note in notes())


@pytest.mark.parametrize("size", [(3.4, 3.0), (6.0, 4.4)])
def test_names_of_rows_beyond_a_limit_stand_on_the_side_of_their_points(size):
    rng = np.random.default_rng(0)
    values = pd.DataFrame(np.abs(rng.standard_normal((60, 2))), columns=["T2", "Q"])
    values.iloc[:4] = [[2.9, 2.2], [3.1, 1.0], [1.0, 3.05], [3.2, 3.2]]
    values.index = [f"name of row {i}" for i in range(60)]
    limits = pd.Series({"T2": 3.0, "Q": 3.0}, name=0.95)
    _, axes = plt.subplots(figsize=size, layout="constrained")
    ax = plot_diagnostics(values, limits, ax=axes)
    ax.figure.canvas.draw()
    (names,) = (child for child in ax.get_children() if isinstance(child, Names))
    corner = ax.transData.transform((3.0, 3.0))
    assert len(names.boxes) == 3
    for name, box in zip(names.written, names.boxes, strict=True):
        is_beyond = np.array(name.position) > 3.0
        assert ((box.min > corner) == is_beyond).all()
        assert ((box.max > corner) == is_beyond).all()


@pytest.mark.parametrize("size", [(3.4, 3.0), (3.4, 4.5), (7.0, 4.0)])
def test_rows_beyond_a_limit_without_a_name_are_counted(size):
    """The note counts the names that the figure has, and keeps its place when the figure is resized."""
    rng = np.random.default_rng(1)
    values = pd.DataFrame(rng.chisquare(2, (400, 2)), columns=["T2", "Q"])
    figure, axes = plt.subplots(figsize=(5.0, 4.0), layout="constrained")
    ax = plot_diagnostics(values, pd.Series({"T2": 6.0, "Q": 6.0}, name=0.95), ax=axes)
    figure.set_size_inches(size)
    figure.canvas.draw()
    (names,) = (child for child in ax.get_children() if isinstance(child, Names))
    beyond = int((values > 6.0).any(axis=1).sum())
    assert f"Beyond one: {beyond} of 400 rows (" in note_of(ax)
    assert f"), {len(names.written)} named." in note_of(ax)
    assert "Q: squared residual. Dashed: limits of 95 % of new rows." in note_of(ax)


def test_dense_components_that_are_not_those_of_pca_have_the_name_of_their_method():
    fit = sp.spca(sp.datasets.load_judges(), 2, scale=True, method="pca-l1")
    ax = fit.screeplot()
    names = [text.get_text() for text in ax.get_legend().get_texts()]
    assert "pca-l1 (adjusted)" in names
    assert "sparse PCA (adjusted)" not in names
    plt.close(ax.figure)
