"""Moves of a search: exchanges, swaps, new components, and the best loadings on given supports.

All moves process a batch of fits. A fit has a few dozen nonzeros, so a loop over fits would spend its time in
the interpreter. The two-loop recursion and the line search of the ascent therefore run for all fits at once,
except for fits that have converged.

A first-order ascent stops when the value no longer changes; at that point only half of the digits of the
loadings are correct. Newton steps give the other half, so the loadings depend only on the data and the
supports, not on the path of the search, the order of the rows or the form of the data.
"""

from __future__ import annotations

from typing import Any, Protocol

import numpy as np
from scipy.linalg import LinAlgError, cho_factor, cho_solve

from spcastat.linalg.accumulate import BATCH
from spcastat.linalg.eigenvectors import HALF_DIGITS, ROUNDING
from spcastat.search import matrices
from spcastat.search.criteria import Criterion, Expansion, Fits, join_fits
from spcastat.search.grouped import GroupRule

# --- exchanges of one variable for another --------------------------------------------------------


#: The smallest relative increase of the criterion for which a move is made.
GAIN = 1e-9
#: The largest number of exchanges for which the criterion is computed if the model is exact.
EXACT_EXCHANGES = 3
#: Loadings below this count as zero, and so do relative gaps between eigenvalues.
UNSURE = 1e-6
#: The number of entering variables that are processed at a time, which bounds the memory.
ENTERING_AT_ONCE = 100_000
#: With at least this cardinality, vectors after exchanges are computed from the eigenvectors before the
#: exchanges. An eigendecomposition of the support after an exchange is worth its time only if the model
#: predicts a gain; with cardinality 400 these decompositions took 40 % of the time.
EXPENSIVE = 100
#: These vectors take at most NEWTON Newton steps, until the ratio changes by at most a share CONVERGED; a
#: ratio within a share POLE of the current ratio loses too many digits.
NEWTON, CONVERGED, POLE = 12, 1e-11, 1e-7


def exchange(criterion: Criterion, fits: Fits, i: int, width: int, valued: int) -> np.ndarray:
    """Improve component i of every fit by its best exchange, or by better loadings on its support.

    Parameters
    ----------
    criterion : Criterion
    fits : Fits
        Changed in place.
    i : int
    width : int
        Number of variables that may enter, those with the steepest slopes.
    valued : int
        Number of exchanges, the best according to the model, for which the criterion is computed; at most
        EXACT_EXCHANGES if the model is exact.

    Returns
    -------
    ndarray of bool, shape (B,)
        A mask of the fits that improved.
    """
    if criterion.exact_model:
        valued = min(valued, EXACT_EXCHANGES)
    places, x, values = trials(criterion, fits, i, width, valued)
    best_columns = matrices.ranked_entries(values, 1)[:, 0]
    fit_indices = np.arange(len(fits))
    rose = np.flatnonzero(values[fit_indices, best_columns] > fits.value * (1.0 + GAIN))
    if rose.size:
        at = rose, best_columns[rose]
        criterion.put(fits, rose, i, places[at], x[at], values[at])
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
    places, x = support[:, None], matrices.unit(spectrum.leading)[:, None]
    if entering.shape[1]:
        table = exchange_values(parts, spectrum)
        if rule is not None:
            is_admissible = np.broadcast_to(rule.admissible(i, used), (len(fits), criterion.m))
            is_admissible = np.take_along_axis(is_admissible, entering, axis=1)[:, None]
            is_admissible = is_admissible & ~rule.must[i][support][:, :, None]
            table = np.where(is_admissible, table, min(float(table.min()), 0.0) - 1.0)
        best_exchanges = matrices.ranked_entries(table.reshape(len(fits), -1), valued)
        pairs = np.divmod(best_exchanges, entering.shape[1])
        bounds = matrices.entries_at(table.reshape(len(fits), -1), best_exchanges)
        new_places, new_x = columns_after(parts, spectrum, support, entering, *pairs, bounds)
        if rule is not None:  # if no exchange is allowed, the support is kept
            changes = np.take_along_axis(is_admissible.reshape(len(fits), -1), best_exchanges, axis=1)[
                :, :, None
            ]
            new_places, new_x = np.where(changes, new_places, places), np.where(changes, new_x, x)
        places, x = np.concatenate([new_places, places], axis=1), np.concatenate([new_x, x], axis=1)
    return places, x, criterion.values_with(fits, i, places, x)


def promising(
    criterion: Criterion, fits: Fits, i: int, model: matrices.QuadraticModel, width: int
) -> np.ndarray:
    """Return the w variables with the steepest slopes that may enter component i, ascending, shape (B, w)."""
    support = fits.places[:, criterion.parts[i]]
    fit_indices = np.arange(len(fits))[:, None]
    w = min(width, criterion.m - support.shape[1])
    if w == criterion.m - support.shape[1]:
        is_candidate = np.ones((len(fits), criterion.m), dtype=bool)
        is_candidate[fit_indices, support] = False
        return np.nonzero(is_candidate)[1].reshape(len(fits), w)
    corner = np.maximum(model.corners(), matrices.TINY)
    keys = criterion.slope(fits, i, model) ** 2 / corner
    if criterion.rule is not None:
        keys = criterion.rule.keys(keys, i, criterion.used(fits, i))
    keys[fit_indices, support] = -1.0 if criterion.rule is None else keys.min() - 1.0
    return np.sort(matrices.ranked_entries(keys, w), axis=1)


