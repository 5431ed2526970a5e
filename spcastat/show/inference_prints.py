"""The prints of resampling and proofs: what is most in doubt first, in at most 25 lines."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import TypeAlias

import numpy as np
import pandas as pd

from spcastat.config import SHOWN_LEVEL, plural
from spcastat.fit import frames
from spcastat.fit.record import Bootstrapped, HalfSamples, Split, Tested
from spcastat.fit.state import FitState
from spcastat.labels import full_names, name_text
from spcastat.show import renderings, resampling_facts
from spcastat.show.grid import Figures, fixed
from spcastat.show.renderings import Item, Screen
from spcastat.show.templates import Fact, fact, lines, part, warnings

#: A component, a variable, cells, and a number by which rows are ordered if there is no room for all.
Line: TypeAlias = tuple[str, str, tuple[str, ...], float]
#: The widest names in a table of loadings.
LOADING_NAME_WIDTH = 30


@dataclass(frozen=True)
class Estimates:
    """Numbers about loadings, one row each, of which those in doubt are shown if there is no room for all.

    Attributes
    ----------
    headings : tuple of str
    rows : list of (component, variable, cells, number)
        If there is no room for all, those with the smallest numbers are shown.
    doubtful : ndarray of bool
        Which rows are counted and shown.
    doubt : str
        What they have in common, such as "intervals include zero".
    """

    headings: tuple[str, ...]
    rows: list[Line]
    doubtful: np.ndarray
    doubt: str

    def lines(self, room: int) -> list[str]:
        """Return a line for every row, or counts for each component and the rows in doubt."""
        if len(self.rows) + 1 <= room:
            return self._table(self.rows)
        components = list(dict.fromkeys(component for component, *_ in self.rows))
        if len(components) + 1 >= room:
            return self._counts(components, room)
        order = [i for i in np.argsort([row[3] for row in self.rows], kind="stable") if self.doubtful[i]]
        visible_rows = set(order[: room - 1 - len(components)])
        lines = []
        for component in components:
            places = [i for i, row in enumerate(self.rows) if row[0] == component]
            visible = [i for i in places if i in visible_rows]
            lines += [self._count(component, places, len(visible))]
            lines += self._table([self.rows[i] for i in visible])[1:] if visible else []
        return [self._table(self.rows)[0], *lines]

    def _count(self, component: str, places: list[int], visible: int) -> str:
        doubtful = int(self.doubtful[places].sum())
        note = f" ({visible} shown)" if visible < doubtful else ""
        return f"{component}: {doubtful} of {len(places)} {self.doubt}{note}"

    def _counts(self, components: list[str], room: int) -> list[str]:
        visible_components = components if len(components) <= room else components[: room - 1]
        lines = [
            self._count(
                component, [i for i, row in enumerate(self.rows) if row[0] == component], 0
            ).partition(" (")[0]
            for component in visible_components
        ]
        hidden = len(components) - len(visible_components)
        return [*lines, f"and {plural(hidden, 'more component')}"] if hidden else lines

    def _table(self, rows: Sequence[Line]) -> list[str]:
        """Return rows of cells, with the component where it changes, and names at the end."""
        everywhere = [cells for _, _, cells, _ in self.rows]
        widths = [max(map(len, column)) for column in zip(self.headings, *everywhere, strict=True)]
        heads = renderings.short_labels([component for component, *_ in self.rows], 12)
        label_width = max(map(len, heads))
        room = renderings.WIDTH - label_width - sum(size + 2 for size in widths) - 2
        names = renderings.short_labels([name for _, name, _, _ in rows], min(room, LOADING_NAME_WIDTH))
        lines = [
            "  ".join(
                [
                    " " * label_width,
                    *(f"{text:>{size}}" for text, size in zip(self.headings, widths, strict=True)),
                ]
            )
        ]
        previous = ""
        for (component, _, cells, _), name in zip(rows, names, strict=True):
            label = "" if component == previous or len(self.rows) > len(rows) else component
            texts = [f"{text:>{size}}" for text, size in zip(cells, widths, strict=True)]
            (head,) = renderings.short_labels([label], 12)
            lines.append("  ".join([f"{head:{label_width}}", *texts, name]))
            previous = component
        return lines


def _cells(numbers: Iterable[float]) -> tuple[str, ...]:
    """Return numbers with three decimals; what cannot be computed is blank."""
    return tuple("" if np.isnan(number) else str(fixed(number, 3)) for number in numbers)


def _interval(lower: float, upper: float) -> str:
    """Return an interval with three decimals; an end that is exactly zero is "0"."""
    return "" if np.isnan(lower) else str(Figures.of((lower, upper), 3))


def _sampling_sentences(text: str) -> Iterator[str]:
    """Yield a sentence on what was drawn, if not single rows of the fit."""
    for label, line in lines(resampling_facts.rows_drawn(text)):
        yield f"{label}: {line.removesuffix('.')}."


def _warnings(sentences: Iterable[Fact]) -> tuple[str, ...]:
    """Return what a reader of inference must not miss, in one line each."""
    return tuple(renderings.clause_in_line(text, len("Warning: ")) for text in warnings(sentences))


# --- bootstrap ------------------------------------------------------------------------------------


def print_of_bootstrap(
    state: FitState, boot: Bootstrapped, notes: Sequence[str], kind: str = "hull"
) -> Screen:
    """Return the print of a bootstrap: intervals, or those that include zero."""
    frame = frames.conf_int(state, boot, kind=kind)
    frame = frame[frame["estimate"] != 0]
    with_bounds = frames.has_intervals(boot)
    shares = [name for name in ("selected", "fmi", "imputations") if name in frame]
    columns = ["component", "term", "estimate", "lower", "upper", *shares]
    rows: list[Line] = []
    for component, term, loading, lower, upper, share, *pooled in frame[columns].itertuples(index=False):
        interval = (_interval(lower, upper),) if with_bounds else ()
        cells = (*_cells([loading]), *interval, *(f"{100 * value:.0f} %" for value in (share, *pooled)))
        rows.append((name_text(component), name_text(term), cells, share))
    if with_bounds:
        doubtful = ~((frame["lower"] > 0) | (frame["upper"] < 0)).to_numpy()
        headings, doubt = ("loading", "95 % interval", *shares), "intervals include zero"
        estimates = Estimates(headings, rows, doubtful, doubt)
    else:
        doubtful = (frame["selected"] < 1.0).to_numpy()
        estimates = Estimates(("loading", *shares), rows, doubtful, "variables are not in all draws")
    draw_cautions = list(resampling_facts.few_draws(boot))
    return Screen(
        part(resampling_facts.bootstrap(boot, 0.95, loadings=kind == "percentile")),
        estimates.lines,
        (
            *_sampling_sentences(boot.drawn),
            part(fact("selected")) if boot.select else "",
            *map(part, resampling_facts.of_imputations(boot)),
            *map(part, draw_cautions),
        ),
        _warnings(
            [
                *resampling_facts.about_rows(state, boot.notice),
                *resampling_facts.components_in_doubt(state, boot),
                *draw_cautions,
            ]
        ),
        renderings.ending("boot", notes),
    )


# --- stability ------------------------------------------------------------------------------------


def print_of_stability(state: FitState, halves: HalfSamples, notes: Sequence[str]) -> Screen:
    """Return the print of the stability of a fit: stable variables of each component, and the others."""
    frequency = frames.frequency(state, halves)
    rows: list[Item] = []
    names = full_names(frequency.columns)
    for name, column, v in zip(names, frequency.to_numpy().T, state.V.T, strict=True):
        counts = f"{int((column[v != 0] >= halves.threshold).sum())} of {np.count_nonzero(v)}"
        rows.append(Item(name, (counts,), tuple(_by_frequency(frequency.index, column, v))))
    return Screen(
        part(resampling_facts.stability(halves)),
        lambda room: renderings.items(
            "", ("stable", "share of the fits that select"), rows, room, "components"
        ),
        (
            *_sampling_sentences(halves.drawn),
            "In brackets: variables that are not in the component of the fit.",
            "A variable that is not stable may still belong to the component: halves have less power.",
        ),
        _warnings(resampling_facts.about_rows(state, halves.notice)),
        renderings.ending("stability", notes),
    )


def _by_frequency(names: pd.Index, column: np.ndarray, v: np.ndarray) -> Iterator[str]:
    """Yield the variables of a component, then others that are often selected in brackets, with shares."""
    for in_fit in (True, False):
        places = np.flatnonzero((v != 0) if in_fit else (v == 0) & (column >= resampling_facts.OFTEN))
        places = places[np.argsort(-column[places], kind="stable")]
        labels = renderings.short_labels(full_names(names[places]), LOADING_NAME_WIDTH)
        for label, share in zip(labels, column[places].tolist(), strict=True):
            yield f"{label} {share:.2f}" if in_fit else f"[{label} {share:.2f}]"


# --- tests and split inference ---------------------------------------------------------------------


def print_of_tests(state: FitState, tested: Tested, notes: Sequence[str]) -> Screen:
    """Return the print of permutation tests: loadings with their q values, or the large ones."""
    frame = frames.tests(state, tested)
    frame = frame[frame["loading"] != 0]
    doubtful = (frame["q_value"] > SHOWN_LEVEL).to_numpy()
    columns = ["component", "term", "loading", "p_value", "q_value"]
    rows: list[Line] = []
    for component, term, *numbers in frame[columns].itertuples(index=False):
        rows.append((name_text(component), name_text(term), _cells(numbers), -numbers[-1]))
    doubt = f"loadings have q > {SHOWN_LEVEL:g}"
    return Screen(
        part(resampling_facts.tests_of_loadings(tested)),
        Estimates(("loading", "p", "q"), rows, doubtful, doubt).lines,
        (*_sampling_sentences(tested.drawn), part(fact("meaning of q"))),
        _warnings(
            [
                *resampling_facts.about_rows(state, tested.notice),
                *resampling_facts.few_permutations(state, tested),
            ]
        ),
        renderings.ending("tests", notes),
    )


def print_of_split(state: FitState, split: Split, notes: Sequence[str]) -> Screen:
    """Return the print of split inference: correlations in the half that did not select the variables."""
    frame = frames.split_conf_int(state, split)
    zero = ~((frame["lower"] > 0) | (frame["upper"] < 0)).to_numpy()
    columns = ["component", "term", "correlation", "lower", "upper"]
    rows: list[Line] = []
    for component, term, r, lower, upper in frame[columns].itertuples(index=False):
        cells = (*_cells([r]), _interval(lower, upper))
        rows.append((name_text(component), name_text(term), cells, abs(r)))
    repeats = part(fact("p values of splits", repeats=split.repeats)) if split.repeats > 1 else ""
    return Screen(
        part(resampling_facts.split_inference(split)),
        Estimates(("correlation", "95 % interval"), rows, zero, "intervals include zero").lines,
        (*_sampling_sentences(split.drawn), repeats),
        _warnings(resampling_facts.about_rows(state, split.notice)),
        renderings.ending("split", notes),
    )
