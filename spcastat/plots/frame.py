"""The frame of a biplot: it includes all points except a few far ones, which are drawn at its edge."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd
from matplotlib.artist import Artist
from matplotlib.transforms import Bbox
from numpy.typing import NDArray

from spcastat.plots.drawing import figure_of, pixel_line

if TYPE_CHECKING:
    from matplotlib.collections import PathCollection

Array = NDArray[np.float64]

#: A row is far if its distance from the median is more than FAR_FACTOR times the quantile NEAR_QUANTILE of
#: these distances, in tables of at least FEWEST_ROWS rows.
FAR_FACTOR, NEAR_QUANTILE, FEWEST_ROWS = 1.8, 0.97, 20
#: At most this share of the rows, or FAR_ROWS rows, is far. If more rows exceed the limit, as with heavy
#: tails, only the farthest of them are far, and none if the largest distance is at most FAR_FACTOR times the
#: largest distance of the other rows.
FAR_SHARE, FAR_ROWS = 0.01, 3
#: A frame enlarged by this factor includes the far rows within it.
FAR_REACH = 1.35
#: New rows are far if they are outside a frame this many times as large as the frame of everything else.
NEW_REACH = 5.0
#: Space between the data and the frame, and between the frame and marks at its edge, as shares of its sides.
MARGIN, EDGE = 0.06, 0.025
#: Size of a mark at the edge, in points, and the smallest distance of its middle from the frame, in sizes.
MARK, EDGE_MARK = 5.8, 0.6


@dataclass(frozen=True)
class Frame:
    """The limits of the axes: the smallest and the largest x and y, two arrays of shape (2,)."""

    low: Array
    high: Array

    @classmethod
    def around(cls, points: pd.DataFrame, new: pd.DataFrame, *others: Array) -> Frame:
        """Return the frame of points, new points and other positions, (m, 2), without a few far points."""
        xy = positions(points)
        near_points = np.vstack([np.zeros((1, 2)), xy[~far_rows(xy)], *others])
        low, high = near_points.min(axis=0), near_points.max(axis=0)
        middle, half = (low + high) / 2.0, (high - low) / 2.0
        near_points = xy[(np.abs(xy - middle) <= FAR_REACH * half).all(axis=1)]
        low, high = np.vstack([near_points, low]).min(axis=0), np.vstack([near_points, high]).max(axis=0)
        new_points = positions(new)
        new_points = new_points[(np.abs(new_points - middle) <= NEW_REACH * half).all(axis=1)]
        low, high = np.vstack([new_points, low]).min(axis=0), np.vstack([new_points, high]).max(axis=0)
        side = np.where(high > low, high - low, max(float((high - low).max()), 1e-300))
        return cls(low - MARGIN * side, high + MARGIN * side)

    def far(self, frame: pd.DataFrame) -> NDArray[np.bool_]:
        """Return which points of a data frame are outside."""
        return rows_outside(frame[["x", "y"]].to_numpy(dtype=float), self.low, self.high)


@dataclass(frozen=True)
class View:
    """The size of axes in points, their limits, and the conversion of data units to points.

    Attributes
    ----------
    size : ndarray of shape (2,)
        Width and height.
    low, high : ndarray of shape (2,)
        Smallest and largest x and y.
    to_points : callable
        Converts positions in data units, (m, 2), to points from the lower left corner.
    """

    size: Array
    low: Array
    high: Array
    to_points: Callable[[Array], Array]

    @classmethod
    def between(cls, start: Array, end: Array, size: Array) -> View:
        """Return the view of axes with linear scales from one corner, `start`, to the opposite one, `end`."""
        low, high = np.minimum(start, end), np.maximum(start, end)
        return cls(size, low, high, lambda xy: np.asarray((xy - start) / (end - start) * size))

    @classmethod
    def of(cls, ax: Any) -> View:
        """Return the view of existing axes."""
        box, points = ax.get_window_extent(), 72.0 / figure_of(ax).dpi
        transform = ax.transData.transform
        size = points * np.array([box.width, box.height])
        limits = np.sort([ax.get_xlim(), ax.get_ylim()], axis=1)
        return cls(size, limits[:, 0], limits[:, 1], lambda xy: np.asarray(points * (transform(xy) - box.p0)))

    def is_outside(self, xy: Array) -> NDArray[np.bool_]:
        """Return which points are outside the limits; see `rows_outside`."""
        return rows_outside(xy, self.low, self.high)

    def edge(self, xy: Array) -> Array:
        """Return the positions at the edge, in points, of the marks of points outside."""
        space = np.maximum(EDGE * self.size, EDGE_MARK * MARK)
        return np.clip(self.to_points(xy), space, self.size - space) if len(xy) else np.empty((0, 2))


class EdgeMarks(Artist):
    """Triangles at the edge of the axes that point to rows outside.

    The limits at drawing time count: a row within them is drawn as a point.

    Parameters
    ----------
    points : PathCollection
        The points of the rows.
    colour : colour
    """

    def __init__(self, points: PathCollection, colour: Any) -> None:
        super().__init__()
        ax: Any = points.axes
        self.points, self.colour = points, colour
        self.xy = np.asarray(points.get_offsets(), dtype=float)
        self.set_gid("edge")
        ax.add_artist(self)
        self.set_zorder(points.get_zorder() - 0.01)  # drawn before the points, which depend on it

    def get_tightbbox(self, renderer: Any = None) -> Bbox | None:
        """Return None, since triangles are within the axes."""
        return None

    def triangles(self) -> tuple[NDArray[np.bool_], Array]:
        """Return which rows are outside the axes, and the positions of their triangles in pixels."""
        ax: Any = self.axes
        view = View.of(ax)
        is_hidden = view.is_outside(self.xy)
        corner = ax.get_window_extent().p0
        return is_hidden, corner + figure_of(ax).dpi / 72.0 * view.edge(self.xy[is_hidden])

    def draw(self, renderer: Any) -> None:
        """Draw the triangles."""
        if not self.get_visible():
            return
        ax: Any = self.axes
        is_hidden, marks = self.triangles()
        self.points.set_offsets(np.where(is_hidden[:, None], np.nan, self.xy))
        for row, mark in zip(ax.transData.transform(self.xy[is_hidden]), marks, strict=True):
            turn = float(np.degrees(np.arctan2(*(row - mark)[::-1]))) - 90.0
            style: dict[str, Any] = {"marker": (3, 0, turn), "markersize": MARK, "markeredgewidth": 0}
            pixel_line(ax, *mark[:, None], color=self.colour, **style).draw(renderer)


def rows_outside(xy: Array, low: Array, high: Array) -> NDArray[np.bool_]:
    """Return which finite points are outside the limits, or so near to them that their marks would be cut."""
    space = EDGE * (high - low)
    low, high = low + space, high - space
    return np.asarray(np.isfinite(xy).all(axis=1) & ((xy < low) | (xy > high)).any(axis=1))


def positions(frame: pd.DataFrame) -> Array:
    """Return the finite points of a data frame, (m, 2)."""
    xy = frame[["x", "y"]].to_numpy(dtype=float)
    return xy[np.isfinite(xy).all(axis=1)]


def far_rows(xy: Array) -> NDArray[np.bool_]:
    """Return which points are far from the others in a coordinate; these are at most a few."""
    far = np.zeros(len(xy), dtype=bool)
    if len(xy) < FEWEST_ROWS:
        return far
    count_limit = max(FAR_ROWS, int(FAR_SHARE * len(xy)))
    away = np.abs(xy - np.median(xy, axis=0))
    for distance in away.T:
        limit = FAR_FACTOR * np.quantile(distance, NEAR_QUANTILE)
        farthest = np.sort(distance)[-count_limit - 1 :]
        if farthest[0] <= limit:
            far |= distance > limit
        elif farthest[-1] > FAR_FACTOR * farthest[0]:
            far |= distance > farthest[0]
    return far
