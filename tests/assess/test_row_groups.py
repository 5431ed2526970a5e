"""Rows that belong together are drawn together; order, container and units of rows do not matter."""

from __future__ import annotations

from itertools import product

import numpy as np
import pandas as pd
import pytest
from scipy import sparse

import spcastat as sp
from spcastat.assess.permutation import _by_group, _Signs
from spcastat.errors import OptionError, RowGroupsError, WeightsError
from spcastat.inputs.row_data import opened
from spcastat.inputs.row_groups import RowGroups, content_keys
from spcastat.linalg.standardisation import block_length

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
    return RowGroups.of(opened(data, None, options, None)[0].source(""))


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
    np.testing.assert_allclose(
        numbers(one.bootstrap(9).conf_int()), numbers(two.bootstrap(9).conf_int()), atol=1e-8
    )
    np.testing.assert_allclose(one.stability(5).frequency, two.stability(5).frequency)
    np.testing.assert_allclose(
        numbers(one.test_loadings(19).table), numbers(two.test_loadings(19).table), atol=1e-8
    )


def test_a_weight_counts_equal_rows_in_every_draw(rows):
    w = np.random.default_rng(2).integers(0, 4, N)
    weighted = sp.spca(rows, 2, 3, weights=w)
    repeated = sp.spca(rows.iloc[np.repeat(np.arange(N), w)], 2, 3)
    for call in (
        lambda fit: fit.bootstrap(9).conf_int(),
        lambda fit: fit.stability(5).frequency,
        lambda fit: fit.split_inference(9).conf_int(),
    ):
        # an ascent ends within 1e-6 of its loadings
        np.testing.assert_allclose(numbers(call(weighted)), numbers(call(repeated)), rtol=1e-6, atol=1e-6)


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
    assert "whole groups of rows are permuted" in " ".join(str(fit.test_loadings(19)).split())
    uneven = np.repeat(np.arange(10), [20, 15, 10, 10, 10, 5, 5, 5, 5, 5])
    assert "signs of the contributions" in " ".join(
        str(sp.spca(rows, 2, 3, clusters=uneven).test_loadings(19)).split()
    )


def test_copies_of_a_row_are_no_further_evidence(rows):
    """With weights of 3 p-values are those of single rows, within 4 standard errors of 499 draws each."""
    plain, three = sp.spca(rows, 2, 3), sp.spca(rows, 2, 3, weights=np.full(N, 3))
    found = [fit.test_loadings(499).p_values.to_numpy() for fit in (plain, three)]
    np.testing.assert_allclose(*found, rtol=0, atol=4 * np.sqrt(2 * 0.25 / 499))


def test_clusters_of_copies_have_the_standard_errors_of_the_rows(rows):
    """Each row four times: rows drawn singly have half the standard error. 4 errors of SDs of 200 draws."""
    four = pd.concat([rows] * 4, ignore_index=True)
    single = sp.spca(rows, 1, P).bootstrap(200).conf_int()["std_error"]
    whole = sp.spca(four, 1, P, clusters=np.tile(np.arange(N), 4)).bootstrap(200).conf_int()["std_error"]
    alone = sp.spca(four, 1, P).bootstrap(200).conf_int()["std_error"]
    assert np.median(whole / single) == pytest.approx(1.0, abs=4 * np.sqrt(1 / 200))
    assert np.median(alone / single) == pytest.approx(0.5, abs=4 * 0.5 * np.sqrt(1 / 200))


# --- weights of a survey --------------------------------------------------------------------------


def test_replicates_of_a_jackknife_have_its_standard_error(rows):
    """The variance of the score of the fit's component on replicates, by the jackknife formula."""
    w = np.random.default_rng(3).uniform(0.5, 2.0, N)
    replicates = np.stack([np.where(c == CLUSTERS, 0.0, w * 18 / 17) for c in range(18)], axis=1)
    fit = sp.spca(rows, 1, 3, weights=w, weights_are="sampling")
    v = fit.loadings.to_numpy()
    found = []
    for one in replicates.T:
        own = one * N / one.sum()
        Z = rows.to_numpy() - np.average(rows, axis=0, weights=own)
        found.append(float((own @ (Z @ v) ** 2)[0] / (N - 1)))
    by_hand = np.sqrt(17 / 18 * ((found - np.mean(found)) ** 2).sum())
    result = fit.bootstrap(replicate_weights=replicates, replicate_type="jk1")
    assert result.variance_ci()["std_error"].iloc[0] == pytest.approx(by_hand, rel=1e-8)
    assert result.n == 18
    same = fit.bootstrap(replicate_weights=pd.DataFrame(replicates)[::-1], replicate_scale=17 / 18)
    assert same.variance_ci()["std_error"].iloc[0] == pytest.approx(by_hand, rel=1e-8)
    brr = fit.bootstrap(replicate_weights=replicates, replicate_type="brr").variance_ci()["std_error"].iloc[0]
    assert brr == pytest.approx(by_hand / np.sqrt(17), rel=1e-8)


