"""Orthonormal bases of given columns, and varimax rotation."""

from __future__ import annotations

import numpy as np

from spcastat.kernels.ties import quotients

#: A column depends on earlier columns if its residual on them is shorter than this share of its length.
DEPENDENT = 1e-12


def orthonormalise(T: np.ndarray, dependent: float = DEPENDENT) -> tuple[np.ndarray, np.ndarray]:
    """Orthonormalise columns in their order, by Gram-Schmidt with reorthogonalisation.

    Parameters
    ----------
    T : ndarray of shape (r, k)
    dependent : float
        A column counts as dependent if at most this share of its length remains.

    Returns
    -------
    Q : ndarray of shape (r, k)
        Orthonormal columns; column j is zero if column j of `T` depends on earlier columns.
    remainder : ndarray of shape (k,)
        Length of each column after projecting out earlier columns: the diagonal of R in T = QR.
    """
    columns = np.array(T.T, dtype=float, order="C")
    Q = np.zeros(columns.shape)  # transposed, so that each vector is contiguous
    remainder = np.zeros(len(columns))
    for j, q in enumerate(columns):
        length = np.linalg.norm(q)
        if j:
            for _ in range(2):
                q = q - (Q[:j] @ q) @ Q[:j]
        left = np.linalg.norm(q)
        if left > dependent * length:
            Q[j] = q / left
            remainder[j] = left
    return Q.T, remainder


def straightened(vectors: np.ndarray) -> np.ndarray:
    """Return an orthonormal basis, shape (p, m), of the span of linearly independent vectors.

    If the vectors are nearly orthonormal already, as is usual, the Cholesky factor of their inner products is
    used. It then loses no accuracy and takes a tenth of the time of a Householder QR decomposition.
    """
    if vectors.shape[1]:
        try:
            root = np.linalg.cholesky(vectors.T @ vectors)
        except np.linalg.LinAlgError:
            root = np.zeros((1, 1))
        if np.diag(root).min() > 0.5:
            return np.asarray(vectors @ np.linalg.inv(root).T)
    return np.linalg.qr(vectors)[0]


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
