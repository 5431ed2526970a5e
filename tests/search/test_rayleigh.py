"""Ratios v'Av / v'Bv on supports, and every exchange of variables, against brute force."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.linalg import eigh

from spcastat.search.objectives import LeastSquares, Pev, Problem
from spcastat.search.rayleigh import best_values, exchanges, promising, whitened


def largest(A: np.ndarray, B: np.ndarray, support: np.ndarray) -> float:
    """The largest ratio on a support, over the directions in which B is not zero."""
    block = np.ix_(support, support)
    size, turn = np.linalg.eigh(B[block])
    kept = turn[:, size > 1e-9 * max(size[-1], 0.0)]
    if kept.shape[1] == 0:
        return 0.0
    return float(eigh(kept.T @ A[block] @ kept, kept.T @ B[block] @ kept, eigvals_only=True)[-1])


def pencil(kind: str, p: int, rng: np.random.Generator) -> tuple[np.ndarray, np.ndarray]:
    """A and B, of which A is zero where B is: as the columns of a joint search see them."""
    X = rng.standard_normal((3 * p, p)) * rng.uniform(0.5, 2.0, p)
    if kind == "duplicated":
        X[:, 1] = X[:, 0]
        X[:, 4] = -2.0 * X[:, 3]
    if kind == "low rank":
        X = X[:3]
    S = X.T @ X / len(X)
    if kind in ("pev", "least squares"):
        V = rng.standard_normal((p, 3))
        V[rng.random((p, 3)) < 0.5] = 0.0
        V[0] += 0.1
        objective = (Pev if kind == "pev" else LeastSquares)(Problem(S, S @ S, float(np.trace(S))))
        return objective.block(V, 1)
    if kind == "unrelated":
        Y = rng.standard_normal((p, p))
        return Y @ Y.T, S
    return S @ S, S


KINDS = ("unrelated", "definite", "duplicated", "low rank", "pev", "least squares")


@pytest.mark.parametrize("kind", KINDS)
def test_exchanges_against_brute_force(kind):
    rng = np.random.default_rng(KINDS.index(kind))
    p = 9
    for s in (1, 2, 4, 8):
        A, B = pencil(kind, p, rng)
        support = np.sort(rng.choice(p, s, replace=False))
        outside = np.setdiff1d(np.arange(p), support)
        leaving = np.arange(s)[::-1] if s > 2 else np.arange(s)
        table = exchanges(A, B, support, leaving, outside)
        assert table.shape == (s, p - s)
        for a, out in enumerate(leaving):
            for b, into in enumerate(outside):
                new = np.append(np.delete(support, out), into)
                assert table[a, b] == pytest.approx(largest(A, B, new), rel=1e-7), (kind, s, out, into)


@pytest.mark.parametrize("kind", KINDS)
def test_best_values_on_a_support(kind):
    rng = np.random.default_rng(100 + KINDS.index(kind))
    for s in (1, 2, 5, 9):
        A, B = pencil(kind, 9, rng)
        support = np.sort(rng.choice(9, s, replace=False))
        ratio, v = best_values(A, B, support)
        assert ratio == pytest.approx(largest(A, B, support), rel=1e-7)
        assert np.linalg.norm(v) == pytest.approx(1.0)
        assert not np.delete(v, support).any()
        assert v @ A @ v == pytest.approx(ratio * (v @ B @ v), rel=1e-6, abs=1e-9)


def test_a_support_on_which_nothing_varies():
    A, B = np.zeros((4, 4)), np.zeros((4, 4))
    B[3, 3] = A[3, 3] = 1.0
    ratio, v = best_values(A, B, np.array([0, 2]))
    assert ratio == 0.0
    assert np.linalg.norm(v) == 1.0
    table = exchanges(A, B, np.array([0, 2]), np.array([0, 1]), np.array([1, 3]))
    assert table == pytest.approx(np.array([[0.0, 1.0], [0.0, 1.0]]))


def test_whitened_stacks():
    rng = np.random.default_rng(3)
    pairs = [pencil(kind, 5, rng) for kind in ("definite", "duplicated", "low rank")]
    A, B = (np.array([pair[j] for pair in pairs]) for j in (0, 1))
    values, U = whitened(A, B)
    for a, b, w, u in zip(A, B, values, U, strict=True):
        assert u.T @ a @ u == pytest.approx(np.diag(w), abs=1e-8)
        inner = u.T @ b @ u
        assert inner == pytest.approx(np.diag(np.diag(inner)), abs=1e-8)
        assert np.isin(np.round(np.diag(inner), 6), [0.0, 1.0]).all()


def test_the_promising_exchanges_are_some_of_all():
    rng = np.random.default_rng(2)
    A, B = pencil("definite", 12, rng)
    support = np.arange(5)
    ratio, v = best_values(A, B, support)
    leaving, entering = promising(A, B, support, v, ratio, 60)
    assert (sorted(leaving), sorted(entering)) == (list(range(5)), list(range(5, 12)))
    leaving, entering = promising(A, B, support, v, ratio, 3)
    assert len(leaving) == len(entering) == 3
    assert set(entering) <= set(range(5, 12))