def test_standard_errors_of_a_survey_are_those_of_rs_survey_package():
    """The first principal component of the judges in clusters of four, JK1 replicates.

    Figures of R's survey 4.1.1: svydesign(id=~cl, weights=~w), as.svrepdesign(type="JK1"), withReplicates
    of the entries of the first eigenvector of cov.wt(method="ML", cor=TRUE), with the sign of the whole
    sample, and of the quadratic form of the whole sample's eigenvector; printed to seven decimal places.
    """
    judges = sp.datasets.load_judges()
    rows = np.arange(len(judges))
    weights = 1.0 + rows % 3
    replicates = np.stack([np.where(rows // 4 == c, 0.0, weights * 11 / 10) for c in range(11)], axis=1)
    fit = sp.spca(judges, 1, 12, scale=True, weights=weights, weights_are="sampling")
    result = fit.bootstrap(replicate_weights=replicates, replicate_type="jk1")
    loadings = [
        *(0.0579017, 0.0098299, 0.0071568, 0.0040552, 0.0036542, 0.0022977),
        *(0.0026365, 0.0023143, 0.0031430, 0.0027458, 0.0052737, 0.0029156),
    ]
    np.testing.assert_allclose(result.conf_int()["std_error"], loadings, atol=1e-7)
    assert result.variance_ci()["std_error"].iloc[0] == pytest.approx(0.2294708, abs=1e-7)


def test_sampling_weights_count_by_their_ratios_only(rows):
    w = np.random.default_rng(3).uniform(0.5, 2.0, N)
    one, two = (sp.spca(rows, 2, 3, weights=u * w, weights_are="sampling") for u in (1.0, 1000.0))
    pd.testing.assert_frame_equal(one.variance, two.variance, rtol=1e-10)
    # an ascent ends within 1e-6 of its loadings
    pd.testing.assert_frame_equal(
        one.bootstrap(9).conf_int(), two.bootstrap(9).conf_int(), rtol=1e-6, atol=1e-6
    )
    S = np.cov(rows, rowvar=False, aweights=w)  # its divisor differs; ratios of variances do not
    values = one.loadings.to_numpy()
    shares = np.diag(values.T @ S @ values) / np.trace(S)
    found = one.variance["score variance"].to_numpy() / one.variance["score variance"].iloc[0]
    np.testing.assert_allclose(found, shares / shares[0], rtol=1e-10)
    with pytest.raises(WeightsError, match="sampling weights"):
        one.test_loadings(9)
    with pytest.raises(WeightsError, match="weights_are='sampling'"):
        sp.spca(rows, 2, 3, weights=w).bootstrap(9)


# --- blocks in time -------------------------------------------------------------------------------


@pytest.mark.parametrize("phi", [0.5, 0.8])
def test_the_length_of_blocks_is_that_of_an_autoregression(phi):
    """Politis and White (2004) for AR(1): (6 (phi / (1 - phi^2))^2 n)^(1/3); mean of 20 within 15 %."""
    n, found = 20_000, []
    for seed in range(20):
        e = np.random.default_rng(seed).standard_normal(n)
        x = np.empty(n)
        x[0] = e[0]
        for t in range(1, n):
            x[t] = phi * x[t - 1] + e[t]
        found.append(block_length(x))
    assert np.mean(found) == pytest.approx((6 * (phi / (1 - phi**2)) ** 2 * n) ** (1 / 3), rel=0.15)


# --- what is kept, and printed --------------------------------------------------------------------


def test_the_design_is_printed_saved_and_used_again(rows, tmp_path):
    frame = rows.assign(school=[f"s{one}" for one in CLUSTERS])
    fit = sp.spca(frame, 2, 3, clusters="school")
    assert list(fit.loadings.index) == [*"abcdefgh"]
    assert "18 clusters of 5 rows" in str(fit)
    assert "18 clusters of 5 rows (Rao, Wu and Yue, 1992)" in str(fit.describe())
    drawn = fit.bootstrap(20)
    assert "Draws" in str(drawn)
    assert "fewer than 20, tests are liberal" in " ".join(str(drawn).split())
    fit.save(tmp_path / "fit.spca")
    loaded = sp.load(tmp_path / "fit.spca")
    pd.testing.assert_frame_equal(loaded.bootstrap(20, data=frame).conf_int(), drawn.conf_int(), atol=1e-9)
    with pytest.raises(sp.errors.DataError, match="in another order"):
        loaded.bootstrap(20, data=frame[::-1])
    assert fit.refit(k=1, card=3)._state.record.row_design["clusters"] == 18
    choice = sp.choose(frame, 2, cards=[2, 3], clusters="school", repeats=1)
    assert "18 clusters of 5 rows" in str(choice)
    assert choice.fit._state.record.row_design["clusters"] == 18


KINDS = {
    "plain": {},
    "sparse": {},
    "em": {"na": "em"},
    "pairwise": {"na": "pairwise", "scale": True},
    "learnt": {"formula": "~ scale(a) + b + poly(c, 2) + d + e"},
    "partial": {"formula": "~ . | h"},
    "rows": {"method": "spcagrid"},
    "weights": {"weights": np.arange(N) % 3 + 1.0},
    "sampling": {"weights": np.arange(N) % 3 + 0.5, "weights_are": "sampling"},
}


@pytest.mark.parametrize("kind", KINDS)
def test_every_kind_of_fit_is_drawn_by_clusters_and_strata(rows, kind):
    data = rows.where(rows.abs() < 2.0) if kind in ("em", "pairwise") else rows
    data = sparse.csr_array(rows.to_numpy()) if kind == "sparse" else data
    options = {**KINDS[kind], "clusters": CLUSTERS, "strata": STRATA}
    fit = sp.spca(data, 2, 2, **options)
    drawn = fit.bootstrap(9).conf_int()
    assert (drawn["std_error"][drawn["estimate"] != 0] > 0).all()
    assert fit.stability(3).frequency.to_numpy().max() > 0.5
    if kind in ("learnt", "rows"):
        return
    choice = sp.choose(data, 2, cards=[2, 3], repeats=1, folds=3, **options)
    assert "18 clusters of" in str(choice)
    assert sp.choose_k(data, n_draws=19, **{**options}).k <= 3


# --- noticed without being told -------------------------------------------------------------------


def test_equal_rows_sequences_and_grouping_columns_are_noticed(rows):
    four = pd.concat([rows] * 4, ignore_index=True).sample(frac=1.0, random_state=0)
    assert "360 of 360 rows (100 %) are equal to others" in " ".join(
        str(sp.choose_k(four, n_draws=19)).split()
    )
    walk = rows.cumsum()
    assert "Neighbouring rows are alike" in " ".join(str(sp.spca(walk, 2, 3).bootstrap(9)).split())
    grouped = rows + 2.0 * np.random.default_rng(0).standard_normal((18, P))[CLUSTERS]
    order = np.random.default_rng(1).permutation(N)
    grouped = grouped.assign(school=[f"s{one}" for one in CLUSTERS]).iloc[order]
    found = sp.choose(grouped, 2, cards=[3], formula="~ " + " + ".join("abcdefgh"))
    assert "Column 'school' explains" in " ".join(str(found).split())
    assert "clusters='school'" in " ".join(str(found).split())
    told = sp.choose(grouped, 2, cards=[3], clusters="school")
    assert "Column" not in str(told)


def test_independent_rows_are_not_remarked_upon():
    """The level is .001 for neighbours: of 60 sets one or none, with a probability of .998."""
    found = [sp.choose_k(planted(seed), kmax=1, n_draws=19) for seed in range(60)]
    assert sum("independent" in str(one) for one in found) <= 1
    answers = np.random.default_rng(0).integers(1, 4, (300, 4)).astype(float)  # 81 kinds of rows
    assert "equal to others" not in str(sp.choose_k(answers, n_draws=19))


# --- refusals -------------------------------------------------------------------------------------


BAD = {
    "missing": ({"clusters": [np.nan, *CLUSTERS[1:]]}, RowGroupsError, "1 missing label"),
    "length": ({"clusters": CLUSTERS[1:]}, RowGroupsError, "89 labels for 90 rows"),
    "index": (
        {"clusters": pd.Series(CLUSTERS, np.arange(N) + 5)},
        RowGroupsError,
        "labels that are not those of the rows",
    ),
    "column": ({"clusters": "school"}, RowGroupsError, "the name of no column"),
    "one": ({"clusters": np.zeros(N)}, RowGroupsError, "one cluster only"),
    "stratum": (
        {"clusters": CLUSTERS, "strata": CLUSTERS == 0},
        RowGroupsError,
        "1 stratum with one cluster",
    ),
    "across": ({"clusters": CLUSTERS, "strata": np.arange(N) % 2}, RowGroupsError, "in several strata"),
    "long": ({"block_length": 46}, RowGroupsError, "at most, 45"),
    "zero": ({"block_length": 0}, OptionError, "1 or more, or 'auto'"),
    "both": ({"block_length": 5, "clusters": CLUSTERS}, OptionError, "Give one of them"),
    "weights_are": ({"weights_are": "sampling"}, OptionError, "without weights"),
    "kind": ({"weights_are": "survey", "weights": np.ones(N)}, OptionError, "allowed are 'frequency'"),
}


@pytest.mark.parametrize("case", BAD)
def test_bad_input_is_refused(rows, case):
    options, error, words = BAD[case]
    with pytest.raises(error, match=words):
        sp.spca(rows, 2, 3, **options)
