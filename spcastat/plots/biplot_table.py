"""The table of a biplot: positions of its points and arrows, and their scaling."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from spcastat.config import listed
from spcastat.errors import DataError, OptionError, ShapeError
from spcastat.labels import short_names
from spcastat.plots.arrow_labels import longest
from spcastat.plots.axes_and_names import frame_of

#: What arrows can show.
ARROWS = ("loadings", "correlations")


@dataclass(frozen=True)
class BiplotData:
    """The data of a biplot.

    Attributes
    ----------
    points : DataFrame, n x 2 or more
        "x" and "y" of every row, its "group" or "color" if given, and its "label", which may be "".
    arrows : DataFrame, q x 9
        The variables that are drawn, the longest first: "x" and "y" of the tip of the arrow; its "length" as
        drawn; the "side" ("right", "left", "top", "bottom") if it lies exactly on an axis, else ""; the
        "weight" in the list of that side (loading or correlation); its "label", which the plot shortens if
        there is no room; whether its loading is "nonzero" on either component; whether it is a
        "supplementary" variable; and the "position" of the variable in the data. "x" and "y" divided by
        `stretch` are Gabriel's markers, or correlations.
    stretch : float
        The common factor by which arrows are drawn longer than Gabriel's markers (or correlations), so that
        points and arrows fill the same axes.
    correlation : float
        Correlation of the two columns of scores; NaN if one of them is constant.
    components : tuple of str
        Names of the two components.
    new : DataFrame
        "x", "y" and "label" of new rows.
    levels : DataFrame
        "x", "y" and "label" of the means of levels of supplementary factors.
    undrawn : int
        Number of variables with a nonzero loading on either component that are not drawn.
    scaling : str
        Sentences that say how points and arrows are scaled.
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


# --- points ---------------------------------------------------------------------------------------


def spread_of(values: NDArray[np.float64], scale: float, names: tuple[str, str]) -> NDArray[np.float64]:
    """Return the standard deviations of two columns of scores.

    Raises
    ------
    DataError
        If there are fewer than two rows, or a column is constant and `scale` is not 0.
    """
    if len(values) < 2:
        raise DataError(f"There are scores of {len(values)} row; a biplot needs two or more.")
    spread = np.nanstd(values, axis=0, ddof=1)
    for size, name in zip(spread, names, strict=True):
        if scale > 0 and not size > 0:
            raise DataError(f"The scores of {name} are constant; choose other components, or scale=0.")
    return spread


def stretch_of(xy: NDArray[np.float64], ends: NDArray[np.float64]) -> float:
    """Return the factor by which arrows are stretched, so that they reach as far as most of the points.

    Along one component the arrows reach as far as the nearest 97.5 % of the points, along the other at most
    as far; but the longest has at least a quarter of the distance of the farthest point. So far points make
    neither the arrows nor the other points too small.
    """
    xy = np.abs(xy[np.isfinite(xy).all(axis=1)])
    longest = np.abs(ends).max(axis=0, initial=0.0)
    if not longest.any() or not xy.any():
        return 1.0
    used = longest > 0
    most = np.quantile(xy[:, used], 0.975, axis=0) / longest[used]
    return float(max(most.min(), 0.25 * np.hypot(*xy.T).max() / np.hypot(*ends.T).max()))


def points_of(
    frame: pd.DataFrame | None, what: str, scores: pd.DataFrame, pair: list[int], spread: NDArray[np.float64]
) -> pd.DataFrame:
    """Return "x", "y" and "label" of further points, on the scale of the scores."""
    if frame is None:
        return pd.DataFrame({"x": [], "y": [], "label": []}, dtype=float)
    values = frame_of(frame, what)
    same_components(scores, frame, what)
    xy = values[:, pair] / spread
    return pd.DataFrame(
        {"x": xy[:, 0], "y": xy[:, 1], "label": short_names(list(frame.index))}, index=frame.index
    )


def same_components(scores: pd.DataFrame, other: pd.DataFrame, what: str) -> None:
    """Raise ShapeError unless a frame has the columns of the scores."""
    if list(scores.columns) != list(other.columns):
        raise ShapeError(
            f"The scores have the components {listed(scores.columns)}, the {what} {listed(other.columns)}; "
            "they must be the same."
        )


# --- arrows ---------------------------------------------------------------------------------------


def arrows_of(markers: pd.DataFrame, variables: Any, stretch: float) -> tuple[pd.DataFrame, int]:
    """Return the arrows to draw, the longest first, and how many with a nonzero loading are not drawn."""
    length = np.hypot(markers["x"], markers["y"])
    drawn = markers.iloc[longest(markers.assign(length=length), variables, 0)].copy()
    drawn[["x", "y"]] *= stretch
    drawn.insert(2, "length", np.hypot(drawn["x"], drawn["y"]))
    drawn.insert(5, "label", short_names(list(drawn.index), 40, drawn["position"].tolist()))
    return drawn, int(markers["nonzero"].sum() - drawn["nonzero"].sum())


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
    ends, sides, values = weights * spread, side_of(*weights.T), weights
    if correlations is not None:
        frame_of(correlations, "correlations")
        same_components(scores, correlations, "correlations")
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
    same_components(scores, supplementary, "supplementary variables")
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
            "position": np.arange(len(values)),
        },
        index=index,
    )
