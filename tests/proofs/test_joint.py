"""Proofs for whole fits: against fits that exhaustive supports give, published figures, and when stopped."""

from __future__ import annotations

from itertools import combinations

import numpy as np
import pytest

import spcastat as sp
from benchmarks import proofs
from spcastat.linalg.operators import Gram
from spcastat.proofs.first_supports import ScoreMultiplier, Supports, sparse_eigenvalue
from spcastat.proofs.jointly import certify_joint, verdict

#: Largest measures of two components on pitprops, in percent, from exhaustive pairs of supports.
OPTIMA = {("pev", 3): 35.9911, ("least_squares", 3): 48.7003}


@pytest.fixture
def R():
    return sp.datasets.load_pitprops()


def test_no_bound_is_below_the_best_fit_of_all_supports():
    """A sample; `python -m benchmarks.proofs` goes through 2000 problems."""
    for number, case in enumerate(proofs.cases(2, seed=1)):
        assert [w for m in proofs.MEASURES for w in proofs.violations(case, m, number)] == []


@pytest.mark.slow
def test_no_bound_is_below_the_best_fit_of_all_supports_in_more_problems():
    for number, case in enumerate(proofs.cases(15, seed=6)):
        assert [w for m in proofs.MEASURES for w in proofs.violations(case, m, number)] == []


@pytest.mark.parametrize(("measure", "card"), OPTIMA)
def test_two_components_of_pitprops_are_proven(R, measure, card):
    fit = sp.spca_cov(R, 2, card=card, method="joint", objective=measure)
    proof = fit.certify(joint=True, objective=measure).table.iloc[0]
    assert proof["optimal"]
    # printed with four decimals
    assert 100 * proof["value"] == pytest.approx(OPTIMA[measure, card], abs=6e-5)
    assert proof["value"] <= proof["upper_bound"] <= proof["value"] * (1 + 1e-4)
    assert proof["upper_bound"] < proof["pca_bound"]


def test_two_components_are_proven_where_one_factor_dominates():
    """Ratings of judges: eigenvalues 10.1 and 1.1 of 12, so that first components are nearly alike."""
    fit = sp.spca(sp.datasets.load_judges(), 2, 4, scale=True)
    proof = fit.certify(joint=True).table.iloc[0]
    assert proof["optimal"]
    assert proof["proof"] == "multipliers for the first component"
    assert proof["value"] <= proof["upper_bound"] <= proof["value"] * (1 + 1e-4)


def fits_of_two_variables(S):
    """Yield pairs of variables of the first component, its variances, and those of both with the best second.

    The loadings of the first are on a grid of angles, a three thousandth of the half circle apart, so that
    the largest value is right to about 1e-6. A second component of two variables adds the largest eigenvalue
    of what the first leaves on them, the root of a quadratic equation.
    """
    angles = np.linspace(0.0, np.pi, 3000, endpoint=False)
    pairs = list(combinations(range(len(S)), 2))
    for first in pairs:
        U = np.zeros((len(angles), len(S)))
        U[:, first] = np.column_stack([np.cos(angles), np.sin(angles)])
        variance = np.einsum("ai,ij,aj->a", U, S, U)
        A = U @ S / np.sqrt(variance)[:, None]
        added = np.zeros(len(angles))
        for i, j in pairs:
            a, b, c = S[i, i] - A[:, i] ** 2, S[i, j] - A[:, i] * A[:, j], S[j, j] - A[:, j] ** 2
            added = np.maximum(added, 0.5 * (a + c) + np.sqrt(0.25 * (a - c) ** 2 + b**2))
        yield first, variance, variance + added


def one_factor(seed):
    """Return the covariance matrix, with trace one, of seven variables of one factor in 20 rows."""
    rng = np.random.default_rng(seed)
    return np.corrcoef((rng.standard_normal((20, 1)) + 0.2 * rng.standard_normal((20, 7))).T) / 7


@pytest.mark.parametrize("seed", range(6))
def test_the_bound_beside_one_factor_is_the_best_fit_of_all_supports(seed):
    S = one_factor(seed)
    best = max(float(total.max()) for _, _, total in fits_of_two_variables(S))
    for start in range(2):  # fits at random, from which a better one has to be found
        V = proofs.poor_fit(proofs.Case(S, (2, 2), "one factor"), start)
        found = certify_joint(Gram(S), V, "adjusted")
        assert found.upper_bound >= best - 1e-12
        assert found.best_known == pytest.approx(best, abs=1e-6)
        assert found.upper_bound <= found.best_known * 1.001  # most are closed to 1e-4, one to 1.5e-4


