"""ALSPCA, DSPCA, SCoTLASS and nonnegative sparse PCA."""

from __future__ import annotations

from itertools import combinations

import numpy as np
import pytest
import scipy.optimize
import scipy.sparse
from hypothesis import given
from hypothesis import strategies as st

import spcastat as sp
from spcastat.errors import OptionError
from spcastat.linalg.operators import Gram
from spcastat.linalg.thresholds import OrthogonalSoft
from spcastat.solvers.dspca import DSPCA, ScotLASS, leading
from spcastat.solvers.nspca import best_root
from spcastat.solvers.solver import Earlier

# --- ALSPCA: both bounds, the total cardinality, the published figures ----------------------------

R = sp.datasets.load_pitprops()


@pytest.mark.parametrize(
    ("total", "printed"), [pytest.param(26, 82.63, marks=pytest.mark.slow), (18, 80.67), (15, 79.42)]
)
def test_pitprops_as_in_table_3(total: int, printed: float) -> None:
    # Zhao et al. (2015), Table 3, row ALSPCA, where only the totals are matched; its tolerances are not
    # printed, hence 0.8.
    fit = sp.spca_cov(R, 6, total=total, method="alspca")
    assert fit.converged
    assert fit.card.sum() == total
    assert fit.details["total hit"].all()
    assert 100 * fit.measure("pev") > printed - 0.8


@pytest.mark.parametrize(("orthogonal", "uncorrelated"), [(0.0, np.inf), (0.1, 0.3), (0.3, 0.0)])
def test_both_bounds_hold(orthogonal: float, uncorrelated: float) -> None:
    fit = sp.spca_cov(R, 4, method="alspca", penalty=0.3, orthogonal=orthogonal, uncorrelated=uncorrelated)
    assert fit.converged
    off = ~np.eye(4, dtype=bool)
    V = fit.loadings.to_numpy()
    assert np.abs(V.T @ V)[off].max() <= orthogonal + 1e-4
    # the tolerance counts in shares of the largest variance of a component
    assert np.abs(V.T @ R.to_numpy() @ V)[off].max() <= uncorrelated + 1e-4


def test_no_penalty_is_pca() -> None:
    fit = sp.spca_cov(R, 3, method="alspca", penalty=0.0, orthogonal=0.0, uncorrelated=0.0)
    np.testing.assert_allclose(fit.loadings, sp.spca_cov(R, 3, method="pca").loadings, atol=1e-3)


@pytest.mark.parametrize(("k", "card"), [(2, 5), (2, 3), (1, 4)])
def test_cardinalities_are_met_by_penalties_as_nearly_as_they_can(k: int, card: int) -> None:
    fit = sp.spca_cov(R, k, card=card, method="alspca")
    penalty = fit.details["penalty"].to_numpy()
    assert penalty.any()  # else it would be PCA, cut to the cardinalities, which is another method
    V = sp.spca_cov(R, k, penalty=penalty, method="alspca").loadings.to_numpy()
    assert (np.count_nonzero(V, axis=0) >= card).all()
    assert np.count_nonzero(V) < 13 * k
    largest = np.argsort(-np.abs(V), axis=0)[:card]
    cut = np.zeros_like(V)
    np.put_along_axis(cut, largest, np.take_along_axis(V, largest, axis=0), axis=0)
    # the tolerance of both fits is 1e-5
    np.testing.assert_allclose(fit.loadings, cut / np.linalg.norm(cut, axis=0), atol=1e-4)


def test_a_penalty_for_each_component() -> None:
    fit = sp.spca_cov(R, 2, method="alspca", penalty=[0.0, 1.0])
    assert fit.card.iloc[0] == 13
    assert fit.card.iloc[1] < 8
    everything = sp.spca_cov(R, 2, method="alspca", penalty=50.0)
    assert everything.card.tolist() == [1, 1]  # unit length is kept: no penalty is too large


