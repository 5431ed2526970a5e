"""Components of one variable: all results are saved, loaded and printed alike, without a warning."""

import warnings

import numpy as np
import pandas as pd
import pytest

import spcastat as sp

RNG = np.random.default_rng(0)
ROWS = RNG.normal(size=(60, 5)) @ RNG.normal(size=(5, 5)) * [1, 2, 3, 4, 5]
DATA = pd.DataFrame(ROWS, columns=list("abcde"))

KINDS = {
    "bootstrap": lambda fit: fit.bootstrap(5),
    "stability": lambda fit: fit.stability(3),
    "split_inference": lambda fit: fit.split_inference(5),
    "several splits": lambda fit: fit.split_inference(5, repeats=2),
    "test_loadings": lambda fit: fit.test_loadings(9),
}


@pytest.mark.parametrize("kind", KINDS)
def test_results_about_single_variables_are_saved_and_printed_alike(kind, tmp_path):
    fit = sp.spca(DATA, 2, 1)
    shown = fit.with_inference(KINDS[kind](fit))
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        shown.save(tmp_path / "fit.npz")
        loaded = sp.load(tmp_path / "fit.npz")
        before, after = (next(iter(one.inference.values())) for one in (shown, loaded))
        assert str(loaded) == str(shown)
        assert str(after) == str(before)


def test_scales_of_a_covariance_matrix_have_its_units():
    # as for the rows with these covariances; a correlation matrix has no units, and no raw alpha
    rows = sp.spca(DATA, 1, 3, scale=True).scales().table
    matrix = sp.spca_cov(DATA.cov(), 1, 3, scale=True, n_obs=60).scales().table
    pd.testing.assert_frame_equal(matrix, rows, rtol=1e-8)
    for options in ({}, {"scale": True}):
        assert np.isnan(sp.spca_cov(DATA.corr(), 1, 3, n_obs=60, **options).scales().table["alpha"]).all()


@pytest.mark.parametrize("verify_meta", [True, False])
def test_dask_frames_from_delayed_parts_are_fitted(verify_meta):
    dask = pytest.importorskip("dask")
    frames = pytest.importorskip("dask.dataframe")
    parts = [dask.delayed(DATA.iloc[first : first + 20]) for first in (0, 20, 40)]
    data = frames.from_delayed(parts, meta=DATA.iloc[:0], verify_meta=verify_meta)
    with dask.config.set(scheduler="synchronous"):
        loadings = sp.spca(data, 1, 2).loadings
    pd.testing.assert_frame_equal(loadings, sp.spca(DATA, 1, 2).loadings, rtol=1e-8)
