"""Batches of small or symmetric matrices, and the quadratic models that rank choices for a column."""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass
from math import prod
from typing import ClassVar

import numpy as np
from scipy.sparse import csr_array

from spcastat.linalg.eigenvectors import DENSE_ORDER, RELATIVE, bordered_lower, pairs_of_low_rank, top_dense
from spcastat.linalg.operators import Operator

# --- small matrices -------------------------------------------------------------------------------


#: Added to the diagonal of correlation matrices before factorisation, as columns may be dependent.
JITTER = 1e-12
#: A column counts as dependent if the earlier columns leave less than this share of its squared length.
PIVOT_TOLERANCE = 1e-9
#: Squared lengths below this count as zero; the total variance is one.
TINY = 1e-14
#: Smallest divisor.
SMALLEST = float(np.finfo(float).tiny / np.finfo(float).eps)
#: Smallest positive number.
SUBNORMAL = float(np.finfo(float).smallest_subnormal)


def divisor(x: np.ndarray, sound: np.ndarray) -> np.ndarray:
    """Return x where `sound` and one elsewhere, for divisions whose other quotients are not used."""
    return np.where(sound, x, 1.0)


def well_apart(G: np.ndarray) -> bool:
    """Return whether the columns V of G = V'MV, shape (k, k), are clearly linearly independent."""
    size = np.sqrt(np.maximum(np.diag(G), TINY))
    return bool(np.diag(G).min() > TINY and np.linalg.eigvalsh(G / np.outer(size, size))[0] > PIVOT_TOLERANCE)


