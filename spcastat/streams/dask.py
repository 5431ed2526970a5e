"""Dask data frames as streams: workers add up their own partitions and send only the sums.

Tasks are pure functions of their arguments, so that they can run again on another worker. Sums are merged in
a tree, in the order of the partitions, so that the same partitions give the same bits whichever task ends
first.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from copy import deepcopy
from dataclasses import dataclass
from operator import itemgetter
from typing import Any, Self

import numpy as np
import pandas as pd

from spcastat.arguments import library_of
from spcastat.errors import DataError, FileError, FormulaError, SpcaError, WeightsError
from spcastat.linalg.accumulate import is_sparse
from spcastat.linalg.standardisation import Standardisation
from spcastat.progress import stage
from spcastat.reading.design import DEFAULT_OPTIONS, ReadOptions, Spec
from spcastat.streams.base import A, Pass, RowBlock, Stream, Tally, read_block, spec_of, sums_of

#: Number of rows on which a formula is tested.
HEAD = 100
#: Largest number of sums that one task merges, and their largest total size in bytes (64 MB), which only two
#: sums may exceed.
MERGED, LARGEST_MERGE = 8, 64 * 1024 * 1024
#: Arguments up to this many bytes (1 MB) are sent with the task of each partition, larger ones once to each
#: worker.
LARGEST_SENT = 1024 * 1024

# --- tasks ----------------------------------------------------------------------------------------


def without_aliases(chunks: Any) -> list[Any]:
    """Return delayed partitions whose keys are keys of tasks, not aliases of these keys.

    A frame from delayed parts with ``verify_meta=False`` has aliases, and a bag of its partitions loses the
    tasks that the aliases stand for.

    Parameters
    ----------
    chunks : sequence of dask.delayed.Delayed
        The partitions of one collection.
    """
    from dask.delayed import Delayed

    chunks = list(chunks)
    graph = dict(chunks[0].__dask_graph__()) if chunks else {}
    columns = []
    for chunk in chunks:
        key = chunk.key
        while type(graph.get(key)).__name__ == "Alias":
            key = graph[key].target
        columns.append(chunk if key == chunk.key else Delayed(key, graph))
    return columns


@dataclass(frozen=True, eq=False)
class Reading:
    """Options for converting partitions to blocks.

    Attributes
    ----------
    spec : Spec
    na : {"raise", "drop"}
    title : str
        Name of the collection in messages.
    exact : bool
        Whether a partition may have only the columns of `spec`.
    weights : str or None
        The column of weights.
    """

    spec: Spec
    na: str
    title: str
    exact: bool = True
    weights: str | None = None

    def block(self, chunk: Any, number: int) -> RowBlock:
        """Check partition `number`, from 0, and its weights; see :func:`spcastat.streams.base.read_block`."""
        name = f"partition {number + 1} of the {self.title}"
        return read_block(self.spec, chunk, weights=self.weights, na=self.na, name=name, exact=self.exact)


def summed(work: tuple[Reading, Callable[[], A]], chunk: Any, number: int) -> list[Pass[A]]:
    """Read a partition, and add it to a new accumulator, which a function creates.

    The sums are returned as a list of one element, since partitions of a dask bag are lists.
    """
    reading, begin = work
    total = Pass(begin(), Tally())
    block = reading.block(chunk, number)
    if block.values.shape[0]:
        total.result.add(_compact(block.values), block.weights)
    total.tally.count(block)
    return [_packed(total)]


def merged(parts: Iterable[Pass[A]]) -> Pass[A]:
    """Merge sums in their order; they are not changed."""
    first_part, *other_parts = parts
    total = deepcopy(first_part)
    for part in other_parts:
        total.result.merge(part.result)
        total.tally.merge(part.tally)
    return _packed(total)


def _packed(total: Pass[A]) -> Pass[A]:
    """Return sums with their accumulator packed, if it has `pack`, to save memory and transfer."""
    pack = getattr(sums_of(total.result), "pack", None)
    if pack is not None:
        pack()
    return total


def _compact(values: Any) -> Any:
    """Return a contiguous, aligned array: a copy if the rows are a slice of a larger array or not aligned.

    Rows that were sent between workers may have another memory layout, which changes the order of summation
    in products. The same rows should give the same bits.
    """
    if is_sparse(values):
        return values
    flags = values.flags
    is_contiguous = flags.aligned and (flags.c_contiguous or flags.f_contiguous)
    return values if is_contiguous else np.array(values, order="K")


@dataclass(frozen=True, eq=False)
class Scoring:
    """The computation of the scores of a partition, in k columns called `names`."""

    reading: Reading
    standard: Standardisation
    V: np.ndarray
    names: pd.Index

    def of_partition(self, chunk: Any, partition_info: Any = None) -> pd.DataFrame:
        """Return the labelled scores of a partition; dask sets the argument called `partition_info`."""
        block = self.reading.block(chunk, partition_info["number"])
        scores = np.empty((0, self.V.shape[1]))
        if block.values.shape[0]:
            scores = np.asarray(self.standard.project(block.values, self.V), dtype=float)
        return pd.DataFrame(scores, index=block.index, columns=self.names)


def first_rows(chunk: pd.DataFrame, count: int) -> pd.DataFrame:
    """Return a copy of the first rows of a partition, so that the others can be freed."""
    return chunk.iloc[:count].copy()


def fan_in(begin: Callable[[], Any]) -> int:
    """Return how many sums one task merges; fewer if they are large."""
    size = getattr(sums_of(begin()), "nbytes", 0)
    return max(2, min(MERGED, LARGEST_MERGE // max(size, 1)))


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
    """The partitions of a dask data frame.

    Instances are made by :meth:`open`.

    Parameters
    ----------
    data : dask.dataframe.DataFrame
    spec : Spec
    reading : Reading
        The options that tasks need to read a partition. Its `spec` may match columns by name although `spec`
        uses positions.
    """

    local = False

    def __init__(self, data: Any, spec: Spec, reading: Reading):
        self.spec = spec
        self.title = reading.title
        self.weighted = reading.weights is not None
        self._data = data
        self._reading = reading
        self._rows: int | None = None  # number in the first pass, with which later passes are compared

    @property
    def anew(self) -> bool:  # type: ignore[override]  # the graph shows what has been persisted
        """Whether the partitions are computed again in each pass, because they were not persisted."""
        return any(
            type(task).__name__ not in ("DataNode", "Alias", "Future")
            and (callable(task) or type(task) is tuple)
            for task in dict(self._data.__dask_graph__()).values()
        )

    @classmethod
    def open(cls, data: Any, reading: ReadOptions = DEFAULT_OPTIONS, spec: Spec | None = None) -> Self:
        """Open a dask data frame. Nothing is computed, unless a formula must be tested on some rows.

        Parameters
        ----------
        data : dask.dataframe.DataFrame, of shape (n, q)
        reading : ReadOptions
            Only the names that the formula uses are sent to the workers. Weights are a column.
        spec : Spec, optional
            The columns of an earlier fit, which replace the columns of the data.

        Raises
        ------
        OptionError, FormulaError, DataError
            As :func:`spcastat.streams.base.spec_of`; also for other collections of dask.
        WeightsError
            If the weights are not a column.
        """
        if not _is_frame(data):
            raise DataError(f"{library_of(data)} {type(data).__name__} was given; {_ALLOWED}")
        title = "dask data frame"
        is_exact = spec is None
        if spec is None:
            # Columns of objects may contain numbers or text: some rows must be read.
            is_numeric = reading.formula is None and not any(dtype.kind == "O" for dtype in data.dtypes)
            spec = spec_of(data._meta if is_numeric else _head(data, title), reading, f"The {title}")
            _require_portable(spec)
        by_name = spec
        if spec.kind == "array":
            # Warns once, here, that columns are matched by position; partitions are then read by name.
            read_block(spec, data._meta_nonempty, na=reading.na, name=f"The {title}", exact=False)
            by_name = Spec("frame", data.columns if spec.positions is None else data.columns[spec.positions])
        columns = by_name.required_columns
        if not set(columns) <= set(data.columns):
            # Raises the error at once rather than when the scores are computed.
            read_spec = Spec("frame", pd.Index(columns, tupleize_cols=False))
            read_block(read_spec, data._meta_nonempty, na=reading.na, name=f"The {title}", exact=False)
        column = reading.weights
        if column is not None and not isinstance(column, str):
            raise WeightsError(
                f"weights of type {type(column).__name__} were given with a dask data frame; give the name "
                "of one of its columns: df.assign(w=...), weights='w'."
            )
        columns = columns if column is None else [*columns, column]
        if set(columns) < set(data.columns):
            data = data[columns]
        return cls(data, spec, Reading(by_name, reading.na, title, is_exact, column))

    def reduce(self, begin: Callable[[], A], task: str) -> Pass[A]:
        """Pass over all partitions once; see :meth:`spcastat.streams.base.Stream.reduce`.

        Raises
        ------
        SpcaError
            The error that a partition raised; its message names the partition. FileError or DataError if a
            partition cannot be computed for another reason; DataError if the number of rows differs from the
            first pass.
        """
        import cloudpickle
        from dask import bag, delayed

        chunks = without_aliases(np.ravel(self._data.to_delayed()))
        work: Any = self._reading, begin
        if len(cloudpickle.dumps(work)) > LARGEST_SENT:
            work = delayed(work, traverse=False)
        part = delayed(summed)
        parts = bag.from_delayed([part(work, chunk, number) for number, chunk in enumerate(chunks)])
        # a bag reads a partition and adds it up in one task, so that rows are not sent between workers
        total = parts.reduction(itemgetter(0), merged, split_every=fan_in(begin)).to_delayed()
        with stage(task, len(chunks), "partitions") as advance:
            result: Pass[A] = compute(total, f"A partition of the {self.title}")
            advance(len(chunks))
        unpack = getattr(sums_of(result.result), "unpack", None)
        if unpack is not None:
            unpack()
        rows = result.tally.rows + result.tally.dropped
        if self._rows is not None and rows != self._rows:
            raise DataError(
                f"The {self.title} had {self._rows} rows in an earlier pass and has {rows} now. It is "
                "computed in each pass and must give the same rows; persist() it, or write it to a file."
            )
        self._rows = rows
        return result

    def scores(self, standard: Standardisation, V: np.ndarray, names: pd.Index) -> Any:
        """Return the scores as a lazy collection; nothing is computed.

        Parameters
        ----------
        standard : Standardisation
        V : ndarray of shape (p, k)
        names : pandas.Index of length k

        Returns
        -------
        dask.dataframe.DataFrame, float64
            With the columns `names` and the row labels and divisions of the data.
        """
        scoring = Scoring(self._reading, standard, V, names)
        index = self._data._meta.index
        meta = pd.DataFrame(np.empty((0, len(names))), index=index[:0], columns=names)
        return self._data.map_partitions(scoring.of_partition, meta=meta, enforce_metadata=False)


_ALLOWED = (
    "the only dask collection allowed is a data frame. Use dask.dataframe.from_dask_array(x) for an array "
    "with two axes, series.to_frame(), bag.to_dataframe(), or dask.dataframe.from_delayed(parts) for "
    "delayed partitions."
)


def _is_frame(data: Any) -> bool:
    if not type(data).__module__.startswith("dask.dataframe"):
        return False
    import dask.dataframe

    return isinstance(data, dask.dataframe.DataFrame)


def _head(data: Any, title: str) -> pd.DataFrame:
    """Return the first rows of the first partition that is not empty."""
    head = data._meta
    for number in range(data.npartitions):
        rows = data.partitions[number].map_partitions(first_rows, HEAD, meta=data._meta)
        head = compute(rows, f"partition {number + 1} of the {title}")
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
