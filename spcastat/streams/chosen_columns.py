"""Some columns of a stream: sums are computed for these only."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from functools import partial
from typing import Any, Generic

import numpy as np
import pandas as pd

from spcastat.errors import NoRowsError
from spcastat.operators import Standardisation
from spcastat.streams.base import A, Pass, Stream


class Within(Generic[A]):
    """An accumulator that passes part of its input on to an inner accumulator, which has the sums.

    Parameters
    ----------
    begin : callable
        Creates the inner accumulator.
    """

    def __init__(self, begin: Callable[[], A]):
        self.inner = begin()

    @property
    def nbytes(self) -> int:
        """Size of the sums in bytes; 0 if the inner accumulator does not report it."""
        return int(getattr(self.inner, "nbytes", 0))

    def merge(self, other: Within[A]) -> None:
        """Add the sums of another accumulator."""
        self.inner.merge(other.inner)

    def pack(self) -> None:
        """Pack the sums, if the inner accumulator can; see `CrossProducts.pack`."""
        getattr(self.inner, "pack", _nothing)()

    def unpack(self) -> None:
        """Undo :meth:`pack`."""
        getattr(self.inner, "unpack", _nothing)()


def _nothing() -> None:
    return None


class OfColumns(Within[A]):
    """An accumulator of some columns of the rows.

    Parameters
    ----------
    begin : callable
        Creates the accumulator of these columns.
    columns : ndarray of int, shape (m,)
        Ascending.
    """

    def __init__(self, begin: Callable[[], A], columns: np.ndarray):
        super().__init__(begin)
        self.columns = columns

    def add(self, X: Any, weights: np.ndarray | None) -> None:
        """Add rows with all columns of the stream."""
        self.inner.add(X[:, self.columns], weights)


class ColumnStream(Stream):
    """A stream with some of the columns of another. It has no scores.

    Parameters
    ----------
    stream : Stream
    columns : ndarray of int, shape (m,)
        Ascending.
    """

    def __init__(self, stream: Stream, columns: np.ndarray):
        self.stream, self.columns = stream, columns
        self.spec = replace(stream.spec, columns=stream.spec.columns[columns])
        self.title, self.weighted = stream.title, stream.weighted
        self.local, self.anew = stream.local, stream.anew

    @property
    def rows(self) -> int | None:
        return self.stream.rows

    def reduce(self, begin: Callable[[], A], what: str) -> Pass[A]:
        found = self.stream.reduce(partial(OfColumns, begin, self.columns), what)
        return Pass(found.result.inner, found.tally)

    def scores(self, standard: Standardisation, V: np.ndarray, names: pd.Index) -> Any:
        raise NoRowsError(f"Scores need all columns of {self.title}.")
