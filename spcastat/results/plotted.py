"""The plots of a fit that show its variables and components, and nothing of its rows."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, Literal

import numpy as np
import pandas as pd

from spcastat import plots
from spcastat.config import flag
from spcastat.results.inherited_docs import documented
from spcastat.results.supplement import DRAWN, Supplement, checked
from spcastat.state import FitState, frames, interpreted, trust
from spcastat.state.variance import variance

if TYPE_CHECKING:
    from matplotlib.axes import Axes

#: What methods say of options that the functions take values for.
CONF_INT = """intervals : DataFrame, optional
    With the columns component, term, lower and upper, as ``conf_int()`` of a bootstrap gives them: dots get
    a bar from lower to upper, grey where it holds zero.
conf_int : bool
    Take the 95 % intervals of the last bootstrap."""
OF = """of : {"variables", "rows"}
    Whose they are."""


class Plotted:
    """The plots of variables and components, and for each what it would draw."""

    _state: FitState
    contributions: Any
    cos2: Any

    @documented(plots.plot_correlations, "correlations", "loadings", "shares", supplementary=DRAWN)
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
            supplementary=None if supplement is None else checked(supplement).correlations,
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
            supplementary=None if supplement is None else checked(supplement).correlations,
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
        return plots.plot_contributions_data(self.contributions(of), components=components, max_rows=max_rows)

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


def _noise(parallel: Any, spectrum: np.ndarray) -> Any:
    """Return thresholds of parallel analysis: numbers as they are, or those that a choice has for the fit."""
    choice = getattr(type(parallel), "_noise_for", None)
    return parallel if choice is None else choice(parallel, spectrum)
