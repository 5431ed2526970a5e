"""Which rows are named, and how."""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd

from spcastat.config import elements, is_single, is_whole, plural, shown
from spcastat.errors import OptionError, ShapeError
from spcastat.labels import short_name, short_names

#: Characters of the name of a row.
WIDTH = 20

#: A number of rows to name, at most.
MOST_ROWS = 1_000_000_000


def row_labels(labels: Any, index: pd.Index, distance: np.ndarray) -> list[str]:
    """Return the name of every row on a plot, "" for those without one.

    Parameters
    ----------
    labels : int, bool, sequence or Series
        A number of the farthest; all; one for each row; or those of the rows that a Series has.
    index : Index of length n
    distance : ndarray of shape (n,)
        Of each row from the centre.

    Raises
    ------
    OptionError, ShapeError
        Neither of these; another number of names than rows; no row that has the labels of the Series.
    """
    n = len(index)
    if isinstance(labels, (bool, np.bool_)) or labels is None:
        return short_names(list(index), WIDTH) if labels else [""] * n
    if is_whole(labels):
        if not 0 <= labels <= MOST_ROWS:
            raise OptionError(
                f"labels={shown(labels)} was given; it must be from 0 to {MOST_ROWS}, or True for all rows."
            )
        chosen = set(np.argsort(-np.nan_to_num(distance), kind="stable")[: int(labels)].tolist())
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
