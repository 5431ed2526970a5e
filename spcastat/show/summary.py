"""The summary of a fit, and the columns of its loadings table."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import pandas as pd

from spcastat.config import checked_level, flag, one_of, plural, whole_number
from spcastat.errors import NoRowsError, OptionError
from spcastat.fit import frames
from spcastat.fit.frames import variance as variance_of
from spcastat.fit.inputs import Source
from spcastat.fit.record import CENTRING, SCALING, Record, deep_copy
from spcastat.fit.state import (
    NEXT_TO_NOTHING,
    FitState,
    forced,
    groups_of,
    proof_sentences,
    rule_words,
    shares,
)
from spcastat.labels import full_names, name_text, some_of
from spcastat.linalg.standardisation import groups_from_record
from spcastat.measures import best_order, totals_in_orders
from spcastat.reading.design import Partial, design_text
from spcastat.show.fit_tables import Arrangement, loadings_table, variance_table
from spcastat.show.grid import Document, Row, Table, each, restyled
from spcastat.show.renderings import Summary
from spcastat.show.resampling_tables import (
    FDR,
    ROWS,
    UNSAID,
    component_notes,
    interval_meaning,
    search_notes,
    summary_tables,
)

# --- columns of the loadings table ----------------------------------------------------------------


#: The largest q value for each number of stars.
STARS = {0.001: "***", 0.01: "**", 0.05: "*"}


@dataclass(frozen=True)
class Extras:
    """What the table of loadings has in addition to loadings; as in `SpcaResult.summary`."""

    contributions: bool = False
    communality: bool = False
    complexity: bool = False
    dense: bool = False
    conf_int: bool = False
    level: float = 0.95
    stars: bool = False


def loading_columns(
    state: FitState, source: Source | None, extras: Extras
) -> tuple[dict[str, Any], list[str]]:
    """Return the additional arguments of the table of loadings, and notes that explain them."""
    given: dict[str, Any] = {}
    said: list[str] = []
    level = checked_level(extras.level)
    if flag("dense", extras.dense):
        given["dense"] = dense_loadings(state, source)
        said.append("PCA: loadings of dense principal components, with the signs of the sparse ones.")
    if flag("conf_int", extras.conf_int):
        given["intervals"], about = _intervals(state, level)
        said += about
    if flag("stars", extras.stars):
        given["stars"], about = _stars(state)
        said += about
    weak = forced(state) & (state.V != 0) & (shares(state) < NEXT_TO_NOTHING)
    if weak.any():
        marks = state.by_variable(np.where(weak, "!", ""))
        given["stars"] = given["stars"] + marks if "stars" in given else marks
        said.append(
            f"! forced; contributes less than {100 * NEXT_TO_NOTHING:g} % of its component."
        )
    columns: dict[str, pd.Series] = {}
    if flag("communality", extras.communality):
        columns["h2"] = frames.communalities(state)
        said.append("h2: the communality, the share of variance that regression on all scores explains.")
    if flag("complexity", extras.complexity):
        columns["com"] = hofmann(state)
        said.append(
            "com: Hofmann's complexity (1978), the effective number of components that a variable loads on "
            "(from its loadings times the standard deviations of the scores); 1 for a variable of one "
            "component."
        )
    if columns:
        given["columns"] = pd.DataFrame(columns)
    return given, said


def hofmann(state: FitState) -> pd.Series:
    """Return Hofmann's complexity of each variable, length p; NaN if all its loadings are zero.

    This is (sum_j a_j^2)^2 / sum_j a_j^4, where a_j is the loading on component j times the standard
    deviation of its scores, as in the R package ``psych``. Hofmann (1978), "Complexity and simplicity as
    objective indices descriptive of factor solutions", Multivariate Behavioral Research.
    """
    squares = state.V**2 * np.diag(state.moments.scores).clip(min=0.0)
    with np.errstate(invalid="ignore"):
        found = squares.sum(axis=1) ** 2 / (squares**2).sum(axis=1)
    return pd.Series(found, deep_copy(state.spec.columns))


def dense_loadings(state: FitState, source: Source | None) -> pd.DataFrame:
    """Return the loadings of the first k dense principal components, p x k, named "PCA 1" to "PCA k".

    The sign of each is chosen so that its inner product with the sparse component j is not negative.

    Raises
    ------
    NoRowsError
        If the fit was read from a file and so has no data.
    """
    if source is None:
        raise NoRowsError(
            "Loadings of dense PCA need the data, and a fit from a file does not have them; fit again: "
            f"{state.record.call}."
        )
    k = state.V.shape[1]
    vectors = source.op.leading(k)[1]
    signs = np.where(np.einsum("ij,ij->j", state.V, vectors) < 0, -1.0, 1.0)
    frame = state.by_variable(vectors * signs)
    return frame.set_axis([f"PCA {j + 1}" for j in range(k)], axis=1)


def _intervals(state: FitState, level: float) -> tuple[list[pd.DataFrame], list[str]]:
    """Return lower and upper bounds of the loadings, and notes on them."""
    found = state.resampled.bootstrap
    if found is None:
        raise OptionError(
            "conf_int=True was given, and there are no intervals yet: call fit.bootstrap() first."
        )
    frame = frames.conf_int(state, found, level)
    bounds = [frames.spread_out(state, found.places, frame[name], np.nan) for name in ("lower", "upper")]
    how = "variables selected again in each draw" if found.select else "given these variables"
    said = f"In brackets: {100 * level:g} % bootstrap intervals, {how} ({plural(found.draws, 'draw')})."
    notes = [interval_meaning(found.select, level), *component_notes(state), *search_notes(found)]
    return bounds, [said, *notes]


def _stars(state: FitState) -> tuple[pd.DataFrame, list[str]]:
    """Return the stars of the loadings, and notes on them."""
    found = state.resampled.tests
    if found is None:
        raise OptionError(
            "stars=True was given, and the loadings were not tested yet: call fit.test_loadings() first."
        )
    falling = sorted(STARS.items(), reverse=True)
    marks = np.full(state.V.shape, "", dtype=object)
    for bound, mark in falling:
        marks[found.q_value <= bound] = mark
    meaning = ", ".join(f"{mark} q <= {str(bound)[1:]}" for bound, mark in falling)
    rate = f"false discovery rates ({FDR[found.fdr]}) of {found.draws} permutations"
    return state.by_variable(marks), [f"{meaning}: {rate}.", UNSAID["test"]]


# --- the summary ----------------------------------------------------------------------------------


#: The largest number of covariates named, and of variables with the share that covariates explain.
FEW_NAMES = 4
#: The largest numbers of variables shown when a fit is printed, and in a notebook.
SCREEN, NOTEBOOK = ROWS, 1000
#: Which sense of sparse PCA this is.
WEIGHTS = (
    "The table shows the weights that form the scores; sparse_loadings() fits sparse loadings, from which "
    "the variables are predicted by the scores."
)
#: What a summary may show.
TABLES = ("all", "loadings", "variance")


def summarise(
    state: FitState,
    source: Source | None = None,
    digits: int = 3,
    arrangement: Arrangement | None = None,
    *,
    tables: str = "all",
    extras: Extras | None = None,
) -> Summary:
    """Return the header, loadings and variances of a fit; see `SpcaResult.summary`.

    `groups` are those of the variables, `sections` of the method.
    """
    digits = whole_number("digits", digits, 0, 10)
    tables = one_of("tables", tables, TABLES)
    arrangement, factors = arrangement or Arrangement(), groups_from_record(state.record.groups)
    if arrangement.groups is None and factors is not None and factors.kind == "mixed":
        names = [*factors.names, "numbers"]
        arrangement = replace(arrangement, groups=[names[number] for number in factors.of])
    record, loadings, variance = state.record, frames.loadings(state), variance_of(state)
    extras = extras or Extras()
    further, said = loading_columns(state, source, extras)
    further |= _contributions(extras.contributions, further)
    largest = largest_with_another(frames.score_correlation(state))
    sure, unsaid = summary_tables(state, intervals=extras.conf_int)
    of_loadings = loadings_table(loadings, arrangement, **further)
    of_variance = variance_table(variance, largest if record.k > 1 else None)
    if tables == "loadings":
        return Summary(
            restyled(Document("", (), (of_loadings,), tuple(said)), digits), {"loadings": loadings}
        )
    if tables == "variance":
        return Summary(restyled(Document("", (), (of_variance,), ()), digits), {"variance": variance})
    document = Document(
        title=_title(record, variance["cardinality"]),
        facts=(*_facts(state), *_groups(state), *(("Proof", text) for text in proof_sentences(state))),
        tables=(
            of_loadings,
            of_variance,
            *_tables_of_groups(state, loadings),
            *sure,
        ),
        notes=(
            *said,
            *_notes(state, largest, variance["cardinality"]),
            *_split_factors(state),
            *_another_order(state),
            *_passes(record, digits),
            *(note for note in unsaid if note not in said),
        ),
    )
    found = {"loadings": loadings, "variance": variance}
    found |= {"dense": further["dense"]} if extras.dense else {}
    found |= {"variables": further["columns"]} if "columns" in further else {}
    found |= {"tidy": frames.tidy(state, conf_int=True)} if sure else {}
    return Summary(restyled(document, digits), found)


def _contributions(contributions: bool, further: Mapping[str, Any]) -> dict[str, bool]:
    """Return the argument of `loadings_table` for squared loadings, which exclude some other options."""
    if not flag("contributions", contributions):
        return {}
    options = {"intervals": "conf_int", "dense": "dense", "stars": "stars"}
    if excluded := [f"{options[name]}=True" for name in further if name in options]:
        raise OptionError(
            f"contributions=True was given with {' and '.join(excluded)}, and these go with loadings: leave "
            "contributions, or these, out."
        )
    return {"contributions": True}


def largest_with_another(correlation: pd.DataFrame) -> pd.Series:
    """Return the largest absolute correlation of each component with another; NaN if there is none."""
    C = np.abs(correlation.to_numpy(dtype=float, copy=True))
    np.fill_diagonal(C, np.nan)
    found = np.where(np.isfinite(C), C, -1.0).max(axis=1, initial=-1.0)
    return pd.Series(np.where(found >= 0, found, np.nan), index=correlation.index)


def _title(record: Record, card: pd.Series) -> str:
    components = plural(record.k, "component")
    if not record.sparse:
        return f"PCA: {components} of {plural(record.p, 'variable')}"
    nonzeros = int(card.sum())
    loadings = plural(record.p * record.k, "loading")
    return f"Sparse PCA: {components} of {plural(record.p, 'variable')}, {nonzeros} of {loadings} not zero"


#: What the table of methods has in place of a paper for methods of this package.
OURS = "of this package"


def method_words(record: Record, further: str = "") -> str:
    """Return the name of a method, what it is, and its paper if it has one."""
    paper = "" if record.paper == OURS else f"; {record.paper}"
    return f"{record.method}: {record.title}{further}{paper}"


def _facts(state: FitState) -> Iterator[tuple[str, str]]:
    record = state.record
    nonneg = ", nonnegative" if record.options.get("nonneg") else ""
    for note in unequal_variances(record, state.moments.variances):
        yield "Scale", note
    yield "Method", method_words(record, nonneg)
    yield from data_facts(state)
    goal = record.options.get("variance")
    if goal is not None:
        # files of the first layouts have the option "search" for a target on all components together
        total = record.options.get("promise") == "total" or record.options.get("search") == "joint"
        when = "by all components together" if total else "after every component"
        yield "Kept", f"at least {100 * goal:g} % of the variance that PCA explains, {when}"
    if rule := rule_words(state):
        yield "Rule", rule
    if (together := pd.DataFrame(groups_of(state), state.components)).size:
        named = [f"{name} {', '.join(own.index[own])}" for name, own in together.iterrows()]
        yield "Together", "; ".join(named)
    share = ""
    if record.objective_share is not None:
        share = f" ({100 * record.objective_share:.2f} % of the total variance)"
    yield "Objective", f"{record.criterion}: {record.objective:.6g}{share}"
    yield "Status", _status(record)
    if record.screening is not None:
        yield "Screened", _screened(record.screening, record.k)


def data_facts(state: FitState) -> Iterator[tuple[str, str]]:
    """Yield lines on the data: rows and variables, covariates, rows that belong together, missing values."""
    record = state.record
    yield "Data", describe_data(record)
    if state.spec.partial is not None:
        yield "Partial", _adjustment(state, state.spec.partial)
    if text := design_text(record.row_design):
        yield "Draws", text
    if record.missing is not None:
        yield "Missing", describe_missing(record)
    if record.matrix is not None and "moved" in record.matrix:
        yield "Nearest", describe_nearest(record.matrix)


def _groups(state: FitState) -> Iterator[tuple[str, str]]:
    """Yield the share of the variance of each group of variables, for a fit that is scaled by groups."""
    groups = groups_from_record(state.record.groups)
    if groups is None:
        return
    mixed, shares = groups.kind == "mixed", groups.shares(state.moments.variances)
    counts = [plural(int(count), "level" if mixed else "variable") for count in groups.counts[:-1]]
    parts = [f"{name} {100.0 * shares[j]:.1f} % ({counts[j]})" for j, name in enumerate(groups.names)]
    if groups.counts[-1]:
        parts.append(f"{plural(int(groups.counts[-1]), 'number')} {100.0 * shares[-1]:.1f} %")
    yield "Factors" if mixed else "Blocks", f"shares of the total variance: {', '.join(parts)}"


def _tables_of_groups(state: FitState, loadings: pd.DataFrame) -> Iterator[Table]:
    """Yield the eigenvalues of disjoint groups of all variables, and the shares of blocks of variables."""
    headings, details = tuple(full_names(state.components)), state.record.details
    if "second eigenvalue" in details:
        first, second = details["first eigenvalue"], details["second eigenvalue"]
        more = [
            name
            for name, value in zip(headings, second, strict=True)
            if value > state.moments.total / len(loadings)
        ]
        note = (
            f"{', '.join(more)}: the second eigenvalue of the group exceeds the mean variance of a variable, "
            "so the group has more than one dimension."
        )
        rows = (Row("First eigenvalue", each(first, 3)), Row("Second", each(second, 3)))
        yield Table("Groups", headings, rows, notes=(note,) if more else ())
    blocks = groups_from_record(state.record.groups)
    if blocks is not None and blocks.kind != "mixed":
        squares = 100.0 * state.V**2
        parts = [(name, squares[blocks.of == number].sum(axis=0)) for number, name in enumerate(blocks.names)]
        yield Table(
            "Blocks, % of a component",
            headings,
            tuple(Row(name, each(own.tolist(), 1)) for name, own in parts),
        )


def _split_factors(state: FitState) -> Iterator[str]:
    """Yield a sentence on factors with some, not all, of their levels in a component, for mixed data."""
    factors = groups_from_record(state.record.groups)
    if factors is None or factors.kind != "mixed":
        return
    split = []
    for component, v in zip(state.components, state.V.T, strict=True):
        of = factors.of[(v != 0) & (factors.of >= 0)]
        for number, used in enumerate(np.bincount(of, minlength=len(factors.names))):
            levels = factors.counts[number]
            if 0 < used < levels:
                split.append(f"{component} has {used} of the {levels} levels of {factors.names[number]}")
    if split:
        yield f"Levels of a factor are selected one by one: {some_of(split, FEW_NAMES)}."


def describe_data(record: Record) -> str:
    """Return one line that describes the data."""
    if not record.from_rows:
        rows = f", from {plural(record.n, 'row')}" if record.n is not None else ""
        kind = (record.matrix or {}).get("kind")
        named = {"spearman": "Spearman", "pearson": "Pearson"}
        what = "covariance" if kind is None else f"{named.get(kind, kind)} correlation"
        scaled = "" if record.groups is None else f", {SCALING[record.groups['kind']]}"
        return f"{what} matrix of {plural(record.p, 'variable')}{rows}{scaled}"
    where = "" if record.title_of_data is None else f" ({record.title_of_data})"
    parts = [f"{plural(record.n or 0, 'row')} x {plural(record.p, 'variable')}{where}"]
    if record.dropped:
        parts.append(f"{plural(record.dropped, 'row')} with missing values dropped")
    if record.formula is not None:
        parts.append(f"formula {record.formula}")
    parts += standardisation(record)
    if record.weighted:
        parts.append("rows weighted")
    return ", ".join(parts)


def _adjustment(state: FitState, partial: Partial) -> str:
    """Return one line on the covariates, the variance they explain, and the variables they explain best."""
    record, shares = state.record, partial.regression.shares
    each = [
        f"{name_text(state.spec.columns[j])} {100 * shares[j]:.1f}"
        for j in np.argsort(-shares, kind="stable").tolist()
    ]
    names = list(map(name_text, partial.names))
    most, given = (
        ", ".join(some if len(some) <= FEW_NAMES else [*some[: FEW_NAMES - 1], "...", some[-1]])
        for some in (each, names)
    )
    left = ""
    if record.effective_n is not None:
        free = record.effective_n - 1 - partial.regression.rank
        left = f"; {free:g} residual degrees of freedom; the divisor is still n - 1"
    return (
        f"{plural(record.p, 'variable')} given {given}, which explain {100 * share_taken(state):.1f} % of "
        f"their variance ({most}){left}"
    )


def share_taken(state: FitState) -> float:
    """Return the share of the variance of the variables, as they are scaled, that the covariates take."""
    assert state.spec.partial is not None
    shares = state.spec.partial.regression.shares
    left = state.moments.variances
    if state.record.scaling == "sd" or (not state.record.from_rows and np.allclose(left, 1.0)):
        return float(shares.mean())  # variances are one, before and after the adjustment
    return float(1.0 - left.sum() / (left / (1.0 - shares)).sum())


def standardisation(record: Record) -> tuple[str, str]:
    """Return one phrase on how the variables were centred, and one on how they were scaled."""
    about_means = record.centring == "mean" or record.scaling != "sd"
    scaled = SCALING[record.scaling or "none"] if about_means else "scaled by the root mean square"
    return CENTRING[record.centring or "none"], scaled


def describe_missing(record: Record) -> str:
    """Return one line on the treatment of missing values."""
    about = record.missing or {}
    cells = (record.n or 0) * record.p
    some = f"{100.0 * about['cells'] / cells:.2g} % of the values" if cells else ""
    where = f"{some}, in {about['rows']} of {plural(record.n or 0, 'row')}"
    if not about["cells"]:
        kept = f"; a model of rank {about['rank']} is kept for new rows" if about["how"] == "em" else ""
        return f"no value{kept}"
    if about["how"] == "em":
        ended = "converged after" if about["converged"] else "stopped before it converged, after"
        return (
            f"{where}; estimated by EM for probabilistic PCA of rank {about['rank']} (k_em) "
            f"over {plural(about['patterns'], 'pattern')} of missing values, {ended} "
            f"{plural(about['iterations'], 'iteration')}"
        )
    text = (
        f"{where}; correlations from the rows in which both variables are observed, at least "
        f"{about['fewest']:g}"
    )
    if about["moved"] == 0.0:
        return text
    return f"{text}; {describe_nearest(about)}"


def describe_nearest(about: Mapping[str, Any]) -> str:
    """Return one line on how much an indefinite matrix was changed to the nearest correlation matrix."""
    pair = f" ({' and '.join(about['pair'])})" if "pair" in about else ""
    return (
        f"no sample has such correlations (smallest eigenvalue {about['smallest']:.2g}), so the nearest "
        f"correlation matrix is used: it differs by {about['moved']:.2g} in Frobenius norm, and by at most "
        f"{about['largest']:.2g} in one correlation{pair}"
    )


def _screened(screening: dict[str, int], k: int) -> str:
    searched, p, left = screening["searched"], screening["variables"], screening["unexcluded"]
    text = f"{searched} of {p} variables searched"
    if left == 0:
        held = "" if k == 1 else " of any component, with the others fixed,"
        return (
            f"{text}; no single swap of a nonzero{held} with any of the {p} variables improves the explained "
            "variance (PEV)"
        )
    others = "1 of the others" if left == 1 else f"{left} of the others"
    return f"{text}; a swap with {others} could improve the fit"


def _status(record: Record) -> str:
    text = record.advice
    if record.evidence is not None:
        return text
    if record.status != "exact" and record.n_iter:
        text += f" ({plural(record.n_iter, 'sweep')})"
    if record.n_init > 1:
        text += f"; best of {record.n_init} starts, reached by {record.reached}"
    return text


def _notes(state: FitState, largest: pd.Series, card: pd.Series) -> Iterator[str]:
    record = state.record
    zero = forced(state) & (shares(state) == 0)
    if zero.any():
        rows, columns = np.nonzero(zero)
        names = zip(full_names(state.spec.columns[rows]), full_names(state.components[columns]), strict=True)
        named = ", ".join(f"{variable} in {component}" for variable, component in names)
        yield f"Forced, but with a loading of exactly zero: {named}."
    together = pd.DataFrame(groups_of(state), state.components)
    counts, noun = (card + zero.sum(axis=0), "nonzero") if together.empty else (together.sum(axis=1), "group")
    missed = list(_missed(record, counts, noun))
    if missed:
        more = "; see details" if record.details else ""
        yield f"Cardinality missed: {', '.join(missed)}{more}."
    if record.sparse:
        yield WEIGHTS
    if largest.max() > 0.1:
        yield (
            "The scores are correlated, so adjusted variance counts only what each component adds to the "
            "earlier ones."
        )
    if largest.max() > 0.6:
        yield f"Two scores have |r| = {largest.max():.2f}: {_remedy(record)}."


def _another_order(state: FitState) -> Iterator[str]:
    """Yield a note if components of different cardinalities have more adjusted variance in another order."""
    options, moments = state.record.options, state.moments
    mixed = len(set(options.get("card") or ())) > 1
    if not mixed or options.get("objective") != "adjusted" or state.record.evidence is None:
        return
    C = moments.scores / moments.total
    order = best_order(C)
    now, other = 100.0 * totals_in_orders(C, np.array([np.arange(len(C)), order]))
    if round(other, 2) > round(now, 2):
        names = ", ".join(str(state.components[i]) for i in order)
        yield (
            f"In the order {names} these components have {other:.2f} % of the total variance (adjusted) "
            "instead "
            f'of {now:.2f} %; order="best" also searches with the cardinalities in other orders.'
        )


def unequal_variances(record: Record, variances: np.ndarray, call: str = "scale=True") -> Iterator[str]:
    """Yield a note if variables with very different `variances`, (p,), were not scaled; it advises `call`."""
    positive = variances[variances > 0]
    unscaled = record.groups is None and (not record.from_rows or record.scaling == "none")
    if unscaled and positive.size and positive.max() > 10.0 * positive.min():
        remedy = f"{call} gives" if record.from_rows else "the correlation matrix would give"
        yield (
            f"Variances range from {positive.min():.3g} to {positive.max():.3g}, and variables with large "
            f"variances dominate; {remedy} all variables the same weight."
        )


def _passes(record: Record, digits: int) -> Iterator[str]:
    """Yield a note if too few passes make dense PCA inaccurate, and one if each pass recomputes the rows."""
    made, short = record.passes or 0, sum(record.pca_errors or ())
    if short > 0.1 * 10.0 ** -(digits + 1):  # a tenth of the last digit; percentages have digits - 1 decimals
        yield (
            "The variance of dense PCA is a lower bound, because few passes over the rows were made for it; "
            f"it may be {100.0 * short:.1g} % of the total variance larger. passes=15 makes more passes."
        )
    if record.anew and made > 3:
        yield (
            f"The partitions were computed again in each of {made} passes: call data.persist() before the "
            "fit to keep them on the workers if they fit in memory."
        )


def _remedy(record: Record) -> str:
    """Return advice for strongly correlated scores."""
    if record.evidence is None:
        return 'method="joint", the default, counts only what each component adds'
    if record.options.get("objective") == "adjusted":
        return 'a smaller k leaves one of them out, and method="alspca" bounds such correlations'
    return 'objective="adjusted" counts only what each component adds'


def _missed(record: Record, card: pd.Series, noun: str) -> Iterator[str]:
    asked = record.options.get("card")
    if not isinstance(asked, list) or len(asked) != len(card):
        return
    for name, wanted, count in zip(card.index, asked, card.tolist(), strict=True):
        if count != wanted:
            verb = "was" if wanted == 1 else "were"
            yield f"{name} has {plural(count, noun)}, {wanted} {verb} asked for"
