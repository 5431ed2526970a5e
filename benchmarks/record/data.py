"""The data of the recorded calls: small, made from fixed seeds, with every kind of column."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import scipy.sparse as sps


def frame(n: int = 60, seed: int = 0) -> pd.DataFrame:
    """Eight variables with two planted directions, labels on the rows."""
    rng = np.random.default_rng(seed)
    V = np.kron(np.eye(2), [[0.9], [0.8], [0.6], [0.5]])
    X = rng.standard_normal((n, 2)) * [3.0, 2.0] @ V.T + rng.standard_normal((n, 8)) + 5.0
    return pd.DataFrame(X, columns=[*"abcdefgh"], index=[f"row {i}" for i in range(n)])


def mixed(n: int = 60) -> pd.DataFrame:
    """The same with a factor, a positive variable, and missing values in two columns."""
    df = frame(n).reset_index(drop=True)
    df["site"] = pd.Categorical(np.array(["north", "south", "west"])[np.arange(n) % 3])
    df["size"] = np.exp(df["a"] / 4)
    df.loc[3, "b"] = np.nan
    df.loc[[7, 20], "d"] = np.nan
    return df


def weights(n: int = 60) -> np.ndarray:
    """Frequency weights, some of them zero."""
    return np.random.default_rng(1).integers(0, 4, n).astype(float)


def sparse(n: int = 50, p: int = 30) -> Any:
    """Counts, three quarters of them zero."""
    rng = np.random.default_rng(2)
    X = rng.poisson(2.0, (n, p)) * (rng.random((n, p)) < 0.25)
    X[:, :5] += rng.poisson(4.0, (n, 1))
    return sps.csr_array(X.astype(float))


def chunks(n: int = 60) -> list[pd.DataFrame]:
    """The frame in three tables."""
    df = frame(n).reset_index(drop=True)
    return [df.iloc[i : i + 25] for i in range(0, n, 25)]


def memmap(folder: Path) -> np.memmap:
    """The frame as a file of numbers."""
    path = folder / "rows.npy"
    np.save(path, frame().to_numpy())
    return np.load(path, mmap_mode="r")


def parquet(folder: Path) -> str:
    """The frame as a Parquet file of three row groups."""
    path = folder / "rows.parquet"
    frame().reset_index(drop=True).to_parquet(path, row_group_size=25)
    return str(path)


def parquet_folder(folder: Path) -> str:
    """The chunks as a folder of Parquet files."""
    inside = folder / "parts"
    inside.mkdir(exist_ok=True)
    for i, chunk in enumerate(chunks()):
        chunk.to_parquet(inside / f"part-{i}.parquet")
    return str(inside)


def csv(folder: Path) -> str:
    """The frame as comma-separated text."""
    path = folder / "rows.csv"
    frame().to_csv(path, index=False)
    return str(path)
