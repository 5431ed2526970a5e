"""Folds for cross-validation: the covariance matrix of the rows outside each fold, and the held-out rows.

Held-out rows are centred and scaled by the other rows, so that they influence neither the means and standard
deviations nor the fit that they are compared with.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, Self

import numpy as np
import pandas as pd

from spcastat.config import plural
from spcastat.errors import ConstantColumnError, DataError, MissingValuesError, TooFewRowsError, WeightsError
from spcastat.kernels.sparsity import is_sparse
from spcastat.operators import CrossProducts, Operator, Standardisation, prepare
from spcastat.operators.build import Given, from_products
from spcastat.operators.scaling_groups import Scale
from spcastat.resample.sparse_model import SparseModel


@dataclass(frozen=True, eq=False)
class Held(ABC):
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
class HeldMoments(Held):
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
        errors = [
            model.press(self.squares, block[np.ix_(at, at)]) for model, at in zip(models, places, strict=True)
        ]
        return np.array(errors)


class Folds(ABC):
    """Rows in `count` folds, once or several times; picklable.

    Attributes
    ----------
    count, repeats : int
    center, scale : bool or ndarray of shape (p,)
    names : pandas.Index of length p
    """

    count: int
    repeats: int
    center: Given
    scale: Scale
    names: pd.Index

    @abstractmethod
    def _split(self, number: int) -> tuple[Operator, Held]: ...

    def split(self, number: int) -> tuple[Operator, Held]:
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
    center, scale, names
        See :class:`Folds`.
    """

    def __init__(self, sums: FoldSums, center: Given, scale: Scale, names: pd.Index):
        self.count, self.repeats = sums.count, sums.repeats
        self.parts, self.rows = sums.parts, sums.rows
        self.center, self.scale, self.names = center, scale, names

    def _split(self, number: int) -> tuple[Operator, Held]:
        first = number // self.count * self.count
        others = CrossProducts(len(self.names))
        rows = 0
        for i in range(first, first + self.count):
            if i != number:
                others.merge(self.parts[i])
                rows += self.rows[i]
        standard, op = from_products(others, rows, self.center, self.scale, self.names)
        own = self.parts[number]
        products = own.about(standard.mean) / np.outer(standard.scale, standard.scale)
        held = HeldMoments(own.weight, np.diag(products), lambda some: products[np.ix_(some, some)])
        return op.at_unit_size(), held


@dataclass(frozen=True, eq=False)
class PlainRows:
    """Rows of a matrix, as the `columns` of `RowFolds`; a sparse matrix in CSR format."""

    X: Any

    def __call__(self, which: np.ndarray) -> tuple[Any, Any]:
        """Return the rows in a mask, and all other rows."""
        parts = self.X[np.flatnonzero(which)], self.X[np.flatnonzero(~which)]
        return (parts[0].tocsc(), parts[1].tocsc()) if is_sparse(self.X) else parts


