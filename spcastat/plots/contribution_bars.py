"""Contributions and squared cosines of variables or rows as bars, the largest first."""

from __future__ import annotations

from collections.abc import Generator, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd

from spcastat.config import one_of, text, whole_number
from spcastat.errors import ComponentsError, DataError
from spcastat.labels import short_name, short_names
from spcastat.plots.axes_and_names import (
    ROWS_ONLY,
    axes_for,
    frame_of,
    name_rows,
    positions,
    settle,
    write_note,
)
from spcastat.plots.plot_and_table import plot
from spcastat.plots.plot_colours import colours_of, ink, line, shade

if TYPE_CHECKING:
    from matplotlib.axes import Axes

#: Kind of values -> label of their axis.
KINDS = {"contributions": "Contribution to the component, %", "cos2": "Squared cosine (quality of display)"}


@plot
def plot_contributions(
    values: pd.DataFrame,
    *,
    components: int | str | Sequence[int | str] = 1,
    kind: str = "contributions",
    of: str = "variables",
    max_rows: int = 20,
    ax: Axes | None = None,
) -> Generator[pd.DataFrame, None, Axes]:
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
    max_rows : int
        The largest number of rows; a note says how many more have a nonzero value.
    ax : Axes, optional
        By default those of a new figure.

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

    Notes
    -----
    Its table, `plot_contributions_data`, has the chosen columns, sorted by decreasing row sums; its
    ``attrs["labels"]`` are the names in the figure, in the order of the rows.
    """
    one_of("kind", kind, KINDS)
    of = text("of", of)
    frame_of(values, "values")
    chosen = positions(components, list(values.columns))  # type: ignore[arg-type]
    if len(chosen) > 6:
        raise ComponentsError(f"{len(chosen)} components were chosen; at most 6 fit beside one another.")
    every = np.nan_to_num(values.iloc[:, chosen].to_numpy(dtype=float))
    total = every.sum(axis=1)
    if not total.any():
        raise DataError("All values are zero or missing; there is nothing to draw.")
    order = np.argsort(-total, kind="stable")
    order = order[total[order] > 0][: whole_number("max_rows", max_rows, 1)]
    data = values.iloc[order, chosen].copy()
    names = data.attrs["labels"] = short_names(list(data.index), 28)
    yield data
    rows, k = data.shape
    factor = 100.0 if kind == "contributions" else 1.0
    width, height = 3.6 + 0.075 * max(map(len, names)), 1.2 + (0.16 + 0.1 * k) * max(rows, 4)
    ax = axes_for(ax, width, height, ROWS_ONLY)
    _draw_bars(ax, factor * every[order], list(data.columns))
    equal = _equal_lines(ax, every, factor) if kind == "contributions" else []
    name_rows(ax, names)
    ax.set_xlim(0, max(1.04 * factor * float(every[order].max()), 1.1 * max(equal, default=0.0)))
    ax.grid(axis="x", color=shade(ax, 0.12), linewidth=line(0.6))
    ax.set_axisbelow(True)
    label, only = KINDS[kind], short_name(data.columns[0])
    if k == 1:
        label = label.replace("the component", only) if kind == "contributions" else f"{label}, {only}"
    ax.set_xlabel(label, parse_math=False)
    if k > 1 or equal:  # above the bars, since there is no room next to them
        above: dict[str, Any] = {"loc": "lower left", "bbox_to_anchor": (0.0, 1.0), "ncols": min(k, 3)}
        ax.legend(frameon=False, fontsize="small", **above)
    settle(ax)
    unseen = int((every > 0).any(axis=1).sum()) - rows
    write_note(ax, [f"The largest {rows}; {unseen} more {of} have a nonzero value." * (unseen > 0)])
    return ax


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
