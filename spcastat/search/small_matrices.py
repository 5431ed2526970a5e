"""Batches of small, possibly singular matrices: factors and eigenvectors; the largest entries of rows."""

from __future__ import annotations

from math import prod

import numpy as np

from spcastat.kernels.eig import bordered_lower

#: Added to the diagonal of correlation matrices before they are factored, as columns may be dependent.
JITTER = 1e-12
#: A column counts as dependent if less than this share of it remains given the earlier columns.
DEPENDENT = 1e-9
#: Squared lengths below this count as zero; the total variance is one.
NOTHING = 1e-14
#: Smallest divisor.
SMALLEST = float(np.finfo(float).tiny / np.finfo(float).eps)


def divisor(x: np.ndarray, sound: np.ndarray) -> np.ndarray:
    """Return x where `sound`, and one elsewhere, as a divisor; quotients elsewhere are not used."""
    return np.where(sound, x, 1.0)


def well_apart(G: np.ndarray) -> bool:
    """Return whether the columns V of G = V'MV, shape (k, k), are clearly linearly independent."""
    size = np.sqrt(np.maximum(np.diag(G), NOTHING))
    return bool(np.diag(G).min() > NOTHING and np.linalg.eigvalsh(G / np.outer(size, size))[0] > DEPENDENT)


def factor(G: np.ndarray, jitter: float = JITTER) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Return lower Cholesky factors of G scaled to correlations, the scales, and which columns are nonzero.

    The shapes are (..., k, k), (..., k) and (..., k). Singular matrices are allowed.
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
    except np.linalg.LinAlgError:  # rounding has made the matrix indefinite
        values, turn = np.linalg.eigh(K)
        root = np.sqrt(np.maximum(values, JITTER))[..., None, :] * turn
        L = np.asarray(np.linalg.qr(root.mT, mode="r")).mT
        L = L * np.sign(np.einsum("...ii->...i", L))[..., None, :]
    return L, size, present


#: Entries that differ by less than this share tie; the lowest index wins.
TIE = 1e-10
#: Added to the diagonal of B, scaled to correlations, before it is factored.
RIDGE = 1e-9


def taken(x: np.ndarray, places: np.ndarray) -> np.ndarray:
    """Return the entries at `places` along the last axis, which alone may be of another length.

    The same as `numpy.take_along_axis`, which takes three times as long for a few dozen entries.
    """
    *shape, m = x.shape
    return np.asarray(x.take(places + m * np.arange(prod(shape)).reshape(*shape, 1)))


def largest(keys: np.ndarray, count: int) -> np.ndarray:
    """Return the ascending indices of the `count` largest entries along the last axis; ties by lowest index.

    Parameters
    ----------
    keys : ndarray of shape (..., m)
        The largest entries must not be negative.
    count : int
    """
    m = keys.shape[-1]
    if count >= m:
        return np.broadcast_to(np.arange(m), keys.shape).copy()
    levelled = keys * (1.0 - TIE * np.arange(m) / m)
    return np.sort(np.argpartition(-levelled, count - 1, axis=-1)[..., :count], axis=-1)


def ranked(keys: np.ndarray, count: int) -> np.ndarray:
    """Return the indices of the `count` largest entries of each row, shape (B, count), the largest first."""
    m = keys.shape[1]
    tilt = TIE * np.abs(keys).max(axis=1, keepdims=True, initial=0.0)
    levelled = keys - tilt * np.arange(m) / m
    count = min(count, m)
    if count < m:
        some = np.argpartition(-levelled, count - 1, axis=1)[:, :count]
        order = np.argsort(-taken(levelled, some), axis=1, kind="stable")
        return taken(some, order)
    return np.argsort(-levelled, axis=1, kind="stable")


