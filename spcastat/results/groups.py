"""The result of a comparison of groups."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
import pandas as pd

from spcastat import plots
from spcastat.config import plural
from spcastat.fit.record import deep_copy
from spcastat.results.call import Picklable
from spcastat.show import resampling_tables as group_tables
from spcastat.show.renderings import Summary

if TYPE_CHECKING:
    from matplotlib.axes import Axes

    from spcastat.argument_types import Palette, Several
    from spcastat.assess.permutation import Compared
    from spcastat.results.fit import SpcaResult
    from spcastat.show.grid import Document


class GroupComparison(Picklable, Summary):
    """Whether components are the same in groups of rows, the result of :func:`spcastat.compare_groups`.

    Parameters
    ----------
    fit : SpcaResult
        The common components, of rows centred within groups.
    table : DataFrame
    found : Compared
    groups : pandas.Index of length G
    clusters : int or None
        The number of clusters.
    """

    def __init__(
        self,
        fit: SpcaResult,
        table: pd.DataFrame,
        found: Compared,
        groups: pd.Index,
        clusters: int | None = None,
    ) -> None:
        self._fit = fit
        self._table = table
        self._found = found
        self._groups = groups
        self._clusters = clusters

    def _document(self) -> Document:
        found, clusters = self._found, self._clusters
        drawn = plural(found.draws, "permutation") + f" of {found.asked}: interrupted" * self.interrupted
        about = {
            "draws": f"{drawn} of {'rows' if clusters is None else 'clusters'}",
            "clusters": "" if clusters is None else f", in {plural(clusters, 'cluster')}",
            "fit": f"{self._fit.k} of {plural(len(found.adjusted), 'variable')}, from covariances in groups",
        }
        return group_tables.document(self._table, self.slopes, self.p_values, self.p_value, about)

    @property
    def frames(self) -> dict[str, pd.DataFrame]:
        """The tables "groups", "slopes" and "p_adjusted"."""
        return {"groups": self.table, "slopes": self.slopes, "p_adjusted": self.p_adjusted}

    @property
    def fit(self) -> SpcaResult:
        """The common components: a fit of the rows centred within groups (and scaled)."""
        return self._fit

    @property
    def table(self) -> pd.DataFrame:
        """One row for each group and component.

        "group", "component", "rows"; "variance" of the component in the group; "congruence", the absolute
        inner product of its loadings with the group's first eigenvector on the same variables; "kept", the
        share of that eigenvalue that the component's variance is.
        """
        return deep_copy(self._table)

    @property
    def slopes(self) -> pd.DataFrame:
        """One row for each group, component and variable.

        "group", "component", "term", "loading"; "estimate", the slope cov(variable, score) / var(score);
        "std_error" (HC0, or of clusters); "p_adjusted" of the difference between groups, equal for all of
        them.
        """
        groups, (p, k) = len(self._groups), self._found.adjusted.shape
        component, term = np.divmod(np.tile(np.arange(p * k), groups), p)
        names = self._fit.loadings
        return pd.DataFrame(
            {
                "group": self._groups[np.repeat(np.arange(groups), p * k)],
                "component": names.columns[component],
                "term": names.index.to_flat_index()[term],
                "loading": names.to_numpy()[term, component],
                "estimate": self._found.slopes.transpose(0, 2, 1).ravel(),
                "std_error": np.sqrt(self._found.variances).transpose(0, 2, 1).ravel(),
                "p_adjusted": self._found.adjusted[term, component],
            }
        )

    @property
    def p_value(self) -> float:
        """The p-value of equal slopes of all variables on all components."""
        return self._found.p_value

    @property
    def p_values(self) -> pd.Series:
        """The p-values of equal slopes of all variables on each component, length k.

        They are not adjusted for the number of components; `p_value` and `p_adjusted` are.
        """
        return pd.Series(self._found.by_component, self._fit.components, name="p_value")

    @property
    def p_adjusted(self) -> pd.DataFrame:
        """P-values of each variable and component, p x k, adjusted for all of them (step-down maximum).

        The probability of any false one up to .05 is at most .05.
        """
        names = self._fit.loadings
        return pd.DataFrame(self._found.adjusted.copy(), deep_copy(names.index), names.columns)

    @property
    def n(self) -> int:
        """Number of permutations made."""
        return self._found.draws

    @property
    def interrupted(self) -> bool:
        """Whether Ctrl-C ended the computation before all requested permutations were made."""
        return self._found.draws < self._found.asked

    def plot(
        self,
        *,
        max_rows: int | None = 40,
        components: Several | None = None,
        level: float = 0.95,
        palette: Palette | None = None,
        ax: Axes | None = None,
    ) -> Axes:
        """Draw the slopes of the variables of each component in every group, with intervals.

        A star marks variables whose slopes differ, with an adjusted p-value up to .05.

        Parameters
        ----------
        max_rows : int, optional
            The largest number of variables: those with the smallest adjusted p-values, then the largest
            loadings.
        components : sequence of int or str, optional
            Numbers counted from one, or names; by default all.
        level : float in (0, 1)
            Confidence level of the intervals, which are normal, for each slope alone.
        palette : mapping, sequence of colours, or str, optional
            Colours of the groups, as for the biplot.
        ax : Axes, optional
            By default those of a new figure.

        Returns
        -------
        Axes
        """
        return plots.plot_slopes(
            self.slopes, max_rows=max_rows, components=components, level=level, palette=palette, ax=ax
        )
