"""Options of methods on all kinds of input; greedy supports, control, thresholds, single components."""

from __future__ import annotations

import warnings
from typing import Any

import numpy as np
import pandas as pd
import pytest
import scipy.sparse as sps

import spcastat as sp
from spcastat.errors import ConvergenceWarning, MethodError, OptionError
from spcastat.fit.method_table import SOLVERS
from spcastat.linalg.operators import Gram
from spcastat.solvers.penalised import Penalised
from spcastat.solvers.solver import ComponentSolver, Earlier
from spcastat.solvers.thresholding import adjusted, of_adjusted_variance

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

# Without options: tests/solvers/test_contract.py.
CASES = [("bcd-l0", {"card": 3, "nonneg": True}), ("bcd-l1", {"card": 2, "nonneg": True})]
CASES += [("bcd-l1", {"t": 1.0}), ("bcd-l1", {"t": 1.4}), ("bcd-l1", {"t": 8**0.5})]
CASES += [("greedy", {"card": 4, "exact": True}), ("greedy", {"card": 5, "c": 2})]
CASES += [("controlled", {"variance": 0.9, "c": 3}), ("controlled", {"variance": 0.9, "exact": True})]


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


def test_wide_sparse_data_far_from_zero():
    # Sparse columns need not be near zero (years, say): implicit centring must not cost the fit.
    rng = np.random.default_rng(2)
    X = rng.standard_normal((30, 450)) * np.append([12.0, 10.0, 8.0], np.ones(447)) + 1e6
    dense = sp.spca(X, 2, 5, method="bcd-l0")
    sparse = sp.spca(sps.csc_array(X), 2, 5, method="bcd-l0")
    np.testing.assert_allclose(sparse.loadings, dense.loadings, atol=1e-7)  # eps * 1e6, over 450 columns
    np.testing.assert_allclose(sparse.variance, dense.variance, rtol=1e-7)


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


@pytest.mark.parametrize("method", ["bcd-l0", "greedy"])
def test_planted_directions_in_high_dimension(method):
    # He, Monteiro and Park (2010), section 5.1: 200 rows, 500 variables; "identified" means cosines of 0.95.
    wide = sp.datasets.make_highdim(200, 500, rng=2)
    truth = sp.datasets.true_loadings(wide)
    fit = sp.spca(wide, 2, 50, method=method)
    assert np.abs(np.diag(truth.T @ fit.loadings)).min() > 0.95


# --- greedy supports ------------------------------------------------------------------------------


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
    with pytest.raises(OptionError, match=r"no nonzero loading in component 1; give a value in \[0, 0\."):
        sp.spca_cov(pitprops, 3, method=method, threshold=0.95)


def test_rotations_keep_the_space_of_pca(pitprops):
    pca = sp.spca_cov(pitprops, 3, method="pca")
    fit = sp.spca_cov(pitprops, 3, 13, method="rotate")
    V, W, L = pca.loadings.to_numpy(), fit.loadings.to_numpy(), fit.rotated.to_numpy()
    np.testing.assert_allclose(V @ (V.T @ W), W, atol=1e-10)
    np.testing.assert_allclose(np.linalg.norm(W, axis=0), 1.0)
    np.testing.assert_allclose(L / np.linalg.norm(L, axis=0), W, atol=1e-12)  # nothing is cut
    A = V * np.sqrt(pca.variance["score variance"].to_numpy())
    np.testing.assert_allclose(L @ L.T, A @ A.T, atol=1e-10)  # communalities do not change
    assert np.all(np.diff((L**2).sum(axis=0)) <= 1e-12)


def test_varimax_raises_the_variance_of_the_squared_loadings(pitprops):
    """No rotation of two of the three columns does better than the fit."""

    def criterion(W: np.ndarray) -> float:
        return float(np.var(W**2, axis=0).sum())

    W = sp.spca_cov(pitprops, 3, 4, method="rotate").rotated.to_numpy()
    W = W / np.linalg.norm(W, axis=1, keepdims=True)
    for i, j in ((0, 1), (0, 2), (1, 2)):
        for angle in np.linspace(0, np.pi, 61):
            R = np.eye(3)
            R[[i, i, j, j], [i, j, i, j]] = np.cos(angle), -np.sin(angle), np.sin(angle), np.cos(angle)
            assert criterion(W @ R) <= criterion(W) + 1e-6


