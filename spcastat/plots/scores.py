"""All pairs of up to five columns of scores, with the correlation of each pair."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd

from spcastat.errors import ComponentsError
from spcastat.labels import short_name
from spcastat.plots._groups import group_rows, scatter_groups
from spcastat.plots._shared import axes_for, correlation_text, frame_of, positions

if TYPE_CHECKING:
    from matplotlib.axes import Axes

#: More components than this are too many pairs for one figure.
MOST = 5
#: More points than this are drawn as an image within a vector graphic.
RASTER = 5000
#: The parts of a panel that separate it from the next one, beside and above.
GAP, HEADROOM = 0.07, 0.13


def plot_scores_data(
    scores: pd.DataFrame, *, components: Sequence[int | str] | None = None, groups: Any = None
) -> pd.DataFrame:
    """Return what :func:`plot_scores` draws: the chosen columns of scores, and "group" where there is one.

    The parameters and errors are described there.
    """
    frame_of(scores, "scores")
    names = list(scores.columns)
    if components is None:
        components = list(range(1, min(len(names), MOST) + 1))
    chosen = positions(components, names)
    if not 2 <= len(chosen) <= MOST:
        raise ComponentsError(
            f"{len(chosen)} of {len(names)} components were chosen; pairs of scores need from 2 to {MOST}."
        )
    data = scores.iloc[:, chosen].copy()
    if groups is not None:
        data["group"] = group_rows(groups, scores.index)
    return data


def plot_scores(
    scores: pd.DataFrame,
    *,
    components: Sequence[int | str] | None = None,
    groups: Any = None,
    ax: Axes | None = None,
) -> Axes:
    """Draw every pair of the chosen columns of scores against one another.

    Parameters
    ----------
    scores : DataFrame, n x k
    components : two to five of int or str, optional
        Numbers counted from one, or names; by default the first five.
    groups : Series, Categorical or array of length n, optional
        Colours and marks the points; at most 20 groups. A Series is matched by its labels.
    ax : Axes, optional
        Whose place the panels take, by default a new figure. The panels are its ``child_axes``, row by
        row, each with the correlation of its pair.

    Returns
    -------
    Axes

    Raises
    ------
    ComponentsError
        Fewer than two components or more than five, or one that does not exist.
    ShapeError, OptionError
        Groups that do not fit the rows, too many groups, `ax` that is no Axes.
    """
    data = plot_scores_data(scores, components=components, groups=groups)
    grouped = groups is not None
    values = data.drop(columns="group") if grouped else data
    names = [short_name(name, 12) for name in values.columns]
    xy, side = values.to_numpy(dtype=float), values.shape[1] - 1
    # alone, a panel leaves no corner free for the legend: it stands beside
    beside = grouped and side == 1
    size = {1: 4.6, 2: 5.8, 3: 7.0, 4: 8.2}[side]
    ax = axes_for(ax, size + 1.3 * beside, size)
    ax.set_axis_off()
    categories = data["group"].array if grouped else None
    drawn: tuple[list[Any], list[str]] = ([], [])
    columns: dict[int, Axes] = {}
    for i in range(1, side + 1):
        for j in range(i):
            panel = ax.inset_axes((j / side, 1 - i / side, (1 - GAP) / side, (1 - HEADROOM) / side))
            drawn = _panel(panel, xy[:, [j, i]], categories)
            first = columns.setdefault(j, panel)
            if first is not panel:
                panel.sharex(first)
            _edges(panel, names[j] if i == side else "", names[i] if j == 0 else "")
    if drawn[1]:
        _legend(ax, drawn, groups, beside)
    return ax


def _panel(panel: Axes, xy: np.ndarray, groups: Any) -> tuple[list[Any], list[str]]:
    n = len(xy)
    panel.axhline(0, color="0.85", linewidth=0.7, zorder=0.5)
    panel.axvline(0, color="0.85", linewidth=0.7, zorder=0.5)
    drawn = scatter_groups(
        panel,
        xy,
        groups,
        s=float(np.clip(16 * (200 / n) ** 0.4, 3, 16)),
        alpha=float(np.clip(0.7 * (200 / n) ** 0.25, 0.3, 0.7)),
        rasterized=n > RASTER,
        zorder=2,
    )
    panel.margins(x=0.06, y=0.12)
    panel.locator_params(nbins=4)
    panel.tick_params(labelsize="x-small", length=2.5)
    panel.spines[["top", "right"]].set_visible(False)
    text = correlation_text(*xy.T)
    panel.set_title(text, fontsize="x-small", color="0.3", pad=2)
    return drawn


def _edges(panel: Axes, below: str, left: str) -> None:
    """Name the axes at the edges of the triangle; hide the numbers within."""
    panel.tick_params(labelbottom=bool(below), labelleft=bool(left))
    panel.set_xlabel(below, parse_math=False)
    panel.set_ylabel(left, parse_math=False)


def _legend(ax: Axes, drawn: tuple[list[Any], list[str]], groups: Any, beside: bool) -> None:
    artists, names = drawn
    title = short_name(groups.name) if getattr(groups, "name", None) is not None else None
    legend = ax.legend(
        artists,
        [str(i) for i in range(len(names))],
        title=title,
        loc="upper left" if beside else "upper right",
        bbox_to_anchor=(1.0, 1.0),
        frameon=False,
        fontsize="small",
        title_fontsize="small",
    )
    for text, handle, name in zip(legend.get_texts(), legend.legend_handles, names, strict=True):
        text.set_parse_math(False)
        text.set_text(name)
        if handle is not None:
            handle.set_alpha(1)
            handle.set_sizes([28])  # type: ignore[attr-defined]
