"""Streams of chunks, and passes over them.

A source must give the same rows in every pass; the numbers of rows are compared. A stream may be derived from
another one: with some of its columns, or with its columns in other units.
"""

from __future__ import annotations

import os
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from functools import partial
from operator import itemgetter
from typing import Any, Generic, Self, TypeVar

import numpy as np
import pandas as pd

from spcastat.config import plural
from spcastat.errors import NoRowsError, OptionError, TooFewRowsError, WeightsError
from spcastat.linalg.accumulate import Accumulator
from spcastat.linalg.standardisation import Standardisation, divided
from spcastat.reading.design import Spec
from spcastat.streams.sources import holds_no_rows

A = TypeVar("A", bound=Accumulator)


# --- streams --------------------------------------------------------------------------------------


@dataclass
class Tally:
    """Counts of rows in a pass.

    Attributes
    ----------
    rows : int
        Number of rows used.
    dropped : int
        Number of rows dropped because of missing values.
    positive : int
        Number of rows used whose weight is not zero.
    weight : float
        The sum of the weights; without weights, the number of rows.
    """

    rows: int = 0
    dropped: int = 0
    positive: int = 0
    weight: float = 0.0

    def count(self, block: Block) -> None:
        """Count a block."""
        n = block.values.shape[0]
        self.rows += n
        self.dropped += block.dropped
        self.positive += n if block.weights is None else int(np.count_nonzero(block.weights))
        self.weight += float(n) if block.weights is None else float(block.weights.sum())

    def merge(self, other: Self) -> None:
        """Add the counts of another tally."""
        self.rows += other.rows
        self.dropped += other.dropped
        self.positive += other.positive
        self.weight += other.weight

    def counts(self) -> str:
        """Return the number of rows read for messages: ``"30 rows (2 dropped)"``."""
        dropped = f" ({self.dropped} dropped)" if self.dropped else ""
        return plural(self.rows + self.dropped, "row") + dropped

    def require_enough(self, title: str) -> None:
        """Raise TooFewRowsError or WeightsError if the stream `title` has too few rows for variances."""
        if self.rows < 2:
            after = f" after {plural(self.dropped, 'row')} with missing values had been dropped"
            raise TooFewRowsError(
                f"{title[:1].upper()}{title[1:]} has {plural(self.rows, 'row')}"
                f"{after if self.dropped else ''}; at least two are needed."
            )
        if self.positive < 2 or self.weight <= 1:
            raise WeightsError(
                f"The weights of the {self.rows} rows of {title} that are kept sum to {self.weight:g}, "
                f"{self.positive} of them positive; at least two must be positive, and the sum must exceed 1."
            )


@dataclass(frozen=True, eq=False)
class Block:
    """Consecutive rows of a stream after checking: the columns of the fit, with finite numbers.

    Attributes
    ----------
    values : ndarray of shape (m, p), or scipy.sparse CSR or CSC array
        float64 or float32. It may share memory with the source and is never written to.
    weights : ndarray of shape (m,) or None
    index : pandas.Index
        Labels of the rows.
    dropped : int
        Number of rows of the chunk that were dropped because of missing values.
    """

    values: Any
    weights: np.ndarray | None
    index: pd.Index
    dropped: int = 0


@dataclass(frozen=True, eq=False)
class Pass(Generic[A]):
    """The result of a pass over a stream: an accumulator, and counts of rows."""

    result: A
    tally: Tally