def columns_after(
    parts: matrices.Bordered,
    spectrum: matrices.Spectrum,
    support: np.ndarray,
    entering: np.ndarray,
    leaving: np.ndarray,
    new: np.ndarray,
    bounds: np.ndarray,
) -> tuple[np.ndarray, np.ndarray]:
    """Return supports, shape (B, L, c), after exchanges, and the best loadings on them under the model.

    `spectrum` is the spectrum of `parts`. `leaving` indexes the support, `new` indexes the entering
    variables, and `bounds` contains the values of these exchanges from `exchange_values`; all three have
    shape (B, L).

    With EXPENSIVE variables or more, an exchange without predicted gain whose vector would need an
    eigendecomposition is not made; the support is kept.
    """
    c = support.shape[1]
    positions = np.arange(c - 1)
    remaining_positions = positions + (
        positions >= np.arange(c)[:, None]
    )  # the support without each of its variables
    stay = remaining_positions[leaving]
    staying_variables = support[np.arange(len(support))[:, None, None], stay]
    places = np.concatenate([staying_variables, matrices.entries_at(entering, new)[:, :, None]], axis=2)
    x = np.empty(places.shape)
    unresolved = np.ones(leaving.shape, dtype=bool)
    if c >= EXPENSIVE:
        vectors, sound = exchanged_vectors(parts, spectrum, leaving, new, bounds)
        x[:, :, :-1] = np.take_along_axis(vectors[:, :, :c], stay, axis=2)
        x[:, :, -1] = vectors[:, :, c]
        x, unresolved = matrices.unit(x), ~sound
        present_value = spectrum.values[:, -1:]
        loses = unresolved & (bounds <= present_value + POLE * np.abs(present_value))
        unchanged = (
            np.broadcast_to(support[:, None], places.shape),
            matrices.unit(spectrum.leading)[:, None],
        )
        places = np.where(loses[..., None], unchanged[0], places)
        x, unresolved = np.where(loses[..., None], unchanged[1], x), unresolved & ~loses
    if unresolved.any():
        fit = np.nonzero(unresolved)[0]
        A, M = blocks_after(parts, fit, stay[unresolved], new[unresolved])
        start = np.zeros(A.shape[:2])
        start[:, :-1] = spectrum.leading[fit[:, None], stay[unresolved]]
        x[unresolved] = matrices.leading_vectors(A, M, start)
    return places, x


def blocks_after(
    parts: matrices.Bordered, fit: np.ndarray, stay: np.ndarray, new: np.ndarray
) -> tuple[np.ndarray, np.ndarray | None]:
    """Return A and M, shape (Q, c, c), on the supports after Q exchanges.

    Parameters
    ----------
    parts : Bordered
    fit : ndarray of int, shape (Q,)
    stay : ndarray of int, shape (Q, c - 1)
        The variables that stay, as positions in the support of the fit.
    new : ndarray of int, shape (Q,)
        The variables that enter, as positions among the variables outside the support.
    """
    c = stay.shape[1] + 1
    fit_indices = fit[:, None]

    def block(A: np.ndarray, corner: np.ndarray) -> np.ndarray:
        matrices_after = np.empty((len(fit), c, c))
        matrices_after[:, :-1, :-1] = A[fit_indices[..., None], stay[:, :, None], stay[:, None, :]]
        matrices_after[:, -1, :-1] = matrices_after[:, :-1, -1] = A[fit_indices, stay, c + new[:, None]]
        matrices_after[:, -1, -1] = corner[fit, new]
        return matrices_after

    return block(parts.A, parts.corner), None if parts.M is None else block(parts.M, parts.corner_M)


