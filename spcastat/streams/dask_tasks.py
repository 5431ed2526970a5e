"""Tasks of dask: reading and summing partitions, merging sums in a tree, computing scores, and their errors.

Every task is a pure function of its arguments and does not change them, so that it can run again on another
worker. Only the root of the tree of merges is returned to the client.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Generic
from uuid import uuid4

import numpy as np
import pandas as pd

from spcastat.config import library_of
from spcastat.errors import DataError, FileError, SpcaError
from spcastat.intake import Spec
from spcastat.intake.checks import read_weights
from spcastat.kernels.sparsity import is_sparse
from spcastat.operators import Standardisation
from spcastat.progress import stage
from spcastat.streams.base import A, Block, Pass, Tally, sums_of
from spcastat.streams.prints import Print
from spcastat.streams.read import named, read_block


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
        found.tally.prints[number] = Print.of(block.values)
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
    prints: Mapping[int, Print] = field(default_factory=dict)

    def part(self, chunk: Any, number: int) -> tuple[np.ndarray, pd.Index]:
        """Return the scores of one partition, shape (m, k), and the labels of its rows."""
        block = self.reading.block(chunk, None, number)
        if number in self.prints and not self.prints[number].agrees(Print.of(block.values)):
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
MEETING = 64 * 1024 * 1024
#: Arguments up to this many bytes (1 MB) are sent with the task of each partition.
LIGHT = 1024 * 1024


def fan_in(work: Summing[Any]) -> int:
    """Return how many parts one task merges; fewer if they are large."""
    size = getattr(sums_of(work.begin()), "nbytes", 0)
    return FAN_IN if size == 0 else max(2, min(FAN_IN, MEETING // size))


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
    never sent between workers. If it is larger than LIGHT, it is sent once to each worker instead; `common`
    is the result of :func:`shared` for it, if there is one.
    """
    import cloudpickle

    return work if len(cloudpickle.dumps(work)) <= LIGHT else shared(work) if common is None else common


def shared(work: Work) -> Any:
    """Return `work` as an argument that all tasks have in common."""
    import cloudpickle
    from dask.delayed import delayed

    client = current_client()
    if client is not None and len(cloudpickle.dumps(work)) > 4 * LIGHT and client.ncores():
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
