"""The nearest correlation matrix that is positive semidefinite."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from spcastat.kernels.eig import symmetric


@dataclass(frozen=True, eq=False)
class Nearest:
    """A positive semidefinite correlation matrix, and its distance from the given one.

    Attributes
    ----------
    correlation : ndarray of shape (p, p)
        Positive semidefinite, with a diagonal of ones.
    smallest : float
        The smallest eigenvalue of the given matrix.
    moved : float
        The Frobenius norm of the difference; 0 if the given matrix was positive semidefinite.
    largest : float
        The largest absolute change of a correlation.
    """

    correlation: np.ndarray
    smallest: float
    moved: float = 0.0
    largest: float = 0.0


def nearest_correlation(R: np.ndarray) -> Nearest:
    """Return the positive semidefinite correlation matrix nearest to `R` in the Frobenius norm.

    Higham (2002), Computing the nearest correlation matrix, IMA J. Numer. Anal. 22, Algorithm 3.3:
    alternating projections with Dykstra's correction. Eigenvalues are clipped by functions of statsmodels.
    Its own ``corr_nearest`` is not used because it always runs to its iteration limit, and warns, if the
    result is singular. Negative eigenvalues that remain because of rounding are clipped at the end.

    Parameters
    ----------
    R : ndarray of shape (p, p)
        Symmetric, with a diagonal of ones.
    """
    from statsmodels.stats.correlation_tools import clip_evals, corr_clipped

    smallest = float(np.linalg.eigvalsh(R)[0])
    if smallest >= -1e-8:  # rounding
        return Nearest(R, smallest)
    found, correction = R.copy(), np.zeros(R.shape)
    for _ in range(200):
        given = found - correction
        projected = clip_evals(given, 0.0)[0]
        correction = projected - given
        np.fill_diagonal(projected, 1.0)
        change = float(np.abs(projected - found).max())
        found = projected
        if change <= 1e-9:
            break
    found = corr_clipped(found, 0.0)
    found = symmetric(found)
    np.fill_diagonal(found, 1.0)
    difference = found - R
    return Nearest(found, smallest, float(np.linalg.norm(difference)), float(np.abs(difference).max()))
