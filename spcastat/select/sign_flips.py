"""What the data would look like without correlations: the signs of centred cells flipped at random.

Flips keep the size of every cell, and so the sizes of rows and the variances of columns; permutations of
columns mix the sizes of rows, and take heavy tails for components. Hong, Sheng and Dobriban, "Selecting the
number of components in PCA via random signflips".
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from spcastat.errors import CovarianceError
from spcastat.kernels.eig import top_dense, top_eigh

#: Numbers in the rows that are drawn for a covariance matrix; beyond, flips follow the central limit theorem.
MOST_CELLS = 3_000_000
#: Up to this many variables the covariance matrix is formed; of twice as many where rows are not few.
HELD = 500
#: Up to this order all eigenvalues take no longer than a few.
ORDER = 1500
#: A variable of which less is left than this share of its variance is not brought to more.
LEAST_LEFT = 0.05
#: Truncated power steps of a sparse component, and starts.
STEPS, STARTS = 8, 4
#: The largest number of values in the covariance matrices that are processed together.
TOGETHER = 200_000


class Noise(ABC):
    """Data, of which components can be removed and signs flipped.

    Attributes
    ----------
    p : int
    values : ndarray of shape (r,)
        Eigenvalues of the covariance matrix, descending; r is the smaller of p and the number of rows.
    """

    p: int
    values: np.ndarray
    S: np.ndarray

    @property
    @abstractmethod
    def variances(self) -> np.ndarray:
        """The variances of the variables, shape (p,)."""

    @abstractmethod
    def leading(self, m: int) -> np.ndarray:
        """Return the m largest eigenvalues, descending."""

    @abstractmethod
    def directions(self, m: int) -> np.ndarray:
        """Return the eigenvectors of the m largest eigenvalues, shape (p, m)."""

    @abstractmethod
    def flipped(self, rng: np.random.Generator) -> Noise:
        """Return the data with random signs."""

    @abstractmethod
    def without(self, Q: np.ndarray) -> Noise:
        """Return what is left when the directions of an orthonormal Q, shape (p, j), are projected out.

        Its flips are those of noise without these directions: the projection takes a share h_i = |Q_i|^2 from
        the variance of variable i, and correlates what was independent, by I - QQ'. So cells are scaled to
        their full variance, flipped, and the directions projected out of them as well.
        """

    @abstractmethod
    def sparse(self, card: int) -> tuple[float, np.ndarray]:
        """Return variance and loadings, (p,), of a component of `card` variables by truncated power steps."""

    def sparse_flips(self, rngs: Sequence[np.random.Generator], card: int) -> np.ndarray:
        """Return the variances of the components that `sparse` finds in flips by each generator."""
        at_once = max(TOGETHER // self.p**2, 1)
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
        """Return the component of all variables that go with that of loadings v, shape (p,).

        Those of v, and those whose covariance with its score is beyond what flips of their cells give: more
        than sqrt(2 log p) standard deviations, which none of p variables of noise is likely to exceed
        (the universal threshold of Donoho and Johnstone 1994).
        """


class RowNoise(Noise):
    """Rows Z with covariance matrix Z'Z.

    Parameters
    ----------
    Z : ndarray of shape (n, p)
    """

    def __init__(self, Z: np.ndarray, beside: np.ndarray | None = None):
        self.Z = Z
        self.p = Z.shape[1]
        self.beside = beside

    @property
    def S(self) -> np.ndarray:  # type: ignore[override]
        return self.Z.T @ self.Z

    @property
    def variances(self) -> np.ndarray:
        return np.einsum("ij,ij->j", self.Z, self.Z)

    def directions(self, m: int) -> np.ndarray:
        if self.Z.shape[1] <= self.Z.shape[0]:
            return top_eigh(self.S, m)[1]
        V = self.Z.T @ top_eigh(self.Z @ self.Z.T, m)[1]
        return V / np.maximum(np.linalg.norm(V, axis=0), np.finfo(float).tiny)

    @property
    def values(self) -> np.ndarray:  # type: ignore[override]
        return np.linalg.eigvalsh(self._smaller)[::-1].clip(min=0.0)

    @property
    def _smaller(self) -> np.ndarray:
        """The smaller of Z'Z and ZZ'."""
        return self.Z @ self.Z.T if self.Z.shape[1] > self.Z.shape[0] else self.S

    def leading(self, m: int) -> np.ndarray:
        return _largest(self._smaller, m)

    def flipped(self, rng: np.random.Generator) -> Noise:
        Q, Z = self.beside, self.Z
        if Q is not None:
            Z = Z * _inflation(Q)
        flips = rng.integers(0, 2, size=Z.shape, dtype=np.int8)
        drawn = np.where(flips, Z, -Z)
        return RowNoise(drawn if Q is None else drawn - (drawn @ Q) @ Q.T)

    def without(self, Q: np.ndarray) -> Noise:
        return RowNoise(self.Z - (self.Z @ Q) @ Q.T, Q)

    def sparse(self, card: int) -> tuple[float, np.ndarray]:
        if self.p <= HELD or self.p <= min(2 * len(self.Z), 2 * HELD):
            return _first(sparse_components(self.S[None], card))
        U = top_eigh(self.Z @ self.Z.T, min(STARTS, len(self.Z)))[1]
        W = U.T @ self.Z
        for _ in range(STEPS):
            W = (_cut(W, card) @ self.Z.T) @ self.Z
        places = _largest_places(W, card)
        blocks = np.stack([self.Z[:, some].T @ self.Z[:, some] for some in places])
        return _first(_best(places[None], blocks[None], self.p))

    def whole(self, v: np.ndarray) -> np.ndarray:
        score = self.Z @ v
        spread = np.sqrt((self.Z**2).T @ score**2)
        some = _beyond(score @ self.Z, spread, v)
        loadings = np.zeros(self.p)
        loadings[some] = _leading_of_rows(self.Z[:, some])
        return loadings


@dataclass(frozen=True, eq=False)
class Tails:
    """How rows differ from normal ones, as far as flips of their cells feel it.

    Attributes
    ----------
    ratio : ndarray of shape (p, p)
        How many times the variance of each flipped covariance is that of normal rows.
    sizes : ndarray of shape (h,)
        The mean squared cell of the largest rows, as a share of that of all rows: a row that is much larger
        than others has an eigenvalue of its own however its signs are flipped.
    """

    ratio: np.ndarray
    sizes: np.ndarray


class MomentNoise(Noise):
    """A covariance matrix of many rows, for which flips follow the central limit theorem.

    Flips leave the variances as they are. Covariances get the mean zero and, for normal rows, the variance
    (s_ii s_jj + 2 s_ij^2) / n. Together they are like those of n rows of independent variables, whose
    largest eigenvalues have the mean and the spread that p variables give them, however many there are.

    Parameters
    ----------
    S : ndarray of shape (p, p)
    n : float
    beside : ndarray of shape (p, j), optional
        Directions that were taken out.
    tails : Tails, optional
        How the rows differ from normal ones.
    """

    def __init__(self, S: np.ndarray, n: float, beside: np.ndarray | None = None, tails: Tails | None = None):
        self.S, self.n, self.p, self.beside, self.tails = S, n, len(S), beside, tails

    @property
    def variances(self) -> np.ndarray:
        return np.diag(self.S)

    def directions(self, m: int) -> np.ndarray:
        return top_eigh(self.S, m)[1]

    @property
    def values(self) -> np.ndarray:  # type: ignore[override]
        return np.linalg.eigvalsh(self.S)[::-1].clip(min=0.0)

    def leading(self, m: int) -> np.ndarray:
        return _largest(self.S, m)

    def flipped(self, rng: np.random.Generator) -> Noise:
        Q, S = self.beside, self.S
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
        np.fill_diagonal(left, np.diag(left).clip(min=0.0))  # of nothing, rounding
        return MomentNoise(left, self.n, Q, self.tails)

    def sparse(self, card: int) -> tuple[float, np.ndarray]:
        return _first(sparse_components(self.S[None], card))

    def whole(self, v: np.ndarray) -> np.ndarray:
        covariance = self.S @ v
        square = (np.diag(self.S) * max(float(v @ covariance), 0.0) + 2.0 * covariance**2) / self.n
        if self.tails is not None:
            share = v**2 * np.diag(self.S)
            square *= self.tails.ratio @ (share / max(share.sum(), np.finfo(float).tiny))
        spread = np.sqrt(square)
        some = _beyond(covariance, spread, v)
        loadings = np.zeros(self.p)
        loadings[some] = top_eigh(self.S[np.ix_(some, some)], 1)[1][:, 0]
        return loadings


def _largest(S: np.ndarray, m: int) -> np.ndarray:
    """Return the m largest eigenvalues of S, descending."""
    if len(S) <= ORDER:
        return np.linalg.eigvalsh(S)[::-1][:m].clip(min=0.0)
    return top_dense(S, min(m, len(S)), np.random.default_rng(0).standard_normal(len(S)))[0].clip(min=0.0)


def _covariances_of_noise(rng: np.random.Generator, n: int, p: int, sizes: np.ndarray) -> np.ndarray:
    """Return covariances of n rows of p independent normal variables of variance 1, shape (p, p).

    The largest rows have the given `sizes`, their mean squares, and all others share what is left of n.
    Covariances are divided by what that makes of their variance, so that it is 1 / n. Of more rows than
    variables by Bartlett's decomposition of their cross-products.
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
        square += (sizes**2).sum() * p / (p + 2.0)  # entries of vectors of a fixed length
    return np.asarray(A @ A.T / np.sqrt(n * square))


