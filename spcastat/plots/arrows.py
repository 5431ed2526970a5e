"""Arrows of variables: their tips, their names, or numbers with a key, and the circle of correlations."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from spcastat.argument_names import explained
from spcastat.argument_types import Pair
from spcastat.config import listed, whole_number
from spcastat.errors import OptionError, ShapeError
from spcastat.labels import short_names
from spcastat.linalg.eigenvectors import leading
from spcastat.plots import axes_and_names as helpers
from spcastat.plots.axes_and_names import FURTHER, ink, line, shade, visible
from spcastat.plots.placement import Scene, scene_of, write_names

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.text import Annotation

#: Tips closer than this, in points, may share a number.
CLOSE = 7.0


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
    for side in sorted({*sides.tolist()} - {""}):
        here = np.flatnonzero(sides == side)
        drawn[here[np.argmax(np.hypot(*tips[here].T))]] = True
        if len(here) > 1:
            across = "|" if side in ("right", "left") else "_"
            style: dict[str, Any] = {"marker": across, "markersize": 6 * line(1.0)}
            style["markeredgewidth"] = line(1.1)
            ax.plot(*tips[here].T, linestyle="none", color=ink(ax), zorder=4, gid="ticks", **style)
    many = int(drawn.sum()) > 25
    for kind, width, order in ((~strong, 0.008, 3.5), (strong, 0.010 if many else 0.014, 4.0)):
        chosen = np.flatnonzero(drawn & kind)
        if not len(chosen):
            continue
        start = np.zeros(len(chosen))
        head: dict[str, Any] = {"width": line(width), "headwidth": 6, "headlength": 7, "headaxislength": 6.3}
        scale: dict[str, Any] = {"angles": "xy", "scale_units": "xy", "scale": 1, "units": "inches"}
        head |= {"color": [colours[i] for i in chosen], "zorder": order, "gid": "arrows"}
        ax.quiver(start, start, *tips[chosen].T, **scale, **head)


def name_arrows(
    ax: Axes,
    scene: Scene,
    arrows: pd.DataFrame,
    chosen: Sequence[int],
    said: Sequence[str],
    source: str,
    fontsize: str = "small",
    lists: Sequence[tuple[str, str]] = (),
    letters: bool = False,
    close: NDArray[np.bool_] | None = None,
) -> tuple[list[Annotation], str, int, list[int]]:
    """Write the "label" of the chosen arrows at their tips.

    Parameters
    ----------
    said : sequence of str
        The sentences of the note. Names without room on the axes follow, as many as the note has room for.
    source : str
        Where all names are; the note refers to it if it cannot give them all.
    lists : sequence of (str, str)
        Heading and entry, for the note, of each variable of the lists that have no room on the axes.
    letters : bool
        Whether letters in place of numbers stand at the tips without room for a name, because rows are named
        by numbers.
    close : ndarray of bool, optional
        Which arrows have a name close to the tip or none; by default lines may connect names and tips.

    Returns
    -------
    texts : list of Annotation
    key : str
        Sentence for the note with the names that have no room on the axes.
    lost : int
        Number of names that have no room in the note either, where they are only counted.
    missed : list of int
        The arrows without a name at their tip.
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
            close=None if close is None else close[these].tolist(),
            color=colour,
            fontsize=fontsize,
            gid="name",
        )
        written += [one for one in names if one is not None]
        for i, one in zip(these, names, strict=True):
            (missed if one is None else named).append(i)
    numbers, entries = _numbered(ax, scene, tips, labels, colours, missed, named, letters)
    entries = [*lists, *entries]
    most = len(entries)
    while most and not helpers.note_has_room(ax, [*said, _key(entries, most, source)]):
        most = 7 * most // 8
    heads = {head for head, _ in entries[:most]}
    for number in [one for one in numbers if one.get_text() not in heads]:
        number.remove()
        numbers.remove(number)
    return written + numbers, _key(entries, most, source), len(entries) - most, missed


def _key(entries: Sequence[tuple[str, str]], most: int, source: str) -> str:
    """Return a sentence with the first `most` entries and, if there are more, their number and `source`."""
    shown: dict[str, list[str]] = {}
    for head, name in entries[:most]:
        shown.setdefault(head, []).append(name)
    parts = [f"{head} {', '.join(names)}".strip() for head, names in shown.items()]
    parts += [f"{'and ' * bool(most)}{len(entries) - most} more: {source}"] * (most < len(entries))
    return "Names without room: " + "; ".join(parts) + "." if parts else ""


