"""What the joint search asks of a measure: roots, bounds of partial choices of supports, tables of unions."""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass
from functools import cached_property
from itertools import combinations
from math import comb, prod

import numpy as np

from spcastat.certify import ordered
from spcastat.certify.dual import ROUNDING, Running, planes, support_bounds, within_union
from spcastat.certify.frame import Frame, elimination_bounds, least_squares_frame, pev_frame, without
from spcastat.certify.unions import MOST_VARIABLES, reaches, union_table

#: Choices of variables for components of one variable that are gone through, at most; and operations.
MOST_SINGLES, MOST_WORK = 100_000, 3e11
#: Supports of a component that are gone through, at most; with more of them it may be dense.
MOST_SUPPORTS = 20_000
#: Components of one variable whose orders are all gone through, at most.
MOST_ORDERED = 8
#: Numbers in a batch of matrices, and operations of a step that nothing interrupts.
BATCH, STEP_WORK = 4_000_000, 1e9


#: Operations of an eigendecomposition, in cubes of the order.
EIGEN = 20.0


def single_work(p: int) -> float:
    """Return the operations of the bound for one choice of components of one variable."""
    return 12.0 * p**3


@dataclass(frozen=True, eq=False)
class Root:
    """The problem that one choice of the components of one variable leaves.

    Attributes
    ----------
    frame : Frame
    singles : ndarray of int, shape (m,)
    reach : ndarray of shape (r + 1, 2^q) or None
        Bounds by sets of variables, see :func:`spcastat.certify.unions.reaches`.
    taken : int
        The variables, as bits, that are in every such set.
    own : float
        For adjusted variance what the components of one variable add at most.
    alone : tuple of ndarrays, or None
        For adjusted variance what each support of each component adds at most, shape (n_j,).
    """

    frame: Frame
    singles: np.ndarray
    reach: np.ndarray | None
    taken: int = 0
    own: float = 0.0
    alone: tuple[np.ndarray, ...] | None = None

    def ceilings(self, chosen: np.ndarray, level: int) -> np.ndarray | None:
        """Return the sum of what supports add at most, for each further support of a component.

        Parameters
        ----------
        chosen : ndarray of int, shape (B, m)
        level : int
            The component whose supports are the columns.

        Returns
        -------
        ndarray of shape (B, n_level), or None where components have no such bound
        """
        if self.alone is None:
            return None
        fixed = np.full(len(chosen), self.own)
        for t in range(level):
            fixed += self.alone[t][chosen[:, t]]
        rest = sum(float(values.max()) for values in self.alone[level + 1 :])
        return np.asarray(fixed[:, None] + self.alone[level] + rest)


