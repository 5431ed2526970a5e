"""The printout of a choice of cardinalities: its table, reasons and warnings."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import pandas as pd

from spcastat.config import plural
from spcastat.report.summary import describe_data, unequal_variances
from spcastat.results.component_choice import ComponentChoice
from spcastat.search.default import HELD
from spcastat.select.candidates import CRITERIA
from spcastat.select.unequal import Selected
from spcastat.state import FitState
from spcastat.state.record import Record
from spcastat.tables import Document, Row, Table
from spcastat.tables.cells import fixed, percent

#: The advice for variables with very different variances.
SCALED = "choose(data, scale=True)"
#: rule -> description of the fit that it chooses.
RULES = {
    "worth": "the sparsest fit to which no further loadings are worth adding",
    "1se": "the sparsest fit within one standard error of the smallest",
    "paired": "the sparsest fit within one standard error of the difference, paired by fold",
    "min": "the best value",
}


@dataclass(frozen=True, kw_only=True)
class Chosen:
    """How cardinalities were chosen.

    Attributes
    ----------
    card : int or list of int
    by, rule : str
    share : float
    folds, repeats : int
    selected : Selected
    dense : float or None
        The error of dense PCA.
    among : int or None
        The number of variables considered, if not all.
    call : str
        The call that reproduces the fit.
    """

    card: Any
    by: str
    rule: str
    share: float
    folds: int
    repeats: int
    selected: Selected
    dense: float | None
    among: int | None
    call: str

    @property
    def worth(self) -> bool:
        """Whether the rule "worth" was applied, which only these two criteria use."""
        return self.rule == "worth" and self.by in ("cv", "ebic")


def name_of(by: str) -> str:
    """Return the name of a criterion."""
    return "BIC (Allen and Maletic-Savatic)" if by == "bic" else CRITERIA[by]


def document_of(table: pd.DataFrame, state: FitState, chosen: Chosen) -> Document:
    """Return the full document for a report: all candidates, criteria and reasons."""
    columns = _columns(table, chosen, False)
    notes = (*reasons_of(table, state, chosen), _key(chosen, columns))
    return Document(
        title_of(state, chosen),
        tuple(facts_of(state, chosen)),
        (_grid(table, chosen, columns, table.index),),
        notes,
    )


def screen_of(
    table: pd.DataFrame, state: FitState, chosen: Chosen, components: ComponentChoice | None
) -> Document:
    """Return the printout: the choice, the fits to compare it with, and warnings.

    The tests for the number of components are included if that was chosen as well.
    """
    at, selected = table.index, chosen.selected
    compared = {selected.place, selected.equal, selected.best}
    compared |= {i for i in at if table["card"][i] in selected.readings.values()}
    shown = at[sorted(compared)]
    columns = _columns(table, chosen, True)
    notes = [verdict_of(table, chosen), *about_components(chosen, state.record)]
    if is_dense(table, state, chosen):
        notes.append(_about_density(table, chosen, state.record))
    notes += cautions_of(table, state, chosen)
    ends = [f"All {len(table)} candidates: choice.table."] if len(shown) < len(table) else []
    facts, tables = [], []
    if components is not None:
        notes += components._cautions
        facts.append(("k", components._brief))
        tables.append(components._screen)
        ends.append("The tests of k: choice.components.")
    notes.append(" ".join([_key(chosen, columns), *ends]))
    tables.append(_grid(table, chosen, columns, shown))
    return Document(
        title_of(state, chosen), tuple(facts_of(state, chosen, *facts)), tuple(tables), tuple(notes)
    )


def title_of(state: FitState, chosen: Chosen) -> str:
    """Return the title of a choice."""
    return f"{_kind(chosen.card)} of {plural(state.record.k, 'component')} by {name_of(chosen.by)}"


def facts_of(state: FitState, chosen: Chosen, *between: tuple[str, str]) -> Iterator[tuple[str, str]]:
    """Yield the lines of the header of a choice; `between` is inserted between data and rule."""
    for note in unequal_variances(state.record, state.moments.variances, SCALED):
        yield "Scale", note
    yield "Data", describe_data(state.record)
    yield from between
    yield "Rule", _rule_text(chosen)
    yield "Fit", chosen.call


# --- reasons --------------------------------------------------------------------------------------


def reasons_of(table: pd.DataFrame, state: FitState, chosen: Chosen) -> Iterator[str]:
    """Yield the reasons for the choice and further remarks."""
    by, record = chosen.by, state.record
    line = table[table["chosen"]].iloc[0]
    yield verdict_of(table, chosen)
    if chosen.worth and line["card"] != table["card"].iloc[chosen.selected.best]:
        yield _unworthy(chosen)
    yield from about_components(chosen, state.record)
    if is_dense(table, state, chosen):
        yield _about_density(table, chosen, record)
    yield from cautions_of(table, state, chosen)
    if by == "cv" and "ebic" in table:
        other = table["card"].iloc[int(table["ebic"].argmin())]
        each = " in each" if record.k > 1 and not isinstance(other, (tuple, list)) else ""
        if other != line["card"]:
            yield f"EBIC would take {card_text(other)}{each}."


def verdict_of(table: pd.DataFrame, chosen: Chosen) -> str:
    """Return a sentence that compares the choice with the best value."""
    by, rule = chosen.by, chosen.rule
    line, best = table[table["chosen"]].iloc[0], table.iloc[chosen.selected.best]
    name = _named(line["card"])
    if by == "variance":
        return _by_variance(line, name, chosen.share)
    if line["card"] != best["card"]:
        return f"{name}: {_compared(line, best, chosen)}."
    extreme = "largest" if by == "is" else "smallest"
    one = not isinstance(line["card"], (tuple, list))
    lead = f"{name} {'has' if one else 'have'} the {extreme} {name_of(by)}"
    if by == "cv":
        lead = f"{name} {'predicts' if one else 'predict'} best ({fixed(best['error'], 3)})"
    sparser = by in ("cv", "ebic") and rule != "min" and (table["nonzeros"] < line["nonzeros"]).any()
    return f"{lead}{', and no sparser fit is as good by this rule' if sparser else ''}."


def cautions_of(table: pd.DataFrame, state: FitState, chosen: Chosen) -> Iterator[str]:
    """Yield warnings about the choice: no prediction, few rows, the end of the grid, screened variables."""
    record, counts = state.record, table["nonzeros"]
    line, best = table[table["chosen"]].iloc[0], table.iloc[chosen.selected.best]
    if chosen.by == "cv" and best["error"] >= 1.0:
        yield "No candidate predicts better than the column means: interpret these components with caution."
    # With fewer rows the rule of one standard error selects too few
    if record.n is not None and record.n < 60 and (chosen.by, chosen.rule) == ("cv", "1se"):
        yield (
            f"With {plural(record.n, 'row')} the rule of one standard error tends to select too few; "
            "rule='worth' and rule='paired' compare by fold and take more."
        )
    largest = line["nonzeros"] == counts.max() < record.k * record.p
    if largest and len(table) > 1 and not isinstance(chosen.card, list):
        yield "It is the largest that was tried: cards= takes larger ones."
    if chosen.among is not None:
        yield (
            f"Chosen among {chosen.among:,} of {record.p:,} variables: those of the largest fit, then those "
            "that vary most with its components, or at all; the others were not considered, and the table "
            "is about these."
        )


def method_sentences(table: pd.DataFrame, chosen: Chosen) -> Iterator[str]:
    """Yield sentences for a methods section on how cardinalities were chosen."""
    line, by = table[table["chosen"]].iloc[0], chosen.by
    cells = ", cells predicted from the others of their row" if by == "cv" else ""
    yield f"The numbers of nonzero loadings were chosen by {name_of(by)}: {_rule_text(chosen)}{cells}."
    if chosen.worth:
        yield f"The fit keeps {percent(line['kept'], 0)} % of the best prediction."
        yield _unworthy(chosen)
    if isinstance(chosen.card, list):
        yield "Each component has a number of its own: one at a time was changed, until none changed."


def _unworthy(chosen: Chosen) -> str:
    """Return a sentence on the loadings that are not worth adding."""
    least = (
        "lower EBIC by less than 2"
        if chosen.by == "ebic"
        else "improve prediction by less than a standard error"
    )
    share = percent(chosen.selected.price, 0)
    return f"Further loadings {least}, or each by less than {share} % of what a loading of this fit brings."


def _by_variance(line: pd.Series, name: str, share: float) -> str:
    kept = percent(line["relative_adjusted"], 1)
    if line["relative_adjusted"] >= share:
        goal = f"that keep {percent(share, 0)} % of dense PCA's variance, all components together ({kept} %)"
        return f"{name}: the fewest loadings {goal}."
    return f"{name}: no candidate keeps {percent(share, 0)} %; it keeps {kept} %."


def _compared(line: pd.Series, best: pd.Series, chosen: Chosen) -> str:
    """Return a comparison of the choice with the best value of another candidate."""
    rule, at = chosen.rule, card_text(best["card"])
    if rule == "worth":
        return (
            f"this fit of {line['nonzeros']} loadings keeps {percent(line['kept'], 0)} % of the best "
            f"prediction, which takes {best['nonzeros']} (card={at})"
        )
    if chosen.by == "ebic":
        return f"the sparsest whose EBIC exceeds the smallest (at {at}) by less than 2"
    smallest = f"the smallest error ({fixed(best['error'], 3)}, at {at})"
    if rule == "paired":
        return (
            f"the sparsest whose error exceeds {smallest} by less than one standard error of the difference "
            f"({fixed(line['excess'], 3)} by {fixed(line['excess_se'], 3)}, paired by fold)"
        )
    if isinstance(chosen.card, list):
        return (
            "changed one at a time, each to the sparsest within one standard error of the best; the error "
            f"is {fixed(line['error'], 3)}, {smallest}"
        )
    return f"the sparsest within one standard error ({fixed(best['se'], 3)}) of {smallest}"


def about_components(chosen: Chosen, record: Record) -> Iterator[str]:
    """Yield sentences on the search for a cardinality of each component."""
    tried, equal = chosen.selected.tried, card_text(chosen.selected.keys[chosen.selected.equal])
    if tried and isinstance(chosen.card, list):
        yield f"From {equal} in each, one component at a time was changed; {tried} sets were tried."
    elif tried:
        yield f"No other cardinality for a single component is clearly better; {tried} sets were tried."
    elif chosen.worth and record.k > 1 and record.p > HELD:
        yield f"With more than {HELD} variables only each='free' tries unequal cardinalities."


def _about_density(table: pd.DataFrame, chosen: Chosen, record: Record) -> str:
    """Return the remark that prediction is best with most of the loadings."""
    line, best = table[table["chosen"]].iloc[0], table.iloc[chosen.selected.best]
    words = (
        f"The best value needs {fixed(best['nonzeros'] / record.k, 0)} of {record.p} variables in each "
        "component: these data are not exactly sparse, and each card= of the table is a reading of them."
    )
    dense = line["nonzeros"] == record.p * record.k
    return f"This fit is not sparse: it is PCA. {words}" if dense else words


def is_dense(table: pd.DataFrame, state: FitState, chosen: Chosen) -> bool:
    """Return whether the best fit by cross-validation or EBIC has most of the loadings, and predicts."""
    best = table.iloc[chosen.selected.best]
    everything = state.record.p * state.record.k
    if chosen.by not in ("cv", "ebic") or (chosen.by == "cv" and best["error"] >= 1.0):
        return False
    # Data whose best prediction needs more than this share of the loadings are not sparse
    return bool(best["nonzeros"] > 0.6 * everything)


# --- tables ---------------------------------------------------------------------------------------


def _grid(table: pd.DataFrame, chosen: Chosen, columns: tuple[str, ...], shown: pd.Index) -> Table:
    """Return the table of the candidates `shown`, with marks for the choice and the best values."""
    cells = {
        "error": lambda line: fixed(line["error"], 3),
        "se": lambda line: fixed(line["se"], 3),
        "kept": lambda line: percent(line["kept"], 0),
        "EBIC": lambda line: fixed(line["ebic"] - table["ebic"].min(), 1),
        "BIC": lambda line: fixed(line["bic"], 4),
        "IS": lambda line: fixed(line["is"], 3),
        "PEV": lambda line: percent(line["pev"], 1),
        "of PCA's": lambda line: percent(line["relative_adjusted"], 1),
    }
    rows = [
        Row(card_text(line["card"]), (*(cells[name](line) for name in columns), _mark(line, chosen)))
        for _, line in table.loc[shown].iterrows()
    ]
    return Table("card", (*columns, "best by"), tuple(rows), "r" * len(columns) + "l")


def _mark(line: pd.Series, chosen: Chosen) -> str:
    """Return the mark of a candidate: the criteria by which it is best, and whether it is chosen."""
    best_by = {**CRITERIA, "cv": "prediction", "is": "IS", "variance": f"{percent(chosen.share, 0)} % of PCA"}
    if line["relative_adjusted"] < chosen.share * (1.0 - 1e-12):  # no candidate reaches the share
        best_by.pop("variance")
    readings = chosen.selected.readings.items()
    marks = [best_by[by] for by, card in readings if card == line["card"] and by in best_by]
    return ", ".join([*["<- chosen"][: line["chosen"]], *marks])


def _columns(table: pd.DataFrame, chosen: Chosen, brief: bool) -> tuple[str, ...]:
    """Return the headings of the columns; if `brief`, only those for the criterion of the choice."""
    by = chosen.by
    known = {
        "error": "error" in table,
        "se": "error" in table,
        "kept": "error" in table or by == "ebic",
        "EBIC": "ebic" in table and not (brief and by != "ebic"),
        "BIC": by == "bic",
        "IS": not (brief and by != "is"),
        "PEV": True,
        "of PCA's": by == "variance",
    }
    return tuple(name for name, there in known.items() if there)


def _rule_text(chosen: Chosen) -> str:
    if chosen.by == "variance":
        return (
            f"the fewest loadings that keep {percent(chosen.share, 0)} % of dense PCA's variance, all "
            "components together"
        )
    text = RULES[chosen.rule] if chosen.by in ("cv", "ebic") else RULES["min"]
    if (chosen.by, chosen.rule) == ("ebic", "1se"):
        text = "the sparsest fit within 2 of the smallest"
    if chosen.by == "cv":
        repeats = f", {chosen.repeats} repeats" if chosen.repeats > 1 else ""
        text = f"{text}; {chosen.folds} folds{repeats}"
    return text


def _key(chosen: Chosen, columns: tuple[str, ...]) -> str:
    """Return the explanation of the headings."""
    dense = "" if chosen.dense is None else f", dense PCA {fixed(chosen.dense, 3)}"
    said = {
        "error": (
            f"error: of held-out cells by the others of their row (column means 1{dense}); se: over folds"
        ),
        "kept": f"kept: 1 - error{'' if 'error' in columns else ' in these data'}, in % of the largest",
        "EBIC": "EBIC: less the smallest",
        "PEV": "PEV: % of the total variance",
    }
    return "; ".join([*(said[name] for name in columns if name in said), "IS: index of sparseness."])


def _named(card: Any) -> str:
    return f"{_kind(card)} {card_text(card)}"


def _kind(card: Any) -> str:
    return "Cardinalities" if isinstance(card, (tuple, list)) else "Cardinality"


def card_text(card: Any) -> str:
    return ", ".join(map(str, card)) if isinstance(card, (tuple, list)) else str(card)
