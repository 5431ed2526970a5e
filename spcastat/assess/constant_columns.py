"""Columns that do not vary in some parts of the rows, and a sentence on how often that was so.

A rare 0/1 variable is constant in a half without the rows that have it. Its variance there is zero, so no
component of the half has a loading of it, and its held-out values are predicted by the mean.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import pandas as pd

from spcastat.config import listed
from spcastat.linalg.accumulate import blocks
from spcastat.linalg.operators import Operator
from spcastat.linalg.ties import is_sparse


def constant_in(part: Operator, whole: Operator) -> np.ndarray:
    """Return the places of the columns without variance in a part of the rows that vary in all rows."""
    return np.flatnonzero((part.diagonal() == 0.0) & (whole.diagonal() > 0.0))


def constant_among(X: Any, parts: Sequence[np.ndarray]) -> list[np.ndarray]:
    """Return the places of the columns that are constant in each part of the rows, but not in all rows.

    Parameters
    ----------
    X : ndarray or scipy.sparse array of shape (n, p)
        NaN for missing values.
    parts : sequence of ndarray of bool, shape (n,)
        The rows of each part.
    """
    n, p = X.shape
    columns = X.tocsc() if is_sparse(X) else X
    share = min(int(some.sum()) for some in parts) / n
    found: list[list[int]] = [[] for _ in parts]
    for block in blocks(p, n):
        own = columns[:, block]
        own = own.toarray() if is_sparse(own) else np.asarray(own, dtype=float)
        for j in np.flatnonzero(_mostly_equal(own, share)).tolist():
            x = own[:, j]
            values, counts = np.unique(x[~np.isnan(x)], return_counts=True)
            if not values.size:  # a half, without any value of the column
                continue
            other = ~np.isnan(x) & (x != values[counts.argmax()])
            for place, inside in enumerate(parts):
                if other.any() and not (other & inside).any():
                    found[place].append(block.start + j)
    return [np.array(places, dtype=int) for places in found]


#: So many rows show whether a column may have a value that nearly all rows have, within this share of them.
LOOKED_AT, WITHIN = 400, 0.2


def _mostly_equal(X: np.ndarray, share: float) -> np.ndarray:
    """Return a mask of the columns of X, shape (n, m), in which nearly this share of the values may be equal.

    Some rows at equal distances are looked at, so that continuous columns cost little.
    """
    rows = X[:: max(1, len(X) // LOOKED_AT)]
    missing = np.isnan(rows)
    ordered = np.sort(rows, axis=0)  # NaN are last
    middle = ordered[(~missing).sum(axis=0).clip(max=len(rows) - 1) // 2, np.arange(X.shape[1])]
    return np.asarray(((rows == middle) | missing).mean(axis=0) >= share - WITHIN)


def constant_remark(parts: Sequence[np.ndarray], unit: str, names: pd.Index) -> str:
    """Return a sentence on columns that are constant in some parts of the rows, "" if there are none.

    Parameters
    ----------
    parts : sequence of ndarray of int
        The places of the constant columns in each part.
    unit : str
        What the parts are, in the plural: "draws".
    names : pandas.Index of length p
    """
    times = sum(len(places) > 0 for places in parts)
    if not times:
        return ""
    places = np.unique(np.concatenate(list(parts)))
    what, it = ("a variable", "its loading is") if len(places) == 1 else ("variables", "their loadings are")
    return (
        f"In {times:,} of {len(parts):,} {unit} {what} did not vary ({listed(names[places], 3)}), so {it} "
        "zero there."
    )
