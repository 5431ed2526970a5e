"""Thresholds against the problems that they solve, and selection where values tie."""

from __future__ import annotations

import itertools

import numpy as np
import pytest
import scipy.optimize
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra.numpy import array_shapes, arrays
from scipy.optimize import brentq, minimize_scalar

from spcastat.linalg.eigenvectors import (
    canonical_eigenvectors,
    first_max,
    flip_signs,
    levelled,
    ranked,
    top,
    unit,
)
from spcastat.linalg.thresholds import (
    OrthogonalSoft,
    half,
    hard,
    l1_bounded,
    lp,
    positive_part,
    soft,
    soft_at,
)

# Integers over eight make ties and zeros frequent, and exact.
vectors = (
    st.integers(1, 8)
    .flatmap(lambda p: arrays(np.int64, p, elements=st.integers(-24, 24)))
    .map(lambda w: w / 8.0)
)
quick = settings(max_examples=120, deadline=None, database=None)


def one(update, w, *args):
    return update(np.array(w, dtype=float)[:, None], *args)[:, 0]


# --- unit -----------------------------------------------------------------------------------------


@pytest.mark.parametrize("scale", [1e-300, 1e-160, 1.0, 1e160, 1e300])
def test_unit_at_any_scale(scale):
    W = np.array([[3.0, 0.0], [-4.0, 0.0]]) * scale
    np.testing.assert_allclose(unit(W), [[0.6, 0.0], [-0.8, 0.0]], rtol=1e-15)


# --- hard -----------------------------------------------------------------------------------------


@quick
@given(vectors, st.data())
def test_hard_is_the_best_of_all_supports(w, data):
    card = data.draw(st.integers(1, len(w)))
    v = one(hard, w, card)
    assert np.count_nonzero(v) <= card
    best = max(np.linalg.norm(w[list(J)]) for J in itertools.combinations(range(len(w)), card))
    # max w'v over unit v on a support J is |w_J|; two roundings of numbers up to 9
    assert w @ v == pytest.approx(best, abs=1e-13)
    assert np.linalg.norm(v) == pytest.approx(1.0 if w.any() else 0.0, abs=1e-15)


def test_hard_breaks_ties_by_the_lowest_index():
    np.testing.assert_array_equal(one(hard, [1, -1, 1, -1], 2) != 0, [True, True, False, False])
    # 1e-11 apart is a tie, 1e-9 is not
    np.testing.assert_array_equal(one(hard, [1, 1 + 1e-11], 1), [1, 0])
    np.testing.assert_array_equal(one(hard, [1, 1 + 1e-9], 1), [0, 1])


# --- soft -----------------------------------------------------------------------------------------


@quick
@given(vectors, st.data())
def test_soft_keeps_the_number_and_shrinks_by_one_level(w, data):
    card = data.draw(st.integers(1, len(w)))
    v = one(soft, w, card)
    size = np.abs(w)
    kept = v != 0
    assert kept.sum() == min(card, np.count_nonzero(w))
    if not w.any():
        return
    assert np.linalg.norm(v) == pytest.approx(1.0, abs=1e-14)
    assert (np.sign(v[kept]) == np.sign(w[kept])).all()
    # |w| - level is proportional to |v| on the support, for a level that no kept value is below
    ratio = np.abs(v[kept])
    level = max((size[size < size[kept].min()]).max(initial=0.0), 0.0)
    expected = size[kept] - level
    np.testing.assert_allclose(ratio, expected / np.linalg.norm(expected), atol=1e-14)


def test_soft_shrinks_by_the_next_value():
    # The (card + 1)-th value is 1, so that card entries stay: (3, 2) - 1.
    np.testing.assert_allclose(
        one(soft, [3, 1, -2, 0.5], 2), np.array([2, 0, -1, 0]) / np.sqrt(5), atol=1e-15
    )


# --- l1_bounded -----------------------------------------------------------------------------------


