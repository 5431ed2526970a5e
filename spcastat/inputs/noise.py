"""Simulated noise: data with random signs, computed from rows or from the moments of many rows.

Sign flips preserve the absolute value of every cell, and so the norms of rows and the variances of columns.
Permutations of columns mix the norms of rows, so that heavy tails appear as components; see Hong, Sheng and
Dobriban, "Selecting the number of components in PCA via random signflips".

Draws of noise have the rank and the total variance of the data. For n centred rows, which have rank n - 1,
the signs of n - 1 rows in a basis of their space are flipped instead; residuals are treated in the same way.
Otherwise the total variance of noise would be spread over more dimensions, and with few rows every component
would exceed noise.

With strong components, a single row at 8 standard deviations has an eigenvalue near the eigenvalues of the
components. Sign flips preserve the norms of rows, so noise also has this eigenvalue, and no component exceeds
it. Large rows are therefore shrunk towards the median, as in spherical principal components: Locantore et
al. (1999), "Robust principal component analysis for functional data", Test 8.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np

from spcastat.errors import CovarianceError, DataError, OptionError
from spcastat.inputs.row_groups import RowGroups, StandardRows, are_counts
from spcastat.linalg.accumulate import SquareProducts, is_sparse, weights_or_ones
from spcastat.linalg.eigenvectors import (
    NORMAL_MAD,
    RELATIVE,
    column_sizes,
    factors_of,
    ranked,
    top_dense,
    top_eigh,
)
from spcastat.linalg.operators import Operator

#: Largest number of cells whose signs are flipped directly; for more, the central limit theorem is used.
ROW_CELLS = 3_000_000


class Noise(ABC):
    """Data from which components can be removed and whose signs can be flipped.

    Attributes
    ----------
    p : int
    rows : float
        Number of rows.
    values : ndarray of shape (r,)
        Eigenvalues of the covariance matrix, descending, where r is the smaller of p and the number of rows.
    """

    p: int
    S: np.ndarray
    rows: float

    @property
    def values(self) -> np.ndarray:
        return np.linalg.eigvalsh(self._smaller)[::-1].clip(min=0.0)

    @property
    def variances(self) -> np.ndarray:
        """The variances of the variables, shape (p,)."""
        return np.diag(self.S)

    @property
    def _smaller(self) -> np.ndarray:
        """The covariance matrix, or another with the same nonzero eigenvalues."""
        return self.S

    def leading(self, m: int) -> np.ndarray:
        """Return the m largest eigenvalues, descending."""
        S = self._smaller
        # up to order 1500, computing all eigenvalues is as fast as computing a few
        if len(S) <= 1500:
            return np.linalg.eigvalsh(S)[::-1][:m].clip(min=0.0)
        start = np.random.default_rng(0).standard_normal(len(S))
        return top_dense(S, min(m, len(S)), start)[0].clip(min=0.0)

    def directions(self, m: int) -> np.ndarray:
        """Return the eigenvectors of the m largest eigenvalues, shape (p, m)."""
        return top_eigh(self.S, m)[1]

    @abstractmethod
    def flipped(self, rng: np.random.Generator) -> Noise:
        """Return the data with random signs."""

    def largest_of_flips(self, rng: np.random.Generator) -> float:
        """Return the largest eigenvalue of the data with random signs."""
        return float(self.flipped(rng).leading(1)[0])

    @abstractmethod
    def without(self, Q: np.ndarray) -> Noise:
        """Return the data with the directions of an orthonormal Q, shape (p, j), projected out.

        The projection removes a share h_i = |Q_i|^2 of the variance of variable i, and correlates independent
        variables, with covariances I - QQ'. Flips of the result account for both effects: cells are scaled to
        their full variance and flipped, and the directions are projected out again.
        """

    @abstractmethod
    def residuals(self, v: np.ndarray) -> Noise:
        """Return the residuals of the regressions on the scores of loadings v, shape (p,).

        No direction may have been projected out before. Residuals and their flips have one dimension less
        than the data.
        """


@dataclass(frozen=True, eq=False)
class RowNoise(Noise):
    """Rows Z with covariance matrix Z'Z.

    Attributes
    ----------
    Z : ndarray of shape (n, p)
    directions_removed : ndarray of shape (p, j), optional
        Directions that were projected out.
    groups : ndarray of int, shape (n,), optional
        The numbers of the clusters of the rows, from 0: the signs of a variable in a cluster are flipped
        together.
    terms : ndarray of int, shape (p,), optional
        The numbers of the terms of the variables, from 0: the signs of the variables of a term are flipped
        together, so that noise keeps their correlations, such as the correlations between indicators of a
        factor.
    """

    Z: np.ndarray
    directions_removed: np.ndarray | None = None
    groups: np.ndarray | None = None
    terms: np.ndarray | None = None

    @property
    def rows(self) -> float:  # type: ignore[override]
        return len(self.Z)

    @property
    def p(self) -> int:  # type: ignore[override]
        return self.Z.shape[1]

    @property
    def S(self) -> np.ndarray:  # type: ignore[override]
        return self.Z.T @ self.Z

    @property
    def variances(self) -> np.ndarray:
        return np.einsum("ij,ij->j", self.Z, self.Z)

    @property
    def _smaller(self) -> np.ndarray:
        return self.Z @ self.Z.T if self.Z.shape[1] > self.Z.shape[0] else self.S

    def directions(self, m: int) -> np.ndarray:
        return _directions(self.Z, m)

    @cached_property
    def _cells(self) -> np.ndarray:
        """The cells whose signs are flipped, shape (n, p), scaled to the full variances of the variables."""
        return self.Z if self.directions_removed is None else self.Z * _inflation(self.directions_removed)

    @cached_property
    def _total(self) -> float:
        """The sum of squares."""
        return float((self.Z**2).sum())

    def flipped(self, rng: np.random.Generator) -> Noise:
        Q, flipped_rows = self.directions_removed, self._flipped_cells(rng)
        if Q is None:
            return RowNoise(flipped_rows)
        flipped_rows -= (flipped_rows @ Q) @ Q.T
        return RowNoise(flipped_rows * np.sqrt(_ratio(self._total, (flipped_rows**2).sum())))

    def largest_of_flips(self, rng: np.random.Generator) -> float:
        Q = self.directions_removed
        if Q is None or len(self.Z) >= self.p:
            return super().largest_of_flips(rng)
        flipped_rows = self._flipped_cells(rng)
        along = flipped_rows @ Q
        products = flipped_rows @ flipped_rows.T - along @ along.T  # products of rows without the directions
        return float(np.linalg.eigvalsh(products)[-1]) * _ratio(self._total, float(np.trace(products)))

    def _flipped_cells(self, rng: np.random.Generator) -> np.ndarray:
        """Return the cells with random signs, shape (n, p)."""
        Z = self._cells
        units = len(Z) if self.groups is None else int(self.groups.max()) + 1
        signs = self.p if self.terms is None else int(self.terms.max()) + 1
        flips = rng.integers(0, 2, size=(units, signs), dtype=np.int8)
        if self.terms is not None:
            flips = flips[:, self.terms]
        if self.groups is not None:
            flips = flips[self.groups]
        return np.asarray(Z * (2 * flips - 1))  # takes a third of the time of choosing between Z and -Z

    def without(self, Q: np.ndarray) -> Noise:
        Z, groups = self.Z - (self.Z @ Q) @ Q.T, self.groups
        if len(Z) < self.p:  # flips would restore a dimension that the rows have lost
            values, vectors = np.linalg.eigh(Z @ Z.T)
            lost = vectors[:, values <= RELATIVE * values[-1]]
            if lost.shape[1] and values[-1] > 0:
                Z, groups = in_complement(Z, lost, groups)
        return replace(self, Z=Z, directions_removed=Q, groups=groups)

    def residuals(self, v: np.ndarray) -> Noise:
        scores = self.Z @ v
        unit = (scores / max(np.linalg.norm(scores), np.finfo(float).tiny))[:, None]
        Z, groups = in_complement(self.Z - unit @ (unit.T @ self.Z), unit, self.groups)
        return replace(self, Z=Z, groups=groups)


@dataclass(frozen=True, eq=False)
class Tails:
    """Deviations of rows from normality that matter for sign flips.

    Attributes
    ----------
    ratio : ndarray of shape (p, p)
        Variance of each covariance under flips, relative to its variance for normal rows.
    sizes : ndarray of shape (h,)
        Mean squared cells of the largest rows relative to all rows: a row that is much larger than the other
        rows gives a separate eigenvalue for any signs.
    """

    ratio: np.ndarray
    sizes: np.ndarray


@dataclass(frozen=True, eq=False)
class MomentNoise(Noise):
    """A covariance matrix of many rows, whose flips are simulated by the central limit theorem.

    Flips preserve the variances. Covariances then have mean zero and, for normal rows, the variance
    (s_ii s_jj + 2 s_ij^2) / n. They are drawn like the covariances of n rows of independent variables, so
    that the largest eigenvalues have the correct mean and spread for any p.

    Attributes
    ----------
    S : ndarray of shape (p, p)
    rows : float
    directions_removed : ndarray of shape (p, j), optional
        Directions that were projected out.
    tails : Tails, optional
        Deviations of the rows from normality.
    terms : ndarray of int, shape (p,), optional
        The numbers of the terms of the variables, as for `RowNoise`: flips preserve the covariances within a
        term.
    """

    S: np.ndarray
    rows: float
    directions_removed: np.ndarray | None = None
    tails: Tails | None = None
    terms: np.ndarray | None = None

    @property
    def p(self) -> int:  # type: ignore[override]
        return len(self.S)

    def flipped(self, rng: np.random.Generator) -> Noise:
        Q, S = self.directions_removed, self.S
        if Q is not None:
            S = S * np.outer(_inflation(Q), _inflation(Q))
        variances = np.diag(S)
        spread = np.outer(variances, variances) + 2.0 * S**2
        sizes = np.empty(0)
        if self.tails is not None:
            sizes = self.tails.sizes
            spread *= self.tails.ratio
        F = _covariances_of_noise(rng, max(round(self.rows) - 1, 1), self.p, sizes) * np.sqrt(spread)
        np.fill_diagonal(F, variances)
        if self.terms is not None:
            same_term = self.terms[:, None] == self.terms
            F[same_term] = S[same_term]
        if Q is not None:
            F = _projected(F, Q)
            F *= _ratio(np.trace(self.S), np.trace(F))
        return MomentNoise(F, self.rows, tails=self.tails)

    def without(self, Q: np.ndarray) -> Noise:
        residual = _projected(self.S, Q)
        np.fill_diagonal(residual, np.diag(residual).clip(min=0.0))  # rounding errors may be negative
        return replace(self, S=residual, directions_removed=Q)

    def residuals(self, v: np.ndarray) -> Noise:
        covariances = self.S @ v
        variance = float(covariances @ v)
        residual = self.S - np.outer(covariances, covariances) / (variance if variance > 0 else np.inf)
        np.fill_diagonal(residual, np.diag(residual).clip(min=0.0))
        return replace(self, S=residual, rows=self.rows - 1)


def _covariances_of_noise(rng: np.random.Generator, n: int, p: int, sizes: np.ndarray) -> np.ndarray:
    """Return covariances of n rows of p independent standard normal variables, shape (p, p).

    The largest rows have the mean squares `sizes`, and the other rows share the remaining sum equally.
    Covariances are rescaled so that their variance is 1 / n. With more rows than variables, the Bartlett
    decomposition of the cross-products is used.
    """
    sizes = sizes[: n - 1]
    unsampled = n - len(sizes)
    variance = max(n - sizes.sum(), 0.0) / unsampled
    if unsampled > p:
        A = np.tril(rng.standard_normal((p, p)), -1)
        A[np.diag_indices(p)] = np.sqrt(rng.chisquare(unsampled - np.arange(p)))
    else:
        A = rng.standard_normal((p, unsampled))
    square = unsampled * variance**2
    if len(sizes):
        rows = rng.standard_normal((p, len(sizes)))
        rows *= np.sqrt(sizes / (rows**2).mean(axis=0))
        A = np.hstack([A * np.sqrt(variance), rows])
        # E[x_i^2 x_j^2] = s^2 p / (p + 2) for i != j, if x is uniform on the sphere |x|^2 = p s
        square += (sizes**2).sum() * p / (p + 2.0)
    return np.asarray(A @ A.T / np.sqrt(n * square))


def of_covariance(S: np.ndarray, n: float, rng: np.random.Generator) -> Noise:
    """Return noise for normal rows with sample covariance matrix S, simulated by rows or by moments.

    Raises
    ------
    CovarianceError
        If n rows cannot have this covariance matrix.
    """
    p = len(S)
    if n * p > max(ROW_CELLS, p * p) or n != int(n):
        return MomentNoise(S, n)
    values, V = np.linalg.eigh(S)
    positive = values > RELATIVE * values[-1]
    rank = int(positive.sum())
    if rank > n - 1:
        raise CovarianceError(
            f"n_obs={int(n)} was given for a covariance matrix of rank {rank}, but its rank cannot exceed "
            f"{int(n) - 1} with so many rows. Give the true n_obs, or the rows themselves."
        )
    Q = np.linalg.qr(rng.standard_normal((int(n) - 1, rank)))[0]  # n centred rows have n - 1 dimensions
    return RowNoise((Q * np.sqrt(values[positive])) @ V[:, positive].T)


def _directions(Z: np.ndarray, m: int) -> np.ndarray:
    """Return the m leading eigenvectors of Z'Z, computed from the smaller of Z'Z and ZZ'."""
    if Z.shape[1] <= Z.shape[0]:
        return top_eigh(Z.T @ Z, m)[1]
    V = Z.T @ top_eigh(Z @ Z.T, m)[1]
    return V / np.maximum(np.linalg.norm(V, axis=0), np.finfo(float).tiny)


