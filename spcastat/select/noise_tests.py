"""Tests for the number of components: parallel analysis and two sequential tests."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from functools import partial
from itertools import islice

import numpy as np

from spcastat.config import real_number, whole_number
from spcastat.errors import OptionError
from spcastat.progress import stage
from spcastat.resample import draw_generator
from spcastat.select.sign_flips import Noise

#: A sparse component must explain at least this mean correlation of its variables.
LEAST_CORRELATION = 0.1
#: Largest number of draws.
MOST_DRAWS = 100_000
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
        Number of draws, which must be enough for the level.
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

    def p_value(self, observed: float, drawn: Drawn, first: int) -> float:
        """Return the p-value (1 + number of draws that reach `observed`) / (draws + 1), or an estimate of it.

        Drawing ends with the h-th draw that reaches `observed`, where h is the smallest number that implies
        p > level. Then h over the number of draws is a p-value too: Besag and Clifford (1991), "Sequential
        Monte Carlo p-values".
        """
        enough = max(1, int(np.floor(self.level * (self.n_draws + 1.0))))
        generators = (draw_generator(self.seed, first + i) for i in range(self.n_draws))
        as_large, made = 0, 0
        while some := list(islice(generators, 10)):
            for value in drawn(some):
                as_large, made = as_large + int(value >= observed), made + 1
                if as_large >= enough and enough / made > self.level:
                    return as_large / made
        return (1.0 + as_large) / (self.n_draws + 1.0)


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
    draws : Draws
    card : int
        Cardinality of the sparse components.
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
    draws: Draws
    card: int
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


def standing(noise: Noise, kmax: int, card: int, draws: Draws) -> Standing:
    """Test the leading components.

    Parameters
    ----------
    noise : Noise
        The data.
    kmax : int
        Largest number of components tested.
    card : int
        Cardinality of the sparse components.
    draws : Draws
    """
    values, n = noise.values, draws.n_draws
    m = min(kmax, len(values))
    with stage("parallel analysis", n, "draws") as advance:
        drawn = np.empty((n, m))
        for i in range(n):
            drawn[i] = noise.flipped(draw_generator(draws.seed, i)).leading(m)
            advance(1)
    p_values = (1.0 + (drawn >= values[:m]).sum(axis=0)) / (n + 1.0)
    bound = np.quantile(drawn, 1.0 - draws.alpha, axis=0)
    parallel = _leading(p_values, draws.alpha)
    deflated = _deflated(noise, p_values[0], parallel, m, draws)
    variances, sparse, correlations = _sequential(noise, values[0], card, m, draws)
    return Standing(
        values,
        bound,
        p_values,
        deflated,
        variances,
        sparse,
        correlations,
        draws,
        card,
        parallel,
        _leading(deflated, draws.level),
        int(np.sum(sparse <= draws.level)),
    )


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
        p_values[j] = draws.p_value(
            left.leading(1)[0],
            lambda rngs, left=left: (left.flipped(rng).leading(1)[0] for rng in rngs),  # type: ignore[misc]
            (m + j) * draws.n_draws,
        )
    return p_values


def _sequential(
    noise: Noise, largest: float, card: int, m: int, draws: Draws
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
            # a component whose variance is at most 1e-10 of the largest eigenvalue counts as zero
            if variances[j] <= 1e-10 * largest:  # only rounding errors are left
                break
            some = np.flatnonzero(v)
            each, own = left.variances[some].mean(), noise.variances[some].mean()
            correlations[j] = (variances[j] - each) / (own * max(len(some) - 1, 1))
            found = np.column_stack([found, left.whole(v)])
            if correlations[j] >= LEAST_CORRELATION:
                drawn = partial(left.sparse_flips, card=card)
                p_values[j] = draws.p_value(variances[j], drawn, (1 + j) * draws.n_draws)
            advance(1)
            if p_values[j] > draws.level:
                break
    return variances, p_values, correlations


def _leading(p_values: np.ndarray, alpha: float) -> int:
    """Return the number of components before the first that is not significant."""
    kept = p_values <= alpha
    return int(len(kept) if kept.all() else np.argmin(kept))


def broken_stick(p: int) -> np.ndarray:
    """Return the expected shares of p pieces of a stick broken at random, the largest first: (p,)."""
    return np.cumsum(1.0 / np.arange(p, 0, -1))[::-1] / p
