"""Folds of the rows, and cross-validated errors of predicting held-out rows.

Held-out rows are centred and scaled by the other rows, so that they influence neither the means and standard
deviations nor the fit that they are compared with.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, fields
from functools import cached_property, partial
from typing import Any

import numpy as np
import pandas as pd

from spcastat.assess.cardinalities import CardinalitySet, Fitter
from spcastat.assess.draws import Rules, draw_generator, run_jobs
from spcastat.assess.refit import FEW, Refit, SparseModel, batched_press
from spcastat.assess.row_groups import RowGroups
from spcastat.config import plural
from spcastat.errors import (
    ConstantColumnError,
    DataError,
    MissingValuesError,
    TooFewRowsError,
    WeightsError,
)
from spcastat.fit.inputs import Source
from spcastat.fit.run import rank_of
from spcastat.linalg.accumulate import CrossProducts
from spcastat.linalg.operators import Operator
from spcastat.linalg.standardisation import Standardisation
from spcastat.linalg.ties import is_sparse
from spcastat.reading.design import ReadOptions
from spcastat.reading.missing_values import Patterns
from spcastat.search.default import together


@dataclass(frozen=True, eq=False)
class HeldOutRows(ABC):
    """Held-out rows, centred and scaled by the other rows.

    Attributes
    ----------
    weight : float
        The number of rows, or the sum of their weights.
    squares : ndarray of shape (p,)
        Sums of squares of the columns.
    """

    weight: float
    squares: np.ndarray

    @abstractmethod
    def press(self, models: Sequence[SparseModel]) -> np.ndarray:
        """Return the sum of squared prediction errors of each of m models, shape (m,).

        Every value is predicted from the others in its row.
        """


@dataclass(frozen=True, eq=False)
class HeldMoments(HeldOutRows):
    """Complete held-out rows, represented by their cross-products.

    Attributes
    ----------
    block : callable
        Returns the cross-products, shape (u, u), of u variables, given their indices.
    """

    block: Callable[[np.ndarray], np.ndarray]

    def press(self, models: Sequence[SparseModel]) -> np.ndarray:
        used = np.unique(np.concatenate([model.used for model in models]))
        block = self.block(used)
        places = [np.searchsorted(used, model.used) for model in models]
        pairs = zip(models, places, strict=True)
        return np.array([model.press(self.squares, block[np.ix_(at, at)]) for model, at in pairs])


@dataclass(frozen=True, eq=False)
class MeasuredCells(HeldOutRows):
    """Held-out rows with missing values; only measured values predict and are predicted.

    The weight is the number of measured values divided by the number of columns, so that errors are means
    over values; for complete rows it is the number of rows.

    Attributes
    ----------
    Z : ndarray of shape (m, p)
        Centred and scaled rows, with zeros for missing values.
    patterns : Patterns
    row_weights : ndarray of shape (m,)
    """

    Z: np.ndarray
    patterns: Patterns
    row_weights: np.ndarray

    def press(self, models: Sequence[SparseModel]) -> np.ndarray:
        return np.array([one.press_measured(self.Z, self.patterns, self.row_weights) for one in models])


def measured_cells(Z: np.ndarray, weights: np.ndarray | None) -> MeasuredCells:
    """Prepare held-out rows for errors of their measured values.

    Z has shape (m, p): centred and scaled, with NaN for missing values.
    """
    missing = np.isnan(Z)
    w = np.ones(len(Z)) if weights is None else weights
    Z = np.where(missing, 0.0, Z)
    weight = float(w @ (~missing).sum(axis=1)) / Z.shape[1]
    return MeasuredCells(weight, w @ (Z * Z), Z, Patterns.of(missing, w), w)


class Folds(ABC):
    """Rows in `count` folds, once or several times; picklable.

    Attributes
    ----------
    count, repeats : int
    rules : Rules
    """

    count: int
    repeats: int
    rules: Rules

    @abstractmethod
    def _split(self, number: int) -> tuple[Operator, HeldOutRows]: ...

    def split(self, number: int) -> tuple[Operator, HeldOutRows]:
        """Return the operator of the rows outside a fold, at unit size, and the rows of the fold.

        Parameters
        ----------
        number : int
            Number of the fold, from 0; the folds of the second repeat follow those of the first.

        Raises
        ------
        ConstantColumnError, MissingValuesError
            If a column has only equal values, or no values, outside the fold, or a pair of columns has no
            correlation there.
        """
        try:
            return self._split(number)
        except (MissingValuesError, ConstantColumnError) as error:
            raise type(error)(
                f"Without fold {number % self.count + 1} of {self.count}: {error} More folds, which leave "
                "out fewer rows each, or another rng may do as well."
            ) from None


class MomentFolds(Folds):
    """Folds represented by their cross-products.

    Parameters
    ----------
    sums : FoldSums
    rules : Rules
    """

    def __init__(self, sums: FoldSums, rules: Rules):
        self.count, self.repeats, self.rules = sums.count, sums.repeats, rules
        self.parts, self.rows = sums.parts, sums.rows

    def _split(self, number: int) -> tuple[Operator, HeldOutRows]:
        first = number // self.count * self.count
        others = CrossProducts(len(self.rules.names))
        rows = 0
        for i in range(first, first + self.count):
            if i != number:
                others.merge(self.parts[i])
                rows += self.rows[i]
        standard, op = self.rules.of_sums(others, rows)
        own = self.parts[number]
        products = own.about(standard.mean) / np.outer(standard.scale, standard.scale)
        held = HeldMoments(own.weight, np.diag(products), lambda some: products[np.ix_(some, some)])
        return op, held


@dataclass(frozen=True, eq=False)
class PlainRows:
    """Rows of a matrix, as the `columns` of `RowFolds`; a sparse matrix in CSR format."""

    X: Any

    def __call__(self, which: np.ndarray) -> tuple[Any, Any]:
        """Return the rows in a mask, and all other rows."""
        parts = self.X[np.flatnonzero(which)], self.X[np.flatnonzero(~which)]
        return (parts[0].tocsc(), parts[1].tocsc()) if is_sparse(self.X) else parts


class RowFolds(Folds):
    """Folds of rows in memory, for many variables, methods that need rows, and formulas estimated from rows.

    Parameters
    ----------
    columns : callable
        Takes a mask of rows; returns the columns for these rows, shape (m, p), and for all other rows. The
        terms of a formula are estimated from the rows in the mask.
    weights : ndarray of shape (n,) or None
    labels : ndarray of int, shape (repeats, n)
        The fold of each row.
    rules : Rules
    k_em, k : int or None, int
        With missing values (NaN): the rank of the EM model, and the number of components, which is the
        default rank if the rows outside a fold allow it. The model does not use held-out rows.
    """

    def __init__(
        self,
        columns: Callable[[np.ndarray], tuple[Any, Any]],
        weights: np.ndarray | None,
        labels: np.ndarray,
        rules: Rules,
        k_em: int | None = None,
        k: int = 1,
    ):
        self.columns, self.weights, self.labels, self.k_em, self.k = columns, weights, labels, k_em, k
        self.repeats, self.count, self.rules = len(labels), int(labels.max()) + 1, rules

    def _split(self, number: int) -> tuple[Operator, HeldOutRows]:
        out = self.labels[number // self.count] == number % self.count
        training, own = self.columns(~out)
        w, v = (None, None) if self.weights is None else (self.weights[~out], self.weights[out])
        if self.rules.how is None:
            standard, op = self.rules.of_rows(training, w)
            return op, _held_rows(own, v, standard)
        standard, op = self.rules.of_rows(training, w, rank_of(self.k_em, self.k, w, training.shape))
        return op, measured_cells((own - standard.mean) / standard.scale, v)


def _held_rows(X: Any, weights: np.ndarray | None, standard: Standardisation) -> HeldMoments:
    """Return held-out rows, which are centred and scaled by `standard` when they are used."""

    def columns(some: np.ndarray) -> np.ndarray:
        part = X[:, some]
        part = part.toarray() if is_sparse(part) else np.asarray(part, dtype=float)
        Z = (part - standard.mean[some]) / standard.scale[some]
        return Z if weights is None else Z * np.sqrt(weights)[:, None]

    def block(some: np.ndarray) -> np.ndarray:
        Z = columns(some)
        return Z.T @ Z

    p = X.shape[1]
    pieces = (columns(np.arange(a, min(a + 500, p))) for a in range(0, p, 500))
    squares = np.concatenate([(Z**2).sum(axis=0) for Z in pieces])
    return HeldMoments(float(X.shape[0] if weights is None else weights.sum()), squares, block)


# --- assignment of rows to folds ------------------------------------------------------------------


class FoldSums:
    """The cross-products of every fold.

    Parameters
    ----------
    p, count, repeats : int

    Attributes
    ----------
    parts : list of CrossProducts
    rows : list of int
        Number of different rows in each fold.
    """

    def __init__(self, p: int, count: int, repeats: int):
        self.count, self.repeats = count, repeats
        self.parts = [CrossProducts(p) for _ in range(count * repeats)]
        self.rows = [0] * (count * repeats)

    def add_to(self, repeat: int, labels: np.ndarray, X: Any, weights: np.ndarray | None) -> None:
        """Add rows to the folds given by `labels`, shape (n,), of a repeat."""
        X = X.tocsr() if is_sparse(X) else X
        for fold in range(self.count):
            which = np.flatnonzero(labels == fold)
            if which.size:
                w = None if weights is None else weights[which]
                self.parts[repeat * self.count + fold].add(X[which], w)
                self.rows[repeat * self.count + fold] += int(which.size if w is None else np.count_nonzero(w))


def require_folds(rows: Sequence[int], count: int, k: int, weighted: bool) -> None:
    """Raise TooFewRowsError, WeightsError or DataError if the rows outside a fold cannot be fitted.

    Parameters
    ----------
    rows : sequence of int
        Number of rows with positive weight in each fold.
    count, k : int
    weighted : bool
    """
    n = sum(rows[:count])
    kind = "rows with a positive weight" if weighted else "rows"
    if n < k + 3:
        raise (WeightsError if weighted else TooFewRowsError)(
            f"There are {n} {kind}; cross-validation of {plural(k, 'component')} needs {k + 3} or more, and "
            "as many folds as rows then. Give fewer components, or use by='ebic'."
        )
    if n < count:
        raise (WeightsError if weighted else TooFewRowsError)(
            f"folds={count} was given for {n} {kind}; give at most as many folds as rows."
        )
    if min(rows) == 0:
        raise DataError(
            f"A fold of {count} is empty: rows that belong together, and equal rows, share a fold. Give "
            "fewer folds, or another rng."
        )
    least = n - max(rows)
    if least < k + 2:
        raise TooFewRowsError(
            f"The rows outside a fold, {least}, are too few for {plural(k, 'component')}; "
            "give more folds, or fewer components."
        )


# --- the folds of a source -------------------------------------------------------------------------


#: Up to this many variables, folds are represented by their cross-products.
MOMENTS = 1000


def divided(
    source: Source,
    data: Any,
    described: Mapping[str, Any],
    folds: int,
    repeats: int,
    *,
    seed: int,
    k: int,
    keep_rows: bool,
) -> Folds:
    """Divide the rows of a source into folds.

    Parameters
    ----------
    source : Source
        With rows in memory.
    data : object
        The data from which the source was opened, for a formula that is estimated from rows.
    described : Mapping
        The options with which it was opened: the fields of `ReadOptions`, and others, which are not used.
    folds, repeats : int
    seed : int
        The same seed gives the same folds for the same rows, in any order.
    k : int
        Number of components that will be fitted.
    keep_rows : bool
        Whether the method needs an operator with rows.

    Raises
    ------
    TooFewRowsError, WeightsError, DataError
        If the rows outside a fold cannot be fitted.
    """
    names: pd.Index = source.spec.columns
    rules = Rules.of(source, keep_rows)
    X, w = source.matrix, source.weights
    n, rows_of = X.shape[0], RowGroups.of(source)
    if rows_of.design is not None and rows_of.count < folds:
        raise TooFewRowsError(
            f"folds={folds} was given for {rows_of.count} {'blocks' if rows_of.block > 1 else 'clusters'}, "
            "which are held out as a whole; give at most as many folds."
        )
    labels = rows_of.folds(min(folds, n), repeats, np.random.default_rng([seed, 2]))
    kept = np.ones(n, dtype=bool) if w is None else w > 0
    counts = [int(np.sum(kept & (one == fold))) for one in labels for fold in range(min(folds, n))]
    require_folds(counts, folds, k, source.weighted)
    columns: Any = None
    if source.spec.learns and source.sampled_from is None:
        from spcastat.reading.read import FoldedTerms

        reading = [one.name for one in fields(ReadOptions) if one.name in described]
        columns = FoldedTerms(data, ReadOptions(**{name: described[name] for name in reading}))
    elif source.gaps is not None or keep_rows or len(names) > MOMENTS:
        rows = source.measured
        columns = PlainRows(rows.tocsr() if is_sparse(rows) else rows)
    if columns is not None:
        return RowFolds(columns, w, labels, rules, described.get("k_em"), k)
    sums = FoldSums(len(names), folds, repeats)
    for repeat, one in enumerate(labels):
        sums.add_to(repeat, one, X, w)
    return MomentFolds(sums, rules)


# --- cross-validation -----------------------------------------------------------------------------


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
            if isinstance(held, HeldMoments) and self.groups is None and op.p <= FEW:
                every = np.arange(op.p)
                moments = op.block(every)[None], held.block(every)[None]
                errors = batched_press(np.array(loadings)[:, None], *moments)[:, 0]
            else:
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
    folds: Folds,
    fitter: Fitter,
    cards: Sequence[CardinalitySet],
    near: list[np.ndarray],
    dense: bool,
    n_jobs: int,
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
    fitter: Fitter,
    cards: Sequence[CardinalitySet],
    near: list[np.ndarray],
    dense: bool,
    ops: list[Operator],
    _: Any,
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
