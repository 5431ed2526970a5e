from __future__ import annotations

import numpy as np
import pandas as pd
import pytest

import spcastat as sp


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