def test_one_component_is_where_the_soft_threshold_leaves_it() -> None:
    # The gradient of v'Sv - penalty |v|_1 on the sphere vanishes.
    S = R.to_numpy()
    for penalty in (0.2, 1.0):
        v = sp.spca_cov(R, 1, method="alspca", penalty=penalty).loadings.to_numpy()[:, 0]
        w = np.sign(S @ v) * np.maximum(np.abs(S @ v) - penalty / 2, 0.0)
        np.testing.assert_allclose(v, w / np.linalg.norm(w), atol=1e-4)


def test_a_total_has_the_smallest_penalty_but_for_one_percent() -> None:
    fit = sp.spca_cov(R.iloc[:8, :8], 2, total=7, method="alspca")
    assert fit.details["by penalty"].all()
    penalty = float(fit.details["penalty"].iloc[0])
    for less, more in ((penalty, 0), (0.985 * penalty, 1)):  # below the bracket that was left
        found = sp.spca_cov(R.iloc[:8, :8], 2, penalty=less, method="alspca")
        assert found.card.sum() >= 7 + more


# --- DSPCA: the relaxation, its dual bound, and what is extracted ---------------------------------


@pytest.mark.parametrize(
    ("card", "printed"),
    [([8, 5, 6, 2, 3, 2], 81.48), ([7, 4, 4, 1, 1, 1], 79.18), ([7, 2, 3, 1, 1, 1], 77.23)],
)
def test_pitprops_as_in_table_3_of_dspca(card: list[int], printed: float) -> None:
    # Zhao et al. (2015), Table 3, row DSPCA: at or above print.
    fit = sp.spca_cov(R, 6, card, method="dspca")
    assert fit.converged
    assert fit.card.tolist() == card
    assert fit.details["card hit"].all()
    assert 100 * fit.measure("pev") > printed - 0.1


def test_the_dual_bound_holds_and_is_tight() -> None:
    S = R.to_numpy()
    solver = DSPCA(penalty=(0.3,), tol=1e-6, max_iter=20000)
    found = solver.relaxed(S, 0.3, None)
    assert found.converged
    assert 0 <= found.bound - found.value < 1e-4
    assert np.abs(found.U).max() <= 0.3
    assert found.bound == pytest.approx(np.linalg.eigvalsh(S + found.U)[-1], abs=1e-5)
    rng = np.random.default_rng(0)
    for _ in range(300):  # no unit vector exceeds it
        v = rng.standard_normal(13) * (rng.random(13) < 0.4)
        if v.any():
            v /= np.linalg.norm(v)
            assert v @ S @ v - 0.3 * np.abs(v).sum() ** 2 <= found.bound
    assert np.trace(found.Z) == pytest.approx(1.0, abs=1e-3)


def test_the_bound_for_a_cardinality() -> None:
    # v'Sv <= bound + penalty * card for every unit v with card nonzeros, as |v|_1^2 <= card.
    fit = sp.spca_cov(R, 1, 4, method="dspca")
    S = R.to_numpy()
    best = max(np.linalg.eigvalsh(S[np.ix_(J, J)])[-1] for J in combinations(range(13), 4))
    row = fit.details.loc["PC1"]
    assert best <= row["dual bound"] + 4 * row["penalty"] + 1e-9


def test_variables_below_the_penalty_are_left_out() -> None:
    S = np.diag([4.0, 3.0, 0.5, 0.4])
    S[0, 1] = S[1, 0] = 2.0
    v = sp.spca_cov(S, 1, method="dspca", penalty=1.0).loadings.to_numpy()[:, 0]
    assert (v[2:] == 0).all()
    assert (v[:2] != 0).all()


def test_refusals_of_dspca() -> None:
    with pytest.raises(OptionError, match=r"penalty=2 leaves no nonzero loading in component 1; .* \[0, 1\]"):
        sp.spca_cov(R, 1, method="dspca", penalty=2.0)
    X = scipy.sparse.random_array((20, 1500), density=0.1, rng=np.random.default_rng(0))
    with pytest.raises(OptionError, match="few hundred variables"):
        sp.spca(X, 1, 3, method="dspca")