def exchanged_vectors(
    parts: matrices.Bordered,
    spectrum: matrices.Spectrum,
    leaving: np.ndarray,
    new: np.ndarray,
    bounds: np.ndarray,
) -> tuple[np.ndarray, np.ndarray]:
    """Return the best vectors after exchanges, from the eigenvectors of the support before them.

    The largest ratio x is the root of the function f in `exchange_values`, found by Newton's method, and the
    best vector has t = 1 at the new variable and N (g_i / N_ii e_i - m) on the support, which is zero at the
    variable i that leaves. This takes O(c^2) operations for each exchange instead of O(c^3).

    Parameters
    ----------
    parts : Bordered
    spectrum : Spectrum
        The spectrum of `parts`.
    leaving, new : ndarray of int, shape (B, L)
    bounds : ndarray of shape (B, L)
        Lower bounds on the largest ratios, from which Newton's method increases to the root, as f is concave.

    Returns
    -------
    vectors : ndarray of shape (B, L, c + 1)
        Entries on the support, then for the new variable. The vectors may have any length.
    sound : ndarray of bool, shape (B, L)
        Whether the vector is accurate: Newton's method converged to the root above the largest ratio of the
        variables that stay, and the root differs from the eigenvalues, which are the poles of N.
    """
    values, U = spectrum.values, spectrum.vectors
    c = U.shape[1]
    a = (U.mT @ np.take_along_axis(parts.A, c + new[:, None, :], axis=2)).mT
    r = np.zeros((1, 1, values.shape[1]))
    if parts.M is not None:
        r = (U.mT @ np.take_along_axis(parts.M, c + new[:, None, :], axis=2)).mT
    corner = matrices.entries_at(parts.corner, new)
    corner_M = np.ones((1, 1)) if parts.M is None else matrices.entries_at(parts.corner_M, new)
    row = np.take_along_axis(U, leaving[:, :, None], axis=1)
    null = 0.0 if spectrum.null is None else matrices.entries_at(spectrum.null, leaving)
    present_value = values[:, None, -1]
    x = bounds
    with np.errstate(all="ignore"):  # results that are not finite are not sound
        for _ in range(NEWTON):
            inverse = 1.0 / (x[..., None] - values[:, None])
            m = x[..., None] * r - a
            y = m * inverse
            free = (row**2 * inverse).sum(axis=2) + null / x
            t = (row * y).sum(axis=2) / free
            f = x * corner_M - corner - (m * y).sum(axis=2) + t * (row * y).sum(axis=2)
            slope = corner_M - 2.0 * (y * r).sum(axis=2) + (y**2).sum(axis=2)
            free_slope = (row**2 * inverse**2).sum(axis=2) + null / x**2
            slope += t * (t * free_slope - 2.0 * (row * inverse * (y - r)).sum(axis=2))
            step = -f / slope
            if (np.abs(step) <= CONVERGED * np.abs(x)).all():
                break
            x = x + step
        sound = np.abs(step) <= CONVERGED * np.abs(x)
        sound &= np.abs(x - present_value) > POLE * np.abs(present_value)
        # N_ii is negative between the largest ratio of the variables that stay and the largest ratio of the
        # support
        sound &= (x > values[:, None, -2]) & ((free > 0) == (x > present_value))
        vectors = (inverse * (t[..., None] * row - m)) @ U.mT
        if spectrum.null is not None:  # squares in eigenvectors with eigenvalue zero
            vectors -= (t / x)[..., None] * (row @ U.mT)
    sound &= np.isfinite(vectors).all(axis=2)
    vectors = np.where(sound[..., None], vectors, 0.0)
    return np.concatenate([vectors, np.ones((*new.shape, 1))], axis=2), sound


def exchange_values(parts: matrices.Bordered, spectrum: matrices.Spectrum) -> np.ndarray:
    """Return lower bounds on the largest ratio after every exchange, shape (B, c, w).

    Parameters
    ----------
    parts : Bordered
        Any of the c variables of the support may be replaced by any of the w other variables.
    spectrum : Spectrum
        The spectrum of `parts`.

    Notes
    -----
    When b replaces i, the largest ratio is the root of a concave, increasing function,

        f(x) = (xM - A)_bb - m'Nm + g_i^2 / N_ii,   N = (xM - A)_JJ^-1, m = (xM - A)_Jb, g = Nm,

    so a Newton step from any x above the ratio of J without i ends at a lower bound. One step starts at the
    ratio with b added and i kept, which is close if i contributes little; another starts at the current
    ratio, where f is negative exactly for the exchanges that raise it. All steps use one eigendecomposition.
    """
    c, w = parts.A.shape[1], parts.corner.shape[1]
    if w > ENTERING_AT_ONCE:
        bounds = [
            exchange_values(parts.subset(start, ENTERING_AT_ONCE), spectrum)
            for start in range(0, w, ENTERING_AT_ONCE)
        ]
        return np.concatenate(bounds, axis=2)
    if c == 1:
        return np.where(
            parts.corner_M > HALF_DIGITS, parts.corner / np.maximum(parts.corner_M, HALF_DIGITS), 0.0
        )[:, None]
    values, U, null = spectrum.values, spectrum.vectors, spectrum.null
    squares = U**2
    a = U.mT @ parts.A[:, :, c:]
    r = None if parts.M is None else U.mT @ parts.M[:, :, c:]
    corners = parts.corner, parts.corner_M
    if r is None:
        enlarged_values, sound = matrices.after_bordering(values, a, parts.corner), None
    else:
        enlarged_values, sound = enlarged_ratio(values, a, r, *corners)
    present_value = values[:, -1:]
    enlarged_values = np.maximum(
        enlarged_values, present_value + UNSURE**2 * np.abs(present_value) + matrices.TINY
    )
    y, residual, f, slope = _complement(enlarged_values, values, a, r, *corners)
    inverse = 1.0 / (enlarged_values[:, None] - values[..., None])
    free = _sums_over_eigenvectors(squares, inverse, null, enlarged_values, 1)
    free_slope = _sums_over_eigenvectors(squares, inverse**2, null, enlarged_values, 2)
    g = U @ y
    t = g / matrices.divisor(free, free > 0)
    f = f[:, None] + t * g
    slope = slope[:, None] + t * (t * free_slope - 2.0 * (U @ (inverse * residual)))
    bounds = enlarged_values[:, None] - f / np.maximum(slope, HALF_DIGITS)
    # The current ratio is a pole of N; its term is replaced by the multiple of the best vector that makes the
    # loading of variable i zero.
    lead = U[:, :, -1, None]
    is_sound = np.abs(lead) > UNSURE
    lead = matrices.divisor(lead, is_sound)
    inner_spectrum = values[:, :-1], a[:, :-1], None if r is None else r[:, :-1]
    y, residual, f, slope = _complement(present_value, *inner_spectrum, *corners)
    inverse = 1.0 / np.maximum(
        present_value[:, None] - values[:, :-1, None], UNSURE * np.abs(present_value[:, None]) + matrices.TINY
    )
    W, squares = U[:, :, :-1], squares[:, :, :-1]
    free = _sums_over_eigenvectors(squares, inverse, null, present_value, 1)
    free_slope = _sums_over_eigenvectors(squares, inverse**2, null, present_value, 2)
    t = (a[:, -1:] if r is None else a[:, -1:] - present_value[:, None] * r[:, -1:]) / lead
    tail = t * free
    g = W @ y
    leading_shift = (g + tail) / -lead
    f = f[:, None] - t * (2.0 * g + tail)
    slope = slope[:, None] + t * (t * free_slope + 2.0 * (W @ (inverse * residual)))
    slope = slope + leading_shift * (leading_shift if r is None else leading_shift - 2.0 * r[:, -1:])
    pole_bounds = present_value[:, None] - f / np.maximum(slope, HALF_DIGITS)
    bounds = (
        np.maximum(bounds, pole_bounds)
        if is_sound.all()
        else np.where(is_sound, np.maximum(bounds, pole_bounds), bounds)
    )
    return bounds if sound is None else np.where(sound[:, None], bounds, 0.0)


