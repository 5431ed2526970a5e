"""Arrows from the origin, and a name for each: at its tip, or by a number and a key."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd

from spcastat.plots._labels import write_names
from spcastat.plots._place import Scene
from spcastat.plots._theme import line

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.text import Annotation

#: Tips nearer than this, in points, may share a number.
CLOSE = 7.0


def draw_arrows(
    ax: Axes, tips: np.ndarray, sides: np.ndarray, colours: list[Any], strong: np.ndarray
) -> None:
    """Draw an arrow to each tip; of those on one half axis only the longest."""
    drawn = np.array(sides == "", dtype=bool)
    for side in {str(one) for one in sides} - {""}:
        here = np.flatnonzero(sides == side)
        drawn[here[np.argmax(np.hypot(*tips[here].T))]] = True
    many = int(drawn.sum()) > 25
    for kind, width, order in ((~strong, 0.008, 3.5), (strong, 0.010 if many else 0.014, 4.0)):
        chosen = np.flatnonzero(drawn & kind)
        if not len(chosen):
            continue
        start = np.zeros(len(chosen))
        ax.quiver(
            start,
            start,
            tips[chosen, 0],
            tips[chosen, 1],
            angles="xy",
            scale_units="xy",
            scale=1,
            units="inches",
            width=line(width),
            headwidth=6,
            headlength=7,
            headaxislength=6.3,
            color=[colours[i] for i in chosen],
            zorder=order,
            gid="arrows",
        )


def name_arrows(
    ax: Axes, scene: Scene, arrows: pd.DataFrame, colours: list[Any]
) -> tuple[list[Annotation], str]:
    """Name every arrow that is on no axis; return what is written, and the key of numbers."""
    free = np.flatnonzero((arrows["side"] == "").to_numpy())
    tips = arrows[["x", "y"]].to_numpy(dtype=float)
    labels = list(arrows["label"])
    written: list[Annotation] = []
    missed: list[int] = []
    named: list[int] = []
    for colour in dict.fromkeys(colours[i] for i in free):
        # the strong ones come first in the frame, and choose their places first
        chosen = [int(i) for i in free if colours[i] == colour]
        names = write_names(
            ax,
            scene,
            tips[chosen],
            [labels[i] for i in chosen],
            owners=[(i,) for i in chosen],
            color=colour,
            gid="name",
        )
        written += [one for one in names if one is not None]
        missed += [i for i, one in zip(chosen, names, strict=True) if one is None]
        named += [i for i, one in zip(chosen, names, strict=True) if one is not None]
    numbers, key = _numbered(ax, scene, tips, labels, colours, missed, named)
    return written + numbers, key


def _numbered(
    ax: Axes,
    scene: Scene,
    tips: np.ndarray,
    labels: list[str],
    colours: list[Any],
    missed: list[int],
    named: list[int],
) -> tuple[list[Annotation], str]:
    """Put numbers at the tips that have no room for a name; tips on one spot share one.

    A number may stand nearer to a tip close by that has no name than to its own, never to one that has. A tip
    without room even for a number is told beside the nearest one that has a name or a number.
    """
    written: list[Annotation] = []
    known = {i: labels[i] for i in named}
    entries: list[str] = []
    left: list[int] = []
    for members in _together(scene.tips, missed):
        number = str(len(entries) + 1)
        first = members[0]
        near = np.flatnonzero(np.hypot(*(scene.tips - scene.tips[first]).T) < CLOSE)
        (label,) = write_names(
            ax,
            scene,
            tips[[first]],
            [number],
            owners=[tuple({*members, *(set(near.tolist()) - set(named))} if len(members) > 1 else members)],
            color=colours[first],
            fontsize="x-small",
            fontweight="bold",
            gid="number",
        )
        if label is None:
            left += members
            continue
        written.append(label)
        known[first] = number
        entries.append(f"{number} {', '.join(labels[i] for i in members)}")
    key = "At tips without room for a name: " + "; ".join(entries) + "." if entries else ""
    beside: dict[str, list[str]] = {}
    for i in left:
        nearest = min(known, key=lambda j: float(np.hypot(*(scene.tips[i] - scene.tips[j]))), default=None)
        beside.setdefault("" if nearest is None else known[nearest], []).append(labels[i])
    told = [f"beside {one}: {', '.join(names)}" if one else ", ".join(names) for one, names in beside.items()]
    if told:
        key = " ".join([key, "Without room at all, " + "; ".join(told) + "."]).strip()
    return written, key


def _together(points: np.ndarray, chosen: list[int]) -> list[list[int]]:
    """Return the chosen tips in clusters of those on one spot, each in the order given."""
    clusters: list[list[int]] = []
    for i in chosen:
        for cluster in clusters:
            if np.hypot(*(points[i] - points[cluster[0]])) < CLOSE:
                cluster.append(i)
                break
        else:
            clusters.append([i])
    return clusters
