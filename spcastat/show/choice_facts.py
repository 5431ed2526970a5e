"""Facts about choices of the numbers of components and of cardinalities; the templates have their words."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd

from spcastat.assess.component_tests import ComponentTests
from spcastat.assess.families import CRITERIA, Selected
from spcastat.assess.prediction import FOLDS
from spcastat.fit.state import FitState
from spcastat.labels import full_names
from spcastat.show import facts
from spcastat.show.grid import percent
from spcastat.show.templates import Fact, fact

# --- the number of components ---------------------------------------------------------------------


def level(tests: ComponentTests) -> str:
    """Return the level of the deflated test in percent."""
    share = tests.found.draws.level
    return percent(share, 1 - (share >= 0.01))


def number_of_components(tests: ComponentTests) -> Fact:
    """Return the number, why it is not smaller and not larger, and other numbers for comparison."""
    found = tests.found
    k = found.k
    table = tests.table
    doubt = found.by_division
    return fact(
        "number of components",
        k=k,
        doubt=f"{', '.join(map(str, doubt[:-1]))} or {doubt[-1]}" if len(doubt) > 1 else "",
        reason=reached(tests) if k else fact("nothing predicted", **_first(tests)),
        end=refused(tests),
        parallel=found.parallel,
        rules=tests.has_rules,
        kaiser=tests.kaiser,
        last=k > 0 and len(table) == k,
    )


def _first(tests: ComponentTests) -> dict[str, Any]:
    """Return what the first component predicts."""
    row = tests.table.iloc[0]
    nothing = round(row["gain"], 2) <= 0
    return {
        "gain": row["gain"],
        "se": row["gain_se"],
        "nothing": nothing,
        "predicting": tests.found.predicting,
    }


def reached(tests: ComponentTests) -> Fact:
    """Return what the last chosen component predicts."""
    found, table = tests.found, tests.table
    counts = np.flatnonzero(table["counts"].to_numpy() == True)  # noqa: E712  # rows that were not compared are NaN
    last = int(counts[counts >= found.k - 1][0]) if (counts >= found.k - 1).any() else found.k - 1
    before = int(counts[counts < last][-1]) + 1 if (counts < last).any() else 0
    return fact(
        "component predicts",
        k=found.k,
        first=before + 1,
        last=last + 1,
        single=last == before,
        gain=table["gain"].iloc[last],
        several=table["gain"].iloc[last] >= 1.0,
        p=found.noise_p_values[found.k - 1],
    )


def refused(tests: ComponentTests) -> Fact | None:
    """Return why the next component is not chosen; None if none was compared, or k is 0."""
    found, table = tests.found, tests.table
    if not found.k or found.k >= len(table):
        return None
    row = table.iloc[found.k]
    if found.deflated < found.predicting:
        return fact("not above noise", next=found.k + 1, p=found.noise_p_values[found.k], level=level(tests))
    if np.isnan(row["gain"]):
        return None
    least = found.prediction.least
    return fact(
        "predicts too little",
        next=found.k + 1,
        gain=row["gain"],
        negative=row["gain"] <= 0,
        unclear=row["gain"] >= least,
        se=row["gain_se"],
        least=least,
    )


def number_methods(tests: ComponentTests) -> Iterator[Fact]:
    """Yield the facts for a methods section on how the number of components was chosen."""
    draws = tests.found.draws
    yield fact(
        "methods of number",
        folds=FOLDS,
        least=tests.found.prediction.least,
        draws=draws.n_draws,
        level=level(tests),
        k=tests.found.k,
        predicting=tests.found.predicting,
        deflated=tests.found.deflated,
        fewer=tests.found.deflated < tests.found.predicting,
    )
    yield from large_rows(tests)
    yield from untested(tests)


def number_reasons(tests: ComponentTests) -> Iterator[Fact]:
    """Yield the reasons for the number of components, and further remarks."""
    yield number_of_components(tests)
    yield from number_cautions(tests)


def number_cautions(tests: ComponentTests) -> Iterator[Fact]:
    """Yield warnings: rows that change the number, the last component counts, untested variables."""
    yield from large_rows(tests)
    if tests.found.k and tests.found.k == len(tests.table):
        yield fact("last counts", number=tests.found.k, possible=tests.found.k < tests.most)
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


def headings_of_tests(tests: ComponentTests) -> Fact:
    """Return the explanation of the headings of the tests."""
    draws = tests.found.draws
    return fact(
        "headings of tests",
        least=tests.found.prediction.least,
        tested=tests.tested,
        draws=draws.n_draws,
        most=draws.most,
        share=1.0 - draws.alpha,
        level=level(tests),
        rules=tests.has_rules,
        stick=tests.broken_stick,
        large=tests.large,
        wide=not np.isnan(tests.found.sparse_p_values).all(),
    )


@dataclass(frozen=True, kw_only=True, eq=False)
class NothingChosen:
    """A choice of no component.

    Attributes
    ----------
    tests : ComponentTests
    ratio : float or None
        The ratio of the largest to the smallest variance of the columns, if they are not scaled and it is
        large.
    n : int or None
    p : int
    """

    tests: ComponentTests
    ratio: float | None
    n: int | None
    p: int


def nothing_chosen(chosen: NothingChosen) -> Fact:
    """Return why no component is chosen, and what may be done."""
    return fact(
        "nothing chosen",
        scaled=chosen.ratio is None,
        ratio=chosen.ratio,
        reason=fact("nothing predicted", **_first(chosen.tests)),
    )


# --- the cardinalities ----------------------------------------------------------------------------


#: The advice for variables with very different variances.
SCALED = "choose(data, scale=True)"
#: criterion -> its name.
NAMES = {**CRITERIA, "bic": "BIC (Allen and Maletic-Savatic)"}
#: More variables than this have no short answer that is seen at once, and the print says what half needs.
MANY = 200
#: A fit with this share of all loadings is not called sparse.
DENSE = 0.75


@dataclass(frozen=True, kw_only=True, eq=False)
class Chosen:
    """How cardinalities were chosen.

    Attributes
    ----------
    table : DataFrame
        The candidates, with columns "chosen" and "call".
    state : FitState
        The fit.
    card : int or list of int
    by, rule : str
    share : float
    folds, repeats : int
    selected : Selected
    dense : float
        The PEV of dense PCA.
    dense_error : float or None
        Its error of prediction.
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
    dense: float
    dense_error: float | None = None
    groups: int | None = None
    drawn: str = ""
    remarks: Sequence[str] = ()

    @property
    def counted(self) -> str:
        """The column of the table with the sums of cardinalities."""
        return "groups" if self.groups else "nonzeros"

    @property
    def line(self) -> pd.Series:
        """The candidate that was chosen."""
        return self.table.iloc[self.selected.place]

    @property
    def best(self) -> pd.Series:
        """The candidate with the best value of the criterion."""
        return self.table.iloc[self.selected.best]

    @property
    def k(self) -> int:
        """The number of components."""
        return self.state.record.k

    @property
    def units(self) -> int:
        """The number of variables, or of groups if cardinalities count these."""
        return self.groups or self.state.record.p

    @property
    def cells(self) -> int:
        """The number of all loadings, or of all groups of loadings."""
        return self.units * self.k

    @property
    def call(self) -> str:
        """The call that reproduces the fit."""
        return str(self.line["call"])

    @property
    def predicted(self) -> bool:
        """Whether candidates were compared by prediction of held-out rows."""
        return self.by == "cv"


