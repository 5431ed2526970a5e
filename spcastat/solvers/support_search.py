"""A deterministic search for the best support of one component.

Power iterations truncated to the cardinality start from all rows of S, since in a correlation matrix all
one-variable starts tie, and from eigenvectors; greedy supports are added. The best supports are improved by
exchanges of one and two variables until no exchange improves them.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from itertools import combinations

import numpy as np

from spcastat.linalg.eigenvectors import bordered_lower
from spcastat.linalg.operators import Gram, Operator
from spcastat.linalg.ties import first_max, hard, hard_marked, top
from spcastat.solvers.greedy import Growth

#: The largest number of rows of S used as starts: those with the largest variances.
SEEDS = 1500
#: The largest number of steps of the truncated power iteration.
SWEEPS = 60
#: Smallest relative improvement by an exchange that counts.
GAIN = 1e-11
#: Exchanges of two variables need matrices of order p; with more variables only the most promising are tried.
PAIR_ORDER = 600

Keep = Callable[[], bool]


def best_support(
    S: np.ndarray | Operator,
    c: int,
    *,
    running: Keep | None = None,
    seeds: int = SEEDS,
    pairs: bool = True,
) -> tuple[float, np.ndarray]:
    """Search for the largest eigenvalue of S[J, J] over supports J of `c` variables.

    Parameters
    ----------
    S : ndarray of shape (p, p) or Operator
        Symmetric positive semidefinite, up to rounding.
    c : int
        From 1 to p.
    running : callable or None
        Called from time to time; if it returns False, the best support so far is returned.
    seeds : int
        The largest number of rows of S used as starts.
    pairs : bool
        Whether exchanges of two variables at once are tried at the end.

    Returns
    -------
    value : float
        The largest eigenvalue of S[J, J].
    support : ndarray of int, shape (c,)
        J in ascending order. Of supports that tie, the first one found, so that results are reproducible.
    """
    op = S if isinstance(S, Operator) else Gram(S)
    go_on: Keep = running or (lambda: True)
    variances = op.diagonal()
    if c >= op.p:
        return float(op.leading(1)[0][0]), np.arange(op.p)
    if c == 1:
        best = first_max(variances)
        return float(variances[best]), np.array([best])
    pool = _Pool(op, c)
    for supports in _candidates(op, variances, c, go_on, seeds):
        pool.add(supports)
    visited: set[tuple[int, ...]] = set()
    for support in pool.best(24):
        if not go_on():
            break
        pool.add(_polish(op, variances, support, go_on, visited)[None])
    tried: set[tuple[int, ...]] = set()
    # the three best distinct supports are improved by exchanges of two variables
    for support in pool.best(3 if pairs else 0):
        if not go_on():
            break
        pool.add(_polish(op, variances, support, go_on, tried, pairs=True)[None])
    support = pool.best(1)[0]
    return pool.values[tuple(support)], support


def improve_support(S: np.ndarray | Operator, support: np.ndarray, c: int) -> np.ndarray:
    """Extend `support` to `c` variables greedily, then exchange one or two until no exchange improves it.

    Parameters
    ----------
    S : ndarray of shape (p, p) or Operator
    support : ndarray of int
        At least one and at most c variables.
    c : int

    Returns
    -------
    ndarray of int, shape (c,)
    """
    op = S if isinstance(S, Operator) else Gram(S)
    grown = np.sort(Growth(op, True, support).to(c))
    return _polish(op, op.diagonal(), grown, lambda: True, set(), pairs=True)


class _Pool:
    """Distinct supports and their values."""

    def __init__(self, op: Operator, c: int):
        self.op = op
        self.c = c
        self.values: dict[tuple[int, ...], float] = {}

    def add(self, supports: np.ndarray) -> None:
        """Add supports, shape (m, c)."""
        keys = dict.fromkeys(map(tuple, np.sort(supports, axis=1).tolist()))
        new = [key for key in keys if key not in self.values]
        if new:
            self.values.update(zip(new, _values(self.op, np.array(new)).tolist(), strict=True))

    def best(self, count: int) -> list[np.ndarray]:
        """Return the supports with the largest values; ties in the order in which they were added."""
        level = max(self.values.values()) or 1.0
        rounded = {key: round(value / level, 10) for key, value in self.values.items()}
        return [np.array(key) for key in sorted(rounded, key=lambda key: -rounded[key])[:count]]


def _values(op: Operator, supports: np.ndarray) -> np.ndarray:
    """Return the leading eigenvalue of S on each of the `supports`, which have shape (m, c)."""
    used, place = np.unique(supports, return_inverse=True)
    place = place.reshape(supports.shape)
    if used.size > 4000:
        blocks = np.stack([op.block(support) for support in supports])
    else:
        blocks = op.block(used)[place[:, :, None], place[:, None, :]]
    return np.linalg.eigvalsh(0.5 * (blocks + blocks.transpose(0, 2, 1)))[:, -1]


def _candidates(op: Operator, variances: np.ndarray, c: int, go_on: Keep, most: int) -> Iterator[np.ndarray]:
    """Yield arrays of candidate supports, shape (m, c)."""
    seeds = np.flatnonzero(top(variances, min(most, op.p)))
    columns = op.columns(seeds)
    partner = np.abs(columns)
    partner[seeds, np.arange(seeds.size)] = -1.0
    partners = np.argmax(partner, axis=0)
    few = min(20, op.p)
    vectors = op.leading(few)[1]
    pairs = np.zeros_like(columns)
    pairs[seeds, np.arange(seeds.size)] = 1.0
    pairs[partners, np.arange(seeds.size)] = np.sign(columns[partners, np.arange(seeds.size)])
    for starts in (np.hstack([vectors, columns]), pairs):
        yield _truncated_power(op, starts, c, go_on)
        if not go_on():
            return
    strength = variances[seeds] + variances[partners]
    strength = 0.5 * strength + np.sqrt(
        0.25 * (variances[seeds] - variances[partners]) ** 2 + columns[partners, np.arange(seeds.size)] ** 2
    )
    for s in np.flatnonzero(top(strength, min(4, seeds.size))):
        yield Growth(op, True, np.array([seeds[s], partners[s]])).to(c)[None]


def _truncated_power(op: Operator, V: np.ndarray, c: int, go_on: Keep) -> np.ndarray:
    """Return the supports at which truncated power iterations from the columns of `V` end, shape (m, c)."""
    done: list[np.ndarray] = []
    V = hard(V, c)
    last = top(np.abs(V), c)
    for _ in range(SWEEPS):
        if not go_on():
            break
        V, marked = hard_marked(op.dot(V), c)
        still = (marked != last).any(axis=0)
        done.append(marked[:, ~still])
        marked, V = marked[:, still], V[:, still]
        if marked.shape[1] == 0:
            last = marked
            break
        last, first = np.unique(marked, axis=1, return_index=True)
        V = V[:, first]
    marked = np.hstack([*done, last])
    return np.nonzero(marked.T)[1].reshape(marked.shape[1], -1)


def _polish(
    op: Operator,
    variances: np.ndarray,
    support: np.ndarray,
    go_on: Keep,
    visited: set[tuple[int, ...]],
    pairs: bool = False,
) -> np.ndarray:
    """Exchange one variable, or two if that does not improve and `pairs` is set, until nothing improves.

    Stops early at a support in `visited`, which was improved before; new supports are added to `visited`.
    """
    value = float(_values(op, support[None])[0])
    while go_on() and tuple(support.tolist()) not in visited:
        visited.add(tuple(support.tolist()))
        columns = op.columns(support)
        found = _best_exchange(op, variances, support, columns, value)
        if found is None and pairs:
            found = _pair_exchange(op, variances, support, columns, value, go_on)
        if found is None:
            break
        support, value = found
    return support


def _best_exchange(
    op: Operator, variances: np.ndarray, support: np.ndarray, columns: np.ndarray, value: float
) -> tuple[np.ndarray, float] | None:
    """Return the support after the best exchange of one variable, and its value; None if none improves.

    The bordered matrix [[B, b], [b', d]] has an eigenvalue above `value` if and only if
    d + b' (value - B)^-1 b > value, which is tested for all exchanges at once; only those that pass are
    ranked.
    """
    c = support.size
    rest = np.array([np.delete(np.arange(c), i) for i in range(c)])
    block = columns[support]
    block = 0.5 * (block + block.T)
    theta, Q = np.linalg.eigh(block[rest[:, :, None], rest[:, None, :]])
    free = np.setdiff1d(np.arange(op.p), support)
    squares = np.matmul(Q.transpose(0, 2, 1), columns[free].T[rest]) ** 2  # (c, c - 1, free)
    corner = variances[free]
    gap = np.maximum(value * (1.0 + GAIN) - theta, 1e-13 * abs(value) + 1e-300)
    out, into = np.nonzero(np.einsum("isf,is->if", squares, 1.0 / gap) + corner > value * (1.0 + GAIN))
    if out.size == 0:
        return None
    estimate = bordered_lower(theta[out].T, squares[out, :, into].T, corner[into])
    some = np.flatnonzero(top(estimate, min(12, out.size)))
    trial = np.array([np.append(support[rest[out[t]]], free[into[t]]) for t in some])
    values = _values(op, trial)
    best = first_max(values)
    if values[best] <= value * (1.0 + GAIN):
        return None
    return np.sort(trial[best]), float(values[best])


def _pair_exchange(
    op: Operator,
    variances: np.ndarray,
    support: np.ndarray,
    columns: np.ndarray,
    value: float,
    go_on: Keep,
) -> tuple[np.ndarray, float] | None:
    """Replace two variables of the support; return the better support and its value, or None without one.

    Let R be the variables that remain, F those outside the support, and T = S_FF + S_FR (value I - S_RR)^-1
    S_RF. Adding a and b of F raises the value if (value - T_aa)(value - T_bb) < T_ab^2.
    """
    c = support.size
    if c < 3:
        return None
    level = value * (1.0 + GAIN)
    free = np.setdiff1d(np.arange(op.p), support)
    block = columns[support]
    block = 0.5 * (block + block.T)
    full = op.block(free) if free.size <= PAIR_ORDER else None
    for out in combinations(range(c), 2):
        if not go_on():
            return None
        rest = np.delete(np.arange(c), out)
        theta, Q = np.linalg.eigh(block[np.ix_(rest, rest)])
        gap = np.maximum(level - theta, 1e-13 * abs(value) + 1e-300)
        root = (columns[free][:, rest] @ Q) / np.sqrt(gap)
        corner = variances[free] + (root**2).sum(axis=1)
        if full is None:
            near = np.flatnonzero(top(corner, PAIR_ORDER))
            T = op.block(free[near])
        else:
            near, T = np.arange(free.size), full
        T = T + root[near] @ root[near].T
        slack = np.maximum(level - corner[near], 0.0)
        gain = T**2 - np.outer(slack, slack)
        np.fill_diagonal(gain, -np.inf)
        if not gain.max() > 0.0:
            continue
        a, b = divmod(int(np.argmax(gain)), near.size)
        trial = np.sort(np.append(support[rest], free[near[[a, b]]]))
        found = float(_values(op, trial[None])[0])
        if found > level:
            return trial, found
    return None
