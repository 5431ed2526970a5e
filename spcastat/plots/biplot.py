"""The biplot: rows as points, variables as arrows, on two components."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Literal

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from spcastat.config import one_of, real_number, shown, whole_number
from spcastat.errors import ComponentsError, DataError, OptionError, ShapeError
from spcastat.intake.checks import real_array
from spcastat.labels import short_name
from spcastat.plots._groups import group_rows, legend_of, scatter_groups
from spcastat.plots._labels import place_labels
from spcastat.plots._shared import INK, axes_for, frame_of, positions, settle

if TYPE_CHECKING:
    from matplotlib.axes import Axes

#: Scores that correlate more than this make the biplot approximate, and the plot says so.
UNCORRELATED = 0.01

#: More points than this are drawn as an image within a vector graphic.
RASTER = 5000


@dataclass(frozen=True)
class BiplotData:
    """What a biplot draws.

    Attributes
    ----------
    points : DataFrame, n x 2 or n x 3
        "x" and "y" of every row, and its "group" if groups were given.
    arrows : DataFrame, q x 4
        The variables with a nonzero loading on either component: "x" and "y" where the arrow is drawn to,
        its "length" as drawn, and whether it is "labelled". Divide by `stretch` for Gabriel's markers.
    stretch : float
        The common factor by which the arrows are longer than Gabriel's markers, to share the axes.
    correlation : float
        Of the two columns of scores; NaN if one of them is constant.
    components : tuple of str
        Names of the two components.
    """

    points: pd.DataFrame
    arrows: pd.DataFrame
    stretch: float
    correlation: float
    components: tuple[str, str]


def biplot_data(
    scores: pd.DataFrame,
    loadings: pd.DataFrame,
    *,
    components: Sequence[int | str] = (1, 2),
    scale: float = 1.0,
    groups: Any = None,
    labels: int | Literal["all"] = 10,
) -> BiplotData:
    """Return what :func:`biplot` draws; the parameters, errors and definitions are described there."""
    values, weights = frame_of(scores, "scores"), frame_of(loadings)
    if list(scores.columns) != list(loadings.columns):
        raise ShapeError(
            f"The scores have the components {list(scores.columns)}, the loadings {list(loadings.columns)}; "
            "they must be the same."
        )
    if values.shape[1] < 2:
        raise ComponentsError("There is one component; a biplot needs two. Fit with k=2 or more.")
    pair = positions(components, list(scores.columns))
    if len(pair) != 2:
        raise ComponentsError(f"components={shown(components)} was given; a biplot shows two.")
    scale = real_number("scale", scale, 0.0, 1.0)
    values, weights = values[:, pair], weights[:, pair]
    names = (short_name(scores.columns[pair[0]]), short_name(scores.columns[pair[1]]))
    spread = _spread(values, scale, names)
    drawn = np.flatnonzero((weights != 0).any(axis=1))
    xy, ends = values / spread**scale, weights[drawn] * spread**scale
    length = np.hypot(*ends.T)
    reach = np.sqrt(np.nanmax((xy**2).sum(axis=1)))
    stretch = float(reach / length.max()) if len(drawn) and reach > 0 else 1.0
    points = pd.DataFrame({"x": xy[:, 0], "y": xy[:, 1]}, index=scores.index)
    if groups is not None:
        points["group"] = group_rows(groups, scores.index)
    arrows = pd.DataFrame(
        {
            "x": ends[:, 0] * stretch,
            "y": ends[:, 1] * stretch,
            "length": length * stretch,
            "labelled": _longest(length, labels),
        },
        index=loadings.index[drawn],
    )
    return BiplotData(points, arrows, stretch, _correlation(values), names)


def biplot(
    scores: pd.DataFrame,
    loadings: pd.DataFrame,
    *,
    components: Sequence[int | str] = (1, 2),
    scale: float = 1.0,
    shares: pd.Series | None = None,
    groups: Any = None,
    labels: int | Literal["all"] = 10,
    ax: Axes | None = None,
) -> Axes:
    """Draw rows as points and variables as arrows on two components.

    With s the standard deviations of the two columns of scores, points are scores / s^scale and arrows
    loadings * s^scale, so that their inner products are those of scores and loadings whatever the scale
    (Gabriel 1971). Singular values, s * sqrt(n - 1), in place of s would change both by a common factor
    only; with s, ``scale=1`` is R's ``biplot(prcomp(x), pc.biplot=TRUE)``. All arrows are stretched by
    one common factor to share the axes with the points.

    Parameters
    ----------
    scores : DataFrame, n x k
    loadings : DataFrame, p x k
        Only variables with a nonzero loading on the two components have an arrow.
    components : two of int or str
        Numbers counted from one, or names.
    scale : float
        From 0 to 1. With 1 the points are standardised scores, and lengths of arrows and angles between
        them approximate standard deviations and correlations of the variables. With 0 the points are the
        scores themselves and their distances those of the rows within the components.
    shares : Series, optional
        The fraction of variance of each component, indexed like the columns of `scores`, for the axes.
    groups : Series, Categorical or array of length n, optional
        Colours and marks the points; at most 20 groups. A Series is matched by its labels.
    labels : int or "all"
        How many of the longest arrows are labelled. A label for which there is no room is left out.
    ax : Axes, optional
        By default those of a new figure.

    Returns
    -------
    Axes
        Its title is a note if the scores are correlated, as those of sparse components mostly are: inner
        products of points and arrows then are no least-squares approximation of the data.

    Raises
    ------
    ComponentsError
        Fewer than two components, or one that does not exist.
    OptionError
        `scale` or `labels` out of range, too many groups, `ax` that is no Axes.
    ShapeError
        Groups or frames that do not fit one another.
    DataError
        A component with constant scores, unless ``scale=0``.
    """
    if shares is not None:
        shares = _checked_shares(shares, scores)
    data = biplot_data(scores, loadings, components=components, scale=scale, groups=groups, labels=labels)
    xy, tips = data.points[["x", "y"]].to_numpy(), data.arrows[["x", "y"]].to_numpy()
    low, high = _limits(xy, tips)
    new, grouped = ax is None, "group" in data.points
    tall = float(np.clip(5.2 * (high[1] - low[1]) / (high[0] - low[0]), 3.0, 7.5))
    ax = axes_for(ax, 6.0 + 1.2 * grouped, tall + 0.8)
    ax.set(xlim=(low[0], high[0]), ylim=(low[1], high[1]))
    ax.set_aspect("equal", adjustable="box")
    ax.axhline(0, color="0.85", linewidth=0.8, zorder=0.5)
    ax.axvline(0, color="0.85", linewidth=0.8, zorder=0.5)
    n = len(xy)
    artists, names = scatter_groups(
        ax,
        xy,
        data.points["group"].array if grouped else None,
        s=float(np.clip(22 * (200 / n) ** 0.4, 4, 22)),
        alpha=float(np.clip(0.7 * (200 / n) ** 0.25, 0.3, 0.7)),
        rasterized=n > RASTER,
        zorder=2,
    )
    _arrows(ax, tips)
    _describe(ax, data, shares)
    if names:
        title = short_name(groups.name) if getattr(groups, "name", None) is not None else ""
        legend_of(ax, artists, names, title, outside=new, xy=np.vstack([xy, tips]))
    settle(ax)
    order = np.argsort(-data.arrows["length"].to_numpy(), kind="stable")
    order = order[data.arrows["labelled"].to_numpy()[order]]
    place_labels(ax, tips[order], [short_name(data.arrows.index[i]) for i in order], tips, xy)
    return ax


def _checked_shares(shares: Any, scores: pd.DataFrame) -> pd.Series:
    numbers = real_array(shares) if isinstance(shares, pd.Series) else None
    names = getattr(scores, "columns", [])
    if numbers is None or not shares.index.is_unique or not shares.index.isin(names).all():
        raise OptionError(
            f"shares of type {type(shares).__name__} was given; it must be a Series of "
            "numbers, labelled by the names of the components."
        )
    return pd.Series(numbers, index=shares.index)


def _spread(values: NDArray[np.float64], scale: float, names: tuple[str, str]) -> NDArray[np.float64]:
    if len(values) < 2:
        raise DataError(f"There are scores of {len(values)} row; a biplot needs two or more.")
    spread = np.nanstd(values, axis=0, ddof=1)
    for size, name in zip(spread, names, strict=True):
        if scale > 0 and not size > 0:
            raise DataError(f"The scores of {name} are constant; choose other components, or scale=0.")
    return spread


def _longest(length: NDArray[np.float64], labels: int | str) -> NDArray[np.bool_]:
    if isinstance(labels, str):
        one_of("labels", labels, ["all"])
        return np.ones(len(length), dtype=bool)
    count = whole_number("labels", labels, 0)
    chosen = np.zeros(len(length), dtype=bool)
    chosen[np.argsort(-length, kind="stable")[:count]] = True
    return chosen


def _correlation(values: NDArray[np.float64]) -> float:
    x, y = (values - np.nanmean(values, axis=0)).T
    size = np.sqrt(np.nansum(x**2) * np.nansum(y**2))
    return float(np.nansum(x * y) / size) if size > 0 else float("nan")


def _limits(
    xy: NDArray[np.float64], tips: NDArray[np.float64]
) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Return the lower and upper limits of both axes, with room for labels outside of the arrows."""
    everything = np.vstack([xy, 1.08 * tips, np.zeros((1, 2))])
    low, high = np.nanmin(everything, axis=0), np.nanmax(everything, axis=0)
    room = 0.06 * np.maximum(high - low, 0.3 * (high - low).max())
    room[room == 0] = 1.0
    return low - room, high + room


def _arrows(ax: Axes, tips: NDArray[np.float64]) -> None:
    start = np.zeros(len(tips))
    many = len(tips) > 25
    ax.quiver(
        start,
        start,
        tips[:, 0],
        tips[:, 1],
        angles="xy",
        scale_units="xy",
        scale=1,
        units="inches",
        width=0.009 if many else 0.014,
        headwidth=6,
        headlength=7,
        headaxislength=6.3,
        color=INK,
        zorder=4,
    )


def _describe(ax: Axes, data: BiplotData, shares: pd.Series | None) -> None:
    texts = list(data.components)
    if shares is not None:
        by_name = {short_name(name): share for name, share in shares.items()}
        texts = [f"{name} ({100 * by_name[name]:.1f} %)" if name in by_name else name for name in texts]
    ax.set_xlabel(texts[0], parse_math=False)
    ax.set_ylabel(texts[1], parse_math=False)
    if abs(data.correlation) > UNCORRELATED:
        r = f"{data.correlation:.2f}".replace("-", "−")
        note = f"Correlated scores (r = {r}): inner products are approximate"
        ax.set_title(note, fontsize="small", color="0.35")
