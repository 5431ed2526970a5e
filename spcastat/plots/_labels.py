"""Names on axes: measured in points, placed by `_place`, written beside their tips."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from spcastat.plots._place import LEADER, Name, Scene, place
from spcastat.plots._theme import ink, line, paper, shade

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.text import Annotation

Array = NDArray[np.float64]

#: Room around a name, in points.
_PADDING = 0.5


def to_points(ax: Axes, xy: Array) -> Array:
    """Return points in data units as points (1/72 inch) on the figure."""
    return np.asarray(ax.transData.transform(np.asarray(xy, dtype=float)) / _unit(ax))


def _unit(ax: Axes) -> float:
    figure = ax.get_figure(root=True)
    assert figure is not None
    return float(figure.dpi) / 72.0


def scene_of(ax: Axes, tips: Array, shafts: Array, dots: Array) -> Scene:
    """Return what names on `ax` have to keep clear of; the axes must have their final limits and place.

    Parameters
    ----------
    tips : ndarray, (q, 2)
        In data units, as all of these.
    shafts : ndarray, (s, 2, 2)
        Segments from their first to their second point.
    dots : ndarray, (n, 2)
    """
    dots = dots[np.isfinite(dots).all(axis=1)]
    unit = _unit(ax)
    scene = Scene(
        np.asarray(ax.get_window_extent().extents) / unit,
        to_points(ax, tips).reshape(-1, 2) if len(tips) else np.empty((0, 2)),
        to_points(ax, shafts.reshape(-1, 2)).reshape(-1, 2, 2) if len(shafts) else np.empty((0, 2, 2)),
        to_points(ax, dots) if len(dots) else np.empty((0, 2)),
    )
    if (legend := ax.get_legend()) is not None:
        scene.taken.append(np.asarray(legend.get_window_extent().extents) / unit)
    return scene


def occupy(ax: Axes, scene: Scene, artist: Any) -> None:
    """Keep names away from an artist."""
    scene.taken.append(np.asarray(artist.get_window_extent().extents) / _unit(ax))


def write_names(
    ax: Axes,
    scene: Scene,
    anchors: Array,
    names: Sequence[str],
    *,
    owners: Sequence[tuple[int, ...]] | None = None,
    outwards: bool = True,
    **style: Any,
) -> list[Annotation | None]:
    """Write names beside their anchors, in data units; None for each that has no room.

    Parameters
    ----------
    owners : sequence of tuples of int
        For every name, which tips of the scene are its own; by default none.
    outwards : bool
        Whether a name best lies beyond its anchor as seen from the origin, or else to the right of it.
    style
        Of the text, such as ``color``.
    """
    labels = [_label(ax, anchor, name, style) for anchor, name in zip(anchors, names, strict=True)]
    if not labels:
        return []
    ends = to_points(ax, np.asarray(anchors))
    origin = to_points(ax, np.zeros((1, 2)))[0]
    unit = _unit(ax)
    wanted = []
    for i, label in enumerate(labels):
        box = label.get_window_extent()
        size = np.array([box.width, box.height]) / unit + 2 * _PADDING
        direction = ends[i] - origin if outwards else np.array([1.0, 0.2])
        wanted.append(Name(ends[i], direction, size, () if owners is None else owners[i]))
    written: list[Annotation | None] = []
    for label, end, found in zip(labels, ends, place(wanted, scene), strict=True):
        if found is None:
            label.remove()
            written.append(None)
            continue
        place_of, distance = found
        label.set_position(tuple((place_of[:2] + place_of[2:]) / 2 - end))
        if label.arrow_patch is not None:
            label.arrow_patch.set_visible(distance >= LEADER)
        written.append(label)
    return written


def place_labels(ax: Axes, anchors: Array, names: Sequence[str], dots: Array) -> list[Annotation]:
    """Name some of the dots, each nearer to its own than to the others that are named; rest is left out."""
    scene = scene_of(ax, np.asarray(anchors).reshape(-1, 2), np.empty((0, 2, 2)), dots)
    owners = [(i,) for i in range(len(names))]
    written = write_names(ax, scene, anchors, names, owners=owners, outwards=False)
    return [label for label in written if label is not None]


def _label(ax: Axes, anchor: Array, name: str, style: dict[str, Any]) -> Annotation:
    from matplotlib.patheffects import withStroke

    label = ax.annotate(
        name,
        xy=(float(anchor[0]), float(anchor[1])),
        xytext=(0, 0),
        textcoords="offset points",
        ha="center",
        va="center",
        parse_math=False,
        annotation_clip=False,
        arrowprops={
            "arrowstyle": "-",
            "linewidth": line(0.5),
            "color": shade(ax, 0.5),
            "shrinkA": 1,
            "shrinkB": 0,
        },
        path_effects=[withStroke(linewidth=2, foreground=tuple(paper(ax)), alpha=0.8)],
        **{"fontsize": "small", "color": ink(ax), "zorder": 6, **style},
    )
    label.set_in_layout(False)
    if label.arrow_patch is not None:
        label.arrow_patch.set_visible(False)
    return label
