"""How many components stand out from simulated noise: parallel analysis and sequential tests."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property, partial
from itertools import islice
from typing import Any

import numpy as np
import pandas as pd

from spcastat.assess.candidates import CardinalitySet
from spcastat.assess.folds import MOMENTS
from spcastat.config import draw_generator, real_number, whole_number
from spcastat.errors import ComponentsError, DataError, OptionError
from spcastat.fit.plan import Request, make_plan
from spcastat.fit.run import run
from spcastat.inputs.data import Data
from spcastat.inputs.noise import NO_VARIANCE, ROW_CELLS, Noise
from spcastat.inputs.row_data import RowData
from spcastat.inputs.samplers import columns_near
from spcastat.labels import name_text
from spcastat.linalg.eigenvectors import numerical_rank, varimax
from spcastat.linalg.operators import GRAM_ORDER, Operator, unit_of
from spcastat.progress import stage
from spcastat.reading.design import few_clusters
from spcastat.reading.model_matrix import dependent_columns

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


# --- the results of the tests of data -------------------------------------------------------------


@dataclass(frozen=True)
class TestedVariables:
    """The part of a large data set that was tested.

    Attributes
    ----------
    variables : int
        Number of all variables, of which some were tested.
    rows : int
        Number of rows used for the tests; the other rows selected the variables.
    """

    variables: int
    rows: int


@dataclass(frozen=True, eq=False)
class LargeRows:
    """Rows that were shrunk before the tests.

    Attributes
    ----------
    pulled : int
        Number of rows of more than 1.5 times the median size.
    labels : list of str
        Labels of the rows of more than 2.5 times the median size, if they change the number of components.
    share : float
        Their share of the total variance.
    k : int
        Number of components with the rows as they are.
    values : ndarray of shape (r,)
        Eigenvalues of the rows as they are.
    """

    pulled: int
    labels: list[str]
    share: float
    k: int
    values: np.ndarray


@dataclass(frozen=True, kw_only=True, eq=False)
class ComponentTests:
    """The tests of the number of components.

    Attributes
    ----------
    found : Standing
    p : int
        Number of variables that were tested.
    unit : float
        The unit of the variances of `found`, in units of the data.
    most : int
        Number of components that could be tested.
    tested : TestedVariables or None
        If only a part of the data was tested.
    large : LargeRows or None
    drawn : str
        What is drawn, if not single rows of the data.
    remarks : sequence of str
        Remarks on rows that may not be independent.
    sampled : bool
        Whether the rows are a sample of those of the data.
    n : int or None
        Number of rows.
    """

    found: Standing
    p: int
    unit: float
    most: int
    tested: TestedVariables | None = None
    large: LargeRows | None = None
    drawn: str = ""
    remarks: Sequence[str] = ()
    sampled: bool = False
    n: int | None = None

    @cached_property
    def spectrum(self) -> pd.DataFrame:
        """All eigenvalues in units of the data, their shares, and those of a broken stick of p pieces."""
        values = self.found.values * self.unit
        shares = values / values.sum()
        return pd.DataFrame(
            {
                "eigenvalue": values,
                "share": shares,
                "cumulative": np.cumsum(shares),
                "broken_stick": broken_stick(self.p)[: len(values)],
            },
            index=pd.Index([f"PC{j + 1}" for j in range(len(values))], name="component"),
        )

    @cached_property
    def table(self) -> pd.DataFrame:
        """The tests of each component, variances in units of the data."""
        standing = self.found
        tested = self.spectrum.iloc[: len(standing.p_values)]
        return pd.DataFrame(
            {
                "observed": tested["eigenvalue"],
                "noise": standing.bound * self.unit,
                "p": standing.p_values,
                "deflated_p": standing.deflated_p_values,
                "sparse_observed": standing.sparse_variances * self.unit,
                "sparse_p": standing.sparse_p_values,
                "sparse_correlation": standing.correlations,
                "share": tested["share"],
                "cumulative": tested["cumulative"],
            },
            index=tested.index,
        )

    @property
    def given_values(self) -> np.ndarray:
        """All eigenvalues in units of the data, of the rows as they are."""
        return self.found.values * self.unit if self.large is None else self.large.values

    @property
    def has_rules(self) -> bool:
        """Whether the rules of Kaiser and of the broken stick have a meaning.

        All variables have to be tested, and to be fewer than the rows: otherwise p - n + 1 or more
        eigenvalues are zero, and the others exceed their mean by this alone.
        """
        return self.tested is None and (self.n is None or self.p < self.n)

    @property
    def kaiser(self) -> int | None:
        """The number of eigenvalues above their mean (Kaiser); None without `has_rules`."""
        if not self.has_rules:
            return None
        values = self.given_values
        mean = values.sum() / self.p  # over all p variables
        return int(np.sum(values > mean * (1.0 + 1e-10)))

    @property
    def broken_stick(self) -> int | None:
        """The number of shares above those of a broken stick; None without `has_rules`."""
        if not self.has_rules:
            return None
        values = self.given_values
        exceeds_stick = values / values.sum() > broken_stick(self.p)[: len(values)]
        return len(exceeds_stick) if exceeds_stick.all() else int(np.argmin(exceeds_stick))


# --- the part of large data that is tested --------------------------------------------------------


#: Number of columns that are tested of data too large to test all.
COLUMNS = MOMENTS
#: The number of columns is at least this multiple of the number of nonzero loadings.
ROOM = 2


def near_fit(op: Operator, k: int, card: CardinalitySet, seed: int) -> np.ndarray:
    """Return the COLUMNS columns most related to a sparse fit of these cardinalities, ascending."""
    plan = make_plan(Request(k, card, method="bcd-l0"), op.p)
    V = run(op, plan, k, np.random.default_rng(seed)).solution.V
    return columns_near(op, V, min(COLUMNS, op.p))


def is_tested_in_part(data: Data, cells: int) -> bool:
    """Return whether the data are too large to test all columns, so that only some columns are tested.

    Parameters
    ----------
    data : Data
        Rows in memory, or a covariance matrix.
    cells : int
        Largest number of cells for which all signs are flipped.
    """
    return data.p > GRAM_ORDER and data.cells > cells


def require_room(p: int, kmax: int, card: int) -> None:
    """Raise OptionError if the components have too many loadings for the columns that are tested."""
    if ROOM * kmax * card > COLUMNS:
        raise OptionError(
            f"sparse_card={card} and kmax={kmax} were given; of so much data {COLUMNS} variables are tested, "
            f"which allows sparse_card={COLUMNS // ROOM // kmax}: give a smaller sparse_card= or kmax=."
        )


def tested_part(rows: RowData, kmax: int, card: int, seed: int) -> RowData:
    """Return half of the rows, with the columns selected from the other half.

    Parameters
    ----------
    rows : RowData
        Without missing values.
    kmax, card : int
        Number of components, and of variables in each, in the sparse fit to the other half.
    seed : int
    """
    op = rows.half(0, seed).op
    values = op.sketched(min(kmax, max(op.rank_limit, 1)))[0]
    k = max(numerical_rank(values, op.p), 1)
    return rows.half(1, seed, near_fit(op, k, (card,) * k, seed))


# --- the tests of data ----------------------------------------------------------------------------


#: Number of components that are tested at first, and at least.
KMAX = 8
#: Largest number of cells whose signs are flipped.
MOST_CELLS = 20_000_000


def component_tests(data: Data, kmax: Any, card: Any, draws: Draws) -> ComponentTests:
    """Test how many components exceed noise, for rows in memory or a covariance matrix."""
    p, seed, grows = data.p, draws.seed, kmax is None
    columns, terms = data.columns, dependent_columns(data.spec.model_spec)
    most, kmax, card = checked_numbers(p, data.op.rank_limit, kmax, card, is_tested_in_part(data, MOST_CELLS))
    require_variance(data)
    tested, cells = data, MOST_CELLS
    if is_tested_in_part(data, cells):
        require_room(p, kmax, card)
        tested, cells = tested_part(data.rows("choose_k()"), kmax, card, seed), ROW_CELLS
        if terms is not None:
            terms = np.unique(terms[columns.get_indexer(tested.spec.columns)], return_inverse=True)[1]
        most = min(most, max(tested.op.rank_limit, 1))
        kmax, grows = min(kmax, most), False
    within = unit_of(float(tested.op.diagonal().max()))
    unit = (tested.op.unit * within) ** 2
    noise, rows = tested.noise(seed, cells, within, terms)
    limit = most if grows else kmax
    found = standing(noise, kmax, card, draws, limit)
    large = None
    if rows is not None and rows.pulled:
        as_given = tested.noise(seed, cells, within, terms, pull=False)[0]
        unchanged = standing(as_given, kmax, card, draws, limit).k
        index = tested.rows("choose_k()").index
        labels = [] if unchanged == found.k else [name_text(index[i]) for i in rows.far.tolist()]
        large = LargeRows(rows.pulled, labels, float(rows.shares.sum()), unchanged, as_given.values * unit)
    return ComponentTests(
        found=found,
        p=tested.op.p,
        unit=unit,
        most=most,
        tested=None if tested.op.p == p else TestedVariables(p, tested.n or 0),
        large=large,
        drawn=data.drawn,
        remarks=about_rows(data),
        sampled=data.is_sample,
        n=tested.n,
    )


def about_rows(data: Data) -> list[str]:
    """Return warnings of few clusters, and of rows that may not be independent."""
    record = None if data.design is None else data.design.as_record
    return [remark for remark in (few_clusters(record), data.remark()) if remark]


def checked_numbers(p: int, rank: int, kmax: Any, card: Any, in_part: bool) -> tuple[int, int, int]:
    """Return the number of components that can be tested, and the checked `kmax` and `card`."""
    if p < 2:
        raise ComponentsError("The data have one variable; the choice of a number of components needs more.")
    most = min(p - 1, max(rank, 1))
    kmax = min(KMAX, most) if kmax is None else whole_number("kmax", kmax, 1, most, ComponentsError)
    among = COLUMNS if in_part else p
    return most, kmax, default_card(among) if card is None else whole_number("sparse_card", card, 1, p)


def require_variance(data: Data) -> None:
    """Raise DataError if every column is constant."""
    if not data.op.total > 0:
        raise DataError("The data have no variance: every column is constant.")
