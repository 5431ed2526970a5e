"""Arrows of variables: their tips, how they are drawn, and the circle of correlations."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from spcastat.argument_names import explained
from spcastat.config import listed, whole_number
from spcastat.errors import OptionError, ShapeError
from spcastat.hints import Pair
from spcastat.labels import name_text, short_name, short_names
from spcastat.linalg.eigenvectors import leading
from spcastat.plots import drawing
from spcastat.plots.blocks import Block, NamedBar
from spcastat.plots.drawing import SUPPLEMENTARY, ink, line, shade, visible
from spcastat.plots.margins import Margins
from spcastat.plots.names import Names

if TYPE_CHECKING:
    from matplotlib.axes import Axes

#: Default of the largest number of arrows.
MAX_ARROWS = 12
#: Characters of a name at the tip of an arrow.
TIP_NAME = 22


def longest(arrows: pd.DataFrame, max_arrows: int | None, least: int) -> np.ndarray:
    """Return the positions of the variables to draw: the longest arrows first, faint ones after all others.

    If there are more than `max_arrows`, the two components take turns (see `leading`), so that both are
    shown.

    Parameters
    ----------
    arrows : DataFrame
        With columns "x", "y", "nonzero" and "supplementary". Arrows that are neither nonzero nor
        supplementary are faint.
    max_arrows : int or None
        How many to draw; None for all.
    least : int
        The smallest number allowed.
    """
    strong = (arrows["nonzero"] | arrows["supplementary"]).to_numpy()
    length = np.hypot(*arrows[["x", "y"]].to_numpy(dtype=float).T)
    order = np.lexsort([np.arange(len(arrows)), -length, ~strong])
    if max_arrows is None:
        return order
    count = whole_number("max_arrows", max_arrows, least)
    selection = leading(arrows[["x", "y"]].to_numpy(dtype=float) * strong[:, None], count)
    selection = np.concatenate([selection, order[~np.isin(order, selection)]])[:count]
    return order[np.isin(order, selection)]


def colours_of_arrows(ax: Axes, arrows: pd.DataFrame, faint: float) -> list[Any]:
    """Return the colour of each arrow; `faint` is the shade of those without a nonzero loading."""
    kinds = zip(arrows["nonzero"], arrows["supplementary"], strict=True)
    strong, pale, supplement_colour = ink(ax), shade(ax, faint), visible(ax, SUPPLEMENTARY)
    return [supplement_colour if extra else strong if nonzero else pale for nonzero, extra in kinds]


def draw_arrows(ax: Axes, arrows: pd.DataFrame) -> None:
    """Draw an arrow from the origin to each tip; faint ones below the others."""
    tips = arrows[["x", "y"]].to_numpy(dtype=float)
    strong = (arrows["nonzero"] | arrows["supplementary"]).to_numpy()
    colours = colours_of_arrows(ax, arrows, 0.38)
    for kind, width, order in ((~strong, 0.008, 3.5), (strong, 0.013, 4.0)):
        places = np.flatnonzero(kind)
        if not len(places):
            continue
        start = np.zeros(len(places))
        head: dict[str, Any] = {"width": line(width), "headwidth": 6, "headlength": 7, "headaxislength": 6.3}
        scale: dict[str, Any] = {"angles": "xy", "scale_units": "xy", "scale": 1, "units": "inches"}
        head |= {"color": [colours[i] for i in places], "zorder": order, "gid": "arrows"}
        ax.quiver(start, start, *tips[places].T, **scale, **head)


def name_arrows(ax: Axes, names: Names, arrows: pd.DataFrame) -> None:
    """Name the tips of arrows, as far as there is room; supplementary variables first."""
    colours = colours_of_arrows(ax, arrows, 0.62)
    labels = short_names(list(arrows.index), TIP_NAME, arrows["position"].tolist())
    tips = arrows[["x", "y"]].to_numpy(dtype=float)
    for i in np.argsort(~arrows["supplementary"].to_numpy(), kind="stable"):
        names.add(tips[i], labels[i], colours[i], at_tip=True)


def rows_of_block(ax: Axes, block: pd.DataFrame, arrows: pd.DataFrame) -> list[NamedBar]:
    """Return the rows of a block of variables; those with an arrow have its direction."""
    bar, supplement_colour = shade(ax, 0.75), visible(ax, SUPPLEMENTARY)
    directions = arrows.set_index("position")[["x", "y"]] if len(arrows) else pd.DataFrame()
    rows = []
    for name, value, extra, position in zip(
        block.index, block["value"], block["supplementary"], block["position"], strict=True
    ):
        direction = None
        if position in directions.index:
            x, y = directions.loc[position].to_numpy(dtype=float)
            direction = (x / np.hypot(x, y), y / np.hypot(x, y)) if x or y else None
        rows.append(NamedBar(name_text(name), float(value), supplement_colour if extra else bar, direction))
    return rows


# --- positions ------------------------------------------------------------------------------------


def same_components(scores: pd.DataFrame, other: pd.DataFrame, what: str) -> None:
    """Raise ShapeError unless a frame has the columns of the scores."""
    if list(scores.columns) != list(other.columns):
        raise ShapeError(
            f"The scores have the components {listed(scores.columns)}, the {what} {listed(other.columns)}; "
            "they must be the same."
        )


def markers_of(
    loadings: pd.DataFrame,
    correlations: pd.DataFrame | None,
    arrows: str,
    pair: list[int],
    spread: NDArray[np.float64],
    supplementary: pd.DataFrame | None,
    scores: pd.DataFrame,
) -> pd.DataFrame:
    """Return a frame with the unscaled tips of the arrows, and with their names and values."""
    weights = loadings.to_numpy(dtype=float)[:, pair]
    nonzero = (weights != 0).any(axis=1)
    among_correlations = arrows == "correlations"
    if correlations is None and among_correlations:
        raise OptionError(
            "arrows='correlations' was given without correlations; give those of the variables with the "
            "scores, such as fit.correlations."
        )
    if supplementary is not None and not among_correlations:
        raise OptionError(
            "supplementary variables were given with arrows='loadings', and have none; give "
            "arrows='correlations'."
        )
    frame = _marker_frame(loadings.index, weights * spread, nonzero)
    if correlations is not None:
        values = drawing.frame_of(correlations, "correlations")
        same_components(scores, correlations, "correlations")
        if len(values) != len(weights):
            raise ShapeError(
                f"correlations has {len(values)} rows, loadings {len(weights)}; one for each variable."
            )
        if among_correlations:
            frame = _marker_frame(loadings.index, np.nan_to_num(values[:, pair]), nonzero)
    between = (frame[["x", "y"]] != 0).any(axis=1) if among_correlations else (weights != 0).all(axis=1)
    return _with_supplementary(frame.assign(between=between), scores, supplementary, pair)


def block_values(
    loadings: pd.DataFrame,
    correlations: pd.DataFrame | None,
    supplementary: pd.DataFrame | None,
    component: int,
) -> pd.DataFrame:
    """Return the variables of a component, the largest first: "value", "supplementary" and "position".

    `correlations` are given if bars show them instead of loadings. Variables without a nonzero loading are
    left out. Supplementary variables follow; they have positions after the others.
    """
    weights = loadings.iloc[:, component].to_numpy(dtype=float)
    values = weights if correlations is None else correlations.iloc[:, component].to_numpy(dtype=float)
    places = np.flatnonzero(weights != 0)
    places = places[np.argsort(-np.abs(np.nan_to_num(values[places])), kind="stable")]
    block = pd.DataFrame(
        {"value": np.nan_to_num(values[places]), "supplementary": False, "position": places},
        index=loadings.index[places],
    )
    if supplementary is None:
        return block
    extra = np.nan_to_num(supplementary.iloc[:, component].to_numpy(dtype=float))
    order = np.argsort(-np.abs(extra), kind="stable")
    columns = {"value": extra[order], "supplementary": True, "position": len(weights) + order}
    return pd.concat([block, pd.DataFrame(columns, index=supplementary.index[order])])


def _marker_frame(
    index: pd.Index, ends: NDArray[np.float64], nonzero: Any, supplementary: bool = False, start: int = 0
) -> pd.DataFrame:
    """Return a frame of tips; positions of variables are counted from `start`."""
    columns = {
        "x": np.nan_to_num(ends[:, 0]),
        "y": np.nan_to_num(ends[:, 1]),
        "nonzero": nonzero,
        "supplementary": supplementary,
        "position": start + np.arange(len(ends)),
    }
    return pd.DataFrame(columns, index=index)


def _with_supplementary(
    frame: pd.DataFrame, scores: pd.DataFrame, supplementary: pd.DataFrame | None, pair: list[int]
) -> pd.DataFrame:
    """Return the frame with the tips of supplementary variables, if any, below the others."""
    if supplementary is None:
        return frame
    values = drawing.frame_of(supplementary, title := "supplementary variables")
    same_components(scores, supplementary, title)
    extra = _marker_frame(supplementary.index, values[:, pair], False, True, len(frame))
    if "between" in frame:
        extra["between"] = True
    return pd.concat([frame, extra])


# --- the circle of correlations --------------------------------------------------------------------


@explained
def plot_correlations(
    correlations: pd.DataFrame,
    loadings: pd.DataFrame | None = None,
    *,
    components: Pair = (1, 2),
    max_arrows: int | None = 30,
    shares: pd.Series | None = None,
    score_correlations: pd.DataFrame | None = None,
    supplementary: pd.DataFrame | None = None,
    ax: Axes | None = None,
) -> Axes:
    """Draw the correlations of the variables with two components as arrows within the unit circle.

    If the scores are uncorrelated, a variable whose arrow reaches the circle is fully explained by the two
    components. Scores of sparse components are usually correlated; arrows can then extend beyond the circle.

    Parameters
    ----------
    correlations : DataFrame, p x k
        Correlations of the variables with the scores.
    loadings : DataFrame, p x k, optional
        Variables without a nonzero loading on the two components get faint arrows.
    components : two of int or str
        Numbers counted from one, or names.
    max_arrows : int, optional
        The largest number of arrows: those with a nonzero loading first, the longest along one component and
        the other in turn. None draws all.
    shares : Series, optional
        The fraction of variance of each component, for the axis labels.
    score_correlations : DataFrame, k x k, optional
        Correlations of the scores; the note says if those of the two components are correlated.
    supplementary : DataFrame, s x k, optional
        Correlations of further variables with the scores, drawn in another colour.
    ax : Axes, optional
        By default a new figure is created.

    Returns
    -------
    Axes

    Raises
    ------
    ComponentsError
        If there are fewer than two components, or one does not exist.
    ShapeError
        If the frames do not match.
    OptionError
        If `max_arrows` is out of range, or `ax` is not an Axes.
    """
    data = plot_correlations_data(
        correlations, loadings, components=components, max_arrows=max_arrows, supplementary=supplementary
    )
    names = list(correlations.columns)
    pair = _circle_pair(components, names)
    r = 0.0
    if score_correlations is not None:
        score_values = drawing.frame_of(score_correlations, "correlations of scores")
        if any(list(labels) != names for labels in score_correlations.axes):
            raise ShapeError("score_correlations must have the components as rows and as columns.")
        r = float(score_values[pair[0], pair[1]])
    x_name, y_name = drawing.axis_names([names[i] for i in pair], shares)
    ax = drawing.axes_for(ax, 6.2, 5.6)
    size = drawing.name_size()
    drawing.label_components(ax, (x_name, y_name), size)
    from matplotlib.patches import Circle

    for axis in (ax.xaxis, ax.yaxis):
        axis.set_ticks([-1.0, -0.5, 0.0, 0.5, 1.0], ["−1", "", "0", "", "1"])
    ax.add_patch(Circle((0, 0), 1.0, fill=False, edgecolor=shade(ax, 0.45), linewidth=line(0.9), zorder=1))
    drawing.cross(ax)
    tips = data[["x", "y"]].to_numpy(dtype=float)
    reach = max(1.08, 1.06 * float(np.abs(tips).max(initial=0.0)))
    draw_arrows(ax, data)
    name_arrows(ax, Names(ax, size, np.empty((0, 2)), tips), data)
    weights = pd.DataFrame(1.0, correlations.index, correlations.columns) if loadings is None else loadings
    blocks = tuple(
        Block(ax, rows_of_block(ax, block_values(weights, correlations, supplementary, i), data), direction)
        for i, direction in zip(pair, ((1.0, 0.0), (0.0, 1.0)), strict=True)
    )
    sentences = _sentences(data, len(correlations), r)
    Margins(
        ax,
        (blocks[0], blocks[1]),
        (short_name(names[pair[0]]), short_name(names[pair[1]])),
        size,
        (np.full(2, -reach), np.full(2, reach)),
        True,
        note=drawing.note_below(ax, " ".join(sentences), size) if sentences else None,
        filled=0.0,
    )
    ticks = [-1, -0.5, 0, 0.5, 1]
    ax.set(xticks=ticks, yticks=ticks)
    return ax


def _circle_pair(components: Pair, names: list[Any]) -> list[int]:
    """Return the positions of the two components of a circle of correlations."""
    return drawing.pair_of(components, names, "a circle of correlations", "Fit with k=2 or more.")


@explained
def plot_correlations_data(
    correlations: pd.DataFrame,
    loadings: pd.DataFrame | None = None,
    *,
    components: Pair = (1, 2),
    max_arrows: int | None = 30,
    supplementary: pd.DataFrame | None = None,
) -> pd.DataFrame:
    """Return the arrows that `plot_correlations` draws, the longest first.

    "x" and "y" are the correlations with the two components; then whether the loading is "nonzero" on either
    component, whether the variable is a "supplementary" one, the "position" of the variable in the data, and
    the "length" of the arrow.
    """
    values = drawing.frame_of(correlations, "correlations")
    names = list(correlations.columns)
    pair = _circle_pair(components, names)
    nonzero = np.ones(len(values), dtype=bool)
    if loadings is not None:
        weights = drawing.frame_of(loadings)
        if weights.shape != values.shape or list(loadings.columns) != names:
            raise ShapeError("correlations and loadings must have the same variables and components.")
        nonzero = (weights[:, pair] != 0).any(axis=1)
    frame = _marker_frame(correlations.index, values[:, pair], nonzero)
    frame = _with_supplementary(frame, correlations, supplementary, pair)
    frame["length"] = np.hypot(frame["x"], frame["y"])
    frame = frame[(frame["length"] > 0).to_numpy()]
    return frame.iloc[longest(frame, max_arrows, 1)]


def _sentences(data: pd.DataFrame, p: int, r: float) -> list[str]:
    """Return the sentences of the note."""
    sentences = [f"Scores are correlated (r = {drawing.value_text(r)}): arrows may leave the circle."] * (
        abs(r) > 0.1
    )
    if not data["nonzero"].all():
        faint = "; faint: loading zero on both" if (~data["nonzero"] & ~data["supplementary"]).any() else ""
        coloured = "; coloured: supplementary" if data["supplementary"].any() else ""
        sentences.append(f"Correlations with the scores{faint}{coloured}.")
    count = int((~data["supplementary"]).sum())
    if count < p:
        sentences.append(f"{count} of the {p} variables are drawn: the longest of each component.")
    return sentences
