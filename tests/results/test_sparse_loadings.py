"""Sparse loadings as users see them: published data, recovery, rows, missing values, files, refusals."""

from __future__ import annotations

import matplotlib.pyplot as plt
import numpy as np
import pandas as pd
import pytest
from scipy import sparse
from scipy.optimize import linear_sum_assignment

import spcastat as sp
from spcastat.errors import (
    CardinalityError,
    ComponentsError,
    NoRowsError,
    OptionError,
    UnknownOptionError,
)


@pytest.fixture(autouse=True)
def _closed():
    yield
    plt.close("all")


@pytest.fixture(scope="module")
def wine() -> pd.DataFrame:
    return sp.datasets.load_wine()


@pytest.fixture(scope="module")
def fit(wine):
    return sp.sparse_loadings(wine, 3, 5, scale=True)


@pytest.mark.parametrize("seed", [0, 1, 2])
@pytest.mark.parametrize(
    ("k", "card", "share"),
    [(3, 4, 0.54304), (3, [7, 4, 4], 0.60597), (6, [7, 4, 4, 1, 1, 1], 0.80181), (6, 3, 0.76019)],
)
def test_the_pitprops(k, card, share, seed):
    """The best known shares, of 200 starts of a separate implementation; given to five decimals."""
    fit = sp.sparse_loadings_cov(sp.datasets.load_pitprops(), k, card, n_obs=180, rng=seed)
    assert fit.variance["cumulative"].iloc[-1] == pytest.approx(share, abs=5.1e-6)
    assert fit.card.tolist() == (card if isinstance(card, list) else [card] * k)


def overlap(one: np.ndarray, other: np.ndarray) -> float:
    """Mean overlap of the supports of matched components, twice the common over the sum of sizes."""
    A, B = (one != 0).astype(float), (other != 0).astype(float)
    common = 2 * (A.T @ B) / (A.sum(axis=0)[:, None] + B.sum(axis=0))
    rows, columns = linear_sum_assignment(-common)
    return float(common[rows, columns].mean())


def test_loadings_are_recovered_where_weights_are_not():
    """21 variables on 3 components, 6 of each on a second one: the two senses are different questions."""
    weights, loadings = [], []
    for seed in range(4):
        rng = np.random.default_rng(seed)
        P, of = np.zeros((21, 3)), np.arange(21) % 3
        P[np.arange(21), of] = rng.uniform(0.6, 0.9, 21) * rng.choice([-1, 1], 21)
        for j in range(3):
            for i in np.flatnonzero(of == j)[:6]:
                P[i, (j + 1) % 3] = rng.uniform(0.5, 0.7) * rng.choice([-1, 1])
        X = rng.standard_normal((300, 21)) @ np.linalg.cholesky(P @ P.T + np.eye(21)).T
        card = [int(count) for count in (P != 0).sum(axis=0)]
        loadings.append(overlap(sp.sparse_loadings(X, 3, card, scale=True).loadings.to_numpy(), P))
        weights.append(overlap(sp.spca(X, 3, card, scale=True, effort="quick").loadings.to_numpy(), P))
    assert np.mean(loadings) == 1.0
    assert np.mean(weights) < 0.97


def test_scores_are_uncorrelated_and_loadings_are_their_correlations(fit, wine):
    scores = fit.scores
    np.testing.assert_allclose(scores.cov(), np.eye(3), atol=1e-8)
    correlations = pd.concat([wine, scores.set_axis(wine.index)], axis=1).corr().loc[list(wine), list(scores)]
    nonzero = (fit.loadings != 0).to_numpy()
    np.testing.assert_allclose(fit.loadings.to_numpy()[nonzero], correlations.to_numpy()[nonzero], atol=1e-8)
    np.testing.assert_allclose(fit.correlations, correlations, atol=1e-8)
    np.testing.assert_allclose(fit.communalities, (fit.loadings**2).sum(axis=1), atol=1e-12)
    assert fit.variance["sum of squares"].sum() == pytest.approx((fit.loadings.to_numpy() ** 2).sum())
    largest = np.linalg.eigvalsh(wine.corr())[::-1][:3]  # PCA's, from NumPy
    np.testing.assert_allclose(fit.variance["cumulative PCA"], np.cumsum(largest) / 13, rtol=1e-10)


