"""Scores of a stream, computed chunk by chunk whenever they are iterated over."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, Protocol

import numpy as np
import pandas as pd

from spcastat.operators import Standardisation
from spcastat.streams.base import Block, Tally


class Walked(Protocol):
    """The interface of a stream that `ScoreChunks` needs."""

    title: str

    @property
    def tally(self) -> Tally: ...

    @property
    def counted(self) -> int | None: ...

    def blocks(self, what: str) -> Iterator[Block]: ...


class ScoreChunks:
    """The scores of a stream: an iterable of data frames, in the order of the rows.

    Every iteration reads the stream again, with one chunk in memory at a time. ``np.asarray(scores)`` and
    ``scores.to_frame()`` return all scores in memory.

    Parameters
    ----------
    stream : Walked
        Such as a `LocalStream`.
    standard : Standardisation
    V : ndarray of shape (p, k)
        Unit loadings.
    names : pandas.Index of length k
        Labels of the components.
    """

    def __init__(self, stream: Walked, standard: Standardisation, V: np.ndarray, names: pd.Index):
        self._stream = stream
        self._standard = standard
        self._V = V
        self.columns = names

    def __iter__(self) -> Iterator[pd.DataFrame]:
        for block in self._stream.blocks("scores"):
            values = self._standard.project(block.values, self._V)
            yield pd.DataFrame(values, index=block.index, columns=self.columns.copy(deep=True))

    def __getattr__(self, name: str) -> Any:
        """Raise an error that tells how to get a data frame; only called for missing names."""
        raise AttributeError(f"Scores in chunks have no {name}; to_frame() returns them in one data frame.")

    def __getitem__(self, key: Any) -> Any:
        raise TypeError("Scores in chunks have no columns; to_frame() returns them in one data frame.")

    def copy(self) -> ScoreChunks:
        """Return the same scores with a copy of the column labels."""
        return ScoreChunks(self._stream, self._standard, self._V, self.columns.copy(deep=True))

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
