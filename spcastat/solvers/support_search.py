"""A deterministic search for the best support of one component.

Power iterations truncated to the cardinality start from rows of S (with a correlation matrix, all starts from
single variables tie), from eigenvectors and from pairs of variables. The best supports are improved by the
exchanges of one variable that a lower bound ranks highest. The best of the resulting supports are then
improved by exchanges of one and of two variables until no exchange improves them. If there are few supports,
all are compared.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from itertools import chain, combinations
from math import comb

import numpy as np
from scipy.sparse import csr_array

from spcastat.linalg.accumulate import CACHED, blocks
from spcastat.linalg.eigenvectors import HALF_DIGITS, bordered_lower, first_max, symmetric, top, unit
from spcastat.linalg.operators import Gram, Operator
from spcastat.solvers.greedy import Growth

#: The largest number of rows of S used as starts, those with the largest variances. In 90 problems of 300 to
#: 1200 variables, 1500 starts gave values .005 % larger on average and took 1.8 times as long.
STARTING_ROWS = 400
#: The number of eigenvectors used as starts. In 123 problems of 13 to 1500 variables, the values with 8 were
#: the same except for one that was .98 % smaller, in 1.1 times the time.
STARTING_EIGENVECTORS = 2
#: The number of supports that ranked exchanges improve, and of supports that are then exchanged until no
#: exchange improves them. In 42 problems of 300 to 2300 variables, 28 of them noise, the search with 24 and
#: with 48 instead of 36 took .85 and 1.2 of the time, and values were .04 % smaller and .05 % larger on
#: average.
IMPROVED_SUPPORTS, POLISHED_SUPPORTS = 36, 4
#: The number of supports that a quick search improves, without exchanges of two variables. In the same
#: problems it took .57 of the time and lost .13 % on average.
QUICKLY_IMPROVED = 12
#: The largest number of steps of the truncated power iteration.
POWER_ITERATIONS = 60
#: The number of steps of the truncated power iteration for all starts, and the number of starts that
#: continue. In the same problems, four steps gave no larger values on average and took 1.04 (noise) to 1.4
#: times as long.
FREE_STEPS, FRONT = 1, 60
#: The smallest relative improvement that counts in an exchange.
SUPPORT_GAIN = 1e-11
#: The largest number of exchanges of one variable that are ranked by an eigenvalue, and of exchanges for
#: which the variance itself is computed.
RAISING, VALUED_OF_RAISING = 500, 12
#: The number of variables that may enter by a ranked exchange, and the number of exchanges with the largest
#: bounds for which the variance is computed. In the same problems, 1000 instead of 50 variables and 12
#: instead of 3 exchanges gave the same values; with 1000 the search took 1.5 times as long.
ENTERING, VALUED_OF_RANKED = 50, 3
#: All supports are compared if their submatrices of S have at most this many entries in total. For five of 13
#: variables the comparison takes 1 ms and the search 26 ms; for four of 20 variables of noise, 8 and 10 ms.
COMPARED_ENTRIES = 100_000
#: The number of supports that are compared first.
COMPARED_FIRST = 50
#: Exchanges of two variables need matrices of order p; with more variables than this, only the most promising
#: ones are tried.
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
        Number of variables in a support, from 1 to p.
    running : callable or None
        Called between steps; if it returns False, the best support so far is returned.
    improved : int
        The largest number of supports that exchanges improve.
    pairs : bool
        Whether exchanges of two variables at once are tried at the end.

    Returns
    -------
    value : float
        The largest eigenvalue of S[J, J].
    support : ndarray of int, shape (c,)
        J in ascending order. If supports tie, the first one found, so that results are reproducible.
    """
    op = _in_memory(S)
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
    for starts in _starts(op, variances):
        pool.add(_truncated_power(op, starts, c, go_on))
        if not go_on():
            break
    pool.add(_climbed(_ranked_exchanges, op, variances, pool.top_supports(improved), go_on))
    pool.add(_climbed(_best_exchanges, op, variances, pool.top_supports(POLISHED_SUPPORTS), go_on))
    visited_by_pairs: set[tuple[int, ...]] = set()
    # the three best distinct supports are improved by exchanges of two variables
    for support in pool.top_supports(3 if pairs else 0):
        if not go_on():
            break
        pool.add(_polish(op, variances, support, go_on, visited_by_pairs)[None])
    support = pool.top_supports(1)[0]
    return pool.values[tuple(support)], support


