"""Scores in panels: pairs of components, their densities, and over the rows; sparse coordinates."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, Literal

import numpy as np
import pandas as pd
from matplotlib.dates import AutoDateLocator, ConciseDateFormatter
from matplotlib.ticker import MaxNLocator

from spcastat.arguments import explained, flag, listed, one_of
from spcastat.errors import ComponentsError
from spcastat.hints import ByRow, Palette, Several
from spcastat.labels import HEADING_WIDTH, short_names
from spcastat.plots import drawing
from spcastat.plots.drawing import accents, area, line, need_coloured, shade
from spcastat.plots.legends import EDGE_SPACE, legend_above, legend_size, title_of, write_legend
from spcastat.plots.names import HALO, NAME_HEIGHT, Names
from spcastat.plots.score_plots import (
    Group,
    dots,
    group_rows,
    groups_of,
    row_labels,
    scatter_groups,
)
from spcastat.plots.texts import HINTED, width_of
from spcastat.plots.ticks import InnerTicks, number_axis
from spcastat.reading.checks import real_array

if TYPE_CHECKING:
    from matplotlib.axes import Axes

#: The width of a panel among pairs, and its height among those over the rows, as shares of its place.
PANEL_WIDTH, PANEL_HEIGHT = 0.93, 0.84
#: Largest number of components: more would be too many pairs for a figure.
PANEL_COMPONENTS = 5
#: A group of fewer rows has marks, and no density: Silverman's bandwidth needs an estimate of the spread.
FEWEST_FOR_DENSITY = 5
#: A density is drawn up to so many bandwidths beyond the first and the last row, where it is almost zero.
TAIL = 3.0
#: The densities of more groups would hide one another: one density in grey is that of all rows.
MOST_DENSITIES = 5
#: Up to so many rows each have a mark below the densities.
MOST_ROWS_MARKED = 1000
#: The area of a panel whose points are as large as those of other plots, in squared points.
PAIR_AREA = 8000.0
#: Space between the labels of two panels, in font sizes.
LABEL_SPACE = 0.5
#: The lowest panel of coordinates as a share of its place, whatever the room of its title.
LOWEST_PANEL = 0.5
#: So many points of a stem are kept free of names.
STEM_POINTS = 8
#: Room above a pair for its correlation, in font sizes.
TITLE_ROOM = 1.9
#: Room of the legend above the panels of coordinates and of the note below them, in font sizes.
OUTER_ROOM = 5.0


@explained
def plot_scores(
    scores: pd.DataFrame,
    *,
    components: Several | None = None,
    groups: ByRow | None = None,
    palette: Palette | None = None,
    densities: bool = True,
    against: Literal["components", "index"] | None = None,
    shares: pd.Series | None = None,
    ax: Axes | None = None,
) -> Axes:
    """Draw every pair of the chosen columns of scores and the density of each, or each over the index.

    Parameters
    ----------
    scores : DataFrame, n x k
    components : one to five of int or str, optional
        Components, by number (from 1) or by name; by default the first five, as a note states.
    groups : Series, Categorical or array of length n, optional
        Groups that set colours and markers of the points; at most 20. A Series is matched by its labels.
    palette : mapping, sequence of colours, or str, optional
        The colours of the groups, as for the biplot.
    densities : bool
        Whether the diagonal shows kernel density estimates of each component (Gaussian kernel, Silverman's
        bandwidth), for each group of five rows or more scaled by its share of the rows; with more than five
        groups, of all rows. Up to 1,000 rows are also marked individually.
    against : {"components", "index"}, optional
        Whether components are drawn against one another, or each in a panel over the index of the rows: its
        dates, its numbers, or else the order of the rows. By default over dates if the index has these
        (DatetimeIndex or PeriodIndex), and otherwise against one another.
    shares : Series, optional
        The fraction of variance of each component, for the axis labels. ``shares.attrs["share"]`` names the
        measure and ``shares.attrs["total"]`` another total than the total variance.
    ax : Axes, optional
        The panels are drawn inside it, by default in a new figure. They are its ``child_axes``, row by row.
        The correlation of a pair is written on the other side of the diagonal, or above the diagonal if there
        are no densities.

    Returns
    -------
    Axes

    Raises
    ------
    ComponentsError
        If there are more than five components, or one does not exist.
    ShapeError, OptionError
        If groups do not match the rows, there are too many groups, `against` is invalid, or `ax` is not
        an Axes.
    """
    need_coloured(palette, groups is not None)
    densities = flag("densities", densities)
    table = plot_scores_data(scores, components=components, groups=groups, against=against)
    values, categories = _with_groups(table, groups)
    labels = drawing.axis_names(list(values.columns), shares)
    title = title_of(groups)
    sentences = []
    if _over_index(scores.index, against):
        ax = _draw_over_index(ax, values, labels, categories, palette, title)
    else:
        ax = _draw_pairs(ax, values, labels, categories, palette, densities, title)
        if densities or values.shape[1] == 1:
            sentences += _on_densities(values, categories)
    names = [text for panel in ax.child_axes for text in (panel.get_xlabel(), panel.get_ylabel())]
    sentences += drawing.sentence_on_shares(shares, names) or _shares_in_words(values, shares)
    if components is None and scores.shape[1] > values.shape[1]:
        first_and_last = f"{listed(values.columns[:1])} to {listed(values.columns[-1:])}".replace("'", "")
        sentences.append(f"{first_and_last} of {scores.shape[1]} components.")
    drawing.write_note(ax, sentences, last_panel=ax.child_axes[-1])
    drawing.run_layout(ax)  # ticks of the panels follow their sizes
    return ax


def _shares_in_words(values: pd.DataFrame, shares: pd.Series | None) -> list[str]:
    """Return the sentence of the note on shares that have no room in the labels; nothing without shares."""
    texts = [text.removesuffix(" %") for text in drawing.share_texts(list(values.columns), shares)]
    if shares is None or not all(texts):
        return []
    words = drawing.share_words(shares)
    return [f"{words[0].upper()}{words[1:]}: {', '.join(texts)} %."]


@explained
def plot_scores_data(
    scores: pd.DataFrame,
    *,
    components: Several | None = None,
    groups: ByRow | None = None,
    against: Literal["components", "index"] | None = None,
) -> pd.DataFrame:
    """Return the columns of scores that `plot_scores` draws, and "group" if groups were given.

    Rows drawn over their index have it in its order.
    """
    drawing.frame_of(scores, "scores")
    names = list(scores.columns)
    defaults = range(1, min(len(names), PANEL_COMPONENTS) + 1)
    columns = drawing.positions(defaults if components is None else components, names)
    if len(columns) > PANEL_COMPONENTS:
        raise ComponentsError(
            f"{len(columns)} of {len(names)} components were chosen; pairs of up to {PANEL_COMPONENTS} fit "
            "on one figure."
        )
    values = scores.iloc[:, columns].copy()
    if groups is not None:
        values["group"] = group_rows(groups, scores.index)
    if not _over_index(scores.index, against):
        return values
    return values.iloc[np.argsort(_positions(scores.index)[0], kind="stable")]


def _with_groups(data: pd.DataFrame, groups: Any) -> tuple[pd.DataFrame, pd.Categorical | None]:
    """Return the values of a table that a plot draws, and the groups in its last column if there are any."""
    return (data, None) if groups is None else (data.iloc[:, :-1], data["group"].array)


# --- pairs ---


def _draw_pairs(
    ax: Axes | None,
    values: pd.DataFrame,
    names: list[str],
    groups: pd.Categorical | None,
    palette: Any,
    densities: bool,
    title: str | None,
) -> Axes:
    """Draw a triangle of panels: pairs of components, and on the diagonal their densities."""
    xy, k = values.to_numpy(dtype=float), values.shape[1]
    densities = densities or k == 1
    side = k if densities else k - 1
    inches = {1: 4.6, 2: 5.4, 3: 6.6, 4: 7.8, 5: 8.8}[side]
    ax = drawing.axes_for(ax, inches, 0.75 * inches if k == 1 else inches)
    ax.set_axis_off()
    size = drawing.name_size()
    width, height = drawing.size_of(ax) / side
    gap = 1.0 - PANEL_WIDTH if densities else max(0.13, min(TITLE_ROOM * size / float(height), 0.4))
    shortest = min(PANEL_WIDTH * width, (1.0 - gap) * height)
    names = labels_within(names, list(values.columns), shortest - LABEL_SPACE * size, size + 1.0)
    columns: dict[int, Axes] = {}
    panels: list[Axes] = []
    share = width * height * PANEL_WIDTH * (1.0 - gap) / PAIR_AREA
    for i in range(k - side, k):
        for j in range(i + 1 if densities else i):
            row = i - (k - side)
            panel = ax.inset_axes((j / side, 1 - (row + 1) / side, PANEL_WIDTH / side, (1 - gap) / side))
            panels.append(panel)
            if i == j:
                _draw_density(panel, xy[:, j], groups, palette)
            else:
                _draw_pair(panel, xy[:, [j, i]], groups, palette, share)
            number_axis(panel.xaxis, InnerTicks(size - 0.5, 1.0 / PANEL_WIDTH - 1.0))
            if i != j:
                number_axis(panel.yaxis, InnerTicks(size - 0.5, gap / (1.0 - gap)))
            panel.tick_params(labelsize=size - 0.5, length=2.5)
            top_panel = columns.setdefault(j, panel)
            if top_panel is not panel:
                panel.sharex(top_panel)
            # names and numbers only at the edges of the triangle
            panel.tick_params(labelbottom=i == k - 1, labelleft=j == 0 and i != j)
            style: dict[str, Any] = {"parse_math": False, "fontsize": size + 1.0}
            panel.set_xlabel(names[j] if i == k - 1 else "", **style)
            panel.set_ylabel(names[i] if j == 0 and i != j else "", **style)
    _write_correlations(ax, panels, xy, side, densities)
    if groups is not None:
        kinds = list(groups_of(ax, groups, len(xy), palette))
        names = [kind.name for kind in kinds]
        inner_place = None if densities or side == 1 else _legend_place(ax, names, title, side, gap)
        place = inner_place or legend_above(ax, names, 0.0 if densities else TITLE_ROOM, title)
        alpha = dots(len(xy), 16.0, share, len(kinds))["alpha"]
        write_legend(ax, [kind.mark(alpha) for kind in kinds], names, size, title=title, **place)
    return ax


def labels_within(names: list[str], columns: list[Any], room: float, size: float) -> list[str]:
    """Return the labels of axes in so many points: names of components, and in the same line or the next one
    their shares; without these if they have no room."""
    for labels in (names, [name.replace(" (", "\n(") for name in names]):
        lines = [line for label in labels for line in label.split("\n")]
        if all(HINTED * width_of(line, size) <= room for line in lines):
            return labels
    return short_names(columns, HEADING_WIDTH)


def _legend_place(
    ax: Axes, names: list[str], title: str | None, side: int, gap: float
) -> dict[str, Any] | None:
    """Return the options of a legend right of the diagonal, or None if it has no room there."""
    drawing.run_layout(ax)
    size, (width, height) = drawing.name_size(), drawing.size_of(ax)
    for columns in range(1, len(names) + 1):
        legend_width, depth = legend_size(names, title, columns, size)
        rows = int(np.ceil((depth + 2.0 * EDGE_SPACE * size) * side / height - gap))
        if legend_width + 2.0 * EDGE_SPACE * size <= (side - max(rows, 1)) * width / side:
            return {"loc": "upper right", "bbox_to_anchor": (1.0, 1.0), "ncols": columns}
    return None


def _draw_pair(panel: Axes, xy: np.ndarray, groups: Any, palette: Any, share: float) -> None:
    """Draw the points of two components, smaller in a panel of a small `share` of the usual area."""
    drawing.cross(panel, 0.18, 0.7)
    kinds = list(groups_of(panel, groups, len(xy), palette))
    scatter_groups(panel, xy, kinds, **dots(len(xy), 16.0, share, len(kinds)), zorder=2)
    panel.margins(x=0.06, y=0.12)
    panel.spines[["top", "right"]].set_visible(False)


def _write_correlations(
    ax: Axes, panels: Sequence[Axes], xy: np.ndarray, side: int, is_mirrored: bool
) -> None:
    """Write the correlation of each pair on the opposite side of the diagonal, or above its panel."""
    k, size = xy.shape[1], drawing.name_size()
    pairs = [(i, j) for i in range(k) for j in range(i)]
    r = [drawing.correlation_of(xy[:, j], xy[:, i]) for i, j in pairs]
    texts = [drawing.correlation_text(value) if np.isfinite(value) else "" for value in r]
    if not is_mirrored:
        for panel, words in zip(panels, texts, strict=True):
            panel.set_title(words, fontsize=size - 0.5, color=shade(panel, 0.75), pad=1.5)
        return
    room = PANEL_WIDTH * float(drawing.size_of(ax)[0]) / side
    if (widest := max((HINTED * width_of(words, size) for words in texts), default=0.0)) > room:
        size = max(size * room / widest, drawing.SMALLEST_NAME)
    style: dict[str, Any] = {"ha": "center", "va": "center", "fontsize": size, "gid": "correlation"}
    for (i, j), words in zip(pairs, texts, strict=True):
        middle = ((i + PANEL_WIDTH / 2.0) / side, 1.0 - (j + PANEL_WIDTH / 2.0) / side)
        drawing.write(ax, words, middle, xycoords="axes fraction", color=shade(ax, 0.75), **style)


# --- densities ------------------------------------------------------------------------------------


def _are_many(groups: pd.Categorical | None) -> bool:
    """Return whether groups, and that of missing values, are too many for a density each."""
    return groups is not None and len(np.unique(groups.codes)) > MOST_DENSITIES


def _on_densities(values: pd.DataFrame, groups: pd.Categorical | None) -> list[str]:
    """Return the sentences of the note on densities of groups, and on the marks of rows below densities."""
    sentences, counts = [], [len(values)]
    if groups is not None:
        counts = np.unique(groups.codes, return_counts=True)[1].tolist()
        areas = "Area of a density: the group's share of the rows."
        sentences = ["Densities: all rows together." if _are_many(groups) else areas]
    has_marks = len(values) <= MOST_ROWS_MARKED or min(counts) < FEWEST_FOR_DENSITY
    return [*sentences, *["Ticks: rows."] * has_marks]


def _draw_density(panel: Axes, values: np.ndarray, groups: Any, palette: Any) -> None:
    """Draw the density of each group of five rows or more, or of all rows if there are many groups.

    Rows of small tables and groups have marks.
    """
    kinds = list(groups_of(panel, groups, len(values), palette))
    clouds = kinds
    if _are_many(groups):
        clouds = [Group(np.ones(len(values), dtype=bool), shade(panel, 0.45), "o", "")]
    grid = _grid([values[cloud.rows] for cloud in clouds])
    heights = [density(values[cloud.rows], grid) * cloud.rows.sum() / len(values) for cloud in clouds]
    top = max(float(height.max(initial=0.0)) for height in heights) or 1.0
    for cloud, height in zip(clouds, heights, strict=True):
        if np.isfinite(values[cloud.rows]).sum() >= FEWEST_FOR_DENSITY:
            panel.fill_between(grid, height, color=cloud.colour, alpha=0.3, linewidth=0, zorder=2)
            panel.plot(grid, height, color=cloud.colour, linewidth=line(1.2), zorder=3)
    for kind in kinds:
        is_small = np.isfinite(values[kind.rows]).sum() < FEWEST_FOR_DENSITY
        if is_small or len(values) <= MOST_ROWS_MARKED:
            style: dict[str, Any] = {"colors": [kind.colour], "linewidth": line(1.4 if is_small else 0.7)}
            panel.vlines(values[kind.rows], -0.07 * top, -0.01 * top, zorder=2 + is_small, alpha=0.7, **style)
    panel.set_ylim(-0.08 * top, 1.1 * top)
    panel.set_yticks([])
    panel.spines[["top", "right", "left"]].set_visible(False)


def _grid(samples: Sequence[np.ndarray]) -> np.ndarray:
    """Return the places at which densities are drawn: to both ends of their tails."""
    samples = [values[np.isfinite(values)] for values in samples]
    tails = [
        (values.min() - TAIL * bandwidth(values), values.max() + TAIL * bandwidth(values))
        for values in samples
        if len(values)
    ]
    if not tails:
        return np.zeros(1)
    return np.linspace(min(low for low, _ in tails), max(high for _, high in tails), 300)


def bandwidth(values: np.ndarray) -> float:
    """Return Silverman's bandwidth of a normal kernel, 0.9 min(sd, IQR / 1.34) n^(-1/5); 0 without a spread.

    Values are finite.
    """
    if len(values) < FEWEST_FOR_DENSITY or not np.ptp(values) > 0:
        return 0.0
    low, high = np.quantile(values, [0.25, 0.75])
    sd = float(values.std(ddof=1))
    return float(0.9 * (min(sd, (high - low) / 1.34) or sd) * len(values) ** -0.2)


def density(values: np.ndarray, grid: np.ndarray) -> np.ndarray:
    """Return a Gaussian kernel density estimate at `grid`, with Silverman's `bandwidth`."""
    from scipy.stats import gaussian_kde  # slow to import

    values = values[np.isfinite(values)]
    width = bandwidth(values)
    if not width > 0:
        return np.zeros(len(grid))
    weights = None
    if len(values) > 5000:  # a histogram of 512 cells is accurate to less than the width of a line
        weights, edges = np.histogram(values, 512)
        values = (edges[:-1] + edges[1:]) / 2
    spread = np.sqrt(np.cov(values, aweights=weights))
    return np.asarray(gaussian_kde(values, width / float(spread), weights)(grid))


