"""The biplot, rows as points and variables as arrows on two components: its table and its drawing."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any, Literal

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from spcastat.argument_names import explained
from spcastat.argument_types import ByRow, Outline, Pair, Palette, RowLabels
from spcastat.config import checked_level, flag, one_of, plural, real_number
from spcastat.errors import DataError, OptionError
from spcastat.labels import short_name, short_names
from spcastat.plots import axes_and_names as helpers
from spcastat.plots import placement
from spcastat.plots import score_plots as rows_drawn
from spcastat.plots.arrows import draw_arrows, longest, markers_of, name_arrows, same_components
from spcastat.plots.axes_and_names import FURTHER, ink, line, need_coloured, shade, visible

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.legend import Legend
    from matplotlib.text import Annotation


@explained
def biplot(
    scores: pd.DataFrame,
    loadings: pd.DataFrame,
    *,
    components: Pair = (1, 2),
    scale: float = 1.0,
    arrows: Literal["loadings", "correlations"] = "loadings",
    correlations: pd.DataFrame | None = None,
    max_arrows: int | None = 30,
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
    note: bool = True,
    ax: Axes | None = None,
) -> Axes:
    """Draw rows as points and variables as arrows on two components.

    With s the standard deviations of the two columns of scores, points are scores / s^scale and arrows
    loadings * s^scale, so that their inner products are those of scores and loadings for any scale (Gabriel
    1971). Singular values, s * sqrt(n - 1), instead of s only change both by a common factor; with s,
    ``scale=1`` is R's ``biplot(prcomp(x), pc.biplot=TRUE)``. All arrows are multiplied by one common factor
    to reach as far as most of the points; a note below the plot says how both are scaled.

    A variable with a loading on only one of the two components lies exactly on an axis. Such variables share
    one arrow with a tick for each. Their names are at the ticks if all have room there; otherwise a list
    gives their names and loadings, the largest first. All other arrows are named at their tips. If there is
    no room for a name, a number is drawn at the tip, and the note below the axes gives its name.

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
        The largest number of arrows: those with a nonzero loading first, the longest along one component and
        the other in turn. None draws all. The note says how many variables with a nonzero loading are not
        drawn.
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
        Which rows are named. A number: that many rows, those farthest from the centre; True: all; False:
        none. A sequence has one text for each row, "" for no name; a Series has texts by row label. By
        default the three farthest rows are named if the row labels are different texts. The note says
        how many names did not fit.
    new : DataFrame, m x k, optional
        Scores of further rows, drawn as crosses on the scale of the others. Rows more than three times as far
        from the middle as all else are drawn as triangles at the edge, and a note says how many they are.
    supplementary : DataFrame, s x k, optional
        Correlations of further variables with the scores, for ``arrows="correlations"``.
    levels : DataFrame, l x k, optional
        Means of the scores for levels of further factors.
    note : bool
        Whether a note below the plot says how points and arrows are scaled. Without a note, names that do not
        fit are only in `biplot_data()`.
    ax : Axes, optional
        By default a new figure is created. To make room for the notes of several axes in one figure, use
        ``plt.subplots(1, 2, layout="constrained")``; a single axes gets that layout automatically.

    Returns
    -------
    Axes
        If the scores are correlated, as those of sparse components usually are, a note says so: inner
        products of points and arrows are then not the least-squares approximation of the data.

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
        one_of("outline", outline, rows_drawn.OUTLINES)
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
    )
    data, far = _far_rows_at_the_edge(data)
    names = list(scores.columns)
    axis_labels = helpers.axis_names([names[i] for i in _biplot_pair(components, names)], shares)
    own = ax is None
    ax = helpers.axes_for(ax, 6.0, 6.0, bar=color is not None)
    ax.set_xlabel(axis_labels[0], parse_math=False)
    ax.set_ylabel(axis_labels[1], parse_math=False)
    helpers.cross(ax)
    clouds = _clouds(ax, data, palette)
    corners = [] if outline is None else _outlines(ax, data, clouds, outline, level)
    title = helpers.title_of(groups if groups is not None else color)
    write_legend = _points(ax, data, title, palette, own)
    _further(ax, data, far)
    draw_arrows(ax, data.arrows)
    clouds = clouds if centroids else []
    for cloud in clouds:
        rows_drawn.draw_centroid(ax, _middle(data, cloud), cloud.colour, cloud.marker)
    dots = pd.concat([data.points, data.new, data.levels])[["x", "y"]].to_numpy(dtype=float)
    everything = np.vstack([dots, *corners])
    content = placement.Content(everything[np.isfinite(everything).all(axis=1)], data.arrows, data.components)
    share = "adjusted variance" if shares is None else shares.attrs.get("share", "adjusted variance")
    explanations = [f"%: {share}." * ("%" in "".join(axis_labels)), "Ticks: the listed loadings."]
    said = _sentences(data, outline, level)
    if far.any():
        drawn = "is drawn" if far.sum() == 1 else "are drawn"
        said.append(f"{plural(int(far.sum()), 'new row')} far outside {drawn} at the edge (triangles).")
    arranged = Arranged(ax, data, content, said, explanations, dots, clouds, write_legend, own, note)
    arranged.arrange_all()
    return ax