def factor(G: np.ndarray, jitter: float = JITTER) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Return Cholesky factors of G scaled to correlations, the scales, and a mask of nonzero columns.

    The factors are lower triangular. The shapes are (..., k, k), (..., k) and (..., k). Singular matrices are
    allowed.
    """
    diagonal = G.diagonal(axis1=-2, axis2=-1)
    present = diagonal > TINY
    all_present = present.all()
    size = np.sqrt(diagonal if all_present else divisor(diagonal, present))
    K = G / (size[..., :, None] * size[..., None, :])
    if not all_present:
        K *= present[..., :, None] & present[..., None, :]
    np.einsum("...ii->...i", K)[...] = 1.0 + jitter
    try:
        L = np.linalg.cholesky(K)
    except np.linalg.LinAlgError:  # rounding has made the matrix indefinite
        values, turn = np.linalg.eigh(K)
        root = np.sqrt(np.maximum(values, JITTER))[..., None, :] * turn
        L = np.asarray(np.linalg.qr(root.mT, mode="r")).mT
        L = L * np.sign(np.einsum("...ii->...i", L))[..., None, :]
    return L, size, present


#: Added to the diagonal of B, scaled to correlations, before factorisation.
RIDGE = 1e-9


def entries_at(x: np.ndarray, places: np.ndarray) -> np.ndarray:
    """Return the entries of x at `places` along the last axis; the leading axes of both are equal.

    The result equals that of `numpy.take_along_axis`, which takes three times as long for a few dozen
    entries.
    """
    if x.ndim == 2:
        return x[np.arange(len(x))[:, None], places]
    *shape, m = x.shape
    return np.asarray(x.take(places + m * np.arange(prod(shape)).reshape(*shape, 1)))


def largest(keys: np.ndarray, count: int) -> np.ndarray:
    """Return the ascending indices of the `count` largest entries along the last axis; ties by lowest index.

    Parameters
    ----------
    keys : ndarray of shape (..., m)
        The largest entries must not be negative.
    count : int
    """
    m = keys.shape[-1]
    if count >= m:
        return np.broadcast_to(np.arange(m), keys.shape).copy()
    return _highest(keys * (1.0 - RELATIVE * np.arange(m) / m), count)


def _highest(levels: np.ndarray, count: int) -> np.ndarray:
    """Return the ascending indices of the `count` largest entries along the last axis.

    The last axis must have more than `count` entries. Partitioning the values and comparing once takes half
    of the time of `numpy.argpartition`.
    """
    m = levels.shape[-1]
    if count == 0:
        return np.empty((*levels.shape[:-1], 0), dtype=int)
    threshold = np.partition(levels, m - count, axis=-1)[..., m - count, None]
    positions = np.flatnonzero(levels >= threshold)
    if positions.size * m != levels.size * count:  # there are ties at the threshold, for instance of zeros
        return np.sort(np.argpartition(-levels, count - 1, axis=-1)[..., :count], axis=-1)
    return (positions % m).reshape(*levels.shape[:-1], count)


def ranked_entries(keys: np.ndarray, count: int) -> np.ndarray:
    """Return the indices of the `count` largest entries of each row, shape (B, count), the largest first."""
    m = keys.shape[1]
    tilt = RELATIVE * np.abs(keys).max(axis=1, keepdims=True, initial=0.0)
    levelled = keys - tilt * np.arange(m) / m
    if count == 1:
        return levelled.argmax(axis=1)[:, None]
    if count < m:
        candidates = _highest(levelled, count)
        order = np.argsort(-entries_at(levelled, candidates), axis=1, kind="stable")
        return entries_at(candidates, order)
    return np.argsort(-levelled, axis=1, kind="stable")


def hard(W: np.ndarray, card: int, counts: np.ndarray | None = None) -> tuple[np.ndarray, np.ndarray]:
    """Return the indices of the largest absolute entries along the last axis, and these as unit vectors.

    `counts`, shape (B,), is the number of entries of each W[b] that are kept; the others are set to zero. A
    row of zeros becomes the first unit vector, as any direction is equally good.
    """
    places = largest(np.abs(W), card)
    x = entries_at(W, places)
    if counts is not None:
        rank = np.argsort(np.argsort(-np.abs(x), axis=-1, kind="stable"), axis=-1)
        x[rank >= counts.reshape(-1, *[1] * (x.ndim - 1))] = 0.0
    return places, unit(x)


def products_at(F: np.ndarray, places: np.ndarray, x: np.ndarray) -> np.ndarray:
    """Return F v, shape (B, ..., k), for F of shape (B, k, m) and sparse columns v, shape (B, ..., c)."""
    fit = np.arange(len(F)).reshape(-1, *[1] * (places.ndim - 1))
    return np.matmul(x[..., None, :], F[fit, :, places])[..., 0, :]


def unit(x: np.ndarray) -> np.ndarray:
    """Return x scaled to unit length along the last axis; zeros become the first unit vector."""
    size = np.abs(x).max(axis=-1, keepdims=True)
    x = x / np.maximum(size, SUBNORMAL)
    lengths = np.sqrt(np.vecdot(x, x))
    x /= np.maximum(lengths, 1.0)[..., None]
    x[..., 0] += lengths == 0
    return x


def whitening(B: np.ndarray) -> np.ndarray:
    """Return K, shape (..., s, s), with K B K' close to the identity; B may be singular."""
    diagonal = np.einsum("...ii->...i", B)
    floor = RIDGE * np.maximum(diagonal.max(axis=-1, keepdims=True), RIDGE)
    size = np.sqrt(np.maximum(diagonal, floor))
    C = B / (size[..., :, None] * size[..., None, :])
    s = B.shape[-1]
    C[..., np.arange(s), np.arange(s)] = 1.0 + RIDGE
    try:
        root = np.linalg.cholesky(C)
    except np.linalg.LinAlgError:  # rounding has made an eigenvalue negative
        C[..., np.arange(s), np.arange(s)] = 1.0 + 1e3 * RIDGE
        values, turn = np.linalg.eigh(C)
        shrunk = turn / np.sqrt(np.maximum(values, RIDGE))[..., None, :]
        return shrunk.mT / size[..., None, :]
    return np.linalg.inv(root) / size[..., None, :]


def eigen(A: np.ndarray, B: np.ndarray | None) -> tuple[np.ndarray, np.ndarray]:
    """Return eigenvalues of A relative to B, ascending, and U with U'AU diagonal and U'BU close to I."""
    if B is None:
        return np.linalg.eigh(A)
    K = whitening(B)
    values, turn = np.linalg.eigh(K @ A @ K.mT)
    return values, K.mT @ turn


