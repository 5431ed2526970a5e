"""Element-wise cross-validation: every held-out cell is predicted from the others of its row."""

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
        For each of m choices.
    mean : ndarray of shape (repeats, folds)
        When cells are predicted by the column means of the other rows.
    weight : ndarray of shape (repeats, folds)
        Rows, or the sums of their weights; with missing values, measured cells over the number of columns.
    """

    press: np.ndarray
    mean: np.ndarray
    weight: np.ndarray

    @property
    def relative(self) -> np.ndarray:
        """Mean squared errors as shares of that of the column means over all folds, (repeats, folds, m)."""
        unit = self.mean.sum(axis=1) / self.weight.sum(axis=1)
        shares: np.ndarray = self.press / self.weight[:, :, None] / unit[:, None, None]
        return shares

    @property
    def shares(self) -> np.ndarray:
        """The weight of each fold in the mean over its repeat, shape (repeats, folds)."""
        weights: np.ndarray = self.weight / self.weight.sum(axis=1, keepdims=True)
        return weights

    def average(self, values: np.ndarray) -> np.ndarray:
        """Return the mean of values by fold, shape (repeats, folds, m), over folds and repeats: (m,)."""
        means: np.ndarray = np.einsum("rf,rfm->rm", self.shares, values).mean(axis=0)
        return means

    def spread(self, values: np.ndarray) -> np.ndarray:
        """Return the standard error of that mean, shape (m,).

        That of the mean over the folds of one repeat, at the root mean square over the repeats, which are
        not independent: they do not make it smaller.
        """
        folds = values.shape[1]
        variances: np.ndarray = values.var(axis=1, ddof=1) / folds
        return np.sqrt(variances.mean(axis=0))

    @property
    def error(self) -> np.ndarray:
        """The relative error of each choice, shape (m,)."""
        return self.average(self.relative)

    @property
    def se(self) -> np.ndarray:
        """Its standard error, shape (m,)."""
        return self.spread(self.relative)

    def excess(self, other: int) -> tuple[np.ndarray, np.ndarray]:
        """Return by how much each choice exceeds another one, and the standard error, paired by fold."""
        away = self.relative - self.relative[:, :, other : other + 1]
        return self.average(away), self.spread(away)

    def surely(self, m: int) -> np.ndarray:
        """Return whether choice j predicts better than i by more than one standard error, shape (m, m)."""
        differences = [self.excess(j) for j in range(m)]
        return np.stack([(away > se)[:m] for away, se in differences], axis=1)


@dataclass(frozen=True, eq=False)
class _Fold:
    """The work on some of the folds."""

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
        The fits to all rows: one of several starts in each fold.
    dense : bool
        Whether dense PCA with as many components is tried as well, as the last choice.
    n_jobs : int
        Processes; the errors are the same for any number.

    Returns
    -------
    Errors

    Raises
    ------
    KeyboardInterrupt
        Where the work was interrupted: errors of some folds are no basis for a choice.
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