def improve_support(S: np.ndarray | Operator, support: np.ndarray, c: int) -> np.ndarray:
    """Extend `support` to `c` variables greedily, then exchange one or two until nothing improves it.

    Parameters
    ----------
    S : ndarray of shape (p, p) or Operator
    support : ndarray of int
        The initial support, with at least one and at most c variables.
    c : int

    Returns
    -------
    ndarray of int, shape (c,)
    """
    op = _in_memory(S)
    grown = np.sort(Growth(op, True, support).to(c))
    return _polish(op, op.diagonal(), grown, lambda: True, set())


def _in_memory(S: np.ndarray | Operator) -> Gram:
    """Return an operator with the covariance matrix in memory, S itself if possible."""
    if isinstance(S, Gram):
        return S
    return S.with_matrix() if isinstance(S, Operator) else Gram(S)


def few_supports(p: int, c: int) -> bool:
    """Return whether supports of c of p variables are few enough to compare all."""
    return comb(p, c) * c**2 <= COMPARED_ENTRIES


def _best_of_all(op: Gram, c: int) -> tuple[float, np.ndarray]:
    """Return the largest eigenvalue on all supports of c variables, and the first support with it.

    An eigenvalue is at most the Frobenius norm. Supports whose norm is below the largest eigenvalue of the
    COMPARED_FIRST supports with the largest norms are skipped.
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

    def __init__(self, op: Gram, c: int):
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
        """Return the supports with the largest values; tied supports are in the order of addition."""
        level = max(self.values.values()) or 1.0
        rounded = {key: round(value / level, 10) for key, value in self.values.items()}
        return [np.array(key) for key in sorted(rounded, key=lambda key: -rounded[key])[:count]]


def _values(op: Gram, supports: np.ndarray) -> np.ndarray:
    """Return the leading eigenvalue of S on each of the supports, shape (m, c)."""
    parts = [supports[part] for part in blocks(len(supports), supports.shape[1] ** 2, CACHED)]
    return np.concatenate([np.linalg.eigvalsh(symmetric(_blocks(op, J, J)))[:, -1] for J in parts])


def _blocks(op: Gram, rows: np.ndarray, columns: np.ndarray) -> np.ndarray:
    """Return the blocks of S, shape (m, r, c), for rows of shape (m, r) and columns of shape (m, c)."""
    return np.asarray(op.S[rows[:, :, None], columns[:, None, :]])


def _starts(op: Gram, variances: np.ndarray) -> Iterator[np.ndarray]:
    """Yield starts of power iterations, arrays of shape (m, p): eigenvectors and rows of S, then pairs."""
    seeds = np.flatnonzero(top(variances, min(STARTING_ROWS, op.p)))
    numbers = np.arange(seeds.size)
    rows = np.ascontiguousarray(op.columns(seeds).T)
    yield np.vstack([op.leading(min(STARTING_EIGENVECTORS, op.p))[1].T, rows])
    size = np.abs(rows)
    size[numbers, seeds] = -1.0
    partners = np.argmax(size, axis=1)
    pairs = np.zeros_like(rows)
    pairs[numbers, seeds] = 1.0
    pairs[numbers, partners] = np.sign(rows[numbers, partners])
    yield pairs


def _truncated_power(op: Gram, starts: np.ndarray, c: int, go_on: Keep) -> np.ndarray:
    """Return the supports, shape (m, c), at which truncated power iterations from the rows of `starts` end.

    All iterations take FREE_STEPS steps; then only the FRONT iterations with the largest variances continue.
    """
    supports, loadings = _truncated(starts, c)
    final_supports = []
    for step in range(POWER_ITERATIONS):
        if not go_on():
            break
        products = _products(op, supports, loadings)
        if step >= FREE_STEPS and len(supports) > FRONT:
            variances = np.einsum("mc,mc->m", np.take_along_axis(products, supports, axis=1), loadings)
            largest = top(variances, FRONT)
            products, supports = products[largest], supports[largest]
        previous_supports = supports
        supports, loadings = _truncated(products, c)
        is_new = (supports != previous_supports).any(axis=1)
        final_supports.append(supports[~is_new])
        supports, first_indices = np.unique(supports[is_new], axis=0, return_index=True)
        loadings = loadings[is_new][first_indices]
        if not len(supports):
            break
    return np.concatenate([*final_supports, supports])


def _truncated(vectors: np.ndarray, c: int) -> tuple[np.ndarray, np.ndarray]:
    """Return the places of the `c` largest entries of each row, ascending, and these entries scaled."""
    supports = np.nonzero(top(np.abs(vectors).T, c).T)[1].reshape(len(vectors), c)
    return supports, unit(np.take_along_axis(vectors, supports, axis=1).T).T


def _products(op: Gram, supports: np.ndarray, loadings: np.ndarray) -> np.ndarray:
    """Return S v, shape (m, p), for the vectors v with these supports and loadings."""
    m, c = supports.shape
    if 4 * c < op.p:
        first_places = np.arange(0, m * c + 1, c)
        vectors = csr_array((loadings.ravel(), supports.ravel(), first_places), shape=(m, op.p))
        return np.asarray(vectors @ op.S)
    V = np.zeros((m, op.p))
    np.put_along_axis(V, supports, loadings, axis=1)
    return np.asarray(V @ op.S)


Exchange = tuple[np.ndarray, float]
#: Called with an operator, the variances of its variables, supports of shape (m, c) and their values; returns
#: each support after an exchange that improves it, and its new value, or None.
Step = Callable[[Gram, np.ndarray, np.ndarray, np.ndarray], Sequence[Exchange | None]]


def _climbed(
    step: Step, op: Gram, variances: np.ndarray, top_supports: list[np.ndarray], go_on: Keep
) -> np.ndarray:
    """Exchange single variables of each support until no step improves it; return the ends, (m, c).

    A support stops early if it reaches a support that another one has visited.
    """
    supports = np.array(top_supports)
    values = _values(op, supports)
    visited: set[tuple[int, ...]] = set()
    running = np.arange(len(supports))
    while running.size and go_on():
        new_supports = []
        for i in running:
            key = tuple(supports[i].tolist())
            if key not in visited:
                new_supports.append(i)
                visited.add(key)
        if not new_supports:
            break
        exchanges = step(op, variances, supports[new_supports], values[new_supports])
        improved_supports = []
        for i, exchange in zip(new_supports, exchanges, strict=True):
            if exchange is not None:
                supports[i], values[i] = exchange
                improved_supports.append(i)
        running = np.array(improved_supports, dtype=int)
    return supports


def _polish(
    op: Gram, variances: np.ndarray, support: np.ndarray, go_on: Keep, visited: set[tuple[int, ...]]
) -> np.ndarray:
    """Exchange one variable, or two if one does not improve the support, until nothing improves it.

    The function stops early at a support in `visited`, which was improved before; new supports are added to
    `visited`.
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


