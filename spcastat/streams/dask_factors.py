"""Factors in a dask data frame: their levels are taken from known categories, before rows are read."""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd

from spcastat.config import shown
from spcastat.errors import OptionError, TooFewRowsError
from spcastat.intake import ReadOptions
from spcastat.intake import formula as formulas
from spcastat.intake.checks import kind_of
from spcastat.intake.rowwise import TRIED
from spcastat.streams.read import named


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
    complete = formulas.complete_rows(head, numbers, kinds, "drop")
    rows = np.arange(len(head)) if complete is None else np.flatnonzero(complete)
    if not rows.size:
        raise TooFewRowsError(
            f"No row among the first {len(head)} of the dask data frame is complete, so that the formula "
            f"{shown(reading.formula)} cannot be tried."
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
