"""Tests for the number of components: parallel analysis and two sequential tests."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np

from spcastat.progress import stage
from spcastat.resample import draw_generator
from spcastat.select.sign_flips import Noise

#: A sparse component must explain at least this mean correlation of its variables.
LEAST_CORRELATION = 0.1


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
        Variances of sparse components given the earlier sparse ones. Each earlier component is extended to
        all variables correlated with it, so that no part of it is found again; NaN after the last.
    sparse_p_values : ndarray of shape (m,)
        As `p_values`, for the sparse components; NaN if not tested.
    correlations : ndarray of shape (m,)
        Mean correlation of its variables that each sparse component explains.
    level : float
        Level of the sequential tests.
    parallel, deflated, sequential : int
        Number of components that each test keeps.
    """

    values: np.ndarray
    bound: np.ndarray
    p_values: np.ndarray
    deflated_p_values: np.ndarray
    sparse_variances: np.ndarray
    sparse_p_values: np.ndarray
    correlations: np.ndarray
    level: float
    parallel: int
    deflated: int
    sequential: int

    @property
    def k(self) -> int:
        """The chosen number of components: max(min(parallel, deflated), sequential)."""
        return max(min(self.parallel, self.deflated), self.sequential)


def default_card(p: int) -> int:
    """Return the default cardinality of tested sparse components: 1.5 log(p), at least two."""
    return min(p, max(2, round(1.5 * np.log(p))))


def standing(noise: Noise, kmax: int, card: int, alpha: float, n_resample: int, seed: int) -> Standing:
    """Test the leading components.

    Parameters
    ----------
    noise : Noise
        The data.
    kmax : int
        Largest number of components tested.
    card : int
        Cardinality of the sparse components.
    alpha : float
        Level of parallel analysis; the other tests use a fifth of it, or the lowest that the draws allow.
    n_resample : int
    seed : int
    """
    values = noise.values
    m = min(kmax, len(values))
    with stage("parallel analysis", n_resample, "draws") as advance:
        drawn = np.empty((n_resample, m))
        for i in range(n_resample):
            drawn[i] = noise.flipped(draw_generator(seed, i)).leading(m)
            advance(1)
    p_values = (1.0 + (drawn >= values[:m]).sum(axis=0)) / (n_resample + 1.0)
    bound = np.quantile(drawn, 1.0 - alpha, axis=0)
    # Level of the sequential tests, as a share of that of parallel analysis
    level = max(0.2 * alpha, 1.0 / (n_resample + 1.0))
    parallel = _leading(p_values, alpha)
    deflated = _deflated(noise, p_values[0], parallel, m, level, n_resample, seed)
    variances, sparse, correlations = _sequential(noise, values[0], card, m, level, n_resample, seed)
    return Standing(
        values,
        bound,
        p_values,
        deflated,
        variances,
        sparse,
        correlations,
        level,
        parallel,
        _leading(deflated, level),
        int(np.sum(sparse <= level)),
    )


def _deflated(
    noise: Noise, first: float, parallel: int, m: int, level: float, n_resample: int, seed: int
) -> np.ndarray:
    """Return p-values, shape (m,), of the first eigenvalue after removing 0, 1, ... leading components."""
    p_values = np.full(m, np.nan)
    if not parallel:
        return p_values
    p_values[0], U = first, noise.directions(parallel)
    for j in range(1, parallel):
        if p_values[j - 1] > level:
            break
        left = noise.without(U[:, :j])

        def largest(rngs: Sequence[np.random.Generator], left: Noise = left) -> np.ndarray:
            return np.array([left.flipped(rng).leading(1)[0] for rng in rngs])

        p_values[j] = _p_value(left.leading(1)[0], largest, level, n_resample, seed, (m + j) * n_resample)
    return p_values


def _sequential(
    noise: Noise, largest: float, card: int, m: int, level: float, n_resample: int, seed: int
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Return variances, p-values and explained correlations of sparse components, shape (m,) each.

    A component that explains less than LEAST_CORRELATION is neither tested nor counted.
    """
    variances, p_values, correlations = (np.full(m, np.nan) for _ in range(3))
    left, found = noise, np.zeros((noise.p, 0))
    with stage("sequential sparse test", m, "components") as advance:
        for j in range(m):
            if j:
                left = noise.without(np.linalg.qr(found)[0])
            variances[j], v = left.sparse(card)
            # A component whose variance is below this share of the largest eigenvalue counts as zero
            if variances[j] <= 1e-10 * largest:  # only rounding errors are left
                break
            some = np.flatnonzero(v)
            each, own = left.variances[some].mean(), noise.variances[some].mean()
            correlations[j] = (variances[j] - each) / (own * max(len(some) - 1, 1))
            found = np.column_stack([found, left.whole(v)])
            if correlations[j] >= LEAST_CORRELATION:
                begin = (1 + j) * n_resample

                def sparse(rngs: Sequence[np.random.Generator], left: Noise = left) -> np.ndarray:
                    return left.sparse_flips(rngs, card)

                p_values[j] = _p_value(variances[j], sparse, level, n_resample, seed, begin)
            advance(1)
            if p_values[j] > level:
                break
    return variances, p_values, correlations


def _p_value(
    observed: float,
    drawn: Callable[[Sequence[np.random.Generator]], np.ndarray],
    level: float,
    n_resample: int,
    seed: int,
    first: int,
) -> float:
    """Return (1 + number of draws as large) / (draws + 1), or an estimate once it must exceed the level.

    Drawing ends with the h-th draw that is as large, where h is the smallest number that implies p > level.
    Then h over the number of draws is a p-value too: Besag and Clifford (1991), "Sequential Monte Carlo
    p-values".
    """
    settled = max(1, int(np.floor(level * (n_resample + 1.0))))
    as_large, at_once = 0, 10
    for begin in range(0, n_resample, at_once):
        numbers = range(begin, min(begin + at_once, n_resample))
        for i, value in zip(numbers, drawn([draw_generator(seed, first + i) for i in numbers]), strict=True):
            as_large += int(value >= observed)
            if as_large >= settled and settled / (i + 1.0) > level:
                return as_large / (i + 1.0)
    return (1.0 + as_large) / (n_resample + 1.0)


def _leading(p_values: np.ndarray, alpha: float) -> int:
    """Return the number of components before the first that is not significant."""
    kept = p_values <= alpha
    return int(len(kept) if kept.all() else np.argmin(kept))


def kaiser(values: np.ndarray, p: int) -> int:
    """Return the number of eigenvalues above their mean over p variables (Kaiser's rule)."""
    return int(np.sum(values > values.sum() / p * (1.0 + 1e-10)))


def broken_stick(p: int) -> np.ndarray:
    """Return the expected shares of p pieces of a stick broken at random, the largest first: (p,)."""
    return np.cumsum(1.0 / np.arange(p, 0, -1))[::-1] / p
