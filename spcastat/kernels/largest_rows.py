"""Choose the rows of a matrix to show when there is no room for all."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray


def leading(values: NDArray[np.float64], count: int) -> NDArray[np.intp]:
    """Return the indices of at most `count` nonzero rows of `values`, shape (p, k), in ascending order.

    If there are more, the columns take turns: each chooses the row of its largest remaining absolute entry.
    So no column looks empty because its entries are many and small.
    """
    rows = np.flatnonzero((values != 0).any(axis=1))
    if len(rows) <= count:
        return rows
    size = np.abs(np.nan_to_num(values[rows], nan=np.inf))
    order = np.argsort(-size, axis=0, kind="stable")
    place = np.empty_like(order)
    np.put_along_axis(place, order, np.arange(len(rows))[:, None], axis=0)
    place[size == 0] = len(rows)
    return rows[np.sort(np.argsort(place.min(axis=1), kind="stable")[:count])]
