"""The tables of a fit - loadings, variance, scales of unit weights - and its summary, which is printed.

A loading is blank if, and only if, it is exactly zero.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, replace
from itertools import islice
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from spcastat.config import checked_level, flag, one_of, plural, whole_number
from spcastat.errors import OptionError
from spcastat.fit import frames
from spcastat.fit.frames import VARIANCE
from spcastat.fit.frames import variance as variance_of
from spcastat.fit.record import CENTRING, SCALING, Bootstrapped, Record, deep_copy
from spcastat.fit.state import (
    NEXT_TO_NOTHING,
    FitState,
    forced,
    groups_of,
    proof_sentences,
    rule_words,
    shares,
)
from spcastat.inputs.data import Source
from spcastat.inputs.dependence import serial_warning
from spcastat.labels import full_names, name_text, short_names, some_of
from spcastat.linalg.standardisation import ScalingGroups, groups_from_record
from spcastat.measures import best_order, totals_in_orders
from spcastat.reading.design import Partial, design_text
from spcastat.show.grid import (
    Arrangement,
    Document,
    Figures,
    Row,
    Table,
    alike,
    each,
    fixed,
    percent,
    restyled,
)
from spcastat.show.renderings import Summary
from spcastat.show.resampling_tables import (
    FDR,
    ROWS,
    UNSAID,
    component_notes,
    copy_notes,
    interval_meaning,
    search_notes,
    summary_table,
)

# --- the table of loadings ------------------------------------------------------------------------


#: Shown for a nonzero loading below the cut.
HIDDEN = "."
#: Returns an array of numbers as cells with the given decimals.
_fixed = np.vectorize(fixed, otypes=[object])
#: Variables that are zero in all components are named if their names have at most this many characters.
NAMED = 240


def loadings_table(
    loadings: pd.DataFrame,
    arrangement: Arrangement | None = None,
    *,
    digits: int = 3,
    contributions: bool = False,
    columns: pd.DataFrame | None = None,
    dense: pd.DataFrame | None = None,
    intervals: tuple[pd.DataFrame, pd.DataFrame] | None = None,
    stars: pd.DataFrame | None = None,
) -> Table:
    """Return the loadings as a table with one row for each variable and one column for each component.

    A loading that is exactly zero is blank. A nonzero loading that rounds to zero is shown as "<.001" or
    "-<.001". Variables that are zero in all components are omitted, and a note names or counts them.

    Parameters
    ----------
    loadings : DataFrame, p x k
        Variables in the rows, components in the columns, with labels of any type.
    arrangement : Arrangement, optional
        Which variables are shown, and in which order.
    digits : int
        Number of decimals, 1 to 10. Contributions in percent have two fewer.
    contributions : bool
        Whether to show squared loadings in percent instead.
    columns : DataFrame, p rows, optional
        Further numbers of each variable, such as its communality, shown as last columns with two decimals.
    dense : DataFrame, p x k, optional
        Loadings of dense PCA, shown next to the sparse ones.
    intervals : (DataFrame, DataFrame), p x k each, optional
        Lower and upper bounds, shown below nonzero loadings.
    stars : DataFrame of str, p x k, optional
        Marks that follow each loading.

    Returns
    -------
    Table
    """
    digits, arrangement = whole_number("digits", digits, 1, 10), arrangement or Arrangement()
    values = loadings.to_numpy(dtype=float)
    kept, groups = arrangement.rows(values, loadings.index, None if dense is None else dense.to_numpy())
    kept_values = values[kept]
    cells = _cells(kept_values, digits, arrangement.cut, contributions)
    if stars is not None:
        for place, mark in enumerate(stars.to_numpy()[kept].ravel()):
            if isinstance(cell := cells.flat[place], Figures):
                cells.flat[place] = Figures.of(cell.numbers, cell.digits, stars=mark)
    headings, step = full_names(loadings.columns), 1
    if dense is not None:
        dense_cells = _fixed(dense.to_numpy()[kept], digits)
        cells = np.stack([cells, dense_cells], axis=2).reshape(len(cells), -1)
        headings = [text for pair in zip(headings, full_names(dense.columns), strict=True) for text in pair]
        step = 2
    if columns is not None:
        cells = np.hstack([cells, _fixed(columns.to_numpy()[kept], 2)])
        headings += full_names(columns.columns)
    labels = full_names([loadings.index[i] for i in kept])
    rows = [Row(label, tuple(line), group) for label, line, group in zip(labels, cells, groups, strict=True)]
    if intervals is not None:
        lower, upper = (bound.to_numpy()[kept] for bound in intervals)
        below = np.full_like(cells, "")
        for i, j in np.argwhere(kept_values != 0).tolist():
            below[i, step * j] = Figures.of((lower[i, j], upper[i, j]), digits)
        under = [Row("", tuple(line), group) for line, group in zip(below, groups, strict=True)]
        rows = [row for pair in zip(rows, under, strict=True) for row in pair]
    return Table(
        title="Contributions, %" if contributions else "Loadings",
        headings=tuple(headings),
        rows=tuple(rows),
        notes=tuple(_loading_notes(values, loadings.index, kept_values, arrangement.cut, contributions)),
        sparse=True,
        together=step,
    )


def _cells(shown: NDArray[np.float64], digits: int, cut: float, contributions: bool) -> NDArray[np.object_]:
    """Return the cells of the variables to be shown, one row each."""
    values = shown
    if contributions:
        # The square of a loading below 1e-162 is zero in floating point; the loading is not.
        values, digits = np.maximum(100 * values**2, 5e-324), max(digits - 2, 0)
    texts: NDArray[np.object_] = _fixed(values, digits)
    texts[np.abs(shown) < cut] = HIDDEN
    texts[shown == 0] = ""
    return texts


def _loading_notes(
    values: NDArray[np.float64], names: pd.Index, shown: NDArray[np.float64], cut: float, contributions: bool
) -> Iterator[str]:
    """Yield the notes: what blanks and marks mean, and which variables are not in the table."""
    loaded, hidden = (values != 0).any(axis=1), int(((shown != 0) & (np.abs(shown) < cut)).sum())
    if contributions:
        yield "Contributions are squared loadings in percent."
    if len(shown) and (shown == 0).any():
        yield f"A blank is {'a loading of ' if contributions else ''}exactly zero."
    if hidden:
        loadings = plural(hidden, "nonzero loading")
        yield f'"{HIDDEN}" stands for {loadings} below {cut:g} in absolute value.'
    count = int(loaded.sum())
    if len(shown) < count:
        yield (
            f"{len(shown)} of {count} variables with a loading are shown, those with the largest loadings of "
            "each component; max_rows sets the number."
        )
    if count < len(values):
        rest = list(names[~loaded].to_flat_index())
        yield _zero_in_all(rest, len(values))


def _zero_in_all(names: list[Any], p: int) -> str:
    """Return the note on variables that are zero in all components; it names them if they are few."""
    count = f"{len(names)} of {plural(p, 'variable')}"
    for some in (full_names(names), short_names(names)) if len(names) < NAMED else ():
        if len(text := ", ".join(some)) <= NAMED:
            return f"Zero in all components ({count}): {text}."
    return f"{count} {'is' if len(names) == 1 else 'are'} zero in all components."


# --- variance -------------------------------------------------------------------------------------


#: With at least this many components, each component has a row instead of a column.
MANY = 9


def variance_table(variance: pd.DataFrame, correlation: pd.Series | None = None) -> Table:
    """Return the variance of the components as a table.

    Parameters
    ----------
    variance : DataFrame
        One row for each component, with some or all of the columns of
        :data:`spcastat.fit.frames.VARIANCE`, which are all shown. Variances are in the units of the
        analysis; shares are fractions of the total variance, shown in percent with two decimals.
    correlation : Series of length k, optional
        The largest absolute correlation of the scores of each component with those of another.

    Returns
    -------
    Table
        One column for each component. With nine components or more, one row for each component, and a note
        that explains the short headings.
    """
    columns = [column for column in VARIANCE if column.name in variance]
    together = [column.name for column in columns if column.kind == "variance"]
    # variances have the same decimals
    variances = iter(alike(variance[together].to_numpy().T.ravel().tolist()))
    rows = []
    for column in columns:
        cells: Iterable[str]
        if column.kind == "variance":
            cells = islice(variances, len(variance))
        elif column.kind == "share":
            cells = map(percent, variance[column.name].tolist())
        else:
            cells = (f"{count:.0f}" for count in variance[column.name])
        rows.append(Row(column.label, tuple(cells), column.group))
    if correlation is not None:
        largest = (Figures.of((value,), 2, fewest=2) for value in correlation.tolist())
        rows.append(Row("Largest score |r|", tuple(largest)))
    names = full_names(variance.index)
    if len(names) < MANY:
        return Table("Variance", tuple(names), tuple(rows))
    parts = [
        f"{column.heading}: {column.key or column.label[0].lower() + column.label[1:]}"
        for column in columns
        if not column.group
    ]
    cumulative = [column.key or column.label for column in columns if column.group]
    parts += [f"then cumulative % of the total: {', '.join(cumulative)}"] * bool(cumulative)
    headings = [column.heading for column in columns]
    if correlation is not None:
        parts.append("|r|: largest correlation with the scores of another component")
        headings.append("|r|")
    lines = zip(*(row.cells for row in rows), strict=True)
    upright = tuple(Row(name, cells) for name, cells in zip(names, lines, strict=True))
    return Table("Variance", tuple(headings), upright, notes=("; ".join(parts) + ".",))


# --- scales of unit weights -----------------------------------------------------------------------


def scales_document(table: pd.DataFrame, items: pd.DataFrame, kept: float) -> Document:
    """Return the scales as a document; the frames are those of `spcastat.fit.supplementary.ScaleNumbers`."""
    headings = ("items", "alpha", "std. alpha", "omega", "mean r", "r with PC")
    names = full_names(table.index)
    reliability = [
        Row(name, (str(int(count)), *(_cell(value, 3) for value in values)))
        for name, (count, *values) in zip(names, table.itertuples(index=False), strict=True)
    ]
    lines = [
        Row(
            f"{key} {name_text(term)}",
            (_cell(rest, 2), _cell(largest, 2), "" if other is None else name_text(other)),
            name_text(component),
        )
        for component, key, term, rest, largest, other in items.itertuples(index=False)
    ]
    notes = (
        "Scales are sums of the variables with the signs of their loadings. alpha: Cronbach's, for the "
        "variables in their units and standardised; omega: McDonald's, for one factor (minimum residuals); "
        "r with PC: the correlation of sum and component.",
        "r with rest: the correlation of the variable with the sum of the others; largest with another: its "
        "largest |r| with the sum of another component, which is inflated if the variable is in both.",
        "The same data selected the variables, so these figures are optimistic for new rows.",
    )
    return Document(
        f"Scales: {plural(len(table), 'component')} as sums of variables",
        (("Kept", f"the sums have {100 * kept:.1f} % of the adjusted variance of the components"),),
        (
            Table("Reliability", headings, tuple(reliability)),
            Table("Variable", ("r with rest", "largest with another", "which"), tuple(lines)),
        ),
        notes,
    )


def _cell(value: float, digits: int) -> str:
    """Return a number as text; what cannot be computed is blank."""
    return "" if np.isnan(value) else fixed(value, digits)


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
    if flag("contributions", extras.contributions):
        given["contributions"] = True
        if excluded := [f"{name}=True" for name in ("dense", "conf_int", "stars") if getattr(extras, name)]:
            raise OptionError(
                f"contributions=True was given with {' and '.join(excluded)}, and these go with loadings: "
                "leave contributions, or these, out."
            )
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
        said.append(f"! forced; contributes less than {100 * NEXT_TO_NOTHING:g} % of its component.")
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
        raise state.no_data("dense=True")
    k = state.V.shape[1]
    vectors = source.op.leading(k)[1]
    signs = np.where(np.einsum("ij,ij->j", state.V, vectors) < 0, -1.0, 1.0)
    frame = state.by_variable(vectors * signs)
    return frame.set_axis([f"PCA {j + 1}" for j in range(k)], axis=1)


def bounds_of(
    state: FitState, found: Bootstrapped, level: float, kind: str = "hull"
) -> tuple[pd.DataFrame, pd.DataFrame]:
    """Return lower and upper bounds of the loadings as frames of variables and components, or NaN."""
    frame = frames.conf_int(state, found, level, kind)
    lower, upper = (
        frames.spread_out(state, found.places, frame[name], np.nan) for name in ("lower", "upper")
    )
    return lower, upper


def _intervals(state: FitState, level: float) -> tuple[tuple[pd.DataFrame, pd.DataFrame], list[str]]:
    """Return lower and upper bounds of the loadings, and notes on them."""
    found = frames.intervals_shown(state, level)
    how = "variables selected again in each draw" if found.select else "given these variables"
    said = f"In brackets: {100 * level:g} % bootstrap intervals, {how} ({plural(found.draws, 'draw')})."
    notes = [interval_meaning(found.select, level), *component_notes(state, found), *search_notes(found)]
    return bounds_of(state, found, level), [said, *notes]


def _stars(state: FitState) -> tuple[pd.DataFrame, list[str]]:
    """Return the stars of the loadings, and notes on them."""
    found = state.inference.tests
    if found is None:
        raise OptionError(
            "stars=True was given, and this fit shows no tests: give stars=fit.test_loadings(), or call the "
            "method of fit.with_inference(fit.test_loadings())."
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
    "The table shows the weights of the variables in the scores. sparse_loadings() fits sparse loadings "
    "instead: the coefficients by which the scores predict the variables."
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
    arrangement, record, groups = arrangement or Arrangement(), state.record, None
    if record.groups is not None:
        groups = groups_from_record(record.groups)
    if arrangement.groups is None and groups is not None and groups.kind == "mixed":
        names = [*groups.names, "numbers"]
        arrangement = replace(arrangement, groups=[names[number] for number in groups.of])
    loadings, variance, extras = frames.loadings(state), variance_of(state), extras or Extras()
    further, said = loading_columns(state, source, extras)
    largest = largest_with_another(frames.score_correlation(state))
    of_loadings = loadings_table(loadings, arrangement, **further)
    of_variance = variance_table(variance, largest if record.k > 1 else None)
    if tables == "loadings":
        document = Document("", tables=(of_loadings,), notes=tuple(said))
        return Summary(restyled(document, digits), {"loadings": loadings})
    if tables == "variance":
        return Summary(restyled(Document("", tables=(of_variance,)), digits), {"variance": variance})
    found = {"loadings": loadings, "variance": variance}
    found |= {"dense": further["dense"]} if extras.dense else {}
    found |= {"variables": further["columns"]} if "columns" in further else {}
    further_tables = [*_eigenvalues_of_groups(state), *_shares_of_blocks(state, groups)]
    unsaid: list[str] = []
    if state.inference.bootstrap is not None or state.inference.stability is not None:
        sure, unsaid = summary_table(state, intervals=extras.conf_int)
        further_tables.append(sure)
        found["tidy"] = frames.tidy(state, conf_int=True)
    proofs = [("Proof", text) for text in proof_sentences(state)]
    document = Document(
        title=_title(record, variance["cardinality"]),
        facts=(*_facts(state), *_shares_of_groups(state, groups), *proofs),
        tables=(of_loadings, of_variance, *further_tables),
        notes=(
            *said,
            *_notes(state, largest, variance["cardinality"]),
            *_split_factors(state, groups),
            *_another_order(state),
            *copy_notes(state),
            *_passes(record, digits),
            *(note for note in unsaid if note not in said),
        ),
    )
    return Summary(restyled(document, digits), found)


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


def data_facts(state: FitState) -> Iterator[tuple[str, str]]:
    """Yield lines on the data: rows and variables, covariates, rows that belong together, missing values."""
    record = state.record
    yield "Data", describe_data(record)
    if state.spec.partial is not None:
        yield "Partial", _adjustment(state, state.spec.partial)
    if record.row_design:
        yield "Draws", design_text(record.row_design)
    r = record.serial_correlation()
    if r is not None:
        yield "Rows", serial_warning(r)
    if record.missing is not None:
        yield "Missing", describe_missing(record)
    if record.matrix is not None and "completed" in record.matrix:
        yield "Matrix", record.matrix["completed"]
    if record.matrix is not None and "moved" in record.matrix:
        yield "Nearest", describe_nearest(record.matrix)


def _shares_of_groups(state: FitState, groups: ScalingGroups | None) -> Iterator[tuple[str, str]]:
    """Yield the share of the variance of each group of variables, for a fit that is scaled by groups."""
    if groups is None:
        return
    mixed, shares = groups.kind == "mixed", groups.shares(state.moments.variances)
    counts = [plural(int(count), "level" if mixed else "variable") for count in groups.counts[:-1]]
    parts = [f"{name} {100.0 * shares[j]:.1f} % ({counts[j]})" for j, name in enumerate(groups.names)]
    if groups.counts[-1]:
        parts.append(f"{plural(int(groups.counts[-1]), 'number')} {100.0 * shares[-1]:.1f} %")
    yield "Factors" if mixed else "Blocks", f"shares of the total variance: {', '.join(parts)}"


def _eigenvalues_of_groups(state: FitState) -> Iterator[Table]:
    """Yield the eigenvalues of disjoint groups of all variables, for a method that finds such groups."""
    details, names = state.record.details, full_names(state.components)
    if "second eigenvalue" not in details:
        return
    first, second = details["first eigenvalue"], details["second eigenvalue"]
    mean = state.moments.total / len(state.V)
    more = [name for name, value in zip(names, second, strict=True) if value > mean]
    note = (
        f"{', '.join(more)}: the second eigenvalue of the group exceeds the mean variance of a variable, "
        "so the group has more than one dimension."
    )
    rows = (Row("First eigenvalue", each(first, 3)), Row("Second", each(second, 3)))
    yield Table("Groups", tuple(names), rows, notes=(note,) if more else ())


def _shares_of_blocks(state: FitState, blocks: ScalingGroups | None) -> Iterator[Table]:
    """Yield the shares of the blocks of variables in each component, for a fit that is scaled by blocks."""
    if blocks is None or blocks.kind == "mixed":
        return
    squares = 100.0 * state.V**2
    rows = [
        Row(name, each(squares[blocks.of == number].sum(axis=0).tolist(), 1))
        for number, name in enumerate(blocks.names)
    ]
    yield Table("Blocks, % of a component", tuple(full_names(state.components)), tuple(rows))


def _split_factors(state: FitState, factors: ScalingGroups | None) -> Iterator[str]:
    """Yield a sentence on factors with some, not all, of their levels in a component, for mixed data."""
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