def hard(W: np.ndarray, card: int, own: np.ndarray | None = None) -> tuple[np.ndarray, np.ndarray]:
    """Return the indices of the largest absolute entries along the last axis, and the entries at unit length.

    `own`, shape (B,), is the number of entries of each W[b] that are kept; the others are set to zero. A row
    of zeros becomes the first unit vector, as any direction is equally good.
    """
    places = largest(np.abs(W), card)
    x = taken(W, places)
    if own is not None:
        rank = np.argsort(np.argsort(-np.abs(x), axis=-1, kind="stable"), axis=-1)
        x[rank >= own.reshape(-1, *[1] * (x.ndim - 1))] = 0.0
    return places, unit(x)


def products_at(F: np.ndarray, places: np.ndarray, x: np.ndarray) -> np.ndarray:
    """Return F v, shape (B, ..., k), for F of shape (B, k, m) and sparse columns v, shape (B, ..., c)."""
    fit = np.arange(len(F)).reshape(-1, *[1] * (places.ndim - 1))
    return np.matmul(x[..., None, :], F[fit, :, places])[..., 0, :]


def unit(x: np.ndarray) -> np.ndarray:
    """Scale to unit length along the last axis; zeros become the first unit vector."""
    size = np.abs(x).max(axis=-1, keepdims=True)
    x = x / divisor(size, size > 0)
    lengths = np.sqrt((x * x).sum(axis=-1, keepdims=True))
    x = x / divisor(lengths, lengths > 0)
    x[..., 0] += lengths[..., 0] == 0
    return x


def whitening(B: np.ndarray) -> np.ndarray:
    """Return K, shape (..., s, s), with K B K' close to the identity; B may be singular."""
    diagonal = np.einsum("...ii->...i", B)
    floor = RIDGE * np.maximum(diagonal.max(axis=-1, keepdims=True), RIDGE)
    size = np.sqrt(np.maximum(diagonal, floor))
    C = B / (size[..., :, None] * size[..., None, :])
    s = B.shape[-1]
    C[..., np.arange(s), np.arange(s)] = 1.0 + RIDGE
    try:
        root = np.linalg.cholesky(C)
    except np.linalg.LinAlgError:  # an eigenvalue is negative by rounding
        C[..., np.arange(s), np.arange(s)] = 1.0 + 1e3 * RIDGE
        values, turn = np.linalg.eigh(C)
        shrunk = turn / np.sqrt(np.maximum(values, RIDGE))[..., None, :]
        return shrunk.mT / size[..., None, :]
    return np.linalg.inv(root) / size[..., None, :]


def eigen(A: np.ndarray, B: np.ndarray | None) -> tuple[np.ndarray, np.ndarray]:
    """Return eigenvalues of A relative to B, ascending, and U with U'AU diagonal and U'BU close to I."""
    if B is None:
        return np.linalg.eigh(A)
    K = whitening(B)
    values, turn = np.linalg.eigh(K @ A @ K.mT)
    return values, K.mT @ turn


def best_vectors(A: np.ndarray, B: np.ndarray | None) -> np.ndarray:
    """Return the unit vectors, shape (..., s), of largest ratio v'Av / v'Bv."""
    return unit(eigen(A, B)[1][..., -1])


def after_bordering(values: np.ndarray, coupling: np.ndarray, corner: np.ndarray) -> np.ndarray:
    """Return lower bounds on the largest eigenvalues of diagonal matrices with one more row and column.

    Parameters
    ----------
    values : ndarray of shape (..., s)
    coupling : ndarray of shape (..., s, w)
        The borders, one per column.
    corner : ndarray of shape (..., w)

    Returns
    -------
    ndarray of shape (..., w)
    """
    squares = np.moveaxis(coupling, -2, 0) ** 2
    # the total variance is one
    squares = np.where(squares > 1e-30, squares, 0.0)
    with np.errstate(over="ignore"):  # at a pole the slope overflows and the step is zero
        return bordered_lower(np.moveaxis(values, -1, 0)[..., None], squares, corner, 2)  # enough to rank by
