"""Loadings at their places: a line over the columns for each component, or an image."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd

from spcastat.labels import short_name
from spcastat.plots._heatmap import COLOURS
from spcastat.plots._theme import accents, ink, line, shade

if TYPE_CHECKING:
    from matplotlib.axes import Axes

#: A number, and perhaps a unit after it, as the name of a column.
_NUMBERED = re.compile(r"^\s*([-+]?\d+(?:\.\d+)?(?:[eE][-+]?\d+)?)\s*([^\d\s][^\d]*)?$")


def draw_lines(ax: Axes, loadings: pd.DataFrame) -> None:
    """Draw the loadings of each component over the columns, one panel below the other; zeros leave a gap."""
    ax.set_axis_off()
    values = loadings.to_numpy(dtype=float)
    p, k = values.shape
    x, what, names = column_places(list(loadings.index))
    largest = 1.1 * float(np.abs(values).max())
    blue, orange = accents(ax)
    first: Axes | None = None
    for j in range(k):
        panel = ax.inset_axes((0.0, 1 - (j + 1) / k, 1.0, 0.86 / k), sharex=first)
        first = first or panel
        column = values[:, j]
        panel.axhline(0, color=shade(ax, 0.3), linewidth=line(0.7), zorder=1)
        panel.vlines(
            x, 0, column, colors=[blue if v > 0 else orange for v in column], linewidth=_stem(p), zorder=2
        )
        panel.plot(x, np.where(column != 0, column, np.nan), color=ink(ax), linewidth=line(0.9), zorder=3)
        panel.set_ylim(-largest, largest)
        panel.set_xlim(_ends(x))
        panel.set_ylabel(short_name(loadings.columns[j], 12), parse_math=False)
        panel.locator_params(axis="y", nbins=3)
        panel.tick_params(axis="y", labelsize="small")
        panel.spines[["top", "right"]].set_visible(False)
        panel.tick_params(labelbottom=j == k - 1)
        if j == k - 1:
            panel.set_xlabel(what, parse_math=False)
            if names:
                step = max(-(-p // 12), 1)
                panel.set_xticks(
                    x[::step],
                    [short_name(one, 14) for one in names[::step]],
                    rotation=45,
                    ha="right",
                    parse_math=False,
                )


def column_places(names: Sequence[Any]) -> tuple[np.ndarray, str, list[Any]]:
    """Return where columns stand on an axis, what it is called, and names for its ticks, if any.

    Numbers as names, or numbers with one unit, that rise or fall all along are the places; otherwise
    columns are counted.
    """
    p = len(names)
    found = [_NUMBERED.match(str(name)) for name in names]
    if p > 1 and all(found):
        numbers = np.array([float(one[1]) for one in found if one is not None])
        units = {(one[2] or "").strip() for one in found if one is not None}
        steps = np.diff(numbers)
        if len(units) == 1 and ((steps > 0).all() or (steps < 0).all()):
            return numbers, units.pop(), []
    return np.arange(1, p + 1, dtype=float), "" if p <= 60 else "Column", list(names) if p <= 60 else []


def _ends(x: np.ndarray) -> tuple[float, float]:
    room = 0.01 * (x.max() - x.min()) or 0.5
    return float(x.min() - room), float(x.max() + room)


def _stem(p: int) -> float:
    return line(float(np.clip(400 / p, 0.6, 3.0)))


def draw_images(ax: Axes, loadings: pd.DataFrame, shape: tuple[int, int], columns: int) -> None:
    """Draw the loadings of each component as an image, all with one scale of colours; zeros are paper."""
    from matplotlib.cm import ScalarMappable
    from matplotlib.colors import Normalize

    ax.set_axis_off()
    values = loadings.to_numpy(dtype=float)
    k = values.shape[1]
    lines = -(-k // columns)
    largest = float(np.abs(values).max())
    for j in range(k):
        row, column = divmod(j, columns)
        place = (column / columns, 1 - (row + 1) / lines, 0.94 / columns, 0.84 / lines)
        panel = ax.inset_axes(place)
        panel.imshow(
            np.ma.masked_equal(values[:, j].reshape(shape), 0),
            cmap=COLOURS,
            vmin=-largest,
            vmax=largest,
            interpolation="nearest",
        )
        panel.set(xticks=[], yticks=[], facecolor="white")
        for spine in panel.spines.values():
            spine.set_color(shade(ax, 0.4))
        count = int(np.count_nonzero(values[:, j]))
        panel.set_title(
            f"{short_name(loadings.columns[j], 14)}: {count} pixels",
            fontsize="small",
            pad=3,
            parse_math=False,
        )
    figure = ax.get_figure()
    assert figure is not None
    bar = figure.colorbar(
        ScalarMappable(Normalize(-largest, largest), COLOURS), ax=ax, fraction=0.035, pad=0.02, aspect=30
    )
    bar.outline.set_visible(False)
    bar.ax.tick_params(labelsize="small")
