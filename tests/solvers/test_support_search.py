"""The search for the best support of one component, against all supports."""

from __future__ import annotations

import itertools

import numpy as np
import pytest

from spcastat.linalg.operators import Gram
from spcastat.solvers.support_search import best_support, improve_support


def covariance(seed: int, p: int = 9) -> np.ndarray:
    rng = np.random.default_rng(seed)
    A = rng.standard_normal((2 * p, p)) @ rng.standard_normal((p, p))
    return A.T @ A / (2 * p)


def largest(S: np.ndarray, J) -> float:
    return float(np.linalg.eigvalsh(S[np.ix_(J, J)])[-1])


def best(S: np.ndarray, c: int) -> float:
    return max(largest(S, J) for J in itertools.combinations(range(len(S)), c))


def exchanges(S: np.ndarray, J: tuple[int, ...], count: int) -> list[tuple[int, ...]]:
    """All supports with `count` variables of J exchanged for others."""
    free = [j for j in range(len(S)) if j not in J]
    return [
        tuple(sorted({*J} - {*out} | {*into}))
        for out in itertools.combinations(J, count)
        for into in itertools.combinations(free, count)
    ]


@pytest.mark.parametrize("c", range(1, 10))
def test_the_best_of_all_supports_is_found(c):
    for seed, unit in enumerate((1.0, 2.0**-80, 2.0**80)):
        S = covariance(seed)
        value, support = best_support(S * unit, c)
        assert value == pytest.approx(best(S, c) * unit, rel=1e-12)
        assert value == pytest.approx(largest(S, support) * unit, rel=1e-12)
        assert support.tolist() == sorted(set(support.tolist()))
        assert len(support) == c
        np.testing.assert_array_equal(best_support(Gram(S * unit), c)[1], support)


def test_of_equal_variables_the_first_are_taken():
    for S in (np.eye(6), np.full((6, 6), 0.5) + 0.5 * np.eye(6)):
        for c in (1, 2, 3, 6):
            assert best_support(S, c)[1].tolist() == list(range(c))
    assert best_support(np.zeros((4, 4)), 2)[0] == 0.0


@pytest.mark.parametrize("c", [2, 3, 4, 6])
def test_no_exchange_of_one_or_two_variables_improves_an_improved_support(c):
    for seed in (*range(8), 26, 51, 55, 106):
        S = covariance(seed)
        start = np.random.default_rng(seed).permutation(9)[: c - seed % 2]
        found = improve_support(S, start, c)
        assert len(set(found.tolist())) == c
        assert largest(S, found) >= largest(S, start)
        values = [largest(S, K) for n in (1, min(c - 1, 2)) for K in exchanges(S, tuple(found), n)]
        assert max(values) <= largest(S, found) * (1 + 1e-9)
        top = best_support(S, c)[1]
        np.testing.assert_array_equal(improve_support(S, top, c), top)


def test_supports_grow_by_the_best_variable():
    for seed in range(6):
        S = covariance(seed)
        J = [int(np.argmax(np.diag(S)))]
        for _ in range(4):
            gains = {j: largest(S, [*J, j]) for j in range(9) if j not in J}
            J.append(max(gains, key=gains.__getitem__))
        assert largest(S, improve_support(S, np.array(J[:2]), 5)) >= largest(S, J) * (1 - 1e-12)


def test_a_search_that_is_stopped_has_a_support_all_the_same():
    S = covariance(7)
    for calls in (0, 1, 3, 8):
        left = iter([True] * calls)
        value, support = best_support(S, 4, running=lambda left=left: next(left, False))
        assert value == pytest.approx(largest(S, support), rel=1e-12)
        assert len(support) == 4
    assert best_support(S, 4, seeds=1, pairs=False)[0] <= best(S, 4) * (1 + 1e-12)
