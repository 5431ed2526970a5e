"""Plots of rows: scores in pairs of components, distances and coordinates; groups, labels and outlines."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd
from matplotlib.transforms import Affine2D, ScaledTranslation, blended_transform_factory

from spcastat.arguments import elements, explained, is_single, is_whole, plural, shown, whole_number
from spcastat.errors import DataError, OptionError, ShapeError
from spcastat.hints import ByRow
from spcastat.labels import flat_labels, short_name, short_names
from spcastat.plots import drawing
from spcastat.plots.drawing import (
    MARKERS,
    accents,
    area,
    colours_of,
    line,
    map_of_numbers,
    paper,
    shade,
)
from spcastat.plots.legends import legend_above, title_of, write_legend
from spcastat.plots.names import HALO, NAME_HEIGHT, TIP_COVER, Names
from spcastat.plots.texts import width_of
from spcastat.plots.ticks import TickNumbers, number_axes
from spcastat.reading.checks import aligned, frame_values, real_array

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.collections import PathCollection
    from matplotlib.lines import Line2D

#: The height of the name of a limit, in font sizes.
LIMIT_NAME = 1.6
#: The largest share of the length of an axis that is added to make room for a name.
LARGEST_ROOM = 0.4
#: The smallest area of the mark of a named row, in squared points.
NAMED_AREA = 14.0
#: Largest number of groups: more could not be distinguished.
MOST_GROUPS = 20

#: Name of the group of rows without a group.
GROUP_MISSING = "(missing)"

#: Kinds of outlines around a group.
OUTLINES = ("normal", "t", "hull")
#: Degrees of freedom of the t distribution.
FREEDOM = 5


@dataclass(frozen=True)
class Group:
    """A group of rows to draw: mask of its rows, colour, marker, and name ("" if there are no groups)."""

    rows: np.ndarray
    colour: Any
    marker: str
    name: str

    def mark(self, alpha: float = 1.0) -> Line2D:
        """Return the mark of the group, for a legend; `alpha` is that of its points."""
        from matplotlib.lines import Line2D

        look: dict[str, Any] = {"color": self.colour, "marker": self.marker, "alpha": alpha}
        return Line2D([], [], markersize=line(5.0), ls="none", mew=0, **look)


def groups_of(ax: Axes, groups: pd.Categorical | None, n: int, palette: Any = None) -> Iterator[Group]:
    """Yield the nonempty groups, rows without a group last; for None a single group of all n rows."""
    if groups is None:
        yield Group(np.ones(n, dtype=bool), accents(ax)[0], "o", "")
        return
    colours = colours_of(ax, palette, list(groups.categories))
    for code, name in enumerate(short_names(list(groups.categories))):
        if (groups.codes == code).any():
            yield Group(groups.codes == code, colours[code], MARKERS[code % len(MARKERS)], name)
    if (groups.codes < 0).any():
        yield Group(groups.codes < 0, shade(ax, 0.45), ".", GROUP_MISSING)


# --- checks ---------------------------------------------------------------------------------------


def group_rows(groups: Any, index: pd.Index) -> pd.Categorical:
    """Return the group of every row as a categorical, with categories in their order and without empty ones.

    A Series, or a DataFrame of one column, is matched by its labels, which must contain all of `index`; if it
    has the default labels 0, 1, ... and the rows have other labels, it is matched by position. Other types
    must have one value for each row, in order.

    Raises
    ------
    ShapeError
        If the number of values differs from the number of rows, a Series lacks the labels of some rows, or a
        DataFrame has several columns.
    OptionError
        If there are more than 20 groups.
    """
    if isinstance(groups, pd.DataFrame):
        if groups.shape[1] != 1:
            raise ShapeError(
                f"groups is a DataFrame of {groups.shape[1]} columns; give one of them, e.g. df['name']."
            )
        groups = groups.iloc[:, 0]
    values, n = groups, len(index)
    if isinstance(groups, pd.Series):
        values = aligned(groups, index, "groups", "rows", part=True, error=ShapeError).array
    if not isinstance(values, pd.api.extensions.ExtensionArray):
        values = elements(values, n)
        if len(values) == 1 and values[0] is groups:
            raise OptionError(
                f"groups={shown(groups)} was given; give the values themselves, one for each row."
            )
    if len(values) != n:
        count = f"more than {n} values" if len(values) > n else plural(len(values), "value")
        raise ShapeError(f"groups has {count} for {n} rows of scores; give one for each.")
    values = _categorical(values, groups).remove_unused_categories()
    if len(values.categories) > MOST_GROUPS:
        raise OptionError(
            f"groups has {len(values.categories)} different values; at most {MOST_GROUPS} can be "
            "distinguished: merge some, cut numbers into classes with pandas.cut, or draw numbers by "
            "biplot(color=...)."
        )
    if all(isinstance(category, float) and category.is_integer() for category in values.categories):
        return values.rename_categories(int)  # 1, not 1.0
    return values


def _categorical(values: Any, groups: Any) -> pd.Categorical:
    """Return values as a categorical; an error quotes `groups` if their values cannot be distinguished."""
    if isinstance(values, pd.Categorical):
        return values
    try:
        return pd.Categorical(pd.array(list(values), dtype=object))
    except Exception as error:  # values without hash or order, such as lists
        raise OptionError(
            f"groups={shown(groups)} was given; its values cannot be distinguished: give one text, "
            "number or category for each row."
        ) from error


def row_numbers(color: Any, index: pd.Index) -> np.ndarray:
    """Return one number for every row, to be shown as a colour; a Series is matched as in `group_rows`.

    Raises
    ------
    ShapeError, OptionError
        If the numbers of values and of rows differ, or values are not numbers.
    """
    if isinstance(color, pd.Series):
        color = aligned(color, index, "color", "rows", part=True, error=ShapeError)
    numbers = real_array(color)
    if numbers is None or numbers.ndim != 1:
        raise OptionError(
            f"color={shown(color)} was given; it must be one number for each row. For names give groups=."
        )
    if len(numbers) != len(index):
        raise ShapeError(
            f"color has {plural(len(numbers), 'value')} for {len(index)} rows of scores; give one for each."
        )
    if not np.isfinite(numbers).any():
        raise DataError("color has no finite value; give a number for each row.")
    return numbers.astype(float)


# --- points ---------------------------------------------------------------------------------------


def scatter_groups(ax: Axes, xy: Any, kinds: Sequence[Group], **style: Any) -> PathCollection:
    """Draw the points of all groups in mixed order, so that no group hides another.

    `style` may have one "s" and one "alpha" for all points, or one for each.
    """
    from matplotlib.colors import to_rgba
    from matplotlib.markers import MarkerStyle

    x, y = xy if isinstance(xy, tuple) else xy.T
    rows = [np.flatnonzero(kind.rows) for kind in kinds]
    order, group = np.concatenate(rows), np.repeat(np.arange(len(kinds)), [len(places) for places in rows])
    if len(kinds) > 1:
        mixed = np.random.default_rng(0).permutation(len(order))
        order, group = order[mixed], group[mixed]
    colours = np.array([to_rgba(kind.colour) for kind in kinds])[group]
    colours[:, 3] = np.broadcast_to(style.pop("alpha", 1.0), len(x))[order]
    sizes = np.broadcast_to(style.pop("s"), len(x))[order]
    points = ax.scatter(x[order], y[order], c=colours, s=sizes, linewidths=0, **style)
    markers = [MarkerStyle(kind.marker) for kind in kinds]
    paths = [marker.get_path().transformed(marker.get_transform()) for marker in markers]
    points.set_paths([paths[i] for i in group] if len(kinds) > 1 else paths)
    return points


def open_points(ax: Axes, xy: np.ndarray, group: Group, style: dict[str, Any]) -> PathCollection:
    """Draw the points of rows that the fit leaves out as opaque open marks."""
    marker = "o" if group.marker == "." else group.marker
    colours = {"facecolors": "none", "edgecolors": [group.colour], "alpha": 1.0}
    options: dict[str, Any] = {**style, **colours, "marker": marker, "linewidths": line(1.0)}
    return ax.scatter(xy[:, 0], xy[:, 1], **options)


def scatter_numbers(
    ax: Axes, xy: np.ndarray, numbers: np.ndarray, *, palette: Any = None, **style: Any
) -> PathCollection:
    """Draw points in the colours of their numbers, or grey without a number; return the coloured points."""
    finite = np.isfinite(numbers)
    if not finite.all():
        ax.scatter(*xy[~finite].T, color=[shade(ax, 0.45)], marker=".", linewidths=0, **style)
    x, y = xy[finite].T
    style |= {"alpha": 1.0, "linewidths": 0}  # the colours are those of the bar
    return ax.scatter(x, y, c=numbers[finite], cmap=map_of_numbers(ax, palette), **style)


#: Height of a colour bar, of the bar with its numbers, and of its title, in font sizes; the space between the
#: bar and the axes in points.
BAR_HEIGHT, BAR_SPACE, BAR_TITLE, BAR_GAP = 0.7, 2.6, 1.5, 2.5


def colour_bar(ax: Axes, artist: PathCollection, title: str | None, size: float) -> float:
    """Draw a horizontal colour bar above the axes, and return the height in points that it needs."""
    axes: Any = ax.transAxes
    points_above = Affine2D().scale(1.0 / 72.0) + drawing.figure_of(ax).dpi_scale_trans
    place = blended_transform_factory(axes, points_above + ScaledTranslation(0.0, 1.0, axes))
    bar_axes = ax.inset_axes((0.0, BAR_GAP, 1.0, BAR_HEIGHT * size), transform=place)
    look = {"orientation": "horizontal", "ticklocation": "top", "format": TickNumbers()}
    drawing.draw_colour_bar(bar_axes, artist, title, size, **look)
    return BAR_GAP + (BAR_SPACE + BAR_TITLE * bool(title)) * size


#: The smallest size of points of groups, as a share of the largest size, and their lowest opacity: colours of
#: smaller or more transparent points cannot be distinguished.
SMALLEST_OF_GROUP, LEAST_OPAQUE = 0.4, 0.7


def dots(n: int, size: float = 22.0, share: float = 1.0, groups: int = 1) -> dict[str, Any]:
    """Return the style of n points: smaller and more transparent for larger n, rasterised beyond 5,000.

    In axes with a `share` of the usual area, points look as those of n / `share` rows in usual axes. Points
    of several groups remain large and opaque enough for their colours to be distinguished.
    """
    rarity = 200 * min(share, 1.0) / max(n, 1)
    lowest = min(share, 1.0) ** 0.4
    smallest, least_opacity = (SMALLEST_OF_GROUP, LEAST_OPAQUE) if groups > 1 else (0.18, 0.15 * lowest)
    return {
        "s": area(float(np.clip(size * rarity**0.4, smallest * lowest * size, size))),
        "alpha": float(np.clip(0.7 * rarity**0.32, least_opacity, 0.75)),
        "rasterized": n > 5000,
    }


# --- outlines and centroids -----------------------------------------------------------------------


def outline_of(xy: np.ndarray, kind: str, level: float) -> np.ndarray | None:
    """Return the vertices of an outline around points, (m, 2); None if the points lie on a line.

    "normal" is the ellipse with probability `level` under the normal distribution with the mean and
    covariance matrix of the points. "t" is the ellipse for a bivariate t distribution with 5 degrees of
    freedom, fitted by maximum likelihood, which is robust to outliers. "hull" is the convex hull.
    """
    xy = xy[np.isfinite(xy).all(axis=1)]
    if len(xy) < 3 or np.linalg.matrix_rank(xy - xy.mean(axis=0)) < 2:
        return None
    if kind == "hull":
        from scipy.spatial import ConvexHull  # slow to import

        return np.asarray(xy[ConvexHull(xy).vertices])
    from scipy.stats import chi2, f

    if kind == "normal":
        centre, scatter, radius = xy.mean(axis=0), np.cov(xy.T), np.sqrt(chi2.ppf(level, 2))
    else:
        centre, scatter = fit_t(xy)
        radius = np.sqrt(2.0 * f.ppf(level, 2, FREEDOM))
    angle = np.linspace(0.0, 2.0 * np.pi, 121)[:-1]
    circle = np.stack([np.cos(angle), np.sin(angle)], axis=1)
    return np.asarray(centre + radius * circle @ np.linalg.cholesky(scatter).T)


def fit_t(xy: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Fit the centre and scatter of a bivariate t distribution by ML (Kent, Tyler and Vardi 1994).

    The algorithm is iterative reweighting: a point has the weight (FREEDOM + 2) / (FREEDOM + its squared
    distance).
    """
    centre, scatter = xy.mean(axis=0), np.cov(xy.T)
    for _ in range(200):
        away = xy - centre
        distance = np.einsum("ij,ij->i", away, np.linalg.solve(scatter, away.T).T)
        weights = (FREEDOM + 2.0) / (FREEDOM + distance)
        next_centre = weights @ xy / weights.sum()
        away = xy - next_centre
        # dividing by the sum of the weights instead of n has the same limit, and converges faster
        spread = (weights[:, None] * away).T @ away / weights.sum()
        converged = np.abs(spread - scatter).max() <= 1e-10 * np.abs(scatter).max()
        centre, scatter = next_centre, spread
        if converged:
            break
    return centre, scatter


