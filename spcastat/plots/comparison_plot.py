"""Comparison of the measures of several fits."""

from __future__ import annotations

from collections.abc import Generator
from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd

from spcastat.config import listed
from spcastat.labels import short_names
from spcastat.measures import measures_of
from spcastat.plots.axes_and_names import BESIDE, ROWS_ONLY, axes_for, columns_of, write_legend
from spcastat.plots.plot_and_table import plot
from spcastat.plots.plot_colours import MARKERS, colours_of, line, shade

if TYPE_CHECKING:
    from matplotlib.axes import Axes

#: The columns drawn, from top to bottom, with their labels: the measures that are shares of variance.
ROWS = {one.name: one.legend.replace(", ", ",\n") for one in [*measures_of("total"), *measures_of("pca")]}


@plot
def plot_compare(measures: pd.DataFrame, *, ax: Axes | None = None) -> Generator[pd.DataFrame, None, Axes]:
    """Draw each share of variance of each fit as a point.

    Parameters
    ----------
    measures : DataFrame
        One row a fit, such as ``compare(...).frames["measures"]``. If it has a column "nonzeros", the legend
        shows how many each fit has.
    ax : Axes, optional
        By default those of a new figure.

    Returns
    -------
    Axes

    Raises
    ------
    ShapeError
        If a column is missing, or there is no fit.
    OptionError
        If `ax` is not an Axes.

    Notes
    -----
    Its table, `plot_compare_data`, has one row for each fit and one column for each measure, as fractions.
    """
    columns_of(
        measures, ROWS, f"The frame of measures needs a row for each fit and the columns {listed(ROWS)}."
    )
    data = measures[list(ROWS)].astype(float)
    yield data
    fits, counted = short_names(list(data.index), 24), "nonzeros" in measures.columns
    if counted:
        fits = [f"{name} ({int(count)})" for name, count in zip(fits, measures["nonzeros"], strict=True)]
    ax = axes_for(ax, 6.6, 1.1 + max(0.62, 0.14 * len(fits)) * len(ROWS), ROWS_ONLY)
    places = np.arange(len(ROWS), dtype=float)
    # within the band of a measure, fits are shown one below the other, so that equal values do not overlap
    offsets = np.linspace(-0.3, 0.3, len(fits)) if len(fits) > 1 else np.zeros(1)
    ax.hlines(places[:-1] + 0.5, 0, 100, colors=[shade(ax, 0.25)], linewidth=line(0.7), zorder=0.5)
    for i, colour in enumerate(colours_of(ax, None, fits)):
        style: dict[str, Any] = {"marker": MARKERS[i % len(MARKERS)], "markersize": line(6)}
        # without clipping, markers at 0 and 100 % are drawn completely
        shares = 100 * data.iloc[i].to_numpy()
        ax.plot(
            shares,
            places + offsets[i],
            color=colour,
            label=str(i),
            clip_on=False,
            zorder=3,
            ls="none",
            **style,
        )
    ax.set_yticks(places, list(ROWS.values()))
    ax.set_ylim(len(ROWS) - 0.5, -0.5)
    ax.set_xlim(0, 100)
    ax.set_xlabel("%")
    ax.tick_params(axis="y", length=0)
    ax.grid(axis="x", color=shade(ax, 0.12), linewidth=line(0.6))
    ax.set_axisbelow(True)
    write_legend(ax, None, fits, title="fit (nonzeros)" if counted else None, alignment="left", **BESIDE)
    return ax
