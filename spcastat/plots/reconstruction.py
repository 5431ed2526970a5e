"""The error of reconstruction against the number of components."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
import pandas as pd

from spcastat.config import flag, listed
from spcastat.errors import ShapeError
from spcastat.plots._shared import axes_for
from spcastat.plots._theme import accents, ink, line, size_of_text

if TYPE_CHECKING:
    from matplotlib.axes import Axes

_NEEDED = ("error", "dense")


def plot_reconstruction_data(errors: pd.DataFrame) -> pd.DataFrame:
    """Return what :func:`plot_reconstruction` draws: "error" and "dense" by the number of components."""
    missing = [name for name in _NEEDED if name not in getattr(errors, "columns", ())]
    if missing or errors.empty:
        raise ShapeError(
            f"The frame of errors needs a row for each number of components, and {listed(_NEEDED)}."
        )
    return errors[list(_NEEDED)].astype(float)


def plot_reconstruction(errors: pd.DataFrame, *, sparse: bool = True, ax: Axes | None = None) -> Axes:
    """Draw the relative error with which the first components reconstruct the data.

    Parameters
    ----------
    errors : DataFrame
        By the number of components from 0 on: "error", the norm of what is left over that of the centred (and
        scaled) data, and "dense", the same of as many dense principal components, which none can fall below.
    sparse : bool
        Whether the components are sparse ones; those of PCA have no second line.
    ax : Axes, optional
        By default those of a new figure.

    Returns
    -------
    Axes

    Raises
    ------
    ShapeError
        Columns that are missing.
    OptionError
        `ax` is not an Axes.
    """
    sparse = flag("sparse", sparse)
    data = plot_reconstruction_data(errors)
    size = size_of_text()
    ax = axes_for(ax, 4.8 * size, 3.5 * size)
    count = data.index.to_numpy(dtype=float)
    mark = "o" if len(count) <= 40 else None
    ax.plot(
        count,
        100 * data["error"],
        color=accents(ax)[0],
        marker=mark,
        markersize=line(4.5),
        linewidth=line(1.4),
        label="sparse PCA" if sparse else "PCA",
        zorder=3,
    )
    if sparse:
        ax.plot(
            count,
            100 * data["dense"],
            color=ink(ax),
            marker=mark,
            markersize=line(4.5),
            markerfacecolor=ax.get_facecolor(),
            linewidth=line(1.1),
            label="dense PCA",
            zorder=2,
        )
    ax.set_ylim(0, 105 * max(float(np.nanmax(data.to_numpy())), 1e-12))
    ax.locator_params(axis="x", integer=True)
    ax.set_xlabel("Components")
    ax.set_ylabel("Relative reconstruction error, %")
    ax.legend(frameon=False, fontsize="small")
    ax.spines[["top", "right"]].set_visible(False)
    return ax
