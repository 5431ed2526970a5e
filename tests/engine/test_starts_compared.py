"""Of fits from several starts the one with the best value of the method's criterion is kept."""

import numpy as np
import pytest

from spcastat.engine.run import _best, _better_part
from spcastat.operators import Gram
from spcastat.solvers.solver import Component, Solution

VIEW = Gram(np.diag([3.0, 2.0, 1.0]))
AXES = np.eye(3)


def part(axis, objective=None):
    return Component(AXES[axis], "converged", 1, objective=objective)


@pytest.mark.parametrize("order", [(0,), (1, 0), (0, 1), (2, 0, 1), (1, 2, 0)])
def test_the_component_of_the_largest_variance_is_kept(order):
    assert _better_part(VIEW, [part(axis) for axis in order]).v.tolist() == [1.0, 0.0, 0.0]


def test_a_criterion_of_the_method_s_own_goes_before_variance():
    assert _better_part(VIEW, [part(0, 1.0), part(2, 5.0), part(1, 2.0)]).v.tolist() == [0.0, 0.0, 1.0]


def test_of_equal_values_the_first_start_is_kept():
    parts = [part(1), part(1)]
    assert _better_part(VIEW, parts) is parts[0]


class Kept:
    """A joint solver whose fit is the start itself."""

    def solve(self, op, k, starts, rng):
        V = starts[0].T
        return Solution(V, "converged", 1, float(V[0, 0]), np.array([float(V[0, 0])]))


@pytest.mark.parametrize("order", [(0,), (1, 0), (0, 1), (2, 1, 0)])
def test_the_joint_fit_of_the_largest_adjusted_variance_is_kept(order):
    starts = np.stack([AXES[[axis]] for axis in order])  # of one component each
    found = _best(VIEW, Kept(), 1, starts, np.random.default_rng(0))
    assert found.V[:, 0].tolist() == [1.0, 0.0, 0.0]
    assert found.objectives.tolist() == [float(axis == 0) for axis in order]
