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
    ranked,
    taken,
    unit,
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
#: From this cardinality on, vectors after exchanges are computed from the eigenvectors before them, by at
#: most NEWTON steps until the ratio changes by no more than a share CONVERGED; a ratio within a share
#: POLE of the present one loses too many digits.
SECULAR, NEWTON, CONVERGED, POLE = 40, 12, 1e-11, 1e-7


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
    support = fits.places[:, criterion.parts[i]]
    model = criterion.model(fits, i)
    rule, used = criterion.rule, criterion.used(fits, i)
    entering = promising(criterion, fits, i, model, width)
    parts = model.bordered(support, entering)
    spectrum = parts.spectrum()
    places, x = support[:, None], unit(spectrum[1][..., -1])[:, None]
    if entering.shape[1]:
        table = exchange_values(parts, spectrum)
        if rule is not None:
            allowed = np.broadcast_to(rule.open(i, used), (len(fits), criterion.m))
            allowed = np.take_along_axis(allowed, entering, axis=1)[:, None]
            allowed = allowed & ~rule.must[i][support][:, :, None]
            table = np.where(allowed, table, min(float(table.min()), 0.0) - 1.0)
        best = ranked(table.reshape(len(fits), -1), valued)
        pairs = np.divmod(best, entering.shape[1])
        bounds = taken(table.reshape(len(fits), -1), best)
        new_places, new_x = columns_after(parts, spectrum, support, entering, *pairs, bounds)
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
    parts: Bordered,
    spectrum: tuple[np.ndarray, np.ndarray],
    support: np.ndarray,
    entering: np.ndarray,
    leaving: np.ndarray,
    new: np.ndarray,
    bounds: np.ndarray,
) -> tuple[np.ndarray, np.ndarray]:
    """Return supports, shape (B, L, c), after exchanges, and the best loadings there by the model.

    `spectrum` is that of `parts`. `leaving` indexes the support and `new` the entering variables; `bounds`
    are the values of these exchanges from `exchange_values`. All have shape (B, L).
    """
    c = support.shape[1]
    every = np.arange(c - 1)
    rest = every + (every >= np.arange(c)[:, None])  # the support without each of its variables
    stay = rest[leaving]
    own = support[np.arange(len(support))[:, None, None], stay]
    places = np.concatenate([own, taken(entering, new)[:, :, None]], axis=2)
    x = np.empty(places.shape)
    left = np.ones(leaving.shape, dtype=bool)
    if c >= SECULAR:
        vectors, sound = exchanged_vectors(parts, spectrum, leaving, new, bounds)
        x[:, :, :-1] = np.take_along_axis(vectors[:, :, :c], stay, axis=2)
        x[:, :, -1] = vectors[:, :, c]
        x, left = unit(x), ~sound
    if left.any():
        x[left] = best_vectors(*blocks_after(parts, np.nonzero(left)[0], stay[left], new[left]))
    return places, x


def blocks_after(
    parts: Bordered, fit: np.ndarray, stay: np.ndarray, new: np.ndarray
) -> tuple[np.ndarray, np.ndarray | None]:
    """Return A and M, shape (Q, c, c), on the supports after Q exchanges.

    Parameters
    ----------
    parts : Bordered
    fit : ndarray of int, shape (Q,)
    stay : ndarray of int, shape (Q, c - 1)
        The variables that stay, as positions in the support of the fit.
    new : ndarray of int, shape (Q,)
        The variables that enter, as positions among the further variables.
    """
    c = stay.shape[1] + 1
    which = fit[:, None]

    def block(A: np.ndarray, corner: np.ndarray) -> np.ndarray:
        found = np.empty((len(fit), c, c))
        found[:, :-1, :-1] = A[which[..., None], stay[:, :, None], stay[:, None, :]]
        found[:, -1, :-1] = found[:, :-1, -1] = A[which, stay, c + new[:, None]]
        found[:, -1, -1] = corner[fit, new]
        return found

    return block(parts.A, parts.corner), None if parts.M is None else block(parts.M, parts.corner_M)


