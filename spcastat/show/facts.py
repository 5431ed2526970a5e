"""Facts about a fit for its summary and a methods section: numbers and names, which templates word."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any, TypeVar

import numpy as np
import pandas as pd

from spcastat.fit import frames, outliers
from spcastat.fit.frames import variance
from spcastat.fit.record import PRINCIPAL_VARIABLES, Record
from spcastat.fit.state import FitState, groups_of, rule_words
from spcastat.inputs.cleaning import OUTLIERS, Cleaning
from spcastat.inputs.dependence import gaps_warning, serial_warning
from spcastat.labels import full_names, name_text, some_of
from spcastat.linalg.standardisation import ScalingGroups, variable_count, variance_ratio
from spcastat.linalg.wrapping import END
from spcastat.measures import ADJUSTED_MEASURE, LEAST_SQUARES_MEASURE, PEV_MEASURE, measure_named
from spcastat.reading.design import Partial, design_text
from spcastat.search.constraints import CONSTRAINTS
from spcastat.search.objectives import OBJECTIVES, Objective
from spcastat.show.grid import percent
from spcastat.show.proof_facts import proof_methods, proof_sentence
from spcastat.show.templates import Fact, fact, part

#: The largest number of covariates that are named, and of variables whose explained shares are given.
FEW_NAMES = 4
#: The largest number of different cardinalities that are listed.
FEW_COUNTS = 8
#: With more components than this, prints have a row for each component, and short headings of measures.
MOST_LISTS = 8
#: The entry of the table of methods in place of a paper, for methods of this package.
OURS = "of this package"
#: Kinds of correlations that are named after people.
CORRELATION_NAMES = {
    "spearman": "Spearman",
    "pearson": "Pearson",
    "mixed": "polychoric, polyserial and Pearson",
}

# --- data -----------------------------------------------------------------------------------------


def data(state: FitState) -> Iterator[Fact]:
    """Yield facts about rows or the matrix, covariates, rows that belong together, and missing values."""
    record = state.record
    yield dataset(state)
    if state.spec.partial is not None:
        yield partial(state, state.spec.partial)
    if record.row_design:
        yield draws(record)
    if state.cleaning is not None:
        yield robust(state, state.cleaning)
    r = record.serial_correlation()
    if r is not None:
        yield fact("successive rows", r=r, remark=serial_warning(r))
    if record.dropped and (record.dated or (record.row_design or {}).get("block_length")):
        yield gaps(record)
    if record.missing is not None:
        yield missing(record)
    if record.matrix is not None and "completed" in record.matrix:
        yield fact("completed matrix", remark=record.matrix["completed"])
    if record.matrix is not None and "moved" in record.matrix:
        yield nearest(record.matrix)


def data_of_methods(state: FitState) -> Iterator[Fact]:
    """Yield the facts about data for a methods section, in its order."""
    record = state.record
    yield dataset(state)
    if not record.from_rows:
        kind = (record.matrix or {}).get("kind")
        if kind in ("polychoric", "mixed"):
            yield fact(f"{kind} correlations")
        yield from adjustment(state)
        yield from weighted_groups(record)
        return
    r = record.serial_correlation()
    resampled = bool(state.inference.is_resampled or record.how_chosen())
    if r is not None:
        yield fact("serial", r=r, resampled=resampled)
    yield from adjustment(state)
    if state.cleaning is not None:
        yield from robust_methods(state.cleaning)
        yield from of_cleaned_data(state)
    if record.imputations:
        yield fact("imputations", number=record.imputations)
    if state.spec.codes:
        yield fact("codes", names=some_of(full_names(state.spec.codes), NAMED_ROWS))
    contrast = (record.centring == "none") != (record.scaling == "none")
    yield fact("standardisation", contrast=contrast, **standardisation(record))
    yield from weighted_groups(record)
    if record.weighted:
        yield fact("weights", total=record.effective_n, column=column_given(record.call, "weights"))
    if resampled and design_text(record.row_design):
        yield draws(record)
    if record.missing is not None and record.missing["cells"]:
        yield missing(record)


def dataset(state: FitState) -> Fact:
    """Return the fact about the rows or the matrix."""
    record = state.record
    about = record.matrix or {}
    values: dict[str, Any] = {
        "analysis": fact(
            "analysis",
            sparse=record.sparse,
            loadings=state.pattern is not None,
            variables=record.method == PRINCIPAL_VARIABLES,
        ),
        "n": record.n or 0,
        "p": record.p,
    }
    mixed = record.scaling == "mixed"
    if record.from_rows:
        values |= {"p": variables_of_mixed(record), "columns": record.p} if mixed else {"columns": 0}
        return fact(
            "rows",
            **values,
            **standardisation(record),
            contrast_mean=(record.centring or "none") != "mean",
            title=record.title_of_data,
            imputations=record.imputations,
            dropped=record.dropped,
            missing=missing(record) if record.missing and record.missing["cells"] else None,
            formula="" if mixed and record.formula == "~ ." else record.formula,  # "~ ." is all columns
            weighted=record.weighted,
            counted="" if record.effective_n == record.n else f"{record.effective_n:,.6g}",
        )
    kind = about.get("kind")
    kind_fact = (
        fact("kind covariance")
        if kind is None
        else fact("kind correlation", name=CORRELATION_NAMES.get(kind, kind))
    )
    if kind is None and state.has_unit_variances:
        kind_fact = fact("kind correlation", name=None)
    scaling = None if record.groups is None else fact(f"scaling {record.groups['kind']}")
    return fact(
        "matrix",
        **values,
        kind=kind_fact,
        known_n=record.n is not None,
        scaling=scaling,
        moved="moved" in about,
    )


def column_given(call: str, option: str) -> str:
    """Return the name of the column that was passed as an option of a call, or ""."""
    try:
        expression = ast.parse(call, mode="eval").body
    except SyntaxError:  # the call contains values that are abbreviated
        return ""
    keywords = expression.keywords if isinstance(expression, ast.Call) else []
    values = [keyword.value for keyword in keywords if keyword.arg == option]
    names = [value.value for value in values if isinstance(value, ast.Constant)]
    return names[0] if names and isinstance(names[0], str) else ""


def standardisation(record: Record) -> dict[str, Fact]:
    """Return how the variables were centred, and how they were scaled."""
    about_means = record.centring == "mean" or record.scaling != "sd"
    scaling = record.scaling or "none"
    return {
        "centring": fact(f"centring {record.centring or 'none'}"),
        "scaling": fact(f"scaling {scaling}" if about_means else "scaling by root mean square"),
    }


def partial(state: FitState, adjusted: Partial) -> Fact:
    """Return the fact about covariates: the variance they explain and the variables they explain best."""
    record, parts = state.record, adjusted.regression.shares
    order = np.argsort(-parts, kind="stable").tolist()
    strongest = [f"{name_text(state.spec.columns[j])} {100 * parts[j]:.1f}" for j in order]
    names = list(map(name_text, adjusted.names))
    known_free = record.effective_n is not None
    return fact(
        "partial",
        p=record.p,
        given=_abbreviated(names),
        names=enumeration(adjusted.names),
        share=share_taken(state),
        strongest=_abbreviated(strongest),
        known_free=known_free,
        free=(record.effective_n or 0) - 1 - adjusted.regression.rank,
    )


def enumeration(words: Iterable[str], conjunction: str = "and") -> str:
    """Return words joined by commas, with a conjunction before the last word; "" for no words."""
    *first_words, last_word = [*words] or [""]
    return f"{', '.join(first_words)} {conjunction} {last_word}" if first_words else last_word


def _abbreviated(names: list[str]) -> str:
    """Return names separated by commas; of a long list, only the first ones and the last."""
    return ", ".join(names if len(names) <= FEW_NAMES else [*names[: FEW_NAMES - 1], "...", names[-1]])


def share_taken(state: FitState) -> float:
    """Return the share of the total variance of the scaled variables that the covariates explain."""
    assert state.spec.partial is not None
    parts = state.spec.partial.regression.shares
    residual = state.moments.variances
    if state.record.scaling == "sd" or (not state.record.from_rows and state.has_unit_variances):
        return float(parts.mean())  # variances are one before and after the adjustment
    return float(1.0 - residual.sum() / (residual / (1.0 - parts)).sum())


def adjustment(state: FitState) -> Iterator[Fact]:
    """Yield the fact about covariates, if there are any."""
    if state.spec.partial is not None:
        yield partial(state, state.spec.partial)


def weighted_groups(record: Record) -> Iterator[Fact]:
    """Yield the fact about the groups of variables that were used for scaling."""
    if record.groups is not None and record.groups["kind"] == "mixed":
        yield fact("scaled as mixed data")
    elif record.groups is not None:
        yield fact("scaled by blocks", names=", ".join(record.groups["names"]))


def gaps(record: Record) -> Fact:
    """Return the fact about dropped rows that leave gaps in a time series."""
    return fact("gaps", dropped=record.dropped, remark=gaps_warning(record.dropped))


def draws(record: Record) -> Fact:
    """Return the fact about the rows that belong together."""
    in_time = (record.row_design or {}).get("block_length")
    return fact("draws in time" if in_time else "draws", design=design_text(record.row_design))


#: The largest number of names in a line; the largest share of outlying cells in a column without a remark.
NAMED_ROWS, MUCH_OF_A_COLUMN = 4, 0.1


def robust(state: FitState, cleaning: Cleaning) -> Fact:
    """Return the fact about outlying cells and rows for the header of a summary."""
    table = outliers.columns(state)
    plain = full_names(table.index[~table["judged"]]) if cleaning.cells else []
    full = table.loc[table["share"] > MUCH_OF_A_COLUMN, "share"].sort_values(ascending=False, kind="stable")
    often = [f"{name_text(name)} {100 * share:.0f} %" for name, share in full.items()]
    cells: Fact = _cells(cleaning) if cleaning.cells else fact("cells as they are")
    rows: Fact | None = _rows_left_out(state, cleaning)
    if cleaning.cells and not cleaning.pulled and rows == fact("no row left out"):
        cells, rows = fact("nothing outlying"), None
    return fact(
        "robust",
        cells=cells,
        rows=rows,
        grouped=cleaning.grouped,
        loadings=state.pattern is not None,
        bent=int((cleaning.wrapping.power != 1.0).sum()),
        judged=int(table["judged"].sum()),
        plain=len(plain),
        plain_names=some_of(plain, NAMED_ROWS),
        often=some_of(often, NAMED_ROWS) if cleaning.cells else "",
    )


def _cells(cleaning: Cleaning, key: str = "cells downweighted") -> Fact:
    """Return the fact about outlying cells, with their share in percent (None if it rounds to zero)."""
    share = 100.0 * cleaning.pulled / max(cleaning.known, 1)
    return fact(
        key,
        outlying=cleaning.pulled,
        known=cleaning.known,
        share=share if share >= 0.05 else None,
        emptied=cleaning.emptied,
        kept=len(cleaning.left_out) > 0,
        bend=cleaning.wrapping.bend,
        end=END,
    )


def _rows_left_out(state: FitState, cleaning: Cleaning) -> Fact:
    out, n = cleaning.left_out, len(cleaning.kept)
    if not cleaning.rows:
        return fact("rows not judged")
    if cleaning.grouped:
        return fact("rows in groups", far=cleaning.grouped, n=n)
    if not len(out):
        return fact("no row left out")
    names = some_of(full_names(outliers.labels_of(state)[out]), NAMED_ROWS)
    return fact("rows left out", out=len(out), n=n, names=names)


def robust_methods(cleaning: Cleaning) -> Iterator[Fact]:
    """Yield the facts about outlying cells and rows for a methods section."""
    bent = int((cleaning.wrapping.power != 1.0).sum())
    if cleaning.cells:
        yield _cells(cleaning, "outlying cells")
    if bent:
        yield fact("skewed columns", bent=bent)
    if cleaning.rows:
        yield fact("outlying rows", out=len(cleaning.left_out), n=len(cleaning.kept), limit=OUTLIERS.far)


def of_cleaned_data(state: FitState) -> Iterator[Fact]:
    """Yield the fact that variances refer to cleaned data, if cleaning changed the data."""
    changes = state.cleaned
    if any(changes.values()):
        yield fact("of cleaned data", **changes)


def total_variance(state: FitState) -> Fact:
    """Return the name of the total variance, the denominator of all shares."""
    return fact("total variance", **state.cleaned, partial=state.spec.partial)


#: A table of variances or shares.
Variances = TypeVar("Variances", pd.DataFrame, pd.Series)


def with_total(table: Variances, state: FitState) -> Variances:
    """Store the name of the total variance, for plots, in ``attrs["total"]`` of a table, and return it."""
    table.attrs["total"] = part(total_variance(state))
    return table


def drawn_shares(state: FitState) -> pd.Series:
    """Return the share of each component, for plots, with the names of measure and total in `attrs`."""
    shares = frames.variance(state)["share of total"]
    shares.attrs["share"] = "adjusted" * (not state.record.is_pca)
    return with_total(shares, state)


def drawn_variances(state: FitState) -> pd.DataFrame:
    """Return the variances of the components, for a scree plot, with total and label in `attrs`."""
    table = with_total(frames.variance(state), state)
    if not (state.record.sparse or state.record.is_pca):
        table.attrs["label"] = f"{state.record.method} (adjusted)"
    return table


def cumulative_heading(state: FitState) -> str:
    """Return the heading of cumulative shares of variance, which says so if the data were cleaned."""
    return frames.CUMULATIVE.replace("total variance", part(total_variance(state)))


def missing(record: Record) -> Fact:
    """Return the fact about missing values."""
    about = record.missing or {}
    mixed = record.scaling == "mixed"
    cells = (record.n or 0) * (variables_of_mixed(record) if mixed else record.p)
    if not about["cells"]:
        return fact("none missing", model=about["how"] == "em", rank=about.get("rank"))
    share = 100.0 * about["cells"] / cells if cells else 0.0
    values = {**about, "n": record.n or 0, "share": share}
    if about["how"] == "em":
        return fact("missing by FAMD" if mixed else "missing by EM", **values)
    change = None if about["moved"] == 0.0 else nearest(about)
    return fact("missing by pairs", **values, nearest=change)


def variables_of_mixed(record: Record) -> int:
    """Return the number of variables, numeric or factors; `p` counts the levels of factors instead."""
    groups = record.groups or {"names": [], "of": []}
    return variable_count(record.p, groups["of"], groups["names"])


def nearest(about: Mapping[str, Any]) -> Fact:
    """Return the fact about an indefinite matrix that was replaced by the nearest correlation matrix."""
    pair = " and ".join(about["pair"]) if "pair" in about else None
    return fact("nearest", **{**about, "pair": pair})


def unequal_variances(record: Record, variances: np.ndarray, call: str = "scale=True") -> Iterator[Fact]:
    """Yield a fact, with the advice `call`, if `variances`, shape (p,), differ strongly without scaling."""
    positive = variances[variances > 0]
    unscaled = record.groups is None and (not record.from_rows or record.scaling == "none")
    if unscaled and variance_ratio(variances):
        advice = call if record.from_rows else None
        yield fact("unequal variances", smallest=positive.min(), largest=positive.max(), call=advice)


def counts(record: Record) -> Iterator[Fact]:
    """Yield a fact if the data may be counts, since a few large rows can then dominate the components."""
    if record.may_be_counts:
        yield fact("counts")


def shares_of_groups(state: FitState, groups: ScalingGroups | None) -> Iterator[Fact]:
    """Yield the share of the variance of each group of variables, for a fit that is scaled by groups."""
    if groups is None:
        return
    mixed, parts = groups.kind == "mixed", groups.shares(state.moments.variances)
    texts = [
        part(fact("shares of groups", name=name, share=parts[j], count=int(groups.counts[j]), mixed=mixed))
        for j, name in enumerate(groups.names)
    ]
    if groups.counts[-1]:
        texts.append(part(fact("shares of numbers", count=int(groups.counts[-1]), share=parts[-1])))
    yield fact("factors" if mixed else "blocks", shares=", ".join(texts))


# --- components -----------------------------------------------------------------------------------


def numbers(record: Record, V: np.ndarray) -> Iterator[Fact]:
    """Yield facts about the numbers of components and of nonzero loadings."""
    counts = np.count_nonzero(V, axis=0).tolist()
    if not record.sparse:
        yield fact("components", k=record.k)
        return
    if len(set(counts)) == 1:
        yield fact("equal numbers", k=record.k, card=counts[0])
    else:
        cards = f"{', '.join(map(str, counts[:-1]))} and {counts[-1]}"
        yield fact("unequal numbers", k=record.k, cards=cards)
    share = record.options.get("variance")
    if share is not None:
        yield fact("share kept", goal=share, k=record.k)


def goal(record: Record) -> Iterator[Fact]:
    """Yield the fact about the target share of variance that the fit keeps."""
    share = record.options.get("variance")
    if share is not None:
        yield fact("goal", goal=share, total=_is_kept_in_total(record))


def _is_kept_in_total(record: Record) -> bool:
    """Return whether all components together keep the target share, instead of every number of them."""
    # in old files the option "search" marks a target for all components together
    return record.options.get("promise") == "total" or record.options.get("search") == "joint"


def _is_kept_after_each(record: Record) -> bool:
    """Return whether there are several components, and each number of them keeps the target share."""
    return record.k > 1 and not _is_kept_in_total(record)


def rule(state: FitState) -> Iterator[Fact]:
    """Yield the fact about the rule for supports."""
    if words := rule_words(state):
        yield fact("rule", rule=words)


def groups_by_component(state: FitState) -> Iterator[Fact]:
    """Yield the fact about the groups of variables in each component."""
    if (membership := pd.DataFrame(groups_of(state), state.components)).size:
        texts = [f"{name} {', '.join(row.index[row])}" for name, row in membership.iterrows()]
        yield fact("groups of components", groups="; ".join(texts))


# --- method ---------------------------------------------------------------------------------------


def method(record: Record) -> Fact:
    """Return the fact about the method."""
    objective = objective_of(record)
    return fact(
        "method" if record.evidence is None else "joint method",
        name=record.method,
        title=record.title,
        title_within=_within_sentence(record.title),
        paper=record.paper,
        citation=key_of(record.paper),
        published=record.paper != OURS,
        nonneg=record.options.get("nonneg"),
        criterion=record.criterion,
        work=record.paper[: record.paper.find(")") + 1],
        compared=record.status == "compared",
        stopped=not record.converged,
        several=record.n_init > 1,
        starts=record.n_init,
        measure=record.criterion if objective is None else measure_label(record, objective),
        k=record.k,
    )


def _within_sentence(title: str) -> str:
    """Return a title in lower case, unless it begins with an abbreviation."""
    return f"{title[:1].lower()}{title[1:]}" if title[1:2].islower() else title


def measure_label(record: Record, objective: Objective) -> str:
    """Return the name of the objective; for one component, adjusted variance and PEV are its variance."""
    is_variance = record.k == 1 and objective.equals_variance
    return "variance of the component" if is_variance else objective.label


def objective_of(record: Record) -> Objective | None:
    """Return the objective that the method maximised; None if the method has no choice of objective."""
    return OBJECTIVES.get(str(record.options.get("objective")))


def key_of(paper: str) -> str:
    """Return the BibTeX key of a paper: "zou2006" for "Zou, Hastie and Tibshirani (2006)"."""
    match = re.match(r"([^ ,]+).*?\((\d{4})\)", paper)
    return re.sub(r"\W", "", match[1]).lower() + match[2] if match else ""


def objective(state: FitState) -> Fact:
    """Return the fact about the value of the objective."""
    record, share = state.record, state.record.objective_share
    return fact(
        "objective",
        criterion=record.criterion,
        value=record.objective,
        known_share=share is not None,
        share=share or 0.0,
        total=total_variance(state),
    )


def constraint(state: FitState) -> Iterator[Fact]:
    """Yield the fact about a constraint on the components."""
    record, evidence = state.record, state.record.evidence or {}
    if "violation" in evidence:
        record_of_constraint = CONSTRAINTS[evidence["constraint"]]
        yield fact(
            "constraint",
            label=record_of_constraint.label,
            product=record_of_constraint.product,
            violation=evidence["violation"],
            without=evidence["without"],
            measure=OBJECTIVES[record.options["objective"]].label,
            total=total_variance(state),
        )


def status(record: Record) -> Fact:
    """Return the fact about how the fit ended."""
    iterated = record.evidence is None and record.status not in ("exact", "compared")
    return fact(
        "status",
        advice=record.advice,
        iterations=record.n_iter if iterated else 0,
        several=record.n_init > 1 and iterated,
        starts=record.n_init,
        reached=record.reached,
    )


def search(evidence: Mapping[str, Any], p: int) -> Iterator[Fact]:
    """Yield facts about a search over supports of `p` variables; see :mod:`spcastat.solvers.solver`."""
    if "proposals" in evidence:
        yield from search_for_fewest(evidence)
        return
    if "violation" in evidence:
        yield fact("settled fits", hits=evidence["hits"], fits=evidence["settled_fits"])
        return
    groups = "groups" in evidence
    if evidence["proven"]:
        yield fact("better proven impossible", groups=groups)
        return
    if groups and evidence["every"]:
        yield fact("all partitions")
        return
    if (evidence.get("variables") or p) < p:
        yield fact("search among", number=evidence["variables"], p=p)
    if evidence["starts"] > 1:
        chains = evidence.get("chains", 1)
        yield fact(
            "starts",
            hits=evidence["hits"],
            starts=evidence["starts"],
            several=chains > 1,
            agreeing=evidence.get("agreeing"),
            chains=chains,
        )
    if evidence["settled"] and evidence.get("sufficient") is not False:
        yield fact("settled", groups=groups)


def search_for_fewest(evidence: Mapping[str, Any]) -> Iterator[Fact]:
    """Yield facts about a search for the fewest nonzero loadings that keep a share of PCA's variance."""
    count = len(evidence["proposals"])
    if evidence["proven"]:
        yield fact("fewest proven")
    elif not count:
        yield fact("nothing sparser")
    elif count > 1:
        yield fact("sparsest of proposals", number=count)
    if evidence["searched"] and not evidence["proven"]:
        yield fact("no fewer by search")


