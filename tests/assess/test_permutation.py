"""Permutation tests: the p-values of theory, uniform under their null whatever was selected."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest
import scipy.stats
from statsmodels.stats.multitest import multipletests

import spcastat as sp
from spcastat.results.resampling import Drawing, _resampling


def test_a_variable_outside_has_the_p_value_of_a_correlation(planted):
    # of one component, the statistic is a plain correlation with the score; its p for normal rows is known
    X = planted.iloc[:, :8].set_axis([*"abcdefgh"], axis=1)
    fit = sp.spca(X, 1, 4)
    found = fit.test_loadings(1999)
    outside = fit.loadings.index[fit.loadings["PC1"] == 0]
    for name in outside:
        r = scipy.stats.pearsonr(X[name], fit.scores["PC1"]).statistic
        row = found.table.set_index("term").loc[name]
        assert row["correlation"] == pytest.approx(r, abs=1e-10)
        # the studentised statistic is standard normal for many rows; it is computed here from its definition
        products = (X[name] - X[name].mean()) * (fit.scores["PC1"] - fit.scores["PC1"].mean())
        p = 2 * scipy.stats.norm.sf(abs(products.mean()) / products.std(ddof=0) * np.sqrt(120))
        # 4 standard errors of 1999 permutations, and what the normal limit is off at n = 120
        assert row["p_value"] == pytest.approx(p, abs=4 * np.sqrt(p * (1 - p) / 1999) + 0.02)


def test_a_selected_variable_is_tested_against_a_fit_without_it(planted):
    X = planted.iloc[:, :8].set_axis([*"abcdefgh"], axis=1)
    fit = sp.spca(X, 1, 4)
    found = fit.test_loadings(19).table.set_index("term")
    for name in fit.loadings.index[fit.loadings["PC1"] != 0]:
        score = sp.spca(X.drop(columns=name), 1, 4).scores["PC1"]
        r = np.corrcoef(X[name], score)[0, 1]
        assert abs(found.loc[name, "correlation"]) == pytest.approx(abs(r), abs=1e-6)


def test_p_values_of_noise_are_uniform_and_give_no_discoveries():
    p_values, discoveries = [], []
    for seed in range(40):
        fit = sp.spca(np.random.default_rng(seed).normal(size=(30, 8)), 1, 3)
        found = fit.test_loadings(19, rng=seed)
        p_values.append(found.p_values["PC1"].to_numpy())
        discoveries.append((found.q_values <= 0.2).any(axis=None))
    means = np.array(p_values).mean(axis=1)
    # uniform on 1/20, ..., 1: mean .525; data sets are independent, so 3.5 standard errors of their means
    assert abs(means.mean() - 0.525) < 3.5 * means.std(ddof=1) / np.sqrt(40)
    small = (np.array(p_values) <= 0.1).mean(axis=1)
    assert abs(small.mean() - 0.1) < 3.5 * small.std(ddof=1) / np.sqrt(40)
    # without any true loading, the rate of false discoveries is the share of data sets with one: .2 at most
    assert np.mean(discoveries) < 0.2 + 3.5 * np.sqrt(0.2 * 0.8 / 40)


def test_heavy_rows_without_correlation_give_no_discoveries():
    any_false = []
    for seed in range(12):
        rng = np.random.default_rng([seed, 77])
        X = rng.standard_normal((100, 20)) / np.sqrt(rng.chisquare(4, (100, 1)) / 4)
        found = sp.spca(X, 1, 5, scale=True).test_loadings(99, rng=seed)
        any_false.append((found.q_values <= 0.05).any(axis=None))
    # .05 nominal, .10 promised; a test that is not studentised finds some in .8 to .9 of the data sets
    assert np.mean(any_false) <= 0.10 + 2 * np.sqrt(0.10 * 0.90 / 12)


@pytest.mark.slow
def test_four_components_of_noise_give_few_discoveries():
    any_false = []
    for seed in range(15):
        X = np.random.default_rng([seed, 78]).standard_normal((100, 20))
        found = sp.spca(X, 4, 5).test_loadings(199, rng=seed)
        any_false.append((found.q_values <= 0.05).any(axis=None))
    # nominal .05, .10 promised; with rates for each component it was .25
    assert np.mean(any_false) <= 0.10 + 2 * np.sqrt(0.10 * 0.90 / 15)


def test_false_discovery_rates_are_those_of_the_table(fit):
    found = fit.test_loadings(99)
    expected = multipletests(found.p_values.to_numpy().ravel(), method="fdr_bh")[1]
    np.testing.assert_array_equal(found.q_values.to_numpy().ravel(), expected)
    more = fit.test_loadings(99, fdr="by")
    assert (more.q_values >= found.q_values).all(axis=None)
    strong = fit.loadings != 0
    assert (found.q_values.to_numpy()[strong] <= 0.05).all()
    assert "independent of all other variables" in found.as_text().replace("\n", " ")
    assert max(map(len, found.as_text().splitlines())) <= 80
    assert found.as_latex()


@pytest.mark.slow  # processes are started as for intervals: test_bootstrap.py
def test_the_same_bits_for_any_number_of_processes(fit):
    pd.testing.assert_frame_equal(
        fit.test_loadings(9, n_jobs=2).table, fit.test_loadings(9).table, check_exact=True
    )


def test_constant_columns_have_no_p_value_and_sparse_rows_do(planted):
    import scipy.sparse

    X = planted.to_numpy().copy()
    X[:, 11] = 3.0
    found = sp.spca(X, 2, 4).test_loadings(19)
    assert found.p_values.iloc[11].isna().all()
    assert found.p_values.iloc[:11].notna().all(axis=None)
    sparse = sp.spca(scipy.sparse.csc_array(X), 2, 4).test_loadings(19)
    np.testing.assert_allclose(sparse.p_values, found.p_values)


def test_components_of_the_other_variables_do_not_depend_on_the_one_left_out(planted):
    """Under the null its p-value is uniform only if nothing that depends on the variable enters."""
    from dataclasses import replace

    fit = sp.spca(planted, 2, 4)
    given = _resampling(Drawing(fit._state, fit._source, fit._call, None, 0, 1, None), "test_loadings()")
    others = given.sampler.whole().take(np.arange(1, given.op.p))
    alone = replace(given.refit, starts="alone")
    other = replace(alone, V=np.roll(given.refit.V, 3, axis=0))
    starts = [one.begun(others, np.random.default_rng(0)) for one in (alone, other)]
    for a, b in zip(*starts, strict=True):
        np.testing.assert_array_equal(a, b)


def test_few_permutations_of_many_variables_are_said_to_give_no_small_q(fit):
    # 24 loadings, 8 nonzeros, 9 permutations: the least p is .1, and Benjamini and Hochberg's q .1 x 24 / 8
    few = fit.test_loadings(9)
    text = few.as_text().replace("\n", " ")
    assert "With 9 permutations and 24 tests q cannot be below 0.3 if 8 loadings" in " ".join(text.split())
    assert "n=59 or more" in text
    assert fit.test_loadings(59).q_values.to_numpy()[fit.loadings.to_numpy() != 0].min() <= 0.05
    assert "permutations and 24 tests" not in fit.test_loadings(59).as_text()


def test_fits_of_the_fewest_nonzeros_are_tested_with_the_cardinalities_found(planted):
    fewest = sp.spca(planted, 2, variance=0.8)
    same = sp.spca(planted, 2, card=fewest.card.tolist(), order="given")
    np.testing.assert_array_equal(fewest.loadings != 0, same.loadings != 0)
    np.testing.assert_allclose(fewest.test_loadings(19).p_values, same.test_loadings(19).p_values)


def test_so_few_permutations_that_no_q_can_be_small_are_told():
    """The least p is 1/21, and q of the five selected of 400 variables at that p is 400 / (5 * 21) > 1."""
    X = np.random.default_rng(0).normal(size=(40, 400))
    text = " ".join(sp.spca(X, 1, 5).test_loadings(20).as_text().split())
    assert "With 20 permutations and 400 tests q cannot be below 1 if 5 loadings" in text
    assert "n=1599 or more permutations" in text
