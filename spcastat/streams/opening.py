"""Open data as a stream of chunks, if they come in chunks, or read files that fit into memory."""

from __future__ import annotations

import os
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd

from spcastat.errors import OptionError
from spcastat.linalg.ties import is_sparse
from spcastat.reading.design import PLAIN, ReadOptions, Spec
from spcastat.reading.textfiles import FILES

if TYPE_CHECKING:
    from spcastat.streams.base import Stream


def read_whole(data: Any) -> Any:
    """Return a file that fits into memory as a data frame; see :func:`spcastat.streams.whole.read_whole`.

    Other data are returned unchanged.
    """
    if not isinstance(data, str | os.PathLike | list | tuple):
        return data
    from spcastat.streams import whole

    return whole.read_whole(data)


def files_of(data: Any) -> Sequence[str]:
    """Return the files that :func:`read_whole` has read a frame from; empty for other data."""
    files: Sequence[str] = data.attrs.get(FILES, ()) if isinstance(data, pd.DataFrame) else ()
    return files


def require_apart(path: Any, files: Sequence[str]) -> None:
    """Raise OptionError if a file to be written is one of those that rows were read from."""
    if not files:
        return
    from spcastat.streams.sources import is_among

    if is_among(path, files):
        raise OptionError(
            f"path={str(path)!r} was given, which is where the rows were read from; give another."
        )


def open_stream(data: Any, reading: ReadOptions = PLAIN, spec: Spec | None = None) -> Stream | None:
    """Open data that come in chunks; None for others. See :func:`spcastat.streams.recognise.open_chunks`."""
    plain = isinstance(data, pd.DataFrame) or is_sparse(data)
    if plain or (type(data) is np.ndarray and data.base is None):
        return None  # saves the imports below for data in memory
    from spcastat.streams import recognise

    return recognise.open_chunks(data, reading, spec)
