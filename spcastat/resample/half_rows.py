"""Two halves of the rows, so that a choice made on one half can be tested on the other.

For rows in memory the halves are drawn at random with the seed. For rows in chunks a hash of the row's
values, its position (with dask, the position in its partition) and the seed determines its half. A row goes
to a half with all of its weight.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from functools import partial
from typing import Any

import numpy as np
import pandas as pd

from spcastat.engine.inputs import Source, open_streamed
from spcastat.errors import NoRowsError
from spcastat.kernels.regression import remainder
from spcastat.kernels.sparsity import is_sparse
from spcastat.operators import Standardisation, prepare
from spcastat.resample.streamed import place_keys, uniform_of
from spcastat.streams.base import A, Pass, Stream, Tally
from spcastat.streams.changed_rows import Within, of_columns


class OfHalf(Within[A]):
    """An accumulator of one half of the rows.

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
        super().__init__(begin)
        self.half, self.seed, self.seen = half, seed, 0
        self.rows, self.positive, self.weight = 0, 0, 0.0

    def add(self, X: Any, weights: np.ndarray | None) -> None:
        """Add those of the rows that belong to the half."""
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
    """A stream of half of the rows of another. It has no scores.

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

    def scores(self, standard: Standardisation, V: np.ndarray, names: pd.Index) -> Any:
        raise NoRowsError(f"Scores need all rows of {self.stream.title}.")


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
        X = remainder(X, Z, weights, source.spec.columns[some])
    spec = replace(source.spec, columns=source.spec.columns[some])
    standard, op = prepare(X, weights, center, scale, spec.columns)
    return Source(op.at_unit_size(), spec, len(own), standard, X, weights=weights, covariates=Z)
