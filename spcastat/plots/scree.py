"""The scree plot: variance of the sparse components next to the whole spectrum of dense PCA."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd

from spcastat.config import elements, flag, listed, one_of, shown, whole_number
from spcastat.errors import OptionError, ShapeError
from spcastat.intake.checks import real_array
from spcastat.kernels.sparsity import is_sparse
from spcastat.plots._shared import axes_for, frame_of
from spcastat.plots._theme import accents, ink, line, shade, size_of_text

if TYPE_CHECKING:
    from matplotlib.axes import Axes

_NEEDED = ("adjusted variance", "share of total", "cumulative PCA")
#: What the vertical axis can show, and its label.
KINDS = {
    "variance": "Variance",
    "share": "% of the total variance",
    "cumulative": "Cumulative % of the total variance",
}


def screeplot_data(
    variance: pd.DataFrame,
    spectrum: Any = None,
    *,
    kind: str = "variance",
    parallel: Any = None,
    max_components: int | None = None,
) -> pd.DataFrame:
    """Return what :func:`screeplot` draws.

    Parameters
    ----------
    variance : DataFrame, k x any
        One row a component, with the columns "adjusted variance", "share of total" (adjusted variance as
        a fraction of the total) and "cumulative PCA" (a fraction of the total).
    spectrum, kind, parallel, max_components
        As for :func:`screeplot`.

    Returns
    -------
    DataFrame, k x 2 or more
        "sparse": the variance of each component, NaN beyond the last. "dense": that of the component of
        dense PCA with the same number; NaN if no component has a variance, as the total is unknown then.
        "parallel" where it was given. All in the unit of `kind`: shares are fractions.

    Raises
    ------
    ShapeError
        A column is missing, there is no component, or the spectrum is shorter than the components.
    OptionError
        `kind` that does not exist, numbers that are none, a spectrum that rises.
    """
    frame_of(variance, "variances")
    one_of("kind", kind, KINDS)
    missing = [column for column in _NEEDED if column not in variance.columns]
    if missing:
        raise ShapeError(
            f"The frame of variances lacks the columns {listed(missing)}; it has {listed(variance.columns)}."
        )
    sparse, share, cumulative = (variance[column].to_numpy(dtype=float) for column in _NEEDED)
    k = len(sparse)
    usable = share > 0
    total = float(np.median(sparse[usable] / share[usable])) if usable.any() else np.nan
    dense = np.diff(cumulative, prepend=0.0) * total
    if spectrum is not None:
        dense = _numbers("spectrum", spectrum)
        if len(dense) < k:
            raise ShapeError(f"spectrum has {len(dense)} values; there are {k} components.")
        if np.any(np.diff(dense) > 1e-8 * np.abs(dense).max()):
            raise OptionError("spectrum rises somewhere; it has its largest value first: sort it, falling.")
    shown_count = len(dense) if max_components is None else whole_number("max_components", max_components, 1)
    shown_count = max(k, min(shown_count, len(dense)))
    columns = {"sparse": _filled(sparse, len(dense)), "dense": dense}
    if parallel is not None:
        thresholds = _numbers("parallel", parallel)
        if thresholds.min() < 0:
            raise OptionError(f"parallel={shown(parallel)} was given; thresholds of variances are 0 or more.")
        columns["parallel"] = _filled(thresholds, len(dense))
    data = pd.DataFrame(columns)
    if kind != "variance":
        data /= total
    if kind == "cumulative":
        data = data.cumsum(skipna=False)
    names = [*variance.index, *(f"PC{i + 1}" for i in range(k, len(dense)))]
    return data.set_axis(names).iloc[:shown_count]


def screeplot(
    variance: pd.DataFrame,
    spectrum: Any = None,
    *,
    kind: str = "variance",
    sparse: bool = True,
    parallel: Any = None,
    max_components: int | None = None,
    ax: Axes | None = None,
) -> Axes:
    """Draw the adjusted variance of the sparse components as bars and the spectrum of dense PCA as a line.

    Parameters
    ----------
    variance : DataFrame
        As for :func:`screeplot_data`.
    spectrum : array-like, optional
        All eigenvalues of the covariance matrix, descending; by default those of as many components as there
        are, from `variance`.
    kind : {"variance", "share", "cumulative"}
        Variances; their shares of the total; or these added up.
    sparse : bool
        Whether the components are sparse ones. Those of PCA itself have no second PCA beside them, only
        what is left of the spectrum.
    parallel : array-like, optional
        Thresholds of parallel analysis for the first components, in the unit of the variances: a line, above
        which dense components exceed what rows without structure give. A fit takes what `choose_k` or
        `choose` returned, too.
    max_components : int, optional
        The most components of the spectrum to draw; never fewer than were fitted.
    ax : Axes, optional
        By default those of a new figure.

    Returns
    -------
    Axes

    Raises
    ------
    ShapeError
        As for :func:`screeplot_data`.
    OptionError
        `kind` that does not exist, `sparse` is not a bool, `ax` is not an Axes.
    """
    sparse = flag("sparse", sparse)
    data = screeplot_data(variance, spectrum, kind=kind, parallel=parallel, max_components=max_components)
    if kind != "variance":
        data = 100 * data
    k, count = len(variance), len(data)
    size = size_of_text()
    ax = axes_for(ax, float(np.clip(3.0 + 0.35 * count, 4.4, 8.0)) * size, 3.6 * size)
    blue = accents(ax)[0]
    place = np.arange(1, count + 1)
    label = "sparse PCA (adjusted)" if sparse else "PCA"
    ax.bar(place[:k], data["sparse"].iloc[:k], width=0.66, color=blue, alpha=0.6, label=label, zorder=2)
    dense = data["dense"].to_numpy()
    if np.isfinite(dense).any() and (sparse or count > k):
        marked: dict[str, Any] = {
            "marker": "o",
            "markersize": line(4.5),
            "markerfacecolor": ax.get_facecolor(),
        }
        ax.plot(
            place,
            dense,
            color=ink(ax),
            label="dense PCA" if sparse else "PCA, further components",
            linewidth=line(1.2),
            zorder=3,
            **(marked if count <= 40 else {}),
        )
    if "parallel" in data:
        ax.plot(
            place,
            data["parallel"],
            color=accents(ax)[1],
            linestyle=(0, (5, 3)),
            linewidth=line(1.2),
            label="parallel analysis",
            zorder=3,
        )
    _ticks(ax, list(data.index), k)
    _limits(ax, data, kind)
    if kind == "share":
        _write_shares(ax, data, k)
    ax.set_ylabel(KINDS[kind])
    ax.spines[["top", "right"]].set_visible(False)
    return ax


def _write_shares(ax: Axes, data: pd.DataFrame, k: int) -> None:
    """Write percentages: those of the bars at their feet, those of the line above its first points."""
    if len(data) > 2 * LABELLED:
        return
    how: dict[str, Any] = {"va": "bottom", "fontsize": "x-small", "color": ink(ax), "zorder": 4}
    how |= {"textcoords": "offset points"}
    low, high = ax.get_ylim()
    ax.set_ylim(low, 1.06 * high)
    labelled = max(k, LABELLED)
    for i, (sparse, dense) in enumerate(zip(data["sparse"], data["dense"], strict=True)):
        if i < k and np.isfinite(sparse):
            ax.annotate(f"{sparse:.1f}", (i + 1, 0.0), (0, 2), ha="center", **how)
        if i < labelled and np.isfinite(dense):
            ax.annotate(f"{dense:.1f}", (i + 1, dense), (3, 3), ha="left", **how)


def _ticks(ax: Axes, names: list[Any], k: int) -> None:
    """Name the components where they fit, else number them."""
    from spcastat.labels import short_name

    count = len(names)
    ax.set_xlim(0.4, count + 0.6)
    texts = [short_name(name, 12) for name in names]
    plain = [f"PC{i + 1}" for i in range(count)]
    if count > 12 or (texts == plain and count > 8):
        step = next(step for step in (1, 2, 5, 10, 20, 50, 100, 200, 500, 1000) if count <= 20 * step)
        ax.set_xticks([1, *range(max(step, 2), count + 1, step)])
        ax.set_xlabel("Component")
        if texts[:k] != plain[:k]:
            ax.set_xlabel("Component (1 to {}: {})".format(k, ", ".join(texts[:k])), parse_math=False)
        return
    turned = max(map(len, texts)) * count > 60
    ax.set_xticks(
        range(1, count + 1),
        texts,
        rotation=45 if turned else 0,
        ha="right" if turned else "center",
        parse_math=False,
    )


def _limits(ax: Axes, data: pd.DataFrame, kind: str) -> None:
    values = data.to_numpy()
    most = float(np.nanmax(values)) if np.isfinite(values).any() else 0.0
    if kind == "cumulative":
        ax.set_ylim(0, 105 if most > 60 else 1.35 * most)
        ax.axhline(100, color=shade(ax, 0.25), linewidth=line(0.7), zorder=0.5)
        rising = float(np.nanmax(values[: max(len(data) // 2, 1)])) < 0.6 * most
        ax.legend(frameon=False, loc="upper left" if rising else "lower right", fontsize="small")
        return
    # a flat scree needs room for the legend above
    right = float(np.nanmax(values[len(data) // 2 :])) if np.isfinite(values[len(data) // 2 :]).any() else 0.0
    ax.set_ylim(0, (1.35 if right > 0.6 * most else 1.06) * most if most > 0 else 1.0)
    ax.legend(frameon=False, loc="upper right", fontsize="small")


def _filled(values: np.ndarray, count: int) -> np.ndarray:
    filled = np.full(count, np.nan)
    filled[: min(len(values), count)] = values[:count]
    return filled

#: Points of the line that have their percentage beside them, at most, unless more were fitted.
LABELLED = 10
#: Components whose variances are drawn, at most.
MOST = 10_000


def _numbers(what: str, values: Any) -> np.ndarray:
    sparse = is_sparse(values)
    plain = values if sparse or isinstance(values, (np.ndarray, pd.Series)) else elements(values, MOST)
    numbers = None if sparse else real_array(plain)
    if numbers is None or numbers.ndim != 1 or not 0 < len(numbers) <= MOST or not np.isfinite(numbers).all():
        raise OptionError(
            f"{what} must be finite numbers, one for each component, the largest first, at most {MOST}."
        )
    return numbers.astype(float)
