"""Dask collections: their inputs, the tasks for their workers, and their streams.

Every task is a pure function of its arguments and does not change them, so that it can run again on another
worker. A task sums up the partitions that a worker has, and returns only an accumulator. Accumulators are
merged in a tree on the cluster, in the order of the partitions, so that the same partitions give the same
bits whichever task ends first. Only the root of the tree is sent to the client.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, Generic, Self
from uuid import uuid4

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
from spcastat.reading.frames import open_table, require_unique, take_weights
from spcastat.reading.model_matrix import TRIED
from spcastat.streams.base import A, Block, PartitionSums, Pass, Stream, Tally, sums_of
from spcastat.streams.read import named, read_block, spec_of

# --- inputs ---------------------------------------------------------------------------------------


def array_weights(weights: Any, data: Any) -> Any:
    """Return weights as a dask array of shape (n, 1) with the blocks of `data`, or None.

    Values in a dask collection are checked later, block by block.

    Parameters
    ----------
    weights : dask array or dask Series of shape (n,), array-like of shape (n,), or None
    data : dask.array.Array of shape (n, p)

    Raises
    ------
    WeightsError
        If the weights are not in the same blocks as the data, or if they are in memory and the numbers of
        rows are unknown.
    """
    import dask.array as da

    if weights is None:
        return None
    rows = data.chunks[0]
    unknown = bool(np.isnan(rows).any())
    if library_of(weights) != "dask":
        if unknown:
            raise WeightsError(
                f"weights of type {type(weights).__name__} were given with a dask array of unknown numbers "
                "of rows. Call x.compute_chunk_sizes() first, or give a dask array in the same chunks."
            )
        w = read_weights(weights, pd.RangeIndex(int(data.shape[0])), labelled=False)
        return da.from_array(w[:, None], chunks=(rows, (1,)))
    w = _one_axis(weights)
    if not unknown and not np.isnan(w.shape[0]):
        if w.shape[0] != data.shape[0]:
            raise WeightsError(
                f"weights has {int(w.shape[0])} values for {int(data.shape[0])} rows; one each is needed."
            )
        return w.rechunk((rows,))[:, None]
    if w.numblocks[0] != len(rows):
        raise WeightsError(
            f"weights are in {w.numblocks[0]} blocks, the rows in {len(rows)}: make both from one collection."
        )
    # Declare the chunks of the data, so that dask aligns the blocks; their lengths are checked block by
    # block.
    return da.Array(w.dask, w.name, chunks=(rows,), meta=w._meta, dtype=w.dtype)[:, None]


def frame_weights(weights: Any, data: Any) -> tuple[Any, bool]:
    """Return weights as a dask Series with the partitions of `data`, and whether they are aligned by label.

    Parameters
    ----------
    weights : dask Series or dask array of shape (n,), or None
    data : dask.dataframe.DataFrame

    Raises
    ------
    WeightsError
        If the weights are in memory or not in the same partitions as the data.
    """
    if weights is None:
        return None, False
    if library_of(weights) != "dask":
        raise WeightsError(
            f"weights of type {type(weights).__name__} were given with a dask data frame. Give the name of a "
            "column, weights='w', or a dask Series in the same partitions."
        )
    labelled = _is_series(weights)
    if not labelled:
        from dask.dataframe import from_dask_array

        weights = from_dask_array(_one_axis(weights))
    if weights.npartitions != data.npartitions:
        raise WeightsError(
            f"weights are in {weights.npartitions} partitions, the rows in {data.npartitions}; they must be "
            "in the same. Make both from one collection, or use weights.repartition(divisions=df.divisions)."
        )
    if labelled and weights.known_divisions and data.known_divisions and weights.divisions != data.divisions:
        raise WeightsError(
            "weights and rows have other divisions: use weights.repartition(divisions=df.divisions)."
        )
    return weights, labelled


def with_series(data: Any, reading: ReadOptions) -> tuple[Any, ReadOptions]:
    """Return a data frame without the column that `reading` names as weights, and that column as weights.

    Raises
    ------
    WeightsError
        If there is no such column, or it does not hold real numbers.
    """
    if not isinstance(reading.weights, str):
        return data, reading
    with named("The dask data frame"):
        table = open_table(data._meta)
        require_unique(table.columns)
        take_weights(table, reading.weights)
    left = data.drop(columns=[reading.weights])
    if reading.formula is not None:  # raises if the formula uses the column of weights
        formulas.parse(reading.formula, left._meta.columns, reading.context or {}, reading.weights)
    return left, replace(reading, weights=data[reading.weights])


def _is_series(weights: Any) -> bool:
    return hasattr(weights, "npartitions") and isinstance(getattr(weights, "_meta", None), pd.Series)


def _one_axis(weights: Any) -> Any:
    """Return a dask array or Series as a dask array with one axis."""
    import dask.array as da

    if _is_series(weights):
        return weights.to_dask_array()
    if not isinstance(weights, da.Array):
        raise WeightsError(
            f"weights of type dask {type(weights).__name__} were given; give a dask array or Series."
        )
    if weights.ndim != 1:
        raise WeightsError(f"weights is a dask array with {weights.ndim} axes; it must have one.")
    return weights


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
        parsed = formulas.parse(reading.formula, head.columns, reading.context or {}, None)
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
    labelled : bool
        Whether the weights of a partition are aligned with its rows by label.
    """

    spec: Spec
    na: str
    title: str
    exact: bool = True
    starts: tuple[int, ...] | None = None
    labelled: bool = False

    def name(self, number: int) -> str:
        """Return the name of partition `number`, from 0, in messages."""
        name = f"partition {number + 1} of the {self.title}"
        if self.starts is None or self.starts[number] == self.starts[number + 1]:
            return name
        return f"{name} (rows {self.starts[number]} to {self.starts[number + 1] - 1})"

    def changed(self, number: int) -> DataError:
        """Return the error for a partition whose rows have changed since the first pass."""
        return DataError(
            f"{self.name(number)} has other rows than when it was first computed. A {self.title} is computed "
            "again in each pass, and must give the same rows; persist() it, or write it to a file first."
        )

    def block(self, chunk: Any, weights: Any, number: int) -> Block:
        """Check a partition and its weights; see :func:`spcastat.streams.read.read_block`."""
        name = self.name(number)
        first = 0 if self.starts is None else self.starts[number]
        if weights is not None and self.labelled:
            with named(name):
                weights = read_weights(weights, chunk.index, labelled=True)
        return read_block(
            self.spec, chunk, weights=weights, na=self.na, name=name, first=first, exact=self.exact
        )


