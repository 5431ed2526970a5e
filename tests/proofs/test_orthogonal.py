"""Proofs for orthogonal loadings: the dual, the climb, and what holds of them."""

from __future__ import annotations

from itertools import combinations

import numpy as np
import pytest

import spcastat as sp
from benchmarks import proofs
from spcastat.linalg.operators import Gram
from spcastat.proofs.duals import ordered_bounds, ordered_relaxation
from spcastat.proofs.jointly import certify_joint
from spcastat.proofs.orthogonal import Orthogonal, climb_orthogonal, search_orthogonal


def covariance(seed: int, p: int) -> np.ndarray:
    X = np.random.default_rng(seed).standard_normal((2 * p, p))
    S = X.T @ X
    return S / np.trace(S)


def supports_of(supports: list[list[int]], p: int) -> np.ndarray:
    held = np.zeros((1, p, len(supports)), dtype=bool)
    for j, T in enumerate(supports):
        held[0, T, j] = True
    return held


@pytest.mark.parametrize("seed", range(4))
def test_two_components_on_two_variables_have_a_closed_form(seed):
    """Orthonormal loadings on {0, 1} and {1, 2}: one is an axis of its own variable, the other loads on both.

    Or both are axes. v'w = v_1 w_1 = 0 leaves nothing else.
    """
    S = covariance(seed, 4)
    first = np.linalg.eigvalsh(S[:2, :2])[-1] + S[2, 2]
    second = np.linalg.eigvalsh(S[1:3, 1:3])[-1] + S[0, 0]
    best = max(first, second)
    held = supports_of([[0, 1], [1, 2]], 4)
    values = []
    for number in range(10):
        V, value = climb_orthogonal(S, held, np.random.default_rng(number), number > 0)
        np.testing.assert_allclose(V[0].T @ V[0], np.eye(2), atol=1e-8)
        assert (V[0] != 0).sum() <= 4
        assert not (V != 0)[~held].any()
        values.append(value[0])
    assert max(values) == pytest.approx(best, rel=1e-10)
    problem = Orthogonal(S, (2, 2))
    rows = [int(np.flatnonzero((problem.supports[0] == T).all(axis=1))[0]) for T in ([0, 1], [1, 2])]
    root = problem.root(problem.singles()[0])
    bounds = [problem.bounds([root], np.array([rows]), 0.0, n, lambda: True)[0] for n in (0, 10, 400)]
    assert best <= bounds[2] <= bounds[1] <= bounds[0]


def test_any_positive_matrix_is_a_proof():
    rng = np.random.default_rng(0)
    S = covariance(1, 6)
    supports = [[0, 1, 2], [2, 3], [1, 4, 5]]
    bases = [np.eye(6)[None, :, T] for T in supports]
    groups = [S[None][:, T][:, :, T] for T in supports]
    best = max(climb_orthogonal(S, supports_of(supports, 6), rng, True)[1][0] for _ in range(20))
    for _ in range(20):
        A = rng.standard_normal((1, 6, 6)) * rng.uniform(0.01, 0.3)
        assert (
            ordered_relaxation(groups, [1, 1, 1], [*bases]).certified((A @ A.swapaxes(1, 2))[None])[0] >= best
        )
    falling = [ordered_bounds(groups, [1, 1, 1], 0.0, n, bases=[*bases])[0] for n in (0, 10, 50, 400)]
    assert (np.diff(falling) <= 0).all()
    assert falling[-1] >= best


def test_no_bound_is_below_the_best_orthogonal_loadings_of_all_supports():
    """A sample; `python -m benchmarks.proofs` goes through 2000 problems."""
    for number, case in enumerate(proofs.cases(8, seed=2)):
        assert proofs.violations(case, "orthogonal", number) == []


@pytest.mark.slow
def test_orthogonal_loadings_have_a_tighter_bound():
    """Three components of three variables of pitprops: closed long before that for all loadings.

    On disjoint supports the sum of their leading eigenvalues is exact; all triples of such are gone through.
    """
    R = sp.datasets.load_pitprops().to_numpy() / 13
    triples = np.array(list(combinations(range(13), 3)))
    largest = np.linalg.eigvalsh(R[triples[:, :, None], triples[:, None, :]])[:, -1]
    bits = (1 << triples).sum(axis=1)
    apart = (bits[:, None] & bits) == 0
    pairs = np.where(apart, largest[:, None] + largest, -np.inf)
    disjoint, W = 0.0, np.zeros((13, 3))
    for i, row in enumerate(apart):
        rest = np.ix_(row, row)
        j, k = np.unravel_index(np.argmax(pairs[rest]), pairs[rest].shape)
        if largest[i] + pairs[rest][j, k] > disjoint:
            disjoint = largest[i] + pairs[rest][j, k]
    for j, T in enumerate(([0, 1, 2], [3, 4, 5], [6, 7, 8])):
        W[T, j] = np.linalg.eigh(R[np.ix_(T, T)])[1][:, -1]
    found = certify_joint(Gram(R), W, "pev", orthogonal=True)
    loose = certify_joint(Gram(R), W, "pev", max_nodes=found.nodes)
    assert disjoint * (1 - 1e-4) <= found.best_known <= found.upper_bound <= found.best_known * (1 + 1e-4)
    assert found.upper_bound < loose.upper_bound
    np.testing.assert_allclose(found.V.T @ found.V, np.eye(3), atol=1e-8)
    # the optimum of all loadings, from exhaustive triples; it has disjoint supports
    assert 100 * disjoint == pytest.approx(51.0742, abs=6e-5)


def best_of_pairs(S: np.ndarray) -> float:
    """PEV of the best two orthogonal components of two variables, from the closed forms of all supports.

    Disjoint supports: their largest eigenvalues. The same support: its trace. One variable in common: one of
    the components is an axis of its own variable.
    """
    p = len(S)
    top = {T: np.linalg.eigvalsh(S[np.ix_(T, T)])[-1] for T in combinations(range(p), 2)}
    values = [S[i, i] + S[j, j] for i, j in top]
    for T in top:
        values += [value + top[T] for U, value in top.items() if not set(T) & set(U)]
        values += [top[T] + S[j, j] for j in range(p) if j not in T]
    return max(values)


@pytest.mark.parametrize("seed", range(3))
def test_the_search_finds_the_best_of_all_supports(seed):
    S = covariance(seed, 6)
    start = np.linalg.eigh(S)[1][:, -2:]
    V, value = search_orthogonal(S, (2, 2), [start], np.random.default_rng(0))
    np.testing.assert_allclose(V.T @ V, np.eye(2), atol=1e-8)
    assert (np.count_nonzero(V, axis=0) <= 2).all()
    assert value == pytest.approx(np.trace(V.T @ S @ V), rel=1e-12)
    assert value == pytest.approx(best_of_pairs(S), rel=1e-9)
