"""Ratios v'Av / v'Bv on supports, and every exchange of variables, against brute force."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.linalg import eigh

from spcastat.search.rayleigh import exchanges, whitened


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
    if kind == "pev":  # one column beside two others
        Q = np.linalg.qr(rng.standard_normal((p, 2)) * (rng.random((p, 2)) < 0.5))[0]
        P = np.eye(p) - Q @ Q.T
        return P @ S @ P, P
    if kind == "unrelated":
        Y = rng.standard_normal((p, p))
        return Y @ Y.T, S
    return S @ S, S


KINDS = ("unrelated", "definite", "duplicated", "low rank", "pev")


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


def test_a_support_on_which_nothing_varies():
    A, B = np.zeros((4, 4)), np.zeros((4, 4))
    B[3, 3] = A[3, 3] = 1.0
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
