"""The interface between the data and the solvers and measures: products with the covariance matrix.

Solvers and measures need not know how these products are computed. `Gram`, the simplest operator, stores the
matrix itself.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from functools import cached_property
from typing import ClassVar

import numpy as np

from spcastat.kernels.eig import top_dense, top_eigh, top_lanczos
from spcastat.kernels.orthonormal import orthonormalise
from spcastat.kernels.powers import unit_of

#: Covariance matrices, and residuals of them, are formed up to this many variables.
GRAM_ORDER = 3000
#: A score depends on earlier scores if its residual on them is shorter than this share of its length: the
#: square root of the rounding errors in products with S.
DEPENDENT = 1e-7


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
        `unit` squared times its variances. See :meth:`at_unit_size`.
    held : ndarray of shape (p, p), or None
        S itself if it is stored as a matrix.
    stored : int
        Number of stored entries of sparse rows, which every product reads; 0 for other operators.
    lanczos_basis : int
        Number of Lanczos vectors to store. More of them take more memory and fewer products with S, which
        pays off if products are expensive.
    """

    p: int
    rank_limit: int
    unit: float = 1.0
    held: np.ndarray | None = None
    stored: int = 0
    lanczos_basis: int = 20
    #: Whether every product needs a pass over rows that are not in memory.
    out_of_core: ClassVar[bool] = False
    #: The largest number of passes over such rows for dense PCA, if the caller gave one.
    most_passes: int | None = None

    #: The diagonal, for operators that compute it once.
    _variances: np.ndarray

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

    @abstractmethod
    def divided(self, unit: float) -> Operator:
        """Return the operator of the data divided by `unit`, a power of two. May overwrite this operator."""

    def at_unit_size(self) -> Operator:
        """Return the operator scaled by a power of two so that its largest variance is in [0.5, 2).

        This operator may be overwritten. The scaling is exact. It keeps squares and cubes of variances
        from overflowing, and data in units that differ by a power of two give the same results to the bit.
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
        return 0.5 * (C + C.T)

    def residual(self, Q: np.ndarray) -> np.ndarray | None:
        """Return S after projecting out orthonormal columns Q, shape (p, k): (I - QQ') S (I - QQ').

        For operators with rows it may be the n x n matrix of cross-products of the projected rows instead, if
        that is smaller; traces of its powers are the same. None if the matrix exceeds GRAM_ORDER.
        """
        return None

    def leading(self, k: int, seed: int = 0) -> tuple[np.ndarray, np.ndarray]:
        """Return the k largest eigenvalues of S, descending, and unit eigenvectors, shape (p, k)."""
        return top_lanczos(self.dot, self.p, k, lanczos_start(self.p, seed), self.lanczos_basis)

    def sketched(self, k: int) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """Return what :meth:`leading` returns, or an approximation from a few passes if that is expensive.

        Returns
        -------
        values : ndarray of shape (k,)
            Their partial sums are at most those of the eigenvalues.
        vectors : ndarray of shape (p, k)
        errors : ndarray of shape (k,)
            By how much each value may be too small; 0 if it is exact.
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
        size = np.sqrt(np.where(variances > 0, variances, 1.0))
        values, vectors = top_eigh(0.5 * (C + C.T) / np.outer(size, size), C.shape[0])
        root = np.sqrt(values.clip(min=0.0))[:, None] * vectors.T * (size * (variances > 0))
        Q, remainder = orthonormalise(root, dependent=DEPENDENT)
        inverse = np.zeros((V.shape[1], V.shape[1]))
        kept = np.flatnonzero(remainder)
        if kept.size:
            inverse[np.ix_(kept, kept)] = np.linalg.inv(np.triu(Q[:, kept].T @ root[:, kept]))
        return remainder**2, SV @ inverse


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
        self.S = self.held = S
        self.p = S.shape[0]
        self.rank_limit = self.p if rank_limit is None else min(rank_limit, self.p)

    def diagonal(self) -> np.ndarray:
        return np.diag(self.S)

    def dot(self, V: np.ndarray) -> np.ndarray:
        used = np.flatnonzero(V.any(axis=1) if V.ndim == 2 else V)
        if 4 * used.size < self.p:  # rows of a symmetric matrix are its columns, and contiguous
            return self.S[used].T @ V[used]
        return self.S @ V

    def columns(self, J: np.ndarray) -> np.ndarray:
        return self.S[J].T

    def block(self, J: np.ndarray) -> np.ndarray:
        return self.S[np.ix_(J, J)]

    def divided(self, unit: float) -> Gram:
        factor = 1.0 / unit**2
        if not self.S.flags.writeable:
            return Gram(self.S * factor, self.rank_limit)
        self.S *= factor
        return Gram(self.S, self.rank_limit)

    def residual(self, Q: np.ndarray) -> np.ndarray | None:
        return projected_off(self.S, Q) if self.p <= GRAM_ORDER else None

    def leading(self, k: int, seed: int = 0) -> tuple[np.ndarray, np.ndarray]:
        return top_dense(self.S, k, lanczos_start(self.p, seed))