def _sums_over_eigenvectors(
    squares: np.ndarray, factors: np.ndarray, null: np.ndarray | None, x: np.ndarray, power: int
) -> np.ndarray:
    """Return the diagonals of a power of N, shape (B, c, w), from its factors 1 / (x - value)^power.

    Parameters
    ----------
    squares : ndarray of shape (B, c, r)
        Squared entries of the eigenvectors.
    factors : ndarray of shape (B, r, w)
    null : ndarray of shape (B, c), or None
        As in `Spectrum`.
    x : ndarray of shape (B, w)
    power : {1, 2}
    """
    sums = squares @ factors
    return sums if null is None else sums + null[:, :, None] / x[:, None] ** power


def _complement(
    x: np.ndarray,
    values: np.ndarray,
    a: np.ndarray,
    r: np.ndarray | None,
    corner: np.ndarray,
    corner_M: np.ndarray,
) -> tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray]:
    """Return N m and N m - r in the basis of eigenvectors, f, and the derivative of f; see `exchange_values`.

    If `r` is None, it is zero.
    """
    gap = np.maximum(x[:, None] - values[..., None], UNSURE**2 * np.abs(x[:, None]) + matrices.TINY)
    m = -a if r is None else x[:, None] * r - a
    y = m / gap
    f = x * corner_M - corner - (m * y).sum(axis=1)
    slope = corner_M + (y**2).sum(axis=1)
    if r is None:
        return y, y, f, slope
    return y, y - r, f, slope - 2.0 * (y * r).sum(axis=1)


def enlarged_ratio(
    values: np.ndarray, a: np.ndarray, r: np.ndarray, corner: np.ndarray, corner_M: np.ndarray
) -> tuple[np.ndarray, np.ndarray]:
    """Return the largest ratio with each other variable added, shape (B, w), to ranking accuracy.

    Parameters
    ----------
    values : ndarray of shape (B, c)
        Eigenvalues of A relative to M on the support.
    a, r : ndarray of shape (B, c, w)
        Products of the eigenvectors with the columns of A and of M.
    corner, corner_M : ndarray of shape (B, w)

    Returns
    -------
    ratio : ndarray
    sound : ndarray of bool
        Whether the variable is linearly independent of the support in M.
    """
    residual_variances = corner_M - (r**2).sum(axis=1)
    sound = residual_variances > HALF_DIGITS * np.maximum(corner_M, HALF_DIGITS)
    scale = matrices.divisor(residual_variances, sound)
    corner = corner - (r * (2.0 * a - values[..., None] * r)).sum(axis=1)
    coupling = (a - values[..., None] * r) / np.sqrt(scale)[:, None]
    ratio = matrices.after_bordering(values, coupling, np.where(sound, corner / scale, 0.0))
    return np.where(sound, ratio, values[:, -1:]), np.broadcast_to(sound, ratio.shape)