def by_bisection(w: np.ndarray, bound: float) -> float:
    """Return max w'v with |v|_2 = 1, |v|_1 <= bound, where the largest |w| is unique: Theorem 3."""
    size = np.abs(w)
    drop = (size.max() - size) / size.max()

    def at(depth):  # below the largest: a level close to it would lose the digits of their difference
        v = np.maximum(depth - drop, 0.0)
        return v / np.linalg.norm(v)

    if at(1.0).sum() <= bound:
        return float(size @ at(1.0))
    second = np.sort(drop)[1]
    if at(second).sum() > bound:  # 1 = |v|_1 with the largest alone: bound is 1
        return float(size.max())
    depth = brentq(lambda x: at(x).sum() - bound, second, 1.0, xtol=1e-20)
    return float(size @ at(depth))


@quick
@given(
    st.lists(st.integers(0, 10**6), min_size=2, max_size=8, unique=True),
    st.floats(0, 1),
    st.sampled_from([1e-8, 1.0, 1e8]),
)
def test_l1_bounded_against_bisection(values, share, scale):
    w = np.array(values) * scale * (-1.0) ** np.arange(len(values))
    bound = 1.0 + share * (np.sqrt(len(w)) - 1.0)
    v = one(l1_bounded, w, bound)
    # Values are integers up to 1e6, so the gap to the largest is 1e-6 or more of it: eps / gap.
    assert np.abs(v).sum() <= bound + 1e-9
    assert w @ v == pytest.approx(by_bisection(w, bound), rel=1e-9)


@pytest.mark.parametrize("gap", [1e-5, 1e-6, 1e-7, 1e-8, 1e-9, 3e-10, 1e-11, 0.0])
def test_l1_bound_holds_where_the_largest_nearly_tie(gap):
    # With the two largest 1e-10 to 1e-6 apart, sums minus squares cancel: the bound must hold all the same,
    # and |v|_1 = bound is optimal to within the gap.
    w = np.array([1.0, 1.0 - gap, 0.3])
    v = one(l1_bounded, w, 1.2)
    assert np.linalg.norm(v) == pytest.approx(1.0, abs=1e-12)
    assert np.abs(v).sum() == pytest.approx(1.2, abs=1e-6)
    assert w @ v == pytest.approx(1.2, abs=1e-5 + gap)


@pytest.mark.parametrize("bound", [1.0, 1.2, np.sqrt(2), 1.6, np.sqrt(3), 1.9, 2.0])
def test_l1_bounded_with_all_tied(bound):
    # w'v = |v|_1 for w = 1, so every feasible vector with |v|_1 = bound is a solution; the rule takes the
    # lowest indices and as few as can have that norm.
    v = one(l1_bounded, np.ones(4), bound)
    assert v.sum() == pytest.approx(bound, abs=1e-12)
    assert np.linalg.norm(v) == pytest.approx(1.0, abs=1e-12)
    used = int(np.ceil(bound**2 - 1e-9))
    np.testing.assert_array_equal(v[used:], 0.0)
    assert v[0] >= v[1:].max() - 1e-12


@quick
@given(st.lists(st.integers(1, 10**6), min_size=2, max_size=8, unique=True))
def test_a_higher_level_leaves_a_smaller_l1_norm(values):
    """Lemma 1 of Zhao and others (2015): |f(level)|_1 falls to 1 at the second largest value."""
    w = np.sort(values)[::-1].astype(float)
    norms = []
    for level in (0.0, *w[:0:-1]):
        v = np.maximum(w - level, 0.0)
        norms.append(v.sum() / np.linalg.norm(v))
    # a value that ties with the level leaves the norm as it is: only rounding may raise it
    assert np.diff(norms).max() <= 1e-12
    assert norms[-1] == pytest.approx(1.0, abs=1e-15)
    for share in (0.25, 0.5, 0.75):  # the bound is met by the level that the norm has there
        bound = 1.0 + share * (norms[0] - 1.0)
        assert np.abs(one(l1_bounded, w, bound)).sum() == pytest.approx(bound, abs=1e-9)


# --- nonnegative ----------------------------------------------------------------------------------


@quick
@given(vectors, st.data())
def test_nonnegative_update_is_the_best_nonnegative_vector(w, data):
    card = data.draw(st.integers(1, len(w)))
    v = hard(positive_part(w[:, None]), card)[:, 0]
    assert (v >= 0).all()
    assert np.linalg.norm(v) == pytest.approx(1.0, abs=1e-14)
    assert np.count_nonzero(v) <= card
    best = w.max()  # a unit vector
    for J in itertools.combinations(range(len(w)), card):
        best = max(best, np.linalg.norm(np.maximum(w[list(J)], 0)) or -np.inf)
    assert w @ v == pytest.approx(best, abs=1e-13)


