"""The path of elastic nets against the conditions that make a solution one."""

from __future__ import annotations

from itertools import pairwise

import numpy as np
import pytest

from spcastat.kernels.elastic_net import Columns, path


def problem(seed: int) -> tuple[np.ndarray, np.ndarray]:
    """Correlated variables: on the way down their paths cross zero, so that variables leave and return."""
    rng = np.random.default_rng(seed)
    A = rng.standard_normal((12, 2)) @ rng.standard_normal((2, 9)) * 2.0 + rng.standard_normal((12, 9))
    return A.T @ A / 12, A.T @ rng.standard_normal(12) / 4


@pytest.mark.parametrize("unit", [1e-20, 1e-8, 1.0, 1e20])
def test_the_path_meets_the_optimality_conditions_in_any_unit(unit):
    # min w'(S + ridge I)w / 2 - b'w + penalty |w|_1: the smooth part has the gradient -penalty sign(w) where
    # w is not zero, and at most the penalty elsewhere (to the rounding of some twenty steps).
    left = 0
    for seed in range(20):
        S, b = problem(seed)
        largest, sizes = np.abs(b).max(), []
        for share in np.linspace(0.9, 0.0, 19):
            columns = Columns(lambda J, S=S: S[:, J] * unit, b.size)
            w, penalty = path(columns, b * unit, 0.01 * unit, penalty=share * largest * unit)
            assert penalty == pytest.approx(share * largest * unit, rel=1e-12, abs=0)
            slope = (S + 0.01 * np.eye(b.size)) @ w - b
            on = w != 0
            np.testing.assert_allclose(slope[on], -share * largest * np.sign(w[on]), atol=1e-9 * largest)
            assert np.abs(slope).max() <= (share + 1e-9) * largest
            sizes.append(on)
        left += sum(int((before & ~after).sum()) for before, after in pairwise(sizes))
    assert left > 5  # or no variable ever leaves, and half of the method was not looked at
