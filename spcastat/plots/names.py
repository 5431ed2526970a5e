"""Names beside points and at the tips of arrows, placed whenever the figure is drawn."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

import numpy as np
from matplotlib import patheffects
from matplotlib.artist import Artist
from matplotlib.text import Text
from matplotlib.transforms import Bbox, IdentityTransform
from numpy.typing import NDArray

from spcastat.plots import drawing
from spcastat.plots.frame import MARK, View
from spcastat.plots.texts import BOLD, MeasuredText, width_of

if TYPE_CHECKING:
    from matplotlib.axes import Axes

#: Directions from a point to its name that are tried, and angles between an arrow and its name, in radians.
NAME_DIRECTIONS = np.arange(8) * np.pi / 4
ARROW_TURNS = np.array([0.0, *(turn * side for turn in (0.4, 0.8, 1.2, 1.6, 2.0) for side in (1.0, -1.0))])
#: Distances from a point to its name that are tried, in points.
DISTANCES = (2.5, 6.0)
#: Lengths of leader lines, in font sizes, for names without room beside their position, and the angles
#: between an arrow and its leader line, in radians.
LEADER_LENGTHS = np.array([1.2, 1.7, 2.4, 3.2, 4.2, 5.2, 6.2])
LEADER_STEP = 0.17
LEADER_TURNS = LEADER_STEP * np.arange(-10, 11)
#: A leader line ends at the side of a name if the cosine of its angle with the horizontal is larger than
#: this, else above or below the name.
BESIDE = 0.35
#: The largest number of arrows that a leader line may cross.
MOST_CROSSED = 2
#: The largest number of written names that may move to make room for another name, if fewer than MANY_NAMES
#: names are written.
MOST_MOVED, MANY_NAMES = 3, 40
#: Only points within this distance of the spots of a name, in points, are considered.
NEIGHBOURHOOD = 20.0
#: Two opposite corners of a box relative to its middle, in half sides.
CORNERS = np.array([[-1.0, -1.0], [1.0, 1.0]])
#: Width of a leader line and its distance from the tip, in points, and its opacity.
LEADER_WIDTH, LEADER_GAP, LEADER_ALPHA = 0.5, 1.0, 0.6
#: Places along a leader line, as shares of its length, at which its distance from other tips is measured.
LEADER_STEPS = np.linspace(0.0, 1.0, 20)[:, None]
#: Cost of a covered piece of an arrow; a covered point costs 1.
SHAFT_COST = 8.0
#: Length of a piece of an arrow, in points.
PIECE = 4.0
#: The largest number of points that a name may cover, where a piece of an arrow counts as SHAFT_COST points:
#: for row labels given by the caller, and for arrows and points that should be named.
ROW_COVER, TIP_COVER = 3.0, 7.0
#: Cost of each less preferred direction, and of each point of distance, in points covered.
TURN_COST, DISTANCE_COST = 0.2, 0.1
#: Smallest distance of a name and its leader line from the tips of other arrows, and by how much this
#: distance exceeds the distance from the own tip for a name without a leader line, in points.
FROM_TIPS, FARTHER = 4.0, 1.0
#: If another tip is nearer to the own tip, the leader line may come as near to it as this share of their
#: distance. Tips within SAME_TIP points of each other look like one and are not kept apart.
LEADER_SHARE, SAME_TIP = 0.4, 2.0
#: A name of a large mark may cover any number of points.
MARK_COVER = 1e9
#: Radius of a dot, and the smallest distance of the name of a row from the middle of a dot, in points.
DOT_RADIUS, FROM_MIDDLE = 2.0, 0.5
#: Width of the halo around letters, in points, and the smallest distance of names from the frame.
HALO = 1.8
#: Height of a name, in font sizes.
NAME_HEIGHT = 1.15


@dataclass(frozen=True)
class Name:
    """A text beside a position in data units; beside the edge of the axes if the position is outside.

    `at_tip`: whether the position is the tip of an arrow from the origin. `of_row`: whether it is the point
    of a row; the name then hides the middle of no point and is nearest to its own point. `most_covered`: the
    largest number of points that the name may cover. `radius`: the radius of a large mark at the position,
    in points. `leader`: whether a name without room beside its position may be at the end of a leader line.
    `edge_text`: the text if the position is outside the axes. `short_text`: the text if there is no room for
    `text`, "" to leave the name out. `counted`: whether the caption counts the name
    among the written names of rows. `variable`: the position in the data of the variable of an arrow.
    """

    position: NDArray[np.float64]
    text: str
    colour: Any
    at_tip: bool = False
    of_row: bool = False
    leader: bool = False
    most_covered: float = 0.0
    weight: str = "normal"
    radius: float = 0.0
    edge_text: str = ""
    short_text: str = ""
    counted: bool = False
    variable: int | None = None


class Names(Artist):
    """Names within the axes; a name without room is left out.

    Parameters
    ----------
    ax : Axes
    size : float
        Size of the text in points.
    dots : ndarray of shape (n, 2)
        Points that names should not cover, in data units.
    tips : ndarray of shape (q, 2), optional
        Tips of the arrows that names should not cross.
    crossing_lines : (float, float), optional
        The x of a vertical and the y of a horizontal line across the axes; NaN for none. A name is on the
        same side of the lines as its position.

    Attributes
    ----------
    names : list of Name
        The names, in the order in which they are placed.
    written : list of Name
        The names that were written at the last draw.
    boxes : list of Bbox
        The boxes of the written names, in pixels.
    placements : list of Placement, optional
        The names and their spots; by default names are placed whenever the figure is drawn.
    far_dots : ndarray of shape (m, 2)
        Points that are drawn as triangles at the edge if they are outside the axes.
    """

    def __init__(
        self,
        ax: Axes,
        size: float,
        dots: NDArray[Any],
        tips: NDArray[Any] | None = None,
        crossing_lines: tuple[float, float] = (np.nan, np.nan),
    ) -> None:
        super().__init__()
        self.size = size
        self.crossing_lines = crossing_lines
        self.dots = dots[np.isfinite(dots).all(axis=1)]
        self.tips = np.empty((0, 2)) if tips is None else tips
        self.names: list[Name] = []
        self.written: list[Name] = []
        self.boxes: list[Bbox] = []
        self.placements: list[Placement] | None = None
        self.far_dots = np.empty((0, 2))
        self.halo = tuple(drawing.paper(ax))
        self.set_gid("names")
        ax.add_artist(self)
        self.set_zorder(6)

    def add(self, position: Any, text: str, colour: Any, **options: Any) -> None:
        """Add a name; see `Name` for the options."""
        at = np.asarray(position, dtype=float)
        if text and np.isfinite(at).all():
            self.names.append(Name(at, text, colour, **options))

    def get_tightbbox(self, renderer: Any = None) -> Bbox | None:
        """Return None, since names are within the axes."""
        return None

    def placed_in(self, view: View) -> list[Placement]:
        """Return the placements of the names that have room in axes with this view."""
        scene = _Scene(self, view)
        left_out = [name for name in self.names if not scene.place(name)]
        for name in left_out:
            if name.short_text:
                scene.place(replace(name, text=name.short_text))
        return scene.placements

    def draw(self, renderer: Any) -> None:
        """Draw the names that have room."""
        self.written, self.boxes = [], []
        if not self.get_visible():
            return
        ax: Any = self.axes
        corner, pixels = ax.get_window_extent().p0, drawing.figure_of(ax).dpi / 72.0
        for placement in self.placed_in(View.of(ax)) if self.placements is None else self.placements:
            name, (start, end) = placement.name, corner + pixels * placement.line
            box = corner + pixels * placement.box
            self.written.append(name)
            self.boxes.append(Bbox(box))
            if np.isfinite(start).all():
                style = {"color": name.colour, "linewidth": LEADER_WIDTH, "alpha": LEADER_ALPHA}
                drawing.pixel_line(ax, *np.transpose([start, end]), **style).draw(renderer)
            self._text(name, box.mean(axis=0)).draw(renderer)

    def _text(self, name: Name, middle: NDArray[np.float64]) -> Text:
        """Return a text around a position in pixels, with a halo in the colour of the background."""
        text = MeasuredText(
            middle[0],
            middle[1],
            name.text,
            fontsize=self.size,
            color=name.colour,
            ha="center",
            va="center",
            fontweight=name.weight,
            parse_math=False,
            transform=IdentityTransform(),
        )
        text.set_path_effects([patheffects.withStroke(linewidth=HALO, foreground=self.halo)])
        text.set_figure(drawing.figure_of(self.axes))
        return text


@dataclass(frozen=True, eq=False)
class _Spots:
    """Possible spots of a name, the best first: boxes [[left, low], [right, high]] and lines, in points.

    A leader line runs from near the position to the name; it is NaN for a spot without a leader line.
    """

    boxes: NDArray[np.float64]
    lines: NDArray[np.float64]

    def touch(self, box: NDArray[np.float64], line: NDArray[np.float64]) -> NDArray[np.bool_]:
        """Return which spots overlap or cross a name with this box and leader line."""
        overlap = ((self.boxes[:, 0] < box[1]) & (self.boxes[:, 1] > box[0])).all(axis=1)
        through = _enter(self.lines, box[None]) | _enter(line[None], self.boxes)
        return np.asarray(overlap | through | _cross(self.lines, line[None]))

    def followed_by(self, worse_spots: _Spots) -> _Spots:
        """Return these spots followed by worse spots."""
        return _Spots(np.vstack([self.boxes, worse_spots.boxes]), np.vstack([self.lines, worse_spots.lines]))

    def only(self, kept: NDArray[Any]) -> _Spots:
        """Return some of the spots: by a mask, or in the order of their numbers."""
        return _Spots(self.boxes[kept], self.lines[kept])


@dataclass(eq=False)
class Placement:
    """A name, its possible spots in points from the lower left corner of the axes, and the spot chosen."""

    name: Name
    spots: _Spots
    number: int

    @property
    def box(self) -> NDArray[np.float64]:
        return np.asarray(self.spots.boxes[self.number])

    @property
    def line(self) -> NDArray[np.float64]:
        return np.asarray(self.spots.lines[self.number])


class _Scene:
    """Everything that names should not cover, in points from the lower left corner of the axes."""

    def __init__(self, names: Names, view: View) -> None:
        self.view, self.size = view, names.size
        self.frame = np.array([np.full(2, HALO), view.size - HALO])
        self.dots = self._of(names.dots)
        (self.origin,) = self._of(np.zeros((1, 2)))
        self.tips = self._of(names.tips)
        self.shafts = np.stack([np.broadcast_to(self.origin, self.tips.shape), self.tips], axis=1)
        (self.crossing_lines,) = self._of(np.array([names.crossing_lines]))
        self.pieces = self._pieces(self.tips)
        triangles = view.edge(names.far_dots[view.is_outside(names.far_dots)])
        self.marks = np.vstack([self.tips, self.dots, triangles])
        with_mark = [name for name in names.names if name.radius > 0]
        self.large_marks = self._of(np.array([name.position for name in with_mark]))
        radii = [MARK / 2.0] * len(triangles) + [name.radius for name in with_mark]
        middles = np.vstack([triangles, self.large_marks])
        self.obstacles = middles[:, None] + np.array(radii)[:, None, None] * CORNERS
        self.placements: list[Placement] = []
        self.touched: dict[tuple[_Spots, Placement, int], NDArray[np.bool_]] = {}

    def _of(self, xy: NDArray[np.float64]) -> NDArray[np.float64]:
        return self.view.to_points(xy) if len(xy) else np.empty((0, 2))

    def _pieces(self, tips: NDArray[np.float64]) -> NDArray[np.float64]:
        """Return points along each arrow, at most PIECE points apart."""
        along = [np.empty((0, 2))]
        for shaft in tips - self.origin:
            length = float(np.hypot(*shaft))
            steps = np.arange(0.1, 1.0, min(PIECE / max(length, 1e-9), 0.5))
            along.append(self.origin + steps[:, None] * shaft)
        return np.vstack(along)

    def place(self, name: Name) -> bool:
        """Write a name in its best free spot, or in a spot that other names can leave; return whether it is.

        The name of a position outside the axes is written without `edge_text` if there is no room for it.
        """
        if bool(self.view.is_outside(name.position[None]).any()):
            anchor, name = self.view.edge(name.position[None])[0], replace(name, radius=MARK / 2.0)
            if name.edge_text and self._place_at(replace(name, text=name.edge_text), anchor):
                return True
            return self._place_at(name, anchor)
        return self._place_at(name, self._of(name.position[None])[0])

    def _place_at(self, name: Name, anchor: NDArray[np.float64]) -> bool:
        """Write a name beside an anchor, and return whether it has room there."""
        spots = self._spots_beside(name, anchor)
        if name.leader and (name.at_tip or self._overlaps(spots).any(axis=0).all()):
            spots = spots.followed_by(self._spots_with_leader(name, anchor))
        hidden_middles = _counts(self.dots, spots.boxes, FROM_MIDDLE)  # only if no other spot is free
        spots = spots.only(np.argsort(hidden_middles > 0, kind="stable"))
        return self._place_among(Placement(name, spots, 0))

    def _place_among(self, newcomer: Placement) -> bool:
        """Write a name in its best free spot, or in one that a few names can leave, if there is one."""
        placements, overlaps = list(self.placements), self._overlaps(newcomer.spots)
        counts = overlaps.sum(axis=0)
        most_moved = MOST_MOVED if len(placements) < MANY_NAMES else 0
        for number in np.argsort(counts, kind="stable"):
            if counts[number] > most_moved:
                break
            newcomer.number = int(number)
            neighbours = [
                name for name, is_touched in zip(placements, overlaps[:, number], strict=True) if is_touched
            ]
            numbers = [name.number for name in neighbours]
            self.placements = [*(name for name in placements if name not in neighbours), newcomer]
            if all(self._move(name) for name in neighbours):
                return True
            for name, former_number in zip(neighbours, numbers, strict=True):
                name.number = former_number
        self.placements = placements
        return False

    def _move(self, name: Placement) -> bool:
        """Write a name in its best free spot; return whether there is one."""
        overlaps = self._overlaps(name.spots).any(axis=0)
        if has_spot := not overlaps.all():
            name.number = int(np.argmin(overlaps))
            self.placements.append(name)
        return has_spot

    def _overlaps(self, spots: _Spots) -> NDArray[np.bool_]:
        """Return which spots each written name touches: a row for each name, a column for each spot."""
        rows = [self._touched(spots, other) for other in self.placements]
        return np.array(rows, dtype=bool).reshape(len(rows), len(spots.boxes))

    def _touched(self, spots: _Spots, other: Placement) -> NDArray[np.bool_]:
        """Return which spots a written name touches; results are cached for names that may move."""
        key = spots, other, other.number
        if key not in self.touched:
            self.touched[key] = spots.touch(other.box, other.line)
        return self.touched[key]

    def _spots_beside(self, name: Name, anchor: NDArray[np.float64]) -> _Spots:
        """Return the spots of a name beside its position, where it is clear to what it belongs."""
        angles = self._outwards(anchor) + ARROW_TURNS if name.at_tip else NAME_DIRECTIONS
        directions = _directions(angles)
        half = self._half(name)
        ranks, distances = _pairs(np.arange(len(directions)), DISTANCES)
        towards = directions[ranks.astype(int)]
        middles = anchor + towards * (half + (name.radius + distances[:, None]))
        boxes = middles[:, None] + half * CORNERS
        spots = _Spots(boxes, np.full(boxes.shape, np.nan))
        spots = self._ranking(name, spots, TURN_COST * ranks + DISTANCE_COST * distances)
        if not (name.at_tip or name.of_row or name.radius > 0):
            return spots
        clearance = self._distances(spots.boxes, anchor[None]) + FARTHER
        if name.at_tip:
            clearance = np.maximum(clearance, FROM_TIPS)
        return spots.only(self._distances(spots.boxes, self._rivals(name, anchor)) >= clearance)

    def _spots_with_leader(self, name: Name, anchor: NDArray[np.float64]) -> _Spots:
        """Return the spots of a name at the end of a leader line that keeps clear of other marks."""
        turns, lengths = _pairs(LEADER_TURNS, LEADER_LENGTHS * self.size)
        inwards = np.pi * bool(name.edge_text)  # from the edge of the axes
        towards = _directions(self._outwards(anchor) + inwards + turns)
        ends = anchor + (name.radius + lengths[:, None]) * towards
        is_beside = np.abs(towards[:, :1]) > BESIDE  # the line ends beside the name, not above or below it
        half = self._half(name)
        middles = ends + half * np.where(is_beside, [1.0, 0.0], [0.0, 1.0]) * np.sign(towards)
        starts = anchor + (name.radius + LEADER_GAP) * towards
        spots = _Spots(middles[:, None] + half * CORNERS, np.stack([starts, ends], axis=1))
        spots = self._ranking(name, spots, TURN_COST * np.abs(turns) / LEADER_STEP + DISTANCE_COST * lengths)
        rivals = self._rivals(name, anchor)
        spots = spots.only(self._distances(spots.boxes, rivals) >= FROM_TIPS)
        away = np.hypot(*(rivals - anchor).T)
        is_near = away < name.radius + lengths.max() + FROM_TIPS
        clearance = (np.minimum(LEADER_SHARE * away, FROM_TIPS) * (away > SAME_TIP))[is_near]
        along = _along(spots.lines)[:, :, None] - rivals[is_near]
        spots = spots.only(~(np.hypot(*np.moveaxis(along, -1, 0)) < clearance).any(axis=(1, 2)))
        crossed = sum((_cross(spots.lines, shaft[None]) for shaft in self.shafts), np.zeros(len(spots.boxes)))
        order = np.argsort(crossed, kind="stable")
        return spots.only(order[crossed[order] <= MOST_CROSSED])

    def _half(self, name: Name) -> NDArray[np.float64]:
        """Return half of the width and of the height of a name."""
        width = width_of(name.text, self.size) * (BOLD if name.weight == "bold" else 1.0) + 2.0
        return np.array([width, NAME_HEIGHT * self.size]) / 2.0

    def _ranking(self, name: Name, spots: _Spots, costs: NDArray[np.float64]) -> _Spots:
        """Return the spots within the frame that do not cover too much, the cheapest first."""
        low, high = spots.boxes[:, 0], spots.boxes[:, 1]
        is_inside = (low >= self.frame[0]).all(axis=1) & (high <= self.frame[1]).all(axis=1)
        for obstacle in self.obstacles:
            is_inside &= ~spots.touch(obstacle, np.full((2, 2), np.nan))
        if name.of_row:  # the name hides the middle of no point
            is_inside &= _counts(self.dots, spots.boxes, FROM_MIDDLE) == 0
        sides = np.where(self._of(name.position[None])[0] > self.crossing_lines, 1.0, -1.0)
        is_inside &= ~(sides * (spots.boxes - self.crossing_lines) < HALO).any(axis=(1, 2))
        spots, costs = spots.only(is_inside), costs[is_inside]
        covered = _counts(self.dots, spots.boxes, DOT_RADIUS)
        covered += SHAFT_COST * _counts(self.pieces, spots.boxes)
        order = np.argsort(covered + costs, kind="stable")
        return spots.only(order[covered[order] <= name.most_covered])

    def _rivals(self, name: Name, anchor: NDArray[np.float64]) -> NDArray[np.float64]:
        """Return what a name could also belong to: other marks for a row, else other tips or large marks.

        For a row, marks within SAME_TIP points of the anchor, which look like one with it, are left out.
        """
        if name.of_row:
            return self.marks[np.hypot(*(self.marks - anchor).T) > SAME_TIP]
        marks = self.large_marks if name.radius > 0 else self.tips
        return marks[(marks != anchor).any(axis=1)]

    def _distances(self, boxes: NDArray[np.float64], points: NDArray[np.float64]) -> NDArray[np.float64]:
        """Return the distance in points of each box from the nearest point, inf if no point is near."""
        points = _around(boxes, points, NEIGHBOURHOOD)
        away = points - np.clip(points, boxes[:, None, 0], boxes[:, None, 1])
        return np.asarray(np.hypot(*np.moveaxis(away, -1, 0)).min(axis=1, initial=np.inf))

    def _outwards(self, anchor: NDArray[np.float64]) -> float:
        """Return the direction from the origin to an anchor, in radians."""
        x, y = anchor - self.origin
        return float(np.arctan2(y, x))


def _directions(angles: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return the unit vectors with these angles, as rows."""
    return np.column_stack([np.cos(angles), np.sin(angles)])


