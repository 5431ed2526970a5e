from __future__ import annotations

from collections.abc import Callable, Iterator

import matplotlib

matplotlib.use("Agg")

import matplotlib.pyplot as plt
import numpy as np
import pandas as pd
import pytest
from matplotlib.axes import Axes

from spcastat.plots.drawing import NOTE


def make_loadings(p: int = 13, k: int = 3, nonzero: int = 5, seed: int = 0) -> pd.DataFrame:
    """Sparse unit-norm loadings with `nonzero` entries in each component."""
    rng = np.random.default_rng(seed)
    values = np.zeros((p, k))
    for j in range(k):
        values[rng.choice(p, size=nonzero, replace=False), j] = rng.normal(size=nonzero)
    values /= np.linalg.norm(values, axis=0)
    names = [f"variable {i + 1}" for i in range(p)]
    return pd.DataFrame(values, index=names, columns=[f"PC{j + 1}" for j in range(k)])


@pytest.fixture(name="make_loadings")
def make_loadings_fixture() -> Callable[..., pd.DataFrame]:
    return make_loadings


@pytest.fixture
def loadings() -> pd.DataFrame:
    return make_loadings()


@pytest.fixture
def scores() -> pd.DataFrame:
    """Centred scores of 60 rows; the first two correlate."""
    values = np.random.default_rng(1).normal(size=(60, 3)) * [3.0, 2.0, 1.0]
    values[:, 1] += 0.2 * values[:, 0]
    values -= values.mean(axis=0)
    return pd.DataFrame(values, columns=["PC1", "PC2", "PC3"], index=[f"row {i}" for i in range(60)])


@pytest.fixture(autouse=True)
def clean_pyplot() -> Iterator[None]:
    """Close all figures, and fail if a plot changed a global parameter."""
    before = dict(matplotlib.rcParams)
    yield
    plt.close("all")
    assert dict(matplotlib.rcParams) == before


def note_of(ax: Axes) -> str:
    """Return the text of the note on one line; empty without a note."""
    notes = [text.get_text() for text in ax.texts if text.get_gid() == NOTE]
    return " ".join(" ".join(notes).split())
