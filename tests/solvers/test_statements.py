"""Statements of the papers on their methods against plain code: stationary points, relations, monotony."""

from __future__ import annotations

import itertools
import warnings

import numpy as np
import pytest

import spcastat as sp
from spcastat.errors import ConvergenceWarning


def covariance(seed: int, p: int = 9, positive: bool = False) -> np.ndarray:
    """Covariances of 40 rows with two factors, whose loadings may be asked to be positive."""
    rng = np.random.default_rng(seed)
    loadings = rng.standard_normal((2, p))
    factors = rng.standard_normal((40, 2)) @ (np.abs(loadings) if positive else loadings)
    return np.cov(factors + rng.standard_normal((40, p)), rowvar=False)


# --- Zhao, Meng, Xu and Gao (2015), Theorem 1: u = Ev is the best left factor of v --------------------------


def test_scores_are_the_best_factor_of_loadings():
    """The scores of a sparse component are the u with the smallest |E - u v'|, by least squares."""
    E = rows(4)
    fit = sp.spca(E, 1, 3, method="bcd-l0", center=False)
    v = fit.loadings.to_numpy()
    best = np.linalg.lstsq(v, E.T, rcond=None)[0].ravel()
    np.testing.assert_allclose(fit.scores.to_numpy()[:, 0], best, atol=1e-12)


# --- Zhao, Meng, Xu and Gao (2015), Theorem 4: block coordinate descent ends in a stationary point ---------


def l0_update(w: np.ndarray, card: int, nonneg: bool) -> np.ndarray:
    """The unit vector with `card` nonzeros and the largest w'v."""
    w = np.maximum(w, 0.0) if nonneg else w
    v = np.zeros_like(w)
    largest = np.argsort(-np.abs(w))[:card]
    v[largest] = w[largest]
    return v / np.linalg.norm(v)


def l1_update(w: np.ndarray, bound: float, nonneg: bool) -> np.ndarray:
    """The unit vector with an l1 norm of at most `bound` and the largest w'v, by bisection."""
    w = np.maximum(w, 0.0) if nonneg else w

    def at(level: float) -> np.ndarray:
        v = np.sign(w) * np.maximum(np.abs(w) - level, 0.0)
        return v / np.linalg.norm(v)

    if np.abs(at(0.0)).sum() <= bound:
        return at(0.0)
    low, high = 0.0, np.abs(w).max()
    for _ in range(60):
        middle = 0.5 * (low + high)
        low, high = (middle, high) if np.abs(at(middle)).sum() > bound else (low, middle)
    return at(low)


@pytest.mark.parametrize("seed", [0, 2, 3])
@pytest.mark.parametrize("nonneg", [False, True])
@pytest.mark.parametrize("options", [{"card": 4}, {"t": 1.7}])
def test_where_block_coordinate_descent_ends_no_block_improves(options, nonneg, seed):
    """The loss is |X - U V'|^2 with U = X A, so that all that counts is S.

    The descent ends where a sweep changes the loss by less than 1e-9 of the total variance; it converges
    linearly, so that what is left to gain may be some powers of ten more. The theorem assumes a compact level
    set: with seed 1 and t = 1.7 the two components become dependent, U grows, and the loss has no minimum.
    """
    S = covariance(seed, positive=nonneg)
    method = "bcd-l0" if "card" in options else "bcd-l1"
    fit = sp.spca_cov(S, 2, method=method, nonneg=nonneg, n_init=1, tol=1e-9, max_iter=20000, **options)
    assert fit.status == "converged"
    V = fit.loadings.to_numpy()
    A = V @ np.linalg.inv(V.T @ V)  # the best U for V
    total = np.trace(S)

    def loss(V: np.ndarray) -> float:
        return float(total - 2 * np.trace(A.T @ S @ V) + np.trace(A.T @ S @ A @ V.T @ V))

    for i in range(2):
        others = [1 - i]
        w = S @ A[:, i] - V[:, others] @ (A[:, others].T @ S @ A[:, i])
        update = l0_update(w, 4, nonneg) if method == "bcd-l0" else l1_update(w, 1.7, nonneg)
        changed = V.copy()
        changed[:, i] = update
        assert loss(changed) >= loss(V) - 1e-6 * total


# --- Dou, Dai, Xu and Zhang, section 4: relations to other methods ------------------------------------------


def rows(seed: int, n: int = 40, p: int = 8) -> np.ndarray:
    rng = np.random.default_rng(seed)
    X = rng.standard_normal((n, 1)) * rng.uniform(0.5, 2.0, p) + rng.standard_normal((n, p))
    return X - X.mean(axis=0)


@pytest.mark.parametrize("seed", range(3))
def test_rsvd_of_the_transpose_is_spco_with_one_coordinate(seed):
    """The duality of sPCA-rSVD and SPCO: Z and A exchange their roles.

    A penalty of SPCO is a threshold for XA; that of rsvd-l1 one for X'u, in units of rows divided by the
    root of their number minus one.
    """
    X = rows(seed)
    penalty = 2.0
    coordinates = sp.spco(X, 1, penalty=penalty, center=False).coordinates.to_numpy()[:, 0]
    transposed = X.T
    scale = np.sqrt(len(transposed) - 1)
    fit = sp.spca(transposed, 1, method="rsvd-l1", penalty=penalty / scale, center=False)
    v = fit.loadings.to_numpy()[:, 0]
    z = coordinates / np.linalg.norm(coordinates)
    np.testing.assert_allclose(np.abs(v), np.abs(z), atol=1e-5)
    np.testing.assert_array_equal(v != 0, z != 0)
    assert 0 < np.count_nonzero(v) < len(v)


