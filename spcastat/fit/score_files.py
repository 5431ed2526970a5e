"""Write scores to a Parquet file, chunk by chunk."""

from __future__ import annotations

import os
from collections.abc import Iterable
from typing import IO, Any

import pandas as pd

from spcastat.config import one_of
from spcastat.errors import FileError, OptionError
from spcastat.fit import rows
from spcastat.fit.archive import file_path, write_file
from spcastat.fit.inputs import Source
from spcastat.fit.state import FitState
from spcastat.progress import listening
from spcastat.reading.design import ReadOptions
from spcastat.streams.arrow import require_pyarrow
from spcastat.streams.local import ScoreChunks
from spcastat.streams.opening import files_of, open_stream, read_whole, require_apart


class _OwnLabels(Exception):
    """Raised if rows have labels after rows without labels have been written."""


def transform_to(
    state: FitState,
    source: Source | None,
    path: str | os.PathLike[str],
    new: Any = None,
    na: str = "raise",
    progress: Any = False,
) -> None:
    """Write scores to a Parquet file, chunk by chunk.

    Parameters
    ----------
    path : str or path
        An existing file is replaced when the new one is complete, and is not changed if there is an error.
    new : optional
        New rows, as for `transform`; by default the rows of the fit.
    na : {"raise", "drop"}
        What to do with rows of `new` that have missing values.
    progress : bool or callable
        As for :func:`spcastat.spca`.

    Raises
    ------
    FileError
        If the file cannot be written, or rows cannot be read.
    OptionError
        If `path` is not a path or is a file that these rows or those of the fit are read from, or if pyarrow
        is not installed.
    """
    path = file_path(path)
    one_of("na", na, ("raise", "drop"))
    if source is not None:
        source.spare(path)
    stream = None if source is None else source.stream
    if new is not None:
        new = read_whole(new)
        require_apart(path, files_of(new))
        stream = open_stream(new, ReadOptions(na=na), state.spec)
    if stream is not None:
        stream.spare(path)
    if new is None:
        scores = rows.scores(state, source)
    elif stream is None:
        scores = rows.scores_of_new(state, new, na)
    else:
        scores = stream.scores(state.need_centre("transform_to()"), state.V, state.components)
    with listening(progress):
        write_scores(scores, path)


def write_scores(scores: Any, path: str | os.PathLike[str]) -> None:
    """Write scores to a Parquet file; an existing file is replaced when the new one is complete.

    Default row labels 0, 1, ... are not written, since readers of the file number the rows in the same way.

    Parameters
    ----------
    scores : DataFrame or ScoreChunks, n x k
    path : str or path

    Raises
    ------
    FileError
        If the file cannot be written, or the labels cannot be stored in it.
    OptionError
        If pyarrow is not installed, or the scores are a dask collection.
    """
    pyarrow = require_pyarrow()
    if not isinstance(scores, pd.DataFrame | ScoreChunks):
        raise OptionError(
            "The scores are a collection of dask, which writes itself: fit.scores.to_parquet(folder)."
        )
    frames: Iterable[pd.DataFrame] = [scores] if isinstance(scores, pd.DataFrame) else scores
    empty = pd.DataFrame(columns=scores.columns, index=pd.RangeIndex(0), dtype=float)
    try:
        try:
            write_file(path, lambda file: _write(file, frames, empty, labelled=False))
        except _OwnLabels:
            write_file(path, lambda file: _write(file, frames, empty, labelled=True))
    except (pyarrow.ArrowException, TypeError) as error:
        reason = " ".join(str(error).split())
        raise FileError(
            f"{path} cannot be written: {reason}. Are the labels of all rows of one simple type?"
        ) from error


def _write(file: IO[bytes], frames: Iterable[pd.DataFrame], empty: pd.DataFrame, labelled: bool) -> None:
    import pyarrow
    from pyarrow import parquet

    writer, schema, rows = None, None, 0
    try:
        for frame in frames:
            if not labelled and not frame.index.equals(pd.RangeIndex(rows, rows + len(frame))):
                raise _OwnLabels
            rows += len(frame)
            table = pyarrow.Table.from_pandas(frame, schema=schema, preserve_index=labelled)
            if writer is None:
                schema = table.schema
                writer = parquet.ParquetWriter(file, schema)
            writer.write_table(table)
        if writer is None:
            parquet.write_table(pyarrow.Table.from_pandas(empty, preserve_index=False), file)
    finally:
        if writer is not None:
            writer.close()