@dataclass(frozen=True, eq=False)
class Work:
    """The information that all tasks of one pass share.

    Attributes
    ----------
    reading : Reading
    token : str
        Unique for each pass; part of the names of its tasks.
    """

    reading: Reading
    token: str = field(default_factory=lambda: uuid4().hex, kw_only=True)

    def __dask_tokenize__(self) -> str:
        return self.token


@dataclass(frozen=True, eq=False)
class Summing(Work, Generic[A]):
    """How partitions are summed up: read by `reading`, into an accumulator that `begin` creates."""

    begin: Callable[[], A]

    def part(self, chunk: Any, weights: Any, number: int) -> Pass[A]:
        """Sum up one partition."""
        found = Pass(self.begin(), Tally())
        block = self.reading.block(chunk, weights, number)
        if block.values.shape[0]:
            found.result.add(_compact(block.values), block.weights)
        found.tally.count(block)
        found.tally.prints[number] = PartitionSums.of(block.values)
        return _packed(found)

    def merged(self, parts: Sequence[Pass[A]]) -> Pass[A]:
        """Merge parts in their order; they are not changed."""
        found = Pass(self.begin(), Tally())
        for part in parts:
            found.result.merge(part.result)
            found.tally.merge(part.tally)
        return _packed(found)


@dataclass(frozen=True, eq=False)
class Scoring(Work):
    """How the scores of a partition are computed: k columns called `names`.

    `prints` are the fingerprints of the partitions that the fit was made from; changed partitions are
    refused.
    """

    standard: Standardisation
    V: np.ndarray
    names: pd.Index
    prints: Mapping[int, PartitionSums] = field(default_factory=dict)

    def part(self, chunk: Any, number: int) -> tuple[np.ndarray, pd.Index]:
        """Return the scores of one partition, shape (m, k), and the labels of its rows."""
        block = self.reading.block(chunk, None, number)
        if number in self.prints and not self.prints[number].agrees(PartitionSums.of(block.values)):
            raise self.reading.changed(number)
        if not block.values.shape[0]:
            return np.empty((0, self.V.shape[1])), block.index
        return np.asarray(self.standard.project(block.values, self.V), dtype=float), block.index


