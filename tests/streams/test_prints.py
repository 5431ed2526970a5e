"""Prints of partitions, by which changed rows are noticed."""

import numpy as np
import pytest
import scipy.sparse as sps

from spcastat.streams.base import PartitionSums


@pytest.mark.parametrize("p", [5, 200])  # of many columns groups are summed
def test_sparse_rows_have_the_print_of_the_same_rows_dense(p):
    X = np.random.default_rng(p).standard_normal((30, p))
    X[X < 0.7] *= 0.0
    X *= np.where(np.arange(p) % 2, -1.0, 1.0)
    dense, sparse = PartitionSums.of(X), PartitionSums.of(sps.csr_array(X))
    assert dense.rows == sparse.rows == 30
    np.testing.assert_allclose(sparse.sums, dense.sums, rtol=1e-12, atol=1e-12)
    np.testing.assert_allclose(sparse.sizes, dense.sizes, rtol=1e-12)
    if p == 5:
        np.testing.assert_allclose(dense.sizes, np.abs(X).sum(axis=0), rtol=1e-12)


def test_no_rows_have_a_print():
    for X in (np.empty((0, 4)), sps.csr_array((0, 4))):
        found = PartitionSums.of(X)
        assert found.rows == 0
        assert not found.sums.any()
        assert not found.sizes.any()
