"""rsvd, pmd, gpower and empca: power steps with a threshold."""

from __future__ import annotations

import itertools

import numpy as np
import pytest

import spcastat as sp
from spcastat.errors import CardinalityError, OptionError
from spcastat.linalg.operators import Gram
from spcastat.linalg.thresholds import soft_at
from spcastat.solvers.gpower import GPowerBlock, polar_products
from spcastat.solvers.penalised import scad_at

RSVD = ("rsvd-l0", "rsvd-l1", "rsvd-scad")
GPOWER = ("gpower-l0", "gpower-l1")
PENALISED = (*RSVD, *GPOWER)
PATTERNS = [[8, 5, 6, 2, 3, 2], [7, 4, 4, 1, 1, 1], [7, 2, 3, 1, 1, 1]]


def spiked(n: int, p: int, seed: int) -> np.ndarray:
    """Rows with three overlapping sparse factors, and no ties."""
    rng = np.random.default_rng(seed)
    X = rng.standard_normal((n, p))
    for start, size in ((0, 5.0), (4, 4.0), (9, 3.0)):
        X[:, start : start + 6] += size * rng.standard_normal((n, 1)) * rng.uniform(0.5, 1.5, 6)
    return X


# --- published figures ----------------------------------------------------------------------------

# Zhao et al. (2015), Table 3: PEV in % at the three patterns. The first two patterns are met within 0.8
# points or surpassed; at the third, exact extraction of every component gives 76.98 under any deflation, and
# the printed figures above that come from less greedy paths, so 76.9 is the floor. Tests of rsvd-l1 and
# of rsvd-scad follow.
PRINTED = {
    "rsvd-l0": (82.87, 80.85, 77.90),
    "rsvd-l1": (81.39, 80.40, 78.25),
    "rsvd-scad": (81.45, 80.17, 77.32),
    "empca": (83.44, 80.85, 80.18),
    "gpower-l0": (83.26, 80.64, 80.13),
    "gpower-l1": (83.35, 80.11, 80.13),
}


@pytest.mark.parametrize("pattern", range(3))
@pytest.mark.parametrize("method", ["rsvd-l0", "empca", "gpower-l0"])
def test_pitprops_pev_as_published(pitprops, method, pattern):
    fit = sp.spca_cov(pitprops, 6, PATTERNS[pattern], method=method)
    assert list(fit.card) == PATTERNS[pattern]
    floor = PRINTED[method][pattern] - 0.8 if pattern < 2 else 76.9
    assert 100 * fit.measure("pev") >= floor


def test_gpower_l1_is_exactly_as_published(pitprops):
    """83.35, 80.11 and 80.13: the second is confirmed by an independent program."""
    fits = [sp.spca_cov(pitprops, 6, card, method="gpower-l1") for card in PATTERNS]
    assert [list(fit.card) for fit in fits] == PATTERNS
    pev = [100 * fit.measure("pev") for fit in fits]
    np.testing.assert_allclose(pev, PRINTED["gpower-l1"], atol=0.006)


def test_rsvd_l1_is_as_published_at_all_patterns(pitprops):
    """Within .2 points of the print, whose third figure belongs to another local optimum of component six.

    81.42, 80.45 and 78.42 come from a program of twenty lines that thresholds X'u at its (card + 1)-th value.
    """
    fits = [sp.spca_cov(pitprops, 6, card, method="rsvd-l1") for card in PATTERNS]
    assert [list(fit.card) for fit in fits] == PATTERNS
    pev = [100 * fit.measure("pev") for fit in fits]
    np.testing.assert_allclose(pev, PRINTED["rsvd-l1"], atol=0.2)
    np.testing.assert_allclose(pev, (81.42, 80.45, 78.42), atol=0.006)


