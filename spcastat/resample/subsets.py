"""Parts of large data: half of the rows, the most important columns, and a random sample of the rows.

A choice made on one half of the rows can be tested on the other. For rows in memory the halves are drawn at
random with the seed. For rows in chunks a hash of the row's values, its position (with dask, the position in
its partition) and the seed determines its half. The whole weight of a row belongs to one half.

Every fold, half and draw of rows in chunks needs its own matrix of cross-products. If there are too many
columns for these, only some are used: the columns with a nonzero loading, then the columns with the largest
covariances with the components, then the columns with the largest variances. The results hold for these
columns only, and reports give their number.

A random sample consists of the rows with the smallest keys; the keys are hashes of the same kind.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from functools import partial
from typing import Any

import numpy as np
import pandas as pd

from spcastat.engine.inputs import Source, open_streamed
from spcastat.errors import OptionError
from spcastat.kernels.regression import regress
from spcastat.kernels.sparsity import is_sparse
from spcastat.kernels.ties import top
from spcastat.operators import Operator, Standardisation, prepare
from spcastat.resample.row_hashes import GOLDEN, place_keys, row_keys, uniform_of
from spcastat.state import FitState
from spcastat.state.distances import distances
from spcastat.streams.base import A, Pass, Stream, Tally, Within, of_columns

# --- half of the rows ------------------------------------------------------------------------------


class OfHalf(Within[A]):
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
