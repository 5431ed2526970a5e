"""Regression and descent: the elastic net, absolute residuals and quasi-Newton steps."""

from __future__ import annotations

from itertools import pairwise
from typing import Any

import numpy as np
import pytest
import scipy.optimize
from statsmodels.regression.quantile_regression import QuantReg

from spcastat.linalg.regression import Columns, elastic_net, least_absolute, path, weighted_median
from spcastat.linalg.thresholds import ARMIJO, FLAT, MEMORY, SAME_OBJECTIVE, minimise

# --- The elastic net, least absolute residuals and the weighted median, against independent programs ---

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


def test_every_column_is_fetched_once():
    S, asked = problem(0)[0], []

    def fetch(J: np.ndarray) -> np.ndarray:
        asked.append(J.tolist())
        return S[:, J]

    columns = Columns(fetch, 9)
    for J in ([3, 1], [1], [1, 5, 3, 0], [8, 7, 6], [2, 4, 0], [8]):
        np.testing.assert_array_equal(columns.rows(np.array(J)), S[J])
    assert asked == [[3, 1], [5, 0], [8, 7, 6], [2, 4]]


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


def test_of_variables_that_are_the_same_the_first_is_taken():
    S, b = problem(1)
    twice = np.ix_([0, 1, 2, 3, 4, 5, 6, 7, 8, 3, 6], [0, 1, 2, 3, 4, 5, 6, 7, 8, 3, 6])
    S, b = S[twice], b[twice[0][:, 0]]
    for card in (1, 2, 4, 6):
        w, penalty = path(held(S), b, 0.0, card=card)
        alone = path(held(S[:9, :9]), b[:9], 0.0, card=card)
        np.testing.assert_allclose(w[:9], alone[0], atol=1e-9)
        assert penalty == pytest.approx(alone[1], rel=1e-9)
        assert (w[9:] == 0).all()
    w, penalty = path(held(S), b, 0.0)  # all the way: least squares
    assert penalty <= 1e-6 * np.abs(b).max()
    np.testing.assert_allclose(S @ w, b, atol=1e-5 * np.abs(b).max())
    both = path(held(S), b, 0.5, penalty=0.1 * np.abs(b).max())[0]  # a ridge shares out
    np.testing.assert_allclose(both[[9, 10]], both[[3, 6]], atol=1e-9)


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


def test_a_penalty_above_all_leaves_nothing():
    S, b = problem(2)
    w, penalty = path(held(S), b, 0.1, penalty=np.abs(b).max())
    assert (w.any(), penalty) == (False, np.abs(b).max())
    assert path(held(S), np.zeros(9), 0.1, card=3)[1] == 0.0


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


def test_one_vector_of_weights_serves_all_rows():
    values = np.array([[3.0, 1.0, 2.0], [5.0, 5.0, 7.0]])
    assert weighted_median(values, np.array([1.0, 0.0, 1.0])).tolist() == [2.5, 6.0]


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


def test_a_quadratic_is_solved_in_about_as_many_steps_as_it_has_curvatures():
    H, b = np.diag([1.0, 4.0, 9.0]), np.array([1.0, -2.0, 3.0])
    quadratic = Recorded(lambda x: 0.5 * x @ H @ x - b @ x, lambda x: H @ x - b)
    found = minimise(quadratic, np.zeros(3), 100, 0.0)
    np.testing.assert_allclose(found, np.linalg.solve(H, b), atol=1e-8)
    assert len(quadratic.points) <= 20
    values = [quadratic.value(x) for x in quadratic.points]
    assert quadratic.value(found) <= min(values) + 1e-15


def test_the_first_step_is_no_longer_than_one_half_and_a_long_one_goes_to_the_parabolas_minimum():
    # x^2 from 0.1: the step along -0.2 overshoots to -0.1; the parabola through both with the slope at 0.1
    # has its minimum at 0.
    square = Recorded(lambda x: float(x @ x), lambda x: 2.0 * x)
    np.testing.assert_allclose(minimise(square, np.array([0.1]), 1), [0.0], atol=1e-17)
    np.testing.assert_allclose(np.ravel(square.points), [0.1, -0.1, 0.0], atol=1e-17)
    # From 10 along -20: half a unit of length.
    square.points.clear()
    np.testing.assert_allclose(minimise(square, np.array([10.0]), 1), [9.5])
    assert np.ravel(square.points).tolist() == [10.0, 9.5]
    # Where the parabola says less than a tenth, a tenth; where the function bends down, one half.
    steep = Recorded(lambda x: 1000.0 * float(x @ x) * (x[0] < 0) + 0.1 * x[0], lambda x: np.array([0.1]))
    minimise(steep, np.array([0.05]), 1)
    np.testing.assert_allclose(np.ravel(steep.points)[:3], [0.05, -0.05, 0.04], rtol=1e-12)


