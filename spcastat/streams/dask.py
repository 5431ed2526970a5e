"""Arrays and data frames of dask, on any of its schedulers.

Workers sum up the partitions that they have, and a task returns only an accumulator. Accumulators are merged
in a tree on the cluster, in the order of the partitions, so that the same partitions give the same bits
whichever task ends first. Only the root of the tree is sent to the client.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any, Self

import numpy as np
import pandas as pd

from spcastat.config import library_of
from spcastat.errors import DataError, FormulaError, ShapeError
from spcastat.intake import ReadOptions, Spec
from spcastat.intake.design import PLAIN
from spcastat.operators import Standardisation
from spcastat.streams import dask_tasks as tasks
from spcastat.streams.base import A, Pass, Stream, sums_of
from spcastat.streams.dask_inputs import array_weights, frame_weights, with_levels, with_series
from spcastat.streams.prints import Print
from spcastat.streams.read import read_block, spec_of

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

    def __init__(self, data: Any, weights: Any, spec: Spec, reading: tasks.Reading):
        self.spec = spec
        self.title = reading.title
        self.weighted = weights is not None
        self._data = data
        self._weights = weights
        self._reading = reading
        self.rows = None if reading.starts is None else reading.starts[-1]
        self._framed = isinstance(data._meta, pd.DataFrame)
        self._rows: int | None = None
        self._prints: dict[int, Print] | None = None  # of the first pass; later passes are compared with them

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
        return cls(data, w, spec, tasks.Reading(by_name, reading.na, title, exact, labelled=labelled))

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
        return cls(data, w, spec, tasks.Reading(by_position, reading.na, title, exact, starts))

    def reduce(self, begin: Callable[[], A], what: str) -> Pass[A]:
        """Pass over all partitions once; see :meth:`spcastat.streams.base.Stream.reduce`.

        Raises
        ------
        SpcaError
            The error of a partition, with its name. FileError or DataError if a partition cannot be computed
            for another reason; DataError if the number of rows is not that of the first pass.
        """
        work = tasks.Summing(self._reading, begin)
        common = tasks.shared(work)
        parts = self._sums(work, common)
        found = tasks.run(parts, tasks.tree(parts, work, common), work, what)
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
        scoring = tasks.Scoring(self._reading, standard, V, names, prints=self._prints or {})
        work = tasks.carried(scoring)
        if self._framed:
            index = self._data._meta.index
            meta = pd.DataFrame(np.empty((0, len(names))), index=index[:0], columns=names)
            return self._data.map_partitions(
                tasks.score_partition, work=work, meta=meta, enforce_metadata=False, token="spcastat-scores"
            )
        rows = self._data.chunks[0]
        if self._reading.na == "drop":
            rows = (np.nan,) * len(rows)
        return self._data.map_blocks(
            tasks.score_block,
            work=work,
            chunks=(rows, (len(names),)),
            dtype=np.float64,
            meta=np.array(()),
            name=f"spcastat-scores-{scoring.token}",
        )

    def _sums(self, work: tasks.Summing[Any], common: Any) -> list[Any]:
        """Return the delayed sum of each partition."""
        data = [self._data] if self._weights is None else [self._data, self._weights]
        sent = tasks.carried(work, common)
        if self._framed:
            from dask.dataframe import map_partitions

            sums = map_partitions(
                tasks.sum_partition,
                *data,
                meta=self._data._meta.iloc[:, :0],
                enforce_metadata=False,
                token="spcastat-sum",
                work=sent,
            )
            return list(sums.to_delayed())
        from dask.array import map_blocks

        sums = map_blocks(
            tasks.sum_block,
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
        some = data.partitions[number].map_partitions(tasks.first_rows, HEAD, meta=data._meta)
        head = tasks.compute(some, f"partition {number + 1} of the {title}")
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
