"""Tables of resampling and of comparisons of groups: printed alone, in the summary and in the report."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np
import pandas as pd

from spcastat.config import plural
from spcastat.fit import frames
from spcastat.fit.record import Bootstrapped, HalfSamples, Split, Tested
from spcastat.fit.state import FitState
from spcastat.labels import full_names, name_text, some_of
from spcastat.reading.design import few_clusters
from spcastat.show.facts import copies
from spcastat.show.grid import UNSORTED, Arrangement, Document, Row, Table, alike, each, fixed, percent
from spcastat.show.templates import notes as notes_of

#: The largest numbers of loadings, and of clusters or pairs of variables, that a table shows.
ROWS, PAIRS = 100, 5
#: A zero loading is shown only if its q value is at most LEVEL.
LEVEL = 0.05
#: A loading that is zero in the fit is shown if at least this share of the draws selected it.
OFTEN = 0.25
#: With fewer draws, or halves of the rows, a sentence says what more would change.
ENOUGH, ENOUGH_HALVES = 199, 100
#: The bound on false selections is shown only if it is below this share of the number of stable loadings.
MOST_FALSE = 0.5
#: Names of the procedures that control the false discovery rate.
FDR = {"fdr_bh": "Benjamini and Hochberg", "fdr_by": "Benjamini and Yekutieli"}

#: Column of a frame -> its heading, if different; and the columns that are blank if the loading is zero.
HEADINGS = {"estimate": "loading", "std_error": "std. error", "p_value": "p", "q_value": "q"}
BOUNDS = ("lower", "upper")
BLANK = ("loading", "estimate", "std_error", *BOUNDS)

#: Notes on how to interpret the numbers.
UNSAID = {
    "given": (
        "Given these variables: the intervals take the selection as fixed, and are not valid if the same "
        "data selected the variables."
    ),
    "selected": (
        "Selected: the share of draws that select the variable, not the probability that it belongs there."
    ),
    "variance": (
        "Held out: the expected variance in new rows, with its interval; variance: the variance in these "
        "rows."
    ),
    "component": "Intervals presuppose a component that exceeds noise, which choose_k() tests.",
    "near": (
        "Each draw was fitted by a local search from the loadings of this fit and from PCA of the draw: "
        "intervals and shares describe variation around this solution, and shares are too large if other "
        "solutions explain nearly as much."
    ),
    "frequency": (
        "Frequencies refer to half the sample size. A variable below the threshold may still belong to the "
        "component, since weak signals are missed."
    ),
    "split": (
        "Correlation: between the variable and the score of the component computed from the other selected "
        "variables. One half selects variables and weights, which may differ from those of the fit; the "
        "other half gives the correlation. Blank if no other variable was selected, or if it does not vary "
        "there."
    ),
    "test": (
        "A small q means that a variable is associated with a component, not that its loading is large. Read "
        "q rather than p: variables are selected because they are correlated, so p is small even in noise."
    ),
}


def interval_meaning(select: bool, level: float = 0.95) -> str:
    """Return what an interval of a loading says; `select`: whether draws selected the variables again."""
    if not select:
        return UNSAID["given"]
    return (
        "An interval shows how much a loading varies with new rows, selection included; it includes zero "
        f"if fewer than {50 + 50 * level:g} % of the draws give the loading the sign that it has in the fit. "
        "test_loadings() tests, with more power, whether the variable belongs to the component: see its q."
    )


def component_notes(state: FitState, draws: Bootstrapped) -> list[str]:
    """Return a sentence on components of the fit that may be noise, for notes on intervals."""
    number = frames.number_found(state, draws)
    if number is None:
        return [UNSAID["component"]]
    lost = frames.not_found(state, draws)
    if not lost:
        return []
    names = ", ".join(map(name_text, lost))
    return [f"choose_k() finds {plural(number, 'component')} in these rows, so {names} may be noise."]


def search_notes(found: Bootstrapped) -> list[str]:
    """Return a sentence on draws that were fitted by a local search from the fit, for notes on intervals."""
    return [UNSAID["near"]] * (found.search == "near")


def bootstrap_document(state: FitState, found: Bootstrapped, level: float, screen: bool = False) -> Document:
    """Return bootstrap intervals of loadings and variances.

    With `screen`, the variances are in the header instead of a table.
    """
    table, hidden_notes = _intervals(state, found, level)
    variances = frames.variance_ci(state, found, level)
    selection_words = "variables selected again in each" if found.select else "given these variables"
    draws, facts = bootstrap_facts(state, found)
    notes = [interval_meaning(found.select, level), *component_notes(state, found), *hidden_notes]
    if found.draws < frames.least_draws(level):
        notes = hidden_notes
    notes += search_notes(found)
    notes += [*row_notes(state, found.notice), *[UNSAID["selected"]] * found.select]
    notes += [*draw_notes(found, level), *copy_notes(state)]
    if screen:
        facts += _variances_in_words(variances, _units(state))
    else:
        notes.append(
            f"Held out: the expected variance in new rows{_units(state)}, with its interval; variance: the "
            "one on these rows."
        )
    return Document(
        title=f"Bootstrap ({draws}): {interval_words(found, level)}, {selection_words}",
        facts=tuple(facts),
        tables=(table,) if screen else (table, _variances(variances, "held out")),
        notes=tuple(notes),
    )


def copy_notes(state: FitState) -> list[str]:
    """Return a sentence on near copies of selected variables, none if they are kept together."""
    return list(notes_of(copies(state)))


def interval_words(found: Bootstrapped, level: float) -> str:
    """Return the level of the intervals in words, or that there are none."""
    is_small = found.draws < frames.least_draws(level)
    return "no intervals" if is_small else f"{100 * level:g} % intervals"


def draw_notes(found: Bootstrapped, level: float = 0.95) -> list[str]:
    """Return a sentence on what more draws would change, if there are few."""
    n, required_draws = found.draws, frames.least_draws(level)
    if n >= ENOUGH:
        return []
    if n < required_draws:
        return [
            f"{100 * level:g} % intervals need {required_draws} draws or more, and there are {n}: give "
            f"n={required_draws} or more (999 by default)."
        ]
    return [
        f"With {n} draws another seed changes the length of an interval by about {_percent_error(n)} %, and "
        f"a share by up to {0.5 / np.sqrt(n):.2f}; with 999 draws by {_percent_error(999)} % and "
        f"{0.5 / np.sqrt(999):.2f}."
    ]


def _percent_error(n: int) -> str:
    """Return the relative standard error of a standard deviation over n normal draws, in percent."""
    return f"{100.0 / np.sqrt(2.0 * max(n - 1.0, 1.0)):.0f}"


def _units(state: FitState) -> str:
    """Return the units of variances on new rows, if variables are scaled to unit variances."""
    matrix = not state.record.from_rows and np.allclose(state.moments.variances, 1.0, atol=1e-8)
    return " in units of the population's standard deviations" * (state.record.scaling == "sd" or matrix)


def bootstrap_facts(state: FitState, found: Bootstrapped) -> tuple[str, list[tuple[str, str]]]:
    """Return the number of draws in words, and the header on what is drawn and its similarity to the fit."""
    draws = _draws(found.draws, found.asked, found.again, found.normal, "draw")
    similar = "Similarity", _similar(frames.similarity(state, found))
    return draws, [*_drawn(found.drawn), similar]


def row_notes(state: FitState, notice: str) -> list[str]:
    """Return remarks on few clusters, and the `notice` of a result on rows and columns."""
    return [note for note in (few_clusters(state.record.row_design), notice) if note]


def stability_document(state: FitState, found: HalfSamples, screen: bool = False) -> Document:
    """Return selection frequencies, the bound on false selections, clusters and associates.

    With `screen`, associates are left out, and so are clusters unless they are stable while none of their
    variables is.
    """
    halves, pairs = len(found.chosen), frames.associates(state, found)
    draws = _draws(found.draws, found.asked, found.again, found.normal, "pair")
    groups = frames.clusters(state, found)
    notes = [UNSAID["frequency"]]
    if screen and len(groups) + len(pairs):
        counts = f"{plural(len(groups), 'cluster')} and {plural(len(pairs), 'associate')}"
        notes.append(f"Correlated variables: {counts}, in .variable_clusters and .associates.")
    if screen:
        groups = groups[(groups["frequency"] >= found.threshold) & (groups["largest"] < found.threshold)]
    notes += row_notes(state, found.notice)
    if halves < ENOUGH_HALVES:
        notes.append(
            f"A share of {plural(halves, 'half', 'halves')} has a standard error of up to "
            f"{0.5 / np.sqrt(halves):.2f}; with n={ENOUGH_HALVES // 2} of {0.5 / np.sqrt(ENOUGH_HALVES):.2f}."
        )
    notes += copy_notes(state)
    return Document(
        title=f"Stability: {halves} fits of half of the rows ({draws}), threshold {found.threshold:g}",
        facts=tuple(_drawn(found.drawn)),
        tables=(_frequencies(state, found), *_groups(groups, found), *(() if screen else _associates(pairs))),
        notes=tuple(notes),
    )


def split_document(state: FitState, found: Split, level: float) -> Document:
    """Return the intervals estimated on the half that did not choose the variables."""
    table, many_note = loading_rows(frames.split_conf_int(state, found, level), "conf_int()", 5)
    tables, notes = (
        [table, _variances(frames.split_variance_ci(state, found, level))],
        [UNSAID["split"]],
    )
    if found.repeats > 1:
        tables.insert(1, _combined(state, found))
        notes.append(
            f"p: {found.repeats} splits combined (Meinshausen, Meier and Buehlmann, 2009); the probability "
            "of any p of .05 or less is at most .05 if no variable is correlated with the others. Intervals "
            "are from the first split."
        )
    selecting, estimating = found.rows
    redrawn_words = f"; drawn again {found.again} times" if found.again else ""
    of = f"; {found.drawn}" if found.drawn else ""
    normal = "; halves of normal rows with this covariance matrix" if found.normal else ""
    return Document(
        title=f"Split inference: {100 * level:g} % intervals",
        facts=(
            ("Rows", f"{selecting} to select the variables, {estimating} to estimate{redrawn_words}{normal}"),
            ("Draws", _done(found.draws, found.asked, "bootstrap sample", " of the second half") + of),
            ("Similarity", _similar(frames.similarity(state, found))),
        ),
        tables=tuple(tables),
        notes=(
            *notes,
            *many_note,
            *row_notes(state, found.notice),
            *_split_draw_notes(found),
            *copy_notes(state),
        ),
    )


def _split_draw_notes(found: Split) -> list[str]:
    """Return a sentence on what more draws would change, if there are few."""
    if found.draws >= ENOUGH:
        return []
    return [
        f"With {plural(found.draws, 'draw')} a standard error that is taken from draws (those of variances, "
        f"and all without a jackknife) has itself an error of {_percent_error(found.draws)} %; with 999 "
        f"draws of {_percent_error(999)} %."
    ]


def _combined(state: FitState, found: Split) -> Table:
    """Return the p-values of all splits for the variables of the fit and for others with small ones."""
    frame = frames.split_p_values(state, found)
    visible = (state.V != 0) | (frame.to_numpy() <= LEVEL)
    lines = [
        Row(name_text(frame.index[j]), ("" if np.isnan(p) else fixed(p, 3),), name_text(frame.columns[c]))
        for c in range(visible.shape[1])
        for j in np.flatnonzero(visible[:, c])[:ROWS].tolist()
        for p in [frame.iloc[j, c]]
    ]
    return Table(f"{found.repeats} splits", ("p",), tuple(lines))


def test_document(state: FitState, found: Tested) -> Document:
    """Return the tests of the selected loadings, and of zero loadings that are significant."""
    frame = frames.tests(state, found)
    visible_rows = frame[(frame["loading"] != 0) | (frame["q_value"] <= LEVEL)]
    hidden = len(frame) - len(visible_rows)
    table, many_note = loading_rows(visible_rows, "`table`", 4)
    notes = [UNSAID["test"], *many_note]
    if hidden:
        notes.append(f"{hidden} zero loadings with q > .05 are not shown.")
    notes += [*_few_permutations(state, found), *row_notes(state, found.notice), *copy_notes(state)]
    ending = "" if found.draws == found.asked else f" of {found.asked}: interrupted"
    kind = "draws of signs" if found.signs else "permutations"
    return Document(
        title="Permutation tests of loadings",
        facts=(
            *_drawn(found.drawn),
            ("Null", _null(found)),
            (
                "Statistic",
                "the studentised correlation (DiCiccio and Romano, 2017) of the variable with the score of "
                "the component, which is fitted without the variable and from which the scores of the "
                "other components are partialled out",
            ),
            (
                "p",
                f"two-sided, {found.draws}{ending} {kind}; the smallest value is {1 / (found.draws + 1):.2g}",
            ),
            ("q", f"false discovery rate over all variables and components ({FDR[found.fdr]})"),
        ),
        tables=(table,),
        notes=tuple(notes),
    )


def _null(found: Tested) -> str:
    """Return the null hypothesis, and what is permuted."""
    if found.signs:
        return (
            "the variable is not associated with the other variables; signs of the contributions of groups "
            "of rows are drawn at random, since the groups are of unequal size"
        )
    if found.drawn and not found.drawn.startswith("a sample"):
        return "the variable is independent of all other variables; whole groups of rows are permuted"
    return "the variable is independent of all other variables, and rows are exchangeable"


def _drawn(text: str) -> list[tuple[str, str]]:
    """Return the line that says what was drawn, if not single rows of the fit."""
    return [("Draws", text)] if text else []


def _few_permutations(state: FitState, found: Tested) -> Iterator[str]:
    """Yield a note if there are too few permutations for a small q value."""
    tested = int((~np.isnan(found.p_value)).sum())
    smallest_count = max(int(np.count_nonzero(state.V)), 1)
    times = np.sum(1.0 / np.arange(1, tested + 1)) if found.fdr == "fdr_by" else 1.0
    lower_limit = min(times * tested / (smallest_count * (found.draws + 1)), 1.0)
    if lower_limit > LEVEL:
        required_draws = int(np.ceil(times * tested / (smallest_count * LEVEL))) - 1
        yield (
            f"With {plural(found.draws, 'permutation')} and {plural(tested, 'test')} q cannot be below "
            f"{lower_limit:.2g} if {plural(smallest_count, 'loading')} (the number of nonzeros) have the "
            f"smallest p. n={required_draws} or more permutations are needed for q <= {LEVEL:g}."
        )


# --- in the summary -------------------------------------------------------------------------------


def summary_table(state: FitState, intervals: bool = False) -> tuple[Table, list[str]]:
    """Return the table that a summary shows of bootstrap and stability, and notes on how to interpret it.

    Parameters
    ----------
    intervals : bool
        Whether the table of loadings already shows intervals.
    """
    results = state.inference
    p, notes = len(state.V), []
    places = np.flatnonzero(state.V.T)
    columns: dict[str, np.ndarray] = {"loading": state.V.T.ravel()[places]}
    if results.bootstrap is not None:
        draws = results.bootstrap
        frame = frames.conf_int(state, draws).iloc[np.searchsorted(draws.places, places)]
        column_names = ("selected",) if intervals else ("lower", "upper", "selected")
        columns |= {name: frame[name].to_numpy() for name in column_names}
        if not intervals:
            selection_words = (
                "variables selected again in each draw" if draws.select else "given these variables"
            )
            notes.append(
                f"lower, upper: 95 % bootstrap intervals, {selection_words} ({len(draws.values)} draws)."
            )
            notes += [interval_meaning(draws.select), *component_notes(state, draws), *search_notes(draws)]
            notes += draw_notes(draws)
    if results.stability is not None:
        columns["frequency"] = frames.frequency(state, results.stability).to_numpy().T.ravel()[places]
        halves = len(results.stability.chosen)
        notes.append(f"frequency: share of {halves} fits of half of the rows that select the variable.")
        notes.append(UNSAID["frequency"])
    q_value = frames.q_values(state, places)
    if results.bootstrap is not None and q_value is not None:
        columns["q_value"] = q_value
    frame = pd.DataFrame(columns)
    frame.insert(0, "term", state.spec.columns.to_flat_index()[places % p])
    frame.insert(0, "component", state.components[places // p])
    marked = [] if results.bootstrap is None else frames.not_found(state, results.bootstrap)
    table, many_note = loading_rows(
        frame, "tidy(conf_int=True)", len(columns), "Uncertainty", " here", marked
    )
    return table, [*notes, *many_note]


# --- parts ----------------------------------------------------------------------------------------


def _intervals(state: FitState, found: Bootstrapped, level: float) -> tuple[Table, list[str]]:
    """Return the table of intervals, and notes on loadings left out."""
    frame = frames.conf_int(state, found, level)
    visible_rows = frame[(frame["estimate"] != 0) | (frame["selected"] >= OFTEN)]
    hidden_shares = frame["selected"].drop(visible_rows.index)
    q_value = frames.q_values(state, found.places)
    if q_value is not None:
        visible_rows = visible_rows.assign(q_value=q_value[visible_rows.index])
    width = 5 if q_value is None else 6
    table, notes = loading_rows(visible_rows, "conf_int()", width, marked=frames.not_found(state, found))
    if len(hidden_shares):
        is_single, largest_share = len(hidden_shares) == 1, percent(hidden_shares.max(), 0)
        if len(state.components) == 1:
            hidden_words = (
                f"{plural(len(hidden_shares), 'variable')} that {'is' if is_single else 'are'} not in the "
                "component"
            )
        else:
            hidden_words = (
                f"{plural(len(hidden_shares), 'loading')} of variables that are not in the component"
            )
        notes.append(
            f"Not shown: {hidden_words}, selected in at most {largest_share} % of the draws: see conf_int()."
        )
    return table, notes


def loading_rows(
    frame: pd.DataFrame,
    all_of_them: str,
    width: int = 4,
    title: str = "Loading",
    here: str = "",
    marked: Sequence[Any] = (),
) -> tuple[Table, list[str]]:
    """Return a table of at most ROWS loadings, the largest, and a note if others are left out.

    Parameters
    ----------
    frame : DataFrame
        With the columns "component", "term", and `width` columns of numbers, the first of them the loading.
    all_of_them : str
        The method or attribute that has all loadings, for the note.
    width : int
    title : str
        Heading of the label column.
    here : str
        Where the table is, for the note, such as " here".
    marked : sequence
        Components that are marked as not found by `choose_k`.
    """
    names = list(frame.columns[2 : 2 + width])
    headings = tuple(HEADINGS.get(name, name) for name in names)
    lines = []
    for component, term, *values in _largest(frame)[["component", "term", *names]].itertuples(index=False):
        cells: list[str] = [fixed(value, 3) for value in values]
        cells = ["" if np.isnan(value) else cell for value, cell in zip(values, cells, strict=True)]
        # a bound that is exactly zero, not rounded
        cells = ["0" if v == 0 and n in BOUNDS else c for n, v, c in zip(names, values, cells, strict=True)]
        if values[0] == 0:  # zero loadings have no interval, only a frequency
            cells = ["" if name in BLANK else cell for name, cell in zip(names, cells, strict=True)]
        heading = name_text(component) + " (not found by choose_k)" * (component in marked)
        lines.append(Row(name_text(term), tuple(cells), heading))
    many_note = f"The largest of {len(frame)} loadings are shown{here}; {all_of_them} lists all."
    return Table(title, headings, tuple(lines)), [many_note] * (len(frame) > ROWS)


def _variances(frame: pd.DataFrame, *further: str) -> Table:
    """Return the table of the variances of components with their intervals."""
    lines = tuple(Row(name_text(name), alike(values)) for name, *values in frame.itertuples(index=False))
    return Table("Component", ("variance", "std. error", "lower", "upper", *further), lines)


def _variances_in_words(frame: pd.DataFrame, units: str) -> list[tuple[str, str]]:
    """Return the variances of the components, and those in new rows, as lines of the header."""
    names, k = full_names(frame["component"]), len(frame)
    estimates = alike(frame["estimate"].tolist())
    bounds = alike([*frame["held_out"], *frame["lower"], *frame["upper"]])
    parts = zip(names, bounds[:k], bounds[k : 2 * k], bounds[2 * k :], strict=True)
    is_finite = bool(np.isfinite(frame["lower"]).any())
    held_out = ", ".join(
        f"{name} {value} ({low} to {high})" if is_finite else f"{name} {value}"
        for name, value, low, high in parts
    )
    return [
        ("Variance", ", ".join(f"{name} {value}" for name, value in zip(names, estimates, strict=True))),
        ("Held out", f"expected variance in new rows{units}: {held_out}"),
    ]


def _frequencies(state: FitState, found: HalfSamples) -> Table:
    """Return a table of selection frequencies, and of the number and bound of stable loadings.

    It has the variables of the fit and others that are often selected.
    """
    frequency, bound = frames.frequency(state, found), frames.bound(state, found)
    values = frequency.to_numpy()
    stable = (values >= found.threshold).sum(axis=0)
    bounded = frames.informative(state, found) & (bound.to_numpy()[:-1] < MOST_FALSE * stable)
    met = ((state.V != 0) | (values >= OFTEN)).any(axis=1)
    sizes = np.where(met[:, None], values + np.abs(state.V), 0.0)
    rows, _ = Arrangement(max_rows=ROWS).rows(sizes, frequency.index)
    lines = [
        Row(name, tuple(f"{f:.2f}{'*' if f >= found.threshold else ' '}" if f else "" for f in values[row]))
        for row, name in zip(rows, full_names(frequency.index[rows]), strict=True)
    ]
    ratios = zip(stable, np.count_nonzero(state.V, axis=0), strict=True)
    false = zip(bound[:-1], bounded, strict=True)
    lines += [
        Row(
            "Stable / selected",
            tuple(f"{stable_count} / {selected_count}" for stable_count, selected_count in ratios),
            rule=True,
        ),
        Row(
            "False (bound)",
            tuple(fixed(false_bound, 2) if is_bounded else "-" for false_bound, is_bounded in false),
        ),
        Row("Similarity", each(frames.similarity(state, found), 2)),
    ]
    notes = [f"* {found.threshold:g} or more; a blank was never selected."]
    if len(rows) < met.sum():
        notes.append(f"{len(rows)} of {met.sum()} variables are shown; `frequency` lists all.")
    if not met.all():
        remainder = plural(int((~met).sum()), "variable")
        notes.append(f"Not shown: {remainder} selected by no component in {100 * OFTEN:g} % of the fits.")
    about = (
        "False (bound): an upper bound on the expected number of stable variables that are rarely selected, "
        "with a probability below average in halves of the rows (Shah and Samworth, 2013)"
    )
    if bound["all"] < MOST_FALSE * stable.sum():
        stable_ones = plural(int(stable.sum()), "stable loading")
        about += f"; {bound['all']:.2f} for the {stable_ones} of all components"
    if not bounded.all():
        about += '; "-": no guarantee, since the bound is at least half of the stable loadings'
    heading = tuple(full_names(state.components))
    return Table("Selected in", heading, tuple(lines), notes=(*notes, f"{about}."))


def _groups(frame: pd.DataFrame, found: HalfSamples) -> Iterator[Table]:
    frame = frame[frame["frequency"] >= OFTEN]
    if len(frame):
        rows = []
        frame = frame.sort_values("frequency", ascending=False, kind="stable").head(PAIRS)
        for component, members, often, largest in frame.itertuples(index=False):
            names = full_names(members)
            # The first member of a cluster is listed, and one or two more if they fit in 36 characters
            name_count = next((i for i in (3, 2) if len(", ".join(names[:i])) <= 36), 1)
            rows.append(Row(f"{component}: {some_of(names, name_count)}", (f"{often:.2f}", f"{largest:.2f}")))
        yield Table(
            f"Clusters, |r| >= {found.groups:g}",
            ("any member", "most selected"),
            tuple(rows),
            notes=("Variables of a cluster are nearly identical: interpret the cluster, not its members.",),
        )


def _associates(frame: pd.DataFrame) -> Iterator[Table]:
    frame = frame.sort_values("share", ascending=False).head(PAIRS)
    if len(frame):
        rows = [
            Row(f"{component}: {name_text(associate)} for {name_text(term)}", each(shares, 2))
            for component, term, associate, *shares in frame.itertuples(index=False)
        ]
        note = (
            "Associates: variables that replace a selected one, and how often they are selected without and "
            "with it."
        )
        yield Table("Associates", ("without", "with", "r"), tuple(rows), notes=(note,))


def _largest(frame: pd.DataFrame) -> pd.DataFrame:
    """Return a frame of loadings; a long one sorted by size in each component, with at most ROWS of them."""
    if len(frame) <= UNSORTED:
        return frame
    size = frame["loading" if "loading" in frame else "estimate"].abs()
    rank = size.groupby(frame["component"], sort=False).rank(method="first", ascending=False)
    row_limit = len(frame) if len(frame) <= ROWS else max(1, ROWS // frame["component"].nunique())
    order = np.lexsort((rank, pd.factorize(frame["component"])[0]))
    return frame.iloc[order][(rank <= row_limit).to_numpy()[order]]


def _done(done: int, asked: int, unit: str, of: str = "") -> str:
    if done == asked:
        return plural(done, unit) + of
    return f"{done} of {plural(asked, unit)}{of}: interrupted"


def _draws(done: int, asked: int, again: int, normal: bool, unit: str) -> str:
    text = _done(done, asked, unit)
    if normal:
        text += ", of normal rows with this covariance matrix"
    if again:
        text += f"; {plural(again, 'sample')} drawn again, since no fit was possible on them"
    return text


def _similar(values: pd.Series) -> str:
    cells = ", ".join(f"{name_text(name)} {value:.2f}" for name, value in list(values.items())[:8])
    return f"mean |r| with the scores of the fit: {cells}{', ...' if len(values) > 8 else ''}"


# --- comparisons of groups ------------------------------------------------------------------------


#: Slopes of more groups have no columns of their own.
MOST_GROUPS = 5
#: The largest number of variables that a table shows.
MOST_GROUP_ROWS = 60


def document(
    table: pd.DataFrame,
    slopes: pd.DataFrame,
    p_values: pd.Series,
    p_value: float,
    about: dict[str, str],
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
    p_value : float
    about : dict
        "draws", "fit" and "clusters": what was permuted, what was fitted, and how many clusters there are;
        "few": a sentence on too few permutations, "" for enough.
    """
    sizes = table.drop_duplicates("group")
    rows = ", ".join(f"{name_text(g)} {n}" for g, n in zip(sizes["group"], sizes["rows"], strict=True))
    differing = slopes[slopes["p_adjusted"] <= LEVEL].drop_duplicates(["component", "term"])
    labels = [f"{name_text(t)} ({c})" for t, c in zip(differing["term"], differing["component"], strict=True)]
    differences = (
        some_of(labels, 8) if labels else "none with p <= .05, adjusted for all variables and components"
    )
    facts = (
        ("Rows", rows + about["clusters"]),
        ("Components", about["fit"]),
        (
            "Test",
            f"equal slopes of variables on scores: p = {_p(p_value)} for all together ({about['draws']})",
        ),
        ("Differing", differences),
    )
    return Document(
        f"Components of {plural(len(sizes), 'group')}",
        facts,
        (
            _by_group(table),
            Table("Equal slopes", tuple(full_names(p_values.index)), (Row("p", tuple(map(_p, p_values))),)),
            _slopes(slopes),
        ),
        (
            "Congruence: with the first principal component of the same variables within the group; kept: "
            "the variance of the component relative to that principal component.",
            "A blank loading is exactly zero. A slope is cov(variable, score) / var(score); it does not "
            "depend on the variance of the component. p by component is for all its variables; p of "
            "variables is adjusted for all variables and components.",
            *filter(None, [about["few"]]),
        ),
    )