def card_text(card: Any) -> str:
    """Return a cardinality, or the cardinalities of the components, as text."""
    return ", ".join(map(str, card)) if isinstance(card, (tuple, list)) else str(card)


#: A longer list of cardinalities is named by the smallest and the largest; calls have the list.
NAME = 26


def fit_name(chosen: Chosen, line: pd.Series) -> str:
    """Return a short name of a candidate, for tables."""
    count, units = int(line[chosen.counted]), chosen.units
    if line["family"] == "partition":
        out = units - count
        return "partition" if not out else f"partition, {out:,} left out"
    card = line["card"]
    if not isinstance(card, (tuple, list)):
        return f"card={card}"
    if len(text := f"card=[{card_text(card)}]") > NAME:
        return f"cards of {min(card)} to {max(card)}"
    return text


def is_dense(chosen: Chosen, line: pd.Series) -> bool:
    """Whether a candidate has all loadings."""
    return bool(line[chosen.counted] == chosen.cells)


def title(chosen: Chosen) -> Fact:
    """Return the answer in a line."""
    line = chosen.line
    count = int(line[chosen.counted])
    partition = line["family"] == "partition"
    sizes = "" if not partition or chosen.k > 8 else f" ({card_text(chosen.card)})"
    return fact(
        "answer",
        k=chosen.k,
        count=count,
        of_cells=of_cells(chosen),
        of_all=fact("of all", p=chosen.units, groups=bool(chosen.groups)),
        whole=partition and count == chosen.units,
        partition=partition,
        dense=is_dense(chosen, line),
        sizes=sizes,
        name=fit_name(chosen, line) if chosen.k <= 12 else "",
    )


