"""Every definition of explained variance against its formula on explicit rows."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest
import scipy.sparse as sps

import spcastat as sp
from spcastat.errors import CovarianceError, MissingValuesError, ShapeError, TooFewRowsError

NAMES = ("pev", "rre", "adjusted", "relative_adjusted", "least_squares")


def data(n: int = 30, p: int = 6) -> pd.DataFrame:
    X = (
        np.random.default_rng(0).standard_normal((n, p)) @ np.random.default_rng(1).standard_normal((p, p))
        + 3.0
    )
    return pd.DataFrame(X, columns=[f"v{j}" for j in range(p)])


def loadings(p: int = 6, k: int = 3) -> np.ndarray:
    return np.random.default_rng(2).standard_normal((p, k)) * [5.0, 0.1, 1.0][:k]


def by_formula(X: np.ndarray, V: np.ndarray) -> dict[str, list[float]]:
    """Return each measure of the first 1, ..., k columns, from the rows themselves."""
    Y = X - X.mean(axis=0)
    V = V / np.linalg.norm(V, axis=0)
    total = (Y**2).sum()
    squares = np.linalg.svd(Y, compute_uv=False) ** 2
    out: dict[str, list[float]] = {name: [] for name in NAMES}
    for k in range(1, V.shape[1] + 1):
        on_loadings = np.linalg.qr(V[:, :k])[0]
        on_scores = np.linalg.qr(Y @ V[:, :k])[0]
        fitted = Y @ on_loadings @ on_loadings.T
        adjusted = (np.diag(np.linalg.qr(Y @ V[:, :k])[1]) ** 2).sum()
        out["pev"].append((fitted**2).sum() / total)
        out["rre"].append(np.linalg.norm(Y - fitted) / np.linalg.norm(Y))
        out["adjusted"].append(adjusted / total)
        out["relative_adjusted"].append(adjusted / squares[:k].sum())
        out["least_squares"].append(((on_scores.T @ Y) ** 2).sum() / total)
    return out


@pytest.mark.parametrize("name", NAMES)
def test_every_measure_follows_its_formula(name):
    X, V = data(), loadings()
    expected = by_formula(X.to_numpy(), V)[name]
    measure = getattr(sp.measures, name)
    for given in ({"X": X}, {"X": X.to_numpy()}, {"X": sps.csr_matrix(X.to_numpy())}, {"S": X.cov()}):
        found = measure(V, **given, cumulative=True)
        np.testing.assert_allclose(found, expected, rtol=1e-11)
        assert measure(V, **given) == pytest.approx(expected[-1], rel=1e-11)
        assert isinstance(measure(V, **given), float)
    np.testing.assert_allclose(measure(V, S=X.cov() * 1e12, cumulative=True), expected, rtol=1e-11)


@pytest.mark.parametrize("name", NAMES)
def test_lengths_and_signs_of_columns_do_not_matter(name):
    measure = getattr(sp.measures, name)
    V = loadings()
    assert measure(V * [-3, 1e-5, 1e5], X=data()) == pytest.approx(measure(V, X=data()), rel=1e-12)
    assert measure(V[:, 0], X=data()) == pytest.approx(measure(V[:, :1], X=data()), rel=1e-14)


def test_none_is_above_dense_pca_nor_below_its_bounds():
    for seed in range(50):
        rng = np.random.default_rng(seed)
        X = rng.standard_normal((12, 6)) * 10.0 ** rng.uniform(-2, 2, 6)
        V = rng.standard_normal((6, 4)) * (rng.random((6, 4)) < 0.5) + np.eye(6, 4) * 1e-3
        values = np.linalg.eigvalsh(np.cov(X, rowvar=False))[::-1]
        pca = np.cumsum(values[:4]) / values.sum()
        for given in ({"X": X}, {"S": np.cov(X, rowvar=False)}):
            pev, adjusted, least = (
                getattr(sp.measures, name)(V, **given, cumulative=True)
                for name in ("pev", "adjusted", "least_squares")
            )
            for found in (pev, adjusted, least):
                assert (found <= pca + 1e-10).all()  # roots of a covariance matrix: 1e-10 of the total
                assert (np.diff(found) >= -1e-14).all()
            assert (least >= pev - 1e-10).all()
            assert (least >= adjusted - 1e-10).all()


def test_a_further_component_adds_what_least_squares_on_the_earlier_scores_leaves():
    """He, Monteiro and Park (2010), proposition 3.2, also where it depends on the earlier ones."""
    X, Z = data(), loadings()
    Y = (X - X.mean()).to_numpy()
    for z in (np.linspace(-1.0, 2.0, len(Z)), Z[:, 1], Z @ np.array([1.0, -2.0, 0.5])):
        score = Y @ (z / np.linalg.norm(z))
        left = score - Y @ Z @ np.linalg.lstsq(Y @ Z, score, rcond=None)[0]
        before, after = (sp.measures.adjusted(V, X=X) for V in (Z, np.column_stack([Z, z])))
        assert after - before == pytest.approx(left @ left / np.sum(Y**2), rel=1e-9, abs=1e-13)


@pytest.mark.parametrize("name", NAMES)
def test_labels_are_matched(name):
    X, V = data(), pd.DataFrame(loadings(), index=data().columns)
    measure = getattr(sp.measures, name)
    expected = measure(V.to_numpy(), X=X)
    assert measure(V.iloc[::-1], X=X) == pytest.approx(expected, rel=1e-13)
    assert measure(V.iloc[::-1], S=X.cov()) == pytest.approx(expected, rel=1e-9)
    with pytest.raises(ShapeError, match="'v0'"):
        measure(V.rename(index={"v0": "other"}), X=X)


@pytest.mark.parametrize("name", NAMES)
@pytest.mark.parametrize("k", [5, 7])
def test_more_columns_than_rows_or_variables(name, k):
    rng = np.random.default_rng(3)
    measure = getattr(sp.measures, name)
    for n, p in ((5, 450), (30, 6), (4, 6)):
        X, V = rng.standard_normal((n, p)), rng.standard_normal((p, k))
        found = measure(V, X=X, cumulative=True)
        assert found.shape == (k,)
        assert np.isfinite(found).all()
        if name == "least_squares" and k >= min(n - 1, p):
            assert found[-1] == pytest.approx(1.0, abs=1e-10)


@pytest.mark.parametrize("name", NAMES)
def test_what_is_refused(name):
    measure, X, V = getattr(sp.measures, name), data(), loadings()
    with pytest.raises(ShapeError, match="neither was"):
        measure(V)
    with pytest.raises(ShapeError, match="both were"):
        measure(V, X=X, S=X.cov())
    with pytest.raises(ShapeError, match=r"V has shape \(5, 3\); it must have 6 rows"):
        measure(V[:5], X=X)
    with pytest.raises(ShapeError, match=r"\[1\]|1 of V|Columns 1"):
        measure(V * [1, 0, 1], X=X)
    with pytest.raises(CovarianceError, match="square"):
        measure(V, S=X.to_numpy())
    with pytest.raises(TooFewRowsError, match="at least two"):
        measure(V, X=X.iloc[:1])
    with pytest.raises(MissingValuesError, match="missing"):
        measure(V, X=X.mask(X > 5))
    with pytest.raises(MissingValuesError, match="V contains missing or infinite"):
        measure(V * np.nan, X=X)


@pytest.mark.parametrize("name", ["pev", "adjusted", "least_squares"])
def test_rounding_raises_no_share_above_one(name):
    """Seed 784 had 1 + 1.2e-8: nearly equal columns in very different units."""
    for seed in (*range(0, 300, 3), 784):
        rng = np.random.default_rng(seed)
        p, n = int(rng.integers(3, 8)), int(rng.integers(3, 12))
        X = rng.normal(size=(n, p)) * 10 ** rng.uniform(-3, 3, p)
        if seed % 3 == 0:
            X[:, 1] = X[:, 0] * (1 + 1e-7 * rng.normal())
        if seed % 4 == 0:
            X[:, 2] = X[:, 0] + 1e-7 * rng.normal(size=n) * np.abs(X[:, 0]).max()
        k = p if seed % 2 else p - 1
        V = rng.normal(size=(p, k)) * (rng.random((p, k)) < 0.6)
        V[rng.integers(p), :] += 1
        share = getattr(sp.measures, name)(V / np.linalg.norm(V, axis=0), S=np.cov(X.T))
        assert share <= 1.0, seed
