"""Centres and scales of the columns, and groups of columns that share a scale.

Blocks have weights as in multiple factor analysis: Escofier and Pagès (1994), "Multiple factor analysis
(AFMULT package)", Computational Statistics and Data Analysis, 18, 121-140. Numbers and factors are scaled as
in factor analysis of mixed data: Pagès (2004), "Analyse factorielle de données mixtes", Revue de Statistique
Appliquée, 52 (4), 93-111.

Columns whose squares would over- or underflow are divided by a power of two before they are squared. This is
exact, so that data in units that differ by powers of two have the same loadings to the last bit. Other sums
are computed from the data as they are, and only the result is brought to unit size
(:meth:`spcastat.linalg.operators.Operator.at_unit_size`).
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Mapping
from dataclasses import dataclass, replace
from typing import Any, Self

import numpy as np
import pandas as pd

from spcastat.config import listed, nearest, shown
from spcastat.errors import ConstantColumnError, OptionError
from spcastat.linalg.operators import Operator
from spcastat.linalg.scales import blocks
from spcastat.linalg.ties import is_sparse

# --- groups of columns that share a scale ---------------------------------------------------------


@dataclass(frozen=True, eq=False)
class ScalingGroups:
    """Variables in groups.

    Attributes
    ----------
    kind : str
        The `scale` of the call.
    names : tuple of str
        The names of the groups.
    of : ndarray of int, shape (p,)
        The group of each variable, -1 for none.
    """

    kind: str
    names: tuple[str, ...]
    of: np.ndarray

    @property
    def as_record(self) -> dict[str, Any]:
        """The fields that a record stores."""
        return {"kind": self.kind, "names": list(self.names), "of": self.of.tolist()}

    @property
    def counts(self) -> np.ndarray:
        """The number of variables in each group, and then the number in no group."""
        return np.bincount(self.of % (len(self.names) + 1), minlength=len(self.names) + 1)

    def shares(self, variances: np.ndarray) -> np.ndarray:
        """Return the shares of the total variance, in the order of `counts`."""
        sums = np.bincount(self.of % (len(self.names) + 1), variances, len(self.names) + 1)
        return np.asarray(sums / variances.sum())


@dataclass(frozen=True, eq=False)
class Mixed(ScalingGroups):
    """Scale numbers to unit variance; divide the indicator of a level by the root of its share of the rows.

    The groups are the factors. A factor with m levels then has inertia m - 1, and a number has inertia 1.
    """

    def divisors(self, mean: np.ndarray, variance: np.ndarray, weight: float) -> np.ndarray:
        """Return the scale of columns with these means and variances (divisor weight - 1), shape (p,).

        The indicator of a level with the share f of the rows has variance f (1 - f) with divisor n; divided
        by sqrt(f) it has inertia 1 - f. Here variances have divisor n - 1, and dividing by the root of ``f n
        / (n - 1)`` instead gives the same inertia.
        """
        return np.sqrt(np.where(self.of >= 0, mean * (weight / (weight - 1.0)), variance))


#: Values of `scale` that take blocks -> whether variables are first divided by their standard deviations.
KINDS = {"blocks": True, "raw blocks": False}


@dataclass(frozen=True, eq=False)
class Blocks(ScalingGroups):
    """Divide the variables of each block by the square root of the block's first eigenvalue.

    `kind` is "blocks", or "raw blocks" for variables that are not first scaled to unit variance (type "c" in
    FactoMineR; "blocks" is type "s").
    """

    @classmethod
    def read(cls, kind: str, blocks: Any, columns: pd.Index) -> Self:
        """Check the blocks of a call.

        Parameters
        ----------
        kind : {"blocks", "raw blocks"}
        blocks : mapping of name to list of labels
        columns : pandas.Index of length p
            The variables, each of which belongs to one block.

        Raises
        ------
        OptionError
            If the blocks are not a partition of the variables; the message names the wrong labels.
        """
        if not isinstance(blocks, Mapping) or not blocks:
            raise OptionError(
                f"scale={kind!r} was given with blocks={shown(blocks)}; name the variables of each block: "
                'blocks={"chem": ["ph", "salt"], "phys": ["depth"]}.'
            )
        place = {label: j for j, label in enumerate(columns)}
        of = np.full(len(columns), -1)
        for number, (name, members) in enumerate(blocks.items()):
            if isinstance(members, (str, Mapping)) or not hasattr(members, "__iter__"):
                raise OptionError(f"blocks[{shown(name)}] is {shown(members)}; it takes a list of variables.")
            members = list(members)
            for member in members:
                j = place.get(member, -1) if isinstance(member, Hashable) else -1
                if j < 0:
                    raise OptionError(
                        f"blocks[{shown(name)}] names {shown(member)}, which is none of the variables "
                        f"{listed(columns)}.{nearest(member, columns)}"
                    )
                if of[j] >= 0:
                    raise OptionError(
                        f"blocks names {shown(member)} twice, in {listed([[*blocks][of[j]], name])}; each "
                        "variable belongs to one block."
                    )
                of[j] = number
            if not members:
                raise OptionError(f"blocks[{shown(name)}] is empty; name its variables, or leave it out.")
        if (of < 0).any():
            raise OptionError(
                f"blocks lacks {listed(columns[of < 0])}; each variable belongs to one block, which may be "
                "one of its own."
            )
        return cls(kind, tuple(str(name) for name in blocks), of)

    def divisors(self, op: Operator) -> np.ndarray:
        """Return the root of the first eigenvalue of each variable's block, shape (p,).

        Raises
        ------
        ConstantColumnError
            For a block whose variables do not vary.
        """
        parts = [np.flatnonzero(self.of == number) for number in range(len(self.names))]
        first = np.array([op.take(part).leading(1)[0][0] for part in parts])
        still = [name for name, value in zip(self.names, first, strict=True) if not value > 0.0]
        if still:
            raise ConstantColumnError(
                f"The variables of {listed(still)} in blocks do not vary; their first eigenvalue, by which "
                f"scale={self.kind!r} divides, is zero. Leave these variables out."
            )
        return np.sqrt(first[self.of])


#: True for standard deviations, False for no scaling, given numbers, or scales that depend on groups.
Scale = bool | np.ndarray | ScalingGroups

#: Values of `scale` that name groups.
NAMED = {**dict.fromkeys(KINDS, Blocks), "mixed": Mixed}


def groups_from_record(record: Mapping[str, Any] | None) -> ScalingGroups | None:
    """Return the groups of a record, if it has any; see :attr:`ScalingGroups.as_record`."""
    if record is None:
        return None
    kind = record["kind"]
    return NAMED[kind](kind, tuple(record["names"]), np.array(record["of"], dtype=int))


# --- centres and scales ---------------------------------------------------------------------------


#: A standard deviation below this share of the mean is rounding, not variation.
CONSTANT = 1e-13


@dataclass(frozen=True, eq=False)
class Standardisation:
    """The transformation of columns x to (x - mean) / scale.

    Attributes
    ----------
    mean, scale : ndarray of shape (p,)
        Zeros without centring, ones without scaling.
    centring : {"mean", "given", "none"}
        Whether `mean` was computed from the data, given by the user, or is zero.
    scaling : {"sd", "blocks", "raw blocks", "mixed", "given", "none"}
        Whether `scale` was computed from the data (see `Blocks`, `Mixed`), given by the user, or is one.
    """

    mean: np.ndarray
    scale: np.ndarray
    centring: str
    scaling: str

    def of_columns(self, columns: np.ndarray) -> Standardisation:
        """Return the transformation of the columns at these positions."""
        return replace(self, mean=self.mean[columns], scale=self.scale[columns])

    def project(self, X: Any, V: np.ndarray) -> np.ndarray:
        """Return the scores ((X - mean) / scale) V, shape (n, k), of raw rows.

        A score is NaN if a variable with a nonzero loading is missing.

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
        for rows in blocks(X.shape[0], max(used.size, 1)):
            block = X[rows][:, used]
            gaps = np.isnan(block)
            if gaps.any():
                block = np.where(gaps, self.mean[used], block)
            scores[rows] = (block - self.mean[used]) @ weights
            if gaps.any():
                scores[rows][gaps.astype(float) @ (V[used] != 0) > 0] = np.nan
        return scores

    def restore(self, fitted: np.ndarray) -> np.ndarray:
        """Transform standardised rows, shape (n, p), back to the units of the data."""
        return fitted * self.scale + self.mean


