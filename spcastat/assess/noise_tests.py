"""How many components stand out from simulated noise: parallel analysis and sequential tests."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import partial
from itertools import islice

import numpy as np

from spcastat.config import draw_generator, real_number, whole_number
from spcastat.errors import OptionError
from spcastat.inputs.noise import NO_VARIANCE, Noise
from spcastat.linalg.eigenvectors import varimax
from spcastat.progress import stage

# --- the tests ------------------------------------------------------------------------------------


#: A principal component of at least this share of the variables, in effect, is one of many variables.
MANY = 0.25
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
    """Return the p-values of the leading eigenvalues, shape (m,), given those of draws, (n_draws, m).

    NaN for eigenvalues that are rounding errors.
    """
    n, m = drawn.shape
    p_values = (1.0 + (drawn >= values[:m]).sum(axis=0)) / (n + 1.0)
    return np.where(values[:m] > NO_VARIANCE * values[0], p_values, np.nan)


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
            if variances[j] <= NO_VARIANCE * largest:  # only rounding errors are left
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
