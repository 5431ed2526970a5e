"""Symmetric matrices for a batched search: products with sparse columns, and small blocks."""

from __future__ import annotations

from abc import ABC, abstractmethod
from typing import ClassVar

import numpy as np

from spcastat.kernels.blocks import blocks
from spcastat.operators import Operator

#: Numbers gathered at once, which bounds the memory.
GATHERED = 4_000_000


class Moments(ABC):
    """A symmetric positive semidefinite matrix M of order m.

    A sparse column is given by the places of its c nonzeros and the values there, two arrays of shape
    (L, c) for L columns at once.
    """

    m: int
    #: Whether M is the identity matrix.
    identity: ClassVar[bool] = False

    def of(self, which: np.ndarray) -> Moments:
        """Return the matrices numbered `which`, shape (L,), one per column; this one if there is only one."""
        return self

    @abstractmethod
    def products(self, places: np.ndarray, x: np.ndarray) -> np.ndarray:
        """Return M v for every column, shape (L, m)."""

    @abstractmethod
    def blocks(self, rows: np.ndarray, columns: np.ndarray) -> np.ndarray:
        """Return M[rows, columns], shape (L, q, r), for rows of shape (L, q) and columns of shape (L, r)."""

    @abstractmethod
    def diagonal(self) -> np.ndarray:
        """Return the diagonal, shape (m,)."""

    def entries(self, places: np.ndarray) -> np.ndarray:
        """Return the entries of the diagonal at `places`, both of shape (L, q)."""
        return np.asarray(self.diagonal()[places])

    def forms(self, places: np.ndarray, x: np.ndarray) -> np.ndarray:
        """Return v'Mv for every column, shape (L,)."""
        inner = self.blocks(places, places) @ x[:, :, None]
        return (inner[:, :, 0] * x).sum(axis=1)


class Dense(Moments):
    """A matrix in memory, or several of which each column uses one.

    Parameters
    ----------
    M : ndarray of shape (m, m) or (D, m, m)
        Symmetric.
    which : ndarray of int, shape (L,)
        The number of the matrix for each column, modulo D; by default column l uses matrix l.
    """

    def __init__(self, M: np.ndarray, which: np.ndarray | None = None):
        self.M = M
        self.m = M.shape[-1]
        self.which = np.arange(len(M)) if M.ndim > 2 and which is None else which
        if which is not None:
            self.which = which % len(M)
        #: The number of the first row of each column's matrix among the stacked rows of all matrices.
        self.start = 0 if self.which is None else self.which[:, None] * self.m

    def of(self, which: np.ndarray) -> Moments:
        return self if self.which is None else Dense(self.M, which)

    def products(self, places: np.ndarray, x: np.ndarray) -> np.ndarray:
        L, c = places.shape
        if self.which is None and 3 * c >= self.m:
            return scattered(places, x, self.m) @ self.M
        rows, lines = self.M.reshape(-1, self.m), self.start + places
        found = np.empty((L, self.m))
        for part in blocks(L, c * self.m, GATHERED):
            found[part] = np.matmul(x[part, None, :], rows[lines[part]])[:, 0]
        return found

    def blocks(self, rows: np.ndarray, columns: np.ndarray) -> np.ndarray:
        return self.M.take((self.start + rows)[:, :, None] * self.m + columns[:, None, :])

    def diagonal(self) -> np.ndarray:
        """Return the diagonal, for every column if there are several matrices: shape (m,) or (L, m)."""
        diagonals = np.einsum("...ii->...i", self.M)
        return diagonals if self.which is None else diagonals[self.which]

    def entries(self, places: np.ndarray) -> np.ndarray:
        return self.M.take((self.start + places) * self.m + places)


