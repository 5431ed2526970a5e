"""Upper bounds on the adjusted variance of two components, for each support of the first.

Let q_1 and q_2 be the orthonormal directions of the scores, in the order with the larger adjusted variance.
The first component, with support T1, has variance t, which is then at least half of the sum. For any unit
vector s, z >= 0 and theta > 0 with N_T <= theta I + z s s' for all supports T of the second component,

    t + (variance that the second adds) <= t + z (s'q_2)^2 + theta <= t + z + theta - z (s'q_1)^2.

For t in an interval from l to h, the right side is at most b if, with a = F's,

    (b - z - theta - l - h) S + l h I + z a a'

is positive semidefinite on T1 (`adjusted_bounds` has the chord of 1/t). The condition on N_T is that no
eigenvalue of S - kappa a a' on T exceeds theta, where kappa = z / (z + theta). So each direction s needs one
sparse eigenvalue, and then closes many supports T1: s is the mean score of leading eigenvectors on supports
that are still open. If it closes few of them, they are divided by the first principal component of these
scores. This is tight if one factor dominates: q_1 must be close to the factor, whatever T1 is.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace

import numpy as np

from spcastat.linalg.scales import blocks
from spcastat.proofs.adjusted_bounds import HALVINGS as HALVINGS_OF_PAIRS
from spcastat.proofs.adjusted_bounds import first_component_bounds, largest_eigenvalues, norms
from spcastat.proofs.duals import ROUNDING, Running
from spcastat.proofs.relaxed import BATCH, LEAF
from spcastat.search.matrices import TINY

#: The shares kappa that are tried for every direction.
SHARES = (0.5, 0.8, 0.9, 0.95, 0.97, 0.985, 0.993, 0.999, 0.9999, 0.99999)
#: How often intervals of the variance of the first component are halved.
HALVINGS = 4
#: How many eigenvalues are computed of the blocks with the largest norms, and the steps of an ascent.
EXACT, ASCENTS = 512, 30
#: The mean score is taken again if it closes at least this share of open supports; else they are divided.
ENOUGH = 0.1
#: The search ends if more supports of the first component, or more pairs of supports, cannot be closed.
MOST_FAILED, MOST_PAIRS = 100, 50
#: Multipliers that are tried for a larger bound if the search stops early.
RECENT = 20

#: Takes a list of pairs of supports and returns the adjusted variance to be proven.
Climb = Callable[[list[list[np.ndarray]]], float]


@dataclass(frozen=True, eq=False)
class Supports:
    """All supports of one cardinality, with the eigenvalues, descending, and eigenvectors of S on each.

    Attributes
    ----------
    places : ndarray of int, shape (n, c)
    values : ndarray of shape (n, c)
    vectors : ndarray of shape (n, c, c)
    """

    places: np.ndarray
    values: np.ndarray
    vectors: np.ndarray

    @classmethod
    def of(cls, S: np.ndarray, places: np.ndarray) -> Supports:
        values, vectors = np.linalg.eigh(S[places[:, :, None], places[:, None, :]])
        return cls(places, values[:, ::-1].clip(min=0.0), vectors[:, :, ::-1])

    @property
    def largest(self) -> np.ndarray:
        """Bounds on the variance of a component on each support, shape (n,)."""
        return self.values[:, 0] + 10.0 * ROUNDING

    def leading(self, rows: np.ndarray, p: int) -> np.ndarray:
        """Return loadings of components with variance one on some supports, with positive sums, (m, p)."""
        x = np.zeros((len(rows), p))
        np.put_along_axis(x, self.places[rows], self.vectors[rows, :, 0], 1)
        return x * (np.where(x.sum(axis=1) < 0, -1.0, 1.0) / np.sqrt(self.values[rows, 0] + TINY))[:, None]


@dataclass(frozen=True, eq=False)
class ScoreMultiplier:
    """A multiplier z s s', where s is the unit vector of scores.

    Attributes
    ----------
    low, high : float
        The interval of the variance of the first component.
    loadings : ndarray of shape (p,)
        The loadings of the scores s.
    a : ndarray of shape (p,)
        F's.
    weight, theta : float
        z and theta.
    """

    low: float
    high: float
    loadings: np.ndarray
    a: np.ndarray
    weight: float
    theta: float

    def closes(self, first: Supports, rows: np.ndarray, bound: float) -> np.ndarray:
        """Return whether `bound` holds if the first component has these supports, shape (m,)."""
        values = first.values[rows] + ROUNDING
        high = np.minimum(self.high, first.largest[rows])[:, None]
        e = (first.vectors[rows].mT @ self.a[first.places[rows]][:, :, None])[:, :, 0]
        # diag(m) + z ee' is positive semidefinite if m has no negative entry, or has one and the sum of
        # z e^2 / m is at most -1
        m = self.low * high - (self.low + high - bound + self.weight + self.theta) * values - 0.1 * ROUNDING
        negative = (m < 0.0).sum(axis=1)
        total = self.weight * (e * e / np.where(m == 0.0, TINY, m)).sum(axis=1)
        return np.asarray((negative == 0) | ((negative == 1) & (total <= -1.0)))


@dataclass(frozen=True, eq=False)
class Plane:
    """Two orthonormal scores q_1 = F x and q_2 = F y, where q_2 is best given q_1.

    Attributes
    ----------
    x, y : ndarray of shape (p,)
    slope, variance : float
        q_1'N q_2 and q_2'N q_2, where N = N_T of the second component.
    """

    x: np.ndarray
    y: np.ndarray
    slope: float
    variance: float

    def tilted(self, share: float) -> np.ndarray:
        """Return the loadings of s in this plane, for a multiplier z s s' with z (s'q_1) (s'q_2) = slope.

        With this s, q_2 is an eigenvector of N - z s s' within the plane.
        """
        weight = share / (1.0 - share) * self.variance
        sine = 2.0 * self.slope / weight if weight > 0.0 else 0.0
        angle = 0.5 * np.arcsin(min(max(sine, -1.0), 1.0))
        return np.asarray(np.cos(angle) * self.x + np.sin(angle) * self.y)


class Cover:
    """Multipliers for all supports of the first component.

    Parameters
    ----------
    S : ndarray of shape (p, p)
        Covariance matrix of total variance one.
    factor : ndarray of shape (d, p)
        F with S = F'F.
    first, second : Supports
        The supports of both components, in their order.
    target : float
        The adjusted variance to be proven.

    Attributes
    ----------
    multipliers : list of ScoreMultiplier
    pairs : list of (int, ndarray of int)
        Supports of the first component, each with those of the second for which the bound is not proven.
    """

    def __init__(
        self,
        S: np.ndarray,
        factor: np.ndarray,
        first: Supports,
        second: Supports,
        target: float,
    ):
        self.S, self.factor, self.first, self.second, self.target = S, factor, first, second, target
        self.multipliers: list[ScoreMultiplier] = []
        self.pairs: list[tuple[int, np.ndarray]] = []
        self._open = np.arange(len(first.places))

    def run(self, check: Callable[[], None], climb: Climb) -> bool:
        """Find multipliers until no support of the first component is left, apart from those in `pairs`.

        Return False if too many supports or pairs are left, so that other bounds are needed.

        Parameters
        ----------
        check : callable
            Called before each direction; it may raise an error.
        climb : callable
            Takes pairs of supports, optimises loadings on them, and returns the adjusted variance to be
            proven, which is larger if a better fit was found.
        """
        while True:
            low, high = 0.5 * self.target, float(self.first.largest.max())
            self._open = self._interval(
                low, high, self._open[self.first.largest[self._open] >= low], check
            )
            before = self.target
            if len(self._open):
                self.target = max(before, climb(self._likely(self._open[:50])))
            if self.target == before:
                break
        if len(self._open) > MOST_FAILED:
            return False
        while len(self._open):
            self._single(low, int(self._open[-1]), check)
            if sum(len(left) for _, left in self.pairs) > MOST_PAIRS:
                return False
            self._open = self._open[:-1]
        return True

    def _interval(
        self, low: float, high: float, rows: np.ndarray, check: Callable[[], None]
    ) -> np.ndarray:
        """Close supports if the variance of the first component is in an interval; return those left."""
        failed, groups = [], [rows]
        while groups:
            rows = groups.pop()
            if not len(rows):
                continue
            check()
            loadings = self.first.leading(rows, len(self.S))
            closed = self._closed(low, high, loadings.mean(axis=0), rows)
            rows, loadings = rows[~closed], loadings[~closed]
            if closed.sum() > ENOUGH * len(rows):
                groups.append(rows)
            elif len(rows) == 1:
                failed.append(int(rows[0]))
            elif len(rows):
                groups += divided(rows, loadings @ self.factor.T)
        return np.array(failed, dtype=int)

    def _likely(self, rows: np.ndarray) -> list[list[np.ndarray]]:
        """Return supports of the first component, each with a good one of the second."""
        found = []
        for row, x in zip(rows, self.first.leading(rows, len(self.S)), strict=True):
            a = self.S @ x
            best = np.argmax(norms(self.S - np.outer(a, a), self.second.places))
            found.append([self.first.places[row], self.second.places[best]])
        return found

    def _closed(self, low: float, high: float, loadings: np.ndarray, rows: np.ndarray) -> np.ndarray:
        """Store the multiplier of the scores with these loadings that closes most supports; return which."""
        best, closed = None, np.zeros(len(rows), dtype=bool)
        x, a = self._scores(loadings)
        for share in SHARES:
            theta = sparse_eigenvalue(self.S - share * np.outer(a, a), self.second.places) + ROUNDING
            one = ScoreMultiplier(low, high, x, a, theta * share / (1.0 - share), theta)
            found = one.closes(self.first, rows, self.target)
            if found.sum() > closed.sum():
                best, closed = one, found
        if best is not None:
            self.multipliers.append(best)
        return closed

    def _scores(self, loadings: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Return loadings rounded to the six digits of a proof in a file, and F's for their scores s."""
        x = np.array([float(f"{one:.6g}") for one in loadings.tolist()])
        product = self.S @ x
        return x, product / np.sqrt(max(float(x @ product), TINY))

    def _single(self, low: float, row: int, check: Callable[[], None]) -> None:
        """Close a support of the first component with all of the second, or add what is left to `pairs`."""
        every = np.arange(len(self.second.places))
        todo = [(low, float(self.first.largest[row]), every, 0)]
        while todo:
            check()
            low, high, seconds, halved = todo.pop()
            left = self._except_few(low, high, row, seconds)
            if 0 < len(left) < len(seconds):
                todo.append((low, high, left, halved))
            elif len(left) and halved < HALVINGS:
                middle = (0.5 * (np.sqrt(low) + np.sqrt(high))) ** 2
                todo += [(low, middle, left, halved + 1), (middle, high, left, halved + 1)]
            elif len(left):
                self.pairs.append((row, left))
                if len(left) > MOST_PAIRS:
                    return

    def _except_few(self, low: float, high: float, row: int, seconds: np.ndarray) -> np.ndarray:
        """Store the multiplier that closes a support of the first component with most of the second.

        Return those of the supports `seconds` of the second component that are left.
        """
        best, left = None, seconds
        places, at = self.second.places[seconds], np.array([row])
        plane = self._plane(row, places)
        for share in SHARES:
            x, a = self._scores(plane.tilted(share))
            M = self.S - share * np.outer(a, a)
            sizes = norms(M, places)
            some = np.argsort(-sizes)[:EXACT]
            sizes[some] = largest_eigenvalues(M, places[some])
            order = np.argsort(-sizes)
            count = 0
            while count < len(left):
                theta = float(sizes[order[count]]) + ROUNDING
                one = ScoreMultiplier(low, high, x, a, theta * share / (1.0 - share), theta)
                if one.closes(self.first, at, self.target)[0]:
                    best, left = one, seconds[order[:count]]
                    break
                count = max(1, 2 * count)
        if best is not None:
            self.multipliers.append(best)
        return left

    def _plane(self, row: int, places: np.ndarray) -> Plane:
        """Return a fit with large adjusted variance on a support of the first component."""
        S, T = self.S, self.first.places[row]
        x = self.first.leading(np.array([row]), len(S))[0]
        for _ in range(ASCENTS):
            a = S @ x  # x has variance one
            M = S - np.outer(a, a)
            U = places[np.argmax(norms(M, places))]
            vectors = np.linalg.eigh(M[np.ix_(U, U)])[1]
            y = np.zeros(len(S))
            y[U] = vectors[:, -1]
            slope = float(a @ y)
            # the gradient of the sum with respect to the loadings x / |x| of the first component
            unit = np.zeros(len(S))
            size = float(np.linalg.norm(x))
            unit[T] = S[T] @ ((1.0 + (slope * size) ** 2) * x / size - slope * size * y)
            x = unit / np.sqrt(max(float(unit @ S @ unit), TINY))
        a = S @ x
        slope = float(a @ y)
        rest = y - slope * x
        rest = rest / np.sqrt(max(float(rest @ S @ rest), TINY))
        b = S @ rest
        return Plane(x, rest, float(a[U] @ b[U]), float(b[U] @ b[U]))

    def pair_bounds(self, level: float, running: Running) -> tuple[np.ndarray, list[list[np.ndarray]]]:
        """Return bounds for all pairs of supports in `pairs`, at least `level`, and these pairs."""
        rows = sorted({(one, int(other)) for one, others in self.pairs for other in others})
        pairs = [[self.first.places[one], self.second.places[other]] for one, other in rows]
        found = np.full(len(pairs), level)
        width = 2**HALVINGS_OF_PAIRS * len(self.factor) ** 2
        for part in blocks(len(pairs), width, BATCH):
            columns = [
                self.factor[:, np.array(places)].transpose(1, 0, 2)
                for places in zip(*pairs[part], strict=True)
            ]
            found[part] = first_component_bounds(columns, level, LEAF, running)
        return found, pairs

    @property
    def bound(self) -> float:
        """A bound for all supports that are not closed, including those in `pairs`."""
        rows = np.array([*self._open, *(row for row, _ in self.pairs)], dtype=int)
        bound = self.target
        while len(rows) and bound < 1.0:
            bound *= 1.0025
            for one in self.multipliers[-RECENT:]:
                wide = replace(one, low=0.5 * bound, high=1.0)
                rows = rows[~wide.closes(self.first, rows, bound)]
                rows = rows[self.first.largest[rows] >= 0.5 * bound]
        return bound


def divided(rows: np.ndarray, scores: np.ndarray) -> list[np.ndarray]:
    """Divide supports in two by the first principal component of their scores, (m, d), or in halves."""
    centred = scores - scores.mean(axis=0)
    direction = np.linalg.eigh(centred.T @ centred)[1][:, -1]
    place = centred @ direction
    upper = place > np.median(place)
    if upper.all() or not upper.any():
        upper = np.arange(len(rows)) < len(rows) // 2
    return [rows[upper], rows[~upper]]


def sparse_eigenvalue(M: np.ndarray, places: np.ndarray) -> float:
    """Return the largest eigenvalue of M on all supports, at least zero.

    It is computed in the order of the Frobenius norms, which bound the eigenvalues.
    """
    sizes = norms(M, places)
    order = np.argsort(-sizes)
    best = 0.0
    for begin in range(0, len(order), 64):
        some = order[begin : begin + 64]
        if sizes[some[0]] <= best:
            break
        best = max(best, float(largest_eigenvalues(M, places[some]).max()))
    return best
