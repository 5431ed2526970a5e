"""Scores, diagnostics and samples of rows that are never all in memory."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest
from scipy import stats

import spcastat as sp
from spcastat.assess import subsets as drawn
from spcastat.errors import DataWarning, NewDataError, NoRowsError, OptionError

# --- Scores and diagnostics of streams: the same numbers as in memory, in chunks, in files --------

RNG = np.random.default_rng(1)
FRAME = pd.DataFrame(RNG.normal(size=(200, 5)) @ RNG.normal(size=(5, 5)) + 2, columns=list("abcde"))
PIECES = [FRAME[:70], FRAME[70:71], FRAME[71:]]
#: Sums in other pieces: rounding of some hundred additions.
TOLERANCE = 1e-11


@pytest.fixture
def fits():
    """One fit from chunks, one from the whole."""
    how = {"k": 2, "card": 3, "scale": True, "method": "greedy"}
    return sp.spca(PIECES, **how), sp.spca(FRAME, **how)


def test_scores_come_in_chunks_again_and_again(fits):
    fit, whole = fits
    for _ in range(2):
        chunks = list(fit.scores)
        assert [len(chunk) for chunk in chunks] == [70, 1, 129]
        pd.testing.assert_frame_equal(pd.concat(chunks), whole.scores, rtol=TOLERANCE)
    assert fit.scores.shape == (200, 2)
    assert list(fit.scores.columns) == ["PC1", "PC2"]
    assert len(fit.scores) == 200
    np.testing.assert_allclose(np.asarray(fit.scores), whole.scores, rtol=TOLERANCE)
    np.testing.assert_allclose(fit.inverse_transform(fit.scores), whole.inverse_transform(whole.scores))
    text = repr(fit.scores)
    for part in ["the list of 3 chunks", "200 rows x 2 components", "for chunk in scores", "to_frame()"]:
        assert part in text


def test_diagnostics_are_those_in_memory(fits):
    fit, whole = fits
    pd.testing.assert_frame_equal(fit.diagnostics(), whole.diagnostics(), rtol=1e-9, check_index_type=False)
    pd.testing.assert_frame_equal(fit.diagnostics(PIECES), whole.diagnostics(FRAME), rtol=1e-9)
    np.testing.assert_allclose(fit.limits(), whole.limits(), rtol=1e-9)
    np.testing.assert_allclose(fit.correlations, whole.correlations, rtol=1e-9)


def test_what_needs_the_rows_in_memory_says_so(fits):
    fit, _ = fits
    for ask in [
        lambda: fit.residuals,
        lambda: fit.augment(),
    ]:
        with pytest.raises(NoRowsError, match=r"needs the rows in memory.*transform\(sample\)"):
            ask()


def test_a_report_leaves_out_what_needs_the_rows(fits, tmp_path):
    fits[0].report(tmp_path / "report.html")
    assert "the list of 3 chunks" in (tmp_path / "report.html").read_text(encoding="utf-8")


def test_new_data_may_be_a_stream_and_have_more_columns(fits, tmp_path):
    fit, whole = fits
    more = FRAME.assign(z=1.0, a=FRAME["a"] + 1)[list("zedcba")]
    more.to_parquet(tmp_path / "new.parquet", row_group_size=64)
    for one in fits:
        for new in [tmp_path / "new.parquet", [more[:100], more[100:]], lambda: iter([more])]:
            pd.testing.assert_frame_equal(one.transform(new).to_frame(), whole.transform(more), rtol=1e-10)
    assert fit.transform([more[:9], more[9:]]).shape == (200, 2)
    with pytest.raises(NewDataError, match=r"^chunk 1 of the list of 1 chunk \(rows 0 to 199\): .* 'b'"):
        fit.transform([FRAME.drop(columns="b")]).to_frame()


def test_new_arrays_are_taken_by_position_with_a_warning(fits):
    with pytest.warns(DataWarning, match="in the order of the fit"):
        found = fits[0].transform([FRAME.to_numpy()]).to_frame()
    pd.testing.assert_frame_equal(found, fits[1].scores, rtol=TOLERANCE)


def test_scores_go_into_a_file(fits, tmp_path):
    for one in fits:
        one.transform_to(tmp_path / "scores.parquet")
        found = pd.read_parquet(tmp_path / "scores.parquet")
        pd.testing.assert_frame_equal(found, fits[1].scores, rtol=TOLERANCE)
        assert isinstance(found.index, pd.RangeIndex)
    fits[0].transform_to(str(tmp_path / "new.parquet"), FRAME[:5])
    assert len(pd.read_parquet(tmp_path / "new.parquet")) == 5
    fits[0].transform_to(tmp_path / "new.parquet", [FRAME[:5], FRAME[:7]])
    assert len(pd.read_parquet(tmp_path / "new.parquet")) == 12
    fits[1].transform_to(tmp_path / "none.parquet", lambda: [])
    assert pd.read_parquet(tmp_path / "none.parquet").shape == (0, 2)


def test_labels_go_along_even_if_the_first_chunk_has_none(tmp_path):
    target = tmp_path / "scores.parquet"
    named = FRAME.set_axis([f"r{i}" for i in range(200)])
    sp.spca([named[:50], named[50:]], k=2, card=3, method="bcd-l0").transform_to(target)
    assert list(pd.read_parquet(target).index) == list(named.index)
    holes = FRAME.copy()
    holes.loc[100, "a"] = np.nan
    sp.spca([holes[:50], holes[50:]], k=2, card=3, na="drop", method="bcd-l0").transform_to(target)
    assert list(pd.read_parquet(target).index) == [i for i in range(200) if i != 100]


def test_a_fit_is_saved_without_scores_that_are_not_in_memory(fits, tmp_path):
    fit, whole = fits
    fit.save(tmp_path / "fit")
    again = sp.load(tmp_path / "fit")
    assert str(again) == str(fit)
    pd.testing.assert_frame_equal(again.loadings, fit.loadings)
    pd.testing.assert_frame_equal(again.transform(FRAME), whole.scores, rtol=TOLERANCE)
    again.transform_to(tmp_path / "scores.parquet", PIECES)
    with pytest.raises(NoRowsError):
        again.scores  # noqa: B018
    with pytest.raises(OptionError, match=r"fit.transform_to\(path\)"):
        fit.save(tmp_path / "other", scores=True)
    whole.save(tmp_path / "whole")
    pd.testing.assert_frame_equal(sp.load(tmp_path / "whole").scores, whole.scores)


def test_a_fit_with_a_formula_is_saved(tmp_path):
    fit = sp.spca(PIECES, k=1, card=2, formula="~ a + I(b**2) + c", method="bcd-l0")
    fit.save(tmp_path / "fit")
    again = sp.load(tmp_path / "fit").transform(PIECES).to_frame()
    pd.testing.assert_frame_equal(again, fit.scores.to_frame())


def test_refit_walks_over_the_source_again(fits):
    fit, whole = fits
    np.testing.assert_allclose(fit.refit(card=2).loadings, whole.refit(card=2).loadings, atol=TOLERANCE)


# --- Rows that are never all in memory, and what shows single rows --------------------------------

N = 6000


def rows():
    X = np.random.default_rng(2).normal(size=(N, 6)) * [4, 4, 3, 3, 1, 1]
    X[:, 1] += X[:, 0]
    X[:, 3] -= X[:, 2]
    return X


X = rows()


def fitted(*cuts):
    return sp.spca([X[a:b] for a, b in zip([0, *cuts], [*cuts, N], strict=True)], 2, card=2)


@pytest.fixture(scope="module")
def fit():
    return fitted(2500)


def place_of(scores, fit):
    """Where rows of a sample stand among all rows, by their scores."""
    every = pd.Index(fit.transform(X).to_numpy()[:, 0].round(9))
    return every.get_indexer(scores.to_numpy()[:, 0].round(9))


def drawn_scores(fit):
    """The scores that plots of the fit draw."""
    return fit._scores_to_draw("plot_scores")


def test_a_biplot_shows_a_sample_and_says_so(fit):
    ax = fit.biplot()
    assert ax.get_title(loc="right") == "2000 of 6000 rows, drawn at random (seed 0)"
    shown = drawn_scores(fit)
    places = place_of(shown, fit)
    assert len(shown) == 2000 == len(set(places))
    assert places.min() >= 0
    # Every row has the same chance: places are uniform (Kolmogorov and Smirnov).
    assert stats.kstest(places / N, "uniform").pvalue > 0.001


def test_the_sample_does_not_depend_on_the_size_of_chunks(fit):
    other = fitted(7, 1000, 4999)
    assert set(place_of(drawn_scores(fit), fit)) == set(place_of(drawn_scores(other), other))


def test_few_rows_are_all_drawn():
    fit = sp.spca([X[:30], X[30:50]], 1, card=2)
    ax = fit.plot_scores()
    assert ax.get_title(loc="right") == ""
    assert sorted(place_of(drawn_scores(fit), fit)) == list(range(50))


def test_rows_without_weight_are_not_drawn():
    w = (np.arange(N) % 3 == 0).astype(float)
    fit = sp.spca([X], 1, card=2, weights=w)
    assert (place_of(drawn_scores(fit), fit) % 3 == 0).all()


def test_values_of_all_rows_are_refused_for_a_sample(fit):
    with pytest.raises(NoRowsError, match=r"groups=.* a sample is drawn"):
        fit.biplot(groups=np.zeros(N))


def test_diagnostics_on_workers_are_those_of_a_sample():
    da = pytest.importorskip("dask.array")
    fit = sp.spca(da.from_array(X, chunks=(1000, 6)), 2, card=2)
    with pytest.warns(DataWarning, match="2000 of 6000 rows, drawn at random"):
        found = fit.diagnostics()
    every = sp.spca(X, 2, card=2).diagnostics()
    places = place_of(drawn_scores(fit), fit)
    np.testing.assert_allclose(found.to_numpy(), every.to_numpy()[places], rtol=1e-8)
    assert fit.plot_diagnostics().get_title(loc="right").startswith("2000 of 6000")
    small = sp.spca(da.from_array(X[:100], chunks=(30, 6)), 2, card=2)
    assert len(small.diagnostics()) == 100


def test_merged_samples_have_the_smallest_keys():
    whole = drawn.SampledRows(40, 1)
    parts = [drawn.SampledRows(40, 1) for _ in range(2)]
    for part, some in zip(parts, (X[:100], X[100:300]), strict=True):
        part.add(some, None)
    whole.merge(parts[1])
    whole.merge(parts[0])
    keys = np.sort(np.concatenate([part.keys for part in parts]))[:40]
    assert (whole.keys == keys).all()
