"""Upper bounds on PEV and the least-squares share for the joint search, from the relaxation in `duals`."""

from __future__ import annotations

from math import comb

import numpy as np

from spcastat.proofs.duals import Running, planes, support_bounds, within_union
from spcastat.proofs.relaxed import (
    MOST_SUPPORTS,
    MOST_VARIABLES,
    Relaxed,
    Root,
    reaches,
    union_table,
    without,
)


class Projection(Relaxed):
    """The problem for PEV or the least-squares share."""

    def __init__(self, S: np.ndarray, cards: tuple[int, ...], measure: str):
        self.measure = measure
        super().__init__(S, cards)

    def searched(self, c: int) -> bool:
        """Return whether supports of c variables are enumerated.

        Every k-dimensional subspace contains vectors with p - k + 1 nonzeros, so c >= p - k + 1 is no
        constraint.
        """
        return c < self.p - self.k + 1 and comb(self.variables, c) <= MOST_SUPPORTS

    def root(self, singles: np.ndarray) -> Root:
        frame = without(self.frame, singles) if self.m else self.frame
        reach = None
        if self.all_searched and self.cards and self.variables <= MOST_VARIABLES:
            reach = reaches(union_table(frame), sum(self.cards))
        return Root(frame, singles, reach)

    def alike(
        self, roots: list[Root], chosen: np.ndarray, threshold: float, steps: int, running: Running
    ) -> np.ndarray:
        k = roots[0].frame.k
        M = np.stack([root.frame.M for root in roots])
        offset = np.array([root.frame.offset for root in roots])
        bases, sound = zip(
            *(_bases(roots, self.supports[t][rows]) for t, rows in enumerate(chosen.T)), strict=True
        )
        found = self.within(M, [*bases], chosen, k, threshold - offset, steps, running)
        return np.where(np.all(sound, axis=0), offset + found, np.inf)

    def within(
        self,
        M: np.ndarray,
        bases: list[np.ndarray],
        chosen: np.ndarray,
        k: int,
        level: np.ndarray,
        steps: int,
        running: Running,
    ) -> np.ndarray:
        """Return the dual bounds for matrices M and bases of the chosen supports, shape (B,).

        If all supports are chosen, PEV separates: components with disjoint supports are orthogonal whatever
        their loadings. Each group of components with overlapping supports is a separate problem, and a
        component that overlaps with no other explains its largest eigenvalue.
        """
        if chosen.shape[1] < len(self.cards):
            return support_bounds(M, bases, k, level, steps, running=running)
        if not self.all_searched:
            return spanned_bounds(M, bases, k, level, steps, running)
        groups = np.zeros(chosen.shape, dtype=int)
        if self.measure == "pev":
            groups = meeting([self.supports[t][rows] for t, rows in enumerate(chosen.T)], self.variables)
        found = np.zeros(len(chosen))
        patterns, which = np.unique(groups, axis=0, return_inverse=True)
        for number, pattern in enumerate(patterns):
            at = np.flatnonzero(which.ravel() == number)
            together = [np.flatnonzero(pattern == g) for g in np.unique(pattern)]
            parts = [within_union(M[at], [bases[t][at] for t in some]) for some in together]
            first = [
                spanned_bounds(*part, len(some), np.inf, 0, running)
                for part, some in zip(parts, together, strict=True)
            ]
            total = np.sum(first, axis=0)
            for part, some, own in zip(parts, together, first, strict=True):
                if len(some) > 1:
                    others = total - own
                    total = others + spanned_bounds(*part, len(some), level[at] - others, steps, running)
            found[at] = total
        return found


def spanned_bounds(
    M: np.ndarray, bases: list[np.ndarray], k: int, level: np.ndarray | float, steps: int, running: Running
) -> np.ndarray:
    """Return the dual bounds for chosen supports, with a constraint for each pair of them, shape (B,).

    `planes` has the bases for these constraints.
    """
    found = support_bounds(M, bases, k, level, steps, running=running)
    at = np.flatnonzero(found > level)
    if steps and at.size and len(bases) > 1 and k > 2:  # if k = 2, the plane of a pair is P
        parts = [D[at] for D in bases]
        pairs = planes(parts)
        ranks = [1] * len(parts) + [2] * len(pairs)
        left = np.broadcast_to(level, found.shape)[at]
        new = support_bounds(M[at], parts + pairs, k, left, steps, ranks=ranks, running=running)
        found[at] = np.minimum(found[at], new)
    return found


def meeting(supports: list[np.ndarray], q: int) -> np.ndarray:
    """Group supports that overlap, directly or through others; return the first of each group, shape (B, m).

    Parameters
    ----------
    supports : list of m ndarrays of int, shape (B, c_j)
    q : int
        The number of variables.
    """
    B, m = len(supports[0]), len(supports)
    held = np.zeros((B, m, q), dtype=bool)
    for t, places in enumerate(supports):
        held[np.arange(B)[:, None], t, places] = True
    joined = held @ held.mT
    for _ in range(max(m - 1, 0).bit_length()):
        joined = joined @ joined
    return np.asarray(joined.argmax(axis=2))


def _bases(roots: list[Root], places: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Return for each root the basis of one support, and whether it is reliable; see `Frame.bases`.

    The bases of roots that share a frame are computed together.
    """
    d = len(roots[0].frame.M)
    D, sound = np.empty((len(roots), d, places.shape[1])), np.empty(len(roots), dtype=bool)
    groups: dict[int, list[int]] = {}
    for b, root in enumerate(roots):
        groups.setdefault(id(root.frame), []).append(b)
    for members in groups.values():
        D[members], sound[members] = roots[members[0]].frame.bases(places[members])
    return D, sound