class Relaxed(ABC):
    """A measure with given cardinalities, S having been scaled to a total variance of one.

    Attributes
    ----------
    cards : tuple of int
        Cardinalities of more than one, ascending: those of the components whose supports are searched.
    m : int
        Components of one variable.
    k : int
        Components in all, those too that may be dense.
    """

    def __init__(self, S: np.ndarray, cards: tuple[int, ...]):
        self.S = S
        self.p = len(S)
        self.k = len(cards)
        ascending = sorted(min(c, self.p) for c in cards)
        self.m = sum(c == 1 for c in ascending)
        choices = comb(self.p, self.m)
        if self.m and (choices > MOST_SINGLES or choices * single_work(self.p) > MOST_WORK):
            self.m, ascending = 0, [self.p if c == 1 else c for c in ascending]
        self.cards = tuple(c for c in ascending if c > 1 and self.searched(c))
        self.free = all(c > self.p - self.k for c in cards)

    @property
    def unsearched(self) -> str:
        """Why nothing is searched, where that is so."""
        return "free components" if self.free else "too many supports"

    @property
    def variables(self) -> int:
        """Variables that supports are chosen from."""
        return self.p - self.m

    @abstractmethod
    def searched(self, c: int) -> bool:
        """Return whether the supports of a component of c variables are gone through."""

    @cached_property
    def frame(self) -> Frame:
        """The frame of all variables."""
        return pev_frame(self.S, self.k)

    def dense(self) -> float:
        """Return the bound of dense components."""
        return self.frame.dense

    def singles(self) -> np.ndarray:
        """Return the choices of the variables of components of one variable, shape (B, m)."""
        chosen = list(combinations(range(self.p), self.m))
        return np.array(chosen, dtype=int).reshape(len(chosen), self.m)

    def single_bounds(self, singles: np.ndarray) -> np.ndarray:
        """Return the bound of each choice, shape (B,)."""
        return elimination_bounds(self.frame, singles)

    @cached_property
    def supports(self) -> list[np.ndarray]:
        """The supports of each searched component: places, shape (n_j, c_j)."""
        held: dict[int, np.ndarray] = {}
        for c in self.cards:
            if c not in held:
                held[c] = np.array(list(combinations(range(self.variables), c)))
        return [held[c] for c in self.cards]

    @cached_property
    def masks(self) -> list[np.ndarray]:
        """The supports as bits, for tables of unions: of few variables."""
        return [(1 << places).sum(axis=1) for places in self.supports]

    @property
    def all_searched(self) -> bool:
        """Whether every component has its support chosen, so that tables of unions hold."""
        return self.m + len(self.cards) == self.k

    @property
    def choices(self) -> int:
        """Choices of all supports that are searched."""
        return comb(self.p, self.m) * prod(comb(self.variables, c) for c in self.cards)

    @abstractmethod
    def root(self, singles: np.ndarray) -> Root:
        """Return the problem that a choice leaves."""

    def bounds(
        self, roots: list[Root], chosen: np.ndarray, threshold: float, steps: int, running: Running
    ) -> np.ndarray:
        """Return the bounds of partial choices, shape (B,).

        Parameters
        ----------
        roots : list of B Roots
        chosen : ndarray of int, shape (B, t)
            Rows of `supports` of the first t searched components.
        threshold, steps, running
            As for :func:`spcastat.certify.dual.support_bounds`.
        """
        found = np.array([root.frame.dense for root in roots])
        if not chosen.shape[1]:
            return found
        shapes: dict[tuple[int, int], list[int]] = {}
        for b, root in enumerate(roots):
            shapes.setdefault(self.shape(root), []).append(b)
        for (d, _), members in shapes.items():
            matrices = d * d * (chosen.shape[1] + 2)
            step = max(1, min(BATCH // matrices, int(STEP_WORK / (EIGEN * d * matrices))))
            for begin in range(0, len(members), step):
                if not running():
                    return found
                part = np.array(members[begin : begin + step])
                new = self.alike([roots[b] for b in part], chosen[part], threshold, steps, running)
                found[part] = np.minimum(found[part], new)
        return found

    @abstractmethod
    def shape(self, root: Root) -> tuple[int, int]:
        """Return the order of the matrices of a root, and its components; one shape goes together."""

    @abstractmethod
    def alike(
        self, roots: list[Root], chosen: np.ndarray, threshold: float, steps: int, running: Running
    ) -> np.ndarray:
        """Return what the dual proves of partial choices whose roots have one shape, shape (B,)."""

    @abstractmethod
    def variables_of(self, root: Root, chosen: np.ndarray) -> list[np.ndarray]:
        """Return the variables of the singles and of the chosen supports, one array a component."""


class Projection(Relaxed):
    """PEV or the least-squares share."""

    def __init__(self, S: np.ndarray, cards: tuple[int, ...], measure: str):
        self.measure = measure
        super().__init__(S, cards)

    def searched(self, c: int) -> bool:
        """A space of k dimensions among p variables holds a vector with p - k + 1 nonzeros anyway."""
        return c < self.p - self.k + 1 and comb(self.variables, c) <= MOST_SUPPORTS

    @cached_property
    def frame(self) -> Frame:
        build = pev_frame if self.measure == "pev" else least_squares_frame
        return build(self.S, self.k)

    def root(self, singles: np.ndarray) -> Root:
        frame = without(self.frame, singles) if self.m else self.frame
        reach = None
        if self.all_searched and self.cards and self.variables <= MOST_VARIABLES:
            reach = reaches(union_table(frame), min(sum(self.cards), self.variables))
        return Root(frame, singles, reach)

    def shape(self, root: Root) -> tuple[int, int]:
        return len(root.frame.M), root.frame.k

    def alike(
        self, roots: list[Root], chosen: np.ndarray, threshold: float, steps: int, running: Running
    ) -> np.ndarray:
        k = roots[0].frame.k
        M = np.stack([root.frame.M for root in roots])
        offset = np.array([root.frame.offset for root in roots])
        bases, sound = [], np.ones(len(roots), dtype=bool)
        for t in range(chosen.shape[1]):
            places = self.supports[t][chosen[:, t]]
            D, fine = _bases(roots, places)
            bases.append(D)
            sound &= fine
        level = threshold - offset
        found = self.within(M, bases, chosen, k, level, steps, running)
        return np.where(sound, offset + found, np.inf)

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
        """Return what the dual proves for matrices M and the bases of the chosen supports, shape (B,).

        Where all supports are chosen, PEV falls apart: components whose supports meet no other are orthogonal
        to all others, whatever their loadings. Groups of components that meet are problems of their own, and
        a component alone explains its largest eigenvalue.
        """
        if not (self.all_searched and chosen.shape[1] == len(self.cards)):
            return spanned_bounds(M, bases, k, level, steps, running)
        groups = np.zeros(chosen.shape, dtype=int)
        if self.measure == "pev":
            groups = meeting([self.supports[t][rows] for t, rows in enumerate(chosen.T)], self.variables)
        found = np.zeros(len(chosen))
        patterns, which = np.unique(groups, axis=0, return_inverse=True)
        for number, pattern in enumerate(patterns):
            part = np.flatnonzero(which.ravel() == number)
            found[part] = self._apart(M[part], [D[part] for D in bases], pattern, level[part], steps, running)
        return found

    def _apart(
        self,
        M: np.ndarray,
        bases: list[np.ndarray],
        pattern: np.ndarray,
        level: np.ndarray,
        steps: int,
        running: Running,
    ) -> np.ndarray:
        """Return the sum of the bounds of groups of components; `pattern` says which group each is in."""
        groups = [np.flatnonzero(pattern == g) for g in np.unique(pattern)]
        problems = [(within_union(M, [bases[t] for t in group]), len(group)) for group in groups]
        first = [spanned_bounds(*inner, size, np.inf, 0, running) for inner, size in problems]
        found = np.sum(first, axis=0)
        for (inner, size), before in zip(problems, first, strict=True):
            if size > 1:
                own = spanned_bounds(*inner, size, level - (found - before), steps, running)
                found = found - before + own
        return np.asarray(found)

    def variables_of(self, root: Root, chosen: np.ndarray) -> list[np.ndarray]:
        held = root.frame.variables
        parts = [held[self.supports[t][row]] for t, row in enumerate(chosen)]
        return [*(np.array([i]) for i in root.singles), *parts]


def spanned_bounds(
    M: np.ndarray, bases: list[np.ndarray], k: int, level: np.ndarray | float, steps: int, running: Running
) -> np.ndarray:
    """Return the bounds for chosen supports, each two of which hold a plane, shape (B,)."""
    found = support_bounds(M, bases, k, level, steps, running=running).bound
    at = np.flatnonzero(found > level)
    if steps and at.size and len(bases) > 1 and k > 2:  # of two components the plane is all there is
        parts = [D[at] for D in bases]
        pairs = planes(parts)
        ranks = [1] * len(parts) + [2] * len(pairs)
        left = np.broadcast_to(level, found.shape)[at]
        new = support_bounds(M[at], parts + pairs, k, left, steps, ranks=ranks, running=running).bound
        found[at] = np.minimum(found[at], new)
    return found


def meeting(supports: list[np.ndarray], q: int) -> np.ndarray:
    """Return the groups of supports that meet, directly or by others, shape (B, m): the first of each group.

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
    joined = held @ held.swapaxes(1, 2)
    for _ in range(max(m - 1, 0).bit_length()):
        joined = joined @ joined
    return np.asarray(joined.argmax(axis=2))


def _bases(roots: list[Root], places: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Return the bases of a support for each of many roots: those that share a frame together."""
    d = len(roots[0].frame.M)
    D, sound = np.empty((len(roots), d, places.shape[1])), np.empty(len(roots), dtype=bool)
    groups: dict[int, list[int]] = {}
    for b, root in enumerate(roots):
        groups.setdefault(id(root.frame), []).append(b)
    for members in groups.values():
        D[members], sound[members] = roots[members[0]].frame.bases(places[members])
    return D, sound


class Ordered(Relaxed):
    """Adjusted variance, in any order of the components."""

    @property
    def variables(self) -> int:
        return self.p  # the others may load on the variables of components of one variable

    def searched(self, c: int) -> bool:
        return c < self.p and comb(self.p, c) <= MOST_SUPPORTS

    @cached_property
    def factor(self) -> np.ndarray:
        """F with S = F'F, shape (d, p)."""
        return least_squares_frame(self.S, self.k).F

    @cached_property
    def table(self) -> np.ndarray | None:
        """Bounds of PEV, which is never less, by sets of variables."""
        if not self.all_searched or not self.cards or self.p > MOST_VARIABLES:
            return None
        return reaches(union_table(self.frame), min(sum(self.cards), self.p))

    def root(self, singles: np.ndarray) -> Root:
        frame = without(self.frame, singles) if self.m else self.frame
        F = self.factor
        taken = F[:, singles] @ F[:, singles].T
        alone = None
        if self.m + len(self.cards) == self.k:
            held: dict[int, np.ndarray] = {}
            for c, places in zip(self.cards, self.supports, strict=True):
                if c not in held:
                    A = F[:, places].transpose(1, 0, 2)
                    held[c] = np.linalg.eigvalsh(A @ A.swapaxes(1, 2) - taken)[:, -1] + ROUNDING
            alone = tuple(held[c] for c in self.cards)
        own = float(np.trace(taken))
        return Root(frame, singles, self.table, int((1 << singles).sum()), own, alone)

    def shape(self, root: Root) -> tuple[int, int]:
        return len(self.factor), self.k

    def alike(
        self, roots: list[Root], chosen: np.ndarray, threshold: float, steps: int, running: Running
    ) -> np.ndarray:
        F = self.factor

        def outer(places: np.ndarray) -> np.ndarray:
            A = F[:, places].transpose(1, 0, 2)
            return A @ A.swapaxes(1, 2)

        taken = outer(np.stack([root.singles for root in roots]))
        own = np.trace(taken, axis1=1, axis2=2)
        groups = [outer(self.supports[t][rows]) - taken for t, rows in enumerate(chosen.T)]
        counts = [1] * len(groups)
        rest = self.k - self.m - len(groups)
        if rest:
            groups.append(F @ F.T - taken)
            counts.append(rest)
        return own + ordered.ordered_bounds(groups, counts, threshold - own, steps, running=running)

    def single_bounds(self, singles: np.ndarray) -> np.ndarray:
        """Return what these variables add in their best order where they are all; else the bound of PEV."""
        if self.m == self.k <= MOST_ORDERED:
            return ordered.sequential(self.S, singles)
        return super().single_bounds(singles)

    def variables_of(self, root: Root, chosen: np.ndarray) -> list[np.ndarray]:
        parts = [self.supports[t][row] for t, row in enumerate(chosen)]
        return [*(np.array([i]) for i in root.singles), *parts]


def relaxed(S: np.ndarray, cards: tuple[int, ...], measure: str) -> Relaxed:
    """Return the problem of a measure, "pev", "adjusted" or "least_squares"."""
    return Ordered(S, cards) if measure == "adjusted" else Projection(S, cards, measure)
