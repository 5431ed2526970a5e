"""Scales against statsmodels, which computes them by other means; units and blocks of work."""

from __future__ import annotations

import numpy as np
import pytest
from statsmodels.robust.scale import mad, qn_scale

from spcastat.linalg.scales import SCALES, blocks, unit_of


@pytest.mark.parametrize("n", [2, 3, 10, 11, 400, 401])
def test_mad_and_qn_are_those_of_statsmodels(n):
    Z = np.random.default_rng(n).standard_normal((2, n))
    np.testing.assert_allclose(SCALES["mad"](Z), mad(Z, axis=1), rtol=1e-13)
    np.testing.assert_allclose(SCALES["qn"](Z), [qn_scale(row) for row in Z], rtol=1e-12)


@pytest.mark.parametrize("n", [50, 600])
def test_qn_of_values_that_mostly_coincide_is_zero(n):
    z = np.zeros(n)
    z[: n // 5] = np.arange(n // 5)
    assert SCALES["qn"](z) == 0.0
    assert SCALES["mad"](z) == 0.0


@pytest.mark.parametrize("name", SCALES)
def test_scales_do_not_move_with_the_data_and_grow_with_their_unit(name):
    z = np.random.default_rng(5).standard_normal(30)
    assert SCALES[name](7.0 - 3.0 * z) == pytest.approx(3.0 * SCALES[name](z), rel=1e-12)


# --- units that are powers of two -----------------------------------------------------------------------


@pytest.mark.parametrize("exponent", [-1000, -301, -2, -1, 0, 1, 2, 17, 300, 999])
def test_a_unit_brings_the_largest_variance_to_between_a_half_and_two(exponent):
    for digits in (1.0, 1.1, 1.9999):
        variance = digits * 2.0**exponent
        unit = unit_of(variance)
        assert np.frexp(unit)[0] == 0.5  # a power of two
        assert 0.5 <= variance / unit / unit < 2.0


@pytest.mark.parametrize("variance", [5e-324, 1e-300, 1.7e308])
def test_squares_of_units_are_numbers(variance):
    square = unit_of(variance) ** 2
    assert np.isfinite(square)
    assert square >= np.finfo(float).tiny


@pytest.mark.parametrize("size", [0.0, np.inf, np.nan])
def test_what_has_no_size_is_left_as_it_is(size):
    assert unit_of(size) == 1.0


# --- blocks of work -------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("count", "each", "most", "sizes"),
    [
        (7, 10, 30, [3, 3, 1]),
        (7, 10, 39, [3, 3, 1]),  # a fourth would have one number more than there may be
        (6, 10, 30, [3, 3]),
        (3, 10, 9, [1, 1, 1]),  # one thing at a time, be it too large
        (3, 0, 9, [3]),
        (0, 10, 30, []),
    ],
)
def test_blocks_are_in_order_and_as_large_as_allowed(count, each, most, sizes):
    found = [np.arange(count)[one] for one in blocks(count, each, most)]
    assert [len(one) for one in found] == sizes
    assert [i for one in found for i in one] == list(range(count))
