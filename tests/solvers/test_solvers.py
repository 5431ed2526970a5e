"""What every method must do, on dense rows, sparse rows and a covariance matrix alike."""

from __future__ import annotations

import itertools
import warnings
from typing import Any

import numpy as np
import pandas as pd
import pytest
import scipy.sparse as sps

import spcastat as sp
from spcastat.errors import ConvergenceWarning, OptionError
from spcastat.fit.method_table import SOLVERS
from spcastat.linalg.operators import Gram
from spcastat.solvers.penalised import PMD, Penalised, Run
from spcastat.solvers.solver import ComponentSolver, Earlier
from spcastat.solvers.thresholding import ROTATIONS

BY_CARD = ("bcd-l0", "bcd-l1", "greedy")


def rows(seed: int = 0, n: int = 60, p: int = 8) -> pd.DataFrame:
    """Half-empty rows with two planted directions and different variances: no ties."""
    rng = np.random.default_rng(seed)
    V = np.zeros((p, 2))
    V[: p // 2, 0] = rng.uniform(0.5, 1.0, p // 2)
    V[p // 2 :, 1] = rng.uniform(0.5, 1.0, p - p // 2)
    X = rng.standard_normal((n, 2)) * [4.0, 3.0] @ V.T + rng.standard_normal((n, p))
    return pd.DataFrame(X * (rng.random((n, p)) < 0.8), columns=[f"v{j}" for j in range(p)])


def three_ways(X: pd.DataFrame, k: int, *args: Any, **options: Any) -> list[Any]:
    return [
        sp.spca(X, k, *args, **options),
        sp.spca(sps.csr_array(X.to_numpy()), k, *args, **options),
        sp.spca_cov(X.cov(), k, *args, **options),
    ]


# --- the same on every input ----------------------------------------------------------------------

CASES = [(method, {"card": card}) for method in BY_CARD for card in (1, 3, 8, (5, 2, 1))]
CASES += [("bcd-l0", {"card": 3, "nonneg": True}), ("bcd-l1", {"card": 2, "nonneg": True})]
CASES += [("bcd-l1", {"t": 1.0}), ("bcd-l1", {"t": 1.4}), ("bcd-l1", {"t": 8**0.5})]
CASES += [("greedy", {"card": 4, "exact": True}), ("greedy", {"card": 5, "c": 2})]
CASES += [("controlled", {"variance": share}) for share in (0.5, 0.9, 1.0)]
CASES += [("controlled", {"variance": 0.9, "c": 3}), ("controlled", {"variance": 0.9, "exact": True})]
CASES += [("pca", {})]


@pytest.mark.parametrize(("method", "options"), CASES)
def test_dense_sparse_and_covariance_agree(method, options):
    # n_init does not apply to all; max_iter keeps fits that wander along a valley short: the same path
    # must be taken whether it ends or not.
    more = {"max_iter": 300} if method.startswith("bcd") else {}
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        dense, sparse, covariance = three_ways(rows(1), 3, method=method, **options, **more)
    for other in (sparse, covariance):
        # rounding of the covariance matrix (1e-15), carried through some hundred sweeps
        np.testing.assert_allclose(other.loadings, dense.loadings, atol=1e-8)
        np.testing.assert_array_equal(other.card, dense.card)
        np.testing.assert_allclose(other.variance, dense.variance, rtol=1e-7, atol=1e-9)
        assert other.glance()["n_iter"].item() == dense.glance()["n_iter"].item()


def test_wide_data_agree():
    # p above the order up to which the covariance matrix is formed: served from rows
    X = sp.datasets.make_highdim(40, 420, rng=1)
    for method in ("bcd-l0", "greedy"):
        dense, sparse, covariance = three_ways(X, 2, 50, method=method)
        np.testing.assert_allclose(sparse.loadings, dense.loadings, atol=1e-8)
        np.testing.assert_allclose(covariance.loadings, dense.loadings, atol=1e-8)


def test_wide_sparse_data_far_from_zero():
    # Sparse columns need not be near zero (years, say): implicit centring must not cost the fit.
    rng = np.random.default_rng(2)
    X = rng.standard_normal((30, 450)) * np.append([12.0, 10.0, 8.0], np.ones(447)) + 1e6
    dense = sp.spca(X, 2, 5, method="bcd-l0")
    sparse = sp.spca(sps.csc_array(X), 2, 5, method="bcd-l0")
    np.testing.assert_allclose(sparse.loadings, dense.loadings, atol=1e-7)  # eps * 1e6, over 450 columns
    np.testing.assert_allclose(sparse.variance, dense.variance, rtol=1e-7)


@pytest.mark.parametrize("method", [*BY_CARD, "controlled", "pca"])
def test_all_nonzero_is_pca(method):
    X = rows(3)
    options = {"card": 8} if method in BY_CARD else {"variance": 1.0} if method == "controlled" else {}
    V = np.linalg.eigh(X.cov())[1][:, ::-1][:, :3]
    for fit in three_ways(X, 3, method=method, **options):
        # The eigenvectors, up to sign: they are the start of the joint methods, and a stationary point.
        np.testing.assert_allclose(np.abs(fit.loadings.T @ V), np.eye(3), atol=1e-7)
        np.testing.assert_allclose(
            fit.variance["cumulative adjusted"], fit.variance["cumulative PCA"], rtol=1e-9
        )


@pytest.mark.parametrize("seed", [9, 13, 14, 21])
@pytest.mark.parametrize("method", BY_CARD)
def test_all_nonzero_with_all_components_is_pca(method, seed):
    # All loadings explain all of the data then: there is nothing to climb, and the start, PCA, has to stay.
    rng = np.random.default_rng(seed)
    p = int(rng.integers(2, 6))
    X = rng.normal(size=(50, p)) @ rng.normal(size=(p, p))
    V = np.linalg.eigh(np.cov(X.T))[1][:, ::-1]
    fit = sp.spca(X, p, p, method=method)
    np.testing.assert_allclose(np.abs(fit.loadings.to_numpy().T @ V), np.eye(p), atol=1e-7)


# --- planted supports -----------------------------------------------------------------------------


@pytest.mark.parametrize("method", ["bcd-l0", "bcd-l1"])
def test_planted_supports_are_found(method):
    for seed in range(5):
        toy = sp.datasets.make_toy(2000, rng=seed)
        fit = sp.spca(toy, 2, 6, method=method)
        truth = {frozenset(v.index[v != 0]) for _, v in sp.datasets.true_loadings(toy).items()}
        # Which comes first is open: 250 and 240 swap in a sample of 2000 about one time in five.
        assert {frozenset(v.index[v != 0]) for _, v in fit.loadings.items()} == truth


@pytest.mark.parametrize("method", ["bcd-l0", "greedy"])
def test_planted_directions_in_high_dimension(method):
    # He, Monteiro and Park (2010), section 5.1: 200 rows, 500 variables; "identified" means cosines of 0.95.
    wide = sp.datasets.make_highdim(200, 500, rng=2)
    truth = sp.datasets.true_loadings(wide)
    fit = sp.spca(wide, 2, 50, method=method)
    assert np.abs(np.diag(truth.T @ fit.loadings)).min() > 0.95


@pytest.mark.parametrize("method", ["bcd-l0", "bcd-l1"])
def test_planted_nonnegative_supports(method):
    toy = sp.datasets.make_toy(2000, rng=4, nonneg=True)
    fit = sp.spca(toy, 2, 5, method=method, nonneg=True)
    truth = sp.datasets.true_loadings(toy)
    assert {frozenset(v.index[v != 0]) for _, v in fit.loadings.items()} == {
        frozenset(v.index[v != 0]) for _, v in truth.items()
    }
    assert (fit.loadings.to_numpy() >= 0).all()


# --- block coordinate descent ---------------------------------------------------------------------


def objective(X: pd.DataFrame, k: int, **options: Any) -> float:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        method = "bcd-l1" if "t" in options else "bcd-l0"
        return sp.spca(X, k, tol=0.0, **{"method": method, **options}).objective_value


@pytest.mark.parametrize(
    "options", [{"card": 3}, {"t": 1.5}, {"card": 3, "nonneg": True}, {"t": 1.5, "nonneg": True}]
)
def test_the_criterion_never_rises(options):
    # Every update is the exact minimum over one column ("bcd-l1" by cardinality changes its bound instead).
    for seed in range(3):
        rng = np.random.default_rng(seed)
        X = pd.DataFrame(rng.standard_normal((30, 8)) @ rng.standard_normal((8, 8)))
        values = [objective(X, 3, max_iter=sweeps, **options) for sweeps in range(1, 10)]
        assert np.diff(values).max() <= 1e-12 * values[0]
        assert values[-1] < values[0]


def test_l1_by_cardinality_keeps_the_best_loadings_that_it_passed():
    # More sweeps can only pass better loadings, though the criterion may rise from one to the next.
    R = sp.datasets.load_pitprops()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        fits = [
            sp.spca_cov(R, 6, (8, 5, 6, 2, 3, 2), method="bcd-l1", max_iter=sweeps)
            for sweeps in (*range(1, 40, 3), 500)
        ]
    kept = [fit.measure("pev") for fit in fits]
    assert np.diff(kept).min() >= -1e-12
    assert kept[-1] > 0.84  # the last sweep of about 270 has .8396


def test_the_criterion_is_that_of_the_loadings():
    # min over U of |X - UV'|^2 is total * (1 - PEV): at convergence the criterion is that (to tol).
    for method in ("bcd-l0", "bcd-l1"):
        fit = sp.spca(rows(7), 2, 4, method=method)
        residual = (1 - fit.measure("pev")) * fit.total_variance
        assert fit.objective_value == pytest.approx(residual, abs=1e-5 * fit.total_variance)
        assert fit.objective_value >= residual - 1e-12 * fit.total_variance


@pytest.mark.parametrize("bound", [1.0, 1.3, np.sqrt(2), 2.0, [1.0, 1.7], 8**0.5])
@pytest.mark.parametrize("nonneg", [False, True])
def test_norm_bounds_are_kept_and_used(bound, nonneg):
    fit = sp.spca(rows(8), 2, t=bound, nonneg=nonneg)
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


def test_starts():
    R = sp.datasets.load_pitprops()
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


@pytest.mark.parametrize(("k", "p"), [(1, 1), (1, 2), (2, 2), (1, 6), (5, 5)])
def test_starts_at_small_sizes(k, p):
    X = rows(10, 20, p)
    for n_init in (1, 2, 3, 7):
        fit = sp.spca(X, k, 1, n_init=n_init, rng=0, method="bcd-l0")
        assert fit.card.tolist() == [1] * k


# --- greedy supports ------------------------------------------------------------------------------


def test_greedy_is_never_above_the_best_subset_and_often_there():
    hits = {False: 0, True: 0}
    for seed in range(25):
        rng = np.random.default_rng(seed)
        p, card = 7, int(rng.integers(2, 5))
        A = rng.standard_normal((20, p)) @ rng.standard_normal((p, p))
        S = A.T @ A / 19
        best = max(
            np.linalg.eigvalsh(S[np.ix_(J, J)])[-1] for J in map(list, itertools.combinations(range(p), card))
        )
        for exact in hits:
            value = sp.spca_cov(S, 1, card, method="greedy", exact=exact).objective_value
            assert value <= best * (1 + 1e-12)
            assert value >= 0.5 * best
            hits[exact] += value >= best * (1 - 1e-10)
    assert hits[True] >= 12  # most of 25 small problems
    assert hits[False] >= 8


@pytest.mark.parametrize("exact", [False, True])
def test_greedy_follows_its_rule(exact):
    # He, Monteiro and Park (2010), Algorithm 1, in four lines; "exact" ranks by the leading eigenvalue.
    for seed in range(10):
        A = np.random.default_rng(seed).standard_normal((15, 6)) * [1, 1.3, 1.7, 2, 2.5, 3]
        S = np.cov(A, rowvar=False)
        J: list[int] = []
        x = np.zeros(6)
        for _ in range(4):
            free = [j for j in range(6) if j not in J]
            if exact:
                gains = [np.linalg.eigvalsh(S[np.ix_([*J, j], [*J, j])])[-1] for j in free]
            else:
                gains = [S[j, j] + 2 * abs(S[j] @ x) for j in free]
            j = free[int(np.argmax(gains))]
            x[j] = -1.0 if S[j] @ x < 0 else 1.0
            J.append(j)
        fit = sp.spca_cov(S, 1, 4, method="greedy", exact=exact)
        assert set(np.flatnonzero(fit.loadings)) == set(J)
        assert fit.objective_value == pytest.approx(np.linalg.eigvalsh(S[np.ix_(J, J)])[-1], rel=1e-12)


def test_exact_greedy_where_a_block_is_nearly_uncoupled():
    # x1 alone has 2, and no variable adds to it until x2 and x3 are there as well: with these x5 reaches
    # 1.2 + sqrt(0.04 + 1.125) = 2.279, x4 nothing. The coupling of 1e-9 between x1 and x5 is mere rounding.
    S = np.diag([2.0, 1.0, 1.0, 1.0, 1.4])
    S[4, :3] = S[:3, 4] = [1e-9, 0.75, 0.75]
    fit = sp.spca_cov(S, 1, 4, method="greedy", exact=True)
    assert fit.objective_value == pytest.approx(1.2 + np.sqrt(1.165), rel=1e-12)


@pytest.mark.parametrize("method", ["greedy", "controlled"])
def test_exact_greedy_with_very_different_variances(method):
    # No warning from NumPy, whatever the scales (they are errors in these tests).
    X = np.random.default_rng(0).standard_normal((50, 6)) * [1e4, 1e4, 1, 1, 1, 1e-4]
    sparsity = {"card": 3} if method == "greedy" else {"variance": 0.9}
    fit = sp.spca(X, 3, method=method, exact=True, scale=False, **sparsity)
    assert (fit.card >= 1).all()


def test_the_first_component_is_the_best_on_its_support():
    fit = sp.spca(rows(11), 2, 3, method="greedy")
    J = fit.loadings.index[fit.loadings["PC1"] != 0]
    block = rows(11).cov().loc[J, J]
    assert fit.variance["score variance"].iloc[0] == pytest.approx(np.linalg.eigvalsh(block)[-1], rel=1e-12)
    assert fit.objective_value == pytest.approx(fit.variance["adjusted variance"].sum(), rel=1e-12)


# --- sparsity control -----------------------------------------------------------------------------


@pytest.mark.parametrize("share", [1e-9, 0.5, 0.9, 0.999, 1.0])
def test_the_promised_share_is_kept_after_every_component(share):
    for seed in range(25):
        rng = np.random.default_rng(seed)
        p = int(rng.integers(2, 11))
        X = rng.standard_normal((25, p)) * 10.0 ** rng.uniform(-1, 1, p)
        if seed % 2:
            X = X @ rng.standard_normal((p, p))
        fit = sp.spca(X, int(rng.integers(1, p + 1)), variance=share, c=1 + seed % 3, method="controlled")
        kept = sp.measures.relative_adjusted(fit.loadings, X=X, cumulative=True)
        assert kept.min() >= share - 1e-9
        assert kept.max() <= 1 + 1e-9
        assert (fit.card >= 1).all()


def test_a_tiny_share_takes_one_variable_each():
    assert sp.spca(rows(12), 4, variance=1e-6, method="controlled").card.tolist() == [1, 1, 1, 1]


def test_the_support_is_no_larger_than_needed():
    X = rows(13)
    fit = sp.spca(X, 1, variance=0.8, method="controlled")
    J = fit.loadings.index[fit.loadings["PC1"] != 0]
    values = np.linalg.eigvalsh(X.cov())
    assert np.linalg.eigvalsh(X.cov().loc[J, J])[-1] >= 0.8 * values[-1]
    less = sp.spca(X, 1, len(J) - 1, method="greedy")
    assert less.objective_value < 0.8 * values[-1]


def test_more_share_costs_more_nonzeros():
    cards = [sp.spca(rows(14), 3, variance=v, method="controlled").card.sum() for v in (0.3, 0.6, 0.9, 1.0)]
    assert cards == sorted(cards)
    assert cards[-1] == 24


# --- at the limits --------------------------------------------------------------------------------


def test_rank_is_found_on_every_input():
    for seed in range(20):
        rng = np.random.default_rng(seed)
        n, p = int(rng.choice([20, 300])), int(rng.choice([5, 40]))
        X = pd.DataFrame(rng.standard_normal((n, 3)) * [1.0, 10.0, 100.0] @ rng.standard_normal((3, p)))
        for fit in three_ways(X, 3, 2, method="greedy"):
            assert fit.loadings.shape == (p, 3)
        for data, function in ((X, sp.spca), (sps.csr_array(X.to_numpy()), sp.spca), (X.cov(), sp.spca_cov)):
            with pytest.raises(sp.errors.ComponentsError, match="rank 3"):
                function(data, 4, 2, method="greedy")


@pytest.mark.parametrize("method", BY_CARD)
def test_two_rows(method):
    X = rows(16).iloc[:2]
    fit = sp.spca(X, 1, 8, method=method, scale=False)
    difference = (X.iloc[1] - X.iloc[0]).to_numpy()
    np.testing.assert_allclose(
        np.abs(fit.loadings["PC1"]), np.abs(difference) / np.linalg.norm(difference), atol=1e-12
    )


@pytest.mark.parametrize("method", [*BY_CARD, "controlled", "pca"])
def test_one_variable(method):
    options = {"card": 1} if method in BY_CARD else {}
    for fit in three_ways(rows()[["v0"]], 1, method=method, **options):
        assert fit.loadings.to_numpy().tolist() == [[1.0]]
        assert fit.measure("pev") == pytest.approx(1.0, abs=1e-14)


# --- ties -----------------------------------------------------------------------------------------


@pytest.mark.parametrize("method", BY_CARD)
def test_of_equal_variables_the_first_are_taken(method):
    fit = sp.spca_cov(np.eye(5), 2, 1, method=method)
    np.testing.assert_array_equal(fit.loadings, np.eye(5)[:, :2])


def test_control_takes_the_first_of_equal_variables():
    np.testing.assert_array_equal(sp.spca_cov(np.eye(5), 3, method="controlled").loadings, np.eye(5)[:, :3])


@pytest.mark.parametrize("method", BY_CARD)
def test_rounding_does_not_choose_among_equals(method):
    # Rows with exactly equal correlations: dense, sparse and covariance input differ by rounding alone.
    rng = np.random.default_rng(17)
    R = 0.5 * np.eye(5) + 0.5
    Q = np.linalg.qr(np.column_stack([np.ones(40), rng.standard_normal((40, 5))]))[0][:, 1:]
    X = np.sqrt(39) * Q @ np.linalg.cholesky(R).T
    fits = [sp.spca(X, 2, 2, method=method), sp.spca(sps.csr_array(X), 2, 2, method=method)]
    fits.append(sp.spca_cov(R, 2, 2, method=method))
    supports = [fit.loadings.to_numpy() != 0 for fit in fits]
    np.testing.assert_array_equal(supports[1], supports[0])
    np.testing.assert_array_equal(supports[2], supports[0])
    if method != "bcd-l1":  # whose supports move on from the tied start, by unequal soft thresholds
        assert supports[0][:2, 0].all()


# --- threshold and rotate: PCA with the small loadings cut off ------------------------------------


def test_thresholding_keeps_the_largest_loadings_of_pca(pitprops):
    pca = sp.spca_cov(pitprops, 2, method="pca").loadings["PC2"]
    fit = sp.spca_cov(pitprops, 2, 4, method="threshold")
    kept = pca.abs().nlargest(4).index
    expected = pca.where(pca.index.isin(kept), 0.0)
    np.testing.assert_allclose(fit.loadings["PC2"], expected / np.linalg.norm(expected))
    assert fit.details["smallest kept"].iloc[1] == pytest.approx(pca.abs().nlargest(4).iloc[-1])


def test_a_threshold_is_on_loadings_of_unit_length(pitprops):
    pca = sp.spca_cov(pitprops, 3, method="pca").loadings
    fit = sp.spca_cov(pitprops, 3, method="threshold", threshold=[0.3, 0.2, 0.1])
    expected = pca.abs() >= [0.3, 0.2, 0.1]
    pd.testing.assert_frame_equal(fit.loadings != 0, expected)
    assert fit.status == "exact"


@pytest.mark.parametrize("method", ["threshold", "rotate"])
def test_limits_and_refusals(pitprops, method):
    none = sp.spca_cov(pitprops, 3, method=method, threshold=0)
    assert (none.card == 13).all()
    with pytest.raises(OptionError, match=r"leaves no loading in component 1, .* it must be in \[0, 0\."):
        sp.spca_cov(pitprops, 3, method=method, threshold=0.95)
    with pytest.raises(OptionError, match="threshold="):
        sp.spca_cov(pitprops, 3, method=method, threshold=1.5)
    with pytest.raises(OptionError, match="card and threshold"):
        sp.spca_cov(pitprops, 3, 4, method=method, threshold=0.5)
    with pytest.raises(OptionError, match="card= or threshold="):
        sp.spca_cov(pitprops, 3, method=method)


@pytest.mark.parametrize("rotation", ROTATIONS)
def test_rotations_keep_the_space_of_pca(pitprops, rotation):
    pca = sp.spca_cov(pitprops, 3, method="pca")
    fit = sp.spca_cov(pitprops, 3, 13, method="rotate", rotation=rotation)
    V, W = pca.loadings.to_numpy(), fit.loadings.to_numpy()
    np.testing.assert_allclose(V @ (V.T @ W), W, atol=1e-10)
    np.testing.assert_allclose(np.linalg.norm(W, axis=0), 1.0)
    if rotation not in ROTATIONS[-2:]:
        np.testing.assert_allclose(W.T @ W, np.eye(3), atol=1e-10)
    assert np.all(np.diff(fit.variance["score variance"]) <= 1e-12)


def test_varimax_raises_the_variance_of_the_squared_loadings(pitprops):
    """No rotation of two of the three columns does better than the fit."""

    def criterion(W: np.ndarray) -> float:
        return float(np.var(W**2, axis=0).sum())

    W = sp.spca_cov(pitprops, 3, 13, method="rotate").loadings.to_numpy()
    for i, j in ((0, 1), (0, 2), (1, 2)):
        for angle in np.linspace(0, np.pi, 61):
            R = np.eye(3)
            R[[i, i, j, j], [i, j, i, j]] = np.cos(angle), -np.sin(angle), np.sin(angle), np.cos(angle)
            assert criterion(W @ R) <= criterion(W) + 1e-6


def test_rotation_has_a_nearest_name_and_one_component_needs_none(pitprops):
    with pytest.raises(OptionError, match="Did you mean 'varimax'"):
        sp.spca_cov(pitprops, 3, 4, method="rotate", rotation="varimx")
    one = sp.spca_cov(pitprops, 1, 4, method="rotate").loadings
    pd.testing.assert_frame_equal(one, sp.spca_cov(pitprops, 1, 4, method="threshold").loadings)


# --- Solvers of one component at a time, asked directly -------------------------------------------

SINGLE = [
    name
    for name, method in SOLVERS.items()
    if issubclass(method.solver, ComponentSolver) and method.solver.needs == "gram"
]
PENALISED = [name for name in SINGLE if issubclass(SOLVERS[name].solver, Penalised)]


def covariance(seed: int, p: int = 8) -> Gram:
    rng = np.random.default_rng(seed)
    A = rng.standard_normal((30, p)) * rng.uniform(0.5, 1.5, p) + rng.standard_normal((30, 1))
    return Gram(np.cov(A, rowvar=False))


def with_card(name: str, card: int) -> Penalised:
    solver = SOLVERS[name].build({"card": (card,)})
    assert isinstance(solver, Penalised)
    return solver


@pytest.mark.parametrize("name", PENALISED)
@pytest.mark.parametrize("card", [1, 2, 3, 5, 7])
def test_the_penalty_that_a_cardinality_implies_leaves_its_loadings_where_they_are(name, card):
    # Thresholding at the next value comes to rest at loadings for which the penalty is that value: a step
    # with it changes them by no more than the tolerance at which the iteration ended, and the 1e-9.
    for seed in range(3):
        op = covariance(seed)
        solver, start = with_card(name, card), op.leading(1)[1][:, 0]
        found = solver.at_card(op, start, card)
        assert found.converged
        assert np.count_nonzero(found.v) == card
        penalty = found.penalty * (1.0 + 1e-9)  # so that rounding keeps nothing at the threshold
        again = solver.at_penalty(op, found.v, penalty)
        assert (again.n_iter, again.converged, again.penalty) == (1, True, penalty)
        np.testing.assert_allclose(again.v, found.v, rtol=0, atol=2 * solver.tol)
        if name != "pmd":  # whose bound comes from loadings that are converged to the tolerance only
            np.testing.assert_array_equal(again.v != 0, found.v != 0)
        np.testing.assert_allclose(again.raw, found.raw, rtol=0, atol=20 * solver.tol)


@pytest.mark.parametrize("name", PENALISED)
def test_the_largest_penalty_leaves_one_loading_or_none_and_less_leaves_one(name):
    for seed in range(3):
        op = covariance(seed)
        solver, start = with_card(name, 3), op.leading(1)[1][:, 0]
        largest = solver.largest_penalty(op, start)
        above, below = (solver.at_penalty(op, start, largest * (1.0 + by)) for by in (1e-9, -0.05))
        # Under a bound on the l1 norm one loading is always left.
        assert np.count_nonzero(above.v) == (1 if name == "pmd" else 0)
        assert above.converged
        assert np.count_nonzero(below.v) >= 1


@pytest.mark.parametrize("name", PENALISED)
def test_no_penalty_is_pca_and_the_raw_loadings_have_the_length_of_the_scores(name):
    op = covariance(4)
    value, vector = op.leading(1)
    solver = with_card(name, 3)
    found = solver.at_penalty(op, np.eye(8)[0], 0.0)
    np.testing.assert_allclose(np.abs(found.v), np.abs(vector[:, 0]), atol=1e-6)
    done = solver.finished(op, found, {})
    np.testing.assert_allclose(np.linalg.norm(done.raw), np.sqrt(value[0]), rtol=1e-6)
    np.testing.assert_allclose(done.raw / np.linalg.norm(done.raw), done.v, atol=1e-12)


@pytest.mark.parametrize("name", SINGLE)
def test_where_nothing_is_left_of_the_data_any_direction_does(name):
    empty, start = Gram(np.zeros((5, 5))), np.array([0.1, -0.7, 0.5, 0.1, -0.5]) / np.sqrt(1.01)
    options = {"card": (3,)} if "card" in SOLVERS[name].options else {"variance": 0.9}
    solver = SOLVERS[name].build(options)
    earlier = Earlier(0, 0.0, np.zeros(1), np.random.default_rng(0))
    found = solver.component(empty, earlier, start)
    assert np.linalg.norm(found.v) == pytest.approx(1.0, rel=1e-12)
    assert found.status in ("exact", "converged")
    if name != "scotlass":  # which keeps where it begins
        assert 1 <= np.count_nonzero(found.v) <= 3
    if solver.uses_starts and np.count_nonzero(found.v) == 3:
        np.testing.assert_array_equal(np.flatnonzero(found.v), [1, 2, 4])
        assert (np.sign(found.v[[1, 2, 4]]) == [-1, 1, -1]).all()


def test_within_an_l1_norm_too():
    empty, start = Gram(np.zeros((4, 4))), np.array([0.7, -0.7, 0.1, 0.1])
    for bound in (1.0, 1.3, 2.0):
        found = PMD(t=(bound,)).component(empty, Earlier(0, 0.0, np.zeros(1)), start)
        assert np.linalg.norm(found.v) == pytest.approx(1.0, rel=1e-12)
        assert np.abs(found.v).sum() == pytest.approx(min(bound, 1.6 / np.linalg.norm(start)), rel=1e-9)
        assert found.details == {"t": bound, "l1 norm": pytest.approx(np.abs(found.v).sum(), rel=1e-12)}
        assert (found.status, found.n_iter) == ("converged", 1)


# --- which of two runs is taken -------------------------------------------------------------------


def run(v: list[float], penalty: float, converged: bool = True) -> Run:
    loadings = np.array(v)
    return Run(loadings, loadings, 1, converged, penalty)


def test_which_run_is_taken_at_a_cardinality():
    soft, hard = with_card("rsvd-l1", 2), with_card("rsvd-l0", 2)
    found = run([0.8, 0.6, 0.0], 0.5)
    # The same support at a smaller penalty, and loadings of their own:
    assert soft.prefers(run([0.6, 0.8, 0.0], 0.4), found)
    assert not soft.prefers(run([0.6, 0.8, 0.0], 0.4, converged=False), found)
    assert not soft.prefers(run([0.6, 0.8, 0.0], 0.5), found)
    assert not soft.prefers(run([0.6, 0.8, 0.0], 0.5 * (1 - 5e-7)), found)
    assert not soft.prefers(run([0.8 + 5e-7, 0.6, 0.0], 0.4), found)
    assert not soft.prefers(run([0.6, 0.0, 0.8], 0.4), found)
    # Where thresholding solves a step exactly, another support:
    assert hard.prefers(run([0.6, 0.0, 0.8], 0.6), found)
    assert not hard.prefers(run([0.6, 0.0, 0.8], 0.6, converged=False), found)
    assert not hard.prefers(run([0.6, 0.8, 0.0], 0.4), found)


@pytest.mark.parametrize("name", ["rsvd-l1", "gpower-l1", "rsvd-scad"])
def test_no_smaller_penalty_gives_the_cardinality(name):
    for seed, card in itertools.product(range(2), (2, 4, 6)):
        op = covariance(seed)
        solver, start = with_card(name, card), op.leading(1)[1][:, 0]
        found = solver.component(op, Earlier(0, 0.0, np.zeros(1)), start)
        assert np.count_nonzero(found.v) == card
        # The bracket is a millionth of the largest penalty wide where the search ends.
        less = found.details["penalty"] - 1.1e-6 * solver.largest_penalty(op, start)
        assert np.count_nonzero(solver.at_penalty(op, start, less).v) > card


# --- Of several runs the best is told of, whole: its loadings, its value, its steps ---------------


def runs_covariance(seed, p=8):
    X = np.random.default_rng(seed).standard_normal((30, p))
    return X.T @ X / 29


def starts(count, k, p=8):
    rng = np.random.default_rng(1)
    drawn = [np.linalg.qr(rng.standard_normal((p, k)))[0].T for _ in range(count)]
    return np.stack(drawn)


@pytest.mark.parametrize("options", [{"card": (3, 3)}, {"penalty": (0.0, 0.0)}])
def test_nspca_returns_the_best_of_its_starts(options):
    worse = 0
    for seed in range(6):
        solver = SOLVERS["nspca"].build({"orthonormality": 2.0, **options})
        op, given = Gram(runs_covariance(seed)), starts(5, 2)
        found = solver.solve(op, 2, given, np.random.default_rng(0))
        assert found.objective == pytest.approx(found.objectives.max(), rel=1e-9)
        best = found.objectives.tolist().index(found.objective)
        alone = solver.solve(op, 2, given[[best]], np.random.default_rng(0))
        np.testing.assert_array_equal(found.V, alone.V)
        assert found.n_iter == alone.n_iter
        worse += found.objectives[best - 1] < found.objective - 1e-3
    assert worse > 0
