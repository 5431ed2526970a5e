"""Tests of how many components predict held-out rows and exceed simulated noise."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property, partial
from itertools import islice
from typing import Any

import numpy as np
import pandas as pd

from spcastat.arguments import MOST_DRAWS, draw_generator, real_number, whole_number
from spcastat.assess.cross_validation import CardinalitySet
from spcastat.assess.folds import MOMENTS_VARIABLES
from spcastat.assess.many_sets import SETS, near_card, sparse_components
from spcastat.assess.prediction import PREDICTION, Prediction, prediction
from spcastat.errors import ComponentsError, DataError, OptionError
from spcastat.fit.plan import Request, make_plan
from spcastat.fit.run import run
from spcastat.fit.state import near_copies
from spcastat.inputs.data import Data
from spcastat.inputs.dependence import gaps_warning
from spcastat.inputs.noise import ROW_CELLS, Noise
from spcastat.inputs.row_data import RowData
from spcastat.inputs.samplers import columns_near
from spcastat.labels import full_names, name_text
from spcastat.linalg.eigenvectors import RELATIVE, numerical_rank
from spcastat.linalg.operators import GRAM_ORDER, Operator, unit_of
from spcastat.linalg.standardisation import variable_count
from spcastat.progress import beside, in_threads, stage
from spcastat.reading.design import Remark, about_clusters
from spcastat.reading.model_matrix import dependent_columns

# --- the tests ------------------------------------------------------------------------------------


@dataclass(frozen=True)
class NoiseTuning:
    """Constants of the tests against noise; benchmarks/results/trust.md shows their results.

    Attributes
    ----------
    deflated_share : float
        The level of the deflated test, as a share of the level of parallel analysis.
    draws_multiple : int
        Up to this multiple of the requested draws is made if a p-value is near its level.
    near_errors : float
        A p-value is near the level if it differs by at most this number of its standard errors.
    fewest_draws : int
        Smallest number of draws after which drawing may end because a component is far above them.
    draws_together : int
    flipped_cells : int
        Largest number of cells whose signs are flipped.
    columns : int
        Number of columns that are tested if the data are too large to test all.
    columns_per_nonzero : int
        The number of columns is at least this multiple of the number of nonzero loadings.
    """

    deflated_share: float = 0.2
    draws_multiple: int = 4
    near_errors: float = 2.0
    fewest_draws: int = 40
    draws_together: int = 10
    flipped_cells: int = 20_000_000
    columns: int = MOMENTS_VARIABLES
    columns_per_nonzero: int = 2


NOISE = NoiseTuning()
#: Variances whose relative difference is below this are treated as equal.
EQUAL_VARIANCES = 1e-6
#: A function of random generators that returns the largest variance in a draw from each.
VarianceDraws = Callable[[Sequence[np.random.Generator]], Iterable[float]]


@dataclass(frozen=True)
class NoiseDraws:
    """The draws of noise, and the level of the tests.

    Attributes
    ----------
    alpha : float
        Level of parallel analysis.
    n_draws : int
        Number of draws for a test, which must be enough for the level. Up to `draws_multiple` times this
        number are made if the p-value is near the level, so that the outcome seldom depends on the seed.
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
        """Level of the deflated test: a share of `alpha`, or the lowest that the draws allow."""
        return max(NOISE.deflated_share * self.alpha, 1.0 / (self.n_draws + 1.0))

    def is_smallest(self, p_value: float) -> bool:
        """Whether a p-value is the smallest possible, which means that no draw reached the observed value."""
        draw_counts = self.n_draws * np.arange(1, NOISE.draws_multiple + 1)
        return bool(np.isclose(p_value, 1.0 / (draw_counts + 1.0), rtol=1e-9, atol=0.0).any())

    @property
    def most(self) -> int:
        """Largest number of draws for a test."""
        return NOISE.draws_multiple * self.n_draws

    def p_value(self, observed: float, variances_of_draws: VarianceDraws, first_draw: int) -> float:
        """Return the p-value (1 + number of draws that reach `observed`) / (draws + 1), or an estimate of it.

        Drawing ends after `n_draws` draws, or a multiple, if the p-value is clearly below the level. It ends
        after `fewest_draws` or more if `observed` is so far above the draws that no distribution with their
        mean and standard deviation exceeds it with a larger probability than the level (Cantelli's
        inequality); the remaining draws up to `n_draws` are then counted as smaller. Drawing also ends with
        the h-th draw that reaches `observed`, where h is the smallest number that implies p > level after all
        draws; h divided by the number of draws is then also a p-value (Besag and Clifford 1991, "Sequential
        Monte Carlo p-values").
        """
        decisive_count = max(1, int(np.floor(self.level * (self.most + 1.0))))
        generators = (draw_generator(self.seed, first_draw + i) for i in range(self.most))
        values: list[float] = []
        as_large, p_value = 0, 1.0
        for _ in range(NOISE.draws_multiple):
            of_round = islice(generators, self.n_draws)
            while batch := list(islice(of_round, NOISE.draws_together)):
                for value in variances_of_draws(batch):
                    values.append(value)
                    as_large += int(value >= observed)
                    if as_large >= decisive_count and decisive_count / len(values) > self.level:
                        return as_large / len(values)
                p_value = (1.0 + as_large) / (max(len(values), self.n_draws) + 1.0)
                if p_value <= self.level and self._is_far(observed, values):
                    return p_value
            if p_value <= self.level and not is_near(p_value, self.level, len(values)):
                break
        return p_value

    def _is_far(self, observed: float, values: Sequence[float]) -> bool:
        """Whether `observed` exceeds the draws by more than any distribution allows at the level."""
        if len(values) < min(NOISE.fewest_draws, self.n_draws):
            return False
        return observed > float(np.mean(values) + np.sqrt(1.0 / self.level - 1.0) * np.std(values))


