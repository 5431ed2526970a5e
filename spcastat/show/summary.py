"""The tables of loadings and variances of a fit, its summary, and its print.

A loading is blank if, and only if, it is exactly zero.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import partial
from itertools import islice
from typing import Any, TypeAlias

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from spcastat.arguments import checked_level, flag, one_of, plural, whole_number
from spcastat.errors import OptionError
from spcastat.fit import frames
from spcastat.fit.frames import CUMULATIVE, VARIANCE, Column
from spcastat.fit.record import Bootstrapped, Record
from spcastat.fit.sparse_loadings import loadings_variance, with_loadings
from spcastat.fit.state import NEXT_TO_NOTHING, FitState, forced, shares
from spcastat.inputs.data import Data
from spcastat.labels import full_names, short_names
from spcastat.linalg.standardisation import ScalingGroups
from spcastat.search.objectives import OBJECTIVES
from spcastat.show import facts, loading_facts, name_lists, note_facts, renderings, resampling_facts
from spcastat.show.facts import MOST_LISTS
from spcastat.show.grid import (
    Document,
    Figures,
    Row,
    Table,
    VariableArrangement,
    alike,
    by_size,
    fixed,
    fixed_values,
    percents,
    restyled,
)
from spcastat.show.name_lists import NAME_LIMITS, Item, List
from spcastat.show.renderings import Excerpt, Screen, Summary
from spcastat.show.resampling_facts import FDR
from spcastat.show.resampling_tables import LOADING_ROWS, summary_table
from spcastat.show.templates import Fact, explained_warnings, fact, lines, notes, part, warnings

# --- the table of loadings ------------------------------------------------------------------------


#: The cell of a nonzero loading below the cut.
HIDDEN = "."
#: A function that returns an array of numbers as cells with the given decimals.
_fixed = np.vectorize(fixed, otypes=[object])
#: Variables that are zero in all components are named if their names have at most this many characters.
LISTED_NAMES = 240


def loadings_table(
    loadings: pd.DataFrame,
    arrangement: VariableArrangement | None = None,
    *,
    digits: int = 3,
    contributions: bool = False,
    columns: pd.DataFrame | None = None,
    dense: pd.DataFrame | None = None,
    intervals: tuple[pd.DataFrame, pd.DataFrame] | None = None,
    stars: pd.DataFrame | None = None,
    row_name: str = "variable",
) -> Table:
    """Return the loadings as a table with one row for each variable and one column for each component.

    A loading that is exactly zero is blank. A nonzero loading that rounds to zero is shown as "<.001" or
    ">-.001". Variables that are zero in all components are omitted, and a note names or counts them.

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
        Other numbers for each variable, such as its communality, shown in the last columns with two decimals.
    dense : DataFrame, p x k, optional
        Loadings of dense PCA, shown next to the sparse ones.
    intervals : (DataFrame, DataFrame), p x k each, optional
        Lower and upper bounds of intervals, shown below nonzero loadings.
    stars : DataFrame of str, p x k, optional
        Marks that follow each loading.
    row_name : str
        What a row represents: a variable, or a column of mixed data, where a factor has several columns.

    Returns
    -------
    Table
    """
    digits, arrangement = whole_number("digits", digits, 1, 10), arrangement or VariableArrangement()
    values = loadings.to_numpy(dtype=float)
    selection, groups = arrangement.rows(values, loadings.index, None if dense is None else dense.to_numpy())
    kept_values = values[selection]
    cells = _cells(kept_values, digits, arrangement.cut, contributions)
    if stars is not None:
        for place, mark in enumerate(stars.to_numpy()[selection].ravel()):
            if isinstance(cell := cells.flat[place], Figures):
                cells.flat[place] = Figures.of(cell.numbers, cell.digits, stars=mark)
    headings, step = full_names(loadings.columns), 1
    if dense is not None:
        dense_cells = _fixed(dense.to_numpy()[selection], digits)
        cells = np.stack([cells, dense_cells], axis=2).reshape(len(cells), -1)
        headings = [text for pair in zip(headings, full_names(dense.columns), strict=True) for text in pair]
        step = 2
    if columns is not None:
        cells = np.hstack([cells, _fixed(columns.to_numpy()[selection], 2)])
        headings += full_names(columns.columns)
    labels = full_names([loadings.index[i] for i in selection])
    rows = [Row(label, tuple(line), group) for label, line, group in zip(labels, cells, groups, strict=True)]
    if intervals is not None:
        lower, upper = (bound.to_numpy()[selection] for bound in intervals)
        interval_cells = np.full_like(cells, "")
        for i, j in np.argwhere(kept_values != 0).tolist():
            interval_cells[i, step * j] = Figures.of((lower[i, j], upper[i, j]), digits)
        under = [Row("", tuple(line), group) for line, group in zip(interval_cells, groups, strict=True)]
        rows = [row for pair in zip(rows, under, strict=True) for row in pair]
    of_signs = _loading_notes(values, loadings.index, kept_values, arrangement.cut, contributions, row_name)
    return Table(
        title="Contributions, %" if contributions else "Loadings",
        headings=tuple(headings),
        rows=tuple(rows),
        notes=tuple(of_signs),
        sparse=True,
        column_step=step,
    )


def _cells(
    loadings: NDArray[np.float64], digits: int, threshold: float, contributions: bool
) -> NDArray[np.object_]:
    """Return the cells of the variables to be shown, one row per variable."""
    values = loadings
    if contributions:
        # The square of a loading below 1e-162 is zero in floating point; the loading is not.
        values, digits = np.maximum(100 * values**2, 5e-324), max(digits - 2, 0)
    texts: NDArray[np.object_] = _fixed(values, digits)
    texts[np.abs(loadings) < threshold] = HIDDEN
    texts[loadings == 0] = ""
    return texts


def _loading_notes(
    values: NDArray[np.float64],
    names: pd.Index,
    visible: NDArray[np.float64],
    threshold: float,
    contributions: bool,
    row_name: str,
) -> Iterator[str]:
    """Yield notes on the meaning of blanks and marks, and on the variables that the table omits."""
    loaded, hidden = (
        (values != 0).any(axis=1),
        int(((visible != 0) & (np.abs(visible) < threshold)).sum()),
    )
    if contributions:
        yield "Contributions are squared loadings in percent."
    if len(visible) and (visible == 0).any():
        yield f"A blank is {'a loading of ' if contributions else ''}exactly zero."
    if hidden:
        number = plural(hidden, "nonzero loading")
        yield f'"{HIDDEN}" stands for {number} below {threshold:g} in absolute value.'
    count = int(loaded.sum())
    if len(visible) < count:
        yield (
            f"{len(visible)} of {count} {row_name}s with a loading are shown, those with the largest "
            f"loadings of each component."
        )
    if count < len(values):
        zero_names = list(names[~loaded].to_flat_index())
        yield _zero_in_all(zero_names, plural(len(values), row_name))


def _zero_in_all(names: list[Any], of_all: str) -> str:
    """Return the note on variables that are zero in all components, with their names if they are few."""
    count = f"{len(names):,} of {of_all}"
    for texts in (full_names(names), short_names(names)) if len(names) < LISTED_NAMES else ():
        if len(text := ", ".join(texts)) <= LISTED_NAMES:
            return f"Zero in all components ({count}): {text}."
    return f"{count} {'is' if len(names) == 1 else 'are'} zero in all components."


# --- variance -------------------------------------------------------------------------------------


#: With at least this many components, each component has a row instead of a column.
UPRIGHT_COMPONENTS = 9


def variance_table(
    variance: pd.DataFrame, correlation: pd.Series | None = None, cumulative: str = CUMULATIVE
) -> Table:
    """Return the variance of the components as a table.

    Parameters
    ----------
    variance : DataFrame
        One row for each component, with some or all of the columns of
        :data:`spcastat.fit.frames.VARIANCE`, which are all shown. Variances are in the units of the
        analysis; shares are fractions of the total variance, shown in percent with two decimals.
    correlation : Series of length k, optional
        The largest absolute correlation of the scores of each component with the scores of another.
    cumulative : str
        The heading of the cumulative shares.

    Returns
    -------
    Table
        One column for each component. With nine components or more, one row for each component, and a note
        that explains the short headings.
    """
    columns = [column for column in VARIANCE if column.name in variance]
    variance_names = [column.name for column in columns if column.kind == "variance"]
    # all variances have the same number of decimals
    variances = iter(alike(variance[variance_names].to_numpy().T.ravel().tolist()))
    rows = []
    for column in columns:
        cells: Iterable[str]
        if column.kind == "variance":
            cells = islice(variances, len(variance))
        elif column.kind == "share":
            cells = percents(variance[column.name].tolist())
        else:
            cells = (f"{count:.0f}" for count in variance[column.name])
        rows.append(Row(column.label, tuple(cells), cumulative if column.group else ""))
    if correlation is not None:
        largest = (Figures.of((value,), 2, minimum_digits=2) for value in correlation.tolist())
        rows.append(Row("Largest score |r|", tuple(largest)))
    names = full_names(variance.index)
    if len(names) < UPRIGHT_COMPONENTS:
        return Table("Variance", tuple(names), tuple(rows))
    parts = [
        f"{column.heading}: {column.key or column.label[0].lower() + column.label[1:]}"
        for column in columns
        if not column.group
    ]
    shares_below = [column.key or column.label for column in columns if column.group]
    parts += [f"then {cumulative[0].lower()}{cumulative[1:]}: {', '.join(shares_below)}"] * bool(shares_below)
    headings = [column.heading for column in columns]
    if correlation is not None:
        parts.append("|r|: largest correlation with the scores of another component")
        headings.append("|r|")
    lines = zip(*(row.cells for row in rows), strict=True)
    upright = tuple(Row(name, cells) for name, cells in zip(names, lines, strict=True))
    return Table("Variance", tuple(headings), upright, notes=("; ".join(parts) + ".",))


# --- columns of the loadings table ----------------------------------------------------------------


#: The largest q value for each number of stars.
STARS = {0.001: "***", 0.01: "**", 0.05: "*"}


@dataclass(frozen=True)
class Extras:
    """Options for additional content of the table of loadings; see `SpcaResult.summary`."""

    contributions: bool = False
    communality: bool = False
    dense: bool = False
    conf_int: bool = False
    level: float = 0.95
    stars: bool = False


def loading_columns(
    state: FitState, source: Data | None, extras: Extras
) -> tuple[dict[str, Any], list[str], list[str]]:
    """Return additional arguments of the table of loadings, explanations of signs, and further notes."""
    options: dict[str, Any] = {}
    signs: list[str] = []
    remarks: list[str] = []
    level = checked_level(extras.level)
    if flag("contributions", extras.contributions):
        options["contributions"] = True
        if excluded := [f"{name}=True" for name in ("dense", "conf_int", "stars") if getattr(extras, name)]:
            raise OptionError(
                f"contributions=True was given with {' and '.join(excluded)}, which belong to loadings: "
                "leave out either contributions= or these."
            )
    if flag("dense", extras.dense):
        options["dense"] = dense_loadings(state, source)
        signs.append("PCA: loadings of dense principal components, with the signs of the sparse ones.")
    if flag("conf_int", extras.conf_int):
        options["intervals"], (meaning, *about) = _intervals(state, level)
        signs.append(meaning)
        remarks += about
    if flag("stars", extras.stars):
        options["stars"], (meaning, *about) = _stars(state)
        signs.append(meaning)
        remarks += about
    weak = forced(state) & (state.V != 0) & (shares(state) < NEXT_TO_NOTHING)
    if weak.any():
        marks = state.by_variable(np.where(weak, "!", ""))
        options["stars"] = options["stars"] + marks if "stars" in options else marks
        signs.append(f"! forced; contributes less than {100 * NEXT_TO_NOTHING:g} % of its component.")
    if flag("communality", extras.communality):
        options["columns"] = pd.DataFrame({"h2": frames.communalities(state)})
        signs.append("h2: the communality, the share of variance that regression on all scores explains.")
    return options, signs, remarks


def dense_loadings(state: FitState, source: Data | None) -> pd.DataFrame:
    """Return the loadings of the first k dense principal components, p x k, named "PCA 1" to "PCA k".

    The sign of each is chosen so that its inner product with the sparse component j is not negative.

    Raises
    ------
    NoRowsError
        If the fit was read from a file and therefore has no data.
    """
    if source is None:
        raise state.no_data("dense=True")
    k = state.V.shape[1]
    vectors = source.op.leading(k)[1]
    signs = np.where(np.einsum("ij,ij->j", state.V, vectors) < 0, -1.0, 1.0)
    frame = state.by_variable(vectors * signs)
    return frame.set_axis([f"PCA {j + 1}" for j in range(k)], axis=1)


def bounds_of(
    state: FitState, boot: Bootstrapped, level: float, kind: str = "hull"
) -> tuple[pd.DataFrame, pd.DataFrame]:
    """Return lower and upper bounds of the loadings as frames, p x k, with NaN for missing bounds."""
    frame = frames.conf_int(state, boot, level, kind)
    lower, upper = (frames.spread_out(state, boot.places, frame[name], np.nan) for name in ("lower", "upper"))
    return lower, upper


def _intervals(state: FitState, level: float) -> tuple[tuple[pd.DataFrame, pd.DataFrame], list[str]]:
    """Return lower and upper bounds of the loadings, and notes on them."""
    draws = frames.intervals_shown(state, level)
    selection = resampling_facts.selection_of(draws, state.record.sparse)
    sentences = [
        fact("intervals in brackets", level=level, selection=selection, draws=draws.draws),
        *resampling_facts.of_intervals(state, draws, level),
        *resampling_facts.local_search(draws),
    ]
    return bounds_of(state, draws, level), list(notes(sentences))


def _stars(state: FitState) -> tuple[pd.DataFrame, list[str]]:
    """Return the stars of the loadings, and notes on them."""
    tests = state.inference.tests
    if tests is None:
        raise OptionError(
            "stars=True was given, and this fit shows no tests: give stars=fit.test_loadings(), or call the "
            "method of fit.with_inference(fit.test_loadings())."
        )
    falling = sorted(STARS.items(), reverse=True)
    marks = np.full(state.V.shape, "", dtype=object)
    for bound, mark in falling:
        marks[tests.q_value <= bound] = mark
    meaning = ", ".join(f"{mark} q <= {str(bound)[1:]}" for bound, mark in falling)
    sentences = [
        fact("stars", marks=meaning, procedure=FDR[tests.fdr], draws=tests.draws),
        fact("meaning of q"),
    ]
    return state.by_variable(marks), list(notes(sentences))


# --- the summary ----------------------------------------------------------------------------------


#: The largest numbers of variables that the command and a notebook show.
SCREEN, NOTEBOOK = LOADING_ROWS, 1000
#: The choices of tables in a summary.
TABLES = ("all", "loadings", "variance")


def summarise(
    state: FitState,
    source: Data | None = None,
    digits: int = 3,
    arrangement: VariableArrangement | None = None,
    *,
    tables: str = "all",
    extras: Extras | None = None,
    uncertainty: bool = True,
) -> Summary:
    """Return the header, loadings and variances of a fit; see `SpcaResult.summary`.

    Without `uncertainty` the summary has no table of intervals and selection frequencies, which reports
    show in a chapter of its own.
    """
    digits = whole_number("digits", digits, 0, 10)
    tables = one_of("tables", tables, TABLES)
    arrangement, record = arrangement or VariableArrangement(), state.record
    groups = record.scaling_groups
    if arrangement.groups is None and groups is not None and groups.kind == "mixed":
        names = [*groups.names, "numbers"]
        arrangement = replace(arrangement, groups=[names[number] for number in groups.of])
    loadings, variance, extras = frames.loadings(state), frames.variance(state), extras or Extras()
    options, signs, remarks = loading_columns(state, source, extras)
    largest = largest_with_another(frames.score_correlation(state))
    row_name = "column" if record.scaling == "mixed" else "variable"
    of_loadings = loadings_table(loadings, arrangement, row_name=row_name, **options)
    of_loadings = replace(of_loadings, notes=(*of_loadings.notes, *signs))
    of_variance = variance_table(variance, largest if record.k > 1 else None, facts.cumulative_heading(state))
    if tables == "loadings":
        document = Document("", tables=(of_loadings,), notes=tuple(remarks))
        return Summary(restyled(document, digits), {"loadings": loadings})
    if tables == "variance":
        return Summary(restyled(Document("", tables=(of_variance,)), digits), {"variance": variance})
    tables_of_numbers = {"loadings": loadings, "variance": variance}
    tables_of_numbers |= {"dense": options["dense"]} if extras.dense else {}
    tables_of_numbers |= {"variables": options["columns"]} if "columns" in options else {}
    further_tables = [*_eigenvalues_of_groups(state), *_shares_of_blocks(state, groups)]
    unsaid: list[str] = []
    if uncertainty and (state.inference.bootstrap is not None or state.inference.stability is not None):
        resampled, sentences = summary_table(state, intervals=extras.conf_int)
        unsaid = list(notes(sentences))
        further_tables.append(resampled)
        tables_of_numbers["tidy"] = frames.tidy(state, conf_int=True)
    header = [*header_facts(state), *facts.shares_of_groups(state, groups), *facts.proofs(state)]
    cautions = [
        *note_facts.cautions(state, largest, variance),
        *note_facts.split_factors(state, groups),
        *note_facts.another_order(state),
        *facts.counts(record),
    ]
    document = Document(
        title=_title(record, variance["cardinality"]),
        facts=tuple(lines(header)),
        tables=(of_loadings, of_variance, *further_tables),
        notes=(
            *remarks,
            *notes(facts.of_cleaned_data(state)),
            *notes(cautions),
            *notes(note_facts.copies(state)),
            *notes(note_facts.passes(record, digits)),
            *(note for note in unsaid if note not in remarks),
        ),
        warnings=tuple(explained_warnings(header)),
    )
    return Summary(restyled(document, digits), tables_of_numbers)


def largest_with_another(correlation: pd.DataFrame) -> pd.Series:
    """Return the largest absolute correlation of each component with another; NaN for one component."""
    C = np.abs(correlation.to_numpy(dtype=float, copy=True))
    np.fill_diagonal(C, np.nan)
    maxima = np.where(np.isfinite(C), C, -1.0).max(axis=1, initial=-1.0)
    return pd.Series(np.where(maxima >= 0, maxima, np.nan), index=correlation.index)


def _title(record: Record, card: pd.Series) -> str:
    count = facts.variables_of_mixed(record) if record.scaling == "mixed" else record.p
    components = f"{plural(record.k, 'component')} of {plural(count, 'variable')}"
    if not record.sparse:
        return f"PCA: {components}"
    return f"Sparse PCA: {components}, {plural(int(card.sum()), 'nonzero loading')}"


def header_facts(state: FitState) -> Iterator[Fact]:
    """Yield the facts of the header."""
    record = state.record
    yield from facts.unequal_variances(record, state.moments.variances)
    yield facts.method(record)
    yield from facts.data(state)
    yield from facts.goal(record)
    yield from facts.rule(state)
    yield from facts.groups_by_component(state)
    yield facts.objective(state)
    yield from facts.constraint(state)
    yield facts.status(record)


def _eigenvalues_of_groups(state: FitState) -> Iterator[Table]:
    """Yield the eigenvalues of disjoint groups of all variables, for a method that finds such groups."""
    details, names = state.record.details, full_names(state.components)
    if "second eigenvalue" not in details:
        return
    first_values, second_values = details["first eigenvalue"], details["second eigenvalue"]
    mean = state.moments.total / len(state.V)
    components = [name for name, value in zip(names, second_values, strict=True) if value > mean]
    note = (
        f"{', '.join(components)}: the second eigenvalue of the group exceeds the mean variance of a "
        "variable, so the group has more than one dimension."
    )
    rows = (
        Row("First eigenvalue", fixed_values(first_values, 3)),
        Row("Second", fixed_values(second_values, 3)),
    )
    yield Table("Groups", tuple(names), rows, notes=(note,) if components else ())


def _shares_of_blocks(state: FitState, blocks: ScalingGroups | None) -> Iterator[Table]:
    """Yield the shares of the blocks of variables in each component, for a fit scaled by blocks."""
    if blocks is None or blocks.kind == "mixed":
        return
    squares = 100.0 * state.V**2
    rows = [
        Row(name, fixed_values(squares[blocks.of == number].sum(axis=0).tolist(), 1))
        for number, name in enumerate(blocks.names)
    ]
    yield Table("Blocks, % of a component", tuple(full_names(state.components)), tuple(rows))


# --- prints of one screen -------------------------------------------------------------------------


#: A label and cells.
Line: TypeAlias = tuple[str, tuple[str, ...]]
#: Headings of the largest correlations of scores and of cumulative shares if each component has a row.
CORRELATION_LABEL = "|r|"
CORRELATION_MEANING = f"{CORRELATION_LABEL}: largest correlation with another score"
SHORT_HEADINGS = {"cumulative least squares": "LS", "cumulative PCA": "PCA"}


def print_of_fit(state: FitState, notes: Sequence[str]) -> Screen:
    """Return the print of a fit: what was fitted, loadings, variances, and how it was found."""
    record, variance = state.record, frames.variance(state)
    header = list(header_facts(state))
    largest = largest_with_another(frames.score_correlation(state))
    cautions = [
        *header,
        *note_facts.cautions(state, largest, variance),
        *note_facts.copies(state),
        *note_facts.passes(record, 3),
    ]
    title = part(facts.headline(state, variance["cardinality"].tolist()))
    components, alerts = _components(state, variance, largest), tuple(warnings(cautions))
    about = (*map(part, facts.constraint(state)), *_results(state), *_rules(header))
    few_variables = map(part, facts.variance_of_few(state, variance))
    search_sentences = (
        *_without_loadings(state, state.V),
        part(facts.how_found(record)),
        *few_variables,
        *about,
    )
    found_in_brief = (part(facts.found_in_brief(record)), *about)
    totals = components.totals()
    versions: list[tuple[Components, tuple[str, ...], tuple[str, ...]]] = [
        (components, (), search_sentences),
        (components, (), found_in_brief),
    ]
    if record.k <= MOST_LISTS:
        versions.append((components.without_rows(), (totals,), found_in_brief))
    end = renderings.ending("fit", notes)
    screens = []
    in_matrix = tuple(map(part, facts.definitions(state, variance, has_shares=False)))
    in_lists = tuple(map(part, facts.definitions(state, variance, has_shares=True)))
    bodies = [
        (layout, definitions, version)
        for version in versions
        for layout, definitions in ((Components.as_matrix, in_matrix), (Components.as_lists, in_lists))
    ]
    bodies += [(Components.in_columns, in_lists, version) for version in versions]
    for layout, definitions, (parts, totals_above, about_search) in bodies:
        sentences = (*totals_above, *definitions, *about_search)
        screens.append(Screen(title, partial(layout, parts), sentences, alerts, end))
    for about_search in (search_sentences, found_in_brief):
        screens.append(Screen(title, components.as_rows, (*in_matrix, *about_search), alerts, end))
    return renderings.in_turn(screens)


def _without_loadings(state: FitState, V: NDArray[np.float64]) -> Iterator[str]:
    """Yield the sentence on variables without nonzero loadings in `V`, which tables of loadings omit."""
    return map(part, facts.without_loadings(state, V))


def _rules(header: Sequence[Fact]) -> Iterator[str]:
    """Yield sentences on groups of rows, outlying cells and rows, covariates, and the rule for supports."""
    for one_fact in header:
        if one_fact.key in ("draws", "draws in time", "robust", "partial", "rule"):
            sentence = part(one_fact)
            yield sentence[0].upper() + sentence[1:]


def _results(state: FitState) -> Iterator[str]:
    """Yield sentences on the proofs and the resampling results stored with the fit."""
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
        The share of each component in the total variance, by adjusted variance unless the first row is
        another measure.
    heading : str
        The heading of the first rows below the loadings.
    lower_rows, final_rows : list of (str, tuple of str)
        Labels and cells of the rows below the loadings: those under the heading, and those after them.
    short : tuple of str
        The labels of these rows if each component has a row instead.
    maximised : int
        The index, among `lower_rows`, of the measure that was maximised.
    """

    V: NDArray[np.float64]
    variables: pd.Index
    names: pd.Index
    shares: list[float]
    heading: str
    lower_rows: list[Line]
    final_rows: list[Line]
    short: tuple[str, ...]
    maximised: int = 0

    def in_any_layout(self, room: int) -> Excerpt:
        """Return the loadings in the first layout that shows all of them, or else the one that has room."""
        layouts = (self.as_matrix, self.as_lists, self.in_columns, self.as_rows)
        texts = [layout(room) for layout in layouts]
        return next((text for text in texts if text.is_complete), texts[2] if texts[2].lines else texts[3])

    def as_matrix(self, room: int) -> Excerpt:
        """Return a matrix with all loadings; no lines if it does not fit."""
        variable_count = int((self.V != 0).any(axis=1).sum())
        if len(self.names) > MOST_LISTS or 1 + len(self.lower_rows) + variable_count > room:
            return Excerpt([])
        matrix = self._matrix()
        return Excerpt(matrix if renderings.fits(matrix, room) else [])

    def as_lists(self, room: int, most_columns: int = 1) -> Excerpt:
        """Return the largest loadings of each component in lists side by side; no lines without room."""
        table = self._table()
        if len(self.names) <= MOST_LISTS and renderings.fits(table, room):
            lists = self._lists_above(table, room, most_columns)
            if renderings.fits(lists.lines, room):
                return lists
        return Excerpt([])

    def in_columns(self, room: int) -> Excerpt:
        """Return the same as `as_lists`, where each list may have several columns."""
        return self.as_lists(room, name_lists.LIST_COLUMNS)

    def without_rows(self) -> Components:
        """Return the components without the rows below the loadings, which leaves more room for loadings."""
        return replace(self, lower_rows=[], final_rows=[], short=())

    def totals(self) -> str:
        """Return the rows below the loadings as one sentence on all components together."""
        return part(
            fact(
                "all components",
                k=len(self.names),
                measures=", ".join(f"{label} {cells[-1]} %" for label, cells in self.lower_rows),
                whole=self.heading.removeprefix("Cumulative ").removeprefix("% of "),
                others="; ".join(f"{label.lower()} {max(cells)}" for label, cells in self.final_rows),
            )
        )

    def _table(self) -> list[str]:
        """Return the rows below the loadings under a heading."""
        if not self.lower_rows:
            return []
        heads = full_names(self.names)
        return renderings.matrix(
            self.heading, heads, [], lower_rows=self.lower_rows, final_rows=self.final_rows
        )

    def _lists_above(self, table: list[str], room: int, most_columns: int) -> Excerpt:
        """Return lists side by side above a table; no lines if they have no room."""
        list_room = room - len(table) - bool(table)
        lists = name_lists.side_by_side(self._lists(), list_room, NAME_LIMITS, most_columns)
        return lists.between(foot=[*[""] * bool(table), *table]) if lists.lines else lists

    def _matrix(self) -> list[str]:
        """Return the matrix of loadings, sorted by component, with blanks for zeros, above the other rows."""
        order, _ = VariableArrangement(sort=True).rows(self.V, self.variables)
        rows = [
            (name, ["" if value == 0 else fixed(value, 3) for value in self.V[j].tolist()])
            for j, name in zip(order.tolist(), full_names(self.variables[order]), strict=True)
        ]
        headings = full_names(self.names)
        for limit in (renderings.WIDTH, *NAME_LIMITS):
            heading_below = self.heading if self.lower_rows else ""
            text = renderings.matrix(
                "Loadings", headings, rows, heading_below, self.lower_rows, self.final_rows, limit
            )
            if renderings.fits(text, len(text)):
                break
        return text

    def _ordered(self) -> Iterator[tuple[tuple[str, ...], tuple[str, ...]]]:
        """Yield the nonzero loadings of each component, the largest first, as numbers and names."""
        for v in self.V.T:
            selected = np.flatnonzero(v)
            places = selected[by_size(v[selected])]
            numbers = tuple(str(fixed(value, 3)) for value in v[places].tolist())
            yield numbers, tuple(full_names(self.variables[places]))

    def _lists(self) -> list[List]:
        """Return the loadings of each component as a list under its name and share."""
        shares = percents(self.shares, 1)
        heads = renderings.short_labels(full_names(self.names), 20)
        parts = zip(heads, shares, self._ordered(), strict=True)
        measure = "adj. " * (self.maximised > 0)
        return [
            List(f"{head} ({measure}{share} %)", numbers, names) for head, share, (numbers, names) in parts
        ]

    def as_rows(self, room: int) -> Excerpt:
        """Return one row per component: the measures as columns, then the largest loadings."""
        columns = [cells for _, cells in (*self.lower_rows, *self.final_rows)]
        cells = zip(*columns, strict=True) if columns else [()] * len(self.names)
        rows = []
        for name, line, (numbers, names) in zip(full_names(self.names), cells, self._ordered(), strict=True):
            rows.append(Item(name, line, names, tuple((f"{number} ", "") for number in numbers)))
        is_correlated = CORRELATION_LABEL in self.short
        about = fact(
            "columns of components",
            heading=self.heading,
            correlated=is_correlated,
            correlation=CORRELATION_MEANING if is_correlated else "",
        )
        heading = [part(about)] if self.lower_rows else []
        headings = (*self.short, "loadings")
        layout = partial(name_lists.items, "", headings, rows, noun="components", shortest=NAME_LIMITS[-1])
        text, totals = layout(room - len(heading)), []
        if text.components_left_out and self.lower_rows:
            totals = renderings.filled(self.totals(), renderings.WIDTH).splitlines()
            text = layout(room - len(heading) - len(totals))
        return text.between(heading, totals)


