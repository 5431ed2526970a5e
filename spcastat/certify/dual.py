"""Upper bounds for given supports from the dual of a semidefinite relaxation, for batches of problems.

Given supports T_1, ..., T_m and k - m further components that may be dense, a fit explains <M, P>, where P is
the projection on the span of all components. A unit vector v_j on T_j lies in that span, so that

    max <M, P>  over  0 <= P <= I, tr P = k,  P >= D_j X_j D_j',  X_j >= 0, tr X_j = 1

is an upper bound, where the columns of D_j are an orthonormal basis of the span of T_j. The dual objective is

    KF_k(M + sum_j Y_j) - sum_j lambda_min(D_j' Y_j D_j)

for matrices Y_j >= 0, where KF_k is the sum of the k largest eigenvalues (Ky Fan). By weak duality every
choice of Y_j gives a valid bound, so a first-order method can be stopped at any iteration.

In this relaxation X_j may be a mixture of several loadings, and the same for two components with one support.
But two components span a plane within the span of their two supports, and P contains the projection on it.
This gives a constraint of the same form with 0 <= X <= I and tr X = 2; in the dual it has the sum of the two
smallest eigenvalues.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from spcastat.search.small_matrices import SMALLEST

#: Allowance for rounding in every bound, relative to the trace of its matrices; actual rounding is 1e-14.
ROUNDING = 1e-10
#: Number of steps between two evaluations of the bound.
EVERY = 10
#: Ratio of primal to dual step length; 2 worked best for random supports of pitprops.
RATIO = 2.0
#: Directions with singular values up to this are dropped from the span of several bases.
NOTHING = 1e-12
#: A problem is abandoned if, at its current rate, it needs this many times the steps left to reach its
#: threshold.
HOPELESS = 3.0
#: The rate is computed over this many rounds of EVERY steps.
WINDOW = 5


Running = Callable[[], bool]


def ky_fan(M: np.ndarray, k: int) -> np.ndarray:
    """Return the sums of the k largest eigenvalues, shape (...), of matrices of shape (..., d, d).

    If d < k, all eigenvalues are summed.
    """
    d = M.shape[-1]
    if k >= d:
        return np.asarray(np.trace(M, axis1=-2, axis2=-1))
    if k <= 0:
        return np.zeros(M.shape[:-2])
    return np.asarray(np.linalg.eigvalsh(M)[..., d - k :].sum(axis=-1))


def certified(
    M: np.ndarray, bases: list[np.ndarray], k: int, Y: np.ndarray, ranks: list[int] | None = None
) -> np.ndarray:
    """Return the bound that `Y` proves, enlarged by its rounding, shape (B,).

    Parameters
    ----------
    M : ndarray of shape (B, d, d)
        Positive semidefinite.
    bases : list of m ndarrays of shape (B, d, c_j)
        The columns are orthonormal or zero.
    k : int
        The number of all components, at least m.
    Y : ndarray of shape (B, m, d, d)
        Positive semidefinite up to rounding.
    ranks : list of m ints, optional
        The dimension of the subspace of a fit within each span; one by default.
    """
    bound = ky_fan(M + Y.sum(axis=1), k)
    size = np.trace(M, axis1=1, axis2=2)
    for j, (D, rank) in enumerate(zip(bases, ranks or [1] * len(bases), strict=True)):
        trace = np.trace(Y[:, j], axis1=1, axis2=2)
        W = D.mT @ Y[:, j] @ D + _diagonal(missing(D, rank) * trace[:, None])
        bound = bound - np.linalg.eigvalsh(W)[:, :rank].sum(axis=1)
        size = size + rank * trace
    return np.asarray(bound + ROUNDING * size)


def missing(D: np.ndarray, rank: int) -> np.ndarray:
    """Return which columns are zero, and so not part of the span, shape (B, c).

    If fewer than `rank` columns are not zero, none is marked: the constraint has no effect there.
    """
    zero = ~D.any(axis=1)
    return np.asarray(zero & ((~zero).sum(axis=1) >= rank)[:, None])


def _diagonal(values: np.ndarray) -> np.ndarray:
    return np.asarray(values[:, :, None] * np.eye(values.shape[1]))


def planes(bases: list[np.ndarray]) -> list[np.ndarray]:
    """Return orthonormal bases of the span of each pair of supports, for constraints of rank two.

    Linearly dependent columns are zero. If the rank is not clearly two or more, all columns are zero.
    """
    found = []
    for i, first in enumerate(bases):
        for second in bases[i + 1 :]:
            U, sizes, _ = np.linalg.svd(np.concatenate([first, second], axis=2), full_matrices=False)
            clear = sizes[:, 1] > 1e-5 if sizes.shape[1] > 1 else np.zeros(len(U), dtype=bool)
            found.append(U * ((sizes > NOTHING) & clear[:, None])[:, None, :])
    return found


def within_union(M: np.ndarray, bases: list[np.ndarray]) -> tuple[np.ndarray, list[np.ndarray]]:
    """Reduce the problems to the span of all bases, which contains every component if all have a basis.

    The reduced problems are smaller and have smaller bounds. If bases overlap, unused directions are zero.
    """
    stacked = np.concatenate(bases, axis=2)
    Q, sizes, _ = np.linalg.svd(stacked, full_matrices=False)
    Q = Q * (sizes > NOTHING)[:, None, :]
    T = Q.mT
    return T @ M @ Q, [T @ D for D in bases]


def support_bounds(
    M: np.ndarray,
    bases: list[np.ndarray],
    k: int,
    threshold: np.ndarray | float,
    steps: int,
    *,
    ranks: list[int] | None = None,
    running: Running = lambda: True,
    multipliers: np.ndarray | None = None,
) -> np.ndarray:
    """Return the bounds of a batch of problems, shape (B,); each stops once it is below its threshold.

    Parameters
    ----------
    M, bases, k, ranks
        As for `certified`.
    threshold : float or ndarray of shape (B,)
        A bound is not improved further once it is below this, or if it is unlikely to get there.
    steps : int
        The largest number of steps of the primal-dual method.
    running : callable
        Called between steps; if it returns False, the bounds so far are returned.
    multipliers : ndarray of shape (B, m, d, d), optional
        Zeros, replaced by the Y that prove the bounds.

    Notes
    -----
    The primal-dual method of Chambolle and Pock (2011) on the saddle function
    <M, P> + sum_j <Y_j, P - D_j X_j D_j'>, with projections by eigendecomposition. It starts at Y = 0, which
    gives the bound of dense components, and at P and X_j computed without the coupling constraint. After each
    round of EVERY steps the bound is evaluated at the last Y and at the mean of all Y.
    """
    B, d = M.shape[:2]
    ranks = ranks or [1] * len(bases)
    level = np.broadcast_to(threshold, (B,))
    bound = certified(M, bases, k, np.zeros((B, len(bases), d, d)), ranks)
    at = np.flatnonzero(bound > level)
    state = _State.begin(M[at], [D[at] for D in bases], ranks, k)
    history: list[np.ndarray] = []
    for left in reversed(range(steps // EVERY)):
        if not (at.size and running()):
            break
        for _ in range(EVERY):
            if running():
                state.step()
        two = [certified(state.M, state.bases, k, Y, ranks) for Y in (state.Y, state.mean)]
        if multipliers is not None:
            for Y, found in zip((state.Y, state.mean), two, strict=True):
                better = found < bound[at]
                multipliers[at[better]], bound[at[better]] = Y[better], found[better]
        lowest = np.min(two, axis=0)
        bound[at] = np.minimum(bound[at], lowest)
        history = [*history[-WINDOW:], lowest]  # without the start: the first iterates have larger bounds
        open_ = bound[at] > level[at]
        if len(history) > WINDOW:
            fall = (history[0] - lowest) / WINDOW  # decrease per round of EVERY steps
            open_ &= lowest - HOPELESS * fall * left <= level[at]
        at, state = at[open_], state.some(open_)
        history = [values[open_] for values in history]
    return bound


@dataclass(eq=False)
class _State:
    """The iterates of a batch: P, X_j and Y_j; only Y_j has the scale of M."""

    M: np.ndarray
    bases: list[np.ndarray]
    ranks: list[int]
    k: int
    Y: np.ndarray
    P: np.ndarray
    X: list[np.ndarray]
    ahead: np.ndarray
    scale: np.ndarray
    total: np.ndarray
    count: int

    @classmethod
    def begin(cls, M: np.ndarray, bases: list[np.ndarray], ranks: list[int], k: int) -> _State:
        scale = np.maximum(np.trace(M, axis1=1, axis2=2) / k, SMALLEST)
        A = M / scale[:, None, None]
        P = leading(A, k)
        X = [_within(D.mT @ A @ D, D, rank) for D, rank in zip(bases, ranks, strict=True)]
        Y = np.zeros((len(M), len(bases), *M.shape[1:]))
        state = cls(M, bases, ranks, k, Y, P, X, Y, scale, Y.copy(), 0)
        state.ahead = state._excess()
        return state

    @property
    def mean(self) -> np.ndarray:
        """The average of the dual iterates."""
        return self.total / max(self.count, 1)

    def _excess(self) -> np.ndarray:
        """Return P - D_j X_j D_j' for every j."""
        parts = [self.P - D @ X @ D.mT for D, X in zip(self.bases, self.X, strict=True)]
        return np.stack(parts, axis=1)

    def step(self) -> None:
        """Take one step: update Y with the extrapolated excess, then P and X."""
        size = np.sqrt(len(self.bases) + 1.0)  # bounds the norm of the map (P, X) -> P - D_j X_j D_j'
        tau, sigma = RATIO / size, 1.0 / (RATIO * size)
        unit = self.scale[:, None, None]
        self.Y = positive(self.Y - (sigma * unit[:, None]) * self.ahead)
        before = self._excess()
        self.P = fantope(self.P + tau * (self.M + self.Y.sum(axis=1)) / unit, self.k)
        self.X = [
            _within(X - tau * (D.mT @ self.Y[:, j] @ D) / unit, D, rank)
            for j, (D, X, rank) in enumerate(zip(self.bases, self.X, self.ranks, strict=True))
        ]
        self.ahead = 2.0 * self._excess() - before
        self.total += self.Y
        self.count += 1

    def some(self, which: np.ndarray) -> _State:
        """Return the problems selected by a mask."""
        return _State(
            self.M[which],
            [D[which] for D in self.bases],
            self.ranks,
            self.k,
            self.Y[which],
            self.P[which],
            [X[which] for X in self.X],
            self.ahead[which],
            self.scale[which],
            self.total[which],
            self.count,
        )