#: New rows farther from the middle than this many times all else are drawn at the edge.
FAR = 3.0


def _far_rows_at_the_edge(data: BiplotData) -> tuple[BiplotData, NDArray[np.bool_]]:
    """Return the data with new rows that are far outside moved towards the middle, and which these are."""
    others = np.vstack(
        [frame[["x", "y"]].to_numpy(float) for frame in (data.points, data.arrows, data.levels)]
    )
    others = np.vstack([others[np.isfinite(others).all(axis=1)], np.zeros((1, 2))])
    middle = (others.max(axis=0) + others.min(axis=0)) / 2.0
    reach = np.maximum(np.ptp(others, axis=0) / 2.0, np.finfo(float).tiny)
    away = data.new[["x", "y"]].to_numpy(float) - middle
    with np.errstate(invalid="ignore"):
        times = np.abs(away / reach).max(axis=1, initial=0.0)
    far = np.asarray(times > FAR)
    if not far.any():
        return data, far
    edge = max(1.1, float(np.nanmax(np.where(far, np.nan, times), initial=0.0)))
    new = data.new.copy()
    new.loc[far, ["x", "y"]] = middle + away[far] * (edge / times[far])[:, None]
    return replace(data, new=new), far


def _clouds(ax: Axes, data: BiplotData, palette: Palette | None) -> list[rows_drawn.Group]:
    """Return the groups of points that have outlines and centroids; all points if there are no groups."""
    groups = data.points["group"].array if "group" in data.points else None
    found = rows_drawn.groups_of(ax, groups, len(data.points), palette)
    return [one for one in found if one.name != rows_drawn.MISSING]


def _outlines(
    ax: Axes, data: BiplotData, clouds: list[rows_drawn.Group], kind: str, level: float
) -> list[NDArray[np.float64]]:
    """Draw an outline around each group of points that spans an area, and return their vertices."""
    drawn = []
    for cloud in clouds:
        xy = data.points.loc[cloud.rows, ["x", "y"]].to_numpy()
        if (corners := rows_drawn.outline_of(xy, kind, level)) is not None:
            rows_drawn.draw_outline(ax, corners, cloud.colour)
            drawn.append(corners)
    return drawn


def _middle(data: BiplotData, cloud: rows_drawn.Group) -> NDArray[np.float64]:
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
    max_arrows: int | None = 30,
    groups: ByRow | None = None,
    color: ByRow | None = None,
    labels: RowLabels | None = None,
    new: pd.DataFrame | None = None,
    supplementary: pd.DataFrame | None = None,
    levels: pd.DataFrame | None = None,
) -> BiplotData:
    """Return what `biplot` draws: points, arrows, and how both are scaled; parameters as for `biplot`."""
    values = helpers.frame_of(scores, "scores")
    helpers.frame_of(loadings)
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
        points["group"] = rows_drawn.group_rows(groups, scores.index)
    if color is not None:
        points["color"] = rows_drawn.row_numbers(color, scores.index)
    points["label"] = rows_drawn.row_labels(labels, scores.index, np.hypot(*xy.T))
    markers = markers_of(loadings, correlations, arrows, pair, spread, supplementary, scores)
    stretch = stretch_of(xy, markers[["x", "y"]].to_numpy())
    drawn, undrawn = arrows_of(markers, max_arrows, stretch)
    power = "" if scale == 1 else f"^{scale:g}"
    of_points = "scores" if scale == 0 else f"scores / sd{power}"
    of_arrows = "loadings" if scale == 0 else f"loadings × sd{power}"
    of_arrows = "correlations with the scores" if arrows == "correlations" else of_arrows
    return BiplotData(
        points=points,
        arrows=drawn,
        stretch=stretch,
        correlation=helpers.correlation_of(*values[:, pair].T),
        components=short,
        new=points_of(new, "new", scores, pair, spread),
        levels=points_of(levels, "levels", scores, pair, spread),
        undrawn=undrawn,
        scaling=f"Points: {of_points}. Arrows: {of_arrows} × {stretch:.3g}.",
    )


