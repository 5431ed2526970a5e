"""ALSPCA: both bounds, the total cardinality, the published figures."""

from __future__ import annotations

import numpy as np
import pytest
import scipy.sparse

import spcastat as sp
from spcastat.errors import OptionError
from spcastat.operators import Gram
from spcastat.solvers.alspca import _clipped, _missed, _Problem, _step, _truncated

R = sp.datasets.load_pitprops()


@pytest.mark.parametrize(("total", "printed"), [(26, 82.63), (18, 80.67), (15, 79.42)])
def test_pitprops_as_in_table_3(total: int, printed: float) -> None:
    # Zhao et al. (2015), Table 3, row ALSPCA, where only the totals are matched; its tolerances are not
    # printed, hence 0.8.
    fit = sp.spca_cov(R, 6, total=total, method="alspca")
    assert fit.converged
    assert fit.card.sum() == total
    assert fit.details["total hit"].all()
    assert 100 * fit.measure("pev") > printed - 0.8


@pytest.mark.parametrize("card", [4, [7, 3]])
def test_a_cardinality_is_that_of_each_component(card: int | list[int]) -> None:
    fit = sp.spca_cov(R, 2, card, method="alspca", order="given")
    assert fit.card.tolist() == (card if isinstance(card, list) else [card] * 2)
    assert fit.details["card hit"].all()


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


def test_a_penalty_for_each_component() -> None:
    fit = sp.spca_cov(R, 2, method="alspca", penalty=[0.0, 1.0])
    assert fit.card.iloc[0] == 13
    assert fit.card.iloc[1] < 8
    everything = sp.spca_cov(R, 2, method="alspca", penalty=50.0)
    assert everything.card.tolist() == [1, 1]  # unit length is kept: no penalty is too large


def test_hastie() -> None:
    fit = sp.spca(sp.datasets.make_hastie(n=500), 2, 4, method="alspca")
    found = {tuple(fit.loadings.index[fit.loadings[name] != 0]) for name in fit.loadings}
    assert found == {("X1", "X2", "X3", "X4"), ("X5", "X6", "X7", "X8")}


def test_rows_sparse_rows_and_covariance_agree() -> None:
    X = sp.datasets.pitprops_sample(n=60) * np.linspace(1, 2, 13)
    fits = [
        sp.spca(X, 2, method="alspca", penalty=0.5),
        sp.spca(scipy.sparse.csr_array(X.to_numpy()), 2, method="alspca", penalty=0.5),
        sp.spca_cov(X.cov(), 2, method="alspca", penalty=0.5),
    ]
    for fit in fits[1:]:
        np.testing.assert_allclose(fit.loadings.to_numpy(), fits[0].loadings.to_numpy(), atol=1e-4)


def test_refusals() -> None:
    with pytest.raises(OptionError, match="orthogonal"):
        sp.spca_cov(R, 2, 4, method="alspca", orthogonal=1.5)
    with pytest.raises(OptionError, match="uncorrelated"):
        sp.spca_cov(R, 2, 4, method="alspca", uncorrelated=-1.0)


@pytest.mark.slow
def test_of_several_starts_the_one_of_largest_adjusted_variance_is_kept() -> None:
    one, many = (sp.spca_cov(R, 3, [6, 4, 2], method="alspca", n_init=n) for n in (1, 4))
    assert many.measure("adjusted") > one.measure("adjusted") + 0.01  # PCA's loadings are not the best start


# --- inside ----------------------------------------------------------------------------------------


