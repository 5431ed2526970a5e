"""Centre, scale and unit of the columns: found without changing the data, and replayed on new rows.

Division by a power of two changes no digit, so that data in other units have the same loadings to the last
bit. Most data are summed up as they are and only the result is brought to unit size
(:meth:`Operator.at_unit_size`); columns whose squares do not fit are divided before they are squared.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Generic, Self, TypeVar

import numpy as np

from spcastat.kernels.sparsity import is_sparse
from spcastat.operators.accumulate import Accumulator, row_blocks

#: A standard deviation below this share of the mean is rounding, not variation.
CONSTANT = 1e-13


@dataclass(frozen=True, eq=False)
class Standardisation:
    """x becomes (x - mean) / scale.

    Attributes
    ----------
    mean, scale : ndarray of shape (p,)
        Zeros where nothing is subtracted, ones where nothing is divided by.
    centring : {"mean", "given", "none"}
        Where `mean` comes from.
    scaling : {"sd", "given", "none"}
        Where `scale` comes from.
    """

    mean: np.ndarray
    scale: np.ndarray
    centring: str
    scaling: str

    def project(self, X: Any, V: np.ndarray) -> np.ndarray:
        """Return the scores (X - mean) / scale V, shape (n, k), of raw rows.

        Where a gap lies in a component's own variables, the score is NaN.

        Parameters
        ----------
        X : ndarray or scipy.sparse array of shape (n, p)
        V : ndarray of shape (p, k)
            Only the columns of `X` with a nonzero loading are read.
        """
        used = np.flatnonzero(V.any(axis=1))
        weights = V[used] / self.scale[used, None]
        if is_sparse(X):
            return np.asarray(X[:, used] @ weights) - self.mean[used] @ weights
        scores = np.empty((X.shape[0], V.shape[1]))
        for rows in row_blocks(X.shape[0], max(used.size, 1)):
            block = X[rows][:, used]
            gaps = np.isnan(block)
            if gaps.any():
                block = np.where(gaps, self.mean[used], block)
            scores[rows] = (block - self.mean[used]) @ weights
            if gaps.any():
                scores[rows][gaps.astype(float) @ (V[used] != 0) > 0] = np.nan
        return scores

    def restore(self, fitted: np.ndarray) -> np.ndarray:
        """Return standardised rows, shape (n, p), in the units of the data."""
        return fitted * self.scale + self.mean


def is_constant(mean: np.ndarray, variance: np.ndarray) -> np.ndarray:
    """Mark the columns whose variance is nothing but rounding."""
    return np.sqrt(variance) <= CONSTANT * np.abs(mean)


A = TypeVar("A", bound=Accumulator)

#: Sums of squares within these bounds were computed without underflow or overflow that counts.
SMALLEST, LARGEST = 1e-280, 1e280
#: A column with a mean beyond this and no variance is constant: rounding alone would show in its squares.
FAR_FROM_ZERO = 1e-130


class Extremes:
    """The largest absolute value of every column: an accumulator.

    Attributes
    ----------
    largest : ndarray of shape (p,)
        Not finite where a column holds such values.
    """

    def __init__(self, p: int):
        self.largest = np.zeros(p)

    def add(self, X: Any, weights: np.ndarray | None) -> None:
        if is_sparse(X):
            found = abs(X).max(axis=0).toarray().ravel()
            self.largest = np.maximum(self.largest, found)
            return
        for rows in row_blocks(*X.shape):
            if len(X[rows]):
                self.largest = np.maximum(self.largest, np.abs(X[rows]).max(axis=0))

    def merge(self, other: Extremes) -> None:
        self.largest = np.maximum(self.largest, other.largest)


class Divided(Generic[A]):
    """An accumulator of rows whose columns are divided by powers of two first.

    Parameters
    ----------
    begin : callable
        Makes the accumulator of the divided rows.
    exponents : ndarray of int, shape (p,)

    Attributes
    ----------
    inner : Accumulator
    """

    def __init__(self, begin: Callable[[], A], exponents: np.ndarray):
        self.inner = begin()
        self.exponents = exponents

    def add(self, X: Any, weights: np.ndarray | None) -> None:
        self.inner.add(divided(X, self.exponents), weights)

    def merge(self, other: Divided[A]) -> None:
        self.inner.merge(other.inner)


def divided(X: Any, exponents: np.ndarray) -> Any:
    """Return a copy of rows, dense or sparse of shape (n, p), with column j over 2**exponents[j], float64."""
    if not is_sparse(X):
        return np.ldexp(np.asarray(X, dtype=float), -exponents)
    shift = exponents[X.indices] if X.format == "csr" else np.repeat(exponents, np.diff(X.indptr))
    return type(X)((np.ldexp(X.data.astype(float), -shift), X.indices, X.indptr), shape=X.shape)


def fits(
    mean: np.ndarray, squares: np.ndarray, largest: Callable[[np.ndarray], np.ndarray] | None = None
) -> bool:
    """Return whether means and sums of squares of columns were computed within the floating-point range.

    Parameters
    ----------
    mean, squares : ndarray of shape (p,)
    largest : callable, optional
        Columns -> their largest absolute values; asked of columns without mean and squares. Without it these
        are taken for zeros.
    """
    if not (np.isfinite(mean).all() and (squares <= LARGEST).all()):
        return False
    doubtful = (squares < SMALLEST) & (np.abs(mean) < FAR_FROM_ZERO)
    if (doubtful & ((squares > 0) | (mean != 0))).any():
        return False
    nothing = np.flatnonzero(doubtful)
    return largest is None or nothing.size == 0 or not largest(nothing).any()


def largest_of(X: Any, columns: np.ndarray | None = None) -> np.ndarray:
    """Return the largest absolute values of all columns of rows in memory, or of some."""
    part = X if columns is None or len(columns) == X.shape[1] else X[:, columns]
    found = Extremes(part.shape[1])
    found.add(part, None)
    return found.largest


@dataclass(frozen=True, eq=False)
class ColumnUnits:
    """What every column is divided by before it is squared.

    Attributes
    ----------
    exponents : ndarray of int, shape (p,)
        Column j is divided by 2**exponents[j].
    common : int
        The part of these exponents that standardising does not take away: the data's own unit is 2**common.
    """

    exponents: np.ndarray
    common: int

    @classmethod
    def of(cls, largest: np.ndarray, scale: bool | np.ndarray) -> Self | None:
        """Return units for columns with these `largest` absolute values; None where these are not finite.

        With ``scale=True`` every column has its own; divisors of one's own are taken first; what is left then
        has one unit for all columns.
        """
        if not np.isfinite(largest).all():
            return None
        sizes = np.frexp(largest)[1]
        if scale is True:
            return cls(sizes, 0)
        own = np.zeros(len(largest), dtype=int) if scale is False else np.frexp(scale)[1].astype(int)
        used = largest > 0
        common = int((sizes - own)[used].max()) if used.any() else 0
        return cls(own + common, common)

    @property
    def unit(self) -> float:
        """The unit of the divided and standardised data."""
        return float(np.ldexp(1.0, self.common))

    def centre(self, center: bool | np.ndarray) -> bool | np.ndarray:
        """Return the centre of the divided rows."""
        return center if isinstance(center, bool) else np.ldexp(center, -self.exponents)

    def divisor(self, scale: bool | np.ndarray) -> bool | np.ndarray:
        """Return what the divided rows are divided by further."""
        return scale if isinstance(scale, bool) else np.ldexp(scale, self.common - self.exponents)

    def restored(self, standard: Standardisation) -> Standardisation:
        """Return the centre and scale of the rows as they came from those of the divided ones."""
        scale = standard.scale
        if standard.scaling != "none":
            scale = np.ldexp(scale, self.exponents - self.common)
        return Standardisation(
            np.ldexp(standard.mean, self.exponents), scale, standard.centring, standard.scaling
        )
