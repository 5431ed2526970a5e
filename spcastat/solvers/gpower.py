"""The generalised power method, for one component at a time or for all components together.

Journee, Nesterov, Richtarik and Sepulchre (2010), "Generalized power method for sparse principal component
analysis", Journal of Machine Learning Research: Algorithms 2 to 5, and the post-processing of section 4.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any, Literal

import numpy as np

from spcastat.errors import OptionError
from spcastat.linalg.eigenvectors import RELATIVE, levelled, symmetric, top, unit
from spcastat.linalg.operators import Operator
from spcastat.linalg.thresholds import largest_below, level_for, soft_at
from spcastat.solvers.penalised import BRACKET, BRACKET_FOUND, LevelThreshold, Run, renormalised
from spcastat.solvers.solver import Component, JointSolver, Solution


@dataclass(frozen=True)
class GPower(LevelThreshold):
    """max sum_i [|a_i'x| - gamma]_+^2 ("l1") or sum_i [(a_i'x)^2 - gamma]_+ ("l0") over unit x.

    The a_i are the columns of the data. The maximiser determines the support; the loadings are the leading
    eigenvector on it.

    Attributes
    ----------
    norm : {"l0", "l1"}
    card : tuple of int or None
    penalty : tuple of float or None
        gamma relative to its theoretical upper bound, as in the authors' program: in units of max_i |a_i|
        ("l1") or of max_i |a_i|^2 ("l0"), where the a_i are columns of the deflated data; in [0, 1).
    deflation : str
        "projection" as in the authors' program: A - (A z) z'.
    """

    norm: Literal["l0", "l1"] = "l1"
    deflation: str = "projection"

    first_start = "column"
    units = JointSolver.units  # the penalty has no unit

    def level(self, view: Operator, penalty: float) -> float:
        return float(np.sqrt(penalty) if self.norm == "l0" else penalty) * longest_column(view)

    def penalty_of(self, view: Operator, level: float) -> float:
        share = level / longest_column(view)
        return share**2 if self.norm == "l0" else share

    def finished(self, view: Operator, run: Run, details: dict[str, Any]) -> Component:
        v, raw = renormalised(view, run.v)
        return super().finished(view, replace(run, v=v, raw=raw), details)


def longest_column(view: Operator) -> float:
    """Return max_i |a_i|, the largest standard deviation of the deflated data."""
    return float(np.sqrt(max(view.diagonal().max(), np.finfo(float).tiny)))


@dataclass(frozen=True, eq=False)
class _PowerIteration:
    """One run: the thresholded A'X, shape (p, k), relative penalties, shape (k,), and its status."""

    Z: np.ndarray
    penalty: np.ndarray
    n_iter: int
    converged: bool


