"""Results of resampling: intervals, selection frequencies and tests, with printouts and plots."""

from __future__ import annotations

from typing import Any

import pandas as pd

from spcastat import plots
from spcastat.report import resampling_tables as words
from spcastat.report.summary import Summary
from spcastat.results.carried import Carried
from spcastat.results.delegation import attribute, computed, delegated
from spcastat.results.plotted import LEVEL, drawn
from spcastat.state import FitState
from spcastat.state import component_frames as frames
from spcastat.state import resampling_frames as trust
from spcastat.state.copies import own
from spcastat.state.resampled import Bootstrapped, Halved, Split, Tested


class Bootstrap(Carried, Summary):
    """Bootstrap intervals of a fit; prints as text and shows as HTML in a notebook.

    `frames` has "loadings" and "variance", the 95 % intervals.
    """

    def __init__(self, state: FitState, found: Bootstrapped):
        self._state, self._found = state, found
        tables = {"loadings": self.conf_int(), "variance": self.variance_ci()}
        super().__init__(words.bootstrap_document(state, found, 0.95, screen=True), tables)

    conf_int = delegated(trust.conf_int)
    variance_ci = delegated(trust.variance_ci)
    selected = computed(trust.selected)

    @property
    def similarity(self) -> pd.Series:
        """Mean absolute correlation of the scores of the draws with those of the fit."""
        return trust.similarity(self._state, self._found.similarity)

    @property
    def n(self) -> int:
        """Number of draws made."""
        return len(self._found.values)

    @property
    def interrupted(self) -> bool:
        """Whether Ctrl-C ended the computation before all requested draws were made."""
        return self.n < self._found.asked

    @drawn(plots.plot_loadings, "intervals", "kind", "groups", "shape", intervals=LEVEL)
    def plot(self, *, level: float = 0.95) -> Any:
        return {"loadings": frames.loadings(self._state), "intervals": self.conf_int(level)}


class Stability(Carried, Summary):
    """How often fits of half of the rows select each loading; prints as text, shows as HTML in a notebook.

    `frames` holds "frequency", "clusters" and "associates".
    """

    def __init__(self, state: FitState, found: Halved):
        self._state, self._found = state, found
        tables = {"frequency": self.frequency, "clusters": self.clusters, "associates": self.associates}
        super().__init__(words.stability_document(state, found, screen=True), tables)

    frequency = computed(trust.frequency)

    @property
    def stable(self) -> pd.DataFrame:
        """Whether the frequency of each loading reaches the threshold, p x k."""
        return self.frequency >= self._found.threshold

    bound = computed(trust.bound)

    @property
    def similarity(self) -> pd.Series:
        """Mean absolute correlation of the scores of the halves with those of the fit."""
        return trust.similarity(self._state, self._found.similarity)

    clusters = computed(trust.clusters)
    associates = computed(trust.associates)
    threshold: float = attribute(
        "_found.threshold", "Loadings selected with at least this frequency are called stable."
    )

    @property
    def n_pairs(self) -> int:
        """Number of pairs of halves fitted."""
        return len(self._found.chosen) // 2

    @property
    def interrupted(self) -> bool:
        """Whether Ctrl-C ended the computation before all requested pairs were fitted."""
        return self.n_pairs < self._found.asked

    @drawn(plots.plot_frequency, "frequency", "threshold")
    def plot(self) -> Any:
        return {"frequency": self.frequency, "threshold": self.threshold}


class SplitInference(Carried, Summary):
    """Intervals from one half of the rows for variables selected on the other; prints as text or HTML.

    `frames` holds "loadings" and "variance", the intervals at 95 %.
    """

    def __init__(self, state: FitState, found: Split):
        self._state, self._found = state, found
        tables = {"loadings": self.conf_int(), "variance": self.variance_ci()}
        super().__init__(words.split_document(state, found, 0.95), tables)

    conf_int = delegated(trust.split_conf_int, "conf_int")
    variance_ci = delegated(trust.split_variance_ci, "variance_ci")

    @property
    def similarity(self) -> pd.Series:
        """Absolute correlation of the scores of the selected components with those of the fit."""
        return pd.Series(self._found.similarity.copy(), self._state.components, name="similarity")

    @property
    def interrupted(self) -> bool:
        """Whether Ctrl-C ended the computation before all requested bootstrap samples were drawn."""
        return self._found.draws < self._found.asked


class LoadingTest(Carried, Summary):
    """Permutation tests of the variables of every component; prints as text, shows as HTML in a notebook.

    `frames` holds "tests".
    """

    def __init__(self, state: FitState, found: Tested):
        self._state, self._found = state, found
        super().__init__(words.test_document(state, found), {"tests": trust.tests(state, found)})

    @property
    def table(self) -> pd.DataFrame:
        """One row for each variable and component: "loading", "correlation", "p_value", "q_value"."""
        return own(self._frames["tests"])

    @property
    def p_values(self) -> pd.DataFrame:
        """The p-values, p x k; NaN for a constant variable."""
        return self._state.by_variable(self._found.p_value)

    @property
    def q_values(self) -> pd.DataFrame:
        """The q-values, p x k: the smallest false discovery rate at which each test is significant."""
        return self._state.by_variable(self._found.q_value)

    @property
    def interrupted(self) -> bool:
        """Whether Ctrl-C ended the computation before all requested permutations were made."""
        return self._found.draws < self._found.asked
