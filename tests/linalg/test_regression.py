"""Regression and descent: the elastic net, absolute residuals and quasi-Newton steps."""

from __future__ import annotations

from itertools import pairwise
from typing import Any

import numpy as np
import pytest
import scipy.optimize
from statsmodels.regression.quantile_regression import QuantReg

from spcastat.linalg.regression import Columns, elastic_net, least_absolute, path, weighted_median
from spcastat.linalg.thresholds import MEMORY, minimise

# --- the elastic net ------------------------------------------------------------------------------


def problem(seed: int) -> tuple[np.ndarray, np.ndarray]:
    """Correlated variables: on the way down their paths cross zero, so that variables leave and return."""
    rng = np.random.default_rng(seed)
    A = rng.standard_normal((12, 2)) @ rng.standard_normal((2, 9)) * 2.0 + rng.standard_normal((12, 9))
    return A.T @ A / 12, A.T @ rng.standard_normal(12) / 4


@pytest.mark.parametrize("unit", [1e-20, 1e-8, 1.0, 1e20])
def test_the_path_meets_the_optimality_conditions_in_any_unit(unit):
    # min w'(S + ridge I)w / 2 - b'w + penalty |w|_1: the smooth part has the gradient -penalty sign(w) where
    # w is not zero, and at most the penalty elsewhere (to the rounding of some twenty steps).
    left = 0
    for seed in range(20):
        S, b = problem(seed)
        largest, sizes = np.abs(b).max(), []
        for share in np.linspace(0.9, 0.0, 19):
            columns = Columns(lambda J, S=S: S[:, J] * unit, b.size)
            w, penalty = path(columns, b * unit, 0.01 * unit, penalty=share * largest * unit)
            assert penalty == pytest.approx(share * largest * unit, rel=1e-12, abs=0)
            slope = (S + 0.01 * np.eye(b.size)) @ w - b
            on = w != 0
            np.testing.assert_allclose(slope[on], -share * largest * np.sign(w[on]), atol=1e-9 * largest)
            assert np.abs(slope).max() <= (share + 1e-9) * largest
            sizes.append(on)
        left += sum(int((before & ~after).sum()) for before, after in pairwise(sizes))
    assert left > 5  # or no variable ever leaves, and half of the method was not looked at


def held(S: np.ndarray) -> Columns:
    return Columns(lambda J: S[:, J], len(S))


@pytest.mark.parametrize("ridge", [0.0, 0.05])
def test_a_cardinality_stops_just_before_one_variable_too_many(ridge):
    for seed in range(12):
        S, b = problem(seed)
        largest = np.abs(b).max()
        for card in range(1, 9):
            w, penalty = path(held(S), b, ridge, card=card)
            assert np.count_nonzero(w) <= card
            slope = (S + ridge * np.eye(9)) @ w - b
            np.testing.assert_allclose(slope[w != 0], -penalty * np.sign(w[w != 0]), atol=1e-9 * largest)
            assert np.abs(slope).max() <= penalty + 1e-9 * largest
            if penalty > 0:  # the next one is at its bound, and below the penalty it is in
                assert np.sort(np.abs(slope[w == 0]))[-1] == pytest.approx(penalty, abs=1e-9 * largest)
                less = path(held(S), b, ridge, penalty=penalty * (1 - 1e-6))[0]
                assert np.count_nonzero(less) > card
            again = path(held(S), b, ridge, penalty=penalty)[0]
            np.testing.assert_allclose(again, w, atol=1e-9 * np.abs(w).max())


def test_from_the_last_solution_the_same_is_reached():
    # What had changed between two sweeps is the right-hand side.
    shortcuts = {"card": 0, "penalty": 0}  # where no column was needed that was not in use
    for seed in range(10):
        S, b = problem(seed)
        for by in (1e-6, 0.3):
            c = b + by * np.random.default_rng(seed).standard_normal(9)
            for options in ({"card": 4}, {"penalty": 0.3 * np.abs(b).max()}, {"penalty": 0.0}, {"card": 9}):
                last = path(held(S), b, 0.05, **options)[0]
                asked: list[int] = []

                def fetch(J: np.ndarray, S: np.ndarray = S, asked: list[int] = asked) -> np.ndarray:
                    asked.extend(J.tolist())
                    return S[:, J]

                found = elastic_net(Columns(fetch, 9), c, 0.05, last, **options)
                wanted = path(held(S), c, 0.05, **options)
                np.testing.assert_allclose(found[0], wanted[0], atol=1e-8 * np.abs(wanted[0]).max())
                assert found[1] == pytest.approx(wanted[1], rel=1e-8, abs=1e-12)
                shortcuts[next(iter(options))] += sorted(asked) == np.flatnonzero(last).tolist()
    assert min(shortcuts.values()) > 10