def _ranked_exchanges(
    op: Gram, variances: np.ndarray, supports: np.ndarray, values: np.ndarray
) -> Sequence[Exchange | None]:
    """Return each support, shape (m, c), after the best exchange among those with the largest bounds.

    Let v be the leading eigenvector on a support. Without variable i, its other entries, scaled to a unit
    vector u, have the variance q = u'Su. With variable f instead, the leading eigenvalue is at least the
    leading eigenvalue of [[q, b], [b, d]], where b is the covariance of u and f, and d is the variance of f.
    Variances are computed only for the VALUED_OF_RANKED exchanges with the largest bounds, of the ENTERING
    variables with the largest covariances with the component, so an exchange that improves the support may be
    missed.
    """
    m, c = supports.shape
    v = np.linalg.eigh(symmetric(_blocks(op, supports, supports)))[1][:, :, -1]
    products = _products(op, supports, v)
    size = np.abs(products)
    np.put_along_axis(size, supports, -np.inf, axis=1)
    entering_count = min(ENTERING, op.p - c)
    free = np.nonzero(top(size.T, entering_count).T)[1].reshape(m, entering_count)
    remaining = np.maximum(1.0 - v**2, HALF_DIGITS)
    q = (values[:, None] * (1.0 - 2.0 * v**2) + variances[supports] * v**2) / remaining
    b = np.take_along_axis(products, free, axis=1)[:, None] - v[..., None] * _blocks(op, supports, free)
    half_gap = 0.5 * (q[..., None] - variances[free][:, None])
    bound = q[..., None] - half_gap + np.sqrt(half_gap**2 + b**2 / remaining[..., None])
    bound = bound.reshape(m, -1)
    count = min(VALUED_OF_RANKED, bound.shape[1])
    exchanged = np.nonzero(top(bound.T, count).T)[1].reshape(m, count)
    out, into = np.divmod(exchanged, entering_count)
    trials = np.repeat(supports[:, None], count, axis=1)
    np.put_along_axis(trials, out[..., None], np.take_along_axis(free, into, axis=1)[..., None], axis=2)
    trial_values = _values(op, trials.reshape(-1, c)).reshape(m, count)
    return [_best_of(*part) for part in zip(trials, trial_values, values, strict=True)]


