"""Scores of a stream: computed a chunk at a time, whenever they are walked over."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, Protocol

import numpy as np
import pandas as pd

from spcastat.operators import Standardisation
from spcastat.streams.base import Block, Tally


class Walked(Protocol):
    """What scores in chunks need of a stream: its rows in their order, and their number."""

    title: str

    @property
    def tally(self) -> Tally: ...

    @property
    def counted(self) -> int | None: ...

    def blocks(self, what: str) -> Iterator[Block]: ...


class ScoreChunks:
    """The scores of a stream: iterating over them gives data frames, in the order of the rows.

    Every walk reads the stream again; nothing but one chunk is in memory. ``np.asarray(scores)`` and
    ``scores.to_frame()`` gather all.

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

    def copy(self) -> ScoreChunks:
        """Return the same scores with labels of their own."""
        return ScoreChunks(self._stream, self._standard, self._V, self.columns.copy(deep=True))

    @property
    def shape(self) -> tuple[int, int]:
        """Rows and components; where the rows have not been counted yet, they are read for it."""
        return self._stream.tally.rows, self._V.shape[1]

    def __len__(self) -> int:
        return self.shape[0]

    def __array__(self, dtype: Any = None, copy: bool | None = None) -> np.ndarray:
        return self.to_frame().to_numpy(dtype=dtype)

    def to_frame(self) -> pd.DataFrame:
        """Gather all scores in memory, n x k."""
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
