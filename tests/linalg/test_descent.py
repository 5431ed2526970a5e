"""Quasi-Newton steps against SciPy's, and what a step does."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
import scipy.optimize

from spcastat.linalg.thresholds import ARMIJO, FLAT, MEMORY, SAME_OBJECTIVE, minimise


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