def _ratio(total: float, noise: float) -> float:
    """Return the factor that scales noise to the total variance of the data."""
    return float(total / noise) if noise > 0 else 1.0


def _inflation(Q: np.ndarray) -> np.ndarray:
    """Return the factors that restore the variances of variables after projecting out Q."""
    # remaining shares of the variance are at least 0.05
    return 1.0 / np.sqrt(np.maximum(1.0 - (Q**2).sum(axis=1), 0.05))


def _projected(S: np.ndarray, Q: np.ndarray) -> np.ndarray:
    """Return (I - QQ') S (I - QQ')."""
    C = S @ Q
    return S - C @ Q.T - Q @ C.T + Q @ (Q.T @ C) @ Q.T


@dataclass(frozen=True)
class RowSizeTuning:
    """Constants for pulling in large rows; benchmarks/results/trust.md shows their effect.

    Attributes
    ----------
    largest : float
        Rows are shrunk to this multiple of the median size.
    far : float
        Rows are shrunk only if the size of a row exceeds this multiple of the median size, so that for
        ordinary data the eigenvalues equal the eigenvalues of a fit.
    least_mad : float
        A median absolute deviation below this share of the standard deviation is replaced by the standard
        deviation.
    """

    largest: float = 1.5
    far: float = 2.5
    least_mad: float = 0.1


