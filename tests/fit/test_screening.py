"""Screening of many variables: what it finds, what it claims, and what it refuses."""

from __future__ import annotations

import numpy as np
import pytest
from scipy import sparse

import spcastat as sp
from spcastat.errors import OptionError, UnknownOptionError
from spcastat.fit.plan import Request, make_plan
from spcastat.fit.run import run
from spcastat.fit.starts import order_and_sign, starting_loadings
from spcastat.linalg.operators import DenseRows, Gram, SparseRows
from spcastat.search import working_set

from ..search.swapping import best_swap, covariance, gain

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


def fitted(op, k, card, **options):
    plan = make_plan(Request(k, card, method="bcd-l0", further=options), op.p)
    generator = np.random.default_rng(0)
    return run(op, plan, k, generator)


# --- what it finds ------------------------------------------------------------------------------------


@pytest.mark.parametrize("form", ["gram", "dense", "sparse"])
@pytest.mark.parametrize(("k", "card"), [(1, 6), (2, 5), (3, 4)])
def test_no_swap_with_any_variable_improves_a_verified_fit(form, k, card):
    for seed in range(2):
        operators = forms(counts(150, 60, seed))
        fit = fitted(operators[form], k, card, screen=20)
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


@pytest.mark.parametrize("kind", ["full", "low rank", "factors"])
def test_other_covariances_too(kind):
    for seed in range(3):
        S = covariance(kind, 60, np.random.default_rng(seed))
        for k, card in ((1, 5), (3, 3)):
            fit = fitted(Gram(S), k, card, screen=20)
            V = fit.solution.V
            assert fit.screening.unexcluded == 0
            assert best_swap(S, V, [np.flatnonzero(v) for v in V.T]) <= 1e-8


def test_at_least_the_explained_variance_of_the_plain_fit_where_all_are_candidates():
    for seed in range(4):
        S = covariance("factors", 40, np.random.default_rng(seed))
        plain, screened = (sp.spca_cov(S, 3, 4, screen=screen, method="bcd-l0") for screen in (False, True))
        # sweeps that end earlier may lead to another optimum, from which no swap goes on
        assert screened.measure("pev") >= plain.measure("pev") * 0.995


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
    assert fitted(Gram(S), 1, 4, screen=20).screening.rounds > 1
    fit = sp.spca_cov(S, 1, 4, screen=20, method="bcd-l0")
    assert set(range(51, 55)) & set(np.flatnonzero(fit.loadings["PC1"]))
    assert best_swap(S, fit.loadings.to_numpy(), [np.flatnonzero(fit.loadings["PC1"])]) <= 1e-8
    assert CLAIM in flat(fit)


def test_variables_of_small_variance_that_pca_knows_are_candidates():
    # thirty variables of variance 1.5 without covariance, and a block of eight of variance 1
    S = np.diag(np.concatenate([np.full(30, 1.5), np.full(30, 1.0)]))
    block = np.arange(40, 48)
    S[np.ix_(block, block)] += 0.95 * (1.0 - np.eye(8))
    for card in (3, 8):
        fit = sp.spca_cov(S, 1, card, screen=20, method="bcd-l0")
        assert set(np.flatnonzero(fit.loadings["PC1"])) <= set(block)
        assert fit.variance["score variance"].iloc[0] == pytest.approx(1.0 + (card - 1) * 0.95, rel=1e-9)


def test_the_third_variable_of_a_small_row_sum_is_never_lost():
    S = np.diag([5.0, 5.0, 1.0])
    S[0, 1] = S[1, 0] = 4.0
    S[1, 2] = S[2, 1] = 0.5
    for card, support in ((2, [0, 1]), (3, [0, 1, 2])):
        fit = sp.spca_cov(S, 1, card, screen=card, method="bcd-l0")
        assert np.flatnonzero(fit.loadings["PC1"]).tolist() == support
        assert fit.variance["score variance"].iloc[0] == pytest.approx(gain(S, np.zeros((3, 0)), support))


def test_more_starts():
    X = counts(200, 80, 3)
    op = forms(X)["sparse"]
    one = fitted(op, 3, 5, screen=30)
    many = fitted(op, 3, 5, screen=30, n_init=6)
    assert many.screening.unexcluded == 0
    assert sum(hits for _, hits in many.optima) == 6
    assert one.optima[0][0] == pytest.approx(1.0 - one.solution.objective / op.total)
    assert many.solution.objective <= one.solution.objective + 1e-9  # what PCA's start leaves, or less


def test_a_path_is_screened():
    X = counts(150, 60, 1)
    path = sp.spca_path(X, 2, cards=[2, 4], screen=15, method="bcd-l0")
    for card in (2, 4):
        assert path[card].card.tolist() == [card, card]
        assert CLAIM in flat(path[card])


def test_the_same_from_dense_and_sparse_rows_and_a_matrix():
    operators = forms(counts(150, 60, 5))
    fits = {name: fitted(op, 2, 5, screen=20) for name, op in operators.items()}
    for name in ("dense", "sparse"):
        np.testing.assert_allclose(fits[name].solution.V, fits["gram"].solution.V, atol=1e-9)
        assert fits[name].screening == fits["gram"].screening


