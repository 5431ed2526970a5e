"""Block coordinate descent: its published sweeps, bounds, nonnegative loadings and starts."""

from __future__ import annotations

import itertools
import warnings

import numpy as np
import pytest

import spcastat as sp
from spcastat.errors import ConvergenceWarning


def algorithm_1(S, V, card, tol=1e-7, quiet=3):
    """Algorithm 1 of Zhao, Meng, Xu and Gao (2015) from V; `quiet` quiet sweeps end it.

    U = X A, first the best for V: equation (5) gives v_i, thresholded, and (6) u_i, each given the others.
    """
    V, k = V.copy(), V.shape[1]
    A, value, still, sweeps = V @ np.linalg.inv(V.T @ V), np.inf, 0, 0
    while still < quiet:
        for i in range(k):
            others = np.delete(np.arange(k), i)
            w = S @ A[:, i] - V[:, others] @ (A[:, others].T @ S @ A[:, i])
            v = np.zeros(len(S))
            largest = np.argsort(-np.abs(w), kind="stable")[:card]
            v[largest] = w[largest]
            V[:, i] = v / np.linalg.norm(v)
            A[:, i] = V[:, i] - A[:, others] @ (V[:, others].T @ V[:, i])
        new = np.trace(S) - 2 * np.trace(A.T @ S @ V) + np.trace(A.T @ S @ A @ V.T @ V)
        still = still + 1 if abs(value - new) <= tol * np.trace(S) else 0
        value, sweeps = new, sweeps + 1
    return V, sweeps


def leading(S, k):
    return np.linalg.eigh(S)[1][:, ::-1][:, :k]


def random_covariance(seed):
    X = np.random.default_rng(seed).standard_normal((40, 20))
    return np.cov(X @ np.diag(np.linspace(1, 2, 20)), rowvar=False)


@pytest.mark.parametrize("seed", range(6))
def test_shortened_paths_end_no_worse_than_the_published_sweeps(seed):
    S = random_covariance(seed)
    fit = sp.spca_cov(S, 4, 5, method="bcd-l0", order="given")
    V, sweeps = algorithm_1(S, leading(S, 4), 5)
    assert fit.glance()["n_iter"].item() < sweeps
    residual = np.trace(S) - np.trace(np.linalg.inv(V.T @ V) @ V.T @ S @ V)
    # the published sweeps end with a change of 1e-7 of the total variance; seed 1 leads to other supports
    assert fit.objective_value <= residual * (1 + 1e-9)
    if seed != 1:
        np.testing.assert_array_equal(fit.loadings.to_numpy() != 0, V != 0)


def test_shortened_paths_need_a_quarter_of_the_published_sweeps(R):
    # Six components of four variables: the published sweeps crawl, with changes of the supports at long
    # intervals, so that loadings solved for on early supports would end in a worse fit.
    fit = sp.spca_cov(R, 6, 4, method="bcd-l0", order="given")
    V, sweeps = algorithm_1(R.to_numpy(), leading(R.to_numpy(), 6), 4)
    assert fit.glance()["n_iter"].item() < sweeps / 4
    np.testing.assert_array_equal(fit.loadings.to_numpy() != 0, V != 0)


@pytest.mark.parametrize("seed", range(6))
def test_fits_are_stationary(seed):
    # Theorem 5: the sweeps end at a point that no update of one column changes. The loadings are solved for
    # to rounding, about 1e-8 of those of a flat maximum.
    S = random_covariance(seed)
    fit = sp.spca_cov(S, 6, 4, method="bcd-l0", order="given")
    V = fit.loadings.to_numpy()
    after, _ = algorithm_1(S, V, 4, tol=np.inf, quiet=1)
    np.testing.assert_allclose(after, V, atol=1e-7)


def test_the_status_is_that_of_the_start_that_is_kept(R):
    ends = set()
    for card, max_iter in (((5, 4, 3), 2), ((5, 4, 3), 14), ((3, 3, 3), 12), ((7, 2, 3), 12)):
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", ConvergenceWarning)
            fit = sp.spca_cov(R, 3, card, method="bcd-l0", n_init=5, max_iter=max_iter)
        # A start that has not converged has taken every sweep that it had; one that has took fewer here.
        assert (fit.status == "converged") == (fit.glance()["n_iter"].item() < max_iter)
        ends.add(fit.status)
    assert ends == {"converged", "max_iter"}


