"""Loadings as dots, a heat map, a line over the columns, or images; exact zeros are not drawn."""

from __future__ import annotations

from collections.abc import Generator, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd

from spcastat.config import elements, is_whole, one_of, shown, whole_number
from spcastat.errors import DataError, OptionError, ShapeError
from spcastat.intake.variable_groups import variable_groups
from spcastat.kernels.largest_rows import leading
from spcastat.labels import short_names
from spcastat.plots.axes_and_names import ROWS_ONLY, axes_for, frame_of, name_rows, positions, settle, size_of
from spcastat.plots.loading_kinds import (
    draw_dots,
    draw_heatmap,
    draw_images,
    draw_intervals,
    draw_lines,
    intervals_of,
)
from spcastat.plots.plot_and_table import plot
from spcastat.plots.plot_colours import ink, line, shade

if TYPE_CHECKING:
    from matplotlib.axes import Axes

#: Kinds of plots that show every variable at its position among the columns.
MAPS = ("line", "image")


@plot
def plot_loadings(
    loadings: pd.DataFrame,
    *,
    kind: str = "dots",
    max_rows: int = 40,
    components: Sequence[int | str] | None = None,
    groups: Any = None,
    intervals: pd.DataFrame | None = None,
    shape: tuple[int, int] | None = None,
    ax: Axes | None = None,
) -> Generator[pd.DataFrame, None, Axes]:
    """Draw the nonzero loadings, variables from top to bottom and components from left to right.

    Parameters
    ----------
    loadings : DataFrame, p x k
        Variables without a nonzero loading are left out.
    kind : {"dots", "heatmap", "line", "image"}
        Dots on stems from the zero line of each component; a heat map in which exact zeros are white; a line
        over all columns in their order for each component, for spectra and series (columns named by numbers,
        perhaps with a unit, are placed by them); or an image for each component, for pixels.
    max_rows : int
        The largest number of variables of dots and heat maps. If more have a nonzero loading, the components
        take turns in choosing the variable with their largest remaining absolute loading, and the axis label
        says how many there are.
    components : sequence of int or str, optional
        Numbers counted from one, or names; by default all.
    groups : Series, mapping or sequence of length p, optional
        The group of each variable, for dots and heat maps. Variables of a group are shown together, with its
        name next to them; groups are in the order of the categories or of their first variables.
    intervals : DataFrame, optional
        With columns "component", "term", "lower" and "upper", as ``conf_int()`` of a bootstrap returns them:
        dots get a bar from lower to upper.
    shape : (int, int), optional
        Height and width of an image, pixels row by row; needed for ``kind="image"``.
    ax : Axes, optional
        By default those of a new figure, as high as the variables need. A heat map uses some of the space for
        the colour bar; the panels of lines and images, its ``child_axes``, are drawn inside it.

    Returns
    -------
    Axes

    Raises
    ------
    ShapeError
        If `loadings` is not a data frame, or groups, intervals or `shape` do not match it.
    ComponentsError
        If a component does not exist.
    OptionError
        If `kind` or `max_rows` is out of range, the kind does not have an option, or `ax` is not an Axes.
    DataError
        If all loadings are zero.

    Notes
    -----
    Its table, `plot_loadings_data`, has the loadings drawn, with variables in the order of the figure; its
    ``attrs["labels"]`` are the names in the figure.
    """
    one_of("kind", kind, ["dots", "heatmap", *MAPS])
    _check(kind, groups, intervals, shape)
    values = frame_of(loadings)
    chosen = positions(components, list(loadings.columns))
    loadings, values = loadings.iloc[:, chosen], values[:, chosen]
    loaded = int((values != 0).any(axis=1).sum())
    if not loaded:
        raise DataError("All loadings are zero; there is nothing to draw.")
    if kind in MAPS:
        sides = _image_shape(shape, len(loadings)) if kind == "image" else None
        yield loadings.copy()
        return _draw_map(loadings, sides, ax)
    kept = leading(values, whole_number("max_rows", max_rows, 1))
    heads: list[str] = []
    if groups is not None:
        found = variable_groups(groups, loadings.index)
        codes = np.where(found.codes < 0, len(found.categories), found.codes)
        kept = kept[np.argsort(codes[kept], kind="stable")]
        heads = [[*map(str, found.categories), "(none)"][codes[i]] for i in kept]
    data = loadings.iloc[kept].copy()
    names = data.attrs["labels"] = short_names(list(data.index))
    limits = None if intervals is None else intervals_of(intervals, data)
    yield data
    rows, k = data.shape
    margin = 0.9 + 0.075 * max(map(len, names)) + 1.2 * bool(heads)
    width = margin + (0.95 if kind == "dots" else 0.7) * max(k, 2) + (kind == "heatmap")
    height = 1.1 + 0.24 * max(rows, 4)
    ax = axes_for(ax, float(np.clip(width, 4.0, 14.0)), height, ROWS_ONLY, kind == "heatmap")
    name_rows(ax, names, components_above=True)
    left_out = f"\n{rows} of {loaded} variables: the\nlargest of each component"
    ax.set_xlabel("Loading" + left_out * (rows < loaded))
    settle(ax)
    # names of variables are smaller if rows are close
    pitch = 0.85 * float(size_of(ax)[1]) / rows
    full = ax.yaxis.get_ticklabels()[0].get_fontsize()
    ax.tick_params(axis="y", labelsize=float(np.clip(pitch, 4.5, full)))
    if heads:
        _head_groups(ax, heads)
    if limits is not None:
        draw_intervals(ax, data, limits)
    elif kind == "dots":
        draw_dots(ax, data)
    else:
        draw_heatmap(ax, data)
    return ax


