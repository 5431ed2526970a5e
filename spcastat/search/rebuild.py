"""A component built anew beside the others: truncated power iterations from rows of what the others leave."""

from __future__ import annotations

import numpy as np

from spcastat.search.columns import best_vectors, hard, ranked
from spcastat.search.criterion import Criterion
from spcastat.search.factors import NOTHING
from spcastat.search.fits import Fits
from spcastat.search.growth import grown, singles
from spcastat.search.model import Model

#: Steps of a truncated power iteration, and where there are more than MANY variables.
POWER, FEWER, MANY = 5, 3, 1000
#: A component is taken at random from the distinct best of this many.
CHOICE = 4
#: Where components are grown, this many are.
GROWN = 3


def rebuild(
    criterion: Criterion, fits: Fits, which: np.ndarray, i: int, seeds: np.ndarray, pick: np.ndarray
) -> None:
    """Give some fits a component i, which has been taken out of them.

    Parameters
    ----------
    criterion : Criterion
    fits : Fits
        Changed in place.
    which : ndarray of int, shape (b,)
    i : int
    seeds : ndarray of int, shape (b, R)
        The variables whose rows start the iterations.
    pick : ndarray of int, shape (b,)
        0 for the best component found, 1 for the best but one, and so on.
    """
    sub = fits.some(which)
    c = criterion.cards[i]
    model = criterion.beside(sub)
    if criterion.grows:
        places, x = _grown(model, seeds, pick, c)
        pick = np.zeros_like(pick)
    else:
        places, x = _iterated(model, seeds, c)
    values = criterion.replaced(sub, i, places, x)
    order = ranked(values, values.shape[1])
    values = np.take_along_axis(values, order, axis=1)
    # the same support from another row is the same component
    new = np.ones(values.shape, dtype=bool)
    new[:, 1:] = values[:, :-1] - values[:, 1:] > 1e-8 * np.abs(values[:, :1])
    rank = np.minimum(np.cumsum(new, axis=1) - 1, pick[:, None])
    taken = order[np.arange(len(sub)), np.argmax(rank >= np.minimum(pick, rank[:, -1])[:, None], axis=1)]
    places = places[np.arange(len(sub)), taken]
    parts = model.bordered(places, places[:, :0])
    criterion.put(fits, which, i, places, best_vectors(parts.A, parts.M))


def _iterated(model: Model, seeds: np.ndarray, c: int) -> tuple[np.ndarray, np.ndarray]:
    """Return what truncated power iterations reach: places and loadings, shape (b, R, c)."""
    corner = np.maximum(model.corners(), NOTHING)[:, None]
    W = model.products(seeds[:, :, None], np.ones((*seeds.shape, 1)))
    steps = POWER if model.M.m <= MANY else FEWER
    for step in range(steps):
        places, x = hard(W / corner, c)
        if step + 1 < steps:
            W = model.products(places, x)
    return places, x


def _grown(model: Model, seeds: np.ndarray, pick: np.ndarray, c: int) -> tuple[np.ndarray, np.ndarray]:
    """Return supports grown from the best of the seeds, or from those that follow, and their best vectors."""
    alone = np.take_along_axis(singles(model), seeds, axis=1)
    count = min(GROWN, seeds.shape[1])
    order = ranked(alone, min(GROWN + CHOICE, seeds.shape[1]))
    at = np.minimum(pick[:, None], order.shape[1] - count) + np.arange(count)
    first = np.take_along_axis(seeds, np.take_along_axis(order, at, axis=1), axis=1)
    places = grown(model, first, c)
    flat = places.reshape(-1, c)
    parts = model.repeated(count).bordered(flat, flat[:, :0])
    return places, best_vectors(parts.A, parts.M).reshape(places.shape)
