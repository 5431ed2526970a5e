from __future__ import annotations

import numpy as np
import pandas as pd
import pytest

import spcastat as sp


def sigma(V: np.ndarray, S: np.ndarray) -> np.ndarray:
    """The covariance matrix of the model by its definition: V L V' + s2 I with dense inverses."""
    p, k = V.shape
    G = np.linalg.inv(V.T @ V)
    B = V @ G
    s2 = (np.trace(S) - np.trace(G @ V.T @ S @ V)) / (p - k)
    return V @ (B.T @ S @ B - s2 * G) @ V.T + s2 * np.eye(p)


@pytest.fixture(scope="session")
def planted() -> pd.DataFrame:
    """Two strong components of four variables each among twelve, 120 rows, long names."""
    rng = np.random.default_rng(5)
    X = rng.normal(size=(120, 12))
    X[:, :4] += 2.0 * rng.normal(size=(120, 1)) * [1, -1, 1, 1]
    X[:, 4:8] += 1.5 * rng.normal(size=(120, 1)) * [1, 1, -1, 1]
    names = [f"a long name of a variable, number {j}" for j in range(11)]
    return pd.DataFrame(X, columns=[*names, ("tuple", 12)])


@pytest.fixture
def fit(planted):
    return sp.spca(planted, 2, 4, method="bcd-l0", objective="pev")