@pytest.mark.parametrize("pattern", range(3))
def test_rsvd_scad_is_near_the_print_by_rank_or_by_a_fixed_penalty(pitprops, pattern):
    """The paper does not print the parameter a; 3.7 is Fan and Li's. The better of the two is within .8."""
    fits = [
        sp.spca_cov(pitprops, 6, PATTERNS[pattern], method="rsvd-scad", fixed_penalty=fixed_penalty)
        for fixed_penalty in (False, True)
    ]
    assert max(100 * fit.measure("pev") for fit in fits) >= PRINTED["rsvd-scad"][pattern] - 0.8


@pytest.mark.parametrize("method", RSVD)
def test_a_cardinality_thresholds_at_the_next_largest_value_in_each_step(method):
    """The loadings are a fixed point of the step of Shen and Huang (2008), section 2.2, by plain code."""
    X = spiked(60, 25, 4)
    X -= X.mean(axis=0)
    v = sp.spca(X, 1, 6, method=method).loadings["PC1"].to_numpy()
    q = X.T @ (X @ v) / np.linalg.norm(X @ v)
    level = np.sort(np.abs(q))[-7]
    size = np.abs(q)
    if method == "rsvd-l0":
        w = np.where(size > level, q, 0.0)
    elif method == "rsvd-l1":
        w = np.sign(q) * np.maximum(size - level, 0.0)
    else:
        w = scad_at(q, level)
    np.testing.assert_allclose(w / np.linalg.norm(w), v, atol=1e-6)


def test_a_fixed_penalty_is_the_smallest_that_gives_the_cardinality(pitprops):
    """82.69, 79.74 and 78.42: the record of this reading of `card`; at the first two it is another fit."""
    fits = [sp.spca_cov(pitprops, 6, card, method="rsvd-l1", fixed_penalty=True) for card in PATTERNS]
    pev = [100 * fit.measure("pev") for fit in fits]
    np.testing.assert_allclose(pev, (82.69, 79.74, 78.42), atol=0.006)
    first = fits[0].details["penalty"].iloc[0]
    less = sp.spca_cov(pitprops, 1, method="rsvd-l1", penalty=0.999 * first)
    assert less.card.iloc[0] > PATTERNS[0][0]


def test_nonnegative_em_finds_the_planted_supports_of_the_toy_data():
    """Zhao et al. (2015), Table 6: N-EMPCA finds both vectors in 620 to 655 of 1000 sets (of one order)."""
    found = 0
    for seed in range(20):
        data = sp.datasets.make_toy(1000, rng=seed, nonneg=True)
        truth = {tuple(np.flatnonzero(column)) for column in np.array(data.attrs["loadings"]).T}
        fit = sp.spca(data, 2, 5, method="empca", nonneg=True)
        found += {tuple(np.flatnonzero(column)) for column in fit.loadings.to_numpy().T} == truth
    assert found >= 11


# --- what every method promises -------------------------------------------------------------------


def penalised(method: str) -> dict[str, bool]:
    """Return the option by which a cardinality means a penalty that all steps share."""
    return {"fixed_penalty": True} if method in RSVD else {}


@pytest.mark.parametrize("method", PENALISED)
def test_the_reported_penalty_gives_the_same_fit(method):
    X = spiked(60, 25, 4)
    fit = sp.spca(X, 2, 6, method=method, **penalised(method))
    assert fit.details["by penalty"].all()
    assert fit.details["card hit"].all()
    again = sp.spca(X, 2, method=method, penalty=list(fit.details["penalty"]))
    np.testing.assert_allclose(again.loadings, fit.loadings, atol=1e-12)


@pytest.mark.parametrize("method", [*RSVD, "gpower-l1"])
def test_a_narrow_range_of_penalties_that_leaves_two_loadings_is_found(method):
    v = np.array([1.0, 0.8, 0.8 - 1e-5, 0.3])
    fit = sp.spca_cov(np.outer(v, v) + 0.01 * np.eye(4), 1, 2, method=method, **penalised(method))
    assert fit.details[["card hit", "by penalty"]].all(axis=None)
    assert (fit.loadings["PC1"] != 0).tolist() == [True, True, False, False]


