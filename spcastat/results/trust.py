"""Results of resampling: intervals, selection frequencies and tests, with printouts and plots."""

from __future__ import annotations

from typing import Any, Generic, TypeVar

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
from spcastat.tables import Document

Found = TypeVar("Found", Bootstrapped, Halved, Split, Tested)


class Resampled(Carried, Summary, Generic[Found]):
    """A result of resampling."""

    def __init__(self, state: FitState, found: Found):
        self._state = state
        self._found: Found = found
        super().__init__(*self._shown())

    def _shown(self) -> tuple[Document, dict[str, pd.DataFrame]]:
        """Return the printout and the frames."""
        raise NotImplementedError

    @property
    def interrupted(self) -> bool:
        """Whether Ctrl-C ended the computation before all draws that were asked for were made."""
        return self._found.draws < self._found.asked


class Bootstrap(Resampled[Bootstrapped]):
    """Bootstrap intervals of a fit; prints as text and shows as HTML in a notebook.

    `frames` has "loadings" and "variance", the 95 % intervals.
    """

    def _shown(self) -> tuple[Document, dict[str, pd.DataFrame]]:
        tables = {"loadings": self.conf_int(), "variance": self.variance_ci()}
        return words.bootstrap_document(self._state, self._found, 0.95, screen=True), tables

    conf_int = delegated(trust.conf_int)
    variance_ci = delegated(trust.variance_ci)
    selected = computed(trust.selected)

    similarity = computed(trust.similarity)
    n: int = attribute("_found.draws", "Number of draws made.")

    @drawn(plots.plot_loadings, "intervals", "kind", "groups", "shape", intervals=LEVEL)
    def plot(self, *, level: float = 0.95) -> Any:
        return {"loadings": frames.loadings(self._state), "intervals": self.conf_int(level)}


class Stability(Resampled[Halved]):
    """How often fits of half of the rows select each loading; prints as text, shows as HTML in a notebook.

    `frames` holds "frequency", "clusters" and "associates".
    """

    def _shown(self) -> tuple[Document, dict[str, pd.DataFrame]]:
        tables = {"frequency": self.frequency, "clusters": self.clusters, "associates": self.associates}
        return words.stability_document(self._state, self._found, screen=True), tables

    frequency = computed(trust.frequency)

    @property
    def stable(self) -> pd.DataFrame:
        """Whether the frequency of each loading reaches the threshold, p x k."""
        return self.frequency >= self._found.threshold

    bound = computed(trust.bound)

    similarity = computed(trust.similarity)
    clusters = computed(trust.clusters)
    associates = computed(trust.associates)
    threshold: float = attribute(
        "_found.threshold", "Loadings selected with at least this frequency are called stable."
    )

    n_pairs: int = attribute("_found.draws", "Number of pairs of halves fitted.")

    @drawn(plots.plot_frequency, "frequency", "threshold")
    def plot(self) -> Any:
        return {"frequency": self.frequency, "threshold": self.threshold}


class SplitInference(Resampled[Split]):
    """Intervals from one half of the rows for variables selected on the other; prints as text or HTML.

    `frames` holds "loadings" and "variance", the intervals at 95 %.
    """

    def _shown(self) -> tuple[Document, dict[str, pd.DataFrame]]:
        tables = {"loadings": self.conf_int(), "variance": self.variance_ci()}
        return words.split_document(self._state, self._found, 0.95), tables

    conf_int = delegated(trust.split_conf_int, "conf_int")
    variance_ci = delegated(trust.split_variance_ci, "variance_ci")

    similarity = computed(trust.similarity)


class LoadingTest(Resampled[Tested]):
    """Permutation tests of the variables of every component; prints as text, shows as HTML in a notebook.

    `frames` holds "tests".
    """

    def _shown(self) -> tuple[Document, dict[str, pd.DataFrame]]:
        tests = trust.tests(self._state, self._found)
        return words.test_document(self._state, self._found), {"tests": tests}

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
