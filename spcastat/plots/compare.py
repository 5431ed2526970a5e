"""The measures of several fits beside one another."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
import pandas as pd

from spcastat.config import listed
from spcastat.errors import ShapeError
from spcastat.labels import short_names
from spcastat.measures import measures_of
from spcastat.plots._shared import MARKERS, axes_for
from spcastat.plots._theme import colours_of, line, shade, size_of_text

if TYPE_CHECKING:
    from matplotlib.axes import Axes

#: The columns drawn, from top to bottom, and what they are called: shares of variance, and nothing else.
ROWS = {one.name: one.legend.replace(", ", ",\n") for one in [*measures_of("total"), *measures_of("pca")]}


def plot_compare_data(measures: pd.DataFrame) -> pd.DataFrame:
    """Return what :func:`plot_compare` draws: one row a fit, one column a measure, as fractions."""
    missing = [name for name in ROWS if name not in getattr(measures, "columns", ())]
    if missing or measures.empty:
        raise ShapeError(f"The frame of measures needs a row for each fit and the columns {listed(ROWS)}.")
    return measures[list(ROWS)].astype(float)


def plot_compare(measures: pd.DataFrame, *, ax: Axes | None = None) -> Axes:
    """Draw each share of variance of each fit as a point.

    Parameters
    ----------
    measures : DataFrame
        One row a fit, as of ``compare(...).frames["measures"]``. Where it has a column "nonzeros", the legend
        says how many each fit has.
    ax : Axes, optional
        By default those of a new figure.

    Returns
    -------
    Axes

    Raises
    ------
    ShapeError
        A column is missing, or there is no fit.
    OptionError
        `ax` is not an Axes.
    """
    data = plot_compare_data(measures)
    fits = short_names(list(data.index), 24)
    if "nonzeros" in measures.columns:
        fits = [f"{name} ({int(count)})" for name, count in zip(fits, measures["nonzeros"], strict=True)]
    size = size_of_text()
    ax = axes_for(ax, 6.6 * size, (1.1 + max(0.62, 0.14 * len(fits)) * len(ROWS)) * size)
    places = np.arange(len(ROWS), dtype=float)
    # fits stand one below the other within the band of a measure, so that equal values stay apart
    offsets = np.linspace(-0.3, 0.3, len(fits)) if len(fits) > 1 else np.zeros(1)
    ax.hlines(places[:-1] + 0.5, 0, 100, colors=[shade(ax, 0.25)], linewidth=line(0.7), zorder=0.5)
    colours = colours_of(ax, None, fits)
    for i, offset in enumerate(offsets.tolist()):
        ax.plot(
            100 * data.iloc[i].to_numpy(),
            places + offset,
            linestyle="none",
            marker=MARKERS[i % len(MARKERS)],
            color=colours[i],
            markersize=line(6),
            label=f"{i}",
            zorder=3,
            clip_on=False,  # marks at 0 and 100 % are whole
        )
    ax.set_yticks(places, list(ROWS.values()))
    ax.set_ylim(len(ROWS) - 0.5, -0.5)
    ax.set_xlim(0, 100)
    ax.set_xlabel("%")
    ax.tick_params(axis="y", length=0)
    ax.grid(axis="x", color=shade(ax, 0.12), linewidth=line(0.6))
    ax.set_axisbelow(True)
    ax.spines[["top", "right", "left"]].set_visible(False)
    legend = ax.legend(
        title="fit (nonzeros)" if "nonzeros" in measures.columns else None,
        title_fontsize="small",
        alignment="left",
        loc="upper left",
        bbox_to_anchor=(1.01, 1.0),
        frameon=False,
        fontsize="small",
        borderaxespad=0,
    )
    for text, label in zip(legend.get_texts(), fits, strict=True):
        text.set_parse_math(False)  # names go in afterwards: a legend leaves out those that begin with "_"
        text.set_text(label)
    return ax
