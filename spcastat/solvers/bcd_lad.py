"""Block coordinate descent for sparse PCA with absolute residuals.

Zhao, Meng, Xu and Gao (2015), "A block coordinate descent approach for sparse principal component analysis",
Neurocomputing 153, propose the criterion in their outlook without an algorithm; the blocks and the starting
values are choices of this package.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from spcastat.kernels.least_absolute import least_absolute, weighted_median
from spcastat.kernels.orthonormal import orthonormalise
from spcastat.kernels.ties import first_max, ranked, top
from spcastat.operators import Operator, Rows
from spcastat.solvers.solver import JointSolver, Solution


@dataclass(frozen=True)
class BCDLAD(JointSolver):
    """min |X - U V'|_1, the sum over all entries, over V, p x k, with `card` nonzeros in each column.

    This is bcd-l0 with absolute instead of squared residuals, so that single outlying entries, and rows of
    them, have little influence. For one component with U fixed, the loading of each variable is a weighted
    median, and the loadings that reduce the sum most are kept: the exact minimum for a given number of
    nonzeros. With V fixed, each row of U is a least absolute deviations regression on all components. No
    step increases the criterion. The starting components are found one after another, each from the
    variable, among the 50 with the largest mean absolute values, that leads to the smallest sum. Nothing
    is random.

    As for every method, scores are projections (not U), and explained variance is that of the projections.
    If all cardinalities are equal, components are ordered by their mean absolute scores in U. A loading
    whose optimal value is zero stays zero ("card hit"), which happens if most values are equal.

    Variables are weighted by their mean absolute values: use ``scale=True`` or a robust scale for variables
    in different units. Columns are centred at their means by default; ``center=df.median()`` is robust.

    Attributes
    ----------
    card : tuple of int
        Nonzeros of each component.
    tol : float
        Converged when a sweep over the components reduces the criterion by at most this share.
    max_iter : int
        The largest number of sweeps.
    """

    card: tuple[int, ...]
    tol: float = 1e-10
    max_iter: int = 1000

    needs = "rows"
    criterion = "mean absolute residual of the entries"
    in_variance_units = False
    own_order = True  # mean absolute scores
    units = (("mean absolute score", 1), ("objective", 1))

    def solve(self, op: Operator, k: int, starts: np.ndarray, rng: np.random.Generator) -> Solution:
        assert isinstance(op, Rows)
        blocks = _Blocks(op)
        U, V = blocks.begun(self.card)
        status, value, sweep = "max_iter", np.inf, 0
        while sweep < self.max_iter and status == "max_iter":
            for c, card in enumerate(self.card):
                left = blocks.X - np.delete(U, c, axis=1) @ np.delete(V, c, axis=1).T
                U[:, c], V[:, c] = blocks.step(left, U[:, c], card)
            U = blocks.scores(U, V)
            before, value, sweep = value, blocks.loss(blocks.X - U @ V.T), sweep + 1
            if before - value <= self.tol * value:
                status = "converged"
        sizes = blocks.counts @ np.abs(U) / blocks.counts.sum()
        order = ranked(sizes) if len(set(self.card)) == 1 else np.arange(k)
        details = {"mean absolute score": sizes[order].tolist()}
        return Solution(V[:, order], status, sweep, value, np.array([value]), details)


class _Blocks:
    """The data, with the weights of rows, and steps that reduce the absolute residuals."""

    def __init__(self, op: Rows):
        kept = np.flatnonzero(op.root_weights)
        root = op.root_weights[kept]
        self.X = op.values(np.arange(op.p))[kept] / root[:, None]
        self.counts = root**2 / np.mean(root**2)

    def loss(self, residuals: np.ndarray) -> float:
        """Return the mean absolute residual."""
        return float(self.counts @ np.abs(residuals).mean(axis=1) / self.counts.sum())

    def begun(self, cards: tuple[int, ...]) -> tuple[np.ndarray, np.ndarray]:
        """Return starting values of U and V, found one component after another."""
        left, U, V = self.X, [], []
        for card in cards:
            ends = []
            for j in ranked(self.counts @ np.abs(left))[:50]:
                u = left[:, j]
                # three iterations from each starting variable
                for _ in range(3):
                    u, v = self.step(left, u, card)
                ends.append((self.loss(left - np.outer(u, v)), u))
            u = ends[first_max(-np.array([loss for loss, _ in ends]))][1]
            for _ in range(20):
                u, v = self.step(left, u, card)
            left = left - np.outer(u, v)
            U.append(u)
            V.append(v)
        return np.column_stack(U), np.column_stack(V)

    def step(self, left: np.ndarray, u: np.ndarray, card: int) -> tuple[np.ndarray, np.ndarray]:
        """Update unit loadings, then scores, of one component, given the residuals `left` of the others."""
        before = self.counts @ np.abs(left)
        v = _medians(left.T, u, self.counts)
        gains = before - self.counts @ np.abs(left - np.outer(u, v))
        # loadings below 1e-12 of the largest are rounding errors of zero
        v = np.where(top(gains, card) & (np.abs(v) > 1e-12 * np.abs(v).max()), v, 0.0)
        if not v.any():  # no loading reduces the residuals
            v[first_max(before)] = 1.0
        v /= np.linalg.norm(v)
        J = np.flatnonzero(v)
        return _medians(left[:, J], v[J], np.ones(J.size)), v

    def scores(self, U: np.ndarray, V: np.ndarray) -> np.ndarray:
        """Return the best scores of all components together for loadings V."""
        J = np.flatnonzero(V.any(axis=1))
        if not orthonormalise(V)[0].any(axis=0).all():  # linearly dependent loadings
            return U
        best = least_absolute(V[J], self.X[:, J].T).T
        lost = [np.abs(self.X - one @ V.T).sum(axis=1, keepdims=True) for one in (U, best)]
        return np.where(lost[1] < lost[0], best, U)


def _medians(B: np.ndarray, a: np.ndarray, counts: np.ndarray) -> np.ndarray:
    """Return, for every row of B, shape (r, m), the number x that minimises counts'|row - x a|."""
    ratios = np.divide(B, a, out=np.zeros(B.shape), where=a != 0)
    return weighted_median(ratios, counts * np.abs(a))
