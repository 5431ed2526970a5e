"""Data with known answers: rows with the correlations of the pitprops, true loadings of generated data."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd

from spcastat.config import generator, whole_number
from spcastat.datasets.bundled import JEFFERS, load_pitprops
from spcastat.errors import OptionError

if TYPE_CHECKING:
    from spcastat.argument_types import Rng

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


def pitprops_sample(n: int = 180, *, rng: Rng = 0) -> pd.DataFrame:
    """Synthetic rows that have exactly the correlation matrix of the pitprops.

    For methods that need rows. Normal draws are whitened exactly and multiplied by a square root of the
    correlation matrix. The rows are not Jeffers' measurements, which were never published.

    Parameters
    ----------
    n : int, default 180
        Number of rows, at least 14, so that the thirteen centred variables have full rank.
    rng : None, int or numpy.random.Generator, default 0
        Seed or generator of the random numbers; None is the seed 0.

    Returns
    -------
    DataFrame (n, 13)
        Columns with mean 0 and standard deviation 1 (ddof = 1) whose correlation is that of
        `load_pitprops` to rounding. ``attrs["kind"]`` is "synthetic".

    Raises
    ------
    OptionError
        If `n` is below 14 or `rng` is of another type.
    """
    R = load_pitprops()
    p = len(R)
    n = whole_number("n", n, p + 1, MOST_NUMBERS // p)
    draws = generator(rng).standard_normal((n, p))
    # Orthonormal columns that are orthogonal to the constant: uncorrelated, with mean zero.
    Q = np.linalg.qr(np.column_stack([np.ones(n), draws]))[0][:, 1:]
    X = np.sqrt(n - 1.0) * Q @ np.linalg.cholesky(R.to_numpy()).T
    frame = pd.DataFrame(X, columns=R.columns)
    frame.attrs.update(
        kind="synthetic", source=f"rows drawn at random to have exactly the correlation matrix of {JEFFERS}"
    )
    return frame
