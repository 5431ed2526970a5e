"""Plots of rows: scores in pairs of components, distances and coordinates; groups, labels and outlines."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd

from spcastat.argument_names import explained
from spcastat.argument_types import ByRow, Palette, Several
from spcastat.config import elements, flag, is_single, is_whole, listed, plural, shown, whole_number
from spcastat.errors import ComponentsError, DataError, OptionError, ShapeError
from spcastat.labels import short_name, short_names
from spcastat.plots import axes_and_names as helpers
from spcastat.plots.axes_and_names import (
    MARKERS,
    accents,
    area,
    colour_map,
    colours_of,
    line,
    need_coloured,
    paper,
    shade,
)
from spcastat.plots.names import Names
from spcastat.reading.checks import aligned, frame_values, real_array

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.collections import PathCollection

#: Largest number of groups: more could not be distinguished.
MOST_GROUPS = 20

#: Name of the group of rows without a group.
MISSING = "(missing)"

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


def groups_of(ax: Axes, groups: pd.Categorical | None, n: int, palette: Any = None) -> Iterator[Group]:
    """Yield the nonempty groups, rows without a group last; for None a single group of all n rows."""
    if groups is None:
        yield Group(np.ones(n, dtype=bool), accents(ax)[0], "o", "")
        return
    colours = colours_of(ax, palette, list(groups.categories))
    for code, category in enumerate(groups.categories):
        if (groups.codes == code).any():
            marker = MARKERS[code % len(MARKERS)]
            yield Group(groups.codes == code, colours[code], marker, short_name(category))
    if (groups.codes < 0).any():
        yield Group(groups.codes < 0, shade(ax, 0.45), ".", MISSING)


# --- checks ---------------------------------------------------------------------------------------


def group_rows(groups: Any, index: pd.Index) -> pd.Categorical:
    """Return the group of every row as a categorical, with categories in their order and without empty ones.

    A Series, or a DataFrame of one column, is matched by its labels, which must contain all of `index`; if it
    has the default labels 0, 1, ... and the rows have others, it is matched by position. Anything else must
    have one value for each row, in order.

    Raises
    ------
    ShapeError
        If the numbers of values and of rows differ, a Series lacks the labels of some rows, or a DataFrame
        has several columns.
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
        many = f"more than {n} values" if len(values) > n else plural(len(values), "value")
        raise ShapeError(f"groups has {many}; the scores have {n} rows.")
    if not isinstance(values, pd.Categorical):
        try:
            values = pd.Categorical(pd.array(list(values), dtype=object))
        except Exception as error:  # values without hash or order, such as lists
            raise OptionError(
                f"groups={shown(groups)} was given, whose values cannot be told apart; give one text, number "
                "or category for each row."
            ) from error
    values = values.remove_unused_categories()
    if len(values.categories) > MOST_GROUPS:
        raise OptionError(
            f"groups has {len(values.categories)} different values; at most {MOST_GROUPS} can be told apart: "
            "merge some, cut numbers into classes with pandas.cut, or give numbers as color=."
        )
    if all(isinstance(one, float) and one.is_integer() for one in values.categories):
        return values.rename_categories(int)  # 1, not 1.0
    return values


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
            f"color={shown(color)} was given; it takes one number for each row. For names give groups=."
        )
    if len(numbers) != len(index):
        raise ShapeError(f"color has {plural(len(numbers), 'value')}; the scores have {len(index)} rows.")
    if not np.isfinite(numbers).any():
        raise DataError("color has no finite value.")
    return numbers.astype(float)


# --- points ---------------------------------------------------------------------------------------


def scatter_groups(
    ax: Axes, xy: np.ndarray, groups: pd.Categorical | None, *, palette: Any = None, **style: Any
) -> tuple[list[PathCollection], list[str]]:
    """Draw the points, with a colour and a marker for each group; return artists and names for the legend."""
    drawn = list(groups_of(ax, groups, len(xy), palette))
    artists = [
        ax.scatter(*xy[one.rows].T, color=[one.colour], marker=one.marker, linewidths=0, **style)
        for one in drawn
    ]
    return artists, [] if groups is None else [one.name for one in drawn]


