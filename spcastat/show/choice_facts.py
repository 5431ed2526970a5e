"""Facts about choices of the numbers of components and of cardinalities; the templates have their words."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd

from spcastat.assess.candidates import CRITERIA
from spcastat.assess.component_tests import LEAST_CORRELATION, LEAST_OF_WHOLE, ComponentTests, Standing
from spcastat.assess.unequal_cardinalities import Selected
from spcastat.fit.state import FitState, rule_of
from spcastat.labels import full_names
from spcastat.search.default import GRAM_LIMIT
from spcastat.show import facts
from spcastat.show.grid import alike, percent
from spcastat.show.templates import Fact, fact

# --- the tests of the number of components --------------------------------------------------------


def level(tests: ComponentTests) -> str:
    """Return the level of the deflated and the sparse test in percent."""
    share = tests.found.draws.level
    return percent(share, 1 - (share >= 0.01))


def by_test(tests: ComponentTests, rules: bool) -> Fact:
    """Return the number of components by each test, and with `rules` by the rules of thumb."""
    standing = tests.found
    return fact(
        "by test",
        parallel=standing.parallel,
        deflated=standing.deflated,
        sequential=standing.sequential,
        rules=rules and tests.has_rules,
        kaiser=tests.kaiser,
        stick=tests.broken_stick,
    )


def number_of_components(tests: ComponentTests) -> Fact:
    """Return the chosen number, the number by each test and rule, and how they were tested."""
    draws = tests.found.draws
    return fact(
        "number of components",
        k=tests.found.k,
        tests=by_test(tests, True),
        draws=draws.n_draws,
        alpha=draws.alpha,
        level=level(tests),
    )


def number_methods(tests: ComponentTests) -> Iterator[Fact]:
    """Yield the facts for a methods section on how the number of components was chosen."""
    yield number_of_components(tests)
    yield counts(tests)
    yield from large_rows(tests)
    yield from untested(tests)


def number_reasons(tests: ComponentTests) -> Iterator[Fact]:
    """Yield the reasons for the number of components, and further remarks."""
    frame, standing, m = tests.table, tests.found, len(tests.table)
    parallel, deflated, sequential = standing.parallel, standing.deflated, standing.sequential
    yield counts(tests)
    if standing.minor:
        yield minor(standing)
    if m not in (parallel, sequential) and m > parallel:
        row = frame.iloc[parallel]
        value, bound = alike([row["observed"], row["noise"]])
        share = 1 - standing.draws.alpha
        yield fact("first below noise", place=parallel + 1, value=value, bound=bound, share=share)
    if deflated < parallel:
        p = frame["deflated_p"].iloc[deflated]
        yield fact("deflated test", place=deflated + 1, p=p, level=level(tests))
    yield from number_cautions(tests)
    if min(parallel, deflated) < sequential:
        yield fact("weak components", card=standing.card)
    elif min(parallel, deflated, standing.major) > sequential:
        yield fact("spread components", card=standing.card)


def counts(tests: ComponentTests) -> Fact:
    """Return the number of components by each test, and the choice."""
    standing = tests.found
    reason = "minor" if standing.minor else "larger"
    if min(standing.parallel, standing.deflated) == standing.sequential:
        reason = "agree"
    return fact(
        "counts",
        parallel=standing.parallel,
        fewer=standing.deflated < standing.parallel,
        deflated=standing.deflated,
        sequential=standing.sequential,
        k=standing.k,
        why=fact(f"why {reason}"),
    )


def minor(found: Standing) -> Fact:
    """Return the fact about components that exceed noise and are not chosen."""
    return fact(
        "minor",
        minor=found.minor,
        first=found.k + 1,
        last=found.k + found.minor,
        dense=min(found.parallel, found.deflated),
        major=found.major,
        few=found.major < 2,
        correlation=LEAST_CORRELATION,
        card=found.card,
    )


def number_cautions(tests: ComponentTests) -> Iterator[Fact]:
    """Yield warnings: rows that change the number, the last component stands out, untested variables."""
    standing, m = tests.found, len(tests.table)
    yield from large_rows(tests)
    if m in (standing.parallel, standing.sequential):
        yield fact("last exceeds noise", number=m, possible=m < tests.most)
    yield from untested(tests)


def large_rows(tests: ComponentTests) -> Iterator[Fact]:
    """Yield the fact about rows that change the number."""
    rows = tests.large
    if rows is not None and rows.labels:
        yield fact(
            "large rows",
            rows=len(rows.labels),
            names=", ".join(rows.labels[:3]),
            others=max(len(rows.labels) - 3, 0),
            share=rows.share,
            pulled=rows.pulled,
            k_unshrunk=rows.k,
            k=tests.found.k,
        )


def untested(tests: ComponentTests) -> Iterator[Fact]:
    """Yield the fact about variables that were not tested."""
    if tests.tested is not None:
        yield fact("untested variables", p=tests.p, variables=tests.tested.variables, rows=tests.tested.rows)


def rows_tested(tests: ComponentTests) -> Iterator[Fact]:
    """Yield lines on rows that may not be independent, and on rows that were shrunk."""
    for remark in tests.remarks:
        yield fact("remark on rows", remark=remark)
    if tests.large is not None:
        yield fact("shrunk rows", pulled=tests.large.pulled)


def levels(tests: ComponentTests) -> Fact:
    """Return the level of each test."""
    draws = tests.found.draws
    return fact("levels", alpha=draws.alpha, level=level(tests), draws=draws.n_draws, most=draws.most)


def headings_of_tests(tests: ComponentTests) -> Fact:
    """Return the explanation of the headings of the tests."""
    return fact(
        "headings of tests",
        card=tests.found.card,
        correlation=LEAST_CORRELATION,
        whole=LEAST_OF_WHOLE,
        tested=tests.tested,
        rules=tests.has_rules,
        kaiser=tests.kaiser,
        stick=tests.broken_stick,
        large=tests.large,
    )


# --- the cardinalities ----------------------------------------------------------------------------


#: The advice for variables with very different variances.
SCALED = "choose(data, scale=True)"
#: criterion -> its name.
NAMES = {**CRITERIA, "bic": "BIC (Allen and Maletic-Savatic)"}


@dataclass(frozen=True, kw_only=True, eq=False)
class Chosen:
    """How cardinalities were chosen.

    Attributes
    ----------
    table : DataFrame
        The candidates, with a column "chosen".
    state : FitState
        The fit.
    card : int or list of int
    by, rule : str
    share : float
    folds, repeats : int
    selected : Selected
    dense : float or None
        The error of dense PCA.
    call : str
        The call that reproduces the fit.
    groups : int or None
        The number of groups of variables, if cardinalities count these.
    drawn : str
        What folds and tests draw, if not single rows of the data.
    remarks : sequence of str
        Remarks on rows that may not be independent.
    """

    table: pd.DataFrame
    state: FitState
    card: Any
    by: str
    rule: str
    share: float
    folds: int
    repeats: int
    selected: Selected
    dense: float | None
    call: str
    groups: int | None = None
    drawn: str = ""
    remarks: Sequence[str] = ()

    @property
    def unit(self) -> str:
        """The unit in which cardinalities are counted: "group" or "loading"."""
        return "group" if self.groups else "loading"

    @property
    def counted(self) -> str:
        """The column of the table with the sums of cardinalities."""
        return "groups" if self.groups else "nonzeros"

    @property
    def unequal(self) -> bool:
        """Whether the chosen cardinalities differ between components."""
        return isinstance(self.card, list)

    @property
    def line(self) -> pd.Series:
        """The candidate that was chosen."""
        return self.table[self.table["chosen"]].iloc[0]

    @property
    def best(self) -> pd.Series:
        """The candidate with the best value of the criterion."""
        return self.table.iloc[self.selected.best]

    @property
    def by_worth(self) -> bool:
        """Whether the rule "worth" was applied, which only these two criteria use."""
        return self.rule == "worth" and self.by in ("cv", "ebic")

    @property
    def is_group_count(self) -> bool:
        """Whether cardinalities count groups."""
        return bool(self.groups)


def card_text(card: Any) -> str:
    """Return a cardinality, or the cardinalities of the components, as text."""
    return ", ".join(map(str, card)) if isinstance(card, (tuple, list)) else str(card)


def header(chosen: Chosen, between: Sequence[Fact]) -> Iterator[Fact]:
    """Yield the lines of the header of the choice; `between` is inserted between data and rule."""
    record = chosen.state.record
    yield from facts.unequal_variances(record, chosen.state.moments.variances, SCALED)
    yield facts.dataset(record)
    if chosen.drawn:
        yield fact("drawn", text=chosen.drawn)
    for remark in chosen.remarks:
        yield fact("remark on rows", remark=remark)
    yield from between
    yield rule_of_choice(chosen)
    yield from largest_candidate(chosen)
    yield fact("fit of choice", call=chosen.call)


def choice_methods(chosen: Chosen) -> Iterator[Fact]:
    """Yield the facts for a methods section on how cardinalities were chosen."""
    yield rule_of_choice(chosen)
    if chosen.by_worth:
        yield fact("share of best", explained=share_of_best(chosen))
        yield not_worth_adding(chosen)
    if chosen.unequal:
        yield fact("unequal cardinalities")
    yield from largest_candidate(chosen)


def choice_reasons(chosen: Chosen) -> Iterator[Fact]:
    """Yield the reasons for the choice and further remarks."""
    yield verdict(chosen)
    yield from largest_candidate(chosen)
    yield from further_reasons(chosen)


def further_reasons(chosen: Chosen) -> Iterator[Fact]:
    """Yield the reasons and remarks that follow those on the choice itself."""
    frame, row = chosen.table, chosen.line
    if chosen.by_worth and row["card"] != chosen.best["card"]:
        yield not_worth_adding(chosen)
    yield from remarks(chosen)
    if chosen.by == "cv" and "ebic" in frame:
        by_ebic = frame["card"].iloc[int(frame["ebic"].argmin())]
        is_common = chosen.state.record.k > 1 and not isinstance(by_ebic, (tuple, list))
        if by_ebic != row["card"]:
            yield fact("EBIC instead", cards=card_text(by_ebic), each=is_common)


def remarks(chosen: Chosen) -> Iterator[Fact]:
    """Yield remarks on the search, the folds and the density, and warnings."""
    yield from search_of_choice(chosen)
    yield from divisions(chosen)
    yield from density(chosen)
    yield from cautions(chosen)


def rule_of_choice(chosen: Chosen) -> Fact:
    """Return the description of the fit that the rule chooses."""
    groups, is_cv = chosen.is_group_count, chosen.by == "cv"
    keys = {
        "worth": "sparsest worth",
        "1se": "within an error",
        "paired": "within a paired error",
        "min": "best value",
    }
    key = keys[chosen.rule if chosen.by in ("cv", "ebic") else "min"]
    if (chosen.by, chosen.rule) == ("ebic", "1se"):
        key = "within two"
    if chosen.by == "variance":
        key = "fewest that keep"
    return fact(
        "rule of choice",
        rule=fact(key, groups=groups, share=chosen.share),
        folds=chosen.folds if is_cv else None,
        several=chosen.repeats > 1,
        repeats=chosen.repeats,
        groups=groups,
        criterion=NAMES[chosen.by],
        cells=is_cv,
    )


def verdict(chosen: Chosen) -> Fact:
    """Return the fact that compares the choice with the best value."""
    row = chosen.line
    several = isinstance(row["card"], (tuple, list))
    return fact("verdict", several=several, cards=card_text(row["card"]), text=comparison(chosen, several))


def comparison(chosen: Chosen, several: bool) -> Fact:
    """Return the comparison of the choice with the best value; `several`: of several cardinalities."""
    row, best_row = chosen.line, chosen.best
    if chosen.by == "variance":
        is_kept = row["relative_adjusted"] >= chosen.share
        return fact(
            "keeps the share" if is_kept else "keeps too little",
            groups=chosen.is_group_count,
            share=chosen.share,
            kept=row["relative_adjusted"],
        )
    if row["card"] == best_row["card"]:
        return best_value(chosen, several)
    if chosen.rule == "worth":
        return fact(
            "compared by worth",
            count=row[chosen.counted],
            groups=chosen.is_group_count,
            explained=share_of_best(chosen),
            ebic=chosen.by == "ebic",
            best=card_text(best_row["card"]),
            best_count=best_row[chosen.counted],
        )
    if chosen.by == "ebic":
        return fact("sparsest by EBIC", best=card_text(best_row["card"]))
    return compared_by_error(chosen)


def best_value(chosen: Chosen, several: bool) -> Fact:
    """Return what a choice with the best value is."""
    by, row, best_row = chosen.by, chosen.line, chosen.best
    fewer = (chosen.table[chosen.counted] < row[chosen.counted]).any()
    values = {
        "several": several,
        "last": is_last(chosen, row),
        "sparser": by in ("cv", "ebic") and chosen.rule != "min" and fewer,
    }
    if by == "cv":
        return fact("predicts best", error=best_row["error"], se=best_row["se"], **values)
    return fact("has the best value", largest=by == "is", criterion=NAMES[by], **values)


def compared_by_error(chosen: Chosen) -> Fact:
    """Return the comparison of a choice by "1se" or "paired" with the smallest error."""
    row, best_row = chosen.line, chosen.best
    smallest = fact("smallest error", error=best_row["error"], best=card_text(best_row["card"]))
    if chosen.rule == "paired":
        excess, excess_se = row["excess"], row["excess_se"]
        return fact("compared by paired error", smallest=smallest, excess=excess, excess_se=excess_se)
    if chosen.unequal:
        return fact("compared one at a time", error=row["error"], smallest=smallest)
    return fact("compared by error", se=best_row["se"], smallest=smallest)


def share_of_best(chosen: Chosen) -> Fact:
    """Return the share that the fit explains of what the candidate that explains most does."""
    # for EBIC nothing is held out
    key = "share of most explained" if chosen.by == "ebic" else "share of best prediction"
    return fact(key, share=chosen.line["kept"])


def not_worth_adding(chosen: Chosen) -> Fact:
    """Return the fact about the loadings that the rule "worth" does not add."""
    is_ebic = chosen.by == "ebic"
    price = chosen.selected.price
    return fact("not worth adding", groups=chosen.is_group_count, ebic=is_ebic, price=price)


# --- remarks on a choice --------------------------------------------------------------------------


def search_of_choice(chosen: Chosen) -> Iterator[Fact]:
    """Yield facts about the search for unequal cardinalities."""
    selected, record = chosen.selected, chosen.state.record
    trials, equal = selected.tried, card_text(selected.keys[selected.equal])
    if trials and chosen.unequal:
        yield fact("changed from equal", equal=equal, tried=trials)
    elif trials:
        yield fact("no other cardinality", tried=trials)
    elif chosen.by_worth and record.k > 1 and record.p > GRAM_LIMIT:
        yield fact("equal only", limit=GRAM_LIMIT)


def divisions(chosen: Chosen) -> Iterator[Fact]:
    """Yield a fact if single divisions into folds lead to other choices."""
    selected = chosen.selected
    cards = sorted(set(selected.by_division))
    if len(cards) > 1:
        yield fact(
            "divisions",
            repeats=chosen.repeats,
            equal=card_text(selected.keys[selected.equal]),
            low=card_text(cards[0]),
            high=card_text(cards[-1]),
        )


def density(chosen: Chosen) -> Iterator[Fact]:
    """Yield a fact if the best fit has most of the loadings and has predictive value."""
    record, best_row = chosen.state.record, chosen.best
    loadings = record.p * record.k
    predicts = chosen.by == "ebic" or (chosen.by == "cv" and best_row["error"] < 1.0)
    # data whose best fit needs more than 60 % of the loadings are not sparse
    if predicts and best_row["nonzeros"] > 0.6 * loadings:
        yield fact(
            "density",
            pca=chosen.line["nonzeros"] == loadings,
            ebic=chosen.by == "ebic",
            mean=best_row["nonzeros"] / record.k,
            p=record.p,
        )


def cautions(chosen: Chosen) -> Iterator[Fact]:
    """Yield warnings: no prediction, few rows, components of one variable."""
    record = chosen.state.record
    if chosen.by == "cv" and chosen.best["error"] >= 1.0:
        yield fact("no prediction")
    # with fewer than 60 rows the rule of one standard error selects too few
    if record.n is not None and record.n < 60 and (chosen.by, chosen.rule) == ("cv", "1se"):
        yield fact("few rows", n=record.n)
    yield from single_variables(chosen)


def single_variables(chosen: Chosen) -> Iterator[Fact]:
    """Yield every component of one variable that was chosen among others."""
    if not chosen.by_worth or len(chosen.table) == 1:
        return
    V, record = chosen.state.V, chosen.state.record
    for j in np.flatnonzero(np.count_nonzero(V, axis=0) == 1):
        name = full_names(chosen.state.spec.columns)[int(np.flatnonzero(V[:, j])[0])]
        if chosen.table[chosen.counted].max() > record.k:
            yield fact("single variable", place=j + 1, name=name)


# --- the end of the candidates --------------------------------------------------------------------


def is_last(chosen: Chosen, candidate: pd.Series) -> bool:
    """Whether a candidate is the largest of several, and larger ones are possible."""
    sizes = chosen.table[chosen.counted]
    several = isinstance(candidate["card"], (tuple, list))
    if len(sizes) == 1 or several or candidate[chosen.counted] < sizes.max():
        return False
    return bool(possible_cards(chosen, [candidate["card"] + 1]))


def possible_cards(chosen: Chosen, cards: Sequence[int]) -> list[int]:
    """Return those of the cardinalities that all components can have."""
    record, rule = chosen.state.record, rule_of(chosen.state.record)
    candidates = [card for card in cards if card <= (chosen.groups or record.p)]
    return candidates if rule is None else [card for card in candidates if rule.feasible([card] * record.k)]


def largest_candidate(chosen: Chosen) -> Iterator[Fact]:
    """Yield a fact if the largest candidate was chosen, so that larger ones may be better."""
    is_enough = chosen.by == "variance" and chosen.line["relative_adjusted"] >= chosen.share
    if is_enough or not is_last(chosen, chosen.line):
        return
    card = chosen.line["card"]
    larger = possible_cards(chosen, [2 * card, 4 * card]) or possible_cards(chosen, [card + 1])
    yield fact("largest candidate", card=card, cards=[int(size) for size in (card, *larger)])


# --- the headings of the candidates ---------------------------------------------------------------


def headings(chosen: Chosen, columns: tuple[str, ...]) -> Iterator[Fact]:
    """Yield the explanations of the headings."""
    errors = fact(
        "headings of errors",
        groups=chosen.is_group_count,
        dense=chosen.dense is not None,
        dense_error=chosen.dense,
    )
    is_predicted = "error" in columns
    explanations = {
        "error": errors,
        "of best %": fact("heading of best by error" if is_predicted else "heading of best"),
        "EBIC": fact("heading of EBIC"),
        "PEV": fact("heading of PEV"),
    }
    yield from (explanations[name] for name in columns if name in explanations)
    yield fact("heading of IS")
