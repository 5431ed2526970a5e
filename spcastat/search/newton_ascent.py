"""Newton's method on the nonzeros of one fit, which makes the loadings exact at the end of a search.

A first-order ascent stops when the value no longer changes, and then the loadings have only half of the
digits. Newton steps give the other half, so that the loadings depend on the data and the supports only, and
not on the path of the search, the order of the rows or the form of the data.
"""

from __future__ import annotations

import numpy as np
from scipy.linalg import LinAlgError, cho_factor, cho_solve

from spcastat.search.criterion import Criterion, Expansion, Fits
from spcastat.search.small_matrices import DEPENDENT, divisor

#: Values that differ by less than this share count as equal.
ROUNDING = 1e-14


def stationary(criterion: Criterion, fit: Fits) -> Fits:
    """Return a fit with its loadings at the stationary point of their supports, to rounding.

    Parameters
    ----------
    criterion : Criterion
    fit : Fits
        One fit, close to convergence.

    Returns
    -------
    Fits
        The fit itself if its components are linearly dependent, or if no step reduces the slope.
    """
    # with more nonzeros the matrix of second derivatives would be large
    if fit.x.shape[1] > 4000 or not (np.abs(fit.x) @ criterion.member).all():
        return fit
    M, T = criterion.packed(fit.places, fit.of)
    x = _rested(criterion, criterion.directions(fit.x)[0][0], M[0], T[0])
    return fit if x is None else criterion.fits(fit.places, x[None], fit.of)


def _rested(criterion: Criterion, x: np.ndarray, M: np.ndarray, T: np.ndarray) -> np.ndarray | None:
    """Return the nonzeros, shape (N,), after Newton steps; None if no step was an improvement."""
    here = criterion.expansion(x, M, T)
    if here is None:
        return None
    moved = False
    for _ in range(25):
        if np.linalg.norm(here.slope) <= 1e-15 * here.value:
            break
        direction = _direction(here, x[:, None] * criterion.member)
        length = 1.0
        # halvings of one step, at most
        for _ in range(8):
            new = criterion.directions((x + length * direction)[None])[0][0]
            there = criterion.expansion(new, M, T)
            if there is not None and _closer(here, there):
                break
            length *= 0.5
        else:
            break
        x, here, moved = new, there, True
    return x if moved else None


def _closer(here: Expansion, there: Expansion) -> bool:
    """Return whether a step is an improvement: a larger value, or an equal value with a smaller slope."""
    if there.value > here.value * (1.0 + ROUNDING):
        return True
    flatter = np.linalg.norm(there.slope) < 0.5 * np.linalg.norm(here.slope)
    return bool(flatter and there.value >= here.value * (1.0 - ROUNDING))


def _direction(here: Expansion, V: np.ndarray) -> np.ndarray:
    """Return the Newton step orthogonal to the components V, shape (N, k).

    It ascends whatever the sign of the curvature. Zero loadings stay zero, and the step has no part in flat
    directions.
    """
    K = here.curvature()
    slope = here.slope - V @ (V.T @ here.slope)
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
        sound = np.diag(factor[0]).min() ** 2 > DEPENDENT * scale
    except LinAlgError:
        sound = False
    if sound:
        return cho_solve(factor, slope)
    # eigenvectors would take long
    if len(slope) > 600:
        return slope / scale
    values, turn = np.linalg.eigh(A)
    sizes = np.abs(values)
    inner = turn.T @ slope
    curved = sizes > DEPENDENT * sizes.max()
    return turn @ np.where(curved, inner / divisor(sizes, curved), 0.0)
