"""Rows that are never all in memory, and what shows single rows: a sample that is said to be one."""

import numpy as np
import pandas as pd
import pytest
from scipy import stats

import spcastat as sp
from spcastat.assess import subsets as drawn
from spcastat.errors import DataWarning, NoRowsError

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
