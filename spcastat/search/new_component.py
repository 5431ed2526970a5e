"""A new component given the others, by truncated power iterations or built variable by variable."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from spcastat.search.column_model import Model
from spcastat.search.criterion import Criterion, Fits
from spcastat.search.exchange import NULL
from spcastat.search.grouped import GroupRule
from spcastat.search.small_matrices import NOTHING, best_vectors, divisor, ranked


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

    Notes
    -----
    The variable that enters is that of the largest ratio in the plane of the best vector v on the support and
    of what the variable adds to it: of e_j less its projection on the support in the metric of M. This plane
    needs only (A v - x M v)_j, where x is the ratio of v, and the forms of the projected e_j, which change by
    one term when a variable enters. A step takes c m operations for each support, with c its size.
    """
    B, R = first.shape
    several = model.repeated(R)
    m = several.M.m
    corner, corner_M = several.diagonal(), several.corners()
    left, least = corner_M, NULL * np.maximum(corner_M, NULL)
    support = first.reshape(B * R, 1)
    # products of A and of M with an orthonormal basis q of the support, and q'A q
    a, r = np.empty((B * R, card, m)), np.empty((B * R, card, m))
    P = np.zeros((B * R, card, card))
    while True:
        c = support.shape[1]
        new = support[:, -1:]
        column, column_M = several.columns(new)
        known = r[:, None, : c - 1], a[:, None, : c - 1]
        own, cross = (np.take_along_axis(one, new[:, None, None], axis=3)[..., 0] for one in known)
        scale = 1.0 / np.sqrt(np.maximum(np.take_along_axis(left, new, axis=1), NOTHING))
        r[:, c - 1] = (column_M - (own @ r[:, : c - 1])[:, 0]) * scale
        a[:, c - 1] = (column - (own @ a[:, : c - 1])[:, 0]) * scale
        row = (cross - own @ P[:, : c - 1, : c - 1]) * scale[:, None]
        P[:, c - 1, None, : c - 1] = row
        P[:, : c - 1, c - 1, None] = row.mT
        last = np.take_along_axis(a[:, c - 1], new, axis=1) - (row @ own.mT)[:, 0]
        P[:, c - 1, c - 1, None] = last = last * scale
        if c == card:
            return np.sort(support, axis=1).reshape(B, R, card)
        inner = a[:, c - 1] - (row @ r[:, : c - 1])[:, 0]
        corner = corner - r[:, c - 1] * (2.0 * inner - r[:, c - 1] * last)
        left = left - r[:, c - 1] ** 2
        values, U = np.linalg.eigh(P[:, :c, :c])
        ratio, lead = values[:, -1:], U[:, None, :, -1]
        along = (lead @ a[:, :c] - ratio[:, None] * (lead @ r[:, :c]))[:, 0]
        sound = left > least
        size = divisor(left, sound)
        apart = 0.5 * (corner / size - ratio)
        gains = np.where(sound, ratio + apart + np.sqrt(apart**2 + along**2 / size), ratio)
        if ruled is not None:
            gains = ruled(gains.reshape(B, R, m)).reshape(B * R, m)
        np.put_along_axis(gains, support, -1.0 if ruled is None else gains.min() - 1.0, axis=1)
        support = np.concatenate([support, ranked(gains, 1)], axis=1)


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
