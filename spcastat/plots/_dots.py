"""Loadings as dots on stems, each component in a band with its own zero line."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
import pandas as pd

from spcastat.labels import short_name
from spcastat.plots._theme import accents, area, line, shade

if TYPE_CHECKING:
    from matplotlib.axes import Axes

#: The part of half a band that the largest loading takes.
FILL = 0.42
#: Points: the width of a digit of the scale, and what stays free between the numbers of two bands.
CHARACTER, GAP = 4.6, 7.0


def band_width(value: float, largest: float) -> float:
    """Return how far from the zero line of its band a loading lies."""
    return FILL * value / largest


def draw_dots(ax: Axes, data: pd.DataFrame) -> None:
    """Draw every nonzero of `data` (variables by components) at component + FILL * loading / largest."""
    values = data.to_numpy(dtype=float)
    largest = float(np.nanmax(np.abs(values)))
    draw_bands(ax, data, largest)
    rows, columns = np.nonzero(values)
    nonzero = values[rows, columns]
    x = columns + FILL * nonzero / largest
    blue, orange = accents(ax)
    colours = [blue if one > 0 else orange for one in nonzero.tolist()]
    ax.hlines(rows, columns, x, colors=colours, linewidth=line(1.6), zorder=2)
    size = area(float(np.clip(900 / len(values), 10, 30)))
    ax.scatter(x, rows, c=colours, s=size, linewidths=0, zorder=3)


def draw_bands(ax: Axes, data: pd.DataFrame, largest: float) -> None:
    """Draw the zero line of each component, the lines between, and the scale below."""
    rows, k = data.shape
    ax.vlines(range(k), -0.6, rows - 0.4, colors=[shade(ax, 0.4)], linewidth=line(0.8), zorder=1)
    ax.vlines(
        np.arange(1, k) - 0.5, -0.6, rows - 0.4, colors=[shade(ax, 0.1)], linewidth=line(0.8), zorder=0.5
    )
    for row in range(rows):
        ax.axhline(row, color=shade(ax, 0.08), linewidth=line(0.6), zorder=0.4)
    ax.set_xlim(-0.5, k - 0.5)
    ax.set_xticks(range(k), [short_name(name, 12) for name in data.columns], parse_math=False)
    _value_ticks(ax, largest, k)


def _value_ticks(ax: Axes, largest: float, k: int) -> None:
    """Mark a round loading on both sides of every zero line, or name the width of a band if that is tight.

    Where the numbers of neighbouring bands would run together, only the positive side has its number.
    """
    power = 10.0 ** np.floor(np.log10(largest))
    value = float(max(step for step in (1, 2, 5) if step * power <= largest * (1 + 1e-12)) * power)
    figure = ax.get_figure(root=True)
    assert figure is not None
    text = f"{value:g}"
    band = ax.get_window_extent().width / k / figure.dpi * 72
    if band < 10 * len(text) + 24:
        what, *rest = ax.get_xlabel().split("\n")
        ax.set_xlabel("\n".join([f"{what}; half a band is {largest / FILL / 2:.2g}", *rest]))
        return
    offset = FILL * value / largest
    places = (np.arange(k)[:, None] + offset * np.array([-1, 0, 1])).ravel()
    ax.xaxis.remove_overlapping_locs = False
    together = band * (1 - 2 * offset) < CHARACTER * (len(text) + 0.5) + GAP
    ax.set_xticks(places, ["" if together else f"−{text}", "0", text] * k, minor=True)
    ax.tick_params(axis="x", which="minor", labelsize="x-small", length=2.5)
