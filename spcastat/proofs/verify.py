"""Check a proof in a file against the data in another file.

This file shares no code with the search. It reads the rows itself, centres and scales them by the numbers in
the proof, computes the covariance matrix, and recomputes the values of the loadings. For the bounds it
enumerates all supports itself and takes only multipliers from the proof, which give a valid bound whatever
their values. Every matrix is known up to a radius that covers rounding. The last step is always a proof that
a matrix is positive semidefinite: the Cholesky factorisation succeeds after the radius and a bound on the
rounding of the factorisation itself (Rump 2006) are subtracted. Every number, list and matrix of the proof is
checked for its kind and shape before any arithmetic. docs/proof_file.md describes the file, docs/proven.md
has the theory.
"""

from __future__ import annotations

import json
import math
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from functools import reduce
from itertools import combinations
from os import PathLike
from typing import Any, Protocol

import numpy as np
import pandas as pd

# --- numbers with bounds on their rounding --------------------------------------------------------

#: Twice the unit roundoff, and an allowance for sums of up to 60,000 numbers, both relative.
EPS, SUM = 2.0**-52, 1e-11
#: S, of trace one, is replaced by S + SHIFT I where a larger matrix has a larger measure.
SHIFT = 1e-12
#: A component with more supports is treated as dense.
MOST_SUPPORTS = 100_000
#: Numbers in a proof are at most this large, so that their squares are finite.
LARGEST = 1e100


class RefusedError(Exception):
    """The proof does not prove its claim; the message says where."""


def require(holds: bool, message: str) -> None:
    """Refuse the proof unless `holds`."""
    if not holds:
        raise RefusedError(message)


def number(x: Any, what: str) -> float:
    """Return a number of the proof; refuse booleans, text, and numbers that are not finite or too large."""
    require(isinstance(x, (int, float)) and not isinstance(x, bool), f"{what} is not a number")
    require(-LARGEST <= x <= LARGEST, f"{what} is not a finite number of at most {LARGEST:g}")
    return float(x)


def listed(x: Any, count: int, what: str) -> list[Any]:
    """Return a list of the proof; refuse other types and lengths."""
    require(isinstance(x, list), f"{what} is not a list")
    require(len(x) == count, f"{what} has {len(x)} entries, and {count} are needed")
    return list(x)


def numbers(x: Any, count: int, what: str) -> np.ndarray:
    """Return `count` numbers of the proof as an array."""
    return np.array([number(one, what) for one in listed(x, count, what)])


def matrix(x: Any, rows: int, what: str) -> np.ndarray:
    """Return a matrix of the proof, with the given number of rows and as many columns at most."""
    first, *_ = listed(x, rows, what)
    width = len(first) if isinstance(first, list) else 0
    require(1 <= width <= rows, f"{what} does not have rows of 1 to {rows} numbers")
    return np.array([numbers(row, width, what) for row in x])


def fields(x: Any, names: tuple[str, ...], what: str) -> list[Any]:
    """Return the values of an object of the proof that has these names and no others."""
    require(isinstance(x, dict) and set(x) == set(names), f"{what} does not consist of {' and '.join(names)}")
    return [x[name] for name in names]


class Ball:
    """A stack of matrices `mid`, and bounds `rad` on the Frobenius norms of their errors."""

    def __init__(self, mid: Any, rad: Any = 0.0):
        self.mid, self.rad = np.asarray(mid, dtype=float), rad
        self.size = np.sqrt((self.mid**2).sum(axis=(-2, -1))) * (1.0 + SUM)

    def __matmul__(self, other: Ball) -> Ball:
        rounding = (self.mid.shape[-1] + 1) * EPS * self.size * other.size
        rad = self.rad * other.size + (self.size + self.rad) * other.rad + rounding
        return Ball(self.mid @ other.mid, rad * (1.0 + SUM))

    def __add__(self, other: Ball) -> Ball:
        rad = (self.rad + other.rad) * (1.0 + SUM) + EPS * (self.size + other.size)
        return Ball(self.mid + other.mid, rad)

    def __mul__(self, f: Any) -> Ball:
        f = np.asarray(f, dtype=float)
        return Ball(self.mid * f[..., None, None], (self.rad + EPS * self.size) * np.abs(f) * (1.0 + SUM))

    def __sub__(self, other: Ball) -> Ball:
        return self + other * -1.0

    T = property(lambda self: Ball(self.mid.swapaxes(-1, -2), self.rad))


def positive(A: Ball, message: str) -> None:
    """Refuse unless all symmetric matrices within the ball are proven to be positive semidefinite."""
    n = A.mid.shape[-1]
    shift = A.rad + (2 * n + 4) * EPS * np.sqrt(n) * A.size + 1e-290
    try:
        L = np.linalg.cholesky(0.5 * (A.mid + A.T.mid) - (Ball(np.eye(n)) * shift).mid)
    except np.linalg.LinAlgError:
        L = np.array(np.nan)
    require(bool(np.isfinite(L).all()), message)


