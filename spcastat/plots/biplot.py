"""The biplot, rows as points and variables as arrows on two components: its table and its drawing."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any, Literal

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from spcastat.argument_names import explained
from spcastat.config import checked_level, flag, one_of, plural, real_number
from spcastat.errors import DataError, OptionError
from spcastat.hints import ByRow, Outline, Pair, Palette, RowLabels
from spcastat.labels import short_name, short_names
from spcastat.plots import drawing, score_plots
from spcastat.plots.arrows import (
    MAX_ARROWS,
    block_values,
    draw_arrows,
    longest,
    markers_of,
    name_arrows,
    rows_of_block,
    same_components,
)
from spcastat.plots.blocks import Block, loading_text
from spcastat.plots.drawing import SUPPLEMENTARY, ink, line, need_coloured, shade, visible
from spcastat.plots.frame import Frame, positions
from spcastat.plots.margins import Margins
from spcastat.plots.names import Names

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.legend import Legend

#: Room for names beyond the tips of arrows, as a multiple of their length.
TIP_ROOM = 1.12


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
    blocks: bool = True,
    note: bool | None = None,
    ax: Axes | None = None,
) -> Axes:
    """Draw rows as points, and the variables of two components as bars in the margins and as arrows.

    Points stand alone in the middle. A block of bars below the axes shows the loadings of the horizontal
    component with the names of the variables, the largest first, and a block beside or below the axes those
    of the vertical component; both have one scale. Bars of negative loadings are hollow. A variable with
    loadings on both components also has an arrow, and a small arrow of the same direction after its name. A
    variable with a loading on only one component needs none: its direction is the axis. Names at arrows and
    points are drawn where there is room.

    With s the standard deviations of the two columns of scores, points are scores / s^scale and arrows
    loadings * s^scale, so that their inner products are those of scores and loadings for any scale (Gabriel
    1971). Singular values, s * sqrt(n - 1), instead of s only change both by a common factor; with s,
    ``scale=1`` is R's ``biplot(prcomp(x), pc.biplot=TRUE)``. All arrows are multiplied by one common factor
    to reach as far as most of the points. ``biplot_data().caption`` says how both are scaled.

    A few rows far from all others are drawn as triangles at the edge, with their coordinates, so that the
    other rows keep their room.

    Parameters
    ----------
    scores : DataFrame, n x k
    loadings : DataFrame, p x k
        Only variables with a nonzero loading on the two components have an arrow.
    components : two of int or str
        Numbers counted from one, or names.
    scale : float
        From 0 to 1. With 1 the points are standardised scores, and lengths of arrows and angles between
        them approximate standard deviations and correlations of the variables. With 0 the points are the
        scores themselves and their distances those of the rows within the components.
    arrows : {"loadings", "correlations"}
        With "correlations" arrows end at the correlations of the variables with the two scores, stretched:
        those with a nonzero loading are drawn strongly, the others faintly.
    correlations : DataFrame, p x k, optional
        Of variables and scores; needed for ``arrows="correlations"``.
    max_arrows : int, optional
        The largest number of arrows of variables with a nonzero loading on both components, the longest;
        for ``arrows="correlations"`` of all variables, those with a nonzero loading first. None draws all.
    shares : Series, optional
        The share of each component in the total variance, indexed like the columns of `scores`, for the axes.
        It is that of the adjusted variance, unless ``shares.attrs["share"]`` says what it is.
    groups : Series, Categorical or array of length n, optional
        Groups that set colours and markers of the points; at most 20. A Series is matched by its labels. The
        legend has the groups in the order of the categories, or of their values.
    color : Series or array of length n, optional
        Numbers to show as colours, with a colour bar.
    palette : mapping, sequence of colours, or str, optional
        Colours of the groups (by group or in order), or the name of a colour map; for `color`, a colour map.
    outline : {"normal", "t", "hull"}, optional
        Around each group, or around all points if there are no groups: the ellipse that contains the share
        `level` of a normal distribution with the mean and covariance matrix of the group; that of a bivariate
        t distribution with 5 degrees of freedom, fitted by maximum likelihood, which is robust to outliers;
        or the convex hull. Groups of fewer than three points, or with all points on a line, have none.
    level : float in (0, 1)
        Probability of the ellipses.
    centroids : bool
        Whether the mean of each group is marked and named.
    labels : int, bool, sequence or Series, optional
        Which rows are named where there is room. A number: that many rows, those farthest from the centre;
        True: all; False: none. A sequence has one text for each row, "" for no name; a Series has texts by
        row label. By default the three farthest rows are named if the row labels are different texts.
    new : DataFrame, m x k, optional
        Scores of further rows, drawn as crosses on the scale of the others, and as triangles at the edge if
        they are far outside.
    supplementary : DataFrame, s x k, optional
        Correlations of further variables with the scores, for ``arrows="correlations"``.
    levels : DataFrame, l x k, optional
        Means of the scores for levels of further factors.
    blocks : bool
        Whether the variables are drawn as bars in the margins.
    note : bool, optional
        Whether the caption of `biplot_data` is written below the plot; by default on a new figure only.
    ax : Axes, optional
        By default a new figure is created. The bars are drawn in the place of the axes, which are smaller;
        ``ax.get_position()`` gives the position of the points after the first draw.

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
    centroids, blocks = flag("centroids", centroids), flag("blocks", blocks)
    note = ax is None if note is None else flag("note", note)
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
    )
    names = list(scores.columns)
    pair = _biplot_pair(components, names)
    ax = drawing.axes_for(ax, 6.4, 5.4, bar=color is not None)
    size = drawing.name_size()
    drawing.label_components(ax, drawing.axis_names([names[i] for i in pair], shares), size)
    drawing.cross(ax)
    clouds = _clouds(ax, data, palette)
    corners = [] if outline is None else _outlines(ax, data, clouds, outline, level)
    frame = _frame(data, *corners)
    title = drawing.title_of(groups if groups is not None else color)
    legend, bar = _points(ax, data, frame, title, palette, size)
    _draw_new_points(ax, data, frame)
    draw_arrows(ax, data.arrows)
    dots = np.vstack([frame.inside(data.points), frame.inside(data.new), frame.inside(data.levels)])
    texts = Names(ax, size, dots, data.arrows[["x", "y"]].to_numpy(dtype=float))
    name_arrows(ax, texts, data.arrows)
    for cloud in clouds if centroids else []:
        middle = _middle(data, cloud)
        score_plots.draw_centroid(ax, middle, cloud.colour, cloud.marker)
        radius = float(np.sqrt(drawing.area(score_plots.CENTROID))) / 2.0
        texts.add(middle, cloud.name, cloud.colour, needed=True, weight="bold", radius=radius)
    _name_points(ax, texts, data, frame)
    drawn_blocks = (_block(ax, data, 0), _block(ax, data, 1)) if blocks else None
    caption = data.caption
    if shares is not None:
        caption += f" %: {shares.attrs.get('share', 'adjusted variance')}."
    if outline in ("normal", "t"):
        kind = "normal" if outline == "normal" else "t (5 degrees of freedom)"
        caption += f" Ellipses: {100 * level:g} % of a {kind} distribution."
    Margins(
        ax,
        drawn_blocks,
        data.components,
        size,
        (frame.low, frame.high),
        scale < 1 or len(data.arrows) > 0,
        legend=legend,
        note=drawing.note_below(ax, caption, size) if note else None,
        bar=bar,
    )
    return ax


