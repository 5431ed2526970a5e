"""Prediction errors of many fits at once, from covariance matrices in memory."""

from __future__ import annotations

import numpy as np

from spcastat.assess.refit import LEAST_NOISE

#: Up to this many variables the errors of many fits are computed at once.
FEW = 200


def batched_press(V: np.ndarray, S: np.ndarray, products: np.ndarray) -> np.ndarray:
    """Return the sums of squared prediction errors of m fits to each of f folds, shape (m, f).

    They are those of :meth:`spcastat.assess.refit.SparseModel.press`, without groups.

    Parameters
    ----------
    V : ndarray of shape (m, f, p, k)
        Loadings, of k < p components.
    S : ndarray of shape (f, p, p)
        Covariance matrices of the rows outside each fold.
    products : ndarray of shape (f, p, p)
        Cross-products of the held-out rows, centred and scaled by the other rows.
    """
    p = V.shape[2]
    total = np.trace(S, axis1=1, axis2=2)
    lengths, turn = np.linalg.eigh(V.mT @ V)
    some = lengths > 1e-10 * lengths[..., -1:]  # the others are zero up to rounding: dependent loadings
    Q = V @ (turn * np.where(some, 1.0 / np.sqrt(np.where(some, lengths, 1.0)), 0.0)[..., None, :])
    variances, axes = np.linalg.eigh(Q.mT @ (S @ Q))
    left_over = (total - variances.sum(axis=-1)) / (p - some.sum(axis=-1))
    noise = np.maximum(left_over, LEAST_NOISE * total / p)[..., None]
    W = Q @ axes
    shrunk = W * (1.0 - noise / np.maximum(variances, noise))[..., None, :]
    image = products @ W
    squares = np.diagonal(products, axis1=1, axis2=2)
    left = squares - 2.0 * (shrunk * image).sum(axis=-1) + ((shrunk @ (W.mT @ image)) * shrunk).sum(axis=-1)
    own = 1.0 - (shrunk * W).sum(axis=-1)
    alone = own <= LEAST_NOISE  # the only variable in its component
    unused = ~V.any(axis=-1)
    errors = np.where(alone | unused, squares, left / np.where(alone, 1.0, own) ** 2)
    return np.asarray(errors.sum(axis=-1))