def ky_fan(A: Ball, k: int) -> np.ndarray:
    """Return bounds on the sums of the k largest eigenvalues: k t + tr XX', where t I + XX' >= A."""
    n = A.mid.shape[-1]
    values, V = np.linalg.eigh(0.5 * (A.mid + A.T.mid))
    low = values[..., max(n - k - 1, 0)]
    X = Ball(V[..., -k:] * np.sqrt((values[..., -k:] - low[..., None]).clip(min=0.0))[..., None, :])
    t = low + 8.0 * A.rad + 40.0 * n * n * EPS * A.size + 1e-280
    positive(Ball(np.eye(n)) * t + X @ X.T - A, "eigenvalues could not be verified")
    return np.asarray((min(k, n) * t + X.size**2) + SUM * A.size)


# --- bounds ---------------------------------------------------------------------------------------


class Ask(Protocol):
    """Gives a part of the witness, when a check comes to it.

    A file has all parts, and `asked` is not used. While a proof is written, the part is made from `asked`,
    which has all that it depends on. Keys and parts are

    ========== ============================================ ==============================================
    key        part                                         asked
    ========== ============================================ ==============================================
    ""         the matrix X of a multiplier Z = XX'         R, places, cards (`sums_of_terms`)
    "first"    multipliers for the first of two components  S, places, cards (`left_after_first`)
    "1:+4-7"   a node of the search for component 1, with   Q, c, taken, free (`sparse`)
               variable 4, and without 7
    "0,1;2,5"  what bounds a choice of supports             M, R, at (`leaf`)
    ========== ============================================ ==============================================
    """

    def __call__(self, key: str, asked: dict[str, Any], /) -> Any:
        """Return a part as it was read from JSON: it may have any type, and must be checked before use."""


