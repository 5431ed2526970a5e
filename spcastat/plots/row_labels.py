"""Labels of rows in a biplot."""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd

from spcastat.config import elements, is_single, is_whole, plural, shown, whole_number
from spcastat.errors import OptionError, ShapeError
from spcastat.labels import short_name, short_names

#: Largest number of characters of the name of a row.
WIDTH = 20


def row_labels(labels: Any, index: pd.Index, distance: np.ndarray) -> list[str]:
    """Return the label of every row on a plot, "" for rows without one.

    Parameters
    ----------
    labels : int, bool, sequence or Series
        How many of the rows farthest from the centre to name; True for all; one name for each row; or a
        Series with names of some rows.
    index : Index of length n
    distance : ndarray of shape (n,)
        Distance of each row from the centre.

    Raises
    ------
    OptionError, ShapeError
        For other values, for a number of names other than that of the rows, and for a Series without labels
        of the rows.
    """
    n = len(index)
    if isinstance(labels, (bool, np.bool_)) or labels is None:
        return short_names(list(index), WIDTH) if labels else [""] * n
    if is_whole(labels):
        most = min(whole_number("labels", labels, 0), n)
        chosen = set(np.argsort(-np.nan_to_num(distance), kind="stable")[:most].tolist())
        return [name if i in chosen else "" for i, name in enumerate(short_names(list(index), WIDTH))]
    if isinstance(labels, pd.Series) and not labels.index.equals(index):
        if not labels.index.is_unique or not labels.index.isin(index).any():
            raise ShapeError(
                "labels is a Series none of whose labels is one of a row, or with labels that repeat."
            )
        return [_text(value) for value in labels.reindex(index)]
    if is_single(labels):
        raise OptionError(
            f"labels={shown(labels)} was given; it takes a number of rows, True for all, one name for each "
            "row, or a Series of names. For the variables there is variables=."
        )
    given = elements(labels, n)
    if len(given) != n:
        many = plural(len(given), "name") if len(given) < n else f"more than {n} names"
        raise ShapeError(
            f"labels has {many}; there are {n} rows. Name some of them with a Series, "
            "e.g. pd.Series({'row': 'name'})."
        )
    return [_text(value) for value in given]


def _text(value: Any) -> str:
    if not is_single(value):
        raise OptionError(f"labels holds {shown(value)}; it takes one name for each row, a text or a number.")
    missing = value is None or value is pd.NA or (isinstance(value, float) and np.isnan(value))
    return "" if missing or value == "" else short_name(value, WIDTH)
