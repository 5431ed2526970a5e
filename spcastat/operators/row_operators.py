"""Covariance operators that keep the rows: S is not formed, and sparse rows are centred implicitly."""

from __future__ import annotations

from abc import abstractmethod
from functools import cached_property
from typing import Any, ClassVar

import numpy as np

from spcastat.kernels.blocks import blocks
from spcastat.kernels.eig import DENSE_ORDER, top_lanczos, whole_groups
from spcastat.kernels.orthonormal import orthonormalise
from spcastat.kernels.ties import settled
from spcastat.operators.accumulate import SOME, CrossProducts, add_outer, add_outers, scale_outer
from spcastat.operators.covariance_operator import (
    GRAM_ORDER,
    Operator,
    lanczos_start,
    projected_off,
    unit_vectors,
)
from spcastat.operators.sparse_products import product, sparse_squares

#: Cross-products of sparse rows are computed from dense blocks, which are centred, if a mean exceeds this
#: many standard deviations, since raw products would lose digits.
FAR_MEAN = 100.0


class Rows(Operator):
    """Rows Y, shape (n, p), centred, scaled and weighted so that S = Y'Y.

    Attributes
    ----------
    n : int
    root_weights : ndarray of shape (n,)
        Square roots of the row weights divided by the divisor of the variances. Y holds the standardised rows
        times these.
    """

    n: int
    root_weights: np.ndarray
    #: Cache of the eigenpairs that were computed last: (number, seed), values and vectors.
    _last: tuple[tuple[int, int], np.ndarray, np.ndarray] | None = None
    #: Leading eigenpairs come from the smaller of Y'Y and Y Y' if its order is at most this.
    small_side: ClassVar[int] = 3 * DENSE_ORDER

    @abstractmethod
    def forward(self, V: np.ndarray) -> np.ndarray:
        """Return Y V for V of shape (p,) or (p, m)."""

    @abstractmethod
    def adjoint(self, U: np.ndarray) -> np.ndarray:
        """Return Y' U for U of shape (n,) or (n, m)."""

    def values(self, J: np.ndarray) -> np.ndarray:
        """Return Y[:, J], shape (n, len(J)), as a dense array."""
        return self.forward(unit_vectors(self.p, J))

    @abstractmethod
    def take(self, J: np.ndarray) -> Rows: ...

    @abstractmethod
    def divided(self, unit: float) -> Rows: ...

    @abstractmethod
    def cross_products(self) -> np.ndarray:
        """Return the smaller of Y'Y and Y Y' as a dense array."""

    def forms(self, V: np.ndarray) -> np.ndarray:
        return (self.forward(V) ** 2).sum(axis=0)

    def residual(self, Q: np.ndarray) -> np.ndarray | None:
        if min(self.n, self.p) > GRAM_ORDER:
            return None
        cross = self.cross_products()
        if cross.shape[0] == self.p:
            return projected_off(cross, Q)
        F = self.forward(Q)
        return np.asarray(cross - F @ F.T)

    def dot(self, V: np.ndarray) -> np.ndarray:
        return self.adjoint(self.forward(V))

    def leading(self, k: int, seed: int = 0) -> tuple[np.ndarray, np.ndarray]:
        if self._last is None or self._last[0] != (k, seed):
            self._last = (k, seed), *self._leading(k, seed)
        _, values, vectors = self._last
        return values.copy(), vectors.copy()

    def _leading(self, k: int, seed: int) -> tuple[np.ndarray, np.ndarray]:
        if min(self.n, self.p) > self.small_side:
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
    """Rows stored as a dense array.

    Parameters
    ----------
    Y : ndarray of shape (n, p)
        Centred, scaled and weighted rows with S = Y'Y; not copied.
    root_weights : ndarray of shape (n,)
    rank_limit : int
    """

    def __init__(self, Y: np.ndarray, root_weights: np.ndarray, rank_limit: int):
        self.Y = Y
        self.root_weights = root_weights
        self.n, self.p = Y.shape
        self.rank_limit = min(rank_limit, self.p)

    @cached_property
    def _variances(self) -> np.ndarray:  # type: ignore[override]
        return np.einsum("ij,ij->j", self.Y, self.Y)

    def forward(self, V: np.ndarray) -> np.ndarray:
        used = np.flatnonzero(V.any(axis=1) if V.ndim == 2 else V)
        if 8 * used.size < self.p:
            return self.Y[:, used] @ V[used]
        return self.Y @ V

    def adjoint(self, U: np.ndarray) -> np.ndarray:
        return self.Y.T @ U

    def values(self, J: np.ndarray) -> np.ndarray:
        return self.Y[:, J]

    def columns(self, J: np.ndarray) -> np.ndarray:
        return self.Y.T @ self.Y[:, J]

    def block(self, J: np.ndarray) -> np.ndarray:
        part = self.Y[:, J]
        return part.T @ part

    def take(self, J: np.ndarray) -> DenseRows:
        return DenseRows(self.Y[:, J], self.root_weights, self.rank_limit)

    def divided(self, unit: float) -> DenseRows:
        self.Y *= 1.0 / unit
        return DenseRows(self.Y, self.root_weights, self.rank_limit)

    def cross_products(self) -> np.ndarray:
        return self.Y @ self.Y.T if self.n < self.p else self.Y.T @ self.Y


