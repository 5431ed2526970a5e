"""What sums up a cloud of points: an ellipse, a convex hull, a centroid."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from spcastat.plots._theme import area, line, paper

if TYPE_CHECKING:
    from matplotlib.axes import Axes

Array = NDArray[np.float64]

#: What can be drawn around a group.
OUTLINES = ("normal", "t", "hull")
#: The degrees of freedom of the t distribution that is fitted.
FREEDOM = 5


def outline(xy: Array, kind: str, level: float) -> Array | None:
    """Return the corners of an outline around points, (m, 2); None where they span no area.

    "normal": the ellipse that holds a share `level` of the normal distribution with their mean and
    covariance matrix. "t": the same of the bivariate t distribution with 5 degrees of freedom of largest
    likelihood, which single far points hardly move. "hull": the smallest convex polygon around all of them.
    """
    xy = xy[np.isfinite(xy).all(axis=1)]
    if len(xy) < 3 or np.linalg.matrix_rank(xy - xy.mean(axis=0)) < 2:
        return None
    if kind == "hull":
        from scipy.spatial import ConvexHull  # slow to import

        return np.asarray(xy[ConvexHull(xy).vertices])
    from scipy.stats import chi2, f

    if kind == "normal":
        centre, scatter, radius = xy.mean(axis=0), np.cov(xy.T), np.sqrt(chi2.ppf(level, 2))
    else:
        centre, scatter = fit_t(xy)
        radius = np.sqrt(2.0 * f.ppf(level, 2, FREEDOM))
    angle = np.linspace(0.0, 2.0 * np.pi, 121)[:-1]
    circle = np.stack([np.cos(angle), np.sin(angle)], axis=1)
    return np.asarray(centre + radius * circle @ np.linalg.cholesky(scatter).T)


def fit_t(xy: Array, freedom: float = FREEDOM) -> tuple[Array, Array]:
    """Return centre and scatter of the t distribution of largest likelihood (Kent, Tyler and Vardi 1994).

    Each round weighs a point by (freedom + 2) over (freedom + its squared distance).
    """
    centre, scatter = xy.mean(axis=0), np.cov(xy.T)
    for _ in range(200):
        away = xy - centre
        distance = np.einsum("ij,ij->i", away, np.linalg.solve(scatter, away.T).T)
        weights = (freedom + 2.0) / (freedom + distance)
        moved = weights @ xy / weights.sum()
        away = xy - moved
        # dividing by the sum of the weights rather than by n has the same limit, and comes there sooner
        spread = (weights[:, None] * away).T @ away / weights.sum()
        done = np.abs(spread - scatter).max() <= 1e-10 * np.abs(scatter).max()
        centre, scatter = moved, spread
        if done:
            break
    return centre, scatter


def draw_outline(ax: Axes, corners: Array, colour: Any) -> None:
    """Draw a polygon with a faint filling."""
    from matplotlib.patches import Polygon

    style: dict[str, Any] = {"closed": True, "zorder": 1.5}
    ax.add_patch(Polygon(corners, facecolor=colour, edgecolor="none", alpha=0.10, **style))
    ax.add_patch(Polygon(corners, fill=False, edgecolor=colour, linewidth=line(1.1), alpha=0.85, **style))


def draw_centroid(ax: Axes, centre: Array, colour: Any, marker: str) -> None:
    """Draw a large mark with a rim in the colour of the paper."""
    ax.scatter(
        [centre[0]],
        [centre[1]],
        s=area(110),
        color=[colour],
        marker=marker,
        edgecolors=[tuple(paper(ax))],
        linewidths=line(1.4),
        zorder=5,
        gid="centroid",
    )
