"""Places of names and lists beside points and arrows.

Candidate positions are all around the tip, from near to far. A position is rejected if it leaves the frame,
overlaps other text, crosses an arrow, or is nearer to another tip than to its own. Names with the fewest
candidates are placed first; a name with none left may move one or two others. The result is deterministic.

Variables with a loading on only one of the two components lie on an axis. Those of each half axis are named
at their ticks if every name has room there, and in a list otherwise. A list is placed where it covers no
point, arrow or other text, close to the end of its axis, where it enlarges the axes little. The data are
drawn as large as the axes allow; if lists do not fit then, smaller; then names are shortened and text is made
smaller. A list without room goes into the note below the
axes; where that has no room either, or the data would be too small, lists name their first variables and
count the others.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import TYPE_CHECKING, Any, cast

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from spcastat.labels import NAME_WIDTH, short_names
from spcastat.plots import axes_and_names as helpers

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.legend import Legend
    from matplotlib.text import Annotation, Text

Array = NDArray[np.float64]


# --- names beside their tips ----------------------------------------------------------------------


_RADII = np.array([2.5, 4.5, 7.0, 10.0, 14.0, 19.0, 25.0, 32.0, 40.0])
_TURNS = np.deg2rad(np.concatenate([[0.0], *([a, -a] for a in range(15, 166, 15)), [180.0]]))
#: If a name is at least this far from its tip, in points, a line connects them.
LEADER = 9.0
#: If there are more names of rows than this, they are written close to their points or not at all.
MOST_LED = 20
#: Names keep this distance from the frame, in points.
INSIDE = 2.0
#: If there are more dots than this, only some are used to count the dots under a box.
MOST_DOTS = 1500


@dataclass
class Scene:
    """The frame and the objects that names must not overlap or cross; all in points.

    Attributes
    ----------
    frame : ndarray, (4,)
        Left, lower, right and upper edge.
    tips : ndarray, (q, 2)
        The tips of all arrows.
    shafts : ndarray, (s, 2, 2)
        Segments that no name may cross; first those of the tips.
    dots : ndarray, (n, 2)
        Points that names should not cover.
    taken : list of ndarray, (4,)
        Occupied boxes.
    """

    frame: Array
    tips: Array
    shafts: Array
    dots: Array
    taken: list[Array] = field(default_factory=list)

    def __post_init__(self) -> None:
        if len(self.dots) > MOST_DOTS:
            self.dots = self.dots[:: -(-len(self.dots) // MOST_DOTS)]


@dataclass(frozen=True)
class Name:
    """A text to place: its anchor, the preferred direction from the anchor, its size, and its own tips.

    A `clear` name may cover no dot; others cover as few as possible. A `close` name needs no line to its
    anchor.
    """

    anchor: Array
    direction: Array
    size: Array
    own: tuple[int, ...] = ()
    clear: bool = False
    close: bool = False


@dataclass(frozen=True)
class _Choices:
    boxes: Array
    distance: Array
    cost: Array


def place(names: list[Name], scene: Scene, radii: Array = _RADII) -> list[tuple[Array, float] | None]:
    """Return for every name its box and distance from the anchor, or None; add the boxes to `scene.taken`."""
    choices = [_choices(name, scene, radii) for name in names]
    placed: dict[int, int] = {}
    for i in sorted(range(len(names)), key=lambda i: (len(choices[i].cost), i)):
        free = _free(choices[i], [choices[j].boxes[at] for j, at in placed.items()])
        if free.size:
            placed[i] = int(free[0])
    for i in range(len(names) if len(names) <= 60 else 0):
        if i not in placed:
            _make_room(i, choices, placed)
    found: list[tuple[Array, float] | None] = []
    for i, choice in enumerate(choices):
        at = placed.get(i)
        found.append(None if at is None else (choice.boxes[at], float(choice.distance[at])))
        if at is not None:
            scene.taken.append(choice.boxes[at])
    return found


def _choices(name: Name, scene: Scene, radii: Array) -> _Choices:
    """Return the positions of a name that are valid apart from other names, the best first."""
    radii = radii[radii < LEADER] if name.close else radii
    angle = np.arctan2(name.direction[1], name.direction[0]) + _TURNS
    towards = np.stack([np.cos(angle), np.sin(angle)], axis=1)
    # distances are measured along the ray to the edge of the box, so that long names are not farther away
    reach = np.min(name.size / 2 / np.maximum(np.abs(towards), 1e-9), axis=1)
    centres = (name.anchor + (radii[:, None] + reach)[..., None] * towards).reshape(-1, 2)
    boxes = np.hstack([centres - name.size / 2, centres + name.size / 2])
    distance = np.broadcast_to(radii[:, None], (len(radii), len(angle))).reshape(-1)
    turn = np.broadcast_to(np.abs(_TURNS), (len(radii), len(angle))).reshape(-1)
    good = np.all(boxes[:, :2] >= scene.frame[:2], axis=1) & np.all(boxes[:, 2:] <= scene.frame[2:], axis=1)
    if scene.taken:
        good &= ~touching(boxes, np.array(scene.taken)).any(axis=1)
    if len(scene.shafts):
        good &= ~crossing(grown(boxes, 1.0), scene.shafts).any(axis=1)
    if len(scene.tips):
        away = distances(boxes, scene.tips)
        mine = np.zeros(len(scene.tips), dtype=bool)
        mine[list(name.own)] = True
        nearest_own = away[:, mine].min(axis=1) if mine.any() else distances(boxes, name.anchor[None])[:, 0]
        if not mine.all():
            good &= away[:, ~mine].min(axis=1) >= nearest_own + 1.0
    led = good & (distance >= LEADER)
    if led.any() and len(scene.shafts):
        # the line to a name must not cross shafts of other tips
        others = np.delete(scene.shafts, [i for i in name.own if i < len(scene.shafts)], axis=0)
        lines = np.stack([np.broadcast_to(name.anchor, centres[led].shape), centres[led]], axis=1)
        good[np.flatnonzero(led)] = ~meeting(lines, others).any(axis=1)
    kept = np.flatnonzero(good)
    boxes, distance = boxes[kept], distance[kept]
    dots = _count(grown(boxes, 1.5), scene.dots)
    cost = distance + 4.0 * turn[kept] + 4.0 * np.minimum(dots, 8)
    order = np.argsort(cost, kind="stable")
    order = order[dots[order] == 0] if name.clear else order
    return _Choices(boxes[order], distance[order], cost[order])


def _free(choice: _Choices, others: list[Array]) -> NDArray[np.intp]:
    if not others:
        return np.arange(len(choice.cost))
    return np.flatnonzero(~touching(choice.boxes, np.array(others)).any(axis=1))


def _make_room(i: int, choices: list[_Choices], placed: dict[int, int]) -> None:
    """Place name i by moving one or two others, if possible."""
    for at, box in enumerate(choices[i].boxes):
        rest = {j: choices[j].boxes[where] for j, where in placed.items()}
        blocking = [j for j in rest if touching(box[None], rest[j][None]).any()]
        if not 0 < len(blocking) <= 2:
            continue
        for j in blocking:
            del rest[j]
        rest[i] = box
        moved: dict[int, int] = {}
        for j in blocking:
            free = _free(choices[j], list(rest.values()))
            if not free.size:
                break
            moved[j] = int(free[0])
            rest[j] = choices[j].boxes[moved[j]]
        else:
            placed.update(moved)
            placed[i] = at
            return


# --- free space -----------------------------------------------------------------------------------


class FreeSpace:
    """The free part of a rectangle around the data, on a grid of cells of two points.

    Parameters
    ----------
    room : ndarray, (2,)
        The largest width and height of data and boxes together, with a gap around them, in points.
    gap : float
        Margin around boxes and at the edges, in points.
    size : ndarray, (2,)
        Width and height of the data. They lie in the middle of the rectangle searched, which is so large that
        boxes can take all of the remaining room on one side.

    Attributes
    ----------
    low, high : ndarray, (2,)
        Lower and upper limits of the data and the boxes.
    """

    CELL = 2.0

    def __init__(self, room: Array, gap: float, size: Array):
        self.room, self.gap = room, gap
        self.low, self.high = room - gap - size, room - gap
        self.taken = np.zeros(np.ceil((2 * room - size) / self.CELL).astype(int), dtype=bool)

    def block_points(self, points: Array, radius: float) -> None:
        """Occupy the cells within `radius` of points, (n, 2)."""
        reach = int(np.ceil(radius / self.CELL))
        cells = np.floor(points / self.CELL).astype(int) + reach
        wide = np.zeros(np.array(self.taken.shape) + 2 * reach, dtype=bool)
        wide[tuple(cells[((cells >= 0) & (cells < wide.shape)).all(axis=1)].T)] = True
        for x, y in np.ndindex(2 * reach + 1, 2 * reach + 1):
            self.taken |= wide[x : x + self.taken.shape[0], y : y + self.taken.shape[1]]

    def block_segments(self, segments: Array) -> None:
        """Occupy the cells along segments, (s, 2, 2)."""
        steps = np.linspace(0.0, 1.0, max(self.taken.shape))[:, None, None]
        along = segments[:, 0] + steps * (segments[:, 1] - segments[:, 0])
        self.block_points(along.reshape(-1, 2), self.CELL)

    def take(
        self, sizes: dict[str, Array], targets: dict[str, Array], origin: Array, angle: float = 180
    ) -> dict[str, Array]:
        """Find and occupy a free box for each size.

        A box is close to its target, and adds little to the rectangle around the data and the boxes: a
        quarter of the squared distance plus the area added is as small as possible. The direction from
        `origin` to the box must be within `angle` degrees of that to the target.
        Returns the boxes; sizes without room are left out.
        """
        found = {}
        for name in sizes:
            cells = np.ceil((sizes[name] + 2 * self.gap) / self.CELL).astype(int)
            if (cells > self.taken.shape).any():
                continue
            total = np.pad(self.taken.astype(int).cumsum(axis=0).cumsum(axis=1), ((1, 0), (1, 0)))
            w, h = cells
            inside = total[w:, h:] - total[:-w, h:] - total[w:, :-h] + total[:-w, :-h]
            free = np.argwhere(inside == 0)
            centres = (free + cells / 2) * self.CELL
            towards = (targets[name] - origin) / max(float(np.hypot(*(targets[name] - origin))), 1e-9)
            length = np.hypot(*(centres - origin).T)
            there = (centres - origin) @ towards >= np.cos(np.deg2rad(angle)) * length - 1e-9
            free, centres = free[there], centres[there]
            corners = free * self.CELL + self.gap
            low, high = np.minimum(corners, self.low), np.maximum(corners + sizes[name], self.high)
            there = (high - low <= self.room - 2 * self.gap).all(axis=1)
            free, centres, corners, low, high = (one[there] for one in (free, centres, corners, low, high))
            if not len(free):
                continue
            cost = 0.25 * ((centres - targets[name]) ** 2).sum(axis=1) + np.prod(high - low, axis=1)
            best = int(np.argmin(cost))
            self.low, self.high, start, corner = low[best], high[best], free[best], corners[best]
            self.taken[start[0] : start[0] + w, start[1] : start[1] + h] = True
            found[name] = np.concatenate([corner, corner + sizes[name]])
        return found


# --- names on axes --------------------------------------------------------------------------------


def to_points(ax: Axes, xy: Array) -> Array:
    """Convert positions in data units, (n, 2), to points (1/72 inch) on the figure."""
    return helpers.in_points(ax, ax.transData.transform(np.asarray(xy, dtype=float).reshape(-1, 2)))


def scene_of(ax: Axes, tips: Array, dots: Array, shafts: bool = True, around: Sequence[Any] = ()) -> Scene:
    """Return the `Scene` of `ax`: everything that names must not overlap.

    The limits and the position of `ax` must be final.

    Parameters
    ----------
    tips, dots : ndarray, (q, 2) and (n, 2)
        In data units.
    shafts : bool
        Whether segments from the origin to the tips are drawn.
    around : sequence of Artist
        Further artists that names must not overlap.
    """
    ends, dots = to_points(ax, tips), to_points(ax, dots[np.isfinite(dots).all(axis=1)])
    start = np.broadcast_to(to_points(ax, np.zeros((1, 2))), ends.shape)
    segments = np.stack([start, ends], axis=1) if shafts else np.empty((0, 2, 2))
    frame = grown(helpers.in_points(ax, ax.get_window_extent().extents), -INSIDE)
    scene = Scene(frame, ends, segments, dots)
    for artist in filter(None, (ax.get_legend(), *around)):
        scene.taken.append(grown(helpers.in_points(ax, artist.get_window_extent().extents)))
    return scene


def grown(boxes: Array, by: float = 3.0) -> Array:
    """Return boxes, (..., 4), with space around them, by default that between names and lists or legends."""
    return boxes + by * np.array([-1.0, -1.0, 1.0, 1.0])


def write_names(
    ax: Axes,
    scene: Scene,
    anchors: Array,
    names: Sequence[str],
    *,
    owners: Sequence[tuple[int, ...]] | None = None,
    outwards: bool = True,
    clear: bool = False,
    close: Sequence[bool] | None = None,
    **style: Any,
) -> list[Annotation | None]:
    """Write names next to their anchors, which are in data units; return the texts, None if without room.

    Parameters
    ----------
    owners : sequence of tuples of int
        The tips of the scene that belong to each name; by default none.
    outwards : bool
        Whether the preferred direction of a name is away from the origin; otherwise it is to the right.
    clear : bool
        Whether a name that would cover dots is not written.
    close : sequence of bool, optional
        Which names are not written if they would need a line to their anchors; by default none.
    style
        Properties of the text, such as ``color``.
    """
    labels = [_label(ax, anchor, name, style) for anchor, name in zip(anchors, names, strict=True)]
    if not labels:
        return []
    ends = to_points(ax, np.asarray(anchors))
    origin = to_points(ax, np.zeros((1, 2)))[0]
    wanted = []
    for i, label in enumerate(labels):
        size = helpers.size_of(ax, label) + 1.0  # half a point around each name
        direction = ends[i] - origin if outwards else np.array([1.0, 0.2])
        own, near = () if owners is None else owners[i], close is not None and close[i]
        wanted.append(Name(ends[i], direction, size, own, clear, near))
    written: list[Annotation | None] = []
    radii = _RADII[_RADII < LEADER] if clear and len(labels) > MOST_LED else _RADII
    for label, end, found in zip(labels, ends, place(wanted, scene, radii), strict=True):
        written.append(None if found is None else label)
        if found is None:
            label.remove()
            continue
        box, distance = found
        label.set_position(tuple((box[:2] + box[2:]) / 2 - end))
        if label.arrow_patch is not None:
            label.arrow_patch.set_visible(distance >= LEADER)
    return written


def _label(ax: Axes, anchor: Array, name: str, style: dict[str, Any]) -> Annotation:
    from matplotlib.patheffects import withStroke

    leader = {"arrowstyle": "-", "linewidth": helpers.line(0.5), "color": helpers.shade(ax, 0.5)}
    leader |= {"shrinkA": 1, "shrinkB": 0}
    around = [withStroke(linewidth=2, foreground=tuple(helpers.paper(ax)), alpha=0.8)]
    style = {"fontsize": "small", "color": helpers.ink(ax), "zorder": 6, **style}
    middle: dict[str, Any] = {"ha": "center", "va": "center", "arrowprops": leader, "path_effects": around}
    label = helpers.write(ax, name, anchor.tolist(), **middle, **style)
    label.set_in_layout(False)
    if label.arrow_patch is not None:
        label.arrow_patch.set_visible(False)
    return label


# --- geometry -----------------------------------------------------------------------------------


def distances(boxes: Array, points: Array) -> Array:
    """Return the distance of each point from each box, (b, q); 0 for points inside."""
    low, high = boxes[:, None, :2], boxes[:, None, 2:]
    gap = np.maximum(np.maximum(low - points, points - high), 0.0)
    return np.asarray(np.hypot(gap[..., 0], gap[..., 1]))


def touching(boxes: Array, others: Array) -> NDArray[np.bool_]:
    """Return a mask of the boxes that overlap others, (b, o)."""
    apart = (boxes[:, None, :2] >= others[None, :, 2:]) | (boxes[:, None, 2:] <= others[None, :, :2])
    return np.asarray(~np.any(apart, axis=2))


def crossing(boxes: Array, segments: Array) -> NDArray[np.bool_]:
    """Return a mask of the boxes that segments intersect, (b, s), by Liang and Barsky's clipping."""
    start, step = segments[None, :, 0], (segments[:, 1] - segments[:, 0])[None]
    with np.errstate(divide="ignore", invalid="ignore"):
        first = (boxes[:, None, :2] - start) / step
        last = (boxes[:, None, 2:] - start) / step
    enter, leave = np.minimum(first, last), np.maximum(first, last)
    still = np.broadcast_to(step == 0, enter.shape)
    inside = (boxes[:, None, :2] <= start) & (start <= boxes[:, None, 2:])
    enter = np.where(still, np.where(inside, -np.inf, np.inf), enter)
    leave = np.where(still, np.where(inside, np.inf, -np.inf), leave)
    return np.asarray(np.maximum(enter.max(axis=2), 0.0) <= np.minimum(leave.min(axis=2), 1.0))