def headline(state: FitState, counts: Sequence[int], in_sentence: bool = False) -> Fact:
    """Return the fact about what was fitted to which data; `counts` are the cardinalities."""
    return fact(
        "print of a fit",
        in_sentence=in_sentence,
        loadings=state.pattern is not None,
        sparse=state.record.sparse,
        data=dataset(state),
        k=state.record.k,
        cards=_cards(state.record, counts),
    )


def _cards(record: Record, counts: Sequence[int]) -> Fact:
    """Return the cardinalities as part of a sentence."""
    if len(set(counts)) == 1:
        return fact("equal cards", card=counts[0], k=record.k)
    if len(counts) <= FEW_COUNTS:
        return fact("unequal cards", cards=f"{', '.join(map(str, counts[:-1]))} and {counts[-1]}")
    return fact("unequal cards", cards=f"{min(counts)} to {max(counts)}")


def how_found(record: Record) -> Fact:
    """Return the fact about the search or the method, and how it ended."""
    key = "method printed" if record.evidence is None else "search printed"
    goal = record.options.get("variance")
    is_kept = _is_kept_after_each(record)
    values = {"advice": record.advice, "reached": record.reached, "goal": goal, "each": is_kept}
    return fact(key, **method(record).values, **values)


def found_in_brief(record: Record) -> Fact:
    """Return the fact about the search or the method in one line."""
    evidence = record.evidence
    if evidence is None:
        return fact("method in brief", **method(record).values, advice=record.advice)
    searched = evidence.get("variables") or record.p
    values = {
        **method(record).values,
        "searched": searched if searched < record.p else 0,
        "p": record.p,
        "starts": evidence.get("starts") or evidence.get("settled_fits"),
        "fits": "settled_fits" in evidence,
        "proven": evidence.get("proven"),
        "partitions": evidence.get("every") is False,
        "goal": record.options.get("variance"),
        "each": _is_kept_after_each(record),
        "hits": evidence.get("hits"),
    }
    return fact("search in brief", **values)


