"""The moves of the searches, one at a time, each against an enumeration or an eigenvalue of its own."""

from __future__ import annotations

from itertools import combinations
from types import SimpleNamespace

import numpy as np
import pytest
from scipy.linalg import eigh

from spcastat.operators import Gram
from spcastat.search import starting_fits as pool
from spcastat.search.climbing import deepened
from spcastat.search.default import held
from spcastat.search.fixed_supports import _line
from spcastat.search.new_component import _grown
from spcastat.search.one_nonzero_less import PATIENCE, Shrinking
from spcastat.search.small_matrices import whitening
from spcastat.search.sparsest import _Search, sparsest
from spcastat.search.symmetric_matrices import Dense
from spcastat.search.variance_target import TargetCriterion, VarianceTarget
from spcastat.solvers.support_search import _grow
from tests.search.conftest import draw


def shares(p: int, seed: int) -> np.ndarray:
    """A covariance matrix of total variance one."""
    S = draw(p, seed)
    return S / np.trace(S)


# --- growth ---------------------------------------------------------------------------------------


@pytest.mark.parametrize("seed", range(4))
def test_a_support_grows_by_the_best_variable_in_every_step(seed):
    S = draw(9, seed)
    expected = [seed]
    while len(expected) < 6:
        tops = {
            j: np.linalg.eigvalsh(S[np.ix_([*expected, j], [*expected, j])])[-1]
            for j in range(9)
            if j not in expected
        }
        expected.append(max(tops, key=tops.__getitem__))
    assert list(_grow(Gram(S), np.array([seed]), 6)) == expected


def test_a_grown_component_has_the_best_loadings_on_its_support():
    criterion = held(shares(8, 3), (4, 3, 2), "least_squares")
    rng = np.random.default_rng(1)
    places = np.array([np.concatenate([np.sort(rng.permutation(8)[:c]) for c in (4, 3, 2)])] * 3)
    fits = criterion.fits(places, rng.standard_normal(places.shape))
    criterion.empty(fits, np.arange(3), 0)
    model = criterion.model_given_others(fits)
    seeds = np.tile(np.arange(8), (3, 1))
    places, x = _grown(criterion, model, seeds, np.zeros(3, dtype=int), 0)
    for r in range(places.shape[1]):
        block = model.bordered(places[:, r], places[:, r, :0])
        for b, v in enumerate(x[:, r]):
            ratio = (v @ block.A[b] @ v) / (v @ block.M[b] @ v)
            # the ridge of 1e-9 that the inner product has as correlations
            assert ratio == pytest.approx(eigh(block.A[b], block.M[b])[0][-1], rel=1e-6)


def test_the_random_rows_that_start_components_are_different_ones():
    m = pool.ROWS + 20
    criterion = held(np.diag(np.linspace(2.0, 1.0, m)) / (1.5 * m), (3, 3), "pev")
    found = pool._rows(criterion, pool.empty(criterion, 40), np.random.default_rng(0))
    assert found.shape == (40, 2 * pool.FEW)
    for row in found:
        assert list(row[: pool.FEW]) == list(range(pool.FEW))  # those of largest variance
        assert len(set(row[pool.FEW :])) == pool.FEW


def test_no_variable_enters_a_support_that_has_it(monkeypatch):
    """Where one variable is left outside it is the only one to try, and all have the leading eigenvalue."""
    S = shares(6, 4)
    values, vectors = np.linalg.eigh(S)
    promise = VarianceTarget(0.9, False, values[-1:])
    shrinking = Shrinking(Dense(S), promise, PATIENCE["auto"], np.random.default_rng(0))
    now = shrinking._held(np.append(vectors[:5, -1], 0.0)[:, None])
    tried, fits = [], TargetCriterion.fits
    monkeypatch.setattr(
        TargetCriterion, "fits", lambda self, places, *x: tried.extend(places) or fits(self, places, *x)
    )
    found = shrinking._grown(now, 0)
    assert all(len(set(places)) == 6 for places in tried)
    # an ascent ends where a step raises the share by less than 1e-12 of itself
    assert found.criterion.added(found.fit.G)[0, 0] == pytest.approx(values[-1], rel=1e-9)


# --- exchanges ------------------------------------------------------------------------------------


def test_the_only_exchange_there_is_is_followed():
    criterion = held(np.diag([1.0, 2.0]) / 3.0, (1,), "pev")
    found = deepened(criterion, criterion.fits(np.array([[0]]), np.array([[1.0]])), 2, 1)
    assert found.places.tolist() == [[1]]
    assert found.value[0] == pytest.approx(2.0 / 3.0)