def best_vectors(A: np.ndarray, B: np.ndarray | None) -> np.ndarray:
    """Return the unit vectors, shape (..., s), with the largest ratio v'Av / v'Bv."""
    if B is None and A.ndim == 3 and A.shape[-1] > DENSE_ORDER:
        start = np.random.default_rng(0).standard_normal(len(A[0]))
        return np.stack([top_dense(matrix, 1, start)[1][:, 0] for matrix in A])
    vectors = eigen(A, B)[1][..., -1]
    return vectors if B is None else unit(vectors)


#: If the matrices have at least this many entries in total, `leading_vectors` is faster than `best_vectors`.
WORTH_STARTING = 1000
#: The largest number of Rayleigh quotient iterations; a vector has converged when its direction changes by
#: less than the square root of TURN_TOLERANCE.
ITERATIONS, TURN_TOLERANCE = 4, 1e-11


def leading_vectors(A: np.ndarray, B: np.ndarray | None, start: np.ndarray) -> np.ndarray:
    """Return the result of `best_vectors` for matrices, shape (Q, s, s), from starts, shape (Q, s).

    Each Rayleigh quotient iteration triples the number of correct digits. A vector v with ratio q belongs to
    the largest eigenvalue if q (I + vv') - A has a Cholesky factor. If one of these matrices has none, all
    vectors come from an eigendecomposition, which takes five times as long.
    """
    if A.size < WORTH_STARTING:
        return best_vectors(A, B)
    if B is not None:
        K = whitening(B)
        y = leading_vectors(K @ A @ K.mT, None, _times(K, _times(B, start)))
        return unit(_times(K.mT, y))
    identity = np.eye(A.shape[1])
    x = unit(_times(A, start))
    try:
        for _ in range(ITERATIONS):
            # at the exact eigenvalue the matrix would be singular
            ratio = np.vecdot(x, _times(A, x)) * (1.0 + RELATIVE)
            updated = unit(np.linalg.solve(A - ratio[:, None, None] * identity, x[:, :, None])[:, :, 0])
            converged = 1.0 - np.abs(np.vecdot(x, updated)) < TURN_TOLERANCE
            x = updated
            if converged.all():
                ratio = np.vecdot(x, _times(A, x))[:, None, None]
                np.linalg.cholesky(ratio * (identity + x[:, :, None] * x[:, None]) - A)
                return x
    except np.linalg.LinAlgError:
        pass
    return best_vectors(A, None)


def _times(A: np.ndarray, x: np.ndarray) -> np.ndarray:
    """Return the products of matrices, shape (Q, s, s), with vectors, shape (Q, s)."""
    return (A @ x[:, :, None])[:, :, 0]


def after_bordering(values: np.ndarray, coupling: np.ndarray, corner: np.ndarray) -> np.ndarray:
    """Return lower bounds on the largest eigenvalues of diagonal matrices with an added row and column.

    Parameters
    ----------
    values : ndarray of shape (..., s)
    coupling : ndarray of shape (..., s, w)
        The borders, one per column.
    corner : ndarray of shape (..., w)

    Returns
    -------
    ndarray of shape (..., w)
    """
    squares = np.moveaxis(coupling, -2, 0) ** 2
    # the total variance is one
    squares *= squares > 1e-30
    with np.errstate(over="ignore"):  # at a pole the slope overflows and the step is zero
        return bordered_lower(np.moveaxis(values, -1, 0)[..., None], squares, corner, 2)  # enough to rank


# --- products with symmetric matrices -------------------------------------------------------------


#: Up to this many multiplications, gathering rows of a matrix is faster than a sparse product.
FEW_PRODUCTS = 100_000
#: Blocks with at least this many rows are gathered one by one, which takes half the time of gathering all at
#: once.
LONG_ROWS = 100


class SymmetricMatrix(ABC):
    """A symmetric positive semidefinite matrix M of order m.

    L sparse columns with c nonzeros each are given by two arrays of shape (L, c), the places and the values
    of the nonzeros.
    """

    m: int
    #: Whether M is the identity matrix.
    identity: ClassVar[bool] = False

    def of(self, numbers: np.ndarray) -> SymmetricMatrix:
        """Return the matrices with these `numbers`, shape (L,), one per column; self if there is only one."""
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