def is_near(p_value: float, level: float, draw_count: int) -> bool:
    """Whether a p-value differs from the level by at most `near_errors` of its standard errors."""
    return abs(p_value - level) <= NOISE.near_errors * np.sqrt(p_value * (1.0 - p_value) / draw_count)


@dataclass(frozen=True, eq=False)
class Standing:
    """The prediction by the leading components, and the tests of these components.

    Attributes
    ----------
    prediction : Prediction
    values : ndarray of shape (r,)
        All eigenvalues.
    bound : ndarray of shape (m,)
        The 1 - alpha quantiles of the m leading eigenvalues of sign-flipped data.
    p_values : ndarray of shape (m,)
        P-values (1 + number of draws whose eigenvalue of the same rank is at least as large) / (draws + 1).
    deflated_p_values : ndarray of shape (m,)
        P-values of the largest eigenvalue after removal of the earlier components; NaN for components that
        were not tested, either because they follow the first component that does not predict, or because the
        test had ended.
    sparse_p_values : ndarray of shape (m,)
        P-values of a sparse component after removal of the earlier sparse components, beginning with the
        first component that is not significant in the deflated test; NaN for components that were not tested.
    draws : NoiseDraws
    """

    prediction: Prediction
    values: np.ndarray
    bound: np.ndarray
    p_values: np.ndarray
    deflated_p_values: np.ndarray
    sparse_p_values: np.ndarray
    draws: NoiseDraws

    @property
    def predicting(self) -> int:
        """Number C of components that predict held-out rows."""
        return self.prediction.number

    @property
    def deflated(self) -> int:
        """Number D of tested components before the first that does not exceed noise."""
        return _leading(self.noise_p_values, self.draws.level)

    @property
    def noise_p_values(self) -> np.ndarray:
        """The smaller p-value of each component in the deflated and the sparse test, shape (m,)."""
        return np.asarray(np.fmin(self.deflated_p_values, self.sparse_p_values))

    @property
    def parallel(self) -> int:
        """Number of components in the table that parallel analysis retains."""
        return _leading(self.p_values, self.draws.alpha)

    @property
    def k(self) -> int:
        """The chosen number of components: min(predicting, deflated)."""
        return min(self.predicting, self.deflated)

    @property
    def by_division(self) -> tuple[int, ...]:
        """The distinct numbers of components, ascending, for all divisions into folds and for each alone."""
        return tuple(
            sorted({min(number, self.deflated) for number in self.prediction.by_division} | {self.k})
        )


