"""Upper bounds on adjusted variance for given supports, exact in the component placed first.

With S = F'F, N_T = F_T F_T' and q_1, ..., q_k the orthonormal directions of the scores, the component that is
placed first has the variance 1 / (q_1' N_T1^+ q_1), with q_1 in the span of F_T1; q_1' N_T1 q_1 is never less
(Jensen's inequality), and only that is used of the others. Relaxed to matrices X_j of trace one,

    maximise  1 / tr(N_T1^+ X_1) + sum_j tr(N_Tj X_j)  subject to  sum_j X_j <= I.

1/t is convex. Where a = 1/t lies between l and u, the chord l + u - l u t is above it, so that an interval of
a leaves a linear problem: that of `ordered.ordered_bounds`. The chord exceeds 1/t by (sqrt(u) - sqrt(l))^2 at
most, and intervals whose bound is above the threshold are halved.
"""

from __future__ import annotations

import numpy as np

from spcastat.certify.dual import ROUNDING, Running
from spcastat.certify.ordered import ordered_bounds
from spcastat.search.small_matrices import SMALLEST

#: Eigenvalues of N_T1 are raised to this share of the largest, which leaves a bound: the inverses of small
#: ones slow the dual method down. The least bound counts.
FLOORS = (0.15, 0.02, 1e-4)
#: Times that an interval is halved, at most.
HALVINGS = 6
INTERVALS = 2**HALVINGS
#: Directions in which the columns of all supports have this share of their length or less are left out.
NOTHING = 1e-12


def first_component_bounds(
    factors: list[np.ndarray],
    threshold: np.ndarray,
    steps: int,
    running: Running = lambda: True,
) -> np.ndarray:
    """Return bounds of adjusted variance in any order of the components, or the threshold where it is larger.

    Parameters
    ----------
    factors : list of k ndarrays of shape (B, d, c_j)
        The columns of F of each component.
    threshold : ndarray of shape (B,)
    steps : int
        Of the dual method on each interval.
    running : callable
        Asked between steps; False ends the work with the bounds so far.

    Returns
    -------
    ndarray of shape (B,)
    """
    factors = _within_union(factors)
    bound = np.array(threshold, dtype=float)
    for first, A in enumerate(factors):
        others = factors[:first] + factors[first + 1 :]
        np.maximum(bound, _with_first(A, others, threshold, steps, running), out=bound)
    return bound


def _within_union(factors: list[np.ndarray]) -> list[np.ndarray]:
    """Return the same columns in coordinates of what they span together, where all directions q_j lie."""
    Q, sizes, _ = np.linalg.svd(np.concatenate(factors, axis=2), full_matrices=False)
    Q = Q * (sizes > NOTHING * sizes[:, :1])[:, None, :]
    return [Q.mT @ A for A in factors]


def _with_first(
    A: np.ndarray, others: list[np.ndarray], threshold: np.ndarray, steps: int, running: Running
) -> np.ndarray:
    """Return the bounds where the component with the columns `A` comes first, at least the thresholds."""
    D, sizes, _ = np.linalg.svd(A, full_matrices=False)
    values = sizes**2
    rest = [B @ B.mT for B in others]
    most = sum((np.linalg.eigvalsh(N)[:, -1] for N in rest), np.zeros(len(A)))
    high = values[:, 0] * (1.0 + ROUNDING)
    low = np.maximum(threshold - most * (1.0 + ROUNDING), SMALLEST)
    bound = threshold.copy()
    which = np.flatnonzero(low < high)
    ends = np.sqrt(np.stack([low[which], high[which]], axis=1))
    for halving in range(HALVINGS + 1):
        found = _on_intervals(which, ends**2, D, values, rest, threshold, steps, running)
        open_ = found > threshold[which]
        which, ends, found = which[open_], ends[open_], found[open_]
        if not len(which) or halving == HALVINGS or not running():
            np.maximum.at(bound, which, found)
            return bound
        middle = ends.mean(axis=1)
        ends = np.concatenate([np.stack([ends[:, 0], middle], 1), np.stack([middle, ends[:, 1]], 1)])
        which = np.concatenate([which, which])
    return bound


def _on_intervals(
    which: np.ndarray,
    ends: np.ndarray,
    D: np.ndarray,
    values: np.ndarray,
    rest: list[np.ndarray],
    threshold: np.ndarray,
    steps: int,
    running: Running,
) -> np.ndarray:
    """Return the bounds where the variance of the first component of problem `which` lies in an interval."""
    bound = np.full(len(which), np.inf)
    for floor in FLOORS:
        at = np.flatnonzero(bound > threshold[which])
        problems = which[at]
        held = values[problems]
        t = 1.0 / np.maximum(held, floor * held[:, :1])
        low, high = ends[at].T
        chord = (low + high)[:, None] - (low * high)[:, None] * t
        groups = [chord[:, :, None] * np.eye(t.shape[1]), *(N[problems] for N in rest)]
        new = ordered_bounds(
            groups,
            [1] * len(groups),
            threshold[problems],
            steps,
            bases=[D[problems], *[None] * len(rest)],
            running=running,
        )
        bound[at] = np.minimum(bound[at], new)
    return bound
