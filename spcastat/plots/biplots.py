"""The biplot of two components, rows as points and variables as arrows: its tables and its drawing."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from functools import partial
from math import floor, log10
from typing import TYPE_CHECKING, Any, Literal

import numpy as np
import pandas as pd
from matplotlib.lines import Line2D
from numpy.typing import NDArray

from spcastat.arguments import checked_level, explained, flag, one_of, real_number
from spcastat.errors import DataError, OptionError, ShapeError
from spcastat.hints import ByRow, Outline, Pair, Palette, RowLabels
from spcastat.labels import short_names
from spcastat.plots import drawing, score_plots
from spcastat.plots.arrows import (
    MAX_ARROWS,
    arrows_of,
    bars_of,
    draw_arrows,
    draw_bars,
    name_arrows,
    same_components,
    variables_of,
)
from spcastat.plots.captions import BiplotData, Content, Sentence, caption_of_biplot, on_shares
from spcastat.plots.drawing import SUPPLEMENTARY, ink, line, need_coloured, shade, visible
from spcastat.plots.frame import FAR_ROWS, EdgeMarks, Frame, far_rows, positions
from spcastat.plots.legends import title_of, write_legend
from spcastat.plots.margins import Margins
from spcastat.plots.names import MARK_COVER, ROW_COVER, TIP_COVER, Names
from spcastat.plots.ticks import SteadyTicks, number_axis

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.legend import Legend

#: The values that arrows can show.
ARROWS = ("loadings", "correlations")
#: Kind of ellipse -> its distribution in the caption.
DISTRIBUTIONS = {"normal": "normal", "t": "t, 5 df"}
#: Room for names beyond the tips of arrows, as multiples of the length of the arrows: in general, and in the
#: horizontal direction if all variables have arrows (names to the right need it at 3.4 x 4.5 inches).
TIP_ROOM, NAME_ROOM = 1.12, 1.35


@explained
def biplot(
    scores: pd.DataFrame,
    loadings: pd.DataFrame,
    *,
    components: Pair = (1, 2),
    scale: float = 1.0,
    arrows: Literal["loadings", "correlations"] = "loadings",
    correlations: pd.DataFrame | None = None,
    max_arrows: int | None = MAX_ARROWS,
    shares: pd.Series | None = None,
    groups: ByRow | None = None,
    color: ByRow | None = None,
    palette: Palette | None = None,
    outline: Outline | None = None,
    level: float = 0.95,
    centroids: bool = False,
    labels: RowLabels | None = None,
    new: pd.DataFrame | None = None,
    supplementary: pd.DataFrame | None = None,
    levels: pd.DataFrame | None = None,
    blocks: bool | None = None,
    note: bool = True,
    ax: Axes | None = None,
) -> Axes:
    """Draw rows as points, and the variables of two components as bars in the margins and as arrows.

    The biplot of a fit, `SpcaResult.biplot`, from frames computed elsewhere.

    Parameters
    ----------
    scores : DataFrame, n x k
    loadings : DataFrame, p x k
        Variables with a nonzero loading on both components have an arrow; without blocks, variables with a
        nonzero loading on either component.
    correlations : DataFrame, p x k, optional
        Correlations of the variables with the scores; required for ``arrows="correlations"``.
    shares : Series, optional
        The share of each component in the total variance, indexed like the columns of `scores`, for the axis
        labels. The caption describes them as shares of adjusted variance unless ``shares.attrs["share"]``
        names another measure; ``shares.attrs["total"]`` names another total.
    new : DataFrame, m x k, optional
        Scores of further rows, drawn as crosses on the scale of the other rows, or as triangles at the edge
        if they are far outside.
    supplementary : DataFrame, s x k, optional
        Correlations of further variables with the scores, for ``arrows="correlations"``.
    levels : DataFrame, l x k, optional
        Means of the scores for the levels of further factors, drawn as diamonds.
    components, scale, arrows, max_arrows, groups, color, palette, outline, level, centroids, labels
        As for `SpcaResult.biplot`; `groups` and `color` are values, one for each row.
    blocks, note, ax
        As for `SpcaResult.biplot`.

    Returns
    -------
    Axes

    Raises
    ------
    ComponentsError
        If there are fewer than two components, or one does not exist.
    OptionError
        If an option is out of range, there are too many groups, a colour is unknown, or `ax` is not an Axes.
    ShapeError
        If groups, labels or frames do not match.
    DataError
        If the scores of a component are constant, unless ``scale=0``.
    """
    if outline is not None:
        one_of("outline", outline, score_plots.OUTLINES)
    level = checked_level(level)
    centroids = flag("centroids", centroids)
    note = flag("note", note)
    need_coloured(palette, groups is not None or color is not None, "groups= or color")
    data = biplot_data(
        scores,
        loadings,
        components=components,
        scale=scale,
        arrows=arrows,
        correlations=correlations,
        max_arrows=max_arrows,
        groups=groups,
        color=color,
        labels=labels,
        new=new,
        supplementary=supplementary,
        levels=levels,
        shares=shares,
        blocks=blocks,
    )
    names = [list(scores.columns)[i] for i in _biplot_pair(components, list(scores.columns))]
    ax = drawing.axes_for(ax, 6.4, 5.4, bar=color is not None)
    size = drawing.name_size()
    drawing.label_components(ax, drawing.axis_names(names, shares), size)
    drawing.cross(ax)
    for axis in (ax.xaxis, ax.yaxis):
        number_axis(axis, SteadyTicks())
    rows_of = data.points["group"].array if "group" in data.points else None
    clouds = list(score_plots.groups_of(ax, rows_of, len(data.points), palette))
    named_clouds = [cloud for cloud in clouds if cloud.name != score_plots.GROUP_MISSING]
    corners = [] if outline is None else _outlines(ax, data, named_clouds, outline, level)
    data, frame = _framed(data, *corners)
    title = title_of(groups if groups is not None else color)
    legend, bar_height = _points(ax, data, clouds, title, palette, size)
    _draw_further_points(ax, data)
    draw_arrows(ax, data.arrows)
    dots = np.vstack([positions(points) for points in (data.points, data.new, data.levels)])
    texts = Names(ax, size, dots, data.arrows[["x", "y"]].to_numpy(dtype=float))
    texts.far_dots = np.vstack([positions(points[points["far"]]) for points in (data.points, data.new)])
    name_arrows(ax, texts, data.arrows)
    clouds_with_mark = named_clouds if centroids else []
    for cloud in clouds_with_mark:
        middle = np.asarray(data.points.loc[cloud.rows, ["x", "y"]].mean())
        score_plots.draw_centroid(ax, middle, cloud.colour, cloud.marker)
        radius = float(np.sqrt(drawing.area(score_plots.CENTROID))) / 2.0
        texts.add(middle, cloud.name, ink(ax), most_covered=MARK_COVER, weight="bold", radius=radius)
    _name_points(ax, texts, data, frame, 0.0 if labels is None else ROW_COVER)
    ellipses = [] if outline in (None, "hull") else [f"{100 * level:g} % ({DISTRIBUTIONS[outline]})"]
    rows = 0 if labels is None else len(data.points) + len(_named_new_rows(data))
    extra_caption = partial(_further_sentences, ellipses, len(clouds_with_mark), data.on_shares, rows)
    Margins(
        ax,
        texts,
        draw_bars(ax, data.blocks, data.components, data.arrows) if len(data.blocks) else None,
        data.components,
        size,
        (frame.low, frame.high),
        scale < 1 or len(data.arrows) > 0,
        partial(caption_of_biplot, data, extra_caption),
        drawing.total_of(shares),
        blocks_may_go=data.blocks_optional,
        legend=legend,
        note=drawing.note_below(ax, size) if note else None,
        bar_height=bar_height,
    )
    return ax


def _further_sentences(
    ellipses: Sequence[str], means: int, shares: Sequence[Sentence], rows: int, content: Content
) -> list[Sentence]:
    """Return the sentences on ellipses, on the `means` of groups, on shares, and on the names of `rows`."""
    sentences = [Sentence(f"Ellipses: {ellipse}.") for ellipse in ellipses]
    if means:
        in_brackets = f" ({content.means} of {means} named)" if content.means < means else ""
        sentences.append(Sentence(f"Large marks: group means{in_brackets}."))
    names = [Sentence(f"Names: {content.rows:,} of {rows:,} rows.", is_key=False)] * bool(
        rows and content.rows
    )
    return [*sentences, *shares, *names]


def _have_arrows(data: BiplotData) -> bool:
    """Return whether all variables of the blocks have arrows, if those that are not drawn are counted."""
    arrow_count = int((~data.arrows["supplementary"]).sum()) + data.undrawn
    return int(data.blocks["position"].nunique()) <= arrow_count


def _framed(data: BiplotData, *corners: NDArray[np.float64]) -> tuple[BiplotData, Frame]:
    """Return the data with far rows marked, and the frame of all other elements.

    `corners` are the vertices of outlines. Names have room beyond the tips of arrows.
    """
    room = np.array([NAME_ROOM if _have_arrows(data) else TIP_ROOM, TIP_ROOM])
    tips = room * data.arrows[["x", "y"]].to_numpy(dtype=float)
    frame = Frame.around(data.points, data.new, tips, positions(data.levels), *corners)
    points, new_points = (rows.assign(far=frame.far(rows)) for rows in (data.points, data.new))
    return replace(data, points=points, new=new_points), frame


def _outlines(
    ax: Axes, data: BiplotData, clouds: list[score_plots.Group], kind: str, level: float
) -> list[NDArray[np.float64]]:
    """Draw an outline around each group of points that spans an area, and return their vertices."""
    outlines = []
    for cloud in clouds:
        xy = data.points.loc[cloud.rows, ["x", "y"]].to_numpy()
        if (corners := score_plots.outline_of(xy, kind, level)) is not None:
            score_plots.draw_outline(ax, corners, cloud.colour)
            outlines.append(corners)
    return outlines


@explained
def biplot_data(
    scores: pd.DataFrame,
    loadings: pd.DataFrame,
    *,
    components: Pair = (1, 2),
    scale: float = 1.0,
    arrows: Literal["loadings", "correlations"] = "loadings",
    correlations: pd.DataFrame | None = None,
    max_arrows: int | None = MAX_ARROWS,
    shares: pd.Series | None = None,
    groups: ByRow | None = None,
    color: ByRow | None = None,
    labels: RowLabels | None = None,
    new: pd.DataFrame | None = None,
    supplementary: pd.DataFrame | None = None,
    levels: pd.DataFrame | None = None,
    blocks: bool | None = None,
) -> BiplotData:
    """Return the data that `biplot` draws, and their scaling; parameters as for `biplot`."""
    has_blocks = blocks is None or flag("blocks", blocks)
    values = drawing.frame_of(scores, "scores")
    drawing.frame_of(loadings)
    same_components(scores, loadings, "loadings")
    names = list(scores.columns)
    pair = _biplot_pair(components, names)
    one_of("arrows", arrows, ARROWS)
    scale = real_number("scale", scale, 0.0, 1.0)
    if groups is not None and color is not None:
        raise OptionError(
            "groups and color were given, but only one of them can colour the points; leave one out."
        )
    x_heading, y_heading = short_names([names[i] for i in pair])
    spread = spread_of(values[:, pair], scale, (x_heading, y_heading)) ** scale
    xy = values[:, pair] / spread
    points = pd.DataFrame({"x": xy[:, 0], "y": xy[:, 1]}, index=scores.index)
    if groups is not None:
        points["group"] = score_plots.group_rows(groups, scores.index)
    if color is not None:
        points["color"] = score_plots.row_numbers(color, scores.index)
    points["label"] = score_plots.row_labels(labels, scores.index, np.hypot(*xy.T))
    points["left_out"] = np.isin(np.arange(len(points)), scores.attrs.get("left_out", ()))
    points["replaced"] = _rows_of_cells(scores, loadings, pair)
    if correlations is not None:
        _check_correlations(correlations, scores, loadings)
    if arrows == "correlations":
        if correlations is None:
            raise OptionError(
                "arrows='correlations' was given without correlations; give the correlations of the "
                "variables with the scores, such as fit.correlations."
            )
        variables = variables_of(correlations, loadings.to_numpy(dtype=float), pair, supplementary)
        between = (variables[["x", "y"]] != 0).any(axis=1) | variables["supplementary"]
    else:
        if supplementary is not None:
            raise OptionError(
                "supplementary variables were given with arrows='loadings', for which there are no loadings; "
                "give correlations= with arrows='correlations'."
            )
        variables = variables_of(loadings, loadings.to_numpy(dtype=float), pair, None, spread)
        counts = variables[["on_first", "on_second"]].sum(axis=1)
        between = counts == 2 if has_blocks else counts > 0
    stretch = stretch_of(xy, variables[["x", "y"]].to_numpy())
    tips = arrows_of(variables[between], max_arrows)
    tips[["x", "y", "length"]] *= stretch
    percentages = drawing.share_texts([names[i] for i in pair], shares)
    data = BiplotData(
        points=points,
        arrows=tips,
        blocks=bars_of(variables if has_blocks else variables.iloc[:0], (x_heading, y_heading)),
        stretch=stretch,
        correlation=drawing.correlation_of(xy[:, 0], xy[:, 1]),
        components=(x_heading, y_heading),
        new=points_of(new, "new", scores, pair, spread),
        levels=points_of(levels, "levels", scores, pair, spread),
        undrawn=int((between & ~variables["supplementary"]).sum() - (~tips["supplementary"]).sum()),
        scale=scale,
        kind=arrows,
        on_shares=tuple(on_shares(shares, percentages, "adjusted")),
    )
    return _framed(replace(data, blocks_optional=blocks is None and _have_arrows(data)))[0]


def _check_correlations(correlations: pd.DataFrame, scores: pd.DataFrame, loadings: pd.DataFrame) -> None:
    """Raise ShapeError unless there are correlations of each variable with each score."""
    rows = len(drawing.frame_of(correlations, "correlations"))
    same_components(scores, correlations, "correlations")
    if rows != len(loadings):
        raise ShapeError(f"correlations has {rows} rows, loadings {len(loadings)}; one for each variable.")


def _rows_of_cells(scores: pd.DataFrame, loadings: pd.DataFrame, pair: list[int]) -> NDArray[np.bool_]:
    """Return which rows have a cell that the fit replaces, in a variable of one of the two components."""
    used = (loadings.iloc[:, pair] != 0).any(axis=1).to_numpy()
    cells = scores.attrs.get("replaced", ())
    return np.isin(np.arange(len(scores)), [row for row, variable in cells if used[variable]])


def _biplot_pair(components: Pair, names: list[Any]) -> list[int]:
    """Return the positions of the two components of a biplot."""
    advice = "Fit with k=2 or more, or use plot_scores() for the scores and plot_loadings() for loadings."
    return drawing.pair_of(components, names, "a biplot", advice)


# --- points ---------------------------------------------------------------------------------------


def spread_of(values: NDArray[np.float64], scale: float, names: tuple[str, str]) -> NDArray[np.float64]:
    """Return the standard deviations of two columns of scores.

    Raises
    ------
    DataError
        If there are fewer than two rows, or a column is constant and `scale` is not 0.
    """
    if len(values) < 2:
        raise DataError(f"There are scores of {len(values)} row; a biplot needs two or more.")
    spread = np.nanstd(values, axis=0, ddof=1)
    for size, name in zip(spread, names, strict=True):
        if scale > 0 and not size > 0:
            raise DataError(f"The scores of {name} are constant; choose other components, or scale=0.")
    return spread


def stretch_of(xy: NDArray[np.float64], ends: NDArray[np.float64]) -> float:
    """Return the factor by which arrows are stretched, so that they reach as far as most of the points.

    Along one component the arrows reach as far as 97.5 % of the points, along the other component at most as
    far. A few distant points therefore do not make the arrows so long that the other points look small. The
    longest arrow reaches at least a quarter of the way to the farthest point within the axes, so that arrows
    remain visible.
    """
    xy = xy[np.isfinite(xy).all(axis=1)]
    xy = np.abs(xy[~far_rows(xy)])
    longest = np.abs(ends).max(axis=0, initial=0.0)
    if not longest.any() or not xy.any():
        return 1.0
    used = longest > 0
    ratios = np.quantile(xy[:, used], 0.975, axis=0) / longest[used]
    return float(max(ratios.min(), 0.25 * np.hypot(*xy.T).max() / np.hypot(*ends.T).max()))


def points_of(
    frame: pd.DataFrame | None, what: str, scores: pd.DataFrame, pair: list[int], spread: NDArray[np.float64]
) -> pd.DataFrame:
    """Return "x", "y" and "label" of further points, scaled like the scores."""
    if frame is None:
        return pd.DataFrame({"x": [], "y": [], "label": []}, dtype=float)
    values = drawing.frame_of(frame, what)
    same_components(scores, frame, what)
    xy = values[:, pair] / spread
    return pd.DataFrame(
        {"x": xy[:, 0], "y": xy[:, 1], "label": short_names(list(frame.index))}, index=frame.index
    )


# --- drawing of the points ------------------------------------------------------------------------


def _points(
    ax: Axes,
    data: BiplotData,
    clouds: list[score_plots.Group],
    title: str | None,
    palette: Any,
    size: float,
) -> tuple[Legend | None, float]:
    """Draw the points; return their legend, or None, and the height of their colour bar in points."""
    xy, far = data.points[["x", "y"]].to_numpy(), data.points["far"].to_numpy()
    style: dict[str, Any] = {**score_plots.dots(len(xy), 16.0, groups=len(clouds)), "zorder": 2}
    _rings(ax, xy[data.ringed.to_numpy()], style)
    if "color" in data.points:
        numbers = data.points["color"].to_numpy(dtype=float)
        artist = score_plots.scatter_numbers(ax, xy[~far], numbers[~far], palette=palette, **style)
        solid = {**style, "alpha": 1.0, "linewidths": 0, "color": artist.to_rgba(numbers[far])}
        EdgeMarks(ax.scatter(*xy[far].T, **solid), shade(ax, 0.6))
        return None, score_plots.colour_bar(ax, artist, title, size)
    out = data.points["left_out"].to_numpy()
    near_clouds = [replace(cloud, rows=cloud.rows & ~out & ~far) for cloud in clouds]
    score_plots.scatter_groups(ax, xy, near_clouds, **style)
    for cloud in clouds:
        mark: dict[str, Any] = {"color": [cloud.colour], "marker": cloud.marker, "linewidths": 0, **style}
        if (open_points := xy[cloud.rows & out & ~far]).size:
            score_plots.open_points(ax, open_points, cloud, style)
        if (far_points := xy[cloud.rows & ~out & far]).size:
            EdgeMarks(ax.scatter(*far_points.T, **mark), cloud.colour)
        if (far_points := xy[cloud.rows & out & far]).size:
            EdgeMarks(score_plots.open_points(ax, far_points, cloud, style), cloud.colour)
    if "group" not in data.points:
        return None, 0.0
    marks, names = [cloud.mark(style["alpha"]) for cloud in clouds], [cloud.name for cloud in clouds]
    if not data.new["far"].all():
        cross: dict[str, Any] = {"marker": NEW_ROW, "color": ink(ax), "mew": line(NEW_ROW_WIDTH)}
        marks.append(Line2D([], [], ls="none", ms=line(4.5), **cross))
        names.append("new rows")
    return write_legend(ax, marks, names, size, title=title, borderaxespad=0.0), 0.0


#: Marker of new rows, and the width of its lines in points.
NEW_ROW, NEW_ROW_WIDTH = "x", 1.0
#: Up to this number, rings are wide; more rings are narrower and lighter, so that points remain visible.
WIDE_RINGS = 20
#: Distance of a wide and of a narrow ring from its point, in points; shade of narrow rings.
WIDE_RING, NARROW_RING, RING_SHADE = 2.0, 0.4, 0.4


def _rings(ax: Axes, xy: NDArray[np.float64], style: dict[str, Any]) -> None:
    """Draw rings around the points of rows with cells that the fit replaces."""
    if len(xy):
        wide = min(WIDE_RINGS / len(xy), 1.0)
        diameter = style["s"] ** 0.5 + 2.0 * (NARROW_RING + wide * (WIDE_RING - NARROW_RING))
        colour = shade(ax, RING_SHADE + wide * (1.0 - RING_SHADE))
        look: dict[str, Any] = {"facecolors": "none", "edgecolors": [colour], "alpha": 1.0}
        look |= {"linewidths": line(0.6 if wide == 1.0 else 0.4), "marker": "o", "s": diameter**2}
        ax.scatter(xy[:, 0], xy[:, 1], gid="replaced", **{**style, **look})


def _draw_further_points(ax: Axes, data: BiplotData) -> None:
    """Draw new rows as crosses, at the edge if they are far, and means of levels as diamonds."""
    kinds = (
        (positions(data.new[~data.new["far"]]), NEW_ROW, "new rows", ink(ax)),
        (positions(data.new[data.new["far"]]), NEW_ROW, "far new rows", ink(ax)),
        (positions(data.levels), "D", "levels", visible(ax, SUPPLEMENTARY)),
    )
    for xy, marker, name, colour in kinds:
        style: dict[str, Any] = {
            "linewidths": line(NEW_ROW_WIDTH),
            "zorder": 4.5,
            "gid": name,
            "color": [colour],
        }
        if len(xy):
            size = score_plots.dots(len(xy), 20.0)["s"]
            points = ax.scatter(xy[:, 0], xy[:, 1], marker=marker, s=size, **style)
            if name == "far new rows":
                EdgeMarks(points, colour)


#: If more rows than this have labels, names are beside their points only, without leader lines.
MOST_LEADERS = 200
#: New rows have names unless there are more than this.
MOST_NEW_NAMES = 30


def _named_new_rows(data: BiplotData) -> pd.DataFrame:
    """Return the new rows if they are few enough to be named, else no rows."""
    return data.new if len(data.new) <= MOST_NEW_NAMES else data.new.iloc[:0]


def _name_points(ax: Axes, texts: Names, data: BiplotData, frame: Frame, most_covered: float) -> None:
    """Name levels, the farthest of the far rows, rows with a label, and new rows, in this order.

    Names of rows within the axes may cover at most `most_covered` points.
    """
    rows = (data.points, shade(ax, 0.75)), (_named_new_rows(data), ink(ax))
    for name, *position in data.levels[["label", "x", "y"]].itertuples(index=False):
        texts.add(position, str(name), visible(ax, SUPPLEMENTARY), leader=True, most_covered=TIP_COVER)
    for points, colour in rows:
        far = points[points["far"]]
        xy, side = far[["x", "y"]].to_numpy(dtype=float), frame.high - frame.low
        names = short_names(list(far.index), score_plots.ROW_NAME_WIDTH)
        reach = np.abs((2.0 * xy - frame.low - frame.high) / side).max(axis=1, initial=0.0)
        is_labelled = (far["label"] != "").to_numpy()
        for i in np.argsort(-reach, kind="stable"):
            if is_labelled[i] or (reach > reach[i]).sum() < FAR_ROWS:
                x_text, y_text = map(_coordinate, xy[i], side)
                options = {"edge_text": f"{names[i]} ({x_text}, {y_text})", "counted": is_labelled[i]}
                options |= {"of_row": True, "leader": True, "most_covered": TIP_COVER}
                texts.add(xy[i], names[i], colour, **options)
    for points, colour in rows:
        near_points = points.loc[~points["far"], ["label", "x", "y"]]
        is_few = (near_points["label"] != "").sum() <= MOST_LEADERS
        for name, *position in near_points.itertuples(index=False):
            options = {"of_row": True, "leader": most_covered > 0 and is_few, "counted": True}
            texts.add(position, str(name), colour, most_covered=most_covered, **options)


def _coordinate(value: float, side: float) -> str:
    """Return a coordinate with at most three digits, rounded to a hundredth of the magnitude of `side`.

    Numbers below a million have no power of ten.
    """
    value = round(value, 2 - floor(log10(side))) + 0.0
    digits = f"{value:.3g}" if abs(value) < 999.5 or abs(value) >= 1e6 else f"{value:,.0f}"
    return digits.replace("-", "−")
