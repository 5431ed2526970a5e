"""Deflation of rows as a low-rank view: what is left of Y after a component, never copied or changed."""

from __future__ import annotations

from collections.abc import Callable
from functools import cached_property

import numpy as np

from spcastat.errors import OptionError
from spcastat.kernels.orthonormal import orthonormalise
from spcastat.operators.deflated import Removed
from spcastat.operators.rows import Rows


class DeflatedRows(Rows):
    """The rows Y - A B' for a low-rank update.

    Parameters
    ----------
    base : Rows
    A : ndarray of shape (n, r)
    B : ndarray of shape (p, r)
    """

    def __init__(self, base: Rows, A: np.ndarray, B: np.ndarray):
        self.base = base
        self.A = A
        self.B = B
        self.n, self.p = base.n, base.p
        self.root_weights = base.root_weights
        self.rank_limit = base.rank_limit
        self.unit = base.unit

    @cached_property
    def _update(self) -> tuple[np.ndarray, np.ndarray]:
        """L (p, 2r) and M (2r, 2r) with (Y - A B')'(Y - A B') = Y'Y + L M L'."""
        r = self.A.shape[1]
        M = np.block([[np.zeros((r, r)), -np.eye(r)], [-np.eye(r), self.A.T @ self.A]])
        return np.hstack([self.base.adjoint(self.A), self.B]), M

    def diagonal(self) -> np.ndarray:
        """Return the variances that are left; rounding below zero is cut off."""
        L, M = self._update
        return (self.base.diagonal() + np.einsum("ij,jk,ik->i", L, M, L)).clip(min=0.0)

    def forward(self, V: np.ndarray) -> np.ndarray:
        return self.base.forward(V) - self.A @ (self.B.T @ V)

    def adjoint(self, U: np.ndarray) -> np.ndarray:
        return self.base.adjoint(U) - self.B @ (self.A.T @ U)

    def columns(self, J: np.ndarray) -> np.ndarray:
        L, M = self._update
        return self.base.columns(J) + L @ (M @ L[J].T)

    def block(self, J: np.ndarray) -> np.ndarray:
        L, M = self._update
        return self.base.block(J) + L[J] @ M @ L[J].T

    def take(self, J: np.ndarray) -> DeflatedRows:
        return DeflatedRows(self.base.take(J), self.A, self.B[J])

    def divided(self, unit: float) -> DeflatedRows:
        return DeflatedRows(self.base.divided(unit), self.A / unit, self.B)

    def cross_products(self) -> np.ndarray:
        if self.n >= self.p:
            L, M = self._update
            return self.base.cross_products() + L @ M @ L.T
        crossed = self.base.forward(self.B) @ self.A.T
        inner = self.A @ (self.B.T @ self.B) @ self.A.T
        return self.base.cross_products() - crossed - crossed.T + inner


Update = tuple[np.ndarray, np.ndarray]


def schur(view: Rows, part: Removed) -> Update:
    """Y - t t'Y / t't, t = Y v: regress every variable on the score (He, Monteiro and Park 2010)."""
    t = view.forward(part.v)
    variance = float(t @ t)
    return t / variance if variance > 0 else 0.0 * t, view.adjoint(t)


def projection(view: Rows, part: Removed) -> Update:
    """Y (I - v v'): rows projected off the loadings (Mackey 2009; Zhao, Meng and Xu 2014, step 2.1)."""
    return view.forward(part.v), part.v


def orthogonalised(view: Rows, part: Removed) -> Update:
    """Projection off the part of the loadings that is orthogonal to those before (Mackey 2009)."""
    q = orthonormalise(np.column_stack([part.before, part.v]))[0][:, -1]
    return view.forward(q), q


def residual(view: Rows, part: Removed) -> Update:
    """Y - u w', u the unit score and w the raw loadings: Shen and Huang (2008)."""
    t = view.forward(part.v)
    length = float(np.linalg.norm(t))
    return t / length if length > 0 else 0.0 * t, part.raw


#: name -> function (view, component) -> A and B of the update; each is the twin of one in DEFLATIONS.
ROW_DEFLATIONS: dict[str, Callable[[Rows, Removed], Update]] = {
    "schur": schur,
    "projection": projection,
    "orthogonalised": orthogonalised,
    "residual": residual,
}


def deflate_rows(view: Rows, part: Removed, how: str) -> DeflatedRows:
    """Return what is left of the rows after a component; `how` is a name in ROW_DEFLATIONS.

    Raises
    ------
    OptionError
        For "hotelling", which subtracts from the covariance matrix what no rows correspond to.
    """
    if how not in ROW_DEFLATIONS:
        raise OptionError(
            f"deflation={how!r} changes the covariance matrix into one that no rows have, and this method "
            f"works on rows; choose one of {', '.join(repr(name) for name in ROW_DEFLATIONS)}."
        )
    a, b = ROW_DEFLATIONS[how](view, part)
    if not isinstance(view, DeflatedRows):
        return DeflatedRows(view, a[:, None], b[:, None])
    return DeflatedRows(view.base, np.column_stack([view.A, a]), np.column_stack([view.B, b]))
