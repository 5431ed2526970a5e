"""The number of components that predict held-out rows, by sparse fits with at most p loadings in total.

With many rows, every minor component improves the prediction by PCA. Fits with one loading per variable on
average do not use minor components, because their variables are needed in other components. PCA itself is
also compared, but must predict more, so that components of all variables are accepted if they predict much
more than sparse fits.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import cached_property, partial

import numpy as np
import pandas as pd

from spcastat.assess.cross_validation import Errors
from spcastat.assess.folds import (
    MOMENTS_VARIABLES,
    HeldMoments,
    HeldOutRows,
    MomentFolds,
    PlainRows,
    RowFolds,
    SparseModel,
    WeightedCells,
    batched_press,
    batched_squares,
)
from spcastat.assess.many_sets import (
    SETS,
    DataSets,
    Matrices,
    of_rotated,
    of_sequence,
    partitions,
    pruned,
    sets_of,
    sizes,
)
from spcastat.inputs.data import Data
from spcastat.inputs.samplers import FoldRows
from spcastat.linalg.accumulate import weights_or_ones
from spcastat.progress import run_jobs, stage


@dataclass(frozen=True)
class PredictionTuning:
    """Constants for comparing numbers of components; benchmarks/results/trust.md shows the choices.

    Attributes
    ----------
    folds : int
    divisions, divisions_of_many : int
        Number of divisions into folds for up to `SetsTuning.decomposed_variables` variables, and for more.
        For the wine data, four divisions into five folds gave 2 or 4 components, depending on the seed, and
        two divisions into ten folds always 4.
    sizes : int
        How many numbers of loadings are compared, for partitions and for supports of rotated loadings, with
        each number of components.
    least : float
        A further component must increase the predicted variance by this share of the variance of one
        variable. Values of .15 to .25 gave the same results for real questionnaires; simulated minor factors
        need .2.
    errors : float
        The gain of a further component must also exceed this number of standard errors.
    price_of_density : float
        The gain that p further loadings of PCA must have, in multiples of the gain that a further component
        must have. In 40 data sets each with three components of all 20 variables (variances 6, 4, 2.5 and 5,
        3, 2, with noise of variance 1), k was right in .33 and .30 of the sets without PCA, in 1.00 and .95
        at a price of 1, in .95 and .85 at 1.5, and in .95 and .60 at 2. With 15 minor factors of unequal size
        it was right in .78 (300 rows) and .82 (2,000 rows) without PCA, and in .70 and .57, .78 and .82, .78
        and .82 at these prices.
    kmax : int
        Number of components that are compared at first; more are compared if the last ones are accepted.
    misses : int
        The comparison ends when this many successive numbers of components are not accepted: groups may split
        in an order that helps only after two splits.
    late_misses : int
        The same, once the first `kmax` numbers have been compared.
    """

    folds: int = 10
    divisions: int = 2
    divisions_of_many: int = 1
    sizes: int = 8
    least: float = 0.2
    errors: float = 2.0
    price_of_density: float = 1.5
    kmax: int = 8
    misses: int = 4
    late_misses: int = 2


PREDICTION = PredictionTuning()


@dataclass(frozen=True, eq=False)
class Prediction:
    """The prediction of held-out rows by 1, 2, ... components.

    Attributes
    ----------
    errors : Errors
        Errors of the best-predicting fit with each number of components.
    p : int
        Number of variables.
    least : float
        Required gain of each further component, as a share of the mean variance of a variable.
    dense_errors : Errors or None
        Errors of PCA with each number of components; None for more than `SetsTuning.decomposed_variables`.
    """

    errors: Errors
    p: int
    least: float = PREDICTION.least
    dense_errors: Errors | None = None

    @property
    def number(self) -> int:
        """The number C of components that predict held-out rows."""
        return self._comparison[0]

    @property
    def compares_pca(self) -> bool:
        """Whether a number of components is compared by PCA, with more than p loadings."""
        return any(addition.density for addition in self._comparison[1])

    @property
    def by_division(self) -> tuple[int, ...]:
        """The number of components for each division into folds alone."""
        sparse = list(self.errors.divisions())
        dense = [None] * len(sparse) if self.dense_errors is None else self.dense_errors.divisions()
        return tuple(self._counted(*pair)[0] for pair in zip(sparse, dense, strict=True))

    @property
    def table(self) -> pd.DataFrame:
        """One row per number: "predicted", "gain" over the last number accepted, "gain_se", and "counts".

        "predicted" is the share of the variance of held-out cells; gains are in multiples of the mean
        variance of a variable; "counts" marks the numbers that are accepted.
        """
        additions = self._comparison[1]
        columns = ["predicted", "gain", "gain_se", "counts"]
        rows = [
            (addition.predicted, addition.gain, addition.gain_se, addition.counts) for addition in additions
        ]
        return pd.DataFrame(rows, columns=columns).astype({"counts": bool})

    @property
    def close(self) -> tuple[int, ...]:
        """The numbers whose gain is within one standard error of the required gain."""
        additions = self._comparison[1]
        return tuple(k for k, addition in enumerate(additions, 1) if addition.is_close)

    def required_gain(self, k: int) -> float:
        """Return the gain over the last number that counts which the fit with k components must reach."""
        addition = self._comparison[1][k - 1]
        return addition.gain - addition.surplus

    def denser_by(self, k: int) -> int:
        """Return by how many times p the loadings of k components exceed the fit over which they gain."""
        return self._comparison[1][k - 1].denser_by

    @cached_property
    def _comparison(self) -> tuple[int, list[_Addition]]:
        """The number of components, and the comparison of every number, for all divisions into folds."""
        return self._counted(self.errors, self.dense_errors)

    def _counted(self, errors: Errors, dense: Errors | None) -> tuple[int, list[_Addition]]:
        """Return the number of components, and the comparison of every number with the last one that counts.

        It is PCA's where PCA predicts more beyond its price; PCA counts only right after this one.
        """
        last_number, reference, density, additions = 0, errors.of_means, 0, list[_Addition]()
        for k in range(1, errors.press.shape[2] + 1):
            addition = self._addition(errors, k, reference, k - last_number)
            if dense is not None and k > 1:
                price = k - last_number + PREDICTION.price_of_density * (k - 1 - density)
                of_pca = self._addition(dense, k, reference, price)
                of_pca = replace(
                    of_pca,
                    counts=of_pca.counts and k == last_number + 1,
                    density=k - 1,
                    denser_by=k - 1 - density,
                )
                if (of_pca.counts, of_pca.surplus) > (addition.counts, addition.surplus):
                    addition = of_pca
            additions.append(addition)
            if addition.counts:
                last_number, reference, density = k, addition.relative, addition.density
        return last_number, additions

    def _addition(self, errors: Errors, k: int, reference: np.ndarray, price: float) -> _Addition:
        """Return the comparison of k components with the reference; the gain must be `price` x `least`."""
        relative = errors.relative[:, :, k - 1 : k]
        gain = self.p * float(errors.average(reference - relative)[0])
        gain_se = self.p * float(errors.spread(reference - relative)[0])
        surplus = gain - self.least * price
        predicted = 1.0 - float(errors.error[k - 1])
        counts = gain > PREDICTION.errors * gain_se and surplus >= 0
        return _Addition(relative, predicted, gain, gain_se, surplus, counts)


@dataclass(frozen=True, eq=False)
class _Addition:
    """The comparison of a number of components with the last number accepted.

    Attributes
    ----------
    relative : ndarray
        Errors by fold, relative to the errors of the means.
    predicted : float
        The predicted share of the variance of held-out cells.
    gain, gain_se : float
        The gain in multiples of the mean variance of a variable, and its standard error.
    surplus : float
        The gain minus the required gain.
    counts : bool
        Whether the number is accepted.
    density : int
        The number of loadings exceeds the limit of p by this multiple of p.
    denser_by : int
        The number of loadings exceeds that of the last number accepted by this multiple of p, or the limit of
        p if sparse fits predict that number best.
    """

    relative: np.ndarray
    predicted: float
    gain: float
    gain_se: float
    surplus: float
    counts: bool
    density: int = 0
    denser_by: int = 0

    @property
    def is_close(self) -> bool:
        """Whether the gain is within one standard error of the required gain."""
        required_gain = max(self.gain - self.surplus, PREDICTION.errors * self.gain_se)
        return abs(self.gain - required_gain) < self.gain_se


def degenerate(V: np.ndarray) -> np.ndarray:
    """Return whether a component of loadings V, shape (..., p, k), has one variable or none, shape (...)."""
    return np.asarray((np.count_nonzero(V, axis=-2) < 2).any(axis=-1))


def divisions(p: int) -> int:
    """Return the number of divisions into folds for data with p variables."""
    return PREDICTION.divisions if p <= SETS.decomposed_variables else PREDICTION.divisions_of_many


def prediction(
    data: Data,
    kmax: int,
    limit: int,
    least: float,
    seed: int,
    unit: float,
    pull: bool,
    disjoint: bool,
    exceeding: Callable[[int], int],
    n_jobs: int = 1,
) -> Prediction:
    """Compare numbers of components by held-out prediction, up to the first that does not exceed noise.

    Parameters
    ----------
    data : Data
        Rows in memory, or a covariance matrix.
    kmax, limit : int
        Number of components that are compared, and the largest number, as long as the last are accepted.
    least : float
        See :class:`Prediction`.
    seed : int
    unit, pull
        As for `Data.noise`.
    disjoint : bool
        Whether only partitions are compared, and not supports of rotated loadings.
    exceeding : callable
        Returns how many of a number of components exceed noise, up to the first that does not.
    n_jobs : int
        Number of processes that share the folds, if there are too many variables to fit all folds at once.
    """
    rows = data.fold_rows(PREDICTION.folds, divisions(data.p), seed, unit, pull)
    least_rows = min(
        int((division != fold).sum()) for division in rows.labels for fold in range(division.max() + 1)
    )
    limit = max(1, min(limit, least_rows - 1, rows.Z.shape[1] - 1))
    predictor, end = _Predictor(rows, disjoint, n_jobs), limit
    sparse_press, dense_press = list[np.ndarray](), list[np.ndarray]()
    with stage("prediction", limit, "numbers of components") as advance:
        while len(sparse_press) < end:
            numbers = predictor.next_numbers(len(sparse_press), end)
            sparse_press += predictor.press(numbers)
            dense_press += predictor.dense_press(numbers)
            advance(len(numbers))
            dense_errors = predictor.errors(dense_press) if dense_press else None
            result = Prediction(predictor.errors(sparse_press), predictor.p, least, dense_errors)
            misses = len(sparse_press) - result.number
            if misses >= PREDICTION.misses or (
                len(sparse_press) >= kmax and misses >= PREDICTION.late_misses
            ):
                break
            if len(sparse_press) >= kmax and limit == kmax:
                break
            beside_noise = exceeding(result.number + 1)
            if beside_noise <= result.number:  # no more can be chosen; the next one is compared for its gain
                end = min(limit, beside_noise + 1)
    return result


class _Predictor:
    """Fits with k components, and their errors, for every fold of rows."""

    def __init__(self, rows: FoldRows, disjoint: bool, n_jobs: int) -> None:
        self.p, self.disjoint, self.n_jobs = rows.Z.shape[1], disjoint, n_jobs
        self.is_wide = len(rows.Z) < self.p
        self.by_rows = self.p > SETS.decomposed_variables and (
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
        self.replaced_cells: list[WeightedCells] | None = None
        if rows.replaced_cells is not None:
            self.replaced_cells = self._replaced_cells(rows, rows.replaced_cells)
        self.mean, self.weight = np.zeros(self.count), np.zeros(self.count)
        self.eigenvectors = 0  # number of components whose eigenvectors have been computed
        self.sets: Matrices | None = None
        self.stacked: tuple[np.ndarray, np.ndarray] | None = None
        if self.p <= SETS.decomposed_variables:
            self.stacked = self._stacked()

    def _replaced_cells(self, rows: FoldRows, is_replaced: np.ndarray) -> list[WeightedCells]:
        """Return the held-out rows with replaced cells, and the weights of these cells, for each fold."""
        w = weights_or_ones(rows.weights, len(rows.Z))
        cells = []
        for number in range(self.count):
            out = rows.labels[number // self.folds.count] == number % self.folds.count
            mask = out & is_replaced.any(axis=1)
            standard = rows.rules.of_rows(rows.Z[~out], w[~out])[0]
            cells.append(((rows.Z[mask] - standard.mean) / standard.scale, is_replaced[mask] * w[mask, None]))
        return cells

    def _stacked(self) -> tuple[np.ndarray, np.ndarray]:
        """Return covariance matrices outside the folds and cross-products of the folds, both (f, p, p)."""
        all_columns, S, H = np.arange(self.p), [], []
        for number in range(self.count):
            op, holdout = self.folds.split(number)
            assert isinstance(holdout, HeldMoments)
            self.mean[number], self.weight[number] = self._totals(number, holdout)
            S.append(op.block(all_columns))
            H.append(holdout.block(all_columns))
        return np.stack(S), np.stack(H)

    def _totals(self, number: int, holdout: HeldOutRows) -> tuple[float, float]:
        """Return the sum of squares of a fold and its weight, both without replaced cells."""
        squares, weight = float(holdout.squares.sum()), holdout.weight
        if self.replaced_cells is not None:
            Z, weights = self.replaced_cells[number]
            squares -= float((Z**2 * weights).sum())
            weight -= float(weights.sum()) / self.p
        return squares, weight

    def next_numbers(self, start: int, limit: int) -> range:
        """Return the next numbers of components: one if folds are held in memory, otherwise several."""
        step = 1 if self.stacked is not None else PREDICTION.late_misses if start else PREDICTION.misses
        return range(start + 1, min(start + step, limit) + 1)

    def press(self, numbers: range) -> list[np.ndarray]:
        """Return the errors of the best fit by fold, shape (f,), for each number of components."""
        if numbers[-1] > self.eigenvectors:
            self.eigenvectors = min(max(PREDICTION.kmax, 2 * self.eigenvectors, numbers[-1]), self.p)
            self.all_rows_set = sets_of([self.all_rows], self.eigenvectors)
            if self.stacked is not None:
                self.sets = Matrices(self.eigenvectors, self.stacked[0])
        start_groups = {k: partitions(self.all_rows_set, k)[0][0] for k in numbers if k > 1}
        if self.stacked is not None and self.sets is not None:
            fits = [self.fits(self.sets, k, start_groups.get(k)) for k in numbers]
            errors = [np.where(degenerate(V), np.inf, self._batched(V, *self.stacked)) for V in fits]
        else:
            errors = self._press_by_fold(numbers, start_groups)
        return [self._best_errors(errors_of_fits) for errors_of_fits in errors]

    def _press_by_fold(self, numbers: range, start_groups: dict[int, np.ndarray]) -> list[np.ndarray]:
        """Return the errors of all fits, shape (m, f), for each number of components, fold by fold."""
        work = partial(self._of_fold, numbers, start_groups)
        finished = run_jobs(work, self.count, n_jobs=self.n_jobs, what="folds", unit="folds")
        if finished.interrupted:
            raise KeyboardInterrupt
        by_fold, squares, weights = zip(*finished.results, strict=True)
        self.mean, self.weight = np.array(squares), np.array(weights)
        return [np.stack(fold_errors, axis=1) for fold_errors in zip(*by_fold, strict=True)]

    def dense_press(self, numbers: Sequence[int]) -> list[np.ndarray]:
        """Return the errors of PCA by fold, shape (f,), for each number; none if folds are not in memory."""
        if self.disjoint or self.stacked is None or self.sets is None:
            return []
        fits = [np.ascontiguousarray(self.sets.leading(k)[1])[None] for k in numbers]
        return [self._batched(V, *self.stacked)[0] for V in fits]

    def _batched(self, V: np.ndarray, S: np.ndarray, products: np.ndarray) -> np.ndarray:
        """Return `batched_press` without the errors of replaced cells, shape (m, f)."""
        press = batched_press(V, S, products)
        return press if self.replaced_cells is None else press - batched_squares(V, S, self.replaced_cells)

    def _best_errors(self, errors: np.ndarray) -> np.ndarray:
        """Return the errors of the best of m fits by fold, shape (f,).

        Fits are left out if a component has one variable or none in more than half of the folds. Other fits
        predict by the means in the folds in which this occurs.
        """
        errors = errors[np.isinf(errors).mean(axis=1) <= 0.5]
        errors = np.vstack([np.where(np.isinf(errors), self.mean, errors), self.mean])
        return np.asarray(errors[int(np.argmin(errors.sum(axis=1)))])

    def _of_fold(
        self, numbers: Sequence[int], start_groups: dict[int, np.ndarray], number: int
    ) -> tuple[list[np.ndarray], float, float]:
        """Return errors of all fits in a fold, shape (m,), for each number of components, and its totals."""
        op, holdout = self.folds.split(number)
        sets = sets_of([op], numbers[-1])
        errors_by_number = []
        for k in numbers:
            V = self.fits(sets, k, start_groups.get(k))
            models = [SparseModel.of(loadings, op) for loadings in V[:, 0]]
            press = holdout.press(models)
            if self.replaced_cells is not None:
                press -= [model.squares(*self.replaced_cells[number]) for model in models]
            errors_by_number.append(np.where(degenerate(V)[:, 0], np.inf, press))
        return errors_by_number, *self._totals(number, holdout)

    def fits(self, sets: DataSets, k: int, start_groups: np.ndarray | None) -> np.ndarray:
        """Return the fits of k components, shape (m, f, p, k)."""
        if k == 1:
            numbers = sizes(min(2, self.p), self.p, 2 * PREDICTION.sizes)
            fits = [of_rotated(sets, k, numbers)]
        else:
            numbers = sizes(min(2 * k, self.p), self.p, PREDICTION.sizes)
            fits = [pruned(sets, k, numbers, start_groups)[1]]
            if not self.disjoint:
                fits.append(of_rotated(sets, k, numbers))
        if self.is_wide and not self.disjoint and isinstance(sets, Matrices):
            fits.append(of_sequence(sets, k, numbers))
        return np.concatenate(fits)

    def errors(self, press: Sequence[np.ndarray]) -> Errors:
        """Return the errors of fits with 1, 2, ... components, given errors by fold, shape (f,) each."""
        shape = self.folds.repeats, self.folds.count
        sums = np.stack(press, axis=1).reshape(*shape, -1)
        return Errors(sums, self.mean.reshape(shape), self.weight.reshape(shape))
