"""Block coordinate descent as published, and with quasi-Newton steps between its sweeps."""

from __future__ import annotations

import warnings

import numpy as np
import pytest

import spcastat as sp
from spcastat.errors import ConvergenceWarning

CARDS = [(8, 5, 6, 2, 3, 2), (7, 4, 4, 1, 1, 1), (6,) * 4]


@pytest.fixture(scope="module")
def R():
    return sp.datasets.load_pitprops()


@pytest.mark.parametrize("card", CARDS)
def test_the_accelerated_descent_comes_to_the_same_fit_in_fewer_sweeps(R, card):
    fit = sp.spca_cov(R, len(card), card=card, method="bcd-l0", accelerate=True)
    alone = sp.spca_cov(R, len(card), card=card, method="bcd-l0")
    assert fit.glance()["n_iter"].item() < alone.glance()["n_iter"].item()
    assert ((fit.loadings != 0) == (alone.loadings != 0)).all(axis=None)
    assert fit.measure("pev") == pytest.approx(alone.measure("pev"), rel=1e-9)  # both at the optimum there


def algorithm_1(S, k, card, tol=1e-7, quiet=3):
    """Algorithm 1 of Zhao, Meng, Xu and Gao (2015) from PCA's loadings; three quiet sweeps end it.

    U = X A: equation (5) gives v_i, thresholded, and (6) u_i, each given the others.
    """
    V = np.linalg.eigh(S)[1][:, ::-1][:, :k].copy()
    A, value, still, sweeps = V.copy(), np.inf, 0, 0
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


@pytest.mark.parametrize("seed", range(6))
def test_the_default_takes_the_published_sweeps(seed):
    X = np.random.default_rng(seed).standard_normal((40, 20))
    S = np.cov(X @ np.diag(np.linspace(1, 2, 20)), rowvar=False)
    fit = sp.spca_cov(S, 4, 5, method="bcd-l0", order="given")
    V, sweeps = algorithm_1(S, 4, 5)
    assert fit.glance()["n_iter"].item() == sweeps
    np.testing.assert_array_equal(fit.loadings.to_numpy() != 0, V != 0)


@pytest.mark.parametrize("card", CARDS)
def test_the_fit_is_a_fixed_point_of_the_published_updates(R, card):
    # equations (5) and (6): u_i = what the others leave of X, times v_i; v_i = its products, thresholded
    S = R.to_numpy()
    V = sp.spca_cov(R, len(card), card=card, method="bcd-l0").loadings.to_numpy()
    A = V @ np.linalg.inv(V.T @ V)  # U = X A is best with V
    for i, c in enumerate(card):
        others = np.delete(np.arange(len(card)), i)
        w = S @ A[:, i] - V[:, others] @ (A[:, others].T @ S @ A[:, i])
        largest = np.sort(np.argsort(-np.abs(w), kind="stable")[:c])
        np.testing.assert_array_equal(largest, np.flatnonzero(V[:, i]))
        v = np.where(V[:, i] != 0, w, 0.0)
        np.testing.assert_allclose(v / np.linalg.norm(v), V[:, i], atol=1e-6)  # tol=1e-7, by its root


def test_the_criterion_never_rises(R):
    values = []
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        for sweeps in range(1, 16):
            fit = sp.spca_cov(R, 6, card=CARDS[0], method="bcd-l0", max_iter=sweeps, accelerate=True)
            assert fit.glance()["n_iter"].item() <= sweeps
            values.append(fit.objective_value)
    assert (np.diff(values) <= 1e-12 * values[0]).all()


def test_nonnegative_loadings_stay_so(R):
    fit = sp.spca_cov(R, 3, card=5, method="bcd-l0", nonneg=True)
    assert (fit.loadings.to_numpy() >= 0).all()
    assert (fit.card <= 5).all()


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


def test_the_status_is_that_of_the_start_that_is_best(R):
    short = 0
    for most in range(9, 18):
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", ConvergenceWarning)
            options = {"n_init": 5, "rng": most, "max_iter": most, "accelerate": True}
            fit = sp.spca_cov(R, 3, card=5, method="bcd-l0", **options)
        # a fit that ends before the last sweep has converged
        assert fit.converged or fit.glance()["n_iter"].item() == most
        short += fit.glance()["n_iter"].item() < most
    assert short >= 3