def draw_outline(ax: Axes, corners: np.ndarray, colour: Any) -> None:
    """Draw a polygon with a faint fill."""
    from matplotlib.patches import Polygon

    style: dict[str, Any] = {"closed": True, "zorder": 1.5}
    ax.add_patch(Polygon(corners, facecolor=colour, edgecolor="none", alpha=0.10, **style))
    ax.add_patch(Polygon(corners, fill=False, edgecolor=colour, linewidth=line(1.1), alpha=0.85, **style))


#: Area of the mark of a centroid, in squared points.
CENTROID = 110.0


def draw_centroid(ax: Axes, centre: np.ndarray, colour: Any, marker: str) -> None:
    """Draw a large marker with an edge in the colour of the background."""
    look: dict[str, Any] = {"color": [colour], "edgecolors": [tuple(paper(ax))], "linewidths": line(1.4)}
    ax.scatter(centre[0], centre[1], s=area(CENTROID), marker=marker, zorder=5, gid="centroid", **look)


# --- labels ---------------------------------------------------------------------------------------


#: The sentence of a note on the names of rows whose labels repeat.
ROWS_COUNTED = "Rows are counted from 1."
#: Largest number of characters of the name of a row.
ROW_NAME_WIDTH = 20


def row_names(index: pd.Index, limit: int = ROW_NAME_WIDTH) -> list[str]:
    """Return the names of rows: their labels, or their numbers from 1 if labels repeat."""
    if not index.is_unique:
        return [str(i + 1) for i in range(len(index))]
    return short_names(list(index), limit)