def of_covariance(S: np.ndarray, n: float, rng: np.random.Generator) -> Noise:
    """Return normal rows that have exactly the covariance matrix S, or its law for many rows.

    Raises
    ------
    CovarianceError
        Where so few rows cannot have this matrix.
    """
    p = len(S)
    if n * p > MOST_CELLS or n != int(n):
        return MomentNoise(S, n)
    values, V = np.linalg.eigh(S)
    some = values > 1e-10 * values[-1]
    rank = int(some.sum())
    if rank > n - 1:
        raise CovarianceError(
            f"n_obs={int(n)} was given for a covariance matrix of rank {rank}, and so many rows have one of "
            f"rank {int(n) - 1} at most. Give the true n_obs, or the rows themselves."
        )
    Z = rng.standard_normal((int(n), rank))
    Q = np.linalg.qr(Z - Z.mean(axis=0))[0]
    return RowNoise((Q * np.sqrt(values[some])) @ V[:, some].T)


def _beyond(covariance: np.ndarray, spread: np.ndarray, v: np.ndarray) -> np.ndarray:
    """Return where covariances with the score of v are beyond such noise, and the variables of v."""
    return np.flatnonzero((v != 0) | (np.abs(covariance) > np.sqrt(2.0 * np.log(len(v))) * spread))


