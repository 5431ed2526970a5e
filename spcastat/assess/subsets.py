"""Moments of subsets of the rows: halves, samples and bootstrap draws, in memory or in chunks.

A choice made on one half of the rows can be tested on the other. For rows in memory the halves are drawn at
random with the seed. For rows in chunks a hash of the row's values, its position (with dask, the position in
its partition) and the seed determines its half, and not the size of the chunks. The whole weight of a row
belongs to one half. A random sample consists of the rows with the smallest keys, which are hashes of the same
kind.

A hash of this kind also determines how often a bootstrap draw contains a row in chunks. The number of copies
is an independent Poisson variable with mean one, instead of a multinomial count: Hanley and MacGibbon (2006),
"Creating non-parametric bootstrap samples using Poisson frequencies", Computer Methods and Programs in
Biomedicine 83.

Every fold, half and draw of rows in chunks needs its own matrix of cross-products. If there are too many
columns for these, only some are used: the columns with a nonzero loading, then the columns with the largest
covariances with the components, then the columns with the largest variances. The results hold for these
columns only, and reports give their number.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import Any

import numpy as np
import pandas as pd
from scipy import stats

from spcastat.assess.draws import GOLDEN, Rules, Sampler, place_keys, row_keys, uniform_of
from spcastat.assess.folds import PartSums
from spcastat.config import plural
from spcastat.errors import NoRowsError, OptionError, WeightsError
from spcastat.fit.inputs import Source, open_streamed
from spcastat.fit.rows import distances
from spcastat.fit.state import FitState
from spcastat.linalg.accumulate import CrossProducts
from spcastat.linalg.build import prepare
from spcastat.linalg.operators import Operator
from spcastat.linalg.regression import regress
from spcastat.linalg.standardisation import Standardisation
from spcastat.linalg.ties import is_sparse, top
from spcastat.streams.base import A, NestedSums, Pass, Stream, Tally, of_columns

# --- half of the rows ------------------------------------------------------------------------------


class OfHalf(NestedSums[A]):
    """An accumulator that receives one half of the rows only.

    Parameters
    ----------
    begin : callable
        Creates the accumulator of these rows.
    half : {0, 1}
    seed : int

    Attributes
    ----------
    rows, positive : int
    weight : float
        Counts of the half, as in :class:`spcastat.streams.base.Tally`.
    """

    def __init__(self, begin: Callable[[], A], half: int, seed: int):
        self.inner = begin()
        self.half, self.seed, self.seen = half, seed, 0
        self.rows, self.positive, self.weight = 0, 0, 0.0

    def add(self, X: Any, weights: np.ndarray | None) -> None:
        """Add the rows that belong to the half."""
        X = X.tocsr() if is_sparse(X) else X
        u = uniform_of(place_keys(X, self.seen, self.seed), self.seed, 0)
        self.seen += X.shape[0]
        own = np.flatnonzero((u < 0.5) == (self.half == 0))
        w = None if weights is None else weights[own]
        self.rows += own.size
        self.positive += own.size if w is None else int(np.count_nonzero(w))
        self.weight += float(own.size) if w is None else float(w.sum())
        if own.size:
            self.inner.add(X[own], w)

    def merge(self, other: OfHalf[A]) -> None:  # type: ignore[override]
        super().merge(other)
        self.rows += other.rows
        self.positive += other.positive
        self.weight += other.weight


class HalfStream(Stream):
    """A stream of half of the rows of another stream. It has no scores.

    Parameters
    ----------
    stream : Stream
    half : {0, 1}
    seed : int
    """

    def __init__(self, stream: Stream, half: int, seed: int):
        self.stream, self.half, self.seed = stream, half, seed
        self.spec, self.title = stream.spec, f"half of the rows of {stream.title}"
        self.weighted, self.local, self.anew = stream.weighted, stream.local, stream.anew

    def reduce(self, begin: Callable[[], A], what: str) -> Pass[A]:
        found = self.stream.reduce(partial(OfHalf, begin, self.half, self.seed), what).result
        return Pass(found.inner, Tally(found.rows, 0, found.positive, found.weight))


def half_of(source: Source, half: int, seed: int, columns: np.ndarray | None = None) -> Source:
    """Return one half of the rows of a source, with all columns or some of them.

    If the fit centres by means, the half is centred by its own means. Other centres and the scale remain
    those of all rows, so that a column that is constant in a half can still be scaled.

    Parameters
    ----------
    source : Source
        With rows, in memory or not, without missing values.
    half : {0, 1}
    seed : int
    columns : ndarray of int, shape (m,), optional
        Ascending.
    """
    standard, stream = source.standard, source.stream
    assert standard is not None
    some = slice(None) if columns is None else columns
    center = True if standard.centring == "mean" else standard.mean[some]
    scale = False if standard.scaling == "none" else standard.scale[some]
    if stream is not None:
        rows: Stream = HalfStream(stream, half, seed)
        if columns is not None:
            rows = of_columns(rows, columns)
        return open_streamed(rows, center, scale).source("")
    first, second = np.array_split(np.random.default_rng([seed, 2]).permutation(source.matrix.shape[0]), 2)
    own = np.sort(second if half else first)
    X = source.matrix if columns is None else source.matrix[:, columns]
    X = X.tocsr()[own] if is_sparse(X) else X[own]
    weights = None if source.weights is None else source.weights[own]
    Z = None if source.covariates is None else source.covariates[own]
    if Z is not None:
        X = regress(X, Z, weights, source.spec.columns[some]).residuals(X, Z)
    spec = replace(source.spec, columns=source.spec.columns[some])
    standard, op = prepare(X, weights, center, scale, spec.columns)
    return Source(op.at_unit_size(), spec, len(own), standard, X, weights=weights, covariates=Z)


# --- some of the columns ---------------------------------------------------------------------------


def columns_near(op: Operator, V: np.ndarray, size: int) -> np.ndarray:
    """Return the indices of the selected columns, ascending.

    Parameters
    ----------
    op : Operator
    V : ndarray of shape (p, k)
        The loadings of the fit.
    size : int
        Number of columns to select, at least the number of columns with a nonzero loading. Three quarters of
        the additional columns are those with the largest covariance with a score, divided by the standard
        deviation of the score; the others are those with the largest variance.
    """
    if size >= op.p:
        return np.arange(op.p)
    SV = op.dot(V)
    deviations = np.sqrt(np.maximum(np.einsum("ij,ij->j", V, SV), np.finfo(float).tiny))
    reach = np.abs(SV / deviations).max(axis=1)
    inside = V.any(axis=1)
    for values, share in ((reach, 0.75), (op.diagonal(), 1.0)):
        more = int(share * (size - np.count_nonzero(inside)))
        if more > 0:
            inside |= top(np.where(inside, -1.0, values), more)
    return np.flatnonzero(inside)


def among(source: Source, columns: np.ndarray) -> Source:
    """Return the source of some columns of a stream, with their covariance matrix in memory.

    Parameters
    ----------
    source : Source
        A source with a stream.
    columns : ndarray of int, shape (m,)
        Ascending.
    """
    standard, stream = source.standard, source.stream
    assert stream is not None
    assert standard is not None
    op = source.op.take(columns)
    op.unit = source.op.unit
    fewer = of_columns(stream, columns)
    standard = replace(standard, mean=standard.mean[columns], scale=standard.scale[columns])
    if source.groups is not None:
        raise OptionError(
            f"scale={source.groups.kind!r} was given; of so many variables and draws only some variables are "
            "kept, and the eigenvalues of blocks need all. Ask for fewer draws, or fit a sample of the rows "
            "in memory."
        )
    return replace(source, op=op, spec=fewer.spec, standard=standard, stream=fewer)


# --- a sample of the rows --------------------------------------------------------------------------


#: Centre and scale, loadings, and the covariance matrix of the scores.
Projection = tuple[Standardisation, np.ndarray, np.ndarray]


class DrawnRows:
    """Accumulator of scores and distances of rows drawn at random without replacement.

    Parameters
    ----------
    projection : Projection
    size, seed : int

    Attributes
    ----------
    keys : ndarray of uint64, shape (m,)
        Ascending.
    values : ndarray of shape (m, k + 2)
        Scores, T2 and Q of the rows drawn.
    """

    def __init__(self, projection: Projection, size: int, seed: int):
        self.projection, self.size, self.seed, self.seen = projection, size, seed, 0
        self.keys = np.zeros(0, dtype=np.uint64)
        self.values = np.zeros((0, projection[1].shape[1] + 2))

    def add(self, X: Any, weights: np.ndarray | None) -> None:
        """Add rows; rows of weight zero are never drawn."""
        X = X.tocsr() if is_sparse(X) else X
        place = (self.seen + np.arange(X.shape[0])).astype(np.uint64)
        self.seen += X.shape[0]
        keys = row_keys(X, self.seed) ^ ((place + np.uint64(1)) * GOLDEN)
        keys = (keys ^ (keys >> np.uint64(31))) * GOLDEN
        some = np.arange(len(keys)) if weights is None else np.flatnonzero(weights > 0)
        some = some[np.argsort(keys[some], kind="stable")[: self.size]]
        standard, V, C = self.projection
        t2, q = distances(X[some], standard, V, C)
        self._join(keys[some], np.column_stack([standard.project(X[some], V), t2, q]))

    def merge(self, other: DrawnRows) -> None:
        """Add the rows drawn by another accumulator."""
        self._join(other.keys, other.values)

    def _join(self, keys: np.ndarray, values: np.ndarray) -> None:
        keys, values = np.append(self.keys, keys), np.concatenate([self.values, values])
        first = np.argsort(keys, kind="stable")[: self.size]
        self.keys, self.values = keys[first], values[first]


def drawn_rows(state: FitState, stream: Stream, size: int = 2000, seed: int = 0) -> pd.DataFrame:
    """Return scores, T2 and Q of at most `size` rows of a stream, after one pass.

    Parameters
    ----------
    state : FitState
    stream : Stream
        The rows of the fit.
    size, seed : int

    Returns
    -------
    DataFrame of shape (m, k + 2)
        The rows have no labels and are in arbitrary order. ``attrs["sample"]`` describes the sample, unless
        it has all rows.
    """
    projection = state.need_centre("a sample of the rows"), state.V, state.moments.scores
    found = stream.reduce(partial(DrawnRows, projection, size, seed), "a sample of the rows")
    names = [*state.components, "T2", "Q"]
    frame = pd.DataFrame(found.result.values, columns=names)
    if len(frame) < found.tally.rows:
        frame.attrs["sample"] = f"{len(frame)} of {found.tally.rows} rows, drawn at random (seed {seed})"
    return frame


#: Largest number of elements of all cross-products of a pass: in this process, and for each part of a
#: distributed pass.
MOST, MOST_DISTRIBUTED = 64_000_000, 8_000_000


# --- bootstrap draws and halves of rows in chunks -------------------------------------------------


#: Columns may be left out if the number that remains is at least this multiple of the columns with loadings.
ROOM = 3
#: Distribution function of a Poisson variable with mean one; larger counts have a probability of 1e-18.
COUNTS = np.cumsum(stats.poisson.pmf(np.arange(20), 1.0))
#: Takes the number of a draw and returns uniform random numbers, one per row; draws are independent.
Uniform = Callable[[int], np.ndarray]


class DrawSums(PartSums):
    """Accumulator of the cross-products of several samples of the rows.

    Parameters
    ----------
    p : int
        Number of variables.
    pairs : int
        Number of pairs of complementary halves; their sums come first.
    draws : int
        Number of samples with replacement: from the rows or, with `pairs`, from the second half of the last
        pair.
    seed : int
    """

    def __init__(self, p: int, pairs: int, draws: int, seed: int):
        super().__init__(p, 2 * pairs + draws)
        self.pairs, self.draws, self.seed, self.seen = pairs, draws, seed, 0

    def add(self, X: Any, weights: np.ndarray | None) -> None:
        """Add rows to every sample that contains them."""
        n = X.shape[0]
        if weights is not None and (weights != np.round(weights)).any():
            raise WeightsError(
                "Draws take rows, and a weight says how many equal rows a row stands for: some weights are "
                "not whole numbers. Fit with whole weights, or without weights."
            )
        X = X.tocsr() if is_sparse(X) else X
        keys = place_keys(X, self.seen, self.seed)
        self.seen += n
        for i, times in enumerate(self._times(partial(uniform_of, keys, self.seed), weights)):
            some = np.flatnonzero(times)
            if some.size:
                self.parts[i].add(X[some], times[some])
                self.rows[i] += int(some.size)

    def _times(self, uniform: Uniform, weights: np.ndarray | None) -> Iterator[np.ndarray]:
        """Yield, for each sample, the number of times that it contains each row, shape (n,).

        `uniform` takes the number of a draw, see `Uniform`.
        """
        for pair in range(self.pairs):
            halves = _halved(uniform(pair), weights)
            yield from halves
        for draw in range(self.pairs, self.pairs + self.draws):
            yield _poisson(uniform(draw), halves[1] if self.pairs else weights)


def _poisson(u: np.ndarray, weights: np.ndarray | None) -> np.ndarray:
    """Return Poisson quantiles at u, shape (n,); the means are the weights, or 1."""
    if weights is None:
        return np.searchsorted(COUNTS, u, side="right").astype(float)
    means, where = np.unique(weights, return_inverse=True)
    found = np.zeros(len(u))
    for i in np.flatnonzero(means > 0):
        found[where == i] = stats.poisson.ppf(u[where == i], means[i])
    return found


def _halved(u: np.ndarray, weights: np.ndarray | None) -> tuple[np.ndarray, np.ndarray]:
    """Return how often each half contains each row; a row of weight 2 counts as two rows."""
    if weights is None:
        first = (u < 0.5).astype(float)
        return first, 1.0 - first
    first = np.asarray(stats.binom.ppf(u, weights.astype(int), 0.5))
    return first, weights - first


#: Cross-products, and the number of different rows in them.
Part = tuple[CrossProducts, int]


@dataclass(frozen=True, eq=False)
class SummedSampler(Sampler):
    """A sampler with prepared cross-products of its draws and halves.

    Attributes
    ----------
    n : int
    rules : Rules
    own : Part or None
        Cross-products of all rows; None if they are not needed.
    draws, halved : sequence of Part
        Cross-products of each draw, and of both halves of each pair, one after the other.
    """

    n: int
    rules: Rules
    own: Part | None = None
    draws: Sequence[Part] = ()
    halved: Sequence[Part] = ()

    def whole(self) -> Operator:
        assert self.own is not None
        return self.rules.of_sums(*self.own)[1]

    def bootstrap(self, rng: np.random.Generator, number: int = 0) -> Operator:
        return self.rules.of_sums(*self.draws[number])[1]

    def halves(self, rng: np.random.Generator, number: int = 0) -> tuple[Sampler, Sampler]:
        first, second = self.halved[2 * number : 2 * number + 2]
        sizes = [round(sums.weight) for sums, _ in (first, second)]
        return (
            SummedSampler(sizes[0], self.rules, first),
            SummedSampler(sizes[1], self.rules, second, self.draws),
        )


@dataclass(frozen=True, eq=False)
class StreamRows:
    """The rows of a stream, from which one pass prepares all draws.

    Attributes
    ----------
    source : Source
        With a stream.
    what : str
        Name of the analysis, for messages.
    """

    source: Source
    what: str

    @property
    def n(self) -> int:
        """Number of rows; a row of weight 2 counts twice."""
        return round(self.source.weight)

    def prepared(self, kind: str, count: int, seed: int) -> Sampler:
        """Return a sampler with all draws prepared, after one pass over the rows.

        Parameters
        ----------
        kind : {"bootstrap", "halves", "split"}
            Draws with replacement; pairs of halves; or one pair of halves with draws from the second.
        count : int
            Number of draws or pairs.
        seed : int

        Raises
        ------
        NoRowsError
            If the cross-products of all draws need too much memory.
        """
        pairs = {"bootstrap": 0, "halves": count, "split": 1}[kind]
        draws = 0 if kind == "halves" else count
        cells = 2 * pairs + draws
        stream, p = self.source.stream, self.source.op.p
        assert stream is not None
        most = self._most
        if cells * p * p > most:
            raise NoRowsError(
                f"{self.what} of rows that are never all in memory keeps the cross-products of all draws, so "
                f"that one pass is enough: {cells} of {plural(p, 'variable')} would take "
                f"{8e-9 * cells * p * p:.3g} GB, and {8e-9 * most:.3g} at most are taken, that is "
                f"{most // p**2}. Ask for fewer, or fit fewer variables, or a sample of the rows of "
                f"{stream.title}."
            )
        found = stream.reduce(partial(DrawSums, p, pairs, draws, seed), "cross-products of draws").result
        made = list(zip(found.parts, found.rows, strict=True))
        return SummedSampler(self.n, Rules.of(self.source), None, made[2 * pairs :], made[: 2 * pairs])

    @property
    def _most(self) -> int:
        """Largest number of elements of all cross-products together."""
        stream = self.source.stream
        return MOST if stream is None or stream.local else MOST_DISTRIBUTED

    def near(self, V: np.ndarray, cells: int) -> tuple[StreamRows, np.ndarray] | None:
        """Return the rows with as many columns as memory allows, and the indices of these columns.

        Memory is needed for `cells` matrices of cross-products.

        The columns are selected by the loadings `V`, shape (p, k). None if all columns are allowed, or too
        few.
        """
        size = math.isqrt(self._most // cells)
        if size >= self.source.op.p or size < ROOM * np.count_nonzero(V.any(axis=1)):
            return None
        columns = columns_near(self.source.op, V, size)
        return replace(self, source=among(self.source, columns)), columns
