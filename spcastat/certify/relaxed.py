"""What the joint search asks of a measure: roots, and bounds of partial choices of supports."""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass
from functools import cached_property, reduce
from itertools import combinations
from math import comb, prod

import numpy as np

from spcastat.certify.dual import ROUNDING, Running, ky_fan
from spcastat.certify.frame import Frame, elimination_bounds, pev_frame
from spcastat.search.rule import SupportRule

#: Choices of variables for components of one variable that are gone through, at most; and operations.
MOST_SINGLES, MOST_WORK = 100_000, 3e11
#: Supports of a component that are gone through, at most; with more of them it may be dense.
MOST_SUPPORTS = 20_000
#: Numbers in a batch of matrices, and operations of a step that nothing interrupts.
BATCH, STEP_WORK = 4_000_000, 1e9
#: Steps of the dual method where supports are still to be chosen, where all are, and once more.
INNER, LEAF, LAST = 60, 120, 800
#: Sets of so many variables are bits of one number, at most.
BITS = 62
#: Operations of an eigendecomposition, in cubes of the order.
EIGEN = 20.0


def single_work(p: int) -> float:
    """Return the operations of the bound for one choice of components of one variable."""
    return 12.0 * p**3


@dataclass(frozen=True, eq=False)
class Alone:
    """What each of n supports of a component adds at most, whatever the other components are.

    A component of direction q, a unit vector in the space of all directions, adds q'Nq at most, where
    N <= second I + (first - second) u u' for the two largest eigenvalues of N and its leading eigenvector u.

    Attributes
    ----------
    first, second : ndarray of shape (n,)
    directions : ndarray of shape (n, d)
    """

    first: np.ndarray
    second: np.ndarray
    directions: np.ndarray

    @property
    def spread(self) -> np.ndarray:
        return self.first - self.second


def alone(matrices: np.ndarray, bases: np.ndarray | None = None) -> Alone:
    """Return the leading eigenvalues of N: `matrices` (n, c, c), in coordinates of `bases` (n, d, c)."""
    values, vectors = np.linalg.eigh(matrices)
    first, u = values[:, -1], vectors[:, :, -1]
    second = values[:, -2] if values.shape[1] > 1 else np.minimum(first, 0.0)
    directions = u if bases is None else (bases @ u[:, :, None])[:, :, 0]
    return Alone(first + ROUNDING, second + ROUNDING, directions)


def losses(one: Alone, rows: np.ndarray, other: Alone, columns: np.ndarray) -> np.ndarray:
    """Return by how much two components together add less than both alone, for each of B rows.

    Parameters
    ----------
    one, other : Alone
    rows : ndarray of int, shape (B,)
        Supports of the one.
    columns : ndarray of int, shape (B, 1) or (n,)
        Supports of the other: one for each row, or n for every row.

    Returns
    -------
    ndarray of shape (B, 1) or (B, n)

    Notes
    -----
    With a = first - second of one, b that of the other, and c the cosine of the angle between the leading
    eigenvectors, the largest a (u'q)^2 + b (w'r)^2 over orthonormal q and r is the smallest tr Z with
    Z >= a uu' and Z >= b ww', which is (a + b + sqrt((a - b)^2 + 4 a b (1 - c^2))) / 2.
    """
    u, w = one.directions[rows], other.directions[columns]
    cosines = u @ w.T if columns.ndim == 1 else (u[:, None] * w).sum(axis=2)
    a, b = one.spread[rows, None], other.spread[columns]
    apart = np.sqrt((a - b) ** 2 + 4.0 * a * b * (1.0 - cosines**2).clip(min=0.0))
    return np.asarray((0.5 * (a + b - apart)).clip(min=0.0))


