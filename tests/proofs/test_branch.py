"""The search finds the optimum, proves it, and tells no lie when it is stopped."""

from __future__ import annotations

import itertools

import numpy as np
import pytest

from spcastat.datasets import load_pitprops
from spcastat.linalg.eigenvectors import bordered_lower
from spcastat.proofs.one_component import prove
from spcastat.solvers.support_search import best_support, improve_support

from .conftest import matrices, values_of_supports

# Proven by exhaustive enumeration of all supports, cardinalities 1 to 13.
PITPROPS = (
    *(1.0, 1.954, 2.475331, 2.937479, 3.406155, 3.770960, 3.996190),
    *(4.068607, 4.138647, 4.172638, 4.208276, 4.218245, 4.218633),
)


def planted(p: int, rng: np.random.Generator) -> np.ndarray:
    """A correlation matrix with three factors."""
    X = rng.standard_normal((4 * p, p)) + 0.6 * rng.standard_normal((4 * p, 3)) @ rng.standard_normal((3, p))
    return np.corrcoef(X.T)


@pytest.fixture(scope="module")
def noise() -> tuple[np.ndarray, float]:
    """Correlations of pure noise, on which a proof takes some three hundred nodes, and the best value."""
    S = np.corrcoef(np.random.default_rng(20).standard_normal((60, 40)), rowvar=False)
    proof = prove(S, 8)
    assert proof.closed
    assert proof.nodes > 100
    return S, proof.value


def test_every_optimum_is_found_and_proven(rng):
    for kind, S in matrices(rng, 48, 9):
        for c in rng.choice(np.arange(1, len(S) + 1), size=2, replace=False).tolist():
            best = max(values_of_supports(S, c).values())
            proof = prove(S, c)
            where = f"{kind}, p={len(S)}, c={c}"
            assert proof.bound >= best * (1 - 1e-14), where
            assert proof.value == pytest.approx(best, rel=1e-12), where
            assert proof.closed, where
            assert not proof.stopped, where


@pytest.mark.parametrize("card", range(1, 14))
def test_pitprops(card):
    S = load_pitprops().to_numpy()
    proof = prove(S, card)
    assert proof.closed
    assert proof.value == pytest.approx(PITPROPS[card - 1], abs=6e-7)  # six decimals are given
    block = S[np.ix_(proof.support, proof.support)]
    assert np.linalg.eigvalsh(block)[-1] == pytest.approx(proof.value, rel=1e-13)
    assert proof.support.size <= card


def test_best_support_is_the_proven_optimum(rng):
    for _, S in matrices(rng, 32, 11):
        c = int(rng.integers(1, len(S) + 1))
        best = max(values_of_supports(S, c).values())
        value, support = best_support(S, c)
        assert value == pytest.approx(best, rel=1e-12)
        assert support.tolist() == sorted(set(support.tolist()))
        assert support.size == c


def test_best_support_does_not_depend_on_the_order_of_the_variables(rng):
    for _ in range(5):
        S = planted(40, rng)
        order = rng.permutation(40)
        value, support = best_support(S, 7)
        again, permuted = best_support(S[np.ix_(order, order)], 7)
        assert again == pytest.approx(value, rel=1e-12)
        assert sorted(order[permuted]) == support.tolist()


def test_best_support_of_tied_variables_takes_the_first():
    value, support = best_support(np.full((9, 9), 0.5) + 0.5 * np.eye(9), 4)
    assert value == pytest.approx(2.5)
    assert support.tolist() == [0, 1, 2, 3]


def test_ranking_of_exchanges_is_a_lower_bound(rng):
    """Newton steps rise towards the leading eigenvalue of the bordered matrix and never pass it."""
    values, border, corner = (
        rng.standard_normal((5, 40)),
        rng.standard_normal((5, 40)),
        rng.uniform(-1, 3, 40),
    )
    lower = bordered_lower(values, border**2, corner)
    for m in range(40):
        block = np.diag([*values[:, m], corner[m]])
        block[-1, :-1] = block[:-1, -1] = border[:, m]
        exact = np.linalg.eigvalsh(block)[-1]
        assert exact * (1 - 1e-3) <= lower[m] <= exact * (1 + 1e-12)


