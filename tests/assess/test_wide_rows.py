"""Few rows of many variables: products of rows give the same eigenvectors and groups."""

import numpy as np
import pytest

from spcastat.assess.many_sets import FewRows, Operators, of_rotated, partitions, pruned, sets_of
from spcastat.inputs.noise import RowNoise
from spcastat.linalg.eigenvectors import varimax
from spcastat.linalg.operators import DenseRows, Gram

N, P, K = 24, 620, 3


@pytest.fixture(scope="module")
def rows():
    """Rows of three components of 40, 30 and 20 variables beside noise."""
    rng = np.random.default_rng(4)
    loadings = np.zeros((K, P))
    for j, (first, size) in enumerate([(0, 40), (40, 30), (70, 20)]):
        loadings[j, first : first + size] = 0.8
    Y = rng.standard_normal((N, K)) @ loadings + rng.standard_normal((N, P))
    Y -= Y.mean(axis=0)
    return DenseRows(Y / np.linalg.norm(Y, axis=0), np.ones(N), N)


def test_dense_rows_are_treated_as_few_rows_and_covariances_are_not(rows):
    assert isinstance(sets_of([rows, rows], K), FewRows)
    assert isinstance(sets_of([Gram(rows.Y.T @ rows.Y)], K), Operators)


@pytest.mark.parametrize("fits", [of_rotated, lambda *given: pruned(*given)[1]], ids=["rotated", "pruned"])
def test_loadings_on_supports_are_those_of_products_of_variables(rows, fits):
    """Both take the same power steps, so they differ by rounding only; groups settle within the rounds."""
    numbers = [6, 50, 400]
    by_rows, by_variables = (fits(kind(K, [rows]), K, numbers) for kind in (FewRows, Operators))
    assert by_rows.shape == (3, 1, P, K)
    np.testing.assert_array_equal(by_rows != 0, by_variables != 0)
    np.testing.assert_allclose(by_rows, by_variables, atol=1e-6)


def test_each_variable_is_in_the_group_with_whose_component_it_correlates_most(rows):
    """Components are computed anew by eigenvectors of the blocks; 1e-3 for the end of the power steps."""
    near = np.arange(P) % K
    groups, _ = partitions(FewRows(K, [rows]), K, near)
    scores = []
    for j in range(K):
        block = rows.Y[:, groups[0] == j]
        scores.append(np.linalg.svd(block, full_matrices=False)[0][:, 0])
    correlations = np.abs(np.stack(scores) @ rows.Y)
    own = correlations[groups[0], np.arange(P)]
    assert (own >= correlations.max(axis=0) - 1e-3).all()


def test_an_empty_group_stays_empty(rows):
    """Differences of products leave rounding errors, which are no component."""
    groups = np.zeros((1, 1, P), dtype=int)
    settled, covariances = FewRows(2, [rows]).settled_groups(groups, np.ones((1, P, 2)))
    assert not settled.any()
    assert not covariances[..., 1].any()


def test_the_largest_eigenvalue_of_flips_needs_no_projected_rows(rows):
    """The same signs; eigenvalues of order one, with rounding errors of 1e-15 times the number of rows."""
    noise = RowNoise(rows.Y).without(np.linalg.qr(rows.Y[:2].T)[0])
    for seed in range(5):
        largest = noise.largest_of_flips(np.random.default_rng(seed))
        of_rows = noise.flipped(np.random.default_rng(seed)).leading(1)[0]
        assert largest == pytest.approx(of_rows, rel=1e-11)


def test_varimax_has_a_symmetric_criterion_matrix():
    """At a stationary point, the product of the rotated loadings and the gradient is symmetric."""
    A = np.random.default_rng(1).standard_normal((2, 40, 4)) ** 3
    L = varimax(A)
    squares = L**2
    gradient = L.mT @ (L * (squares - squares.mean(axis=1, keepdims=True)))
    np.testing.assert_allclose(gradient, gradient.mT, atol=1e-3 * np.abs(gradient).max())
    np.testing.assert_allclose(L @ L.mT, A @ A.mT, atol=1e-9)
