"""The result of `choose`: the chosen cardinalities with the fit, the table of candidates and the reasons."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import pandas as pd

from spcastat import plots
from spcastat.engine.inputs import Source
from spcastat.errors import OptionError
from spcastat.report.chapters import Chapter, chapter_of
from spcastat.report.methods_text import choice_sentences
from spcastat.report.report_file import write_report
from spcastat.report.summary import Summary
from spcastat.results.choice_words import Chosen, name_of
from spcastat.results.component_choice import ComponentChoice
from spcastat.results.delegation import delegated
from spcastat.results.plotted import drawn
from spcastat.results.result import SpcaResult
from spcastat.state import FitState
from spcastat.state.copies import own


class Choice(Summary):
    """Chosen cardinalities, with the reasons for them and the fit.

    The printout shows the choice, the candidates that are best by other criteria, and warnings. `table` has
    all candidates and criteria, `reason` all reasons; ``print(choice.components)`` explains the choice of the
    number of components.

    `frames` has the table under "choice" and, if the number of components was chosen as well, its tables
    under "components" and "spectrum".
    """

    def __init__(self, fit: SpcaResult, chosen: Chosen, components: ComponentChoice | None):
        self._fit, self._how, self._table = fit, chosen, chosen.table
        self.by, self.components, self.call = chosen.by, components, chosen.call
        frames = {"choice": chosen.table, **({} if components is None else components._frames)}
        record = replace(fit._state.record, chosen=list(choice_sentences(self)))
        fit._state = replace(fit._state, record=record)
        super().__init__(chosen.screen(components), frames)

    def _no_such(self, name: str) -> AttributeError:
        """Return an error that names the attribute of the fit."""
        if not name.startswith("_") and hasattr(type(self._fit), name):
            return AttributeError(f"A choice has no {name}; it is choice.fit.{name} here.")
        return super()._no_such(name)

    def _noise_for(self, spectrum: np.ndarray) -> np.ndarray:
        """Return the thresholds of parallel analysis; see `ComponentChoice._noise_for`."""
        if self.components is None:
            raise OptionError(
                "parallel= is a choice with a given number of components, so that no parallel analysis "
                "was run; give the result of choose_k()."
            )
        return self.components._noise_for(spectrum)

    @property
    def fit(self) -> SpcaResult:
        """The fit with the chosen cardinalities, as a direct call would return it."""
        return self._fit

    @property
    def k(self) -> int:
        """The number of components."""
        return len(self._fit.components)

    @property
    def card(self) -> Any:
        """The chosen cardinality: a number for all components, or a list with one for each."""
        card = self._how.card
        return own(card) if isinstance(card, list) else card

    @property
    def table(self) -> pd.DataFrame:
        """One row per candidate: "card", "nonzeros", errors, criteria, shares of variance, "chosen".

        "error" is the mean squared prediction error relative to that of the column means, and "se" its
        standard error over folds; "excess" and "excess_se" are the difference from the smallest error and its
        standard error, paired by fold. "kept" is 1 - error as a share of the largest value of any candidate
        (in-sample without cross-validation). Smaller values of "ebic" and "bic" and larger values of "is" are
        better.
        """
        return own(self._table)

    @property
    def reason(self) -> str:
        """The reasons for the choice, in words."""
        return " ".join(self._how.reasons())

    @property
    def method_text(self) -> str:
        """Text for a methods section on how the numbers of loadings were chosen."""
        return " ".join(self._how.method_sentences())

    @drawn(plots.plot_choice, "table", "by", "dense")
    def plot(self) -> Any:
        return {"table": self.table, "by": self.by, "dense": self._how.dense}

    plot_data = plot.data

    report = delegated(write_report, "report")

    @property
    def _before(self) -> tuple[Chapter, ...]:
        """The chapters of the report before those of the fit."""
        what = "The criterion of every cardinality"
        unsaid = (
            f"Every cardinality by {name_of(self.by)}"
            f"{', with one standard error' if self.by == 'cv' else ''}. It does not say how sure the "
            "variables of the choice are, nor that those left out have nothing to do with the component."
        )
        sparse = chapter_of("How sparse", self._how.document(), self.plot, what, unsaid)
        number = self.components
        if number is None:
            return (sparse,)
        what = "Eigenvalues of the data and of noise"
        unsaid = (
            "Eigenvalues compared with those of noise. A component below the line may be real and weak, and "
            "one above it need not mean anything."
        )
        return chapter_of("How many components", number.document, number.plot, what, unsaid), sparse

    @property
    def _state(self) -> FitState:
        return self._fit._state

    @property
    def _source(self) -> Source | None:
        return self._fit._source

    @property
    def _by_row(self) -> Any:
        return self._fit._by_row
