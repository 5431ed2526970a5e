"""Errors of predictions by fold, and the standard errors of their means and differences."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property

import numpy as np


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

    @property
    def of_means(self) -> np.ndarray:
        """Relative errors of the column means by fold, shape (repeats, folds, 1)."""
        unit = self.mean.sum(axis=1) / self.weight.sum(axis=1)
        return np.asarray(self.mean / self.weight / unit[:, None])[:, :, None]

    def divisions(self) -> Iterator[Errors]:
        """Yield the errors of every division into folds."""
        for number in range(len(self.press)):
            part = slice(number, number + 1)
            yield Errors(self.press[part], self.mean[part], self.weight[part])

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
