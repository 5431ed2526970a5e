"""The room of a biplot: its limits and size, and the lists at the ends of its axes."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from spcastat.labels import NAME_WIDTH, short_names
from spcastat.plots.axes_and_names import settle, value_text
from spcastat.plots.plot_colours import ink, paper, size_of_text

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.text import Text

Array = NDArray[np.float64]

#: The longer side of the points and arrows on a figure of the package's own, in points.
SIDE = 370.0
#: Names beyond the data get no more room than this, in points.
WIDEST = 150.0
#: Sizes of text, and lengths of names, that are tried for lists on axes of the user's.
TRIED = (("small", 24), ("small", 16), ("x-small", 16), ("x-small", 12), ("xx-small", 12))


@dataclass
class Frame:
    """What stands at the ends of the axes, the data that it lies beyond, and the names of arrows.

    Attributes
    ----------
    texts, sizes : dict
        The lists at each side, and their width and height in points.
    low, high : ndarray, (2,)
        The limits of the data.
    tips, names : ndarray, (q, 2)
        Ends of the arrows that are named at their tips, in data units, and the sizes of their names in
        points.
    own : bool
        Whether the figure is the package's own, and may take the size that it needs.
    arrows : DataFrame
        What the lists are of.
    """

    texts: dict[str, Text]
    sizes: dict[str, Array]
    low: Array
    high: Array
    tips: Array
    names: Array
    own: bool
    arrows: pd.DataFrame

    def margins(self, scale: float) -> Array:
        """Return the room needed beyond the data: left, lower, right and upper, in points.

        `scale` is the number of points that a unit of the data has.
        """
        margins = margins_of(self.sizes)
        for tip, size in zip(self.tips, self.names, strict=True):
            towards = tip / max(float(np.hypot(*tip)), 1e-300)
            reach = np.array([size[0] + 8.0, size[1] + 6.0]) * np.minimum(np.abs(towards) * 1.6, 1.0)
            over = np.concatenate([(self.low - tip) * scale + reach, (tip - self.high) * scale + reach])
            over[[towards[0] > 0, towards[1] > 0, towards[0] < 0, towards[1] < 0]] = 0.0
            margins = np.maximum(margins, np.minimum(over, WIDEST))
        return margins

    @property
    def tall(self) -> float:
        """The height that the lists beside the data need, in points."""
        return max(
            (self.sizes[side][1] + 24.0 for side in ("left", "right") if side in self.sizes), default=0.0
        )


def data_limits(xy: Array, tips: Array) -> tuple[Array, Array]:
    """Return the lower and upper limits of points and arrows."""
    everything = np.vstack([xy, 1.03 * tips, np.zeros((1, 2))])
    low, high = np.nanmin(everything, axis=0), np.nanmax(everything, axis=0)
    # neither side is so short that names have no room
    middle, side = (low + high) / 2, np.maximum(high - low, 0.55 * (high - low).max())
    side[side == 0] = 1.0
    return np.minimum(low, middle - side / 2) - 0.05 * side, np.maximum(high, middle + side / 2) + 0.05 * side


def frame_of(ax: Axes, arrows: pd.DataFrame, low: Array, high: Array, own: bool) -> Frame:
    """Write the lists at the ends of the axes, and measure all names."""
    free = arrows[arrows["side"] == ""]
    probe = ax.text(0, 0, "", fontsize="small", parse_math=False)
    names = []
    for label in free["label"]:
        probe.set_text(str(label))
        names.append(sizes_of(ax, {"": probe})[""])
    probe.remove()
    texts = write_lists(ax, lists_of(arrows))
    return Frame(
        texts,
        sizes_of(ax, texts),
        low,
        high,
        free[["x", "y"]].to_numpy(dtype=float),
        np.array(names).reshape(-1, 2),
        own,
        arrows,
    )


def fit_frame(ax: Axes, frame: Frame) -> None:
    """Give the axes limits that hold the data and all names; a figure of the package's own gets its size."""
    room = _fit_figure(ax, frame) if frame.own else _room(ax)
    for size, limit in TRIED:
        if (size, limit) != TRIED[0]:
            lists = lists_of(frame.arrows, limit)
            for side, text in frame.texts.items():
                text.set(fontsize=size, text=lists[side])
            frame.sizes = sizes_of(ax, frame.texts)
        if _fit_limits(ax, frame, room) or frame.own:
            break
    if not frame.own:
        pin_lists(ax, frame.texts)


def _fit_figure(ax: Axes, frame: Frame) -> Array:
    """Give the figure the size at which the axes are as large as data and names need; return the room."""
    figure = ax.get_figure(root=True)
    assert figure is not None
    extent = frame.high - frame.low
    scale = size_of_text() * SIDE / float(extent.max())
    left, lower, right, upper = frame.margins(scale)
    wanted = extent * scale + np.array([left + right, lower + upper])
    wanted[1] = max(wanted[1], frame.tall)
    room = _room(ax)
    for _ in range(2):
        if np.abs(wanted - room).max() < 3.0:
            break
        figure.set_size_inches(*np.maximum(figure.get_size_inches() + (wanted - room) / 72, 2.0).tolist())
        room = _room(ax)
    return room


def _fit_limits(ax: Axes, frame: Frame, room: Array) -> bool:
    """Set limits that hold the data and the lists; return whether the data keep half of the room."""
    extent = frame.high - frame.low
    left, lower, right, upper = frame.margins(float((room / extent).min()) * 0.75)
    inner = room - np.array([left + right, lower + upper])
    kept = np.maximum(inner, 0.35 * room)
    unit = float((extent / kept).max())
    low, high = frame.low - np.array([left, lower]) * unit, frame.high + np.array([right, upper]) * unit
    # what the other side has left goes to both ends of it
    spare = np.maximum(room * unit - (high - low), 0.0) / 2
    low, high = low - spare, high + spare
    ax.set(xlim=(low[0], high[0]), ylim=(low[1], high[1]))
    ax.set_aspect("equal", adjustable="box")
    for side, text in frame.texts.items():
        text.set(ha=SIDES[side][0], va=SIDES[side][1], transform=ax.transData)
    put_lists(frame.texts, frame.sizes, frame.low, frame.high, unit, (low, high))
    settle(ax)
    return bool((inner >= 0.5 * room).all())


def _room(ax: Axes) -> Array:
    """Return width and height that the axes may take, in points."""
    ax.set_aspect("auto")
    settle(ax)
    figure = ax.get_figure(root=True)
    assert figure is not None
    box = ax.get_window_extent()
    return np.array([box.width, box.height]) / figure.dpi * 72


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
            _with_gap(sizes.get("left", nothing)[0]),
            _with_gap(sizes.get("bottom", nothing)[1]),
            _with_gap(sizes.get("right", nothing)[0]),
            _with_gap(sizes.get("top", nothing)[1]),
        ]
    )


def _with_gap(size: float) -> float:
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
