"""Sums over rows that come in pieces: weight, means, and squares or cross-products about the means.

Each accumulator takes blocks of raw rows (`add`) and the sums of others of its kind (`merge`), in any order,
in one pass. Everything is held about the mean of the rows so far, and two parts are joined as in Chan, Golub
and LeVeque (1983), "Algorithms for computing the sample variance", The American Statistician: exact up to
rounding at any ratio of mean to standard deviation. All sums are float64, whatever the type of the rows. What
is not finite, or too large, shows in the sums and nowhere else: no warning is given.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, Protocol, Self

import numpy as np

from spcastat.kernels.sparsity import is_sparse
from spcastat.operators.sparse_products import sparse_sums

#: Rows are worked through in blocks of about this many numbers (16 MB of float64).
BLOCK = 2_000_000


def row_blocks(n: int, p: int, size: int | None = None) -> Iterator[slice]:
    """Cut n rows of p numbers into slices of about `size` numbers, BLOCK by default."""
    step = max(1, (size or BLOCK) // max(p, 1))
    return (slice(start, min(start + step, n)) for start in range(0, n, step))


#: Columns with all means within this many standard deviations of zero are multiplied as they are: that costs
#: two of sixteen digits, and saves a copy of every row.
NEAR = 10.0
#: Rows by which that is judged.
SAMPLE = 200
#: Sparse rows are made dense in slabs of at most half as many numbers as are stored, or of this many.
SMALL_SLAB = 100_000
#: Rows that need no copy are multiplied in blocks of about this many numbers.
LARGE_BLOCK = 50_000_000

#: Rows whose sizes are kept beside products of squares.
LARGEST_ROWS = 500

quiet = np.errstate(over="ignore", invalid="ignore")


class Accumulator(Protocol):
    """What a pass over rows fills."""

    def add(self, X: Any, weights: np.ndarray | None) -> None:
        """Add rows: an ndarray or scipy.sparse array of shape (m, p), and their weights, shape (m,)."""

    def merge(self, other: Self) -> None:
        """Add what another accumulator of the same kind has summed up."""


class Nothing:
    """An accumulator of nothing, for passes that only count."""

    def add(self, X: Any, weights: np.ndarray | None) -> None:
        """Ignore rows."""

    def merge(self, other: Nothing) -> None:
        """Nothing to add."""


class Sums:
    """Means and sums of squares of every column.

    Attributes
    ----------
    weight : float
        The sum of the weights; the number of rows where there are none.
    mean, squares : ndarray of shape (p,)
        Weighted means, and weighted sums of squares about them.
    """

    def __init__(self, p: int):
        self.weight = 0.0
        self.mean = np.zeros(p)
        self.squares = np.zeros(p)

    @quiet
    def add(self, X: Any, weights: np.ndarray | None) -> None:
        if is_sparse(X):
            self._join(*sparse_sums(X, weights))
            return
        for rows in row_blocks(*X.shape):
            w = None if weights is None else weights[rows]
            weight, mean, Y = centred(X[rows], w)
            self._join(weight, mean, np.einsum("ij,ij->j", Y, Y))

    @quiet
    def merge(self, other: Sums) -> None:
        self._join(other.weight, other.mean, other.squares)

    def _join(self, weight: float, mean: np.ndarray, squares: np.ndarray) -> None:
        if weight == 0:
            return
        total = self.weight + weight
        away = mean - self.mean
        self.squares += squares + away**2 * (self.weight * weight / total)
        self.mean = self.mean + away * (weight / total)
        self.weight = total


class CrossProducts:
    """Means and cross-products of columns.

    Parameters
    ----------
    p : int
        How many columns are multiplied.
    columns : ndarray of shape (p,), optional
        Which ones, where the rows have others, too.

    Attributes
    ----------
    weight : float
        The sum of the weights; the number of rows where there are none.
    mean : ndarray of shape (p,)
    products : ndarray of shape (p, p)
        Weighted cross-products about the means.
    """

    def __init__(self, p: int, columns: np.ndarray | None = None):
        self.columns = columns
        self.weight = 0.0
        self.mean = np.zeros(p)
        self.products = np.zeros((p, p))
        self.triangle: np.ndarray | None = None
        self._plain = True

    @quiet
    def add(self, X: Any, weights: np.ndarray | None) -> None:
        if is_sparse(X):
            self._add_sparse(X, weights)
            return
        if len(X) == 0:
            return
        if self.columns is not None:
            X = X[:, self.columns]
        if weights is None and self._plain:
            head = X[:SAMPLE]
            self._plain = _is_near(head.mean(axis=0, dtype=float), head.var(axis=0, dtype=float))
        n, p = X.shape
        # other numbers than float64 are converted, a block at a time
        whole = weights is None and self._plain and X.dtype == np.float64
        for rows in row_blocks(n, p, LARGE_BLOCK if whole else None):
            self._add(X[rows], None if weights is None else weights[rows])

    @quiet
    def merge(self, other: CrossProducts) -> None:
        if other.triangle is not None and (self.triangle is not None or not self.weight):
            self._join_triangle(other.weight, other.mean, other.triangle)
            return
        packed = other.triangle is not None
        products = unpacked(other.triangle, len(other.mean)) if other.triangle is not None else other.products
        self._join(other.weight, other.mean, products if packed or self.weight else products.copy())

    @property
    def nbytes(self) -> int:
        """Bytes of the products."""
        return 8 * len(self.mean) ** 2

    def pack(self) -> None:
        """Keep one triangle of the products only, until :meth:`unpack`: half the memory, and half to send."""
        if self.triangle is None:
            self.triangle = packed(self.products)
            self.products = np.empty((0, 0))

    def unpack(self) -> None:
        """Undo :meth:`pack`."""
        if self.triangle is not None:
            self.products, self.triangle = unpacked(self.triangle, len(self.mean)), None

    @property
    def squares(self) -> np.ndarray:
        """Weighted sums of squares about the means, shape (p,)."""
        return np.diag(self.products)

    def about(self, centre: np.ndarray) -> np.ndarray:
        """Return a copy of the cross-products, about `centre`, shape (p,), instead of the means."""
        S = self.products.copy()
        add_outer(S, self.mean - centre, self.weight)
        return S

    def _add_sparse(self, X: Any, weights: np.ndarray | None) -> None:
        """Add sparse rows, some at a time as a dense block."""
        late = None
        if X.format == "csc":  # columns are cheap to take at once; of rows, a slab at a time
            X = (X if self.columns is None else X[:, self.columns]).tocsr()
        else:
            late = self.columns
        size = min(BLOCK, max(SMALL_SLAB, X.nnz // 2))
        for rows in row_blocks(X.shape[0], len(self.mean), size):
            slab = X[rows] if late is None else X[rows][:, late]
            self._add(slab.toarray(), None if weights is None else weights[rows])

    def _add(self, X: np.ndarray, weights: np.ndarray | None) -> None:
        if weights is None and self._plain:
            X = np.asarray(X, dtype=float)
            n = len(X)
            mean = np.ones(n) @ X / n
            products = X.T @ X
            add_outer(products, mean, -float(n))
            self._plain = _is_near(mean, np.diag(products) / n)
            if self._plain:
                self._join(n, mean, products)
                return
        for rows in row_blocks(*X.shape):
            w = None if weights is None else weights[rows]
            weight, mean, Y = centred(X[rows], w)
            self._join(weight, mean, Y.T @ Y)

    def _join_triangle(self, weight: float, mean: np.ndarray, triangle: np.ndarray) -> None:
        """Add sums that are packed to none, or to sums that are: no whole matrix is made for it."""
        if weight == 0:
            return
        total = self.weight + weight
        away = mean - self.mean
        if self.triangle is None:
            self.triangle, self.products = triangle.copy(), np.empty((0, 0))
        else:
            self.triangle += triangle
            add_packed(self.triangle, away, self.weight * weight / total)
        self.mean = self.mean + away * (weight / total)
        self.weight = total

    def _join(self, weight: float, mean: np.ndarray, products: np.ndarray) -> None:
        if weight == 0:
            return
        self.unpack()
        total = self.weight + weight
        away = mean - self.mean
        if self.weight:
            self.products += products
            add_outer(self.products, away, self.weight * weight / total)
        else:
            self.products = products
        self.mean = self.mean + away * (weight / total)
        self.weight = total


class SquareProducts(CrossProducts):
    """Cross-products of the squares of columns about given means, for the variances of their covariances.

    Parameters
    ----------
    centre, divisor : ndarray of shape (p,)
        What is subtracted from each column, and what it is divided by.

    Attributes
    ----------
    sizes : ndarray
        Sums of the squares of the largest rows, LARGEST_ROWS at most, descending.
    """

    def __init__(self, centre: np.ndarray, divisor: np.ndarray):
        super().__init__(len(centre))
        self.centre, self.divisor = centre, divisor
        self.sizes = np.empty(0)

    def merge(self, other: CrossProducts) -> None:
        assert isinstance(other, SquareProducts)
        super().merge(other)
        self._rank(other.sizes)

    def _add(self, X: np.ndarray, weights: np.ndarray | None) -> None:
        for rows in row_blocks(*X.shape):
            squares = ((X[rows] - self.centre) / self.divisor) ** 2
            if weights is not None:
                squares *= weights[rows, None]
            self._rank(squares.sum(axis=1))
            super()._add(squares, None)

    def _rank(self, sizes: np.ndarray) -> None:
        self.sizes = np.sort(np.append(self.sizes, sizes))[::-1][:LARGEST_ROWS]


def _is_near(mean: np.ndarray, variance: np.ndarray) -> bool:
    return not np.any(mean**2 > NEAR**2 * variance)


def centred(X: np.ndarray, weights: np.ndarray | None) -> tuple[float, np.ndarray, np.ndarray]:
    """Return the weight and the means of rows, and the rows less the means times the roots of the weights."""
    if weights is None:
        mean = X.mean(axis=0, dtype=float)
        Y = X - mean
        left = Y.mean(axis=0)  # what rounding left of a large mean
        Y -= left
        return float(len(X)), mean + left, Y
    weight = float(weights.sum())
    mean = weights @ X / weight if weight > 0 else np.zeros(X.shape[1])
    Y = X - mean
    left = weights @ Y / weight if weight > 0 else mean
    Y -= left
    Y *= np.sqrt(weights)[:, None]
    return weight, mean + left, Y


def packed(S: np.ndarray) -> np.ndarray:
    """Return the rows of the lower triangle of a symmetric matrix, one after the other."""
    p = len(S)
    triangle = np.empty(p * (p + 1) // 2)
    for i in range(p):
        start = i * (i + 1) // 2
        triangle[start : start + i + 1] = S[i, : i + 1]
    return triangle


def unpacked(triangle: np.ndarray, p: int) -> np.ndarray:
    """Return the symmetric matrix, shape (p, p), of which :func:`packed` gave the triangle."""
    S = np.empty((p, p))
    for i in range(p):
        start = i * (i + 1) // 2
        S[i, : i + 1] = S[: i + 1, i] = triangle[start : start + i + 1]
    return S


def add_packed(triangle: np.ndarray, a: np.ndarray, factor: float) -> None:
    """Add factor a a' to the symmetric matrix of which :func:`packed` gave the triangle."""
    for i, value in enumerate(a):
        start = i * (i + 1) // 2
        triangle[start : start + i + 1] += factor * (value * a[: i + 1])


#: Numbers that are worked on at once (a quarter of a MB of float64).
SOME = 30_000


def add_outer(S: np.ndarray, a: np.ndarray, factor: float) -> None:
    """Add factor a a' to S, shape (p, p)."""
    for rows in row_blocks(len(S), len(S), SOME):
        S[rows] += factor * np.multiply.outer(a[rows], a)


def add_outers(S: np.ndarray, a: np.ndarray, b: np.ndarray, factor: float) -> None:
    """Add factor (a b' + b a') to S, shape (p, p)."""
    for rows in row_blocks(len(S), len(S), SOME):
        S[rows] += factor * (np.multiply.outer(a[rows], b) + np.multiply.outer(b[rows], a))


def scale_outer(S: np.ndarray, r: np.ndarray) -> None:
    """Multiply S, shape (p, p), by r r' entry by entry."""
    for rows in row_blocks(len(S), len(S), SOME):
        S[rows] *= np.multiply.outer(r[rows], r)
