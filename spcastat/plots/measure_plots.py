"""Measures and criteria of fits: as curves against nonzeros or penalties, or side by side."""

from __future__ import annotations

from collections.abc import Generator, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd

from spcastat.config import elements, flag, listed, one_of, real_number
from spcastat.errors import OptionError
from spcastat.labels import short_names
from spcastat.measures import MEASURES, measures_of
from spcastat.plots.axes_and_names import (
    BESIDE,
    OPEN,
    ROWS_ONLY,
    axes_for,
    columns_of,
    need_columns,
    size_of,
    write_legend,
)
from spcastat.plots.plot_and_table import plot
from spcastat.plots.plot_colours import MARKERS, accents, colours_of, ink, line, shade

if TYPE_CHECKING:
    from matplotlib.axes import Axes

#: Measures along a path -> their names in the legend.
DRAWN = {name: one.legend for name, one in MEASURES.items()} | {
    "score_correlation": "largest score correlation"
}
#: Kind of measure -> label of the vertical axis.
_AXES = {
    "total": "% of the total variance",
    "pca": "% of PCA's explained variance",
    "error": "Relative reconstruction error, %",
    "correlation": "Largest correlation of two scores, %",
}
#: Columns of a path of sparse coordinates -> their names in the legend.
_COORDINATES = {"cpev": "CPEV of the loadings", "fit": "kept by the sparse coordinates"}
#: Criteria of a choice -> column of the table, and label of the vertical axis.
CRITERIA = {
    "cv": ("error", "Error / that of the column means"),
    "ebic": ("ebic", "Extended BIC"),
    "bic": ("bic", "BIC"),
    "is": ("is", "Index of sparseness"),
    "variance": ("relative_adjusted", "Adjusted variance / dense PCA's"),
}


def _percent_axes(ax: Axes | None, width: float, height: float, data: pd.DataFrame) -> Axes:
    """Return axes for fractions drawn as percentages, with a vertical axis that starts at zero."""
    ax = axes_for(ax, width, height, OPEN)
    top = 100 * float(np.nanmax(data.to_numpy()))
    ax.set_ylim(0, 1.05 * top if top > 0 else 1.0)
    return ax


def _curve(ax: Axes, values: pd.Series, colour: Any, marker: str, label: str, **style: Any) -> None:
    """Draw fractions as percentages against their index, with marks if there are at most 40."""
    style = {"markersize": line(4), "linewidth": line(1.3), "zorder": 3, **style}
    style["marker"] = marker if len(values) <= 40 else None
    ax.plot(values.index.to_numpy(dtype=float), 100 * values, color=colour, label=label, **style)


def _dense_line(ax: Axes, share: float) -> None:
    dashes: dict[str, Any] = {"linestyle": (0, (6, 3)), "linewidth": line(0.9)}
    ax.axhline(100 * share, color=ink(ax), label="dense PCA", zorder=2, **dashes)


