"""How many components predict held-out rows: by sparse fits with at most as many loadings as variables.

With many rows every minor component improves the prediction by PCA. Fits with one loading per variable on
average do not use them, as their variables are needed elsewhere.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import pandas as pd

from spcastat.assess.errors_by_fold import Errors
from spcastat.assess.folds import (
    MOMENTS_VARIABLES,
    HeldMoments,
    HeldOutRows,
    MomentFolds,
    PlainRows,
    RowFolds,
    SparseModel,
    batched_press,
)
from spcastat.assess.many_sets import (
    DECOMPOSED_VARIABLES,
    DataSets,
    Matrices,
    of_rotated,
    of_sequence,
    partitions,
    pruned,
    sets_of,
    sizes,
)
from spcastat.config import real_number
from spcastat.inputs.data import Data
from spcastat.inputs.fold_rows import FoldRows
from spcastat.linalg.operators import Operator
from spcastat.progress import stage

#: Folds, and divisions into folds for up to FEW variables and for more. Of the wines, five folds in four
#: divisions gave 2 or 4 components by seed, ten folds in two divisions always 4.
PREDICTION_FOLDS, DIVISIONS, DIVISIONS_OF_MANY = 10, 2, 1
#: Numbers of loadings of the partitions, and of the supports of rotated loadings, for each number of
#: components.
PREDICTION_SIZES = 8
#: A further component must predict this share of the variance of one variable more. .15 to .25 gave the same
#: on real questionnaires; simulated minor factors need .2.
LEAST_PREDICTION = 0.2
#: And its gain must exceed so many standard errors.
ERRORS = 2.0
#: Number of components that are compared at first, and at least.
KMAX = 8
#: The comparison ends when so many numbers in a row do not count: groups may split in an order that helps
#: only after two splits.
MISSES = 4


@dataclass(frozen=True, eq=False)
class Prediction:
    """The prediction of held-out rows by 1, 2, ... components.

    Attributes
    ----------
    errors : Errors
        Of the best-predicting fit with each number of components.
    p : int
        Number of variables.
    least : float
        What each further component must predict more, as a share of the mean variance of a variable.
    """

    errors: Errors
    p: int
    least: float = LEAST_PREDICTION

    @property
    def number(self) -> int:
        """The number C of components that predict."""
        return self._counted(self.errors)[0]

    @property
    def by_division(self) -> tuple[int, ...]:
        """The number by every division into folds alone."""
        return tuple(self._counted(one)[0] for one in self.errors.divisions())

    @property
    def table(self) -> pd.DataFrame:
        """One row per number: "predicted", "gain" over the last that counts, "gain_se", and "counts".

        "predicted" is the share of the variance of held-out cells; gains are in variables of mean variance.
        """
        gains = self._counted(self.errors)[1]
        table = pd.DataFrame(gains, columns=["gain", "gain_se", "counts"])
        table.insert(0, "predicted", 1.0 - self.errors.error)
        return table.astype({"counts": bool})

    def _counted(self, errors: Errors) -> tuple[int, list[tuple[float, float, bool]]]:
        """Return the number; and for every number gain, standard error, and whether it counts."""
        last, rows = 0, []
        before = errors.of_means
        for k in range(1, errors.press.shape[2] + 1):
            own = errors.relative[:, :, k - 1 : k]
            gain = self.p * float(errors.average(before - own)[0])
            se = self.p * float(errors.spread(before - own)[0])
            counts = gain > ERRORS * se and gain >= self.least * (k - last)
            rows.append((gain, se, counts))
            if counts:
                last, before = k, own
        return last, rows


def degenerate(V: np.ndarray) -> np.ndarray:
    """Return whether a component of loadings V, shape (..., p, k), has one variable or none, shape (...)."""
    return np.asarray((np.count_nonzero(V, axis=-2) < 2).any(axis=-1))


def checked_least(least: float) -> float:
    """Return the checked value of `least`."""
    return real_number("least", least, 0.0, np.inf)


def divisions(p: int) -> int:
    """Return the number of divisions of rows of p variables into folds."""
    return DIVISIONS if p <= DECOMPOSED_VARIABLES else DIVISIONS_OF_MANY


def prediction(
    data: Data, kmax: int, most: int, least: float, seed: int, within: float, pull: bool, disjoint: bool
) -> Prediction:
    """Compare numbers of components by held-out prediction.

    Parameters
    ----------
    data : Data
        Rows in memory, or a covariance matrix.
    kmax, most : int
        Number of components that are compared, and the largest number as long as the last ones count.
    least : float
        See :class:`Prediction`.
    seed : int
    within, pull
        As for `Data.noise`.
    disjoint : bool
        Whether partitions are compared only, and not supports of rotated loadings.
    """
    rows = data.fold_rows(PREDICTION_FOLDS, divisions(data.p), seed, within, pull)
    least_rows = min(int((one != fold).sum()) for one in rows.labels for fold in range(one.max() + 1))
    most = max(1, min(most, least_rows - 1, rows.Z.shape[1] - 1))
    predictor = _Predictor(rows, disjoint)
    found: list[np.ndarray] = []
    with stage("prediction", most, "numbers of components") as advance:
        while len(found) < most:
            numbers = predictor.next_numbers(len(found), most)
            found += predictor.press(numbers)
            advance(len(numbers))
            result = Prediction(predictor.errors(found), rows.Z.shape[1], least)
            misses = len(found) - result.number
            if misses >= MISSES or (len(found) >= kmax and misses >= 2):
                break
            if len(found) >= kmax and most == kmax:
                break
    return result


class _Predictor:
    """Fits with k components, and their errors, for every fold of rows."""

    def __init__(self, rows: FoldRows, disjoint: bool) -> None:
        self.p, self.disjoint = rows.Z.shape[1], disjoint
        self.is_wide = len(rows.Z) < self.p
        self.by_rows = self.p > DECOMPOSED_VARIABLES and (
            len(rows.Z) < 2 * self.p or self.p > MOMENTS_VARIABLES
        )
        if self.by_rows:
            self.folds: MomentFolds | RowFolds = RowFolds(
                PlainRows(rows.Z), rows.weights, rows.labels, rows.rules
            )
        else:
            self.folds = MomentFolds(rows.Z, rows.weights, rows.labels, rows.rules)
        self.count = self.folds.count * self.folds.repeats
        self.all_rows = rows.rules.of_rows(rows.Z, rows.weights)[1]
        self.mean, self.weight = np.zeros(self.count), np.zeros(self.count)
        self.eigenvectors = 0  # number of components whose eigenvectors have been computed
        self.sets: Matrices | None = None
        self.stacked: tuple[np.ndarray, np.ndarray] | None = None
        if self.p <= DECOMPOSED_VARIABLES:
            self.stacked = self._stacked()

    def _stacked(self) -> tuple[np.ndarray, np.ndarray]:
        """Return the covariance matrices outside the folds and the cross-products inside, (f, p, p) each."""
        every, S, H = np.arange(self.p), [], []
        for number in range(self.count):
            op, held = self._split(number)
            assert isinstance(held, HeldMoments)
            S.append(op.block(every))
            H.append(held.block(every))
        return np.stack(S), np.stack(H)

    def _split(self, number: int) -> tuple[Operator, HeldOutRows]:
        op, held = self.folds.split(number)
        self.mean[number], self.weight[number] = held.squares.sum(), held.weight
        return op, held

    def next_numbers(self, done: int, most: int) -> range:
        """Return the next numbers of components: one if folds are held in memory, otherwise several."""
        step = 1 if self.stacked is not None else MISSES
        return range(done + 1, min(done + step, most) + 1)

    def press(self, numbers: range) -> list[np.ndarray]:
        """Return the errors of the best fit by fold, shape (f,), for each number of components."""
        if numbers[-1] > self.eigenvectors:
            self.eigenvectors = min(max(KMAX, 2 * self.eigenvectors, numbers[-1]), self.p)
            self.all_rows_set = sets_of([self.all_rows], self.eigenvectors)
            if self.stacked is not None:
                self.sets = Matrices(self.eigenvectors, self.stacked[0])
        near = {k: partitions(self.all_rows_set, k)[0][0] for k in numbers if k > 1}
        if self.stacked is not None and self.sets is not None:
            S, H = self.stacked
            fits = [self.fits(self.sets, k, near.get(k)) for k in numbers]
            errors = [np.where(degenerate(V), np.inf, batched_press(V, S, H)) for V in fits]
        else:
            by_fold = [self._press_of_fold(number, numbers, near) for number in range(self.count)]
            errors = [np.stack(one, axis=1) for one in zip(*by_fold, strict=True)]
        return [self._best(own) for own in errors]

    def _best(self, errors: np.ndarray) -> np.ndarray:
        """Return the errors of the best of m fits by fold, shape (f,).

        Fits are left out if a component has one variable or none in more than half of the folds; in the other
        folds such a fit predicts by the means.
        """
        errors = errors[np.isinf(errors).mean(axis=1) <= 0.5]
        errors = np.vstack([np.where(np.isinf(errors), self.mean, errors), self.mean])
        return np.asarray(errors[int(np.argmin(errors.sum(axis=1)))])

    def _press_of_fold(
        self, number: int, numbers: Sequence[int], near: dict[int, np.ndarray]
    ) -> list[np.ndarray]:
        """Return the errors of all fits in one fold, shape (m,), for each number of components."""
        op, held = self._split(number)
        sets = sets_of([op], numbers[-1])
        found = []
        for k in numbers:
            V = self.fits(sets, k, near.get(k))
            press = held.press([SparseModel.of(one, op) for one in V[:, 0]])
            found.append(np.where(degenerate(V)[:, 0], np.inf, press))
        return found

    def fits(self, sets: DataSets, k: int, near: np.ndarray | None) -> np.ndarray:
        """Return the fits of k components, shape (m, f, p, k)."""
        if k == 1:
            numbers = sizes(min(2, self.p), self.p, 2 * PREDICTION_SIZES)
            fits = [of_rotated(sets, k, numbers)]
        else:
            numbers = sizes(min(2 * k, self.p), self.p, PREDICTION_SIZES)
            fits = [pruned(sets, k, numbers, near)[1]]
            if not self.disjoint:
                fits.append(of_rotated(sets, k, numbers))
        if self.is_wide and not self.disjoint and isinstance(sets, Matrices):
            fits.append(of_sequence(sets, k, numbers))
        return np.concatenate(fits)

    def errors(self, press: Sequence[np.ndarray]) -> Errors:
        """Return errors by fold of the fits with 1, 2, ... components, shape (f,) each."""
        shape = self.folds.repeats, self.folds.count
        sums = np.stack(press, axis=1).reshape(*shape, -1)
        return Errors(sums, self.mean.reshape(shape), self.weight.reshape(shape))
