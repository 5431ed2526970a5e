"""Slopes of variables on components in groups of rows, with intervals."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd

from spcastat.argument_types import Palette, Several
from spcastat.config import checked_level
from spcastat.errors import DataError, ShapeError
from spcastat.labels import short_name, short_names
from spcastat.plots import axes_and_names as helpers
from spcastat.plots.axes_and_names import line, shade
from spcastat.plots.loadings_plot import FILL, draw_bands

if TYPE_CHECKING:
    from matplotlib.axes import Axes

#: Differences with an adjusted p-value up to this are marked.
LEVEL = 0.05


def plot_slopes(
    slopes: pd.DataFrame,
    *,
    max_rows: int | None = 40,
    components: Several | None = None,
    level: float = 0.95,
    palette: Palette | None = None,
    ax: Axes | None = None,
) -> Axes:
    """Draw the slopes of the variables of each component in every group, with intervals.

    Variables are drawn from top to bottom, components from left to right, groups in colours. A variable is
    drawn on the components in which it has a loading, or in which the groups differ; a star marks adjusted
    p-values up to .05.

    Parameters
    ----------
    slopes : DataFrame
        With the columns "group", "component", "term", "loading", "estimate", "std_error" and "p_adjusted".
    max_rows : int, optional
        The largest number of variables: those with the smallest adjusted p-values, then the largest loadings.
    components : sequence of int or str, optional
        Numbers counted from one, or names; by default all.
    level : float in (0, 1)
        Confidence level of the intervals, which are normal, for each slope alone.
    palette : mapping, sequence of colours, or str, optional
        Colours of the groups, as for the biplot.
    ax : Axes, optional
        By default those of a new figure.

    Returns
    -------
    Axes

    Raises
    ------
    ComponentsError
        If a component does not exist.
    OptionError
        If `max_rows` or `level` is out of range, or `ax` is not an Axes.
    """
    from statistics import NormalDist

    _require_slopes(slopes)
    half = NormalDist().inv_cdf(0.5 + checked_level(level) / 2.0)
    names = list(dict.fromkeys(slopes["component"]))
    chosen = [names[i] for i in helpers.positions(components, names)]
    drawn = plot_slopes_data(slopes, max_rows=max_rows, components=components)
    terms, groups = list(dict.fromkeys(drawn["term"])), list(dict.fromkeys(slopes["group"]))
    width = 1.3 + 0.075 * max(map(len, short_names(terms))) + 1.5 * len(chosen)
    height = 1.3 + (0.16 + 0.09 * len(groups)) * max(len(terms), 4)
    ax = helpers.axes_for(ax, float(np.clip(width, 4.5, 14.0)), height, helpers.ROWS_ONLY)
    helpers.name_rows(ax, short_names(terms), components_above=True)
    reach = float(np.nanmax(np.abs(drawn["estimate"]) + half * drawn["std_error"]))
    draw_bands(ax, pd.DataFrame(0.0, index=range(len(terms)), columns=chosen), reach)
    colours = helpers.colours_of(ax, palette, groups)
    offsets = np.linspace(-0.27, 0.27, len(groups)) if len(groups) > 1 else np.zeros(1)
    marks = []
    for colour, offset, group in zip(colours, offsets, groups, strict=True):
        own = drawn[drawn["group"] == group]
        y = np.array([terms.index(term) for term in own["term"]]) + offset
        x = np.array([chosen.index(name) for name in own["component"]], dtype=float)
        size = FILL / reach
        middle = x + size * own["estimate"].to_numpy()
        error = size * half * own["std_error"].to_numpy()
        ax.hlines(y, middle - error, middle + error, colors=[colour], linewidth=line(1.6), gid="interval")
        marks += ax.plot(middle, y, "o", color=colour, markersize=line(4.0), zorder=3)
    differing = drawn[(drawn["p_adjusted"] <= LEVEL) & (drawn["group"] == groups[0])]
    for component, term in zip(differing["component"], differing["term"], strict=True):
        place = chosen.index(component) + 0.46, terms.index(term)
        ax.annotate("*", place, ha="center", va="center", color=shade(ax, 1.0), gid="differs")
    helpers.write_legend(ax, marks, [short_name(group) for group in groups], **helpers.BESIDE)
    many = slopes["term"].nunique()
    ax.set_xlabel(
        "Slope of the variable on the score" + f"\n{len(terms)} of {many} variables" * (len(terms) < many)
    )
    return ax


def plot_slopes_data(
    slopes: pd.DataFrame, *, max_rows: int | None = 40, components: Several | None = None
) -> pd.DataFrame:
    """Return the rows of `slopes` that `plot_slopes` draws."""
    _require_slopes(slopes)
    names = list(dict.fromkeys(slopes["component"]))
    chosen = [names[i] for i in helpers.positions(components, names)]
    drawn = slopes[slopes["component"].isin(chosen)]
    drawn = drawn[(drawn["loading"] != 0) | (drawn["p_adjusted"] <= LEVEL)]
    if drawn.empty:
        raise DataError("There is no slope to draw: all loadings are zero.")
    terms = list(dict.fromkeys(slopes["term"]))
    best = drawn.groupby("term", sort=False).agg(
        p=("p_adjusted", "min"), size=("loading", lambda x: -x.abs().max())
    )
    limit = helpers.row_limit(max_rows, len(best))
    kept = set(best.sort_values(["p", "size"], kind="stable").index[:limit])
    order = {term: place for place, term in enumerate(terms)}
    drawn = drawn[drawn["term"].isin(kept)]
    return drawn.iloc[np.argsort([order[term] for term in drawn["term"]], kind="stable")]


def _require_slopes(slopes: Any) -> None:
    """Raise ShapeError unless `slopes` is a frame with the columns that the plot needs."""
    helpers.need_columns(slopes, ["loading", "estimate", "std_error", "p_adjusted"], "slopes")
    missing = [name for name in ("group", "component", "term") if list(slopes.columns).count(name) != 1]
    if missing:
        raise ShapeError(f"slopes needs once each the columns group, component and term; it lacks {missing}.")
