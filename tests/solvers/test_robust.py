"""Robust sparse PCA: grid search, and residuals by their lengths."""

from __future__ import annotations

import numpy as np
import pytest
import scipy.optimize
import scipy.sparse
import scipy.special

import spcastat as sp
from spcastat.errors import NoRowsError, OptionError
from spcastat.linalg.scales import SCALES

# --- Robust sparse PCA by grid search -------------------------------------------------------------


def contaminated(seed=0, n=60, p=6):
    rng = np.random.default_rng(seed)
    X = rng.standard_normal((n, p)) * np.linspace(4, 1, p)
    X[:, 1] += X[:, 0]
    X[:5] = rng.normal(0, 1, (5, p)) + 40.0 * np.eye(p)[-1]
    return X


@pytest.mark.parametrize("spread", ["mad", "qn"])
def test_table_1_of_zhao_meng_and_xu(spread):
    """sPCAgrid gives (1, 0) and (0, 1) there, with two of 50 points far off."""
    x = np.arange(-24, 26) / 10
    for seed in range(3):
        y = np.random.default_rng(seed).normal(0, 0.5, 50)
        y[[37, 39]] = 7.0
        fit = sp.spca(np.column_stack([x, y]), 2, card=1, method="spcagrid", spread=spread)
        assert fit.loadings.to_numpy().tolist() == [[1.0, 0.0], [0.0, 1.0]]


def test_outliers_move_the_standard_deviation_and_not_the_robust_scales():
    X = contaminated(n=200)
    first = {
        spread: sp.spca(X, 1, card=2, method="spcagrid", spread=spread).loadings.to_numpy()[:, 0]
        for spread in SCALES
    }
    assert first["sd"][-1] > 0.9
    assert set(np.flatnonzero(first["mad"])) == set(np.flatnonzero(first["qn"])) == {0, 1}


@pytest.mark.parametrize("spread", ["mad", "qn", "sd"])
def test_in_the_plane_no_direction_of_a_fine_grid_is_better(spread):
    X = np.random.default_rng(3).standard_normal((41, 2)) @ np.array([[2.0, 1.0], [0.0, 1.0]])
    penalty = 0.8
    fit = sp.spca(X, 1, penalty=penalty, method="spcagrid", spread=spread, grid=181)
    angles = np.linspace(0, np.pi, 1001)
    A = np.vstack([np.cos(angles), np.sin(angles)])
    best = (SCALES[spread]((X @ A).T) ** 2 - penalty * np.abs(A).sum(axis=0)).max()
    w = fit.loadings.to_numpy()[:, 0]
    value = SCALES[spread](X @ w) ** 2 - penalty * np.abs(w).sum()
    # Robust scales are rugged: the search may end beside the best of 1001 directions, by little.
    assert value >= best - (1e-6 if spread == "sd" else 0.01) * abs(best)


def test_standard_deviation_without_penalty_is_pca():
    X = np.random.default_rng(4).standard_normal((50, 5)) * [5, 4, 3, 2, 1]
    fit = sp.spca(X, 2, penalty=0.0, method="spcagrid", spread="sd", sweeps=30)
    pca = sp.spca(X, 2, method="pca")
    # The angles end at pi / 2^10 / 24 or so, and the variance is quadratic in them.
    np.testing.assert_allclose(fit.variance["score variance"], pca.variance["score variance"], rtol=1e-4)


def test_penalty_that_card_reports_gives_the_same_loadings_and_signs_of_variables_do_not_matter():
    X, signs = contaminated(7), np.array([1, -1, -1, 1, -1, 1])
    fit = sp.spca(X, 2, card=[3, 2], method="spcagrid")
    assert fit.card.tolist() == [3, 2]
    assert fit.details[["card hit", "by penalty"]].all(axis=None)
    again = sp.spca(X, 2, penalty=list(fit.details["penalty"]), method="spcagrid")
    np.testing.assert_array_equal(again.loadings, fit.loadings)
    turned = sp.spca(X * signs, 2, card=[3, 2], method="spcagrid")
    np.testing.assert_allclose(turned.details["penalty"], fit.details["penalty"], rtol=1e-9)
    np.testing.assert_allclose(np.abs(turned.loadings), np.abs(fit.loadings), atol=1e-9)


