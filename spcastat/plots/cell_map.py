"""A map of outlying cells: rows by variables, coloured by the distance of cells from their column."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd

from spcastat.arguments import plural, whole_number
from spcastat.labels import short_names
from spcastat.linalg.wrapping import BEND, END
from spcastat.plots.drawing import (
    NAMES_SHARE,
    axes_for,
    figure_of,
    ink,
    line,
    place_width,
    shade,
    write_note,
)
from spcastat.plots.legends import columns_within, write_legend
from spcastat.plots.score_plots import ROWS_COUNTED
from spcastat.plots.texts import labels_for

if TYPE_CHECKING:
    from matplotlib.axes import Axes

#: Inches of a row and of a column of a new figure.
ROW_INCHES, COLUMN_INCHES = 0.17, 0.19
#: Shares of the width and height of given axes that the cells have, beside names, legend and note: about what
#: figures of 3.4 x 3 and 3.4 x 4.5 inches leave with names of 20 characters.
OF_WIDTH, OF_HEIGHT = 0.9, 0.5
#: Place on the colour map of cells that are not beyond END.
PALER = 0.55
#: A legend in one line takes at most this share of the width, so that it does not move the map.
LEGEND_LINE_SHARE = 0.8
#: Smallest size of names in points, and the height of a line of them, in sizes.
SMALLEST_NAMES, LINE = 6.0, 1.25


@dataclass(frozen=True)
class CellMap:
    """What a map draws.

    Attributes
    ----------
    values : ndarray of shape (r, c)
        z of outlying cells, 0 for others, NaN for columns left as they are and for missing values.
    rows, columns : list of str
        Labels.
    left_out : int
        Number of rows at the top that the fit leaves out.
    remark : str
        How many rows and variables with outlying cells are not shown.
    bend : float
        Cells are outlying beyond this z.
    """

    values: np.ndarray
    rows: list[str]
    columns: list[str]
    left_out: int
    remark: str
    bend: float = BEND


def cell_map_of(
    z: pd.Series,
    places: np.ndarray,
    rows: pd.DataFrame,
    columns: pd.Index,
    judged: np.ndarray,
    order: np.ndarray,
    most: tuple[int, int],
    missing: np.ndarray | None = None,
    bend: float = BEND,
) -> CellMap:
    """Return the map of some rows and columns.

    Parameters
    ----------
    z : array of shape (m,)
        Standardised values of the outlying cells.
    places : ndarray of int, shape (m, 2)
        Their rows and columns.
    rows : DataFrame
        "distance" and "kept", by label.
    columns : pandas.Index of length p
    judged : ndarray of bool, shape (p,)
    order : ndarray of int, shape (p,)
        Order of the columns.
    most : tuple of int
        Largest numbers of rows and columns. Rows left out are first, by distance, then those with the
        largest z; the columns are those with the largest z in these rows.
    missing : ndarray of bool, shape (n, p), optional
    bend : float
        Cells are outlying beyond this z.
    """
    size, n, p = np.abs(np.asarray(z, dtype=float)), len(rows), len(columns)
    largest = np.zeros(n)
    np.maximum.at(largest, places[:, 0], size)
    is_kept, distance = rows["kept"].to_numpy(dtype=bool), rows["distance"].to_numpy(dtype=float)
    out = np.flatnonzero(~is_kept)
    out = out[np.argsort(-distance[out], kind="stable")]
    outlying = np.flatnonzero(is_kept & (largest > 0))
    outlying = outlying[np.argsort(-largest[outlying], kind="stable")]
    row_places = np.concatenate([out, outlying])[: most[0]]
    weight = np.zeros(p)
    in_rows = np.isin(places[:, 0], row_places)
    np.maximum.at(weight, places[in_rows, 1], size[in_rows])
    column_places = order[np.sort(np.argsort(-weight[order], kind="stable")[: most[1]])]
    values = np.zeros((n, p)) if missing is None else np.where(missing, np.nan, 0.0)
    values[places[:, 0], places[:, 1]] = z
    values[:, ~judged] = np.nan
    unseen_rows = len(out) + len(outlying) - len(row_places)
    unseen = int((weight > 0).sum() - (weight[column_places] > 0).sum())
    remark = f"{plural(unseen_rows, 'more row')} with outlying cells not shown. " * bool(unseen_rows)
    remark += f"{plural(unseen, 'more variable')} with outlying cells in these rows not shown." * bool(unseen)
    names = [str(place + 1) for place in row_places]
    if rows.index.is_unique:
        names = short_names(rows.index[row_places].tolist(), positions=row_places.tolist())
    elif names:
        remark += f"{' ' * bool(unseen)}{ROWS_COUNTED}"
    return CellMap(
        values[np.ix_(row_places, column_places)],
        names,
        short_names(columns[column_places].tolist(), positions=column_places.tolist()),
        min(len(out), len(row_places)),
        remark.strip(),
        bend,
    )


def draw_cell_map(found: CellMap, ax: Axes | None = None) -> Axes:
    """Draw a map: orange below and purple above the usual values, white within, grey if not judged."""
    from matplotlib import colormaps

    count, width = found.values.shape
    room = (COLUMN_INCHES, ROW_INCHES) if ax is None else _room(ax, width, count)
    new_figure = ax is None
    ax = axes_for(ax, 1.4 + COLUMN_INCHES * max(width, 12), 1.9 + ROW_INCHES * max(count, 6))
    colours = colormaps["PuOr"].with_extremes(bad=shade(ax, 0.18))
    style: dict[str, Any] = {"edgecolors": shade(ax, 0.12), "linewidth": line(0.4)}
    ax.pcolormesh(np.ma.masked_invalid(_strength(found.values)), cmap=colours, vmin=-1, vmax=1, **style)
    ax.set_xlim(0, width)
    ax.set_ylim(max(count, 1), 0)
    width_points, height_points = 72.0 * figure_of(ax).get_size_inches()
    for axis, names, inches, side in (
        (ax.xaxis, found.columns, room[0], height_points),
        (ax.yaxis, found.rows, room[1], width_points),
    ):
        size = max(min(_small_text(), 72.0 * inches / LINE), SMALLEST_NAMES)
        if not new_figure:
            names = labels_for(names, [NAMES_SHARE * side] * len(names), size)
        axis.set_ticks(np.arange(len(names)) + 0.5, names, parse_math=False, fontsize=size)
    ax.tick_params(axis="x", rotation=90)
    ax.tick_params(length=0)
    _signs(ax, found.values)
    if found.left_out:
        ax.axhline(found.left_out, color=ink(ax), linewidth=line(1.4))
    _legend(ax, colours, found)
    write_note(ax, _sentences(found))
    return ax


def _strength(values: np.ndarray) -> np.ndarray:
    """Return the place of each cell on the colour map, from -1 to 1: one colour for each class of z."""
    sizes = np.abs(values)
    return np.sign(values) * np.select([sizes > END, sizes > BEND, sizes <= BEND], [1.0, PALER, 0.0], np.nan)


def _room(ax: Axes, columns: int, rows: int) -> tuple[float, float]:
    """Return about how many inches a column and a row of the map will have in given axes."""
    figure, box = figure_of(ax), ax.get_position()
    width, height = figure.get_size_inches()
    return OF_WIDTH * box.width * width / max(columns, 1), OF_HEIGHT * box.height * height / max(rows, 1)


def limits_in(ax: Axes | None, rows: int, columns: int) -> tuple[int, int]:
    """Return the largest numbers of rows and columns whose names have room in given axes."""
    if ax is None:
        return rows, columns
    width, height = _room(axes_for(ax, 0.0, 0.0), 1, 1)
    line_inches = LINE * SMALLEST_NAMES / 72.0
    return min(rows, max(int(height / line_inches), 1)), min(columns, max(int(width / line_inches), 1))


def _small_text() -> float:
    """Return the size of small text in points."""
    from matplotlib import font_manager, rcParams

    return float(rcParams["font.size"] * font_manager.font_scalings["small"])


def _signs(ax: Axes, values: np.ndarray) -> None:
    """Mark cells below the usual values with a minus, so that a greyscale print tells the sides apart."""
    rows, columns = np.nonzero(values < -BEND)
    dark = values[rows, columns] < -END
    colours = np.where(dark, "white", "black").tolist()
    ax.hlines(rows + 0.5, columns + 0.28, columns + 0.72, colors=colours, linewidth=line(0.8))


def _legend(ax: Axes, colours: Any, cell_map: CellMap) -> None:
    """Write what the colours mean, above the map and the names of its rows."""
    from matplotlib.patches import Patch

    middle, outside_value = (BEND + END) / 2, 2.0 * END
    entries = {
        f"z < −{END:g}": -outside_value,
        f"−{END:g} to −{cell_map.bend:g}": -middle,
        f"{cell_map.bend:g} to {END:g}": middle,
        f"z > {END:g}": outside_value,
    }
    if np.isnan(cell_map.values).any():
        entries["not judged"] = np.nan
    shades = colours((1.0 + _strength(np.array(list(entries.values())))) / 2)
    handles = [Patch(facecolor=colour, label=label) for label, colour in zip(entries, shades, strict=True)]
    names, size = list(entries), _small_text()
    columns = columns_within(names, None, LEGEND_LINE_SHARE * place_width(ax), size)
    place = {"loc": "lower right", "bbox_to_anchor": (1.0, 1.0), "ncols": columns}
    write_legend(ax, handles, names, size, **place)


def _sentences(cell_map: CellMap) -> Sequence[str]:
    left_out = f"Rows above the line are left out ({cell_map.left_out})." if cell_map.left_out else ""
    if cell_map.left_out == len(cell_map.rows) > 0:  # the line would be the edge of the map
        left_out = "All rows shown are left out."
    grey = "Not judged: missing values, variables of few values." if np.isnan(cell_map.values).any() else ""
    nothing = "" if len(cell_map.values) else "No row is left out or has an outlying cell."
    minus = "; minus: below" * bool((cell_map.values < -cell_map.bend).any())
    z = f"z: distance from the variable's centre in robust standard deviations{minus}."
    return [nothing, z if len(cell_map.values) else "", left_out, grey, cell_map.remark]


def checked_sizes(rows: Any, columns: Any) -> tuple[int, int]:
    """Return the largest numbers of rows and columns."""
    return whole_number("rows", rows, 1), whole_number("columns", columns, 1)
