"""A bound on disjoint components of all variables: every partition that may be better is listed and bounded.

Components of disjoint groups explain at most the sum of the first eigenvalues of the groups. For PEV they
explain exactly that, so that dynamic programming over subsets finds the best partition. Under adjusted
variance only partitions with a larger sum than the value of the fit can be better; each is bounded by
`spcastat.certify.ordered`.
"""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from spcastat.certify.bounds import enlarged
from spcastat.certify.clock import Clock
from spcastat.certify.ordered import ordered_bounds
from spcastat.kernels.blocks import blocks
from spcastat.kernels.eig import EPS

#: With more variables, the 2^p subsets are not listed.
MOST = 16


def partition_bound(
    S: np.ndarray, k: int, measure: str, value: float, clock: Clock
) -> tuple[float, int | None]:
    """Return a bound on disjoint components of all variables, and how many partitions are left above `value`.

    Parameters
    ----------
    S : ndarray of shape (p, p)
        Of total variance one, with p at most `MOST`.
    k : int
    measure : {"pev", "adjusted"}
    value : float
        The measure of the best known fit.
    clock : Clock

    Returns
    -------
    bound : float
        Infinity if time ran out before there was a bound.
    left : int or None
        None if there were too many partitions, or too little time, to bound each of them.
    """
    first = _first_eigenvalues(S, clock)
    best = None if first is None else _sums(first, len(S), k, clock)
    if best is None or first is None:
        return np.inf, None
    bound = enlarged(float(best[-1][-1]), len(S) * k)
    if measure == "pev":
        return bound, 0
    found: list[tuple[int, ...]] = []
    for groups in _above(first, best, value * (1.0 - len(S) * k * EPS), len(best[0]) - 1, k):
        found.append(groups)
        if len(found) > 20_000 or not clock.runs():
            return bound, None
    if not found:
        return value, 0
    values, vectors = np.linalg.eigh(S)
    F = np.sqrt(values.clip(min=0.0))[:, None] * vectors.T
    inside = np.array(found)[:, :, None] >> np.arange(len(S)) & 1
    most = value
    for part in blocks(len(found), 1, 500):
        own = [np.einsum("ap,bp,cp->bac", F, inside[part, j].astype(float), F) for j in range(k)]
        bounds = ordered_bounds(own, [1] * k, value, 400, running=clock.runs)
        sums = first[np.array(found[part])].sum(axis=1)
        most = max(most, float(np.minimum(bounds, enlarged(1.0, len(S) * k) * sums).max()))
    return min(bound, most), len(found)


def _first_eigenvalues(S: np.ndarray, clock: Clock) -> np.ndarray | None:
    """Return the largest eigenvalue for every subset of variables, shape (2^p,); None if time runs out."""
    p = len(S)
    first = np.zeros(1 << p)
    inside = np.arange(1 << p)[:, None] >> np.arange(p) & 1
    sizes = inside.sum(axis=1)
    for size in range(1, p + 1):
        of = np.flatnonzero(sizes == size)
        for part in blocks(len(of), size**2, 4_000_000):
            if not clock.runs():
                return None
            J = np.nonzero(inside[of[part]])[1].reshape(-1, size)
            first[of[part]] = np.linalg.eigvalsh(S[J[:, :, None], J[:, None, :]])[:, -1]
    return first


def _subsets(mask: int) -> np.ndarray:
    """Return the subsets of a set, as bits, that contain its lowest bit; the last is the set itself."""
    lowest = mask & -mask
    found, rest = np.array([lowest]), mask ^ lowest
    while rest:
        bit = rest & -rest
        found, rest = np.concatenate([found, found | bit]), rest ^ bit
    return found


def _sums(first: np.ndarray, p: int, k: int, clock: Clock) -> list[np.ndarray] | None:
    """Return the largest sums of first eigenvalues over all partitions of a subset into j groups.

    The list has an array of shape (2^p,), with a sum for every subset, for j = 1, ..., k.
    """
    best = [first, *(np.full(1 << p, -np.inf) for _ in range(k - 1))]
    for mask in range(1, 1 << p):
        if mask % 1024 == 0 and not clock.runs():
            return None
        own = _subsets(mask)[:-1]
        if own.size:
            for j in range(1, k):
                best[j][mask] = (first[own] + best[j - 1][mask ^ own]).max()
    return best


def _above(
    first: np.ndarray, best: list[np.ndarray], value: float, mask: int, k: int
) -> Iterator[tuple[int, ...]]:
    """Yield the partitions of a set into k groups whose first eigenvalues have a larger sum than `value`."""
    if k == 1:
        if first[mask] > value:
            yield (mask,)
        return
    own = _subsets(mask)[:-1]
    for group in own[first[own] + best[k - 2][mask ^ own] > value].tolist():
        for rest in _above(first, best, value - first[group], mask ^ group, k - 1):
            yield (group, *rest)
