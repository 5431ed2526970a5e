"""R1-PCA: the subspace with the smallest sum of residual lengths, instead of squared lengths.

Ding, Zhou, He and Zha (2006), "R1-PCA: rotational invariant L1-norm principal component analysis for robust
subspace factorization", Proceedings of the 23rd International Conference on Machine Learning.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

import numpy as np

from spcastat.kernels.blocks import blocks
from spcastat.kernels.eig import symmetric, top_eigh
from spcastat.kernels.least_absolute import weighted_median
from spcastat.kernels.ties import first_max
from spcastat.operators import Operator, Rows
from spcastat.solvers.solver import JointSolver, Solution


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
