"""The prints of resampling results, in at most 25 lines, with the most doubtful loadings first."""

from __future__ import annotations

import textwrap
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from spcastat.arguments import SHOWN_LEVEL
from spcastat.fit import frames
from spcastat.fit.record import Bootstrapped, HalfSamples, Split, Tested
from spcastat.fit.state import FitState
from spcastat.labels import full_names, name_text
from spcastat.show import name_lists, renderings, resampling_facts
from spcastat.show.grid import Figures, by_size, fixed, is_smallest_p, p_value_text
from spcastat.show.name_lists import Item, List
from spcastat.show.renderings import Excerpt, Screen
from spcastat.show.templates import Fact, fact, lines, part, remarks, warnings

#: Limits of names in lists with intervals; with the last limit two lists fit side by side.
INTERVAL_NAME_LIMITS = tuple(range(name_lists.LOADING_NAME_WIDTH, 13, -1))

#: The meaning of brackets in a print of frequencies.
OTHERS_KEY = (
    f"[ ]: not in this component of the fit, but selected by {resampling_facts.OFTEN} of the fits or more."
)


@dataclass(frozen=True)
class Estimate:
    """The estimates for one loading.

    Attributes
    ----------
    component, term : str
        The names of the component and of the variable.
    loading : float
        The estimates of a component are sorted by its absolute value, the largest first.
    cells : tuple of str
        The cells of a table.
    short_texts : tuple of str
        The most important cells as one text, and the same with fewer decimals.
    """

    component: str
    term: str
    loading: float
    cells: tuple[str, ...]
    short_texts: tuple[str, ...]