@pytest.mark.parametrize("steps", [0, 1, 2, 3])
def test_no_more_steps_than_allowed(steps):
    function = rosenbrock()
    found = minimise(function, np.array([-1.2, 1.0]), steps)
    assert scipy.optimize.rosen(found) <= scipy.optimize.rosen([-1.2, 1.0])
    assert (found == [-1.2, 1.0]).all() == (steps == 0)
    again = rosenbrock()
    more = minimise(again, np.array([-1.2, 1.0]), steps + 1)
    assert scipy.optimize.rosen(more) < scipy.optimize.rosen(found)


def test_it_ends_where_it_is_flat():
    square = Recorded(lambda x: float(x @ x), lambda x: 2.0 * x)
    for x in (0.0, 0.4 * SAME_OBJECTIVE, 0.5 * SAME_OBJECTIVE):
        assert minimise(square, np.array([x]), 100).tolist() == [x]
        assert len(square.points) == 1
        square.points.clear()
    assert minimise(square, np.array([0.6 * SAME_OBJECTIVE]), 100)[0] != 0.6 * SAME_OBJECTIVE
    # A step that gains no more than the share: none is made after it.
    for flat, steps in ((FLAT, 5), (0.9, 1)):
        function = rosenbrock()
        found = minimise(function, np.array([-1.2, 1.0]), 200, flat)
        gain = 1 - scipy.optimize.rosen(function.points[-1]) / scipy.optimize.rosen(function.points[0])
        assert gain > 0
        assert len(function.points) >= steps + 1
        assert (len(function.points) < 5) == (flat == 0.9)
        assert (found == function.points[-1]).all()


def test_uphill_no_step_is_taken():
    wrong = Recorded(lambda x: float(x @ x), lambda x: -2.0 * x)  # a gradient with the wrong sign
    assert minimise(wrong, np.array([1.0]), 10).tolist() == [1.0]
    assert len(wrong.points) == 1 + 25


def test_a_step_must_lower_the_value_by_a_share_of_the_slope():
    # Along a line of slope -1 the value falls by just so much a unit: at half of ARMIJO no step is enough.
    for share, moves in ((0.5 * ARMIJO, False), (2.0 * ARMIJO, True)):
        line = Recorded(lambda x, share=share: -share * x[0], lambda x: np.array([-1.0]))
        assert bool(minimise(line, np.array([0.0]), 1)[0] > 0) == moves


def test_a_quadratic_is_minimised_in_the_directions_of_its_bfgs_inverse():
    """Nocedal and Wright (2006), equation 6.17, from a multiple of the identity."""
    rng = np.random.default_rng(0)
    A = rng.standard_normal((4, 4))
    H = A @ A.T + np.eye(4)
    function = Recorded(lambda x: 0.5 * float(x @ H @ x), lambda x: H @ x)
    minimise(function, rng.standard_normal(4), 4)
    points = [function.points[0]]
    for x in function.points[1:]:  # those that were stepped to, not those that were tried
        if x @ H @ x < points[-1] @ H @ points[-1]:
            points.append(x)
    for number in range(2, 4):
        steps = np.diff(points[: number + 1], axis=0)
        s, y = steps[number - 1], H @ steps[number - 1]
        inverse = np.eye(4) * (s @ y) / (y @ y)
        for s in steps[:number]:
            left = np.eye(4) - np.outer(s, H @ s) / (s @ H @ s)
            inverse = left @ inverse @ left.T + np.outer(s, s) / (s @ H @ s)
        wanted = -inverse @ H @ points[number]
        found = points[number + 1] - points[number]
        np.testing.assert_allclose(found / np.linalg.norm(found), wanted / np.linalg.norm(wanted), rtol=1e-9)