def test_a_cardinality_that_no_penalty_gives_says_so() -> None:
    equal = np.full((4, 4), 0.5) + 0.5 * np.eye(4)  # all loadings go at the same penalty
    fit = sp.spca_cov(equal, 1, 2, method="dspca")
    assert fit.card.tolist() == [2]
    assert fit.details["by penalty"].tolist() == [False]
    equal[:2, 2:] = equal[2:, :2] = 0.0  # without a penalty two loadings are not zero
    details = sp.spca_cov(equal * np.outer([2, 2, 1, 1], [2, 2, 1, 1]), 1, 3, method="dspca").details
    assert details[["penalty", "by penalty"]].to_numpy().tolist() == [[0.0, False]]


def test_the_penalty_of_a_cardinality_is_the_smallest_but_for_one_percent() -> None:
    S = R.to_numpy()
    for card in (3, 5, 8):
        fit = sp.spca_cov(R, 1, card, method="dspca")
        assert fit.details["by penalty"].all()
        less = 0.985 * float(fit.details["penalty"].iloc[0])  # below the bracket that was left
        v = leading(DSPCA(penalty=(less,)).relaxed(S, less, None).Z)
        assert np.count_nonzero(v) > card


def test_where_one_variable_exceeds_the_penalty_it_is_the_solution_at_once() -> None:
    # max tr(SX) - penalty sum |X| over the spectahedron is S_jj - penalty at e_j e_j' where no other variance
    # is above the penalty.
    S = np.diag([1.0, 4.0, 2.0]) + 0.5 * (1.0 - np.eye(3))
    for penalty in (2.0, 3.5):
        found = DSPCA(penalty=(penalty,)).relaxed(S, penalty, None)
        np.testing.assert_array_equal(found.Z, np.diag([0.0, 1.0, 0.0]))
        assert (found.value, found.bound, found.n_iter) == (4.0 - penalty, 4.0 - penalty, 1)
        assert np.abs(found.U).max() <= penalty
        assert np.linalg.eigvalsh(S + found.U)[-1] == pytest.approx(4.0 - penalty, rel=1e-12)


# --- SCoTLASS: the bound, orthogonality, and the exact step ---------------------------------------


def test_bound_active_and_loadings_orthogonal() -> None:
    fit = sp.spca_cov(R, 4, method="scotlass", t=2.0)
    np.testing.assert_allclose(fit.loadings.abs().sum(), 2.0, atol=1e-8)
    np.testing.assert_allclose(fit.loadings.T @ fit.loadings, np.eye(4), atol=1e-8)
    assert fit.converged


@pytest.mark.parametrize("card", [[8, 5, 6], [7, 2, 3, 1, 1, 1]])
def test_cardinality_and_the_bound_it_implies(card: list[int]) -> None:
    # Not in Table 3 of Zhao et al.; orthogonality of sparse loadings costs variance, so 75 % is what is
    # asked of the six.
    fit = sp.spca_cov(R, len(card), card, method="scotlass")
    assert fit.card.tolist() == card
    assert fit.details["card hit"].all()
    np.testing.assert_allclose(fit.loadings.T @ fit.loadings, np.eye(len(card)), atol=1e-8)
    np.testing.assert_allclose(fit.loadings.abs().sum(), fit.details["t"], atol=1e-10)
    if len(card) == 6:
        assert fit.measure("pev") > 0.75


def test_a_local_maximum_among_all_feasible_vectors() -> None:
    fit = sp.spca_cov(R, 2, method="scotlass", t=1.7)
    S, v = R.to_numpy(), fit.loadings.to_numpy()
    rng = np.random.default_rng(0)
    value = v[:, 1] @ S @ v[:, 1]
    soft = OrthogonalSoft(v[:, :1])
    for _ in range(200):
        near = soft.bounded(v[:, 1] + 0.05 * rng.standard_normal(13), 1.7)
        assert near @ S @ near <= value * (1 + 1e-3) or np.abs(near - v[:, 1]).max() > 0.2


