"""The operator for raw rows that costs least, and deflation: a component is removed by a low-rank update."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import cached_property, partial
from typing import Any, TypeVar

import numpy as np
import pandas as pd

from spcastat.config import listed, plural
from spcastat.errors import ConstantColumnError, OptionError
from spcastat.linalg.accumulate import CrossProducts, Sums, centred, scale_outer
from spcastat.linalg.eigenvectors import orthonormalise
from spcastat.linalg.operators import DEPENDENT, GRAM_ORDER, DenseRows, Gram, Operator, Rows, SparseRows
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
from spcastat.linalg.ties import is_sparse, quotients

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


class _Updated(Operator):
    """Base class of operators S + L M L', with the S of a base, L of shape (p, r) and a symmetric M."""

    base: Operator
    L: np.ndarray
    M: np.ndarray

    def diagonal(self) -> np.ndarray:
        """Return the remaining variances; values below zero, from rounding, become zero."""
        return (self.base.diagonal() + np.einsum("ij,jk,ik->i", self.L, self.M, self.L)).clip(min=0.0)

    def columns(self, J: np.ndarray) -> np.ndarray:
        return self.base.columns(J) + self.L @ (self.M @ self.L[J].T)

    def block(self, J: np.ndarray) -> np.ndarray:
        return self.base.block(J) + self.L[J] @ self.M @ self.L[J].T


class Deflated(_Updated):
    """The operator S + L M L' for a low-rank update.

    Parameters
    ----------
    base : Operator
    L : ndarray of shape (p, r)
    M : ndarray of shape (r, r), symmetric
    """

    def __init__(self, base: Operator, L: np.ndarray, M: np.ndarray):
        self.base = base
        self.L = L
        self.M = M
        self.p = base.p
        self.rank_limit = base.rank_limit
        self.unit = base.unit

    def dot(self, V: np.ndarray) -> np.ndarray:
        return self.base.dot(V) + self.L @ (self.M @ (self.L.T @ V))

    def take(self, J: np.ndarray) -> Deflated:
        return Deflated(self.base.take(J), self.L[J], self.M)

    def divided(self, unit: float) -> Deflated:
        return Deflated(self.base.divided(unit), self.L, self.M / unit**2)


@dataclass(frozen=True, eq=False)
class Removed:
    """A component to be removed.

    Attributes
    ----------
    v : ndarray of shape (p,)
        Its unit loadings.
    raw : ndarray of shape (p,)
        Its loadings with the length that the solver gave them; used by ``residual``.
    before : ndarray of shape (p, i)
        The unit loadings of the earlier components.
    """

    v: np.ndarray
    raw: np.ndarray
    before: np.ndarray


Update = tuple[np.ndarray, np.ndarray]


def schur(view: Operator, part: Removed) -> Update:
    """Y - t t'Y / t't with t = Y v: residuals of every variable on the score (He, Monteiro and Park 2010)."""
    Sv = view.dot(part.v)
    variance = float(part.v @ Sv)
    return quotients(part.v, np.array(variance)), Sv


def projection(view: Operator, part: Removed) -> Update:
    """Y (I - v v'): project the rows on the complement of v (Mackey 2009; Zhao, Meng and Xu 2014)."""
    return part.v, part.v


def orthogonalised(view: Operator, part: Removed) -> Update:
    """Projection with v made orthogonal to the loadings of earlier components (Mackey 2009)."""
    q = orthonormalise(np.column_stack([part.before, part.v]))[0][:, -1]
    return q, q


def residual(view: Operator, part: Removed) -> Update:
    """Y - u w' with u the unit score and w the raw loadings: Shen and Huang (2008)."""
    variance = float(part.v @ view.dot(part.v))
    return quotients(part.v, np.sqrt(np.maximum(variance, 0.0))), part.raw


#: Name -> function of (rows, component) that returns a and b of the update Y - Y a b'.
ROW_DEFLATIONS: dict[str, Callable[[Operator, Removed], Update]] = {
    "schur": schur,
    "projection": projection,
    "orthogonalised": orthogonalised,
    "residual": residual,
}


def schur_complement(view: Operator, part: Removed) -> Update:
    """Remove everything that the score explains: He, Monteiro and Park (2010), equation 3.12."""
    Sv = view.dot(part.v)
    variance = float(part.v @ Sv)
    whole = float(part.v @ view.base.dot(part.v)) if isinstance(view, Deflated) else variance
    left = variance > DEPENDENT**2 * whole  # else the score depends on earlier ones: nothing to remove
    return (Sv / np.sqrt(variance) if left else 0.0 * Sv)[:, None], -np.eye(1)


