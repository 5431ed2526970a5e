"""Properties of measures for the joint proof: bounds at the root and for partial choices of supports.

PEV and the least-squares share are both <M, P>, where P is the projection on the span of k vectors F v_j,
with F = I and M = S for PEV, and F = S^(1/2) and M = F F' for least squares. A component of one variable i
adds F e_i to the span, whatever the other components are. On the orthogonal complement of F e_i, the problem
has the same form with one component fewer: for PEV with S without row and column i, for least squares with
the Schur complement.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import cached_property
from itertools import combinations
from math import comb, prod
from typing import ClassVar

import numpy as np

from spcastat.linalg.accumulate import BATCH, blocks
from spcastat.linalg.eigenvectors import symmetric
from spcastat.proofs.duals import (
    BOUND_ALLOWANCE,
    Bases,
    Running,
    ky_fan,
    ordered_bounds,
    planes,
    support_bounds,
    within_union,
)
from spcastat.search.criteria import SupportRule

#: Columns of F are dependent if a singular value is below DEPENDENT times the largest one. If a singular
#: value is between DEPENDENT and CLEAR times the largest one, the rank is in doubt and the support is not
#: used.
DEPENDENT, CLEAR = 1e-9, 1e-5


# --- PEV and least squares as projections ---------------------------------------------------------


@dataclass(frozen=True, eq=False)
class ProjectionProblem:
    """The problem to maximise <M, P>, where P projects on the span of k vectors F v_j with sparse v_j.

    Attributes
    ----------
    M : ndarray of shape (d, d)
    F : ndarray of shape (d, q)
        A matrix with one column per variable.
    variables : ndarray of int, shape (q,)
        The indices of the variables of these columns.
    k : int
        The number of components.
    offset : float
        The variance explained by eliminated components.
    """

    M: np.ndarray
    F: np.ndarray
    variables: np.ndarray
    k: int
    offset: float = 0.0

    @cached_property
    def dense(self) -> float:
        """The bound for components that may use all variables."""
        return self.offset + float(ky_fan(self.M, self.k)) + BOUND_ALLOWANCE * float(np.trace(self.M))

    def bases(self, supports: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Return orthonormal bases of the columns of F on each support, and a mask of reliable bases.

        Parameters
        ----------
        supports : ndarray of int, shape (B, c)
            Positions in `variables`.

        Returns
        -------
        D : ndarray of shape (B, d, c)
            Some columns are zero if columns of F are linearly dependent.
        sound : ndarray of bool, shape (B,)
            Whether the rank is determined despite rounding.
        """
        A = self.F[:, supports].transpose(1, 0, 2)
        d, c = A.shape[1:]
        U, sizes, _ = np.linalg.svd(A, full_matrices=False)
        D = np.zeros((len(A), d, c))
        D[:, :, : U.shape[2]] = U * (sizes > DEPENDENT * sizes[:, :1])[:, None, :]
        return D, ~doubtful(sizes)


def doubtful(sizes: np.ndarray) -> np.ndarray:
    """Return whether rounding leaves the rank of columns with these singular values in doubt."""
    largest = sizes[..., :1]
    return np.asarray(((sizes > DEPENDENT * largest) & (sizes < CLEAR * largest)).any(axis=-1))


def pev_frame(S: np.ndarray, k: int) -> ProjectionProblem:
    """Return the `ProjectionProblem` for PEV, in the units of `S`."""
    return ProjectionProblem(S, np.eye(len(S)), np.arange(len(S)), k)


def least_squares_frame(S: np.ndarray, k: int) -> ProjectionProblem:
    """Return the `ProjectionProblem` for the least-squares share."""
    values, vectors = np.linalg.eigh(S)
    is_positive = values > 1e-13 * values[-1]  # smaller eigenvalues are treated as zero
    F = np.sqrt(values[is_positive])[:, None] * vectors[:, is_positive].T
    return ProjectionProblem(np.diag(values[is_positive]), F, np.arange(len(S)), k)


