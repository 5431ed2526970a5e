"""Loadings over the columns in their order: curves for spectra and series, images for pixels."""

from __future__ import annotations

import re
from collections.abc import Hashable, Sequence
from functools import partial
from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd
from matplotlib.ticker import MaxNLocator
from matplotlib.transforms import Bbox
from numpy.typing import NDArray

from spcastat.labels import HEADING_WIDTH, short_name, short_names
from spcastat.plots import drawing
from spcastat.plots.blocks import tick_text
from spcastat.plots.drawing import ink, line, shade
from spcastat.plots.legends import title_of
from spcastat.plots.texts import labels_for, lines_of, width_of
from spcastat.plots.ticks import TickNumbers, number_axis

if TYPE_CHECKING:
    from matplotlib.axes import Axes

#: A number, perhaps after letters and before a unit: "850", "850 nm", "X850".
_NUMBERED = re.compile(r"\s*([^\d\s.+-]{0,3}?)([-+]?\d+(?:\.\d+)?(?:[eE][-+]?\d+)?)\s*([^\d\s]\D*)?")
#: The largest number of columns whose names are written below the axis, and about how many of them are.
MOST_NAMES, TICKS = 60, 12
#: Numbers count the columns if they begin with at most this number, or this share of the number of columns.
FIRST_NUMBER, FIRST_SHARE = 10, 0.1
#: Space below the smallest loading as a share of the largest, and height of a heading above it in font sizes.
SPACE_BELOW, HEADING_HEIGHT = 0.08, 1.5
#: Height of a panel, as a share of the distance of two; panels of more font sizes have ticks at all round
#: values; numbers of two ticks are so many font sizes apart.
PANEL, TALL, NUMBERS_APART = 0.86, 12.0, 1.2
#: Cells of columns narrower than this have a line from zero, in points.
NARROW_CELL = 1.5
#: The most images beside one another in a new figure, space between images in points, and height of a title
#: in font sizes.
MOST_IN_LINE, IMAGE_GAP, TITLE = 4, 6.0, 1.6
#: Width of a colour bar, and of its numbers and its label, in font sizes.
COLOUR_BAR, BAR_NUMBERS = 0.9, 6.0
#: The longest label of the axis.
LABEL_WIDTH = 40


# --- positions ------------------------------------------------------------------------------------


def numbers_of(names: Sequence[Hashable]) -> tuple[NDArray[np.float64] | None, str]:
    """Return the numbers in names such as 850, "850 nm" or "X850", and their unit.

    The numbers are None unless all names have one, with the same letters and unit, and they increase or
    decrease. Letters before numbers that only count, as in "x1", "x2", ..., are no positions either.
    """
    matches = [_NUMBERED.fullmatch(str(name)) for name in names]
    if len(matches) < 2 or not all(matches):
        return None, ""
    parts = {(match[1], (match[3] or "").strip()) for match in matches if match is not None}
    numbers = np.array([float(match[2]) for match in matches if match is not None])
    steps = np.diff(numbers)
    if len(parts) > 1 or not ((steps > 0).all() or (steps < 0).all()):
        return None, ""
    letters, unit = parts.pop()
    return (None, "") if letters and _counts(numbers) else (numbers, unit)


def is_spectrum(names: Sequence[Hashable]) -> bool:
    """Return whether names are positions on an axis, and do not merely count the columns."""
    numbers, unit = numbers_of(names)
    return numbers is not None and (bool(unit) or not _counts(numbers))


def _counts(numbers: NDArray[np.float64]) -> bool:
    """Return whether numbers count the columns of a table, some of which may have been left out."""
    are_whole = bool((numbers == np.round(numbers)).all())
    return (
        are_whole
        and 0 <= numbers[0] <= max(FIRST_NUMBER, FIRST_SHARE * len(numbers))
        and np.median(np.diff(numbers)) == 1.0
    )


# --- curves ---------------------------------------------------------------------------------------


