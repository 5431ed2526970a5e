"""Plot of squared residuals against distances within the components, to find rows that fit badly."""

from __future__ import annotations

from collections.abc import Generator
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd

from spcastat.config import whole_number
from spcastat.errors import DataError, ShapeError
from spcastat.intake.checks import frame_values, real_array
from spcastat.labels import short_name
from spcastat.plots.axes_and_names import BESIDE, OPEN, axes_for, settle, title_of, write_legend
from spcastat.plots.label_placement import scene_of, write_names
from spcastat.plots.plot_and_table import plot
from spcastat.plots.plot_colours import accents, line, shade
from spcastat.plots.plotted_rows import dots, group_rows, scatter_groups

if TYPE_CHECKING:
    from matplotlib.axes import Axes


@dataclass(frozen=True)
class DiagnosticsData:
    """The data of a plot of diagnostics.

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


@plot
def plot_diagnostics(
    diagnostics: pd.DataFrame,
    limits: pd.Series,
    *,
    groups: Any = None,
    labels: int = 10,
    ax: Axes | None = None,
) -> Generator[DiagnosticsData, None, Axes]:
    """Draw the squared residual Q of each row against its Hotelling T2, with both limits.

    Rows far to the right are extreme within the components; rows far up are not described by the components.
    An axis is logarithmic if a row exceeds thirty times its limit.

    Parameters
    ----------
    diagnostics : DataFrame, n x 2
        "T2" and "Q".
    limits : Series
        "T2" and "Q"; its name, the level, is written next to the lines. A limit of NaN is not drawn.
    groups : Series, Categorical or array of length n, optional
        Groups that set colours and markers of the points; at most 20. Without groups, rows beyond a limit are
        marked.
    labels : int
        How many of the rows beyond a limit are labelled, those that exceed it most first.
    ax : Axes, optional
        By default those of a new figure.

    Returns
    -------
    Axes

    Raises
    ------
    ShapeError
        If "T2" or "Q" is missing, or groups do not match the rows.
    DataError
        If distances are infinite.
    OptionError
        If `labels` is below 0, there are too many groups, or `ax` is not an Axes.

    Notes
    -----
    Its table, `plot_diagnostics_data`, is a DiagnosticsData.
    """
    points = _points(diagnostics, limits, whole_number("labels", labels, 0))
    if groups is not None:
        points["group"] = group_rows(groups, diagnostics.index)
    yield DiagnosticsData(points, limits)
    new = ax is None
    ax = axes_for(ax, 6.0 + 1.2 * (groups is not None), 4.4, OPEN)
    xy = points[["T2", "Q"]].to_numpy(dtype=float)
    _scales(ax, xy, limits)
    how: dict[str, Any] = {**dots(len(xy)), "zorder": 2}
    if groups is not None:
        artists, names = scatter_groups(ax, xy, points["group"].array, **how)
        write_legend(ax, artists, names, title=title_of(groups), **(BESIDE if new else {"loc": "best"}))
    else:
        out = (points["beyond"] != "").to_numpy()
        blue, orange = accents(ax)
        ax.scatter(*xy[~out].T, color=[blue], linewidths=0, **how)
        ax.scatter(*xy[out].T, color=[orange], marker="^", linewidths=0, **{**how, "alpha": 0.9})
    _limit_lines(ax, limits)
    ax.set_xlabel("Hotelling T² (distance within the components)")
    ax.set_ylabel("Q (squared residual)")
    settle(ax)
    chosen = np.flatnonzero(points["labelled"].to_numpy())
    chosen = chosen[np.argsort(-(xy[chosen] / xy.max(axis=0).clip(min=1e-300)).max(axis=1), kind="stable")]
    scene = scene_of(ax, xy[chosen], np.empty((0, 2, 2)), xy)
    write_names(
        ax,
        scene,
        xy[chosen],
        [short_name(points.index[i], 16) for i in chosen.tolist()],
        owners=[(i,) for i in range(len(chosen))],
        outwards=False,
    )
    return ax


def _points(diagnostics: pd.DataFrame, limits: pd.Series, labels: int) -> pd.DataFrame:
    """Return T2 and Q of each row, the limits that it exceeds, and whether it is labelled."""
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
    ranks = np.argsort(np.argsort(-excess, kind="stable"), kind="stable")
    points["labelled"] = (ranks < labels) & (excess > 0)
    return points


def _scales(ax: Axes, xy: np.ndarray, limits: pd.Series) -> None:
    """Choose linear or logarithmic axes, with room for labels."""
    for axis, values, name in (("x", xy[:, 0], "T2"), ("y", xy[:, 1], "Q")):
        bound = float(limits[name])
        top = max(float(np.nanmax(values)), bound if np.isfinite(bound) else 0.0)
        low = 0.0
        if np.isfinite(bound) and top > 30.0 * bound > 0 and (values > 0).all():
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
        at: dict[str, Any] = {"xycoords": ("data", "axes fraction"), "xytext": (2, -2), "va": "top"}
        ax.annotate(level, (limits["T2"], 1), **at, **text)
    if np.isfinite(limits["Q"]):
        ax.axhline(limits["Q"], **style)
        at = {"xycoords": ("axes fraction", "data"), "xytext": (-2, 2), "ha": "right"}
        ax.annotate(level, (1, limits["Q"]), **at, **text)


def _level_text(level: Any) -> str:
    """Return the level 0.95, a number or text, as "95 %"; "limit" if it is not a number."""
    try:
        return f"{100 * float(level):g} %"
    except (TypeError, ValueError):
        return "limit"
