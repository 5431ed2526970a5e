"""Searches among some of many variables, and the exchanges that bring others in."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pandas as pd
import pytest
import scipy.sparse

import spcastat as sp
from spcastat.linalg.operators import Gram, SparseRows
from spcastat.linalg.standardisation import prepare
from spcastat.measures import MEASURES
from spcastat.search import climbing, correlated_groups, joint_search, working_set
from spcastat.search import moves as exchange
from spcastat.search.chains import Evidence, from_directions
from spcastat.search.climbing import EFFORTS, climb, exchange_until_optimal
from spcastat.search.correlated_groups import groups_of
from spcastat.search.joint_search import joint
from spcastat.search.matrices import Dense, Known
from spcastat.search.objectives import OBJECTIVES
from spcastat.search.working_set import OUTSIDE_EXCHANGES
from tests.search.conftest import KINDS, best_swap, covariance, explained, loadings


class Passes(Gram):
    """A covariance matrix that counts how often it is asked for something."""

    out_of_core = True
    passes = 0

    def dot(self, V):
        self.passes += 1
        return super().dot(V)

    def columns(self, J):
        self.passes += 1
        return super().columns(J)

    def block(self, J):
        self.passes += 1
        return super().block(J)


def draw(p: int, seed: int) -> np.ndarray:
    rng = np.random.default_rng(seed)
    return np.cov(rng.standard_normal((2 * p, p)) @ rng.standard_normal((p, p)), rowvar=False)


def test_a_matrix_known_by_some_columns_is_that_matrix():
    S = draw(12, 0)
    inside, rng = np.array([1, 4, 5, 9]), np.random.default_rng(1)
    known, whole = Known(inside, S[:, inside], np.diag(S)), Dense(S)
    places, x = np.array([[1, 5], [9, 4]]), rng.standard_normal((2, 2))
    np.testing.assert_allclose(known.products(places, x), whole.products(places, x), rtol=1e-12)
    every = np.tile(np.arange(12), (2, 1))
    np.testing.assert_array_equal(known.blocks(places, every), whole.blocks(places, every))
    one_more = np.array([[1, 5, 7], [9, 0, 4]])  # a variable that enters meets those inside and itself
    np.testing.assert_array_equal(known.blocks(one_more, one_more), whole.blocks(one_more, one_more))
    np.testing.assert_array_equal(known.diagonal(), np.diag(S))


def test_a_million_variables_are_searched_in_parts(monkeypatch):
    # the bounds on memory and time, brought down to 300 variables: components that the data were made of
    # are found, and no array of all variables by as many rows of the covariance matrix is made
    rng = np.random.default_rng(0)
    factors = rng.standard_normal((100, 2)) * [3.0, 2.0]
    X = scipy.sparse.random(100, 300, 0.1, "lil", rng=rng)
    X[:, 40:60] = np.repeat(factors, 10, axis=1)
    for module, name, value in (
        (joint_search, "GRAM_LIMIT", 100),
        (joint_search, "MANY_VARIABLES", 200),
        (correlated_groups, "ENTRIES_AT_ONCE", 3000),
        (correlated_groups, "ENTRIES", 30_000),
        (exchange, "ENTERING_AT_ONCE", 70),
    ):
        monkeypatch.setattr(module, name, value)
    asked = []
    columns = SparseRows.columns
    monkeypatch.setattr(SparseRows, "columns", lambda op, J: (asked.append(len(J)), columns(op, J))[1])
    op = prepare(X.tocsr(), None, True, False, pd.RangeIndex(300), True)[1]
    found = joint(op, 2, (10, 10), "adjusted", "auto")
    assert [np.flatnonzero(v).tolist() for v in found.V.T] == [list(range(40, 50)), list(range(50, 60))]
    assert found.sufficient
    assert max(asked) <= 20  # ten rows at once; twenty are those of the supports


@pytest.mark.sweep
@pytest.mark.parametrize(("operator", "seed"), [(Gram, 0), (Passes, 1)])
@pytest.mark.parametrize(
    ("k", "card", "objective"),
    [(1, (4,), "adjusted"), (2, (4, 3), "adjusted"), (2, (3, 3), "pev"), (2, (4, 3), "least_squares")],
)
def test_variables_that_improve_the_fit_are_brought_in(operator, seed, k, card, objective, monkeypatch):
    # so few are searched at first that others have to enter; what is found must be what all variables give
    S = draw(60, seed)
    best = joint(Gram(S), k, card, objective, "auto")
    with monkeypatch.context() as patch:  # no matrix is held, and sets have four variables and more
        limits = (
            (joint_search, "GRAM_LIMIT", 2),
            (working_set, "SEARCHED_WHOLE", 2),
            (working_set, "WORKING_SET", 4),
            (working_set, "WORKING_SET_OF_ONE", 4),
        )
        for module, name, value in (*limits, (working_set, "WORKING_SET_PER_NONZERO", 0)):
            patch.setattr(module, name, value)
        op = operator(S)
        found = joint(op, k, card, objective, "auto", np.random.default_rng(0))
    assert found.value == pytest.approx(MEASURES[objective](found.V, Gram(S))[-1], rel=1e-10)
    if objective == "least_squares":  # which counts the variables outside, without exchanging all
        explained = np.linalg.solve(found.V.T @ S @ found.V, found.V.T @ S @ S @ found.V)
        assert found.value == pytest.approx(np.trace(explained) / np.trace(S), rel=1e-10)
        assert (operator is Gram) or (found.sufficient is found.settled is None)
        return
    assert found.sufficient
    assert found.variables < 60
    assert found.V.shape == (60, k)
    # no exchange improves it, so it is a local optimum at least as good as those with few exchanges
    assert 0.9 * best.value <= found.value <= best.value * (1.0 + 1e-9)
    assert operator is Gram or op.passes < 60


@pytest.mark.parametrize("objective", ["pev", "adjusted", "least_squares"])
def test_a_criterion_on_some_variables_is_a_share_of_the_variance_of_all(objective):
    S = draw(8, 3) * 40.0
    variables = np.array([1, 2, 4, 5, 7])
    criterion = working_set.criterion_on(Gram(S), variables, (2, 2), objective)
    fits = criterion.fits(np.array([[0, 1, 3, 4]]), np.array([[0.6, 0.8, 0.6, -0.8]]))
    V = np.zeros((8, 2))
    V[variables] = criterion.dense(fits)[0]
    assert fits.value[0] == pytest.approx(MEASURES[objective](V, Gram(S))[-1], rel=1e-6)


def test_scores_of_groups_are_lower_bounds_of_their_variances_given_other_components():
    S = draw(20, 1)
    S /= np.trace(S)
    groups = groups_of(Gram(S), 4, np.ones(20), 20, np.random.default_rng(0))
    V = np.random.default_rng(2).standard_normal((20, 3))
    F = V.T @ S
    left = S - F.T @ np.linalg.solve(F @ V, F)  # the Schur complement
    scores = groups.scores(F, np.linalg.inv(F @ V))
    for j, score in enumerate(scores):
        v = np.zeros(20)
        v[groups.places[j]] = groups.x[j]
        assert set(groups.places[j]) == set(np.argsort(-np.abs(S[groups.rows[j]]))[:4])
        assert score <= v @ left @ v * (1.0 + 1e-9)
    best = groups.best_groups(scores, 3)
    assert best[0] == np.argmax(scores)
    taken = [set(groups.places[j]) for j in best]
    assert all(groups.rows[b] not in own for a, own in enumerate(taken) for b in best[a + 1 :])


@pytest.fixture(scope="module")
def counts():
    """Counts of words in documents, two topics of six words each: sparse, more variables than GRAM_LIMIT."""
    rng = np.random.default_rng(3)
    rates = np.full((400, 1200), 0.03)
    for first, weight in ((0, 0.9), (6, 0.7)):
        rates[np.ix_(rng.random(400) < 0.3, np.arange(first, first + 6))] += weight
    return scipy.sparse.csr_array(rng.poisson(rates).astype(float))


def test_topics_are_found_among_many_sparse_columns(counts):
    words = [set(np.flatnonzero(v)) for v in sp.spca(counts, 2, 6).loadings.to_numpy().T]
    assert words[0] | words[1] == set(range(12))


def test_components_that_one_group_explains_in_part_are_found():
    # ten variables are the sum of four orthogonal factors, whose own ten variables each have more variance
    # together; PCA of all 1200 variables shows the ten other factors, of which no ten variables have much
    rng = np.random.default_rng(0)
    F = np.linalg.qr(rng.standard_normal((200, 14)))[0] * np.sqrt(200)
    X = rng.standard_normal((200, 1200))
    X[:, :10] = F[:, :4].sum(axis=1, keepdims=True) / 2 + 0.05 * X[:, :10]
    X[:, 10:50] = 0.95 * np.repeat(F[:, :4], 10, axis=1) + 0.3 * X[:, 10:50]
    X[:, 50:] += 0.5 * F[:, 4:] @ rng.standard_normal((10, 1150))
    V = sp.spca(X, 4, 10, scale=True, effort="quick").loadings.to_numpy()
    found = sorted(np.flatnonzero(v).tolist() for v in V.T)
    assert found == [list(range(a, a + 10)) for a in range(10, 50, 10)]


@pytest.mark.parametrize("limit", [2, 1000])
def test_with_many_nonzeros_all_exchanges_are_tried_by_a_thorough_search_only(monkeypatch, limit):
    """In a working set, and on all variables."""
    monkeypatch.setattr(joint_search, "GRAM_LIMIT", limit)
    monkeypatch.setitem(climbing.EFFORTS, "auto", replace(climbing.EFFORTS["auto"], deep_up_to=5))
    S = draw(30, 0)
    few, many = (joint(Gram(S), 2, card, "adjusted", "auto") for card in ((3, 2), (3, 3)))
    thorough = joint(Gram(S), 2, (3, 3), "adjusted", "thorough")
    assert (few.settled, many.settled, thorough.settled) == (True, None, True)
    assert many.value <= thorough.value * (1.0 + 1e-12)


# --- exchanges ------------------------------------------------------------------------------------------


P, CARD = 11, 3


def cases() -> list[tuple[str, int, int]]:
    return [(kind, k, seed) for kind in KINDS for k in (1, 2, 3) for seed in range(6)]


def polished(S: np.ndarray, V: np.ndarray, cards: tuple[int, ...]) -> tuple[np.ndarray, list[np.ndarray]]:
    """Return loadings that are improved from V on by exchanges, and their supports."""
    criterion = OBJECTIVES["pev"].criterion.of_matrix(S / np.trace(S), cards)
    fits = climb(criterion, from_directions(criterion, [V]), len(S), OUTSIDE_EXCHANGES)
    W = criterion.dense(exchange_until_optimal(criterion, fits))[0]
    return W, [np.flatnonzero(w) for w in W.T]


@pytest.mark.sweep
@pytest.mark.parametrize(("kind", "k", "seed"), cases())
def test_a_polish_ends_where_no_swap_improves(kind, k, seed):
    rng = np.random.default_rng([KINDS.index(kind), k, seed, 1])
    S, V = covariance(kind, P, rng), loadings(P, k, CARD, rng)
    before = explained(S, V)
    W, supports = polished(S, V, (CARD,) * k)
    assert [len(support) for support in supports] == [CARD] * k
    assert explained(S, W) >= before * (1.0 - 1e-12)
    np.testing.assert_allclose(np.linalg.norm(W, axis=0), 1.0, rtol=1e-10)
    assert not any(W[np.setdiff1d(np.arange(P), support), i].any() for i, support in enumerate(supports))
    # GAIN is 1e-9; the other eight digits are those that brute force has where loadings nearly coincide
    assert best_swap(S, W, supports) <= 1e-8


@pytest.mark.parametrize("seed", range(3))
def test_one_variable_more_than_a_thousand_costs_no_value(seed):
    # The column that is added has no variance to speak of, so that the best fits are the same. A search of
    # another kind for the 1001 variables lost 1 to 2 % in noise.
    X = np.random.default_rng(seed).standard_normal((200, 1001))
    X[:, -1] *= 1e-3
    thousand, one_more = (
        sp.spca(X[:, :p], 3, card=10, scale=False, effort="quick").objective_value for p in (1000, 1001)
    )
    assert abs(one_more / thousand - 1.0) < 1e-3


@pytest.mark.parametrize("seed", [0, 1, 2])
def test_a_quick_search_for_one_of_many_variables_finds_a_planted_component(seed):
    rng = np.random.default_rng(seed)
    X = rng.standard_normal((80, 1200))
    X[:, 100:112] += 1.5 * rng.standard_normal((80, 1))
    default_fit = sp.spca(X, 1, card=12, scale=False)
    quick_fit = sp.spca(X, 1, card=12, scale=False, effort="quick")
    for fit in (quick_fit, default_fit):
        assert np.flatnonzero(fit.loadings.to_numpy()[:, 0]).tolist() == list(range(100, 112))
    assert quick_fit.objective_value == pytest.approx(default_fit.objective_value, rel=1e-12)


def test_a_quick_search_rebuilds_a_component_that_its_climbs_leave_behind():
    # Of three groups of variables the last has more variance than the second; exchanges one by one lose
    # variance, so that climbs from the first two groups end there.
    rng = np.random.default_rng(0)
    X = rng.standard_normal((400, 330))
    for i, strength in enumerate((3.0, 2.0, 2.2)):
        X[:, 10 * i : 10 * i + 10] += strength * rng.standard_normal((400, 1))
    S = np.cov(X, rowvar=False)
    criterion = OBJECTIVES["adjusted"].criterion.of_matrix(S / np.trace(S), (10, 10))
    loadings = np.zeros((330, 2))
    loadings[:10, 0] = loadings[10:20, 1] = 1.0
    start = from_directions(criterion, [loadings])
    climbed = climb(criterion, start, 40, 3)
    assert np.flatnonzero(criterion.dense(climbed)[0].any(axis=1)).tolist() == list(range(20))
    found = working_set._quickly_climbed(criterion, start, EFFORTS["quick"], Evidence())
    supports = [np.flatnonzero(v).tolist() for v in criterion.dense(found)[0].T]
    assert supports == [list(range(10)), list(range(20, 30))]
