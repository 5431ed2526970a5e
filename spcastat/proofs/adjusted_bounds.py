"""Upper bounds on adjusted variance in any order of the components: the relaxation for the joint search.

Partial choices of supports are bounded by sums of largest eigenvalues, with a Lagrange multiplier for the
orthogonality of the directions of the scores (see `duals`). If all supports are chosen, the bounds contain
the exact variances of the first components (see `first_components`).
"""

from __future__ import annotations

import time
from functools import cached_property
from itertools import combinations
from math import comb

import numpy as np

from spcastat.linalg.accumulate import BATCH, blocks
from spcastat.proofs import duals
from spcastat.proofs.duals import BOUND_ALLOWANCE, SUPPORTS_ADDED, Multiplier, Running, gram, multiplier
from spcastat.proofs.eigenvalue_bounds import Clock
from spcastat.proofs.first_components import HALVINGS, first_component_bounds, first_two_bounds
from spcastat.proofs.one_component import prove
from spcastat.proofs.relaxed import (
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

#: Eigenvalues of G_TT are computed only if its Frobenius norm exceeds CLOSE, for CHUNK supports at a time.
CLOSE, CHUNK = 0.8, 50_000


class Sequence(Relaxed):
    """The problem of the joint search for adjusted variance, in any order of the components."""

    #: `prepare` sets the Lagrange multiplier (see :mod:`spcastat.proofs.duals`) and the cardinalities of all
    #: components, including components whose supports are not enumerated.
    multiplier: Multiplier | None = None
    all_cards: tuple[int, ...] = ()
    #: Whether `prepare` dropped all supports of some component, which proves the threshold.
    excluded = False

    singles_alone = False
    most_supports = 1_000_000  # `prepare` excludes most of them

    def prepare(self, V: np.ndarray, threshold: float, clock: Clock) -> None:
        """Find a Lagrange multiplier, and drop supports that no fit above the threshold can have.

        Sets `multiplier`, `all_cards` and `excluded`, and reduces `supports_by_card` and `cards`.

        Parameters
        ----------
        V : ndarray of shape (p, k)
            The loadings of a known fit; the search for the multiplier starts from their supports.
        threshold : float
            An adjusted variance: a support is dropped if no fit with this support can exceed it.
        clock : Clock
            The search for the multiplier takes at most half of the remaining time.
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
        """The matrix F with S = F'F, shape (d, p), where d is at least k because rows of zeros are added.

        Bounds need k orthonormal directions of scores even if some components add no variance.
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
        """The sum of theta (see `multiplier`) over components whose supports are not enumerated."""
        assert self.multiplier is not None
        remaining_cards = list(self.all_cards)
        for c in (*self.cards, *(1,) * self.m):
            remaining_cards.remove(c)
        return sum(self.multiplier.thresholds[c] for c in remaining_cards)

    @cached_property
    def _support_bounds(self) -> tuple[SupportBounds, ...]:
        """Bounds on q'(N_T - Z)q over unit q for each searched component and support T; see `multiplier`."""
        assert self.multiplier is not None
        bounds_by_card = {}
        for c in dict.fromkeys(self.cards):
            A = self.factor[:, self.supports_by_card[c]].transpose(1, 0, 2)
            slices = blocks(len(A), self.factor.shape[0] ** 2, BATCH)
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
        """Return bounds as in `LeafBounds` with the exact variance of the first component."""
        columns = self._columns(roots, choices)
        intervals = 2**HALVINGS if self.k == 2 else 1
        work_per_leaf = intervals * self.k * sum(A.shape[2] for A in columns) ** 2
        bound_parts = [
            first_component_bounds([A[part] for A in columns], threshold, LEAF, running)
            for part in blocks(len(roots), work_per_leaf, BATCH)
        ]
        return np.concatenate(bound_parts)

    def _first_two_bounds(
        self, roots: list[Root], choices: np.ndarray, threshold: float, running: Running
    ) -> np.ndarray:
        """Return bounds as in `LeafBounds` with the exact variances of the first two components."""
        return first_two_bounds(self._columns(roots, choices), threshold, running)

    def _columns(self, roots: list[Root], choices: np.ndarray) -> list[np.ndarray]:
        """Return, for each component, the columns of F for its support in each of B leaves, (B, d, c_j)."""
        supports = [np.stack([root.singles for root in roots])[:, [i]] for i in range(self.m)]
        supports += [self.supports[t][rows] for t, rows in enumerate(choices.T)]
        return [self.factor[:, places].transpose(1, 0, 2) for places in supports]

    def single_bounds(self, singles: np.ndarray) -> np.ndarray:
        """Return bounds, shape (B,), which are exact if all components (at most 8) have one variable."""
        if self.m == self.k <= 8:  # the work grows as 2^k
            return duals.sequential(self.S, singles)
        return super().single_bounds(singles)


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
        If the time has run out, the bound is the largest eigenvalue of G, and no supports are returned.
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
    """Return the largest eigenvalue of G_TT, or a bound on it, for each support T, shape (n,).

    If the Frobenius norm of G_TT is at most CLOSE, this norm is returned, which is an upper bound.
    """
    bound = norms(G, places)
    at = np.flatnonzero(bound > CLOSE)
    for begin in range(0, len(at), CHUNK):
        batch = at[begin : begin + CHUNK]
        bound[batch] = largest_eigenvalues(G, places[batch])
    return bound


def norms(G: np.ndarray, places: np.ndarray) -> np.ndarray:
    """Return the Frobenius norm of G_TT, which bounds its eigenvalues, for each support T, shape (n,)."""
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
