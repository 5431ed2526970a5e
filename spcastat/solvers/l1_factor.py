"""L1 factorisation: the low-rank matrix with the smallest sum of absolute residuals.

Ke and Kanade (2005), "Robust L1 norm factorization in the presence of outliers and missing data by
alternative convex programming", IEEE Conference on Computer Vision and Pattern Recognition: section 3.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from spcastat.kernels.least_absolute import least_absolute
from spcastat.kernels.orthonormal import orthonormalise
from spcastat.kernels.ties import first_max
from spcastat.operators import Operator, Rows
from spcastat.solvers.solver import JointSolver, Solution


@dataclass(frozen=True)
class L1Factor(JointSolver):
    """min |X - U V'|_1, the sum over all entries, U n x k and V p x k: all k components at once, dense.

    With V fixed each row is a least absolute deviations regression, with U fixed each variable is; the two
    are solved exactly, in turn, by weighted medians. No step increases the criterion. Single outlying
    entries have little influence, whereas a method that weights whole rows loses the rest of the row, too.

    The loadings are the right singular vectors of the fitted matrix U V', in the order of its singular
    values, so they span the same space as the columns of V. As for every method, scores are projections
    (not the U of the regressions), and explained variance is that of the projections. If the best fit has
    fewer than k dimensions (it may be zero if most values are equal), the other loadings are PCA's.

    Variables are weighted by their mean absolute values: use ``scale=True`` or a robust scale for variables
    in different units. Columns are centred at their means by default; ``center=df.median()`` is robust.
    Missing values, which the authors' program leaves out of the sum, are not accepted.

    The descent ends when neither U nor V alone can be improved, usually after a few sweeps. This need not be
    a local minimum over both: ``smooth=True`` and ``n_init=10`` search further.

    Attributes
    ----------
    smooth : bool
        Whether to add a second descent from each start and use the better of the two. It begins at the result
        of minimising the sum of sqrt(r^2 + e^2) over the residuals r while e decreases to zero. This is an
        addition to the authors' method. Smoothing steps count neither for `max_iter` nor as sweeps.
    start : {"pca", "column", "ones"}, or array of shape (p, k)
        Starting values: PCA's loadings, the longest columns of the data, equal loadings, or given loadings.
        The default, PCA's loadings, is a choice of this package.
    tol : float
        Converged when a sweep over rows and variables reduces the criterion by at most this share.
    max_iter : int
        The largest number of sweeps from one start.
    """

    smooth: bool = False
    tol: float = 1e-10
    max_iter: int = 1000

    needs = "rows"
    uses_starts = True
    criterion = "mean absolute residual of the entries"
    in_variance_units = False
    own_order = True  # singular values
    units = (("singular value", 1), ("objective", 1))

    def solve(self, op: Operator, k: int, starts: np.ndarray, rng: np.random.Generator) -> Solution:
        assert isinstance(op, Rows)
        problem = _Entries(op)
        runs = [self._run(problem, np.linalg.qr(start.T)[0]) for start in starts]
        values = np.array([problem.loss(fitted) for fitted, _, _ in runs])
        best = first_max(-values)
        fitted, steps, converged = runs[best]
        V, sizes = problem.axes(fitted, k)
        left = orthonormalise(np.column_stack([V, op.leading(k)[1]]))[0]
        V = left[:, left.any(axis=0)][:, :k]
        details = {"singular value": np.pad(sizes, (0, k - len(sizes))).tolist()}
        status = "converged" if converged else "max_iter"
        return Solution(V, status, steps, float(values[best]), values, details)

    def _run(self, problem: _Entries, V: np.ndarray) -> tuple[np.ndarray, int, bool]:
        """Return the result of the descent, or with `smooth` the better of two descents."""
        plain = self._descend(problem, V)
        if not self.smooth:
            return plain
        other = self._descend(problem, problem.smoothed(V))
        return other if problem.loss(other[0]) < problem.loss(plain[0]) else plain

    def _descend(self, problem: _Entries, V: np.ndarray) -> tuple[np.ndarray, int, bool]:
        """Descend from the span of V, shape (p, k); return the fitted matrix, sweeps, and convergence."""
        fitted, value = (V @ least_absolute(V, problem.X.T)).T, np.inf
        for sweep in range(1, self.max_iter + 1):
            U = np.linalg.qr(fitted @ V)[0]  # an orthonormal basis of the columns of `fitted`
            fitted = problem.better(fitted, problem.by_columns(U), 0)
            V = np.linalg.qr(fitted.T @ U)[0]
            fitted = problem.better(fitted, (V @ least_absolute(V, problem.X.T)).T, 1)
            before, value = value, problem.loss(fitted)
            if before - value <= self.tol * value:
                return fitted, sweep, True
        return fitted, self.max_iter, False


class _Entries:
    """The data with the weights of rows."""

    def __init__(self, op: Rows):
        root = op.root_weights
        kept = np.flatnonzero(root)
        self.root = root[kept]
        self.X = op.values(np.arange(op.p))[kept] / self.root[:, None]
        self.counts = self.root**2 / (self.root @ self.root)

    def loss(self, fitted: np.ndarray) -> float:
        """Return the mean absolute residual."""
        return float(self.counts @ np.abs(self.X - fitted).mean(axis=1))

    def by_columns(self, U: np.ndarray) -> np.ndarray:
        """Return the best fitted matrix with columns in the span of U, shape (n, k)."""
        counts = (self.counts / self.counts.mean())[:, None]
        return np.asarray(U @ least_absolute(counts * U, counts * self.X))

    def better(self, fitted: np.ndarray, other: np.ndarray, axis: int) -> np.ndarray:
        """Return the better of two fitted matrices, for each row (axis 1) or each column (axis 0)."""
        counts = self.counts[:, None] if axis == 0 else 1.0
        lost = [(counts * np.abs(self.X - one)).sum(axis=axis, keepdims=True) for one in (fitted, other)]
        return np.where(lost[1] < lost[0], other, fitted)

    def smoothed(self, V: np.ndarray) -> np.ndarray:
        """Minimise the sum of sqrt(r^2 + e^2) from V for decreasing e; return orthonormal V, shape (p, k).

        Each half of a sweep is a weighted least-squares fit with weights from the current residuals.
        """
        U = self.X @ V
        size = self.loss(U @ V.T)
        for width in size * np.geomspace(1.0, 1e-6, 30):
            # ten sweeps at each width of the smoothed absolute value
            for _ in range(10):
                U = _weighted(V, self.X, self._weights(U, V, width))
                weights = self._weights(U, V, width) * (self.counts / self.counts.mean())[:, None]
                V = _weighted(U, self.X.T, weights.T)
        return np.linalg.qr(V)[0]

    def _weights(self, U: np.ndarray, V: np.ndarray, width: float) -> np.ndarray:
        return width / np.hypot(self.X - U @ V.T, width) if width > 0 else np.ones(self.X.shape)

    def axes(self, fitted: np.ndarray, k: int) -> tuple[np.ndarray, np.ndarray]:
        """Return the right singular vectors of a fitted matrix, at most k columns, and the singular values.

        Rows are weighted, so that a singular value is the standard deviation of fitted scores.
        """
        values, vectors = np.linalg.svd(self.root[:, None] * fitted, full_matrices=False)[1:]
        kept = np.flatnonzero(values[:k] > 1e-10 * values[0])
        return vectors[kept].T, values[kept]


def _weighted(A: np.ndarray, B: np.ndarray, weights: np.ndarray) -> np.ndarray:
    """Return the weighted least-squares coefficients, (r, k), of the rows of B, (r, m), on A, (m, k).

    The weights have shape (r, m). A ridge of 1e-12 keeps the systems regular if A has a lower rank.
    """
    m, k = A.shape
    pairs = (A[:, :, None] * A[:, None, :]).reshape(m, k * k)
    normal = (weights @ pairs).reshape(-1, k, k)
    ridge = 1e-12 * np.trace(normal, axis1=1, axis2=2) / k + np.finfo(float).tiny
    normal += ridge[:, None, None] * np.eye(k)
    return np.asarray(np.linalg.solve(normal, ((weights * B) @ A)[..., None])[..., 0])
