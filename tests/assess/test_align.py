"""Components of a draw are matched with those of the fit by their scores, and nothing else changes."""

from __future__ import annotations

import itertools

import numpy as np
import pytest

from spcastat.assess.refit import align
from spcastat.linalg.operators import Gram


def sparse_loadings(rng, p=12, k=4, card=5):
    V = np.zeros((p, k))
    for j in range(k):
        V[rng.choice(p, card, replace=False), j] = rng.normal(size=card)
    return V / np.linalg.norm(V, axis=0)


@pytest.fixture
def op():
    X = np.random.default_rng(0).normal(size=(60, 12)) @ np.diag(np.linspace(1, 3, 12))
    return Gram(np.cov(X.T))


def test_order_and_signs_are_undone_to_the_bit(op):
    V = sparse_loadings(np.random.default_rng(1))
    mixed = V[:, [2, 0, 3, 1]] * [-1.0, 1.0, -1.0, 1.0]
    found = align(mixed, V, op)
    np.testing.assert_array_equal(found.V, V)
    np.testing.assert_array_equal(found.order, [1, 3, 0, 2])
    np.testing.assert_allclose(found.similarity, 1.0, atol=1e-12)  # rounding of products
    assert not np.signbit(found.V[found.V == 0]).any()


@pytest.mark.parametrize("seed", range(5))
def test_the_assignment_is_the_best_of_all(op, seed):
    rng = np.random.default_rng(seed)
    V, W = sparse_loadings(rng), sparse_loadings(rng)
    sd = np.sqrt(np.diag(W.T @ op.S @ W))[:, None] * np.sqrt(np.diag(V.T @ op.S @ V))
    r = np.abs(W.T @ op.S @ V / sd)
    best = max(sum(r[j, i] for i, j in enumerate(order)) for order in itertools.permutations(range(4)))
    found = align(W, V, op)
    assert found.similarity.sum() == pytest.approx(best, rel=1e-12)
    assert (np.einsum("ij,ij->j", found.V, op.S @ V) >= 0).all()


def test_a_component_without_variance_gets_what_is_left():
    op = Gram(np.diag([1.0, 2.0, 0.0]))
    reference = np.eye(3)[:, [1, 2]]
    found = align(np.eye(3)[:, [2, 1]] * -1.0, reference, op)
    np.testing.assert_array_equal(found.V, reference)
    np.testing.assert_allclose(found.similarity, [1.0, 0.0], atol=1e-15)
