"""Soft thresholding in an orthogonal complement, against a general solver and in closed form."""

from __future__ import annotations

import numpy as np
import pytest
import scipy.optimize

from spcastat.linalg.thresholds import OrthogonalSoft
from spcastat.linalg.ties import l1_bounded, soft, soft_at


def problem(seed: int, p: int = 8, m: int = 2) -> tuple[np.ndarray, np.ndarray]:
    rng = np.random.default_rng(seed)
    return rng.standard_normal(p), np.linalg.qr(rng.standard_normal((p, m)))[0]


@pytest.mark.parametrize("level", [0.0, 0.1, 0.4, 0.8])
def test_a_threshold_solves_the_problem(level):
    # |x - g|^2 / 2 + level |x|_1 with Q'x = 0: x is soft(g - Q nu, level) for multipliers nu, and feasible.
    for seed in range(12):
        g, Q = problem(seed)
        x = OrthogonalSoft(Q).threshold(g, level)
        assert np.abs(Q.T @ x).max() <= 1e-12 * max(np.linalg.norm(x), 1e-3)
        if level == 0.0:
            np.testing.assert_allclose(x, g - Q @ (Q.T @ g), atol=1e-12)
        on = x != 0
        if on.any():
            nu = np.linalg.lstsq(Q[on], (g - level * np.sign(x) - x)[on], rcond=None)[0]
            np.testing.assert_allclose(soft_at(g - Q @ nu, level)[on], x[on], atol=1e-10)
        dual = scipy.optimize.minimize(
            lambda nu, g=g, Q=Q: 0.5 * (soft_at(g - Q @ nu, level) ** 2).sum(), np.zeros(2), tol=1e-14
        )
        assert 0.5 * x @ x <= dual.fun * (1 + 1e-8) + 1e-12  # the least of the dual, to what BFGS reaches


def test_zeros_stay_zero():
    g, Q = problem(2)
    soft_one = OrthogonalSoft(Q)
    for level in (0.0, 0.5):
        assert not soft_one.threshold(np.zeros(8), level).any()
    inside = Q @ np.array([2.0, -3.0])
    assert not soft_one.threshold(inside, 0.0).any()
    assert not soft_one.bounded(inside, 1.5).any()
    assert not soft_one.threshold(g, np.abs(g).max()).any()


@pytest.mark.parametrize("unit", [1e-30, 1.0, 1e30])
def test_bounds_are_met_in_any_unit(unit):
    for seed in range(12):
        g, Q = problem(seed)
        soft_one = OrthogonalSoft(Q)
        plain = g - Q @ (Q.T @ g)
        widest = np.abs(plain).sum() / np.linalg.norm(plain)
        for bound in (2.7, 2.2, 1.9, 1.7, 2.4):  # in an order in which the last level is of no use
            x = soft_one.bounded(g * unit, bound)
            assert np.linalg.norm(x) == pytest.approx(1.0, rel=1e-14)
            size = np.abs(x).sum()
            if size > bound * (1 + 1e-11):  # no threshold comes down to it
                for level in np.linspace(0, 0.95, 39) * np.abs(g).max():
                    y = OrthogonalSoft(Q).threshold(g, level)
                    assert not y.any() or np.abs(y).sum() / np.linalg.norm(y) > bound * (1 - 1e-9)
                continue
            assert np.abs(Q.T @ x).max() < 1e-11
            assert size == pytest.approx(min(bound, widest), rel=1e-11)
            np.testing.assert_allclose(x, OrthogonalSoft(Q).bounded(g, bound), atol=1e-9)


def test_a_cardinality_has_the_smallest_threshold_that_leaves_it():
    for seed in range(12):
        g, Q = problem(seed)
        for card in (3, 4, 6, 8):
            x = OrthogonalSoft(Q).sparse(g, card)
            assert np.linalg.norm(x) == pytest.approx(1.0, rel=1e-14)
            assert np.abs(Q.T @ x).max() < 1e-6  # found by bisection, where values are about to vanish
            assert np.count_nonzero(x) <= card
            if card == 8:
                plain = g - Q @ (Q.T @ g)
                np.testing.assert_allclose(x, plain / np.linalg.norm(plain), atol=1e-12)
                continue
            levels = np.linspace(0, 1, 400) * np.abs(g).max()
            for level in levels:  # the first on a grid that leaves no more
                y = OrthogonalSoft(Q).threshold(g, level)
                if np.count_nonzero(y) <= card:
                    break
            if y.any() and np.count_nonzero(y) == card:
                np.testing.assert_allclose(x, y / np.linalg.norm(y), atol=0.05)


def test_without_components_before_it_is_the_plain_threshold():
    g = problem(3)[0]
    empty = OrthogonalSoft(np.zeros((8, 0)))
    np.testing.assert_array_equal(empty.bounded(g, 1.7), l1_bounded(g[:, None], 1.7)[:, 0])
    np.testing.assert_array_equal(empty.sparse(g, 3), soft(g[:, None], 3)[:, 0])
    np.testing.assert_array_equal(empty.threshold(g, 0.3), soft_at(g, 0.3))


def test_of_ties_as_many_stay_as_can_be_made_orthogonal():
    # Every threshold leaves all four or nothing. Of the first three (1, 1, -1) less their mean remains, which
    # is orthogonal to equal loadings; of the first two nothing would, so that all four stay.
    Q = np.full((4, 1), 0.5)
    g = np.array([1.0, 1.0, -1.0, -1.0])
    three = OrthogonalSoft(Q).sparse(g, 3)
    np.testing.assert_allclose(three, np.array([1.0, 1.0, -2.0, 0.0]) / np.sqrt(6.0), atol=1e-12)
    np.testing.assert_allclose(OrthogonalSoft(Q).sparse(g, 2), g / 2.0, atol=1e-12)
