"""The circle of correlations: every variable at its correlations with two components."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Literal

import numpy as np
import pandas as pd

from spcastat.config import one_of, shown, whole_number
from spcastat.errors import ComponentsError, ShapeError
from spcastat.labels import short_names
from spcastat.plots._arrows import draw_arrows, name_arrows
from spcastat.plots._labels import scene_of
from spcastat.plots._notes import rewrite_note, write_note
from spcastat.plots._shared import axes_for, axis_names, frame_of, positions, settle
from spcastat.plots._theme import FURTHER, ink, line, shade, size_of_text, visible

if TYPE_CHECKING:
    from matplotlib.axes import Axes

#: The half side of the square around the circle.
REACH = 1.3


def plot_correlations_data(
    correlations: pd.DataFrame,
    loadings: pd.DataFrame | None = None,
    *,
    components: Sequence[int | str] = (1, 2),
    variables: int | Literal["all"] = 30,
    supplementary: pd.DataFrame | None = None,
) -> pd.DataFrame:
    """Return what :func:`plot_correlations` draws; parameters and errors are described there.

    Returns
    -------
    DataFrame, q x 6
        "x" and "y", the correlations with the two components; "length"; the "label" on the plot; whether the
        loading is "nonzero" on either component, and whether the variable is a "supplementary" one.
    """
    values = frame_of(correlations, "correlations")
    if values.shape[1] < 2:
        raise ComponentsError(
            "There is one component; a circle of correlations needs two. Fit with k=2 or more."
        )
    pair = positions(components, list(correlations.columns))
    if len(pair) != 2:
        raise ComponentsError(
            f"components={shown(components)} was given; a circle of correlations shows two."
        )
    nonzero = np.ones(len(values), dtype=bool)
    if loadings is not None:
        weights = frame_of(loadings)
        if weights.shape != values.shape or list(loadings.columns) != list(correlations.columns):
            raise ShapeError("correlations and loadings must have the same variables and components.")
        nonzero = (weights[:, pair] != 0).any(axis=1)
    parts = [_part(correlations, pair, nonzero, False)]
    if supplementary is not None:
        frame_of(supplementary, "supplementary variables")
        if list(supplementary.columns) != list(correlations.columns):
            raise ShapeError("The supplementary variables must have the components of the others.")
        parts.append(_part(supplementary, pair, np.zeros(len(supplementary), dtype=bool), True))
    frame = pd.concat(parts)
    frame = frame[np.isfinite(frame["length"].to_numpy())]
    strong = (frame["nonzero"] | frame["supplementary"]).to_numpy()
    order = np.lexsort([np.arange(len(frame)), -frame["length"].to_numpy(), ~strong])
    if isinstance(variables, str):
        one_of("variables", variables, ["all"])
    else:
        order = order[: whole_number("variables", variables, 1)]
    return frame.iloc[order]


def plot_correlations(
    correlations: pd.DataFrame,
    loadings: pd.DataFrame | None = None,
    *,
    components: Sequence[int | str] = (1, 2),
    variables: int | Literal["all"] = 30,
    shares: pd.Series | None = None,
    supplementary: pd.DataFrame | None = None,
    ax: Axes | None = None,
) -> Axes:
    """Draw the correlations of the variables with two components as arrows within the unit circle.

    With uncorrelated scores an arrow that reaches the circle belongs to a variable that the two components
    explain wholly. Scores of sparse components are mostly correlated; arrows can then leave the circle.

    Parameters
    ----------
    correlations : DataFrame, p x k
        Of variables and scores.
    loadings : DataFrame, p x k, optional
        Variables without a nonzero loading on the two components are drawn faintly.
    components : two of int or str
        Numbers counted from one, or names.
    variables : int or "all"
        The most arrows to draw: the longest, those with a nonzero loading first.
    shares : Series, optional
        The fraction of variance of each component, for the axes.
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
        Fewer than two components, or one that does not exist.
    ShapeError
        Frames that do not fit one another.
    OptionError
        `variables` out of range, `ax` that is not an Axes.
    """
    data = plot_correlations_data(
        correlations, loadings, components=components, variables=variables, supplementary=supplementary
    )
    pair = positions(components, list(correlations.columns))
    size = size_of_text()
    ax = axes_for(ax, 6.2 * size, 6.2 * size)
    x_name, y_name = axis_names([correlations.columns[i] for i in pair], shares)
    ax.set_xlabel(x_name, parse_math=False)
    ax.set_ylabel(y_name, parse_math=False)
    from matplotlib.patches import Circle

    ax.add_patch(Circle((0, 0), 1.0, fill=False, edgecolor=shade(ax, 0.45), linewidth=line(0.9), zorder=1))
    for draw in (ax.axhline, ax.axvline):
        draw(0, color=shade(ax, 0.2), linewidth=line(0.8), zorder=0.5)
    reach = max(REACH, 1.12 * float(np.abs(data[["x", "y"]].to_numpy()).max(initial=0.0)))
    ax.set(
        xlim=(-reach, reach), ylim=(-reach, reach), xticks=[-1, -0.5, 0, 0.5, 1], yticks=[-1, -0.5, 0, 0.5, 1]
    )
    ax.set_aspect("equal", adjustable="box")
    _draw(ax, data, _sentences(data, len(correlations)))
    return ax


def _draw(ax: Axes, data: pd.DataFrame, sentences: list[str]) -> None:
    """Draw the arrows and name them; the note below takes the key of those without room."""
    tips = data[["x", "y"]].to_numpy(dtype=float)
    strong = (data["nonzero"] | data["supplementary"]).to_numpy()
    arrows = data.assign(side="")
    further = visible(ax, FURTHER)
    kinds = list(zip(data["nonzero"], data["supplementary"], strict=True))
    colours = [further if extra else ink(ax) if used else shade(ax, 0.38) for used, extra in kinds]
    names = [further if extra else ink(ax) if used else shade(ax, 0.62) for used, extra in kinds]
    draw_arrows(ax, tips, arrows["side"].to_numpy(), colours, strong)
    note = write_note(ax, sentences or [" "])
    shafts = np.stack([np.zeros_like(tips), tips], axis=1)
    while True:
        settle(ax)
        scene = scene_of(ax, tips, shafts, np.empty((0, 2)))
        written, key = name_arrows(ax, scene, arrows, names)
        if rewrite_note(ax, note, [*sentences, key]):
            break
        for label in written:
            label.remove()


def _sentences(data: pd.DataFrame, p: int) -> list[str]:
    said = []
    if not data["nonzero"].all():
        faint = "; faint: loading zero on both" if (~data["nonzero"] & ~data["supplementary"]).any() else ""
        coloured = "; coloured: supplementary" if data["supplementary"].any() else ""
        said.append(f"Correlations with the scores{faint}{coloured}.")
    drawn = int((~data["supplementary"]).sum())
    if drawn < p:
        said.append(f"{drawn} of the {p} variables are drawn, the longest arrows.")
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
