"""Centres and scales of columns, the operator of raw rows, and the dependence of neighbouring rows.

Blocks have weights as in multiple factor analysis: Escofier and Pagès (1994), "Multiple factor analysis
(AFMULT package)", Computational Statistics and Data Analysis, 18, 121-140. Numbers and factors are scaled as
in factor analysis of mixed data: Pagès (2004), "Analyse factorielle de données mixtes", Revue de Statistique
Appliquée, 52 (4), 93-111. Dependence of neighbouring rows: Politis and White (2004), "Automatic block-length
selection for the dependent bootstrap", Econometric Reviews 23, with the correction of Patton, Politis and
White (2009), Econometric Reviews 28.

Columns whose squares would over- or underflow are divided by a power of two before they are squared. This is
exact, so that data in units that differ by powers of two have the same loadings to the last bit. Other sums
are computed from the data without this division, and only the result is scaled to unit size
(:meth:`spcastat.linalg.operators.Operator.at_unit_size`).
"""

from __future__ import annotations

import zlib
from collections.abc import Callable, Hashable, Iterable, Mapping, Sequence, Sized
from dataclasses import dataclass, replace
from functools import partial
from typing import Annotated, Any, Self, TypeVar

import numpy as np
import pandas as pd

from spcastat.arguments import listed, nearest, plural, shown
from spcastat.errors import ConstantColumnError, OptionError
from spcastat.linalg.accumulate import (
    ColumnSums,
    CrossProducts,
    blocks,
    centred,
    extremes,
    is_sparse,
    scale_outer,
    weights_or_ones,
)
from spcastat.linalg.operators import GRAM_ORDER, DenseRows, Gram, Operator, SparseRows

Given = bool | np.ndarray
Op = TypeVar("Op", bound=Operator)

# --- groups of columns that share a scale ---------------------------------------------------------


@dataclass(frozen=True, eq=False)
class ScalingGroups:
    """Groups of variables, for scaling.

    Attributes
    ----------
    kind : str
        The `scale` of the call.
    names : tuple of str
        The names of the groups.
    of : ndarray of int, shape (p,)
        The group of each variable, -1 for a variable in no group.
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

    def of_columns(self, columns: np.ndarray) -> Self:
        """Return the groups of the variables at these positions, without empty groups."""
        numbers, of = np.unique(self.of[columns], return_inverse=True)
        grouped = numbers[numbers >= 0]
        names = tuple(self.names[number] for number in grouped)
        return replace(self, names=names, of=of - (len(numbers) - len(grouped)))

    def shares(self, variances: np.ndarray) -> np.ndarray:
        """Return the shares of the total variance, in the order of `counts`."""
        sums = np.bincount(self.of % (len(self.names) + 1), variances, len(self.names) + 1)
        return np.asarray(sums / variances.sum())


def variable_count(column_count: int, of: Iterable[int], names: Sized) -> int:
    """Return the number of variables, where the columns of a group are the levels of one factor.

    `of` contains the group of each column, -1 for a column in no group, and `names` the names of the groups.
    """
    return column_count - sum(group >= 0 for group in of) + len(names)


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
BLOCK_SCALES = {"blocks": True, "raw blocks": False}


@dataclass(frozen=True, eq=False)
class BlockScaling(ScalingGroups):
    """Divide the variables of each block by the square root of the block's first eigenvalue.

    `kind` is "blocks", or "raw blocks" for variables that are not first scaled to unit variance (type "c" in
    FactoMineR; "blocks" is type "s").
    """

    @classmethod
    def read(cls, kind: str, blocks: Any, columns: pd.Index) -> Self:
        """Check the blocks of a call, and return them.

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
                raise OptionError(
                    f"blocks[{shown(name)}] is {shown(members)}; it accepts a list of variables."
                )
            members = list(members)
            for member in members:
                j = place.get(member, -1) if isinstance(member, Hashable) else -1
                if j < 0:
                    raise OptionError(
                        f"blocks[{shown(name)}] names {shown(member)}, which is not one of the variables "
                        f"{listed(columns)}.{nearest(member, columns, members)}"
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
                f"blocks lacks {listed(columns[of < 0])}; each variable must belong to one block, which may "
                "consist of this variable alone."
            )
        return cls(kind, tuple(str(name) for name in blocks), of)

    def divisors(self, op: Operator, despite_constant: bool = False) -> np.ndarray:
        """Return the root of the first eigenvalue of each variable's block, shape (p,).

        With `despite_constant` the result is 1 for a block whose variables do not vary.

        Raises
        ------
        ConstantColumnError
            For a block whose variables do not vary.
        """
        parts = [np.flatnonzero(self.of == number) for number in range(len(self.names))]
        eigenvalues = np.array([op.take(part).leading(1)[0][0] for part in parts])
        if despite_constant:
            eigenvalues = np.where(eigenvalues > 0.0, eigenvalues, 1.0)
        still = [name for name, value in zip(self.names, eigenvalues, strict=True) if not value > 0.0]
        if still:
            raise ConstantColumnError(
                f"The variables of {listed(still)} in blocks do not vary; their first eigenvalue, by which "
                f"scale={self.kind!r} divides, is zero. Leave these variables out."
            )
        return np.sqrt(eigenvalues[self.of])


