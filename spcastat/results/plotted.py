"""The plots of a fit: each method hands its frames to the function of the same name in `spcastat.plots`."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, Literal

import pandas as pd

from spcastat.results.diagnosed import Diagnosed

if TYPE_CHECKING:
    from matplotlib.axes import Axes

    from spcastat.plots import BiplotData, DiagnosticsData


class Plotted(Diagnosed):
    """A result with its plots, and for each plot what it would draw."""

    def biplot(
        self,
        *,
        components: Sequence[int | str] = (1, 2),
        scale: float = 1.0,
        groups: Any = None,
        labels: int | Literal["all"] = 10,
        ax: Axes | None = None,
    ) -> Axes:
        """Draw rows and the nonzero loadings on two components; see :func:`spcastat.plots.biplot`."""
        from spcastat import plots

        return plots.biplot(
            self._scores_for("biplot"),
            self.loadings,
            components=components,
            scale=scale,
            shares=self.variance["share of total"],
            groups=groups,
            labels=labels,
            ax=ax,
        )

    def biplot_data(
        self,
        *,
        components: Sequence[int | str] = (1, 2),
        scale: float = 1.0,
        groups: Any = None,
        labels: int | Literal["all"] = 10,
    ) -> BiplotData:
        """Return what `biplot` draws."""
        from spcastat import plots

        scores = self._scores_for("biplot")
        return plots.biplot_data(
            scores, self.loadings, components=components, scale=scale, groups=groups, labels=labels
        )

    def screeplot(self, *, ax: Axes | None = None) -> Axes:
        """Draw the adjusted variances beside those of dense PCA; see :func:`spcastat.plots.screeplot`."""
        from spcastat import plots

        return plots.screeplot(self.variance, sparse=self._record.sparse, ax=ax)

    def screeplot_data(self) -> pd.DataFrame:
        """Return what `screeplot` draws."""
        from spcastat import plots

        return plots.screeplot_data(self.variance)

    def plot_loadings(
        self,
        *,
        kind: str = "dots",
        max_rows: int = 40,
        components: Sequence[int | str] | None = None,
        ax: Axes | None = None,
    ) -> Axes:
        """Draw the loadings as dots or as a heat map; see :func:`spcastat.plots.plot_loadings`."""
        from spcastat import plots

        return plots.plot_loadings(self.loadings, kind=kind, max_rows=max_rows, components=components, ax=ax)

    def plot_loadings_data(
        self, *, max_rows: int = 40, components: Sequence[int | str] | None = None
    ) -> pd.DataFrame:
        """Return what `plot_loadings` draws."""
        from spcastat import plots

        return plots.plot_loadings_data(self.loadings, max_rows=max_rows, components=components)

    def plot_scores(
        self,
        *,
        components: Sequence[int | str] | None = None,
        groups: Any = None,
        ax: Axes | None = None,
    ) -> Axes:
        """Draw every pair of up to five columns of scores; see :func:`spcastat.plots.plot_scores`."""
        from spcastat import plots

        return plots.plot_scores(self._scores_for("plot_scores"), components=components, groups=groups, ax=ax)

    def plot_scores_data(
        self, *, components: Sequence[int | str] | None = None, groups: Any = None
    ) -> pd.DataFrame:
        """Return what `plot_scores` draws."""
        from spcastat import plots

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
        """Draw Q against T2 of the rows, or of new ones; see :func:`spcastat.plots.plot_diagnostics`."""
        from spcastat import plots

        return plots.plot_diagnostics(
            self.diagnostics(new), self.limits(level), groups=groups, labels=labels, ax=ax
        )

    def plot_diagnostics_data(
        self, new: Any = None, *, level: float = 0.95, groups: Any = None, labels: int = 10
    ) -> DiagnosticsData:
        """Return what `plot_diagnostics` draws."""
        from spcastat import plots

        return plots.plot_diagnostics_data(
            self.diagnostics(new), self.limits(level), groups=groups, labels=labels
        )

    def _scores_for(self, what: str) -> pd.DataFrame:
        if self._kept_scores is None:
            self._rows(what)
        return self.scores
