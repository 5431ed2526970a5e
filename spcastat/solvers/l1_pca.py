"""Components that resist outliers by absolute values: R1-PCA and the L1 factor model.

Ding, Zhou, He and Zha (2006), "R1-PCA: rotational invariant L1-norm principal component analysis for robust
subspace factorization", Proceedings of the 23rd International Conference on Machine Learning.

Ke and Kanade (2005), "Robust L1 norm factorization in the presence of outliers and missing data by
alternative convex programming", IEEE Conference on Computer Vision and Pattern Recognition: section 3.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

import numpy as np

from spcastat.linalg.eigenvectors import orthonormalise, symmetric, top_eigh
from spcastat.linalg.operators import Operator, Rows
from spcastat.linalg.regression import least_absolute, weighted_median
from spcastat.linalg.scales import blocks
from spcastat.linalg.ties import first_max
from spcastat.solvers.solver import JointSolver, Solution

# --- R1-PCA ---------------------------------------------------------------------------------------


@dataclass(frozen=True)
class R1PCA(JointSolver):
    """min sum_i loss(|x_i - UU'x_i|) over orthonormal U, p x k: all k components at once, dense.

    The loss grows linearly with the length of a residual; that of PCA grows quadratically. So a row has the
    weight 1 / length. The update is U <- orth(C U), where C is the covariance matrix of the rows with the
    weights of their current residuals; it never increases the criterion. The components are the
    eigenvectors of C in the subspace of U, in the order of their eigenvalues, the weighted variances. The
    subspace and the components rotate with the data. The components for k + 1 are not those for k plus one.

    The paper claims a unique solution, but the criterion has local minima: if outlying rows determine a
    direction of PCA, a descent from PCA's subspace stays near it. ``n_init=10`` also tries other subspaces
    and uses the best.

    Scores are projections. Explained variance is that of all rows, with full weight for outlying rows, and
    is at most that of PCA.

    Rows are centred at their mean by default. ``center=df.median()`` gives robust scores, and residuals from
    a robust centre.

    Attributes
    ----------
    loss : {"huber", "l1"}
        Huber's loss is quadratic up to the cutoff, the median length of PCA's residuals, so that all rows
        closer than that have the same weight. "l1" is the length itself (quadratic only up to a millionth of
        that median): a few rows may then lie in the subspace and determine it.
    tol : float
        Converged when no basis vector of the new subspace leaves the old one by more than this.
    max_iter : int
        The largest number of steps from one start.
    """

    loss: Literal["huber", "l1"] = "huber"
    tol: float = 1e-9
    max_iter: int = 5000

    needs = "rows"
    uses_starts = True
    criterion = "mean length of the residuals, short ones by Huber's loss"
    in_variance_units = False
    own_order = True  # weighted variances
    units = (("weighted variance", 2), ("cutoff", 1), ("objective", 1))

    def solve(self, op: Operator, k: int, starts: np.ndarray, rng: np.random.Generator) -> Solution:
        assert isinstance(op, Rows)
        rows = _Residuals(op, op.leading(k)[1], self.loss)
        runs = [self._descend(rows, np.linalg.qr(start.T)[0]) for start in starts]
        values = np.array([rows.mean_loss(U) for U, _, _ in runs])
        best = first_max(-values)
        U, steps, converged = runs[best]
        V, variances = rows.axes(U)
        details = {"weighted variance": variances.tolist(), "cutoff": [rows.cutoff] * k}
        status = "converged" if converged else "max_iter"
        return Solution(V, status, steps, float(values[best]), values, details)

    def _descend(self, rows: _Residuals, U: np.ndarray) -> tuple[np.ndarray, int, bool]:
        """Descend from the subspace of U, shape (p, k); return the subspace, steps, and convergence."""
        for step in range(1, self.max_iter + 1):
            before, U = U, np.linalg.qr(rows.covariance_times(U)[0])[0]
            if np.abs(U - before @ (before.T @ U)).max() <= self.tol:
                return U, step, True
        return U, self.max_iter, False


class _Residuals:
    """The rows with the lengths, weights and losses of their residuals.

    The rows of the operator are multiplied by the square root of their weight in the data.
    """

    def __init__(self, op: Rows, pca: np.ndarray, loss: str):
        self.op = op
        self.counts = op.root_weights**2
        self.squares = self._by_blocks(np.zeros((op.n, 0)), np.zeros((op.p, 0)))
        lengths = self.lengths(op.forward(pca), pca)
        typical = float(weighted_median(lengths, self.counts))
        mean_square = float(self.counts @ lengths**2 / self.counts.sum())
        row = float(np.sqrt(self.squares.sum() / self.counts.sum()))
        sharp = 1e-6 * (typical if typical > 0 else np.sqrt(mean_square))
        # residuals below 1e-12 of the typical length of a row are rounding
        self.cutoff = max(typical if loss == "huber" else 0.0, sharp, 1e-12 * row)

    def lengths(self, scores: np.ndarray, U: np.ndarray) -> np.ndarray:
        """Return the length of the residual of each row from the subspace of U, shape (p, k)."""
        squares = self.squares - (scores**2).sum(axis=1)
        if (squares < 1e-3 * self.squares).any():  # the difference loses digits by cancellation
            squares = self._by_blocks(scores, U)
        return np.sqrt(np.divide(squares, self.counts, out=np.zeros(self.op.n), where=self.counts > 0))

    def _by_blocks(self, scores: np.ndarray, U: np.ndarray) -> np.ndarray:
        """Compute the squared residuals for a block of variables at a time."""
        squares = np.zeros(self.op.n)
        # a block has about a million values
        for block in blocks(self.op.p, self.op.n, 1_000_000):
            J = np.arange(self.op.p)[block]
            squares += ((self.op.values(J) - scores @ U[J].T) ** 2).sum(axis=1)
        return squares

    def mean_loss(self, U: np.ndarray) -> float:
        """Return the criterion: the mean of Huber's loss divided by the cutoff."""
        lengths, cutoff = self.lengths(self.op.forward(U), U), self.cutoff
        losses = np.where(lengths <= cutoff, 0.5 * lengths**2 / cutoff, lengths - 0.5 * cutoff)
        return float(self.counts @ losses / self.counts.sum())

    def covariance_times(self, U: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Return C U and U'C U, where C is the covariance matrix with the weights of the residuals."""
        scores = self.op.forward(U)
        weights = 1.0 / np.maximum(self.lengths(scores, U), self.cutoff)
        weights /= self.counts @ weights / self.counts.sum()
        weighted = (weights * scores.T).T
        return self.op.adjoint(weighted), scores.T @ weighted

    def axes(self, U: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Return the eigenvectors of C in the subspace of U, shape (p, k), and the eigenvalues."""
        inner = self.covariance_times(U)[1]
        values, turn = top_eigh(symmetric(inner), U.shape[1])
        return U @ turn, values


# --- the L1 factor model --------------------------------------------------------------------------


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
