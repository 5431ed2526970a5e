"""Scree plots: variances of sparse components compared with PCA, and eigenvalues compared with noise."""

from __future__ import annotations

from collections.abc import Generator
from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd

from spcastat.config import elements, flag, listed, one_of, real_number, shown, whole_number
from spcastat.errors import OptionError, ShapeError
from spcastat.intake.checks import real_array
from spcastat.kernels.sparsity import is_sparse
from spcastat.labels import short_name
from spcastat.plots.axes_and_names import OPEN, axes_for, frame_of, need_columns
from spcastat.plots.plot_and_table import plot
from spcastat.plots.plot_colours import accents, ink, line, shade

if TYPE_CHECKING:
    from matplotlib.axes import Axes

#: Kind of values on the vertical axis -> its label.
KINDS = {
    "variance": "Variance",
    "share": "% of the total variance",
    "cumulative": "Cumulative % of the total variance",
}
#: Largest number of components to draw.
MOST = 10_000


@plot
def screeplot(
    variance: pd.DataFrame,
    spectrum: Any = None,
    *,
    kind: str = "variance",
    sparse: bool = True,
    parallel: Any = None,
    max_components: int | None = None,
    ax: Axes | None = None,
) -> Generator[pd.DataFrame, None, Axes]:
    """Draw the adjusted variance of the sparse components as bars and the spectrum of dense PCA as a line.

    Parameters
    ----------
    variance : DataFrame, k x any
        One row for each component, with the columns "adjusted variance", "share of total" (adjusted variance
        as a fraction of the total) and "cumulative PCA" (a fraction of the total).
    spectrum : array-like, optional
        All eigenvalues of the covariance matrix, descending; by default the first k, from `variance`.
    kind : {"variance", "share", "cumulative"}
        Variances; their shares of the total; or cumulative shares.
    sparse : bool
        Whether the components are sparse. For a fit by PCA no second line for PCA is drawn, only the rest of
        the spectrum.
    parallel : array-like, optional
        Thresholds of parallel analysis for the first components, in the unit of the variances, drawn as a
        line: dense components above it exceed those of data without structure. The method of a fit also takes
        what `choose_k` or `choose` returned.
    max_components : int, optional
        The largest number of components of the spectrum to draw; never fewer than were fitted.
    ax : Axes, optional
        By default those of a new figure.

    Returns
    -------
    Axes

    Raises
    ------
    ShapeError
        If a column is missing, there is no component, or the spectrum has fewer than k values.
    OptionError
        If `kind` does not exist, values are not numbers, the spectrum is not descending, `sparse` is not a
        bool, or `ax` is not an Axes.

    Notes
    -----
    Its table, `screeplot_data`, has one row for each component. "sparse" is the variance of each component,
    NaN beyond the last one; "dense" is the variance of the dense component with the same number, NaN if the
    total is unknown because no component has a variance; "parallel" has the thresholds, if given. All are in
    the unit of `kind`; shares are fractions.
    """
    sparse = flag("sparse", sparse)
    one_of("kind", kind, KINDS)
    frame_of(variance, "variances")
    needed = ("adjusted variance", "share of total", "cumulative PCA")
    missing = [column for column in needed if column not in variance.columns]
    if missing:
        raise ShapeError(
            f"The frame of variances lacks the columns {listed(missing)}; it has {listed(variance.columns)}."
        )
    adjusted, share, cumulative = (variance[column].to_numpy(dtype=float) for column in needed)
    k, usable = len(adjusted), share > 0
    total = float(np.median(adjusted[usable] / share[usable])) if usable.any() else np.nan
    dense = np.diff(cumulative, prepend=0.0) * total
    if spectrum is not None:
        dense = _numbers("spectrum", spectrum)
        if len(dense) < k:
            raise ShapeError(f"spectrum has {len(dense)} values; there are {k} components.")
        if np.any(np.diff(dense) > 1e-8 * np.abs(dense).max()):
            raise OptionError("spectrum rises somewhere; it has its largest value first: sort it, falling.")
    columns = {"sparse": adjusted, "dense": dense}
    if parallel is not None:
        columns["parallel"] = _numbers("parallel", parallel)
        if columns["parallel"].min() < 0:
            raise OptionError(f"parallel={shown(parallel)} was given; thresholds of variances are 0 or more.")
    every = range(len(dense))
    data = pd.DataFrame({name: pd.Series(values).reindex(every) for name, values in columns.items()})
    if kind != "variance":
        data /= total
    if kind == "cumulative":
        data = data.cumsum(skipna=False)
    count = len(dense) if max_components is None else whole_number("max_components", max_components, 1)
    names = [*variance.index, *(f"PC{i + 1}" for i in range(k, len(dense)))]
    data = data.set_axis(names).iloc[: max(k, count)]
    yield data
    count = len(data)
    ax = axes_for(ax, float(np.clip(3.0 + 0.35 * count, 4.4, 8.0)), 3.6, OPEN)
    blue, orange = accents(ax)
    place, drawn = np.arange(1, count + 1), data if kind == "variance" else 100 * data
    label = "sparse PCA (adjusted)" if sparse else "PCA"
    ax.bar(place[:k], drawn["sparse"].iloc[:k], width=0.66, color=blue, alpha=0.6, label=label, zorder=2)
    style: dict[str, Any] = {"linewidth": line(1.2), "zorder": 3}
    if drawn["dense"].notna().any() and (sparse or count > k):
        label = "dense PCA" if sparse else "PCA, further components"
        marks: dict[str, Any] = {"marker": "o", "markersize": line(4.5), "mfc": ax.get_facecolor()}
        ax.plot(place, drawn["dense"], color=ink(ax), label=label, **style, **(marks if count <= 40 else {}))
    if "parallel" in drawn:
        dashes: dict[str, Any] = {"linestyle": (0, (5, 3)), "label": "parallel analysis"}
        ax.plot(place, drawn["parallel"], color=orange, **style, **dashes)
    _ticks(ax, list(data.index), k)
    _limits(ax, drawn, kind)
    if kind == "share":
        _write_shares(ax, drawn, k)
    ax.set_ylabel(KINDS[kind])
    return ax