def test_an_infeasible_bound_is_refused_with_the_range() -> None:
    with pytest.raises(OptionError, match=r"t=1 is too small for component 2: .* t in \["):
        sp.spca_cov(np.array([[2.0, 1.9], [1.9, 2.0]]), 2, method="scotlass", t=[np.sqrt(2), 1.0])
    with pytest.raises(OptionError, match="t="):
        sp.spca_cov(R, 2, method="scotlass", t=0.5)


def second(seed: int) -> tuple[Gram, Earlier, np.ndarray]:
    """A matrix, its first component of three nonzeros, and where the second begins."""
    A = np.random.default_rng(seed).standard_normal((8, 6))
    op = Gram(A.T @ A / 8)
    vectors = np.linalg.eigh(A.T @ A)[1][:, ::-1]
    first = ScotLASS(card=(3,)).component(op, Earlier(0, 0.0, np.zeros(1)), vectors[:, 0]).v
    return op, Earlier(1, 0.0, np.zeros(2), V=first[:, None]), vectors[:, 1]


@pytest.mark.parametrize("seed", [97, *(pytest.param(seed, marks=pytest.mark.slow) for seed in (71, 261))])
def test_where_a_cardinality_leads_back_and_forth_the_bound_is_found_by_bisection(seed: int) -> None:
    op, earlier, start = second(seed)
    found = ScotLASS(card=(3, 3)).component(op, earlier, start)
    assert found.status == "converged"
    assert np.count_nonzero(found.v) == 3
    bound = found.details["t"]
    # The bound gives these loadings, and the bracket was left at a thousandth of it: more gives more of them.
    at = {share: ScotLASS(t=(3.0, bound * share)).component(op, earlier, start).v for share in (1.0, 1.0015)}
    np.testing.assert_allclose(at[1.0], found.v, atol=1e-6)
    assert np.count_nonzero(at[1.0015]) > 3
    with_none = ScotLASS(card=(3, 3), max_iter=2).component(op, earlier, start)
    assert with_none.status == "max_iter"


# --- Nonnegative sparse PCA: the quartic, the ascent, what alpha does -----------------------------


NUMBER = st.floats(-5.0, 5.0)


@pytest.mark.parametrize("seed", range(4))
def test_nonnegative_fits_do_not_depend_on_the_order_of_correlated_columns(seed: int) -> None:
    """All variances of a correlation matrix tie; its loadings do not."""
    rng = np.random.default_rng(seed)
    R = np.corrcoef((rng.standard_normal((60, 12)) @ (np.eye(12) + 0.5 * rng.standard_normal((12, 12)))).T)
    here = sp.spca_cov(R, 3, 4, method="nspca").loadings.to_numpy()
    order = rng.permutation(12)
    there = sp.spca_cov(R[np.ix_(order, order)], 3, 4, method="nspca").loadings.to_numpy()
    np.testing.assert_allclose(there, here[order], atol=1e-5)  # sweeps end at changes of 1e-7


@given(st.floats(0.1, 5.0), NUMBER, NUMBER)
def test_the_root_is_the_best_nonnegative_number(alpha: float, c2: float, c1: float) -> None:
    def quartic(x: np.ndarray | float) -> np.ndarray | float:
        return -0.25 * alpha * x**4 + 0.5 * c2 * x**2 + c1 * x

    best = best_root(alpha, c2, c1)
    assert best >= 0
    grid = quartic(np.linspace(0.0, 12.0, 4001))
    assert quartic(best) >= np.max(grid) - 1e-9 * (1.0 + abs(np.max(grid)))


def test_a_large_alpha_makes_components_disjoint() -> None:
    overlap = []
    for alpha in (0.1, 1.0, 10.0):
        V = sp.spca_cov(R, 4, method="nspca", penalty=0.0, orthonormality=alpha).loadings.to_numpy()
        overlap.append(np.abs(V.T @ V - np.eye(4)).max())
    assert overlap[0] > overlap[1] > overlap[2]
    assert overlap[2] < 0.05


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
