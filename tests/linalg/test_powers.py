"""Units that are powers of two."""

import numpy as np
import pytest

from spcastat.linalg.scales import unit_of


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
