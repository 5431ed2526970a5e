"""Tables of resampling and of comparisons of groups, for prints, summaries and reports."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace
from typing import Any

import numpy as np
import pandas as pd

from spcastat.arguments import SHOWN_LEVEL
from spcastat.assess.permutation import GroupSlopes
from spcastat.fit import frames
from spcastat.fit.record import Bootstrapped, HalfSamples, Split, Tested
from spcastat.fit.state import FitState
from spcastat.labels import NAME_WIDTH, full_names, name_text, some_of
from spcastat.show import renderings, resampling_facts
from spcastat.show.grid import (
    UNSORTED,
    Document,
    Row,
    Table,
    VariableArrangement,
    alike,
    fixed,
    fixed_values,
    is_smallest_p,
    p_value_in_words,
    p_value_text,
    percent,
)
from spcastat.show.renderings import Excerpt, Screen
from spcastat.show.resampling_facts import OFTEN
from spcastat.show.templates import Fact, fact, lines, notes, part, warnings

#: The largest numbers of loadings, and of clusters or pairs of variables, that a table shows.
LOADING_ROWS, PAIRS = 100, 5
#: The bound on false selections is shown only if it is below this share of the number of stable loadings.
MOST_FALSE = 0.5
#: Headings of columns that differ from their names, and columns that are blank if the loading is zero.
HEADINGS = {"estimate": "loading", "std_error": "std. error", "p_value": "p", "q_value": "q"}
VARIANCE_HEADINGS = {"estimate": "variance", "std_error": "std. error", "held_out": "held out"}
BOUNDS = ("lower", "upper")
BLANK_COLUMNS = ("loading", "estimate", "std_error", "fmi", *BOUNDS)


def bootstrap_document(state: FitState, boot: Bootstrapped, level: float) -> Document:
    """Return bootstrap intervals of loadings and variances."""
    table, hidden = _intervals(state, boot, level)
    return Document(
        title=part(resampling_facts.bootstrap(boot, level, state.record.sparse)),
        facts=tuple(lines(bootstrap_header(state, boot))),
        tables=(table, _variances(with_bounds(frames.variance_ci(state, boot, level), boot, level))),
        notes=tuple(
            notes(
                [
                    *resampling_facts.of_bootstrap(state, boot, level),
                    *hidden,
                    resampling_facts.held_out(state, frames.has_intervals(boot, level)),
                ]
            )
        ),
    )


def bootstrap_header(state: FitState, boot: Bootstrapped) -> Iterator[Fact]:
    """Yield the facts of the header: the resampling units, and the similarity of the draws to the fit."""
    yield from resampling_facts.rows_drawn(boot.drawn)
    yield resampling_facts.similarity(frames.similarity(state, boot))


def stability_document(state: FitState, halves: HalfSamples) -> Document:
    """Return selection frequencies, the bound on false selections, clusters and associates."""
    groups, pairs = frames.clusters(state, halves), frames.associates(state, halves)
    return Document(
        title=part(resampling_facts.stability(halves)),
        facts=tuple(lines(resampling_facts.rows_drawn(halves.drawn))),
        tables=(_frequencies(state, halves), *_groups(groups, halves), *_associates(pairs)),
        notes=tuple(notes(resampling_facts.of_stability(state, halves))),
    )


def split_document(state: FitState, split: Split, level: float) -> Document:
    """Return the intervals estimated on the half of the rows that did not select the variables."""
    table, hidden = loading_rows(frames.split_conf_int(state, split, level), "conf_int()", 5)
    tables = [table, _variances(frames.split_variance_ci(state, split, level))]
    if split.repeats > 1:
        tables.insert(1, _combined(state, split))
    return Document(
        title=f"{part(resampling_facts.split_inference(split))} ({100 * level:g} % intervals)",
        facts=tuple(lines(resampling_facts.header_of_split(state, split))),
        tables=tuple(tables),
        notes=tuple(notes([*resampling_facts.of_split(state, split), *hidden])),
    )


def _combined(state: FitState, split: Split) -> Table:
    """Return the combined p-values of all splits for the variables of the fit, and other small ones."""
    frame = frames.split_p_values(state, split)
    visible = (state.V != 0) | (frame.to_numpy() <= SHOWN_LEVEL)
    lines = [
        Row(name_text(frame.index[j]), ("" if np.isnan(p) else fixed(p, 3),), name_text(frame.columns[c]))
        for c in range(visible.shape[1])
        for j in np.flatnonzero(visible[:, c])[:LOADING_ROWS].tolist()
        for p in [frame.iloc[j, c]]
    ]
    return Table(f"{split.repeats} splits", ("p",), tuple(lines))


def test_document(state: FitState, tested: Tested) -> Document:
    """Return the tests of the selected loadings, and of zero loadings that are significant."""
    rows_shown = resampling_facts.tests_shown(state, tested)
    table, hidden = loading_rows(rows_shown, "`table`", 4, draws=tested.draws)
    sentences = resampling_facts.of_tests(state, tested)
    return Document(
        title=part(resampling_facts.tests_of_loadings(state, tested)),
        facts=tuple(lines(resampling_facts.header_of_tests(tested))),
        tables=(table,),
        notes=tuple(notes([*sentences, *hidden])),
    )


# --- in the summary -------------------------------------------------------------------------------


def summary_table(state: FitState, intervals: bool = False) -> tuple[Table, list[Fact]]:
    """Return the summary's table of bootstrap and stability results, and the facts for its notes.

    Parameters
    ----------
    intervals : bool
        Whether the table of loadings already shows intervals.
    """
    results = state.inference
    p, sentences = len(state.V), []
    places = np.flatnonzero(state.V.T)
    columns: dict[str, np.ndarray] = {"loading": state.V.T.ravel()[places]}
    if results.bootstrap is not None:
        draws = results.bootstrap
        frame = with_bounds(frames.conf_int(state, draws), draws, 0.95)
        frame = frame.iloc[np.searchsorted(draws.places, places)]
        column_names = ["selected"] if intervals else [*BOUNDS, "selected"]
        column_names = [name for name in (*column_names, "fmi", "imputations") if name in frame]
        columns |= {name: frame[name].to_numpy() for name in column_names}
        if not intervals:
            if frames.has_intervals(draws):
                selection = resampling_facts.selection_of(draws, state.record.sparse)
                sentences.append(fact("columns of intervals", selection=selection, draws=len(draws.values)))
                sentences += resampling_facts.of_intervals(state, draws, 0.95)
            sentences += resampling_facts.of_imputations(draws)
            sentences += resampling_facts.local_search(draws)
            sentences += resampling_facts.few_draws(draws)
    if results.stability is not None:
        columns["frequency"] = frames.frequency(state, results.stability).to_numpy().T.ravel()[places]
        halves = len(results.stability.chosen)
        sentences += [fact("column of frequencies", halves=halves), fact("frequency")]
    q_value = frames.q_values(state, places)
    if results.bootstrap is not None and q_value is not None:
        columns["q_value"] = q_value
    frame = pd.DataFrame(columns)
    frame.insert(0, "term", state.spec.columns.to_flat_index()[places % p])
    frame.insert(0, "component", state.components[places // p])
    marked = [] if results.bootstrap is None else frames.not_found(state, results.bootstrap)
    table, hidden = loading_rows(frame, "tidy(conf_int=True)", len(columns), "Uncertainty", " here", marked)
    return table, [*sentences, *hidden]


# --- parts ----------------------------------------------------------------------------------------


def _intervals(state: FitState, boot: Bootstrapped, level: float) -> tuple[Table, list[Fact]]:
    """Return the table of intervals, and facts about the loadings that it leaves out."""
    frame = with_bounds(frames.conf_int(state, boot, level), boot, level)
    visible_rows = frame[resampling_facts.loadings_shown(frame)]
    hidden_shares = frame["selected"].drop(visible_rows.index)
    q_value = frames.q_values(state, boot.places)
    if q_value is not None:
        visible_rows = visible_rows.assign(q_value=q_value[visible_rows.index])
    width = len(visible_rows.columns) - 2
    table, hidden = loading_rows(visible_rows, "`table`", width, marked=frames.not_found(state, boot))
    if len(hidden_shares):
        single = len(state.components) == 1
        hidden.append(
            fact("hidden loadings", single=single, number=len(hidden_shares), share=hidden_shares.max())
        )
    return table, hidden


def loading_rows(
    frame: pd.DataFrame,
    all_of_them: str,
    width: int = 4,
    title: str = "Loading",
    location: str = "",
    marked: Sequence[Any] = (),
    draws: int = 0,
) -> tuple[Table, list[Fact]]:
    """Return a table of the largest loadings, at most LOADING_ROWS, and a fact if others are left out.

    Parameters
    ----------
    frame : DataFrame
        With the columns "component", "term", and `width` columns of numbers, the first of them the loading.
    all_of_them : str
        The method or attribute that returns all loadings, for the note.
    width : int
    title : str
        Heading of the label column.
    location : str
        The place of the table, for the note, such as " here".
    marked : sequence
        Components to mark as not found by `choose_k`.
    draws : int
        Number of permutations, if the table has their p-values.
    """
    names = list(frame.columns[2 : 2 + width])
    headings = tuple(HEADINGS.get(name, name) for name in names)
    rows = []
    for component, term, *values in _largest(frame)[["component", "term", *names]].itertuples(index=False):
        cells: list[str] = [fixed(value, 3) for value in values]
        cells = ["" if np.isnan(value) else cell for value, cell in zip(values, cells, strict=True)]
        if "p_value" in names:
            place = names.index("p_value")
            cells[place] = p_value_text(values[place], is_smallest_p(values[place], draws))
        # a bound that is exactly zero, not rounded
        cells = ["0" if v == 0 and n in BOUNDS else c for n, v, c in zip(names, values, cells, strict=True)]
        if values[0] == 0:  # zero loadings have no interval, only a frequency
            cells = ["" if name in BLANK_COLUMNS else cell for name, cell in zip(names, cells, strict=True)]
        heading = name_text(component) + " (not found by choose_k)" * (component in marked)
        rows.append(Row(name_text(term), tuple(cells), heading))
    hidden = [fact("rows shown", number=len(frame), here=location, name=all_of_them)] * (
        len(frame) > LOADING_ROWS
    )
    return Table(title, headings, tuple(rows)), hidden


def with_bounds(frame: pd.DataFrame, boot: Bootstrapped, level: float) -> pd.DataFrame:
    """Return a frame of intervals, without bounds if there are too few draws for intervals."""
    return frame if frames.has_intervals(boot, level) else frame.drop(columns=list(BOUNDS))


def _variances(frame: pd.DataFrame) -> Table:
    """Return the table of the variances of components with their intervals."""
    lines = tuple(Row(name_text(name), alike(values)) for name, *values in frame.itertuples(index=False))
    headings = (VARIANCE_HEADINGS.get(name, name) for name in frame.columns[1:])
    return Table("Component", tuple(headings), lines)


def _frequencies(state: FitState, halves: HalfSamples) -> Table:
    """Return a table of selection frequencies, the number of stable loadings, and the bound on false ones.

    It contains the variables of the fit, and others that are often selected.
    """
    frequency, bound = frames.frequency(state, halves), frames.bound(state, halves)
    values = frequency.to_numpy()
    stable = (values >= halves.threshold).sum(axis=0)
    bounded = frames.informative(state, halves) & (bound.to_numpy()[:-1] < MOST_FALSE * stable)
    met = ((state.V != 0) | (values >= OFTEN)).any(axis=1)
    sizes = np.where(met[:, None], values + np.abs(state.V), 0.0)
    places, _ = VariableArrangement(max_rows=LOADING_ROWS).rows(sizes, frequency.index)
    rows = [
        Row(name, tuple(f"{f:.2f}{'*' if f >= halves.threshold else ' '}" if f else "" for f in values[j]))
        for j, name in zip(places, full_names(frequency.index[places]), strict=True)
    ]
    ratios = zip(stable, np.count_nonzero(state.V, axis=0), strict=True)
    false = zip(bound[:-1], bounded, strict=True)
    rows += [
        Row(
            "Stable / selected",
            tuple(f"{stable_count} / {selected_count}" for stable_count, selected_count in ratios),
            rule=True,
        ),
        Row(
            "False (bound)",
            tuple(fixed(false_bound, 2) if is_bounded else "-" for false_bound, is_bounded in false),
        ),
        Row("Similarity", fixed_values(frames.similarity(state, halves), 2)),
    ]
    sentences = [fact("marks of frequencies", threshold=halves.threshold)]
    if len(places) < met.sum():
        sentences.append(fact("variables shown", number=len(places), all=int(met.sum())))
    if not met.all():
        sentences.append(fact("rarely selected", number=int((~met).sum()), share=OFTEN))
    sentences.append(
        fact(
            "false bound",
            known=bool(bound["all"] < MOST_FALSE * stable.sum()),
            bound=bound["all"],
            stable=int(stable.sum()),
            unknown=not bounded.all(),
        )
    )
    headings = tuple(full_names(state.components))
    return Table("Selected in", headings, tuple(rows), notes=tuple(notes(sentences)))


def _groups(frame: pd.DataFrame, halves: HalfSamples) -> Iterator[Table]:
    frame = frame[frame["frequency"] >= OFTEN]
    if len(frame):
        rows = []
        frame = frame.sort_values("frequency", ascending=False, kind="stable").head(PAIRS)
        for component, members, often, largest in frame.itertuples(index=False):
            names = full_names(members)
            # The first member of a cluster is listed, and up to two more if they fit in 36 characters
            name_count = next((i for i in (3, 2) if len(", ".join(names[:i])) <= 36), 1)
            rows.append(Row(f"{component}: {some_of(names, name_count)}", (f"{often:.2f}", f"{largest:.2f}")))
        yield Table(
            f"Clusters, |r| >= {halves.groups:g}",
            ("any member", "most selected"),
            tuple(rows),
            notes=tuple(notes([fact("clusters")])),
        )


def _associates(frame: pd.DataFrame) -> Iterator[Table]:
    # if no half selects the term, it is unknown whether the associate replaces it
    frame = frame.dropna(subset=["beside"]).sort_values("share", ascending=False).head(PAIRS)
    if len(frame):
        rows = [
            Row(f"{component}: {name_text(associate)} for {name_text(term)}", fixed_values(shares, 2))
            for component, term, associate, *shares in frame.itertuples(index=False)
        ]
        yield Table(
            "Associates", ("without", "with", "r"), tuple(rows), notes=tuple(notes([fact("associates")]))
        )


def _largest(frame: pd.DataFrame) -> pd.DataFrame:
    """Return a frame of loadings; a long frame is sorted by size and cut to LOADING_ROWS rows."""
    if len(frame) <= UNSORTED:
        return frame
    size = frame["loading" if "loading" in frame else "estimate"].abs()
    rank = size.groupby(frame["component"], sort=False).rank(method="first", ascending=False)
    row_limit = (
        len(frame) if len(frame) <= LOADING_ROWS else max(1, LOADING_ROWS // frame["component"].nunique())
    )
    order = np.lexsort((rank, pd.factorize(frame["component"])[0]))
    return frame.iloc[order][(rank <= row_limit).to_numpy()[order]]


# --- comparisons of groups ------------------------------------------------------------------------


#: The largest number of groups that are listed with their numbers of rows.
LISTED_GROUPS = 8
#: With more groups than this, slopes have no columns of their own.
GROUP_COLUMNS = 5
#: The largest number of variables that a table shows.
MOST_GROUP_ROWS = 60
#: The largest number of components with a row in a print that has no room for all groups.
MOST_PRINTED_ROWS = 8


def document(
    table: pd.DataFrame, slopes: pd.DataFrame, p_values: pd.Series, draws: int, about: Sequence[Fact]
) -> Document:
    """Return the comparison as a document.

    Parameters
    ----------
    table : DataFrame
        "group", "component", "rows", "variance", "congruence", "kept".
    slopes : DataFrame
        "group", "component", "term", "loading", "estimate", "std_error", "p_adjusted".
    p_values : Series
        P-values by component.
    draws : int
        Number of permutations.
    about : sequence of Fact
        The facts that `comparison_facts` returns.
    """
    return Document(
        part(fact("groups compared", number=table["group"].nunique())),
        tuple(lines(about)),
        (
            _by_group(table),
            Table(
                "Equal slopes",
                tuple(full_names(p_values.index)),
                (Row("p", tuple(_p(p, draws) for p in p_values)),),
            ),
            _slopes(slopes, draws),
        ),
        tuple(notes(about)),
        alerts=tuple(warnings(about)),
    )


def print_of_groups(document: Document, table: pd.DataFrame, p_values: pd.Series, draws: int) -> Screen:
    """Return the print of a comparison: all groups and components, with one measure if two do not fit.

    Parameters
    ----------
    document : Document
        The comparison as a document; `table`, `p_values` and `draws` are as for `document`.
    """
    p_texts = tuple(_p(p, draws) for p in p_values)
    end = renderings.ending("comparison", document.sentences)
    alerts = tuple(text[0].lower() + text[1:] for text in document.alerts)
    head = [
        line
        for label, text in document.facts
        for line in renderings.filled(
            renderings.console_text(f"{label}: {text}"), renderings.WIDTH
        ).splitlines()
    ]

    def screen(layouts: Sequence[Excerpt], meaning: str) -> Screen:
        def body(room: int) -> Excerpt:
            fitting = (text for text in layouts if renderings.fits(text.lines, room - len(head) - 1))
            text = next(fitting, Excerpt([]))
            return text.under(head) if text.lines else text

        return Screen(document.heading, body, (part(fact(meaning)),), alerts, end)

    full_screen = screen(_layouts(table, p_texts, has_shares=True), "congruence of groups")
    short_screen = screen(_layouts(table, p_texts, has_shares=False), "congruence alone")
    shortest_screen = screen([_smallest_congruences(table, p_texts)], "congruence alone")
    return replace(full_screen, brief=replace(short_screen, brief=shortest_screen))


def _layouts(table: pd.DataFrame, p_texts: tuple[str, ...], has_shares: bool) -> list[Excerpt]:
    """Return two layouts of the congruences and shares of PCA: components in rows, and groups in rows."""
    names, groups = list(dict.fromkeys(table["component"])), list(dict.fromkeys(table["group"]))
    shape = len(groups), len(names)
    order = np.lexsort((pd.factorize(table["component"])[0], pd.factorize(table["group"])[0]))
    cosines = np.array(fixed_values(table["congruence"], 3), dtype=object)[order].reshape(shape)
    shares = np.array([percent(share, 1) for share in table["kept"]], dtype=object)[order].reshape(shape)
    components, group_names = full_names(names), full_names(groups)
    indent = "  " * has_shares  # as in the rows below the second heading
    by_component = renderings.matrix(
        "Congruence",
        [*group_names, "p"],
        [(indent + name, (*cells, p)) for name, cells, p in zip(components, cosines.T, p_texts, strict=True)],
        "% of PCA" * has_shares,
        [(name, (*cells, "")) for name, cells in zip(components, shares.T, strict=True)] * has_shares,
    )
    by_group = renderings.matrix(
        "Congruence",
        components,
        [(indent + name, tuple(cells)) for name, cells in zip(group_names, cosines, strict=True)],
        "% of PCA" * has_shares,
        list(zip(group_names, map(tuple, shares), strict=True)) * has_shares,
        [("p", p_texts)],
        limit=NAME_WIDTH,
    )
    return [Excerpt(by_component), Excerpt(by_group)]


def _smallest_congruences(table: pd.DataFrame, p_texts: tuple[str, ...]) -> Excerpt:
    """Return, for each component, the group with the smallest congruence."""
    rows = []
    for (component, of_component), p in zip(table.groupby("component", sort=False), p_texts, strict=True):
        smallest = of_component.iloc[int(of_component["congruence"].argmin())]
        rows.append(
            (name_text(component), (fixed(smallest["congruence"], 3), name_text(smallest["group"]), p))
        )
    hidden = max(len(rows) - MOST_PRINTED_ROWS, 0)
    text = renderings.matrix("Congruence", ("smallest", "in group", "p"), rows[:MOST_PRINTED_ROWS])
    return Excerpt([*text, *[f"and {hidden} more components"] * (hidden > 0)], 0, hidden)


def comparison_facts(
    table: pd.DataFrame,
    slopes: pd.DataFrame,
    p_value: float,
    tests: GroupSlopes,
    k: int,
    clusters: int | None,
    serial: float | None,
) -> list[Fact]:
    """Return the facts about a comparison of groups; `table` and `slopes` are as for `document`.

    `clusters` is the number of clusters, None if rows were permuted; `serial` is the correlation of the
    scores of successive rows, None if rows are not serially dependent.
    """
    sizes = table.drop_duplicates("group")
    differing = slopes[slopes["p_adjusted"] <= SHOWN_LEVEL].drop_duplicates(["component", "term"])
    labels = [f"{name_text(t)} ({c})" for t, c in zip(differing["term"], differing["component"], strict=True)]
    counts = [
        f"{n} in {'' if isinstance(g, str) else 'group '}{name_text(g)}"
        for g, n in zip(sizes["group"], sizes["rows"], strict=True)
    ]
    p_in_words = p_value_in_words(p_value, is_smallest_p(p_value, tests.draws))
    permutations = {"done": tests.draws, "asked": tests.asked, "interrupted": tests.draws != tests.asked}
    resampling_facts = [
        fact("rows of groups", sizes=some_of(counts, LISTED_GROUPS), clusters=clusters),
        fact("common components", k=k, p=len(tests.adjusted)),
        fact("equal slopes", p=p_in_words, clusters=clusters, **permutations),
        fact("differing slopes", names=some_of(labels, 8)),
        fact("congruence of groups"),
        fact("slopes of groups"),
    ]
    if (smallest := 1.0 / (tests.draws + 1.0)) > SHOWN_LEVEL:
        resampling_facts.append(
            fact("few permutations of groups", done=tests.draws, smallest=smallest, level=SHOWN_LEVEL)
        )
    if serial is not None:
        resampling_facts.append(fact("dependent rows of groups", r=serial))
    without = slopes[slopes["estimate"].isna()].drop_duplicates(["group", "term"])
    if len(without):
        names = [
            f"{name_text(term)} ({'' if isinstance(g, str) else 'group '}{name_text(g)})"
            for term, g in zip(without["term"], without["group"], strict=True)
        ]
        resampling_facts.append(fact("no slopes in groups", names=some_of(names, 8)))
    return resampling_facts


def _p(value: float, draws: int) -> str:
    if np.isnan(value):
        return ""
    return p_value_text(value, is_smallest_p(value, draws)) if value < 1 else "1"


def _by_group(table: pd.DataFrame) -> Table:
    cells = zip(
        alike(table["variance"].tolist()),
        fixed_values(table["congruence"], 3),
        (percent(share, 1) for share in table["kept"]),
        strict=True,
    )
    rows = [
        Row(name_text(group), line, name_text(component))
        for group, component, line in zip(table["group"], table["component"], cells, strict=True)
    ]
    order = np.argsort(pd.factorize(table["component"])[0], kind="stable")
    return Table("Group", ("variance", "congruence", "% of PCA"), tuple(rows[i] for i in order))


def _slopes(slopes: pd.DataFrame, draws: int) -> Table:
    """Return the slopes of the variables of each component, and of others whose slopes differ."""
    visible_rows = slopes[(slopes["loading"] != 0) | (slopes["p_adjusted"] <= SHOWN_LEVEL)]
    groups = list(dict.fromkeys(slopes["group"]))
    columns = groups if len(groups) <= GROUP_COLUMNS else []
    rows = []
    for (component, term), rows_of_term in visible_rows.groupby(
        ["component", "term"], sort=False, dropna=False
    ):
        loading, p = rows_of_term["loading"].iloc[0], rows_of_term["p_adjusted"].iloc[0]
        estimates = rows_of_term["estimate"].to_numpy()[: len(columns)]  # one per group, in order
        cells = (fixed(loading, 3) if loading else "", *fixed_values(estimates, 2), _p(p, draws))
        rows.append(Row(name_text(term), cells, name_text(component)))
    many_notes: tuple[str, ...] = ()
    if len(rows) > MOST_GROUP_ROWS:
        many_notes = (f"The first {MOST_GROUP_ROWS} of {len(rows)} slopes are shown; `slopes` lists all.",)
    headings = ("loading", *full_names(columns), "p")
    return Table("Slopes", headings, tuple(rows[:MOST_GROUP_ROWS]), notes=many_notes)
