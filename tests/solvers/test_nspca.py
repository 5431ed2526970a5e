"""Nonnegative sparse PCA: the quartic, the ascent, what alpha does."""

from __future__ import annotations

import numpy as np
import pytest
import scipy.optimize
import scipy.sparse
from hypothesis import given
from hypothesis import strategies as st

import spcastat as sp
from spcastat.errors import OptionError
from spcastat.solvers.nspca import best_root

R = sp.datasets.load_pitprops()
NUMBER = st.floats(-5.0, 5.0)


@given(st.floats(0.1, 5.0), NUMBER, NUMBER)
def test_the_root_is_the_best_nonnegative_number(alpha: float, c2: float, c1: float) -> None:
    def quartic(x: np.ndarray | float) -> np.ndarray | float:
        return -0.25 * alpha * x**4 + 0.5 * c2 * x**2 + c1 * x

    best = best_root(alpha, c2, c1)
    assert best >= 0
    grid = quartic(np.linspace(0.0, 12.0, 4001))
    assert quartic(best) >= np.max(grid) - 1e-9 * (1.0 + abs(np.max(grid)))


@pytest.mark.parametrize("card", [[8, 5, 6, 2, 3, 2], [7, 4, 4, 1, 1, 1], [7, 2, 3, 1, 1, 1]])
def test_pitprops(card: list[int]) -> None:
    # No figure is printed. Block coordinate descent with nonnegative loadings is the yardstick; it does not
    # ask for orthogonality, which costs up to 3.4 points here.
    fit = sp.spca_cov(R, 6, card, method="nspca")
    assert fit.converged
    assert (fit.loadings.to_numpy() >= 0).all()
    assert (fit.card.to_numpy() <= card).all()
    other = sp.spca_cov(R, 6, card, method="bcd-l0", nonneg=True)
    assert fit.measure("pev") > other.measure("pev") - 0.04


def test_a_large_alpha_makes_components_disjoint() -> None:
    overlap = []
    for alpha in (0.1, 1.0, 10.0):
        V = sp.spca_cov(R, 4, method="nspca", penalty=0.0, orthonormality=alpha).loadings.to_numpy()
        overlap.append(np.abs(V.T @ V - np.eye(4)).max())
    assert overlap[0] > overlap[1] > overlap[2]
    assert overlap[2] < 0.05


def test_the_criterion_rises() -> None:
    values = []
    for steps in (1, 2, 4, 8, 16, 32):
        with pytest.warns(UserWarning, match="max_iter"):
            fit = sp.spca_cov(R, 3, method="nspca", penalty=0.05, max_iter=steps, tol=0.0)
        values.append(fit.objective_value)
    assert (np.diff(values) >= -1e-10).all()


def test_a_penalty_makes_sparser() -> None:
    cards = [sp.spca_cov(R, 3, method="nspca", penalty=b).card.sum() for b in (0.0, 0.2, 0.5)]
    assert cards[0] >= cards[1] > cards[2]


def test_one_component_without_penalty_is_the_nonnegative_leading_vector() -> None:
    S = np.abs(R.to_numpy())  # Perron and Frobenius: the leading eigenvector is nonnegative
    fit = sp.spca_cov(S, 1, method="nspca", penalty=0.0)
    np.testing.assert_allclose(fit.loadings, sp.spca_cov(S, 1, method="pca").loadings, atol=1e-5)


def test_planted_components_are_found() -> None:
    # Zhao et al. (2015), section 3.3.1; the order may swap in a sample, so it does not count.
    for seed in range(5):
        X = sp.datasets.make_toy(1000, rng=seed, nonneg=True)
        truth = sp.datasets.true_loadings(X)
        fit = sp.spca(X, truth.shape[1], (truth != 0).sum().tolist(), method="nspca")
        products = np.abs(fit.loadings.to_numpy().T @ truth.to_numpy())
        assert (products.max(axis=0) > 0.99).all()


def test_rows_sparse_rows_and_covariance_agree() -> None:
    X = sp.datasets.pitprops_sample(n=60) * np.linspace(1, 2, 13)
    fits = [
        sp.spca(X, 2, [5, 4], method="nspca"),
        sp.spca(scipy.sparse.csr_array(X.to_numpy()), 2, [5, 4], method="nspca"),
        sp.spca_cov(X.cov(), 2, [5, 4], method="nspca"),
    ]
    for fit in fits[1:]:
        np.testing.assert_allclose(fit.loadings.to_numpy(), fits[0].loadings.to_numpy(), atol=1e-6)
    assert sp.spca(X, 2, [5, 4], method="nspca", n_init=3).objective_value >= fits[0].objective_value - 1e-9


def test_refusals() -> None:
    with pytest.raises(OptionError, match="leaves no loading in component 1"):
        sp.spca_cov(R, 2, method="nspca", penalty=100.0)
    with pytest.raises(OptionError, match="orthonormality"):
        sp.spca_cov(R, 2, 4, method="nspca", orthonormality=0.0)


@pytest.mark.parametrize("options", [{"penalty": [0.1, 0.3]}, {"penalty": 0.0}, {"card": [5, 4]}])
def test_no_coordinate_can_do_better_where_it_settles(options) -> None:
    """The loadings are scaled to unit length: with the best lengths the criterion has no slope left."""
    S, beta = R.to_numpy(), np.array(options.get("penalty", 0.0)) * np.ones(2)
    how = {"orthonormality": 0.5, "tol": 1e-10, "max_iter": 20000, "order": "given"}
    fit = sp.spca_cov(R, 2, method="nspca", **how, **options)
    U, alpha = fit.loadings.to_numpy(), 0.5 * np.linalg.eigvalsh(S)[-1]

    def value(lengths: np.ndarray) -> float:
        V = U * lengths
        away = np.eye(2) - V.T @ V
        return float(0.5 * np.trace(V.T @ S @ V) - 0.25 * alpha * (away**2).sum() - (beta * V).sum())

    best = scipy.optimize.minimize(lambda x: -value(x), [1.5, 1.5], method="BFGS", options={"gtol": 1e-9})
    assert fit.objective_value == pytest.approx(-best.fun, rel=1e-9)
    V = U * best.x
    slope = S @ V + alpha * V @ (np.eye(2) - V.T @ V) - beta
    assert np.abs(slope[V > 0]).max() < 1e-6
    if "card" not in options:
        assert (slope[V == 0] <= 1e-6).all()


def test_the_roots_of_plain_quartics() -> None:
    assert best_root(1.0, 0.0, 0.0) == 0.0
    assert best_root(2.0, 8.0, 0.0) == pytest.approx(2.0, rel=1e-14)  # -x^4 / 2 + 4 x^2
    assert best_root(3.0, 0.0, 24.0) == pytest.approx(2.0, rel=1e-14)  # x^3 = 8
    assert best_root(1.0, -1.0, 2.0) == pytest.approx(1.0, rel=1e-14)  # x^3 + x = 2
    assert best_root(1.0, 3.0, -1e-9) == pytest.approx(np.sqrt(3.0), rel=1e-9)
    assert best_root(1.0, -2.0, -1.0) == 0.0
    assert best_root(1.0, 1.0, -5.0) == 0.0  # a root may be a maximum below zero
    assert best_root(1.0, 3.0, -1.3) == pytest.approx(max(np.roots([1, 0, -3, 1.3]).real), rel=1e-12)
    assert best_root(1.0, 3.0, -1.6) == 0.0  # a maximum, and lower than at zero
