"""Facts about choices of the number of components and of cardinalities; the templates word them."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd

from spcastat.assess.candidates import CRITERIA, Selected
from spcastat.assess.component_tests import ComponentTests
from spcastat.assess.prediction import PREDICTION
from spcastat.fit.state import NEAR_COPY, FitState
from spcastat.labels import full_names, short_names
from spcastat.reading.design import Remark
from spcastat.show import (
    choice_templates,  # noqa: F401  (registers the templates)
    facts,
)
from spcastat.show.grid import p_value_in_words, percent
from spcastat.show.templates import Fact, caution, fact

# --- the number of components ---------------------------------------------------------------------


def level(tests: ComponentTests) -> str:
    """Return the significance level of the deflated test in percent."""
    share = tests.found.draws.level
    return percent(share, 1 - (share >= 0.01))


def number_of_components(tests: ComponentTests, compared: bool = True) -> Fact:
    """Return the number, the reasons for it and, if `compared`, the numbers that other rules give."""
    standing = tests.found
    k = standing.k
    doubt, close = standing.by_division, close_components(tests)
    reason = last_prediction(tests) if k else fact("nothing predicted", **_first_prediction(tests))
    return fact(
        "number of components",
        k=k,
        p=reason.values["p"] if reason.values.get("single") else "",
        doubt=facts.enumeration(map(str, doubt), "or") if len(doubt) > 1 else "",
        close=facts.enumeration(map(str, close)),
        close_count=len(close),
        firm=len(doubt) < 2 and not close,
        reason=reason,
        end=next_refusal(tests),
        compared=compared,
        parallel=standing.parallel,
        rules=tests.has_rules,
        kaiser=tests.kaiser,
    )


def close_components(tests: ComponentTests) -> tuple[int, ...]:
    """Return the components that would be added or dropped if gains differed by one standard error.

    With several divisions into folds, the numbers that they give show whether the choice is firm. A
    component that does not exceed noise is never chosen, whatever it predicts.
    """
    standing = tests.found
    if len(standing.prediction.by_division) > 1:
        return ()
    p_values, level = standing.noise_p_values, standing.draws.level
    return tuple(k for k in standing.prediction.close if k <= standing.k + 1 and not p_values[k - 1] > level)


def gains_are_shares(tests: ComponentTests) -> bool:
    """Return whether gains are shares of the variance, which they are if the variables' variances differ."""
    return not tests.data.has_equal_variances


def gain(tests: ComponentTests, value: float, key: str = "gain") -> Fact:
    """Return a gain in multiples of the mean variance of a variable, or as a share of the variance."""
    is_share = gains_are_shares(tests)
    return fact(key, value=value / tests.p if is_share else value, share=is_share)


def data_of_tests(tests: ComponentTests) -> Fact:
    """Return the fact about the data."""
    about = tests.data
    return fact(
        "tested data",
        matrix=about.is_matrix,
        n=about.rows or 0,
        known_n=about.rows is not None,
        p=about.variables,
        dropped=about.dropped,
        scaling=fact(f"scaling {about.scaling}"),
    )


def _first_prediction(tests: ComponentTests) -> dict[str, Any]:
    """Return the gain in prediction from the first component, with its standard error."""
    row = tests.table.iloc[0]
    return {
        "gain": gain(tests, row["gain"]),
        "se": gain(tests, row["gain_se"]),
        "share": gains_are_shares(tests),
        "simulated": tests.data.is_matrix,
        "nothing": round(row["gain"], 2) <= 0,
        "predicting": tests.found.predicting,
    }


def _counting(tests: ComponentTests) -> np.ndarray:
    """Return which numbers of components count, as booleans; False for numbers that were not compared."""
    return np.asarray(tests.table["counts"].to_numpy() == True)  # noqa: E712  # NaN if not compared


def _noise_p_value(tests: ComponentTests, place: int) -> str:
    """Return the p-value of a component in the test against noise, for a sentence."""
    p_value = float(tests.found.noise_p_values[place])
    return p_value_in_words(p_value, tests.found.draws.is_smallest(p_value))


