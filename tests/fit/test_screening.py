"""Screening of many variables: what it finds, what it claims, and what it refuses."""

from __future__ import annotations

import numpy as np
import pytest
from scipy import sparse

import spcastat as sp
from spcastat.fit import run as fit_run
from spcastat.fit.plan import Request, make_plan
from spcastat.fit.run import run
from spcastat.linalg.operators import DenseRows, Gram, SparseRows
from spcastat.search import working_set

from ..search.conftest import best_swap

CLAIM = "no single swap of a nonzero"


def flat(fit) -> str:
    return " ".join(str(fit).split())


def counts(n: int, p: int, seed: int) -> sparse.csr_array:
    """Sparse counts of topics of 12 words each, whose frequencies fall off."""
    rng = np.random.default_rng(seed)
    rate = 0.6 / np.arange(1, p + 1) ** 0.5
    words = rng.permutation(p)
    strength = np.ones((n, p))
    for topic in range(3):
        strength[np.ix_(rng.random(n) < 0.3, words[12 * topic : 12 * topic + 12])] *= 4.0
    return sparse.csr_array(rng.poisson(rate * strength).astype(float))


def forms(X: sparse.csr_array) -> dict[str, object]:
    """The same rows as every kind of operator."""
    dense = X.toarray()
    Y = (dense - dense.mean(axis=0)) / np.sqrt(len(dense) - 1)
    root = np.full(X.shape[0], 1.0 / np.sqrt(X.shape[0] - 1))
    return {
        "gram": Gram(Y.T @ Y),
        "dense": DenseRows(Y, root, X.shape[0] - 1),
        "sparse": SparseRows(X, dense.mean(axis=0), np.ones(X.shape[1]), root, X.shape[0] - 1),
    }


@pytest.fixture(autouse=True)
def few(monkeypatch) -> None:
    """Screen small data, too: searches begin with 20 variables."""
    monkeypatch.setattr(fit_run, "candidate_count", lambda p, *given, **how: min(20, p))


def fitted(op, k, card, n_init=None):
    plan = make_plan(Request(k, card, method="bcd-l0", n_init=n_init), op.p)
    return run(op, plan, k, np.random.default_rng(0))


# --- what it finds ------------------------------------------------------------------------------------


@pytest.mark.parametrize("form", ["gram", "dense", "sparse"])
@pytest.mark.parametrize(("k", "card"), [(1, 6), (2, 5), (3, 4)])
def test_no_swap_with_any_variable_improves_a_verified_fit(form, k, card):
    for seed in range(2):
        operators = forms(counts(150, 60, seed))
        fit = fitted(operators[form], k, card)
        assert fit.screening is not None
        assert fit.screening.unexcluded == 0
        assert fit.screening.variables == 60
        assert 20 <= fit.screening.searched <= 60
        V = fit.solution.V
        supports = [np.flatnonzero(v) for v in V.T]
        assert [len(support) for support in supports] == [card] * k
        S = operators["gram"].S
        assert best_swap(S, V, supports) <= 1e-8  # GAIN is 1e-9, the rest is rounding in the enumeration
        objective = np.trace(S) - np.trace(np.linalg.solve(V.T @ V, V.T @ S @ V))
        assert fit.solution.objective == pytest.approx(objective, rel=1e-10)


def hidden_group() -> np.ndarray:
    """Fifty variables of variance 1.5 and correlation 0.2; one of variance 1.6, four of 0.7 behind it.

    The five have correlations of 0.9 among themselves, and 0.2 with the others. Neither the variances nor
    PCA, whose first component is spread over the fifty, point to the four.
    """
    group = np.arange(50, 55)
    C = np.full((55, 55), 0.2)
    C[np.ix_(group, group)] = 0.9
    np.fill_diagonal(C, 1.0)
    size = np.sqrt(np.concatenate([np.full(50, 1.5), [1.6], np.full(4, 0.7)]))
    return C * np.outer(size, size)


def test_variables_of_small_variance_are_brought_in():
    S = hidden_group()
    v = np.linalg.eigh(S)[1][:, -1]
    assert np.abs(v[51:]).max() < np.sort(np.abs(v))[-20]
    assert fitted(Gram(S), 1, 4).screening.rounds > 1
    fit = sp.spca_cov(S, 1, 4, method="bcd-l0")
    assert set(range(51, 55)) & set(np.flatnonzero(fit.loadings["PC1"]))
    assert best_swap(S, fit.loadings.to_numpy(), [np.flatnonzero(fit.loadings["PC1"])]) <= 1e-8
    assert CLAIM in flat(fit)


def test_variables_of_small_variance_that_pca_knows_are_candidates():
    # thirty variables of variance 1.5 without covariance, and a block of eight of variance 1
    S = np.diag(np.concatenate([np.full(30, 1.5), np.full(30, 1.0)]))
    block = np.arange(40, 48)
    S[np.ix_(block, block)] += 0.95 * (1.0 - np.eye(8))
    for card in (3, 8):
        fit = sp.spca_cov(S, 1, card, method="bcd-l0")
        assert set(np.flatnonzero(fit.loadings["PC1"])) <= set(block)
        assert fit.variance["score variance"].iloc[0] == pytest.approx(1.0 + (card - 1) * 0.95, rel=1e-9)


def test_the_same_from_dense_and_sparse_rows_and_a_matrix():
    operators = forms(counts(150, 60, 5))
    fits = {name: fitted(op, 2, 5) for name, op in operators.items()}
    for name in ("dense", "sparse"):
        np.testing.assert_allclose(fits[name].solution.V, fits["gram"].solution.V, atol=1e-9)
        assert fits[name].screening == fits["gram"].screening


# --- what it claims ------------------------------------------------------------------------------------


def test_the_summary_says_what_was_searched_and_verified(tmp_path):
    X = counts(150, 60, 0)
    fit = sp.spca(X, 2, 5, method="bcd-l0")
    searched = fitted(forms(X)["sparse"], 2, 5).screening.searched
    claim = f"{CLAIM} of any component, with the others fixed,"
    assert f"{searched} of 60 variables searched; {claim}" in flat(fit)
    assert "with any of the 60 variables improves the explained variance (PEV)" in flat(fit)
    one = flat(sp.spca(X, 1, 5, method="bcd-l0"))
    assert f"{CLAIM} with any of the 60 variables improves the explained variance (PEV)" in one
    fit.save(tmp_path / "fit.spca")
    assert str(sp.load(tmp_path / "fit.spca")) == str(fit)


def test_no_claim_without_proof(monkeypatch):
    monkeypatch.setattr(working_set, "GRAM_ORDER", 20)  # no variable can be brought in
    fit = sp.spca_cov(hidden_group(), 1, 4, method="bcd-l0")
    assert CLAIM not in flat(fit)
    assert "could improve the fit" in flat(fit)


def test_a_free_place_in_a_support_is_verified_too(monkeypatch):
    # Two blocks of two variables and nothing else among the candidates: the third nonzero is worth nothing
    # there, but the weak variable outside covaries with the block.
    monkeypatch.setattr(fit_run, "candidate_count", lambda *given, **how: 4)
    S = np.diag([4.0, 4.0, 3.0, 2.9, 1.0])
    S[0, 1] = S[1, 0] = 3.0
    S[0, 4] = S[4, 0] = 0.8
    fit = sp.spca_cov(S, 1, 3, method="bcd-l0")
    assert np.flatnonzero(fit.loadings["PC1"]).tolist() == [0, 1, 4]