# --- variance and inference -----------------------------------------------------------------------


def explained(state: FitState) -> Fact:
    """Return the fact about the variance that the components explain."""
    frame, total = variance(state), total_variance(state)
    totals = {str(name): percent(frame[name].iloc[-1], 1) for name in frame if "cumulative" in str(name)}
    if state.record.is_pca:
        return fact("explained by PCA", k=state.record.k, dense=totals["cumulative PCA"], total=total)
    if state.record.k == 1:  # adjusted variance and PEV of one component are equal
        share, dense = totals["cumulative adjusted"], totals["cumulative PCA"]
        if share == dense:
            return fact("explained as by PCA", share=share, total=total)
        least_squares = totals["cumulative least squares"]
        regression = "" if least_squares == share else least_squares
        return fact("explained by one", share=share, least_squares=regression, dense=dense, total=total)
    return fact(
        "explained",
        adjusted=totals["cumulative adjusted"],
        pev=totals["cumulative PEV"],
        least_squares=totals["cumulative least squares"],
        dense=totals["cumulative PCA"],
        total=total,
    )


#: Measures of explained variance that prints always show, in addition to the measure of the objective.
PRINTED_MEASURES = (ADJUSTED_MEASURE.name, PEV_MEASURE.name)


def measures_printed(state: FitState, table: pd.DataFrame) -> tuple[str, ...]:
    """Return the names of the measures in a print of the table of variances of a fit.

    The least-squares share is added if the other two cannot come near the share of PCA.
    """
    names: list[str] = [*PRINTED_MEASURES]
    if (maximised := objective_of(state.record)) is not None:
        names.append(maximised.name)
    if variance_of_few(state, table):
        names.append(LEAST_SQUARES_MEASURE.name)
    return tuple(dict.fromkeys(names))


