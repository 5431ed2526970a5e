"""The default search where a product with the covariance matrix is a pass over the rows."""

from __future__ import annotations

import re

import numpy as np
import pandas as pd
import pytest
import scipy.sparse

import spcastat as sp
from spcastat.operators import Gram, prepare
from spcastat.operators.rows import SparseRows
from spcastat.search import outofcore
from spcastat.search.default import joint
from spcastat.search.moments import Dense
from spcastat.search.outofcore import Known, joint_of_passes


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


@pytest.mark.parametrize(
    ("k", "card", "objective"), [(1, (4,), "adjusted"), (2, (4, 3), "adjusted"), (2, (3, 3), "pev")]
)
def test_variables_that_improve_the_fit_are_brought_in(monkeypatch, k, card, objective):
    # so few are searched at first that others have to enter; what is found must be what all variables give
    monkeypatch.setattr(outofcore, "LEAST", 4)
    monkeypatch.setattr(outofcore, "EACH", 1)
    for seed in range(2):
        S = draw(30, seed)
        op = Passes(S)
        found = joint_of_passes(op, k, card, objective, "auto", np.random.default_rng(0))
        best = joint(Gram(S), k, card, objective, "auto")
        assert found.sufficient
        assert found.variables.size < 30
        assert found.V.shape == (30, k)
        # no exchange improves it, so it is a local optimum at least as good as those with few exchanges
        assert 0.97 * best.value <= found.value <= best.value * (1.0 + 1e-9)
        assert op.passes < 60


def test_enough_variables_at_first_give_the_same_fit():
    S = draw(30, 5)
    found = joint_of_passes(Passes(S), 2, (4, 3), "adjusted", "quick", np.random.default_rng(0))
    best = joint(Gram(S), 2, (4, 3), "adjusted", "quick", np.random.default_rng(0))
    np.testing.assert_allclose(found.V, best.V, atol=1e-12)
    assert found.value == pytest.approx(best.value, rel=1e-12)


def test_the_least_squares_share_counts_the_variables_outside(monkeypatch):
    monkeypatch.setattr(outofcore, "LEAST", 10)
    monkeypatch.setattr(outofcore, "EACH", 1)
    S = draw(30, 3)
    found = joint_of_passes(Passes(S), 2, (4, 3), "least_squares", "quick", np.random.default_rng(0))
    V = found.V
    explained = np.trace(np.linalg.solve(V.T @ S @ V, V.T @ S @ S @ V)) / np.trace(S)
    assert found.value == pytest.approx(explained, rel=1e-10)
    assert found.sufficient is None
    assert found.settled is None


@pytest.fixture(scope="module")
def counts():
    """Counts of words in documents, two topics of six words each: sparse rows of more variables than HELD."""
    rng = np.random.default_rng(3)
    rates = np.full((400, 1200), 0.03)
    for first, weight in ((0, 0.9), (6, 0.7)):
        rates[np.ix_(rng.random(400) < 0.3, np.arange(first, first + 6))] += weight
    return scipy.sparse.csr_array(rng.poisson(rates).astype(float))


def test_many_sparse_rows_get_the_same_fit_from_fewer_products(counts, monkeypatch):
    made = []
    plain = SparseRows.adjoint
    monkeypatch.setattr(SparseRows, "adjoint", lambda op, U: (made.append(U.size), plain(op, U))[1])
    usual = sp.spca(counts, 2, 6)
    before = sum(made)
    made.clear()
    monkeypatch.setattr(outofcore, "MANY", 1000)
    fewer = sp.spca(counts, 2, 6)
    assert sum(made) < before / 2
    np.testing.assert_allclose(fewer.loadings, usual.loadings, atol=1e-7)  # of rounding, by an ascent
    assert set(np.flatnonzero(fewer.loadings.to_numpy()[:, 0])) | set(
        np.flatnonzero(fewer.loadings.to_numpy()[:, 1])
    ) == set(range(12))
    assert "searched among" in str(fewer)


def test_the_search_of_very_many_sparse_rows_is_thorough(counts, monkeypatch):
    monkeypatch.setattr(outofcore, "MANY", 1000)
    usual = sp.spca(counts, 2, 6)
    thorough = sp.spca(counts, 2, 6, effort="thorough")
    monkeypatch.setattr(outofcore, "MOST", 1000)
    found, quick = sp.spca(counts, 2, 6), sp.spca(counts, 2, 6, effort="quick")
    starts = [int(re.search(r"best of (\d+) start", str(fit))[1]) for fit in (usual, thorough, found, quick)]
    assert starts[3] < starts[0] < starts[1] == starts[2]


def test_few_products_are_for_what_stores_much(counts):
    op = prepare(counts, None, True, False, pd.RangeIndex(1200))[1]
    assert not outofcore.saves_products(op, (6, 6), "adjusted")  # 17,000 stored numbers
    assert outofcore.saves_products(op, (6,), "adjusted")
    assert not outofcore.saves_products(op, (6,), "least_squares")


def test_leading_pairs_of_rows_are_found_once(counts):
    op = prepare(counts, None, True, False, pd.RangeIndex(1200))[1]
    values, vectors = op.leading(2)
    vectors[:] = 0.0  # the caller's own
    again, kept = op.leading(2)
    np.testing.assert_array_equal(again, values)
    np.testing.assert_allclose(kept.T @ kept, np.eye(2), atol=1e-12)
    np.testing.assert_allclose(op.dot(kept), kept * values, atol=1e-9 * values[0])