class Identity(Moments):
    """The identity matrix of order m."""

    identity = True

    def __init__(self, m: int):
        self.m = m

    def products(self, places: np.ndarray, x: np.ndarray) -> np.ndarray:
        return scattered(places, x, self.m)

    def blocks(self, rows: np.ndarray, columns: np.ndarray) -> np.ndarray:
        return (rows[:, :, None] == columns[:, None, :]).astype(float)

    def diagonal(self) -> np.ndarray:
        return np.ones(self.m)

    def forms(self, places: np.ndarray, x: np.ndarray) -> np.ndarray:
        return (x**2).sum(axis=1)


class Known(Moments):
    """A matrix of which only some columns and the diagonal are known.

    This is enough for sparse columns with nonzeros at these variables and at most one other.

    Parameters
    ----------
    variables : ndarray of int, shape (q,)
        Ascending.
    columns : ndarray of shape (m, q)
    diagonal : ndarray of shape (m,)
    """

    def __init__(self, variables: np.ndarray, columns: np.ndarray, diagonal: np.ndarray):
        self.m = len(diagonal)
        self.place = np.full(self.m, -1)
        self.place[variables] = np.arange(len(variables))
        self.rows = np.ascontiguousarray(columns.T)
        self._diagonal = diagonal

    def products(self, places: np.ndarray, x: np.ndarray) -> np.ndarray:
        return np.einsum("lc,lcm->lm", x, self.rows[self.place[places]])

    def blocks(self, rows: np.ndarray, columns: np.ndarray) -> np.ndarray:
        first, second = self.place[rows][:, :, None], self.place[columns][:, None, :]
        one = self.rows[first, columns[:, None, :]]
        other = self.rows[second, rows[:, :, None]]
        same = rows[:, :, None] == columns[:, None, :]
        neither = np.where(same, self._diagonal[rows][:, :, None], 0.0)
        return np.where(first >= 0, one, np.where(second >= 0, other, neither))

    def diagonal(self) -> np.ndarray:
        return self._diagonal


class Products(Moments):
    """A power of the covariance matrix of an operator over its total variance, through products only.

    Parameters
    ----------
    op : Operator
    power : {1, 2}
    """

    def __init__(self, op: Operator, power: int = 1):
        self.op = op
        self.m = op.p
        self.power = power

    def products(self, places: np.ndarray, x: np.ndarray) -> np.ndarray:
        V = scattered(places, x, self.m).T
        for _ in range(self.power):
            V = self.op.dot(V) / self.op.total
        return np.ascontiguousarray(V.T)

    def blocks(self, rows: np.ndarray, columns: np.ndarray) -> np.ndarray:
        return np.stack([self._block(a, b) for a, b in zip(rows, columns, strict=True)])

    def _block(self, rows: np.ndarray, columns: np.ndarray) -> np.ndarray:
        if self.power == 1 and rows.shape == columns.shape and (rows == columns).all():
            return self.op.block(rows) / self.op.total
        if len(columns) < len(rows):
            return self._block(columns, rows).T
        found = self.op.columns(rows)  # the smaller set, which limits the memory
        if self.power == 2:
            found = self.op.dot(found) / self.op.total
        return found[columns].T / self.op.total

    def diagonal(self) -> np.ndarray:
        if self.power == 1:
            return self.op.diagonal() / self.op.total
        every = np.arange(self.m)
        parts = [self.op.columns(every[a : a + 200]) for a in range(0, self.m, 200)]
        return np.concatenate([(part**2).sum(axis=0) for part in parts]) / self.op.total**2

    def forms(self, places: np.ndarray, x: np.ndarray) -> np.ndarray:
        V = scattered(places, x, self.m).T
        if self.power == 2:
            return (self.op.dot(V) ** 2).sum(axis=0) / self.op.total**2
        return self.op.forms(V) / self.op.total


def scattered(places: np.ndarray, x: np.ndarray, m: int) -> np.ndarray:
    """Return sparse columns as rows of an array of shape (L, m)."""
    V = np.zeros((len(places), m))
    np.put_along_axis(V, places, x, axis=1)
    return V
