"""Selection where values differ by rounding only."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra.numpy import array_shapes, arrays

from spcastat.kernels.ties import first_max, flip_signs, levelled, top

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