def test_larger_penalties_leave_fewer_loadings():
    X = np.random.default_rng(6).standard_normal((80, 8)) @ np.diag([3, 3, 3, 2, 2, 1, 1, 1.0])
    X[:, :3] += 4 * X[:, [0]]
    cards = [
        int(sp.spca(X, 1, penalty=t, method="spcagrid", spread="sd").card.iloc[0]) for t in (0, 2, 20, 500)
    ]
    assert cards == sorted(cards, reverse=True)
    assert cards[-1] == 1


def test_the_loadings_do_not_depend_on_the_centre():
    X = contaminated(7)
    mean = sp.spca(X, 2, card=3, method="spcagrid")
    median = sp.spca(X, 2, card=3, method="spcagrid", center=np.median(X, axis=0))
    np.testing.assert_allclose(median.loadings, mean.loadings, atol=1e-8)
    assert np.ptp(median.scores - mean.scores, axis=0).max() < 1e-8


def test_whole_weights_are_repeated_rows_and_others_are_refused():
    X = contaminated(8, n=30)
    weights = np.random.default_rng(0).integers(0, 3, 30)
    weighted = sp.spca(X, 2, card=2, method="spcagrid", weights=weights)
    repeated = sp.spca(np.repeat(X, weights, axis=0), 2, card=2, method="spcagrid")
    np.testing.assert_allclose(weighted.loadings, repeated.loadings, atol=1e-8)
    with pytest.raises(OptionError, match="whole numbers"):
        sp.spca(X, 2, card=2, method="spcagrid", weights=weights + 0.5)


def test_refusals_say_why():
    with pytest.raises(NoRowsError, match="more than a covariance matrix"):
        sp.spca_cov(sp.datasets.load_pitprops(), 2, card=3, method="spcagrid")
    mostly_zero = np.zeros((20, 3))
    mostly_zero[:3] = np.arange(9).reshape(3, 3)
    mostly_zero[1, 2] = 1.0
    with pytest.raises(OptionError, match="zero for every variable"):
        sp.spca(mostly_zero, 1, card=1, method="spcagrid")
    with pytest.raises(OptionError, match=r"spread='MAD' is not known.*Did you mean 'mad'|spread='MAD'"):
        sp.spca(contaminated(), 1, card=1, method="spcagrid", spread="MAD")


# --- inside ---------------------------------------------------------------------------------------


def by_hand(X, spread, grid, sweeps, penalty):
    """The grid algorithm as its docstring has it, one plane and one angle after another.

    A variable that has no loading is turned to after the first sweep only where one of six angles gains.
    """
    p = X.shape[1]

    def criterion(a):
        return SCALES[spread](X @ a) ** 2 - penalty * np.abs(a).sum()

    order = np.argsort(-(SCALES[spread](X.T) ** 2), kind="stable")
    a, values = np.eye(p)[order[0]], []
    while len(values) <= sweeps:
        first, arc = not values, np.pi * 0.5 ** len(values)
        a = a / np.linalg.norm(a)
        steps = np.linspace(-0.5, 0.5, grid)
        steps = arc * (steps[:-1] if first else steps)
        few = 0.5 * arc * np.array([1, -1, 1 / 3, -1 / 3, 1 / 9, -1 / 9])
        few = steps[np.abs(steps) > 1e-9] if first else few
        present = a.copy()  # blocks of variables are looked at together: here there is one
        gains = []
        for j in order:
            tried = [np.cos(t) * present + np.sin(t) * np.eye(p)[j] for t in few]
            prices = [penalty * (np.abs(present).sum() * np.cos(t) + abs(np.sin(t))) for t in few]
            level = SCALES[spread](X @ present) ** 2 - penalty * np.abs(present).sum()
            best = max(SCALES[spread](X @ one) ** 2 - price for one, price in zip(tried, prices, strict=True))
            gains.append(best > level + 1e-12 * SCALES[spread](X @ present) ** 2 or present[j] != 0)
        for j, wanted in zip(order, gains, strict=True):
            if not wanted or abs(a[j]) >= 1 - 1e-12:
                continue
            rest = a / np.sqrt(1 - a[j] ** 2)
            now, rest[j] = np.arcsin(a[j]), 0.0
            angles = [0.0, now, *(now + steps)]
            # A loading is counted by its absolute value, wherever the angle points.
            tried = [np.cos(t) * rest + np.sin(t) * np.eye(p)[j] for t in angles]
            found = np.array([criterion(one) for one in tried])
            a = tried[int(np.argmax(found > found.max() - 1e-12 * abs(found.max())))]
        values.append(criterion(a))
        if len(values) > 2 and values[-1] - values[-2] <= 1e-6 * (SCALES[spread](X.T) ** 2).max():
            break
    return a / np.linalg.norm(a), len(values)


