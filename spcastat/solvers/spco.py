"""Sparse principal coordinates: sparse scores, dense orthonormal loadings.

Dou, Dai, Xu and Zhang, "Sparse unsupervised dimensionality reduction algorithms": Algorithm 2 (SPCO).
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from spcastat.kernels.ties import ranked, soft_at, unit
from spcastat.operators import Rows


@dataclass(frozen=True, eq=False)
class Coordinates:
    """The result of Algorithm 2.

    Attributes
    ----------
    A : ndarray of shape (p, k)
        Orthonormal loadings, in decreasing order of the variance of their dense scores.
    penalty : ndarray of shape (k,)
        The l1 penalty of each coordinate.
    objective : float
        The criterion divided by the sum of the row weights minus one.
    objectives : list of float
        The criterion after each sweep.
    n_iter : int
    converged : bool
    """

    A: np.ndarray
    penalty: np.ndarray
    objective: float
    objectives: list[float]
    n_iter: int
    converged: bool

    def times(self, unit: float) -> Coordinates:
        """Convert a result for data divided by `unit` to the units of the data."""
        values = [value * unit**2 for value in self.objectives]
        return replace(
            self, penalty=self.penalty * unit, objective=self.objective * unit**2, objectives=values
        )


@dataclass(frozen=True)
class SPCO:
    """min |X - Z A'|^2 / 2 + ridge |Z|^2 / 2 + penalty |Z|_1 over Z, n x k, and A with A'A = I.

    Attributes
    ----------
    penalty : float or None
        The paper's gamma_2, in the units of the (scaled) data: scores below it become zero.
    zeros : float or None
        Instead of a penalty, the share of coordinates that should be zero, in [0, 1). Every sweep uses the
        penalty that gives it.
    ridge : float
        The paper's gamma_1, whose only effect is to divide all coordinates by 1 + ridge.
    tol : float
        Converged when a sweep changes no loading by more than this.
    max_iter : int
        The largest number of sweeps.
    """

    penalty: float | None = None
    zeros: float | None = None
    ridge: float = 0.0
    tol: float = 1e-8
    max_iter: int = 2000

    def solve(self, op: Rows, k: int) -> Coordinates:
        """Alternate between soft thresholding for Z and a Procrustes rotation for A, from PCA."""
        root = op.root_weights
        used = root > 0
        A = op.leading(k)[1]
        level, converged = self.penalty or 0.0, False
        values: list[float] = []
        while not converged and len(values) < self.max_iter:
            T = op.forward(A)[used] / root[used, None]
            if self.zeros is not None:
                level = quantile(np.abs(T).ravel(), self.zeros)
            Z = soft_at(T, level) / (1.0 + self.ridge) + 0.0  # no -0
            values.append(self._criterion(op, T, Z, root[used], level))
            weighted = np.zeros((op.n, k))
            weighted[used] = root[used, None] * Z
            M = op.adjoint(weighted)
            empty = ~Z.any(axis=0)
            M[:, empty] = 0.0
            last, A = A, procrustes(M, A)
            converged = bool(np.abs(A - last).max() <= self.tol)
        if self.zeros is not None:
            level = quantile(np.abs(op.forward(A)[used] / root[used, None]).ravel(), self.zeros)
        order = ranked(np.diag(op.products(unit(A))))
        return Coordinates(A[:, order], np.full(k, float(level)), values[-1], values, len(values), converged)

    def _criterion(self, op: Rows, T: np.ndarray, Z: np.ndarray, root: np.ndarray, level: float) -> float:
        rows = 0.5 * ((1.0 + self.ridge) * Z**2 - 2.0 * T * Z) + level * np.abs(Z)
        return 0.5 * op.total + float(root**2 @ rows.sum(axis=1))


def quantile(size: np.ndarray, share: float) -> float:
    """Return the smallest threshold, up to rounding, for which at least `share` of the values become zero."""
    count = int(np.ceil(share * size.size - 1e-9))
    return float(np.partition(size, count - 1)[count - 1]) * (1.0 + 1e-12) if count > 0 else 0.0


def procrustes(M: np.ndarray, last: np.ndarray) -> np.ndarray:
    """Return the orthonormal A that maximises tr(A'M); if it is not unique, the one closest to `last`."""
    left, size, right = np.linalg.svd(M, full_matrices=False)
    if size[-1] > 1e-12 * size[0]:
        return np.asarray(left @ right)
    if size[0] == 0:
        return last
    full = size > 1e-12 * size[0]
    done = left[:, full] @ right[full]
    rest = (last - left[:, full] @ (left[:, full].T @ last)) @ right[~full].T
    u, _, v = np.linalg.svd(rest, full_matrices=False)
    return np.asarray(done + u @ v @ right[~full])
