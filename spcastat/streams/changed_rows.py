"""Streams of changed rows: sums of some columns only, or of columns in other units."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from functools import partial
from operator import itemgetter
from typing import Any, Generic

import numpy as np
import pandas as pd

from spcastat.errors import NoRowsError
from spcastat.intake import Spec
from spcastat.operators import Standardisation
from spcastat.operators.standardisation import divided
from spcastat.streams.base import A, Pass, Stream


class Within(Generic[A]):
    """An accumulator that passes part of its input on to an inner accumulator, which has the sums.

    Parameters
    ----------
    begin : callable
        Creates the inner accumulator.
    """

    def __init__(self, begin: Callable[[], A]):
        self.inner = begin()

    @property
    def nbytes(self) -> int:
        """Size of the sums in bytes; 0 if the inner accumulator does not report it."""
        return int(getattr(self.inner, "nbytes", 0))

    def merge(self, other: Within[A]) -> None:
        """Add the sums of another accumulator."""
        self.inner.merge(other.inner)

    def pack(self) -> None:
        """Pack the sums, if the inner accumulator can; see `CrossProducts.pack`."""
        getattr(self.inner, "pack", lambda: None)()

    def unpack(self) -> None:
        """Undo :meth:`pack`."""
        getattr(self.inner, "unpack", lambda: None)()


class Changed(Within[A]):
    """An accumulator of rows that a function has changed.

    Parameters
    ----------
    begin : callable
        Creates the accumulator of the changed rows.
    change : callable
        Takes and returns rows, dense or sparse of shape (n, p).
    """

    def __init__(self, begin: Callable[[], A], change: Callable[[Any], Any]):
        super().__init__(begin)
        self.change = change

    def add(self, X: Any, weights: np.ndarray | None) -> None:
        """Change rows and add them."""
        self.inner.add(self.change(X), weights)


class ChangedStream(Stream):
    """A stream of the rows of another one, which a function changes before they are summed.

    Parameters
    ----------
    stream : Stream
    change : callable
        As for :class:`Changed`.
    spec : Spec
    """

    def __init__(self, stream: Stream, change: Callable[[Any], Any], spec: Spec):
        self.stream, self.change, self.spec = stream, change, spec
        self.title, self.weighted = stream.title, stream.weighted
        self.local, self.anew = stream.local, stream.anew

    @property
    def rows(self) -> int | None:
        return self.stream.rows

    def reduce(self, begin: Callable[[], A], what: str) -> Pass[A]:
        found = self.stream.reduce(partial(Changed, begin, self.change), what)
        return Pass(found.result.inner, found.tally)

    def scores(self, standard: Standardisation, V: np.ndarray, names: pd.Index) -> Any:
        raise NoRowsError(f"Scores need the rows of {self.title} as they are.")


def of_columns(stream: Stream, columns: np.ndarray) -> ChangedStream:
    """Return a stream of the columns of another stream at the ascending positions `columns`, shape (m,)."""
    spec = replace(stream.spec, columns=stream.spec.columns[columns])
    return ChangedStream(stream, itemgetter((slice(None), columns)), spec)


def of_quotients(stream: Stream, exponents: np.ndarray) -> ChangedStream:
    """Return a stream of the columns of another one, column j divided by 2**exponents[j]."""
    return ChangedStream(stream, partial(divided, exponents=exponents), stream.spec)
