"""Diagnostics and moments: identities that hold exactly, limits against simulated rows."""

from __future__ import annotations

from itertools import permutations

import numpy as np
import pandas as pd
import pytest
import scipy.sparse as sps

import spcastat as sp
from spcastat.errors import OptionError
from spcastat.fit.rows import q_limit, shares, t2_limit, whitener

# --- Diagnostics ----------------------------------------------------------------------------------


def test_correlations_are_those_of_columns_and_scores(fit, pitprops):
    both = np.corrcoef(pitprops.to_numpy().T, fit.scores.to_numpy().T)[:13, 13:]
    np.testing.assert_allclose(fit.correlations, both, atol=1e-12)
    assert list(fit.correlations.index) == list(pitprops.columns)


# --- variables ----------------------------------------------------------------------------------


def test_a_covariance_fit_has_the_same(fit, covariance_fit):
    # the sample has the matrix to rounding; the loadings agree to the tolerance of the fit
    np.testing.assert_allclose(covariance_fit.correlations, fit.correlations, atol=1e-5)
    np.testing.assert_allclose(covariance_fit.communalities, fit.communalities, atol=1e-5)
    np.testing.assert_allclose(covariance_fit.component_shares, fit.component_shares, atol=1e-5)
    np.testing.assert_allclose(covariance_fit.limits(), fit.limits(), rtol=1e-4)


def test_communalities_are_r_squared_of_regressions_on_the_scores(fit, pitprops):
    X, T = pitprops.to_numpy(), fit.scores.to_numpy()
    residual = X - T @ np.linalg.lstsq(T, X, rcond=None)[0]  # both are centred
    r2 = 1 - residual.var(axis=0) / X.var(axis=0)
    np.testing.assert_allclose(fit.communalities, r2, atol=1e-10)


# --- shares -------------------------------------------------------------------------------------


def explained(X: np.ndarray, T: np.ndarray) -> float:
    """The share of the total variance that regression of X on T explains."""
    return 1 - ((X - T @ np.linalg.lstsq(T, X, rcond=None)[0]) ** 2).sum() / (X**2).sum()


def test_shares_are_the_definitions(pitprops):
    fit = sp.spca(pitprops, k=3, card=5, method="bcd-l0")
    X, T = pitprops.to_numpy(), fit.scores.to_numpy()
    found = fit.component_shares
    for j in range(3):
        rest = [i for i in range(3) if i != j]
        assert found["alone"].iloc[j] == pytest.approx(explained(X, T[:, [j]]))
        assert found["last"].iloc[j] == pytest.approx(explained(X, T) - explained(X, T[:, rest]))
    average = np.zeros(3)
    for order in permutations(range(3)):
        done = 0.0
        for place in range(3):
            now = explained(X, T[:, order[: place + 1]])
            average[order[place]] += (now - done) / 6
            done = now
    np.testing.assert_allclose(found["average"], average, atol=1e-12)


def test_averages_add_up_and_do_not_depend_on_the_order(fit, pitprops):
    assert fit.component_shares["average"].sum() == pytest.approx(fit.measure("least_squares"), rel=1e-12)
    both = np.cov(pitprops.to_numpy().T, fit.scores.to_numpy().T)
    C, G = both[13:, 13:], both[:13, 13:].T @ both[:13, 13:]
    turned = [4, 2, 0, 5, 1, 3]
    again = shares(C[np.ix_(turned, turned)], G[np.ix_(turned, turned)])
    for there, here in zip(again, shares(C, G), strict=True):
        np.testing.assert_allclose(there, here[turned], atol=1e-10)


def test_shares_of_dense_pca_are_its_eigenvalues(pitprops):
    fit = sp.spca(pitprops, k=4, method="pca")
    wanted = np.linalg.eigvalsh(pitprops.cov())[::-1][:4] / 13
    for column in ("alone", "average", "last"):
        np.testing.assert_allclose(fit.component_shares[column], wanted, rtol=1e-8)


# --- rows ---------------------------------------------------------------------------------------


@pytest.mark.parametrize("options", [{}, {"scale": True}, {"center": False}, {"weights": True}])
def test_distances_add_up_to_what_is_explained_and_what_is_not(options):
    data = sp.datasets.make_hastie(70) + 3.0
    w = np.random.default_rng(1).integers(1, 4, 70).astype(float) if options.get("weights") else np.ones(70)
    given = {**options, "weights": w} if options.get("weights") else options
    fit = sp.spca(data, k=2, card=3, **given, method="bcd-l0")
    divisor = w.sum() - 1
    left = (1 - fit.measure("pev")) * fit.total_variance
    assert (w @ fit.diagnostics()["Q"]) / divisor == pytest.approx(left, rel=1e-9)
    if options.get("center", True):
        assert (w @ fit.diagnostics()["T2"]) / divisor == pytest.approx(2.0, rel=1e-9)


