"""Arrows of variables: tables of their tips, their drawing, and the circle of correlations."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd
from matplotlib.patches import Circle
from numpy.typing import NDArray

from spcastat.arguments import explained, listed, whole_number
from spcastat.errors import ShapeError
from spcastat.hints import Pair
from spcastat.labels import name_text, short_names
from spcastat.linalg.eigenvectors import leading
from spcastat.plots import drawing
from spcastat.plots.blocks import Block, NamedBar
from spcastat.plots.captions import (
    Content,
    Sentence,
    on_arrows,
    on_bars,
    on_correlation,
    on_shares,
    on_supplementary,
)
from spcastat.plots.drawing import SUPPLEMENTARY, ink, line, shade, visible
from spcastat.plots.margins import Margins
from spcastat.plots.names import TIP_COVER, Names

if TYPE_CHECKING:
    from matplotlib.axes import Axes

#: Default of the largest number of arrows.
MAX_ARROWS = 12
#: Room for names beside the circle, as a share of its width, split between the sides like the arrows.
SIDE_ROOM = 0.4
#: Largest number of characters of a name at the tip of an arrow, and of one without room for so many. In 15
#: plots of five tables at 7 x 5 in, 222 arrows are named with 36 and 13, 223 with 24 and 13; at 3.4 x 3
#: in 180 and 183.
TIP_NAME, SHORT_TIP_NAME = 36, 13


# --- the table of variables -----------------------------------------------------------------------


def variables_of(
    values: pd.DataFrame,
    weights: NDArray[np.float64],
    pair: list[int],
    supplementary: pd.DataFrame | None,
    spread: Any = 1.0,
) -> pd.DataFrame:
    """Return a frame with a row for each variable and supplementary variable.

    "x" and "y" are the tip of the arrow, `values` * `spread`. "first" and "second" are the values of the bars
    on the two components; "on_first" and "on_second" state whether there is a bar. "nonzero" states whether
    the loading is nonzero on either component. "position" is the position of the variable in the data;
    supplementary variables have the following positions.

    Parameters
    ----------
    values : DataFrame, p x k
        Loadings or correlations.
    weights : ndarray of shape (p, k)
        Loadings.
    pair : list of two int
        Positions of the components.
    supplementary : DataFrame, s x k, optional
    spread : ndarray of shape (2,), optional
    """
    parts = [_variables(values, weights[:, pair] != 0, pair, spread)]
    parts[0]["supplementary"] = False
    if supplementary is not None:
        drawing.frame_of(supplementary, title := "supplementary variables")
        same_components(values, supplementary, title)
        supplement = _variables(supplementary, np.ones((len(supplementary), 2), dtype=bool), pair, 1.0)
        parts.append(supplement.assign(supplementary=True))
    frame = pd.concat(parts)
    frame["nonzero"] = (frame["on_first"] | frame["on_second"]) & ~frame["supplementary"]
    return frame.assign(position=np.arange(len(frame)))


def _variables(values: pd.DataFrame, on: NDArray[np.bool_], pair: list[int], spread: Any) -> pd.DataFrame:
    bars = np.nan_to_num(values.to_numpy(dtype=float)[:, pair])
    columns = np.hstack([bars * spread, bars])
    frame = pd.DataFrame(columns, values.index, ["x", "y", "first", "second"])
    return frame.assign(on_first=on[:, 0], on_second=on[:, 1])


def arrows_of(variables: pd.DataFrame, max_arrows: int | None) -> pd.DataFrame:
    """Return the arrows to draw: the longest first, faint arrows after all others.

    An arrow is faint if its variable has no nonzero loading and is not supplementary. If there are more
    variables than `max_arrows`, the two components take turns (see `leading`), so that both are shown.

    Parameters
    ----------
    variables : DataFrame
        As `variables_of` returns it.
    max_arrows : int or None
        The largest number of arrows; None for all.
    """
    arrows = variables[["x", "y", "nonzero", "supplementary", "position"]]
    strong = (arrows["nonzero"] | arrows["supplementary"]).to_numpy()
    tips = arrows[["x", "y"]].to_numpy(dtype=float)
    arrows = arrows.assign(length=np.hypot(*tips.T))
    order = np.lexsort([-arrows["length"].to_numpy(), ~strong])
    if max_arrows is not None:
        count = whole_number("max_arrows", max_arrows, 0)
        selection = leading(tips * strong[:, None], count)
        selection = np.concatenate([selection, order[~np.isin(order, selection)]])[:count]
        order = order[np.isin(order, selection)]
    return arrows.iloc[order]


def bars_of(variables: pd.DataFrame, components: Sequence[str]) -> pd.DataFrame:
    """Return the bars of the two components, the largest first: "value", "supplementary", "position"."""
    parts = []
    for component, place in zip(components, ("first", "second"), strict=True):
        block = variables[variables[f"on_{place}"]].rename(columns={place: "value"})
        order = np.lexsort([-block["value"].abs(), block["supplementary"]])
        parts.append(block[["value", "supplementary", "position"]].iloc[order].assign(component=component))
    return pd.concat(parts)


def same_components(scores: pd.DataFrame, other: pd.DataFrame, what: str) -> None:
    """Raise ShapeError unless a frame has the same columns as the scores."""
    if list(scores.columns) != list(other.columns):
        raise ShapeError(
            f"The scores have the components {listed(scores.columns)}, the {what} {listed(other.columns)}; "
            "they must be the same."
        )


# --- drawing --------------------------------------------------------------------------------------


def colours_of_arrows(ax: Axes, arrows: pd.DataFrame, faint: float) -> list[Any]:
    """Return the colour of each arrow; `faint` is the shade of those without a nonzero loading."""
    kinds = zip(arrows["nonzero"], arrows["supplementary"], strict=True)
    strong, pale, supplement_colour = ink(ax), shade(ax, faint), visible(ax, SUPPLEMENTARY)
    return [supplement_colour if extra else strong if nonzero else pale for nonzero, extra in kinds]


def draw_arrows(ax: Axes, arrows: pd.DataFrame) -> None:
    """Draw an arrow from the origin to each tip, faint arrows below the others."""
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
    """Name the tips of arrows if there is room.

    Supplementary variables come first, then variables with a nonzero loading, and long arrows precede short
    ones.
    """
    colours = colours_of_arrows(ax, arrows, 0.62)
    labels, short_labels = (
        short_names(list(arrows.index), limit, arrows["position"].tolist())
        for limit in (TIP_NAME, SHORT_TIP_NAME)
    )
    tips = arrows[["x", "y"]].to_numpy(dtype=float)
    drawn_first = -arrows["length"].to_numpy(), ~arrows["nonzero"].to_numpy(dtype=bool)
    for i in np.lexsort((*drawn_first, ~arrows["supplementary"].to_numpy(dtype=bool))):
        style: dict[str, Any] = {"at_tip": True, "leader": True, "most_covered": TIP_COVER}
        short_text = short_labels[i] if short_labels[i] != labels[i] else ""
        options = {"variable": int(arrows["position"].iloc[i]), "short_text": short_text}
        names.add(tips[i], labels[i], colours[i], **options, **style)


def draw_bars(
    ax: Axes, bars: pd.DataFrame, components: tuple[str, str], arrows: pd.DataFrame
) -> tuple[Block, Block]:
    """Draw the bars of each component as a block, with the direction of the arrow of each variable."""
    bar, supplement_colour = shade(ax, 0.75), visible(ax, SUPPLEMENTARY)
    columns = arrows["position"], arrows["x"], arrows["y"], arrows["length"]
    directions = {i: (x / size, y / size) for i, x, y, size in zip(*columns, strict=True) if size}
    blocks = []
    for component, direction in zip(components, ((1.0, 0.0), (0.0, 1.0)), strict=True):
        block = bars[bars["component"] == component]
        rows = [
            NamedBar(
                name_text(name), value, supplement_colour if extra else bar, directions.get(i), variable=i
            )
            for name, value, extra, i in zip(
                block.index, block["value"], block["supplementary"], block["position"], strict=True
            )
        ]
        blocks.append(Block(ax, rows, direction))
    return blocks[0], blocks[1]


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

    The plot of a fit, `SpcaResult.plot_correlations`, from frames computed elsewhere.

    Parameters
    ----------
    correlations : DataFrame, p x k
        Correlations of the variables with the scores.
    loadings : DataFrame, p x k, optional
        Variables without a nonzero loading on the two components get faint arrows.
    components, max_arrows, ax
        As for `SpcaResult.plot_correlations`.
    shares : Series, optional
        The share of each component in the total variance, for the axis labels. ``shares.attrs["share"]``
        names the measure and ``shares.attrs["total"]`` another total.
    score_correlations : DataFrame, k x k, optional
        Correlations of the scores; the note states whether the scores of the two components are correlated.
    supplementary : DataFrame, s x k, optional
        Correlations of further variables with the scores, drawn in another colour.

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
    data, bars, pair = _circle(correlations, loadings, components, max_arrows, supplementary)
    names = list(correlations.columns)
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
    for axis in (ax.xaxis, ax.yaxis):
        axis.set_ticks([-1.0, -0.5, 0.0, 0.5, 1.0], ["−1", "", "0", "", "1"])
    ax.add_patch(Circle((0, 0), 1.0, fill=False, edgecolor=shade(ax, 0.45), linewidth=line(0.9), zorder=1))
    drawing.cross(ax)
    tips = data[["x", "y"]].to_numpy(dtype=float)
    reach = max(1.08, 1.06 * float(np.abs(tips).max(initial=0.0)))
    to_the_right = float((tips[:, 0] > 0).mean()) if len(tips) else 0.5
    room = 2.0 * SIDE_ROOM * reach * np.array([[1.0 - to_the_right, 0.0], [to_the_right, 0.0]])
    draw_arrows(ax, data)
    texts = Names(ax, size, np.empty((0, 2)), tips)
    name_arrows(ax, texts, data)
    undrawn = len(correlations) - int((~data["supplementary"]).sum())
    x_heading, y_heading = short_names([names[i] for i in pair])
    caption = partial(_caption, data, bars, undrawn, r, on_shares(shares, (x_name, y_name)))
    Margins(
        ax,
        texts,
        draw_bars(ax, bars, (x_heading, y_heading), data),
        (x_heading, y_heading),
        size,
        (-reach - room[0], reach + room[1]),
        True,
        caption,
        drawing.total_of(shares),
        blocks_may_go=True,
        note=drawing.note_below(ax, size),
        filled=0.0,
    )
    return ax


def _circle(
    correlations: pd.DataFrame,
    loadings: pd.DataFrame | None,
    components: Pair,
    max_arrows: int | None,
    supplementary: pd.DataFrame | None,
) -> tuple[pd.DataFrame, pd.DataFrame, list[int]]:
    """Return the arrows and bars of a circle of correlations, and the positions of its two components."""
    values = drawing.frame_of(correlations, "correlations")
    names = list(correlations.columns)
    pair = drawing.pair_of(components, names, "a circle of correlations", "Fit with k=2 or more.")
    weights = np.ones(values.shape) if loadings is None else drawing.frame_of(loadings)
    if loadings is not None and (weights.shape != values.shape or list(loadings.columns) != names):
        raise ShapeError("correlations and loadings must have the same variables and components.")
    variables = variables_of(correlations, weights, pair, supplementary)
    arrows = arrows_of(variables[(variables[["x", "y"]] != 0).any(axis=1)], max_arrows)
    return arrows, bars_of(variables, short_names([names[i] for i in pair])), pair


@explained
def plot_correlations_data(
    correlations: pd.DataFrame,
    loadings: pd.DataFrame | None = None,
    *,
    components: Pair = (1, 2),
    max_arrows: int | None = 30,
    supplementary: pd.DataFrame | None = None,
) -> pd.DataFrame:
    """Return the arrows that `plot_correlations` draws, the longest first, as a frame with six columns.

    "x" and "y" are the correlations with the two components. "nonzero" states whether the loading is nonzero
    on either component, and "supplementary" whether the variable is supplementary. "position" is the position
    of the variable in the data, and "length" the length of the arrow.
    """
    return _circle(correlations, loadings, components, max_arrows, supplementary)[0]


def _caption(
    data: pd.DataFrame,
    bars: pd.DataFrame,
    undrawn: int,
    r: float,
    shares: Sequence[Sentence],
    content: Content,
) -> list[Sentence]:
    """Return the sentences of the note; `undrawn` is a number of variables, `r` a correlation of scores."""
    sentences = on_arrows(data, "correlations", undrawn, content.arrows)
    if content.bars:
        sentences += on_bars(bars, "correlations", content.values)
    sentences += on_supplementary(data, bars if content.bars else bars.iloc[:0])
    return [*sentences, *shares, *on_correlation(r)]
