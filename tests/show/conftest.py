from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pandas as pd
import pytest


def make_loadings(p: int, k: int, nonzero: int = 3, seed: int = 0) -> pd.DataFrame:
    """Sparse unit-norm loadings with `nonzero` entries in each component."""
    rng = np.random.default_rng(seed)
    values = np.zeros((p, k))
    for j in range(k):
        rows = rng.choice(p, size=min(nonzero, p), replace=False)
        values[rows, j] = rng.normal(size=len(rows))
    values /= np.linalg.norm(values, axis=0)
    return pd.DataFrame(
        values, index=[f"x{i + 1}" for i in range(p)], columns=[f"PC{j + 1}" for j in range(k)]
    )


def make_variance(k: int, unit: float = 1.0) -> pd.DataFrame:
    """A frame of variances of the shape that ``variance_table`` takes."""
    adjusted = unit * 4.0 * 0.5 ** np.arange(k)
    share = adjusted / (10 * unit)
    total = share.cumsum()
    return pd.DataFrame(
        {
            "cardinality": np.arange(k, 0, -1),
            "score variance": adjusted * 1.1,
            "adjusted variance": adjusted,
            "share of total": share,
            "cumulative adjusted": total,
            "cumulative PEV": total + 0.01,
            "cumulative least squares": total + 0.02,
            "cumulative PCA": total + 0.03,
        },
        index=[f"PC{j + 1}" for j in range(k)],
    )


@pytest.fixture(name="make_loadings")
def make_loadings_fixture() -> Callable[..., pd.DataFrame]:
    return make_loadings


@pytest.fixture(name="make_variance")
def make_variance_fixture() -> Callable[..., pd.DataFrame]:
    return make_variance


@pytest.fixture
def loadings() -> pd.DataFrame:
    """Five variables, one of them without a loading; one loading rounds to zero."""
    return pd.DataFrame(
        {"PC1": [0.8, -0.6, 0.0, 0.0002, 0.0], "PC2": [0.0, 0.0, 1.0, -0.0002, 0.0]},
        index=["height", "weight", "age", "income", "shoe size"],
    )