def scatter_numbers(
    ax: Axes, xy: np.ndarray, numbers: np.ndarray, *, palette: Any = None, **style: Any
) -> PathCollection:
    """Draw the points in the colours of their numbers, grey without a number; return the coloured ones."""
    known = np.isfinite(numbers)
    if not known.all():
        ax.scatter(*xy[~known].T, color=[shade(ax, 0.45)], marker=".", linewidths=0, **style)
    x, y = xy[known].T
    return ax.scatter(x, y, c=numbers[known], cmap=colour_map(palette), linewidths=0, **style)


def colour_bar(ax: Axes, artist: PathCollection, title: str | None, size: float) -> Axes:
    """Draw a horizontal colour bar in child axes, which the locator of the axes places; return these."""
    bar_axes = ax.inset_axes((0.0, 1.02, 1.0, 0.04))
    figure = ax.get_figure()
    assert figure is not None
    bar = figure.colorbar(artist, cax=bar_axes, orientation="horizontal", ticklocation="top")
    bar.outline.set_visible(False)
    if bar.solids is not None:
        bar.solids.set_alpha(1.0)
    bar_axes.tick_params(labelsize=size, length=2.5, pad=1.5)
    if title:
        bar.set_label(title, fontsize=size, parse_math=False)
    return bar_axes


def dots(n: int, size: float = 22.0) -> dict[str, Any]:
    """Return the style of n points: smaller and more transparent for larger n, rasterised beyond 5,000."""
    return {
        "s": area(float(np.clip(size * (200 / max(n, 1)) ** 0.4, 0.18 * size, size))),
        "alpha": float(np.clip(0.7 * (200 / max(n, 1)) ** 0.32, 0.15, 0.75)),
        "rasterized": n > 5000,
    }


# --- outlines and centroids -----------------------------------------------------------------------


def outline_of(xy: np.ndarray, kind: str, level: float) -> np.ndarray | None:
    """Return the vertices of an outline around points, (m, 2); None if the points lie on a line.

    "normal": the ellipse with probability `level` under the normal distribution with the mean and covariance
    matrix of the points. "t": the same for a bivariate t distribution with 5 degrees of freedom, fitted by
    maximum likelihood, which is robust to outliers. "hull": the convex hull.
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

    By iterative reweighting: a point has the weight (FREEDOM + 2) / (FREEDOM + its squared distance).
    """
    centre, scatter = xy.mean(axis=0), np.cov(xy.T)
    for _ in range(200):
        away = xy - centre
        distance = np.einsum("ij,ij->i", away, np.linalg.solve(scatter, away.T).T)
        weights = (FREEDOM + 2.0) / (FREEDOM + distance)
        moved = weights @ xy / weights.sum()
        away = xy - moved
        # dividing by the sum of the weights instead of n has the same limit, and converges faster
        spread = (weights[:, None] * away).T @ away / weights.sum()
        done = np.abs(spread - scatter).max() <= 1e-10 * np.abs(scatter).max()
        centre, scatter = moved, spread
        if done:
            break
    return centre, scatter


def draw_outline(ax: Axes, corners: np.ndarray, colour: Any) -> None:
    """Draw a polygon, faintly filled."""
    from matplotlib.patches import Polygon

    style: dict[str, Any] = {"closed": True, "zorder": 1.5}
    ax.add_patch(Polygon(corners, facecolor=colour, edgecolor="none", alpha=0.10, **style))
    ax.add_patch(Polygon(corners, fill=False, edgecolor=colour, linewidth=line(1.1), alpha=0.85, **style))


def draw_centroid(ax: Axes, centre: np.ndarray, colour: Any, marker: str) -> None:
    """Draw a large marker with an edge in the colour of the background."""
    edge: dict[str, Any] = {"edgecolors": [tuple(paper(ax))], "linewidths": line(1.4)}
    ax.scatter(
        centre[0], centre[1], s=area(110), color=[colour], marker=marker, zorder=5, gid="centroid", **edge
    )


# --- labels ---------------------------------------------------------------------------------------


#: Largest number of characters of the name of a row.
WIDTH = 20
#: How many rows are named by default, if they have names.
NAMED = 3


