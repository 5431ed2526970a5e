"""Upper bounds on adjusted variance: in any order of the components, and with exact first variances.

Let S = F'F, F_T be the columns of F on the support T, N_T = F_T F_T', and q_1, ..., q_k be the orthonormal
directions of the scores. T1, ..., Tk are the supports of the components in their order.

**The first component** has variance 1 / (q_1' N_T1^+ q_1), with q_1 in the span of F_T1. This is at most
q_1' N_T1 q_1 (Jensen's inequality), the bound that is used for the other components. Relaxed to matrices X_j
of trace one:

    maximise  1 / tr(N_T1^+ X_1) + sum_j tr(N_Tj X_j)  subject to  sum_j X_j <= I.

1/t is convex: if a = 1/t is in [l, u], it is at most the chord l + u - l u t. So for each interval of a the
problem becomes linear, as in `spcastat.proofs.duals.ordered_bounds`. The chord exceeds 1/t by at most
(sqrt(u) - sqrt(l))^2, and intervals whose bound is above the threshold are halved.

**The first two components.** The second has scores b y with y = q_2 + a q_1 in the span of F_T2, so that its
variance given the first is b^2 = 1 / (y' N_T2^+ y). The sign of q_1 is free: let a >= 0. The other components
add at most q_j' N_Tj q_j, which is exact for the last one.

The two variances and a are each restricted to an interval, and boxes of three intervals are halved until
their bounds are below the threshold. In a box 1/t is replaced by its chord, and what remains is quadratic in
the coordinates x of (q_1, y) in the spans of both supports, with

    q_1'q_1 = 1,  y'y = 1 + a^2,  q_1'y = a,  q_1 = E_1 x,  q_2 = y - a q_1 = E_2(a) x,
    E_1 Y E_1' + E_2(a) Y E_2(a)' + sum_j X_j <= I

for Y = xx' and X_j = q_j q_j', relaxed to positive semidefinite matrices. For any Z >= 0 and any numbers m_1,
m_2 and m_12 the dual bound is

    tr Z + sum_j lambda_max(N_Tj - Z) + m_1 + m_2 (1 + a^2) + m_12 a + (2 + a^2) lambda_max(M(a)),
    M(a) = H - E_1' Z E_1 - E_2(a)' Z E_2(a) - m_1 I_1 - m_2 I_2 - m_12 K,

where x'Hx has the chords without their constants, x'I_1 x = q_1'q_1, x'I_2 x = y'y and x'Kx = q_1'y. M(a) is
concave in a, and so at most its tangent in the middle of the interval. The largest eigenvalue of the tangent
is convex in a, and so largest at an end.

**Two components, for each support of the first.** In the order with the larger adjusted variance the first
component has a variance t of at least half of the sum. For a unit vector s, z >= 0 and theta > 0 with N_T <=
theta I + z s s' for all supports T of the second component, the sum is at most t + z + theta - z (s'q_1)^2,
and so at most b, for t in an interval from l to h, if with a = F's

    (b - z - theta - l - h) S + l h I + z a a'

is positive semidefinite on T1. The condition on N_T is that no eigenvalue of S - kappa a a' on T exceeds
theta, where kappa = z / (z + theta). So each s needs one sparse eigenvalue, and closes many supports T1: s is
the mean score of leading eigenvectors on supports that are still open. If it closes few of them, they are
divided by the first principal component of these scores.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import cached_property
from itertools import combinations, permutations
from math import comb

import numpy as np

from spcastat.linalg.accumulate import blocks
from spcastat.proofs import duals
from spcastat.proofs.duals import (
    BOUND_ALLOWANCE,
    RATIO,
    SUPPORTS_ADDED,
    Ascent,
    Multiplier,
    Relaxation,
    Running,
    fantope,
    gram,
    multiplier,
    ordered_bounds,
    ordered_relaxation,
    positive,
    union_basis,
)
from spcastat.proofs.eigenvalue_bounds import Clock
from spcastat.proofs.one_component import prove
from spcastat.proofs.relaxed import (
    BATCH_VALUES,
    LEAF,
    MOST_SUPPORTS,
    LeafBounds,
    Relaxed,
    Root,
    SeparableBound,
    SupportBounds,
    bounds_alone,
    least_squares_frame,
)
from spcastat.search.matrices import SMALLEST, TINY

# --- the first component --------------------------------------------------------------------------


#: The largest number of times that an interval is halved.
HALVINGS = 6
#: Eigenvalues of N_T1 below this share of the largest are raised to it, since their inverses slow the dual
#: method down; the bound remains valid.
FLOOR = 0.02


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
    for j, A in enumerate(factors):
        other_factors = factors[:j] + factors[j + 1 :]
        np.maximum(bound, _with_first(A, other_factors, level, steps, running), out=bound)
    return bound


def _with_first(
    A: np.ndarray, other_factors: list[np.ndarray], threshold: np.ndarray, steps: int, running: Running
) -> np.ndarray:
    """Return upper bounds on the adjusted variance over all orders in which a given component comes first.

    `A`, shape (B, d, c), has the columns of F on the support of that component, and `other_factors` those of
    the other components. A bound below `threshold` is raised to it. The result has shape (B,).
    """
    D, sizes, _ = np.linalg.svd(A, full_matrices=False)
    values = sizes**2
    other_matrices = [B @ B.mT for B in other_factors]
    other_variance = sum((np.linalg.eigvalsh(N)[:, -1] for N in other_matrices), np.zeros(len(A)))
    high = values[:, 0] * (1.0 + BOUND_ALLOWANCE)
    low = np.maximum(threshold - other_variance * (1.0 + BOUND_ALLOWANCE), SMALLEST)
    bound = threshold.copy()
    problems = np.flatnonzero(low < high)
    ends = np.sqrt(np.stack([low[problems], high[problems]], axis=1))
    for halving in range(HALVINGS + 1):
        relaxation = interval_relaxation(
            ends**2, values[problems], D[problems], [N[problems] for N in other_matrices]
        )
        interval_bounds = relaxation.bounds(threshold[problems], steps, running)[0]
        is_open = interval_bounds > threshold[problems]
        problems, ends, interval_bounds = problems[is_open], ends[is_open], interval_bounds[is_open]
        if not len(problems) or halving == HALVINGS or not running():
            np.maximum.at(bound, problems, interval_bounds)
            return bound
        middle = ends.mean(axis=1)
        ends = np.concatenate([np.stack([ends[:, 0], middle], 1), np.stack([middle, ends[:, 1]], 1)])
        problems = np.concatenate([problems, problems])
    return bound


def interval_relaxation(
    ends: np.ndarray, values: np.ndarray, D: np.ndarray, other_matrices: list[np.ndarray]
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
    other_matrices : list of ndarrays of shape (B, d, d)
        N_Tj of the other components.
    """
    t = 1.0 / np.maximum(values, FLOOR * values[:, :1])
    low, high = ends.T
    chord = (low + high)[:, None] - (low * high)[:, None] * t
    groups = [chord[:, :, None] * np.eye(t.shape[1]), *other_matrices]
    return ordered_relaxation(groups, [1] * len(groups), [D, *[None] * len(other_matrices)])


