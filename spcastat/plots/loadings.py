"""Loadings as dots on stems or as a heat map; what is exactly zero is not drawn."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING

import numpy as np
import pandas as pd

from spcastat.config import one_of, whole_number
from spcastat.errors import DataError, OptionError
from spcastat.kernels.leading import leading
from spcastat.labels import short_name
from spcastat.plots._dots import draw_dots
from spcastat.plots._heatmap import draw_heatmap
from spcastat.plots._shared import axes_for, frame_of, positions, settle

if TYPE_CHECKING:
    from matplotlib.axes import Axes

#: Kind of plot to the function that draws a frame of loadings on axes.
KINDS: dict[str, Callable[[Axes, pd.DataFrame], None]] = {"dots": draw_dots, "heatmap": draw_heatmap}


def plot_loadings_data(
    loadings: pd.DataFrame,
    *,
    max_rows: int = 40,
    components: Sequence[int | str] | None = None,
) -> pd.DataFrame:
    """Return the loadings that :func:`plot_loadings` draws, variables in the order of the data.

    Parameters
    ----------
    loadings : DataFrame, p x k
    max_rows : int
        The most variables to show. If more have a nonzero loading, those are kept that lead on any
        component: the components take turns, each giving its largest absolute loading that is left.
    components : sequence of int or str, optional
        Numbers counted from one, or names; by default all.

    Returns
    -------
    DataFrame
        Variables with a nonzero loading by components.

    Raises
    ------
    ShapeError
        `loadings` is not a data frame.
    ComponentsError
        A component that does not exist.
    OptionError
        `max_rows` below 1.
    DataError
        All loadings are zero.
    """
    return _chosen(loadings, max_rows, components)[0]


def plot_loadings(
    loadings: pd.DataFrame,
    *,
    kind: str = "dots",
    max_rows: int = 40,
    components: Sequence[int | str] | None = None,
    intervals: pd.DataFrame | None = None,
    ax: Axes | None = None,
) -> Axes:
    """Draw the nonzero loadings, variables from top to bottom and components from left to right.

    Parameters
    ----------
    loadings : DataFrame, p x k
        Variables without a nonzero loading are left out.
    kind : {"dots", "heatmap"}
        Dots on stems from the zero line of each component, or a heat map in which exact zeros are white.
    max_rows, components
        As for :func:`plot_loadings_data`; if variables are left out, the label of the axis says how many.
    intervals : DataFrame, optional
        With the columns component, term, lower and upper, as ``conf_int()`` gives them: drawn as whiskers,
        for dots only.
    ax : Axes, optional
        By default those of a new figure, as high as the variables need. A heat map takes some of its room
        for the colour bar.

    Returns
    -------
    Axes

    Raises
    ------
    ShapeError, ComponentsError, OptionError, DataError
        As for :func:`plot_loadings_data`; `kind` or `ax` of another sort is an OptionError too.
    """
    one_of("kind", kind, KINDS)
    if intervals is not None and kind != "dots":
        raise OptionError(f"Intervals were asked for with kind={kind!r}; they are drawn with kind='dots'.")
    data, loaded = _chosen(loadings, max_rows, components)
    rows, k = data.shape
    names = [short_name(name) for name in data.index]
    margin = 0.9 + 0.075 * max(map(len, names))
    width = margin + (0.95 if kind == "dots" else 0.7) * max(k, 2) + (kind == "heatmap")
    ax = axes_for(ax, float(np.clip(width, 4.0, 14.0)), 1.1 + 0.24 * max(rows, 4))
    ax.set_ylim(rows - 0.4, -0.6)
    ax.set_yticks(range(rows), names, parse_math=False)
    left_out = f"\n{rows} of the {loaded} variables with one:\nthe largest of every component"
    ax.set_xlabel("Loading" + left_out * (rows < loaded))
    ax.tick_params(axis="x", which="major", top=False, bottom=False, labeltop=True, labelbottom=False)
    ax.tick_params(axis="y", length=0)
    ax.spines[["top", "right", "left"]].set_visible(False)
    settle(ax)
    _fit_names(ax, rows)
    if intervals is None:
        KINDS[kind](ax, data)
    else:
        draw_dots(ax, data, _bounds(data, intervals))
    return ax


def _bounds(data: pd.DataFrame, intervals: pd.DataFrame) -> tuple[np.ndarray, np.ndarray]:
    """Return the lower and the upper bounds of the nonzero loadings, NaN for others."""
    rows = data.index.get_indexer(pd.Index(intervals["term"], tupleize_cols=False))
    columns = data.columns.get_indexer(pd.Index(intervals["component"]))
    known = (rows >= 0) & (columns >= 0)
    found = []
    for name in ("lower", "upper"):
        bound = np.full(data.shape, np.nan)
        bound[rows[known], columns[known]] = intervals[name].to_numpy(dtype=float)[known]
        found.append(np.where(data.to_numpy(dtype=float) != 0, bound, np.nan))
    return found[0], found[1]


def _chosen(
    loadings: pd.DataFrame, max_rows: int, components: Sequence[int | str] | None
) -> tuple[pd.DataFrame, int]:
    """Return the loadings to draw and how many variables have one."""
    frame_of(loadings)
    if components is not None:
        loadings = loadings.iloc[:, positions(components, list(loadings.columns))]
    values = frame_of(loadings)
    loaded = int((values != 0).any(axis=1).sum())
    if not loaded:
        raise DataError("All loadings are zero; there is nothing to draw.")
    return loadings.iloc[leading(values, whole_number("max_rows", max_rows, 1))], loaded


def _fit_names(ax: Axes, rows: int) -> None:
    """Make the names of the variables smaller where rows are close."""
    figure = ax.get_figure(root=True)
    assert figure is not None
    pitch = ax.get_window_extent().height / rows / figure.dpi * 72
    size = ax.yaxis.get_ticklabels()[0].get_fontsize()
    ax.tick_params(axis="y", labelsize=float(np.clip(0.85 * pitch, 4.5, size)))