# --- the number of components ---------------------------------------------------------------------


class NoiseTests:
    """Tests of components against noise; each test is made when its outcome is needed.

    Parameters
    ----------
    noise : Noise
        The data.
    draws : NoiseDraws
    columns : int
        Initial number of components in parallel analysis.
    n_jobs : int
        Number of threads that draw.
    """

    def __init__(self, noise: Noise, draws: NoiseDraws, columns: int, n_jobs: int = 1) -> None:
        self.noise, self.draws, self.values, self.n_jobs = noise, draws, noise.values, n_jobs
        self.rank = int(np.sum(self.values > RELATIVE * self.values[0]))  # the others are rounding errors
        self.deflated_p_values, self.sparse_p_values = list[float](), list[float]()
        self._columns, self._flips = min(columns, len(self.values)), list[np.ndarray]()
        self._sparse_residuals = list[tuple[Noise, float, np.ndarray]]()

    @property
    def p_values(self) -> np.ndarray:
        """The smaller p-value of each component that was tested, in the deflated and the sparse test."""
        return np.fmin(self.deflated_p_values, self.sparse_p_values)

    def exceeding(self, number: int) -> int:
        """Return how many of the first `number` components exceed noise, up to the first that does not."""
        while (tested := len(self.p_values)) < min(number, self.rank):
            if tested and not self.p_values[-1] <= self.draws.level:
                break
            self._test(tested)
        return min(number, _leading(self.p_values, self.draws.level))

    def _test(self, j: int) -> None:
        """Test component j + 1 by its eigenvalue or, if that is not significant, as a sparse component."""
        level = self.draws.level
        deflated_p = np.nan
        if not j or self.deflated_p_values[-1] <= level:
            residual = self.noise.without(self.noise.directions(j)) if j else self.noise
            flips = partial(self._residual_flips, residual) if j else self._largest_of_flips
            deflated_p = self.draws.p_value(residual.leading(1)[0], flips, j * self.draws.most)
        self.deflated_p_values.append(deflated_p)
        self.sparse_p_values.append(np.nan if deflated_p <= level else self._sparse_p_value(j))

    def _sparse_p_value(self, j: int) -> float:
        """Return the p-value of a sparse component after removing j earlier ones; NaN if it is not tested.

        With more variables than rows, a component of a few related variables may exceed noise although the
        largest eigenvalue does not. With fewer variables, this test would also count small parts of general
        components.
        """
        if not self.noise.rows < self.noise.p <= SETS.formed_variables:
            return np.nan
        residual, variance = self._after_sparse_components(j)
        flips = partial(_sparse_in_flips, residual)
        return self.draws.p_value(variance, flips, (residual.p + j) * self.draws.most)

    def _after_sparse_components(self, j: int) -> tuple[Noise, float]:
        """Return the residuals of j sparse components, and the variance of the next sparse component."""
        while len(self._sparse_residuals) <= j:
            residual = self.noise
            if self._sparse_residuals:
                previous, _, loadings = self._sparse_residuals[-1]
                residual = previous.residuals(loadings)
            variances, all_loadings = sparse_components(residual.S[None])
            self._sparse_residuals.append((residual, float(variances[0]), all_loadings[0]))
        residual, variance, _ = self._sparse_residuals[j]
        return residual, variance

    def _largest_of_flips(self, rngs: Sequence[np.random.Generator]) -> Iterator[float]:
        """Yield the largest eigenvalue after each of the next sign flips, also used by parallel analysis."""
        for values in in_threads(self._leading_of_flip, rngs, self.n_jobs):
            self._flips.append(values)
            yield float(values[0])

    def _leading_of_flip(self, rng: np.random.Generator) -> np.ndarray:
        """Return the leading eigenvalues of the data with randomly flipped signs."""
        return self.noise.flipped(rng).leading(self._columns)

    def _residual_flips(self, residual: Noise, rngs: Sequence[np.random.Generator]) -> Iterator[float]:
        """Yield the largest eigenvalue of the residuals after each of the next sign flips."""
        return in_threads(residual.largest_of_flips, rngs, self.n_jobs)

    def noise_values(self, m: int) -> np.ndarray:
        """Return the m leading eigenvalues of each draw of noise, shape (n_draws, m)."""
        draws = self.draws
        if m > self._columns:
            self._columns, self._flips = m, []
        with stage("parallel analysis", draws.n_draws, "draws") as advance:
            advance(min(len(self._flips), draws.n_draws))
            rngs = [draw_generator(draws.seed, i) for i in range(len(self._flips), draws.n_draws)]
            for values in in_threads(self._leading_of_flip, rngs, self.n_jobs):
                self._flips.append(values)
                advance(1)
        return np.stack(self._flips[: draws.n_draws])[:, :m]


