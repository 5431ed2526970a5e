"""What is kept of the second moments: measures are those of `spcastat.measures`, worked out once."""

from __future__ import annotations

import numpy as np
import pytest
import scipy.sparse as sps

import spcastat as sp
from spcastat.fit.moments import Moments
from spcastat.linalg.build import prepare


def moments_of(fit, X):
    """The moments of loadings and rows, and of their eigenvalues."""
    op = prepare(X, None, True, False, fit.loadings.index)[1]
    return Moments(fit.loadings.to_numpy(), op, op.leading(len(fit.components))[0])


@pytest.mark.parametrize("name", sp.measures.MEASURES)
def test_measures_are_those_of_loadings_and_rows(fit, pitprops, name):
    wanted = getattr(sp.measures, name)(fit.loadings, X=pitprops, cumulative=True)
    np.testing.assert_allclose(moments_of(fit, pitprops.to_numpy()).measure(name), wanted, rtol=1e-10)
    assert fit.measure(name) == pytest.approx(wanted[-1], rel=1e-10)


def test_of_sparse_rows_with_more_columns_than_rows():
    X = sps.random(40, 600, 0.1, random_state=0, format="csr")
    fit = sp.spca(X, 3, 8, method="bcd-l0")
    S = np.cov(X.toarray().T)
    V = fit.loadings.to_numpy()
    moments = moments_of(fit, X)
    np.testing.assert_allclose(moments.variances, np.diag(S), rtol=1e-10)
    np.testing.assert_allclose(moments.coupling, S @ V, atol=1e-12)
    np.testing.assert_allclose(moments.scores, V.T @ S @ V, atol=1e-12)
    np.testing.assert_allclose(moments.pca, np.linalg.eigvalsh(S)[::-1][:3], rtol=1e-8)
    for name in sp.measures.MEASURES:
        wanted = getattr(sp.measures, name)(V, X=X.toarray())
        assert fit.measure(name) == pytest.approx(wanted, rel=1e-8)
        assert moments.measure(name)[-1] == pytest.approx(wanted, rel=1e-8)


def test_stored_moments_are_not_computed_again(fit, pitprops):
    held, measures = moments_of(fit, pitprops.to_numpy()).kept()
    stored = Moments.stored(fit.loadings.to_numpy(), held, measures)
    for name in Moments.ARRAYS:
        assert getattr(stored, name) is held[name]
    with pytest.raises(AssertionError):
        stored.op  # noqa: B018
