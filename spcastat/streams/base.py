"""Streams of chunks, passes over them, and reading of chunks as blocks of numbers.

A source must give the same rows in every pass; the numbers of rows are compared. A stream may be derived from
another stream: with a subset of its columns, or with its columns in other units.
"""

from __future__ import annotations

import os
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, replace
from functools import partial
from operator import itemgetter
from typing import Any, Generic, Self, TypeVar

import numpy as np
import pandas as pd

from spcastat import errors
from spcastat.arguments import Explained, listed, offers, plural, shown
from spcastat.errors import DataError, NoRowsError, OptionError, TooFewRowsError, WeightsError
from spcastat.labels import flat_labels
from spcastat.linalg.accumulate import Accumulator, Nothing, is_sparse
from spcastat.linalg.standardisation import Standardisation, divided
from spcastat.progress import stage
from spcastat.reading import formulas
from spcastat.reading.checks import read_weights, require_numbers, require_weight, suspicious
from spcastat.reading.design import DEFAULT_OPTIONS, ReadOptions, Spec
from spcastat.reading.frames import (
    InputTable,
    array_labels,
    checked_sparse,
    numbers,
    open_table,
    require_unique,
    take_weights,
)
from spcastat.reading.model_matrix import TRIAL_ROWS, learnt
from spcastat.reading.read import replay_table
from spcastat.streams.chunks import Chunks, holds_no_rows, named

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

    def count(self, block: RowBlock) -> None:
        """Count a block."""
        n = block.values.shape[0]
        self.rows += n
        self.dropped += block.dropped
        self.positive += n if block.weights is None else int(np.count_nonzero(block.weights))
        self.weight += float(n) if block.weights is None else float(block.weights.sum())

    def merge(self, tally: Self) -> None:
        """Add the counts of another tally."""
        self.rows += tally.rows
        self.dropped += tally.dropped
        self.positive += tally.positive
        self.weight += tally.weight

    def counts(self) -> str:
        """Return the number of rows read, for messages: ``"30 rows (2 dropped)"``."""
        dropped = f" ({self.dropped} dropped)" if self.dropped else ""
        return plural(self.rows + self.dropped, "row") + dropped

    def require_enough(self, title: str) -> None:
        """Raise TooFewRowsError or WeightsError if the stream `title` has too few rows for variances."""
        if self.rows < 2:
            reason = f" after {plural(self.dropped, 'row')} with missing values had been dropped"
            raise TooFewRowsError(
                f"{title[:1].upper()}{title[1:]} has {plural(self.rows, 'row')}"
                f"{reason if self.dropped else ''}; at least two are needed."
            )
        if self.positive < 2 or self.weight <= 1:
            raise WeightsError(
                f"The weights of the {self.rows} rows of {title} that are kept sum to {self.weight:g}, "
                f"{self.positive} of them positive; at least two must be positive, and the sum must exceed 1."
            )


