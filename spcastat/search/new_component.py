"""A new component given the others, by truncated power iterations or built variable by variable."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from spcastat.search.column_model import Model
from spcastat.search.criterion import Criterion, Fits
from spcastat.search.exchange import NULL, enlarged_ratio
from spcastat.search.grouped import GroupRule
from spcastat.search.small_matrices import NOTHING, best_vectors, eigen, ranked


def singles(model: Model) -> np.ndarray:
    """Return the ratio v'Av / v'Bv of every single variable, shape (B, m)."""
    corner, corner_M = model.diagonal(), model.corners()
    return np.where(corner_M > NULL, corner / np.maximum(corner_M, NULL), 0.0)


def grown(
    model: Model, first: np.ndarray, card: int, ruled: Callable[[np.ndarray], np.ndarray] | None = None
) -> np.ndarray:
    """Return supports, shape (B, R, card), grown from the variables `first`, shape (B, R).

    Under a rule, `ruled` changes keys, shape (B, R, m), so that forced variables rank first and forbidden
    ones last.
    """
    B, R = first.shape
    several = model.repeated(R)
    m = several.M.m
    support = first.reshape(B * R, 1)
    every = np.broadcast_to(np.arange(m), (B * R, m))
    while support.shape[1] < card:
        c = support.shape[1]
        parts = several.bordered(support, every)
        values, U = eigen(parts.A[:, :, :c], None if parts.M is None else parts.M[:, :, :c])
        r = np.zeros((1, c, 1)) if parts.M is None else U.mT @ parts.M[:, :, c:]
        gains = enlarged_ratio(values, U.mT @ parts.A[:, :, c:], r, parts.corner, parts.corner_M)[0]
        if ruled is not None:
            gains = ruled(gains.reshape(B, R, m)).reshape(B * R, m)
        np.put_along_axis(gains, support, -1.0 if ruled is None else gains.min() - 1.0, axis=1)
        support = np.concatenate([support, ranked(gains, 1)], axis=1)
    return np.sort(support, axis=1).reshape(B, R, card)


#: Steps of a truncated power iteration; FEWER with more than MANY variables.
POWER, FEWER, MANY = 5, 3, 1000
#: A random component is drawn from this many of the best distinct ones.
CHOICE = 4
#: Components that are grown, for criteria that grow them.
GROWN = 3


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
    if criterion.grows and not isinstance(criterion.rule, GroupRule):
        places, x = _grown(criterion, model, seeds, pick, i, criterion.used(sub, i))
        pick = np.zeros_like(pick)
    else:
        places, x = _iterated(criterion, model, seeds, i, criterion.used(sub, i))
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


def _iterated(
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


def _grown(
    criterion: Criterion,
    model: Model,
    seeds: np.ndarray,
    pick: np.ndarray,
    i: int,
    used: np.ndarray | None = None,
) -> tuple[np.ndarray, np.ndarray]:
    """Return supports grown from the seeds ranked by ratio, as `pick` asks, and their best loadings."""
    c, rule, keys = criterion.cards[i], criterion.rule, singles(model)
    if rule is not None:  # all allowed variables may start, not the drawn seeds only
        keys = rule.keys(keys, i, used)
        seeds = np.concatenate([ranked(keys, 1), seeds], axis=1)
    alone = np.take_along_axis(keys, seeds, axis=1)
    count = min(GROWN, seeds.shape[1])
    order = ranked(alone, min(GROWN + CHOICE, seeds.shape[1]))
    at = np.minimum(pick[:, None], order.shape[1] - count) + np.arange(count)
    first = np.take_along_axis(seeds, np.take_along_axis(order, at, axis=1), axis=1)
    if rule is not None:
        allowed = np.take_along_axis(keys, first, axis=1) > keys.min(axis=1, keepdims=True)
        first = np.where(allowed & ~rule.must[i].any(), first, seeds[:, :1])
    places = grown(model, first, c, None if rule is None else lambda gains: rule.keys(gains, i, used))
    flat = places.reshape(-1, c)
    parts = model.repeated(count).bordered(flat, flat[:, :0])
    return places, best_vectors(parts.A, parts.M).reshape(places.shape)
