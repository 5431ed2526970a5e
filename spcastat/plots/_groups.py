"""Groups of rows, or a number for each: matched to the scores, coloured and marked."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd

from spcastat.config import elements, plural, shown
from spcastat.errors import DataError, OptionError, ShapeError
from spcastat.intake.checks import aligned, real_array
from spcastat.labels import short_name
from spcastat.plots._shared import MARKERS
from spcastat.plots._theme import accents, area, colour_map, colours_of, shade

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.collections import PathCollection

#: More groups than this cannot be told apart.
MOST = 20

#: More points than this are drawn as an image within a vector graphic.
RASTER = 5000

#: The group of rows without one.
MISSING = "(missing)"


def group_rows(groups: Any, index: pd.Index) -> pd.Categorical:
    """Return the group of every row; the categories keep their order and none is empty.

    A Series is matched by its labels, which must contain all of `index`, unless they are 0, 1, ... and
    those of the rows are not; anything else must have one value for each row, in the order of the rows.

    Raises
    ------
    ShapeError
        Another number of values than rows, or a Series without the labels of some rows.
    OptionError
        More than 20 groups.
    """
    groups = _aligned(groups, index, "groups")
    values = groups.array if isinstance(groups, pd.Series) else groups
    if not isinstance(values, pd.Categorical):
        values = _categories(groups, values, len(index))
    if len(values) != len(index):
        raise ShapeError(f"groups has {plural(len(values), 'value')}; the scores have {len(index)} rows.")
    values = values.remove_unused_categories()
    if len(values.categories) > MOST:
        raise OptionError(
            f"groups has {len(values.categories)} different values; at most {MOST} can be told apart: merge "
            "some, cut numbers into classes with pandas.cut, or give numbers as color=."
        )
    return values


def _categories(groups: Any, values: Any, n: int) -> pd.Categorical:
    """Return the n values as they are told apart, or say what is not a group."""
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
    """Return the number of every row, to be shown as a colour; a Series is matched as `group_rows` does it.

    Raises
    ------
    ShapeError, OptionError
        Another number of values than rows; values that are not numbers.
    """
    values = _aligned(color, index, "color")
    numbers = real_array(values)
    if numbers is None or numbers.ndim != 1:
        raise OptionError(
            f"color={shown(color)} was given; it takes one number for each row. For names give groups=."
        )
    if len(numbers) != len(index):
        raise ShapeError(f"color has {plural(len(numbers), 'value')}; the scores have {len(index)} rows.")
    if not np.isfinite(numbers).any():
        raise DataError("color has no finite value.")
    return numbers.astype(float)


def _aligned(values: Any, index: pd.Index, what: str) -> Any:
    """Return a Series in the order of `index`; anything else as it is."""
    if not isinstance(values, pd.Series):
        return values
    return aligned(values, index, what, "rows", part=True, error=ShapeError)


def scatter_groups(
    ax: Axes, xy: np.ndarray, groups: pd.Categorical | None, *, palette: Any = None, **style: Any
) -> tuple[list[PathCollection], list[str]]:
    """Draw the points, each group in a colour and a marker; return the artists and their names."""
    if groups is None:
        return [ax.scatter(xy[:, 0], xy[:, 1], color=[accents(ax)[0]], linewidths=0, **style)], []
    artists, names = [], []
    colours = colours_of(ax, palette, list(groups.categories))
    for code in [*range(len(groups.categories)), -1]:
        rows = groups.codes == code
        if not rows.any():
            continue
        colour = shade(ax, 0.45) if code < 0 else colours[code]
        marker = "." if code < 0 else MARKERS[code % len(MARKERS)]
        artists.append(
            ax.scatter(xy[rows, 0], xy[rows, 1], color=[colour], marker=marker, linewidths=0, **style)
        )
        names.append(MISSING if code < 0 else short_name(groups.categories[code]))
    return artists, names


def scatter_numbers(
    ax: Axes, xy: np.ndarray, numbers: np.ndarray, title: str, *, palette: Any = None, **style: Any
) -> PathCollection:
    """Draw the points in the colours of their numbers, with a colour bar; points without one are grey."""
    known = np.isfinite(numbers)
    if not known.all():
        ax.scatter(xy[~known, 0], xy[~known, 1], color=[shade(ax, 0.45)], marker=".", linewidths=0, **style)
    chosen = colour_map(palette)
    artist = ax.scatter(xy[known, 0], xy[known, 1], c=numbers[known], cmap=chosen, linewidths=0, **style)
    figure = ax.get_figure()
    assert figure is not None
    solid = style.get("alpha")
    bar = figure.colorbar(artist, ax=ax, fraction=0.05, pad=0.02, aspect=30)
    bar.outline.set_visible(False)
    if bar.solids is not None and solid is not None:
        bar.solids.set_alpha(1.0)
    bar.ax.tick_params(labelsize="small")
    if title:
        bar.set_label(title, parse_math=False)
    return artist


def dots(n: int, size: float = 22.0) -> dict[str, Any]:
    """Return how n points are drawn: smaller and fainter the more they are, as an image beyond 5,000."""
    return {
        "s": area(float(np.clip(size * (200 / max(n, 1)) ** 0.4, 0.18 * size, size))),
        "alpha": float(np.clip(0.7 * (200 / max(n, 1)) ** 0.32, 0.15, 0.75)),
        "rasterized": n > RASTER,
    }


def legend_of(
    ax: Axes, artists: list[PathCollection], names: list[str], title: str, *, outside: bool, xy: np.ndarray
) -> None:
    """Add the legend, to the right of the axes or in the corner that has the fewest points."""
    options: dict[str, Any] = {"title": title or None, "fontsize": "small", "title_fontsize": "small"}
    if outside:
        options |= {"loc": "upper left", "bbox_to_anchor": (1.01, 1), "borderaxespad": 0, "frameon": False}
    else:
        options |= {"loc": _emptiest_corner(ax, xy), "framealpha": 0.8}
    # Names go in afterwards: a legend leaves out a name that begins with "_".
    legend = ax.legend(artists, [str(i) for i in range(len(names))], **options)
    for text, handle, name in zip(legend.get_texts(), legend.legend_handles, names, strict=True):
        text.set_parse_math(False)
        text.set_text(name)
        if handle is not None:
            handle.set_alpha(1)
            handle.set_sizes([28])  # type: ignore[attr-defined]


def _emptiest_corner(ax: Axes, xy: np.ndarray) -> str:
    inside = ax.transAxes.inverted().transform(ax.transData.transform(xy))
    corners = {"upper right": (1, 1), "upper left": (0, 1), "lower right": (1, 0), "lower left": (0, 0)}
    return min(corners, key=lambda name: int((np.abs(inside - corners[name]) < 0.35).all(axis=1).sum()))
