"""What a joint search maximises: values, gradients and the ratio that each column sees."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.linalg import eigh

from spcastat.operators import Gram
from spcastat.search.objectives import OBJECTIVES, Objective, Problem, basis
from spcastat.search.working_set import problem_on

NAMES = tuple(OBJECTIVES)


def problem(p: int, rank: int, rng: np.random.Generator) -> Problem:
    """A covariance matrix with T = S S, as when all variables are candidates."""
    X = rng.standard_normal((rank, p)) * rng.uniform(0.5, 2.0, p)
    S = X.T @ X / rank
    return Problem(S, S @ S, float(np.trace(S)))


def explained(name: str, S: np.ndarray, V: np.ndarray) -> float:
    """The share of the total variance, by projections of a square root of S: no Gram-Schmidt."""
    values, vectors = np.linalg.eigh(S)
    X = np.sqrt(np.maximum(values, 0.0))[:, None] * vectors.T
    if name == "pev":
        found = np.linalg.norm(X @ np.linalg.pinv(V.T, rcond=1e-9) @ V.T) ** 2
    elif name == "least_squares":
        scores = X @ V
        found = np.linalg.norm(scores @ np.linalg.pinv(scores, rcond=1e-9) @ X) ** 2
    else:
        scores = X @ (V / np.linalg.norm(V, axis=0))
        found = 0.0
        for j in range(V.shape[1]):
            before = scores[:, :j]
            found += np.linalg.norm(scores[:, j] - before @ np.linalg.pinv(before) @ scores[:, j]) ** 2
    return float(found / np.trace(S))


@pytest.mark.parametrize("name", NAMES)
@pytest.mark.parametrize("rank", [5, 30])
def test_values_and_gradients(name, rank):
    rng = np.random.default_rng(rank)
    for _ in range(5):
        data = problem(9, rank, rng)
        objective = OBJECTIVES[name](data)
        V = rng.standard_normal((9, 3)) * rng.uniform(0.3, 3.0, 3)
        V[rng.random((9, 3)) < 0.3] = 0.0
        value, gradient = objective.with_gradient(V)
        assert value == pytest.approx(explained(name, data.S, V), rel=1e-9)
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


@pytest.mark.parametrize("name", NAMES)
def test_a_dependent_column_adds_nothing(name):
    rng = np.random.default_rng(4)
    data = problem(7, 20, rng)
    objective: Objective = OBJECTIVES[name](data)
    V = rng.standard_normal((7, 3))
    V[:, 2] = V[:, 0] - 2.0 * V[:, 1]
    assert objective.value(V) == pytest.approx(objective.value(V[:, :2]), rel=1e-10)
    assert np.isfinite(objective.with_gradient(V)[1]).all()


@pytest.mark.parametrize("name", NAMES)
def test_the_ratio_of_a_column(name):
    """v'Av / v'Bv is what column v adds to the others; for adjusted variance, the last column."""
    rng = np.random.default_rng(5)
    data = problem(8, 20, rng)
    objective: Objective = OBJECTIVES[name](data)
    V = rng.standard_normal((8, 3))
    for i in range(3) if objective.exact else (2,):
        A, B = objective.block(V, i)
        assert pytest.approx(A.T) == A
        assert pytest.approx(B.T) == B
        others = objective.value(np.delete(V, i, axis=1))
        for _ in range(4):
            V[:, i] = v = rng.standard_normal(8)
            ratio = float(v @ A @ v / (v @ B @ v))
            assert objective.value(V) == pytest.approx(others + ratio / data.total, rel=1e-9)


def test_candidates_that_are_not_all_variables():
    """The least-squares share counts the variables outside, too."""
    rng = np.random.default_rng(6)
    full = problem(10, 25, rng)
    inside = np.array([0, 2, 3, 7, 8])
    part = problem_on(Gram(full.S), inside)
    V = np.zeros((10, 2))
    V[inside] = rng.standard_normal((5, 2))
    for objective in OBJECTIVES.values():
        assert objective(part).value(V[inside]) == pytest.approx(objective(full).value(V), rel=1e-10)


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
        V = rng.standard_normal((8, 3))
        for objective in OBJECTIVES.values():
            assert objective(data).value(V) <= pca[:3].sum() / data.total + 1e-12
    leading = np.linalg.eigh(data.S)[1][:, ::-1][:, :3]
    for objective in OBJECTIVES.values():
        value, gradient = objective(data).with_gradient(leading)
        assert value == pytest.approx(pca[:3].sum() / data.total, rel=1e-12)
        assert gradient == pytest.approx(0.0, abs=1e-12)
