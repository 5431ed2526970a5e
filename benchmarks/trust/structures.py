"""Rows of factors whose number and variables are known: designs for the choice of both."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np

Draw = Callable[[np.random.Generator], np.ndarray]

#: Limits between the five points of items.
POINTS = (-1.5, -0.5, 0.5, 1.5)


@dataclass(frozen=True, eq=False)
class Structure:
    """Rows of a known number of components.

    Attributes
    ----------
    draw : callable
        Generator -> rows, shape (n, p).
    k : int
    supports : ndarray of bool, shape (p, k), or None
        The variables of each component, where they are asked for.
    """

    draw: Draw
    k: int
    supports: np.ndarray | None = None


def blocks(p: int, loadings: Sequence[Sequence[float]], shared: int = 0) -> np.ndarray:
    """Return loadings, shape (p, k), on successive variables, of which neighbours share some."""
    L, first = np.zeros((p, len(loadings))), 0
    for j, column in enumerate(loadings):
        L[first : first + len(column), j] = column
        first += len(column) - shared
    return L


def rows_of(L: np.ndarray, n: int, correlation: float = 0.0, points: Sequence[float] = ()) -> Draw:
    """Return what draws n rows of variance one with loadings L, shape (p, k), of correlated factors.

    With `points`, the rows are items with these limits between their categories.
    """
    k = L.shape[1]
    factors = np.linalg.cholesky((1 - correlation) * np.eye(k) + correlation)
    unique = 1.0 - ((L @ factors) ** 2).sum(axis=1)
    if unique.min() <= 0:
        raise ValueError("the loadings explain more than the variance of a variable")

    def draw(rng: np.random.Generator) -> np.ndarray:
        X = rng.standard_normal((n, k)) @ (L @ factors).T
        X += rng.standard_normal((n, len(L))) * np.sqrt(unique)
        return np.digitize(X, points).astype(float) if len(points) else X

    return draw


def resized(draw: Draw) -> Draw:
    """Return what multiplies rows that `draw` draws by lognormal numbers (exp of standard normal ones)."""

    def draw_resized(rng: np.random.Generator) -> np.ndarray:
        X = draw(rng)
        return X * np.exp(rng.standard_normal((len(X), 1)))

    return draw_resized


def dense_rows(variances: Sequence[float], n: int = 200, p: int = 20) -> Draw:
    """Return what draws rows of components of all variables with these variances, and noise of one."""

    def draw(rng: np.random.Generator) -> np.ndarray:
        V = np.linalg.qr(rng.standard_normal((p, len(variances))))[0]
        scores = rng.standard_normal((n, len(variances))) * np.sqrt(variances)
        return scores @ V.T + rng.standard_normal((n, p))

    return draw


def minor_rows(n: int, loading: float, decay: float = 1.0) -> Draw:
    """Return what draws rows of three factors of eight variables and 15 minor factors, 15 % of the variance.

    The standard deviation of the loadings of each minor factor is `decay` times that of the one before.
    """

    def draw(rng: np.random.Generator) -> np.ndarray:
        L = blocks(24, [[loading] * 8] * 3)
        M = rng.standard_normal((24, 15)) * decay ** np.arange(15)
        M *= np.sqrt(0.15 / (M**2).sum(axis=1, keepdims=True))
        return rows_of(np.hstack([L, M]), n)(rng)

    return draw


def _structure(L: np.ndarray, n: int, correlation: float = 0.0, points: Sequence[float] = ()) -> Structure:
    return Structure(rows_of(L, n, correlation, points), L.shape[1], L != 0)


def _bifactor(general: float, group: float, items: int) -> np.ndarray:
    """Return loadings of a general factor and of four groups of variables."""
    return np.hstack([np.full((4 * items, 1), general), blocks(4 * items, [[group] * items] * 4)])


def _grouped(L: np.ndarray, n: int, points: Sequence[float] = ()) -> Structure:
    """Return a structure of a general factor and groups: as many components as groups."""
    return Structure(rows_of(L, n, 0.0, points), L.shape[1] - 1, L[:, 1:] != 0)


CROSSED = blocks(30, [[0.7] * 6] * 3)
CROSSED[[0, 6, 12], [1, 2, 0]] = 0.3

#: Components whose variables are to be found.
DESIGNS = {
    "disjoint: 6, 6, 6 of 30, n 200": _structure(blocks(30, [[0.7] * 6] * 3), 200),
    "overlapping: three of 8, two shared, n 200": _structure(blocks(30, [[0.6] * 8] * 3, shared=2), 200),
    "weak: .8, .8 and .5 of 4 variables, n 200": _structure(
        blocks(25, [[0.8] * 6, [0.8] * 6, [0.5] * 4]), 200
    ),
    "unequal: 10, 6, 3 of 30, n 200": _structure(blocks(30, [[0.7] * 10, [0.7] * 6, [0.7] * 3]), 200),
    "general factor (.6), four groups (.4) of 5, n 400": _grouped(_bifactor(0.6, 0.4, 5), 400),
    "four scales of 5, r .5, five points, n 500": _structure(blocks(20, [[0.7] * 5] * 4), 500, 0.5, POINTS),
    "cross-loadings of .3, 6, 6, 6 of 30, n 200": Structure(
        rows_of(CROSSED, 200), 3, blocks(30, [[0.7] * 6] * 3) != 0
    ),
    "20, 20 of 300, n 60": _structure(blocks(300, [[0.8] * 20] * 2), 60),
    "graded .9 to .2: 10, 10 of 30, n 200": _structure(blocks(30, [np.linspace(0.9, 0.2, 10)] * 2), 200),
    "few rows: 4, 4 of 20, n 40": _structure(blocks(20, [[0.7] * 4] * 2), 40),
    "rows of lognormal size: 6, 6, 6 of 30, n 200": Structure(
        resized(rows_of(blocks(30, [[0.7] * 6] * 3), 200)), 3, blocks(30, [[0.7] * 6] * 3) != 0
    ),
}

#: Items of a questionnaire: four correlated scales of 8, 7, 5 and 3.
QUESTIONNAIRE = blocks(23, [[0.7] * 8, [0.7] * 7, [0.7] * 5, [0.7] * 3])
#: Partitions that are to be found exactly.
PARTITIONS = {
    "scales of 8, 7, 5, 3, r .5, five points, n 1000": _structure(QUESTIONNAIRE, 1000, 0.5, POINTS),
    "five scales of 5, r .5, five points, n 1000": _structure(blocks(25, [[0.7] * 5] * 5), 1000, 0.5, POINTS),
}

#: Components that are to be counted.
NUMBERS = {
    "general factor (.6), four groups (.4) of 4, n 400": _grouped(_bifactor(0.6, 0.4, 4), 400),
    "the same, five points, n 1500": _grouped(_bifactor(0.6, 0.4, 4), 1500, POINTS),
    "four factors of 4, r .5, n 200": _structure(blocks(16, [[0.7] * 4] * 4), 200, 0.5),
    "five factors of 5, r .5, five points, n 1000": _structure(
        blocks(25, [[0.7] * 5] * 5), 1000, 0.5, POINTS
    ),
    "15 minor factors, n 300": Structure(minor_rows(300, 0.7), 3),
    "15 minor factors, n 2000": Structure(minor_rows(2000, 0.7), 3),
    "15 minor factors, n 10,000": Structure(minor_rows(10_000, 0.7), 3),
    "minor factors of unequal size, n 300": Structure(minor_rows(300, 0.6, 0.8), 3),
    "minor factors of unequal size, n 2000": Structure(minor_rows(2000, 0.6, 0.8), 3),
    "weak third (.5 of 4), n 200": DESIGNS["weak: .8, .8 and .5 of 4 variables, n 200"],
    "unequal 10, 6, 3, n 200": DESIGNS["unequal: 10, 6, 3 of 30, n 200"],
    "three of 8, two shared, n 200": DESIGNS["overlapping: three of 8, two shared, n 200"],
    "three of all 20, variances 6, 4, 2.5, n 200": Structure(dense_rows([6, 4, 2.5]), 3),
    "three of all 20, variances 5, 3, 2, n 200": Structure(dense_rows([5, 3, 2]), 3),
}
