"""Leading eigenpairs from few products with blocks of vectors, each of which is a pass over the rows."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from spcastat.config import warn
from spcastat.errors import ConvergenceWarning
from spcastat.kernels.eig import symmetric
from spcastat.kernels.orthonormal import straightened

#: Vectors beyond the k that are asked for.
OVERSAMPLING = 10
#: The same where few products are made: of a block several times as wide each costs little more.
WIDE = 40
#: Products, at most.
PASSES = 30
#: How exact eigenvalues must be, as a share of the largest.
ACCURACY = 1e-11
#: Numbers in the basis, at most; then it is reduced to the best vectors in it.
BASIS = 10_000_000
#: Directions shorter than this share of the largest eigenvalue are rounding.
NOTHING = 1e-13


@dataclass(frozen=True, eq=False)
class Leading:
    """What is known of the largest eigenvalues after some products.

    Attributes
    ----------
    values : ndarray of shape (k,)
        Descending. Each sum of the first of them is at most that of the eigenvalues themselves.
    vectors : ndarray of shape (p, k)
        Orthonormal.
    errors : ndarray of shape (k,)
        By how much the values may be too small: an estimate, good once they converge.
    passes : int
        Products that were made.
    """

    values: np.ndarray
    vectors: np.ndarray
    errors: np.ndarray
    passes: int

    @property
    def exact(self) -> bool:
        """Whether the values are exact to ACCURACY of the largest."""
        return bool(self.errors.max() <= ACCURACY * max(float(self.values[0]), 0.0))


def block_lanczos(
    dot: Callable[[np.ndarray], np.ndarray], p: int, k: int, seed: int, title: str, passes: int | None = None
) -> tuple[np.ndarray, np.ndarray]:
    """Return the k largest eigenvalues, descending, and eigenvectors of a positive semidefinite matrix.

    Parameters
    ----------
    dot : callable
        Products with the matrix S: V of shape (p, m) -> S V.
    p, k : int
    seed : int
        Of the first block.
    title : str
        What the rows are, for the warning.
    passes : int, optional
        Products, at most; PASSES by default.

    Returns
    -------
    values : ndarray of shape (k,)
    vectors : ndarray of shape (p, k)

    Warns
    -----
    ConvergenceWarning
        Where so many products were not enough.
    """
    found = krylov(dot, p, k, seed, passes or PASSES)
    if not found.exact:
        warn(
            f"The {k} leading principal components of {title} are exact to "
            f"{found.errors.max() / found.values[0]:.1e} of the largest variance only, after {found.passes} "
            "passes over the rows: several variances are nearly equal.",
            ConvergenceWarning,
        )
    return found.values, found.vectors


def krylov(
    dot: Callable[[np.ndarray], np.ndarray],
    p: int,
    k: int,
    seed: int,
    passes: int,
    oversampling: int = OVERSAMPLING,
) -> Leading:
    """Return what so many products at most tell of the k largest eigenvalues and their eigenvectors.

    Rayleigh-Ritz on the whole block Krylov space of a random block, with full reorthogonalisation and thick
    restarts: Golub and Van Loan (2013), Matrix Computations, section 10.3. What a few products give is
    analysed in Musco and Musco (2015), "Randomized block Krylov methods for stronger and faster approximate
    singular value decomposition", NeurIPS.

    Parameters
    ----------
    dot, p, k, seed
        As for :func:`block_lanczos`.
    passes : int
    oversampling : int
        Vectors of a block beyond k.

    Notes
    -----
    The error of an eigenvalue is at most its residual, and the square of that over the distance to the
    eigenvalues that are not asked for.
    """
    size = min(k + oversampling, p)
    most = max(BASIS // p, 4 * size)
    rng = np.random.default_rng(seed)
    block = np.linalg.qr(rng.standard_normal((p, size)))[0]
    basis, image = np.empty((p, 0)), np.empty((p, 0))
    for made in range(1, passes + 1):
        product = dot(block)
        basis, image = np.hstack([basis, block]), np.hstack([image, product])
        T = basis.T @ image
        values, inner = np.linalg.eigh(symmetric(T))
        values, inner = values[::-1], inner[:, ::-1]
        residuals = image @ inner[:, :k] - (basis @ inner[:, :k]) * values[:k]
        length = np.linalg.norm(residuals, axis=0)
        errors = _error(values, length, k)
        if made < passes or basis.shape[1] == p:
            block = _beyond(product, basis, NOTHING * max(float(values[0]), 0.0))
            errors = errors if block.shape[1] else np.zeros(k)
        found = Leading(values[:k].clip(min=0.0), basis @ inner[:, :k], errors, made)
        if found.exact or made == passes:
            break
        if basis.shape[1] + block.shape[1] > most:
            basis, image = basis @ inner[:, :size], image @ inner[:, :size]
    return found


def _error(values: np.ndarray, residuals: np.ndarray, k: int) -> np.ndarray:
    """Return bounds of the errors of the first k values."""
    if len(values) <= k:
        return residuals
    gap = values[:k] - values[k]
    safe = np.where(gap > residuals, gap, np.inf)
    return np.where(gap > residuals, residuals**2 / safe, residuals)


def _beyond(product: np.ndarray, basis: np.ndarray, nothing: float) -> np.ndarray:
    """Return an orthonormal basis of what of `product` is not in the span of `basis`."""
    left = product
    for _ in range(2):
        left = left - basis @ (basis.T @ left)
    U, sizes, _ = np.linalg.svd(left, full_matrices=False)
    found = U[:, sizes > nothing]
    for _ in range(2):
        found = straightened(found - basis @ (basis.T @ found))
    return found[:, : basis.shape[0] - basis.shape[1]]