#: True for standard deviations, False for no scaling, given numbers, or scales that depend on groups.
Scale = bool | np.ndarray | ScalingGroups

#: Values of `scale` that name groups.
GROUP_SCALES = {**dict.fromkeys(BLOCK_SCALES, BlockScaling), "mixed": Mixed}


def groups_from_record(record: Mapping[str, Any]) -> ScalingGroups:
    """Return the groups of a record; see :attr:`ScalingGroups.as_record`."""
    kind = record["kind"]
    return GROUP_SCALES[kind](kind, tuple(record["names"]), np.array(record["of"], dtype=int))


# --- centres and scales ---------------------------------------------------------------------------


#: A standard deviation below this share of the mean is rounding error, not variation.
CONSTANT = 1e-13


@dataclass(frozen=True, eq=False)
class Standardisation:
    """The transformation of columns x to (x - mean) / scale.

    Attributes
    ----------
    mean, scale : ndarray of shape (p,)
        Centres and scales; zeros without centring, ones without scaling.
    centring : {"mean", "given", "none"}
        Whether `mean` was computed from the data, given by the user, or is zero.
    scaling : {"sd", "blocks", "raw blocks", "mixed", "given", "none"}
        Whether `scale` was computed from the data (`BlockScaling`, `Mixed`), given by the user, or is one.
    """

    mean: Annotated[np.ndarray, "f p"]
    scale: Annotated[np.ndarray, "f p"]
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
        The largest absolute values; not finite for a column with values that are not finite.
    """

    def __init__(self, p: int):
        self.largest = np.zeros(p)

    def add(self, X: Any, weights: np.ndarray | None) -> None:
        if is_sparse(X):
            sizes = abs(X).max(axis=0).toarray().ravel()
            self.largest = np.maximum(self.largest, sizes)
            return
        for rows in blocks(*X.shape):
            if len(X[rows]):
                self.largest = np.maximum(self.largest, np.abs(X[rows]).max(axis=0))

    def merge(self, extremes: Extremes) -> None:
        self.largest = np.maximum(self.largest, extremes.largest)


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
    doubtful = (squares < 1e-280) & (np.abs(mean) < 1e-130)  # other columns without variance are constants
    if (doubtful & ((squares > 0) | (mean != 0))).any():
        return False
    nothing = np.flatnonzero(doubtful)
    return largest is None or nothing.size == 0 or not largest(nothing).any()


def largest_of(X: Any, columns: np.ndarray | None = None) -> np.ndarray:
    """Return the largest absolute values of all columns of rows in memory, or of the given `columns`."""
    part = X if columns is None or len(columns) == X.shape[1] else X[:, columns]
    largest = Extremes(part.shape[1])
    largest.add(part, None)
    return largest.largest


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
        if isinstance(scale, BlockScaling):
            units = cls.of(largest, BLOCK_SCALES[scale.kind])
            return units and replace(units, common=0)
        exponents = np.zeros(len(largest), dtype=int)
        if isinstance(scale, np.ndarray):
            exponents = np.frexp(scale)[1].astype(int)
        used = largest > 0
        common = int((sizes - exponents)[used].max()) if used.any() else 0
        return cls(exponents + common, common)

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


# --- operators of raw rows -------------------------------------------------------------------------


def prepare(
    X: Any,
    weights: np.ndarray | None,
    center: Given,
    scale: Scale,
    names: Sequence[object] | pd.Index,
    keep_rows: bool = False,
    otherwise: np.ndarray | None = None,
) -> tuple[Standardisation, Operator]:
    """Compute the centre and scale of raw rows, and their operator, in one pass if possible.

    Parameters
    ----------
    X : ndarray or scipy.sparse CSC or CSR array of shape (n, p)
    weights : ndarray of shape (n,) or None
        Weights of the rows; None if all are one.
    center : bool or ndarray of shape (p,)
        Whether the mean is subtracted, or the values to subtract.
    scale : bool, ndarray of shape (p,) or ScalingGroups
        See :data:`spcastat.linalg.standardisation.Scale`.
    names : sequence
        Names of the columns, for messages.
    keep_rows : bool
        Whether to keep the rows in the operator, instead of the covariance matrix.
    otherwise : ndarray of shape (p,), optional
        For a part of the rows: the scale of columns that do not vary in it.

    Raises
    ------
    ConstantColumnError
        If a column that is to be divided by its standard deviation does not vary, and `otherwise` is not
        given.

    Notes
    -----
    If squares of the values would overflow or underflow, the operator is built from a copy of the rows
    divided by powers of two, and its `unit` is set accordingly.
    """
    if isinstance(scale, BlockScaling):
        return _in_blocks(
            scale,
            lambda divisor: prepare(X, weights, center, divisor, names, keep_rows, otherwise),
            otherwise,
        )
    prepared = _prepared(X, weights, center, scale, names, keep_rows, otherwise, partial(largest_of, X))
    if prepared is None:
        constants = _constants(X) if center is True and not is_sparse(X) else np.zeros(0)
        if constants.any():
            varying_columns = np.where(constants, 0.0, X)
            standard, op = prepare(varying_columns, weights, center, scale, names, keep_rows, otherwise)
            return replace(standard, mean=np.where(constants, constants, standard.mean)), op
        largest = largest_of(X)
        units = ColumnUnits.of(largest, scale)
        if units is not None:
            X, center = divided(X, units.exponents), units.centre(center)
            scale = units.divisor(scale)
            otherwise = None if otherwise is None else units.divisor(otherwise)
        prepared = _prepared(X, weights, center, scale, names, keep_rows, otherwise)
        assert prepared is not None
        if units is not None:
            prepared[1].unit = units.unit
            return units.restored(prepared[0]), prepared[1]
    return prepared


def _constants(X: np.ndarray) -> np.ndarray:
    """Return the values of the columns that are constant, shape (p,), zero for other columns.

    The mean of many large constants has rounding errors, whose squares may exceed all variances.
    """
    low, high = extremes(X)
    return np.where(low == high, low, 0.0)


def _prepared(
    X: Any,
    weights: np.ndarray | None,
    center: Given,
    scale: Scale,
    names: Sequence[object] | pd.Index,
    keep_rows: bool,
    otherwise: np.ndarray | None,
    largest: Callable[[np.ndarray], np.ndarray] | None = None,
) -> tuple[Standardisation, Operator] | None:
    """Return the result of :func:`prepare`; with `largest`, None if sums of squares over- or underflow."""
    positive = X.shape[0] if weights is None else int(np.count_nonzero(weights))
    if is_sparse(X):
        sums = ColumnSums(X.shape[1])
        sums.add(X, weights)
        if largest is not None and not fits(sums.mean, sums.squares, largest):
            return None
        standard = standard_of(sums.mean, sums.squares, sums.weight, center, scale, names, otherwise)
        squares = sums.squares + sums.weight * (sums.mean - standard.mean) ** 2
        return standard, _sparse_rows(X, weights, standard, keep_rows, squares / (sums.weight - 1.0))
    if not _forms_gram(X, keep_rows):
        weight, mean, Y = centred(X, weights)
        squares = np.einsum("ij,ij->j", Y, Y)
        if largest is not None and not fits(mean, squares, largest):
            return None
        standard = standard_of(mean, squares, weight, center, scale, names, otherwise)
        w = weights_or_ones(weights, X.shape[0])
        if center is not True:
            Y = X - standard.mean
            if weights is not None:
                Y *= np.sqrt(w)[:, None]
        return standard, _dense_rows(Y, w, standard)
    products = CrossProducts(X.shape[1])
    products.add(X, weights)
    if largest is not None and not fits(products.mean, products.squares, largest):
        return None
    return from_products(products, positive, center, scale, names, otherwise)


def from_products(
    products: CrossProducts,
    positive: int,
    center: Given,
    scale: Scale,
    names: Sequence[object] | pd.Index,
    otherwise: np.ndarray | None = None,
) -> tuple[Standardisation, Gram]:
    """Return centre, scale and covariance matrix from accumulated cross-products.

    Parameters
    ----------
    products : CrossProducts
    positive : int
        Number of rows whose weight is not zero.
    center, scale, names, otherwise
        As for :func:`prepare`; `scale` may be `ScalingGroups`.
    """
    if isinstance(scale, BlockScaling):
        return _in_blocks(
            scale,
            lambda divisor: from_products(products, positive, center, divisor, names, otherwise),
            otherwise,
        )
    standard = standard_of(products.mean, products.squares, products.weight, center, scale, names, otherwise)
    return standard, _gram(products, positive, standard)


def _in_blocks(
    blocks: BlockScaling,
    find: Callable[[Any], tuple[Standardisation, Op]],
    otherwise: np.ndarray | None = None,
) -> tuple[Standardisation, Op]:
    """Return centre, scale and operator for scaling by blocks; `find` returns them for a given `scale`."""
    standard, op = find(BLOCK_SCALES[blocks.kind])
    divisor = standard.scale * blocks.divisors(op, otherwise is not None) * op.unit
    if otherwise is not None:
        divisor = np.where(op.diagonal() > 0.0, divisor, otherwise)
    standard, op = find(divisor)
    return replace(standard, scaling=blocks.kind), op


def matrix_in_blocks(
    S: np.ndarray, blocks: BlockScaling, names: Sequence[object] | pd.Index
) -> tuple[Standardisation, Gram]:
    """Return the divisors of the variables of a covariance matrix, shape (p, p), and the scaled matrix."""
    products = CrossProducts(len(S))
    products.weight, products.products = 2.0, S
    return from_products(products, len(S) + 1, True, blocks, names)


def standard_of(
    mean: np.ndarray,
    squares: np.ndarray,
    weight: float,
    center: Given,
    scale: Scale,
    names: Sequence[object] | pd.Index,
    otherwise: np.ndarray | None = None,
) -> Standardisation:
    """Return the centre and scale, given means and sums of squares about the means.

    Parameters
    ----------
    mean, squares : ndarray of shape (p,)
    weight : float
        The sum of the weights of the rows.
    center, scale, names, otherwise
        As for :func:`prepare`.
    """
    p = len(mean)
    centre = mean if center is True else np.zeros(p) if center is False else np.asarray(center, dtype=float)
    mixed = isinstance(scale, Mixed)
    if scale is True or isinstance(scale, Mixed):
        about = squares if center is True else squares + weight * (mean - centre) ** 2
        variance = about / (weight - 1.0)
        still = is_constant(centre, variance)
        constant = np.flatnonzero(still)
        if constant.size and otherwise is None:
            remedy = "Drop these columns or use scale=False." if scale is True else "Drop these columns."
            raise ConstantColumnError(
                f"{constant.size} of {plural(p, 'column')} {'does' if constant.size == 1 else 'do'} not "
                "vary: "
                f"{listed([names[int(j)] for j in constant])}; with scale=True or 'blocks', a "
                f"column is divided by its standard deviation. {remedy}"
            )
        divisor = np.sqrt(variance) if scale is True else scale.divisors(mean, variance, weight)
        divisor = divisor if otherwise is None else np.where(still, otherwise, divisor)
    else:
        divisor = np.ones(p) if scale is False else np.asarray(scale, dtype=float)
    centring = "mean" if center is True else "none" if center is False else "given"
    scaling = "mixed" if mixed else "sd" if scale is True else "none" if scale is False else "given"
    return Standardisation(centre, divisor, centring, scaling)


def _forms_gram(X: Any, keep_rows: bool) -> bool:
    n, p = X.shape
    return not keep_rows and (p <= 400 or (n >= p and p <= GRAM_ORDER))


def _sparse_rows(
    X: Any, weights: np.ndarray | None, standard: Standardisation, keep_rows: bool, variances: np.ndarray
) -> Operator:
    """Return the operator of sparse rows; `variances`, shape (p,), belong to the unscaled columns."""
    w = weights_or_ones(weights, X.shape[0])
    multiplier = np.where(is_constant(standard.mean, variances), 0.0, 1.0 / standard.scale)
    root = np.sqrt(w / (w.sum() - 1.0))
    rank_limit = int(np.count_nonzero(w)) - int(standard.centring == "mean")
    rows = SparseRows(X, standard.mean, multiplier, root, rank_limit, variances * multiplier**2)
    return Gram(rows.gram(), rank_limit) if _forms_gram(X, keep_rows) else rows


def _dense_rows(Y: np.ndarray, w: np.ndarray, standard: Standardisation) -> DenseRows:
    """Return the operator of centred rows `Y`, times the roots of their weights; Y is overwritten."""
    divisor = w.sum() - 1.0
    Y /= np.sqrt(divisor) if standard.scaling == "none" else standard.scale * np.sqrt(divisor)
    rank_limit = int(np.count_nonzero(w)) - int(standard.centring == "mean")
    rows = DenseRows(Y, np.sqrt(w / divisor), rank_limit)
    still = is_constant(standard.mean, rows.diagonal() * standard.scale**2)
    if still.any():
        Y[:, still] = 0.0
        rows = DenseRows(Y, rows.root_weights, rows.rank_limit)
    return rows


def _gram(products: CrossProducts, positive: int, standard: Standardisation) -> Gram:
    S = products.products.copy() if standard.centring == "mean" else products.about(standard.mean)
    S /= products.weight - 1.0
    still = is_constant(standard.mean, np.diag(S))
    if standard.scaling != "none":
        scale_outer(S, 1.0 / standard.scale)
    if still.any():
        S[still], S[:, still] = 0.0, 0.0
    return Gram(S, positive - int(standard.centring == "mean"))


# --- deviations of values of any size --------------------------------------------------------------


def deviations(values: np.ndarray) -> np.ndarray:
    """Return the standard deviation (divisor: rows minus one) of each column, for values of any size.

    Columns are divided by powers of two before they are squared, which is exact.

    Parameters
    ----------
    values : ndarray of shape (n, m)
        At least two rows.
    """
    exponents = np.frexp(np.abs(values).max(axis=0))[1]
    return np.asarray(np.ldexp(np.ldexp(values, -exponents).std(axis=0, ddof=1), exponents))


# --- a checksum, and the dependence of neighbouring rows -------------------------------------------


def checksum(matrix: Any) -> int:
    """Return the CRC-32 of a dense array of shape (n, p), or of the arrays of a CSC or CSR array."""
    parts: Iterable[Any]
    if is_sparse(matrix):
        parts = [matrix.data, matrix.indices, matrix.indptr]
    elif matrix.flags.c_contiguous:
        parts = [matrix]
    elif matrix.flags.f_contiguous:
        parts = [matrix.T]
    else:
        step = 4096  # rows to copy at a time
        parts = (np.ascontiguousarray(matrix[i : i + step]) for i in range(0, len(matrix), step))
    crc = 0
    for part in parts:
        crc = zlib.crc32(part, crc)
    return crc


def neighbour_correlation(x: np.ndarray) -> float:
    """Return the autocorrelation of a sequence, shape (n,), at lag 1; 0 if it does not vary."""
    covariances = _autocovariances(x, 1)
    return float(covariances[1] / covariances[0]) if covariances[0] > 0 else 0.0


def block_length(x: np.ndarray) -> int:
    """Return the block length with the least mean squared error of the variance of a mean, from 1 to n / 3.

    Parameters
    ----------
    x : ndarray of shape (n,)
        Values in the order of time.

    Notes
    -----
    The length is (2 G^2 / D)^(1/3) n^(1/3) with G = sum lambda(k / M) |k| R(k) and D = 4/3 (sum lambda(k / M)
    R(k))^2, where R are autocovariances, lambda is the flat-top window, and M is twice the lag after which
    K_n = max(5, sqrt(log10 n)) successive autocorrelations are below 2 sqrt(log10(n) / n).
    """
    n = len(x)
    run = max(5, int(np.ceil(np.sqrt(np.log10(n)))))
    max_lag = min(int(np.ceil(np.sqrt(n))) + run, n - 1)
    covariances = _autocovariances(x, max_lag)
    if not covariances[0] > 0:
        return 1
    is_negligible = np.abs(covariances[1:] / covariances[0]) < 2.0 * np.sqrt(np.log10(n) / n)
    starts = [lag for lag in range(len(is_negligible) - run + 1) if is_negligible[lag : lag + run].all()]
    notable = np.flatnonzero(~is_negligible)
    bandwidth = starts[0] if starts else int(notable[-1]) + 1 if notable.size else 0
    M = min(2 * max(bandwidth, 1), max_lag)
    lags = np.arange(1, M + 1)
    window = np.minimum(1.0, 2.0 * (1.0 - lags / M))
    G = 2.0 * float(window * lags @ covariances[1 : M + 1])
    D = 4.0 / 3.0 * float(covariances[0] + 2.0 * window @ covariances[1 : M + 1]) ** 2
    longest = max(1, n // 3)
    if not D > 0:
        return longest
    return int(np.clip(np.ceil((2.0 * G**2 / D * n) ** (1.0 / 3.0)), 1, longest))


def _autocovariances(x: np.ndarray, max_lag: int) -> np.ndarray:
    """Return autocovariances at lags 0 to `max_lag`, divisor n, divided by the largest squared deviation."""
    z = x - x.mean()
    z = z / max(np.abs(z).max(), np.finfo(float).tiny)  # squares neither overflow nor vanish
    return np.array([z[: len(z) - lag] @ z[lag:] for lag in range(max_lag + 1)]) / len(z)


# --- unequal variances ----------------------------------------------------------------------------

#: Variances that differ by more than this factor may hide components of the columns of small variance.
UNEQUAL = 10.0


def variance_ratio(variances: np.ndarray) -> float | None:
    """Return the ratio of the largest to the smallest positive variance if it exceeds UNEQUAL, else None."""
    positive = variances[variances > 0]
    ratio = float(positive.max() / positive.min()) if positive.size else 1.0
    return ratio if ratio > UNEQUAL else None
