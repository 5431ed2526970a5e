"""Quotients by columns of which some are zero."""

import numpy as np

from spcastat.linalg.ties import quotients


def test_quotients_are_zero_where_nothing_divides():
    W = np.array([[3.0, 0.0, -1.0], [6.0, 0.0, 0.5]])
    np.testing.assert_array_equal(quotients(W, np.array([3.0, 0.0, 0.5])), [[1, 0, -2], [2, 0, 1]])
    np.testing.assert_array_equal(quotients(W, np.array([[3.0], [0.0]])), [[1, 0, -1 / 3], [0, 0, 0]])
    smallest = np.array([5e-324, np.inf])
    np.testing.assert_array_equal(quotients(np.array([1e-323, 1.0]), smallest), [2.0, 0.0])