#: Number of rows that are named by default, if they have names.
ROWS_NAMED = 3


def row_labels(labels: Any, index: pd.Index, distance: np.ndarray) -> list[str]:
    """Return the label of every row on a plot, "" for rows without one.

    Parameters
    ----------
    labels : int, bool, sequence, Series or None
        The number of rows to name, those farthest from the centre; True for all rows; one name for each row;
        or a Series with names of some rows. None names the three farthest rows if the index has names, that
        is, different texts.
    index : Index of length n
    distance : ndarray of shape (n,)
        Distance of each row from the centre.

    Raises
    ------
    OptionError, ShapeError
        If the value is of another kind, the number of names differs from the number of rows, or a Series has
        no label of a row.
    """
    n = len(index)
    if labels is None:
        texts = all(isinstance(label, str) and not label.strip().isdigit() for label in index)
        labels = ROWS_NAMED if texts and index.is_unique else 0
    if isinstance(labels, (bool, np.bool_)):
        labels = n if labels else 0
    if is_whole(labels):
        limit = min(whole_number("labels", labels, 0), n)
        names = row_names(index) if limit else []
        named_rows = set(np.argsort(-np.nan_to_num(distance), kind="stable")[:limit].tolist())
        return [names[i] if i in named_rows else "" for i in range(n)]
    if isinstance(labels, pd.Series) and not labels.index.equals(index):
        labels, index = labels.set_axis(flat_labels(labels.index)), flat_labels(index)
        if not labels.index.is_unique or not labels.index.isin(index).any():
            raise ShapeError("labels is a Series whose index has no label of a row, or has repeated labels.")
        return [_text(value) for value in labels.reindex(index)]
    if is_single(labels):
        raise OptionError(
            f"labels={shown(labels)} was given; it accepts a number of rows, True for all, one name for each "
            "row, or a Series of names. max_arrows= limits the names of variables."
        )
    texts_given = elements(labels, n)
    if len(texts_given) != n:
        count = plural(len(texts_given), "name") if len(texts_given) < n else f"more than {n} names"
        raise ShapeError(
            f"labels has {count}; there are {n} rows. Name some of them with a Series, "
            "e.g. pd.Series({'row': 'name'})."
        )
    return [_text(value) for value in texts_given]


