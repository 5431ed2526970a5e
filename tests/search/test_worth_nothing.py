"""Places of a support, and components, that are worth nothing: what is left to go by there."""

import numpy as np
import pytest

from spcastat.operators import Gram
from spcastat.search.conditional import Conditional, slack
from spcastat.search.default import held
from spcastat.search.growth import grown, singles
from spcastat.search.priced import loaded, polished
from spcastat.search.promise import Promise
from spcastat.search.swaps import _ratio
from tests.search.conftest import draw
from tests.search.swapping import gain


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


@pytest.mark.parametrize("seed", range(4))
def test_a_swap_for_a_loading_of_zero_adds_what_the_variable_adds_to_the_whole_support(seed):
    S, V = apart(seed)
    V[:3, 0] = 1.0
    given = Conditional(S, V, S @ V, 0)
    peak = given.peak(np.arange(3), float(np.trace(S)))
    assert peak.unsure.tolist() == [False, False, True]
    entering = np.arange(3, 9)
    cross = (given.A(peak.support, entering), given.B(peak.support, entering))
    short, rise = slack(peak, *cross, *given.corners(entering))
    others = V[:, 1:]
    for b, variable in enumerate(entering):
        added = gain(S, others, np.append(np.arange(3), variable)) - gain(S, others, np.arange(3))
        # eigenvalues of a bordered diagonal matrix, by Newton's method from below: ten digits
        assert short[2, b] == pytest.approx(-added, rel=1e-9, abs=1e-12)
        assert rise[2, b] == pytest.approx(added, rel=1e-9, abs=1e-12)


def test_a_variable_that_another_component_has_alone_gains_nothing():
    S = draw(5, 0)
    V = np.eye(5)[:, [0, 1]]
    peak = Conditional(S, V, S @ V, 0).peak(np.array([1]), float(np.trace(S)))
    assert peak.vector.tolist() == [1.0]
    assert peak.value == pytest.approx(0.0, abs=1e-12)


@pytest.mark.parametrize("objective", ["pev", "adjusted", "least_squares"])
def test_a_single_component_grows_by_the_variable_of_the_largest_eigenvalue(objective):
    S = draw(8, 1)
    S /= np.trace(S)
    criterion = held(S, (4,), objective)
    fits = criterion.fits(np.array([[0, 1, 2, 3]]), np.ones((1, 4)))
    criterion.empty(fits, np.arange(1), 0)
    model = criterion.beside(fits)

    def worth(J):
        top = np.linalg.eigvalsh(S[np.ix_(J, J)])[-1]
        if objective != "least_squares":
            return top
        F = (S @ S)[np.ix_(J, J)]  # v'SSv / v'Sv
        L = np.linalg.inv(np.linalg.cholesky(S[np.ix_(J, J)]))
        return np.linalg.eigvalsh(L @ F @ L.T)[-1]

    np.testing.assert_allclose(singles(model)[0], [worth([j]) for j in range(8)], rtol=1e-6)
    for first in range(8):
        J = [first]
        for card in (2, 3, 4):
            found = grown(model, np.array([[first]]), card)[0, 0].tolist()
            (new,) = set(found) - set(J)
            values = {j: worth([*J, j]) for j in set(range(8)) - set(J)}
            assert values[new] >= max(values.values()) * (1.0 - 1e-3)  # two steps of Newton's method
            J = [*J, new]


def test_a_component_without_variance_is_left_as_it_is():
    S = np.zeros((4, 4))
    S[:2, :2] = [[2.0, 1.0], [1.0, 2.0]]
    op = Gram(S)
    V = np.zeros((4, 2))
    V[0, 0] = V[3, 1] = 1.0
    found = polished(op, loaded(op, V, 4.0), Promise(0.5, False, np.array([0.75, 0.25])), 4.0, 3)
    np.testing.assert_array_equal(found.V, V)


def test_loadings_that_are_zero_have_no_ratio():
    S = draw(5, 0)
    V = np.zeros((5, 2))
    V[:2, 1] = [0.6, 0.8]
    assert _ratio(Conditional(S, V, S @ V, 0), np.zeros(5), np.array([2, 3])) == 0.0