class Dense(SymmetricMatrix):
    """A matrix in memory, or several matrices, of which each column uses one.

    Parameters
    ----------
    M : ndarray of shape (m, m) or (D, m, m)
        Symmetric.
    numbers : ndarray of int, shape (L,)
        The number of the matrix for each column, modulo D; by default column l uses matrix l.
    rows : ndarray of shape (n, m), optional
        Rows Y with M = Y'Y, if n is so small that products with Y and Y' take less time than products with M.
    """

    def __init__(self, M: np.ndarray, numbers: np.ndarray | None = None, rows: np.ndarray | None = None):
        self.M = M
        self.rows = rows
        self.m = M.shape[-1]
        self.numbers = np.arange(len(M)) if M.ndim > 2 and numbers is None else numbers
        if numbers is not None:
            self.numbers = numbers % len(M)
        #: For each column, the index of the first row of its matrix in the stacked rows of all matrices.
        self.start = 0 if self.numbers is None else self.numbers[:, None] * self.m

    def of(self, numbers: np.ndarray) -> SymmetricMatrix:
        return self if self.numbers is None else Dense(self.M, numbers)

    def products(self, places: np.ndarray, x: np.ndarray) -> np.ndarray:
        L, c = places.shape
        if self.rows is not None and c > len(self.rows):
            return (scattered(places, x, self.m) @ self.rows.T) @ self.rows
        if self.numbers is None and 3 * c >= self.m:
            return scattered(places, x, self.m) @ self.M
        rows, lines = self.M.reshape(-1, self.m), self.start + places
        if c == 1:
            return rows[lines[:, 0]] * x
        if L * c * self.m <= FEW_PRODUCTS:
            return np.matmul(x[:, None, :], rows[lines])[:, 0]
        V = csr_array((x.ravel(), lines.ravel(), np.arange(0, L * c + 1, c)), shape=(L, len(rows)))
        return np.asarray(V @ rows)

    def blocks(self, rows: np.ndarray, columns: np.ndarray) -> np.ndarray:
        if self.numbers is None and rows.shape[1] >= LONG_ROWS:
            result = np.empty((*rows.shape, columns.shape[1]))
            for block_rows, block_columns, block in zip(rows, columns, result, strict=True):
                np.take(self.M[block_rows], block_columns, axis=1, out=block, mode="clip")
            return result
        return self.M.take((self.start + rows)[:, :, None] * self.m + columns[:, None, :])

    def diagonal(self) -> np.ndarray:
        """Return the diagonal, shape (m,), or with several matrices one for every column, shape (L, m)."""
        diagonals = np.einsum("...ii->...i", self.M)
        return diagonals if self.numbers is None else diagonals[self.numbers]

    def entries(self, places: np.ndarray) -> np.ndarray:
        return self.M.take((self.start + places) * self.m + places)

    def forms(self, places: np.ndarray, x: np.ndarray) -> np.ndarray:
        if self.rows is not None and places.shape[1] > len(self.rows):
            return np.asarray(((scattered(places, x, self.m) @ self.rows.T) ** 2).sum(axis=1))
        if self.numbers is None and 3 * places.shape[1] >= self.m:
            return np.asarray((entries_at(self.products(places, x), places) * x).sum(axis=1))
        return super().forms(places, x)


class Identity(SymmetricMatrix):
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


