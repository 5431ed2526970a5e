"""threshold and rotate: PCA with the small loadings cut off."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest
import scipy.sparse

import spcastat as sp
from spcastat.errors import OptionError
from spcastat.solvers.thresholding import ROTATIONS


@pytest.fixture(scope="module")
def pitprops() -> pd.DataFrame:
    return sp.datasets.load_pitprops()


def test_thresholding_keeps_the_largest_loadings_of_pca(pitprops):
    pca = sp.spca_cov(pitprops, 2, method="pca").loadings["PC2"]
    fit = sp.spca_cov(pitprops, 2, 4, method="threshold")
    kept = pca.abs().nlargest(4).index
    expected = pca.where(pca.index.isin(kept), 0.0)
    np.testing.assert_allclose(fit.loadings["PC2"], expected / np.linalg.norm(expected))
    assert fit.details["smallest kept"].iloc[1] == pytest.approx(pca.abs().nlargest(4).iloc[-1])


def test_a_threshold_is_on_loadings_of_unit_length(pitprops):
    pca = sp.spca_cov(pitprops, 3, method="pca").loadings
    fit = sp.spca_cov(pitprops, 3, method="threshold", threshold=[0.3, 0.2, 0.1])
    expected = pca.abs() >= [0.3, 0.2, 0.1]
    pd.testing.assert_frame_equal(fit.loadings != 0, expected)
    assert fit.status == "exact"


@pytest.mark.parametrize("method", ["threshold", "rotate"])
def test_limits_and_refusals(pitprops, method):
    none = sp.spca_cov(pitprops, 3, method=method, threshold=0)
    assert (none.card == 13).all()
    with pytest.raises(OptionError, match=r"leaves no loading in component 1, .* it must be in \[0, 0\."):
        sp.spca_cov(pitprops, 3, method=method, threshold=0.95)
    with pytest.raises(OptionError, match="threshold="):
        sp.spca_cov(pitprops, 3, method=method, threshold=1.5)
    with pytest.raises(OptionError, match="card and threshold"):
        sp.spca_cov(pitprops, 3, 4, method=method, threshold=0.5)
    with pytest.raises(OptionError, match="card= or threshold="):
        sp.spca_cov(pitprops, 3, method=method)


@pytest.mark.parametrize("rotation", ROTATIONS)
def test_rotations_keep_the_space_of_pca(pitprops, rotation):
    pca = sp.spca_cov(pitprops, 3, method="pca")
    fit = sp.spca_cov(pitprops, 3, 13, method="rotate", rotation=rotation)
    V, W = pca.loadings.to_numpy(), fit.loadings.to_numpy()
    np.testing.assert_allclose(V @ (V.T @ W), W, atol=1e-10)
    np.testing.assert_allclose(np.linalg.norm(W, axis=0), 1.0)
    if rotation not in ROTATIONS[-2:]:
        np.testing.assert_allclose(W.T @ W, np.eye(3), atol=1e-10)
    assert np.all(np.diff(fit.variance["score variance"]) <= 1e-12)


def test_varimax_raises_the_variance_of_the_squared_loadings(pitprops):
    """No rotation of two of the three columns does better than the fit."""

    def criterion(W: np.ndarray) -> float:
        return float(np.var(W**2, axis=0).sum())

    W = sp.spca_cov(pitprops, 3, 13, method="rotate").loadings.to_numpy()
    for i, j in ((0, 1), (0, 2), (1, 2)):
        for angle in np.linspace(0, np.pi, 61):
            R = np.eye(3)
            R[[i, i, j, j], [i, j, i, j]] = np.cos(angle), -np.sin(angle), np.sin(angle), np.cos(angle)
            assert criterion(W @ R) <= criterion(W) + 1e-6


def test_rotation_has_a_nearest_name_and_one_component_needs_none(pitprops):
    with pytest.raises(OptionError, match="Did you mean 'varimax'"):
        sp.spca_cov(pitprops, 3, 4, method="rotate", rotation="varimx")
    one = sp.spca_cov(pitprops, 1, 4, method="rotate").loadings
    pd.testing.assert_frame_equal(one, sp.spca_cov(pitprops, 1, 4, method="threshold").loadings)


@pytest.mark.parametrize("method", ["threshold", "rotate"])
def test_dense_sparse_and_covariance_agree(method):
    rng = np.random.default_rng(0)
    X = np.where(rng.random((60, 20)) < 0.5, rng.standard_normal((60, 20)) * np.linspace(1, 3, 20), 0.0)
    dense = sp.spca(X, 3, [6, 5, 4], method=method)
    sparse = sp.spca(scipy.sparse.csr_array(X), 3, [6, 5, 4], method=method)
    gram = sp.spca_cov(np.cov(X.T), 3, [6, 5, 4], method=method)
    np.testing.assert_allclose(sparse.loadings, dense.loadings, atol=1e-8)
    np.testing.assert_allclose(gram.loadings.to_numpy(), dense.loadings.to_numpy(), atol=1e-8)
    assert list(dense.card) == [6, 5, 4]
