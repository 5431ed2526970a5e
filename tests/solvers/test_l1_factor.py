"""L1 factorisation: smallest absolute residuals, entry by entry."""

import numpy as np
import pytest

import spcastat as sp
from spcastat.errors import NoRowsError, OptionError


def heavy(seed, n=40, p=5):
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
        X = heavy(seed, 15, 2)
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
        X = heavy(seed, 7, 3)
        X -= X.mean(axis=0)
        least = of_directions(X, D).min()
        fit = sp.spca(X, 1, method="l1-factor", **options)
        assert fit.objective_value <= least
        assert fit.objective_value >= least * 0.96  # neighbours on the grid are 0.01 apart


def test_from_one_start_it_is_the_alternation_of_weighted_medians():
    """The published alternation for one component, written again entry by entry."""
    for seed in range(5):
        X = heavy(seed, 21, 4)
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
    X = heavy(5)
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


def test_weights_are_repeated_rows_and_some_may_be_zero():
    X = heavy(6, 25, 4)
    weights = np.random.default_rng(0).integers(0, 3, 25)
    for more in ({}, {"smooth": True}):
        weighted = sp.spca(X, 2, method="l1-factor", weights=weights, **more)
        repeated = sp.spca(np.repeat(X, weights, axis=0), 2, method="l1-factor", **more)
        assert weighted.objective_value == pytest.approx(repeated.objective_value, rel=1e-9)
        np.testing.assert_allclose(weighted.loadings, repeated.loadings, atol=1e-7)


def test_the_unit_does_not_matter_for_the_smoothed_descent():
    X = heavy(7)
    fit = sp.spca(X, 2, method="l1-factor", smooth=True)
    for unit in (1e-12, 1e12):
        scaled = sp.spca(X * unit, 2, method="l1-factor", smooth=True)
        np.testing.assert_allclose(scaled.loadings, fit.loadings, atol=1e-8)
        assert scaled.objective_value == pytest.approx(unit * fit.objective_value, rel=1e-9)


def test_what_it_cannot_take_is_refused():
    with pytest.raises(NoRowsError, match="l1-factor"):
        sp.spca_cov(sp.datasets.load_pitprops(), 2, method="l1-factor")
    with pytest.raises(OptionError, match="smooth"):
        sp.spca(heavy(0), 1, method="l1-factor", smooth="yes")


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
