"""The scree plot: variance of the sparse components next to that of dense PCA."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
import pandas as pd

from spcastat.config import flag, listed
from spcastat.errors import ShapeError
from spcastat.labels import short_name
from spcastat.plots._shared import BLUE, INK, axes_for, frame_of

if TYPE_CHECKING:
    from matplotlib.axes import Axes

_NEEDED = ("adjusted variance", "share of total", "cumulative PCA")


def screeplot_data(variance: pd.DataFrame) -> pd.DataFrame:
    """Return what :func:`screeplot` draws.

    Parameters
    ----------
    variance : DataFrame, k x any
        One row a component, with the columns "adjusted variance", "share of total" (adjusted variance as
        a fraction of the total) and "cumulative PCA" (a fraction of the total).

    Returns
    -------
    DataFrame, k x 2
        "sparse": the adjusted variance of each component. "dense": the variance of the component of
        dense PCA with the same number; NaN if no component has a variance, as the total is unknown then.

    Raises
    ------
    ShapeError
        A column is missing, or there is no component.
    """
    frame_of(variance, "variances")
    missing = [column for column in _NEEDED if column not in variance.columns]
    if missing:
        raise ShapeError(
            f"The frame of variances lacks the columns {listed(missing)}; it has {listed(variance.columns)}."
        )
    sparse, share, cumulative = (variance[column].to_numpy(dtype=float) for column in _NEEDED)
    usable = share > 0
    total = float(np.median(sparse[usable] / share[usable])) if usable.any() else np.nan
    dense = np.diff(cumulative, prepend=0.0) * total
    return pd.DataFrame({"sparse": sparse, "dense": dense}, index=variance.index)


def screeplot(variance: pd.DataFrame, *, sparse: bool = True, ax: Axes | None = None) -> Axes:
    """Draw the adjusted variance of the sparse components as bars and that of dense PCA as a line.

    Parameters
    ----------
    variance : DataFrame
        As for :func:`screeplot_data`.
    sparse : bool
        Whether the components are sparse ones. Those of PCA itself have no second PCA beside them.
    ax : Axes, optional
        By default those of a new figure.

    Returns
    -------
    Axes

    Raises
    ------
    ShapeError
        As for :func:`screeplot_data`.
    OptionError
        `sparse` is no bool, `ax` no Axes.
    """
    sparse = flag("sparse", sparse)
    data = screeplot_data(variance)
    k = len(data)
    ax = axes_for(ax, float(np.clip(2.6 + 0.5 * k, 4.2, 9.0)), 3.6)
    place = np.arange(1, k + 1)
    label = "sparse PCA (adjusted)" if sparse else "PCA"
    ax.bar(place, data["sparse"], width=0.6, color=BLUE, alpha=0.55, label=label, zorder=2)
    dense = data["dense"].to_numpy()
    if sparse and np.isfinite(dense).any():
        style = {"marker": "o", "markersize": 5, "markerfacecolor": "white", "linewidth": 1.2}
        ax.plot(place, dense, color=INK, label="dense PCA", zorder=3, **style)  # type: ignore[arg-type]
    names = [short_name(name, 12) for name in data.index]
    step = -(-k // 15)
    turned = max(map(len, names)) * min(k, 15) > 60
    ax.set_xticks(
        place[::step],
        names[::step],
        rotation=45 if turned else 0,
        ha="right" if turned else "center",
        parse_math=False,
    )
    ax.set_xlim(0.4, k + 0.6)
    # A flat scree needs room for the legend above.
    right, most = np.nanmax(data.to_numpy()[k // 2 :]), np.nanmax(data.to_numpy())
    ax.set_ylim(0, (1.35 if right > 0.65 * most else 1.06) * most if most > 0 else 1.0)
    ax.set_ylabel("Variance")
    ax.legend(frameon=False, loc="upper right")
    ax.spines[["top", "right"]].set_visible(False)
    return ax