ROW_SIZES = RowSizeTuning()


@dataclass(frozen=True, eq=False)
class PulledIn:
    """Rows after large rows were shrunk.

    Attributes
    ----------
    Z : ndarray of shape (n, p)
        The rows, centred again and scaled to the original sums of squares of the variables; NaN for missing
        values.
    pulled : int
        Number of rows shrunk; a row of weight 2 counts as two rows.
    far : ndarray of int
        Rows of more than `RowSizeTuning.far` times the median size, in decreasing order of their shares.
    shares : ndarray
        Shares of these rows in the total variance, before they were shrunk.
    """

    Z: np.ndarray
    pulled: int
    far: np.ndarray
    shares: np.ndarray


def pulled_in(Z: np.ndarray, weights: np.ndarray | None = None) -> PulledIn:
    """Pull large rows in to a multiple of the median size, if a row is far; see `RowSizeTuning`.

    The size of a row is the root mean square of its distances from the medians of the variables, in units of
    the median absolute deviation (or of the standard deviation, if the former is nearly zero), over the
    values that are not missing.

    Parameters
    ----------
    Z : ndarray of shape (n, p)
        Centred variables; NaN for missing values.
    weights : ndarray of shape (n,), optional
        A row of weight 2 counts as two equal rows.
    """
    w = weights_or_ones(weights, len(Z))
    observed = ~np.isnan(Z)
    squares = np.where(observed, Z, 0.0) ** 2 * w[:, None]
    middle = medians(Z, w)
    away = np.where(observed, Z - middle, 0.0)
    mad = medians(np.abs(Z - middle), w) / NORMAL_MAD
    sd = np.sqrt(squares.sum(axis=0) / np.maximum(w @ observed, 1.0))
    scale = np.where(mad > ROW_SIZES.least_mad * sd, mad, sd)
    standardised = away / np.where(scale > 0, scale, 1.0)
    sizes = np.sqrt((standardised**2).sum(axis=1) / np.maximum(observed.sum(axis=1), 1))
    usual = float(medians(sizes[:, None], w)[0])
    sizes[w == 0] = 0.0
    outlying = sizes > ROW_SIZES.largest * usual
    if not 0 < ROW_SIZES.far * usual < sizes.max():
        return PulledIn(Z, 0, np.array([], dtype=int), np.array([]))
    factors = np.where(outlying, ROW_SIZES.largest * usual / np.where(outlying, sizes, 1.0), 1.0)
    pulled = away * factors[:, None]
    pulled -= (w @ pulled) / np.maximum(w @ observed, 1.0)
    pulled[~observed] = 0.0
    pulled_squares = (pulled**2 * w[:, None]).sum(axis=0)
    pulled *= np.sqrt(squares.sum(axis=0) / np.where(pulled_squares > 0, pulled_squares, 1.0))
    shares = squares.sum(axis=1) / squares.sum()
    far = np.flatnonzero(sizes > ROW_SIZES.far * usual)
    far = far[np.argsort(-shares[far], kind="stable")]
    count = w[outlying].sum() if (w == np.round(w)).all() else outlying.sum()
    return PulledIn(np.where(observed, pulled, np.nan), int(count), far, shares[far])


