"""The plot of loadings: blocks of named bars, a table of coloured numbers, curves, or images."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Literal

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from spcastat.arguments import elements, explained, flag, is_whole, listed, one_of, real_number, shown, text
from spcastat.errors import DataError, OptionError, ShapeError
from spcastat.hints import Sections, Several
from spcastat.labels import full_names
from spcastat.linalg.eigenvectors import leading
from spcastat.plots import drawing
from spcastat.plots.blocks import tick_text
from spcastat.plots.loading_blocks import caption_of, draw_blocks, shared_variables
from spcastat.plots.loading_curves import draw_curves, draw_images, is_spectrum
from spcastat.plots.loading_table import LoadingTable, main_counts
from spcastat.reading.checks import real_array
from spcastat.reading.frames import variable_groups

if TYPE_CHECKING:
    from matplotlib.axes import Axes

Kind = Literal["blocks", "table", "line", "image"]
LOADINGS_KINDS = ("blocks", "table", "line", "image")
#: Kinds of plots that show every variable at its position among the columns.
MAPS = ("line", "image")
#: From this number of columns named by increasing or decreasing numbers, a line is the default.
SPECTRUM = 30
#: With more components for an average variable, a table is the default.
CROSSED = 1.6
#: Options of some kinds only, with these kinds.
KIND_OPTIONS = {
    "intervals": ("blocks",),
    "selected": ("blocks",),
    "threshold": ("blocks",),
    "sections": ("blocks", "table"),
    "max_rows": ("blocks", "table"),
    "x": ("line",),
}


@explained
def plot_loadings(
    loadings: pd.DataFrame,
    *,
    kind: Kind | None = None,
    sort: bool = True,
    max_rows: int | None = None,
    components: Several | None = None,
    sections: Sections | None = None,
    intervals: pd.DataFrame | None = None,
    selected: pd.DataFrame | None = None,
    threshold: float | None = None,
    shares: pd.Series | None = None,
    label: str | None = None,
    x: Any = None,
    shape: tuple[int, int] | None = None,
    ax: Axes | None = None,
) -> Axes:
    """Draw the nonzero loadings of each component.

    The layout is computed when the figure is drawn, so that names are as complete as the size of the axes
    allows. The plot states how many variables are left out.

    Parameters
    ----------
    loadings : DataFrame, p x k
        Or other values of variables and components, such as contributions or squared cosines. Variables
        without a nonzero value are left out.
    kind : {"blocks", "table", "line", "image"}, optional
        Blocks: for each component the list of its variables with bars, hollow and to the left for negative
        loadings; a variable on several components appears in the block of each, in italics if most variables
        are on one and bars have neither intervals nor shades. Table: coloured numbers, variables by
        components, zeros blank. Line: a curve over all columns in their order for each component, with gaps
        at zeros, for spectra and series. Image: an image for each component, for pixels. By default an image
        if `shape` is given; a line if `x` is given or 30 or more columns are named by increasing or
        decreasing numbers, perhaps with a unit (850, "850 nm", "X850"), unless they only count; a table if
        the variables have nonzero loadings on more than 1.6 components on average; otherwise blocks.
    sort : bool
        Whether blocks and tables show the largest absolute loading of each component first; otherwise the
        variables are in the order of the data.
    max_rows : int, optional
        The largest number of variables of blocks and tables; by default as many as there is room for. If more
        have a nonzero loading, the components take turns in choosing the variable with their largest
        remaining absolute loading.
    components : sequence of int or str, optional
        Components, by number (from 1) or by name; by default all.
    sections : Series, mapping or sequence of length p, optional
        The section of each variable, for blocks and tables. Variables of a section are shown together, with
        its name; sections are in the order of the categories or of their first variables.
    intervals : DataFrame, optional
        With columns "component", "term", "lower" and "upper", as ``conf_int()`` of a bootstrap returns them.
        Blocks then show bars with intervals, paler if the interval includes zero, and also zero loadings
        whose interval excludes zero.
    selected : DataFrame, p x k, optional
        Bars are pale if their value in this frame is zero or False.
    threshold : float in [0, 1], optional
        A value that a dotted line marks in each block.
    shares : Series, optional
        The share of each component in the total variance, indexed like the columns of `loadings`, for the
        headings. ``shares.attrs["share"]`` names the measure and ``shares.attrs["total"]`` another total.
    label : str, optional
        The name of the values, for the caption of blocks and tables and the scale of lines and images; by
        default "Loading".
    x : sequence of p numbers, optional
        Positions of the columns, for lines; by default the numbers in their names.
    shape : (int, int), optional
        Height and width of an image, pixels row by row; needed for ``kind="image"``.
    ax : Axes, optional
        By default a new figure is created, as high as the variables need. The panels of lines and images, its
        ``child_axes``, are drawn inside it; the colour bar of images is the last.

    Returns
    -------
    Axes

    Raises
    ------
    ShapeError
        If `loadings` is not a data frame, or sections, intervals, `selected`, `x` or `shape` do not match it.
    ComponentsError
        If a component does not exist.
    OptionError
        If `kind` or `max_rows` is out of range, the kind does not have an option, or `ax` is not an Axes.
    DataError
        If all loadings are zero, or `x` has missing values.
    """
    data = plot_loadings_data(
        loadings,
        kind=kind,
        sort=sort,
        max_rows=max_rows,
        components=components,
        sections=sections,
        intervals=intervals,
        selected=selected,
        threshold=threshold,
        x=x,
        shape=shape,
    )
    label = "Loading" if label is None else text("label", label)
    kind = data.attrs["kind"]
    headings = drawing.axis_names(list(data.columns), shares)
    if kind == "image":
        return draw_images(ax, data, _image_shape(shape, len(data)), label)
    has_new_figure = ax is None
    ax = drawing.axes_for(ax, *inches_of(data))
    on_shares = drawing.sentence_on_shares(shares, headings)
    if kind == "line":
        draw_curves(ax, data, headings, None if x is None else _places(x, len(data)), label, on_shares)
        return ax
    nonzero_everywhere = loadings[list(data.columns)] != 0
    nonzero_drawn = data != 0
    if kind == "table":
        undrawn = main_counts(loadings[list(data.columns)].to_numpy()) - main_counts(data.to_numpy())
        texts = [drawing.share_texts(list(data.columns), shares, decimals) for decimals in (1, 0)]
        LoadingTable(ax, data, undrawn.tolist(), label, texts, on_shares)
        return ax
    limits = None if intervals is None else intervals_of(intervals, data)
    strong = None if selected is None else _selected(selected, loadings, data)
    columns = draw_blocks(
        ax,
        data,
        headings,
        caption=caption_of(label + _key(data, limits, strong, threshold), on_shares),
        hidden=(nonzero_everywhere.sum() - nonzero_drawn.sum()).tolist(),
        limits=limits,
        strong=strong,
        threshold=threshold,
        sort=sort,
    )
    if has_new_figure and not drawing.has_own_size():
        columns.shorten_figure()
    return ax


def _key(
    data: pd.DataFrame,
    limits: NDArray[np.float64] | None,
    strong: NDArray[np.bool_] | None,
    threshold: float | None,
) -> str:
    """Return what hollow and pale bars, dotted lines, italic names and grey words are, in brackets."""
    values, marks = data.to_numpy(dtype=float), []
    if (values < 0).any():
        marks.append("hollow: negative")
    if limits is not None:
        intervals = limits[np.isfinite(limits).all(axis=-1)]
        includes_zero = (intervals[:, 0] <= 0) & (intervals[:, 1] >= 0)
        if includes_zero.any():
            marks.append("all include zero" if includes_zero.all() else "pale: includes zero")
    elif strong is not None and not strong[values != 0].all():
        marks.append("pale: not in this fit")
    if threshold is not None:
        marks.append(f"dotted: threshold {tick_text(threshold)}")
    if limits is None and strong is None and shared_variables(values).any():
        marks.append("italic: on several components")
    if data.attrs["sections"]:
        marks.append("grey: sections")
    return f" ({'; '.join(marks)})" if marks else ""


def inches_of(data: pd.DataFrame) -> tuple[float, float]:
    """Return width and height of a new figure of blocks, a table or lines in inches."""
    (rows, k), kind = data.shape, data.attrs["kind"]
    if kind == "line":
        return 6.4, 0.7 + 1.0 * k
    if kind == "table":
        names = max(map(len, data.attrs["names"]))
        width = 0.6 + 0.075 * min(names, 60) + 0.6 * k + 1.2 * bool(data.attrs["sections"])
        return float(np.clip(width, 4.0, 14.0)), float(np.clip(0.6 + 0.17 * rows, 2.0, 9.0))
    height = _height_of_blocks(data)
    columns = 1 if height <= 5.5 else 2
    return 4.5 if columns == 1 else 7.5, float(np.clip(1.1 * height / columns, 2.0, 9.0))


def inches_in_one_column(data: pd.DataFrame) -> float | None:
    """Return the height of blocks below each other in inches; None of a table or lines."""
    return float(np.clip(1.1 * _height_of_blocks(data), 1.0, 9.0)) if data.attrs["kind"] == "blocks" else None


def _height_of_blocks(data: pd.DataFrame) -> float:
    """Return the height in inches of all blocks: lines of a text of 8 points, with headings and a scale."""
    rows, k = np.count_nonzero(data.to_numpy()), data.shape[1]
    return 0.6 + 0.145 * (rows + 1.6 * k)


@explained
def plot_loadings_data(
    loadings: pd.DataFrame,
    *,
    kind: Kind | None = None,
    sort: bool = True,
    max_rows: int | None = None,
    components: Several | None = None,
    sections: Sections | None = None,
    intervals: pd.DataFrame | None = None,
    selected: pd.DataFrame | None = None,
    threshold: float | None = None,
    x: Any = None,
    shape: tuple[int, int] | None = None,
) -> pd.DataFrame:
    """Return the loadings that `plot_loadings` draws, variables in the order of the table.

    ``attrs["kind"]`` is the kind of the plot, ``attrs["names"]`` are the names of the variables as text, and
    ``attrs["sections"]`` their sections (empty without sections).
    """
    options = {"intervals": intervals, "selected": selected, "threshold": threshold, "sections": sections}
    options |= {"max_rows": max_rows, "x": x}
    sort = flag("sort", sort)
    values = drawing.frame_of(loadings)
    columns = drawing.positions(components, list(loadings.columns))
    values = values[:, columns]
    if not values.any():
        raise DataError("All loadings are zero; there is nothing to draw.")
    kind = _kind(kind, loadings, values, options, shape)
    if threshold is not None:
        real_number("threshold", threshold, 0.0, 1.0)
    if selected is not None:
        _selected(selected, loadings, loadings)
    if kind in MAPS:
        if kind == "image":
            _image_shape(shape, len(loadings))
        if x is not None:
            _places(x, len(loadings))
        data = loadings.iloc[:, columns].copy()
        data.attrs["kind"] = kind
        return data
    rows = leading(values, drawing.row_limit(max_rows, len(values)))
    if sort:
        size = np.abs(values[rows])
        rows = rows[np.lexsort((-size.max(axis=1), size.argmax(axis=1)))]
    heads: list[str] = []
    if sections is not None:
        groups = variable_groups(sections, loadings.index)
        codes = np.where(groups.codes < 0, len(groups.categories), groups.codes)
        rows = rows[np.argsort(codes[rows], kind="stable")]
        heads = [[*map(str, groups.categories), "(none)"][codes[i]] for i in rows]
    data = loadings.iloc[rows, columns].copy()
    data.attrs |= {"kind": kind, "names": full_names(data.index), "sections": heads}
    if intervals is not None:
        intervals_of(intervals, data)
    return data


# --- checks ---------------------------------------------------------------------------------------


def _kind(
    kind: Kind | None,
    loadings: pd.DataFrame,
    values: NDArray[np.float64],
    options: dict[str, Any],
    shape: Any,
) -> Kind:
    """Return the kind of plot that was given, or the one for these loadings; check its options."""
    if kind is not None:
        one_of("kind", kind, LOADINGS_KINDS)
    else:
        kind = "image" if shape is not None else _default_kind(loadings, values, options)
    for name, kinds in KIND_OPTIONS.items():
        if options[name] is not None and kind not in kinds:
            quoted = " or ".join(f"kind={one!r}" for one in kinds)
            raise OptionError(f"{name}= was given with kind={kind!r}; it needs {quoted}.")
    if (shape is None) != (kind != "image"):
        raise OptionError(
            f"shape={shown(shape)} was given with kind={kind!r}; kind='image' needs the height and width of "
            "the image, such as shape=(28, 28), and other kinds do not use shape=."
        )
    return kind


def _default_kind(loadings: pd.DataFrame, values: NDArray[np.float64], options: dict[str, Any]) -> Kind:
    """Return the kind of plot for these loadings."""
    if options["x"] is not None:
        return "line"
    if all(options[name] is None for name in ("intervals", "selected", "threshold")):
        plain = options["sections"] is None and options["max_rows"] is None
        if plain and len(loadings) >= SPECTRUM and is_spectrum(list(loadings.index)):
            return "line"
        nonzero = values != 0
        if nonzero.sum() > CROSSED * nonzero.any(axis=1).sum():
            return "table"
    return "blocks"


def _places(x: Any, p: int) -> NDArray[np.float64]:
    """Return the positions of p columns as numbers; raise ShapeError or DataError for anything else."""
    numbers = real_array(x)
    if numbers is None or numbers.shape != (p,):
        raise ShapeError(f"x={shown(x)} was given; it must be {p} numbers, the position of each variable.")
    if not np.isfinite(numbers).all():
        raise DataError(f"{int((~np.isfinite(numbers)).sum())} positions in x are missing or infinite.")
    return numbers.astype(float)


def _selected(selected: Any, loadings: pd.DataFrame, data: pd.DataFrame) -> NDArray[np.bool_]:
    """Return which cells of `data`, a part of `loadings`, are selected."""
    if not isinstance(selected, pd.DataFrame) or selected.shape != loadings.shape:
        found = selected.shape if isinstance(selected, pd.DataFrame) else type(selected).__name__
        raise ShapeError(f"selected= of {found} was given; it must be a frame of shape {loadings.shape}.")
    if list(selected.columns) != list(loadings.columns) or not selected.index.equals(loadings.index):
        raise ShapeError("selected= has other variables or components than the values that are drawn.")
    rows = loadings.index.get_indexer(data.index)
    columns = loadings.columns.get_indexer(data.columns)
    return np.asarray(selected.to_numpy()[np.ix_(rows, columns)] != 0)


def _image_shape(shape: Any, p: int) -> tuple[int, int]:
    """Return height and width of an image of p pixels; raise ShapeError for anything else."""
    sides = elements(shape, 3)
    if len(sides) != 2 or not all(is_whole(side) and side > 0 for side in sides) or sides[0] * sides[1] != p:
        raise ShapeError(
            f"shape={shown(shape)} was given for {p} variables; it must be height and width with "
            f"height x width = {p}."
        )
    return int(sides[0]), int(sides[1])


def intervals_of(intervals: pd.DataFrame, loadings: pd.DataFrame) -> NDArray[np.float64]:
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
    limits = np.full((*loadings.shape, 2), np.nan)
    limits[rows[known], columns[known]] = numbers[known]
    return limits
