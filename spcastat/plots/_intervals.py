"""Loadings with their intervals: one band a component, bars from lower to upper."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
import pandas as pd

from spcastat.config import listed
from spcastat.errors import DataError, ShapeError
from spcastat.intake.checks import real_array
from spcastat.plots._dots import band_width, draw_bands
from spcastat.plots._theme import accents, line, shade

if TYPE_CHECKING:
    from matplotlib.axes import Axes

_NEEDED = ("component", "term", "lower", "upper")


def intervals_of(intervals: pd.DataFrame, loadings: pd.DataFrame) -> np.ndarray:
    """Return lower and upper limits of the loadings drawn, (rows, k, 2), NaN where there are none.

    Raises
    ------
    ShapeError
        A column is missing, or none of the components or variables is there.
    DataError
        Limits that are not numbers, or a lower one above its upper one.
    """
    missing = [name for name in _NEEDED if name not in getattr(intervals, "columns", ())]
    if missing:
        raise ShapeError(f"intervals lacks the columns {listed(missing)}; it needs {listed(_NEEDED)}.")
    numbers = real_array(intervals[["lower", "upper"]].to_numpy())
    if numbers is None or (numbers[:, 0] > numbers[:, 1]).any():
        raise DataError("The limits of the intervals must be numbers, the lower one not above the upper one.")
    rows = loadings.index.get_indexer(pd.Index(intervals["term"]))
    columns = loadings.columns.get_indexer(pd.Index(intervals["component"]))
    known = (rows >= 0) & (columns >= 0)
    if not known.any():
        raise ShapeError("intervals has none of the variables and components that are drawn.")
    found = np.full((*loadings.shape, 2), np.nan)
    found[rows[known], columns[known]] = numbers[known]
    return found


def draw_intervals(ax: Axes, data: pd.DataFrame, limits: np.ndarray) -> None:
    """Draw a dot for each nonzero loading and a bar for each interval; intervals around zero are faint."""
    values = data.to_numpy(dtype=float)
    largest = float(max(np.nanmax(np.abs(values)), np.nanmax(np.abs(limits), initial=0.0)))
    draw_bands(ax, data, largest)
    blue, orange = accents(ax)
    for j in range(values.shape[1]):
        for i in range(len(values)):
            low, high = limits[i, j]
            value = values[i, j]
            if value == 0 and not (np.isfinite(low) and (low, high) != (0.0, 0.0)):
                continue
            sure = low > 0 or high < 0
            colour = (blue if value >= 0 else orange) if sure or not np.isfinite(low) else shade(ax, 0.5)
            if np.isfinite(low):
                ax.hlines(
                    i,
                    j + band_width(low, largest),
                    j + band_width(high, largest),
                    colors=[colour],
                    linewidth=line(1.8),
                    zorder=2,
                    gid="interval",
                )
            if value != 0:
                ax.plot(j + band_width(value, largest), i, "o", color=colour, markersize=line(4.5), zorder=3)
