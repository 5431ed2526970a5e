"""Large files for the command: read some thousand rows at a time, so that they need not fit into memory."""

from __future__ import annotations

import argparse
import os
from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING

from spcastat.cli.columns import Needed, columns_of
from spcastat.cli.sources import PACKED
from spcastat.config import one_line

if TYPE_CHECKING:
    import pandas as pd

#: Bytes of a file (100 MB) above which it is read in pieces; one that is packed has a quarter of that.
LARGE = 100_000_000
#: Rows that are read at once, of text.
ROWS = 20_000


class Pieces:
    """The rows of a large file: a function that opens it anew whenever it is called.

    Parameters
    ----------
    path : str
    walk : callable
        Returns a fresh iterator over data frames.
    selected : callable
        Takes the columns asked for out of a data frame.
    """

    def __init__(
        self,
        path: str,
        walk: Callable[[], Iterator[pd.DataFrame]],
        selected: Callable[[pd.DataFrame], pd.DataFrame],
    ):
        self.path = path
        self._walk, self._selected = walk, selected

    def __call__(self) -> Iterator[pd.DataFrame]:
        return (self._selected(frame) for frame in self._walk())

    @property
    def columns(self) -> pd.Index:
        """The columns asked for, by the first rows."""
        return next(self()).columns

    @property
    def __name__(self) -> str:
        """What headers and messages call it, after the words "the function"."""
        return f"that reads {one_line(os.path.basename(self.path), 60)}"


def is_large(args: argparse.Namespace) -> bool:
    """Whether a file is read in pieces: rows, and more than LARGE bytes of them."""
    if getattr(args, "in_memory", False) or getattr(args, "covariance", False):
        return False
    try:
        size = os.path.getsize(args.data)
    except OSError:
        return False
    packed = os.path.splitext(args.data)[1].lower() in PACKED
    return size > (LARGE / 4 if packed else LARGE)


def parquet_pieces(path: str, needed: Needed) -> Callable[[], Iterator[pd.DataFrame]]:
    """Return a function that walks over the needed columns of a Parquet file."""
    from spcastat.streams.parquet import ParquetChunks

    chunks = ParquetChunks(path)
    names = needed(columns_of(path))
    return lambda: (frame for _, frame in chunks.walk(names))
