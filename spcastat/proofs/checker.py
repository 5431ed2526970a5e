"""Check the bounds of a proof that ``certificate.save`` wrote.

This file shares no code with the search. It enumerates all supports itself and takes only multipliers from
the proof, which give a valid bound whatever their values. Every matrix is known up to a radius that covers
rounding. The last step is always a proof that a matrix is positive semidefinite: the Cholesky factorisation
succeeds after the radius and a bound on the rounding of the factorisation itself (Rump 2006) are subtracted.
Every number, list and matrix of the proof is checked for its kind and shape where it is used, before any
arithmetic. docs/proof_file.md describes the file, docs/proven.md has the theory.
"""

from __future__ import annotations

import math
from functools import cache, reduce
from itertools import combinations
from typing import Any

import numpy as np

#: Twice the unit roundoff, and an allowance for sums of up to 60,000 numbers, both relative.
EPS, SUM = 2.0**-52, 1e-11
#: S, of trace one, is replaced by S + SHIFT I where a larger matrix has a larger measure.
SHIFT = 1e-12
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


def sparse(Q: Ball, c: int, ask: Any, key: str, taken: list[int], free: list[int]) -> None:
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


def terms(R: np.ndarray, places: np.ndarray, Z: Ball) -> tuple[np.ndarray, ...]:
    """Return a, b and u with R_T R_T' - Z <= a I + b u u' for each support T."""
    found = []
    for some in np.array_split(places, len(places) // 1000 + 1):
        A = Ball(R[:, some].swapaxes(0, 1))
        N = A @ A.T - Z
        values, V = np.linalg.eigh(0.5 * (N.mid + N.T.mid))
        u, spread = Ball(V[:, :, -1:]), values[:, -1] - values[:, -2]
        second = values[:, -2] + 8.0 * N.rad + 40.0 * len(R) ** 2 * EPS * N.size
        positive(Ball(np.eye(len(R))) * second + (u @ u.T) * spread - N, "unverified eigenvalues")
        found.append((second, spread, V[:, :, -1]))
    return tuple(np.concatenate(one) for one in zip(*found, strict=True))


def joint(S: Ball, measure: str, cards: list[int], bound: float, ask: Any) -> None:
    """Refuse unless `bound` holds for the measure of all loadings with these cardinalities, in any order."""
    p, k, cards = len(S.mid), len(cards), sorted(cards)
    # a component with more supports is treated as dense
    supports_of = {c: list(combinations(range(p), c)) for c in cards if math.comb(p, c) <= 100_000}
    places = {c: np.array(supports_of.setdefault(c, [tuple(range(p))])) for c in cards}
    alone: dict[int, tuple[np.ndarray, ...]]
    own, alone = 0.0, {c: (np.zeros(len(T)), np.full(len(T), np.inf), T) for c, T in places.items()}

    union = cache(lambda U: float(ky_fan(Ball(S.mid[np.ix_(U, U)], S.rad), k)))

    def expand(rows: tuple[int, ...]) -> None:
        supports, t = [supports_of[c][row] for c, row in zip(cards, rows, strict=False)], len(rows)
        c, (second, spread, u) = cards[t], alone[cards[t]]
        total = own + second + spread + sum((alone[d][0] + alone[d][1]).max() for d in cards[t + 1 :])
        for d, row in zip(cards, rows, strict=False):
            total += alone[d][0][row] + alone[d][1][row]
        if measure == "adjusted" and t:  # pairs of components add less than the sum of their bounds
            chosen = [(alone[d][1][row], alone[d][2][row]) for d, row in zip(cards, rows, strict=False)]
            less = [reduction(chosen[i], chosen[j], p) for j in range(t) for i in range(j)]
            less += [reduction(one, (spread, u), p) for one in chosen]
            # each component is in t of the pairs
            total -= np.maximum(reduce(np.maximum, less), sum(less) / t)
        begin = rows[-1] if t and cards[t - 1] == c else 0  # components of equal cardinality may be exchanged
        # comparisons are written so that a number that is not one leaves the supports open
        open_ = ~(total + room <= bound) & (np.arange(len(total)) >= begin)
        if left is not None and t:  # one of the two comes first
            either = left[cards[0]].get(rows[0], np.zeros(len(total), dtype=bool)).copy()
            for row, seconds in left[c].items():
                either[row] |= seconds[rows[0]]
            open_ &= either
        for row in np.flatnonzero(open_).tolist():
            if t < k - 1:
                expand((*rows, row))
            elif not union(tuple(sorted({*supports_of[c][row], *(i for T in supports for i in T)}))) <= bound:
                leaf(S, measure, [*supports, supports_of[c][row]], bound, ask)

    room = k * SUM
    left: dict[int, dict[int, np.ndarray]] | None = None
    if not union(tuple(range(p))) <= bound:
        require(measure != "least_squares", "least squares are proven for one component only")
        if measure == "adjusted" and k == 2:
            found = ask("first", {"S": S.mid, "places": places, "cards": cards})
            require(isinstance(found, list), "the multipliers for the first component are not a list")
            lines = [score_line(S, one, f"multiplier {i} of the first") for i, one in enumerate(found)]
            require(all(line[0] in cards for line in lines), "a multiplier is for no cardinality")
            if lines:
                left = {}
                for c, d in {(cards[0], cards[1]), (cards[1], cards[0])}:
                    some = [line for line in lines if line[0] == c]
                    left[c] = after_first(S, places[c], places[d], bound - k * SUM, some)
                if not any(left.values()):
                    return
        if measure == "adjusted":
            R = root(S)
            X = Ball(matrix(ask("", {"R": R, "places": places, "cards": cards}), p, "the multiplier"))
            own, alone = float(X.size**2), {c: terms(R, T, X @ X.T) for c, T in places.items()}
            room += SUM * (own + sum(float(np.abs(alone[c][0]).max() + alone[c][1].max()) for c in cards))
        expand(())


def reduction(one: tuple[Any, Any], other: tuple[Any, Any], p: int) -> np.ndarray:
    """Return how much less than the sum of their bounds one component, and each of others, add together.

    Both are given by the b and u of `terms`.
    """
    (b, w), (c, u) = one, other
    sines = np.abs(1.0 - (u @ w) ** 2) + 8 * p * EPS  # squared; the root would enlarge their rounding
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


def score_line(S: Ball, one: Any, what: str) -> tuple[int, float, float, Ball, float, float]:
    """Return a multiplier for the first component: c, the ends of its interval, a a', weight and theta."""
    names = ("card", "from", "to", "loadings", "weight", "theta")
    c, low, high, x, weight, theta = fields(one, names, what)
    require(type(c) is int, f"card of {what} is not an integer")
    low, high, weight, theta = (number(z, f"a number of {what}") for z in (low, high, weight, theta))
    require(0.0 < low <= high and weight >= 0.0 and theta > 0.0, f"the numbers of {what} are negative")
    y = Ball(numbers(x, len(S.mid), f"loadings of {what}")[:, None])
    product = S @ y
    variance = y.T @ product
    size = float(variance.mid[0, 0] + variance.rad)
    require(size > 0.0 and np.isfinite(size), f"the scores of {what} have no variance")
    return c, low, high, product @ product.T * ((1.0 - 4.0 * EPS) / size), weight, theta


def after_first(
    S: Ball, first: np.ndarray, second: np.ndarray, bound: float, lines: list[Any]
) -> dict[int, np.ndarray]:
    """Return the supports of the first of two components for which `bound` is not proven.

    Each is given with the supports of the second component with which it is open.
    """
    A, one = blocks(S, first), Ball(np.eye(first.shape[1]))
    tops = ky_fan(A, 1)
    fine = []
    for _, _, _, aa, weight, theta in lines:  # no eigenvalue of the second blocks may exceed theta
        left = blocks(S - aa * ((1.0 - 4.0 * EPS) * weight / (weight + theta)), second)
        safe = np.asarray(left.size + left.rad <= theta)
        open_ = np.flatnonzero(~safe)
        if len(open_):
            rest = Ball(np.eye(second.shape[1])) * theta - Ball(left.mid[open_], left.rad)
            safe[open_] = which_positive(rest)
        fine.append(safe)

    def proves(line: Any, rows: np.ndarray) -> np.ndarray:
        _, low, high, aa, weight, theta = line
        ends = low, np.minimum(high, tops[rows])
        slack = 16.0 * EPS * (bound + weight + theta + ends[0] + ends[1])
        part = Ball(A.mid[rows], A.rad) * (bound - weight - theta - ends[0] - ends[1] - slack)
        return which_positive(part + one * (ends[0] * ends[1]) + blocks(aa, first[rows]) * weight)

    reach = np.full(len(first), 0.5 * bound)
    order = sorted(range(len(lines)), key=[line[1] for line in lines].__getitem__)
    for i in [i for i in order if fine[i].all()]:
        rows = np.flatnonzero(~(reach >= tops) & (lines[i][1] <= reach))
        rows = rows[proves(lines[i], rows)] if len(rows) else rows
        reach[rows] = np.maximum(reach[rows], lines[i][2])
    rows = np.flatnonzero(~(reach >= tops))
    proven = [proves(line, rows) for line in lines] if len(rows) else []
    found = {}
    for at, row in enumerate(rows.tolist()):
        reaches = np.full(len(second), 0.5 * bound)
        for i in [i for i in order if proven[i][at]]:
            ok = fine[i] & (lines[i][1] <= reaches)
            reaches[ok] = np.maximum(reaches[ok], lines[i][2])
        if not (reaches >= tops[row]).all():
            found[row] = ~(reaches >= tops[row])
    return found


def leaf(S: Ball, measure: str, supports: list[Any], bound: float, ask: Any) -> None:
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


def check(S: Ball, V: np.ndarray, measure: str, bounds: list[float], ask: Any) -> None:
    """Refuse unless the bounds hold for the shares of tr S of all loadings with as many nonzeros as V.

    With the measure "component", each component is compared with loadings for S deflated by the earlier
    components (Schur complement). If A changes loadings only by combinations of the earlier components, A'SA
    is at least the Schur complement, so that errors in its coefficients do not matter.
    """
    cards, p = np.count_nonzero(V, axis=0), len(V)
    total = float(np.trace(S.mid)) - p * (float(S.rad) + EPS * float(S.size))
    singly = measure == "component" or len(cards) == 1
    if not singly:
        joint(S, measure, cards.tolist(), bounds[0] * total, ask)
    for j, (c, bound) in enumerate(zip(cards.tolist(), bounds, strict=True) if singly else ()):
        W = V[:, :j]
        A = Ball(np.eye(p)) - Ball(W) @ Ball(np.linalg.pinv(W.T @ S.mid @ W) @ W.T @ S.mid)
        Q = Ball(np.eye(p)) * (bound * total) - A.T @ S @ A
        Q = S * (bound * total) - S @ S if measure == "least_squares" else Q
        sparse(Q, c, ask, f"{j}:", [], list(range(p)))
