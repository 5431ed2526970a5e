"""The layout of a biplot: the scale of the data, and the positions of lists, names and the legend.

Variables with a loading on only one of the two components lie on an axis, and those of each half axis are
named in a list. A list is placed where it covers no point, arrow or other text, close to the end of its axis,
where it enlarges the axes little. The data are drawn as large as the axes allow; if lists do not fit then,
smaller; then names are shortened and text is made smaller. A list without room goes into the note below the
axes; where that has no room either, or the data would be too small, lists name their first variables and
count the others.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from functools import cached_property
from typing import TYPE_CHECKING, Any, cast

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from spcastat.labels import NAME_WIDTH, short_names
from spcastat.plots.axes_and_names import figure_of, settle, size_of, value_text
from spcastat.plots.label_placement import FreeSpace, Name, Scene, grown, place
from spcastat.plots.plot_colours import ink, size_of_text

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.legend import Legend
    from matplotlib.text import Text

Array = NDArray[np.float64]

#: Ends of the axes -> the sign at the start of their lists, and the component.
SIDES = {"right": ("→", 0), "left": ("←", 0), "top": ("↑", 1), "bottom": ("↓", 1)}
#: Length of the longer side of the data in a new figure, in points.
SIDE = 370.0
#: Layouts in the order in which they are tried: largest length of names, font size, whether lists show
#: weights, the largest angle in degrees between their axes and the direction of the lists from the origin.
TRIED = (
    (40, "small", True, 50),
    (28, "small", True, 50),
    (20, "small", True, 50),
    (20, "x-small", True, 50),
    (14, "x-small", True, 50),
    (20, "x-small", True, 90),
    (14, "x-small", True, 90),
    (20, "x-small", False, 90),
    (13, "x-small", False, 90),
    (20, "xx-small", False, 90),
    (12, "xx-small", False, 90),
)
#: Scales of the data that are tried, relative to the largest possible.
SCALES = np.arange(1.0, 0.6, -0.04).tolist()
#: Share of the axes that points and arrows should fill: in a new figure (True), on the user's axes (False).
#: With a twentieth less, lists are shortened.
FILLED = {True: 0.6, False: 0.5}
#: The space around lists and within the frame, in points.
GAP = 4.0


@dataclass(frozen=True, eq=False)
class Content:
    """The contents of a biplot: finite points (n, 2) in data units, arrows of BiplotData, component names.

    A list shows at most `most` names, and its last line counts the others; None shows all names.
    """

    points: Array
    arrows: pd.DataFrame
    components: tuple[str, str]
    most: int | None = None

    @cached_property
    def tips(self) -> Array:
        return self.arrows[["x", "y"]].to_numpy(dtype=float)

    @cached_property
    def limits(self) -> tuple[Array, Array]:
        """Lower and upper limits of points and arrows."""
        everything = np.vstack([self.points, self.tips, np.zeros((1, 2))])
        return everything.min(axis=0), everything.max(axis=0)

    @cached_property
    def lists(self) -> dict[str, NDArray[np.intp]]:
        """The arrows of each list, the largest first. A single arrow on a half axis needs no list."""
        sides = self.arrows["side"].to_numpy()
        found = {side: np.flatnonzero(sides == side) for side in SIDES}
        return {side: here for side, here in found.items() if len(here) > 1}

    @cached_property
    def named(self) -> list[int]:
        """The arrows that are named at their tips."""
        listed = {i for here in self.lists.values() for i in here.tolist()}
        return [i for i in range(len(self.arrows)) if i not in listed]

    def labels(self, limit: int) -> list[str]:
        """Return unique names of at most `limit` characters."""
        return short_names(list(self.arrows.index), limit, positions=self.arrows["position"].tolist())

    def list_lines(self, side: str, labels: list[str], weighted: bool = True) -> list[str]:
        """Return the lines of a list: the component, then names with or without weights, at most `most`."""
        sign, component = SIDES[side]
        weights = self.arrows["weight"].to_numpy(dtype=float)
        texts = [("+" if weight > 0 else "") + value_text(weight) for weight in weights.tolist()]
        here = self.lists[side].tolist()
        entries = [f"{texts[i]}  {labels[i]}" if weighted else labels[i] for i in here]
        shown = entries if self.most is None else entries[: self.most]
        rest = [f"and {len(entries) - len(shown)} more"] * (len(shown) < len(entries))
        return [f"{sign} {self.components[component]} alone", *shown, *rest]


@dataclass(frozen=True, eq=False)
class Layout:
    """A possible layout.

    Attributes
    ----------
    low, high : ndarray, (2,)
        Limits of the axes, in data units.
    size : ndarray, (2,)
        Size of the axes, in points.
    boxes : dict
        Left, lower, right and upper edge of the lists that have room, and of the "legend", as fractions of
        the axes.
    labels : list of str
        The name of every arrow.
    fontsize : str
        Font size of lists and names.
    weighted : bool
        Whether lists show weights.
    rank : tuple
        Larger is better; see `_layouts`.
    """

    low: Array
    high: Array
    size: Array
    boxes: dict[str, Array]
    labels: list[str]
    fontsize: str
    weighted: bool
    rank: tuple[int, int, int]


def lay_out(
    ax: Axes, content: Content, own: bool, write_legend: Callable[[int], Legend] | None
) -> tuple[Layout, list[Text], list[tuple[str, str]]]:
    """Set the limits of the axes and write the lists; set the size of a new figure (`own`).

    Parameters
    ----------
    write_legend : callable, optional
        Writes the legend above the axes in a given number of columns, or inside the axes for 0.

    Returns
    -------
    layout : Layout
    texts : list of Text
        The lists on the axes.
    unplaced : list of (str, str)
        Heading and entry, for the note, of each variable of the lists that have no room on the axes.
    """
    probe = ax.text(0, 0, "", parse_math=False)
    legend = None if write_legend is None else write_legend(0)
    room = room_for(ax, content, own)
    best = _best(content, room, probe, FILLED[own], None if legend is None else size_of(ax, legend))
    if write_legend is not None and legend is not None:
        if best.rank[:2] == (0, int(20 * FILLED[own])):
            legend.set_loc(tuple(best.boxes["legend"][:2].tolist()))
        else:
            width = 72 * figure_of(ax).get_size_inches()[0]
            columns = max(int(1.2 * width / size_of(ax, legend)[0]), 1)
            while size_of(ax, write_legend(columns))[0] > width and columns > 1:
                columns = (columns + 1) // 2
            best = _best(content, room_for(ax, content, own), probe, FILLED[own], None)
    probe.remove()
    _apply(ax, best, own)
    texts: list[Text] = []
    unplaced: list[tuple[str, str]] = []
    for side in content.lists:
        if side in best.boxes:
            lines = content.list_lines(side, best.labels, best.weighted)
            texts.append(_write_list(ax, "\n".join(lines), best.boxes[side], best.fontsize))
        else:
            whole = replace(content, most=None)
            head, *entries = whole.list_lines(side, content.labels(NAME_WIDTH))
            unplaced += [(f"{head}:", entry.replace("  ", " ")) for entry in entries]
    return best, texts, unplaced


def room_for(ax: Axes, content: Content, own: bool) -> Array:
    """Return the largest width and height of the axes, in points.

    In a new figure the longer side of the data has the length SIDE. On the user's axes the data fill the axes
    in one direction, and the share FILLED in the other.
    """
    low, high = content.limits
    extent = np.where(high > low, high - low, 1.0)
    wide = np.maximum(extent, 0.55 * extent.max())
    if own:
        return np.asarray(wide * (size_of_text() * SIDE / wide.max()) + 2 * GAP)
    ax.set_aspect("auto")
    settle(ax)
    room = size_of(ax)
    unit = float(((room - 2 * GAP) / extent).min())
    return np.minimum(room, np.maximum(extent / FILLED[own], 0.7 * extent.max()) * unit + 2 * GAP)


def _best(content: Content, room: Array, probe: Text, target: float, legend: Array | None) -> Layout:
    """Return the first layout in which everything has room, or else the best one."""
    best: Layout | None = None
    for found in _layouts(content, room, probe, target, legend):
        if best is None or found.rank > best.rank:
            best = found
        # names at tips without room become numbers; that is better than shortening all names below 20
        # characters
        if best.rank[:2] == (0, int(20 * target)) and (best.rank[2] == 0 or found.fontsize != "small"):
            break
    assert best is not None
    return best


def _layouts(
    content: Content, room: Array, probe: Text, target: float, legend: Array | None
) -> Iterator[Layout]:
    """Yield layouts in the order of TRIED and SCALES.

    The rank of a layout is minus the number of lists without room, then the share of the axes that points and
    arrows fill, up to the target, in twentieths, then minus the number of names without room.
    """
    low, high = content.limits
    extent = np.where(high > low, high - low, 1.0)
    middle, largest = (low + high) / 2, float(((room - 2 * GAP) / extent).min())
    for limit, fontsize, weighted, angle in TRIED:
        labels = content.labels(limit)
        lists = {side: "\n".join(content.list_lines(side, labels, weighted)) for side in content.lists}
        sizes = {side: _measured(probe, text, fontsize) for side, text in lists.items()}
        names = [_measured(probe, labels[i], fontsize) + 1.0 for i in content.named]
        for scale in SCALES:
            unit = scale * largest
            free = FreeSpace(room, GAP, (high - low) * unit)
            first, last = free.low, free.high
            zero = (first + last) / 2 - middle * unit  # the origin of the data, in points
            tips, points = content.tips * unit + zero, content.points * unit + zero
            shafts = np.stack([np.broadcast_to(zero, tips.shape), tips], axis=1)
            free.block_points(points, 3.0)
            free.block_segments(shafts)
            boxes = {} if legend is None else free.take({"legend": legend}, {"legend": last}, zero)
            boxes |= free.take(sizes, _ends(zero, first, last), zero, angle)
            unlisted = len(sizes) + (legend is not None) - len(boxes)
            taken = [grown(box) for box in boxes.values()]
            centre = (free.low + free.high) / 2
            frame = np.concatenate([centre - room / 2, centre + room / 2])
            scene = Scene(frame, tips, shafts, points, taken)
            wanted = (
                Name(tips[i], tips[i] - zero, size, (i,))
                for i, size in zip(content.named, names, strict=True)
            )
            placed = [] if unlisted else place(list(wanted), scene)
            around = [*boxes.values(), *(one[0] for one in placed if one is not None)]
            edges = np.vstack([np.concatenate([first, last]), *around])
            first = np.maximum(edges[:, :2].min(axis=0) - GAP, frame[:2])
            last = np.minimum(edges[:, 2:].max(axis=0) + GAP, frame[2:])
            size = last - first
            filled = float(np.prod((high - low) * unit / size))
            yield Layout(
                (first - zero) / unit,
                (last - zero) / unit,
                size,
                {side: ((box.reshape(2, 2) - first) / size).ravel() for side, box in boxes.items()},
                labels,
                fontsize,
                weighted,
                (-unlisted, int(20 * min(filled, target)), -sum(one is None for one in placed)),
            )
            if (not unlisted and not any(one is None for one in placed)) or filled < 0.75 * target:
                break


def _measured(probe: Text, text: str, fontsize: str) -> Array:
    """Return width and height of a text in points."""
    probe.set(text=text, fontsize=fontsize)
    return size_of(cast("Axes", probe.axes), probe)


def _ends(origin: Array, first: Array, last: Array) -> dict[str, Array]:
    """Return the preferred centres of the lists: the ends of their axes within the limits of the data."""
    right, top = np.array([last[0], origin[1]]), np.array([origin[0], last[1]])
    left, bottom = np.array([first[0], origin[1]]), np.array([origin[0], first[1]])
    return {"right": right, "left": left, "top": top, "bottom": bottom}


def _apply(ax: Axes, layout: Layout, own: bool) -> None:
    """Set the limits of the axes as in the layout and, for a new figure (`own`), their size."""
    if own:
        resize(ax, layout.size)
    ax.set(xlim=(layout.low[0], layout.high[0]), ylim=(layout.low[1], layout.high[1]))
    ax.set_aspect("equal", adjustable="box")
    settle(ax)


def resize(ax: Axes, size: Array) -> None:
    """Set the size of the figure so that the axes have this size."""
    figure = figure_of(ax)
    for _ in range(2):
        ax.set_aspect("auto")
        settle(ax)
        missing = size - size_of(ax)
        if np.abs(missing).max() < 1.0:
            break
        figure.set_size_inches(*np.maximum(figure.get_size_inches() + missing / 72, 2.0).tolist())


def _write_list(ax: Axes, text: str, box: Array, fontsize: str) -> Text:
    """Write a list, anchored at its corner closest to the edges, so that it stays inside smaller axes."""
    right, top = (box[:2] + box[2:]) / 2 > 0.5
    style: dict[str, Any] = {"transform": ax.transAxes, "parse_math": False, "zorder": 6, "gid": "stack"}
    style |= {"ha": "right" if right else "left", "va": "top" if top else "bottom"}
    style |= {"multialignment": "left", "fontsize": fontsize, "color": ink(ax)}
    written = ax.text(box[2] if right else box[0], box[3] if top else box[1], text, **style)
    written.set_in_layout(False)
    return written
