"""Zou's SPCA and sparse PCA by optimal scoring, and the elastic net below them."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest
import scipy.sparse

import spcastat as sp
from spcastat.errors import OptionError
from spcastat.linalg.regression import Columns, elastic_net, path

R = sp.datasets.load_pitprops()
METHODS = ("zou", "spca-os")


def problem(seed: int) -> tuple[np.ndarray, np.ndarray]:
    rng = np.random.default_rng(seed)
    X = rng.standard_normal((30, 12)) @ rng.standard_normal((12, 12))
    S = X.T @ X / 30
    return S, S @ rng.standard_normal(12)


def miss(S: np.ndarray, b: np.ndarray, ridge: float, w: np.ndarray, penalty: float) -> float:
    """By how much the conditions of optimality are missed, relative to the largest of b."""
    c = b - S @ w - ridge * w
    at = np.abs(c[w != 0] - penalty * np.sign(w[w != 0])).max(initial=0.0)
    return max(float(np.abs(c).max()) - penalty, at) / float(np.abs(b).max())


@pytest.mark.parametrize("seed", range(6))
@pytest.mark.parametrize("ridge", [0.0, 0.5])
def test_the_path_is_optimal_at_any_penalty_and_cardinality(seed: int, ridge: float) -> None:
    S, b = problem(seed)
    columns = Columns(lambda J: S[:, J], 12)
    for share in (0.9, 0.3, 0.01, 0.0):
        penalty = share * float(np.abs(b).max())
        w, level = path(columns, b, ridge, penalty=penalty)
        assert level == pytest.approx(penalty, abs=1e-12 * np.abs(b).max())
        assert miss(S, b, ridge, w, penalty) < 1e-10
    for card in range(1, 13):
        w, level = path(columns, b, ridge, card=card)
        assert np.count_nonzero(w) == card
        assert miss(S, b, ridge, w, level) < 1e-10
        again, same = elastic_net(columns, b, ridge, w, card=card)  # the short cut from the last support
        assert same == pytest.approx(level, rel=1e-9, abs=1e-9)
        np.testing.assert_allclose(again, w, atol=1e-9 * np.abs(w).max())


def test_the_path_agrees_with_scikit_learn() -> None:
    linear = pytest.importorskip("sklearn.linear_model")
    rng = np.random.default_rng(3)
    X, n = rng.standard_normal((50, 8)), 50
    y = X @ rng.standard_normal(8)
    S, b = X.T @ X / n, X.T @ y / n
    w, _ = path(Columns(lambda J: S[:, J], 8), b, 0.2, penalty=0.3)
    other = linear.ElasticNet(alpha=0.5, l1_ratio=0.6, fit_intercept=False, tol=1e-14, max_iter=100000)
    np.testing.assert_allclose(w, other.fit(X, y).coef_, atol=1e-8)


def test_a_tie_at_the_border_of_the_cardinality_goes_to_the_lowest_index() -> None:
    S, b = np.eye(4), np.array([1.0, 3.0, 3.0, 0.5])
    w, penalty = path(Columns(lambda J: S[:, J], 4), b, 0.0, card=1)
    assert np.flatnonzero(w).tolist() == [1]
    assert penalty == pytest.approx(1.0)


@pytest.mark.parametrize(
    ("card", "printed"),
    [([8, 5, 6, 2, 3, 2], 82.68), ([7, 4, 4, 1, 1, 1], 80.22), ([7, 2, 3, 1, 1, 1], 80.11)],
)
def test_zou_reaches_table_3(card: list[int], printed: float) -> None:
    # Zhao et al. (2015), Table 3, row SPCA (80.22: the printed loadings); 0.05 for other stopping rules.
    fit = sp.spca_cov(R, 6, card, method="zou")
    assert fit.converged
    assert fit.card.tolist() == card
    assert 100 * fit.measure("pev") == pytest.approx(printed, abs=0.05)


def test_zou_gives_the_loadings_of_its_paper() -> None:
    # Zou, Hastie and Tibshirani (2006), Table 3: these penalties; theirs stops earlier, hence 0.005.
    fit = sp.spca_cov(R, 6, method="zou", penalty=[0.06, 0.16, 0.1, 0.5, 0.5, 0.5])
    assert fit.card.tolist() == [7, 4, 4, 1, 1, 1]
    printed = {"topdiam": 0.477, "length": 0.476, "ovensg": -0.177, "ringbut": 0.250, "bowmax": 0.344}
    printed |= {"bowdist": 0.416, "whorls": 0.400}
    compare(fit.loadings["PC1"], printed, 0.005)


def test_zou_gives_table_1_of_dou() -> None:
    # Dou, Dai, Xu and Zhang, Table 1, PC1: by cardinality, stopped earlier, hence 0.005; CPEV 75.76.
    fit = sp.spca_cov(R, 6, [7, 4, 4, 1, 1, 1], method="zou")
    printed = {"topdiam": 0.4796, "length": 0.4689, "ovensg": -0.1903, "ringbut": 0.2802, "bowmax": 0.3401}
    printed |= {"bowdist": 0.4148, "whorls": 0.3844}
    compare(fit.loadings["PC1"], printed, 0.005)
    assert 100 * fit.measure("adjusted") == pytest.approx(75.76, abs=0.05)


def compare(loadings: pd.Series, printed: dict[str, float], tolerance: float) -> None:
    assert set(loadings.index[loadings != 0]) == set(printed)
    for name, value in printed.items():
        assert loadings[name] == pytest.approx(value, abs=tolerance)


@pytest.mark.parametrize("card", [[8, 5, 6, 2, 3, 2], [7, 4, 4, 1, 1, 1]])
def test_optimal_scoring_competes_at_the_same_cardinalities(card: list[int]) -> None:
    # No figure at these cardinalities is printed (002, Table 3 is incomplete); the bound is SPCA's less 0.8.
    fit = sp.spca_cov(R, 6, card, method="spca-os")
    assert fit.card.tolist() == card
    assert fit.measure("pev") > sp.spca_cov(R, 6, card, method="zou").measure("pev") - 0.008


def test_optimal_scoring_finds_the_factors_of_hastie() -> None:
    # 002, Table 4: 500 rows, both supports.
    for seed in range(3):
        fit = sp.spca(sp.datasets.make_hastie(n=500, rng=seed), 2, 4, method="spca-os")
        found = {tuple(fit.loadings.index[fit.loadings[name] != 0]) for name in fit.loadings}
        assert found == {("X1", "X2", "X3", "X4"), ("X5", "X6", "X7", "X8")}


@pytest.mark.parametrize("method", METHODS)
def test_reported_penalties_give_the_same_fit(method: str) -> None:
    # in the order of the iteration: components of one cardinality are sorted afterwards
    fit = sp.spca_cov(R, 3, [7, 4, 4], method=method, order="given")
    again = sp.spca_cov(R, 3, method=method, penalty=fit.details["penalty"].tolist(), tol=1e-9, order="given")
    np.testing.assert_allclose(again.loadings, fit.loadings, atol=1e-4)
    assert fit.details["card hit"].all()


@pytest.mark.parametrize("method", METHODS)
@pytest.mark.parametrize("ridge", [0.1, np.inf])
def test_no_penalty_is_pca(method: str, ridge: float) -> None:
    dense = sp.spca_cov(R, 3, method="pca").loadings
    fit = sp.spca_cov(R, 3, method=method, penalty=0.0, ridge=ridge)
    np.testing.assert_allclose(fit.loadings, dense, atol=1e-6)
    full = sp.spca_cov(R, 3, 13, method=method, ridge=ridge)
    np.testing.assert_allclose(full.loadings, dense, atol=1e-6)


@pytest.mark.parametrize("method", METHODS)
def test_the_criterion_falls_at_a_fixed_penalty(method: str) -> None:
    values = []
    for steps in (1, 2, 4, 8, 16, 32):
        with pytest.warns(UserWarning, match="max_iter"):
            fit = sp.spca_cov(R, 3, method=method, penalty=[0.1, 0.1, 0.1], max_iter=steps, tol=1e-14)
        values.append(fit.objective_value)
    assert (np.diff(values) <= 1e-10).all()


@pytest.mark.parametrize("method", METHODS)
def test_rows_sparse_rows_and_covariance_agree(method: str) -> None:
    X = sp.datasets.pitprops_sample(n=60) * np.linspace(1, 2, 13)
    fits = [
        sp.spca(X, 2, [5, 4], method=method),
        sp.spca(scipy.sparse.csr_array(X.to_numpy()), 2, [5, 4], method=method),
        sp.spca_cov(X.cov(), 2, [5, 4], method=method),
    ]
    for fit in fits[1:]:
        np.testing.assert_allclose(fit.loadings.to_numpy(), fits[0].loadings.to_numpy(), atol=1e-7)
    assert fits[0].loadings.equals(sp.spca(X, 2, [5, 4], method=method).loadings)


def test_more_variables_than_rows_take_soft_thresholding() -> None:
    X = np.random.default_rng(0).standard_normal((20, 60))
    fit = sp.spca(X, 2, 10, method="zou")
    np.testing.assert_array_equal(fit.loadings, sp.spca(X, 2, 10, method="zou", ridge=np.inf).loadings)
    np.testing.assert_allclose(
        fit.loadings, sp.spca_cov(np.cov(X.T), 2, 10, method="zou").loadings, atol=1e-8
    )
    assert fit.card.tolist() == [10, 10]


@pytest.mark.parametrize("method", METHODS)
def test_a_penalty_that_leaves_nothing_is_refused_with_the_range(method: str) -> None:
    with pytest.raises(OptionError, match=r"leaves no loading in component 2; there it must be in \[0, "):
        sp.spca_cov(R, 2, method=method, penalty=[0.1, 100.0])
    with pytest.raises(OptionError, match="ridge"):
        sp.spca_cov(R, 2, 3, method=method, ridge=-1.0)
