"""Contributions and squared cosines of variables or rows as bars, the largest first."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd

from spcastat.config import one_of, text, whole_number
from spcastat.errors import DataError
from spcastat.labels import short_name, short_names
from spcastat.plots._notes import write_note
from spcastat.plots._shared import axes_for, frame_of, positions, settle
from spcastat.plots._theme import colours_of, ink, line, shade, size_of_text

if TYPE_CHECKING:
    from matplotlib.axes import Axes

#: What can be drawn, and what the axis says of it.
KINDS = {"contributions": "Contribution to the component, %", "cos2": "Squared cosine (quality of display)"}
#: Characters of a name beside a bar.
LABEL_WIDTH = 28
#: More components than this are too many bars for one name.
MOST = 6


def plot_contributions_data(
    values: pd.DataFrame, *, components: int | str | Sequence[int | str] = 1, max_rows: int = 20
) -> pd.DataFrame:
    """Return what :func:`plot_contributions` draws: the chosen columns, the largest sums first.

    ``attrs["labels"]`` of the frame is the key: the label that the figure gives to each row, in their order.
    """
    chosen = _columns(values, components)
    numbers = values.iloc[:, chosen]
    size = np.nan_to_num(numbers.to_numpy(dtype=float)).sum(axis=1)
    if not size.any():
        raise DataError("All values are zero or missing; there is nothing to draw.")
    order = np.argsort(-size, kind="stable")
    data = numbers.iloc[order[size[order] > 0][: whole_number("max_rows", max_rows, 1)]].copy()
    data.attrs["labels"] = short_names(list(data.index), LABEL_WIDTH)
    return data


def plot_contributions(
    values: pd.DataFrame,
    *,
    components: int | str | Sequence[int | str] = 1,
    kind: str = "contributions",
    of: str = "variables",
    max_rows: int = 20,
    ax: Axes | None = None,
) -> Axes:
    """Draw contributions or squared cosines as bars, one for each component, the largest first.

    Parameters
    ----------
    values : DataFrame, p x k or n x k
        Fractions, as `contributions` or `cos2` of a fit has them.
    components : int, str, or up to six of them
        Numbers counted from one, or names.
    kind : {"contributions", "cos2"}
        Contributions are drawn in percent, with a dashed line where all were equal, and a dotted one where
        all that are not zero were.
    of : str
        What the rows of `values` are.
    max_rows : int
        The most bars; the note says how many are not drawn.
    ax : Axes, optional
        By default those of a new figure.

    Returns
    -------
    Axes

    Raises
    ------
    ComponentsError
        A component that does not exist, or more than six.
    OptionError
        `kind` or `max_rows` out of range, `ax` that is not an Axes.
    DataError
        Nothing but zeros.
    """
    one_of("kind", kind, KINDS)
    of = text("of", of)
    data = plot_contributions_data(values, components=components, max_rows=max_rows)
    every = values.iloc[:, _columns(values, components)].to_numpy(dtype=float)
    rows, k = data.shape
    factor = 100.0 if kind == "contributions" else 1.0
    names = data.attrs["labels"]
    size = size_of_text()
    ax = axes_for(
        ax, (3.6 + 0.075 * max(map(len, names))) * size, (1.2 + (0.16 + 0.1 * k) * max(rows, 4)) * size
    )
    colours = colours_of(ax, None, list(data.columns))
    width = 0.8 / k
    values_drawn = np.nan_to_num(data.to_numpy(dtype=float))
    # bars of one name stand around it, without gaps for components in which it has none
    before = np.cumsum(values_drawn != 0, axis=1) - 1
    middle = ((values_drawn != 0).sum(axis=1)[:, None] - 1) / 2
    place = np.arange(rows)[:, None] + (before - middle) * width
    for j, (name, colour) in enumerate(zip(data.columns, colours, strict=True)):
        here = values_drawn[:, j] != 0
        ax.barh(
            place[here, j],
            factor * values_drawn[here, j],
            height=0.9 * width,
            color=colour,
            label=short_name(name) if k > 1 else None,
            zorder=2,
        )
    equal = _equal_lines(ax, every, factor) if kind == "contributions" else []
    ax.set_ylim(rows - 0.4, -0.6)
    ax.set_yticks(range(rows), names, parse_math=False)
    ax.tick_params(axis="y", length=0)
    top = factor * float(np.nanmax(data.to_numpy(dtype=float)))
    ax.set_xlim(0, max(1.04 * top, 1.1 * max(equal, default=0.0)))
    ax.spines[["top", "right", "left"]].set_visible(False)
    ax.grid(axis="x", color=shade(ax, 0.12), linewidth=line(0.6))
    ax.set_axisbelow(True)
    label = KINDS[kind] if k > 1 else KINDS[kind].replace("the component", short_name(data.columns[0]))
    ax.set_xlabel(label if k > 1 or kind == "contributions" else f"{label}, {short_name(data.columns[0])}")
    if k > 1 or equal:
        # above the bars, which leave it no room beside them
        above: dict[str, Any] = {"loc": "lower left", "bbox_to_anchor": (0.0, 1.0), "ncols": min(k, 3)}
        ax.legend(frameon=False, fontsize="small", **above)
    settle(ax)
    unseen = int((np.nan_to_num(every) > 0).any(axis=1).sum()) - rows
    write_note(ax, [f"The largest {rows}; {unseen} more {of} have a nonzero value." * (unseen > 0)])
    return ax


def _columns(values: pd.DataFrame, components: int | str | Sequence[int | str]) -> list[int]:
    from spcastat.errors import ComponentsError

    frame_of(values, "values")
    chosen = positions(components, list(values.columns))  # type: ignore[arg-type]
    if len(chosen) > MOST:
        raise ComponentsError(f"{len(chosen)} components were chosen; at most {MOST} fit beside one another.")
    return chosen


def _equal_lines(ax: Axes, every: np.ndarray, factor: float) -> list[float]:
    """Draw where contributions would be equal: of all, and of those that are not zero in one component."""
    count = len(every)
    ax.axvline(
        factor / count,
        color=ink(ax),
        linestyle=(0, (5, 3)),
        linewidth=line(1.0),
        zorder=3,
        label=f"equal, all {count}: {factor / count:.3g} %",
    )
    loaded = int(np.count_nonzero(np.nan_to_num(every[:, 0])))
    if every.shape[1] > 1 or loaded == count or not loaded:
        return [factor / count]
    ax.axvline(
        factor / loaded,
        color=ink(ax),
        linestyle=(0, (1, 2)),
        linewidth=line(1.2),
        zorder=3,
        label=f"equal, {loaded} not zero: {factor / loaded:.3g} %",
    )
    return [factor / count, factor / loaded]
