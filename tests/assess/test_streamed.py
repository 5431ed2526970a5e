"""Draws of rows that are never all in memory: those of a sample of the rows, which the print states."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest
from scipy import sparse, stats

import spcastat as sp
from spcastat.assess import subsets
from spcastat.assess.subsets import SampledRows
from spcastat.errors import OptionError, WeightsError

N = 240


@pytest.fixture(scope="module")
def rows() -> pd.DataFrame:
    rng = np.random.default_rng(11)
    X = rng.normal(size=(N, 8))
    X[:, :3] += 1.5 * rng.normal(size=(N, 1))
    X[:, 3:6] += rng.normal(size=(N, 1))
    return pd.DataFrame(X, columns=[*"abcdefgh"])


@pytest.fixture(scope="module")
def pieces(rows):
    return sp.spca([rows.iloc[:100], rows.iloc[100:]], 2, 3)


def test_few_rows_are_drawn_as_in_memory(rows, pieces):
    inside = sp.spca(rows, 2, 3)
    for one, two in (
        (pieces.bootstrap(12).conf_int(), inside.bootstrap(12).conf_int()),
        (pieces.bootstrap(12).variance_ci(), inside.bootstrap(12).variance_ci()),
        (pieces.split_inference(12).conf_int(), inside.split_inference(12).conf_int()),
        (pieces.test_loadings(19).table, inside.test_loadings(19).table),
    ):
        pd.testing.assert_frame_equal(one, two, rtol=1e-7, atol=1e-9)
    pd.testing.assert_frame_equal(pieces.stability(6).frequency, inside.stability(6).frequency)
    assert "sample" not in str(pieces.bootstrap(12))


def test_a_choice_for_few_rows_is_that_in_memory(rows):
    inside, outside = (sp.choose(data, cards=[2, 3, 4]) for data in (rows, [rows.iloc[:7], rows.iloc[7:]]))
    pd.testing.assert_frame_equal(inside.table, outside.table, rtol=1e-7)
    pd.testing.assert_frame_equal(inside.k_choice.table, outside.k_choice.table, rtol=1e-7)


def test_every_row_is_drawn_with_equal_probability(rows):
    """Chi-squared test of how often each of 240 rows is in 200 samples of 60."""
    X, counts = rows.to_numpy(), np.zeros(N)
    place = pd.Series(range(N), index=X[:, 0])
    for seed in range(200):
        sample = SampledRows(60, seed)
        for part in np.split(X, [50, 130]):
            sample.add(part, None)
        counts[place[sample.X[:, 0]]] += 1
    assert counts.sum() == 200 * 60
    statistic = ((counts - 50.0) ** 2 / (200 * 0.25 * 0.75)).sum() * (N - 1) / N
    assert 1e-4 < stats.chi2(N - 1).sf(statistic) < 1 - 1e-4


def test_the_sample_does_not_depend_on_the_chunks_nor_on_zeros_being_stored(rows):
    X = rows.where(rows > 0.5, 0.0).to_numpy()
    w = np.random.default_rng(1).integers(0, 3, N).astype(float)
    found = []
    for cuts, kind in (([100], np.asarray), ([7, 180], np.asarray), ([7, 180], sparse.csr_array)):
        parts = [SampledRows(50, 3) for _ in range(2)]
        for number, (part, weight) in enumerate(zip(np.split(X, cuts), np.split(w, cuts), strict=True)):
            parts[0].add(kind(part), weight)
            assert number < 3
        parts[0].merge(parts[1])
        drawn = parts[0].X.toarray() if sparse.issparse(parts[0].X) else parts[0].X
        found.append((drawn, parts[0].weights))
    for drawn, weights in found:
        np.testing.assert_array_equal(drawn, found[0][0])
        np.testing.assert_array_equal(weights, found[0][1])
        assert (weights > 0).all()


def test_a_sample_says_so_also_in_files(rows, monkeypatch, tmp_path):
    monkeypatch.setattr(subsets, "MOST_ROWS", 150)
    data = [rows.iloc[:100], rows.iloc[100:]]
    fit = sp.spca(data, 2, 3)
    said = "a sample of 150 of 240 rows"
    for result in (fit.bootstrap(9), fit.stability(3), fit.split_inference(9), fit.test_loadings(9)):
        assert said in " ".join(str(result).split())
    choice = sp.choose(data, cards=[3])
    assert said in str(choice)
    assert said in str(sp.choose_k(data))
    assert choice.fit._state.record.n == N  # the fit has all rows
    np.testing.assert_allclose(choice.fit.loadings, sp.spca(rows, choice.k, 3).loadings, atol=1e-7)
    fit.save(tmp_path / "fit.spca")
    assert said in str(sp.load(tmp_path / "fit.spca").resampled["bootstrap"])
    assert "held" in str(sp.compare({"a": fit, "b": sp.spca(data, 2, 4)}, held_out=True)).lower()


@pytest.mark.slow  # processes are started as for intervals: test_bootstrap.py
def test_the_same_bits_for_any_number_of_processes(pieces):
    one, two = pieces.bootstrap(30).conf_int(), pieces.bootstrap(30, n_jobs=2).conf_int()
    pd.testing.assert_frame_equal(one, two, check_exact=True)


def test_weights_are_numbers_of_equal_rows(rows):
    w = np.random.default_rng(1).integers(0, 3, N)
    weighted = sp.spca([rows.iloc[:100], rows.iloc[100:]], 2, 3, weights=w)
    repeated = sp.spca(rows.iloc[np.repeat(np.arange(N), w)], 2, 3)
    a, b = (fit.bootstrap(20).conf_int() for fit in (weighted, repeated))
    pd.testing.assert_frame_equal(a, b, rtol=1e-7, atol=1e-9)
    parts = sp.spca([rows.iloc[:100], rows.iloc[100:]], 2, 3, weights=np.full(N, 1.5))
    with pytest.raises(WeightsError, match="whole"):
        parts.bootstrap(9)


def test_clusters_of_rows_in_chunks_are_refused(rows):
    data = [rows.iloc[:100], rows.iloc[100:]]
    for name, value in (("clusters", np.arange(N)), ("strata", np.arange(N)), ("block_length", 5)):
        with pytest.raises(OptionError, match=f"{name}=.* in chunks"):
            sp.spca(data, 2, 3, **{name: value})


def test_partitions_of_dask_are_drawn_where_they_lie(rows):
    dd = pytest.importorskip("dask.dataframe")
    fit = sp.spca(dd.from_pandas(rows, npartitions=3), 2, 3)
    found = fit.bootstrap(12).conf_int()
    pd.testing.assert_frame_equal(found, sp.spca(rows, 2, 3).bootstrap(12).conf_int(), rtol=1e-6, atol=1e-8)