def loadings_only(state: FitState) -> Components:
    """Return the components of a fit without rows below the loadings."""
    shares = frames.variance(state)["share of total"].tolist()
    return Components(state.V, state.spec.columns, state.components, shares, "", [], [], ())


def _is_variance(column: Column) -> bool:
    """Return whether a measure equals the variance of the component if there is only one."""
    return column.measure in OBJECTIVES and OBJECTIVES[column.measure].equals_variance


def _components(state: FitState, variance: pd.DataFrame, largest: pd.Series) -> Components:
    """Return the components of a fit with cumulative shares and the largest correlations of scores."""
    record = state.record
    names = ("",) if record.is_pca else ("", *facts.measures_printed(state, variance))
    columns = [
        column for column in VARIANCE if column.group and column.name in variance and column.measure in names
    ]
    equal = [column for column in columns if record.k == 1 and _is_variance(column)]
    columns = [column for column in columns if column not in equal[1:]]
    steps = variance["share of total"].tolist()
    # one digit more than the shares in the headings of lists, which are differences of these
    lower_rows: list[Line] = [
        (
            "this component" if column in equal else column.label,
            percents(variance[column.name].tolist(), 2, steps),
        )
        for column in columns
    ]
    short = [SHORT_HEADINGS.get(column.name, column.label) for column in columns]
    cumulative = facts.cumulative_heading(state)
    heading = cumulative if record.k > 1 else cumulative.removeprefix("Cumulative ")
    final_rows: list[Line] = []
    if len(variance) > 1 and not record.is_pca:
        final_rows.append(("Largest score |r|", tuple(Figures.of((r,), 2) for r in largest.tolist())))
        short.append(CORRELATION_LABEL)
    measures = [column.measure for column in columns]
    objective = record.options.get("objective")
    return Components(
        state.V,
        state.spec.columns,
        state.components,
        steps,
        heading,
        lower_rows,
        final_rows,
        tuple(short),
        measures.index(objective) if objective in measures else 0,
    )