def _text(value: Any) -> str:
    if not is_single(value):
        raise OptionError(
            f"labels contains {shown(value)}; it accepts one name for each row, a text or a number."
        )
    missing = value is None or value is pd.NA or (isinstance(value, float) and np.isnan(value))
    return "" if missing or value == "" else short_name(value, ROW_NAME_WIDTH)


# --- distances ------------------------------------------------------------------------------------


@explained
def plot_diagnostics(
    diagnostics: pd.DataFrame,
    limits: pd.Series,
    *,
    groups: ByRow | None = None,
    labels: int = 10,
    ax: Axes | None = None,
) -> Axes:
    """Draw the squared residual Q of each row against its Hotelling T2, with both limits.

    Rows on the right are extreme within the span of the components; rows at the top are poorly described by
    the components. An axis is logarithmic if a row exceeds thirty times its limit. The note says how many
    rows are beyond a limit, and how many of a normal distribution would be.

    Parameters
    ----------
    diagnostics : DataFrame, n x 2
        "T2" and "Q". Rows are named by their labels, or by numbers from 1 if labels are repeated.
        ``diagnostics.attrs["rows"]`` says in the note which rows these are, by default "rows".
    limits : Series
        "T2" and "Q"; its name, the level, is written next to the lines. A limit of NaN is not drawn.
        ``limits.attrs["rows"]`` says of which rows the limits are, by default "new rows".
    groups : Series, Categorical or array of length n, optional
        Groups that set colours and markers of the points; at most 20. Without groups, rows beyond a limit are
        marked.
    labels : int
        How many of the rows beyond a limit are labelled, and drawn dark: those that exceed it most. If there
        are no more rows than this, all are labelled.
    ax : Axes, optional
        By default a new figure is created.

    Returns
    -------
    Axes

    Raises
    ------
    ShapeError
        If "T2" or "Q" is missing, or groups do not match the rows.
    DataError
        If distances are infinite.
    OptionError
        If `labels` is below 0, there are too many groups, or `ax` is not an Axes.
    """
    points = plot_diagnostics_data(diagnostics, limits, groups=groups, labels=labels)
    ax = drawing.axes_for(ax, 6.0, 4.4, drawing.OPEN)
    xy = points[["T2", "Q"]].to_numpy(dtype=float)
    _scales(ax, xy, limits)
    if groups is not None:
        kinds = list(groups_of(ax, points["group"].array, len(xy)))
        title = title_of(groups)
    else:
        out = (points["beyond"] != "").to_numpy()
        blue, orange = accents(ax)
        kinds = [Group(~out, blue, "o", "within the limits"), Group(out, orange, "^", "beyond a limit")]
        kinds, title = [kind for kind in kinds if kind.rows.any()], None
    is_named, style = points["labelled"].to_numpy(), dots(len(xy))
    style["s"] = np.where(is_named, max(style["s"], area(NAMED_AREA)), style["s"])
    style["alpha"] = np.where(is_named, 1.0, style["alpha"])
    scatter_groups(ax, xy, kinds, zorder=2, **style)
    if groups is not None or len(kinds) > 1:
        names = [kind.name for kind in kinds]
        place = legend_above(ax, names, LIMIT_NAME, title)
        marks = [kind.mark() for kind in kinds]
        write_legend(ax, marks, names, drawing.name_size(), title=title, **place)
    _limit_lines(ax, limits)
    drawing.label_components(ax, ("Hotelling T²", "Q"), drawing.name_size())
    labelled = np.flatnonzero(is_named)
    excess = (xy[labelled] / xy.max(axis=0).clip(min=1e-300)).max(axis=1)
    labelled = labelled[np.argsort(-excess, kind="stable")]
    texts = CountedNames(ax, drawing.name_size(), xy, crossing_lines=(limits["T2"], limits["Q"]))
    labels_of_rows = row_names(points.index)
    for i in labelled.tolist():
        texts.add(xy[i], labels_of_rows[i], shade(ax, 0.75), most_covered=TIP_COVER, of_row=True, leader=True)
    counted = ROWS_COUNTED * (len(labelled) > 0 and not points.index.is_unique)
    texts.write_caption(RowCounts.of(points, limits, str(diagnostics.attrs.get("rows", "rows"))), counted)
    _make_room(ax, limits, texts)
    return ax


