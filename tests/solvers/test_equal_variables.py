"""Ties and degenerate data for the methods that rest on regressions, relaxations and bounds."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest
import scipy.sparse

import spcastat as sp

METHODS = ("zou", "spca-os", "scotlass", "dspca", "alspca", "nspca")


@pytest.mark.parametrize("method", METHODS)
def test_of_equal_variables_the_first_are_taken(method: str) -> None:
    np.testing.assert_array_equal(sp.spca_cov(np.eye(5), 2, 1, method=method).loadings, np.eye(5)[:, :2])


@pytest.mark.parametrize("method", METHODS)
def test_rounding_does_not_choose_the_supports(method: str) -> None:
    # rows with exactly equal correlations: dense, sparse and covariance input differ by rounding alone
    rng = np.random.default_rng(17)
    R = 0.5 * np.eye(5) + 0.5
    Q = np.linalg.qr(np.column_stack([np.ones(40), rng.standard_normal((40, 5))]))[0][:, 1:]
    X = np.sqrt(39) * Q @ np.linalg.cholesky(R).T
    fits = [sp.spca(X, 1, 2, method=method), sp.spca(scipy.sparse.csr_array(X), 1, 2, method=method)]
    fits.append(sp.spca_cov(R, 1, 2, method=method))
    for fit in fits:
        np.testing.assert_array_equal(np.flatnonzero(fit.loadings), [0, 1])


@pytest.mark.parametrize("method", METHODS)
def test_a_dependent_and_a_constant_variable(method: str) -> None:
    X = pd.DataFrame(
        np.random.default_rng(15).standard_normal((40, 4)) * [1.0, 2.0, 3.0, 1.5], columns=[*"abcd"]
    )
    X = X.assign(same=X["b"], constant=3.0, sum=X["b"] + X["c"])
    fit = sp.spca(X, 2, 3, method=method)
    V = fit.loadings.to_numpy()
    assert np.isfinite(V).all()
    np.testing.assert_allclose(np.linalg.norm(V, axis=0), 1.0)
    assert fit.loadings.loc["constant"].abs().max() < 1e-12
    # the unit of the data does not matter
    np.testing.assert_allclose(sp.spca(X * 1e-6, 2, 3, method=method).loadings, V, atol=1e-4)


@pytest.mark.parametrize("method", METHODS)
def test_one_variable(method: str) -> None:
    X = sp.datasets.make_hastie(n=20)[["X1"]]
    assert sp.spca(X, 1, 1, method=method).loadings.to_numpy().tolist() == [[1.0]]
