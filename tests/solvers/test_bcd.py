"""Sparse reconstruction in blocks: block coordinate descent, and absolute residuals."""

from __future__ import annotations

import itertools
import warnings

import numpy as np
import pytest
import scipy.optimize

import spcastat as sp
from spcastat.errors import ConvergenceWarning, NoRowsError, OptionError
from spcastat.linalg.operators import DenseRows
from spcastat.linalg.regression import least_absolute
from spcastat.solvers.bcd import _Blocks

# --- Block coordinate descent as published, and with quasi-Newton steps between its sweeps --------

CARDS = [(8, 5, 6, 2, 3, 2), (7, 4, 4, 1, 1, 1), (6,) * 4]


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


# --- Sparse reconstruction by absolute residuals, in blocks ---------------------------------------

METHOD = "bcd-lad"


def heavy(seed, n=30, p=5):
    return np.random.default_rng(seed).standard_t(2, (n, p)) * np.linspace(2.0, 1.0, p)


def least_of_rank_one(X):
    """The least mean absolute residual of rank one that SciPy's search over directions finds."""

    def of_direction(v):
        ratios, weights = X / np.where(v == 0, 1e-300, v), np.abs(v)
        tried = np.abs(X[:, :, None] - v[:, None] * ratios[:, None, :]).sum(axis=1)
        return np.where(weights > 0, tried, np.inf).min(axis=1).sum()

    starts = np.random.default_rng(0).standard_normal((6, X.shape[1]))
    return min(scipy.optimize.minimize(of_direction, v, method="Nelder-Mead").fun for v in starts)


def test_one_component_is_near_the_best_of_all_supports():
    for seed in range(2):
        X = heavy(seed, 15)
        X -= np.median(X, axis=0)
        total = np.abs(X).sum(axis=0)
        best = min(
            least_of_rank_one(X[:, J]) + np.delete(total, J).sum()
            for J in map(list, itertools.combinations(range(5), 2))
        )
        fit = sp.spca(X, 1, 2, method=METHOD, center=False)
        assert fit.card.tolist() == [2]
        assert fit.objective_value <= 1.02 * best / X.size  # a descent from each variable, no search of all
        assert fit.objective_value >= (1 - 1e-6) * best / X.size


def test_all_variables_are_the_l1_factorisation():
    X = heavy(4, 40, 6)
    dense = sp.spca(X, 2, method="l1-factor", smooth=True, n_init=6).objective_value
    full = sp.spca(X, 2, 6, method=METHOD).objective_value
    assert dense * (1 - 1e-9) <= full <= 1.03 * dense  # one start, against twelve


def test_planted_supports_under_wrong_rows_and_wrong_entries():
    V = np.vstack([np.kron(np.eye(2), [[0.5], [0.5], [0.5], [0.5]]), np.zeros((4, 2))])
    found = {(kind, method): 0 for kind in ("clean", "rows", "entries") for method in (METHOD, "rspca-l1")}
    for seed in range(8):
        rng = np.random.default_rng(seed)
        clean = rng.standard_normal((100, 2)) * [4.0, 3.0] @ V.T + rng.standard_normal((100, 12))
        rows, entries = clean.copy(), clean.copy()
        rows[:10, 8:11] += 15.0 * rng.standard_normal((10, 3))
        entries[np.arange(100), rng.integers(0, 12, 100)] += rng.choice([-15.0, 15.0], 100)
        data = {"clean": clean, "rows": rows, "entries": entries}
        for kind, method in found:
            supports = sp.spca(data[kind], 2, 4, method=method).loadings.to_numpy() != 0
            found[kind, method] += {*map(tuple, supports.T)} == {*map(tuple, (V != 0).T)}
    # Of 20 sets 20, 18 and 9, where rspca-l1 finds 20, 8 and 1.
    assert found["clean", METHOD] == 8
    assert found["rows", METHOD] >= 6 > found["rows", "rspca-l1"]
    assert found["entries", METHOD] >= 2 > found["entries", "rspca-l1"]