def last_prediction(tests: ComponentTests) -> Fact:
    """Return the fact about the gain in prediction from the last chosen component."""
    standing, table = tests.found, tests.table
    counts = np.flatnonzero(_counting(tests))
    last_place = (
        int(counts[counts >= standing.k - 1][0]) if (counts >= standing.k - 1).any() else standing.k - 1
    )
    previous_count = int(counts[counts < last_place][-1]) + 1 if (counts < last_place).any() else 0
    return fact(
        "component predicts",
        k=standing.k,
        first=previous_count + 1,
        last=last_place + 1,
        pair=last_place == previous_count + 1,
        single=last_place == previous_count,
        gain=gain(tests, table["gain"].iloc[last_place]),
        share=gains_are_shares(tests),
        simulated=tests.data.is_matrix,
        p=_noise_p_value(tests, standing.k - 1),
    )


def next_refusal(tests: ComponentTests) -> Fact | None:
    """Return why the next component is not chosen; None if no further one was compared, or k is 0."""
    standing, table = tests.found, tests.table
    if not standing.k or standing.k >= len(table):
        return None
    row = table.iloc[standing.k]
    if standing.deflated < standing.predicting:
        return fact(
            "not above noise", next=standing.k + 1, p=_noise_p_value(tests, standing.k), level=level(tests)
        )
    if np.isnan(row["gain"]):
        return None
    prediction, k = standing.prediction, standing.k + 1
    minimum_gain, denser_by = prediction.required_gain(k), prediction.denser_by(k)
    of_density = PREDICTION.price_of_density * prediction.least
    return fact(
        "predicts too little",
        next=k,
        gain=gain(tests, row["gain"]),
        negative=row["gain"] <= 0,
        unclear=row["gain"] >= minimum_gain,
        se=gain(tests, row["gain_se"]),
        least=gain(tests, minimum_gain, "least gain"),
        dense=denser_by > 0,
        p=tests.p,
        several=denser_by > 1,
        further=denser_by * tests.p,
        of_components=gain(tests, minimum_gain - denser_by * of_density, "least gain"),
        of_density=gain(tests, of_density, "least gain"),
    )


def number_methods(tests: ComponentTests) -> Iterator[Fact]:
    """Yield the facts for a methods section on how the number of components was chosen."""
    draws = tests.found.draws
    predicting = tests.found.predicting
    joint = not _counting(tests)[:predicting].all()
    yield fact(
        "methods of number",
        folds=PREDICTION.folds,
        joint=joint,
        least=gain(tests, tests.found.prediction.least, "least gain"),
        share=gains_are_shares(tests),
        simulated=tests.data.is_matrix,
        dense=tests.found.prediction.compares_pca,
        draws=draws.most,
        level=level(tests),
        one=predicting == 1,
        predicting=predicting,
        deflated=tests.found.deflated,
        fewer=tests.found.deflated < predicting,
    )
    yield from shrunk(tests)
    yield from untested(tests)


def number_reasons(tests: ComponentTests) -> Iterator[Fact]:
    """Yield the reasons for the number of components, and further remarks."""
    yield number_of_components(tests)
    yield from large_rows(tests)
    yield from number_cautions(tests)


def number_cautions(tests: ComponentTests) -> Iterator[Fact]:
    """Yield warnings: that the last component compared counts, and that variables were not tested."""
    if tests.found.k and tests.found.k == len(tests.table):
        yield fact("last counts", number=tests.found.k, possible=tests.found.k < tests.most)
    yield from untested(tests)


def large_rows(tests: ComponentTests) -> Iterator[Fact]:
    """Yield the fact about large rows that change the number of components."""
    rows = tests.large
    if rows is not None and rows.labels:
        yield fact(
            "large rows",
            rows=len(rows.labels),
            names=", ".join(rows.labels[:3]),
            others=max(len(rows.labels) - 3, 0),
            share=rows.share,
            pulled=rows.pulled,
            n=rows.n,
            k_unshrunk=rows.k,
            k=tests.found.k,
        )


def untested(tests: ComponentTests) -> Iterator[Fact]:
    """Yield the fact about variables that were not tested."""
    if tests.tested is not None:
        yield fact("untested variables", p=tests.p, variables=tests.tested.variables, rows=tests.tested.rows)


def copies_tested(tests: ComponentTests) -> Iterator[Fact]:
    """Yield the fact about variables that are nearly copies of each other, if they may raise k."""
    if len(tests.copies) and tests.found.k > 1:
        variable, copy = tests.copies[0]
        short_first, short_second = short_names(tests.copies[0])
        yield fact(
            "copies tested",
            pairs=len(tests.copies),
            limit=NEAR_COPY,
            first=variable,
            second=copy,
            short_first=short_first,
            short_second=short_second,
        )


