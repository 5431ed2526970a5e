"""What solvers and measures may ask of the data: products with the covariance matrix, never its source.

`Gram` serves them from a matrix that is held as such, and is the plainest of operators.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from functools import cached_property
from typing import ClassVar

import numpy as np

from spcastat.kernels.eig import top_dense, top_eigh, top_lanczos
from spcastat.kernels.orthonormal import orthonormalise
from spcastat.kernels.powers import unit_of
from spcastat.kernels.ties import ranked

#: The largest matrix of which `residual` is formed.
RESIDUAL_ORDER = 3000
#: A score of which earlier scores leave a smaller share of its length depends on them: the square root of the
#: rounding in products with S.
DEPENDENT = 1e-7


class Operator(ABC):
    """The p x p covariance matrix S of centred, scaled and weighted rows, known by its products.

    Everything is in variance units (divisor: the sum of the weights less one).

    Attributes
    ----------
    p : int
        Number of variables.
    rank_limit : int
        The rank that S cannot exceed.
    unit : float
        A power of two: the standardised data are `unit` times, their variances `unit` squared times those
        that are given here. See :meth:`at_unit_size`.
    """

    p: int
    rank_limit: int
    unit: float = 1.0
    #: Whether every product is a pass over rows that are not in memory.
    out_of_core: ClassVar[bool] = False

    @property
    def held(self) -> np.ndarray | None:
        """S itself where it is held as a matrix."""
        return None

    @abstractmethod
    def diagonal(self) -> np.ndarray:
        """Return the variances, shape (p,)."""

    @abstractmethod
    def dot(self, V: np.ndarray) -> np.ndarray:
        """Return S V for V of shape (p,) or (p, m)."""

    @abstractmethod
    def columns(self, J: np.ndarray) -> np.ndarray:
        """Return S[:, J], shape (p, len(J))."""

    @abstractmethod
    def take(self, J: np.ndarray) -> Operator:
        """Return the operator of the variables J alone."""

    @abstractmethod
    def divided(self, unit: float) -> Operator:
        """Return the operator of the data over `unit`, a power of two. This one is used up."""

    def at_unit_size(self) -> Operator:
        """Return the operator with its largest variance in [0.5, 2), and its `unit`. This one is used up.

        No digit changes. Whatever works with the operator need not fear for squares and cubes of variances,
        and gives the same bits for the same data in other units (a power of two apart).
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
        """The total variance, trace of S."""
        return float(self.diagonal().sum())

    def block(self, J: np.ndarray) -> np.ndarray:
        """Return S[J, J]."""
        return self.columns(J)[J]

    @property
    def stored(self) -> int:
        """Numbers that sparse rows store, all of which every product reads; zero for what is dense."""
        return 0

    def rows_cost_less(self, m: int) -> bool:
        """Whether products with the rows cost less than with the covariance matrix of m variables."""
        return False

    def forms(self, V: np.ndarray) -> np.ndarray:
        """Return v'Sv for each column of V, shape (k,)."""
        return np.einsum("ij,ij->j", V, self.dot(V))

    def products(self, V: np.ndarray) -> np.ndarray:
        """Return the covariance matrix V'SV, shape (k, k), of the scores."""
        C = V.T @ self.dot(V)
        return 0.5 * (C + C.T)

    def by_variance(self, V: np.ndarray) -> np.ndarray:
        """Return the order of the columns of V by score variance, largest first; ties keep their place."""
        return ranked(np.diag(self.products(V)))

    def residual(self, Q: np.ndarray) -> np.ndarray | None:
        """Return what projection off orthonormal columns, shape (p, k), leaves of S.

        Or, where that is smaller, of the cross-products of the rows: traces of powers are the same. None
        where either is larger than RESIDUAL_ORDER.
        """
        return None

    @property
    def lanczos_basis(self) -> int:
        """Vectors that Lanczos' iteration keeps; more of them where a product costs much more than one."""
        return 20

    def leading(self, k: int, seed: int = 0) -> tuple[np.ndarray, np.ndarray]:
        """Return the k largest eigenvalues of S, descending, and unit eigenvectors, shape (p, k)."""
        return top_lanczos(self.dot, self.p, k, lanczos_start(self.p, seed), self.lanczos_basis)

    def sketched(self, k: int) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """Return what :meth:`leading` does where that is cheap, or else what a few passes tell of it.

        Returns
        -------
        values : ndarray of shape (k,)
            Their sums are at most those of the eigenvalues.
        vectors : ndarray of shape (p, k)
        errors : ndarray of shape (k,)
            By how much the values may be too small; zero where they are exact.
        """
        return *self.leading(k), np.zeros(k)

    def limit_passes(self, passes: int) -> None:
        """Make at most so many passes over rows for dense PCA; without a meaning where none is made."""
        return

    def score_basis(self, V: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Return the QR factorisation XV = QR of the scores as far as variances need it.

        Parameters
        ----------
        V : ndarray of shape (p, k)

        Returns
        -------
        adjusted : ndarray of shape (k,)
            R_jj squared: the variance of score j that the scores before it do not explain.
        coupling : ndarray of shape (p, k)
            X'Q, whose squared column norms are the variances of X explained by each column of Q. A score
            that depends on those before it has a zero column.

        Notes
        -----
        Here from a square root of the k x k matrix V'SV, good to about 1e-10 of the total variance where
        scores nearly coincide; operators that hold rows factor the scores themselves.
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
        Symmetric, positive semidefinite; kept without a copy.
    rank_limit : int or None
        The rank that `S` cannot exceed where rows set one (rows less one), p by default.
    """

    def __init__(self, S: np.ndarray, rank_limit: int | None = None):
        self.S = S
        self.p = S.shape[0]
        self.rank_limit = self.p if rank_limit is None else min(rank_limit, self.p)

    @property
    def held(self) -> np.ndarray:
        return self.S

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

    def take(self, J: np.ndarray) -> Gram:
        return Gram(self.block(J), self.rank_limit)

    def divided(self, unit: float) -> Gram:
        factor = 1.0 / unit**2
        if not self.S.flags.writeable:
            return Gram(self.S * factor, self.rank_limit)
        self.S *= factor
        return Gram(self.S, self.rank_limit)

    def residual(self, Q: np.ndarray) -> np.ndarray | None:
        return projected_off(self.S, Q) if self.p <= RESIDUAL_ORDER else None

    def leading(self, k: int, seed: int = 0) -> tuple[np.ndarray, np.ndarray]:
        return top_dense(self.S, k, lanczos_start(self.p, seed))
