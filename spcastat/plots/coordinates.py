"""Sparse coordinates over the rows, and what they keep along a path of penalties."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd

from spcastat.config import listed
from spcastat.errors import ShapeError
from spcastat.labels import short_name
from spcastat.plots._groups import MISSING, group_rows
from spcastat.plots._shared import MARKERS, axes_for, frame_of, positions
from spcastat.plots._theme import accents, area, colours_of, ink, line, need_coloured, shade, size_of_text

if TYPE_CHECKING:
    from matplotlib.axes import Axes

#: The columns of a path that are drawn, and what the legend says.
SHOWN = {"cpev": "CPEV of the loadings", "fit": "kept by the sparse coordinates"}


def plot_coordinates_data(
    coordinates: pd.DataFrame, *, components: Sequence[int | str] | None = None, groups: Any = None
) -> pd.DataFrame:
    """Return what :func:`plot_coordinates` draws: the chosen columns, and "group" where there is one."""
    frame_of(coordinates, "coordinates")
    chosen = list(range(coordinates.shape[1]))
    if components is not None:
        chosen = positions(components, list(coordinates.columns))
    data = coordinates.iloc[:, chosen].copy()
    if groups is not None:
        data["group"] = group_rows(groups, coordinates.index)
    return data


def plot_coordinates(
    coordinates: pd.DataFrame,
    *,
    components: Sequence[int | str] | None = None,
    groups: Any = None,
    palette: Any = None,
    ax: Axes | None = None,
) -> Axes:
    """Draw each column of sparse coordinates over the rows (Dou, Dai, Xu and Zhang, Figure 2).

    Nonzero coordinates are stems, zeros small dots on the line: which rows a component is about is seen at
    once.

    Parameters
    ----------
    coordinates : DataFrame, n x k
    components : sequence of int or str, optional
        Numbers counted from one, or names; by default all.
    groups : Series, Categorical or array of length n, optional
        Colours the stems; rows stand in the order of the data.
    palette : mapping, sequence of colours, or str, optional
        As for the biplot.
    ax : Axes, optional
        Whose place the panels take, its ``child_axes``; by default that of a new figure.

    Returns
    -------
    Axes

    Raises
    ------
    ComponentsError, ShapeError, OptionError
        A component that does not exist, groups that do not fit, `ax` that is not an Axes.
    """
    need_coloured(palette, groups is not None)
    data = plot_coordinates_data(coordinates, components=components, groups=groups)
    categories = data["group"].array if groups is not None else None
    values = data.drop(columns="group") if groups is not None else data
    n, k = values.shape
    size = size_of_text()
    ax = axes_for(ax, 7.0 * size, (0.7 + 1.5 * k) * size)
    ax.set_axis_off()
    kinds = _kinds(ax, categories, n, palette)
    row = np.arange(1, n + 1)
    first: Axes | None = None
    for j, name in enumerate(values.columns):
        panel = ax.inset_axes((0.0, 1 - (j + 1) / k, 1.0, 0.84 / k), sharex=first)
        first = first or panel
        column = values.iloc[:, j].to_numpy(dtype=float)
        panel.axhline(0, color=shade(panel, 0.35), linewidth=line(0.7), zorder=1)
        zero = column == 0
        panel.scatter(
            row[zero], column[zero], s=area(3), color=[shade(panel, 0.45)], linewidths=0, zorder=1.5
        )
        for rows, colour, marker, label in kinds:
            here = rows & ~zero
            panel.vlines(row[here], 0, column[here], colors=[colour], linewidth=line(1.0), zorder=2)
            panel.scatter(
                row[here],
                column[here],
                s=area(12),
                color=[colour],
                marker=marker,
                linewidths=0,
                zorder=3,
                label=label,
            )
        panel.set_title(
            f"{int((~zero).sum())} of {n} nonzero", fontsize="x-small", color=shade(panel, 0.75), pad=2
        )
        panel.set_ylabel(short_name(name, 12), parse_math=False)
        panel.set_xlim(0.5 - 0.01 * n, n + 0.5 + 0.01 * n)
        panel.locator_params(axis="y", nbins=4)
        panel.spines[["top", "right"]].set_visible(False)
        panel.tick_params(labelbottom=j == k - 1, labelsize="small")
    if first is not None:
        ax.child_axes[-1].set_xlabel("Row")
        if categories is not None:
            first.legend(loc="upper left", bbox_to_anchor=(1.01, 1.0), frameon=False, fontsize="small")
    return ax


def _kinds(ax: Axes, categories: Any, n: int, palette: Any) -> list[tuple[np.ndarray, Any, str, str]]:
    """Return which rows are of each group, its colour, marker and name."""
    if categories is None:
        return [(np.ones(n, dtype=bool), accents(ax)[0], "o", "")]
    colours = colours_of(ax, palette, list(categories.categories))
    kinds = [
        (categories.codes == code, colours[code], MARKERS[code % len(MARKERS)], short_name(name).lstrip("_"))
        for code, name in enumerate(categories.categories)
    ]
    if (categories.codes < 0).any():
        kinds.append((categories.codes < 0, shade(ax, 0.45), ".", MISSING))
    return kinds


def plot_coordinates_path_data(table: pd.DataFrame) -> pd.DataFrame:
    """Return what :func:`plot_coordinates_path` draws: shares of variance by the share of zeros."""
    needed = ["cpzc", *SHOWN, "pca"]
    missing = [name for name in needed if name not in getattr(table, "columns", ())]
    if missing or table.empty:
        raise ShapeError(f"The table of a path needs rows and the columns {listed(needed)}.")
    return table.set_index("cpzc")[[*SHOWN, "pca"]].astype(float)


def plot_coordinates_path(table: pd.DataFrame, *, ax: Axes | None = None) -> Axes:
    """Draw what sparse coordinates keep of the variance against the share of them that is zero.

    Parameters
    ----------
    table : DataFrame
        One row a penalty: "cpzc", "cpev", "fit" and "pca", fractions.
    ax : Axes, optional
        By default those of a new figure.

    Returns
    -------
    Axes

    Raises
    ------
    ShapeError, OptionError
        Columns that are missing; `ax` that is not an Axes.
    """
    data = plot_coordinates_path_data(table)
    size = size_of_text()
    ax = axes_for(ax, 5.4 * size, 3.7 * size)
    x = 100 * data.index.to_numpy(dtype=float)
    for (name, label), colour, marker in zip(SHOWN.items(), accents(ax), "o^", strict=True):
        ax.plot(
            x,
            100 * data[name],
            color=colour,
            marker=marker,
            markersize=line(4),
            linewidth=line(1.3),
            label=label,
        )
    dense = 100 * float(data["pca"].iloc[0])
    ax.axhline(dense, color=ink(ax), linestyle=(0, (6, 3)), linewidth=line(0.9), label="dense PCA")
    ax.set_ylim(0, 1.05 * max(dense, 100 * float(np.nanmax(data.to_numpy()))))
    ax.set_xlim(-2, 102)
    ax.set_xlabel("Zero coordinates (CPZC), %")
    ax.set_ylabel("% of the total variance")
    ax.legend(frameon=False, fontsize="small", loc="lower left")
    ax.spines[["top", "right"]].set_visible(False)
    return ax