def rows_tested(tests: ComponentTests) -> Iterator[Fact]:
    """Yield facts about rows that may not be independent, rows that were shrunk, and near copies."""
    yield from copies_tested(tests)
    yield from remarks_on_rows(tests.remarks)
    yield from shrunk(tests)


def remarks_on_rows(remarks: Iterable[Remark]) -> Iterator[Fact]:
    """Yield the facts about rows that may not be independent."""
    for remark in remarks:
        yield caution("remark on rows", remark.text, remark.doubtful, remark.brief)


def shrunk(tests: ComponentTests) -> Iterator[Fact]:
    """Yield the fact about large rows that were shrunk for the tests; it names them if they change k."""
    yield from large_rows(tests)
    rows = tests.large
    if rows is not None and not rows.labels:
        differs = rows.k != tests.found.k
        yield fact("shrunk rows", pulled=rows.pulled, n=rows.n, differs=differs, k_unshrunk=rows.k)


def _base_below_line(tests: ComponentTests) -> int:
    """Return the number of components that the gains below the line are relative to; 0 if it varies.

    A chosen component that does not count is not a baseline: if the next one counts, the gain is that of
    both together.
    """
    compared = np.flatnonzero(tests.table["gain"].notna())
    counting = np.flatnonzero(_counting(tests)) + 1
    places_below = compared[compared >= tests.found.k]
    bases = {int(counting[counting <= place].max(initial=0)) for place in places_below.tolist()}
    return bases.pop() if len(bases) == 1 else 0


def headings_of_tests(tests: ComponentTests) -> Fact:
    """Return the explanation of the headings of the tests."""
    draws, base = tests.found.draws, _base_below_line(tests)
    return fact(
        "headings of tests",
        k=tests.found.k,
        base=base,
        all=base == tests.found.k,
        least=gain(tests, tests.found.prediction.least, "least gain"),
        share=gains_are_shares(tests),
        simulated=tests.data.is_matrix,
        dense=tests.found.prediction.compares_pca,
        tested=tests.tested,
        draws=draws.n_draws,
        most=draws.most,
        quantile=1.0 - draws.alpha,
        level=level(tests),
        rules=tests.has_rules,
        stick=tests.broken_stick,
        large=tests.large,
        wide=not np.isnan(tests.found.sparse_p_values).all(),
    )


def definitions_of_tests(tests: ComponentTests) -> Iterator[Fact]:
    """Yield the definitions of the columns in the print of the tests."""
    base = _base_below_line(tests)
    is_share, is_simulated = gains_are_shares(tests), tests.data.is_matrix
    yield fact("definition of predicts", simulated=is_simulated)
    yield fact("definition of gain", k=tests.found.k, base=base, all=base == tests.found.k, share=is_share)
    yield fact("definition of next p")
    yield fact("definition of cumulative", tested=tests.tested)


def eigenvalues_not_printed(tests: ComponentTests, printed: int) -> Iterator[Fact]:
    """Yield the number of eigenvalues beyond those that the print shows, if there are any."""
    if count := len(tests.given_values) - printed:
        yield fact("eigenvalues not printed", count=count)


