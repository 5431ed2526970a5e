"""Swaps of two variables between disjoint components, for a batch of fits at once."""

from __future__ import annotations

import numpy as np

from spcastat.search.criterion import Criterion, Fits
from spcastat.search.exchange import GAIN
from spcastat.search.fixed_supports import refined
from spcastat.search.small_matrices import NOTHING, ranked


def swapped(criterion: Criterion, fits: Fits, width: int, valued: int, steps: int) -> Fits:
    """Return the fits after the best swap of a variable of one component for one of another; none is worse.

    Exchanges with variables that no component has find nothing where all variables are in use.

    Parameters
    ----------
    criterion : Criterion
        With a rule.
    fits : Fits
    width : int
        Swaps that are valued: those that raise the squared pulls on the supports most.
    valued : int
        The best of these are followed by an ascent of all loadings,
    steps : int
        of so many steps.
    """
    rule, owner, B = criterion.rule, criterion.owner, len(fits)
    assert rule is not None
    pulls, scales = zip(*(criterion.pull(fits, i) for i in range(criterion.k)), strict=True)
    W, scale = np.stack(pulls, axis=1), np.stack(scales, axis=1)
    there = W**2 / np.maximum(scale, NOTHING)[:, :, None]
    worth = np.take_along_axis(there, fits.places[:, None], axis=2)[:, owner]  # of entry f to that of e
    free = (rule.may[:, fits.places] & ~rule.must[owner, fits.places]).transpose(1, 0, 2)[:, owner]
    own = np.einsum("bee->be", worth)
    gains = worth + worth.mT - own[:, :, None] - own[:, None]
    allowed = free & free.mT & (owner[:, None] < owner)
    gains = np.where(allowed, gains, gains.min() - 1.0).reshape(B, -1)
    best = ranked(gains, min(width, int(allowed.reshape(B, -1).sum(axis=1).min())))
    if best.shape[1] == 0:
        return fits
    e, f = (one[:, :, None] for one in np.divmod(best, len(owner)))
    places = np.repeat(fits.places[:, None], best.shape[1], axis=1)
    one, other = np.take_along_axis(places, e, axis=2), np.take_along_axis(places, f, axis=2)
    np.put_along_axis(places, e, other, axis=2)
    np.put_along_axis(places, f, one, axis=2)
    order = np.argsort(owner * criterion.m + places, axis=2)
    places = np.take_along_axis(places, order, axis=2)
    moved = (owner == owner[e]) | (owner == owner[f])
    x = np.where(moved, W[np.arange(B)[:, None, None], owner, places], fits.x[:, None])
    tried = criterion.fits(
        places.reshape(-1, len(owner)), x.reshape(-1, len(owner)), np.repeat(fits.of, best.shape[1])
    )
    chosen = ranked(tried.value.reshape(B, -1), valued) + best.shape[1] * np.arange(B)[:, None]
    tried = refined(criterion, tried.some(chosen.ravel()), steps)
    top = tried.some(np.argmax(tried.value.reshape(B, -1), axis=1) + chosen.shape[1] * np.arange(B))
    better = top.value > fits.value * (1.0 + GAIN)
    fits = fits.some(slice(None))
    fits.put(better, top.some(better))
    return fits
