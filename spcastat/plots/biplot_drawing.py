"""Draw a biplot: points, outlines, arrows, and a name for every arrow."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import numpy as np

from spcastat.config import plural
from spcastat.plots.arrows import draw_arrows, name_arrows
from spcastat.plots.axes_and_names import (
    BESIDE,
    note_has_room,
    rewrite_note,
    size_of,
    value_text,
    write_legend,
    write_note,
)
from spcastat.plots.biplot_layout import FILLED, Content, enlarge, lay_out
from spcastat.plots.label_placement import occupy, scene_of, write_names
from spcastat.plots.plot_colours import FURTHER, ink, line, shade, visible
from spcastat.plots.plotted_rows import (
    MISSING,
    Group,
    dots,
    draw_centroid,
    draw_outline,
    groups_of,
    outline_of,
    scatter_groups,
    scatter_numbers,
)

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.legend import Legend

    from spcastat.plots.biplot import BiplotData


def draw_biplot(
    ax: Axes,
    data: BiplotData,
    axis_labels: list[str],
    title: str | None,
    palette: Any,
    outline: str | None,
    level: float,
    centroids: bool,
    *,
    own: bool,
) -> None:
    """Draw on the axes of a new figure (`own`), whose size is set, or on the user's axes."""
    ax.set_xlabel(axis_labels[0], parse_math=False)
    ax.set_ylabel(axis_labels[1], parse_math=False)
    xy = data.points[["x", "y"]].to_numpy()
    tips = data.arrows[["x", "y"]].to_numpy(dtype=float)
    cross: dict[str, Any] = {"color": shade(ax, 0.2), "linewidth": line(0.8), "zorder": 0.5}
    ax.axhline(0, **cross)
    ax.axvline(0, **cross)
    clouds = _clouds(ax, data, palette)
    corners = []
    for cloud in clouds:
        found = None if outline is None else outline_of(xy[cloud.rows], outline, level)
        if found is not None:
            draw_outline(ax, found, cloud.colour)
            corners.append(found)
    further = [data.new[["x", "y"]].to_numpy(dtype=float), data.levels[["x", "y"]].to_numpy(dtype=float)]
    write = _points(ax, data, title, palette, own)
    _further(ax, data)
    draw_arrows(ax, data.arrows)
    for cloud in clouds if centroids else []:
        draw_centroid(ax, np.nanmean(xy[cloud.rows], axis=0), cloud.colour, cloud.marker)
    said = _sentences(data, outline, level)
    everything = np.vstack([xy, *corners, *further])
    content = Content(everything[np.isfinite(everything).all(axis=1)], data.arrows, data.components)
    words = [
        "%: adjusted variance." * ("%" in "".join(axis_labels)),
        "Ticks: the listed loadings." * bool(content.lists),
    ]

    def explained(*further: str) -> list[str]:
        """Return the sentences of the note, with those explanations with which it has two lines."""
        sentences = said
        for word in words:
            sentences = (
                [*sentences, word] if note_has_room(ax, [*sentences, word, *further], 2) else sentences
            )
        return [*sentences, *further]

    if own:
        enlarge(ax, content)
    note = write_note(ax, explained())
    while True:
        layout, lists, told = lay_out(ax, content, own, write)
        scene = scene_of(ax, tips, np.vstack([xy, *further]))
        for text in lists:
            occupy(ax, scene, text)
        labelled = data.arrows.assign(label=layout.labels)
        written, key, lost = name_arrows(
            ax, scene, labelled, content.named, said, "biplot_data()", layout.fontsize, told
        )
        rows, missed = _name_points(ax, scene, data, clouds if centroids else [], layout.fontsize)
        unnamed = f"{plural(missed, 'name')} of points had no room." * bool(missed)
        most = max(map(len, content.lists.values()), default=0) if content.most is None else content.most
        # the lists have no room in full, or leave too little to the data
        crowded = layout.rank[1] + 1 < int(20 * FILLED[own])
        if told:
            crowded = bool(lost) or not note_has_room(ax, [*said, key], 3)
        if crowded and most > 2:
            content = replace(content, most=2 * most // 3)
        elif rewrite_note(ax, note, explained(key, unnamed)):
            break
        for label in [*lists, *written, *rows]:  # shorter lists, or a longer note that leaves less room
            label.remove()


def _sentences(data: BiplotData, outline: str | None, level: float) -> list[str]:
    """Return the sentences of the note."""
    said = [data.scaling]
    if abs(data.correlation) > 0.1:
        r = value_text(data.correlation)
        said.append(f"Correlated scores (r = {r}): inner products are approximate.")
    if data.undrawn:
        drawn = int(data.arrows["nonzero"].sum())
        said.append(
            f"{drawn} of the {drawn + data.undrawn} variables with a nonzero loading are drawn: "
            "the longest of each component."
        )
    if outline in ("normal", "t"):
        what = "normal" if outline == "normal" else "t (5 degrees of freedom)"
        said.append(f"Ellipses: {100 * level:g} % of a {what} distribution.")
    return said


# --- points ---------------------------------------------------------------------------------------


def _clouds(ax: Axes, data: BiplotData, palette: Any) -> list[Group]:
    """Return the groups, without the rows that have none; all rows together if there are no groups."""
    groups = data.points["group"].array if "group" in data.points else None
    return [one for one in groups_of(ax, groups, len(data.points), palette) if one.name != MISSING]


def _points(
    ax: Axes, data: BiplotData, title: str | None, palette: Any, own: bool
) -> Callable[[int], Legend] | None:
    """Draw the points; on the user's axes return a function that writes their legend (see `lay_out`)."""
    from matplotlib.lines import Line2D

    xy = data.points[["x", "y"]].to_numpy()
    how = {**dots(len(xy)), "zorder": 2}
    how["s"] *= float(np.clip(size_of(ax).min() / 300.0, 0.4, 1.0))  # smaller points on small axes
    if "color" in data.points:
        scatter_numbers(ax, xy, data.points["color"].to_numpy(), title, palette=palette, **how)
        return None
    groups = data.points["group"].array if "group" in data.points else None
    artists, names = scatter_groups(ax, xy, groups, palette=palette, **how)
    if not names:
        return None
    if own:
        write_legend(ax, artists, names, title=title, **BESIDE)
        return None

    def write(columns: int) -> Legend:
        how: dict[str, Any] = {"borderaxespad": 0, "borderpad": 0, "handletextpad": 0.2}
        if columns == 0:
            return write_legend(ax, artists, names, title=title, loc="lower left", **how)
        how |= {"loc": "lower center", "bbox_to_anchor": (0.5, 1.02), "ncols": columns, "columnspacing": 1.0}
        how["fontsize"] = "x-small"
        if title is None or columns < len(names):
            return write_legend(ax, artists, names, title=title, **how)
        how["ncols"] += 1  # the title in the row of the groups
        return write_legend(ax, [Line2D([], [], linestyle="none"), *artists], [f"{title}:", *names], **how)

    return write


def _further(ax: Axes, data: BiplotData) -> None:
    """Draw new rows as crosses and means of levels as diamonds."""
    for frame, marker, name in ((data.new, "x", "new rows"), (data.levels, "D", "levels")):
        colour = ink(ax) if marker == "x" else visible(ax, FURTHER)
        style: dict[str, Any] = {"s": dots(len(frame), 30.0)["s"], "linewidths": line(1.1), "zorder": 4.5}
        if len(frame):
            ax.scatter(frame["x"], frame["y"], color=[colour], marker=marker, gid=name, **style)


def _name_points(
    ax: Axes, scene: Any, data: BiplotData, clouds: list[Group], fontsize: str
) -> tuple[list[Any], int]:
    """Name centroids, levels, rows and new rows, in this order; return the names and how many had no room.

    Names of rows are not larger than `fontsize`, that of the variables, and cover no point.
    """
    xy = data.points[["x", "y"]].to_numpy()
    wanted: list[tuple[np.ndarray, list[str], dict[str, Any]]] = []
    for cloud in clouds if "group" in data.points else []:
        style: dict[str, Any] = {"color": cloud.colour, "fontweight": "bold"}
        wanted.append((np.nanmean(xy[cloud.rows], axis=0)[None], [cloud.name], style))
    # more than 30 new rows have no names
    new = data.new if len(data.new) <= 30 else data.new.iloc[:0]
    small: dict[str, Any] = {"color": shade(ax, 0.75), "clear": True}
    small["fontsize"] = "x-small" if fontsize == "small" else fontsize
    for frame, style in ((data.levels, {"color": visible(ax, FURTHER)}), (data.points, small), (new, small)):
        named = frame[(frame["label"] != "") & frame[["x", "y"]].notna().all(axis=1)]
        wanted.append((named[["x", "y"]].to_numpy(dtype=float), named["label"].astype(str).tolist(), style))
    written = []
    for anchors, names, style in wanted:
        written += write_names(ax, scene, anchors, names, outwards=False, gid="row", **style)
    return [label for label in written if label is not None], sum(label is None for label in written)
