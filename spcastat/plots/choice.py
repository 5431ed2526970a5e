"""What a choice was made by: prediction errors with their band, or eigenvalues beside those of noise."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
import pandas as pd

from spcastat.config import one_of, real_number
from spcastat.errors import ShapeError
from spcastat.intake.checks import frame_values
from spcastat.plots._shared import BLUE, INK, ORANGE, axes_for

if TYPE_CHECKING:
    from matplotlib.axes import Axes

#: No value that is drawn is larger.
FAR = 1e300
#: Criterion -> its column and what the axis says.
DRAWN = {
    "cv": ("error", "Error / that of the column means"),
    "ebic": ("ebic", "Extended BIC"),
    "bic": ("bic", "BIC"),
    "is": ("is", "Index of sparseness"),
    "variance": ("relative_adjusted", "Adjusted variance / dense PCA's"),
}


def plot_choice_data(table: pd.DataFrame, *, by: str = "cv") -> pd.DataFrame:
    """Return what :func:`plot_choice` draws: "value", "lower", "upper" and "chosen" by nonzeros."""
    column = DRAWN[one_of("by", by, DRAWN)][0]
    if not _has(table, "nonzeros", "chosen", column):
        raise ShapeError(f"The table of a choice needs rows and the columns nonzeros, chosen, {column}.")
    data = pd.DataFrame({"value": table[column].to_numpy()}, index=pd.Index(table["nonzeros"]))
    spread = table["se"].to_numpy() if by == "cv" and "se" in table else np.zeros(len(table))
    data["lower"], data["upper"] = data["value"] - spread, data["value"] + spread
    data["chosen"] = table["chosen"].to_numpy()
    return data.sort_index(kind="stable")


def plot_choice(
    table: pd.DataFrame, *, by: str = "cv", dense: float | None = None, ax: Axes | None = None
) -> Axes:
    """Draw a criterion against the number of nonzero loadings, and mark the choice.

    Parameters
    ----------
    table : DataFrame
        One row a candidate, as of ``choose(...).table``.
    by : {"cv", "ebic", "bic", "is", "variance"}
        The band is one standard error to both sides, for "cv".
    dense : float, optional
        The value of dense PCA, drawn as a dashed line.
    ax : Axes, optional
        By default those of a new figure.

    Returns
    -------
    Axes

    Raises
    ------
    ShapeError, OptionError
        Columns that are missing, `ax` that is not an Axes.
    """
    data = plot_choice_data(table, by=by)
    if dense is not None:
        dense = real_number("dense", dense, -FAR, FAR)
    ax = axes_for(ax, 5.6, 3.8)
    x = data.index.to_numpy(dtype=float)
    value = data["value"].to_numpy()
    if (data["upper"] > data["lower"]).any():
        ax.fill_between(
            x, data["lower"], data["upper"], color=BLUE, alpha=0.18, linewidth=0, label="1 standard error"
        )
    ax.plot(x, value, color=BLUE, marker="o", markersize=4, linewidth=1.3, zorder=3)
    mark = np.flatnonzero(data["chosen"].to_numpy())
    ax.plot(
        x[mark],
        value[mark],
        color=ORANGE,
        marker="D",
        markersize=8,
        linestyle="none",
        label="chosen",
        zorder=4,
    )
    if dense is not None:
        ax.axhline(dense, color=INK, linestyle=(0, (6, 3)), linewidth=0.9, label="dense PCA", zorder=2)
    if len(x) > 1 and x.max() > 8 * x.min():
        ax.set_xscale("log")
        ax.set_xticks(*_ticks(x))
        ax.minorticks_off()
    ax.set_xlabel("Nonzero loadings, all components")
    ax.set_ylabel(DRAWN[by][1])
    ax.legend(frameon=False, fontsize="small")
    ax.spines[["top", "right"]].set_visible(False)
    return ax


def _has(table: object, *columns: str) -> bool:
    """Whether a table is a frame with rows and these columns, each once and of numbers or booleans."""
    if not isinstance(table, pd.DataFrame) or table.empty:
        return False
    if any(list(table.columns).count(name) != 1 for name in columns):
        return False
    frame_values(table[list(columns)], "values of a choice")
    return True


def _ticks(x: np.ndarray) -> tuple[list[float], list[str]]:
    """Return places for ticks on a logarithmic axis, none too close to the one before it."""
    kept: list[float] = []
    for place in np.unique(x).tolist():
        if not kept or place >= 1.22 * kept[-1]:
            kept.append(place)
    return kept, [f"{place:g}" for place in kept]


def plot_components_data(spectrum: pd.DataFrame, table: pd.DataFrame) -> pd.DataFrame:
    """Return what :func:`plot_components` draws: "eigenvalue" and "noise" by component."""
    if not _has(spectrum, "eigenvalue") or not _has(table, "noise"):
        raise ShapeError(
            "spectrum needs the column eigenvalue, and table the column noise, as choose_k gives them."
        )
    data = spectrum[["eigenvalue"]].copy()
    data["noise"] = table["noise"].reindex(data.index)
    return data


def plot_components(
    spectrum: pd.DataFrame, table: pd.DataFrame, *, alpha: float = 0.05, ax: Axes | None = None
) -> Axes:
    """Draw the leading eigenvalues and what noise gives in their places.

    Parameters
    ----------
    spectrum, table : DataFrame
        As of ``choose_k(...)``.
    alpha : float
        The share of draws that exceeds the line of noise, for the legend.
    ax : Axes, optional
        By default those of a new figure.

    Returns
    -------
    Axes

    Raises
    ------
    ShapeError, OptionError
        Columns that are missing, `ax` that is not an Axes.
    """
    alpha = real_number("alpha", alpha, 0.0, 1.0)
    data = plot_components_data(spectrum, table)
    data = data.iloc[: max(20, len(table))]
    ax = axes_for(ax, 5.6, 3.8)
    x = np.arange(1, len(data) + 1)
    above = (data["eigenvalue"] > data["noise"]).to_numpy()
    kept = len(above) if above.all() else int(np.argmin(above))
    ax.plot(x, data["eigenvalue"], color=BLUE, linewidth=1.3, zorder=2, label="data")
    ax.plot(x[:kept], data["eigenvalue"].iloc[:kept], "o", color=BLUE, markersize=5.5, zorder=3)
    ax.plot(
        x[kept:],
        data["eigenvalue"].iloc[kept:],
        "o",
        color="white",
        markeredgecolor=BLUE,
        markersize=5.5,
        zorder=3,
    )
    ax.plot(
        x,
        data["noise"],
        color=INK,
        linestyle=(0, (6, 3)),
        linewidth=1.1,
        label=f"{100 * (1 - alpha):g} % of noise",
    )
    ax.set_ylim(bottom=0)
    ax.locator_params(axis="x", integer=True)
    ax.set_xlabel("Component")
    ax.set_ylabel("Eigenvalue")
    ax.legend(frameon=False, fontsize="small")
    ax.spines[["top", "right"]].set_visible(False)
    return ax