@pytest.mark.parametrize("method", PENALISED)
def test_the_reported_penalty_is_the_smallest(method):
    X = spiked(60, 25, 4)
    fit = sp.spca(X, 1, 6, method=method, **penalised(method))
    less = sp.spca(X, 1, method=method, penalty=0.999 * fit.details["penalty"].iloc[0])
    assert less.card.iloc[0] > 6


# --- rsvd -----------------------------------------------------------------------------------------


def test_scad_minimises_its_penalised_square():
    """Against a grid, where the problem has one minimum: the rule with a = 3.7."""
    rng = np.random.default_rng(5)
    level, grid = 0.7, np.linspace(-6, 6, 240001)
    size = np.abs(grid)
    middle = (2 * 3.7 * level * size - size**2 - level**2) / (2 * 2.7)
    cost = np.where(size <= level, level * size, np.where(size <= 3.7 * level, middle, 2.35 * level**2))
    for y in rng.uniform(-4, 4, 20):
        best = grid[np.argmin(0.5 * (grid - y) ** 2 + cost)]
        assert scad_at(np.array([y]), level)[0] == pytest.approx(best, abs=1e-4)


def test_rsvd_l1_solves_the_problem_that_scikit_learn_solves():
    """One component of its SparsePCA is the same problem: alpha is the penalty times sqrt(n - 1)."""
    decomposition = pytest.importorskip("sklearn.decomposition")
    X = spiked(60, 18, 6)
    penalty = 2.5
    fit = sp.spca(X, 1, method="rsvd-l1", penalty=penalty)
    alpha = penalty * np.sqrt(len(X) - 1)
    oracle = decomposition.SparsePCA(1, alpha=alpha, tol=1e-12, max_iter=5000, random_state=0).fit(X)
    w = oracle.components_[0] / np.linalg.norm(oracle.components_[0])
    w *= np.sign(w[np.argmax(np.abs(w))])
    np.testing.assert_allclose(fit.loadings["PC1"], w, atol=1e-5)


def test_rsvd_residual_deflation_uses_the_shrunken_length():
    """The second component is the first one of X - u w'."""
    X = spiked(60, 15, 7)
    X -= X.mean(axis=0)
    fit = sp.spca(X, 2, method="rsvd-l1", penalty=1.0)
    v = fit.loadings["PC1"].to_numpy()
    u = X @ v / np.linalg.norm(X @ v)
    w = soft_at(X.T @ u, 1.0 * np.sqrt(59))
    np.testing.assert_allclose(w / np.linalg.norm(w), v, atol=1e-6)
    # X - u w' is no longer centred about anything but zero, so its products are given as a covariance.
    Y = (X - np.outer(u, w)) / np.sqrt(59)
    second = sp.spca_cov(Y.T @ Y, 1, method="rsvd-l1", penalty=1.0).loadings["PC1"]
    np.testing.assert_allclose(fit.loadings["PC2"].to_numpy(), second.to_numpy(), atol=1e-6)


# --- pmd ------------------------------------------------------------------------------------------


@pytest.mark.parametrize("t", [1.0, 1.3, 2.0, 2.4])
def test_pmd_bound_is_active_and_the_fit_maximal(t):
    """No feasible point near the solution has a larger variance."""
    S = np.cov(spiked(40, 15, 8)[:, :9].T)
    fit = sp.spca_cov(S, 1, method="pmd", t=t)
    v = fit.loadings["PC1"].to_numpy()
    assert np.abs(v).sum() == pytest.approx(t, abs=1e-6)
    rng = np.random.default_rng(0)
    for _ in range(300):
        w = v + 0.05 * rng.standard_normal(9) * (rng.random(9) < 0.5)
        w /= np.linalg.norm(w)
        if np.abs(w).sum() <= t:
            assert w @ S @ w <= v @ S @ v + 1e-8


