"""The circle of correlations: every variable at its correlations with two components."""

from __future__ import annotations

from collections.abc import Generator, Sequence
from typing import TYPE_CHECKING, Literal

import numpy as np
import pandas as pd

from spcastat.errors import ShapeError
from spcastat.labels import short_names
from spcastat.plots.arrow_labels import draw_arrows, longest, name_arrows
from spcastat.plots.axes_and_names import (
    axes_for,
    axis_names,
    frame_of,
    note_has_room,
    pair_of,
    rewrite_note,
    settle,
    value_text,
    write_note,
)
from spcastat.plots.label_placement import scene_of
from spcastat.plots.plot_and_table import plot
from spcastat.plots.plot_colours import line, shade

if TYPE_CHECKING:
    from matplotlib.axes import Axes


@plot
def plot_correlations(
    correlations: pd.DataFrame,
    loadings: pd.DataFrame | None = None,
    *,
    components: Sequence[int | str] = (1, 2),
    variables: int | Literal["all"] = 30,
    shares: pd.Series | None = None,
    score_correlation: pd.DataFrame | None = None,
    supplementary: pd.DataFrame | None = None,
    ax: Axes | None = None,
) -> Generator[pd.DataFrame, None, Axes]:
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
    variables : int or "all"
        The largest number of arrows: those with a nonzero loading first, the longest along one component and
        the other in turn.
    shares : Series, optional
        The fraction of variance of each component, for the axis labels.
    score_correlation : DataFrame, k x k, optional
        Correlations of the scores; the note says if those of the two components are correlated.
    supplementary : DataFrame, s x k, optional
        Correlations of further variables with the scores, drawn in another colour.
    ax : Axes, optional
        By default those of a new figure.

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
        If `variables` is out of range, or `ax` is not an Axes.

    Notes
    -----
    Its table, `plot_correlations_data`, has one row for each arrow: "x" and "y", the correlations with the
    two components; "length"; the "label"; whether the loading is "nonzero" on either component, and whether
    the variable is a "supplementary" one.
    """
    values = frame_of(correlations, "correlations")
    names = list(correlations.columns)
    pair = pair_of(components, names, "a circle of correlations", "Fit with k=2 or more.")
    nonzero = np.ones(len(values), dtype=bool)
    if loadings is not None:
        weights = frame_of(loadings)
        if weights.shape != values.shape or list(loadings.columns) != names:
            raise ShapeError("correlations and loadings must have the same variables and components.")
        nonzero = (weights[:, pair] != 0).any(axis=1)
    parts = [_part(correlations, pair, nonzero, False)]
    if supplementary is not None:
        frame_of(supplementary, "supplementary variables")
        if list(supplementary.columns) != names:
            raise ShapeError("The supplementary variables must have the components of the others.")
        parts.append(_part(supplementary, pair, np.zeros(len(supplementary), dtype=bool), True))
    r = 0.0
    if score_correlation is not None:
        together = frame_of(score_correlation, "correlations of scores")
        if any(list(labels) != names for labels in score_correlation.axes):
            raise ShapeError("score_correlation must have the components as rows and as columns.")
        r = float(together[pair[0], pair[1]])
    frame = pd.concat(parts)
    frame = frame[np.isfinite(frame["length"].to_numpy())]
    data = frame.iloc[longest(frame, variables, 1)]
    x_name, y_name = axis_names([names[i] for i in pair], shares)
    yield data
    ax = axes_for(ax, 6.2, 6.2)
    ax.set_xlabel(x_name, parse_math=False)
    ax.set_ylabel(y_name, parse_math=False)
    from matplotlib.patches import Circle

    ax.add_patch(Circle((0, 0), 1.0, fill=False, edgecolor=shade(ax, 0.45), linewidth=line(0.9), zorder=1))
    for draw in (ax.axhline, ax.axvline):
        draw(0, color=shade(ax, 0.2), linewidth=line(0.8), zorder=0.5)
    tips = data[["x", "y"]].to_numpy(dtype=float)
    reach = max(1.3, 1.12 * float(np.abs(tips).max(initial=0.0)))
    ticks = [-1, -0.5, 0, 0.5, 1]
    ax.set(xlim=(-reach, reach), ylim=(-reach, reach), xticks=ticks, yticks=ticks)
    ax.set_aspect("equal", adjustable="box")
    arrows = data.assign(side="")
    draw_arrows(ax, arrows)
    sentences = _sentences(data, len(correlations), r)
    note = write_note(ax, sentences or [" "])

    def fits(key: str) -> bool:
        return note_has_room(ax, [*sentences, key])

    while True:
        settle(ax)
        scene = scene_of(ax, tips, np.stack([np.zeros_like(tips), tips], axis=1), np.empty((0, 2)))
        written, key, _ = name_arrows(ax, scene, arrows, range(len(arrows)), fits, "plot_correlations_data()")
        if rewrite_note(ax, note, [*sentences, key]):
            return ax
        for label in written:  # a longer note leaves less room for the axes: place the names again
            label.remove()


def _sentences(data: pd.DataFrame, p: int, r: float) -> list[str]:
    """Return the sentences of the note."""
    said = [f"Scores are correlated (r = {value_text(r)}): arrows may leave the circle."] * (abs(r) > 0.1)
    if not data["nonzero"].all():
        faint = "; faint: loading zero on both" if (~data["nonzero"] & ~data["supplementary"]).any() else ""
        coloured = "; coloured: supplementary" if data["supplementary"].any() else ""
        said.append(f"Correlations with the scores{faint}{coloured}.")
    drawn = int((~data["supplementary"]).sum())
    if drawn < p:
        said.append(f"{drawn} of the {p} variables are drawn: the longest of each component.")
    return said


def _part(
    correlations: pd.DataFrame, pair: list[int], nonzero: np.ndarray, supplementary: bool
) -> pd.DataFrame:
    values = correlations.to_numpy(dtype=float)[:, pair]
    return pd.DataFrame(
        {
            "x": values[:, 0],
            "y": values[:, 1],
            "length": np.hypot(*values.T),
            "label": short_names(list(correlations.index)),
            "nonzero": nonzero,
            "supplementary": supplementary,
        },
        index=correlations.index,
    )
