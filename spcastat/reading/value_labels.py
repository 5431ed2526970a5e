"""Categories as numbers: the numbers of value labels in files of SPSS and Stata, or their positions."""

from __future__ import annotations

from collections.abc import Hashable, Mapping, Sequence
from dataclasses import replace
from typing import Any

import numpy as np
import pandas as pd

from spcastat.arguments import listed, shown, warn
from spcastat.errors import ColumnTypeError, DataWarning, NewDataError, OptionError
from spcastat.reading.frames import InputTable
from spcastat.reading.textfiles import VALUE_LABELS

#: Column -> category -> number.
Codes = Mapping[Hashable, Mapping[Any, float]]


def codes_of(table: InputTable, designs: Sequence[str] = (), ordered_only: bool = False) -> Codes:
    """Return column -> category -> number for columns of categories, except `designs`, which are labels.

    If `ordered_only`, columns of unordered categories get no numbers: they become indicators.

    The numbers are the ones in ``frame.attrs["variable_value_labels"]``, where `pandas.read_spss` stores
    value labels, and otherwise 1, 2, ... in the order of the categories.

    Raises
    ------
    OptionError
        For tables that are not data frames.
    ColumnTypeError
        For categories that are not text, numbers or booleans, and if only some of them have value labels.

    Warns
    -----
    DataWarning
        For three or more unordered categories in alphabetical order.
    """
    frame = table.values
    if not isinstance(frame, pd.DataFrame):
        raise OptionError(
            "codes=True was given with data that have no categories; it applies to data frames only. Leave "
            "it out."
        )
    labels = frame.attrs.get(VALUE_LABELS)
    labels = labels if isinstance(labels, Mapping) else {}
    return {
        name: _numbers_of(frame.iloc[:, j], name, labels.get(name))
        for j, (name, dtype) in enumerate(zip(table.columns, frame.dtypes, strict=True))
        if isinstance(dtype, pd.CategoricalDtype)
        and name not in designs
        and (dtype.ordered or not ordered_only)
    }


def _numbers_of(column: pd.Series, name: Hashable, labels: Any) -> dict[Any, float]:
    """Return category -> number for a column; `labels` is a mapping number -> label, if there is one."""
    categories = column.cat.categories
    strange = [c for c in categories if not isinstance(c, (str, bool, int, float, np.number, np.bool_))]
    if strange:
        raise ColumnTypeError(
            f"codes=True was given, and {shown(name)} has categories such as {shown(strange[0])}; they must "
            "be text or numbers: rename them, or turn the column into numbers."
        )
    if isinstance(labels, Mapping) and labels:
        return _labelled(categories, name, labels)
    alphabetical = not column.cat.ordered and len(categories) > 2 and list(categories) == sorted(categories)
    if alphabetical and isinstance(categories[0], str):
        order = ", ".join(map(shown, categories[:8]))
        warn(
            f"codes=True numbers the categories of {shown(name)} in the order {order}, which is "
            "alphabetical: if this order is not intended, order them, "
            f"df[{shown(name)}].cat.reorder_categories([...]).",
            DataWarning,
        )
    return {category: float(number) for number, category in enumerate(categories, 1)}


def _labelled(categories: pd.Index, name: Hashable, labels: Mapping[Any, Any]) -> dict[Any, float]:
    """Return category -> number by value labels; a category that is an unlabelled number is that number."""
    numbers = {text: float(number) for number, text in labels.items()}
    for category in categories:
        if category not in numbers:
            if isinstance(category, str):
                raise ColumnTypeError(
                    f"codes=True was given, and the category {shown(category)} of {shown(name)} is not "
                    f"one of its value labels, {listed(numbers)}: correct it, or leave out the value labels, "
                    f"df.attrs.pop({VALUE_LABELS!r})."
                )
            numbers[category] = float(category)
    return {category: numbers[category] for category in categories}


def with_numbers(table: InputTable, codes: Codes | None) -> InputTable:
    """Return the table with numbers in place of the categories, and the text, of the columns of `codes`.

    Raises
    ------
    NewDataError
        For categories that have no number.
    """
    frame = table.values
    if not codes or not isinstance(frame, pd.DataFrame):
        return table
    changed = {}
    for j, name in enumerate(table.columns):
        column = frame.iloc[:, j]
        if name not in codes or pd.api.types.is_numeric_dtype(column.dtype):
            continue
        values = column.astype(object)
        unknown = [value for value in values.dropna().unique() if value not in codes[name]]
        if unknown:
            raise NewDataError(
                f"Column {shown(name)} has categories without a number: {listed(unknown)}. Those "
                f"with one are {listed(codes[name], 12)}."
            )
        changed[j] = values.map(codes[name]).astype(float)
    if not changed:
        return table
    columns = [changed.get(j, frame.iloc[:, j]) for j in range(frame.shape[1])]
    numbers = pd.concat([column.reset_index(drop=True) for column in columns], axis=1)
    return replace(table, values=numbers.set_axis(frame.index).set_axis(frame.columns, axis=1))
