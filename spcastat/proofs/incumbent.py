"""The best fit found during a proof."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from spcastat.linalg.operators import Operator
from spcastat.measures import measure_named
from spcastat.search.criteria import criterion_of_matrix
from spcastat.search.default import joint
from spcastat.search.moves import refined, reordered
from spcastat.search.rule import SupportRule


class Incumbent:
    """The best known fit by a measure.

    Parameters
    ----------
    S : ndarray of shape (p, p)
        Covariance matrix of total variance one.
    V : ndarray of shape (p, k)
        The initial fit; no column is zero.
    measure : {"pev", "adjusted", "least_squares"}
    """

    def __init__(self, S: np.ndarray, V: np.ndarray, measure: str):
        self.S = S
        self.V = V
        self.cards = tuple(int(c) for c in np.count_nonzero(V, axis=0))
        self.measure = measure
        self.criterion = criterion_of_matrix(S, self.cards, measure)
        self.rng = np.random.default_rng(0)
        self.value = self._measured(V)

    def _measured(self, V: np.ndarray) -> float:
        places = np.concatenate([np.flatnonzero(v) for v in V.T])[None, :]
        x = np.concatenate([v[np.flatnonzero(v)] for v in V.T])[None, :]
        return float(self.criterion.fits(places, x).value[0])

    def better(self, V: np.ndarray, value: float) -> float:
        """Store a fit if it is better; return the best value."""
        if value > self.value:
            self.V, self.value = V, value
        return self.value

    def climb(self, tuples: list[list[np.ndarray]]) -> float:
        """Optimise loadings on given supports, store the best fit, and return the best known value.

        Each list in `tuples` has the supports of one fit, in any order.
        """
        tried = [found for one in tuples if (found := assign_supports(one, self.cards, self.V)) is not None]
        if tried:
            for V, value in self._climbed(tried):
                self.better(V, value)
        return self.value

    def _climbed(self, tried: list[list[np.ndarray]]) -> Iterator[tuple[np.ndarray, float]]:
        """Yield the best fits with their values; each list in `tried` has a support for every component."""
        places = np.stack([np.concatenate(one) for one in tried])
        leading = [[np.linalg.eigh(self.S[np.ix_(T, T)])[1][:, -1] for T in one] for one in tried]
        starts = [np.stack([np.concatenate(one) for one in leading])]
        starts += [self.rng.standard_normal(places.shape) for _ in range(2)]
        fits = self.criterion.fits(np.concatenate([places] * len(starts)), np.concatenate(starts))
        # 60 steps of ascent
        fits = reordered(self.criterion, refined(self.criterion, fits, 60))
        best = int(np.argmax(fits.value))
        yield self.criterion.dense(fits.some(np.array([best])))[0], float(fits.value[best])

    def improve(self, op: Operator, cards: tuple[int, ...], rule: SupportRule | None = None) -> float:
        """Run the quick search and store its result if it is better; return the best known value."""
        V = joint(op, len(cards), cards, self.measure, "quick", rule=rule).V
        value = float(measure_named(self.measure)(V, op)[-1]) if V.any(axis=0).all() else -np.inf
        return self.better(V, value)


def assign_supports(
    supports: list[np.ndarray], cards: tuple[int, ...], V: np.ndarray
) -> list[np.ndarray] | None:
    """Assign supports to components by cardinality; components that get none keep their support in V.

    Return None if a support is left over or a component gets none of its cardinality.
    """
    free = sorted(range(len(supports)), key=lambda j: len(supports[j]))
    found = []
    for i, card in enumerate(cards):
        match = next((j for j in free if len(supports[j]) == card), None)
        if match is None:
            found.append(np.flatnonzero(V[:, i]))
        else:
            free.remove(match)
            found.append(np.sort(supports[match]))
    fits = all(len(T) == c for T, c in zip(found, cards, strict=True))
    return found if fits and not free else None