def of_cells(chosen: Chosen) -> Fact:
    """Return the number of all loadings, or of all groups of them."""
    return fact("of cells", cells=chosen.cells, groups=bool(chosen.groups))


def compared(chosen: Chosen) -> list[int]:
    """Return the places of the fits that are shown beside the choice, in the order of the table.

    They are the sparsest fit that keeps half of the best prediction, with many variables also the one that
    keeps four fifths; the sparsest of another family that predicts nearly as well as the choice, and the
    best.
    """
    table, place = chosen.table, chosen.selected.place
    sizes, kept = table[chosen.counted].to_numpy(), table["kept"].to_numpy()
    shown = {place, chosen.selected.best}
    if not np.isfinite(kept).all():
        return sorted(shown)
    for least in (0.5, 0.8) if chosen.units > MANY else (0.6,):
        places = np.flatnonzero((kept >= least) & (sizes < sizes[place]))
        shown |= {int(places[0])} if places.size else set()
    family = table["family"].to_numpy()
    undominated = (sizes < sizes[place]) | (kept > kept[place])
    others = np.flatnonzero((family != family[place]) & (kept >= 0.98 * kept[place]) & undominated)
    shown |= {int(others[0])} if others.size else set()
    # the nearest sparser fit says what the last loadings are for
    if len(shown) < 3 and (sizes < sizes[place]).any():
        shown.add(int(np.flatnonzero(sizes < sizes[place])[-1]))
    return sorted(i for i in shown if i == place or not is_dense(chosen, table.iloc[i]))


def unequal_variances(chosen: Chosen) -> Iterator[Fact]:
    """Yield a fact on variables in very different units, which comes first."""
    yield from facts.unequal_variances(chosen.state.record, chosen.state.moments.variances, SCALED)


def header(chosen: Chosen, between: Sequence[Fact], remarks_on_rows: Sequence[str] = ()) -> Iterator[Fact]:
    """Yield the lines of the header of the choice; `between` is inserted after the data and the fit."""
    yield facts.dataset(chosen.state)
    if chosen.drawn:
        yield fact("drawn", text=chosen.drawn)
    for remark in (*remarks_on_rows, *chosen.remarks):
        yield fact("remark on rows", remark=remark)
    yield fact("fit of choice", call=chosen.call)
    yield from between
    yield sparseness(chosen)


def sparseness(chosen: Chosen) -> Fact:
    """Return why the fit is as sparse as it is, for prints."""
    line = chosen.line
    count, cells = int(line[chosen.counted]), chosen.cells
    many = chosen.units > MANY and chosen.predicted
    table = chosen.table
    nothing = chosen.predicted and table["predicts"].max() <= 0
    needed = []
    for least in (0.5, 0.8):
        enough = table.loc[table["kept"] >= least, chosen.counted]
        needed.append(int(enough.min()) if len(enough) else cells)
    return fact(
        "sparseness",
        count=count,
        of_cells=of_cells(chosen),
        groups=bool(chosen.groups),
        kept=kept(chosen),
        dense=is_dense(chosen, line),
        most=count > DENSE * cells and line["family"] != "partition",
        rule=rule_of_choice(chosen),
        many=fact("no short answer", half=needed[0], fifths=needed[1]) if many and not nothing else None,
        nothing=fact("no prediction") if nothing else None,
    )


