"""Loadings taken away while a promise holds: many at once, the smallest first, then fewer and fewer."""

from __future__ import annotations

import numpy as np

from spcastat.operators import Operator
from spcastat.search.factors import NOTHING
from spcastat.search.priced import Loaded, loaded, polished
from spcastat.search.promise import Promise

#: A first cut takes this share of the nonzeros.
FIRST = 0.1
#: Sweeps over the loadings on what is left of the supports.
SWEEPS = 4
#: Cuts that are tried at most.
CUTS = 60


def trimmed(op: Operator, fit: Loaded, promise: Promise, total: float) -> Loaded:
    """Return the fit with loadings taken away, first of all components together, then of each by itself.

    Parameters
    ----------
    op : Operator
    fit : Loaded
        Keeps the promise.
    promise : Promise
    total : float
        The total variance.
    """
    fit = _cut(op, fit, promise, total, np.arange(promise.k))
    if promise.every:
        for i in range(promise.k):
            fit = _cut(op, fit, promise, total, np.array([i]))
    return fit


def _cut(op: Operator, fit: Loaded, promise: Promise, total: float, which: np.ndarray) -> Loaded:
    """Take away loadings of some components until a single one is too much."""
    count = max(1, int(FIRST * np.count_nonzero(fit.V[:, which])))
    for _ in range(CUTS):
        fewer = _without(op, fit, total, which, count)
        if fewer is None:
            return fit
        if not promise.holds(fewer.added):
            fewer = polished(op, fewer, promise, total, SWEEPS)
        if promise.holds(fewer.added):
            fit = fewer
            count = min(2 * count, max(1, int(FIRST * np.count_nonzero(fit.V[:, which]))))
        elif count == 1:
            return fit
        else:
            count = max(1, count // 3)
    return fit


def _without(op: Operator, fit: Loaded, total: float, which: np.ndarray, count: int) -> Loaded | None:
    """Return the fit without the `count` loadings that bring least; the largest of a component stays."""
    size = np.sqrt(np.maximum(fit.added, NOTHING))
    brings = np.abs(fit.V) * size
    brings[fit.V == 0] = np.inf
    brings[np.argmax(np.abs(fit.V), axis=0), np.arange(fit.V.shape[1])] = np.inf
    rest = np.full(fit.V.shape[1], True)
    rest[which] = False
    brings[:, rest] = np.inf
    there = np.count_nonzero(np.isfinite(brings))
    if there == 0:
        return None
    smallest = np.argsort(brings, axis=None, kind="stable")[: min(count, there)]
    V = fit.V.copy()
    V.ravel()[smallest] = 0.0
    V /= np.linalg.norm(V, axis=0)
    return loaded(op, V, total)
