"""The tasks that run on dask workers: reading and summing partitions, merging sums, computing scores.

Every task is a pure function of its arguments and does not change them, so that it can run again on another
worker.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Generic
from uuid import uuid4

import numpy as np
import pandas as pd

from spcastat.errors import DataError
from spcastat.intake import Spec
from spcastat.intake.checks import read_weights
from spcastat.kernels.sparsity import is_sparse
from spcastat.operators import Standardisation
from spcastat.streams.base import A, Block, Pass, Tally
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
            "anew in each pass, and must give the same rows; persist() it, or write it to a file first."
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
    """What all tasks of one pass share.

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
    pack = getattr(found.result, "pack", None)
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


def merge_parts(work: Summing[A], parts: Sequence[Pass[A]]) -> Pass[A]:
    """Merge the sums of several partitions."""
    return work.merged(parts)


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
