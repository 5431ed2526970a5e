"""Names beside points and at the tips of arrows, placed whenever the figure is drawn."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

import numpy as np
from matplotlib import patheffects
from matplotlib.artist import Artist
from matplotlib.text import Text
from matplotlib.transforms import Bbox, IdentityTransform
from numpy.typing import NDArray

from spcastat.plots import drawing
from spcastat.plots.frame import MARK, edge_of, limits_of, rows_outside
from spcastat.plots.texts import BOLD, MeasuredText, width_of

if TYPE_CHECKING:
    from matplotlib.axes import Axes

#: Directions from a point to its name that are tried, and turns from the direction of an arrow, in radians.
NAME_DIRECTIONS = np.arange(8) * np.pi / 4
ARROW_TURNS = np.array([0.0, *(turn * side for turn in (0.4, 0.8, 1.2, 1.6, 2.0) for side in (1.0, -1.0))])
#: The same for names of rows, in halves of the width and height of a name: beside, above and below the point,
#: not over its side.
ROW_DIRECTIONS = np.array(
    [
        *((1.0, 0.0), (0.8, 1.0), (0.0, 1.0), (-0.8, 1.0)),
        *((-1.0, 0.0), (-0.8, -1.0), (0.0, -1.0), (0.8, -1.0)),
        *((0.4, 1.0), (-0.4, 1.0), (-0.4, -1.0), (0.4, -1.0)),
    ]
)
#: Distances from a point to its name that are tried, in points.
DISTANCES = (2.5, 6.0)
#: Distances from a tip to a name at the end of a leader line, where there is no room beside the tip, in
#: points, and turns from the direction of the arrow, in radians.
LEADER_DISTANCES = (10.0, 14.0, 20.0, 28.0, 38.0, 50.0)
#: The longest leader line, in font sizes: a longer one looks like an arrow.
LONGEST_LEADER = 3.0
LEADER_TURNS = np.array([0.0, *(turn * side for turn in np.arange(0.3, 2.0, 0.3) for side in (1.0, -1.0))])
#: Width of a leader line, and its distance from the tip, in points; it is fainter than an arrow.
LEADER_WIDTH, LEADER_GAP, LEADER_ALPHA = 0.5, 1.0, 0.6
#: Places along a leader line where it is looked whether it crosses a name.
LEADER_STEPS = np.linspace(0.0, 1.0, 20)[:, None]
#: What a covered piece of an arrow costs; a covered point costs 1.
SHAFT_COST = 8.0
#: What a name that a line across the axes crosses costs.
CROSSED_COST = 5.0
#: Length of a piece of an arrow, in points.
PIECE = 4.0
#: A name that covers more points is left out: one that the caller gives, and one of an arrow or of a point
#: that must be named.
ROW_COVER, TIP_COVER = 3.0, 7.0
#: What further directions and distances cost, in points covered.
TURN_COST, DISTANCE_COST = 0.2, 0.1
#: How far a name and its leader line are from the tips of other arrows, and how much farther than from its
#: own tip a name without a leader line is, in points.
FROM_TIPS, FARTHER = 4.0, 1.0
#: If another tip is nearer than that, the leader line keeps this share of its distance, unless the tips are
#: so near in points that they look like one.
LEADER_SHARE, SAME_TIP = 0.4, 2.0
#: What a note says of the number of names.
NAME_COUNT = re.compile(r"(?<=Names:\s)[\d,]+")
#: What a note says of the number of large marks with names.
NAMED_MARKS = re.compile(r"[\d,]+(?=\sof\s[\d,]+\snamed)")
#: A name of a large mark may cover any number of points.
MARK_COVER = 1e9
#: Radius of a dot, in points, and how far the name of a row is from its middle at least.
DOT_RADIUS, FROM_MIDDLE = 2.0, 0.5
#: Width of the lines around letters, in points; so far names stay from the frame, which they would hide.
HALO = 1.8
#: Height of a name, in font sizes.
NAME_HEIGHT = 1.15


@dataclass(frozen=True)
class Name:
    """A text beside a position in data units; beside the edge of the axes if the position is outside.

    `at_tip`: the position is the tip of an arrow from the origin. `of_row`: the position is that of a row;
    the name hides the middle of no point and is nearest to its own. `most_covered`: how many points it may
    cover. `radius`: that of a large mark at the position, in points. `leader`: a name without room beside
    its tip may stand farther away, at the end of a line. `edge_text`: the text for a position outside of the
    axes. `counted`: the note says how many of these names are written.
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
    counted: bool = False


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
        Where a vertical and a horizontal line across the axes are that names should not cross; NaN for none.

    Attributes
    ----------
    names : list of Name
        Those that come first are placed first.
    written : list of Name
        Those that were drawn last.
    boxes : list of Bbox
        Their boxes, in pixels.
    note : Text, optional
        It is told how many names are written; see `NAME_COUNT`.
    far_dots : ndarray of shape (m, 2)
        Points that are triangles at the edge of the axes if they are outside.
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
        self.note: Text | None = None
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
        """Return None: names are within the axes."""
        return None

    def draw(self, renderer: Any) -> None:
        """Place the names and draw those that have room."""
        self.written, self.boxes = [], []
        if not self.get_visible():
            return
        scene = _Scene(self)
        for name in map(scene.named_at_edge, self.names):
            box, leader = scene.place(name)
            if box is None:
                continue
            scene.taken.append(box)
            self.written.append(name)
            self.boxes.append(Bbox(box))
            if leader is not None:
                scene.leaders.append(leader)
                style = {"color": name.colour, "linewidth": LEADER_WIDTH, "alpha": LEADER_ALPHA}
                drawing.pixel_line(self.axes, *leader.T, **style).draw(renderer)
            self._text(name, box.mean(axis=0)).draw(renderer)
        if self.note is not None:
            count = sum(name.counted for name in self.written)
            marks = sum(name.radius > 0 for name in self.written)
            text = NAMED_MARKS.sub(f"{marks:,}", self.note.get_text())
            self.note.set_text(NAME_COUNT.sub(f"{count:,}", text))

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


