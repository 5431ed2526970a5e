"""All partitions of a few variables into k groups, in descending order of the sum of first eigenvalues.

Groups are sets of variables written as bit masks. The sum over a partition of the largest eigenvalues of the
covariance matrices of its groups is the PEV of disjoint components of all variables, and a bound of their
adjusted variance. It is a sum over groups, so that programming over subsets gives the largest sum for every
subset of the variables, without listing partitions.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from heapq import heappop, heappush
from itertools import count
from math import comb, factorial

import numpy as np

from spcastat.kernels.blocks import blocks

#: With more variables, the 2^p subsets are not listed.
MOST = 16
#: Sets of up to this many variables are split in every way by one operation for each way.
FEW = 5


def always() -> bool:
    """Return True: there is no time limit."""
    return True


def members(group: int) -> np.ndarray:
    """Return the variables of a group, ascending."""
    return np.array([j for j in range(group.bit_length()) if group >> j & 1])


def first_eigenvalues(S: np.ndarray, running: Callable[[], bool] = always) -> np.ndarray | None:
    """Return the largest eigenvalue for every subset of variables, shape (2^p,).

    Parameters
    ----------
    S : ndarray of shape (p, p)
        With p at most `MOST`.
    running : callable
        Called between steps; if it returns False, so that time has run out, the result is None.
    """
    p = len(S)
    first = np.zeros(1 << p)
    inside = np.arange(1 << p)[:, None] >> np.arange(p) & 1
    sizes = inside.sum(axis=1)
    for size in range(1, p + 1):
        of = np.flatnonzero(sizes == size)
        for part in blocks(len(of), size**2, 4_000_000):
            if not running():
                return None
            J = np.nonzero(inside[of[part]])[1].reshape(-1, size)
            first[of[part]] = np.linalg.eigvalsh(S[J[:, :, None], J[:, None, :]])[:, -1]
    return first


class Partitions:
    """All partitions of p variables into k groups, and the largest sum of first eigenvalues of each subset.

    Parameters
    ----------
    first : ndarray of shape (2^p,)
        The largest eigenvalue of the variables of each subset.
    k : int
        Number of groups, at most p.

    Attributes
    ----------
    best : list of ndarray
        ``best[j - 1][mask]`` is the largest sum over partitions of a subset into j groups; -inf if it has
        fewer than j variables. For fewer than k groups there are only the subsets that are left when a
        partition begins with the group of the last variable, and goes on with that of the last remaining
        one.
    """

    def __init__(self, first: np.ndarray, k: int):
        self.first, self.k = first, k
        self.p = len(first).bit_length() - 1
        self.whole = len(first) - 1
        self._subsets: dict[int, np.ndarray] = {}
        one = first.copy()
        one[0] = -np.inf
        self.best = [one[: 1 << (self.p - k + 1)]]
        for j in range(2, k):
            fewer, more = self.best[-1], np.full(1 << (self.p - k + j), -np.inf)
            for last in range(self.p - k + j):
                size = 1 << last
                more[size : 2 * size] = largest_sums(first[size : 2 * size], fewer[:size])
            self.best.append(more)

    @property
    def count(self) -> int:
        """The number of partitions, a Stirling number of the second kind."""
        return sum((-1) ** j * comb(self.k, j) * (self.k - j) ** self.p for j in range(self.k)) // factorial(
            self.k
        )

    def descending(self, least: float) -> Iterator[tuple[float, tuple[int, ...]]]:
        """Yield the partitions whose sums are larger than `least`, with their sums, in descending order.

        A partition is built group by group; the sum of its first groups and the largest sum of what is left
        is never below the sum of any partition that begins so (best-first search).
        """
        if self.k == 1:
            if self.first[self.whole] > least:
                yield float(self.first[self.whole]), (self.whole,)
            return
        ties = count()
        queue: list[tuple[float, int, _Choice]] = []
        _push(queue, ties, self._choice((), 0.0, self.whole, least))
        while queue:
            total, _, choice = heappop(queue)
            group = int(choice.groups[choice.at])
            rest = choice.rest ^ group
            known = (*choice.known, group)
            choice.at += 1
            _push(queue, ties, choice)
            if len(known) == self.k - 1:
                yield -total, (*known, rest)
            else:
                begun = choice.begun + float(self.first[group])
                _push(queue, ties, self._choice(known, begun, rest, least))

    def _choice(self, known: tuple[int, ...], begun: float, rest: int, least: float) -> _Choice:
        """Return the next groups for a partition that begins with the groups `known`, the best first."""
        groups = self._with_last(rest)[:-1]
        totals = begun + self.first[groups] + self.best[self.k - len(known) - 2][rest ^ groups]
        kept = np.flatnonzero(totals > least)
        kept = kept[np.argsort(-totals[kept], kind="stable")]
        return _Choice(known, begun, rest, groups[kept], totals[kept])

    def _with_last(self, mask: int) -> np.ndarray:
        """Return the subsets of a set that contain its last variable; the final one is the set itself."""
        if mask not in self._subsets:
            last = 1 << (mask.bit_length() - 1)
            found, rest = np.array([last]), mask ^ last
            while rest:
                bit = rest & -rest
                found, rest = np.concatenate([found, found | bit]), rest ^ bit
            self._subsets[mask] = found
        return self._subsets[mask]


class _Choice:
    """The groups that may follow in a partition, in descending order of the sums `totals`.

    `at` is the position of the next group; `known` are the groups so far, with the sum `begun`, and `rest`
    the variables left.
    """

    def __init__(
        self, known: tuple[int, ...], begun: float, rest: int, groups: np.ndarray, totals: np.ndarray
    ):
        self.known, self.begun, self.rest = known, begun, rest
        self.groups, self.totals, self.at = groups, totals, 0


def _push(queue: list[tuple[float, int, _Choice]], ties: Iterator[int], choice: _Choice) -> None:
    """Put a choice into the queue by the sum of its next group, if it has one."""
    if choice.at < len(choice.groups):
        heappush(queue, (-float(choice.totals[choice.at]), next(ties), choice))


def largest_sums(f: np.ndarray, g: np.ndarray) -> np.ndarray:
    """Return for every set r the largest f(s) + g(r without s) over its subsets s, shape (2^h,).

    `f` and `g` have a value for every subset of h variables. A set with the last variable has it in s or in
    the rest, so that three problems with one variable less give the answer; all are solved at once.
    """
    h = len(f).bit_length() - 1
    F, G = f[:, None], g[:, None]
    for _ in range(h - FEW):
        half = len(F) // 2
        F, G = (
            np.concatenate([F[:half], F[half:], F[:half]], axis=1),
            np.concatenate([G[:half], G[:half], G[half:]], axis=1),
        )
    found: np.ndarray = np.full((len(F), F.shape[1]), -np.inf)
    for r in range(len(F)):
        s = r
        while True:
            np.maximum(found[r], F[s] + G[r ^ s], out=found[r])
            if s == 0:
                break
            s = (s - 1) & r
    for _ in range(h - FEW):
        third = found.shape[1] // 3
        without = found[:, :third]
        found = np.concatenate([without, np.maximum(found[:, third : 2 * third], found[:, 2 * third :])])
    return found[:, 0]
