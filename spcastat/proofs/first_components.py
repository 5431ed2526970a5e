"""Upper bounds on adjusted variance with the exact variance of the first component, or of the first two.

Let S = F'F, F_T be the columns of F on the support T, N_T = F_T F_T', and q_1, ..., q_k be the orthonormal
directions of the scores. T1, ..., Tk are the supports of the components in their order.

**The first component** has variance 1 / (q_1' N_T1^+ q_1), with q_1 in the span of F_T1. This is at most q_1'
N_T1 q_1 (Jensen's inequality), the bound that is used for the other components. The relaxation to matrices
X_j of trace one is:

    maximise  1 / tr(N_T1^+ X_1) + sum_j tr(N_Tj X_j)  subject to  sum_j X_j <= I.

The function 1/t is convex: if a = 1/t is in [l, u], it is at most the chord l + u - l u t. For each interval
of a the problem therefore becomes linear, as in `spcastat.proofs.duals.ordered_bounds`. The chord exceeds 1/t
by at most (sqrt(u) - sqrt(l))^2, and for two components intervals whose bound is above the threshold are
halved.

**The first two components.** The second has scores b y with y = q_2 + a q_1 in the span of F_T2, so its
variance given the first is b^2 = 1 / (y' N_T2^+ y). The sign of q_1 is free, so a >= 0 without loss of
generality. The other components add at most q_j' N_Tj q_j, which is exact for the last component.

The two variances and a are each restricted to an interval, and boxes of three intervals are halved until
their bounds are below the threshold. In a box, 1/t is replaced by its chord, and the problem becomes
quadratic in the coordinates x of (q_1, y) in the spans of both supports, with

    q_1'q_1 = 1,  y'y = 1 + a^2,  q_1'y = a,  q_1 = E_1 x,  q_2 = y - a q_1 = E_2(a) x,
    E_1 Y E_1' + E_2(a) Y E_2(a)' + sum_j X_j <= I

for Y = xx' and X_j = q_j q_j', relaxed to positive semidefinite matrices. For any Z >= 0 and any numbers m_1,
m_2 and m_12, the dual bound is

    tr Z + sum_j lambda_max(N_Tj - Z) + m_1 + m_2 (1 + a^2) + m_12 a + (2 + a^2) lambda_max(M(a)),
    M(a) = H - E_1' Z E_1 - E_2(a)' Z E_2(a) - m_1 I_1 - m_2 I_2 - m_12 K,

where x'Hx contains the chords without their constants, x'I_1 x = q_1'q_1, x'I_2 x = y'y and x'Kx = q_1'y.
M(a) is concave in a, and therefore at most its tangent in the middle of the interval. The largest eigenvalue
of the tangent is convex in a, and therefore largest at an end.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from itertools import permutations

import numpy as np

from spcastat.linalg.accumulate import blocks
from spcastat.proofs.duals import (
    BOUND_ALLOWANCE,
    RATIO,
    Ascent,
    Relaxation,
    Running,
    fantope,
    ordered_bounds,
    ordered_relaxation,
    positive,
    union_basis,
)
from spcastat.proofs.relaxed import LEAF
from spcastat.search.matrices import SMALLEST

# --- the first component --------------------------------------------------------------------------


#: The largest number of times that an interval is halved, for two components. Without halving, a proof for
#: the diabetes data with cardinalities 4 and 4 does not end (gap .087 % instead of .009 %). For more
#: components, halving lowered no bound by more than .001 %.
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
    """Return bounds on adjusted variance, valid for any order of the components, and never below `threshold`.

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

    `A`, shape (B, d, c), contains the columns of F on the support of that component, and `other_factors` the
    columns on the supports of the other components. A bound below `threshold` is raised to it. The result has
    shape (B,).
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
    whole_bounds = np.full(len(problems), np.inf)  # bounds for the intervals before halving
    halvings = HALVINGS if len(other_factors) == 1 else 0
    for halving in range(halvings + 1):
        relaxation = interval_relaxation(
            ends**2, values[problems], D[problems], [N[problems] for N in other_matrices]
        )
        interval_bounds = relaxation.bounds(threshold[problems], steps, running)[0]
        interval_bounds = np.minimum(interval_bounds, whole_bounds)
        is_open = interval_bounds > threshold[problems]
        problems, ends, interval_bounds = problems[is_open], ends[is_open], interval_bounds[is_open]
        if not len(problems) or halving == halvings or not running():
            np.maximum.at(bound, problems, interval_bounds)
            return bound
        middle = ends.mean(axis=1)
        ends = np.concatenate([np.stack([ends[:, 0], middle], 1), np.stack([middle, ends[:, 1]], 1)])
        problems, whole_bounds = np.tile(problems, 2), np.tile(interval_bounds, 2)
    return bound


