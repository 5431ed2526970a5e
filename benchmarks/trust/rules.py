"""Rules of other packages for how sparse, re-implemented from their definitions for the comparison.

Each takes the fits V (p, k) of a grid of cardinalities, the same for all rules, and returns a place in the
grid, so that what differs is the rule and not the search.

pcaPP ``opt.BIC``
    Croux, Filzmoser and Fritz (2013): residual variance of the fit over that of dense PCA
    + nonzeros log(n) / n, the smallest.
pcaPP ``opt.TPO``
    The same paper: variance explained times the number of zeros, both summed over components, the largest.
mixOmics ``tune.spca``
    The correlation of held-out scores with the scores of the fit to all rows, the mean over folds and over
    components, the largest; components are matched as in the package.
PMA ``SPC.cv``
    Cells of the first component held out at random (five parts), filled with the mean of all others, and
    predicted by d u v'; the smallest squared error. One component only: its cardinality is taken for all.
abess
    Its GIC for PCA on one component: n log(1 - v'Sv / tr S) + c log(p) log(log n), the smallest. That
    cardinality is taken for all.
held-out PEV
    The variance of held-out rows that projection on the loadings keeps, the largest mean over folds: a
    row-wise cross-validation.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from spcastat.operators import Gram
from spcastat.resample import align
from spcastat.search.default import held
from spcastat.search.pool import from_directions
from spcastat.search.sweeps import swept


def croux_bic(fits: Sequence[np.ndarray], S: np.ndarray, n: int) -> int:
    """pcaPP ``opt.BIC``."""
    k = fits[0].shape[1]
    dense = np.trace(S) - np.linalg.eigvalsh(S)[-k:].sum()
    values = [(np.trace(S) - kept(V, S)) / dense + np.count_nonzero(V) * np.log(n) / n for V in fits]
    return int(np.argmin(values))


def tpo(fits: Sequence[np.ndarray], S: np.ndarray) -> int:
    """pcaPP ``opt.TPO``."""
    return int(np.argmax([np.einsum("ij,ij->", V, S @ V) * np.sum(V == 0) for V in fits]))


def kept(V: np.ndarray, S: np.ndarray) -> float:
    """The variance that projection on the loadings keeps."""
    return float(np.trace(np.linalg.pinv(V.T @ V) @ (V.T @ S @ V)))


def score_correlation(
    fits: Sequence[np.ndarray],
    by_fold: Sequence[Sequence[np.ndarray]],
    rows: Sequence[np.ndarray],
    S: np.ndarray,
) -> int:
    """mixOmics ``tune.spca``: rows are those held out, centred by the others."""
    values = np.zeros(len(fits))
    for found, X in zip(by_fold, rows, strict=True):
        for i, (V, full) in enumerate(zip(found, fits, strict=True)):
            turned = align(V, full, Gram(S)).V
            a, b = X @ turned, X @ full
            a, b = a - a.mean(axis=0), b - b.mean(axis=0)
            size = np.sqrt((a**2).sum(axis=0) * (b**2).sum(axis=0))
            values[i] += np.abs((a * b).sum(axis=0) / np.where(size > 0, size, 1)).mean()
    return int(np.argmax(values.round(12)))


def held_out_pev(by_fold: Sequence[Sequence[np.ndarray]], rows: Sequence[np.ndarray]) -> int:
    """Row-wise cross-validation."""
    values = [
        sum(kept(V, X.T @ X) for V, X in zip(of_one, rows, strict=True))
        for of_one in zip(*by_fold, strict=True)
    ]
    return int(np.argmax(values))


def one_component(S: np.ndarray, card: int) -> np.ndarray:
    """Return a sparse component from the leading direction and the largest columns."""
    criterion = held(S / np.trace(S), (card,), "adjusted")
    leading = np.linalg.eigh(S)[1][:, -1:]
    starts = [leading, *(S[:, [j]] for j in np.argsort(-(S**2).sum(axis=0))[:3])]
    fits = swept(criterion, from_directions(criterion, starts), 8)
    return criterion.dense(fits.some(np.argsort(-fits.value)[:1]))[0][:, 0]


def pma_cv(X: np.ndarray, grid: Sequence[int], rng: np.random.Generator, parts: int = 5) -> int:
    """PMA ``SPC.cv``."""
    labels = rng.permutation(X.size).reshape(X.shape) % parts
    errors = np.zeros(len(grid))
    for part in range(parts):
        out = labels == part
        filled = np.where(out, X[~out].mean(), X)
        centred = filled - filled.mean()
        S = centred.T @ centred
        for i, card in enumerate(grid):
            v = one_component(S, card)
            fitted = np.outer(centred @ v, v) + filled.mean()
            errors[i] += ((X - fitted)[out] ** 2).sum()
    return int(np.argmin(errors))


def abess_gic(S: np.ndarray, n: int, grid: Sequence[int]) -> int:
    """The GIC of abess, on the first component."""
    p, total = len(S), np.trace(S)
    values = []
    for card in grid:
        v = one_component(S, card)
        values.append(n * np.log(1.0 - v @ S @ v / total) + card * np.log(p) * np.log(np.log(n)))
    return int(np.argmin(values))