def meeting(lines: Array, segments: Array) -> NDArray[np.bool_]:
    """Return a mask of the lines that cross segments, (l, s)."""

    def side(start: Array, end: Array, point: Array) -> Array:
        step, to = end - start, point - start
        return np.asarray(np.sign(step[..., 0] * to[..., 1] - step[..., 1] * to[..., 0]))

    a, b = lines[:, None, 0], lines[:, None, 1]
    c, d = segments[None, :, 0], segments[None, :, 1]
    return np.asarray((side(a, b, c) * side(a, b, d) < 0) & (side(c, d, a) * side(c, d, b) < 0))


def _count(boxes: Array, dots: Array) -> NDArray[np.intp]:
    """Return the number of dots in each box."""
    inside = (dots >= boxes[:, None, :2]) & (dots <= boxes[:, None, 2:])
    return np.asarray(inside.all(axis=2).sum(axis=1))


# --- lists at the ends of the axes ----------------------------------------------------------------


#: Ends of the axes -> the sign at the start of their lists, and the component.
SIDES = {"right": ("→", 0), "left": ("←", 0), "top": ("↑", 1), "bottom": ("↓", 1)}
#: Length of the longer side of the data in a new figure, in points.
SIDE = 370.0
#: The largest length of names, in characters.
LONGEST_NAME = 40
#: Layouts in the order in which they are tried: largest length of names, font size, whether lists show
#: weights, the largest angle in degrees between their axes and the direction of the lists from the origin.
TRIED = (
    (LONGEST_NAME, "small", True, 50),
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
#: Ticks that are closer, in points, are named in a list.
TICKS_APART = 5.0
#: The space between the outermost points or arrows and the frame, as a share of the extent of the data.
MARGIN = 0.03


@dataclass(frozen=True, eq=False)
class Content:
    """The contents of a biplot: finite points (n, 2) in data units, arrows of BiplotData, component names.

    A list shows at most `most` names, and its last line counts the others; None shows all names. On the half
    axes `at_ticks` ("right", "left", "top", "bottom") variables are named at their ticks and not in a list.
    """

    points: Array
    arrows: pd.DataFrame
    components: tuple[str, str]
    most: int | None = None
    at_ticks: frozenset[str] = frozenset()

    @cached_property
    def tips(self) -> Array:
        return self.arrows[["x", "y"]].to_numpy(dtype=float)

    @cached_property
    def limits(self) -> tuple[Array, Array]:
        """Lower and upper limits of points and arrows, with a margin."""
        everything = np.vstack([self.points, self.tips, np.zeros((1, 2))])
        low, high = everything.min(axis=0), everything.max(axis=0)
        margin = MARGIN * (high - low).max()
        return low - margin, high + margin

    @cached_property
    def lists(self) -> dict[str, NDArray[np.intp]]:
        """The arrows of each list, the largest first. A single arrow on a half axis needs no list."""
        sides = self.arrows["side"].to_numpy()
        found = {side: np.flatnonzero(sides == side) for side in SIDES if side not in self.at_ticks}
        return {side: here for side, here in found.items() if len(here) > 1}

    @cached_property
    def named(self) -> list[int]:
        """The arrows that are named at their tips."""
        listed = {i for here in self.lists.values() for i in here.tolist()}
        return [i for i in range(len(self.arrows)) if i not in listed]

    @cached_property
    def at_tick(self) -> NDArray[np.bool_]:
        """A mask of the arrows that share an axis with others and are named at their ticks."""
        sides = self.arrows["side"]
        return np.asarray(sides.isin(self.at_ticks) & sides.duplicated(keep=False), dtype=bool)

    def labels(self, limit: int) -> list[str]:
        """Return unique names of at most `limit` characters."""
        return short_names(list(self.arrows.index), limit, positions=self.arrows["position"].tolist())

    def list_lines(self, side: str, labels: list[str], weighted: bool = True) -> list[str]:
        """Return the lines of a list: the component, then names with or without weights, at most `most`."""
        sign, component = SIDES[side]
        weights = self.arrows["weight"].to_numpy(dtype=float)
        texts = [("+" if weight > 0 else "") + helpers.value_text(weight) for weight in weights.tolist()]
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
    best = _best(content, room, probe, FILLED[own], None if legend is None else helpers.size_of(ax, legend))
    if write_legend is not None and legend is not None:
        if best.rank[:2] == (0, int(20 * FILLED[own])):
            legend.set_loc(tuple(best.boxes["legend"][:2].tolist()))
        else:
            width = 72 * helpers.figure_of(ax).get_size_inches()[0]
            columns = max(int(1.2 * width / helpers.size_of(ax, legend)[0]), 1)
            while helpers.size_of(ax, write_legend(columns))[0] > width and columns > 1:
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
        return np.asarray(wide * (helpers.size_of_text() * SIDE / wide.max()) + 2 * GAP)
    ax.set_aspect("auto")
    helpers.run_layout(ax)
    room = helpers.size_of(ax)
    unit = float(((room - 2 * GAP) / extent).min())
    return np.minimum(room, np.maximum(extent / FILLED[own], 0.7 * extent.max()) * unit + 2 * GAP)


def sides_with_room(content: Content, room: Array) -> frozenset[str]:
    """Return the half axes whose ticks are far enough apart for a name at each, if the data fill `room`."""
    low, high = content.limits
    unit = float(((room - 2 * GAP) / np.where(high > low, high - low, 1.0)).min())
    sides = content.arrows["side"].to_numpy()
    apart = {side: np.diff(np.sort(np.hypot(*content.tips[sides == side].T))) * unit for side in SIDES}
    return frozenset(side for side, gaps in apart.items() if len(gaps) and gaps.min() >= TICKS_APART)


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
                Name(tips[i], tips[i] - zero, size, (i,), close=bool(content.at_tick[i]))
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
    return helpers.size_of(cast("Axes", probe.axes), probe)


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
    helpers.run_layout(ax)


def resize(ax: Axes, size: Array) -> None:
    """Set the size of the figure so that the axes have this size."""
    figure = helpers.figure_of(ax)
    for _ in range(2):
        ax.set_aspect("auto")
        helpers.run_layout(ax)
        missing = size - helpers.size_of(ax)
        if np.abs(missing).max() < 1.0:
            break
        figure.set_size_inches(*np.maximum(figure.get_size_inches() + missing / 72, 2.0).tolist())


def _write_list(ax: Axes, text: str, box: Array, fontsize: str) -> Text:
    """Write a list, anchored at its corner closest to the edges, so that it stays inside smaller axes."""
    right, top = (box[:2] + box[2:]) / 2 > 0.5
    style: dict[str, Any] = {"transform": ax.transAxes, "parse_math": False, "zorder": 6, "gid": "stack"}
    style |= {"ha": "right" if right else "left", "va": "top" if top else "bottom"}
    style |= {"multialignment": "left", "fontsize": fontsize, "color": helpers.ink(ax)}
    written = ax.text(box[2] if right else box[0], box[3] if top else box[1], text, **style)
    written.set_in_layout(False)
    return written
