"""Nonnegative sparse PCA: the quartic, the ascent, what alpha does."""

from __future__ import annotations

import numpy as np
import pytest
import scipy.sparse
from hypothesis import given
from hypothesis import strategies as st

import spcastat as sp
from spcastat.errors import OptionError
from spcastat.operators import Gram
from spcastat.solvers.nspca import _Ascent, _largest, _positive, best_root

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
    overlap = [
        np.abs(sp.spca_cov(R, 4, method="nspca", penalty=0.0, alpha=alpha).loading_products - np.eye(4))
        .max()
        .max()
        for alpha in (0.1, 1.0, 10.0)
    ]
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
    with pytest.raises(OptionError, match="alpha"):
        sp.spca_cov(R, 2, 4, method="nspca", alpha=0.0)


# --- inside ----------------------------------------------------------------------------------------


def value(S: np.ndarray, V: np.ndarray, alpha: float, beta: np.ndarray) -> float:
    """The criterion as it is printed."""
    away = np.eye(V.shape[1]) - V.T @ V
    return float(0.5 * np.trace(V.T @ S @ V) - 0.25 * alpha * (away**2).sum() - (beta * V).sum())


def test_a_sweep_puts_every_coordinate_where_it_is_best_at_all_others() -> None:
    S, beta = R.to_numpy(), np.array([0.1, 0.0, 0.3])
    V = np.abs(np.random.default_rng(0).standard_normal((13, 3)))
    order = np.random.default_rng(1).permutation(13)
    ascent = _Ascent(Gram(S), 1.7, beta, 0.0, 1)
    ascent.order = order
    found, sweeps, settled = ascent.climb(V, np.ones(V.shape, dtype=bool), 0.0)
    assert (sweeps, settled) == (1, False)
    W = V.copy()
    for r in order:
        for s in range(3):
            grid = np.linspace(0.0, 3.0, 601)
            along = []
            for x in grid:
                W[r, s] = x
                along.append(value(S, W, 1.7, beta))
            W[r, s] = found[r, s]
            assert value(S, W, 1.7, beta) >= max(along) - 1e-12
    np.testing.assert_array_equal(W, found)
    assert ascent.value(found) == pytest.approx(value(S, found, 1.7, beta), rel=1e-12)


def test_where_it_settles_no_coordinate_can_do_better() -> None:
    S, beta = R.to_numpy(), np.array([0.1, 0.3])
    allowed = np.ones((13, 2), dtype=bool)
    allowed[3, 0] = allowed[7] = False
    ascent = _Ascent(Gram(S), 2.0, beta, 1e-9, 500)
    found, sweeps, settled = ascent.climb(np.where(allowed, 0.3, 0.0), allowed, 0.0)
    assert settled
    assert sweeps < 500
    assert (found[~allowed] == 0).all()
    slope = S @ found + 2.0 * found @ (np.eye(2) - found.T @ found) - beta
    assert np.abs(slope[found > 0]).max() < 1e-7
    assert (slope[allowed & (found == 0)] <= 1e-9).all()
    rough = ascent.climb(np.where(allowed, 0.3, 0.0), allowed, 1e-2)
    assert rough[2]
    assert rough[1] < sweeps


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


def test_the_largest_loadings_are_marked_and_ties_go_to_the_first() -> None:
    V = np.array([[0.5, 0.0], [0.9, 0.2], [0.5 - 1e-6, 0.0], [0.0, 0.1]])
    np.testing.assert_array_equal(
        _largest(V, (2, 3)), [[True, False], [True, True], [False, False], [False, True]]
    )
    np.testing.assert_array_equal(
        _largest(V[::-1], (2, 1)), [[False, False], [True, False], [True, True], [False, False]]
    )
    assert not _largest(np.zeros((3, 1)), (2,)).any()


def test_the_start_is_the_larger_half() -> None:
    V = _positive(np.array([[3.0, 1.0, 1.0], [-4.0, -1.0, 2.0], [0.0, 0.0, -1.0]]))
    np.testing.assert_allclose(V[:, 0], [0.0, 1.0, 0.0])
    np.testing.assert_allclose(V[:, 1], [1.0, 0.0, 0.0])  # of equal halves the positive one
    np.testing.assert_allclose(V[:, 2], np.array([1.0, 2.0, 0.0]) / np.sqrt(5))