def test_pmd_orth_gives_uncorrelated_scores_from_common_data():
    X = spiked(60, 20, 9)
    fit = sp.spca(X, 3, method="pmd", t=2.0, orth=True)
    plain = sp.spca(X, 3, method="pmd", t=2.0)
    same = sp.spca(X, 3, method="pmd", t=2.0, deflation="schur")
    np.testing.assert_array_equal(fit.loadings, same.loadings)
    assert not np.allclose(fit.loadings, plain.loadings)
    # u_k = (I - U U') X v_k: what each score adds is what the decomposition of the paper calls d_k u_k
    np.testing.assert_allclose(plain.loadings["PC1"], fit.loadings["PC1"])
    with pytest.raises(OptionError, match="orth=True"):
        sp.spca(X, 3, method="pmd", t=2.0, orth=True, deflation="hotelling")


def test_pmd_by_cardinality_reports_the_bound():
    X = spiked(60, 25, 4)
    fit = sp.spca(X, 2, 6, method="pmd")
    assert fit.details["by t"].all()
    again = sp.spca(X, 2, method="pmd", t=list(fit.details["t"]))
    np.testing.assert_allclose(again.loadings, fit.loadings, atol=1e-8)
    with pytest.raises(OptionError, match="t="):
        sp.spca(X, 2, method="pmd", t=5.1)


# --- gpower ---------------------------------------------------------------------------------------


@pytest.mark.parametrize("method", GPOWER)
def test_gpower_reaches_the_maximum_over_a_circle(method):
    """Rows that span a plane: x is an angle, and the criterion can be looked up everywhere."""
    rng = np.random.default_rng(10)
    A = np.diag([3.0, 1.0]) @ rng.standard_normal((2, 12))
    longest = np.linalg.norm(A, axis=0).max()
    angle = np.linspace(0, np.pi, 20001)
    q = A.T @ np.vstack([np.cos(angle), np.sin(angle)])
    if method == "gpower-l1":
        penalty, value = 0.3, np.maximum(np.abs(q) - 0.3 * longest, 0) ** 2
    else:
        penalty, value = 0.1, np.maximum(q**2 - 0.1 * longest**2, 0)
    best = q[:, np.argmax(value.sum(axis=0))]
    level = longest * (penalty if method == "gpower-l1" else np.sqrt(penalty))
    fit = sp.spca_cov(A.T @ A, 1, method=method, penalty=penalty)
    np.testing.assert_array_equal(fit.loadings["PC1"].to_numpy() != 0, np.abs(best) > level)


def gpower_limit(S, shrink):
    """The support where the iteration ends that begins at the longest column, in plain NumPy."""
    v = np.eye(len(S))[:, np.argmax(np.diag(S))]
    for _ in range(20_000):
        new = shrink(S @ v / np.sqrt(v @ S @ v))
        if not new.any():
            return np.zeros(len(S), dtype=bool)
        new /= np.linalg.norm(new)
        if np.abs(new - v).max() < 1e-9:
            break
        v = new
    return new != 0


def few_rows(seed: int) -> np.ndarray:
    """A covariance matrix on which the two ways to a cardinality end at different supports."""
    rng = np.random.default_rng(seed)
    return np.cov(rng.standard_normal((12, 8)) @ rng.standard_normal((8, 8)), rowvar=False)


@pytest.mark.parametrize(("seed", "card"), [(0, 4), (17, 4), (55, 3)])
def test_gpower_l1_takes_the_support_of_the_smallest_penalty_with_the_cardinality(seed, card):
    """Looked up on a grid of penalties, as shares of the longest column."""
    S = few_rows(seed)
    longest = np.sqrt(np.diag(S).max())
    for penalty in np.linspace(0, 1, 1001)[:-1]:
        support = gpower_limit(S, lambda q, level=penalty * longest: soft_at(q, level))
        if support.sum() == card:
            break
    fit = sp.spca_cov(S, 1, card, method="gpower-l1")
    np.testing.assert_array_equal(fit.loadings["PC1"].to_numpy() != 0, support)
    assert fit.details["penalty"].iloc[0] == pytest.approx(penalty, abs=1e-3)  # the step of the grid


