"""What a biplot draws: where points and arrows lie, before anything is drawn."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any, Literal

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from spcastat.config import listed, one_of, real_number, shown, whole_number
from spcastat.errors import ComponentsError, OptionError, ShapeError
from spcastat.labels import short_name, short_names
from spcastat.plots._groups import group_rows, row_numbers
from spcastat.plots._row_names import row_labels
from spcastat.plots._scaling import correlation_of, scaling_text, spread_of, stretch_of
from spcastat.plots._shared import frame_of, positions
from spcastat.plots._stacks import side_of

#: What arrows can stand for.
ARROWS = ("loadings", "correlations")


@dataclass(frozen=True)
class BiplotData:
    """What a biplot draws.

    Attributes
    ----------
    points : DataFrame, n x 2 or more
        "x" and "y" of every row, its "group" or "color" if these were given, and its "label", "" without one.
    arrows : DataFrame, q x 8
        The variables that are drawn, the longest first: "x" and "y" where the arrow ends, its "length" as
        drawn, the "side" on which it lies exactly on an axis ("right", "left", "top", "bottom", or ""), the
        "weight" that the list at that end shows (loading or correlation), its "label" on the plot, whether
        its loading is "nonzero" on either component, and whether it is a "supplementary" variable. Divide
        by `stretch` for Gabriel's markers, or for correlations.
    stretch : float
        The common factor by which the arrows are longer than Gabriel's markers (or than correlations), to
        share the axes with the points.
    correlation : float
        Of the two columns of scores; NaN if one of them is constant.
    components : tuple of str
        Names of the two components.
    new : DataFrame
        "x", "y" and "label" of new rows.
    levels : DataFrame
        "x", "y" and "label" of the means of levels of supplementary factors.
    undrawn : int
        Variables with a nonzero loading on either component that are not drawn.
    scaling : str
        How points and arrows are scaled.
    """

    points: pd.DataFrame
    arrows: pd.DataFrame
    stretch: float
    correlation: float
    components: tuple[str, str]
    new: pd.DataFrame = field(default_factory=pd.DataFrame)
    levels: pd.DataFrame = field(default_factory=pd.DataFrame)
    undrawn: int = 0
    scaling: str = ""


def biplot_data(
    scores: pd.DataFrame,
    loadings: pd.DataFrame,
    *,
    components: Sequence[int | str] = (1, 2),
    scale: float = 1.0,
    arrows: Literal["loadings", "correlations"] = "loadings",
    correlations: pd.DataFrame | None = None,
    variables: int | Literal["all"] = 30,
    groups: Any = None,
    color: Any = None,
    labels: Any = 0,
    new: pd.DataFrame | None = None,
    supplementary: pd.DataFrame | None = None,
    levels: pd.DataFrame | None = None,
) -> BiplotData:
    """Return what :func:`biplot` draws; the parameters, errors and definitions are described there."""
    values = frame_of(scores, "scores")
    frame_of(loadings)
    _same_components(scores, loadings, "loadings")
    if values.shape[1] < 2:
        raise ComponentsError(
            "There is one component; a biplot needs two. Fit with k=2 or more, or take plot_scores() for the "
            "scores of one and plot_loadings() for its loadings."
        )
    pair = positions(components, list(scores.columns))
    if len(pair) != 2:
        raise ComponentsError(f"components={shown(components)} was given; a biplot shows two.")
    one_of("arrows", arrows, ARROWS)
    scale = real_number("scale", scale, 0.0, 1.0)
    if groups is not None and color is not None:
        raise OptionError("groups and color were given; one of them can colour the points.")
    names = (short_name(scores.columns[pair[0]]), short_name(scores.columns[pair[1]]))
    spread = spread_of(values[:, pair], scale, names)
    xy = values[:, pair] / spread**scale
    points = pd.DataFrame({"x": xy[:, 0], "y": xy[:, 1]}, index=scores.index)
    if groups is not None:
        points["group"] = group_rows(groups, scores.index)
    if color is not None:
        points["color"] = row_numbers(color, scores.index)
    points["label"] = row_labels(labels, scores.index, np.hypot(*xy.T))
    markers = _markers(loadings, correlations, arrows, pair, spread**scale, supplementary, scores)
    stretch = stretch_of(xy, markers[["x", "y"]].to_numpy())
    drawn, undrawn = _chosen(markers, variables)
    drawn[["x", "y"]] *= stretch
    drawn.insert(2, "length", np.hypot(drawn["x"], drawn["y"]))
    drawn.insert(5, "label", short_names(list(drawn.index), positions=drawn.pop("place").tolist()))
    return BiplotData(
        points,
        drawn,
        stretch,
        correlation_of(values[:, pair]),
        names,
        _points_of(new, "new", scores, pair, spread**scale),
        _points_of(levels, "levels", scores, pair, spread**scale),
        undrawn,
        scaling_text(scale, arrows, stretch),
    )


def _same_components(scores: pd.DataFrame, other: pd.DataFrame, what: str) -> None:
    if list(scores.columns) != list(other.columns):
        raise ShapeError(
            f"The scores have the components {listed(scores.columns)}, the {what} {listed(other.columns)}; "
            "they must be the same."
        )


def _markers(
    loadings: pd.DataFrame,
    correlations: pd.DataFrame | None,
    arrows: str,
    pair: list[int],
    spread: NDArray[np.float64],
    supplementary: pd.DataFrame | None,
    scores: pd.DataFrame,
) -> pd.DataFrame:
    """Return where arrows end before they are stretched, those with a nonzero loading first."""
    weights = loadings.to_numpy(dtype=float)[:, pair]
    nonzero = (weights != 0).any(axis=1)
    ends, sides, values = weights * spread, side_of(*weights.T), weights
    if correlations is not None:
        frame_of(correlations, "correlations")
        _same_components(scores, correlations, "correlations")
        if len(correlations) != len(weights):
            raise ShapeError(
                f"correlations has {len(correlations)} rows, loadings {len(weights)}; one for each variable."
            )
    if arrows == "correlations":
        if correlations is None:
            raise OptionError(
                "arrows='correlations' was given without correlations; give those of the variables with the "
                "scores, such as fit.correlations."
            )
        values = ends = np.nan_to_num(frame_of(correlations, "correlations")[:, pair])
        sides = np.full(len(ends), "", dtype=object)
    frame = _marker_frame(loadings.index, ends, sides, values, nonzero, False)
    frame = frame[frame["nonzero"] | ((arrows == "correlations") & (frame[["x", "y"]] != 0).any(axis=1))]
    if supplementary is None:
        return frame
    if arrows != "correlations":
        raise OptionError(
            "supplementary variables were given with arrows='loadings', and have none; give "
            "arrows='correlations'."
        )
    _same_components(scores, supplementary, "supplementary variables")
    further = np.nan_to_num(frame_of(supplementary, "supplementary variables")[:, pair])
    none = np.full(len(further), "", dtype=object)
    added = _marker_frame(
        supplementary.index, further, none, further, np.zeros(len(further), dtype=bool), True
    )
    return pd.concat([frame, added])


def _marker_frame(
    index: pd.Index, ends: NDArray[np.float64], sides: Any, values: Any, nonzero: Any, supplementary: bool
) -> pd.DataFrame:
    largest = np.argmax(np.abs(values), axis=1)
    return pd.DataFrame(
        {
            "x": ends[:, 0],
            "y": ends[:, 1],
            "side": sides,
            "weight": values[np.arange(len(values)), largest],
            "nonzero": nonzero,
            "supplementary": supplementary,
            "place": np.arange(len(values)),
        },
        index=index,
    )


def _chosen(markers: pd.DataFrame, variables: int | str) -> tuple[pd.DataFrame, int]:
    """Return the markers that are drawn, the longest first, and how many with a nonzero loading are not."""
    strong = (markers["nonzero"] | markers["supplementary"]).to_numpy()
    length = np.hypot(*markers[["x", "y"]].to_numpy(dtype=float).T)
    order = np.lexsort([np.arange(len(markers)), -length, ~strong])
    if isinstance(variables, str):
        one_of("variables", variables, ["all"])
    else:
        order = order[: whole_number("variables", variables, 0)]
    drawn = markers.iloc[order].copy()
    return drawn, int(markers["nonzero"].sum() - drawn["nonzero"].sum())


def _points_of(
    frame: pd.DataFrame | None, what: str, scores: pd.DataFrame, pair: list[int], spread: NDArray[np.float64]
) -> pd.DataFrame:
    if frame is None:
        return pd.DataFrame({"x": [], "y": [], "label": []}, dtype=float)
    values = frame_of(frame, what)
    _same_components(scores, frame, what)
    xy = values[:, pair] / spread
    return pd.DataFrame(
        {"x": xy[:, 0], "y": xy[:, 1], "label": short_names(list(frame.index))}, index=frame.index
    )
