"""What users hold after choosing cardinalities: their table, the fit, and the reasons."""

from __future__ import annotations

from collections.abc import Iterator
from os import PathLike
from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd

from spcastat import plots
from spcastat.config import plural
from spcastat.errors import OptionError
from spcastat.report.chapters import chapter_of
from spcastat.report.summary import Summary, describe_data
from spcastat.results.component_choice import ComponentChoice
from spcastat.results.result import SpcaResult
from spcastat.select.chosen import CRITERIA
from spcastat.state.handed import own
from spcastat.tables import Document, Row, Table
from spcastat.tables.cells import fixed, percent

if TYPE_CHECKING:
    from matplotlib.axes import Axes

#: Data whose best prediction needs more than this share of the variables are not sparse.
NOT_SPARSE = 0.6
#: With fewer rows the rule of one standard error selects too few.
FEW_ROWS = 60
#: What a choice is called, by its criterion.
NAMES = {**CRITERIA, "bic": "BIC (Allen and Maletic-Savatic)"}


class Choice(Summary):
    """Cardinalities that were chosen, why, and the fit with them.

    `frames` holds the table under "choice".
    """

    def __init__(
        self,
        table: pd.DataFrame,
        fit: SpcaResult,
        *,
        card: Any,
        by: str,
        rule: str,
        share: float,
        folds: int,
        repeats: int,
        best: int,
        dense: float | None,
        free: bool,
        components: ComponentChoice | None,
        call: str,
        among: int | None = None,
    ):
        self._among = among
        self._table, self._fit, self._card, self._best, self._dense = table, fit, card, best, dense
        self._rule, self._share, self._folds, self._repeats, self._free = rule, share, folds, repeats, free
        self.by, self.components, self.call = by, components, call
        super().__init__(self._made(), {"choice": table})

    def _noise_for(self, spectrum: np.ndarray) -> np.ndarray:
        """Return the thresholds that chose the number of components; see that of the components."""
        if self.components is None:
            raise OptionError(
                "parallel= is a choice whose number of components was given, so that no parallel analysis "
                "was run; give what choose_k() returns."
            )
        return self.components._noise_for(spectrum)

    @property
    def fit(self) -> SpcaResult:
        """The fit with the chosen cardinalities, as a call with them gives it."""
        return self._fit

    @property
    def k(self) -> int:
        """The number of components."""
        return len(self._fit.components)

    @property
    def card(self) -> Any:
        """The chosen cardinality: a number for all components, or a list with one for each."""
        return own(self._card) if isinstance(self._card, list) else self._card

    @property
    def table(self) -> pd.DataFrame:
        """One row a candidate: "card", "nonzeros", errors, criteria, shares of variance, "chosen".

        "error" is the mean squared error of prediction as a share of that of the column means, "se" its
        standard error over folds; "excess" and "excess_se" are those of the difference to the smallest
        error, paired by fold. "ebic" and "bic" are the better the smaller, "is" the better the larger.
        """
        return own(self._table)

    @property
    def reason(self) -> str:
        """Why these, in words."""
        return " ".join(self._reasons())

    def plot(self, *, ax: Axes | None = None) -> Axes:
        """Draw the criterion against the cardinality; see :func:`spcastat.plots.plot_choice`."""
        return plots.plot_choice(self.table, by=self.by, dense=self._dense, ax=ax)

    def plot_data(self) -> pd.DataFrame:
        """Return what `plot` draws."""
        return plots.plot_choice_data(self.table, by=self.by)

    def report(
        self,
        path: str | PathLike[str],
        *,
        title: str | None = None,
        call: str | None = None,
        full_names: bool = True,
    ) -> None:
        """Write the report of the fit, with the choice and its plot before everything else.

        The parameters are those of ``fit.report``.
        """
        what = "The criterion of every cardinality"
        unsaid = (
            f"Every cardinality by {NAMES[self.by]}"
            f"{', with one standard error' if self.by == 'cv' else ''}. It does not say how sure the "
            "variables of the choice are, nor that those left out have nothing to do with the component."
        )
        parts = [chapter_of("How sparse", self.document, self.plot, what, unsaid)]
        if self.components is not None:
            number = self.components
            what = "Eigenvalues of the data and of noise"
            unsaid = (
                "Eigenvalues beside those of noise. A component below the line may be real and weak, and one "
                "above it need not mean anything."
            )
            parts.insert(0, chapter_of("How many components", number.document, number.plot, what, unsaid))
        self._fit._report(path, title, call, full_names, tuple(parts))

    # --- in words ---------------------------------------------------------------------------------

    @property
    def _chosen(self) -> pd.Series:
        return self._table[self._table["chosen"]].iloc[0]

    def _reasons(self) -> Iterator[str]:
        line, best = self._chosen, self._table.iloc[self._best]
        name = _card_text(line["card"])
        record = self._fit._state.record
        if self.by == "cv":
            yield from self._by_error(name, best, record.p)
            if record.n is not None and record.n < FEW_ROWS and self._rule == "1se":
                rows = plural(record.n, "row")
                yield (
                    f"With {rows} the rule of one standard error tends to select too few; rule='paired' "
                    "compares by fold and takes more."
                )
        elif self.by == "variance":
            kept = percent(line["relative_adjusted"], 1)
            if line["relative_adjusted"] >= self._share:
                goal = f"that keep {percent(self._share, 0)} % of dense PCA's variance ({kept} %)"
                yield f"Cardinality {name}: the fewest loadings {goal}."
            else:
                goal = percent(self._share, 0)
                yield f"Cardinality {name}: no candidate keeps {goal} %; it keeps {kept} %."
        elif self._best != int(np.argmax(self._table["chosen"])):
            yield (
                f"Cardinality {name}: the sparsest whose {NAMES[self.by]} exceeds the smallest (at "
                f"{_card_text(best['card'])}) by less than 2, which is worth no more than a mention."
            )
        else:
            extreme = "largest" if self.by == "is" else "smallest"
            yield f"Cardinality {name} has the {extreme} {NAMES[self.by]}."
        if not self._free and len(self._table) > 1:
            counts = self._table["nonzeros"]
            if line["nonzeros"] == counts.max() and counts.max() < self.k * record.p:
                yield "It is the largest that was tried: cards= takes larger ones."
        if self._among is not None:
            yield (
                f"Chosen among {self._among:,} of {record.p:,} variables: those of the largest fit, then "
                "those that vary most with its components, or at all; the others were not considered, and "
                "what the table says is of these."
            )

    def _by_error(self, name: str, best: pd.Series, p: int) -> Iterator[str]:
        line = self._chosen
        smallest = f"{fixed(best['error'], 3)}, at {_card_text(best['card'])}"
        if line["card"] == best["card"]:
            sparser = self._rule != "min" and (self._table["nonzeros"] < line["nonzeros"]).any()
            extra = ", and no sparser fit lies within one standard error of it" if sparser else ""
            yield f"Cardinality {name} predicts best ({fixed(best['error'], 3)}){extra}."
        elif self._free:
            yield (
                f"Cardinalities {name}: changed one at a time, each to the sparsest within one standard "
                f"error of the best; the error is {fixed(line['error'], 3)}, the smallest {smallest}."
            )
        elif self._rule == "paired":
            yield (
                f"Cardinality {name}: the sparsest whose error exceeds the smallest ({smallest}) by less "
                f"than one standard error of the difference ({fixed(line['excess'], 3)} by "
                f"{fixed(line['excess_se'], 3)}, paired by fold)."
            )
        else:
            yield (
                f"Cardinality {name}: the sparsest within one standard error ({fixed(best['se'], 3)}) of the "
                f"smallest error ({smallest})."
            )
        if best["error"] >= 1.0:
            yield "No candidate predicts better than the column means: do not make much of these components."
        elif best["nonzeros"] > NOT_SPARSE * p * self.k:
            count = best["nonzeros"] / self.k
            yield (
                f"Predicting best would need {fixed(count, 0)} of {p} variables in each component: these "
                "data are not exactly sparse."
            )
        others = [by for by in ("ebic",) if by in self._table]
        for by in others:
            other = self._table["card"].iloc[int(self._table[by].argmin())]
            if other != line["card"]:
                yield f"{NAMES[by]} would take {_card_text(other)}."

    # --- the table --------------------------------------------------------------------------------

    def _made(self) -> Document:
        table, several = self._table, self.k > 1
        columns: list[tuple[str, list[str]]] = []
        if "error" in table:
            columns += [
                (name, [fixed(value, 3) for value in table[key]])
                for name, key in (("error", "error"), ("se", "se"))
            ]
        if "ebic" in table:
            columns.append(("EBIC", [fixed(value, 1) for value in table["ebic"] - table["ebic"].min()]))
        if self.by == "bic":
            columns.append(("BIC", [fixed(value, 4) for value in table["bic"]]))
        columns.append(("IS", [fixed(value, 3) for value in table["is"]]))
        columns.append(("PEV", [percent(value, 1) for value in table["pev"]]))
        if self.by == "variance":
            columns.append(("of PCA's", [percent(value, 1) for value in table["relative_adjusted"]]))
        marks = ["<- chosen" if mark else "" for mark in table["chosen"]]
        columns.append(("", marks))
        rows = tuple(
            Row(_card_text(card), tuple(cells[i] for _, cells in columns))
            for i, card in enumerate(table["card"])
        )
        grid = Table("card", tuple(name for name, _ in columns), rows, "r" * (len(columns) - 1) + "l")
        record = self._fit._state.record
        words = plural(self.k, "component")
        facts = [("Data", describe_data(record)), ("Rule", self._rule_text())]
        if self.components is not None:
            facts.append(("k", f"{self.k}, by parallel analysis ({self.components.n_resample} sign flips)"))
        facts.append(("Fit", self.call))
        title = (
            f"{'Cardinalities' if several and self._free else 'Cardinality'} of {words} by {NAMES[self.by]}"
        )
        return Document(title, tuple(facts), (grid,), (*self._reasons(), self._key()))

    def _rule_text(self) -> str:
        if self.by == "variance":
            return f"the fewest loadings that keep {percent(self._share, 0)} % of dense PCA's variance"
        rule = {
            "1se": "1 standard error" if self.by == "cv" else "sparsest within 2",
            "paired": "1 standard error of the difference, paired by fold",
            "min": "best value",
        }
        text = rule[self._rule] if self.by in ("cv", "ebic") else "best value"
        if self.by == "cv":
            repeats = f", {self._repeats} repeats" if self._repeats > 1 else ""
            text = f"{text}; {self._folds} folds{repeats}, cells predicted from the others of their row"
        return text

    def _key(self) -> str:
        parts = []
        if "error" in self._table:
            parts.append(
                "error: of predicting held-out cells, over that of the column means"
                + ("" if self._dense is None else f" (dense PCA {fixed(self._dense, 3)})")
                + "; se: its standard error over folds."
            )
        if "ebic" in self._table:
            parts.append("EBIC: less the smallest.")
        parts.append("IS: index of sparseness. PEV: % of the total variance.")
        return " ".join(parts)


def _card_text(card: Any) -> str:
    return ", ".join(map(str, card)) if isinstance(card, (tuple, list)) else str(card)
