"""R1-PCA: the subspace of smallest residuals, by their lengths and not the squares of these.

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

#: The lengths of residuals under "l1" are rounded below this share of the median's.
SHARP = 1e-6
#: Residuals below this share of the rows' lengths are rounding.
ROUNDED = 1e-12
#: A squared residual that is a smaller share of the row's is not taken as a difference of squares.
CANCELLED = 1e-3
#: Numbers that are held at once.
BLOCK = 1_000_000


@dataclass(frozen=True)
class R1PCA(JointSolver):
    """min sum_i loss(|x_i - UU'x_i|) over orthonormal U, p x k: all k components at once, dense.

    The loss grows as the length of a residual, where that of PCA grows as its square. A row counts with the
    weight 1 / length, and U <- orth(C U), C the covariance matrix of rows with the weights of their present
    residuals, never raises the criterion. The components are the eigenvectors of C in the subspace of U,
    in the order of their eigenvalues: the weighted variances. Neither subspace nor axes depend on the
    coordinates in which rows are given. The components for k + 1 are not those for k and one more.

    The paper calls its solution unique, but the criterion has local minima: where outlying rows make a
    direction of PCA's their own, a descent from PCA's subspace stays near it. ``n_init=10`` tries other
    subspaces as well, and keeps the lowest.

    Scores are projections, and explained variance is that of all rows, outlying ones with full weight: it
    is at most PCA's.

    Rows are centred as the call says, at their mean by default. For robust scores, and residuals from a
    robust centre, give one, as in ``center=df.median()``.

    Attributes
    ----------
    loss : {"huber", "l1"}
        Huber's loss is a parabola up to the cutoff, the median of PCA's residuals, so that rows closer than
        that have the same weight. "l1" is the length alone, to a millionth of that median: a few rows may
        lie in the subspace and decide where it lies.
    tol : float
        Converged when a step turns no vector out of the subspace by more than this in any variable.
    max_iter : int
        Steps from one start, at most.
    """

    loss: Literal["huber", "l1"] = "huber"
    tol: float = 1e-9
    max_iter: int = 5000

    needs = "rows"
    uses_starts = True
    criterion = "mean length of the residuals, short ones by Huber's loss"
    in_variance_units = False
    units = (("weighted variance", 2), ("cutoff", 1), ("objective", 1))

    @property
    def own_order(self) -> bool:
        """The components come in the order of their weighted variances."""
        return True

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
        """Return the subspace below U, shape (p, k), the steps taken, and whether it stayed."""
        for step in range(1, self.max_iter + 1):
            before, U = U, np.linalg.qr(rows.covariance_times(U)[0])[0]
            if np.abs(U - before @ (before.T @ U)).max() <= self.tol:
                return U, step, True
        return U, self.max_iter, False


class _Residuals:
    """Rows with the lengths of their residuals, and the weights and losses that these have.

    Rows of the operator come times the square root of their weight in the data.
    """

    def __init__(self, op: Rows, pca: np.ndarray, loss: str):
        self.op = op
        self.counts = op.root_weights**2
        self.squares = self._by_blocks(np.zeros((op.n, 0)), np.zeros((op.p, 0)))
        lengths = self.lengths(op.forward(pca), pca)
        typical = float(weighted_median(lengths, self.counts))
        mean_square = float(self.counts @ lengths**2 / self.counts.sum())
        row = float(np.sqrt(self.squares.sum() / self.counts.sum()))
        sharp = SHARP * (typical if typical > 0 else np.sqrt(mean_square))
        self.cutoff = max(typical if loss == "huber" else 0.0, sharp, ROUNDED * row)

    def lengths(self, scores: np.ndarray, U: np.ndarray) -> np.ndarray:
        """Return the length of each row's residual from the subspace of U, shape (p, k), by its scores."""
        squares = self.squares - (scores**2).sum(axis=1)
        if (squares < CANCELLED * self.squares).any():
            squares = self._by_blocks(scores, U)
        return np.sqrt(np.divide(squares, self.counts, out=np.zeros(self.op.n), where=self.counts > 0))

    def _by_blocks(self, scores: np.ndarray, U: np.ndarray) -> np.ndarray:
        """Return the squared residuals, some variables at a time."""
        squares = np.zeros(self.op.n)
        for block in blocks(self.op.p, self.op.n, BLOCK):
            J = np.arange(self.op.p)[block]
            squares += ((self.op.values(J) - scores @ U[J].T) ** 2).sum(axis=1)
        return squares

    def mean_loss(self, U: np.ndarray) -> float:
        """Return the criterion: Huber's loss over the cutoff."""
        lengths, cutoff = self.lengths(self.op.forward(U), U), self.cutoff
        losses = np.where(lengths <= cutoff, 0.5 * lengths**2 / cutoff, lengths - 0.5 * cutoff)
        return float(self.counts @ losses / self.counts.sum())

    def covariance_times(self, U: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Return C U, C the covariance matrix under the weights of the residuals, and U'C U."""
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
