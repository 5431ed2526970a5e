"""Simulation of uncorrelated data by flipping the signs of centred cells at random.

Flips keep the absolute value of every cell, and so the norms of rows and the variances of columns.
Permutations of columns mix the norms of rows, so that heavy tails appear as components. Hong, Sheng and
Dobriban, "Selecting the number of components in PCA via random signflips".
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from spcastat.errors import CovarianceError
from spcastat.kernels.eig import top_dense, top_eigh

#: Up to this many cells, rows are drawn and their signs flipped; for more, the central limit theorem is used.
MOST_CELLS = 3_000_000
#: Up to this many variables the covariance matrix is formed; up to twice as many if there are many rows.
HELD = 500
#: Truncated power steps for a sparse component, and number of starts.
STEPS, STARTS = 8, 4


class Noise(ABC):
    """Data from which components can be removed and whose signs can be flipped.

    Attributes
    ----------
    p : int
    values : ndarray of shape (r,)
        Eigenvalues of the covariance matrix, descending, where r is the smaller of p and the number of rows.
    """

    p: int
    S: np.ndarray

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

    @abstractmethod
    def without(self, Q: np.ndarray) -> Noise:
        """Return the data with the directions of an orthonormal Q, shape (p, j), projected out.

        The projection removes a share h_i = |Q_i|^2 of the variance of variable i, and makes independent
        variables correlated, by I - QQ'. Flips of the result take both into account: cells are scaled to
        their full variance, flipped, and the directions are projected out again.
        """

    def sparse(self, card: int) -> tuple[float, np.ndarray]:
        """Return variance and loadings, (p,), of a component of `card` variables by truncated power steps."""
        (variance,), (loadings,) = sparse_components(self.S[None], card)
        return float(variance), loadings

    def sparse_flips(self, rngs: Sequence[np.random.Generator], card: int) -> np.ndarray:
        """Return the variances of the components that `sparse` finds in flips drawn from each generator."""
        # covariance matrices with at most 200,000 values in all are processed together
        at_once = max(200_000 // self.p**2, 1)
        found: list[float] = []
        for first in range(0, len(rngs), at_once):
            drawn = [self.flipped(rng) for rng in rngs[first : first + at_once]]
            if at_once > 1:
                found += sparse_components(np.stack([one.S for one in drawn]), card)[0].tolist()
            else:
                found += [one.sparse(card)[0] for one in drawn]
        return np.array(found)

    @abstractmethod
    def whole(self, v: np.ndarray) -> np.ndarray:
        """Return the component with loadings v extended to all variables correlated with it, shape (p,).

        These are the variables of v and those whose covariance with its score exceeds sqrt(2 log p) standard
        deviations of that of flipped cells, which is unlikely for any of p noise variables (the universal
        threshold of Donoho and Johnstone 1994).
        """


class RowNoise(Noise):
    """Rows Z with covariance matrix Z'Z.

    Parameters
    ----------
    Z : ndarray of shape (n, p)
    """

    def __init__(self, Z: np.ndarray, taken: np.ndarray | None = None):
        self.Z = Z
        self.p = Z.shape[1]
        self.taken = taken

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

    def flipped(self, rng: np.random.Generator) -> Noise:
        Q, Z = self.taken, self.Z
        if Q is not None:
            Z = Z * _inflation(Q)
        flips = rng.integers(0, 2, size=Z.shape, dtype=np.int8)
        drawn = np.where(flips, Z, -Z)
        return RowNoise(drawn if Q is None else drawn - (drawn @ Q) @ Q.T)

    def without(self, Q: np.ndarray) -> Noise:
        return RowNoise(self.Z - (self.Z @ Q) @ Q.T, Q)

    def sparse(self, card: int) -> tuple[float, np.ndarray]:
        if self.p <= HELD or self.p <= min(2 * len(self.Z), 2 * HELD):
            return super().sparse(card)
        U = top_eigh(self.Z @ self.Z.T, min(STARTS, len(self.Z)))[1]
        W = U.T @ self.Z
        for _ in range(STEPS):
            W = (_cut(W, card) @ self.Z.T) @ self.Z
        places = _largest_places(W, card)
        blocks = np.stack([self.Z[:, some].T @ self.Z[:, some] for some in places])
        (variance,), (loadings,) = _best(places[None], blocks[None], self.p)
        return float(variance), loadings

    def whole(self, v: np.ndarray) -> np.ndarray:
        score = self.Z @ v
        spread = np.sqrt((self.Z**2).T @ score**2)
        some = np.flatnonzero((v != 0) | (np.abs(score @ self.Z) > np.sqrt(2.0 * np.log(self.p)) * spread))
        loadings = np.zeros(self.p)
        loadings[some] = _directions(self.Z[:, some], 1)[:, 0]
        return loadings


@dataclass(frozen=True, eq=False)
class Tails:
    """Deviations of rows from normality that matter for sign flips.

    Attributes
    ----------
    ratio : ndarray of shape (p, p)
        Variance of each covariance under flips, relative to that for normal rows.
    sizes : ndarray of shape (h,)
        Mean squared cell of the largest rows relative to that of all rows: a row that is much larger than
        the others gives a separate eigenvalue whatever its signs.
    """

    ratio: np.ndarray
    sizes: np.ndarray


class MomentNoise(Noise):
    """A covariance matrix of many rows, whose flips are simulated by the central limit theorem.

    Flips keep the variances. Covariances get mean zero and, for normal rows, the variance
    (s_ii s_jj + 2 s_ij^2) / n. They are drawn like the covariances of n rows of independent variables, so
    that the largest eigenvalues have the right mean and spread for any p.

    Parameters
    ----------
    S : ndarray of shape (p, p)
    n : float
    taken : ndarray of shape (p, j), optional
        Directions that have been projected out.
    tails : Tails, optional
        Deviations of the rows from normality.
    """

    def __init__(self, S: np.ndarray, n: float, taken: np.ndarray | None = None, tails: Tails | None = None):
        self.S, self.n, self.p, self.taken, self.tails = S, n, len(S), taken, tails

    def flipped(self, rng: np.random.Generator) -> Noise:
        Q, S = self.taken, self.S
        if Q is not None:
            S = S * np.outer(_inflation(Q), _inflation(Q))
        variances = np.diag(S)
        spread = np.outer(variances, variances) + 2.0 * S**2
        sizes = np.empty(0)
        if self.tails is not None:
            sizes = self.tails.sizes
            spread *= self.tails.ratio
        F = _covariances_of_noise(rng, max(round(self.n) - 1, 1), self.p, sizes) * np.sqrt(spread)
        np.fill_diagonal(F, variances)
        return MomentNoise(F if Q is None else _projected(F, Q), self.n, None, self.tails)

    def without(self, Q: np.ndarray) -> Noise:
        left = _projected(self.S, Q)
        np.fill_diagonal(left, np.diag(left).clip(min=0.0))  # rounding errors may be negative
        return MomentNoise(left, self.n, Q, self.tails)

    def whole(self, v: np.ndarray) -> np.ndarray:
        covariance = self.S @ v
        square = (np.diag(self.S) * max(float(v @ covariance), 0.0) + 2.0 * covariance**2) / self.n
        if self.tails is not None:
            share = v**2 * np.diag(self.S)
            square *= self.tails.ratio @ (share / max(share.sum(), np.finfo(float).tiny))
        spread = np.sqrt(square)
        some = np.flatnonzero((v != 0) | (np.abs(covariance) > np.sqrt(2.0 * np.log(self.p)) * spread))
        loadings = np.zeros(self.p)
        loadings[some] = top_eigh(self.S[np.ix_(some, some)], 1)[1][:, 0]
        return loadings


def _covariances_of_noise(rng: np.random.Generator, n: int, p: int, sizes: np.ndarray) -> np.ndarray:
    """Return covariances of n rows of p independent standard normal variables, shape (p, p).

    The largest rows have the mean squares `sizes`, and the other rows equal parts of the rest. Covariances
    are rescaled so that their variance is 1 / n. With more rows than variables, the Bartlett decomposition of
    the cross-products is used.
    """
    sizes = sizes[: n - 1]
    others = n - len(sizes)
    each = max(n - sizes.sum(), 0.0) / others
    if others > p:
        A = np.tril(rng.standard_normal((p, p)), -1)
        A[np.diag_indices(p)] = np.sqrt(rng.chisquare(others - np.arange(p)))
    else:
        A = rng.standard_normal((p, others))
    square = others * each**2
    if len(sizes):
        rows = rng.standard_normal((p, len(sizes)))
        rows *= np.sqrt(sizes / (rows**2).mean(axis=0))
        A = np.hstack([A * np.sqrt(each), rows])
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
    if n * p > MOST_CELLS or n != int(n):
        return MomentNoise(S, n)
    values, V = np.linalg.eigh(S)
    some = values > 1e-10 * values[-1]
    rank = int(some.sum())
    if rank > n - 1:
        raise CovarianceError(
            f"n_obs={int(n)} was given for a covariance matrix of rank {rank}, but its rank cannot exceed "
            f"{int(n) - 1} with so many rows. Give the true n_obs, or the rows themselves."
        )
    Z = rng.standard_normal((int(n), rank))
    Q = np.linalg.qr(Z - Z.mean(axis=0))[0]
    return RowNoise((Q * np.sqrt(values[some])) @ V[:, some].T)


def _directions(Z: np.ndarray, m: int) -> np.ndarray:
    """Return the m leading eigenvectors of Z'Z, by the smaller of Z'Z and ZZ'."""
    if Z.shape[1] <= Z.shape[0]:
        return top_eigh(Z.T @ Z, m)[1]
    V = Z.T @ top_eigh(Z @ Z.T, m)[1]
    return V / np.maximum(np.linalg.norm(V, axis=0), np.finfo(float).tiny)