def test_l1_bounds_at_which_a_value_just_vanishes_are_met():
    """Where the threshold is one of the values, rounding may put it on neither side."""
    rng = np.random.default_rng(0)
    for _ in range(3000):
        size = int(rng.integers(3, 7))
        w = np.sort(rng.choice(np.arange(1.0, 11.0), size, replace=False))[::-1]
        w /= rng.choice([3.0, 7.0, 11.0])
        v = np.maximum(w - w[rng.integers(2, size)], 0.0)
        v /= np.linalg.norm(v)
        found = one(l1_bounded, w, float(v.sum()))
        # A last bit of the bound moves the threshold by its square root, where the norm is stationary.
        np.testing.assert_allclose(found, v, rtol=0, atol=1e-6)


# --- lp penalties ---------------------------------------------------------------------------------------


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


# --- soft thresholds with orthogonality -----------------------------------------------------------------


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


# --- Selection where values differ by rounding only ---------------------------------------------

many = settings(max_examples=150, deadline=None, database=None)
tables = arrays(np.int64, array_shapes(min_dims=2, max_dims=2, max_side=9), elements=st.integers(-3, 3))


@many
@given(tables, st.data())
def test_top_marks_the_largest_and_of_equals_the_first(values, data):
    values = values.astype(float)
    count = data.draw(st.integers(1, len(values)))
    marks = top(values, count)
    assert (marks.sum(axis=0) == count).all()
    for j in range(values.shape[1]):
        expected = np.argsort(-values[:, j], kind="stable")[:count]
        assert set(np.flatnonzero(marks[:, j])) == set(expected)
        np.testing.assert_array_equal(top(values[:, j], count), marks[:, j])


@many
@given(tables, st.integers(0, 1000), st.data())
def test_rounding_does_not_choose(values, seed, data):
    values = values.astype(float)
    count = data.draw(st.integers(1, len(values)))
    noise = np.random.default_rng(seed).uniform(-1, 1, values.shape)
    # 1e-13 relative is a thousandth of the width of a tie; zeros tie within 1e-14 of the largest
    shaken = values * (1 + 1e-13 * noise) + 1e-16 * noise * np.abs(values).max(axis=0)
    np.testing.assert_array_equal(top(shaken, count), top(values, count))
    np.testing.assert_array_equal(flip_signs(shaken), flip_signs(values))
    for j in range(values.shape[1]):
        assert first_max(shaken[:, j]) == int(np.argmax(values[:, j]))


def test_width_of_a_tie():
    assert first_max(np.array([1.0, 1.0 + 5e-11])) == 0
    assert first_max(np.array([1.0, 1.0 + 5e-10])) == 1
    assert first_max(np.array([-1.0 - 5e-11, -1.0])) == 0


@pytest.mark.parametrize("scale", [1e-300, 1e-8, 1e8, 1e300])
def test_scale_does_not_matter(scale):
    values = np.array([3.0, 1.0, 3.0, 2.0]) * scale
    np.testing.assert_array_equal(top(values, 1), [True, False, False, False])
    np.testing.assert_array_equal(top(values, 3), [True, False, True, True])


@pytest.mark.parametrize("unit", [1e-6, 1.0, 1e6])
def test_the_width_within_which_entries_are_levelled_is_relative(unit):
    column = np.array([[3.0, -3.0 - 3e-12, 1.0, 1.0 + 1e-12, 2e-13, 2.0]]).T * unit
    found = np.abs(levelled(column, 1e-10)[:, 0]) / unit
    assert found[0] == found[1]
    assert found[2] == found[3]
    assert found[4] == 0.0
    np.testing.assert_allclose(found, [3.0, 3.0, 1.0, 1.0, 0.0, 2.0], rtol=1e-11)
    apart = np.array([[3.0, 2.9, 1.0]]).T * unit
    np.testing.assert_array_equal(levelled(apart, 1e-10), apart)


