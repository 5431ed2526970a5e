"""What a search returns: its best fit, and the local optima that it reached."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field

import numpy as np

from spcastat.linalg.operators import Operator
from spcastat.search import criteria
from spcastat.search.climbing import VALUE_TOLERANCE, falling
from spcastat.search.moves import FLAT, stationary, steepness
from spcastat.search.objectives import OBJECTIVES
from spcastat.solvers.solver import Searched

# --- local optima ---------------------------------------------------------------------------------


def optima_of(values: Iterable[float]) -> list[tuple[float, int]]:
    """Return the distinct values of the starts of a method, the best first, and the number of each.

    They are shares of the total variance. Values that differ by at most VALUE_TOLERANCE of the total variance
    are the same: block coordinate descent ends when a sweep changes its objective by a small share of the
    total variance, however small the explained share is. The first of them is returned. `Evidence.table` is
    about climbs, which end when a sweep raises the value by a small share of that value.
    """
    hits: dict[float, int] = {}
    for value in values:
        nearest = next((optimum for optimum in hits if abs(optimum - value) <= VALUE_TOLERANCE), value)
        hits[nearest] = hits.get(nearest, 0) + 1
    return sorted(hits.items(), reverse=True)


@dataclass(eq=False)
class Evidence:
    """The local optima of a search.

    Attributes
    ----------
    values : list of float
        The criterion at the end of every climb.
    chains : list of float
        The best of each chain.
    """

    values: list[float] = field(default_factory=list)
    chains: list[float] = field(default_factory=list)

    def add(self, values: np.ndarray) -> None:
        """Add the final values of climbs."""
        self.values += values.tolist()

    def settle(self, value: float) -> None:
        """Replace the value of the best optimum by that of a final ascent from it."""
        best_value = max(self.values)
        self.values = [max(value, v) if v >= best_value * (1.0 - VALUE_TOLERANCE) else v for v in self.values]

    def table(self) -> list[tuple[float, int]]:
        """Return the distinct optima, the best first, and how often each was reached.

        Optima are the same if they differ by at most the share VALUE_TOLERANCE of the larger one, the share
        by which a climb must raise the value to go on. The largest of them is returned. `optima_of` has
        another tolerance, as the methods whose values it takes end by another rule.
        """
        optima: list[tuple[float, int]] = []
        for value in sorted(self.values, reverse=True):
            if optima and optima[-1][0] - value <= VALUE_TOLERANCE * abs(value):
                optima[-1] = (optima[-1][0], optima[-1][1] + 1)
            else:
                optima.append((value, 1))
        return optima

    def unseen(self) -> float:
        """Return Good and Turing's estimate of the probability that the next climb ends in a new optimum."""
        table = self.table()
        return sum(hits == 1 for _, hits in table) / max(len(self.values), 1)


# --- the result ----------------------------------------------------------------------------------


@dataclass(frozen=True, eq=False, kw_only=True)
class SearchResult(Searched):
    """The result of a search, and its course; starts are climbs, and chains are independent searches.

    Attributes
    ----------
    V : ndarray of shape (p, k)
        Unit loadings with at most `card` nonzeros; fewer only if more would not raise the objective.
    value : float
        The objective from :mod:`spcastat.measures`, as a share of the total variance.
    optima : tuple of (float, int)
        Distinct local optima, as shares of the total variance, the best first, and how often climbs ended
        in each.
    """

    V: np.ndarray
    value: float
    optima: tuple[tuple[float, int], ...]


def directly(op: Operator, V: np.ndarray, objective: str, settled: bool | None, proven: bool) -> SearchResult:
    """Return the result for loadings that were found without climbs."""
    value = float(OBJECTIVES[objective].measure(V, op)[-1])
    return SearchResult(1, 1, 1, 1, 0.0, settled, proven, V=V, value=value, optima=((value, 1),))


def result_of_climbs(
    op: Operator,
    criterion: criteria.Criterion,
    fit: criteria.Fits,
    evidence: Evidence,
    objective: str,
    settled: bool | None,
    variables: np.ndarray | None = None,
    sufficient: bool | None = None,
) -> SearchResult:
    """Return the result for the best fit of climbs, with stationary loadings in their final order.

    If the climbs ran on some variables only, these are `variables`, and `sufficient` tells whether
    exchanges with all others were tested.
    """
    fit = falling(criterion, stationary(criterion, fit))
    V = criterion.dense(fit)[0]
    if variables is not None and criterion.m < op.p:
        V, inner_loadings = np.zeros((op.p, criterion.k)), V
        V[variables] = inner_loadings
    evidence.settle(float(fit.value[0]))
    optima = evidence.table()
    return SearchResult(
        V=V,
        value=float(OBJECTIVES[objective].measure(V, op)[-1]),
        starts=len(evidence.values),
        hits=optima[0][1],
        chains=len(evidence.chains),
        agreeing=sum(end >= max(evidence.chains) * (1.0 - VALUE_TOLERANCE) for end in evidence.chains),
        unseen=evidence.unseen(),
        optima=tuple(optima),
        settled=settled,
        proven=False,
        variables=None if variables is None else len(variables),
        sufficient=sufficient,
        flat=bool(steepness(criterion, fit)[0] <= FLAT),
    )
