"""Labels at the tips of arrows that do not overlap one another.

For each label in turn, places around its tip are tried from near to far. A place that touches an
earlier label, the legend or the frame is out; of the others the one with the least distance wins, where
crossing an arrow or covering points counts as distance. No chance is involved.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from spcastat.plots._shared import INK

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.text import Annotation

_RADII = np.array([2.0, 5.0, 9.0, 14.0, 20.0, 28.0, 38.0, 50.0, 65.0, 85.0])  # points
_TURNS = np.deg2rad([0, 15, -15, 30, -30, 50, -50, 75, -75, 105, -105, 140, -140, 180])
_LEADER = 12.0  # points: from here on a line leads from the label to its tip
_PADDING = 1.0  # points between two labels


def place_labels(
    ax: Axes,
    tips: NDArray[np.float64],
    names: list[str],
    arrows: NDArray[np.float64],
    points: NDArray[np.float64],
) -> list[Annotation]:
    """Label arrows from the origin; the axes must have their final limits and place.

    Parameters
    ----------
    ax : Axes
    tips : ndarray, (m, 2)
        Where the labelled arrows end, in data units, the most important first.
    names : list of str
        Their labels.
    arrows : ndarray, (q, 2)
        The ends of all arrows, which labels should not cross.
    points : ndarray, (n, 2)
        Points that labels should not cover.

    Returns
    -------
    list of Annotation
        In the order of `names`; a label for which there is no room is left out.
    """
    figure = ax.get_figure(root=True)
    assert figure is not None
    unit = figure.dpi / 72
    to_pixels = ax.transData.transform
    shafts = to_pixels((arrows[:, None, :] * np.linspace(0.1, 1, 40)[:, None]).reshape(-1, 2))
    dots = to_pixels(points[np.isfinite(points).all(axis=1)])
    origin, frame = to_pixels((0.0, 0.0)), ax.get_window_extent()
    taken = [legend.get_window_extent().extents] if (legend := ax.get_legend()) is not None else []
    labels = []
    for tip, name in zip(tips, names, strict=True):
        label = _label(ax, tip, name)
        size = np.array([label.get_window_extent().width, label.get_window_extent().height])
        end = to_pixels(tip)
        centres, distance = _candidates(end, end - origin, size, unit)
        boxes = np.hstack(
            [centres - size / 2 - _PADDING * unit / 2, centres + size / 2 + _PADDING * unit / 2]
        )
        free = _inside(boxes, np.asarray(frame.extents)) & ~_touching(boxes, np.array(taken).reshape(-1, 4))
        if not free.any():
            label.remove()
            continue
        crowd = np.minimum(_count(boxes, dots), 10)
        wide = boxes + 1.5 * unit * np.array([-1, -1, 1, 1])
        cost = distance + 8 * np.minimum(_count(wide, shafts), 6) + 0.4 * crowd
        best = int(np.argmin(np.where(free, cost, np.inf)))
        taken.append(boxes[best])
        label.set_position(tuple((centres[best] - end) / unit))
        if label.arrow_patch is not None:
            label.arrow_patch.set_visible(bool(distance[best] >= _LEADER))
        labels.append(label)
    return labels


def _label(ax: Axes, tip: NDArray[np.float64], name: str) -> Annotation:
    from matplotlib.patheffects import withStroke

    label = ax.annotate(
        name,
        xy=(float(tip[0]), float(tip[1])),
        xytext=(0, 0),
        textcoords="offset points",
        ha="center",
        va="center",
        fontsize="small",
        color=INK,
        parse_math=False,
        annotation_clip=False,
        zorder=6,
        arrowprops={"arrowstyle": "-", "linewidth": 0.5, "color": "0.5", "shrinkA": 1, "shrinkB": 0},
        path_effects=[withStroke(linewidth=2, foreground="white", alpha=0.8)],
    )
    label.set_in_layout(False)
    if label.arrow_patch is not None:
        label.arrow_patch.set_visible(False)
    return label


def _candidates(
    end: NDArray[np.float64], direction: NDArray[np.float64], size: NDArray[np.float64], unit: float
) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Return centres of boxes around `end` in pixels and their distances in points."""
    angle = np.arctan2(direction[1], direction[0]) + _TURNS
    towards = np.stack([np.cos(angle), np.sin(angle)], axis=1)
    # The box begins where a ray from the tip meets it, so that a flat label is no farther than a tall one.
    reach = np.min(size / 2 / np.maximum(np.abs(towards), 1e-9), axis=1)
    away = _RADII[:, None] * unit + reach
    centres = end + away[..., None] * towards
    distance = np.broadcast_to(_RADII[:, None] + 2 * np.abs(_TURNS), away.shape)
    return centres.reshape(-1, 2), distance.reshape(-1)


def _inside(boxes: NDArray[np.float64], frame: NDArray[np.float64]) -> NDArray[np.bool_]:
    return np.all(boxes[:, :2] >= frame[:2], axis=1) & np.all(boxes[:, 2:] <= frame[2:], axis=1)


def _touching(boxes: NDArray[np.float64], others: NDArray[np.float64]) -> NDArray[np.bool_]:
    apart = (boxes[:, None, :2] > others[None, :, 2:]) | (boxes[:, None, 2:] < others[None, :, :2])
    return np.any(~np.any(apart, axis=2), axis=1)


def _count(boxes: NDArray[np.float64], dots: NDArray[np.float64]) -> NDArray[np.intp]:
    """Return how many of the dots lie in each box."""
    inside = (dots >= boxes[:, None, :2]) & (dots <= boxes[:, None, 2:])
    return inside.all(axis=2).sum(axis=1)