@dataclass(frozen=True)
class GPowerBlock(JointSolver):
    """Maximise, over orthonormal X, a sum over variables i and components j.

    The terms are [mu_j |a_i'x_j| - gamma_j]_+^2 ("l1") or [(mu_j a_i'x_j)^2 - gamma_j]_+ ("l0").

    The a_i are the columns of the data, and the columns of X are k orthonormal scores. With "l1", the
    maximiser determines only the supports, and the loadings are then fitted jointly on these supports
    (section 4 of the paper). With "l0", the loadings are A'X on the supports.

    Attributes
    ----------
    norm : {"l0", "l1"}
    card : tuple of int or None
        Nonzeros of each component: every step thresholds each component at its own (card + 1)-th largest
        value. The implied penalties are reported. If the method with these penalties gives the same supports,
        "by penalty" is true and the fit with the penalties is returned.
    total : int or None
        Nonzeros of all components together, obtained with one common penalty: the method distributes them
        over the components.
    penalty : tuple of float or None
        gamma_j of each component relative to its theoretical upper bound: in units of mu_j max_i |a_i| ("l1")
        or of mu_j^2 max_i |a_i|^2 ("l0"), in [0, 1).
    mu : tuple of float or None
        Weights of the components, 1 by default. Distinct weights such as 1, 1/2, 1/3 pull the components
        towards the principal axes in that order.
    tol : float
        Converged when no entry of the k directions changes by more than this.
    max_iter : int
    """

    norm: Literal["l0", "l1"] = "l1"
    card: tuple[int, ...] | None = None
    total: int | None = None
    penalty: tuple[float, ...] | None = None
    mu: tuple[float, ...] | None = None
    tol: float = 1e-8
    max_iter: int = 3000

    uses_starts = True
    at_once = False
    compares_penalties = False
    criterion = "adjusted variance"

    def solve(self, op: Operator, k: int, starts: np.ndarray, rng: np.random.Generator) -> Solution:
        V = starts[0].T
        mu = np.ones(k) if self.mu is None else np.array(self.mu)
        searched = False
        if self.penalty is not None:
            run = self._at_penalty(op, V, mu, np.array(self.penalty))
        elif self.card is not None:
            run = self._run(op, V, mu)
            # a margin for rounding: penalties implied by a cardinality are increased by a share of 1e-9
            run_at_penalty = self._run(op, V, mu, run.penalty * (1.0 + 1e-9))
            searched = run_at_penalty.converged and bool(((run_at_penalty.Z != 0) == (run.Z != 0)).all())
            run = run_at_penalty if searched else run
        else:
            assert self.total is not None
            common = self._searched(op, V, mu, self.total)
            searched = common is not None
            run = self._run(op, V, mu) if common is None else common
        W, steps, settled = unit(run.Z), 0, True
        if self.norm == "l1":
            W, steps, settled = self._filled(op, W, mu)
        status = "converged" if run.converged and settled else "max_iter"
        value = float(op.score_basis(W)[0].sum())
        details: dict[str, Any] = {"penalty": [float(value_of_penalty) for value_of_penalty in run.penalty]}
        if self.penalty is None:
            details["by penalty"] = [searched] * k
        if self.total is not None:
            details["total hit"] = [int(np.count_nonzero(W)) == self.total] * k
        return Solution(W, status, run.n_iter + steps, value, np.array([value]), details)

    @property
    def _power(self) -> int:
        """The power of the relative threshold that gives the penalty in the paper's units."""
        return 2 if self.norm == "l0" else 1

    def _at_penalty(
        self, op: Operator, V: np.ndarray, mu: np.ndarray, penalty: np.ndarray
    ) -> _PowerIteration:
        run = self._run(op, V, mu, penalty)
        if run.Z.any(axis=0).all():
            return run
        empty = ~run.Z.any(axis=0)
        j = int(empty.argmax())
        trial = np.where(empty, 0.0, penalty)  # components without loadings are found one after another

        def has_loadings(value: float) -> bool:
            trial[j] = value
            return bool(self._run(op, V, mu, trial).Z[:, j].any())

        low = high = float(penalty[j])  # a bracket of the largest possible penalty of component j
        while low > 1e-9 and not has_loadings(low):
            low, high = 0.5 * low, low
        while high - low > 1e-3 * high:
            middle = 0.5 * (low + high)
            low, high = (middle, high) if has_loadings(middle) else (low, middle)
        raise OptionError(
            f"penalty={[float(x) for x in penalty]} leaves no nonzero loading in component {j + 1}; give "
            f"{0.99 * low:.3g} or less for this component."
        )

    def _searched(self, op: Operator, V: np.ndarray, mu: np.ndarray, total: int) -> _PowerIteration | None:
        """Return the run at the smallest common penalty that gives `total` nonzeros, or None."""
        k = V.shape[1]
        best_run: _PowerIteration | None = None
        low, high = 0.0, 1.0
        run = self._run(op, V, mu, np.zeros(k))
        nonzeros = np.count_nonzero(run.Z)
        if nonzeros <= total:
            return run if nonzeros == total and run.Z.any(axis=0).all() else None
        while high - low > (BRACKET if best_run is None else BRACKET_FOUND):
            middle = 0.5 * (low + high)
            run = self._run(op, V, mu, np.full(k, middle))
            is_complete, nonzeros = run.Z.any(axis=0).all(), np.count_nonzero(run.Z)
            if is_complete and nonzeros > total:
                low = middle
            else:
                high = middle
                if is_complete and nonzeros == total:
                    best_run = run
        return best_run

    def _run(
        self, op: Operator, V: np.ndarray, mu: np.ndarray, penalty: np.ndarray | None = None
    ) -> _PowerIteration:
        """Iterate from the scores of `V`, with penalties, shape (k,), or with the cardinalities."""
        longest = longest_column(op)
        W = V
        for step in range(1, self.max_iter + 1):
            Q = levelled(polar_products(op, W), RELATIVE)
            size = np.abs(Q)
            if penalty is not None:
                level = penalty ** (1.0 / self._power) * longest
                marks = size > level
            else:
                marks, level = self._largest(size)
            Z = np.where(marks, Q if self.norm == "l0" else soft_at(Q, level), 0.0)
            implied = (level / longest) ** self._power
            if not Z.any(axis=0).all():
                return _PowerIteration(Z, implied, step, True)
            updated = mu**2 * Z / np.linalg.norm(mu**2 * Z)
            change = float(np.abs(updated - W).max())
            W = updated
            if change <= self.tol:
                return _PowerIteration(Z, implied, step, True)
        return _PowerIteration(Z, implied, self.max_iter, False)

    def _largest(self, size: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Return a mask of the entries that the cardinalities keep, and the threshold of each column."""
        if self.card is None:
            assert self.total is not None
            marks, common = largest_entries(size, self.total)
            return marks, np.full(size.shape[1], common)
        levels = [level_for(q, card) for q, card in zip(size.T, self.card, strict=True)]
        marks = np.column_stack([marks for marks, _ in levels]) & (size > 0)
        return marks, np.array([level for _, level in levels])

    def _filled(self, op: Operator, W: np.ndarray, mu: np.ndarray) -> tuple[np.ndarray, int, bool]:
        """Maximise tr(X'AWN) over orthonormal X and unit columns of W on their supports, N = diag(mu)."""
        support = W != 0
        for step in range(1, self.max_iter + 1):
            updated = unit(np.where(support, polar_products(op, W * mu), 0.0))
            updated = np.where(updated.any(axis=0), updated, W)
            change = float(np.abs(updated - W).max())
            W = updated
            if change <= self.tol:
                return W, step, True
        return W, self.max_iter, False


def polar_products(op: Operator, W: np.ndarray) -> np.ndarray:
    """Return A'X, shape (p, k), for the orthonormal X nearest to A W, which is its polar factor.

    X = A W (W'SW)^(-1/2); directions in which the scores A W have no variance are dropped.
    """
    SW = op.dot(W)
    M = W.T @ SW
    values, vectors = np.linalg.eigh(symmetric(M))
    # directions with an eigenvalue below 1e-10 of the largest are dropped
    extends = values > 1e-10 * values[-1]
    root = np.where(extends, 1.0 / np.sqrt(np.where(extends, values, 1.0)), 0.0)
    return np.asarray(SW @ ((vectors * root) @ vectors.T))


def largest_entries(size: np.ndarray, total: int) -> tuple[np.ndarray, float]:
    """Mark the largest entry of every column and the largest other entries, `total` in all.

    Returns the mask of marked entries and the threshold: the largest unmarked entry that is not tied with a
    marked entry.
    """
    p, k = size.shape
    marks = top(size, 1)
    if total > k:
        remainder = np.where(marks, -np.inf, size).T.ravel()  # by column: the first of ties is marked
        marks |= top(remainder, total - k).reshape(k, p).T
    return marks, largest_below(size, marks)