def sparse(Q: Ball, c: int, ask: Ask, key: str, taken: list[int], free: list[int]) -> None:
    """Refuse unless x'Qx >= 0 for all x on at most c variables: all of `taken` and any of `free`.

    `ask` returns the witness of this node of the search tree, which has the key `key`: the variable on which
    the node branches, or, for a leaf, a matrix U (see `spcastat.proofs.eigenvalue_bounds.split`).
    """
    free = free if len(taken) < c else []
    node, what = ask(key, {"Q": Q, "c": c, "taken": taken, "free": free}), f"node {key!r}"
    if isinstance(node, dict) and "split" in node:
        (split,) = fields(node, ("split",), what)
        require(type(split) is int and split in free, f"{what} splits a variable that is not free")
        rest = [j for j in free if j != split]
        sparse(Q, c, ask, f"{key}+{split}", [*taken, split], rest)
        if taken or rest:
            sparse(Q, c, ask, f"{key}-{split}", taken, rest)
        return
    box, f = np.array([*taken, *free]), len(free)
    U, G = np.zeros((f, f)), np.zeros((len(box), len(box)))
    (below,) = fields(node, ("U",), what)
    U[np.tril_indices(f, -1)] = numbers(below, f * (f - 1) // 2, f"U of {what}")
    U += U.T
    largest = np.sort(np.abs(U), axis=1)[:, max(f - (c - len(taken) - 1), 0) :]  # at most c - 1 others
    G[len(taken) :, len(taken) :] = U - np.diag(largest.sum(axis=1) * (1.0 + SUM))
    positive(Ball(Q.mid[np.ix_(box, box)], Q.rad) + Ball(G), f"leaf {key!r} does not prove the bound")


def root(S: Ball) -> np.ndarray:
    """Return R with R'R >= S, close to S; a larger covariance matrix has a larger adjusted variance."""
    R = np.linalg.cholesky(S.mid + (SHIFT + 2.0 * float(S.rad)) * np.eye(len(S.mid))).T
    positive(Ball(R.T) @ Ball(R) - S, "the covariance matrix is indefinite")
    return R


#: The variables of one component, ascending.
Support = tuple[int, ...]


def all_supports(p: int, c: int) -> list[Support]:
    """Return all supports of c of p variables; if they are too many, the one with all variables."""
    return list(combinations(range(p), c)) if math.comb(p, c) <= MOST_SUPPORTS else [tuple(range(p))]


def joint(S: Ball, measure: str, cards: list[int], bound: float, ask: Ask) -> None:
    """Refuse unless `bound` holds for the measure of all loadings with these cardinalities, in any order."""
    p, k, cards = len(S.mid), len(cards), sorted(cards)
    if ky_fan(S, k) <= bound:
        return
    require(measure != "least_squares", "least squares are proven for one component only")
    of_card = {c: all_supports(p, c) for c in cards}
    sums, left = None, None
    if measure == "adjusted":
        places = {c: np.array(supports) for c, supports in of_card.items()}
        if k == 2:
            left = left_after_first(S, places, cards, bound, ask)
            if left is not None and not any(left.values()):
                return
        sums = sums_of_terms(S, places, cards, ask)
    supports = [of_card[c] for c in cards]
    unions: dict[Support, bool] = {}
    for rows in open_choices(supports, cards, sums, left, bound, ()):
        chosen = [of_one[row] for of_one, row in zip(supports, rows, strict=True)]
        union = tuple(sorted(set().union(*chosen)))
        if union not in unions:
            unions[union] = bool(ky_fan(Ball(S.mid[np.ix_(union, union)], S.rad), k) <= bound)
        if not unions[union]:
            leaf(S, measure, chosen, bound, ask)


def open_choices(
    supports: list[list[Support]],
    cards: list[int],
    sums: SumsOfTerms | None,
    left: Left | None,
    bound: float,
    rows: tuple[int, ...],
) -> Iterator[tuple[int, ...]]:
    """Yield the choices of one support for each component that `sums` and `left` leave open.

    Parameters
    ----------
    supports : list of lists of tuples of int
        The supports of each component, in ascending order of the cardinalities `cards`.
    sums : SumsOfTerms or None
    left : dict or None
        The result of `left_after_first`.
    bound : float
    rows : tuple of int
        The supports, as places in these lists, of the first components; all choices that begin so are
        examined.
    """
    t = len(rows)
    if t == len(cards):
        yield rows
        return
    open_ = np.ones(len(supports[t]), dtype=bool)
    if t and cards[t - 1] == cards[t]:  # components of equal cardinality may be exchanged
        open_[: rows[-1]] = False
    if sums is not None:  # a bound that is not a number leaves the supports open
        open_ &= ~(sums.bounds(rows) <= bound)
    if left is not None and t:
        open_ &= open_with(left, cards, rows[0], len(open_))
    for row in np.flatnonzero(open_).tolist():
        yield from open_choices(supports, cards, sums, left, bound, (*rows, row))


@dataclass(frozen=True, eq=False)
class Terms:
    """Numbers with R_T R_T' - Z <= second I + spread u u' for each of n supports T.

    Attributes
    ----------
    second, spread : ndarray of shape (n,)
    u : ndarray of shape (n, p)
    """

    second: np.ndarray
    spread: np.ndarray
    u: np.ndarray

    @classmethod
    def of(cls, R: np.ndarray, places: np.ndarray, Z: Ball) -> Terms:
        """Return the terms of supports `places`, shape (n, c)."""
        found = []
        for some in np.array_split(places, len(places) // 1000 + 1):
            A = Ball(R[:, some].swapaxes(0, 1))
            N = A @ A.T - Z
            values, V = np.linalg.eigh(0.5 * (N.mid + N.T.mid))
            u, spread = Ball(V[:, :, -1:]), values[:, -1] - values[:, -2]
            second = values[:, -2] + 8.0 * N.rad + 40.0 * len(R) ** 2 * EPS * N.size
            positive(Ball(np.eye(len(R))) * second + (u @ u.T) * spread - N, "unverified eigenvalues")
            found.append((second, spread, V[:, :, -1]))
        return cls(*(np.concatenate(one) for one in zip(*found, strict=True)))

    @property
    def largest(self) -> np.ndarray:
        """Bounds on the eigenvalues of R_T R_T' - Z, shape (n,)."""
        return np.asarray(self.second + self.spread)

    def some(self, rows: int | slice) -> Terms:
        return Terms(self.second[rows], self.spread[rows], self.u[rows])


@dataclass(frozen=True, eq=False)
class SumsOfTerms:
    """Bounds on the adjusted variance that are tr Z plus a term for each component.

    Attributes
    ----------
    trace : float
        tr Z, and an allowance for the rounding of sums.
    terms : list of Terms
        Of each component, in ascending order of the cardinalities.
    """

    trace: float
    terms: list[Terms]

    def bounds(self, rows: tuple[int, ...]) -> np.ndarray:
        """Return bounds for each support of the next component, if the components before it have `rows`."""
        t = len(rows)
        chosen = [one.some(row) for one, row in zip(self.terms, rows, strict=False)]
        following, later = self.terms[t], self.terms[t + 1 :]
        total = self.trace + following.largest
        total = total + sum(one.largest for one in chosen) + sum(one.largest.max() for one in later)
        if t:  # pairs of components add less than the sum of their terms
            less = [reduction(chosen[i], chosen[j]) for j in range(t) for i in range(j)]
            less += [reduction(one, following) for one in chosen]
            total = total - np.maximum(reduce(np.maximum, less), sum(less) / t)  # each is in t of the pairs
        return np.asarray(total)


def sums_of_terms(S: Ball, places: dict[int, np.ndarray], cards: list[int], ask: Ask) -> SumsOfTerms:
    """Return the bounds by the multiplier Z of the proof; `places` has the supports of each cardinality."""
    R = root(S)
    X = Ball(matrix(ask("", {"R": R, "places": places, "cards": cards}), len(R), "the multiplier"))
    of_card = {c: Terms.of(R, T, X @ X.T) for c, T in places.items()}
    terms, trace = [of_card[c] for c in cards], float(X.size**2)
    size = trace + sum(float(np.abs(one.second).max() + one.spread.max()) for one in terms)
    return SumsOfTerms(trace + SUM * (len(cards) + size), terms)


def reduction(one: Terms, others: Terms) -> np.ndarray:
    """Return how much less than the sum of their terms one component and each of others add together."""
    b, c = one.spread, others.spread
    rounding = 8 * one.u.size * EPS  # of squared sines; the root would enlarge it
    sines = np.abs(1.0 - (others.u @ one.u) ** 2) + rounding
    return np.asarray(0.5 * (b + c - np.sqrt((b - c) ** 2 + 4.0 * b * c * sines)))


def blocks(A: Ball, places: np.ndarray) -> Ball:
    """Return the blocks of a matrix on supports, shape (n, c)."""
    return Ball(A.mid[places[:, :, None], places[:, None, :]], A.rad)


def which_positive(A: Ball) -> np.ndarray:
    """Return for which of a stack of matrices it is proven that they are positive semidefinite."""
    n = A.mid.shape[-1]
    rad = np.broadcast_to(A.rad, A.mid.shape[:1])
    least = np.linalg.eigvalsh(0.5 * (A.mid + A.T.mid))[:, 0]
    sure = np.asarray(least > 4.0 * (rad + (2 * n + 4) * EPS * np.sqrt(n) * A.size) + 1e-280)
    if sure.any():
        positive(Ball(A.mid[sure], rad[sure]), "eigenvalues could not be verified")
    return sure


@dataclass(frozen=True, eq=False)
class FirstMultiplier:
    """A multiplier for the first of two components.

    Attributes
    ----------
    card : int
        The cardinality of the first component.
    low, high : float
        The interval of its variance.
    aa : Ball
        The matrix a a', (p, p).
    weight, theta : float
    """

    card: int
    low: float
    high: float
    aa: Ball
    weight: float
    theta: float

    @classmethod
    def read(cls, S: Ball, one: Any, what: str) -> FirstMultiplier:
        """Return a multiplier of the proof."""
        names = ("card", "from", "to", "loadings", "weight", "theta")
        card, low, high, x, weight, theta = fields(one, names, what)
        require(type(card) is int, f"card of {what} is not an integer")
        low, high, weight, theta = (number(z, f"a number of {what}") for z in (low, high, weight, theta))
        require(0.0 < low <= high and weight >= 0.0 and theta > 0.0, f"the numbers of {what} are negative")
        y = Ball(numbers(x, len(S.mid), f"loadings of {what}")[:, None])
        product = S @ y
        variance = y.T @ product
        size = float(variance.mid[0, 0] + variance.rad)
        require(size > 0.0 and np.isfinite(size), f"the scores of {what} have no variance")
        return cls(card, low, high, product @ product.T * ((1.0 - 4.0 * EPS) / size), weight, theta)

    def bounds_second(self, S: Ball, places: np.ndarray) -> np.ndarray:
        """Return for which supports of the second component no eigenvalue exceeds theta, shape (n,)."""
        share = (1.0 - 4.0 * EPS) * self.weight / (self.weight + self.theta)
        rest = blocks(S - self.aa * share, places)
        safe = np.asarray(rest.size + rest.rad <= self.theta)
        at = np.flatnonzero(~safe)
        if len(at):
            one = Ball(np.eye(places.shape[1]))
            safe[at] = which_positive(one * self.theta - Ball(rest.mid[at], rest.rad))
        return safe

    def bounds_first(self, A: Ball, places: np.ndarray, tops: np.ndarray, bound: float) -> np.ndarray:
        """Return for which supports of the first component the condition on it holds, shape (n,).

        `A` has the blocks of S on these supports, and `tops` their largest eigenvalues.
        """
        high = np.minimum(self.high, tops)
        slack = 16.0 * EPS * (bound + self.weight + self.theta + self.low + high)
        part = A * (bound - self.weight - self.theta - self.low - high - slack)
        chord = Ball(np.eye(places.shape[1])) * (self.low * high)
        return which_positive(part + chord + blocks(self.aa, places) * self.weight)


#: By cardinality of the first of two components: each of its supports that is not closed, with a mask of the
#: supports of the second component with which it is open.
Left = dict[int, dict[int, np.ndarray]]


def left_after_first(
    S: Ball, places: dict[int, np.ndarray], cards: list[int], bound: float, ask: Ask
) -> Left | None:
    """Return what multipliers for the first of two components leave open; None if the proof has none."""
    found = ask("first", {"S": S.mid, "places": places, "cards": cards})
    require(isinstance(found, list), "the multipliers for the first component are not a list")
    given = [FirstMultiplier.read(S, one, f"multiplier {i} of the first") for i, one in enumerate(found)]
    require(all(one.card in cards for one in given), "a multiplier is for no cardinality")
    if not given:
        return None
    given.sort(key=lambda one: one.low)
    left = {}
    for first, second in {(cards[0], cards[1]), (cards[1], cards[0])}:
        some = [one for one in given if one.card == first]
        left[first] = left_of_order(S, places[first], places[second], bound - 2 * SUM, some)
    return left


def left_of_order(
    S: Ball, first: np.ndarray, second: np.ndarray, bound: float, multipliers: list[FirstMultiplier]
) -> dict[int, np.ndarray]:
    """Return the supports of the first component for which `bound` is not proven, as in `Left`.

    `first` and `second` have the supports of both components, and the multipliers ascend by `low`.
    """
    A = blocks(S, first)
    tops = ky_fan(A, 1)
    fine = [one.bounds_second(S, second) for one in multipliers]

    def proven(one: FirstMultiplier, rows: np.ndarray) -> np.ndarray:
        return one.bounds_first(Ball(A.mid[rows], A.rad), first[rows], tops[rows], bound)

    # multipliers for all supports of the second component: intervals that are joined to the one from b / 2
    reach = np.full(len(first), 0.5 * bound)
    for one, every in zip(multipliers, fine, strict=True):
        rows = np.flatnonzero(~(reach >= tops) & (one.low <= reach)) if every.all() else np.arange(0)
        rows = rows[proven(one, rows)] if len(rows) else rows
        reach[rows] = np.maximum(reach[rows], one.high)
    rows = np.flatnonzero(~(reach >= tops))
    held = [proven(one, rows) for one in multipliers] if len(rows) else []
    found = {}
    for at, row in enumerate(rows.tolist()):
        reaches = np.full(len(second), 0.5 * bound)
        for one, holds, ok in zip(multipliers, held, fine, strict=True):
            if holds[at]:
                joined = ok & (one.low <= reaches)
                reaches[joined] = np.maximum(reaches[joined], one.high)
        if not (reaches >= tops[row]).all():
            found[row] = ~(reaches >= tops[row])
    return found


def open_with(left: Left, cards: list[int], row: int, count: int) -> np.ndarray:
    """Return which of `count` supports with the larger cardinality are open with one of the smaller.

    `row` is the place of the latter; a pair is open only if it is open with either support first.
    """
    found = left[cards[0]].get(row, np.zeros(count, dtype=bool)).copy()
    for other, seconds in left[cards[1]].items():
        found[other] |= seconds[row]
    return found


def leaf(S: Ball, measure: str, supports: list[Any], bound: float, ask: Ask) -> None:
    """Refuse unless all loadings on these supports have a measure of at most `bound`."""
    k, U, lowered = len(supports), sorted(set().union(*supports)), list[float]()
    key = ";".join(",".join(map(str, T)) for T in supports)
    M, at = Ball(S.mid[np.ix_(U, U)], S.rad), [np.searchsorted(U, T) for T in supports]
    R = root(M) if measure == "adjusted" else np.eye(len(U))
    what = f"leaf {key!r}"
    require(k <= len(U), f"{what} has too few variables")
    node = listed(ask(key, {"M": M.mid, "R": R, "at": at}), k, what)
    bases = [Ball(R[:, T]) for T in at]
    if measure == "pev":
        for D, one in zip(bases, node, strict=True):
            # add YY' to M, and subtract a lower bound on v'YY'v from the bound for M
            factor, least = fields(one, ("Y", "least"), what)
            Y, least = Ball(matrix(factor, len(U), f"Y of {what}")), number(least, f"least of {what}")
            positive(D.T @ Y @ Y.T @ D - D.T @ D * least, f"{what} does not hold")
            M, lowered = M + Y @ Y.T, [*lowered, -least]
        require(added([float(ky_fan(M, k)), *lowered]) + k * SUM <= bound, f"{what} does not prove the bound")
        return
    for j, (D, one) in enumerate(zip(bases, node, strict=True)):  # component j comes first
        first_comes(D, [A @ A.T for i, A in enumerate(bases) if i != j], one, bound - k * SUM, what)


def first_comes(D: Ball, others: list[Ball], one: Any, bound: float, what: str) -> None:
    """Refuse unless `bound` holds for the adjusted variance if the component with the basis D comes first.

    `one` has intervals of the variance of this component, and for each a multiplier and thresholds.
    """
    n, G = len(D.mid), D.T @ D
    cuts, factors, thetas = fields(one, ("cuts", "Z", "theta"), what)
    require(isinstance(cuts, list) and len(cuts) >= 1, f"cuts of {what} are missing")
    cuts = numbers(cuts, len(cuts), f"cuts of {what}").tolist()
    factors, thetas = (listed(x, len(cuts) - 1, f"Z or theta of {what}") for x in (factors, thetas))
    covered = cuts[0] > 0.0 and sorted(cuts) == cuts and float(ky_fan(G, 1)) <= cuts[-1]
    require(bool(covered), f"{what} leaves variances of the first component out")
    sums = [added([cuts[0], *(float(ky_fan(N, 1)) for N in others)])]
    for low, high, factor, theta in zip(cuts[:-1], cuts[1:], factors, thetas, strict=True):
        Z = Ball(matrix(factor, n, f"Z of {what}"))
        first, *rest = numbers(theta, len(others) + 1, f"theta of {what}").tolist()
        chord = G * first - G * low - G * high + Ball(np.eye(len(G.mid))) * (low * high)
        positive(D.T @ Z @ Z.T @ D + chord, f"{what} does not hold")
        for N, limit in zip(others, rest, strict=True):
            positive(Ball(np.eye(n)) * limit + Z @ Z.T - N, f"{what} does not hold")
        sums.append(added([float(Z.size**2), first, *rest]))
    require(all(total <= bound for total in sums), f"{what} does not prove the bound")


def added(terms: list[float]) -> float:
    """Return an upper bound on a sum of numbers that carry relative errors of up to SUM."""
    return math.fsum(terms) + SUM * math.fsum(map(abs, terms))


def check(S: Ball, V: np.ndarray, measure: str, bounds: list[float], ask: Ask) -> None:
    """Refuse unless the bounds hold for the shares of tr S of all loadings with as many nonzeros as V.

    With the measure "component", each component is compared with loadings for S deflated by the earlier
    components (Schur complement). If A changes loadings only by combinations of the earlier components, A'SA
    is at least the Schur complement, so that errors in its coefficients do not matter.
    """
    cards, p = np.count_nonzero(V, axis=0), len(V)
    total = float(np.trace(S.mid)) - p * (float(S.rad) + EPS * float(S.size))
    if measure != "component" and len(cards) > 1:
        joint(S, measure, cards.tolist(), bounds[0] * total, ask)
        return
    for j, (c, bound) in enumerate(zip(cards.tolist(), bounds, strict=True)):
        if measure == "least_squares":
            Q = S * (bound * total) - S @ S
        else:
            W = V[:, :j]
            A = Ball(np.eye(p)) - Ball(W) @ Ball(np.linalg.pinv(W.T @ S.mid @ W) @ W.T @ S.mid)
            Q = Ball(np.eye(p)) * (bound * total) - A.T @ S @ A
        sparse(Q, c, ask, f"{j}:", [], list(range(p)))


# --- the file and the data ------------------------------------------------------------------------

#: The layout of the file.
LAYOUT = 1
#: Either single components, or a measure of all components together.
MEASURES = ("component", "adjusted", "pev", "least_squares")
#: The fields of the file.
FIELDS = (
    "layout",
    "measure",
    "columns",
    "data",
    "centre",
    "scale",
    "loadings",
    "bounds",
    "values",
    "witness",
)
#: Rows that are multiplied at a time; fewer rows, and their partial sums, have smaller rounding errors.
ROWS = 256
#: Largest asymmetry and smallest eigenvalue of a covariance matrix, as shares of its size.
TOLERANCE = 1e-8
#: Largest difference of a share of the total variance from the one in the file.
SAME = 1e-9
#: Longest name that is printed in full.
LONGEST = 60


@dataclass(frozen=True, eq=False)
class ProofFile:
    """The fields of a proof, checked for kind and shape.

    Attributes
    ----------
    measure : str
    columns : list of str
        p distinct names.
    data : {"rows", "covariance"}
    centre, scale : ndarray of shape (p,)
        Subtracted from the rows, which are then divided by `scale`; zeros and ones for a covariance matrix.
    V : ndarray of shape (p, k)
        The loadings.
    bounds, values : ndarray
        Shares of the total variance, bounded and attained: one per component, or one.
    witness : dict
        By key, checked where it is used.
    """

    measure: str
    columns: list[str]
    data: str
    centre: np.ndarray
    scale: np.ndarray
    V: np.ndarray
    bounds: np.ndarray
    values: np.ndarray
    witness: dict[str, Any]


def _once(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    """Return the members of a JSON object; refuse names that occur twice, of which readers keep either."""
    found = dict(pairs)
    require(len(found) == len(pairs), "a name occurs twice in an object")
    return found


def _no_number(text: str) -> None:
    raise RefusedError(f"{text} is not a number")


def parsed(text: str) -> ProofFile:
    """Return the fields of a proof; raise RefusedError if one is missing or has another kind or shape."""
    found = json.loads(text, object_pairs_hook=_once, parse_constant=_no_number)
    layout, measure, columns, data, centre, scale, loadings, bounds, values, witness = fields(
        found, FIELDS, "the file"
    )
    require(type(layout) is int and layout == LAYOUT, f"the layout is not {LAYOUT}, the one that is known")
    require(isinstance(measure, str) and measure in MEASURES, f"the measure is none of {', '.join(MEASURES)}")
    require(isinstance(data, str) and data in ("rows", "covariance"), "data is neither rows nor covariance")
    require(isinstance(columns, list) and len(columns) > 0, "columns is not a list of names")
    p = len(columns)
    require(all(isinstance(name, str) for name in columns), "columns has an entry that is not a name")
    require(len(set(columns)) == p, "columns has a name twice")
    listed(loadings, p, "loadings")
    k = len(loadings[0]) if isinstance(loadings[0], list) else 0
    require(1 <= k <= p, f"the rows of loadings do not have 1 to {p} numbers")
    V = np.array([numbers(row, k, "a row of loadings") for row in loadings])
    require(bool(V.any(axis=0).all()), "a component has no loadings")
    count = k if measure == "component" else 1
    proof = ProofFile(
        measure=measure,
        columns=columns,
        data=data,
        centre=_unbounded(centre, p, "centre"),
        scale=_unbounded(scale, p, "scale"),
        V=V,
        bounds=numbers(bounds, count, "bounds"),
        values=numbers(values, count, "values"),
        witness=witness,
    )
    require(isinstance(witness, dict), "the witness is not an object")
    require(bool((proof.scale > 0).all()), "the scale is not positive")
    plain = not proof.centre.any() and bool((proof.scale == 1.0).all())
    require(data == "rows" or plain, "a covariance matrix has centre 0 and scale 1")
    return proof


def _unbounded(x: Any, count: int, what: str) -> np.ndarray:
    """Return finite numbers in units of the data, which may be larger than other numbers of a proof."""
    for one in listed(x, count, what):
        require(isinstance(one, (int, float)) and not isinstance(one, bool), f"{what} has no number")
    found = np.array([float(one) for one in x])
    require(bool(np.isfinite(found).all()), f"{what} is not finite")
    return found


def places(header: Sequence[str], names: Sequence[str]) -> list[int]:
    """Return the positions of columns by name; spaces around names count only where they tell two apart."""
    found = []
    for name in names:
        same = [j for j, one in enumerate(header) if one == name]
        same = same or [j for j, one in enumerate(header) if one.strip() == name.strip()]
        require(len(same) == 1, f"the data have no column {short(name)}, or several")
        found += same
    require(len(set(found)) == len(found), "two columns of the proof are the same column of the data")
    return found


def header_and_rows(data: Any, separator: str) -> tuple[list[str], pd.DataFrame]:
    """Return the names of the columns of a CSV file, and its further lines as text."""
    how: dict[str, Any] = {"sep": separator, "dtype": str, "header": None, "na_filter": False}
    table = pd.read_csv(data, encoding="utf-8-sig", **how)
    return table.iloc[0].tolist(), table.iloc[1:]


def read(data: str | PathLike[str], proof: ProofFile, separator: str = ",") -> np.ndarray:
    """Return the columns of the proof from a CSV file: rows, or the covariance matrix in its order."""
    header, body = header_and_rows(data, separator)
    at = places(header, proof.columns)
    X = np.column_stack([_column(body[j].to_numpy(), short(header[j])) for j in at])
    if proof.data == "rows":
        return X
    # the rows are in the order of the columns; the first columns may hold row labels
    labels = len(header) - len(body)
    require(labels >= 0 and min(at) >= labels, "the data are not a covariance matrix")
    if labels:
        given = [text.strip() for text in body[labels - 1]]
        same = given == [text.strip() for text in header[labels:]] or given == [*map(str, range(len(given)))]
        require(same, "the rows of the covariance matrix do not have the labels of its columns, in order")
    return X[np.array(at) - labels]


def _column(texts: np.ndarray, name: str) -> np.ndarray:
    """Return the numbers of a column of text; True and False are 1 and 0."""
    known = {"True": "1", "False": "0", "TRUE": "1", "FALSE": "0"}
    texts = np.array([known.get(text, text) for text in texts], dtype=object)
    require(not any("_" in text for text in texts), f"column {name} of the data has text")
    require(all(text.strip() for text in texts), f"column {name} of the data has missing values")
    try:
        X = texts.astype(float)
    except ValueError as error:
        raise RefusedError(f"column {name} of the data has text: {error}") from None
    require(bool(np.isfinite(X).all()), f"column {name} of the data has missing or infinite values")
    return X


def covariance(X: np.ndarray, data: str, centre: np.ndarray, scale: np.ndarray) -> Ball:
    """Return the covariance matrix of the data, divided by its trace up to rounding.

    Parameters
    ----------
    X : ndarray of shape (n, p), or (p, p) for a covariance matrix
    data : {"rows", "covariance"}
    centre, scale : ndarray of shape (p,)
    """
    require(X.shape[0] > 0, "the data have no rows")
    parts = [X[begin : begin + ROWS] for begin in range(0, len(X), ROWS)]
    largest = max(float(np.abs((part - centre) / scale).max()) for part in parts)
    require(1e-290 <= largest <= 1e307, "the data are all zero, or too small or large for squares")
    unit = -int(np.frexp(largest)[1])  # a power of two, so that nothing is rounded
    if data == "covariance":
        S = Ball(np.ldexp(X, unit))
        require(S.mid.shape[0] == S.mid.shape[1], "the data are not a covariance matrix")
        require(bool((np.abs(S.mid - S.mid.T) <= TOLERANCE).all()), "the data are not a covariance matrix")
        S = Ball(0.5 * (S.mid + S.mid.T), EPS * S.size)
        size = TOLERANCE * float(S.size) * np.eye(len(S.mid))
        positive(S + Ball(size), "the data are not a covariance matrix, which has no negative eigenvalues")
    else:
        S = Ball(np.zeros((X.shape[1], X.shape[1])))
        for part in parts:
            # the difference of two numbers, and the quotient, are each rounded once
            D = Ball(np.ldexp((part - centre) / scale, unit))
            D.rad = 2.0 * EPS * D.size
            product = D.T @ D
            S = S + Ball(product.mid, product.rad + 1e-280)
    return S * (1.0 / np.trace(S.mid))


def attained(S: np.ndarray, V: np.ndarray, measure: str) -> list[float]:
    """Return shares of the total variance: of each component, or one share of all components together.

    For the measure "component", the share of a component is what it adds to the earlier components.
    """
    V = V / np.linalg.norm(V, axis=0)
    if measure == "pev":
        return [float(np.trace(S @ V @ np.linalg.pinv(V)))]
    if measure == "least_squares":
        return [float(np.trace(S @ V @ np.linalg.pinv(V.T @ S @ V) @ V.T @ S))]
    own = []
    for j, v in enumerate(V.T):
        before = V[:, :j]
        left = v - before @ (np.linalg.pinv(before.T @ S @ before) @ (before.T @ S @ v))
        own.append(float(left @ S @ left))
    return own if measure == "component" else [sum(own)]


def proves(proof: ProofFile, S: Ball) -> list[float]:
    """Return what the loadings attain; raise RefusedError unless the proof holds for a covariance matrix."""

    def ask(key: str, asked: dict[str, Any]) -> Any:
        if key == "first" and key not in proof.witness:
            return []
        require(key in proof.witness, f"the witness has no {key!r}")
        return proof.witness[key]

    values = attained(S.mid, proof.V, proof.measure)
    # the allowed error is a share of the total variance
    close = np.abs(np.array(values) - proof.values) <= SAME
    require(bool(close.all()), f"the loadings attain {values}, and not {proof.values.tolist()}")
    require(bool((proof.bounds >= np.array(values) - SAME).all()), "the loadings exceed their bound")
    check(S, proof.V, proof.measure, proof.bounds.tolist(), ask)
    return values


def verify(proof: str | PathLike[str], data: str | PathLike[str], separator: str = ",") -> list[str]:
    """Check the proof in a file against a file of data.

    Parameters
    ----------
    proof : str or PathLike
        A file that ``certificate.save`` wrote.
    data : str or PathLike
        A CSV file with the columns of the fit: rows, or the covariance matrix.
    separator : str

    Returns
    -------
    list of str
        One sentence for each proven bound, and then what was proven about: the columns, and how they were
        centred and scaled. The proof chooses these, so that they are part of the verdict.

    Raises
    ------
    RefusedError
        If the proof does not prove its claim for these data.
    """
    with refusals():
        with open(proof, encoding="utf-8") as file:
            known = parsed(file.read())
        X = read(data, known, separator)
        S = covariance(X, known.data, known.centre, known.scale)
        values = proves(known, S)
        return [*_bounds(known, values), *_data(known, X)]


@contextmanager
def refusals() -> Iterator[None]:
    """Turn every error of malformed files into a RefusedError of one line."""
    malformed = (ArithmeticError, LookupError, TypeError, ValueError, RecursionError, np.linalg.LinAlgError)
    try:
        with np.errstate(all="ignore"):  # numbers that are not finite are refused where they arise
            yield
    except RefusedError as error:
        raise RefusedError(_line(str(error))) from None
    except UnicodeError:  # the file is no text
        raise
    except malformed as error:
        raise RefusedError(_line(f"{type(error).__name__}: {error}")) from error


def _line(text: str) -> str:
    """Return a message as one line of printable characters, and not a long one."""
    text = " ".join(text.split())
    text = "".join(c if c.isprintable() else "?" for c in text)
    return text if len(text) <= 300 else f"{text[:297]}..."


def _bounds(proof: ProofFile, values: list[float]) -> list[str]:
    cards = np.count_nonzero(proof.V, axis=0).tolist()
    of = cards if proof.measure == "component" else ["-".join(map(str, cards))]
    text = "{}, {} nonzeros: {:.9f} of the total variance is attained, and at most {:.9f} is possible"
    rounded = np.ceil(proof.bounds * 1e9 - 1e-3) / 1e9  # up, except for the rounding of the product itself
    return [text.format(proof.measure, *one) for one in zip(of, values, rounded, strict=True)]


def _data(proof: ProofFile, X: np.ndarray) -> list[str]:
    """Return what the bounds are about: the columns, their centre and their scale."""
    names = [short(name) for name in proof.columns]
    lines = [f"{'rows and columns' if proof.data == 'covariance' else 'columns'}: {', '.join(names)}"]
    if proof.data == "covariance":
        return ["the data are a covariance matrix", *lines, "centre and scale: none"]
    unit = -int(np.frexp(np.abs(X).max())[1])  # a power of two, so that nothing is rounded
    Y, centre, scale = (np.ldexp(one, unit) for one in (X, proof.centre, proof.scale))
    spread = Y.std(axis=0, ddof=1) if len(X) > 1 else np.full(len(names), np.nan)
    near = 1e-9 * spread + 64 * EPS * np.abs(Y).max(axis=0)
    pairs = [f"{name} {number:.17g}" for name, number in zip(names, proof.centre.tolist(), strict=True)]
    if bool((np.abs(centre - Y.mean(axis=0)) <= near).all()):
        lines.append("centre: the mean of each column")
    else:
        lines.append(f"centre: {', '.join(pairs)}" if proof.centre.any() else "centre: none (0)")
    pairs = [f"{name} {number:.17g}" for name, number in zip(names, proof.scale.tolist(), strict=True)]
    if bool((np.abs(scale - spread) <= 1e-9 * spread).all()):
        lines.append("scale: the standard deviation of each column")
    else:
        lines.append(f"scale: {', '.join(pairs)}" if (proof.scale != 1.0).any() else "scale: none (1)")
    return [f"the data are {len(X)} rows", *lines]


def short(name: str) -> str:
    """Return a name in quotes, with all characters visible, shortened if it is long."""
    return repr(name if len(name) <= LONGEST else f"{name[: LONGEST - 3]}...")
