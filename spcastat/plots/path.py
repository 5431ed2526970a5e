"""Measures against cardinality: what each further nonzero loading buys."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np
import pandas as pd

from spcastat.config import elements, listed, one_of
from spcastat.errors import OptionError, ShapeError
from spcastat.measures import MEASURES
from spcastat.plots._shared import MARKERS, axes_for
from spcastat.plots._theme import colours_of, ink, line, size_of_text

if TYPE_CHECKING:
    from matplotlib.axes import Axes

#: Measures that can be drawn: what the legend says of them.
DRAWN = {name: one.legend for name, one in MEASURES.items()} | {
    "score_correlation": "largest score correlation"
}
#: What the vertical axis says where all measures drawn are of one kind.
_AXES = {
    "total": "% of the total variance",
    "pca": "% of PCA's explained variance",
    "error": "Relative reconstruction error, %",
    "correlation": "Largest correlation of two scores, %",
}
_STYLES = ("-", "--", "-.", ":")


def plot_path_data(
    table: pd.DataFrame, *, measures: str | Sequence[str] = "adjusted", x: str = "nonzeros"
) -> pd.DataFrame:
    """Return what :func:`plot_path` draws: one column a measure by the cardinality.

    The parameters and errors are described there. A column "PCA" has what dense PCA explains, where shares of
    the total variance are drawn.
    """
    chosen = elements(measures, len(DRAWN))
    for name in chosen:
        one_of("measures", name, DRAWN)
    one_of("x", x, ("nonzeros", "card"))
    if not chosen:
        raise OptionError("measures is empty; name one or more of " + listed(DRAWN) + ".")
    needed = ["nonzeros", *chosen, "pca"]
    missing = [name for name in needed if name not in getattr(table, "columns", ())]
    if missing or table.empty:
        raise ShapeError(f"The table of a path needs rows and the columns {listed(needed)}.")
    place = table["nonzeros"]
    if x == "card":
        if "card" not in table.columns or not pd.api.types.is_numeric_dtype(table["card"]):
            raise OptionError(
                "x='card' was given, and the cardinalities of this path are not one number for all "
                "components; "
                "x='nonzeros' has their sum."
            )
        place = table["card"]
    data = table[[*chosen, "pca"]].rename(columns={"pca": "PCA"}).set_axis(pd.Index(place, name=x))
    return data if "total" in _kinds(chosen) else data.drop(columns="PCA")


def plot_path(
    table: pd.DataFrame,
    *,
    measures: str | Sequence[str] = "adjusted",
    x: str = "nonzeros",
    ax: Axes | None = None,
) -> Axes:
    """Draw measures against the number of nonzero loadings (He, Monteiro and Park 2010, Figure 1).

    Parameters
    ----------
    table : DataFrame
        One row a fit, with "nonzeros" and the measures, as of ``spca_path(...).table``.
    measures : str or sequence of str
        "adjusted", "pev", "least_squares", "relative_adjusted", "rre", "score_correlation".
    x : {"nonzeros", "card"}
        What the horizontal axis counts: the nonzero loadings of all components, or those of each.
    ax : Axes, optional
        By default those of a new figure.

    Returns
    -------
    Axes
        A dashed line marks what dense PCA explains with as many components, and the lower end of the axis is
        zero.

    Raises
    ------
    ShapeError, OptionError
        Columns that are missing, a measure that does not exist, `ax` that is not an Axes.
    """
    data = plot_path_data(table, measures=measures, x=x)
    size = size_of_text()
    ax = axes_for(ax, 5.6 * size, 3.8 * size)
    place = data.index.to_numpy(dtype=float)
    names = [name for name in data.columns if name != "PCA"]
    colours = colours_of(ax, None, names)
    for i, name in enumerate(names):
        ax.plot(
            place,
            100 * data[name],
            color=colours[i],
            linestyle=_STYLES[i % len(_STYLES)],
            marker=MARKERS[i % len(MARKERS)] if len(place) <= 40 else None,
            markersize=line(4),
            linewidth=line(1.3),
            label=DRAWN[name],
            zorder=3,
        )
    if "PCA" in data:
        ax.axhline(
            100 * float(data["PCA"].iloc[-1]),
            color=ink(ax),
            linestyle=(0, (6, 3)),
            linewidth=line(0.9),
            label="dense PCA",
            zorder=2,
        )
    top = 100 * float(np.nanmax(data.to_numpy()))
    ax.set_ylim(0, 1.05 * top if top > 0 else 1.0)
    ax.locator_params(axis="x", integer=True)
    ax.set_xlabel("Nonzero loadings" if x == "nonzeros" else "Cardinality of each component")
    kinds = _kinds(names)
    ax.set_ylabel(_AXES[kinds[0]] if len(kinds) == 1 else "%")
    falling = data[names[0]].iloc[0] > data[names[0]].iloc[-1]
    ax.legend(frameon=False, loc="upper right" if falling else "lower right", fontsize="small")
    ax.spines[["top", "right"]].set_visible(False)
    return ax


def _kinds(names: Sequence[str]) -> list[str]:
    """Return what the measures are shares of, each once."""
    return list(dict.fromkeys("correlation" if name not in MEASURES else MEASURES[name].of for name in names))