def standing(tests: NoiseTests, prediction: Prediction, kmax: int, limit: int) -> Standing:
    """Return the tests of the leading components.

    Parameters
    ----------
    tests : NoiseTests
    prediction : Prediction
        Components up to the number that predict are tested.
    kmax, limit : int
        Number of components in the table, which is increased up to `limit` while parallel analysis retains
        all of them.
    """
    values, draws = tests.values, tests.draws
    m = max(1, min(max(len(prediction.table), kmax), limit, len(values)))
    noise_values = tests.noise_values(m)
    while m < min(limit, len(values)) and _leading(_p_values(values, noise_values), draws.alpha) == m:
        m = min(2 * m, limit, len(values))
        noise_values = tests.noise_values(m)
    tests.exceeding(max(prediction.number, *prediction.by_division))
    untested_values = [np.nan] * (m - len(tests.p_values))
    return Standing(
        prediction=prediction,
        values=values,
        bound=np.quantile(noise_values, 1.0 - draws.alpha, axis=0),
        p_values=_p_values(values, noise_values),
        deflated_p_values=np.array([*tests.deflated_p_values, *untested_values])[:m],
        sparse_p_values=np.array([*tests.sparse_p_values, *untested_values])[:m],
        draws=draws,
    )


def _p_values(values: np.ndarray, noise_values: np.ndarray) -> np.ndarray:
    """Return p-values of the leading eigenvalues, shape (m,), given eigenvalues of draws, (n_draws, m).

    The p-value is NaN for eigenvalues that are rounding errors.
    """
    n, m = noise_values.shape
    p_values = (1.0 + (noise_values >= values[:m]).sum(axis=0)) / (n + 1.0)
    return np.where(values[:m] > RELATIVE * values[0], p_values, np.nan)


def _sparse_in_flips(noise: Noise, rngs: Sequence[np.random.Generator]) -> list[float]:
    """Return the variance of the leading sparse component after sign flips by each generator."""
    S = np.stack([noise.flipped(rng).S for rng in rngs])
    return [float(variance) for variance in sparse_components(S)[0]]


def _leading(p_values: np.ndarray, alpha: float) -> int:
    """Return the number of components before the first that is not significant."""
    is_significant = p_values <= alpha
    return int(len(is_significant) if is_significant.all() else np.argmin(is_significant))


def broken_stick(p: int) -> np.ndarray:
    """Return the expected shares of p pieces of a stick broken at random, the largest first, shape (p,)."""
    return np.cumsum(1.0 / np.arange(p, 0, -1))[::-1] / p


