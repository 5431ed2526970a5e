"""A deterministic search for the best support of one component.

Power iterations truncated to the cardinality start from all rows of S, since in a correlation matrix all
one-variable starts tie, and from eigenvectors; greedy supports are added. The best supports are improved by
exchanges of one and two variables until no exchange improves them. Where there are few supports, all are
compared.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from itertools import chain, combinations
from math import comb

import numpy as np
from scipy.sparse import csr_array

from spcastat.linalg.accumulate import CACHED, blocks
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
#: The largest number of entries of all submatrices of S, with which all supports are compared. For five of 13
#: variables that takes 1 ms and the search 26 ms, for four of 20 variables of noise 8 and 10 ms.
COMPARED_ENTRIES = 100_000
#: Supports that are compared first.
COMPARED_FIRST = 50
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
    if few_supports(op.p, c):
        return _best_of_all(op, c)
    pool = _Pool(op, c)
    for supports in _candidates(op, variances, c, go_on):
        pool.add(supports)
    visited: set[tuple[int, ...]] = set()
    pool.add(_polished(op, variances, np.array(pool.top_supports(improved)), go_on, visited))
    visited_by_pairs: set[tuple[int, ...]] = set()
    # the three best distinct supports are improved by exchanges of two variables
    for support in pool.top_supports(3 if pairs else 0):
        if not go_on():
            break
        pool.add(_polish(op, variances, support, go_on, visited_by_pairs)[None])
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
    return _polish(op, op.diagonal(), grown, lambda: True, set())


def few_supports(p: int, c: int) -> bool:
    """Return whether all supports of c of p variables are compared."""
    return comb(p, c) * c**2 <= COMPARED_ENTRIES


def _best_of_all(op: Operator, c: int) -> tuple[float, np.ndarray]:
    """Return the largest eigenvalue on all supports of c variables, and its support; of ties the first.

    An eigenvalue is at most the Frobenius norm. Supports whose norm is below a value of the COMPARED_FIRST
    supports of largest norm are left out.
    """
    S = op.block(np.arange(op.p))
    members = np.fromiter(chain.from_iterable(combinations(range(op.p), c)), int)
    supports = members.reshape(-1, c)
    norms = np.sqrt((S**2)[supports[:, :, None], supports[:, None, :]].sum(axis=(1, 2)))
    first_supports = np.argsort(-norms, kind="stable")[:COMPARED_FIRST]
    level = _values(op, supports[first_supports]).max() * (1.0 - 1e-9)
    supports = supports[norms >= level]
    values = _values(op, supports)
    best_index = first_max(values)
    return float(values[best_index]), supports[best_index]


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


def _polished(
    op: Operator, variances: np.ndarray, supports: np.ndarray, go_on: Keep, visited: set[tuple[int, ...]]
) -> np.ndarray:
    """Exchange one variable of each support, shape (m, c), until no exchange improves any; return the ends.

    A support ends early where another one was before, which is in `visited`; new supports are added to it.
    """
    supports, values = supports.copy(), _values(op, supports)
    running = np.arange(len(supports))
    while running.size and go_on():
        new_supports = []
        for i in running:
            key = tuple(supports[i].tolist())
            if key not in visited:
                new_supports.append(i)
                visited.add(key)
        exchanges = _best_exchanges(op, variances, supports[new_supports], values[new_supports])
        improved_supports = []
        for i, exchange in zip(new_supports, exchanges, strict=True):
            if exchange is not None:
                supports[i], values[i] = exchange
                improved_supports.append(i)
        running = np.array(improved_supports, dtype=int)
    return supports


def _polish(
    op: Operator, variances: np.ndarray, support: np.ndarray, go_on: Keep, visited: set[tuple[int, ...]]
) -> np.ndarray:
    """Exchange one variable, or two if that does not improve, until nothing improves.

    Stops early at a support in `visited`, which was improved before; new supports are added to `visited`.
    """
    value = float(_values(op, support[None])[0])
    while go_on() and tuple(support.tolist()) not in visited:
        visited.add(tuple(support.tolist()))
        (exchange,) = _best_exchanges(op, variances, support[None], np.array([value]))
        if exchange is None:
            exchange = _pair_exchange(op, variances, support, op.columns(support), value, go_on)
        if exchange is None:
            break
        support, value = exchange
    return support


Exchange = tuple[np.ndarray, float]


def _best_exchanges(
    op: Operator, variances: np.ndarray, supports: np.ndarray, values: np.ndarray
) -> Sequence[Exchange | None]:
    """Return each support, shape (m, c), after its best exchange of one variable, and its new value.

    It is None if no exchange improves the support. Exchanges are tested all at once by `_gains`; only those
    that raise the value, at most RANKED of a support, are ranked by a lower bound on the new eigenvalue, and
    twelve are computed.
    """
    slices = list(blocks(len(supports), op.p * supports.shape[1], CACHED))
    if len(slices) > 1:
        exchanges = (_best_exchanges(op, variances, supports[part], values[part]) for part in slices)
        return list(chain.from_iterable(exchanges))
    if not len(supports):
        return []
    m, c = supports.shape
    columns, free = _covariances(op, supports)
    block = columns[np.arange(m)[:, None], supports]
    block = 0.5 * (block + block.mT)
    borders, corner = columns[np.arange(m)[:, None], free].mT, variances[free]
    number, out, into = _raising(_gains(block, borders, corner, values))
    if out.size == 0:
        return [None] * m
    leaving, place = np.unique(number * c + out, return_inverse=True)
    remaining = _remaining_positions(c)[leaving % c]
    of = (leaving // c)[:, None, None]
    theta, Q = np.linalg.eigh(block[of, remaining[:, :, None], remaining[:, None, :]])
    border = borders[number[:, None], remaining[place], into[:, None]]
    squares = np.einsum("mrs,mr->ms", Q[place], border) ** 2
    estimate = bordered_lower(theta[place].T, squares.T, corner[number, into])
    of_supports = [np.flatnonzero(number == i) for i in range(m)]
    promising = [indices[top(estimate[indices], min(12, indices.size))] for indices in of_supports]
    indices = np.concatenate(promising)
    staying = supports[number[indices, None], remaining[place[indices]]]
    trials = np.column_stack([staying, free[number[indices], into[indices]]])
    ends = np.cumsum([len(part) for part in promising])[:-1]
    parts = np.split(trials, ends), np.split(_values(op, trials), ends), values
    return [_best_of(*part) for part in zip(*parts, strict=True)]


def _best_of(trials: np.ndarray, trial_values: np.ndarray, value: float) -> Exchange | None:
    """Return the best of the supports `trials`, shape (t, c), if it is better than `value`."""
    if not len(trials):
        return None
    best_index = first_max(trial_values)
    if trial_values[best_index] <= value * (1.0 + SUPPORT_GAIN):
        return None
    return np.sort(trials[best_index]), float(trial_values[best_index])


def _covariances(op: Operator, supports: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Return the columns of S on each support, shape (m, p, c), and the variables outside, (m, p - c)."""
    m, c = supports.shape
    used, place = np.unique(supports, return_inverse=True)
    columns = op.columns(used).T[place.reshape(m, c)].mT
    is_free = np.ones((m, op.p), dtype=bool)
    np.put_along_axis(is_free, supports, False, axis=1)
    return columns, np.nonzero(is_free)[1].reshape(m, op.p - c)


