"""Accumulators of sums over chunks of rows: means, variances and cross-products, dense or sparse.

An accumulator accepts chunks of raw rows (`add`) and the sums of other accumulators of its kind (`merge`), in
any order, in one pass. Sums are about the mean of the rows so far and are merged as in Chan, Golub and
LeVeque (1983), "Algorithms for computing the sample variance", The American Statistician, which is exact up
to rounding however large the mean is relative to the standard deviation. All sums are float64, whatever the
type of the rows. Values that are not finite or too large make the sums nonfinite; no warning is given. Rows
are processed in blocks, so that no temporary array is as large as the data.
"""

from __future__ import annotations

import sys
from collections.abc import Iterator
from typing import Any, Protocol, Self

import numpy as np

# --- blocks of rows -------------------------------------------------------------------------------


#: Matrices of many fits, supports or pairs are computed in batches of at most this many numbers (32 MB).
BATCH = 4_000_000
#: Rows, and stored entries of sparse rows, are processed in blocks of about this many numbers (16 MB).
BLOCK = 2_000_000


def is_sparse(X: Any) -> bool:
    """Return whether `X` is a scipy.sparse matrix or array.

    scipy.sparse is not imported: if it has not been imported yet, `X` cannot be one.
    """
    sparse = sys.modules.get("scipy.sparse")
    return sparse is not None and bool(sparse.issparse(X))


def weights_or_ones(weights: np.ndarray | None, n: int) -> np.ndarray:
    """Return the weights of n rows; ones if `weights` is None."""
    return np.ones(n) if weights is None else weights