# --- the results of the tests of data -------------------------------------------------------------


@dataclass(frozen=True)
class TestedVariables:
    """The part of a large data set that was tested.

    Attributes
    ----------
    variables : int
        Number of all variables, including variables that were not tested.
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
        Number of rows that exceed 1.5 times the median size.
    labels : list of str
        Labels of the rows that exceed 2.5 times the median size, if they change the number of components.
    share : float
        The share of these rows in the total variance.
    k : int
        Number of components for the unchanged rows.
    values : ndarray of shape (r,)
        Eigenvalues of the unchanged rows.
    n : int
        Number of all rows.
    """

    pulled: int
    labels: list[str]
    share: float
    k: int
    values: np.ndarray
    n: int


@dataclass(frozen=True)
class TestedData:
    """A description of the tested data.

    Attributes
    ----------
    rows : int or None
        Number of rows, if known.
    variables : int
        Number of variables; a factor counts as one.
    dropped : int
        Number of rows that were left out because of missing values.
    scaling : str
        How the variables were scaled.
    is_matrix : bool
        Whether the data are a covariance matrix, so that held-out rows are simulated.
    has_equal_variances : bool
        Whether all variances are equal, so that gains can be expressed as numbers of variables.
    """

    rows: int | None = None
    variables: int = 0
    dropped: int = 0
    scaling: str = "none"
    is_matrix: bool = False
    has_equal_variances: bool = True

    @classmethod
    def of(cls, data: Data) -> TestedData:
        """Return the description of `data`."""
        groups, variances = data.groups, data.op.diagonal()
        variables = data.p
        if groups is not None and groups.kind == "mixed":
            variables = variable_count(data.p, groups.of.tolist(), groups.names)
        return cls(
            rows=data.n,
            variables=variables,
            dropped=data.dropped,
            scaling="none" if data.standard is None else data.standard.scaling,
            is_matrix=not data.from_rows,
            has_equal_variances=bool(np.allclose(variances, variances.max(), rtol=EQUAL_VARIANCES)),
        )


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
        The part of the data that was tested, if not all.
    large : LargeRows or None
    drawn : str
        Description of the units that are drawn, if they are not single rows of the data.
    remarks : sequence of Remark
        Remarks on rows that may not be independent.
    copies : sequence of (str, str)
        Pairs of variables that are nearly copies of each other.
    sampled : bool
        Whether the rows are a sample of the rows of the data.
    n : int or None
        Number of different rows, if known.
    data : TestedData
        Description of the tested data.
    """

    found: Standing
    p: int
    unit: float
    most: int
    tested: TestedVariables | None = None
    large: LargeRows | None = None
    drawn: str = ""
    remarks: Sequence[Remark] = ()
    copies: Sequence[tuple[str, str]] = ()
    sampled: bool = False
    n: int | None = None
    data: TestedData = TestedData()

    @cached_property
    def spectrum(self) -> pd.DataFrame:
        """All eigenvalues in units of the data, their shares, and expected shares of a broken stick."""
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
        """The tests of each component, with variances in units of the data."""
        standing = self.found
        tested = self.spectrum.iloc[: len(standing.p_values)]
        return pd.DataFrame(
            {
                "observed": tested["eigenvalue"],
                "noise": standing.bound * self.unit,
                "p": standing.p_values,
                "deflated_p": standing.deflated_p_values,
                "sparse_p": standing.sparse_p_values,
                **standing.prediction.table.reindex(range(len(tested))).set_index(tested.index),
                "share": tested["share"],
                "cumulative": tested["cumulative"],
            },
            index=tested.index,
        )

    @property
    def given_values(self) -> np.ndarray:
        """All eigenvalues of the unchanged rows, in units of the data."""
        return self.found.values * self.unit if self.large is None else self.large.values

    @property
    def has_rules(self) -> bool:
        """Whether the rules of Kaiser and of the broken stick are meaningful.

        All variables must have been tested, and there must be fewer of them than rows: otherwise p - n + 1 or
        more eigenvalues are zero, and the others exceed the mean for this reason alone.
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
        """The number of leading shares above the shares of a broken stick; None without `has_rules`."""
        if not self.has_rules:
            return None
        values = self.given_values
        exceeds_stick = values / values.sum() > broken_stick(self.p)[: len(values)]
        return len(exceeds_stick) if exceeds_stick.all() else int(np.argmin(exceeds_stick))


