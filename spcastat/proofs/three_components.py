"""Upper bounds on the adjusted variance of three components, for each support of the first.

In the order with the largest adjusted variance, the variances added by successive components do not increase.
Therefore the first component has a variance t of at least a third of the sum, and the second adds at least
half of the remainder.

Let S = F'F, F_T be the columns of F on the support T, N_T = F_T F_T', and q_1, q_2, q_3 be the orthonormal
directions of the scores. For t in an interval from l to h, t <= l + h - l h q_1'N_T1^+ q_1 (a chord of 1/t,
see `spcastat.proofs.first_components`). For any Z >= 0 the sum is therefore at most

    tr Z + f(T1) + g(T2) + g(T3),  g(T) = lambda_max(N_T - Z),

where f(T1) is the largest l + h - l h q'N_T1^+ q - q'Zq over unit vectors q in the span of F_T1. If one
factor dominates, a Z that is large in the direction of its scores gives good bounds for many supports T1, and
for all supports of the other components: q_2 and q_3 are orthogonal to q_1, which is close to this direction.

`Trios` finds such a Z for a group of supports T1 by column generation. It closes the supports for which this
bound, reduced for each pair T2, T3 (`spcastat.proofs.relaxed.losses`), is at most the adjusted variance to be
proven. If it closes none, the group is split according to the first principal component of the scores. For
single supports that remain open, intervals are halved. The pairs T2, T3 that still remain are bounded by
boxes; see `spcastat.proofs.first_components.with_two`.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from spcastat.linalg.accumulate import BATCH, blocks
from spcastat.proofs.duals import (
    BOUND_ALLOWANCE,
    PROJECTION_SCALE,
    RATIO,
    STEPS_PER_BOUND,
    STEPS_PER_ROUND,
    SUPPORTS_ADDED,
    Running,
    positive,
    shared,
    union_basis,
)
from spcastat.proofs.first_components import FLOOR, with_two
from spcastat.proofs.relaxed import bounds_alone, losses
from spcastat.proofs.two_components import CLOSED_SHARE, Climb, Supports, divided, middle_of

#: Column generation ends when a round lowers the bound by less than this share.
FALL = 1e-4
#: Supports whose relaxed projection has a smaller trace are dropped after a round.
UNUSED = 1e-4
#: The initial Z contains this multiple of the largest variance in the direction of the mean scores, which
#: suffices to make q_1 close to this direction and the other scores orthogonal to it.
START = 3.0
#: The number of pairs of supports on which climbs are tried at once.
CLIMBED_PAIRS = 50
#: The number of times that the interval of a single support is halved.
INTERVAL_HALVINGS = 3
#: The number of leaves that are bounded together.
LEAVES = 200


@dataclass(frozen=True, eq=False)
class Others:
    """The second and the third component, in either order.

    Attributes
    ----------
    cards : tuple of two ints
    places : dict of int to ndarray of int, shape (n, c)
        Cardinality -> supports.
    matrices : dict of int to ndarray of shape (n, d, d)
        Cardinality -> N_T for each support.
    """

    cards: tuple[int, int]
    places: dict[int, np.ndarray]
    matrices: dict[int, np.ndarray]

    @classmethod
    def of(cls, F: np.ndarray, places: dict[int, np.ndarray], cards: tuple[int, int]) -> Others:
        matrices = {}
        for c in dict.fromkeys(cards):
            A = F[:, places[c]].transpose(1, 0, 2)
            matrices[c] = A @ A.mT
        return cls(cards, {c: places[c] for c in matrices}, matrices)

    def subset(self, rows_by_card: dict[int, np.ndarray]) -> Others:
        """Return the supports of each cardinality that are in `rows_by_card`."""
        return Others(
            self.cards,
            {c: T[rows_by_card[c]] for c, T in self.places.items()},
            {c: N[rows_by_card[c]] for c, N in self.matrices.items()},
        )

    def largest(self, Z: np.ndarray) -> dict[int, np.ndarray]:
        """Return g(T) of the module's docstring for each support of each cardinality."""
        return {c: np.linalg.eigvalsh(N - Z)[:, -1] for c, N in self.matrices.items()}

    def pairs(self, Z: np.ndarray, room: float) -> tuple[np.ndarray, np.ndarray]:
        """Return pairs of supports that may add more than `room` beyond tr Z, and bounds on their additions.

        All other pairs add at most `room`. The pairs have shape (m, 2); if there are too many, no pair is
        returned, and a single bound for all.
        """
        c, d = self.cards
        single_bounds = self.largest(Z)
        at = [
            np.flatnonzero(single_bounds[a] + single_bounds[b].max() + 2.0 * BOUND_ALLOWANCE > room)
            for a, b in ((c, d), (d, c))
        ]
        if len(at[0]) * len(at[1]) > BATCH:
            largest_sum = float(single_bounds[c].max() + single_bounds[d].max()) + 2.0 * BOUND_ALLOWANCE
            return np.zeros((0, 2), dtype=int), np.array([max(largest_sum, room)])
        first_bounds, second_bounds = (
            bounds_alone(self.matrices[a][rows] - Z) for a, rows in zip((c, d), at, strict=True)
        )
        rows, columns = np.arange(len(at[0])), np.arange(len(at[1]))
        total = (
            first_bounds.largest[:, None]
            + second_bounds.largest
            - losses(first_bounds, rows, second_bounds, columns)
        )
        if c == d:
            total = np.where(rows[:, None] <= columns, total, -np.inf)
        i, j = np.nonzero(total > room)
        return np.column_stack([at[0][i], at[1][j]]), total[i, j]