def test_t2_of_all_components_is_mahalanobis_and_nothing_is_left(pitprops):
    fit = sp.spca(pitprops, k=13, method="pca")
    X = pitprops.to_numpy()
    wanted = np.einsum("ij,jk,ik->i", X, np.linalg.inv(np.cov(X.T)), X)
    np.testing.assert_allclose(fit.diagnostics()["T2"], wanted, rtol=1e-8)
    assert (fit.diagnostics()["Q"] == 0).all()
    assert fit.limits()["Q"] == 0
    assert not (fit.diagnostics()["Q"] > fit.limits()["Q"]).any()


def test_residuals_are_data_less_fitted_and_q_their_squared_length(pitprops):
    data = 10.0 * pitprops + 4.0
    fit = sp.spca(data, k=3, card=5, method="bcd-l0")
    fitted = fit.inverse_transform(fit.transform(data))
    pd.testing.assert_frame_equal(fit.residuals, data - fitted)
    np.testing.assert_allclose((fit.residuals**2).sum(axis=1), fit.diagnostics()["Q"], rtol=1e-9)


def test_sparse_rows_have_the_same_distances_some_rows_at_a_time():
    X = sps.random(4200, 500, 0.01, random_state=0, format="csr")  # 2,100,000 residuals: two blocks
    dense, sparse = (
        sp.spca(X.toarray(), k=3, card=9, method="bcd-l0"),
        sp.spca(X, k=3, card=9, method="bcd-l0"),
    )
    np.testing.assert_allclose(sparse.diagnostics(), dense.diagnostics(), rtol=1e-8)
    np.testing.assert_allclose(sparse.residuals, dense.residuals, atol=1e-9)
    np.testing.assert_allclose(sparse.limits(), dense.limits(), rtol=1e-8)


@pytest.mark.parametrize("level", [0.9, 0.95, 0.99])
def test_new_normal_rows_stay_below_the_limits_as_often_as_they_should(level):
    """20,000 rows of one normal distribution, the fit being of its covariance matrix: n is large.

    Three standard errors of a share are at most 0.0064 (level 0.9); Jackson and Mudholkar's formula is
    an approximation, good to about half a percent of the level here.
    """
    R = sp.datasets.load_pitprops()
    fit = sp.spca_cov(R, k=3, card=5, n_obs=100_000, mean=np.zeros(13), method="bcd-l0")
    draws = np.random.default_rng(5).multivariate_normal(np.zeros(13), R.to_numpy(), 20_000)
    below = (fit.diagnostics(pd.DataFrame(draws, columns=R.columns)) < fit.limits(level)).mean()
    assert below["T2"] == pytest.approx(level, abs=0.0065)
    assert below["Q"] == pytest.approx(level, abs=0.012)


def test_few_rows_widen_the_limit_of_t2():
    """The row limit of a fit to n rows holds for a new row from the same distribution: 4000 repetitions."""
    rng = np.random.default_rng(8)
    below = []
    for _ in range(4000):
        X = rng.normal(size=(13, 2))
        x = rng.normal(size=2) - X[:12].mean(axis=0)
        W = whitener(np.cov(X[:12].T))
        below.append(((x @ W) ** 2).sum() < t2_limit(12, 2, 0.95))
    assert np.mean(below) == pytest.approx(0.95, abs=3 * np.sqrt(0.95 * 0.05 / 4000))


def test_limit_of_q_where_it_is_known_exactly():
    """With m equal eigenvalues Q is chi-squared with m degrees of freedom.

    The formula then is Wilson and Hilferty's approximation, good to 0.2 % here.
    """
    assert q_limit(np.array([10.0, 10.0, 10.0]), 0.95) == pytest.approx(18.307, rel=2e-3)
    assert q_limit(np.array([5.0, 2.5, 1.25]), 0.99) == pytest.approx(23.209 / 2, rel=3e-3)
    assert q_limit(np.zeros(3), 0.95) == 0.0


def test_limits_need_a_level_and_enough_rows(fit, covariance_fit):
    with pytest.raises(OptionError, match="level=95"):
        fit.limits(95)
    assert fit.limits(0.99)["T2"] > fit.limits(0.95)["T2"]
    assert np.isnan(t2_limit(3, 3, 0.95))
    # without n the chi-squared limit, to which the other tends
    assert t2_limit(None, 4, 0.95) == pytest.approx(9.488, abs=1e-3)
    assert t2_limit(1e9, 4, 0.95) == pytest.approx(9.488, abs=1e-3)