@dataclass(frozen=True, eq=False)
class RowBlock:
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
    def reduce(self, begin: Callable[[], A], task: str) -> Pass[A]:
        """Pass over all rows once and accumulate sums.

        Parameters
        ----------
        begin : callable
            Creates an empty accumulator. It must be picklable (a class, or a functools.partial of one),
            because workers add up the partitions of a distributed stream and send only accumulators.
        task : str
            The purpose of the pass, for the progress display.
        """

    def blocks(self, task: str) -> Iterator[RowBlock]:
        """Iterate over all rows in their order, block by block.

        Parameters
        ----------
        task : str
            As for `reduce`.

        Raises
        ------
        NoRowsError
            For a stream that is distributed over workers.
        """
        raise NoRowsError(
            f"{task} needs rows in a fixed order; {self.title} is spread over workers: use some rows in "
            "memory."
        )

    def holds(self, path: Any) -> bool:
        """Return whether writing to `path` would change the stream."""
        return False

    def tells_files(self) -> bool:
        """Return whether the files that the rows are read from are known."""
        return False

    def spare(self, path: Any) -> None:
        """Raise OptionError if writing to `path` would change the stream.

        If the stream's files are not known, an existing file may be one of them, unless it contains no rows.
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
        raise NoRowsError(f"Scores need the rows, but {self.title} gives only sums of rows.")


# --- streams derived from others ------------------------------------------------------------------


class TransformedSums(Generic[A]):
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

    def merge(self, sums: TransformedSums[A]) -> None:
        """Add the sums of another accumulator."""
        self.inner.merge(sums.inner)


def sums_of(accumulator: Any) -> Any:
    """Return the accumulator with the sums: the innermost one, to which the outer ones pass their input."""
    while isinstance(accumulator, TransformedSums):
        accumulator = accumulator.inner
    return accumulator


class ChangedStream(Stream):
    """A stream of the rows of another stream, which a function changes before they are summed.

    Parameters
    ----------
    stream : Stream
    change : callable
        As for :class:`TransformedSums`.
    spec : Spec
    """

    def __init__(self, stream: Stream, change: Callable[[Any], Any], spec: Spec):
        self.stream, self.change, self.spec = stream, change, spec
        self.title, self.weighted = stream.title, stream.weighted
        self.local, self.anew, self.rows = stream.local, stream.anew, stream.rows

    def reduce(self, begin: Callable[[], A], task: str) -> Pass[A]:
        total = self.stream.reduce(partial(TransformedSums, begin, self.change), task)
        return Pass(total.result.inner, total.tally)


def of_columns(stream: Stream, columns: np.ndarray) -> ChangedStream:
    """Return a stream of the columns of another stream at the ascending positions `columns`, shape (m,)."""
    spec = replace(stream.spec, columns=stream.spec.columns[columns])
    return ChangedStream(stream, itemgetter((slice(None), columns)), spec)


def of_quotients(stream: Stream, exponents: np.ndarray) -> ChangedStream:
    """Return a stream of the columns of another stream, with column j divided by 2**exponents[j]."""
    return ChangedStream(stream, partial(divided, exponents=exponents), stream.spec)


# --- reading chunks -------------------------------------------------------------------------------


def spec_of(chunk: Any, reading: ReadOptions = DEFAULT_OPTIONS, name: str = "the first chunk") -> Spec:
    """Return the specification for converting chunks to columns, defined by the first chunk of a stream.

    Only names and types are used, not values, since other chunks have other values. The chunk may be empty.

    Parameters
    ----------
    chunk : DataFrame, ndarray, scipy.sparse matrix, polars or pyarrow table, of shape (m, q)
    reading : ReadOptions
    name : str
        Name of the chunk in messages.

    Returns
    -------
    Spec

    Raises
    ------
    OptionError
        For ``categorical="dummy"`` and ``codes=True``.
    FormulaError
        For a formula that cannot be read, or with terms that depend on several rows.
    DataError
        For data that are not a table of numbers; see :func:`spcastat.reading.read.read_data`.
    """
    if reading.categorical == "dummy":
        raise errors.OptionError(
            "categorical='dummy' was given for a stream of chunks: only the levels in the first chunk would "
            "be known. Make the 0/1 columns in every chunk, e.g. (chunk['c'] == 'a').astype(float), or use "
            "dask.dataframe.get_dummies(df)."
        )
    if reading.codes:
        raise errors.OptionError(
            "codes=True was given for a stream of chunks, whose categories may differ: read numbers in every "
            "chunk, e.g. chunk['c'].cat.codes, or give a data frame."
        )
    with named(name):
        table = _open(chunk)
        require_unique(table.columns)
        if isinstance(reading.weights, str):
            table, weights = take_weights(table, reading.weights)
            read_weights(weights, table.index, labelled=False)
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
    start: int = 0,
    exact: bool = True,
) -> RowBlock:
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
    start : int
        The number of rows before this chunk. Rows without labels are numbered from this number.
    exact : bool
        True for rows that are fitted: all chunks must have the same columns, or the columns of the formula.
        False for new data.

    Returns
    -------
    RowBlock

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
        index = _numbered(table.index, start)
        w = None if weights is None else read_weights(weights, index, labelled=False)
        if not len(index):
            return RowBlock(np.empty((0, len(spec.columns))), w, index)
        if is_sparse(table.values) and table.values.format == "csr":
            if exact and not suspicious(table.values):
                return RowBlock(table.values, w, index)
            table = open_table(chunk)  # by columns, to locate invalid entries
        matrix, keep = replay_table(spec, table, na, errors.FormulaError if exact else errors.NewDataError)
        if keep is None:
            return RowBlock(matrix, w, index)
        return RowBlock(matrix, None if w is None else w[keep], index[keep], int((~keep).sum()))


def _open(chunk: Any) -> InputTable:
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
            return InputTable(matrix, array_labels(p), pd.RangeIndex(n), named=False, labelled=False)
    return open_table(chunk)


def _numbered(index: pd.Index, start: int) -> pd.Index:
    """Return the labels with `start` added if they are the default 0, 1, ...; other labels unchanged."""
    default = isinstance(index, pd.RangeIndex) and index.start == 0 and index.step == 1
    return pd.RangeIndex(start, start + len(index), name=index.name) if default and start else index


def _require_columns(spec: Spec, table: InputTable) -> None:
    """Raise unless a chunk has the columns of the stream, and numbers in them."""
    framed = isinstance(table.values, pd.DataFrame)
    if spec.kind == "formula" and not framed:
        raise errors.DataError(
            f"The chunk has no column names; formula={spec.formula!r} needs them: give data frames."
        )
    if framed != (spec.kind != "array"):
        fit_names, row_names = ("names", "none") if spec.kind != "array" else ("no names", "names")
        raise errors.DataError(
            f"The columns of the first chunk have {fit_names}, those of this chunk have {row_names}. Give "
            "all chunks as data frames, or all as arrays."
        )
    if not framed:
        if len(table.columns) != len(spec.columns):
            raise errors.ShapeError(
                f"The chunk has {len(table.columns)} columns; the first one has {len(spec.columns)}. All "
                "chunks must have the same columns."
            )
        return
    if spec.kind == "frame" and table.columns.equals(spec.columns):
        _require_numbers(table, range(len(spec.columns)))
        return
    spec_columns = pd.Index(spec.required_columns, tupleize_cols=False)
    positions = table.columns.get_indexer_for(spec_columns)
    lost = spec_columns[positions < 0]
    others = ~flat_labels(table.columns).isin(flat_labels(spec_columns))
    extra = table.columns[others] if spec.kind == "frame" else spec_columns[:0]
    if len(lost) or len(extra):
        parts = [f"lacks {listed(lost)}"] if len(lost) else []
        parts += [f"has in addition {listed(extra)}"] if len(extra) else []
        hint = (
            " A formula, e.g. '~ a + b', selects columns from chunks whose columns differ."
            if len(extra)
            else ""
        )
        raise errors.DataError(
            f"The chunk does not have the columns of the {'formula' if spec.inputs else 'first one'}: it "
            f"{' and '.join(parts)}. All chunks must have the same columns, in any order.{hint}"
        )
    if spec.model_spec is None:
        _require_numbers(table, [int(position) for position in positions])


def _require_numbers(table: InputTable, positions: Iterable[int]) -> None:
    """Raise ColumnTypeError unless the columns at `positions` contain real numbers."""
    if isinstance(table.values, pd.DataFrame):
        require_numbers(table.values, positions)
    else:
        numbers(table)


def _formula_spec(table: InputTable, reading: ReadOptions) -> Spec:
    """Return the spec of a formula, after evaluating it on some rows; its terms must not learn from rows."""
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
    inputs, index = formulas.Inputs(frame.iloc[:TRIAL_ROWS], parsed.used, kinds), table.index[:TRIAL_ROWS]
    keep = inputs.complete_rows("drop")
    index = index if keep is None else index[keep]
    _, spec = learnt(parsed, inputs.rows(keep), table.columns, index)
    learning = [str(call) for call, state in spec.model_spec.states.items() if state]
    learning += list(spec.model_spec.encodings)
    if learning:
        raise errors.FormulaError(
            f"formula={formula!r} was given for a stream of chunks; {listed(learning)} is estimated from all "
            "rows. Use terms of single rows, such as log(a); spca(..., scale=True) standardises over all "
            "rows."
        )
    return spec


# --- streams that this process reads ----------------------------------------------------------------


class LocalStream(Stream):
    """A stream of the chunks of a source, read by this process.

    Parameters
    ----------
    chunks : Chunks
    reading : ReadOptions
    spec : Spec, optional
        The spec of a fit, to read the chunks as new data.

    Raises
    ------
    TooFewRowsError
        If there is no chunk.
    WeightsError
        If the weights are not n nonnegative numbers.
    """

    def __init__(self, chunks: Chunks, reading: ReadOptions = DEFAULT_OPTIONS, spec: Spec | None = None):
        self.chunks = chunks
        self.title, self.rows = chunks.title, chunks.total
        self._na = reading.na
        self._exact = spec is None
        is_column = isinstance(reading.weights, str)
        self._column = reading.weights if is_column else None
        self._weights = (
            None if is_column or reading.weights is None else _by_position(reading.weights, chunks)
        )
        self.weighted = reading.weights is not None
        self._tally: Tally | None = None
        self.spec = spec or self._learn(reading)

    def _learn(self, reading: ReadOptions) -> Spec:
        for name, chunk in self.chunks.walk(None):
            return spec_of(chunk, reading, name)
        raise TooFewRowsError(f"{self._start()} has no rows; at least two are needed.")

    @property
    def tally(self) -> Tally:
        """The counts of the first pass over the rows, which is made if necessary."""
        if self._tally is None:
            self.reduce(Nothing, "rows")
        assert self._tally is not None
        return self._tally

    @property
    def counted(self) -> int | None:
        """Number of rows used; None before the first pass."""
        return None if self._tally is None else self._tally.rows

    def blocks(self, task: str) -> Iterator[RowBlock]:
        tally, start = Tally(), 0
        with stage(task, self.chunks.total, "rows") as advance:
            for name, chunk in self.chunks.walk(self._needed()):
                block = self._read(chunk, name, start)
                rows = block.values.shape[0] + block.dropped
                start += rows
                tally.count(block)
                yield block
                advance(rows)
        if self._weights is not None and len(self._weights) != start:
            raise _other_length(len(self._weights), start, self.title)
        if self._tally is None:
            self._tally = tally
        elif (tally.rows, tally.dropped) != (self._tally.rows, self._tally.dropped):
            raise DataError(
                f"{self._start()} gave {self._tally.counts()} at first and {tally.counts()} when it was read "
                "again. It must give the same chunks each time; a function has to open its source again, "
                "e.g. lambda: pd.read_csv(path, chunksize=100_000)."
            )

    def reduce(self, begin: Callable[[], A], task: str) -> Pass[A]:
        result, tally = begin(), Tally()
        for block in self.blocks(task):
            tally.count(block)
            if block.values.shape[0]:
                result.add(block.values, block.weights)
        return Pass(result, tally)

    def scores(self, standard: Standardisation, V: np.ndarray, names: pd.Index) -> Any:
        return ScoreChunks(self, standard, V, names)

    def holds(self, path: Any) -> bool:
        return self.chunks.holds(path)

    def tells_files(self) -> bool:
        return self.chunks.tells_files

    def _read(self, chunk: Any, name: str, start: int) -> RowBlock:
        size = _rows_of(chunk)
        place = name if size is None else f"{name} ({_range(start, start + size)})"
        weights: Any = self._column
        if self._weights is not None and size is not None:
            weights = self._weights[start : start + size]
            if len(weights) < size:  # too few weights: read on, to report the number of rows at the end
                weights = np.ones(size)
        return read_block(
            self.spec, chunk, weights=weights, na=self._na, name=place, start=start, exact=self._exact
        )

    def _needed(self) -> list[str] | None:
        """Return the columns that chunks must have, or None for all."""
        spec = self.spec
        if spec.kind == "array" or (self._exact and spec.kind == "frame"):
            return None
        columns: list[Any] = spec.required_columns
        columns += [] if self._column is None else [self._column]
        return columns if all(isinstance(label, str) for label in columns) else None

    def _start(self) -> str:
        """Return the title with a capital letter, for the beginning of a sentence."""
        return self.title[:1].upper() + self.title[1:]


def _range(start: int, stop: int) -> str:
    return f"rows {start} to {stop - 1}" if stop > start else "no rows"


def _rows_of(chunk: Any) -> int | None:
    """Return the number of rows of a chunk, or None if it has no shape."""
    shape = chunk.shape if offers(chunk, "shape") else None
    return int(shape[0]) if shape else None


def _by_position(weights: Any, chunks: Chunks) -> np.ndarray:
    """Check the weights of all rows and return them; they are matched to rows by position."""
    if isinstance(weights, pd.Series) and not weights.index.equals(pd.RangeIndex(len(weights))):
        raise WeightsError(
            f"weights is a Series with labels of its own, and the rows of {chunks.title} come in chunks: "
            "weights are matched by position for such rows. Pass weights.to_numpy() in the order of the rows."
        )
    try:
        length = len(weights)
    except TypeError:
        raise WeightsError(
            f"weights of type {type(weights).__name__} were given; give one number for each row."
        ) from None
    if chunks.total is not None and length and length != chunks.total:
        raise _other_length(length, chunks.total, chunks.title)
    w = read_weights(weights, pd.RangeIndex(length), labelled=False)
    require_weight(w)
    return w


def _other_length(given: int, rows: int, title: str) -> WeightsError:
    return WeightsError(
        f"weights has {plural(given, 'value')} for {rows} rows of {title}; one is needed for each."
    )


class ScoreChunks(Explained):
    """The scores of a stream: an iterable of data frames, in the order of the rows.

    Every iteration reads the stream again, with one chunk in memory at a time. ``np.asarray(scores)`` and
    ``scores.to_frame()`` return all scores in memory.

    Parameters
    ----------
    stream : LocalStream
    standard : Standardisation
    V : ndarray of shape (p, k)
        Unit loadings.
    names : pandas.Index of length k
        Labels of the components.
    """

    def __init__(
        self, stream: LocalStream, standard: Standardisation, V: np.ndarray, names: pd.Index
    ) -> None:
        self._stream = stream
        self._standard = standard
        self._V = V
        self._names = names

    @property
    def columns(self) -> pd.Index:
        """The names of the components, length k."""
        return self._names.copy(deep=True)

    def __iter__(self) -> Iterator[pd.DataFrame]:
        for block in self._stream.blocks("scores"):
            values = self._standard.project(block.values, self._V)
            yield pd.DataFrame(values, index=block.index, columns=self.columns)

    @property
    def shape(self) -> tuple[int, int]:
        """Number of rows and of components; the rows are read if they have not been counted yet."""
        return self._stream.tally.rows, self._V.shape[1]

    def __len__(self) -> int:
        return self.shape[0]

    def __array__(self, dtype: Any = None, copy: bool | None = None) -> np.ndarray:
        return self.to_frame().to_numpy(dtype=dtype)

    def to_frame(self) -> pd.DataFrame:
        """Return all scores in one data frame of shape (n, k)."""
        chunks = [chunk for chunk in self if len(chunk)]
        return pd.concat(chunks) if chunks else pd.DataFrame(columns=self.columns, dtype=float)

    def __repr__(self) -> str:
        rows = self._stream.counted
        size = "" if rows is None else f"{rows} rows x "
        k = self._V.shape[1]
        return (
            f"Scores of {self._stream.title}, in chunks: {size}{k} component{'' if k == 1 else 's'}\n"
            "for chunk in scores: ...     data frames, one after the other\n"
            "scores.to_frame()            all of them in memory\n"
            "fit.transform_to(path)       into a Parquet file"
        )