def _packed(found: Pass[A]) -> Pass[A]:
    """Return a part with its accumulator packed, if it can be, to save memory and transfer."""
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


# dask recognises two arguments of these functions by name: it sets `block_id` and `partition_info` to the
# position of a partition among the others.


def sum_block(
    chunk: Any, weights: Any = None, *, work: Summing[A], block_id: tuple[int, int] = (0, 0)
) -> Pass[A]:
    """Sum up a block of rows of an array; `weights` has shape (m, 1)."""
    return work.part(chunk, None if weights is None else np.asarray(weights)[:, 0], block_id[0])


def sum_partition(
    chunk: Any, weights: Any = None, *, work: Summing[A], partition_info: Any = None
) -> Pass[A]:
    """Sum up a partition of a data frame."""
    return work.part(chunk, weights, partition_info["number"])


def score_block(chunk: Any, *, work: Scoring, block_id: tuple[int, int] = (0, 0)) -> np.ndarray:
    """Return the scores of a block of rows of an array, shape (m, k)."""
    return work.part(chunk, block_id[0])[0]


def score_partition(chunk: Any, *, work: Scoring, partition_info: Any = None) -> pd.DataFrame:
    """Return the scores of a partition of a data frame, labelled."""
    values, index = work.part(chunk, partition_info["number"])
    return pd.DataFrame(values, index=index, columns=work.names)


def first_rows(chunk: pd.DataFrame, count: int) -> pd.DataFrame:
    """Return a copy of the first rows of a partition, so that the others can be freed."""
    return chunk.iloc[:count].copy()


#: Largest number of parts that one task merges.
FAN_IN = 8
#: Largest total size, in bytes (64 MB), of the parts that one task merges; two parts may exceed it.
LARGEST_MERGE = 64 * 1024 * 1024
#: Arguments up to this many bytes (1 MB) are sent with the task of each partition.
LARGEST_SENT = 1024 * 1024


