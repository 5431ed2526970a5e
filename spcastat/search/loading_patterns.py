"""The search for sparse loadings P: X is approximated by T P' with uncorrelated scores T.

Adachi and Trendafilov (2016), "Sparse principal component analysis subject to prespecified cardinality of
loadings", Computational Statistics 31, minimise |X - T P'|^2 subject to T'T = (n - 1) I and a number of
nonzeros of P. With the covariance matrix S, the best scores for P are X W with W = P (P'SP)^(-1/2), their
covariances with the variables are A = S W, and the best loadings on a support are the entries of A there. The
loss is tr S - |P|^2: the explained variance is the sum of squared loadings, which adds up over variables and
components.

Ascents repeat the two steps, starting from rotated principal components. Exchanges of a nonzero with a zero
then improve the best ends. The exchanges and the number of starts are not part of the paper.
benchmarks/results/steering.md shows how the constants affect the objective and the run time.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace

import numpy as np

from spcastat.linalg.eigenvectors import SUM_ROUNDING, varimax
from spcastat.linalg.operators import Operator
from spcastat.search.moves import GAIN

#: Number of starts by default: principal components, their varimax rotation, and random rotations.
PATTERN_STARTS = 30
#: Number of different local optima that exchanges improve; with more than REFINED_VARIABLES variables, only
#: the best optimum is improved.
REFINED, REFINED_VARIABLES = 10, 100
#: All exchanges are tried if there are at most ALL_EXCHANGES; otherwise only the PROMISING_EXCHANGES
#: exchanges that lose least before the scores adapt. On draws of rows, only EXCHANGES_ON_DRAWS are tried.
ALL_EXCHANGES, PROMISING_EXCHANGES, EXCHANGES_ON_DRAWS = 600, 96, 24
#: Largest number of steps of an ascent from a start, and on a final support.
START_STEPS, FINAL_STEPS = 300, 20_000
#: Number of exchanges, the best after one step, whose ascents are continued to convergence. Choosing them
#: after eight steps took twice the time and gained .0001 % on average in 84 fits of ten tables, and at most
#: .006 %.
FOLLOWED = 6


@dataclass(frozen=True)
class Nonzeros:
    """The numbers of loadings that may be nonzero.

    Attributes
    ----------
    card : tuple of int, or None
        Number of nonzeros of each component.
    total : int or None
        Number of nonzeros of all components together, instead of `card`; every component has at least one.
    """

    card: tuple[int, ...] | None = None
    total: int | None = None

    def support(self, A: np.ndarray) -> np.ndarray:
        """Return a mask of the largest entries of A, shape (s, p, k).

        Absolute values that agree to ten digits count as equal, and the first variable is used.
        """
        s, p, k = A.shape
        size = np.abs(A)
        size = np.round(size / size.max(axis=(1, 2), keepdims=True).clip(min=np.finfo(float).tiny), 10)
        if self.card is not None:
            rank = np.argsort(np.argsort(-size, axis=1, kind="stable"), axis=1, kind="stable")
            return np.asarray(rank < np.array(self.card))
        assert self.total is not None
        largest_entries = np.argmax(size, axis=1)
        size[np.arange(s)[:, None], largest_entries, np.arange(k)] = 2.0  # a component is never empty
        order = np.argsort(-size.reshape(s, -1), axis=1, kind="stable")[:, : self.total]
        membership = np.zeros((s, p * k), dtype=bool)
        np.put_along_axis(membership, order, True, axis=1)
        return membership.reshape(s, p, k)


@dataclass(frozen=True, eq=False)
class Pattern:
    """Sparse loadings found by a search.

    Attributes
    ----------
    P, W : ndarray of shape (p, k)
        Loadings, and the weights of scores X W whose covariance matrix is the identity. The nonzeros of P are
        entries of S W.
    explained : float
        The sum of squared loadings.
    n_init, hits : int
        Number of starts, and of starts whose ascent reached the best value before exchanges.
    refined, agreed : int
        Number of local optima improved by exchanges, and of those that ended at the best value.
    complete : bool
        Whether all exchanges of a nonzero with a zero were tried at the end, not only promising ones.
    converged : bool
        Whether the last ascent ended before the largest number of steps.
    """

    P: np.ndarray
    W: np.ndarray
    explained: float
    n_init: int = 1
    hits: int = 1
    refined: int = 1
    agreed: int = 1
    complete: bool = True
    converged: bool = True


# --- ascents --------------------------------------------------------------------------------------


def inverse_roots(C: np.ndarray) -> np.ndarray:
    """Return C^(-1/2) of symmetric matrices, shape (s, k, k); the smallest eigenvalues are bounded below."""
    values, vectors = np.linalg.eigh(C)
    values = np.maximum(values, SUM_ROUNDING * values[:, -1:])
    scaled = vectors / np.sqrt(np.maximum(values, np.finfo(float).tiny))[:, None, :]
    return np.asarray(scaled @ vectors.transpose(0, 2, 1))


def covariances(S: Operator | np.ndarray, P: np.ndarray) -> np.ndarray:
    """Return S P (P'SP)^(-1/2), the covariances of variables with best scores, shape (s, p, k) like P."""
    s, p, k = P.shape
    flat = P.transpose(1, 0, 2).reshape(p, s * k)
    products = (S @ flat if isinstance(S, np.ndarray) else S.dot(flat)).reshape(p, s, k).transpose(1, 0, 2)
    C = P.transpose(0, 2, 1) @ products
    return np.asarray(products @ inverse_roots(0.5 * (C + C.transpose(0, 2, 1))))


def ascend(
    S: Operator | np.ndarray, P: np.ndarray, nonzeros: Nonzeros | np.ndarray, steps: int, tol: float = 1e-10
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Alternate best scores and best loadings until the explained variance no longer increases.

    Parameters
    ----------
    S : Operator or ndarray of shape (p, p)
    P : ndarray of shape (s, p, k)
        The starts.
    nonzeros : Nonzeros, or ndarray of bool, shape (s, p, k)
        The numbers of nonzeros, or the supports.
    steps : int
        Largest number of steps.
    tol : float
        Smallest relative increase.

    Returns
    -------
    P : ndarray of shape (s, p, k)
    values : ndarray of shape (s,)
        The sums of squares of P.
    moving : ndarray of bool, shape (s,)
        Whether the value still increased in the last step.
    """
    P, values = P.copy(), np.zeros(len(P))
    moving = np.ones(len(P), dtype=bool)
    for _ in range(steps):
        active = np.flatnonzero(moving)
        if not active.size:
            break
        A = covariances(S, P[active])
        supports = nonzeros.support(A) if isinstance(nonzeros, Nonzeros) else nonzeros[active]
        P[active] = A * supports
        new_values = (P[active] ** 2).sum(axis=(1, 2))
        moving[active] = new_values > values[active] * (1.0 + tol)
        values[active] = new_values
    return P, values, moving


# --- exchanges ------------------------------------------------------------------------------------


def exchanges(
    P: np.ndarray, A: np.ndarray, nonzeros: Nonzeros, limit: int | None = None
) -> tuple[np.ndarray, bool]:
    """Return exchanges of a nonzero with a zero, shape (m, 2), and whether these are all exchanges.

    Each exchange is a pair of indices of the flattened P. With a total, the two may be in different
    components, but no component becomes empty. The exchanges that lose least of the explained variance before
    the scores adapt come first; `limit` limits their number.
    """
    all_limit, fewer = (ALL_EXCHANGES, PROMISING_EXCHANGES) if limit is None else (limit, limit)
    p, k = P.shape
    is_nonzero = (P != 0).ravel()
    component = np.tile(np.arange(k), p)
    is_single = np.bincount(component[is_nonzero], minlength=k)[component] == 1
    square = A.ravel() ** 2
    pairs, losses = [], []
    groups = [component == j for j in range(k)] if nonzeros.card is not None else [np.ones(p * k, dtype=bool)]
    complete = sum(int((g & is_nonzero).sum()) * int((g & ~is_nonzero).sum()) for g in groups) <= all_limit
    for group in groups:
        ins, outs = np.flatnonzero(group & is_nonzero), np.flatnonzero(group & ~is_nonzero)
        if not complete:
            ins = ins[np.argsort(square[ins], kind="stable")[:fewer]]
            outs = outs[np.argsort(-square[outs], kind="stable")[:fewer]]
        i, o = (grid.ravel() for grid in np.meshgrid(ins, outs, indexing="ij"))
        is_admissible = ~is_single[i] | (component[i] == component[o])
        pairs.append(np.column_stack([i, o])[is_admissible])
        losses.append((square[i] - square[o])[is_admissible])
    all_pairs, loss = np.concatenate(pairs), np.concatenate(losses)
    order = np.argsort(loss, kind="stable")
    return all_pairs[order if complete else order[:fewer]], complete


def exchanged(
    S: Operator | np.ndarray, P: np.ndarray, value: float, nonzeros: Nonzeros, limit: int | None = None
) -> tuple[np.ndarray, float, bool]:
    """Exchange nonzeros with zeros as long as this improves the loadings P, shape (p, k).

    At most `limit` exchanges are tried at a time.

    Returns
    -------
    P : ndarray of shape (p, k)
    value : float
    complete : bool
        Whether all exchanges were tried at the end.
    """
    while True:
        A = covariances(S, P[None])[0]
        pairs, complete = exchanges(P, A, nonzeros, limit)
        best_exchange = _best_exchange(S, P, A, pairs)
        if best_exchange is None or best_exchange[1] <= value * (1.0 + GAIN):
            return P, value, complete
        ascended, values, _ = ascend(S, best_exchange[0][None], nonzeros, START_STEPS)
        P, value = (ascended[0], float(values[0])) if values[0] > best_exchange[1] else best_exchange


def _best_exchange(
    S: Operator | np.ndarray, P: np.ndarray, A: np.ndarray, pairs: np.ndarray
) -> tuple[np.ndarray, float] | None:
    """Return the best loadings after one of the exchanges, and their value; None if there are none."""
    if not len(pairs):
        return None
    k = P.shape[1]
    rows = np.unique(np.concatenate([np.flatnonzero(P.any(axis=1)), pairs[:, 1] // k]))
    block = S[np.ix_(rows, rows)] if isinstance(S, np.ndarray) else S.block(rows)
    place = np.searchsorted(rows, pairs // k) * k + pairs % k
    trial_loadings = np.repeat(P[rows].reshape(1, -1), len(pairs), axis=0)
    number = np.arange(len(pairs))
    trial_loadings[number, place[:, 0]] = 0.0
    supports = trial_loadings != 0
    trial_loadings[number, place[:, 1]] = A.ravel()[pairs[:, 1]]
    supports[number, place[:, 1]] = True
    shape = (len(pairs), len(rows), k)
    trial_loadings, supports = trial_loadings.reshape(shape), supports.reshape(shape)
    ascended, values, _ = ascend(block, trial_loadings, supports, steps=1)
    promising_indices = np.argsort(-values, kind="stable")[:FOLLOWED]
    ascended, values, _ = ascend(block, ascended[promising_indices], supports[promising_indices], START_STEPS)
    best_index = int(np.argmax(values))
    loadings = np.zeros_like(P)
    loadings[rows] = ascended[best_index]
    return loadings, float(values[best_index])


# --- the search -----------------------------------------------------------------------------------


def starts(S: Operator, k: int, n: int, rng: np.random.Generator) -> np.ndarray:
    """Return principal components scaled by standard deviations and their rotations, shape (n, p, k)."""
    values, vectors = S.leading(k)
    L = vectors * np.sqrt(values.clip(min=0.0))
    rotations = [np.linalg.qr(rng.standard_normal((k, k)))[0] for _ in range(n - 2)]
    return np.array([L, varimax(L), *(L @ Q for Q in rotations)][:n])


def search(
    S: Operator,
    k: int,
    nonzeros: Nonzeros,
    rng: np.random.Generator,
    n_init: int = PATTERN_STARTS,
    user_starts: np.ndarray | None = None,
) -> Pattern:
    """Return the best loadings found from `n_init` rotations of the principal components.

    Parameters
    ----------
    S : Operator
    k : int
        At most the rank of S.
    nonzeros : Nonzeros
    rng : numpy Generator
    n_init : int
    user_starts : ndarray of shape (s, p, k), optional
        Additional starts.
    """
    matrix = S.held_matrix if S.held_matrix is not None else S
    initial_loadings = starts(S, k, n_init, rng)
    if user_starts is not None:
        initial_loadings = np.concatenate([initial_loadings, user_starts])
    initial_loadings = initial_loadings * nonzeros.support(initial_loadings)
    ascended, values, _ = ascend(matrix, initial_loadings, nonzeros, START_STEPS)
    ends = []
    for number in _different(values, REFINED if S.p <= REFINED_VARIABLES else 1):
        ends.append(exchanged(matrix, ascended[number], float(values[number]), nonzeros))
    best_index = max(range(len(ends)), key=[value for _, value, _ in ends].__getitem__)
    P, value, complete = ends[best_index]
    hit_level = value * (1.0 - 1e-6)
    return replace(
        best_on_support(matrix, P),
        n_init=len(initial_loadings),
        hits=int((values >= hit_level).sum()),
        refined=len(ends),
        agreed=sum(end >= hit_level for _, end, _ in ends),
        complete=complete,
    )


def nearby_pattern(S: Operator, P: np.ndarray, nonzeros: Nonzeros) -> Pattern:
    """Return loadings for a draw of the rows, from the fit, from PCA and from its varimax rotation.

    Exchanges improve the best of the three ascents.
    """
    matrix = S.held_matrix if S.held_matrix is not None else S
    initial_loadings = starts(S, P.shape[1], 2, np.random.default_rng(0))
    initial_loadings = np.concatenate([P[None], initial_loadings * nonzeros.support(initial_loadings)])
    ascended, values, _ = ascend(matrix, initial_loadings, nonzeros, START_STEPS)
    best_index = int(np.argmax(values))
    improved = exchanged(
        matrix, ascended[best_index], float(values[best_index]), nonzeros, EXCHANGES_ON_DRAWS
    )[0]
    return best_on_support(matrix, improved, 1e-10)


def _different(values: np.ndarray, limit: int) -> Iterator[int]:
    """Yield the indices of the best local optima with different values, at most `limit` of them."""
    previous_value, count = np.inf, 0
    for number in np.argsort(-values, kind="stable").tolist():
        if count < limit and values[number] < previous_value * (1.0 - 1e-7):
            previous_value, count = values[number], count + 1
            yield number


def best_on_support(S: Operator | np.ndarray, P: np.ndarray, tol: float = 1e-15) -> Pattern:
    """Return the best loadings on the support of P, shape (p, k), and the weights of their scores.

    `tol` is the smallest relative increase of the explained variance in a step.
    """
    rows = np.flatnonzero(P.any(axis=1))
    block = S[np.ix_(rows, rows)] if isinstance(S, np.ndarray) else S.block(rows)
    support = (P[rows] != 0)[None]
    ascended, _, moving = ascend(block, P[rows][None], support, FINAL_STEPS, tol)
    final_loadings = ascended[0]
    C = final_loadings.T @ block @ final_loadings
    W = np.zeros_like(P)
    W[rows] = final_loadings @ inverse_roots(0.5 * (C + C.T)[None])[0]
    loadings = np.zeros_like(P)
    loadings[rows] = (block @ W[rows]) * support[0]
    return Pattern(loadings, W, float((loadings**2).sum()), converged=not moving[0])


def sparsest(
    S: Operator, k: int, share: float, rng: np.random.Generator, n_init: int = PATTERN_STARTS
) -> tuple[Pattern, int]:
    """Return loadings with the fewest nonzeros found that keep a share of the variance of dense PCA.

    Parameters
    ----------
    S : Operator
    k : int
    share : float in (0, 1]
        Share of the variance that k dense components explain.

    Returns
    -------
    Pattern
    total : int
        The number of nonzeros.

    Notes
    -----
    The number is found by bisection with few starts, including the loadings with the next larger number. The
    search with all starts then removes one nonzero at a time.
    """
    goal = share * float(S.leading(k)[0].sum()) * (1.0 - GAIN)
    low, high = k - 1, S.p * k  # too few nonzeros, and enough
    best_pattern = search(S, k, Nonzeros(total=high), rng, 2)
    while high - low > 1:
        middle = (low + high) // 2
        pattern = search(S, k, Nonzeros(total=middle), rng, min(6, n_init), user_starts=best_pattern.P[None])
        if pattern.explained >= goal:
            high, best_pattern = middle, pattern
        else:
            low = middle
    while high > k:
        pattern = search(S, k, Nonzeros(total=high - 1), rng, n_init, user_starts=best_pattern.P[None])
        if pattern.explained < goal:
            break
        high, best_pattern = high - 1, pattern
    return best_pattern, high