def test_hastie_data_with_few_rows_and_outliers():
    planted = {frozenset(range(4)), frozenset(range(4, 8))}
    for seed in range(3):  # 10 of 10 sets; rspca-l0 finds 2 of these
        X = sp.datasets.make_hastie(300, rng=seed, outliers=15)
        V = sp.spca(X, 2, 4, method=METHOD).loadings.to_numpy()
        assert {frozenset(np.flatnonzero(v)) for v in V.T} == planted


def test_cardinalities_of_their_own_keep_their_order():
    fit = sp.spca(heavy(5, 40, 8), 3, [2, 6, 3], method=METHOD)
    assert fit.card.tolist() == [2, 6, 3]
    equal = sp.spca(heavy(5, 40, 8), 3, 3, method=METHOD)
    assert (np.diff(equal.details["mean absolute score"]) <= 0).all()


def test_mostly_equal_values_leave_fewer_loadings_and_say_so():
    X = np.zeros((20, 4))
    X[:15, 0] = np.arange(1.0, 16.0)
    X[:3, 1:] = np.random.default_rng(0).standard_normal((3, 3))
    fit = sp.spca(X, 1, 3, method=METHOD, center=False)
    assert fit.card.tolist() == [1]  # the other variables are zero in most of the rows
    assert fit.details["card hit"].tolist() == [False]


def test_weights_are_repeated_rows_and_some_may_be_zero():
    X = heavy(6, 25, 5)
    weights = np.random.default_rng(0).integers(0, 3, 25)
    weighted = sp.spca(X, 2, 3, method=METHOD, weights=weights)
    repeated = sp.spca(np.repeat(X, weights, axis=0), 2, 3, method=METHOD)
    assert weighted.objective_value == pytest.approx(repeated.objective_value, rel=1e-9)
    np.testing.assert_allclose(weighted.loadings, repeated.loadings, atol=1e-7)


def test_a_covariance_matrix_is_refused():
    with pytest.raises(NoRowsError, match=METHOD):
        sp.spca_cov(sp.datasets.load_pitprops(), 2, 4, method=METHOD)


# --- inside ---------------------------------------------------------------------------------------


def blocks_of(X, weights=None):
    """The entries of rows, from an operator as a fit has it."""
    w = np.ones(len(X)) if weights is None else weights
    root = np.sqrt(w / (w.sum() - 1.0))
    return _Blocks(DenseRows(X * root[:, None], root, len(X)))


def least(b, a, counts):
    """The number x of smallest sum counts |b - x a|: at one of the ratios."""
    ratios = np.array([0.0, *(b[a != 0] / a[a != 0])])
    sums = [(counts * np.abs(b - x * a)).sum() for x in ratios]
    return min(sums)


@pytest.mark.parametrize("weighted", [False, True])
def test_a_step_takes_the_loadings_that_gain_most_and_the_best_scores_for_them(weighted):
    rng = np.random.default_rng(0)
    X = rng.standard_t(2, (25, 6))
    weights = rng.integers(0, 4, 25).astype(float) if weighted else np.ones(25)
    blocks = blocks_of(X, weights)
    kept = weights > 0
    np.testing.assert_allclose(blocks.X, X[kept], atol=1e-14)
    np.testing.assert_allclose(blocks.counts, weights[kept] / weights[kept].mean(), rtol=1e-12)
    mean = np.average(np.abs(X).mean(axis=1), weights=weights)
    assert blocks.loss(blocks.X) == pytest.approx(mean, rel=1e-12)
    u, w = rng.standard_normal(kept.sum()), weights[kept]
    gains = np.array([(w * np.abs(x)).sum() - least(x, u, w) for x in X[kept].T])
    for card in (1, 3, 6):
        scores, v = blocks.step(blocks.X, u, card)
        J = np.sort(np.argsort(-gains)[:card])
        np.testing.assert_array_equal(np.flatnonzero(v), J)
        assert np.linalg.norm(v) == pytest.approx(1.0, rel=1e-14)
        first = X[kept][:, J[0]]
        sums = (w * np.abs(first - np.outer(first / u, u))).sum(axis=1)
        ratio = v[J[0]] / (first / u)[np.argmin(sums)]
        for j in J:  # in the ratios of the medians
            found = (w * np.abs(X[kept][:, j] - u * v[j] / ratio)).sum()
            assert found == pytest.approx(least(X[kept][:, j], u, w), rel=1e-12)
        for x, one in zip(X[kept], scores, strict=True):
            assert np.abs(x[J] - one * v[J]).sum() == pytest.approx(least(x[J], v[J], 1.0), rel=1e-12)
    # Scores by which nothing is gained leave the variable of the largest sum.
    none, v = blocks.step(blocks.X, np.zeros(kept.sum()), 2)
    np.testing.assert_array_equal(np.flatnonzero(v), [np.argmax(w @ np.abs(X[kept]))])
    np.testing.assert_allclose(none, X[kept][:, np.flatnonzero(v)[0]])


