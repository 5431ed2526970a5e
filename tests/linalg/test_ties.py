"""Selection where values differ by rounding only, and quotients by columns of which some are zero."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra.numpy import array_shapes, arrays

from spcastat.linalg.ties import (
    LEVELLED_ORDER,
    canonical_eigenvectors,
    first_max,
    flip_signs,
    hard,
    hard_at,
    hard_marked,
    l1_bounded,
    level_for,
    levelled,
    quotients,
    ranked,
    soft,
    soft_at,
    tie_width,
    top,
)

quick = settings(max_examples=150, deadline=None, database=None)
tables = arrays(np.int64, array_shapes(min_dims=2, max_dims=2, max_side=9), elements=st.integers(-3, 3))


@quick
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


@quick
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


def test_top_of_everything():
    assert top(np.zeros(3), 3).all()
    assert top(np.zeros((3, 2)), 7).all()


def test_signs():
    V = np.array([[0.5, -0.5, 0.0, -0.1], [-0.5, 0.5, 0.0, 0.9], [0.1, -0.6, 0.0, -0.9]])
    np.testing.assert_array_equal(flip_signs(V), [1, -1, 1, 1])


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


# --- the width of a tie, to the last bit -----------------------------------------------------------

# Two values tie where they are at most 1e-10 of the larger one apart, and 1e-14 of what is largest beside
# them: `EDGE` is the last number that ties with one beside `BESIDE`, and `BEYOND` the next one.
BESIDE = 64.0
EDGE = 1.0 - (1e-10 * 1.0 + 1e-14 * BESIDE)
BEYOND = np.nextafter(EDGE, 0.0)


def test_the_last_number_that_ties_and_the_next():
    assert tie_width(np.array(-1.0), np.array(-BESIDE)) == 1e-10 + 1e-14 * BESIDE
    for value, first in ((EDGE, 0), (BEYOND, 1)):
        assert first_max(np.array([value, 1.0, -BESIDE])) == first
        assert first_max(np.array([-np.inf, value, 1.0, -BESIDE])) == first + 1
        values = np.array([BESIDE, value, 1.0, 0.5])
        assert np.flatnonzero(top(values, 2)).tolist() == [0, 1 + first]
        kept, level = level_for(np.array([BESIDE, 1.0, -value, 0.5]), 2)
        assert kept.tolist() == [True, True, False, False]
        assert level == (0.5 if first == 0 else value)
        shrunk = soft(np.array([[BESIDE, 1.0, -value, 0.5]]).T, 2)[:, 0]
        np.testing.assert_allclose(shrunk[0] / shrunk[1], (BESIDE - level) / (1.0 - level), rtol=1e-12)


def test_ranks_ties_are_put_in_the_order_of_the_next_key_and_then_of_the_places():
    first = np.array([1.0, 3.0, 3.0 + 1e-11, 1.0, 3.0, 2.0])
    second = np.array([0.0, 5.0, 7.0, 0.0, 5.0 + 1e-11, 9.0])
    assert ranked(first).tolist() == [1, 2, 4, 5, 0, 3]
    assert ranked(first, second).tolist() == [2, 1, 4, 5, 0, 3]
    third = np.array([0.0, 0.0, 0.0, 1.0, 1.0, 0.0])
    assert ranked(first, second, third).tolist() == [2, 4, 1, 5, 3, 0]
    for share, order in ((0.999, [0, 1, 2]), (1.001, [1, 0, 2])):
        assert ranked(np.array([1.0 - share * (1.0 - EDGE), 1.0, -BESIDE])).tolist() == order
    assert ranked(np.empty(0)).tolist() == []
    assert ranked(np.zeros(3)).tolist() == [0, 1, 2]


def test_more_room_for_ties_where_it_is_asked_for():
    values = np.array([1.0, 2.0, 1.25, 3.0])
    assert np.flatnonzero(top(values, 3, 0.25)).tolist() == [0, 1, 3]  # 1 and 1.25 tie
    assert np.flatnonzero(top(values, 3, 0.24)).tolist() == [1, 2, 3]
    assert np.flatnonzero(top(values[:, None], 1, 1.0)[:, 0]).tolist() == [1]  # 2 and 3 tie


def test_entries_just_the_level_apart_are_equal():
    V = np.array([[1.0, 1.0, -4.0], [0.75, -0.5, 1.0], [0.25, 0.25, 1.0], [-0.25, 0.0, 0.5]])
    # A quarter of the largest apart: (1, .75) make .875 and .25 is zero; (.5, .25, 0) are a chain that ends
    # at zero, beside a 1; and 1, 1, .5 are within a quarter of 4 of one another and of zero.
    wanted = [[0.875, 1.0, -4.0], [0.875, 0.0, 0.0], [0.0, 0.0, 0.0], [0.0, 0.0, 0.0]]
    np.testing.assert_array_equal(levelled(V, 0.25), wanted)
    wanted = [[1.0, 1.0, -4.0], [0.75, -0.5, 0.0], [0.25, 0.25, 0.0], [-0.25, 0.0, 0.0]]
    np.testing.assert_array_equal(levelled(V, 0.2), wanted)
    assert V[0, 0] == 1.0  # not in place


def test_entries_of_eigenvectors_are_equal_within_some_hundred_roundings():
    column = np.array([[1.0, 1.0 - 5e-14, 0.5, 0.5 - 1e-11, 5e-14, 1e-11]]).T
    found = levelled(column)[:, 0]
    assert found[0] == found[1]
    assert found[2:].tolist() == [0.5, 0.5 - 1e-11, 0.0, 1e-11]


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


@pytest.mark.parametrize(("order", "levels"), [(LEVELLED_ORDER, True), (LEVELLED_ORDER + 1, False)])
def test_only_in_vectors_of_some_length_are_entries_levelled(order, levels):
    v = np.zeros((order, 1))
    v[0], v[1] = 1.0, 1e-15
    assert (canonical_eigenvectors(np.ones(1), v)[1][1, 0] == 0.0) == levels


# --- thresholds ------------------------------------------------------------------------------------


def test_signs_of_thresholds_and_what_lies_at_them():
    W = np.array([[2.0, -2.0], [-1.0, 1.0], [0.5, -0.0]])
    np.testing.assert_array_equal(hard_at(W, 1.0), [[2, -2], [0, 0], [0, 0]])
    np.testing.assert_array_equal(soft_at(W, 1.0), [[1, -1], [0, 0], [0, 0]])
    np.testing.assert_array_equal(soft_at(W, np.array([0.5, 1.5])), [[1.5, -0.5], [-0.5, 0], [0, 0]])


def test_what_is_zero_but_for_rounding_is_no_loading():
    W = np.array([[8.0, 8.0, -8.0], [-8e-13, -8.1e-13, 0.0], [2.0, -2.0, 2.0]])
    V, marks = hard_marked(W, 3)
    assert marks.all()
    np.testing.assert_array_equal(V != 0, [[True] * 3, [False, True, False], [True] * 3])
    np.testing.assert_allclose(V[:, 0], np.array([4, 0, 1]) / np.sqrt(17), rtol=1e-15)
    np.testing.assert_array_equal(hard(W, 3), V)
    assert hard_marked(W, 2)[1].tolist() == [[True] * 3, [False] * 3, [True] * 3]
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


def test_as_many_tied_values_as_the_squared_bound_share_it_evenly():
    w = np.array([[-2.0, 1.0, 2.0, 2.0, 2.0, 1.0]]).T
    np.testing.assert_array_equal(l1_bounded(w, 2.0)[:, 0], [-0.5, 0.0, 0.5, 0.5, 0.5, 0.0])


# --- quotients ------------------------------------------------------------------------------------------


def test_quotients_are_zero_where_nothing_divides():
    W = np.array([[3.0, 0.0, -1.0], [6.0, 0.0, 0.5]])
    np.testing.assert_array_equal(quotients(W, np.array([3.0, 0.0, 0.5])), [[1, 0, -2], [2, 0, 1]])
    np.testing.assert_array_equal(quotients(W, np.array([[3.0], [0.0]])), [[1, 0, -1 / 3], [0, 0, 0]])
    smallest = np.array([5e-324, np.inf])
    np.testing.assert_array_equal(quotients(np.array([1e-323, 1.0]), smallest), [2.0, 0.0])
