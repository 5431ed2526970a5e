"""The frame of a biplot: all points, but for a few far ones, which are drawn at its edge."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import pandas as pd
from numpy.typing import NDArray

Array = NDArray[np.float64]

#: A row is far if its distance from the median is more than FAR_FACTOR times the quantile NEAR_QUANTILE of
#: these distances, in tables of at least FEWEST_ROWS rows.
FAR_FACTOR, NEAR_QUANTILE, FEWEST_ROWS = 1.8, 0.97, 20
#: At most this share of the rows is far, or FAR_ROWS rows; otherwise none is.
FAR_SHARE, FAR_ROWS = 0.01, 3
#: A far row is within the axes if these are at most so many times as large for it.
FAR_REACH = 1.35
#: New rows are far if they are outside of a frame so many times as large as that of everything else.
NEW_REACH = 5.0
#: Space between the data and the frame, and between the frame and marks at its edge, as shares of its sides.
MARGIN, EDGE = 0.06, 0.025


@dataclass(frozen=True)
class Frame:
    """The smallest and the largest x and y that are shown, two arrays of shape (2,)."""

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
        """Return which points of a frame are outside."""
        xy = frame[["x", "y"]].to_numpy(dtype=float)
        return np.asarray(((xy < self.low) | (xy > self.high)).any(axis=1))

    def edge(self, xy: Array) -> Array:
        """Return the positions at the edge of points outside."""
        space = EDGE * (self.high - self.low)
        return np.clip(xy, self.low + space, self.high - space)


def positions(frame: pd.DataFrame) -> Array:
    """Return the finite points of a frame, (m, 2)."""
    xy = frame[["x", "y"]].to_numpy(dtype=float)
    return xy[np.isfinite(xy).all(axis=1)]


def far_rows(xy: Array) -> NDArray[np.bool_]:
    """Return which of the points are far from all others in a coordinate; none, unless they are few."""
    far = np.zeros(len(xy), dtype=bool)
    if len(xy) < FEWEST_ROWS:
        return far
    away = np.abs(xy - np.median(xy, axis=0))
    for distance in away.T:
        far_in_one = distance > FAR_FACTOR * np.quantile(distance, NEAR_QUANTILE)
        if far_in_one.sum() <= max(FAR_ROWS, FAR_SHARE * len(xy)):
            far |= far_in_one
    return far