class SparseRows(Rows):
    """Sparse rows with implicit centring: He, Monteiro and Park (2010), equation 2.9.

    Parameters
    ----------
    X : scipy.sparse CSC or CSR array of shape (n, p)
        Raw values; never changed, copied or converted to a dense array as a whole.
    mean, multiplier : ndarray of shape (p,)
        `mean` is subtracted from each column, which is then multiplied by `multiplier`.
    root_weights : ndarray of shape (n,)
        Square roots of the row weights divided by the divisor of the variances.
    rank_limit : int
    variances : ndarray of shape (p,), optional
        The diagonal of S, if it is known.
    """

    small_side = DENSE_ORDER  # larger ones would be dense, while products with sparse X are cheap

    def __init__(
        self,
        X: Any,
        mean: np.ndarray,
        multiplier: np.ndarray,
        root_weights: np.ndarray,
        rank_limit: int,
        variances: np.ndarray | None = None,
    ):
        self.X = X
        self.n, self.p = X.shape
        self.mean = mean
        self.multiplier = multiplier
        self.root_weights = root_weights
        self.rank_limit = min(rank_limit, self.p)
        self.stored = int(X.nnz)
        if self.stored > 200 * self.p:  # 60 vectors take a fifth of the memory of the rows and save products
            self.lanczos_basis = 60
        if variances is not None:
            self._variances = variances

    @cached_property
    def _row_weights(self) -> tuple[np.ndarray | None, float]:
        """Weights of the rows, None if all are equal, and the factor that multiplies weighted sums."""
        if np.ptp(self.root_weights) == 0:
            return None, float(self.root_weights[0] ** 2)
        return self.root_weights**2, 1.0

    @cached_property
    def _variances(self) -> np.ndarray:  # type: ignore[override]
        weights, share = self._row_weights
        return sparse_squares(self.X, weights, self.mean) * share * self.multiplier**2

    def forward(self, V: np.ndarray) -> np.ndarray:
        scaled = (self.multiplier * V.T).T
        used = np.flatnonzero(V.any(axis=1) if V.ndim == 2 else V)
        if self.X.format == "csc" and 8 * used.size < self.p:
            raw = product(self.X[:, used], scaled[used])
        else:
            raw = product(self.X, scaled)
        raw -= self.mean @ scaled
        return (self.root_weights * raw.T).T

    def adjoint(self, U: np.ndarray) -> np.ndarray:
        weighted = (self.root_weights * U.T).T
        raw = product(self.X.T, weighted)
        return (self.multiplier * (raw.T - np.multiply.outer(weighted.sum(axis=0), self.mean))).T

    def values(self, J: np.ndarray) -> np.ndarray:
        whole = self.X[:, J].toarray().astype(float, copy=False)
        whole -= self.mean[J]
        whole *= self.multiplier[J]
        whole *= self.root_weights[:, None]
        return whole

    def dot(self, V: np.ndarray) -> np.ndarray:
        if V.ndim == 1:
            return super().dot(V)
        return np.hstack([super(SparseRows, self).dot(V[:, some]) for some in self._some_columns(V)])

    def forms(self, V: np.ndarray) -> np.ndarray:
        if V.ndim == 1:
            return super().forms(V)
        return np.concatenate([super(SparseRows, self).forms(V[:, some]) for some in self._some_columns(V)])

    def _some_columns(self, V: np.ndarray) -> list[slice]:
        """Split the columns of V so that the scores of each part need a fraction of the rows' memory."""
        step = max(8, self.X.nnz // (4 * max(self.n, 1)))
        return [slice(start, start + step) for start in range(0, max(V.shape[1], 1), step)]

    def block(self, J: np.ndarray) -> np.ndarray:
        if self.X.format == "csr" and len(J) <= 50:  # a copy of so few columns costs less
            return self.take(J).gram()
        return self.gram(np.asarray(J))

    def take(self, J: np.ndarray) -> SparseRows:
        known = self.__dict__.get("_variances")
        return SparseRows(
            self.X[:, J],
            self.mean[J],
            self.multiplier[J],
            self.root_weights,
            self.rank_limit,
            None if known is None else known[J],
        )

    def divided(self, unit: float) -> SparseRows:
        return SparseRows(
            self.X,
            self.mean,
            self.multiplier / unit,
            self.root_weights,
            self.rank_limit,
            self.diagonal() / unit**2,
        )

    def cross_products(self) -> np.ndarray:
        if self.p <= self.n:
            return self.gram()
        root = self.root_weights
        if self._far_from_zero():
            products = np.zeros((self.n, self.n))
            for columns in blocks(self.p, self.n):
                block = (self.X[:, columns].toarray() - self.mean[columns]) * self.multiplier[columns]
                products += block @ block.T
            return products * np.outer(root, root)
        scaled = self.X.multiply(self.multiplier).tocsc()
        shift = self.mean * self.multiplier
        cross = scaled @ shift
        raw = (scaled @ scaled.T).toarray() - np.add.outer(cross, cross) + shift @ shift
        return raw * np.outer(root, root)

    def gram(self, J: np.ndarray | None = None) -> np.ndarray:
        """Return S, or S[J, J], as a dense array: from sparse products or dense rows (see `_as_dense`)."""
        J = np.arange(self.p) if J is None else J
        weights, share = self._row_weights
        mean = self.mean[J]
        if self._as_dense(J):
            sums = CrossProducts(len(J), columns=J)
            sums.add(self.X, weights)
            S = sums.products
            add_outer(S, sums.mean - mean, sums.weight)
        else:
            heavy = self.X[:, J].tocsr()
            if weights is not None:
                heavy = heavy.multiply(weights[:, None]).tocsr()
            linear = product(heavy.T, np.ones(self.n))
            S = np.empty((len(J), len(J)))
            for some in blocks(len(J), len(J), SOME):
                S[some] = (self.X[:, J[some]].T @ heavy).toarray()
            add_outers(S, linear, mean, -1.0)
            add_outer(S, mean, self.n if weights is None else float(weights.sum()))
        scale_outer(S, self.multiplier[J] * np.sqrt(share))
        return S

    def _as_dense(self, J: np.ndarray) -> bool:
        """Return whether to compute S[J, J] from dense blocks of rows.

        This is so in CSR format, from which columns are slow to select; in single precision, in which sparse
        products would be summed; if raw products lose digits that centred products keep; and if there are few
        zeros.
        """
        if self.X.dtype != np.float64 or self.X.format == "csr" or self._far_from_zero(J):
            return True
        # few zeros: more than 8 % of the entries are stored
        return int(np.diff(self.X.indptr)[J].sum()) > 0.08 * self.n * len(J)

    def _far_from_zero(self, J: np.ndarray | None = None) -> bool:
        """Return whether raw products of the variables J lose digits that centred products keep."""
        some = slice(None) if J is None else J
        squares = (self.mean[some] * self.multiplier[some]) ** 2
        return bool(np.any(squares > FAR_MEAN**2 * self._variances[some]))
