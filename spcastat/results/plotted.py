"""The plots of a fit: each method hands its frames to the function of the same name in `spcastat.plots`."""

from __future__ import annotations

from collections.abc import Sequence
from functools import cached_property
from typing import TYPE_CHECKING, Any, Literal

import numpy as np
import pandas as pd

from spcastat import plots
from spcastat.config import flag, one_of
from spcastat.errors import OptionError
from spcastat.plots.biplot import ARROWS
from spcastat.results.columns import row_values
from spcastat.results.documented import documented
from spcastat.results.sampled import in_pieces, is_apart, refuse_of_sample, sampled, told
from spcastat.results.supplement import Supplement
from spcastat.state import FitState, frames, interpreted, rows, trust
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
SUPPLEMENT = """supplement : Supplement, optional
    What `supplement` returned: its rows are drawn as crosses, the means of levels as diamonds, and numeric
    variables as arrows among the correlations."""
CONF_INT = """intervals : DataFrame, optional
    With the columns component, term, lower and upper, as ``conf_int()`` of a bootstrap gives them: dots get
    a bar from lower to upper, grey where it holds zero.
conf_int : bool
    Take the 95 % intervals of the last bootstrap."""
OF = """of : {"variables", "rows"}
    Whose they are."""


class Plotted:
    """The plots, and for each what it would draw."""

    _state: FitState
    _source: Source | None
    _call: Call | None
    _scores: Any
    contributions: Any
    cos2: Any

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
        levels=SUPPLEMENT,
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

    @documented(plots.plot_correlations, "correlations", "loadings", "shares", supplementary=SUPPLEMENT)
    def plot_correlations(
        self,
        *,
        components: Sequence[int | str] = (1, 2),
        variables: int | Literal["all"] = 30,
        supplement: Supplement | None = None,
        ax: Axes | None = None,
    ) -> Axes:
        return plots.plot_correlations(
            frames.correlations(self._state),
            frames.loadings(self._state),
            components=components,
            variables=variables,
            shares=variance(self._state)["share of total"],
            supplementary=None if supplement is None else _supplement(supplement).correlations,
            ax=ax,
        )

    def plot_correlations_data(
        self,
        *,
        components: Sequence[int | str] = (1, 2),
        variables: int | Literal["all"] = 30,
        supplement: Supplement | None = None,
    ) -> pd.DataFrame:
        """Return what `plot_correlations` draws; its parameters are described there."""
        return plots.plot_correlations_data(
            frames.correlations(self._state),
            frames.loadings(self._state),
            components=components,
            variables=variables,
            supplementary=None if supplement is None else _supplement(supplement).correlations,
        )

    @documented(plots.plot_contributions, "values", "kind", of=OF)
    def plot_contributions(
        self,
        of: Literal["variables", "rows"] = "variables",
        *,
        components: int | str | Sequence[int | str] = 1,
        max_rows: int = 20,
        ax: Axes | None = None,
    ) -> Axes:
        return plots.plot_contributions(
            self.contributions(of), components=components, of=of, max_rows=max_rows, ax=ax
        )

    @documented(plots.plot_contributions, "values", "kind", of=OF)
    def plot_cos2(
        self,
        of: Literal["variables", "rows"] = "variables",
        *,
        components: int | str | Sequence[int | str] = 1,
        max_rows: int = 20,
        ax: Axes | None = None,
    ) -> Axes:
        return plots.plot_contributions(
            self.cos2(of), components=components, kind="cos2", of=of, max_rows=max_rows, ax=ax
        )

    def plot_contributions_data(
        self,
        of: Literal["variables", "rows"] = "variables",
        *,
        components: int | str | Sequence[int | str] = 1,
        max_rows: int = 20,
    ) -> pd.DataFrame:
        """Return what `plot_contributions` draws; its parameters are described there."""
        return plots.plot_contributions_data(
            self.contributions(of), components=components, max_rows=max_rows
        )

    def plot_cos2_data(
        self,
        of: Literal["variables", "rows"] = "variables",
        *,
        components: int | str | Sequence[int | str] = 1,
        max_rows: int = 20,
    ) -> pd.DataFrame:
        """Return what `plot_cos2` draws; its parameters are described there."""
        return plots.plot_contributions_data(self.cos2(of), components=components, max_rows=max_rows)

    @documented(plots.screeplot, "variance", "spectrum", "sparse")
    def screeplot(
        self,
        *,
        kind: Literal["variance", "share", "cumulative"] = "variance",
        parallel: Any = None,
        max_components: int | None = 30,
        ax: Axes | None = None,
    ) -> Axes:
        spectrum = interpreted.spectrum(self._state)
        return plots.screeplot(
            variance(self._state),
            spectrum,
            kind=kind,
            sparse=self._state.record.sparse,
            parallel=_noise(parallel, spectrum),
            max_components=max_components,
            ax=ax,
        )

    def screeplot_data(
        self,
        *,
        kind: Literal["variance", "share", "cumulative"] = "variance",
        parallel: Any = None,
        max_components: int | None = 30,
    ) -> pd.DataFrame:
        """Return what `screeplot` draws; its parameters are described there."""
        spectrum = interpreted.spectrum(self._state)
        return plots.screeplot_data(
            variance(self._state),
            spectrum,
            kind=kind,
            parallel=_noise(parallel, spectrum),
            max_components=max_components,
        )

    @documented(plots.plot_reconstruction, "errors", "sparse")
    def plot_reconstruction(self, *, ax: Axes | None = None) -> Axes:
        errors = interpreted.reconstruction(self._state)
        return plots.plot_reconstruction(errors, sparse=self._state.record.sparse, ax=ax)

    @documented(interpreted.reconstruction, "state")
    def plot_reconstruction_data(self) -> pd.DataFrame:
        return plots.plot_reconstruction_data(interpreted.reconstruction(self._state))

    @documented(plots.plot_loadings, "loadings", intervals=CONF_INT)
    def plot_loadings(
        self,
        *,
        kind: str = "dots",
        max_rows: int = 40,
        components: Sequence[int | str] | None = None,
        groups: Any = None,
        intervals: pd.DataFrame | None = None,
        conf_int: bool = False,
        shape: tuple[int, int] | None = None,
        ax: Axes | None = None,
    ) -> Axes:
        if flag("conf_int", conf_int):
            intervals = trust.last_intervals(self._state) if intervals is None else intervals
        return plots.plot_loadings(
            frames.loadings(self._state),
            kind=kind,
            max_rows=max_rows,
            components=components,
            groups=groups,
            intervals=intervals,
            shape=shape,
            ax=ax,
        )

    @documented(plots.plot_loadings_data, "loadings")
    def plot_loadings_data(
        self, *, max_rows: int = 40, components: Sequence[int | str] | None = None, groups: Any = None
    ) -> pd.DataFrame:
        loadings = frames.loadings(self._state)
        return plots.plot_loadings_data(loadings, max_rows=max_rows, components=components, groups=groups)

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
        further = None if supplement is None else _supplement(supplement).rows
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


def _supplement(given: Any) -> Supplement:
    if isinstance(given, Supplement):
        return given
    raise OptionError(
        f"supplement of type {type(given).__name__} was given; it must be what fit.supplement(rows=..., "
        "variables=...) returns."
    )


def _beside(given: Supplement | None, arrows: str) -> dict[str, pd.DataFrame | None]:
    """Return what of a supplement stands beside the variables and rows of a biplot."""
    if given is None:
        return {}
    found = _supplement(given)
    correlations = found.correlations if one_of("arrows", arrows, ARROWS) == "correlations" else None
    return {"supplementary": correlations, "levels": found.levels}


def _noise(parallel: Any, spectrum: np.ndarray) -> Any:
    """Return thresholds of parallel analysis: numbers as they are, or those that a choice has for the fit."""
    choice = getattr(type(parallel), "noise_for", None)
    return parallel if choice is None else choice(parallel, spectrum)
