"""A new component given the others, by truncated power iterations."""

from __future__ import annotations

import numpy as np

from spcastat.search.column_model import Model
from spcastat.search.criterion import Criterion, Fits
from spcastat.search.small_matrices import NOTHING, best_vectors, ranked

#: Steps of a truncated power iteration; FEWER with more than MANY variables.
POWER, FEWER, MANY = 5, 3, 1000
#: A random component is drawn from this many of the best distinct ones.
CHOICE = 4


def rebuild(
    criterion: Criterion, fits: Fits, which: np.ndarray, i: int, seeds: np.ndarray, pick: np.ndarray
) -> None:
    """Rebuild component i, which has been removed, in some of the fits.

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
    model = criterion.model_given_others(sub)
    places, x = iterated(criterion, model, seeds, i, criterion.used(sub, i))
    values = criterion.replaced(sub, i, places, x)
    order = ranked(values, values.shape[1])
    values = np.take_along_axis(values, order, axis=1)
    # equal supports from different rows are the same component
    new = np.ones(values.shape, dtype=bool)
    new[:, 1:] = values[:, :-1] - values[:, 1:] > 1e-8 * np.abs(values[:, :1])
    rank = np.minimum(np.cumsum(new, axis=1) - 1, pick[:, None])
    taken = order[np.arange(len(sub)), np.argmax(rank >= np.minimum(pick, rank[:, -1])[:, None], axis=1)]
    places = places[np.arange(len(sub)), taken]
    parts = model.bordered(places, places[:, :0])
    criterion.put(fits, which, i, places, best_vectors(parts.A, parts.M))


def iterated(
    criterion: Criterion, model: Model, seeds: np.ndarray, i: int, used: np.ndarray | None = None
) -> tuple[np.ndarray, np.ndarray]:
    """Return the columns that truncated power iterations reach: places and loadings, shape (b, R, c)."""
    corner = np.maximum(model.corners(), NOTHING)[:, None]
    W = model.products(seeds[:, :, None], np.ones((*seeds.shape, 1)))
    steps = POWER if model.M.m <= MANY else FEWER
    for step in range(steps):
        places, x = criterion.cut(W / corner, i, used)
        if step + 1 < steps:
            W = model.products(places, x)
    return places, x