def row_labels(labels: Any, index: pd.Index, distance: np.ndarray) -> list[str]:
    """Return the label of every row on a plot, "" for rows without one.

    Parameters
    ----------
    labels : int, bool, sequence, Series or None
        How many of the rows farthest from the centre to name; True for all; one name for each row; or a
        Series with names of some rows. None: the three farthest if the index has names, that is, different
        texts.
    index : Index of length n
    distance : ndarray of shape (n,)
        Distance of each row from the centre.

    Raises
    ------
    OptionError, ShapeError
        For other values, for a number of names other than that of the rows, and for a Series without labels
        of the rows.
    """
    n = len(index)
    if labels is None:
        texts = all(isinstance(one, str) and not one.strip().isdigit() for one in index)
        labels = NAMED if texts and index.is_unique else 0
    if isinstance(labels, (bool, np.bool_)):
        labels = n if labels else 0
    if is_whole(labels):
        most = min(whole_number("labels", labels, 0), n)
        names = short_names(list(index), WIDTH) if most else []
        chosen = set(np.argsort(-np.nan_to_num(distance), kind="stable")[:most].tolist())
        return [names[i] if i in chosen else "" for i in range(n)]
    if isinstance(labels, pd.Series) and not labels.index.equals(index):
        if not labels.index.is_unique or not labels.index.isin(index).any():
            raise ShapeError(
                "labels is a Series none of whose labels is one of a row, or with labels that repeat."
            )
        return [_text(value) for value in labels.reindex(index)]
    if is_single(labels):
        raise OptionError(
            f"labels={shown(labels)} was given; it takes a number of rows, True for all, one name for each "
            "row, or a Series of names. For the variables there is variables=."
        )
    given = elements(labels, n)
    if len(given) != n:
        many = plural(len(given), "name") if len(given) < n else f"more than {n} names"
        raise ShapeError(
            f"labels has {many}; there are {n} rows. Name some of them with a Series, "
            "e.g. pd.Series({'row': 'name'})."
        )
    return [_text(value) for value in given]


def _text(value: Any) -> str:
    if not is_single(value):
        raise OptionError(f"labels holds {shown(value)}; it takes one name for each row, a text or a number.")
    missing = value is None or value is pd.NA or (isinstance(value, float) and np.isnan(value))
    return "" if missing or value == "" else short_name(value, WIDTH)


#: Largest number of components: more would be too many pairs for a figure.
MOST = 5


@explained
def plot_scores(
    scores: pd.DataFrame,
    *,
    components: Several | None = None,
    groups: ByRow | None = None,
    palette: Palette | None = None,
    densities: bool = True,
    shares: pd.Series | None = None,
    ax: Axes | None = None,
) -> Axes:
    """Draw every pair of the chosen columns of scores against one another, and the density of each.

    Parameters
    ----------
    scores : DataFrame, n x k
    components : one to five of int or str, optional
        Numbers counted from one, or names; by default the first five, and a note names those that are shown.
    groups : Series, Categorical or array of length n, optional
        Groups that set colours and markers of the points; at most 20. A Series is matched by its labels.
    palette : mapping, sequence of colours, or str, optional
        The colours of the groups, as for the biplot.
    densities : bool
        Whether the diagonal shows kernel density estimates of each component (Gaussian kernel, Silverman's
        bandwidth), for each group scaled by its share of the rows. With up to 1,000 rows there is a mark for
        each.
    shares : Series, optional
        The fraction of variance of each component, for the axis labels.
    ax : Axes, optional
        The panels are drawn inside it, by default in a new figure. They are its ``child_axes``, row by row;
        the title of a pair is its correlation.

    Returns
    -------
    Axes

    Raises
    ------
    ComponentsError
        If there are more than five components, or one does not exist.
    ShapeError, OptionError
        If groups do not match the rows, there are too many groups, or `ax` is not an Axes.
    """
    need_coloured(palette, groups is not None)
    densities = flag("densities", densities)
    values, found = _with_groups(plot_scores_data(scores, components=components, groups=groups), groups)
    names = helpers.axis_names(list(values.columns), shares)
    xy, k = values.to_numpy(dtype=float), values.shape[1]
    densities = densities or k == 1
    side = k if densities else k - 1
    aside = found is not None and side == 1  # a single panel leaves no corner free for the legend
    size = {1: 4.6, 2: 5.4, 3: 6.6, 4: 7.8, 5: 8.8}[side]
    ax = helpers.axes_for(ax, size + 1.3 * aside, 0.75 * size if k == 1 else size)
    ax.set_axis_off()
    artists: list[Any] = []
    labels: list[str] = []
    columns: dict[int, Axes] = {}
    for i in range(k - side, k):
        for j in range(i + 1 if densities else i):
            # margins of 7 % to the next panel and 13 % to the one above
            row = i - (k - side)
            panel = ax.inset_axes((j / side, 1 - (row + 1) / side, 0.93 / side, 0.87 / side))
            if i == j:
                _draw_density(panel, xy[:, j], found, palette)
            else:
                artists, labels = _draw_pair(panel, xy[:, [j, i]], found, palette)
            panel.locator_params(nbins=4, axis="x" if i == j else "both")
            panel.tick_params(labelsize="x-small", length=2.5)
            first = columns.setdefault(j, panel)
            if first is not panel:
                panel.sharex(first)
            # names and numbers only at the edges of the triangle
            panel.tick_params(labelbottom=i == k - 1, labelleft=j == 0 and i != j)
            panel.set_xlabel(names[j] if i == k - 1 else "", parse_math=False)
            panel.set_ylabel(names[i] if j == 0 and i != j else "", parse_math=False)
    if found is not None:
        if not labels:
            shown = list(groups_of(ax, found, len(xy), palette))
            artists = [ax.scatter([], [], color=[one.colour], marker=one.marker) for one in shown]
            labels = [one.name for one in shown]
        corner = "upper left" if aside else "upper right"
        helpers.write_legend(
            ax, artists, labels, title=helpers.title_of(groups), loc=corner, bbox_to_anchor=(1.0, 1.0)
        )
    if components is None and scores.shape[1] > k:
        first_and_last = f"{listed(values.columns[:1])} to {listed(values.columns[-1:])}".replace("'", "")
        of_all = f"{first_and_last} of {scores.shape[1]} components are shown; components= chooses others."
        note = helpers.write_note(ax, [of_all])
        if note is not None:  # below the labels of the last panels
            note.xy, note.xycoords = (0.0, 0.0), "axes fraction"
            note.set_position((0, -38))
    return ax