@pytest.mark.parametrize(("seed", "card"), [(8, 4), (10, 3), (11, 3), (14, 4), (29, 4)])
def test_gpower_l0_ends_where_thresholds_at_the_cardinality_lead(seed, card):
    """A step to the `card` largest values solves the constrained problem; penalties lead elsewhere."""
    S = few_rows(seed)

    def largest(q):
        return np.where(np.abs(q) >= np.sort(np.abs(q))[-card], q, 0.0)

    fit = sp.spca_cov(S, 1, card, method="gpower-l0")
    np.testing.assert_array_equal(fit.loadings["PC1"].to_numpy() != 0, gpower_limit(S, largest))


@pytest.mark.parametrize("method", GPOWER)
def test_gpower_loadings_are_the_leading_eigenvector_of_their_support(pitprops, method):
    fit = sp.spca_cov(pitprops, 1, 6, method=method)
    v = fit.loadings["PC1"]
    support = v.index[v != 0]
    block = pitprops.loc[support, support].to_numpy()
    assert v[support] @ block @ v[support] == pytest.approx(np.linalg.eigvalsh(block)[-1], rel=1e-12)


# --- empca ----------------------------------------------------------------------------------------


def test_nonnegative_em_against_all_supports():
    """The best nonnegative component of 4 of 8 variables, by enumeration."""
    rng = np.random.default_rng(11)
    X = rng.standard_normal((40, 8))
    X[:, :4] += 2 * rng.standard_normal((40, 1))
    X[:, 4:] -= rng.standard_normal((40, 1))
    S = np.cov(X.T)
    best = 0.0
    for size in range(1, 5):
        for J in itertools.combinations(range(8), size):
            value, vector = np.linalg.eigh(S[np.ix_(J, J)])
            top = vector[:, -1] * np.sign(vector[0, -1])
            if (top >= 0).all():
                best = max(best, value[-1])
    v = sp.spca_cov(S, 1, 4, method="empca", nonneg=True).loadings["PC1"].to_numpy()
    assert (v >= 0).all()
    assert v @ S @ v == pytest.approx(best, rel=1e-8)


def test_renormalising_raises_the_variance(pitprops):
    with_it, without = (
        sp.spca_cov(pitprops, 1, 6, method="empca", renormalise=choice) for choice in (True, False)
    )
    assert list(with_it.loadings.index[with_it.loadings["PC1"] != 0]) == list(
        without.loadings.index[without.loadings["PC1"] != 0]
    )
    assert with_it.variance["score variance"].iloc[0] >= without.variance["score variance"].iloc[0] - 1e-12


# --- The block versions of the generalised power method -------------------------------------------

METHODS = ("gpower-l0-block", "gpower-l1-block")

# Zhao et al. (2015), Table 3, at totals of 26, 18 and 15: PEV in %.
BLOCKS_PRINTED = {"gpower-l0-block": (82.16, 74.10, 78.44), "gpower-l1-block": (82.46, 77.81, 78.94)}
BLOCKS_PATTERNS = ([8, 5, 6, 2, 3, 2], [7, 4, 4, 1, 1, 1], [7, 2, 3, 1, 1, 1])


@pytest.fixture(scope="module")
def rows() -> np.ndarray:
    rng = np.random.default_rng(0)
    X = rng.standard_normal((60, 20))
    X[:, :5] += 4 * rng.standard_normal((60, 1))
    X[:, 5:9] += 3 * rng.standard_normal((60, 1))
    return X


@pytest.mark.sweep
@pytest.mark.parametrize("method", METHODS)
@pytest.mark.parametrize("pattern", range(3))
def test_pitprops_is_at_least_as_published(pitprops, method, pattern):
    """Print is surpassed: its totals are shared out better from PCA's start than from random ones."""
    total = sum(BLOCKS_PATTERNS[pattern])
    fit = sp.spca_cov(pitprops, 6, total=total, method=method)
    assert fit.card.sum() == total
    assert fit.details["total hit"].all()
    assert 100 * fit.measure("pev") >= BLOCKS_PRINTED[method][pattern]