def _check(kind: str, groups: Any, intervals: Any, shape: Any) -> None:
    """Raise OptionError for options that the kind of plot does not have."""
    if intervals is not None and kind != "dots":
        raise OptionError(f"intervals were given with kind={kind!r}; they go with kind='dots'.")
    if groups is not None and kind in MAPS:
        raise OptionError(f"groups were given with kind={kind!r}; they go with kind='dots' and 'heatmap'.")
    if (shape is None) != (kind != "image"):
        raise OptionError(
            f"shape={shown(shape)} was given with kind={kind!r}; kind='image' needs the height and "
            "width of the image, such as shape=(28, 28), and no other kind has them."
        )


def _image_shape(shape: Any, p: int) -> tuple[int, int]:
    """Return height and width of an image of p pixels; raise ShapeError for anything else."""
    sides = elements(shape, 3)
    if len(sides) != 2 or not all(is_whole(side) and side > 0 for side in sides) or sides[0] * sides[1] != p:
        raise ShapeError(
            f"shape={shown(shape)} was given for {p} variables; it must be height and width with "
            f"height x width = {p}."
        )
    return int(sides[0]), int(sides[1])


def _draw_map(loadings: pd.DataFrame, shape: tuple[int, int] | None, ax: Axes | None) -> Axes:
    """Draw an image of this shape for each component, or without a shape a line over the columns."""
    k = loadings.shape[1]
    if shape is None:
        ax = axes_for(ax, 7.0, 0.7 + 1.3 * k)
        draw_lines(ax, loadings)
        return ax
    columns = min(k, 4)
    tall = float(np.clip(shape[0] / shape[1], 0.3, 3.0))
    ax = axes_for(ax, 2.0 * columns + 0.9, 2.0 * tall * -(-k // columns) + 0.5, bar=True)
    draw_images(ax, loadings, shape, columns)
    return ax


def _head_groups(ax: Axes, heads: list[str]) -> None:
    """Draw lines between groups of variables, and their names at the right edge."""
    begins = [i for i, head in enumerate(heads) if i == 0 or heads[i - 1] != head]
    for begin, end in zip(begins, [*begins[1:], len(heads)], strict=True):
        if begin:
            ax.axhline(begin - 0.5, color=shade(ax, 0.55), linewidth=line(0.9), zorder=3)
        ax.annotate(
            heads[begin],
            xy=(1.0, (begin + end - 1) / 2),
            xycoords=("axes fraction", "data"),
            xytext=(6, 0),
            textcoords="offset points",
            va="center",
            ha="left",
            fontsize="small",
            color=ink(ax),
            fontstyle="italic",
            parse_math=False,
            annotation_clip=False,
            gid="group",
        )
