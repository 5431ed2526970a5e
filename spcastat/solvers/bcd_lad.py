"""Block coordinate descent for sparse reconstruction by absolute residuals.

Zhao, Meng, Xu and Gao (2015), "A block coordinate descent approach for sparse principal component analysis",
Neurocomputing 153, propose the criterion in their outlook and print no algorithm: blocks and start are ours.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from spcastat.kernels.least_absolute import least_absolute, weighted_median
from spcastat.kernels.orthonormal import orthonormalise
from spcastat.kernels.ties import first_max, ranked, top
from spcastat.operators import Operator, Rows
from spcastat.solvers.solver import JointSolver, Solution

#: Variables from which a component is begun: at most this many, those of the largest mean absolute values.
BEGUN = 50
#: Steps from each of them, and from the best.
TRIED, FOLLOWED = 3, 20
#: Loadings below this share of the largest are rounding of zero: medians of residuals that cancel.
ROUNDED = 1e-12


@dataclass(frozen=True)
class BCDLAD(JointSolver):
    """min |X - U V'|_1, the sum over all entries, over V, p x k, with `card` nonzeros in each column.

    bcd-l0 with absolute residuals in place of their squares: entries that are grossly wrong, and rows of
    such, are not followed. For one component with U fixed the loading of each variable is a weighted median,
    and those are kept by which the sum falls most: the exact minimum for a number of nonzeros. With V fixed
    U is a regression by least absolute residuals in each row, of all components together. No step raises
    the criterion. The first components are found one after another, each from the variable, among the 50
    of the largest mean absolute values, that leads to the lowest sum; nothing is drawn at random.

    Scores are projections, as of every method, and not U, and explained variance is that of the
    projections. Where all cardinalities are equal components come in the order of their mean absolute
    scores in U. A loading whose best value is zero stays zero ("card hit"): data of mostly equal values
    have such.

    Columns count by their mean absolute values: for variables in different units take ``scale=True``, or a
    robust scale. Rows are centred at their means by default; for robust ones give ``center=df.median()``.

    Attributes
    ----------
    card : tuple of int
        Nonzeros of each component.
    tol : float
        Converged when a sweep over the components lowers the criterion by no more than this share.
    max_iter : int
        Sweeps, at most.
    """

    card: tuple[int, ...]
    tol: float = 1e-10
    max_iter: int = 1000

    needs = "rows"
    criterion = "mean absolute residual of the entries"
    in_variance_units = False
    units = (("mean absolute score", 1), ("objective", 1))

    @property
    def own_order(self) -> bool:
        """The components come in the order of their mean absolute scores."""
        return True

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
    """The entries of the rows, each counted as often as its row, and steps that lower their residuals."""

    def __init__(self, op: Rows):
        kept = np.flatnonzero(op.root_weights)
        root = op.root_weights[kept]
        self.X = op.values(np.arange(op.p))[kept] / root[:, None]
        self.counts = root**2 / np.mean(root**2)

    def loss(self, residuals: np.ndarray) -> float:
        """Return the mean absolute residual."""
        return float(self.counts @ np.abs(residuals).mean(axis=1) / self.counts.sum())

    def begun(self, cards: tuple[int, ...]) -> tuple[np.ndarray, np.ndarray]:
        """Return U and V of components that were found one after another."""
        left, U, V = self.X, [], []
        for card in cards:
            ends = []
            for j in ranked(self.counts @ np.abs(left))[:BEGUN]:
                u = left[:, j]
                for _ in range(TRIED):
                    u, v = self.step(left, u, card)
                ends.append((self.loss(left - np.outer(u, v)), u))
            u = ends[first_max(-np.array([loss for loss, _ in ends]))][1]
            for _ in range(FOLLOWED):
                u, v = self.step(left, u, card)
            left = left - np.outer(u, v)
            U.append(u)
            V.append(v)
        return np.column_stack(U), np.column_stack(V)

    def step(self, left: np.ndarray, u: np.ndarray, card: int) -> tuple[np.ndarray, np.ndarray]:
        """Return scores and unit loadings of one component of what is `left` to it, v before u."""
        before = self.counts @ np.abs(left)
        v = _medians(left.T, u, self.counts)
        gains = before - self.counts @ np.abs(left - np.outer(u, v))
        v = np.where(top(gains, card) & (np.abs(v) > ROUNDED * np.abs(v).max()), v, 0.0)
        if not v.any():  # nothing is gained by these scores
            v[first_max(before)] = 1.0
        v /= np.linalg.norm(v)
        J = np.flatnonzero(v)
        return _medians(left[:, J], v[J], np.ones(J.size)), v

    def scores(self, U: np.ndarray, V: np.ndarray) -> np.ndarray:
        """Return the best scores for loadings V, of all components together."""
        J = np.flatnonzero(V.any(axis=1))
        if not orthonormalise(V)[0].any(axis=0).all():  # components that coincide
            return U
        best = least_absolute(V[J], self.X[:, J].T).T
        lost = [np.abs(self.X - one @ V.T).sum(axis=1, keepdims=True) for one in (U, best)]
        return np.where(lost[1] < lost[0], best, U)


def _medians(B: np.ndarray, a: np.ndarray, counts: np.ndarray) -> np.ndarray:
    """Return, for every row of B, shape (r, m), the number x that minimises counts'|row - x a|."""
    ratios = np.divide(B, a, out=np.zeros(B.shape), where=a != 0)
    return weighted_median(ratios, counts * np.abs(a))