def _remaining_positions(c: int) -> np.ndarray:
    """Return the positions but i, in row i, shape (c, c - 1)."""
    positions = np.arange(c - 1)
    return positions + (positions >= np.arange(c)[:, None])


def _raising(gains: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Return where `gains`, shape (m, c, f), are positive: for each of the m, the RANKED largest at most."""
    places = []
    for number, table in enumerate(gains):
        out, into = np.nonzero(table > 0.0)
        if out.size > RANKED:
            largest = top(table[out, into], RANKED)
            out, into = out[largest], into[largest]
        places.append(np.stack([np.full(out.size, number), out, into]))
    number, out, into = np.concatenate(places, axis=1)
    return number, out, into


def _gains(block: np.ndarray, borders: np.ndarray, corner: np.ndarray, values: np.ndarray) -> np.ndarray:
    """Return what is positive for the exchanges of variable i for variable f that raise the eigenvalue.

    Let B be `block` without variable i, b the border and d the corner of f, and t slightly more than `value`.
    [[B, b], [b', d]] has an eigenvalue above t if and only if d + b' (t - B)^-1 b > t. The inverses of all t
    - B follow from that of t - block by removing a row and a column; the part of the leading eigenvector,
    which is nearly singular, is kept apart.

    Parameters
    ----------
    block : ndarray of shape (m, c, c)
        S on each of the supports, with largest eigenvalues `values`.
    borders : ndarray of shape (m, c, f)
        Covariances of the support and the other variables.
    corner : ndarray of shape (m, f)
        Variances of the other variables.
    values : ndarray of shape (m,)

    Returns
    -------
    ndarray of shape (m, c, f)
    """
    theta, U = np.linalg.eigh(block)
    margin = SUPPORT_GAIN * np.abs(values)[:, None] + 1e-300
    level = values[:, None] + margin
    gap = np.maximum(level - theta[:, :-1], margin)
    P = (U[:, :, :-1] / gap[:, None]) @ U[:, :, :-1].mT
    z = P @ borders
    r = np.einsum("mcf,mcf->mf", borders, z)[:, None]
    weight = U[:, :, -1:]
    s = weight.mT @ borders
    diagonal, margin = np.einsum("mcc->mc", P)[..., None], margin[..., None]
    excess = s**2 * diagonal + r * weight**2 - 2.0 * weight * s * z + margin * (r * diagonal - z**2)
    return (corner - level)[:, None] + excess / (weight**2 + margin * diagonal)


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