# --- the best loadings on given supports ----------------------------------------------------------


#: A fit is stationary if the length of its gradient is below this share of the value: ascents end when values
#: agree to 1e-12, and gradients then agree to the square root of this.
FLAT = 1e-6
#: If an ascent of FINAL steps or more does not reach a stationary fit, it is followed by Newton steps and
#: further ascents in turn, at most TURNS times, for fits with up to FEW_ENTRIES nonzeros.
FINAL, FEW_ENTRIES, TURNS = 100, 200, 20


class WithGradient(Protocol):
    """A function of loadings on fixed supports, for a batch of fits."""

    def with_gradient(self, x: np.ndarray, M: Any, T: Any) -> tuple[np.ndarray, np.ndarray]:
        """Return values, shape (B,), and gradients, shape (B, N); M and T contain a block for each fit."""


def refined(criterion: Criterion, fits: Fits, steps: int) -> Fits:
    """Return the fits after at most `steps` steps of ascent on their supports; no value decreases.

    An ascent of `FINAL` steps or more that has not reached a stationary fit is continued by `_flatter`.
    """
    ascended = _after_ascent(criterion, fits, steps)
    if steps >= FINAL and fits.x.shape[1] <= FEW_ENTRIES:
        for b in np.flatnonzero(steepness(criterion, ascended) > FLAT):
            ascended.put(np.array([b]), _flatter(criterion, ascended.subset(slice(b, b + 1)), steps))
    return ascended


def _after_ascent(criterion: Criterion, fits: Fits, steps: int) -> Fits:
    """Return the fits after `ascend`; no value decreases."""
    M, T = criterion.for_ascent(fits.places, fits.of)
    ascended = criterion.fits(fits.places, ascend(criterion, fits.x, M, T, steps), fits.of)
    worse = ~(ascended.value >= fits.value)
    if worse.any():
        ascended.put(worse, fits.subset(worse))
    return ascended


def _flatter(criterion: Criterion, fit: Fits, steps: int) -> Fits:
    """Return a single fit after alternating Newton steps and ascents until they no longer change it."""
    steep = steepness(criterion, fit)[0]
    for _ in range(TURNS):
        previous_fit = fit
        for end in (stationary(criterion, fit), _after_ascent(criterion, fit, steps)):
            end_steepness = steepness(criterion, end)[0]
            higher, equal = end.value[0] > fit.value[0] * (1.0 + ROUNDING), end.value[0] >= fit.value[0]
            if higher or (equal and end_steepness < 0.5 * steep):
                fit, steep = end, end_steepness
        if fit is previous_fit or steep <= FLAT:
            break
    return fit


def steepness(criterion: Criterion, fits: Fits) -> np.ndarray:
    """Return the length of the gradient on the supports as a share of the value, shape (B,).

    It is zero at the best loadings. If the value increases as components become dependent, there are no best
    loadings, and no ascent reduces the gradient to zero.
    """
    M, T = criterion.for_ascent(fits.places, fits.of)
    value, slope = criterion.with_gradient(fits.x, M, T)
    return np.asarray(_lengths(slope) / np.maximum(np.abs(value), matrices.TINY))


def ascend(criterion: WithGradient, x: np.ndarray, M: Any, T: Any, steps: int) -> np.ndarray:
    """Return loadings, shape (B, N), with values no smaller than those of `x`.

    A fit is finished when a step hardly raises its value and the gradient is nearly zero, or when a step
    along the gradient does not raise its value. If a quasi-Newton step does not raise the value although the
    gradient is not small, the estimate of the curvature is discarded, and the next step is along the
    gradient.
    """
    result = x.copy()
    value, slope = criterion.with_gradient(x, M, T)
    running, length = np.arange(len(x)), _lengths(x)
    memory: list[tuple[np.ndarray, np.ndarray, np.ndarray]] = []
    along = np.ones(len(x), dtype=bool)  # the next step is along the gradient
    for _ in range(steps):
        direction = _bfgs_direction(slope, memory)
        step = np.ones(len(x))
        if along.any():
            step[along] = _gradient_steps(x[along], slope[along], length[along])
        new_x, new_value, new_slope = _line(criterion, x, direction, step, value, slope, M, T)
        change, bend = new_x - x, slope - new_slope
        still = new_value - value > 1e-12 * np.abs(new_value)
        result[running], x, value, slope = new_x, new_x, new_value, new_slope
        product = np.vecdot(change, bend)
        sound = product > 1e-10 * _lengths(change) * _lengths(bend)
        memory = [*memory[-5:], (change, bend, np.where(sound, 1.0 / matrices.divisor(product, sound), 0.0))]
        if still.all():
            along[:] = False
            continue
        restarts = ~still & ~along & (_lengths(slope) * _lengths(x) > FLAT * np.abs(value))
        memory = [(a, b, np.where(restarts, 0.0, c)) for a, b, c in memory]
        still, along = still | restarts, restarts
        if not still.any():
            break
        if not still.all():
            running, M, T = running[still], M[still], T[still]
            x, value, slope, along, length = (a[still] for a in (x, value, slope, along, length))
            memory = [(a[still], b[still], c[still]) for a, b, c in memory]
    return result


