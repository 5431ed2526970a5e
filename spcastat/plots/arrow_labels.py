"""Arrows from the origin, each named at its tip, or by a number with a key."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd

from spcastat.config import one_of, whole_number
from spcastat.kernels.largest_rows import leading
from spcastat.plots.label_placement import Scene, write_names
from spcastat.plots.plot_colours import FURTHER, ink, line, shade, visible

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.text import Annotation

#: Tips closer than this, in points, may share a number.
CLOSE = 7.0


def longest(arrows: pd.DataFrame, variables: Any, least: int) -> np.ndarray:
    """Return the positions of the variables to draw: the longest arrows first, faint ones after all others.

    If there are more than `variables`, the two components take turns (see `leading`), so that both are shown.

    Parameters
    ----------
    arrows : DataFrame
        With columns "x", "y", "length", "nonzero" and "supplementary". Arrows that are neither nonzero nor
        supplementary are faint.
    variables : int or "all"
        How many to draw.
    least : int
        The smallest number allowed.
    """
    strong = (arrows["nonzero"] | arrows["supplementary"]).to_numpy()
    order = np.lexsort([np.arange(len(arrows)), -arrows["length"].to_numpy(dtype=float), ~strong])
    if isinstance(variables, str):
        one_of("variables", variables, ["all"])
        return order
    count = whole_number("variables", variables, least)
    chosen = leading(arrows[["x", "y"]].to_numpy(dtype=float) * strong[:, None], count)
    chosen = np.concatenate([chosen, order[~np.isin(order, chosen)]])[:count]
    return order[np.isin(order, chosen)]


def _colours(ax: Axes, arrows: pd.DataFrame, faint: float) -> list[Any]:
    """Return the colour of each arrow; `faint` is the shade of those without a nonzero loading."""
    kinds = zip(arrows["nonzero"], arrows["supplementary"], strict=True)
    strong, pale, further = ink(ax), shade(ax, faint), visible(ax, FURTHER)
    return [further if extra else strong if nonzero else pale for nonzero, extra in kinds]


def draw_arrows(ax: Axes, arrows: pd.DataFrame) -> None:
    """Draw an arrow to each tip. Arrows on the same half axis share the longest one, with a tick for each."""
    tips, sides = arrows[["x", "y"]].to_numpy(dtype=float), arrows["side"].to_numpy()
    strong = (arrows["nonzero"] | arrows["supplementary"]).to_numpy()
    colours = _colours(ax, arrows, 0.38)
    drawn = np.array(sides == "", dtype=bool)
    for side in {str(one) for one in sides} - {""}:
        here = np.flatnonzero(sides == side)
        drawn[here[np.argmax(np.hypot(*tips[here].T))]] = True
        if len(here) > 1:
            ax.plot(
                *tips[here].T,
                linestyle="none",
                marker="|" if side in ("right", "left") else "_",
                markersize=6 * line(1.0),
                markeredgewidth=line(1.1),
                color=ink(ax),
                zorder=4,
                gid="ticks",
            )
    many = int(drawn.sum()) > 25
    for kind, width, order in ((~strong, 0.008, 3.5), (strong, 0.010 if many else 0.014, 4.0)):
        chosen = np.flatnonzero(drawn & kind)
        if not len(chosen):
            continue
        start = np.zeros(len(chosen))
        ax.quiver(
            *(start, start, *tips[chosen].T),
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
    ax: Axes,
    scene: Scene,
    arrows: pd.DataFrame,
    chosen: Sequence[int],
    fits: Callable[[str], bool],
    source: str,
    fontsize: str = "small",
    listed: Sequence[tuple[str, str]] = (),
) -> tuple[list[Annotation], str, int]:
    """Write the "label" of the chosen arrows at their tips.

    Parameters
    ----------
    fits : callable
        Whether a sentence has room in the note.
    source : str
        The function that returns the names which have no room there either.
    listed : sequence of (str, str)
        Heads and names of lists for the note.

    Returns
    -------
    texts : list of Annotation
    key : str
        Sentence for the note with the names that have no room on the axes.
    lost : int
        How many of them are only counted there.
    """
    colours = _colours(ax, arrows, 0.62)
    tips = arrows[["x", "y"]].to_numpy(dtype=float)
    labels = list(arrows["label"])
    written: list[Annotation] = []
    missed: list[int] = []
    named: list[int] = []
    for colour in dict.fromkeys(colours[i] for i in chosen):
        # strong arrows come first in the frame, and so are placed first
        these = [i for i in chosen if colours[i] == colour]
        names = write_names(
            ax,
            scene,
            tips[these],
            [labels[i] for i in these],
            owners=[(i,) for i in these],
            color=colour,
            fontsize=fontsize,
            gid="name",
        )
        written += [one for one in names if one is not None]
        missed += [i for i, one in zip(these, names, strict=True) if one is None]
        named += [i for i, one in zip(these, names, strict=True) if one is not None]
    numbers, entries = _numbered(ax, scene, tips, labels, colours, missed, named)
    entries = [*listed, *entries]
    told = len(entries)
    while told and not fits(_key(entries, told, source)):
        told = 7 * told // 8
    heads = {head for head, _ in entries[:told]}
    for number in [one for one in numbers if one.get_text() not in heads]:
        number.remove()
        numbers.remove(number)
    return written + numbers, _key(entries, told, source), len(entries) - told


def _key(entries: Sequence[tuple[str, str]], told: int, source: str) -> str:
    """Return a sentence with the first `told` names behind their numbers, and how many more there are."""
    shown: dict[str, list[str]] = {}
    for head, name in entries[:told]:
        shown.setdefault(head, []).append(name)
    parts = [f"{head} {', '.join(names)}".strip() for head, names in shown.items()]
    parts += [f"{'and ' * bool(told)}{len(entries) - told} more: {source}"] * (told < len(entries))
    return "Names without room: " + "; ".join(parts) + "." if parts else ""


def _numbered(
    ax: Axes,
    scene: Scene,
    tips: np.ndarray,
    labels: list[str],
    colours: list[Any],
    missed: list[int],
    named: list[int],
) -> tuple[list[Annotation], list[tuple[str, str]]]:
    """Write numbers at tips without room for a name; return these texts, and number and name of each tip.

    Tips that almost coincide share a number. A number may be closer to a neighbouring unnamed tip than to its
    own, but never closer to a named tip. In place of a number without room stands "beside" with the nearest
    tip that has a name or a number.
    """
    written: list[Annotation] = []
    known = {i: labels[i] for i in named}
    entries: list[tuple[str, str]] = []
    left: list[int] = []
    for members in _together(scene.tips, missed):
        number = str(len(written) + 1)
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
        entries += [(number, labels[i]) for i in members]
    for i in left:
        nearest = min(known, key=lambda j: float(np.hypot(*(scene.tips[i] - scene.tips[j]))), default=None)
        entries.append(("" if nearest is None else f"beside {known[nearest]}:", labels[i]))
    return written, entries


def _together(points: np.ndarray, chosen: list[int]) -> list[list[int]]:
    """Return clusters of the chosen tips that almost coincide, in the order given."""
    clusters: list[list[int]] = []
    for i in chosen:
        for cluster in clusters:
            if np.hypot(*(points[i] - points[cluster[0]])) < CLOSE:
                cluster.append(i)
                break
        else:
            clusters.append([i])
    return clusters
