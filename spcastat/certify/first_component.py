"""Upper bounds on adjusted variance for given supports, with the exact variance of the first component.

Let S = F'F, F_T be the columns of F on the support T, N_T = F_T F_T', and q_1, ..., q_k be the orthonormal
directions of the scores. T1, ..., Tk are the supports of the components in their order. The first component
has variance 1 / (q_1' N_T1^+ q_1), with q_1 in the span of F_T1. This is at most q_1' N_T1 q_1 (Jensen's
inequality), the bound that is used for the other components. Relaxed to matrices X_j of trace one:

    maximise  1 / tr(N_T1^+ X_1) + sum_j tr(N_Tj X_j)  subject to  sum_j X_j <= I.

1/t is convex: if a = 1/t is in [l, u], it is at most the chord l + u - l u t. So for each interval of a the
problem becomes linear, as in `ordered.ordered_bounds`. The chord exceeds 1/t by at most
(sqrt(u) - sqrt(l))^2, and intervals whose bound is above the threshold are halved.
"""

from __future__ import annotations

import numpy as np

from spcastat.certify.dual import ROUNDING, Relaxation, Running, union_basis
from spcastat.certify.ordered import ordered_relaxation
from spcastat.search.small_matrices import SMALLEST

#: The largest number of times that an interval is halved.
HALVINGS = 6
#: Smaller eigenvalues of N_T1 are raised to a floor, since their inverses slow the dual method down. These
#: floors, as shares of the largest eigenvalue, are tried in turn; each gives a valid bound.
FLOORS = (0.15, 0.02, 1e-4)


def first_component_bounds(
    factors: list[np.ndarray],
    threshold: np.ndarray | float,
    steps: int,
    running: Running = lambda: True,
) -> np.ndarray:
    """Return bounds on adjusted variance in any order of the components, at least the threshold.

    Parameters
    ----------
    factors : list of k ndarrays of shape (B, d, c_j)
        For each component, the columns of F on its support.
    threshold : float or ndarray of shape (B,)
    steps : int
        The number of steps of the dual method on each interval.
    running : callable
        Called between steps; if it returns False, the bounds so far are returned.

    Returns
    -------
    ndarray of shape (B,)
    """
    Q = union_basis(factors)  # contains all directions q_j
    factors = [Q.mT @ A for A in factors]
    level = np.full(len(Q), threshold)
    bound = level.copy()
    for first, A in enumerate(factors):
        others = factors[:first] + factors[first + 1 :]
        np.maximum(bound, _with_first(A, others, level, steps, running), out=bound)
    return bound


def _with_first(
    A: np.ndarray, others: list[np.ndarray], threshold: np.ndarray, steps: int, running: Running
) -> np.ndarray:
    """Return upper bounds on the adjusted variance over all orders in which a given component comes first.

    `A`, shape (B, d, c), has the columns of F on the support of that component, and `others` those of the
    other components. A bound below `threshold` is raised to it. The result has shape (B,).
    """
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
        found = np.full(len(which), np.inf)
        for floor in FLOORS:
            at = np.flatnonzero(found > threshold[which])
            problems = which[at]
            held = values[problems], D[problems], [N[problems] for N in rest]
            relaxation = interval_relaxation(ends[at] ** 2, *held, floor)
            found[at] = np.minimum(found[at], relaxation.bounds(threshold[problems], steps, running)[0])
        open_ = found > threshold[which]
        which, ends, found = which[open_], ends[open_], found[open_]
        if not len(which) or halving == HALVINGS or not running():
            np.maximum.at(bound, which, found)
            return bound
        middle = ends.mean(axis=1)
        ends = np.concatenate([np.stack([ends[:, 0], middle], 1), np.stack([middle, ends[:, 1]], 1)])
        which = np.concatenate([which, which])
    return bound


def interval_relaxation(
    ends: np.ndarray, values: np.ndarray, D: np.ndarray, rest: list[np.ndarray], floor: float
) -> Relaxation:
    """Return relaxations in which the variance of the first component is in an interval [l, u].

    The chord takes the place of 1/t, see the module's docstring.

    Parameters
    ----------
    ends : ndarray of shape (B, 2)
        l and u.
    values : ndarray of shape (B, c)
        The eigenvalues of N_T1 whose eigenvectors are the columns of D, descending.
    D : ndarray of shape (B, d, c)
    rest : list of ndarrays of shape (B, d, d)
        N_Tj of the other components.
    floor : float
        Smaller eigenvalues are raised to this share of the largest.
    """
    t = 1.0 / np.maximum(values, floor * values[:, :1])
    low, high = ends.T
    chord = (low + high)[:, None] - (low * high)[:, None] * t
    groups = [chord[:, :, None] * np.eye(t.shape[1]), *rest]
    return ordered_relaxation(groups, [1] * len(groups), [D, *[None] * len(rest)])
