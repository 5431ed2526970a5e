"""Varimax against statsmodels, which climbs by projected gradients."""

import numpy as np
import pytest
from statsmodels.multivariate.factor_rotation import rotate_factors

from spcastat.linalg.eigenvectors import varimax


def criterion(L: np.ndarray) -> float:
    """Kaiser's criterion: the variances of the squared loadings, summed over the columns."""
    return float((L**2).var(axis=0).sum())


@pytest.mark.parametrize(("p", "k", "seed"), [(13, 6, 0), (40, 3, 1), (200, 4, 2)])
def test_varimax_is_that_of_statsmodels(p, k, seed):
    A = np.linalg.qr(np.random.default_rng(seed).standard_normal((p, k)) * np.linspace(1, 3, p)[:, None])[0]
    ours, theirs = varimax(A), rotate_factors(A, "varimax")[0]
    # theirs ends where a gradient is below 1e-5, ours where the criterion rises by less than 1e-10 of itself
    assert criterion(ours) >= criterion(theirs) * (1.0 - 1e-9)
    np.testing.assert_allclose(np.abs(ours.T @ theirs).max(axis=0), 1.0, atol=1e-5)


def test_kaisers_normalisation_rotates_variables_of_equal_length():
    A = np.linalg.qr(np.random.default_rng(3).standard_normal((20, 4)))[0]
    length = np.linalg.norm(A, axis=1, keepdims=True)
    np.testing.assert_allclose(varimax(A, normalise=True), length * varimax(A / length), atol=1e-8)
