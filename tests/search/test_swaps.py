"""Exchanges of single variables until none of all variables improves PEV."""

from __future__ import annotations

import numpy as np
import pytest

from spcastat.linalg.operators import Gram
from spcastat.search.working_set import improved

from .swapping import KINDS, best_swap, covariance, explained, loadings

P, CARD = 11, 3


def cases() -> list[tuple[str, int, int]]:
    return [(kind, k, seed) for kind in KINDS for k in (1, 2, 3) for seed in range(6)]


def polished(S: np.ndarray, V: np.ndarray, cards: tuple[int, ...]) -> tuple[np.ndarray, list[np.ndarray]]:
    """Return loadings that are improved from the variables of V on, and their supports."""
    used = np.flatnonzero(V.any(axis=1))
    inside = np.union1d(used, np.arange(max(cards)))
    found = improved(Gram(S), inside, [V[inside]], cards)
    assert found.left == 0
    W = np.zeros(V.shape)
    W[found.variables] = found.V
    return W, [np.flatnonzero(w) for w in W.T]


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


@pytest.mark.parametrize("cards", [(1, 1), (1, 4, 2), (P,), (P, 2)])
def test_a_polish_keeps_the_cardinality_of_every_component(cards):
    for seed in range(4):
        rng = np.random.default_rng(seed)
        S = covariance("full", P, rng)
        V = np.linalg.eigh(S)[1][:, ::-1][:, : len(cards)].copy()
        for i, card in enumerate(cards):
            V[np.argsort(-np.abs(V[:, i]))[card:], i] = 0.0
        V /= np.linalg.norm(V, axis=0)
        W, supports = polished(S, V, cards)
        assert tuple(map(len, supports)) == cards
        assert tuple(np.count_nonzero(W, axis=0)) == cards
        inner = [i for i, card in enumerate(cards) if card < P]
        if inner:
            assert best_swap(S, W, supports) <= 1e-8
