"""Measures and criteria of fits: as curves, side by side, and variances compared with PCA and with noise."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING, Any, Literal

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from spcastat.arguments import elements, explained, flag, listed, one_of, real_number, shown, whole_number
from spcastat.errors import OptionError, ShapeError
from spcastat.labels import HEADING_WIDTH, full_names, short_names
from spcastat.linalg.accumulate import is_sparse
from spcastat.measures import MEASURES, measures_of
from spcastat.plots import drawing
from spcastat.plots.drawing import MARKERS, accents, colours_of, ink, line, shade
from spcastat.plots.legends import (
    COLUMN_SPACE,
    EDGE_SPACE,
    HANDLE,
    HANDLE_GAP,
    legend_above,
    legend_size,
    write_legend,
)
from spcastat.plots.texts import HINTED, labels_for, width_of, wrapped
from spcastat.plots.ticks import NumbersFromOne, number_axes
from spcastat.reading.checks import real_array

if TYPE_CHECKING:
    from matplotlib.axes import Axes

#: Measures along a path -> their names in the legend.
DRAWN_MEASURES = {name: one.legend for name, one in MEASURES.items()} | {
    "score_correlation": "largest score |r|",
    "cpev": "CPEV of the loadings",
    "fit": "kept by the sparse coordinates",
}
#: Measures, and what they are beside, that a note defines -> the sentence.
DEFINITIONS = {
    "adjusted": "Adjusted: variance that a component adds to earlier ones.",
    "pev": "PEV: variance kept by projection on the loadings.",
    "least_squares": "Least squares: variance that the scores predict.",
    "dense": "Dense PCA: all loadings nonzero.",
}
#: Horizontal axis of a path -> its label.
_ACROSS = {
    "nonzeros": "Nonzero loadings",
    "card": "Nonzero loadings of each component",
    "cpzc": "Zero coordinates (CPZC), %",
}
#: Kind of measure -> label of the vertical axis.
_AXES = {
    "total": "% of the {total}",
    "pca": "% of PCA's explained variance",
    "error": "Relative reconstruction error, %",
    "correlation": "Largest |r| of two scores",
}
#: The axis of numbers is logarithmic if the largest is so many times the smallest, of a choice and of a path.
WIDE_CHOICE, WIDE_PATH = 8.0, 30.0
#: What the label of such an axis says.
ON_LOGARITHM = " (logarithmic)"
#: The share of the height of the axes that a line of their label may take.
LABEL_SHARE = 0.9
#: A curve of more points has no marks.
MOST_MARKS = 40
#: Criteria of a choice -> column of the table, and label of the vertical axis.
CRITERION_AXES = {
    "cv": ("error", "Error relative to column means"),
    "ebic": ("ebic", "Extended BIC"),
    "bic": ("bic", "BIC"),
    "is": ("is", "Index of sparseness"),
    "variance": ("relative_adjusted", "Adjusted variance / dense PCA's"),
}


def _kind_of(name: str) -> str:
    """Return what a measure of a path is a share of, a key of `_AXES`."""
    if name in MEASURES:
        return MEASURES[name].of
    return "correlation" if name == "score_correlation" else "total"


def _axes_from_zero(ax: Axes | None, width: float, height: float, data: pd.DataFrame) -> Axes:
    """Return axes for values, with a vertical axis that starts at zero."""
    ax = drawing.axes_for(ax, width, height, drawing.OPEN)
    top = float(np.nanmax(data.to_numpy()))
    ax.set_ylim(0, 1.05 * top if top > 0 else 1.0)
    return ax


def _curve(ax: Axes, values: pd.Series, colour: Any, marker: str, label: str, **style: Any) -> None:
    """Draw values against their index, with marks if there are few."""
    style = {"markersize": line(4), "linewidth": line(1.3), "zorder": 3, **style}
    style["marker"] = marker if len(values) <= MOST_MARKS else None
    ax.plot(values.index.to_numpy(dtype=float), values, color=colour, label=label, **style)


def _dense_line(ax: Axes, value: float) -> None:
    dashes: dict[str, Any] = {"linestyle": (0, (6, 3)), "linewidth": line(0.9)}
    ax.axhline(value, color=ink(ax), label="dense PCA", zorder=2, **dashes)


def _in_lines(ax: Axes, label: str) -> str:
    """Return the label of the vertical axis in as many lines as its length needs."""
    return "\n".join(wrapped(label, LABEL_SHARE * float(drawing.size_of(ax)[1]), drawing.name_size() + 1.5))


def _labelled(ax: Axes, x: str, y: str, integer: bool = True) -> Axes:
    """Set the axis labels and draw the legend; if `integer`, ticks of the horizontal axis are integers."""
    number_axes(ax, "x" * integer)
    size = drawing.name_size()
    drawing.label_components(ax, (x, y), size)
    names = ax.get_legend_handles_labels()[1]
    write_legend(ax, None, names, size, **legend_above(ax, names))
    drawing.run_layout(ax)  # legend and note leave the height for the label
    ax.set_ylabel(_in_lines(ax, y))
    return ax


@explained
def plot_path(
    table: pd.DataFrame,
    *,
    measures: str | Sequence[str] = "adjusted",
    x: Literal["nonzeros", "card", "cpzc"] = "nonzeros",
    ax: Axes | None = None,
) -> Axes:
    """Draw measures against the number of nonzero loadings (He, Monteiro and Park 2010, Figure 1).

    Parameters
    ----------
    table : DataFrame
        One row for each fit, with "nonzeros" and the measures, such as ``spca_path(...).table``; or of sparse
        coordinates, with "cpzc". ``table.attrs["total"]`` is the name of the total for the axis, by default
        "total variance".
    measures : str or sequence of str
        "adjusted", "pev", "least_squares", "relative_adjusted", "rre", "score_correlation"; for sparse
        coordinates "cpev" and "fit".
    x : {"nonzeros", "card", "cpzc"}
        Whether the axis counts nonzeros in total or per component, or shows the share of coordinates that are
        zero.
    ax : Axes, optional
        By default a new figure is created.

    Returns
    -------
    Axes
        A dashed line marks what dense PCA explains with the same number of components; the vertical axis
        starts at zero.

    Raises
    ------
    ShapeError, OptionError
        If columns are missing, a measure does not exist, or `ax` is not an Axes.
    """
    data = plot_path_data(table, measures=measures, x=x)
    names = [name for name in data.columns if name != "PCA"]
    kinds = [_kind_of(name) for name in names]
    factor = 1.0 if set(kinds) == {"correlation"} else 100.0
    total = drawing.total_of(table)
    unit = _AXES[kinds[0]].format(total=total) if len(set(kinds)) == 1 else "%"
    data = factor * data
    ax = _axes_from_zero(ax, 5.6, 3.8, data)
    for i, (name, colour) in enumerate(zip(names, colours_of(ax, None, names), strict=True)):
        style = ("-", "--", "-.", ":")[i % 4]
        curve = data[name] if x != "cpzc" else data[name].set_axis(100 * data.index)
        label = DRAWN_MEASURES[name] + " × 100" * (kinds[i] == "correlation" and factor > 1)
        _curve(ax, curve, colour, MARKERS[i % len(MARKERS)], label, linestyle=style)
    if "PCA" in data:
        _dense_line(ax, float(data["PCA"].iloc[-1]))
    counts = data.index.to_numpy(dtype=float)
    sentences = _units(names, kinds, total) if unit == "%" else []
    is_logarithmic = x != "cpzc" and _made_logarithmic(ax, counts, WIDE_PATH)
    sentences += definitions([*names, *["dense"] * ("PCA" in data)])
    drawing.write_note(ax, sentences)
    return _labelled(ax, _ACROSS[x] + ON_LOGARITHM * is_logarithmic, unit, integer=x != "cpzc")


def definitions(names: Iterable[str]) -> list[str]:
    """Return the sentences of a note that define measures and what else is drawn, as far as one needs it."""
    return [DEFINITIONS[name] for name in DEFINITIONS if name in set(names)]


def _units(names: Sequence[str], kinds: Sequence[str], total: str) -> list[str]:
    """Return a sentence for each kind of measures that says what their percentages are."""
    sentences = []
    for kind in dict.fromkeys(kinds):
        if kind != "correlation":
            kinds_of_names = zip(names, kinds, strict=True)
            labels = [DRAWN_MEASURES[name] for name, name_kind in kinds_of_names if name_kind == kind]
            labels += ["dense PCA"] * (kind == "total")
            words, unit = ", ".join(labels), _AXES[kind].format(total=total).removesuffix(", %")
            sentences.append(f"{words[0].upper()}{words[1:]}: {unit[0].lower()}{unit[1:]}.")
    return sentences


@explained
def plot_path_data(
    table: pd.DataFrame,
    *,
    measures: str | Sequence[str] = "adjusted",
    x: Literal["nonzeros", "card", "cpzc"] = "nonzeros",
) -> pd.DataFrame:
    """Return the measures that `plot_path` draws, indexed by `x`, and "PCA" with shares of the total."""
    names = elements(measures, len(DRAWN_MEASURES))
    for name in names:
        one_of("measures", name, DRAWN_MEASURES)
    one_of("x", x, _ACROSS)
    if not names:
        raise OptionError("measures is empty; name one or more of " + listed(DRAWN_MEASURES) + ".")
    drawing.need_columns(table, ["cpzc" if x == "cpzc" else "nonzeros", *names, "pca"], "The table of a path")
    if x == "card" and not ("card" in table and pd.api.types.is_numeric_dtype(table["card"])):
        raise OptionError(
            "x='card' was given, and the cardinalities of this path are not one number for all "
            "components; x='nonzeros' has their sum."
        )
    kinds = [_kind_of(name) for name in names]
    data = table[[*names, "pca"]].rename(columns={"pca": "PCA"}).set_axis(pd.Index(table[x], name=x))
    return data if "total" in kinds else data.drop(columns="PCA")


@explained
def plot_choice(
    table: pd.DataFrame,
    *,
    by: str = "cv",
    dense: float | None = None,
    ax: Axes | None = None,
) -> Axes:
    """Draw a criterion against the number of nonzero loadings, and mark the choice.

    Parameters
    ----------
    table : DataFrame
        One row for each candidate, such as ``choose(...).table``. ``table.attrs["note"]`` is written below
        the plot.
    by : {"cv", "ebic", "bic", "is", "variance"}
        The criterion. For "cv" a band shows plus and minus one standard error.
    dense : float, optional
        The value of dense PCA, drawn as a dashed line.
    ax : Axes, optional
        By default a new figure is created.

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
    unequal cardinalities are drawn separately.
    """
    data = plot_choice_data(table, by=by, dense=dense)
    label = CRITERION_AXES[by][1]
    ax = drawing.axes_for(ax, 5.6, 3.8, drawing.OPEN)
    blue, orange = accents(ax)
    x = data.index.to_numpy(dtype=float)
    curve = data[~data["unequal"]]
    if (curve["upper"] > curve["lower"]).any():
        band: dict[str, Any] = {"color": blue, "alpha": 0.25, "linewidth": 0, "label": "± 1 s.e."}
        ax.fill_between(curve.index, curve["lower"], curve["upper"], **band)
        for edge in ("lower", "upper"):  # Matplotlib places legends away from lines, but not from bands
            ax.plot(curve.index, curve[edge], color=blue, alpha=0.18, linewidth=line(0.6))
    dots: dict[str, Any] = {"color": blue, "markersize": line(4), "zorder": 3}
    unequal = data[data["unequal"]]
    name_of_curve = "equal per component" if len(unequal) else "candidates"
    ax.plot(curve.index, curve["value"], marker="o", linewidth=line(1.3), **dots, label=name_of_curve)
    mark = data["chosen"].to_numpy(dtype=bool)
    label_of_choice = "chosen"
    if len(unequal):
        ax.vlines(
            unequal.index, unequal["lower"], unequal["upper"], color=blue, linewidth=line(1.3), zorder=3
        )
        label_of_choice += " (unequal)" * bool(unequal["chosen"].any())
        if len(remaining := unequal[~unequal["chosen"].astype(bool)]):
            dots |= {"marker": "s", "ls": "none", "label": "unequal"}
            ax.plot(remaining.index, remaining["value"], **dots)
    diamond: dict[str, Any] = {"color": orange, "marker": "D", "markersize": line(6.5), "ls": "none"}
    ax.plot(x[mark], data["value"].to_numpy()[mark], label=label_of_choice, zorder=4, **diamond)
    if dense is not None:
        _dense_line(ax, dense)
    is_logarithmic = _made_logarithmic(ax, x, WIDE_CHOICE)
    drawing.write_note(ax, [table.attrs.get("note", ""), *definitions(["dense"] * (dense is not None))])
    return _labelled(ax, f"Nonzero loadings{ON_LOGARITHM if is_logarithmic else ', all components'}", label)


@explained
def plot_choice_data(table: pd.DataFrame, *, by: str = "cv", dense: float | None = None) -> pd.DataFrame:
    """Return what `plot_choice` draws of each candidate, indexed by the number of nonzeros.

    "value", "lower" and "upper" of the criterion, whether it is "chosen", and whether its cardinalities are
    "unequal".
    """
    column, _ = CRITERION_AXES[one_of("by", by, CRITERION_AXES)]
    drawing.need_columns(table, ["nonzeros", "chosen", column], "The table of a choice")
    if dense is not None:
        real_number("dense", dense, -1e300, 1e300)
    value = table[column].to_numpy()
    spread = table["se"].to_numpy() if by == "cv" and "se" in table else np.zeros(len(table))
    columns = {"value": value, "lower": value - spread, "upper": value + spread, "chosen": table["chosen"]}
    data = pd.DataFrame(
        {name: np.asarray(column_values) for name, column_values in columns.items()}, index=table["nonzeros"]
    )
    several = (
        [isinstance(card, (tuple, list)) for card in table["card"]]
        if "card" in table
        else [False] * len(table)
    )
    data["unequal"] = False if all(several) else several
    return data.sort_index(kind="stable")


def _made_logarithmic(ax: Axes, x: NDArray[np.float64], wide: float) -> bool:
    """Make the horizontal axis logarithmic, with ticks at some of the numbers x, if their range is wide."""
    if not 0.0 < wide * x.min() < x.max():
        return False
    ax.set_xscale("log")
    places = _spaced(ax, x)
    ax.set_xticks(places, [f"{place:g}" for place in places])
    ax.minorticks_off()
    return True


def _spaced(ax: Axes, x: np.ndarray) -> list[float]:
    """Return values for the ticks of a logarithmic axis whose labels have room."""
    label = 0.64 * (len(f"{x.max():g}") + 1) * float(ax.xaxis.get_ticklabels()[0].get_fontsize())
    least_ratio = (x.max() / x.min()) ** (label / drawing.size_of(ax)[0])
    ticks: list[float] = []
    for place in np.unique(x).tolist():
        if not ticks or place >= least_ratio * ticks[-1]:
            ticks.append(place)
    return ticks


# --- several fits side by side ---------------------------------------------------------------------


#: The largest share of the place of the axes for the names of fits above them.
LEGEND_SHARE = 0.8
#: The largest share of the height of this place for them in one column.
HIGHEST_LEGEND = 0.2
#: The columns drawn, from top to bottom, with their labels: the measures that are shares of variance.
MEASURE_PANELS = {
    measure.name: measure.legend.replace(", relative to PCA", ",\n% of PCA's").replace(" v", "\nv")
    for measure in [*measures_of("total"), *measures_of("pca")]
}
#: What the note says of held-out errors.
ON_HELD_OUT_ERRORS = ["Held-out error ± s.e.: % of that of column means; small is good."]


@explained
def plot_compare(measures: pd.DataFrame, *, ax: Axes | None = None) -> Axes:
    """Draw each share of variance of each fit as a point, and held-out errors with one standard error.

    Parameters
    ----------
    measures : DataFrame
        One row for each fit, such as ``compare(...).frames["measures"]``. If there is a column "nonzeros",
        the legend shows the number of each fit. Held-out errors are drawn if there are columns "held_out" and
        "held_out_se".
    ax : Axes, optional
        By default a new figure is created.

    Returns
    -------
    Axes

    Raises
    ------
    ShapeError
        If a column is missing, or there is no fit.
    OptionError
        If `ax` is not an Axes.
    """
    data = plot_compare_data(measures)
    fits, counted = full_names(list(data.index)), "nonzeros" in measures.columns
    counts = [f" ({int(count)})" for count in measures["nonzeros"]] if counted else [""] * len(fits)
    panels = {str(name): label for name, label in MEASURE_PANELS.items()}
    if with_held_out := "held_out" in data:
        panels["held_out"] = "held-out\nerror, %"
    height = 1.1 + max(0.62, 0.14 * len(fits)) * len(panels)
    ax = drawing.axes_for(ax, 6.6, height + 0.14 * len(fits), drawing.ROWS_ONLY)
    size = drawing.name_size()
    fits, columns = _names_of_fits(ax, fits, counts)
    places = np.arange(len(panels), dtype=float)
    values = 100 * data[list(panels)]
    errors = 100 * data["held_out_se"] if with_held_out else pd.Series(0.0, data.index)
    end = max(100.0, float(np.nanmax(values.iloc[:, -1] + errors)))
    # within the band of a measure, fits are shown one below the other, so that equal values do not overlap
    offsets = np.linspace(-0.3, 0.3, len(fits)) if len(fits) > 1 else np.zeros(1)
    ax.hlines(places[:-1] + 0.5, 0, end, colors=[shade(ax, 0.25)], linewidth=line(0.7), zorder=0.5)
    for i, colour in enumerate(colours_of(ax, None, fits)):
        style: dict[str, Any] = {"marker": MARKERS[i % len(MARKERS)], "markersize": line(6), "ls": "none"}
        # without clipping, markers at 0 and 100 % are drawn completely
        style |= {"clip_on": False, "zorder": 3, "color": colour, "label": str(i)}
        ax.plot(values.iloc[i].to_numpy(), places + offsets[i], **style)
        if with_held_out:
            middle, spread = values["held_out"].iloc[i], errors.iloc[i]
            ends = max(middle - spread, 0.0), middle + spread
            ax.hlines(places[-1] + offsets[i], *ends, colors=[colour], linewidth=line(1.2), gid="interval")
    label = "% of the variance, or as named" if with_held_out else "% of the variance (last row: of PCA's)"
    drawing.label_components(ax, (label, ""), size)
    ax.xaxis.label.set(ha="right", x=1.0)  # the names have room beside it
    number_axes(ax)
    ax.set_yticks(places, list(panels.values()), fontsize=size)
    ax.set_ylim(len(panels) - 0.5, -0.5)
    ax.set_xlim(0, end)
    ax.tick_params(axis="y", length=0)
    ax.grid(axis="x", color=shade(ax, 0.12), linewidth=line(0.6))
    ax.set_axisbelow(True)
    title = "fit (nonzeros)" if counted else None
    place = {**legend_above(ax, fits), "ncols": columns}
    if columns > 1:  # the legend begins above the names of the measures
        place |= {"loc": "lower right", "bbox_to_anchor": (1.0, 1.0)}
    write_legend(ax, None, fits, size, title=title, **place)
    drawing.write_note(ax, [*definitions(data.columns), *ON_HELD_OUT_ERRORS * with_held_out])
    drawing.run_layout(ax)
    pitch = 0.6 * float(drawing.size_of(ax)[1]) / len(panels) / max(len(fits) - 1, 1)
    for marks in ax.lines:
        marks.set_markersize(min(line(6), max(pitch, drawing.SMALLEST_MARK)))
    return ax


def _names_of_fits(ax: Axes, fits: Sequence[str], counts: Sequence[str]) -> tuple[list[str], int]:
    """Return the names of fits with their numbers of loadings, and the number of columns of their legend.

    There are two columns of shorter names if one would be too high.
    """
    size = drawing.name_size()
    room, height = drawing.name_room(ax, LEGEND_SHARE), drawing.place_height(ax)
    if is_high := legend_size(fits, "fit", 1, size)[1] > HIGHEST_LEGEND * height:
        column = (drawing.place_width(ax) - COLUMN_SPACE * size) / 2.0
        room = column / HINTED - (HANDLE + HANDLE_GAP) * size
    labels = labels_for(fits, [room - width_of(count, size) for count in counts], size)
    return [label + count for label, count in zip(labels, counts, strict=True)], 1 + is_high


@explained
def plot_compare_data(measures: pd.DataFrame) -> pd.DataFrame:
    """Return what `plot_compare` draws of each fit: shares of variance, and held-out errors if any."""
    columns: list[str] = [*MEASURE_PANELS]
    drawing.need_columns(measures, columns, "The frame of measures")
    if "held_out" in measures:
        columns += ["held_out", "held_out_se"]
        drawing.need_columns(measures, columns, "The frame of measures")
    return measures[columns].astype(float)


# --- variances of components -----------------------------------------------------------------------


#: Kind of values on the vertical axis -> its label.
VALUE_AXES = {
    "variance": "Variance",
    "share": "% of the {total}",
    "cumulative": "Cumulative % of the {total}",
}
#: Height of the number of a point in font sizes, its distance from the point, and from the next number.
NUMBER_HEIGHT, NUMBER_ABOVE, NUMBER_GAP = 1.25, 4, 2.0
#: What the note says if a bar is above the line by more than this share of the height of the line.
HIGHER_BAR = "A later sparse component may have more variance than the dense one."
VISIBLE = 0.01
#: Up to so many components have all their shares in the note if some have no room in the plot.
MOST_SHARES = 6
#: The least space between two names of components, in points.
NAME_SPACE = 6.0
#: The least space between the legend and what is drawn, in font sizes.
LEGEND_GAP = 1.0
#: Largest number of components to draw.
COMPONENTS_DRAWN = 10_000


@explained
def screeplot(
    variance: pd.DataFrame | None,
    spectrum: Any = None,
    *,
    kind: Literal["variance", "share", "cumulative"] = "variance",
    sparse: bool = True,
    parallel: Any = None,
    k: int | None = None,
    max_components: int | None = None,
    ax: Axes | None = None,
) -> Axes:
    """Draw the adjusted variance of the sparse components as bars and the spectrum of dense PCA as a line.

    A later bar may rise above the line, because the earlier sparse components leave more variance than the
    same number of principal components; the cumulative sum of the bars never exceeds the cumulative sum of
    the line.

    Parameters
    ----------
    variance : DataFrame, k x any, or None
        One row for each component, with the columns "adjusted variance", "share of total" (adjusted variance
        as a fraction of the total) and "cumulative PCA" (a fraction of the total). None for no bars.
        ``variance.attrs["total"]`` is the name of the total for the axis, by default "total variance", and
        ``variance.attrs["label"]`` that of the bars in the legend, by default "sparse PCA (adjusted)".
    spectrum : array-like, optional
        All eigenvalues of the covariance matrix, descending; by default the first k, from `variance`.
        ``spectrum.attrs["note"]`` is written below the plot.
    kind : {"variance", "share", "cumulative"}
        Variances; their shares of the total; or cumulative shares.
    sparse : bool
        Whether the components are others than those of PCA. For a fit by PCA only the rest of the spectrum is
        added, not a second line.
    parallel : array-like, optional
        Thresholds of parallel analysis for the first components, in the unit of the variances, drawn as a
        line, not for cumulative shares: dense components above it have more variance than components of data
        without structure. Marks of the components before the first one below it are filled. The method of a
        fit also takes what `choose_k` or `choose` returned. With ``attrs["note"]``, which is written below
        the plot, thresholds fill the marks and have no line; ``attrs["quantile"]`` is the share of such data
        below them.
    k : int, optional
        The number of components chosen, which a vertical line marks; the marks of the dense components up to
        this number are filled instead.
    max_components : int, optional
        The largest number of components of the spectrum to draw; never fewer than were fitted.
    ax : Axes, optional
        By default a new figure is created.

    Returns
    -------
    Axes

    Raises
    ------
    ShapeError
        If a column is missing, there is no component, or the spectrum has fewer than k values.
    OptionError
        If `kind` does not exist, values are not numbers, the spectrum is not descending, `sparse` is not a
        bool, `k` is below 0, or `ax` is not an Axes.
    """
    sparse = flag("sparse", sparse)
    k = None if k is None else whole_number("k", k, 0)
    data = screeplot_data(
        variance, spectrum, kind=kind, sparse=sparse, parallel=parallel, max_components=max_components
    )
    bars, count = 0 if variance is None else len(variance), len(data)
    number = count if spectrum is None else len(_numbers("spectrum", spectrum))
    total = drawing.total_of(variance)
    ax = drawing.axes_for(ax, float(np.clip(3.0 + 0.35 * count, 4.4, 8.0)), 3.6, drawing.OPEN)
    blue, orange = accents(ax)
    place, values = np.arange(1, count + 1), data if kind == "variance" else 100 * data
    attributes = {} if variance is None else variance.attrs
    label = attributes.get("label", "sparse PCA (adjusted)") if sparse else "PCA"
    if bars:
        ax.bar(
            place[:bars],
            values["sparse"].iloc[:bars],
            width=0.66,
            color=blue,
            alpha=0.6,
            label=label,
            zorder=2,
        )
    style: dict[str, Any] = {"linewidth": line(1.2), "zorder": 3}
    if values["dense"].notna().any() and (sparse or count > bars):
        label = "dense PCA" if sparse else "PCA" + ", further components" * bool(bars)
        filled = _filled(values, k)
        if k is None and "parallel" in values and len(filled):
            label += " (filled: by parallel analysis)"
        elif len(filled):
            label += " (filled: chosen)"
        marks: dict[str, Any] = {"marker": "o", "markersize": line(4.5), "mfc": ax.get_facecolor()}
        ax.plot(
            place,
            values["dense"],
            color=ink(ax),
            label=label,
            **style,
            clip_on=False,  # marks at zero are whole
            **(marks if count <= MOST_MARKS else {}),
        )
        if len(filled):
            marks |= {"mfc": ink(ax), "color": ink(ax), "ls": "none", "zorder": 4, "clip_on": False}
            ax.plot(filled + 1, values["dense"].iloc[filled], **marks)
    notes = [_attribute(spectrum, "note"), *_on_parallel_analysis(parallel)]
    if _attribute(parallel, "note"):  # thresholds on another scale are no line
        values = values.drop(columns="parallel")
    if "parallel" in values:
        threshold_count = int(values["parallel"].notna().sum())
        label = "parallel analysis" + f" (first {threshold_count})" * (threshold_count < count)
        dashes: dict[str, Any] = {"linestyle": (0, (5, 3)), "label": label}
        dashes |= {"marker": "_", "markersize": line(10.0)} if threshold_count == 1 else {}
        ax.plot(place, values["parallel"], color=orange, **style, **dashes)
    if k is not None:
        dotted: dict[str, Any] = {"linewidth": line(1.1), "linestyle": ":", "zorder": 1}
        ax.axvline(k + 0.5, color=ink(ax), label=f"chosen: k = {k}", **dotted)
    largest = float(np.nanmax(values.to_numpy(), initial=0.0))
    ax.set_ylim(0, (1.06 if kind != "cumulative" else 1.02) * largest if largest > 0 else 1.0)
    number_axes(ax)
    _ticks(ax, list(data.index), bars, number)
    value_label = _in_lines(ax, VALUE_AXES[kind].format(total=total))
    drawing.label_components(ax, (ax.get_xlabel(), value_label), drawing.name_size())
    _legend(ax, values, k or 0)
    notes.append(HIGHER_BAR * _has_higher_bar(values, kind, bars))
    notes += definitions(["adjusted", "dense"] * bool(bars and sparse))
    if kind == "share":
        _write_shares_and_note(ax, values, bars, notes)
    else:
        drawing.write_note(ax, notes)
    return ax


def _attribute(table: Any, name: str) -> Any:
    """Return an attribute that a table was given with, "" without it."""
    return getattr(table, "attrs", {}).get(name, "")


def _on_parallel_analysis(parallel: Any) -> list[str]:
    """Return the sentence of the note on thresholds of parallel analysis: their own, or what they are."""
    if note := _attribute(parallel, "note"):
        return [note]
    quantile = _attribute(parallel, "quantile")
    if not quantile:
        return []
    return [f"Parallel analysis: exceeded by {100 * (1.0 - quantile):.3g} % of data without structure."]


def _write_shares_and_note(ax: Axes, values: pd.DataFrame, bars: int, sentences: Sequence[str]) -> None:
    """Write percentages in the plot and, if some of the first ones have no room there, also in the note."""
    in_words = _shares_in_words(values, bars)
    note = drawing.write_note(ax, [*in_words, *sentences])
    if _write_shares(ax, values, bars) and in_words and note is not None:
        note.remove()
        drawing.write_note(ax, sentences)


def _shares_in_words(values: pd.DataFrame, bars: int) -> list[str]:
    """Return the shares of the first components in a sentence."""
    shares = values.iloc[: min(bars, MOST_SHARES)]
    lists = [f"{name} {', '.join(f'{share:.1f}' for share in shares[name])}" for name in ("sparse", "dense")]
    start = f"First {len(shares)}, %: " if len(shares) < bars else "%: "
    return [f"{start}{'; '.join(lists)}."] if len(shares) else []


def _has_higher_bar(values: pd.DataFrame, kind: str, bars: int) -> bool:
    """Return whether a bar is visibly above the line of dense components."""
    excess = (values["sparse"] - values["dense"]).iloc[:bars]
    visible_excess = VISIBLE * float(np.nanmax(values["dense"].to_numpy(), initial=0.0))
    return kind != "cumulative" and bool((excess > visible_excess).any())


def _filled(data: pd.DataFrame, k: int | None) -> NDArray[np.intp]:
    """Return the positions of the dense components whose marks are filled.

    Those chosen, or those before the first that does not exceed parallel analysis; none without marks.
    """
    if len(data) > MOST_MARKS or (k is None and "parallel" not in data):
        return np.arange(0)
    if k is not None:
        return np.arange(min(k, len(data)))
    exceeds = (data["dense"] > data["parallel"]).to_numpy()
    return np.flatnonzero(np.cumprod(exceeds))


def _spectrum(spectrum: Any, k: int) -> np.ndarray:
    """Return the variances of at least `k` dense components, which must not rise."""
    dense = _numbers("spectrum", spectrum)
    if len(dense) < k:
        raise ShapeError(
            f"spectrum has {len(dense)} values for {k} components; give one for each component or more."
        )
    if np.any(np.diff(dense) > 1e-8 * np.abs(dense).max()):
        raise OptionError("spectrum increases somewhere; sort it with the largest value first.")
    return dense


@explained
def screeplot_data(
    variance: pd.DataFrame | None,
    spectrum: Any = None,
    *,
    kind: Literal["variance", "share", "cumulative"] = "variance",
    sparse: bool = True,
    parallel: Any = None,
    max_components: int | None = None,
) -> pd.DataFrame:
    """Return "sparse", "dense" and "parallel", if given, of each component, in the unit of `kind`.

    "sparse" is NaN beyond the last fitted component, and "dense" if the total variance is unknown because no
    component has a variance. Shares are fractions.
    """
    flag("sparse", sparse)
    one_of("kind", kind, VALUE_AXES)
    columns_needed = ["adjusted variance", "share of total", "cumulative PCA"]
    if variance is None:
        if spectrum is None:
            raise OptionError("variance=None was given without spectrum; give one of them, or both.")
        variance = pd.DataFrame(columns=columns_needed, dtype=float)
    else:
        drawing.need_columns(variance, columns_needed, "The frame of variances")
    adjusted, share, cumulative = (variance[column].to_numpy(dtype=float) for column in columns_needed)
    k, usable = len(adjusted), share > 0
    total = float(np.median(adjusted[usable] / share[usable])) if usable.any() else np.nan
    if k == 0:
        total = float(_numbers("spectrum", spectrum).sum())
    dense = np.diff(cumulative, prepend=0.0) * total if spectrum is None else _spectrum(spectrum, k)
    columns = {"sparse": adjusted, "dense": dense}
    if parallel is not None:
        if kind == "cumulative":
            raise OptionError(
                "parallel= was given with kind='cumulative', but its thresholds are for single components; "
                "take kind='variance' or kind='share'."
            )
        columns["parallel"] = _numbers("parallel", parallel)
        if columns["parallel"].min() < 0:
            raise OptionError(f"parallel={shown(parallel)} was given; thresholds of variances are 0 or more.")
    components = range(len(dense))
    data = pd.DataFrame({name: pd.Series(values).reindex(components) for name, values in columns.items()})
    if kind != "variance":
        data /= total
    if kind == "cumulative":
        data = data.cumsum(skipna=False)
    count = len(dense) if max_components is None else whole_number("max_components", max_components, 1)
    names = [*variance.index, *(f"PC{i + 1}" for i in range(k, len(dense)))]
    return data.set_axis(names).iloc[: max(k, count)]


def _write_shares(ax: Axes, data: pd.DataFrame, k: int) -> bool:
    """Write percentages at the bottom of the bars and beside points, up to one where another line is.

    A bar whose bottom a line crosses has none. Return whether the first `k` components have all of theirs.
    """
    drawing.run_layout(ax)
    size = drawing.SMALLEST_NAME
    pitch = float(drawing.size_of(ax)[0]) / len(data)
    decimals = 1 if HINTED * width_of("00.0", size) + NUMBER_GAP < pitch else 0
    if HINTED * width_of("00", size) + NUMBER_GAP > pitch:
        return False
    style: dict[str, Any] = {"va": "bottom", "fontsize": size, "color": ink(ax), "zorder": 4}
    high = 1.06 * ax.get_ylim()[1]
    ax.set_ylim(0.0, high)
    height = (NUMBER_ABOVE + NUMBER_HEIGHT * size) / float(drawing.size_of(ax)[1]) * high
    lines = [name for name in ("dense", "parallel") if name in data]
    nothing, places, missing = pd.Series(np.nan, data.index), np.arange(len(data)), 0
    for i, (sparse, dense) in enumerate(zip(data["sparse"], data["dense"], strict=True)):
        nearby = [np.interp(i + np.array([-0.5, 0.0, 0.5]), places, data[name]) for name in lines]
        share = f"{sparse:.{decimals}f}"
        if i < k and share not in ("nan", "0") and not np.nanmin(nearby, initial=np.inf) < height:
            drawing.write(ax, share, (i + 1, 0.0), (0, 2), ha="center", **style)
        else:
            missing += i < k
        text = f"{dense:.{decimals}f}"
        beside = i + np.array([0.0, width_of(text, size) / pitch])
        noise = np.interp(beside, places, data.get("parallel", nothing).fillna(0.0))
        covers = noise.max() >= dense and noise.min() <= dense + height
        if np.isfinite(dense) and text != "0" and not covers and not sparse > dense:
            drawing.write(ax, text, (i + 1, dense), (1, NUMBER_ABOVE), ha="left", **style)
        elif i >= k:
            break
        else:
            missing += 1
    return not missing


def _ticks(ax: Axes, names: list[Any], k: int, number: int) -> None:
    """Label the components by name if the names fit, else by number; say how many of all are drawn."""
    count = len(names)
    remarks = [f"first {count:,} of {number:,}"] if count < number else []
    ax.set_xlim(0.4, count + 0.6)
    texts = short_names(names, HEADING_WIDTH)
    plain = [f"PC{i + 1}" for i in range(count)]
    if count > 12 or texts == plain:
        ax.xaxis.set_major_locator(NumbersFromOne())
        if texts[:k] != plain[:k]:
            remarks.append(f"1 to {k}: {', '.join(texts[:k])}")
        ax.set_xlabel(f"Component{' (' * bool(remarks)}{'; '.join(remarks)}{')' * bool(remarks)}")
        return
    pitch = drawing.name_room(ax, 1.0) / count
    is_turned = max(width_of(text, drawing.name_size() + 1.5) for text in texts) + NAME_SPACE > pitch
    style: dict[str, Any] = {"rotation": 45, "ha": "right"} if is_turned else {}
    ax.set_xticks(range(1, count + 1), texts, parse_math=False, **style)
    ax.set_xlabel(f"The {remarks[0]} components" if remarks else "")


def _legend(ax: Axes, values: pd.DataFrame, k: int) -> None:
    """Write the legend at the upper right if it is above everything there, else above the axes."""
    drawing.run_layout(ax)
    size, (width, height) = drawing.name_size(), drawing.size_of(ax)
    names = ax.get_legend_handles_labels()[1]
    low, high = ax.get_ylim()
    sides = np.array(legend_size(names, None, 1, size)) + (2.0 * EDGE_SPACE + LEGEND_GAP) * size
    bottom = high - sides[1] / height * (high - low)
    left_edge = len(values) + 0.6 - sides[0] / width * len(values)
    covered_values = values[np.arange(1, len(values) + 1) > left_edge - 1.0].to_numpy()
    has_room = len(covered_values) > 0 and float(np.nanmax(covered_values, initial=0.0)) < bottom
    has_room = has_room and k + 0.5 < left_edge
    place = {"loc": "upper right"} if has_room else legend_above(ax, names)
    write_legend(ax, None, names, size, **place)


def _numbers(what: str, values: Any) -> np.ndarray:
    """Return finite numbers, one for each component; raise OptionError for anything else."""
    sparse = is_sparse(values)
    plain = (
        values
        if sparse or isinstance(values, (np.ndarray, pd.Series))
        else elements(values, COMPONENTS_DRAWN)
    )
    numbers = None if sparse else real_array(plain)
    if (
        numbers is None
        or numbers.ndim != 1
        or isinstance(values, (bool, np.bool_))
        or not 0 < len(numbers) <= COMPONENTS_DRAWN
        or not np.isfinite(numbers).all()
    ):
        raise OptionError(
            f"{what}={shown(values)} was given; it must contain finite numbers, one for each component, the "
            f"largest first, and at most {COMPONENTS_DRAWN}."
        )
    return numbers.astype(float)
