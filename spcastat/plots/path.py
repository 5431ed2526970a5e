"""Variance against cardinality: what each further nonzero loading buys."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np
import pandas as pd

from spcastat.config import elements, listed, one_of
from spcastat.errors import OptionError, ShapeError
from spcastat.measures import measures_of
from spcastat.plots._shared import INK, MARKERS, PALETTE, axes_for

if TYPE_CHECKING:
    from matplotlib.axes import Axes

#: Measures that can be drawn: their column, and what the legend says.
DRAWN = {one.name: one.legend for one in [*measures_of("total"), *measures_of("pca")]}
_STYLES = ("-", "--", "-.", ":")


def plot_path_data(table: pd.DataFrame, *, measures: str | Sequence[str] = "adjusted") -> pd.DataFrame:
    """Return what :func:`plot_path` draws: one column a measure by the number of nonzeros.

    The parameters and errors are described there. A column "PCA" has what dense PCA explains, unless
    shares of that are drawn.
    """
    chosen = elements(measures, len(DRAWN))
    for name in chosen:
        one_of("measures", name, DRAWN)
    if not chosen:
        raise OptionError("measures is empty; name one or more of " + listed(DRAWN) + ".")
    needed = ["nonzeros", *chosen, "pca"]
    missing = [name for name in needed if name not in getattr(table, "columns", ())]
    if missing or table.empty:
        raise ShapeError(f"The table of a path needs rows and the columns {listed(needed)}.")
    data = table.set_index("nonzeros")[[*chosen, "pca"]].rename(columns={"pca": "PCA"})
    return data.drop(columns="PCA") if chosen == ["relative_adjusted"] else data


def plot_path(
    table: pd.DataFrame,
    *,
    measures: str | Sequence[str] = "adjusted",
    ax: Axes | None = None,
) -> Axes:
    """Draw shares of variance against the number of nonzero loadings (He, Monteiro and Park 2010, Figure 1).

    Parameters
    ----------
    table : DataFrame
        One row a fit, with "nonzeros" and the measures, as of ``spca_path(...).table``.
    measures : str or sequence of str
        "adjusted", "pev", "least_squares", "relative_adjusted".
    ax : Axes, optional
        By default those of a new figure.

    Returns
    -------
    Axes
        A dashed line marks what dense PCA explains with as many components.

    Raises
    ------
    ShapeError, OptionError
        Columns that are missing, a measure that does not exist, `ax` that is no Axes.
    """
    data = plot_path_data(table, measures=measures)
    ax = axes_for(ax, 5.6, 3.8)
    x = data.index.to_numpy(dtype=float)
    names = [name for name in data.columns if name != "PCA"]
    for i, name in enumerate(names):
        ax.plot(
            x,
            100 * data[name],
            color=PALETTE[i % len(PALETTE)],
            linestyle=_STYLES[i % len(_STYLES)],
            marker=MARKERS[i % len(MARKERS)] if len(x) <= 40 else None,
            markersize=4,
            linewidth=1.3,
            label=DRAWN[name],
            zorder=3,
        )
    if "PCA" in data:
        ax.axhline(
            100 * float(data["PCA"].iloc[-1]),
            color=INK,
            linestyle=(0, (6, 3)),
            linewidth=0.9,
            label="dense PCA",
            zorder=2,
        )
    top = 100 * float(np.nanmax(data.to_numpy()))
    ax.set_ylim(0, 1.05 * top if top > 0 else 1.0)
    ax.locator_params(axis="x", integer=True)
    ax.set_xlabel("Nonzero loadings")
    relative = names == ["relative_adjusted"]
    ax.set_ylabel("% of PCA's explained variance" if relative else "% of the total variance")
    ax.legend(frameon=False, loc="lower right", fontsize="small")
    ax.spines[["top", "right"]].set_visible(False)
    return ax
