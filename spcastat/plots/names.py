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
from spcastat.plots.blocks import BOLD, MeasuredText, width_of
from spcastat.plots.frame import edge_of, limits_of, rows_outside

if TYPE_CHECKING:
    from matplotlib.axes import Axes

#: Directions from a point to its name that are tried, and turns from the direction of an arrow, in radians.
NAME_DIRECTIONS = np.arange(8) * np.pi / 4
ARROW_TURNS = np.array([0.0, 0.4, -0.4, 0.8, -0.8, 1.2, -1.2])
#: Distances from a point to its name that are tried, in points.
DISTANCES = (2.5, 6.0)
#: What a covered piece of an arrow costs; a covered point costs 1.
SHAFT_COST = 3.0
#: Length of a piece of an arrow, in points.
PIECE = 4.0
#: A name that covers more points is left out: one that the caller gives, and one of an arrow or of a point
#: that must be named.
ROW_COVER, TIP_COVER = 3.0, 7.0
#: What further directions and distances cost, in points covered.
TURN_COST, DISTANCE_COST = 0.2, 0.1
#: Radius of a dot, in points.
DOT_RADIUS = 2.0
#: Width of the lines around letters, in points; so far names stay from the frame, which they would hide.
HALO = 1.8
#: Height of a name, in font sizes.
NAME_HEIGHT = 1.15


@dataclass(frozen=True)
class Name:
    """A text beside a position in data units; beside the edge of the axes if the position is outside.

    `at_tip`: the position is the tip of an arrow from the origin. `most_covered`: how many points it may
    cover. `radius`: that of a large mark at the position, in points. `edge_text`: that for a position
    outside of the axes.
    """

    position: NDArray[np.float64]
    text: str
    colour: Any
    at_tip: bool = False
    most_covered: float = 0.0
    weight: str = "normal"
    radius: float = 0.0
    edge_text: str = ""


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

    Attributes
    ----------
    names : list of Name
        Those that come first are placed first.
    written : list of Name
        Those that were drawn last.
    boxes : list of Bbox
        Their boxes, in pixels.
    """

    def __init__(self, ax: Axes, size: float, dots: NDArray[Any], tips: NDArray[Any] | None = None) -> None:
        super().__init__()
        self.size = size
        self.dots = dots[np.isfinite(dots).all(axis=1)]
        self.tips = np.empty((0, 2)) if tips is None else tips
        self.names: list[Name] = []
        self.written: list[Name] = []
        self.boxes: list[Bbox] = []
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
            box = scene.place(name)
            if box is None:
                continue
            scene.taken.append(box)
            self.written.append(name)
            self.boxes.append(Bbox(box))
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


class _Scene:
    """What names should not cover, in pixels; boxes are arrays [[left, low], [right, high]]."""

    def __init__(self, names: Names) -> None:
        ax: Any = names.axes
        self.axes = ax
        self.pixels = drawing.figure_of(ax).dpi / 72.0
        self.size = names.size
        self.to_pixels = ax.transData.transform
        frame = ax.get_window_extent()
        edge = HALO * self.pixels
        self.frame = np.array([[frame.x0 + edge, frame.y0 + edge], [frame.x1 - edge, frame.y1 - edge]])
        self.dots = self._of(names.dots)
        self.origin = self.to_pixels((0.0, 0.0))
        self.pieces = self._pieces(self._of(names.tips))
        self.taken: list[NDArray[np.float64]] = []

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
        if not name.edge_text or not rows_outside(name.position[None], *limits_of(self.axes)).any():
            return name
        return replace(name, text=name.edge_text)

    def place(self, name: Name) -> NDArray[np.float64] | None:
        """Return the box of a name that covers least, or None if each covers too much."""
        anchor = self.to_pixels(name.position)
        if rows_outside(name.position[None], *limits_of(self.axes)).any():
            anchor = edge_of(self.axes, name.position[None])[0]
        width = width_of(name.text, self.size) * (BOLD if name.weight == "bold" else 1.0) + 2.0
        half = np.array([width, NAME_HEIGHT * self.size]) * self.pixels / 2.0
        angles = NAME_DIRECTIONS
        if name.at_tip:
            outwards = anchor - self.origin
            angles = np.arctan2(outwards[1], outwards[0]) + ARROW_TURNS
        lowest, best_box, best_covered = np.inf, None, np.inf
        for rank, angle in enumerate(angles):
            towards = np.array([np.cos(angle), np.sin(angle)])
            for distance in DISTANCES:
                middle = anchor + towards * (half + (name.radius + distance) * self.pixels)
                box = np.array([middle - half, middle + half])
                covered = self._covered(box)
                cost = covered + TURN_COST * rank + DISTANCE_COST * distance
                if cost < lowest:
                    lowest, best_box, best_covered = cost, box, covered
        return best_box if best_covered <= name.most_covered else None

    def _covered(self, box: NDArray[np.float64]) -> float:
        """Return what a box covers; infinite if it leaves the frame or touches another name."""
        if (box[0] < self.frame[0]).any() or (box[1] > self.frame[1]).any():
            return np.inf
        if any((box[0] < name_box[1]).all() and (box[1] > name_box[0]).all() for name_box in self.taken):
            return np.inf
        dots = _count(self.dots, box + DOT_RADIUS * self.pixels * np.array([[-1.0], [1.0]]))
        return dots + SHAFT_COST * _count(self.pieces, box)


def _count(points: NDArray[np.float64], box: NDArray[np.float64]) -> float:
    """Return how many points are within a box."""
    return float(((points > box[0]) & (points < box[1])).all(axis=1).sum())