# --- scores over the index --------------------------------------------------------------------------


def _over_index(index: pd.Index, against: Any) -> bool:
    """Return whether scores are drawn over the index of their rows."""
    if against is None:
        return isinstance(index, (pd.DatetimeIndex, pd.PeriodIndex)) and not index.hasnans
    return one_of("against", against, ("components", "index")) == "index"


def _positions(index: pd.Index) -> tuple[np.ndarray, str]:
    """Return the dates or numbers of an index, or the numbers of the rows from 1; and what they are."""
    title = title_of(index) or ""
    if not index.hasnans:
        if isinstance(index, pd.PeriodIndex):
            return index.to_timestamp().to_numpy(), title
        if isinstance(index, pd.DatetimeIndex):
            return index.tz_localize(None).to_numpy(), title  # the time on the clock
        if (numbers := real_array(index)) is not None and index.is_unique:
            return numbers, title or "Row"
    return np.arange(1, len(index) + 1), "Row"


def _draw_over_index(
    ax: Axes | None,
    values: pd.DataFrame,
    names: list[str],
    groups: pd.Categorical | None,
    palette: Any,
    title: str | None,
) -> Axes:
    """Draw each component over the index in a panel; rows of groups have marks in their colours."""
    n, k = values.shape
    x, title_of_x = _positions(values.index)
    ax = drawing.axes_for(ax, 6.4, 0.9 + 1.3 * k)
    size = drawing.name_size()
    kinds = list(groups_of(ax, groups, n, palette))
    style = dots(n, 14.0, groups=len(kinds))
    panels = list(drawing.stacked(ax, values.columns, PANEL_HEIGHT))
    height = PANEL_HEIGHT * float(drawing.size_of(ax)[1]) / k
    names = labels_within(names, list(values.columns), height, size + 1.0)
    for panel, name, column in zip(panels, names, values.to_numpy(dtype=float).T, strict=True):
        panel.axhline(0, color=shade(panel, 0.3), linewidth=line(0.7), zorder=1)
        colour = accents(panel)[0] if groups is None else shade(panel, 0.45)
        panel.plot(x, column, color=colour, linewidth=line(1.1 if groups is None else 0.7), zorder=2)
        if groups is not None:
            scatter_groups(panel, (x, column), kinds, **style, zorder=3)
        if np.issubdtype(x.dtype, np.datetime64):
            locator = AutoDateLocator(minticks=3, maxticks=7)
            panel.xaxis.set_major_locator(locator)
            panel.xaxis.set_major_formatter(ConciseDateFormatter(locator))
        elif (x == np.round(x)).all():
            panel.xaxis.set_major_locator(MaxNLocator("auto", steps=[1, 2, 5, 10], integer=True))
        number_axis(panel.yaxis, InnerTicks(size, 1.0 / PANEL_HEIGHT - 1.0))
        panel.tick_params(labelsize=size)
        panel.xaxis.get_offset_text().set_fontsize(size)
        panel.set_ylabel(name, fontsize=size + 1.0, parse_math=False)
    panels[-1].set_xlabel(title_of_x, fontsize=size + 1.0, parse_math=False)
    if groups is not None:
        names = [kind.name for kind in kinds]
        place = legend_above(panels[0], names, title=title)
        marks = [kind.mark(style["alpha"]) for kind in kinds]
        write_legend(panels[0], marks, names, size, title=title, **place)
    return ax


