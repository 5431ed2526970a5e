"""Rows as an operator: the covariance matrix is never formed, and sparse rows are never centred in place."""

from __future__ import annotations

from abc import abstractmethod
from functools import cached_property
from typing import Any

import numpy as np

from spcastat.kernels.eig import DENSE_ORDER, settled, top_lanczos, whole_groups
from spcastat.kernels.orthonormal import orthonormalise
from spcastat.operators.base import Operator, lanczos_start
from spcastat.operators.standardise import column_squares, row_blocks

#: Up to this many rows (or variables) the smaller cross-product matrix is formed for the leading pairs.
SMALL_SIDE = 3 * DENSE_ORDER
#: Sparse rows with a mean beyond this many standard deviations are centred block by block for products.
FAR_MEAN = 100.0


class Rows(Operator):
    """Rows Y, shape (n, p), centred, scaled and weighted so that S = Y'Y.

    Attributes
    ----------
    n : int
    root_weights : ndarray of shape (n,)
        Square roots of the row weights over the divisor of the variances: Y holds the standardised rows
        times these.
    """

    n: int
    root_weights: np.ndarray

    @abstractmethod
    def forward(self, V: np.ndarray) -> np.ndarray:
        """Return Y V for V of shape (p,) or (p, m)."""

    @abstractmethod
    def adjoint(self, U: np.ndarray) -> np.ndarray:
        """Return Y' U for U of shape (n,) or (n, m)."""

    @abstractmethod
    def cross_products(self) -> np.ndarray:
        """Return the smaller of Y'Y and Y Y' as a dense array."""

    def dot(self, V: np.ndarray) -> np.ndarray:
        return self.adjoint(self.forward(V))

    def columns(self, J: np.ndarray) -> np.ndarray:
        selector = np.zeros((self.p, len(J)))
        selector[J, np.arange(len(J))] = 1.0
        return self.dot(selector)

    def leading(self, k: int, seed: int = 0) -> tuple[np.ndarray, np.ndarray]:
        if min(self.n, self.p) > SMALL_SIDE:
            if self.n >= self.p:
                return super().leading(k, seed)
            values, left = top_lanczos(
                lambda u: self.forward(self.adjoint(u)), self.n, k, lanczos_start(self.n, seed)
            )
        else:
            values, left = whole_groups(self.cross_products(), k)
        V = left
        if self.p > self.n:
            V = orthonormalise(self.adjoint(left))[0]
        values, V = settled(values, V)
        return values[:k], V[:, :k]

    def score_basis(self, V: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        Q, remainder = orthonormalise(self.forward(V))
        return remainder**2, self.adjoint(Q)


class DenseRows(Rows):
    """Rows held as a dense array.

    Parameters
    ----------
    Y : ndarray of shape (n, p)
        Centred, scaled and weighted rows with S = Y'Y; kept without a copy.
    root_weights : ndarray of shape (n,)
    rank_limit : int
    """

    def __init__(self, Y: np.ndarray, root_weights: np.ndarray, rank_limit: int):
        self.Y = Y
        self.root_weights = root_weights
        self.n, self.p = Y.shape
        self.rank_limit = min(rank_limit, self.p)

    def diagonal(self) -> np.ndarray:
        return np.einsum("ij,ij->j", self.Y, self.Y)

    def forward(self, V: np.ndarray) -> np.ndarray:
        used = np.flatnonzero(V.any(axis=1) if V.ndim == 2 else V)
        if 8 * used.size < self.p:
            return self.Y[:, used] @ V[used]
        return self.Y @ V

    def adjoint(self, U: np.ndarray) -> np.ndarray:
        return self.Y.T @ U

    def columns(self, J: np.ndarray) -> np.ndarray:
        return self.Y.T @ self.Y[:, J]

    def block(self, J: np.ndarray) -> np.ndarray:
        part = self.Y[:, J]
        return part.T @ part

    def take(self, J: np.ndarray) -> DenseRows:
        return DenseRows(self.Y[:, J], self.root_weights, self.rank_limit)

    def cross_products(self) -> np.ndarray:
        return self.Y @ self.Y.T if self.n < self.p else self.Y.T @ self.Y


class SparseRows(Rows):
    """Sparse rows with implicit centring: He, Monteiro and Park (2010), equation 2.9.

    Parameters
    ----------
    X : scipy.sparse CSC array of shape (n, p)
        Raw values; never changed and never made dense.
    mean, multiplier : ndarray of shape (p,)
        What is subtracted from each column, and what it is then multiplied by.
    root_weights : ndarray of shape (n,)
        Square roots of the row weights over the divisor of the variances.
    rank_limit : int
    """

    def __init__(
        self,
        X: Any,
        mean: np.ndarray,
        multiplier: np.ndarray,
        root_weights: np.ndarray,
        rank_limit: int,
    ):
        self.X = X
        self.n, self.p = X.shape
        self.mean = mean
        self.multiplier = multiplier
        self.root_weights = root_weights
        self.rank_limit = min(rank_limit, self.p)

    def diagonal(self) -> np.ndarray:
        return self._variances

    @cached_property
    def _variances(self) -> np.ndarray:
        return column_squares(self.X, self.root_weights**2, self.mean) * self.multiplier**2

    def forward(self, V: np.ndarray) -> np.ndarray:
        scaled = (self.multiplier * V.T).T
        used = np.flatnonzero(V.any(axis=1) if V.ndim == 2 else V)
        raw = self.X[:, used] @ scaled[used] if 8 * used.size < self.p else self.X @ scaled
        return (self.root_weights * (raw - self.mean @ scaled).T).T

    def adjoint(self, U: np.ndarray) -> np.ndarray:
        weighted = (self.root_weights * U.T).T
        raw = self.X.T @ weighted
        return (self.multiplier * (raw.T - np.multiply.outer(weighted.sum(axis=0), self.mean))).T

    def take(self, J: np.ndarray) -> SparseRows:
        return SparseRows(self.X[:, J], self.mean[J], self.multiplier[J], self.root_weights, self.rank_limit)

    def cross_products(self) -> np.ndarray:
        return self.gram() if self.p <= self.n else self._row_products()

    def gram(self) -> np.ndarray:
        """Return S as a dense array, shape (p, p)."""
        if self._far_from_zero():
            S = np.zeros((self.p, self.p))
            by_rows = self.X.tocsr()
            for rows in row_blocks(self.n, self.p):
                block = (by_rows[rows].toarray() - self.mean) * self.multiplier
                block *= self.root_weights[rows, None]
                S += block.T @ block
            return S
        weights = self.root_weights**2
        linear = self.X.T @ weights
        raw = (self.X.T @ self.X.multiply(weights[:, None]).tocsc()).toarray()
        raw -= np.outer(linear, self.mean) + np.outer(self.mean, linear)
        raw += weights.sum() * np.outer(self.mean, self.mean)
        return raw * np.outer(self.multiplier, self.multiplier)

    def _row_products(self) -> np.ndarray:
        """Return Y Y' as a dense array, shape (n, n)."""
        root = self.root_weights
        if self._far_from_zero():
            products = np.zeros((self.n, self.n))
            for columns in row_blocks(self.p, self.n):
                block = (self.X[:, columns].toarray() - self.mean[columns]) * self.multiplier[columns]
                products += block @ block.T
            return products * np.outer(root, root)
        scaled = self.X.multiply(self.multiplier).tocsc()
        shift = self.mean * self.multiplier
        cross = scaled @ shift
        raw = (scaled @ scaled.T).toarray() - np.add.outer(cross, cross) + shift @ shift
        return raw * np.outer(root, root)

    def _far_from_zero(self) -> bool:
        """Return whether raw products would lose digits that centred ones keep."""
        squares = (self.mean * self.multiplier) ** 2
        return bool(np.any(squares > FAR_MEAN**2 * self._variances))
