"""The door for data: rows or a covariance matrix, with the options of a call that describe them."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import fields, replace
from typing import Any, NamedTuple

import pandas as pd

from spcastat import errors
from spcastat.config import flag, nearest, shown, user_frame
from spcastat.inputs.chunk_data import open_streamed
from spcastat.inputs.covariance_data import open_covariance
from spcastat.inputs.data import Opened
from spcastat.inputs.opening import files_of, open_stream, read_whole
from spcastat.inputs.row_data import Fitted, InMemory, design_of, design_of_fit
from spcastat.inputs.scaling import column_values, mixed_of, scale_of
from spcastat.reading.checks import warn_of_row_numbers
from spcastat.reading.covariance import looks_like_covariance, refuse_covariance
from spcastat.reading.design import ReadOptions
from spcastat.streams.base import Stream


def open_rows(
    data: Any,
    reading: ReadOptions,
    center: Any = True,
    scale: Any = False,
    k: int = 1,
    blocks: Any = None,
    certain: bool = False,
    otherwise: pd.Series | None = None,
) -> Opened:
    """Read rows.

    Parameters
    ----------
    data : object
        Data of any supported kind, or `Fitted` rows, for which `reading` must be that of their fit.
    reading : ReadOptions
    center, scale
        As for :func:`spcastat.spca`.
    k : int
        Number of components, which is the default rank of the model of missing values.
    blocks : mapping, optional
        As for :func:`spcastat.spca`.
    certain : bool
        Whether the caller has said that the data are rows, and not a covariance matrix.
    otherwise : Series, optional
        For some of the rows of an analysis: the scale of columns that do not vary in them, by name.

    Raises
    ------
    DataError
        Among others, for data that look like a covariance matrix.
    """
    mixed = isinstance(scale, str) and scale == "mixed"
    reading = _in_context(reading)
    fitted = data.source if isinstance(data, Fitted) else None
    table = data.data if isinstance(data, Fitted) else read_whole(data)
    if fitted is None and not certain and reading.formula is None:
        refuse_covariance(table, bool(files_of(table)))
    stream = _stream_of(table, reading, mixed) if fitted is None else fitted.stream
    if stream is not None:
        if mixed:
            raise errors.OptionError(MIXED_IN_CHUNKS)
        if fitted is None and reading.formula is None:
            warn_of_row_numbers(None, stream.spec.columns)
        return replace(open_streamed(stream, center, scale, blocks), data=table)
    design = design_of(table, reading, mixed) if fitted is None else design_of_fit(fitted)
    if design.rows is not None:
        design.rows.require(len(design.index))
    if design.spec.partial is not None and center is not True:
        raise errors.OptionError(
            f"center={shown(center)} was given with the covariates of formula={shown(reading.formula)}; "
            "regression on them has an intercept, so that what is left has mean zero. Leave center out."
        )
    center = column_values("center", center, design.columns)
    if mixed and blocks is None:
        scale = mixed_of(design, reading, center)
    else:
        scale = scale_of(scale, blocks, design.columns)
    if otherwise is not None:
        otherwise = otherwise.reindex(design.columns, fill_value=1.0)
    rows = InMemory(table, design, reading, center, scale, k, fitted, otherwise)
    context = design.spec.context if reading.formula is not None else None
    kept = table.copy(deep=False) if isinstance(table, pd.DataFrame) else table
    return Opened(len(design.columns), rows.source, context, data=kept)


#: The message for mixed data that are not in memory.
MIXED_IN_CHUNKS = (
    "scale='mixed' was given for data that are read in chunks; it needs all rows in memory. "
    "Give a DataFrame, as pd.read_csv(path) makes it, or one of a sample of the rows."
)


def _in_context(reading: ReadOptions) -> ReadOptions:
    """Return the options with the names that a formula may use: by default those of the user's function."""
    if reading.formula is None or reading.context is not None:
        return reading
    frame = user_frame()
    return replace(reading, context={} if frame is None else {**frame.f_globals, **frame.f_locals})


def _stream_of(table: Any, reading: ReadOptions, mixed: bool) -> Stream | None:
    """Return the rows of data that are read in chunks; None for data in memory."""
    try:
        return open_stream(table, reading)
    except errors.ColumnTypeError as error:
        raise errors.OptionError(MIXED_IN_CHUNKS) if mixed else error from None


#: Names of arguments: for centre and scale; all that describe rows; all that describe a covariance matrix.
SCALING = ("center", "scale", "blocks")


ROWS = (*(one.name for one in fields(ReadOptions)), *SCALING, "passes")


COVARIANCE = ("n_obs", "mean", "sd", "scale", "blocks", "nearest", "given")


class Entered(NamedTuple):
    """Opened data, and how they were opened.

    Attributes
    ----------
    data : Opened
    covariance : bool
        Whether they are a covariance matrix.
    options : dict
        The options of the call that describe them, and the names to which a formula refers.
    """

    data: Opened
    covariance: bool
    options: dict[str, Any]


def opened(
    data: Any,
    covariance: bool | None,
    options: Mapping[str, Any],
    function: Any,
    k: int = 1,
    otherwise: pd.Series | None = None,
) -> Entered:
    """Open rows or a covariance matrix.

    Parameters
    ----------
    data : object
    covariance : bool or None
        Whether `data` is a covariance matrix; None determines it from the data.
    options : mapping
        Options of the call.
    function : callable or None
        A function all of whose further options describe the data.
    k : int
    otherwise : Series, optional
        See :func:`open_rows`.
    """
    data, certain = read_whole(data), covariance is not None
    if covariance is None:
        covariance = options.get("formula") is None and looks_like_covariance(data)
    covariance = flag("covariance", covariance)
    if not covariance and not certain and options.get("formula") is None:
        refuse_covariance(data, bool(files_of(data)))
    described = _describing(options, covariance, function)
    if covariance:
        return Entered(open_covariance(data, **described), True, described)
    scaling = {name: value for name, value in described.items() if name in SCALING}
    reading = {name: value for name, value in described.items() if name not in (*SCALING, "passes")}
    rows = open_rows(data, ReadOptions(**reading), k=k, certain=True, otherwise=otherwise, **scaling)
    if rows.context is not None:
        described = {**described, "context": rows.context}
    return Entered(rows.with_passes(described.get("passes")), False, described)


def _describing(options: Mapping[str, Any], covariance: bool, function: Any) -> dict[str, Any]:
    """Return the options that describe the data; refuse those that describe data of the other kind.

    If `function` is given, all options must describe the data.
    """
    names, others = (COVARIANCE, ROWS) if covariance else (ROWS, COVARIANCE)
    further = [name for name in options if name not in names]
    for name in further:
        if name in others:
            raise errors.UnknownOptionError(
                f"{name}= was given with {'a covariance matrix' if covariance else 'rows'}, and it describes "
                f"{'rows' if covariance else 'a covariance matrix'}; leave it out, or give "
                f"covariance={not covariance} if the data are {'rows' if covariance else 'one'}."
            )
    if function is not None and further:
        raise errors.UnknownOptionError(
            f"{function.__name__}() has no option {further[0]}; it takes {', '.join(names)}"
            f"{' for a covariance matrix' if covariance else ' for rows'}, in addition to its own options."
            f"{nearest(further[0], names)}"
        )
    return {name: value for name, value in options.items() if name in names}
