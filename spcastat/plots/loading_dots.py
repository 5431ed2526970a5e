"""Loadings as dots on stems, or with intervals: each component in a band with its own zero line."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
import pandas as pd

from spcastat.config import listed
from spcastat.errors import DataError, ShapeError
from spcastat.intake.checks import real_array
from spcastat.labels import short_name
from spcastat.plots.axes_and_names import size_of
from spcastat.plots.plot_colours import accents, area, line, shade

if TYPE_CHECKING:
    from matplotlib.axes import Axes

#: Distance of the largest loading from the zero line of its band, as a share of the width of the band.
FILL = 0.42


def draw_dots(ax: Axes, data: pd.DataFrame) -> None:
    """Draw every nonzero of `data` (variables by components) at component + FILL * loading / largest."""
    values = data.to_numpy(dtype=float)
    largest = float(np.nanmax(np.abs(values)))
    _draw_bands(ax, data, largest)
    rows, columns = np.nonzero(values)
    nonzero = values[rows, columns]
    x = columns + FILL * nonzero / largest
    blue, orange = accents(ax)
    colours = [blue if one > 0 else orange for one in nonzero.tolist()]
    ax.hlines(rows, columns, x, colors=colours, linewidth=line(1.6), zorder=2)
    size = area(float(np.clip(900 / len(values), 10, 30)))
    ax.scatter(x, rows, c=colours, s=size, linewidths=0, zorder=3)


def intervals_of(intervals: pd.DataFrame, loadings: pd.DataFrame) -> np.ndarray:
    """Return lower and upper limits of the loadings drawn, (rows, k, 2); NaN without an interval.

    Raises
    ------
    ShapeError
        If a column is missing, or there is no interval for any of the loadings drawn.
    DataError
        If limits are not numbers, or a lower limit is above its upper limit.
    """
    needed = ("component", "term", "lower", "upper")
    missing = [name for name in needed if name not in getattr(intervals, "columns", ())]
    if missing:
        raise ShapeError(f"intervals lacks the columns {listed(missing)}; it needs {listed(needed)}.")
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
    """Draw a dot for each nonzero loading and a bar for each interval, in grey if it contains zero."""
    values = data.to_numpy(dtype=float)
    largest = float(max(np.nanmax(np.abs(values)), np.nanmax(np.abs(limits), initial=0.0)))
    _draw_bands(ax, data, largest)
    blue, orange = accents(ax)
    # an interval from zero to zero belongs to a loading that no draw selected
    barred = np.isfinite(limits).all(axis=2) & (limits != 0).any(axis=2)
    for i, j in np.argwhere((values != 0) | barred).tolist():
        (low, high), value = limits[i, j], values[i, j]
        sure = low > 0 or high < 0 or not np.isfinite(low)
        colour = (blue if value >= 0 else orange) if sure else shade(ax, 0.5)
        if np.isfinite(low):
            left, right = (j + FILL * np.array([low, high]) / largest).tolist()
            ax.hlines(i, left, right, colors=[colour], linewidth=line(1.8), zorder=2, gid="interval")
        if value != 0:
            place = j + FILL * value / largest
            ax.plot(place, i, "o", color=colour, markersize=line(4.5), zorder=3)


def _draw_bands(ax: Axes, data: pd.DataFrame, largest: float) -> None:
    """Draw the zero line of each component, the lines between components, and the scale below."""
    rows, k = data.shape
    ends = (-0.6, rows - 0.4)
    ax.vlines(range(k), *ends, colors=[shade(ax, 0.4)], linewidth=line(0.8), zorder=1)
    ax.vlines(np.arange(1, k) - 0.5, *ends, colors=[shade(ax, 0.1)], linewidth=line(0.8), zorder=0.5)
    for row in range(rows):
        ax.axhline(row, color=shade(ax, 0.08), linewidth=line(0.6), zorder=0.4)
    ax.set_xlim(-0.5, k - 0.5)
    ax.set_xticks(range(k), [short_name(name, 12) for name in data.columns], parse_math=False)
    _value_ticks(ax, largest, k)


def _value_ticks(ax: Axes, largest: float, k: int) -> None:
    """Add ticks at a round loading on both sides of every zero line; without room, state the ends of a band.

    If the numbers of neighbouring bands would touch, only the positive side gets a number.
    """
    power = 10.0 ** np.floor(np.log10(largest))
    value = float(max(step for step in (1, 2, 5) if step * power <= largest * (1 + 1e-12)) * power)
    text = f"{value:g}"
    band = float(size_of(ax)[0]) / k
    if band < 10 * len(text) + 24:
        what, *rest = ax.get_xlabel().split("\n")
        end = f"{largest / FILL / 2:.2g}"
        ax.set_xlabel("\n".join([what, f"(each column: −{end} to {end})", *rest]))
        return
    offset = FILL * value / largest
    places = (np.arange(k)[:, None] + offset * np.array([-1, 0, 1])).ravel()
    ax.xaxis.remove_overlapping_locs = False
    # a digit is 4.6 points wide, and 7 points stay free between two numbers
    touching = band * (1 - 2 * offset) < 4.6 * (len(text) + 0.5) + 7.0
    ax.set_xticks(places, ["" if touching else f"−{text}", "0", text] * k, minor=True)
    ax.tick_params(axis="x", which="minor", labelsize="x-small", length=2.5)
