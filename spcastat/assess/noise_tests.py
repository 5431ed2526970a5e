"""How many components stand out from noise: tests by sign flips of the data.

Flips keep the absolute value of every cell, and so the norms of rows and the variances of columns.
Permutations of columns mix the norms of rows, so that heavy tails appear as components. Hong, Sheng and
Dobriban, "Selecting the number of components in PCA via random signflips".

One row of 8 standard deviations beside strong components has an eigenvalue near theirs. Sign flips keep the
size of rows, so that the noise has this eigenvalue, too, and no component exceeds it. Rows are pulled in
along the line to the median, as in spherical principal components: Locantore et al. (1999), "Robust principal
component analysis for functional data", Test 8.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import cached_property, partial
from itertools import islice

import numpy as np

from spcastat.assess.draws import draw_generator
from spcastat.config import real_number, whole_number
from spcastat.errors import CovarianceError, OptionError
from spcastat.linalg.eigenvectors import top_dense, top_eigh, varimax
from spcastat.progress import stage

# --- components of data with flipped signs --------------------------------------------------------


#: Up to this many cells, rows are drawn and their signs flipped; for more, the central limit theorem is used.
MOST_CELLS = 3_000_000
#: Up to this many variables the covariance matrix is formed; up to twice as many if there are many rows.
GRAM_LIMIT = 500
#: A principal component of at least this share of the variables, in effect, is one of many variables.
MANY = 0.25
#: Truncated power steps for a sparse component, and number of starts.
STEPS, STARTS = 8, 4


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

    def block(self, some: np.ndarray) -> np.ndarray:
        """Return the covariance matrix of some variables."""
        return self.S[np.ix_(some, some)]

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


@dataclass(frozen=True, eq=False)
class RowNoise(Noise):
    """Rows Z with covariance matrix Z'Z.

    Attributes
    ----------
    Z : ndarray of shape (n, p)
    taken : ndarray of shape (p, j), optional
        Directions that have been projected out.
    groups : ndarray of int, shape (n,), optional
        The numbers of the clusters of the rows, from 0: the signs of a variable in a cluster are flipped
        together.
    terms : ndarray of int, shape (p,), optional
        The numbers of the terms of the variables, from 0: the signs of the variables of a term are flipped
        together, so that noise keeps their correlations, such as those of the indicators of a factor.
    """

    Z: np.ndarray
    taken: np.ndarray | None = None
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

    def block(self, some: np.ndarray) -> np.ndarray:
        return self.Z[:, some].T @ self.Z[:, some]

    @property
    def _smaller(self) -> np.ndarray:
        return self.Z @ self.Z.T if self.Z.shape[1] > self.Z.shape[0] else self.S

    def directions(self, m: int) -> np.ndarray:
        return _directions(self.Z, m)

    @cached_property
    def _cells(self) -> np.ndarray:
        """The cells whose signs are flipped, shape (n, p), each variable with its full variance."""
        return self.Z if self.taken is None else self.Z * _inflation(self.taken)

    def flipped(self, rng: np.random.Generator) -> Noise:
        Q, Z = self.taken, self._cells
        units = len(Z) if self.groups is None else int(self.groups.max()) + 1
        signs = self.p if self.terms is None else int(self.terms.max()) + 1
        flips = rng.integers(0, 2, size=(units, signs), dtype=np.int8)
        if self.terms is not None:
            flips = flips[:, self.terms]
        if self.groups is not None:
            flips = flips[self.groups]
        drawn = Z * (2 * flips - 1)  # a third of the time of a choice between Z and -Z
        return RowNoise(drawn if Q is None else drawn - (drawn @ Q) @ Q.T)

    def without(self, Q: np.ndarray) -> Noise:
        return replace(self, Z=self.Z - (self.Z @ Q) @ Q.T, taken=Q)

    def sparse(self, card: int) -> tuple[float, np.ndarray]:
        if self.p <= GRAM_LIMIT or self.p <= min(2 * len(self.Z), 2 * GRAM_LIMIT):
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


@dataclass(frozen=True, eq=False)
class MomentNoise(Noise):
    """A covariance matrix of many rows, whose flips are simulated by the central limit theorem.

    Flips keep the variances. Covariances get mean zero and, for normal rows, the variance
    (s_ii s_jj + 2 s_ij^2) / n. They are drawn like the covariances of n rows of independent variables, so
    that the largest eigenvalues have the right mean and spread for any p.

    Attributes
    ----------
    S : ndarray of shape (p, p)
    rows : float
    taken : ndarray of shape (p, j), optional
        Directions that have been projected out.
    tails : Tails, optional
        Deviations of the rows from normality.
    terms : ndarray of int, shape (p,), optional
        The numbers of the terms of the variables, as for `RowNoise`: flips keep the covariances in a term.
    """

    S: np.ndarray
    rows: float
    taken: np.ndarray | None = None
    tails: Tails | None = None
    terms: np.ndarray | None = None

    @property
    def p(self) -> int:  # type: ignore[override]
        return len(self.S)

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
        F = _covariances_of_noise(rng, max(round(self.rows) - 1, 1), self.p, sizes) * np.sqrt(spread)
        np.fill_diagonal(F, variances)
        if self.terms is not None:
            same = self.terms[:, None] == self.terms
            F[same] = S[same]
        return MomentNoise(F if Q is None else _projected(F, Q), self.rows, tails=self.tails)

    def without(self, Q: np.ndarray) -> Noise:
        left = _projected(self.S, Q)
        np.fill_diagonal(left, np.diag(left).clip(min=0.0))  # rounding errors may be negative
        return replace(self, S=left, taken=Q)

    def whole(self, v: np.ndarray) -> np.ndarray:
        covariance = self.S @ v
        square = (np.diag(self.S) * max(float(v @ covariance), 0.0) + 2.0 * covariance**2) / self.rows
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


# --- the tests ------------------------------------------------------------------------------------


#: A component must explain at least this mean correlation of its variables.
LEAST_CORRELATION = 0.1
#: And a sparse component, extended to all variables correlated with it, this one.
LEAST_OF_WHOLE = 0.05
#: Largest number of draws.
MOST_DRAWS = 100_000
#: A test whose p-value is too near its level makes up to this multiple of the draws.
FURTHER = 4
#: Takes random generators and returns the largest variances in draws from each.
Drawn = Callable[[Sequence[np.random.Generator]], Iterable[float]]


@dataclass(frozen=True)
class Draws:
    """The draws of noise, and the level of the tests.

    Attributes
    ----------
    alpha : float
        Level of parallel analysis.
    n_draws : int
        Number of draws for a test, which must be enough for the level. Up to FURTHER times as many are made
        if its p-value is near the level, so that another seed seldom gives another outcome.
    seed : int

    Raises
    ------
    OptionError
        If a value is not allowed.
    """

    alpha: float
    n_draws: int
    seed: int

    def __post_init__(self) -> None:
        alpha = real_number("alpha", self.alpha, 1.0 / (MOST_DRAWS + 1), 0.5)
        n = whole_number("n_draws", self.n_draws, 19, MOST_DRAWS)
        if n + 1 < 1.0 / alpha:
            raise OptionError(
                f"n_draws={n} was given with alpha={alpha:g}; the smallest possible p-value is 1 / "
                f"{n + 1}. Give {int(np.ceil(1.0 / alpha)) - 1} draws or more."
            )
        object.__setattr__(self, "alpha", alpha)
        object.__setattr__(self, "n_draws", n)

    @property
    def level(self) -> float:
        """Level of the sequential tests: a fifth of `alpha`, or the lowest that the draws allow."""
        return max(0.2 * self.alpha, 1.0 / (self.n_draws + 1.0))

    @property
    def most(self) -> int:
        """Largest number of draws for a test."""
        return FURTHER * self.n_draws

    def p_value(self, observed: float, drawn: Drawn, first: int) -> float:
        """Return the p-value (1 + number of draws that reach `observed`) / (draws + 1), or an estimate of it.

        Drawing ends after `n_draws` draws, or a multiple, if the p-value is clearly below the level, or if
        `observed` is so far above the draws that no distribution of their mean and standard deviation exceeds
        it with a larger probability than the level (Cantelli's inequality). Drawing also ends with the h-th
        draw that reaches `observed`, where h is the smallest number that implies p > level after all draws.
        Then h over the number of draws is a p-value too: Besag and Clifford (1991), "Sequential Monte Carlo
        p-values".
        """
        enough = max(1, int(np.floor(self.level * (self.most + 1.0))))
        generators = (draw_generator(self.seed, first + i) for i in range(self.most))
        made: list[float] = []
        as_large, p_value = 0, 1.0
        for _ in range(FURTHER):
            of_round = islice(generators, self.n_draws)
            while some := list(islice(of_round, 10)):
                for value in drawn(some):
                    made.append(value)
                    as_large += int(value >= observed)
                    if as_large >= enough and enough / len(made) > self.level:
                        return as_large / len(made)
            p_value = (1.0 + as_large) / (len(made) + 1.0)
            far = np.mean(made) + np.sqrt(1.0 / self.level - 1.0) * np.std(made)
            clear = observed > far or not is_near(p_value, self.level, len(made))
            if clear and p_value <= self.level:
                break
        return p_value


def is_near(p_value: float, level: float, made: int) -> bool:
    """Whether a p-value from `made` draws is within two of its standard errors of the level."""
    return abs(p_value - level) <= 2.0 * np.sqrt(p_value * (1.0 - p_value) / made)


@dataclass(frozen=True, eq=False)
class Standing:
    """Results of the tests for the leading components.

    Attributes
    ----------
    values : ndarray of shape (r,)
        All eigenvalues.
    bound : ndarray of shape (m,)
        The 1 - alpha quantiles of the m leading eigenvalues of sign-flipped data.
    p_values : ndarray of shape (m,)
        (1 + number of draws with at least as large an eigenvalue of that rank) / (draws + 1).
    deflated_p_values : ndarray of shape (m,)
        The same for the first eigenvalue given the earlier components; NaN after parallel analysis or this
        test has ended.
    sparse_variances : ndarray of shape (m,)
        Variances of sparse components given the earlier ones, which are removed with all variables correlated
        with them, so that no part is found again; NaN after the last.
    sparse_p_values : ndarray of shape (m,)
        As `p_values`, for the sparse components; NaN if not tested.
    correlations : ndarray of shape (m,)
        Mean correlation of its variables that each sparse component explains.
    draws : Draws
    card : int
        Cardinality of the sparse components.
    parallel, deflated, sequential : int
        Number of components that each test keeps.
    explained : ndarray of shape (m,)
        Mean correlations of their variables that the components of both parallel analysis and the deflated
        test explain, rotated by varimax, descending; NaN for others.
    """

    values: np.ndarray
    bound: np.ndarray
    p_values: np.ndarray
    deflated_p_values: np.ndarray
    sparse_variances: np.ndarray
    sparse_p_values: np.ndarray
    correlations: np.ndarray
    draws: Draws
    card: int
    parallel: int
    deflated: int
    sequential: int
    explained: np.ndarray

    @property
    def major(self) -> int:
        """Number of components by parallel analysis that explain at least LEAST_CORRELATION."""
        return int((self.explained >= LEAST_CORRELATION).sum())

    @property
    def minor(self) -> int:
        """Number of components that exceed noise but are minor, so that they are not chosen."""
        return max(min(self.parallel, self.deflated) - self.k, 0)

    @property
    def k(self) -> int:
        """The chosen number of components: max(min(parallel, deflated, major), sequential)."""
        return max(min(self.parallel, self.deflated, self.major), self.sequential)


def default_card(p: int) -> int:
    """Return the default cardinality of tested sparse components: 1.5 log(p), at least two."""
    return min(p, max(2, round(1.5 * np.log(p))))


# --- the number of components ---------------------------------------------------------------------


def standing(noise: Noise, kmax: int, card: int, draws: Draws, most: int | None = None) -> Standing:
    """Test the leading components.

    Parameters
    ----------
    noise : Noise
        The data.
    kmax : int
        Number of components tested.
    card : int
        Cardinality of the sparse components.
    draws : Draws
    most : int, optional
        Up to this many components are tested if there are no two in a row, among the first `kmax`, that are
        noise; by default `kmax`.
    """
    values = noise.values
    most = min(most or kmax, len(values))
    m = min(kmax, most)
    variances, sparse, correlations = _sequential(noise, values[0], card, most, draws)
    kept = int(np.sum(sparse <= draws.level))
    m = max(m, min(kept + 2, most))
    drawn = _noise_values(noise, values, m, draws)
    while m < most and _leading(_p_values(values, drawn), draws.alpha) > m - 2:
        m = min(2 * m, most)
        drawn = _noise_values(noise, values, m, draws)
    parallel = _leading(_p_values(values, drawn), draws.alpha)
    m = max(min(kmax, most), min(max(parallel, kept) + 2, m))
    drawn = drawn[:, :m]
    p_values, bound = _p_values(values, drawn), np.quantile(drawn, 1.0 - draws.alpha, axis=0)
    variances, sparse, correlations = variances[:m], sparse[:m], correlations[:m]
    deflated = _deflated(noise, p_values[0], parallel, most, draws)[:m]
    return Standing(
        values=values,
        bound=bound,
        p_values=p_values,
        deflated_p_values=deflated,
        sparse_variances=variances,
        sparse_p_values=sparse,
        correlations=correlations,
        draws=draws,
        card=card,
        parallel=parallel,
        deflated=_leading(deflated, draws.level),
        sequential=int(np.sum(sparse <= draws.level)),
        explained=_explained(noise, min(parallel, _leading(deflated, draws.level)), m),
    )


def _noise_values(noise: Noise, values: np.ndarray, m: int, draws: Draws) -> np.ndarray:
    """Return the m leading eigenvalues of each draw of noise, shape (draws, m).

    `n_draws` draws are added while a p-value of the eigenvalues `values` of the data is near the level, of
    those up to the first that is clearly above it.
    """
    drawn = np.empty((0, m))
    while len(drawn) < draws.most:
        more = np.empty((draws.n_draws, m))
        with stage("parallel analysis", draws.n_draws, "draws") as advance:
            for i in range(draws.n_draws):
                more[i] = noise.flipped(draw_generator(draws.seed, len(drawn) + i)).leading(m)
                advance(1)
        drawn = np.vstack([drawn, more])
        if not _is_open(_p_values(values, drawn), draws.alpha, len(drawn)):
            break
    return drawn


def _is_open(p_values: np.ndarray, level: float, made: int) -> bool:
    """Whether a p-value is near the level, of those up to the first that is clearly above it."""
    for p_value in p_values:
        if is_near(p_value, level, made):
            return True
        if p_value > level:
            break
    return False


def _p_values(values: np.ndarray, drawn: np.ndarray) -> np.ndarray:
    """Return the p-values of the leading eigenvalues, shape (m,), given those of draws, (n_draws, m)."""
    n, m = drawn.shape
    return np.asarray((1.0 + (drawn >= values[:m]).sum(axis=0)) / (n + 1.0))


def _explained(noise: Noise, q: int, m: int) -> np.ndarray:
    """Return the mean correlations of their variables that q components explain, shape (m,), descending.

    The q leading components are rotated by varimax, so that each has variables of its own: unrotated ones are
    contrasts of groups of variables. Those correlations a of variables with a rotated component that noise
    may have, up to the universal threshold sqrt(2 log(p) / n), count as zero. NaN after the q-th.
    """
    found = np.full(m, np.nan)
    if not q:
        return found
    U, values, variances = noise.directions(q), noise.values[:q], noise.variances
    common = (values - variances @ U**2).clip(min=0.0)  # beyond the variance of uncorrelated variables
    A = np.abs(varimax(_by_sd(U * np.sqrt(common), variances)))
    A[np.sqrt(2.0 * np.log(noise.p) / noise.rows) > A] = 0.0
    found[:q] = np.sort(mean_correlations(A))[::-1]
    return found


def _by_sd(A: np.ndarray, variances: np.ndarray) -> np.ndarray:
    """Return A, shape (p, q), with rows divided by the standard deviations; zero for constant variables."""
    sd = np.sqrt(variances)[:, None]
    return np.divide(A, sd, out=np.zeros_like(A), where=sd > 0)


def mean_correlations(A: np.ndarray) -> np.ndarray:
    """Return the mean of the correlations |a_i a_j| over pairs of variables of each component, shape (q,).

    With c = (sum |a|)^2 / sum a^2 variables in effect, a component of variance 1 + (c - 1) r, where r is the
    correlation of each pair, has sum a^2 = (c - 1) r beyond the variance of uncorrelated variables. So
    r = sum a^2 / (c - 1).

    Parameters
    ----------
    A : ndarray of shape (p, q)
        Unit loadings times the root of the variance beyond that of uncorrelated variables, by standard
        deviations of the variables.
    """
    squares, sums = (A**2).sum(axis=0), np.abs(A).sum(axis=0)
    count = np.divide(sums**2, squares, out=np.ones_like(sums), where=squares > 0)
    pairs = count > 1.0 + 1e-9
    return np.divide(squares, count - 1.0, out=np.zeros_like(sums), where=pairs)


def _deflated(noise: Noise, first: float, parallel: int, m: int, draws: Draws) -> np.ndarray:
    """Return p-values, shape (m,), of the first eigenvalue after removing 0, 1, ... leading components."""
    p_values = np.full(m, np.nan)
    if not parallel:
        return p_values
    p_values[0], U = first, noise.directions(parallel)
    for j in range(1, parallel):
        if p_values[j - 1] > draws.level:
            break
        left = noise.without(U[:, :j])
        drawn = partial(_largest_of_flips, left)
        p_values[j] = draws.p_value(left.leading(1)[0], drawn, (m + j) * draws.most)
    return p_values


def _largest_of_flips(noise: Noise, rngs: Sequence[np.random.Generator]) -> Iterator[float]:
    """Yield the largest eigenvalue of flips drawn from each generator."""
    for rng in rngs:
        yield float(noise.flipped(rng).leading(1)[0])


def _sequential(
    noise: Noise, largest: float, card: int, m: int, draws: Draws
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Return variances, p-values and explained correlations of sparse components, shape (m,) each.

    Before the next test, a component is removed: the leading principal component if it is one of many
    variables and its eigenvalue exceeds that of noise, and otherwise the sparse component, extended to all
    variables correlated with it. After an extended sparse component, parts of a component of many variables
    would remain, and be counted again. A principal component u has 1 / sum(u^4) variables in effect; many are
    at least the share MANY of all.

    A component that explains less than LEAST_CORRELATION, or less than LEAST_OF_WHOLE when extended, is not
    counted. If it stands out from noise nevertheless, it is the last: it is minor, and so are those after it.
    If not, its variables have large variances, and others may follow.
    """
    variances, p_values, correlations = (np.full(m, np.nan) for _ in range(3))
    left, found = noise, np.zeros((noise.p, 0))
    with stage("sequential sparse test", m, "components") as advance:
        for j in range(m):
            if j:
                left = noise.without(np.linalg.qr(found)[0])
            variances[j], v = left.sparse(card)
            # a component whose variance is at most 1e-10 of the largest eigenvalue counts as zero
            if variances[j] <= 1e-10 * largest:  # only rounding errors are left
                break
            some = np.flatnonzero(v)
            each, own = left.variances[some].mean(), noise.variances[some].mean()
            correlations[j] = (variances[j] - each) / (own * max(len(some) - 1, 1))
            whole = left.whole(v)
            of_whole = _correlation_of_whole(left, whole, noise.variances)
            enough = correlations[j] >= LEAST_CORRELATION and of_whole >= LEAST_OF_WHOLE
            drawn = partial(left.sparse_flips, card=card)
            p_value = draws.p_value(variances[j], drawn, (1 + j) * draws.most)
            if enough:
                p_values[j] = p_value
            advance(1)
            # the end is noise, or a minor component: only variables of large variance may come before others
            if enough == (p_value > draws.level):
                break
            removed, leading = whole, left.directions(1)[:, 0]
            if 1.0 / (leading**4).sum() >= MANY * noise.p:
                first = (2 * m + 1 + j) * draws.most
                p_value = draws.p_value(left.leading(1)[0], partial(_largest_of_flips, left), first)
                removed = leading if p_value <= draws.level else whole
            found = np.column_stack([found, removed])
    return variances, p_values, correlations


def _correlation_of_whole(left: Noise, v: np.ndarray, variances: np.ndarray) -> float:
    """Return the mean correlation of its variables that a component explains, extended to all of them.

    The few variables of the sparse test are those that explain most, and among many rows even of a component
    that explains next to nothing of the others.

    Parameters
    ----------
    left : Noise
        The data without the earlier components.
    v : ndarray of shape (p,)
        Unit loadings.
    variances : ndarray of shape (p,)
        Variances of the variables with the earlier components.
    """
    some = np.flatnonzero(v)
    u = v[some]
    beyond = max(float(u @ left.block(some) @ u - left.variances[some] @ u**2), 0.0)
    return float(mean_correlations(_by_sd(u[:, None] * np.sqrt(beyond), variances[some]))[0])


def _leading(p_values: np.ndarray, alpha: float) -> int:
    """Return the number of components before the first that is not significant."""
    kept = p_values <= alpha
    return int(len(kept) if kept.all() else np.argmin(kept))


def broken_stick(p: int) -> np.ndarray:
    """Return the expected shares of p pieces of a stick broken at random, the largest first: (p,)."""
    return np.cumsum(1.0 / np.arange(p, 0, -1))[::-1] / p


# --- large rows -----------------------------------------------------------------------------------


#: Rows are pulled in to this multiple of the median size.
MOST_SIZE = 1.5
#: Rows are pulled in only if one has more than this multiple of the median size, so that the eigenvalues of
#: ordinary data are those of a fit.
FAR_SIZE = 2.5
#: Ratio of the median absolute deviation of a normal variable to its standard deviation.
NORMAL_MAD = 0.6744897501960817
#: A median absolute deviation below this share of the standard deviation is replaced by the latter.
LEAST_MAD = 0.1


@dataclass(frozen=True, eq=False)
class PulledIn:
    """Rows of which the large ones have been pulled in.

    Attributes
    ----------
    Z : ndarray of shape (n, p)
        Centred again, each variable with the sum of squares that it had; NaN for missing values.
    pulled : int
        Number of rows pulled in.
    far : ndarray of int
        Rows of more than FAR_SIZE times the median size, the one with the largest share first.
    shares : ndarray
        Their shares of the total variance, before they were pulled in.
    """

    Z: np.ndarray
    pulled: int
    far: np.ndarray
    shares: np.ndarray


def pulled_in(Z: np.ndarray, weights: np.ndarray | None = None) -> PulledIn:
    """Pull rows in to MOST_SIZE times the median size, if one has more than FAR_SIZE times the median size.

    The size of a row is the root mean square of its distances from the medians of the variables, in units of
    the median absolute deviation (the standard deviation for variables that hardly have one), over the values
    that are not missing.

    Parameters
    ----------
    Z : ndarray of shape (n, p)
        Centred variables; NaN for missing values.
    weights : ndarray of shape (n,), optional
        A row of weight 2 counts as two equal rows.
    """
    w = np.ones(len(Z)) if weights is None else weights
    known = ~np.isnan(Z)
    squares = np.where(known, Z, 0.0) ** 2 * w[:, None]
    middle = medians(Z, w)
    away = np.where(known, Z - middle, 0.0)
    mad = medians(np.abs(Z - middle), w) / NORMAL_MAD
    sd = np.sqrt(squares.sum(axis=0) / np.maximum(w @ known, 1.0))
    scale = np.where(mad > LEAST_MAD * sd, mad, sd)
    standardised = away / np.where(scale > 0, scale, 1.0)
    sizes = np.sqrt((standardised**2).sum(axis=1) / np.maximum(known.sum(axis=1), 1))
    usual = float(medians(sizes[:, None], w)[0])
    large = sizes > MOST_SIZE * usual
    if not 0 < FAR_SIZE * usual < sizes.max():
        return PulledIn(Z, 0, np.array([], dtype=int), np.array([]))
    factors = np.where(large, MOST_SIZE * usual / np.where(large, sizes, 1.0), 1.0)
    pulled = away * factors[:, None]
    pulled -= (w @ pulled) / np.maximum(w @ known, 1.0)
    pulled[~known] = 0.0
    now = (pulled**2 * w[:, None]).sum(axis=0)
    pulled *= np.sqrt(squares.sum(axis=0) / np.where(now > 0, now, 1.0))
    shares = squares.sum(axis=1) / squares.sum()
    far = np.flatnonzero(sizes > FAR_SIZE * usual)
    far = far[np.argsort(-shares[far], kind="stable")]
    return PulledIn(np.where(known, pulled, np.nan), int(large.sum()), far, shares[far])


def medians(Z: np.ndarray, weights: np.ndarray) -> np.ndarray:
    """Return the weighted median of each column, shape (p,), without missing values; 0 if it is empty."""
    if (weights == weights[0]).all() and not np.isnan(Z).any():
        return np.asarray(np.median(Z, axis=0))
    order = np.argsort(Z, axis=0)  # missing values are last
    values = np.take_along_axis(Z, order, axis=0)
    counts = np.cumsum(np.where(np.isnan(values), 0.0, weights[order]), axis=0)
    half, places = 0.5 * counts[-1], np.arange(Z.shape[1])
    lower = (counts < half * (1.0 - 1e-12)).sum(axis=0)
    upper = (counts <= half * (1.0 + 1e-12)).sum(axis=0).clip(max=len(Z) - 1)
    upper = np.where(np.isnan(values[upper, places]), lower, upper)
    middle = 0.5 * (values[lower, places] + values[upper, places])
    return np.where(np.isnan(middle), 0.0, middle)
