"""Principal variables: how much they reproduce against their number, and which variables they represent."""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd

from spcastat.arguments import elements, explained, is_label, listed, plural, shown, whole_number
from spcastat.errors import OptionError, ShapeError
from spcastat.labels import NAME_WIDTH, full_names
from spcastat.plots import drawing
from spcastat.plots.blocks import loading_text
from spcastat.plots.drawing import accents, ink, line, shade
from spcastat.plots.legends import legend_above, write_legend
from spcastat.plots.names import NAME_HEIGHT
from spcastat.plots.texts import BOLD, HINTED, labels_for, width_of
from spcastat.plots.ticks import NumbersFromOne, number_axes

if TYPE_CHECKING:
    from matplotlib.axes import Axes

#: Narrowest axes beside the names, as a share of their place; names are shortened rather than these.
LEAST_ROOM = 0.4
#: A bar of a smaller value has its number.
SHORT_BAR = 0.02
#: The sentence of the note on the lines and bars of PCA.
AS_MANY_COMPONENTS = "PCA: the same number of components, each using all variables."
#: The most rows of a new figure.
MOST_DRAWN_ROWS = 300
#: Largest number of variables kept that can be drawn.
MOST_KEPT = 10_000


@explained
def plot_kept(path: pd.DataFrame, *, m: int | None = None, ax: Axes | None = None) -> Axes:
    """Draw the share of the variance against the number of variables, in the data and held out.

    Parameters
    ----------
    path : DataFrame
        A row for each number of variables, with "share" and "of_pca", and perhaps "held_out", "held_out_se"
        and "held_out_pca": the `path` of principal variables.
    m : int, optional
        The number of variables kept, which a vertical line marks.
    ax : Axes, optional
        By default a new figure is created.

    Returns
    -------
    Axes
        Dashed lines show PCA; error bars extend one standard error each way. The shares of a single number
        of variables are bars, those of PCA paler.
    """
    data = plot_kept_data(path)
    m = None if m is None else whole_number("m", m, 1)
    if m is not None and m not in data.index:
        raise OptionError(
            f"m={m!r} was given, which is not one of the numbers of variables in path, {listed(data.index)}."
        )
    if len(data) == 1:
        return _draw_one_number(ax, data)
    ax = drawing.axes_for(ax, 4.9, 3.4, drawing.OPEN)
    sizes, with_held_out = data.index.to_numpy(dtype=float), "held out" in data
    style: dict[str, Any] = {"markersize": line(4), "linewidth": line(1.3), "zorder": 3}
    dashes: dict[str, Any] = {"linestyle": (0, (6, 3)), "linewidth": line(0.9), "zorder": 2}
    blue, orange = accents(ax)
    ax.plot(sizes, data["in the data"], color=blue, marker="o", label="in the data", **style)
    ax.plot(sizes, data["PCA"], color=blue, label="PCA", **dashes)
    if with_held_out:
        values, errors = data["held out"], data["s.e."]
        ax.errorbar(sizes, values, errors, color=orange, marker="s", label="held out ± 1 s.e.", **style)
        ax.plot(sizes, data["PCA held out"], color=orange, label="PCA, held out", **dashes)
    if m is not None:
        dotted: dict[str, Any] = {"linewidth": line(1.1), "linestyle": ":", "zorder": 1}
        ax.axvline(m, color=shade(ax, 0.6), label="kept", **dotted)
    number_axes(ax)
    ax.xaxis.set_major_locator(NumbersFromOne())
    ax.margins(x=0.1)  # no line is on the vertical axis
    ax.ticklabel_format(axis="y", useOffset=False)
    size = drawing.name_size()
    drawing.label_components(ax, ("Variables kept", "% of the variance"), size)
    names = ax.get_legend_handles_labels()[1]
    write_legend(ax, None, names, size, **legend_above(ax, names))
    drawing.write_note(ax, [AS_MANY_COMPONENTS])
    return ax