@pytest.mark.parametrize("spread", ["mad", "sd", "qn"])
@pytest.mark.parametrize("penalty", [0.0, 1.0])
def test_it_goes_from_plane_to_plane_and_halves_the_arc(spread, penalty):
    for seed, sweeps in ((0, 10), (1, 3), (2, 1)):
        X = contaminated(seed, n=31, p=4)
        X = X - X.mean(axis=0)
        a, taken = by_hand(X, spread, 11, sweeps, penalty)
        fit = sp.spca(X, 1, penalty=penalty, method="spcagrid", spread=spread, grid=11, sweeps=sweeps)
        assert fit.glance()["n_iter"].item() == taken
        np.testing.assert_allclose(np.abs(fit.loadings["PC1"]), np.abs(a), atol=1e-9)
        assert fit.details["robust variance"].iloc[0] == pytest.approx(SCALES[spread](X @ a) ** 2, rel=1e-9)


# --- R1-PCA: the subspace of smallest residuals, by their lengths ---------------------------------


def heavy(seed, n=60, p=5):
    """Rows of a t distribution, with other variances in every variable."""
    return np.random.default_rng(seed).standard_t(2, (n, p)) * np.linspace(2.0, 1.0, p)


def subspace(fit):
    V = fit.loadings.to_numpy()
    return V @ V.T


def distances(Z, V):
    return np.linalg.norm(Z - Z @ V @ V.T, axis=1)


def criterion(Z, V, cutoff):
    """Huber's loss (SciPy's) over the cutoff, or the mean length."""
    lengths = distances(Z, V)
    return lengths.mean() if cutoff == 0 else scipy.special.huber(cutoff, lengths).mean() / cutoff


def of_pca(Z, k):
    return np.linalg.svd(Z, full_matrices=False)[2][:k].T


@pytest.mark.parametrize("loss", ["huber", "l1"])
def test_in_the_plane_it_is_the_best_direction_of_a_fine_grid(loss):
    angles = np.linspace(0, np.pi, 20001)
    grid = np.array([np.cos(angles), np.sin(angles)])
    for seed in range(5):
        Z = heavy(seed, 40, 2)
        Z -= Z.mean(axis=0)
        cutoff = np.median(distances(Z, of_pca(Z, 1))) if loss == "huber" else 0.0
        off = np.abs(Z @ np.array([-grid[1], grid[0]]))  # distances of the rows from every line
        values = (off if cutoff == 0 else scipy.special.huber(cutoff, off) / cutoff).mean(axis=0)
        fit = sp.spca(Z, 1, method="r1-pca", loss=loss, n_init=8)
        found = criterion(Z, fit.loadings.to_numpy(), cutoff)
        # The grid lies within 8e-5 radians of its best direction; at a kink ("l1") the criterion changes by
        # at most the mean length of the rows per radian. Under "l1" lengths are rounded below 1e-6 of their
        # median.
        assert found <= values.min() * (1 + 1e-6)
        assert found >= values.min() - 1e-4 * np.linalg.norm(Z, axis=1).mean()


@pytest.mark.parametrize("k", [1, 2, 3])
@pytest.mark.parametrize("loss", ["huber", "l1"])
def test_no_descent_of_another_kind_from_many_starts_ends_below(loss, k):
    """SciPy's BFGS over matrices whose column space is the subspace."""
    Z = heavy(7, 50, 4)
    Z -= Z.mean(axis=0)
    cutoff = np.median(distances(Z, of_pca(Z, k))) if loss == "huber" else 0.0

    def value(a):
        return criterion(Z, np.linalg.qr(a.reshape(4, k))[0], cutoff)

    rng = np.random.default_rng(0)
    ends = [scipy.optimize.minimize(value, rng.standard_normal(4 * k)).fun for _ in range(4)]
    found = criterion(Z, sp.spca(Z, k, method="r1-pca", loss=loss, n_init=10).loadings.to_numpy(), cutoff)
    assert found <= min(ends) * (1 + 1e-6)
    assert found < criterion(Z, of_pca(Z, k), cutoff)


