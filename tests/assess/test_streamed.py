"""Draws of rows that are never all in memory: one pass, and the distributions that draws in memory have."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest

import spcastat as sp
from spcastat.assess.subsets import DrawSums
from spcastat.errors import NoRowsError, WeightsError

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


def test_counts_are_poisson_and_halves_complete_one_another():
    """4 standard errors: of the mean and variance of 40 x 500 Poisson counts, of halves of 500 rows."""
    X = np.random.default_rng(0).normal(size=(500, 2))
    sums = DrawSums(2, 0, 40, 7)
    sums.add(X, None)
    weights = np.array([part.weight for part in sums.parts])
    assert abs(weights.mean() / 500 - 1) < 4 / np.sqrt(40 * 500)
    assert abs(weights.var(ddof=1) / 500 - 1) < 4 * np.sqrt(2 / 39)
    different = np.mean(sums.rows) / 500
    assert abs(different - (1 - np.exp(-1))) < 4 * np.sqrt(0.2325 / (40 * 500))
    halves = DrawSums(2, 10, 0, 7)
    halves.add(X, None)
    for first, second in zip(halves.parts[::2], halves.parts[1::2], strict=True):
        assert first.weight + second.weight == 500
        assert abs(first.weight - 250) < 4 * np.sqrt(125)
        total = (first.weight * first.mean + second.weight * second.mean) / 500
        np.testing.assert_allclose(total, X.mean(axis=0), atol=1e-12)


def test_equal_rows_are_drawn_each_for_itself():
    X = np.ones((400, 2))
    sums = DrawSums(2, 0, 30, 0)
    sums.add(X, None)
    weights = np.array([part.weight for part in sums.parts])
    # 400 times one Poisson variable would have a standard deviation of 400 instead of 20
    assert 10 < weights.std() < 30


def test_standard_errors_are_those_of_draws_in_memory(rows, pieces):
    inside = sp.spca(rows, 2, 3).bootstrap(600).conf_int().set_index("term")
    outside = pieces.bootstrap(600).conf_int().set_index("term")
    strong = inside.index[inside["estimate"] != 0]
    # two estimates of a standard error from 600 draws each: 4 times sqrt(2 / (2 x 600))
    np.testing.assert_allclose(outside.loc[strong, "std_error"], inside.loc[strong, "std_error"], rtol=0.17)
    np.testing.assert_allclose(outside.loc[strong, "estimate"], inside.loc[strong, "estimate"], atol=1e-8)


def test_draws_do_not_depend_on_the_size_of_chunks(rows, pieces):
    other = sp.spca([rows.iloc[:7], rows.iloc[7:180], rows.iloc[180:]], 2, 3)
    for one, two in (
        (pieces.bootstrap(12).conf_int(), other.bootstrap(12).conf_int()),
        (pieces.split_inference(12).conf_int(), other.split_inference(12).conf_int()),
    ):
        pd.testing.assert_frame_equal(one, two, rtol=1e-6)
    pd.testing.assert_frame_equal(pieces.stability(6).frequency, other.stability(6).frequency)


@pytest.mark.slow  # processes are started as for intervals: test_bootstrap.py
def test_the_same_bits_for_any_number_of_processes(pieces):
    one, two = pieces.bootstrap(30).conf_int(), pieces.bootstrap(30, n_jobs=2).conf_int()
    pd.testing.assert_frame_equal(one, two, check_exact=True)


def test_weights_are_numbers_of_equal_rows(rows):
    w = np.random.default_rng(1).integers(0, 3, N)
    weighted = sp.spca([rows.iloc[:100], rows.iloc[100:]], 2, 3, weights=w)
    repeated = sp.spca(rows.iloc[np.repeat(np.arange(N), w)], 2, 3)
    a, b = (fit.bootstrap(400).conf_int() for fit in (weighted, repeated))
    np.testing.assert_allclose(a["std_error"][:6], b["std_error"][:6], rtol=4 * np.sqrt(1 / 400))
    assert weighted.stability(10).similarity.min() > 0.9
    parts = sp.spca([rows.iloc[:100], rows.iloc[100:]], 2, 3, weights=np.full(N, 1.5))
    with pytest.raises(WeightsError, match="whole"):
        parts.bootstrap(9)


def test_scaled_draws_are_scaled_anew(rows):
    scaled = sp.spca([rows.iloc[:100], rows.iloc[100:]], 1, 8, scale=True).bootstrap(20)
    # every variable in one component: correlation matrices of trace 8, whose first eigenvalue varies
    assert scaled.variance_ci()["upper"].iloc[0] < 8.0
    inside = sp.spca(rows, 1, 8, scale=True).bootstrap(400).variance_ci()["std_error"].iloc[0]
    outside = sp.spca([rows], 1, 8, scale=True).bootstrap(400).variance_ci()["std_error"].iloc[0]
    assert outside == pytest.approx(inside, rel=4 * np.sqrt(1 / 400))


def test_what_takes_too_much_is_refused_with_what_would_do(pieces):
    wide = sp.spca([np.random.default_rng(0).normal(size=(30, 300))], 1, 3)
    with pytest.raises(NoRowsError, match=r"800 of 300 variables would take 0.576 GB.*that is 711. Ask for"):
        wide.bootstrap(800)
    with pytest.raises(NoRowsError, match="in chunks are not all in memory"):
        pieces.test_loadings(9)


def test_partitions_of_dask_are_drawn_where_they_lie(rows):
    dd = pytest.importorskip("dask.dataframe")
    fit = sp.spca(dd.from_pandas(rows, npartitions=3), 2, 3)
    found = fit.bootstrap(300).conf_int().set_index("term")
    inside = sp.spca(rows, 2, 3).bootstrap(300).conf_int().set_index("term")
    strong = inside.index[inside["estimate"] != 0]
    np.testing.assert_allclose(
        found.loc[strong, "std_error"], inside.loc[strong, "std_error"], rtol=4 * np.sqrt(1 / 300)
    )
    assert (fit.stability(8).similarity > 0.9).all()
