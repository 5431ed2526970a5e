"""Greedy supports and their certificates, growth by steps under control, and elimination."""

from __future__ import annotations

import itertools

import numpy as np
import pandas as pd
import pytest
import scipy.sparse

import spcastat as sp
from spcastat.errors import CardinalityError
from spcastat.linalg.deflation import Removed, deflate
from spcastat.linalg.operators import Gram
from spcastat.solvers.greedy import REACHED, Growth, without_each
from spcastat.solvers.optimality import variance_bound

METHODS = ("pathspca", "gspca")


@pytest.fixture(scope="module")
def pitprops() -> pd.DataFrame:
    return sp.datasets.load_pitprops()


def covariance(p: int, seed: int) -> np.ndarray:
    rng = np.random.default_rng(seed)
    return np.cov(rng.standard_normal((3 * p, p)) @ rng.standard_normal((p, p)), rowvar=False)


def best_variance(S: np.ndarray, card: int) -> float:
    """The largest variance that `card` nonzeros can have, by enumeration."""
    supports = itertools.combinations(range(len(S)), card)
    return max(float(np.linalg.eigvalsh(S[np.ix_(J, J)])[-1]) for J in supports)


@pytest.mark.parametrize(
    ("card", "printed"),
    [([8, 5, 6, 2, 3, 2], 83.35), ([7, 4, 4, 1, 1, 1], 80.11), ([7, 2, 3, 1, 1, 1], 80.13)],
)
def test_pathspca_is_exactly_as_published(pitprops, card, printed):
    """Zhao et al. (2015), Table 3, to the digits printed."""
    fit = sp.spca_cov(pitprops, 6, card, method="pathspca")
    assert round(100 * fit.measure("pev"), 2) == printed
    assert list(fit.card) == card


def test_gspca_extracts_every_component_at_least_as_well(pitprops):
    """At 7-2-3-1-1-1 every component is exact, which gives 76.98 % under any deflation."""
    fit = sp.spca_cov(pitprops, 6, [7, 2, 3, 1, 1, 1], method="gspca")
    assert round(100 * fit.measure("pev"), 2) == 76.98
    S = pitprops.to_numpy()
    for card in range(1, 13):
        greedy = sp.spca_cov(S, 1, card, method="gspca").details["variance"].iloc[0]
        path = sp.spca_cov(S, 1, card, method="pathspca").details["variance"].iloc[0]
        assert path <= greedy + 1e-10
        assert greedy <= best_variance(S, card) + 1e-10


@pytest.mark.parametrize("seed", range(4))
def test_the_bound_holds_and_a_certificate_is_true(seed):
    S = covariance(9, seed)
    certified = 0
    for card in range(1, 9):
        best = best_variance(S, card)
        details = sp.spca_cov(S, 1, card, method="pathspca").details.iloc[0]
        assert details["variance bound"] >= best * (1 - 1e-9)
        if details["optimal"]:
            assert details["variance"] == pytest.approx(best, rel=2e-6)
            certified += 1
        for j in range(9):  # from any direction, not only from a good one
            assert variance_bound(Gram(S), np.eye(9)[j], card, 0.0) >= best * (1 - 1e-9)
    assert certified


def test_a_planted_component_is_certified():
    """A clear block: the certificate is met, on deflated data too, and on wide data by Lanczos."""
    rng = np.random.default_rng(3)
    X = rng.standard_normal((2000, 40))
    X[:, :4] += 4 * rng.standard_normal((2000, 1))
    X[:, 10:13] += 3 * rng.standard_normal((2000, 1))
    fit = sp.spca(X, 2, [4, 3], method="pathspca")
    assert fit.details["optimal"].all()
    assert [tuple(np.flatnonzero(column)) for column in fit.loadings.to_numpy().T] == [
        (0, 1, 2, 3),
        (10, 11, 12),
    ]
    plain = sp.spca(X, 2, [4, 3], method="pathspca", certify=False)
    assert list(plain.details) == ["variance", "card hit"]
    pd.testing.assert_frame_equal(plain.loadings, fit.loadings)