class Stream(ABC):
    """Rows that can be read repeatedly.

    Attributes
    ----------
    spec : Spec
        How raw chunks are converted to the columns of the fit; its `columns` label the variables.
    title : str
        Name of the stream for messages and headers, e.g. ``"Parquet file trips.parquet"``.
    weighted : bool
        Whether rows have weights.
    local : bool
        Whether this process reads the rows, rather than workers.
    anew : bool
        Whether a scheduler computes the rows again in each pass, although it could store them.
    rows : int or None
        Number of rows, including rows that will be dropped; None if it is unknown without a pass.
    """

    spec: Spec
    title: str
    weighted: bool
    local: bool = True
    anew: bool = False
    rows: int | None = None

    @property
    def p(self) -> int:
        """Number of variables."""
        return len(self.spec.columns)

    @abstractmethod
    def reduce(self, begin: Callable[[], A], what: str) -> Pass[A]:
        """Pass over all rows once and accumulate sums.

        Parameters
        ----------
        begin : callable
            Creates an empty accumulator. It must be picklable (a class, or a functools.partial of one),
            because workers sum up the partitions of a distributed stream and send only accumulators.
        what : str
            The purpose of the pass, for the progress display.
        """

    def blocks(self, what: str) -> Iterator[Block]:
        """Iterate over all rows in their order, block by block.

        Parameters
        ----------
        what : str
            As for `reduce`.

        Raises
        ------
        NoRowsError
            For a stream that is distributed over workers.
        """
        raise NoRowsError(
            f"{what} needs rows in order; {self.title} is spread over workers: use some rows in memory."
        )

    def holds(self, path: Any) -> bool:
        """Return whether writing to `path` would change the stream."""
        return False

    def tells_files(self) -> bool:
        """Return whether the files that the rows are read from are known."""
        return False

    def spare(self, path: Any) -> None:
        """Raise OptionError if writing to `path` would change the stream.

        If the stream does not tell its files, an existing file may be one of them, unless it holds no rows.
        """
        if self.holds(path):
            raise OptionError(
                f"path={str(path)!r} was given, which is where {self.title} is read from; give another."
            )
        if self.tells_files() or not os.path.exists(path) or holds_no_rows(path):
            return
        raise OptionError(
            f"path={str(path)!r} exists, and {self.title} does not tell which files it reads, perhaps this "
            "one: give the name of a new file, or delete this one first."
        )

    def scores(self, standard: Standardisation, V: np.ndarray, names: pd.Index) -> Any:
        """Return the scores of all rows in chunks, or as a dask collection: they need not fit in memory.

        Parameters
        ----------
        standard : Standardisation
        V : ndarray of shape (p, k)
        names : pandas.Index of length k

        Raises
        ------
        NoRowsError
            For a stream of some of the rows, or of changed rows.
        """
        raise NoRowsError(f"Scores need all rows as they are; here {self.title} gives only sums.")


# --- streams derived from others ------------------------------------------------------------------


class NestedSums(Generic[A]):
    """An accumulator that passes part of its input on to an inner accumulator, which has the sums."""

    inner: A

    def merge(self, other: NestedSums[A]) -> None:
        """Add the sums of another accumulator."""
        self.inner.merge(other.inner)


def sums_of(accumulator: Any) -> Any:
    """Return the accumulator that has the sums: the innermost one of those that pass their input on."""
    while isinstance(accumulator, NestedSums):
        accumulator = accumulator.inner
    return accumulator


class TransformedSums(NestedSums[A]):
    """An accumulator of rows that a function has changed.

    Parameters
    ----------
    begin : callable
        Creates the accumulator of the changed rows.
    change : callable
        Takes and returns rows, dense or sparse of shape (n, p).
    """

    def __init__(self, begin: Callable[[], A], change: Callable[[Any], Any]):
        self.inner, self.change = begin(), change

    def add(self, X: Any, weights: np.ndarray | None) -> None:
        """Change rows and add them."""
        self.inner.add(self.change(X), weights)


class ChangedStream(Stream):
    """A stream of the rows of another one, which a function changes before they are summed.

    Parameters
    ----------
    stream : Stream
    change : callable
        As for :class:`ChangedStream`.
    spec : Spec
    """

    def __init__(self, stream: Stream, change: Callable[[Any], Any], spec: Spec):
        self.stream, self.change, self.spec = stream, change, spec
        self.title, self.weighted = stream.title, stream.weighted
        self.local, self.anew, self.rows = stream.local, stream.anew, stream.rows

    def reduce(self, begin: Callable[[], A], what: str) -> Pass[A]:
        found = self.stream.reduce(partial(TransformedSums, begin, self.change), what)
        return Pass(found.result.inner, found.tally)


def of_columns(stream: Stream, columns: np.ndarray) -> ChangedStream:
    """Return a stream of the columns of another stream at the ascending positions `columns`, shape (m,)."""
    spec = replace(stream.spec, columns=stream.spec.columns[columns])
    return ChangedStream(stream, itemgetter((slice(None), columns)), spec)


def of_quotients(stream: Stream, exponents: np.ndarray) -> ChangedStream:
    """Return a stream of the columns of another one, column j divided by 2**exponents[j]."""
    return ChangedStream(stream, partial(divided, exponents=exponents), stream.spec)
