"""Upper bounds on the adjusted variance of two components, for each support of the first.

Let S = F'F, F_T be the columns of F on the support T, N_T = F_T F_T', and q_1 and q_2 be the orthonormal
directions of the scores.

In the order with the larger adjusted variance, the first component has a variance t of at least half of the
sum. Given a unit vector s, z >= 0 and theta > 0 with N_T <= theta I + z s s' for all supports T of the second
component, the sum is at most t + z + theta - z (s'q_1)^2. With a = F's, it is therefore at most b for t in an
interval from l to h if

    (b - z - theta - l - h) S + l h I + z a a'

is positive semidefinite on T1. The condition on N_T is that no eigenvalue of S - kappa a a' on T exceeds
theta, where kappa = z / (z + theta). Each s therefore needs one sparse eigenvalue, and closes many supports
T1. The vector s is the mean score of leading eigenvectors on supports that are still open. If it closes few
of them, they are split according to the first principal component of these scores.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace

import numpy as np

from spcastat.proofs.adjusted_bounds import CHUNK, largest_eigenvalues, norms
from spcastat.proofs.duals import BOUND_ALLOWANCE
from spcastat.search.matrices import TINY

#: The shares kappa that are tried for every direction.
SHARES = (0.5, 0.8, 0.9, 0.95, 0.97, 0.985, 0.993, 0.999, 0.9999, 0.99999)
#: For up to FEW_ROWS supports, only NEARBY_SHARES shares near the last successful one are tried; if none
#: closes a support, each support is examined separately.
FEW_ROWS, NEARBY_SHARES = 16, 3
#: The number of times that intervals of the variance of the first component are halved.
SCORE_HALVINGS = 4
#: Eigenvalues are computed for the LARGE_BLOCKS blocks with the largest norms, and for blocks in which
#: elimination has a pivot below PIVOT_SHARE times the level to be shown.
LARGE_BLOCKS, PIVOT_SHARE = 32, 1e-5
#: The number of blocks with the largest norms whose eigenvalues are computed for each share.
EIGENVALUES = 512
#: Another mean score is used if the last one closed at least this share of open supports; otherwise the
#: supports are divided. The same rule applies to three components.
CLOSED_SHARE = 0.1
#: The search ends if more supports of the first component are left for the last step.
MOST_FAILED = 100

#: Takes a list of pairs of supports and returns the adjusted variance to be proven.
Climb = Callable[[list[list[np.ndarray]]], float]


@dataclass(frozen=True, eq=False)
class Supports:
    """All supports of one cardinality, with the eigenvalues (descending) and eigenvectors of S on each.

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
        """The bounds on the variance of a component on each support, shape (n,)."""
        return self.values[:, 0] + 10.0 * BOUND_ALLOWANCE

    def leading(self, rows: np.ndarray, p: int) -> np.ndarray:
        """Return loadings, shape (m, p), of components with variance one on the supports `rows`."""
        x = np.zeros((len(rows), p))
        np.put_along_axis(x, self.places[rows], self.vectors[rows, :, 0], 1)
        return x * (np.where(x.sum(axis=1) < 0, -1.0, 1.0) / np.sqrt(self.values[rows, 0] + TINY))[:, None]


@dataclass(frozen=True, eq=False)
class ScoreMultiplier:
    """A multiplier z s s', where s is a unit vector of scores.

    Attributes
    ----------
    low, high : float
        The interval of the variance of the first component.
    a : ndarray of shape (p,)
        The vector F's, where s has length one.
    weight, theta : float
        z and theta.
    """

    low: float
    high: float
    a: np.ndarray
    weight: float
    theta: float

    def closes(self, first_supports: Supports, rows: np.ndarray, bound: float) -> np.ndarray:
        """Return a mask of supports of the first component for which `bound` is valid, shape (m,)."""
        values = first_supports.values[rows] + BOUND_ALLOWANCE
        high = np.minimum(self.high, first_supports.largest[rows])[:, None]
        e = (first_supports.vectors[rows].mT @ self.a[first_supports.places[rows]][:, :, None])[:, :, 0]
        # diag(m) + z ee' is positive semidefinite if m has no negative entry, or has one and the sum of
        # z e^2 / m is at most -1
        m = (
            self.low * high
            - (self.low + high - bound + self.weight + self.theta) * values
            - 0.1 * BOUND_ALLOWANCE
        )
        negative = (m < 0.0).sum(axis=1)
        total = self.weight * (e * e / np.where(m == 0.0, TINY, m)).sum(axis=1)
        return np.asarray((negative == 0) | ((negative == 1) & (total <= -1.0)))


