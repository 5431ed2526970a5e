"""What the generators share: the random numbers, and the true loadings kept with the data."""

from __future__ import annotations

import numbers
from typing import Any

import numpy as np
import pandas as pd

from spcastat.errors import OptionError


def generator(rng: Any) -> np.random.Generator:
    """Return a NumPy generator for `rng`: None is the fixed seed 0.

    Raises
    ------
    OptionError
        If `rng` is neither None, a whole number of 0 or more, nor a ``numpy.random.Generator``.
    """
    if isinstance(rng, np.random.Generator):
        return rng
    if rng is None:
        return np.random.default_rng(0)
    if isinstance(rng, numbers.Integral) and not isinstance(rng, bool) and int(rng) >= 0:
        return np.random.default_rng(int(rng))
    raise OptionError(
        f"rng={rng!r} was given; it must be None (the fixed seed 0), a whole number of 0 or more, "
        "or a numpy.random.Generator."
    )


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
    rows = getattr(data, "attrs", {}).get("loadings")
    if rows is None or len(rows) != data.shape[1]:
        raise OptionError(
            "The true loadings are known for a whole data frame from make_hastie, make_toy or make_highdim "
            f"only; {type(data).__name__} given has "
            + ("none." if rows is None else f"{data.shape[1]} columns, its loadings {len(rows)}.")
        )
    names = [f"PC{j}" for j in range(1, len(rows[0]) + 1)]
    return pd.DataFrame(rows, index=data.columns, columns=names)