def is_constant(mean: np.ndarray, variance: np.ndarray) -> np.ndarray:
    """Return a mask of the columns that vary only by rounding."""
    return np.sqrt(variance) <= CONSTANT * np.abs(mean)


class Extremes:
    """Accumulator of the largest absolute value of every column.

    Attributes
    ----------
    largest : ndarray of shape (p,)
        Not finite for a column with values that are not finite.
    """

    def __init__(self, p: int):
        self.largest = np.zeros(p)

    def add(self, X: Any, weights: np.ndarray | None) -> None:
        if is_sparse(X):
            found = abs(X).max(axis=0).toarray().ravel()
            self.largest = np.maximum(self.largest, found)
            return
        for rows in blocks(*X.shape):
            if len(X[rows]):
                self.largest = np.maximum(self.largest, np.abs(X[rows]).max(axis=0))

    def merge(self, other: Extremes) -> None:
        self.largest = np.maximum(self.largest, other.largest)


def divided(X: Any, exponents: np.ndarray) -> Any:
    """Return rows, dense or sparse of shape (n, p), with column j divided by 2**exponents[j], as float64."""
    if not is_sparse(X):
        return np.ldexp(np.asarray(X, dtype=float), -exponents)
    shift = exponents[X.indices] if X.format == "csr" else np.repeat(exponents, np.diff(X.indptr))
    return type(X)((np.ldexp(X.data.astype(float), -shift), X.indices, X.indptr), shape=X.shape)