def _draw_one_number(ax: Axes | None, data: pd.DataFrame) -> Axes:
    """Draw the shares of a single number of variables as bars, with one standard error; PCA's are paler."""
    ax = drawing.axes_for(ax, 4.9, 2.2, drawing.ROWS_ONLY)
    blue, orange = accents(ax)
    shares, size = data.drop(columns="s.e.", errors="ignore").iloc[0], drawing.name_size()
    for row, (name, share) in enumerate(shares.items()):
        colour = orange if "held out" in str(name) else blue
        error = float(data["s.e."].iloc[0]) if name == "held out" else 0.0
        ax.barh(row, share, height=0.62, color=colour, alpha=0.4 if "PCA" in str(name) else 1.0)
        if error:
            ax.errorbar(share, row, xerr=error, color=ink(ax), capsize=2.0, linewidth=line(1.0))
        style: dict[str, Any] = {"va": "center", "fontsize": size, "color": ink(ax)}
        drawing.write(ax, f"{share:.1f}", (share + error, row), (3, 0), **style)
    number_axes(ax)
    drawing.name_rows(ax, [str(name) for name in shares.index])
    ax.set_xlim(0, 100)
    count = plural(int(data.index[0]), "variable")
    drawing.label_components(ax, (f"% of the variance, {count} kept", ""), size)
    drawing.write_note(ax, [AS_MANY_COMPONENTS])
    return ax


def plot_kept_data(path: pd.DataFrame) -> pd.DataFrame:
    """Return the percentages that `plot_kept` draws, by number of variables."""
    drawing.need_columns(path, ["share", "of_pca"], "The path of kept variables")
    data = pd.DataFrame({"in the data": path["share"], "PCA": path["share"] / path["of_pca"]})
    if "held_out" in path:
        drawing.need_columns(path, ["held_out_se", "held_out_pca"], "The path of kept variables")
        data["held out"], data["s.e."] = path["held_out"], path["held_out_se"]
        data["PCA held out"] = path["held_out_pca"]
    return 100.0 * data.sort_index()