def _biplot_pair(components: Pair, names: list[Any]) -> list[int]:
    """Return the positions of the two components of a biplot."""
    advice = "Fit with k=2 or more, or take plot_scores() for the scores and plot_loadings() for loadings."
    return helpers.pair_of(components, names, "a biplot", advice)


# --- the table -------------------------------------------------------------------------------------


#: What arrows can show.
ARROWS = ("loadings", "correlations")


@dataclass(frozen=True)
class BiplotData:
    """The data of a biplot.

    Attributes
    ----------
    points : DataFrame, n x 2 or more
        "x" and "y" of every row, its "group" or "color" if given, and its "label", which may be "".
    arrows : DataFrame, q x 9
        The variables that are drawn, the longest first: "x" and "y" of the tip of the arrow; its "length" as
        drawn; the "side" ("right", "left", "top", "bottom") if it lies exactly on an axis, else ""; the
        "weight" in the list of that side (loading or correlation); its "label", which the plot shortens if
        there is no room; whether its loading is "nonzero" on either component; whether it is a
        "supplementary" variable; and the "position" of the variable in the data. "x" and "y" divided by
        `stretch` are Gabriel's markers, or correlations.
    stretch : float
        The common factor by which arrows are drawn longer than Gabriel's markers (or correlations), so that
        points and arrows fill the same axes.
    correlation : float
        Correlation of the two columns of scores; NaN if one of them is constant.
    components : tuple of str
        Names of the two components.
    new : DataFrame
        "x", "y" and "label" of new rows.
    levels : DataFrame
        "x", "y" and "label" of the means of levels of supplementary factors.
    undrawn : int
        Number of variables with a nonzero loading on either component that are not drawn.
    scaling : str
        Sentences that say how points and arrows are scaled.
    """

    points: pd.DataFrame
    arrows: pd.DataFrame
    stretch: float
    correlation: float
    components: tuple[str, str]
    new: pd.DataFrame = field(default_factory=pd.DataFrame)
    levels: pd.DataFrame = field(default_factory=pd.DataFrame)
    undrawn: int = 0
    scaling: str = ""


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
    most = np.quantile(xy[:, used], 0.975, axis=0) / longest[used]
    return float(max(most.min(), 0.25 * np.hypot(*xy.T).max() / np.hypot(*ends.T).max()))


def points_of(
    frame: pd.DataFrame | None, what: str, scores: pd.DataFrame, pair: list[int], spread: NDArray[np.float64]
) -> pd.DataFrame:
    """Return "x", "y" and "label" of further points, on the scale of the scores."""
    if frame is None:
        return pd.DataFrame({"x": [], "y": [], "label": []}, dtype=float)
    values = helpers.frame_of(frame, what)
    same_components(scores, frame, what)
    xy = values[:, pair] / spread
    return pd.DataFrame(
        {"x": xy[:, 0], "y": xy[:, 1], "label": short_names(list(frame.index))}, index=frame.index
    )


# --- arrows ---------------------------------------------------------------------------------------


def arrows_of(markers: pd.DataFrame, max_arrows: int | None, stretch: float) -> tuple[pd.DataFrame, int]:
    """Return the arrows to draw, the longest first, and how many with a nonzero loading are not drawn."""
    drawn = markers.iloc[longest(markers, max_arrows, 0)].copy()
    drawn[["x", "y"]] *= stretch
    drawn.insert(2, "length", np.hypot(drawn["x"], drawn["y"]))
    drawn.insert(5, "label", short_names(list(drawn.index), 40, drawn["position"].tolist()))
    return drawn, int(markers["nonzero"].sum() - drawn["nonzero"].sum())


# --- the drawing ----------------------------------------------------------------------------------


#: The attribute of axes with a biplot that keeps its names and lists; it lives as long as the axes do.
ARRANGED = "_spcastat_biplot"


