"""Draws of noise, with which components are compared: their rank, their total variance, and the level."""

import numpy as np
import pandas as pd
import pytest
from scipy import sparse

import spcastat as sp
from spcastat.assess import component_tests
from spcastat.inputs import noise
from spcastat.inputs.noise import in_complement, rotated


def planted(n: int, p: int, seed: int = 0, *, group: np.ndarray | None = None) -> np.ndarray:
    """Three strong components, so that the deflated and the sparse test draw noise of residuals."""
    rng = np.random.default_rng(seed)
    rows = rng.standard_normal((n, 3)) * [9.0, 6.0, 4.0]
    V = np.zeros((p, 3))
    for j in range(3):
        V[j * (p // 3) : (j + 1) * (p // 3), j] = (p // 3) ** -0.5
    X = rows @ V.T + 0.5 * rng.standard_normal((n, p))
    if group is not None:
        X += rng.standard_normal((group.max() + 1, p))[group]
    return X


def with_gaps(X: np.ndarray) -> pd.DataFrame:
    return pd.DataFrame(X).mask(np.random.default_rng(1).random(X.shape) < 0.05)


def with_covariate(X: np.ndarray) -> tuple[pd.DataFrame, str]:
    table = pd.DataFrame(X, columns=[f"v{j}" for j in range(X.shape[1])])
    table["z"] = np.random.default_rng(2).standard_normal(len(X))
    return table, "~ . | z"


def covariance(n: int, p: int) -> pd.DataFrame:
    return pd.DataFrame(np.cov(planted(n, p), rowvar=False))


CLUSTERS = np.repeat(np.arange(8), [1, 2, 3, 1, 2, 1, 3, 1])
#: Data of each kind, wide (14 rows of 30 variables) and long (60 rows of 9 variables).
KINDS = {
    "rows": lambda n, p: (planted(n, p), {}),
    "scaled": lambda n, p: (planted(n, p), {"scale": True}),
    "sparse rows": lambda n, p: (sparse.csr_array(planted(n, p)), {}),
    "strata": lambda n, p: (planted(n, p), {"strata": np.arange(n) % 2}),
    "weights": lambda n, p: (planted(n, p), {"weights": np.arange(n) % 4}),
    "copies": lambda n, p: (np.repeat(planted(n, p), np.arange(n) % 4, axis=0), {}),
    "sampling weights": lambda n, p: (
        planted(n, p),
        {"weights": 1.0 + np.arange(n) % 3 / 7, "weights_are": "sampling"},
    ),
    "clusters": lambda n, p: (planted(n, p), {"clusters": np.resize(CLUSTERS, n) + np.arange(n) // 14 * 8}),
    "blocks": lambda n, p: (planted(n, p), {"block_length": 3}),
    "covariate": lambda n, p: (with_covariate(planted(n, p))[0], {"formula": "~ . | z"}),
    "covariate, clusters, weights": lambda n, p: (
        with_covariate(planted(n, p))[0],
        {"formula": "~ . | z", "clusters": np.arange(n) // 2, "weights": 1 + np.arange(n) % 3},
    ),
    "gaps, pairwise": lambda n, p: (with_gaps(planted(n, p)), {"na": "pairwise"}),
    "gaps, em": lambda n, p: (with_gaps(planted(n, p)), {"na": "em"}),
    "matrix": lambda n, p: (covariance(n, p), {"n_obs": n, "covariance": True}),
}


def rank(data: noise.Noise) -> int:
    values = data.values
    return int((values > 1e-9 * values[0]).sum())


@pytest.fixture
def draws(monkeypatch):
    """The data and the draw of every draw of noise that is made."""
    made = []
    for kind in (noise.RowNoise, noise.MomentNoise):

        def flipped(self, rng, original=kind.flipped):
            made.append((self, original(self, rng)))
            return made[-1][1]

        monkeypatch.setattr(kind, "flipped", flipped)
        # the same eigenvalue without the flipped rows: test_wide_rows.py
        monkeypatch.setattr(kind, "largest_of_flips", noise.Noise.largest_of_flips)
    return made


@pytest.mark.sweep
@pytest.mark.parametrize("shape", [(14, 30), (60, 9)], ids=["wide", "long"])
@pytest.mark.parametrize("kind", KINDS)
def test_noise_has_the_rank_and_the_total_of_what_it_is_compared_with(kind, shape, draws):
    """Of parallel analysis, and of residuals: of noise with a larger rank and this total, values are smaller.

    The tolerance of the total is rounding.
    """
    rows, options = KINDS[kind](*shape)
    found = sp.choose_k(rows, kmax=3, n_draws=19, alpha=0.5, **options)
    are_residuals = any(getattr(data, "directions_removed", None) is not None for data, _ in draws)
    assert found.predicting < 2 or are_residuals
    for data, drawn in draws:
        assert rank(drawn) == rank(data)
        assert drawn.values.sum() == pytest.approx(data.values.sum(), rel=1e-10)


@pytest.mark.parametrize("shape", [(14, 30), (60, 9)], ids=["wide", "long"])
@pytest.mark.parametrize("of_rows", [True, False], ids=["rows", "matrix"])
def test_noise_of_many_cells_has_the_rank_and_the_total(of_rows, shape, draws, monkeypatch):
    """Draws by the central limit theorem; with more variables than rows, rows are drawn all the same."""
    monkeypatch.setattr(noise, "ROW_CELLS", 10)
    monkeypatch.setattr(component_tests, "NOISE", component_tests.NoiseTuning(flipped_cells=10))
    if of_rows:
        sp.choose_k(planted(*shape), kmax=3, n_draws=19, alpha=0.5)
    else:
        sp.choose_k(covariance(*shape), n_obs=shape[0], kmax=3, n_draws=19, alpha=0.5, covariance=True)
    assert {type(data) is noise.MomentNoise for data, _ in draws} == {shape == (60, 9)}
    for data, drawn in draws:
        assert rank(drawn) == rank(data)
        assert drawn.values.sum() == pytest.approx(data.values.sum(), rel=1e-10)


NULLS = {
    "rows": lambda X: (X, {}),
    "scaled": lambda X: (X, {"scale": True}),
    "matrix": lambda X: (np.cov(X, rowvar=False), {"n_obs": len(X), "covariance": True}),
    "weights": lambda X: (X, {"weights": 1 + np.arange(len(X)) % 3}),
    "copies": lambda X: (np.repeat(X, 1 + np.arange(len(X)) % 3, axis=0), {}),
    "sampling weights": lambda X: (
        X,
        {"weights": np.linspace(1.0, 4.0, len(X)), "weights_are": "sampling"},
    ),
    "clusters": lambda X: (X, {"clusters": np.arange(len(X)) // 2}),
    "covariate": lambda X: (with_covariate(X)[0], {"formula": "~ . | z"}),
    "covariate, clusters": lambda X: (
        with_covariate(X)[0],
        {"formula": "~ . | z", "clusters": np.arange(len(X)) // 2},
    ),
}


@pytest.mark.sweep
@pytest.mark.parametrize("kind", NULLS)
def test_few_rows_of_noise_have_no_component(kind):
    """At the level .05, five or more of twenty sets have probability .003."""
    numbers = []
    for seed in range(20):
        data, options = NULLS[kind](np.random.default_rng([7, seed]).standard_normal((8, 60)))
        numbers.append(sp.choose_k(data, kmax=1, n_draws=19, rng=seed, **options).parallel)
    assert sum(numbers) < 5


def test_the_moments_of_weighted_rows_are_those_of_repeated_rows(monkeypatch):
    monkeypatch.setattr(component_tests, "NOISE", component_tests.NoiseTuning(flipped_cells=100))
    rng = np.random.default_rng(5)
    X, w = rng.integers(1, 6, size=(40, 3)) * 1.0, rng.integers(1, 4, size=40)
    one, two = sp.choose_k(X, weights=w, n_draws=19), sp.choose_k(np.repeat(X, w, axis=0), n_draws=19)
    np.testing.assert_allclose(one.table.astype(float), two.table.astype(float), rtol=1e-9)  # rounding


@pytest.mark.parametrize("sizes", [[1] * 12, [1, 4, 2, 3, 2], [3, 3, 3, 3]])
def test_rows_in_a_complement_have_the_cross_products_of_all(sizes):
    """The cross-products by definition; rows of a group keep theirs if the group has no part in U."""
    rng = np.random.default_rng(3)
    group = np.repeat(np.arange(len(sizes)), sizes)
    U = np.linalg.qr(rng.standard_normal((12, 2)) * (group != 2)[:, None])[0]
    Y = rng.standard_normal((12, 5))
    Y -= U @ (U.T @ Y)
    rows, group_of_rows = in_complement(Y, U, group)
    assert rows.shape == (10, 5)
    np.testing.assert_allclose(rows.T @ rows, Y.T @ Y, atol=1e-12)  # rounding
    own = Y[group == 2]
    np.testing.assert_allclose(rows[group_of_rows == 2].T @ rows[group_of_rows == 2], own.T @ own, atol=1e-12)


def test_a_large_row_stays_one_row():
    """The smallest row is the one that is added to the others, wherever the large row stands."""
    Y = np.random.default_rng(4).standard_normal((30, 6))
    Y[0] *= 100.0
    Y -= Y.mean(axis=0)
    rows, _ = rotated(Y, np.zeros((30, 0)), None)
    sizes = np.sort(np.linalg.norm(rows, axis=1))
    assert sizes[-1] == pytest.approx(np.linalg.norm(Y[0]), rel=0.01)
    assert sizes[-2] < 0.1 * sizes[-1]