@dataclass(frozen=True)
class Estimates:
    """Estimates for loadings: all of them if there is room, else the largest loadings of each component.

    Attributes
    ----------
    headings : tuple of str
        The headings of the cells.
    rows : list of Estimate
    doubtful : ndarray of bool
        Which rows are doubtful, and are counted.
    doubt : str
        What the doubtful rows have in common, such as "include zero".
    complete : str
        Where to find all rows, such as "All intervals: boot.table".
    contents : str
        What the short texts are.
    doubtful_last : bool
        Whether the doubtful rows of a component follow its other rows.
    """

    headings: tuple[str, ...]
    rows: list[Estimate]
    doubtful: np.ndarray
    doubt: str
    complete: str
    contents: str = "loadings"
    doubtful_last: bool = False

    def screen(
        self, title: str, sentences: Sequence[str], about: Sequence[Fact], end: str, key: str = ""
    ) -> Screen:
        """Return the print, a table or the form of `in_short`; only the table has the sentence `key`.

        `about` contains facts, some of which are warnings or remarks.
        """
        # `key` explains a column of the table
        brief_sentences = tuple(sentence for sentence in sentences if sentence != key)
        alerts = tuple(warnings(about)), end, tuple(remarks(about))
        brief = Screen(title, self.in_short, brief_sentences, *alerts)
        return Screen(title, self.table, tuple(sentences), *alerts, brief)

    def table(self, room: int) -> Excerpt:
        """Return a line for every row with all cells; no lines if they exceed `room`."""
        return Excerpt([] if len(self.rows) + 1 > room else self._table())

    def in_short(self, room: int) -> Excerpt:
        """Return lists or a matrix with the most important cells, or the largest loadings of components."""
        lists = name_lists.side_by_side(self._lists(), room, INTERVAL_NAME_LIMITS)
        if lists.is_complete and renderings.fits(lists.lines, room):
            return lists
        for layout in self._matrices():
            if renderings.fits(layout, room):
                return Excerpt(layout)
        end = renderings.filled(f"{self.complete}.", renderings.WIDTH).splitlines()
        lists = name_lists.side_by_side(
            self._lists(), room - len(end), INTERVAL_NAME_LIMITS, name_lists.LIST_COLUMNS
        )
        return (lists if lists.lines else self._items(room - len(end))).between(foot=end)

    def _table(self) -> list[str]:
        """Return rows of cells, with the component where it changes, and the variables at the end.

        The largest loading of a component is first, as in the print of the fit.
        """
        rows = [row for _, _, members in self._of_components() for row in members]
        everywhere = [row.cells for row in rows]
        widths = [max(map(len, column)) for column in zip(self.headings, *everywhere, strict=True)]
        heads = renderings.short_labels([row.component for row in rows], 12)
        label_width = max(map(len, heads))
        room = renderings.WIDTH - label_width - sum(size + 2 for size in widths) - 2
        limit = min(room, name_lists.LOADING_NAME_WIDTH)
        names = renderings.short_labels([row.term for row in rows], limit)
        lines, previous = [self._line(" " * label_width, self.headings, widths)], ""
        for row, head, name in zip(rows, heads, names, strict=True):
            label = "" if row.component == previous else head
            lines.append(self._line(f"{label:{label_width}}", row.cells, widths, name))
            previous = row.component
        return lines

    def _line(self, label: str, cells: Sequence[str], widths: Sequence[int], *name: str) -> str:
        texts = [f"{text:>{size}}" for text, size in zip(cells, widths, strict=True)]
        return "  ".join([label, *texts, *name])

    def _of_components(self) -> Iterator[tuple[str, int, list[Estimate]]]:
        """Yield each component with its number of doubtful rows, and its rows, the largest loading first.

        With `doubtful_last`, the doubtful rows follow all others, in the same order.
        """
        for component in dict.fromkeys(row.component for row in self.rows):
            places = np.array([i for i, row in enumerate(self.rows) if row.component == component])
            places = places[by_size(np.array([self.rows[i].loading for i in places]))]
            doubtful = self.doubtful[places]
            if self.doubtful_last:
                places = places[np.argsort(doubtful, kind="stable")]
            yield component, int(doubtful.sum()), [self.rows[i] for i in places]

    def _lists(self) -> list[List]:
        lists = []
        for component, count, rows in self._of_components():
            (head,) = renderings.short_labels([component], 12)
            heading = f"{head}: {count} of {len(rows)} {self.doubt}"
            texts = textwrap.dedent("\n".join(row.short_texts[0] for row in rows)).split("\n")
            numbers = tuple(f"{text:{max(map(len, texts))}}" for text in texts)
            lists.append(List(heading, numbers, tuple(row.term for row in rows)))
        return lists

    def _matrices(self) -> Iterator[list[str]]:
        """Yield a matrix of variables and components with all decimals, then one with fewer decimals."""
        components = list(dict.fromkeys(row.component for row in self.rows))
        largest: dict[str, Estimate] = {}
        for row in self.rows:
            if row.term not in largest or abs(row.loading) > abs(largest[row.term].loading):
                largest[row.term] = row
        terms = sorted(
            largest, key=lambda term: (components.index(largest[term].component), -abs(largest[term].loading))
        )
        for number in range(len(self.rows[0].short_texts)):
            texts = {(row.term, row.component): row.short_texts[number] for row in self.rows}
            lines = [(term, [texts.get((term, name), "") for name in components]) for term in terms]
            for limit in INTERVAL_NAME_LIMITS:
                yield renderings.matrix("", components, lines, limit=limit)

    def _items(self, room: int) -> Excerpt:
        """Return one or more lines for each component, with its largest loadings."""
        items = []
        for component, count, rows in self._of_components():
            around = tuple((f"{' '.join(row.short_texts[0].split())} ", "") for row in rows)
            names = tuple(row.term for row in rows)
            items.append(Item(component, (f"{count} of {len(rows)}",), names, around))
        headings, shortest = (self.doubt, f"largest {self.contents}"), INTERVAL_NAME_LIMITS[-1]
        return name_lists.items("", headings, items, room, "components", shortest)