def test_scores_are_the_best_for_these_loadings(fit, wine):
    """Given P, no other T with T'T = (n - 1) I fits better: the orthogonal Procrustes solution by SVD."""
    Z = ((wine - wine.mean()) / wine.std()).to_numpy()
    left, _, right = np.linalg.svd(Z @ fit.loadings.to_numpy(), full_matrices=False)
    np.testing.assert_allclose(fit.scores, np.sqrt(len(Z) - 1) * left @ right, atol=1e-6)


def test_transform_gives_the_scores_of_the_rows(fit, wine):
    np.testing.assert_allclose(fit.transform(wine), fit.scores, atol=1e-10)
    Z = (wine - wine.mean()) / wine.std()
    np.testing.assert_allclose(Z.to_numpy() @ fit.weights.to_numpy(), fit.scores, atol=1e-10)
    with pytest.raises(sp.errors.NewDataError):
        fit.transform(wine.drop(columns="ash"))


def test_rows_sparse_rows_and_their_covariance_matrix_agree(fit, wine):
    R = wine.corr()
    for other in (
        sp.sparse_loadings_cov(R, 3, 5),
        sp.sparse_loadings_cov(wine.cov(), 3, 5, scale=True, mean=wine.mean()),
        sp.sparse_loadings(sparse.csr_array(wine.to_numpy(float)), 3, 5, scale=True),
    ):
        np.testing.assert_allclose(other.loadings, fit.loadings, atol=1e-7)
    with_mean = sp.sparse_loadings_cov(wine.cov(), 3, 5, scale=True, mean=wine.mean())
    np.testing.assert_allclose(with_mean.transform(wine), fit.scores, atol=1e-6)


@pytest.mark.parametrize("unit", [1e-100, 1e100])
def test_units_scale_loadings_and_divide_weights(wine, unit):
    scaled = wine / wine.std()
    one, other = sp.sparse_loadings(scaled, 2, 5), sp.sparse_loadings(scaled * unit, 2, 5)
    np.testing.assert_allclose(other.loadings / unit, one.loadings, atol=1e-7)
    np.testing.assert_allclose(other.scores, one.scores, atol=1e-6)
    assert other.total_variance == pytest.approx(13 * unit**2)


def test_a_formula_first_and_weights_and_names(wine):
    fit = sp.sparse_loadings("~ . - ash + log(proline)", data=wine, k=2, total=9, scale=True)
    assert "log(proline)" in fit.loadings.index
    assert "ash" not in fit.loadings.index
    assert fit.card.sum() == 9
    assert fit.call == "sparse_loadings(data, k=2, total=9, formula='~ . - ash + log(proline)', scale=True)"
    named = fit.rename({1: "phenols"})
    assert list(named.loadings) == list(named.scores) == ["phenols", "PC2"]
    twice = sp.sparse_loadings(wine, 2, 4, weights=np.full(178, 2.0), scale=True)
    doubled = sp.sparse_loadings(pd.concat([wine, wine]), 2, 4, scale=True)
    np.testing.assert_allclose(twice.loadings, doubled.loadings, atol=1e-7)


def test_by_default_ninety_percent_of_pca_are_kept(wine):
    fit = sp.sparse_loadings(wine, 2, scale=True)
    shares = fit.variance.iloc[-1]
    assert shares["cumulative"] >= 0.9 * shares["cumulative PCA"] * (1 - 1e-8)
    assert "at least 90 % of the variance that PCA explains" in " ".join(str(fit).split())
    assert sp.sparse_loadings(wine, 2, variance=0.9, scale=True).loadings.equals(fit.loadings)


