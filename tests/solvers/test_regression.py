"""Zou's SPCA, sparse PCA by optimal scoring, and sparse principal coordinates."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest

import spcastat as sp
from spcastat.errors import ComponentsError, OptionError, ShapeError
from spcastat.linalg.operators import DenseRows
from spcastat.linalg.regression import Columns, path
from spcastat.solvers.regression import SPCO, procrustes

# --- Zou's SPCA and sparse PCA by optimal scoring, and the elastic net below them -----------------

R = sp.datasets.load_pitprops()
METHODS = ("zou", "spca-os")


def test_the_path_agrees_with_scikit_learn() -> None:
    linear = pytest.importorskip("sklearn.linear_model")
    rng = np.random.default_rng(3)
    X, n = rng.standard_normal((50, 8)), 50
    y = X @ rng.standard_normal(8)
    S, b = X.T @ X / n, X.T @ y / n
    w, _ = path(Columns(lambda J: S[:, J], 8), b, 0.2, penalty=0.3)
    other = linear.ElasticNet(alpha=0.5, l1_ratio=0.6, fit_intercept=False, tol=1e-14, max_iter=100000)
    np.testing.assert_allclose(w, other.fit(X, y).coef_, atol=1e-8)


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


def test_optimal_scoring_finds_the_factors_of_hastie() -> None:
    # Dou, Dai, Xu and Zhang, Table 4: 500 rows, both supports.
    for seed in range(3):
        fit = sp.spca(sp.datasets.make_hastie(n=500, rng=seed), 2, 4, method="spca-os")
        found = {tuple(fit.loadings.index[fit.loadings[name] != 0]) for name in fit.loadings}
        assert found == {("X1", "X2", "X3", "X4"), ("X5", "X6", "X7", "X8")}


@pytest.mark.parametrize("method", METHODS)
@pytest.mark.parametrize("ridge", [0.1, np.inf])
def test_no_penalty_is_pca(method: str, ridge: float) -> None:
    dense = sp.spca_cov(R, 3, method="pca").loadings
    fit = sp.spca_cov(R, 3, method=method, penalty=0.0, ridge=ridge)
    np.testing.assert_allclose(fit.loadings, dense, atol=1e-6)
    full = sp.spca_cov(R, 3, 13, method=method, ridge=ridge)
    np.testing.assert_allclose(full.loadings, dense, atol=1e-6)


def test_more_variables_than_rows_take_soft_thresholding() -> None:
    X = np.random.default_rng(0).standard_normal((20, 60))
    fit = sp.spca(X, 2, 10, method="zou")
    np.testing.assert_array_equal(fit.loadings, sp.spca(X, 2, 10, method="zou", ridge=np.inf).loadings)
    np.testing.assert_allclose(
        fit.loadings, sp.spca_cov(np.cov(X.T), 2, 10, method="zou").loadings, atol=1e-8
    )
    assert fit.card.tolist() == [10, 10]


# --- Sparse principal coordinates -----------------------------------------------------------------

X = sp.datasets.make_hastie(n=150)


def test_no_penalty_is_principal_coordinates() -> None:
    fit = sp.spco(X, 2, 0.0)
    pca = sp.spca(X, 2, method="pca")
    np.testing.assert_allclose(fit.loadings, pca.loadings, atol=1e-7)
    np.testing.assert_allclose(fit.coordinates, pca.scores, atol=1e-6)
    assert fit.measure("cpev") == pytest.approx(pca.measure("adjusted"))
    assert fit.measure("cpzc") == 0.0


def test_the_ridge_divides() -> None:
    # Theorem 2: Z = XA / (1 + gamma)
    np.testing.assert_allclose(sp.spco(X, 2, 5.0, ridge=1.0).coordinates * 2, sp.spco(X, 2, 5.0).coordinates)


def test_conditions_of_optimality() -> None:
    fit = sp.spco(X, 2, 15.0)
    Y, A, Z = (X - X.mean()).to_numpy(), fit.loadings.to_numpy(), fit.coordinates.to_numpy()
    T = Y @ A
    np.testing.assert_allclose(Z, np.sign(T) * np.maximum(np.abs(T) - 15.0, 0.0), atol=1e-9)
    np.testing.assert_allclose(A.T @ A, np.eye(2), atol=1e-12)
    M = A.T @ Y.T @ Z  # Procrustes: symmetric and positive semidefinite
    np.testing.assert_allclose(M, M.T, atol=1e-5 * np.abs(M).max())
    assert np.linalg.eigvalsh(0.5 * (M + M.T))[0] > 0
    value = 0.5 * ((Y - Z @ A.T) ** 2).sum() + 15.0 * np.abs(Z).sum()
    assert fit.objective_value == pytest.approx(value / (len(X) - 1), rel=1e-10)
    rest = ((Y - Z @ A.T) ** 2).sum() / (Y**2).sum()
    assert fit.variance["cumulative fit"].iloc[-1] == pytest.approx(1 - rest)


@pytest.mark.parametrize("zeros", [0.0, 0.25, 0.7])
def test_a_share_of_zeros(zeros: float) -> None:
    fit = sp.spco(X, 2, zeros=zeros)
    assert fit.measure("cpzc") == pytest.approx(zeros, abs=1 / X.size)
    np.testing.assert_allclose(sp.spco(X, 2, fit.penalty).loadings, fit.loadings, atol=1e-4)


def test_one_group_a_component() -> None:
    # After Figure 2 of Dou et al., with group means that are not on one line (there they are, so the printed
    # picture cannot come from the printed data): each coordinate is nonzero for one group alone.
    rng = np.random.default_rng(0)
    means = np.zeros((3, 50))
    means[0, :25], means[1, 25:] = 10.0, -10.0
    Y = np.repeat(means, 10, axis=0) + rng.standard_normal((30, 50))
    Z = sp.spco(Y, 2, 25.0, center=False).coordinates.to_numpy() != 0
    assert sorted([np.flatnonzero(Z[:, 0]).tolist(), np.flatnonzero(Z[:, 1]).tolist()]) == [
        list(range(10)),
        list(range(10, 20)),
    ]


def test_labels_new_rows_and_the_way_back() -> None:
    frame = X.set_index(pd.Index([f"r{i}" for i in range(len(X))]))
    fit = sp.spco(frame, 2, 5.0, scale=False)
    assert fit.coordinates.index.equals(frame.index)
    assert fit.loadings.index.equals(frame.columns)
    pd.testing.assert_frame_equal(fit.transform(frame), fit.coordinates)
    back = fit.inverse_transform(fit.coordinates)
    assert back.shape == frame.shape
    assert back.index.equals(frame.index)
    with pytest.raises(ShapeError, match="2 columns"):
        fit.inverse_transform(np.ones((3, 3)))


def test_refusals() -> None:
    with pytest.raises(OptionError, match=r"exactly one of penalty= .* neither"):
        sp.spco(X, 2)
    with pytest.raises(OptionError, match="both"):
        sp.spco(X, 2, 1.0, zeros=0.5)
    with pytest.raises(OptionError, match="zeros"):
        sp.spco(X, 2, zeros=1.0)
    with pytest.raises(OptionError, match="makes every coordinate of PC1, PC2 zero"):
        sp.spco(X, 2, 1e6)
    with pytest.raises(OptionError, match="ridge"):
        sp.spco(X, 2, 1.0, ridge=-1.0)
    with pytest.raises(ComponentsError, match="rank"):
        sp.spco(X, 11, 1.0)


# --- the iteration, written out -------------------------------------------------------------------


@pytest.mark.parametrize("options", [{"penalty": 0.7}, {"zeros": 0.4}, {"penalty": 0.4, "ridge": 0.5}, {}])
@pytest.mark.parametrize("weighted", [False, True])
def test_thresholds_and_rotations_in_turn(options: dict[str, float], weighted: bool) -> None:
    rng = np.random.default_rng(0)
    X = rng.standard_normal((30, 6)) @ rng.standard_normal((6, 6))
    w = rng.integers(0, 3, 30).astype(float) if weighted else np.ones(30)
    X -= np.average(X, axis=0, weights=w)
    root = np.sqrt(w / (w.sum() - 1.0))
    found = SPCO(**options).solve(DenseRows(X * root[:, None], root, 29), 3)
    rows, w, ridge = X[w > 0], w[w > 0], options.get("ridge", 0.0)
    A = np.linalg.svd(np.sqrt(w)[:, None] * rows, full_matrices=False)[2][:3].T
    values = []
    while True:
        T = rows @ A
        level = options.get("penalty", 0.0)
        if "zeros" in options:
            sizes = np.sort(np.repeat(np.abs(T), w.astype(int), axis=0), axis=None)  # weight 2 is two rows
            level = sizes[int(np.ceil(0.4 * sizes.size)) - 1] * (1 + 1e-12)
        Z = np.sign(T) * np.maximum(np.abs(T) - level, 0.0) / (1.0 + ridge)
        squares = 0.5 * (rows - Z @ A.T) ** 2
        terms = squares.sum(axis=1) + 0.5 * ridge * (Z**2).sum(axis=1) + level * np.abs(Z).sum(axis=1)
        values.append(float(w @ terms) / (w.sum() - 1.0))
        left, _, right = np.linalg.svd(rows.T @ (w[:, None] * Z), full_matrices=False)
        last, A = A, left @ right
        if np.abs(A - last).max() <= 1e-8:
            break
    assert (found.n_iter, found.converged) == (len(values), True)
    np.testing.assert_allclose(found.objectives, values, rtol=1e-9)
    assert found.objective == found.objectives[-1]
    order = np.argsort(-np.diag(A.T @ rows.T @ (w[:, None] * rows) @ A))
    np.testing.assert_allclose(np.abs(found.A), np.abs(A[:, order]), atol=1e-7)
    if "zeros" not in options:
        np.testing.assert_array_equal(found.penalty, np.full(3, options.get("penalty", 0.0)))
    else:
        share = np.average(np.abs(rows @ found.A) <= found.penalty[0], axis=0, weights=w).mean()
        assert share == pytest.approx(0.4, abs=w.max() / sizes.size)


def test_a_rotation_that_is_open_stays_where_it_was() -> None:
    rng = np.random.default_rng(1)
    last = np.linalg.qr(rng.standard_normal((6, 3)))[0]
    M = rng.standard_normal((6, 3))
    best = procrustes(M, last)
    left, size, right = np.linalg.svd(M, full_matrices=False)
    np.testing.assert_allclose(best, left @ right, atol=1e-13)
    np.testing.assert_array_equal(procrustes(np.zeros((6, 3)), last), last)
    M[:, 2] = 0.0  # of the third column nothing is asked
    A = procrustes(M, last)
    np.testing.assert_allclose(A.T @ A, np.eye(3), atol=1e-13)
    size = np.linalg.svd(M)[1]
    assert np.trace(A.T @ M) == pytest.approx(size.sum(), rel=1e-12)
    across = last - A[:, :2] @ (A[:, :2].T @ last)
    assert A[:, 2] @ last[:, 2] >= np.linalg.norm(across[:, 2]) - 1e-12  # as near as the two others allow
