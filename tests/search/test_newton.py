"""The exact end of the default search: second derivatives, rest to rounding, and data in any form."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest
from scipy import sparse

import spcastat as sp
from spcastat.linalg.build import prepare
from spcastat.linalg.operators import Gram, Operator
from spcastat.search.criteria import CRITERIA, criterion_of_matrix
from spcastat.search.default import joint
from spcastat.search.matrices import Dense
from spcastat.search.moves import stationary
from spcastat.search.variance_target import TargetCriterion, VarianceTarget
from tests.search.conftest import draw

P = 9
CARDS = (5, 4, 3)


def criterion_of(name: str):
    S = draw(P, 3)
    S /= np.trace(S)
    if name == "promised":
        return TargetCriterion(Dense(S), CARDS, VarianceTarget(0.9, True, np.linalg.eigvalsh(S)[::-1][:3]))
    return criterion_of_matrix(S, CARDS, name)


def slope(S: np.ndarray, V: np.ndarray, name: str) -> np.ndarray:
    """Half the gradient of an objective on the supports, a share of the total, by textbook formulas."""
    if name == "adjusted":
        R = np.linalg.cholesky(V.T @ S @ V).T
        C = np.linalg.solve(R, np.diag(np.diag(R)))
        found = S @ V @ C @ C.T - V * np.diag(R) ** 2
    else:
        M, T = (np.eye(len(S)), S) if name == "pev" else (S, S @ S)
        H = np.linalg.inv(V.T @ M @ V)
        found = (T @ V - M @ V @ H @ V.T @ T @ V) @ H
    return found * (V != 0) / np.trace(S)


@pytest.mark.parametrize("name", [*CRITERIA, "promised"])
def test_curvature_is_the_derivative_of_the_slope(name):
    criterion = criterion_of(name)
    rng = np.random.default_rng(1)
    places = np.concatenate([np.sort(rng.permutation(P)[:c]) for c in CARDS])[None]
    fit = criterion.fits(places, rng.standard_normal(places.shape))
    M, T = (None if A is None else A[0] for A in criterion.packed(places))
    x = fit.x[0]
    V = x[:, None] * criterion.member
    step = rng.standard_normal(len(x))
    step -= V @ (V.T @ step)
    lengths = np.sqrt(step**2 @ criterion.member)[criterion.owner]
    h = 1e-4  # errors of 1e-8 from the third derivative, and of 1e-12 from rounding

    def along(t: float):
        """The point after a walk of length t on the spheres."""
        return criterion.expansion(x * np.cos(t * lengths) + step / lengths * np.sin(t * lengths), M, T)

    here = along(0.0)
    turned = here.curvature() @ step
    second = (along(h).value - 2 * here.value + along(-h).value) / h**2
    assert second == pytest.approx(2.0 * step @ turned, rel=1e-5)
    change = (along(h).slope - along(-h).slope) / (2 * h)
    across = [a - V @ (V.T @ a) for a in (change, turned)]
    np.testing.assert_allclose(across[0], across[1], atol=1e-6)


@pytest.mark.parametrize("name", CRITERIA)
def test_the_search_ends_where_the_slope_is_rounding(R, name):
    S = R.to_numpy()
    tried = [((6, 4, 3), "quick"), ((8, 6, 4, 3, 2), "quick"), ((1, 13), "quick"), ((4, 3), "auto")]
    for card, effort in tried:
        found = joint(Gram(S), len(card), card, name, effort)
        # sums of 13 products of numbers up to one, times a condition of up to a hundred
        assert np.linalg.norm(slope(S, found.V, name)) < 1e-13


def forms(X: np.ndarray) -> list[Operator]:
    """The data as rows, as rows in another order, as sparse rows, and as a covariance matrix."""
    names = pd.Index([f"v{i}" for i in range(X.shape[1])])
    shuffled = X[np.random.default_rng(2).permutation(len(X))]
    rows = [prepare(A, None, True, False, names)[1] for A in (X, shuffled, sparse.csr_array(X))]
    return [*rows, Gram(np.cov(X, rowvar=False))]


@pytest.mark.parametrize("name", CRITERIA)
@pytest.mark.parametrize("shape", [(60, 12), (20, 30)])
def test_data_in_any_form_give_the_same_loadings(name, shape):
    rng = np.random.default_rng(4)
    X = rng.standard_normal(shape) * rng.uniform(0.5, 2.0, shape[1]) + rng.standard_normal((shape[0], 1))
    X[rng.random(shape) < 0.3] = 0.0
    first, *others = (joint(op, 3, (5, 4, 3), name, "quick").V for op in forms(X))
    for V in others:
        # rounding of 1e-15 in the covariances, times the condition of the optimum
        np.testing.assert_allclose(V, first, atol=1e-12)


def test_wide_rows_end_at_rest():
    rng = np.random.default_rng(6)
    X = rng.standard_normal((40, 1200)) + 2.0 * rng.standard_normal((40, 2)) @ (rng.random((2, 1200)) < 0.02)
    S = np.cov(X, rowvar=False)
    for name in ("adjusted", "pev"):
        V = sp.spca(X, 2, card=15, method="joint", objective=name, effort="quick").loadings.to_numpy()
        assert np.linalg.norm(slope(S, V, name)) < 1e-14


@pytest.mark.parametrize("name", CRITERIA)
def test_flat_and_dependent_components_are_left_in_peace(name):
    twice = np.kron(draw(4, 1), np.ones((2, 2)))
    criterion = criterion_of_matrix(twice / np.trace(twice), (8, 8, 8), name)
    flat = joint(Gram(twice), 3, (8, 8, 8), name)
    assert np.isfinite(flat.V).all()
    np.testing.assert_allclose(np.linalg.norm(flat.V, axis=0), 1.0, rtol=1e-14)
    same = np.tile(np.arange(8), 3)[None]
    fit = criterion.fits(same, np.tile(np.linspace(1.0, 2.0, 8), 3)[None])  # one component three times
    assert stationary(criterion, fit) is fit


def test_from_a_saddle_the_way_leads_up():
    # the second eigenvector of the support: at rest, but not the best there
    S = np.diag([3.0, 2.0, 1.0]) / 6.0
    criterion = criterion_of_matrix(S, (2,), "adjusted")
    fit = criterion.fits(np.array([[0, 1]]), np.array([[1e-3, 1.0]]))
    found = stationary(criterion, fit)
    assert found.value[0] == pytest.approx(0.5, rel=1e-14)
