"""Imputations of one table are refused as chunks of rows; what the message advises is accepted."""

from __future__ import annotations

import re

import numpy as np
import pandas as pd
import pytest

import spcastat as sp
from spcastat.errors import DataError


@pytest.fixture(scope="module")
def table() -> pd.DataFrame:
    return sp.datasets.load_wine().reset_index(drop=True)


def imputed(table: pd.DataFrame, missing: float, count: int = 3) -> list[pd.DataFrame]:
    """The table with random values of their columns in the same random cells of each imputation."""
    rng = np.random.default_rng(0)
    holes = rng.random(table.shape) < missing
    drawn = (table.sample(frac=1.0, random_state=seed).to_numpy() for seed in range(count))
    return [table.mask(holes, values) for values in drawn]


@pytest.mark.parametrize("missing", [0.0, 0.05, 0.3])
@pytest.mark.parametrize("kind", [list, tuple])
@pytest.mark.parametrize(
    "call",
    [
        lambda frames: sp.spca(frames, 2, 4, scale=True),
        lambda frames: sp.choose(frames, scale=True),
        lambda frames: sp.rows(frames, scale=True),
        lambda frames: sp.principal_variables(frames, 3, scale=True),
    ],
    ids=["spca", "choose", "rows", "principal_variables"],
)
def test_imputations_are_not_rows(table, missing, kind, call):
    """Stacked, 178 rows would count as 534, and standard errors would be too small by the root of three."""
    with pytest.raises(DataError, match="178 row labels") as raised:
        call(kind(imputed(table, missing)))
    assert "534 rows" in str(raised.value)


def test_the_advice_is_accepted(table):
    """Pooled covariances are a fit of 178 rows, and a function gives rows one after another."""
    frames = imputed(table, 0.1)
    with pytest.raises(DataError) as raised:
        sp.spca(frames, 2, 4, scale=True)
    (advice,) = re.findall(r"spca_cov\(.*\)(?=, with)", str(raised.value))
    names = {"sp": sp, "frames": frames}
    fit = eval("sp." + advice.replace("...", "2, 4, scale=True"), names)
    assert fit.glance()["n"].tolist() == [178]
    mean = np.mean([frame.cov() for frame in frames], axis=0)
    expected = sp.spca_cov(mean, 2, 4, scale=True)
    np.testing.assert_allclose(fit.loadings, expected.loadings, atol=1e-10)  # equal up to rounding of means
    assert sp.spca(lambda: frames, 2, 4, scale=True).glance()["n"].tolist() == [534]


@pytest.mark.parametrize("values", ["numbers", "binary", "counts", "constant"])
def test_chunks_of_rows_are_read(values):
    """Chunks of one length with labels 0, 1, ... share labels and by chance cells, but not rows."""
    rng = np.random.default_rng(1)
    X = rng.standard_normal((300, 6))
    X = {"binary": (X > 1.0) * 1.0, "counts": rng.poisson(0.3, X.shape) * 1.0, "numbers": X}.get(values, X)
    if values == "constant":  # all columns but one equal in all rows
        X = np.where(np.arange(6) == 0, X, 3.0)
    chunks = [pd.DataFrame(X[a : a + 100], columns=list("abcdef")) for a in (0, 100, 200)]
    assert sp.rows(chunks).n == 300
    copies = [chunks[0], chunks[0].set_axis(range(100, 200))]
    assert sp.rows(copies).n == 200
