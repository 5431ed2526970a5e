"""The covariance operator of a stream, and its leading eigenvectors by Krylov iterations."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np

from spcastat.arguments import warn
from spcastat.errors import ConvergenceWarning
from spcastat.linalg.accumulate import ColumnSums, CrossProducts, blocks, is_sparse, product
from spcastat.linalg.eigenvectors import canonical_eigenvectors, straightened, symmetric
from spcastat.linalg.operators import FAR_MEAN, Operator, unit_vectors
from spcastat.linalg.standardisation import Standardisation, is_constant
from spcastat.streams.base import Stream

# --- Krylov iterations ----------------------------------------------------------------------------


#: If few products are made, a block has k + EXTRA_VECTORS vectors: a wider block makes each product only
#: slightly slower.
EXTRA_VECTORS = 40
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
        Descending. Their partial sums are at most the partial sums of the eigenvalues.
    vectors : ndarray of shape (p, k)
        Orthonormal.
    errors : ndarray of shape (k,)
        Estimates of how much the values fall below the eigenvalues; reliable near convergence.
    passes : int
        Number of products that were made.
    """

    values: np.ndarray
    vectors: np.ndarray
    errors: np.ndarray
    passes: int

    @property
    def exact(self) -> bool:
        """Whether the values are accurate to ACCURACY times the largest."""
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
        If the values have not converged after `passes` products.
    """
    leading = krylov(dot, p, k, seed, passes or PASSES)
    if not leading.exact:
        warn(
            f"The {k} leading principal components of {title} are exact to "
            f"{leading.errors.max() / leading.values[0]:.1e} of the largest variance only, after "
            f"{leading.passes} "
            "passes over the rows: several variances are nearly equal.",
            ConvergenceWarning,
        )
    return leading.values, leading.vectors


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
    max_columns = max(BASIS // p, 4 * size)
    rng = np.random.default_rng(seed)
    block = np.linalg.qr(rng.standard_normal((p, size)))[0]
    basis, image = np.empty((p, 0)), np.empty((p, 0))
    for passes_made in range(1, passes + 1):
        product = dot(block)
        basis, image = np.hstack([basis, block]), np.hstack([image, product])
        T = basis.T @ image
        values, inner = np.linalg.eigh(symmetric(T))
        values, inner = values[::-1], inner[:, ::-1]
        residuals = image @ inner[:, :k] - (basis @ inner[:, :k]) * values[:k]
        length = np.linalg.norm(residuals, axis=0)
        errors = _error(values, length, k)
        if passes_made < passes or basis.shape[1] == p:
            # new directions shorter than 1e-13 times the largest eigenvalue are rounding errors
            block = _orthogonal_basis(product, basis, 1e-13 * max(float(values[0]), 0.0))
            errors = errors if block.shape[1] else np.zeros(k)
        leading = Leading(values[:k].clip(min=0.0), basis @ inner[:, :k], errors, passes_made)
        if leading.exact or passes_made == passes:
            break
        if basis.shape[1] + block.shape[1] > max_columns:
            basis, image = basis @ inner[:, :size], image @ inner[:, :size]
    return leading


def _error(values: np.ndarray, residuals: np.ndarray, k: int) -> np.ndarray:
    """Return bounds on the errors of the first k values, from the lengths of their residuals."""
    if len(values) <= k:
        return residuals
    gap = values[:k] - values[k]
    safe = np.where(gap > residuals, gap, np.inf)
    return np.where(gap > residuals, residuals**2 / safe, residuals)


def _orthogonal_basis(product: np.ndarray, basis: np.ndarray, nothing: float) -> np.ndarray:
    """Return an orthonormal basis of the part of `product` that is orthogonal to `basis`."""
    residual = product
    for _ in range(2):
        residual = residual - basis @ (basis.T @ residual)
    U, sizes, _ = np.linalg.svd(residual, full_matrices=False)
    directions = U[:, sizes > nothing]
    for _ in range(2):
        directions = straightened(directions - basis @ (basis.T @ directions))
    return directions[:, : basis.shape[0] - basis.shape[1]]


# --- the operator ---------------------------------------------------------------------------------


class ProductSums:
    """Accumulator of the products X'W X V with centred rows X and weights W.

    Parameters
    ----------
    mean : ndarray of shape (p,)
    V : ndarray of shape (p, m)
    far : bool
        Whether to convert sparse rows to dense blocks, because their means are far from zero.

    Attributes
    ----------
    result : ndarray of shape (p, m)
    """

    def __init__(self, mean: np.ndarray, V: np.ndarray, far: bool):
        self.mean = mean
        self.V = V
        self.far = far
        self.result = np.zeros(V.shape)

    @property
    def nbytes(self) -> int:
        """Size of the sums in bytes."""
        return int(self.result.nbytes)

    def add(self, X: Any, weights: np.ndarray | None) -> None:
        if is_sparse(X) and not self.far:
            U = product(X, self.V) - self.mean @ self.V
            if weights is not None:
                U *= weights[:, None]
            self.result += product(X.T, U) - np.outer(self.mean, U.sum(axis=0))
            return
        by_rows = X.tocsr() if is_sparse(X) else X
        for rows in blocks(*X.shape):
            block = by_rows[rows].toarray() if is_sparse(by_rows) else by_rows[rows]
            Y = block - self.mean
            U = Y @ self.V
            if weights is not None:
                U *= weights[rows, None]
            self.result += Y.T @ U

    def merge(self, sums: ProductSums) -> None:
        self.result += sums.result

    def pack(self) -> None:
        """Drop V and the means, which merging does not need, so that they are not sent."""
        self.V, self.mean = self.V[:0], self.mean[:0]


class StreamRows(Operator):
    """The operator of rows that are never all in memory; products are passes over the rows.

    Parameters
    ----------
    stream : Stream
    sums : ColumnSums
        Means and sums of squares of all columns.
    positive : int
        Number of rows whose weight is not zero.
    standard : Standardisation

    Attributes
    ----------
    passes : int
        Number of passes over the rows so far, without the one for `sums`.
    """

    #: Products are slow: methods that need hundreds of them are refused.
    out_of_core = True

    def __init__(self, stream: Stream, sums: ColumnSums, positive: int, standard: Standardisation):
        self.stream = stream
        self.standard = standard
        self.p = stream.p
        self.rank_limit = min(positive - int(standard.centring == "mean"), self.p)
        self.passes = 0
        self._divisor = sums.weight - 1.0
        variances = (sums.squares + sums.weight * (sums.mean - standard.mean) ** 2) / self._divisor
        still = is_constant(standard.mean, variances)
        self._multiplier = np.where(still, 0.0, 1.0 / standard.scale)
        self._variances = variances * self._multiplier**2
        self._far = bool(np.any(standard.mean[~still] ** 2 > FAR_MEAN**2 * variances[~still]))
        self._products: dict[tuple[tuple[int, ...], bytes], np.ndarray] = {}
        self._block: tuple[np.ndarray, np.ndarray] | None = None  # variables, ascending, and their block of S
        self._leading: tuple[int, int, np.ndarray, np.ndarray] | None = None
        self._sketch: tuple[np.ndarray, np.ndarray, np.ndarray] | None = None

    def dot(self, V: np.ndarray) -> np.ndarray:
        V = np.asarray(V, dtype=float)
        key = V.shape, V.tobytes()
        if key not in self._products:
            while len(self._products) >= 4:  # a small cache: several measures need the same product
                del self._products[next(iter(self._products))]
            self._products[key] = self._pass(V, "products with the covariance matrix")
        return self._products[key].copy()

    def columns(self, J: np.ndarray) -> np.ndarray:
        return self._pass(unit_vectors(self.p, J), "columns of the covariance matrix")

    def divided(self, unit: float) -> StreamRows:
        self._multiplier = self._multiplier / unit
        self._variances = self._variances / unit**2
        self._products, self._block = {}, None
        return self

    def block(self, J: np.ndarray) -> np.ndarray:
        J = np.asarray(J)
        begin = partial(CrossProducts, len(J), J)
        sums = self._reduce(begin, f"cross-products of {len(J)} variables").result
        products = sums.products if self.standard.centring == "mean" else sums.about(self.standard.mean[J])
        S = products / self._divisor * np.outer(self._multiplier[J], self._multiplier[J])
        if np.all(J[1:] > J[:-1]):
            self._block = J, S
        return S.copy()

    def forms(self, V: np.ndarray) -> np.ndarray:
        return np.diag(self.products(V)) if self._in_block(V) else super().forms(V)

    def products(self, V: np.ndarray) -> np.ndarray:
        """Return V'SV, without a pass over the rows if the last block contains all variables of `V`."""
        if self._block is None or not self._in_block(V):
            return super().products(V)
        variables, S = self._block
        return symmetric(V[variables].T @ S @ V[variables])

    def _in_block(self, V: np.ndarray) -> bool:
        """Whether the last block of cross-products contains all variables of `V`."""
        return self._block is not None and bool(np.isin(np.flatnonzero(V.any(axis=1)), self._block[0]).all())

    def leading(self, k: int, seed: int = 0) -> tuple[np.ndarray, np.ndarray]:
        """Return the k largest eigenvalues, descending, and unit eigenvectors, shape (p, k).

        Warns
        -----
        ConvergenceWarning
            If the eigenvalues are not accurate to ten digits after thirty passes, or `most_passes`.
        """
        if self._leading is None or self._leading[1] != seed or self._leading[0] < k:
            product = partial(self._pass, task="leading components")
            title, max_passes = self.stream.title, self.most_passes
            values, vectors = block_lanczos(product, self.p, k, seed, title, max_passes)
            self._leading = (k, seed, *canonical_eigenvectors(values, vectors))
        _, _, values, vectors = self._leading
        return values[:k].copy(), vectors[:, :k].copy()

    def sketched(self, k: int) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        if self._leading is not None and self._leading[0] >= k:
            return *self.leading(k, self._leading[1]), np.zeros(k)
        if self._sketch is None or len(self._sketch[0]) < k:
            product = partial(self._pass, task="leading components")
            leading = krylov(product, self.p, k, 0, self.most_passes or 4, EXTRA_VECTORS)
            values, vectors = canonical_eigenvectors(leading.values, leading.vectors)
            if leading.exact:
                self._leading = (k, 0, values, vectors)
            self._sketch = values, vectors, np.zeros(k) if leading.exact else leading.errors
        values, vectors, errors = self._sketch
        return values[:k].copy(), vectors[:, :k].copy(), errors[:k].copy()

    def _pass(self, V: np.ndarray, task: str) -> np.ndarray:
        """Return S V after one pass."""
        single = V.ndim == 1
        scaled = self._multiplier[:, None] * (V[:, None] if single else V)
        begin = partial(ProductSums, self.standard.mean, scaled, self._far)
        sums = self._reduce(begin, task).result
        result = self._multiplier[:, None] * sums.result / self._divisor
        return result[:, 0] if single else result

    def _reduce(self, begin: Callable[[], Any], task: str) -> Any:
        self.passes += 1
        return self.stream.reduce(begin, task)
