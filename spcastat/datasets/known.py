"""What the generators share: the random numbers, and the true loadings kept with the data."""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd

from spcastat.errors import OptionError

#: Numbers that a generator draws, at most (1.6 GB, with what it needs besides).
MOST_NUMBERS = 100_000_000


def labelled(X: np.ndarray, V: np.ndarray, **facts: Any) -> pd.DataFrame:
    """Return `X` (n, p) as a frame with columns X1..Xp that carries its true loadings `V` (p, k).

    ``attrs["loadings"]`` is a list of p rows of k numbers. pandas compares ``attrs`` with ``==`` when
    it concatenates and writes them as JSON into Parquet: arrays and frames would break the first and
    be lost in the second.
    """
    frame = pd.DataFrame(X, columns=[f"X{j}" for j in range(1, X.shape[1] + 1)])
    frame.attrs.update(kind="synthetic", **facts, loadings=V.tolist())
    return frame


def true_loadings(data: pd.DataFrame) -> pd.DataFrame:
    """Return the loadings that a generator of this package put into `data`.

    Parameters
    ----------
    data : DataFrame (n, p)
        Made by `make_hastie`, `make_toy` or `make_highdim`, with all its columns.

    Returns
    -------
    DataFrame (p, k)
        Unit-norm columns PC1..PCk; the rows are labelled by the columns of `data`.

    Raises
    ------
    OptionError
        If `data` carries no loadings, or some for another number of columns.
    """
    rows = data.attrs.get("loadings") if isinstance(data, pd.DataFrame) else None
    if rows is None or len(rows) != data.shape[1]:
        raise OptionError(
            "The true loadings are known for a whole data frame from make_hastie, make_toy or make_highdim "
            f"only; {type(data).__name__} given has "
            + ("none." if rows is None else f"{data.shape[1]} columns, its loadings {len(rows)}.")
        )
    names = [f"PC{j}" for j in range(1, len(rows[0]) + 1)]
    return pd.DataFrame(rows, index=data.columns, columns=names)
