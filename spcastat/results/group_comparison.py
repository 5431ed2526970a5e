"""The comparison of components between groups of rows."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
import pandas as pd

from spcastat import plots
from spcastat.fit.record import deep_copy
from spcastat.fit.state import Picklable
from spcastat.results.fit import SpcaResult
from spcastat.show import resampling_tables
from spcastat.show.grid import Document
from spcastat.show.renderings import Outcome, Screen

if TYPE_CHECKING:
    from matplotlib.axes import Axes

    from spcastat.assess.permutation import GroupSlopes
    from spcastat.hints import Palette, Several


class GroupComparison(Picklable, Outcome):
    """A comparison of components between groups of rows: the result of :func:`spcastat.compare_groups`.

    Parameters
    ----------
    fit : SpcaResult
        The common components, of rows centred within groups.
    table : DataFrame
    comparison : GroupSlopes
    groups : pandas.Index of length G
        The labels of the groups. The name of the index, if it has one, is the title of the legend of the
        plot.
    clusters : int or None
        The number of clusters.
    serial : float or None
        The correlation of the scores of neighbouring rows, if they are serially dependent.
    """

    def __init__(
        self,
        fit: SpcaResult,
        table: pd.DataFrame,
        comparison: GroupSlopes,
        groups: pd.Index,
        clusters: int | None = None,
        serial: float | None = None,
    ) -> None:
        self._fit = fit
        self._table = table
        self._comparison = comparison
        self._groups = groups
        self._clusters = clusters
        self._serial = serial

    def _document(self) -> Document:
        about = resampling_tables.comparison_facts(
            self._table,
            self.slopes,
            self.p_value,
            self._comparison,
            self._fit.k,
            self._clusters,
            self._serial,
        )
        return resampling_tables.document(
            self._table, self.slopes, self.p_values, self._comparison.draws, about
        )

    def _screen(self) -> Screen:
        draws = self._comparison.draws
        return resampling_tables.print_of_groups(self._document(), self._table, self.p_values, draws)

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

        The columns are "group", "component", "rows"; "variance", the variance of the component in the group;
        "congruence", the absolute inner product of its loadings with the group's first eigenvector on the
        same variables; "kept", the variance of the component as a share of that eigenvalue.
        """
        return deep_copy(self._table)

    @property
    def slopes(self) -> pd.DataFrame:
        """One row for each group, component and variable.

        The columns are "group", "component", "term", "loading"; "estimate", the slope cov(variable, score) /
        var(score); "std_error" (HC0, or cluster-robust); "p_adjusted", the adjusted p-value of the difference
        between groups, which is the same for all groups. A variable that is constant in a group has no
        estimate in this group, and no p-value.
        """
        groups, (p, k) = len(self._groups), self._comparison.adjusted.shape
        component, term = np.divmod(np.tile(np.arange(p * k), groups), p)
        names = self._fit.loadings
        return pd.DataFrame(
            {
                "group": self._groups[np.repeat(np.arange(groups), p * k)],
                "component": names.columns[component],
                "term": names.index.to_flat_index()[term],
                "loading": names.to_numpy()[term, component],
                "estimate": self._comparison.slopes.transpose(0, 2, 1).ravel(),
                "std_error": np.sqrt(self._comparison.variances).transpose(0, 2, 1).ravel(),
                "p_adjusted": self._comparison.adjusted[term, component],
            }
        )

    @property
    def p_value(self) -> float:
        """The p-value of the test that all slopes on all components are equal between groups."""
        return self._comparison.p_value

    @property
    def p_values(self) -> pd.Series:
        """The p-values of the tests that all slopes on a component are equal between groups, length k.

        They are not adjusted for the number of components; `p_value` and `p_adjusted` are.
        """
        return pd.Series(self._comparison.by_component, self._fit.components, name="p_value")

    @property
    def p_adjusted(self) -> pd.DataFrame:
        """P-values of each variable and component, p x k, adjusted for all tests (step-down maximum).

        At the level .05, the probability of any false rejection is at most .05. The value is NaN for the
        only variable of a component, whose slope is 1 in every group, and for a variable that does not vary
        in a group.
        """
        names = self._fit.loadings
        return pd.DataFrame(self._comparison.adjusted.copy(), deep_copy(names.index), names.columns)

    @property
    def n(self) -> int:
        """Number of permutations made."""
        return self._comparison.draws

    @property
    def interrupted(self) -> bool:
        """Whether Ctrl-C ended the computation before all requested permutations were made."""
        return self._comparison.draws < self._comparison.asked

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
            Components, by number (from 1) or by name; by default all.
        level : float in (0, 1)
            Confidence level of the intervals, which are normal intervals for single slopes.
        palette : mapping, sequence of colours, or str, optional
            Colours of the groups, as for the biplot.
        ax : Axes, optional
            By default a new figure is created.

        Returns
        -------
        Axes
        """
        slopes = self.slopes
        slopes.attrs["groups"] = self._groups.name
        return plots.plot_slopes(
            slopes, max_rows=max_rows, components=components, level=level, palette=palette, ax=ax
        )
