"""The artists of a biplot: points, outlines, arrows, and a name for every arrow."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd

from spcastat.config import plural
from spcastat.labels import short_name
from spcastat.plots._arrows import draw_arrows, name_arrows
from spcastat.plots._clouds import draw_centroid, draw_outline
from spcastat.plots._clouds import outline as outline_of
from spcastat.plots._frame import data_limits, fit_frame, frame_of
from spcastat.plots._groups import dots, legend_of, scatter_groups, scatter_numbers
from spcastat.plots._labels import occupy, scene_of, write_names
from spcastat.plots._notes import rewrite_note, write_note
from spcastat.plots._shared import MARKERS, value_text
from spcastat.plots._stacks import draw_on_axes
from spcastat.plots._theme import FURTHER, accents, colours_of, ink, line, shade, visible

if TYPE_CHECKING:
    from matplotlib.axes import Axes

    from spcastat.plots._biplot_data import BiplotData

#: Scores that correlate more than this make the biplot approximate, and the plot says so.
UNCORRELATED = 0.01


def draw_biplot(
    ax: Axes,
    data: BiplotData,
    *,
    own: bool,
    axis_names: tuple[str, str],
    title: str,
    palette: Any,
    outline: str | None,
    level: float,
    centroids: bool,
) -> None:
    """Draw on axes that are the package's own (and then get their size) or the user's."""
    ax.set_xlabel(axis_names[0], parse_math=False)
    ax.set_ylabel(axis_names[1], parse_math=False)
    xy = data.points[["x", "y"]].to_numpy()
    tips = data.arrows[["x", "y"]].to_numpy(dtype=float)
    cross: dict[str, Any] = {"color": shade(ax, 0.2), "linewidth": line(0.8), "zorder": 0.5}
    ax.axhline(0, **cross)
    ax.axvline(0, **cross)
    corners = _outlines(ax, data, outline, level, palette)
    further = [data.new[["x", "y"]].to_numpy(dtype=float), data.levels[["x", "y"]].to_numpy(dtype=float)]
    low, high = data_limits(np.vstack([xy, *corners, *further]), tips)
    _points(ax, data, title, palette, own, np.vstack([xy, tips]))
    _further(ax, data)
    strong = (data.arrows["nonzero"] | data.arrows["supplementary"]).to_numpy()
    draw_arrows(ax, tips, data.arrows["side"].to_numpy(), _arrow_colours(ax, data.arrows), strong)
    draw_on_axes(ax, data.arrows)
    if centroids:
        for xy_of, colour, marker, _ in _clouds(ax, data, palette):
            if len(xy_of):
                draw_centroid(ax, np.nanmean(xy_of, axis=0), colour, marker)
    sentences = _sentences(data, outline, level)
    note = write_note(ax, sentences)
    frame = frame_of(ax, data.arrows, low, high, own)
    while True:
        fit_frame(ax, frame)
        scene = scene_of(ax, tips, _shafts(data.arrows), np.vstack([xy, *further]))
        for text in frame.texts.values():
            occupy(ax, scene, text)
        written, key = name_arrows(ax, scene, data.arrows, _name_colours(ax, data.arrows))
        rows, missed = _name_points(ax, scene, data, centroids, palette)
        # a note of more lines leaves less room to the axes: then names are placed anew
        if rewrite_note(
            ax, note, [*sentences, key, f"{plural(missed, 'name')} of points had no room." * bool(missed)]
        ):
            break
        for label in [*written, *rows]:
            label.remove()


def _sentences(data: BiplotData, outline: str | None, level: float) -> list[str]:
    """Return what the note says."""
    said = [data.scaling]
    if abs(data.correlation) > UNCORRELATED:
        r = value_text(data.correlation)
        said.append(f"Correlated scores (r = {r}): inner products are approximate.")
    if data.undrawn:
        drawn = int(data.arrows["nonzero"].sum())
        said.append(
            f"{drawn} of the {drawn + data.undrawn} variables with a nonzero loading are drawn, the longest."
        )
    if outline in ("normal", "t"):
        what = "normal" if outline == "normal" else "t (5 degrees of freedom)"
        said.append(f"Ellipses: {100 * level:g} % of a {what} distribution.")
    return said


def _shafts(arrows: pd.DataFrame) -> np.ndarray:
    tips = arrows[["x", "y"]].to_numpy(dtype=float)
    return np.stack([np.zeros_like(tips), tips], axis=1)


# --- points -------------------------------------------------------------------------------------


def _outlines(ax: Axes, data: BiplotData, kind: str | None, level: float, palette: Any) -> list[np.ndarray]:
    """Draw the outline of each group, or of all; return their corners."""
    drawn = []
    if kind is not None:
        for xy, colour, _, _ in _clouds(ax, data, palette):
            corners = outline_of(xy, kind, level)
            if corners is not None:
                draw_outline(ax, corners, colour)
                drawn.append(corners)
    return drawn


def _clouds(ax: Axes, data: BiplotData, palette: Any) -> list[tuple[np.ndarray, Any, str, str]]:
    """Return points, colour, marker and name of each group; of all together without groups."""
    xy = data.points[["x", "y"]].to_numpy()
    if "group" not in data.points:
        return [(xy, accents(ax)[0], "o", "mean")]
    groups = data.points["group"].array
    colours = colours_of(ax, palette, list(groups.categories))
    return [
        (xy[groups.codes == code], colours[code], MARKERS[code % len(MARKERS)], short_name(category))
        for code, category in enumerate(groups.categories)
    ]


def _points(ax: Axes, data: BiplotData, title: str, palette: Any, own: bool, everything: np.ndarray) -> None:
    xy = data.points[["x", "y"]].to_numpy()
    how = {**dots(len(xy)), "zorder": 2}
    if "color" in data.points:
        scatter_numbers(ax, xy, data.points["color"].to_numpy(), title, palette=palette, **how)
        return
    groups = data.points["group"].array if "group" in data.points else None
    artists, names = scatter_groups(ax, xy, groups, palette=palette, **how)
    if names:
        legend_of(ax, artists, names, title, outside=own, xy=everything)


def _further(ax: Axes, data: BiplotData) -> None:
    """Draw new rows as crosses and means of levels as diamonds."""
    for frame, marker, name in ((data.new, "x", "new rows"), (data.levels, "D", "levels")):
        if len(frame):
            ax.scatter(
                frame["x"],
                frame["y"],
                color=[ink(ax) if marker == "x" else visible(ax, FURTHER)],
                marker=marker,
                s=dots(len(frame), 30.0)["s"],
                linewidths=line(1.1),
                zorder=4.5,
                gid=name,
            )


def _name_points(
    ax: Axes, scene: Any, data: BiplotData, centroids: bool, palette: Any
) -> tuple[list[Any], int]:
    """Name centroids, levels, rows and new rows, in this order; return the names and how many had no room."""
    wanted: list[tuple[np.ndarray, list[str], dict[str, Any]]] = []
    if centroids and "group" in data.points:
        for xy, colour, _, name in _clouds(ax, data, palette):
            if len(xy):
                wanted.append((np.nanmean(xy, axis=0)[None], [name], {"color": colour, "fontweight": "bold"}))
    if len(data.levels):
        names = data.levels["label"].astype(str).tolist()
        wanted.append((data.levels[["x", "y"]].to_numpy(dtype=float), names, {"color": visible(ax, FURTHER)}))
    for frame in (data.points, data.new if len(data.new) <= MOST_NAMES else data.new.iloc[:0]):
        named = frame[(frame["label"] != "") & frame[["x", "y"]].notna().all(axis=1)]
        style: dict[str, Any] = {"color": shade(ax, 0.75), "fontsize": "x-small"}
        wanted.append((named[["x", "y"]].to_numpy(dtype=float), named["label"].astype(str).tolist(), style))
    written = []
    for anchors, names, style in wanted:
        written += write_names(ax, scene, anchors, names, outwards=False, gid="row", **style)
    return [label for label in written if label is not None], sum(label is None for label in written)


#: More new rows than this have no names.
MOST_NAMES = 30


# --- arrows -------------------------------------------------------------------------------------


def _arrow_colours(ax: Axes, arrows: pd.DataFrame) -> list[tuple[float, ...]]:
    strong, faint, further = ink(ax), shade(ax, 0.38), visible(ax, FURTHER)
    return [
        further if row.supplementary else strong if row.nonzero else faint
        for row in arrows.itertuples(index=False)
    ]


def _name_colours(ax: Axes, arrows: pd.DataFrame) -> list[tuple[float, ...]]:
    strong, faint, further = ink(ax), shade(ax, 0.62), visible(ax, FURTHER)
    return [
        further if row.supplementary else strong if row.nonzero else faint
        for row in arrows.itertuples(index=False)
    ]
