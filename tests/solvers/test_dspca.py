"""DSPCA: the relaxation, its dual bound, and what is extracted."""

from __future__ import annotations

from itertools import combinations

import numpy as np
import pytest
import scipy.sparse

import spcastat as sp
from spcastat.errors import OptionError
from spcastat.solvers.dspca import DSPCA, leading

R = sp.datasets.load_pitprops()


@pytest.mark.parametrize(
    ("card", "printed"),
    [([8, 5, 6, 2, 3, 2], 81.48), ([7, 4, 4, 1, 1, 1], 79.18), ([7, 2, 3, 1, 1, 1], 77.23)],
)
def test_pitprops_as_in_table_3(card: list[int], printed: float) -> None:
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


def test_no_penalty_is_pca() -> None:
    fit = sp.spca_cov(R, 3, method="dspca", penalty=0.0)
    np.testing.assert_allclose(fit.loadings, sp.spca_cov(R, 3, method="pca").loadings, atol=1e-8)
    full = sp.spca_cov(R, 2, 13, method="dspca")
    np.testing.assert_allclose(full.loadings, sp.spca_cov(R, 2, method="pca").loadings, atol=1e-8)


def test_variables_below_the_penalty_are_left_out() -> None:
    S = np.diag([4.0, 3.0, 0.5, 0.4])
    S[0, 1] = S[1, 0] = 2.0
    v = sp.spca_cov(S, 1, method="dspca", penalty=1.0).loadings.to_numpy()[:, 0]
    assert (v[2:] == 0).all()
    assert (v[:2] != 0).all()


def test_leading_drops_rounding() -> None:
    v = np.array([0.8, 0.6, 1e-5])
    assert np.count_nonzero(leading(np.outer(v, v))) == 2


def test_rows_sparse_rows_and_covariance_agree() -> None:
    """The relaxation is solved to `tol`, a share of the total variance: loadings differ by no more than that.

    The duality gap at which it stops bounds the values that two runs reach; rounding decides where within.
    """
    X = sp.datasets.pitprops_sample(n=60) * np.linspace(1, 2, 13)
    tol = 1e-4
    fits = [
        sp.spca(X, 2, [5, 3], method="dspca", tol=tol),
        sp.spca(scipy.sparse.csr_array(X.to_numpy()), 2, [5, 3], method="dspca", tol=tol),
        sp.spca_cov(X.cov(), 2, [5, 3], method="dspca", tol=tol),
    ]
    for fit in fits[1:]:
        assert fit.loadings.ne(0).to_numpy().tolist() == fits[0].loadings.ne(0).to_numpy().tolist()
        np.testing.assert_allclose(fit.loadings.to_numpy(), fits[0].loadings.to_numpy(), atol=tol)


def test_refusals() -> None:
    with pytest.raises(OptionError, match=r"penalty=2 leaves no loading in component 1; .* \[0, 1\]"):
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


def test_every_step_counts_and_no_more_than_allowed_are_taken() -> None:
    S = R.to_numpy()
    for most in (1, 5, 13):
        found = DSPCA(penalty=(0.3,), tol=0.0, max_iter=most).relaxed(S, 0.3, None)
        assert (found.n_iter, found.converged) == (most, False)
        assert found.value <= found.bound
    with pytest.warns(UserWarning, match="max_iter"):
        assert sp.spca_cov(R, 1, method="dspca", penalty=0.3, max_iter=7).glance()["n_iter"].item() == 7


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
