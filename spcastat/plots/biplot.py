"""The biplot: rows as points, variables as arrows, on two components."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, Literal

import pandas as pd

from spcastat.config import flag, one_of, real_number
from spcastat.labels import short_name
from spcastat.plots._biplot_data import biplot_data
from spcastat.plots._biplot_draw import draw_biplot
from spcastat.plots._clouds import OUTLINES
from spcastat.plots._shared import axes_for, axis_names, positions
from spcastat.plots._theme import need_coloured, size_of_text

if TYPE_CHECKING:
    from matplotlib.axes import Axes


def biplot(
    scores: pd.DataFrame,
    loadings: pd.DataFrame,
    *,
    components: Sequence[int | str] = (1, 2),
    scale: float = 1.0,
    arrows: Literal["loadings", "correlations"] = "loadings",
    correlations: pd.DataFrame | None = None,
    variables: int | Literal["all"] = 30,
    shares: pd.Series | None = None,
    groups: Any = None,
    color: Any = None,
    palette: Any = None,
    outline: Literal["normal", "t", "hull"] | None = None,
    level: float = 0.95,
    centroids: bool = False,
    labels: Any = 0,
    new: pd.DataFrame | None = None,
    supplementary: pd.DataFrame | None = None,
    levels: pd.DataFrame | None = None,
    ax: Axes | None = None,
) -> Axes:
    """Draw rows as points and variables as arrows on two components.

    With s the standard deviations of the two columns of scores, points are scores / s^scale and arrows
    loadings * s^scale, so that their inner products are those of scores and loadings whatever the scale
    (Gabriel 1971). Singular values, s * sqrt(n - 1), in place of s would change both by a common factor
    only; with s, ``scale=1`` is R's ``biplot(prcomp(x), pc.biplot=TRUE)``. All arrows are stretched by
    one common factor to share the axes with the points; a note below the plot says how both are scaled.

    A variable with a loading on one of the two components lies on an axis exactly. Such variables share one
    arrow with a tick for each, and are named in a list at its end with their loadings, the largest first.
    Every other arrow is named at its tip. Where tips are too close for that, a number stands there and the
    note says whose it is.

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
    arrows : {"loadings", "correlations"}
        With "correlations" arrows end at the correlations of the variables with the two scores, stretched:
        those with a nonzero loading are drawn strongly, the others faintly.
    correlations : DataFrame, p x k, optional
        Of variables and scores; needed for ``arrows="correlations"``.
    variables : int or "all"
        The most arrows to draw: the longest, those with a nonzero loading first. The note says how many
        variables with a nonzero loading have no arrow.
    shares : Series, optional
        The fraction of variance of each component, indexed like the columns of `scores`, for the axes.
    groups : Series, Categorical or array of length n, optional
        Colours and marks the points; at most 20 groups. A Series is matched by its labels. The groups stand
        in the order of the categories, or of their values.
    color : Series or array of length n, optional
        Numbers to show as colours, with a colour bar.
    palette : mapping, sequence of colours, or str, optional
        The colours of the groups: by group, in their order, or the name of a colour map; for `color` a colour
        map.
    outline : {"normal", "t", "hull"}, optional
        Around each group, or all points without groups: the ellipse that holds the share `level` of a normal
        distribution with the group's mean and covariance matrix; that of the bivariate t distribution with 5
        degrees of freedom, fitted by maximum likelihood, which far points hardly move; or the convex hull.
        Groups of fewer than three points, or on a line, have none.
    level : float in (0, 1)
        Of the ellipses.
    centroids : bool
        Whether the mean of each group is marked, and named.
    labels : int, bool, sequence or Series
        Names of rows: a number names the rows farthest from the centre, True all; one text for each row, ""
        for none; or a Series, whose labels say which rows they name. Names without room are counted in the
        note.
    new : DataFrame, m x k, optional
        Scores of further rows, drawn as crosses on the scale of the others.
    supplementary : DataFrame, s x k, optional
        Correlations of further variables with the scores, for ``arrows="correlations"``.
    levels : DataFrame, l x k, optional
        Means of the scores for levels of further factors.
    ax : Axes, optional
        By default those of a new figure.

    Returns
    -------
    Axes
        Its note says so if the scores are correlated, as those of sparse components mostly are: inner
        products of points and arrows then are no least-squares approximation of the data.

    Raises
    ------
    ComponentsError
        Fewer than two components, or one that does not exist.
    OptionError
        An option out of range, too many groups, colours that do not exist, `ax` that is not an Axes.
    ShapeError
        Groups, labels or frames that do not fit one another.
    DataError
        A component with constant scores, unless ``scale=0``.
    """
    if outline is not None:
        one_of("outline", outline, OUTLINES)
    level = real_number("level", level, 0.0, 1.0 - 1e-9, open_low=True)
    need_coloured(palette, groups is not None or color is not None, "groups= or color")
    data = biplot_data(
        scores,
        loadings,
        components=components,
        scale=scale,
        arrows=arrows,
        correlations=correlations,
        variables=variables,
        groups=groups,
        color=color,
        labels=labels,
        new=new,
        supplementary=supplementary,
        levels=levels,
    )
    pair = positions(components, list(scores.columns))
    x_name, y_name = axis_names([scores.columns[i] for i in pair], shares)
    own = ax is None
    size = size_of_text()
    ax = axes_for(ax, 6.0 * size, 6.0 * size)
    given = groups if groups is not None else color
    title = short_name(given.name) if getattr(given, "name", None) is not None else ""
    draw_biplot(
        ax,
        data,
        own=own,
        axis_names=(x_name, y_name),
        title=title,
        palette=palette,
        outline=outline,
        level=level,
        centroids=flag("centroids", centroids),
    )
    return ax
