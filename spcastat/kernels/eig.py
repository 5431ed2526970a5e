"""Leading eigenpairs of a symmetric positive semidefinite matrix, dense or given by its products."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import scipy.linalg

from spcastat.kernels.ties import flip_signs

#: Up to this order LAPACK is at least as fast as Lanczos and always finds every pair.
DENSE_ORDER = 500


def top_eigh(S: np.ndarray, k: int) -> tuple[np.ndarray, np.ndarray]:
    """Return the k largest eigenvalues, descending, and their eigenvectors, shape (p, k), of `S`."""
    p = S.shape[0]
    values, vectors = scipy.linalg.eigh(S, subset_by_index=[p - k, p - 1] if k < p else None)
    return _tidy(values, vectors)


def top_lanczos(
    product: Callable[[np.ndarray], np.ndarray], p: int, k: int, start: np.ndarray
) -> tuple[np.ndarray, np.ndarray]:
    """Return what `top_eigh` does for a matrix of order `p` known by its products with vectors.

    `start`, shape (p,), is where the iteration begins: the same start gives the same bits.
    """
    from scipy.sparse.linalg import ArpackNoConvergence, LinearOperator, eigsh

    if p <= DENSE_ORDER or k >= p - 1:
        return top_eigh(_symmetric(product(np.eye(p))), k)
    operator = LinearOperator((p, p), matvec=product, matmat=product, dtype=np.dtype(float))
    try:
        values, vectors = eigsh(operator, k=k, v0=start, which="LA", ncv=min(p, max(2 * k + 1, 20)))
    except ArpackNoConvergence:
        values, vectors = eigsh(operator, k=k, v0=start, which="LA", ncv=min(p, 6 * k + 60), maxiter=100 * p)
    return _tidy(values, vectors)


def top_dense(S: np.ndarray, k: int, start: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Return the k leading eigenpairs of a dense `S` by whichever route costs less."""
    p = S.shape[0]
    if p <= DENSE_ORDER or 10 * k > p:
        return top_eigh(S, k)
    return top_lanczos(lambda v: S @ v, p, k, start)


def bordered_top(values: np.ndarray, coupling: np.ndarray, corner: np.ndarray) -> np.ndarray:
    """Return the largest eigenvalue of [[diag(values), b], [b', d]] for many b and d at once.

    Parameters
    ----------
    values : ndarray of shape (s,)
        Eigenvalues of the block that all problems share.
    coupling : ndarray of shape (s, m)
        The borders b, one a column, in the block's eigenvector basis.
    corner : ndarray of shape (m,)
        The corners d.

    Returns
    -------
    ndarray of shape (m,)

    Notes
    -----
    The secular function mu - d - sum_i b_i^2 / (mu - values_i) is increasing and concave right of the
    largest value, so Newton steps from a lower bound rise to the root without overshooting. The bound is
    the largest eigenvalue of the 2 x 2 matrices that pair one eigenvector of the block with the border.
    """
    squares = coupling**2
    half_sum = 0.5 * (values[:, None] + corner)
    half_gap = 0.5 * (values[:, None] - corner)
    mu = (half_sum + np.sqrt(half_gap**2 + squares)).max(axis=0)
    scale = max(float(np.abs(mu).max()), np.finfo(float).tiny)
    tiny = (1e-15 * scale) ** 2
    for _ in range(60):
        gap = np.maximum(mu[None, :] - values[:, None], 1e-300)
        term = np.where(squares > tiny, squares / gap, 0.0)
        miss = mu - corner - term.sum(axis=0)
        step = -miss / (1.0 + (term / gap).sum(axis=0))
        step = np.where(step > 0, step, 0.0)
        mu = mu + step
        if step.max() <= 1e-15 * scale:
            break
    return mu


def _symmetric(S: np.ndarray) -> np.ndarray:
    return 0.5 * (S + S.T)


def _tidy(values: np.ndarray, vectors: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    order = np.argsort(values)[::-1]
    vectors = vectors[:, order]
    return values[order], vectors * flip_signs(vectors)
