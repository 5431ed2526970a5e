"""Element-wise cross-validation: every held-out cell is predicted from the other cells of its row."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cached_property, partial
from typing import Any

import numpy as np

from spcastat.operators import Operator
from spcastat.resample import draw_generator, run_jobs
from spcastat.resample.folds import Folds
from spcastat.resample.refit import Refit
from spcastat.resample.sparse_model import SparseModel
from spcastat.search.nearby_fits import together
from spcastat.select.fits_of_cardinalities import Cards, Fitter


@dataclass(frozen=True, eq=False)
class Errors:
    """Sums of squared errors by fold.

    Attributes
    ----------
    press : ndarray of shape (repeats, folds, m)
        Sums for each of m candidates.
    mean : ndarray of shape (repeats, folds)
        Sums for prediction by the column means of the other rows.
    weight : ndarray of shape (repeats, folds)
        Number of rows, or sum of their weights; with missing values, measured cells over the number of
        columns.
    """

    press: np.ndarray
    mean: np.ndarray
    weight: np.ndarray

    @cached_property
    def relative(self) -> np.ndarray:
        """Mean squared errors relative to the error of the column means, shape (repeats, folds, m).

        The error of the column means is that over all folds of the repeat.
        """
        unit = self.mean.sum(axis=1) / self.weight.sum(axis=1)
        return np.asarray(self.press / self.weight[:, :, None] / unit[:, None, None])

    def average(self, values: np.ndarray) -> np.ndarray:
        """Return the mean of values, shape (repeats, folds, m), over folds and repeats, shape (m,)."""
        shares = self.weight / self.weight.sum(axis=1, keepdims=True)
        return np.asarray(np.einsum("rf,rfm->rm", shares, values).mean(axis=0))

    def spread(self, values: np.ndarray) -> np.ndarray:
        """Return the standard error of the mean that `average` returns, shape (m,).

        It is the standard error of the mean over the folds of one repeat, as the root mean square over
        repeats. More repeats do not reduce it, since they are not independent.
        """
        folds = values.shape[1]
        variances: np.ndarray = values.var(axis=1, ddof=1) / folds
        return np.sqrt(variances.mean(axis=0))

    @property
    def error(self) -> np.ndarray:
        """Relative error of each candidate, shape (m,)."""
        return self.average(self.relative)

    def excess(self, other: int) -> tuple[np.ndarray, np.ndarray]:
        """Return the difference of each error from that of candidate `other`, and its standard error."""
        away = self.relative - self.relative[:, :, other : other + 1]
        return self.average(away), self.spread(away)

    def surely(self, m: int) -> np.ndarray:
        """Return whether candidate j is better than i by more than one standard error, shape (m, m)."""
        differences = [self.excess(j) for j in range(m)]
        return np.stack([(away > se)[:m] for away, se in differences], axis=1)


#: Takes a list of operators, one per fold and each of the rows outside that fold, and the numbers of these
#: folds. Returns for each fold the loadings to be evaluated on it.
Fitted = Callable[[list[Operator], Sequence[int]], Sequence[Sequence[np.ndarray]]]


@dataclass(frozen=True, eq=False)
class _Fold:
    """A callable that computes the prediction errors for some of the folds."""

    folds: Folds
    fitted: Fitted
    groups: np.ndarray | None

    def __call__(self, numbers: Sequence[int]) -> list[tuple[np.ndarray, float, float]]:
        parted = [self.folds.split(number) for number in numbers]
        fits = self.fitted([op for op, _ in parted], numbers)
        found = []
        for (op, held), loadings in zip(parted, fits, strict=True):
            errors = held.press([SparseModel.of(V, op, self.groups) for V in loadings])
            found.append((errors, float(held.squares.sum()), held.weight))
        return found


def _errors(
    folds: Folds, fitted: Fitted, together: int, n_jobs: int, what: str, groups: np.ndarray | None = None
) -> Errors:
    """Return the errors of loadings fitted to the rows outside each fold, `together` folds at once.

    Raises
    ------
    KeyboardInterrupt
        If the computation is interrupted, as errors of some folds only cannot be compared.
    """
    n, shape = folds.count * folds.repeats, (folds.repeats, folds.count)
    job = _Fold(folds, fitted, groups)
    found = run_jobs(job, n, n_jobs=n_jobs, what=what, unit="folds", together=together)
    if found.interrupted:
        raise KeyboardInterrupt
    press, mean, weight = map(np.array, zip(*found.results, strict=True))
    return Errors(press.reshape(*shape, -1), mean.reshape(shape), weight.reshape(shape))


def cross_validate(
    folds: Folds, fitter: Fitter, cards: Sequence[Cards], near: list[np.ndarray], dense: bool, n_jobs: int
) -> Errors:
    """Return the errors of fits of each cardinality.

    Parameters
    ----------
    folds : Folds
    fitter : Fitter
    cards : sequence of tuples of k ints
    near : list of ndarray of shape (p, k)
        The fits to all rows, used as one of several starts in each fold.
    dense : bool
        Whether dense PCA with as many components is added as the last candidate.
    n_jobs : int
        Number of processes; the errors do not depend on it.

    Returns
    -------
    Errors
    """
    paths = partial(_along_path, fitter, cards, near, dense)
    p = len(folds.rules.names)
    at_once = together(p) if fitter.plan is None else 1
    return _errors(folds, paths, at_once, n_jobs, "cross-validation", fitter.groups(p))


def _along_path(
    fitter: Fitter, cards: Sequence[Cards], near: list[np.ndarray], dense: bool, ops: list[Operator], _: Any
) -> list[list[np.ndarray]]:
    paths = fitter.paths(ops, cards, near)
    if not dense:
        return paths
    return [[*path, op.leading(fitter.k)[1]] for op, path in zip(ops, paths, strict=True)]


def held_out(folds: Folds, refit: Refit, *, seed: int, n_jobs: int = 1) -> Errors:
    """Return the errors of one method, which is applied to the rows outside each fold.

    Parameters
    ----------
    folds : Folds
    refit : Refit
    seed : int
        Seed for methods with random numbers.
    n_jobs : int
    """
    return _errors(folds, partial(_refitted, refit, seed), refit.together or 1, n_jobs, "held-out error")


def _refitted(
    refit: Refit, seed: int, ops: Sequence[Operator], numbers: Sequence[int]
) -> list[list[np.ndarray]]:
    rngs = [draw_generator(seed, number) for number in numbers]
    begun = [refit.begun(op, rng) for op, rng in zip(ops, rngs, strict=True)]
    return [[V] for V in refit.ended(ops, begun)]