def fits(
    mean: np.ndarray, squares: np.ndarray, largest: Callable[[np.ndarray], np.ndarray] | None = None
) -> bool:
    """Return whether means and sums of squares of columns were computed without overflow or underflow.

    Parameters
    ----------
    mean, squares : ndarray of shape (p,)
    largest : callable, optional
        Returns the largest absolute values of given columns. It is called for columns whose mean and squares
        are zero, which may come from underflow; without it they are assumed to be columns of zeros.
    """
    if not (np.isfinite(mean).all() and (squares <= 1e280).all()):
        return False
    doubtful = (squares < 1e-280) & (np.abs(mean) < 1e-130)  # larger means without variance: constants
    if (doubtful & ((squares > 0) | (mean != 0))).any():
        return False
    nothing = np.flatnonzero(doubtful)
    return largest is None or nothing.size == 0 or not largest(nothing).any()


def largest_of(X: Any, columns: np.ndarray | None = None) -> np.ndarray:
    """Return the largest absolute values of all columns of rows in memory, or of the given `columns`."""
    part = X if columns is None or len(columns) == X.shape[1] else X[:, columns]
    found = Extremes(part.shape[1])
    found.add(part, None)
    return found.largest


@dataclass(frozen=True, eq=False)
class ColumnUnits:
    """The powers of two by which columns are divided before they are squared.

    Attributes
    ----------
    exponents : ndarray of int, shape (p,)
        Column j is divided by 2**exponents[j].
    common : int
        The standardised data have the unit 2**common; the rest of the exponents cancels in standardising.
    """

    exponents: np.ndarray
    common: int

    @classmethod
    def of(cls, largest: np.ndarray, scale: Scale) -> Self | None:
        """Return units for columns with given `largest` absolute values; None if these are not finite.

        With ``scale=True`` every column has its own unit. Otherwise columns are divided by `scale`, if
        it is an array, and all share one unit. Scaling by blocks removes the unit.
        """
        if not np.isfinite(largest).all():
            return None
        sizes = np.frexp(largest)[1]
        if scale is True:
            return cls(sizes, 0)
        if isinstance(scale, Mixed):  # shares of the rows are means of columns of 0 and 1
            return cls(np.where(scale.of >= 0, 0, sizes), 0)
        if isinstance(scale, Blocks):
            found = cls.of(largest, KINDS[scale.kind])
            return found and replace(found, common=0)
        own = np.zeros(len(largest), dtype=int)
        if isinstance(scale, np.ndarray):
            own = np.frexp(scale)[1].astype(int)
        used = largest > 0
        common = int((sizes - own)[used].max()) if used.any() else 0
        return cls(own + common, common)

    @property
    def unit(self) -> float:
        """The unit of the divided and standardised data."""
        return float(np.ldexp(1.0, self.common))

    def centre(self, center: bool | np.ndarray) -> bool | np.ndarray:
        """Return `center` in the units of the divided rows."""
        return center if isinstance(center, bool) else np.ldexp(center, -self.exponents)

    def divisor(self, scale: Scale) -> Any:
        """Return `scale` in the units of the divided rows."""
        if isinstance(scale, (bool, ScalingGroups)):
            return scale
        return np.ldexp(scale, self.common - self.exponents)

    def restored(self, standard: Standardisation) -> Standardisation:
        """Return the centre and scale of the original rows, given those of the divided rows."""
        scale = standard.scale
        if standard.scaling != "none":
            scale = np.ldexp(scale, self.exponents - self.common)
        return Standardisation(
            np.ldexp(standard.mean, self.exponents), scale, standard.centring, standard.scaling
        )