def test_scores_of_all_components_are_regressions_and_never_worse():
    rng = np.random.default_rng(1)
    X = rng.standard_t(2, (20, 6))
    blocks = blocks_of(X)
    V = np.linalg.qr(rng.standard_normal((6, 2)))[0]
    V[[0, 5]] = 0.0
    best = least_absolute(V[1:5], X[:, 1:5].T).T
    np.testing.assert_allclose(blocks.scores(np.zeros((20, 2)), V), best, atol=1e-12)
    np.testing.assert_allclose(blocks.scores(best, V), best, atol=1e-12)
    same = V[:, [0, 0]]
    U = rng.standard_normal((20, 2))
    np.testing.assert_array_equal(blocks.scores(U, same), U)  # components that coincide


def test_components_are_begun_one_after_another_from_the_best_variable():
    rng = np.random.default_rng(2)
    X = rng.standard_t(2, (20, 5))
    blocks = blocks_of(X)
    U, V = blocks.begun((2, 3))
    left = X
    for c, card in enumerate((2, 3)):
        losses = []
        for j in range(5):
            u = left[:, j]
            for _ in range(3):
                u, v = blocks.step(left, u, card)
            losses.append((blocks.loss(left - np.outer(u, v)), u))
        u = min(losses, key=lambda one: one[0])[1]
        for _ in range(20):
            u, v = blocks.step(left, u, card)
        np.testing.assert_allclose(U[:, c], u, atol=1e-12)
        np.testing.assert_allclose(V[:, c], v, atol=1e-12)
        left = left - np.outer(u, v)


# --- L1 factorisation: smallest absolute residuals, entry by entry --------------------------------


def factorisation_heavy(seed, n=40, p=5):
    return np.random.default_rng(seed).standard_t(2, (n, p)) * np.linspace(2.0, 1.0, p)


def subspace(fit):
    V = fit.loadings.to_numpy()
    return V @ V.T


def weighted_median(values, weights):
    """A value at which the weights on either side are at most half, found by trying all."""
    tried = (weights * np.abs(values - values[:, None])).sum(axis=1)
    return values[np.argmin(tried)]


def of_directions(X, D):
    """Mean absolute residual of rank one for every direction, a column of D: each row fits an entry."""
    best = np.zeros(D.shape[1])
    for x in X:
        fits = [np.abs(x[:, None] - D * (x[j] / D[j])).sum(axis=0) for j in range(len(x))]
        best += np.min(fits, axis=0)
    return best / X.size


# --- optimality ---------------------------------------------------------------------------------


def test_one_component_of_two_variables_is_the_best_of_all():
    """With v = (1, t), |t| <= 1, the criterion is sum |y - t x|: least at a ratio y / x, or at the ends."""
    for seed in range(10):
        X = factorisation_heavy(seed, 15, 2)
        X -= X.mean(axis=0)
        slopes = [np.r_[np.clip(X[:, j] / X[:, 1 - j], -1, 1), -1, 1] for j in (1, 0)]
        pairs = [(X[:, [1]], X[:, [0]] * slopes[0]), (X[:, [0]], X[:, [1]] * slopes[1])]
        best = min(np.abs(x - fitted).sum(axis=0).min() for x, fitted in pairs)
        fit = sp.spca(X, 1, method="l1-factor", n_init=6)
        assert fit.objective_value == pytest.approx(best / X.size, rel=1e-12)


