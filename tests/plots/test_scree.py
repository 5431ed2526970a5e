from __future__ import annotations

import matplotlib.pyplot as plt
import numpy as np
import pandas as pd
import pytest
from matplotlib.figure import Figure
from scipy.sparse import coo_array

import spcastat as sp
from spcastat.errors import OptionError, ShapeError
from spcastat.plots.axes_and_names import note_of
from spcastat.plots.measure_plots import screeplot, screeplot_data


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


def test_data(variance):
    data = screeplot_data(variance)
    np.testing.assert_allclose(data["sparse"], [3, 2, 0])
    np.testing.assert_allclose(data["dense"], [4, 2, 1])
    assert list(data.index) == ["PC1", "PC2", "PC3"]


def test_artists_are_the_data(variance):
    ax = screeplot(variance)
    assert [bar.get_height() for bar in ax.patches] == [3, 2, 0]
    np.testing.assert_allclose(ax.lines[0].get_ydata(), [4, 2, 1])
    assert [text.get_text() for text in ax.get_xticklabels()] == ["PC1", "PC2", "PC3"]


def test_no_variance_at_all(variance):
    nothing = variance.assign(**{"adjusted variance": 0.0, "share of total": 0.0})
    assert screeplot_data(nothing)["dense"].isna().all()
    assert not screeplot(nothing).lines


def test_the_legend_covers_no_bar(variance):
    flat = pd.concat([variance.iloc[:1]] * 8).set_axis([f"PC{i}" for i in range(8)])
    flat["cumulative PCA"] = 0.5 * np.arange(1, 9)
    ax = screeplot(flat)
    ax.figure.canvas.draw()
    legend = ax.get_legend().get_window_extent()
    assert not any(legend.overlaps(bar.get_window_extent()) for bar in ax.patches)


def test_given_axes_are_used_without_pyplot(variance):
    ax = Figure().subplots()
    before = plt.get_fignums()
    assert screeplot(variance, ax=ax) is ax
    assert plt.get_fignums() == before


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
    line = next(line for line in ax.lines if line.get_label() == "parallel analysis")
    np.testing.assert_allclose(line.get_ydata()[:2], [20.0, 15.0])


def test_refusals(variance):
    with pytest.raises(ShapeError, match="spectrum has 2 values; there are 3"):
        screeplot(variance, [1.0, 2.0])
    with pytest.raises(OptionError, match="rises somewhere"):
        screeplot(variance, [1.0, 2.0, 4.0, 1.0])
    with pytest.raises(OptionError, match="finite numbers"):
        screeplot(variance, coo_array([4.0, 2.0, 1.0]))
    with pytest.raises(OptionError, match="kind='shares'"):
        screeplot(variance, kind="shares")
    with pytest.raises(OptionError, match="parallel must be finite"):
        screeplot(variance, parallel=["a"])


def test_missing_column_is_named(variance):
    with pytest.raises(ShapeError, match="lacks 'cumulative PCA'"):
        screeplot(variance.drop(columns="cumulative PCA"))


def test_the_legend_names_what_was_fitted():
    """A fit of PCA is not a sparse one, and has no second PCA beside it."""
    R = sp.datasets.load_pitprops()
    texts = {}
    for name, options in {"pca": {"method": "pca"}, "sparse": {"card": 5}}.items():
        ax = sp.spca_cov(R, 3, **options).screeplot()
        texts[name] = [text.get_text() for text in ax.get_legend().get_texts()]
    assert sorted(texts["pca"]) == ["PCA", "PCA, further components"]
    assert sorted(texts["sparse"]) == ["dense PCA", "sparse PCA (adjusted)"]


def test_the_biplot_of_vignette_1_has_a_note():
    """Its scores have the correlation .03, which needs no word; others have more."""
    df = sp.datasets.pitprops_sample()
    first, other = sp.spca(df, 2, [7, 4], effort="quick"), sp.spca(df, 3, [7, 4, 4], method="bcd-l0")
    assert first.biplot_data().correlation == pytest.approx(0.03, abs=0.005)
    assert "Correlated scores" not in note_of(first.biplot())
    assert other.biplot_data(components=(1, 3)).correlation > 0.1
    assert "Correlated scores" in note_of(other.biplot(components=(1, 3)))


def test_shares_are_written_beside_what_is_drawn(fit):
    """As percentages: those of sparse components at the feet of the bars, those of PCA at the points."""
    ax = fit.screeplot(kind="share")
    data = 100 * screeplot_data(fit.variance, fit.eigenvalues, kind="share")
    written = [text.get_text() for text in ax.texts]
    sparse = [f"{share:.1f}" for share in data["sparse"].dropna()]
    dense = [f"{share:.1f}" for share in data["dense"].iloc[:10]]
    assert sorted(written) == sorted(sparse + dense)
    assert not list(fit.screeplot(kind="variance").texts)


def test_the_line_of_an_analysis_that_was_run(pitprops):
    choice = sp.choose_k(pitprops, scale=True, n_draws=49, rng=0)
    fit = sp.spca(pitprops, k=3, card=4, scale=True, method="greedy")
    noise = choice.table["noise"].to_numpy()
    assert (fit.eigenvalues.to_numpy()[: len(noise)] > noise).sum() == choice.parallel
    (drawn,) = (one for one in fit.screeplot(parallel=choice).lines if one.get_label() == "parallel analysis")
    np.testing.assert_array_equal(drawn.get_ydata()[: len(noise)], noise)
    with pytest.raises(OptionError, match="of other data, or with another scale"):
        sp.spca(2 * pitprops, k=3, card=4, method="greedy").screeplot(parallel=choice)


def test_the_line_of_a_choice(pitprops):
    chosen = {"scale": True, "cards": [3, 6], "by": "bic", "rng": 0}
    choice = sp.choose(pitprops, **chosen)
    lines = choice.fit.screeplot(parallel=choice).lines
    (drawn,) = (one for one in lines if one.get_label() == "parallel analysis")
    noise = choice.k_choice.table["noise"]
    np.testing.assert_array_equal(drawn.get_ydata()[: len(noise)], noise)
    without = sp.choose(pitprops, k=2, **chosen)
    with pytest.raises(OptionError, match="no parallel analysis was run"):
        without.fit.screeplot(parallel=without)
