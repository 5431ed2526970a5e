"""Local ascent for a batch of fits at once: sweeps over the components, and climbs by exchanges.

A sweep updates component i to hard(w_i + mu s_i v_i), where w_i is half the gradient plus s_i v_i and s_i its
scale. The criterion is not convex in one column, so that the update need not ascend: it is evaluated for
several mu, and a larger mu is a shorter step.
"""

from __future__ import annotations

import numpy as np

from spcastat.operators import GRAM_ORDER
from spcastat.search.component_order import reordered
from spcastat.search.criterion import Criterion, Fits
from spcastat.search.exchange import GAIN, exchange, trials
from spcastat.search.fixed_supports import refined
from spcastat.search.local_optima import SAME
from spcastat.search.small_matrices import ranked
from spcastat.search.swaps import swapped

#: The values of mu: weights of the present loadings in the steps that are tried.
STEPS = np.array([0.0, 1.0, 5.0])


def swept(criterion: Criterion, fits: Fits, sweeps: int) -> Fits:
    """Return the fits after a limited number of sweeps; none is worse than before.

    A fit is finished when a sweep raises its value by no more than a share SAME.
    """
    fits = fits.some(slice(None))
    running = np.arange(len(fits))
    for _ in range(sweeps):
        if running.size == 0:
            break
        sub = fits.some(running)
        before = sub.value.copy()
        for i in range(criterion.k):
            _step(criterion, sub, i)
        fits.put(running, sub)
        running = running[sub.value > before * (1.0 + SAME)]
    return fits


def _step(criterion: Criterion, fits: Fits, i: int) -> None:
    """Update component i where that raises the criterion."""
    part = criterion.parts[i]
    pull, scale = criterion.pull(fits, i)
    W = np.repeat(pull[:, None], len(STEPS), axis=1)
    own = (STEPS * scale[:, None])[:, :, None] * fits.x[:, None, part]
    W[np.arange(len(fits))[:, None, None], np.arange(len(STEPS))[:, None], fits.places[:, None, part]] += own
    places, x = criterion.cut(W, i, criterion.used(fits, i), fits.of)
    values = criterion.replaced(fits, i, places, x)
    best = ranked(values, len(STEPS))[:, 0]
    rose = np.flatnonzero(values[np.arange(len(fits)), best] > fits.value * (1.0 + GAIN))
    if rose.size:
        criterion.put(fits, rose, i, places[rose, best[rose]], x[rose, best[rose]])


#: Steps of an ascent on supports that may still change, and on final supports.
SHORT, LONG = 12, 300
#: Exchanges of a component that are evaluated before a fit counts as settled.
VALUED = 40


def climbed(criterion: Criterion, fits: Fits, width: int, valued: int, rough: float = 1e-5) -> Fits:
    """Return the fits after rounds of exchanges, each followed by a short ascent, while the value rises.

    Parameters
    ----------
    criterion : Criterion
    fits : Fits
    width, valued : int
        As for `spcastat.search.exchange.exchange`.
    rough : float
        A fit is finished when a round raises its value by no more than this share, or by no more than .001
        if its supports did not change.
    """
    fits = refined(criterion, fits, SHORT)
    running = np.arange(len(fits))
    while running.size:
        sub = fits.some(running)
        before, held = sub.value.copy(), sub.places.copy()
        for i in range(criterion.k):
            exchange(criterion, sub, i, width, valued)
        if criterion.rule is not None and criterion.rule.disjoint:
            sub = swapped(criterion, sub, width, valued, SHORT)
        sub = reordered(criterion, refined(criterion, sub, SHORT))
        fits.put(running, sub)
        # nearly dependent components rise slowly for dozens of rounds without any exchange
        enough = np.where((sub.places != held).any(axis=1), rough, 1e-3)
        running = running[sub.value > before * (1.0 + enough)]
    return fits


def deepened(criterion: Criterion, fits: Fits, width: int, valued: int) -> Fits:
    """Return the fits after exchanges that raise the criterion only together with an ascent of all loadings.

    The best exchanges of every component, even those that lower the value, are followed by a short ascent.
    """
    fits = fits.some(slice(None))
    running = np.arange(len(fits))
    while running.size:
        sub = fits.some(running)
        found = _followed(criterion, sub, width, valued)
        better = found.value > sub.value * (1.0 + GAIN)
        running = running[better]
        if running.size:
            fits.put(running, climbed(criterion, found.some(better), width, valued))
    return fits


def _followed(criterion: Criterion, fits: Fits, width: int, valued: int) -> Fits:
    """Return the best fit that one exchange and a short ascent reach.

    If the ascents from all exchanges would need more memory for covariance matrices than GRAM_ORDER
    variables do, only the best exchanges are followed by an ascent.
    """
    places, x = [], []
    for i, part in enumerate(criterion.parts):
        new_places, new_x, values = trials(criterion, fits, i, width, valued)
        values = values[:, :-1]
        if values.shape[1] == 0:
            continue
        # the best two exchanges of a component
        best = np.argsort(-values, axis=1, kind="stable")[:, :2]
        for column in best.T:
            every = np.arange(len(fits))
            all_places, all_x = fits.places.copy(), fits.x.copy()
            order = np.argsort(new_places[every, column], axis=1)
            all_places[:, part] = np.take_along_axis(new_places[every, column], order, axis=1)
            all_x[:, part] = np.take_along_axis(new_x[every, column], order, axis=1)
            places.append(all_places)
            x.append(all_x)
    if not places:
        return fits
    B, N = fits.x.shape
    found = criterion.fits(np.concatenate(places), np.concatenate(x), np.tile(fits.of, len(places)))
    most = max(GRAM_ORDER**2 // (B * N**2), 4)
    best = np.argsort(-found.value.reshape(-1, B), axis=0, kind="stable")[:most]
    found = refined(criterion, found.some((np.sort(best, axis=0) * B + np.arange(B)).ravel()), SHORT)
    values = found.value.reshape(-1, B)
    return found.some(np.argmax(values, axis=0) * B + np.arange(B))


def settled(criterion: Criterion, fit: Fits) -> Fits:
    """Return a fit that no exchange of one variable improves, with the best loadings on its supports.

    Exchanges with every variable outside the support are ranked by the model of one column, which is exact
    for PEV and least squares. The criterion evaluates the best VALUED of each component, and an ascent
    follows the best of these.
    """
    while True:
        found = deepened(criterion, fit, criterion.m, VALUED)
        found = reordered(criterion, refined(criterion, found, LONG))
        if not found.value[0] > fit.value[0] * (1.0 + 1e-7):
            return found
        fit = found
