"""Kicks: fits of which some components are taken out and built anew beside the others."""

from __future__ import annotations

import numpy as np

from spcastat.search.columns import hard
from spcastat.search.fits import Criterion, Fits
from spcastat.search.order import permuted
from spcastat.search.rebuild import CHOICE, rebuild

#: At most so many components are taken out at once.
OUT = 3
#: How often the best of the components found takes the place, rather than one of the best at random.
BEST = 0.6
#: How often two components of different cardinality change their directions instead.
SWAPPED = 0.2


def kicked(criterion: Criterion, fits: Fits, rows: int, rng: np.random.Generator) -> Fits:
    """Return the fits with one to three components built anew.

    Where the order counts and all cardinalities agree the new components come last, and in place otherwise.

    Parameters
    ----------
    criterion : Criterion
    fits : Fits
    rows : int
        Random rows that each new component is looked for from.
    rng : numpy Generator
    """
    fits = fits.some(slice(None))
    B, k = len(fits), criterion.k
    swap = np.zeros(B, dtype=bool)
    if not criterion.equal:
        swap = rng.random(B) < SWAPPED
        _exchange_directions(criterion, fits, np.flatnonzero(swap), rng)
    count = np.where(swap, 0, rng.integers(1, min(OUT, k) + 1, size=B))
    chosen = rng.permuted(np.tile(np.arange(k), (B, 1)), axis=1)
    out = np.zeros((B, k), dtype=bool)
    np.put_along_axis(out, chosen, np.arange(k) < count[:, None], axis=1)
    if criterion.equal and not criterion.exact:
        order = np.argsort(out, axis=1, kind="stable")
        fits, out = permuted(criterion, fits, order), np.take_along_axis(out, order, axis=1)
    for i in range(k):
        criterion.empty(fits, np.flatnonzero(out[:, i]), i)
    stages = range(k) if criterion.equal else rng.permutation(k)
    rows = min(rows, criterion.m)
    for i in stages:
        which = np.flatnonzero(out[:, i])
        if which.size:
            seeds = rng.permuted(np.tile(np.arange(criterion.m), (which.size, 1)), axis=1)[:, :rows]
            best = rng.random(which.size) < BEST
            pick = np.where(best, 0, rng.integers(0, CHOICE, size=which.size))
            rebuild(criterion, fits, which, int(i), seeds, pick)
    fits.value = criterion.value(fits.G, fits.N)
    return fits


def _exchange_directions(
    criterion: Criterion, fits: Fits, which: np.ndarray, rng: np.random.Generator
) -> None:
    """Let two components change directions, each cut anew to its own cardinality."""
    images = fits.first if criterion.T is None else fits.second
    pairs = [
        (a, b)
        for a in range(criterion.k)
        for b in range(a + 1, criterion.k)
        if criterion.cards[a] != criterion.cards[b]
    ]
    drawn = rng.integers(0, len(pairs), size=which.size)
    for number in np.unique(drawn):
        a, b = pairs[number]
        some = which[drawn == number]
        new = [(i, *hard(images[some, j].copy(), criterion.cards[i])) for i, j in ((a, b), (b, a))]
        for i, places, x in new:
            criterion.put(fits, some, i, places, x)