def medians(Z: np.ndarray, weights: np.ndarray) -> np.ndarray:
    """Return the weighted median of each column, shape (p,), ignoring missing values; 0 without values."""
    if (weights == weights[0]).all() and not np.isnan(Z).any():
        return np.asarray(np.median(Z, axis=0))
    order = np.argsort(Z, axis=0)  # missing values come last
    values = np.take_along_axis(Z, order, axis=0)
    counts = np.cumsum(np.where(np.isnan(values), 0.0, weights[order]), axis=0)
    half, places = 0.5 * counts[-1], np.arange(Z.shape[1])
    lower = (counts < half * (1.0 - 1e-12)).sum(axis=0)
    upper = (counts <= half * (1.0 + 1e-12)).sum(axis=0).clip(max=len(Z) - 1)
    upper = np.where(np.isnan(values[upper, places]), lower, upper)
    middle = 0.5 * (values[lower, places] + values[upper, places])
    return np.where(np.isnan(middle), 0.0, middle)


def covariance_noise(op: Operator, n: float | None, kind: str | None, seed: int, unit: float) -> Noise:
    """Return the simulation of noise for a covariance matrix of n rows.

    Parameters
    ----------
    op : Operator
    n : float or None
    kind : str or None
        The kind of correlations, if known.
    seed : int
    unit : float
        A power of two by which the data of the operator are divided.

    Raises
    ------
    OptionError
        For an unknown number of rows, and for polychoric correlations.
    """
    if n is None:
        raise OptionError(
            "n_obs was not given, but the eigenvalues of noise depend on it: give n_obs=, the number of rows "
            "from which the matrix was computed."
        )
    if kind in ("polychoric", "mixed"):
        raise OptionError(
            f"The matrix has {kind} correlations, which vary more than those of normal rows: give k= to "
            "choose(), or test the items as numbers, choose_k(items, scale=True)."
        )
    S = op.block(np.arange(op.p)) / unit**2
    return of_covariance(S, int(n), np.random.default_rng([seed, 1]))