def _cells(numbers: Iterable[float]) -> tuple[str, ...]:
    """Return numbers with three decimals; NaN is blank."""
    return tuple("" if np.isnan(number) else str(fixed(number, 3)) for number in numbers)


def _with_interval(number: float, lower: float, upper: float) -> tuple[tuple[str, ...], tuple[str, ...]]:
    """Return a number and its interval as cells, and as short texts with three and with two decimals.

    A bound that is exactly zero is "0"; an interval that cannot be computed is blank.
    """
    texts = []
    for digits in (3, 2):
        number_text = "" if np.isnan(number) else str(fixed(number, digits))
        interval = "" if np.isnan(lower) else str(Figures.of((lower, upper), digits))
        texts.append((f"{number_text:>{digits + 3}}", interval))
    short_texts = (" ".join(texts[0]), " ".join(texts[1]))
    return (texts[0][0].strip(), texts[0][1]), short_texts


def _sampling_sentences(text: str) -> Iterator[str]:
    """Yield a sentence on the resampling units, if they are not single rows of the fit."""
    for label, line in lines(resampling_facts.rows_drawn(text)):
        yield f"{label}: {line.removesuffix('.')}."


# --- bootstrap ------------------------------------------------------------------------------------


def print_of_bootstrap(
    state: FitState, boot: Bootstrapped, notes: Sequence[str], kind: str = "hull"
) -> Screen:
    """Return the print of a bootstrap: the loadings with their intervals."""
    frame = frames.conf_int(state, boot, kind=kind)
    frame = frame[resampling_facts.loadings_shown(frame)]
    is_zero = (frame["estimate"] == 0).to_numpy()
    with_bounds = frames.has_intervals(boot)
    shares = [name for name in ("selected", "fmi", "imputations") if name in frame]
    columns = ["component", "term", "estimate", "lower", "upper", *shares]
    rows: list[Estimate] = []
    for component, term, loading, lower, upper, *values in frame[columns].itertuples(index=False):
        percentages = tuple(f"{100 * value:.0f} %" for value in values)
        cells, short_texts = _with_interval(loading if loading else np.nan, lower, upper)
        if not with_bounds:
            cells, short_texts = cells[:1], (f"{cells[0]:>6} {percentages[0]:>5}",)
        names = name_text(component), name_text(term)
        rows.append(Estimate(*names, loading, (*cells, *percentages), short_texts))
    if with_bounds:
        doubtful = ~((frame["lower"] > 0) | (frame["upper"] < 0)).to_numpy()
        headings = ("loading", "95 % interval", *shares)
        estimates = Estimates(headings, rows, doubtful, "include zero", "All intervals: boot.table")
    else:
        doubtful = (frame["selected"] < 1.0).to_numpy()
        headings, doubt = ("loading", *shares), "not in all draws"
        contents = "loadings, each with its share of the draws"
        estimates = Estimates(headings, rows, doubtful, doubt, "All loadings: boot.table", contents)
    draw_cautions = list(resampling_facts.few_draws(boot))
    meaning = ""
    if with_bounds:
        is_normal = kind == "hull"
        percentiles = resampling_facts.percentile_meaning(boot.select)
        meaning = part(resampling_facts.interval_kind(boot) if is_normal else percentiles)
    imputations = [*map(part, resampling_facts.of_imputations(boot))]
    about = [
        *resampling_facts.about_rows(state, boot.notice),
        *resampling_facts.components_in_doubt(state, boot),
        *draw_cautions,
    ]
    title = part(resampling_facts.bootstrap(boot, 0.95, state.record.sparse, kind == "percentile"))
    end = renderings.ending("boot", notes)

    def screen(estimates: Estimates, zeros: bool, hidden: Sequence[str] = ()) -> Screen:
        key = " ".join([part(fact("selected", zeros=zeros))] * boot.select + imputations)
        sentences = (*_sampling_sentences(boot.drawn), meaning, key, *map(part, draw_cautions), *hidden)
        return estimates.screen(title, sentences, about, end, key)

    if not is_zero.any():
        return screen(estimates, zeros=False)
    of_nonzero = replace(
        estimates,
        rows=[row for row, zero in zip(rows, is_zero, strict=True) if not zero],
        doubtful=doubtful[~is_zero],
    )
    often = fact("zero loadings often selected", number=int(is_zero.sum()), often=resampling_facts.OFTEN)
    return replace(screen(estimates, zeros=True), brief=screen(of_nonzero, zeros=False, hidden=[part(often)]))


