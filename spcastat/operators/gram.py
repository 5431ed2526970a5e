"""A covariance matrix that is held as such."""

from __future__ import annotations

import numpy as np

from spcastat.kernels.eig import top_dense
from spcastat.operators.base import Operator, lanczos_start


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

    def leading(self, k: int, seed: int = 0) -> tuple[np.ndarray, np.ndarray]:
        return top_dense(self.S, k, lanczos_start(self.p, seed))
