"""Draws and halves of the rows of a stream: the cross-products of all of them are computed in one pass.

How often a draw contains a row depends on a hash of the row's values, its position (with dask, the position
in its partition) and the seed, and not on the size of the chunks. In a bootstrap draw the number of copies of
a row is an independent Poisson variable with mean one, instead of a multinomial count: Hanley and MacGibbon
(2006), "Creating non-parametric bootstrap samples using Poisson frequencies", Computer Methods and Programs
in Biomedicine 83.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import Any

import numpy as np
from scipy import stats

from spcastat.config import plural
from spcastat.engine.inputs import Source
from spcastat.errors import NoRowsError, WeightsError
from spcastat.kernels.sparsity import is_sparse
from spcastat.operators import CrossProducts, Operator
from spcastat.resample.folds import PartSums
from spcastat.resample.row_hashes import place_keys, uniform_of
from spcastat.resample.sampler import Rules, Sampler
from spcastat.resample.subsets import among, columns_near

#: Largest number of elements of all cross-products of a pass: in this process, and for each part of a
#: distributed pass.
MOST, MOST_DISTRIBUTED = 64_000_000, 8_000_000
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
