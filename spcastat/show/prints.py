"""The prints of a fit and of inference: what is shown first, in at most 25 lines."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import numpy as np
import pandas as pd

from spcastat.fit import frames
from spcastat.fit.frames import VARIANCE
from spcastat.fit.state import FitState
from spcastat.labels import full_names
from spcastat.show import facts, screen
from spcastat.show.grid import Arrangement, Figures, fixed, percents
from spcastat.show.screen import Item, List, Screen
from spcastat.show.summary import header_facts, largest_with_another
from spcastat.show.templates import Fact, lines, part, warnings

#: With more components, each has a row.
MOST_LISTS = 8
#: The measures that are always printed; that of the objective is printed, too.
PRINTED = ("adjusted", "pev")
#: The heading of the rows with cumulative shares.
CUMULATIVE = "Cumulative % of total variance"
#: Headings of the cumulative shares where each component has a row.
SHORT = {"cumulative least squares": "l.s.", "cumulative PCA": "PCA"}


def print_of_fit(state: FitState, notes: Sequence[str]) -> Screen:
    """Return the print of a fit: what was fitted, loadings, variances, and how it was found."""
    record, variance = state.record, frames.variance(state)
    header = list(header_facts(state))
    largest = largest_with_another(frames.score_correlation(state))
    cautions = [
        *header,
        *facts.cautions(state, largest, variance["cardinality"]),
        *facts.copies(state),
        *facts.passes(record, 3),
    ]
    title = part(facts.headline(state, variance["cardinality"].tolist()))
    constraint = [part(fact) for fact in facts.constraint(record)]
    sentences = [part(facts.how_found(record)), *constraint, *_results(state), *_rules(header)]
    return Screen(
        title,
        lambda room: _body(state, _cumulative(state, variance), largest, room),
        tuple(sentences),
        tuple(warnings(cautions)),
        screen.ending("fit", notes),
    )


def _cumulative(state: FitState, variance: pd.DataFrame) -> pd.DataFrame:
    """Return the variances without the measures that are not printed."""
    names = (*PRINTED, state.record.options.get("objective"))
    hidden = [column.name for column in VARIANCE if column.measure and column.measure not in names]
    return variance.drop(columns=hidden, errors="ignore")


def _rules(header: Sequence[Fact]) -> Iterator[str]:
    """Yield outlying cells and rows, and the rule for supports, each as one line."""
    for one_fact in header:
        if one_fact.key == "robust":
            yield part(one_fact)
    for label, text in lines(one_fact for one_fact in header if one_fact.key in ("rule", "partial")):
        yield screen.cut(f"{label}: {text}.")


def _results(state: FitState) -> Iterator[str]:
    """Yield the proofs and the results of resampling that the fit shows."""
    for _, text in lines(facts.proofs(state)):
        yield text
    for shown in facts.inference_shown(state):
        yield part(shown)


# --- loadings and variances ------------------------------------------------------------------------


def _body(state: FitState, variance: pd.DataFrame, largest: pd.Series, room: int) -> list[str]:
    """Return loadings and variances: as a matrix if it fits, else as lists, else a row for each component."""
    below = _variance_rows(variance, largest)
    if state.record.k <= MOST_LISTS:
        rows_needed = 2 + len(below) + int((state.V != 0).any(axis=1).sum())
        if rows_needed <= room and screen.fits(text := _as_matrix(state, below), room):
            return text
        table = screen.matrix(CUMULATIVE, full_names(state.components), below)
        lists = screen.side_by_side(_lists(state, variance), room - len(table) - 1)
        if lists and screen.fits(table, room):
            return [*lists, "", *table]
    return _as_items(state, variance, largest, room)


def _variance_rows(variance: pd.DataFrame, largest: pd.Series) -> list[tuple[str, tuple[str, ...]]]:
    """Return the rows of cumulative shares, and of the largest correlations of scores."""
    steps = variance["share of total"].tolist()
    rows: list[tuple[str, tuple[str, ...]]] = [
        (column.label, percents(variance[column.name].tolist(), 1, steps))
        for column in VARIANCE
        if column.group and column.name in variance
    ]
    if len(variance) > 1:
        rows.append(("Largest score |r|", tuple(Figures.of((r,), 2) for r in largest.tolist())))
    return rows


def _as_matrix(state: FitState, below: Sequence[tuple[str, tuple[str, ...]]]) -> list[str]:
    """Return the matrix of loadings, sorted by component, with blanks for zeros, above the variances."""
    order, _ = Arrangement(sort=True).rows(state.V, state.spec.columns)
    rows = [
        (name, ["" if value == 0 else fixed(value, 3) for value in state.V[j].tolist()])
        for j, name in zip(order.tolist(), full_names(state.spec.columns[order]), strict=True)
    ]
    headings = full_names(state.components)
    for limit in (screen.WIDTH, *screen.NAME_LIMITS):
        text = screen.matrix("Loadings", headings, rows, below, CUMULATIVE, limit)
        if screen.fits(text, len(text)):
            break
    return text


def _ordered(state: FitState) -> Iterator[tuple[tuple[str, ...], tuple[str, ...]]]:
    """Yield the nonzero loadings of each component, the largest first, as numbers and names."""
    for v in state.V.T:
        places = np.argsort(-np.abs(v), kind="stable")[: np.count_nonzero(v)]
        yield (
            tuple(map(str, (fixed(value, 3) for value in v[places]))),
            tuple(full_names(state.spec.columns[places])),
        )


def _lists(state: FitState, variance: pd.DataFrame) -> list[List]:
    """Return the loadings of each component as a list under its name and share."""
    shares = percents(variance["share of total"].tolist(), 1)
    heads = screen.short_labels(full_names(state.components), 20)
    parts = zip(heads, shares, _ordered(state), strict=True)
    return [List(f"{head} ({share} %)", numbers, names) for head, share, (numbers, names) in parts]


def _as_items(state: FitState, variance: pd.DataFrame, largest: pd.Series, room: int) -> list[str]:
    """Return a row for each component: cumulative shares, then its largest loadings."""
    columns = [column for column in VARIANCE if column.group and column.name in variance]
    steps = variance["share of total"].tolist()
    cells = [percents(variance[column.name].tolist(), 1, steps) for column in columns]
    heads = [SHORT.get(column.name, column.label) for column in columns]
    cells.append(tuple(Figures.of((r,), 2) for r in largest.tolist()))
    rows = []
    for name, line, (numbers, names) in zip(
        full_names(state.components), zip(*cells, strict=True), _ordered(state), strict=True
    ):
        labels = screen.short_labels(names, screen.NAME_LIMITS[-1])
        words = tuple(f"{number} {label}" for number, label in zip(numbers, labels, strict=True))
        rows.append(Item(name, line, words))
    title = f"{CUMULATIVE}, largest |r| of scores, loadings"
    return [title, *screen.items("", (*heads, "|r|", "loadings"), rows, room - 1, "components")]