def blocks(count: int, size: int, limit: int = BLOCK) -> Iterator[slice]:
    """Split `count` items, such as rows, into slices of consecutive items.

    Each item takes the memory of `size` numbers. A slice has about `limit` numbers, but at least one item.
    """
    step = max(1, limit // max(size, 1))
    return (slice(start, min(start + step, count)) for start in range(0, count, step))


#: Rows in C order are reduced in blocks of about this many numbers (0.8 MB), which fit in the cache.
CACHED = 100_000
#: Within a block, short rows are joined to rows of about this many numbers, because short rows are slow.
SIDE_BY_SIDE = 1000


def column_sums(X: np.ndarray) -> np.ndarray:
    """Return the sums of the columns of float64 rows, shape (p,), in the fastest way for their layout."""
    return _reduced(np.add, X) if X.flags.c_contiguous else np.ones(len(X)) @ X


def extremes(X: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Return the smallest and the largest value of each column, each (p,); NaN for columns without values.

    Parameters
    ----------
    X : ndarray of shape (n, p)
        Values; NaN are skipped.
    """
    n, p = X.shape
    if n == 0 or not X.flags.c_contiguous:
        return np.fmin.reduce(X, axis=0, initial=np.nan), np.fmax.reduce(X, axis=0, initial=np.nan)
    smallest = largest = np.full(p, np.nan)
    for rows in blocks(n, p, CACHED):
        smallest = np.fmin(smallest, _reduced(np.fmin, X[rows]))
        largest = np.fmax(largest, _reduced(np.fmax, X[rows]))
    return smallest, largest


def _reduced(function: np.ufunc, X: np.ndarray) -> np.ndarray:
    """Return ``function.reduce(X, axis=0)``, from longer rows, for X of shape (n, p) in C order, n > 0."""
    n, p = X.shape
    batch_rows = min(max(1, SIDE_BY_SIDE // p), n)
    n_batched = n // batch_rows * batch_rows
    wide = function.reduce(X[:n_batched].reshape(-1, batch_rows * p), axis=0)
    return np.asarray(function.reduce(np.concatenate([wide.reshape(batch_rows, p), X[n_batched:]]), axis=0))


# --- products with sparse rows --------------------------------------------------------------------


def product(X: Any, V: np.ndarray) -> np.ndarray:
    """Return X V in float64.

    Rows of another type are converted slab by slab; SciPy would convert all of them in every product.

    Parameters
    ----------
    X : scipy.sparse CSR or CSC array of shape (n, p)
        The transpose of one format is an array of the other and shares its memory.
    V : ndarray of shape (p,) or (p, m)
    """
    if X.dtype == np.float64:
        return np.asarray(X @ V)
    result = np.zeros((X.shape[0], *V.shape[1:]))
    for outer, slab in _slabs(X):
        if X.format == "csr":
            result[outer] = slab @ V
        else:
            result += slab @ V[outer]
    return result


def _slabs(X: Any) -> Iterator[tuple[slice, Any]]:
    """Split X into slabs of rows (CSR) or columns (CSC) of about BLOCK stored entries each, as float64."""
    start, n_columns = 0, len(X.indptr) - 1
    while start < n_columns:
        stop = int(np.searchsorted(X.indptr, X.indptr[start] + BLOCK, side="right")) - 1
        stop = min(max(stop, start + 1), n_columns)
        low, high = X.indptr[start], X.indptr[stop]
        parts = (X.data[low:high].astype(float), X.indices[low:high], X.indptr[start : stop + 1] - low)
        size = (stop - start, X.shape[1]) if X.format == "csr" else (X.shape[0], stop - start)
        yield slice(start, stop), type(X)(parts, shape=size)
        start = stop


#: Sums are formed over chunks of this many stored entries, or of PER_COLUMN for each column if this is more.
CHUNK_ENTRIES, PER_COLUMN = 50_000, 5


def sparse_sums(X: Any, weights: np.ndarray | None) -> tuple[float, np.ndarray, np.ndarray]:
    """Return the sum of the weights, the weighted means, and the weighted sums of squares about them.

    Parameters
    ----------
    X : scipy.sparse CSR or CSC array of shape (n, p)
    weights : ndarray of shape (n,) or None
    """
    n, p = X.shape
    weight = float(n) if weights is None else float(weights.sum())
    if weight == 0:
        return 0.0, np.zeros(p), np.zeros(p)
    total = np.zeros(p)
    entry_weights = np.zeros(p)  # the weight of the stored entries
    count = np.zeros(p)
    for column, w, x in _pieces(X, weights):
        total += np.bincount(column, x if w is None else w * x, p)
        count += np.bincount(column, None, p)
        if w is not None:
            entry_weights += np.bincount(column, w, p)
    zeros = (
        n - count if weights is None else np.where(count == n, 0.0, (weight - entry_weights).clip(min=0.0))
    )
    mean = total / weight
    shift = -zeros * mean
    squares = zeros * mean**2
    for column, w, x in _pieces(X, weights):
        away = x - mean[column]
        first_moments = away if w is None else w * away
        shift += np.bincount(column, first_moments, p)
        squares += np.bincount(column, first_moments * away, p)
    shift /= weight  # rounding error of the mean
    # rounding in constant columns can be negative
    return weight, mean + shift, (squares - weight * shift**2).clip(min=0.0)


def sparse_squares(X: Any, weights: np.ndarray | None, centre: np.ndarray) -> np.ndarray:
    """Return the weighted sums of squares of the columns about `centre`, shape (p,)."""
    weight, mean, squares = sparse_sums(X, weights)
    return squares + weight * (mean - centre) ** 2


def _pieces(X: Any, weights: np.ndarray | None) -> Iterator[tuple[np.ndarray, np.ndarray | None, np.ndarray]]:
    """Yield column, weight (None for ones) and value of the stored entries, in chunks."""
    columns_first = X.format == "csc"
    size = max(CHUNK_ENTRIES, PER_COLUMN * X.shape[1])
    for start in range(0, len(X.data), size):
        stop = min(start + size, len(X.data))
        inner = X.indices[start:stop]
        if columns_first or weights is not None:
            outer = _outer(X.indptr, start, stop)
            column, row = (outer, inner) if columns_first else (inner, outer)
        else:
            column = row = inner
        w = None if weights is None else weights[row]
        yield column, w, X.data[start:stop].astype(float, copy=False)


def _outer(indptr: np.ndarray, start: int, stop: int) -> np.ndarray:
    """Return the row (CSR) or the column (CSC) of each of the stored entries start:stop."""
    first_column = int(np.searchsorted(indptr, start, side="right")) - 1
    last_column = int(np.searchsorted(indptr, stop, side="left"))
    counts = np.diff(indptr[first_column : last_column + 1].clip(start, stop))
    return np.repeat(np.arange(first_column, last_column), counts)


# --- accumulators ---------------------------------------------------------------------------------


#: SquareProducts stores the sizes of this many of the largest rows.
LARGEST_ROWS = 500

quiet = np.errstate(over="ignore", invalid="ignore")


class Accumulator(Protocol):
    """A quantity that is computed in one pass over rows."""

    def add(self, X: Any, weights: np.ndarray | None) -> None:
        """Add rows: an ndarray or scipy.sparse array of shape (m, p), and their weights, shape (m,)."""

    def merge(self, sums: Self) -> None:
        """Add the sums of another accumulator of the same kind."""


class Nothing:
    """An accumulator that does nothing, for passes that only count rows."""

    def add(self, X: Any, weights: np.ndarray | None) -> None:
        """Do nothing."""

    def merge(self, nothing: Nothing) -> None:
        """Do nothing."""


class ColumnSums:
    """Means and sums of squares of every column.

    Attributes
    ----------
    weight : float
        The sum of the weights; without weights, the number of rows.
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
        for rows in blocks(*X.shape):
            w = None if weights is None else weights[rows]
            weight, mean, Y = centred(X[rows], w)
            self._join(weight, mean, np.einsum("ij,ij->j", Y, Y))

    @quiet
    def merge(self, sums: ColumnSums) -> None:
        self._join(sums.weight, sums.mean, sums.squares)

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
        Number of columns of the products.
    columns : ndarray of shape (p,), optional
        Indices of these columns, if the rows have further columns.

    Attributes
    ----------
    weight : float
        The sum of the weights; without weights, the number of rows.
    mean : ndarray of shape (p,)
    products : ndarray of shape (p, p)
        Weighted cross-products about the means; after :meth:`pack` one triangle of them, as a vector.
    """

    def __init__(self, p: int, columns: np.ndarray | None = None):
        self.columns = columns
        self.weight = 0.0
        self.mean = np.zeros(p)
        self.products = np.zeros((p, p))
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
            head = X[:200]
            self._plain = _is_near(head.mean(axis=0, dtype=float), head.var(axis=0, dtype=float))
        n, p = X.shape
        # blocks can be large if products need no copy: other types than float64 are converted block by block,
        # and so are arrays in which neither rows nor columns are contiguous
        is_plain = weights is None and self._plain and X.dtype == np.float64 and X.itemsize in X.strides
        for rows in blocks(n, p, 50_000_000 if is_plain else BLOCK):
            self._add(X[rows], None if weights is None else weights[rows])

    @quiet
    def merge(self, sums: CrossProducts) -> None:
        self._join(sums.weight, sums.mean, sums.products if self.weight else sums.products.copy())

    @property
    def nbytes(self) -> int:
        """Size of the products in bytes."""
        return 8 * len(self.mean) ** 2

    def pack(self) -> None:
        """Store only the lower triangle of the products, row by row, which halves memory and transfer."""
        if self.products.ndim == 2:
            self.products = self.products[np.tri(len(self.products), dtype=bool)]

    def unpack(self) -> None:
        """Undo :meth:`pack`."""
        self.products = unpacked(self.products, len(self.mean))

    @property
    def squares(self) -> np.ndarray:
        """Weighted sums of squares about the means, shape (p,)."""
        return np.diag(self.products)

    def about(self, centre: np.ndarray) -> np.ndarray:
        """Return the cross-products about `centre`, shape (p,), instead of the means, as a new array."""
        S = self.products.copy()
        add_outer(S, self.mean - centre, self.weight)
        return S

    def _add_sparse(self, X: Any, weights: np.ndarray | None) -> None:
        """Add sparse rows, converted to dense blocks."""
        late = None
        if X.format == "csc":  # columns are cheap to select in CSC; in CSR they are selected block by block
            X = (X if self.columns is None else X[:, self.columns]).tocsr()
        else:
            late = self.columns
        size = min(BLOCK, max(100_000, X.nnz // 2))
        for rows in blocks(X.shape[0], len(self.mean), size):
            slab = X[rows] if late is None else X[rows][:, late]
            self._add(slab.toarray(), None if weights is None else weights[rows])

    def _add(self, X: np.ndarray, weights: np.ndarray | None) -> None:
        if weights is None and self._plain:
            X = np.asarray(X, dtype=float)
            n = len(X)
            mean = column_sums(X) / n
            products = X.T @ X
            add_outer(products, mean, -float(n))
            self._plain = _is_near(mean, np.diag(products) / n)
            if self._plain:
                self._join(n, mean, products)
                return
        for rows in blocks(*X.shape):
            w = None if weights is None else weights[rows]
            weight, mean, Y = centred(X[rows], w)
            self._join(weight, mean, Y.T @ Y)

    def _join(self, weight: float, mean: np.ndarray, products: np.ndarray) -> None:
        """Add the sums of other rows to these; each of the two `products` may be packed."""
        if weight == 0:
            return
        if self.weight and self.products.ndim != products.ndim:
            self.unpack()
            products = unpacked(products, len(mean))
        total = self.weight + weight
        away = mean - self.mean
        if self.weight:
            self.products += products
            add = add_outer if products.ndim == 2 else add_packed
            add(self.products, away, self.weight * weight / total)
        else:
            self.products = products
        self.mean = self.mean + away * (weight / total)
        self.weight = total


class SquareProducts(CrossProducts):
    """Cross-products of squared standardised columns, for the sampling variances of covariances.

    Parameters
    ----------
    centre, divisor : ndarray of shape (p,)
        `centre` is subtracted from each column, which is then divided by `divisor`.
    counted : bool
        Whether a row of weight 2 counts as two equal rows, instead of one whose squares count twice.

    Attributes
    ----------
    sizes : ndarray
        Sums of squares of the largest standardised rows, at most LARGEST_ROWS of them, descending.
    """

    def __init__(self, centre: np.ndarray, divisor: np.ndarray, counted: bool = True):
        super().__init__(len(centre))
        self.centre, self.divisor, self.counted = centre, divisor, counted
        self.sizes = np.empty(0)

    def merge(self, sums: CrossProducts) -> None:
        assert isinstance(sums, SquareProducts)
        super().merge(sums)
        self._rank(sums.sizes)

    def _add(self, X: np.ndarray, weights: np.ndarray | None) -> None:
        for rows in blocks(*X.shape):
            squares = ((X[rows] - self.centre) / self.divisor) ** 2
            w = None if weights is None else weights[rows]
            if w is not None and not self.counted:
                squares *= w[:, None]
            sizes = squares.sum(axis=1)
            if w is not None and self.counted:
                sizes = np.repeat(sizes, np.minimum(w, LARGEST_ROWS).astype(int))
            self._rank(sizes)
            super()._add(squares, w if self.counted else None)

    def _rank(self, sizes: np.ndarray) -> None:
        self.sizes = np.sort(np.append(self.sizes, sizes))[::-1][:LARGEST_ROWS]


def _is_near(mean: np.ndarray, variance: np.ndarray) -> bool:
    # If all means are within ten standard deviations of zero, rows are multiplied without being centred
    # first. That costs two of sixteen digits and saves a copy of the rows.
    return not np.any(mean**2 > 100.0 * variance)


def centred(X: np.ndarray, weights: np.ndarray | None) -> tuple[float, np.ndarray, np.ndarray]:
    """Return the total weight, the means, shape (p,), and the centred rows times the roots of the weights."""
    if weights is None:
        mean = X.mean(axis=0, dtype=float)
        Y = X - mean
        shift = Y.mean(axis=0)  # rounding error of a large mean
        Y -= shift
        return float(len(X)), mean + shift, Y
    weight = float(weights.sum())
    mean = weights @ X / weight if weight > 0 else np.zeros(X.shape[1])
    Y = X - mean
    shift = weights @ Y / weight if weight > 0 else mean
    Y -= shift
    Y *= np.sqrt(weights)[:, None]
    return weight, mean + shift, Y


def unpacked(triangle: np.ndarray, p: int) -> np.ndarray:
    """Return the symmetric matrix, shape (p, p), given its lower triangle; a matrix is returned unchanged."""
    if triangle.ndim == 2:
        return triangle
    S, lower = np.empty((p, p)), np.tri(p, dtype=bool)
    S[lower] = S.T[lower] = triangle
    return S


def add_packed(triangle: np.ndarray, a: np.ndarray, factor: float) -> None:
    """Add factor a a' to a symmetric matrix whose lower triangle is stored as a vector."""
    for i, value in enumerate(a):
        start = i * (i + 1) // 2
        triangle[start : start + i + 1] += factor * (value * a[: i + 1])


#: Updates of matrices are made in blocks of this many numbers (a quarter of a MB of float64).
BLOCK_CELLS = 30_000


def add_outer(S: np.ndarray, a: np.ndarray, factor: float) -> None:
    """Add factor a a' to S, shape (p, p)."""
    for rows in blocks(len(S), len(S), BLOCK_CELLS):
        S[rows] += factor * np.multiply.outer(a[rows], a)


def add_outers(S: np.ndarray, a: np.ndarray, b: np.ndarray, factor: float) -> None:
    """Add factor (a b' + b a') to S, shape (p, p)."""
    for rows in blocks(len(S), len(S), BLOCK_CELLS):
        S[rows] += factor * (np.multiply.outer(a[rows], b) + np.multiply.outer(b[rows], a))


def scale_outer(S: np.ndarray, r: np.ndarray) -> None:
    """Multiply S, shape (p, p), elementwise by r r'."""
    for rows in blocks(len(S), len(S), BLOCK_CELLS):
        S[rows] *= np.multiply.outer(r[rows], r)
