"""The search for the best support of one component, against all supports."""

from __future__ import annotations

import itertools

import numpy as np
import pytest

from spcastat.operators import Gram
from spcastat.solvers import support_search
from spcastat.solvers.support_search import (
    _as_supports,
    _best_exchange,
    _grow,
    _pair_exchange,
    _polish,
    _Pool,
    _truncated_power,
    _values,
    best_support,
    improve_support,
)


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
def test_an_exchange_of_one_is_the_best_of_all(c):
    found_some = found_none = 0
    for seed in range(12):
        S = covariance(seed)
        op, J = Gram(S), tuple(np.random.default_rng(seed).permutation(9)[:c])
        support = np.sort(J)
        value = largest(S, support)
        found = _best_exchange(op, np.diag(S), support, S[:, support], value)
        others = {K: largest(S, K) for K in exchanges(S, tuple(support), 1)}
        if max(others.values()) > value * (1 + 1e-9):
            assert found is not None
            assert found[1] == pytest.approx(max(others.values()), rel=1e-12)
            assert found[1] == pytest.approx(others[tuple(found[0].tolist())], rel=1e-12)
            found_some += 1
        else:
            assert found is None
        top = best_support(S, c)[1]
        assert _best_exchange(op, np.diag(S), top, S[:, top], largest(S, top)) is None
        found_none += 1
    assert found_some > 3
    assert found_none == 12


@pytest.mark.parametrize("c", [3, 4, 5])
@pytest.mark.parametrize("near", [600, 4])
def test_an_exchange_of_two_is_found_where_there_is_one(c, near, monkeypatch):
    monkeypatch.setattr(support_search, "PAIR_ORDER", near)
    found_some = 0
    for seed in range(15):
        S = covariance(seed)
        op, support = Gram(S), np.sort(np.random.default_rng(seed).permutation(9)[:c])
        value = largest(S, support)
        found = _pair_exchange(op, np.diag(S), support, S[:, support], value, lambda: True)
        others = {K: largest(S, K) for K in exchanges(S, tuple(support), 2)}
        if found is not None:
            assert found[1] > value
            assert others[tuple(found[0].tolist())] == pytest.approx(found[1], rel=1e-12)
            found_some += 1
        elif near > 9:
            assert max(others.values()) <= value * (1 + 1e-9)
        assert _pair_exchange(op, np.diag(S), support, S[:, support], value, lambda: False) is None
        top = best_support(S, c)[1]
        assert _pair_exchange(op, np.diag(S), top, S[:, top], largest(S, top), lambda: True) is None
    assert found_some > 3
    two = np.array([0, 1])
    assert _pair_exchange(op, np.diag(S), two, S[:, two], 0.0, lambda: True) is None


def test_polishing_ends_where_no_exchange_improves_and_where_it_has_been():
    for seed in range(8):
        S, visited = covariance(seed), set()
        start = np.sort(np.random.default_rng(seed).permutation(9)[:4])
        end = _polish(Gram(S), np.diag(S), start, lambda: True, visited)
        values = [largest(S, K) for K in exchanges(S, tuple(end), 1)]
        assert max(values) <= largest(S, end) * (1 + 1e-9)
        assert tuple(start.tolist()) in visited
        assert tuple(end.tolist()) in visited
        np.testing.assert_array_equal(_polish(Gram(S), np.diag(S), start, lambda: True, visited), start)
        np.testing.assert_array_equal(_polish(Gram(S), np.diag(S), start, lambda: False, set()), start)


def test_supports_grow_by_the_best_variable():
    for seed in range(6):
        S = covariance(seed)
        J = [int(np.argmax(np.diag(S)))]
        for c in range(2, 7):
            gains = {j: largest(S, [*J, j]) for j in range(9) if j not in J}
            J.append(max(gains, key=gains.__getitem__))
            assert _grow(Gram(S), np.array(J[:1]), c).tolist() == J
        full = improve_support(S, np.array(J[:2]), 5)
        assert largest(S, full) >= largest(S, J[:5]) * (1 - 1e-12)
        values = [largest(S, K) for n in (1, 2) for K in exchanges(S, tuple(full), n)]
        assert max(values) <= largest(S, full) * (1 + 1e-9)
        assert len(improve_support(S, np.array(J[:5]), 5)) == 5


def test_values_and_the_order_of_the_pool():
    S = covariance(3)
    supports = np.array([[0, 3, 5], [1, 2, 8], [0, 3, 5], [5, 3, 0]])
    wanted = [largest(S, J) for J in supports[:2]]
    np.testing.assert_allclose(_values(Gram(S), supports[:2]), wanted, rtol=1e-13)
    pool = _Pool(Gram(S), 3)
    pool.add(supports)
    assert list(pool.values) == [(0, 3, 5), (1, 2, 8)]
    pool.add(supports[1:2])
    assert len(pool.values) == 2
    for unit in (1.0, 1e-30, 1e30):
        pool.values = {(0, 1): 2.0 * unit, (0, 2): 3.0 * unit, (1, 2): 3.0 * (1 + 1e-13) * unit}
        assert [J.tolist() for J in pool.best(3)] == [[0, 2], [1, 2], [0, 1]]
    pool.values = {(0, 1): 0.0, (1, 2): 0.0}
    assert [J.tolist() for J in pool.best(5)] == [[0, 1], [1, 2]]


def at_rest(S: np.ndarray, v: np.ndarray, c: int) -> list[int]:
    """Yuan and Zhang's truncated power iteration from v, until a step leaves the support as it is."""
    J = np.sort(np.argsort(-np.abs(v))[:c])
    while True:
        w = np.zeros(len(S))
        w[J] = v[J] / np.linalg.norm(v[J])
        v = S @ w
        before, J = J, np.sort(np.argsort(-np.abs(v))[:c])
        if (before == J).all():
            return J.tolist()


def test_truncated_power_iterations_come_to_rest():
    for seed in range(4):
        S = covariance(seed)
        for j in range(9):
            found = _truncated_power(Gram(S), S[:, [j]], 3, lambda: True)
            assert found.tolist() == [at_rest(S, S[:, j], 3)]
        together = _truncated_power(Gram(S), S, 3, lambda: True)
        assert {tuple(J) for J in together.tolist()} <= {tuple(at_rest(S, s, 3)) for s in S.T}
    stopped = _truncated_power(Gram(S), S, 3, lambda: False)
    wanted = {tuple(sorted(np.argsort(-np.abs(column))[:3].tolist())) for column in S.T}
    assert wanted == {tuple(J) for J in stopped.tolist()}
    marks = np.array([[True, False], [False, True], [True, True]])
    np.testing.assert_array_equal(_as_supports(marks), [[0, 2], [1, 2]])


def test_a_search_that_is_stopped_has_a_support_all_the_same():
    S = covariance(7)
    for calls in (0, 1, 3, 8):
        left = iter([True] * calls)
        value, support = best_support(S, 4, running=lambda left=left: next(left, False))
        assert value == pytest.approx(largest(S, support), rel=1e-12)
        assert len(support) == 4
    assert best_support(S, 4, seeds=1, pairs=False)[0] <= best(S, 4) * (1 + 1e-12)
