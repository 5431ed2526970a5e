"""How points and arrows of a biplot are scaled, and how that is told."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from spcastat.errors import DataError


def spread_of(values: NDArray[np.float64], scale: float, names: tuple[str, str]) -> NDArray[np.float64]:
    if len(values) < 2:
        raise DataError(f"There are scores of {len(values)} row; a biplot needs two or more.")
    spread = np.nanstd(values, axis=0, ddof=1)
    for size, name in zip(spread, names, strict=True):
        if scale > 0 and not size > 0:
            raise DataError(f"The scores of {name} are constant; choose other components, or scale=0.")
    return spread


def correlation_of(values: NDArray[np.float64]) -> float:
    x, y = (values - np.nanmean(values, axis=0)).T
    size = np.sqrt(np.nansum(x**2) * np.nansum(y**2))
    return float(np.nansum(x * y) / size) if size > 0 else float("nan")


def stretch_of(xy: NDArray[np.float64], ends: NDArray[np.float64]) -> float:
    """Return the factor by which arrows are drawn longer, so that neither they nor the points are squashed.

    The longest arrow is as long as the distance that 98 % of the points keep to the centre, but not shorter
    than half that of the farthest one: a single far point does not make the arrows leave the others behind.
    """
    away = np.sqrt((xy**2).sum(axis=1))
    away = away[np.isfinite(away)]
    longest = float(np.hypot(*ends.T).max()) if len(ends) else 0.0
    if not longest > 0 or not len(away) or not away.max() > 0:
        return 1.0
    reach = max(float(np.quantile(away, 0.98)), 0.5 * float(away.max()))
    return reach / longest


def scaling_text(scale: float, arrows: str, stretch: float) -> str:
    power = "" if scale == 1 else f"^{scale:g}"
    points = "scores" if scale == 0 else f"scores / sd{power}"
    drawn = "loadings" if scale == 0 else f"loadings × sd{power}"
    if arrows == "correlations":
        drawn = "correlations with the scores"
    return f"Points: {points}. Arrows: {drawn}, stretched {stretch:.3g} times."
