"""The prints of a fit and of inference: what is shown first, in at most 25 lines."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import TypeAlias

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from spcastat.fit import frames
from spcastat.fit.frames import CUMULATIVE, VARIANCE
from spcastat.fit.sparse_loadings import loadings_variance, with_loadings
from spcastat.fit.state import FitState
from spcastat.labels import full_names
from spcastat.show import facts, screen
from spcastat.show.grid import Figures, VariableArrangement, fixed, percents
from spcastat.show.screen import Item, List, Screen
from spcastat.show.summary import header_facts, largest_with_another
from spcastat.show.templates import Fact, lines, part, warnings

#: A label and cells.
Line: TypeAlias = tuple[str, tuple[str, ...]]
#: With more components, each has a row.
MOST_LISTS = 8
#: The measures that are always printed; that of the objective is printed, too.
PRINTED = ("adjusted", "pev")
#: Headings of the cumulative shares where each component has a row.
SHORT_HEADINGS = {"cumulative least squares": "l.s.", "cumulative PCA": "PCA"}


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
    body, alerts = _components(state, variance, largest).lines, tuple(warnings(cautions))
    results_shown = [*constraint, *_results(state)]
    brief = Screen(
        part(facts.headline_in_brief(state, variance["cardinality"].tolist())),
        body,
        (part(facts.found_in_brief(record)), *results_shown, *_brief_rules(header)),
        alerts,
        screen.ending("fit", []),
    )
    sentences = (part(facts.how_found(record)), *results_shown, *_rules(header))
    return Screen(title, body, sentences, alerts, screen.ending("fit", notes), brief)


def _brief_rules(header: Sequence[Fact]) -> Iterator[str]:
    """Yield outlying cells and rows, and the rule for supports, as sentences."""
    for item in header:
        if item.key in ("robust", "rule"):
            sentence = part(item)
            yield screen.fitted_line(sentence[0].upper() + sentence[1:])


def _rules(header: Sequence[Fact]) -> Iterator[str]:
    """Yield outlying cells and rows, and the rule for supports, each as one line."""
    for one_fact in header:
        if one_fact.key == "robust":
            yield part(one_fact)
        elif one_fact.key == "partial":
            yield screen.fitted_line(part(one_fact))
    for label, text in lines(one_fact for one_fact in header if one_fact.key == "rule"):
        yield screen.fitted_line(f"{label}: {text}.")


def _results(state: FitState) -> Iterator[str]:
    """Yield the proofs and the results of resampling that the fit shows."""
    for _, text in lines(facts.proofs(state)):
        yield text
    for inference in facts.inference_shown(state):
        yield part(inference)


# --- loadings and variances ------------------------------------------------------------------------


@dataclass(frozen=True)
class Components:
    """Loadings, and rows of numbers about the components that are printed with them.

    Attributes
    ----------
    V : ndarray of shape (p, k)
    variables, names : Index
        The names of the variables and of the components.
    shares : list of float
        The share of each component in the total variance.
    heading : str
        What the first rows below are.
    below, last : list of (str, tuple of str)
        Labels and cells of the rows below the loadings, with and without the heading.
    short : tuple of str
        The labels where each component has a row.
    """

    V: NDArray[np.float64]
    variables: pd.Index
    names: pd.Index
    shares: list[float]
    heading: str
    lower_rows: list[Line]
    final_rows: list[Line]
    short: tuple[str, ...]

    def lines(self, room: int) -> list[str]:
        """Return a matrix if it fits, else lists side by side, else a row for each component."""
        if len(self.names) <= MOST_LISTS:
            rows_needed = (
                2 + len(self.lower_rows) + len(self.final_rows) + int((self.V != 0).any(axis=1).sum())
            )
            if rows_needed <= room and screen.fits(text := self._matrix(), room):
                return text
            table = screen.matrix(self.heading, full_names(self.names), [*self.lower_rows, *self.final_rows])
            lists = screen.side_by_side(self._lists(), room - len(table) - 1)
            if lists and screen.fits(table, room):
                return [*lists, "", *table]
        return self._items(room)

    def _matrix(self) -> list[str]:
        """Return the matrix of loadings, sorted by component, with blanks for zeros, above the other rows."""
        order, _ = VariableArrangement(sort=True).rows(self.V, self.variables)
        rows = [
            (name, ["" if value == 0 else fixed(value, 3) for value in self.V[j].tolist()])
            for j, name in zip(order.tolist(), full_names(self.variables[order]), strict=True)
        ]
        headings = full_names(self.names)
        for limit in (screen.WIDTH, *screen.NAME_LIMITS):
            text = screen.matrix(
                "Loadings", headings, rows, self.heading, self.lower_rows, self.final_rows, limit
            )
            if screen.fits(text, len(text)):
                break
        return text

    def _ordered(self) -> Iterator[tuple[tuple[str, ...], tuple[str, ...]]]:
        """Yield the nonzero loadings of each component, the largest first, as numbers and names."""
        for v in self.V.T:
            places = np.argsort(-np.abs(v), kind="stable")[: np.count_nonzero(v)]
            numbers = tuple(str(fixed(value, 3)) for value in v[places].tolist())
            yield numbers, tuple(full_names(self.variables[places]))

    def _lists(self) -> list[List]:
        """Return the loadings of each component as a list under its name and share."""
        shares = percents(self.shares, 1)
        heads = screen.short_labels(full_names(self.names), 20)
        parts = zip(heads, shares, self._ordered(), strict=True)
        return [List(f"{head} ({share} %)", numbers, names) for head, share, (numbers, names) in parts]

    def _items(self, room: int) -> list[str]:
        """Return a row for each component: the rows below as columns, then its largest loadings."""
        cells = zip(*(cells for _, cells in (*self.lower_rows, *self.final_rows)), strict=True)
        rows = []
        for name, line, (numbers, names) in zip(full_names(self.names), cells, self._ordered(), strict=True):
            labels = screen.short_labels(names, screen.NAME_LIMITS[-1])
            words = tuple(f"{number} {label}" for number, label in zip(numbers, labels, strict=True))
            rows.append(Item(name, line, words))
        return [self.heading, *screen.items("", (*self.short, "loadings"), rows, room - 1, "components")]


def _components(state: FitState, variance: pd.DataFrame, largest: pd.Series) -> Components:
    """Return the components of a fit with cumulative shares and the largest correlations of scores."""
    names = ("", *PRINTED, state.record.options.get("objective"))
    columns = [
        column for column in VARIANCE if column.group and column.name in variance and column.measure in names
    ]
    steps = variance["share of total"].tolist()
    lower_rows: list[Line] = [
        (column.label, percents(variance[column.name].tolist(), 1, steps)) for column in columns
    ]
    short = [SHORT_HEADINGS.get(column.name, column.label) for column in columns]
    final_rows: list[Line] = []
    if len(variance) > 1:
        final_rows.append(("Largest score |r|", tuple(Figures.of((r,), 2) for r in largest.tolist())))
        short.append("|r|")
    return Components(
        state.V, state.spec.columns, state.components, steps, CUMULATIVE, lower_rows, final_rows, tuple(short)
    )


# --- sparse loadings and coordinates ----------------------------------------------------------------


def print_of_loadings(state: FitState, notes: Sequence[str]) -> Screen:
    """Return the print of a fit of sparse loadings."""
    of_loadings, variance = with_loadings(state), loadings_variance(state)
    shares = variance["share of total"].tolist()
    lower_rows: list[Line] = [
        ("sparse loadings", percents(variance["cumulative"].tolist(), 1, shares)),
        ("PCA (dense)", percents(variance["cumulative PCA"].tolist(), 1, shares)),
    ]
    components = Components(
        of_loadings.V,
        state.spec.columns,
        state.components,
        shares,
        CUMULATIVE,
        lower_rows,
        [],
        ("loadings", "PCA"),
    )
    header = list(facts.header_of_loadings(state))
    return Screen(
        part(facts.headline(state, variance["cardinality"].tolist())),
        components.lines,
        (part(facts.how_found_loadings(state.record)), *_results(state)),
        tuple(warnings(header)),
        screen.ending("fit", notes),
    )


def print_of_coordinates(
    title: str,
    loadings: pd.DataFrame,
    variance: pd.DataFrame,
    sentence: str,
    notes: Sequence[str],
) -> Screen:
    """Return the print of sparse principal coordinates: their loadings, zeros and shares."""
    shares = np.diff(variance["cumulative CPEV"], prepend=0.0).tolist()
    lower_rows: list[Line] = [
        (label, percents(variance[name].tolist(), 1, shares))
        for label, name in (("CPEV", "cumulative CPEV"), ("coordinates", "cumulative fit"))
    ]
    lower_rows.append(("PCA (dense)", percents(variance["cumulative PCA"].tolist(), 1, shares)))
    zeros: Line = ("Zero coordinates, %", percents(variance["share of zeros"].tolist(), 1))
    components = Components(
        loadings.to_numpy(),
        loadings.index,
        loadings.columns,
        shares,
        CUMULATIVE,
        lower_rows,
        [zeros],
        ("CPEV", "coord.", "PCA", "zeros"),
    )
    return Screen(title, components.lines, (sentence,), (), screen.ending("fit", notes))
