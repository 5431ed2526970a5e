"""The operator of a stream with too many variables to form the covariance matrix: every product is a pass."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any

import numpy as np

from spcastat.kernels.blocks import blocks
from spcastat.kernels.sparsity import is_sparse
from spcastat.kernels.ties import settled
from spcastat.operators import CrossProducts, Operator, Standardisation, Sums
from spcastat.operators.covariance_operator import unit_vectors
from spcastat.operators.row_operators import FAR_MEAN
from spcastat.operators.sparse_products import product
from spcastat.operators.standardisation import is_constant
from spcastat.streams.base import Stream
from spcastat.streams.krylov import WIDE, block_lanczos, krylov


class Products:
    """Accumulator of the products X'W X V with centred rows X and weights W.

    Parameters
    ----------
    mean : ndarray of shape (p,)
    V : ndarray of shape (p, m)
    far : bool
        Whether to convert sparse rows to dense blocks, because their means are far from zero.

    Attributes
    ----------
    result : ndarray of shape (p, m)
    """

    def __init__(self, mean: np.ndarray, V: np.ndarray, far: bool):
        self.mean = mean
        self.V = V
        self.far = far
        self.result = np.zeros(V.shape)

    @property
    def nbytes(self) -> int:
        """Size of the sums in bytes."""
        return int(self.result.nbytes)

    def add(self, X: Any, weights: np.ndarray | None) -> None:
        if is_sparse(X) and not self.far:
            U = product(X, self.V) - self.mean @ self.V
            if weights is not None:
                U *= weights[:, None]
            self.result += product(X.T, U) - np.outer(self.mean, U.sum(axis=0))
            return
        held = X.tocsr() if is_sparse(X) else X
        for rows in blocks(*X.shape):
            block = held[rows].toarray() if is_sparse(held) else held[rows]
            Y = block - self.mean
            U = Y @ self.V
            if weights is not None:
                U *= weights[rows, None]
            self.result += Y.T @ U

    def merge(self, other: Products) -> None:
        self.result += other.result

    def pack(self) -> None:
        """Drop V and the means, which merging does not need, so that they are not sent."""
        self.V, self.mean = self.V[:0], self.mean[:0]


class StreamRows(Operator):
    """The operator of rows that are never all in memory; products are passes over the rows.

    Parameters
    ----------
    stream : Stream
    sums : Sums
        Means and sums of squares of all columns.
    positive : int
        Number of rows whose weight is not zero.
    standard : Standardisation

    Attributes
    ----------
    passes : int
        Number of passes over the rows so far, without the one for `sums`.
    """

    #: Products are slow: methods that need hundreds of them are refused.
    out_of_core = True

    def __init__(self, stream: Stream, sums: Sums, positive: int, standard: Standardisation):
        self.stream = stream
        self.standard = standard
        self.p = stream.p
        self.rank_limit = min(positive - int(standard.centring == "mean"), self.p)
        self.passes = 0
        self._divisor = sums.weight - 1.0
        variances = (sums.squares + sums.weight * (sums.mean - standard.mean) ** 2) / self._divisor
        still = is_constant(standard.mean, variances)
        self._multiplier = np.where(still, 0.0, 1.0 / standard.scale)
        self._variances = variances * self._multiplier**2
        self._far = bool(np.any(standard.mean[~still] ** 2 > FAR_MEAN**2 * variances[~still]))
        self._products: dict[tuple[tuple[int, ...], bytes], np.ndarray] = {}
        self._leading: tuple[int, int, np.ndarray, np.ndarray] | None = None
        self._sketch: tuple[np.ndarray, np.ndarray, np.ndarray] | None = None

    def dot(self, V: np.ndarray) -> np.ndarray:
        V = np.asarray(V, dtype=float)
        key = V.shape, V.tobytes()
        if key not in self._products:
            while len(self._products) >= 4:  # a small cache: several measures need the same product
                del self._products[next(iter(self._products))]
            self._products[key] = self._pass(V, "products with the covariance matrix")
        return self._products[key].copy()

    def columns(self, J: np.ndarray) -> np.ndarray:
        return self._pass(unit_vectors(self.p, J), "columns of the covariance matrix")

    def divided(self, unit: float) -> StreamRows:
        self._multiplier = self._multiplier / unit
        self._variances = self._variances / unit**2
        return self

    def block(self, J: np.ndarray) -> np.ndarray:
        J = np.asarray(J)
        begin = partial(CrossProducts, len(J), J)
        found = self._reduce(begin, f"cross-products of {len(J)} variables").result
        S = found.products if self.standard.centring == "mean" else found.about(self.standard.mean[J])
        return S / self._divisor * np.outer(self._multiplier[J], self._multiplier[J])

    def leading(self, k: int, seed: int = 0) -> tuple[np.ndarray, np.ndarray]:
        """Return the k largest eigenvalues, descending, and unit eigenvectors, shape (p, k).

        Warns
        -----
        ConvergenceWarning
            If they are not accurate to ten digits after thirty passes, or after `most_passes`.
        """
        if self._leading is None or self._leading[1] != seed or self._leading[0] < k:
            product = partial(self._pass, what="leading components")
            title, most = self.stream.title, self.most_passes
            values, vectors = block_lanczos(product, self.p, k, seed, title, most)
            self._leading = (k, seed, *settled(values, vectors))
        _, _, values, vectors = self._leading
        return values[:k].copy(), vectors[:, :k].copy()

    def sketched(self, k: int) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        if self._leading is not None and self._leading[0] >= k:
            return *self.leading(k, self._leading[1]), np.zeros(k)
        if self._sketch is None or len(self._sketch[0]) < k:
            product = partial(self._pass, what="leading components")
            found = krylov(product, self.p, k, 0, self.most_passes or 4, WIDE)
            values, vectors = settled(found.values, found.vectors)
            if found.exact:
                self._leading = (k, 0, values, vectors)
            self._sketch = values, vectors, np.zeros(k) if found.exact else found.errors
        values, vectors, errors = self._sketch
        return values[:k].copy(), vectors[:, :k].copy(), errors[:k].copy()

    def _pass(self, V: np.ndarray, what: str) -> np.ndarray:
        """Return S V after one pass."""
        single = V.ndim == 1
        scaled = self._multiplier[:, None] * (V[:, None] if single else V)
        begin = partial(Products, self.standard.mean, scaled, self._far)
        found = self._reduce(begin, what).result
        result = self._multiplier[:, None] * found.result / self._divisor
        return result[:, 0] if single else result

    def _reduce(self, begin: Callable[[], Any], what: str) -> Any:
        self.passes += 1
        return self.stream.reduce(begin, what)