def _frame(data: BiplotData, *corners: NDArray[np.float64]) -> Frame:
    """Return the frame of everything that is drawn; names have room beyond the tips of arrows."""
    tips = TIP_ROOM * data.arrows[["x", "y"]].to_numpy(dtype=float)
    return Frame.around(data.points, data.new, tips, positions(data.levels), *corners)


def _block(ax: Axes, data: BiplotData, component: int) -> Block:
    """Draw the variables of one of the two components as a block."""
    name = data.components[component]
    block = data.blocks[data.blocks["component"] == name]
    direction = (1.0, 0.0) if component == 0 else (0.0, 1.0)
    return Block(ax, rows_of_block(ax, block, data.arrows), direction)


def _clouds(ax: Axes, data: BiplotData, palette: Palette | None) -> list[score_plots.Group]:
    """Return the groups of points that have outlines and centroids; all points if there are no groups."""
    groups = data.points["group"].array if "group" in data.points else None
    clouds = score_plots.groups_of(ax, groups, len(data.points), palette)
    return [cloud for cloud in clouds if cloud.name != score_plots.GROUP_MISSING]


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


def _middle(data: BiplotData, cloud: score_plots.Group) -> NDArray[np.float64]:
    """Return the mean of the points of a group."""
    return np.asarray(data.points.loc[cloud.rows, ["x", "y"]].mean())


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
    groups: ByRow | None = None,
    color: ByRow | None = None,
    labels: RowLabels | None = None,
    new: pd.DataFrame | None = None,
    supplementary: pd.DataFrame | None = None,
    levels: pd.DataFrame | None = None,
) -> BiplotData:
    """Return what `biplot` draws: points, arrows, and how both are scaled; parameters as for `biplot`."""
    values = drawing.frame_of(scores, "scores")
    drawing.frame_of(loadings)
    same_components(scores, loadings, "loadings")
    names = list(scores.columns)
    pair = _biplot_pair(components, names)
    one_of("arrows", arrows, ARROWS)
    scale = real_number("scale", scale, 0.0, 1.0)
    if groups is not None and color is not None:
        raise OptionError("groups and color were given; one of them can colour the points.")
    short = (short_name(names[pair[0]]), short_name(names[pair[1]]))
    spread = spread_of(values[:, pair], scale, short) ** scale
    xy = values[:, pair] / spread
    points = pd.DataFrame({"x": xy[:, 0], "y": xy[:, 1]}, index=scores.index)
    if groups is not None:
        points["group"] = score_plots.group_rows(groups, scores.index)
    if color is not None:
        points["color"] = score_plots.row_numbers(color, scores.index)
    points["label"] = score_plots.row_labels(labels, scores.index, np.hypot(*xy.T))
    points["left_out"] = np.isin(np.arange(len(points)), scores.attrs.get("left_out", ()))
    points["replaced"] = _rows_of_cells(scores, loadings, pair)
    markers = markers_of(loadings, correlations, arrows, pair, spread, supplementary, scores)
    strong = markers["nonzero"] | markers["supplementary"] | (arrows == "correlations")
    stretch = stretch_of(xy, markers.loc[strong.to_numpy(), ["x", "y"]].to_numpy())
    tips, undrawn = arrows_of(markers, max_arrows, stretch)
    bars = correlations if arrows == "correlations" else None
    parts = [
        block_values(loadings, bars, supplementary, i).assign(component=name)
        for i, name in zip(pair, short, strict=True)
    ]
    data = BiplotData(
        points=points,
        arrows=tips,
        blocks=pd.concat(parts),
        stretch=stretch,
        correlation=drawing.correlation_of(xy[:, 0], xy[:, 1]),
        components=short,
        new=points_of(new, "new", scores, pair, spread),
        levels=points_of(levels, "levels", scores, pair, spread),
        undrawn=undrawn,
    )
    frame = _frame(data)
    data.points["far"] = frame.far(data.points)
    data.new["far"] = frame.far(data.new)
    return replace(data, caption=" ".join(_sentences(data, scale, arrows)))