# --- sparse loadings and coordinates ----------------------------------------------------------------


def print_of_loadings(state: FitState, notes: Sequence[str]) -> Screen:
    """Return the print of a fit of sparse loadings."""
    of_loadings, variance = with_loadings(state), loadings_variance(state)
    shares = variance["share of total"].tolist()
    lower_rows: list[Line] = [
        ("sparse loadings", percents(variance["cumulative"].tolist(), 2, shares)),
        ("PCA (dense)", percents(variance["cumulative PCA"].tolist(), 2, shares)),
    ]
    components = Components(
        of_loadings.V,
        state.spec.columns,
        state.components,
        shares,
        facts.cumulative_heading(state),
        lower_rows,
        [],
        ("loadings", "PCA"),
    )
    header = list(loading_facts.header_of_loadings(state))
    return Screen(
        part(facts.headline(state, variance["cardinality"].tolist())),
        components.in_any_layout,
        (
            *_without_loadings(state, of_loadings.V),
            part(loading_facts.how_found_loadings(state.record)),
            *_results(state),
            *_rules(header),
        ),
        tuple(warnings(header)),
        renderings.ending("fit", notes),
    )


def print_of_coordinates(
    title: str,
    loadings: pd.DataFrame,
    variance: pd.DataFrame,
    meanings: Sequence[str],
    sentence: str,
    notes: Sequence[str],
) -> Screen:
    """Return the print of sparse principal coordinates: their loadings, zeros and shares."""
    shares = np.diff(variance["cumulative CPEV"], prepend=0.0).tolist()
    lower_rows: list[Line] = [
        (label, percents(variance[name].tolist(), 2, shares))
        for label, name in (("adjusted", "cumulative CPEV"), ("coordinates", "cumulative fit"))
    ]
    lower_rows.append(("PCA (dense)", percents(variance["cumulative PCA"].tolist(), 2, shares)))
    zeros: Line = ("Zero coordinates, %", percents(variance["share of zeros"].tolist(), 1))
    components = Components(
        loadings.to_numpy(),
        loadings.index,
        loadings.columns,
        shares,
        CUMULATIVE,
        lower_rows,
        [zeros],
        ("adjusted", "coord.", "PCA", "zeros"),
    )
    end = renderings.ending("fit", notes)
    return Screen(title, components.in_any_layout, (*meanings, sentence), ending=end)
