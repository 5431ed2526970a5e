"""Choose and build the operator for raw rows that costs least."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from functools import partial
from typing import Any, TypeVar

import numpy as np
import pandas as pd

from spcastat.config import listed, plural
from spcastat.errors import ConstantColumnError
from spcastat.linalg.accumulate import CrossProducts, Sums, centred, scale_outer
from spcastat.linalg.operators import GRAM_ORDER, DenseRows, Gram, Operator, SparseRows
from spcastat.linalg.standardisation import (
    KINDS,
    Blocks,
    ColumnUnits,
    Mixed,
    Scale,
    Standardisation,
    divided,
    fits,
    is_constant,
    largest_of,
)
from spcastat.linalg.ties import is_sparse

Given = bool | np.ndarray
Op = TypeVar("Op", bound=Operator)


def prepare(
    X: Any,
    weights: np.ndarray | None,
    center: Given,
    scale: Scale,
    names: Sequence[object] | pd.Index,
    keep_rows: bool = False,
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
        Keep the rows in the operator, instead of the covariance matrix.

    Raises
    ------
    ConstantColumnError
        If a column that is to be divided by its standard deviation does not vary.

    Notes
    -----
    If squares of the values would overflow or underflow, the operator is built from a copy of the rows
    divided by powers of two, and its `unit` says by what.
    """
    if isinstance(scale, Blocks):
        return _in_blocks(scale, lambda divisor: prepare(X, weights, center, divisor, names, keep_rows))
    found = _prepared(X, weights, center, scale, names, keep_rows, partial(largest_of, X))
    if found is None:
        largest = largest_of(X)
        units = ColumnUnits.of(largest, scale)
        if units is not None:
            X, center = divided(X, units.exponents), units.centre(center)
        divisor = scale if units is None else units.divisor(scale)
        found = _prepared(X, weights, center, divisor, names, keep_rows)
        assert found is not None
        if units is not None:
            found[1].unit = units.unit
            return units.restored(found[0]), found[1]
    return found


def _prepared(
    X: Any,
    weights: np.ndarray | None,
    center: Given,
    scale: Scale,
    names: Sequence[object] | pd.Index,
    keep_rows: bool,
    largest: Callable[[np.ndarray], np.ndarray] | None = None,
) -> tuple[Standardisation, Operator] | None:
    """Return what :func:`prepare` returns; with `largest`, None if the sums of squares over- or underflow."""
    positive = X.shape[0] if weights is None else int(np.count_nonzero(weights))
    if is_sparse(X):
        sums = Sums(X.shape[1])
        sums.add(X, weights)
        if largest is not None and not fits(sums.mean, sums.squares, largest):
            return None
        standard = standard_of(sums.mean, sums.squares, sums.weight, center, scale, names)
        squares = sums.squares + sums.weight * (sums.mean - standard.mean) ** 2
        return standard, _sparse_rows(X, weights, standard, keep_rows, squares / (sums.weight - 1.0))
    if not _forms_gram(X, keep_rows):
        weight, mean, Y = centred(X, weights)
        squares = np.einsum("ij,ij->j", Y, Y)
        if largest is not None and not fits(mean, squares, largest):
            return None
        standard = standard_of(mean, squares, weight, center, scale, names)
        w = np.ones(X.shape[0]) if weights is None else weights
        if center is not True:
            Y = X - standard.mean
            if weights is not None:
                Y *= np.sqrt(w)[:, None]
        return standard, _dense_rows(Y, w, standard)
    products = CrossProducts(X.shape[1])
    products.add(X, weights)
    if largest is not None and not fits(products.mean, products.squares, largest):
        return None
    return from_products(products, positive, center, scale, names)


def from_products(
    products: CrossProducts, positive: int, center: Given, scale: Scale, names: Sequence[object] | pd.Index
) -> tuple[Standardisation, Gram]:
    """Return centre, scale and covariance matrix from accumulated cross-products.

    Parameters
    ----------
    products : CrossProducts
    positive : int
        Number of rows whose weight is not zero.
    center, scale, names
        As for :func:`prepare`; `scale` may be `ScalingGroups`.
    """
    if isinstance(scale, Blocks):
        return _in_blocks(scale, lambda divisor: from_products(products, positive, center, divisor, names))
    standard = standard_of(products.mean, products.squares, products.weight, center, scale, names)
    return standard, _gram(products, positive, standard)


def _in_blocks(
    blocks: Blocks, find: Callable[[Any], tuple[Standardisation, Op]]
) -> tuple[Standardisation, Op]:
    """Return centre, scale and operator for scaling by blocks; `find` returns them for a given `scale`."""
    standard, op = find(KINDS[blocks.kind])
    standard, op = find(standard.scale * blocks.divisors(op) * op.unit)
    return replace(standard, scaling=blocks.kind), op


def matrix_in_blocks(
    S: np.ndarray, blocks: Blocks, names: Sequence[object] | pd.Index
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
) -> Standardisation:
    """Return the centre and scale, from means and sums of squares about them.

    Parameters
    ----------
    mean, squares : ndarray of shape (p,)
    weight : float
        The sum of the weights of the rows.
    center, scale, names
        As for :func:`prepare`.
    """
    p = len(mean)
    centre = mean if center is True else np.zeros(p) if center is False else np.asarray(center, dtype=float)
    mixed = isinstance(scale, Mixed)
    if scale is True or isinstance(scale, Mixed):
        about = squares if center is True else squares + weight * (mean - centre) ** 2
        variance = about / (weight - 1.0)
        constant = np.flatnonzero(is_constant(centre, variance))
        if constant.size:
            raise ConstantColumnError(
                f"{constant.size} of {plural(p, 'column')} {'does' if constant.size == 1 else 'do'} not "
                "vary: "
                f"{listed([names[int(j)] for j in constant])}; with scale=True or 'blocks', a "
                "column is divided by its standard deviation. Drop these columns or use scale=False."
            )
        divisor = np.sqrt(variance) if scale is True else scale.divisors(mean, variance, weight)
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
    """Return the operator of sparse rows; `variances`, shape (p,), are those of the unscaled columns."""
    w = np.ones(X.shape[0]) if weights is None else weights
    multiplier = np.where(is_constant(standard.mean, variances), 0.0, 1.0 / standard.scale)
    root = np.sqrt(w / (w.sum() - 1.0))
    rank_limit = int(np.count_nonzero(w)) - int(standard.centring == "mean")
    rows = SparseRows(X, standard.mean, multiplier, root, rank_limit, variances * multiplier**2)
    return Gram(rows.gram(), rank_limit) if _forms_gram(X, keep_rows) else rows


def _dense_rows(Y: np.ndarray, w: np.ndarray, standard: Standardisation) -> DenseRows:
    """Return the operator of centred rows times the roots of their weights; Y is overwritten."""
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