# --- sparse coordinates ----------------------------------------------------------------------------


@explained
def plot_coordinates(
    coordinates: pd.DataFrame,
    *,
    components: Several | None = None,
    groups: ByRow | None = None,
    palette: Palette | None = None,
    ax: Axes | None = None,
) -> Axes:
    """Draw each column of sparse coordinates over the rows (Dou, Dai, Xu and Zhang, Figure 2).

    Nonzero coordinates are drawn as stems, zeros as small dots on the line, as a note says. If rows have
    names, the rows with the three largest coordinates are labelled. Rows are at their labels if these are
    successive numbers, else at 1, 2, ...

    Parameters
    ----------
    coordinates : DataFrame, n x k
    components : sequence of int or str, optional
        Components, by number (from 1) or by name; by default all.
    groups : Series, Categorical or array of length n, optional
        Groups that set the colours of the stems; rows are in the order of the data.
    palette : mapping, sequence of colours, or str, optional
        As for the biplot.
    ax : Axes, optional
        The panels, its ``child_axes``, are drawn in its place; by default a new figure is created.

    Returns
    -------
    Axes

    Raises
    ------
    ComponentsError, ShapeError, OptionError
        If a component does not exist, groups do not match the rows, or `ax` is not an Axes.
    """
    data = plot_coordinates_data(coordinates, components=components, groups=groups, palette=palette)
    values, categories = _with_groups(data, groups)
    n, k = values.shape
    ax = drawing.axes_for(ax, 7.0, 0.7 + 1.5 * k)
    kinds = list(groups_of(ax, categories, n, palette))
    (row, label), size = _row_numbers(values.index), drawing.name_size()
    headings = short_names(list(values.columns), HEADING_WIDTH)
    drawing.run_layout(ax)
    panels_height = max(float(drawing.size_of(ax)[1]) - OUTER_ROOM * size, size)
    title_share = TITLE_ROOM * size * k / panels_height  # of the place of a panel
    height = min(PANEL_HEIGHT, max(1.0 - title_share, LOWEST_PANEL))
    for j, panel in enumerate(drawing.stacked(ax, values.columns, height)):
        column = values.iloc[:, j].to_numpy(dtype=float)
        zero = column == 0
        panel.axhline(0, color=shade(panel, 0.35), linewidth=line(0.7), zorder=1)
        style_of_zeros: dict[str, Any] = {
            "s": area(3),
            "color": [shade(panel, 0.45)],
            "linewidths": 0,
            "zorder": 1.5,
        }
        panel.scatter(row[zero], column[zero], **style_of_zeros)
        for kind in kinds:
            x, y = row[kind.rows & ~zero], column[kind.rows & ~zero]
            panel.vlines(x, 0, y, colors=[kind.colour], linewidth=line(1.0), zorder=2)
            style: dict[str, Any] = {"s": area(12), "color": [kind.colour], "marker": kind.marker}
            panel.scatter(x, y, zorder=3, linewidths=0, **style)
        if j == 0 and categories is not None:
            names, title = [kind.name for kind in kinds], title_of(groups)
            place = legend_above(panel, names, TITLE_ROOM, title)
            write_legend(panel, [kind.mark() for kind in kinds], names, size, title=title, **place)
        _name_rows(panel, values.index, row, column)
        heading = f"{headings[j]}: {int((~zero).sum()):,} of {n:,} rows nonzero"
        style = {"fontsize": size, "color": shade(panel, 0.75), "pad": 2, "parse_math": False}
        panel.set_title(heading, **style)
        panel.set_ylabel("Coordinate" if j == k // 2 else "", fontsize=size + 1.0)
        panel.set_xlim(row[0] - 0.5 - 0.01 * n, row[-1] + 0.5 + 0.01 * n)
        number_axis(panel.yaxis, InnerTicks(size, 1.0 / height - 1.0))
        panel.xaxis.set_major_locator(MaxNLocator("auto", steps=[1, 2, 5, 10], integer=True))
        panel.tick_params(labelsize=size)
        panel.set_xlabel(label if j == k - 1 else "", fontsize=size + 1.0, parse_math=False)
    on_zeros = " Grey dots: zeros." * bool((values == 0).to_numpy().any())
    drawing.write_note(ax, [f"Sparse principal coordinates of the rows.{on_zeros}"], last_panel=panel)
    drawing.run_layout(ax)  # ticks of the panels follow their sizes
    return ax


def _row_numbers(index: pd.Index) -> tuple[np.ndarray, str]:
    """Return the labels of rows if they are successive whole numbers, else 1, 2, ...; and what they are."""
    numbers = None if index.hasnans else real_array(index)
    if numbers is not None and (np.diff(numbers) == 1.0).all() and numbers[0].is_integer():
        return numbers, title_of(index) or "Row"
    return np.arange(1, len(index) + 1), "Row, counted from 1"


def _name_rows(panel: Axes, index: pd.Index, row: np.ndarray, column: np.ndarray) -> None:
    """Name the rows of the largest coordinates, if rows have names, beside the stems."""
    size, places = drawing.name_size(), np.column_stack([row, column])
    heights = np.linspace(1.0 / STEM_POINTS, 1.0, STEM_POINTS)
    stems = np.column_stack([np.repeat(row, STEM_POINTS), np.outer(column, heights).ravel()])
    texts = Names(panel, size, stems[np.repeat(column != 0, STEM_POINTS)])
    labels = row_labels(None, index, np.abs(column))
    for i in np.argsort(-np.abs(column), kind="stable").tolist():
        if labels[i] and column[i] != 0:
            texts.add(places[i], labels[i], shade(panel, 0.75))
    beside_top = NAME_HEIGHT * size / 2.0 + HALO + 1.0  # of a name beside the longest stem
    panel.margins(y=max(0.15, beside_top / max(float(drawing.size_of(panel)[1]) - 2.0 * beside_top, 1.0)))


@explained
def plot_coordinates_data(
    coordinates: pd.DataFrame,
    *,
    components: Several | None = None,
    groups: ByRow | None = None,
    palette: Palette | None = None,
) -> pd.DataFrame:
    """Return the columns that `plot_coordinates` draws, and "group" if groups were given."""
    need_coloured(palette, groups is not None)
    drawing.frame_of(coordinates, "coordinates")
    columns = drawing.positions(components, list(coordinates.columns))
    values = coordinates.iloc[:, columns].copy()
    return values if groups is None else values.assign(group=group_rows(groups, coordinates.index))