@pytest.mark.parametrize("method", METHODS)
def test_refusals(pitprops, method):
    with pytest.raises(OptionError, match=r"leaves no nonzero loading in component .*give 0\.\d+ or less"):
        sp.spca_cov(pitprops, 3, method=method, penalty=0.99)
    with pytest.raises(CardinalityError, match=r"total=2 .* from 3 to 39"):
        sp.spca_cov(pitprops, 3, method=method, total=2)
    with pytest.raises(OptionError, match="mu has 2 values"):
        sp.spca_cov(pitprops, 3, 4, method=method, mu=[1, 2])


@pytest.mark.parametrize("method", METHODS)
def test_the_reported_penalty_gives_the_same_fit_of_blocks(rows, method):
    fit = sp.spca(rows, 2, total=9, method=method)
    assert fit.details["by penalty"].all()
    again = sp.spca(rows, 2, method=method, penalty=list(fit.details["penalty"]), order="given")
    np.testing.assert_allclose(again.loadings, fit.loadings, atol=1e-12)


def test_of_several_starts_the_best_is_kept():
    R = sp.datasets.load_pitprops()
    how = {"method": "gpower-l0-block", "order": "given"}  # the objective belongs to this order
    one, many = (sp.spca_cov(R, 4, [6, 3, 3, 2], n_init=n, **how) for n in (1, 8))
    # PCA's loadings are the first of the eight starts, and here not the best of them.
    assert many.objective_value > one.objective_value * 1.005
    assert many.measure("adjusted") == pytest.approx(many.objective_value / many.total_variance)


@pytest.mark.parametrize("norm", ["l0", "l1"])
def test_a_component_that_the_data_have_nothing_for_ends_the_run(norm):
    # The second start lies where there is no variance: its products are zero at once, and so they stay.
    op, starts = Gram(np.diag([4.0, 3.0, 0.0, 0.0])), np.eye(4)[[0, 2]][None]
    found = GPowerBlock(norm=norm, card=(2, 2)).solve(op, 2, starts, np.random.default_rng(0))
    assert found.status == "converged"
    np.testing.assert_array_equal(found.V, np.eye(4)[:, :2] * [1, 0])
    assert found.n_iter == (1 if norm == "l0" else 2)  # "l1" has an iteration on the supports after it


@pytest.mark.parametrize("norm", ["l0", "l1"])
def test_the_penalty_of_a_cardinality_is_the_next_value_of_its_component(norm):
    S = np.cov((np.random.default_rng(1).standard_normal((40, 9)) * np.linspace(3, 1, 9)).T)
    op, card = Gram(S), (4, 4)
    start = op.leading(2)[1].T[None]
    solver = GPowerBlock(norm=norm, card=card)
    found = solver.solve(op, 2, start, np.random.default_rng(0))
    assert found.details["by penalty"] == [norm == "l1"] * 2
    W = start[0].T
    for _ in range(5000):
        Q = polar_products(op, W)
        levels = np.array([np.sort(np.abs(q))[-c - 1] for q, c in zip(Q.T, card, strict=True)])
        shrunk = np.sign(Q) * np.maximum(np.abs(Q) - levels, 0.0)
        Z = np.where(np.abs(Q) > levels, Q, 0.0) if norm == "l0" else shrunk
        last, W = W, Z / np.linalg.norm(Z)
        if np.abs(W - last).max() <= 1e-8:
            break
    longest = np.sqrt(np.diag(S).max())
    relative = (levels / longest) ** (2 if norm == "l0" else 1)
    np.testing.assert_allclose(found.details["penalty"], relative, rtol=1e-7)
    np.testing.assert_array_equal(found.V != 0, Z != 0)
