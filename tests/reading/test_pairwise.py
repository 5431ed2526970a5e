"""Available cases against pandas, and the nearest correlation matrix against statsmodels and Higham's
example."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest
from statsmodels.stats.correlation_tools import corr_nearest

from spcastat import errors
from spcastat.reading.missing_values import nearest_correlation, pairwise_moments


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


def optimality(R: np.ndarray, X: np.ndarray) -> float:
    """Return by how much X fails the conditions for the nearest correlation matrix to R.

    X is nearest exactly if it is positive semidefinite with a diagonal of ones, and S = X - R - Diag(y) is
    positive semidefinite with X S = 0 for some y (Higham 2002, Theorem 2.4). The diagonal of X S gives y.
    """
    S = X - R - np.diag(np.einsum("ij,ji->i", X, X - R))
    failures = [np.abs(X @ S).max(), np.abs(np.diag(X) - 1).max()]
    return max(*failures, *(-np.linalg.eigvalsh(M)[0] for M in (X, S)))


def test_the_nearest_correlation_matrix_meets_the_conditions_of_optimality():
    factors, gaps = np.random.default_rng(0), np.random.default_rng(1)
    rows = factors.normal(size=(60, 4)) @ factors.normal(size=(4, 120)) + factors.normal(size=(60, 120))
    available = pd.DataFrame(rows).mask(gaps.random(rows.shape) < 0.2).corr().to_numpy()
    signs = np.sign(np.random.default_rng(2).normal(size=(40, 40)))
    signs = np.triu(signs, 1) + np.triu(signs, 1).T + np.eye(40)
    uniform = np.random.default_rng(3).uniform(-1, 1, size=(50, 50))
    uniform = np.triu(uniform, 1) + np.triu(uniform, 1).T + np.eye(50)
    for R in (available, signs, uniform):
        assert np.linalg.eigvalsh(R)[0] < -0.1
        # Newton's method ends at a diagonal within 1e-10 of one, usually far closer
        assert optimality(R, nearest_correlation(R).correlation) < 1e-9


def test_the_nearest_correlation_matrix_of_equal_negative_correlations():
    # by symmetry all correlations of the nearest matrix are equal, and -1 / (p - 1) is the least possible
    p = 10
    found = nearest_correlation(np.full((p, p), -0.8) + 1.8 * np.eye(p))
    np.testing.assert_allclose(found.correlation[np.triu_indices(p, 1)], -1 / (p - 1), atol=1e-10)


def test_the_nearest_correlation_matrix_takes_few_eigenvalue_decompositions(monkeypatch):
    eigh, made = np.linalg.eigh, []

    def counted(S):
        made.append(len(S))
        return eigh(S)

    monkeypatch.setattr(np.linalg, "eigh", counted)
    R = frame(5, n=80, p=8, share=0.0).to_numpy() @ np.random.default_rng(6).normal(size=(8, 150))
    R += np.random.default_rng(7).normal(size=R.shape)
    R = pd.DataFrame(R).mask(np.random.default_rng(8).random(R.shape) < 0.2).corr().to_numpy()
    assert nearest_correlation(R).smallest < -0.1
    # Newton's method converges quadratically; alternating projections need a hundred or more
    assert len(made) <= 12


def test_pairs_without_a_correlation_are_named():
    data = frame(3)
    data.loc[:19, "a"], data.loc[20:, "b"] = np.nan, np.nan
    with pytest.raises(errors.MissingValuesError, match="'a', 'b' have none: fewer than two rows have both"):
        pairwise_moments(data.to_numpy(), None, names=data.columns)
    data = frame(4, share=0.0)
    data.loc[:29, "a"], data.loc[30:, "b"] = np.nan, 1.0
    with pytest.raises(errors.ConstantColumnError, match="does not vary in the rows that have both"):
        pairwise_moments(data.to_numpy(), None, names=data.columns)
