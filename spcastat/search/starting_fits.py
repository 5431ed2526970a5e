"""Starts of a search: greedy fits, and truncated directions of PCA, rotated or mixed."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from spcastat.kernels.orthonormal import varimax
from spcastat.search.criterion import Criterion, Fits, joined
from spcastat.search.new_component import CHOICE, MANY, rebuild
from spcastat.search.small_matrices import largest

#: With more than 100 variables a component is started from this many rows of largest variance and as many
#: random ones; FEWER with more than MANY variables.
FEW, FEWER = 25, 10


def empty(criterion: Criterion, B: int) -> Fits:
    """Return fits without any loadings."""
    places = np.concatenate([np.arange(card) for card in criterion.cards])
    N = len(places)
    return criterion.fits(np.broadcast_to(places, (B, N)), np.zeros((B, N)))


def greedy(criterion: Criterion, B: int, rng: np.random.Generator, plain: bool) -> Fits:
    """Return fits whose components are found one after another.

    Parameters
    ----------
    criterion : Criterion
    B : int
    rng : numpy Generator
    plain : bool
        Whether the first fit takes the best component at every stage, in the given order. The other fits
        take one of the best at random and, if cardinalities differ, a random order.
    """
    fits = empty(criterion, B)
    order = np.tile(np.arange(criterion.k), (B, 1))
    if not criterion.equal:
        order = rng.permuted(order, axis=1)
        if plain:
            order[0] = np.arange(criterion.k)
    for stage in range(criterion.k):
        pick = rng.integers(0, CHOICE, size=B)
        seeds = _rows(criterion, fits, rng)
        if plain:
            pick[0] = 0
        for i in np.unique(order[:, stage]):
            which = np.flatnonzero(order[:, stage] == i)
            rebuild(criterion, fits, which, int(i), seeds[which], pick[which])
    return fits


def _rows(criterion: Criterion, fits: Fits, rng: np.random.Generator) -> np.ndarray:
    """Return the variables from whose rows a component is started, shape (B, R)."""
    m, B = criterion.m, len(fits)
    if m <= 100:
        return np.broadcast_to(np.arange(m), (B, m))
    few = FEW if m <= MANY else FEWER
    spread = rng.permuted(np.tile(np.arange(m), (B, 1)), axis=1)[:, :few]
    model = criterion.model_given_others(fits)
    diagonal = np.einsum("bkm,bkl,blm->bm", model.first, model.Z, model.first)
    main = criterion.M if criterion.T is None else criterion.T
    left = np.maximum(main.of(fits.of).diagonal() - diagonal, 0.0)
    return np.concatenate([largest(left, few), spread], axis=1)


def from_directions(
    criterion: Criterion, directions: Sequence[np.ndarray], of: np.ndarray | None = None
) -> Fits:
    """Return fits from dense loadings, each of shape (m, k), truncated to the allowed supports.

    `of` is as for `Criterion.fits`.
    """
    stacked = np.stack([D.T for D in directions])
    used = None if criterion.rule is None else np.zeros((len(stacked), criterion.m), dtype=bool)
    cut = []
    for i in range(criterion.k):
        cut.append(criterion.cut(stacked[:, i], i, used, of))
        if used is not None:
            np.put_along_axis(used, cut[-1][0], True, axis=1)
    places, x = (np.concatenate(one, axis=1) for one in zip(*cut, strict=True))
    return criterion.mended(criterion.fits(places, x, of))


def mixtures(vectors: np.ndarray, k: int, count: int, rng: np.random.Generator) -> list[np.ndarray]:
    """Return random rotations of the leading directions, half of them rotated to simple structure."""
    found = []
    for draw in range(count):
        order = vectors.shape[1]
        mixed = vectors @ np.linalg.qr(rng.standard_normal((order, order)))[0][:, :k]
        found.append(varimax(mixed) if draw % 2 else mixed)
    return found


def bases(vectors: np.ndarray, k: int, count: int, rng: np.random.Generator) -> list[np.ndarray]:
    """Return bases of the space of the k leading directions, or of a nearby space.

    In turn: rotations of the k directions, oblique bases of them and of one more, and `mixtures` of all. PEV
    depends on the span of the loadings only, so that the truncation makes the difference.
    """
    more = min(k + 1, vectors.shape[1])
    found = []
    for draw in range(count):
        if draw % 4 == 0:
            found.append(vectors[:, :k] @ np.linalg.qr(rng.standard_normal((k, k)))[0])
        elif draw % 4 == 3:
            found += mixtures(vectors, k, 1, rng)
        else:
            of = k if draw % 4 == 1 else more
            found.append(vectors[:, :of] @ rng.standard_normal((of, k)))
    return found


def pool(criterion: Criterion, vectors: np.ndarray, size: int, rng: np.random.Generator, first: bool) -> Fits:
    """Return `size` starting fits.

    Parameters
    ----------
    criterion : Criterion
    vectors : ndarray of shape (m, k or more)
        Leading directions.
    size : int
        How many starts, at least 3.
    rng : numpy Generator
    first : bool
        Whether the deterministic starts are among them: greedy, PCA, varimax.
    """
    k = criterion.k
    fixed = [vectors[:, :k], varimax(vectors[:, :k])] if first else []
    mixed = max(1, 3 * size // 4 if criterion.rugged else size // (2 if criterion.exact else 4))
    drawn = size - len(fixed) - mixed
    directions = fixed + (bases if criterion.exact else mixtures)(vectors, k, mixed, rng)
    starts = greedy(criterion, max(1, drawn), rng, plain=first)
    return criterion.mended(joined([starts, from_directions(criterion, directions)]))
