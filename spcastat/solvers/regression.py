"""Sparse PCA by regression: SPCA of Zou, Hastie and Tibshirani, optimal scoring, and sparse coordinates.

SPCA: Zou, Hastie and Tibshirani (2006), "Sparse principal component analysis", Journal of Computational and
Graphical Statistics 15: Algorithm 1 and section 4. Optimal scoring (sPCA-OS) and sparse coordinates (SPCO):
Dou, Dai, Xu and Zhang, "Sparse unsupervised dimensionality reduction algorithms": Algorithm 1, with
Y = Psi Phi' in step 3, and Algorithm 2.
"""

from __future__ import annotations

from abc import abstractmethod
from dataclasses import dataclass, replace
from typing import ClassVar

import numpy as np

from spcastat.errors import OptionError
from spcastat.linalg.eigenvectors import ranked, symmetric, top_eigh, unit
from spcastat.linalg.operators import Operator, Rows
from spcastat.linalg.regression import Columns, elastic_net
from spcastat.linalg.thresholds import level_for, soft_at
from spcastat.solvers.solver import JointSolver, Solution

# --- sparse coordinates ---------------------------------------------------------------------------


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
        """Return the result in the units of the data, if it was computed from the data divided by `unit`."""
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
        penalty that gives this share.
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
                level = quantile(np.abs(T), self.zeros, root[used] ** 2)
            Z = soft_at(T, level) / (1.0 + self.ridge) + 0.0  # no -0
            terms = 0.5 * ((1.0 + self.ridge) * Z**2 - 2.0 * T * Z) + level * np.abs(Z)
            values.append(0.5 * op.total + float(root[used] ** 2 @ terms.sum(axis=1)))
            weighted = np.zeros((op.n, k))
            weighted[used] = root[used, None] * Z
            M = op.adjoint(weighted)
            empty = ~Z.any(axis=0)
            M[:, empty] = 0.0
            previous_A, A = A, procrustes(M, A)
            converged = bool(np.abs(A - previous_A).max() <= self.tol)
        if self.zeros is not None:
            level = quantile(np.abs(op.forward(A)[used] / root[used, None]), self.zeros, root[used] ** 2)
        order = ranked(np.diag(op.products(unit(A))))
        return Coordinates(A[:, order], np.full(k, float(level)), values[-1], values, len(values), converged)


def quantile(size: np.ndarray, share: float, weights: np.ndarray) -> float:
    """Return the smallest threshold, up to rounding, for which at least `share` of the values become zero.

    Parameters
    ----------
    size : ndarray of shape (n, k)
    share : float in [0, 1)
    weights : ndarray of shape (n,)
        The weights of the rows.
    """
    if share == 0.0:
        return 0.0
    order = np.argsort(size, axis=None, kind="stable")
    counts = np.cumsum(np.repeat(weights, size.shape[1])[order])
    position = np.argmax(counts >= (share - 1e-12) * counts[-1])
    return float(size.ravel()[order[position]]) * (1.0 + 1e-12)


def procrustes(M: np.ndarray, previous_A: np.ndarray) -> np.ndarray:
    """Return the orthonormal A that maximises tr(A'M), or among several the closest to `previous_A`."""
    left_vectors, size, right_vectors = np.linalg.svd(M, full_matrices=False)
    if size[-1] > 1e-12 * size[0]:
        return np.asarray(left_vectors @ right_vectors)
    if size[0] == 0:
        return previous_A
    full = size > 1e-12 * size[0]
    determined_part = left_vectors[:, full] @ right_vectors[full]
    complement = previous_A - left_vectors[:, full] @ (left_vectors[:, full].T @ previous_A)
    u, _, v = np.linalg.svd(complement @ right_vectors[~full].T, full_matrices=False)
    return np.asarray(determined_part + u @ v @ right_vectors[~full])


# --- sparse loadings ------------------------------------------------------------------------------