@dataclass(frozen=True, eq=False)
class Plane:
    """Two orthonormal scores q_1 = F x and q_2 = F y, where q_2 is the best score given q_1.

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
    first_supports, second_supports : Supports
        The supports of both components, in their order.
    target : float
        The adjusted variance to be proven.

    Attributes
    ----------
    multipliers : list of ScoreMultiplier
    """

    def __init__(
        self,
        S: np.ndarray,
        factor: np.ndarray,
        first_supports: Supports,
        second_supports: Supports,
        target: float,
    ):
        self.S, self.factor, self.target = S, factor, target
        self.first_supports, self.second_supports = first_supports, second_supports
        self.multipliers: list[ScoreMultiplier] = []
        self._open_rows = np.arange(len(first_supports.places))
        self._share = 0  # the place in SHARES of the last share that closed a support

    def begin(self, check: Callable[[], None]) -> None:
        """Do nothing: there is no first bound before `run`."""

    def run(self, check: Callable[[], None], climb: Climb) -> bool:
        """Find multipliers until no support of the first component is open.

        Return False if a support stays open, or too many would have to be closed one by one, so that other
        bounds are needed.

        Parameters
        ----------
        check : callable
            Called before each direction; it may raise an error.
        climb : callable
            Takes pairs of supports, optimises loadings on them, and returns the adjusted variance to be
            proven, which is larger if a better fit was found.
        """
        while True:
            low, high = 0.5 * self.target, float(self.first_supports.largest.max())
            self._open_rows = self._interval(
                low, high, self._open_rows[self.first_supports.largest[self._open_rows] >= low], check
            )
            previous_target = self.target
            if len(self._open_rows):
                self.target = max(previous_target, climb(self._likely(self._open_rows[:50])))
            if self.target == previous_target:
                break
        if len(self._open_rows) > MOST_FAILED:
            return False
        while len(self._open_rows):
            if not self._single(low, int(self._open_rows[-1]), check):
                return False
            self._open_rows = self._open_rows[:-1]
        return True

    def _interval(self, low: float, high: float, rows: np.ndarray, check: Callable[[], None]) -> np.ndarray:
        """Close supports if the variance of the first component is in an interval; return the open ones."""
        failed, groups = [], [rows]
        while groups:
            rows = groups.pop()
            if not len(rows):
                continue
            check()
            loadings = self.first_supports.leading(rows, len(self.S))
            closed = self._closed(low, high, loadings.mean(axis=0), rows)
            rows, loadings = rows[~closed], loadings[~closed]
            if closed.sum() > CLOSED_SHARE * len(rows):
                groups.append(rows)
            elif len(rows) == 1:
                failed.append(int(rows[0]))
            elif len(rows) <= FEW_ROWS and not closed.any():
                groups += list(rows[:, None])
            elif len(rows):
                groups += divided(rows, loadings @ self.factor.T)
        return np.array(failed, dtype=int)

    def _likely(self, rows: np.ndarray) -> list[list[np.ndarray]]:
        """Return supports of the first component, each with a good support of the second."""
        pairs = []
        for row, x in zip(rows, self.first_supports.leading(rows, len(self.S)), strict=True):
            a = self.S @ x
            partner = np.argmax(norms(self.S - np.outer(a, a), self.second_supports.places))
            pairs.append([self.first_supports.places[row], self.second_supports.places[partner]])
        return pairs

    def _closed(self, low: float, high: float, loadings: np.ndarray, rows: np.ndarray) -> np.ndarray:
        """Store the multiplier for the scores of `loadings` that closes most supports; return their mask."""
        best_multiplier, closed = None, np.zeros(len(rows), dtype=bool)
        a = self._scores(loadings)
        share_order = sorted(range(len(SHARES)), key=lambda i: abs(i - self._share))
        for i in share_order if len(rows) == 1 or len(rows) > FEW_ROWS else share_order[:NEARBY_SHARES]:
            share = SHARES[i]
            theta = (
                sparse_eigenvalue(self.S - share * np.outer(a, a), self.second_supports.places)
                + BOUND_ALLOWANCE
            )
            candidate = ScoreMultiplier(low, high, a, theta * share / (1.0 - share), theta)
            candidate_mask = candidate.closes(self.first_supports, rows, self.target)
            if candidate_mask.sum() > closed.sum():
                best_multiplier, closed, self._share = candidate, candidate_mask, i
            if candidate_mask.all():
                break
        if best_multiplier is not None:
            self.multipliers.append(best_multiplier)
        return closed

    def _scores(self, loadings: np.ndarray) -> np.ndarray:
        """Return F's for the scores s with these loadings."""
        product = self.S @ loadings
        return np.asarray(product / np.sqrt(max(float(loadings @ product), TINY)))

    def _single(self, low: float, row: int, check: Callable[[], None]) -> bool:
        """Close a support of the first component for all supports of the second; return whether it worked."""
        all_seconds = np.arange(len(self.second_supports.places))
        todo = [(low, float(self.first_supports.largest[row]), all_seconds, 0)]
        while todo:
            check()
            low, high, seconds, halved = todo.pop()
            open_seconds = self._except_few(low, high, row, seconds)
            if 0 < len(open_seconds) < len(seconds):
                todo.append((low, high, open_seconds, halved))
            elif len(open_seconds) and halved < SCORE_HALVINGS:
                middle = middle_of(low, high)
                todo += [(low, middle, open_seconds, halved + 1), (middle, high, open_seconds, halved + 1)]
            elif len(open_seconds):
                return False
        return True

    def _except_few(self, low: float, high: float, row: int, seconds: np.ndarray) -> np.ndarray:
        """Store the multiplier that closes a support of the first for most supports of the second component.

        Return the supports among `seconds`, of the second component, that remain open.
        """
        best_multiplier, open_seconds = None, seconds
        places, at = self.second_supports.places[seconds], np.array([row])
        plane = self._plane(row, places)
        for share in SHARES:
            a = self._scores(plane.tilted(share))
            M = self.S - share * np.outer(a, a)
            sizes = norms(M, places)
            top = np.argsort(-sizes)[:EIGENVALUES]
            sizes[top] = largest_eigenvalues(M, places[top])
            order = np.argsort(-sizes)
            count = 0
            while count < len(open_seconds):
                theta = float(sizes[order[count]]) + BOUND_ALLOWANCE
                candidate = ScoreMultiplier(low, high, a, theta * share / (1.0 - share), theta)
                if candidate.closes(self.first_supports, at, self.target)[0]:
                    best_multiplier, open_seconds = candidate, seconds[order[:count]]
                    break
                count = max(1, 2 * count)
        if best_multiplier is not None:
            self.multipliers.append(best_multiplier)
        return open_seconds

    def _plane(self, row: int, places: np.ndarray) -> Plane:
        """Return a fit with large adjusted variance on a support of the first component."""
        S, T = self.S, self.first_supports.places[row]
        x = self.first_supports.leading(np.array([row]), len(S))[0]
        a = S @ x  # x has variance one
        M = S - np.outer(a, a)
        U = places[np.argmax(norms(M, places))]
        vectors = np.linalg.eigh(M[np.ix_(U, U)])[1]
        y = np.zeros(len(S))
        y[U] = vectors[:, -1]
        slope = float(a @ y)
        # one step along the gradient of the sum with respect to the loadings x / |x| of the first component
        unit = np.zeros(len(S))
        size = float(np.linalg.norm(x))
        unit[T] = S[T] @ ((1.0 + (slope * size) ** 2) * x / size - slope * size * y)
        x = unit / np.sqrt(max(float(unit @ S @ unit), TINY))
        a = S @ x
        slope = float(a @ y)
        orthogonal_part = y - slope * x
        orthogonal_part = orthogonal_part / np.sqrt(max(float(orthogonal_part @ S @ orthogonal_part), TINY))
        b = S @ orthogonal_part
        return Plane(x, orthogonal_part, float(a[U] @ b[U]), float(b[U] @ b[U]))

    @property
    def bound(self) -> float:
        """A bound for all supports that are not closed, from the first and the last multiplier."""
        rows, bound = self._open_rows, self.target
        while len(rows) and bound < 1.0:
            bound *= 1.0025
            for score_multiplier in (*self.multipliers[:1], *self.multipliers[-1:]):
                wide = replace(score_multiplier, low=0.5 * bound, high=1.0)
                rows = rows[~wide.closes(self.first_supports, rows, bound)]
                rows = rows[self.first_supports.largest[rows] >= 0.5 * bound]
        return bound