def definitions(state: FitState, table: pd.DataFrame, has_shares: bool) -> Iterator[Fact]:
    """Yield the definitions of the measures in a print of the table of variances of a fit.

    `has_shares` is whether the share of each component is shown in brackets after its name. Prints of dense
    PCA have only one measure and need no definition.
    """
    names = () if state.record.is_pca else measures_printed(state, table)
    for measure in map(measure_named, names):
        if not measure.definition or (state.record.k == 1 and measure is not LEAST_SQUARES_MEASURE):
            continue
        label, heading = measure.label, measure.heading
        if state.record.k > MOST_LISTS and heading.isupper() and heading != label:
            label = f"{label} ({heading})"
        in_brackets = has_shares and measure is ADJUSTED_MEASURE
        label = f"{label[0].upper()}{label[1:]}"
        yield fact(
            "definition of a measure", label=label, in_brackets=in_brackets, definition=measure.definition
        )


def measures_of_variance(state: FitState) -> Fact:
    """Return the fact that defines the measures of explained variance in the table of variances."""
    k = state.record.k
    return fact("measures of variance", k=k, several=k > 1)


def variance_of_few(state: FitState, table: pd.DataFrame) -> list[Fact]:
    """Return a fact if the total variance of the variables with loadings is below what PCA explains.

    Projection on the loadings reproduces only variance of these variables. `table` is the table of variances.
    """
    if not state.record.sparse or "cumulative least squares" not in table:  # older files may lack it
        return []
    moments, used = state.moments, state.V.any(axis=1)
    share = float(moments.variances[used].sum() / moments.total)
    least_squares, dense = (float(table[f"cumulative {name}"].iloc[-1]) for name in ("least squares", "PCA"))
    if share >= dense:
        return []
    return [
        fact(
            "variance of few variables",
            used=int(used.sum()),
            share=share,
            several=state.record.k > 1,
            least_squares=least_squares,
            dense=dense,
            total=total_variance(state),
        )
    ]