def _best_exchanges(
    op: Gram, variances: np.ndarray, supports: np.ndarray, values: np.ndarray
) -> Sequence[Exchange | None]:
    """Return each support, shape (m, c), after its best exchange of one variable, and its new value.

    The entry is None if no exchange improves a support. `_gains` tests all exchanges at once. At most RAISING
    exchanges of a support that raise the value are ranked by a lower bound on the new eigenvalue, and the
    variance is computed for VALUED_OF_RAISING of them.
    """
    slices = list(blocks(len(supports), op.p * supports.shape[1], CACHED))
    if len(slices) > 1:
        exchanges = (_best_exchanges(op, variances, supports[part], values[part]) for part in slices)
        return list(chain.from_iterable(exchanges))
    m, c = supports.shape
    rows, free = _covariances(op, supports)
    block = symmetric(_blocks(op, supports, supports))
    borders, corner = np.take_along_axis(rows, free[:, None], axis=2), variances[free]
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
    promising = []
    for i in range(m):
        indices = np.flatnonzero(number == i)
        promising.append(indices[top(estimate[indices], min(VALUED_OF_RAISING, indices.size))])
    indices = np.concatenate(promising)
    staying = supports[number[indices, None], remaining[place[indices]]]
    trials = np.column_stack([staying, free[number[indices], into[indices]]])
    ends = np.cumsum([len(part) for part in promising])[:-1]
    parts = np.split(trials, ends), np.split(_values(op, trials), ends), values
    return [_best_of(*part) for part in zip(*parts, strict=True)]


def _best_of(trials: np.ndarray, trial_values: np.ndarray, value: float) -> Exchange | None:
    """Return the best of the supports `trials`, shape (t, c), if its value exceeds `value`, else None."""
    if not len(trials):
        return None
    best_index = first_max(trial_values)
    if trial_values[best_index] <= value * (1.0 + SUPPORT_GAIN):
        return None
    return np.sort(trials[best_index]), float(trial_values[best_index])


def _covariances(op: Gram, supports: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Return the rows of S for each support, shape (m, c, p), and the other variables, (m, p - c)."""
    m, c = supports.shape
    is_free = np.ones((m, op.p), dtype=bool)
    np.put_along_axis(is_free, supports, False, axis=1)
    return op.S[supports], np.nonzero(is_free)[1].reshape(m, op.p - c)


def _remaining_positions(c: int) -> np.ndarray:
    """Return an array, shape (c, c - 1), whose row i contains all positions except i."""
    positions = np.arange(c - 1)
    return positions + (positions >= np.arange(c)[:, None])


def _raising(gains: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Return the indices of positive `gains`, shape (m, c, f), at most the RAISING largest of each m."""
    places = []
    for number, table in enumerate(gains):
        out, into = np.nonzero(table > 0.0)
        if out.size > RAISING:
            largest = top(table[out, into], RAISING)
            out, into = out[largest], into[largest]
        places.append(np.stack([np.full(out.size, number), out, into]))
    number, out, into = np.concatenate(places, axis=1)
    return number, out, into


def _gains(block: np.ndarray, borders: np.ndarray, corner: np.ndarray, values: np.ndarray) -> np.ndarray:
    """Return gains that are positive if replacing variable i by variable f raises the eigenvalue.

    Let B be `block` without variable i, b and d the entries of `borders` and `corner` for f, and t slightly
    more than the entry of `values`. The matrix [[B, b], [b', d]] has an eigenvalue above t if and only if d +
    b' (t - B)^-1 b > t. The inverses of all matrices t - B follow from the inverse of t - block by removing a
    row and a column. The term of the leading eigenvector, which is nearly singular, is treated separately.

    Parameters
    ----------
    block : ndarray of shape (m, c, c)
        The blocks of S on the supports, with largest eigenvalues `values`.
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
    op: Gram,
    variances: np.ndarray,
    support: np.ndarray,
    columns: np.ndarray,
    value: float,
    go_on: Keep,
) -> tuple[np.ndarray, float] | None:
    """Replace two variables of the support; return a better support and its value, or None.

    Let R be the variables that remain, F those outside the support, and T = S_FF + S_FR (value I - S_RR)^-1
    S_RF. Adding a and b of F raises the value if (value - T_aa)(value - T_bb) < T_ab^2.
    """
    c = support.size
    if c < 3:
        return None
    level = value * (1.0 + SUPPORT_GAIN)
    free = np.setdiff1d(np.arange(op.p), support)
    block = columns[support]
    block = symmetric(block)
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
