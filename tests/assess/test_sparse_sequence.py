"""Sparse components one after another, and the test of them with more variables than rows."""

from __future__ import annotations

import numpy as np
import pytest

import spcastat as sp
from spcastat.assess.many_sets import residual_covariances, sparse_components, sparse_sequence
from spcastat.inputs.noise import MomentNoise, RowNoise


def blocks(n: int, p: int, variances: tuple[float, ...], seed: int) -> np.ndarray:
    """Return rows with components of six variables each, and noise of variance one."""
    rng = np.random.default_rng(seed)
    V = np.zeros((p, len(variances)))
    for j in range(len(variances)):
        V[6 * j : 6 * j + 6, j] = 6**-0.5
    return (rng.standard_normal((n, len(variances))) * np.sqrt(variances)) @ V.T + rng.standard_normal((n, p))


def test_a_sequence_finds_planted_variables_in_descending_order():
    """Loadings of 1 / sqrt(6), variances 12 and 8: with 200 rows the six largest are those planted."""
    S = np.cov(blocks(200, 60, (12.0, 8.0), 0), rowvar=False)
    loadings = sparse_sequence(S[None], 2)[0]
    for j in range(2):
        assert set(np.argsort(-np.abs(loadings[:, j]))[:6]) == set(range(6 * j, 6 * j + 6))


def test_a_sparse_component_is_the_leading_eigenvector_of_its_variables():
    S = np.stack([np.cov(blocks(80, 30, (9.0,), seed), rowvar=False) for seed in range(3)])
    for variance, v, own in zip(*sparse_components(S), S, strict=True):
        some = np.flatnonzero(v)
        values, vectors = np.linalg.eigh(own[np.ix_(some, some)])
        assert variance == pytest.approx(values[-1], rel=1e-12)
        assert abs(vectors[:, -1] @ v[some]) == pytest.approx(1.0, rel=1e-12)


def test_residuals_are_those_of_least_squares():
    """Of rows, of their cross-products, and of covariance matrices."""
    Z = blocks(40, 15, (6.0, 4.0), 1)
    Z -= Z.mean(axis=0)
    v = np.random.default_rng(0).standard_normal(15) * (np.arange(15) < 5)
    scores = (Z @ v)[:, None]
    residuals = Z - scores @ np.linalg.lstsq(scores, Z, rcond=None)[0]
    expected = residuals.T @ residuals
    rows_noise = RowNoise(Z).residuals(v)
    assert rows_noise.rows == 39
    # products of 40 rows with cells near one: rounding of about 1e-14
    np.testing.assert_allclose(rows_noise.S, expected, atol=1e-11)
    np.testing.assert_allclose(MomentNoise(Z.T @ Z, 40.0).residuals(v).S, expected, atol=1e-11)
    np.testing.assert_allclose(residual_covariances((Z.T @ Z)[None], v[None])[0], expected, atol=1e-11)


@pytest.mark.parametrize("seed", [1, 2])
def test_few_variables_among_many_exceed_noise_though_no_eigenvalue_does(seed):
    """With p / n = 4 and a variance of 1 + 4, the second eigenvalue is near the largest of noise, (1 + 2)^2.

    Baik and Silverstein (2006): its limit is (1 + 4)(1 + 4 / 4) = 10.
    """
    found = sp.choose_k(blocks(50, 200, (12.0, 4.0), seed), kmax=2, n_draws=99)
    assert found.table["deflated_p"].iloc[1] > 0.01
    assert found.table["sparse_p"].iloc[1] <= 0.01
    assert found.k == 2


@pytest.mark.sweep
@pytest.mark.parametrize("seed", [0, 3])
def test_a_third_sparse_component_is_tested_without_the_first_two(seed):
    """Two planted blocks exceed noise, and what is left of them does not."""
    rng = np.random.default_rng(seed)
    X = rng.standard_normal((30, 200))
    for block in range(2):
        X[:, 4 * block : 4 * block + 4] += 1.6 * rng.standard_normal((30, 1))
    found = sp.choose_k(X, scale=True, rng=0)
    assert found.k == 2
    assert (found.table["sparse_p"].iloc[:2] <= 0.01).all()
    assert found.table["sparse_p"].iloc[2] > 0.1


@pytest.mark.slow
def test_two_weak_components_of_few_variables_are_counted_in_few_rows():
    """By eigenvalues and the supports of principal components alone, about one in five: 24 sets."""
    numbers = [sp.choose_k(blocks(50, 200, (6.0, 3.0), seed), kmax=3, rng=seed).k for seed in range(12)]
    assert numbers.count(2) >= 5
    assert max(numbers) == 2
