"""Loadings as dots, a heat map, a line over the columns, or images; what is exactly zero is not drawn."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd

from spcastat.config import elements, is_whole, one_of, shown, whole_number
from spcastat.errors import DataError, OptionError, ShapeError
from spcastat.kernels.leading import leading
from spcastat.labels import short_names
from spcastat.plots._dots import draw_dots
from spcastat.plots._heatmap import draw_heatmap
from spcastat.plots._intervals import draw_intervals, intervals_of
from spcastat.plots._maps import draw_images, draw_lines
from spcastat.plots._shared import axes_for, frame_of, positions, settle
from spcastat.plots._theme import ink, line, shade, size_of_text

if TYPE_CHECKING:
    from matplotlib.axes import Axes

#: Kind of plot to the function that draws a frame of loadings on axes.
KINDS: dict[str, Callable[[Axes, pd.DataFrame], None]] = {"dots": draw_dots, "heatmap": draw_heatmap}
#: Those that show every variable at its place among the columns.
MAPS = ("line", "image")


def plot_loadings_data(
    loadings: pd.DataFrame,
    *,
    max_rows: int = 40,
    components: Sequence[int | str] | None = None,
    groups: Any = None,
) -> pd.DataFrame:
    """Return the loadings that :func:`plot_loadings` draws, variables in the order of the data.

    Parameters
    ----------
    loadings : DataFrame, p x k
    max_rows : int
        The most variables to show. If more have a nonzero loading, those are kept that lead on any
        component: the components take turns, each giving its largest absolute loading that is left.
    components : sequence of int or str, optional
        Numbers counted from one, or names; by default all.
    groups : Series, mapping or sequence of length p, optional
        The group of each variable: variables of one group stand together, in the order of the categories or
        in that in which the groups come.

    Returns
    -------
    DataFrame
        Variables with a nonzero loading by components. ``attrs["labels"]`` is the key: the label that the
        figure gives to each variable, in their order.

    Raises
    ------
    ShapeError
        `loadings` is not a data frame, or the groups do not fit.
    ComponentsError
        A component that does not exist.
    OptionError
        `max_rows` below 1.
    DataError
        All loadings are zero.
    """
    data = _chosen(loadings, max_rows, components, groups)[0].copy()
    data.attrs["labels"] = short_names(list(data.index))
    return data


def plot_loadings(
    loadings: pd.DataFrame,
    *,
    kind: str = "dots",
    max_rows: int = 40,
    components: Sequence[int | str] | None = None,
    groups: Any = None,
    intervals: pd.DataFrame | None = None,
    shape: tuple[int, int] | None = None,
    ax: Axes | None = None,
) -> Axes:
    """Draw the nonzero loadings, variables from top to bottom and components from left to right.

    Parameters
    ----------
    loadings : DataFrame, p x k
        Variables without a nonzero loading are left out.
    kind : {"dots", "heatmap", "line", "image"}
        Dots on stems from the zero line of each component; a heat map in which exact zeros are white; a line
        over all columns in their order for each component, for spectra and series (numbers as names of the
        columns, or such with a unit, make the axis); or an image for each component, for pixels.
    max_rows, components, groups
        As for :func:`plot_loadings_data`; if variables are left out, the label of the axis says how many.
        Dots and heat maps show the groups by their names beside the variables.
    intervals : DataFrame, optional
        With columns "component", "term", "lower" and "upper", and perhaps "selected" (how often the loading
        was not zero in resamples), as intervals of a bootstrap have them: dots get a bar from lower to upper.
    shape : (int, int), optional
        Height and width of an image, pixels row by row; needed for ``kind="image"``.
    ax : Axes, optional
        By default those of a new figure, as high as the variables need. A heat map takes some of its room
        for the colour bar; lines and images take its place with panels, its ``child_axes``.

    Returns
    -------
    Axes

    Raises
    ------
    ShapeError, ComponentsError, OptionError, DataError
        As for :func:`plot_loadings_data`; `kind` or `ax` of another sort is an OptionError too, as are
        options that the kind does not have.
    """
    one_of("kind", kind, [*KINDS, *MAPS])
    _check(kind, groups, intervals, shape)
    if kind in MAPS:
        return _draw_map(loadings, kind, components, shape, ax)
    data, loaded, heads = _chosen(loadings, max_rows, components, groups)
    limits = None if intervals is None else intervals_of(intervals, data)
    rows, k = data.shape
    names = short_names(list(data.index))
    size = size_of_text()
    margin = 0.9 + 0.075 * max(map(len, names)) + 1.2 * (heads is not None)
    width = margin + (0.95 if kind == "dots" else 0.7) * max(k, 2) + (kind == "heatmap")
    ax = axes_for(ax, float(np.clip(width, 4.0, 14.0)) * size, (1.1 + 0.24 * max(rows, 4)) * size)
    ax.set_ylim(rows - 0.4, -0.6)
    ax.set_yticks(range(rows), names, parse_math=False)
    left_out = f"\n{rows} of the {loaded} variables with one:\nthe largest of every component"
    ax.set_xlabel("Loading" + left_out * (rows < loaded))
    ax.tick_params(axis="x", which="major", top=False, bottom=False, labeltop=True, labelbottom=False)
    ax.tick_params(axis="y", length=0)
    ax.spines[["top", "right", "left"]].set_visible(False)
    settle(ax)
    _fit_names(ax, rows)
    if heads is not None:
        _head_groups(ax, heads)
    if limits is None:
        KINDS[kind](ax, data)
    else:
        draw_intervals(ax, data, limits)
    return ax


def _check(kind: str, groups: Any, intervals: Any, shape: Any) -> None:
    """Refuse options that the kind of plot does not have."""
    if intervals is not None and kind != "dots":
        raise OptionError(f"intervals were given with kind={kind!r}; they go with kind='dots'.")
    if groups is not None and kind in MAPS:
        raise OptionError(f"groups were given with kind={kind!r}; they go with kind='dots' and 'heatmap'.")
    if (shape is None) != (kind != "image"):
        raise OptionError(
            f"shape={shown(shape)} was given with kind={kind!r}; kind='image' needs the height and "
            "width of the "
            "image, such as shape=(28, 28), and no other kind has them."
        )


def _draw_map(
    loadings: pd.DataFrame, kind: str, components: Sequence[int | str] | None, shape: Any, ax: Axes | None
) -> Axes:
    frame_of(loadings)
    if components is not None:
        loadings = loadings.iloc[:, positions(components, list(loadings.columns))]
    p, k = loadings.shape
    if not loadings.to_numpy(dtype=float).any():
        raise DataError("All loadings are zero; there is nothing to draw.")
    size = size_of_text()
    if kind == "line":
        ax = axes_for(ax, 7.0 * size, (0.7 + 1.3 * k) * size)
        draw_lines(ax, loadings)
        return ax
    sides = elements(shape, 3)
    if len(sides) != 2 or not all(is_whole(side) and side > 0 for side in sides) or sides[0] * sides[1] != p:
        raise ShapeError(
            f"shape={shown(shape)} was given for {p} variables; it must be height and width with "
            f"height x width = {p}."
        )
    columns = min(k, 4)
    lines = -(-k // columns)
    tall = float(np.clip(sides[0] / sides[1], 0.3, 3.0))
    ax = axes_for(ax, (2.0 * columns + 0.9) * size, (2.0 * tall * lines + 0.5) * size)
    draw_images(ax, loadings, (int(sides[0]), int(sides[1])), columns)
    return ax


def _chosen(
    loadings: pd.DataFrame, max_rows: int, components: Sequence[int | str] | None, groups: Any = None
) -> tuple[pd.DataFrame, int, list[str] | None]:
    """Return the loadings to draw, how many variables have one, and the group of each that is drawn."""
    frame_of(loadings)
    if components is not None:
        loadings = loadings.iloc[:, positions(components, list(loadings.columns))]
    values = frame_of(loadings)
    loaded = int((values != 0).any(axis=1).sum())
    if not loaded:
        raise DataError("All loadings are zero; there is nothing to draw.")
    kept = leading(values, whole_number("max_rows", max_rows, 1))
    if groups is None:
        return loadings.iloc[kept], loaded, None
    found = _variable_groups(groups, loadings.index)
    codes = found.codes.astype(int)
    codes[codes < 0] = len(found.categories)
    order = kept[np.argsort(codes[kept], kind="stable")]
    names = [*(str(name) for name in found.categories), "(none)"]
    return loadings.iloc[order], loaded, [names[codes[i]] for i in order]


def _variable_groups(groups: Any, index: pd.Index) -> pd.Categorical:
    """Return the group of every variable; the categories in their order, or in that of their first member."""
    if isinstance(groups, pd.DataFrame):
        raise ShapeError(
            f"groups is a data frame of shape {groups.shape}; give one of its columns, with a group for each "
            "variable."
        )
    if hasattr(groups, "keys") and not isinstance(groups, pd.Series):
        groups = pd.Series(dict(groups), dtype=object)
    if isinstance(groups, pd.Series) and not groups.index.equals(index):
        if not groups.index.is_unique or not any(name in index for name in groups.index.to_flat_index()):
            raise ShapeError("groups names none of the variables; its labels must be names of variables.")
        groups = groups.reindex(index)
    values = groups.array if isinstance(groups, pd.Series) else groups
    found = values if isinstance(values, pd.Categorical) else _named_groups(values, len(index))
    if len(found) != len(index):
        raise ShapeError(f"groups has {len(found)} values; there are {len(index)} variables.")
    return found


def _named_groups(values: Any, p: int) -> pd.Categorical:
    """Return the groups of a sequence of names, or say that it is none."""
    try:
        names = [None if _missing(one) else one for one in elements(values, p)]
        known = list(dict.fromkeys(one for one in names if one is not None))
        return pd.Categorical(names, categories=pd.Index(known, dtype=object, tupleize_cols=False))
    except Exception:  # values that cannot be hashed or compared, or text that is not valid
        raise ShapeError(
            f"groups={shown(values)} was given; it takes one name, a text or a number, for each of the {p} "
            "variables (None for no group), or a mapping from variables to these."
        ) from None


def _missing(value: Any) -> bool:
    nan = isinstance(value, (float, np.floating)) and bool(np.isnan(value))
    return nan or value is None or value is pd.NA or value is pd.NaT


def _head_groups(ax: Axes, heads: list[str]) -> None:
    """Draw a line between groups of variables, and the name of each at the right edge."""
    begins = [i for i, head in enumerate(heads) if i == 0 or heads[i - 1] != head]
    for begin, end in zip(begins, [*begins[1:], len(heads)], strict=True):
        if begin:
            ax.axhline(begin - 0.5, color=shade(ax, 0.55), linewidth=line(0.9), zorder=3)
        ax.annotate(
            heads[begin],
            xy=(1.0, (begin + end - 1) / 2),
            xycoords=("axes fraction", "data"),
            xytext=(6, 0),
            textcoords="offset points",
            va="center",
            ha="left",
            fontsize="small",
            color=ink(ax),
            fontstyle="italic",
            parse_math=False,
            annotation_clip=False,
            gid="group",
        )


def _fit_names(ax: Axes, rows: int) -> None:
    """Make the names of the variables smaller where rows are close."""
    figure = ax.get_figure(root=True)
    assert figure is not None
    pitch = ax.get_window_extent().height / rows / figure.dpi * 72
    size = ax.yaxis.get_ticklabels()[0].get_fontsize()
    ax.tick_params(axis="y", labelsize=float(np.clip(0.85 * pitch, 4.5, size)))