def _numbered(
    ax: Axes,
    scene: Scene,
    tips: np.ndarray,
    labels: list[str],
    colours: list[Any],
    missed: list[int],
    named: list[int],
    letters: bool,
) -> tuple[list[Annotation], list[tuple[str, str]]]:
    """Write numbers at tips without room for a name; return these texts, and number and name of each tip.

    Tips that almost coincide share a number. A number may be closer to a neighbouring unnamed tip than to its
    own, but never closer to a named tip. A tip without room for a number is described as "beside" the nearest
    tip that has a name or a number.
    """
    written: list[Annotation] = []
    known = {i: labels[i] for i in named}
    entries: list[tuple[str, str]] = []
    left: list[int] = []
    for members in _together(scene.tips, missed):
        number = _letters(len(written)) if letters else str(len(written) + 1)
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


def _letters(count: int) -> str:
    """Return a, b, ..., z, aa, ab, ... for 0, 1, ...."""
    text = ""
    count += 1
    while count:
        count, rest = divmod(count - 1, 26)
        text = chr(ord("a") + rest) + text
    return text


def _together(points: np.ndarray, chosen: list[int]) -> list[list[int]]:
    """Return clusters of the chosen tips that almost coincide, in the order given."""
    clusters: list[list[int]] = []
    for i in chosen:
        near = (one for one in clusters if np.hypot(*(points[i] - points[one[0]])) < CLOSE)
        if (cluster := next(near, None)) is None:
            clusters.append([i])
        else:
            cluster.append(i)
    return clusters


# --- positions ---


def same_components(scores: pd.DataFrame, other: pd.DataFrame, what: str) -> None:
    """Raise ShapeError unless a frame has the columns of the scores."""
    if list(scores.columns) != list(other.columns):
        raise ShapeError(
            f"The scores have the components {listed(scores.columns)}, the {what} {listed(other.columns)}; "
            "they must be the same."
        )


def side_of(x: np.ndarray, y: np.ndarray) -> np.ndarray:
    """Return the half axis on which each arrow lies exactly, or "" for arrows between the axes."""
    return np.select(
        [(y == 0) & (x > 0), (y == 0) & (x < 0), (x == 0) & (y > 0), (x == 0) & (y < 0)],
        ["right", "left", "top", "bottom"],
        default="",
    ).astype(object)


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
    frame = _marker_frame(loadings.index, weights * spread, nonzero, weights, side_of(*weights.T))
    if correlations is not None:
        known = helpers.frame_of(correlations, "correlations")
        same_components(scores, correlations, "correlations")
        if len(known) != len(weights):
            raise ShapeError(
                f"correlations has {len(known)} rows, loadings {len(weights)}; one for each variable."
            )
        if arrows == "correlations":
            frame = _marker_frame(loadings.index, np.nan_to_num(known[:, pair]), nonzero)
    elif arrows == "correlations":
        raise OptionError(
            "arrows='correlations' was given without correlations; give those of the variables with the "
            "scores, such as fit.correlations."
        )
    frame = frame[frame["nonzero"] | ((arrows == "correlations") & (frame[["x", "y"]] != 0).any(axis=1))]
    if supplementary is not None and arrows != "correlations":
        raise OptionError(
            "supplementary variables were given with arrows='loadings', and have none; give "
            "arrows='correlations'."
        )
    return _with_supplementary(frame, scores, supplementary, pair).fillna({"x": 0.0, "y": 0.0, "weight": 0.0})


def _marker_frame(
    index: pd.Index,
    ends: NDArray[np.float64],
    nonzero: Any,
    values: NDArray[np.float64] | None = None,
    sides: Any = "",
    supplementary: bool = False,
) -> pd.DataFrame:
    """Return a frame of tips; "weight" is the larger in size of two `values`, by default the coordinates."""
    values = ends if values is None else values
    largest = np.argmax(np.abs(values), axis=1)
    columns = {
        "x": ends[:, 0],
        "y": ends[:, 1],
        "side": sides,
        "weight": values[np.arange(len(values)), largest],
        "nonzero": nonzero,
        "supplementary": supplementary,
        "position": np.arange(len(values)),
    }
    return pd.DataFrame(columns, index=index)


