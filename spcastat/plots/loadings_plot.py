"""Loadings as dots or intervals, a heat map, lines over the columns, or images; zeros are not drawn.

Also bars of contributions, squared cosines and frequencies of selection.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, Literal

import numpy as np
import pandas as pd

from spcastat.argument_names import explained
from spcastat.argument_types import Sections, Several
from spcastat.config import elements, flag, is_whole, listed, one_of, real_number, shown, text
from spcastat.errors import ComponentsError, DataError, OptionError, ShapeError
from spcastat.labels import short_name, short_names
from spcastat.linalg.eigenvectors import leading
from spcastat.plots import axes_and_names as helpers
from spcastat.plots.axes_and_names import accents, area, colours_of, ink, line, shade
from spcastat.plots.slopes import FILL, draw_bands
from spcastat.reading.checks import real_array
from spcastat.reading.frames import variable_groups

if TYPE_CHECKING:
    from matplotlib.axes import Axes

Kind = Literal["dots", "heatmap", "line", "image"]
#: Kinds of plots that show every variable at its position among the columns.
MAPS = ("line", "image")


@explained
def plot_loadings(
    loadings: pd.DataFrame,
    *,
    kind: Kind | None = None,
    sort: bool = True,
    max_rows: int | None = 40,
    components: Several | None = None,
    sections: Sections | None = None,
    intervals: pd.DataFrame | None = None,
    shape: tuple[int, int] | None = None,
    ax: Axes | None = None,
) -> Axes:
    """Draw the nonzero loadings, variables from top to bottom and components from left to right.

    Parameters
    ----------
    loadings : DataFrame, p x k
        Variables without a nonzero loading are left out.
    kind : {"dots", "heatmap", "line", "image"}, optional
        Dots on stems from the zero line of each component; a heat map in which exact zeros are white; a line
        over all columns in their order for each component, for spectra and series (columns named by numbers,
        perhaps with a unit, are placed by them); or an image for each component, for pixels. By default dots;
        an image if `shape` is given, and a line for more than 100 columns named by increasing or decreasing
        numbers.
    sort : bool
        Whether dots and heat maps show the variables of each component together, the largest absolute loading
        first; otherwise the variables are in the order of the data.
    max_rows : int, optional
        The largest number of variables of dots and heat maps; None is all. If more have a nonzero loading,
        the components take turns in choosing the variable with their largest remaining absolute loading, and
        the axis label says how many there are.
    components : sequence of int or str, optional
        Numbers counted from one, or names; by default all.
    sections : Series, mapping or sequence of length p, optional
        The section of each variable, for dots and heat maps. Variables of a section are shown together, with
        its name next to them; sections are in the order of the categories or of their first variables.
    intervals : DataFrame, optional
        With columns "component", "term", "lower" and "upper", as ``conf_int()`` of a bootstrap returns them:
        dots get a bar from lower to upper.
    shape : (int, int), optional
        Height and width of an image, pixels row by row; needed for ``kind="image"``.
    ax : Axes, optional
        By default a new figure is created, as high as the variables need. A heat map uses some of the space
        for the colour bar; the panels of lines and images, its ``child_axes``, are drawn inside it.

    Returns
    -------
    Axes

    Raises
    ------
    ShapeError
        If `loadings` is not a data frame, or sections, intervals or `shape` do not match it.
    ComponentsError
        If a component does not exist.
    OptionError
        If `kind` or `max_rows` is out of range, the kind does not have an option, or `ax` is not an Axes.
    DataError
        If all loadings are zero.
    """
    kind = _kind(kind, loadings, sections, intervals, shape)
    data = plot_loadings_data(
        loadings,
        kind=kind,
        sort=sort,
        max_rows=max_rows,
        components=components,
        sections=sections,
        intervals=intervals,
        shape=shape,
    )
    if kind == "line":
        ax = helpers.axes_for(ax, 7.0, 0.7 + 1.3 * data.shape[1])
        draw_lines(ax, data)
        return ax
    if kind == "image":
        return draw_images(ax, data, _image_shape(shape, len(data)))
    names, heads = data.attrs["labels"], data.attrs["sections"]
    loaded = int((loadings[list(data.columns)] != 0).any(axis=1).sum())
    limits = None if intervals is None else intervals_of(intervals, data)
    rows, k = data.shape
    margin = 0.9 + 0.075 * max(map(len, names)) + 1.2 * bool(heads)
    width = margin + (0.95 if kind == "dots" else 0.7) * max(k, 2) + (kind == "heatmap")
    height = 1.1 + 0.24 * max(rows, 4)
    ax = helpers.axes_for(ax, float(np.clip(width, 4.0, 14.0)), height, helpers.ROWS_ONLY, kind == "heatmap")
    helpers.name_rows(ax, names, components_above=True)
    left_out = f"\n{rows} of {loaded} variables: the\nlargest of each component"
    ax.set_xlabel("Loading" + left_out * (rows < loaded))
    helpers.run_layout(ax)
    # names of variables are smaller if rows are close
    pitch = 0.85 * float(helpers.size_of(ax)[1]) / rows
    full = ax.yaxis.get_ticklabels()[0].get_fontsize()
    ax.tick_params(axis="y", labelsize=float(np.clip(pitch, 4.5, full)))
    if heads:
        _head_sections(ax, heads)
    if kind == "dots":
        draw_dots(ax, data, limits)
    else:
        draw_heatmap(ax, data)
    return ax


@explained
def plot_loadings_data(
    loadings: pd.DataFrame,
    *,
    kind: Kind | None = None,
    sort: bool = True,
    max_rows: int | None = 40,
    components: Several | None = None,
    sections: Sections | None = None,
    intervals: pd.DataFrame | None = None,
    shape: tuple[int, int] | None = None,
) -> pd.DataFrame:
    """Return the loadings that `plot_loadings` draws, variables in the order of the figure.

    For dots and heat maps, ``attrs["labels"]`` are the names in the figure and ``attrs["sections"]`` the
    sections of the variables (empty without sections).
    """
    kind = _kind(kind, loadings, sections, intervals, shape)
    sort = flag("sort", sort)
    values = helpers.frame_of(loadings)
    chosen = helpers.positions(components, list(loadings.columns))
    loadings, values = loadings.iloc[:, chosen], values[:, chosen]
    if not values.any():
        raise DataError("All loadings are zero; there is nothing to draw.")
    if kind in MAPS:
        if kind == "image":
            _image_shape(shape, len(loadings))
        return loadings.copy()
    kept = leading(values, helpers.row_limit(max_rows, len(values)))
    if sort:
        size = np.abs(values[kept])
        kept = kept[np.lexsort((-size.max(axis=1), size.argmax(axis=1)))]
    heads: list[str] = []
    if sections is not None:
        found = variable_groups(sections, loadings.index)
        codes = np.where(found.codes < 0, len(found.categories), found.codes)
        kept = kept[np.argsort(codes[kept], kind="stable")]
        heads = [[*map(str, found.categories), "(none)"][codes[i]] for i in kept]
    data = loadings.iloc[kept].copy()
    data.attrs["labels"], data.attrs["sections"] = short_names(list(data.index)), heads
    if intervals is not None:
        intervals_of(intervals, data)
    return data


def _kind(kind: Kind | None, loadings: pd.DataFrame, sections: Any, intervals: Any, shape: Any) -> Kind:
    """Return the kind of plot that was given, or the one for these arguments; check that it takes them."""
    if kind is not None:
        one_of("kind", kind, ["dots", "heatmap", *MAPS])
    elif shape is not None:
        kind = "image"
    else:
        helpers.frame_of(loadings)
        spectrum = len(loadings) > 100 and column_places(list(loadings.index))[1] != UNNAMED
        kind = "line" if spectrum and sections is None and intervals is None else "dots"
    if intervals is not None and kind != "dots":
        raise OptionError(f"intervals were given with kind={kind!r}; they go with kind='dots'.")
    if sections is not None and kind in MAPS:
        raise OptionError(f"sections were given with kind={kind!r}; they go with kind='dots' and 'heatmap'.")
    if (shape is None) != (kind != "image"):
        raise OptionError(
            f"shape={shown(shape)} was given with kind={kind!r}; kind='image' needs the height and "
            "width of the image, such as shape=(28, 28), and no other kind has them."
        )
    return kind


def _image_shape(shape: Any, p: int) -> tuple[int, int]:
    """Return height and width of an image of p pixels; raise ShapeError for anything else."""
    sides = elements(shape, 3)
    if len(sides) != 2 or not all(is_whole(side) and side > 0 for side in sides) or sides[0] * sides[1] != p:
        raise ShapeError(
            f"shape={shown(shape)} was given for {p} variables; it must be height and width with "
            f"height x width = {p}."
        )
    return int(sides[0]), int(sides[1])


def _head_sections(ax: Axes, heads: list[str]) -> None:
    """Draw lines between sections of variables, and their names at the right edge."""
    begins = [i for i, head in enumerate(heads) if i == 0 or heads[i - 1] != head]
    for begin, end in zip(begins, [*begins[1:], len(heads)], strict=True):
        if begin:
            ax.axhline(begin - 0.5, color=shade(ax, 0.55), linewidth=line(0.9), zorder=3)
        style: dict[str, Any] = {"fontsize": "small", "fontstyle": "italic", "color": ink(ax), "gid": "group"}
        style |= {"xycoords": ("axes fraction", "data"), "va": "center"}
        helpers.write(ax, heads[begin], (1.0, (begin + end - 1) / 2), (6, 0), **style)


# --- dots and intervals ----------------------------------------------------------------------------


def intervals_of(intervals: pd.DataFrame, loadings: pd.DataFrame) -> np.ndarray:
    """Return lower and upper limits of the loadings drawn, (rows, k, 2); NaN without an interval.

    Raises
    ------
    ShapeError
        If a column is missing, or there is no interval for any of the loadings drawn.
    DataError
        If limits are not numbers, or a lower limit is above its upper limit.
    """
    needed = ("component", "term", "lower", "upper")
    if missing := [name for name in needed if name not in getattr(intervals, "columns", ())]:
        raise ShapeError(f"intervals lacks the columns {listed(missing)}; it needs {listed(needed)}.")
    numbers = real_array(intervals[["lower", "upper"]].to_numpy())
    if numbers is None or (numbers[:, 0] > numbers[:, 1]).any():
        raise DataError("The limits of the intervals must be numbers, the lower one not above the upper one.")
    rows = loadings.index.get_indexer(pd.Index(intervals["term"]))
    columns = loadings.columns.get_indexer(pd.Index(intervals["component"]))
    known = (rows >= 0) & (columns >= 0)
    if not known.any():
        raise ShapeError("intervals has none of the variables and components that are drawn.")
    found = np.full((*loadings.shape, 2), np.nan)
    found[rows[known], columns[known]] = numbers[known]
    return found


def draw_dots(ax: Axes, data: pd.DataFrame, limits: np.ndarray | None) -> None:
    """Draw each nonzero loading as a dot at x = component + FILL * loading / largest.

    `data` has variables in rows and components in columns. Without `limits` a stem joins the dot to the zero
    line; with `limits` a bar shows the interval, and both are grey if the interval contains zero.
    """
    values = data.to_numpy(dtype=float)
    reach = 0.0 if limits is None else np.nanmax(np.abs(limits), initial=0.0)
    largest = float(max(np.nanmax(np.abs(values)), reach))
    draw_bands(ax, data, largest)
    signs = accents(ax)
    if limits is None:
        rows, columns = np.nonzero(values)
        x = columns + FILL * values[rows, columns] / largest
        colours = [signs[int(value < 0)] for value in values[rows, columns].tolist()]
        ax.hlines(rows, columns, x, colors=colours, linewidth=line(1.6), zorder=2)
        ax.scatter(
            x, rows, c=colours, s=area(float(np.clip(900 / len(values), 10, 30))), linewidths=0, zorder=3
        )
        return
    # an interval from zero to zero belongs to a loading that no draw selected
    barred = np.isfinite(limits).all(axis=2) & (limits != 0).any(axis=2)
    for i, j in np.argwhere((values != 0) | barred).tolist():
        (low, high), value = limits[i, j], values[i, j]
        sure = low > 0 or high < 0 or not np.isfinite(low)
        colour = signs[int(value < 0)] if sure else shade(ax, 0.5)
        if np.isfinite(low):
            left, right = (j + FILL * np.array([low, high]) / largest).tolist()
            ax.hlines(i, left, right, colors=[colour], linewidth=line(1.8), zorder=2, gid="interval")
        if value != 0:
            ax.plot(j + FILL * value / largest, i, "o", color=colour, markersize=line(4.5), zorder=3)


#: The label of an axis with the positions of columns whose names are not written.
UNNAMED = "Column"
#: A number, perhaps with a unit, as the name of a column.
_NUMBERED = re.compile(r"^\s*([-+]?\d+(?:\.\d+)?(?:[eE][-+]?\d+)?)\s*([^\d\s][^\d]*)?$")


def _image(ax: Axes, values: np.ndarray, largest: float, **style: Any) -> Any:
    """Draw values from orange (negative) to purple, safe for colour-blind readers; zeros are white."""
    ax.set_facecolor("white")
    style |= {"cmap": "PuOr", "vmin": -largest, "vmax": largest, "interpolation": "nearest"}
    return ax.imshow(np.ma.masked_equal(values, 0), **style)


def _colour_bar(ax: Axes, image: Any, **style: Any) -> None:
    figure = ax.get_figure()
    assert figure is not None
    bar = figure.colorbar(image, ax=ax, **style)
    bar.outline.set_visible(False)
    bar.ax.tick_params(labelsize="small")


# --- heat map -------------------------------------------------------------------------------------


def draw_heatmap(ax: Axes, data: pd.DataFrame) -> None:
    """Draw `data` (variables by components); exact zeros are white, values are printed if they fit."""
    values = data.to_numpy(dtype=float)
    rows, k = values.shape
    image = _image(ax, values, float(np.nanmax(np.abs(values))), aspect="auto")
    ax.set_xlim(-0.5, k - 0.5)
    ax.set_ylim(rows - 0.5, -0.5)
    ax.set_xticks(range(k), [short_name(name, 12) for name in data.columns], parse_math=False)
    ax.hlines(np.arange(rows + 1) - 0.5, -0.5, k - 0.5, colors=[shade(ax, 0.1)], linewidth=line(0.6))
    ax.vlines(np.arange(k + 1) - 0.5, -0.5, rows - 0.5, colors=[shade(ax, 0.1)], linewidth=line(0.6))
    ax.spines["bottom"].set_visible(False)
    _colour_bar(ax, image, fraction=0.06, pad=0.03, aspect=25)
    _print_values(ax, values, np.asarray(image.to_rgba(values)))


def _print_values(ax: Axes, values: np.ndarray, colours: np.ndarray) -> None:
    """Print every nonzero value in black or white; if they do not fit, mark negative cells with a minus.

    Without the minus, negative and positive cells could not be distinguished in a greyscale print.
    """
    helpers.run_layout(ax)
    inks = np.where(colours[..., :3] @ np.array([0.299, 0.587, 0.114]) > 0.53, "black", "white")
    texts = [
        ax.text(j, i, helpers.value_text(values[i, j]), fontsize="small", color=inks[i, j], ha="center")
        for i, j in np.argwhere(values != 0).tolist()
    ]
    corners = ax.transData.transform([(0, 0), (1, 1)])
    width, height = np.abs(corners[1] - corners[0])
    extents = [text.get_window_extent() for text in texts]
    if max(box.width for box in extents) > 0.95 * width or max(box.height for box in extents) > height:
        for text in texts:
            text.remove()
        rows, columns = np.nonzero(values < 0)
        marks: dict[str, Any] = {"marker": "_", "c": inks[rows, columns].tolist(), "s": 9, "linewidths": 0.8}
        ax.scatter(columns, rows, zorder=3, **marks)
    for text in texts:
        text.set_verticalalignment("center_baseline")


# --- lines over the columns -----------------------------------------------------------------------


def draw_lines(ax: Axes, loadings: pd.DataFrame) -> None:
    """Draw the loadings of each component over the columns, in one panel each; zeros interrupt the line."""
    values, p = loadings.to_numpy(dtype=float), len(loadings)
    x, what, names = column_places(list(loadings.index))
    largest = 1.1 * float(np.abs(values).max())
    room = 0.01 * float(np.ptp(x)) or 0.5
    blue, orange = accents(ax)
    stem = line(float(np.clip(400 / p, 0.6, 3.0)))
    for panel, column in zip(helpers.stacked(ax, loadings.columns, 0.86), values.T, strict=True):
        colours = [blue if v > 0 else orange for v in column]
        panel.axhline(0, color=shade(ax, 0.3), linewidth=line(0.7), zorder=1)
        panel.vlines(x, 0, column, colors=colours, linewidth=stem, zorder=2)
        panel.plot(x, np.where(column != 0, column, np.nan), color=ink(ax), linewidth=line(0.9), zorder=3)
        panel.set(ylim=(-largest, largest), xlim=(float(x.min()) - room, float(x.max()) + room))
        panel.locator_params(axis="y", nbins=3)
        panel.tick_params(axis="y", labelsize="small")
    panel.set_xlabel(what, parse_math=False)
    if names:
        step = max(-(-p // 12), 1)
        texts = [short_name(one, 14) for one in names[::step]]
        panel.set_xticks(x[::step], texts, rotation=45, ha="right", parse_math=False)


def column_places(names: Sequence[Any]) -> tuple[np.ndarray, str, list[Any]]:
    """Return the positions of columns on an axis, its label, and names for its ticks, if any.

    If all names are numbers, possibly with a common unit, and increase or decrease, they are the positions;
    otherwise the positions are 1 to p.
    """
    p = len(names)
    found = [_NUMBERED.match(str(name)) for name in names]
    if p > 1 and all(found):
        numbers = np.array([float(one[1]) for one in found if one is not None])
        units = {(one[2] or "").strip() for one in found if one is not None}
        steps = np.diff(numbers)
        if len(units) == 1 and ((steps > 0).all() or (steps < 0).all()):
            return numbers, units.pop(), []
    return np.arange(1, p + 1, dtype=float), "" if p <= 60 else UNNAMED, list(names) if p <= 60 else []


# --- images ---------------------------------------------------------------------------------------


def draw_images(ax: Axes | None, loadings: pd.DataFrame, shape: tuple[int, int]) -> Axes:
    """Draw the loadings of each component as an image, with a common colour scale."""
    values = loadings.to_numpy(dtype=float)
    k = values.shape[1]
    columns = min(k, 4)
    lines = -(-k // columns)
    tall = float(np.clip(shape[0] / shape[1], 0.3, 3.0))
    ax = helpers.axes_for(ax, 2.0 * columns + 0.9, 2.0 * tall * lines + 0.5, bar=True)
    ax.set_axis_off()
    for j in range(k):
        row, column = divmod(j, columns)
        panel = ax.inset_axes((column / columns, 1 - (row + 1) / lines, 0.94 / columns, 0.84 / lines))
        image = _image(panel, values[:, j].reshape(shape), float(np.abs(values).max()))
        panel.set(xticks=[], yticks=[])
        for spine in panel.spines.values():
            spine.set_color(shade(ax, 0.4))
        title = f"{short_name(loadings.columns[j], 14)}: {np.count_nonzero(values[:, j])} pixels"
        panel.set_title(title, fontsize="small", pad=3, parse_math=False)
    _colour_bar(ax, image, fraction=0.035, pad=0.02, aspect=30)
    return ax


# --- contributions and squared cosines ------------------------------------------------------------


#: Kind of values -> label of their axis.
KINDS = {"contributions": "Contribution to the component, %", "cos2": "Squared cosine (quality of display)"}


@explained
def plot_contributions(
    values: pd.DataFrame,
    *,
    components: int | str | Several = 1,
    kind: Literal["contributions", "cos2"] = "contributions",
    of: str = "variables",
    max_rows: int | None = 20,
    ax: Axes | None = None,
) -> Axes:
    """Draw contributions or squared cosines as bars, one for each component, the largest first.

    Parameters
    ----------
    values : DataFrame, p x k or n x k
        Fractions, as `contributions` or `cos2` of a fit returns them.
    components : int, str, or up to six of them
        Numbers counted from one, or names.
    kind : {"contributions", "cos2"}
        Contributions are drawn in percent. The dashed line marks equal contributions of all, the dotted one
        equal contributions of all that are not zero.
    of : str
        What the rows of `values` are.
    max_rows : int, optional
        The largest number of rows; a note says how many more have a nonzero value. None draws all.
    ax : Axes, optional
        By default a new figure is created.

    Returns
    -------
    Axes

    Raises
    ------
    ComponentsError
        If a component does not exist, or there are more than six.
    OptionError
        If `kind` or `max_rows` is out of range, or `ax` is not an Axes.
    DataError
        If all values are zero or missing.
    """
    one_of("kind", kind, KINDS)
    of = text("of", of)
    data = plot_contributions_data(values, components=components, max_rows=max_rows)
    names = data.attrs["labels"]
    every = np.nan_to_num(values[list(data.columns)].to_numpy(dtype=float))
    values_shown, (rows, k) = np.nan_to_num(data.to_numpy(dtype=float)), data.shape
    factor = 100.0 if kind == "contributions" else 1.0
    width, height = 3.6 + 0.075 * max(map(len, names)), 1.2 + (0.16 + 0.1 * k) * max(rows, 4)
    ax = helpers.axes_for(ax, width, height, helpers.ROWS_ONLY)
    _draw_bars(ax, factor * values_shown, list(data.columns))
    equal = _equal_lines(ax, every, factor) if kind == "contributions" else []
    helpers.name_rows(ax, names)
    ax.set_xlim(0, max(1.04 * factor * float(values_shown.max()), 1.1 * max(equal, default=0.0)))
    ax.grid(axis="x", color=shade(ax, 0.12), linewidth=line(0.6))
    ax.set_axisbelow(True)
    label, only = KINDS[kind], short_name(data.columns[0])
    if k == 1:
        label = label.replace("the component", only) if kind == "contributions" else f"{label}, {only}"
    ax.set_xlabel(label, parse_math=False)
    if k > 1 or equal:  # above the bars, since there is no room next to them
        above: dict[str, Any] = {"loc": "lower left", "bbox_to_anchor": (0.0, 1.0), "ncols": min(k, 3)}
        ax.legend(frameon=False, fontsize="small", **above)
    helpers.run_layout(ax)
    unseen = int((every > 0).any(axis=1).sum()) - rows
    helpers.write_note(ax, [f"The largest {rows}; {unseen} more {of} have a nonzero value." * (unseen > 0)])
    return ax


@explained
def plot_contributions_data(
    values: pd.DataFrame,
    *,
    components: int | str | Several = 1,
    max_rows: int | None = 20,
) -> pd.DataFrame:
    """Return the values that `plot_contributions` draws, rows sorted by their decreasing sums.

    ``attrs["labels"]`` are the names in the figure, in the order of the rows.
    """
    helpers.frame_of(values, "values")
    chosen = helpers.positions(components, list(values.columns))
    if len(chosen) > 6:
        raise ComponentsError(f"{len(chosen)} components were chosen; at most 6 fit beside one another.")
    every = np.nan_to_num(values.iloc[:, chosen].to_numpy(dtype=float))
    total = every.sum(axis=1)
    if not total.any():
        raise DataError("All values are zero or missing; there is nothing to draw.")
    order = np.argsort(-total, kind="stable")
    order = order[total[order] > 0][: helpers.row_limit(max_rows, len(order))]
    data = values.iloc[order, chosen].copy()
    data.attrs["labels"] = short_names(list(data.index), 28)
    return data


def _draw_bars(ax: Axes, values: np.ndarray, components: list[Any]) -> None:
    """Draw the nonzero values of each row as adjacent bars, centred at the number of the row."""
    rows, k = values.shape
    width = 0.8 / k
    before = np.cumsum(values != 0, axis=1) - 1
    middle = ((values != 0).sum(axis=1)[:, None] - 1) / 2
    place = np.arange(rows)[:, None] + (before - middle) * width
    for j, (name, colour) in enumerate(zip(components, colours_of(ax, None, components), strict=True)):
        here = values[:, j] != 0
        label = short_name(name) if k > 1 else None
        ax.barh(place[here, j], values[here, j], height=0.9 * width, color=colour, label=label, zorder=2)


def _equal_lines(ax: Axes, every: np.ndarray, factor: float) -> list[float]:
    """Draw lines at equal contributions of all rows and, for one component, of the nonzero rows."""
    count, loaded = len(every), int(np.count_nonzero(every[:, 0]))
    lines = [(count, f"all {count}", (0, (5, 3)))]
    if every.shape[1] == 1 and 0 < loaded < count:
        lines.append((loaded, f"{loaded} not zero", (0, (1, 2))))
    for many, what, dashes in lines:
        label = f"equal, {what}: {factor / many:.3g} %"
        ax.axvline(factor / many, color=ink(ax), linestyle=dashes, linewidth=line(1.1), zorder=3, label=label)
    return [factor / many for many, _, _ in lines]


# --- frequencies ----------------------------------------------------------------------------------


#: Length of a bar of frequency one, as a share of the width of a component's band.
FULL = 0.85


@explained
def plot_frequency(
    frequency: pd.DataFrame,
    loadings: pd.DataFrame,
    threshold: float | None = None,
    *,
    max_rows: int | None = 40,
    components: Several | None = None,
    ax: Axes | None = None,
) -> Axes:
    """Draw a bar for each frequency, a band for each component, and a line at the threshold.

    Parameters
    ----------
    frequency, loadings : DataFrame, p x k
        Variables that the fit selects have blue bars, others grey ones.
    threshold : float in [0, 1], optional
        By default no line is drawn.
    max_rows : int, optional
        The largest number of variables to show. Those selected in the fit or in at least a tenth of the draws
        are shown, the most frequent of every component first. None shows all of these.
    components : sequence of int or str, optional
        Numbers counted from one, or names; by default all.
    ax : Axes, optional
        By default a new figure is created.

    Returns
    -------
    Axes
    """
    which, chosen = _frequent(frequency, loadings, threshold, max_rows, components)
    data = frequency.iloc[which, chosen]
    loaded = loadings.iloc[which, chosen].to_numpy() != 0
    values, (rows, k) = data.to_numpy(dtype=float), data.shape
    names = [short_name(name) for name in data.index]
    width = 0.9 + 0.075 * max(map(len, names)) + 1.1 * max(k, 2)
    ax = helpers.axes_for(ax, float(np.clip(width, 4.0, 14.0)), 1.1 + 0.24 * max(rows, 4), helpers.ROWS_ONLY)
    helpers.name_rows(ax, names, components_above=True)
    ax.set_xlim(-0.05, k)
    foot, top = -0.6, rows - 0.4
    ticks = {0.0: "0"} if threshold is None else {0.0: "0", FULL * threshold: f"{threshold:g}"}
    for c in range(k):
        colours = [accents(ax)[0] if used else shade(ax, 0.28) for used in loaded[:, c]]
        ax.barh(range(rows), FULL * values[:, c], left=c, height=0.62, color=colours, zorder=2)
        ax.vlines(c, foot, top, colors=[shade(ax, 0.4)], linewidth=line(0.8), zorder=3)
        for at in list(ticks)[1:]:
            ax.vlines(c + at, foot, top, colors=[ink(ax)], linestyles=":", linewidth=line(1.0), zorder=3)
    ax.set_xticks(np.arange(k) + FULL / 2, [short_name(name, 12) for name in data.columns], parse_math=False)
    ax.set_xticks([c + at for c in range(k) for at in ticks], [*ticks.values()] * k, minor=True)
    ax.tick_params(axis="x", which="minor", labelsize="x-small", length=2.5)
    ax.set_xlabel("Share of fits of half of the rows that select it\n(grey: not in the fit)")
    helpers.run_layout(ax)
    return ax


@explained
def plot_frequency_data(
    frequency: pd.DataFrame,
    loadings: pd.DataFrame,
    threshold: float | None = None,
    *,
    max_rows: int | None = 40,
    components: Several | None = None,
) -> pd.DataFrame:
    """Return the frequencies that `plot_frequency` draws, variables in the order of the data."""
    which, chosen = _frequent(frequency, loadings, threshold, max_rows, components)
    return frequency.iloc[which, chosen]


def _frequent(
    frequency: pd.DataFrame,
    loadings: pd.DataFrame,
    threshold: float | None,
    max_rows: int | None,
    components: Several | None,
) -> tuple[np.ndarray, list[int]]:
    """Return the positions of the variables and of the components that `plot_frequency` draws."""
    if threshold is not None:
        real_number("threshold", threshold, 0.0, 1.0)
    values, weights = helpers.frame_of(frequency, "frequencies"), helpers.frame_of(loadings)
    if values.shape != weights.shape or list(frequency.columns) != list(loadings.columns):
        raise ShapeError(
            f"frequency has the shape {values.shape}, loadings {weights.shape}; both must have the same "
            "variables and components, such as fit.stability().frequency and fit.loadings."
        )
    if not np.isfinite(values).all():
        raise DataError(f"{int((~np.isfinite(values)).sum())} frequencies are missing or infinite.")
    chosen = helpers.positions(components, list(frequency.columns))
    values, loaded = values[:, chosen], weights[:, chosen] != 0
    met = np.any(loaded | (values >= 0.1), axis=1, keepdims=True)
    return leading(np.where(met, values, 0.0), helpers.row_limit(max_rows, len(values))), chosen
