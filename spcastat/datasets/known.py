"""Shared parts of the generators: a limit on their size, and the true loadings stored with the data."""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd

from spcastat.errors import OptionError

#: Largest number of values that a generator returns (needs 1.6 GB).
MOST_NUMBERS = 100_000_000


def labelled(X: np.ndarray, V: np.ndarray, **facts: Any) -> pd.DataFrame:
    """Return `X` (n, p) as a frame with columns X1..Xp, and its true loadings `V` (p, k) in ``attrs``.

    ``attrs["loadings"]`` is a list of p rows of k numbers. pandas compares ``attrs`` with ``==`` when it
    concatenates frames, which fails for arrays, and writes them as JSON to Parquet, which loses arrays.
    """
    frame = pd.DataFrame(X, columns=[f"X{j}" for j in range(1, X.shape[1] + 1)])
    frame.attrs.update(kind="synthetic", **facts, loadings=V.tolist())
    return frame


def true_loadings(data: pd.DataFrame) -> pd.DataFrame:
    """Return the true loadings of data from a generator of this package.

    Parameters
    ----------
    data : DataFrame (n, p)
        From `make_hastie`, `make_toy` or `make_highdim`, with all columns.

    Returns
    -------
    DataFrame (p, k)
        Unit-norm columns PC1..PCk; the rows are labelled by the columns of `data`.

    Raises
    ------
    OptionError
        If `data` has no true loadings, or not as many columns as these.
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
