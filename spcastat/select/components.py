"""How many components stand out from noise: parallel analysis, and a sequential test of sparse components."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from spcastat.progress import stage
from spcastat.resample import draw_generator
from spcastat.select.noise import Noise

#: A component of a smaller share than this of the largest eigenvalue is rounding.
NOTHING = 1e-10


@dataclass(frozen=True, eq=False)
class Standing:
    """What the tests found for the leading components.

    Attributes
    ----------
    values : ndarray of shape (r,)
        All eigenvalues.
    bound : ndarray of shape (m,)
        The point that a share alpha of the eigenvalues of flipped data exceeds, for the m leading ones.
    p_values : ndarray of shape (m,)
        (1 + draws with an eigenvalue as large) / (draws + 1).
    sparse_variances : ndarray of shape (m,)
        Of a sparse component in what those before it leave, these with all variables that go with them, so
        that none is found again in pieces; NaN behind the first that is not significant.
    sparse_p_values : ndarray of shape (m,)
        As `p_values`, by the sparse component.
    parallel, sequential : int
        Components that each test keeps.
    """

    values: np.ndarray
    bound: np.ndarray
    p_values: np.ndarray
    sparse_variances: np.ndarray
    sparse_p_values: np.ndarray
    parallel: int
    sequential: int


def default_card(p: int) -> int:
    """Return the variables of a sparse component that is looked for among p: 1.5 log(p), two or more."""
    return min(p, max(2, round(1.5 * np.log(p))))


def standing(noise: Noise, kmax: int, card: int, alpha: float, n_resample: int, seed: int) -> Standing:
    """Test the leading components one after another.

    Parameters
    ----------
    noise : Noise
        The data.
    kmax : int
        Components that are tested, at most.
    card : int
        Variables of the sparse components.
    alpha : float
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
    exceeded = (drawn >= values[:m]).sum(axis=0)
    p_values = (1.0 + exceeded) / (n_resample + 1.0)
    bound = np.quantile(drawn, 1.0 - alpha, axis=0)
    variances, sparse = np.full(m, np.nan), np.full(m, np.nan)
    left, found = noise, np.zeros((noise.p, 0))
    with stage("sequential sparse test", m, "components") as advance:
        for j in range(m):
            if j:
                left = noise.without(np.linalg.qr(found)[0])
            variances[j], v = left.sparse(card)
            if variances[j] <= NOTHING * values[0]:  # rounding, of which signs tell nothing
                sparse[j] = 1.0
                break
            found = np.column_stack([found, left.whole(v)])
            first = (1 + j) * n_resample
            sparse[j] = _p_value(left, variances[j], card, alpha, n_resample, seed, first)
            advance(1)
            if sparse[j] > alpha:
                break
    return Standing(
        values, bound, p_values, variances, sparse, _leading(p_values, alpha), _leading(sparse, alpha)
    )


def _p_value(
    noise: Noise, observed: float, card: int, alpha: float, n_resample: int, seed: int, first: int
) -> float:
    """Return (1 + draws as large) / (draws + 1), or an estimate once it must exceed alpha.

    Draws end with the h-th that is as large, h the smallest number that settles p > alpha; h over the draws
    until then is a p-value as well: Besag and Clifford (1991), "Sequential Monte Carlo p-values".
    """
    settled = max(1, int(np.floor(alpha * (n_resample + 1.0))))
    as_large = 0
    for i in range(n_resample):
        as_large += noise.flipped(draw_generator(seed, first + i)).sparse(card)[0] >= observed
        if as_large >= settled and settled / (i + 1.0) > alpha:
            return as_large / (i + 1.0)
    return (1.0 + as_large) / (n_resample + 1.0)


def _leading(p_values: np.ndarray, alpha: float) -> int:
    """Return how many come before the first that is not significant."""
    kept = p_values <= alpha
    return int(len(kept) if kept.all() else np.argmin(kept))


def kaiser(values: np.ndarray, p: int) -> int:
    """Return how many eigenvalues exceed their mean over the p variables: one, for correlations."""
    return int(np.sum(values > values.sum() / p * (1.0 + 1e-10)))


def broken_stick(p: int) -> np.ndarray:
    """Return the expected shares of p pieces of a stick broken at random, the largest first: (p,)."""
    return np.cumsum(1.0 / np.arange(p, 0, -1))[::-1] / p