@explained
def plot_represented(
    represented: pd.DataFrame,
    *,
    kept: Sequence[Hashable] | None = None,
    max_rows: int | None = 40,
    ax: Axes | None = None,
) -> Axes:
    """Draw R² of the variables that are not kept, below the kept variable that represents them best.

    Parameters
    ----------
    represented : DataFrame
        A row for each variable that is not kept, with "R2" and "most_by": `represented` of principal
        variables.
    kept : sequence of labels, optional
        The variables kept, in this order; by default those in "most_by".
    max_rows : int, optional
        Largest number of variables under those kept, those of largest R2. None shows as many as a figure of
        300 rows has room for.
    ax : Axes, optional
        By default a new figure is created. If axes are given in which not all names fit, fewer variables are
        drawn, but all variables kept as long as these fit.

    Returns
    -------
    Axes
        Names of variables kept are bold, as a note says. A text beside the name of a variable kept gives the
        number of its variables that are shown, if some are omitted, or says that it represents none.
    """
    data = plot_represented_data(represented, kept=kept, max_rows=max_rows)
    all_kept = data.loc[data["R2"].isna(), "variable"].tolist()
    ax = drawing.axes_of_known_size(ax)
    row_limit = MOST_DRAWN_ROWS if ax is None else max(rows_with_room(ax), 2)
    if len(data) > row_limit > len(all_kept):
        limit = row_limit - len(all_kept)
        data = plot_represented_data(represented, kept=all_kept, max_rows=limit)
    while (excess := len(data) - row_limit) > 0 and (count := int(data["R2"].notna().sum())) > 1:
        limit = max(count - -(-excess // 2), 1)
        data = plot_represented_data(represented, kept=kept, max_rows=limit)
        # the variables kept have no room, and those that represent none of those drawn are left out
        is_kept = data["R2"].isna()
        data = data[~(is_kept & is_kept.shift(-1, fill_value=True))]
    heads, count = data["R2"].isna().to_numpy(), len(data)
    names = [*data["variable"]]
    longest = min(max(map(len, full_names(names)), default=0), NAME_WIDTH)
    ax = drawing.axes_for(ax, 3.2 + 0.075 * longest, 1.0 + 0.2 * max(count, 5), drawing.ROWS_ONLY)
    ax.barh(np.arange(count), data["R2"].fillna(0.0), height=0.62, color=accents(ax)[0], zorder=2)
    for row, value in enumerate(data["R2"]):
        if value < SHORT_BAR:
            style: dict[str, Any] = {"fontsize": drawing.name_size(), "va": "center", "color": ink(ax)}
            drawing.write(ax, loading_text(value), (value, row), (2, 0), **style)
    for row, words in _counts_below(data, represented["most_by"].tolist()).items():
        grey: dict[str, Any] = {"fontsize": drawing.name_size(), "va": "center", "color": shade(ax, 0.6)}
        drawing.write(ax, words, (0.0, row), (3, 0), **grey)
    ax.set_xlim(0, 1)
    number_axes(ax)
    ax.grid(axis="x", color=shade(ax, 0.12), linewidth=line(0.6))
    ax.set_axisbelow(True)
    hidden = len(represented) + len(all_kept) - len(data)
    label = f"R² by the variables kept{f' ({hidden} not shown)' * bool(hidden)}"
    drawing.label_components(ax, (label, ""), drawing.name_size())
    ax.xaxis.label.set(ha="right", x=1.0)  # the names have more room than the bars
    _name(ax, names, heads)
    drawing.write_note(ax, ["Bold: variables kept, each with those it represents best."])
    return ax


def _counts_below(data: pd.DataFrame, nearest_kept: list[Hashable]) -> dict[int, str]:
    """Return words for the rows of variables kept: how many of those represented are drawn, if not all."""
    heads = np.flatnonzero(data["R2"].isna()).tolist()
    words = {}
    for head, end in zip(heads, [*heads[1:], len(data)], strict=True):
        count, drawn_count = nearest_kept.count(data["variable"].iloc[head]), end - head - 1
        if not count:
            words[head] = "represents no other"
        elif drawn_count < count:
            words[head] = f"{drawn_count} of {count} shown"
    return words


def rows_with_room(ax: Axes, height_above: float = 0.0, row_height: float = 0.0) -> int:
    """Return how many named rows have room, below `height_above` font sizes of texts over the axes.

    A row is as high as a name, or as `row_height` points.
    """
    size = drawing.name_size()
    drawing.label_components(drawing.axes_for(ax, 0.0, 0.0), ("R²", ""), size)
    drawing.run_layout(ax)
    return int((drawing.size_of(ax)[1] - height_above * size) / max(NAME_HEIGHT * size, row_height))


def _name(ax: Axes, names: list[Hashable], heads: np.ndarray) -> None:
    """Write the names, those of variables kept in bold and others indented, as long as there is room."""
    size = drawing.name_size()
    room = (1.0 - LEAST_ROOM) * drawing.place_width(ax) / HINTED
    indent = width_of("  ", size)
    labels = labels_for(full_names(names), [room / BOLD if head else room - indent for head in heads], size)
    drawing.name_rows(ax, [name if head else f"  {name}" for name, head in zip(labels, heads, strict=True)])
    for label, head in zip(ax.get_yticklabels(), heads, strict=True):
        label.set(fontsize=size, fontweight="bold" if head else "normal", color=ink(ax))
    drawing.run_layout(ax)
    pitch = float(drawing.size_of(ax)[1]) / max(len(names), 1)
    for label in ax.get_yticklabels():
        label.set_fontsize(min(size, pitch / NAME_HEIGHT))


def plot_represented_data(
    represented: pd.DataFrame, *, kept: Sequence[Hashable] | None = None, max_rows: int | None = 40
) -> pd.DataFrame:
    """Return the rows that `plot_represented` draws: "variable" and "R2", which is missing for those kept."""
    drawing.need_columns(represented, ["R2"], "The table of represented variables")
    if "most_by" not in represented:
        raise ShapeError("represented has no column 'most_by', the kept variable nearest to each variable.")
    limit = drawing.row_limit(max_rows, len(represented))
    rows = represented.sort_values("R2", ascending=False, kind="stable").iloc[:limit]
    heads = list(dict.fromkeys(rows["most_by"])) if kept is None else elements(kept, MOST_KEPT)
    is_list = len(heads) <= MOST_KEPT and not (len(heads) == 1 and heads[0] is kept)
    if not is_list or not all(map(is_label, heads)):
        raise OptionError(f"kept={shown(kept)} was given; it accepts a list of labels of variables.")
    names: list[Hashable] = []
    values: list[float] = []
    for head in heads:
        members = rows[[by == head for by in rows["most_by"]]]
        names += [head, *members.index]
        values += [np.nan, *members["R2"]]
    return pd.DataFrame({"variable": pd.array(names, dtype=object), "R2": values})
