"""Element-wise cross-validation: every held-out cell is predicted from the other cells of its row."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from spcastat.resample import run_jobs
from spcastat.resample.folds import Folds
from spcastat.resample.sparse_model import SparseModel
from spcastat.select.fits_along_path import Cards
from spcastat.select.quick_fits import Fitter


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

    @property
    def relative(self) -> np.ndarray:
        """Mean squared errors relative to that of the column means over all folds, (repeats, folds, m)."""
        unit = self.mean.sum(axis=1) / self.weight.sum(axis=1)
        shares: np.ndarray = self.press / self.weight[:, :, None] / unit[:, None, None]
        return shares

    @property
    def shares(self) -> np.ndarray:
        """Weight of each fold within its repeat, shape (repeats, folds)."""
        weights: np.ndarray = self.weight / self.weight.sum(axis=1, keepdims=True)
        return weights

    def average(self, values: np.ndarray) -> np.ndarray:
        """Return the mean of values, shape (repeats, folds, m), over folds and repeats, shape (m,)."""
        means: np.ndarray = np.einsum("rf,rfm->rm", self.shares, values).mean(axis=0)
        return means

    def spread(self, values: np.ndarray) -> np.ndarray:
        """Return the standard error of that mean, shape (m,).

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

    @property
    def se(self) -> np.ndarray:
        """Standard error of `error`, shape (m,)."""
        return self.spread(self.relative)

    def excess(self, other: int) -> tuple[np.ndarray, np.ndarray]:
        """Return the difference of each error from that of candidate `other`, and its standard error."""
        away = self.relative - self.relative[:, :, other : other + 1]
        return self.average(away), self.spread(away)

    def surely(self, m: int) -> np.ndarray:
        """Return whether candidate j is better than i by more than one standard error, shape (m, m)."""
        differences = [self.excess(j) for j in range(m)]
        return np.stack([(away > se)[:m] for away, se in differences], axis=1)


@dataclass(frozen=True, eq=False)
class _Fold:
    """The computation for some of the folds."""

    folds: Folds
    fitter: Fitter
    cards: Sequence[Cards]
    near: Sequence[np.ndarray]
    dense: bool

    def __call__(self, numbers: Sequence[int]) -> list[tuple[np.ndarray, float, float]]:
        parted = [self.folds.split(number) for number in numbers]
        paths = self.fitter.paths([op for op, _ in parted], self.cards, self.near)
        found = []
        for (op, held), path in zip(parted, paths, strict=True):
            models = [SparseModel.of(V, op) for V in path]
            if self.dense:
                models.append(SparseModel.of(op.leading(self.fitter.k)[1], op))
            found.append((held.press(models), float(held.squares.sum()), held.weight))
        return found


def cross_validate(
    folds: Folds,
    fitter: Fitter,
    cards: Sequence[Cards],
    near: Sequence[np.ndarray],
    *,
    dense: bool = False,
    n_jobs: int = 1,
) -> Errors:
    """Return the errors of fits of each cardinality.

    Parameters
    ----------
    folds : Folds
    fitter : Fitter
    cards : sequence of tuples of k ints
    near : sequence of ndarray of shape (p, k)
        The fits to all rows, used as one of several starts in each fold.
    dense : bool
        Whether dense PCA with as many components is added as the last candidate.
    n_jobs : int
        Number of processes; the errors do not depend on it.

    Returns
    -------
    Errors

    Raises
    ------
    KeyboardInterrupt
        If the computation is interrupted, as errors of some folds only cannot be compared.
    """
    work = _Fold(folds, fitter, cards, near, dense)
    n = folds.count * folds.repeats
    at_once = fitter.together(len(folds.names))
    found = run_jobs(work, n, n_jobs=n_jobs, what="cross-validation", unit="folds", together=at_once)
    if found.interrupted:
        raise KeyboardInterrupt
    shape = (folds.repeats, folds.count)
    press = np.stack([errors for errors, _, _ in found.results]).reshape(*shape, -1)
    mean = np.array([total for _, total, _ in found.results]).reshape(shape)
    weight = np.array([rows for _, _, rows in found.results]).reshape(shape)
    return Errors(press, mean, weight)
