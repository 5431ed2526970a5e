"""Rows that are never together in memory: a stream of checked blocks that passes run over."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from functools import partial
from typing import Any, Generic, Self, TypeVar

import numpy as np
import pandas as pd

from spcastat.config import plural
from spcastat.errors import NoRowsError, OptionError, TooFewRowsError, WeightsError
from spcastat.intake import Spec
from spcastat.operators import Accumulator, Standardisation
from spcastat.operators.standardisation import Divided
from spcastat.streams.prints import Print

A = TypeVar("A", bound=Accumulator)


@dataclass
class Tally:
    """What a pass counted.

    Attributes
    ----------
    rows : int
        Rows kept.
    dropped : int
        Rows left out because of missing values.
    positive : int
        Rows kept whose weight is not zero.
    weight : float
        The sum of the weights; the number of rows where there are none.
    prints : dict of int to Print
        What is kept of each partition of a distributed stream, by its number.
    """

    rows: int = 0
    dropped: int = 0
    positive: int = 0
    weight: float = 0.0
    prints: dict[int, Print] = field(default_factory=dict, compare=False)

    def count(self, block: Block) -> None:
        """Count a block."""
        n = block.values.shape[0]
        self.rows += n
        self.dropped += block.dropped
        self.positive += n if block.weights is None else int(np.count_nonzero(block.weights))
        self.weight += float(n) if block.weights is None else float(block.weights.sum())

    def merge(self, other: Self) -> None:
        """Add the counts of another."""
        self.rows += other.rows
        self.dropped += other.dropped
        self.positive += other.positive
        self.weight += other.weight
        self.prints |= other.prints

    def require_enough(self, title: str) -> None:
        """Raise TooFewRowsError or WeightsError if the rows of the stream `title` have no variance."""
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
    """Consecutive rows of a stream, checked: the columns of the fit, finite numbers.

    Attributes
    ----------
    values : ndarray of shape (m, p), or scipy.sparse CSR or CSC array
        float64 or float32. It may share memory with the source: never written to.
    weights : ndarray of shape (m,) or None
    index : pandas.Index
        Labels of the rows.
    dropped : int
        Rows of the chunk left out because of missing values.
    """

    values: Any
    weights: np.ndarray | None
    index: pd.Index
    dropped: int = 0


@dataclass(frozen=True, eq=False)
class Pass(Generic[A]):
    """What a pass over a stream brought back."""

    result: A
    tally: Tally

    def __sizeof__(self) -> int:
        """Bytes, arrays included: by it a scheduler weighs what waits on a worker, and what would travel."""
        return object.__sizeof__(self) + _bytes_of(self.result)


def _bytes_of(accumulator: Any) -> int:
    """Return the bytes of the arrays that an accumulator, or those within it, hold."""
    size = 0
    for value in vars(accumulator).values():
        for one in value if isinstance(value, list) else [value]:
            if isinstance(one, np.ndarray):
                size += one.nbytes
            elif hasattr(one, "merge"):
                size += _bytes_of(one)
    return size


class Stream(ABC):
    """Rows that can be walked again and again.

    Attributes
    ----------
    spec : Spec
        How the raw chunks become columns; its `columns` label the variables.
    title : str
        What the stream is, for messages and headers: ``"Parquet file trips.parquet"``.
    weighted : bool
        Whether rows have weights.
    local : bool
        Whether this process walks over the rows, rather than workers.
    anew : bool
        Whether a scheduler computes the rows anew in each pass, and could keep them instead.
    """

    spec: Spec
    title: str
    weighted: bool
    local: bool = True
    anew: bool = False

    @property
    def rows(self) -> int | None:
        """Rows, those that will be left out counted; None where that is not known without a pass."""
        return None

    @property
    def p(self) -> int:
        """Number of variables."""
        return len(self.spec.columns)

    @abstractmethod
    def reduce(self, begin: Callable[[], A], what: str) -> Pass[A]:
        """Walk over all rows once.

        Parameters
        ----------
        begin : callable
            Makes an empty accumulator. It can be pickled (a class, or a functools.partial of one): the parts
            of a distributed stream are summed up where they lie, and only accumulators travel.
        what : str
            What the pass is for, as its progress is announced.
        """

    def blocks(self, what: str) -> Iterator[Block]:
        """Walk over all rows in their order, a block at a time.

        Parameters
        ----------
        what : str
            As for `reduce`.

        Raises
        ------
        NoRowsError
            For a stream that lies on several machines.
        """
        raise NoRowsError(
            f"{what} needs the rows one after the other, and {self.title} is spread over workers: use "
            "transform() or diagnostics() with some of the rows in memory."
        )

    def holds(self, path: Any) -> bool:
        """Return whether writing to `path` would change the stream."""
        return False

    def spare(self, path: Any) -> None:
        """Raise OptionError if writing to `path` would change the stream."""
        if self.holds(path):
            raise OptionError(
                f"path={str(path)!r} was given, which is where {self.title} is read from; give another."
            )

    @abstractmethod
    def scores(self, standard: Standardisation, V: np.ndarray, names: pd.Index) -> Any:
        """Return the scores of all rows, never all in memory: chunks, or a collection of dask.

        Parameters
        ----------
        standard : Standardisation
        V : ndarray of shape (p, k)
        names : pandas.Index of length k
        """


class DividedStream(Stream):
    """The rows of a stream for sums alone, their columns divided by powers of two.

    Parameters
    ----------
    stream : Stream
    exponents : ndarray of int, shape (p,)
        Column j is divided by 2**exponents[j].
    """

    def __init__(self, stream: Stream, exponents: np.ndarray):
        self.stream = stream
        self.exponents = exponents
        self.spec, self.title = stream.spec, stream.title
        self.weighted, self.local, self.anew = stream.weighted, stream.local, stream.anew

    def reduce(self, begin: Callable[[], A], what: str) -> Pass[A]:
        found = self.stream.reduce(partial(Divided, begin, self.exponents), what)
        return Pass(found.result.inner, found.tally)

    def scores(self, standard: Standardisation, V: np.ndarray, names: pd.Index) -> Any:
        return self.stream.scores(standard, V, names)
