"""Rows that belong together are drawn together; order, container and units of rows do not matter."""

from __future__ import annotations

from itertools import product

import numpy as np
import pandas as pd
import pytest
from scipy import sparse

import spcastat as sp
from spcastat.assess.permutation import _by_group, _Signs
from spcastat.inputs.constructors import rows_or_matrix_of
from spcastat.inputs.row_groups import content_keys, equal_by_chance

N, P = 90, 8
CLUSTERS = np.repeat(np.arange(18), 5)
STRATA = CLUSTERS // 6


def planted(seed=0):
    rng = np.random.default_rng(seed)
    X = rng.standard_normal((N, P))
    X[:, :3] += 1.5 * rng.standard_normal((N, 1))
    X[:, 3:6] += 1.2 * rng.standard_normal((N, 1))
    return pd.DataFrame(X, columns=[*"abcdefgh"])


@pytest.fixture(scope="module")
def rows():
    return planted()


def groups_of(data, **options):
    return rows_or_matrix_of("", data, options, None).row_groups


# --- draws go by the content of the rows ----------------------------------------------------------


def test_keys_depend_on_the_values_of_rows_only():
    rng = np.random.default_rng(1)
    X = rng.poisson(1.0, (60, 5)) * rng.standard_normal((60, 5))
    X[20] = X[40]
    keys = content_keys(X)
    order, columns = rng.permutation(60), rng.permutation(5)
    assert len(set(keys.tolist())) == 59
    assert keys[20] == keys[40]
    np.testing.assert_array_equal(content_keys(X[order]), keys[order])
    np.testing.assert_array_equal(content_keys(X[:, columns]), keys)
    np.testing.assert_array_equal(content_keys(sparse.csr_array(X)), keys)
    np.testing.assert_array_equal(content_keys(X * 2.0**300), keys)
    np.testing.assert_array_equal(content_keys(X * 2.54), keys)
    np.testing.assert_array_equal(content_keys(X * (1 + 1e-15)), keys)
    w = rng.integers(0, 3, 60)
    np.testing.assert_array_equal(
        np.repeat(content_keys(X, w.astype(float)), w), content_keys(np.repeat(X, w, 0))
    )


def numbers(frame):
    return frame.select_dtypes("number").to_numpy()


@pytest.mark.parametrize("kind", ["frame", "array", "file"])
def test_shuffled_rows_give_the_same_figures(rows, kind, tmp_path):
    def given(frame, name):
        if kind == "file":
            frame.to_csv(tmp_path / name, index=False)
            return str(tmp_path / name)
        return frame if kind == "frame" else frame.to_numpy()

    plain = given(rows, "plain.csv")
    mixed = given(rows.sample(frac=1.0, random_state=4), "mixed.csv")
    one, two = (sp.choose(data, cards=[2, 4], n_draws=19, repeats=1) for data in (plain, mixed))
    assert one.card == two.card
    np.testing.assert_allclose(numbers(one.table), numbers(two.table), rtol=1e-8)
    np.testing.assert_allclose(numbers(one.k_choice.table), numbers(two.k_choice.table), rtol=1e-8)
    one, two = (sp.spca(data, 2, 3, scale=True) for data in (plain, mixed))
    np.testing.assert_allclose(numbers(one.bootstrap(9).table), numbers(two.bootstrap(9).table), atol=1e-8)
    np.testing.assert_allclose(one.stability(5).frequency, two.stability(5).frequency)
    np.testing.assert_allclose(
        numbers(one.test_loadings(19).table), numbers(two.test_loadings(19).table), atol=1e-8
    )


def test_a_weight_counts_equal_rows_in_every_draw(rows):
    w = np.random.default_rng(2).integers(0, 4, N)
    weighted = sp.spca(rows, 2, 3, weights=w)
    repeated = sp.spca(rows.iloc[np.repeat(np.arange(N), w)], 2, 3)
    for call in (
        lambda fit: fit.bootstrap(9).table,
        lambda fit: fit.stability(5).frequency,
        lambda fit: fit.split_inference(9).conf_int(),
    ):
        # an ascent ends within 1e-6 of its loadings
        np.testing.assert_allclose(numbers(call(weighted)), numbers(call(repeated)), rtol=1e-6, atol=1e-6)


def of_kind(kind, n=30, p=6):
    """Rows, and how often each is repeated: copies, rows equal by chance, or few rows of large weights."""
    rng = np.random.default_rng(5)
    X, w = rng.standard_normal((n, p)) + rng.standard_normal((n, 1)), rng.integers(0, 4, n)
    if kind in ("answers", "tabulated"):
        X = np.clip(np.round(X * 1.2), -2.0, 2.0)
    if kind == "tabulated":
        X, w = X[:7], rng.integers(5, 40, 7)
    if kind == "wide":
        X, w = rng.standard_normal((12, 25)) + 2.0 * rng.standard_normal((12, 1)), w[:12]
    return pd.DataFrame(X, columns=[f"x{j}" for j in range(X.shape[1])]), w


