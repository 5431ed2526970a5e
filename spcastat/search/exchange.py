"""Exchanges of one variable of a component for another, for a batch of fits at once."""

from __future__ import annotations

import numpy as np

from spcastat.search.columns import after_bordering, best_vectors, eigen, ranked
from spcastat.search.criterion import Criterion
from spcastat.search.factors import NOTHING, divisor
from spcastat.search.fits import Fits
from spcastat.search.model import Bordered, Model

#: A step must raise the criterion, a share of the total variance, by this share of it.
GAIN = 1e-9
#: Where the model is exact, this many exchanges are enough to value.
SURE = 3
#: A variable of which less than this share is free of the others has no ratio of its own.
NULL = 1e-8


def exchange(criterion: Criterion, fits: Fits, i: int, width: int, valued: int) -> np.ndarray:
    """Improve component i of every fit by its best exchange, or by better loadings on its support.

    Parameters
    ----------
    criterion : Criterion
    fits : Fits
        Changed in place.
    i : int
    width : int
        Variables that may enter: those of the steepest slope.
    valued : int
        The number of exchanges, the best by the model, that are valued by the criterion itself; SURE where it
        is exact.

    Returns
    -------
    ndarray of bool, shape (B,)
        Which fits rose.
    """
    if criterion.exact:
        valued = min(valued, SURE)
    places, x, values = trials(criterion, fits, i, width, valued)
    best = ranked(values, 1)[:, 0]
    every = np.arange(len(fits))
    rose = np.flatnonzero(values[every, best] > fits.value * (1.0 + GAIN))
    if rose.size:
        criterion.put(fits, rose, i, places[rose, best[rose]], x[rose, best[rose]])
    return rose


def trials(
    criterion: Criterion, fits: Fits, i: int, width: int, valued: int
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Return the most promising columns for component i: places, loadings and values of the criterion.

    Shapes (B, L, c), (B, L, c) and (B, L); the last of the L columns keeps the support.
    """
    c = criterion.cards[i]
    support = fits.places[:, criterion.parts[i]]
    model = criterion.model(fits, i)
    entering = promising(criterion, fits, i, model, width)
    parts = model.bordered(support, entering)
    own = None if parts.M is None else parts.M[:, :, :c]
    places, x = support[:, None], best_vectors(parts.A[:, :, :c], own)[:, None]
    if entering.shape[1]:
        table = exchange_values(parts, c).reshape(len(fits), -1)
        pairs = np.divmod(ranked(table, valued), entering.shape[1])
        new_places, new_x = columns_after(parts, support, entering, *pairs)
        places, x = np.concatenate([new_places, places], axis=1), np.concatenate([new_x, x], axis=1)
    return places, x, criterion.replaced(fits, i, places, x)


def promising(criterion: Criterion, fits: Fits, i: int, model: Model, width: int) -> np.ndarray:
    """Return the variables that may enter component i, ascending: those of steepest slope, shape (B, w)."""
    support = fits.places[:, criterion.parts[i]]
    w = min(width, criterion.m - support.shape[1])
    corner = np.maximum(model.corners(), NOTHING)
    keys = criterion.pull(fits, i)[0] ** 2 / corner
    np.put_along_axis(keys, support, -1.0, axis=1)
    return np.sort(ranked(keys, w), axis=1)


def columns_after(
    parts: Bordered, support: np.ndarray, entering: np.ndarray, leaving: np.ndarray, new: np.ndarray
) -> tuple[np.ndarray, np.ndarray]:
    """Return supports, shape (B, L, c), after exchanges, and the best vectors there by the model.

    `leaving` counts in the support and `new` among the entering variables; both have shape (B, L).
    """
    B, L = leaving.shape
    c = support.shape[1]
    rest = np.array([[j for j in range(c) if j != out] for out in range(c)], dtype=int).reshape(c, c - 1)
    stay = rest[leaving]
    which = np.arange(B)[:, None, None]
    own = support[which, stay]
    added = np.take_along_axis(entering, new, axis=1)
    blocks: list[np.ndarray | None] = []
    for A, corner in ((parts.A, parts.corner), (parts.M, parts.corner_M)):
        if A is None:
            blocks.append(None)
            continue
        block = np.empty((B, L, c, c))
        block[:, :, :-1, :-1] = A[which[..., None], stay[..., :, None], stay[..., None, :]]
        border = A[which, stay, c + new[:, :, None]]
        block[:, :, -1, :-1] = block[:, :, :-1, -1] = border
        block[:, :, -1, -1] = np.take_along_axis(corner, new, axis=1)
        blocks.append(block)
    assert blocks[0] is not None
    return np.concatenate([own, added[:, :, None]], axis=2), best_vectors(blocks[0], blocks[1])


def exchange_values(parts: Bordered, c: int, steps: int = 2) -> np.ndarray:
    """Return lower bounds, closer with more steps, on the largest ratio after every exchange.

    Parameters
    ----------
    parts : Bordered
    c : int
        The cardinality.
    steps : int
        Newton steps; two are enough to rank by.

    Returns
    -------
    ndarray of shape (B, c, w)
        For every variable of the support that leaves, and every other that enters.
    """
    A, M = parts.A, parts.M
    corner_A = parts.corner[:, None]
    corner_M = parts.corner_M[..., None, :]
    if c == 1:
        return np.where(corner_M > NULL, corner_A / np.maximum(corner_M, NULL), 0.0)
    inner = np.array([[j for j in range(c) if j != out] for out in range(c)])
    rows, columns = inner[:, :, None], inner[:, None, :]
    values, U = eigen(A[:, rows, columns], None if M is None else M[:, rows, columns])
    turned = U.mT
    coupling = turned @ A[:, inner, c:]
    corner, sound = corner_A, np.True_
    if M is not None:
        # the new variable, made orthogonal to the others in the inner product of M
        cross = turned @ M[:, inner, c:]
        left = corner_M - (cross**2).sum(axis=2)
        sound = left > NULL * np.maximum(corner_M, NULL)
        scale = divisor(left, sound)
        corner = corner_A - (cross * (2.0 * coupling - values[..., None] * cross)).sum(axis=2)
        corner = np.where(sound, corner / scale, 0.0)
        coupling = (coupling - values[..., None] * cross) / np.sqrt(scale)[:, :, None, :]
    return np.where(sound, after_bordering(values, coupling, corner, steps), values[..., -1:])