class Known(SymmetricMatrix):
    """A matrix for which only some columns and the diagonal are known.

    This suffices for sparse columns with nonzeros at these variables and at most one other variable.

    Parameters
    ----------
    variables : ndarray of int, shape (q,)
        The variables with known columns, ascending.
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
        row_places, column_places = self.place[rows][:, :, None], self.place[columns][:, None, :]
        row_entries = self.rows[row_places, columns[:, None, :]]
        column_entries = self.rows[column_places, rows[:, :, None]]
        is_diagonal = rows[:, :, None] == columns[:, None, :]
        neither = np.where(is_diagonal, self._diagonal[rows][:, :, None], 0.0)
        return np.where(row_places >= 0, row_entries, np.where(column_places >= 0, column_entries, neither))

    def diagonal(self) -> np.ndarray:
        return self._diagonal


class Products(SymmetricMatrix):
    """A power of an operator's covariance matrix over its total variance, used only in products.

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
        columns_of_rows = self.op.columns(rows)  # the smaller set, which bounds the memory
        if self.power == 2:
            columns_of_rows = self.op.dot(columns_of_rows) / self.op.total
        return columns_of_rows[columns].T / self.op.total

    def diagonal(self) -> np.ndarray:
        if self.power == 1:
            return self.op.diagonal() / self.op.total
        all_variables = np.arange(self.m)
        parts = [self.op.columns(all_variables[a : a + 200]) for a in range(0, self.m, 200)]
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


# --- ratios for one column ------------------------------------------------------------------------


@dataclass(frozen=True, eq=False)
class Spectrum:
    """The eigenvalues of A relative to M on B supports of c variables, and the eigenvectors; see `eigen`.

    Attributes
    ----------
    values : ndarray of shape (B, r)
        Eigenvalues, ascending.
    vectors : ndarray of shape (B, c, r)
    null : ndarray of shape (B, c), or None
        If eigenvectors with eigenvalue zero are omitted, the sum of the squared entries of each variable in
        them. Variables outside the support do not occur in them. One or more zeros in `values`, with columns
        of zeros in `vectors`, represent them.
    """

    values: np.ndarray
    vectors: np.ndarray
    null: np.ndarray | None = None

    @property
    def leading(self) -> np.ndarray:
        """The eigenvectors of the largest eigenvalues, shape (B, c)."""
        return self.vectors[..., -1]


def _spectrum_of_low_rank(A: np.ndarray) -> Spectrum | None:
    """Return the eigenpairs of matrices of shape (B, c, c); None if any of them does not have low rank."""
    B, c, _ = A.shape
    pairs = []
    for matrix in A:
        nonzero_pairs = pairs_of_low_rank(matrix)
        if nonzero_pairs is None or not nonzero_pairs[0].size or nonzero_pairs[0][-1] <= 0:
            return None
        pairs.append(nonzero_pairs)
    r = 1 + max(len(values) for values, _ in pairs)
    all_values, all_vectors = np.zeros((B, r)), np.zeros((B, c, r))
    for i, (values, vectors) in enumerate(pairs):
        all_values[i, : len(values)], all_vectors[i, :, : len(values)] = values, vectors
    order = np.argsort(all_values, axis=1, kind="stable")
    null = np.maximum(1.0 - (all_vectors**2).sum(axis=2), 0.0)
    return Spectrum(
        np.take_along_axis(all_values, order, axis=1),
        np.take_along_axis(all_vectors, order[:, None], axis=2),
        null,
    )


@dataclass(eq=False)
class Bordered:
    """The matrices A and B on a support, bordered by one of several other variables.

    Attributes
    ----------
    A, M : ndarray of shape (B, c, c + w)
        The rows of the support: first the columns of the support, then the columns of w other variables. The
        attribute M contains the matrix B; None means the identity.
    corner, corner_M : ndarray of shape (B, w)
        Diagonals of A and B at the w other variables.
    """

    A: np.ndarray
    corner: np.ndarray
    M: np.ndarray | None
    corner_M: np.ndarray

    def spectrum(self) -> Spectrum:
        """Return the eigenvalues of A relative to M on the support, and the eigenvectors.

        A large support in data with few rows has many zero eigenvalues, which are omitted: with 72 rows and
        3,800 variables the nonzero ones take a tenth of the time.
        """
        c = self.A.shape[1]
        A = self.A[:, :, :c]
        if self.M is None and c > DENSE_ORDER:
            low_rank = _spectrum_of_low_rank(A)
            if low_rank is not None:
                return low_rank
        return Spectrum(*eigen(A, None if self.M is None else self.M[:, :, :c]))

    def subset(self, start: int, count: int) -> Bordered:
        """Return these matrices with only `count` of the other variables, beginning with number `start`."""
        c, part = self.A.shape[1], slice(start, start + count)
        retained = np.r_[:c, c + np.arange(self.corner.shape[1])[part]]
        corner = self.corner[:, part]
        if self.M is None:
            return Bordered(self.A[:, :, retained], corner, None, self.corner_M)
        return Bordered(self.A[:, :, retained], corner, self.M[:, :, retained], self.corner_M[:, part])


