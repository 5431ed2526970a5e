"""Sweeps over the components of a batch of fits: hard thresholds of the pull, taken only where the fit rises.

The update of component i is hard(w_i + mu s_i v_i) with the pull w_i, half the gradient made free of scale,
and its natural scale s_i. Convexity gives no ascent here, as the criterion is not convex in one column: every
step is valued, and a larger mu is the shorter step.
"""

from __future__ import annotations

import numpy as np

from spcastat.search.columns import hard, ranked
from spcastat.search.criterion import Criterion
from spcastat.search.exchange import GAIN
from spcastat.search.fits import Fits

#: Weights of the present loadings in the three steps that are tried.
STEPS = np.array([0.0, 1.0, 5.0])


def swept(criterion: Criterion, fits: Fits, sweeps: int) -> Fits:
    """Return the fits after a limited number of sweeps; none is worse than before."""
    fits = fits.some(slice(None))
    running = np.arange(len(fits))
    for _ in range(sweeps):
        if running.size == 0:
            break
        sub = fits.some(running)
        moved = np.zeros(running.size, dtype=bool)
        for i in range(criterion.k):
            moved |= _step(criterion, sub, i)
        fits.put(running, sub)
        running = running[moved]
    return fits


def _step(criterion: Criterion, fits: Fits, i: int) -> np.ndarray:
    """Update component i where that raises the criterion, and return where it did."""
    part = criterion.parts[i]
    pull, scale = criterion.pull(fits, i)
    W = np.repeat(pull[:, None], len(STEPS), axis=1)
    at = fits.places[:, None, part]
    own = (STEPS * scale[:, None])[:, :, None] * fits.x[:, None, part]
    np.put_along_axis(W, np.repeat(at, len(STEPS), axis=1), np.take_along_axis(W, at, axis=2) + own, axis=2)
    places, x = hard(W, criterion.cards[i])
    values = criterion.replaced(fits, i, places, x)
    best = ranked(values, len(STEPS))[:, 0]
    rose = values[np.arange(len(fits)), best] > fits.value * (1.0 + GAIN)
    which = np.flatnonzero(rose)
    if which.size:
        criterion.put(fits, which, i, places[which, best[which]], x[which, best[which]])
    return rose
