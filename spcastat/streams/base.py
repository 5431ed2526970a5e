"""Streams of chunks: one pass over them, and fingerprints by which a changed source is noticed.

Rows that this process reads are compared bit by bit, by a hash (`RowHash`) of all numbers and their positions
that does not depend on how the rows are split into chunks. Rows that workers compute again may come in
another order within a partition, or differ in the last digits; for partitions, the number of rows and the
sums of their columns are compared (`PartitionSums`).

A stream may be derived from another one: with some of its columns, or with its columns in other units.
"""

from __future__ import annotations

import os
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field, replace
from functools import partial
from operator import itemgetter
from typing import Any, Generic, Self, TypeVar

import numpy as np
import pandas as pd

from spcastat.config import plural
from spcastat.errors import NoRowsError, OptionError, TooFewRowsError, WeightsError
from spcastat.linalg.accumulate import Accumulator
from spcastat.linalg.scales import blocks
from spcastat.linalg.standardisation import Standardisation, divided
from spcastat.linalg.ties import is_sparse
from spcastat.reading.design import Spec
from spcastat.streams.sources import holds_no_rows

# --- fingerprints ---------------------------------------------------------------------------------


#: Number of sums that are stored: columns beyond these are added to the sums of others, with alternating
#: signs.
GROUPS = 64

_ODD = np.uint64(0x9E3779B97F4A7C15)
_MORE = np.uint64(0xD6E8FEB86659FD93)
_HALF = np.uint64(32)


def _mixed(numbers: np.ndarray) -> np.ndarray:
    """Return a 64-bit hash of each of `numbers`: a bijection modulo 2**64."""
    x = (numbers + np.uint64(1)) * _ODD
    x ^= x >> _HALF
    x *= _MORE
    x ^= x >> _HALF
    return x


def _row_sums(values: Any) -> np.ndarray:
    """Return for every row the sum of its numbers' bits times a factor for the column, modulo 2**64."""
    factors = _mixed(np.arange(values.shape[1], dtype=np.uint64))
    if not is_sparse(values):
        if values.dtype.itemsize == 8:
            return np.asarray(values.view(np.uint64) @ factors)
        return np.einsum("ij,j->i", values.view(np.uint32), factors)
    held = values.tocsr()
    bits = held.data.view(np.uint64 if held.dtype.itemsize == 8 else np.uint32)
    running = np.zeros(len(bits) + 1, dtype=np.uint64)
    np.cumsum(bits * factors[held.indices], out=running[1:])
    return np.asarray(np.diff(running[held.indptr]))


@dataclass
class RowHash:
    """A hash of the rows so far, and its values after each chunk.

    Attributes
    ----------
    total : int
        The hash, modulo 2**64. It is equal for equal rows in the same order, in any chunks, dense or sparse.
    kept : int
        Number of rows hashed.
    marks : dict of int to int
        Number of rows read at the end of a chunk, including dropped rows -> `total`.
    """

    total: int = 0
    kept: int = 0
    marks: dict[int, int] = field(default_factory=dict)

    def add(self, values: Any, read: int) -> None:
        """Add a chunk after which `read` rows have been read; `values` has shape (m, p)."""
        m = values.shape[0]
        if m:
            places = _mixed(np.arange(self.kept, self.kept + m, dtype=np.uint64))
            found = _mixed(_row_sums(values) + places)
            self.total = (self.total + int(np.add.reduce(found))) % 2**64
            self.kept += m
        self.marks[read] = self.total

    def agrees(self, first: RowHash, read: int) -> bool:
        """Return whether `first` had the same hash after `read` rows; also True if it has no mark there."""
        return first.marks.get(read, self.total) == self.total


@dataclass(frozen=True, eq=False)
class PartitionSums:
    """Number of rows of a partition, and sums of (groups of) its columns and of their absolute values."""

    rows: int
    sums: np.ndarray
    sizes: np.ndarray

    @classmethod
    def of(cls, values: Any) -> PartitionSums:
        m, p = values.shape
        sums, sizes = np.zeros(p), np.zeros(p)
        if is_sparse(values):
            if m:
                sums += np.asarray(values.sum(axis=0, dtype=float)).ravel()
                sizes += np.asarray(abs(values).sum(axis=0, dtype=float)).ravel()
        else:
            for rows in blocks(m, p):
                sums += values[rows].sum(axis=0, dtype=float)
                sizes += np.abs(values[rows]).sum(axis=0, dtype=float)
        if p > GROUPS:
            group = np.arange(p) % GROUPS
            signs = 1.0 - 2.0 * (np.arange(p) // GROUPS % 2)
            sums, sizes = np.bincount(group, sums * signs, GROUPS), np.bincount(group, sizes, GROUPS)
        return cls(m, sums, sizes)

    def agrees(self, other: PartitionSums) -> bool:
        """Whether both may come from the same rows, apart from order and rounding."""
        if self.rows != other.rows:
            return False
        away = np.abs(self.sums - other.sums)
        # sums of a partition must agree to 1e-12 of the sums of absolute values
        return bool((away <= 1e-12 * np.maximum(self.sizes, other.sizes)).all())


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
    prints : dict of int to PartitionSums
        Number of a partition of a distributed stream -> its fingerprint, to detect changed rows.
    """

    rows: int = 0
    dropped: int = 0
    positive: int = 0
    weight: float = 0.0
    prints: dict[int, PartitionSums] = field(default_factory=dict, compare=False)

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
        self.prints |= other.prints

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

    def __sizeof__(self) -> int:
        """Size in bytes including arrays; dask's scheduler uses it to decide what to move between workers."""
        return object.__sizeof__(self) + _bytes_of(self.result)


def _bytes_of(accumulator: Any) -> int:
    """Return the total size in bytes of the arrays of an accumulator and of accumulators inside it."""
    size = 0
    for value in vars(accumulator).values():
        for one in value if isinstance(value, list) else [value]:
            if isinstance(one, np.ndarray):
                size += one.nbytes
            elif hasattr(one, "merge"):
                size += _bytes_of(one)
    return size


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
