"""The generalised power method for all components together.

Journee, Nesterov, Richtarik and Sepulchre (2010), "Generalized power method for sparse principal component
analysis", Journal of Machine Learning Research: Algorithms 4 and 5, and the post-processing of section 4.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Literal

import numpy as np

from spcastat.errors import OptionError
from spcastat.kernels.thresholds import unit
from spcastat.kernels.ties import tie_width, top
from spcastat.operators import Operator
from spcastat.solvers.base import JointSolver, Solution
from spcastat.solvers.gpower import longest_column
from spcastat.solvers.penalised import BRACKET, BRACKET_FOUND

#: Directions whose share of the largest is below this are not orthonormalised but left out.
DEPENDENT = 1e-13


@dataclass(frozen=True, eq=False)
class _Run:
    """One run: the thresholded A'X, shape (p, k), the common relative penalty, and how it ended."""

    Z: np.ndarray
    penalty: float
    n_iter: int
    converged: bool
    objective: float

    @property
    def nonzeros(self) -> int:
        return int(np.count_nonzero(self.Z))

    @property
    def whole(self) -> bool:
        """Whether every component has a loading."""
        return bool(self.Z.any(axis=0).all())


@dataclass(frozen=True)
class GPowerBlock(JointSolver):
    """Maximise, over orthonormal X, a sum over variables i and components j.

    Its terms are [mu_j |a_i'x_j| - gamma_j]_+^2 ("l1") or [(mu_j a_i'x_j)^2 - gamma_j]_+ ("l0").

    The a_i are the columns of the data and X holds k orthonormal scores. Under "l1" the maximiser gives the
    supports alone, and the loadings are then fitted jointly on them (section 4 of the paper); under "l0" the
    loadings are A'X on the supports.

    Attributes
    ----------
    norm : {"l0", "l1"}
    card : tuple of int or None
        Their sum is the number of nonzeros of all components together, which one penalty common to all
        meets: a block method shares the nonzeros out by itself.
    penalty : tuple of float or None
        gamma_j of each component relative to its theoretical upper bound: in units of mu_j max_i |a_i| ("l1")
        or of mu_j^2 max_i |a_i|^2 ("l0"), from 0 up to below 1.
    mu : tuple of float or None
        Weights of the components, 1 by default; distinct ones such as 1, 1/2, 1/3 draw the components
        towards principal axes in that order.
    tol : float
        Converged when no entry of the k directions changes by more than this.
    max_iter : int
    """

    norm: Literal["l0", "l1"] = "l1"
    card: tuple[int, ...] | None = None
    penalty: tuple[float, ...] | None = None
    mu: tuple[float, ...] | None = None
    tol: float = 1e-8
    max_iter: int = 3000

    criterion = "adjusted variance"

    def solve(self, op: Operator, k: int, starts: np.ndarray) -> Solution:
        V = starts[0].T
        mu = np.ones(k) if self.mu is None else np.array(self.mu)
        if self.penalty is not None:
            run, searched = self._given(op, V, mu, np.array(self.penalty)), None
            penalties = list(self.penalty)
        else:
            assert self.card is not None
            total = sum(self.card)
            found = self._searched(op, V, mu, total)
            run = self._run(op, V, mu, None, total) if found is None else found
            searched, penalties = found is not None, [run.penalty] * k
        W, steps, settled = unit(run.Z), 0, True
        if self.norm == "l1":
            W, steps, settled = self._filled(op, W, mu)
        status = "converged" if run.converged and settled else "max_iter"
        value = float(op.score_basis(W)[0].sum())
        details: dict[str, Any] = {"penalty": penalties}
        if searched is not None:
            details["by penalty"] = [searched] * k
            details["card hit"] = [int(np.count_nonzero(W)) == total] * k
        return Solution(W, status, run.n_iter + steps, value, np.array([value]), details)

    def _given(self, op: Operator, V: np.ndarray, mu: np.ndarray, penalty: np.ndarray) -> _Run:
        run = self._run(op, V, mu, penalty, None)
        if run.whole:
            return run
        low, high = 0.0, 1.0  # the largest share of the given penalties that leaves no component empty
        while high - low > 1e-6:
            middle = 0.5 * (low + high)
            low, high = (
                (middle, high) if self._run(op, V, mu, middle * penalty, None).whole else (low, middle)
            )
        empty = np.flatnonzero(~run.Z.any(axis=0))
        raise OptionError(
            f"penalty={tuple(float(x) for x in penalty)} leaves no loading in component "
            f"{int(empty[0]) + 1}; the values must lie between {tuple(0.0 for _ in penalty)} and at most "
            f"{low:.4g} times those given, {tuple(round(float(low * x), 6) for x in penalty)}."
        )

    def _searched(self, op: Operator, V: np.ndarray, mu: np.ndarray, total: int) -> _Run | None:
        """Return the run at the smallest common penalty with `total` nonzeros, or None."""
        k = V.shape[1]
        best: _Run | None = None
        low, high = 0.0, 1.0
        run = self._run(op, V, mu, np.zeros(k), None)
        if run.nonzeros <= total:
            return run if run.nonzeros == total and run.whole else None
        while high - low > (BRACKET if best is None else BRACKET_FOUND):
            middle = 0.5 * (low + high)
            run = self._run(op, V, mu, np.full(k, middle), None)
            if run.whole and run.nonzeros > total:
                low = middle
            else:
                high = middle
                if run.whole and run.nonzeros == total:
                    best = run
        return best

    def _run(
        self, op: Operator, V: np.ndarray, mu: np.ndarray, penalty: np.ndarray | None, total: int | None
    ) -> _Run:
        """Iterate from the scores of `V`, with given penalties or with `total` nonzeros in every step."""
        longest = longest_column(op)
        power = 2 if self.norm == "l0" else 1
        W = V
        for step in range(1, self.max_iter + 1):
            Q = polar_products(op, W)
            size = np.abs(Q)
            if total is None:
                assert penalty is not None
                level = penalty ** (1.0 / power) * longest
                kept = size > level
            else:
                kept, cut = largest_entries(size, total)
                level = np.full(len(mu), cut)
            Z = np.where(kept, Q if self.norm == "l0" else np.sign(Q) * (size - level), 0.0)
            gain = Q**2 - level**2 if self.norm == "l0" else Z**2
            objective = float((mu**2 * np.where(kept, gain, 0.0)).sum())
            implied = float(level.max() / longest) ** power
            if not Z.any(axis=0).all():
                return _Run(Z, implied, step, True, objective)
            new = mu**2 * Z / np.linalg.norm(mu**2 * Z)
            change = float(np.abs(new - W).max())
            W = new
            if change <= self.tol:
                return _Run(Z, implied, step, True, objective)
        return _Run(Z, implied, self.max_iter, False, objective)

    def _filled(self, op: Operator, W: np.ndarray, mu: np.ndarray) -> tuple[np.ndarray, int, bool]:
        """Raise Tr(X'AWN) over orthonormal X and unit columns of W with the given supports, N = diag(mu)."""
        support = W != 0
        for step in range(1, self.max_iter + 1):
            new = unit(np.where(support, polar_products(op, W * mu), 0.0))
            new = np.where(new.any(axis=0), new, W)
            change = float(np.abs(new - W).max())
            W = new
            if change <= self.tol:
                return W, step, True
        return W, self.max_iter, False


def polar_products(op: Operator, W: np.ndarray) -> np.ndarray:
    """Return A'X, shape (p, k), for the orthonormal X nearest to A W: its polar factor.

    X = A W (W'SW)^(-1/2); directions in which the scores A W do not extend are left out.
    """
    SW = op.dot(W)
    M = W.T @ SW
    values, vectors = np.linalg.eigh(0.5 * (M + M.T))
    extends = values > DEPENDENT * values[-1]
    root = np.where(extends, 1.0 / np.sqrt(np.where(extends, values, 1.0)), 0.0)
    return np.asarray(SW @ ((vectors * root) @ vectors.T))


def largest_entries(size: np.ndarray, total: int) -> tuple[np.ndarray, float]:
    """Mark the largest entry of every column and the largest others, `total` in all.

    Returns the marks and the level below them: the largest entry that ties with none that is marked.
    """
    p, k = size.shape
    kept = top(size, 1)
    if total > k:
        rest = np.where(kept, -np.inf, size).T.ravel()  # one component after another: ties go to the first
        kept |= top(rest, total - k).reshape(k, p).T
    smallest = size[kept].min()
    below = size[~kept & (size < smallest - tie_width(smallest, size.max()))]
    return kept, float(below.max()) if below.size else 0.0