@dataclass(frozen=True)
class RegressionSolver(JointSolver):
    """Base class of both methods, which alternate elastic net regressions with updates of the targets.

    Attributes
    ----------
    card : tuple of int or None
        Nonzeros of each component: each elastic net path is followed to the smallest penalty before another
        variable would enter. The penalties of the last sweep are reported.
    penalty : tuple of float or None
        The l1 penalty of each component, in units of a variance ("zou") or of a standard deviation
        ("spca-os").
    ridge : float or None
        The l2 penalty, in units of the mean variance of the variables (for a correlation matrix these
        are the paper's units). Infinity is the limit in which the elastic net becomes soft thresholding, as
        Zou et al. advise for more variables than rows. None means 1e-6, which is practically the lasso, if S
        has full rank, and infinity otherwise (also above 3000 variables, where the rank is not checked).
    tol : float
        Converged when a sweep changes no unit-length loading by more than this.
    max_iter : int
        The largest number of sweeps.
    """

    card: tuple[int, ...] | None = None
    penalty: tuple[float, ...] | None = None
    ridge: float | None = None
    tol: float = 1e-8
    max_iter: int = 5000

    uses_starts = True
    at_once = False
    compares_penalties = False

    #: The l1 penalty of the criterion, divided by the l1 penalty of an elastic net with a factor 1/2 for the
    #: squares.
    factor: ClassVar[float]

    @abstractmethod
    def first_targets(self, op: Operator, V: np.ndarray) -> np.ndarray:
        """Return X'Y, shape (p, k), for PCA's loadings `V`, shape (p, k)."""

    @abstractmethod
    def targets(
        self, op: Operator, W: np.ndarray, SW: np.ndarray, A: np.ndarray
    ) -> tuple[np.ndarray, np.ndarray]:
        """Return X'Y, shape (p, k), for the best targets Y given loadings W (Procrustes problem), and A.

        If the rotation is not unique, the rotation closest to the last A is used.
        """

    @abstractmethod
    def value(self, total: float, W: np.ndarray, SW: np.ndarray, B: np.ndarray, ridge: float) -> float:
        """Return the criterion for loadings W and targets with X'Y = B, without the l1 term."""

    def solve(self, op: Operator, k: int, starts: np.ndarray, rng: np.random.Generator) -> Solution:
        share = (1e-6 if _full_rank(op) else np.inf) if self.ridge is None else self.ridge
        ridge = share * op.total / op.p
        columns = Columns(op.columns, op.p)
        A = starts[0].T
        B = self.first_targets(op, A)
        W = np.zeros((op.p, k))
        levels = np.zeros(k)
        V, converged, sweep = unit(starts[0].T), False, 0
        while not converged and sweep < self.max_iter:
            sweep += 1
            for j in range(k):
                W[:, j], levels[j] = self._loadings(columns, B[:, j], ridge, W[:, j], j)
                if not W[:, j].any():
                    size = self.factor * op.unit ** dict(self.units)["penalty"]
                    raise OptionError(
                        f"penalty={size * levels[j]:g} leaves no nonzero loading in component {j + 1}; give "
                        f"a value in [0, {size * float(np.abs(B[:, j]).max()):g}) for this component."
                    )
            previous_V, V = V, unit(W)
            SW = op.dot(W)
            converged = bool(np.abs(V - previous_V).max() <= self.tol)
            if not converged:
                B, A = self.targets(op, W, SW, A)
        penalties = self.factor * levels
        value = self.value(op.total, W, SW, B, ridge) + float(penalties @ np.abs(W).sum(axis=0))
        details = {"penalty": [float(penalty) for penalty in penalties]}
        return Solution(V, "converged" if converged else "max_iter", sweep, value, np.array([value]), details)

    def _loadings(
        self, columns: Columns, b: np.ndarray, ridge: float, start: np.ndarray, j: int
    ) -> tuple[np.ndarray, float]:
        card = None if self.card is None else self.card[j]
        level = 0.0 if self.penalty is None else self.penalty[j] / self.factor
        if np.isfinite(ridge):
            w, level = elastic_net(columns, b, ridge, start, penalty=level, card=card)
        elif card is None:
            w = soft_at(b, level)
        else:
            marks, level = level_for(b, card)
            w = np.where(marks, soft_at(b, level), 0.0)
        return w, level


@dataclass(frozen=True)
class Zou(RegressionSolver):
    """min |X - X W A'|^2 + ridge |W|^2 + sum_j penalty_j |w_j|_1 with A'A = I, in variance units.

    See `RegressionSolver` for the options.
    """

    factor = 2.0
    criterion = "penalised residual variance |X - XWA'|^2 / (n - 1)"
    units = (("penalty", 2), ("objective", 2))

    def first_targets(self, op: Operator, V: np.ndarray) -> np.ndarray:
        return op.dot(V)

    def targets(
        self, op: Operator, W: np.ndarray, SW: np.ndarray, A: np.ndarray
    ) -> tuple[np.ndarray, np.ndarray]:
        A = procrustes(SW, A)
        return op.dot(A), A

    def value(self, total: float, W: np.ndarray, SW: np.ndarray, B: np.ndarray, ridge: float) -> float:
        if np.isfinite(ridge):
            return total + float((W * (SW + ridge * W - 2.0 * B)).sum())
        return total + float((W * (W - 2.0 * B)).sum())


@dataclass(frozen=True)
class OptimalScoring(RegressionSolver):
    """min |Y - XW|^2 / 2 + ridge |W|^2 / 2 + sum_j penalty_j |w_j|_1 with Y'Y = I.

    X is scaled so that X'X = S, and the penalties are therefore in units of a standard deviation. See
    `RegressionSolver` for the other options.

    Attributes
    ----------
    ridge : float
        The paper's delta^2, in units of the mean variance of the variables. It makes directions of large
        variance optimal; without it, every direction in the span of X fits perfectly.
    """

    ridge: float = 1.0

    factor = 1.0
    criterion = "penalised residual |Y - XW|^2 / 2 of the scoring"
    in_variance_units = False
    units = (("penalty", 1),)

    def first_targets(self, op: Operator, V: np.ndarray) -> np.ndarray:
        SV = op.dot(V)
        return np.asarray(SV / np.sqrt(np.einsum("ij,ij->j", V, SV)))

    def targets(
        self, op: Operator, W: np.ndarray, SW: np.ndarray, A: np.ndarray
    ) -> tuple[np.ndarray, np.ndarray]:
        C = W.T @ SW
        values, vectors = top_eigh(symmetric(C), C.shape[0])
        basis = values > 1e-10 * values[0]  # directions of the scores with smaller values are dropped
        return np.asarray(SW @ (vectors[:, basis] / np.sqrt(values[basis])) @ vectors[:, basis].T), A

    def value(self, total: float, W: np.ndarray, SW: np.ndarray, B: np.ndarray, ridge: float) -> float:
        quadratic = SW + ridge * W if np.isfinite(ridge) else W
        return 0.5 * W.shape[1] + float((W * (0.5 * quadratic - B)).sum())


def _full_rank(op: Operator) -> bool:
    """Return whether the smallest eigenvalue of S exceeds rounding; False for more than 3000 variables."""
    if op.rank_limit < op.p or op.p > 3000:
        return False
    S = op.block(np.arange(op.p))
    try:
        np.linalg.cholesky(symmetric(S) - 1e-10 * op.total / op.p * np.eye(op.p))
    except np.linalg.LinAlgError:
        return False
    return True
