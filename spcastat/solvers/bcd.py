"""Block coordinate descent for sparse and nonnegative components, by least squares or absolute deviations.

Zhao, Meng, Xu and Gao (2015), "A block coordinate descent approach for sparse principal component analysis",
Neurocomputing 153: Algorithms 1 and 2, Theorems 1 to 3 and 5. The criterion of absolute deviations is
proposed in their outlook without an algorithm; its blocks and starting values are choices of this package.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import partial
from typing import Literal

import numpy as np

from spcastat.linalg.eigenvectors import orthonormalise
from spcastat.linalg.operators import Operator, Rows
from spcastat.linalg.regression import least_absolute, weighted_median
from spcastat.linalg.ties import better_signs, first_max, hard, l1_bounded, positive_part, ranked, soft, top
from spcastat.progress import Advance, stage
from spcastat.solvers.solver import JointSolver, Solution
from spcastat.solvers.thresholding import explained, fitted

# --- least squares --------------------------------------------------------------------------------


Update = Callable[[np.ndarray], np.ndarray]

#: Number of consecutive sweeps without a change after which a start has converged.
QUIET_SWEEPS = 3


@dataclass(frozen=True)
class BCD(JointSolver):
    """min ||X - U V'||_F^2 over sparse unit columns of V, by updates of one column of V and U at a time.

    Attributes
    ----------
    norm : {"l0", "l1"}
        Whether the number of nonzeros or the l1 norm of each column of V is bounded.
    card : tuple of int or None
        The largest number of nonzeros of each component. With "l1" the norm bound is chosen in every update
        to give the cardinality. The criterion may then increase at times, and the result has the loadings of
        the sweep with the smallest residual variance (with the best U for them).
    t : tuple of float or None
        Bounds on the l1 norms, each in [1, sqrt(p)] ("l1" only).
    nonneg : bool
        Whether loadings must be nonnegative (Algorithm 2).
    tol : float
        Converged when each of three consecutive sweeps changes the criterion by at most this share of the
        total variance, or, with "l1" and `card`, after 500 sweeps without better loadings. (A single sweep
        without change may be a turning point if the criterion is not monotone.)
    max_iter : int
        Largest number of sweeps over all components, which `n_iter` counts. With "l0" the loadings of a
        converged fit are then solved for exactly on their supports.
    accelerate : bool
        Whether to alternate sweeps with quasi-Newton steps on the supports once the supports stop changing
        ("l0" only). This saves sweeps if they converge slowly. It is not part of the published algorithm,
        and the fit may have other supports.
    """

    norm: Literal["l0", "l1"] = "l0"
    card: tuple[int, ...] | None = None
    t: tuple[float, ...] | None = None
    nonneg: bool = False
    tol: float = 1e-7
    max_iter: int = 5000
    accelerate: bool = False

    criterion = "residual variance |X - UV'|^2 / (n - 1)"
    measured_by_pca = False
    uses_starts = True

    @property
    def n_init(self) -> int:  # type: ignore[override]
        """One start, PCA's loadings; with "l1" and `card` also their varimax rotation.

        From PCA's loadings alone that iteration often stops at a support that is not the best: on Hastie's
        data (n = 1000) in 15 of 40 data sets, and with both starts in none.
        """
        return 2 if self.norm == "l1" and self.t is None else 1

    @property
    def screenable(self) -> bool:  # type: ignore[override]
        return self.norm == "l0" and self.card is not None and not self.nonneg

    def updates(self) -> list[Update]:
        """Return one closed-form update of a loading vector for each component."""
        if self.t is not None:
            rules: list[Update] = [partial(l1_bounded, bound=bound) for bound in self.t]
        else:
            rule = hard if self.norm == "l0" else soft
            rules = [partial(rule, card=card) for card in self.card or ()]
        if self.nonneg:
            return [lambda W, rule=rule: rule(positive_part(W)) for rule in rules]  # type: ignore[misc]
        return rules

    def solve(self, op: Operator, k: int, starts: np.ndarray, rng: np.random.Generator) -> Solution:
        with stage("block coordinate descent", unit="sweeps") as advance:
            return self._descend(op, k, starts, advance)

    def _descend(self, op: Operator, k: int, starts: np.ndarray, advance: Advance) -> Solution:
        updates = self.updates()
        floor = 1e-14 * float(op.diagonal().max())  # smaller residuals are rounding
        V = np.array(starts)
        if self.nonneg:
            V *= better_signs(V, 2)
        may_rise = self.norm == "l1" and self.t is None
        state = _State(op, V, may_rise)
        n_starts = len(V)
        running = np.arange(n_starts)
        found = np.empty_like(V)
        value = np.full(n_starts, np.inf)
        sweeps = np.zeros(n_starts, dtype=int)
        quiet = np.zeros(n_starts, dtype=int)
        leader = np.arange(n_starts)
        steady = np.zeros(n_starts, dtype=int)
        lowest, passed = np.full(n_starts, np.inf), np.empty_like(V)
        bettered = np.zeros(n_starts, dtype=int)
        for sweep in range(1, self.max_iter + 1):
            if self.accelerate:
                self._lower(state, steady, quiet[running])
            before = state.V != 0
            for i in range(k):
                state.update(i, updates[i], floor)
            advance(1)
            steady = np.where((before == (state.V != 0)).all(axis=(1, 2)), steady + 1, 0)
            new = state.criterion()
            if may_rise:
                left = state.residual()
                lower = left < lowest[running] - 1e-13 * op.total  # else it is rounding
                lowest[running[lower]], passed[running[lower]] = left[lower], state.V[lower]
                bettered[running[lower]] = sweep
            change = np.abs(value[running] - new)
            quiet[running] = np.where(change <= self.tol * op.total, quiet[running] + 1, 0)
            if may_rise:
                quiet[running[sweep - bettered[running] >= 500]] = QUIET_SWEEPS
            value[running] = new
            sweeps[running] = sweep
            still = (quiet[running] < QUIET_SWEEPS) & (sweep < self.max_iter)
            found[running[~still]] = state.V[~still]
            if sweep % 5 == 0:  # merge starts with the same loadings
                for this, other in _with_same_loadings(state.V, new, still, self.tol * op.total):
                    leader[running[this]] = running[other]
                    still[this] = False
            state.keep(still)
            running, steady = running[still], steady[still]
            if running.size == 0:
                break
        if may_rise:
            found, value = passed, lowest
        for start in range(n_starts):  # a merged start has an earlier one as its leader
            if leader[start] == start:
                if self.norm == "l0" and quiet[start] >= QUIET_SWEEPS:
                    found[start], value[start] = self._finished(op, found[start], value[start])
            else:
                first = leader[start] = leader[leader[start]]
                found[start], value[start] = found[first], value[first]
                sweeps[start], quiet[start] = sweeps[first], quiet[first]
        best = int(np.flatnonzero(value <= value.min() + self.tol * op.total)[0])
        status = "converged" if quiet[best] >= QUIET_SWEEPS else "max_iter"
        return Solution(found[best].T, status, int(sweeps[best]), float(value[best]), value, candidates=found)

    def _lower(self, state: _State, steady: np.ndarray, quiet: np.ndarray) -> None:
        """Improve loadings and scores of starts whose supports have not changed for five sweeps.

        On fixed supports sweeps would be slow. The next sweeps still decide on the supports and on
        convergence.
        """
        for start in np.flatnonzero((steady >= 5) & (quiet == 0)):
            better = fitted(state.op, state.V[start].T, self.nonneg, 50, self.tol)
            if better is not None:
                state.replace(int(start), better.T)
            steady[start] = 0

    def _finished(self, op: Operator, V: np.ndarray, value: float) -> tuple[np.ndarray, float]:
        """Return converged loadings V, shape (k, p), optimised on their supports, and the criterion."""
        better = fitted(op, V.T, self.nonneg)
        if better is None:
            return V, value
        return better.T, min(value, op.total - explained(op, better)[0])


class _State:
    """V, A and G = S A of every start, where U = X A; arrays of shape (n_starts, k, p).

    If `residuals` is true, S V is stored as well.
    """

    def __init__(self, op: Operator, V: np.ndarray, residuals: bool):
        self.op = op
        self.V = V
        self.A = V.copy()
        m, k, p = V.shape
        self.G = np.ascontiguousarray(op.dot(V.reshape(m * k, p).T).T).reshape(m, k, p)
        self.SV = self.G.copy() if residuals else None

    def update(self, i: int, rule: Update, floor: float) -> None:
        """Replace column i of V, then of U, in every start: equations (5) and (6) of the paper."""
        V, A, G = self.V, self.A, self.G
        u_products = (A @ G[:, i, :, None])[:, :, 0]  # u_j'u_i
        u_products[:, i] = 0.0
        w = (G[:, i] - (u_products[:, None] @ V)[:, 0]).T
        empty = np.abs(w).max(axis=0) <= floor
        w[:, empty] = V[empty, i].T  # the residual is zero: any direction is optimal, so keep this one
        v = rule(w)
        Sv = self.op.dot(v).T
        v_products = (V @ v.T[:, :, None])[:, :, 0]  # v_j'v_i
        v_products[:, i] = 0.0
        v_products = v_products[:, None]
        A_i = v.T - (v_products @ A)[:, 0]
        if self.SV is not None:
            self.SV[:, i] = Sv
        V[:, i], A[:, i], G[:, i] = v.T, A_i, Sv - (v_products @ G)[:, 0]

    def criterion(self) -> np.ndarray:
        """Return ||X - U V'||_F^2 / (n - 1) of every start."""
        fitted = np.einsum("bkp,bkp->b", self.G, self.V)
        crossed = (self.A @ self.G.transpose(0, 2, 1)) * (self.V @ self.V.transpose(0, 2, 1))
        return self.op.total - 2.0 * fitted + crossed.sum(axis=(1, 2))

    def replace(self, start: int, V: np.ndarray) -> None:
        """Replace the loadings of a start by V, shape (k, p), and its scores by the best ones for V."""
        inverse = np.linalg.inv(V @ V.T)
        self.V[start], self.A[start] = V, inverse @ V
        self.G[start] = inverse @ self.op.dot(V.T).T

    def residual(self) -> np.ndarray:
        """Return the minimum of |X - U V'|_F^2 / (n - 1) over U, the residual variance of projection on V."""
        assert self.SV is not None
        Vt = self.V.transpose(0, 2, 1)
        inverse = np.linalg.pinv(self.V @ Vt, rcond=1e-12, hermitian=True)
        return np.asarray(self.op.total - np.einsum("bij,bji->b", inverse, self.SV @ Vt))

    def keep(self, mask: np.ndarray) -> None:
        """Keep only the marked starts, which are still running."""
        if not mask.all():
            self.V, self.A, self.G = self.V[mask], self.A[mask], self.G[mask]
            self.SV = None if self.SV is None else self.SV[mask]


def _with_same_loadings(
    V: np.ndarray, value: np.ndarray, still: np.ndarray, width: float
) -> Iterator[tuple[int, int]]:
    """Yield pairs (this, other) of running starts with the same loadings, `other` the earlier one."""
    first: list[int] = []
    for this in np.flatnonzero(still).tolist():
        for other in first:
            if (
                abs(value[this] - value[other]) <= width
                # loadings that differ by less than 1e-6 are the same
                and np.abs(np.abs(V[this]) - np.abs(V[other])).max() < 1e-6
            ):
                yield this, other
                break
        else:
            first.append(this)


# --- absolute deviations --------------------------------------------------------------------------


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