@pytest.mark.parametrize("seed", range(3))
def test_pmd_and_scotlass_solve_one_problem_for_one_component(seed):
    """max u'Xv over |u| <= 1 is max |Xv|, so that SPCA-WTH and SCoTLASS have the same solutions for q = 1."""
    X = rows(seed)
    S = np.cov(X, rowvar=False)
    bound = 1.6
    pmd = sp.spca_cov(S, 1, method="pmd", t=bound, n_init=20).loadings.to_numpy()[:, 0]
    scotlass = sp.spca_cov(S, 1, method="scotlass", t=bound, n_init=20).loadings.to_numpy()[:, 0]
    assert pmd @ S @ pmd == pytest.approx(scotlass @ S @ scotlass, rel=1e-6)
    np.testing.assert_allclose(np.abs(pmd), np.abs(scotlass), atol=1e-4)


def test_the_loss_of_zou_is_a_constant_and_the_loss_of_the_targets():
    """|X - X W A'|^2 = |X A0|^2 + |X A - X W|^2 with (A, A0) orthogonal: Y = X A relates the models."""
    X = rows(0)
    rng = np.random.default_rng(1)
    Q = np.linalg.qr(rng.standard_normal((8, 8)))[0]
    A, A0, W = Q[:, :3], Q[:, 3:], rng.standard_normal((8, 3))
    whole = np.linalg.norm(X - X @ W @ A.T) ** 2
    parts = np.linalg.norm(X @ A0) ** 2 + np.linalg.norm(X @ A - X @ W) ** 2
    assert whole == pytest.approx(parts, rel=1e-12)


def test_optimal_scoring_of_one_component_and_its_bounded_form_have_the_same_support():
    """With q = 1 sPCA-OS is the best approximation of a unit score under an elastic net.

    At its solution the loadings solve max w'Sw under the l1 and l2 norms that they have, which associates it
    with pmd: the same support, and the same direction up to the ridge.
    """
    X = rows(2)
    S = np.cov(X, rowvar=False)
    w = sp.spca_cov(S, 1, 4, method="spca-os", ridge=1e6).loadings.to_numpy()[:, 0]
    t = np.abs(w).sum()
    v = sp.spca_cov(S, 1, method="pmd", t=t).loadings.to_numpy()[:, 0]
    np.testing.assert_allclose(np.abs(v), np.abs(w), atol=1e-3)


# --- He, Monteiro and Park (2010), equations (2.1) to (2.4) ------------------------------------------------


@pytest.mark.parametrize("seed", range(3))
def test_the_four_problems_of_one_sparse_component(seed):
    """Supports of 3 of 7 variables, all enumerated."""
    S, s = covariance(seed, 7), 3
    supports = list(itertools.combinations(range(7), s))
    leading = {J: np.linalg.eigvalsh(S[np.ix_(J, J)])[-1] for J in supports}  # (2.2), squared
    largest = max(leading.values())  # (2.1)
    rng = np.random.default_rng(seed)
    for J in supports:
        x = np.zeros(7)
        x[list(J)] = rng.standard_normal(s)
        assert x @ S @ x / (x @ x) <= leading[J] + 1e-12

    def at_signs(J: tuple[int, ...]) -> float:
        block = S[np.ix_(J, J)]
        return max(np.array(a) @ block @ np.array(a) for a in itertools.product((-1.0, 1.0), repeat=s))

    extreme = {J: at_signs(J) for J in supports}
    assert max(extreme.values()) <= s * largest + 1e-12  # (2.4) restricts (2.3), which is s times (2.1)
    for J in supports:  # a convex function on a box is largest at an extreme point
        points = rng.uniform(-1.0, 1.0, (200, s))
        assert np.einsum("ij,jk,ik->i", points, S[np.ix_(J, J)], points).max() <= extreme[J] + 1e-12


@pytest.mark.parametrize("seed", range(4))
def test_greedy_selects_by_signs_as_algorithm_1_does(seed):
    S, s = covariance(seed, 8), 4
    x, support = np.zeros(8), []
    for _ in range(s):
        gain = np.diag(S) + 2.0 * np.abs(S @ x)
        gain[support] = -np.inf
        j = int(np.argmax(gain))
        x[j] = 1.0 if S[j] @ x >= 0 else -1.0
        support.append(j)
    fit = sp.spca_cov(S, 1, s, method="greedy")
    assert sorted(np.flatnonzero(fit.loadings.to_numpy()[:, 0])) == sorted(support)
    block = S[np.ix_(sorted(support), sorted(support))]
    value = float(fit.variance["score variance"].iloc[0])
    assert value == pytest.approx(np.linalg.eigvalsh(block)[-1], rel=1e-9)


# --- Zhao, Meng and Xu (2014), Theorems 1 and 4 (i, ii): the l1 variance does not fall, and w converges -----


@pytest.mark.parametrize(
    "options",
    [
        {"method": "rspca-l0"},
        {"method": "rspca-l1"},
        *({"method": "rspca-lp", "p": p} for p in (0.3, 0.5, 0.8)),
    ],
)
def test_the_l1_variance_never_falls(options):
    """More steps pass better loadings: sum |x_i'w| of the first component, against the number of steps.

    They end at a vector with `card` nonzeros, which further steps leave as it is.
    """
    X = rows(3, 50, 10)
    values, found = [], []
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        for steps in (1, 2, 3, 5, 10, 30, 100):
            fit = sp.spca(X, 1, card=4, max_iter=steps, n_init=1, **options)
            found.append(fit.loadings.to_numpy()[:, 0])
            values.append(np.abs(X @ found[-1]).sum())
    assert np.diff(values).min() >= -1e-9 * values[0]
    assert np.count_nonzero(found[-1]) == 4
    np.testing.assert_array_equal(found[-1], found[-2])
