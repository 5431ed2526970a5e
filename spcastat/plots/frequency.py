"""How often loadings are selected on half of the rows, as bars."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np
import pandas as pd

from spcastat.config import real_number, whole_number
from spcastat.errors import DataError, ShapeError
from spcastat.kernels.leading import leading
from spcastat.labels import short_name
from spcastat.plots._shared import axes_for, frame_of, positions, settle
from spcastat.plots._theme import accents, ink, line, shade

if TYPE_CHECKING:
    from matplotlib.axes import Axes

#: The part of a band that a frequency of one takes.
FULL = 0.85


def plot_frequency_data(
    frequency: pd.DataFrame,
    loadings: pd.DataFrame,
    *,
    max_rows: int = 40,
    components: Sequence[int | str] | None = None,
) -> pd.DataFrame:
    """Return the frequencies that :func:`plot_frequency` draws, variables in the order of the data.

    Parameters
    ----------
    frequency, loadings : DataFrame, p x k
    max_rows : int
        The most variables to show: those selected in the fit or in a tenth of the draws, the most frequent of
        every component first.
    components : sequence of int or str, optional
        Numbers counted from one, or names; by default all.
    """
    return _chosen(frequency, loadings, max_rows, components)[0]


def plot_frequency(
    frequency: pd.DataFrame,
    loadings: pd.DataFrame,
    threshold: float,
    *,
    max_rows: int = 40,
    components: Sequence[int | str] | None = None,
    ax: Axes | None = None,
) -> Axes:
    """Draw a bar for each frequency, a band for each component, and a line at the threshold.

    Parameters
    ----------
    frequency, loadings : DataFrame, p x k
        Variables that the fit selects have blue bars, others grey ones.
    threshold : float
    max_rows, components
        As for :func:`plot_frequency_data`.
    ax : Axes, optional
        By default those of a new figure.

    Returns
    -------
    Axes
    """
    threshold = real_number("threshold", threshold, 0.0, 1.0)
    data, loaded = _chosen(frequency, loadings, max_rows, components)
    values, (rows, k) = data.to_numpy(dtype=float), data.shape
    names = [short_name(name) for name in data.index]
    width = 0.9 + 0.075 * max(map(len, names)) + 1.1 * max(k, 2)
    ax = axes_for(ax, float(np.clip(width, 4.0, 14.0)), 1.1 + 0.24 * max(rows, 4))
    ax.set_ylim(rows - 0.4, -0.6)
    ax.set_yticks(range(rows), names, parse_math=False)
    ax.set_xlim(-0.05, k)
    lines, at = (-0.6, rows - 0.4), FULL * threshold
    for c in range(k):
        colours = [accents(ax)[0] if used else shade(ax, 0.28) for used in loaded.to_numpy()[:, c]]
        ax.barh(range(rows), FULL * values[:, c], left=c, height=0.62, color=colours, zorder=2)
        ax.vlines(c, *lines, colors=[shade(ax, 0.4)], linewidth=line(0.8), zorder=3)
        ax.vlines(c + at, *lines, colors=[ink(ax)], linestyles=":", linewidth=line(1.0), zorder=3)
    ax.set_xticks(np.arange(k) + FULL / 2, [short_name(name, 12) for name in data.columns], parse_math=False)
    places = (np.arange(k)[:, None] + np.array([0.0, at])).ravel()
    ax.set_xticks(places, ["0", f"{threshold:g}"] * k, minor=True)
    ax.tick_params(axis="x", which="major", top=False, bottom=False, labeltop=True, labelbottom=False)
    ax.tick_params(axis="x", which="minor", labelsize="x-small", length=2.5)
    ax.tick_params(axis="y", length=0)
    ax.set_xlabel("Share of fits of half of the rows that select it\n(grey: not in the fit)")
    ax.spines[["top", "right", "left"]].set_visible(False)
    settle(ax)
    return ax


def _chosen(
    frequency: pd.DataFrame, loadings: pd.DataFrame, max_rows: int, components: Sequence[int | str] | None
) -> tuple[pd.DataFrame, pd.DataFrame]:
    """Return the frequencies to draw, and whether the fit selects these loadings."""
    values, weights = frame_of(frequency, "frequencies"), frame_of(loadings)
    if values.shape != weights.shape or list(frequency.columns) != list(loadings.columns):
        raise ShapeError(
            f"frequency has the shape {values.shape}, loadings {weights.shape}; both must have the same "
            "variables and components, such as fit.stability().frequency and fit.loadings."
        )
    if not np.isfinite(values).all():
        raise DataError(f"{int((~np.isfinite(values)).sum())} frequencies are missing or infinite.")
    if components is not None:
        kept = positions(components, list(frequency.columns))
        frequency, loadings = frequency.iloc[:, kept], loadings.iloc[:, kept]
    values, loaded = frequency.to_numpy(dtype=float), loadings.ne(0.0)
    met = np.any(loaded.to_numpy(dtype=bool) | (values >= 0.1), axis=1, keepdims=True)
    shown = np.where(met, values, 0.0)
    which = leading(shown, whole_number("max_rows", max_rows, 1))
    return frequency.iloc[which], loaded.iloc[which]
