"""Variables that lie on an axis: one shaft with a tick for each, and their names as a list at its end."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
import pandas as pd

from spcastat.labels import NAME_WIDTH, short_names
from spcastat.plots._shared import value_text
from spcastat.plots._theme import ink, line, paper

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.text import Text

#: Where a variable with a single loading lies, and what its list looks like: alignment, and the direction.
SIDES = {
    "right": ("left", "center", np.array([1.0, 0.0])),
    "left": ("right", "center", np.array([-1.0, 0.0])),
    "top": ("left", "bottom", np.array([0.0, 1.0])),
    "bottom": ("left", "top", np.array([0.0, -1.0])),
}
#: The space between the end of an axis and its list, and around a list, in points.
GAP = 8.0
#: The name by which a list is found among the artists.
GID = "stack"


def side_of(x: np.ndarray, y: np.ndarray) -> np.ndarray:
    """Return the side on which each arrow lies exactly on an axis, or "" for one between the axes."""
    return np.select(
        [(y == 0) & (x > 0), (y == 0) & (x < 0), (x == 0) & (y > 0), (x == 0) & (y < 0)],
        ["right", "left", "top", "bottom"],
        default="",
    ).astype(object)


def lists_of(arrows: pd.DataFrame, limit: int = NAME_WIDTH) -> dict[str, str]:
    """Return the text of the list at each side that has one, the largest weight first.

    Names have at most `limit` characters.
    """
    labels = pd.Series(short_names(list(arrows.index), limit), index=range(len(arrows)), dtype=object)
    if limit >= NAME_WIDTH:
        labels = pd.Series(arrows["label"].to_numpy(), dtype=object)
    arrows = arrows.assign(label=labels.to_numpy())
    found = {}
    for side in SIDES:
        here = arrows[arrows["side"] == side].sort_values("length", ascending=False, kind="stable")
        if len(here):
            found[side] = "\n".join(
                _entry(str(label), float(weight), side)
                for label, weight in zip(here["label"], here["weight"].to_numpy(), strict=True)
            )
    return found


def _entry(label: str, weight: float, side: str) -> str:
    value = ("+" if weight > 0 else "") + value_text(weight)
    return f"{label}  {value}" if side == "left" else f"{value}  {label}"


def write_lists(ax: Axes, lists: dict[str, str], fontsize: str | float = "small") -> dict[str, Text]:
    """Write the lists, each at the origin for now."""
    texts = {}
    for side, text in lists.items():
        horizontal, vertical, _ = SIDES[side]
        texts[side] = ax.text(
            0.0,
            0.0,
            text,
            ha=horizontal,
            va=vertical,
            fontsize=fontsize,
            color=ink(ax),
            linespacing=1.15,
            parse_math=False,
            zorder=6,
            gid=GID,
            bbox={"facecolor": tuple(paper(ax)), "edgecolor": "none", "pad": 1.5},
        )
        texts[side].set_in_layout(False)
    return texts


def sizes_of(ax: Axes, texts: dict[str, Text]) -> dict[str, np.ndarray]:
    """Return the width and height of each list in points."""
    figure = ax.get_figure(root=True)
    assert figure is not None
    sizes = {}
    for side, text in texts.items():
        box = text.get_window_extent()
        sizes[side] = np.array([box.width, box.height]) / figure.dpi * 72
    return sizes


def margins_of(sizes: dict[str, np.ndarray]) -> np.ndarray:
    """Return the room that the lists need beyond the data: left, lower, right and upper, in points."""
    nothing = np.zeros(2)
    return np.array(
        [
            _room(sizes.get("left", nothing)[0]),
            _room(sizes.get("bottom", nothing)[1]),
            _room(sizes.get("right", nothing)[0]),
            _room(sizes.get("top", nothing)[1]),
        ]
    )


def _room(size: float) -> float:
    return float(size + 2 * GAP) if size > 0 else 0.0


def put_lists(
    texts: dict[str, Text],
    sizes: dict[str, np.ndarray],
    low: np.ndarray,
    high: np.ndarray,
    unit: float,
    limits: tuple[np.ndarray, np.ndarray],
) -> None:
    """Move the lists to the ends of the axes, beyond `low` and `high`; a point is `unit` of the data."""
    for side, text in texts.items():
        half = sizes[side] * unit / 2
        gap = GAP * unit
        if side in ("right", "left"):
            y = float(
                np.clip(0.0, limits[0][1] + half[1] + gap, max(limits[1][1] - half[1] - gap, limits[0][1]))
            )
            text.set_position((high[0] + gap if side == "right" else low[0] - gap, y))
        else:
            x = float(
                np.clip(-half[0], limits[0][0] + gap, max(limits[1][0] - 2 * half[0] - gap, limits[0][0]))
            )
            text.set_position((x, high[1] + gap if side == "top" else low[1] - gap))


def pin_lists(ax: Axes, texts: dict[str, Text]) -> None:
    """Keep the lists within the frame at the ends of the axes, whatever becomes of its size."""
    from matplotlib.transforms import ScaledTranslation, blended_transform_factory

    figure = ax.get_figure(root=True)
    assert figure is not None
    for side, text in texts.items():
        towards = SIDES[side][2]
        dx, dy = (-GAP * towards / 72).tolist()
        inwards = ScaledTranslation(dx, dy, figure.dpi_scale_trans)
        x, y = text.get_position()
        if side in ("right", "left"):
            text.set(ha=side, multialignment=SIDES[side][0], x=float(side == "right"), y=y)
            text.set_transform(blended_transform_factory(ax.transAxes, ax.transData) + inwards)
        else:
            text.set(va=side, x=x, y=float(side == "top"))
            text.set_transform(blended_transform_factory(ax.transData, ax.transAxes) + inwards)


def draw_on_axes(ax: Axes, arrows: pd.DataFrame) -> None:
    """Draw a tick for each of several variables on one half axis."""
    on_axis = arrows[arrows["side"] != ""]
    if on_axis.empty:
        return
    for side in SIDES:
        here = on_axis[on_axis["side"] == side]
        if len(here) > 1:
            ax.plot(
                here["x"],
                here["y"],
                linestyle="none",
                marker="|" if side in ("right", "left") else "_",
                markersize=6 * line(1.0),
                markeredgewidth=line(1.1),
                color=ink(ax),
                zorder=4,
                gid="ticks",
            )