def interval_relaxation(
    ends: np.ndarray, values: np.ndarray, D: np.ndarray, other_matrices: list[np.ndarray]
) -> Relaxation:
    """Return relaxations in which the variance of the first component is in an interval [l, u].

    The chord replaces 1/t; see the module's docstring.

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


#: The largest number of boxes of one leaf, of boxes that are examined together, and of steps for each box.
MOST_BOXES, BOXES_TOGETHER, BOX_STEPS = 400, 500, 300
#: A leaf has no bound if the second component may add less than this share of its largest variance: the
#: interval of a would be too long.
SLIGHT = 0.01
#: The same as `FLOOR`, for N_T of the first two components.
FLOOR_OF_TWO = 1e-3
#: The smallest q_1'q_1 by which the tangent of M(a) is divided.
LEAST_OF_FIRST = 0.01


def first_two_bounds(
    factors: list[np.ndarray], threshold: float, running: Running = lambda: True
) -> np.ndarray:
    """Return bounds on adjusted variance, valid for any order of the components, and never below `threshold`.

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
    In the order with the largest adjusted variance, the variances added by successive components do not
    increase.
    """
    Q = union_basis(factors)
    factors = [Q.mT @ A for A in factors]
    groups = [A @ A.mT for A in factors]
    k, bound = len(groups), np.full(len(Q), threshold)
    without = []  # bounds on the sum that the components other than j add
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
        A lower bound on the variance that the second component adds.
    threshold : float
        Bounds below it are raised to it.
    running : callable
        Called between steps; if it returns False, bounds may be infinite.
    """
    bound, second_maximum = np.full(len(A), threshold), _largest_variance(B)
    feasible, slight = ends[:, 0] < ends[:, 1], second_minimum < SLIGHT * second_maximum
    bound[feasible & slight] = np.inf  # the second component may add too little in fits above the threshold
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
    examined = np.zeros(len(A), dtype=int)  # number of boxes examined for each leaf
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
    first_variances, second_variances : ndarray of shape (N, 2)
        The intervals of the variance of the first component, and of the variance b^2 added by the second.
    a : ndarray of shape (N, 2)
        The intervals of a.
    bound : ndarray of shape (N,)
        The smallest bound found for the box or for one that contains it; infinite if there is none.
    start : ndarray of shape (N, 3 + d^2)
        The initial numbers m and matrix Z.
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
        """Return the lower, then the upper halves of boxes, split along the interval that costs most.

        `by_tangent`, shape (N,), is the loss of the bounds by the tangent of M(a). The loss by the chord of a
        variance is at most (sqrt(u) - sqrt(l))^2.
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
        """Return the boxes restricted to feasible a, without the boxes in which no a is feasible.

        The variance of the second component alone is b^2 (1 + a^2), and at most the largest eigenvalue of
        N_T2, which `second_maximum`, shape (L,), contains for each leaf.
        """
        low, high = self.a.T
        reach = np.sqrt((second_maximum[self.leaf] / self.second_variances[:, 0] - 1.0).clip(min=0.0))
        high = np.minimum(high, reach)
        return replace(self, a=np.column_stack([low, high])).subset(low <= high)


def _halves(ends: np.ndarray, halved_mask: np.ndarray) -> np.ndarray:
    """Return intervals, shape (N, 2), twice; intervals in `halved_mask` as lower, then as upper halves."""
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
    """Return the boxes with new bounds and starts, and the loss of each bound by the tangent of M(a).

    See `with_two` for the other arguments.
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
        The intervals, and the initial m and Z.
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
        self.constant = low_1 + high_1 + low_2 + high_2  # of the chords; H contains the linear terms
        self.H = -np.hstack([(low_1 * high_1)[:, None] * t[0], (low_2 * high_2)[:, None] * t[1]])
        blank = np.zeros_like(D[0]), np.zeros_like(D[1])
        self.E1, Ey = np.concatenate([D[0], blank[1]], 2), np.concatenate([blank[0], D[1]], 2)
        self.E2 = Ey - self.middle[:, None, None] * self.E1  # for a in the middle of its interval
        self.K = 0.5 * (self.E1.mT @ Ey + Ey.mT @ self.E1)
        self.other_matrices = other_matrices
        N, d, n = self.E1.shape
        m = other_matrices.shape[1]
        self.is_first = np.arange(n) < D[0].shape[2]  # the coordinates of x that belong to q_1
        scale = self.constant[:, None, None]
        # bounds the norm of the map from Y and X
        size = np.sqrt(m + 2.0 * (2.0 + self.middle**2))[:, None, None]
        self.tau, self.sigma = RATIO / (size * scale), scale / (RATIO * size)
        self.Y, self.X = np.zeros((N, n, n)) + np.eye(n) / n, np.zeros((N, m, d, d)) + np.eye(d) / d
        self.m, self.Z = boxes.start[:, :3], boxes.start[:, 3:].reshape(N, d, d)
        self.excess = self.ahead = self._excess()

    def matrix(self, Z: np.ndarray, m: np.ndarray) -> np.ndarray:
        """Return M(a) of the module's docstring, (N, n, n), for a in the middle of its interval.

        `Z` has shape (N, d, d), and `m`, shape (N, 3), contains the numbers m_1, m_2 and m_12.
        """
        free = self.H - np.where(self.is_first, m[:, :1], m[:, 1:2])
        M = free[:, :, None] * np.eye(free.shape[1]) - m[:, 2, None, None] * self.K
        return np.asarray(M - self.E1.mT @ Z @ self.E1 - self.E2.mT @ Z @ self.E2)

    def _excess(self) -> list[np.ndarray]:
        """Return the violations by Y, (N, n, n), and X, (N, m, d, d), of the constraints for Z and m."""
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

    def proof(self) -> tuple[np.ndarray, np.ndarray]:
        bound, middle = self.certified(self.Z, self.m)
        return bound, np.column_stack([middle, self.m, self.Z.reshape(len(self.Z), -1)])

    def certified(self, Z: np.ndarray, m: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Return the bounds that Z and m prove, shape (N,), and the bounds if a is in the middle.

        Let a_0 be the middle of the interval. As in the module's docstring, the adjusted variance for a given
        a is at most

            base + m_2 a^2 + m_12 a + x'M(a)x,

        where base = tr Z + sum_j lambda_max(N_Tj - Z) + m_1 + m_2 plus the constants of the chords. M(a) is
        concave, and therefore at most its tangent M(a_0) + (a - a_0) M'(a_0). As x'I_1 x = q_1'q_1 = 1, for
        any s

            x'M(a)x <= s (a - a_0) + x'T(a)x,  T(a) = M(a_0) + (a - a_0) (M'(a_0) - s I_1).

        Let top be the larger of lambda_max(T(a)) at the two ends of the interval. lambda_max(T(a)) is convex
        in a, and therefore at most top, and x'x = 2 + a^2. The bound is therefore a quadratic in a,

            base + 2 top - s a_0 + (top + m_2) a^2 + (s + m_12) a,

        and its largest value in the interval bounds the box. The number s is chosen so that, to first order,
        the largest eigenvalue of T(a) is the same on both sides of a_0.
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
        # bounds the size of all terms, and therefore their rounding
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
    """Return orthonormal bases D of the spans of A, (N, d, c), and t with (A A')^+ near D diag(t) D'.

    Small eigenvalues of A A' are raised, as their inverses slow the dual method down; bounds remain valid.
    """
    D, sizes, _ = np.linalg.svd(A, full_matrices=False)
    return D, 1.0 / np.maximum(sizes**2, FLOOR_OF_TWO * sizes[:, :1] ** 2)
