"""Swaps of variables between disjoint components, for a batch of fits at once."""

from __future__ import annotations

import numpy as np

from spcastat.search.criterion import Criterion, Fits, joined
from spcastat.search.exchange import GAIN
from spcastat.search.fixed_supports import refined
from spcastat.search.grouped import GroupRule
from spcastat.search.small_matrices import NOTHING, ranked
from spcastat.search.symmetric_matrices import GATHERED


def swapped(criterion: Criterion, fits: Fits, width: int, followed: int, steps: int) -> Fits:
    """Return the fits after the best swap, or several swaps, of variables between components; none is worse.

    Swaps are needed if all variables are in use, as exchanges then find no variable to enter.

    Parameters
    ----------
    criterion : Criterion
        With a rule.
    fits : Fits
    width : int
        Swaps that are evaluated: those that raise the sum of squares of `Criterion.pull` on the supports
        most.
    followed : int
        How many of the best of these are followed by an ascent of all loadings.
    steps : int
        Steps of the ascent.
    """
    N = len(criterion.owner)
    step = max(1, GATHERED // (N * N + width * criterion.k * criterion.m))
    parts = [fits.some(slice(begin, begin + step)) for begin in range(0, len(fits), step)]
    return joined([_swapped(criterion, part, width, followed, steps) for part in parts])


def _swapped(criterion: Criterion, fits: Fits, width: int, followed: int, steps: int) -> Fits:
    owner, B = criterion.owner, len(fits)
    pulls, scales = zip(*(criterion.pull(fits, i) for i in range(criterion.k)), strict=True)
    W, scale = np.stack(pulls, axis=1), np.stack(scales, axis=1)
    if isinstance(criterion.rule, GroupRule):
        places, x = criterion.rule.swaps(criterion, fits, W)
    else:
        places, x = _of_variables(criterion, fits, W, scale, width)
    count = places.shape[1]
    tried = criterion.fits(
        places.reshape(-1, len(owner)), x.reshape(-1, len(owner)), np.repeat(fits.of, count)
    )
    chosen = ranked(tried.value.reshape(B, -1), followed) + count * np.arange(B)[:, None]
    tried = refined(criterion, tried.some(chosen.ravel()), steps)
    top = tried.some(np.argmax(tried.value.reshape(B, -1), axis=1) + chosen.shape[1] * np.arange(B))
    better = top.value > fits.value * (1.0 + GAIN)
    fits.put(better, top.some(better))
    return fits


def _of_variables(
    criterion: Criterion, fits: Fits, W: np.ndarray, scale: np.ndarray, width: int
) -> tuple[np.ndarray, np.ndarray]:
    """Return the fits after swaps of variables: places and loadings, shape (B, L, N).

    Components that change have as loadings the entries of W, shape (B, k, m), which with its scale (B, k)
    comes from `Criterion.pull`.
    """
    rule, owner, B = criterion.rule, criterion.owner, len(fits)
    assert rule is not None
    there = W**2 / np.maximum(scale, NOTHING)[:, :, None]
    # worth[b, e, f]: gain from giving the variable of entry f to the component of entry e
    worth = np.take_along_axis(there, fits.places[:, None], axis=2)[:, owner]
    free = (rule.may[:, fits.places] & ~rule.must[owner, fits.places]).transpose(1, 0, 2)[:, owner]
    own = np.einsum("bee->be", worth)
    gains = worth + worth.mT - own[:, :, None] - own[:, None]
    allowed = free & free.mT & (owner[:, None] < owner)
    gains = np.where(allowed, gains, gains.min() - 1.0).reshape(B, -1)
    best = ranked(gains, min(width, int(allowed.reshape(B, -1).sum(axis=1).min())))
    if best.shape[1] == 0:
        return fits.places[:, None], fits.x[:, None]
    places = _tried(fits.places, best, np.take_along_axis(gains, best, axis=1))
    order = np.argsort(owner * criterion.m + places, axis=2)
    places = np.take_along_axis(places, order, axis=2)
    moved = ((places != fits.places[:, None]) @ criterion.member > 0)[:, :, owner]
    return places, np.where(moved, W[np.arange(B)[:, None, None], owner, places], fits.x[:, None])


def _tried(places: np.ndarray, best: np.ndarray, gains: np.ndarray) -> np.ndarray:
    """Return supports, shape (B, L, N), after each swap, and after the first 2, 4, 8, ... swaps at once.

    `best`, shape (B, w), numbers the pairs of entries of `places`, shape (B, N), the largest `gains` first.
    """
    B, N = places.shape
    first, second = np.divmod(best, N)
    found = np.repeat(places[:, None], best.shape[1], axis=1)
    for at, other in ((first, second), (second, first)):
        np.put_along_axis(
            found, at[:, :, None], np.take_along_axis(places, other, axis=1)[:, :, None], axis=2
        )
    several = []
    now, done = places.copy(), np.zeros((B, N), dtype=bool)
    every = np.arange(B)
    for column in range(best.shape[1]):
        e, f = first[:, column], second[:, column]
        b = every[(gains[:, column] > 0.0) & ~done[every, e] & ~done[every, f]]
        e, f = e[b], f[b]
        now[b, e], now[b, f] = now[b, f], now[b, e]
        done[b, e] = done[b, f] = True
        if (column + 2) & (column + 1) == 0:
            several.append(now.copy())
    return np.concatenate([found, np.stack([*several, now], axis=1)], axis=1)
