"""A search for partitions: disjoint components that together contain all variables.

Climbs move single variables between groups. For up to `MOST` variables all partitions are then compared.
The PEV of a partition is the sum of the first eigenvalues of its groups, and the best is found by programming
over subsets. Adjusted variance is at most that sum, so that only partitions whose sums exceed the best known
value have to be fitted. The least-squares share may be larger than the sum, so that every partition has to be
fitted. If more than `LIMITS` allows would have to be fitted, those with the largest sums are.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from heapq import nlargest
from itertools import islice

import numpy as np

from spcastat.kernels.eig import top_eigh
from spcastat.kernels.orthonormal import varimax
from spcastat.search.all_partitions import MOST, Partitions, first_eigenvalues, members
from spcastat.search.group_loadings import GroupLoadings
from spcastat.search.rule import SupportRule
from spcastat.search.variance_target import REACHED, VarianceTarget

#: effort -> random starts, in addition to those from varimax and from the largest loadings of PCA.
RANDOM = {"quick": 2, "auto": 8, "thorough": 32}
#: effort -> the largest number of partitions that are fitted to compare all; a thousand take about 0.1 s.
LIMITS = {"quick": 5_000, "auto": 40_000, "thorough": 400_000}
#: The number of partitions that are fitted if there are too many to compare all: those of largest PEV.
FITTED = 3_000
#: The number of partitions on the way of the climbs, the best by their eigenvectors, that are fitted.
SEEN = 30
#: The number of partitions, the best by the first fit, that are fitted from further starts.
POLISHED = 300
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
    compared : int
        The number of partitions that were fitted.
    every : bool
        Whether all partitions were compared: each was fitted, or cannot be better. For adjusted variance and
        least squares the fit to a partition is the best of a few local optima.
    settled : bool
        Whether no move of a variable to another group improves the fit.
    proven : bool
        Whether no other disjoint components of all variables are better.
    """

    V: np.ndarray
    value: float
    values: tuple[float, ...]
    compared: int
    every: bool
    settled: bool
    proven: bool


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
    eigenvectors of the groups. For PEV these are the best loadings; for the other objectives loadings are
    optimised on the best groups that the climbs evaluated. Without starts all partitions of up to `MOST`
    variables are compared, unless too many would have to be fitted. Otherwise moves are evaluated with the
    optimised loadings, too, for up to `ALL_TRIED` variables.

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
        Starts of a short search that only climbs: each variable goes to the component of its largest loading.
        By default varimax, PCA and random groups.
    """
    scaled = S / np.trace(S)
    rng = rng or np.random.default_rng(0)
    climber = Climber(scaled, k, objective)
    given = [np.abs(V).argmax(axis=1) for V in starts]
    ends: dict[tuple[int, ...], float] = {}
    values = []
    for labels in given or _starts(scaled, k, RANDOM[effort], rng):
        value, found = climber.climb(_without_empty(labels, k))
        ends[tuple(sorted(found))] = value
        values.append(value)
    seen = ends if given else climber.seen
    best = nlargest(3 if given else SEEN, seen, key=seen.__getitem__)
    search = _Fits(GroupLoadings(scaled, k, objective), rng)
    search.add(best[:1] if objective == "pev" else best)
    every = k in (1, len(S))
    exact = objective == "pev" or every  # one component is the first of PCA by every measure
    if len(S) <= MOST and not given and not every:
        every = search.compare_all(LIMITS[effort])
    if objective != "pev" and not given:
        search.polish()
        before = -np.inf
        while not every and len(S) <= ALL_TRIED and search.values[0] > before + REACHED:
            before = search.values[0]
            search.climb()
            search.polish()
    V, value = search.loadings.dense(search.labels[0], search.x[0])
    settled = every or (not given and len(S) <= ALL_TRIED)
    return Grouped(V, value, tuple(values), search.compared, every, settled, every and exact)


class _Fits:
    """The best fits of partitions so far, in descending order of their values.

    Attributes
    ----------
    loadings : GroupLoadings
    labels, x : ndarray of shape (n, p)
        As for :class:`GroupLoadings`, with n at most `POLISHED`.
    values : ndarray of shape (n,)
    compared : int
        The number of partitions that were fitted.
    """

    def __init__(self, loadings: GroupLoadings, rng: np.random.Generator):
        self.loadings, self.rng = loadings, rng
        p = len(loadings.S)
        self.labels, self.x, self.values = np.empty((0, p), dtype=int), np.empty((0, p)), np.empty(0)
        self.compared = 0

    def add(self, partitions: Sequence[Sequence[int]]) -> None:
        """Fit partitions, each a sequence of k groups written as bit masks."""
        if partitions:
            self.fit(_labels(partitions, len(self.loadings.S)))

    def fit(self, labels: np.ndarray) -> None:
        """Fit partitions from the eigenvectors of their groups, and keep the best of all so far."""
        fits = zip((self.labels, self.x, self.values), self.loadings.fit(labels), strict=True)
        both = [np.concatenate(pair) for pair in fits]
        self.compared += len(labels)
        best = np.argsort(-both[2], kind="stable")[:POLISHED]
        self.labels, self.x, self.values = (part[best] for part in both)

    def polish(self) -> None:
        """Climb from further starts on the best groups."""
        found = self.loadings.polished(self.labels, self.x, self.values, self.rng)
        best = np.argsort(-found[2], kind="stable")
        self.labels, self.x, self.values = (part[best] for part in found)

    def compare_all(self, limit: int) -> bool:
        """Fit all partitions that may be better, if they are at most `limit`, and return whether they are.

        If they are more, `FITTED` of them are fitted.
        """
        first = first_eigenvalues(self.loadings.S)
        assert first is not None  # without a time limit
        partitions, objective = Partitions(first, self.loadings.k), self.loadings.objective
        if objective == "pev":
            self.add([groups for _, groups in islice(partitions.descending(-np.inf), 1)])
            return True
        if objective == "adjusted":
            self.add([groups for _, groups in islice(partitions.descending(-np.inf), SEEN)])
            self.polish()
            least = float(self.values[0])
        elif partitions.count > limit:
            limit, least = FITTED, -np.inf
        else:
            least = -np.inf
        found = [groups for _, groups in islice(partitions.descending(least), limit + 1)]
        every = len(found) <= limit
        self.add(found if every else found[:FITTED])
        return every

    def climb(self) -> None:
        """Move single variables to other groups while that raises the objective of the best loadings."""
        k, value = self.loadings.k, -np.inf
        while self.values[0] > value + REACHED:
            value, now = float(self.values[0]), self.labels[0]
            free = np.bincount(now, minlength=k)[now] > 1
            j, g = np.nonzero(free[:, None] & (now[:, None] != np.arange(k)))
            trials = np.tile(now, (len(j), 1))
            trials[np.arange(len(j)), j] = g
            self.fit(trials)


def _labels(partitions: Sequence[Sequence[int]], p: int) -> np.ndarray:
    """Return the number of the group of each variable, shape (n, p), for partitions into bit masks."""
    if p <= MOST:
        return (np.array(partitions)[:, None, :] >> np.arange(p)[:, None] & 1).argmax(axis=2)
    found = np.empty((len(partitions), p), dtype=int)
    for labels, groups in zip(found, partitions, strict=True):
        for number, group in enumerate(groups):
            labels[members(group)] = number
    return found


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

    Attributes
    ----------
    seen : dict
        Every partition that was evaluated, its groups ascending -> its value with leading eigenvectors.
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
        self.seen: dict[tuple[int, ...], float] = {}

    def leading(self, group: int) -> np.ndarray:
        """Return the leading eigenvector of the variables of a group, shape (p,)."""
        if group not in self.known:
            J = members(group)
            v = np.zeros(self.p)
            v[J] = top_eigh(self.S[np.ix_(J, J)], 1)[1][:, 0]
            self.known[group] = v
        return self.known[group]

    def allowed(self, groups: Sequence[int]) -> bool:
        """Return whether groups obey the rule."""
        if self.rule is None:
            return True
        there = np.zeros((1, self.k, self.p), dtype=bool)
        for i, group in enumerate(groups):
            there[0, i, members(group)] = True
        return not self.rule.broken(there)[0]

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
        self.seen[tuple(sorted(groups))] = value
        better: list[int] | None = groups
        while better is not None:
            groups, better = better, None
            for trial in self._trials(groups):
                if not self.allowed(trial):
                    continue
                found = self.value(trial)
                self.seen[tuple(sorted(trial))] = found
                if found > value + REACHED:
                    value, better = found, trial
                    break
        return value, groups

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
                for a in members(groups[g]).tolist():
                    for b in members(groups[h]).tolist():
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
            labels[members(group)] = own
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