def test_ranks_ties_are_put_in_the_order_of_the_next_key_and_then_of_the_places():
    first = np.array([1.0, 3.0, 3.0 + 1e-11, 1.0, 3.0, 2.0])
    second = np.array([0.0, 5.0, 7.0, 0.0, 5.0 + 1e-11, 9.0])
    assert ranked(first).tolist() == [1, 2, 4, 5, 0, 3]
    assert ranked(first, second).tolist() == [2, 1, 4, 5, 0, 3]
    third = np.array([0.0, 0.0, 0.0, 1.0, 1.0, 0.0])
    assert ranked(first, second, third).tolist() == [2, 4, 1, 5, 3, 0]
    assert ranked(np.empty(0)).tolist() == []
    assert ranked(np.zeros(3)).tolist() == [0, 1, 2]


# --- eigenvectors of equal values ------------------------------------------------------------------


def along_axes(basis: np.ndarray) -> np.ndarray:
    """Project the first axes on the span of `basis`, orthonormal; those of little length are left out."""
    chosen: list[np.ndarray] = []
    for axis in basis @ basis.T:
        left = axis - sum(((axis @ one) * one for one in chosen), np.zeros(len(axis)))
        if np.linalg.norm(left) > 1e-3 and len(chosen) < basis.shape[1]:
            chosen.append(left / np.linalg.norm(left))
    return np.column_stack(chosen)


def test_vectors_of_equal_values_are_projections_of_the_first_axes():
    values = np.array([5.0, 3.0, 3.0, 3.0 - 1e-10, 2.0, 2.0, 1.0])
    for seed in range(5):
        rng = np.random.default_rng(seed)
        V = np.linalg.qr(rng.standard_normal((9, 7)))[0]
        V[0, 1:4] *= 1e-9  # the first axis has next to nothing in the group of three
        V = np.linalg.qr(V)[0]
        kept, found = canonical_eigenvectors(values, V)
        np.testing.assert_array_equal(kept, values)
        for group in (slice(0, 1), slice(1, 4), slice(4, 6), slice(6, 7)):
            wanted = along_axes(V[:, group]) if V[:, group].shape[1] > 1 else V[:, group]
            np.testing.assert_allclose(found[:, group], wanted * flip_signs(wanted), atol=1e-12)
        turned = V.copy()
        turned[:, 1:4] = V[:, 1:4] @ np.linalg.qr(rng.standard_normal((3, 3)))[0]
        np.testing.assert_allclose(canonical_eigenvectors(values, turned)[1], found, atol=1e-12)


# --- thresholds ------------------------------------------------------------------------------------


def test_what_is_zero_but_for_rounding_is_no_loading():
    W = np.array([[8.0, 8.0, -8.0], [-8e-13, -8.1e-13, 0.0], [2.0, -2.0, 2.0]])
    V = hard(W, 3)
    np.testing.assert_array_equal(V != 0, [[True] * 3, [False, True, False], [True] * 3])
    np.testing.assert_allclose(V[:, 0], np.array([4, 0, 1]) / np.sqrt(17), rtol=1e-15)
    np.testing.assert_array_equal(hard(W, 2) != 0, [[True] * 3, [False] * 3, [True] * 3])
    np.testing.assert_array_equal(soft(W, 3) != 0, V != 0)
    shrunk = soft(np.array([[3.0, 1.0, -2.0, 1e-15]]).T, 3)[:, 0]
    np.testing.assert_allclose(shrunk, np.array([3, 1, -2, 0]) / np.sqrt(14), rtol=1e-14)


@pytest.mark.parametrize("bound", [1.0, 1.05, 1.2, 1.4, 1.414])
def test_two_loadings_within_an_l1_norm_lie_on_a_circle(bound):
    # x + y = bound and x^2 + y^2 = 1 with x > y: x = (bound + sqrt(2 - bound^2)) / 2.
    root = np.sqrt(2.0 - bound**2)
    wanted = [(bound - root) / 2, -(bound + root) / 2]
    np.testing.assert_allclose(l1_bounded(np.array([[2.99, -3.0]]).T, bound)[:, 0], wanted, atol=1e-7)
    tied = l1_bounded(np.array([[-3.0, 3.0, 1.0]]).T, bound)[:, 0]
    np.testing.assert_allclose(tied, [-(bound + root) / 2, (bound - root) / 2, 0.0], atol=1e-12)
