"""The exact end of a search: Newton's method on the nonzeros of one fit, each component of unit length.

An ascent stops where the value rests, and there the slope has only half of the digits. Steps with second
derivatives double them, so that the loadings depend on the data and the supports alone: not on the way that
led there, nor on the order of the rows or the form in which they were given.
"""

from __future__ import annotations

import numpy as np
from scipy.linalg import LinAlgError, cho_factor, cho_solve

from spcastat.search.criterion import Criterion, Expansion, Fits
from spcastat.search.small_matrices import divisor

#: More nonzeros than this are left as they are: the matrix of second derivatives would not be small.
NONZEROS = 4000
#: Up to this many, eigenvectors tell flat directions from others.
TURNED = 600
#: Curvatures below this share of the largest are none: along them nothing is to be gained.
FLAT = 1e-9
#: Steps at most, and halvings of one.
STEPS, HALVINGS = 25, 8
#: A slope below this share of the criterion is rounding.
REST = 1e-15
#: Values that differ by less than this share differ by rounding.
ROUNDING = 1e-14


def stationary(criterion: Criterion, fit: Fits) -> Fits:
    """Return a fit with its loadings at the stationary point of their supports, to rounding.

    Parameters
    ----------
    criterion : Criterion
    fit : Fits
        One fit, close to rest.

    Returns
    -------
    Fits
        The fit itself where components depend on one another, or where no step lowers the slope.
    """
    if fit.x.shape[1] > NONZEROS or not criterion.sums(np.abs(fit.x)).all():
        return fit
    M, T = criterion.packed(fit.places, fit.of)
    x = _rested(criterion, criterion.unit(fit.x)[0], M[0], None if T is None else T[0])
    return fit if x is None else criterion.fits(fit.places, x[None], fit.of)


def _rested(criterion: Criterion, x: np.ndarray, M: np.ndarray, T: np.ndarray | None) -> np.ndarray | None:
    """Return the nonzeros, shape (N,), after Newton steps; None where nothing was gained."""
    here = criterion.expansion(x, M, T)
    if here is None:
        return None
    moved = False
    for _ in range(STEPS):
        if np.linalg.norm(here.slope) <= REST * here.value:
            break
        direction = _direction(here, x[:, None] * criterion.member)
        length = 1.0
        for _ in range(HALVINGS):
            new = criterion.unit((x + length * direction)[None])[0]
            there = criterion.expansion(new, M, T)
            if there is not None and _closer(here, there):
                break
            length *= 0.5
        else:
            break
        x, here, moved = new, there, True
    return x if moved else None


def _closer(here: Expansion, there: Expansion) -> bool:
    """Return whether a step brought the fit closer to rest: it rose, or kept its value at a smaller slope."""
    if there.value > here.value * (1.0 + ROUNDING):
        return True
    flatter = np.linalg.norm(there.slope) < 0.5 * np.linalg.norm(here.slope)
    return bool(flatter and there.value >= here.value * (1.0 - ROUNDING))


def _direction(here: Expansion, V: np.ndarray) -> np.ndarray:
    """Return the Newton step orthogonal to the components V, shape (N, k): upwards, whatever the curvature.

    Zero loadings stay zero, and so do flat directions: along them no slope is more than rounding.
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
        sound = np.diag(factor[0]).min() ** 2 > FLAT * scale
    except LinAlgError:
        sound = False
    if sound:
        return cho_solve(factor, slope)
    if len(slope) > TURNED:
        return slope / scale
    values, turn = np.linalg.eigh(A)
    sizes = np.abs(values)
    inner = turn.T @ slope
    curved = sizes > FLAT * sizes.max()
    return turn @ np.where(curved, inner / divisor(sizes, curved), 0.0)