@dataclass(eq=False)
class Arranged:
    """The lists, names and note of a biplot, which can be placed again if the size of its axes changes.

    Attributes
    ----------
    ax : Axes
    data : BiplotData
    content : Content
    said : list of str
        Sentences of the note.
    explanations : list of str
        Further sentences, which are left out if the note would need more than two lines.
    dots : ndarray, (n, 2)
        Points that names should not cover, in data units.
    centroids : list of Group
        Groups whose means are named.
    write_legend : callable, optional
        See `lay_out`.
    own : bool
        Whether the figure was made for this biplot.
    with_note : bool
    texts : list of Text
        What was written last.
    """

    ax: Axes
    data: BiplotData
    content: placement.Content
    said: list[str]
    explanations: list[str]
    dots: NDArray[np.float64]
    centroids: list[rows_drawn.Group]
    write_legend: Callable[[int], Legend] | None
    own: bool
    with_note: bool
    texts: list[Any] = field(default_factory=list)

    def arrange_all(self) -> None:
        """Place everything; further axes change the size of the earlier ones, so the other biplots too."""
        if self.own:
            placement.resize(self.ax, placement.room_for(self.ax, self.content, self.own))
        self.arrange()
        every = helpers.figure_of(self.ax).axes
        others = [getattr(one, ARRANGED) for one in every if hasattr(one, ARRANGED)]
        for one in [*others, self] if others else []:
            one.arrange()
        setattr(self.ax, ARRANGED, self)

    def arrange(self) -> None:
        """Place lists, names and note; remove those that were placed before."""
        ax = self.ax
        self._clear()
        note = helpers.write_note(ax, self._note_text(self.content)) if self.with_note else None
        room = placement.room_for(ax, self.content, self.own)
        content = replace(self.content, at_ticks=placement.sides_with_room(self.content, room))
        next_content: placement.Content | None = content
        while next_content is not None:
            self._clear()
            next_content = self._place(next_content, note)
        self.texts += [note] if note is not None else []

    def _place(self, content: placement.Content, note: Annotation | None) -> placement.Content | None:
        """Place lists and names, and rewrite the note; return what to place instead, None if all has room."""
        ax, data = self.ax, self.data
        layout, lists, unplaced = placement.lay_out(ax, content, self.own, self.write_legend)
        self.texts += lists
        if content.at_tick.any() and layout.labels != content.labels(placement.LONGEST_NAME):
            # names at ticks are not shortened: lists have more room
            return replace(content, at_ticks=frozenset())
        scene = placement.scene_of(ax, data.arrows[["x", "y"]].to_numpy(dtype=float), self.dots, around=lists)
        written, key, lost, missed = name_arrows(
            ax,
            scene,
            data.arrows.assign(label=layout.labels),
            content.named,
            self.said,
            "biplot_data()",
            layout.fontsize,
            unplaced,
            letters=bool(data.points["label"].str.strip().str.isdigit().any()),
            close=content.at_tick,
        )
        self.texts += written
        without_room = {data.arrows["side"].iloc[i] for i in missed if content.at_tick[i]}
        if without_room:
            # the variables of these half axes are named in lists
            return replace(content, at_ticks=content.at_ticks - without_room)
        rows, unnamed_rows = _name_points(ax, scene, data, self.centroids, layout.fontsize)
        self.texts += rows
        unnamed = f"{plural(unnamed_rows, 'name')} of points had no room." * bool(unnamed_rows)
        most = max(map(len, content.lists.values()), default=0) if content.most is None else content.most
        # lists are shortened if the data would be too small, or if the note has no room for their names
        crowded = layout.rank[1] + 1 < int(20 * placement.FILLED[self.own])
        if unplaced:
            crowded = bool(lost) or not helpers.note_has_room(ax, [*self.said, key], 3)
        if crowded and most > 2:
            return replace(content, most=2 * most // 3)
        fits = helpers.rewrite_note(ax, note, self._note_text(content, key, unnamed))
        return None if fits else content  # a longer note leaves less room

    def _note_text(self, content: placement.Content, *further: str) -> list[str]:
        """Return the sentences of the note, without explanations that would need more than two lines."""
        sentences = self.said
        for words in self.explanations if content.lists else self.explanations[:1]:
            if helpers.note_has_room(self.ax, [*sentences, words, *further], 2):
                sentences = [*sentences, words]
        return [*sentences, *further]

    def _clear(self) -> None:
        """Remove what was written, except for the legend, which the next one replaces."""
        for text in self.texts:
            text.remove()
        self.texts = []


def _sentences(data: BiplotData, outline: str | None, level: float) -> list[str]:
    """Return the sentences of the note."""
    said = [data.scaling]
    if abs(data.correlation) > 0.1:
        r = helpers.value_text(data.correlation)
        said.append(f"Correlated scores (r = {r}): inner products are approximate.")
    if data.undrawn:
        drawn = int(data.arrows["nonzero"].sum())
        said.append(
            f"{drawn} of the {drawn + data.undrawn} variables with a nonzero loading are drawn: "
            "the longest of each component."
        )
    if outline in ("normal", "t"):
        what = "normal" if outline == "normal" else "t (5 degrees of freedom)"
        said.append(f"Ellipses: {100 * level:g} % of a {what} distribution.")
    return said


# --- drawing of the points ------------------------------------------------------------------------


def _points(
    ax: Axes, data: BiplotData, title: str | None, palette: Any, own: bool
) -> Callable[[int], Legend] | None:
    """Draw the points; on the user's axes return a function that writes their legend (see `lay_out`)."""
    from matplotlib.lines import Line2D

    xy = data.points[["x", "y"]].to_numpy()
    how = {**rows_drawn.dots(len(xy)), "zorder": 2}
    how["s"] *= float(np.clip(helpers.size_of(ax).min() / 300.0, 0.4, 1.0))  # smaller points on small axes
    if "color" in data.points:
        rows_drawn.scatter_numbers(ax, xy, data.points["color"].to_numpy(), title, palette=palette, **how)
        return None
    groups = data.points["group"].array if "group" in data.points else None
    artists, names = rows_drawn.scatter_groups(ax, xy, groups, palette=palette, **how)
    if not names:
        return None
    if own:
        helpers.write_legend(ax, artists, names, title=title, **helpers.BESIDE)
        return None

    def write(columns: int) -> Legend:
        how: dict[str, Any] = {"borderaxespad": 0, "borderpad": 0, "handletextpad": 0.2}
        if columns == 0:
            return helpers.write_legend(ax, artists, names, title=title, loc="lower left", **how)
        how |= {"loc": "lower center", "bbox_to_anchor": (0.5, 1.02), "ncols": columns, "columnspacing": 1.0}
        how["fontsize"] = "x-small"
        if title is None or columns < len(names):
            return helpers.write_legend(ax, artists, names, title=title, **how)
        how["ncols"] += 1  # the title is on the same line as the groups
        first = Line2D([], [], linestyle="none")
        return helpers.write_legend(ax, [first, *artists], [f"{title}:", *names], **how)

    return write


def _further(ax: Axes, data: BiplotData, far: NDArray[np.bool_]) -> None:
    """Draw new rows as crosses, those far outside as triangles outwards, and means of levels as diamonds."""
    outwards = np.arctan2(data.new["y"].to_numpy(float), data.new["x"].to_numpy(float))
    eighths = np.where(far, np.round(np.nan_to_num(outwards) / (np.pi / 4)), np.nan)
    frames: list[tuple[pd.DataFrame, Any, str]] = [(data.new[~far], "x", "new rows")]
    frames += [
        (data.new[eighths == one], (3, 0, 45.0 * one - 90.0), "far rows") for one in np.unique(eighths[far])
    ]
    for frame, marker, name in [*frames, (data.levels, "D", "levels")]:
        colour = ink(ax) if name != "levels" else visible(ax, FURTHER)
        size = rows_drawn.dots(len(frame), 30.0)["s"]
        style: dict[str, Any] = {"s": size, "linewidths": line(1.1), "zorder": 4.5}
        if len(frame):
            ax.scatter(frame["x"], frame["y"], color=[colour], marker=marker, gid=name, **style)


def _name_points(
    ax: Axes, scene: Any, data: BiplotData, clouds: list[rows_drawn.Group], fontsize: str
) -> tuple[list[Any], int]:
    """Name centroids, levels, rows and new rows, in this order; return the names and how many had no room.

    Names of rows are not larger than `fontsize`, that of the variables, and cover no point.
    """
    wanted: list[tuple[np.ndarray, list[str], dict[str, Any]]] = []
    for cloud in clouds if "group" in data.points else []:
        style: dict[str, Any] = {"color": cloud.colour, "fontweight": "bold"}
        wanted.append((_middle(data, cloud)[None], [cloud.name], style))
    # more than 30 new rows have no names
    new = data.new if len(data.new) <= 30 else data.new.iloc[:0]
    small: dict[str, Any] = {"color": shade(ax, 0.75), "clear": True}
    small["fontsize"] = "x-small" if fontsize == "small" else fontsize
    for frame, style in ((data.levels, {"color": visible(ax, FURTHER)}), (data.points, small), (new, small)):
        named = frame[(frame["label"] != "") & frame[["x", "y"]].notna().all(axis=1)]
        wanted.append((named[["x", "y"]].to_numpy(dtype=float), named["label"].astype(str).tolist(), style))
    written = []
    for anchors, names, style in wanted:
        written += placement.write_names(ax, scene, anchors, names, outwards=False, gid="row", **style)
    return [label for label in written if label is not None], sum(label is None for label in written)
