"""Deflation: a component is removed from an operator by a low-rank update."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property, partial

import numpy as np

from spcastat.errors import OptionError
from spcastat.linalg.eigenvectors import orthonormalise, quotients
from spcastat.linalg.operators import SCORE_DEPENDENCE, Operator, Rows


class _Updated(Operator):
    """Base class of operators S + L M L', with the S of `base`, L of shape (p, r) and a symmetric M."""

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
        Unit loadings of the component.
    raw : ndarray of shape (p,)
        Loadings with the length that the solver gave them; used by ``residual``.
    before : ndarray of shape (p, i)
        Unit loadings of the earlier components.
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
    base_variance = float(part.v @ view.base.dot(part.v)) if isinstance(view, Deflated) else variance
    # otherwise the score depends on earlier scores, and nothing is removed
    has_residual = variance > SCORE_DEPENDENCE**2 * base_variance
    return (Sv / np.sqrt(variance) if has_residual else 0.0 * Sv)[:, None], -np.eye(1)


def hotelling(view: Operator, part: Removed) -> Update:
    """S - (v'Sv) v v', which may be indefinite if v is not an eigenvector of S."""
    return part.v[:, None], np.array([[-float(part.v @ view.dot(part.v))]])


def of_rows(view: Operator, part: Removed, method: str) -> Update:
    """Return L and M for the covariance matrix of the rows Y - Y a b'."""
    a, b = ROW_DEFLATIONS[method](view, part)
    Sa = view.dot(a)
    return np.column_stack([b, Sa]), np.array([[float(a @ Sa), -1.0], [-1.0, 0.0]])


#: Name -> function of (operator, component) that returns L and M of the update S + L M L'.
DEFLATIONS: dict[str, Callable[[Operator, Removed], Update]] = {
    "schur": schur_complement,
    "projection": partial(of_rows, method="projection"),
    "hotelling": hotelling,
    "orthogonalised": partial(of_rows, method="orthogonalised"),
    "residual": partial(of_rows, method="residual"),
}


def deflate(view: Operator, part: Removed, method: str) -> Deflated:
    """Return the operator `view` without a component; `method` is a name in DEFLATIONS."""
    L, M = DEFLATIONS[method](view, part)
    if not isinstance(view, Deflated):
        return Deflated(view, L, M)
    r = view.M.shape[0]
    middle = np.zeros((r + M.shape[0], r + M.shape[0]))
    middle[:r, :r] = view.M
    middle[r:, r:] = M
    return Deflated(view.base, np.hstack([view.L, L]), middle)


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


def deflate_rows(view: Rows, part: Removed, method: str) -> DeflatedRows:
    """Return the rows `view` without a component; `method` is a name in ROW_DEFLATIONS.

    Raises
    ------
    OptionError
        For "hotelling", whose result is in general not the covariance matrix of any rows.
    """
    if method not in ROW_DEFLATIONS:
        raise OptionError(
            f"deflation={method!r} gives a matrix that is not the covariance matrix of any rows, and this "
            f"method works on rows; choose one of {', '.join(repr(name) for name in ROW_DEFLATIONS)}."
        )
    a, b = ROW_DEFLATIONS[method](view, part)
    a = view.forward(a)
    if not isinstance(view, DeflatedRows):
        return DeflatedRows(view, a[:, None], b[:, None])
    return DeflatedRows(view.base, np.column_stack([view.A, a]), np.column_stack([view.B, b]))
