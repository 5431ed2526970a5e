"""A search for partitions: disjoint components that together contain all variables."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np

from spcastat.kernels.eig import symmetric, top_eigh
from spcastat.kernels.orthonormal import varimax
from spcastat.measures import MEASURES, best_order
from spcastat.operators import Gram
from spcastat.search.nearby_fits import near
from spcastat.search.rule import SupportRule
from spcastat.search.variance_target import REACHED, VarianceTarget

#: effort -> random starts, in addition to those from varimax and from the largest loadings of PCA.
RANDOM = {"quick": 2, "auto": 8, "thorough": 32}
#: Up to this many variables a climb ends only after every move and every swap has been evaluated.
ALL_TRIED = 60


@dataclass(frozen=True, eq=False)
class Grouped:
    """The best components that were found.

    Attributes
    ----------
    V : ndarray of shape (p, k)
        Unit loadings. The supports are the groups, except for loadings that are zero at the optimum.
    value : float
        The objective, as a share of the total variance.
    values : tuple of float
        The value that each climb reached with the leading eigenvectors of its groups.
    """

    V: np.ndarray
    value: float
    values: tuple[float, ...]


def partition(
    S: np.ndarray,
    k: int,
    objective: str,
    effort: str = "auto",
    rng: np.random.Generator | None = None,
    starts: Sequence[np.ndarray] = (),
) -> Grouped:
    """Search for the k groups whose components maximise the objective.

    A climb moves one variable to another group, or swaps two, while that raises the objective of the leading
    eigenvectors of the groups. For PEV these are the best loadings; otherwise the loadings on the groups
    found are optimised afterwards.

    Parameters
    ----------
    S : ndarray of shape (p, p)
        Covariance matrix.
    k : int
        Number of groups, at most p.
    objective : {"adjusted", "pev", "least_squares"}
    effort : {"quick", "auto", "thorough"}
    rng : numpy Generator, optional
    starts : sequence of ndarray of shape (p, k)
        Starts: each variable goes to the component of its largest loading. By default varimax, PCA and
        random groups.
    """
    scaled = S / np.trace(S)
    climber = Climber(scaled, k, objective)
    given = [np.abs(V).argmax(axis=1) for V in starts]
    ends: dict[tuple[int, ...], float] = {}
    values = []
    for labels in given or _starts(scaled, k, RANDOM[effort], rng or np.random.default_rng(0)):
        value, found = climber.climb(_without_empty(labels, k))
        ends[tuple(sorted(found))] = value
        values.append(value)
    # the loadings of the best three distinct results are optimised
    best = sorted(ends, key=lambda groups: -ends[groups])[:3]
    V, value = max((climber.finished(groups) for groups in best), key=lambda one: one[1])
    return Grouped(V, value, tuple(values))


def _starts(S: np.ndarray, k: int, random: int, rng: np.random.Generator) -> Iterator[np.ndarray]:
    """Yield starts: the group of each variable, shape (p,)."""
    values, vectors = top_eigh(S, k)
    loadings = vectors * np.sqrt(values.clip(min=0.0))
    yield np.abs(varimax(loadings)).argmax(axis=1)
    yield np.abs(loadings).argmax(axis=1)
    for _ in range(random):
        yield rng.permutation(np.arange(len(S)) % k)


def _without_empty(labels: np.ndarray, k: int) -> list[int]:
    """Return the groups as bit masks; an empty group takes a variable from the largest."""
    labels = labels.copy()
    for g in range(k):
        if not (labels == g).any():
            labels[np.flatnonzero(labels == np.bincount(labels, minlength=k).argmax())[-1]] = g
    return [as_mask(np.flatnonzero(labels == g)) for g in range(k)]


def as_mask(members: np.ndarray) -> int:
    """Return the bit mask of a group."""
    return sum(1 << int(j) for j in members)


class Climber:
    """Local search over partitions; a group is a bit mask of its variables.

    Parameters
    ----------
    S : ndarray of shape (p, p)
        Covariance matrix over the total variance.
    k : int
    objective : {"adjusted", "pev", "least_squares"}
    rule : SupportRule, optional
        The variables that groups may have and must have. Variables that none may have are in no group.
    target : VarianceTarget, optional
        If given, partitions are compared by how nearly they reach it, not by the sum of adjusted variances.
    """

    def __init__(
        self,
        S: np.ndarray,
        k: int,
        objective: str,
        rule: SupportRule | None = None,
        target: VarianceTarget | None = None,
    ):
        self.S, self.rule, self.target = S, rule, target
        self.sorts = rule is None or len(set(rule.kinds([0] * k))) == 1
        self.square = S @ S if objective == "least_squares" else None
        self.p, self.k, self.objective = len(S), k, objective
        self.known: dict[int, np.ndarray] = {}

    def leading(self, group: int) -> np.ndarray:
        """Return the leading eigenvector of the variables of a group, shape (p,)."""
        if group not in self.known:
            members = self.members(group)
            v = np.zeros(self.p)
            v[members] = top_eigh(self.S[np.ix_(members, members)], 1)[1][:, 0]
            self.known[group] = v
        return self.known[group]

    def allowed(self, groups: Sequence[int]) -> bool:
        """Return whether groups obey the rule."""
        if self.rule is None:
            return True
        there = np.zeros((1, self.k, self.p), dtype=bool)
        for i, group in enumerate(groups):
            there[0, i, self.members(group)] = True
        return not self.rule.broken(there)[0]

    def members(self, group: int) -> np.ndarray:
        return np.array([j for j in range(self.p) if group >> j & 1])

    def vectors(self, groups: Sequence[int]) -> np.ndarray:
        return np.stack([self.leading(group) for group in groups], axis=1)

    def value(self, groups: Sequence[int]) -> float:
        """Return the objective of the leading eigenvectors of the groups."""
        V = self.vectors(groups)
        N = None if self.square is None else (V.T @ self.square @ V)[None]
        return float(self._values((V.T @ self.S @ V)[None], N)[0])

    def climb(self, groups: list[int]) -> tuple[float, list[int]]:
        """Return the value and the groups of a local optimum under moves and swaps."""
        value = self.value(groups)
        better: list[int] | None = groups
        while better is not None:
            groups, better = better, None
            for trial in self._trials(groups):
                found = self.value(trial) if self.allowed(trial) else -np.inf
                if found > value + REACHED:
                    value, better = found, trial
                    break
        return value, groups

    def finished(self, groups: Sequence[int]) -> tuple[np.ndarray, float]:
        """Return the best loadings on the groups, in the best order found, and their value."""
        V = self.vectors(groups)
        op = Gram(symmetric(self.S))
        for _ in range(2):
            V = V[:, best_order(V.T @ self.S @ V)]
            card = tuple(int(c) for c in np.count_nonzero(V, axis=0))
            V = near([op], card, self.objective, [[V]], fixed=True)[0]
        return V, float(MEASURES[self.objective](V, op)[-1])

    def _trials(self, groups: list[int]) -> Iterator[list[int]]:
        """Yield neighbouring partitions: first moves, the most promising first, then swaps."""
        for count, (j, g, h) in enumerate(self._moves(groups)):
            if count >= 50 and self.p > ALL_TRIED:
                break
            trial = list(groups)
            trial[g], trial[h] = groups[g] ^ (1 << j), groups[h] | (1 << j)
            yield trial
        for g in range(self.k):
            for h in range(g + 1, self.k):
                alone = groups[g].bit_count() == 1 or groups[h].bit_count() == 1
                if not alone and self.p > ALL_TRIED:
                    continue
                for a in self.members(groups[g]).tolist():
                    for b in self.members(groups[h]).tolist():
                        both = 1 << a | 1 << b
                        trial = list(groups)
                        trial[g], trial[h] = groups[g] ^ both, groups[h] ^ both
                        yield trial

    def _moves(self, groups: list[int]) -> list[tuple[int, int, int]]:
        """Return moves of variable j from group g to group h, the best first.

        A move is evaluated with the loadings of g without the variable, and with the loadings of h extended
        by the variable so that the variance is largest; this needs no eigenvectors.
        """
        V = self.vectors(groups)
        labels = np.full(self.p, -1)
        for own, group in enumerate(groups):
            labels[self.members(group)] = own
        sizes = np.array([group.bit_count() for group in groups])
        free = (labels >= 0) & (sizes[labels] > 1)
        j, h = np.nonzero(free[:, None] & (labels[:, None] != np.arange(self.k)))
        g = labels[j]
        SV = self.S @ V
        G = V.T @ SV
        # t is the angle of the leading eigenvector of [[G_hh, b], [b, s]]
        t = 0.5 * np.arctan2(2.0 * SV[j, h], G[h, h] - self.S[j, j])
        length = np.sqrt(np.maximum(1.0 - V[j, g] ** 2, REACHED))
        changes = (g, 1.0 / length, -V[j, g] / length), (h, np.cos(t), np.sin(t))
        N = None
        if self.square is not None:
            TV = self.square @ V
            N = _moved(j, changes, V.T @ TV, TV, np.diag(self.square))
        values = self._values(_moved(j, changes, G, SV, np.diag(self.S)), N)
        order = np.argsort(-values, kind="stable")
        return list(zip(j[order].tolist(), g[order].tolist(), h[order].tolist(), strict=True))

    def _values(self, G: np.ndarray, N: np.ndarray | None) -> np.ndarray:
        """Return the objective from V'SV, and V'SSV, of orthonormal loadings, shape (B,)."""
        if self.objective == "pev":
            return np.trace(G, axis1=1, axis2=2)
        if N is not None:
            return np.trace(np.linalg.pinv(G, hermitian=True) @ N, axis1=1, axis2=2)
        # adjusted variance, the next component being that of the largest remaining variance
        left, added, at = G.copy(), np.zeros((self.k, len(G))), np.arange(len(G))
        for i in range(self.k):
            variances = np.diagonal(left, axis1=1, axis2=2)
            first = variances.argmax(axis=1) if self.sorts else np.full(len(G), i)
            most = variances[at, first].clip(min=0.0)
            added[i] = most
            column = left[at, :, first]
            left = left - column[:, :, None] * column[:, None, :] / np.maximum(most, REACHED)[:, None, None]
        return added.sum(axis=0) if self.target is None else self.target.reached(added.T)


def _moved(
    j: np.ndarray,
    changes: Sequence[tuple[np.ndarray, np.ndarray, np.ndarray]],
    G: np.ndarray,
    MV: np.ndarray,
    variances: np.ndarray,
) -> np.ndarray:
    """Return V'MV after changes of loadings, shape (B, k, k), from V'MV, MV and the diagonal of M before.

    A change (i, a, b) replaces column i of V by a V + b e_j; all are of shape (B,).
    """
    at, row, own = np.arange(len(j)), MV[j], variances[j]
    new = np.repeat(G[None], len(at), axis=0)
    for i, a, b in changes:
        column = a[:, None] * new[at, i] + b[:, None] * row
        square = a**2 * new[at, i, i] + 2.0 * a * b * row[at, i] + b**2 * own
        new[at, i, :] = column
        new[at, :, i] = column
        new[at, i, i] = square
        # products of e_j with the changed column, for the next column
        row = row.copy()
        row[at, i] = a * row[at, i] + b * own
    return new