class RowFolds(Folds):
    """Folds of rows in memory: for many variables, methods that need rows, and formulas that learn from rows.

    Parameters
    ----------
    columns : callable
        Takes a mask of rows; returns the columns, shape (m, p), of these rows and those of all other rows. A
        formula that learns from rows learns from the rows in the mask.
    weights : ndarray of shape (n,) or None
    labels : ndarray of int, shape (repeats, n)
        The fold of each row.
    center, scale, names
        See :class:`Folds`.
    keep_rows : bool
        Whether the method needs an operator with rows.
    """

    def __init__(
        self,
        columns: Callable[[np.ndarray], tuple[Any, Any]],
        weights: np.ndarray | None,
        labels: np.ndarray,
        center: Given,
        scale: Scale,
        names: pd.Index,
        keep_rows: bool = False,
    ):
        self.columns, self.weights, self.labels, self.keep_rows = columns, weights, labels, keep_rows
        self.repeats, self.count = len(labels), int(labels.max()) + 1
        self.center, self.scale, self.names = center, scale, names

    def _split(self, number: int) -> tuple[Operator, Held]:
        out = self.labels[number // self.count] == number % self.count
        w = (None, None) if self.weights is None else (self.weights[~out], self.weights[out])
        return self._parted(*self.columns(~out), *w)

    def _parted(
        self, training: Any, own: Any, w: np.ndarray | None, own_weights: np.ndarray | None
    ) -> tuple[Operator, Held]:
        """Return the operator of the rows outside a fold, and its own rows, given the weights of both."""
        standard, op = prepare(training, w, self.center, self.scale, self.names, self.keep_rows)
        return op.at_unit_size(), _held_rows(own, own_weights, standard)


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


def random_labels(n: int, count: int, repeats: int, rng: np.random.Generator) -> np.ndarray:
    """Return the fold of each row, shape (repeats, n); sizes of folds differ by at most one row."""
    return np.stack([rng.permutation(n) % count for _ in range(repeats)])


class PartSums:
    """Accumulator of the cross-products of several subsets of the rows.

    Attributes
    ----------
    parts : list of CrossProducts
    rows : list of int
        Number of different rows in each subset.
    """

    def __init__(self, p: int, count: int):
        self.parts = [CrossProducts(p) for _ in range(count)]
        self.rows = [0] * count

    def merge(self, other: Self) -> None:
        """Add the sums of another accumulator."""
        for i, part in enumerate(other.parts):
            self.parts[i].merge(part)
            self.rows[i] += other.rows[i]

    def pack(self) -> None:
        """Store one triangle of each matrix; see :meth:`spcastat.operators.CrossProducts.pack`."""
        for part in self.parts:
            part.pack()

    def unpack(self) -> None:
        """Undo :meth:`pack`."""
        for part in self.parts:
            part.unpack()


class FoldSums(PartSums):
    """Accumulator of the cross-products of every fold, in one pass.

    Parameters
    ----------
    p, count, repeats : int
    seed : int
        For rows in chunks, a hash of a row's values and the seed determines its fold, which so does not
        depend on the size and order of the chunks.
    """

    def __init__(self, p: int, count: int, repeats: int, seed: int):
        super().__init__(p, count * repeats)
        self.count, self.repeats, self.seed = count, repeats, seed

    def add(self, X: Any, weights: np.ndarray | None) -> None:
        """Add rows, each to the fold that a hash of its values determines."""
        for repeat in range(self.repeats):
            self.add_to(repeat, hashed_labels(X, self.count, self.seed + repeat), X, weights)

    def add_to(self, repeat: int, labels: np.ndarray, X: Any, weights: np.ndarray | None) -> None:
        """Add rows to the folds given by `labels`, shape (n,), of a repeat."""
        X = X.tocsr() if is_sparse(X) else X
        for fold in range(self.count):
            which = np.flatnonzero(labels == fold)
            if which.size:
                w = None if weights is None else weights[which]
                self.parts[repeat * self.count + fold].add(X[which], w)
                self.rows[repeat * self.count + fold] += int(which.size if w is None else np.count_nonzero(w))


def hashed_labels(X: Any, count: int, seed: int) -> np.ndarray:
    """Return the fold of each row, shape (n,), which depends only on its values and the seed."""
    found: np.ndarray = ((row_keys(X, seed) >> np.uint64(33)) % np.uint64(count)).astype(np.int64)
    return found


def row_keys(X: Any, seed: int) -> np.ndarray:
    """Return a 64-bit hash of the values of each row and the seed, shape (n,)."""
    multipliers = np.random.default_rng(seed).integers(2**63, size=X.shape[1], dtype=np.uint64) * 2 + 1
    if is_sparse(X):
        X = X.tocsr()
        cells = _bits(X.data) * multipliers[X.indices]
        filled = np.append(np.cumsum(cells, dtype=np.uint64), np.uint64(0))
        ends = np.concatenate([[np.uint64(0)], filled[:-1]])[X.indptr]
        sums = ends[1:] - ends[:-1]
    else:
        sums = np.zeros(len(X), dtype=np.uint64)
        for j, multiplier in enumerate(multipliers):
            sums += _bits(X[:, j]) * multiplier
    sums ^= sums >> np.uint64(32)
    sums *= np.uint64(0x9E3779B97F4A7C15)
    return sums


def _bits(values: np.ndarray) -> np.ndarray:
    """Return a 64-bit hash of each number; the hash of zero is zero."""
    bits = (np.asarray(values, dtype=np.float64) + 0.0).view(np.uint64)
    mixed: np.ndarray = (bits ^ (bits >> np.uint64(29))) * np.uint64(0xBF58476D1CE4E5B9)
    return mixed ^ (mixed >> np.uint64(32))


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
            f"A fold of {count} is empty: rows in chunks go to folds by their numbers, equal rows to the "
            "same. Give fewer folds, or another rng."
        )
    least = n - max(rows)
    if least < k + 2:
        raise TooFewRowsError(
            f"The rows outside a fold, {least}, are too few for {plural(k, 'component')}; "
            "give more folds, or fewer components."
        )
