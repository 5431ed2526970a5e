"""Deflation as a low-rank view: what is left of S after a component, without changing or copying it."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from spcastat.operators.base import Operator


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


def schur(view: Operator, z: np.ndarray, before: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Remove all that the score of `z` explains: He, Monteiro and Park (2010), equation 3.12."""
    Sz = view.dot(z)
    variance = float(z @ Sz)
    return (Sz / np.sqrt(variance))[:, None] if variance > 0 else Sz[:, None] * 0.0, -np.eye(1)


#: name -> function (view, z, loadings before) -> (L, M) of the update.
DEFLATIONS: dict[str, Callable[[Operator, np.ndarray, np.ndarray], tuple[np.ndarray, np.ndarray]]] = {
    "schur": schur,
}


def deflate(view: Operator, z: np.ndarray, before: np.ndarray, how: str) -> Deflated:
    """Return what is left of `view` after the unit loading vector `z`, shape (p,).

    `before`, shape (p, i), holds the loadings of the components before `z`; `how` is a name in DEFLATIONS.
    """
    L, M = DEFLATIONS[how](view, z, before)
    if not isinstance(view, Deflated):
        return Deflated(view, L, M)
    joined = np.zeros((view.M.shape[0] + M.shape[0],) * 2)
    joined[: view.M.shape[0], : view.M.shape[0]] = view.M
    joined[view.M.shape[0] :, view.M.shape[0] :] = M
    return Deflated(view.base, np.hstack([view.L, L]), joined)
