"""A choice of cardinalities as it is printed: its table, its reasons, and other readings of the data."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import pandas as pd

from spcastat.config import plural
from spcastat.report.summary import describe_data, unequal_variances
from spcastat.results.component_choice import ComponentChoice
from spcastat.select.candidates import CRITERIA
from spcastat.select.unequal import Selected
from spcastat.state import FitState
from spcastat.tables import Document, Row, Table
from spcastat.tables.cells import fixed, percent

#: Data whose best prediction needs more than this share of the loadings are not sparse.
NOT_SPARSE = 0.6
#: What is said to whoever left very different variances as they are.
SCALED = "choose(data, scale=True)"
#: With fewer rows the rule of one standard error selects too few.
FEW_ROWS = 60
#: What each rule takes.
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
        The variables that were considered, where these are not all.
    call : str
        The call that makes the fit.
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


def name_of(by: str) -> str:
    """Return what a criterion is called."""
    return "BIC (Allen and Maletic-Savatic)" if by == "bic" else CRITERIA[by]


def document_of(
    table: pd.DataFrame, state: FitState, chosen: Chosen, components: ComponentChoice | None
) -> Document:
    """Return what is printed; with the choice of the number of components where that was made as well."""
    k = state.record.k
    facts = [("Scale", note) for note in unequal_variances(state.record, state.moments.variances, SCALED)]
    facts.append(("Data", describe_data(state.record)))
    if components is not None:
        facts.append(("k", components.reason))
    facts += [("Rule", _rule_text(chosen)), ("Fit", chosen.call)]
    tables = [] if components is None else list(components.document.tables)
    tables.append(_grid(table, chosen))
    notes = [*reasons_of(table, state, chosen), _key(table, chosen)]
    if _is_dense(table, state, chosen):
        tables.append(_readings(table, chosen))
    if components is not None:
        notes.append(components.key)
    title = f"{_kind(chosen.card)} of {plural(k, 'component')} by {name_of(chosen.by)}"
    return Document(title, tuple(facts), tuple(tables), tuple(notes))


# --- reasons --------------------------------------------------------------------------------------


def reasons_of(table: pd.DataFrame, state: FitState, chosen: Chosen) -> Iterator[str]:
    """Say why these cardinalities were chosen, and what else there is to know."""
    by, rule, record = chosen.by, chosen.rule, state.record
    line, best = table[table["chosen"]].iloc[0], table.iloc[chosen.selected.best]
    name = _named(line["card"])
    if by == "variance":
        yield _by_variance(line, name, chosen.share)
    elif line["card"] == best["card"]:
        extreme = "largest" if by == "is" else "smallest"
        one = not isinstance(line["card"], (tuple, list))
        lead = f"{name} {'has' if one else 'have'} the {extreme} {name_of(by)}"
        if by == "cv":
            lead = f"{name} {'predicts' if one else 'predict'} best ({fixed(best['error'], 3)})"
        sparser = by in ("cv", "ebic") and rule != "min" and (table["nonzeros"] < line["nonzeros"]).any()
        yield f"{lead}{', and no sparser fit is as good by this rule' if sparser else ''}."
    else:
        yield f"{name}: {_compared(line, best, chosen)}."
    yield from _about_components(chosen, record.p)
    if by == "cv" and best["error"] >= 1.0:
        yield "No candidate predicts better than the column means: do not make much of these components."
    elif _is_dense(table, state, chosen):
        yield _about_density(line, best, record.p, record.k)
    if record.n is not None and record.n < FEW_ROWS and (by, rule) == ("cv", "1se"):
        yield (
            f"With {plural(record.n, 'row')} the rule of one standard error tends to select too few; "
            "rule='worth' and rule='paired' compare by fold and take more."
        )
    if not isinstance(chosen.card, list) and len(table) > 1:
        counts = table["nonzeros"]
        if line["nonzeros"] == counts.max() and counts.max() < record.k * record.p:
            yield "It is the largest that was tried: cards= takes larger ones."
    if by == "cv" and "ebic" in table:
        other = table["card"].iloc[int(table["ebic"].argmin())]
        each = " in each" if record.k > 1 and not isinstance(other, (tuple, list)) else ""
        if other != line["card"]:
            yield f"EBIC would take {_card_text(other)}{each}."
    if chosen.among is not None:
        yield (
            f"Chosen among {chosen.among:,} of {record.p:,} variables: those of the largest fit, then those "
            "that vary most with its components, or at all; the others were not considered, and the table "
            "is about these."
        )


def method_sentences(table: pd.DataFrame, chosen: Chosen) -> Iterator[str]:
    """Say how cardinalities were chosen, for a methods section."""
    line, by = table[table["chosen"]].iloc[0], chosen.by
    yield f"The numbers of nonzero loadings were chosen by {name_of(by)}: {_rule_text(chosen)}."
    if chosen.rule == "worth" and by in ("cv", "ebic"):
        yield f"The fit keeps {percent(line['kept'], 0)} % of the best prediction; {_unworthy(chosen)}."
    if isinstance(chosen.card, list):
        yield "Each component has a number of its own: one at a time was changed, until none changed."


def _unworthy(chosen: Chosen) -> str:
    """Say what loadings bring that are not worth adding."""
    least = (
        "lower EBIC by less than 2"
        if chosen.by == "ebic"
        else "improve prediction by less than a standard error"
    )
    share = percent(chosen.selected.price, 0)
    return f"further loadings {least}, or each by less than {share} % of what a loading of this fit brings"


def _by_variance(line: pd.Series, name: str, share: float) -> str:
    kept = percent(line["relative_adjusted"], 1)
    if line["relative_adjusted"] >= share:
        goal = f"that keep {percent(share, 0)} % of dense PCA's variance, all components together ({kept} %)"
        return f"{name}: the fewest loadings {goal}."
    return f"{name}: no candidate keeps {percent(share, 0)} %; it keeps {kept} %."


def _compared(line: pd.Series, best: pd.Series, chosen: Chosen) -> str:
    """Say how a choice compares with the best value, which another candidate has."""
    rule, at = chosen.rule, _card_text(best["card"])
    if rule == "worth":
        return (
            f"this fit keeps {percent(line['kept'], 0)} % of the best prediction, which takes "
            f"{best['nonzeros']} loadings (card {at}, rule='min'); {_unworthy(chosen)}"
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


def _about_components(chosen: Chosen, p: int) -> Iterator[str]:
    """Say whether one cardinality for each component was looked for."""
    tried, equal = chosen.selected.tried, _card_text(chosen.selected.keys[chosen.selected.equal])
    if tried and isinstance(chosen.card, list):
        yield (
            f"Each component has its own, found by changing one at a time from {equal} in each; "
            f"{tried} sets were tried."
        )
    elif tried:
        yield f"No other cardinality for a single component is clearly better; {tried} sets were tried."


def _about_density(line: pd.Series, best: pd.Series, p: int, k: int) -> str:
    count = best["nonzeros"] / k
    words = (
        f"The best value needs {fixed(count, 0)} of {p} variables in each component: these data are not "
        "exactly sparse, and how sparse is a question of reading. Other readings are below the table: the "
        "same call with another card."
    )
    return f"This fit is not sparse: it is PCA. {words}" if line["nonzeros"] == p * k else words


def _is_dense(table: pd.DataFrame, state: FitState, chosen: Chosen) -> bool:
    """Return whether cross-validation or EBIC wants most of the loadings."""
    best = table.iloc[chosen.selected.best]
    everything = state.record.p * state.record.k
    return chosen.by in ("cv", "ebic") and bool(best["nonzeros"] > NOT_SPARSE * everything)


# --- tables ---------------------------------------------------------------------------------------


def _grid(table: pd.DataFrame, chosen: Chosen) -> Table:
    columns: list[tuple[str, list[str]]] = []
    if "error" in table:
        columns += [(name, [fixed(value, 3) for value in table[name]]) for name in ("error", "se")]
    if "error" in table or chosen.by == "ebic":
        columns.append(("kept", [percent(value, 0) for value in table["kept"]]))
    if "ebic" in table:
        columns.append(("EBIC", [fixed(value, 1) for value in table["ebic"] - table["ebic"].min()]))
    if chosen.by == "bic":
        columns.append(("BIC", [fixed(value, 4) for value in table["bic"]]))
    columns.append(("IS", [fixed(value, 3) for value in table["is"]]))
    columns.append(("PEV", [percent(value, 1) for value in table["pev"]]))
    if chosen.by == "variance":
        columns.append(("of PCA's", [percent(value, 1) for value in table["relative_adjusted"]]))
    columns.append(("", ["<- chosen" if mark else "" for mark in table["chosen"]]))
    rows = tuple(
        Row(_card_text(card), tuple(cells[i] for _, cells in columns)) for i, card in enumerate(table["card"])
    )
    return Table("card", tuple(name for name, _ in columns), rows, "r" * (len(columns) - 1) + "l")


def _readings(table: pd.DataFrame, chosen: Chosen) -> Table:
    """Return the best cardinality by each criterion, with its error and PEV; not that of the choice."""
    names = {
        **CRITERIA,
        "cv": "best prediction",
        "variance": f"{percent(chosen.share, 0)} % of PCA's variance in all",
    }
    by_card: dict[Any, list[str]] = {}
    for by, card in chosen.selected.readings.items():
        if card != chosen.card:
            by_card.setdefault(card, []).append(by)
    shown = [("error", 3)] if "error" in table else []
    rows = []
    for card, several in by_card.items():
        line = table[[one == card for one in table["card"]]].iloc[0]
        error = [fixed(line[name], digits) for name, digits in shown]
        rows.append(
            Row(
                f"card={_card_text(card)}",
                (*error, percent(line["pev"], 1), ", ".join(names[by] for by in several)),
            )
        )
    headings = (*(name for name, _ in shown), "PEV", "best by")
    return Table("other readings", headings, tuple(rows), "r" * (len(headings) - 1) + "l")


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
        text = f"{text}; {chosen.folds} folds{repeats}, cells predicted from the others of their row"
    return text


def _key(table: pd.DataFrame, chosen: Chosen) -> str:
    parts = []
    if "error" in table:
        dense = "" if chosen.dense is None else f" (dense PCA {fixed(chosen.dense, 3)})"
        parts.append(
            f"error: of predicting held-out cells, over that of the column means{dense}; se: its standard "
            "error over folds; kept: 1 - error, in % of the largest."
        )
    elif chosen.by == "ebic":
        parts.append("kept: what is predicted in these data, in % of the most.")
    if "ebic" in table:
        parts.append("EBIC: less the smallest.")
    parts.append("IS: index of sparseness. PEV: % of the total variance.")
    return " ".join(parts)


def _named(card: Any) -> str:
    return f"{_kind(card)} {_card_text(card)}"


def _kind(card: Any) -> str:
    return "Cardinalities" if isinstance(card, (tuple, list)) else "Cardinality"


def _card_text(card: Any) -> str:
    return ", ".join(map(str, card)) if isinstance(card, (tuple, list)) else str(card)