class Trios:
    """Bounds on three components for each support of the first component.

    Parameters
    ----------
    factor : ndarray of shape (d, p)
        F with S = F'F.
    first_supports : Supports
        The supports of the first component.
    other_supports : Others
        The supports of the other components.
    target : float
        The adjusted variance to be proven.
    running : callable
        Returns False once the time has run out.

    Attributes
    ----------
    bounds : ndarray of shape (n,)
        A bound for each support of the first component, at least the target; infinite if none is known.
    """

    def __init__(
        self,
        factor: np.ndarray,
        first_supports: Supports,
        other_supports: Others,
        target: float,
        running: Running,
    ):
        self.factor, self.target = factor, target
        self.first_supports, self.other_supports = first_supports, other_supports
        self.running = running
        A = factor[:, first_supports.places].transpose(1, 0, 2)
        self.bases, sizes, _ = np.linalg.svd(A, full_matrices=False)
        self.largest_variances = sizes[:, 0] ** 2 * (1.0 + BOUND_ALLOWANCE)
        largest = np.maximum(sizes[:, :1] ** 2, np.finfo(float).tiny)
        self.inverse = 1.0 / np.maximum(sizes**2, FLOOR * largest)
        self.low = target / 3.0
        self.bounds = np.where(self.largest_variances < self.low, target, np.inf)
        self._root_generation: _ColumnGeneration | None = None

    def begin(self, check: Callable[[], None]) -> None:
        """Bound all supports of the first component by one multiplier."""
        rows = np.flatnonzero(self.bounds > self.target)
        if len(rows):
            check()
            self._root_generation = _ColumnGeneration(self, self.other_supports, rows, self.low, None)
            self._lower(rows, self._root_generation.solve())

    def _lower(self, rows: np.ndarray, solution: Solved) -> None:
        """Lower the bounds of supports of the first component; `solution` is for the whole interval of t."""
        bounds = np.maximum(solution.bounds, self.target)
        self.bounds[rows] = np.minimum(self.bounds[rows], bounds)

    @property
    def bound(self) -> float:
        """A bound for all supports of the first component."""
        return float(self.bounds.max(initial=self.target))

    def run(self, check: Callable[[], None], climb: Climb) -> bool:
        """Lower the bounds of all supports of the first component; return whether the target is proven.

        Parameters
        ----------
        check : callable
            Called before each multiplier; it may raise an error.
        climb : callable
            Takes supports of fits, optimises loadings on them, and returns the adjusted variance to be
            proven, which is larger if a better fit was found.
        """
        if self._root_generation is None:
            self.begin(check)
        unresolved: list[tuple[int, np.ndarray]] = []
        groups = [(np.flatnonzero(self.bounds > self.target), self._root_generation)]
        while groups:
            group_index = max(range(len(groups)), key=lambda i: self.bounds[groups[i][0]].max(initial=0.0))
            rows, parent = groups.pop(group_index)
            rows = rows[self.bounds[rows] > self.target]
            if not len(rows):
                continue
            check()
            column = _ColumnGeneration(self, self.other_supports, rows, self.low, parent)
            solution = column.solve()
            self._lower(rows, solution)
            open_rows = rows[self.bounds[rows] > self.target]
            if len(rows) - len(open_rows) > CLOSED_SHARE * len(rows):
                groups.append((open_rows, column))
            elif len(rows) == 1:
                unresolved.append((int(rows[0]), solution.pairs))
            else:
                loadings = self.first_supports.leading(open_rows, self.factor.shape[1])
                groups += [(part, column) for part in divided(open_rows, loadings @ self.factor.T)]
        unresolved.sort(key=lambda entry: -self.bounds[entry[0]])
        self._climb(
            [self._supports(row, pairs[0]) for row, pairs in unresolved[:CLIMBED_PAIRS] if len(pairs)], climb
        )
        for row, pairs in unresolved:
            if self.bounds[row] > self.target and len(pairs):
                self._single(row, pairs, check, climb)
        return self.bound <= self.target

    def _climb(self, fits: list[list[np.ndarray]], climb: Climb) -> None:
        if fits:
            self.target = max(self.target, climb(fits))

    def _supports(self, row: int, pair: np.ndarray) -> list[np.ndarray]:
        T, U = (
            self.other_supports.places[c][i] for c, i in zip(self.other_supports.cards, pair, strict=True)
        )
        return [self.first_supports.places[row], T, U]

    def highest(self, Z: np.ndarray, rows: np.ndarray, low: float, high: float = np.inf) -> np.ndarray:
        """Return f(T1) of the module's docstring for the supports `rows` of the first component."""
        top = np.minimum(self.largest_variances[rows], high)[:, None]
        chord = low + top - low * top * self.inverse[rows]
        D = self.bases[rows]
        M = chord[:, :, None] * np.eye(chord.shape[1]) - D.mT @ Z @ D
        return np.asarray(
            np.linalg.eigvalsh(M)[:, -1] + BOUND_ALLOWANCE * (np.trace(Z) + np.abs(chord).max(axis=1))
        )

    def _single(self, row: int, pairs: np.ndarray, check: Callable[[], None], climb: Climb) -> None:
        """Lower the bound of one support of the first component, given the pairs for which it is open."""
        todo = [(self.low, float(self.largest_variances[row]), pairs, 0)]
        leaves: list[tuple[float, float, np.ndarray]] = []
        while todo:
            check()
            low, high, pairs, halved = todo.pop()
            c, d = self.other_supports.cards
            rows_by_card = {
                a: np.unique(pairs[:, [i for i, b in enumerate((c, d)) if b == a]]) for a in (c, d)
            }
            column = _ColumnGeneration(
                self, self.other_supports.subset(rows_by_card), np.array([row]), low, None, high
            )
            solution = column.solve()
            if solution.excess <= 0.0:
                continue
            if len(solution.pairs):  # otherwise there were too many, and all remain
                still_open = np.column_stack(
                    [rows_by_card[a][solution.pairs[:, i]] for i, a in enumerate((c, d))]
                )
                pairs_before = set(map(tuple, pairs.tolist()))
                open_pairs = [pair for pair in still_open.tolist() if tuple(pair) in pairs_before]
                pairs = np.array(open_pairs, dtype=int).reshape(-1, 2)
            if not len(pairs):
                continue
            # chords exceed 1/t by at most `loss`, so halving an interval lowers bounds by at most as much
            loss = (np.sqrt(high) - np.sqrt(low)) ** 2
            if halved < INTERVAL_HALVINGS and loss > 0.5 * solution.excess:
                middle = middle_of(low, high)
                todo += [(low, middle, pairs, halved + 1), (middle, high, pairs, halved + 1)]
            else:
                leaves.append((low, high, pairs))
        bound = self.target
        for low, high, pairs in leaves:
            for part in blocks(len(pairs), 1, LEAVES):
                check()
                self._climb([self._supports(row, pair) for pair in pairs[part][:CLIMBED_PAIRS]], climb)
                bound = max(bound, self._leaves(row, low, high, pairs[part]))
        self.bounds[row] = min(self.bounds[row], max(bound, self.target))

    def _leaves(self, row: int, low: float, high: float, pairs: np.ndarray) -> float:
        """Return the largest bound on pairs with one support of the first component, at least the target.

        Either support of a pair may come second.
        """
        bound = self.target
        A = self.factor[:, self.first_supports.places[[row] * len(pairs)]].transpose(1, 0, 2)
        B, C = (
            self.factor[:, self.other_supports.places[c][pairs[:, i]]].transpose(1, 0, 2)
            for i, c in enumerate(self.other_supports.cards)
        )
        Q = union_basis([A, B, C])
        A, B, C = (Q.mT @ columns for columns in (A, B, C))
        ends = np.tile([low, high], (len(pairs), 1))
        second_minimum = np.full(len(pairs), 0.5 * (self.target - high))
        for second_columns, third_columns in ((B, C), (C, B)):
            third_matrix = (third_columns @ third_columns.mT)[:, None]
            leaf_bounds = with_two(
                A, second_columns, third_matrix, ends, second_minimum, self.target, self.running
            )
            bound = max(bound, float(leaf_bounds.max()))
        return bound