@dataclass(frozen=True, eq=False)
class Sums:
    """A bound that is a sum: a constant, and what each searched component adds alone."""

    own: float
    parts: tuple[Alone, ...]

    def ceilings(self, chosen: np.ndarray, level: int, threshold: float) -> np.ndarray:
        """Return the bounds for each further support of a component, shape (B, n).

        Parameters
        ----------
        chosen : ndarray of int, shape (B, m)
        level : int
            The component whose supports are the columns.
        threshold : float
            Sums above it are lowered by what pairs of components cannot both have.
        """
        fixed = np.full(len(chosen), self.own)
        for t in range(level):
            fixed += self.parts[t].first[chosen[:, t]]
        rest = sum(float(one.first.max(initial=0.0)) for one in self.parts[level + 1 :])
        bound = fixed[:, None] + self.parts[level].first + rest
        at = np.flatnonzero((bound > threshold).any(axis=0))
        if level and at.size:
            known = [(t, chosen[:, t], s, chosen[:, s, None]) for s in range(level) for t in range(s)]
            pairs = [*known, *((t, chosen[:, t], level, at) for t in range(level))]
            less = [losses(self.parts[t], rows, self.parts[s], columns) for t, rows, s, columns in pairs]
            # a component may give its whole loss to one pair, or equal parts to all pairs
            bound[:, at] -= np.maximum(reduce(np.maximum, less), sum(less) / level)
        return np.asarray(bound)


@dataclass(frozen=True, eq=False)
class Root:
    """The problem that one choice of the components of one variable leaves.

    Attributes
    ----------
    frame : Frame
    singles : ndarray of int, shape (m,)
    reach : ndarray of shape (r + 1, 2^q) or None
        Bounds by sets of variables, see :func:`spcastat.certify.relaxed.reaches`.
    taken : int
        The variables, as bits, that are in every such set.
    sums : tuple of Sums
        Bounds of measures that are sums over components; the least counts.
    """

    frame: Frame
    singles: np.ndarray
    reach: np.ndarray | None
    taken: int = 0
    sums: tuple[Sums, ...] = ()


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

    #: The rule for supports, with the cardinalities of its components; None for all supports.
    rule: tuple[SupportRule, tuple[int, ...]] | None = None

    def under(self, rule: SupportRule, cards: tuple[int, ...]) -> bool:
        """Leave out supports that break a rule, before any are listed, and return whether all of it counts.

        Of each number of variables those are kept that some component of so many may have.
        """
        if self.variables < self.p or (rule.disjoint and self.p > BITS):
            return False
        self.rule = rule, cards
        return True

    @property
    def apart(self) -> bool:
        """Whether no two supports share a variable."""
        return self.rule is not None and self.rule[0].disjoint

    def allowed(self, places: np.ndarray) -> np.ndarray:
        """Return those of some supports, shape (n, c), that the rule allows."""
        if self.rule is None:
            return places
        kept = np.zeros(len(places), dtype=bool)
        for may, must, card in zip(self.rule[0].may, self.rule[0].must, self.rule[1], strict=True):
            if card == places.shape[1]:
                kept |= may[places].all(axis=1) & (must[places].sum(axis=1) == must.sum())
        return places[kept]

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
                held[c] = self.allowed(np.array(list(combinations(range(self.variables), c))))
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

    def leaf_bounds(
        self, roots: list[Root], chosen: np.ndarray, threshold: float, running: Running
    ) -> np.ndarray:
        """Return the closest bounds there are once all supports are chosen, shape (B,)."""
        return self.bounds(roots, chosen, threshold, LAST, running)

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


#: Up to this many variables all their subsets are looked at.
MOST_VARIABLES = 14


def union_table(frame: Frame) -> np.ndarray:
    """Return the bound for components on every set of variables, shape (2^q,); bit i of the index is place i.

    Sets whose span is in doubt by rounding have the bound of all variables.
    """
    q, dense = len(frame.variables), frame.dense
    table = np.full(1 << q, dense)
    table[0] = frame.offset
    for size in range(1, q + 1):
        sets = np.array(list(combinations(range(q), size)))
        D, sound = frame.bases(sets)
        values = frame.offset + ky_fan(D.mT @ frame.M @ D, frame.k)
        values += ROUNDING * float(np.trace(frame.M))
        table[(1 << sets).sum(axis=1)] = np.where(sound, np.minimum(values, dense), dense)
    return table


def reaches(table: np.ndarray, most: int) -> np.ndarray:
    """Return the largest bound of a set and up to r further variables, shape (most + 1, 2^q)."""
    q = table.size.bit_length() - 1
    found = np.empty((most + 1, table.size))
    found[0] = table
    index = np.arange(table.size)
    for r in range(1, most + 1):
        found[r] = found[r - 1]
        for i in range(q):
            np.maximum(found[r], found[r - 1][index | (1 << i)], out=found[r])
    return found
