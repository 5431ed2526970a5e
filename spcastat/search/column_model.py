"""Two matrices for each fit whose ratio v'Av / v'Bv ranks the choices for one column given the others."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from spcastat.search.small_matrices import eigen, products_at
from spcastat.search.symmetric_matrices import Moments


@dataclass(eq=False)
class Bordered:
    """The matrices A and B on a support and one further variable.

    Attributes
    ----------
    A, M : ndarray of shape (B, c, c + w)
        The rows of the support: first its own columns, then those of w other variables. The attribute M
        holds the matrix B; None stands for the identity.
    corner, corner_M : ndarray of shape (B, w)
        Diagonals at the w other variables.
    """

    A: np.ndarray
    corner: np.ndarray
    M: np.ndarray | None
    corner_M: np.ndarray

    def spectrum(self) -> tuple[np.ndarray, np.ndarray]:
        """Return the eigenvalues of A relative to M on the support, ascending, and eigenvectors.

        The shapes are (B, c) and (B, c, c); see `eigen`.
        """
        c = self.A.shape[1]
        return eigen(self.A[:, :, :c], None if self.M is None else self.M[:, :, :c])

    def some(self, start: int, count: int) -> Bordered:
        """Return these matrices with only `count` of the further variables, from number `start` on."""
        c, part = self.A.shape[1], slice(start, start + count)
        kept = np.r_[:c, c + np.arange(self.corner.shape[1])[part]]
        corner = self.corner[:, part]
        if self.M is None:
            return Bordered(self.A[:, :, kept], corner, None, self.corner_M)
        return Bordered(self.A[:, :, kept], corner, self.M[:, :, kept], self.corner_M[:, part])


@dataclass(eq=False)
class Model:
    """Two matrices for each of B fits, A = alpha T - [F2'H F1 + F1'H F2] - F1'Z F1 and B = M - F1'H F1.

    Attributes
    ----------
    M : Moments
    T : Moments or None
        Second matrix of the criterion, if it needs one.
    first, second : ndarray of shape (B, k, m)
        Products of the loadings with M and T, as in `Fits`.
    alpha : ndarray of shape (B,)
    H, Z : ndarray of shape (B, k, k)
    of : ndarray of int, shape (B,)
        The matrices of each fit, as in `Fits`.
    """

    M: Moments
    T: Moments | None
    first: np.ndarray
    second: np.ndarray
    alpha: np.ndarray
    H: np.ndarray
    Z: np.ndarray
    of: np.ndarray

    @property
    def main(self) -> Moments:
        """The matrix T of each fit, or M for a criterion without T."""
        return (self.M if self.T is None else self.T).of(self.of)

    def bordered(self, support: np.ndarray, entering: np.ndarray) -> Bordered:
        """Return A and B on supports, shape (B, c), bordered by other variables, shape (B, w)."""
        both = np.concatenate([support, entering], axis=1)
        F = np.take_along_axis(self.first, both[:, None, :], axis=2)
        turned = F[:, :, : support.shape[1]].mT
        A = self.alpha[:, None, None] * self.main.blocks(support, both) - turned @ (self.Z @ F)
        out = F[:, :, support.shape[1] :]
        corner = self.alpha[:, None] * self.main.entries(entering) - (out * (self.Z @ out)).sum(axis=1)
        if self.T is None:
            return Bordered(A, corner, None, np.ones(1))
        K = np.take_along_axis(self.second, both[:, None, :], axis=2)
        HF, HK = self.H @ F, self.H @ K
        A -= K[:, :, : support.shape[1]].mT @ HF + turned @ HK
        corner -= 2.0 * (out * HK[:, :, support.shape[1] :]).sum(axis=1)
        own = self.M.of(self.of)
        M = own.blocks(support, both) - turned @ HF
        corner_M = own.entries(entering) - (out * HF[:, :, support.shape[1] :]).sum(axis=1)
        return Bordered(A, corner, M, corner_M)

    def products(self, places: np.ndarray, x: np.ndarray) -> np.ndarray:
        """Return A v, shape (B, L, m), for L sparse columns per fit, shape (B, L, c)."""
        B, L, width = places.shape
        flat = places.reshape(B * L, width), x.reshape(B * L, width)
        main = self.main.of(np.repeat(self.of, L)).products(*flat).reshape(B, L, self.M.m)
        first = products_at(self.first, places, x)
        found = self.alpha[:, None, None] * main - first @ (self.Z @ self.first)
        if self.T is not None:
            second = products_at(self.second, places, x)
            found -= first @ (self.H @ self.second) + second @ (self.H @ self.first)
        return found

    def corners(self) -> np.ndarray:
        """Return the diagonal of B, shape (B, m)."""
        if self.T is None:
            return np.ones((len(self.first), self.M.m))
        return self.M.of(self.of).diagonal() - (self.first * (self.H @ self.first)).sum(axis=1)

    def repeated(self, times: int) -> Model:
        """Return the model with every fit repeated `times` times."""
        arrays = (self.first, self.second, self.alpha, self.H, self.Z, self.of)
        return Model(self.M, self.T, *(np.repeat(array, times, axis=0) for array in arrays))