@explained
def plot_scores_data(
    scores: pd.DataFrame,
    *,
    components: Several | None = None,
    groups: ByRow | None = None,
) -> pd.DataFrame:
    """Return the columns of scores that `plot_scores` draws, and "group" if groups were given."""
    helpers.frame_of(scores, "scores")
    every = list(scores.columns)
    first = range(1, min(len(every), MOST) + 1)
    chosen = helpers.positions(first if components is None else components, every)
    if len(chosen) > MOST:
        raise ComponentsError(
            f"{len(chosen)} of {len(every)} components were chosen; pairs of up to {MOST} fit on one figure."
        )
    values = scores.iloc[:, chosen].copy()
    return values if groups is None else values.assign(group=group_rows(groups, scores.index))


def _with_groups(data: pd.DataFrame, groups: Any) -> tuple[pd.DataFrame, pd.Categorical | None]:
    """Return the values of a table that a plot draws, and the groups in its last column if there are any."""
    return (data, None) if groups is None else (data.iloc[:, :-1], data["group"].array)


def _draw_pair(panel: Axes, xy: np.ndarray, groups: Any, palette: Any) -> tuple[list[Any], list[str]]:
    """Draw the points of two components; return artists and names of the groups."""
    helpers.cross(panel, 0.18, 0.7)
    drawn = scatter_groups(panel, xy, groups, palette=palette, **dots(len(xy), 16.0), zorder=2)
    panel.margins(x=0.06, y=0.12)
    panel.spines[["top", "right"]].set_visible(False)
    r = helpers.correlation_of(*xy.T)
    title = f"r = {helpers.value_text(r)}" if np.isfinite(r) else ""
    panel.set_title(title, fontsize="x-small", color=shade(panel, 0.75), pad=2)
    return drawn


# --- densities ------------------------------------------------------------------------------------


def _draw_density(panel: Axes, values: np.ndarray, groups: Any, palette: Any) -> None:
    """Draw the density of each group, and marks for the rows below it if there are at most 1,000."""
    known = values[np.isfinite(values)]
    reach = 0.15 * float(np.ptp(known)) if len(known) else 1.0
    grid = np.linspace(known.min() - reach, known.max() + reach, 200) if len(known) else np.zeros(1)
    drawn = list(groups_of(panel, groups, len(values), palette))
    heights = [density(values[one.rows], grid) * one.rows.sum() / len(values) for one in drawn]
    top = max(float(height.max(initial=0.0)) for height in heights)
    for one, height in zip(drawn, heights, strict=True):
        panel.fill_between(grid, height, color=one.colour, alpha=0.3, linewidth=0, zorder=2)
        panel.plot(grid, height, color=one.colour, linewidth=line(1.2), zorder=3)
        if len(values) <= 1000:
            style: dict[str, Any] = {"colors": [one.colour], "linewidth": line(0.7), "alpha": 0.7}
            panel.vlines(values[one.rows], -0.07 * top, -0.01 * top, zorder=2, **style)
    panel.set_ylim(-0.08 * top, 1.1 * top if top > 0 else 1.0)
    panel.set_yticks([])
    panel.spines[["top", "right", "left"]].set_visible(False)