@pytest.mark.sweep
@pytest.mark.parametrize("kind", ["copies", "answers", "tabulated", "wide"])
@pytest.mark.parametrize("option", [None, "clusters", "strata"])
def test_a_choice_counts_a_weighted_row_as_equal_rows(kind, option):
    """Every number, whatever the order of the equal rows; sums of products differ by rounding."""
    data, w = of_kind(kind)
    number = {} if option is None else {option: np.arange(len(data)) // (1 if kind == "tabulated" else 2)}
    if option == "strata":
        number[option] = number[option] % 2
    places = np.random.default_rng(6).permutation(np.repeat(np.arange(len(data)), w))
    again = {name: labels[places] for name, labels in number.items()}
    repeated = data.iloc[places].reset_index(drop=True)
    settings = {"k": 1, "folds": 3, "repeats": 2, "cards": [1, 2, 4]}
    one = sp.choose_k(data, weights=w, n_draws=39, **number)
    two = sp.choose_k(repeated, n_draws=39, **again)
    np.testing.assert_allclose(one.table.astype(float), two.table.astype(float), rtol=1e-7, atol=1e-9)
    assert (one.k, one.parallel, one.kaiser) == (two.k, two.parallel, two.kaiser)
    one, two = sp.choose(data, weights=w, **settings, **number), sp.choose(repeated, **settings, **again)
    np.testing.assert_allclose(numbers(one.table), numbers(two.table), rtol=1e-6, atol=1e-6)
    assert str(one.stability(4)) == str(two.stability(4))


def test_weights_and_clusters_by_label_go_with_their_rows_in_halves(rows):
    data = rows.set_axis([f"r{i}" for i in range(N)])
    for labels in ({"weights": np.arange(N) % 3 + 1}, {"clusters": CLUSTERS}):
        ((name, values),) = labels.items()
        series = pd.Series(values, data.index)
        settings = {"k": 2, "cards": [2, 4], "folds": 3, "repeats": 1}
        one = sp.choose(data, **settings, **{name: series})
        two = sp.choose(data, **settings, **{name: series.sample(frac=1.0, random_state=0)})
        assert str(one.stability(3)) == str(two.stability(3))


def test_rows_are_equal_by_chance_where_columns_have_few_values():
    """With columns of four values of equal shares, n rows have n (n - 1) / 2 / 2^p pairs: .5 and more."""
    full = np.array(list(product(range(4), repeat=3)), dtype=float)
    for X in (full, sparse.csr_array(full)):
        assert equal_by_chance(np.hstack([full, full[:, :2]]) if X is full else X, None)  # 64 rows: 63
    assert not equal_by_chance(np.hstack([full] * 4), None)  # 2016 / 2^12 = .49
    assert equal_by_chance(np.hstack([full] * 4), np.full(64, 2.0))  # 8128 / 2^12
    assert not equal_by_chance(np.random.default_rng(0).standard_normal((64, 5)), np.full(64, 2.0))


def test_equal_keys_of_rows_that_differ_do_not_make_them_equal():
    """The rows of a design of indicators are alike up to an exchange of columns."""
    groups = groups_of(np.repeat(np.eye(4), 3, axis=0))
    assert groups.different == 4
    assert np.unique(np.bincount(groups.alike)).tolist() == [3]


def test_equal_rows_share_a_fold(rows):
    four = pd.concat([rows] * 4, ignore_index=True).sample(frac=1.0, random_state=1)
    labels = groups_of(four).folds(5, 2, np.random.default_rng(0))
    for one in labels:
        assert pd.Series(one).groupby(four["a"].to_numpy()).nunique().max() == 1
        assert np.bincount(one).tolist() == [72] * 5


# --- draws of clusters ----------------------------------------------------------------------------


def test_the_bootstrap_has_the_variance_of_a_stratified_sample_of_clusters(rows):
    """Of a total: the sum over strata of n_h / (n_h - 1) sum (z - mean z)^2, with totals z of the clusters.

    With 4000 draws a variance of nearly normal totals has a standard error of sqrt(2 / 4000) = 2.2 %; four of
    these. Means: four standard errors.
    """
    groups = groups_of(rows, clusters=CLUSTERS, strata=STRATA)
    x = rows["a"].to_numpy()
    z = np.bincount(CLUSTERS, weights=x)
    expected = sum(
        6 / 5 * ((z[of] - z[of].mean()) ** 2).sum()
        for of in (np.flatnonzero(STRATA[::5] == h) for h in range(3))
    )
    rng, totals = np.random.default_rng(3), []
    for _ in range(4000):
        drawn, w = groups.bootstrap(rng)
        assert w is None  # every stratum has six clusters
        totals.append(x[drawn].sum() * 6 / 5)
    assert np.var(totals) == pytest.approx(expected, rel=0.09)
    assert np.mean(totals) == pytest.approx(x.sum(), abs=4 * np.sqrt(expected / 4000))


def test_halves_and_folds_have_whole_clusters(rows):
    groups = groups_of(rows, clusters=CLUSTERS, strata=STRATA)
    first, second = groups.halves(np.random.default_rng(0))
    assert sorted([*first.rows, *second.rows]) == list(range(N))
    assert not set(CLUSTERS[first.rows]) & set(CLUSTERS[second.rows])
    assert np.bincount(STRATA[first.rows]).tolist() == [15, 15, 15]
    (labels,) = groups.folds(6, 1, np.random.default_rng(0))
    assert pd.Series(labels).groupby(CLUSTERS).nunique().max() == 1
    assert np.bincount(labels).tolist() == [15] * 6
    assert (pd.crosstab(labels, STRATA) == 5).all(axis=None)


def test_blocks_are_successive_rows(rows):
    groups = groups_of(rows, block_length=7)
    drawn, w = groups.bootstrap(np.random.default_rng(0))
    assert w is None
    assert len(drawn) == N
    steps = np.diff(drawn)
    assert (np.delete(steps, np.arange(6, N - 1, 7)) == 1).all()
    (labels,) = groups.folds(4, 1, np.random.default_rng(0))
    assert pd.Series(labels).groupby(np.arange(N) // 7).nunique().max() == 1


def test_signs_of_contributions_give_the_p_value_of_all_patterns():
    """The share of the 256 patterns of eight signs with as large a statistic; 4 errors of 4000 draws."""
    parts = np.random.default_rng(0).standard_normal((8, 1, 1)) + 0.5
    least = np.abs(_by_group(parts)) - 1e-10
    every = [np.abs(_by_group(parts, np.array(signs)))[0, 0] for signs in product([-1.0, 1.0], repeat=8)]
    exact = np.mean(np.array(every) >= least[0, 0])
    work = _Signs(parts, least, 3)
    drawn = np.mean([work(i)[0, 0] for i in range(4000)])
    assert drawn == pytest.approx(exact, abs=4 * np.sqrt(exact * (1 - exact) / 4000))


def test_a_permutation_exchanges_whole_clusters_within_strata(rows):
    groups = groups_of(rows, clusters=CLUSTERS, strata=STRATA)
    order = groups.rows[groups.permutation(np.random.default_rng(0))]
    assert (CLUSTERS[order].reshape(18, 5) == CLUSTERS[order].reshape(18, 5)[:, :1]).all()
    assert (STRATA[order] == STRATA[groups.rows]).all()
    fit = sp.spca(rows, 2, 3, clusters=CLUSTERS)
    assert "whole groups of rows are permuted" in " ".join(str(fit.test_loadings(19).summary()).split())
    uneven = np.repeat(np.arange(10), [20, 15, 10, 10, 10, 5, 5, 5, 5, 5])
    assert "signs of the contributions" in " ".join(
        str(sp.spca(rows, 2, 3, clusters=uneven).test_loadings(19).summary()).split()
    )


def test_a_weight_of_three_is_three_rows(rows):
    """P-values included; copies that are one observation are told by clusters, as below."""
    three = sp.spca(rows, 2, 3, weights=np.full(N, 3)), sp.spca(pd.concat([rows] * 3), 2, 3)
    found = [fit.test_loadings(99).p_values.to_numpy() for fit in three]
    np.testing.assert_array_equal(*found)


def test_clusters_of_copies_have_the_standard_errors_of_the_rows(rows):
    """Each row four times: rows drawn singly have half the standard error. 4 errors of SDs of 200 draws."""
    four = pd.concat([rows] * 4, ignore_index=True)
    single = sp.spca(rows, 1, P).bootstrap(200).conf_int()["std_error"]
    whole = sp.spca(four, 1, P, clusters=np.tile(np.arange(N), 4)).bootstrap(200).conf_int()["std_error"]
    alone = sp.spca(four, 1, P).bootstrap(200).conf_int()["std_error"]
    assert np.median(whole / single) == pytest.approx(1.0, abs=4 * np.sqrt(1 / 200))
    assert np.median(alone / single) == pytest.approx(0.5, abs=4 * 0.5 * np.sqrt(1 / 200))


@pytest.mark.parametrize("sizes", [(5, 1), (1, 5), (4, 1, 1), (3, 1, 2), (2, 2, 1, 1), (6, 6, 1)], ids=str)
@pytest.mark.parametrize("draws", ["split_inference", "stability", "bootstrap"])
def test_samples_of_a_cluster_of_one_row_have_no_variance(sizes, draws):
    """Other samples are drawn in their place; if there is none, as of two clusters, a sentence says so."""
    labels = np.repeat(range(len(sizes)), sizes)
    fit = sp.spca(np.random.default_rng(1).normal(size=(len(labels), 4)), 1, 2, clusters=labels)
    if len(sizes) == 2 and draws != "bootstrap":  # every half is one cluster
        with pytest.raises(sp.errors.DataError, match="a sample consists of one row"):
            getattr(fit, draws)(6)
        return
    result = getattr(fit, draws)(6)
    assert np.isfinite(np.asarray(getattr(result, "frequency", fit.loadings), dtype=float)).all()