# --- stability ------------------------------------------------------------------------------------


def print_of_stability(state: FitState, halves: HalfSamples, notes: Sequence[str]) -> Screen:
    """Return the print of the stability of a fit: the stable variables of each component, and others."""
    frequency = frames.frequency(state, halves)
    threshold, values = halves.threshold, frequency.to_numpy()
    some_unstable = bool((values[state.V != 0] < threshold).any())
    stable = [
        f"{(f[v != 0] >= threshold).sum()} of {np.count_nonzero(v)}"
        for f, v in zip(values.T, state.V.T, strict=True)
    ]
    about = [
        *resampling_facts.about_rows(state, halves.notice),
        *resampling_facts.not_recovered(state, halves),
    ]
    return Screen(
        part(resampling_facts.stability(halves)),
        Frequencies(state.V, values, frequency.index, full_names(frequency.columns), stable).excerpt,
        (
            *_sampling_sentences(halves.drawn),
            *["A variable that is not stable may still belong there: halves have less power."]
            * some_unstable,
        ),
        tuple(warnings(about)),
        renderings.ending("stability", notes),
        tuple(remarks(about)),
    )


@dataclass(frozen=True)
class Frequencies:
    """Selection frequencies of the variables of components, and of others that are often selected.

    Attributes
    ----------
    V, shares : ndarray of shape (p, k)
        The loadings of the fit, and the share of the fits to half-samples that select each variable.
    variables : Index
    components, stable : list of str
        The names of the components, and the number of stable variables in each, as text.
    """

    V: NDArray[np.float64]
    shares: NDArray[np.float64]
    variables: pd.Index
    components: list[str]
    stable: list[str]

    def excerpt(self, room: int) -> Excerpt:
        """Return all variables, or those selected most often if there is no room for all."""
        text = self._items(room)
        if text.is_complete:
            return text
        return self._items(room - 1, by_share=True).between(foot=["All frequencies: stability.frequency."])

    def _items(self, room: int, by_share: bool = False) -> Excerpt:
        """Return one or more lines for each component; see `_item`."""
        rows = [
            self._item(number, name, count, by_share)
            for number, (name, count) in enumerate(zip(self.components, self.stable, strict=True))
        ]
        headings = ("stable", "share of the fits that select")
        key = [OTHERS_KEY] if any(prefix == "[" for row in rows for prefix, _ in row.around) else []
        shortest = INTERVAL_NAME_LIMITS[-1]
        return name_lists.items("", headings, rows, room - len(key), "components", shortest).between(foot=key)

    def _item(self, component: int, name: str, count: str, by_share: bool) -> Item:
        """Return the variables of a component, then, in brackets, others that are often selected.

        With `by_share`, those selected most often are first, whether or not they are in the component.
        """
        v, column = self.V[:, component], self.shares[:, component]
        often = (v != 0) | (column >= resampling_facts.OFTEN)
        order = np.lexsort((v == 0, -column) if by_share else (-column, v == 0))
        places = order[often[order]]
        around = tuple(
            ("", f" {share:.2f}") if in_fit else ("[", f" {share:.2f}]")
            for in_fit, share in zip(v[places] != 0, column[places].tolist(), strict=True)
        )
        return Item(name, (count,), tuple(full_names(self.variables[places])), around)