def test_bounds_by_lanczos_and_by_lapack_agree():
    S = covariance(30, 5)
    wide = np.zeros((501, 501))  # variables without variance change no bound
    wide[:30, :30] = S
    v = np.linalg.eigh(S)[1][:, -1]
    dense = variance_bound(Gram(S), v, 6, 0.0)
    assert variance_bound(Gram(wide), np.pad(v, (0, 471)), 6, 0.0) == pytest.approx(dense, rel=1e-9)


def test_no_certificate_where_deflation_leaves_no_covariance(pitprops):
    fit = sp.spca_cov(pitprops, 3, 4, method="pathspca", deflation="hotelling")
    assert list(fit.details) == ["variance", "card hit"]


@pytest.mark.parametrize("seed", range(3))
def test_eigenvalues_without_each_variable(seed):
    S = covariance(8, seed)
    if seed == 2:  # a repeated largest eigenvalue, and a variable that no leading eigenvector has
        S = np.diag([3.0, 3.0, 2.0, 1.0])
    values, vectors = np.linalg.eigh(S)
    found = without_each(values[::-1], vectors[:, ::-1])
    for j in range(len(S)):
        rest = np.delete(np.delete(S, j, axis=0), j, axis=1)
        assert found[j] == pytest.approx(np.linalg.eigvalsh(rest)[-1], rel=1e-12)


def test_backward_elimination_finds_what_forward_selection_misses():
    """The first variable misleads: it has the largest variance, and nothing goes with it."""
    S = np.diag([1.2, 1.0, 1.0, 1.0, 1.0])
    S[1:4, 1:4] = 0.8 + 0.2 * np.eye(3)
    both = sp.spca_cov(S, 1, 3, method="gspca")
    forward = sp.spca_cov(S, 1, 3, method="gspca", backward=False)
    assert both.details["search"].iloc[0] == "backward"
    assert both.details["variance"].iloc[0] == pytest.approx(best_variance(S, 3))
    assert forward.details["variance"].iloc[0] < both.details["variance"].iloc[0]


@pytest.mark.parametrize(
    ("call", "n", "p"),
    [
        ({"method": "pathspca"}, 60, 25),
        ({"method": "gspca"}, 60, 25),
        ({"method": "pathspca", "certify": False}, 30, 410),
        ({"method": "gspca"}, 30, 410),
    ],
)
def test_dense_sparse_and_covariance_agree(call, n, p):
    rng = np.random.default_rng(8)
    X = np.where(rng.random((n, p)) < 0.4, rng.standard_normal((n, p)), 0.0)
    dense = sp.spca(X, 2, 5, **call)
    sparse = sp.spca(scipy.sparse.csr_array(X), 2, 5, **call)
    gram = sp.spca_cov(np.cov(X.T), 2, 5, **call)
    if "certify" not in call and call["method"] == "pathspca":
        bounds = [fit.details["variance bound"].to_numpy() for fit in (dense, sparse, gram)]
        np.testing.assert_allclose(bounds[1:], np.broadcast_to(bounds[0], (2, 2)), rtol=1e-6)
    np.testing.assert_allclose(sparse.loadings, dense.loadings, atol=1e-8)
    np.testing.assert_allclose(gram.loadings.to_numpy(), dense.loadings.to_numpy(), atol=1e-8)


@pytest.mark.parametrize("method", METHODS)
def test_full_cardinality_is_pca(method):
    S = covariance(10, 9)
    fit, pca = sp.spca_cov(S, 3, 10, method=method), sp.spca_cov(S, 3, method="pca")
    np.testing.assert_allclose(fit.loadings, pca.loadings, atol=1e-8)
    assert fit.status == "exact"


def test_nine_tenths_of_what_pca_explains_are_kept_unless_more_or_less_is_asked_for(pitprops):
    fit = sp.spca_cov(pitprops, 3, method="controlled")
    same = sp.spca_cov(pitprops, 3, method="controlled", variance=0.9)
    pd.testing.assert_frame_equal(fit.loadings, same.loadings)
    kept = fit.variance["cumulative adjusted"] / fit.variance["cumulative PCA"]
    assert (kept >= 0.9 - 1e-9).all()
    assert fit.card.sum() < sp.spca_cov(pitprops, 3, method="controlled", variance=0.95).card.sum()


