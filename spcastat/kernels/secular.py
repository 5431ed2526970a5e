"""The largest eigenvalue of a bordered diagonal matrix, each problem with a block of its own."""

from __future__ import annotations

import numpy as np


def bordered_lower(values: np.ndarray, squares: np.ndarray, corner: np.ndarray, steps: int = 4) -> np.ndarray:
    """Return lower bounds on the largest eigenvalues of [[diag(values), b], [b', d]], for ranking.

    Parameters
    ----------
    values : ndarray of shape (s, m)
        Eigenvalues of the blocks, one problem a column.
    squares : ndarray of shape (s, m)
        The squared borders b, in the eigenvector bases of the blocks.
    corner : ndarray of shape (m,)
        The corners d.
    steps : int
        Newton steps; they rise to the eigenvalue without overshooting, as in
        `spcastat.kernels.eig.bordered_top`, which goes on until nothing changes.

    Returns
    -------
    ndarray of shape (m,)
    """
    mu = 0.5 * (values + corner) + np.sqrt((0.5 * (values - corner)) ** 2 + squares)
    level = mu.max(axis=0)
    floor = np.maximum(1e-15 * np.abs(level), 1e-300)
    for _ in range(steps):
        gap = np.maximum(level - values, floor)
        term = squares / gap
        step = (corner + term.sum(axis=0) - level) / (1.0 + (term / gap).sum(axis=0))
        level = level + np.maximum(step, 0.0)
    return level