def draw_curves(
    ax: Axes,
    loadings: pd.DataFrame,
    headings: Sequence[str],
    places: NDArray[np.float64] | None,
    value_label: str,
    sentences: Sequence[str] = (),
) -> None:
    """Draw the loadings of each component over the columns, in one panel each; zeros interrupt the line.

    Positions are `places`, else the numbers in the names of the columns, else 1 to p. A note has `sentences`.
    """
    values, p = loadings.to_numpy(dtype=float), len(loadings)
    numbers, unit = numbers_of(list(loadings.index))
    with_names = places is None and numbers is None and p <= MOST_NAMES
    x = np.arange(1.0, p + 1.0) if numbers is None else numbers
    x = x if places is None else places
    order = np.argsort(x, kind="stable")
    x, values = x[order], values[order]
    size = drawing.name_size()
    middle = len(headings) // 2
    centre = (middle + 0.5) / len(headings)
    room = 2.0 * min(centre, 1.0 - centre) * float(drawing.size_of(ax)[1])
    value_label = "\n".join(lines_of(value_label, room, size + 1.0))
    height = PANEL * float(drawing.size_of(ax)[1]) / len(headings)
    low, high = min(float(values.min()), 0.0), max(float(values.max()), 0.0)
    low -= SPACE_BELOW * (high - low)
    high += (high - low) / max(height / (HEADING_HEIGHT * size) - 1.0, 1.0)
    panels = list(drawing.stacked(ax, loadings.columns, PANEL))
    edges = _edges(x)
    steps, narrow = np.repeat(edges, 2)[1:-1], len(x) > float(drawing.size_of(ax)[0]) / NARROW_CELL
    for j, (panel, column, heading) in enumerate(zip(panels, values.T, headings, strict=True)):
        levels = np.repeat(column, 2)
        panel.axhline(0, color=shade(panel, 0.4), linewidth=line(0.6), zorder=1)
        panel.fill_between(steps, 0, levels, color=[shade(panel, 0.3)], linewidth=0, zorder=2)
        if narrow:  # the sides of steps would fill the area
            nonzero = np.pad(column != 0, 1)
            isolated = nonzero[1:-1] & ~nonzero[:-2] & ~nonzero[2:]
            curve = np.where(column != 0, column, np.nan)
            panel.plot(x, curve, color=ink(panel), linewidth=line(0.7), zorder=3)
            panel.vlines(x[isolated], 0, column[isolated], color=[ink(panel)], linewidth=line(0.7), zorder=3)
        else:
            curve = np.where(levels != 0, levels, np.nan)
            panel.plot(steps, curve, color=ink(panel), linewidth=line(1.0), zorder=3)
        panel.set(ylim=(low, high), xlim=(edges[0], edges[-1]))
        _scale(panel, height, size)
        panel.tick_params(labelsize=size)
        panel.set_ylabel(value_label if j == middle else "", fontsize=size + 1.0, parse_math=False)
        style: dict[str, Any] = {"fontsize": size, "fontweight": "bold", "va": "top", "parse_math": False}
        panel.text(0.01, 1.0, heading, transform=panel.transAxes, **style)
    label = title_of(loadings.index) or unit or ("" if with_names else "Column")
    label = short_name(label, LABEL_WIDTH) if label else ""
    panels[-1].set_xlabel(label, fontsize=size + 1.0, parse_math=False)
    if with_names:
        step = max(-(-p // TICKS), 1)
        texts = short_names([loadings.index[i] for i in order[::step]], 14)
        panels[-1].set_xticks(x[::step], texts, rotation=45, ha="right", parse_math=False)
    drawing.write_note(ax, sentences, last_panel=panels[-1])


def _edges(x: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return the ends of the cells around ascending positions, one more than these."""
    if len(x) == 1:
        return np.array([x[0] - 0.5, x[0] + 0.5])
    middles = (x[1:] + x[:-1]) / 2.0
    return np.concatenate([[2.0 * x[0] - middles[0]], middles, [2.0 * x[-1] - middles[-1]]])


def _scale(panel: Axes, height: float, size: float) -> None:
    """Set ticks of a panel of this height in points: round values, or zero and one on each side of it."""
    if height > TALL * size:
        number_axis(panel.yaxis, MaxNLocator("auto", steps=[1, 2, 5, 10], min_n_ticks=2))
        return
    low, high = panel.get_ylim()
    power = 10.0 ** np.floor(np.log10(high))
    value = power * max(step for step in (1, 2, 5) if step * power <= high)
    places = np.array([-value, 0.0, value])
    distance = height * value / (high - low)
    if distance < NUMBERS_APART * size:  # numbers would touch
        places = places[[0, 2]]
    places = places[places >= low]
    panel.set_yticks(places, [tick_text(place) for place in places.tolist()])


# --- images ---------------------------------------------------------------------------------------


def draw_images(ax: Axes | None, loadings: pd.DataFrame, shape: tuple[int, int], label: str) -> Axes:
    """Draw the loadings of each component as an image, with a common colour scale."""
    values = loadings.to_numpy(dtype=float)
    k = values.shape[1]
    lines = -(-k // MOST_IN_LINE)
    tall = float(np.clip(shape[0] / shape[1], 0.3, 3.0))
    ax = drawing.axes_for(ax, 2.0 * -(-k // lines) + 0.9, 2.0 * tall * lines + 0.5, bar=True)
    ax.set_axis_off()
    names = short_names(list(loadings.columns), HEADING_WIDTH)
    grid = ImageGrid(ax, names, np.count_nonzero(values, axis=0).tolist(), tall)
    for j in range(k):
        panel = ax.inset_axes((0.0, 0.0, 1.0, 1.0))
        panel.set_axes_locator(partial(grid.place, j))
        image = _image(panel, values[:, j].reshape(shape), float(np.abs(values).max()))
        panel.set(xticks=[], yticks=[])
        for spine in panel.spines.values():
            spine.set_color(shade(ax, 0.4))
    bar_axes, numbers = ax.inset_axes((0.0, 0.0, 0.1, 1.0)), TickNumbers()
    bar = drawing.draw_colour_bar(bar_axes, image, label, drawing.name_size(), format=numbers)
    bar.set_axes_locator(grid.place_bar)
    return ax


class ImageGrid:
    """Places of images within axes whenever the figure is drawn: as large as the axes allow, with titles.

    They stand in the middle, beside a colour bar.

    Parameters
    ----------
    ax : Axes
    names : list of str
        Of the images.
    counts : list of int
        Of their pixels that are not zero, which titles state if all have room for it.
    tall : float
        Height of an image relative to its width.
    """

    def __init__(self, ax: Axes, names: list[str], counts: list[int], tall: float) -> None:
        self.ax, self.names, self.tall = ax, names, tall
        self.titles = [f"{name}: {count} pixels" for name, count in zip(names, counts, strict=True)]

    def place(self, j: int, panel: Any, renderer: Any) -> Bbox:
        """Write the title of image j, and return its position within the figure."""
        size, count = drawing.name_size(), len(self.names)
        columns, side = self._columns()
        titles = self.titles
        if max(width_of(title, size) for title in titles) > side:
            titles = labels_for(self.names, [side] * count, size)
        panel.set_title(titles[j], fontsize=size, pad=0.25 * size, parse_math=False)
        row, column = divmod(j, columns)
        x, y = column * (side + IMAGE_GAP), row * (TITLE * size + self.tall * side)
        return self._position(panel, x, y + TITLE * size, side, self.tall * side)

    def place_bar(self, bar: Any, renderer: Any) -> Bbox:
        """Return the position of the colour bar within the figure: beside the images, as high as these."""
        size, (columns, side) = drawing.name_size(), self._columns()
        x, height = columns * (side + IMAGE_GAP), self._height(columns, side) - TITLE * size
        return self._position(bar, x, TITLE * size, COLOUR_BAR * size, height)

    def _columns(self) -> tuple[int, float]:
        """Return the number of columns, and the width of an image in points."""
        width, height = drawing.size_of(self.ax).tolist()
        width -= (COLOUR_BAR + BAR_NUMBERS) * drawing.name_size()
        count = len(self.names)

        def width_in(columns: int) -> float:
            room = height / -(-count // columns) - TITLE * drawing.name_size()
            return max(min(width / columns - IMAGE_GAP, room / self.tall), 1.0)

        columns = max(range(1, count + 1), key=width_in)
        return columns, width_in(columns)

    def _height(self, columns: int, side: float) -> float:
        """Return the height of all images with their titles in points."""
        return -(-len(self.names) // columns) * (TITLE * drawing.name_size() + self.tall * side)

    def _position(self, panel: Any, x: float, y: float, width: float, height: float) -> Bbox:
        """Return the position of a box within the figure, from the upper left corner of the images."""
        columns, side = self._columns()
        used_width = columns * (side + IMAGE_GAP) + (COLOUR_BAR + BAR_NUMBERS) * drawing.name_size()
        free = (drawing.size_of(self.ax) - [used_width, self._height(columns, side)]) / 2.0
        pixels, axes = drawing.figure_of(panel).dpi / 72.0, self.ax.get_window_extent()
        left, top = axes.x0 + (free[0] + x) * pixels, axes.y1 - (free[1] + y) * pixels
        box = Bbox.from_extents(left, top - height * pixels, left + width * pixels, top)
        return drawing.position_of(panel, box)


def _image(ax: Axes, values: np.ndarray, largest: float, **style: Any) -> Any:
    """Draw values from orange (negative) to purple or, on dark pages, blue; zeros are the background.

    The colours are safe for colour-blind readers.
    """
    from matplotlib.colors import LinearSegmentedColormap

    background = drawing.paper(ax)
    colours: Any = "PuOr"
    if background.mean() < 0.5:
        positive, negative = drawing.accents(ax)
        colours = LinearSegmentedColormap.from_list("dark", [negative, tuple(background), positive])
    ax.set_facecolor(tuple(background))
    style |= {"cmap": colours, "vmin": -largest, "vmax": largest, "interpolation": "nearest"}
    return ax.imshow(np.ma.masked_equal(values, 0), **style)