def test_the_gradient_is_that_of_the_augmented_lagrangian() -> None:
    # -tr(V'SV) / scale + sum over both kinds of pairs of max(|m + w c| - w bound, 0)^2 / 4w, by differences.
    rng = np.random.default_rng(0)
    problem = _Problem(Gram(R.to_numpy()), 3, 0.05, 0.02, 1e-6)
    V, scale, weight = rng.standard_normal((13, 3)), 2.5, 1.7
    multipliers = rng.standard_normal((2, 3, 3)) * 0.1
    multipliers = (multipliers + multipliers.transpose(0, 2, 1)) * problem.off

    def value(W: np.ndarray) -> float:
        off = ~np.eye(3, dtype=bool)
        pairs = ((W.T @ W, 0.05), (W.T @ R.to_numpy() @ W / scale, 0.02 / scale))
        beyond = [
            np.maximum(np.abs(m + weight * c) - weight * bound, 0.0)[off]
            for m, (c, bound) in zip(multipliers, pairs, strict=True)
        ]
        squares = sum((one**2).sum() for one in beyond)
        return -np.trace(W.T @ R.to_numpy() @ W) / scale + squares / (4 * weight)

    found, gradient = problem._smooth(V, multipliers, weight, scale)
    assert found == pytest.approx(value(V), rel=1e-12)
    for i, j in ((0, 0), (5, 1), (12, 2), (7, 0)):
        step = np.zeros_like(V)
        step[i, j] = 1e-6
        slope = (value(V + step) - value(V - step)) / 2e-6
        assert gradient[i, j] == pytest.approx(slope, rel=1e-6, abs=1e-6)  # differences of numbers near ten


def test_a_step_is_the_best_unit_vector_for_a_price() -> None:
    W = np.array([[3.0, 0.5, -0.2], [-1.0, -0.9, 0.1], [0.5, 0.9, 0.2]])
    V = _step(W, np.array([0.7, 0.4, 5.0]))
    shrunk = np.array([2.3, -0.3, 0.0])
    np.testing.assert_allclose(V[:, 0], shrunk / np.linalg.norm(shrunk), rtol=1e-14)
    np.testing.assert_allclose(V[:, 1], np.array([0.1, -0.5, 0.5]) / np.sqrt(0.51), rtol=1e-12)
    np.testing.assert_array_equal(V[:, 2], [-1.0, 0.0, 0.0])  # the largest, and of equals the first


def test_totals_keep_the_largest_loadings_and_one_of_each_component() -> None:
    V = np.array([[0.9, 0.1], [0.4, 0.2], [-0.3, 0.0]])
    np.testing.assert_array_equal(_truncated(V, 5), V)
    np.testing.assert_array_equal(_truncated(V, 4) != 0, [[True, False], [True, True], [True, False]])
    two = _truncated(V, 2)
    np.testing.assert_array_equal(two, [[1.0, 0.0], [0.0, 1.0], [0.0, 0.0]])
    cards = ([3, 2], [2, 2], [1, 1], [4, 2], [3, 3])
    assert [_missed(V, np.array(one)) for one in cards] == [0, 1, 3, 6, 6]


def test_what_lies_beyond_a_bound() -> None:
    pull, bounds = np.array([3.0, -3.0, 0.5, -9.0]), np.array([1.0, 1.0, 1.0, np.inf])
    np.testing.assert_array_equal(_clipped(pull, bounds, 2.0), [1.0, -1.0, 0.0, 0.0])


def test_a_total_has_the_smallest_penalty_but_for_one_percent_and_no_nearer(monkeypatch) -> None:
    asked = []
    solve = _Problem.solve

    def counted(self, start, penalty, most):
        found = solve(self, start, penalty, most)
        asked.append((float(penalty[0]), int(np.count_nonzero(found[0]))))
        return found

    monkeypatch.setattr(_Problem, "solve", counted)
    fit = sp.spca_cov(R.iloc[:8, :8], 2, total=7, method="alspca")
    assert fit.details["by penalty"].all()
    penalty = float(fit.details["penalty"].iloc[0])
    assert asked[0][0] == 0.0
    assert (penalty, 7) in asked
    too_many = max(one for one, nonzeros in asked if nonzeros > 7)
    assert 0.002 * penalty < penalty - too_many <= 0.01 * penalty * (1 + 1e-9)