def fan_in(work: Summing[Any]) -> int:
    """Return how many parts one task merges; fewer if they are large."""
    size = getattr(sums_of(work.begin()), "nbytes", 0)
    return FAN_IN if size == 0 else max(2, min(FAN_IN, LARGEST_MERGE // size))


def tree(parts: list[Any], work: Summing[Any], common: Any) -> Any:
    """Return the delayed merge of all delayed `parts` by a tree, in their order whichever ends first.

    `common` is `work` as :func:`shared` returns it.
    """
    from dask import annotate
    from dask.delayed import delayed

    many = fan_in(work)
    merge = delayed(Summing.merged, pure=False)
    level = 0
    while level == 0 or len(parts) > 1:
        groups = [parts[start : start + many] for start in range(0, len(parts), many)]
        with annotate(priority=level + 1):  # merge first, so that sums of partitions do not pile up
            parts = [
                merge(common, group, dask_key_name=f"spcastat-merge-{work.token}-{level}-{place}")
                for place, group in enumerate(groups)
            ]
        level += 1
    return parts[0]


def carried(work: Work, common: Any = None) -> Any:
    """Return `work` as an argument for the tasks of partitions.

    `work` is sent with each task, so that dask can fuse reading and summing into one task, and partitions are
    never sent between workers. If it is larger than LARGEST_SENT, it is sent once to each worker instead;
    `common` is the result of :func:`shared` for it, if there is one.
    """
    import cloudpickle

    return (
        work if len(cloudpickle.dumps(work)) <= LARGEST_SENT else shared(work) if common is None else common
    )


def shared(work: Work) -> Any:
    """Return `work` as an argument that all tasks have in common."""
    import cloudpickle
    from dask.delayed import delayed

    client = current_client()
    if client is not None and len(cloudpickle.dumps(work)) > 4 * LARGEST_SENT and client.ncores():
        # In the graph it would make dask warn of its size, with advice that does not apply.
        return client.scatter(work, hash=False, broadcast=True)
    return delayed(work, name=f"spcastat-work-{work.token}")


def run(parts: list[Any], root: Any, work: Summing[A], what: str) -> Pass[A]:
    """Compute the root of a tree on the user's scheduler, and report progress in partitions.

    Parameters
    ----------
    parts : list of Delayed
        The sum of each partition.
    root : Delayed
        From :func:`tree`.
    work : Summing
    what : str
        The purpose of the pass, for the progress display.

    Raises
    ------
    SpcaError
        The error of a partition, with its name. FileError or DataError if a partition cannot be computed for
        another reason.
    """
    with stage(what, len(parts), "partitions") as advance:
        client = current_client()
        if client is None:
            return _locally(parts, root, work, advance)
        return _on_cluster(client, parts, root, work, advance)


def compute(collection: Any, name: str) -> Any:
    """Compute a small collection; `name` describes it in messages.

    Raises
    ------
    SpcaError
        As :func:`run`.
    """
    try:
        return collection.compute()
    except (SpcaError, MemoryError):
        raise
    except Exception as error:
        raise failure(error, name) from error


def current_client() -> Any:
    """Return the client of dask.distributed that computes by default, or None.

    Also None inside a task on a worker, where dask's own compute() must be used so that other tasks can run.
    """
    from dask.base import get_scheduler

    distributed = sys.modules.get("distributed")
    owner = getattr(get_scheduler(), "__self__", None)
    if distributed is None or not isinstance(owner, distributed.Client):
        return None
    try:
        distributed.get_worker()
    except ValueError:
        return owner
    return None


def _on_cluster(
    client: Any, parts: list[Any], root: Any, work: Summing[A], advance: Callable[[int], None]
) -> Pass[A]:
    from distributed import as_completed

    *waiting, last = client.compute([*parts, root])
    numbers = {future.key: number for number, future in enumerate(waiting)}
    try:
        for future in as_completed(waiting):
            if future.status != "finished":
                _raise(future, work.reading.name(numbers[future.key]))
            # Only the merge needs this sum from here on; it is computed again if its worker is lost.
            future.release()
            advance(1)
        try:
            return last.result()
        except (SpcaError, MemoryError):
            raise
        except Exception as error:
            raise failure(error, f"The sum over the {work.reading.title}") from error
    finally:
        for future in [*waiting, last]:
            future.release()


def _raise(future: Any, name: str) -> None:
    """Raise the error of a failed future of the partition called `name`."""
    if future.status != "error":
        raise DataError(f"{name} cannot be computed: its task is {future.status} on the cluster.")
    error = future.exception()
    found = failure(error, name)
    raise found from (None if found is error else error)


def _locally(parts: list[Any], root: Any, work: Summing[A], advance: Callable[[int], None]) -> Pass[A]:
    from dask.callbacks import Callback

    sums = {part.key for part in parts}
    raised: list[BaseException] = []

    def posttask(key: Any, *_: Any) -> None:
        if key in sums:
            try:
                advance(1)
            except BaseException as error:
                raised.append(error)
                raise

    try:
        with Callback(posttask=posttask):
            return root.compute()
    except (SpcaError, MemoryError):
        raise
    except Exception as error:
        if raised:  # an error of the user's progress function
            raise
        raise failure(error, f"A partition of the {work.reading.title}") from error


def failure(error: BaseException, name: str) -> Exception:
    """Return an error of the package for an `error` in the computation of the partition called `name`."""
    if isinstance(error, (SpcaError, MemoryError)):
        return error
    distributed = library_of(error) == "distributed"
    lost = distributed or isinstance(error, (ConnectionError, TimeoutError))
    family = FileError if isinstance(error, OSError) and not lost else DataError
    reason = f"{type(error).__name__}: {error}" if str(error) else type(error).__name__
    return family(f"{name} cannot be computed: {reason}")


# --- the stream -----------------------------------------------------------------------------------


#: Number of rows on which a formula is tested.
HEAD = 100
#: If the columns of an array are in several chunks, they are joined in blocks of rows of at most this many
#: bytes (128 MB, dask's default).
BLOCK_BYTES = 128 * 1024 * 1024


class DaskStream(Stream):
    """The partitions of a dask array or dask data frame.

    Made by :meth:`open`.

    Parameters
    ----------
    data : dask.array.Array or dask.dataframe.DataFrame
        Each block of an array must have all columns.
    weights : dask.array.Array of shape (n, 1), dask.dataframe.Series, or None
        With the same partitions as the data.
    spec : Spec
    reading : Reading
        What tasks need to read a partition. Its `spec` may match columns by name where `spec` uses positions.
    """

    local = False

    def __init__(self, data: Any, weights: Any, spec: Spec, reading: Reading):
        self.spec = spec
        self.title = reading.title
        self.weighted = weights is not None
        self._data = data
        self._weights = weights
        self._reading = reading
        self.rows = None if reading.starts is None else reading.starts[-1]
        self._framed = isinstance(data._meta, pd.DataFrame)
        self._rows: int | None = None
        self._prints: dict[int, PartitionSums] | None = (
            None  # of the first pass; later passes are compared with them
        )

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
            As :func:`spcastat.streams.read.spec_of`; also for other collections of dask.
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
        data, reading = with_series(data, reading)
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
            by_name = Spec("frame", data.columns)
        needed = by_name.needed
        if not set(needed) <= set(data.columns):
            # Raises the error now rather than when the scores are computed.
            wanted = Spec("frame", pd.Index(needed, tupleize_cols=False))
            read_block(wanted, data._meta_nonempty, na=reading.na, name=f"The {title}", exact=False)
        elif len(needed) < len(data.columns):
            data = data[needed]
        w, labelled = frame_weights(reading.weights, data)
        return cls(data, w, spec, Reading(by_name, reading.na, title, exact, labelled=labelled))

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
        w = array_weights(reading.weights, data)
        return cls(data, w, spec, Reading(by_position, reading.na, title, exact, starts))

    def reduce(self, begin: Callable[[], A], what: str) -> Pass[A]:
        """Pass over all partitions once; see :meth:`spcastat.streams.base.Stream.reduce`.

        Raises
        ------
        SpcaError
            The error of a partition, with its name. FileError or DataError if a partition cannot be computed
            for another reason; DataError if the number of rows is not that of the first pass.
        """
        work = Summing(self._reading, begin)
        common = shared(work)
        parts = self._sums(work, common)
        found = run(parts, tree(parts, work, common), work, what)
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
        if self._prints is None:
            self._prints = found.tally.prints
        for number, one in found.tally.prints.items():
            if not self._prints[number].agrees(one):
                raise self._reading.changed(number)
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
        scoring = Scoring(self._reading, standard, V, names, prints=self._prints or {})
        work = carried(scoring)
        if self._framed:
            index = self._data._meta.index
            meta = pd.DataFrame(np.empty((0, len(names))), index=index[:0], columns=names)
            return self._data.map_partitions(
                score_partition, work=work, meta=meta, enforce_metadata=False, token="spcastat-scores"
            )
        rows = self._data.chunks[0]
        if self._reading.na == "drop":
            rows = (np.nan,) * len(rows)
        return self._data.map_blocks(
            score_block,
            work=work,
            chunks=(rows, (len(names),)),
            dtype=np.float64,
            meta=np.array(()),
            name=f"spcastat-scores-{scoring.token}",
        )

    def _sums(self, work: Summing[Any], common: Any) -> list[Any]:
        """Return the delayed sum of each partition."""
        data = [self._data] if self._weights is None else [self._data, self._weights]
        sent = carried(work, common)
        if self._framed:
            from dask.dataframe import map_partitions

            sums = map_partitions(
                sum_partition,
                *data,
                meta=self._data._meta.iloc[:, :0],
                enforce_metadata=False,
                token="spcastat-sum",
                work=sent,
            )
            return list(sums.to_delayed())
        from dask.array import map_blocks

        sums = map_blocks(
            sum_block,
            *data,
            chunks=(self._data.chunks[0], (1,)),
            dtype=object,
            meta=np.array((), dtype=object),
            name=f"spcastat-sum-{work.token}",
            work=sent,
        )
        return list(sums.to_delayed().ravel())


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