def divided(rows: np.ndarray, scores: np.ndarray) -> list[np.ndarray]:
    """Divide supports in two by the first principal component of their scores, or else in halves."""
    centred = scores - scores.mean(axis=0)
    direction = np.linalg.eigh(centred.T @ centred)[1][:, -1]
    place = centred @ direction
    upper = place > np.median(place)
    if upper.all() or not upper.any():
        upper = np.arange(len(rows)) < len(rows) // 2
    return [rows[upper], rows[~upper]]


def middle_of(low: float, high: float) -> float:
    """Return the point at which an interval of the variance of the first component is divided.

    The bound l + h - l h / t on t is too large by at most (sqrt(h) - sqrt(l))^2, which is then equal for both
    parts.
    """
    return float((0.5 * (np.sqrt(low) + np.sqrt(high))) ** 2)


def sparse_eigenvalue(M: np.ndarray, places: np.ndarray) -> float:
    """Return the largest eigenvalue of M on all supports, at least zero.

    Eigenvalues are computed for the blocks with the largest Frobenius norms, which bound the eigenvalues, and
    for blocks that an LDL' factorisation does not show to have smaller eigenvalues than the largest one
    found.
    """
    sizes = norms(M, places)
    top = np.argpartition(-sizes, min(LARGE_BLOCKS, len(sizes)) - 1)[:LARGE_BLOCKS]
    eigenvalue = max(0.0, float(largest_eigenvalues(M, places[top]).max()))
    open_rows = np.flatnonzero(sizes > eigenvalue)
    open_rows = open_rows[~surely_below(M, places[open_rows], eigenvalue)]
    for begin in range(0, len(open_rows), CHUNK):
        eigenvalue = max(
            eigenvalue, float(largest_eigenvalues(M, places[open_rows[begin : begin + CHUNK]]).max())
        )
    return eigenvalue


def surely_below(M: np.ndarray, places: np.ndarray, level: float) -> np.ndarray:
    """Return a mask of supports, shape (n,), for which all pivots of level I - M_TT are clearly positive.

    Then no eigenvalue of M_TT exceeds the level by more than rounding: pivots above PIVOT_SHARE times the
    level keep the errors of the elimination small.
    """
    c, columns = places.shape[1], np.ascontiguousarray(places.T)
    A = -M[columns[:, None], columns]  # (c, c, n): operations on the last axis are fast
    is_below = np.ones(len(places), dtype=bool)
    for i in range(c):
        A[i, i] += level
    for i in range(c):
        is_below &= A[i, i] > PIVOT_SHARE * level
        factor = A[i, i + 1 :] / np.where(is_below, A[i, i], 1.0)
        for j in range(i + 1, c):
            A[j, j:] -= factor[j - i - 1] * A[i, j:]
    return is_below
