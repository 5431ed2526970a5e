"""Bars of contributions, squared cosines and frequencies of selection, and slopes in groups of rows."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Literal

import numpy as np
import pandas as pd

from spcastat.argument_types import Palette, Several
from spcastat.config import checked_level, one_of, real_number, text
from spcastat.errors import ComponentsError, DataError, ShapeError
from spcastat.labels import short_name, short_names
from spcastat.linalg.eigenvectors import leading
from spcastat.plots import axes_and_names as helpers
from spcastat.plots.axes_and_names import accents, colours_of, ink, line, shade
from spcastat.plots.loadings_plot import FILL, draw_bands

if TYPE_CHECKING:
    from matplotlib.axes import Axes

#: Kind of values -> label of their axis.
KINDS = {"contributions": "Contribution to the component, %", "cos2": "Squared cosine (quality of display)"}


def plot_contributions(
    values: pd.DataFrame,
    *,
    components: int | str | Several = 1,
    kind: Literal["contributions", "cos2"] = "contributions",
    of: str = "variables",
    max_rows: int | None = 20,
    ax: Axes | None = None,
) -> Axes:
    """Draw contributions or squared cosines as bars, one for each component, the largest first.

    Parameters
    ----------
    values : DataFrame, p x k or n x k
        Fractions, as `contributions` or `cos2` of a fit returns them.
    components : int, str, or up to six of them
        Numbers counted from one, or names.
    kind : {"contributions", "cos2"}
        Contributions are drawn in percent. The dashed line marks equal contributions of all, the dotted one
        equal contributions of all that are not zero.
    of : str
        What the rows of `values` are.
    max_rows : int, optional
        The largest number of rows; a note says how many more have a nonzero value. None draws all.
    ax : Axes, optional
        By default a new figure is created.

    Returns
    -------
    Axes

    Raises
    ------
    ComponentsError
        If a component does not exist, or there are more than six.
    OptionError
        If `kind` or `max_rows` is out of range, or `ax` is not an Axes.
    DataError
        If all values are zero or missing.
    """
    one_of("kind", kind, KINDS)
    of = text("of", of)
    data = plot_contributions_data(values, components=components, max_rows=max_rows)
    names = data.attrs["labels"]
    every = np.nan_to_num(values[list(data.columns)].to_numpy(dtype=float))
    shown, (rows, k) = np.nan_to_num(data.to_numpy(dtype=float)), data.shape
    factor = 100.0 if kind == "contributions" else 1.0
    width, height = 3.6 + 0.075 * max(map(len, names)), 1.2 + (0.16 + 0.1 * k) * max(rows, 4)
    ax = helpers.axes_for(ax, width, height, helpers.ROWS_ONLY)
    _draw_bars(ax, factor * shown, list(data.columns))
    equal = _equal_lines(ax, every, factor) if kind == "contributions" else []
    helpers.name_rows(ax, names)
    ax.set_xlim(0, max(1.04 * factor * float(shown.max()), 1.1 * max(equal, default=0.0)))
    ax.grid(axis="x", color=shade(ax, 0.12), linewidth=line(0.6))
    ax.set_axisbelow(True)
    label, only = KINDS[kind], short_name(data.columns[0])
    if k == 1:
        label = label.replace("the component", only) if kind == "contributions" else f"{label}, {only}"
    ax.set_xlabel(label, parse_math=False)
    if k > 1 or equal:  # above the bars, since there is no room next to them
        above: dict[str, Any] = {"loc": "lower left", "bbox_to_anchor": (0.0, 1.0), "ncols": min(k, 3)}
        ax.legend(frameon=False, fontsize="small", **above)
    helpers.run_layout(ax)
    unseen = int((every > 0).any(axis=1).sum()) - rows
    helpers.write_note(ax, [f"The largest {rows}; {unseen} more {of} have a nonzero value." * (unseen > 0)])
    return ax


def plot_contributions_data(
    values: pd.DataFrame,
    *,
    components: int | str | Several = 1,
    max_rows: int | None = 20,
) -> pd.DataFrame:
    """Return the values that `plot_contributions` draws, rows sorted by their decreasing sums.

    ``attrs["labels"]`` are the names in the figure, in the order of the rows.
    """
    helpers.frame_of(values, "values")
    chosen = helpers.positions(components, list(values.columns))
    if len(chosen) > 6:
        raise ComponentsError(f"{len(chosen)} components were chosen; at most 6 fit beside one another.")
    every = np.nan_to_num(values.iloc[:, chosen].to_numpy(dtype=float))
    total = every.sum(axis=1)
    if not total.any():
        raise DataError("All values are zero or missing; there is nothing to draw.")
    order = np.argsort(-total, kind="stable")
    order = order[total[order] > 0][: helpers.row_limit(max_rows, len(order))]
    data = values.iloc[order, chosen].copy()
    data.attrs["labels"] = short_names(list(data.index), 28)
    return data


def _draw_bars(ax: Axes, values: np.ndarray, components: list[Any]) -> None:
    """Draw the nonzero values of each row as adjacent bars, centred at the number of the row."""
    rows, k = values.shape
    width = 0.8 / k
    before = np.cumsum(values != 0, axis=1) - 1
    middle = ((values != 0).sum(axis=1)[:, None] - 1) / 2
    place = np.arange(rows)[:, None] + (before - middle) * width
    for j, (name, colour) in enumerate(zip(components, colours_of(ax, None, components), strict=True)):
        here = values[:, j] != 0
        label = short_name(name) if k > 1 else None
        ax.barh(place[here, j], values[here, j], height=0.9 * width, color=colour, label=label, zorder=2)


def _equal_lines(ax: Axes, every: np.ndarray, factor: float) -> list[float]:
    """Draw lines at equal contributions of all rows and, for one component, of the nonzero rows."""
    count, loaded = len(every), int(np.count_nonzero(every[:, 0]))
    lines = [(count, f"all {count}", (0, (5, 3)))]
    if every.shape[1] == 1 and 0 < loaded < count:
        lines.append((loaded, f"{loaded} not zero", (0, (1, 2))))
    for many, what, dashes in lines:
        label = f"equal, {what}: {factor / many:.3g} %"
        ax.axvline(factor / many, color=ink(ax), linestyle=dashes, linewidth=line(1.1), zorder=3, label=label)
    return [factor / many for many, _, _ in lines]


# --- frequencies ----------------------------------------------------------------------------------


#: Length of a bar of frequency one, as a share of the width of a component's band.
FULL = 0.85


def plot_frequency(
    frequency: pd.DataFrame,
    loadings: pd.DataFrame,
    threshold: float | None = None,
    *,
    max_rows: int | None = 40,
    components: Several | None = None,
    ax: Axes | None = None,
) -> Axes:
    """Draw a bar for each frequency, a band for each component, and a line at the threshold.

    Parameters
    ----------
    frequency, loadings : DataFrame, p x k
        Variables that the fit selects have blue bars, others grey ones.
    threshold : float in [0, 1], optional
        By default no line is drawn.
    max_rows : int, optional
        The largest number of variables to show. Those selected in the fit or in at least a tenth of the draws
        are shown, the most frequent of every component first. None shows all of these.
    components : sequence of int or str, optional
        Numbers counted from one, or names; by default all.
    ax : Axes, optional
        By default a new figure is created.

    Returns
    -------
    Axes
    """
    which, chosen = _frequent(frequency, loadings, threshold, max_rows, components)
    data = frequency.iloc[which, chosen]
    loaded = loadings.iloc[which, chosen].to_numpy() != 0
    values, (rows, k) = data.to_numpy(dtype=float), data.shape
    names = [short_name(name) for name in data.index]
    width = 0.9 + 0.075 * max(map(len, names)) + 1.1 * max(k, 2)
    ax = helpers.axes_for(ax, float(np.clip(width, 4.0, 14.0)), 1.1 + 0.24 * max(rows, 4), helpers.ROWS_ONLY)
    helpers.name_rows(ax, names, components_above=True)
    ax.set_xlim(-0.05, k)
    foot, top = -0.6, rows - 0.4
    ticks = {0.0: "0"} if threshold is None else {0.0: "0", FULL * threshold: f"{threshold:g}"}
    for c in range(k):
        colours = [accents(ax)[0] if used else shade(ax, 0.28) for used in loaded[:, c]]
        ax.barh(range(rows), FULL * values[:, c], left=c, height=0.62, color=colours, zorder=2)
        ax.vlines(c, foot, top, colors=[shade(ax, 0.4)], linewidth=line(0.8), zorder=3)
        for at in list(ticks)[1:]:
            ax.vlines(c + at, foot, top, colors=[ink(ax)], linestyles=":", linewidth=line(1.0), zorder=3)
    ax.set_xticks(np.arange(k) + FULL / 2, [short_name(name, 12) for name in data.columns], parse_math=False)
    ax.set_xticks([c + at for c in range(k) for at in ticks], [*ticks.values()] * k, minor=True)
    ax.tick_params(axis="x", which="minor", labelsize="x-small", length=2.5)
    ax.set_xlabel("Share of fits of half of the rows that select it\n(grey: not in the fit)")
    helpers.run_layout(ax)
    return ax


def plot_frequency_data(
    frequency: pd.DataFrame,
    loadings: pd.DataFrame,
    threshold: float | None = None,
    *,
    max_rows: int | None = 40,
    components: Several | None = None,
) -> pd.DataFrame:
    """Return the frequencies that `plot_frequency` draws, variables in the order of the data."""
    which, chosen = _frequent(frequency, loadings, threshold, max_rows, components)
    return frequency.iloc[which, chosen]


def _frequent(
    frequency: pd.DataFrame,
    loadings: pd.DataFrame,
    threshold: float | None,
    max_rows: int | None,
    components: Several | None,
) -> tuple[np.ndarray, list[int]]:
    """Return the positions of the variables and of the components that `plot_frequency` draws."""
    if threshold is not None:
        real_number("threshold", threshold, 0.0, 1.0)
    values, weights = helpers.frame_of(frequency, "frequencies"), helpers.frame_of(loadings)
    if values.shape != weights.shape or list(frequency.columns) != list(loadings.columns):
        raise ShapeError(
            f"frequency has the shape {values.shape}, loadings {weights.shape}; both must have the same "
            "variables and components, such as fit.stability().frequency and fit.loadings."
        )
    if not np.isfinite(values).all():
        raise DataError(f"{int((~np.isfinite(values)).sum())} frequencies are missing or infinite.")
    chosen = helpers.positions(components, list(frequency.columns))
    values, loaded = values[:, chosen], weights[:, chosen] != 0
    met = np.any(loaded | (values >= 0.1), axis=1, keepdims=True)
    return leading(np.where(met, values, 0.0), helpers.row_limit(max_rows, len(values))), chosen


#: Differences with an adjusted p-value up to this are marked.
LEVEL = 0.05


def plot_slopes(
    slopes: pd.DataFrame,
    *,
    max_rows: int | None = 40,
    components: Several | None = None,
    level: float = 0.95,
    palette: Palette | None = None,
    ax: Axes | None = None,
) -> Axes:
    """Draw the slopes of the variables of each component in every group, with intervals.

    Variables are drawn from top to bottom, components from left to right, groups in colours. A variable is
    drawn on the components in which it has a loading, or in which the groups differ; a star marks adjusted
    p-values up to .05.

    Parameters
    ----------
    slopes : DataFrame
        With the columns "group", "component", "term", "loading", "estimate", "std_error" and "p_adjusted".
    max_rows : int, optional
        The largest number of variables: those with the smallest adjusted p-values, then the largest loadings.
    components : sequence of int or str, optional
        Numbers counted from one, or names; by default all.
    level : float in (0, 1)
        Confidence level of the intervals, which are normal, for each slope alone.
    palette : mapping, sequence of colours, or str, optional
        Colours of the groups, as for the biplot.
    ax : Axes, optional
        By default a new figure is created.

    Returns
    -------
    Axes

    Raises
    ------
    ComponentsError
        If a component does not exist.
    OptionError
        If `max_rows` or `level` is out of range, or `ax` is not an Axes.
    """
    from statistics import NormalDist

    _require_slopes(slopes)
    half = NormalDist().inv_cdf(0.5 + checked_level(level) / 2.0)
    names = list(dict.fromkeys(slopes["component"]))
    chosen = [names[i] for i in helpers.positions(components, names)]
    drawn = plot_slopes_data(slopes, max_rows=max_rows, components=components)
    terms, groups = list(dict.fromkeys(drawn["term"])), list(dict.fromkeys(slopes["group"]))
    width = 1.3 + 0.075 * max(map(len, short_names(terms))) + 1.5 * len(chosen)
    height = 1.3 + (0.16 + 0.09 * len(groups)) * max(len(terms), 4)
    ax = helpers.axes_for(ax, float(np.clip(width, 4.5, 14.0)), height, helpers.ROWS_ONLY)
    helpers.name_rows(ax, short_names(terms), components_above=True)
    reach = float(np.nanmax(np.abs(drawn["estimate"]) + half * drawn["std_error"]))
    draw_bands(ax, pd.DataFrame(0.0, index=range(len(terms)), columns=chosen), reach)
    colours = helpers.colours_of(ax, palette, groups)
    offsets = np.linspace(-0.27, 0.27, len(groups)) if len(groups) > 1 else np.zeros(1)
    marks = []
    for colour, offset, group in zip(colours, offsets, groups, strict=True):
        own = drawn[drawn["group"] == group]
        y = np.array([terms.index(term) for term in own["term"]]) + offset
        x = np.array([chosen.index(name) for name in own["component"]], dtype=float)
        size = FILL / reach
        middle = x + size * own["estimate"].to_numpy()
        error = size * half * own["std_error"].to_numpy()
        ax.hlines(y, middle - error, middle + error, colors=[colour], linewidth=line(1.6), gid="interval")
        marks += ax.plot(middle, y, "o", color=colour, markersize=line(4.0), zorder=3)
    differing = drawn[(drawn["p_adjusted"] <= LEVEL) & (drawn["group"] == groups[0])]
    for component, term in zip(differing["component"], differing["term"], strict=True):
        place = chosen.index(component) + 0.46, terms.index(term)
        ax.annotate("*", place, ha="center", va="center", color=shade(ax, 1.0), gid="differs")
    helpers.write_legend(ax, marks, [short_name(group) for group in groups], **helpers.BESIDE)
    many = slopes["term"].nunique()
    ax.set_xlabel(
        "Slope of the variable on the score" + f"\n{len(terms)} of {many} variables" * (len(terms) < many)
    )
    return ax


def plot_slopes_data(
    slopes: pd.DataFrame, *, max_rows: int | None = 40, components: Several | None = None
) -> pd.DataFrame:
    """Return the rows of `slopes` that `plot_slopes` draws."""
    _require_slopes(slopes)
    names = list(dict.fromkeys(slopes["component"]))
    chosen = [names[i] for i in helpers.positions(components, names)]
    drawn = slopes[slopes["component"].isin(chosen)]
    drawn = drawn[(drawn["loading"] != 0) | (drawn["p_adjusted"] <= LEVEL)]
    if drawn.empty:
        raise DataError("There is no slope to draw: all loadings are zero.")
    terms = list(dict.fromkeys(slopes["term"]))
    best = drawn.groupby("term", sort=False).agg(
        p=("p_adjusted", "min"), size=("loading", lambda x: -x.abs().max())
    )
    limit = helpers.row_limit(max_rows, len(best))
    kept = set(best.sort_values(["p", "size"], kind="stable").index[:limit])
    order = {term: place for place, term in enumerate(terms)}
    drawn = drawn[drawn["term"].isin(kept)]
    return drawn.iloc[np.argsort([order[term] for term in drawn["term"]], kind="stable")]


def _require_slopes(slopes: Any) -> None:
    """Raise ShapeError unless `slopes` is a frame with the columns that the plot needs."""
    helpers.need_columns(slopes, ["loading", "estimate", "std_error", "p_adjusted"], "slopes")
    missing = [name for name in ("group", "component", "term") if list(slopes.columns).count(name) != 1]
    if missing:
        raise ShapeError(f"slopes needs once each the columns group, component and term; it lacks {missing}.")