def _with_supplementary(
    frame: pd.DataFrame, scores: pd.DataFrame, supplementary: pd.DataFrame | None, pair: list[int]
) -> pd.DataFrame:
    """Return the frame with the tips of supplementary variables, if any, below the others."""
    if supplementary is None:
        return frame
    further = helpers.frame_of(supplementary, what := "supplementary variables")
    same_components(scores, supplementary, what)
    return pd.concat([frame, _marker_frame(supplementary.index, further[:, pair], False, supplementary=True)])


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
        together = helpers.frame_of(score_correlations, "correlations of scores")
        if any(list(labels) != names for labels in score_correlations.axes):
            raise ShapeError("score_correlations must have the components as rows and as columns.")
        r = float(together[pair[0], pair[1]])
    x_name, y_name = helpers.axis_names([names[i] for i in pair], shares)
    ax = helpers.axes_for(ax, 6.2, 6.2)
    ax.set_xlabel(x_name, parse_math=False)
    ax.set_ylabel(y_name, parse_math=False)
    from matplotlib.patches import Circle

    ax.add_patch(Circle((0, 0), 1.0, fill=False, edgecolor=shade(ax, 0.45), linewidth=line(0.9), zorder=1))
    helpers.cross(ax)
    tips = data[["x", "y"]].to_numpy(dtype=float)
    reach = max(1.3, 1.12 * float(np.abs(tips).max(initial=0.0)))
    ticks = [-1, -0.5, 0, 0.5, 1]
    ax.set(xlim=(-reach, reach), ylim=(-reach, reach), xticks=ticks, yticks=ticks)
    ax.set_aspect("equal", adjustable="box")
    arrows = data.assign(side="")
    draw_arrows(ax, arrows)
    sentences = _sentences(data, len(correlations), r)
    note = helpers.write_note(ax, sentences or [" "])
    while True:
        helpers.run_layout(ax)
        scene = scene_of(ax, tips, np.empty((0, 2)))
        every = range(len(arrows))
        written, key, _, _ = name_arrows(ax, scene, arrows, every, sentences, "see correlations")
        if helpers.rewrite_note(ax, note, [*sentences, key]):
            return ax
        for label in written:  # a longer note leaves less room for the axes: place the names again
            label.remove()


def _circle_pair(components: Pair, names: list[Any]) -> list[int]:
    """Return the positions of the two components of a circle of correlations."""
    return helpers.pair_of(components, names, "a circle of correlations", "Fit with k=2 or more.")


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

    "x" and "y" are the correlations with the two components, "length" the distance from the origin; then the
    "label", whether the loading is "nonzero" on either component, and whether the variable is a
    "supplementary" one.
    """
    values = helpers.frame_of(correlations, "correlations")
    names = list(correlations.columns)
    pair = _circle_pair(components, names)
    nonzero = np.ones(len(values), dtype=bool)
    if loadings is not None:
        weights = helpers.frame_of(loadings)
        if weights.shape != values.shape or list(loadings.columns) != names:
            raise ShapeError("correlations and loadings must have the same variables and components.")
        nonzero = (weights[:, pair] != 0).any(axis=1)
    frame = _marker_frame(correlations.index, values[:, pair], nonzero)
    frame = _with_supplementary(frame, correlations, supplementary, pair)
    frame["length"] = np.hypot(frame["x"], frame["y"])
    frame["label"] = [*short_names(list(correlations.index)), *short_names(list(frame.index[len(values) :]))]
    columns = ["x", "y", "length", "label", "nonzero", "supplementary"]
    frame = frame.loc[np.isfinite(frame["length"].to_numpy()), columns]
    return frame.iloc[longest(frame, max_arrows, 1)]


def _sentences(data: pd.DataFrame, p: int, r: float) -> list[str]:
    """Return the sentences of the note."""
    said = [f"Scores are correlated (r = {helpers.value_text(r)}): arrows may leave the circle."] * (
        abs(r) > 0.1
    )
    if not data["nonzero"].all():
        faint = "; faint: loading zero on both" if (~data["nonzero"] & ~data["supplementary"]).any() else ""
        coloured = "; coloured: supplementary" if data["supplementary"].any() else ""
        said.append(f"Correlations with the scores{faint}{coloured}.")
    drawn = int((~data["supplementary"]).sum())
    if drawn < p:
        said.append(f"{drawn} of the {p} variables are drawn: the longest of each component.")
    return said