def without(frame: ProjectionProblem, single: np.ndarray) -> ProjectionProblem:
    """Eliminate components of one variable from a frame.

    Parameters
    ----------
    frame : ProjectionProblem
        The frame of either measure, before any elimination.
    single : ndarray of int, shape (m,)
        The variables of these components.
    """
    other_variables = np.setdiff1d(np.arange(frame.F.shape[1]), single)
    m, d = len(single), len(frame.M)
    A = frame.F[:, single]
    U, sizes, _ = np.linalg.svd(A)
    if doubtful(sizes):  # the rank is in doubt: allow any directions instead of these variables
        return ProjectionProblem(
            frame.M, frame.F[:, other_variables], frame.variables[other_variables], frame.k, frame.offset
        )
    m = min(m, d)
    N = U[:, m:]
    offset = float(np.trace(U[:, :m].T @ frame.M @ U[:, :m]))
    M = N.T @ frame.M @ N
    return ProjectionProblem(
        symmetric(M),
        N.T @ frame.F[:, other_variables],
        frame.variables[other_variables],
        frame.k - m,
        frame.offset + offset,
    )


def elimination_bounds(frame: ProjectionProblem, singles: np.ndarray) -> np.ndarray:
    """Return the bound for each choice of variables for the one-variable components, shape (B,).

    Parameters
    ----------
    frame : ProjectionProblem
    singles : ndarray of int, shape (B, m)

    Notes
    -----
    The bound is the variance that these variables explain plus the k - m largest eigenvalues on the
    complement.
    """
    d = len(frame.M)
    m = min(singles.shape[1], d)
    U, sizes, _ = np.linalg.svd(frame.F[:, singles].transpose(1, 0, 2))
    rotated_M = U.mT @ frame.M @ U
    single_variance = np.trace(rotated_M[:, :m, :m], axis1=1, axis2=2)
    bound = frame.offset + single_variance + ky_fan(rotated_M[:, m:, m:], frame.k - m)
    return np.where(doubtful(sizes), frame.dense, bound + BOUND_ALLOWANCE * float(np.trace(frame.M)))


# --- the interface of a measure -------------------------------------------------------------------


#: The largest number of supports of a component that are enumerated; with more, the component is treated as
#: dense.
MOST_SUPPORTS = 20_000
#: Number of steps of the dual method: while some supports are not chosen, when all are chosen, and in a last
#: attempt.
INNER, LEAF, LAST_STEPS = 20, 120, 800


@dataclass(frozen=True, eq=False)
class SupportBounds:
    """Bounds on the value that a component adds on each of n supports, for any other components.

    A component with direction q, a unit vector, adds at most q'Nq, where N is a matrix of its support, such
    as N_T - Z in :mod:`spcastat.proofs.duals`. Then N <= second_largest I + (largest - second_largest) u u',
    with the two largest eigenvalues of N and its leading eigenvector u.

    Attributes
    ----------
    largest, second_largest : ndarray of shape (n,)
    directions : ndarray of shape (n, d)
    """

    largest: np.ndarray
    second_largest: np.ndarray
    directions: np.ndarray


def bounds_alone(matrices: np.ndarray, bases: np.ndarray | None = None) -> SupportBounds:
    """Return the bounds for N = D A D', with A from `matrices`, (n, c, c), and D from `bases`, (n, d, c).

    Without bases, D is the identity.
    """
    values, vectors = np.linalg.eigh(matrices)
    largest, u = values[:, -1], vectors[:, :, -1]
    second_largest = values[:, -2] if values.shape[1] > 1 else np.minimum(largest, 0.0)
    directions = u if bases is None else (bases @ u[:, :, None])[:, :, 0]
    return SupportBounds(largest + BOUND_ALLOWANCE, second_largest + BOUND_ALLOWANCE, directions)


