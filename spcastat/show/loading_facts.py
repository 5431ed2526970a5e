"""Facts about fits of sparse loadings: numbers and names, which templates word."""

from __future__ import annotations

from collections.abc import Iterator

import pandas as pd

from spcastat.fit.record import Record
from spcastat.fit.sparse_loadings import loadings_variance
from spcastat.fit.state import FitState
from spcastat.show.facts import data, key_of, objective, total_variance, unequal_variances, with_total
from spcastat.show.templates import Fact, fact


def method_of_loadings(record: Record) -> Fact:
    """Return the fact about the method of sparse loadings."""
    return fact(
        "method of loadings",
        title=record.title,
        paper=record.paper,
        work=record.paper[: record.paper.find(")")].replace(" (", ", "),
        citation=key_of(record.paper),
        starts=record.n_init,
    )


def header_of_loadings(state: FitState) -> Iterator[Fact]:
    """Yield the facts of the header of a fit of sparse loadings."""
    yield from unequal_variances(state.record, state.moments.variances)
    yield fact("sense of loadings")
    yield method_of_loadings(state.record)
    yield from data(state)
    record = state.record
    if record.options.get("variance") is not None:
        share = record.objective / state.moments.pca.sum()
        yield fact("goal of loadings", goal=record.options["variance"], share=share)
    yield objective(state)
    yield fact("status of ascents", advice=record.advice, converged=record.converged)


def how_found_loadings(record: Record) -> Fact:
    """Return the fact about the method of sparse loadings, and how it ended."""
    return fact("loadings printed", **method_of_loadings(record).values, advice=record.advice)


def drawn_loading_shares(state: FitState) -> pd.Series:
    """Return the share of each component, for plots, with the names of measure and total in `attrs`."""
    shares = loadings_variance(state)["share of total"]
    shares.attrs["share"] = "explained"
    return with_total(shares, state)


def explained_by_loadings(state: FitState) -> Fact:
    """Return the fact about the variance that sparse loadings explain."""
    totals = loadings_variance(state).iloc[-1]
    return fact(
        "explained by loadings",
        k=state.record.k,
        share=totals["cumulative"],
        dense=totals["cumulative PCA"],
        total=total_variance(state),
    )