@dataclass(frozen=True)
class RowCounts:
    """Numbers of rows in a plot of diagnostics, and of rows beyond a limit.

    Attributes
    ----------
    total, count_beyond : int
    all_named : bool
        Whether all rows are named if there is room, not only those beyond a limit.
    limit_count : int
        The number of limits that are drawn, at most two.
    level : float
        The level of the limits, NaN if it is unknown.
    rows, limit_rows : str
        Descriptions of the rows that are drawn, and of the rows to which the limits apply.
    """

    total: int
    count_beyond: int
    all_named: bool
    limit_count: int
    level: float
    rows: str
    limit_rows: str

    @classmethod
    def of(cls, points: pd.DataFrame, limits: pd.Series, rows: str) -> RowCounts:
        """Return the counts for the points of `plot_diagnostics_data`."""
        return cls(
            len(points),
            int((points["beyond"] != "").sum()),
            bool(points["labelled"].all()),
            int(np.isfinite(limits[["T2", "Q"]].to_numpy(float)).sum()),
            _level(limits),
            rows,
            limits.attrs.get("rows", "new rows"),
        )

    def sentences(self, named_count: int) -> list[str]:
        """Return the sentences of the note on the dashed lines, if there are any, and the rows beyond them.

        `named_count` is the number of names in the plot.
        """
        if not self.limit_count:
            return []
        limit = "one" if self.limit_count > 1 else "it"
        share = f"{100.0 * self.count_beyond / self.total:.0f} %"
        if np.isfinite(self.level):
            normal_share = 100.0 * (1.0 - self.level**self.limit_count)
            share += f"; if normal: about {max(normal_share, 0.1):.{int(normal_share < 1.0)}f} %"
        is_partial = 0 < named_count < self.count_beyond and not self.all_named
        on_names = f", {named_count:,} named" * is_partial
        level = f" of {level_text(self.level)} of {self.limit_rows}" * bool(np.isfinite(self.level))
        return [
            f"Dashed: limits{level}.",
            f"Beyond {limit}: {self.count_beyond:,} of {self.total:,} {self.rows} ({share}){on_names}.",
        ]


