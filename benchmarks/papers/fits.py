"""Fits that may not be possible, and what the tables measure on them."""

from __future__ import annotations

import time
import warnings
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from scipy.spatial import cKDTree

import spcastat as sp
from spcastat.errors import ConvergenceWarning, SpcaError


@dataclass(frozen=True)
class Call:
    """What the command line asks for."""

    data: Path | None
    full: bool

    def times(self, quick: int, full: int) -> int:
        return full if self.full else quick

    @property
    def seconds(self) -> float:
        """How long one cell of a simulation may take before it stops short of its repetitions."""
        return float("inf") if self.full else 0.4

    def file(self, name: str) -> Path | str:
        """Return the path of a data file, or the reason why there is none."""
        if self.data is None:
            return f"skipped: needs {name} (--data DIR)"
        path = self.data / name
        return path if path.exists() else f"skipped: {name} is not in the folder that --data gives"


def fit(data: Any, k: int, method: str, *, covariance: bool = False, **options: Any) -> Any:
    """Return the fit, or a sentence that says why there is none."""
    if method not in set(sp.methods()["name"]):
        return "not available"
    function = sp.spca_cov if covariance else sp.spca
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        try:
            return function(data, k, method=method, **options)
        except SpcaError as error:
            return f"refused: {str(error).split(';')[0][:90]}"


def loadings(result: Any) -> np.ndarray:
    return np.asarray(result.loadings, dtype=float)


def matched(V: np.ndarray, truth: np.ndarray, least: float) -> tuple[bool, bool]:
    """Return whether two loadings match two true ones: in order, and in any order."""
    C = np.abs(truth.T @ V) >= least
    ordered = bool(C[0, 0] and C[1, 1])
    return ordered, ordered or bool(C[0, 1] and C[1, 0])


def both_supports(V: np.ndarray, truth: np.ndarray) -> bool:
    """Return whether the two supports are the true ones, in any order."""
    return {tuple(np.flatnonzero(v)) for v in V.T} == {tuple(np.flatnonzero(u)) for u in truth.T}


def rate(trial: Callable[[int], Any], times: int, seconds: float) -> tuple[np.ndarray, int] | str:
    """Return the mean of what `trial` gives for the seeds 0, 1, ... and how many there were; or a reason."""
    values: list[Any] = []
    start = time.perf_counter()
    for seed in range(times):
        value = trial(seed)
        if isinstance(value, str):
            return value
        values.append(value)
        if time.perf_counter() - start > seconds:
            break
    return np.mean(np.asarray(values, dtype=float), axis=0), len(values)


def nearest_neighbour(
    Z: np.ndarray, y: np.ndarray, splits: Iterable[int], learn: float
) -> tuple[float, float]:
    """Return mean and standard deviation of the accuracy (%) over random splits; `learn` is a share."""
    found = []
    for seed in splits:
        order = np.random.default_rng(seed).permutation(len(y))
        train, test = np.split(order, [round(learn * len(y))])
        found.append(100.0 * accuracy(Z[train], y[train], Z[test], y[test]))
    return float(np.mean(found)), float(np.std(found, ddof=1))


def accuracy(Z: np.ndarray, y: np.ndarray, new: np.ndarray, truth: np.ndarray) -> float:
    """Return the share of `new` whose nearest neighbour in `Z` has the true class."""
    return float(np.mean(y[cKDTree(Z).query(new)[1]] == truth))
