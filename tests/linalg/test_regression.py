"""Regression and descent: the elastic net, absolute residuals and quasi-Newton steps."""

from __future__ import annotations

from itertools import pairwise
from typing import Any

import numpy as np
import pytest
import scipy.optimize

from spcastat.linalg.regression import Columns, elastic_net, path
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