def _gradient_steps(x: np.ndarray, slope: np.ndarray, length: np.ndarray) -> np.ndarray:
    """Return the first steps to try along the gradient, shape (B,), as multiples of the gradient.

    `length` is the length of the loadings when components had unit length.
    """
    sound = length > 0
    grown = np.where(sound, _lengths(x) / matrices.divisor(length, sound), 1.0)
    return np.minimum(grown**2, 0.5 * grown / np.maximum(_lengths(slope), matrices.SMALLEST))


def _lengths(x: np.ndarray) -> np.ndarray:
    """Return the lengths of the rows, shape (B,)."""
    return np.linalg.norm(x, axis=1)


def _line(
    criterion: WithGradient,
    x: np.ndarray,
    direction: np.ndarray,
    step: np.ndarray,
    value: np.ndarray,
    slope: np.ndarray,
    M: Any,
    T: Any,
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Return points along the directions, values and gradients; fits that no step improves are kept."""
    rise = np.maximum(np.vecdot(slope, direction), 0.0)  # negative only by rounding
    points, best_values, gradients = x.copy(), value.copy(), slope.copy()
    active = np.arange(len(x))
    for _ in range(12):
        point = x[active] + step[active, None] * direction[active]
        values, gradient = criterion.with_gradient(point, M, T)
        short = step[active] * rise[active]
        # Armijo's condition: a step must gain at least 1e-4 times the gain that the slope predicts
        is_sufficient = values >= value[active] + 1e-4 * short
        if active.size == len(x) and is_sufficient.all():
            return point, np.maximum(values, value), gradient
        accepted = active[is_sufficient]
        points[accepted], best_values[accepted], gradients[accepted] = (
            point[is_sufficient],
            values[is_sufficient],
            gradient[is_sufficient],
        )
        if accepted.size == active.size:
            break
        remainder = ~is_sufficient
        active, M, T = active[remainder], M[remainder], T[remainder]
        share = short[remainder] / (2.0 * (short[remainder] - (values[remainder] - value[active])))
        step[active] *= np.where(np.isnan(share), 0.5, np.clip(share, 0.1, 0.5))
    return points, np.maximum(best_values, value), gradients


def _bfgs_direction(slope: np.ndarray, memory: list[tuple[np.ndarray, np.ndarray, np.ndarray]]) -> np.ndarray:
    """Return the quasi-Newton direction, computed by the two-loop recursion of L-BFGS."""
    q = slope.copy()
    factors = []
    for change, bend, inverse in reversed(memory):
        factor = inverse * np.vecdot(change, q)
        factors.append(factor)
        q -= factor[:, None] * bend
    if memory:
        change, bend, inverse = memory[-1]
        size = inverse * np.vecdot(bend, bend)
        q /= matrices.divisor(size, size > 0)[:, None]
    for (change, bend, inverse), factor in zip(memory, reversed(factors), strict=True):
        q += change * (factor - inverse * np.vecdot(bend, q))[:, None]
    return q


# --- swaps between components ---------------------------------------------------------------------


def swapped(criterion: Criterion, fits: Fits, width: int, followed: int, steps: int) -> Fits:
    """Return the fits after the best swap or swaps of variables between components; none gets worse.

    Swaps are needed if all variables are in use, because no variable can then enter by an exchange.

    Parameters
    ----------
    criterion : Criterion
        A criterion with a rule on supports.
    fits : Fits
    width : int
        Number of swaps that are evaluated, those that most increase the sum of squares of `Criterion.pull` on
        the supports.
    followed : int
        Number of the best of these swaps that are followed by an ascent of all loadings.
    steps : int
        Number of steps of the ascent.
    """
    N = len(criterion.owner)
    step = max(1, BATCH // (N * N + width * criterion.k * criterion.m))
    parts = [fits.subset(slice(begin, begin + step)) for begin in range(0, len(fits), step)]
    return join_fits([_swapped(criterion, part, width, followed, steps) for part in parts])


def _swapped(criterion: Criterion, fits: Fits, width: int, followed: int, steps: int) -> Fits:
    owner, B = criterion.owner, len(fits)
    pulls, scales = zip(*(criterion.pull(fits, i) for i in range(criterion.k)), strict=True)
    W, scale = np.stack(pulls, axis=1), np.stack(scales, axis=1)
    if isinstance(criterion.rule, GroupRule):
        places, x = criterion.rule.swaps(criterion, fits, W)
    else:
        places, x = _of_variables(criterion, fits, W, scale, width)
    count = places.shape[1]
    trial_fits = criterion.fits(
        places.reshape(-1, len(owner)), x.reshape(-1, len(owner)), np.repeat(fits.of, count)
    )
    promising_swaps = (
        matrices.ranked_entries(trial_fits.value.reshape(B, -1), followed) + count * np.arange(B)[:, None]
    )
    trial_fits = refined(criterion, trial_fits.subset(promising_swaps.ravel()), steps)
    top = trial_fits.subset(
        np.argmax(trial_fits.value.reshape(B, -1), axis=1) + promising_swaps.shape[1] * np.arange(B)
    )
    is_improved = top.value > fits.value * (1.0 + GAIN)
    fits.put(is_improved, top.subset(is_improved))
    return fits


def _of_variables(
    criterion: Criterion, fits: Fits, W: np.ndarray, scale: np.ndarray, width: int
) -> tuple[np.ndarray, np.ndarray]:
    """Return the fits after swaps of variables: places and loadings, shape (B, L, N).

    The loadings of components that change are entries of W, shape (B, k, m); W and its scale, shape (B, k),
    come from `Criterion.pull`.
    """
    rule, owner, B = criterion.rule, criterion.owner, len(fits)
    assert rule is not None
    variable_gains = W**2 / np.maximum(scale, matrices.TINY)[:, :, None]
    # entry_gains[b, e, f]: gain from giving the variable of entry f to the component of entry e
    entry_gains = np.take_along_axis(variable_gains, fits.places[:, None], axis=2)[:, owner]
    free = (rule.may[:, fits.places] & ~rule.must[owner, fits.places]).transpose(1, 0, 2)[:, owner]
    present_gains = np.einsum("bee->be", entry_gains)
    gains = entry_gains + entry_gains.mT - present_gains[:, :, None] - present_gains[:, None]
    is_admissible = free & free.mT & (owner[:, None] < owner)
    gains = np.where(is_admissible, gains, gains.min() - 1.0).reshape(B, -1)
    best_swaps = matrices.ranked_entries(
        gains, min(width, int(is_admissible.reshape(B, -1).sum(axis=1).min()))
    )
    if best_swaps.shape[1] == 0:
        return fits.places[:, None], fits.x[:, None]
    places = _supports_after_swaps(fits.places, best_swaps, np.take_along_axis(gains, best_swaps, axis=1))
    order = np.argsort(owner * criterion.m + places, axis=2)
    places = np.take_along_axis(places, order, axis=2)
    is_changed = ((places != fits.places[:, None]) @ criterion.member > 0)[:, :, owner]
    return places, np.where(is_changed, W[np.arange(B)[:, None, None], owner, places], fits.x[:, None])


def _supports_after_swaps(places: np.ndarray, pair_numbers: np.ndarray, gains: np.ndarray) -> np.ndarray:
    """Return supports, shape (B, L, N), after each swap, and after the first 2, 4, 8, ... swaps at once.

    `pair_numbers`, shape (B, w), contains the numbers of the pairs of entries of `places`, shape (B, N), in
    descending order of `gains`.
    """
    B, N = places.shape
    entry_a, entry_b = np.divmod(pair_numbers, N)
    swapped_places = np.repeat(places[:, None], pair_numbers.shape[1], axis=1)
    for at, partner in ((entry_a, entry_b), (entry_b, entry_a)):
        np.put_along_axis(
            swapped_places, at[:, :, None], np.take_along_axis(places, partner, axis=1)[:, :, None], axis=2
        )
    several = []
    combined, is_used = places.copy(), np.zeros((B, N), dtype=bool)
    fit_indices = np.arange(B)
    for column in range(pair_numbers.shape[1]):
        e, f = entry_a[:, column], entry_b[:, column]
        b = fit_indices[(gains[:, column] > 0.0) & ~is_used[fit_indices, e] & ~is_used[fit_indices, f]]
        e, f = e[b], f[b]
        combined[b, e], combined[b, f] = combined[b, f], combined[b, e]
        is_used[b, e] = is_used[b, f] = True
        if (column + 2) & (column + 1) == 0:
            several.append(combined.copy())
    return np.concatenate([swapped_places, np.stack([*several, combined], axis=1)], axis=1)


#: Number of steps of a truncated power iteration; POWER_WIDE with more than WIDE variables.
POWER, POWER_WIDE, WIDE = 5, 3, 300


# --- new components -------------------------------------------------------------------------------


#: A random component is drawn from this many of the best distinct ones.
CHOICE = 4


def rebuild(
    criterion: Criterion, fits: Fits, indices: np.ndarray, i: int, seeds: np.ndarray, pick: np.ndarray
) -> None:
    """Rebuild component i, which was removed, in some of the fits.

    Parameters
    ----------
    criterion : Criterion
    fits : Fits
        Changed in place.
    indices : ndarray of int, shape (b,)
    i : int
    seeds : ndarray of int, shape (b, R)
        The variables whose rows of the covariance matrix start the iterations.
    pick : ndarray of int, shape (b,)
        0 for the best component found, 1 for the second best, and so on.
    """
    sub = fits.subset(indices)
    model = criterion.model_given_others(sub)
    places, x = iterated(criterion, model, seeds, i, criterion.used(sub, i))
    values = criterion.values_with(sub, i, places, x)
    order = matrices.ranked_entries(values, values.shape[1])
    values = np.take_along_axis(values, order, axis=1)
    # equal supports from different rows give the same component
    is_distinct = np.ones(values.shape, dtype=bool)
    is_distinct[:, 1:] = values[:, :-1] - values[:, 1:] > 1e-8 * np.abs(values[:, :1])
    rank = np.minimum(np.cumsum(is_distinct, axis=1) - 1, pick[:, None])
    positions = order[np.arange(len(sub)), np.argmax(rank >= np.minimum(pick, rank[:, -1])[:, None], axis=1)]
    places = places[np.arange(len(sub)), positions]
    parts = model.bordered(places, places[:, :0])
    criterion.put(fits, indices, i, places, matrices.best_vectors(parts.A, parts.M))


def iterated(
    criterion: Criterion,
    model: matrices.QuadraticModel,
    seeds: np.ndarray,
    i: int,
    used: np.ndarray | None = None,
) -> tuple[np.ndarray, np.ndarray]:
    """Return the columns at which truncated power iterations end: places and loadings, shape (b, R, c)."""
    corner = np.maximum(model.corners(), matrices.TINY)[:, None]
    W = model.products(seeds[:, :, None], np.ones((*seeds.shape, 1)))
    steps = POWER if model.M.m <= WIDE else POWER_WIDE
    for step in range(steps):
        if model.T is not None:
            W /= corner
        places, x = criterion.truncate(W, i, used)
        if step + 1 < steps:
            W = model.products(places, x)
    return places, x


def stationary(criterion: Criterion, fit: Fits) -> Fits:
    """Return a fit with loadings at the stationary point on its supports, up to rounding.

    Parameters
    ----------
    criterion : Criterion
    fit : Fits
        A single fit, close to convergence.

    Returns
    -------
    Fits
        The fit itself if its components are linearly dependent, or if no step reduces the slope.
    """
    # with more nonzeros the matrix of second derivatives would be large
    if fit.x.shape[1] > 4000 or not (np.abs(fit.x) @ criterion.member).all():
        return fit
    M, T = criterion.packed(fit.places, fit.of)
    x = _after_newton_steps(criterion, criterion.directions(fit.x)[0][0], M[0], T[0])
    return fit if x is None else criterion.fits(fit.places, x[None], fit.of)


def _after_newton_steps(
    criterion: Criterion, x: np.ndarray, M: np.ndarray, T: np.ndarray
) -> np.ndarray | None:
    """Return the nonzeros, shape (N,), after Newton steps; None if no step was an improvement."""
    expansion = criterion.expansion(x, M, T)
    if expansion is None:
        return None
    has_moved = False
    for _ in range(25):
        if np.linalg.norm(expansion.slope) <= 1e-15 * expansion.value:
            break
        direction = _newton_direction(expansion, x[:, None] * criterion.member)
        length = 1.0
        # a step is halved up to seven times
        for _ in range(8):
            new_x = criterion.directions((x + length * direction)[None])[0][0]
            new_expansion = criterion.expansion(new_x, M, T)
            if new_expansion is not None and _is_improvement(expansion, new_expansion):
                break
            length *= 0.5
        else:
            break
        x, expansion, has_moved = new_x, new_expansion, True
    return x if has_moved else None


def _is_improvement(expansion: Expansion, new_expansion: Expansion) -> bool:
    """Return whether a step gives a larger value, or an equal value with a smaller slope."""
    if new_expansion.value > expansion.value * (1.0 + ROUNDING):
        return True
    flatter = np.linalg.norm(new_expansion.slope) < 0.5 * np.linalg.norm(expansion.slope)
    return bool(flatter and new_expansion.value >= expansion.value * (1.0 - ROUNDING))


def _newton_direction(expansion: Expansion, V: np.ndarray) -> np.ndarray:
    """Return the Newton step orthogonal to the components V, shape (N, k).

    The step ascends whatever the sign of the curvature. Zero loadings stay zero, and the step has no
    component in flat directions.
    """
    K = expansion.curvature()
    slope = expansion.slope - V @ (V.T @ expansion.slope)
    out = V.T @ K
    K -= V @ out
    K -= (out.T - V @ (out @ V)) @ V.T
    scale = np.abs(np.diag(K)).max()
    A = 0.5 * scale * (V @ V.T) - K
    zero = np.flatnonzero(~V.any(axis=1))
    A[zero], A[:, zero], slope[zero] = 0.0, 0.0, 0.0
    A[zero, zero] = scale
    try:
        factor = cho_factor(A, lower=True)
        sound = np.diag(factor[0]).min() ** 2 > matrices.PIVOT_TOLERANCE * scale
    except LinAlgError:
        sound = False
    if sound:
        return cho_solve(factor, slope)
    # an eigendecomposition would take too long
    if len(slope) > 600:
        return slope / scale
    values, turn = np.linalg.eigh(A)
    sizes = np.abs(values)
    inner = turn.T @ slope
    curved = sizes > matrices.PIVOT_TOLERANCE * sizes.max()
    return turn @ np.where(curved, inner / matrices.divisor(sizes, curved), 0.0)
