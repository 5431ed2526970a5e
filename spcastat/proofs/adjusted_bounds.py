"""Upper bounds on adjusted variance, in any order of the components, from a relaxation."""

from __future__ import annotations

import time
from functools import cached_property
from itertools import combinations_with_replacement
from math import comb

import numpy as np

from spcastat.linalg.scales import blocks
from spcastat.proofs import duals
from spcastat.proofs.duals import ADDED, ROUNDING, Multiplier, Running, gram, multiplier
from spcastat.proofs.eigenvalue_bounds import Clock
from spcastat.proofs.one_component import prove
from spcastat.proofs.relaxed import (
    BATCH,
    LEAF,
    MOST_SUPPORTS,
    LeafBounds,
    Relaxed,
    Root,
    Sums,
    SupportBounds,
    least_squares_frame,
    support_bounds,
)
from spcastat.proofs.two_component_bounds import HALVINGS, first_component_bounds, first_two_bound

#: Eigenvalues of G_TT are computed only if its Frobenius norm exceeds CLOSE, for CHUNK supports at a time.
CLOSE, CHUNK = 0.8, 50_000


class Sequence(Relaxed):
    """The problem of the joint search for adjusted variance, in any order of the components."""

    #: `prepare` sets both: the Lagrange multiplier (see :mod:`spcastat.proofs.duals`), and the
    #: cardinalities of all components, including those whose supports are not enumerated.
    multiplier: Multiplier | None = None
    every: tuple[int, ...] = ()

    singles_alone = False
    most_supports = 1_000_000  # `prepare` excludes most of them

    def prepare(self, V: np.ndarray, threshold: float, clock: Clock) -> None:
        """Find a Lagrange multiplier, and drop the supports that no fit above the threshold can have.

        Sets `multiplier` and `every`, and reduces `kept` and `cards`.

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
        known = [np.flatnonzero(v) for v in V.T]
        self.every = tuple(len(T) for T in known)
        counts = {c: self.every.count(c) for c in dict.fromkeys(self.every)}
        part = clock.until(time.perf_counter() + 0.5 * clock.left)
        found = self.multiplier = multiplier(
            self.factor,
            counts,
            {c: np.unique([T for T in known if len(T) == c], axis=0) for c in counts},
            lambda G, c: largest(G, c, self.kept.get(c), part),
            threshold,
            part.runs,
        )
        room = found.bound - threshold
        for c, places in self.kept.items():
            # for fits with the support T, the bound of the multiplier is lower by theta (1 - g), where g is
            # the largest eigenvalue of G_TT
            G = gram(self.factor, found.Z, found.thresholds[c])
            self.kept[c] = places[found.thresholds[c] * (1.0 - eigenvalues(G, places)) <= room]
        self.cards = tuple(c for c in self.cards if len(self.kept[c]) <= MOST_SUPPORTS)

    @cached_property
    def factor(self) -> np.ndarray:
        """The matrix F with S = F'F, shape (d, p)."""
        return least_squares_frame(self.S, self.k).F

    def dense(self) -> float:
        bound = self.frame.dense
        return bound if self.multiplier is None else min(bound, self.multiplier.bound)

    def root(self, singles: np.ndarray) -> Root:
        sums = None
        if self.multiplier is not None:
            own = float(np.trace(self.multiplier.Z)) + float(self._singly[singles].sum()) + self._unsearched
            sums = Sums(own, self._beyond)
        return Root(self.frame, singles, None, int((1 << singles).sum()), sums)

    @property
    def _unsearched(self) -> float:
        """The sum of theta (see `multiplier`) over the components whose supports are not enumerated."""
        assert self.multiplier is not None
        left = list(self.every)
        for c in (*self.cards, *(1,) * self.m):
            left.remove(c)
        return sum(self.multiplier.thresholds[c] for c in left)

    @cached_property
    def _beyond(self) -> tuple[SupportBounds, ...]:
        """For each searched component and support T, bounds on q'(N_T - Z)q for unit q; see `multiplier`."""
        assert self.multiplier is not None
        found = {}
        for c in dict.fromkeys(self.cards):
            A = self.factor[:, self.kept[c]].transpose(1, 0, 2)
            some = blocks(len(A), self.factor.shape[0] ** 2, BATCH)
            parts = [support_bounds(A[part] @ A[part].mT - self.multiplier.Z) for part in some]
            held = zip(*(vars(one).values() for one in parts), strict=True)
            found[c] = SupportBounds(*(np.concatenate(one) for one in held))
        return tuple(found[c] for c in self.cards)

    @cached_property
    def _singly(self) -> np.ndarray:
        """Bounds, shape (p,), on q'(ff' - Z)q over unit q, with f the column of F of each variable."""
        assert self.multiplier is not None
        columns = self.factor.T[:, :, None]
        return np.asarray(support_bounds(columns @ columns.mT - self.multiplier.Z).first)

    def alike(
        self, roots: list[Root], chosen: np.ndarray, threshold: float, steps: int, running: Running
    ) -> np.ndarray:
        F = self.factor

        def outer(places: np.ndarray) -> np.ndarray:
            A = F[:, places].transpose(1, 0, 2)
            return A @ A.mT

        taken = outer(np.stack([root.singles for root in roots]))
        own = np.trace(taken, axis1=1, axis2=2)
        groups = [outer(self.supports[t][rows]) - taken for t, rows in enumerate(chosen.T)]
        counts = [1] * len(groups)
        rest = self.k - self.m - len(groups)
        if rest:
            groups.append(F @ F.T - taken)
            counts.append(rest)
        return own + duals.ordered_bounds(groups, counts, threshold - own, steps, running=running)

    @property
    def leaf_bounds(self) -> list[LeafBounds]:
        if not self.all_searched:
            return super().leaf_bounds
        exact: list[LeafBounds] = [self._first, self._first_two]
        return exact[: 2 if self.k == 3 <= len(self.factor) else 1]

    def _first(self, roots: list[Root], chosen: np.ndarray, threshold: float, running: Running) -> np.ndarray:
        """Return bounds as in `LeafBounds` that have the exact variance of the first component."""
        columns = self._columns(roots, chosen)
        each = 2**HALVINGS * self.k * sum(A.shape[2] for A in columns) ** 2
        found = [
            first_component_bounds([A[part] for A in columns], threshold, LEAF, running)
            for part in blocks(len(roots), each, BATCH)
        ]
        return np.concatenate(found)

    def _first_two(
        self, roots: list[Root], chosen: np.ndarray, threshold: float, running: Running
    ) -> np.ndarray:
        """Return bounds as in `LeafBounds` that have the exact variances of the first two components."""
        columns = self._columns(roots, chosen)
        return np.array(
            [first_two_bound([A[b] for A in columns], threshold, running) for b in range(len(roots))]
        )

    def _columns(self, roots: list[Root], chosen: np.ndarray) -> list[np.ndarray]:
        """Return, for each component, the columns of F on its supports in B leaves, shape (B, d, c_j)."""
        supports = [np.stack([root.singles for root in roots])[:, [i]] for i in range(self.m)]
        supports += [self.supports[t][rows] for t, rows in enumerate(chosen.T)]
        return [self.factor[:, places].transpose(1, 0, 2) for places in supports]

    def single_bounds(self, singles: np.ndarray) -> np.ndarray:
        """Return bounds, shape (B,), which are exact if all components, at most 8, have one variable."""
        if self.m == self.k <= 8:  # the work grows as 2^k
            return duals.sequential(self.S, singles)
        bounds = super().single_bounds(singles)
        if self.multiplier is None:
            return bounds
        own = float(np.trace(self.multiplier.Z)) + self._unsearched
        own += sum(float(one.first.max(initial=0.0)) for one in self._beyond)
        return np.minimum(bounds, own + self._singly[singles].sum(axis=1))


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
        return float(values[order[0]]) + ROUNDING, order[: 2 * ADDED, None]
    if places is None:
        proof = prove(G, c, time_limit=min(1.0, clock.left), max_nodes=200)
        return proof.bound, np.atleast_2d(np.sort(proof.support)) if len(proof.support) == c else np.zeros(
            (0, c), int
        )
    if not clock.runs():
        return float(np.linalg.eigvalsh(G)[-1]) + ROUNDING, places[:0]
    values = eigenvalues(G, places)
    order = np.argpartition(-values, min(2 * ADDED, len(values) - 1))[: 2 * ADDED]
    order = order[np.argsort(-values[order])]
    return float(values[order[0]]) + ROUNDING, places[order]


def eigenvalues(G: np.ndarray, places: np.ndarray) -> np.ndarray:
    """Return the largest eigenvalue of G_TT for each support T, (n,).

    If the Frobenius norm of G_TT is at most CLOSE, this norm is returned, which is an upper bound.
    """
    squares = G * G
    bound = np.zeros(len(places))
    for i, j in combinations_with_replacement(range(places.shape[1]), 2):
        bound += (1.0 + (i != j)) * squares[places[:, i], places[:, j]]
    bound = np.sqrt(bound)
    at = np.flatnonzero(bound > CLOSE)
    for begin in range(0, len(at), CHUNK):
        rows = places[at[begin : begin + CHUNK]]
        bound[at[begin : begin + CHUNK]] = np.linalg.eigvalsh(G[rows[:, :, None], rows[:, None, :]])[:, -1]
    return bound
