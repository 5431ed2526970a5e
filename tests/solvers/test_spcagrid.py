"""Robust sparse PCA by grid search."""

import numpy as np
import pytest

import spcastat as sp
from spcastat.errors import NoRowsError, OptionError
from spcastat.linalg.scales import SCALES


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


# --- inside ----------------------------------------------------------------------------------------


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