# --- the part of large data that is tested --------------------------------------------------------


def near_fit(op: Operator, k: int, card: CardinalitySet, seed: int) -> np.ndarray:
    """Return the columns most related to a sparse fit of these cardinalities, ascending."""
    plan = make_plan(Request(k, card, method="bcd-l0"), op.p)
    V = run(op, plan, k, np.random.default_rng(seed)).solution.V
    return columns_near(op, V, min(NOISE.columns, op.p))


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


def require_room(kmax: int) -> None:
    """Raise ComponentsError if there are too many components for the columns that are tested."""
    columns = NOISE.columns
    largest_kmax = columns // NOISE.columns_per_nonzero // near_card(columns)
    if kmax > largest_kmax:
        raise ComponentsError(
            f"kmax={kmax} was given, but in data of this size only {columns} variables are tested, which "
            f"allow at most {largest_kmax} components: give a smaller kmax=."
        )


def tested_part(rows: RowData, kmax: int, seed: int) -> RowData:
    """Return half of the rows, with the columns that were selected on the other half.

    Parameters
    ----------
    rows : RowData
        Rows without missing values.
    kmax : int
        Number of components in the sparse fit to the other half.
    seed : int
    """
    op = rows.half(0, seed).op
    values = op.sketched(min(kmax, max(op.rank_limit, 1)))[0]
    k = max(numerical_rank(values, op.p), 1)
    return rows.half(1, seed, near_fit(op, k, (near_card(NOISE.columns),) * k, seed))


# --- the tests of data ----------------------------------------------------------------------------