def density(values: np.ndarray, grid: np.ndarray) -> np.ndarray:
    """Return a Gaussian kernel density estimate at `grid`; bandwidth 0.9 min(sd, IQR / 1.34) n^(-1/5)."""
    from scipy.stats import gaussian_kde  # slow to import

    values = values[np.isfinite(values)]
    if len(values) < 2 or not np.ptp(values) > 0:
        return np.zeros(len(grid))
    low, high = np.quantile(values, [0.25, 0.75])
    sd = float(values.std(ddof=1))
    width = 0.9 * (min(sd, (high - low) / 1.34) or sd) * len(values) ** -0.2
    weights = None
    if len(values) > 5000:  # a histogram of 512 cells is accurate to less than the width of a line
        weights, edges = np.histogram(values, 512)
        values = (edges[:-1] + edges[1:]) / 2
    spread = np.sqrt(np.cov(values, aweights=weights))
    return np.asarray(gaussian_kde(values, width / spread, weights)(grid))


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

    Rows far to the right are extreme within the components; rows far up are not described by the components.
    An axis is logarithmic if a row exceeds thirty times its limit.

    Parameters
    ----------
    diagnostics : DataFrame, n x 2
        "T2" and "Q".
    limits : Series
        "T2" and "Q"; its name, the level, is written next to the lines. A limit of NaN is not drawn.
    groups : Series, Categorical or array of length n, optional
        Groups that set colours and markers of the points; at most 20. Without groups, rows beyond a limit are
        marked.
    labels : int
        How many of the rows beyond a limit are labelled, those that exceed it most first.
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
    new = ax is None
    ax = helpers.axes_for(ax, 6.0 + 1.2 * (groups is not None), 4.4, helpers.OPEN)
    xy = points[["T2", "Q"]].to_numpy(dtype=float)
    _scales(ax, xy, limits)
    how: dict[str, Any] = {**dots(len(xy)), "zorder": 2}
    if groups is not None:
        artists, names = scatter_groups(ax, xy, points["group"].array, **how)
        helpers.write_legend(
            ax, artists, names, title=helpers.title_of(groups), **(helpers.BESIDE if new else {"loc": "best"})
        )
    else:
        out = (points["beyond"] != "").to_numpy()
        blue, orange = accents(ax)
        ax.scatter(*xy[~out].T, color=[blue], linewidths=0, **how)
        ax.scatter(*xy[out].T, color=[orange], marker="^", linewidths=0, **{**how, "alpha": 0.9})
    _limit_lines(ax, limits)
    ax.set_xlabel("Hotelling T² (distance within the components)")
    ax.set_ylabel("Q (squared residual)")
    labelled = np.flatnonzero(points["labelled"].to_numpy())
    excess = (xy[labelled] / xy.max(axis=0).clip(min=1e-300)).max(axis=1)
    labelled = labelled[np.argsort(-excess, kind="stable")]
    texts = Names(ax, helpers.name_size(), xy)
    for i in labelled.tolist():
        texts.add(xy[i], short_name(points.index[i], 16), shade(ax, 0.75), needed=True)
    return ax