def test_components_are_eigenvectors_of_the_covariance_matrix_under_the_weights():
    Z = heavy(1)
    Z -= Z.mean(axis=0)
    fit = sp.spca(Z, 3, method="r1-pca")
    V = fit.loadings.to_numpy()
    cutoff = np.median(distances(Z, of_pca(Z, 3)))
    np.testing.assert_allclose(fit.details["cutoff"], cutoff, rtol=1e-12)
    weights = 1 / np.maximum(distances(Z, V), cutoff)
    C = (Z.T * weights) @ Z / weights.mean() / (len(Z) - 1)
    values, vectors = np.linalg.eigh(C)
    # The iteration ends where a step turns the subspace by 1e-9.
    np.testing.assert_allclose(fit.details["weighted variance"], values[::-1][:3], rtol=1e-7)
    np.testing.assert_allclose(np.abs(V.T @ vectors[:, ::-1][:, :3]), np.eye(3), atol=1e-6)


@pytest.mark.parametrize("loss", ["huber", "l1"])
def test_a_rotation_of_the_coordinates_rotates_the_components(loss):
    X = heavy(2)
    turn = np.linalg.qr(np.random.default_rng(0).standard_normal((5, 5)))[0]
    V = sp.spca(X, 2, method="r1-pca", loss=loss).loadings.to_numpy()
    W = sp.spca(X @ turn, 2, method="r1-pca", loss=loss).loadings.to_numpy()
    np.testing.assert_allclose(np.abs(np.sum(V * (turn @ W), axis=0)), 1.0, atol=1e-10)


def test_far_rows_off_the_plane_of_the_others_hardly_turn_it():
    rng = np.random.default_rng(3)
    axes = np.linalg.qr(rng.standard_normal((6, 6)))[0]
    X = rng.standard_normal((100, 2)) * [3.0, 2.0] @ axes[:, :2].T + 0.1 * rng.standard_normal((100, 6))
    # Squares: 2700 of the outlying rows against 400 of the second axis. Lengths: 90 against 160.
    X[:3] += np.outer([30.0, 30.0, -30.0], axes[:, 2])
    truth = axes[:, :2] @ axes[:, :2].T
    centre = np.median(X, axis=0)
    calls = {"pca": {}, "r1-pca": {"n_init": 10}}
    fits = {method: sp.spca(X, 2, method=method, center=centre, **more) for method, more in calls.items()}
    lost = {method: np.linalg.norm(subspace(fit) - truth, 2) for method, fit in fits.items()}
    assert lost["pca"] > 0.9  # the outlying direction is a component
    assert lost["r1-pca"] < 0.1
    # PCA's subspace is near a local minimum of the criterion, which one start does not leave.
    assert sp.spca(X, 2, method="r1-pca", center=centre).objective_value > fits["r1-pca"].objective_value


def test_rows_that_lie_in_a_plane_but_for_a_few_give_that_plane_exactly():
    """More than half of the rows have no residual: under the length of residuals no other row counts."""
    rng = np.random.default_rng(4)
    axes = np.linalg.qr(rng.standard_normal((5, 5)))[0]
    X = rng.standard_normal((60, 2)) @ axes[:, :2].T
    X[:6] = 3.0 * rng.standard_normal((6, 5))
    fit = sp.spca(X, 2, method="r1-pca", loss="l1", center=False)
    # A row in the plane counts up to 1e6 times as much as one at the median distance from PCA's.
    np.testing.assert_allclose(subspace(fit), axes[:, :2] @ axes[:, :2].T, atol=1e-5)


def test_data_of_rank_k_are_pca():
    X = np.random.default_rng(5).standard_normal((30, 2)) @ np.random.default_rng(6).standard_normal((2, 6))
    for loss in ("huber", "l1"):
        fit = sp.spca(X, 2, method="r1-pca", loss=loss)
        np.testing.assert_allclose(fit.loadings, sp.spca(X, 2, method="pca").loadings, atol=1e-8)
        assert fit.converged
        assert abs(fit.objective_value) < 1e-10


def test_the_order_is_that_of_the_weighted_variances_unless_asked_for():
    # Two rows far out along the third axis, which is in the subspace, and the rest along the others.
    rng = np.random.default_rng(8)
    X = rng.standard_normal((40, 5)) * [3.0, 2.0, 0.1, 0.1, 0.1]
    X[:4] += np.array([[0, 0, 60.0, 4.0, 0], [0, 0, -60.0, 4.0, 0], [0, 0, 60, -4, 0], [0, 0, -60, -4, 0.0]])
    fit = sp.spca(X, 3, method="r1-pca", scale=False)
    variance = fit.variance["score variance"].to_numpy()
    assert (np.diff(fit.details["weighted variance"]) < 0).all()
    sorted_fit = sp.spca(X, 3, method="r1-pca", scale=False, order="variance")
    assert (np.diff(sorted_fit.variance["score variance"]) < 0).all()
    # whatever the order; 1e-13 is the rounding of a sum
    assert sorted_fit.objective_value == pytest.approx(fit.objective_value, rel=1e-13)
    assert sorted(sorted_fit.variance["score variance"]) == pytest.approx(sorted(variance), rel=1e-12)