# --- the first two components ---------------------------------------------------------------------


#: The largest number of boxes of one leaf, of boxes that are examined together, and of steps for each.
MOST_BOXES, BOXES_TOGETHER, BOX_STEPS = 400, 500, 300
#: A leaf has no bound if the second component may add less than this share of its largest variance: the
#: interval of a would be too long.
SLIGHT = 0.01
#: As `FLOOR`, for N_T of the first two components.
FLOOR_OF_TWO = 1e-3
#: The smallest q_1'q_1 by which the tangent of M(a) is divided.
LEAST_OF_FIRST = 0.01


def first_two_bounds(
    factors: list[np.ndarray], threshold: float, running: Running = lambda: True
) -> np.ndarray:
    """Return bounds on adjusted variance in any order of the components, at least the threshold.

    Parameters
    ----------
    factors : list of k ndarrays of shape (B, d, c_j)
        For each component, the columns of F on its support; k is at most d.
    threshold : float
    running : callable
        Called between steps; if it returns False, bounds may be infinite.

    Returns
    -------
    ndarray of shape (B,)

    Notes
    -----
    In the order with the largest adjusted variance the variances that components add do not increase.
    """
    Q = union_basis(factors)
    factors = [Q.mT @ A for A in factors]
    groups = [A @ A.mT for A in factors]
    k, bound = len(groups), np.full(len(Q), threshold)
    without = []  # bounds on what the components other than j add together
    for j in range(k):
        other_groups = [N for i, N in enumerate(groups) if i != j]
        without.append(ordered_bounds(other_groups, [1] * len(other_groups), 0.0, LEAF))
    for first_j, second_j in permutations(range(k), 2):
        other_matrices = np.stack([N for j, N in enumerate(groups) if j not in (first_j, second_j)], axis=1)
        highest = _largest_variance(factors[first_j])
        lower_limits = [np.maximum(threshold - without[first_j], threshold / k)]
        lower_limits.append(np.maximum(threshold - without[second_j], (threshold - highest) / (k - 1)))
        ends = np.column_stack([lower_limits[0], highest])
        order_bounds = with_two(
            factors[first_j],
            factors[second_j],
            other_matrices,
            ends,
            lower_limits[1],
            threshold,
            running,
        )
        bound = np.maximum(bound, order_bounds)
    return bound


def _largest_variance(A: np.ndarray) -> np.ndarray:
    """Return the largest variance of a component, given the columns of F on its support, shape (B,)."""
    return np.asarray(np.linalg.norm(A, 2, axis=(1, 2)) ** 2 * (1.0 + BOUND_ALLOWANCE))


def with_two(
    A: np.ndarray,
    B: np.ndarray,
    other_matrices: np.ndarray,
    ends: np.ndarray,
    second_minimum: np.ndarray,
    threshold: float,
    running: Running,
) -> np.ndarray:
    """Return bounds, shape (L,), if the components with the columns `A` and `B` come first and second.

    Parameters
    ----------
    A, B : ndarray of shape (L, d, c)
        The columns of F on the supports of the first two components in L leaves.
    other_matrices : ndarray of shape (L, m, d, d)
        N_T of the other components.
    ends : ndarray of shape (L, 2)
        The interval of the variance of the first component.
    second_minimum : ndarray of shape (L,)
        The variance that the second adds at least.
    threshold : float
        Bounds below it are raised to it.
    running : callable
        Called between steps; if it returns False, bounds may be infinite.
    """
    bound, second_maximum = np.full(len(A), threshold), _largest_variance(B)
    feasible, slight = ends[:, 0] < ends[:, 1], second_minimum < SLIGHT * second_maximum
    bound[feasible & slight] = np.inf  # fits above the threshold may leave the second component too little
    leaf = np.flatnonzero(feasible & (second_minimum < second_maximum) & ~slight)
    low, high = ends[leaf].T
    boxes = OpenBoxes(
        leaf=leaf,
        first_variances=np.column_stack([low.clip(min=0.0), high]),
        second_variances=np.column_stack([second_minimum[leaf], second_maximum[leaf]]),
        a=np.column_stack([np.zeros(len(leaf)), np.sqrt(second_maximum[leaf] / second_minimum[leaf] - 1.0)]),
        bound=np.full(len(leaf), np.inf),
        start=np.zeros((len(leaf), 3 + A.shape[1] ** 2)),
    )
    examined = np.zeros(len(A), dtype=int)  # boxes of each leaf
    while len(boxes.leaf):
        boxes, by_tangent = _bounded(boxes, A, B, other_matrices, threshold, running)
        examined += np.bincount(boxes.leaf, minlength=len(A))
        still_open = boxes.bound > threshold
        exhausted = still_open & (examined[boxes.leaf] > (MOST_BOXES if running() else 0))
        np.maximum.at(bound, boxes.leaf[exhausted], boxes.bound[exhausted])
        halved = still_open & ~exhausted
        boxes = boxes.subset(halved).halved(by_tangent[halved]).with_feasible_a(second_maximum)
    return bound