def kept(chosen: Chosen) -> Fact:
    """Return the share that the fit keeps of the best prediction, or of what is explained in these data."""
    line = chosen.line
    if chosen.by == "variance":
        return fact("share of PCA", share=line["relative_adjusted"])
    return fact(
        "share of best prediction" if chosen.predicted else "share of most explained", share=line["kept"]
    )


def rule_of_choice(chosen: Chosen, past: bool = False) -> Fact:
    """Return the rule by which the fit was chosen, as the end of a sentence; `past` is its tense."""
    keys = {
        "worth": "not worth adding",
        "keep": "fewest that keep",
        "1se": "within an error",
        "paired": "within a paired error",
        "min": "best value",
    }
    key = keys[chosen.rule if chosen.by in ("cv", "ebic") else "min"]
    if (chosen.by, chosen.rule) == ("ebic", "1se"):
        key = "within two"
    if chosen.by == "variance":
        key = "fewest that keep"
    kept_too_little = chosen.by == "variance" and chosen.line["relative_adjusted"] < chosen.share - 1e-12
    return fact(
        "keeps too little" if kept_too_little else key,
        share=chosen.share,
        criterion=NAMES[chosen.by],
        predicted=chosen.predicted,
        best=chosen.selected.place == chosen.selected.best,
        variance=chosen.by == "variance",
        largest=chosen.by == "is",
        price=chosen.selected.price,
        groups=bool(chosen.groups),
        past=past,
    )


def choice_methods(chosen: Chosen) -> Iterator[Fact]:
    """Yield the facts for a methods section on how cardinalities were chosen."""
    families = set(chosen.table["family"])
    yield fact(
        "methods of choice",
        groups=bool(chosen.groups),
        criterion=NAMES[chosen.by],
        predicted=chosen.predicted,
        folds=chosen.folds,
        several=chosen.repeats > 1,
        repeats=chosen.repeats,
        rotated="rotated" in families,
        partitions="partition" in families,
        equal="equal" in families,
    )
    yield fact(
        "methods of rule",
        groups=bool(chosen.groups),
        dense=is_dense(chosen, chosen.line),
        kept=kept(chosen),
        rule=rule_of_choice(chosen, past=True),
    )


def choice_reasons(chosen: Chosen) -> Iterator[Fact]:
    """Yield the reasons for the choice and further remarks."""
    yield sparseness(chosen)
    yield from remarks(chosen)


def remarks(chosen: Chosen) -> Iterator[Fact]:
    """Yield remarks on folds, the end of given candidates, few rows and single variables."""
    selected, record, table = chosen.selected, chosen.state.record, chosen.table
    others = sorted(
        {int(table[chosen.counted].iloc[i]) for i in selected.by_division}
        | {int(chosen.line[chosen.counted])}
    )
    if len(others) > 1:
        yield fact(
            "divisions", repeats=chosen.repeats, low=others[0], high=others[-1], groups=bool(chosen.groups)
        )
    # with fewer than 60 rows the rule of one standard error selects too few
    if record.n is not None and record.n < 60 and (chosen.by, chosen.rule) == ("cv", "1se"):
        yield fact("few rows", n=record.n)
    if chosen.selected.price and len(table) > 1 and table[chosen.counted].max() > record.k:
        V = chosen.state.V
        for j in np.flatnonzero(np.count_nonzero(V, axis=0) == 1):
            name = full_names(chosen.state.spec.columns)[int(np.flatnonzero(V[:, j])[0])]
            yield fact("single variable", place=j + 1, name=name)
    if "ebic" in table and chosen.predicted:
        by_ebic = table.iloc[int(table["ebic"].argmin())]
        if by_ebic.name != chosen.line.name:
            yield fact("EBIC instead", name=fit_name(chosen, by_ebic), count=int(by_ebic[chosen.counted]))


def headings(chosen: Chosen, columns: Sequence[str]) -> Iterator[Fact]:
    """Yield the explanations of the headings."""
    explanations = {
        "predicts %": fact("heading of predicts", groups=bool(chosen.groups)),
        "of best %": fact("heading of best by error" if chosen.predicted else "heading of best"),
        "EBIC": fact("heading of EBIC"),
        "IS": fact("heading of IS"),
    }
    yield from (explanations[name] for name in columns if name in explanations)