def _write_shares(ax: Axes, data: pd.DataFrame, k: int) -> None:
    """Write percentages at the bottom of the bars and above the first ten points of the line."""
    if len(data) > 20:
        return
    how: dict[str, Any] = {"va": "bottom", "fontsize": "x-small", "color": ink(ax), "zorder": 4}
    how |= {"textcoords": "offset points"}
    low, high = ax.get_ylim()
    ax.set_ylim(low, 1.06 * high)
    labelled = max(k, 10)
    for i, (sparse, dense) in enumerate(zip(data["sparse"], data["dense"], strict=True)):
        if i < k and np.isfinite(sparse):
            ax.annotate(f"{sparse:.1f}", (i + 1, 0.0), (0, 2), ha="center", **how)
        if i < labelled and np.isfinite(dense):
            ax.annotate(f"{dense:.1f}", (i + 1, dense), (3, 3), ha="left", **how)


def _ticks(ax: Axes, names: list[Any], k: int) -> None:
    """Label the components by name if the names fit, else by number."""
    from matplotlib.ticker import MaxNLocator

    count = len(names)
    ax.set_xlim(0.4, count + 0.6)
    texts = [short_name(name, 12) for name in names]
    plain = [f"PC{i + 1}" for i in range(count)]
    if count > 12 or (texts == plain and count > 8):
        ax.xaxis.set_major_locator(MaxNLocator("auto", steps=[1, 2, 5, 10], integer=True))
        ax.set_xlabel("Component")
        if texts[:k] != plain[:k]:
            ax.set_xlabel("Component (1 to {}: {})".format(k, ", ".join(texts[:k])), parse_math=False)
        return
    turned = max(map(len, texts)) * count > 60
    how: dict[str, Any] = {"rotation": 45, "ha": "right"} if turned else {}
    ax.set_xticks(range(1, count + 1), texts, parse_math=False, **how)


def _limits(ax: Axes, data: pd.DataFrame, kind: str) -> None:
    """Set the limits of the vertical axis, with room for the legend."""
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


def _numbers(what: str, values: Any) -> np.ndarray:
    """Return finite numbers, one for each component; raise OptionError for anything else."""
    sparse = is_sparse(values)
    plain = values if sparse or isinstance(values, (np.ndarray, pd.Series)) else elements(values, MOST)
    numbers = None if sparse else real_array(plain)
    if numbers is None or numbers.ndim != 1 or not 0 < len(numbers) <= MOST or not np.isfinite(numbers).all():
        raise OptionError(
            f"{what} must be finite numbers, one for each component, the largest first, at most {MOST}."
        )
    return numbers.astype(float)


@plot
def plot_components(
    spectrum: pd.DataFrame, table: pd.DataFrame, *, alpha: float = 0.05, ax: Axes | None = None
) -> Generator[pd.DataFrame, None, Axes]:
    """Draw the leading eigenvalues and thresholds from noise.

    Parameters
    ----------
    spectrum, table : DataFrame
        The attributes of the result of ``choose_k(...)``.
    alpha : float
        The share of noise eigenvalues that exceed the threshold, for the legend.
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
    Its table, `plot_components_data`, is indexed by component and has "eigenvalue" and "noise".
    """
    alpha = real_number("alpha", alpha, 0.0, 1.0)
    message = "spectrum needs the column eigenvalue, and table the column noise, as choose_k gives them."
    need_columns(spectrum, ["eigenvalue"], message)
    need_columns(table, ["noise"], message)
    data = spectrum[["eigenvalue"]].assign(noise=table["noise"].reindex(spectrum.index))
    yield data
    data = data.iloc[: max(20, len(table))]
    ax = axes_for(ax, 5.6, 3.8, OPEN)
    blue = accents(ax)[0]
    x, values = np.arange(1, len(data) + 1), data["eigenvalue"].to_numpy()
    # components before the first one that does not exceed the threshold have filled marks
    above = np.cumprod((data["eigenvalue"] > data["noise"]).to_numpy()).astype(bool)
    ax.plot(x, values, color=blue, linewidth=line(1.3), zorder=2, label="data")
    marks: dict[str, Any] = {"marker": "o", "linestyle": "none", "markersize": line(5.5), "zorder": 3}
    ax.plot(x[above], values[above], color=blue, **marks)
    ax.plot(x[~above], values[~above], color=ax.get_facecolor(), markeredgecolor=blue, **marks)
    dashes: dict[str, Any] = {"linestyle": (0, (6, 3)), "linewidth": line(1.1)}
    ax.plot(x, data["noise"], color=ink(ax), label=f"{100 * (1 - alpha):g} % of noise", **dashes)
    ax.set_ylim(bottom=0)
    ax.locator_params(axis="x", integer=True)
    ax.set_xlabel("Component")
    ax.set_ylabel("Eigenvalue")
    ax.legend(frameon=False, fontsize="small")
    return ax