def test_rotated_loadings_are_those_of_psych(pitprops):
    """principal(pitprops, 4, rotate = "varimax") of psych, which stops where its criterion rises by 1e-5."""
    fit = sp.spca_cov(pitprops, 4, 4, method="rotate")
    first = [0.879, 0.898, 0.163, 0.136, -0.165, 0.270, 0.607, 0.675, 0.782, 0.778, 0.001, -0.253, -0.016]
    np.testing.assert_allclose(fit.rotated["PC1"], first, atol=1.5e-3)  # also printed to 5e-4
    np.testing.assert_allclose((fit.rotated**2).sum(), [3.830, 2.328, 2.264, 1.162], atol=1.5e-3)
    for name in fit.loadings:  # the largest in absolute value are kept
        kept = fit.loadings.index[fit.loadings[name] != 0]
        assert set(kept) == set(fit.rotated[name].abs().nlargest(4).index)


def test_rotated_loadings_have_the_unit_of_the_data(pitprops):
    sd = pd.Series(np.geomspace(0.1, 5.0, 13), pitprops.index)
    S = pitprops * np.outer(sd, sd)
    fit = sp.spca_cov(S, 2, 13, method="rotate")
    explained = np.linalg.eigvalsh(S)[::-1][:2].sum()
    assert (fit.rotated**2).to_numpy().sum() == pytest.approx(explained, rel=1e-9)
    by_cut = sp.spca_cov(S, 2, method="rotate", threshold=0.6)
    pd.testing.assert_frame_equal(by_cut.loadings != 0, by_cut.rotated.div(sd, axis=0).abs() >= 0.6)
    assert by_cut.details["smallest kept"].min() >= 0.6


def test_rotated_fits_are_refitted_on_their_supports(pitprops):
    """The share of adjusted variance rises, and no loading of a support can be improved alone."""
    cut = sp.spca_cov(pitprops, 3, 5, method="rotate", refit=False)
    fit = sp.spca_cov(pitprops, 3, 5, method="rotate")
    pd.testing.assert_frame_equal(fit.loadings != 0, cut.loadings != 0)
    kept = cut.rotated.where(cut.loadings != 0, 0.0)
    np.testing.assert_allclose(cut.loadings, kept / np.linalg.norm(kept, axis=0), atol=1e-12)
    best = fit.measure("adjusted")
    # 56.68 and 56.91 % were computed by an independent script of the same steps
    assert (cut.measure("adjusted"), best) == pytest.approx((0.5668, 0.5691), abs=1e-4)
    V = fit.loadings.to_numpy()
    for i, j in zip(*np.nonzero(V), strict=True):
        for step in (-1e-3, 1e-3):
            W = V.copy()
            W[i, j] += step
            assert sp.measures.adjusted(W, S=pitprops) <= best + 1e-10


def test_only_fits_with_a_rotation_have_rotated_loadings(pitprops, tmp_path):
    fit = sp.spca_cov(pitprops, 2, 4, method="rotate")
    fit.save(tmp_path / "fit.spca")
    pd.testing.assert_frame_equal(sp.load(tmp_path / "fit.spca").rotated, fit.rotated)
    other = fit.refit(method="threshold")
    assert not hasattr(other, "rotated")
    with pytest.raises(MethodError, match=r"refit\(method='rotate', card=...\)"):
        other.rotated  # noqa: B018
    assert not other.refit(method="rotate", card=4).rotated.empty


def test_one_component_needs_no_rotation(pitprops):
    one = sp.spca_cov(pitprops, 1, 4, method="rotate", refit=False).loadings
    pd.testing.assert_frame_equal(one, sp.spca_cov(pitprops, 1, 4, method="threshold").loadings)
    refitted = sp.spca_cov(pitprops, 1, 4, method="rotate").loadings["PC1"]
    used = refitted.index[refitted != 0]
    largest = np.linalg.eigvalsh(pitprops.loc[used, used])[-1]
    assert refitted @ pitprops @ refitted == pytest.approx(largest, rel=1e-10)


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


def test_loadings_refitted_on_their_supports_are_stationary_to_rounding():
    """Values alone determine loadings to about 1e-8, the root of the rounding; slopes to rounding itself."""
    S = sp.datasets.load_pitprops().to_numpy()
    V = np.zeros((13, 3))
    V[[0, 1, 5, 6], 0] = V[[2, 3], 1] = V[[4, 7, 8], 2] = 1.0
    V[[5, 9], 1] = V[[0, 11], 2] = 0.5
    W = of_adjusted_variance(Gram(S), V / np.linalg.norm(V, axis=0))
    _, slope = adjusted(Gram(S), W)
    assert ((W != 0) == (V != 0)).all()
    # of a value near 6; rounding of sums of 13 terms is below 1e-14
    assert np.abs(slope[V != 0]).max() < 1e-12
