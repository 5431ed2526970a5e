"""Streams of chunks, passes over them, and reading of chunks as blocks of numbers.

A source must give the same rows in every pass; the numbers of rows are compared. A stream may be derived from
another one: with some of its columns, or with its columns in other units.
"""

from __future__ import annotations

import os
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, replace
from functools import partial
from operator import itemgetter
from typing import Any, Generic, Self, TypeVar

import numpy as np
import pandas as pd

from spcastat import errors
from spcastat.config import listed, plural, shown
from spcastat.errors import NoRowsError, OptionError, TooFewRowsError, WeightsError
from spcastat.linalg.accumulate import Accumulator
from spcastat.linalg.standardisation import Standardisation, divided
from spcastat.linalg.ties import is_sparse
from spcastat.reading import formula as formulas
from spcastat.reading.checks import read_weights, require_numbers, suspicious
from spcastat.reading.design import PLAIN, ReadOptions, Spec
from spcastat.reading.frames import (
    Table,
    array_labels,
    checked_sparse,
    numbers,
    open_table,
    require_unique,
    take_weights,
)
from spcastat.reading.model_matrix import TRIED, learnt
from spcastat.reading.read import replay_table
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


# --- reading chunks -------------------------------------------------------------------------------


def spec_of(
    chunk: Any, reading: ReadOptions = PLAIN, name: str = "the first chunk", *, levels: bool = False
) -> Spec:
    """Return how chunks are converted to columns, as the first chunk of a stream defines it.

    Only names and types are used, and nothing that depends on the values, since other chunks have other
    values. The chunk may be empty.

    Parameters
    ----------
    chunk : DataFrame, ndarray, scipy.sparse matrix, polars or pyarrow table, of shape (m, q)
    reading : ReadOptions
    name : str
        Name of the chunk in messages.
    levels : bool
        Whether the chunk has all levels of every factor, so that a formula may use factors.

    Returns
    -------
    Spec

    Raises
    ------
    OptionError
        For ``categorical="dummy"``.
    FormulaError
        For a formula that cannot be read, or with terms that depend on several rows.
    DataError
        For data that are not a table of numbers; see :func:`spcastat.reading.read.read_data`.
    """
    if reading.categorical == "dummy" and not levels:
        raise errors.OptionError(
            "categorical='dummy' was given for a stream of chunks: the levels would be those of its first "
            "chunk. Make the 0/1 columns in every chunk, e.g. (chunk['c'] == 'a').astype(float)."
        )
    with named(name):
        table = _open(chunk)
        require_unique(table.columns)
        if isinstance(reading.weights, str):
            table, found = take_weights(table, reading.weights)
            read_weights(found, table.index, labelled=False)
        if reading.formula is None:
            _require_numbers(table, range(len(table.columns)))
            return Spec("frame" if table.named else "array", table.columns)
        return _formula_spec(table, reading)


def read_block(
    spec: Spec,
    chunk: Any,
    *,
    weights: Any = None,
    na: str = "raise",
    name: str = "a chunk",
    first: int = 0,
    exact: bool = True,
) -> Block:
    """Check a chunk and convert it to the columns of the stream.

    Parameters
    ----------
    spec : Spec
        From :func:`spec_of`, or the spec of a fit.
    chunk : DataFrame, ndarray, scipy.sparse matrix, polars or pyarrow table, of shape (m, q)
        It may be empty.
    weights : str or array-like of shape (m,), optional
        Weights by position, or the name of their column in the chunk.
    na : {"raise", "drop"}
    name : str
        Name of the chunk in messages.
    first : int
        The number of rows before this chunk. Rows without labels are numbered from here.
    exact : bool
        True for rows that are fitted: all chunks must have the same columns, or those of the formula. False
        for new data.

    Returns
    -------
    Block

    Raises
    ------
    DataError, FormulaError
        As :func:`spcastat.reading.read.read_data`; every message starts with `name`.
    """
    with named(name):
        table = _open(chunk)
        require_unique(table.columns)
        table, weights = take_weights(table, weights)
        if exact:
            _require_columns(spec, table)
        index = _numbered(table.index, first)
        w = None if weights is None else read_weights(weights, index, labelled=False)
        if not len(index):
            return Block(np.empty((0, len(spec.columns))), w, index)
        if is_sparse(table.values) and table.values.format == "csr":
            if exact and not suspicious(table.values):
                return Block(table.values, w, index)
            table = open_table(chunk)  # by columns, to locate invalid entries
        matrix, keep = replay_table(spec, table, na, errors.FormulaError if exact else errors.NewDataError)
        if keep is None:
            return Block(matrix, w, index)
        return Block(matrix, None if w is None else w[keep], index[keep], int((~keep).sum()))


