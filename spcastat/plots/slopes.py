"""Slopes of variables on scores in groups of rows, with intervals: a band for each component."""

from __future__ import annotations

from statistics import NormalDist
from typing import TYPE_CHECKING

import numpy as np
import pandas as pd

from spcastat.config import SHOWN_LEVEL, checked_level, explained, listed
from spcastat.errors import DataError, ShapeError
from spcastat.hints import Palette, Several
from spcastat.labels import full_names, short_name, short_names
from spcastat.plots import drawing
from spcastat.plots.blocks import labels_for
from spcastat.plots.drawing import line, shade

if TYPE_CHECKING:
    from matplotlib.axes import Axes

#: Distance of the largest loading from the zero line of its band, as a share of the width of the band.
FILL = 0.42
#: The least width of the band of a component, in points, if names need room.
BAND = 45.0
#: Height of the names of the components above the axes, in font sizes.
HEADING_ROOM = 2.2


@explained
def plot_slopes(
    slopes: pd.DataFrame,
    *,
    max_rows: int | None = 40,
    components: Several | None = None,
    level: float = 0.95,
    palette: Palette | None = None,
    ax: Axes | None = None,
) -> Axes:
    """Draw the slopes of the variables of each component in every group, with intervals.

    Variables are drawn from top to bottom, components from left to right, groups in colours. A variable is
    drawn on the components in which it has a loading, or in which the groups differ; a star marks adjusted
    p-values up to .05.

    Parameters
    ----------
    slopes : DataFrame
        With the columns "group", "component", "term", "loading", "estimate", "std_error" and "p_adjusted".
    max_rows : int, optional
        The largest number of variables: those with the smallest adjusted p-values, then the largest loadings.
    components : sequence of int or str, optional
        Numbers counted from one, or names; by default all.
    level : float in (0, 1)
        Confidence level of the intervals, which are normal, for each slope alone.
    palette : mapping, sequence of colours, or str, optional
        Colours of the groups, as for the biplot.
    ax : Axes, optional
        By default a new figure is created.

    Returns
    -------
    Axes

    Raises
    ------
    ComponentsError
        If a component does not exist.
    OptionError
        If `max_rows` or `level` is out of range, or `ax` is not an Axes.
    """
    half = NormalDist().inv_cdf(0.5 + checked_level(level) / 2.0)
    table = plot_slopes_data(slopes, max_rows=max_rows, components=components)
    names = list(dict.fromkeys(slopes["component"]))
    columns = [names[i] for i in drawing.positions(components, names)]
    terms, groups = list(dict.fromkeys(table["term"])), list(dict.fromkeys(slopes["group"]))
    width = 1.3 + 0.075 * max(map(len, short_names(terms))) + 1.5 * len(columns)
    height = 1.3 + (0.16 + 0.09 * len(groups)) * max(len(terms), 4)
    ax = drawing.axes_for(ax, float(np.clip(width, 4.5, 14.0)), height, drawing.ROWS_ONLY)
    size = drawing.name_size()
    place = drawing.name_room(ax, 1.0)
    room = max(drawing.NAMES_SHARE * place, place - BAND * len(columns))
    labels = labels_for(full_names(terms), [room] * len(terms), size)
    drawing.name_rows(ax, labels, components_above=True)
    ax.tick_params(labelsize=size)
    reach = float(np.nanmax(np.abs(table["estimate"]) + half * table["std_error"]))
    draw_bands(ax, pd.DataFrame(0.0, index=range(len(terms)), columns=columns), reach)
    colours = drawing.colours_of(ax, palette, groups)
    offsets = np.linspace(-0.27, 0.27, len(groups)) if len(groups) > 1 else np.zeros(1)
    marks = []
    unit = FILL / reach
    for colour, offset, group in zip(colours, offsets, groups, strict=True):
        group_slopes = table[table["group"] == group]
        y = np.array([terms.index(term) for term in group_slopes["term"]]) + offset
        x = np.array([columns.index(name) for name in group_slopes["component"]], dtype=float)
        middle = x + unit * group_slopes["estimate"].to_numpy()
        error = unit * half * group_slopes["std_error"].to_numpy()
        ax.hlines(y, middle - error, middle + error, colors=[colour], linewidth=line(1.6), gid="interval")
        marks += ax.plot(middle, y, "o", color=colour, markersize=line(4.0), zorder=3)
    differing = table[(table["p_adjusted"] <= SHOWN_LEVEL) & (table["group"] == groups[0])]
    for component, term in zip(differing["component"], differing["term"], strict=True):
        position = columns.index(component) + 0.46, terms.index(term)
        ax.annotate("*", position, ha="center", va="center", color=shade(ax, 1.0), gid="differs")
    names = [short_name(group) for group in groups]
    if len(differing):
        marks += ax.plot([], [], "*", color=shade(ax, 1.0), markersize=line(4.0))
        names.append(f"differs between groups (adjusted p ≤ {SHOWN_LEVEL:g})".replace("0.", "."))
    legend_height = 1.0 + HEADING_ROOM * size / float(
        drawing.size_of(ax)[1]
    )  # above the names of the components
    corner = {**drawing.ABOVE, "loc": "lower right", "bbox_to_anchor": (1.0, legend_height)}
    drawing.write_legend(ax, marks, names, size=size, ncols=2 if len(names) > 3 else 1, **corner)
    count = slopes["term"].nunique()
    words = "Slope on the score" + f"\n{len(terms)} of {count} variables" * (len(terms) < count)
    ax.set_xlabel(words + ax.get_xlabel(), fontsize=size + 1.0)
    return ax