def few_permutations(n: int) -> str:
    """Return a sentence if p-values of n permutations cannot be small, "" if they can."""
    smallest_p = 1.0 / (n + 1.0)
    if smallest_p <= LEVEL:
        return ""
    return (
        f"With {plural(n, 'permutation')} no p can be below {smallest_p:.2g}; give n_draws=19 or more for "
        f"p <= {LEVEL:g} (999 by default)."
    )


def _p(value: float) -> str:
    if np.isnan(value):
        return ""
    return str(fixed(value, 3)).removeprefix("0") if value < 1 else "1"


def _by_group(table: pd.DataFrame) -> Table:
    cells = zip(
        alike(table["variance"].tolist()),
        each(table["congruence"], 3),
        (percent(share, 1) for share in table["kept"]),
        strict=True,
    )
    rows = [
        Row(name_text(group), line, name_text(component))
        for group, component, line in zip(table["group"], table["component"], cells, strict=True)
    ]
    order = np.argsort(pd.factorize(table["component"])[0], kind="stable")
    return Table("Group", ("variance", "congruence", "kept, %"), tuple(rows[i] for i in order))


def _slopes(slopes: pd.DataFrame) -> Table:
    """Return the slopes of the variables of each component, and of others that differ."""
    visible_rows = slopes[(slopes["loading"] != 0) | (slopes["p_adjusted"] <= LEVEL)]
    groups = list(dict.fromkeys(slopes["group"]))
    columns = groups if len(groups) <= MOST_GROUPS else []
    rows = []
    for (component, term), rows_of_term in visible_rows.groupby(
        ["component", "term"], sort=False, dropna=False
    ):
        loading, p = rows_of_term["loading"].iloc[0], rows_of_term["p_adjusted"].iloc[0]
        estimates = rows_of_term["estimate"].to_numpy()[: len(columns)]  # one for each group, in their order
        cells = (fixed(loading, 3) if loading else "", *each(estimates, 2), _p(p))
        rows.append(Row(name_text(term), cells, name_text(component)))
    many_notes: tuple[str, ...] = ()
    if len(rows) > MOST_GROUP_ROWS:
        many_notes = (f"The first {MOST_GROUP_ROWS} of {len(rows)} slopes are shown; `slopes` lists all.",)
    headings = ("loading", *full_names(columns), "p")
    return Table("Slopes", headings, tuple(rows[:MOST_GROUP_ROWS]), notes=many_notes)
