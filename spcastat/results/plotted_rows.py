"""The plots of a fit that show its rows: biplot, scores, distances; new rows beside them."""

from __future__ import annotations

from collections.abc import Sequence
from functools import cached_property
from typing import TYPE_CHECKING, Any, Literal

import pandas as pd

from spcastat import plots
from spcastat.config import one_of
from spcastat.plots._biplot_data import ARROWS
from spcastat.results.columns import row_values
from spcastat.results.inherited_docs import documented
from spcastat.results.sampled import in_pieces, is_apart, refuse_of_sample, sampled, told
from spcastat.results.supplement import DRAWN, Supplement, checked
from spcastat.state import FitState, frames, rows
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


class PlottedRows:
    """The plots of rows, and for each what it would draw."""

    _state: FitState
    _source: Source | None
    _call: Call | None
    _scores: Any

    @cached_property
    def _distances(self) -> pd.DataFrame:
        return rows.diagnostics(self._state, self._source)

    @cached_property
    def _drawn(self) -> pd.DataFrame:
        """Scores, T2 and Q of a sample of rows that are never all in memory."""
        return sampled(self._state, self._source)

    @documented(
        plots.biplot,
        *("scores", "loadings", "correlations", "shares", "supplementary"),
        groups=COLUMN,
        color=COLUMN,
        new=NEW,
        levels=DRAWN,
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
        supplement: Supplement | None = None,
        ax: Axes | None = None,
    ) -> Axes:
        scores = self._scores_for("biplot")
        drawn = plots.biplot(
            scores,
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
            new=self._new_scores(new, supplement),
            **_beside(supplement, arrows),
            ax=ax,
        )
        return told(drawn, scores)

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
        supplement: Supplement | None = None,
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
            new=self._new_scores(new, supplement),
            **_beside(supplement, arrows),
        )

    @documented(plots.plot_scores, "scores", "shares", groups=COLUMN)
    def plot_scores(
        self,
        *,
        components: Sequence[int | str] | None = None,
        groups: Any = None,
        palette: Any = None,
        densities: bool = True,
        ax: Axes | None = None,
    ) -> Axes:
        scores = self._scores_for("plot_scores")
        drawn = plots.plot_scores(
            scores,
            components=components,
            groups=self._by_row(groups, "groups"),
            palette=palette,
            densities=densities,
            shares=variance(self._state)["share of total"],
            ax=ax,
        )
        return told(drawn, scores)

    def plot_scores_data(
        self, *, components: Sequence[int | str] | None = None, groups: Any = None
    ) -> pd.DataFrame:
        """Return what `plot_scores` draws; its parameters are described there."""
        scores = self._scores_for("plot_scores")
        return plots.plot_scores_data(scores, components=components, groups=self._by_row(groups, "groups"))

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
        groups : array-like or Series of length n, or str, optional
            One color and mark for each group; a text names a column of the fitted data.
        labels : int
            Number of rows to name, those furthest beyond a limit.
        ax : Axes, optional
            By default those of a new figure.

        Returns
        -------
        Axes
        """
        found, limits = self._judged(new, level)
        groups = groups if new is not None else self._by_row(groups, "groups")
        return told(plots.plot_diagnostics(found, limits, groups=groups, labels=labels, ax=ax), found)

    def plot_diagnostics_data(
        self, new: Any = None, *, level: float = 0.95, groups: Any = None, labels: int = 10
    ) -> DiagnosticsData:
        """Return what `plot_diagnostics` draws; its parameters are described there."""
        groups = groups if new is not None else self._by_row(groups, "groups")
        return plots.plot_diagnostics_data(*self._judged(new, level), groups=groups, labels=labels)

    def _judged(self, new: Any, level: float) -> tuple[pd.DataFrame, pd.Series]:
        """Return the distances of rows, and their limits."""
        here = self._drawn[["T2", "Q"]] if is_apart(self._source) and new is None else None
        if here is None:
            here = self._distances if new is None else rows.diagnostics_of(self._state, new)
        found = own(here)
        return found, frames.limits(self._state, level)

    def _by_row(self, given: Any, option: str) -> Any:
        """Return values for the rows of the fit: a text names a column of its data."""
        refuse_of_sample(given, option, self._source)
        return row_values(given, option, self._source, self._call)

    def _new_scores(self, new: Any, supplement: Supplement | None) -> pd.DataFrame | None:
        further = None if supplement is None else checked(supplement).rows
        if new is None:
            return further
        scores: pd.DataFrame = rows.transform(self._state, new)
        return scores if further is None else pd.concat([further, scores])

    def _scores_for(self, what: str) -> pd.DataFrame:
        if self._state.scores is None and in_pieces(self._source):
            return own(self._drawn[self._state.components])
        if self._state.scores is None:
            rows.need_rows(self._state, self._source, what)
        return own(self._scores)


def _beside(given: Supplement | None, arrows: str) -> dict[str, pd.DataFrame | None]:
    """Return what of a supplement stands beside the variables and rows of a biplot."""
    if given is None:
        return {}
    found = checked(given)
    correlations = found.correlations if one_of("arrows", arrows, ARROWS) == "correlations" else None
    return {"supplementary": correlations, "levels": found.levels}