@dataclass(frozen=True, eq=False)
class OpenBoxes:
    """N boxes whose bounds are above the threshold.

    Attributes
    ----------
    leaf : ndarray of int, shape (N,)
        The leaf of each box.
    first, second : ndarray of shape (N, 2)
        The intervals of the variance of the first component, and of the variance b^2 that the second adds.
    a : ndarray of shape (N, 2)
        The intervals of a.
    bound : ndarray of shape (N,)
        The smallest bound found for the box or for one that contains it; infinite if there is none.
    start : ndarray of shape (N, 3 + d^2)
        The numbers m and the matrix Z to start from.
    """

    leaf: np.ndarray
    first_variances: np.ndarray
    second_variances: np.ndarray
    a: np.ndarray
    bound: np.ndarray
    start: np.ndarray

    def subset(self, selection: np.ndarray | slice) -> OpenBoxes:
        """Return the boxes selected by a mask, by indices or by a slice."""
        return OpenBoxes(
            leaf=self.leaf[selection],
            first_variances=self.first_variances[selection],
            second_variances=self.second_variances[selection],
            a=self.a[selection],
            bound=self.bound[selection],
            start=self.start[selection],
        )

    def halved(self, by_tangent: np.ndarray) -> OpenBoxes:
        """Return the lower and then the upper halves of the boxes, halved where their bounds lose most.

        `by_tangent`, shape (N,), has how much bounds lose by the tangent of M(a). They lose at most
        (sqrt(u) - sqrt(l))^2 by the chord of a variance.
        """
        by_chords = [
            np.diff(np.sqrt(ends), axis=1)[:, 0] ** 2
            for ends in (self.first_variances, self.second_variances)
        ]
        dimension = np.argmax(np.column_stack([*by_chords, by_tangent]), axis=1)
        twice = self.subset(np.tile(np.arange(len(self.leaf)), 2))
        return replace(
            twice,
            first_variances=_halves(self.first_variances, dimension == 0),
            second_variances=_halves(self.second_variances, dimension == 1),
            a=_halves(self.a, dimension == 2),
        )

    def with_feasible_a(self, second_maximum: np.ndarray) -> OpenBoxes:
        """Return the boxes with only those a that are possible; boxes without any are left out.

        The variance of the second component alone is b^2 (1 + a^2), and at most the largest eigenvalue of
        N_T2, which `second_maximum`, shape (L,), has for each leaf.
        """
        low, high = self.a.T
        reach = np.sqrt((second_maximum[self.leaf] / self.second_variances[:, 0] - 1.0).clip(min=0.0))
        high = np.minimum(high, reach)
        return replace(self, a=np.column_stack([low, high])).subset(low <= high)


def _halves(ends: np.ndarray, halved_mask: np.ndarray) -> np.ndarray:
    """Return intervals, (N, 2), twice: those of the mask `halved_mask` as lower and then as upper halves."""
    low, high = ends.T
    middle = 0.5 * (low + high)
    lower = np.column_stack([low, np.where(halved_mask, middle, high)])
    upper = np.column_stack([np.where(halved_mask, middle, low), high])
    return np.concatenate([lower, upper])


def _bounded(
    boxes: OpenBoxes,
    A: np.ndarray,
    B: np.ndarray,
    other_matrices: np.ndarray,
    threshold: float,
    running: Running,
) -> tuple[OpenBoxes, np.ndarray]:
    """Return the boxes with new bounds and starts, and how much each bound loses by the tangent of M(a).

    The other arguments are those of `with_two`.
    """
    bound, start = boxes.bound.copy(), boxes.start.copy()
    in_middle = np.empty(len(bound))
    for part in blocks(len(bound), 1, BOXES_TOGETHER):
        batch = boxes.subset(part)
        problem = Boxes(A[batch.leaf], B[batch.leaf], other_matrices[batch.leaf], batch)
        batch_bounds, box_proofs = problem.bounds(threshold, BOX_STEPS, running)
        bound[part] = np.minimum(batch.bound, batch_bounds)
        in_middle[part], start[part] = box_proofs[:, 0], box_proofs[:, 1:]
    return replace(boxes, bound=bound, start=start), bound - in_middle


