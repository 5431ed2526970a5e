"""Scales against statsmodels, which computes them by other means."""

import numpy as np
import pytest
from statsmodels.robust.scale import mad, qn_scale

from spcastat.linalg.scales import SCALES


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