@pytest.mark.parametrize("options", [{"n_init": 30}, {"smooth": True, "n_init": 6}])
def test_one_component_of_three_variables_is_that_of_all_directions(options):
    polar, turn = np.meshgrid(np.linspace(0, np.pi / 2, 150)[1:-1], np.linspace(0, 2 * np.pi, 601))
    D = np.array([np.sin(polar) * np.cos(turn), np.sin(polar) * np.sin(turn), np.cos(polar)]).reshape(3, -1)
    D[np.abs(D) < 1e-9] = 1e-9
    for seed in range(4):
        X = factorisation_heavy(seed, 7, 3)
        X -= X.mean(axis=0)
        least = of_directions(X, D).min()
        fit = sp.spca(X, 1, method="l1-factor", **options)
        assert fit.objective_value <= least
        assert fit.objective_value >= least * 0.96  # neighbours on the grid are 0.01 apart


def test_from_one_start_it_is_the_alternation_of_weighted_medians():
    """The published alternation for one component, written again entry by entry."""
    for seed in range(5):
        X = factorisation_heavy(seed, 21, 4)
        X -= X.mean(axis=0)
        v = np.linalg.svd(X)[2][0]
        for _ in range(200):
            u = np.array([weighted_median(x / v, np.abs(v)) for x in X])
            v = np.array([weighted_median(x / u, np.abs(u)) for x in X.T])
        fit = sp.spca(X, 1, method="l1-factor")
        assert fit.objective_value == pytest.approx(np.abs(X - np.outer(u, v)).mean(), rel=1e-10)
        np.testing.assert_allclose(
            np.abs(fit.loadings.to_numpy()[:, 0]), np.abs(v) / np.linalg.norm(v), atol=1e-9
        )


def test_the_smoothed_descent_is_never_worse_and_better_where_the_alternation_sticks():
    data = sp.datasets.pitprops_sample(rng=0)
    for k in (1, 2, 4):
        plain, smooth = (
            sp.spca(data, k, method="l1-factor", scale=True, smooth=flag) for flag in (False, True)
        )
        assert smooth.objective_value <= plain.objective_value
        many = sp.spca(data, k, method="l1-factor", scale=True, n_init=4)
        assert many.objective_value <= plain.objective_value
    assert smooth.objective_value < 0.97 * plain.objective_value


# --- what it is for -----------------------------------------------------------------------------


@pytest.mark.parametrize("options", [{}, {"smooth": True}])
def test_low_rank_is_found_exactly_under_gross_errors_in_every_row(options):
    rng = np.random.default_rng(3)
    X = rng.standard_normal((60, 2)) @ rng.standard_normal((2, 12))
    truth = np.linalg.svd(X)[2][:2]
    where = rng.integers(0, 12, 60)
    X[np.arange(60), where] += rng.choice([-1.0, 1.0], 60) * 10.0  # one entry of each row
    fits = {m: sp.spca(X, 2, method=m, center=False, **(options if m == "l1-factor" else {}))
            for m in ("pca", "r1-pca", "l1-factor")}  # fmt: skip
    lost = {method: np.linalg.norm(subspace(fit) - truth.T @ truth, 2) for method, fit in fits.items()}
    assert lost["l1-factor"] < 1e-8  # the descent ends where a sweep gains less than 1e-10
    assert min(lost["pca"], lost["r1-pca"]) > 0.3  # whole rows are weighted, and each has an error
    assert fits["l1-factor"].objective_value == pytest.approx(10.0 / 12, rel=1e-9)


