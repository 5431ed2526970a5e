"""Streams that this process reads: the chunks of a source, checked one after the other."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any, TypeVar

import numpy as np
import pandas as pd

from spcastat.config import offers, plural
from spcastat.errors import DataError, TooFewRowsError, WeightsError
from spcastat.linalg.accumulate import Accumulator, Nothing
from spcastat.linalg.standardisation import Standardisation
from spcastat.progress import stage
from spcastat.reading.checks import read_weights, require_weight
from spcastat.reading.design import PLAIN, ReadOptions, Spec
from spcastat.streams.base import Block, Pass, Stream, Tally, read_block, spec_of
from spcastat.streams.sources import Chunks

A = TypeVar("A", bound=Accumulator)


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

    def __init__(self, chunks: Chunks, reading: ReadOptions = PLAIN, spec: Spec | None = None):
        self.chunks = chunks
        self.title, self.rows = chunks.title, chunks.total
        self._na = reading.na
        self._exact = spec is None
        named = isinstance(reading.weights, str)
        self._column = reading.weights if named else None
        self._weights = None if named or reading.weights is None else _by_position(reading.weights, chunks)
        self.weighted = reading.weights is not None
        self._tally: Tally | None = None
        self.spec = spec or self._learn(reading)

    def _learn(self, reading: ReadOptions) -> Spec:
        for name, chunk in self.chunks.walk(None):
            return spec_of(chunk, reading, name)
        raise TooFewRowsError(f"{self._start()} has no rows; at least two are needed.")

    @property
    def tally(self) -> Tally:
        """The counts of the first pass, which is made if there has been none."""
        if self._tally is None:
            self.reduce(Nothing, "rows")
        assert self._tally is not None
        return self._tally

    @property
    def counted(self) -> int | None:
        """Number of rows used; None before the first pass."""
        return None if self._tally is None else self._tally.rows

    def blocks(self, what: str) -> Iterator[Block]:
        tally, first = Tally(), 0
        with stage(what, self.chunks.total, "rows") as advance:
            for name, chunk in self.chunks.walk(self._needed()):
                block = self._read(chunk, name, first)
                rows = block.values.shape[0] + block.dropped
                first += rows
                tally.count(block)
                yield block
                advance(rows)
        if self._weights is not None and len(self._weights) != first:
            raise _other_length(len(self._weights), first, self.title)
        if self._tally is None:
            self._tally = tally
        elif (tally.rows, tally.dropped) != (self._tally.rows, self._tally.dropped):
            raise DataError(
                f"{self._start()} gave {self._tally.counts()} at first and {tally.counts()} when it was read "
                "again. It must give the same chunks: functions open their source again, e.g. "
                "lambda: pd.read_csv(path, chunksize=100_000)."
            )

    def reduce(self, begin: Callable[[], A], what: str) -> Pass[A]:
        result, tally = begin(), Tally()
        for block in self.blocks(what):
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

    def _read(self, chunk: Any, name: str, first: int) -> Block:
        size = _rows_of(chunk)
        where = name if size is None else f"{name} ({_range(first, first + size)})"
        weights: Any = self._column
        if self._weights is not None and size is not None:
            weights = self._weights[first : first + size]
            if len(weights) < size:  # too few weights: read on, to report the number of rows at the end
                weights = np.ones(size)
        return read_block(
            self.spec, chunk, weights=weights, na=self._na, name=where, first=first, exact=self._exact
        )

    def _needed(self) -> list[str] | None:
        """Return the columns that chunks must have, or None for all."""
        spec = self.spec
        if spec.kind == "array" or (self._exact and spec.kind == "frame"):
            return None
        wanted: list[Any] = spec.needed
        wanted += [] if self._column is None else [self._column]
        return wanted if all(isinstance(label, str) for label in wanted) else None

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
            "weights go by position here. Pass weights.to_numpy() in the order of the rows."
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
        f"weights has {plural(given, 'value')} for {rows} rows of {title}; one each is needed."
    )


class ScoreChunks:
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