@dataclass(frozen=True, eq=False)
class Solved:
    """The bounds that the best Z proves for n supports of the first component.

    Attributes
    ----------
    bounds : ndarray of shape (n,)
        A bound for each support, if the variance of the first component is in the interval of the search;
        minus infinity if no pair of the other components can exceed the target with any of the n supports.
    pairs : ndarray of int, shape (m, 2)
        Pairs of supports of the other components that may exceed the target with the support that has the
        largest f(T1), in descending order of their additions. No pairs if there are too many.
    excess : float
        The largest bound minus the target; at most zero if the target is not exceeded.
    """

    bounds: np.ndarray
    pairs: np.ndarray
    excess: float


class _ColumnGeneration:
    """The search for Z by column generation, with the iterates of the method of Chambolle and Pock.

    Parameters
    ----------
    trios : Trios
    other_supports : Others
        The supports of the other components.
    rows : ndarray of int
        The supports of the first component.
    low, high : float
        The interval of its variance.
    parent : _ColumnGeneration or None
        A finished search from which to start, with the same `other_supports`.
    """

    def __init__(
        self,
        trios: Trios,
        other_supports: Others,
        rows: np.ndarray,
        low: float,
        parent: _ColumnGeneration | None,
        high: float = np.inf,
    ):
        self.trios, self.other_supports = trios, other_supports
        self.rows, self.low, self.high = rows, low, high
        self.scale = float(trios.largest_variances.max())
        self.counts = {c: other_supports.cards.count(c) for c in other_supports.cards}
        d = len(trios.factor)
        if parent is None:
            self.Z = self._initial_Z()
            self.used = {c: np.arange(0) for c in self.counts}
            self.X = {c: np.zeros((0, d, d)) for c in self.counts}
        else:
            self.Z, self.used, self.X = parent.Z, dict(parent.used), dict(parent.X)
        self.firsts, c = np.arange(0), trios.bases.shape[2]
        self.X1 = np.zeros((0, c, c))
        self._add_first(trios.highest(self.Z, rows, low, high))
        self._add(other_supports.largest(self.Z))

    def _initial_Z(self) -> np.ndarray:
        """Return Z from the mean leading scores of the first component and the residuals of the others."""
        F = self.trios.factor
        s = F @ self.trios.first_supports.leading(self.rows, F.shape[1]).mean(axis=0)
        s = s / max(float(np.linalg.norm(s)), np.finfo(float).tiny)
        residual_factor = F - np.outer(s, s @ F)
        values, vectors = np.linalg.eigh(residual_factor @ residual_factor.T)
        excess = (values - values[max(len(values) - 3, 0)]).clip(min=0.0)
        return START * self.scale * np.outer(s, s) + (vectors * excess) @ vectors.T

    def _add_first(self, highest: np.ndarray) -> bool:
        """Add the supports of the first component with the largest f(T1); return whether one is new."""
        top = self.rows[np.argsort(-highest)[:2]]
        entering = top[~np.isin(top, self.firsts)]
        self.firsts = np.concatenate([self.firsts, entering])
        self.X1 = np.concatenate([self.X1, np.zeros((len(entering), *self.X1.shape[1:]))])
        return len(entering) > 0

    def _add(self, bounds_by_card: dict[int, np.ndarray]) -> bool:
        """Add the supports of the other components with the largest g(T); return whether one is new."""
        grown = False
        for c, values in bounds_by_card.items():
            top = np.argsort(-values)[:SUPPORTS_ADDED]
            entering = top[~np.isin(top, self.used[c])]
            self.used[c] = np.concatenate([self.used[c], entering])
            self.X[c] = np.concatenate([self.X[c], np.zeros((len(entering), *self.Z.shape))])
            grown |= len(entering) > 0
        return grown

    def solve(self) -> Solved:
        """Find the best Z, and return the bounds that it proves. Only this object changes."""
        trios, best_Z, lowest_bound = self.trios, self.Z, np.inf
        while True:
            previous_bound = lowest_bound
            self._steps()
            other_bounds = self.other_supports.largest(self.Z)
            highest = trios.highest(self.Z, self.rows, self.low, self.high)
            largest = sum(float(other_bounds[c].max()) for c in self.other_supports.cards)
            bound = float(np.trace(self.Z)) + float(highest.max()) + largest
            if bound < lowest_bound:
                lowest_bound, best_Z = bound, self.Z
            if lowest_bound <= trios.target or not trios.running():
                break
            if lowest_bound > previous_bound * (1.0 - FALL):
                break
            self._add_first(highest)
            self._add(other_bounds)
        self.Z = best_Z
        return self._solved()

    def _solved(self) -> Solved:
        """Return the bounds from Z: tr Z + f(T1) for each T1, plus bounds on pairs of other components."""
        trace = float(np.trace(self.Z))
        trace += BOUND_ALLOWANCE * (1.0 + trace)
        first_bounds = trace + self.trios.highest(self.Z, self.rows, self.low, self.high)
        room = self.trios.target - float(first_bounds.max())
        pairs, pair_bounds = self.other_supports.pairs(self.Z, room)
        largest_bound = float(
            pair_bounds.max(initial=-np.inf)
        )  # minus infinity if all pairs add at most `room`
        if len(pairs):
            pairs = pairs[np.argsort(-pair_bounds)]
        return Solved(first_bounds + largest_bound, pairs, max(largest_bound, room) - room)

    def _steps(self) -> None:
        """Take steps with the supports in use, store the best Z, and drop unused supports."""
        trios = self.trios
        N = {c: self.other_supports.matrices[c][rows] for c, rows in self.used.items()}
        D = trios.bases[self.firsts]
        top = np.minimum(trios.largest_variances[self.firsts], self.high)[:, None]
        chord = self.low + top - self.low * top * trios.inverse[self.firsts]
        C = chord[:, :, None] * np.eye(chord.shape[1])
        size = np.sqrt(len(D) + sum(map(len, N.values())))
        tau, sigma, identity = RATIO / size, self.scale / (RATIO * size), np.eye(len(self.Z))
        if not self.X1.any():
            self.X1 = shared(PROJECTION_SCALE * (C - D.mT @ self.Z @ D) / self.scale, 1)
        X1, X, Z, lowest_bound = self.X1, dict(self.X), self.Z, np.inf
        total = _sum(D, X1, X)
        ahead = total
        for step in range(1, STEPS_PER_ROUND + 1):
            if not trios.running():
                break
            Z = positive(Z + sigma * (ahead - identity))
            X1 = shared(X1 + tau * (C - D.mT @ Z @ D) / self.scale, 1)
            X = {c: shared(X[c] + tau * (N[c] - Z) / self.scale, self.counts[c]) for c in X}
            previous_total, total = total, _sum(D, X1, X)
            ahead = 2.0 * total - previous_total
            if step % STEPS_PER_BOUND == 0:
                first_value = np.linalg.eigvalsh(C - D.mT @ Z @ D)[:, -1].max()
                value = float(np.trace(Z) + first_value)
                value += sum(
                    n * float(np.linalg.eigvalsh(N[c] - Z)[:, -1].max()) for c, n in self.counts.items()
                )
                if value < lowest_bound:
                    lowest_bound, self.Z = value, Z
        in_use = np.trace(X1, axis1=1, axis2=2) > UNUSED
        self.X1, self.firsts = X1[in_use], self.firsts[in_use]
        for c in X:
            in_use = np.trace(X[c], axis1=1, axis2=2) > UNUSED
            self.X[c], self.used[c] = X[c][in_use], self.used[c][in_use]


def _sum(D: np.ndarray, X1: np.ndarray, X: dict[int, np.ndarray]) -> np.ndarray:
    """Return the sum of all relaxed projections, shape (d, d)."""
    return np.asarray(
        (D @ X1 @ D.mT).sum(axis=0) + sum(projections.sum(axis=0) for projections in X.values())
    )
