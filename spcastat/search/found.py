"""The result of a search."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from spcastat.measures import MEASURES
from spcastat.operators import Operator
from spcastat.search.component_order import falling
from spcastat.search.criterion import Criterion, Fits
from spcastat.search.local_optima import SAME, Evidence
from spcastat.search.newton_ascent import stationary
from spcastat.solvers import Searched


@dataclass(frozen=True, eq=False, kw_only=True)
class Found(Searched):
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


def directly(op: Operator, V: np.ndarray, objective: str, settled: bool | None, proven: bool) -> Found:
    """Return the result for loadings that were found without climbs."""
    value = float(MEASURES[objective](V, op)[-1])
    return Found(1, 1, 1, 1, 0.0, settled, proven, V=V, value=value, optima=((value, 1),))


def found_of(
    op: Operator,
    criterion: Criterion,
    fit: Fits,
    evidence: Evidence,
    objective: str,
    settled: bool | None,
    variables: np.ndarray | None = None,
    sufficient: bool | None = None,
) -> Found:
    """Return the result for the best fit of climbs, with stationary loadings in their final order.

    If the climbs ran on some variables only, these are `variables`, and `sufficient` tells whether
    exchanges with all others were tested.
    """
    fit = falling(criterion, stationary(criterion, fit))
    V = criterion.dense(fit)[0]
    if variables is not None and criterion.m < op.p:
        V, inside = np.zeros((op.p, criterion.k)), V
        V[variables] = inside
    evidence.settle(float(fit.value[0]))
    optima = evidence.table()
    return Found(
        V=V,
        value=float(MEASURES[objective](V, op)[-1]),
        starts=len(evidence.values),
        hits=optima[0][1],
        chains=len(evidence.chains),
        agreeing=sum(end >= max(evidence.chains) * (1.0 - SAME) for end in evidence.chains),
        unseen=evidence.unseen(),
        optima=tuple(optima),
        settled=settled,
        proven=False,
        variables=None if variables is None else len(variables),
        sufficient=sufficient,
    )
