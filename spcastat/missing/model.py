"""Probabilistic PCA: the model, and conditional expectations of missing values under it.

Tipping and Bishop (1999), Probabilistic principal component analysis, J. R. Statist. Soc. B 61. The model is
x = m + W t + e, with t normal with covariance I and e normal with covariance sigma2 I, for columns divided by
`scale`.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np


@dataclass(frozen=True, eq=False)
class Patterns:
    """The distinct patterns of missing values.

    Attributes
    ----------
    missing : ndarray of bool, shape (P, p)
        The patterns; True marks a missing value.
    of_row : ndarray of int, shape (n,)
        The index of the pattern of each row.
    weight : ndarray of shape (P,)
        The sum of the weights of the rows of each pattern.
    """

    missing: np.ndarray
    of_row: np.ndarray
    weight: np.ndarray

    @classmethod
    def of(cls, missing: np.ndarray, w: np.ndarray) -> Patterns:
        """Group the rows of the mask `missing`, shape (n, p), with weights `w`, shape (n,), by pattern."""
        packed = np.packbits(missing, axis=1)
        _, first, of_row = np.unique(packed, axis=0, return_index=True, return_inverse=True)
        of_row = of_row.reshape(-1)
        return cls(missing[first], of_row, np.bincount(of_row, weights=w, minlength=len(first)))


@dataclass(frozen=True, eq=False)
class PpcaModel:
    """A probabilistic PCA model, fitted to rows with missing values.

    Attributes
    ----------
    mean : ndarray of shape (p,)
        In the units of the data.
    scale : ndarray of shape (p,)
        The model holds for the columns divided by these.
    loadings : ndarray of shape (p, q)
        W, for the divided columns.
    sigma2 : float
        Noise variance, for the divided columns.
    """

    mean: np.ndarray
    scale: np.ndarray
    loadings: np.ndarray
    sigma2: float

    @property
    def covariance(self) -> np.ndarray:
        """The covariance matrix (WW' + sigma2 I) of the model in the units of the data, shape (p, p)."""
        S = self.loadings @ self.loadings.T
        S[np.diag_indices_from(S)] += self.sigma2
        return S * self.scale * self.scale[:, None]

    def shrunk(self, n: float) -> PpcaModel:
        """Return a model with smaller loadings, for imputing the rows that this model was fitted to.

        The loadings were fitted to the noise of these rows too. Their scores are therefore too large,
        especially with many columns per row. Let y be the variance along a component divided by the noise
        variance, and g = p / (n - 1). This model shrinks scores by the factor 1 - 1 / y. The factor with the
        least squared reconstruction error is sqrt((y - 1 - g)^2 - 4 g) / y, and 0 for y up to (1 +
        sqrt(g))^2, which noise alone can reach; the returned model has this factor. Both agree for g near 0.

        Parameters
        ----------
        n : float
            Number of rows, or the sum of their weights.

        References
        ----------
        Gavish and Donoho (2017), "Optimal shrinkage of singular values", IEEE Trans. Inf. Theory 63, eq. 7.
        """
        w = (self.loadings**2).sum(axis=0)
        y, g = 1.0 + w / self.sigma2, len(self.mean) / (n - 1.0)
        above = y - 1.0 - g
        keep = np.where(above > 2.0 * np.sqrt(g), np.sqrt(np.maximum(above**2 - 4.0 * g, 0.0)) / y, 0.0)
        size = np.sqrt(self.sigma2 * keep / (1.0 - keep) / np.where(w > 0.0, w, 1.0))
        return replace(self, loadings=self.loadings * size)

    def filled(self, X: np.ndarray) -> np.ndarray:
        """Return rows with missing values replaced by their conditional means, given the measured values.

        Parameters
        ----------
        X : ndarray of shape (n, p)
            Missing values are NaN. Not changed. A row without any value gets the means.

        Returns
        -------
        ndarray of shape (n, p), float64
            Measured values are exactly those of `X`.
        """
        filled = np.array(X, dtype=float)
        gaps = np.isnan(filled)
        rows = np.flatnonzero(gaps.any(axis=1))
        if rows.size:
            part = gaps[rows]
            patterns = Patterns.of(part, np.ones(rows.size))
            expected = expect(self.standardised(filled[rows]), patterns, self.loadings, self.sigma2)
            values = self.mean + self.scale * (expected.scores @ self.loadings.T)
            filled[rows] = np.where(part, values, filled[rows])
        return filled

    def standardised(self, X: np.ndarray) -> np.ndarray:
        """Return (X - mean) / scale, with zeros for missing values."""
        Z = (X - self.mean) / self.scale
        Z[np.isnan(Z)] = 0.0
        return Z


@dataclass(frozen=True, eq=False)
class Expected:
    """Conditional expectations of rows given their measured values.

    Attributes
    ----------
    scores : ndarray of shape (n, q)
        E[t] = M^-1 W_o'(x_o - m_o) with M = W_o'W_o + sigma2 I, where o are the measured columns of the row.
    inverses : ndarray of shape (P, q, q)
        M^-1 for each pattern of missing values; sigma2 M^-1 is the conditional covariance of t.
    log_likelihood : ndarray of shape (n,)
        Log-likelihood of the measured values of each row.
    """

    scores: np.ndarray
    inverses: np.ndarray
    log_likelihood: np.ndarray


def expect(Z: np.ndarray, patterns: Patterns, W: np.ndarray, sigma2: float) -> Expected:
    """Return the expectations of all rows, by solving a q x q system for each pattern of missing values.

    Parameters
    ----------
    Z : ndarray of shape (n, p)
        Centred, scaled rows, with zeros for missing values.
    patterns : Patterns
    W : ndarray of shape (p, q)
    sigma2 : float
    """
    q = W.shape[1]
    measured = (~patterns.missing).astype(float)
    M = (measured @ outers(W, W)).reshape(-1, q, q)
    M[:, np.arange(q), np.arange(q)] += sigma2
    inverses = np.linalg.inv(M)
    inverses = 0.5 * (inverses + inverses.transpose(0, 2, 1))
    of_row = patterns.of_row
    scores = np.einsum("iab,ib->ia", inverses[of_row], Z @ W)
    counts = measured.sum(axis=1)
    log_det = (counts - q) * np.log(sigma2) + np.linalg.slogdet(M)[1]
    # r'(W_o W_o' + sigma2 I)^-1 r is the minimum of |r - W_o t|^2 / sigma2 + |t|^2, computed so without
    # cancellation
    left = (Z - scores @ W.T) * measured[of_row]
    square = np.einsum("ij,ij->i", left, left) / sigma2 + np.einsum("ij,ij->i", scores, scores)
    likelihood = -0.5 * (counts * np.log(2.0 * np.pi) + log_det)[of_row] - 0.5 * square
    return Expected(scores, inverses, likelihood)


def outers(A: np.ndarray, B: np.ndarray) -> np.ndarray:
    """Return the outer products of the rows of A, shape (p, a), and B, shape (p, b), as rows of length ab."""
    return (A[:, :, None] * B[:, None, :]).reshape(len(A), -1)
