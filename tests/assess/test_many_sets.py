"""Searches on several data sets at once, against one decomposition for each support and each data set."""

from __future__ import annotations

import numpy as np
import pytest

from spcastat.assess.many_sets import (
    Matrices,
    Operators,
    largest,
    most_related,
    of_sequence,
    partitions,
    sets_of,
)
from spcastat.linalg.operators import DenseRows, Gram

#: Variables: those of `MANY` take power steps, those of `FEW` eigenvectors, as groups settle.
FEW, MANY = 14, 60


def covariances(p: int, seed: int = 0) -> np.ndarray:
    """Covariance matrices of two data sets with three groups of variables, shape (2, p, p)."""
    rng = np.random.default_rng(seed)
    scores = rng.standard_normal((2, 200, 3)) * [3.0, 2.0, 1.5]
    X = scores[:, :, np.arange(p) % 3] + rng.standard_normal((2, 200, p))
    return np.stack([np.cov(rows, rowvar=False) for rows in X])


def test_loadings_on_supports_are_leading_eigenvectors():
    """Supports of unlike sizes, one of them empty, which are decomposed together where sizes are similar."""
    sets = Matrices(3, covariances(FEW))
    masks = np.zeros((2, 2, FEW, 3), dtype=bool)
    masks[0, 0, :12, 0] = masks[0, 0, 3:, 1] = masks[0, 1, [2, 5], 0] = True
    masks[1] = largest(sets.rotated(3), [9])[0]
    masks[1, 1, :, 2] = False
    V = sets.weights(masks, masks[0].astype(float))
    for m, f, j in np.ndindex(2, 2, 3):
        support = np.flatnonzero(masks[m, f, :, j])
        expected = np.zeros(FEW)
        if len(support):
            expected[support] = np.linalg.eigh(sets.S[f][np.ix_(support, support)])[1][:, -1]
        np.testing.assert_allclose(np.abs(V[m, f, :, j]), np.abs(expected), atol=1e-10)
    assert not sets.weights(np.zeros((1, 2, FEW, 1), dtype=bool), np.ones((2, FEW, 1))).any()


def test_products_of_several_starts_are_those_of_each():
    S = covariances(FEW)
    V = np.random.default_rng(1).standard_normal((4, 2, FEW, 3))
    operators = Operators(3, [Gram(matrix) for matrix in S])
    np.testing.assert_allclose(operators.products(V), S @ V, atol=1e-10)


def test_variables_without_loadings_at_the_start_still_get_a_component():
    """A component whose variables have no loadings yet starts from equal ones."""
    sets = Matrices(3, covariances(MANY))
    groups = np.tile(np.arange(MANY) % 3, (1, 2, 1))
    loadings = np.ones((2, MANY, 3)) * [1.0, 1.0, 0.0]
    settled, C = sets.settled_groups(groups, loadings)
    np.testing.assert_array_equal(settled, groups)
    assert (C[..., 2].max(axis=-1) > 1.0).all()


@pytest.mark.parametrize("p", [FEW, MANY])
def test_the_better_of_two_starts_is_kept(p):
    """Groups that explain little do not replace those of rotated loadings."""
    sets, one_group = Matrices(3, covariances(p)), np.zeros(p, dtype=int)
    groups, C = partitions(sets, 3)
    again, C_again = partitions(sets, 3, one_group)
    np.testing.assert_array_equal(again, groups)
    np.testing.assert_array_equal(C_again, C)
    assert all(len(set(row[i::3])) == 1 for row in groups for i in range(3))


def test_the_first_of_components_that_tie_takes_a_variable():
    assert most_related(np.array([[1.0, 1.0 + 1e-13], [1.0, 1.1]])).tolist() == [0, 1]


def test_every_component_keeps_its_two_largest_loadings():
    A = np.array([[[9.0, 0.1], [8.0, 0.3], [7.0, 0.2], [6.0, 0.0]]])
    assert largest(A, [3])[0, 0].sum(axis=0).tolist() == [3, 2]


def test_data_sets_with_many_rows_are_operators_if_one_of_them_is():
    rng = np.random.default_rng(0)
    rows = [DenseRows(rng.standard_normal((n, 501)), np.ones(n), n) for n in (150, 250)]
    assert len(sets_of(rows, 2).ops) == 2
    assert isinstance(sets_of(rows, 2), Operators)


def test_supports_of_a_sequence_are_the_largest_slopes_on_standardised_scores():
    sets = Matrices(3, covariances(FEW))
    slopes = []
    for S, V in zip(sets.S, sets.sequence, strict=True):
        of_scores = V.T @ S @ V
        slopes.append(np.linalg.solve(of_scores, V.T @ S).T * np.sqrt(np.diag(of_scores)))
    np.testing.assert_array_equal(of_sequence(sets, 3, [7, 12]) != 0, largest(np.stack(slopes), [7, 12]))