@pytest.mark.parametrize("seed", range(3))
def test_a_multiplier_closes_no_support_that_has_a_better_fit(seed):
    """Bounds below and above the best fit of each support of the first component, on two intervals."""
    S, p, closed = one_factor(seed), 7, 0
    every = Supports.of(S, np.array(list(combinations(range(p), 2))))
    fits = list(fits_of_two_variables(S))
    for row, (first, variance, total) in enumerate(fits):
        assert tuple(every.places[row]) == first
        x = every.leading(np.array([row]), p)[0]
        a = S @ x / np.sqrt(x @ S @ x)
        for share in (0.5, 0.9, 0.985):
            theta = sparse_eigenvalue(S - share * np.outer(a, a), every.places)
            for low, high in ((0.5 * total.max(), 1.0), (0.99 * variance.max(), 0.995 * variance.max())):
                best = float(total[(variance >= low) & (variance <= high)].max())
                one = ScoreMultiplier(low, high, x, a, theta * share / (1.0 - share), theta)
                for bound in best * np.array([0.9, 0.99, 0.999, 0.9999]):
                    assert not one.closes(every, np.array([row]), bound)[0]
                closed += bool(one.closes(every, np.array([row]), best * 1.1)[0])
    assert closed > 20


def test_components_of_one_variable_are_enough_for_a_bound(R):
    """7-2-3-1-1-1: with the others dense PEV is at most 83.296 % and least squares 85.874 %, as rounded."""
    V = sp.spca_cov(R, 6, card=[7, 2, 3, 1, 1, 1]).loadings.to_numpy()
    for measure, bound in (("pev", 83.296), ("least_squares", 85.874)):
        found = certify_joint(Gram(R.to_numpy()), V, measure, max_nodes=1)
        assert 100 * found.upper_bound == pytest.approx(bound, abs=6e-4)


def test_a_poor_fit_is_told_of_a_better_one(R):
    fit = sp.spca_cov(R, 2, card=3, method="greedy")
    found = certify_joint(Gram(R.to_numpy()), fit.loadings.to_numpy(), "pev")
    assert not found.optimal
    assert 100 * found.best_known == pytest.approx(35.9911, abs=6e-5)
    assert np.count_nonzero(found.V, axis=0).tolist() == [3, 3]


@pytest.mark.parametrize(
    "measure", ["pev", "adjusted", pytest.param("least_squares", marks=pytest.mark.slow)]
)
def test_stopped_by_time_or_by_the_user_the_bound_is_what_was_proven(R, measure):
    S = Gram(R.to_numpy())
    V = sp.spca_cov(R, 3, card=[4, 3, 1]).loadings.to_numpy()

    def interrupt(nodes: int) -> None:
        if nodes > 20:
            raise KeyboardInterrupt

    stopped = certify_joint(S, V, measure, callback=interrupt)
    assert stopped.proof.endswith("(interrupted)")
    at_once = certify_joint(S, V, measure, time_limit=1e-9)
    assert at_once.proof.endswith("(time limit)")
    for found in (stopped, at_once):
        assert found.value <= found.upper_bound <= found.pca_bound
        assert not found.optimal


def test_many_variables_have_the_bound_of_pca():
    """Nothing is searched with 20,000 supports and more a component, and the sentence says so."""
    rng = np.random.default_rng(0)
    X = rng.standard_normal((60, 100)) + rng.standard_normal((60, 1))
    fit = sp.spca(X, 3, card=20, method="greedy")
    proof = fit.certify(joint=True, objective="pev")
    row = proof.table.iloc[0]
    pca = fit.variance["cumulative PCA"].iloc[-1]
    assert row["proof"] == "dense PCA (too many supports)"
    assert row["upper_bound"] == row["pca_bound"] == pytest.approx(pca, rel=1e-8)
    assert "that of dense PCA, so nothing was gained over it" in proof.sentence


def test_two_variables_of_one_component_each_are_proven():
    """Adjusted variance is all of the first variable and what that leaves of the second."""
    rng = np.random.default_rng(0)
    x = rng.standard_normal(50)
    S = np.cov(x, 2.0 * x + rng.standard_normal(50))
    found = certify_joint(Gram(S), np.eye(2), "adjusted")
    r = S[0, 1] ** 2 / (S[0, 0] * S[1, 1])
    best = (S[1, 1] + S[0, 0] * (1.0 - r)) / np.trace(S)
    assert found.best_known == pytest.approx(best, rel=1e-12)
    assert found.upper_bound == pytest.approx(best, rel=1e-9)
    assert found.proof == "all choices of single variables"
    assert certify_joint(Gram(S), np.eye(2)[:, ::-1], "adjusted").optimal


def test_the_proof_says_why_nothing_was_searched(R):
    """Components of p - k + 1 = 12 of 13 variables are free: dense PCA is attained."""
    V = np.eye(13)[:, :2] + np.eye(13)[:, [11, 12]] + 0.1
    V[[12, 0], [0, 1]] = 0.0
    found = certify_joint(Gram(R.to_numpy()), V / np.linalg.norm(V, axis=0), "pev")
    assert found.proof == "dense PCA (free components)"
    assert found.upper_bound == found.pca_bound
    wide = np.diag([1.0, 1.0, *np.full(1999, 2.0)]) + 1.0
    found = certify_joint(Gram(wide), np.eye(2001)[:, :2], "pev", pca=np.array([2003.0, 2.0]))
    assert found.proof == "sum of the largest variances (too many variables for a search)"


def test_a_joint_proof_is_one_to_a_ten_thousandth():
    """The relative tolerance that `certify` is documented with."""
    assert verdict(1.0, 1.0 + 0.9e-4)[1]
    assert not verdict(1.0, 1.0 + 1.1e-4)[1]
    assert verdict(2.0, 2.1)[0] == pytest.approx(5.0)
