"""The density of one column of scores, by group where there are groups."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from spcastat.labels import short_name
from spcastat.plots._groups import MISSING
from spcastat.plots._theme import accents, colours_of, line, shade

if TYPE_CHECKING:
    from matplotlib.axes import Axes

#: Points at which a density is drawn.
_STEPS = 200


def draw_density(panel: Axes, values: np.ndarray, groups: Any, palette: Any) -> tuple[list[Any], list[str]]:
    """Draw the densities, a mark for each row at the foot, and return artists and names of the groups."""
    parts = [(values, accents(panel)[0], "")]
    if groups is not None:
        colours = colours_of(panel, palette, list(groups.categories))
        codes = [code for code in [*range(len(groups.categories)), -1] if (groups.codes == code).any()]
        parts = [
            (
                values[groups.codes == code],
                shade(panel, 0.45) if code < 0 else colours[code],
                MISSING if code < 0 else short_name(groups.categories[code]),
            )
            for code in codes
        ]
    known = values[np.isfinite(values)]
    reach = 0.15 * float(np.ptp(known)) if len(known) else 1.0
    grid = np.linspace(known.min() - reach, known.max() + reach, _STEPS) if len(known) else np.zeros(1)
    top, artists, names = 0.0, [], []
    for part, colour, name in parts:
        height = density(part, grid) * len(part) / len(values)
        artist = panel.fill_between(grid, height, color=colour, alpha=0.3, linewidth=0, zorder=2)
        panel.plot(grid, height, color=colour, linewidth=line(1.2), zorder=3)
        top = max(top, float(height.max(initial=0.0)))
        if name:
            artists.append(artist)
            names.append(name)
    if len(values) <= 1000:
        for part, colour, _ in parts:
            panel.vlines(
                part, -0.07 * top, -0.01 * top, colors=[colour], linewidth=line(0.7), alpha=0.7, zorder=2
            )
    panel.set_ylim(-0.08 * top, 1.1 * top if top > 0 else 1.0)
    panel.set_yticks([])
    panel.locator_params(axis="x", nbins=4)
    panel.tick_params(labelsize="x-small", length=2.5)
    panel.spines[["top", "right", "left"]].set_visible(False)
    return artists, names


def density(values: np.ndarray, grid: np.ndarray) -> np.ndarray:
    """Return the density at `grid`: Gaussian kernels, 0.9 min(sd, IQR / 1.34) n^(-1/5) wide (Silverman)."""
    values = values[np.isfinite(values)]
    if len(values) < 2 or not np.ptp(values) > 0:
        return np.zeros(len(grid))
    low, high = np.quantile(values, [0.25, 0.75])
    spread = min(float(values.std(ddof=1)), (high - low) / 1.34) or float(values.std(ddof=1))
    width = 0.9 * spread * len(values) ** -0.2
    if len(values) > 5000:  # sums over a histogram of 512 cells differ by less than a line's width
        counts, edges = np.histogram(values, 512)
        values, weights = (edges[:-1] + edges[1:]) / 2, counts / counts.sum()
    else:
        weights = np.full(len(values), 1 / len(values))
    kernel = np.exp(-0.5 * ((grid[:, None] - values) / width) ** 2) / (width * np.sqrt(2 * np.pi))
    return np.asarray(kernel @ weights)
