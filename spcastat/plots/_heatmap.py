"""Loadings as a heat map with a symmetric scale of colours."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
import pandas as pd

from spcastat.labels import short_name
from spcastat.plots._shared import settle, value_text
from spcastat.plots._theme import line, shade

if TYPE_CHECKING:
    from matplotlib.axes import Axes

#: Negative orange, positive purple: told apart with any colour vision.
COLOURS = "PuOr"


def draw_heatmap(ax: Axes, data: pd.DataFrame) -> None:
    """Draw `data` (variables by components); exact zeros are left white, values printed where they fit."""
    values = data.to_numpy(dtype=float)
    rows, k = values.shape
    largest = float(np.nanmax(np.abs(values)))
    image = ax.imshow(
        np.ma.masked_equal(values, 0),
        cmap=COLOURS,
        vmin=-largest,
        vmax=largest,
        aspect="auto",
        interpolation="nearest",
    )
    ax.set_facecolor("white")
    ax.set_xlim(-0.5, k - 0.5)
    ax.set_ylim(rows - 0.5, -0.5)
    ax.set_xticks(range(k), [short_name(name, 12) for name in data.columns], parse_math=False)
    ax.hlines(np.arange(rows + 1) - 0.5, -0.5, k - 0.5, colors=[shade(ax, 0.1)], linewidth=line(0.6))
    ax.vlines(np.arange(k + 1) - 0.5, -0.5, rows - 0.5, colors=[shade(ax, 0.1)], linewidth=line(0.6))
    ax.spines["bottom"].set_visible(False)
    figure = ax.get_figure()
    assert figure is not None
    bar = figure.colorbar(image, ax=ax, fraction=0.06, pad=0.03, aspect=25)
    bar.outline.set_visible(False)
    _print_values(ax, values, np.asarray(image.to_rgba(values)))


def _print_values(ax: Axes, values: np.ndarray, colours: np.ndarray) -> None:
    """Print every nonzero in black or white, whichever stands out; take all back if they do not fit."""
    settle(ax)
    rows, columns = np.nonzero(values)
    light = colours[..., :3] @ np.array([0.299, 0.587, 0.114])
    texts = [
        ax.text(
            column,
            row,
            value_text(values[row, column]),
            ha="center",
            va="center_baseline",
            fontsize="small",
            color="black" if light[row, column] > 0.53 else "white",
        )
        for row, column in zip(rows.tolist(), columns.tolist(), strict=True)
    ]
    corners = ax.transData.transform([(0, 0), (1, 1)])
    width, height = np.abs(corners[1] - corners[0])
    extents = [text.get_window_extent() for text in texts]
    if max(box.width for box in extents) > 0.95 * width or max(box.height for box in extents) > height:
        for text in texts:
            text.remove()
        _mark_negative(ax, values, light)


def _mark_negative(ax: Axes, values: np.ndarray, light: np.ndarray) -> None:
    """Put a minus in every negative cell, which a grey print would not tell from a positive one."""
    rows, columns = np.nonzero(values < 0)
    inks = np.where(light[rows, columns] > 0.53, "black", "white")
    ax.scatter(columns, rows, marker="_", c=inks.tolist(), s=9, linewidths=0.8, zorder=3)
