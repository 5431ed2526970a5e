"""Lists of imputations of one table, which are not rows one after another."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import pandas as pd

from spcastat.errors import DataError

#: Imputations of one table have at least this share of cells in common.
LEAST_EQUAL = 0.5
#: Rows that are compared.
MOST_ROWS = 10_000


def refuse_imputations(data: Any) -> None:
    """Raise DataError for a list of data frames that look like imputations of one table.

    They have the same columns and row labels, most of their cells are equal, and far more than in rows that
    do not belong together: cells that differ are at most half as many as between a row and the next row of
    the other frame. So chunks of equal length, whose labels are all 0, 1, ..., are not taken for imputations.
    """
    frames = list(data) if isinstance(data, list | tuple) else []
    if len(frames) < 2 or not all(isinstance(frame, pd.DataFrame) for frame in frames):
        return
    first = frames[0]
    if not all(_is_alike(first, other) for other in frames[1:]):
        return
    equal, shifted = _equal_cells(frames[:2])
    if equal < LEAST_EQUAL or 1.0 - equal > 0.5 * (1.0 - shifted) or shifted == 1.0:
        return
    n = len(first)
    raise DataError(
        f"The {len(frames)} frames have the same {n:,} row labels and {100 * equal:.0f} % equal cells, as "
        f"imputations of one table have, and stacked they would count as {len(frames) * n:,} rows. Pool "
        f"their covariance matrices: spca_cov(sum(f.cov() for f in frames) / {len(frames)}, ..., "
        f"n_obs={n}), with scale=True for correlations. If they are successive rows, give lambda: frames."
    )


def _is_alike(first: pd.DataFrame, other: pd.DataFrame) -> bool:
    """Whether two frames have the same columns and row labels, and more than one row."""
    return (
        len(first) > 1
        and first.shape == other.shape
        and first.columns.equals(other.columns)
        and first.index.equals(other.index)
    )


def _equal_cells(frames: Sequence[pd.DataFrame]) -> tuple[float, float]:
    """Return the shares of cells that are equal in the same row, and in the next row of the second frame."""
    first, second = (frame.iloc[:MOST_ROWS].to_numpy(dtype=object) for frame in frames)
    same = np.asarray(first == second, dtype=bool)
    shifted = np.asarray(first == np.roll(second, 1, axis=0), dtype=bool)
    return float(same.mean()), float(shifted.mean())