@pytest.mark.parametrize("seed", range(10))
def test_of_variables_that_are_the_same_up_to_rounding_the_first_is_taken(seed):
    # Two copies of variables differ in the last places, as products of equal columns do. A copy then meets
    # its bound at a penalty that is a quotient of two rounding errors, which must not end the path.
    S, b = problem(1)
    order = [0, 1, 2, 3, 4, 5, 6, 7, 8, 3, 6]
    rng = np.random.default_rng(seed)
    errors = np.triu(rng.standard_normal((11, 11))) * 4 * np.finfo(float).eps
    twice = S[np.ix_(order, order)] * (1 + errors + np.triu(errors, 1).T)
    right = b[order] * (1 + 4 * np.finfo(float).eps * rng.standard_normal(11))
    for card in range(1, 9):
        w, penalty = path(held(twice), right, 0.0, card=card)
        alone = path(held(S), b, 0.0, card=card)
        np.testing.assert_allclose(w[:9], alone[0], atol=1e-9 * np.abs(alone[0]).max())
        assert penalty == pytest.approx(alone[1], rel=1e-9)
        assert (w[9:] == 0).all()


def test_what_depended_on_others_may_come_in_once_one_of_them_has_left():
    # 2a - b or 2a + b: where a and b are in, one of these is at its bound, too, as a combination of them, and
    # stays out. When b leaves and its own correlation falls, that of the combination would exceed the bound.
    for seed in range(60):
        rng = np.random.default_rng(seed)
        A = rng.standard_normal((6, 5)) + rng.standard_normal((6, 1))
        pairs = [(i, j, sign) for i in range(5) for j in range(5) for sign in (1, -1) if i != j]
        A = np.column_stack([A, *(2 * A[:, i] + sign * A[:, j] for i, j, sign in pairs)])
        S, b = A.T @ A, A.T @ rng.standard_normal(6)
        largest = np.abs(b).max()
        for share in (0.5, 0.2, 0.05, 0.01):
            w, penalty = path(held(S), b, 0.0, penalty=share * largest)
            slope = S @ w - b
            assert penalty == pytest.approx(share * largest, rel=1e-12)
            np.testing.assert_allclose(slope[w != 0], -penalty * np.sign(w[w != 0]), atol=1e-8 * largest)
            assert np.abs(slope).max() <= penalty + 1e-8 * largest


# --- least absolute residuals against linear programmes -------------------------------------------


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


def test_many_residuals_of_zero_at_the_minimum_lead_in_no_circles():
    """A vertex at which a third of the residuals vanish has very many bases."""
    rng = np.random.default_rng(4)
    A = np.linalg.qr(rng.standard_normal((240, 3)))[0]
    exact = A @ rng.standard_normal((3, 6))
    B = exact + np.where(rng.random((240, 6)) < 0.3, 0.0, rng.standard_t(2, (240, 6)))
    np.testing.assert_allclose(sums(A, B), least_sums(A, B), rtol=1e-9)


# --- the weighted median against that of repeated values ------------------------------------------


def test_whole_weights_are_repeated_values():
    rng = np.random.default_rng(0)
    for m in (1, 2, 5, 8, 20):
        values = rng.integers(-4, 5, (30, m)).astype(float)  # many ties
        weights = rng.integers(0, 4, (30, m))
        weights[:, 0] += 1
        found = weighted_median(values, weights * 0.1)  # sums of tenths round
        wanted = [np.median(np.repeat(v, w)) for v, w in zip(values, weights, strict=True)]
        np.testing.assert_array_equal(found, wanted)


def test_it_minimises_the_weighted_absolute_differences():
    rng = np.random.default_rng(1)
    values, weights = rng.standard_normal((50, 9)), rng.random((50, 9))
    found = weighted_median(values, weights)
    at_values = (weights[:, :, None] * np.abs(values[:, :, None] - values[:, None, :])).sum(axis=1)
    loss = (weights * np.abs(values - found[:, None])).sum(axis=1)
    np.testing.assert_allclose(loss, at_values.min(axis=1), rtol=1e-13)  # a minimum lies at a value


# --- Quasi-Newton steps against SciPy's, and what a step does -------------------------------------


class Recorded:
    """A function and its gradient, and the points at which it was asked."""

    def __init__(self, value: Any, gradient: Any):
        self.value, self.gradient = value, gradient
        self.points: list[np.ndarray] = []

    def __call__(self, x: np.ndarray) -> tuple[float, np.ndarray]:
        self.points.append(x.copy())
        return float(self.value(x)), self.gradient(x)


def rosenbrock() -> Recorded:
    return Recorded(scipy.optimize.rosen, scipy.optimize.rosen_der)


@pytest.mark.parametrize("m", [2, 5, 12])
def test_it_finds_the_minimum_that_scipy_finds_in_about_as_many_steps(m):
    x = np.linspace(-1.2, 1.0, m)
    ours, theirs = rosenbrock(), rosenbrock()
    found = minimise(ours, x, 1000, 0.0)
    how = {"maxcor": MEMORY, "gtol": 1e-9}
    assert scipy.optimize.minimize(theirs, x, jac=True, method="L-BFGS-B", options=how).success
    np.testing.assert_allclose(found, np.ones(m), atol=1e-6)
    assert np.abs(scipy.optimize.rosen_der(found)).max() <= 1e-6
    assert len(ours.points) <= 2 * len(theirs.points)


def test_uphill_no_step_is_taken():
    wrong = Recorded(lambda x: float(x @ x), lambda x: -2.0 * x)  # a gradient with the wrong sign
    assert minimise(wrong, np.array([1.0]), 10).tolist() == [1.0]
    assert len(wrong.points) == 1 + 25