@plot
def plot_path(
    table: pd.DataFrame,
    *,
    measures: str | Sequence[str] = "adjusted",
    x: str = "nonzeros",
    ax: Axes | None = None,
) -> Generator[pd.DataFrame, None, Axes]:
    """Draw measures against the number of nonzero loadings (He, Monteiro and Park 2010, Figure 1).

    Parameters
    ----------
    table : DataFrame
        One row for each fit, with "nonzeros" and the measures, such as ``spca_path(...).table``.
    measures : str or sequence of str
        "adjusted", "pev", "least_squares", "relative_adjusted", "rre", "score_correlation".
    x : {"nonzeros", "card"}
        The horizontal axis: nonzero loadings of all components, or of each.
    ax : Axes, optional
        By default those of a new figure.

    Returns
    -------
    Axes
        A dashed line marks what dense PCA explains with as many components; the vertical axis starts at zero.

    Raises
    ------
    ShapeError, OptionError
        If columns are missing, a measure does not exist, or `ax` is not an Axes.

    Notes
    -----
    Its table, `plot_path_data`, is indexed by `x` and has one column for each measure, and "PCA" with the
    share that dense PCA explains if shares of the total variance are drawn.
    """
    chosen = elements(measures, len(DRAWN))
    for name in chosen:
        one_of("measures", name, DRAWN)
    one_of("x", x, ("nonzeros", "card"))
    if not chosen:
        raise OptionError("measures is empty; name one or more of " + listed(DRAWN) + ".")
    needed = ["nonzeros", *chosen, "pca"]
    columns_of(table, needed, f"The table of a path needs rows and the columns {listed(needed)}.")
    if x == "card" and not ("card" in table and pd.api.types.is_numeric_dtype(table["card"])):
        raise OptionError(
            "x='card' was given, and the cardinalities of this path are not one number for all "
            "components; x='nonzeros' has their sum."
        )
    kinds = ["correlation" if name not in MEASURES else MEASURES[name].of for name in chosen]
    data = table[[*chosen, "pca"]].rename(columns={"pca": "PCA"}).set_axis(pd.Index(table[x], name=x))
    data = data if "total" in kinds else data.drop(columns="PCA")
    yield data
    ax = _percent_axes(ax, 5.6, 3.8, data)
    for i, (name, colour) in enumerate(zip(chosen, colours_of(ax, None, chosen), strict=True)):
        style = ("-", "--", "-.", ":")[i % 4]
        _curve(ax, data[name], colour, MARKERS[i % len(MARKERS)], DRAWN[name], linestyle=style)
    if "PCA" in data:
        _dense_line(ax, float(data["PCA"].iloc[-1]))
    ax.locator_params(axis="x", integer=True)
    ax.set_xlabel("Nonzero loadings" if x == "nonzeros" else "Cardinality of each component")
    ax.set_ylabel(_AXES[kinds[0]] if len(set(kinds)) == 1 else "%")
    falling = data[chosen[0]].iloc[0] > data[chosen[0]].iloc[-1]
    ax.legend(frameon=False, loc="upper right" if falling else "lower right", fontsize="small")
    return ax


@plot
def plot_coordinates_path(
    table: pd.DataFrame, *, ax: Axes | None = None
) -> Generator[pd.DataFrame, None, Axes]:
    """Draw the variance that sparse coordinates explain against the share of coordinates that are zero.

    Parameters
    ----------
    table : DataFrame
        One row for each penalty, with the fractions "cpzc", "cpev", "fit" and "pca".
    ax : Axes, optional
        By default those of a new figure.

    Returns
    -------
    Axes

    Raises
    ------
    ShapeError, OptionError
        If columns are missing, or `ax` is not an Axes.

    Notes
    -----
    Its table, `plot_coordinates_path_data`, is indexed by "cpzc" and has "cpev", "fit" and "pca".
    """
    needed = ["cpzc", *_COORDINATES, "pca"]
    columns_of(table, needed, f"The table of a path needs rows and the columns {listed(needed)}.")
    data = table.set_index("cpzc")[needed[1:]].astype(float)
    yield data
    ax = _percent_axes(ax, 5.4, 3.7, data)
    for (name, label), colour, marker in zip(_COORDINATES.items(), accents(ax), "o^", strict=True):
        _curve(ax, data[name].set_axis(100 * data.index), colour, marker, label)
    _dense_line(ax, float(data["pca"].iloc[0]))
    ax.set_xlim(-2, 102)
    ax.set_xlabel("Zero coordinates (CPZC), %")
    ax.set_ylabel(_AXES["total"])
    ax.legend(frameon=False, fontsize="small", loc="lower left")
    return ax