def test_l1_by_cardinality_keeps_the_best_loadings_that_it_passed(R):
    # More sweeps can only pass better loadings, though the criterion may rise from one to the next.
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        fits = [
            sp.spca_cov(R, 6, (8, 5, 6, 2, 3, 2), method="bcd-l1", max_iter=sweeps)
            for sweeps in (*range(1, 40, 3), 500)
        ]
    kept = [fit.measure("pev") for fit in fits]
    assert np.diff(kept).min() >= -1e-12
    assert kept[-1] > 0.84  # the last sweep of about 270 has .8396


@pytest.mark.parametrize("bound", [1.0, 1.3, np.sqrt(2), 2.0, [1.0, 1.7], 8**0.5])
@pytest.mark.parametrize("nonneg", [False, True])
def test_norm_bounds_are_kept_and_used(bound, nonneg):
    X = sp.datasets.make_toy(60, rng=8)
    fit = sp.spca(X, 2, t=bound, nonneg=nonneg)
    assert fit.method == "bcd-l1"
    norms = fit.loadings.abs().sum().to_numpy()
    assert (norms <= np.broadcast_to(bound, 2) + 1e-9).all()
    if np.max(bound) <= 1.3 and not nonneg:  # PCA's own norms are above: the bound is active
        np.testing.assert_allclose(norms, bound, atol=1e-9)


@pytest.mark.parametrize("options", [{"card": 1}, {"card": 3}, {"card": 6}, {"t": 1.0}, {"t": 1.6}])
@pytest.mark.parametrize("n_init", [1, 4])
def test_nonnegative_loadings(options, n_init):
    # The first eigenvector of these has positive, mixed or negative entries; in the last data no two
    # variables are positively correlated, so that positive parts are often empty.
    rng = np.random.default_rng(9)
    base = rng.standard_normal((40, 1))
    mixed = base * [2.0, -2.0, 1.5, -1.0, 0.5, -0.5] + rng.standard_normal((40, 6))
    matrices = [
        np.cov(np.abs(mixed), rowvar=False),
        np.cov(mixed, rowvar=False),
        np.cov(-mixed, rowvar=False),
    ]
    matrices.append(1.19 * np.eye(6) - 0.19 + np.diag(np.arange(6) * 0.1))
    for S in matrices:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", ConvergenceWarning)
            method = "bcd-l1" if "t" in options else "bcd-l0"
            fit = sp.spca_cov(S, 2, method=method, nonneg=True, n_init=n_init, max_iter=100, **options)
        V = fit.loadings.to_numpy()
        assert np.isfinite(V).all()
        assert (V >= 0).all()
        np.testing.assert_allclose((V**2).sum(axis=0), 1.0, atol=1e-12)
        assert V.sum(axis=0).max() <= options.get("t", 10) + 1e-9


def test_starts(R):
    card = [8, 5, 6]
    alone = sp.spca_cov(R, 3, card, method="bcd-l0")
    same = sp.spca_cov(R, 3, card, n_init=1, rng=77, method="bcd-l0")
    np.testing.assert_array_equal(alone.loadings, same.loadings)  # one start is PCA's own: nothing is random
    seeds = (3, np.random.default_rng(3), None, 0)
    many = [sp.spca_cov(R, 3, card, n_init=5, rng=rng, tol=1e-6, method="bcd-l0") for rng in seeds]
    for fit in many:
        # of starts within tol of the best the first counts
        assert fit.objective_value <= alone.objective_value + 2e-6 * 13
    np.testing.assert_array_equal(many[0].loadings, many[1].loadings)
    np.testing.assert_array_equal(many[2].loadings, many[3].loadings)  # None is the seed 0


def test_more_starts_find_better_fits():
    # From the start of PCA alone this ends in a local optimum (a matrix found by trying seeds).
    fits = []
    for seed in range(6):
        rng = np.random.default_rng(seed)
        S = np.cov(rng.standard_normal((20, 8)) @ rng.standard_normal((8, 8)), rowvar=False)
        one, many = (
            sp.spca_cov(S, 1, 3, n_init=n_init, method="bcd-l0").objective_value for n_init in (1, 20)
        )
        best = np.trace(S) - max(
            np.linalg.eigvalsh(S[np.ix_(J, J)])[-1] for J in map(list, itertools.combinations(range(8), 3))
        )
        # one component: the residual is the total less the variance of the score, to tol
        assert best - 1e-9 <= many <= one + 1e-7 * np.trace(S)
        fits.append((many - best) / np.trace(S))
    assert np.median(fits) <= 1e-6
