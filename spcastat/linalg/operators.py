"""Operators: products with the covariance matrix of dense or sparse rows, or with a given covariance matrix.

Solvers and measures do not depend on how these products are computed. `Gram`, the simplest operator, stores
the matrix itself; `DenseRows` and `SparseRows` centre and scale the rows inside the products.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Sequence
from functools import cached_property
from typing import Any, ClassVar

import numpy as np

from spcastat.linalg.accumulate import (
    BLOCK_CELLS,
    CrossProducts,
    add_outer,
    add_outers,
    blocks,
    product,
    scale_outer,
    sparse_squares,
    weights_or_ones,
)
from spcastat.linalg.eigenvectors import (
    DENSE_ORDER,
    canonical_eigenvectors,
    orthonormalise,
    quotients,
    symmetric,
    symmetric_root,
    top_dense,
    top_eigh,
    top_lanczos,
    whole_groups,
)

# --- the interface, and a covariance matrix in memory ---------------------------------------------


#: Largest number of variables for which covariance matrices and their residuals are formed. Up to this
#: number, eigenvalues decide whether a given matrix is semidefinite, and above it a Cholesky factorisation.
GRAM_ORDER = 3000
#: A score depends on earlier scores if its residual on them is shorter than this share of its length: the
#: square root of the rounding errors in products with S.
SCORE_DEPENDENCE = 2e-7
#: The least-squares share divides by the variance of a score that earlier scores do not explain. The
#: remaining share of the variance is compared with this constant times c, where c is the factor by which the
#: variance would be larger if no terms cancelled. If it is smaller, a share computed from V'SV is off by more
#: than 1e-6, because V'SV is rounded by about 1e-15 of its terms.
REMAINING_VARIANCE = 1e-9


#: The largest exponent of a unit: its square does not overflow.
LIMIT = np.finfo(float).maxexp // 2 - 2


def unit_of(variance: float) -> float:
    """Return the power of two such that data divided by it have a largest variance in [0.5, 2).

    `variance` is the largest variance of the data before division; for 0 and nonfinite values the unit is 1.
    """
    exponent = int(np.frexp(variance)[1]) if np.isfinite(variance) else 0
    return float(np.ldexp(1.0, min(max(exponent // 2, -LIMIT), LIMIT)))


class Operator(ABC):
    """The p x p covariance matrix S of centred, scaled and weighted rows, accessed through products S V.

    Everything is in units of variance (divisor: the sum of the weights minus one).

    Attributes
    ----------
    p : int
        Number of variables.
    rank_limit : int
        An upper bound on the rank of S.
    unit : float
        A power of two. The standardised data are `unit` times the data of this operator, and their variances
        are `unit` squared times the variances of this operator. See :meth:`at_unit_size`.
    held_matrix : ndarray of shape (p, p), or None
        S itself if it is stored as a matrix.
    stored_count : int
        Number of stored entries of sparse rows, which every product reads; 0 for other operators.
    lanczos_basis : int
        Number of Lanczos vectors to store. More vectors need more memory and fewer products with S, which
        pays off if products are expensive.
    """

    p: int
    rank_limit: int
    unit: float = 1.0
    held_matrix: np.ndarray | None = None
    stored_count: int = 0
    lanczos_basis: int = 30
    #: Whether every product needs a pass over rows that are not in memory.
    out_of_core: ClassVar[bool] = False
    #: The largest number of passes over such rows for dense PCA, if the caller gave one.
    most_passes: int | None = None

    #: The diagonal, for operators that compute it once.
    _variances: np.ndarray
    #: The eigenpairs that were computed last, for operators that store them: seed, number, values, vectors.
    _eigenpairs: tuple[int, int, np.ndarray, np.ndarray] | None = None

    def diagonal(self) -> np.ndarray:
        """Return the variances, shape (p,)."""
        return self._variances

    @abstractmethod
    def dot(self, V: np.ndarray) -> np.ndarray:
        """Return S V for V of shape (p,) or (p, m)."""

    def columns(self, J: np.ndarray) -> np.ndarray:
        """Return S[:, J], shape (p, len(J))."""
        return self.dot(unit_vectors(self.p, J))

    def take(self, J: np.ndarray) -> Operator:
        """Return the operator of the variables J."""
        return Gram(self.block(J), self.rank_limit)

    def with_matrix(self) -> Gram:
        """Return the operator with its covariance matrix in memory; computed eigenpairs are retained."""
        gram = Gram(symmetric(self.block(np.arange(self.p))), self.rank_limit)
        gram._eigenpairs = self._eigenpairs
        return gram

    @abstractmethod
    def divided(self, unit: float) -> Operator:
        """Return the operator of the data divided by `unit`, a power of two. May overwrite this operator."""

    def at_unit_size(self) -> Operator:
        """Return the operator scaled by a power of two so that its largest variance is in [0.5, 2).

        This operator may be overwritten. The scaling is exact. It keeps squares and cubes of variances
        from overflowing, and data in units that differ by a power of two give results equal to the last bit.
        """
        largest = float(self.diagonal().max())
        unit = unit_of(largest) if 0.0 < largest < np.inf else 1.0
        if unit == 1.0:
            return self
        op = self.divided(unit)
        op.unit = self.unit * unit
        return op

    @cached_property
    def total(self) -> float:
        """The total variance: the trace of S."""
        return float(self.diagonal().sum())

    def block(self, J: np.ndarray) -> np.ndarray:
        """Return the block S[J, J] of the covariance matrix, shape (len(J), len(J))."""
        return self.columns(J)[J]

    def forms(self, V: np.ndarray) -> np.ndarray:
        """Return v'Sv for each column of V, shape (k,)."""
        return np.einsum("ij,ij->j", V, self.dot(V))

    def products(self, V: np.ndarray) -> np.ndarray:
        """Return the covariance matrix V'SV, shape (k, k), of the scores."""
        C = V.T @ self.dot(V)
        return symmetric(C)

    def residual(self, Q: np.ndarray) -> np.ndarray | None:
        """Return S after projecting out orthonormal columns Q, shape (p, k): (I - QQ') S (I - QQ').

        For operators with rows the result may be the n x n matrix of cross-products of the projected rows
        instead, if that is smaller; traces of its powers are the same. None if the matrix exceeds GRAM_ORDER.
        """
        return None

    def leading(self, k: int, seed: int = 0) -> tuple[np.ndarray, np.ndarray]:
        """Return the k largest eigenvalues of S, descending, and unit eigenvectors, shape (p, k)."""
        return top_lanczos(self.dot, self.p, k, lanczos_start(self.p, seed), self.lanczos_basis)

    def _stored_eigenpairs(
        self, k: int, seed: int, eigenpairs: Callable[[], tuple[np.ndarray, np.ndarray]]
    ) -> tuple[np.ndarray, np.ndarray]:
        """Return k of the stored eigenpairs; if fewer are stored, compute k eigenpairs and store them."""
        stored = self._eigenpairs
        if stored is None or stored[0] != seed or stored[1] < k:
            stored = self._eigenpairs = seed, k, *eigenpairs()
        values, vectors = stored[2:]
        return values[:k].copy(), vectors[:, :k].copy()

    def sketched(self, k: int) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """Return the result of :meth:`leading` or, if it is expensive, an approximation from a few passes.

        Returns
        -------
        values : ndarray of shape (k,)
            Values whose partial sums are at most the partial sums of the eigenvalues.
        vectors : ndarray of shape (p, k)
        errors : ndarray of shape (k,)
            The amount by which each value may be too small; 0 if it is exact.
        """
        return *self.leading(k), np.zeros(k)

    def score_basis(self, V: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Return the parts of the QR decomposition XV = QR of the scores that measures of variance use.

        Parameters
        ----------
        V : ndarray of shape (p, k)

        Returns
        -------
        adjusted : ndarray of shape (k,)
            R_jj squared: the variance of score j that earlier scores do not explain.
        coupling : ndarray of shape (p, k)
            X'Q. Its squared column norms are the variances of X explained by the columns of Q. The column of
            a score that depends on earlier scores is zero.

        Notes
        -----
        This implementation uses a square root of the k x k matrix V'SV. If scores nearly coincide, it is
        accurate to about 1e-10 of the total variance. Operators with rows decompose the scores themselves.
        """
        SV = self.dot(V)
        C = V.T @ SV
        variances = np.diag(C).clip(min=0.0)
        # V'SV is rounded by a share of the variance that a score would have if no terms cancelled
        spread = np.sqrt(self.diagonal().clip(min=0.0)) @ np.abs(V)
        varies = variances > (SCORE_DEPENDENCE * spread) ** 2
        size = np.sqrt(np.where(varies, variances, 1.0))
        values, vectors = top_eigh(symmetric(C) / np.outer(size, size), C.shape[0])
        root = np.sqrt(values.clip(min=0.0))[:, None] * vectors.T * (size * varies)
        Q, remainder = orthonormalise(root, dependent=SCORE_DEPENDENCE)
        while (rounding := (remainder > 0) & (remainder <= SCORE_DEPENDENCE * spread)).any():
            root[:, np.argmax(rounding)] = 0.0
            Q, remainder = orthonormalise(root, dependent=SCORE_DEPENDENCE)
        inverse = np.zeros((V.shape[1], V.shape[1]))
        remaining = np.flatnonzero(remainder)
        if remaining.size:
            inverse[np.ix_(remaining, remaining)] = np.linalg.inv(
                np.triu(Q[:, remaining].T @ root[:, remaining])
            )
        return remainder**2, SV @ inverse


def nearly_dependent(op: Operator, V: np.ndarray, remaining: np.ndarray) -> bool:
    """Return whether a score nearly depends on earlier scores, so that shares from V'SV are inaccurate.

    Parameters
    ----------
    op : Operator
    V : ndarray of shape (p, k)
    remaining : ndarray of shape (k,)
        The variances of the scores that earlier scores do not explain; zero for dependent scores.
    """
    without_cancellation = (np.sqrt(op.diagonal().clip(min=0.0)) @ np.abs(V)) ** 2
    return bool(mostly_rounding(remaining, op.forms(V), without_cancellation))


def mostly_rounding(
    remaining: np.ndarray, variances: np.ndarray, without_cancellation: np.ndarray
) -> np.ndarray:
    """Return whether the residual of some score on earlier scores is mostly rounding error.

    Parameters
    ----------
    remaining : ndarray of shape (..., k)
        The variances of the scores that earlier scores do not explain; zero for dependent scores.
    variances : ndarray of shape (..., k)
    without_cancellation : ndarray of shape (..., k)
        The variances that the scores would have if their terms had the same sign and correlations of one.

    Returns
    -------
    ndarray of bool, shape (...)
    """
    positive = (remaining > 0) & (variances > 0)
    larger = np.where(positive, quotients(without_cancellation, variances), 1.0).max(-1, initial=1.0)
    return np.asarray(
        (positive & (remaining < REMAINING_VARIANCE * larger[..., None] * variances)).any(axis=-1)
    )


def residual_covariances(C: np.ndarray, image: np.ndarray, variance: np.ndarray) -> np.ndarray:
    """Return the covariances of residuals after regression on a score.

    Parameters
    ----------
    C : ndarray of shape (..., p, p)
        Symmetric matrices.
    image : ndarray of shape (..., p)
        The covariances with the score.
    variance : ndarray of shape (...)
        The variance of the score; nothing is removed if it is not positive.

    Returns
    -------
    ndarray of shape (..., p, p)
    """
    return C - image[..., :, None] * quotients(image, variance[..., None])[..., None, :]


def unit_vectors(p: int, J: np.ndarray) -> np.ndarray:
    """Return the columns J of the identity matrix of order p."""
    vectors = np.zeros((p, len(J)))
    vectors[J, np.arange(len(J))] = 1.0
    return vectors


def projected_off(S: np.ndarray, Q: np.ndarray) -> np.ndarray:
    """Return (I - QQ') S (I - QQ') for S of shape (p, p) and orthonormal columns Q, shape (p, k)."""
    half = S - Q @ (Q.T @ S)
    return np.asarray(half - (half @ Q) @ Q.T)


def lanczos_start(p: int, seed: int) -> np.ndarray:
    """Return a fixed start vector, shape (p,), for iterative eigenvalue routines."""
    return np.random.default_rng([seed, p]).standard_normal(p)


class Gram(Operator):
    """The operator of an explicit covariance matrix.

    Parameters
    ----------
    S : ndarray of shape (p, p)
        Symmetric, positive semidefinite; not copied.
    rank_limit : int or None
        An upper bound on the rank of `S`, such as the number of rows minus one; p by default.
    """

    def __init__(self, S: np.ndarray, rank_limit: int | None = None):
        self.S = self.held_matrix = S
        self.p = S.shape[0]
        self.rank_limit = self.p if rank_limit is None else min(rank_limit, self.p)

    def diagonal(self) -> np.ndarray:
        return np.diag(self.S)

    def dot(self, V: np.ndarray) -> np.ndarray:
        used = np.flatnonzero(V.any(axis=1) if V.ndim == 2 else V)
        if 4 * used.size < self.p:  # rows of a symmetric matrix equal its columns, and are contiguous
            return self.S[used].T @ V[used]
        return self.S @ V

    def columns(self, J: np.ndarray) -> np.ndarray:
        return self.S[J].T

    def block(self, J: np.ndarray) -> np.ndarray:
        return self.S[np.ix_(J, J)]

    @cached_property
    def _root(self) -> np.ndarray:
        """The symmetric root of S, shape (p, p), without directions whose variance is rounding error."""
        return symmetric_root(self.S, self.p * np.finfo(float).eps)

    def score_basis(self, V: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        remaining, coupling = super().score_basis(V)
        if self.p > GRAM_ORDER or not nearly_dependent(self, V, remaining):
            return remaining, coupling
        # the root is used as rows with this covariance matrix, whose explained share cannot exceed one
        Q, lengths = orthonormalise(self._root @ V, dependent=SCORE_DEPENDENCE)
        return lengths**2, self._root @ Q

    def divided(self, unit: float) -> Gram:
        factor = 1.0 / unit**2
        if not self.S.flags.writeable:
            return Gram(self.S * factor, self.rank_limit)
        self.S *= factor
        return Gram(self.S, self.rank_limit)

    def residual(self, Q: np.ndarray) -> np.ndarray | None:
        return projected_off(self.S, Q) if self.p <= GRAM_ORDER else None

    def leading(self, k: int, seed: int = 0) -> tuple[np.ndarray, np.ndarray]:
        return self._stored_eigenpairs(k, seed, lambda: top_dense(self.S, k, lanczos_start(self.p, seed)))


# --- rows in memory -------------------------------------------------------------------------------


def averaged(operators: Sequence[Operator], n: int) -> Operator:
    """Return the mean of covariance matrices of the same n rows, such as those of multiple imputations."""
    places = np.arange(operators[0].p)
    mean = symmetric(np.mean([op.block(places) * op.unit**2 for op in operators], axis=0))
    return Gram(mean, max(1, min(len(mean), n - 1))).at_unit_size()


#: Cross-products of sparse rows are computed from dense blocks, which are centred, if a mean exceeds this
#: many standard deviations, since raw products would lose digits: with 20,000 rows, variances had an error of
#: 5e-12 at this mean, 2e-12 at half of it and 2e-11 at twice as much.
FAR_MEAN = 100.0
#: Products of sparse rows are sparse by sparse if at most this share of the entries is stored: with 4000
#: rows, blocks of 100 and 500 columns then took .4 to .8 of the time at this share, .2 to .5 at half of it,
#: and 1.5 times as long at twice as much.
FEW_ZEROS = 0.08
#: Fewer columns of S than this are products of sparse rows with dense vectors: with 4000 rows of 2000
#: variables and up to FEW_ZEROS stored entries, 10 columns took at most 1.3 ms longer in this way.
MANY_COLUMNS = 20
#: Sparse rows in CSC format with up to this many stored entries (24 MB) are also stored in CSR format.
STORED_TWICE = 2_000_000


class Rows(Operator):
    """Rows Y, shape (n, p), centred, scaled and weighted so that S = Y'Y.

    Attributes
    ----------
    n : int
    root_weights : ndarray of shape (n,)
        Square roots of the row weights divided by the divisor of the variances. Y contains the standardised
        rows, multiplied by these.
    """

    n: int
    root_weights: np.ndarray
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
        F = self.forward(V)
        return np.einsum("i...,i...->...", F, F)

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
        return self._stored_eigenpairs(k, seed, lambda: self._leading(k, seed))

    def _leading(self, k: int, seed: int) -> tuple[np.ndarray, np.ndarray]:
        if min(self.n, self.p) > self.small_side:
            if self.n >= self.p:
                return super().leading(k, seed)
            values, vectors = top_lanczos(
                lambda u: self.forward(self.adjoint(u)), self.n, k, lanczos_start(self.n, seed)
            )
        else:
            values, vectors = whole_groups(self.cross_products(), k)
        V = vectors
        if self.p > self.n:
            V = orthonormalise(self.adjoint(vectors))[0]
        values, V = canonical_eigenvectors(values, V)
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

    def products(self, V: np.ndarray) -> np.ndarray:
        F = self.forward(V)
        return np.asarray(F.T @ F)

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

    small_side = DENSE_ORDER  # larger matrices would be dense, while products with sparse X are cheap

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
        self.stored_count = int(X.nnz)
        if (
            self.stored_count > 200 * self.p
        ):  # 60 vectors take a fifth of the memory of the rows and save products
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

    @cached_property
    def _by_rows(self) -> Any:
        """The raw rows in CSR format."""
        return self.X.tocsr()

    @cached_property
    def _column_sums(self) -> np.ndarray:
        """The weighted sums of the raw columns, shape (p,)."""
        weights, _ = self._row_weights
        return product(self.X.T, weights_or_ones(weights, self.n))

    @cached_property
    def _total_weight(self) -> float:
        weights, _ = self._row_weights
        return float(self.n) if weights is None else float(weights.sum())

    def forward(self, V: np.ndarray) -> np.ndarray:
        used = np.flatnonzero(V.any(axis=1) if V.ndim == 2 else V)
        if self.X.format == "csc" and 8 * used.size < self.p:
            scaled = (self.multiplier[used] * V[used].T).T
            raw = product(self.X[:, used], scaled)
            raw -= self.mean[used] @ scaled
        else:
            scaled = (self.multiplier * V.T).T
            raw = product(self.X, scaled)
            raw -= self.mean @ scaled
        raw.T[...] *= self.root_weights
        return raw

    def adjoint(self, U: np.ndarray) -> np.ndarray:
        weighted = (self.root_weights * U.T).T
        raw = product(self.X.T, weighted)
        raw.T[...] -= np.multiply.outer(weighted.sum(axis=0), self.mean)
        raw.T[...] *= self.multiplier
        return raw

    def values(self, J: np.ndarray) -> np.ndarray:
        block = self.X[:, J].toarray().astype(float, copy=False)
        block -= self.mean[J]
        block *= self.multiplier[J]
        block *= self.root_weights[:, None]
        return block

    def dot(self, V: np.ndarray) -> np.ndarray:
        if V.ndim == 1:
            return super().dot(V)
        out = np.empty((self.p, V.shape[1]))
        for batch in self._some_columns(V):
            part = V[:, batch]
            used = np.flatnonzero(part.any(axis=1))
            rows_used = self._few_rows(used)
            out[:, batch] = self._dot_of_few(part, used) if rows_used else super().dot(part)
        return out

    def _few_rows(self, used: np.ndarray) -> bool:
        """Whether the columns `used` have entries in few rows, so that S V is cheap from these rows alone."""
        X = self.X
        if X.format != "csc" or X.dtype != np.float64 or X.nnz > STORED_TWICE or self._far_from_zero():
            return False
        return 2 * int(np.diff(X.indptr)[used].sum()) < self.n

    def _dot_of_few(self, V: np.ndarray, used: np.ndarray) -> np.ndarray:
        """Return S V for columns V that are zero outside the variables `used`, from rows with entries."""
        # S V = D (X'W U - l s' - m (1'W U - w s')) with U = X D V, s' = m'D V, l = X'W 1 and w = 1'W 1
        weights, share = self._row_weights
        scaled = self.multiplier[used, None] * V[used]
        U = product(self.X[:, used], scaled)
        if weights is not None:
            U *= weights[:, None]
        shift = self.mean[used] @ scaled
        rows = np.flatnonzero(U.any(axis=1))
        images = self._by_rows[rows].T @ U[rows]
        images -= np.column_stack([self._column_sums, self.mean]) @ np.stack(
            [shift, U.sum(axis=0) - self._total_weight * shift]
        )
        images *= (share * self.multiplier)[:, None]
        return np.asarray(images)

    def forms(self, V: np.ndarray) -> np.ndarray:
        if V.ndim == 1:
            return super().forms(V)
        return np.concatenate([super(SparseRows, self).forms(V[:, batch]) for batch in self._some_columns(V)])

    def _some_columns(self, V: np.ndarray) -> list[slice]:
        """Split the columns of V so that the scores of each part need a fraction of the rows' memory."""
        step = max(8, self.X.nnz // (4 * max(self.n, 1)))
        return [slice(start, start + step) for start in range(0, max(V.shape[1], 1), step)]

    def columns(self, J: np.ndarray) -> np.ndarray:
        few_zeros = self.X.nnz > FEW_ZEROS * self.n * self.p
        if len(J) < MANY_COLUMNS or few_zeros or self.X.dtype != np.float64 or self._far_from_zero():
            return super().columns(J)
        # S[J] = D_J (X_J' W X - m_J l' - (l_J - w m_J) m') D, with l = X'W1, w = 1'W1 and m the means
        weights, share = self._row_weights
        heavy = self._by_rows if self.stored_count <= STORED_TWICE else self.X.tocsr()
        if weights is not None:
            heavy = heavy.multiply(weights[:, None]).tocsr()
        linear, total = self._column_sums, self._total_weight
        S = (self.X[:, J].T.tocsr() @ heavy).toarray()
        mean = self.mean[J]
        S -= np.column_stack([mean, linear[J] - total * mean]) @ np.stack([linear, self.mean])
        S *= (share * self.multiplier[J])[:, None]
        S *= self.multiplier
        return S.T

    def block(self, J: np.ndarray) -> np.ndarray:
        if self.X.format == "csr" and len(J) <= 50:  # a copy of so few columns costs less
            return self.take(J).gram()
        return self.gram(np.asarray(J))

    def take(self, J: np.ndarray) -> SparseRows:
        variances = self.__dict__.get("_variances")
        return SparseRows(
            self.X[:, J],
            self.mean[J],
            self.multiplier[J],
            self.root_weights,
            self.rank_limit,
            None if variances is None else variances[J],
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
        """Return S, or S[J, J], as a dense array, from sparse products or dense rows; see `_as_dense`."""
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
            S = np.empty((len(J), len(J)))
            for block in blocks(len(J), len(J), BLOCK_CELLS):
                S[block] = (self.X[:, J[block]].T @ heavy).toarray()
            add_outers(S, self._column_sums[J], mean, -1.0)
            add_outer(S, mean, self._total_weight)
        scale_outer(S, self.multiplier[J] * np.sqrt(share))
        return S

    def _as_dense(self, J: np.ndarray) -> bool:
        """Return whether to compute S[J, J] from dense blocks of rows.

        Dense blocks are used in CSR format, from which columns are slow to select; in single precision, in
        which sparse products would be summed; if raw products lose digits that centred products keep; and if
        there are few zeros.
        """
        if self.X.dtype != np.float64 or self.X.format == "csr" or self._far_from_zero(J):
            return True
        return int(np.diff(self.X.indptr)[J].sum()) > FEW_ZEROS * self.n * len(J)

    def _far_from_zero(self, J: np.ndarray | None = None) -> bool:
        """Return whether raw products of the variables J lose digits that centred products keep."""
        columns = slice(None) if J is None else J
        squares = (self.mean[columns] * self.multiplier[columns]) ** 2
        return bool(np.any(squares > FAR_MEAN**2 * self._variances[columns]))
