"""Places of a support, and components, that are worth nothing: what is left to go by there."""

from itertools import pairwise

import numpy as np

from spcastat.linalg.operators import Gram
from spcastat.search.chains import empty, grow_predictor
from spcastat.search.criteria import held
from spcastat.search.penalty import loaded, polished
from spcastat.search.variance_target import VarianceTarget
from tests.search.conftest import draw


def apart(seed):
    """A covariance matrix in which variable 2 covaries with none of 0, 1, 3, 4; a component of 0, 3, 4."""
    rng = np.random.default_rng(seed)
    X = rng.standard_normal((40, 9)) + rng.standard_normal((40, 1))
    X -= X.mean(axis=0)
    near = X[:, [0, 1, 3, 4]]
    X[:, 2] -= near @ np.linalg.lstsq(near, X[:, 2])[0]
    V = np.zeros((9, 2))
    V[[0, 3, 4], 1] = np.array([2.0, -1.0, 2.0]) / 3.0
    return np.cov(X, rowvar=False), V


def test_the_best_predictor_grows_by_the_variable_that_adds_most():
    S = draw(8, 1)
    S /= np.trace(S)
    criterion = held(S, (4,), "least_squares")
    model = criterion.model_given_others(empty(criterion, 1))

    def worth(J):
        F = (S @ S)[np.ix_(J, J)]  # v'SSv / v'Sv
        L = np.linalg.inv(np.linalg.cholesky(S[np.ix_(J, J)]))
        return np.linalg.eigvalsh(L @ F @ L.T)[-1]

    found = [grow_predictor(model, card) for card in (1, 2, 3, 4)]
    order = found[0][:, 0].tolist()
    assert sorted(order) == list(range(8))
    assert order == sorted(order, key=lambda j: -worth([j]))
    for smaller, larger in pairwise(found):
        for J, support in zip(smaller.tolist(), larger.tolist(), strict=True):
            (new,) = set(support) - set(J)
            values = {j: worth([*J, j]) for j in set(range(8)) - set(J)}
            assert values[new] >= max(values.values()) * (1.0 - 1e-3)  # ranked by a lower bound


def test_a_component_without_variance_is_left_as_it_is():
    S = np.zeros((4, 4))
    S[:2, :2] = [[2.0, 1.0], [1.0, 2.0]]
    op = Gram(S)
    V = np.zeros((4, 2))
    V[0, 0] = V[3, 1] = 1.0
    found = polished(op, loaded(op, V, 4.0), VarianceTarget(0.5, False, np.array([0.75, 0.25])), 4.0, 3)
    np.testing.assert_array_equal(found.V, V)