@explained
def plot_diagnostics_data(
    diagnostics: pd.DataFrame, limits: pd.Series, *, groups: ByRow | None = None, labels: int = 10
) -> pd.DataFrame:
    """Return the points that `plot_diagnostics` draws, n x 4 or n x 5.

    "T2" and "Q" of each row, whether it lies "beyond" a limit ("", "T2", "Q" or "both"), whether it is
    "labelled", and its "group" if groups were given.
    """
    labels = whole_number("labels", labels, 0)
    if not isinstance(limits, pd.Series):
        raise ShapeError(
            f"limits of type {type(limits).__name__} was given; it must be a Series with 'T2' and 'Q', such "
            "as limits() of a fit."
        )
    for name in ("T2", "Q"):
        if name not in getattr(diagnostics, "columns", ()) or name not in limits.index:
            raise ShapeError(f"diagnostics and limits need {name!r}; give those of a fit.")
    values = frame_values(diagnostics[["T2", "Q"]], "diagnostics")
    if np.isinf(values).any():
        raise DataError(
            "T2 or Q of some rows are infinite: these rows are too far from the others to be drawn."
        )
    bounds = real_array(limits[["T2", "Q"]])
    if bounds is None or bounds.shape != (2,):
        raise ShapeError("limits must hold one number each for 'T2' and 'Q'.")
    out = values > bounds
    names = np.array(["", "T2", "Q", "both"], dtype=object)
    points = diagnostics[["T2", "Q"]].copy()
    points["beyond"] = names[out @ np.array([1, 2])]
    with np.errstate(divide="ignore", invalid="ignore"):
        excess = np.where(out, values / bounds, 0.0).max(axis=1)
    ranks = np.argsort(np.argsort(-excess, kind="stable"), kind="stable")
    points["labelled"] = (ranks < labels) & (excess > 0)
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


def _limit_lines(ax: Axes, limits: pd.Series) -> None:
    """Draw the limits that are known, and write their level, such as "95 %", next to them."""
    grey = shade(ax, 0.7)
    style: dict[str, Any] = {"color": grey, "linewidth": line(0.9), "linestyle": (0, (5, 3)), "zorder": 1.5}
    text: dict[str, Any] = {"fontsize": "x-small", "color": grey}
    try:
        level = f"{100 * float(limits.name):g} %"  # type: ignore[arg-type]
    except (TypeError, ValueError):  # a Series without a level as its name
        level = "limit"
    if np.isfinite(x := limits["T2"]):
        ax.axvline(x, **style)
        helpers.write(ax, level, (x, 1), (2, -2), xycoords=("data", "axes fraction"), va="top", **text)
    if np.isfinite(y := limits["Q"]):
        ax.axhline(y, **style)
        helpers.write(ax, level, (1, y), (-2, 2), xycoords=("axes fraction", "data"), ha="right", **text)


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

    Nonzero coordinates are drawn as stems, zeros as small dots on the line.

    Parameters
    ----------
    coordinates : DataFrame, n x k
    components : sequence of int or str, optional
        Numbers counted from one, or names; by default all.
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
    values, found = _with_groups(data, groups)
    n, k = values.shape
    ax = helpers.axes_for(ax, 7.0, 0.7 + 1.5 * k)
    kinds = list(groups_of(ax, found, n, palette))
    row = np.arange(1, n + 1)
    for j, panel in enumerate(helpers.stacked(ax, values.columns, 0.84)):
        column = values.iloc[:, j].to_numpy(dtype=float)
        zero = column == 0
        panel.axhline(0, color=shade(panel, 0.35), linewidth=line(0.7), zorder=1)
        small: dict[str, Any] = {"s": area(3), "color": [shade(panel, 0.45)], "linewidths": 0, "zorder": 1.5}
        panel.scatter(row[zero], column[zero], **small)
        marks = []
        for kind in kinds:
            x, y = row[kind.rows & ~zero], column[kind.rows & ~zero]
            panel.vlines(x, 0, y, colors=[kind.colour], linewidth=line(1.0), zorder=2)
            style: dict[str, Any] = {"s": area(12), "color": [kind.colour], "marker": kind.marker}
            marks.append(panel.scatter(x, y, zorder=3, linewidths=0, **style))
        if j == 0 and found is not None:
            helpers.write_legend(panel, marks, [kind.name for kind in kinds], **helpers.BESIDE)
        title = f"{int((~zero).sum())} of {n} nonzero"
        panel.set_title(title, fontsize="x-small", color=shade(panel, 0.75), pad=2)
        panel.set_xlim(0.5 - 0.01 * n, n + 0.5 + 0.01 * n)
        panel.locator_params(axis="y", nbins=4)
        panel.tick_params(labelsize="small")
        panel.set_xlabel("Row" if j == k - 1 else "")
    return ax


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
    helpers.frame_of(coordinates, "coordinates")
    chosen = helpers.positions(components, list(coordinates.columns))
    values = coordinates.iloc[:, chosen].copy()
    return values if groups is None else values.assign(group=group_rows(groups, coordinates.index))