@explained
def plot_slopes_data(
    slopes: pd.DataFrame, *, max_rows: int | None = 40, components: Several | None = None
) -> pd.DataFrame:
    """Return the rows of `slopes` that `plot_slopes` draws."""
    drawing.need_columns(slopes, ["loading", "estimate", "std_error", "p_adjusted"], "slopes")
    missing = [name for name in ("group", "component", "term") if list(slopes.columns).count(name) != 1]
    if missing:
        raise ShapeError(
            f"slopes needs the columns group, component and term, each once; {listed(missing)} is missing or "
            "repeated: give the slopes of a comparison of groups."
        )
    names = list(dict.fromkeys(slopes["component"]))
    columns = [names[i] for i in drawing.positions(components, names)]
    table = slopes[slopes["component"].isin(columns)]
    table = table[(table["loading"] != 0) | (table["p_adjusted"] <= SHOWN_LEVEL)]
    if table.empty:
        raise DataError("There is no slope to draw: all loadings are zero.")
    priority = pd.DataFrame({"p": table["p_adjusted"], "size": -table["loading"].abs()})
    priority = priority.groupby(table["term"], sort=False).min().sort_values(["p", "size"], kind="stable")
    table = table[table["term"].isin(set(priority.index[: drawing.row_limit(max_rows, len(priority))]))]
    order = {term: place for place, term in enumerate(dict.fromkeys(slopes["term"]))}
    return table.sort_values("term", key=lambda terms: terms.map(order), kind="stable")


# --- bands of components ---------------------------------------------------------------------------


def draw_bands(ax: Axes, data: pd.DataFrame, largest: float) -> None:
    """Draw the zero line of each component, the lines between components, and the scale below."""
    rows, k = data.shape
    ends = (-0.6, rows - 0.4)
    ax.vlines(range(k), *ends, colors=[shade(ax, 0.4)], linewidth=line(0.8), zorder=1)
    ax.vlines(np.arange(1, k) - 0.5, *ends, colors=[shade(ax, 0.1)], linewidth=line(0.8), zorder=0.5)
    for row in range(rows):
        ax.axhline(row, color=shade(ax, 0.08), linewidth=line(0.6), zorder=0.4)
    ax.set_xlim(-0.5, k - 0.5)
    ax.set_xticks(range(k), [short_name(name, 12) for name in data.columns], parse_math=False)
    _value_ticks(ax, largest, k)


def _value_ticks(ax: Axes, largest: float, k: int) -> None:
    """Add ticks at a round loading on both sides of every zero line; without room, state the ends of a band.

    If the numbers of neighbouring bands would touch, only the positive side has a tick.
    """
    power = 10.0 ** np.floor(np.log10(largest))
    value = float(max(step for step in (1, 2, 5) if step * power <= largest * (1 + 1e-12)) * power)
    text = f"{value:g}"
    band = float(drawing.size_of(ax)[0]) / k
    if band < 10 * len(text) + 24:
        title, *lines = ax.get_xlabel().split("\n")
        end = f"{largest / FILL / 2:.2g}"
        ax.set_xlabel("\n".join([title, f"(each column: −{end} to {end})", *lines]))
        return
    offset = FILL * value / largest
    # a digit is 4.6 points wide, and 7 points stay free between two numbers
    touching = band * (1 - 2 * offset) < 4.6 * (len(text) + 0.5) + 7.0
    labels = {0: "0", 1: text} if touching else {-1: f"−{text}", 0: "0", 1: text}
    places = (np.arange(k)[:, None] + offset * np.array(list(labels))).ravel()
    ax.xaxis.remove_overlapping_locs = False
    ax.set_xticks(places, list(labels.values()) * k, minor=True)
    ax.tick_params(axis="x", which="minor", labelsize="x-small", length=2.5)