def test_weights_are_repeated_rows_and_some_may_be_zero():
    X = heavy(9, 30, 4)
    weights = np.random.default_rng(0).integers(0, 3, 30)
    for loss in ("huber", "l1"):
        weighted = sp.spca(X, 2, method="r1-pca", loss=loss, weights=weights)
        repeated = sp.spca(np.repeat(X, weights, axis=0), 2, method="r1-pca", loss=loss)
        np.testing.assert_allclose(weighted.loadings, repeated.loadings, atol=1e-7)
        assert weighted.objective_value == pytest.approx(repeated.objective_value, rel=1e-9)


def test_more_starts_never_raise_the_criterion():
    X = heavy(10, 30, 8)
    for loss in ("huber", "l1"):
        one, many = (sp.spca(X, 2, method="r1-pca", loss=loss, n_init=n) for n in (1, 10))
        assert many.objective_value <= one.objective_value * (1 + 1e-12)


def test_sparse_rows_with_more_variables_than_rows():
    X = scipy.sparse.random_array((25, 60), density=0.2, rng=11).toarray()
    dense = sp.spca(X, 3, method="r1-pca")
    sparse = sp.spca(scipy.sparse.csr_array(X), 3, method="r1-pca")
    np.testing.assert_allclose(sparse.loadings, dense.loadings, atol=1e-7)


def test_what_it_cannot_take_is_refused():
    with pytest.raises(NoRowsError, match="r1-pca"):
        sp.spca_cov(sp.datasets.load_pitprops(), 2, method="r1-pca")
    with pytest.raises(OptionError, match=r"'huber', 'l1'"):
        sp.spca(heavy(0), 1, method="r1-pca", loss="cauchy")


def test_the_cutoff_is_the_median_of_pcas_residuals_and_under_l1_a_millionth():
    Z = heavy(3, 41)
    Z -= Z.mean(axis=0)
    lengths = distances(Z, of_pca(Z, 2))
    for loss, share in (("huber", 1.0), ("l1", 1e-6)):
        for times in (1, 3):  # weights that are all equal change nothing
            fit = sp.spca(Z, 2, method="r1-pca", loss=loss, weights=np.full(41, times), center=False)
            np.testing.assert_allclose(fit.details["cutoff"], share * np.median(lengths), rtol=1e-9)


def test_the_cutoff_where_most_rows_have_no_residual():
    # PCA's axes are the coordinates: 7 rows along the first, 2 across it with residuals of 1.
    Z = np.zeros((9, 3))
    Z[:7, 0] = [-30, -20, -10, 0, 10, 20, 30]
    Z[7:, 1] = [1.0, -1.0]
    fit = sp.spca(Z, 1, method="r1-pca")
    np.testing.assert_allclose(fit.details["cutoff"], 1e-6 * np.sqrt(2 / 9), rtol=1e-9)
    # No row has any: the residuals of rounding are below 1e-12 of the rows' lengths.
    Z[7:, 1] = 0.0
    for times in (1, 4):
        fit = sp.spca(Z, 1, method="r1-pca", weights=np.full(9, times))
        np.testing.assert_allclose(fit.details["cutoff"], 1e-12 * np.sqrt(2800 / 9), rtol=1e-9)


def test_short_residuals_of_long_rows_keep_their_digits():
    # Rows of length 1e6 and more, residuals of one: differences of squares would leave four digits.
    rng = np.random.default_rng(12)
    t = rng.uniform(1e6, 2e6, 20) * (-1.0) ** np.arange(20)
    r = rng.uniform(0.5, 1.5, 20)
    r[1::2] *= -r[::2].sum() / r[1::2].sum()
    t[1::2] *= -t[::2].sum() / t[1::2].sum()
    fit = sp.spca(np.column_stack([t, r]), 1, method="r1-pca", center=False, scale=False)
    slope = (t @ r) / (t @ t)  # PCA's axis but for a share of (r / t)^2
    assert fit.details["cutoff"].iloc[0] == pytest.approx(np.median(np.abs(r - slope * t)), rel=1e-6)