@dataclass(eq=False)
class QuadraticModel:
    """Two matrices for each of B fits, A = alpha T - [F2'H F1 + F1'H F2] - F1'Z F1 and B = M - F1'H F1.

    Attributes
    ----------
    M : SymmetricMatrix
    T : SymmetricMatrix or None
        The second matrix of the criterion, if there is one.
    M_products, T_products : ndarray of shape (B, k, m)
        Products of the loadings with M and T, as in `Fits`.
    alpha : ndarray of shape (B,)
    H, Z : ndarray of shape (B, k, k)
    of : ndarray of int, shape (B,)
        The number of the matrices of each fit, as in `Fits`.
    """

    M: SymmetricMatrix
    T: SymmetricMatrix | None
    M_products: np.ndarray
    T_products: np.ndarray
    alpha: np.ndarray
    H: np.ndarray
    Z: np.ndarray
    of: np.ndarray

    @property
    def main(self) -> SymmetricMatrix:
        """The matrix T of each fit, or M for a criterion without T."""
        return (self.M if self.T is None else self.T).of(self.of)

    def bordered(self, support: np.ndarray, entering: np.ndarray) -> Bordered:
        """Return A and B on supports, shape (B, c), bordered by other variables, shape (B, w)."""
        variables = np.concatenate([support, entering], axis=1)
        F = np.take_along_axis(self.M_products, variables[:, None, :], axis=2)
        support_products = F[:, :, : support.shape[1]].mT
        A = self.alpha[:, None, None] * self.main.blocks(support, variables) - support_products @ (self.Z @ F)
        out = F[:, :, support.shape[1] :]
        corner = self.alpha[:, None] * self.main.entries(entering) - (out * (self.Z @ out)).sum(axis=1)
        if self.T is None:
            return Bordered(A, corner, None, np.ones(1))
        K = np.take_along_axis(self.T_products, variables[:, None, :], axis=2)
        HF, HK = self.H @ F, self.H @ K
        A -= K[:, :, : support.shape[1]].mT @ HF + support_products @ HK
        corner -= 2.0 * (out * HK[:, :, support.shape[1] :]).sum(axis=1)
        M_of_fits = self.M.of(self.of)
        M = M_of_fits.blocks(support, variables) - support_products @ HF
        corner_M = M_of_fits.entries(entering) - (out * HF[:, :, support.shape[1] :]).sum(axis=1)
        return Bordered(A, corner, M, corner_M)

    def products(self, places: np.ndarray, x: np.ndarray) -> np.ndarray:
        """Return A v, shape (B, L, m), for L sparse columns per fit, shape (B, L, c)."""
        B, L, width = places.shape
        flat = places.reshape(B * L, width), x.reshape(B * L, width)
        main = self.main.of(np.repeat(self.of, L)).products(*flat).reshape(B, L, self.M.m)
        image_M = products_at(self.M_products, places, x)
        products = main
        products *= self.alpha[:, None, None]
        products -= image_M @ (self.Z @ self.M_products)
        if self.T is not None:
            image_T = products_at(self.T_products, places, x)
            products -= image_M @ (self.H @ self.T_products) + image_T @ (self.H @ self.M_products)
        return products

    def corners(self) -> np.ndarray:
        """Return the diagonal of B, shape (B, m)."""
        if self.T is None:
            return np.ones((len(self.M_products), self.M.m))
        return self.M.of(self.of).diagonal() - (self.M_products * (self.H @ self.M_products)).sum(axis=1)

    def repeat(self, times: int) -> QuadraticModel:
        """Return the model in which every fit is repeated `times` times."""
        arrays = (self.M_products, self.T_products, self.alpha, self.H, self.Z, self.of)
        return QuadraticModel(self.M, self.T, *(np.repeat(array, times, axis=0) for array in arrays))