def losses(one: SupportBounds, rows: np.ndarray, other: SupportBounds, columns: np.ndarray) -> np.ndarray:
    """Return the sum of the bounds on two single components minus their joint bound, for each row.

    Parameters
    ----------
    one, other : SupportBounds
    rows : ndarray of int, shape (B,)
        Supports of `one`.
    columns : ndarray of int, shape (B, 1) or (n,)
        Supports of `other`: one for each row, or the same n supports for all rows.

    Returns
    -------
    ndarray of shape (B, 1) or (B, n)

    Notes
    -----
    Let a and b be first - second of `one` and `other`, and c the cosine between their leading eigenvectors u
    and w. The largest a (u'q)^2 + b (w'r)^2 over orthonormal q and r is the smallest tr Z with Z >= a uu' and
    Z >= b ww', which is (a + b + sqrt((a - b)^2 + 4 a b (1 - c^2))) / 2.
    """
    u, w = one.directions[rows], other.directions[columns]
    cosines = u @ w.T if columns.ndim == 1 else (u[:, None] * w).sum(axis=2)
    a, b = (one.largest - one.second_largest)[rows, None], (other.largest - other.second_largest)[columns]
    root = np.sqrt((a - b) ** 2 + 4.0 * a * b * (1.0 - cosines**2).clip(min=0.0))
    return np.asarray((0.5 * (a + b - root)).clip(min=0.0))


def disjoint_losses(pairs: dict[tuple[int, int], np.ndarray], members: tuple[int, ...]) -> np.ndarray | float:
    """Return the largest sum of losses of disjoint pairs of the components `members`, ascending."""
    if len(members) < 2:
        return 0.0
    member, *other_members = members
    largest_sum = disjoint_losses(pairs, tuple(other_members))
    for partner in other_members:
        remainder = tuple(j for j in other_members if j != partner)
        largest_sum = np.maximum(largest_sum, pairs[member, partner] + disjoint_losses(pairs, remainder))
    return largest_sum


@dataclass(frozen=True, eq=False)
class SeparableBound:
    """A bound of the form: a constant plus a bound on each single component with enumerated supports."""

    constant: float
    parts: tuple[SupportBounds, ...]

    def ceilings(self, choices: np.ndarray, level: int, threshold: float) -> np.ndarray:
        """Return the bounds for each support of the next component, shape (B, n).

        Parameters
        ----------
        choices : ndarray of int, shape (B, m)
            Indices of the supports of the components before the next one; other entries are not used.
        level : int
            The index of the next component.
        threshold : float
            Sums above it are reduced by the losses of pairs of components.
        """
        fixed = np.full(len(choices), self.constant)
        for t in range(level):
            fixed += self.parts[t].largest[choices[:, t]]
        later_sum = sum(float(bounds.largest.max(initial=0.0)) for bounds in self.parts[level + 1 :])
        bound = fixed[:, None] + self.parts[level].largest + later_sum
        at = np.flatnonzero((bound > threshold).any(axis=0))
        if level and at.size:
            among = {
                (t, s): losses(self.parts[t], choices[:, t], self.parts[s], choices[:, s, None])
                for s in range(level)
                for t in range(s)
            }
            last_losses = [losses(self.parts[t], choices[:, t], self.parts[level], at) for t in range(level)]
            # Losses of pairs that share a component overlap and cannot be added. Losses of disjoint pairs can
            # be added, and so can all losses if divided by the number of pairs of each component; subtract
            # the largest sum.
            reduction = (sum(among.values()) + sum(last_losses)) / level
            reduction = np.maximum(reduction, disjoint_losses(among, tuple(range(level))))
            for t, level_losses in enumerate(last_losses):
                other_levels = tuple(s for s in range(level) if s != t)
                reduction = np.maximum(reduction, level_losses + disjoint_losses(among, other_levels))
            bound[:, at] -= reduction
        return np.asarray(bound)


@dataclass(frozen=True, eq=False)
class Root:
    """The problem that remains after variables are chosen for the one-variable components.

    Attributes
    ----------
    frame : ProjectionProblem
    singles : ndarray of int, shape (m,)
    reach : ndarray of shape (r + 1, 2^q) or None
        Bounds by sets of variables; see `reaches`.
    mask : int
        The variables of the one-variable components as a bit mask, if other components may use them.
    sums : SeparableBound or None
        Bounds that are sums over components.
    """

    frame: ProjectionProblem
    singles: np.ndarray
    reach: np.ndarray | None
    mask: int = 0
    sums: SeparableBound | None = None


