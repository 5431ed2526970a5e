"""The plots of a fit: each method hands its frames to the function of the same name in `spcastat.plots`."""

from __future__ import annotations

from collections.abc import Sequence
from functools import cached_property
from typing import TYPE_CHECKING, Any, Literal

import pandas as pd

from spcastat import plots
from spcastat.config import flag
from spcastat.results.columns import row_values
from spcastat.results.documented import documented
from spcastat.state import FitState, frames, rows, trust
from spcastat.state.handed import own
from spcastat.state.variance import variance

if TYPE_CHECKING:
    from matplotlib.axes import Axes

    from spcastat.engine.inputs import Source
    from spcastat.plots import BiplotData, DiagnosticsData
    from spcastat.results.call import Call

#: What methods say of options that the functions take values for.
COLUMN = "The name of a column of the fitted data means its values."
NEW = """new : DataFrame, array, sparse matrix, polars or pyarrow table, optional
    Further rows as for `transform`, drawn as crosses on the scale of the others."""


class Plotted:
    """The plots, and for each what it would draw."""

    _state: FitState
    _source: Source | None
    _call: Call | None
    _scores: Any

    @cached_property
    def _distances(self) -> pd.DataFrame:
        return rows.diagnostics(self._state, self._source)

    @documented(
        plots.biplot, "scores", "loadings", "correlations", "shares", groups=COLUMN, color=COLUMN, new=NEW
    )
    def biplot(
        self,
        *,
        components: Sequence[int | str] = (1, 2),
        scale: float = 1.0,
        arrows: Literal["loadings", "correlations"] = "loadings",
        variables: int | Literal["all"] = 30,
        groups: Any = None,
        color: Any = None,
        palette: Any = None,
        outline: Literal["normal", "t", "hull"] | None = None,
        level: float = 0.95,
        centroids: bool = False,
        labels: Any = 0,
        new: Any = None,
        ax: Axes | None = None,
    ) -> Axes:
        return plots.biplot(
            self._scores_for("biplot"),
            frames.loadings(self._state),
            components=components,
            scale=scale,
            arrows=arrows,
            correlations=frames.correlations(self._state),
            variables=variables,
            shares=variance(self._state)["share of total"],
            groups=self._by_row(groups, "groups"),
            color=self._by_row(color, "color"),
            palette=palette,
            outline=outline,
            level=level,
            centroids=centroids,
            labels=labels,
            new=self._new_scores(new),
            ax=ax,
        )

    def biplot_data(
        self,
        *,
        components: Sequence[int | str] = (1, 2),
        scale: float = 1.0,
        arrows: Literal["loadings", "correlations"] = "loadings",
        variables: int | Literal["all"] = 30,
        groups: Any = None,
        color: Any = None,
        labels: Any = 0,
        new: Any = None,
    ) -> BiplotData:
        """Return what `biplot` draws; its parameters are described there."""
        return plots.biplot_data(
            self._scores_for("biplot"),
            frames.loadings(self._state),
            components=components,
            scale=scale,
            arrows=arrows,
            correlations=frames.correlations(self._state),
            variables=variables,
            groups=self._by_row(groups, "groups"),
            color=self._by_row(color, "color"),
            labels=labels,
            new=self._new_scores(new),
        )

    @documented(plots.screeplot, "variance")
    def screeplot(self, *, ax: Axes | None = None) -> Axes:
        return plots.screeplot(variance(self._state), sparse=self._state.record.sparse, ax=ax)

    @documented(plots.screeplot_data, "variance")
    def screeplot_data(self) -> pd.DataFrame:
        return plots.screeplot_data(variance(self._state))

    @documented(plots.plot_loadings, "loadings", "intervals")
    def plot_loadings(
        self,
        *,
        kind: str = "dots",
        max_rows: int = 40,
        components: Sequence[int | str] | None = None,
        conf_int: bool = False,
        ax: Axes | None = None,
    ) -> Axes:
        loadings = frames.loadings(self._state)
        intervals = trust.last_intervals(self._state) if flag("conf_int", conf_int) else None
        return plots.plot_loadings(
            loadings, kind=kind, max_rows=max_rows, components=components, intervals=intervals, ax=ax
        )

    @documented(plots.plot_loadings_data, "loadings")
    def plot_loadings_data(
        self, *, max_rows: int = 40, components: Sequence[int | str] | None = None
    ) -> pd.DataFrame:
        loadings = frames.loadings(self._state)
        return plots.plot_loadings_data(loadings, max_rows=max_rows, components=components)

    @documented(plots.plot_scores, "scores")
    def plot_scores(
        self,
        *,
        components: Sequence[int | str] | None = None,
        groups: Any = None,
        ax: Axes | None = None,
    ) -> Axes:
        return plots.plot_scores(self._scores_for("plot_scores"), components=components, groups=groups, ax=ax)

    @documented(plots.plot_scores_data, "scores")
    def plot_scores_data(
        self, *, components: Sequence[int | str] | None = None, groups: Any = None
    ) -> pd.DataFrame:
        return plots.plot_scores_data(self._scores_for("plot_scores"), components=components, groups=groups)

    def plot_diagnostics(
        self,
        new: Any = None,
        *,
        level: float = 0.95,
        groups: Any = None,
        labels: int = 10,
        ax: Axes | None = None,
    ) -> Axes:
        """Draw Q against T2 of the rows, or of new ones, with the limits of both.

        Parameters
        ----------
        new : optional
            Rows as for `diagnostics`.
        level : float in (0, 1)
            Share of new rows of the same kind that stays below the limits; see `limits`.
        groups : array-like or Series of length n, optional
            One color and mark for each group.
        labels : int
            So many rows are named, those furthest beyond a limit.
        ax : Axes, optional
            By default those of a new figure.

        Returns
        -------
        Axes
        """
        found, limits = self._judged(new, level)
        return plots.plot_diagnostics(found, limits, groups=groups, labels=labels, ax=ax)

    def plot_diagnostics_data(
        self, new: Any = None, *, level: float = 0.95, groups: Any = None, labels: int = 10
    ) -> DiagnosticsData:
        """Return what `plot_diagnostics` draws; its parameters are described there."""
        return plots.plot_diagnostics_data(*self._judged(new, level), groups=groups, labels=labels)

    def _judged(self, new: Any, level: float) -> tuple[pd.DataFrame, pd.Series]:
        """Return the distances of rows, and their limits."""
        found = own(self._distances) if new is None else rows.diagnostics_of(self._state, new)
        return found, frames.limits(self._state, level)

    def _by_row(self, given: Any, option: str) -> Any:
        """Return values for the rows of the fit: a text names a column of its data."""
        return row_values(given, option, self._source, self._call)

    def _new_scores(self, new: Any) -> pd.DataFrame | None:
        return None if new is None else rows.transform(self._state, new)

    def _scores_for(self, what: str) -> pd.DataFrame:
        if self._state.scores is None:
            rows.need_rows(self._state, self._source, what)
        return own(self._scores)
