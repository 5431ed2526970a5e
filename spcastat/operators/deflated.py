"""Deflation as a low-rank view: what is left of S after a component, without changing or copying it."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from spcastat.kernels.orthonormal import orthonormalise
from spcastat.operators.base import DEPENDENT, Operator


class Deflated(Operator):
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

    def diagonal(self) -> np.ndarray:
        """Return the variances that are left; rounding below zero is cut off."""
        return (self.base.diagonal() + np.einsum("ij,jk,ik->i", self.L, self.M, self.L)).clip(min=0.0)

    def dot(self, V: np.ndarray) -> np.ndarray:
        return self.base.dot(V) + self.L @ (self.M @ (self.L.T @ V))

    def columns(self, J: np.ndarray) -> np.ndarray:
        return self.base.columns(J) + self.L @ (self.M @ self.L[J].T)

    def block(self, J: np.ndarray) -> np.ndarray:
        return self.base.block(J) + self.L[J] @ self.M @ self.L[J].T

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
        Its loadings at the length that its method gave them, for ``residual``.
    before : ndarray of shape (p, i)
        The unit loadings of the components before it.
    """

    v: np.ndarray
    raw: np.ndarray
    before: np.ndarray


Update = tuple[np.ndarray, np.ndarray]


def schur(view: Operator, part: Removed) -> Update:
    """Remove all that the score explains: He, Monteiro and Park (2010), equation 3.12."""
    Sv = view.dot(part.v)
    variance = float(part.v @ Sv)
    whole = float(part.v @ view.base.dot(part.v)) if isinstance(view, Deflated) else variance
    left = variance > DEPENDENT**2 * whole  # else a combination of the earlier scores: nothing to remove
    return (Sv / np.sqrt(variance) if left else 0.0 * Sv)[:, None], -np.eye(1)


def hotelling(view: Operator, part: Removed) -> Update:
    """S - (v'Sv) v v': exact for eigenvectors only, and then what is left may be indefinite otherwise."""
    return part.v[:, None], np.array([[-float(part.v @ view.dot(part.v))]])


def projection(view: Operator, part: Removed) -> Update:
    """(I - v v') S (I - v v'): rows projected off the loadings (Mackey 2009)."""
    return _projected(view, part.v)


def orthogonalised(view: Operator, part: Removed) -> Update:
    """Projection off the part of the loadings that is orthogonal to those before (Mackey 2009)."""
    Q, remainder = orthonormalise(np.column_stack([part.before, part.v]))
    if remainder[-1] == 0:
        return np.zeros((view.p, 1)), np.zeros((1, 1))
    return _projected(view, Q[:, -1])


def residual(view: Operator, part: Removed) -> Update:
    """Remove u w' from the rows, u the unit score and w the raw loadings: Shen and Huang (2008)."""
    Sv = view.dot(part.v)
    variance = float(part.v @ Sv)
    if variance <= 0:
        return np.zeros((view.p, 1)), np.zeros((1, 1))
    return np.column_stack([part.raw, Sv / np.sqrt(variance)]), np.array([[1.0, -1.0], [-1.0, 0.0]])


def _projected(view: Operator, q: np.ndarray) -> Update:
    Sq = view.dot(q)
    return np.column_stack([q, Sq]), np.array([[float(q @ Sq), -1.0], [-1.0, 0.0]])


#: name -> function (view, component) -> L and M of the update.
DEFLATIONS: dict[str, Callable[[Operator, Removed], Update]] = {
    "schur": schur,
    "projection": projection,
    "hotelling": hotelling,
    "orthogonalised": orthogonalised,
    "residual": residual,
}


def deflate(view: Operator, part: Removed, how: str) -> Deflated:
    """Return what is left of `view` after a component; `how` is a name in DEFLATIONS."""
    L, M = DEFLATIONS[how](view, part)
    if not isinstance(view, Deflated):
        return Deflated(view, L, M)
    r = view.M.shape[0]
    joined = np.zeros((r + M.shape[0], r + M.shape[0]))
    joined[:r, :r] = view.M
    joined[r:, r:] = M
    return Deflated(view.base, np.hstack([view.L, L]), joined)