#: A function for bounds on leaves, in which the supports of all searched components are chosen. It takes
#: roots, chosen supports, a threshold and `running`, as in `Relaxed.bounds`, and returns an array of shape
#: (B,).
LeafBounds = Callable[[list[Root], np.ndarray, float, Running], np.ndarray]


class Relaxed(ABC):
    """A measure with given cardinalities; S is scaled to a total variance of one.

    Attributes
    ----------
    cards : tuple of int
        The cardinalities, ascending, of the "searched" components: those with several variables and
        enumerated supports.
    m : int
        The number of one-variable components.
    k : int
        The number of all components, including components that are treated as dense.
    variables : int
        The number of variables from which supports are chosen.
    single_work : int
        The number of operations for the bound of one choice of variables for one-variable components.
    disjoint : bool
        Whether no two supports share a variable.
    free : bool
        Whether all cardinalities are too large to restrict the components.
    """

    #: Whether the value of a fit is at most the sum of the variances of its components.
    by_variances: ClassVar[bool] = True
    #: Whether other components have no loadings on the variables of one-variable components.
    singles_alone: ClassVar[bool] = True
    #: The largest number of supports of a component that are enumerated.
    most_supports: ClassVar[int] = MOST_SUPPORTS
    disjoint = False

    def __init__(self, S: np.ndarray, cards: tuple[int, ...]):
        self.S = S
        self.p = len(S)
        self.k = len(cards)
        self.single_work = 12 * self.p**3
        ascending = sorted(min(c, self.p) for c in cards)
        self.m = sum(c == 1 for c in ascending)
        choices = comb(self.p, self.m)
        if self.m and (choices > 100_000 or choices * self.single_work > 3e11):
            self.m, ascending = 0, [self.p if c == 1 else c for c in ascending]
        self.variables = self.p - self.m * self.singles_alone
        self.cards = tuple(c for c in ascending if c > 1 and self.searched(c))
        self.free = all(c > self.p - self.k for c in cards)

    #: The rule for supports and the cardinalities of the components; None if all supports are allowed.
    rule: tuple[SupportRule, tuple[int, ...]] | None = None

    def under(self, rule: SupportRule, cards: tuple[int, ...]) -> bool:
        """Use a rule to exclude supports, and return whether it can be used.

        A support is retained if the rule allows it for some component with its cardinality. This method must
        be called before supports are listed.
        """
        if not self.cards or self.variables < self.p or (rule.disjoint and self.p > 62):
            return False  # sets of variables are stored as bit masks in an integer
        self.rule, self.disjoint = (rule, cards), rule.disjoint
        return True

    def admissible_supports(self, places: np.ndarray) -> np.ndarray:
        """Return the supports among `places`, shape (n, c), that the rule allows."""
        if self.rule is None:
            return places
        admissible_mask = np.zeros(len(places), dtype=bool)
        for may, must, card in zip(self.rule[0].may, self.rule[0].must, self.rule[1], strict=True):
            if card == places.shape[1]:
                admissible_mask |= may[places].all(axis=1) & (must[places].sum(axis=1) == must.sum())
        return places[admissible_mask]

    def searched(self, c: int) -> bool:
        """Return whether supports of c variables are enumerated: they are few, and c is a constraint."""
        return c < self.variables and comb(self.variables, c) <= self.most_supports

    @cached_property
    def frame(self) -> ProjectionProblem:
        """The frame of all variables."""
        return pev_frame(self.S, self.k)

    def dense(self) -> float:
        """Return the bound before any support is chosen."""
        return self.frame.dense

    def singles(self) -> np.ndarray:
        """Return all choices of variables for the one-variable components, shape (B, m)."""
        choices = list(combinations(range(self.p), self.m))
        return np.array(choices, dtype=int).reshape(len(choices), self.m)

    def single_bounds(self, singles: np.ndarray) -> np.ndarray:
        """Return the bounds, shape (B,), of choices of variables for the one-variable components."""
        return elimination_bounds(self.frame, singles)

    @cached_property
    def supports_by_card(self) -> dict[int, np.ndarray]:
        """The enumerated supports of each cardinality c, as indices of shape (n, c)."""
        different = dict.fromkeys(self.cards)
        return {
            c: self.admissible_supports(np.array(list(combinations(range(self.variables), c))))
            for c in different
        }

    @property
    def supports(self) -> list[np.ndarray]:
        """The supports of each searched component, as indices of shape (n_j, c_j)."""
        return [self.supports_by_card[c] for c in self.cards]

    @cached_property
    def masks(self) -> list[np.ndarray]:
        """The supports as bit masks, for tables of unions; only for few variables."""
        return [(1 << places).sum(axis=1) for places in self.supports]

    @property
    def all_searched(self) -> bool:
        """Whether the supports of all components are searched, so that tables of unions are valid."""
        return self.m + len(self.cards) == self.k

    @property
    def choices(self) -> int:
        """The number of combinations of all searched supports."""
        return comb(self.p, self.m) * prod(comb(self.variables, c) for c in self.cards)

    @abstractmethod
    def root(self, singles: np.ndarray) -> Root:
        """Return the problem that remains after a choice of variables for the one-variable components."""

    def bounds(
        self, roots: list[Root], choices: np.ndarray, threshold: float, steps: int, running: Running
    ) -> np.ndarray:
        """Return bounds on partial choices of supports, shape (B,).

        Parameters
        ----------
        roots : list of B Root
        choices : ndarray of int, shape (B, t)
            Indices into `supports` for the first t searched components.
        threshold, steps, running
            See :func:`spcastat.proofs.duals.support_bounds`.
        """
        root_bounds = np.array([root.frame.dense for root in roots])
        if not choices.shape[1]:
            return root_bounds
        shapes: dict[tuple[int, int], list[int]] = {}
        for b, root in enumerate(roots):
            shapes.setdefault((len(root.frame.M), root.frame.k), []).append(b)
        for (d, _), members in shapes.items():
            # steps for large matrices take longer
            work_per_root = d * d * (choices.shape[1] + 2) * max(1, d // 12)
            for batch in blocks(len(members), work_per_root, BATCH):
                if not running():
                    return root_bounds
                part = np.array(members[batch])
                batch_bounds = self.alike([roots[b] for b in part], choices[part], threshold, steps, running)
                root_bounds[part] = np.minimum(root_bounds[part], batch_bounds)
        return root_bounds

    @property
    def leaf_bounds(self) -> list[LeafBounds]:
        """Functions for bounds if all supports are chosen, each tighter than the previous one."""
        return [lambda roots, chosen, level, running: self.bounds(roots, chosen, level, LAST_STEPS, running)]

    @abstractmethod
    def alike(
        self, roots: list[Root], choices: np.ndarray, threshold: float, steps: int, running: Running
    ) -> np.ndarray:
        """Return dual bounds, shape (B,), on partial choices whose roots have matrices of equal size."""

    def variables_of(self, root: Root, choice: np.ndarray) -> list[np.ndarray]:
        """Return the variables of the one-variable components and the chosen supports, an array for each."""
        parts = [root.frame.variables[self.supports[t][row]] for t, row in enumerate(choice)]
        return [*(np.array([i]) for i in root.singles), *parts]


#: The largest number of variables for which all subsets are enumerated.
ENUMERATED_VARIABLES = 14


def union_table(frame: ProjectionProblem) -> np.ndarray:
    """Return, for every set of variables, a bound on fits with loadings only on this set, shape (2^q,).

    Bit i of the index represents variable i.

    Sets whose rank is in doubt due to rounding have the bound of all variables.
    """
    q, dense = len(frame.variables), frame.dense
    table = np.full(1 << q, dense)
    table[0] = frame.offset
    for size in range(1, q + 1):
        sets = np.array(list(combinations(range(q), size)))
        D, sound = frame.bases(sets)
        values = frame.offset + ky_fan(D.mT @ frame.M @ D, frame.k)
        values += BOUND_ALLOWANCE * float(np.trace(frame.M))
        table[(1 << sets).sum(axis=1)] = np.where(sound, np.minimum(values, dense), dense)
    return table


def reaches(table: np.ndarray, additions: int) -> np.ndarray:
    """Return, for r = 0, ..., `additions` and every set, the largest bound with up to r added variables.

    `table` comes from `union_table`; the result has shape (additions + 1, 2^q).
    """
    q = table.size.bit_length() - 1
    reach = np.empty((additions + 1, table.size))
    reach[0] = table
    index = np.arange(table.size)
    for r in range(1, additions + 1):
        reach[r] = reach[r - 1]
        for i in range(q):
            np.maximum(reach[r], reach[r - 1][index | (1 << i)], out=reach[r])
    return reach


# --- PEV and the least-squares share --------------------------------------------------------------


class Projection(Relaxed):
    """The problem for PEV."""

    #: Whether components with non-overlapping supports are separate problems.
    separates: ClassVar[bool] = True

    def searched(self, c: int) -> bool:
        """Return whether supports of c variables are enumerated.

        Every k-dimensional subspace is spanned by vectors with at most p - k + 1 nonzeros, so c >= p - k + 1
        is no constraint.
        """
        return c < self.p - self.k + 1 and comb(self.variables, c) <= self.most_supports

    def root(self, singles: np.ndarray) -> Root:
        frame = without(self.frame, singles) if self.m else self.frame
        reach = None
        if self.all_searched and self.cards and self.variables <= ENUMERATED_VARIABLES:
            reach = reaches(union_table(frame), sum(self.cards))
        return Root(frame, singles, reach)

    def alike(
        self, roots: list[Root], choices: np.ndarray, threshold: float, steps: int, running: Running
    ) -> np.ndarray:
        k = roots[0].frame.k
        M = np.stack([root.frame.M for root in roots])
        offset = np.array([root.frame.offset for root in roots])
        bases, sound = zip(
            *(_bases(roots, self.supports[t][rows]) for t, rows in enumerate(choices.T)), strict=True
        )
        matrix_bounds = self.dual_bounds(M, [*bases], choices, k, threshold - offset, steps, running)
        return np.where(np.all(sound, axis=0), offset + matrix_bounds, np.inf)

    def dual_bounds(
        self,
        M: np.ndarray,
        bases: list[np.ndarray],
        choices: np.ndarray,
        k: int,
        level: np.ndarray,
        steps: int,
        running: Running,
    ) -> np.ndarray:
        """Return dual bounds for matrices M and bases of the chosen supports, shape (B,).

        If all supports are chosen, PEV separates (unlike the least-squares share): components with disjoint
        supports are orthogonal whatever their loadings. Each group of components with overlapping supports is
        a separate problem, and a component that overlaps with no other explains its largest eigenvalue.
        """
        if choices.shape[1] < len(self.cards):
            return support_bounds(M, bases, k, level, steps, running=running)
        if not self.all_searched:
            return spanned_bounds(M, bases, k, level, steps, running)
        groups = np.zeros(choices.shape, dtype=int)
        if self.separates:
            groups = meeting([self.supports[t][rows] for t, rows in enumerate(choices.T)], self.variables)
        matrix_bounds = np.zeros(len(choices))
        patterns, pattern_of_row = np.unique(groups, axis=0, return_inverse=True)
        for number, pattern in enumerate(patterns):
            at = np.flatnonzero(pattern_of_row.ravel() == number)
            component_groups = [np.flatnonzero(pattern == g) for g in np.unique(pattern)]
            parts = [within_union(M[at], [bases[t][at] for t in members]) for members in component_groups]
            group_bounds = [
                spanned_bounds(*part, len(members), np.inf, 0, running)
                for part, members in zip(parts, component_groups, strict=True)
            ]
            total = np.sum(group_bounds, axis=0)
            for part, members, group_bound in zip(parts, component_groups, group_bounds, strict=True):
                if len(members) > 1:
                    other_bounds = total - group_bound
                    total = other_bounds + spanned_bounds(
                        *part, len(members), level[at] - other_bounds, steps, running
                    )
            matrix_bounds[at] = total
        return matrix_bounds


class RegressionProjection(Projection):
    """The problem for the least-squares share."""

    by_variances = False
    separates = False

    @cached_property
    def frame(self) -> ProjectionProblem:
        return least_squares_frame(self.S, self.k)


def spanned_bounds(
    M: np.ndarray, bases: list[np.ndarray], k: int, level: np.ndarray | float, steps: int, running: Running
) -> np.ndarray:
    """Return dual bounds for chosen supports, with a constraint for each pair, shape (B,).

    `planes` computes the bases for these constraints.
    """
    matrix_bounds = support_bounds(M, bases, k, level, steps, running=running)
    at = np.flatnonzero(matrix_bounds > level)
    if steps and at.size and len(bases) > 1 and k > 2:  # if k = 2, the plane of a pair is P
        parts = [D[at] for D in bases]
        pairs = planes(parts)
        ranks = [1] * len(parts) + [2] * len(pairs)
        levels = np.broadcast_to(level, matrix_bounds.shape)[at]
        pair_bounds = support_bounds(M[at], parts + pairs, k, levels, steps, ranks=ranks, running=running)
        matrix_bounds[at] = np.minimum(matrix_bounds[at], pair_bounds)
    return matrix_bounds


def meeting(supports: list[np.ndarray], q: int) -> np.ndarray:
    """Group supports that overlap, directly or through others; return the first of the group of each.

    Parameters
    ----------
    supports : list of m ndarrays of int, shape (B, c_j)
    q : int
        The number of variables.
    """
    B, m = len(supports[0]), len(supports)
    membership = np.zeros((B, m, q), dtype=bool)
    for t, places in enumerate(supports):
        membership[np.arange(B)[:, None], t, places] = True
    overlap = membership @ membership.mT
    for _ in range(max(m - 1, 0).bit_length()):
        overlap = overlap @ overlap
    return np.asarray(overlap.argmax(axis=2))


def _bases(roots: list[Root], places: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Return the basis of one support for each root, and a mask of reliable bases.

    See `ProjectionProblem.bases`. The bases of roots that share a frame are computed together.
    """
    d = len(roots[0].frame.M)
    D, sound = np.empty((len(roots), d, places.shape[1])), np.empty(len(roots), dtype=bool)
    groups: dict[int, list[int]] = {}
    for b, root in enumerate(roots):
        groups.setdefault(id(root.frame), []).append(b)
    for members in groups.values():
        D[members], sound[members] = roots[members[0]].frame.bases(places[members])
    return D, sound


# --- orthogonal loadings ----------------------------------------------------------------------------
# If v_1, ..., v_k are orthonormal, PEV is the sum of v_j' S v_j. A component explains at most the largest
# eigenvalue on its support, and no other component can use the variable of a one-variable component. See also
# Cory-Wright and Pauphilet, "Sparse PCA with multiple components".


class Orthogonal(Projection):
    """The problem for PEV of orthogonal loadings."""

    def __init__(self, S: np.ndarray, cards: tuple[int, ...]):
        super().__init__(S, cards)
        self.free = all(c >= self.p for c in cards)

    searched = Relaxed.searched  # unlike for PEV in general, any c < p is a constraint

    def root(self, singles: np.ndarray) -> Root:
        root = super().root(singles)
        M = root.frame.M
        constant = root.frame.offset + float(ky_fan(M, root.frame.k - len(self.cards))) + BOUND_ALLOWANCE
        bases = {c: root.frame.bases(places)[0] for c, places in self.supports_by_card.items()}
        bounds_by_card = {c: bounds_alone(D.mT @ M @ D, D) for c, D in bases.items()}
        return replace(
            root, mask=0, sums=SeparableBound(constant, tuple(bounds_by_card[c] for c in self.cards))
        )

    def dual_bounds(
        self,
        M: np.ndarray,
        bases: list[np.ndarray],
        choices: np.ndarray,
        k: int,
        level: np.ndarray,
        steps: int,
        running: Running,
    ) -> np.ndarray:
        groups, counts = [D.mT @ M @ D for D in bases], [1] * len(bases)
        all_bases: Bases = [*bases]
        if k > len(bases):
            groups, counts, all_bases = [*groups, M], [*counts, k - len(bases)], [*all_bases, None]
        return ordered_bounds(groups, counts, level, steps, bases=all_bases, running=running)