@pytest.mark.parametrize("na", ["em", "pairwise", "drop"])
def test_missing_values(wine, fit, na):
    gaps = wine.astype(float).mask(np.random.default_rng(0).random(wine.shape) < 0.03)
    with_gaps = sp.sparse_loadings(gaps, 3, 5, scale=True, na=na, rng=1)
    # 3 % of the values carry little: loadings move by about two standard errors of a correlation at most
    assert np.abs(with_gaps.communalities - fit.communalities).median() < 0.15
    found = with_gaps.transform(gaps, na=na)
    np.testing.assert_allclose(found, with_gaps.scores, atol=1e-8)
    if na != "drop":
        assert "Missing" in str(with_gaps)
        assert len(with_gaps.scores) == 178


def test_chunks_give_what_their_rows_give(wine, tmp_path):
    parts = [wine.iloc[:80].reset_index(drop=True), wine.iloc[80:].reset_index(drop=True)]
    fit, whole = (sp.sparse_loadings(data, 2, 5, scale=True) for data in (parts, wine))
    np.testing.assert_allclose(fit.loadings, whole.loadings, atol=1e-8)
    np.testing.assert_allclose(fit.scores.to_frame(), whole.scores, atol=1e-8)
    assert fit.bootstrap(5).n == 5
    fit.report(tmp_path / "chunks.html")


def test_the_bootstrap_is_aligned(fit):
    boot = fit.bootstrap(60, rng=1)
    frame = boot.conf_int(0.9)
    shown = frame[frame["estimate"] != 0]
    assert len(shown) == 15
    # percentiles of 60 draws of strong loadings have the sign of the estimate
    strong = shown[shown["estimate"].abs() > 0.7]
    assert (np.sign(strong["lower"]) == np.sign(strong["estimate"])).all()
    assert (np.sign(strong["upper"]) == np.sign(strong["estimate"])).all()
    assert (boot.similarity > 0.8).all()
    assert frame.loc[frame["estimate"] == 0, ["lower", "upper"]].isna().all(axis=None)
    assert "In brackets: 95 % bootstrap intervals (60 draws)" in str(fit.summary(conf_int=True))
    assert boot.n == 60
    assert not boot.interrupted
    np.testing.assert_allclose(fit.bootstrap(60, rng=1).selected, boot.selected)
    assert fit.bootstrap(10, n_jobs=2).conf_int().equals(fit.bootstrap(10).conf_int())


def test_the_bootstrap_of_given_variables_has_the_standard_error_of_a_correlation():
    """With all variables on one component the loadings are those of PCA, drawn again here by NumPy."""
    rng = np.random.default_rng(0)
    X = rng.standard_normal((200, 1)) + rng.standard_normal((200, 6))
    drawn = []
    for _ in range(400):
        R = np.corrcoef(X[rng.integers(200, size=200)].T)
        values, vectors = np.linalg.eigh(R)
        drawn.append(np.abs(vectors[:, -1]) * np.sqrt(values[-1]))
    boot = sp.sparse_loadings(X, 1, 6, scale=True).bootstrap(400, select=False)
    # a standard deviation of 400 draws has a standard error of 3.5 %, a ratio of two 5 %: four of them
    np.testing.assert_allclose(boot.conf_int()["std_error"], np.std(drawn, axis=0, ddof=1), rtol=0.2)
    np.testing.assert_allclose(boot.selected, 1.0)


def test_unequal_cardinalities_are_matched_among_equals(wine):
    boot = sp.sparse_loadings(wine, 2, [7, 3], scale=True).bootstrap(20)
    assert boot.selected.sum().round(9).tolist() == [7.0, 3.0]