def _within(A: np.ndarray, D: np.ndarray, rank: int) -> np.ndarray:
    """Return the nearest X with 0 <= X <= I and trace `rank` that is zero on zero columns of D."""
    away = missing(D, rank)
    A = A - _diagonal(10.0 * away) if away.any() else A  # far below zero, in units of the scale of M
    return spectraplex(A) if rank == 1 else fantope(A, rank)


def positive(A: np.ndarray) -> np.ndarray:
    """Return the nearest positive semidefinite matrices, of shape (..., d, d)."""
    values, vectors = np.linalg.eigh(A)
    return (vectors * np.maximum(values, 0.0)[..., None, :]) @ vectors.mT


def leading(A: np.ndarray, k: int) -> np.ndarray:
    """Return the projections on the k leading eigenvectors, of shape (..., d, d)."""
    vectors = np.linalg.eigh(A)[1][..., -k:]
    return np.asarray(vectors @ vectors.mT)


def fantope(A: np.ndarray, k: int) -> np.ndarray:
    """Return the nearest matrices with eigenvalues in [0, 1] and trace k, of shape (B, d, d)."""
    values, vectors = np.linalg.eigh(A)
    return (vectors * capped_simplex(values, k)[:, None, :]) @ vectors.mT


def spectraplex(A: np.ndarray) -> np.ndarray:
    """Return the nearest positive semidefinite matrices of trace one, of shape (B, c, c)."""
    values, vectors = np.linalg.eigh(A)
    c = values.shape[1]
    down = values[:, ::-1]
    sums = (np.cumsum(down, axis=1) - 1.0) / np.arange(1, c + 1)
    last = (down > sums).sum(axis=1) - 1
    shift = np.take_along_axis(sums, last[:, None], axis=1)
    return (vectors * np.maximum(values - shift, 0.0)[:, None, :]) @ vectors.mT


def capped_simplex(values: np.ndarray, k: int) -> np.ndarray:
    """Return the nearest vectors with entries in [0, 1] and sum k; rows of `values` ascend, shape (B, d).

    The result is clip(values - t, 0, 1), whose sum decreases in t and is piecewise linear with knots at
    `values` and `values - 1`; the interval of t with sum k is found among all knots at once.
    """
    d = values.shape[1]
    if k >= d:
        return np.ones_like(values)
    knots = np.sort(np.concatenate([values, values - 1.0], axis=1), axis=1)
    sums = np.clip(values[:, None, :] - knots[:, :, None], 0.0, 1.0).sum(axis=2)
    right = np.clip((sums > k).sum(axis=1), 1, 2 * d - 1)[:, None]
    low, high = np.take_along_axis(knots, right - 1, axis=1), np.take_along_axis(knots, right, axis=1)
    above, below = np.take_along_axis(sums, right - 1, axis=1), np.take_along_axis(sums, right, axis=1)
    share = np.divide(above - k, above - below, out=np.zeros_like(above), where=above > below)
    return np.asarray(np.clip(values - (low + share * (high - low)), 0.0, 1.0))