def _pairs(first: Any, second: Any) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Return all pairs of a first and a second number, as two arrays."""
    return np.repeat(np.asarray(first, dtype=float), len(second)), np.tile(second, len(first))


def _counts(
    points: NDArray[np.float64], boxes: NDArray[np.float64], space: float = 0.0
) -> NDArray[np.float64]:
    """Return the number of points within each box enlarged by `space` on each side."""
    points = _around(boxes, points, space)
    is_inside = (points > boxes[:, None, 0] - space) & (points < boxes[:, None, 1] + space)
    return np.asarray(is_inside.all(axis=2).sum(axis=1), dtype=float)


def _around(boxes: NDArray[np.float64], points: NDArray[np.float64], space: float) -> NDArray[np.float64]:
    """Return the points within the bounding box of all boxes, enlarged by `space` on each side."""
    if not len(boxes):
        return points[:0]
    low, high = boxes[:, 0].min(axis=0) - space, boxes[:, 1].max(axis=0) + space
    return np.asarray(points[((points >= low) & (points <= high)).all(axis=1)])


def _along(lines: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return equally spaced points along each line."""
    return lines[:, None, 0] + LEADER_STEPS * (lines[:, None, 1] - lines[:, None, 0])


def _enter(lines: NDArray[np.float64], boxes: NDArray[np.float64]) -> NDArray[np.bool_]:
    """Return which lines pass through the box of their row."""
    with np.errstate(divide="ignore", invalid="ignore"):  # lines along an axis, and places without a line
        shares = (boxes - lines[:, :1]) / (lines[:, 1:] - lines[:, :1])  # of each line, at sides of its box
        entry, end = shares.min(axis=1).max(axis=1), shares.max(axis=1).min(axis=1)
        return np.asarray((entry < end) & (entry < 1.0) & (end > 0.0))


def _cross(lines: NDArray[np.float64], other_lines: NDArray[np.float64]) -> NDArray[np.bool_]:
    """Return which lines cross the other line of their row."""

    def on_both_sides(lines: NDArray[np.float64], ends: NDArray[np.float64]) -> NDArray[np.bool_]:
        along = (lines[:, 1] - lines[:, 0])[:, None]
        away = ends - lines[:, None, 0]
        sides = along[..., 0] * away[..., 1] - along[..., 1] * away[..., 0]
        return np.asarray(sides.min(axis=1) * sides.max(axis=1) < 0)

    return on_both_sides(lines, other_lines) & on_both_sides(other_lines, lines)
