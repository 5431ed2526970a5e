"""Kicks: perturbed fits, of which some components are removed and rebuilt given the others."""

from __future__ import annotations

from itertools import combinations

import numpy as np

from spcastat.search.component_order import permuted
from spcastat.search.criterion import Criterion, Fits, joined
from spcastat.search.new_component import CHOICE, rebuild


def kicked(criterion: Criterion, fits: Fits, rng: np.random.Generator) -> Fits:
    """Return the fits with one to three components rebuilt, or with two of them rotated.

    If the order matters and all cardinalities are equal, rebuilt components are placed last; otherwise they
    stay in place.

    Parameters
    ----------
    criterion : Criterion
    fits : Fits
    rng : numpy Generator
    """
    fits = fits.some(slice(None))
    B, k = len(fits), criterion.k
    turned = np.zeros(B, dtype=bool)
    if _pairs(criterion):
        turned = rng.random(B) < 0.25
        _turn(criterion, fits, np.flatnonzero(turned), rng)
    # one disjoint component alone would be rebuilt from the same remaining variables
    least = 1 if criterion.rule is None or not criterion.rule.disjoint else min(2, k)
    count = np.where(turned, 0, rng.integers(least, min(3, k) + 1, size=B))
    chosen = rng.permuted(np.tile(np.arange(k), (B, 1)), axis=1)
    out = np.zeros((B, k), dtype=bool)
    np.put_along_axis(out, chosen, np.arange(k) < count[:, None], axis=1)
    if criterion.equal and not criterion.exact:
        order = np.argsort(out, axis=1, kind="stable")
        fits, out = permuted(criterion, fits, order), np.take_along_axis(out, order, axis=1)
    for i in range(k):
        criterion.empty(fits, np.flatnonzero(out[:, i]), i)
    stages = range(k) if criterion.equal else rng.permutation(k)
    # starts from all rows would always give the same component
    rows = max(1, min(8, criterion.m // 4))
    for i in stages:
        which = np.flatnonzero(out[:, i])
        if which.size:
            seeds = rng.permuted(np.tile(np.arange(criterion.m), (which.size, 1)), axis=1)[:, :rows]
            # with probability 0.6 the best rebuilt component is taken, otherwise one of the best few
            best = rng.random(which.size) < 0.6
            pick = np.where(best, 0, rng.integers(0, CHOICE, size=which.size))
            rebuild(criterion, fits, which, int(i), seeds, pick)
    fits.value = criterion.value(fits.G, fits.N)
    return criterion.mended(fits)


def interchanged(criterion: Criterion, fits: Fits) -> Fits:
    """Return the fits with two components of different kinds exchanged, B fits for each such pair.

    The products S v of the two change places and are truncated again. Climbs alone hardly ever change which
    direction has which cardinality.
    """
    images = fits.first if criterion.T is None else fits.second
    every = np.arange(len(fits))
    found = []
    for a, b in combinations(range(criterion.k), 2):
        if criterion.kinds[a] != criterion.kinds[b]:
            new = fits.some(slice(None))
            _recut(criterion, new, every, {a: images[:, b], b: images[:, a]})
            found.append(new)
    return criterion.mended(joined(found))


def _recut(criterion: Criterion, fits: Fits, which: np.ndarray, directions: dict[int, np.ndarray]) -> None:
    """Truncate directions, shape (len(which), m) each, to give new components of some fits."""
    for i in directions:
        criterion.empty(fits, which, i)
    for i, direction in directions.items():
        used = criterion.used(fits, i)
        criterion.put(fits, which, i, *criterion.cut(direction, i, None if used is None else used[which]))


def _turn(criterion: Criterion, fits: Fits, which: np.ndarray, rng: np.random.Generator) -> None:
    """Rotate the products S v of two components in their plane, and truncate them to their cardinalities.

    A quarter turn exchanges their directions. Criteria that depend on the span only use any angle.
    """
    images = fits.first if criterion.T is None else fits.second
    pairs = _pairs(criterion)
    drawn = rng.integers(0, len(pairs), size=which.size)
    angles = rng.uniform(0.0, np.pi, size=which.size) if criterion.exact else np.full(which.size, np.pi / 2)
    for number in np.unique(drawn):
        a, b = pairs[number]
        some = which[drawn == number]
        cos, sin = np.cos(angles[drawn == number])[:, None], np.sin(angles[drawn == number])[:, None]
        one, other = images[some, a], images[some, b]
        _recut(criterion, fits, some, {a: cos * one + sin * other, b: cos * other - sin * one})


def _pairs(criterion: Criterion) -> list[tuple[int, int]]:
    """Return the pairs of components for which a rotation may give a different fit."""
    every = [(a, b) for a in range(criterion.k) for b in range(a + 1, criterion.k)]
    return [(a, b) for a, b in every if criterion.exact or criterion.kinds[a] != criterion.kinds[b]]