def exchanged_vectors(
    parts: Bordered,
    spectrum: tuple[np.ndarray, np.ndarray],
    leaving: np.ndarray,
    new: np.ndarray,
    bounds: np.ndarray,
) -> tuple[np.ndarray, np.ndarray]:
    """Return the best vectors after exchanges from the eigenvectors of the support before them.

    The largest ratio x is the root of the function f in `exchange_values`, found by Newton's method, and the
    best vector has t = 1 at the new variable and N (g_i / N_ii e_i - m) on the support, which is zero at the
    variable i that leaves. This takes O(c^2) operations for each exchange instead of O(c^3).

    Parameters
    ----------
    parts : Bordered
    spectrum : tuple of ndarray
        That of `parts`.
    leaving, new : ndarray of int, shape (B, L)
    bounds : ndarray of shape (B, L)
        Lower bounds on the largest ratios, from which Newton's method increases to the root, as f is concave.

    Returns
    -------
    vectors : ndarray of shape (B, L, c + 1)
        The support, then the new variable. They have any length.
    sound : ndarray of bool, shape (B, L)
        Whether the vector is accurate: Newton's method converged to the root above the largest ratio of the
        variables that stay, and the root differs from the eigenvalues, which are poles of N.
    """
    values, U = spectrum
    c = U.shape[1]
    a = (U.mT @ np.take_along_axis(parts.A, c + new[:, None, :], axis=2)).mT
    r = np.zeros((1, 1, c))
    if parts.M is not None:
        r = (U.mT @ np.take_along_axis(parts.M, c + new[:, None, :], axis=2)).mT
    corner = taken(parts.corner, new)
    corner_M = np.ones((1, 1)) if parts.M is None else taken(parts.corner_M, new)
    row = np.take_along_axis(U, leaving[:, :, None], axis=1)
    now = values[:, None, -1]
    x = bounds
    with np.errstate(all="ignore"):  # results that are not finite are not sound
        for _ in range(NEWTON):
            inverse = 1.0 / (x[..., None] - values[:, None])
            m = x[..., None] * r - a
            y = m * inverse
            free = (row**2 * inverse).sum(axis=2)
            t = (row * y).sum(axis=2) / free
            f = x * corner_M - corner - (m * y).sum(axis=2) + t * (row * y).sum(axis=2)
            slope = corner_M - 2.0 * (y * r).sum(axis=2) + (y**2).sum(axis=2)
            slope += t * (t * (row**2 * inverse**2).sum(axis=2) - 2.0 * (row * inverse * (y - r)).sum(axis=2))
            step = -f / slope
            if (np.abs(step) <= CONVERGED * np.abs(x)).all():
                break
            x = x + step
        sound = np.abs(step) <= CONVERGED * np.abs(x)
        sound &= np.abs(x - now) > POLE * np.abs(now)
        # N_ii is negative between the largest ratio of those that stay and that of the support
        sound &= (x > values[:, None, -2]) & ((free > 0) == (x > now))
        vectors = (inverse * (t[..., None] * row - m)) @ U.mT
    sound &= np.isfinite(vectors).all(axis=2)
    vectors = np.where(sound[..., None], vectors, 0.0)
    return np.concatenate([vectors, np.ones((*new.shape, 1))], axis=2), sound


def exchange_values(parts: Bordered, spectrum: tuple[np.ndarray, np.ndarray]) -> np.ndarray:
    """Return lower bounds on the largest ratio after every exchange, shape (B, c, w).

    Parameters
    ----------
    parts : Bordered
        Any of the c variables of the support may leave for any of the w others.
    spectrum : tuple of ndarray
        That of `parts`.

    Notes
    -----
    When b replaces i, the largest ratio is the root of a concave, increasing function,

        f(x) = (xM - A)_bb - m'Nm + g_i^2 / N_ii,   N = (xM - A)_JJ^-1, m = (xM - A)_Jb, g = Nm,

    so that a Newton step from any x above the ratio of J without i ends at a lower bound. One step starts at
    the ratio with b added and i kept, which is close if i contributes little; another starts at the present
    ratio, where f is negative exactly for the exchanges that raise it. All use one eigendecomposition.
    """
    c, w = parts.A.shape[1], parts.corner.shape[1]
    if w > AT_ONCE:
        found = [exchange_values(parts.some(start, AT_ONCE), spectrum) for start in range(0, w, AT_ONCE)]
        return np.concatenate(found, axis=2)
    if c == 1:
        return np.where(parts.corner_M > NULL, parts.corner / np.maximum(parts.corner_M, NULL), 0.0)[:, None]
    values, U = spectrum
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
