"""Leading eigenvalues and eigenvectors of symmetric matrices, and of matrices with a row and column more."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from spcastat.kernels.ties import flip_signs, settled, tie_width

#: Up to this order LAPACK is at least as fast as Lanczos and always finds every pair.
DENSE_ORDER = 500
#: Up to this order NumPy finds all pairs: they cost little more than a few, scipy.linalg need not be
#: imported, and its threads and those of NumPy do not wait for one another (up to ten times as long).
WHOLE_ORDER = 250


def top_eigh(S: np.ndarray, k: int) -> tuple[np.ndarray, np.ndarray]:
    """Return the k largest eigenvalues, descending, and their eigenvectors, shape (p, k), of `S`.

    Vectors of equal eigenvalues are those that `settled` chooses.
    """
    values, vectors = settled(*whole_groups(S, k))
    return values[:k], vectors[:, :k]


def whole_groups(S: np.ndarray, k: int) -> tuple[np.ndarray, np.ndarray]:
    """Return at least k leading eigenpairs, descending: none is cut off from others of equal value."""
    p = S.shape[0]
    m = min(k + 1, p)
    while True:
        if p <= WHOLE_ORDER:
            m = p
        values, vectors = largest_pairs(S, m)
        values, vectors = values[::-1], vectors[:, ::-1]
        apart = np.flatnonzero(values[k:] < values[k - 1] - tie_width(values[k - 1], values[0]))
        if apart.size:
            last = k + int(apart[0])
            return values[:last], vectors[:, :last]
        if m == p:
            return values, vectors
        m = min(2 * m, p)


def largest_pairs(S: np.ndarray, m: int) -> tuple[np.ndarray, np.ndarray]:
    """Return the m largest eigenvalues, ascending, and their eigenvectors."""
    if m < S.shape[0]:
        from scipy.linalg import eigh

        try:
            values, vectors = eigh(S, subset_by_index=[S.shape[0] - m, S.shape[0] - 1])
        except np.linalg.LinAlgError:
            values = vectors = np.empty(0)
        if len(values) == m:  # in large groups of equal values LAPACK's routine may fail, or lose some
            return values, vectors
    values, vectors = np.linalg.eigh(S)
    return values[-m:], vectors[:, -m:]


def largest_value(S: np.ndarray) -> float:
    """Return the largest eigenvalue."""
    from scipy.linalg import eigh

    last = S.shape[0] - 1
    try:
        values = eigh(S, subset_by_index=[last, last], eigvals_only=True)
    except np.linalg.LinAlgError:  # see largest_pairs
        values = np.empty(0)
    return float(values[0] if len(values) else np.linalg.eigvalsh(S)[-1])


def top_lanczos(
    product: Callable[[np.ndarray], np.ndarray], p: int, k: int, start: np.ndarray, basis: int = 20
) -> tuple[np.ndarray, np.ndarray]:
    """Return what `top_eigh` does for a matrix of order `p` known by its products with vectors.

    `start`, shape (p,), is where the iteration begins: the same start gives the same bits. `basis` vectors or
    more are kept between restarts: with more of them fewer products are needed.
    """
    from scipy.sparse.linalg import ArpackNoConvergence, LinearOperator, eigsh

    if p <= DENSE_ORDER or k >= p - 1:
        return top_eigh(symmetric(product(np.eye(p))), k)
    operator = LinearOperator((p, p), matvec=product, matmat=product, dtype=np.dtype(float))
    try:
        values, vectors = eigsh(operator, k=k, v0=start, which="LA", ncv=min(p, max(2 * k + 1, basis)))
    except ArpackNoConvergence:
        values, vectors = eigsh(operator, k=k, v0=start, which="LA", ncv=min(p, 6 * k + 60), maxiter=100 * p)
    return _tidy(values, vectors)


def top_dense(S: np.ndarray, k: int, start: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Return the k leading eigenpairs of a dense `S` by whichever route costs less."""
    if len(S) <= DENSE_ORDER or 10 * k > len(S):
        return top_eigh(S, k)
    return top_lanczos(lambda v: S @ v, len(S), k, start)


def bordered_top(values: np.ndarray, coupling: np.ndarray, corner: np.ndarray) -> np.ndarray:
    """Return the largest eigenvalue of [[diag(values), b], [b', d]] for many b and d at once.

    Parameters
    ----------
    values : ndarray of shape (..., s)
        Eigenvalues of the block that the m problems share.
    coupling : ndarray of shape (..., s, m)
        The borders b, one a column, in the block's eigenvector basis.
    corner : ndarray of shape (..., m)
        The corners d.

    Returns
    -------
    ndarray of shape (..., m)

    Notes
    -----
    With x the distance of the root from the largest value, the secular function is x + c less one term
    w / (x + gap) for each value. All terms but those of the largest value are increasing and concave
    together, so their tangent lies above them, and the root of the tangent with the remaining term, a
    quadratic, rises to the true root from any lower bound. The first bound is the largest eigenvalue of
    the 2 x 2 matrices that pair one eigenvector of the block with the border.
    """
    largest = values.max(axis=-1)[..., None, None]
    gaps = largest - values[..., :, None]
    below = corner - largest[..., 0]
    weights = coupling**2
    half_sum, half_gap = 0.5 * (below[..., None, :] - gaps), 0.5 * (below[..., None, :] + gaps)
    root = np.sqrt(half_gap**2 + weights)
    x = np.maximum((half_sum + root).max(axis=-2), 0.0)
    if x.size == 0:
        return largest[..., 0] + x
    scale = np.abs(values).max(axis=-1)[..., None] + np.abs(corner) + np.sqrt(weights.max(axis=-2))
    at_largest = gaps <= 1e-15 * scale[..., None, :]
    pole = np.where(at_largest, weights, 0.0).sum(axis=-2)
    weights = np.where(at_largest, 0.0, weights)
    gaps = np.where(at_largest, 1.0, gaps)
    for _ in range(100):
        term = weights / (x[..., None, :] + gaps)
        slope = 1.0 + (term / (x[..., None, :] + gaps)).sum(axis=-2)
        offset = x - below - term.sum(axis=-2) - slope * x
        size = np.sqrt(offset**2 + 4.0 * slope * pole)
        with np.errstate(divide="ignore", invalid="ignore"):
            new = np.where(offset > 0, 2.0 * pole / (offset + size), (size - offset) / (2.0 * slope))
        step = new - x
        x = np.maximum(new, x)
        if (step <= 1e-15 * scale).all():
            break
    return largest[..., 0] + x


def symmetric(S: np.ndarray) -> np.ndarray:
    """Return the mean of a matrix and its transpose."""
    return 0.5 * (S + S.T)


def _tidy(values: np.ndarray, vectors: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    order = np.argsort(values)[::-1]
    vectors = vectors[:, order]
    return values[order], vectors * flip_signs(vectors)


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
