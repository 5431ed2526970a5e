"""Plot of sparse coordinates over the rows."""

from __future__ import annotations

from collections.abc import Generator, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd

from spcastat.labels import short_name
from spcastat.plots.axes_and_names import BESIDE, axes_for, frame_of, positions, write_legend
from spcastat.plots.plot_and_table import plot
from spcastat.plots.plot_colours import area, line, need_coloured, shade
from spcastat.plots.plotted_rows import group_rows, groups_of

if TYPE_CHECKING:
    from matplotlib.axes import Axes


@plot
def plot_coordinates(
    coordinates: pd.DataFrame,
    *,
    components: Sequence[int | str] | None = None,
    groups: Any = None,
    palette: Any = None,
    ax: Axes | None = None,
) -> Generator[pd.DataFrame, None, Axes]:
    """Draw each column of sparse coordinates over the rows (Dou, Dai, Xu and Zhang, Figure 2).

    Nonzero coordinates are stems, zeros small dots on the line.

    Parameters
    ----------
    coordinates : DataFrame, n x k
    components : sequence of int or str, optional
        Numbers counted from one, or names; by default all.
    groups : Series, Categorical or array of length n, optional
        Groups that set the colours of the stems; rows are in the order of the data.
    palette : mapping, sequence of colours, or str, optional
        As for the biplot.
    ax : Axes, optional
        The panels, its ``child_axes``, are drawn in its place; by default in that of a new figure.

    Returns
    -------
    Axes

    Raises
    ------
    ComponentsError, ShapeError, OptionError
        If a component does not exist, groups do not match the rows, or `ax` is not an Axes.

    Notes
    -----
    Its table, `plot_coordinates_data`, has the chosen columns, and "group" if groups were given.
    """
    need_coloured(palette, groups is not None)
    frame_of(coordinates, "coordinates")
    values = coordinates.iloc[:, positions(components, list(coordinates.columns))]
    found = None if groups is None else group_rows(groups, coordinates.index)
    yield values.copy() if found is None else values.assign(group=found)
    n, k = values.shape
    ax = axes_for(ax, 7.0, 0.7 + 1.5 * k)
    ax.set_axis_off()
    kinds = list(groups_of(ax, found, n, palette))
    row = np.arange(1, n + 1)
    first: Axes | None = None
    for j, name in enumerate(values.columns):
        panel = ax.inset_axes((0.0, 1 - (j + 1) / k, 1.0, 0.84 / k), sharex=first)
        first = first or panel
        column = values.iloc[:, j].to_numpy(dtype=float)
        zero = column == 0
        panel.axhline(0, color=shade(panel, 0.35), linewidth=line(0.7), zorder=1)
        small: dict[str, Any] = {"s": area(3), "color": [shade(panel, 0.45)], "linewidths": 0, "zorder": 1.5}
        panel.scatter(row[zero], column[zero], **small)
        marks = []
        for kind in kinds:
            x, y = row[kind.rows & ~zero], column[kind.rows & ~zero]
            panel.vlines(x, 0, y, colors=[kind.colour], linewidth=line(1.0), zorder=2)
            style: dict[str, Any] = {"s": area(12), "color": [kind.colour], "marker": kind.marker}
            marks.append(panel.scatter(x, y, zorder=3, linewidths=0, **style))
        if panel is first and found is not None:
            write_legend(panel, marks, [kind.name for kind in kinds], **BESIDE)
        title = f"{int((~zero).sum())} of {n} nonzero"
        panel.set_title(title, fontsize="x-small", color=shade(panel, 0.75), pad=2)
        panel.set_ylabel(short_name(name, 12), parse_math=False)
        panel.set_xlim(0.5 - 0.01 * n, n + 0.5 + 0.01 * n)
        panel.locator_params(axis="y", nbins=4)
        panel.spines[["top", "right"]].set_visible(False)
        panel.tick_params(labelbottom=j == k - 1, labelsize="small")
        panel.set_xlabel("Row" if j == k - 1 else "")
    return ax
