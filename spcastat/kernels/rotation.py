"""Varimax rotation, which makes each component load on few variables; used for starting values."""

from __future__ import annotations

import numpy as np

from spcastat.kernels.ties import quotients


def varimax(A: np.ndarray, normalise: bool = False, max_iter: int = 500) -> np.ndarray:
    """Rotate the columns of `A` to maximise the varimax criterion.

    Parameters
    ----------
    A : ndarray of shape (p, k)
    normalise : bool
        Give every variable the same weight (Kaiser's normalisation).
    max_iter : int

    Returns
    -------
    ndarray of shape (p, k)

    Notes
    -----
    Kaiser (1958). Each step takes the orthogonal matrix closest to the gradient.
    """
    size = np.linalg.norm(A, axis=1, keepdims=True) if normalise else np.ones((len(A), 1))
    B = quotients(A, size)
    rotation = np.eye(A.shape[1])
    reached = 0.0
    for _ in range(max_iter):
        L = B @ rotation
        squares = L**2
        left, values, right = np.linalg.svd(B.T @ (L * (squares - squares.mean(axis=0))))
        rotation = left @ right
        if values.sum() <= reached * (1.0 + 1e-10):
            break
        reached = float(values.sum())
    return np.asarray(A @ rotation)