class CountedNames(Names):
    """Names of rows, with a note that counts them if some rows beyond a limit have no name."""

    def write_caption(self, counts: RowCounts, *sentences: str) -> None:
        """Write the note, with room for its longest text; call this after all names are added."""
        ax: Any = self.axes
        self.counts, self.sentences = counts, sentences
        self.caption = drawing.write_note(ax, self._caption(len(self.names)))
        if self.caption is not None:
            self.caption.set_zorder(self.get_zorder() + 1.0)  # drawn after the names, which it counts

    def draw(self, renderer: Any) -> None:
        """Place and draw the names, and count them."""
        super().draw(renderer)
        ax: Any = self.axes
        if self.caption is not None:
            self.caption.set_text(drawing.note_text(ax, self._caption(len(self.written))))

    def _caption(self, named_count: int) -> list[str]:
        """Return the sentences of the note if `named_count` rows are named."""
        axes_in_words = "T²: distance within the components. Q: squared residual."
        return [axes_in_words, *self.counts.sentences(named_count), *self.sentences]


@explained
def plot_diagnostics_data(
    diagnostics: pd.DataFrame, limits: pd.Series, *, groups: ByRow | None = None, labels: int = 10
) -> pd.DataFrame:
    """Return the points that `plot_diagnostics` draws, n x 4 or n x 5.

    The columns are "T2" and "Q" of each row, the limits that the row is "beyond" ("", "T2", "Q" or "both"),
    whether the row is "labelled", and its "group" if groups were given.
    """
    labels = whole_number("labels", labels, 0)
    if not isinstance(limits, pd.Series):
        raise ShapeError(
            f"limits of type {type(limits).__name__} was given; it must be a Series with 'T2' and 'Q', such "
            "as limits() of a fit."
        )
    for name in ("T2", "Q"):
        if name not in getattr(diagnostics, "columns", ()) or name not in limits.index:
            raise ShapeError(f"diagnostics and limits need {name!r}; give the results of a fit.")
    values = frame_values(diagnostics[["T2", "Q"]], "diagnostics")
    if np.isinf(values).any():
        raise DataError(
            "T2 or Q is infinite for some rows, too far from the others to be drawn: leave them out."
        )
    bounds = real_array(limits[["T2", "Q"]])
    if bounds is None or bounds.shape != (2,):
        raise ShapeError("limits must contain one number each for 'T2' and 'Q'.")
    out = values > bounds
    names = np.array(["", "T2", "Q", "both"], dtype=object)
    points = diagnostics[["T2", "Q"]].copy()
    points["beyond"] = names[out @ np.array([1, 2])]
    with np.errstate(divide="ignore", invalid="ignore"):
        excess = np.where(out, values / bounds, 0.0).max(axis=1)
    ranks = np.argsort(np.argsort(-excess, kind="stable"), kind="stable")
    points["labelled"] = (ranks < labels) & ((excess > 0) | (len(points) <= labels))
    return points if groups is None else points.assign(group=group_rows(groups, diagnostics.index))


