"""Legends: how they look, how much room they take, and where they stand."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from matplotlib.transforms import offset_copy

from spcastat.labels import short_name
from spcastat.plots import drawing
from spcastat.plots.texts import HINTED, width_of

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.legend import Legend

#: Length of a mark, its distance from the name, and the space between columns, in font sizes.
HANDLE, HANDLE_GAP, COLUMN_SPACE = 1.6, 0.5, 1.0
#: Height of a line in font sizes, with the space to the next one.
LEGEND_LINE, LINE_SPACE = 1.3, 0.25
#: The space between a legend and the frame of the axes, in font sizes.
EDGE_SPACE = 0.3
#: How all legends look.
STYLE: dict[str, Any] = {
    "frameon": False,
    "borderpad": 0.0,
    "borderaxespad": EDGE_SPACE,
    "handlelength": HANDLE,
    "handletextpad": HANDLE_GAP,
    "labelspacing": LINE_SPACE,
    "columnspacing": COLUMN_SPACE,
    "alignment": "left",
}
#: The width of the numbers beside the axes, in font sizes.
BESIDE_AXES = 4.0


def write_legend(
    ax: Axes, artists: Sequence[Any] | None, names: Sequence[str], size: float, **options: Any
) -> Legend:
    """Add a legend of these names to the axes, which reads row by row; return it.

    The names are set afterwards, because matplotlib leaves out those that begin with "_".

    Parameters
    ----------
    ax : Axes
    artists : sequence of artists or None
        The marks of the legend; by default those with a label.
    names : sequence of str
    size : float
        Size of the text in points.
    options
        For ``ax.legend``.
    """
    handles = ax.get_legend_handles_labels()[0] if artists is None else artists
    columns = options.get("ncols", 1)
    order = [i for column in range(columns) for i in range(len(names))[column::columns]]
    numbers = [str(i) for i in order]
    style: dict[str, Any] = {**STYLE, "fontsize": size, "title_fontsize": size, **options}
    legend = ax.legend([handles[i] for i in order], numbers, **style)
    for text, i in zip(legend.get_texts(), order, strict=True):
        text.set_parse_math(False)
        text.set_text(names[i])
    return legend


def title_of(values: Any) -> str | None:
    """Return the name of a Series of groups or numbers as the title of a legend; None without a name."""
    name = getattr(values, "name", None)
    return None if name is None else short_name(name)


def legend_size(names: Sequence[str], title: str | None, columns: int, size: float) -> tuple[float, float]:
    """Return width and height in points of a legend in so many columns."""
    widths = [HINTED * width_of(name, size) + (HANDLE + HANDLE_GAP) * size for name in names]
    entries = sum(max(widths[column::columns]) for column in range(columns))
    lines = -(-len(names) // columns) + bool(title)
    width = max(entries + COLUMN_SPACE * size * (columns - 1), HINTED * width_of(title or "", size))
    return width, LEGEND_LINE * size * lines


def columns_within(names: Sequence[str], title: str | None, width: float, size: float) -> int:
    """Return the number of columns with which a legend has fewest lines in so many points: one or more."""
    counts = range(len(names), 0, -1)
    largest_count = next((count for count in counts if legend_size(names, title, count, size)[0] <= width), 1)
    return -(-len(names) // -(-len(names) // largest_count))


def legend_above(
    ax: Axes, names: Sequence[str], lines: float = 0.0, title: str | None = None
) -> dict[str, Any]:
    """Return the options of a legend of these names above the axes, and above so many lines of text there.

    It begins at the left end of the axes, or above their numbers, if so it has fewer lines.
    """
    size = drawing.name_size()
    width = float(drawing.size_of(ax)[0])
    columns = columns_within(names, title, width, size)
    more_columns = columns_within(names, title, width + BESIDE_AXES * size, size)
    right = float(more_columns > columns)
    return {
        "loc": "lower right" if right else "lower left",
        "bbox_to_anchor": (right, 1.0),
        "bbox_transform": offset_copy(ax.transAxes, drawing.figure_of(ax), 0.0, lines * size, units="points"),
        "ncols": more_columns,
    }
