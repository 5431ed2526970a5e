"""L1 factorisation: the low-rank matrix of smallest absolute residuals, entry by entry.

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

#: A direction of the fit with less than this share of the length of the first is none.
EMPTY = 1e-10
#: Widths of the smoothed absolute value, from the first to this share of it, and sweeps at each of them.
SHARPEST, WIDTHS, SWEEPS = 1e-6, 30, 10
#: Added to the diagonal of normal equations, as a share of its mean: fits may have fewer dimensions.
RIDGE = 1e-12


@dataclass(frozen=True)
class L1Factor(JointSolver):
    """min |X - U V'|_1, the sum over all entries, U n x k and V p x k: all k components at once, dense.

    With V fixed each row has a regression by least absolute residuals, with U fixed each variable; either
    is solved exactly, by weighted medians, in turn. No step raises the criterion. Single entries that are
    grossly wrong are ignored, where a method that weights whole rows loses the rest of the row with them.

    The loadings are the right singular vectors of the fitted matrix U V', in the order of its singular
    values; ``fit.loadings`` spans what the columns of V span. Scores are projections, as of every method,
    not the U of the regressions, and explained variance is that of the projections. Where the best fit
    has fewer than k dimensions (of mostly equal values it may be zero) the other loadings are PCA's.

    Columns count by their mean absolute values: for variables in different units take ``scale=True``, or a
    robust scale. Rows are centred as the call says, at their means by default; for robust ones give
    ``center=df.median()``. Missing entries, which the authors' programme leaves out of the sum, are not
    taken.

    The descent ends where neither side alone can be improved, which need not be a local minimum of both,
    and mostly after a few sweeps: ``smooth=True`` and ``n_init=10`` both look further.

    Attributes
    ----------
    smooth : bool
        Whether each start has a second descent, from where the sum of sqrt(r^2 + e^2) over the residuals r
        is lowered while e falls to zero, and the lower of the two counts. This is not the authors'. The
        steps of smoothing are not part of `max_iter`, nor of the sweeps told.
    start : {"pca", "column", "ones"}, or array of shape (p, k)
        Where the alternation begins: PCA's loadings, the longest columns of the data, equal loadings, or
        loadings given. That it is PCA's by default is a choice of this package.
    tol : float
        Converged when a sweep over rows and variables lowers the criterion by no more than this share.
    max_iter : int
        Sweeps from one start, at most.
    """

    smooth: bool = False
    tol: float = 1e-10
    max_iter: int = 1000

    needs = "rows"
    uses_starts = True
    criterion = "mean absolute residual of the entries"
    in_variance_units = False
    units = (("singular value", 1), ("objective", 1))

    @property
    def own_order(self) -> bool:
        """The components come in the order of the singular values of the fitted matrix."""
        return True

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
        """Return the lower end of one descent, or of two."""
        plain = self._descend(problem, V)
        if not self.smooth:
            return plain
        other = self._descend(problem, problem.smoothed(V))
        return other if problem.loss(other[0]) < problem.loss(plain[0]) else plain

    def _descend(self, problem: _Entries, V: np.ndarray) -> tuple[np.ndarray, int, bool]:
        """Return the fitted matrix below the span of V, shape (p, k), the sweeps, and whether it stayed."""
        fitted, value = problem.by_rows(V), np.inf
        for sweep in range(1, self.max_iter + 1):
            U = problem.left_basis(fitted, V)
            fitted = problem.better(fitted, problem.by_columns(U), 0)
            V = np.linalg.qr(fitted.T @ U)[0]
            fitted = problem.better(fitted, problem.by_rows(V), 1)
            before, value = value, problem.loss(fitted)
            if before - value <= self.tol * value:
                return fitted, sweep, True
        return fitted, self.max_iter, False


class _Entries:
    """The entries of the rows, each counted as often as its row."""

    def __init__(self, op: Rows):
        root = op.root_weights
        kept = np.flatnonzero(root)
        self.root = root[kept]
        self.X = op.values(np.arange(op.p))[kept] / self.root[:, None]
        self.counts = self.root**2 / (self.root @ self.root)

    def loss(self, fitted: np.ndarray) -> float:
        """Return the mean absolute residual."""
        return float(self.counts @ np.abs(self.X - fitted).mean(axis=1))

    def by_rows(self, V: np.ndarray) -> np.ndarray:
        """Return the best fitted matrix whose rows lie in the span of V, shape (p, k)."""
        return (V @ least_absolute(V, self.X.T)).T

    def by_columns(self, U: np.ndarray) -> np.ndarray:
        """Return the best fitted matrix whose columns lie in the span of U, shape (n, k)."""
        counts = (self.counts / self.counts.mean())[:, None]
        return np.asarray(U @ least_absolute(counts * U, counts * self.X))

    def left_basis(self, fitted: np.ndarray, V: np.ndarray) -> np.ndarray:
        """Return orthonormal columns, shape (n, k), that span those of a fitted matrix with rows in V."""
        return np.linalg.qr(fitted @ V)[0]

    def better(self, fitted: np.ndarray, other: np.ndarray, axis: int) -> np.ndarray:
        """Return, row by row (axis 1) or column by column (0), the one of two matrices that fits better."""
        counts = self.counts[:, None] if axis == 0 else 1.0
        lost = [(counts * np.abs(self.X - one)).sum(axis=axis, keepdims=True) for one in (fitted, other)]
        return np.where(lost[1] < lost[0], other, fitted)

    def smoothed(self, V: np.ndarray) -> np.ndarray:
        """Return orthonormal columns that span what sqrt(r^2 + e^2) leads to from V, shape (p, k).

        Each half of a sweep is a weighted least-squares fit, with the weights of the present residuals.
        """
        U = self.X @ V
        size = self.loss(U @ V.T)
        for width in size * np.geomspace(1.0, SHARPEST, WIDTHS):
            for _ in range(SWEEPS):
                U = _weighted(V, self.X, self._weights(U, V, width))
                weights = self._weights(U, V, width) * (self.counts / self.counts.mean())[:, None]
                V = _weighted(U, self.X.T, weights.T)
        return np.linalg.qr(V)[0]

    def _weights(self, U: np.ndarray, V: np.ndarray, width: float) -> np.ndarray:
        return width / np.hypot(self.X - U @ V.T, width) if width > 0 else np.ones(self.X.shape)

    def axes(self, fitted: np.ndarray, k: int) -> tuple[np.ndarray, np.ndarray]:
        """Return the right singular vectors of a fitted matrix, at most k columns, and the singular values.

        Rows count with their weights, and a singular value is the standard deviation of fitted scores.
        """
        values, vectors = np.linalg.svd(self.root[:, None] * fitted, full_matrices=False)[1:]
        kept = np.flatnonzero(values[:k] > EMPTY * values[0])
        return vectors[kept].T, values[kept]


def _weighted(A: np.ndarray, B: np.ndarray, weights: np.ndarray) -> np.ndarray:
    """Return the coefficients, shape (r, k), of the rows of B, (r, m), on A, (m, k), by weights (r, m)."""
    m, k = A.shape
    pairs = (A[:, :, None] * A[:, None, :]).reshape(m, k * k)
    normal = (weights @ pairs).reshape(-1, k, k)
    ridge = RIDGE * np.trace(normal, axis1=1, axis2=2) / k + np.finfo(float).tiny
    normal += ridge[:, None, None] * np.eye(k)
    return np.asarray(np.linalg.solve(normal, ((weights * B) @ A)[..., None])[..., 0])
