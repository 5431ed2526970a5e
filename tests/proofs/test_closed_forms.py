"""Pieces of the bounds against enumeration and closed forms, in any unit."""

from __future__ import annotations

from itertools import permutations

import numpy as np
import pytest

from spcastat.proofs.duals import ky_fan, sequential
from spcastat.proofs.orthogonal import Orthogonal


def spread(seed: int, d: int) -> np.ndarray:
    """A covariance matrix whose variances are far apart."""
    rng = np.random.default_rng(seed)
    X = rng.standard_normal((3 * d, d)) * np.geomspace(1.0, 50.0, d)
    return np.cov(X, rowvar=False)


def test_no_eigenvalues_have_the_sum_zero_for_every_matrix():
    M = np.stack([spread(0, 4), spread(1, 4)])
    assert ky_fan(M, 0).tolist() == [0.0, 0.0]
    np.testing.assert_allclose(ky_fan(M, 5), np.trace(M, axis1=1, axis2=2))


def test_the_sum_of_all_eigenvalues_is_the_trace_without_rounding():
    M = np.stack([seed + np.round(spread(seed, 7)) for seed in range(5)])  # sums of whole numbers are exact
    assert (np.linalg.eigvalsh(M).sum(axis=1) != np.trace(M, axis1=1, axis2=2)).any()
    assert (ky_fan(M, 7) == np.trace(M, axis1=1, axis2=2)).all()


@pytest.mark.parametrize("unit", [1e-9, 1.0, 1e9])
def test_the_best_order_of_single_variables_is_that_of_enumeration(unit):
    S = unit * spread(2, 5)
    singles = np.array([[0, 2, 4], [1, 3, 4]])

    def in_order(order: tuple[int, ...]) -> float:
        # What each variable adds is its variance given those before it: squared pivots of Cholesky.
        return float((np.diag(np.linalg.cholesky(S[np.ix_(order, order)])) ** 2).sum())

    best = [max(map(in_order, permutations(one))) for one in singles.tolist()]
    found = sequential(S, singles)
    assert (found >= best).all()
    np.testing.assert_allclose(found, best, rtol=1e-9)  # but for the rounding that it allows for


def test_sparse_eigenvalues_are_searched_for_where_that_takes_moments():
    assert Orthogonal(np.eye(40), (3, 3)).searched(3)
    assert not Orthogonal(np.eye(40), (20, 20)).searched(20)  # 1.4e11 supports
    assert not Orthogonal(np.eye(6), (6, 6)).searched(6)
