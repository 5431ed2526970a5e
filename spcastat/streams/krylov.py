"""Leading eigenpairs by block Krylov methods, which need few products; each is a pass over the rows."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from spcastat.config import warn
from spcastat.errors import ConvergenceWarning
from spcastat.kernels.eig import symmetric
from spcastat.kernels.orthonormal import straightened

#: A block has k + WIDE vectors if there will be few products: a wider block makes each only slightly slower.
WIDE = 40
#: Largest number of products.
PASSES = 30
#: Accuracy of the eigenvalues, as a share of the largest.
ACCURACY = 1e-11
#: Largest number of elements of the basis; a larger basis is reduced to its best vectors.
BASIS = 10_000_000


@dataclass(frozen=True, eq=False)
class Leading:
    """Approximations of the largest eigenvalues and their eigenvectors after some products.

    Attributes
    ----------
    values : ndarray of shape (k,)
        Descending. Their partial sums are at most those of the eigenvalues.
    vectors : ndarray of shape (p, k)
        Orthonormal.
    errors : ndarray of shape (k,)
        Estimates of how much the values are too small; reliable near convergence.
    passes : int
        Number of products that were made.
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
        Returns the product S V with the matrix S, for V of shape (p, m).
    p, k : int
    seed : int
        Seed of the first, random block.
    title : str
        Name of the rows in the warning.
    passes : int, optional
        Largest number of products; PASSES by default.

    Returns
    -------
    values : ndarray of shape (k,)
    vectors : ndarray of shape (p, k)

    Warns
    -----
    ConvergenceWarning
        If the values have not converged after so many products.
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
    dot: Callable[[np.ndarray], np.ndarray], p: int, k: int, seed: int, passes: int, oversampling: int = 10
) -> Leading:
    """Approximate the k largest eigenvalues and their eigenvectors from at most `passes` products.

    Rayleigh-Ritz on the block Krylov space of a random block, with full reorthogonalisation and thick
    restarts: Golub and Van Loan (2013), Matrix Computations, section 10.3. For the accuracy after a few
    products see Musco and Musco (2015), "Randomized block Krylov methods for stronger and faster approximate
    singular value decomposition", NeurIPS.

    Parameters
    ----------
    dot, p, k, seed
        As for :func:`block_lanczos`.
    passes : int
    oversampling : int
        Number of vectors of a block in addition to k.

    Notes
    -----
    The error of an eigenvalue is at most its residual r, and at most r^2 divided by the distance to the
    eigenvalues beyond the k-th.
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
            # new directions shorter than 1e-13 of the largest eigenvalue are rounding
            block = _beyond(product, basis, 1e-13 * max(float(values[0]), 0.0))
            errors = errors if block.shape[1] else np.zeros(k)
        found = Leading(values[:k].clip(min=0.0), basis @ inner[:, :k], errors, made)
        if found.exact or made == passes:
            break
        if basis.shape[1] + block.shape[1] > most:
            basis, image = basis @ inner[:, :size], image @ inner[:, :size]
    return found


def _error(values: np.ndarray, residuals: np.ndarray, k: int) -> np.ndarray:
    """Return bounds on the errors of the first k values, from the lengths of their residuals."""
    if len(values) <= k:
        return residuals
    gap = values[:k] - values[k]
    safe = np.where(gap > residuals, gap, np.inf)
    return np.where(gap > residuals, residuals**2 / safe, residuals)


def _beyond(product: np.ndarray, basis: np.ndarray, nothing: float) -> np.ndarray:
    """Return an orthonormal basis of the part of `product` that is orthogonal to `basis`."""
    left = product
    for _ in range(2):
        left = left - basis @ (basis.T @ left)
    U, sizes, _ = np.linalg.svd(left, full_matrices=False)
    found = U[:, sizes > nothing]
    for _ in range(2):
        found = straightened(found - basis @ (basis.T @ found))
    return found[:, : basis.shape[0] - basis.shape[1]]
