"""Rows in plots: their groups or numbers, labels, and the drawing of points and outlines."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd

from spcastat.config import elements, is_single, is_whole, plural, shown, whole_number
from spcastat.errors import DataError, OptionError, ShapeError
from spcastat.labels import short_name, short_names
from spcastat.plots.axes_and_names import MARKERS, accents, area, colour_map, colours_of, line, paper, shade
from spcastat.reading.checks import aligned, real_array

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.collections import PathCollection

#: Largest number of groups: more could not be distinguished.
MOST = 20

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

    A Series is matched by its labels, which must contain all of `index`; if it has the default labels 0, 1,
    ... and the rows have others, it is matched by position. Anything else must have one value for each row,
    in order.

    Raises
    ------
    ShapeError
        If the number of values is not that of the rows, or a Series lacks the labels of some rows.
    OptionError
        If there are more than 20 groups.
    """
    values = groups
    if isinstance(groups, pd.Series):
        values = aligned(groups, index, "groups", "rows", part=True, error=ShapeError).array
    if not isinstance(values, pd.Categorical):
        values = _categories(values, len(index))
    if len(values) != len(index):
        raise ShapeError(f"groups has {plural(len(values), 'value')}; the scores have {len(index)} rows.")
    values = values.remove_unused_categories()
    if len(values.categories) > MOST:
        raise OptionError(
            f"groups has {len(values.categories)} different values; at most {MOST} can be told apart: merge "
            "some, cut numbers into classes with pandas.cut, or give numbers as color=."
        )
    if all(isinstance(one, float) and one.is_integer() for one in values.categories):
        return values.rename_categories(int)  # 1, not 1.0
    return values


def _categories(groups: Any, n: int) -> pd.Categorical:
    """Return n values as a categorical; raise OptionError if they cannot be group names."""
    values = groups
    if not isinstance(values, pd.api.extensions.ExtensionArray):
        values = elements(values, n)
        if len(values) == 1 and values[0] is groups:
            raise OptionError(
                f"groups={shown(groups)} was given; give the values themselves, one for each row."
            )
        if len(values) > n:
            raise ShapeError(f"groups has more than {n} values; the scores have {n} rows.")
    try:
        return pd.Categorical(pd.array(list(values), dtype=object))
    except Exception as error:  # values without hash or order, such as lists
        raise OptionError(
            f"groups={shown(groups)} was given, whose values cannot be told apart; give one text, number or "
            "category for each row."
        ) from error


def row_numbers(color: Any, index: pd.Index) -> np.ndarray:
    """Return one number for every row, to be shown as a colour; a Series is matched as in `group_rows`.

    Raises
    ------
    ShapeError, OptionError
        If the number of values is not that of the rows, or values are not numbers.
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
    ax: Axes, xy: np.ndarray, numbers: np.ndarray, title: str | None, *, palette: Any = None, **style: Any
) -> None:
    """Draw the points in the colours of their numbers, with a colour bar; grey without a number."""
    known = np.isfinite(numbers)
    if not known.all():
        ax.scatter(*xy[~known].T, color=[shade(ax, 0.45)], marker=".", linewidths=0, **style)
    x, y = xy[known].T
    artist = ax.scatter(x, y, c=numbers[known], cmap=colour_map(palette), linewidths=0, **style)
    figure = ax.get_figure()
    assert figure is not None
    bar = figure.colorbar(artist, ax=ax, fraction=0.05, pad=0.02, aspect=30)
    bar.outline.set_visible(False)
    if bar.solids is not None:
        bar.solids.set_alpha(1.0)
    bar.ax.tick_params(labelsize="small")
    if title:
        bar.set_label(title, parse_math=False)


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


def draw_outline(ax: Axes, corners: np.ndarray | None, colour: Any) -> None:
    """Draw a polygon, if there is one, faintly filled."""
    from matplotlib.patches import Polygon

    if corners is None:
        return
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
        labels = NAMED if _has_names(index) else False
    if isinstance(labels, (bool, np.bool_)):
        return short_names(list(index), WIDTH) if labels else [""] * n
    if is_whole(labels):
        most = min(whole_number("labels", labels, 0), n)
        chosen = set(np.argsort(-np.nan_to_num(distance), kind="stable")[:most].tolist())
        return [name if i in chosen else "" for i, name in enumerate(short_names(list(index), WIDTH))]
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


def _has_names(index: pd.Index) -> bool:
    """Return whether the labels of the rows are different texts."""
    return index.is_unique and all(isinstance(one, str) and not one.strip().isdigit() for one in index)


def _text(value: Any) -> str:
    if not is_single(value):
        raise OptionError(f"labels holds {shown(value)}; it takes one name for each row, a text or a number.")
    missing = value is None or value is pd.NA or (isinstance(value, float) and np.isnan(value))
    return "" if missing or value == "" else short_name(value, WIDTH)
