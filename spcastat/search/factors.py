"""Cholesky factors of small matrices that may be singular, and what counts as dependent."""

from __future__ import annotations

import numpy as np

#: Added to the diagonal of correlation matrices that are factored: dependent columns do no harm.
JITTER = 1e-12
#: A column of which less than this share remains beside those before it adds nothing to a ratio.
DEPENDENT = 1e-9
#: Squared lengths below this are zero: the total variance is one.
NOTHING = 1e-14
#: Nothing is divided by less.
SMALLEST = float(np.finfo(float).tiny / np.finfo(float).eps)


def divisor(x: np.ndarray, sound: np.ndarray) -> np.ndarray:
    """Return what to divide by: x where that is sound, and elsewhere one, of which nothing is made."""
    return np.where(sound, x, 1.0)


def well_apart(G: np.ndarray) -> bool:
    """Return whether no column of a matrix V'MV, shape (k, k), depends on the others."""
    size = np.sqrt(np.maximum(np.diag(G), NOTHING))
    return bool(np.diag(G).min() > NOTHING and np.linalg.eigvalsh(G / np.outer(size, size))[0] > DEPENDENT)


def factor(G: np.ndarray, jitter: float = JITTER) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Return the lower Cholesky factors of G as correlations, the sizes, and which columns are not zero.

    Shapes (..., k, k), (..., k) and (..., k). Singular matrices are no error.
    """
    diagonal = np.einsum("...ii->...i", G)
    present = diagonal > NOTHING
    size = np.sqrt(divisor(diagonal, present))
    K = G / (size[..., :, None] * size[..., None, :])
    k = G.shape[-1]
    K[..., np.arange(k), np.arange(k)] = 1.0 + jitter
    if not present.all():
        pairs = present[..., :, None] & present[..., None, :]
        K = np.where(pairs | np.eye(k, dtype=bool), K, 0.0)
    try:
        L = np.linalg.cholesky(K)
    except np.linalg.LinAlgError:  # rounding has made a dependent column look more than dependent
        values, turn = np.linalg.eigh(K)
        root = np.sqrt(np.maximum(values, JITTER))[..., None, :] * turn
        L = np.asarray(np.linalg.qr(root.mT, mode="r")).mT
        L = L * np.sign(np.einsum("...ii->...i", L))[..., None, :]
    return L, size, present
