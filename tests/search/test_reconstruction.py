"""PEV with its gradient, and the orthogonal bases behind it."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.linalg import eigh

from spcastat.search.reconstruction import Pev, basis


def problem(p: int, rank: int, rng: np.random.Generator) -> Pev:
    """The share kept of a covariance matrix."""
    X = rng.standard_normal((rank, p)) * rng.uniform(0.5, 2.0, p)
    S = X.T @ X / rank
    return Pev(S, float(np.trace(S)))


def explained(S: np.ndarray, V: np.ndarray) -> float:
    """The share of the total variance, by projections of a square root of S: no Gram-Schmidt."""
    values, vectors = np.linalg.eigh(S)
    X = np.sqrt(np.maximum(values, 0.0))[:, None] * vectors.T
    return float(np.linalg.norm(X @ np.linalg.pinv(V.T, rcond=1e-9) @ V.T) ** 2 / np.trace(S))


@pytest.mark.parametrize("rank", [5, 30])
def test_values_and_gradients(rank):
    rng = np.random.default_rng(rank)
    for _ in range(5):
        objective = problem(9, rank, rng)
        V = rng.standard_normal((9, 3)) * rng.uniform(0.3, 3.0, 3)
        V[rng.random((9, 3)) < 0.3] = 0.0
        value, gradient = objective.with_gradient(V)
        assert value == pytest.approx(explained(objective.S, V), rel=1e-9)
        assert value == objective.value(V)
        step = 1e-6
        numeric = np.zeros_like(V)
        for where in np.ndindex(*V.shape):
            up, down = V.copy(), V.copy()
            up[where] += step
            down[where] -= step
            numeric[where] = (objective.value(up) - objective.value(down)) / (2.0 * step)
        assert gradient == pytest.approx(numeric, abs=2e-8)
        # loadings may have any length, so the gradient has no part along a column
        assert np.einsum("ij,ij->j", gradient, V) == pytest.approx(0.0, abs=1e-12)


def test_a_dependent_column_adds_nothing():
    rng = np.random.default_rng(4)
    objective = problem(7, 20, rng)
    V = rng.standard_normal((7, 3))
    V[:, 2] = V[:, 0] - 2.0 * V[:, 1]
    assert objective.value(V) == pytest.approx(objective.value(V[:, :2]), rel=1e-10)
    assert np.isfinite(objective.with_gradient(V)[1]).all()


def test_basis():
    rng = np.random.default_rng(7)
    M = problem(6, 12, rng).S
    V = rng.standard_normal((6, 4))
    Z, coordinates, remainder = basis(V, M @ V)
    assert pytest.approx(np.eye(4), abs=1e-12) == Z.T @ M @ Z
    assert pytest.approx(V @ coordinates) == Z
    assert np.tril(coordinates, -1) == pytest.approx(0.0, abs=1e-15)
    for j in range(4):
        before = V[:, :j]
        inner = before.T @ M @ before
        cross = before.T @ M @ V[:, j]
        left = V[:, j] @ M @ V[:, j] - cross @ np.linalg.solve(inner, cross)
        assert remainder[j] == pytest.approx(left, rel=1e-9)


@pytest.mark.parametrize("identity", [True, False])
def test_basis_with_dependent_columns(identity):
    rng = np.random.default_rng(8)
    M = np.eye(6) if identity else problem(6, 12, rng).S
    first, second, last = rng.standard_normal((3, 6))
    V = np.column_stack([first, second, first - second, np.zeros(6), last, -3.0 * last])
    Z, coordinates, remainder = basis(V, M @ V)
    assert (remainder > 0).tolist() == [True, True, False, False, True, False]
    kept = [0, 1, 4]
    assert Z[:, kept].T @ M @ Z[:, kept] == pytest.approx(np.eye(3), abs=1e-11)
    assert not Z[:, [2, 3, 5]].any()
    assert pytest.approx(V @ coordinates) == Z


def test_basis_of_nearly_dependent_columns():
    """Where Cholesky would lose half of the digits, two passes of Gram-Schmidt keep them."""
    rng = np.random.default_rng(9)
    V = rng.standard_normal((8, 3))
    V[:, 1] = V[:, 0] + 1e-5 * V[:, 1]
    Z, _, remainder = basis(V, V)
    # the second column comes from a difference: what is left of it has 1e-10 of its squared length
    assert pytest.approx(np.eye(3), abs=1e-4) == Z.T @ Z
    assert remainder[1] / (V[:, 1] @ V[:, 1]) == pytest.approx(
        np.linalg.qr(V)[1][1, 1] ** 2 / (V[:, 1] @ V[:, 1]), rel=1e-4
    )


def test_no_value_above_pca():
    rng = np.random.default_rng(10)
    data = problem(8, 6, rng)
    pca = eigh(data.S, eigvals_only=True)[::-1]
    for _ in range(20):
        assert data.value(rng.standard_normal((8, 3))) <= pca[:3].sum() / data.total + 1e-12
    leading = np.linalg.eigh(data.S)[1][:, ::-1][:, :3]
    value, gradient = data.with_gradient(leading)
    assert value == pytest.approx(pca[:3].sum() / data.total, rel=1e-12)
    assert gradient == pytest.approx(0.0, abs=1e-12)
