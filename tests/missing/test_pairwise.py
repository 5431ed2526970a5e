"""Available cases against pandas, and the nearest correlation matrix against statsmodels and Higham's
example."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest
from statsmodels.stats.correlation_tools import corr_nearest

from spcastat import errors
from spcastat.kernels.nearest import nearest_correlation
from spcastat.missing import pairwise_moments


def frame(seed: int, n: int = 40, p: int = 5, share: float = 0.2) -> pd.DataFrame:
    rng = np.random.default_rng(seed)
    X = rng.standard_normal((n, p)) @ rng.standard_normal((p, p)) + 10
    data = pd.DataFrame(X, columns=list("abcdefgh"[:p]))
    return data.mask(rng.random(data.shape) < share)


def test_correlations_and_variances_are_those_of_pandas():
    data = frame(0)
    found = pairwise_moments(data.to_numpy(), None)
    sd = data.std().to_numpy()
    np.testing.assert_allclose(found.covariance, data.corr() * sd * sd[:, None], rtol=1e-10)
    np.testing.assert_allclose(found.mean, data.mean(), rtol=1e-12)
    there = data.notna().to_numpy().astype(int)
    assert found.fewest == (there.T @ there).min()
    assert found.nearest.moved == 0.0


def test_weights_count_rows():
    data, w = frame(1), np.random.default_rng(0).integers(0, 3, 40)
    weighted = pairwise_moments(data.to_numpy(), w.astype(float))
    repeated = pairwise_moments(np.repeat(data.to_numpy(), w, axis=0), None)
    np.testing.assert_allclose(weighted.covariance, repeated.covariance, rtol=1e-10)


def test_the_nearest_correlation_matrix_of_highams_example():
    """Higham (2002), section 4: distance 0.5278 and off-diagonal 0.7607, 0.1573, to the digits printed
    there."""
    R = np.array([[1.0, 1.0, 0.0], [1.0, 1.0, 1.0], [0.0, 1.0, 1.0]])
    found = nearest_correlation(R)
    assert found.moved == pytest.approx(0.5278, abs=5e-5)
    assert found.correlation[0, 1] == pytest.approx(0.7607, abs=5e-5)
    assert found.correlation[0, 2] == pytest.approx(0.1573, abs=5e-5)
    assert found.smallest == pytest.approx(1 - np.sqrt(2))
    assert np.linalg.eigvalsh(found.correlation)[0] >= -1e-8


# statsmodels reaches its limit of iterations where the result is singular, and warns
@pytest.mark.filterwarnings("ignore")
def test_the_nearest_correlation_matrix_is_that_of_statsmodels():
    data = frame(2, n=24, p=8, share=0.45)
    R = data.corr().to_numpy()
    found = nearest_correlation(R)
    assert found.smallest < -0.01
    np.testing.assert_allclose(found.correlation, corr_nearest(R), atol=1e-6)
    assert found.moved == pytest.approx(np.linalg.norm(found.correlation - R))
    assert found.largest == pytest.approx(np.abs(found.correlation - R).max())


def test_pairs_without_a_correlation_are_named():
    data = frame(3)
    data.loc[:19, "a"], data.loc[20:, "b"] = np.nan, np.nan
    with pytest.raises(errors.MissingValuesError, match="'a', 'b' have none: fewer than two rows have both"):
        pairwise_moments(data.to_numpy(), None, names=data.columns)
    data = frame(4, share=0.0)
    data.loc[:29, "a"], data.loc[30:, "b"] = np.nan, 1.0
    with pytest.raises(errors.ConstantColumnError, match="does not vary in the rows that have both"):
        pairwise_moments(data.to_numpy(), None, names=data.columns)