def hotelling(view: Operator, part: Removed) -> Update:
    """S - (v'Sv) v v', which may be indefinite if v is not an eigenvector of S."""
    return part.v[:, None], np.array([[-float(part.v @ view.dot(part.v))]])


def of_rows(view: Operator, part: Removed, how: str) -> Update:
    """Return L and M for the covariance matrix of the rows Y - Y a b'."""
    a, b = ROW_DEFLATIONS[how](view, part)
    Sa = view.dot(a)
    return np.column_stack([b, Sa]), np.array([[float(a @ Sa), -1.0], [-1.0, 0.0]])


#: Name -> function of (operator, component) that returns L and M of the update S + L M L'.
DEFLATIONS: dict[str, Callable[[Operator, Removed], Update]] = {
    "schur": schur_complement,
    "projection": partial(of_rows, how="projection"),
    "hotelling": hotelling,
    "orthogonalised": partial(of_rows, how="orthogonalised"),
    "residual": partial(of_rows, how="residual"),
}


def deflate(view: Operator, part: Removed, how: str) -> Deflated:
    """Return the operator `view` without a component; `how` is a name in DEFLATIONS."""
    L, M = DEFLATIONS[how](view, part)
    if not isinstance(view, Deflated):
        return Deflated(view, L, M)
    r = view.M.shape[0]
    joined = np.zeros((r + M.shape[0], r + M.shape[0]))
    joined[:r, :r] = view.M
    joined[r:, r:] = M
    return Deflated(view.base, np.hstack([view.L, L]), joined)


class DeflatedRows(_Updated, Rows):
    """The rows Y - A B' for a low-rank update.

    Parameters
    ----------
    base : Rows
    A : ndarray of shape (n, r)
    B : ndarray of shape (p, r)
    """

    base: Rows

    def __init__(self, base: Rows, A: np.ndarray, B: np.ndarray):
        self.base = base
        self.A = A
        self.B = B
        self.n, self.p = base.n, base.p
        self.root_weights = base.root_weights
        self.rank_limit = base.rank_limit
        self.unit = base.unit

    # (Y - A B')'(Y - A B') = Y'Y + L M L' with L of shape (p, 2r) and M of shape (2r, 2r)
    @cached_property
    def L(self) -> np.ndarray:  # type: ignore[override]
        return np.hstack([self.base.adjoint(self.A), self.B])

    @cached_property
    def M(self) -> np.ndarray:  # type: ignore[override]
        r = self.A.shape[1]
        return np.block([[np.zeros((r, r)), -np.eye(r)], [-np.eye(r), self.A.T @ self.A]])

    def forward(self, V: np.ndarray) -> np.ndarray:
        return self.base.forward(V) - self.A @ (self.B.T @ V)

    def adjoint(self, U: np.ndarray) -> np.ndarray:
        return self.base.adjoint(U) - self.B @ (self.A.T @ U)

    def take(self, J: np.ndarray) -> DeflatedRows:
        return DeflatedRows(self.base.take(J), self.A, self.B[J])

    def divided(self, unit: float) -> DeflatedRows:
        return DeflatedRows(self.base.divided(unit), self.A / unit, self.B)

    def cross_products(self) -> np.ndarray:
        if self.n >= self.p:
            return self.base.cross_products() + self.L @ self.M @ self.L.T
        crossed = self.base.forward(self.B) @ self.A.T
        inner = self.A @ (self.B.T @ self.B) @ self.A.T
        return self.base.cross_products() - crossed - crossed.T + inner


def deflate_rows(view: Rows, part: Removed, how: str) -> DeflatedRows:
    """Return the rows `view` without a component; `how` is a name in ROW_DEFLATIONS.

    Raises
    ------
    OptionError
        For "hotelling", whose result is in general not the covariance matrix of any rows.
    """
    if how not in ROW_DEFLATIONS:
        raise OptionError(
            f"deflation={how!r} changes the covariance matrix into one that no rows have, and this method "
            f"works on rows; choose one of {', '.join(repr(name) for name in ROW_DEFLATIONS)}."
        )
    a, b = ROW_DEFLATIONS[how](view, part)
    a = view.forward(a)
    if not isinstance(view, DeflatedRows):
        return DeflatedRows(view, a[:, None], b[:, None])
    return DeflatedRows(view.base, np.column_stack([view.A, a]), np.column_stack([view.B, b]))