#: The largest number of characters of names of variables without loadings that a print lists.
NAMES_WITHOUT_LOADINGS = 60


def without_loadings(state: FitState, V: np.ndarray) -> Iterator[Fact]:
    """Yield the fact about variables whose loadings are zero in all components of `V`, shape (p, k)."""
    places = np.flatnonzero(~V.any(axis=1))
    if len(places):
        names = ", ".join(full_names(state.spec.columns[places[:NAMES_WITHOUT_LOADINGS]]))
        yield fact(
            "variables without loadings",
            names=names if len(names) <= NAMES_WITHOUT_LOADINGS else "",
            number=len(places),
            p=len(V),
            columns=state.record.scaling == "mixed",
        )


def inference(state: FitState) -> Iterator[Fact]:
    """Yield facts about the resampling results that are stored with a fit."""
    results = state.inference
    if results.stability is not None:
        halves = results.stability
        often = frames.frequency(state, halves).to_numpy()[state.V != 0]
        yield fact(
            "halves",
            halves=len(halves.chosen),
            stable=int((often >= halves.threshold).sum()),
            number=len(often),
            threshold=halves.threshold,
        )
    if results.bootstrap is not None and frames.has_intervals(results.bootstrap):
        key = "intervals" if state.pattern is None else "percentile intervals"
        numbers_drawn = results.bootstrap
        is_local = numbers_drawn.search == "near"
        yield fact(key, draws=numbers_drawn.draws, select=numbers_drawn.select, near=is_local)
    if results.split is not None:
        selecting, estimating = results.split.rows
        yield fact("split", selecting=selecting, estimating=estimating)
        if results.split.repeats > 1:
            yield fact("repeated splits", repeats=results.split.repeats)
    if results.tests is not None:
        yield fact(f"tests {results.tests.fdr}", draws=results.tests.draws)


def proofs(state: FitState) -> Iterator[Fact]:
    """Yield facts about the proofs stored with a fit, with sentences for prints and methods sections."""
    for proven in state.inference.proofs:
        sentences = {"sentence": proof_sentence(proven, state), "in_methods": proof_methods(proven, state)}
        yield fact("proof", **sentences)


def software(versions: Mapping[str, str]) -> Fact:
    """Return the fact about the versions of the package and of Python."""
    return fact("software", version=versions.get("spcastat", ""), python=versions.get("python"))


def inference_shown(state: FitState) -> Iterator[Fact]:
    """Yield a fact, for the print, that lists the resampling results stored with a fit, if any."""
    results = state.inference
    parts = []
    if results.bootstrap is not None:
        bounded = frames.has_intervals(results.bootstrap)
        parts.append(fact("shows intervals", draws=results.bootstrap.draws, bounded=bounded))
    if results.stability is not None:
        parts.append(fact("shows frequencies", halves=len(results.stability.chosen)))
    if results.tests is not None:
        parts.append(fact("shows tests", draws=results.tests.draws))
    if results.split is not None:
        parts.append(fact("shows split"))
    if parts:
        yield fact("inference printed", results=", ".join(map(part, parts)))