def _leading_of_rows(Z: np.ndarray) -> np.ndarray:
    """Return the leading eigenvector of Z'Z, by the smaller of Z'Z and ZZ'."""
    if Z.shape[1] <= Z.shape[0]:
        return np.asarray(top_eigh(Z.T @ Z, 1)[1][:, 0])
    v = Z.T @ top_eigh(Z @ Z.T, 1)[1][:, 0]
    return np.asarray(v / max(np.linalg.norm(v), np.finfo(float).tiny))


def _inflation(Q: np.ndarray) -> np.ndarray:
    """Return what brings variables to the variance that they had before Q was taken out."""
    return 1.0 / np.sqrt(np.maximum(1.0 - (Q**2).sum(axis=1), LEAST_LEFT))


def _projected(S: np.ndarray, Q: np.ndarray) -> np.ndarray:
    """Return (I - QQ') S (I - QQ')."""
    C = S @ Q
    return S - C @ Q.T - Q @ C.T + Q @ (Q.T @ C) @ Q.T


def sparse_components(S: np.ndarray, card: int) -> tuple[np.ndarray, np.ndarray]:
    """Return variances, (B,), and loadings, (B, p), of a component of `card` variables in each of B matrices.

    Truncated power steps start from the columns whose largest entries are largest together, and the best
    support is fitted exactly.

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


def _first(found: tuple[np.ndarray, np.ndarray]) -> tuple[float, np.ndarray]:
    return float(found[0][0]), found[1][0]


def _largest_places(W: np.ndarray, card: int) -> np.ndarray:
    """Return the places of the `card` largest entries along the last axis."""
    return np.argpartition(-np.abs(W), card - 1, axis=-1)[..., :card]


def _cut(W: np.ndarray, card: int) -> np.ndarray:
    """Return rows with all but their `card` largest entries zero, at unit length."""
    keep = _largest_places(W, card)
    V = np.zeros_like(W)
    np.put_along_axis(V, keep, np.take_along_axis(W, keep, axis=-1), axis=-1)
    sizes = np.linalg.norm(V, axis=-1, keepdims=True)
    return V / np.where(sizes > 0, sizes, 1.0)