# --- what it claims ------------------------------------------------------------------------------------


def test_the_summary_says_what_was_searched_and_verified(tmp_path):
    X = counts(150, 60, 0)
    fit = sp.spca(X, 2, 5, screen=20, method="bcd-l0")
    searched = fitted(forms(X)["sparse"], 2, 5, screen=20).screening.searched
    claim = f"{CLAIM} of any component, with the others fixed,"
    assert f"{searched} of 60 variables searched; {claim}" in flat(fit)
    assert "with any of the 60 variables improves the explained variance (PEV)" in flat(fit)
    one = flat(sp.spca(X, 1, 5, screen=20, method="bcd-l0"))
    assert f"{CLAIM} with any of the 60 variables improves the explained variance (PEV)" in one
    fit.save(tmp_path / "fit.spca")
    assert str(sp.load(tmp_path / "fit.spca")) == str(fit)
    assert "Screened" not in str(sp.spca(X, 2, 5, method="bcd-l0"))


def test_no_claim_without_proof(monkeypatch):
    monkeypatch.setattr(working_set, "GRAM_ORDER", 20)  # no variable can be brought in
    fit = sp.spca_cov(hidden_group(), 1, 4, screen=20, method="bcd-l0")
    assert CLAIM not in flat(fit)
    assert "could improve the fit" in flat(fit)


def test_a_free_place_in_a_support_is_verified_too():
    # Two blocks of two variables and nothing else among the candidates: the third nonzero is worth nothing
    # there, but the weak variable outside covaries with the block.
    S = np.diag([4.0, 4.0, 3.0, 2.9, 1.0])
    S[0, 1] = S[1, 0] = 3.0
    S[0, 4] = S[4, 0] = 0.8
    fit = sp.spca_cov(S, 1, 3, screen=4, method="bcd-l0")
    assert np.flatnonzero(fit.loadings["PC1"]).tolist() == [0, 1, 4]


# --- when -------------------------------------------------------------------------------------------------


def test_without_screening_nothing_changes():
    op = forms(counts(150, 60, 2))["sparse"]
    for options in ({}, {"screen": False}):
        plan = make_plan(Request(2, 5, method="bcd-l0", further=options), op.p)
        fit = run(op, plan, 2, np.random.default_rng(0))
        values, vectors = op.leading(2)
        starts = starting_loadings(op, vectors, 1, np.random.default_rng(0))
        V, _ = order_and_sign(op, plan.solver.solve(op, 2, starts, np.random.default_rng(0)).V, np.zeros(2))
        assert fit.screening is None
        assert fit.solution.V.tobytes() == V.tobytes()
        assert fit.pca.tobytes() == values.tobytes()


class Stream(Gram):
    """An operator whose rows are not in memory."""

    out_of_core = True


def test_rows_out_of_memory_can_only_be_screened():
    op = Stream(forms(counts(150, 60, 2))["gram"].S)
    assert fitted(op, 2, 5).screening.unexcluded == 0
    with pytest.raises(OptionError, match="screen=False was given, but with 60 variables"):
        fitted(op, 2, 5, screen=False)
    with pytest.raises(OptionError, match="method='joint', or method='bcd-l0' with card="):
        fitted(op, 2, 5, objective="adjusted")
    plan = make_plan(Request(2, 5, method="greedy"), op.p)
    with pytest.raises(OptionError, match="method='joint', or method='bcd-l0' with card="):
        run(op, plan, 2, np.random.default_rng(0))


def test_refusals():
    R = sp.datasets.load_pitprops()
    for screen in ("yes", 2.5, [5]):
        with pytest.raises(OptionError, match="it must be True, False, or the number of variables"):
            sp.spca_cov(R, 2, 3, screen=screen, method="bcd-l0")
    for screen in (0, 14):
        with pytest.raises(OptionError, match="screen"):
            sp.spca_cov(R, 2, 3, screen=screen, method="bcd-l0")
    with pytest.raises(OptionError, match="screen=4 was given with card=5; a search needs at least"):
        sp.spca_cov(R, 2, (3, 5), screen=4, method="bcd-l0")
    with pytest.raises(OptionError, match="objective='adjusted'; variables can be screened with"):
        sp.spca_cov(R, 2, 3, screen=True, objective="adjusted", method="bcd-l0")
    with pytest.raises(OptionError, match="nonneg=True; variables can be screened with nonneg=False"):
        sp.spca_cov(R, 2, 3, screen=True, nonneg=True, method="bcd-l0")
    with pytest.raises(UnknownOptionError, match="methods that have it: 'bcd-l0'"):
        sp.spca_cov(R, 2, 3, screen=True, method="greedy")
    assert sp.spca_cov(R, 2, 3, screen=True, method="bcd-l0").options["screen"] is True
    one, other = (sp.spca_cov(R, 2, 3, method="bcd-l0", screen=screen) for screen in (False, None))
    assert one.loadings.equals(other.loadings)
