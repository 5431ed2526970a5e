"""A deterministic search for the best support of one component.

Power iterations truncated to the cardinality start from all rows of S, since in a correlation matrix all
one-variable starts tie, and from eigenvectors; greedy supports are added. The best supports are improved by
exchanges of one and two variables until no exchange improves them.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from itertools import combinations

import numpy as np
from scipy.sparse import csr_array

from spcastat.linalg.eigenvectors import bordered_lower
from spcastat.linalg.operators import Gram, Operator
from spcastat.linalg.ties import first_max, hard, hard_marked, top
from spcastat.solvers.greedy import Growth

#: The largest number of rows of S used as starts: those with the largest variances. In 90 problems of 300 to
#: 1200 variables 1500 starts had values .005 % larger on average, and took 1.8 times as long.
STARTING_ROWS = 400
#: The number of supports that exchanges improve.
IMPROVED_SUPPORTS = 24
#: The largest number of steps of the truncated power iteration.
POWER_ITERATIONS = 60
#: Steps of the truncated power iteration that all starts make, and the number of starts that go on.
FREE = 4
FRONT = 60
#: Smallest relative improvement by an exchange that counts.
SUPPORT_GAIN = 1e-11
#: The largest number of exchanges of one variable that are ranked.
RANKED = 500
#: Exchanges of two variables need matrices of order p; with more variables only the most promising are tried.
PAIR_ORDER = 600

Keep = Callable[[], bool]


def best_support(
    S: np.ndarray | Operator,
    c: int,
    *,
    running: Keep | None = None,
    improved: int = IMPROVED_SUPPORTS,
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
    improved : int
        The largest number of supports that exchanges improve.
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
        largest = first_max(variances)
        return float(variances[largest]), np.array([largest])
    pool = _Pool(op, c)
    for supports in _candidates(op, variances, c, go_on):
        pool.add(supports)
    visited: set[tuple[int, ...]] = set()
    for support in pool.top_supports(improved):
        if not go_on():
            break
        pool.add(_polish(op, variances, support, go_on, visited)[None])
    visited_by_pairs: set[tuple[int, ...]] = set()
    # the three best distinct supports are improved by exchanges of two variables
    for support in pool.top_supports(3 if pairs else 0):
        if not go_on():
            break
        pool.add(_polish(op, variances, support, go_on, visited_by_pairs, pairs=True)[None])
    support = pool.top_supports(1)[0]
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
        new_keys = [key for key in keys if key not in self.values]
        if new_keys:
            self.values.update(zip(new_keys, _values(self.op, np.array(new_keys)).tolist(), strict=True))

    def top_supports(self, count: int) -> list[np.ndarray]:
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


def _candidates(op: Operator, variances: np.ndarray, c: int, go_on: Keep) -> Iterator[np.ndarray]:
    """Yield arrays of candidate supports, shape (m, c)."""
    seeds = np.flatnonzero(top(variances, min(STARTING_ROWS, op.p)))
    columns = op.columns(seeds)
    partner = np.abs(columns)
    partner[seeds, np.arange(seeds.size)] = -1.0
    partners = np.argmax(partner, axis=0)
    vector_count = min(20, op.p)
    vectors = op.leading(vector_count)[1]
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
    """Return the supports at which truncated power iterations from the columns of `V` end, shape (m, c).

    All iterations make FREE steps; then only the FRONT of largest variance go on.
    """
    final_marks: list[np.ndarray] = []
    V = hard(V, c)
    previous_marks = top(np.abs(V), c)
    for step in range(POWER_ITERATIONS):
        if not go_on():
            break
        W = _product(op, V)
        if step >= FREE and V.shape[1] > FRONT:
            largest = top(np.einsum("ij,ij->j", V, W), FRONT)
            W, previous_marks = W[:, largest], previous_marks[:, largest]
        V, marked = hard_marked(W, c)
        still = (marked != previous_marks).any(axis=0)
        final_marks.append(marked[:, ~still])
        marked, V = marked[:, still], V[:, still]
        if marked.shape[1] == 0:
            previous_marks = marked
            break
        # equal supports: eight variables in a byte are compared faster than eight columns of a mask
        _, distinct_columns = np.unique(np.packbits(marked, axis=0), axis=1, return_index=True)
        V, previous_marks = V[:, distinct_columns], marked[:, distinct_columns]
    marked = np.hstack([*final_marks, previous_marks])
    return np.nonzero(marked.T)[1].reshape(marked.shape[1], -1)


def _product(op: Operator, V: np.ndarray) -> np.ndarray:
    """Return S V for columns with few nonzeros."""
    if isinstance(op, Gram) and 4 * np.count_nonzero(V) < V.size:
        return np.asarray((csr_array(V.T) @ op.S).T)
    return op.dot(V)


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
        exchange = _best_exchange(op, variances, support, columns, value)
        if exchange is None and pairs:
            exchange = _pair_exchange(op, variances, support, columns, value, go_on)
        if exchange is None:
            break
        support, value = exchange
    return support


def _best_exchange(
    op: Operator, variances: np.ndarray, support: np.ndarray, columns: np.ndarray, value: float
) -> tuple[np.ndarray, float] | None:
    """Return the support after the best exchange of one variable, and its value; None if none improves.

    Exchanges are tested all at once by `_gains`; only those that raise the value, at most RANKED of them, are
    ranked by a lower bound on the new eigenvalue, and twelve are computed.
    """
    block = columns[support]
    block = 0.5 * (block + block.T)
    free = np.setdiff1d(np.arange(op.p), support)
    borders, corner = columns[free].T, variances[free]
    gains = _gains(block, borders, corner, value)
    out, into = np.nonzero(gains > 0.0)
    if out.size == 0:
        return None
    if out.size > RANKED:
        largest = top(gains[out, into], RANKED)
        out, into = out[largest], into[largest]
    leaving, place = np.unique(out, return_inverse=True)
    remaining = np.array([np.delete(np.arange(support.size), i) for i in leaving])
    theta, Q = np.linalg.eigh(block[remaining[:, :, None], remaining[:, None, :]])
    squares = np.einsum("mrs,mr->ms", Q[place], borders[remaining[place], into[:, None]]) ** 2
    estimate = bordered_lower(theta[place].T, squares.T, corner[into])
    promising = np.flatnonzero(top(estimate, min(12, out.size)))
    trial = np.array([np.append(support[remaining[place[t]]], free[into[t]]) for t in promising])
    values = _values(op, trial)
    best_index = first_max(values)
    if values[best_index] <= value * (1.0 + SUPPORT_GAIN):
        return None
    return np.sort(trial[best_index]), float(values[best_index])


def _gains(block: np.ndarray, borders: np.ndarray, corner: np.ndarray, value: float) -> np.ndarray:
    """Return what is positive for the exchanges of variable i for variable f that raise the eigenvalue.

    Let B be `block` without variable i, b the border and d the corner of f, and t slightly more than `value`.
    [[B, b], [b', d]] has an eigenvalue above t if and only if d + b' (t - B)^-1 b > t. The inverses of all t
    - B follow from that of t - block by removing a row and a column; the part of the leading eigenvector,
    which is nearly singular, is kept apart.

    Parameters
    ----------
    block : ndarray of shape (c, c)
        S on the support, with largest eigenvalue `value`.
    borders : ndarray of shape (c, f)
        Covariances of the support and the other variables.
    corner : ndarray of shape (f,)
        Variances of the other variables.
    value : float

    Returns
    -------
    ndarray of shape (c, f)
    """
    theta, U = np.linalg.eigh(block)
    margin = SUPPORT_GAIN * abs(value) + 1e-300
    gap = np.maximum(value + margin - theta[:-1], margin)
    leading = U[:, -1]
    P = (U[:, :-1] / gap) @ U[:, :-1].T
    z = P @ borders
    r = np.einsum("cf,cf->f", borders, z)
    s = leading @ borders
    diagonal, weight = np.diag(P)[:, None], leading[:, None]
    excess = s**2 * diagonal + r * weight**2 - 2.0 * weight * s * z + margin * (r * diagonal - z**2)
    return corner - (value + margin) + excess / (weight**2 + margin * diagonal)


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
    level = value * (1.0 + SUPPORT_GAIN)
    free = np.setdiff1d(np.arange(op.p), support)
    block = columns[support]
    block = 0.5 * (block + block.T)
    full = op.block(free) if free.size <= PAIR_ORDER else None
    for out in combinations(range(c), 2):
        if not go_on():
            return None
        remaining = np.delete(np.arange(c), out)
        theta, Q = np.linalg.eigh(block[np.ix_(remaining, remaining)])
        gap = np.maximum(level - theta, 1e-13 * abs(value) + 1e-300)
        root = (columns[free][:, remaining] @ Q) / np.sqrt(gap)
        corner = variances[free] + (root**2).sum(axis=1)
        if full is None:
            candidates = np.flatnonzero(top(corner, PAIR_ORDER))
            T = op.block(free[candidates])
        else:
            candidates, T = np.arange(free.size), full
        T = T + root[candidates] @ root[candidates].T
        slack = np.maximum(level - corner[candidates], 0.0)
        gain = T**2 - np.outer(slack, slack)
        np.fill_diagonal(gain, -np.inf)
        if not gain.max() > 0.0:
            continue
        a, b = divmod(int(np.argmax(gain)), candidates.size)
        trial = np.sort(np.append(support[remaining], free[candidates[[a, b]]]))
        new_value = float(_values(op, trial[None])[0])
        if new_value > level:
            return trial, new_value
    return None