def test_prints_say_which_sense(fit, wine, tmp_path):
    text = " ".join(str(fit).split())
    assert "sparse loadings: X is about T P'" in text
    assert "come from spca()" in text
    assert "scores are X V" in " ".join(str(sp.spca(wine, 2, 3, scale=True)).split())
    fit.report(tmp_path / "fit.html", title="Wine", groups=list(wine.index))
    page = (tmp_path / "fit.html").read_text(encoding="utf-8")
    assert "<h1>Wine</h1>" in page
    assert "fit = sp.sparse_loadings(data, k=3, card=5, scale=True)" in page
    assert page.count("<figure") == 2
    frames = fit.summary().frames
    pd.testing.assert_frame_equal(frames["loadings"], fit.loadings)


def test_plots(fit, wine):
    ax = fit.biplot(groups=pd.Categorical(wine.index), outline="normal")
    assert len(ax.get_legend().get_texts()) == 3
    assert len(fit.plot_loadings().get_yticklabels()) == 13
    assert len(fit.bootstrap(5).plot().get_yticklabels()) == 13


def test_nothing_is_changed_and_copies_are_returned(fit):
    for copy in (fit.loadings, fit.weights, fit.scores, fit.variance):
        copy.iloc[:] = 0
    assert fit.loadings.to_numpy().any()
    assert fit.scores.to_numpy().any()


def refused(wine):
    R = wine.corr()
    deficient = wine.assign(copy=wine["ash"], sum=wine["ash"] + wine["hue"])[["ash", "hue", "copy", "sum"]]
    return [
        (lambda: sp.sparse_loadings(wine), ComponentsError, "no k"),
        (lambda: sp.sparse_loadings(wine, 14, 2), ComponentsError, "at most 13"),
        (lambda: sp.sparse_loadings(deficient, 3, 2), ComponentsError, "rank 2"),
        (lambda: sp.sparse_loadings(wine, 2, 14, scale=True), CardinalityError, "card"),
        (lambda: sp.sparse_loadings(wine, 2, [3], scale=True), CardinalityError, "card"),
        (lambda: sp.sparse_loadings(wine, 3, total=2, scale=True), CardinalityError, "total=3 or more"),
        (lambda: sp.sparse_loadings(wine, 3, total=40, scale=True), CardinalityError, "total"),
        (lambda: sp.sparse_loadings(wine, 3, 2, total=9), OptionError, "give one of card="),
        (lambda: sp.sparse_loadings(wine, 3, variance=1.2), OptionError, "variance"),
        (lambda: sp.sparse_loadings(wine, 3, variance=0.0), OptionError, "variance"),
        (lambda: sp.sparse_loadings(wine, 3, 2, n_init=0), OptionError, "n_init"),
        (lambda: sp.sparse_loadings(wine, 3, 2, rng="x"), OptionError, "rng"),
        (lambda: sp.sparse_loadings(wine, 3, 2, n_components=2), UnknownOptionError, "k="),
        (lambda: sp.sparse_loadings(wine, 3, 2, objective="pev"), UnknownOptionError, "objective"),
        (
            lambda: sp.sparse_loadings_cov(R, 3, 5).bootstrap(),
            NoRowsError,
            "sparse_loadings_cov(S, ..., n_obs",
        ),
        (lambda: sp.sparse_loadings_cov(R, 3, 5).scores, NoRowsError, "covariance matrix"),
        (lambda: sp.sparse_loadings_cov(R, 3, 5).biplot(), NoRowsError, "rows"),
        (lambda: sp.sparse_loadings_cov(R, 3, 5).transform(wine), NoRowsError, "mean"),
        (
            lambda: sp.sparse_loadings(wine, 3, 5, scale=True).summary(conf_int=True),
            OptionError,
            "bootstrap()",
        ),
    ]


@pytest.mark.parametrize("number", range(19))
def test_refusals(wine, number):
    call, error, said = refused(wine)[number]
    with pytest.raises(error) as raised:
        call()
    assert said in str(raised.value)


def test_dependent_loadings_are_refused():
    """Two directions that hardly vary: the data have rank 3, and their scores are not determined."""
    S = np.diag([1.0, 1.0, 1e-11])
    with pytest.raises(CardinalityError, match="linearly dependent"):
        sp.sparse_loadings_cov(S, 3, 1, scale=False)