class Boxes(Ascent):
    """N boxes, with the iterates of the method of Chambolle and Pock.

    Parameters
    ----------
    A, B : ndarray of shape (N, d, c)
        The columns of F on the supports of the first two components.
    other_matrices : ndarray of shape (N, m, d, d)
        N_T of the other components.
    boxes : OpenBoxes
        The intervals, and m and Z to start from.
    """

    batched = (
        *("E1", "E2", "K", "other_matrices", "H", "low", "high", "middle", "constant", "tau", "sigma"),
        *("Y", "X", "Z", "m", "excess", "ahead"),
    )

    def __init__(self, A: np.ndarray, B: np.ndarray, other_matrices: np.ndarray, boxes: OpenBoxes):
        D, t = zip(*(_spanned(C) for C in (A, B)), strict=True)
        low_1, high_1 = boxes.first_variances.T
        low_2, high_2 = boxes.second_variances.T
        self.low, self.high = boxes.a.T
        self.middle = 0.5 * (self.low + self.high)
        self.constant = low_1 + high_1 + low_2 + high_2  # of the chords; H has their linear terms
        self.H = -np.hstack([(low_1 * high_1)[:, None] * t[0], (low_2 * high_2)[:, None] * t[1]])
        blank = np.zeros_like(D[0]), np.zeros_like(D[1])
        self.E1, Ey = np.concatenate([D[0], blank[1]], 2), np.concatenate([blank[0], D[1]], 2)
        self.E2 = Ey - self.middle[:, None, None] * self.E1  # for a in the middle of its interval
        self.K = 0.5 * (self.E1.mT @ Ey + Ey.mT @ self.E1)
        self.other_matrices = other_matrices
        N, d, n = self.E1.shape
        m = other_matrices.shape[1]
        self.is_first = np.arange(n) < D[0].shape[2]  # the coordinates of x that are those of q_1
        scale = self.constant[:, None, None]
        # bounds the norm of the map from Y and X
        size = np.sqrt(m + 2.0 * (2.0 + self.middle**2))[:, None, None]
        self.tau, self.sigma = RATIO / (size * scale), scale / (RATIO * size)
        self.Y, self.X = np.zeros((N, n, n)) + np.eye(n) / n, np.zeros((N, m, d, d)) + np.eye(d) / d
        self.m, self.Z = boxes.start[:, :3], boxes.start[:, 3:].reshape(N, d, d)
        self.excess = self.ahead = self._excess()

    def matrix(self, Z: np.ndarray, m: np.ndarray) -> np.ndarray:
        """Return M(a) of the module's docstring, (N, n, n), for a in the middle of its interval.

        `Z` has shape (N, d, d), and `m` has the numbers m_1, m_2 and m_12, shape (N, 3).
        """
        free = self.H - np.where(self.is_first, m[:, :1], m[:, 1:2])
        M = free[:, :, None] * np.eye(free.shape[1]) - m[:, 2, None, None] * self.K
        return np.asarray(M - self.E1.mT @ Z @ self.E1 - self.E2.mT @ Z @ self.E2)

    def _excess(self) -> list[np.ndarray]:
        """Return by how much Y, (N, n, n), and X, (N, m, d, d), violate the constraints of Z and of m."""
        total = self.E1 @ self.Y @ self.E1.mT + self.E2 @ self.Y @ self.E2.mT + self.X.sum(axis=1)
        diagonal = np.einsum("bii->bi", self.Y)
        a = self.middle
        sums = [diagonal[:, self.is_first].sum(1) - 1.0, diagonal[:, ~self.is_first].sum(1) - 1.0 - a**2]
        return [total - np.eye(total.shape[1]), np.column_stack([*sums, (self.Y * self.K).sum((1, 2)) - a])]

    def step(self) -> None:
        self.Z = positive(self.Z + self.sigma * self.ahead[0])
        self.m = self.m + self.sigma[:, 0] * self.ahead[1]
        trace = (2.0 + self.middle**2)[:, None, None]
        self.Y = trace * fantope((self.Y + self.tau * self.matrix(self.Z, self.m)) / trace, 1)
        stepped_X = self.X + self.tau[:, None] * (self.other_matrices - self.Z[:, None])
        self.X = fantope(stepped_X.reshape(-1, *stepped_X.shape[2:]), 1).reshape(stepped_X.shape)
        previous_excess, self.excess = self.excess, self._excess()
        self.ahead = [
            2.0 * current - previous for current, previous in zip(self.excess, previous_excess, strict=True)
        ]

    def proofs(self) -> list[tuple[np.ndarray, np.ndarray]]:
        bound, middle = self.certified(self.Z, self.m)
        return [(bound, np.column_stack([middle, self.m, self.Z.reshape(len(self.Z), -1)]))]

    def certified(self, Z: np.ndarray, m: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Return the bounds that Z and m prove, (N,), and those for the middle of the interval of a alone.

        Let a_0 be the middle. As in the module's docstring, the adjusted variance for some a is at most

            base + m_2 a^2 + m_12 a + x'M(a)x,

        where base = tr Z + sum_j lambda_max(N_Tj - Z) + m_1 + m_2, and the constants of the chords. M(a) is
        concave, and so at most its tangent M(a_0) + (a - a_0) M'(a_0). As x'I_1 x = q_1'q_1 = 1, for any s

            x'M(a)x <= s (a - a_0) + x'T(a)x,  T(a) = M(a_0) + (a - a_0) (M'(a_0) - s I_1).

        Let top be the larger of lambda_max(T(a)) at both ends of the interval. lambda_max(T(a)) is convex in
        a, and so at most top, and x'x = 2 + a^2. The bound is therefore a quadratic in a,

            base + 2 top - s a_0 + (top + m_2) a^2 + (s + m_12) a,

        and its largest value in the interval bounds the box. s is chosen so that, to first order, the largest
        eigenvalue of T(a) is the same on both sides of a_0.
        """
        a_0, half = self.middle, 0.5 * (self.high - self.low)
        m_1, m_2, m_12 = m.T
        trace = np.trace(Z, axis1=1, axis2=2)
        base = trace + self.constant + m_1 + m_2
        base = base + np.linalg.eigvalsh(self.other_matrices - Z[:, None])[:, :, -1].sum(axis=1)

        M = self.matrix(Z, m)
        values, vectors = np.linalg.eigh(M)
        leading = vectors[:, :, -1]
        derivative = self.E1.mT @ Z @ self.E2  # E_2(a) = E_y - a E_1, and M(a) has -E_2(a)'Z E_2(a)
        derivative = derivative + derivative.mT
        change = np.einsum("bi,bij,bj->b", leading, derivative, leading)
        s = change / np.maximum((leading[:, self.is_first] ** 2).sum(1), LEAST_OF_FIRST)
        slope = derivative - s[:, None, None] * np.diag(self.is_first.astype(float))
        at_low = np.linalg.eigvalsh(M - half[:, None, None] * slope)[:, -1]
        at_high = np.linalg.eigvalsh(M + half[:, None, None] * slope)[:, -1]
        top = np.maximum(at_low, at_high)

        bound = base + 2.0 * top + _largest_quadratic(top + m_2, s + m_12, self.low, self.high) - s * a_0
        in_middle = base + (2.0 + a_0**2) * values[:, -1] + m_2 * a_0**2 + m_12 * a_0
        # bounds the size of all terms, and so their rounding
        size = np.abs(base) + trace
        size = size + (2.0 + self.high**2) * (np.abs(m).sum(axis=1) + np.abs(self.H).max(axis=1))
        return bound + BOUND_ALLOWANCE * size, in_middle + BOUND_ALLOWANCE * size


def _largest_quadratic(bend: np.ndarray, rise: np.ndarray, low: np.ndarray, high: np.ndarray) -> np.ndarray:
    """Return the largest bend a^2 + rise a for a from `low` to `high`; all have shape (N,)."""
    concave = bend < 0.0
    peak = np.where(concave, -0.5 * rise / np.where(concave, bend, -1.0), low)
    a = np.stack([low, high, np.clip(peak, low, high)])
    return np.asarray((bend * a**2 + rise * a).max(axis=0))


def _spanned(A: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Return orthonormal bases D of the spans of A, (N, d, c), and t with (A A')^+ about D diag(t) D'.

    Small eigenvalues of A A' are raised, as their inverses slow the dual method down; bounds remain valid.
    """
    D, sizes, _ = np.linalg.svd(A, full_matrices=False)
    return D, 1.0 / np.maximum(sizes**2, FLOOR_OF_TWO * sizes[:, :1] ** 2)


#: Eigenvalues of G_TT are computed only if its Frobenius norm exceeds CLOSE, for CHUNK supports at a time.
CLOSE, CHUNK = 0.8, 50_000


class Sequence(Relaxed):
    """The problem of the joint search for adjusted variance, in any order of the components."""

    #: `prepare` sets both: the Lagrange multiplier (see :mod:`spcastat.proofs.duals`), and the
    #: cardinalities of all components, including those whose supports are not enumerated.
    multiplier: Multiplier | None = None
    all_cards: tuple[int, ...] = ()
    #: Whether `prepare` dropped all supports of some component, which proves its threshold.
    excluded = False

    singles_alone = False
    most_supports = 1_000_000  # `prepare` excludes most of them

    def prepare(self, V: np.ndarray, threshold: float, clock: Clock) -> None:
        """Find a Lagrange multiplier, and drop the supports that no fit above the threshold can have.

        Sets `multiplier`, `every` and `excluded`, and reduces `kept` and `cards`.

        Parameters
        ----------
        V : ndarray of shape (p, k)
            The loadings of a known fit; the search for the multiplier starts from their supports.
        threshold : float
            An adjusted variance: a support is dropped if no fit that has it can exceed this value.
        clock : Clock
            The search for the multiplier takes at most half of the time left.
        """
        self.cards = tuple(
            c
            for c in self.cards
            if clock.affords(20.0 * c**3 * comb(self.p, c), comb(self.p, c) // CHUNK + 1)
        )
        known_supports = [np.flatnonzero(v) for v in V.T]
        self.all_cards = tuple(len(T) for T in known_supports)
        counts = {c: self.all_cards.count(c) for c in dict.fromkeys(self.all_cards)}
        part = clock.until(time.perf_counter() + 0.5 * clock.seconds_left)
        best_multiplier = self.multiplier = multiplier(
            self.factor,
            counts,
            {c: np.unique([T for T in known_supports if len(T) == c], axis=0) for c in counts},
            lambda G, c: largest(G, c, self.supports_by_card.get(c), part),
            threshold,
            part.runs,
        )
        room = best_multiplier.bound - threshold
        for c, places in self.supports_by_card.items():
            # for fits with the support T, the bound of the multiplier is lower by theta (1 - g), where g is
            # the largest eigenvalue of G_TT
            G = gram(self.factor, best_multiplier.Z, best_multiplier.thresholds[c])
            self.supports_by_card[c] = places[
                best_multiplier.thresholds[c] * (1.0 - eigenvalues(G, places)) <= room
            ]
        self.excluded = not all(map(len, self.supports_by_card.values()))
        self.cards = tuple(c for c in self.cards if len(self.supports_by_card[c]) <= MOST_SUPPORTS)

    @cached_property
    def factor(self) -> np.ndarray:
        """The matrix F with S = F'F, shape (d, p), where d is at least k: rows of zeros are added.

        Bounds need k orthonormal directions of scores, also for components that add nothing.
        """
        F = least_squares_frame(self.S, self.k).F
        return np.vstack([F, np.zeros((max(self.k - len(F), 0), self.p))])

    def dense(self) -> float:
        bound = self.frame.dense
        return bound if self.multiplier is None else min(bound, self.multiplier.bound)

    def root(self, singles: np.ndarray) -> Root:
        sums = None
        if self.multiplier is not None:
            constant = (
                float(np.trace(self.multiplier.Z)) + float(self._singly[singles].sum()) + self._unsearched
            )
            sums = SeparableBound(constant, self._support_bounds)
        return Root(self.frame, singles, None, int((1 << singles).sum()), sums)

    @property
    def _unsearched(self) -> float:
        """The sum of theta (see `multiplier`) over the components whose supports are not enumerated."""
        assert self.multiplier is not None
        remaining_cards = list(self.all_cards)
        for c in (*self.cards, *(1,) * self.m):
            remaining_cards.remove(c)
        return sum(self.multiplier.thresholds[c] for c in remaining_cards)

    @cached_property
    def _support_bounds(self) -> tuple[SupportBounds, ...]:
        """For each searched component and support T, bounds on q'(N_T - Z)q for unit q; see `multiplier`."""
        assert self.multiplier is not None
        bounds_by_card = {}
        for c in dict.fromkeys(self.cards):
            A = self.factor[:, self.supports_by_card[c]].transpose(1, 0, 2)
            slices = blocks(len(A), self.factor.shape[0] ** 2, BATCH_VALUES)
            parts = [bounds_alone(A[part] @ A[part].mT - self.multiplier.Z) for part in slices]
            fields = zip(*(vars(bounds).values() for bounds in parts), strict=True)
            bounds_by_card[c] = SupportBounds(*(np.concatenate(arrays) for arrays in fields))
        return tuple(bounds_by_card[c] for c in self.cards)

    @cached_property
    def _singly(self) -> np.ndarray:
        """Bounds, shape (p,), on q'(ff' - Z)q over unit q, with f the column of F of each variable."""
        assert self.multiplier is not None
        columns = self.factor.T[:, :, None]
        return np.asarray(bounds_alone(columns @ columns.mT - self.multiplier.Z).largest)

    def alike(
        self, roots: list[Root], choices: np.ndarray, threshold: float, steps: int, running: Running
    ) -> np.ndarray:
        F = self.factor

        def outer(places: np.ndarray) -> np.ndarray:
            A = F[:, places].transpose(1, 0, 2)
            return A @ A.mT

        single_matrices = outer(np.stack([root.singles for root in roots]))
        single_variances = np.trace(single_matrices, axis1=1, axis2=2)
        groups = [outer(self.supports[t][rows]) - single_matrices for t, rows in enumerate(choices.T)]
        counts = [1] * len(groups)
        unsearched_count = self.k - self.m - len(groups)
        if unsearched_count:
            groups.append(F @ F.T - single_matrices)
            counts.append(unsearched_count)
        return single_variances + duals.ordered_bounds(
            groups, counts, threshold - single_variances, steps, running=running
        )

    @property
    def leaf_bounds(self) -> list[LeafBounds]:
        if not self.all_searched:
            return super().leaf_bounds
        exact_bounds: list[LeafBounds] = [self._first_bounds, self._first_two_bounds]
        return exact_bounds[: 2 if self.k == 3 <= len(self.factor) else 1]

    def _first_bounds(
        self, roots: list[Root], choices: np.ndarray, threshold: float, running: Running
    ) -> np.ndarray:
        """Return bounds as in `LeafBounds` that have the exact variance of the first component."""
        columns = self._columns(roots, choices)
        work_per_leaf = 2**HALVINGS * self.k * sum(A.shape[2] for A in columns) ** 2
        bound_parts = [
            first_component_bounds([A[part] for A in columns], threshold, LEAF, running)
            for part in blocks(len(roots), work_per_leaf, BATCH_VALUES)
        ]
        return np.concatenate(bound_parts)

    def _first_two_bounds(
        self, roots: list[Root], choices: np.ndarray, threshold: float, running: Running
    ) -> np.ndarray:
        """Return bounds as in `LeafBounds` that have the exact variances of the first two components."""
        return first_two_bounds(self._columns(roots, choices), threshold, running)

    def _columns(self, roots: list[Root], choices: np.ndarray) -> list[np.ndarray]:
        """Return, for each component, the columns of F on its supports in B leaves, shape (B, d, c_j)."""
        supports = [np.stack([root.singles for root in roots])[:, [i]] for i in range(self.m)]
        supports += [self.supports[t][rows] for t, rows in enumerate(choices.T)]
        return [self.factor[:, places].transpose(1, 0, 2) for places in supports]

    def single_bounds(self, singles: np.ndarray) -> np.ndarray:
        """Return bounds, shape (B,), which are exact if all components, at most 8, have one variable."""
        if self.m == self.k <= 8:  # the work grows as 2^k
            return duals.sequential(self.S, singles)
        bounds = super().single_bounds(singles)
        if self.multiplier is None:
            return bounds
        constant = float(np.trace(self.multiplier.Z)) + self._unsearched
        constant += sum(
            float(component_bounds.largest.max(initial=0.0)) for component_bounds in self._support_bounds
        )
        return np.minimum(bounds, constant + self._singly[singles].sum(axis=1))


def largest(G: np.ndarray, c: int, places: np.ndarray | None, clock: Clock) -> tuple[float, np.ndarray]:
    """Return a bound on the eigenvalues of G_TT over all supports T, and supports with large eigenvalues.

    Parameters
    ----------
    G : ndarray of shape (p, p)
    c : int
        The number of variables in T.
    places : ndarray of int, shape (n, c), or None
        All supports T; if None, the bound comes from branch and bound.
    clock : Clock
        If the time is up, the bound is the largest eigenvalue of G, and no supports are returned.
    """
    if c == 1:
        values = np.diag(G)
        order = np.argsort(-values)
        return float(values[order[0]]) + BOUND_ALLOWANCE, order[: 2 * SUPPORTS_ADDED, None]
    if places is None:
        proof = prove(G, c, time_limit=min(1.0, clock.seconds_left), max_nodes=200)
        return proof.bound, np.atleast_2d(np.sort(proof.support)) if len(proof.support) == c else np.zeros(
            (0, c), int
        )
    if not clock.runs():
        return float(np.linalg.eigvalsh(G)[-1]) + BOUND_ALLOWANCE, places[:0]
    values = eigenvalues(G, places)
    order = np.argpartition(-values, min(2 * SUPPORTS_ADDED, len(values) - 1))[: 2 * SUPPORTS_ADDED]
    order = order[np.argsort(-values[order])]
    return float(values[order[0]]) + BOUND_ALLOWANCE, places[order]


def eigenvalues(G: np.ndarray, places: np.ndarray) -> np.ndarray:
    """Return the largest eigenvalue of G_TT for each support T, (n,).

    If the Frobenius norm of G_TT is at most CLOSE, this norm is returned, which is an upper bound.
    """
    bound = norms(G, places)
    at = np.flatnonzero(bound > CLOSE)
    for begin in range(0, len(at), CHUNK):
        batch = at[begin : begin + CHUNK]
        bound[batch] = largest_eigenvalues(G, places[batch])
    return bound


def norms(G: np.ndarray, places: np.ndarray) -> np.ndarray:
    """Return the Frobenius norm of G_TT, a bound on its eigenvalues, for each support T, shape (n,)."""
    diagonal, pair_squares = np.diag(G) ** 2, (2.0 * G * G).ravel()
    columns = np.ascontiguousarray(places.T)
    starts = columns * len(G)
    total = diagonal[columns].sum(axis=0)
    for i, j in combinations(range(len(columns)), 2):
        total += pair_squares[starts[i] + columns[j]]
    return np.sqrt(total)


def largest_eigenvalues(G: np.ndarray, places: np.ndarray) -> np.ndarray:
    """Return the largest eigenvalue of G_TT for each support T, shape (n,)."""
    return np.asarray(np.linalg.eigvalsh(G[places[:, :, None], places[:, None, :]])[:, -1])


# --- two components, for each support of the first -------------------------------------------------


#: The shares kappa that are tried for every direction.
SHARES = (0.5, 0.8, 0.9, 0.95, 0.97, 0.985, 0.993, 0.999, 0.9999, 0.99999)
#: For a few supports only so many shares near the last good one are tried; if none closes any support, each
#: is examined on its own.
FEW_ROWS, NEARBY_SHARES = 16, 3
#: How often intervals of the variance of the first component are halved.
SCORE_HALVINGS = 4
#: Eigenvalues are computed of so many blocks with the largest norms, and of those for which elimination has a
#: pivot below PIVOT_SHARE times the level to be shown.
LARGE_BLOCKS, PIVOT_SHARE = 32, 1e-5
#: How many eigenvalues are computed of the blocks with the largest norms, and the steps of an ascent.
EIGENVALUES, ASCENTS = 512, 30
#: The mean score is taken again if it closes at least this share of open supports; else they are divided.
#: So are groups of three components.
CLOSED_SHARE = 0.1
#: The search ends if more supports of the first component are left for the last step.
MOST_FAILED = 100
#: So many of the first and of the last multipliers are tried for a larger bound if the search stops early.
RECENT = 20

#: Takes a list of pairs of supports and returns the adjusted variance to be proven.
Climb = Callable[[list[list[np.ndarray]]], float]


@dataclass(frozen=True, eq=False)
class Supports:
    """All supports of one cardinality, with the eigenvalues, descending, and eigenvectors of S on each.

    Attributes
    ----------
    places : ndarray of int, shape (n, c)
    values : ndarray of shape (n, c)
    vectors : ndarray of shape (n, c, c)
    """

    places: np.ndarray
    values: np.ndarray
    vectors: np.ndarray

    @classmethod
    def of(cls, S: np.ndarray, places: np.ndarray) -> Supports:
        values, vectors = np.linalg.eigh(S[places[:, :, None], places[:, None, :]])
        return cls(places, values[:, ::-1].clip(min=0.0), vectors[:, :, ::-1])

    @property
    def largest(self) -> np.ndarray:
        """Bounds on the variance of a component on each support, shape (n,)."""
        return self.values[:, 0] + 10.0 * BOUND_ALLOWANCE

    def leading(self, rows: np.ndarray, p: int) -> np.ndarray:
        """Return loadings of components with variance one on some supports, with positive sums, (m, p)."""
        x = np.zeros((len(rows), p))
        np.put_along_axis(x, self.places[rows], self.vectors[rows, :, 0], 1)
        return x * (np.where(x.sum(axis=1) < 0, -1.0, 1.0) / np.sqrt(self.values[rows, 0] + TINY))[:, None]


@dataclass(frozen=True, eq=False)
class ScoreMultiplier:
    """A multiplier z s s', where s is the unit vector of scores.

    Attributes
    ----------
    low, high : float
        The interval of the variance of the first component.
    a : ndarray of shape (p,)
        F's, where s are scores of length one.
    weight, theta : float
        z and theta.
    """

    low: float
    high: float
    a: np.ndarray
    weight: float
    theta: float

    def closes(self, first_supports: Supports, rows: np.ndarray, bound: float) -> np.ndarray:
        """Return whether `bound` holds if the first component has these supports, shape (m,)."""
        values = first_supports.values[rows] + BOUND_ALLOWANCE
        high = np.minimum(self.high, first_supports.largest[rows])[:, None]
        e = (first_supports.vectors[rows].mT @ self.a[first_supports.places[rows]][:, :, None])[:, :, 0]
        # diag(m) + z ee' is positive semidefinite if m has no negative entry, or has one and the sum of
        # z e^2 / m is at most -1
        m = (
            self.low * high
            - (self.low + high - bound + self.weight + self.theta) * values
            - 0.1 * BOUND_ALLOWANCE
        )
        negative = (m < 0.0).sum(axis=1)
        total = self.weight * (e * e / np.where(m == 0.0, TINY, m)).sum(axis=1)
        return np.asarray((negative == 0) | ((negative == 1) & (total <= -1.0)))


@dataclass(frozen=True, eq=False)
class Plane:
    """Two orthonormal scores q_1 = F x and q_2 = F y, where q_2 is best given q_1.

    Attributes
    ----------
    x, y : ndarray of shape (p,)
    slope, variance : float
        q_1'N q_2 and q_2'N q_2, where N = N_T of the second component.
    """

    x: np.ndarray
    y: np.ndarray
    slope: float
    variance: float

    def tilted(self, share: float) -> np.ndarray:
        """Return the loadings of s in this plane, for a multiplier z s s' with z (s'q_1) (s'q_2) = slope.

        With this s, q_2 is an eigenvector of N - z s s' within the plane.
        """
        weight = share / (1.0 - share) * self.variance
        sine = 2.0 * self.slope / weight if weight > 0.0 else 0.0
        angle = 0.5 * np.arcsin(min(max(sine, -1.0), 1.0))
        return np.asarray(np.cos(angle) * self.x + np.sin(angle) * self.y)


class Cover:
    """Multipliers for all supports of the first component.

    Parameters
    ----------
    S : ndarray of shape (p, p)
        Covariance matrix of total variance one.
    factor : ndarray of shape (d, p)
        F with S = F'F.
    first, second : Supports
        The supports of both components, in their order.
    target : float
        The adjusted variance to be proven.

    Attributes
    ----------
    multipliers : list of ScoreMultiplier
    """

    def __init__(
        self,
        S: np.ndarray,
        factor: np.ndarray,
        first_supports: Supports,
        second_supports: Supports,
        target: float,
    ):
        self.S, self.factor, self.target = S, factor, target
        self.first_supports, self.second_supports = first_supports, second_supports
        self.multipliers: list[ScoreMultiplier] = []
        self._open_rows = np.arange(len(first_supports.places))
        self._share = 0  # the place in SHARES of the last share that closed a support

    def begin(self, check: Callable[[], None]) -> None:
        """Find a first bound, of which there is none before `run`."""

    def run(self, check: Callable[[], None], climb: Climb) -> bool:
        """Find multipliers until no support of the first component is left.

        Return False if one is left, or too many are to be closed one by one, so that other bounds are needed.

        Parameters
        ----------
        check : callable
            Called before each direction; it may raise an error.
        climb : callable
            Takes pairs of supports, optimises loadings on them, and returns the adjusted variance to be
            proven, which is larger if a better fit was found.
        """
        while True:
            low, high = 0.5 * self.target, float(self.first_supports.largest.max())
            self._open_rows = self._interval(
                low, high, self._open_rows[self.first_supports.largest[self._open_rows] >= low], check
            )
            previous_target = self.target
            if len(self._open_rows):
                self.target = max(previous_target, climb(self._likely(self._open_rows[:50])))
            if self.target == previous_target:
                break
        if len(self._open_rows) > MOST_FAILED:
            return False
        while len(self._open_rows):
            if not self._single(low, int(self._open_rows[-1]), check):
                return False
            self._open_rows = self._open_rows[:-1]
        return True

    def _interval(self, low: float, high: float, rows: np.ndarray, check: Callable[[], None]) -> np.ndarray:
        """Close supports if the variance of the first component is in an interval; return those left."""
        failed, groups = [], [rows]
        while groups:
            rows = groups.pop()
            if not len(rows):
                continue
            check()
            loadings = self.first_supports.leading(rows, len(self.S))
            closed = self._closed(low, high, loadings.mean(axis=0), rows)
            rows, loadings = rows[~closed], loadings[~closed]
            if closed.sum() > CLOSED_SHARE * len(rows):
                groups.append(rows)
            elif len(rows) == 1:
                failed.append(int(rows[0]))
            elif len(rows) <= FEW_ROWS and not closed.any():
                groups += list(rows[:, None])
            elif len(rows):
                groups += divided(rows, loadings @ self.factor.T)
        return np.array(failed, dtype=int)

    def _likely(self, rows: np.ndarray) -> list[list[np.ndarray]]:
        """Return supports of the first component, each with a good one of the second."""
        pairs = []
        for row, x in zip(rows, self.first_supports.leading(rows, len(self.S)), strict=True):
            a = self.S @ x
            partner = np.argmax(norms(self.S - np.outer(a, a), self.second_supports.places))
            pairs.append([self.first_supports.places[row], self.second_supports.places[partner]])
        return pairs

    def _closed(self, low: float, high: float, loadings: np.ndarray, rows: np.ndarray) -> np.ndarray:
        """Store the multiplier of the scores with these loadings that closes most supports; return which."""
        best_multiplier, closed = None, np.zeros(len(rows), dtype=bool)
        a = self._scores(loadings)
        share_order = sorted(range(len(SHARES)), key=lambda i: abs(i - self._share))
        for i in share_order if len(rows) == 1 or len(rows) > FEW_ROWS else share_order[:NEARBY_SHARES]:
            share = SHARES[i]
            theta = (
                sparse_eigenvalue(self.S - share * np.outer(a, a), self.second_supports.places)
                + BOUND_ALLOWANCE
            )
            candidate = ScoreMultiplier(low, high, a, theta * share / (1.0 - share), theta)
            candidate_mask = candidate.closes(self.first_supports, rows, self.target)
            if candidate_mask.sum() > closed.sum():
                best_multiplier, closed, self._share = candidate, candidate_mask, i
            if candidate_mask.all():
                break
        if best_multiplier is not None:
            self.multipliers.append(best_multiplier)
        return closed

    def _scores(self, loadings: np.ndarray) -> np.ndarray:
        """Return F's for the scores s with these loadings."""
        product = self.S @ loadings
        return np.asarray(product / np.sqrt(max(float(loadings @ product), TINY)))

    def _single(self, low: float, row: int, check: Callable[[], None]) -> bool:
        """Close a support of the first component with all of the second; return whether that is possible."""
        all_seconds = np.arange(len(self.second_supports.places))
        todo = [(low, float(self.first_supports.largest[row]), all_seconds, 0)]
        while todo:
            check()
            low, high, seconds, halved = todo.pop()
            open_seconds = self._except_few(low, high, row, seconds)
            if 0 < len(open_seconds) < len(seconds):
                todo.append((low, high, open_seconds, halved))
            elif len(open_seconds) and halved < SCORE_HALVINGS:
                middle = middle_of(low, high)
                todo += [(low, middle, open_seconds, halved + 1), (middle, high, open_seconds, halved + 1)]
            elif len(open_seconds):
                return False
        return True

    def _except_few(self, low: float, high: float, row: int, seconds: np.ndarray) -> np.ndarray:
        """Store the multiplier that closes a support of the first component with most of the second.

        Return those of the supports `seconds` of the second component that are left.
        """
        best_multiplier, open_seconds = None, seconds
        places, at = self.second_supports.places[seconds], np.array([row])
        plane = self._plane(row, places)
        for share in SHARES:
            a = self._scores(plane.tilted(share))
            M = self.S - share * np.outer(a, a)
            sizes = norms(M, places)
            top = np.argsort(-sizes)[:EIGENVALUES]
            sizes[top] = largest_eigenvalues(M, places[top])
            order = np.argsort(-sizes)
            count = 0
            while count < len(open_seconds):
                theta = float(sizes[order[count]]) + BOUND_ALLOWANCE
                candidate = ScoreMultiplier(low, high, a, theta * share / (1.0 - share), theta)
                if candidate.closes(self.first_supports, at, self.target)[0]:
                    best_multiplier, open_seconds = candidate, seconds[order[:count]]
                    break
                count = max(1, 2 * count)
        if best_multiplier is not None:
            self.multipliers.append(best_multiplier)
        return open_seconds

    def _plane(self, row: int, places: np.ndarray) -> Plane:
        """Return a fit with large adjusted variance on a support of the first component."""
        S, T = self.S, self.first_supports.places[row]
        x = self.first_supports.leading(np.array([row]), len(S))[0]
        for _ in range(ASCENTS):
            a = S @ x  # x has variance one
            M = S - np.outer(a, a)
            U = places[np.argmax(norms(M, places))]
            vectors = np.linalg.eigh(M[np.ix_(U, U)])[1]
            y = np.zeros(len(S))
            y[U] = vectors[:, -1]
            slope = float(a @ y)
            # the gradient of the sum with respect to the loadings x / |x| of the first component
            unit = np.zeros(len(S))
            size = float(np.linalg.norm(x))
            unit[T] = S[T] @ ((1.0 + (slope * size) ** 2) * x / size - slope * size * y)
            x = unit / np.sqrt(max(float(unit @ S @ unit), TINY))
        a = S @ x
        slope = float(a @ y)
        orthogonal_part = y - slope * x
        orthogonal_part = orthogonal_part / np.sqrt(max(float(orthogonal_part @ S @ orthogonal_part), TINY))
        b = S @ orthogonal_part
        return Plane(x, orthogonal_part, float(a[U] @ b[U]), float(b[U] @ b[U]))

    @property
    def bound(self) -> float:
        """A bound for all supports that are not closed."""
        rows, bound = self._open_rows, self.target
        while len(rows) and bound < 1.0:
            bound *= 1.0025
            for score_multiplier in (*self.multipliers[:RECENT], *self.multipliers[-RECENT:]):
                wide = replace(score_multiplier, low=0.5 * bound, high=1.0)
                rows = rows[~wide.closes(self.first_supports, rows, bound)]
                rows = rows[self.first_supports.largest[rows] >= 0.5 * bound]
        return bound


def divided(rows: np.ndarray, scores: np.ndarray) -> list[np.ndarray]:
    """Divide supports in two by the first principal component of their scores, (m, d), or in halves."""
    centred = scores - scores.mean(axis=0)
    direction = np.linalg.eigh(centred.T @ centred)[1][:, -1]
    place = centred @ direction
    upper = place > np.median(place)
    if upper.all() or not upper.any():
        upper = np.arange(len(rows)) < len(rows) // 2
    return [rows[upper], rows[~upper]]


def middle_of(low: float, high: float) -> float:
    """Return where an interval of the variance of the first component is halved.

    The bound l + h - l h / t on t is too large by at most (sqrt(h) - sqrt(l))^2, then equal for both halves.
    """
    return float((0.5 * (np.sqrt(low) + np.sqrt(high))) ** 2)


def sparse_eigenvalue(M: np.ndarray, places: np.ndarray) -> float:
    """Return the largest eigenvalue of M on all supports, at least zero.

    Eigenvalues are computed of the blocks with the largest Frobenius norms, which bound them, and of those
    that an LDL' factorisation does not show to be smaller than the largest found.
    """
    sizes = norms(M, places)
    top = np.argpartition(-sizes, min(LARGE_BLOCKS, len(sizes)) - 1)[:LARGE_BLOCKS]
    eigenvalue = max(0.0, float(largest_eigenvalues(M, places[top]).max()))
    open_rows = np.flatnonzero(sizes > eigenvalue)
    open_rows = open_rows[~surely_below(M, places[open_rows], eigenvalue)]
    for begin in range(0, len(open_rows), CHUNK):
        eigenvalue = max(
            eigenvalue, float(largest_eigenvalues(M, places[open_rows[begin : begin + CHUNK]]).max())
        )
    return eigenvalue


def surely_below(M: np.ndarray, places: np.ndarray, level: float) -> np.ndarray:
    """Return for which supports, (n, c), all pivots of level I - M_TT are clearly positive, shape (n,).

    Then no eigenvalue of M_TT exceeds the level by more than rounding: pivots above PIVOT_SHARE times the
    level keep the errors of the elimination small.
    """
    c, columns = places.shape[1], np.ascontiguousarray(places.T)
    A = -M[columns[:, None], columns]  # (c, c, n): operations on the last axis are fast
    is_below = np.ones(len(places), dtype=bool)
    for i in range(c):
        A[i, i] += level
    for i in range(c):
        is_below &= A[i, i] > PIVOT_SHARE * level
        factor = A[i, i + 1 :] / np.where(is_below, A[i, i], 1.0)
        for j in range(i + 1, c):
            A[j, j:] -= factor[j - i - 1] * A[i, j:]
    return is_below