@plot
def plot_reconstruction(
    errors: pd.DataFrame, *, sparse: bool = True, ax: Axes | None = None
) -> Generator[pd.DataFrame, None, Axes]:
    """Draw the relative error with which the first components reconstruct the data.

    Parameters
    ----------
    errors : DataFrame
        Indexed by the number of components from 0: "error", the norm of the residuals divided by that of the
        centred (and scaled) data, and "dense", the same for as many dense principal components, which is the
        smallest possible.
    sparse : bool
        Whether the components are sparse; for PCA no second line is drawn.
    ax : Axes, optional
        By default those of a new figure.

    Returns
    -------
    Axes

    Raises
    ------
    ShapeError
        If columns are missing.
    OptionError
        If `ax` is not an Axes.

    Notes
    -----
    Its table, `plot_reconstruction_data`, is indexed by the number of components and has "error" and "dense".
    """
    sparse, needed = flag("sparse", sparse), ["error", "dense"]
    message = f"The frame of errors needs a row for each number of components, and {listed(needed)}."
    columns_of(errors, needed, message)
    data = errors[needed].astype(float)
    yield data
    ax = _percent_axes(ax, 4.8, 3.5, data)
    _curve(ax, data["error"], accents(ax)[0], "o", "sparse PCA" if sparse else "PCA")
    if sparse:
        open_marks: dict[str, Any] = {"markerfacecolor": ax.get_facecolor(), "zorder": 2}
        _curve(ax, data["dense"], ink(ax), "o", "dense PCA", **open_marks)
    ax.locator_params(axis="x", integer=True)
    ax.set_xlabel("Components")
    ax.set_ylabel(_AXES["error"])
    ax.legend(frameon=False, fontsize="small")
    return ax


@plot
def plot_choice(
    table: pd.DataFrame, *, by: str = "cv", dense: float | None = None, ax: Axes | None = None
) -> Generator[pd.DataFrame, None, Axes]:
    """Draw a criterion against the number of nonzero loadings, and mark the choice.

    Parameters
    ----------
    table : DataFrame
        One row for each candidate, such as ``choose(...).table``.
    by : {"cv", "ebic", "bic", "is", "variance"}
        The criterion. For "cv" a band shows plus and minus one standard error.
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
        If columns are missing, or `ax` is not an Axes.

    Notes
    -----
    The curve and the band join candidates with the same cardinality for all components; candidates with
    unequal cardinalities are drawn separately. The table, `plot_choice_data`, is indexed by the number of
    nonzeros and has "value", "lower", "upper", "chosen" and "unequal".
    """
    column, label = CRITERIA[one_of("by", by, CRITERIA)]
    needed = ["nonzeros", "chosen", column]
    need_columns(table, needed, f"The table of a choice needs rows and the columns {', '.join(needed)}.")
    dense = None if dense is None else real_number("dense", dense, -1e300, 1e300)
    value = table[column].to_numpy()
    spread = table["se"].to_numpy() if by == "cv" and "se" in table else np.zeros(len(table))
    columns = {"value": value, "lower": value - spread, "upper": value + spread, "chosen": table["chosen"]}
    data = pd.DataFrame({name: np.asarray(one) for name, one in columns.items()}, index=table["nonzeros"])
    several = [isinstance(card, (tuple, list)) for card in table["card"]] if "card" in table else [False]
    data["unequal"] = False if all(several) else several
    data = data.sort_index(kind="stable")
    yield data
    ax = axes_for(ax, 5.6, 3.8, OPEN)
    blue, orange = accents(ax)
    x = data.index.to_numpy(dtype=float)
    curve = data[~data["unequal"]]
    if (curve["upper"] > curve["lower"]).any():
        band: dict[str, Any] = {"color": blue, "alpha": 0.18, "linewidth": 0, "label": "1 standard error"}
        ax.fill_between(curve.index, curve["lower"], curve["upper"], **band)
    dots: dict[str, Any] = {"color": blue, "markersize": line(4), "zorder": 3}
    ax.plot(curve.index, curve["value"], marker="o", linewidth=line(1.3), **dots)
    apart = data[data["unequal"]]
    mark = data["chosen"].to_numpy(dtype=bool)
    chosen = "chosen"
    if len(apart):
        ax.vlines(apart.index, apart["lower"], apart["upper"], color=blue, linewidth=line(1.3), zorder=3)
        chosen += ", unequal cardinalities" * bool(apart["chosen"].any())
        others = apart[~apart["chosen"].astype(bool)]
        if len(others):
            ax.plot(
                others.index, others["value"], marker="s", ls="none", label="unequal cardinalities", **dots
            )
    diamond: dict[str, Any] = {"color": orange, "marker": "D", "markersize": line(8), "ls": "none"}
    ax.plot(x[mark], data["value"].to_numpy()[mark], label=chosen, zorder=4, **diamond)
    if dense is not None:
        dashes: dict[str, Any] = {"linestyle": (0, (6, 3)), "linewidth": line(0.9), "zorder": 2}
        ax.axhline(dense, color=ink(ax), label="dense PCA", **dashes)
    if len(x) > 1 and x.max() > 8 * x.min():
        ax.set_xscale("log")
        places = _spaced(ax, x)
        ax.set_xticks(places, [f"{place:g}" for place in places])
        ax.minorticks_off()
    else:
        ax.locator_params(axis="x", integer=True)
    ax.set_xlabel("Nonzero loadings, all components")
    ax.set_ylabel(label)
    ax.legend(frameon=False, fontsize="small")
    return ax


