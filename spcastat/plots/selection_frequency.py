"""Bars that show how often loadings are selected in fits of half of the rows."""

from __future__ import annotations

from collections.abc import Generator, Sequence
from typing import TYPE_CHECKING

import numpy as np
import pandas as pd

from spcastat.config import real_number, whole_number
from spcastat.errors import DataError, ShapeError
from spcastat.kernels.largest_rows import leading
from spcastat.labels import short_name
from spcastat.plots.axes_and_names import ROWS_ONLY, axes_for, frame_of, name_rows, positions, settle
from spcastat.plots.plot_and_table import plot
from spcastat.plots.plot_colours import accents, ink, line, shade

if TYPE_CHECKING:
    from matplotlib.axes import Axes

#: Length of a bar of frequency one, as a share of the width of a component's band.
FULL = 0.85


@plot
def plot_frequency(
    frequency: pd.DataFrame,
    loadings: pd.DataFrame,
    threshold: float | None = None,
    *,
    max_rows: int = 40,
    components: Sequence[int | str] | None = None,
    ax: Axes | None = None,
) -> Generator[pd.DataFrame, None, Axes]:
    """Draw a bar for each frequency, a band for each component, and a line at the threshold.

    Parameters
    ----------
    frequency, loadings : DataFrame, p x k
        Variables that the fit selects have blue bars, others grey ones.
    threshold : float in [0, 1], optional
        By default no line is drawn.
    max_rows : int
        The largest number of variables to show. Those selected in the fit or in at least a tenth of the draws
        are shown, the most frequent of every component first.
    components : sequence of int or str, optional
        Numbers counted from one, or names; by default all.
    ax : Axes, optional
        By default those of a new figure.

    Returns
    -------
    Axes

    Notes
    -----
    Its table, `plot_frequency_data`, has the frequencies drawn, variables in the order of the data.
    """
    threshold = None if threshold is None else real_number("threshold", threshold, 0.0, 1.0)
    values, weights = frame_of(frequency, "frequencies"), frame_of(loadings)
    if values.shape != weights.shape or list(frequency.columns) != list(loadings.columns):
        raise ShapeError(
            f"frequency has the shape {values.shape}, loadings {weights.shape}; both must have the same "
            "variables and components, such as fit.stability().frequency and fit.loadings."
        )
    if not np.isfinite(values).all():
        raise DataError(f"{int((~np.isfinite(values)).sum())} frequencies are missing or infinite.")
    chosen = list(range(values.shape[1]))
    if components is not None:
        chosen = positions(components, list(frequency.columns))
    values, loaded = values[:, chosen], weights[:, chosen] != 0
    met = np.any(loaded | (values >= 0.1), axis=1, keepdims=True)
    which = leading(np.where(met, values, 0.0), whole_number("max_rows", max_rows, 1))
    data = frequency.iloc[which, chosen]
    yield data
    values, (rows, k) = values[which], data.shape
    names = [short_name(name) for name in data.index]
    width = 0.9 + 0.075 * max(map(len, names)) + 1.1 * max(k, 2)
    ax = axes_for(ax, float(np.clip(width, 4.0, 14.0)), 1.1 + 0.24 * max(rows, 4), ROWS_ONLY)
    name_rows(ax, names, components_above=True)
    ax.set_xlim(-0.05, k)
    foot, top = -0.6, rows - 0.4
    ticks = {0.0: "0"} if threshold is None else {0.0: "0", FULL * threshold: f"{threshold:g}"}
    for c in range(k):
        colours = [accents(ax)[0] if used else shade(ax, 0.28) for used in loaded[which, c]]
        ax.barh(range(rows), FULL * values[:, c], left=c, height=0.62, color=colours, zorder=2)
        ax.vlines(c, foot, top, colors=[shade(ax, 0.4)], linewidth=line(0.8), zorder=3)
        for at in list(ticks)[1:]:
            ax.vlines(c + at, foot, top, colors=[ink(ax)], linestyles=":", linewidth=line(1.0), zorder=3)
    ax.set_xticks(np.arange(k) + FULL / 2, [short_name(name, 12) for name in data.columns], parse_math=False)
    ax.set_xticks([c + at for c in range(k) for at in ticks], [*ticks.values()] * k, minor=True)
    ax.tick_params(axis="x", which="minor", labelsize="x-small", length=2.5)
    ax.set_xlabel("Share of fits of half of the rows that select it\n(grey: not in the fit)")
    settle(ax)
    return ax