# --- steps ----------------------------------------------------------------------------------------------


def step_by_step(S, k, variance, c, exact):
    """Number of nonzeros of each component when the variance is looked at after every step."""
    view = Gram(S)
    eigenvalues = np.linalg.eigvalsh(S)[::-1]
    explained, sizes, before = 0.0, [], np.zeros((len(S), 0))
    for i in range(k):
        goal = (variance - REACHED) * eigenvalues[: i + 1].sum() - explained
        growth = Growth(view, exact)
        while True:
            growth.add(c)
            value, v = growth.leading()
            if value >= goal or growth.support.size == len(S):
                break
        sizes.append(int(np.count_nonzero(v)))
        explained += float(v @ view.dot(v))
        view = deflate(view, Removed(v, v, before), "schur")
        before = np.column_stack([before, v])
    return sizes


@pytest.mark.parametrize("exact", [False, True])
@pytest.mark.parametrize("c", [1, 2, 5])
@pytest.mark.parametrize("variance", [0.5, 0.8, 0.97])
def test_no_step_more_than_when_every_step_is_looked_at(variance, c, exact):
    for seed in range(4):
        rng = np.random.default_rng(seed)
        X = rng.standard_normal((200, 6)) @ rng.standard_normal((6, 60)) + 2.0 * rng.standard_normal(
            (200, 60)
        )
        S = np.cov(X.T)
        fit = sp.spca_cov(S, k=2, variance=variance, c=c, exact=exact, method="controlled")
        assert fit.card.tolist() == step_by_step(S, 2, variance, c, exact)


# --- elimination ----------------------------------------------------------------------------------------


PITPROPS = sp.datasets.load_pitprops()


def eliminated(S, card):
    """The support and loadings that repeated calls of NumPy's eigh lead to."""
    kept = list(range(len(S)))
    while True:
        v = np.linalg.eigh(S[np.ix_(kept, kept)])[1][:, -1]
        if len(kept) == card:
            return kept, v
        kept.pop(int(np.argmin(np.abs(v))))


def test_components_are_those_of_repeated_eigenvectors_on_what_projection_left():
    S = PITPROPS.to_numpy()
    cards = [7, 4, 4, 1, 1, 1]
    V = sp.spca_cov(PITPROPS, 6, cards, method="iterative-elimination").loadings.to_numpy()
    for card, found in zip(cards, V.T, strict=True):
        kept, v = eliminated(S, card)
        assert np.flatnonzero(found).tolist() == kept
        np.testing.assert_allclose(np.abs(found[kept]), np.abs(v), atol=1e-9)
        away = np.eye(13) - np.outer(found, found)
        S = away @ S @ away


@pytest.mark.parametrize("card", [1, 5, 20])
def test_few_rows_and_many_variables(card):
    X = np.random.default_rng(card).standard_normal((25, 60)) * np.linspace(2, 1, 60)
    v = sp.spca(X, 1, card, method="iterative-elimination").loadings.to_numpy()[:, 0]
    kept, _ = eliminated(np.cov(X, rowvar=False), card)
    assert np.flatnonzero(v).tolist() == kept


@pytest.mark.parametrize("n", [80, 400])  # few rows: eigenvectors come from those of XX'
def test_more_variables_than_are_decomposed_whole(n):
    rng = np.random.default_rng(0)
    X = rng.standard_normal((n, 503))
    X[:, 100:110] += 3 * rng.standard_normal((n, 1))
    v = sp.spca(X, 1, 497, method="iterative-elimination").loadings.to_numpy()[:, 0]
    assert np.flatnonzero(v).tolist() == eliminated(np.cov(X, rowvar=False), 497)[0]


def test_it_is_not_cutting_small_loadings_off():
    for card in (4, 5, 6):
        adjusted = {
            method: sp.spca_cov(PITPROPS, 6, card, method=method).measure("adjusted")
            for method in ("iterative-elimination", "threshold")
        }
        assert adjusted["iterative-elimination"] > adjusted["threshold"]


def test_no_fewer_variables_than_one_and_no_more_than_there_are():
    for card in (0, 14):
        with pytest.raises(CardinalityError):
            sp.spca_cov(PITPROPS, 1, card, method="iterative-elimination")