def _spaced(ax: Axes, x: np.ndarray) -> list[float]:
    """Return values for the ticks of a logarithmic axis whose labels have room."""
    label = 0.64 * (len(f"{x.max():g}") + 1) * float(ax.xaxis.get_ticklabels()[0].get_fontsize())
    apart = (x.max() / x.min()) ** (label / size_of(ax)[0])
    kept: list[float] = []
    for place in np.unique(x).tolist():
        if not kept or place >= apart * kept[-1]:
            kept.append(place)
    return kept


# --- several fits side by side ---------------------------------------------------------------------


#: The columns drawn, from top to bottom, with their labels: the measures that are shares of variance.
ROWS = {one.name: one.legend.replace(", ", ",\n") for one in [*measures_of("total"), *measures_of("pca")]}


@plot
def plot_compare(measures: pd.DataFrame, *, ax: Axes | None = None) -> Generator[pd.DataFrame, None, Axes]:
    """Draw each share of variance of each fit as a point.

    Parameters
    ----------
    measures : DataFrame
        One row a fit, such as ``compare(...).frames["measures"]``. If it has a column "nonzeros", the legend
        shows how many each fit has.
    ax : Axes, optional
        By default those of a new figure.

    Returns
    -------
    Axes

    Raises
    ------
    ShapeError
        If a column is missing, or there is no fit.
    OptionError
        If `ax` is not an Axes.

    Notes
    -----
    Its table, `plot_compare_data`, has one row for each fit and one column for each measure, as fractions.
    """
    columns_of(
        measures, ROWS, f"The frame of measures needs a row for each fit and the columns {listed(ROWS)}."
    )
    data = measures[list(ROWS)].astype(float)
    yield data
    fits, counted = short_names(list(data.index), 24), "nonzeros" in measures.columns
    if counted:
        fits = [f"{name} ({int(count)})" for name, count in zip(fits, measures["nonzeros"], strict=True)]
    ax = axes_for(ax, 6.6, 1.1 + max(0.62, 0.14 * len(fits)) * len(ROWS), ROWS_ONLY)
    places = np.arange(len(ROWS), dtype=float)
    # within the band of a measure, fits are shown one below the other, so that equal values do not overlap
    offsets = np.linspace(-0.3, 0.3, len(fits)) if len(fits) > 1 else np.zeros(1)
    ax.hlines(places[:-1] + 0.5, 0, 100, colors=[shade(ax, 0.25)], linewidth=line(0.7), zorder=0.5)
    for i, colour in enumerate(colours_of(ax, None, fits)):
        style: dict[str, Any] = {"marker": MARKERS[i % len(MARKERS)], "markersize": line(6)}
        # without clipping, markers at 0 and 100 % are drawn completely
        shares = 100 * data.iloc[i].to_numpy()
        ax.plot(
            shares,
            places + offsets[i],
            color=colour,
            label=str(i),
            clip_on=False,
            zorder=3,
            ls="none",
            **style,
        )
    ax.set_yticks(places, list(ROWS.values()))
    ax.set_ylim(len(ROWS) - 0.5, -0.5)
    ax.set_xlim(0, 100)
    ax.set_xlabel("%")
    ax.tick_params(axis="y", length=0)
    ax.grid(axis="x", color=shade(ax, 0.12), linewidth=line(0.6))
    ax.set_axisbelow(True)
    write_legend(ax, None, fits, title="fit (nonzeros)" if counted else None, alignment="left", **BESIDE)
    return ax
