"""Rules of other packages for numbers of components and cardinalities, reimplemented from their sources.

Each takes the fits V (p, k) of a grid of cardinalities, the same for all rules, and returns a place in the
grid (mixOmics: a cardinality for each component), so that what differs is the rule and not the search.

pcaPP ``opt.BIC``
    Croux, Filzmoser and Fritz (2013): residual variance |X - X V V'|^2 of the fit over that of dense PCA
    + nonzeros log(n) / n, the smallest. The source divides by n in a variant that it does not call: its
    default adds nonzeros log(n), which chooses the sparsest fit whatever the data.
pcaPP ``opt.TPO``
    The same paper: variance explained times the number of zeros, both summed over components, the largest.
    The source chooses the penalty of one component after another.
mixOmics ``tune.spca``
    One component after another, the earlier at what was chosen: the correlation of held-out scores with those
    of the fit to all rows, the mean over folds, three times; the test rows are centred by themselves and
    deflated by regression. A larger cardinality is taken where a t-test over the repeats says, at .05, that
    its correlation is larger than that of the one taken so far.
PMA ``SPC.cv``
    Cells of the first component held out at random (five parts), filled with the mean of all others, and
    predicted by d u v'; the smallest squared error. One component only: its cardinality is taken for all.
abess
    Its GIC for PCA on one component: -2 v'Sv + c log(p) log(log n), the smallest. That cardinality is taken
    for all. The variance is not multiplied by n, so that the price of a variable is far above what it brings.
held-out PEV
    The variance of held-out rows that projection on the loadings keeps, the largest mean over folds: a
    row-wise cross-validation.
"""

from __future__ import annotations

import warnings
from collections.abc import Sequence

import numpy as np
from scipy.stats import ttest_ind

from spcastat.search.chains import from_directions
from spcastat.search.climbing import sweep
from spcastat.search.criteria import criterion_of_matrix

#: Of `tune_spca`.
FOLDS, REPEATS = 5, 3


def croux_bic(fits: Sequence[np.ndarray], S: np.ndarray, n: int) -> int:
    """pcaPP ``opt.BIC``."""
    k = fits[0].shape[1]
    dense = np.trace(S) - np.linalg.eigvalsh(S)[-k:].sum()
    left = [np.trace(_residual(V, S)) for V in fits]
    values = [rss / dense + np.count_nonzero(V) * np.log(n) / n for rss, V in zip(left, fits, strict=True)]
    return int(np.argmin(values))


def _residual(V: np.ndarray, S: np.ndarray) -> np.ndarray:
    """The covariance matrix of X - X V V'."""
    A = np.eye(len(S)) - V @ V.T
    return np.asarray(A @ S @ A.T)


def tpo(fits: Sequence[np.ndarray], S: np.ndarray) -> int:
    """pcaPP ``opt.TPO``."""
    return int(np.argmax([np.einsum("ij,ij->", V, S @ V) * np.sum(V == 0) for V in fits]))


def kept(V: np.ndarray, S: np.ndarray) -> float:
    """The variance that projection on the loadings keeps."""
    return float(np.trace(np.linalg.pinv(V.T @ V) @ (V.T @ S @ V)))


def tune_spca(X: np.ndarray, k: int, grid: Sequence[int], rng: np.random.Generator) -> tuple[int, ...]:
    """mixOmics ``tune.spca``: the cardinality of each component."""
    cards: list[int] = []
    parts = [rng.permutation(len(X)) % FOLDS for _ in range(REPEATS)]
    for _ in range(k):
        found = np.zeros((REPEATS, len(grid)))
        full = _extended(X, cards, grid)
        for r, labels in enumerate(parts):
            for fold in range(FOLDS):
                out = labels == fold
                trained = _extended(X[~out], cards, grid)
                for i, (V, whole) in enumerate(zip(trained, full, strict=True)):
                    found[r, i] += _agreement(X[out], V, _scores(X, whole)[out]) / FOLDS
        best = 0
        for i in range(1, len(grid)):
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")  # equal correlations
                p = ttest_ind(found[:, best], found[:, i], equal_var=False, alternative="less").pvalue
            best = i if p < 0.05 else best
        cards.append(grid[best])
    return tuple(cards)


def _extended(X: np.ndarray, cards: Sequence[int], grid: Sequence[int]) -> list[np.ndarray]:
    """Return loadings (p, j + 1) of the components at `cards` and one more at every cardinality of a grid."""
    Y, columns = X - X.mean(axis=0), []
    for card in cards:
        columns.append(one_component(Y.T @ Y, card))
        Y = _deflated(Y, columns[-1])
    S = Y.T @ Y
    return [np.column_stack([*columns, one_component(S, card)]) for card in grid]


def _deflated(Y: np.ndarray, v: np.ndarray) -> np.ndarray:
    """Return what regression on the scores leaves."""
    t = Y @ v
    return np.asarray(Y - np.outer(t, Y.T @ t) / max(t @ t, np.finfo(float).tiny))


def _scores(X: np.ndarray, V: np.ndarray) -> np.ndarray:
    """Return the scores of the last component, the earlier ones taken out."""
    Y = X - X.mean(axis=0)
    for v in V.T[:-1]:
        Y = _deflated(Y, v)
    return np.asarray(Y @ V[:, -1])


def _agreement(X: np.ndarray, V: np.ndarray, whole: np.ndarray) -> float:
    """Return the absolute correlation of held-out scores with those of the fit to all rows."""
    t = _scores(X, V)
    a, b = t - t.mean(), whole - whole.mean()
    size = np.sqrt((a @ a) * (b @ b))
    return float(abs(a @ b) / size) if size > 0 else 0.0


def held_out_pev(by_fold: Sequence[Sequence[np.ndarray]], rows: Sequence[np.ndarray]) -> int:
    """Row-wise cross-validation."""
    values = [
        sum(kept(V, X.T @ X) for V, X in zip(of_one, rows, strict=True))
        for of_one in zip(*by_fold, strict=True)
    ]
    return int(np.argmax(values))


def one_component(S: np.ndarray, card: int) -> np.ndarray:
    """Return a sparse component from the leading direction and the largest columns."""
    criterion = criterion_of_matrix(S / np.trace(S), (card,), "adjusted")
    leading = np.linalg.eigh(S)[1][:, -1:]
    starts = [leading, *(S[:, [j]] for j in np.argsort(-(S**2).sum(axis=0))[:3])]
    fits = sweep(criterion, from_directions(criterion, starts), 8)
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
    p, values = len(S), []
    for card in grid:
        v = one_component(S, card)
        values.append(-2.0 * v @ S @ v + card * np.log(p) * np.log(np.log(n)))
    return int(np.argmin(values))
