"""Fits, which may be impossible, and their measures in the tables."""

from __future__ import annotations

import warnings
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
from scipy.spatial import cKDTree

import spcastat as sp
from benchmarks.draws import Cell, Draws, Means, NoNumbers
from benchmarks.papers.verdicts import Estimate
from spcastat.errors import ConvergenceWarning, SpcaError, UnknownOptionError


@dataclass(frozen=True)
class Call:
    """The options of the command line.

    Attributes
    ----------
    data : Path or None
        Folder with real data.
    full : bool
        Whether to use the papers' numbers of draws, and to make slow rows.
    most : int or None
        No cell has more draws than this.
    draws : Draws
        The draws that were made, and options for making more.
    """

    data: Path | None
    full: bool
    most: int | None = None
    draws: Draws = field(default_factory=Draws)

    def times(self, quick: int, full: int) -> int:
        """Return `quick` or `full`, the number of draws for the mode, but at most `most`."""
        wanted = full if self.full else quick
        return wanted if self.most is None else min(wanted, self.most)

    def measured(self, table: str, cells: Iterable[Cell]) -> dict[str, Means | str]:
        """Return the means of every cell, or the reason why it has none."""
        return self.draws.measured(table, cells)


def fit(data: Any, k: int, method: str, *, covariance: bool = False, **options: Any) -> Any:
    """Return the fit; raise NoNumbers with the reason if it is refused.

    An option that does not exist is an error of the benchmark: it is raised, and no table is made.
    """
    function = sp.spca_cov if covariance else sp.spca
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        try:
            return function(data, k, method=method, **options)
        except UnknownOptionError:
            raise
        except SpcaError as error:
            raise NoNumbers(f"refused: {str(error).split(';')[0][:90]}") from error


def fit_or_none(data: Any, k: int, method: str, **options: Any) -> Any:
    """Return the fit, or None if it is refused, as in searches where a penalty may be too large."""
    try:
        return fit(data, k, method, **options)
    except NoNumbers:
        return None


def loadings(result: Any) -> np.ndarray:
    return np.asarray(result.loadings, dtype=float)


def reconstruction(result: Any) -> list[float]:
    """Return RRE, PEV (%) and the number of nonzeros."""
    return [result.measure("rre"), 100.0 * result.measure("pev"), float(result.card.sum())]


def pev_curve(result: Any, steps: Iterable[int]) -> list[float]:
    """Return the PEV (%) of the first components, for each number of components in `steps`."""
    curve = 100.0 * result.variance["cumulative PEV"].to_numpy()
    return [float(curve[k - 1]) for k in steps]


def counted(values: Iterable[float | None], total: int) -> list[Estimate | None]:
    """Return printed counts out of `total` draws with their binomial standard errors."""
    found: list[Estimate | None] = []
    for value in values:
        q = None if value is None else (value + 1.0) / (total + 2.0)
        error = 0.0 if q is None else (total * q * (1 - q)) ** 0.5
        found.append(None if value is None else Estimate(value, error, total))
    return found


def first_reason(cells: Mapping[str, Means | str], names: Iterable[str]) -> str | None:
    """Return the reason why one of the cells has no numbers, or None if all have numbers."""
    return next((found for name in names if isinstance(found := cells[name], str)), None)


def matched(V: np.ndarray, truth: np.ndarray, least: float) -> tuple[bool, bool]:
    """Return whether two loadings match two true ones: in order, and in any order."""
    C = np.abs(truth.T @ V) >= least
    ordered = bool(C[0, 0] and C[1, 1])
    return ordered, ordered or bool(C[0, 1] and C[1, 0])


def both_supports(V: np.ndarray, truth: np.ndarray) -> bool:
    """Return whether the two supports are the true ones, in any order."""
    return {tuple(np.flatnonzero(v)) for v in V.T} == {tuple(np.flatnonzero(u)) for u in truth.T}


def wrong_variables(V: np.ndarray, truth: np.ndarray) -> float:
    """Return the share of entries that are zero but nonzero in the truth, or the reverse.

    Components are matched in the order that gives the smaller share.
    """
    A, B = V != 0, truth != 0
    return float(min(np.mean(A != B), np.mean(A[:, ::-1] != B)))


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
