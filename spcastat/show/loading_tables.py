"""Printed output for sparse loadings: the summary, their bootstrap, and the chapters of a report."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from typing import Any

import numpy as np
import pandas as pd

from spcastat import plots
from spcastat.arguments import checked_level, flag, plural, whole_number
from spcastat.fit import frames
from spcastat.fit.record import Bootstrapped
from spcastat.fit.sparse_loadings import communalities, loadings_variance, with_loadings
from spcastat.fit.state import FitState
from spcastat.labels import full_names
from spcastat.show import facts, loading_facts, resampling_facts
from spcastat.show.grid import (
    Chapter,
    Document,
    Picture,
    Row,
    Table,
    VariableArrangement,
    alike,
    percent,
    restyled,
)
from spcastat.show.methods_text import describe_loadings
from spcastat.show.renderings import Summary
from spcastat.show.report import bibtex, first_chapter, last_chapter, loadings_picture, methods
from spcastat.show.resampling_tables import bootstrap_header, loading_rows, with_bounds
from spcastat.show.summary import bounds_of, loadings_table
from spcastat.show.templates import explained_warnings, fact, lines, notes, part


def summarise(
    state: FitState,
    digits: int,
    arrangement: VariableArrangement,
    *,
    communality: bool = True,
    conf_int: bool = False,
    level: float = 0.95,
) -> Summary:
    """Return the header, loadings and variances; see `SparseLoadings.summary`."""
    digits, level = whole_number("digits", digits, 0, 10), checked_level(level)
    of_loadings, record, remarks = with_loadings(state), state.record, []
    loadings = of_loadings.by_variable(of_loadings.V)
    options: dict[str, Any] = {}
    if flag("communality", communality):
        options["columns"] = pd.DataFrame({"h2": communalities(state)})
        remarks.append("h2: communality, the share of the variance that all components explain.")
    if flag("conf_int", conf_int):
        options["intervals"], about = _bounds(of_loadings, level)
        remarks.append(about)
    table = loadings_table(loadings, arrangement, **options)
    table = replace(table, notes=(*table.notes, *remarks))
    shares = loadings_variance(state)
    counts = plural(int(np.count_nonzero(of_loadings.V)), "nonzero loading")
    document = Document(
        f"Sparse loadings: {plural(record.k, 'component')} of {plural(record.p, 'variable')}, {counts}",
        tuple(lines(loading_facts.header_of_loadings(state))),
        (table, variance_rows(shares, facts.cumulative_heading(state))),
        tuple(notes([*facts.of_cleaned_data(state), fact("variance of sparse loadings")])),
        warnings=tuple(explained_warnings(loading_facts.header_of_loadings(state))),
    )
    tables = {"loadings": loadings, "variance": shares, "communalities": communalities(state).to_frame()}
    return Summary(restyled(document, digits), tables)


def variance_rows(shares: pd.DataFrame, cumulative: str) -> Table:
    """Return the variances of :func:`spcastat.fit.sparse_loadings.loadings_variance` as a table."""
    rows = (
        Row("Nonzeros", tuple(str(count) for count in shares["cardinality"])),
        Row("Sum of squares", alike(shares["sum of squares"].tolist())),
        Row("% of total", tuple(map(percent, shares["share of total"]))),
        Row("sparse loadings", tuple(map(percent, shares["cumulative"])), cumulative),
        Row("PCA (dense)", tuple(map(percent, shares["cumulative PCA"])), cumulative),
    )
    return Table("Variance", tuple(full_names(shares.index)), rows)


def _bounds(of_loadings: FitState, level: float) -> tuple[tuple[pd.DataFrame, pd.DataFrame], str]:
    """Return lower and upper bounds of the loadings from the bootstrap stored with the fit, and a note."""
    draws_shown = frames.intervals_shown(of_loadings, level)
    bounds = bounds_of(of_loadings, draws_shown, level, "percentile")
    heading = fact("loadings in brackets", level=level, draws=draws_shown.draws)
    return bounds, " ".join(notes([heading, resampling_facts.percentile_meaning(draws_shown.select, level)]))


def bootstrap_document(state: FitState, boot: Bootstrapped, level: float) -> Document:
    """Return the intervals of the nonzero loadings, and their selection frequencies over the draws."""
    of_loadings = with_loadings(state)
    frame = with_bounds(frames.conf_int(of_loadings, boot, level, "percentile"), boot, level)
    nonzero_rows = frame[frame["estimate"] != 0]
    table, hidden = loading_rows(nonzero_rows, "`table`", len(frame.columns) - 2)
    if len(frame) > len(nonzero_rows):
        hidden.append(fact("zero loadings selected", number=len(frame) - len(nonzero_rows)))
    has_intervals = frames.has_intervals(boot, level)
    sentences = [
        *([resampling_facts.percentile_meaning(boot.select, level)] if has_intervals else []),
        *hidden,
        *resampling_facts.about_rows(state, boot.notice),
        *resampling_facts.few_draws(boot, level),
    ]
    return Document(
        part(resampling_facts.bootstrap(boot, level, loadings=True)),
        tuple(lines(bootstrap_header(of_loadings, boot))),
        (table,),
        tuple(notes(sentences)),
    )


# --- the report -----------------------------------------------------------------------------------


def chapters(
    state: FitState,
    scores: pd.DataFrame | None,
    call: str,
    arrangement: VariableArrangement,
    digits: int,
    row_groups: Any = None,
) -> Iterator[Chapter]:
    """Yield the chapters of a report; `arrangement` and `digits` are for the table of loadings."""
    of_loadings = with_loadings(state)
    summary = summarise(state, digits, arrangement)._document()
    yield first_chapter(state, summary)
    yield Chapter("Loadings", (loadings_picture(of_loadings, arrangement.groups),))
    if state.inference.bootstrap is not None:
        yield Chapter("Uncertainty", (bootstrap_document(state, state.inference.bootstrap, 0.95),))
    if scores is not None and state.record.k > 1:
        loadings, shares = of_loadings.by_variable(of_loadings.V), loading_facts.drawn_loading_shares(state)
        picture = Picture(
            lambda ax: plots.biplot(scores, loadings, shares=shares, groups=row_groups, ax=ax),
            5.5,
            5.5,
            "biplot",
            "Scores of the rows and loadings on the first two components.",
            height_on_phones=5.2,
        )
        yield Chapter("Score plots", (picture,))
    description = describe_loadings(state)
    yield Chapter("For a methods section", (methods(description),))
    yield last_chapter(state, summary, call)
    yield Chapter("References as BibTeX", (bibtex(description),))
