"""Exchanges of one variable of a component for another, for a batch of fits at once."""

from __future__ import annotations

import numpy as np

from spcastat.kernels.secular import bordered_lower
from spcastat.search.columns import best_vectors, eigen, ranked
from spcastat.search.fits import NOTHING, Criterion, Fits, Model

#: A step must raise the criterion, a share of the total variance, by this share of it.
GAIN = 1e-9


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
        So many exchanges, the best by the model, are valued by the criterion itself.

    Returns
    -------
    ndarray of bool, shape (B,)
        Which fits rose.
    """
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
    B = len(fits)
    model = criterion.model(fits, i)
    q = variables(criterion, fits, i, model, width)
    A, M = model.blocks(q)
    w = q.shape[1] - c
    chosen = np.broadcast_to(np.arange(c), (B, 1, c))
    if w > 0:
        table = exchange_values(A, M, c).reshape(B, c * w)
        leaving, entering = np.divmod(ranked(table, valued), w)
        sets = np.repeat(chosen, leaving.shape[1], axis=1)
        np.put_along_axis(sets, leaving[:, :, None], c + entering[:, :, None], axis=2)
        chosen = np.concatenate([sets, chosen], axis=1)
    L = chosen.shape[1]
    rows, columns = chosen[:, :, :, None], chosen[:, :, None, :]
    which = np.arange(B)[:, None, None, None]
    x = best_vectors(A[which, rows, columns], None if M is None else M[which, rows, columns])
    places = np.take_along_axis(q, chosen.reshape(B, L * c), axis=1).reshape(B, L, c)
    return places, x, criterion.replaced(fits, i, places, x)


def variables(criterion: Criterion, fits: Fits, i: int, model: Model, width: int) -> np.ndarray:
    """Return the support of component i and then the variables that may enter, shape (B, c + w)."""
    support = fits.places[:, criterion.parts[i]]
    w = min(width, criterion.m - support.shape[1])
    corner = np.maximum(model.corners(), NOTHING)
    keys = criterion.pull(fits, i)[0] ** 2 / corner
    np.put_along_axis(keys, support, -1.0, axis=1)
    return np.concatenate([support, np.sort(ranked(keys, w), axis=1)], axis=1)


def exchange_values(A: np.ndarray, M: np.ndarray | None, c: int) -> np.ndarray:
    """Return lower bounds, close enough to rank by, on the largest ratio after every exchange.

    Parameters
    ----------
    A, M : ndarray of shape (B, c + w, c + w)
        The support first; None for the identity.
    c : int

    Returns
    -------
    ndarray of shape (B, c, w)
        For every variable of the support that leaves, and every other that enters.
    """
    B, size = A.shape[:2]
    corner_A = np.einsum("bii->bi", A)[:, None, c:]
    corner_M = np.ones((B, 1, size - c)) if M is None else np.einsum("bii->bi", M)[:, None, c:]
    floor = 1e-8
    if c == 1:
        return np.where(corner_M > floor, corner_A / np.maximum(corner_M, floor), 0.0)
    inner = np.array([[j for j in range(c) if j != out] for out in range(c)])
    rows, columns = inner[:, :, None], inner[:, None, :]
    values, U = eigen(A[:, rows, columns], None if M is None else M[:, rows, columns])
    turned = U.swapaxes(-1, -2)
    cross = turned @ A[:, inner, c:]
    if M is None:
        coupling, corner = cross, np.broadcast_to(corner_A, (B, c, size - c))
        sound = np.ones((1, 1, 1), dtype=bool)
    else:
        # the new variable, made orthogonal to the others in the inner product of M
        cross_M = turned @ M[:, inner, c:]
        left = corner_M - (cross_M**2).sum(axis=2)
        sound = left > floor * np.maximum(corner_M, floor)
        scale = np.where(sound, left, 1.0)
        coupling = (cross - values[..., None] * cross_M) / np.sqrt(scale)[:, :, None, :]
        corner = corner_A - (cross_M * (2.0 * cross - values[..., None] * cross_M)).sum(axis=2)
        corner = np.where(sound, corner / scale, 0.0)
    level = bordered_lower(values.transpose(2, 0, 1)[..., None], coupling.transpose(2, 0, 1, 3) ** 2, corner, 2)
    return np.where(sound, level, values[..., -1:])
