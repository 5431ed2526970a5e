"""Thresholds under lp constraints: Zhao, Meng and Xu (2014), Theorems 2 and 3."""

import numpy as np
import pytest
from scipy.optimize import minimize_scalar

from spcastat.linalg.thresholds import half, lp
from spcastat.linalg.ties import hard


def brute(w, card, power):
    """Minimise (u - |w_i|)^2 / 2 + lambda u^p on a fine grid, entry by entry, lambda as in Theorem 2."""
    theta = np.sort(np.abs(w))[::-1][card - 1]
    level = (2 * (1 - power)) ** (1 - power) / (2 - power) ** (2 - power) * theta ** (2 - power)
    out = np.zeros(len(w))
    for i, size in enumerate(np.abs(w)):
        low = 2 * (1 - power) / (2 - power) * theta

        def cost(u, size=size):
            return 0.5 * (u - size) ** 2 + level * u**power

        if size > low:
            # At the threshold itself zero and the other minimum tie; the paper keeps it.
            best = minimize_scalar(
                cost, bounds=(0.999 * low, size), method="bounded", options={"xatol": 1e-12}
            )
            if best.fun <= cost(0.0) + 1e-9 * size**2:
                out[i] = best.x
    return np.sign(w) * out / np.linalg.norm(out)


@pytest.mark.parametrize("power", [0.1, 0.5, 0.9])
@pytest.mark.parametrize("card", [1, 3, 8])
def test_lp_minimises_the_penalised_distance(power, card):
    w = np.random.default_rng(7).standard_normal(8)
    # The bounded minimiser finds a minimum to about the root of the machine precision.
    np.testing.assert_allclose(lp(w[:, None], card, power)[:, 0], brute(w, card, power), atol=1e-6)


def test_lp_solves_the_equation_of_theorem_2_to_rounding():
    w, card, p = np.array([3.0, -1.0, 0.2, 0.0]), 2, 0.3
    u = np.abs(lp(w[:, None], card, p)[:2, 0])
    level = (2 * (1 - p)) ** (1 - p) / (2 - p) ** (2 - p)  # theta = 1
    # u is proportional to b; b_2 = 2(1-p)/(2-p) exactly, which gives the factor.
    b = u / u[1] * 2 * (1 - p) / (2 - p)
    np.testing.assert_allclose(b + level * p * b ** (p - 1), [3.0, 1.0], rtol=1e-13)


def test_half_is_lp_at_one_half_and_keeps_two_thirds_at_the_threshold():
    W = np.random.default_rng(1).standard_normal((9, 4))
    np.testing.assert_allclose(half(W, 4), lp(W, 4, 0.5), atol=1e-14)
    v = half(np.array([[4.0], [4.0], [4.0], [1.0]]), 4)[:, 0]
    phi = np.arccos(np.sqrt(0.5) * 0.25**1.5)
    big = 2 / 3 * 4 * (1 + np.cos(2 * np.pi / 3 - 2 * phi / 3))
    assert v[3] / v[0] == pytest.approx((2 / 3) / big, rel=1e-13)


@pytest.mark.parametrize("rule", [half, lambda W, card: lp(W, card, 0.2)])
def test_exactly_card_entries_stay_of_unit_length(rule):
    W = np.random.default_rng(2).standard_normal((20, 6)) * 1e-200  # no underflow
    W[:, 5] = 0.0
    for card in (1, 7, 20):
        V = rule(W, card)
        assert (np.count_nonzero(V[:, :5], axis=0) == card).all()
        np.testing.assert_allclose(np.linalg.norm(V[:, :5], axis=0), 1.0, rtol=1e-14)
        assert not V[:, 5].any()


def test_ties_keep_the_lowest_index_and_zeros_stay_zero():
    assert np.flatnonzero(half(np.array([[1.0], [1.0], [1.0]]), 2)[:, 0]).tolist() == [0, 1]
    assert lp(np.array([[2.0], [0.0], [0.0]]), 2, 0.5)[:, 0].tolist() == [1.0, 0.0, 0.0]
    np.testing.assert_allclose(half(np.array([[2.0], [1.0], [0.0]]), 3)[:, 0], np.array([2, 1, 0]) / 5**0.5)


def test_small_exponents_tend_to_hard_thresholding():
    W = np.random.default_rng(3).standard_normal((9, 2))
    np.testing.assert_allclose(lp(W, 4, 1e-9), hard(W, 4), atol=1e-7)


def test_half_thresholding_is_equation_13():
    # Two thirds of a value at the threshold stay, and nearly all of a large one.
    found = half(np.array([[1.0], [2.0], [50.0], [0.5]]), 3)[:, 0]
    phi = np.arccos(np.sqrt(0.5) * 0.5**1.5)
    wanted = np.array([2 / 3, 4 / 3 * (1 + np.cos(2 * np.pi / 3 - 2 * phi / 3))])
    np.testing.assert_allclose(found[:2] / found[0], wanted / wanted[0], rtol=1e-13)
    assert found[2] / found[0] == pytest.approx(50.0 * 1.5, rel=1e-3)
    assert found[3] == 0
    # There the derivative of (u - w)^2 / 2 + lambda u^(1/2) vanishes, with the lambda of Theorem 2, p = 1/2.
    u = found[:2] / found[0] * (2 / 3)
    np.testing.assert_allclose(u + 0.5 / 1.5**1.5 * u**-0.5, [1.0, 2.0], rtol=1e-12)


@pytest.mark.parametrize("rule", [half, lambda W, card: lp(W, card, 0.3)])
def test_entries_that_are_rounding_become_zero(rule):
    w = np.array([1.0, -0.5, 3e-15, 0.25, -2e-16])
    found = rule(w[:, None], 5)[:, 0]
    assert np.flatnonzero(found).tolist() == [0, 1, 3]
