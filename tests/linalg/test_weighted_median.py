"""The weighted median against NumPy's of repeated values."""

import numpy as np

from spcastat.linalg.regression import weighted_median


def test_whole_weights_are_repeated_values():
    rng = np.random.default_rng(0)
    for m in (1, 2, 5, 8, 20):
        values = rng.integers(-4, 5, (30, m)).astype(float)  # many ties
        weights = rng.integers(0, 4, (30, m))
        weights[:, 0] += 1
        found = weighted_median(values, weights * 0.1)  # sums of tenths round
        wanted = [np.median(np.repeat(v, w)) for v, w in zip(values, weights, strict=True)]
        np.testing.assert_array_equal(found, wanted)


def test_it_minimises_the_weighted_absolute_differences():
    rng = np.random.default_rng(1)
    values, weights = rng.standard_normal((50, 9)), rng.random((50, 9))
    found = weighted_median(values, weights)
    at_values = (weights[:, :, None] * np.abs(values[:, :, None] - values[:, None, :])).sum(axis=1)
    loss = (weights * np.abs(values - found[:, None])).sum(axis=1)
    np.testing.assert_allclose(loss, at_values.min(axis=1), rtol=1e-13)  # a minimum lies at a value


def test_one_vector_of_weights_serves_all_rows():
    values = np.array([[3.0, 1.0, 2.0], [5.0, 5.0, 7.0]])
    assert weighted_median(values, np.array([1.0, 0.0, 1.0])).tolist() == [2.5, 6.0]
