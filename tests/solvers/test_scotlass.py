"""SCoTLASS: the bound, orthogonality, and the exact step."""

from __future__ import annotations

import numpy as np
import pytest
import scipy.optimize
import scipy.sparse

import spcastat as sp
from spcastat.errors import OptionError
from spcastat.linalg.operators import Gram
from spcastat.linalg.thresholds import OrthogonalSoft
from spcastat.solvers.dspca import ScotLASS
from spcastat.solvers.solver import Earlier

R = sp.datasets.load_pitprops()


def test_bound_active_and_loadings_orthogonal() -> None:
    fit = sp.spca_cov(R, 4, method="scotlass", t=2.0)
    np.testing.assert_allclose(fit.loadings.abs().sum(), 2.0, atol=1e-8)
    np.testing.assert_allclose(fit.loadings.T @ fit.loadings, np.eye(4), atol=1e-8)
    assert fit.converged


def test_a_wide_bound_is_pca() -> None:
    fit = sp.spca_cov(R, 4, method="scotlass", t=np.sqrt(13))
    np.testing.assert_allclose(fit.loadings, sp.spca_cov(R, 4, method="pca").loadings, atol=1e-6)


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


def test_the_variance_does_not_fall() -> None:
    values = []
    for steps in (1, 2, 4, 8, 16):
        with pytest.warns(UserWarning, match="max_iter"):
            fit = sp.spca_cov(R, 1, method="scotlass", t=1.8, max_iter=steps, tol=1e-15)
        values.append(fit.objective_value)
    assert (np.diff(values) >= -1e-12).all()


def test_a_local_maximum_among_all_feasible_vectors() -> None:
    fit = sp.spca_cov(R, 2, method="scotlass", t=1.7)
    S, v = R.to_numpy(), fit.loadings.to_numpy()
    rng = np.random.default_rng(0)
    value = v[:, 1] @ S @ v[:, 1]
    soft = OrthogonalSoft(v[:, :1])
    for _ in range(200):
        near = soft.bounded(v[:, 1] + 0.05 * rng.standard_normal(13), 1.7)
        assert near @ S @ near <= value * (1 + 1e-3) or np.abs(near - v[:, 1]).max() > 0.2


@pytest.mark.parametrize("seed", range(3))
def test_the_step_against_a_general_solver(seed: int) -> None:
    rng = np.random.default_rng(seed)
    g, Q = rng.standard_normal(8), np.linalg.qr(rng.standard_normal((8, 2)))[0]
    x = OrthogonalSoft(Q).bounded(g, 1.8)
    assert np.abs(x).sum() == pytest.approx(1.8, abs=1e-9)
    assert np.abs(Q.T @ x).max() < 1e-10
    constraints = [
        {"type": "ineq", "fun": lambda z: 1.0 - ((z[:8] - z[8:]) ** 2).sum()},
        {"type": "ineq", "fun": lambda z: 1.8 - z.sum()},
        {"type": "eq", "fun": lambda z: Q.T @ (z[:8] - z[8:])},
    ]
    start = np.concatenate([np.maximum(x, 0), np.maximum(-x, 0)]) * 0.5
    best = scipy.optimize.minimize(
        lambda z: -g @ (z[:8] - z[8:]),
        start,
        bounds=[(0, None)] * 16,
        constraints=constraints,
        method="SLSQP",
    )
    assert g @ x == pytest.approx(-best.fun, rel=1e-5)


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
