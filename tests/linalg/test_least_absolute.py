"""Least absolute residuals against SciPy's linear programmes and statsmodels' quantile regression."""

import numpy as np
import pytest
import scipy.optimize
from statsmodels.regression.quantile_regression import QuantReg

from spcastat.linalg.regression import least_absolute


def least_sums(A, B):
    """Return the least sum of absolute residuals of every column of B, by linear programmes."""
    m, k = A.shape
    cost, split = np.r_[np.zeros(k), np.ones(2 * m)], np.hstack([A, np.eye(m), -np.eye(m)])
    bounds = [(None, None)] * k + [(0, None)] * (2 * m)
    return np.array([scipy.optimize.linprog(cost, A_eq=split, b_eq=b, bounds=bounds).fun for b in B.T])


def sums(A, B):
    return np.abs(B - A @ least_absolute(A, B)).sum(axis=0)


@pytest.mark.parametrize(("m", "k"), [(9, 1), (12, 3), (40, 5), (4, 4)])
def test_the_sum_is_that_of_a_linear_programme(m, k):
    rng = np.random.default_rng(m)
    A = rng.standard_normal((m, k))
    B = A @ rng.standard_normal((k, 8)) + rng.standard_t(2, (m, 8))
    np.testing.assert_allclose(sums(A, B), least_sums(A, B), rtol=1e-9, atol=1e-12)


def test_the_coefficients_are_those_of_median_regression():
    rng = np.random.default_rng(1)
    A = rng.standard_normal((35, 3))
    b = A @ [1.0, -2.0, 0.5] + rng.standard_t(2, 35)
    found = least_absolute(A, b[:, None])[:, 0]
    # statsmodels iterates reweighted least squares to 1e-6; an odd number of rows leaves one minimum.
    np.testing.assert_allclose(found, QuantReg(b, A).fit(q=0.5).params, atol=1e-4)


def test_ties_and_equal_rows_and_columns_of_zeros():
    rng = np.random.default_rng(2)
    A = rng.integers(-1, 2, (12, 2)).astype(float)
    B = rng.integers(-2, 3, (12, 10)).astype(float)
    B[:, 0] = 0.0
    A, B = np.repeat(A, 2, axis=0), np.repeat(B, 2, axis=0)
    np.testing.assert_allclose(sums(A, B), least_sums(A, B), rtol=1e-9, atol=1e-9)
    assert (least_absolute(A, B)[:, 0] == 0).all()


def test_an_exact_fit_but_for_a_few_is_found_exactly():
    rng = np.random.default_rng(3)
    A, C = rng.standard_normal((60, 4)), rng.standard_normal((4, 20))
    B = A @ C
    B[rng.random(B.shape) < 0.1] += 100.0
    np.testing.assert_allclose(least_absolute(A, B), C, atol=1e-12)


def test_many_residuals_of_zero_at_the_minimum_lead_in_no_circles():
    """A vertex at which a third of the residuals vanish has very many bases."""
    rng = np.random.default_rng(4)
    A = np.linalg.qr(rng.standard_normal((240, 3)))[0]
    exact = A @ rng.standard_normal((3, 6))
    B = exact + np.where(rng.random((240, 6)) < 0.3, 0.0, rng.standard_t(2, (240, 6)))
    np.testing.assert_allclose(sums(A, B), least_sums(A, B), rtol=1e-9)