# --- fewer nonzeros -------------------------------------------------------------------------------


def test_the_best_fit_of_each_neighbouring_cardinalities_is_kicked_and_the_best_first(monkeypatch):
    S = shares(6, 1)
    promise = VarianceTarget(0.9, False, np.linalg.eigvalsh(S)[:-3:-1])
    patience = SimpleNamespace(climbs=1, neighbours=2)
    shrinking = Shrinking(Dense(S), promise, patience, np.random.default_rng(0))

    def near(value, *cards):
        return SimpleNamespace(value=value, kept=False, criterion=SimpleNamespace(cards=cards), fit=None)

    tries = [near(0.3, 2, 3), near(0.5, 3, 2), near(0.4, 2, 3), near(0.2, 4, 1)]
    monkeypatch.setattr(shrinking, "_dropped", lambda now: tries[:2])
    monkeypatch.setattr(shrinking, "_transferred", lambda now: tries[2:])
    monkeypatch.setattr(shrinking, "_climbed", lambda criterion, fit: tries[criterion.cards == (3, 2)])
    kicked = []
    monkeypatch.setattr(shrinking, "_kicked", kicked.append)
    assert shrinking._fewer(None) is None
    assert [(one.value, one.criterion.cards) for one in kicked] == [(0.5, (3, 2)), (0.4, (2, 3))]


def test_one_cardinality_may_be_that_of_all_variables_where_nothing_else_was_found():
    S = draw(6, 2)
    values, vectors = np.linalg.eigh(S)
    values, vectors = values[:-3:-1], vectors[:, :-3:-1]
    goal = VarianceTarget(0.999, True, values / np.trace(S))
    search = _Search(Gram(S), values, vectors, goal, "quick", np.random.default_rng(0))
    fit = search._proposal("one cardinality")
    # no component of three variables keeps 99.9 % of the first eigenvalue of this matrix
    tops = [np.linalg.eigvalsh(S[np.ix_(J, J)])[-1] for J in combinations(range(6), 3)]
    assert max(tops) < 0.999 * values[0]
    assert fit is not None
    assert goal.true(fit.V, Gram(S))


def test_only_longer_searches_turn_the_directions_and_only_for_the_total():
    def tried(effort, promise):
        return "one price, turned" in sparsest(Gram(draw(6, 2)), 2, 0.8, promise, effort).candidates

    assert tried("auto", "total")
    assert not tried("quick", "total")
    assert not tried("auto", "every")


def test_what_rounding_has_made_indefinite_is_whitened_all_the_same():
    B = np.ones((3, 3))
    B[0, 1:] = B[1:, 0] = 1.0 + 1e-8  # the cosine of no angle
    assert np.linalg.eigvalsh(B)[0] < 0.0
    K = whitening(B[None])[0]
    assert np.linalg.eigvalsh(K @ B @ K.T)[-1] == pytest.approx(1.0, abs=1e-5)


class Falling:
    """A criterion that is largest at zero."""

    def with_gradient(self, x, M, T):
        return -np.abs(x).sum(axis=1), -np.sign(x)


def test_a_fit_for_which_no_step_rises_stays_where_it_is():
    x, ahead = np.zeros((2, 3)), np.ones((2, 3))
    step, value, rise = np.ones(2), np.zeros(2), np.full(2, 3.0)
    new, better, _ = _line(Falling(), x, ahead, step, value, rise, np.zeros((2, 1, 1)), None)
    assert (new == 0.0).all()
    assert (better == 0.0).all()


def test_where_no_proposal_keeps_the_promise_dense_pca_is_where_the_search_begins(monkeypatch):
    S = draw(6, 2)
    monkeypatch.setattr(_Search, "proposals", lambda search: [])
    found = sparsest(Gram(S), 2, 0.9)
    assert found.winner == "PCA"
    assert set(found.candidates) == {"PCA"}
    values = np.linalg.eigvalsh(S)[:-3:-1] / np.trace(S)
    assert VarianceTarget(0.9, True, values).true(found.V, Gram(S))


def test_shrinking_goes_on_as_long_as_fewer_nonzeros_keep_the_promise():
    S = shares(8, 3)
    values, vectors = np.linalg.eigh(S)
    promise = VarianceTarget(0.8, False, values[:-3:-1])
    dense = vectors[:, :-3:-1]
    V = Shrinking(Dense(S), promise, PATIENCE["auto"], np.random.default_rng(0)).run(dense)
    assert np.count_nonzero(V) <= dense.size - 4
    assert promise.true(V, Gram(S))