def test_improve_support_fills_and_exchanges(rng):
    S = planted(30, rng)
    value, support = best_support(S, 6)
    improved = improve_support(S, support[:3], 6)
    assert np.linalg.eigvalsh(S[np.ix_(improved, improved)])[-1] <= value * (1 + 1e-12)
    assert improved.size == 6
    assert improve_support(S, support, 6).tolist() == support.tolist()


def test_a_larger_problem_is_proven(rng):
    S = planted(60, rng)
    proof = prove(S, 6)
    assert proof.closed
    assert proof.argument == "exhaustive branch and bound"


def test_same_answer_twice(rng):
    S = planted(40, rng)
    one, two = prove(S, 7), prove(S, 7)
    assert (one.value, one.bound, one.nodes) == (two.value, two.bound, two.nodes)


@pytest.mark.parametrize("max_nodes", [0, 1, 5, 30])
def test_node_limit_gives_a_valid_bound(max_nodes, noise):
    S, best = noise
    proof = prove(S, 8, max_nodes=max_nodes)
    assert proof.nodes <= max_nodes
    assert proof.stopped == "node limit"
    assert proof.bound >= best
    assert not proof.closed


def test_no_time_at_all_gives_a_valid_bound(noise):
    S, best = noise
    proof = prove(S, 8, time_limit=0.0)
    assert proof.stopped == "time limit"
    assert proof.nodes == 0
    assert proof.bound >= best >= proof.value > 0
    assert not proof.closed


@pytest.mark.parametrize("when", [0, 3, 70])
def test_interruption_keeps_the_bound(when, noise):
    S, best = noise

    def interrupt(nodes: int) -> None:
        if nodes >= when:
            raise KeyboardInterrupt

    proof = prove(S, 8, callback=interrupt)
    assert proof.stopped == "interrupted"
    assert proof.nodes == when
    assert np.isfinite(proof.bound)
    assert proof.bound >= best
    assert not proof.closed


@pytest.mark.parametrize(
    "where", ["gershgorin_bound", "shift_to_definite", "eigenvalue_bound", "best_support", "split_bound"]
)
def test_interruption_before_the_first_node(where, noise, monkeypatch):
    S, best = noise

    def interrupt(*args, **options):
        raise KeyboardInterrupt

    monkeypatch.setattr(f"spcastat.proofs.one_component.{where}", interrupt)
    proof = prove(S, 8)
    assert proof.stopped == "interrupted"
    assert np.isfinite(proof.bound)
    assert proof.bound >= best


def test_matrices_without_variance():
    proof = prove(np.zeros((4, 4)), 2)
    assert proof.value == proof.bound == 0.0
    assert proof.closed
    assert proof.argument == "no variance left"


def test_an_indefinite_matrix_is_bounded_all_the_same(rng):
    """Nothing in the package passes one on, but a wrong proof would be worse than a refusal."""
    for _ in range(20):
        X = rng.standard_normal((9, 9))
        S = X + X.T + 3.0 * np.eye(9)
        S[0, 1] = S[1, 0] = 20.0  # far above the sum of the variances
        best = max(values_of_supports(S, 4).values())
        proof = prove(S, 4)
        assert proof.value == pytest.approx(best, rel=1e-12)
        assert proof.closed
        assert proof.bound >= best


@pytest.mark.parametrize("c", [3, 4])
def test_no_exchange_of_two_variables_improves_what_was_improved(c):
    """By enumeration of all pairs that leave and all that enter."""
    for seed in range(12):
        rng = np.random.default_rng(seed)
        A = rng.standard_normal((10, 8))
        S = A.T @ A
        T = improve_support(S, rng.choice(8, c, replace=False), c)
        value = np.linalg.eigvalsh(S[np.ix_(T, T)])[-1]
        free = np.setdiff1d(np.arange(8), T)
        for stay in itertools.combinations(T.tolist(), c - 2):
            for enter in itertools.combinations(free.tolist(), 2):
                U = [*stay, *enter]
                assert np.linalg.eigvalsh(S[np.ix_(U, U)])[-1] <= value * (1 + 1e-9)
