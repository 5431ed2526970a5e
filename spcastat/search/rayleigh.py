"""Generalised Rayleigh quotients of sparse vectors: the best of them after exchanges of variables.

With the other components fixed, PEV is such a ratio in one column of V.
"""

from __future__ import annotations

import numpy as np

from spcastat.kernels.eig import bordered_top
from spcastat.search.factors import divisor

#: Directions of B below this share of its largest eigenvalue are null: the ratio has no meaning there.
NULL = 1e-8


def whitened(A: np.ndarray, B: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Diagonalise A relative to B.

    Parameters
    ----------
    A, B : ndarray of shape (..., s, s)
        Symmetric and positive semidefinite.

    Returns
    -------
    values : ndarray of shape (..., s)
        Ascending; zero for the null directions of B.
    U : ndarray of shape (..., s, s)
        U'AU is diagonal with `values`, U'BU is the identity but for zeros at null directions.
    """
    size, basis = np.linalg.eigh(B)
    kept = size > NULL * np.maximum(size[..., -1:], 0.0)
    root = np.where(kept, 1.0 / np.sqrt(divisor(size, kept)), 0.0)
    white = basis * root[..., None, :]
    values, vectors = np.linalg.eigh(white.mT @ A @ white)
    return values, white @ vectors


def exchanges(
    A: np.ndarray, B: np.ndarray, support: np.ndarray, leaving: np.ndarray, entering: np.ndarray
) -> np.ndarray:
    """Return the largest ratio after each exchange of one variable of a support for one outside.

    Parameters
    ----------
    A, B : ndarray of shape (p, p)
        Symmetric and positive semidefinite.
    support : ndarray of shape (s,)
    leaving : ndarray of shape (m,)
        Places in `support` of the variables that may leave.
    entering : ndarray of shape (q,)
        Variables outside that may enter.

    Returns
    -------
    ndarray of shape (m, q)
    """
    s = len(support)
    outside = entering
    inner = np.array([np.delete(support, a) for a in leaving], dtype=int).reshape(len(leaving), s - 1)
    values, U = (
        whitened(A[inner[:, :, None], inner[:, None, :]], B[inner[:, :, None], inner[:, None, :]])
        if s > 1
        else (np.zeros((len(leaving), 0)), np.zeros((len(leaving), 0, 0)))
    )
    turned = U.mT
    cross_A = turned @ A[inner[:, :, None], outside]
    cross_B = turned @ B[inner[:, :, None], outside]
    corner_A, corner_B = np.diag(A)[outside], np.diag(B)[outside]
    # the new variable, made orthogonal to the others in the inner product of B
    left = corner_B - (cross_B**2).sum(axis=-2)
    sound = left > NULL * max(float(np.diag(B).max()), 0.0)
    scale = np.sqrt(divisor(left, sound))
    coupling = (cross_A - values[..., None] * cross_B) / scale[:, None, :]
    corner = corner_A - 2.0 * (cross_A * cross_B).sum(axis=-2) + (values[..., None] * cross_B**2).sum(axis=-2)
    alone = values.max(axis=-1, initial=0.0)[:, None]
    if s == 1:
        return np.where(sound, corner / scale**2, alone)
    found = bordered_top(values, coupling, np.where(sound, corner / scale**2, 0.0))
    return np.where(sound, found, alone)
