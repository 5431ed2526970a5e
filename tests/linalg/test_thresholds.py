"""Closed-form updates of a loading vector against brute force."""

from __future__ import annotations

import itertools

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays
from scipy.optimize import brentq

from spcastat.linalg.ties import hard, l1_bounded, positive_part, soft, unit

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


def test_hard_with_fewer_values_than_asked():
    np.testing.assert_array_equal(one(hard, [0, -5, 0], 2), [0, -1, 0])
    np.testing.assert_array_equal(one(hard, [0, 0, 0], 2), 0.0)


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


def test_soft_with_ties_at_the_border_keeps_its_nonzeros():
    v = one(soft, [3, 2, 2, 1], 2)
    np.testing.assert_array_equal(v != 0, [True, True, False, False])
    np.testing.assert_allclose(v, np.array([2, 1, 0, 0]) / np.sqrt(5), atol=1e-15)


def test_soft_works_column_by_column():
    W = np.random.default_rng(0).standard_normal((9, 30))
    together = soft(W, 4)
    for j in range(30):
        np.testing.assert_allclose(together[:, j], one(soft, W[:, j], 4), atol=1e-15)  # the norm sums differ


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
@given(vectors.filter(lambda w: len(w) > 1 and w.any()), st.floats(0, 1))
def test_l1_bounded_is_feasible_and_beats_feasible_vectors(w, share):
    bound = 1.0 + share * (np.sqrt(len(w)) - 1.0)
    v = one(l1_bounded, w, bound)
    assert np.linalg.norm(v) == pytest.approx(1.0, abs=1e-12)
    assert np.abs(v).sum() <= bound * (1 + 1e-12)
    rng = np.random.default_rng(0)
    others = [*np.eye(len(w)), *-np.eye(len(w))]
    for _ in range(40):  # a soft threshold of anything, shrunk until it is feasible
        x = rng.standard_normal(len(w)) + rng.integers(0, 3) * np.sign(w)
        for level in np.linspace(0, 1, 8, endpoint=False):
            y = np.sign(x) * np.maximum(np.abs(x) - level * np.abs(x).max(), 0)
            y = y / np.linalg.norm(y)
            if np.abs(y).sum() <= bound:
                others.append(y)
                break
    assert w @ v >= max(w @ x for x in others) - 1e-12


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


def test_l1_bounded_at_the_ends():
    w = np.array([0.5, -2.0, 1.0, 0.0])
    np.testing.assert_allclose(one(l1_bounded, w, 1.0), [0, -1, 0, 0], atol=1e-15)
    np.testing.assert_allclose(one(l1_bounded, w, 2.0), w / np.linalg.norm(w), atol=1e-15)
    np.testing.assert_array_equal(one(l1_bounded, np.zeros(4), 1.5), 0.0)
    np.testing.assert_array_equal(one(l1_bounded, [-3.0], 1.0), [-1.0])


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


def test_positive_part_where_nothing_is_positive():
    W = np.array([[-3.0, 0.0, -1.0], [-1.0, 0.0, -1.0], [-2.0, 0.0, 2.0]])
    np.testing.assert_array_equal(positive_part(W), [[0, 1, 0], [1, 0, 0], [0, 0, 2]])
    assert W[0, 0] == -3.0  # not in place


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
