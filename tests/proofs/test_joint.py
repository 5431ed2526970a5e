"""Proofs for whole fits: against fits that exhaustive supports give, published figures, and when stopped."""

from __future__ import annotations

import numpy as np
import pytest

import spcastat as sp
from benchmarks import proofs
from spcastat.linalg.operators import Gram
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
