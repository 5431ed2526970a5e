"""Dask collections as streams: each partition is summed up where it is, and only sums are sent on.

Tasks are pure functions of their arguments, so that they can run again on another worker. Sums are merged in
a tree, in the order of the partitions, so that the same partitions give the same bits whichever task ends
first.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from copy import deepcopy
from dataclasses import dataclass, replace
from operator import itemgetter
from typing import Any, Generic, Self

import numpy as np
import pandas as pd

from spcastat.config import library_of, shown
from spcastat.errors import (
    DataError,
    FileError,
    FormulaError,
    OptionError,
    ShapeError,
    SpcaError,
    TooFewRowsError,
    WeightsError,
)
from spcastat.linalg.standardisation import Standardisation
from spcastat.linalg.ties import is_sparse
from spcastat.progress import stage
from spcastat.reading import formula as formulas
from spcastat.reading.checks import kind_of, read_weights
from spcastat.reading.design import PLAIN, ReadOptions, Spec
from spcastat.reading.model_matrix import TRIED
from spcastat.streams.base import A, Block, Pass, Stream, Tally, named, read_block, spec_of, sums_of

#: Number of rows on which a formula is tested.
HEAD = 100
#: If the columns of an array are in several chunks, they are joined in blocks of rows of at most this many
#: bytes (128 MB, dask's default).
BLOCK_BYTES = 128 * 1024 * 1024
#: Largest number of sums that one task merges, and their largest total size in bytes (64 MB); two may exceed
#: it.
MERGED, LARGEST_MERGE = 8, 64 * 1024 * 1024
#: Arguments up to this many bytes (1 MB) are sent with the task of each partition.
LARGEST_SENT = 1024 * 1024

# --- weights --------------------------------------------------------------------------------------


def weight_parts(weights: Any, data: Any) -> list[Any] | None:
    """Return the weights of each partition of `data` as a list of delayed vectors, or None.

    The values are checked later, partition by partition.

    Parameters
    ----------
    weights : dask array or dask Series of shape (n,), or None
        If the numbers of rows of an array are known, also array-like of shape (n,).
    data : dask.array.Array or dask.dataframe.DataFrame, with n rows

    Raises
    ------
    WeightsError
        If the weights are not in the same partitions as the data, or if they are in memory and the numbers of
        rows are not known.
    """
    if weights is None:
        return None
    framed = not _is_array(data)
    rows = (np.nan,) * data.npartitions if framed else data.chunks[0]
    known = not np.isnan(rows).any()
    if library_of(weights) != "dask":
        if not known:
            raise WeightsError(
                f"weights of type {type(weights).__name__} were given with dask rows of unknown numbers: "
                "give the name of a column, weights='w', a dask Series or array in the same partitions, or "
                "use x.compute_chunk_sizes()."
            )
        import dask.array as da

        weights = da.from_array(read_weights(weights, pd.RangeIndex(data.shape[0]), labelled=False))
    labelled = framed and _is_series(weights)
    weights = weights if labelled else _one_axis(weights)
    if known and not np.isnan(weights.shape[0]):
        given, n = int(weights.shape[0]), int(data.shape[0])
        if given != n:
            raise WeightsError(f"weights has {given} values for {n} rows; one each is needed.")
        weights = weights.rechunk((rows,))
    parts = list(weights.to_delayed())
    if len(parts) != len(rows):
        raise WeightsError(
            f"weights are in {len(parts)} partitions, the rows in {len(rows)}; they must be in the same. "
            "Make both from one collection, or use weights.repartition(divisions=df.divisions)."
        )
    if labelled and weights.known_divisions and data.known_divisions and weights.divisions != data.divisions:
        raise WeightsError(
            "weights and rows have other divisions: use weights.repartition(divisions=df.divisions)."
        )
    return parts


def _is_series(weights: Any) -> bool:
    return hasattr(weights, "npartitions") and isinstance(getattr(weights, "_meta", None), pd.Series)


def _one_axis(weights: Any) -> Any:
    """Return a dask array or Series as a dask array with one axis."""
    if _is_series(weights):
        return weights.to_dask_array()
    if not _is_array(weights):
        raise WeightsError(
            f"weights of type dask {type(weights).__name__} were given; give a dask array or Series."
        )
    if weights.ndim != 1:
        raise WeightsError(f"weights is a dask array with {weights.ndim} axes; it must have one.")
    return weights


# --- factors --------------------------------------------------------------------------------------


def with_levels(head: pd.DataFrame, data: Any, reading: ReadOptions) -> pd.DataFrame:
    """Return rows on which to test a formula: rows with all levels of every factor, followed by `head`.

    Parameters
    ----------
    head : DataFrame
        Some rows of `data`.
    data : dask.dataframe.DataFrame
    reading : ReadOptions
        With ``categorical="dummy"``.

    Raises
    ------
    OptionError
        For columns of text and for unknown categories; the message says how to make them known.
    TooFewRowsError
        If no row is complete.
    """
    with named("The dask data frame"):
        parsed = formulas.parse(reading.formula, head.columns, reading.context or {}, reading.weights)
    kinds = {name: kind_of(data._meta.iloc[:, position]) for name, position in parsed.used.items()}
    places = [position for name, position in parsed.used.items() if kinds[name] == "levels"]
    levels = {position: _levels(data, head.columns[position]) for position in places}
    if not levels:
        return head
    numbers = {name: position for name, position in parsed.used.items() if position not in levels}
    complete = formulas.Inputs(head, numbers, kinds).complete_rows("drop")
    rows = np.arange(len(head)) if complete is None else np.flatnonzero(complete)
    if not rows.size:
        raise TooFewRowsError(
            f"None of the first {len(head)} rows of the dask data frame is complete: drop such rows first."
        )
    most = max(len(own) for own in levels.values())
    turns = np.arange(most)
    first = head.iloc[rows[turns % rows.size]].copy()
    head = head.copy()
    for position, own in levels.items():
        dtype = pd.CategoricalDtype(own.astype(object))  # formulaic converts Arrow strings to objects
        first.isetitem(position, pd.Categorical.from_codes(turns % len(own), dtype=dtype))
        head.isetitem(position, pd.Categorical(head.iloc[:, position].astype(object), dtype=dtype))
    return pd.concat([first, head])


def _levels(data: Any, label: Any) -> pd.Index:
    """Return the levels of a column in their order."""
    column = data[label]
    called = shown(label)
    if not isinstance(column._meta.dtype, pd.CategoricalDtype):
        raise OptionError(
            f"categorical='dummy' was given, and {called} of the dask data frame holds text, whose levels "
            f"are known only once all rows are read. Use df.categorize(columns=[{called}]), which reads them."
        )
    if not column.cat.known:
        raise OptionError(
            f"categorical='dummy' was given, and the categories of {called} of the dask data frame are not "
            f"known. Use df.assign(**{{{called}: df[{called}].cat.as_known()}}), which reads that column."
        )
    own: pd.Index = column._meta.cat.categories
    if not 0 < len(own) <= TRIED:
        raise OptionError(
            f"{called} of the dask data frame has {len(own)} categories; 1 to {TRIED} can become 0/1 columns."
        )
    return own


# --- tasks ----------------------------------------------------------------------------------------


@dataclass(frozen=True, eq=False)
class Reading:
    """How partitions are converted to blocks.

    Attributes
    ----------
    spec : Spec
    na : {"raise", "drop"}
    title : str
        Name of the collection in messages.
    exact : bool
        Whether a partition may have only the columns of `spec`.
    starts : tuple of int, or None
        The number of rows before each partition and, as the last element, of all rows; None if unknown.
    column : str or None
        The column of weights.
    labelled : bool
        Whether the weights of a partition are aligned with its rows by label.
    """

    spec: Spec
    na: str
    title: str
    exact: bool = True
    starts: tuple[int, ...] | None = None
    column: str | None = None
    labelled: bool = False

    def name(self, number: int) -> str:
        """Return the name of partition `number`, from 0, in messages."""
        name = f"partition {number + 1} of the {self.title}"
        if self.starts is None or self.starts[number] == self.starts[number + 1]:
            return name
        return f"{name} (rows {self.starts[number]} to {self.starts[number + 1] - 1})"

    def block(self, chunk: Any, weights: Any, number: int) -> Block:
        """Check a partition and its weights; see :func:`spcastat.streams.base.read_block`."""
        name = self.name(number)
        first = 0 if self.starts is None else self.starts[number]
        if weights is not None and self.labelled:
            with named(name):
                weights = read_weights(weights, chunk.index, labelled=True)
        weights = self.column if weights is None else weights
        return read_block(
            self.spec, chunk, weights=weights, na=self.na, name=name, first=first, exact=self.exact
        )


class Summing(Generic[A]):
    """How partitions are summed up: read by `reading`, into an accumulator that `begin` creates."""

    def __init__(self, reading: Reading, begin: Callable[[], A]):
        self.reading, self.begin = reading, begin

    def part(self, chunk: Any, weights: Any, number: int) -> list[Pass[A]]:
        """Sum up partition `number`, as a list of one, since partitions of a dask bag are lists."""
        found = Pass(self.begin(), Tally())
        block = self.reading.block(chunk, weights, number)
        if block.values.shape[0]:
            found.result.add(_compact(block.values), block.weights)
        found.tally.count(block)
        return [_packed(found)]


def merged(parts: Iterable[Pass[A]]) -> Pass[A]:
    """Merge sums in their order; they are not changed."""
    first, *others = parts
    found = deepcopy(first)
    for part in others:
        found.result.merge(part.result)
        found.tally.merge(part.tally)
    return _packed(found)


def _packed(found: Pass[A]) -> Pass[A]:
    """Return sums with their accumulator packed, if it can be, to save memory and transfer."""
    pack = getattr(sums_of(found.result), "pack", None)
    if pack is not None:
        pack()
    return found


def _compact(values: Any) -> Any:
    """Return a contiguous, aligned array: a copy if the rows are a slice of a larger array or not aligned.

    Rows that were sent between workers may have another memory layout, with which products are summed in
    another order. The same rows should give the same bits.
    """
    if is_sparse(values):
        return values
    flags = values.flags
    whole = flags.aligned and (flags.c_contiguous or flags.f_contiguous)
    return values if whole else np.array(values, order="K")


@dataclass(frozen=True, eq=False)
class Scoring:
    """How the scores of a partition are computed: k columns called `names`."""

    reading: Reading
    standard: Standardisation
    V: np.ndarray
    names: pd.Index

    # dask recognises the arguments `block_id` and `partition_info` of a function by their names, and sets
    # them to the position of a partition.

    def of_block(self, chunk: Any, block_id: tuple[int, int] = (0, 0)) -> np.ndarray:
        """Return the scores of a block of rows of an array, shape (m, k)."""
        return self._scores(self.reading.block(chunk, None, block_id[0]))

    def of_partition(self, chunk: Any, partition_info: Any = None) -> pd.DataFrame:
        """Return the scores of a partition of a data frame, labelled."""
        block = self.reading.block(chunk, None, partition_info["number"])
        return pd.DataFrame(self._scores(block), index=block.index, columns=self.names)

    def _scores(self, block: Block) -> np.ndarray:
        if not block.values.shape[0]:
            return np.empty((0, self.V.shape[1]))
        return np.asarray(self.standard.project(block.values, self.V), dtype=float)


def first_rows(chunk: pd.DataFrame, count: int) -> pd.DataFrame:
    """Return a copy of the first rows of a partition, so that the others can be freed."""
    return chunk.iloc[:count].copy()


def fan_in(begin: Callable[[], Any]) -> int:
    """Return how many sums one task merges; fewer if they are large."""
    size = getattr(sums_of(begin()), "nbytes", 0)
    return max(2, min(MERGED, LARGEST_MERGE // max(size, 1)))


def is_large(work: Summing[Any]) -> bool:
    """Whether `work` should be sent once to each worker, and not with the task of each partition."""
    import cloudpickle

    return len(cloudpickle.dumps(work)) > LARGEST_SENT


def compute(collection: Any, name: str) -> Any:
    """Compute a small collection on the user's scheduler; `name` describes it in messages.

    Raises
    ------
    SpcaError
        The error that a partition raised. FileError or DataError, with `name` in the message, if the
        collection cannot be computed for another reason.
    """
    try:
        return collection.compute()
    except (SpcaError, MemoryError):
        raise
    except Exception as error:
        lost = library_of(error) == "distributed" or isinstance(error, ConnectionError | TimeoutError)
        family = FileError if isinstance(error, OSError) and not lost else DataError
        reason = f"{type(error).__name__}: {error}" if str(error) else type(error).__name__
        raise family(f"{name} cannot be computed: {reason}") from error


# --- the stream -----------------------------------------------------------------------------------


class DaskStream(Stream):
    """The partitions of a dask array or dask data frame.

    Made by :meth:`open`.

    Parameters
    ----------
    data : dask.array.Array or dask.dataframe.DataFrame
        Each block of an array must have all columns.
    weights : list of Delayed, or None
        The weights of each partition.
    spec : Spec
    reading : Reading
        What tasks need to read a partition. Its `spec` may match columns by name where `spec` uses positions.
    """

    local = False

    def __init__(self, data: Any, weights: list[Any] | None, spec: Spec, reading: Reading):
        self.spec = spec
        self.title = reading.title
        self.weighted = weights is not None or reading.column is not None
        self._data = data
        self._weights = weights
        self._reading = reading
        self.rows = None if reading.starts is None else reading.starts[-1]
        self._rows: int | None = None  # of the first pass; later passes are compared with them

    @property
    def anew(self) -> bool:  # type: ignore[override]  # the graph shows what has been persisted
        """Whether the partitions are computed again in each pass, because they were not persisted."""
        return any(
            type(task).__name__ not in ("DataNode", "Alias", "Future")
            and (callable(task) or type(task) is tuple)
            for task in dict(self._data.__dask_graph__()).values()
        )

    @classmethod
    def open(cls, data: Any, reading: ReadOptions = PLAIN, spec: Spec | None = None) -> Self:
        """Open a dask collection. Nothing is computed, unless a formula must be tested on some rows.

        Parameters
        ----------
        data : dask.array.Array or dask.dataframe.DataFrame, of shape (n, q)
            An array may have any chunks, with unknown numbers of rows. Its blocks may be sparse.
        reading : ReadOptions
            Only the names that the formula uses are sent to the workers. Weights are a dask array or Series
            with the same partitions. For an array with known numbers of rows they can also be array-like of
            shape (n,). A Series is aligned with a data frame by label; everything else is matched by
            position.
        spec : Spec, optional
            The columns of an earlier fit, to be used instead of those of the data.

        Raises
        ------
        OptionError, FormulaError, DataError
            As :func:`spcastat.streams.base.spec_of`; also for other collections of dask.
        WeightsError
            If the weights have other partitions than the data.
        """
        if _is_frame(data):
            return cls._open_frame(data, reading, spec)
        if not _is_array(data):
            raise DataError(f"{library_of(data)} {type(data).__name__} was given; {_ALLOWED}")
        return cls._open_array(data, reading, spec)

    @classmethod
    def _open_frame(cls, data: Any, reading: ReadOptions, spec: Spec | None) -> Self:
        title = "dask data frame"
        exact = spec is None
        if spec is None:
            # Columns of objects may hold numbers or text: some rows must be read.
            known = reading.formula is None and not any(dtype.kind == "O" for dtype in data.dtypes)
            head = data._meta if known else _head(data, title)
            dummies = reading.categorical == "dummy" and reading.formula is not None
            if dummies:
                head = with_levels(head, data, reading)
            spec = spec_of(head, reading, f"The {title}", levels=dummies)
            _require_portable(spec)
        by_name = spec
        if spec.kind == "array":
            # Warns once, here, that columns are matched by position; partitions are then read by name.
            read_block(spec, data._meta_nonempty, na=reading.na, name=f"The {title}", exact=False)
            by_name = Spec("frame", data.columns if spec.positions is None else data.columns[spec.positions])
        needed = by_name.needed
        if not set(needed) <= set(data.columns):
            # Raises the error now rather than when the scores are computed.
            wanted = Spec("frame", pd.Index(needed, tupleize_cols=False))
            read_block(wanted, data._meta_nonempty, na=reading.na, name=f"The {title}", exact=False)
        by_column = isinstance(reading.weights, str)
        column, weights = (reading.weights, None) if by_column else (None, reading.weights)
        needed = needed if column is None else [*needed, column]
        if set(needed) < set(data.columns):
            data = data[needed]
        w = weight_parts(weights, data)
        labelled = _is_series(weights)
        return cls(data, w, spec, Reading(by_name, reading.na, title, exact, None, column, labelled))

    @classmethod
    def _open_array(cls, data: Any, reading: ReadOptions, spec: Spec | None) -> Self:
        title = "dask array"
        data = _whole_rows(data)
        exact = spec is None
        head = np.empty((0, data.shape[1]), dtype=data.dtype)
        if spec is None:
            spec = spec_of(head, reading, f"The {title}")
        by_position = spec
        if not exact:
            # Warns once, here, that named columns are matched by position.
            one = np.zeros((1, data.shape[1]), dtype=data.dtype)
            read_block(spec, one, na=reading.na, name=f"The {title}", exact=False)
            by_position = replace(spec, kind="array")
        rows = data.chunks[0]
        starts = None
        if not np.isnan(rows).any():
            starts = tuple(int(start) for start in np.cumsum([0, *rows]))
        w = weight_parts(reading.weights, data)
        return cls(data, w, spec, Reading(by_position, reading.na, title, exact, starts))

    def reduce(self, begin: Callable[[], A], what: str) -> Pass[A]:
        """Pass over all partitions once; see :meth:`spcastat.streams.base.Stream.reduce`.

        Raises
        ------
        SpcaError
            The error that a partition raised; its message names the partition. FileError or DataError if a
            partition cannot be computed for another reason; DataError if the number of rows is not that of
            the first pass.
        """
        from dask import bag, delayed

        chunks = np.ravel(self._data.to_delayed())
        weights = self._weights or [None] * len(chunks)
        work: Any = Summing(self._reading, begin)
        if is_large(work):
            work = delayed(work, traverse=False)
        part = delayed(Summing.part)
        pairs = enumerate(zip(chunks, weights, strict=True))
        parts = bag.from_delayed([part(work, chunk, w, number) for number, (chunk, w) in pairs])
        # a bag reads and sums up a partition in one task, so that the rows are not sent between workers
        total = parts.reduction(itemgetter(0), merged, split_every=fan_in(begin)).to_delayed()
        with stage(what, len(chunks), "partitions") as advance:
            found: Pass[A] = compute(total, f"A partition of the {self.title}")
            advance(len(chunks))
        unpack = getattr(sums_of(found.result), "unpack", None)
        if unpack is not None:
            unpack()
        rows = found.tally.rows + found.tally.dropped
        if self._rows is not None and rows != self._rows:
            raise DataError(
                f"The {self.title} had {self._rows} rows in an earlier pass and has {rows} now. It is "
                "computed in each pass and must give the same rows; persist() it, or write it to a file."
            )
        self._rows = rows
        return found

    def scores(self, standard: Standardisation, V: np.ndarray, names: pd.Index) -> Any:
        """Return the scores as a lazy collection; nothing is computed.

        Parameters
        ----------
        standard : Standardisation
        V : ndarray of shape (p, k)
        names : pandas.Index of length k

        Returns
        -------
        dask.dataframe.DataFrame or dask.array.Array, float64
            The same kind of collection as the data. A data frame has the columns `names` and the row labels
            and divisions of the data; an array has shape (n, k), with unknown numbers of rows if rows may be
            dropped.
        """
        scoring = Scoring(self._reading, standard, V, names)
        if not _is_array(self._data):
            index = self._data._meta.index
            meta = pd.DataFrame(np.empty((0, len(names))), index=index[:0], columns=names)
            return self._data.map_partitions(scoring.of_partition, meta=meta, enforce_metadata=False)
        rows = self._data.chunks[0]
        if self._reading.na == "drop":
            rows = (np.nan,) * len(rows)
        chunks = rows, (len(names),)
        return self._data.map_blocks(scoring.of_block, chunks=chunks, dtype=np.float64, meta=np.array(()))


_ALLOWED = (
    "of the collections of dask, a dask array with two axes and a dask data frame are allowed. Use "
    "series.to_frame(), bag.to_dataframe(), or dask.dataframe.from_delayed(parts) for delayed partitions."
)


def _is_array(data: Any) -> bool:
    import dask.array

    return isinstance(data, dask.array.Array)


def _is_frame(data: Any) -> bool:
    if not type(data).__module__.startswith("dask.dataframe"):
        return False
    import dask.dataframe

    return isinstance(data, dask.dataframe.DataFrame)


def _whole_rows(data: Any) -> Any:
    """Return the array with all columns in one block; blocks of rows stay the same or are split further."""
    if data.ndim != 2:
        raise ShapeError(
            f"A dask array with {data.ndim} axes was given; it must have two, rows and columns. Use "
            "x.reshape(-1, 1) for one column, or x.reshape(len(x), -1) to put further axes side by side."
        )
    if np.isnan(data.shape[1]):
        raise ShapeError(
            "A dask array with an unknown number of columns was given; call x.compute_chunk_sizes() first."
        )
    if len(data.chunks[1]) == 1:
        return data
    rows = data.chunks[0]
    if np.isnan(rows).any():
        return data.rechunk({1: -1}, method="tasks")
    most = max(1, BLOCK_BYTES // (data.shape[1] * max(data.dtype.itemsize, 1)))
    finer = tuple(min(most, int(m) - start) for m in rows for start in range(0, int(m) or 1, most))
    return data.rechunk((finer, (data.shape[1],)), method="tasks")


def _head(data: Any, title: str) -> pd.DataFrame:
    """Return the first rows of the first partition that has any."""
    head = data._meta
    for number in range(data.npartitions):
        some = data.partitions[number].map_partitions(first_rows, HEAD, meta=data._meta)
        head = compute(some, f"partition {number + 1} of the {title}")
        if len(head):
            break
    return head


def _require_portable(spec: Spec) -> None:
    """Raise FormulaError if something that a formula uses cannot be sent to a worker."""
    import cloudpickle

    for name, value in (spec.context or {}).items():
        try:
            cloudpickle.dumps(value)
        except Exception as error:
            raise FormulaError(
                f"formula={spec.formula!r} uses {name!r} of type {type(value).__name__}, which cannot be "
                f"sent to the workers of a cluster ({error}). Use a plain function or value instead."
            ) from error
