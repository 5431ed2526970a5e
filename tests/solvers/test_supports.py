"""Loadings on given supports: eigenvectors, stationary points, and when nothing is changed."""

from __future__ import annotations

import numpy as np
import pytest
import scipy.optimize

from spcastat.linalg.operators import DenseRows, Gram
from spcastat.solvers.thresholding import explained, fitted

RNG = np.random.default_rng(0)
X = RNG.standard_normal((40, 7)) @ RNG.standard_normal((7, 7))
X -= X.mean(axis=0)
S = X.T @ X / 39


def at(*columns: list[float]) -> np.ndarray:
    V = np.array(columns).T
    return V / np.linalg.norm(V, axis=0)


def share(V: np.ndarray) -> float:
    """What projection on the columns of V leaves of the variance, by least squares."""
    left = X - X @ V @ np.linalg.pinv(V)
    return float(np.trace(S) - (left**2).sum() / 39)


def test_explained_variance_and_its_gradient():
    V = np.random.default_rng(1).standard_normal((7, 3))
    value, gradient = explained(Gram(S), V)
    assert value == pytest.approx(share(V), rel=1e-12)
    slopes = scipy.optimize.approx_fprime(V.ravel(), lambda v: share(v.reshape(7, 3)), 1e-6)
    np.testing.assert_allclose(gradient.ravel(), slopes, atol=1e-4)  # one-sided differences


def test_one_component_is_the_leading_eigenvector_on_its_support():
    for sign in (1.0, -1.0):
        V = at([0, 1.0, -1.0, 0, 1.0, 0, 0]) * sign
        J = [1, 2, 4]
        vector = np.zeros(7)
        vector[J] = np.linalg.eigh(S[np.ix_(J, J)])[1][:, -1]
        found = fitted(Gram(S), V)
        assert found is not None
        assert float(found[:, 0] @ V[:, 0]) >= 0  # the sign stays
        np.testing.assert_allclose(np.abs(found[:, 0]), np.abs(vector), atol=1e-13)
        assert (found[[0, 3, 5, 6]] == 0).all()


@pytest.mark.parametrize("steps", [500, 1])
def test_several_components_climb_to_where_no_slope_is_left(steps):
    V = at([0, 1.0, 1.0, 0, 1.0, 0, 0], [1.0, 0, 0.5, 0, 0, 1.0, 0.5])
    found = fitted(Gram(S), V, steps=steps)
    assert found is not None
    np.testing.assert_array_equal(found != 0, V != 0)
    np.testing.assert_allclose(np.linalg.norm(found, axis=0), 1.0, rtol=1e-14)
    assert share(found) >= share(V)
    slope = explained(Gram(S), found)[1][V != 0]
    if steps > 1:
        assert np.abs(slope).max() < 1e-8 * np.trace(S)  # the value is at its maximum to the square of it
        rough = fitted(Gram(S), V, flat=1e-3)
        assert rough is not None
        assert share(V) <= share(rough) <= share(found)
    others = [scipy.optimize.minimize(lambda x: -share(spread(x, V)), V[V != 0]).fun]
    assert share(found) <= -min(others) * (1 + 1e-9)
    if steps > 1:
        assert share(found) >= -min(others) * (1 - 1e-7)


def spread(x: np.ndarray, V: np.ndarray) -> np.ndarray:
    W = np.zeros_like(V)
    W[V != 0] = x
    return W


def test_rows_and_their_covariance_matrix_have_the_same_loadings():
    V = at([0, 1.0, 1.0, 0, 1.0, 0, 0], [1.0, 0, 0.5, 0, 0, 1.0, 0.5])
    rows = DenseRows(X / np.sqrt(39), np.full(40, 1 / np.sqrt(39)), 39)
    np.testing.assert_allclose(fitted(rows, V), fitted(Gram(S), V), atol=1e-9)


def test_nonnegative_loadings_stay_so_or_are_left_alone():
    A = np.array([[2.0, 0.9, -0.5], [0.9, 2.0, 0.1], [-0.5, 0.1, 1.5]])
    positive = at([1.0, 1.0, 0.0])
    found = fitted(Gram(A), positive, nonneg=True)
    np.testing.assert_allclose(found, np.sqrt([[0.5], [0.5], [0.0]]), atol=1e-12)
    # The eigenvector on all three has a negative loading, and no nonnegative one beside it is stationary.
    assert fitted(Gram(A), at([1.0, 1.0, 0.1]), nonneg=True) is None
    assert fitted(Gram(A), at([1.0, 1.0, -0.1])) is not None


def test_what_depends_on_one_another_or_loses_a_loading_is_left_alone():
    v = [0, 1.0, 1.0, 0, 1.0, 0, 0]
    assert fitted(Gram(S), at(v, v)) is None
    assert fitted(Gram(np.diag([2.0, 1.0])), at([1.0, 0.5])) is None  # the eigenvector is an axis