# --- tests and split inference ---------------------------------------------------------------------


def print_of_tests(state: FitState, tested: Tested, notes: Sequence[str]) -> Screen:
    """Return the print of permutation tests: loadings with their q values, small q values first.

    It has the same rows as the summary, including zero loadings with a small q value.
    """
    frame = resampling_facts.tests_shown(state, tested)
    doubtful = (frame["q_value"] > SHOWN_LEVEL).to_numpy()
    columns = ["component", "term", "loading", "p_value", "q_value"]
    rows: list[Estimate] = []
    for component, term, *numbers in frame[columns].itertuples(index=False):
        loading, p, q = _cells(numbers)
        loading = loading if numbers[0] else "0"
        cells = (loading, p and p_value_text(numbers[1], is_smallest_p(numbers[1], tested.draws)), q)
        short_texts = (f"{cells[0]:>6} q {cells[-1]:>5}",)
        rows.append(Estimate(name_text(component), name_text(term), numbers[0], cells, short_texts))
    doubt = f"with q > {SHOWN_LEVEL:g}"
    headings, complete = ("loading", "p", "q"), "All tests: tests.table"
    estimates = Estimates(headings, rows, doubtful, doubt, complete, doubtful_last=True)
    hidden = resampling_facts.tests_hidden(state, tested)
    about = [
        *resampling_facts.about_rows(state, tested.notice),
        *resampling_facts.few_permutations(state, tested),
    ]
    return estimates.screen(
        part(resampling_facts.tests_of_loadings(state, tested)),
        (*_sampling_sentences(tested.drawn), part(fact("meaning of q")), *map(part, hidden)),
        about,
        renderings.ending("tests", notes),
    )


def _pairs_once(frame: pd.DataFrame) -> pd.DataFrame:
    """Return correlations of split inference with one row for a component of two variables.

    Each variable is correlated with the score without this variable, which is here a multiple of the other
    variable. So both correlations are the correlation of the two variables, up to the sign.
    """
    rows = []
    for component, of_component in frame.groupby("component", sort=False):
        if len(of_component) == 2:
            terms, sign = of_component["term"], np.sign(of_component["loading"].iloc[1])
            line = of_component.iloc[0]
            ends = sorted((sign * line["lower"], sign * line["upper"]))
            term = f"{name_text(terms.iloc[0])} with {name_text(terms.iloc[1])}"
            rows.append((component, term, sign * line["correlation"], *ends))
        else:
            columns = ["component", "term", "correlation", "lower", "upper"]
            rows += of_component[columns].itertuples(index=False, name=None)
    return pd.DataFrame(rows, columns=["component", "term", "correlation", "lower", "upper"])


def print_of_split(state: FitState, split: Split, notes: Sequence[str]) -> Screen:
    """Return the print of split inference: correlations in the half that did not select the variables."""
    frame = _pairs_once(frames.split_conf_int(state, split))
    zero = ~((frame["lower"] > 0) | (frame["upper"] < 0)).to_numpy()
    columns = ["component", "term", "correlation", "lower", "upper"]
    rows: list[Estimate] = []
    for component, term, r, lower, upper in frame[columns].itertuples(index=False):
        rows.append(Estimate(name_text(component), name_text(term), r, *_with_interval(r, lower, upper)))
    headings = ("correlation", "95 % interval")
    estimates = Estimates(headings, rows, zero, "include zero", "All correlations: split.conf_int()")
    repeats = part(fact("p values of splits", repeats=split.repeats)) if split.repeats > 1 else ""
    meaning = part(resampling_facts.intervals_of_split(split, bool(frame["correlation"].isna().any())))
    return estimates.screen(
        part(resampling_facts.split_inference(split)),
        (*_sampling_sentences(split.drawn), meaning, repeats),
        list(resampling_facts.about_rows(state, split.notice)),
        renderings.ending("split", notes),
    )
