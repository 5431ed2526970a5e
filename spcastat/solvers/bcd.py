"""Block coordinate descent for sparse and nonnegative components.

Zhao, Meng, Xu and Gao (2015), "A block coordinate descent approach for sparse principal component analysis",
Neurocomputing 153: Algorithms 1 and 2, Theorems 1 to 3 and 5.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import partial
from typing import Literal

import numpy as np

from spcastat.linalg.eigenvectors import RELATIVE, SUM_ROUNDING, better_signs, unit
from spcastat.linalg.operators import Operator
from spcastat.linalg.thresholds import hard, l1_bounded, positive_part, soft
from spcastat.progress import Advance, stage
from spcastat.solvers.solver import JointSolver, Solution
from spcastat.solvers.thresholding import explained, fitted

Update = Callable[[np.ndarray], np.ndarray]

#: Number of consecutive sweeps without a change after which a start has converged.
QUIET_SWEEPS = 3
#: A path is shortened after STEADY_SWEEPS sweeps without changes of the supports, and again after every
#: STEP_INTERVAL such sweeps, by a distance of unit loadings of at most FAR_STEPS. In 120 fits of twelve
#: tables, a fifth of the sweeps gave the fit of the published algorithm or, in two, a better one; moves by .3
#: gave worse fits.
STEADY_SWEEPS, STEP_INTERVAL, FAR_STEPS = 6, 4, 0.1
#: At these moves on the same supports, if the estimated limit is within FAR_STEPS, the loadings are solved
#: for with at most ASCENT_STEPS steps. Before move LATE, a solution at a distance of 2 FAR_STEPS or more is
#: not accepted.
SOLVED_AT, ASCENT_STEPS, LATE = (1, 4, 16, 64, 256, 1024), 30, 16
#: The largest value used for the ratio of two successive steps.
STEEPEST = 0.999


@dataclass(frozen=True)
class BCD(JointSolver):
    """min ||X - U V'||_F^2 over sparse unit columns of V, by updates of one column of V and U at a time.

    Attributes
    ----------
    norm : {"l0", "l1"}
        Whether the number of nonzeros or the l1 norm of each column of V is bounded.
    card : tuple of int or None
        The largest number of nonzeros of each component. With "l1", the norm bound is chosen in every update
        to give the cardinality. The criterion may then increase at times, and the result contains the
        loadings of the sweep with the smallest residual variance (with the best U for these loadings).
    t : tuple of float or None
        Bounds on the l1 norms, each in [1, sqrt(p)] ("l1" only).
    nonneg : bool
        Whether loadings must be nonnegative (Algorithm 2).
    tol : float
        Converged when each of three consecutive sweeps changes the criterion by at most this share of the
        total variance, or, with "l1" and `card`, after 500 sweeps without better loadings. (A single sweep
        without change may be a turning point if the criterion is not monotone.)
    max_iter : int
        Largest number of sweeps over all components, which `n_iter` counts.

    Notes
    -----
    With "l0", if the supports have not changed for several sweeps, the fit moves ahead along the path of the
    sweeps, which the published algorithm follows in smaller steps, and solves for the loadings near the end
    of the path. Further sweeps show whether the supports are stable. Of 120 fits of twelve tables, 118
    equalled the fits of the published algorithm and two were better, with a fifth of the sweeps.
    """

    norm: Literal["l0", "l1"] = "l0"
    card: tuple[int, ...] | None = None
    t: tuple[float, ...] | None = None
    nonneg: bool = False
    tol: float = 1e-7
    max_iter: int = 5000

    criterion = "residual variance |X - UV'|^2 / (n - 1)"
    measured_by_pca = False
    uses_starts = True

    @property
    def n_init(self) -> int:  # type: ignore[override]
        """Number of starts: one, the PCA loadings; two with "l1" and `card`, with their varimax rotation.

        From the PCA loadings alone, the iteration with "l1" and `card` often stops at a support that is not
        the best: in 15 of 40 of Hastie's data sets (n = 1000), and in none with both starts.
        """
        return 2 if self.norm == "l1" and self.t is None else 1

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
        floor = 1e-14 * float(op.diagonal().max())  # smaller residuals are rounding errors
        V = np.array(starts)
        if self.nonneg:
            V *= better_signs(V, 2)
        may_rise = self.norm == "l1" and self.t is None
        state = _BlockIterates(op, V, may_rise)
        ends = _DescentEnds(V, self.tol * op.total, may_rise)
        paths = _SlowPaths(V) if self.norm == "l0" else None
        running = np.arange(len(V))
        for sweep in range(1, self.max_iter + 1):
            for i in range(k):
                state.update(i, updates[i], floor)
            advance(1)
            ends.add(sweep, running, state)
            still = (ends.quiet[running] < QUIET_SWEEPS) & (sweep < self.max_iter)
            if paths is not None and sweep < self.max_iter:
                self._along_paths(paths, state, ends, running, still)
            ends.loadings[running[~still]] = state.V[~still]
            if sweep % 5 == 0:
                ends.merge(running, state.V, still)
            state.keep(still)
            if paths is not None:
                paths.keep(still)
            running = running[still]
            if running.size == 0:
                break
        return self._best_fit(op, ends)

    def _along_paths(
        self,
        paths: _SlowPaths,
        state: _BlockIterates,
        ends: _DescentEnds,
        running: np.ndarray,
        still: np.ndarray,
    ) -> None:
        """Shorten slow paths of running starts; ended starts continue if their paths can be finished."""
        for start in np.flatnonzero(paths.slow(state.V) & still).tolist():
            paths.shorten(state, start, self.nonneg)
        for start in np.flatnonzero(ends.quiet[running] >= QUIET_SWEEPS).tolist():
            if paths.finish(state, start, self.nonneg):  # sweeps show whether the supports are stable
                ends.quiet[running[start]], still[start] = 0, True

    def _best_fit(self, op: Operator, ends: _DescentEnds) -> Solution:
        """Return the best of the final loadings, which with "l0" are optimised on their supports."""
        loadings, value = ends.fits()
        for start in np.flatnonzero(ends.leader == np.arange(len(value))).tolist():
            if self.norm == "l0" and ends.quiet[start] >= QUIET_SWEEPS:
                loadings[start], value[start] = self._finished(op, loadings[start], value[start])
        leader = ends.leaders()
        loadings, value = loadings[leader], value[leader]
        sweeps, quiet = ends.sweeps[leader], ends.quiet[leader]
        best_index = int(np.flatnonzero(value <= value.min() + self.tol * op.total)[0])
        status = "converged" if quiet[best_index] >= QUIET_SWEEPS else "max_iter"
        return Solution(
            loadings[best_index].T,
            status,
            int(sweeps[best_index]),
            float(value[best_index]),
            value,
            candidates=loadings,
        )

    def _finished(self, op: Operator, V: np.ndarray, value: float) -> tuple[np.ndarray, float]:
        """Return converged loadings V, shape (k, p), optimised on their supports, and the criterion."""
        improved = fitted(op, V.T, self.nonneg)
        if improved is None:
            return V, value
        return improved.T, min(value, op.total - explained(op, improved)[0])


class _BlockIterates:
    """The iterates V, A and G = S A of every start, where U = X A; arrays of shape (n_starts, k, p).

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
        if empty.any():
            w[:, empty] = V[empty, i].T  # the residual is zero, so any direction is optimal
        v = rule(w)
        Sv = self.op.dot(v).T
        v_products = (V @ v.T[:, :, None])[:, :, 0]  # v_j'v_i
        v_products[:, i] = 0.0
        v_products = v_products[:, None]
        A_i = v.T - (v_products @ A)[:, 0]
        if self.SV is not None:
            self.SV[:, i] = Sv
        V[:, i], A[:, i], G[:, i] = v.T, A_i, Sv - (v_products @ G)[:, 0]

    def best_scores(self, V: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Return A and S A for the best U given loadings V, shape (k, p)."""
        A = np.linalg.solve(V @ V.T, V)
        return A, self.op.dot(A.T).T

    def put(self, start: int, V: np.ndarray, A: np.ndarray, G: np.ndarray) -> None:
        """Replace the iterates of one start."""
        self.V[start], self.A[start], self.G[start] = V, A, G

    def criterion(self) -> np.ndarray:
        """Return ||X - U V'||_F^2 / (n - 1) of every start."""
        fitted = np.einsum("bkp,bkp->b", self.G, self.V)
        crossed = (self.A @ self.G.transpose(0, 2, 1)) * (self.V @ self.V.transpose(0, 2, 1))
        return self.op.total - 2.0 * fitted + crossed.sum(axis=(1, 2))

    def residual(self) -> np.ndarray:
        """Return the minimum of |X - U V'|_F^2 / (n - 1) over U: the residual variance of projecting on V."""
        assert self.SV is not None
        Vt = self.V.transpose(0, 2, 1)
        inverse = np.linalg.pinv(self.V @ Vt, rcond=1e-12, hermitian=True)
        return np.asarray(self.op.total - np.einsum("bij,bji->b", inverse, self.SV @ Vt))

    def keep(self, mask: np.ndarray) -> None:
        """Keep only the marked starts, which are still running."""
        if not mask.all():
            self.V, self.A, self.G = self.V[mask], self.A[mask], self.G[mask]
            self.SV = None if self.SV is None else self.SV[mask]


class _DescentEnds:
    """The ends of the sweeps from each of m starts: loadings, criterion, and numbers of sweeps.

    `tol` is the largest change of the criterion in a quiet sweep. If the criterion may rise, the end of a
    start is the iterate with the smallest residual variance.
    """

    def __init__(self, V: np.ndarray, tol: float, may_rise: bool):
        m = len(V)
        self.tol, self.may_rise = tol, may_rise
        self.loadings = np.empty_like(V)
        self.value = np.full(m, np.inf)
        self.sweeps, self.quiet = np.zeros(m, dtype=int), np.zeros(m, dtype=int)
        self.leader = np.arange(m)
        self.lowest, self.lowest_loadings = np.full(m, np.inf), np.empty_like(V)
        self.bettered = np.zeros(m, dtype=int)

    def add(self, sweep: int, running: np.ndarray, state: _BlockIterates) -> None:
        """Add the iterates of the running starts after a sweep."""
        new_value = state.criterion()
        if self.may_rise:
            residual = state.residual()
            lower = residual < self.lowest[running] - 1e-13 * state.op.total  # beyond rounding
            self.lowest[running[lower]] = residual[lower]
            self.lowest_loadings[running[lower]] = state.V[lower]
            self.bettered[running[lower]] = sweep
        change = np.abs(self.value[running] - new_value)
        self.quiet[running] = np.where(change <= self.tol, self.quiet[running] + 1, 0)
        if self.may_rise:
            self.quiet[running[sweep - self.bettered[running] >= 500]] = QUIET_SWEEPS
        self.value[running] = new_value
        self.sweeps[running] = sweep

    def merge(self, running: np.ndarray, V: np.ndarray, still: np.ndarray) -> None:
        """End running starts with the same loadings as an earlier start, which becomes their leader."""
        for later, earlier in _with_same_loadings(V, self.value[running], still, self.tol):
            self.leader[running[later]] = running[earlier]
            still[later] = False

    def leaders(self) -> np.ndarray:
        """Return, for each start, the earliest start with which it was merged."""
        leader = self.leader.copy()
        for start in range(len(leader)):
            leader[start] = leader[leader[start]]
        return leader

    def fits(self) -> tuple[np.ndarray, np.ndarray]:
        """Return the loadings at the ends, shape (m, k, p), and their criterion."""
        if self.may_rise:
            return self.lowest_loadings, self.lowest
        return self.loadings, self.value


class _SlowPaths:
    """Shortens the paths along which sweeps converge linearly on constant supports.

    If the last two sweeps moved the loadings by d and d', with r = |d'| / |d|, the path ends about
    r / (1 - r) d' ahead. A move by this vector, limited to the length `FAR_STEPS`, stays near the path, so
    the supports change where they would change with sweeps alone. Near the end of the path, the optimal
    loadings on the supports are computed.
    """

    def __init__(self, V: np.ndarray):
        self.loadings = V.copy()
        self.step, self.step_before = np.zeros_like(V), np.zeros_like(V)
        self.steady_sweeps = np.zeros(len(V), dtype=int)
        self.moves = np.zeros(len(V), dtype=int)
        self.finished = np.zeros(len(V), dtype=bool)

    def slow(self, V: np.ndarray) -> np.ndarray:
        """Record the loadings after a sweep, shape (n_starts, k, p); return a mask of paths to shorten."""
        stays = ((V != 0) == (self.loadings != 0)).all(axis=(1, 2))
        self.steady_sweeps = np.where(stays, self.steady_sweeps + 1, 0)
        self.moves = np.where(stays, self.moves, 0)
        self.finished &= stays
        self.step_before, self.step = self.step, V - self.loadings
        self.loadings = V.copy()
        return stays & (self.steady_sweeps >= STEADY_SWEEPS) & (self.steady_sweeps % STEP_INTERVAL == 0)

    def shorten(self, state: _BlockIterates, start: int, nonneg: bool) -> None:
        """Move one start along its path, unless this raises the criterion."""
        V, step = state.V[start], self.step[start]
        length = float(np.linalg.norm(step))
        inner = np.linalg.eigvalsh(V @ V.T)
        if length == 0.0 or inner[0] <= RELATIVE * inner[-1]:
            return
        self.moves[start] += 1
        rate = min(length / max(float(np.linalg.norm(self.step_before[start])), length), STEEPEST)
        remaining = rate / (1.0 - rate) * length
        if remaining < FAR_STEPS and self._solved(state, start, nonneg):
            return
        self._move(state, start, min(remaining, FAR_STEPS) / length * step)

    def _solved(self, state: _BlockIterates, start: int, nonneg: bool) -> bool:
        """Solve for the loadings on their supports; return whether the solution was accepted."""
        V, number = state.V[start], int(self.moves[start])
        if number not in SOLVED_AT:
            return False
        solution = fitted(state.op, V.T, nonneg, ASCENT_STEPS)
        if solution is None or (number < LATE and np.linalg.norm(solution.T - V) >= 2.0 * FAR_STEPS):
            return False
        state.put(start, solution.T, *state.best_scores(solution.T))
        return True

    def finish(self, state: _BlockIterates, start: int, nonneg: bool) -> bool:
        """Solve for the loadings of one start on its supports; return whether this lowers the criterion."""
        if self.finished[start]:
            return False
        self.finished[start] = True
        solution = fitted(state.op, state.V[start].T, nonneg)
        if solution is None:
            return False
        A, G = state.best_scores(solution.T)
        fall = float(state.criterion()[start]) - state.op.total + float((G * solution.T).sum())
        falls = fall > SUM_ROUNDING * state.op.total
        if falls:
            state.put(start, solution.T, A, G)
        return falls

    def _move(self, state: _BlockIterates, start: int, step: np.ndarray) -> None:
        """Add `step` to the loadings of one start, or a part of it that does not raise the criterion."""
        V = state.V[start]
        value = float(state.criterion()[start])
        for _ in range(4):
            loadings_ahead = unit((V + step).T).T
            if (np.sign(loadings_ahead) == np.sign(V)).all():
                A, G = state.best_scores(loadings_ahead)
                if state.op.total - float((G * loadings_ahead).sum()) <= value:
                    state.put(start, loadings_ahead, A, G)
                    return
            step = 0.25 * step

    def keep(self, mask: np.ndarray) -> None:
        """Keep only the marked starts, which are still running."""
        if not mask.all():
            self.loadings, self.step, self.step_before = (
                self.loadings[mask],
                self.step[mask],
                self.step_before[mask],
            )
            self.steady_sweeps, self.moves = self.steady_sweeps[mask], self.moves[mask]
            self.finished = self.finished[mask]


def _with_same_loadings(
    V: np.ndarray, value: np.ndarray, still: np.ndarray, width: float
) -> Iterator[tuple[int, int]]:
    """Yield pairs (later, earlier) of running starts with the same loadings."""
    distinct_starts: list[int] = []
    for later in np.flatnonzero(still).tolist():
        for earlier in distinct_starts:
            if (
                abs(value[later] - value[earlier]) <= width
                # loadings that differ by less than 1e-6 count as the same
                and np.abs(np.abs(V[later]) - np.abs(V[earlier])).max() < 1e-6
            ):
                yield later, earlier
                break
        else:
            distinct_starts.append(later)
