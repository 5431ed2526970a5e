"""Weights and factors of dask collections, which are needed before rows are read."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import pandas as pd

from spcastat.config import library_of, shown
from spcastat.errors import OptionError, TooFewRowsError, WeightsError
from spcastat.intake import ReadOptions
from spcastat.intake import formula as formulas
from spcastat.intake.checks import kind_of, read_weights
from spcastat.intake.frames import open_table, require_unique, take_weights
from spcastat.intake.model_matrix import TRIED
from spcastat.streams.read import named


def array_weights(weights: Any, data: Any) -> Any:
    """Return weights as a dask array of shape (n, 1) with the blocks of `data`, or None.

    Values in a dask collection are checked later, block by block.

    Parameters
    ----------
    weights : dask array or dask Series of shape (n,), array-like of shape (n,), or None
    data : dask.array.Array of shape (n, p)

    Raises
    ------
    WeightsError
        If the weights are not in the same blocks as the data, or if they are in memory and the numbers of
        rows are unknown.
    """
    import dask.array as da

    if weights is None:
        return None
    rows = data.chunks[0]
    unknown = bool(np.isnan(rows).any())
    if library_of(weights) != "dask":
        if unknown:
            raise WeightsError(
                f"weights of type {type(weights).__name__} were given with a dask array of unknown numbers "
                "of rows. Call x.compute_chunk_sizes() first, or give a dask array in the same chunks."
            )
        w = read_weights(weights, pd.RangeIndex(int(data.shape[0])), labelled=False)
        return da.from_array(w[:, None], chunks=(rows, (1,)))
    w = _one_axis(weights)
    if not unknown and not np.isnan(w.shape[0]):
        if w.shape[0] != data.shape[0]:
            raise WeightsError(
                f"weights has {int(w.shape[0])} values for {int(data.shape[0])} rows; one each is needed."
            )
        return w.rechunk((rows,))[:, None]
    if w.numblocks[0] != len(rows):
        raise WeightsError(
            f"weights are in {w.numblocks[0]} blocks, the rows in {len(rows)}: make both from one collection."
        )
    # Declare the chunks of the data, so that dask aligns the blocks; their lengths are checked block by
    # block.
    return da.Array(w.dask, w.name, chunks=(rows,), meta=w._meta, dtype=w.dtype)[:, None]


def frame_weights(weights: Any, data: Any) -> tuple[Any, bool]:
    """Return weights as a dask Series with the partitions of `data`, and whether they are aligned by label.

    Parameters
    ----------
    weights : dask Series or dask array of shape (n,), or None
    data : dask.dataframe.DataFrame

    Raises
    ------
    WeightsError
        If the weights are in memory or not in the same partitions as the data.
    """
    if weights is None:
        return None, False
    if library_of(weights) != "dask":
        raise WeightsError(
            f"weights of type {type(weights).__name__} were given with a dask data frame. Give the name of a "
            "column, weights='w', or a dask Series in the same partitions."
        )
    labelled = _is_series(weights)
    if not labelled:
        from dask.dataframe import from_dask_array

        weights = from_dask_array(_one_axis(weights))
    if weights.npartitions != data.npartitions:
        raise WeightsError(
            f"weights are in {weights.npartitions} partitions, the rows in {data.npartitions}; they must be "
            "in the same. Make both from one collection, or use weights.repartition(divisions=df.divisions)."
        )
    if labelled and weights.known_divisions and data.known_divisions and weights.divisions != data.divisions:
        raise WeightsError(
            "weights and rows have other divisions: use weights.repartition(divisions=df.divisions)."
        )
    return weights, labelled


def with_series(data: Any, reading: ReadOptions) -> tuple[Any, ReadOptions]:
    """Return a data frame without the column that `reading` names as weights, and that column as weights.

    Raises
    ------
    WeightsError
        If there is no such column, or it does not hold real numbers.
    """
    if not isinstance(reading.weights, str):
        return data, reading
    with named("The dask data frame"):
        table = open_table(data._meta)
        require_unique(table.columns)
        take_weights(table, reading.weights)
    left = data.drop(columns=[reading.weights])
    if reading.formula is not None:  # raises if the formula uses the column of weights
        formulas.parse(reading.formula, left._meta.columns, reading.context or {}, reading.weights)
    return left, replace(reading, weights=data[reading.weights])


def _is_series(weights: Any) -> bool:
    return hasattr(weights, "npartitions") and isinstance(getattr(weights, "_meta", None), pd.Series)


def _one_axis(weights: Any) -> Any:
    """Return a dask array or Series as a dask array with one axis."""
    import dask.array as da

    if _is_series(weights):
        return weights.to_dask_array()
    if not isinstance(weights, da.Array):
        raise WeightsError(
            f"weights of type dask {type(weights).__name__} were given; give a dask array or Series."
        )
    if weights.ndim != 1:
        raise WeightsError(f"weights is a dask array with {weights.ndim} axes; it must have one.")
    return weights


def with_levels(head: pd.DataFrame, data: Any, reading: ReadOptions) -> pd.DataFrame:
    """Return rows on which to test a formula: rows with all levels of every factor, followed by `head`.

    Parameters
    ----------
    head : DataFrame
        Some rows of `data`.
    data : dask.dataframe.DataFrame
    reading : ReadOptions
        With ``categorical="dummy"``.

    Raises
    ------
    OptionError
        For columns of text and for unknown categories; the message says how to make them known.
    TooFewRowsError
        If no row is complete.
    """
    with named("The dask data frame"):
        parsed = formulas.parse(reading.formula, head.columns, reading.context or {}, None)
    kinds = {name: kind_of(data._meta.iloc[:, position]) for name, position in parsed.used.items()}
    places = [position for name, position in parsed.used.items() if kinds[name] == "levels"]
    levels = {position: _levels(data, head.columns[position]) for position in places}
    if not levels:
        return head
    numbers = {name: position for name, position in parsed.used.items() if position not in levels}
    complete = formulas.Inputs(head, numbers, kinds).complete_rows("drop")
    rows = np.arange(len(head)) if complete is None else np.flatnonzero(complete)
    if not rows.size:
        raise TooFewRowsError(
            f"None of the first {len(head)} rows of the dask data frame is complete: drop such rows first."
        )
    most = max(len(own) for own in levels.values())
    turns = np.arange(most)
    first = head.iloc[rows[turns % rows.size]].copy()
    head = head.copy()
    for position, own in levels.items():
        dtype = pd.CategoricalDtype(own.astype(object))  # formulaic converts Arrow strings to objects
        first.isetitem(position, pd.Categorical.from_codes(turns % len(own), dtype=dtype))
        head.isetitem(position, pd.Categorical(head.iloc[:, position].astype(object), dtype=dtype))
    return pd.concat([first, head])


def _levels(data: Any, label: Any) -> pd.Index:
    """Return the levels of a column in their order."""
    column = data[label]
    called = shown(label)
    if not isinstance(column._meta.dtype, pd.CategoricalDtype):
        raise OptionError(
            f"categorical='dummy' was given, and {called} of the dask data frame holds text, whose levels "
            f"are known only once all rows are read. Use df.categorize(columns=[{called}]), which reads them."
        )
    if not column.cat.known:
        raise OptionError(
            f"categorical='dummy' was given, and the categories of {called} of the dask data frame are not "
            f"known. Use df.assign(**{{{called}: df[{called}].cat.as_known()}}), which reads that column."
        )
    own: pd.Index = column._meta.cat.categories
    if not 0 < len(own) <= TRIED:
        raise OptionError(
            f"{called} of the dask data frame has {len(own)} categories; 1 to {TRIED} can become 0/1 columns."
        )
    return own
