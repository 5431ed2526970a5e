"""Squared residuals against distances within the components: which rows the fit does not describe."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd

from spcastat.config import whole_number
from spcastat.errors import DataError, ShapeError
from spcastat.intake.checks import frame_values, real_array
from spcastat.labels import short_name
from spcastat.plots._groups import dots, group_rows, legend_of, scatter_groups
from spcastat.plots._labels import place_labels
from spcastat.plots._shared import axes_for, settle
from spcastat.plots._theme import accents, line, shade, size_of_text

if TYPE_CHECKING:
    from matplotlib.axes import Axes

#: Values further beyond their limit than this factor ask for a logarithmic axis.
FAR = 30.0


@dataclass(frozen=True)
class DiagnosticsData:
    """What a plot of diagnostics draws.

    Attributes
    ----------
    points : DataFrame, n x 4 or n x 5
        "T2" and "Q" of each row, whether it lies "beyond" a limit ("", "T2", "Q" or "both"), whether it is
        "labelled", and its "group" if groups were given.
    limits : Series
        The limits of "T2" and "Q"; its name is the level.
    """

    points: pd.DataFrame
    limits: pd.Series


def plot_diagnostics_data(
    diagnostics: pd.DataFrame, limits: pd.Series, *, groups: Any = None, labels: int = 10
) -> DiagnosticsData:
    """Return what :func:`plot_diagnostics` draws; parameters and errors are described there."""
    if not isinstance(limits, pd.Series):
        raise ShapeError(
            f"limits of type {type(limits).__name__} was given; it must be a Series with 'T2' and 'Q', such "
            "as limits() of a fit."
        )
    for name in ("T2", "Q"):
        if name not in getattr(diagnostics, "columns", ()) or name not in limits.index:
            raise ShapeError(f"diagnostics and limits need {name!r}; give those of a fit.")
    values = frame_values(diagnostics[["T2", "Q"]], "diagnostics")
    if np.isinf(values).any():
        raise DataError(
            "T2 or Q of some rows are infinite: these rows are too far from the others to be drawn."
        )
    bounds = real_array(limits[["T2", "Q"]])
    if bounds is None or bounds.shape != (2,):
        raise ShapeError("limits must hold one number each for 'T2' and 'Q'.")
    out = values > bounds
    names = np.array(["", "T2", "Q", "both"], dtype=object)
    points = diagnostics[["T2", "Q"]].copy()
    points["beyond"] = names[out @ np.array([1, 2])]
    with np.errstate(divide="ignore", invalid="ignore"):
        excess = np.where(out, values / bounds, 0.0).max(axis=1)
    chosen = np.argsort(-excess, kind="stable")[: whole_number("labels", labels, 0)]
    labelled = np.zeros(len(points), dtype=bool)
    labelled[chosen[excess[chosen] > 0]] = True
    points["labelled"] = labelled
    if groups is not None:
        points["group"] = group_rows(groups, diagnostics.index)
    return DiagnosticsData(points, limits)


def plot_diagnostics(
    diagnostics: pd.DataFrame,
    limits: pd.Series,
    *,
    groups: Any = None,
    labels: int = 10,
    ax: Axes | None = None,
) -> Axes:
    """Draw the squared residual Q of each row against its Hotelling T2, with both limits.

    Far to the right are rows that are extreme within the components, far up those that the components
    do not describe. An axis is logarithmic if a row exceeds its limit thirty times.

    Parameters
    ----------
    diagnostics : DataFrame, n x 2
        "T2" and "Q".
    limits : Series
        "T2" and "Q"; its name, the level, is written beside the lines. A limit of NaN is not drawn.
    groups : Series, Categorical or array of length n, optional
        Colours and marks the points; at most 20 groups. Otherwise rows beyond a limit are marked.
    labels : int
        How many of the rows beyond a limit are labelled, those first that exceed it most.
    ax : Axes, optional
        By default those of a new figure.

    Returns
    -------
    Axes

    Raises
    ------
    ShapeError
        Frames without "T2" and "Q", or groups that do not fit.
    OptionError
        `labels` below 0, too many groups, `ax` that is not an Axes.
    """
    data = plot_diagnostics_data(diagnostics, limits, groups=groups, labels=labels)
    points = data.points
    grouped = "group" in points
    new = ax is None
    size = size_of_text()
    ax = axes_for(ax, (6.0 + 1.2 * grouped) * size, 4.4 * size)
    xy = points[["T2", "Q"]].to_numpy(dtype=float)
    n = len(xy)
    _scales(ax, xy, limits)
    how: dict[str, Any] = {**dots(n), "zorder": 2}
    if grouped:
        artists, names = scatter_groups(ax, xy, points["group"].array, **how)
        title = short_name(groups.name) if getattr(groups, "name", None) is not None else ""
        legend_of(ax, artists, names, title, outside=new, xy=xy)
    else:
        out = (points["beyond"] != "").to_numpy()
        blue, orange = accents(ax)
        ax.scatter(xy[~out, 0], xy[~out, 1], color=[blue], linewidths=0, **how)
        ax.scatter(xy[out, 0], xy[out, 1], color=[orange], marker="^", linewidths=0, **{**how, "alpha": 0.9})
    _limit_lines(ax, limits)
    ax.set_xlabel("Hotelling T² (distance within the components)")
    ax.set_ylabel("Q (squared residual)")
    ax.spines[["top", "right"]].set_visible(False)
    settle(ax)
    chosen = np.flatnonzero(points["labelled"].to_numpy())
    chosen = chosen[np.argsort(-(xy[chosen] / xy.max(axis=0).clip(min=1e-300)).max(axis=1), kind="stable")]
    names = [short_name(points.index[i], 16) for i in chosen.tolist()]
    place_labels(ax, xy[chosen], names, xy)
    return ax


def _scales(ax: Axes, xy: np.ndarray, limits: pd.Series) -> None:
    """Choose linear or logarithmic axes, with room for labels."""
    for axis, values, name in (("x", xy[:, 0], "T2"), ("y", xy[:, 1], "Q")):
        bound = float(limits[name])
        top = max(float(np.nanmax(values)), bound if np.isfinite(bound) else 0.0)
        low = 0.0
        if np.isfinite(bound) and top > FAR * bound > 0 and (values > 0).all():
            ax.set(**{f"{axis}scale": "log"})
            low, top = 0.7 * float(values.min()), 1.6 * top
        else:
            low, top = -0.03 * top, 1.1 * top
        ax.set(**{f"{axis}lim": (low, top if top > low else 1.0)})


def _limit_lines(ax: Axes, limits: pd.Series) -> None:
    grey = shade(ax, 0.7)
    style: dict[str, Any] = {"color": grey, "linewidth": line(0.9), "linestyle": (0, (5, 3)), "zorder": 1.5}
    text: dict[str, Any] = {"fontsize": "x-small", "color": grey, "textcoords": "offset points"}
    level = _level_text(limits.name)
    if np.isfinite(limits["T2"]):
        ax.axvline(limits["T2"], **style)
        ax.annotate(
            level,
            (limits["T2"], 1),
            xycoords=("data", "axes fraction"),
            xytext=(2, -2),
            va="top",
            **text,
        )
    if np.isfinite(limits["Q"]):
        ax.axhline(limits["Q"], **style)
        ax.annotate(
            level,
            (1, limits["Q"]),
            xycoords=("axes fraction", "data"),
            xytext=(-2, 2),
            ha="right",
            **text,
        )


def _level_text(level: Any) -> str:
    """Return 0.95, or text that reads so, as "95 %"."""
    try:
        return f"{100 * float(level):g} %"
    except (TypeError, ValueError):
        return "limit"