def two_predictions(choice: Chosen, tests: ComponentTests) -> Iterator[Fact]:
    """Yield why the predicted shares differ between the choice of k and the choice of cardinalities."""
    if choice.predicted:
        yield fact(
            "two predictions",
            dense=tests.found.prediction.compares_pca,
            folds=PREDICTION.folds,
            large=tests.large is not None,
            folds_of_choice=choice.folds,
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


def nothing_chosen(choice: NothingChosen) -> Fact:
    """Return why no component is chosen, and what the user can do."""
    return fact(
        "nothing chosen",
        scaled=choice.ratio is None,
        ratio=choice.ratio,
        reason=fact("nothing predicted", **_first_prediction(choice.tests)),
    )


# --- the cardinalities ----------------------------------------------------------------------------


#: The call advised if the variances of the variables differ strongly.
SCALED_CALL = "choose(data, scale=True)"
#: Names of the criteria.
CRITERION_NAMES = {**CRITERIA, "bic": "BIC (Allen and Maletic-Savatic)"}
#: With more variables than this, the print gives the number of loadings that half of the prediction needs.
MANY_UNITS = 200


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
        The prediction error of dense PCA.
    groups : int or None
        The number of groups of variables, if cardinalities count groups.
    sampling_text : str
        The units that folds and tests draw, if not single rows of the data.
    remarks : sequence of Remark
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
    sampling_text: str = ""
    remarks: Sequence[Remark] = ()

    @property
    def counted(self) -> str:
        """The name of the column of the table that contains the sums of cardinalities."""
        return "groups" if self.groups else "nonzeros"

    @property
    def line(self) -> pd.Series:
        """The row of the table for the chosen candidate."""
        return self.table.iloc[self.selected.place]

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
        """The total number of loadings, zero or not, or of groups of loadings."""
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


#: Longer lists of cardinalities are abbreviated to the smallest and the largest; calls contain the list.
CARDS_LENGTH = 26
#: A table has longer lists of cardinalities without those in the middle: an arrow has room after the others.
LISTED_CARDS = 14


def fit_name(choice: Chosen, line: pd.Series) -> str:
    """Return a short name of a candidate, for tables."""
    count, units = int(line[choice.counted]), choice.units
    if line["family"] == "partition":
        out = units - count
        return "partition" if not out else f"partition, {out:,} left out"
    card = line["card"]
    if not isinstance(card, (tuple, list)):
        return f"card={card}"
    if len(text := f"card=[{card_text(card)}]") > CARDS_LENGTH:
        return f"{min(card):,} to {max(card):,} in a component"
    return text


def fit_names(choice: Chosen, places: Sequence[int]) -> list[str]:
    """Return names of candidates that differ, for a table: of many cardinalities the first and the last."""
    table = choice.table.iloc[list(places)]
    names = [fit_name(choice, line) for _, line in table.iterrows()]
    for head_count in range(2, choice.k - 1):
        for place, card in enumerate(table["card"]):
            if isinstance(card, (tuple, list)) and len(card_text(card)) > LISTED_CARDS:
                names[place] = f"[{card_text(card[:head_count])}, ..., {card[-1]}]"
        if len(set(names)) == len(names):
            break
    return names


def is_dense(choice: Chosen, line: pd.Series) -> bool:
    """Return whether all loadings of a candidate are nonzero."""
    return bool(line[choice.counted] == choice.cells)


def title(choice: Chosen) -> Fact:
    """Return the answer in one line."""
    line = choice.line
    count = int(line[choice.counted])
    partition = line["family"] == "partition"
    sizes = "" if not partition or choice.k > 8 else f" ({card_text(choice.card)})"
    return fact(
        "answer",
        k=choice.k,
        count=count,
        of_cells=of_cells(choice),
        of_all=fact("of all", p=choice.units, groups=bool(choice.groups)),
        whole=partition and count == choice.units,
        partition=partition,
        dense=is_dense(choice, line),
        needed=needs_loadings(choice),
        sizes=sizes,
        name=fit_name(choice, line) if choice.k <= 12 else "",
    )


def needs_loadings(choice: Chosen) -> bool:
    """Return whether the rule selects a loading only if it improves the criterion enough."""
    return choice.by in ("cv", "ebic") and choice.rule == "worth"


def of_cells(choice: Chosen) -> Fact:
    """Return the fact about the total number of loadings, or of groups of loadings."""
    return fact("of cells", cells=choice.cells, groups=bool(choice.groups))


def compared(choice: Chosen) -> list[int]:
    """Return the positions of the fits that are shown next to the choice, in the order of the table.

    Next to the choice and the best fit, the table shows the sparsest fit that keeps 60 % of the best
    prediction (with many variables, the sparsest that keep 50 % and 80 %), and the sparsest fit of another
    family that predicts nearly as well as the choice. Fits that are dominated by another of these, which
    predicts as well with fewer loadings, are not shown.
    """
    table, place = choice.table, choice.selected.place
    sizes, shares = table[choice.counted].to_numpy(), table["kept"].to_numpy()
    visible_places = {place, choice.selected.best}
    if not np.isfinite(shares).all():
        return sorted(visible_places)
    for share in (0.5, 0.8) if choice.units > MANY_UNITS else (0.6,):
        places = np.flatnonzero((shares >= share) & (sizes < sizes[place]))
        visible_places |= {int(places[0])} if places.size else set()
    family = table["family"].to_numpy()
    undominated = (sizes < sizes[place]) | (shares > shares[place])
    other_families = np.flatnonzero(
        (family != family[place]) & (shares >= 0.98 * shares[place]) & undominated
    )
    visible_places |= {int(other_families[0])} if other_families.size else set()
    # the nearest sparser fit shows what the last loadings contribute
    if len(visible_places) < 3 and (sizes < sizes[place]).any():
        visible_places.add(int(np.flatnonzero(sizes < sizes[place])[-1]))
    for i in visible_places - {place}:
        is_better = (sizes <= sizes[i]) & (shares >= shares[i]) & ((sizes < sizes[i]) | (shares > shares[i]))
        if is_better[sorted(visible_places)].any():
            visible_places = visible_places - {i}
    return sorted(i for i in visible_places if i == place or not is_dense(choice, table.iloc[i]))


def unequal_variances(choice: Chosen) -> Iterator[Fact]:
    """Yield the fact about variables with very different variances, which is shown first."""
    yield from facts.unequal_variances(choice.state.record, choice.state.moments.variances, SCALED_CALL)


def header(choice: Chosen, between: Sequence[Fact], about_rows: Sequence[Remark] = ()) -> Iterator[Fact]:
    """Yield the facts of the header of the choice; `between` follows the facts about the data."""
    yield facts.dataset(choice.state)
    if choice.sampling_text:
        yield fact("drawn", text=choice.sampling_text)
    yield from remarks_on_rows((*about_rows, *choice.remarks))
    yield fact("fit of choice", call=choice.call)
    yield from between
    yield sparseness(choice)


def sparseness(choice: Chosen) -> Fact:
    """Return why the fit is as sparse as it is, for prints."""
    line = choice.line
    count, cells = int(line[choice.counted]), choice.cells
    table, caution = choice.table, doubtful_prediction(choice)
    is_large = choice.units > MANY_UNITS and choice.predicted and caution is None
    counts = []
    for share in (0.5, 0.8):
        sufficient_counts = table.loc[table["kept"] >= share, choice.counted]
        counts.append(int(sufficient_counts.min()) if len(sufficient_counts) else cells)
    return fact(
        "sparseness",
        count=count,
        of_cells=of_cells(choice),
        groups=bool(choice.groups),
        kept=share_of_best(choice),
        dense=is_dense(choice, line) and needs_loadings(choice),
        rule=rule_of_choice(choice),
        many=fact("no short answer", half=counts[0], fifths=counts[1]) if is_large else None,
        caution=caution,
        nothing=not table["kept"].notna().any(),
    )


def doubtful_prediction(choice: Chosen, past: bool = False) -> Fact | None:
    """Return a caution if no candidate predicts clearly better than the column means; `past`: past tense.

    The best of many candidates is compared, so its prediction is optimistic. In 40 data sets each of normal
    and of t(3) noise (30 x 60 to 200 x 30, two components requested), .60 to .90 get the caution; with two
    real components of five variables (30 to 100 rows, 20 or 60 variables, variance .3 to 1 of each
    variable), 0 to .10 get it.
    """
    if not choice.predicted:
        return None
    best_place = int(choice.table["predicts"].to_numpy().argmax())
    share, se = choice.table[["predicts", "predicts_se"]].iloc[best_place]
    if share > PREDICTION.errors * se:
        return None
    return fact("no clear prediction", share=share, se=se, better=share > 0, past=past)


def share_of_best(choice: Chosen, past: bool = False) -> Fact:
    """Return the fact about the share of the best prediction, or of the explained variance, that is kept."""
    line = choice.line
    if choice.by == "variance":
        return fact("share of PCA", share=line["relative_adjusted"], past=past)
    key = "share of best prediction" if choice.predicted else "share of most explained"
    return fact(key, share=line["kept"], past=past)


def rule_of_choice(choice: Chosen, past: bool = False) -> Fact:
    """Return the rule that chose the fit, as the end of a sentence; `past` gives the past tense."""
    keys = {
        "worth": "not worth adding",
        "keep": "fewest that keep",
        "1se": "within an error",
        "paired": "within a paired error",
        "min": "best value",
    }
    key = keys[choice.rule if choice.by in ("cv", "ebic") else "min"]
    if (choice.by, choice.rule) == ("ebic", "1se"):
        key = "within two"
    if choice.by == "variance":
        key = "fewest that keep"
    kept_too_little = choice.by == "variance" and choice.line["relative_adjusted"] < choice.share - 1e-12
    return fact(
        "keeps too little" if kept_too_little else key,
        share=choice.share,
        criterion=CRITERION_NAMES[choice.by],
        predicted=choice.predicted,
        best=choice.selected.place == choice.selected.best,
        variance=choice.by == "variance",
        largest=choice.by == "is",
        price=choice.selected.price,
        groups=bool(choice.groups),
        past=past,
    )


def choice_methods(choice: Chosen) -> Iterator[Fact]:
    """Yield the facts for a methods section on how cardinalities were chosen."""
    families = set(choice.table["family"])
    yield fact(
        "methods of choice",
        groups=bool(choice.groups),
        criterion=None if choice.predicted else fact(f"criterion {choice.by}"),
        predicted=choice.predicted,
        folds=choice.folds,
        several=choice.repeats > 1,
        repeats=choice.repeats,
        rotated="rotated" in families,
        partitions="partition" in families,
        equal="equal" in families,
    )
    yield fact(
        "methods of rule",
        groups=bool(choice.groups),
        caution=doubtful_prediction(choice, past=True),
        nothing=not choice.table["kept"].notna().any(),
        dense=is_dense(choice, choice.line) and needs_loadings(choice),
        kept=share_of_best(choice, past=True),
        rule=rule_of_choice(choice, past=True),
        named=choice.by in ("cv", "ebic"),
        name=choice.rule,
    )


def choice_reasons(choice: Chosen) -> Iterator[Fact]:
    """Yield the reasons for the choice and further remarks."""
    yield sparseness(choice)
    yield from remarks(choice)


def remarks(choice: Chosen) -> Iterator[Fact]:
    """Yield remarks on folds, a choice at the end of the given candidates, few rows, and single variables."""
    record, table = choice.state.record, choice.table
    yield from firmness(choice)
    # with fewer than 60 rows the rule of one standard error selects too few
    if record.n is not None and record.n < 60 and (choice.by, choice.rule) == ("cv", "1se"):
        yield fact("few rows", n=record.n)
    if choice.selected.price and len(table) > 1 and table[choice.counted].max() > record.k:
        V = choice.state.V
        for j in np.flatnonzero(np.count_nonzero(V, axis=0) == 1):
            name = full_names(choice.state.spec.columns)[int(np.flatnonzero(V[:, j])[0])]
            yield fact("single variable", place=j + 1, name=name)
    if "ebic" in table and choice.predicted:
        by_ebic = table.iloc[int(table["ebic"].argmin())]
        if by_ebic.name != choice.line.name:
            yield fact("EBIC instead", name=fit_name(choice, by_ebic), count=int(by_ebic[choice.counted]))


def firmness(choice: Chosen) -> Iterator[Fact]:
    """Yield whether individual divisions give other numbers, and whether sparser fits predict as well.

    Fits with more loadings that predict equally well are no reason for doubt, since rules prefer sparser
    fits.
    """
    selected, sizes = choice.selected, choice.table[choice.counted].to_numpy()
    size = int(choice.line[choice.counted])
    division_counts = {int(sizes[i]) for i in selected.by_division} | {size}
    alike = sizes[list(selected.alike)]
    if len(division_counts) > 1 or (alike < size).any():
        yield fact(
            "not firm",
            divided=len(division_counts) > 1,
            repeats=choice.repeats,
            low=min(division_counts),
            high=max(division_counts),
            alike=len(alike),
            both=len(division_counts) > 1 and len(alike) > 0,
            fewest=alike.min() if len(alike) else 0,
            several=len(set(alike.tolist())) > 1,
            most=alike.max() if len(alike) else 0,
            groups=bool(choice.groups),
        )
    elif choice.repeats > 1 and selected.by_division:
        yield fact("firm", repeats=choice.repeats, count=size, groups=bool(choice.groups))


def headings(choice: Chosen, columns: Sequence[str]) -> Iterator[Fact]:
    """Yield the explanations of the headings."""
    explanations = {
        "predicts %": fact("heading of predicts", groups=bool(choice.groups)),
        "of best %": fact("heading of best by error" if choice.predicted else "heading of best"),
        "EBIC": fact("heading of EBIC"),
        "IS": fact("heading of IS"),
        "of PCA's": fact("heading of PCA's"),
        "PEV": fact("heading of PEV"),
    }
    yield from (explanations[name] for name in columns if name in explanations)
