"""Exchanges of one variable of a component for another, for a batch of fits at once."""

from __future__ import annotations

import numpy as np

from spcastat.search.column_model import Bordered, Model
from spcastat.search.criterion import Criterion, Fits
from spcastat.search.grouped import GroupRule
from spcastat.search.small_matrices import (
    NOTHING,
    after_bordering,
    best_vectors,
    divisor,
    eigen,
    ranked,
    taken,
)

#: A step must raise the criterion by this share.
GAIN = 1e-9
#: The largest number of exchanges for which the criterion is computed if the model is exact.
SURE = 3
#: Loadings, and gaps between eigenvalues relative to the eigenvalue, below this count as zero.
UNSURE = 1e-6
#: Entering variables are processed in batches of this size, which bounds the memory.
AT_ONCE = 100_000
#: A variable is dependent on the support if less than this share of it remains given the support.
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
        Number of variables that may enter: those of the steepest slope.
    valued : int
        Number of exchanges, the best according to the model, for which the criterion is computed; at most
        SURE if the model is exact.

    Returns
    -------
    ndarray of bool, shape (B,)
        Which fits improved.
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

    The shapes are (B, L, c), (B, L, c) and (B, L). The last of the L columns keeps the support.
    """
    if isinstance(criterion.rule, GroupRule):
        return criterion.rule.trials(criterion, fits, i, width)
    c = criterion.cards[i]
    support = fits.places[:, criterion.parts[i]]
    model = criterion.model(fits, i)
    rule, used = criterion.rule, criterion.used(fits, i)
    entering = promising(criterion, fits, i, model, width)
    parts = model.bordered(support, entering)
    own = None if parts.M is None else parts.M[:, :, :c]
    places, x = support[:, None], best_vectors(parts.A[:, :, :c], own)[:, None]
    if entering.shape[1]:
        table = exchange_values(parts, c)
        if rule is not None:
            allowed = np.broadcast_to(rule.open(i, used), (len(fits), criterion.m))
            allowed = np.take_along_axis(allowed, entering, axis=1)[:, None]
            allowed = allowed & ~rule.must[i][support][:, :, None]
            table = np.where(allowed, table, min(float(table.min()), 0.0) - 1.0)
        best = ranked(table.reshape(len(fits), -1), valued)
        pairs = np.divmod(best, entering.shape[1])
        new_places, new_x = columns_after(parts, support, entering, *pairs)
        if rule is not None:  # if no exchange is allowed the support stays
            left = np.take_along_axis(allowed.reshape(len(fits), -1), best, axis=1)[:, :, None]
            new_places, new_x = np.where(left, new_places, places), np.where(left, new_x, x)
        places, x = np.concatenate([new_places, places], axis=1), np.concatenate([new_x, x], axis=1)
    return places, x, criterion.replaced(fits, i, places, x)


def promising(criterion: Criterion, fits: Fits, i: int, model: Model, width: int) -> np.ndarray:
    """Return the variables that may enter component i, ascending: those of steepest slope, shape (B, w)."""
    support = fits.places[:, criterion.parts[i]]
    w = min(width, criterion.m - support.shape[1])
    corner = np.maximum(model.corners(), NOTHING)
    keys = criterion.pull(fits, i)[0] ** 2 / corner
    if criterion.rule is not None:
        keys = criterion.rule.keys(keys, i, criterion.used(fits, i))
    np.put_along_axis(keys, support, -1.0 if criterion.rule is None else keys.min() - 1.0, axis=1)
    return np.sort(ranked(keys, w), axis=1)


def columns_after(
    parts: Bordered, support: np.ndarray, entering: np.ndarray, leaving: np.ndarray, new: np.ndarray
) -> tuple[np.ndarray, np.ndarray]:
    """Return supports, shape (B, L, c), after exchanges, and the best loadings there by the model.

    `leaving` indexes the support and `new` the entering variables; both have shape (B, L).
    """
    B, L = leaving.shape
    c = support.shape[1]
    rest = np.array([[j for j in range(c) if j != out] for out in range(c)], dtype=int).reshape(c, c - 1)
    stay = rest[leaving]
    which = np.arange(B)[:, None, None]
    own = support[which, stay]
    added = taken(entering, new)
    blocks: list[np.ndarray | None] = []
    for A, corner in ((parts.A, parts.corner), (parts.M, parts.corner_M)):
        if A is None:
            blocks.append(None)
            continue
        block = np.empty((B, L, c, c))
        block[:, :, :-1, :-1] = A[which[..., None], stay[..., :, None], stay[..., None, :]]
        border = A[which, stay, c + new[:, :, None]]
        block[:, :, -1, :-1] = block[:, :, :-1, -1] = border
        block[:, :, -1, -1] = taken(corner, new)
        blocks.append(block)
    assert blocks[0] is not None
    return np.concatenate([own, added[:, :, None]], axis=2), best_vectors(blocks[0], blocks[1])


def exchange_values(parts: Bordered, c: int) -> np.ndarray:
    """Return lower bounds on the largest ratio after every exchange, shape (B, c, w).

    Parameters
    ----------
    parts : Bordered
    c : int
        The cardinality. Any of the c variables may leave for any of the w others.

    Notes
    -----
    When b replaces i, the largest ratio is the root of a concave, increasing function,

        f(x) = (xM - A)_bb - m'Nm + g_i^2 / N_ii,   N = (xM - A)_JJ^-1, m = (xM - A)_Jb, g = Nm,

    so that a Newton step from any x above the ratio of J without i ends at a lower bound. One step starts at
    the ratio with b added and i kept, which is close if i contributes little; another starts at the present
    ratio, where f is negative exactly for the exchanges that raise it. All use one eigendecomposition.
    """
    w = parts.corner.shape[1]
    if w > AT_ONCE:
        found = [exchange_values(parts.some(start, AT_ONCE), c) for start in range(0, w, AT_ONCE)]
        return np.concatenate(found, axis=2)
    if c == 1:
        return np.where(parts.corner_M > NULL, parts.corner / np.maximum(parts.corner_M, NULL), 0.0)[:, None]
    values, U = eigen(parts.A[:, :, :c], None if parts.M is None else parts.M[:, :, :c])
    a = U.mT @ parts.A[:, :, c:]
    r = np.zeros((1, c, 1)) if parts.M is None else U.mT @ parts.M[:, :, c:]
    corners = parts.corner, parts.corner_M
    added, sound = enlarged_ratio(values, a, r, *corners)
    now = values[:, -1:]
    added = np.maximum(added, now + UNSURE**2 * np.abs(now) + NOTHING)
    y, f, slope = _complement(added, values, a, r, *corners)
    inverse = 1.0 / (added[:, None] - values[..., None])
    g, free = U @ y, U**2 @ inverse
    t = g / divisor(free, free > 0)
    f = f[:, None] + t * g
    slope = slope[:, None] + t * (t * (U**2 @ inverse**2) - 2.0 * (U @ (inverse * (y - r))))
    found = added[:, None] - f / np.maximum(slope, NULL)
    # The present ratio is a pole of N: its term is replaced by the multiple of the best vector that makes
    # the loading of variable i zero.
    lead = U[:, :, -1, None]
    known = np.abs(lead) > UNSURE
    lead = divisor(lead, known)
    rest = values[:, :-1], a[:, :-1], r[:, :-1]
    y, f, slope = _complement(now, *rest, *corners)
    inverse = 1.0 / np.maximum(now[:, None] - values[:, :-1, None], UNSURE * np.abs(now[:, None]) + NOTHING)
    W = U[:, :, :-1]
    g, free = W @ y, W**2 @ inverse
    t = (a[:, -1:] - now[:, None] * r[:, -1:]) / lead
    first = -(g + t * free) / lead
    f = f[:, None] - t * (2.0 * g + t * free)
    slope = slope[:, None] + t * (t * (W**2 @ inverse**2) + 2.0 * (W @ (inverse * (y - rest[2]))))
    slope = slope + first * (first - 2.0 * r[:, -1:])
    found = np.where(known, np.maximum(found, now[:, None] - f / np.maximum(slope, NULL)), found)
    return np.where(sound[:, None], found, 0.0)


def _complement(
    x: np.ndarray, values: np.ndarray, a: np.ndarray, r: np.ndarray, corner: np.ndarray, corner_M: np.ndarray
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Return N m in the basis of eigenvectors, f, and the derivative of f; see `exchange_values`."""
    m = x[:, None] * r - a
    y = m / np.maximum(x[:, None] - values[..., None], UNSURE**2 * np.abs(x[:, None]) + NOTHING)
    f = x * corner_M - corner - (m * y).sum(axis=1)
    return y, f, corner_M - 2.0 * (y * r).sum(axis=1) + (y**2).sum(axis=1)


def enlarged_ratio(
    values: np.ndarray, a: np.ndarray, r: np.ndarray, corner: np.ndarray, corner_M: np.ndarray
) -> tuple[np.ndarray, np.ndarray]:
    """Return the largest ratio with each further variable added, shape (B, w), accurately enough to rank.

    Parameters
    ----------
    values : ndarray of shape (B, c)
        Eigenvalues of A relative to M on the support.
    a, r : ndarray of shape (B, c, w)
        Products of their eigenvectors with the columns of A and of M.
    corner, corner_M : ndarray of shape (B, w)

    Returns
    -------
    ratio : ndarray
    sound : ndarray of bool
        Whether the variable is linearly independent of the support in M.
    """
    left = corner_M - (r**2).sum(axis=1)
    sound = left > NULL * np.maximum(corner_M, NULL)
    scale = divisor(left, sound)
    corner = corner - (r * (2.0 * a - values[..., None] * r)).sum(axis=1)
    coupling = (a - values[..., None] * r) / np.sqrt(scale)[:, None]
    found = after_bordering(values, coupling, np.where(sound, corner / scale, 0.0))
    return np.where(sound, found, values[:, -1:]), np.broadcast_to(sound, found.shape)