def test_loadings_are_the_singular_vectors_of_the_fitted_matrix():
    rng = np.random.default_rng(4)
    X = rng.standard_normal((50, 3)) * [5.0, 3.0, 2.0] @ rng.standard_normal((3, 9))
    _, values, vectors = np.linalg.svd(X, full_matrices=False)
    X[np.arange(0, 50, 3), rng.integers(0, 9, 17)] += 8.0
    fit = sp.spca(X, 3, method="l1-factor", center=False)
    np.testing.assert_allclose(np.abs(np.sum(fit.loadings.to_numpy().T * vectors[:3], axis=1)), 1, atol=1e-8)
    np.testing.assert_allclose(fit.details["singular value"], values[:3] / np.sqrt(49), rtol=1e-8)


def test_scores_are_projections_and_variance_is_theirs():
    X = factorisation_heavy(5)
    fit = sp.spca(X, 2, method="l1-factor")
    Z = X - X.mean(axis=0)
    np.testing.assert_allclose(fit.scores, Z @ fit.loadings.to_numpy(), atol=1e-12)
    assert fit.measure("pev") <= sp.spca(X, 2, method="pca").measure("pev")


# --- edges --------------------------------------------------------------------------------------


def test_mostly_equal_values_have_a_fit_of_zero_and_the_loadings_of_pca():
    X = np.zeros((20, 6))
    X[np.arange(12), np.arange(12) % 6] = [1.0, 2.0, 3.0, 4.0, 5.0, 6.0, 1.5, 2.5, 3.5, 4.5, 5.5, 6.5]
    for more in ({}, {"smooth": True}):
        fit = sp.spca(X, 2, method="l1-factor", center=False, start="column", **more)
        assert np.isfinite(fit.loadings.to_numpy()).all()
        np.testing.assert_allclose(np.linalg.norm(fit.loadings, axis=0), 1.0, atol=1e-14)
        assert fit.objective_value <= X.mean()


def test_weights_are_repeated_rows_and_some_may_be_zero_of_factorisation():
    X = factorisation_heavy(6, 25, 4)
    weights = np.random.default_rng(0).integers(0, 3, 25)
    for more in ({}, {"smooth": True}):
        weighted = sp.spca(X, 2, method="l1-factor", weights=weights, **more)
        repeated = sp.spca(np.repeat(X, weights, axis=0), 2, method="l1-factor", **more)
        assert weighted.objective_value == pytest.approx(repeated.objective_value, rel=1e-9)
        np.testing.assert_allclose(weighted.loadings, repeated.loadings, atol=1e-7)


def test_the_unit_does_not_matter_for_the_smoothed_descent():
    X = factorisation_heavy(7)
    fit = sp.spca(X, 2, method="l1-factor", smooth=True)
    for unit in (1e-12, 1e12):
        scaled = sp.spca(X * unit, 2, method="l1-factor", smooth=True)
        np.testing.assert_allclose(scaled.loadings, fit.loadings, atol=1e-8)
        assert scaled.objective_value == pytest.approx(unit * fit.objective_value, rel=1e-9)


def test_what_it_cannot_take_is_refused():
    with pytest.raises(NoRowsError, match="l1-factor"):
        sp.spca_cov(sp.datasets.load_pitprops(), 2, method="l1-factor")
    with pytest.raises(OptionError, match="smooth"):
        sp.spca(factorisation_heavy(0), 1, method="l1-factor", smooth="yes")


def test_the_smoothed_descent_ends_as_sharp_as_the_absolute_value():
    # Rows on a line but for gross errors in single entries: the sum of absolute residuals has its minimum at
    # the line, the sum of squares far from it. The last width is a millionth of the residuals' size.
    rng = np.random.default_rng(0)
    line = np.array([2.0, -1.0, 2.0, 4.0]) / 5.0
    X = np.outer(rng.standard_normal(40), line)
    X[::14, 1] += 3.0
    fit = sp.spca(X, 1, method="l1-factor", smooth=True, center=False, n_init=5)
    assert abs(np.linalg.svd(X)[2][0] @ line) < 0.9
    assert abs(fit.loadings.to_numpy()[:, 0] @ line) == pytest.approx(1.0, abs=1e-6)