def _inflation(Q: np.ndarray) -> np.ndarray:
    """Return the factors that restore the variances of variables after projecting out Q."""
    # remaining shares of a variance below 0.05 count as 0.05
    return 1.0 / np.sqrt(np.maximum(1.0 - (Q**2).sum(axis=1), 0.05))


def _projected(S: np.ndarray, Q: np.ndarray) -> np.ndarray:
    """Return (I - QQ') S (I - QQ')."""
    C = S @ Q
    return S - C @ Q.T - Q @ C.T + Q @ (Q.T @ C) @ Q.T


def sparse_components(S: np.ndarray, card: int) -> tuple[np.ndarray, np.ndarray]:
    """Return variances, (B,), and loadings, (B, p), of components of `card` variables for B matrices.

    Truncated power steps start from the columns with the largest norm of their `card` largest entries, and
    the leading eigenvector is computed on the best support.

    Parameters
    ----------
    S : ndarray of shape (B, p, p)
    card : int
    """
    p = S.shape[1]
    card = min(card, p)
    sums = np.partition(S**2, p - card, axis=1)[:, p - card :].sum(axis=1)
    W = np.take_along_axis(S, np.argsort(-sums, axis=1, kind="stable")[:, :STARTS, None], axis=1)
    for _ in range(STEPS):
        W = _cut(W, card) @ S
    places = _largest_places(W, card)
    each = np.arange(len(S))[:, None, None, None]
    return _best(places, S[each, places[..., :, None], places[..., None, :]], p)


def _best(places: np.ndarray, blocks: np.ndarray, p: int) -> tuple[np.ndarray, np.ndarray]:
    """Return the largest variances on several supports, (B, starts, c), and the loadings, (B, p)."""
    values, vectors = np.linalg.eigh(blocks)
    best, every = np.argmax(values[..., -1], axis=1), np.arange(len(places))
    loadings = np.zeros((len(places), p))
    np.put_along_axis(loadings, places[every, best], vectors[every, best, :, -1], axis=1)
    return values[every, best, -1], loadings


def _largest_places(W: np.ndarray, card: int) -> np.ndarray:
    """Return the indices of the `card` largest entries along the last axis."""
    return np.argpartition(-np.abs(W), card - 1, axis=-1)[..., :card]


def _cut(W: np.ndarray, card: int) -> np.ndarray:
    """Set all but the `card` largest entries of each row to zero, and scale rows to unit length."""
    keep = _largest_places(W, card)
    V = np.zeros_like(W)
    np.put_along_axis(V, keep, np.take_along_axis(W, keep, axis=-1), axis=-1)
    sizes = np.linalg.norm(V, axis=-1, keepdims=True)
    return V / np.where(sizes > 0, sizes, 1.0)
