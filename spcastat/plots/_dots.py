"""Loadings as dots on stems, each component in a band with its own zero line."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
import pandas as pd

from spcastat.labels import short_name
from spcastat.plots._shared import BLUE, ORANGE

if TYPE_CHECKING:
    from matplotlib.axes import Axes

#: The part of half a band that the largest loading takes.
FILL = 0.42


def draw_dots(
    ax: Axes, data: pd.DataFrame, bounds: tuple[np.ndarray, np.ndarray] | None = None
) -> None:
    """Draw every nonzero of `data` (variables by components) at component + FILL * loading / largest.

    With lower and upper `bounds`, of the shape of `data`, whiskers show them; NaN for none.
    """
    values = data.to_numpy(dtype=float)
    largest = float(np.nanmax(np.abs([values, *(bounds or ())])))
    rows, columns = np.nonzero(values)
    nonzero = values[rows, columns]
    x = columns + FILL * nonzero / largest
    colours = np.where(nonzero > 0, BLUE, ORANGE)
    k = values.shape[1]
    ax.vlines(range(k), -0.6, len(values) - 0.4, colors="0.6", linewidth=0.8, zorder=1)
    ax.vlines(np.arange(1, k) - 0.5, -0.6, len(values) - 0.4, colors="0.9", linewidth=0.8, zorder=0.5)
    for row in range(len(values)):
        ax.axhline(row, color="0.93", linewidth=0.6, zorder=0.4)
    if bounds is None:
        ax.hlines(rows, columns, x, colors=colours.tolist(), linewidth=1.6, zorder=2)
    else:
        _whiskers(ax, bounds, largest)
    ax.scatter(
        x, rows, c=colours.tolist(), s=float(np.clip(900 / len(values), 10, 30)), linewidths=0, zorder=3
    )
    ax.set_xlim(-0.5, k - 0.5)
    ax.set_xticks(range(k), [short_name(name, 12) for name in data.columns], parse_math=False)
    _value_ticks(ax, largest, k)


def _whiskers(ax: Axes, bounds: tuple[np.ndarray, np.ndarray], largest: float) -> None:
    """Draw a line from each lower to each upper bound, with caps."""
    rows, columns = np.nonzero(np.isfinite(bounds[0]) & np.isfinite(bounds[1]))
    left, right = (columns + FILL * bound[rows, columns] / largest for bound in bounds)
    ax.hlines(rows, left, right, colors="0.35", linewidth=1.1, zorder=2)
    for end in (left, right):
        ax.vlines(end, rows - 0.18, rows + 0.18, colors="0.35", linewidth=1.1, zorder=2)


def _value_ticks(ax: Axes, largest: float, k: int) -> None:
    """Mark a round loading on both sides of every zero line, or name the width of a band if that is tight."""
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
    ax.set_xticks(places, [f"−{text}", "0", text] * k, minor=True)
    ax.tick_params(axis="x", which="minor", labelsize="x-small", length=2.5)