def noise_of(
    source: StandardRows, cells: int, unit: float, terms: np.ndarray | None, pull: bool = True
) -> tuple[Noise, PulledIn | None]:
    """Return the simulation of noise for rows; signs are flipped directly for up to `cells` cells.

    For more cells, equal rows count as separate observations.

    Columns with equal numbers in `terms` keep their correlations; with None, columns are flipped
    independently.

    For dense rows that were centred at their means, large rows are shrunk, and the result is also
    returned. The data of the operator are divided by `unit`, a power of two, to avoid overflow and underflow
    of squared covariances.
    """
    op = source.op
    flipped = flipped_rows(source, max(cells, op.p**2) // op.p)
    if flipped is not None:
        Z = standardised(source, unit)
        if not pull or is_sparse(source.matrix) or source.standard.centring != "mean":
            return row_noise(source, flipped, Z, terms), None
        rows = pulled_in(Z, source.weights)
        return row_noise(source, flipped, rows.Z, terms), rows
    if source.missing is not None:
        raise DataError(
            f"The data have {source.n} rows of {op.p} variables with missing values, too many for random "
            "signs of every cell; give a sample of the rows, or k= to choose()."
        )
    if source.design is not None:
        raise DataError(
            f"The data have {source.n} rows of {op.p} variables that belong together, too many for random "
            "signs of every cluster; give a sample of the clusters, or k= to choose()."
        )
    S = op.block(np.arange(op.p))
    noise = MomentNoise(S / unit**2, source.free or 0.0, tails=tails_of(source, S), terms=terms)
    return noise, None


def standardised(source: StandardRows, unit: float) -> np.ndarray:
    """Return the rows, centred and scaled as in the fit and divided by `unit`, (n, p); NaN if missing."""
    X = source.measured
    X = X.toarray() if is_sparse(X) else np.asarray(X, dtype=float)
    return np.asarray((X - source.standard.mean) / source.standard.scale / source.op.unit / unit)


def flipped_rows(source: StandardRows, limit: int) -> RowGroups | None:
    """Return the rows whose signs are flipped, in canonical order; None if there are more than `limit`.

    Copies of an observation share their signs, and so do equal rows of a cluster. Other equal rows have
    separate signs: a row of weight 2 counts as two rows.
    """
    if source.n > limit:
        return None
    groups = source.row_groups
    if groups.block > 1 or not are_counts(groups.weights, source.design):
        return groups
    if groups.copies or groups.clustered:
        return groups.merged()
    if groups.weights is None:
        return groups
    return groups.single_rows("choose_k()") if groups.weights.sum() <= limit else None


def row_noise(source: StandardRows, flipped: RowGroups, Z: np.ndarray, terms: np.ndarray | None) -> RowNoise:
    """Return the simulation of noise for standardised rows, in which missing values (NaN) become zero."""
    w = weights_or_ones(source.weights, len(Z))
    counts = w @ ~np.isnan(Z)  # the sum of the weights in each column
    w = weights_or_ones(flipped.weights, len(flipped.rows))
    clusters = flipped.group if flipped.count < len(flipped.rows) or flipped.block > 1 else None
    rows = np.nan_to_num(Z[flipped.rows]) * np.sqrt(w)[:, None] / np.sqrt(np.maximum(counts - 1.0, 1.0))
    if source.covariates is not None:
        covariates = source.covariates[flipped.rows]
    elif source.standard is not None and source.standard.centring == "mean":
        covariates = np.zeros((len(rows), 0))
    else:
        return RowNoise(rows, groups=clusters, terms=terms)
    rows, clusters = rotated(rows, covariates, w, clusters)  # flips of n centred rows have a higher rank
    return RowNoise(rows, groups=clusters, terms=terms)


def tails_of(source: StandardRows, S: np.ndarray) -> Tails | None:
    """Return the deviations of the rows from normality; None if floating point cannot represent them."""
    standard, n = source.standard, source.weight
    deviations = np.sqrt(np.diag(S))
    divisor = standard.scale * source.op.unit * deviations
    divisor = np.where(divisor > 0, divisor, np.inf)
    squares = SquareProducts(standard.mean, divisor, are_counts(source.weights, source.design))
    squares.add(source.matrix, source.weights)
    fourth = squares.about(np.zeros(len(S))) * n / (n - 1.0) ** 2
    correlations = S / np.maximum(np.outer(deviations, deviations), np.finfo(float).tiny)
    ratio = fourth / (1.0 + 2.0 * correlations**2)
    sizes = squares.sizes / max(int(np.count_nonzero(deviations)), 1)
    return Tails(ratio, sizes) if np.isfinite(ratio).all() else None


# --- rows that are exchangeable ---------------------------------------------------------------------


#: With more weighted rows, correlations in a basis of the complement of their mean are negligible.
WEIGHTED_ROWS = 1000


def rotated(
    Y: np.ndarray, Z: np.ndarray, weights: np.ndarray | None, group: np.ndarray | None = None
) -> tuple[np.ndarray, np.ndarray | None]:
    """Rotate residuals to exchangeable rows with the same cross-products.

    The residuals of n rows on covariates of rank r lie in a space of n - 1 - r dimensions. In an orthonormal
    basis of this space, independent errors remain independent: Huh and Jhun (2001), Random permutation
    testing in multiple linear regression, Communications in Statistics: Theory and Methods 30, 2023-2032.

    Parameters
    ----------
    Y : ndarray of shape (n, p)
        Residuals, multiplied by the square roots of the weights.
    Z : ndarray of shape (n, q)
        Covariates; with q = 0, rows centred at their means are rotated.
    weights : ndarray of shape (n,) or None
    group : ndarray of int, shape (n,), optional
        The groups of the rows, for rows that are not independent. See :func:`in_complement`.

    Returns
    -------
    rows : ndarray of shape (n - 1 - r, p)
        The rotated rows; with weights, n is the number of rows with a positive weight.
    group : ndarray of shape (n - 1 - r,) or None
        The groups of these rows.
    """
    w = weights_or_ones(weights, len(Z))
    positive = w > 0
    centred = Z - (w / w.sum()) @ Z
    regressors = np.column_stack([np.ones(len(Z)), centred / column_sizes(centred)])
    U = factors_of((np.sqrt(w)[:, None] * regressors)[positive])[0]
    if (
        group is None
        and U.shape[1] == 1
        and (w[positive] != w[positive][0]).any()
        and positive.sum() <= WEIGHTED_ROWS
    ):
        return _uncorrelated(Y[positive], U, w[positive]), None
    return in_complement(Y[positive], U, None if group is None else group[positive])


def in_complement(
    Y: np.ndarray, U: np.ndarray, group: np.ndarray | None = None
) -> tuple[np.ndarray, np.ndarray | None]:
    """Return the rows of Y in a basis of the orthogonal complement of U that is close to single rows.

    Householder reflections eliminate the j smallest rows and add multiples of them to the other rows, so that
    a large row remains a single row. The rows of a group are first rotated among themselves, so that U is
    nonzero in at most j of them. Reflections that mix groups then change no other rows.

    Parameters
    ----------
    Y : ndarray of shape (n, p)
        A matrix with columns orthogonal to U.
    U : ndarray of shape (n, j)
        A matrix with orthonormal columns.
    group : ndarray of int, shape (n,), optional
        The groups of the rows, in ascending order.

    Returns
    -------
    rows : ndarray of shape (n - j, p)
        Rows with the same cross-products Y'Y.
    group : ndarray of shape (n - j,) or None
        The groups of these rows, in ascending order.
    """
    if group is not None:
        Y, U = _concentrated(Y, U, group)
    order = ranked(U.any(axis=1).astype(float), -np.linalg.norm(Y, axis=1))
    rows = _reflected(Y[order], U[order])[U.shape[1] :]
    if group is None:
        return rows, None
    group = group[order[U.shape[1] :]]
    by_group = np.argsort(group, kind="stable")
    return rows[by_group], group[by_group]


def _uncorrelated(Y: np.ndarray, U: np.ndarray, weights: np.ndarray) -> np.ndarray:
    """Return the result of `in_complement` for means of weighted rows, U (n, 1), in uncorrelated form.

    Independent rows times the roots of unequal weights are correlated in most bases of the complement. They
    are uncorrelated in the basis of the eigenvectors of their covariance matrix: the contrasts of rows of
    equal weight, plus m - 1 further vectors, where m is the number of distinct weights.
    """
    order = np.lexsort((np.linalg.norm(Y, axis=1), weights))
    kinds, starts, kind = np.unique(weights[order], return_index=True, return_inverse=True)
    Y, U = _concentrated(Y[order], U[order], kind)
    basis = np.linalg.qr(U[starts], mode="complete")[0][:, 1:]
    basis = basis @ np.linalg.eigh((basis.T * kinds) @ basis)[1]
    return np.vstack([basis.T @ Y[starts], np.delete(Y, starts, axis=0)])


def _concentrated(Y: np.ndarray, U: np.ndarray, group: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Rotate the rows of each group so that U, shape (n, j), is nonzero in at most j rows of the group."""
    Y, U, j = Y.copy(), U.copy(), U.shape[1]
    starts = np.flatnonzero(np.append(True, group[1:] != group[:-1]))
    for start, end in zip(starts, np.append(starts[1:], len(Y)), strict=True):
        if end - start > j:
            part = U[start:end].copy()
            Y[start:end], U[start:end] = _reflected(Y[start:end], part), _reflected(part, part)
            U[start + j : end] = 0.0
    return Y, U


def _reflected(Y: np.ndarray, U: np.ndarray) -> np.ndarray:
    """Return Q'Y for the orthonormal Q, shape (n, n), of the QR decomposition of U."""
    from scipy.linalg import lapack, qr

    (reflections, tau), _ = qr(U, mode="raw")
    product: np.ndarray = lapack.dormqr("L", "T", reflections, tau, Y, 64 * Y.shape[1])[0]
    return product
