"""Sparse components one after another, where principal components are mostly noise of other variables.

With more variables than rows, a principal component of a few variables that its eigenvalue hardly shows has
small loadings on them, and the largest of its loadings are those of others. Sparse components start from the
variables that have the largest covariances with a few others.
"""

from __future__ import annotations

import numpy as np

#: Truncated power steps, and number of starts for a component.
POWER_STEPS, COMPONENT_STARTS = 8, 4


def near_card(p: int) -> int:
    """Return the cardinality for variables whose number is not known: 1.5 log(p), at least 2."""
    return min(p, max(2, round(1.5 * np.log(p))))


def sparse_components(S: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Return variances, shape (f,), and loadings, (f, p), of a component of `near_card` variables.

    Truncated power steps start from the columns with the largest norm of their largest entries, and the
    leading eigenvector is computed on the best support.

    Parameters
    ----------
    S : ndarray of shape (f, p, p)
        Covariance matrices.
    """
    p = S.shape[1]
    card = near_card(p)
    norms = np.partition(S**2, p - card, axis=1)[:, p - card :].sum(axis=1)
    columns = np.argsort(-norms, axis=1, kind="stable")[:, :COMPONENT_STARTS, None]
    W = np.take_along_axis(S, columns, axis=1)
    for _ in range(POWER_STEPS):
        W = _truncated(W, card) @ S
    places = _largest_places(W, card)
    data = np.arange(len(S))
    blocks = S[data[:, None, None, None], places[..., :, None], places[..., None, :]]
    values, vectors = np.linalg.eigh(blocks)
    start = np.argmax(values[..., -1], axis=1)
    loadings = np.zeros((len(S), p))
    np.put_along_axis(loadings, places[data, start], vectors[data, start, :, -1], axis=1)
    return values[data, start, -1], loadings


def _largest_places(W: np.ndarray, card: int) -> np.ndarray:
    """Return the indices of the `card` largest entries along the last axis."""
    return np.argpartition(-np.abs(W), card - 1, axis=-1)[..., :card]


def _truncated(W: np.ndarray, card: int) -> np.ndarray:
    """Return W with zeros for all but the `card` largest entries of each row, and rows of unit length."""
    places = _largest_places(W, card)
    V = np.zeros_like(W)
    np.put_along_axis(V, places, np.take_along_axis(W, places, axis=-1), axis=-1)
    lengths = np.linalg.norm(V, axis=-1, keepdims=True)
    return V / np.where(lengths > 0, lengths, 1.0)


def residual_covariances(S: np.ndarray, v: np.ndarray) -> np.ndarray:
    """Return the covariances of the residuals of regressions on the scores of loadings v, shape (f, p, p).

    Parameters
    ----------
    S : ndarray of shape (f, p, p)
    v : ndarray of shape (f, p)
    """
    covariances = np.einsum("fij,fj->fi", S, v)
    variances = np.einsum("fi,fi->f", covariances, v)
    slopes = covariances / np.where(variances > 0, variances, np.inf)[:, None]
    return np.asarray(S - slopes[:, :, None] * covariances[:, None, :])


def sparse_sequence(S: np.ndarray, k: int) -> np.ndarray:
    """Return the loadings of k sparse components, each of the residuals of earlier ones, shape (f, p, k)."""
    loadings = []
    for _ in range(k):
        loadings.append(sparse_components(S)[1])
        S = residual_covariances(S, loadings[-1])
    return np.stack(loadings, axis=2)