class _Scene:
    """What names should not cover, in pixels; boxes are arrays [[left, low], [right, high]]."""

    def __init__(self, names: Names) -> None:
        ax: Any = names.axes
        self.axes, self.limits = ax, limits_of(ax)
        self.pixels = drawing.figure_of(ax).dpi / 72.0
        self.size = names.size
        self.to_pixels = ax.transData.transform
        frame = ax.get_window_extent()
        edge = HALO * self.pixels
        self.frame = np.array([[frame.x0 + edge, frame.y0 + edge], [frame.x1 - edge, frame.y1 - edge]])
        self.dots = self._of(names.dots)
        self.origin = self.to_pixels((0.0, 0.0))
        self.tips = self._of(names.tips)
        self.crossing_lines = np.asarray(self.to_pixels(names.crossing_lines))
        self.pieces = self._pieces(self.tips)
        half_mark = MARK / 2.0 * self.pixels * np.array([[-1.0], [1.0]])
        triangles = edge_of(ax, names.far_dots[rows_outside(names.far_dots, *self.limits)])
        self.taken: list[NDArray[np.float64]] = [triangle + half_mark for triangle in triangles]
        self.marks = np.vstack([self.tips, self.dots, triangles])
        with_mark = [name for name in names.names if name.radius > 0]
        self.large_marks = self._of(np.array([name.position for name in with_mark]))
        for name, middle in zip(with_mark, self.large_marks, strict=True):
            self.taken.append(middle + name.radius * self.pixels * np.array([[-1.0], [1.0]]))
        self.leaders: list[NDArray[np.float64]] = []

    def _of(self, xy: NDArray[np.float64]) -> NDArray[np.float64]:
        return np.asarray(self.to_pixels(xy)) if len(xy) else np.empty((0, 2))

    def _pieces(self, tips: NDArray[np.float64]) -> NDArray[np.float64]:
        """Return points along the arrows, PIECE points apart."""
        along = [np.empty((0, 2))]
        for shaft in tips - self.origin:
            length = float(np.hypot(*shaft))
            steps = np.arange(0.1, 1.0, min(PIECE * self.pixels / max(length, 1e-9), 0.5))
            along.append(self.origin + steps[:, None] * shaft)
        return np.vstack(along)

    def named_at_edge(self, name: Name) -> Name:
        """Return the name with the text for its position within or outside of the axes."""
        return replace(name, text=name.edge_text) if name.edge_text and self._is_outside(name) else name

    def _is_outside(self, name: Name) -> bool:
        """Return whether the position of a name is outside of the axes."""
        return bool(rows_outside(name.position[None], *self.limits).any())

    def place(self, name: Name) -> tuple[NDArray[np.float64] | None, NDArray[np.float64] | None]:
        """Return the box of a name that covers least, and the ends of its leader line, or None without one.

        The box is None if each covers too much or could belong to another tip or point.
        """
        anchor = self.to_pixels(name.position)
        if self._is_outside(name):
            anchor = edge_of(self.axes, name.position[None])[0]
            name = replace(name, radius=MARK / 2.0)
        rivals = self._rivals(name, anchor)
        angles = self._outwards(anchor) + ARROW_TURNS if name.at_tip else NAME_DIRECTIONS
        directions = ROW_DIRECTIONS if name.of_row else _directions(angles)
        for box, _ in self._candidate_boxes(name, anchor, directions, DISTANCES):
            if not self._is_ambiguous(name, box, anchor, rivals):
                return box, None
        if not name.leader:
            return None, None
        directions = _directions(self._outwards(anchor) + LEADER_TURNS)
        distances = [distance for distance in LEADER_DISTANCES if distance <= LONGEST_LEADER * self.size]
        for box, towards in self._candidate_boxes(name, anchor, directions, distances):
            line = np.array([anchor + LEADER_GAP * self.pixels * towards, np.clip(anchor, *box)])
            if self._distance(box, rivals) >= FROM_TIPS and self._is_free(line, anchor, rivals):
                return box, line
        return None, None

    def _candidate_boxes(
        self,
        name: Name,
        anchor: NDArray[np.float64],
        directions: NDArray[np.float64],
        distances: Sequence[float],
    ) -> list[tuple[NDArray[np.float64], NDArray[np.float64]]]:
        """Return boxes that a name may have and their directions from the anchor, the cheapest first."""
        boxes = []
        width = width_of(name.text, self.size) * (BOLD if name.weight == "bold" else 1.0) + 2.0
        half = np.array([width, NAME_HEIGHT * self.size]) * self.pixels / 2.0
        for rank, towards in enumerate(directions):
            for distance in distances:
                middle = anchor + towards * (half + (name.radius + distance) * self.pixels)
                box = np.array([middle - half, middle + half])
                if name.of_row and self._hides_middle(box):
                    continue
                if (covered := self._covered(box)) <= name.most_covered:
                    boxes.append((covered + TURN_COST * rank + DISTANCE_COST * distance, box, towards))
        return [(box, towards) for _, box, towards in sorted(boxes, key=lambda one: one[0])]

    def _is_ambiguous(
        self,
        name: Name,
        box: NDArray[np.float64],
        anchor: NDArray[np.float64],
        rivals: NDArray[np.float64],
    ) -> bool:
        """Return whether a name in a box could belong to a rival instead of what is at the anchor."""
        if not (name.at_tip or name.of_row or name.radius > 0):
            return False
        least = self._distance(box, anchor[None]) + FARTHER
        return self._distance(box, rivals) < (max(least, FROM_TIPS) if name.at_tip else least)

    def _rivals(self, name: Name, anchor: NDArray[np.float64]) -> NDArray[np.float64]:
        """Return what a name beside the anchor could also belong to: other tips, and points if it is a row's.

        Points that look like one with that at the anchor are not among them.
        """
        if name.of_row:
            return self.marks[np.hypot(*(self.marks - anchor).T) > SAME_TIP * self.pixels]
        marks = self.large_marks if name.radius > 0 else self.tips
        return marks[(marks != anchor).any(axis=1)]

    def _distance(self, box: NDArray[np.float64], points: NDArray[np.float64]) -> float:
        """Return the distance in points of a box from the nearest of points."""
        distances = np.hypot(*(points - np.clip(points, *box)).T) / self.pixels
        return float(distances.min(initial=np.inf))

    def _outwards(self, anchor: NDArray[np.float64]) -> float:
        """Return the direction from the origin to a tip, in radians."""
        x, y = anchor - self.origin
        return float(np.arctan2(y, x))

    def _is_free(
        self, line: NDArray[np.float64], anchor: NDArray[np.float64], rivals: NDArray[np.float64]
    ) -> bool:
        """Return whether a line to a name crosses no name or other line, and passes by no rival."""
        along = line[0] + LEADER_STEPS * (line[1] - line[0])
        lines = [*self.leaders, *(np.array([self.origin, tip]) for tip in self.tips)]
        away = np.hypot(*(rivals - anchor).T) / self.pixels
        least_distances = np.minimum(LEADER_SHARE * away, FROM_TIPS) * (away > SAME_TIP)
        return not (
            any(_count(along, box) for box in self.taken)
            or any(_cross(line, other_line) for other_line in lines)
            or (np.hypot(*np.moveaxis(along[:, None] - rivals, -1, 0)) < least_distances * self.pixels).any()
        )

    def _hides_middle(self, box: NDArray[np.float64]) -> bool:
        """Return whether a box covers about half of a point or more."""
        return _count(self.dots, box + FROM_MIDDLE * self.pixels * np.array([[-1.0], [1.0]])) > 0

    def _covered(self, box: NDArray[np.float64]) -> float:
        """Return what a box covers; infinite if it leaves the frame or touches another name."""
        if (box[0] < self.frame[0]).any() or (box[1] > self.frame[1]).any():
            return np.inf
        if any((box[0] < name_box[1]).all() and (box[1] > name_box[0]).all() for name_box in self.taken):
            return np.inf
        if any(_count(ends[0] + LEADER_STEPS * (ends[1] - ends[0]), box) for ends in self.leaders):
            return np.inf
        dots = _count(self.dots, box + DOT_RADIUS * self.pixels * np.array([[-1.0], [1.0]]))
        crossings = float(((self.crossing_lines > box[0]) & (self.crossing_lines < box[1])).sum())
        return dots + SHAFT_COST * _count(self.pieces, box) + CROSSED_COST * crossings


def _directions(angles: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return vectors of length one, as rows."""
    return np.column_stack([np.cos(angles), np.sin(angles)])


def _count(points: NDArray[np.float64], box: NDArray[np.float64]) -> float:
    """Return how many points are within a box."""
    return float(((points > box[0]) & (points < box[1])).all(axis=1).sum())


def _cross(first_line: NDArray[np.float64], second_line: NDArray[np.float64]) -> bool:
    """Return whether two line segments cross."""

    def sides(line: NDArray[np.float64], points: NDArray[np.float64]) -> NDArray[np.float64]:
        (x, y), (dx, dy) = line[0], line[1] - line[0]
        return np.sign(dx * (points[:, 1] - y) - dy * (points[:, 0] - x))

    crossed = sides(first_line, second_line).prod(), sides(second_line, first_line).prod()
    return bool(max(crossed) < 0)
