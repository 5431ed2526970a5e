"""What is kept of the second moments: measures are those of `spcastat.measures`, worked out once."""

from __future__ import annotations

import numpy as np
import pytest
import scipy.sparse as sps

import spcastat as sp
from spcastat.state.fit_moments import Moments


@pytest.mark.parametrize("name", sp.measures.MEASURES)
def test_measures_are_those_of_loadings_and_rows(fit, pitprops, name):
    wanted = getattr(sp.measures, name)(fit.loadings, X=pitprops, cumulative=True)
    np.testing.assert_allclose(fit._state.moments.measure(name), wanted, rtol=1e-10)
    assert fit.measure(name) == fit._state.moments.measure(name)[-1]


def test_of_sparse_rows_with_more_columns_than_rows():
    X = sps.random(40, 600, 0.1, random_state=0, format="csr")
    fit = sp.spca(X, 3, 8, method="bcd-l0")
    S = np.cov(X.toarray().T)
    V = fit.loadings.to_numpy()
    moments = fit._state.moments
    np.testing.assert_allclose(moments.variances, np.diag(S), rtol=1e-10)
    np.testing.assert_allclose(moments.coupling, S @ V, atol=1e-12)
    np.testing.assert_allclose(moments.scores, V.T @ S @ V, atol=1e-12)
    np.testing.assert_allclose(moments.pca, np.linalg.eigvalsh(S)[::-1][:3], rtol=1e-8)
    for name in sp.measures.MEASURES:
        assert moments.measure(name)[-1] == pytest.approx(
            getattr(sp.measures, name)(V, X=X.toarray()), rel=1e-8
        )


def test_stored_moments_are_not_worked_out_again(fit):
    held = {name: getattr(fit._state.moments, name) for name in Moments.ARRAYS}
    measures = {name: fit._state.moments.measure(name) for name in sp.measures.MEASURES}
    stored = Moments.stored(fit._state.V, held, measures)
    for name in Moments.ARRAYS:
        assert getattr(stored, name) is held[name]
    with pytest.raises(AssertionError):
        stored.op  # noqa: B018