def _scales(ax: Axes, xy: np.ndarray, limits: pd.Series) -> None:
    """Choose linear or logarithmic axes, with room for labels."""
    for axis, values, name in (("x", xy[:, 0], "T2"), ("y", xy[:, 1], "Q")):
        bound = float(limits[name])
        top = max(float(np.nanmax(values)), bound if np.isfinite(bound) else 0.0)
        low = 0.0
        if np.isfinite(bound) and top > 30.0 * bound > 0 and (values > 0).all():
            ax.set(**{f"{axis}scale": "log"})
            low, top = 0.7 * float(values.min()), 1.6 * top
        else:
            low, top = -0.03 * top, 1.1 * top
        ax.set(**{f"{axis}lim": (low, top if top > low else 1.0)})
    number_axes(ax)


def _make_room(ax: Axes, limits: pd.Series, names: Names) -> None:
    """Extend the axes so that each row between a limit and the end of an axis has room for its name."""
    drawing.run_layout(ax)
    spaces = 2.0 * HALO + np.array([NAMED_AREA**0.5, NAME_HEIGHT * names.size])
    for axis, name, i in ((ax.xaxis, "T2", 0), (ax.yaxis, "Q", 1)):
        scale, length = axis.get_transform(), float(drawing.size_of(ax)[i])
        low, high = axis.get_view_interval()
        start, end, line_at = scale.transform(np.array([low, high, float(limits[name])]))
        for row in names.names:
            (at,) = scale.transform(row.position[i : i + 1])
            share = (spaces[i] + (0.0 if i else width_of(row.text, names.size))) / length
            if 0.0 < at - line_at < share * (end - start):
                end = max(end, start + (at - start) / (1.0 - min(share, LARGEST_ROOM)))
        ax.set(**{f"{'xy'[i]}lim": (low, scale.inverted().transform(np.array([end]))[0])})


def _level(limits: pd.Series) -> float:
    """Return the level of limits, which is the name of the Series; NaN if the name is not a number."""
    try:
        return float(limits.name)  # type: ignore[arg-type]
    except (TypeError, ValueError):
        return np.nan


def level_text(level: float) -> str:
    """Return a level as a percentage, such as "95 %"."""
    return f"{100 * level:g} %"


def _limit_lines(ax: Axes, limits: pd.Series) -> None:
    """Draw the finite limits, and write their level, such as "95 %", outside the axes at their ends."""
    grey = shade(ax, 0.7)
    style: dict[str, Any] = {"color": grey, "linewidth": line(0.9), "linestyle": (0, (5, 3)), "zorder": 1.5}
    text: dict[str, Any] = {"fontsize": drawing.name_size(), "color": grey}
    level = level_text(_level(limits)) if np.isfinite(_level(limits)) else "limit"
    if np.isfinite(x := limits["T2"]):
        ax.axvline(x, **style)
        drawing.write(ax, level, (x, 1), (0, 2), xycoords=("data", "axes fraction"), ha="center", **text)
    if np.isfinite(y := limits["Q"]):
        ax.axhline(y, **style)
        drawing.write(ax, level, (1, y), (3, 0), xycoords=("axes fraction", "data"), va="center", **text)
