"""Scores: the density of each component, and all pairs of up to five with their correlations."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd

from spcastat.config import flag, listed
from spcastat.errors import ComponentsError
from spcastat.labels import short_name
from spcastat.plots._densities import draw_density
from spcastat.plots._groups import dots, group_rows, scatter_groups
from spcastat.plots._notes import write_note
from spcastat.plots._shared import axes_for, axis_names, correlation_text, frame_of, positions
from spcastat.plots._theme import line, need_coloured, shade, size_of_text

if TYPE_CHECKING:
    from matplotlib.axes import Axes

#: More components than this are too many pairs for one figure.
MOST = 5
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
    if len(chosen) > MOST:
        raise ComponentsError(
            f"{len(chosen)} of {len(names)} components were chosen; pairs of up to {MOST} fit on one figure."
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
    palette: Any = None,
    densities: bool = True,
    shares: pd.Series | None = None,
    ax: Axes | None = None,
) -> Axes:
    """Draw every pair of the chosen columns of scores against one another, and the density of each.

    Parameters
    ----------
    scores : DataFrame, n x k
    components : one to five of int or str, optional
        Numbers counted from one, or names; by default the first five, and a note says which are shown.
    groups : Series, Categorical or array of length n, optional
        Colours and marks the points; at most 20 groups. A Series is matched by its labels.
    palette : mapping, sequence of colours, or str, optional
        The colours of the groups: by group, in their order, or the name of a colour map.
    densities : bool
        Whether the diagonal shows the density of each component (Gaussian kernel, by group, each weighed with
        its share of the rows). One component alone always has its density, with a mark for each row.
    shares : Series, optional
        The fraction of variance of each component, for the axes.
    ax : Axes, optional
        Whose place the panels take, by default a new figure. The panels are its ``child_axes``, row by
        row, each pair with its correlation.

    Returns
    -------
    Axes

    Raises
    ------
    ComponentsError
        More than five components, or one that does not exist.
    ShapeError, OptionError
        Groups that do not fit the rows, too many groups, `ax` that is not an Axes.
    """
    need_coloured(palette, groups is not None)
    data = plot_scores_data(scores, components=components, groups=groups)
    grouped = groups is not None
    values = data.drop(columns="group") if grouped else data
    names = axis_names(list(values.columns), shares)
    xy, k = values.to_numpy(dtype=float), values.shape[1]
    densities = flag("densities", densities) or k == 1
    side = k if densities else k - 1
    # alone, a panel leaves no corner free for the legend: it stands beside
    beside = grouped and side == 1
    size = {1: 4.6, 2: 5.4, 3: 6.6, 4: 7.8, 5: 8.8}[side] * size_of_text()
    ax = axes_for(ax, size + 1.3 * beside, 0.75 * size if k == 1 else size)
    ax.set_axis_off()
    categories = data["group"].array if grouped else None
    drawn: tuple[list[Any], list[str]] = ([], [])
    columns: dict[int, Axes] = {}
    for i in range(0 if densities else 1, k):
        row = i if densities else i - 1
        for j in range(i + 1 if densities else i):
            place = (j / side, 1 - (row + 1) / side, (1 - GAP) / side, (1 - HEADROOM) / side)
            panel = ax.inset_axes(place)
            if i == j:
                found = draw_density(panel, xy[:, j], categories, palette)
            else:
                found = _panel(panel, xy[:, [j, i]], categories, palette)
            drawn = found if found[1] else drawn
            first = columns.setdefault(j, panel)
            if first is not panel:
                panel.sharex(first)
            below = names[j] if i == k - 1 else ""
            _edges(panel, below, "" if i == j else names[i] if j == 0 else "", density=i == j)
    if drawn[1]:
        _legend(ax, drawn, groups, beside)
    if components is None and scores.shape[1] > k:
        shown = f"{listed(values.columns[:1])} to {listed(values.columns[-1:])}".replace("'", "")
        _note_below(ax, f"{shown} of {scores.shape[1]} components are shown; components= chooses others.")
    return ax


def _note_below(ax: Axes, sentence: str) -> None:
    note = write_note(ax, [sentence])
    if note is not None:  # the label of the axes is hidden with them: the last panels have theirs below
        note.xy, note.xycoords = (0.0, 0.0), "axes fraction"
        note.set_position((0, -38))


def _panel(panel: Axes, xy: np.ndarray, groups: Any, palette: Any) -> tuple[list[Any], list[str]]:
    n = len(xy)
    for draw in (panel.axhline, panel.axvline):
        draw(0, color=shade(panel, 0.18), linewidth=line(0.7), zorder=0.5)
    drawn = scatter_groups(panel, xy, groups, palette=palette, **dots(n, 16.0), zorder=2)
    panel.margins(x=0.06, y=0.12)
    panel.locator_params(nbins=4)
    panel.tick_params(labelsize="x-small", length=2.5)
    panel.spines[["top", "right"]].set_visible(False)
    text = correlation_text(*xy.T)
    panel.set_title(text, fontsize="x-small", color=shade(panel, 0.75), pad=2)
    return drawn


def _edges(panel: Axes, below: str, left: str, *, density: bool) -> None:
    """Name the axes at the edges of the triangle; hide the numbers within."""
    panel.tick_params(labelbottom=bool(below), labelleft=bool(left) and not density)
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
            if hasattr(handle, "set_sizes"):
                handle.set_sizes([28])
