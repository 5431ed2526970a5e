"""The best nonnegative loadings of all supports of a small problem.

Block coordinate descent for nonnegative components ends in one of many local optima, and more starts do not
always lead to the best. Where there are few choices of supports all are compared, as the default search does
without signs. Loadings on a support may be zero, so that smaller supports are among those compared. On given
supports there are several local optima, of which each is reached from a few starts: the result is not proven
to be the best.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, fields
from itertools import combinations, pairwise
from math import comb, prod

import numpy as np

from spcastat.linalg.accumulate import blocks
from spcastat.linalg.operators import Gram
from spcastat.search.chains import distinct
from spcastat.search.enumeration import FITS_AT_ONCE, MOST_CHOICES, all_choices, places_of, union_bounds
from spcastat.search.moves import GAIN
from spcastat.solvers.thresholding import fitted

#: Steps of the first ascent on every choice of supports, of those from further starts, and of the last.
SHORT_ASCENT, LONGER_ASCENT, FINAL_ASCENT = 15, 40, 500
#: Further starts on so many of the best choices, and how many random ones; so many of the best fits go on to
#: the end.
PROMISING, RANDOM, FULL_NONNEGATIVE_ASCENTS = 500, 4, 20
#: Added to the inner products of unit loadings, so that dependent ones have an inverse.
INVERSE_RIDGE = 1e-12
#: The share of random loadings that differs between components: good optima have either different components,
#: or nearly equal ones, whose difference is a contrast.
SIMILAR = (1.0, 0.1)
#: Smaller loadings of a fit at the end count as zero.
NEGLIGIBLE_LOADING = 1e-7
#: Steps of an ascent along the gradient: the first, the shortest and the longest.
FIRST_LENGTH, SHORTEST_LENGTH, LONGEST = 1.0, 1e-6, 1e6
#: A step is shortened by this factor where it does not raise the lowest of the last values.
SHORTER, REMEMBERED_STEPS = 0.25, 4


def few_choices(p: int, cards: Sequence[int]) -> bool:
    """Return whether there are few enough choices of supports among p variables to compare all."""
    return prod(comb(p, card) for card in cards) <= MOST_CHOICES


def best_of_all_choices(S: np.ndarray, cards: Sequence[int], V: np.ndarray) -> np.ndarray:
    """Return the nonnegative loadings of largest PEV that ascents on all supports reach.

    Parameters
    ----------
    S : ndarray of shape (p, p)
        Covariance matrix.
    cards : sequence of int
        The largest number of nonzeros of each component, with `few_choices`.
    V : ndarray of shape (p, k)
        Nonnegative unit loadings. Choices of supports whose bound is not above their value are left out.

    Returns
    -------
    ndarray of shape (p, k)
        Unit loadings; V itself, if none are better.
    """
    problem = _NonnegativeProblem(S / np.trace(S), tuple(cards))
    places, bounds = problem.choices()
    value = float(problem.values_of(V.T[None])[0])
    is_open = bounds > value * (1.0 + GAIN)
    places, bounds = places[is_open], bounds[is_open]
    if not len(places):
        return V
    ends = [problem.ascended(places, problem.in_turn(places), SHORT_ASCENT)]
    best_values = ends[0].values
    promising = np.argsort(-best_values, kind="stable")[:PROMISING]
    promising = promising[bounds[promising] > max(value, best_values.max()) * (1.0 + GAIN)]
    rng = np.random.default_rng(0)
    if len(promising):
        ends.append(problem.ascended(places[promising], ends[0].x[promising], LONGER_ASCENT))
    for number in range(RANDOM if len(promising) else 0):
        size = SIMILAR[number % len(SIMILAR)]
        common = rng.exponential(size=(len(promising), len(S)))
        x = (1.0 - size) * np.take_along_axis(common, places[promising], axis=1)
        x += size * rng.exponential(size=x.shape)
        ends.append(problem.ascended(places[promising], x, LONGER_ASCENT))
    all_ends = _concatenation(ends)
    final = problem.finished(all_ends.subset(distinct(all_ends.values, FULL_NONNEGATIVE_ASCENTS)))
    final_values = problem.values_of(final)
    best_index = int(np.argmax(final_values))
    return final[best_index].T if final_values[best_index] > value * (1.0 + GAIN) else V


@dataclass(frozen=True, eq=False)
class _Ends:
    """The ends of ascents on supports: places and loadings, shape (B, N), and PEV, shape (B,)."""

    places: np.ndarray
    x: np.ndarray
    values: np.ndarray

    def subset(self, indices: np.ndarray) -> _Ends:
        return _Ends(self.places[indices], self.x[indices], self.values[indices])


@dataclass(frozen=True, eq=False)
class _NonnegativeProblem:
    """A covariance matrix of total variance one, and the largest number of nonzeros of each component."""

    S: np.ndarray
    cards: tuple[int, ...]

    @property
    def owner(self) -> np.ndarray:
        """The component of each of the N nonzeros."""
        return np.repeat(np.arange(len(self.cards)), self.cards)

    @property
    def parts(self) -> list[slice]:
        return [slice(a, b) for a, b in pairwise(np.cumsum((0, *self.cards)).tolist())]

    def choices(self) -> tuple[np.ndarray, np.ndarray]:
        """Return all choices of supports, shape (n, N), and upper bounds on their PEV, shape (n,).

        No components in the union of supports have more than the leading eigenvectors there. Components of
        the same cardinality may change places.
        """
        p, k = len(self.S), len(self.cards)
        supports = [np.array(list(combinations(range(p), card))) for card in self.cards]
        places = places_of(supports, all_choices(supports, self.cards))
        membership = np.zeros((len(places), p), dtype=bool)
        np.put_along_axis(membership, places, True, axis=1)

        def leading_sums(J: np.ndarray) -> np.ndarray:
            blocks_of_unions = self.S[J[:, :, None], J[:, None, :]]
            return np.asarray(np.linalg.eigvalsh(blocks_of_unions)[:, -k:].sum(axis=1))

        return places, union_bounds(membership, leading_sums)

    def dense(self, fits: _Ends) -> np.ndarray:
        """Return the loadings of all variables, shape (B, k, p)."""
        V = np.zeros((len(fits.x), len(self.cards), len(self.S)))
        V[np.arange(len(fits.x))[:, None], self.owner, fits.places] = fits.x
        return V

    def values_of(self, V: np.ndarray) -> np.ndarray:
        """Return the PEV of loadings, shape (B, k, p), accurate also for dependent components."""
        Q = np.linalg.svd(V, full_matrices=False)
        rank = Q[1] > 1e-12 * Q[1][:, :1]
        return np.asarray((np.einsum("bip,pq,biq->bi", Q[2], self.S, Q[2]) * rank).sum(axis=1))

    def in_turn(self, places: np.ndarray) -> np.ndarray:
        """Return the positive parts of loadings on supports, each the best given those before: (B, N)."""
        x = np.empty(places.shape)
        residual = np.broadcast_to(self.S, (len(places), *self.S.shape))
        batch = np.arange(len(places))[:, None]
        for i, part in enumerate(self.parts):
            J = places[:, part]
            v = np.linalg.eigh(residual[batch[:, :, None], J[:, :, None], J[:, None, :]])[1][:, :, -1]
            v = v * np.where(np.abs(v.min(axis=1)) > v.max(axis=1), -1.0, 1.0)[:, None]
            x[:, part] = _unit(np.maximum(v, 0.0))
            if i + 1 < len(self.cards):
                image = np.einsum("bpc,bc->bp", residual[batch, :, J].swapaxes(1, 2), x[:, part])
                variance = np.einsum("bc,bc->b", np.take_along_axis(image, J, axis=1), x[:, part])
                share = image / np.maximum(variance, np.finfo(float).tiny)[:, None]
                residual = residual - image[:, :, None] * share[:, None, :]
        return x

    def ascended(self, places: np.ndarray, x: np.ndarray, steps: int) -> _Ends:
        """Return the ends of ascents from nonnegative loadings x, shape (B, N)."""
        parts = blocks(len(places), 1, FITS_AT_ONCE)
        return _concatenation([self._ascended(places[rows], x[rows], steps) for rows in parts])

    def _ascended(self, places: np.ndarray, x: np.ndarray, steps: int) -> _Ends:
        """Return the ends of projected steps along the gradient.

        The length of a step is that of Barzilai and Borwein, and a step must raise the lowest of the last
        values (Birgin, Martinez and Raydan, 2000).
        """
        S_blocks = self.S[places[:, :, None], places[:, None, :]]
        identity_blocks = (places[:, :, None] == places[:, None, :]).astype(float)
        x = self._projected(x)
        values, slope = self._values_and_slopes(S_blocks, identity_blocks, x)
        step = FIRST_LENGTH / np.abs(slope).max(axis=1).clip(min=1.0)
        best_x, best_values = x, values
        history = np.repeat(values[None], REMEMBERED_STEPS, axis=0)
        for number in range(steps):
            trial = self._projected(x + step[:, None] * slope)
            trial_values, trial_slope = self._values_and_slopes(S_blocks, identity_blocks, trial)
            rises = trial_values >= history.min(axis=0)
            change, bend = trial - x, slope - trial_slope
            product = np.einsum("bn,bn->b", change, bend)
            size = np.einsum("bn,bn->b", change, change)
            length = np.where(product > 0.0, size / np.where(product > 0.0, product, 1.0), LONGEST)
            step = np.where(rises, np.clip(length, SHORTEST_LENGTH, LONGEST), step * SHORTER)
            x = np.where(rises[:, None], trial, x)
            slope = np.where(rises[:, None], trial_slope, slope)
            values = np.where(rises, trial_values, values)
            history[number % REMEMBERED_STEPS] = values
            is_better = values > best_values
            best_x, best_values = np.where(is_better[:, None], x, best_x), np.maximum(values, best_values)
        return _Ends(places, best_x, best_values)

    @property
    def member(self) -> np.ndarray:
        """Indicators of the components among the nonzeros, shape (N, k)."""
        return (self.owner[:, None] == np.arange(len(self.cards))).astype(float)

    def _values_and_slopes(
        self, S_blocks: np.ndarray, identity_blocks: np.ndarray, x: np.ndarray
    ) -> tuple[np.ndarray, np.ndarray]:
        """Return PEV, shape (B,), and half its gradient, (B, N), from the blocks of S and of the identity."""
        W = x[:, :, None] * self.member
        SW, IW = S_blocks @ W, identity_blocks @ W
        H = np.linalg.inv(W.mT @ IW + INVERSE_RIDGE * np.eye(len(self.cards)))
        N = H @ (W.mT @ SW)
        slope = ((SW - IW @ N) @ H)[:, np.arange(len(self.owner)), self.owner]
        return np.einsum("bii->b", N), slope

    def _projected(self, x: np.ndarray) -> np.ndarray:
        """Return the positive parts of loadings, shape (B, N), with components of unit length."""
        x = np.maximum(x, 0.0)
        lengths = np.sqrt((x**2 @ self.member).clip(min=np.finfo(float).tiny))
        return np.asarray(x / lengths[:, self.owner])

    def finished(self, fits: _Ends) -> np.ndarray:
        """Return unit loadings, shape (B, k, p), after ascents to the end and Newton steps.

        The ascents are those of L-BFGS-B, which follow the narrow ridges where components become equal.
        """
        ends = self.dense(fits)
        for b, V in enumerate(ends):
            V = self._at_end(fits.places[b], fits.x[b])
            polished = fitted(Gram(self.S), V.T, nonneg=True)
            ends[b] = V if polished is None else polished.T
        return ends

    def _at_end(self, places: np.ndarray, x: np.ndarray) -> np.ndarray:
        """Return unit loadings, shape (k, p), at the end of an ascent on given supports."""
        from scipy.optimize import fmin_l_bfgs_b  # imported late, as few fits need it

        V = np.zeros((len(self.cards), len(self.S)))

        def loadings(x: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
            V[self.owner, places] = x
            lengths = np.linalg.norm(V, axis=1, keepdims=True).clip(min=np.finfo(float).tiny)
            return V / lengths, lengths

        def negative(x: np.ndarray) -> tuple[float, np.ndarray]:
            U, lengths = loadings(x)
            Q, R = np.linalg.qr(U.T)
            image = self.S @ Q
            value = float((Q * image).sum())
            # half the gradient is (SQ - QQ'SQ) R'^-1
            slope = np.linalg.lstsq(R, (image - Q @ (Q.T @ image)).T, rcond=None)[0]
            return -value, (-2.0 * slope / lengths)[self.owner, places]

        bounds = [(0.0, None)] * len(x)
        end = fmin_l_bfgs_b(negative, x, bounds=bounds, factr=1.0, pgtol=1e-10, maxiter=FINAL_ASCENT)[0]
        return loadings(np.where(end > NEGLIGIBLE_LOADING * end.max(), end, 0.0))[0]


def _concatenation(parts: Sequence[_Ends]) -> _Ends:
    return _Ends(*(np.concatenate([getattr(part, f.name) for part in parts]) for f in fields(_Ends)))


def _unit(x: np.ndarray) -> np.ndarray:
    """Return the rows of x at unit length."""
    return np.asarray(x / np.linalg.norm(x, axis=1, keepdims=True))
