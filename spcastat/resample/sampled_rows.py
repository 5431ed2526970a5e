"""Scores and distances of a random sample of the rows of a stream, drawn in one pass.

The sample consists of the rows with the smallest keys. A key is a hash of the row's values, its position
(with dask, the position in its partition) and the seed, so that the sample does not depend on the size and
order of chunks.
"""

from __future__ import annotations

from functools import partial
from typing import Any

import numpy as np
import pandas as pd

from spcastat.kernels.sparsity import is_sparse
from spcastat.operators import Standardisation
from spcastat.resample.folds import row_keys
from spcastat.state import FitState
from spcastat.state.distances import distances
from spcastat.streams.base import Stream

GOLDEN = np.uint64(0x9E3779B97F4A7C15)
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