def component_tests(
    data: Data,
    kmax: Any,
    draws: NoiseDraws,
    least: float = PREDICTION.least,
    disjoint: bool = False,
    n_jobs: int = 1,
) -> ComponentTests:
    """Find how many components predict and exceed noise, for rows in memory or a covariance matrix.

    Parameters
    ----------
    data : Data
    kmax : int or None
    draws : NoiseDraws
    least : float
        The variance that a further component must predict, in multiples of the mean variance of a variable.
    disjoint : bool
        Whether components share no variable, so that prediction is by partitions only.
    n_jobs : int
        Number of threads that draw noise, and of processes that fit the folds of many variables.
    """
    seed, grows = draws.seed, kmax is None
    formula = data.spec.model_spec
    terms = None if formula is None else dependent_columns(formula)
    testable_count, kmax = checked_numbers(data.p, data.op.rank_limit, kmax)
    require_variance(data)
    tested, cells = data, NOISE.flipped_cells
    if is_tested_in_part(data, cells):
        require_room(kmax)
        tested, cells = tested_part(data.rows("choose_k()"), kmax, seed), ROW_CELLS
        if terms is not None:
            columns = data.columns.get_indexer(tested.spec.columns)
            terms = np.unique(terms[columns], return_inverse=True)[1]
        testable_count = min(testable_count, max(tested.op.rank_limit, 1))
        kmax, grows = min(kmax, testable_count), False
    inner_unit = unit_of(float(tested.op.diagonal().max()))
    unit = (tested.op.unit * inner_unit) ** 2
    limit = testable_count if grows else kmax

    noise, rows = tested.noise(seed, cells, inner_unit, terms)
    has_large_rows = rows is not None and rows.pulled > 0
    # processes fit the folds of many variables, and threads do not start processes
    thread_count = n_jobs if has_large_rows and tested.op.p <= SETS.decomposed_variables else 1
    jobs = n_jobs if thread_count == 1 else (n_jobs + 1) // 2

    def compared(noise: Noise, pull: bool) -> tuple[NoiseTests, Prediction]:
        tests = NoiseTests(noise, draws, 2 * kmax, jobs)
        return tests, prediction(
            tested,
            kmax,
            limit,
            least,
            seed,
            inner_unit,
            pull,
            disjoint,
            exceeding=tests.exceeding,
            n_jobs=jobs,
        )

    def as_they_are() -> tuple[Noise, int]:
        as_given = tested.noise(seed, cells, inner_unit, terms, pull=False)[0]
        beside_noise, predicted = compared(as_given, False)
        return as_given, beside_noise.exceeding(predicted.number)

    number_as_given = beside(as_they_are, thread_count)
    leading_tests, large_rows = standing(*compared(noise, True), kmax, limit), None
    if rows is not None and rows.pulled:
        as_given, unchanged = number_as_given()
        index = tested.rows("choose_k()").index
        labels = [] if unchanged == leading_tests.k else [name_text(index[i]) for i in rows.far.tolist()]
        share, values = float(rows.shares.sum()), as_given.values * unit
        large_rows = LargeRows(rows.pulled, labels, share, unchanged, values, round(tested.weight or 0))
    return ComponentTests(
        found=leading_tests,
        p=tested.op.p,
        unit=unit,
        most=testable_count,
        tested=None if tested.op.p == data.p else TestedVariables(data.p, tested.n or 0),
        large=large_rows,
        drawn=data.sampling_text,
        remarks=about_rows(data),
        copies=copies_among(tested, terms),
        sampled=data.is_sample,
        n=tested.different_rows,
        data=TestedData.of(data),
    )


def copies_among(data: Data, terms: np.ndarray | None) -> list[tuple[str, str]]:
    """Return pairs of names of variables that are nearly copies, except columns of one factor or term.

    There are none for more than MOMENTS_VARIABLES variables, whose correlation matrix is not computed.
    """
    if data.op.p > MOMENTS_VARIABLES:
        return []
    pairs = near_copies(data.op, np.arange(data.op.p))[:, :2].astype(int)
    factors = data.groups.of if data.groups is not None and data.groups.kind == "mixed" else None
    for numbers in (terms, factors):
        if numbers is not None:
            pairs = pairs[numbers[pairs[:, 0]] != numbers[pairs[:, 1]]]
    if not len(pairs):
        return []
    names = full_names(data.spec.columns)
    return [(names[i], names[j]) for i, j in pairs.tolist()]


def about_rows(data: Data) -> list[Remark]:
    """Return warnings about few or unequal clusters, and about rows that may not be independent."""
    record = None if data.design is None else data.design.as_record
    in_time = record is not None and record["block_length"] is not None
    gaps = Remark(gaps_warning(data.dropped)) if in_time and data.dropped else Remark()
    return [remark for remark in (about_clusters(record, data.n), data.remark(), gaps) if remark]


def checked_numbers(p: int, rank: int, kmax: Any) -> tuple[int, int]:
    """Return the number of components that can be tested, and the checked `kmax`."""
    if p < 2:
        raise ComponentsError(
            "The data have one variable; the choice of a number of components needs two or more."
        )
    testable_count = min(p - 1, max(rank, 1))
    if kmax is None:
        return testable_count, min(PREDICTION.kmax, testable_count)
    reason = "the rank of the data" if testable_count < p - 1 else "one less than the number of variables"
    return testable_count, whole_number("kmax", kmax, 1, testable_count, ComponentsError, reason)


def require_variance(data: Data) -> None:
    """Raise DataError if every column is constant."""
    if not data.op.total > 0:
        raise DataError("The data have no variance: every column is constant.")
