"""Slopes of variables on scores in groups of rows, with intervals: a panel for each component."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from statistics import NormalDist
from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from spcastat.arguments import SHOWN_LEVEL, checked_level, explained, listed
from spcastat.errors import DataError, ShapeError
from spcastat.hints import Palette, Several
from spcastat.labels import HEADING_WIDTH, full_names, short_names
from spcastat.plots import drawing
from spcastat.plots.blocks import tick_text
from spcastat.plots.drawing import MARKERS, line, shade
from spcastat.plots.kept_plots import rows_with_room
from spcastat.plots.legends import legend_above, legend_size, title_of, write_legend
from spcastat.plots.texts import labels_for, width_of
from spcastat.plots.ticks import round_numbers

if TYPE_CHECKING:
    from matplotlib.axes import Axes

#: The free space between two panels and at both ends of one, as shares of the width of a panel.
GAP, PANEL_END = 0.12, 0.06
#: The least width of the panel of a component, in points, if names need room.
SLOPE_PANEL = 45.0
#: The share of the distance of two rows that the groups of one take, with the space around each.
ROW_HEIGHT = 0.8
#: Points between two numbers, and the most numbers of a panel.
SLOPE_NUMBER_GAP, MOST_SLOPE_NUMBERS = 5.0, 5
#: Height of the note, in font sizes.
NOTE_ROOM = 3.0
#: What the note says if marks hide intervals.
HIDDEN_INTERVALS = "Hidden intervals are narrower than their marks."
#: A mark takes at most this share of its interval, but is no smaller than this share of its usual size.
INNER_SHARE, SMALLER_MARK = 0.7, 0.75
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

    Variables are drawn from top to bottom, components from left to right in panels of one scale, groups in
    colours and markers. A variable is drawn on the components in which it has a loading, or in which the
    groups differ; a star marks adjusted p-values up to .05. A variable that does not vary in a group has a
    gap there.

    Parameters
    ----------
    slopes : DataFrame
        With the columns "group", "component", "term", "loading", "estimate", "std_error" and "p_adjusted".
        ``slopes.attrs["groups"]`` is the title of the legend.
    max_rows : int, optional
        The largest number of variables: those with the smallest adjusted p-values, then the largest loadings.
        Given axes show fewer variables if there is no room for their names.
    components : sequence of int or str, optional
        Components, by number (from 1) or by name; by default all.
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
    group_names, title = short_names(groups), title_of(pd.Series(name=slopes.attrs.get("groups")))
    ax = drawing.axes_of_known_size(ax)
    if ax is not None and (limit := _rows_with_room(ax, group_names, title)) < len(terms):
        table = plot_slopes_data(slopes, max_rows=limit, components=components)
        terms = list(dict.fromkeys(table["term"]))
    width = 1.3 + 0.075 * max(map(len, short_names(terms))) + 1.5 * len(columns)
    height = 1.3 + (0.16 + 0.09 * len(groups)) * max(len(terms), 4)
    ax = drawing.axes_for(ax, float(np.clip(width, 4.5, 14.0)), height, drawing.ROWS_ONLY)
    size = drawing.name_size()
    place = drawing.name_room(ax, 1.0)
    room = max(drawing.NAMES_SHARE * place, place - SLOPE_PANEL * len(columns))
    labels = labels_for(full_names(terms), [room] * len(terms), size)
    drawing.name_rows(ax, labels, components_above=True)
    error = half * table["std_error"]
    scale = Panels.around(float((table["estimate"] - error).min()), float((table["estimate"] + error).max()))
    colours = drawing.colours_of(ax, palette, groups)
    offsets = ROW_HEIGHT * ((np.arange(len(groups)) + 0.5) / len(groups) - 0.5)
    marks, widths = [], []
    for i, group in enumerate(groups):
        group_slopes = table[table["group"] == group]
        y = np.array([terms.index(term) for term in group_slopes["term"]]) + offsets[i]
        panel = np.array([columns.index(name) for name in group_slopes["component"]])
        middle, error = group_slopes["estimate"], half * group_slopes["std_error"]
        low, high = scale.places(panel, middle - error), scale.places(panel, middle + error)
        widths += [high - low]
        ax.hlines(y, low, high, colors=[colours[i]], linewidth=line(1.6), gid="interval")
        style: dict[str, Any] = {"color": colours[i], "ls": "none", "zorder": 3}
        marks += ax.plot(scale.places(panel, middle), y, marker=MARKERS[i % len(MARKERS)], **style)
    differing = table[(table["p_adjusted"] <= SHOWN_LEVEL) & (table["group"] == groups[0])]
    for component, term in zip(differing["component"], differing["term"], strict=True):
        position = columns.index(component) + 1.0 - GAP / 2, terms.index(term)
        ax.annotate(
            "*",
            position,
            ha="center",
            va="center",
            color=shade(ax, 1.0),
            gid="differs",
            annotation_clip=False,
        )
    ax.set_xlabel(f"Slope with {100 * level:g} % interval", fontsize=size + 1.0)
    draw_panels(ax, scale, columns, len(terms))
    legend_place = legend_above(ax, group_names, HEADING_ROOM, title)
    write_legend(ax, marks, group_names, size, title=title, **legend_place)
    sentences = ["Slopes: regressions of variables on scores.", *_sentences(slopes, table)]
    note = drawing.write_note(ax, [*sentences, HIDDEN_INTERVALS])
    drawing.run_layout(ax)  # legend and note leave the height for the marks
    width, height = drawing.size_of(ax)
    largest = min(line(4.0), ROW_HEIGHT * float(height) / (len(terms) * len(groups)))
    shortest = float(np.nanmin(np.concatenate(widths))) * float(width) / (len(columns) - GAP)
    mark = float(np.clip(INNER_SHARE * shortest, SMALLER_MARK * largest, largest))
    for points in marks:
        points.set_markersize(mark)
    if shortest >= mark and note is not None:
        note.remove()
        drawing.write_note(ax, sentences)
    return ax


def _rows_with_room(ax: Axes, groups: Sequence[str], title: str | None) -> int:
    """Return how many variables have room in given axes, with a mark for each group: one or more."""
    columns, size = legend_above(ax, groups, HEADING_ROOM, title)["ncols"], drawing.name_size()
    legend = legend_size(groups, title, columns, size)[1] / size
    row_height = drawing.SMALLEST_MARK * len(groups) / ROW_HEIGHT
    return max(rows_with_room(ax, legend + HEADING_ROOM + NOTE_ROOM, row_height), 1)


def _sentences(slopes: pd.DataFrame, table: pd.DataFrame) -> list[str]:
    """Return the sentences of the note on stars and gaps, and on the variables drawn, those of `table`."""
    level = f"{SHOWN_LEVEL:g}".replace("0.", ".")
    if differ := bool((table["p_adjusted"] <= SHOWN_LEVEL).any()):
        sentences = [f"* differs between groups (familywise p ≤ {level})."]
    else:
        are_tested = bool(table["p_adjusted"].notna().any())
        sentences = [f"No slope differs between groups (familywise p ≤ {level})."] * are_tested
    if table["estimate"].isna().any():
        sentences.append("Gap: does not vary in the group, not tested.")
    term_count, count = table["term"].nunique(), slopes["term"].nunique()
    if term_count < count:
        are_all = term_count == plot_slopes_data(slopes, max_rows=None)["term"].nunique()
        selection = (
            f"those with a loading{' or a difference' * differ}" if are_all else "those with the smallest p"
        )
        sentences.append(f"{term_count} of {count:,} variables: {selection}.")
    return sentences


@explained
def plot_slopes_data(
    slopes: pd.DataFrame, *, max_rows: int | None = 40, components: Several | None = None
) -> pd.DataFrame:
    """Return the rows of `slopes` that `plot_slopes` draws."""
    drawing.need_columns(slopes, ["loading", "estimate", "std_error", "p_adjusted"], "The table of slopes")
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


# --- panels of components --------------------------------------------------------------------------


@dataclass(frozen=True)
class Panels:
    """The scale that the panels of components side by side share: the slopes at their ends."""

    low: float
    high: float

    @classmethod
    def around(cls, low: float, high: float) -> Panels:
        """Return a scale of slopes between two ends, with zero unless it is farther away than their range."""
        if max(low, -high) > high - low:
            return cls(low, high)
        return cls(min(low, 0.0), max(high, 0.0))

    def places(self, panel: Any, slopes: Any) -> np.ndarray:
        """Return the positions of slopes on the horizontal axis, in panels counted from zero."""
        share = (np.asarray(slopes, dtype=float) - self.low) / (self.high - self.low)
        return np.asarray(panel + (1.0 - GAP) * (PANEL_END + (1.0 - 2.0 * PANEL_END) * share))


def draw_panels(ax: Axes, scale: Panels, names: list[Any], rows: int) -> None:
    """Draw the axis, the zero line and the rows of the panel of each component, and name it."""
    starts = np.arange(len(names))
    ends = starts + 1.0 - GAP
    bottom = ax.spines["bottom"]
    bottom.set_visible(False)
    style: dict[str, Any] = {"colors": [bottom.get_edgecolor()], "linewidth": bottom.get_linewidth()}
    ax.hlines([0.0] * len(names), starts, ends, transform=ax.get_xaxis_transform(), clip_on=False, **style)
    if scale.low <= 0.0 <= scale.high:
        zero = scale.places(starts, 0.0)
        ax.vlines(zero, -0.6, rows - 0.4, colors=[shade(ax, 0.4)], linewidth=line(0.8), zorder=1)
    for start, end in zip(starts, ends, strict=True):
        ax.hlines(range(rows), start, end, colors=[shade(ax, 0.08)], linewidth=line(0.6), zorder=0.4)
    ax.set_xlim(0.0, ends[-1])
    ax.set_xticks((starts + ends) / 2, short_names(names, HEADING_WIDTH), parse_math=False)
    ax.tick_params(labelsize=drawing.name_size())
    _number_ticks(ax, scale, starts)


def _number_ticks(ax: Axes, scale: Panels, panels: np.ndarray) -> None:
    """Add round numbers to each panel, as many as do not touch; without room, state the ends of a panel."""
    drawing.run_layout(ax)
    size = drawing.name_size()
    pitch = float(drawing.size_of(ax)[0]) / (len(panels) - GAP)
    margin = PANEL_END / (1.0 - 2.0 * PANEL_END) * (scale.high - scale.low)
    low, high = scale.low - margin, scale.high + margin

    def has_room(numbers: NDArray[np.float64]) -> bool:
        widths = np.array([width_of(tick_text(number), size) for number in numbers])
        places = pitch * scale.places(0, numbers)
        # the first number of the next panel follows the last one
        gaps = np.diff(np.append(places, places[0] + pitch)) - (widths + np.roll(widths, -1)) / 2
        return 2 <= len(numbers) <= MOST_SLOPE_NUMBERS and bool(gaps.min() >= SLOPE_NUMBER_GAP)

    # without room for numbers on both sides of zero, those of the longer one
    one_sided = (low, max(high / 2, low)) if high < -low else (min(low / 2, high), high)
    for limits in ((low, high), one_sided):
        ticks = round_numbers(*limits, has_room, steps=(1, 2, 3, 4, 5))
        if len(ticks):
            break
    labels = [tick_text(tick) for tick in ticks]
    if len(ticks):
        ax.xaxis.remove_overlapping_locs = False
        ax.set_xticks(scale.places(panels[:, None], ticks).ravel(), labels * len(panels), minor=True)
        ax.tick_params(axis="x", which="minor", labelsize=size, length=2.5)
        return
    ends = " to ".join(f"{end:.2g}".replace("-", "−") for end in (scale.low, scale.high))
    ax.set_xlabel(f"{ax.get_xlabel()}\n(each panel: {ends})")