def _open(chunk: Any) -> Table:
    """Convert a chunk to a table; sparse rows of floats stay in CSR format."""
    if (
        is_sparse(chunk)
        and chunk.ndim == 2
        and chunk.format == "csr"
        and chunk.dtype in (np.float64, np.float32)
    ):
        from scipy.sparse import csr_array

        matrix = csr_array(checked_sparse(chunk))
        n, p = matrix.shape
        if p and matrix.has_canonical_format:
            return Table(matrix, array_labels(p), pd.RangeIndex(n), named=False, labelled=False)
    return open_table(chunk)


def _numbered(index: pd.Index, first: int) -> pd.Index:
    """Return the labels with `first` added if they are the default 0, 1, ...; other labels unchanged."""
    default = isinstance(index, pd.RangeIndex) and index.start == 0 and index.step == 1
    return pd.RangeIndex(first, first + len(index), name=index.name) if default and first else index


def _require_columns(spec: Spec, table: Table) -> None:
    """Raise unless a chunk has the columns of the stream, and numbers in them."""
    framed = isinstance(table.values, pd.DataFrame)
    if spec.kind == "formula" and not framed:
        raise errors.DataError(
            f"The chunk has no column names; formula={spec.formula!r} needs them: give data frames."
        )
    if framed != (spec.kind != "array"):
        first, here = ("names", "none") if spec.kind != "array" else ("no names", "names")
        raise errors.DataError(
            f"The columns of the first chunk have {first}, those of this chunk have {here}. Give all chunks "
            "as data frames, or all as arrays."
        )
    if not framed:
        if len(table.columns) != len(spec.columns):
            raise errors.ShapeError(
                f"The chunk has {len(table.columns)} columns; the first one has {len(spec.columns)}. All "
                "chunks must have the same columns."
            )
        return
    needed = pd.Index(spec.needed, tupleize_cols=False)
    positions = table.columns.get_indexer_for(needed)
    lost = needed[positions < 0]
    extra = table.columns[~table.columns.isin(needed)] if spec.kind == "frame" else needed[:0]
    if len(lost) or len(extra):
        parts = [f"lacks {listed(lost)}"] if len(lost) else []
        parts += [f"has in addition {listed(extra)}"] if len(extra) else []
        hint = " A formula, e.g. '~ a + b', picks columns out of chunks that differ." if len(extra) else ""
        raise errors.DataError(
            f"The chunk does not have the columns of the {'formula' if spec.inputs else 'first one'}: it "
            f"{' and '.join(parts)}. All chunks must have the same columns, in any order.{hint}"
        )
    if spec.model_spec is None:
        _require_numbers(table, [int(position) for position in positions])


def _require_numbers(table: Table, positions: Iterable[int]) -> None:
    """Raise ColumnTypeError unless the columns at `positions` hold real numbers."""
    if isinstance(table.values, pd.DataFrame):
        require_numbers(table.values, positions)
    else:
        numbers(table)


def _formula_spec(table: Table, reading: ReadOptions) -> Spec:
    """Return the spec of a formula, which is evaluated on some rows; its terms must not learn from them."""
    formula = reading.formula
    if not isinstance(table.values, pd.DataFrame):
        raise errors.FormulaError(
            f"formula={formula!r} was given with arrays, whose columns have no names; give data frames."
        )
    frame = table.values
    parsed = formulas.parse(formula, table.columns, reading.context or {}, reading.weights)
    if parsed.given is not None:
        raise errors.FormulaError(
            f"formula={shown(formula)} has covariates, and was given for rows in chunks. Give the covariance "
            "matrix of all columns, spca_cov(S, k, given=[...]), or rows in memory, such as a sample."
        )
    kinds = formulas.kinds_of(frame, parsed, reading.categorical)
    if parsed.plain and all(kind == "number" for kind in kinds.values()):
        positions = [parsed.lookups[term[0].text] for term in parsed.model.terms]
        return Spec("formula", table.columns[positions], formula=parsed.model.text)
    inputs, index = formulas.Inputs(frame.iloc[:TRIED], parsed.used, kinds), table.index[:TRIED]
    keep = inputs.complete_rows("drop")
    index = index if keep is None else index[keep]
    _, spec = learnt(parsed, inputs.rows(keep), table.columns, index)
    factors = {name for name in parsed.lookups if kinds[name] == "levels"}
    learning = [str(call) for call, state in spec.model_spec.states.items() if state]
    learning += [text for text in spec.model_spec.encodings if text not in factors]
    if learning:
        raise errors.FormulaError(
            f"formula={formula!r} was given for a stream of chunks; {listed(learning)} learns from rows. Use "
            "terms of single rows, such as log(a); spca(..., scale=True) standardises over all rows."
        )
    return spec


@contextmanager
def named(name: str) -> Iterator[None]:
    """Prefix errors of the package that are raised in the ``with`` block by the name of a chunk."""
    try:
        yield
    except errors.SpcaError as error:
        raise type(error)(f"{name}: {error}") from error.__cause__