def _rows_of_cells(scores: pd.DataFrame, loadings: pd.DataFrame, pair: list[int]) -> NDArray[np.bool_]:
    """Return which rows have a cell that the fit replaces, in a variable of one of the two components."""
    used = (loadings.iloc[:, pair] != 0).any(axis=1).to_numpy()
    cells = scores.attrs.get("replaced", ())
    return np.isin(np.arange(len(scores)), [row for row, variable in cells if used[variable]])


def _biplot_pair(components: Pair, names: list[Any]) -> list[int]:
    """Return the positions of the two components of a biplot."""
    advice = "Fit with k=2 or more, or take plot_scores() for the scores and plot_loadings() for loadings."
    return drawing.pair_of(components, names, "a biplot", advice)


# --- the table -------------------------------------------------------------------------------------


#: What arrows can show.
ARROWS = ("loadings", "correlations")


@dataclass(frozen=True)
class BiplotData:
    """The data of a biplot.

    Attributes
    ----------
    points : DataFrame, n x 6 or more
        "x" and "y" of every row, its "group" or "color" if given, its "label", which may be "", and whether
        it is "far" from all others, so that it is drawn at the edge. Of robust fits, whether the row is
        "left_out", and whether it has cells of these variables that the fit has "replaced".
    arrows : DataFrame, q x 6
        The arrows that are drawn, the longest first: "x" and "y" of the tip; whether the loading is "nonzero"
        on either component; whether it is a "supplementary" variable; the "position" of the variable in the
        data; and its "length" as drawn. "x" and "y" divided by `stretch` are Gabriel's markers, or
        correlations.
    blocks : DataFrame
        The bars: the "value" (loading or correlation) of each variable of a "component", the largest first,
        whether it is "supplementary", and its "position" in the data.
    stretch : float
        The common factor by which arrows are drawn longer than Gabriel's markers (or correlations), so that
        points and arrows fill the same axes.
    correlation : float
        Correlation of the two columns of scores; NaN if one of them is constant.
    components : tuple of str
        Names of the two components.
    new : DataFrame
        "x", "y", "label" and "far" of new rows.
    levels : DataFrame
        "x", "y" and "label" of the means of levels of supplementary factors.
    undrawn : int
        Number of variables with a nonzero loading on both components whose arrow is not drawn.
    caption : str
        How points, arrows and bars are scaled, and what is not drawn.
    """

    points: pd.DataFrame
    arrows: pd.DataFrame
    blocks: pd.DataFrame
    stretch: float
    correlation: float
    components: tuple[str, str]
    new: pd.DataFrame = field(default_factory=pd.DataFrame)
    levels: pd.DataFrame = field(default_factory=pd.DataFrame)
    undrawn: int = 0
    caption: str = ""

    @property
    def ringed(self) -> pd.Series:
        """Whether a row has a ring: it is in the fit and within the axes, with replaced cells."""
        return self.points["replaced"] & ~self.points["left_out"] & ~self.points["far"]


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

    Along one component the arrows reach as far as 97.5 % of the points, along the other no farther than that.
    A few distant points therefore do not make the arrows so long that the other points look small. So that
    arrows remain visible, the longest reaches at least a quarter of the way to the farthest point.
    """
    xy = np.abs(xy[np.isfinite(xy).all(axis=1)])
    longest = np.abs(ends).max(axis=0, initial=0.0)
    if not longest.any() or not xy.any():
        return 1.0
    used = longest > 0
    ratios = np.quantile(xy[:, used], 0.975, axis=0) / longest[used]
    return float(max(ratios.min(), 0.25 * np.hypot(*xy.T).max() / np.hypot(*ends.T).max()))


def points_of(
    frame: pd.DataFrame | None, what: str, scores: pd.DataFrame, pair: list[int], spread: NDArray[np.float64]
) -> pd.DataFrame:
    """Return "x", "y" and "label" of further points, on the scale of the scores."""
    if frame is None:
        return pd.DataFrame({"x": [], "y": [], "label": []}, dtype=float)
    values = drawing.frame_of(frame, what)
    same_components(scores, frame, what)
    xy = values[:, pair] / spread
    return pd.DataFrame(
        {"x": xy[:, 0], "y": xy[:, 1], "label": short_names(list(frame.index))}, index=frame.index
    )


# --- arrows ---------------------------------------------------------------------------------------


def arrows_of(markers: pd.DataFrame, max_arrows: int | None, stretch: float) -> tuple[pd.DataFrame, int]:
    """Return the arrows to draw, the longest first, and how many with a nonzero loading are not drawn."""
    between = markers[markers["between"].to_numpy()].drop(columns="between")
    tips = between.iloc[longest(between, max_arrows, 0)].copy()
    tips[["x", "y"]] *= stretch
    tips["length"] = np.hypot(tips["x"], tips["y"])
    order = np.argsort(-tips["length"].to_numpy(), kind="stable")
    return tips.iloc[order], int(between["nonzero"].sum() - tips["nonzero"].sum())


#: Correlation of scores from which the caption mentions it.
NOTABLE = 0.1


def _sentences(data: BiplotData, scale: float, arrows: str) -> list[str]:
    """Return the sentences of the caption."""
    power = "" if scale == 1 else f"^{scale:g}"
    sentences = [f"Points: scores{'' if scale == 0 else f' / sd{power}'}."]
    out = int(data.points["left_out"].sum())
    if out:
        sentences.append(f"Open: {plural(out, 'row')} left out of the fit.")
    ringed = int(data.ringed.sum())
    if ringed:
        sentences.append(f"Rings: {plural(ringed, 'row')} with outlying values, which the fit replaces.")
    if len(data.arrows):
        markers = "loadings" if scale == 0 else f"loadings × sd{power}"
        markers = "correlations with the scores" if arrows == "correlations" else markers
        sentences.append(f"Arrows: {markers} × {data.stretch:.3g}.")
    if len(data.blocks):
        value = loading_text(float(data.blocks["value"].abs().max()))
        sentences.append(f"Bars: {arrows}, up to {value}.")
    if abs(data.correlation) > NOTABLE:
        r = drawing.value_text(data.correlation)
        sentences.append(f"Correlated scores (r = {r}): inner products are approximate.")
    if data.undrawn:
        count = int(data.arrows["nonzero"].sum())
        sentences.append(f"{count} of {count + data.undrawn} arrows are drawn, the longest.")
    far = int(data.points["far"].sum())
    if far:
        sentences.append(f"Triangles at the edge: {plural(far, 'row')} farther out.")
    far = int(data.new["far"].sum())
    if far:
        sentences.append(f"Triangles at the edge: {plural(far, 'new row')} farther out.")
    return sentences


# --- drawing of the points ------------------------------------------------------------------------


def _points(
    ax: Axes, data: BiplotData, frame: Frame, title: str | None, palette: Any, size: float
) -> tuple[Legend | None, Axes | None]:
    """Draw the points; return their legend and the axes of their colour bar, or None."""
    xy = data.points[["x", "y"]].to_numpy()
    far = frame.far(data.points)
    style: dict[str, Any] = {**score_plots.dots(len(xy), 16.0), "zorder": 2}
    _rings(ax, xy[data.ringed.to_numpy()], style)
    if "color" in data.points:
        numbers = data.points["color"].to_numpy(dtype=float)
        artist = score_plots.scatter_numbers(ax, xy[~far], numbers[~far], palette=palette, **style)
        _edge_marks(ax, frame, xy[far], shade(ax, 0.6))
        return None, score_plots.colour_bar(ax, artist, title, size)
    groups = data.points["group"].array if "group" in data.points else None
    clouds = list(score_plots.groups_of(ax, groups, len(xy), palette))
    artists = []
    out = data.points["left_out"].to_numpy()
    for cloud in clouds:
        x, y = xy[cloud.rows & ~far & ~out].T
        mark: dict[str, Any] = {"color": [cloud.colour], "marker": cloud.marker, "linewidths": 0}
        artists.append(ax.scatter(x, y, **mark, **style))
        score_plots.open_points(ax, xy[cloud.rows & ~far & out], cloud, style)
        _edge_marks(ax, frame, xy[cloud.rows & far], cloud.colour)
    if groups is None:
        return None, None
    options: dict[str, Any] = {"borderpad": 0, "borderaxespad": 0, "handletextpad": 0.2, "labelspacing": 0.25}
    options |= {"columnspacing": 1.0, "handlelength": 1.4, "fontsize": size, "title_fontsize": size}
    title = title if len(clouds) >= TITLED else None
    legend = drawing.write_legend(ax, artists, [cloud.name for cloud in clouds], title=title, **options)
    return legend, None


def _rings(ax: Axes, xy: NDArray[np.float64], style: dict[str, Any]) -> None:
    """Draw rings around the points of rows with cells that the fit replaces."""
    if len(xy):
        colours: dict[str, Any] = {"facecolors": "none", "edgecolors": [ink(ax)], "linewidths": line(0.6)}
        options = {**style, **colours, "s": 3.0 * style["s"] + 8.0, "marker": "o", "alpha": 1.0}
        ax.scatter(xy[:, 0], xy[:, 1], gid="replaced", **options)


#: A legend of so many groups has a title.
TITLED = 9


def _edge_marks(ax: Axes, frame: Frame, xy: NDArray[np.float64], colour: Any) -> None:
    """Draw triangles at the edge that point to rows outside."""
    for point, mark in zip(xy, frame.edge(xy), strict=True):
        if np.isfinite(point).all():
            turn = float(np.degrees(np.arctan2(*(point - mark)[::-1]))) - 90.0
            options: dict[str, Any] = {"s": 34, "linewidths": 0, "zorder": 5, "gid": "edge"}
            options["marker"] = (3, 0, turn)
            ax.scatter(mark[0], mark[1], color=[colour], clip_on=False, **options)


def _draw_new_points(ax: Axes, data: BiplotData, frame: Frame) -> None:
    """Draw new rows as crosses and means of levels as diamonds."""
    for points, marker, name in ((data.new, "x", "new rows"), (data.levels, "D", "levels")):
        colour = ink(ax) if marker == "x" else visible(ax, SUPPLEMENTARY)
        inner = frame.inside(points)
        size = score_plots.dots(len(points), 30.0)["s"]
        style: dict[str, Any] = {"s": size, "linewidths": line(1.1), "zorder": 4.5}
        if len(inner):
            ax.scatter(*inner.T, color=[colour], marker=marker, gid=name, **style)
        outer = points[frame.far(points)][["x", "y"]].to_numpy(dtype=float)
        _edge_marks(ax, frame, outer, colour)


#: More new rows than this have no names.
MOST_NEW_NAMES = 30


def _name_points(ax: Axes, texts: Names, data: BiplotData, frame: Frame) -> None:
    """Name levels, far rows, rows with a label, and new rows, in this order."""
    grey = shade(ax, 0.75)
    for name, position in zip(data.levels["label"], _all_positions(data.levels), strict=True):
        texts.add(position, str(name), visible(ax, SUPPLEMENTARY), needed=True)
    few_new = data.new if len(data.new) <= MOST_NEW_NAMES else data.new.iloc[:0]
    points = data.points
    names = short_names(list(points.index[frame.far(points)]), score_plots.ROW_NAME_WIDTH)
    _name_far(texts, frame, points, names, grey)
    _name_far(texts, frame, few_new, few_new["label"][frame.far(few_new)].astype(str).tolist(), ink(ax))
    for frame_of_points, colour in ((points, grey), (few_new, ink(ax))):
        inner = frame_of_points[~frame.far(frame_of_points)]
        for name, position in zip(inner["label"], _all_positions(inner), strict=True):
            texts.add(position, str(name), colour)


def _name_far(texts: Names, frame: Frame, points: pd.DataFrame, names: list[str], colour: Any) -> None:
    """Name marks at the edge, with the coordinates of their points."""
    xy = points[frame.far(points)][["x", "y"]].to_numpy(dtype=float)
    for name, (x, y), mark in zip(names, xy, frame.edge(xy), strict=True):
        texts.add(mark, f"{name} ({_coordinate(x)}, {_coordinate(y)})", colour, needed=True)


def _coordinate(value: float) -> str:
    """Return a coordinate with three digits, and without a power of ten below a million."""
    digits = f"{value:.3g}" if abs(value) < 999.5 or abs(value) >= 1e6 else f"{value:,.0f}"
    return digits.replace("-", "−")


def _all_positions(frame: pd.DataFrame) -> NDArray[np.float64]:
    return frame[["x", "y"]].to_numpy(dtype=float)
